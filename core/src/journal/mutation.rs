//! Changes as data: what is to be written, and under which conditions that still holds.
//!
//! A mutation is applied to the latest record inside the transaction that saves it, so another process's newer mark wins
//! (`unread.md` 6.1, 8.2). Nothing in it is a closure, so it can be sent, held, replayed and compared.

use super::key::{Key, LocalKey};
use super::record::{Override, Pending};
use crate::ids::{ChannelId, EventId, SlotId};

/// One change of the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mutation {
    /// This installation read something.
    Read(Read),
    /// Marks a target unread by hand. Already marked: nothing is saved (F6).
    MarkUnread(LocalKey),
    /// Ends manual marks. None there: nothing is saved.
    ClearUnread(Vec<LocalKey>),
    /// Takes in other clients' state, and this installation's own values found on the relay. Changes no revision.
    Merge(Merge),
    /// Remembers the channels of messages that kept marks name, from signed events only. Changes no revision.
    LearnHomes(Vec<(EventId, ChannelId)>),
    /// A follow choice (`unread.md` 10): `Some` sets it as the newest, none returns to automatic.
    Follow {
        /// The channel.
        channel: ChannelId,
        /// The claimed root.
        root: EventId,
        /// The choice.
        choice: Option<bool>,
    },
    /// Adds spill slots and says which own key is carried by which slot (R20).
    Assign {
        /// Slots to add behind the existing ones, in order.
        add: Vec<SlotId>,
        /// Own keys and the slot (existing or added) that carries them from now on.
        carry: Vec<(Key, SlotId)>,
    },
    /// Gives up a slot that holds another client's state and puts a fresh one in its place; what the lost one carried is carried by
    /// the fresh one, and the lost one's pending event is dropped (R21).
    ReplaceSlot {
        /// The slot that is no longer ours.
        lost: SlotId,
        /// A new random one.
        fresh: SlotId,
    },
    /// Saves signed events before they are sent, behind those already pending (R20).
    SavePending(Vec<Pending>),
    /// Puts a newly signed event in the place of a refused one (R22).
    ReplacePending {
        /// The refused event.
        refused: EventId,
        /// Its replacement, for the same slot.
        event: Pending,
    },
    /// Drops pending events that the relay is seen to hold, and accepts a revision as published.
    Reconcile {
        /// Events to drop.
        events: Vec<EventId>,
        /// Everything up to this revision is on the relay; never lowers.
        accepted: Option<u64>,
    },
}

/// What was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Read {
    /// Frontiers to advance.
    pub marks: Vec<Mark>,
    /// Manual marks that end with it.
    pub clear: Vec<LocalKey>,
    /// Conditions under which the intent still holds; one that fails cancels the whole mutation.
    pub fences: Vec<Fence>,
}

/// One frontier to advance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The frontier.
    pub key: Key,
    /// Seconds; more than a `u32` holds is refused.
    pub value: u64,
    /// Keys any of which, at or above `value`, makes this mark unnecessary: it is then left out (`unread.md` 6.2). Empty for
    /// explicit actions, which count as an interaction even when they move nothing (`unread.md` 8.2).
    pub unless: Vec<Key>,
}

impl Mark {
    /// A mark that counts as an interaction even when it moves nothing.
    pub fn always(key: Key, value: u64) -> Self {
        Self { key, value, unless: Vec::new() }
    }

    /// A mark that is left out when its own key or one of `covers` reads as far already.
    pub fn unless_read(key: Key, value: u64, covers: impl IntoIterator<Item = Key>) -> Self {
        let unless = std::iter::once(key.clone()).chain(covers).collect();
        Self { key, value, unless }
    }
}

/// A lease's condition: nobody marked this unread by hand after the lease was made (`unread.md` 6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence {
    /// The channel or thread.
    pub key: LocalKey,
    /// The journal revision when the lease was made; a manual mark with a greater one cancels.
    pub revision: u64,
}

/// State of other clients, already filtered by R12 ([`super::is_ahead`]).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Merge {
    /// Frontiers, merged by maximum.
    pub frontiers: Vec<(Key, u32)>,
    /// Overrides, merged component by component.
    pub overrides: Vec<(Key, Override)>,
    /// Values found in this installation's own slots, with the slot: recovered into what it publishes (`unread.md` 9.8). They are
    /// frontiers too and need not be repeated there. `msg:` keys are merged but never become own.
    pub own: Vec<(Key, u32, SlotId)>,
}
