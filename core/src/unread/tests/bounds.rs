//! Churn that reaches every bound of `unread.md` 3.1 and 4.4, and what happens at each; and what one live event touches (P6, P7).

use super::kit::{World, delete, say};
use crate::event::SharedEvent;
use crate::ids::EventId;
use crate::limits;
use crate::model::{ChannelType, Freshness};
use crate::testing::{Author, channel};
use crate::unread::{Context, MarkKey, NoMarks, Unread};

fn refs(events: &[SharedEvent]) -> Vec<&SharedEvent> {
    events.iter().collect()
}

fn numbered(n: usize) -> EventId {
    EventId(std::array::from_fn(|i| if i < 4 { n.to_be_bytes()[4 + i] } else { 7 }))
}

/// Row 3.1, and all look-up stores over it.
#[test]
fn churn_reaches_every_bound() {
    let mut world = World::new(&["c"]);
    let reply = |n: usize| say("ada", "c", 10 + n as u64).to(&numbered(n)).sign();
    // A window full of undecided replies: one look-up each.
    let first: Vec<_> = (0..limits::EVIDENCE_EVENTS).map(reply).collect();
    world.intake(&refs(&first));
    assert_eq!((world.counts("c"), world.channel("c").pending), (Some((0, 0)), true));
    assert_eq!(world.unread.relevance().sizes()[0], limits::LOOKUPS);
    world.intake(&[&say("bo", "c", 5).sign()]);
    let snapshot = world.channel("c");
    assert_eq!(
        (snapshot.observed, snapshot.freshness, snapshot.error.is_some()),
        (None, Freshness::Stale, true),
        "3.1"
    );
    // The next window needs others: the oldest go, and nothing is asked twice at once.
    let second: Vec<_> = (10_000..10_000 + limits::EVIDENCE_EVENTS).map(reply).collect();
    world.intake(&refs(&second));
    let [lookups, _, _, _, queued] = world.unread.relevance().sizes();
    assert_eq!((lookups, queued), (limits::LOOKUPS, limits::LOOKUPS), "a forgotten look-up is not queued either");
    // Every parent is the viewer's: a witness and a structure each, as far as they go.
    let parents: Vec<_> = (0..1_200).map(|n| say("me", "c", n).sign()).collect();
    let answers: Vec<_> = parents.iter().map(|p| say("ada", "c", 9_000).to(&p.id).sign()).collect();
    let mut world = World::new(&["c"]);
    world.intake(&refs(&answers));
    world.settle(&refs(&parents));
    assert_eq!(world.counts("c"), Some((1_200, 1_200)), "the witness decides, also when its structure is forgotten");
    let [lookups, structures, witnesses, ..] = world.unread.relevance().sizes();
    assert_eq!((lookups, structures, witnesses), (1_200, limits::STRUCTURES, 1_200));
    assert_eq!(world.activity("c").unwrap().len(), limits::STRUCTURES, "without its root a reply is not grouped");
    let gone: Vec<_> = parents.iter().map(|p| delete("me", 9_001, &[&p.id])).collect();
    world.intake(&refs(&gone));
    let [_, structures, witnesses, retracted, _] = world.unread.relevance().sizes();
    assert_eq!((structures, witnesses, retracted), (0, 0, limits::RETRACTED));
    assert_eq!((world.counts("c"), world.unread.evidence().aside()), (Some((0, 0)), limits::ASIDE_DELETIONS));
}

/// R9a: the oldest deletion is forgotten, by number and by bytes.
#[test]
fn deletions_aside_are_bounded() {
    let messages: Vec<_> = (0..limits::ASIDE_DELETIONS as u64 + 1).map(|at| say("ada", "c", at).sign()).collect();
    let mut world = World::new(&["c"]);
    for message in &messages {
        let deletion = delete("ada", 5_000, &[&message.id]);
        world.unread.intake(&[deletion.clone(), deletion], &context(&NoMarks));
    }
    assert_eq!(world.unread.evidence().aside(), limits::ASIDE_DELETIONS);
    world.intake(&[&messages[0], &messages[1]]);
    assert_eq!(world.counts("c"), Some((1, 0)), "only the oldest was forgotten");
    let large = "x".repeat(200_000);
    let heavy = |message: &SharedEvent| say("ada", "c", 6_000).kind(5).about(&[&message.id]).text(&large).sign();
    let heavy: Vec<_> = messages[2..9].iter().map(heavy).collect();
    world.intake(&refs(&heavy));
    assert_eq!(world.unread.evidence().aside(), limits::ASIDE_BYTES / 200_400);
}

/// A parent about which replies claim ever new roots is asked about a bounded number of them.
#[test]
fn claimed_roots_of_one_parent_are_bounded() {
    let parent = EventId([1; 32]);
    let replies: Vec<_> = (0..40).map(|n| say("ada", "c", 10).under(&numbered(n), &parent).sign()).collect();
    let mut world = World::new(&["c"]);
    let mut asked = 0;
    for reply in &replies {
        world.intake(&[reply]);
        asked += world.settle(&[]);
    }
    assert!(asked <= 2 * limits::LOOKUP_ROOTS, "{asked}");
    assert!(!world.channel("c").pending);
}

fn context(marks: &dyn crate::unread::MarkSource) -> Context<'_> {
    Context { now: crate::clock::Millis(0), server: super::kit::NOW, marks }
}

/// A window of `n` messages spread over `channels` channels, half of them replies in the viewer's threads.
fn filled(n: usize, channels: usize) -> (Unread, Vec<SharedEvent>) {
    let me = Author::named("me").key();
    let mut unread = Unread::new(me, None);
    let names: Vec<_> = (0..channels).map(|c| format!("p{c}")).collect();
    let access: Vec<_> = names.iter().map(|n| (channel(n), super::kit::member(ChannelType::Stream))).collect();
    unread.set_channels(access, &context(&NoMarks), &mut crate::request::Outbox::default());
    let home = |k: usize| names[k % channels.min(300)].clone();
    let roots: Vec<_> = (0..300).map(|k| say("me", &home(k), 1).text(&k.to_string()).sign()).collect();
    let message = |k: usize| {
        let say = say("ada", &home(k), 10 + k as u64);
        if k.is_multiple_of(2) { say.to(&roots[k % 300].id).sign() } else { say.sign() }
    };
    let fresh: Vec<_> = (n..n + 64).map(message).collect();
    unread.intake(&roots, &context(&NoMarks));
    let held: Vec<_> = (0..n - 300).map(message).collect();
    unread.intake(&held, &context(&NoMarks));
    unread.take_dirty();
    unread.take_cache_changes();
    (unread, fresh)
}

/// How many targets are named for these changes.
fn touched(unread: &mut Unread) -> [usize; 4] {
    let dirty = unread.take_dirty();
    assert!(!dirty.all, "everything is nobody's cost");
    [dirty.channels.len(), dirty.threads.len(), dirty.messages.len(), dirty.activity.len()]
}

/// P6, P7 by what they name, whatever the number of messages and channels; the ratio bench has their time.
#[test]
fn live_events_and_frontiers_touch_what_they_concern() {
    for (n, channels) in [(512, 300), (4_000, 300), (3_400, 3_000)] {
        let (mut unread, fresh) = filled(n, channels);
        for event in &fresh {
            unread.intake(std::slice::from_ref(event), &context(&NoMarks));
            // Its channel; itself as a message and as a root, or its thread beside it; and the activity that lists a reply.
            let expected = if event.reference.is_some() { [1, 2, 1, 1] } else { [1, 1, 1, 0] };
            assert_eq!(touched(&mut unread), expected, "{n} messages, {channels} channels");
            unread.take_cache_changes();
        }
        let mut marks = super::kit::Marks::default();
        let key = MarkKey::Channel(channel("p1"));
        marks.frontiers.insert(key, u64::MAX >> 1);
        let read = unread.members(channel("p1")).filter(|m| m.unread).count();
        let replies = unread.members(channel("p1")).filter(|m| m.unread && m.event.reference.is_some()).count();
        assert!(read > 0);
        unread.marks_changed(&[key], &context(&marks));
        let [channels_touched, threads, messages, activity] = touched(&mut unread);
        assert_eq!((channels_touched, messages, activity), (1, read, usize::from(replies > 0)));
        assert!(threads <= replies, "{threads} {replies}");
    }
}
