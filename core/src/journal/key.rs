//! Frontier keys and keys of local marks: the one place where each is parsed and rendered.
//!
//! On the wire and in the file a frontier key is a text of 1 to 256 bytes. In memory the known families are typed, so that a look-up
//! compares bytes and not text. `Key::parse(key.to_string()) == key` for every key (property test); a text of a known
//! family with a malformed remainder is an opaque context (`unread.md` 9.3).

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::ids::{ChannelId, EventId, Malformed, Target};
use crate::limits;

const THREAD: &str = "thread:";
const MESSAGE: &str = "msg:";
const ACTIVITY: &str = "activity:";
const THREAD_ACTIVITY: &str = "thread-activity:";
const MESSAGE_FORCE: &str = "message-force:";

/// The key of a frontier. Its derived order is for maps only; where the specification orders keys, it is by text:
/// [`Key::text_cmp`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// `<channel>`: everything in it up to the value.
    Channel(ChannelId),
    /// `thread:<root>`: the replies under the root up to the value.
    Thread(EventId),
    /// `activity:<channel>`: its ordinary top-level messages up to the value.
    Activity(ChannelId),
    /// `thread-activity:<root>`: as `thread:`, earned by reading at the bottom.
    ThreadActivity(EventId),
    /// `msg:<id>`: that message. Never published (R19).
    Message(EventId),
    /// A context of another client: kept and merged, never interpreted.
    Opaque(OpaqueKey),
}

/// The text of a key that belongs to no family known here. Only [`Key::parse`] makes one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpaqueKey(String);

// The hasher of maps keyed by ids looks at eight bytes of each write, which texts have in common.
impl Hash for OpaqueKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for chunk in self.0.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            state.write(&word);
        }
    }
}

/// Breadth of a mark, the first thing retention goes by (`unread.md` 8.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Breadth {
    /// No colon: a channel.
    Channel,
    /// `thread:`.
    Thread,
    /// `activity:` and `thread-activity:`.
    CatchUp,
    /// Everything else: messages and unknown prefixes.
    Other,
}

impl Key {
    /// Parses a raw (unescaped) context key: 1 to 256 UTF-8 bytes.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        if text.is_empty() || text.len() > limits::KEY_BYTES {
            return Err(Malformed("frontier key"));
        }
        // The most frequent family first; no other has this length.
        if text.len() == 36 {
            return Ok(ChannelId::parse(text).map_or_else(|_| Self::Opaque(OpaqueKey(text.to_owned())), Self::Channel));
        }
        let event = |prefix| text.strip_prefix(prefix).and_then(|rest| EventId::parse(rest).ok());
        if let Some(id) = event(THREAD) {
            return Ok(Self::Thread(id));
        }
        if let Some(id) = event(MESSAGE) {
            return Ok(Self::Message(id));
        }
        if let Some(id) = event(THREAD_ACTIVITY) {
            return Ok(Self::ThreadActivity(id));
        }
        if let Some(id) = text.strip_prefix(ACTIVITY).and_then(|rest| ChannelId::parse(rest).ok()) {
            return Ok(Self::Activity(id));
        }
        Ok(Self::Opaque(OpaqueKey(text.to_owned())))
    }

    /// The message the key names, if it names one: homes are kept for those (`unread.md` 8.6).
    pub fn message(&self) -> Option<EventId> {
        match self {
            Self::Thread(id) | Self::ThreadActivity(id) | Self::Message(id) => Some(*id),
            Self::Channel(_) | Self::Activity(_) | Self::Opaque(_) => None,
        }
    }

    /// Whether the key begins with `msg:`. Such a mark is never published (R19) and is exempt from R12.
    pub fn is_message(&self) -> bool {
        match self {
            Self::Message(_) => true,
            Self::Opaque(text) => text.0.starts_with(MESSAGE),
            _ => false,
        }
    }

    /// Breadth of the mark.
    pub fn breadth(&self) -> Breadth {
        match self {
            Self::Channel(_) => Breadth::Channel,
            Self::Thread(_) => Breadth::Thread,
            Self::Activity(_) | Self::ThreadActivity(_) => Breadth::CatchUp,
            Self::Message(_) => Breadth::Other,
            Self::Opaque(OpaqueKey(text)) => {
                if !text.contains(':') {
                    Breadth::Channel
                } else if text.starts_with(THREAD) {
                    Breadth::Thread
                } else if text.starts_with(ACTIVITY) || text.starts_with(THREAD_ACTIVITY) {
                    Breadth::CatchUp
                } else {
                    Breadth::Other
                }
            }
        }
    }

    /// Length of the text in UTF-8 bytes.
    pub fn text_len(&self) -> usize {
        match self {
            Self::Channel(_) => 36,
            Self::Thread(_) => THREAD.len() + 64,
            Self::Activity(_) => ACTIVITY.len() + 36,
            Self::ThreadActivity(_) => THREAD_ACTIVITY.len() + 64,
            Self::Message(_) => MESSAGE.len() + 64,
            Self::Opaque(text) => text.0.len(),
        }
    }

    /// Order by text, which ties are broken by (`unread.md` 8.4).
    pub fn text_cmp(&self, other: &Self) -> Ordering {
        // Within one family the order of the bytes is the order of their hex.
        if std::mem::discriminant(self) == std::mem::discriminant(other) {
            return self.cmp(other);
        }
        self.to_string().cmp(&other.to_string())
    }

    /// The text, borrowed, of an opaque key.
    pub(crate) fn opaque(&self) -> Option<&str> {
        match self {
            Self::Opaque(text) => Some(&text.0),
            _ => None,
        }
    }
}

impl From<Target> for Key {
    fn from(target: Target) -> Self {
        match target {
            Target::Channel(channel) => Self::Channel(channel),
            Target::Thread(_, root) => Self::Thread(root),
            Target::Message(_, id) => Self::Message(id),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Channel(channel) => channel.fmt(f),
            Self::Thread(root) => write!(f, "{THREAD}{root}"),
            Self::Activity(channel) => write!(f, "{ACTIVITY}{channel}"),
            Self::ThreadActivity(root) => write!(f, "{THREAD_ACTIVITY}{root}"),
            Self::Message(id) => write!(f, "{MESSAGE}{id}"),
            Self::Opaque(text) => f.write_str(&text.0),
        }
    }
}

// Debug shows a shape, never the value: keys must not reach a log (policy test).
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Channel(_) => "Channel(…)",
            Self::Thread(_) => "Thread(…)",
            Self::Activity(_) => "Activity(…)",
            Self::ThreadActivity(_) => "ThreadActivity(…)",
            Self::Message(_) => "Message(…)",
            Self::Opaque(_) => "Opaque(…)",
        })
    }
}

impl fmt::Debug for OpaqueKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpaqueKey(…)")
    }
}

/// What can be marked unread by hand on this device (`unread.md` 5.3, 7.4, 7.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LocalKey {
    /// `<channel>`.
    Channel(ChannelId),
    /// `thread:<root>`.
    Thread(EventId),
    /// `msg:<id>`.
    Message(EventId),
    /// `message-force:<channel>`: messages of it were marked unread in an earlier visit (`unread.md` 7.5).
    MessageForce(ChannelId),
}

impl LocalKey {
    /// Parses the text form.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        if let Some(rest) = text.strip_prefix(MESSAGE_FORCE) {
            return ChannelId::parse(rest).map(Self::MessageForce);
        }
        if let Some(rest) = text.strip_prefix(THREAD) {
            return EventId::parse(rest).map(Self::Thread);
        }
        if let Some(rest) = text.strip_prefix(MESSAGE) {
            return EventId::parse(rest).map(Self::Message);
        }
        ChannelId::parse(text).map(Self::Channel)
    }
}

impl From<Target> for LocalKey {
    fn from(target: Target) -> Self {
        match target {
            Target::Channel(channel) => Self::Channel(channel),
            Target::Thread(_, root) => Self::Thread(root),
            Target::Message(_, id) => Self::Message(id),
        }
    }
}

impl fmt::Display for LocalKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Channel(channel) => channel.fmt(f),
            Self::Thread(root) => write!(f, "{THREAD}{root}"),
            Self::Message(id) => write!(f, "{MESSAGE}{id}"),
            Self::MessageForce(channel) => write!(f, "{MESSAGE_FORCE}{channel}"),
        }
    }
}
