//! `unread.md` section 3, without repair: intake, deletions, access, overflow; R8b, R9, R9a.

use std::sync::Arc;

use super::kit::{World, bare, delete, edit, member, say};
use crate::error::Error;
use crate::event::SharedEvent;
use crate::ids::{EventId, Target};
use crate::limits;
use crate::model::{ChannelType, Coverage, Freshness, Manual};
use crate::testing::{Author, channel};
use crate::unread::MarkKey;

/// Every order of up to four events, one batch each.
fn orders(events: &[&SharedEvent]) -> Vec<Vec<SharedEvent>> {
    if events.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (ix, first) in events.iter().enumerate() {
        let rest: Vec<_> = events.iter().enumerate().filter(|(i, _)| *i != ix).map(|(_, e)| *e).collect();
        for mut order in orders(&rest) {
            order.insert(0, (*first).clone());
            all.push(order);
        }
    }
    all
}

/// Rows 3.6, 3.7 and 13.6.
#[test]
fn rows_3_6_and_3_7_an_unknown_target_refuses_the_whole_deletion() {
    let message = say("ada", "c", 10).sign();
    let both = say("ada", "c", 11).kind(5).about(&[&message.id, &EventId([7; 32])]).sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&message, &both]);
    assert_eq!(world.counts("c"), Some((1, 0)), "3.6: its h tag does not help");
    assert_eq!(world.unread.evidence().aside(), 0);
    world.intake(&[&delete("ada", 12, &[&message.id])]);
    assert_eq!(world.counts("c"), Some((0, 0)), "3.7");
}

#[test]
fn row_3_9_order_inside_a_batch_does_not_matter() {
    let message = say("ada", "c", 10).sign();
    let change = edit("ada", 11, &message, "b");
    let of_edit = delete("ada", 12, &[&change.id]);
    let of_message = delete("ada", 13, &[&message.id]);
    for order in orders(&[&message, &change, &of_edit, &of_message]) {
        let mut world = World::new(&["c"]);
        world.intake(&order.iter().collect::<Vec<_>>());
        assert_eq!(world.counts("c"), Some((0, 0)));
        assert_eq!(world.unread.evidence().len(), 4);
        assert_eq!(world.unread.text(&message.id).unwrap(), "text");
    }
}

/// Row 3.10 as R9a overrules it.
#[test]
fn row_3_10_a_deletion_waits_for_its_target() {
    let message = say("ada", "c", 10).sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&delete("bo", 11, &[&message.id]), &delete("ada", 11, &[&message.id])]);
    assert_eq!((world.counts("c"), world.unread.evidence().aside()), (None, 2));
    world.intake(&[&message]);
    assert_eq!((world.counts("c"), world.unread.evidence().aside()), (Some((0, 0)), 0));
    assert_eq!(world.unread.take_cache_changes().deleted, vec![message.id]);
    let other = say("ada", "c", 10).text("other").sign();
    world.intake(&[&delete("bo", 11, &[&other.id])]);
    world.intake(&[&other]);
    assert_eq!(world.counts("c"), Some((1, 0)), "only what is authorised then applies");
}

/// R9a: one that names several, any of them unknown, is refused whole, also when that one comes later.
#[test]
fn a_deletion_of_several_waits_for_nobody() {
    let (late, held) = (say("ada", "c", 10).sign(), say("ada", "c", 11).text("held").sign());
    for named in [[&late.id, &held.id], [&held.id, &late.id]] {
        let mut world = World::new(&["c"]);
        world.intake(&[&held]);
        world.intake(&[&delete("ada", 12, &[named[0], named[1]])]);
        assert_eq!((world.counts("c"), world.unread.evidence().aside()), (Some((1, 0)), 0));
        world.intake(&[&late]);
        assert_eq!(world.counts("c"), Some((2, 0)));
    }
}

#[test]
fn row_3_11_one_deletion_in_two_channels() {
    let (one, two) = (say("ada", "c", 10).sign(), say("ada", "d", 10).sign());
    let mut world = World::new(&["c", "d"]);
    world.intake(&[&one, &two]);
    world.unread.take_dirty();
    world.intake(&[&delete("ada", 11, &[&one.id, &two.id])]);
    assert_eq!((world.counts("c"), world.counts("d")), (Some((0, 0)), Some((0, 0))));
    let mut both = vec![channel("c"), channel("d")];
    both.sort();
    assert_eq!(world.unread.take_dirty().channels, both, "both are replaced together");
}

/// 3.2, 3.3, R9: an author's deletion tagged with one channel reaches the message in the other; anybody else's does not.
#[test]
fn an_authors_deletion_reaches_another_channel_than_its_own() {
    let (one, two) = (say("ada", "c", 10).sign(), say("ada", "d", 10).sign());
    let mut world = World::new(&["c", "d"]);
    world.intake(&[&one, &two]);
    world.intake(&[&say("bo", "c", 11).kind(5).about(&[&two.id]).sign()]);
    assert_eq!((world.counts("c"), world.counts("d")), (Some((1, 0)), Some((1, 0))));
    world.intake(&[&say("ada", "c", 12).kind(5).about(&[&two.id]).sign()]);
    assert_eq!((world.counts("c"), world.counts("d")), (Some((1, 0)), Some((0, 0))));
    world.intake(&[&say("ada", "d", 13).kind(5).about(&[&one.id, &two.id]).sign()]);
    assert_eq!(world.counts("c"), Some((0, 0)));
}

/// Row 3.12: a revoked channel's message is not retained, so the deletion names an unknown event.
#[test]
fn row_3_12_a_target_in_a_revoked_channel_refuses_the_deletion() {
    let (one, two) = (say("ada", "c", 10).sign(), say("ada", "d", 10).sign());
    let mut world = World::new(&["c", "d"]);
    world.intake(&[&one, &two]);
    world.access.remove(&channel("d"));
    world.set_access();
    world.intake(&[&delete("ada", 11, &[&one.id, &two.id])]);
    assert_eq!(world.counts("c"), Some((1, 0)));
    assert_eq!(world.counts("d"), None);
}

#[test]
fn row_3_14_an_edit_deleted_in_its_own_batch_changes_nothing() {
    let message = say("ada", "c", 10).mention().sign();
    let change = edit("ada", 11, &message, "b");
    let mut world = World::new(&["c"]);
    world.intake(&[&message]);
    world.unread.take_dirty();
    world.intake(&[&delete("ada", 12, &[&change.id]), &change]);
    assert!(world.unread.take_dirty().is_empty());
    assert_eq!(world.unread.text(&message.id).unwrap(), "text");
}

/// Row 3.15 and `unread.md` 3.3: authority of edits, the newest wins, a deleted one gives the earlier back.
#[test]
fn row_3_15_edits() {
    let message = say("ada", "c", 10).sign();
    let (b, c) = (edit("ada", 11, &message, "b"), edit("ada", 12, &message, "c"));
    let mut world = World::new(&["c"]);
    world.intake(&[&message, &edit("bo", 20, &message, "forged"), &c, &b]);
    assert_eq!(world.unread.text(&message.id).unwrap(), "c");
    world.intake(&[&delete("ada", 13, &[&c.id])]);
    assert_eq!(world.unread.text(&message.id).unwrap(), "b");
    let mention = say("ada", "c", 14).kind(40003).about(&[&message.id]).mention().broadcast().quiet().sign();
    world.intake(&[&mention]);
    assert_eq!(world.counts("c"), Some((1, 0)), "R11: an edit changes the text only");
}

/// Row 3.27.
#[test]
fn row_3_27_a_deletion_of_an_edit() {
    let message = say("ada", "c", 10).sign();
    let change = edit("ada", 11, &message, "b");
    let mut world = World::new(&["c"]);
    world.intake(&[&message, &change]);
    world.intake(&[&delete("ada", 12, &[&change.id, &EventId([7; 32])])]);
    assert_eq!(world.unread.text(&message.id).unwrap(), "b");
    world.intake(&[&delete("ada", 13, &[&change.id])]);
    assert_eq!(world.unread.text(&message.id).unwrap(), "text");
    assert_eq!(world.counts("c"), Some((1, 0)));
}

/// R9: the attributed author of a relay-signed message; an admin by 9005 only, also when the roster comes later.
#[test]
fn who_may_delete() {
    let ada = Author::named("ada").key().to_hex();
    let posted = say("relay", "c", 10).tag(&["actor", &ada]).sign();
    let message = say("bo", "c", 10).sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&posted, &message]);
    world.intake(&[&delete("ada", 11, &[&posted.id]), &delete("ada", 11, &[&message.id])]);
    assert_eq!(world.counts("c"), Some((1, 0)));
    let by_ada = bare("ada", 12).kind(9005).about(&[&message.id]).sign();
    world.intake(&[&by_ada]);
    assert_eq!(world.counts("c"), Some((1, 0)));
    world.access.get_mut(&channel("c")).unwrap().admins = Arc::new([Author::named("ada").key()]);
    world.set_access();
    assert_eq!(world.counts("c"), Some((0, 0)), "ada turned out to be an admin");
    world.access.get_mut(&channel("c")).unwrap().admins = Arc::new([]);
    world.set_access();
    assert_eq!(world.counts("c"), Some((0, 0)), "a deletion is never undone");
}

/// R9, R6: the relay's notice deletes and is no evidence; R9a: also when it comes first.
#[test]
fn the_relays_notice_deletes() {
    let (one, two) = (say("ada", "c", 10).sign(), say("ada", "c", 11).sign());
    let notice = |by, home, target: &SharedEvent| {
        let body = format!(r#"{{"type":"message_deleted","target_event_id":"{}"}}"#, target.id);
        say(by, home, 12).kind(40099).text(&body).sign()
    };
    let mut world = World::new(&["c", "d"]);
    world.intake(&[&one, &notice("ada", "c", &one), &notice("relay", "d", &one)]);
    assert_eq!(world.counts("c"), Some((1, 0)));
    world.intake(&[&notice("relay", "c", &one), &notice("relay", "c", &two)]);
    assert_eq!((world.counts("c"), world.unread.evidence().len()), (Some((0, 0)), 1));
    world.intake(&[&two]);
    assert_eq!(world.counts("c"), Some((0, 0)));
}

#[test]
fn auxiliary_events_go_32_levels_deep() {
    let message = say("ada", "c", 10).sign();
    let mut world = World::new(&["c"]);
    let mut batch = vec![message.clone()];
    for level in 0..40 {
        let target = batch.last().unwrap().id;
        batch.push(delete("ada", 11 + level, &[&target]));
    }
    let backwards: Vec<_> = batch.iter().rev().collect();
    world.intake(&backwards);
    assert_eq!(world.unread.evidence().len(), 1 + usize::from(limits::AUX_LEVELS));
    assert_eq!(world.counts("c"), Some((0, 0)), "and deleting a deletion has no effect");
}

/// Row 3.2, and bytes exactly at the bound.
#[test]
fn row_3_2_overflow_by_bytes() {
    let large = "x".repeat(450_000);
    let mut world = World::new(&["c"]);
    let events: Vec<_> = (0..18).map(|at| say("ada", "c", at).text(&large).sign()).collect();
    world.intake(&events.iter().collect::<Vec<_>>());
    assert_eq!(world.counts("c"), Some((18, 0)));
    let left = limits::EVIDENCE_BYTES - world.unread.evidence().bytes();
    let frame = say("ada", "c", 99).text("").sign().json_len;
    let exact = say("ada", "c", 99).text(&"y".repeat(left - frame)).sign();
    world.intake(&[&exact]);
    assert_eq!((world.counts("c"), world.unread.evidence().bytes()), (Some((19, 0)), limits::EVIDENCE_BYTES));
    world.intake(&[&say("bo", "c", 100).text("").sign()]);
    let snapshot = world.channel("c");
    assert_eq!((snapshot.observed, snapshot.coverage, snapshot.freshness), (None, Coverage::Unknown, Freshness::Stale));
    assert_eq!(snapshot.error.unwrap().code(), "capacity");
    assert!(world.unread.take_cache_changes().cleared);
    world.intake(&[&say("bo", "c", 101).sign()]);
    let snapshot = world.channel("c");
    assert_eq!((snapshot.observed, snapshot.freshness), (Some(1), Freshness::Observed));
    assert!(snapshot.error.is_some(), "the error stays until a repair completes");
}

/// `unread.md` 3.4 and 3.7, rows 13.15 and 7.23: everything of a revoked channel is null at once, also what else a deletion named.
#[test]
fn revoking_hides_everything_at_once() {
    let root = say("me", "c", 10).sign();
    let reply = say("ada", "c", 11).to(&root.id).sign();
    let other = say("ada", "d", 11).sign();
    let mut world = World::new(&["c", "d"]);
    world.intake(&[&root, &reply, &other]);
    world.force(MarkKey::Channel(channel("c")), true);
    let (epoch, fence) = (world.unread.epoch(), world.unread.channel_generation(channel("d")));
    let held = world.access.remove(&channel("c")).unwrap();
    world.set_access();
    for target in
        [Target::Channel(channel("c")), Target::Thread(channel("c"), root.id), Target::Message(channel("c"), reply.id)]
    {
        let snapshot = world.snapshot(target);
        assert_eq!((snapshot.observed, snapshot.manual, snapshot.latest), (None, Manual::None, None));
        assert_eq!((snapshot.coverage, snapshot.freshness), (Coverage::Unknown, Freshness::Unknown));
    }
    assert_eq!(world.activity("c"), None);
    assert!(world.unread.message(&reply.id).is_none());
    assert_eq!(world.counts("d"), Some((1, 0)));
    assert!(world.unread.take_dirty().all);
    assert!(world.unread.epoch() > epoch);
    assert_eq!(world.unread.channel_generation(channel("c")), None);
    assert_eq!(world.unread.channel_generation(channel("d")), fence, "R14b: nobody else's fence falls");
    world.access.insert(channel("c"), held);
    world.set_access();
    let snapshot = world.channel("c");
    assert_eq!((snapshot.observed, snapshot.manual), (None, Manual::LocalOnly), "7.23");
    assert!(world.unread.channel_generation(channel("c")) > fence);
}

/// An event that cannot be allowed is not taken in, whatever it names.
#[test]
fn only_allowed_channels_are_evidence() {
    let mut world = World::new(&["c"]);
    let mut open = member(ChannelType::Stream);
    open.allowed = false;
    world.access.insert(channel("open"), open);
    world.set_access();
    world.intake(&[&say("ada", "open", 10).sign(), &say("ada", "elsewhere", 10).sign()]);
    assert_eq!((world.counts("open"), world.unread.evidence().len()), (None, 0));
}

/// 3.2, step 5: every owner must be allowed, also a channel that a deletion names and none of its targets is in.
#[test]
fn a_deletion_that_names_a_channel_without_access_changes_nothing() {
    let one = say("ada", "c", 10).sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&one]);
    world.intake(&[&say("ada", "elsewhere", 11).kind(5).about(&[&one.id]).sign()]);
    assert_eq!((world.counts("c"), world.unread.evidence().len()), (Some((1, 0)), 1));
}

/// R8b, R8d and `unread.md` 3.4: what the cache kept counts at once, stale; structure reaches its thread mark.
#[test]
fn restored_evidence_is_stale_and_complete() {
    let root = say("ada", "c", 1).sign();
    let reply = say("bo", "c", 12).to(&root.id).mention().sign();
    let (gone, direct) = (say("bo", "c", 13).sign(), say("ada", "a-dm", 14).sign());
    let events = [reply.clone(), gone.clone(), direct, say("ada", "elsewhere", 1).sign()];
    let mut world = World::new(&["c", "a-dm"]);
    world.with(|unread, ctx, _| unread.restore(&events, &[gone.id], std::slice::from_ref(&root), ctx));
    let snapshot = world.channel("c");
    assert_eq!((snapshot.observed, snapshot.freshness), (Some(1), Freshness::Stale));
    assert_eq!((world.counts("c"), world.counts("a-dm")), (Some((1, 1)), Some((1, 1))));
    assert_eq!(world.activity("c"), Some(vec![(root.id, reply.id, 1)]));
    assert!(world.unread.take_cache_changes().events.is_empty(), "the cache has them");
    world.mark(MarkKey::Thread(root.id), 12);
    assert_eq!(world.counts("c"), Some((0, 0)));
    world.intake(&[&say("bo", "c", 15).sign()]);
    assert_eq!(world.channel("c").freshness, Freshness::Observed);
}

/// `unread.md` 3.4: a lost connection and a cleared cache.
#[test]
fn connection_and_cache() {
    let mut world = World::new(&["c"]);
    world.with(|unread, _, out| unread.disconnected(out));
    assert_eq!(world.channel("c").freshness, Freshness::Unknown, "nothing was ever observed");
    world.intake(&[&say("ada", "c", 10).sign()]);
    world.with(|unread, _, out| unread.disconnected(out));
    assert_eq!((world.counts("c"), world.channel("c").freshness), (Some((1, 0)), Freshness::Stale));
    let epoch = world.unread.epoch();
    world.with(|unread, _, out| unread.clear(&Error::Cancelled { why: "cache cleared" }, out));
    let snapshot = world.channel("c");
    assert_eq!((snapshot.observed, snapshot.freshness, snapshot.error), (None, Freshness::Unknown, None));
    assert!(world.unread.epoch() > epoch);
}
