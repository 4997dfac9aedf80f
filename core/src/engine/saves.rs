//! Saves on their way to the journal: in which order, for whom, and what voids them.
//!
//! The store carries saves out one at a time in the order they were asked for, so the order of calls is the order of effects, per channel
//! and altogether. Between asking and committing a save can become void: its channel's access is lost, a message it rests on is deleted,
//! its surface closes, its visit or the session ends. Each save has its own flag, which the store looks at last before it commits.

use std::collections::BTreeMap;

use super::{CallId, OpId};
use crate::error::Error;
use crate::ids::{ChannelId, EventId};
use crate::model::SyncOutlook;
use crate::read_state;
use crate::reading::{Step, SurfaceId, VisitId};
use crate::store::journal::Cancel;

/// For whom a save is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum For {
    /// A call that answers with a receipt.
    Call(CallId, SyncOutlook),
    /// A follow choice.
    Follow(CallId),
    /// One channel of a sweep.
    Sweep(CallId),
    /// A dwell of a surface: nobody waits.
    Dwell(SurfaceId),
    /// The read-state machine.
    Sync(read_state::OpId),
    /// Homes that were learned: nobody waits.
    Homes,
}

/// One save under way.
#[derive(Debug)]
pub(super) struct Save {
    pub(super) purpose: For,
    /// The channel whose access it depends on.
    pub(super) channel: Option<ChannelId>,
    /// Messages that must stay retained and undeleted.
    pub(super) witnesses: Vec<EventId>,
    pub(super) cancel: Cancel,
    /// What it changes of a visit once it has committed.
    pub(super) step: Option<Step>,
    /// It was voided because access was lost.
    pub(super) access_lost: bool,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Saves {
    under_way: BTreeMap<OpId, Save>,
}

impl Saves {
    pub(super) fn begin(&mut self, op: OpId, save: Save) {
        self.under_way.insert(op, save);
    }

    pub(super) fn end(&mut self, op: OpId) -> Option<Save> {
        self.under_way.remove(&op)
    }

    /// How many are under way.
    pub(super) fn len(&self) -> usize {
        self.under_way.len()
    }

    /// Access to the channel was lost, if only for a moment: a regrant does not revive what waited (`unread.md` 3.7).
    pub(super) fn access_lost(&mut self, channel: ChannelId) {
        for save in self.under_way.values_mut().filter(|s| s.channel == Some(channel)) {
            save.access_lost = true;
            save.cancel.set();
        }
    }

    /// Messages were deleted, or evidence of them was lost.
    pub(super) fn witnesses_lost(&mut self, lost: impl Fn(&EventId) -> bool) {
        for save in self.under_way.values().filter(|s| s.witnesses.iter().any(&lost)) {
            save.cancel.set();
        }
    }

    /// What those under way change of visits, in their order.
    pub(super) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.under_way.values().filter_map(|s| s.step.as_ref())
    }

    /// A visit ended: what was asked for during it and is not saved yet is void (`unread.md` 7.5).
    pub(super) fn visit_ended(&mut self, visit: VisitId) {
        for save in self.under_way.values().filter(|s| s.step.as_ref().and_then(Step::visit) == Some(visit)) {
            save.cancel.set();
        }
    }

    /// The surface closed, or is not active any more.
    pub(super) fn surface_stopped(&mut self, surface: SurfaceId) {
        for save in self.under_way.values().filter(|s| s.purpose == For::Dwell(surface)) {
            save.cancel.set();
        }
    }

    /// The session ends: what a person asked for by name is still saved, what rests on looking is not.
    pub(super) fn stop_dwells(&mut self) {
        for save in self.under_way.values().filter(|s| matches!(s.purpose, For::Dwell(_))) {
            save.cancel.set();
        }
    }
}

/// A call that marks many channels.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    pub(super) left: u32,
    pub(super) saved: u32,
    pub(super) first_error: Option<Error>,
}
