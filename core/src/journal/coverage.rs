//! Which mark makes which other one redundant (`unread.md` 8.5), and the facts about messages this needs.
//!
//! The facts are the evidence's, which this room does not know. Its owner hands them in as a value with every mutation: for the
//! ids [`super::Record::questions`] names, no others. A missing fact only means that a redundant mark stays longer.

use std::collections::BTreeMap;

use super::key::Key;
use crate::ids::{ChannelId, EventId};

/// What retained evidence says about one verified message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageFact {
    /// The channel of its only `h` tag.
    pub channel: ChannelId,
    /// Its signed time, seconds.
    pub created_at: u64,
    /// `activity:<channel>` reads it: an ordinary top-level message (no reference, no mention, no broadcast) in a channel
    /// whose type is known and is not DM.
    pub ordinary: bool,
}

/// Facts about retained messages.
pub trait Coverage {
    /// What is known about `id`; none when it is not retained.
    fn message(&self, id: &EventId) -> Option<MessageFact>;
}

/// Facts as a value, to be sent to the thread that saves.
#[derive(Debug, Clone, Default)]
pub struct Facts(pub BTreeMap<EventId, MessageFact>);

impl Coverage for Facts {
    fn message(&self, id: &EventId) -> Option<MessageFact> {
        self.0.get(id).copied()
    }
}

/// No evidence at all.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFacts;

impl Coverage for NoFacts {
    fn message(&self, _: &EventId) -> Option<MessageFact> {
        None
    }
}

/// Up to two marks that may cover another, each with the value it needs to do so.
pub(super) type Covers = [Option<(Key, u64)>; 2];

/// The marks that may cover `key` at `value` (`unread.md` 8.5), given the channel saved for the message it names.
///
/// A thread or thread catch-up mark never covers a message mark: a reply finds its channel from its own event, but its thread only
/// while its root is loaded.
pub(super) fn covers(key: &Key, value: u32, home: Option<ChannelId>, facts: &dyn Coverage) -> Covers {
    let value = u64::from(value);
    let by_channel = |channel| (Key::Channel(channel), value);
    match key {
        Key::Activity(channel) => [Some(by_channel(*channel)), None],
        Key::Thread(root) => [channel_of(root, home, facts).map(by_channel), None],
        Key::ThreadActivity(root) => [Some((Key::Thread(*root), value)), channel_of(root, home, facts).map(by_channel)],
        Key::Message(id) => match facts.message(id) {
            Some(fact) => [
                Some((Key::Channel(fact.channel), fact.created_at)),
                fact.ordinary.then_some((Key::Activity(fact.channel), fact.created_at)),
            ],
            None => [home.map(by_channel), None],
        },
        Key::Channel(_) | Key::Opaque(_) => [None, None],
    }
}

fn channel_of(id: &EventId, home: Option<ChannelId>, facts: &dyn Coverage) -> Option<ChannelId> {
    facts.message(id).map(|fact| fact.channel).or(home)
}
