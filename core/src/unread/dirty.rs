//! What the engine must do after a call: views to replace, and what to keep on disk.

use crate::event::SharedEvent;
use crate::ids::{ChannelId, EventId};
use crate::limits;
use crate::relevance::Place;

/// Targets whose answer may differ. Sorted, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dirty {
    /// Every target: freshness, error, access or everything changed. The lists are empty then.
    pub all: bool,
    /// Channel targets.
    pub channels: Vec<ChannelId>,
    /// Thread targets, and threads whose `following` may differ.
    pub threads: Vec<Place>,
    /// Message targets.
    pub messages: Vec<Place>,
    /// Channels whose thread activity may differ.
    pub activity: Vec<ChannelId>,
}

impl Dirty {
    /// Whether nothing is dirty.
    pub fn is_empty(&self) -> bool {
        !self.all
            && self.channels.is_empty()
            && self.threads.is_empty()
            && self.messages.is_empty()
            && self.activity.is_empty()
    }

    /// More entries than every message four times over are no list any more; and beside `all` none is needed.
    pub(super) fn bound(&mut self) {
        let entries = self.channels.len() + self.threads.len() + self.messages.len() + self.activity.len();
        if (self.all && entries > 0) || entries > 4 * limits::EVIDENCE_EVENTS {
            *self = Self { all: true, ..Self::default() };
        }
    }

    pub(super) fn sorted(mut self) -> Self {
        if self.all {
            return Self { all: true, ..Self::default() };
        }
        fn tidy<T: Ord>(list: &mut Vec<T>) {
            list.sort_unstable();
            list.dedup();
        }
        tidy(&mut self.channels);
        tidy(&mut self.threads);
        tidy(&mut self.messages);
        tidy(&mut self.activity);
        self
    }
}

/// What the message cache should do. The engine takes this after every input, so it is bounded by one answer.
#[derive(Debug, Default)]
pub struct CacheChanges {
    /// Forget all evidence first: it overflowed, or the cache was cleared.
    pub cleared: bool,
    /// Newly retained evidence.
    pub events: Vec<SharedEvent>,
    /// Retained events that are deleted now.
    pub deleted: Vec<EventId>,
    /// Parents and roots that are structure only (R8d).
    pub structure: Vec<SharedEvent>,
    /// A full repair succeeded: homes may be looked up (`unread.md` 8.6).
    pub repaired: bool,
}
