//! `unread.md` section 1: what counts, and what wants attention.

use super::kit::{NOW, World, edit, say};
use crate::event::SharedEvent;
use crate::model::ChannelType;
use crate::testing::{Author, channel};
use crate::unread::{AttentionStatus, Category};

fn me() -> String {
    Author::named("me").key().to_hex()
}

/// Takes one event into an empty channel and gives its counts.
fn count(event: &SharedEvent) -> Option<(u32, u32)> {
    let mut world = World::new(&["c"]);
    world.intake(&[event]);
    world.counts("c")
}

#[test]
fn row_1_1_a_message_counts() {
    assert_eq!(count(&say("ada", "c", 11).sign()), Some((1, 0)));
}

#[test]
fn row_1_2_two_h_tags_belong_nowhere() {
    let twice = say("ada", "c", 11).tag(&["h", &channel("c").to_string()]).sign();
    assert_eq!(count(&twice), None);
}

#[test]
fn rows_1_4_and_1_5_other_kinds_are_no_evidence() {
    let message = say("ada", "c", 11).sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&message]);
    world.unread.take_dirty();
    let target = message.id.to_hex();
    for kind in [7, 40099, 43001, 48100, 20002, 39005, 45001] {
        world.intake(&[&say("bo", "c", 12).kind(kind).tag(&["e", &target]).mention().sign()]);
    }
    assert_eq!(world.counts("c"), Some((1, 0)));
    assert_eq!(world.channel("c").latest, Some(message.id));
    assert_eq!(world.unread.evidence().len(), 1);
    assert!(world.unread.take_dirty().is_empty());
}

#[test]
fn row_1_6_a_structured_body_shows_its_text() {
    let rich = say("ada", "c", 11).kind(40002).text(r#"{"content":"hi"}"#).sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&rich]);
    assert_eq!(world.counts("c"), Some((1, 0)));
    assert_eq!(world.unread.text(&rich.id).unwrap(), "hi");
    world.intake(&[&edit("ada", 12, &rich, r#"{"content":"ho"}"#)]);
    assert_eq!(world.unread.text(&rich.id).unwrap(), "ho");
}

#[test]
fn row_1_7_a_mention_is_attention() {
    let mut world = World::new(&["c"]);
    let event = say("ada", "c", 11).mention().sign();
    world.intake(&[&event]);
    assert_eq!(world.counts("c"), Some((1, 1)));
    let attention = world.unread.attention(channel("c"), &event.id);
    assert_eq!((attention.status, attention.category), (AttentionStatus::Eligible, Some(Category::Mention)));
    assert!(attention.mentioned && attention.unread);
}

#[test]
fn rows_1_9_and_1_10_broadcast_replies() {
    let root = say("ada", "c", 10).sign();
    let loud = say("bo", "c", 11).to(&root.id).broadcast().sign();
    let other = say("bo", "c", 12).to(&root.id).tag(&["broadcast", "true"]).sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&root, &loud, &other]);
    world.settle(&[]);
    assert_eq!(world.counts("c"), Some((2, 1)));
    assert_eq!(world.message("c", &other.id), Some((0, 0)));
    let attention = world.unread.attention(channel("c"), &loud.id);
    assert_eq!((attention.status, attention.category), (AttentionStatus::Ineligible, None));
    assert!(attention.unread);
}

/// Rows 1.11, 1.12, 1.14, 1.15, 1.16, 1.17 and 13.5.
#[test]
fn rows_1_11_to_1_17_workflow_output() {
    let bo = Author::named("bo").key().to_hex();
    let (yes, owner, mine) =
        (["buzz:workflow", "true"], ["buzz:workflow-owner", &me()], ["buzz:workflow-mention", &me()]);
    let work = || say("relay", "c", 11).mention().tag(&owner);
    assert_eq!(count(&work().tag(&yes).sign()), Some((1, 0)), "1.11");
    assert_eq!(count(&work().tag(&yes).tag(&mine).sign()), Some((1, 1)), "1.12");
    assert_eq!(count(&work().tag(&yes).kind(40002).sign()), Some((1, 1)), "1.14");
    assert_eq!(count(&work().sign()), Some((1, 1)), "1.15");
    let of_bo = say("relay", "c", 11).mention().tag(&yes).tag(&["buzz:workflow-owner", &bo]).sign();
    assert_eq!(count(&of_bo), Some((1, 1)), "1.16");
    assert_eq!(count(&say("relay", "c", 11).tag(&yes).tag(&owner).tag(&mine).sign()), Some((1, 0)), "1.17");
    assert_eq!(count(&say("ada", "c", 11).mention().tag(&owner).tag(&yes).sign()), Some((1, 1)), "13.5");
}

#[test]
fn rows_1_19_and_1_20_workflow_output_in_the_viewers_thread() {
    let mine = say("me", "c", 10).sign();
    let work = say("relay", "c", 11).to(&mine.id).mention();
    let work = work.tag(&["buzz:workflow", "true"]).tag(&["buzz:workflow-owner", &me()]).sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&mine, &work]);
    let attention = world.unread.attention(channel("c"), &work.id);
    assert_eq!((attention.category, attention.mentioned), (Some(Category::Thread), false));
    world.access.get_mut(&channel("c")).unwrap().channel_type = ChannelType::Dm;
    world.set_access();
    let attention = world.unread.attention(channel("c"), &work.id);
    assert_eq!((attention.category, attention.mentioned), (Some(Category::Direct), false));
}

/// Without the relay's key nothing is workflow output; learning it changes what is retained.
#[test]
fn workflow_output_waits_for_the_relays_key() {
    let work = say("relay", "c", 11).mention();
    let work = work.tag(&["buzz:workflow", "true"]).tag(&["buzz:workflow-owner", &me()]).sign();
    let mut world = World::new(&["c"]);
    world.with(|unread, ctx, _| unread.set_relay(None, ctx));
    world.intake(&[&work]);
    assert_eq!(world.counts("c"), Some((1, 1)));
    world.with(|unread, ctx, _| unread.set_relay(Some(Author::named("relay").key()), ctx));
    assert_eq!(world.counts("c"), Some((1, 0)));
}

#[test]
fn rows_1_21_and_1_22_quiet_agents() {
    let quiet = say("ada", "c", 11).mention().quiet().sign();
    let mut world = World::new(&["c", "a-dm"]);
    world.intake(&[&quiet, &say("ada", "a-dm", 11).quiet().sign()]);
    assert_eq!(world.counts("c"), Some((0, 0)));
    assert_eq!(world.counts("a-dm"), Some((0, 0)));
    assert_eq!(world.channel("c").latest, Some(quiet.id));
    let attention = world.unread.attention(channel("c"), &quiet.id);
    assert_eq!((attention.status, attention.category), (AttentionStatus::Ineligible, None));
    for tags in [
        &[&["audience", "agents"][..], &["audience", "agents"]][..],
        &[&["audience", "agents", "x"]],
        &[&["audience", "Agents"]],
    ] {
        let event = tags.iter().fold(say("ada", "c", 11).mention(), |say, tag| say.tag(tag)).sign();
        assert_eq!(count(&event), Some((1, 1)), "1.22");
    }
    assert_eq!(count(&say("ada", "c", 11).kind(40008).quiet().sign()), Some((0, 0)), "R10: any counted kind");
}

/// Unread intent changes nothing about a quiet message (seed; `unread.md` 1.3).
#[test]
fn a_quiet_message_cannot_be_forced() {
    use crate::unread::MarkKey;
    let quiet = say("ada", "c", 11).quiet().sign();
    let mut world = World::new(&["c"]);
    world.intake(&[&quiet]);
    world.force(MarkKey::Message(quiet.id), true);
    world.register(MarkKey::Channel(channel("c")), 1, 0, NOW);
    assert_eq!(world.counts("c"), Some((0, 0)));
}
