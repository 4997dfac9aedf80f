//! P18: peak resident memory over an idle process.
//!
//! The bench starts itself again for each state, because a peak is of a whole process. What the child needs is made by the parent and
//! read from files, answer by answer as from a relay: making fixtures would be the peak.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use waggle::event::Verifier;
use waggle::identity::SelfCipher as _;
use waggle::ids::EventId;
use waggle::journal::{Fresh, Key, Mark, Merge, Mutation, NoFacts, Read};
use waggle::limits;
use waggle::read_state::algebra::State;
use waggle::read_state::blob;
use waggle::relay::protocol;
use waggle::request::{Answer, Body, Outcome, Priority, Purpose, Request};
use waggle::store::cache::{Cache, Class};
use waggle::store::journal::{Cancel, JournalStore as _, NoHooks, Partition, SqliteJournal};
use waggle::unread::NoMarks;

use crate::counting::{array, channel, context, repair_request, room, viewer};
use crate::fixtures::{Signer, T0};
use crate::{Line, durable};

const STATE: &str = "WAGGLE_BENCH_MEMORY";
const FILES: &str = "WAGGLE_BENCH_FILES";
const CHANNELS: usize = 300;
/// Just within [`limits::EVIDENCE_EVENTS`] and [`limits::EVIDENCE_BYTES`].
const EVENTS: usize = 4_090;
/// Events of one answer.
const PART: usize = limits::REPAIR_ROWS as usize;

/// Whether this process is one that is measured; then it has been.
pub(crate) fn is_child() -> bool {
    let (Ok(state), Some(files)) = (std::env::var(STATE), std::env::var_os(FILES)) else { return false };
    let files = PathBuf::from(files);
    match state.as_str() {
        "idle" => {}
        "held" => drop(hold(&files)),
        _ => {
            let held = hold(&files);
            load_snapshot(&files, held);
        }
    }
    println!("peak {}", peak_kib());
    true
}

/// This process's greatest resident size so far, KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}

fn partition() -> Partition {
    Partition { host: "relay.example".to_owned(), account: viewer() }
}

fn journal(files: &Path) -> SqliteJournal {
    let mut entropy = waggle::entropy::Entropy::from_seed(18);
    let fresh = Fresh { slot: entropy.slot(), client_id: entropy.uuid() };
    SqliteJournal::open(&files.join("journal.sqlite"), partition(), fresh, Arc::new(NoHooks)).unwrap()
}

struct Held {
    verifier: Verifier,
    unread: waggle::unread::Unread,
    journal: SqliteJournal,
    /// The engine's own, beside the store's.
    record: waggle::journal::Record,
    cache: Cache,
}

/// Everything a session holds of 4,090 events, 300 channels and 5,000 reserve keys; events arrive in answers.
fn hold(files: &Path) -> Held {
    let journal = journal(files);
    let record = journal.record().clone();
    assert_eq!(record.reserve_size().1, limits::RESERVE_KEYS);
    let mut cache = Cache::open(&files.join("cache.sqlite")).unwrap();
    let part = cache.partition("relay.example", &viewer()).unwrap();
    let (verifier, mut unread) = (Verifier::new(), room(CHANNELS));
    for n in 0.. {
        let Ok(body) = std::fs::read(files.join(format!("answer-{n}"))) else { break };
        let Ok(Answer::Events(batch)) = decode(&body, &repair_request(), &verifier) else { panic!("no events") };
        drop(body);
        unread.intake(&batch.events, &context(&NoMarks));
        unread.take_dirty();
        cache.put_events(part, Class::Evidence, &unread.take_cache_changes().events).unwrap();
    }
    assert_eq!(unread.evidence().len(), EVENTS);
    Held { verifier, unread, journal, record, cache }
}

fn decode(body: &[u8], request: &Request, verifier: &Verifier) -> Outcome {
    protocol::decode(body, request, verifier)
}

/// A snapshot of the greatest size is read, decrypted in the machine's small jobs and merged.
fn load_snapshot(files: &Path, mut held: Held) {
    let body = std::fs::read(files.join("snapshot")).unwrap();
    assert!(body.len() > 7_400_000);
    let request =
        Request { body: Body::Snapshot(viewer()), ..Request::query(Purpose::Snapshot, Priority::Foreground, vec![]) };
    let Ok(Answer::Snapshot(envelope)) = decode(&body, &request, &held.verifier) else { panic!("no snapshot") };
    drop(body);
    let (_, cipher) = durable::cipher();
    let mut events = envelope.batch.events;
    assert_eq!(events.len(), limits::SNAPSHOT_EVENTS);
    let mut digest = State::default();
    while !events.is_empty() {
        let job = events.split_off(events.len().saturating_sub(limits::DECODE_EVENTS));
        for event in &job {
            let plain = cipher.decrypt(&event.content).unwrap();
            digest.merge(&blob::parse(plain.as_bytes()).unwrap().state);
        }
    }
    let merge = Merge { frontiers: digest.frontiers.into_iter().collect(), ..Merge::default() };
    held.journal.update(&Mutation::Merge(merge), &NoFacts, &Cancel::new()).unwrap().adopt_into(&mut held.record);
    std::hint::black_box((&held.unread, &held.cache));
}

fn prepare(files: &Path) {
    let text = "The smoker is in the shed, and the queen was seen on frame seven. ".repeat(24);
    let mut bytes = 0;
    let events: Vec<_> = (0..EVENTS)
        .map(|n| {
            let h = vec!["h".to_owned(), channel(n % CHANNELS).to_string()];
            let event = Signer::new(n % 30).sign(9, T0 + n as u64, vec![h], &format!("{n} {text}"));
            bytes += event.json.len();
            event
        })
        .collect();
    assert!((limits::EVIDENCE_BYTES - (1 << 20)..limits::EVIDENCE_BYTES).contains(&bytes), "{bytes}");
    for (n, part) in events.chunks(PART).enumerate() {
        std::fs::write(files.join(format!("answer-{n}")), array(part)).unwrap();
    }
    let mut file = std::fs::File::create(files.join("snapshot")).unwrap();
    let snapshot = array(&durable::snapshot_events());
    write!(file, "{{\"read_state_snapshot\":1,\"complete\":true,\"events\":{snapshot}}}").unwrap();
    let mut store = journal(files);
    let key = |n: u32| {
        let mut id = [0; 32];
        id[..4].copy_from_slice(&n.wrapping_mul(0x9e37_79b9).to_be_bytes());
        Mark::always(Key::Message(EventId(id)), T0 + u64::from(n))
    };
    let rooms = (0..CHANNELS).map(|n| Mark::always(Key::Channel(channel(n)), T0));
    let marks = (0..7_000).map(key).chain(rooms).collect();
    store.update(&Mutation::Read(Read { marks, ..Read::default() }), &NoFacts, &Cancel::new()).unwrap();
    store.close().unwrap();
}

/// P18, in MiB.
pub(crate) fn peak() -> Vec<Line> {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path());
    let child = |state: &str| -> f64 {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let _ = std::fs::remove_file(dir.path().join("cache.sqlite"));
        let output = command.env(STATE, state).env(FILES, dir.path()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let kib: u64 = text.lines().find_map(|line| line.strip_prefix("peak ")).unwrap().parse().unwrap();
        kib as f64 / 1_024.0
    };
    let idle = child("idle");
    vec![
        Line { promise: "P18", name: "peak_mib_holding_everything", ratio: child("held") - idle, limit: 24.0 },
        Line { promise: "P18", name: "peak_mib_during_a_snapshot", ratio: child("snapshot") - idle, limit: 40.0 },
    ]
}
