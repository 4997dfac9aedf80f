//! What evaluation asks of the record of reading, which is another room's.

use std::fmt;

use crate::ids::{ChannelId, EventId};

/// Key of a frontier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MarkKey {
    /// `<channel>`.
    Channel(ChannelId),
    /// `thread:<root>`.
    Thread(EventId),
    /// `msg:<id>`.
    Message(EventId),
    /// `activity:<channel>`.
    Activity(ChannelId),
    /// `thread-activity:<root>`.
    ThreadActivity(EventId),
    /// `message-force:<channel>`: only ever a manual mark (`unread.md` 7.5).
    MessageForce(ChannelId),
}

// Debug shows a shape, never the value: keys must not reach a log (policy test).
impl fmt::Debug for MarkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Channel(_) => "Channel(…)",
            Self::Thread(_) => "Thread(…)",
            Self::Message(_) => "Message(…)",
            Self::Activity(_) => "Activity(…)",
            Self::ThreadActivity(_) => "ThreadActivity(…)",
            Self::MessageForce(_) => "MessageForce(…)",
        })
    }
}

/// An NIP-RS override register as evaluation needs it (`unread.md` 5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Register {
    /// How often it was set.
    pub set: u64,
    /// How often it was cleared; a tie is cleared.
    pub clear: u64,
    /// It holds only while the generic frontier is not past this second.
    pub baseline: u64,
}

impl Register {
    /// Whether it forces its key unread, given the key's generic frontier, missing = 0.
    pub fn is_active(&self, frontier: Option<u64>) -> bool {
        self.set > 0 && self.set > self.clear && frontier.unwrap_or(0) <= self.baseline
    }
}

/// The record of reading. A changed answer must be announced through [`super::Unread::marks_changed`]; that includes a frontier that
/// R12 withheld until now.
pub trait MarkSource {
    /// Read through this second: the greater of reserve and journal; a peer's frontier that R12 withholds is none.
    fn frontier(&self, key: MarkKey) -> Option<u64>;
    /// Marked unread by hand on this device: for `Channel`, `Thread`, `Message` and `MessageForce`.
    fn is_marked(&self, key: MarkKey) -> bool;
    /// The override register of a `Channel`, `Thread` or `Message` key.
    fn register(&self, key: MarkKey) -> Option<Register>;
    /// Whether there is any override register at all.
    fn has_registers(&self) -> bool;
    /// The `Channel`, `Thread` and `Message` keys that have an override register; a blob bounds how many (`unread.md` 8.4).
    fn registered(&self) -> Vec<MarkKey>;
}

/// A record in which nothing was ever read.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMarks;

impl MarkSource for NoMarks {
    fn frontier(&self, _: MarkKey) -> Option<u64> {
        None
    }

    fn is_marked(&self, _: MarkKey) -> bool {
        false
    }

    fn register(&self, _: MarkKey) -> Option<Register> {
        None
    }

    fn has_registers(&self) -> bool {
        false
    }

    fn registered(&self) -> Vec<MarkKey> {
        Vec::new()
    }
}
