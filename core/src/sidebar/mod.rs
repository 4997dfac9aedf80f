//! What the sidebar shows: one shared projection of counts, manual marks, thread activity and mutes (R27).
//!
//! # Algorithm
//! [`row()`] is the decision table of `unread.md` 12.1 for one conversation, a pure function. [`Sidebar`] keeps the projected rows
//! in drawing order, so that one changed conversation costs one row. [`cues()`] tells what lies beyond the visible part (12.2),
//! [`thread_button`] how the button under a message looks (12.3). The apps draw all of it and decide nothing.
//!
//! # Invariants
//! * A row never shows more than the facts: unknown and observed zero look alike, and only the row's counts tell them apart.
//! * A muted conversation keeps its facts; only styling and cues are withheld, so unmuting needs no read.
//! * Rows that are not joined are plain: no count is ever made for them (R8b).

mod cues;
mod names;
mod row;

#[cfg(test)]
mod cue_tests;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ids::ChannelId;
use crate::model::{SidebarRow, SidebarSection, SidebarState};

pub use cues::{Cue, CueTarget, Cues, Extent, Placed, cues, cues_of_range};
pub use names::{ThreadButton, conversation_name, thread_button};
pub use row::{Conversation, row};

/// Position of a row in the sidebar: section, then the section's own order, then the channel id.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    section: SidebarSection,
    /// Seconds before the end of time of the newest message, in sections that have the newest first; else 0.
    age: u64,
    /// The name without regard to case.
    folded: String,
    channel: ChannelId,
}

/// Without the name.
impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Place({:?})", self.section)
    }
}

impl Place {
    fn of(row: &SidebarRow) -> Self {
        let newest_first = matches!(row.section, SidebarSection::DirectMessages | SidebarSection::Solo);
        let age = if newest_first { u64::MAX - row.latest_at.unwrap_or(0) } else { 0 };
        Self { section: row.section, age, folded: row.name.to_lowercase(), channel: row.channel }
    }
}

/// The rows of one community in drawing order.
#[derive(Debug, Default)]
pub struct Sidebar {
    rows: BTreeMap<Place, Arc<SidebarRow>>,
    places: BTreeMap<ChannelId, Place>,
}

impl Sidebar {
    /// Puts in a projected row, in place of the channel's former one. Whether anything changed.
    pub fn set(&mut self, row: SidebarRow) -> bool {
        let place = Place::of(&row);
        let former = self.places.get(&row.channel).and_then(|p| self.rows.get(p));
        if former.is_some_and(|held| **held == row) {
            return false;
        }
        if let Some(old) = self.places.insert(row.channel, place.clone()) {
            self.rows.remove(&old);
        }
        self.rows.insert(place, Arc::new(row));
        true
    }

    /// Takes out a channel that can no longer be read. Whether it was there.
    pub fn remove(&mut self, channel: ChannelId) -> bool {
        self.places.remove(&channel).is_some_and(|place| self.rows.remove(&place).is_some())
    }

    /// The row of a channel.
    pub fn get(&self, channel: ChannelId) -> Option<&Arc<SidebarRow>> {
        self.rows.get(self.places.get(&channel)?)
    }

    /// All rows in drawing order. `cached` as `Directory::is_cached` says.
    pub fn state(&self, cached: bool) -> SidebarState {
        SidebarState { rows: self.rows.values().cloned().collect(), cached }
    }
}
