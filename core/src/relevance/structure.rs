//! Messages known from look-ups or the message cache only: parents and roots (`unread.md` 4.4, R8d).
//!
//! They give a reply its root and make a thread target accessible. They never count, never start a look-up, and never enter
//! evidence. Only what that takes is kept, so that 1,024 large messages fill no memory. Oldest forgotten.

use std::collections::BTreeMap;

use crate::evidence::IdMap;

use crate::event::{Event, Reference, kinds};
use crate::ids::{ChannelId, EventId, PublicKey};
use crate::limits;

/// What is kept of a message that is structure only, or of a witness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Structure {
    /// Its id.
    pub id: EventId,
    /// Its channel.
    pub channel: ChannelId,
    /// Its signer.
    pub pubkey: PublicKey,
    /// Its time, seconds.
    pub created_at: u64,
    /// What it answers.
    pub reference: Option<Reference>,
}

impl Structure {
    /// Of a message that names exactly one channel.
    pub fn of(event: &Event) -> Option<Self> {
        if !kinds::is_content(event.kind) {
            return None;
        }
        Some(Self {
            id: event.id,
            channel: event.channel()?,
            pubkey: event.pubkey,
            created_at: event.created_at,
            reference: event.reference,
        })
    }

    /// The root it claims, or itself.
    pub fn claimed_root(&self) -> EventId {
        self.reference.map_or(self.id, |r| r.root)
    }
}

#[derive(Default)]
pub(super) struct Structures {
    next: u64,
    by_id: IdMap<EventId, (u64, Structure)>,
    by_age: BTreeMap<u64, EventId>,
    /// Those that are replies, by the root they claim: what resolves anew when that root comes or goes.
    by_claimed: IdMap<EventId, Vec<EventId>>,
}

impl Structures {
    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(super) fn get(&self, id: &EventId) -> Option<&Structure> {
        self.by_id.get(id).map(|(_, structure)| structure)
    }

    /// All of a channel, in no particular order.
    pub(super) fn of_channel(&self, channel: ChannelId) -> impl Iterator<Item = EventId> + '_ {
        self.by_id.values().filter(move |(_, s)| s.channel == channel).map(|(_, s)| s.id)
    }

    pub(super) fn claiming(&self, root: &EventId) -> &[EventId] {
        self.by_claimed.get(root).map_or(&[], Vec::as_slice)
    }

    /// Adds one; what was forgotten for it. None when it was held.
    pub(super) fn insert(&mut self, structure: Structure) -> Option<Vec<Structure>> {
        if self.by_id.contains_key(&structure.id) {
            return None;
        }
        if let Some(reference) = structure.reference {
            self.by_claimed.entry(reference.root).or_default().push(structure.id);
        }
        self.by_id.insert(structure.id, (self.next, structure));
        self.by_age.insert(self.next, structure.id);
        self.next += 1;
        let mut forgotten = Vec::new();
        while self.by_id.len() > limits::STRUCTURES {
            let Some((_, oldest)) = self.by_age.first_key_value() else { break };
            forgotten.extend(self.remove(&{ *oldest }));
        }
        Some(forgotten)
    }

    pub(super) fn remove(&mut self, id: &EventId) -> Option<Structure> {
        let (age, structure) = self.by_id.remove(id)?;
        self.by_age.remove(&age);
        if let Some(reference) = structure.reference
            && let Some(claiming) = self.by_claimed.get_mut(&reference.root)
        {
            claiming.retain(|claimant| claimant != id);
            if claiming.is_empty() {
                self.by_claimed.remove(&reference.root);
            }
        }
        Some(structure)
    }

    /// Drops what `keep` refuses.
    pub(super) fn retain(&mut self, keep: impl Fn(&Structure) -> bool) {
        let gone: Vec<_> = self.by_id.values().filter(|(_, s)| !keep(s)).map(|(_, s)| s.id).collect();
        for id in gone {
            self.remove(&id);
        }
    }
}
