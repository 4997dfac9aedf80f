//! What one room asks of the others, put together from what the engine holds.

use crate::directory::Directory;
use crate::event::FoldFacts;
use crate::ids::{ChannelId, EventId, PublicKey};
use crate::journal::{Key, LocalKey, MessageFact as KeptFact, Mutation, Record};
use crate::limits;
use crate::model::{Capability, ChannelType};
use crate::order::RowKey;
use crate::reading::{Facts, MessageFact, Visits};
use crate::unread::{MarkKey, MarkSource, MessageView, Register, Unread};
use crate::window::Windows;

/// The record of reading as evaluation reads it, and what the current visits keep unread: both force a message (`unread.md` 5.1).
pub(super) struct Marks<'a>(pub(super) &'a Record, pub(super) &'a Visits);

fn key(mark: MarkKey) -> Option<Key> {
    Some(match mark {
        MarkKey::Channel(c) => Key::Channel(c),
        MarkKey::Thread(root) => Key::Thread(root),
        MarkKey::Message(id) => Key::Message(id),
        MarkKey::Activity(c) => Key::Activity(c),
        MarkKey::ThreadActivity(root) => Key::ThreadActivity(root),
        MarkKey::MessageForce(_) => return None,
    })
}

/// The evaluation's name of a frontier key, if it evaluates it.
pub(super) fn mark_key(key: &Key) -> Option<MarkKey> {
    Some(match key {
        Key::Channel(c) => MarkKey::Channel(*c),
        Key::Thread(root) => MarkKey::Thread(*root),
        Key::Message(id) => MarkKey::Message(*id),
        Key::Activity(c) => MarkKey::Activity(*c),
        Key::ThreadActivity(root) => MarkKey::ThreadActivity(*root),
        Key::Opaque(_) => return None,
    })
}

/// The evaluation's name of a manual mark.
pub(super) fn manual_key(key: &LocalKey) -> MarkKey {
    match key {
        LocalKey::Channel(c) => MarkKey::Channel(*c),
        LocalKey::Thread(root) => MarkKey::Thread(*root),
        LocalKey::Message(id) => MarkKey::Message(*id),
        LocalKey::MessageForce(c) => MarkKey::MessageForce(*c),
    }
}

impl MarkSource for Marks<'_> {
    fn frontier(&self, mark: MarkKey) -> Option<u64> {
        self.0.frontier(&key(mark)?).map(u64::from)
    }

    fn is_marked(&self, mark: MarkKey) -> bool {
        let local = match mark {
            MarkKey::Channel(c) => LocalKey::Channel(c),
            MarkKey::Thread(root) => LocalKey::Thread(root),
            MarkKey::Message(id) if self.1.is_forced(&id) => return true,
            MarkKey::Message(id) => LocalKey::Message(id),
            MarkKey::MessageForce(c) => LocalKey::MessageForce(c),
            MarkKey::Activity(_) | MarkKey::ThreadActivity(_) => return false,
        };
        self.0.local_mark(&local).is_some()
    }

    fn register(&self, mark: MarkKey) -> Option<Register> {
        let held = self.0.overrides().get(&key(mark)?)?;
        Some(Register { set: held.set.into(), clear: held.clear.into(), baseline: held.baseline.into() })
    }

    fn has_registers(&self) -> bool {
        !self.0.overrides().is_empty()
    }

    fn registered(&self) -> Vec<MarkKey> {
        self.0.overrides().keys().filter_map(mark_key).collect()
    }
}

/// Authority and retention, for folding.
pub(super) struct FoldScene<'a> {
    pub(super) relay: Option<PublicKey>,
    pub(super) directory: &'a Directory,
    pub(super) unread: &'a Unread,
}

impl FoldFacts for FoldScene<'_> {
    fn relay(&self) -> Option<&PublicKey> {
        self.relay.as_ref()
    }

    fn is_channel_admin(&self, channel: ChannelId, key: &PublicKey) -> bool {
        self.directory.is_admin(channel, key)
    }

    fn retained(&self, id: &EventId) -> bool {
        self.unread.evidence().get(id).is_some()
    }
}

/// What reading goes by.
pub(super) struct ReadingScene<'a> {
    pub(super) unread: &'a Unread,
    pub(super) record: &'a Record,
    pub(super) windows: &'a Windows,
    pub(super) capability: Capability,
    /// The relay's time, seconds.
    pub(super) server: u64,
}

impl ReadingScene<'_> {
    fn fact(&self, view: &MessageView<'_>) -> MessageFact {
        let id = view.event.id;
        let thread = view.root.filter(|_| view.event.reference.is_some()).map(Key::Thread);
        let keys = [Key::Message(id), Key::Channel(view.channel)];
        let floor = self.server.saturating_sub(limits::FLOOR_AGE);
        let read = self.record.is_read(view.event.created_at, keys.iter().chain(thread.as_ref()));
        MessageFact {
            id,
            created_at: view.event.created_at,
            own: view.own,
            quiet: view.quiet,
            reference: view.event.reference,
            resolved_root: view.root,
            row: view.row,
            priority: view.priority,
            marked: view.forced,
            overridden: self.record.overrides().contains_key(&Key::Message(id)),
            beyond_frontier: !read && view.event.created_at > floor,
        }
    }
}

impl Facts for ReadingScene<'_> {
    fn allowed(&self, channel: ChannelId) -> bool {
        self.unread.access().is_allowed(channel)
    }

    fn is_dm(&self, channel: ChannelId) -> bool {
        self.unread.access().channel(channel).is_some_and(|c| c.channel_type == ChannelType::Dm)
    }

    fn type_known(&self, channel: ChannelId) -> bool {
        self.unread.access().channel(channel).is_some_and(|c| c.channel_type != ChannelType::Unknown)
    }

    fn message(&self, channel: ChannelId, id: EventId) -> Option<MessageFact> {
        let view = self.unread.message(&id).filter(|v| v.channel == channel && !v.deleted)?;
        Some(self.fact(&view))
    }

    fn messages(&self, channel: ChannelId) -> Vec<MessageFact> {
        self.unread.members(channel).rev().map(|view| self.fact(&view)).collect()
    }

    fn knows(&self, channel: ChannelId, id: EventId) -> bool {
        self.unread.channel_of(&id) == Some(channel)
    }

    fn other_row(&self, channel: ChannelId, id: EventId) -> Option<RowKey> {
        let row = self.windows.held(&id).filter(|row| row.channel() == Some(channel))?;
        Some(row.key())
    }

    fn mark_revision(&self, key: &LocalKey) -> Option<u64> {
        self.record.local_mark(key)
    }

    fn revision(&self) -> u64 {
        self.record.revision()
    }

    fn can_write_frontiers(&self) -> bool {
        self.capability == Capability::FrontierSync
    }
}

/// Facts about the messages a mutation concerns (`unread.md` 8.5).
pub(super) fn coverage(record: &Record, mutation: &Mutation, unread: &Unread) -> crate::journal::Facts {
    let fact = |id: EventId| {
        let f = unread.message_fact(&id)?;
        Some((id, KeptFact { channel: f.channel, created_at: f.created_at, ordinary: f.ordinary }))
    };
    crate::journal::Facts(record.questions(mutation).into_iter().filter_map(fact).collect())
}
