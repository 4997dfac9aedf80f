//! `unread.md` section 2: resolved roots. Rows 2.1–2.10 and 2.20 are tests of `event`.

use super::kit::{World, say};
use crate::event::SharedEvent;
use crate::ids::EventId;
use crate::testing::channel;
use crate::unread::MarkKey;

/// A chain below a top-level message; each link names only its parent, so that the walk climbs every one.
fn chain(hops: u64) -> Vec<SharedEvent> {
    let mut events = vec![say("ada", "c", 1).sign()];
    for hop in 1..=hops {
        let parent = events.last().unwrap().id;
        events.push(say("ada", "c", 1 + hop).to(&parent).sign());
    }
    events
}

fn root_of(world: &World, event: &SharedEvent) -> Option<EventId> {
    world.unread.message(&event.id).unwrap().root
}

#[test]
fn row_2_11_a_reply_climbs_by_its_parents_root() {
    let root = say("ada", "c", 1).sign();
    let a = say("bo", "c", 2).to(&root.id).sign();
    let b = say("ada", "c", 3).to(&a.id).mention().sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&root, &a, &b]);
    assert_eq!(root_of(&world, &b), Some(root.id));
    assert_eq!(world.thread("c", &root.id), Some((1, 1)));
    assert_eq!(world.thread("c", &a.id), Some((0, 0)));
}

/// Row 2.12, and the root arriving afterwards (5.13).
#[test]
fn row_2_12_without_the_parent_there_is_no_root_until_it_comes() {
    let root = say("ada", "c", 1).sign();
    let a = say("bo", "c", 2).to(&root.id).sign();
    let b = say("ada", "c", 3).to(&a.id).mention().sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&root, &b]);
    let view = world.unread.message(&b.id).unwrap();
    assert_eq!((view.root, view.claimed_root()), (None, a.id));
    world.mark(MarkKey::ThreadActivity(root.id), 3);
    assert_eq!(world.message("c", &b.id), Some((1, 1)));
    world.intake(&[&a]);
    assert_eq!(root_of(&world, &b), Some(root.id));
    assert_eq!(world.message("c", &b.id), Some((0, 0)), "5.13: now the thread's catch-up reaches it");
}

#[test]
fn rows_2_14_and_2_19_cycles_and_nonsense_end() {
    let (x, y) = (EventId([1; 32]), EventId([2; 32]));
    let a = say("ada", "c", 2).under(&y, &x).mention().sign();
    let b = say("ada", "c", 3).under(&a.id, &a.id).mention().sign();
    let c = say("ada", "c", 4).under(&b.id, &y).mention().sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&c, &b, &a]);
    assert_eq!([&a, &b, &c].map(|e| root_of(&world, e)), [None; 3]);
    assert_eq!(world.counts("c"), Some((3, 3)));
}

#[test]
fn rows_2_15_and_2_16_the_walk_is_bounded() {
    let events = chain(32);
    let mut world = World::new(&["c"]);
    // Backwards, so that every link resolves when its root arrives.
    for event in events.iter().rev() {
        world.intake(&[event]);
    }
    assert_eq!(root_of(&world, &events[31]), Some(events[0].id), "2.15: 31 hops");
    assert_eq!(root_of(&world, &events[32]), None, "2.16: 32 hops");
}

#[test]
fn row_2_17_a_deleted_root_still_resolves() {
    let root = say("ada", "c", 1).sign();
    let reply = say("bo", "c", 2).to(&root.id).mention().sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&root, &reply, &super::kit::delete("ada", 3, &[&root.id])]);
    assert_eq!(root_of(&world, &reply), Some(root.id));
    assert_eq!(world.thread("c", &root.id), Some((1, 1)));
    assert_eq!(world.activity("c"), Some(vec![(root.id, reply.id, 1)]));
}

#[test]
fn a_root_of_another_channel_is_none() {
    let root = say("me", "d", 1).sign();
    let reply = say("bo", "c", 2).to(&root.id).mention().sign();
    let mut world = World::new(&["c", "d"]);
    world.intake(&[&root, &reply]);
    assert_eq!(root_of(&world, &reply), None);
    assert_eq!(world.unread.channel_of(&root.id), Some(channel("d")));
    assert_eq!(world.thread("c", &root.id), None);
    assert_eq!(world.thread("d", &root.id), Some((0, 0)));
}
