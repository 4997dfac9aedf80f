//! Loading and live merging (`unread.md` 9.5, 9.6, 9.11; R12, R23, R25b), driven through the scripted world.

use super::harness::*;
use super::sync::Sync;
use crate::error::{Error, NetworkFailure, Refusal};
use crate::ids::EventId;
use crate::journal::{Key, Override};
use crate::model::{Capability, Completeness, SyncState};
use crate::request::{Body, Priority, Purpose, RequestError, SnapshotEnvelope};
use crate::testing::Author;

fn is_invalid(result: &Result<(), Error>) -> bool {
    matches!(result, Err(Error::InvalidAnswer { .. }))
}

/// `unread.md` 9.5: where it is offered, the snapshot is asked for; foreground at first, background on reconnect, foreground on refresh.
#[test]
fn priorities_and_completeness_follow_the_connection() {
    let mut world = World::new();
    world.mute = true;
    world.connect();
    assert_eq!((world.status().state, world.status().completeness), (SyncState::Loading, Completeness::Unknown));
    world.mute = false;
    world.disconnect();
    world.connect();
    assert_eq!((world.status().state, world.status().completeness), (SyncState::Local, Completeness::Snapshot));
    world.disconnect();
    assert_eq!((world.status().state, world.status().completeness), (SyncState::Stale, Completeness::Unknown));
    world.connect();
    world.ended(Sync::refresh).unwrap();
    world.input(Sync::refresh_in_background);
    world.run();
    let priorities: Vec<Priority> = world.loads.iter().map(|l| l.priority).collect();
    let (fore, back) = (Priority::Foreground, Priority::Background);
    assert_eq!(priorities, [fore, fore, back, fore, back], "a first load that never ended is still the first");
    assert!(world.loads.iter().all(|l| l.body == Body::Snapshot(world.me.key()) && l.purpose == Purpose::Snapshot));
}

/// `unread.md` 9.32: without an offer the snapshot is never asked for; one bounded query, and completeness says so.
#[test]
fn row_9_32_without_discovery_bounded() {
    let mut world = World::new();
    let peer = world.peer(slot(9), T0, &[(&channel(1), at(-5))]);
    world.store(&peer);
    world.connect_with(None);
    let [load] = &world.loads[..] else { panic!() };
    let Body::Query(filters) = &load.body else { panic!() };
    let expected = serde_json::json!([
        {"kinds": [30078], "authors": [world.me.key().to_hex()], "#t": ["read-state"], "limit": 500}
    ]);
    assert_eq!(serde_json::to_value(filters).unwrap(), expected);
    assert_eq!(load.purpose, Purpose::ReadState);
    assert_eq!(world.status().completeness, Completeness::Bounded);
    assert_eq!(world.record.frontier(&channel(1)), Some(at(-5)));
}

/// R25b, R24, 13.13: an unusable snapshot is an error with completeness unknown; nothing is merged and nothing else is asked.
#[test]
fn an_unusable_snapshot_is_never_a_bounded_load() {
    type Damage = fn(&mut SnapshotEnvelope);
    let damages: [Damage; 3] = [
        |e| e.complete = Some(false),
        |e| e.community_id = Some("00000000-0000-4000-8000-000000000000".into()),
        |e| e.snapshot_id = Some("00".repeat(32)),
    ];
    for damage in damages {
        let mut world = World::new();
        let peer = world.peer(slot(9), T0, &[(&channel(1), at(-5))]);
        world.store(&peer);
        world.damage = Some(damage);
        world.connect();
        let status = world.status();
        assert_eq!((status.state, status.completeness), (SyncState::Error, Completeness::Unknown));
        assert!(matches!(status.error, Some(Error::InvalidAnswer { .. })));
        assert_eq!(world.loads.len(), 1);
        assert_eq!(world.record.frontier(&channel(1)), None);
        assert!(is_invalid(&world.ended(Sync::ensure)), "the standing error");
        assert_eq!(world.loads.len(), 1, "and nothing is sent for it");
        world.damage = None;
        world.ended(Sync::refresh).unwrap();
        assert_eq!((world.status().state, world.status().completeness), (SyncState::Local, Completeness::Snapshot));
        assert_eq!(world.record.frontier(&channel(1)), Some(at(-5)));
    }
}

/// `unread.md` 9.5: a plain array proves nothing, and a refusal of any class is not complete.
#[test]
fn arrays_and_refusals_are_not_complete() {
    let mut world = World::new();
    world.plain = true;
    world.connect();
    assert_eq!((world.status().state, world.status().completeness), (SyncState::Error, Completeness::Unknown));
    for error in [
        refusal(Refusal::TooLarge, "cannot prove complete", None),
        refusal(Refusal::Auth, "auth", None),
        RequestError::Network(NetworkFailure::Server(503)),
        RequestError::Network(NetworkFailure::Oversized),
    ] {
        world.load_error = Some(error.clone());
        assert_eq!(world.ended(Sync::refresh), Err(error.into()));
        assert_eq!((world.status().state, world.status().completeness), (SyncState::Error, Completeness::Unknown));
    }
}

/// R23, 9.6, 13.14, E13: one unreadable coordinate fails the load visibly; what is readable is merged, local marks go on.
#[test]
fn rows_9_6_and_13_14_an_unreadable_coordinate() {
    let mut world = World::new();
    let good = world.peer(slot(9), T0, &[(&channel(1), at(-5))]);
    world.store(&good);
    let garbage = world.event(slot(8), T0, "this is not an encrypted payload");
    let version = world.raw_blob(slot(8), T0, r#"{"v":2,"client_id":"c","contexts":{}}"#);
    let ada = World::new();
    let secret = crate::identity::Secret::from_bytes(Author::named("ada").secret()).unwrap();
    let stranger = crate::identity::LocalCipher::new(&secret).unwrap();
    let foreign = ada.event(slot(8), T0, &stranger.encrypt_as_peer(b"{}", [1; 32]).unwrap());
    for bad in [garbage, version, foreign] {
        world.stored.remove(&crate::event::app_data::read_state_coordinate(slot(8)));
        world.store(&bad);
        if world.loads.is_empty() {
            world.connect();
        } else {
            assert!(is_invalid(&world.ended(Sync::refresh)));
        }
        let status = world.status();
        assert_eq!((status.state, status.completeness), (SyncState::Error, Completeness::Unknown));
        assert_eq!(world.record.frontier(&channel(1)), Some(at(-5)));
    }
    world.read(channel(2), T0);
    assert_eq!(world.record.frontier(&channel(2)), Some(at(0)), "local marks go on");
    world.flush().unwrap();
    assert_eq!(world.on_relay(&channel(2)), Some(at(0)));
    assert_eq!(world.status().state, SyncState::Error, "publishing does not hide it");
    let cured = world.peer(slot(8), T0 + 1, &[(&channel(3), at(-7))]);
    world.push(&cured);
    let status = world.status();
    assert_eq!((status.state, status.completeness), (SyncState::Reconciled, Completeness::Snapshot));
    assert_eq!(world.record.frontier(&channel(3)), Some(at(-7)));
}

/// An unreadable event that arrives live is visible too, and gone from the relay it is forgotten at the next load.
#[test]
fn an_unreadable_live_event() {
    let mut world = World::online();
    let bad = world.event(slot(8), T0, "x");
    world.push(&bad);
    assert_eq!(world.status().state, SyncState::Error);
    world.ended(Sync::refresh).unwrap();
    assert_eq!(world.status().state, SyncState::Local);
}

/// `unread.md` 9.33: 98,304 bytes are read, 98,305 are a load error.
#[test]
fn row_9_33_an_oversized_event() {
    let mut world = World::new();
    let content = |n: usize| "A".repeat(n);
    let frame = world.event(slot(8), T0, "").json_len;
    let most = world.event(slot(8), T0, &content(98_304 - frame));
    let more = world.event(slot(8), T0, &content(98_305 - frame));
    assert_eq!((most.json_len, more.json_len), (98_304, 98_305));
    world.store(&more);
    world.connect();
    assert_eq!(world.status().error, Some(Error::InvalidAnswer { why: "read-state event too large" }));
    assert_eq!(world.count(&Step::Decode(1)), 0);
    world.stored.clear();
    world.store(&most);
    world.ended(Sync::refresh).unwrap_err();
    assert_eq!(world.count(&Step::Decode(1)), 1, "read, though it is no payload");
}

/// `unread.md` 9.1: newest of a coordinate, greater time, then lower id, whatever the order of arrival (E10).
#[test]
fn the_newest_of_a_coordinate_wins() {
    let build = World::new();
    let old = build.peer(slot(9), T0 - 9, &[(&channel(1), 1)]);
    let two = [build.peer(slot(9), T0, &[(&channel(2), 2)]), build.peer(slot(9), T0, &[(&channel(3), 3)])];
    let winner = if two[0].id < two[1].id { channel(2) } else { channel(3) };
    for order in [[0, 1], [1, 0]] {
        let mut world = World::new();
        world.extra = vec![two[order[0]].clone(), old.clone(), two[order[1]].clone()];
        world.connect_with(None);
        assert_eq!(world.log[..2], [Step::Ask(Purpose::ReadState), Step::Decode(1)]);
        let held: Vec<Key> = world.record.rows().map(|(k, _)| k.clone()).collect();
        assert_eq!(held, std::slice::from_ref(&winner));
        world.push(&old);
        world.push(&two[0]);
        world.push(&two[1]);
        assert_eq!(world.count(&Step::Decode(1)), 1, "nothing older or equal is decrypted again");
    }
}

/// R12, E21: a peer's value too far ahead reads nothing, hides no lower one, is not adopted, and applies when time catches up.
#[test]
fn r12_poisoned_values_wait() {
    let mut world = World::new();
    let (bound, beyond) = (at(900), at(901));
    let message = Key::Message(EventId([5; 32]));
    let poison = [(&channel(1), beyond), (&channel(2), bound), (&message, at(90_000)), (&channel(3), at(5_000))];
    let peer = world.peer(slot(9), T0, &poison);
    let honest = world.peer(slot(8), T0, &[(&channel(1), at(-20))]);
    world.store(&peer);
    world.store(&honest);
    world.connect();
    assert_eq!(world.record.frontier(&channel(1)), Some(at(-20)));
    assert_eq!(world.record.frontier(&channel(2)), Some(bound));
    assert_eq!(world.record.frontier(&message), Some(at(90_000)), "msg: marks are exempt");
    assert_eq!(world.record.frontier(&channel(3)), None);
    assert_eq!(world.status().state, SyncState::Local);
    world.advance(999);
    assert_eq!(world.record.frontier(&channel(1)), Some(at(-20)));
    world.advance(1);
    assert_eq!(world.record.frontier(&channel(1)), Some(beyond));
    world.advance(4_098_000);
    assert_eq!(world.record.frontier(&channel(3)), None);
    world.disconnect();
    world.advance(2_000);
    assert_eq!(world.record.frontier(&channel(3)), Some(at(5_000)), "offline too");
    assert_eq!(world.record.own().count(), 0);
    assert!(world.sync.next_wake().is_none());
}

/// R12: what this installation's own slots say is its own, however far ahead.
#[test]
fn own_values_are_recovered_whole() {
    let mut world = World::new();
    let client = world.record.header().client_id.clone();
    let message = Key::Message(EventId([5; 32]));
    let own = world.blob_by(&client, slot(1), T0, &[(&channel(1), at(5_000)), (&message, at(1))]);
    let alike = world.blob_by(&client, slot(7), T0, &[(&channel(2), at(-1))]);
    world.store(&own);
    world.store(&alike);
    world.connect();
    let own: Vec<(Key, u32)> = world.record.own().map(|(k, o)| (k.clone(), o.value)).collect();
    assert_eq!(own, [(channel(1), at(5_000))], "no msg: mark, nothing of a slot the journal does not list");
    assert_eq!(world.record.frontier(&message), Some(at(1)));
    assert_eq!(world.record.frontier(&channel(2)), Some(at(-1)));
    assert_eq!(world.record.revision(), 0);
    world.advance(60_000);
    assert!(world.published.is_empty());
}

/// A due value whose save fails is tried again with the next save, not in a loop.
#[test]
fn a_due_value_that_cannot_be_saved_waits() {
    let mut world = World::online();
    let peer = world.peer(slot(9), T0, &[(&channel(1), at(901))]);
    world.post(&peer);
    world.saves = [Err(full())].into();
    world.advance(60_000);
    assert_eq!(world.count(&Step::Save("merge")), 1);
    assert_eq!(world.record.frontier(&channel(1)), None);
    let other = world.peer(slot(8), T0, &[(&channel(2), at(0))]);
    world.post(&other);
    world.advance(1);
    assert_eq!(world.record.frontier(&channel(1)), Some(at(901)));
}

/// `unread.md` 9.6: versions are admitted after the save; a failed one leaves them to be read again.
#[test]
fn a_failed_save_leaves_versions_retryable() {
    let mut world = World::new();
    let peer = world.peer(slot(9), T0, &[(&channel(1), at(-5))]);
    world.store(&peer);
    world.saves = [Err(full())].into();
    world.connect();
    assert_eq!((world.status().state, world.status().completeness), (SyncState::Error, Completeness::Unknown));
    assert_eq!(world.record.frontier(&channel(1)), None);
    world.ended(Sync::refresh).unwrap();
    assert_eq!(world.record.frontier(&channel(1)), Some(at(-5)));
    world.log.clear();
    world.ended(Sync::refresh).unwrap();
    assert_eq!(world.log, [Step::Ask(Purpose::Snapshot)], "known versions are not decrypted again");
}

/// A live event that cannot be saved is a visible error until the next load.
#[test]
fn a_live_event_that_cannot_be_saved() {
    let mut world = World::online();
    world.saves = [Err(full())].into();
    let peer = world.peer(slot(9), T0, &[(&channel(1), at(-5))]);
    world.post(&peer);
    let status = world.status();
    assert_eq!((status.state, status.completeness), (SyncState::Error, Completeness::Unknown));
    world.ended(Sync::refresh).unwrap();
    assert_eq!((world.status().state, world.record.frontier(&channel(1))), (SyncState::Local, Some(at(-5))));
}

/// A merge that is being saved while the process is told of a newer version loses neither.
#[test]
fn versions_arriving_during_a_save() {
    let mut world = World::online();
    world.held = Some(Vec::new());
    let first = world.peer(slot(9), T0, &[(&channel(1), at(-5))]);
    let second = world.peer(slot(9), T0 + 1, &[(&channel(2), at(-5))]);
    world.push(&first);
    world.push(&second);
    world.push(&first);
    world.release();
    world.release();
    assert_eq!(world.record.frontier(&channel(1)), Some(at(-5)));
    assert_eq!(world.record.frontier(&channel(2)), Some(at(-5)));
    assert_eq!(world.count(&Step::Decode(1)), 2);
}

/// Overrides of other clients are merged component by component and shown by the journal.
#[test]
fn overrides_are_merged() {
    let mut world = World::online();
    let key = channel(3);
    let text = format!(r#"{{"v":1,"client_id":"x","contexts":{{"ov_s:{key}":2,"ov_c:{key}":1,"ov_b:{key}":7}}}}"#);
    let first = world.raw_blob(slot(9), T0, &text);
    world.post(&first);
    let floor = world.raw_blob(slot(8), T0, &format!(r#"{{"v":1,"client_id":"y","contexts":{{"ov_c:{key}":5}}}}"#));
    world.post(&floor);
    assert_eq!(world.record.overrides().get(&key), Some(&Override { set: 2, clear: 5, baseline: 7 }));
}

/// Calls share the load that runs; each is answered once; a lost connection answers all.
#[test]
fn calls_share_a_load() {
    let mut world = World::new();
    world.mute = true;
    world.connect();
    let calls = [world.open(Sync::ensure), world.open(Sync::refresh), world.open(Sync::retry_sync)];
    assert_eq!(world.loads.len(), 1);
    world.disconnect();
    for call in calls {
        assert_eq!(world.done.remove(&call), Some(Err(Error::Network { why: NetworkFailure::Lost })));
    }
    let offline = Err(Error::Network { why: NetworkFailure::Offline });
    assert_eq!(world.ended(Sync::ensure), offline);
    assert_eq!(world.ended(Sync::refresh), offline);
    assert_eq!(world.loads.len(), 1);
    world.mute = false;
    world.connect();
    assert_eq!(world.ended(Sync::ensure), Ok(()));
    assert_eq!(world.loads.len(), 2);
}

/// A whole snapshot is decoded in small jobs and saved once.
#[test]
fn a_large_snapshot_is_one_save() {
    let mut world = World::new();
    for n in 0..100u8 {
        let peer = world.peer(slot(n + 100), T0, &[(&channel(u16::from(n)), at(-5))]);
        world.store(&peer);
    }
    world.connect();
    let jobs: Vec<usize> =
        world.log.iter().filter_map(|s| if let Step::Decode(n) = s { Some(*n) } else { None }).collect();
    assert_eq!(jobs, [16, 16, 16, 16, 16, 16, 4]);
    assert_eq!(world.count(&Step::Save("merge")), 1);
    assert_eq!(world.record.rows().count(), 100);
}

/// More keys than one merge may hold are saved in several; retention stays the journal's business.
#[test]
fn many_keys_are_several_saves() {
    let mut world = World::new();
    for n in 0..4u8 {
        let entries: Vec<String> = (0..4_000).map(|i| format!("\"{n}{i:x}\":{n}")).collect();
        let text = format!(r#"{{"v":1,"client_id":"x","contexts":{{{}}}}}"#, entries.join(","));
        let peer = world.raw_blob(slot(n + 100), T0, &text);
        world.store(&peer);
    }
    world.connect();
    assert_eq!(world.count(&Step::Save("merge")), 2);
    assert_eq!(world.status().state, SyncState::Local);
}

/// `unread.md` 9.4: more coordinates than are remembered are a visible error, not a silent hole.
#[test]
fn the_bound_of_remembered_coordinates() {
    let mut world = World::online();
    world.mute = true;
    let peer = |world: &World, n: u32| {
        let mut bytes = [0xaa; 16];
        bytes[..4].copy_from_slice(&n.to_be_bytes());
        world.peer(crate::ids::SlotId(bytes), T0, &[(&channel(1), 5)])
    };
    let mut batch = Vec::new();
    for n in 0..=u32::try_from(crate::limits::COORDINATES).unwrap() {
        batch.push(peer(&world, n));
    }
    world.mute = false;
    world.extra = batch;
    world.disconnect();
    world.connect_with(None);
    assert_eq!(world.status().error, Some(Error::Capacity { what: "read-state coordinates" }));
    assert_eq!(world.status().completeness, Completeness::Unknown);
}

/// `unread.md` 9.6: a host that cannot decode asks for nothing and still answers calls.
#[test]
fn unsupported_asks_for_nothing() {
    let mut world = World::with(Capability::Unsupported);
    world.connect();
    let peer = world.peer(slot(9), T0, &[(&channel(1), 5)]);
    world.push(&peer);
    assert_eq!(world.ended(Sync::refresh), Ok(()));
    assert_eq!(world.ended(Sync::ensure), Ok(()));
    assert!(world.log.is_empty());
    assert_eq!((world.status().state, world.status().completeness), (SyncState::Local, Completeness::Unknown));
}

/// A signer that never decrypts does not hold a load up for ever, and is asked again by the next one.
#[test]
fn a_signer_that_never_decrypts() {
    let mut world = World::new();
    let peer = world.peer(slot(9), T0, &[(&channel(1), at(-5))]);
    world.store(&peer);
    world.silent_signer = true;
    world.connect();
    let call = world.open(Sync::ensure);
    world.advance(9_999);
    assert!(!world.done.contains_key(&call));
    world.advance(1);
    assert_eq!(world.done.remove(&call), Some(Err(Error::InvalidAnswer { why: "read-state not decrypted" })));
    world.silent_signer = false;
    world.ended(Sync::refresh).unwrap();
    assert_eq!(world.record.frontier(&channel(1)), Some(at(-5)));
}

/// Late answers, results and acknowledgements of what was given up change nothing.
#[test]
fn late_answers_change_nothing() {
    let mut world = World::online();
    let record = world.record.clone();
    let answered = world.input(|sync, io| {
        sync.on_journal(super::OpId(99), Err(full()), io);
        sync.on_crypto(super::JobId(99), super::CryptoResult::Decoded(Vec::new()), io);
        sync.on_lock(super::OpId(98), Ok(()), io);
        let answer = Ok(crate::request::Answer::Events(crate::event::Batch::default()));
        sync.on_answer(crate::request::RequestId(99), &answer, io)
    });
    world.run();
    assert!(!answered && world.record == record);
    assert_eq!(world.log, [Step::Unlock], "a lock nobody waits for is given back");
    assert_eq!(world.status().state, SyncState::Local);
}

#[test]
fn debug_shows_shapes() {
    let world = World::online();
    assert_eq!(format!("{:?}", world.sync), "Sync(online true, loading false, flushing false)");
}
