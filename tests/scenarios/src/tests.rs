//! Tests of the language itself, over a driver that has no core behind it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use waggle::clock::{Clock as _, Millis};
use waggle_test_relay::HttpRequest;

use crate::device::DeviceEnv;
use crate::driver::{
    Code, Coverage, Driver, Fact, Failure, Freshness, Manual, More, Observe, Op, RowFact, SidebarFact, TargetId,
    TimelineFact, UnreadFact,
};
use crate::files::{Options, Outcome, expand, load, run_file, run_files};
use crate::json::Fault;
use crate::read::read_scenario;

/// A device that counts seconds as unread messages, shows no rows, saves on marking and asks the relay on `ensure`.
struct Fake(DeviceEnv);

impl Driver for Fake {
    fn call(&self, op: Op) -> LocalBoxFuture<'static, Result<(), Failure>> {
        let env = self.0.clone();
        async move {
            if env.apply(&op) {
                return Ok(());
            }
            match op {
                Op::Ensure => match env.link.http(HttpRequest::get("/")).await {
                    Ok(_) => Ok(()),
                    Err(why) => Err(Failure::coded(Code::Network, format!("{why:?}"))),
                },
                Op::MarkChannelRead { .. } => {
                    env.gate.passage().await;
                    env.gate.strike().map_err(|why| Failure::coded(Code::Storage, format!("{why:?}")))
                }
                Op::Flush => {
                    env.clock.sleep_until(Millis(5_000)).await;
                    Ok(())
                }
                Op::RetrySync => std::future::pending().await,
                _ => Ok(()),
            }
        }
        .boxed_local()
    }

    fn observe(&self, what: Observe) -> LocalBoxFuture<'static, Result<Fact, Failure>> {
        let env = self.0.clone();
        async move {
            Ok(match what {
                Observe::Unread { target } => Fact::Unread(UnreadFact {
                    observed: matches!(target, TargetId::Channel { .. })
                        .then(|| (env.clock.now().mono.0 / 1000) as u32),
                    attention: None,
                    latest: None,
                    coverage: Coverage::Unknown,
                    freshness: Freshness::Stale,
                    manual: Manual::LocalOnly,
                    pending: false,
                    error: false,
                }),
                Observe::Timeline { .. } => Fact::Timeline(TimelineFact {
                    rows: Vec::new(),
                    more: More::Unknown,
                    gap: false,
                    first_unread: None,
                }),
                Observe::Sidebar => Fact::Sidebar { rows: Vec::new() },
                Observe::Journal { keys } => Fact::Journal { values: keys.into_iter().map(|k| (k, Some(7))).collect() },
                Observe::Activity { .. } => Fact::Activity { items: None },
                Observe::Following { .. } => Fact::Following { value: true },
                Observe::PrimarySlot => Fact::PrimarySlot { slot: Some("ab".repeat(16)) },
                Observe::Sync => std::future::pending().await,
            })
        }
        .boxed_local()
    }
}

fn options(trace: bool) -> Options {
    let make = |env: DeviceEnv| -> anyhow::Result<Rc<dyn Driver>> { Ok(Rc::new(Fake(env))) };
    Options { seed: 1, trace, jobs: 2, driver: Some(Arc::new(make)), threads: false }
}

/// A file around some steps.
fn file(steps: &str) -> String {
    format!(
        r##"{{"scenario": 1, "title": "a file around steps",
        "channels": [{{"name": "general", "members": ["me", "ada"]}}],
        "history": [{{"ref": "m1", "by": "ada", "in": "general", "at": -60}}, {{"ref": "r1", "by": "me", "in": "general", "at": -50, "reply_to": "m1"}}],
        "devices": ["phone", {{"name": "tablet", "signer": "none"}}],
        "steps": [{steps}]}}"##
    )
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn run(steps: &str) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    run_file(&write(folder.path(), "a.json", &file(steps)), &options(false)).outcome
}

fn failed(why: &str) -> Outcome {
    Outcome::Failed(why.to_owned())
}

fn fault(steps: &str) -> String {
    read_scenario(&file(steps)).map(|_| ()).map_err(|f: Fault| f.to_string()).unwrap_err()
}

fn cases() -> Vec<PathBuf> {
    expand(&[Path::new(env!("CARGO_MANIFEST_DIR")).join("cases")])
}

#[test]
fn every_given_file_is_read() {
    let files = cases();
    assert!(files.len() >= 174);
    for path in files {
        if let Err(why) = load(&path) {
            panic!("{}: {why:#}", path.display());
        }
    }
}

#[test]
fn every_given_file_builds_its_world() {
    for path in cases() {
        let scenario = Rc::new(load(&path).unwrap());
        let make = |env: DeviceEnv| -> anyhow::Result<Rc<dyn Driver>> { Ok(Rc::new(Fake(env))) };
        if let Err(why) = crate::runner::Runner::new(scenario, 1, false, &make) {
            panic!("{}: {why:#}", path.display());
        }
    }
}

/// What happens on the relay's side of every given file happens: nothing it posts is refused.
#[test]
fn every_given_file_is_accepted_by_the_relay() {
    use crate::scenario::{Action, FaultSpec};
    for path in cases() {
        let mut scenario = load(&path).unwrap();
        scenario.steps.retain(|step| match &step.action {
            Action::Post { event, .. } => !matches!(&event.form, crate::scenario::Form::ReadState(b) if matches!(b.slot, crate::scenario::SlotSpec::OwnOf(_))),
            Action::Fault { fault, .. } => matches!(fault, FaultSpec::Relay(_)),
            Action::Advance { .. } | Action::Grant { .. } | Action::Revoke { .. } | Action::SetType { .. } | Action::Relay(_) => true,
            _ => false,
        });
        let make = |env: DeviceEnv| -> anyhow::Result<Rc<dyn Driver>> { Ok(Rc::new(Fake(env))) };
        let outcome = crate::files::play(scenario, &options(false), &make).unwrap().0;
        assert_eq!(outcome, Ok(()), "{}", path.display());
    }
}

#[test]
fn faults_name_their_json_path() {
    for (steps, expected) in [
        (r#"{"do": "start", "colour": 1}"#, "steps/0/colour: unknown key"),
        (r#"{"do": "start"}, {"do": "dance"}"#, "steps/1/do: unknown step \"dance\""),
        (r#"{"do": "start", "rows": []}"#, "steps/0/rows: unknown key"),
        (r#"{"do": "start", "on": "watch"}"#, "steps/0/on: unknown device \"watch\""),
        (r#"{"do": "start", "fails": "maybe"}"#, "steps/0/fails: unknown code \"maybe\""),
        (r#"{"do": "open", "channel": "ops"}"#, "steps/0/channel: unknown channel \"ops\""),
        (r#"{"do": "open"}"#, "steps/0: needs \"channel\""),
        (r#"{"do": "show", "channel": "general", "rows": ["m1", "m2"]}"#, "steps/0/rows/1: unknown ref \"m2\""),
        (r#"{"do": "fault", "fault": "flood"}"#, "steps/0/fault: unknown fault \"flood\""),
        (r#"{"do": "advance", "s": -1}"#, "steps/0/s: expected at least 0"),
        (r#"{"do": "advance"}"#, "steps/0: needs \"s\" or \"ms\""),
        (r#"{"do": "hold", "what": "breath"}"#, "steps/0/what: nothing called \"breath\" can be held"),
        (r#"{"do": "expect"}"#, "steps/0: expects nothing"),
        (r#"{"do": "expect", "unread": [{"target": "general", "seen": 1}]}"#, "steps/0/unread/0/seen: unknown key"),
        (
            r#"{"do": "expect", "unread": {"target": {"thread": "x"}}}"#,
            "steps/0/unread/target/thread: unknown ref \"x\"",
        ),
        (r#"{"do": "expect", "sync": {"state": "fine"}}"#, "steps/0/sync/state: unknown word \"fine\""),
        (r#"{"do": "expect", "journal": {"msg:m9": 1}}"#, "steps/0/journal/msg:m9: unknown ref in key \"msg:m9\""),
        (r#"{"do": "expect", "journal": {"ov:m1": 1}}"#, "steps/0/journal/ov:m1: unknown sort of key \"ov:m1\""),
        (
            r#"{"do": "expect", "journal": {"msg:m1": "m1"}}"#,
            "steps/0/journal/msg:m1: \"m1\" is not '@ref', a number or null",
        ),
        (r#"{"do": "expect", "relay": {"tails": 1}}"#, "steps/0/relay/tails: unknown key"),
        (
            r#"{"do": "expect", "timeline": {"channel": "general", "row": {"m2": {}}}}"#,
            "steps/0/timeline/row/m2: unknown ref \"m2\"",
        ),
        (
            r#"{"do": "post", "event": {"ref": "m1", "by": "ada", "in": "general"}}"#,
            "steps/0/event: ref \"m1\" is defined twice",
        ),
        (r#"{"do": "post", "event": {"ref": "m2", "by": "ada"}}"#, "steps/0/event: a message needs \"in\""),
        (
            r#"{"do": "post", "event": {"ref": "m2", "by": "ada", "react": "m3"}}"#,
            "steps/0/event/react: unknown ref \"m3\"",
        ),
        (
            r#"{"do": "post", "event": {"ref": "m2", "by": "ada", "in": "general", "tags": [["e", "$m3"]]}}"#,
            "steps/0/event/tags/0/1: \"$m3\" is neither a ref nor a person",
        ),
        (
            r#"{"do": "post", "event": {"ref": "m2", "by": "ada", "in": "general", "stored": false}}"#,
            "steps/0/event/stored: unknown key",
        ),
    ] {
        assert_eq!(fault(steps), expected);
    }
    let twice = file(r#"{"do": "start"}"#).replacen("\"members\"", "\"name\": \"x\", \"members\"", 1);
    assert_eq!(read_scenario(&twice).unwrap_err().to_string(), "channels/0/name: this key comes twice");
    assert!(read_scenario("{").unwrap_err().to_string().starts_with("not JSON"));
}

/// The words of the schema beside the cases are the words this reader knows.
#[test]
fn the_reader_knows_every_word_of_the_schema() {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("scenario.schema.json")).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&text).unwrap();
    let step = &schema["$defs"]["step"]["properties"];
    let words = |value: &serde_json::Value| -> Vec<String> {
        value["enum"].as_array().unwrap().iter().map(|w| w.as_str().unwrap().to_owned()).collect()
    };
    for word in words(&step["do"]) {
        if let Err(why) = read_scenario(&file(&format!(r#"{{"do": "{word}"}}"#))) {
            assert!(!why.what.starts_with("unknown"), "{why}");
        }
    }
    for code in words(&step["fails"]) {
        assert!(Code::named(&code).is_some(), "{code}");
    }
    for name in words(&step["fault"]) {
        read_scenario(&file(&format!(r#"{{"do": "fault", "fault": "{name}"}}"#))).unwrap();
    }
    assert_eq!(words(&step["sync"]["properties"]["state"]), crate::driver::SyncState::WORDS);
    assert_eq!(words(&step["sync"]["properties"]["capability"]), crate::driver::Capability::WORDS);
    let counters = step["relay"]["properties"].as_object().unwrap().keys();
    let known = |k: &&String| !matches!(k.as_str(), "keys" | "evidence_channels");
    let counters: std::collections::BTreeSet<&str> = counters.filter(known).map(String::as_str).collect();
    assert_eq!(counters, crate::scenario::COUNTERS.into());
}

#[test]
fn a_mismatch_reads_as_the_specification_shows_it() {
    assert_eq!(
        run(r#"{"do": "expect", "unread": {"target": "general", "observed": 0, "freshness": "stale"}}"#),
        Outcome::Passed
    );
    assert_eq!(
        run(
            r#"{"do": "start"}, {"do": "advance", "s": 3}, {"do": "expect", "unread": {"target": "general", "observed": 2}}"#
        ),
        failed("step 3: unread general: observed expected 2, got 3")
    );
    assert_eq!(
        run(
            r#"{"do": "expect", "unread": {"target": {"message": "m1"}, "observed": 2, "latest": "m1", "manual": "none"}}"#
        ),
        failed(
            "step 1: unread message m1: observed expected 2, got null; unread message m1: manual expected none, got local-only; \
             unread message m1: latest expected m1, got null"
        )
    );
    assert_eq!(
        run(r#"{"do": "expect", "timeline": {"channel": "general", "rows": ["m1"], "row": {"m1": {"text": "x"}}}}"#),
        failed("step 1: timeline general: rows expected [m1], got []; row m1: not shown")
    );
    assert_eq!(
        run(r#"{"do": "expect", "sidebar": {"channel": "general", "strong": false, "listed": false}}"#),
        Outcome::Passed
    );
    assert_eq!(
        run(r#"{"do": "expect", "journal": {"thread:m1": 7, "activity:general": "@m1-1"}}"#),
        failed("step 1: journal: activity:general expected 1751499939, got 7")
    );
    assert_eq!(
        run(r#"{"do": "expect", "sync": {"state": "local"}}"#),
        failed("step 1: sync: the observation did not come back")
    );
}

#[test]
fn within_lets_time_run_only_as_long_as_needed() {
    let steps = r#"{"do": "expect", "unread": {"target": "general", "observed": 2}, "within": {"s": 5}},
        {"do": "expect", "unread": {"target": "general", "observed": 2}},
        {"do": "expect", "unread": {"target": "general", "observed": 9}, "within": {"s": 1}}"#;
    assert_eq!(run(steps), failed("step 3: unread general: observed expected 9, got 3"));
}

#[test]
fn a_call_that_fails_must_be_expected_to_and_the_other_way_round() {
    assert_eq!(
        run(r#"{"do": "offline"}, {"do": "ensure", "fails": "network"}, {"do": "ensure", "on": "tablet"}"#),
        Outcome::Passed
    );
    assert_eq!(run(r#"{"do": "offline"}, {"do": "ensure"}"#), failed("step 2: ensure failed: network (Offline)"));
    assert_eq!(run(r#"{"do": "ensure", "fails": "network"}"#), failed("step 1: ensure did not fail, expected network"));
    assert_eq!(
        run(r#"{"do": "fault", "fault": "disk_full", "skip": 1}, {"do": "mark_channel_read", "channel": "general"},
            {"do": "mark_channel_read", "channel": "general", "fails": "busy"}"#),
        failed("step 3: mark_channel_read expected busy, got storage (DiskFull)")
    );
    assert_eq!(run(r#"{"do": "advance", "s": 1, "fails": "busy"}"#), failed("step 1: advance cannot fail"));
}

#[test]
fn a_held_call_is_judged_by_its_release() {
    let hold = r#"{"do": "hold", "what": "save"}, {"do": "mark_channel_read", "channel": "general"}"#;
    assert_eq!(run(&format!(r#"{hold}, {{"do": "release"}}"#)), Outcome::Passed);
    assert_eq!(
        run(&format!(r#"{hold}, {{"do": "release", "fails": "busy"}}"#)),
        failed("step 3: no held call failed, expected busy")
    );
    let full = r#"{"do": "fault", "fault": "disk_io_error"}"#;
    assert_eq!(run(&format!(r#"{full}, {hold}, {{"do": "release", "fails": "storage"}}"#)), Outcome::Passed);
    assert_eq!(
        run(&format!(r#"{full}, {hold}, {{"do": "release"}}"#)),
        failed("step 4: step 3 mark_channel_read failed: storage (DiskIoError)")
    );
    assert_eq!(
        run(&format!(r#"{hold}, {{"do": "kill"}}, {{"do": "mark_channel_read", "channel": "general"}}"#)),
        Outcome::Passed
    );
}

#[test]
fn a_call_that_needs_time_is_judged_when_it_is_over() {
    assert_eq!(run(r#"{"do": "flush"}, {"do": "advance", "s": 6}"#), Outcome::Passed);
    assert_eq!(
        run(r#"{"do": "flush", "fails": "network"}, {"do": "advance", "s": 6}"#),
        failed("step 2: step 1: flush did not fail, expected network")
    );
    assert_eq!(
        run(r#"{"do": "retry_sync"}, {"do": "advance", "s": 6}"#),
        failed("step 1: retry_sync never came to an end")
    );
    assert_eq!(run(r#"{"do": "retry_sync"}, {"do": "kill"}"#), Outcome::Passed);
}

#[test]
fn the_relay_refuses_what_is_wrong_unless_it_is_unchecked() {
    let post = |more: &str| format!(r#"{{"do": "post", "event": {{"ref": "x", "by": "bo", "delete": ["m1"]{more}}}}}"#);
    assert!(matches!(run(&post("")), Outcome::Failed(why) if why.starts_with("step 1: the relay refuses x: ")));
    assert_eq!(run(&post(r#", "unchecked": true"#)), Outcome::Passed);
    assert_eq!(run(&post(r#", "forge": "id""#)), Outcome::Passed);
}

#[test]
fn the_same_file_and_seed_give_the_same_trace() {
    let folder = tempfile::tempdir().unwrap();
    let steps = r#"{"do": "ensure"}, {"do": "post", "event": {"ref": "n", "by": "ada", "in": "general", "repeat": 3}},
        {"do": "ensure", "on": "tablet"}, {"do": "flush"}, {"do": "advance", "s": 31}, {"do": "expect", "relay": {"publishes": 0, "slots": 0}}"#;
    let path = write(folder.path(), "a.json", &file(steps));
    let runs: Vec<Vec<String>> = (0..3).map(|_| run_file(&path, &options(true)).trace).collect();
    assert!(runs[0].iter().any(|l| l.contains("phone: / -> 200")), "{:?}", runs[0]);
    assert!(runs[0].contains(&"      0.000 step: 1 ensure".to_owned()));
    assert_eq!(runs[0], runs[1]);
    assert_eq!(runs[0], runs[2]);
}

#[test]
fn work_on_another_thread_fails_a_file() {
    let make = |env: DeviceEnv| -> anyhow::Result<Rc<dyn Driver>> {
        drop(tokio::task::spawn_blocking(|| ()));
        Ok(Rc::new(Fake(env)))
    };
    let threaded = Options { driver: Some(Arc::new(make)), ..options(false) };
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "a.json", &file(r#"{"do": "ensure"}"#));
    assert_eq!(run_file(&path, &options(false)).outcome, Outcome::Passed);
    assert!(matches!(run_file(&path, &threaded).outcome, Outcome::Failed(why) if why.contains("another thread")));
}

#[test]
fn output_comes_in_order_and_says_how_it_went() {
    let folder = tempfile::tempdir().unwrap();
    let bad = write(folder.path(), "b.json", &file(r#"{"do": "start", "colour": 1}"#));
    write(folder.path(), "a.json", &file(r#"{"do": "start"}"#));
    write(folder.path(), "c.json", &file(r#"{"do": "ensure", "fails": "busy"}"#));
    write(folder.path(), "notes.txt", "no scenario");
    let mut out = Vec::new();
    let summary = run_files(&expand(&[folder.path().to_owned()]), &options(false), &mut out).unwrap();
    let expected = format!(
        "ok   a file around steps\nFAIL {}: cannot be read: steps/0/colour: unknown key\n\
         FAIL a file around steps: step 1: ensure did not fail, expected busy\n1 passed, 2 failed\n",
        bad.display()
    );
    assert_eq!(String::from_utf8(out).unwrap(), expected);
    assert_eq!((summary.passed, summary.failed, summary.exit_code()), (1, 2, 2));
    let missing = run_files(&[folder.path().join("none.json")], &options(false), &mut Vec::new()).unwrap();
    assert_eq!(missing.exit_code(), 2);
}

#[test]
fn rows_of_one_second_are_wanted_in_their_true_order() {
    let mut book = crate::book::Book::new(1_751_500_000);
    let text = file(r#"{"do": "post", "event": {"ref": "s", "by": "ada", "in": "general", "repeat": 4, "step": 0}}"#);
    let scenario = read_scenario(&text).unwrap();
    let crate::scenario::Action::Post { event, .. } = &scenario.steps[0].action else { panic!("a post") };
    let slots = BTreeMap::new();
    let names = book.build(event, 1_751_500_000, &slots).unwrap();
    for early in &scenario.history {
        book.build(early, 0, &slots).unwrap();
    }
    let mut shown: Vec<String> = names.iter().map(|n| book.id(n).unwrap()).collect();
    shown.sort();
    shown.reverse();
    shown.insert(0, book.id("m1").unwrap());
    let row = |id: &String| RowFact {
        id: id.clone(),
        text: String::new(),
        edited: false,
        replies: 0,
        reactions: BTreeMap::from([("+".to_owned(), 1)]),
        thread_dot: false,
    };
    let fact = |ids: &[String]| TimelineFact {
        rows: ids.iter().map(row).collect(),
        more: More::No,
        gap: false,
        first_unread: None,
    };
    let step = r#"{"do": "post", "event": {"ref": "s", "by": "ada", "in": "general", "repeat": 4, "step": 0}},
        {"do": "expect", "timeline": {"channel": "general", "rows": ["m1", "s1", "s2", "s3", "s4"], "row": {"m1": {"reactions": {"+": 1}}}}}"#;
    let wanted = read_scenario(&file(step)).unwrap();
    let crate::scenario::Action::Expect(expect) = &wanted.steps[1].action else { panic!("an expect") };
    let crate::scenario::Check::Timeline(check) = &expect.checks[0] else { panic!("a timeline") };
    let compare = |ids: &[String]| crate::compare::timeline(check, &fact(ids), &book).unwrap();
    assert_eq!(compare(&shown), Vec::<String>::new());
    shown.swap(1, 2);
    assert_eq!(compare(&shown).len(), 1, "an order that is not the true one");
}

#[test]
fn replies_carry_the_root_their_parent_claims() {
    let steps = r##"{"do": "post", "event": {"ref": "r2", "by": "ada", "in": "general", "reply_to": "r1", "broadcast": true, "mentions": ["me"]}},
        {"do": "post", "event": {"ref": "t", "by": "ada", "in": "general", "tags": [["e", "$r1", "", "reply"], ["p", "$ada"], ["c", "#general"]]}},
        {"do": "post", "event": {"ref": "r3", "by": "ada", "in": "general", "reply_to": "t"}}"##;
    let scenario = read_scenario(&file(steps)).unwrap();
    let mut book = crate::book::Book::new(1_751_500_000);
    let mut tags = BTreeMap::new();
    let posted = scenario.steps.iter().filter_map(|s| match &s.action {
        crate::scenario::Action::Post { event, .. } => Some(&**event),
        _ => None,
    });
    for event in scenario.history.iter().chain(posted) {
        book.build(event, 1_751_500_000, &BTreeMap::new()).unwrap();
        tags.insert(event.name.clone(), book.built(&event.name).unwrap().event.tags.clone());
    }
    let id = |name: &str| book.id(name).unwrap();
    let e = |name: &str, marker: &str| vec!["e".to_owned(), id(name), String::new(), marker.to_owned()];
    let h = vec!["h".to_owned(), crate::names::channel_id("general")];
    let key = |name: &str| crate::names::Person::named(name).unwrap().public();
    assert_eq!(tags["r1"], [h.clone(), e("m1", "reply")]);
    let broadcast = vec!["broadcast".to_owned(), "1".to_owned()];
    assert_eq!(tags["r2"], [h.clone(), e("m1", "root"), e("r1", "reply"), broadcast, vec!["p".to_owned(), key("me")]]);
    assert_eq!(
        tags["t"][1..],
        [e("r1", "reply"), vec!["p".to_owned(), key("ada")], vec!["c".to_owned(), h[1].clone()]]
    );
    assert_eq!(tags["r3"], [h, e("r1", "root"), e("t", "reply")]);
}

#[test]
fn a_sidebar_row_that_is_there_is_listed() {
    let check = crate::scenario::SidebarCheck {
        channel: "general".into(),
        strong: Some(true),
        dot: Some(true),
        bell: None,
        listed: Some(true),
        counted: None,
    };
    let row = SidebarFact { channel: "c".into(), strong: true, dot: false, bell: true, counted: false };
    assert_eq!(crate::compare::sidebar(&check, Some(&row)), ["sidebar general: dot expected true, got false"]);
}

/// Whole traces of real sessions, with other neighbours every time: devices that sync, and the edges.
#[test]
fn real_sessions_give_the_same_trace_every_time() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let files = expand(&[folder.join("sync"), folder.join("edges"), folder.join("presentation")]);
    let run = |jobs| {
        let options =
            Options { seed: 7, trace: true, jobs, driver: Some(Arc::new(crate::native::make)), threads: false };
        let mut out = Vec::new();
        assert_eq!(run_files(&files, &options, &mut out).unwrap().failed, 0);
        String::from_utf8(out).unwrap()
    };
    let first = run(1);
    assert!(first.contains("tablet: roster -> 200"), "two devices have a trace");
    for jobs in [2, 5] {
        let other = run(jobs);
        let differs = first.lines().zip(other.lines()).find(|(a, b)| a != b);
        assert!(first == other, "with {jobs} jobs: {differs:?}");
    }
}

/// The acceptance tests themselves.
#[test]
fn every_given_file_passes() {
    let options =
        Options { seed: 1, trace: false, jobs: 2, driver: Some(Arc::new(crate::native::make)), threads: false };
    let mut out = Vec::new();
    let summary = run_files(&cases(), &options, &mut out).unwrap();
    let failed: Vec<_> =
        String::from_utf8(out).unwrap().lines().filter(|l| l.starts_with("FAIL")).map(str::to_owned).collect();
    assert!(summary.failed == 0, "{}", failed.join("\n"));
}
