//! `unread.md` section 5: evaluation of one message, snapshots, thread activity, and what is dirty.

use super::kit::{NOW, World, delete, edit, say};
use crate::clock::{Millis, Now, ServerTime};
use crate::ids::{EventId, Target};
use crate::limits;
use crate::model::{ChannelType, Coverage, Manual};
use crate::testing::channel;
use crate::unread::{AttentionStatus, MarkKey};

fn c() -> MarkKey {
    MarkKey::Channel(channel("c"))
}

fn activity() -> MarkKey {
    MarkKey::Activity(channel("c"))
}

/// Rows 5.1, 5.3, 5.4 and 5.5.
#[test]
fn rows_5_1_to_5_5_the_channel_frontier() {
    let (m0, m11) = (say("ada", "c", 0).sign(), say("ada", "c", 11).sign());
    let mut world = World::new(&["c"]);
    world.intake(&[&m11]);
    assert_eq!((world.counts("c"), world.channel("c").coverage), (Some((1, 0)), Coverage::Observed), "5.1");
    world.mark(c(), 10);
    assert_eq!(world.counts("c"), Some((1, 0)), "5.3");
    world.mark(c(), 11);
    assert_eq!(world.counts("c"), Some((0, 0)), "equality is read");
    let mut world = World::new(&["c"]);
    world.intake(&[&m0]);
    assert_eq!(world.counts("c"), Some((1, 0)), "5.4: missing is not zero");
    world.mark(c(), 0);
    assert_eq!(world.counts("c"), Some((0, 0)), "5.5");
}

/// Rows 5.6, 5.8, 5.9 and 5.10.
#[test]
fn rows_5_6_to_5_10_catch_up_reads_ordinary_rows_only() {
    let mine = say("me", "c", 1).sign();
    let plain = say("ada", "c", 15).sign();
    let loud = say("ada", "c", 15).broadcast().sign();
    let mention = say("ada", "c", 15).mention().sign();
    let reply = say("ada", "c", 15).to(&mine.id).sign();
    let direct = say("ada", "a-dm", 15).sign();
    let mut world = World::new(&["c", "a-dm"]);
    world.intake(&[&mine, &plain, &loud, &mention, &reply, &direct]);
    assert_eq!(world.counts("c"), Some((4, 3)));
    world.mark(activity(), 14);
    assert_eq!(world.counts("c"), Some((4, 3)));
    world.mark(activity(), 15);
    world.mark(MarkKey::Activity(channel("a-dm")), 20);
    assert_eq!(world.counts("c"), Some((3, 3)));
    assert_eq!(world.message("c", &plain.id), Some((0, 0)), "5.6");
    assert_eq!(world.message("c", &loud.id), Some((1, 1)), "5.8");
    assert_eq!(world.counts("a-dm"), Some((1, 1)), "5.9");
    assert_eq!(world.message("c", &reply.id), Some((1, 1)), "5.10");
}

#[test]
fn rows_5_11_and_5_14_threads_and_lost_roots() {
    let root = say("ada", "c", 10).sign();
    let reply = say("bo", "c", 15).to(&root.id).mention().sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&root, &reply]);
    world.mark(MarkKey::ThreadActivity(root.id), 15);
    assert_eq!(world.message("c", &reply.id), Some((0, 0)), "5.11");
    assert_eq!(world.message("c", &root.id), Some((1, 0)), "a thread's marks never read its root");
    let mut world = World::new(&["c"]);
    world.intake(&[&reply]);
    world.mark(MarkKey::Thread(root.id), 15);
    assert_eq!(world.message("c", &reply.id), Some((1, 1)), "the thread's mark needs the root");
    world.mark(c(), 15);
    assert_eq!(world.message("c", &reply.id), Some((0, 0)), "5.14");
}

#[test]
fn row_5_15_a_late_type_makes_it_a_dm() {
    let message = say("ada", "c", 15).sign();
    let mut world = World::new(&["c"]);
    world.access.get_mut(&channel("c")).unwrap().channel_type = ChannelType::Unknown;
    world.set_access();
    world.intake(&[&message]);
    world.mark(activity(), 20);
    assert_eq!(world.counts("c"), Some((0, 0)));
    let epoch = world.unread.epoch();
    world.access.get_mut(&channel("c")).unwrap().channel_type = ChannelType::Dm;
    world.set_access();
    assert_eq!(world.counts("c"), Some((1, 1)));
    assert_eq!(world.unread.epoch(), epoch, "1.5: a type invalidates no lease");
}

#[test]
fn row_5_16_own_messages_never_count() {
    let message = say("me", "c", 15).mention().sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&message]);
    world.force(MarkKey::Message(message.id), true);
    assert_eq!(world.counts("c"), Some((0, 0)));
    assert_eq!(world.channel("c").latest, Some(message.id));
}

/// Rows 5.18, 5.19 and 5.20, and `unread.md` 5.3.
#[test]
fn rows_5_18_to_5_20_manual_marks() {
    let root = say("ada", "c", 10).sign();
    let reply = say("bo", "c", 12).to(&root.id).sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&root, &reply]);
    world.settle(&[&root]);
    world.mark(c(), 20);
    world.force(c(), true);
    assert_eq!(world.counts("c"), Some((0, 0)), "5.18");
    assert_eq!(world.channel("c").manual, Manual::LocalOnly);
    world.force(c(), false);
    world.force(MarkKey::Message(root.id), true);
    assert_eq!(world.counts("c"), Some((1, 0)), "5.19");
    world.force(MarkKey::Message(reply.id), true);
    assert_eq!(world.counts("c"), Some((2, 0)), "5.20");
    let target = Target::Message(channel("c"), reply.id);
    assert_eq!(world.snapshot(target).manual, Manual::LocalOnly);
    assert_eq!(world.channel("c").manual, Manual::None);
    world.force(MarkKey::MessageForce(channel("c")), true);
    assert_eq!(world.channel("c").manual, Manual::LocalOnly);
    world.force(MarkKey::Thread(root.id), true);
    assert_eq!(world.snapshot(Target::Thread(channel("c"), root.id)).manual, Manual::LocalOnly);
    assert_eq!(world.thread("c", &root.id), Some((1, 0)), "a mark on the thread changes no count");
}

/// Rows 5.21 and 5.23.
#[test]
fn rows_5_21_and_5_23_a_message_override() {
    let message = say("ada", "c", 12).sign();
    let target = Target::Message(channel("c"), message.id);
    let mut world = World::new(&["c"]);
    world.intake(&[&message]);
    world.mark(MarkKey::Message(message.id), 15);
    world.register(MarkKey::Message(message.id), 2, 1, 15);
    assert_eq!((world.counts("c"), world.snapshot(target).manual), (Some((1, 0)), Manual::Remote), "5.21");
    world.register(MarkKey::Message(message.id), 2, 2, 15);
    assert_eq!((world.counts("c"), world.snapshot(target).manual), (Some((0, 0)), Manual::None), "5.23");
    world.register(MarkKey::Message(message.id), 3, 2, 15);
    world.mark(c(), 16);
    assert_eq!(world.counts("c"), Some((0, 0)), "a newer generic frontier ends it");
}

/// Rows 5.24 and 5.25, and the register of a thread (6.12).
#[test]
fn rows_5_24_and_5_25_scope_overrides() {
    let root = say("me", "c", 10).sign();
    let reply = say("bo", "c", 12).to(&root.id).sign();
    let message = say("ada", "c", 11).sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&root, &reply, &message]);
    world.mark(activity(), 50);
    assert_eq!(world.counts("c"), Some((1, 1)));
    world.register(c(), 1, 0, 0);
    assert_eq!(world.counts("c"), Some((2, 1)), "5.24, 5.25: the catch-up does not matter");
    assert_eq!(world.channel("c").manual, Manual::Remote);
    world.mark(c(), 20);
    assert_eq!(world.counts("c"), Some((0, 0)), "the frontier passed the baseline");
    world.register(MarkKey::Thread(root.id), 1, 0, 20);
    assert_eq!(world.thread("c", &root.id), Some((1, 1)), "6.12");
    assert_eq!(world.snapshot(Target::Thread(channel("c"), root.id)).manual, Manual::Remote);
    world.mark(c(), 21);
    assert_eq!(world.thread("c", &root.id), Some((0, 0)));
}

/// `unread.md` 5.3: what a channel's or thread's frontier ends is announced, also where no count moves for it.
#[test]
fn an_override_that_ends_elsewhere_is_announced() {
    let root = say("ada", "c", 10).sign();
    let mine = say("me", "c", 12).to(&root.id).sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&root, &mine]);
    world.register(MarkKey::Thread(root.id), 1, 0, 20);
    world.register(MarkKey::Message(mine.id), 1, 0, 15);
    let message = Target::Message(channel("c"), mine.id);
    let thread = Target::Thread(channel("c"), root.id);
    assert_eq!([world.snapshot(message).manual, world.snapshot(thread).manual], [Manual::Remote; 2]);
    world.unread.take_dirty();
    world.mark(MarkKey::Thread(root.id), 16);
    assert_eq!([world.snapshot(message).manual, world.snapshot(thread).manual], [Manual::None, Manual::Remote]);
    assert_eq!(world.unread.take_dirty().messages, [(channel("c"), mine.id)]);
    world.mark(c(), 21);
    assert_eq!(world.snapshot(thread).manual, Manual::None);
    assert_eq!(world.unread.take_dirty().threads, [(channel("c"), root.id)]);
}

/// Row 5.26 and R17: the floor is inclusive, moves with time, yields to a message's own mark and beats an override.
#[test]
fn row_5_26_the_thirty_day_floor() {
    let old = say("ada", "c", 100).sign();
    let newer = say("ada", "c", 101).sign();
    let mut world = World::new(&["c"]);
    world.server = 100 + limits::FLOOR_AGE - 1;
    world.intake(&[&old, &newer]);
    assert_eq!(world.counts("c"), Some((2, 0)));
    let (mut server, now) = (ServerTime::default(), Now { mono: Millis(5_000), wall: 0 });
    server.learn(now, world.server);
    assert_eq!(world.unread.next_wake(&server, now), Some(Millis(6_000)));
    world.unread.take_dirty();
    world.server += 1;
    world.poll();
    assert_eq!(world.counts("c"), Some((1, 0)));
    let dirty = world.unread.take_dirty();
    assert_eq!((dirty.channels.len(), dirty.messages), (1, vec![(channel("c"), old.id)]));
    world.register(c(), 1, 0, NOW);
    assert_eq!(world.counts("c"), Some((1, 0)), "an override stays below the floor");
    world.force(MarkKey::Message(old.id), true);
    assert_eq!(world.counts("c"), Some((2, 0)), "a mark on the message itself stays above it");
    world.server -= 1;
    world.force(MarkKey::Message(old.id), false);
    assert_eq!(world.counts("c"), Some((2, 0)), "the relay stepped its clock back");
}

#[test]
fn row_5_28_the_root_is_not_in_its_thread() {
    let root = say("ada", "c", 10).sign();
    let reply = say("bo", "c", 12).to(&root.id).mention().sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&root, &reply]);
    assert_eq!((world.counts("c"), world.thread("c", &root.id)), (Some((2, 1)), Some((1, 1))));
}

#[test]
fn row_5_30_a_message_mark_reads_its_message() {
    let (a, b) = (say("ada", "c", 15).sign(), say("bo", "c", 15).sign());
    let mut world = World::new(&["c"]);
    world.marks.frontiers.insert(MarkKey::Message(a.id), 15);
    world.intake(&[&a, &b]);
    assert_eq!((world.message("c", &a.id), world.message("c", &b.id)), (Some((0, 0)), Some((1, 0))));
}

#[test]
fn row_5_31_a_broadcast_reply_with_a_lost_root() {
    let reply = say("bo", "c", 12).to(&EventId([9; 32])).broadcast().sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&reply]);
    assert_eq!(world.counts("c"), Some((1, 1)));
    let attention = world.unread.attention(channel("c"), &reply.id);
    assert_eq!((attention.status, attention.unread, attention.pending), (AttentionStatus::Unknown, true, false));
    assert_eq!(world.activity("c"), Some(vec![]));
}

#[test]
fn row_5_33_a_deleted_message_is_accessible_and_zero() {
    let message = say("ada", "c", 12).mention().sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&message]);
    world.intake(&[&delete("ada", 13, &[&message.id])]);
    assert_eq!(world.message("c", &message.id), Some((0, 0)));
    assert_eq!((world.counts("c"), world.channel("c").latest), (Some((0, 0)), None));
    assert_eq!(world.unread.attention(channel("c"), &message.id).status, AttentionStatus::Ineligible);
    assert!(world.unread.message(&message.id).unwrap().deleted);
    assert_eq!(world.message("d", &message.id), None, "another channel's target");
}

/// `unread.md` 5.2: latest is the newest, the lower id on a tie.
#[test]
fn latest_is_newest_then_lowest_id() {
    let (a, b) = (say("ada", "c", 12).text("a").sign(), say("ada", "c", 12).text("b").sign());
    let mut world = World::new(&["c"]);
    world.intake(&[&a, &b, &say("bo", "c", 11).sign()]);
    assert_eq!(world.channel("c").latest, Some(a.id.min(b.id)));
}

/// `unread.md` 5.4 and R8f: replies only, the viewer's business only, no DM, sorted.
#[test]
fn thread_activity_lists_what_is_the_viewers_business() {
    let (one, two) = (say("me", "c", 1).sign(), say("me", "c", 2).sign());
    let strange = say("ada", "c", 3).sign();
    let r1 = say("ada", "c", 11).to(&one.id).sign();
    let r2 = say("ada", "c", 12).to(&two.id).sign();
    let r3 = say("bo", "c", 13).to(&one.id).sign();
    let unwanted = say("bo", "c", 14).to(&strange.id).sign();
    let lost = say("bo", "c", 15).to(&EventId([9; 32])).mention().sign();
    let mut world = World::new(&["c", "a-dm"]);
    assert_eq!(world.activity("c"), None, "nothing is known");
    world.intake(&[&one, &two, &strange, &r1, &r2, &r3, &unwanted, &lost]);
    world.settle(&[]);
    assert_eq!(world.activity("c"), Some(vec![(one.id, r3.id, 2), (two.id, r2.id, 1)]));
    world.force(MarkKey::Message(unwanted.id), true);
    assert_eq!(world.activity("c").unwrap().len(), 2, "forced, but still a stranger's thread");
    world.unread.take_dirty();
    world.intake(&[&edit("bo", 20, &r3, "better")]);
    assert_eq!(world.unread.thread_activity(channel("c")).items.unwrap()[0].text, "better");
    assert_eq!(world.unread.take_dirty().activity, vec![channel("c")]);
    world.mark(MarkKey::Thread(two.id), 12);
    assert_eq!(world.activity("c"), Some(vec![(one.id, r3.id, 2)]));
    world.intake(&[&delete("bo", 21, &[&r3.id])]);
    assert_eq!(world.activity("c"), Some(vec![(one.id, r1.id, 1)]));
    let direct = say("ada", "a-dm", 1).sign();
    world.intake(&[&direct, &say("ada", "a-dm", 2).to(&direct.id).mention().sign()]);
    assert_eq!((world.counts("a-dm"), world.activity("a-dm")), (Some((2, 2)), Some(vec![])));
}

/// P15: a live event names only the targets it touches.
#[test]
fn one_event_dirties_its_own_targets_only() {
    let (root, other) = (say("me", "c", 1).sign(), say("me", "d", 1).sign());
    let reply = say("ada", "c", 11).to(&root.id).sign();
    let mut world = World::new(&["c", "d"]);
    world.intake(&[&root, &other]);
    world.unread.take_dirty();
    world.intake(&[&reply]);
    let dirty = world.unread.take_dirty();
    assert!(!dirty.all);
    assert_eq!((dirty.channels, dirty.activity), (vec![channel("c")], vec![channel("c")]));
    assert!(dirty.threads.contains(&(channel("c"), root.id)));
    assert_eq!(dirty.messages, vec![(channel("c"), reply.id)]);
    world.intake(&[&reply]);
    assert!(world.unread.take_dirty().is_empty(), "3.26: the same event again");
    world.mark(MarkKey::Channel(channel("d")), 0);
    assert_eq!(world.unread.take_dirty().channels, vec![channel("d")]);
}
