//! What a mutation changes, row by row: what the store writes and what every holder of the record then adopts.

use std::collections::BTreeMap;
use std::fmt;

use super::follows::FollowChanges;
use super::key::{Key, LocalKey};
use super::record::{Header, Override, Pending, Row};
use crate::ids::SlotId;

/// The smallest set of rows that turns one record into the next. Empty: nothing is written.
#[derive(Clone, Default, PartialEq)]
pub struct Diff {
    /// Changed rows; an empty one is deleted.
    pub rows: BTreeMap<Key, Row>,
    /// Changed overrides. They never go away.
    pub overrides: BTreeMap<Key, Override>,
    /// Changed manual marks; none = ended.
    pub local: BTreeMap<LocalKey, Option<u64>>,
    /// Changed follow choices, those pushed out by the bound included.
    pub follows: FollowChanges,
    /// All slots, when they changed.
    pub slots: Option<Vec<SlotId>>,
    /// All pending events, when they changed.
    pub pending: Option<Vec<Pending>>,
    /// All scalars, when one changed.
    pub header: Option<Header>,
}

impl Diff {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
            && self.overrides.is_empty()
            && self.local.is_empty()
            && self.follows.is_empty()
            && self.slots.is_none()
            && self.pending.is_none()
            && self.header.is_none()
    }
}

impl fmt::Debug for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Diff({} rows, {} overrides, {} local marks, {} follows)",
            self.rows.len(),
            self.overrides.len(),
            self.local.len(),
            self.follows.len()
        )
    }
}
