//! What reading, retention and timelines ask (`unread.md` 6, 7.2, 7.3, 8.5; R12, R14a, R28).

use super::kit::{NOW, World, delete, say};
use crate::ids::EventId;
use crate::limits;
use crate::model::ChannelType;
use crate::testing::channel;
use crate::unread::{ClearList, MarkKey, MessageFact};

/// The rows of `unread.md` 6.2.
#[test]
fn row_6_2_timeline_rows_and_their_priority() {
    let root = say("me", "c", 11).sign();
    let to_me = say("ada", "c", 12).to(&root.id).sign();
    let plain = say("ada", "c", 13).sign();
    let strange = say("bo", "c", 14).to(&plain.id).sign();
    let mention = say("ada", "c", 15).mention().sign();
    let loud = say("ada", "c", 16).broadcast().sign();
    let answer = say("bo", "c", 17).to(&plain.id).broadcast().sign();
    let deep = say("bo", "c", 18).under(&plain.id, &answer.id).broadcast().sign();
    let sly = say("bo", "c", 19).to(&answer.id).broadcast().sign();
    let bottom = say("ada", "c", 20).sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&root, &to_me, &plain, &strange, &mention, &loud, &answer, &deep, &sly, &bottom]);
    let rows: Vec<_> = world.unread.rows(channel("c"), 20).map(|v| (v.event.created_at, v.priority)).collect();
    let expected = vec![(20, false), (17, true), (16, true), (15, true), (13, false), (11, false)];
    assert_eq!(rows, expected, "R14a: a broadcast at depth two is no row, whatever it claims");
    assert_eq!(world.unread.rows(channel("c"), 15).next().unwrap().event.id, mention.id);
    let all: Vec<_> = world.unread.members(channel("c")).map(|v| v.event.created_at).collect();
    assert_eq!(all, (11..=20).rev().collect::<Vec<_>>());
    let replies: Vec<_> = world.unread.replies(&plain.id).map(|v| v.event.created_at).collect();
    assert_eq!(replies, vec![19, 18, 17, 14]);
    assert_eq!(world.unread.first_unread_reply(&plain.id), Some(answer.id), "a stranger's reply is not unread");
}

/// R28: the oldest unread row, never one's own; pitfall C24.
#[test]
fn the_first_unread_row() {
    let rows: Vec<_> = [("me", 1), ("ada", 2), ("ada", 3)].map(|(by, at)| say(by, "c", at).sign()).into();
    let mut world = World::new(&["c"]);
    world.intake(&rows.iter().collect::<Vec<_>>());
    assert_eq!(world.unread.first_unread_row(channel("c")), Some(rows[1].id));
    world.mark(MarkKey::Activity(channel("c")), 2);
    assert_eq!(world.unread.first_unread_row(channel("c")), Some(rows[2].id));
    world.mark(MarkKey::Activity(channel("c")), 3);
    assert_eq!(world.unread.first_unread_row(channel("c")), None);
}

/// R12: the newest that is not future-dated; 900 s ahead is not.
#[test]
fn the_newest_message_with_and_without_the_future() {
    let edge = NOW + limits::RELAY_DRIFT;
    let (now, future) = (say("ada", "c", edge).sign(), say("ada", "c", edge + 1).sign());
    let mut world = World::new(&["c"]);
    assert_eq!(world.unread.newest_at(channel("c"), None), None);
    world.intake(&[&say("ada", "c", 5).sign(), &now, &future]);
    assert_eq!(world.unread.newest_at(channel("c"), None), Some(edge + 1));
    assert_eq!(world.unread.newest_at(channel("c"), Some(NOW)), Some(edge));
    assert!(world.unread.message(&future.id).unwrap().is_future(NOW));
    assert!(!world.unread.message(&now.id).unwrap().is_future(NOW));
    assert_eq!(world.counts("c"), Some((3, 0)), "it is retained and counts");
    world.intake(&[&delete("ada", 6, &[&now.id])]);
    assert_eq!(world.unread.newest_at(channel("c"), Some(NOW)), Some(5), "7.10: deleted ones are out");
    assert_eq!(world.unread.newest_at(channel("d"), None), None);
}

#[test]
fn the_list_that_marking_read_clears() {
    let (root, gone) = (say("ada", "c", 1).sign(), say("ada", "c", 2).sign());
    let reply = say("bo", "c", 3).to(&root.id).sign();
    let lost = say("bo", "c", 4).to(&EventId([9; 32])).sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&root, &gone, &reply, &lost, &delete("ada", 5, &[&gone.id])]);
    let mut messages = vec![root.id, reply.id, lost.id];
    messages.sort();
    assert_eq!(world.unread.clear_list(channel("c")), ClearList { messages, threads: vec![root.id] });
}

/// Row 7.21 and `unread.md` 7.3.
#[test]
fn row_7_21_what_mark_all_selects() {
    let names = ["unread", "read", "manual", "hint", "thread", "empty"];
    let mut world = World::new(&names);
    let root = say("ada", "thread", 1).sign();
    world.intake(&[&say("ada", "unread", 1).sign(), &say("ada", "read", 1).sign(), &root]);
    world.mark(MarkKey::Channel(channel("read")), 1);
    world.mark(MarkKey::Channel(channel("thread")), 1);
    world.force(MarkKey::Channel(channel("manual")), true);
    world.force(MarkKey::MessageForce(channel("hint")), true);
    world.force(MarkKey::Thread(root.id), true);
    world.force(MarkKey::Channel(channel("elsewhere")), true);
    let mut expected: Vec<_> = ["unread", "manual", "hint", "thread"].map(channel).into();
    expected.sort();
    assert_eq!(world.unread.mark_all_selection(&world.marks), expected);
}

/// `unread.md` 8.5: an ordinary top-level message, in a channel known to be no DM.
#[test]
fn facts_for_retention() {
    let plain = say("ada", "c", 1).sign();
    let mention = say("ada", "c", 2).mention().sign();
    let reply = say("me", "c", 3).to(&plain.id).sign();
    let direct = say("ada", "a-dm", 4).sign();
    let mut world = World::new(&["c", "a-dm"]);
    world.intake(&[&plain, &mention, &reply, &direct]);
    let fact = |world: &World, id| world.unread.message_fact(id).map(|f| f.ordinary);
    let ids = [&plain.id, &mention.id, &reply.id, &direct.id];
    assert_eq!(ids.map(|id| fact(&world, id)), [Some(true), Some(false), Some(false), Some(false)]);
    let known = MessageFact { channel: channel("c"), created_at: 1, ordinary: true };
    assert_eq!(world.unread.message_fact(&plain.id), Some(known));
    assert_eq!(world.unread.message_fact(&EventId([1; 32])), None);
    world.access.get_mut(&channel("c")).unwrap().channel_type = ChannelType::Unknown;
    world.set_access();
    assert_eq!(fact(&world, &plain.id), Some(false), "its type is not known");
}
