//! `unread.md` section 10: follow choices.

use super::kit::{World, say};
use crate::ids::{ChannelId, EventId};
use crate::limits;
use crate::relevance::{FollowChoice, parse_follows};
use crate::testing::channel;
use crate::unread::{AttentionStatus, Category};

impl World {
    /// Prepares, saves and commits.
    pub(super) fn follow(&mut self, name: &str, root: &EventId, following: bool) {
        let choice = FollowChoice { channel: channel(name), root: *root, following };
        let list = self.unread.prepare_follow(choice).unwrap();
        self.with(|unread, ctx, _| unread.set_follows(&list, ctx));
    }

    pub(super) fn following(&self, name: &str, root: &EventId) -> bool {
        self.unread.following(channel(name), *root).unwrap()
    }
}

#[test]
fn row_10_1_following_a_strangers_thread() {
    let root = say("ada", "c", 10).sign();
    let one = say("bo", "c", 11).to(&root.id).sign();
    let two = say("cy", "c", 12).under(&root.id, &one.id).sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&root, &one, &two]);
    world.settle(&[&root]);
    assert_eq!((world.counts("c"), world.following("c", &root.id)), (Some((1, 0)), false));
    world.unread.take_dirty();
    world.follow("c", &root.id, true);
    for reply in [&one, &two] {
        let attention = world.unread.attention(channel("c"), &reply.id);
        assert_eq!((attention.status, attention.category), (AttentionStatus::Eligible, Some(Category::Thread)));
        assert!(attention.unread && attention.root == Some(root.id));
    }
    assert_eq!(world.counts("c"), Some((3, 2)));
    assert_eq!(world.activity("c"), Some(vec![(root.id, two.id, 2)]));
    let dirty = world.unread.take_dirty();
    assert_eq!((dirty.channels, dirty.activity), (vec![channel("c")], vec![channel("c")]));
    assert!(dirty.threads.contains(&(channel("c"), root.id)));
    world.follow("c", &root.id, false);
    assert_eq!(world.counts("c"), Some((1, 0)), "pitfall D4");
}

/// Rows 10.2, 10.3 and 10.4.
#[test]
fn rows_10_2_to_10_4_unfollowing_sticks() {
    let root = say("me", "c", 10).sign();
    let reply = say("bo", "c", 11).to(&root.id).sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&root, &reply]);
    assert_eq!((world.counts("c"), world.following("c", &root.id)), (Some((1, 1)), true));
    world.follow("c", &root.id, false);
    assert_eq!((world.counts("c"), world.activity("c")), (Some((0, 0)), Some(vec![])), "10.2");
    world.intake(&[&say("me", "c", 12).to(&root.id).sign(), &say("bo", "c", 13).to(&root.id).sign()]);
    assert_eq!((world.counts("c"), world.following("c", &root.id)), (Some((0, 0)), false), "10.3");
    world.intake(&[
        &say("bo", "c", 14).to(&root.id).mention().sign(),
        &say("bo", "c", 15).to(&root.id).broadcast().sign(),
    ]);
    assert_eq!((world.counts("c"), world.activity("c").unwrap().len()), (Some((2, 2)), 1), "10.4");
    assert_eq!(world.settle(&[]), 0, "a decided reply is not looked up");
}

#[test]
fn row_10_6_roots_are_lower_cased() {
    let hex = "ab".repeat(32).to_uppercase();
    let list = parse_follows(&format!(r#"[["{}:{hex}",true]]"#, channel("c")));
    let mut world = World::new(&["c"]);
    world.with(|unread, ctx, _| unread.set_follows(&list, ctx));
    assert!(world.following("c", &EventId([0xab; 32])));
}

#[test]
fn row_10_7_another_channel_is_unaffected() {
    let root = say("ada", "c", 10).sign();
    let elsewhere = say("bo", "d", 11).to(&root.id).sign();
    let mut world = World::new(&["c", "d"]);
    world.intake(&[&root, &elsewhere]);
    world.settle(&[&root]);
    world.follow("c", &root.id, true);
    assert_eq!((world.counts("d"), world.following("d", &root.id)), (Some((0, 0)), false));
}

/// Row 10.8, and pitfall D1: before the first reply, and across a restart.
#[test]
fn row_10_8_saved_choices_are_effective_at_once() {
    let root = say("ada", "c", 10).sign();
    let mut world = World::new(&["c"]);
    let list = [FollowChoice { channel: channel("c"), root: root.id, following: true }];
    world.with(|unread, ctx, _| unread.set_follows(&list, ctx));
    world.intake(&[&root, &say("bo", "c", 11).to(&root.id).sign()]);
    assert_eq!(world.counts("c"), Some((2, 1)));
    assert_eq!(world.settle(&[]), 0);
}

/// Row 10.9: what is not saved changes nothing; and a list that is already in force wakes nobody.
#[test]
fn row_10_9_a_choice_that_is_not_saved() {
    let root = say("me", "c", 10).sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&root, &say("bo", "c", 11).to(&root.id).sign()]);
    world.unread.take_dirty();
    let choice = FollowChoice { channel: channel("c"), root: root.id, following: false };
    let list = world.unread.prepare_follow(choice).unwrap();
    assert_eq!((world.counts("c"), world.following("c", &root.id)), (Some((1, 1)), true));
    assert!(world.unread.take_dirty().is_empty());
    world.with(|unread, ctx, _| unread.set_follows(&list, ctx));
    world.unread.take_dirty();
    world.with(|unread, ctx, _| unread.set_follows(&list, ctx));
    assert!(world.unread.take_dirty().is_empty());
}

#[test]
fn row_10_11_the_oldest_choice_goes() {
    let root = say("ada", "d", 10).sign();
    let mut world = World::new(&["c", "d"]);
    world.intake(&[&root, &say("bo", "d", 11).to(&root.id).sign()]);
    world.settle(&[&root]);
    world.follow("d", &root.id, true);
    let mut list = world.unread.relevance().follows();
    let id = |n: usize| EventId(std::array::from_fn(|i| if i < 2 { n.to_be_bytes()[6 + i] } else { 1 }));
    list.extend((1..limits::FOLLOW_CHOICES).map(|n| FollowChoice {
        channel: channel("c"),
        root: id(n),
        following: true,
    }));
    world.with(|unread, ctx, _| unread.set_follows(&list, ctx));
    assert_eq!(world.unread.relevance().follows().len(), limits::FOLLOW_CHOICES);
    assert_eq!(world.counts("d"), Some((2, 1)));
    world.unread.take_dirty();
    world.follow("c", &EventId([7; 32]), true);
    assert_eq!(world.unread.relevance().follows().len(), limits::FOLLOW_CHOICES);
    assert_eq!((world.counts("d"), world.following("d", &root.id)), (Some((1, 0)), false));
    let dirty = world.unread.take_dirty();
    assert_eq!((dirty.channels, dirty.activity), (vec![channel("d")], vec![channel("d")]));
    // Choosing again makes a choice the newest.
    world.follow("c", &id(1), false);
    world.follow("c", &EventId([8; 32]), true);
    assert!(!world.following("c", &id(1)) && world.unread.relevance().choice((channel("c"), id(1))) == Some(false));
    assert_eq!(world.unread.relevance().choice((channel("c"), id(2))), None);
}

/// Rows 10.12 and 10.13.
#[test]
fn rows_10_12_and_10_13_damaged_lists() {
    let (home, root): (ChannelId, _) = (channel("c"), EventId([5; 32]));
    let text = format!(r#"[["bad","yes"],7,["{home}:{root}",true],["{home}:zz",true],["{home}:{root}",1],[]]"#);
    assert_eq!(parse_follows(&text), vec![FollowChoice { channel: home, root, following: true }]);
    assert_eq!(parse_follows("{}"), vec![]);
    assert_eq!(parse_follows("[[\"c:"), vec![]);
}

/// Row 10.14 and R8b.
#[test]
fn row_10_14_who_may_not_follow() {
    let mut world = World::new(&["c"]);
    world.access.get_mut(&channel("c")).unwrap().confirmed = false;
    world.set_access();
    for name in ["c", "elsewhere"] {
        let choice = FollowChoice { channel: channel(name), root: EventId([5; 32]), following: true };
        assert_eq!(world.unread.prepare_follow(choice).unwrap_err().code(), "denied");
    }
    assert_eq!(world.unread.following(channel("elsewhere"), EventId([5; 32])).unwrap_err().code(), "denied");
    assert_eq!(world.unread.following(channel("c"), EventId([5; 32])), Ok(false), "a restored roster can be read");
}

#[test]
fn row_10_16_a_look_up_shows_in_following() {
    let root = say("ada", "c", 1).sign();
    let mine = say("me", "c", 2).to(&root.id).sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&say("bo", "c", 11).to(&root.id).sign()]);
    assert!(!world.following("c", &root.id));
    world.settle(&[&root, &mine]);
    assert!(world.following("c", &root.id));
}
