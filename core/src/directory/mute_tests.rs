//! The mute preference: merging, and the call that changes it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::mutes::{COORDINATE, CallId, Job, JobResult, MuteEffects, Mutes};
use crate::clock::Millis;
use crate::error::{Error, NetworkFailure, Refusal};
use crate::event::{Batch, SharedEvent};
use crate::ids::ChannelId;
use crate::limits;
use crate::request::{Answer, Body, Outbox, Outcome, Purpose, RequestError, RequestId};
use crate::testing::{Author, channel, template};

const SERVER: u64 = 1_000;

/// A device: its mutes, and a key holder whose "encryption" is plain text.
struct Device {
    me: Author,
    mutes: Mutes,
    out: Outbox,
    calls: u64,
    done: BTreeMap<CallId, Result<(), Error>>,
    changed: Vec<ChannelId>,
    signer: bool,
}

/// The relay's one copy of the preference.
#[derive(Default)]
struct Relay(Option<SharedEvent>);

impl Relay {
    /// Stores what wins, and says what a relay says.
    fn publish(&mut self, me: &Author, json: &str) -> Outcome {
        let event = crate::event::Verifier::new().event(json).unwrap();
        assert_eq!(event.pubkey, me.key());
        let wins = self.0.as_ref().is_none_or(|held| event.key() < held.key());
        if wins {
            self.0 = Some(event);
        }
        let message = if wins { String::new() } else { "duplicate:".into() };
        Ok(Answer::Published { accepted: true, message })
    }
}

impl Device {
    fn new() -> Self {
        let me = Author::named("me");
        let mutes = Mutes::new(me.key());
        Self { me, mutes, out: Outbox::default(), calls: 0, done: BTreeMap::new(), changed: vec![], signer: true }
    }

    fn take(&mut self, effects: MuteEffects) {
        self.done.extend(effects.done);
        self.changed.extend(effects.changed);
        for job in effects.jobs {
            let (id, result) = match job {
                Job::Decrypt { id, ciphertext } if ciphertext == "noise" => {
                    (id, JobResult::Failed(Error::InvalidAnswer { why: "does not decrypt" }))
                }
                Job::Decrypt { id, ciphertext } => (id, JobResult::Plaintext(ciphertext)),
                Job::EncryptAndSign { id, .. } if !self.signer => (id, JobResult::Failed(Error::ReadOnly)),
                Job::EncryptAndSign { id, kind, created_at, tags, plaintext } => {
                    let mut t = template(kind, created_at, &[], &plaintext);
                    t.tags = tags;
                    (id, JobResult::Signed(self.me.sign(t)))
                }
            };
            let effects = self.mutes.on_job(id, result, SERVER, &mut self.out);
            self.take(effects);
        }
    }

    fn call(&mut self, name: &str, muted: bool) -> CallId {
        self.calls += 1;
        let id = CallId(self.calls);
        let effects = self.mutes.mute(id, channel(name), muted, &mut self.out);
        self.take(effects);
        id
    }

    fn live(&mut self, event: &SharedEvent) {
        let effects = self.mutes.on_event(event);
        self.take(effects);
    }

    /// The oldest request nobody has answered.
    fn request(&self) -> Option<(RequestId, Purpose)> {
        self.out.sent.iter().find(|(id, _)| self.mutes.owns(*id)).map(|(id, r)| (*id, r.purpose))
    }

    fn answer(&mut self, outcome: Outcome) {
        let (id, _) = self.request().unwrap();
        let effects = self.mutes.on_answer(id, outcome, Millis(0), SERVER, &mut self.out);
        self.take(effects);
    }

    /// Lets the relay answer everything.
    fn settle(&mut self, relay: &mut Relay) {
        while let Some((id, purpose)) = self.request() {
            let (_, request) = self.out.sent.iter().find(|(sent, _)| *sent == id).unwrap().clone();
            let outcome = match request.body {
                Body::Publish(json) => relay.publish(&self.me, &json),
                _ => {
                    assert_eq!(purpose, Purpose::Preference);
                    events(relay.0.iter().cloned().collect())
                }
            };
            self.answer(outcome);
        }
    }

    fn muted(&self, name: &str) -> bool {
        self.mutes.is_muted(channel(name))
    }
}

fn events(events: Vec<SharedEvent>) -> Outcome {
    Ok(Answer::Events(Batch { events, rejected: vec![] }))
}

fn body(entries: &[(&str, Value)]) -> Value {
    let channels: serde_json::Map<_, _> = entries.iter().map(|(n, v)| (channel(n).to_string(), v.clone())).collect();
    json!({ "version": 1, "channels": channels })
}

fn entry(muted: bool, at: f64) -> Value {
    json!({ "muted": muted, "updatedAt": at })
}

fn preference(by: &Author, at: u64, content: &str) -> SharedEvent {
    by.sign(template(30078, at, &[&["d", COORDINATE], &["t", COORDINATE]], content))
}

fn stored(relay: &Relay) -> Value {
    serde_json::from_str(&relay.0.as_ref().unwrap().content).unwrap()
}

/// `unread.md` 1.24: an entry of the wrong shape is skipped alone; a payload of another version says nothing.
#[test]
fn entries_are_checked_one_by_one() {
    let mut d = Device::new();
    let bad = [json!({"muted": "yes", "updatedAt": 5}), entry(true, -1.0), json!({"muted": true}), json!(null)];
    for (n, wrong) in bad.into_iter().enumerate() {
        let at = 10 + n as u64;
        let content = body(&[("c1", wrong), ("c2", entry(n % 2 == 0, at as f64 + 0.5))]).to_string();
        d.live(&preference(&Author::named("me"), at, &content));
        assert_eq!((d.muted("c1"), d.muted("c2")), (false, n % 2 == 0));
    }
    let mut other = body(&[("c1", entry(true, 99.0))]);
    other["version"] = json!(2);
    for content in [other.to_string(), "noise".into(), "[]".into()] {
        d.live(&preference(&Author::named("me"), 50, &content));
        assert!(!d.muted("c1") && d.mutes.error().is_some());
    }
    d.live(&preference(&Author::named("me"), 60, &body(&[("c1", entry(true, 99.0))]).to_string()));
    assert!(d.muted("c1") && d.mutes.error().is_none());
}

/// `unread.md` 1.5, E19: per channel the greater `updatedAt`, a tie to what is held; no copy overwrites another whole.
#[test]
fn copies_merge_in_any_order() {
    let me = Author::named("me");
    let a = preference(&me, 20, &body(&[("c1", entry(true, 10.0)), ("c3", entry(true, 5.0))]).to_string());
    let b = preference(&me, 30, &body(&[("c2", entry(true, 11.0)), ("c3", entry(false, 5.0))]).to_string());
    for (order, tie) in [([&a, &b], true), ([&b, &a], false)] {
        let mut d = Device::new();
        for event in order {
            d.live(event);
        }
        assert!(d.muted("c1") && d.muted("c2"));
        assert_eq!(d.muted("c3"), tie);
    }
}

/// `unread.md` 13.10: other people's preferences, and other coordinates, are nobody's.
#[test]
fn preferences_of_others_are_ignored() {
    let mut d = Device::new();
    let content = body(&[("c1", entry(true, 10.0))]).to_string();
    d.live(&preference(&Author::named("ada"), 20, &content));
    d.live(&Author::named("me").sign(template(30078, 20, &[&["d", "channel-stars"]], &content)));
    d.live(&Author::named("me").sign(template(30078, 20, &[&["d", COORDINATE], &["d", "x"]], &content)));
    assert!(!d.muted("c1") && d.changed.is_empty());
}

/// R27b: read, merge, publish later; it counts once the relay has accepted it. Scenario presentation/08.
#[test]
fn a_mute_reads_merges_and_publishes() {
    let (mut phone, mut tablet, mut relay) = (Device::new(), Device::new(), Relay::default());
    let id = phone.call("general", true);
    assert!(!phone.muted("general"), "nothing is hidden while it is pending");
    phone.settle(&mut relay);
    assert_eq!(phone.done[&id], Ok(()));
    assert!(phone.muted("general") && phone.changed == [channel("general")]);
    assert_eq!(relay.0.as_ref().unwrap().created_at, SERVER);
    // The tablet has heard of nothing, and its copy keeps what the phone wrote.
    tablet.call("ops", true);
    tablet.settle(&mut relay);
    assert!(tablet.muted("general") && tablet.muted("ops"));
    assert_eq!(relay.0.as_ref().unwrap().created_at, SERVER + 1, "later than what was read");
    phone.live(&relay.0.clone().unwrap());
    assert!(phone.muted("ops"));
    phone.call("general", false);
    phone.settle(&mut relay);
    let general = &stored(&relay)["channels"][channel("general").to_string()];
    assert_eq!(*general, json!({"muted": false, "updatedAt": SERVER + 1}), "an unmute is an entry, and a later one");
    tablet.live(&relay.0.clone().unwrap());
    assert!(!tablet.muted("general") && tablet.muted("ops"));
}

/// Calls made together run one after another, each on what the one before stored.
#[test]
fn calls_are_queued_and_bounded() {
    let (mut d, mut relay) = (Device::new(), Relay::default());
    let ids: Vec<_> = (0..limits::MUTE_CALLS).map(|n| d.call(&format!("c{n}"), true)).collect();
    let over = d.call("over", true);
    assert_eq!(d.done[&over], Err(Error::Capacity { what: "waiting mute calls" }));
    d.settle(&mut relay);
    assert!(ids.iter().all(|id| d.done[id] == Ok(())));
    assert_eq!(stored(&relay)["channels"].as_object().unwrap().len(), limits::MUTE_CALLS);
}

/// R27b, `unread.md` 12.10: a failed mute fails with its cause and changes nothing, wherever it fails.
#[test]
fn a_failed_mute_changes_nothing() {
    let lost = || Err(RequestError::Network(NetworkFailure::Offline));
    let network = Err(Error::Network { why: NetworkFailure::Offline });
    let mut d = Device::new();
    let id = d.call("general", true);
    d.answer(lost());
    assert_eq!(d.done[&id], network);
    let id = d.call("general", true);
    d.answer(events(vec![]));
    d.answer(lost());
    assert_eq!(d.done[&id], network);
    let id = d.call("general", true);
    d.answer(events(vec![]));
    d.answer(Ok(Answer::Published { accepted: false, message: "no".into() }));
    assert_eq!(d.done[&id], Err(Error::RelayRefused { why: Refusal::Other, retry_after: None }));
    d.signer = false;
    let id = d.call("general", true);
    d.answer(events(vec![]));
    assert_eq!(d.done[&id], Err(Error::ReadOnly));
    assert!(!d.muted("general") && d.changed.is_empty() && d.request().is_none());
}

/// R26: "duplicate" means another copy won: the call starts over, a few times.
#[test]
fn a_duplicate_is_not_stored() {
    let (mut d, mut relay) = (Device::new(), Relay::default());
    let id = d.call("general", true);
    d.answer(events(vec![]));
    let winner = preference(&d.me, 2_000, &body(&[("ops", entry(true, 9.0))]).to_string());
    relay.0 = Some(winner);
    d.settle(&mut relay);
    assert_eq!(d.done[&id], Ok(()));
    assert!(d.muted("general") && d.muted("ops"));
    assert_eq!(relay.0.as_ref().unwrap().created_at, 2_001);
    let id = d.call("general", false);
    for _ in 0..limits::MUTE_ATTEMPTS {
        d.answer(events(vec![]));
        d.answer(Ok(Answer::Published { accepted: true, message: "duplicate:".into() }));
    }
    assert_eq!(d.done[&id], Err(Error::RelayRefused { why: Refusal::Other, retry_after: None }));
    assert!(d.muted("general"));
}

/// What cannot be read is never overwritten (`unread.md` 13, rule 11).
#[test]
fn an_unreadable_preference_is_left_alone() {
    for content in ["noise", "{}", r#"{"version":2,"channels":{}}"#] {
        let mut d = Device::new();
        let mut relay = Relay(Some(preference(&d.me, 5, content)));
        let id = d.call("general", true);
        d.settle(&mut relay);
        assert!(matches!(d.done[&id], Err(Error::InvalidAnswer { .. })));
        assert_eq!(relay.0.as_ref().unwrap().content, content);
    }
}

/// Restarts keep the confirmed state; a failed listing is repeated.
#[test]
fn confirmed_mutes_are_kept() {
    let (mut d, mut relay) = (Device::new(), Relay::default());
    assert_eq!(d.mutes.take_unsaved(), None);
    d.call("general", true);
    d.settle(&mut relay);
    let kept = d.mutes.take_unsaved().unwrap();
    assert_eq!(d.mutes.take_unsaved(), None);
    let mut d = Device::new();
    assert_eq!(d.mutes.restore("damaged").len(), 0);
    assert_eq!(d.mutes.restore(&kept).len(), 1);
    assert!(d.muted("general") && d.mutes.take_unsaved().is_none());
    d.mutes.on_connected(&mut d.out);
    d.answer(Err(RequestError::Network(NetworkFailure::Server(500))));
    assert_eq!(d.mutes.next_wake(), Some(Millis(limits::RETRY_MIN_MS)));
    d.mutes.on_wake(Millis(limits::RETRY_MIN_MS), &mut d.out);
    d.settle(&mut relay);
    assert!(d.mutes.error().is_none() && d.mutes.next_wake().is_none());
}

#[test]
fn closing_ends_every_call() {
    let mut d = Device::new();
    let ids = [d.call("a", true), d.call("b", true)];
    let effects = d.mutes.close(&mut d.out);
    assert_eq!(effects.done, ids.map(|id| (id, Err(Error::Closed))));
    assert!(d.request().is_none() && d.out.cancelled.len() == 1);
}

#[test]
fn debug_shows_no_content() {
    let mut d = Device::new();
    d.live(&preference(&Author::named("me"), 5, &body(&[("c1", entry(true, 1.0))]).to_string()));
    let shown = format!("{:?}", d.mutes);
    assert!(!shown.contains(&channel("c1").to_string()));
}
