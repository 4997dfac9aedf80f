//! Which mark makes which other one redundant (`unread.md` 8.5), and the facts about messages this needs.
//!
//! The facts are the evidence's, which this room does not know. Its owner hands them in as a value with every mutation: for the
//! ids [`super::Record::questions`] names, no others. A missing fact only means that a redundant mark stays longer.

use std::collections::BTreeMap;

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
