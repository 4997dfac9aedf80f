//! Publication (`unread.md` 9.7–9.11), driven through the scripted world.

use super::harness::*;
use super::sync::Sync;
use crate::error::{Error, NetworkFailure, Refusal};
use crate::ids::EventId;
use crate::journal::{Key, LocalKey, Merge, Mutation, Override};
use crate::model::{Capability, SyncState};
use crate::request::Purpose;
use crate::testing::Author;

const PRIMARY: u8 = 1;

fn publishes(world: &World) -> usize {
    world.published.len()
}

/// `unread.md` 9.16: intent saved before signing, event saved before sending, reconciled only by the read-back.
#[test]
fn row_9_16_the_order_of_a_publication() {
    let mut world = World::online();
    world.read(channel(1), T0);
    assert!(world.status().pending && world.log.is_empty(), "nothing is sent before the timer");
    world.flush().unwrap();
    let ask = Step::Ask(Purpose::Readback);
    let steps = [
        Step::Lock,
        Step::Reload,
        ask.clone(),
        Step::Save("assign"),
        Step::Seal,
        Step::Decode(1),
        Step::Save("pending"),
        Step::Publish(slot(PRIMARY)),
        ask,
        Step::Save("reconcile"),
        Step::Unlock,
    ];
    assert_eq!(world.log, steps);
    assert_eq!(world.on_relay(&channel(1)), Some(at(0)));
    assert!(world.record.pending().is_empty() && !world.record.is_unpublished());
    assert_eq!(world.status().state, SyncState::Reconciled);
    assert!(!world.status().pending);
}

/// Pitfalls E3, E7: echo, replay after a reconnect, another flush and time passing publish and decrypt nothing.
#[test]
fn own_echo_and_idleness_do_nothing() {
    let mut world = World::online();
    world.read(channel(1), T0);
    world.flush().unwrap();
    let own = world.stored.values().next().unwrap().clone();
    let before = world.record.clone();
    world.log.clear();
    world.push(&own);
    world.flush().unwrap();
    world.advance(3_600_000);
    assert!(world.log.is_empty());
    world.disconnect();
    world.connect();
    world.push(&own);
    assert_eq!(world.log, [Step::Ask(Purpose::Snapshot)], "no decryption, no save");
    assert!(world.record == before);
    let foreign = world.peer(slot(9), T0, &[(&channel(1), at(0))]);
    world.push(&foreign);
    assert_eq!(world.count(&Step::Decode(1)), 1, "a foreign event is always decrypted");
}

/// `unread.md` 9.17: a read that is not saved is not intent.
#[test]
fn row_9_17_nothing_is_signed_for_a_read_that_was_not_saved() {
    let mut world = World::online();
    world.advance(60_000);
    world.flush().unwrap();
    assert!(world.log.is_empty());
}

/// `unread.md` 9.18, E18: the old bytes first, then one new event.
#[test]
fn row_9_18_a_lost_answer_is_finished_with_the_same_bytes() {
    let mut world = World::online();
    world.replies.push_back(Reply::Lost);
    world.read(channel(1), T0);
    let lost = Err(Error::Network { why: NetworkFailure::TimedOut });
    assert_eq!(world.flush(), lost);
    assert_eq!(world.status().state, SyncState::Error);
    world.restart();
    world.read(channel(2), T0);
    world.connect();
    world.flush().unwrap();
    assert_eq!(publishes(&world), 3);
    assert_eq!(world.published[0], world.published[1]);
    assert_ne!(world.published[1], world.published[2]);
    assert_eq!(world.on_relay(&channel(2)), Some(at(0)));
    assert_eq!(world.status().state, SyncState::Reconciled);
}

/// R25a: what failed for want of a network goes out on reconnect, anything else does not.
#[test]
fn a_reconnect_retries_only_what_wanted_a_network() {
    let mut world = World::online();
    world.replies.push_back(Reply::Refused("blocked: no"));
    world.read(channel(1), T0);
    world.advance(5_000);
    assert_eq!(publishes(&world), 1);
    world.disconnect();
    assert_eq!(world.status().state, SyncState::Stale);
    world.connect();
    world.advance(600_000);
    assert_eq!(publishes(&world), 1, "another failure waits for the next read, flush, retry, suspend, stop or start");
    world.replies.push_back(Reply::Lost);
    world.read(channel(1), T0 + 1);
    world.advance(5_000);
    world.disconnect();
    world.connect();
    assert_eq!(world.on_relay(&channel(1)), Some(at(1)));
}

/// `unread.md` 9.19, R26: taken is not there.
#[test]
fn row_9_19_an_empty_readback_keeps_the_event_pending() {
    let mut world = World::online();
    world.readback_empty = true;
    world.echo = false;
    world.read(channel(1), T0);
    world.advance(5_000);
    assert_eq!(world.record.pending().len(), 1);
    assert_eq!(world.status().state, SyncState::Error);
    assert!(world.status().pending);
    world.advance(600_000);
    assert_eq!(publishes(&world), 1, "no retry by itself");
    world.readback_empty = false;
    world.flush().unwrap();
    assert_eq!(world.published[0], world.published[1]);
    assert_eq!(world.status().state, SyncState::Reconciled);
}

/// R26: even when the live stream showed the event, only the read-back reconciles.
#[test]
fn an_echo_is_no_readback() {
    let mut world = World::online();
    world.readback_empty = true;
    world.read(channel(1), T0);
    assert!(world.flush().is_err());
    assert_eq!(world.record.pending().len(), 1);
}

/// R26: `accepted` with `duplicate:` stored nothing.
#[test]
fn a_duplicate_that_stored_nothing_is_not_reconciled() {
    let mut world = World::online();
    world.replies.push_back(Reply::Duplicate);
    world.read(channel(1), T0);
    assert_eq!(world.flush(), Err(Error::InvalidAnswer { why: "publication not there" }));
    assert_eq!(world.record.pending().len(), 1);
}

fn refused_at_age(age: u64, text: &'static str) -> World {
    let mut world = World::online();
    world.replies.push_back(Reply::Refused("blocked: later"));
    world.read(channel(1), T0);
    world.flush().unwrap_err();
    world.advance(age * 1000);
    world.replies.push_back(Reply::Refused(text));
    world.log.clear();
    world
}

/// `unread.md` 9.10: 901 s old and the exact text: one new signature, saved in place of the old one, then sent.
#[test]
fn an_old_refused_event_is_signed_anew() {
    let mut world = refused_at_age(901, TOO_FAR);
    world.read(channel(2), T0 + 900);
    world.flush().unwrap();
    let ask = Step::Ask(Purpose::Readback);
    let publish = Step::Publish(slot(PRIMARY));
    let steps = [
        Step::Lock,
        Step::Reload,
        ask.clone(),
        publish.clone(),
        ask.clone(),
        Step::Save("assign"),
        Step::Seal,
        Step::Decode(1),
        Step::Save("replacement"),
        publish,
        ask,
        Step::Save("reconcile"),
        Step::Unlock,
    ];
    assert_eq!(world.log[..13], steps);
    assert_eq!(world.on_relay(&channel(1)), Some(at(0)));
    assert_eq!(world.on_relay(&channel(2)), Some(at(900)), "newer intent is in the replacement");
    assert_eq!(world.count(&Step::Seal), 1);
    assert_eq!(world.status().state, SyncState::Reconciled);
}

/// `unread.md` 9.21: at exactly 900 s the relay still takes it.
#[test]
fn row_9_21_at_900_seconds_the_same_bytes() {
    let mut world = refused_at_age(900, TOO_FAR);
    assert_eq!(world.flush(), Err(Error::RelayRefused { why: Refusal::Other, retry_after: None }));
    world.flush().unwrap();
    assert!(world.published.iter().all(|json| *json == world.published[0]));
}

/// `unread.md` 9.22: refused at 60 s, or with a clock behind: one signature, identical bytes at each flush.
#[test]
fn row_9_22_a_fresh_or_future_event_is_not_renewed() {
    let mut world = refused_at_age(60, TOO_FAR);
    world.replies.push_back(Reply::Refused(TOO_FAR));
    world.flush().unwrap_err();
    world.server.learn(world.now, T0 - 50);
    world.flush().unwrap_err();
    assert_eq!(world.count(&Step::Seal), 0);
    assert_eq!(publishes(&world), 3);
    assert!(world.published.iter().all(|json| *json == world.published[0]));
}

/// `unread.md` 9.23, 13.16: any other outcome at 1,001 s keeps the bytes, a longer text that contains the sentence too.
#[test]
fn row_9_23_and_13_16_only_the_exact_text_counts() {
    for text in
        ["invalid: event timestamp too far from server time.", "Invalid: event timestamp too far from server time"]
    {
        let mut world = refused_at_age(1_001, text);
        world.flush().unwrap_err();
        assert_eq!(world.count(&Step::Seal), 0);
    }
    let mut world = refused_at_age(1_001, TOO_FAR);
    world.replies.clear();
    world.replies.push_back(Reply::Lost);
    world.flush().unwrap_err();
    assert_eq!(world.published[0], world.published[1]);
}

/// `unread.md` 9.24: the replacement is refused too: two signatures, three publications, pending is the replacement, no timer.
#[test]
fn row_9_24_at_most_one_replacement_a_flush() {
    let mut world = refused_at_age(901, TOO_FAR);
    world.replies.push_back(Reply::Refused(TOO_FAR));
    world.flush().unwrap_err();
    assert_eq!((world.count(&Step::Seal), publishes(&world)), (1, 3));
    assert_eq!(world.record.pending()[0].json, world.published[2]);
    assert_eq!(world.status().state, SyncState::Error);
    world.advance(120_000);
    assert_eq!(publishes(&world), 3);
}

/// `unread.md` 9.10: whatever fails during recovery leaves the old event pending, and the next flush recovers.
#[test]
fn a_failed_recovery_changes_nothing() {
    let mut world = refused_at_age(901, TOO_FAR);
    let old = world.record.pending().to_vec();
    world.saves = [Err(full())].into();
    assert_eq!(world.flush(), Err(full()), "the replacement is not saved");
    assert_eq!(world.record.pending(), old);
    world.replies.push_back(Reply::Refused(TOO_FAR));
    world.flush().unwrap();
    assert_eq!(world.count(&Step::Save("replacement")), 2);
    assert_eq!(world.status().state, SyncState::Reconciled);
}

/// `unread.md` 9.10: what the relay already covers is reconciled without a new event.
#[test]
fn recovery_reconciles_what_is_covered() {
    let mut world = World::online();
    world.replies.push_back(Reply::Lost);
    world.read(channel(1), T0);
    world.flush().unwrap_err();
    world.advance(901_000);
    world.replies.push_back(Reply::Refused(TOO_FAR));
    world.log.clear();
    world.flush().unwrap();
    assert_eq!(world.count(&Step::Seal), 0);
    assert!(world.record.pending().is_empty() && !world.record.is_unpublished());
}

/// `unread.md` 9.26: one attempt, an error, no retry; the lock is not given back by who never had it.
#[test]
fn row_9_26_no_lock() {
    let mut world = World::online();
    world.lock = Err(Error::Busy { what: "publisher lock" });
    world.read(channel(1), T0);
    world.advance(5_000);
    assert_eq!(world.log, [Step::Lock]);
    assert_eq!(world.status().state, SyncState::Error);
    world.advance(600_000);
    assert_eq!(world.log, [Step::Lock]);
}

/// `unread.md` 9.27: 100 reads within 5 s are one publication, and later reads do not push the timer back.
#[test]
fn row_9_27_many_reads_one_publication() {
    let mut world = World::online();
    for n in 0..100 {
        world.read(channel(n), T0);
        world.advance(40);
    }
    assert_eq!(publishes(&world), 0);
    world.advance(1_000);
    assert_eq!(publishes(&world), 1);
    assert_eq!(world.contents(slot(PRIMARY)).unwrap().len(), 100);
    world.advance(600_000);
    assert_eq!(publishes(&world), 1);
}

/// `unread.md` 9.7 step 10: intent saved while a flush runs is published by its own timer.
#[test]
fn intent_during_a_flush_arms_the_timer_again() {
    let mut world = World::online();
    world.read(channel(1), T0);
    world.held = Some(Vec::new());
    let call = world.open(Sync::flush);
    world.read(channel(2), T0);
    world.release();
    world.held = None;
    assert_eq!(world.done.remove(&call), Some(Ok(())));
    let late = world.on_relay(&channel(2));
    world.advance(5_000);
    assert_eq!(world.on_relay(&channel(2)), Some(at(0)));
    assert!(late.is_some() || publishes(&world) == 2);
}

/// `unread.md` 9.29: another time, author, slot or plaintext: an error, and nothing is saved as pending.
#[test]
fn row_9_29_the_signers_output_is_checked() {
    fn world_with(tamper: Tamper) -> World {
        let mut world = World::online();
        world.tamper = Some(tamper);
        world.read(channel(1), T0);
        world
    }
    let mut time = world_with(Box::new(|mut u, _| {
        u.created_at += 1;
        u
    }));
    let mut place = world_with(Box::new(|mut u, _| {
        u.tags[0][1] = crate::event::app_data::read_state_coordinate(slot(5));
        u
    }));
    let other = World::new().peer(slot(PRIMARY), T0, &[(&channel(9), 1)]).content.clone();
    let mut text = world_with(Box::new(move |mut u, _| {
        u.content = other.clone();
        u
    }));
    let mut author = World::online();
    author.read(channel(1), T0);
    author.me = Author::named("ada");
    for world in [&mut time, &mut place, &mut text, &mut author] {
        assert!(matches!(world.flush(), Err(Error::InvalidAnswer { .. })));
        assert!(world.record.pending().is_empty() && world.published.is_empty());
        assert_eq!(world.log.last(), Some(&Step::Unlock));
        assert_eq!(world.status().state, SyncState::Error);
    }
}

/// `unread.md` 9.34, E22, R19: only own values go out.
#[test]
fn row_9_34_a_peers_value_is_not_republished() {
    let mut world = World::online();
    world.read(channel(1), T0 - 95);
    let peer = world.peer(slot(9), T0, &[(&channel(2), at(-91)), (&channel(1), at(-99))]);
    world.post(&peer);
    world.read(channel(1), T0 - 93);
    world.flush().unwrap();
    let contents = world.contents(slot(PRIMARY)).unwrap();
    assert_eq!(contents.into_iter().collect::<Vec<_>>(), [(channel(1), at(-93))]);
    assert_eq!(world.record.frontier(&channel(2)), Some(at(-91)));
}

/// `unread.md` 9.28: a peer blob equal to what is held changes no revision and publishes nothing.
#[test]
fn row_9_28_an_equal_peer_blob() {
    let mut world = World::online();
    world.read(channel(1), T0);
    world.flush().unwrap();
    let revision = world.record.revision();
    world.log.clear();
    let peer = world.peer(slot(9), T0, &[(&channel(1), at(0))]);
    world.post(&peer);
    world.advance(60_000);
    assert_eq!(world.log, [Step::Decode(1)]);
    assert_eq!(world.record.revision(), revision);
}

/// R19, sync/02: message marks are never published, and need no network to count as done.
#[test]
fn message_marks_stay_here() {
    let mut world = World::online();
    world.read(Key::Message(EventId([3; 32])), T0);
    world.flush().unwrap();
    world.advance(60_000);
    assert!(!world.log.contains(&Step::Lock));
    assert!(!world.status().pending);
    world.read(channel(1), T0);
    world.flush().unwrap();
    assert_eq!(world.contents(slot(PRIMARY)).unwrap().len(), 1);
}

/// `unread.md` 9.14, E10: later than before, at most 60 s ahead.
#[test]
fn row_9_14_publication_clock() {
    let last = |world: &World| world.verifier.event(world.published.last().unwrap()).unwrap().created_at;
    let mut world = World::online();
    world.read(channel(1), T0);
    world.flush().unwrap();
    assert_eq!(last(&world), T0);
    world.read(channel(1), T0 + 1);
    world.flush().unwrap();
    assert_eq!(last(&world), T0 + 1, "the same second is no later");
    let client = world.record.header().client_id.clone();
    let clone = world.blob_by(&client, slot(PRIMARY), T0 + 59, &[]);
    world.store(&clone);
    world.read(channel(1), T0 + 2);
    world.flush().unwrap();
    assert_eq!(last(&world), T0 + 60);
    world.read(channel(1), T0 + 3);
    assert_eq!(world.flush(), Err(Error::Clock { skew: 61 }));
    assert_eq!(world.status().state, SyncState::Error);
    assert!(world.record.pending().is_empty());
    world.advance(1_000);
    world.flush().unwrap();
    assert_eq!(last(&world), T0 + 61);
}

/// R19: any override in the merged state blocks publication visibly; intent stays.
#[test]
fn overrides_block_publication() {
    let mut world = World::online();
    world.read(channel(1), T0);
    let marked = Override { set: 1, clear: 0, baseline: at(0) };
    world.commit(&Mutation::Merge(Merge { overrides: vec![(channel(3), marked)], ..Merge::default() }));
    assert!(matches!(world.flush(), Err(Error::Unsupported { .. })));
    assert_eq!(world.status().state, SyncState::Error);
    assert!(world.published.is_empty() && world.status().pending);
    assert_eq!(world.log, [Step::Lock, Step::Reload, Step::Unlock]);
}

/// R19: an override that arrives with the read-back blocks too, pending events included.
#[test]
fn an_override_in_the_readback_blocks() {
    let mut world = World::online();
    world.replies.push_back(Reply::Refused("blocked: later"));
    world.read(channel(1), T0);
    world.flush().unwrap_err();
    let key = channel(3);
    let text = format!(r#"{{"v":1,"client_id":"x","contexts":{{"ov_c:{key}":4}}}}"#);
    let foreign = world.raw_blob(slot(PRIMARY), T0 - 1, &text);
    world.store(&foreign);
    assert!(matches!(world.flush(), Err(Error::Unsupported { .. })));
    assert_eq!(publishes(&world), 1);
}

/// R25a, sync/14: a rate-limited publication goes out by itself after the wait the relay named.
#[test]
fn a_rate_limit_is_waited_out() {
    let mut world = World::online();
    world.replies.push_back(Reply::RateLimited(30));
    world.read(channel(1), T0);
    world.advance(5_000);
    assert_eq!(publishes(&world), 1);
    world.advance(29_999);
    assert_eq!(publishes(&world), 1);
    world.advance(1);
    assert_eq!(publishes(&world), 2);
    assert_eq!(world.published[0], world.published[1]);
    assert_eq!(world.status().state, SyncState::Reconciled);
}

/// R25a, R25c: offline a flush fails at once, the state says so, and the mark is published once on reconnect.
#[test]
fn offline_flush_fails_at_once_and_is_made_up_for() {
    let mut world = World::online();
    world.disconnect();
    world.read(channel(1), T0);
    world.advance(30_000);
    assert_eq!(world.status().state, SyncState::Stale);
    assert_eq!(world.flush(), Err(Error::Network { why: NetworkFailure::Offline }));
    assert_eq!(world.status().state, SyncState::Error);
    world.connect();
    assert_eq!((publishes(&world), world.status().state), (1, SyncState::Reconciled));
}

/// A connection lost in the middle ends the flush, gives the lock back and loses nothing.
#[test]
fn a_cut_in_the_middle_of_a_flush() {
    let mut world = World::online();
    world.read(channel(1), T0);
    world.mute = true;
    let call = world.open(Sync::flush);
    assert!(!world.done.contains_key(&call));
    world.disconnect();
    assert_eq!(world.done.remove(&call), Some(Err(Error::Network { why: NetworkFailure::Lost })));
    assert_eq!(world.log.last(), Some(&Step::Unlock));
    world.mute = false;
    world.connect();
    assert_eq!(world.on_relay(&channel(1)), Some(at(0)));
}

/// A signer that does not answer ends the flush after its deadline; its late answer changes nothing.
#[test]
fn a_silent_signer_is_given_up_on() {
    let mut world = World::online();
    world.silent_signer = true;
    world.read(channel(1), T0);
    let call = world.open(Sync::flush);
    world.advance(10_000);
    assert_eq!(world.done.remove(&call), Some(Err(Error::Busy { what: "signer or publisher lock" })));
    assert_eq!(world.log.last(), Some(&Step::Unlock));
    assert!(world.record.pending().is_empty());
}

/// A signed event that cannot be saved is not sent.
#[test]
fn nothing_is_sent_before_it_is_saved() {
    let mut world = World::online();
    world.read(channel(1), T0);
    world.saves = [Ok(()), Err(full())].into();
    assert_eq!(world.flush(), Err(full()));
    assert!(world.published.is_empty() && world.status().pending);
    world.flush().unwrap();
    assert_eq!(world.on_relay(&channel(1)), Some(at(0)));
}

/// R25a: suspend and stop publish what is unpublished at once; a suspended machine arms no timer.
#[test]
fn suspend_and_stop_publish_at_once() {
    let mut world = World::online();
    world.read(channel(1), T0);
    world.ended(Sync::suspend).unwrap();
    assert_eq!(publishes(&world), 1);
    world.read(channel(1), T0 + 1);
    world.advance(60_000);
    assert_eq!(publishes(&world), 1);
    world.input(Sync::resume);
    world.advance(5_000);
    assert_eq!(publishes(&world), 2);
    world.read(channel(1), T0 + 2);
    world.ended(Sync::stop).unwrap();
    assert_eq!(publishes(&world), 3);
    assert_eq!(world.flush(), Err(Error::Closed));
    assert_eq!(world.ended(Sync::refresh), Err(Error::Closed));
}

/// `unread.md` 8.21: a local-only mark after everything was accepted publishes nothing and the state is local.
#[test]
fn row_8_21_a_local_only_mark() {
    let mut world = World::online();
    world.read(channel(1), T0);
    world.flush().unwrap();
    let Key::Channel(id) = channel(1) else { panic!() };
    world.commit(&Mutation::MarkUnread(LocalKey::Channel(id)));
    world.advance(60_000);
    assert_eq!((world.status().state, publishes(&world)), (SyncState::Local, 1));
    assert!(!world.status().pending);
}

/// `unread.md` 9.6: without a signer nothing is published, and what others read is still shown.
#[test]
fn read_only_publishes_nothing() {
    let mut world = World::with(Capability::ReadOnly);
    world.connect();
    let peer = world.peer(slot(9), T0, &[(&channel(2), at(-9))]);
    world.post(&peer);
    assert_eq!(world.record.frontier(&channel(2)), Some(at(-9)));
    assert_eq!((world.flush(), world.status().capability), (Ok(()), Capability::ReadOnly));
    world.read(channel(1), T0);
    world.advance(60_000);
    assert_eq!(world.flush(), Err(Error::ReadOnly));
    assert!(world.published.is_empty());
}

/// `unread.md` 7.6: retry_sync loads, then flushes, and fails with what failed.
#[test]
fn retry_sync_loads_and_flushes() {
    let mut world = World::online();
    world.replies.push_back(Reply::Refused("blocked: later"));
    world.read(channel(1), T0);
    world.advance(5_000);
    world.log.clear();
    world.ended(Sync::retry_sync).unwrap();
    assert_eq!(world.log[..2], [Step::Ask(Purpose::Snapshot), Step::Lock]);
    assert_eq!(world.status().state, SyncState::Reconciled);
    world.damage = Some(|envelope| envelope.complete = Some(false));
    world.read(channel(1), T0 + 1);
    assert!(matches!(world.ended(Sync::retry_sync), Err(Error::InvalidAnswer { .. })));
    assert_eq!(world.on_relay(&channel(1)), Some(at(1)), "a failed load does not keep the flush from running");
    world.disconnect();
    assert_eq!(world.ended(Sync::retry_sync), Err(Error::Network { why: NetworkFailure::Offline }));
}

/// Flushes asked for while one runs are not answered by it: what they stand for may be newer.
#[test]
fn concurrent_flushes_each_get_an_answer() {
    let mut world = World::online();
    world.read(channel(1), T0);
    world.held = Some(Vec::new());
    let first = world.open(Sync::flush);
    world.read(channel(2), T0);
    let second = world.open(Sync::flush);
    while world.held.as_ref().is_some_and(|h| !h.is_empty()) {
        world.release();
        world.held = None;
    }
    world.run();
    assert_eq!((world.done.remove(&first), world.done.remove(&second)), (Some(Ok(())), Some(Ok(()))));
    assert_eq!(world.on_relay(&channel(2)), Some(at(0)));
}

/// Going to the background while offline is no error; the marks go out when the connection is back.
#[test]
fn suspend_while_offline() {
    let mut world = World::online();
    world.read(channel(1), T0);
    world.disconnect();
    assert!(world.ended(Sync::suspend).is_err());
    assert_eq!(world.status().state, SyncState::Stale);
    world.input(Sync::resume);
    world.connect();
    assert_eq!(world.on_relay(&channel(1)), Some(at(0)));
}
