//! Visits: messages marked unread from their menu for as long as their channel is being looked at (`unread.md` 7.5).
//!
//! Marking a message unread forces it and its loaded replies in memory and saves one hint, the local mark
//! [`LocalKey::MessageForce`](crate::journal::LocalKey) of the channel. A visit begins by entering the channel, or by marking in it, and ends by
//! leaving it or losing access: what was forced counts by its frontiers again then, and the hint keeps the channel marked until it is entered again.
//!
//! A change takes effect when its save has committed ([`Visits::apply`]), in the order of the saves; one whose visit ended meanwhile does not.
//! Invariants: only rows of open visits are forced; at most [`limits::EVIDENCE_EVENTS`] rows are.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Error;
use crate::ids::{ChannelId, EventId};
use crate::limits;

/// Numbers the visits of one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct VisitId(u64);

/// What a save changes here once it has committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The visit has begun: it is taken back when its save fails, so that entering again tries again.
    Enter(ChannelId, VisitId),
    /// Rows are kept unread for the rest of the visit.
    Force(ChannelId, VisitId, Vec<EventId>),
    /// They no longer are.
    Release(ChannelId, VisitId, Vec<EventId>),
    /// None of the channel is: it was marked read whole (`unread.md` 7.2).
    ReleaseAll(ChannelId),
}

impl Step {
    /// The visit it belongs to: it is void when that ends first.
    pub fn visit(&self) -> Option<VisitId> {
        match self {
            Self::Force(_, visit, _) | Self::Release(_, visit, _) => Some(*visit),
            Self::Enter(..) | Self::ReleaseAll(_) => None,
        }
    }
}

/// The visits that are open, and what they keep unread.
#[derive(Debug, Default)]
pub struct Visits {
    last: u64,
    open: BTreeMap<ChannelId, VisitId>,
    forced: BTreeMap<EventId, ChannelId>,
}

impl Visits {
    /// The channel's visit; begins one if there is none. True beside it when it began now.
    pub fn enter(&mut self, channel: ChannelId) -> (VisitId, bool) {
        if let Some(open) = self.open.get(&channel) {
            return (*open, false);
        }
        self.last += 1;
        let visit = VisitId(self.last);
        self.open.insert(channel, visit);
        (visit, true)
    }

    /// The channel's visit, if one is open.
    pub fn current(&self, channel: ChannelId) -> Option<VisitId> {
        self.open.get(&channel).copied()
    }

    /// Ends the channel's visit: its number, and the rows that are no longer kept unread.
    pub fn leave(&mut self, channel: ChannelId) -> Option<(VisitId, Vec<EventId>)> {
        let visit = self.open.remove(&channel)?;
        Some((visit, self.release_all(channel)))
    }

    /// Whether a message is kept unread.
    pub fn is_forced(&self, id: &EventId) -> bool {
        self.forced.contains_key(id)
    }

    /// Rows of the channel that will be kept unread once `steps`, those under way in their order, have taken effect.
    pub fn expected<'a>(&self, channel: ChannelId, steps: impl Iterator<Item = &'a Step>) -> BTreeSet<EventId> {
        let mut rows: BTreeSet<EventId> = self.rows(channel).collect();
        let open = self.open.get(&channel);
        for step in steps {
            match step {
                Step::Force(c, visit, ids) if *c == channel && open == Some(visit) => rows.extend(ids),
                Step::Release(c, visit, ids) if *c == channel && open == Some(visit) => {
                    rows.retain(|id| !ids.contains(id));
                }
                Step::ReleaseAll(c) if *c == channel => rows.clear(),
                _ => {}
            }
        }
        rows
    }

    /// Whether so many rows more may be kept unread. Fails with `capacity`.
    pub fn check_room(&self, more: usize) -> Result<(), Error> {
        if self.forced.len().saturating_add(more) > limits::EVIDENCE_EVENTS {
            return Err(Error::Capacity { what: "messages marked unread" });
        }
        Ok(())
    }

    /// A save committed. The rows whose answer changes.
    pub fn apply(&mut self, step: Step) -> Vec<EventId> {
        match step {
            Step::Force(channel, visit, rows) if self.open.get(&channel) == Some(&visit) => {
                rows.into_iter().filter(|id| self.forced.insert(*id, channel).is_none()).collect()
            }
            Step::Release(channel, visit, rows) if self.open.get(&channel) == Some(&visit) => {
                rows.into_iter().filter(|id| self.forced.remove(id).is_some()).collect()
            }
            Step::ReleaseAll(channel) => self.release_all(channel),
            Step::Enter(..) | Step::Force(..) | Step::Release(..) => Vec::new(),
        }
    }

    /// A save failed.
    pub fn abandon(&mut self, step: &Step) {
        if let Step::Enter(channel, visit) = step
            && self.open.get(channel) == Some(visit)
            && self.rows(*channel).next().is_none()
        {
            self.open.remove(channel);
        }
    }

    fn rows(&self, channel: ChannelId) -> impl Iterator<Item = EventId> {
        self.forced.iter().filter(move |(_, home)| **home == channel).map(|(id, _)| *id)
    }

    fn release_all(&mut self, channel: ChannelId) -> Vec<EventId> {
        let rows: Vec<EventId> = self.rows(channel).collect();
        self.forced.retain(|_, home| *home != channel);
        rows
    }
}
