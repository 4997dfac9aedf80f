//! `unread.md` section 4: conversations and look-ups. The relay is played by [`World::settle`] or by hand.

use super::kit::{World, delete, filters, find, say};
use crate::error::Error;
use crate::event::SharedEvent;
use crate::ids::{EventId, Target};
use crate::limits;
use crate::model::{ChannelType, Coverage};
use crate::request::{Filter, Priority, Purpose, RequestId};
use crate::testing::{Author, channel};
use crate::unread::{AttentionStatus, Category, MarkKey};

fn refs(events: &[SharedEvent]) -> Vec<&SharedEvent> {
    events.iter().collect()
}

type Read = Option<(RequestId, Filter)>;

/// The two reads of a look-up under way: by id, and the viewer's replies.
fn reads(world: &mut World) -> (Read, Read) {
    let (mut ids, mut replies) = (None, None);
    for (id, request) in world.sent() {
        assert_eq!((request.purpose, request.priority), (Purpose::Lookup, Priority::Background));
        let filter = filters(&request).remove(0);
        if filter.ids.is_some() { ids = Some((id, filter)) } else { replies = Some((id, filter)) }
    }
    (ids, replies)
}

/// Rows 4.1, 4.2 and 4.3.
#[test]
fn rows_4_1_to_4_3_what_is_retained_decides_at_once() {
    let (mine, root) = (say("me", "c", 1).sign(), say("ada", "c", 2).sign());
    let joined = say("me", "c", 3).to(&root.id).sign();
    let to_mine = say("ada", "c", 11).to(&mine.id).sign();
    let beside = say("bo", "c", 12).to(&root.id).sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&mine, &root, &joined, &to_mine, &beside]);
    assert_eq!(world.unread.attention(channel("c"), &to_mine.id).category, Some(Category::Thread));
    assert_eq!((world.message("c", &to_mine.id), world.message("c", &beside.id)), (Some((1, 1)), Some((1, 1))));
    let (deep_root, a) = (say("ada", "c", 20).sign(), say("bo", "c", 21).text("a").sign());
    let a = say("bo", "c", 21).to(&deep_root.id).text(&a.content).sign();
    let deep = say("me", "c", 22).under(&deep_root.id, &a.id).sign();
    let elsewhere = say("bo", "c", 23).to(&deep_root.id).sign();
    let below = say("cy", "c", 24).under(&deep_root.id, &elsewhere.id).sign();
    world.intake(&[&deep_root, &a, &deep, &elsewhere, &below]);
    assert_eq!(world.thread("c", &deep_root.id), Some((3, 3)), "4.3");
    assert_eq!(world.settle(&[]), 0);
}

/// Rows 4.5 and 4.6, and pitfalls C6 and D6.
#[test]
fn rows_4_5_and_4_6_joining_later() {
    let root = say("ada", "c", 1).sign();
    let strange = say("bo", "c", 11).to(&root.id).sign();
    let mention = say("bo", "c", 12).to(&root.id).mention().sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&root, &strange]);
    assert!(world.pending("c", &strange.id) && world.channel("c").pending);
    assert!(world.snapshot(Target::Thread(channel("c"), root.id)).pending);
    world.settle(&[&root]);
    assert!(!world.channel("c").pending);
    assert_eq!((world.counts("c"), world.activity("c")), (Some((1, 0)), Some(vec![])));
    assert_eq!(world.unread.attention(channel("c"), &strange.id).status, AttentionStatus::Ineligible);
    world.intake(&[&mention]);
    assert_eq!(world.thread("c", &root.id), Some((1, 1)), "4.6");
    world.intake(&[&say("me", "c", 13).to(&root.id).sign()]);
    assert_eq!(world.thread("c", &root.id), Some((2, 2)), "4.5");
}

/// Rows 4.7 and 4.8, and pitfall D9.
#[test]
fn rows_4_7_and_4_8_another_channels_parent() {
    let mine = say("me", "d", 1).sign();
    let here = say("ada", "c", 11).to(&mine.id).sign();
    let there = say("ada", "d", 11).to(&mine.id).sign();
    let mut world = World::new(&["c", "d"]);
    world.intake(&[&mine, &here, &there]);
    assert_eq!((world.counts("c"), world.counts("d")), (Some((0, 0)), Some((1, 1))));
    world.poll();
    let (ids, replies) = reads(&mut world);
    let (id, filter) = replies.unwrap();
    assert!(ids.is_none(), "it is held, if elsewhere");
    assert_eq!(filter.h, Some(vec![channel("c").to_string()]));
    world.answer(id, &[&mine]);
    assert!(!world.pending("c", &here.id));
    assert_eq!(world.counts("c"), Some((0, 0)));
    // The same parent asked from two channels: two look-ups, two answers.
    let parent = EventId([5; 32]);
    let mine = say("me", "d", 2).to(&parent).sign();
    let (here, there) = (say("ada", "c", 21).to(&parent).sign(), say("ada", "d", 21).to(&parent).sign());
    world.intake(&[&here, &there]);
    assert_eq!(world.settle(&[&mine]), 4);
    assert_eq!((world.message("c", &here.id), world.message("d", &there.id)), (Some((0, 0)), Some((1, 1))));
}

/// Row 4.10 and 5.29: fetched messages give structure and nothing else.
#[test]
fn row_4_10_parent_and_root_are_fetched_for_structure() {
    let root = say("ada", "c", 1).sign();
    let parent = say("bo", "c", 2).to(&root.id).sign();
    let mine = say("me", "c", 3).to(&root.id).sign();
    let reply = say("cy", "c", 11).under(&root.id, &parent.id).sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&reply]);
    assert_eq!((world.thread("c", &root.id), world.message("c", &reply.id)), (None, Some((0, 0))));
    world.poll();
    let (ids, replies) = reads(&mut world);
    let ((by_id, filter), (own, own_filter)) = (ids.unwrap(), replies.unwrap());
    let both: std::collections::BTreeSet<_> = [root.id.to_hex(), parent.id.to_hex()].into();
    assert_eq!(filter.ids.map(|ids| ids.into_iter().collect()), Some(both.clone()));
    assert_eq!((filter.limit, filter.include_aux, filter.h), (Some(2), true, None));
    assert_eq!((&own_filter.kinds[..], own_filter.limit), (&[9, 40002, 40008][..], Some(500)));
    assert_eq!(own_filter.authors, Some(vec![Author::named("me").key().to_hex()]));
    assert_eq!(own_filter.e.map(|e| e.into_iter().collect()), Some(both));
    world.answer(own, &[&mine]);
    assert!(world.pending("c", &reply.id), "the viewer's own parent would be the witness: both reads first");
    world.answer(by_id, &[&root, &parent, &say("zed", "c", 4).sign()]);
    assert_eq!((world.counts("c"), world.thread("c", &root.id)), (Some((1, 1)), Some((1, 1))));
    assert_eq!(world.activity("c"), Some(vec![(root.id, reply.id, 1)]));
    assert_eq!((world.message("c", &root.id), world.message("c", &parent.id)), (None, None), "5.29");
    assert_eq!(world.settle(&[]), 0, "no recursion");
    let cached: Vec<_> = world.unread.take_cache_changes().structure.iter().map(|e| e.id).collect();
    assert_eq!(cached, vec![root.id, parent.id], "R8d; what was not asked for is not taken");
    world.mark(MarkKey::Thread(root.id), 11);
    assert_eq!(world.counts("c"), Some((0, 0)), "5.13");
}

#[test]
fn row_4_11_a_root_that_cannot_be_fetched() {
    let root = EventId([9; 32]);
    let mine = say("me", "c", 2).to(&root).sign();
    let reply = say("ada", "c", 11).under(&root, &mine.id).sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&reply]);
    world.settle(&[&mine]);
    assert_eq!((world.counts("c"), world.activity("c")), (Some((1, 1)), Some(vec![])));
    let attention = world.unread.attention(channel("c"), &reply.id);
    assert_eq!((attention.category, attention.root), (Some(Category::Thread), None));
}

/// Row 4.12: each reply is decided by the root it claims itself, whichever came first.
#[test]
fn row_4_12_replies_that_disagree_about_the_root() {
    let parent = say("ada", "c", 1).sign();
    let (mine, other) = (say("me", "c", 2).sign(), say("bo", "c", 3).sign());
    let right = say("ada", "c", 11).under(&mine.id, &parent.id).sign();
    let wrong = say("ada", "c", 12).under(&other.id, &parent.id).sign();
    let relay = [&parent, &mine, &other];
    let mut world = World::new(&["c"]);
    world.intake(&[&right, &wrong]);
    assert_eq!(world.settle(&relay), 2, "R8f: one look-up for the union of the roots");
    assert_eq!((world.message("c", &right.id), world.message("c", &wrong.id)), (Some((1, 1)), Some((0, 0))));
    let mut world = World::new(&["c"]);
    world.intake(&[&wrong]);
    world.settle(&relay);
    world.intake(&[&right]);
    assert!(world.pending("c", &right.id), "nothing is known of its root yet");
    world.settle(&relay);
    assert_eq!((world.message("c", &right.id), world.message("c", &wrong.id)), (Some((1, 1)), Some((0, 0))));
}

/// Row 4.13: a full page of one busy root does not hide the answer for a quiet parent.
#[test]
fn row_4_13_a_full_page_is_split() {
    let (busy, quiet) = (EventId([1; 32]), EventId([2; 32]));
    let mut relay: Vec<_> =
        (0..600).map(|n| say("me", "c", 1_000 + n).under(&busy, &EventId([3; 32])).sign()).collect();
    relay.push(say("me", "c", 1).to(&quiet).sign());
    let (one, two) = (say("ada", "c", 5_000).to(&busy).sign(), say("ada", "c", 5_001).to(&quiet).sign());
    let mut world = World::new(&["c"]);
    world.intake(&[&one, &two]);
    assert_eq!(world.settle(&refs(&relay)), 4, "by id, the full page, and a page for each half");
    assert_eq!(world.counts("c"), Some((2, 2)));
}

/// Row 4.15, and the page stop when nothing moves.
#[test]
fn row_4_15_ten_pages_and_no_more() {
    let parent = EventId([1; 32]);
    let beside = |at| say("me", "c", at).tag(&["e", &parent.to_hex(), "", "mention"]).sign();
    let relay: Vec<_> = (0..5_200).map(beside).collect();
    let reply = say("ada", "c", 9_000).to(&parent).sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&reply]);
    assert_eq!(world.settle(&refs(&relay)), 11, "by id, and ten pages");
    assert!(!world.pending("c", &reply.id));
    assert_eq!(world.counts("c"), Some((0, 0)));
    let same_second: Vec<_> =
        (0..600).map(|n| say("me", "c", 77).tag(&["e", &parent.to_hex()]).text(&n.to_string()).sign()).collect();
    let mut world = World::new(&["c"]);
    world.intake(&[&reply]);
    assert_eq!(world.settle(&refs(&same_second)), 3, "the second page ends where the first did");
}

/// A deciding reply on a later page ends the paging.
#[test]
fn paging_back_stops_at_the_first_deciding_reply() {
    let parent = EventId([1; 32]);
    let mut relay: Vec<_> = (0..700).map(|n| say("me", "c", 1_000 + n).tag(&["e", &parent.to_hex()]).sign()).collect();
    relay.push(say("me", "c", 5).to(&parent).sign());
    let mut world = World::new(&["c"]);
    world.intake(&[&say("ada", "c", 9_000).to(&parent).sign()]);
    assert_eq!(world.settle(&refs(&relay)), 3);
    assert_eq!(world.counts("c"), Some((1, 1)));
}

/// Row 4.16 and R8e: what a frontier or the floor reads is not looked up; a manual mark changes nothing about that.
#[test]
fn row_4_16_a_read_reply_is_not_looked_up() {
    let reply = say("ada", "c", 11).to(&EventId([1; 32])).sign();
    let mut world = World::new(&["c"]);
    world.marks.frontiers.insert(MarkKey::Channel(channel("c")), 11);
    world.intake(&[&reply]);
    world.force(MarkKey::Message(reply.id), true);
    let attention = world.unread.attention(channel("c"), &reply.id);
    assert_eq!((attention.status, attention.pending), (AttentionStatus::Unknown, false));
    assert!(attention.unread && attention.forced);
    assert_eq!(world.settle(&[]), 0);
    let mut world = World::new(&["c"]);
    world.server = 11 + limits::FLOOR_AGE;
    world.intake(&[&reply]);
    assert_eq!((world.settle(&[]), world.channel("c").pending), (0, false));
}

/// Row 4.17, pitfall D7 and R8f: one attempt fails whole; 1 s, 2 s, … 60 s; never twice at once.
#[test]
fn row_4_17_failures_back_off() {
    let parent = say("me", "c", 1).sign();
    let reply = say("ada", "c", 11).to(&parent.id).sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&reply]);
    for wait in [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000] {
        world.poll();
        let (ids, replies) = reads(&mut world);
        assert!(replies.is_some(), "asked again");
        world.out.cancelled.clear();
        world.fail(ids.unwrap().0);
        assert_eq!(world.out.cancelled, vec![replies.unwrap().0], "the other read is withdrawn");
        assert!(world.pending("c", &reply.id));
        world.mono += wait - 1;
        world.intake(&[&say("bo", "c", 100 + world.mono).to(&parent.id).sign()]);
        world.poll();
        assert!(world.sent().is_empty(), "not before {wait} ms, whatever arrives");
        assert_eq!(world.unread.relevance().next_wake().unwrap().0, world.mono + 1);
        world.mono += 1;
    }
    world.settle(&[&parent]);
    assert!(!world.pending("c", &reply.id) && world.unread.lookups_are_quiet());
    assert_eq!(world.message("c", &reply.id), Some((1, 1)));
}

/// Row 4.18 and `unread.md` 4.6.
#[test]
fn row_4_18_a_cleared_cache_discards_the_answer() {
    let (root, reply) = (say("me", "c", 1).sign(), EventId([0; 32]));
    let reply = say("ada", "c", 11).to(&root.id).text(&reply.to_hex()).sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&reply]);
    world.poll();
    let (ids, _) = reads(&mut world);
    world.with(|unread, _, out| unread.clear(&Error::Cancelled { why: "cache cleared" }, out));
    assert!(!world.answer(ids.unwrap().0, &[&root]), "nobody's any more");
    world.intake(&[&reply]);
    world.settle(&[]);
    assert_eq!((world.counts("c"), world.pending("c", &reply.id)), (Some((0, 0)), false));
}

/// `unread.md` 4.6: access or connection changed during the read: asked again without a wait, denied channels dropped.
#[test]
fn an_epoch_change_asks_again_at_once() {
    let (a, b) = (EventId([1; 32]), EventId([2; 32]));
    let mut world = World::new(&["c", "d"]);
    world.intake(&[&say("ada", "c", 11).to(&a).sign(), &say("ada", "d", 11).to(&b).sign()]);
    world.poll();
    let (first, _) = reads(&mut world);
    world.with(|unread, _, out| unread.disconnected(out));
    world.poll();
    assert!(world.sent().is_empty(), "nothing is asked without a connection");
    world.with(|unread, _, out| unread.connected(out));
    world.poll();
    let (again, _) = reads(&mut world);
    assert_eq!(again.as_ref().unwrap().1.ids, first.as_ref().unwrap().1.ids);
    assert!(!world.answer(first.unwrap().0, &[]));
    world.access.remove(&channel("c"));
    world.set_access();
    assert!(!world.answer(again.unwrap().0, &[]));
    world.poll();
    let (ids, _) = reads(&mut world);
    assert_eq!(ids.unwrap().1.ids, Some(vec![b.to_hex()]));
    assert_eq!(world.unread.relevance().sizes()[0], 1);
}

/// A failed look-up waits for time only while there is a connection: a moment that has come and cannot be used would wake the session for
/// ever (found by the simulator).
#[test]
fn without_a_connection_no_retry_is_waited_for() {
    let mut world = World::new(&["c"]);
    world.intake(&[&say("ada", "c", 11).to(&EventId([1; 32])).sign()]);
    world.poll();
    let (ids, _) = reads(&mut world);
    world.fail(ids.unwrap().0);
    assert!(world.unread.relevance().next_wake().is_some());
    world.with(|unread, _, out| unread.disconnected(out));
    world.mono += 5_000;
    world.poll();
    assert_eq!(world.unread.relevance().next_wake(), None);
    world.with(|unread, _, out| unread.connected(out));
    world.poll();
    assert!(reads(&mut world).0.is_some(), "asked again at once");
    assert_eq!(world.unread.relevance().next_wake(), None);
}

/// Row 4.20: a later reply of the viewer turns a negative answer into one that outlives the window.
#[test]
fn row_4_20_a_later_reply_becomes_the_witness() {
    let root = say("ada", "c", 1).sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&say("bo", "c", 11).to(&root.id).sign()]);
    world.settle(&[&root]);
    assert_eq!(world.counts("c"), Some((0, 0)));
    world.intake(&[&say("me", "c", 12).to(&root.id).sign()]);
    assert_eq!(world.counts("c"), Some((1, 1)));
    overflow(&mut world);
    let next = say("bo", "c", 13).to(&root.id).sign();
    world.intake(&[&next]);
    assert_eq!(world.message("c", &next.id), Some((1, 1)));
    assert_eq!(world.settle(&[]), 0, "no new look-up");
    assert_eq!(world.activity("c").unwrap().len(), 1, "and the root is still known");
}

fn overflow(world: &mut World) {
    let large = "x".repeat(1_000_000);
    let events: Vec<_> = (0..9).map(|at| say("ada", "c", at).text(&large).sign()).collect();
    world.intake(&refs(&events));
    assert_eq!(world.channel("c").coverage, Coverage::Unknown);
}

/// Rows 4.21 and 4.22, and pitfall D10.
#[test]
fn rows_4_21_and_4_22_deleted_witnesses() {
    let root = say("ada", "c", 1).sign();
    let (w1, w2) = (say("me", "c", 2).to(&root.id).sign(), say("me", "c", 3).to(&root.id).sign());
    let reply = say("bo", "c", 11).to(&root.id).sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&reply]);
    world.settle(&[&root, &w1]);
    assert_eq!(world.counts("c"), Some((1, 1)));
    world.intake(&[&delete("ada", 12, &[&w1.id])]);
    assert_eq!(world.counts("c"), Some((1, 1)), "not hers to delete");
    world.intake(&[&delete("me", 12, &[&w1.id])]);
    assert_eq!((world.counts("c"), world.pending("c", &reply.id)), (Some((0, 0)), false), "4.21");
    assert_eq!((world.settle(&[&root]), world.following("c", &root.id)), (0, false));

    let mut world = World::new(&["c"]);
    world.intake(&[&reply]);
    world.settle(&[&root, &w1, &w2]);
    world.intake(&[&delete("me", 12, &[&w2.id])]);
    assert!(world.pending("c", &reply.id), "4.22: there was another");
    assert!(world.settle(&[&root, &w1, &w2]) > 0);
    assert_eq!(world.counts("c"), Some((1, 1)), "the retracted one is not taken again");
    world.intake(&[&delete("me", 13, &[&w1.id])]);
    assert_eq!((world.settle(&[&root, &w1, &w2]), world.counts("c")), (0, Some((0, 0))));
}

/// R9: an admin's deletion of the viewer's only reply ends the membership as well.
#[test]
fn an_admin_deletes_the_witness() {
    let root = say("ada", "c", 1).sign();
    let w1 = say("me", "c", 2).to(&root.id).sign();
    let mut world = World::new(&["c"]);
    world.access.get_mut(&channel("c")).unwrap().admins = std::sync::Arc::new([Author::named("ada").key()]);
    world.set_access();
    world.intake(&[&say("bo", "c", 11).to(&root.id).sign()]);
    world.settle(&[&root, &w1]);
    assert_eq!(world.counts("c"), Some((1, 1)));
    world.intake(&[&say("ada", "c", 12).kind(9005).about(&[&w1.id]).sign()]);
    assert_eq!(world.counts("c"), Some((0, 0)));
}

/// Row 4.23: one witness a parent; deleting all replies to one ends only that one.
#[test]
fn row_4_23_one_witness_for_each_of_ten_parents() {
    let parents: Vec<_> = (1..=10).map(|n| EventId([n; 32])).collect();
    let mut relay = Vec::new();
    for (n, parent) in parents.iter().enumerate() {
        relay.extend((0..60).map(|i| say("me", "c", (n as u64) * 100 + i).to(parent).sign()));
    }
    let replies: Vec<_> = parents.iter().map(|p| say("ada", "c", 5_000).to(p).sign()).collect();
    let mut world = World::new(&["c"]);
    world.intake(&refs(&replies));
    world.settle(&refs(&relay));
    assert_eq!((world.counts("c"), world.unread.relevance().sizes()[2]), (Some((10, 10)), 10));
    let gone: Vec<_> = relay[..60].iter().map(|e| delete("me", 6_000, &[&e.id])).collect();
    for deletion in &gone {
        world.intake(&[deletion]);
        world.settle(&refs(&relay[60..]));
    }
    assert_eq!(world.message("c", &replies[0].id), Some((0, 0)));
    assert_eq!(world.counts("c"), Some((9, 9)));
}

#[test]
fn row_4_25_a_quiet_reply_asks_nothing() {
    let mut world = World::new(&["c"]);
    world.intake(&[&say("ada", "c", 11).to(&EventId([1; 32])).quiet().mention().sign()]);
    assert_eq!((world.settle(&[]), world.channel("c").pending), (0, false));
}

/// Row 4.26 and R8d.
#[test]
fn row_4_26_a_followed_thread_recovers_its_root() {
    let root = say("ada", "c", 1).sign();
    let reply = say("bo", "c", 11).to(&root.id).sign();
    let mut world = World::new(&["c"]);
    world.follow("c", &root.id, true);
    world.intake(&[&reply]);
    assert_eq!((world.counts("c"), world.channel("c").pending), (Some((1, 1)), false), "the choice decides");
    world.poll();
    let (ids, replies) = reads(&mut world);
    assert!(replies.is_none(), "nothing about the viewer is asked");
    world.answer(ids.unwrap().0, &[&root]);
    assert_eq!(world.activity("c"), Some(vec![(root.id, reply.id, 1)]));
    world.mark(MarkKey::Thread(root.id), 11);
    assert_eq!(world.counts("c"), Some((0, 0)));
    assert_eq!(world.settle(&[]), 0);
}

/// Row 4.27.
#[test]
fn row_4_27_batches_of_fifty_of_one_channel() {
    let parent = |n: u64| EventId(std::array::from_fn(|i| if i == 0 { n as u8 } else { 3 }));
    let mut events: Vec<_> = (0..51).map(|n| say("ada", "c", 100 + n).to(&parent(n)).sign()).collect();
    events.extend((100..103).map(|n| say("ada", "d", n).to(&parent(n)).sign()));
    let mut world = World::new(&["c", "d"]);
    world.intake(&refs(&events));
    let mut batches = Vec::new();
    loop {
        world.poll();
        let (ids, replies) = reads(&mut world);
        let Some((ids, replies)) = ids.zip(replies) else { break };
        batches.push((ids.1.ids.unwrap().len(), replies.1.h.unwrap()));
        world.answer(replies.0, &[]);
        world.answer(ids.0, &[]);
    }
    let (c, d) = (vec![channel("c").to_string()], vec![channel("d").to_string()]);
    assert_eq!(batches, vec![(50, c.clone()), (1, c), (3, d)]);
    assert!(!world.channel("c").pending);
}

/// `unread.md` 4.3: rows of the answer that are deleted there, of another channel or another author, decide nothing.
#[test]
fn rows_that_prove_nothing() {
    let parent = EventId([1; 32]);
    let gone = say("me", "c", 2).to(&parent).sign();
    let elsewhere = say("me", "d", 3).to(&parent).sign();
    let foreign = say("bo", "c", 4).to(&parent).sign();
    let mut world = World::new(&["c", "d"]);
    world.intake(&[&say("ada", "c", 11).to(&parent).sign()]);
    world.poll();
    let (ids, replies) = reads(&mut world);
    world.answer(ids.unwrap().0, &[]);
    world.answer(replies.unwrap().0, &[&gone, &delete("me", 5, &[&gone.id]), &elsewhere, &foreign]);
    assert_eq!((world.counts("c"), world.channel("c").pending), (Some((0, 0)), false));
}

/// In a DM nothing is undecided; a message of the viewer that is deleted ends what it made.
#[test]
fn dms_and_deleted_own_messages() {
    let mine = say("me", "c", 1).sign();
    let reply = say("ada", "c", 11).to(&mine.id).sign();
    let mut world = World::new(&["c", "a-dm"]);
    world.intake(&[&say("ada", "a-dm", 11).to(&EventId([1; 32])).sign(), &mine, &reply]);
    assert_eq!((world.counts("a-dm"), world.settle(&[])), (Some((1, 1)), 0));
    world.intake(&[&delete("me", 12, &[&mine.id])]);
    assert_eq!((world.counts("c"), world.pending("c", &reply.id)), (Some((0, 0)), true));
    world.settle(&[]);
    assert_eq!((world.counts("c"), world.pending("c", &reply.id)), (Some((0, 0)), false));
    // An undecided reply stops waiting when its channel turns out to be a DM, and counts.
    let undecided = say("ada", "c", 13).to(&EventId([2; 32])).sign();
    world.intake(&[&undecided]);
    assert!(world.pending("c", &undecided.id));
    world.access.get_mut(&channel("c")).unwrap().channel_type = ChannelType::Dm;
    world.set_access();
    assert_eq!((world.message("c", &undecided.id), world.channel("c").pending), (Some((1, 1)), false));
}

/// The played relay answers as a relay does.
#[test]
fn the_played_relay_cuts_and_sorts() {
    let events: Vec<_> = (0..5).map(|at| say("me", "c", at).sign()).collect();
    let filter = Filter { since: Some(1), until: Some(3), ..Filter::kinds(&[9]).limit(2) };
    let found: Vec<_> = find(&refs(&events), &[filter]).iter().map(|e| e.created_at).collect();
    assert_eq!(found, vec![3, 2]);
}
