//! Slots: spilling, taking over, restoring (`unread.md` 9.8; R20, R21), driven through the scripted world.

use super::harness::*;
use super::sync::Sync;
use crate::error::Error;
use crate::journal::Mutation;
use crate::model::SyncState;

const PRIMARY: u8 = 1;

fn publishes(world: &World) -> usize {
    world.published.len()
}

/// `unread.md` 9.36: two slots, both saved before the first send; a later read of one key republishes only its slot.
#[test]
fn row_9_36_more_channels_than_a_blob_holds() {
    let mut world = World::online();
    world.read_all((0..820).map(channel), T0);
    world.flush().unwrap();
    let slots = world.record.slots().to_vec();
    assert_eq!(slots.len(), 2);
    assert_eq!(world.contents(slots[0]).unwrap().len(), 817);
    assert_eq!(world.contents(slots[1]).unwrap().len(), 3);
    let first = world.log.iter().position(|s| matches!(s, Step::Publish(_))).unwrap();
    let saved = world.log.iter().position(|s| *s == Step::Save("pending")).unwrap();
    let assigned = world.log.iter().position(|s| *s == Step::Save("assign")).unwrap();
    assert!(assigned < saved && saved < first);
    assert_eq!(world.count(&Step::Save("pending")), 1, "both in one save");
    assert_eq!(world.status().state, SyncState::Reconciled);
    world.flush().unwrap();
    assert_eq!(publishes(&world), 2);
    world.log.clear();
    world.advance(10_000);
    world.read(channel(819), T0 + 10);
    world.flush().unwrap();
    assert_eq!((publishes(&world), world.count(&Step::Publish(slots[1]))), (3, 1));
    world.read(channel(5), T0 + 10);
    world.flush().unwrap();
    assert_eq!((publishes(&world), world.count(&Step::Publish(slots[0]))), (4, 1));
    assert_eq!(world.on_relay(&channel(819)), Some(at(10)));
}

/// R20: a batch that was cut goes on where it stopped, and its revision counts only when all of it is there.
#[test]
fn a_cut_batch_goes_on_in_order() {
    let mut world = World::online();
    world.read_all((0..820).map(channel), T0);
    world.replies.push_back(Reply::Lost);
    world.flush().unwrap_err();
    assert_eq!(world.record.pending().len(), 2);
    world.restart();
    world.connect();
    assert_eq!(publishes(&world), 3, "a start publishes what an earlier run left");
    assert_eq!(world.published[0], world.published[1]);
    assert_eq!(world.count(&Step::Seal), 2, "nothing was signed again");
    assert!(world.record.pending().is_empty() && !world.record.is_unpublished());
}

/// `unread.md` 9.38: the last snapshot has no room for another coordinate: refused before the first send.
#[test]
fn row_9_38_every_prefix_must_fit_the_snapshot() {
    let mut world = World::new();
    for n in 0..4_095u32 {
        let d = format!("other-{n}");
        world.stored.insert(d.clone(), world.me.sign(crate::testing::template(30078, T0, &[&["d", &d]], "")));
    }
    world.connect();
    world.read_all((0..820).map(channel), T0);
    assert_eq!(world.flush(), Err(Error::Capacity { what: "read-state snapshot" }));
    assert!(world.published.is_empty() && world.record.pending().is_empty());
    assert!(world.status().pending);
}

/// R20: without a complete snapshot only the primary and slots that exist are published; the rest waits, visibly.
#[test]
fn without_a_snapshot_no_new_slot() {
    let mut world = World::new();
    world.connect_with(None);
    world.read_all((0..820).map(channel), T0);
    assert_eq!(world.flush(), Err(Error::Capacity { what: "read-state slots" }));
    assert_eq!((world.record.slots().len(), publishes(&world)), (1, 1));
    assert!(world.status().pending && world.record.pending().is_empty());
    world.advance(600_000);
    assert_eq!(publishes(&world), 1);
    world.disconnect();
    world.connect();
    world.flush().unwrap();
    assert_eq!((world.record.slots().len(), publishes(&world)), (2, 2));
    assert_eq!(world.on_relay(&channel(819)), Some(at(0)));
}

/// `unread.md` 9.39: 30 days ago exactly is not published, one second newer is.
#[test]
fn row_9_39_the_publication_floor() {
    let mut world = World::online();
    world.read(channel(1), T0 - 2_592_000);
    world.flush().unwrap();
    assert!(world.published.is_empty() && !world.status().pending);
    world.read(channel(2), T0 - 2_591_999);
    world.flush().unwrap();
    assert_eq!(world.on_relay(&channel(2)), Some(at(-2_591_999)));
    assert_eq!(world.on_relay(&channel(1)), None);
}

/// R21, 13 rule 10: a slot another client took over is never written to; a new one is saved first and used in the same flush.
#[test]
fn a_taken_over_slot_is_left() {
    let mut world = World::online();
    world.read(channel(1), T0);
    world.flush().unwrap();
    let foreign = world.peer(slot(PRIMARY), T0 + 30, &[(&channel(7), at(-5))]);
    world.store(&foreign);
    world.read(channel(2), T0);
    world.log.clear();
    world.flush().unwrap();
    let fresh = world.record.slots()[0];
    assert_ne!(fresh, slot(PRIMARY));
    let replaced = world.log.iter().position(|s| *s == Step::Save("replace slot")).unwrap();
    let sent = world.log.iter().position(|s| *s == Step::Publish(fresh)).unwrap();
    assert!(replaced < sent);
    assert_eq!(world.count(&Step::Publish(slot(PRIMARY))), 0);
    assert_eq!(world.contents(fresh).unwrap().len(), 2, "its values are still own");
    assert_eq!(world.record.frontier(&channel(7)), Some(at(-5)), "what stands there is merged as a peer's");
    assert_eq!(world.status().state, SyncState::Reconciled);
}

/// R21: a pending event of the lost slot is dropped, never sent over the other client's state.
#[test]
fn a_pending_event_of_a_taken_over_slot_is_dropped() {
    let mut world = World::online();
    world.replies.push_back(Reply::Refused("blocked: later"));
    world.read(channel(1), T0);
    world.flush().unwrap_err();
    let foreign = world.peer(slot(PRIMARY), T0 - 30, &[(&channel(7), at(-5))]);
    world.post(&foreign);
    world.log.clear();
    world.flush().unwrap();
    assert_eq!(world.count(&Step::Publish(slot(PRIMARY))), 0);
    assert_eq!(world.on_relay(&channel(1)), Some(at(0)));
}

/// R21: found out only when the own event was overtaken: moved away and published anew in the same flush.
#[test]
fn a_slot_taken_over_while_sending_is_left_too() {
    let mut world = World::online();
    let foreign = world.peer(slot(PRIMARY), T0 + 40, &[]);
    world.replies.push_back(Reply::Overtaken(foreign));
    world.read(channel(1), T0);
    world.flush().unwrap();
    assert_ne!(world.record.slots()[0], slot(PRIMARY));
    assert_eq!(world.on_relay(&channel(1)), Some(at(0)));
    assert_eq!(world.status().state, SyncState::Reconciled);
}

/// R21: when a takeover is seen live, published values are brought back by the timer, once.
#[test]
fn a_takeover_seen_live_is_repaired_once() {
    let mut world = World::online();
    world.read(channel(1), T0);
    world.flush().unwrap();
    let foreign = world.peer(slot(PRIMARY), T0 + 30, &[]);
    world.post(&foreign);
    world.advance(600_000);
    assert_eq!(publishes(&world), 2);
    assert_eq!(world.on_relay(&channel(1)), Some(at(0)));
}

/// `unread.md` 9.8: a restored journal recovers what its slots hold and never sends an older frontier.
#[test]
fn a_restored_journal_recovers_its_own_values() {
    let mut world = World::online();
    world.read(channel(1), T0 - 50);
    world.flush().unwrap();
    let backup = world.record.clone();
    world.read(channel(1), T0);
    world.flush().unwrap();
    world.record = backup;
    world.restart();
    world.connect();
    assert_eq!(world.record.row(&channel(1)).unwrap().own.unwrap().value, at(0));
    world.read(channel(2), T0);
    world.flush().unwrap();
    assert_eq!(world.on_relay(&channel(1)), Some(at(0)));
    assert_eq!(world.on_relay(&channel(2)), Some(at(0)));
    let times: Vec<u64> = world.published.iter().map(|j| world.verifier.event(j).unwrap().created_at).collect();
    assert!(times.is_sorted_by(|a, b| a < b), "always later than what the slot holds");
}

/// R20, R26: an old pending event of a restored journal can never be stored; it is sent, seen superseded, and let go.
#[test]
fn a_superseded_pending_event_is_let_go() {
    let mut world = World::online();
    world.replies.push_back(Reply::Refused("blocked: later"));
    world.read(channel(1), T0 - 50);
    world.flush().unwrap_err();
    let backup = world.record.clone();
    world.read(channel(1), T0);
    world.advance(5_000);
    assert_eq!(world.on_relay(&channel(1)), Some(at(0)));
    world.record = backup;
    world.restart();
    world.read(channel(2), T0);
    world.connect();
    assert!(world.record.pending().is_empty() && !world.record.is_unpublished());
    assert_eq!(world.on_relay(&channel(1)), Some(at(0)));
    assert_eq!(world.on_relay(&channel(2)), Some(at(0)));
}

/// A coordinate that is gone from the relay lacks everything: the next publication restores it.
#[test]
fn a_deleted_slot_is_published_again() {
    let mut world = World::online();
    world.read_all((0..820).map(channel), T0);
    world.flush().unwrap();
    let spill = world.record.slots()[1];
    world.stored.remove(&crate::event::app_data::read_state_coordinate(spill));
    world.read(channel(1), T0 + 1);
    world.flush().unwrap();
    assert_eq!(publishes(&world), 4);
    assert_eq!(world.contents(spill).unwrap().len(), 3);
}

/// Another process of this device added a slot: what stands there is read once more before it counts as missing.
#[test]
fn a_slot_added_by_another_process() {
    let mut world = World::online();
    let client = world.record.header().client_id.clone();
    let spill = world.blob_by(&client, slot(5), T0, &[(&channel(2), at(0))]);
    world.post(&spill);
    assert_eq!(world.record.own().count(), 0, "a peer's, as far as this journal knows");
    world.read(channel(1), T0);
    world.commit(&Mutation::Assign { add: vec![slot(5)], carry: Vec::new() });
    world.flush().unwrap();
    assert_eq!(world.record.own().count(), 2);
    assert_eq!(publishes(&world), 1);
}

/// Something newer of ours again and again in the place of what is sent: given up after a few rounds, nothing lost.
#[test]
fn a_clone_that_keeps_overtaking() {
    let mut world = World::online();
    let client = world.record.header().client_id.clone();
    for n in 0..6 {
        let clone = world.blob_by(&client, slot(PRIMARY), T0 + 30 + 5 * n, &[]);
        world.replies.push_back(Reply::Overtaken(clone));
    }
    world.read(channel(1), T0);
    assert_eq!(world.flush(), Err(Error::Busy { what: "read-state slot" }));
    assert!(publishes(&world) <= 6 && world.status().pending);
    world.replies.clear();
    world.flush().unwrap();
    assert_eq!(world.on_relay(&channel(1)), Some(at(0)));
}

/// When what was read back cannot be saved, neither the flush nor a load that waits for it goes on: the flush would overwrite
/// what it does not know.
#[test]
fn a_readback_that_cannot_be_saved() {
    let mut world = World::online();
    let client = world.record.header().client_id.clone();
    let clone = world.blob_by(&client, slot(PRIMARY), T0, &[(&channel(2), at(0))]);
    world.store(&clone);
    world.read(channel(1), T0);
    world.held = Some(Vec::new());
    let flush = world.open(Sync::flush);
    let refresh = world.open(Sync::refresh);
    world.saves = [Err(full())].into();
    world.release();
    assert_eq!(world.done.remove(&flush), Some(Err(full())));
    assert_eq!(world.done.remove(&refresh), Some(Err(full())));
    assert!(world.published.is_empty());
    world.flush().unwrap();
    assert_eq!(world.on_relay(&channel(1)), Some(at(0)));
    assert_eq!(world.on_relay(&channel(2)), Some(at(0)));
}
