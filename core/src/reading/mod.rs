//! Reading: from what a surface shows to what is to be saved.
//!
//! An app reports viewports. A report that is active and settled and shows something starts a *lease*: it remembers the journal
//! revision and the rows shown. When the lease is 300 ms old it is turned into [`Intent`]s, each one transaction: at a channel's or
//! thread's bottom the catch-up first, then the visible rows; a DM is read whole. Every other report replaces the lease, so
//! only what was visible at both ends of the dwell is read. Explicit actions make intents of the same form ([`explicit`]);
//! what they keep unread for as long as a channel is looked at is remembered here too ([`Visits`]).
//!
//! Invariants: values come from signed times, never from a clock, except in "mark channel read"; no prefix frontier goes to the time of
//! a message dated more than 900 s ahead (R12); nothing is written on a channel that is not accessible; an intent names
//! what must still hold when it is saved (fences and witnesses), so that newer manual intent, a deletion or lost access wins.
//!
//! This room decides and remembers leases; it neither saves nor counts. `unread.md` 6, 7 and 11; R12, R14–R16b.

mod dwell;
pub mod explicit;
mod visit;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::clock::Millis;
use crate::error::Error;
use crate::event::Reference;
use crate::ids::{ChannelId, EventId};
use crate::journal::{Key, LocalKey, Mark, Read};
use crate::limits;
use crate::model::Viewport;
use crate::order::RowKey;

pub use visit::{Step, VisitId, Visits};

/// What reading needs to know of one retained, undeleted message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageFact {
    /// Its id.
    pub id: EventId,
    /// Its signed time, seconds.
    pub created_at: u64,
    /// Written by the viewer.
    pub own: bool,
    /// Quiet agent message.
    pub quiet: bool,
    /// Set when it is a reply.
    pub reference: Option<Reference>,
    /// Root by walking retained structure, if it resolves.
    pub resolved_root: Option<EventId>,
    /// A row of the channel timeline: top-level or a direct broadcast reply.
    pub row: bool,
    /// Priority by `unread.md` 4.1: has a category, or is a broadcast.
    pub priority: bool,
    /// Kept unread by a local message mark or the visit overlay.
    pub marked: bool,
    /// A remote override rests on the message.
    pub overridden: bool,
    /// Frontiers alone (channel, message, resolved thread) leave it unread.
    pub beyond_frontier: bool,
}

impl MessageFact {
    /// Whether `activity:` reads it: top-level without priority (`unread.md` 5.1).
    pub fn ordinary(&self) -> bool {
        self.reference.is_none() && !self.priority
    }

    fn claimed_root(&self) -> EventId {
        self.reference.map_or(self.id, |r| r.root)
    }
}

/// What reading asks of the rooms below.
pub trait Facts {
    /// Whether the channel may be read by unread and reading calls now.
    fn allowed(&self, channel: ChannelId) -> bool;
    /// Whether the channel is known to be a DM.
    fn is_dm(&self, channel: ChannelId) -> bool;
    /// Whether the channel's type is known at all.
    fn type_known(&self, channel: ChannelId) -> bool;
    /// A retained, undeleted message of this channel.
    fn message(&self, channel: ChannelId, id: EventId) -> Option<MessageFact>;
    /// All retained, undeleted messages of this channel, oldest first.
    fn messages(&self, channel: ChannelId) -> Vec<MessageFact>;
    /// Whether evidence or structure holds this id as a message of this channel, deleted or not.
    fn knows(&self, channel: ChannelId, id: EventId) -> bool;
    /// The position of a drawn row that is no message (a notice, a job), for a bottom row (R14a).
    fn other_row(&self, channel: ChannelId, id: EventId) -> Option<RowKey>;
    /// The journal revision a local mark was made at.
    fn mark_revision(&self, key: &LocalKey) -> Option<u64>;
    /// The journal's revision now.
    fn revision(&self) -> u64;
    /// Whether this device can write frontiers (`unread.md` 9.6).
    fn can_write_frontiers(&self) -> bool;
}

/// What is to be saved in one transaction, and what must hold then besides the fences inside it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Intent {
    /// Marks, manual marks that end, and the newer manual intent that voids it.
    pub read: Read,
    /// Messages that must still be retained and undeleted.
    pub witnesses: Vec<EventId>,
}

impl Intent {
    fn mark(&mut self, key: Key, value: u64, covered_by: Vec<Key>) {
        self.read.marks.push(Mark::unless_read(key, value, covered_by));
    }

    /// Whether there is nothing to save.
    pub fn is_empty(&self) -> bool {
        self.read.marks.is_empty() && self.read.clear.is_empty()
    }
}

/// Identifies one open surface of one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SurfaceId(pub u64);

#[derive(Debug)]
struct Surface {
    channel: ChannelId,
    root: Option<EventId>,
    lease: Option<Lease>,
}

/// A running dwell.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Lease {
    visible: Vec<EventId>,
    bottom: Option<EventId>,
    due: Millis,
    revision: u64,
}

/// An intent earned by a surface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earned {
    /// Whose dwell it was: closing the surface voids the intent while it waits to be saved.
    pub surface: SurfaceId,
    /// The channel whose access it depends on.
    pub channel: ChannelId,
    /// What to save.
    pub intent: Intent,
}

/// All open surfaces.
#[derive(Debug, Default)]
pub struct Surfaces {
    next: u64,
    open: BTreeMap<SurfaceId, Surface>,
}

impl Surfaces {
    /// Opens a surface. Fails with `capacity` when [`limits::SURFACES`] are open. No access is needed: reports of a surface
    /// whose channel is not accessible are ignored (R16b).
    pub fn open(&mut self, channel: ChannelId, root: Option<EventId>) -> Result<SurfaceId, Error> {
        if self.open.len() >= limits::SURFACES {
            return Err(Error::Capacity { what: "reading surfaces" });
        }
        self.next += 1;
        let id = SurfaceId(self.next);
        self.open.insert(id, Surface { channel, root, lease: None });
        Ok(id)
    }

    /// Takes a report in. Returns true when it is a hard stop (not active): what the surface earned and is not saved yet is void
    /// (`unread.md` 11.4).
    ///
    /// A report equal to the running lease's changes nothing, so an app that repeats itself does not postpone reading.
    pub fn report(&mut self, id: SurfaceId, viewport: &Viewport, now: Millis, facts: &impl Facts) -> bool {
        let Some(surface) = self.open.get_mut(&id) else { return false };
        let mut visible = viewport.visible.clone();
        visible.truncate(limits::VISIBLE_ROWS);
        let qualifies = viewport.active
            && viewport.settled
            && (!visible.is_empty() || viewport.bottom.is_some())
            && facts.allowed(surface.channel);
        if !qualifies {
            surface.lease = None;
            return !viewport.active;
        }
        let unchanged = surface.lease.as_ref().is_some_and(|l| l.visible == visible && l.bottom == viewport.bottom);
        if !unchanged {
            let due = now.plus(limits::DWELL_MS);
            surface.lease = Some(Lease { visible, bottom: viewport.bottom, due, revision: facts.revision() });
        }
        false
    }

    /// Closes a surface; what it earned and is not saved yet is void.
    pub fn close(&mut self, id: SurfaceId) {
        self.open.remove(&id);
    }

    /// When the next lease is due.
    pub fn next_wake(&self) -> Option<Millis> {
        self.open.values().filter_map(|s| s.lease.as_ref()).map(|l| l.due).min()
    }

    /// Turns leases that are due into intents. `server_now` is the session's idea of the relay's time, seconds.
    pub fn on_wake(&mut self, now: Millis, server_now: u64, facts: &impl Facts) -> Vec<Earned> {
        let mut earned = Vec::new();
        for (id, surface) in &mut self.open {
            let Some(lease) = surface.lease.take_if(|l| l.due <= now) else { continue };
            let scene = dwell::Scene { channel: surface.channel, root: surface.root, horizon: horizon(server_now) };
            for intent in dwell::evaluate(&scene, &lease, facts) {
                earned.push(Earned { surface: *id, channel: surface.channel, intent });
            }
        }
        earned
    }

    /// Access to the channel was lost: its leases end, and a new report is needed after a regrant (R14c).
    pub fn on_access_lost(&mut self, channel: ChannelId) {
        for surface in self.open.values_mut().filter(|s| s.channel == channel) {
            surface.lease = None;
        }
    }

    /// The app went to the background, or the cache was cleared: all leases end (R14c).
    pub fn stop_all(&mut self) {
        for surface in self.open.values_mut() {
            surface.lease = None;
        }
    }

    /// Whether a running lease shows this message (`unread.md` 4.7).
    pub fn viewing(&self, id: EventId) -> bool {
        self.open.values().filter_map(|s| s.lease.as_ref()).any(|l| l.visible.contains(&id))
    }
}

/// The newest time a prefix frontier may be advanced to (R12).
pub(crate) fn horizon(server_now: u64) -> u64 {
    server_now.saturating_add(limits::RELAY_DRIFT)
}
