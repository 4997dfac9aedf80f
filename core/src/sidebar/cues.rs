//! What lies above and below the visible part of the sidebar (`unread.md` 12.2).
//!
//! The app measures its rows and this module counts *conversations*: a conversation is beyond an edge when all its copies lie
//! entirely beyond an edge, equality included; one copy that shows even partly excludes it from both. Activating a cue is the
//! app's: measure again, expand a collapsed section, scroll the target to the middle, focus it; select and read nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::names;
use crate::ids::{ChannelId, PublicKey};
use crate::limits;
use crate::model::{ChannelType, SidebarRow, SidebarState};

/// Vertical extent, top to bottom, in any unit; the same one for rows and viewport.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extent {
    /// Upper edge.
    pub top: f64,
    /// Lower edge; larger than `top` for anything that has a size.
    pub bottom: f64,
}

/// One row as the app placed it. The same conversation may be placed several times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Placed {
    /// The conversation.
    pub channel: ChannelId,
    /// Where it is; for a row of a collapsed section, where the section's summary is.
    pub extent: Extent,
    /// It stands in a collapsed section, which has to be expanded to show it.
    pub collapsed: bool,
    /// A search hides it.
    pub filtered: bool,
}

/// The row to scroll to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CueTarget {
    /// The conversation.
    pub channel: ChannelId,
    /// Which of the placed rows: index into what was given.
    pub index: usize,
    /// Its section has to be expanded first.
    pub collapsed: bool,
}

/// One edge. With a count of zero there is nothing to draw.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Cue {
    /// Distinct conversations.
    pub count: u32,
    /// The nearest row.
    pub target: Option<CueTarget>,
    /// The other person of up to three one-to-one DMs, nearest first.
    pub previews: Vec<PublicKey>,
    /// Some conversation wants attention: a DM, a priority message or thread activity.
    pub attention: bool,
    /// What assistive technology reads; empty when there is nothing.
    pub accessible_name: String,
}

crate::ids::hidden_debug!(Cue);

/// Both edges.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cues {
    /// Upper edge.
    pub above: Cue,
    /// Lower edge.
    pub below: Cue,
}

/// The cues for rows at measured places. Rows without size, rows with impossible numbers and rows hidden by a search are out.
pub fn cues(state: &SidebarState, placed: &[Placed], viewport: Extent) -> Cues {
    let rows: BTreeMap<ChannelId, &SidebarRow> =
        state.rows.iter().filter(|r| r.counted).map(|r| (r.channel, &**r)).collect();
    let shown = |p: &Placed| !p.filtered && p.extent.bottom > p.extent.top;
    let candidates: Vec<_> =
        placed.iter().enumerate().filter(|(_, p)| shown(p) && rows.contains_key(&p.channel)).collect();
    let is_above = |p: &Placed| p.extent.bottom <= viewport.top;
    let is_below = |p: &Placed| p.extent.top >= viewport.bottom;
    let visible: BTreeSet<_> =
        candidates.iter().filter(|(_, p)| !is_above(p) && !is_below(p)).map(|(_, p)| p.channel).collect();
    let beyond = |edge: &dyn Fn(&Placed) -> bool| -> Vec<(usize, &Placed)> {
        candidates.iter().filter(|(_, p)| edge(p) && !visible.contains(&p.channel)).copied().collect()
    };
    let mut above = beyond(&is_above);
    above.sort_by(|(i, a), (j, b)| b.extent.bottom.total_cmp(&a.extent.bottom).then(j.cmp(i)));
    let mut below = beyond(&is_below);
    below.sort_by(|(i, a), (j, b)| a.extent.top.total_cmp(&b.extent.top).then(i.cmp(j)));
    Cues { above: cue(&above, &rows, true), below: cue(&below, &rows, false) }
}

/// The cues for a list whose rows `first..=last` of `state` show, if only partly. An empty list (`first > last`) shows nothing.
pub fn cues_of_range(state: &SidebarState, first: usize, last: usize) -> Cues {
    #[expect(clippy::cast_precision_loss, reason = "no sidebar has 2^52 rows")]
    let line = |i: usize| i as f64;
    let unit = |i: usize| Extent { top: line(i), bottom: line(i) + 1.0 };
    let place = |(i, row): (usize, &std::sync::Arc<SidebarRow>)| Placed {
        channel: row.channel,
        extent: unit(i),
        collapsed: false,
        filtered: false,
    };
    let placed: Vec<_> = state.rows.iter().enumerate().map(place).collect();
    let bottom = if last >= first { line(last) + 1.0 } else { line(first) };
    cues(state, &placed, Extent { top: line(first), bottom })
}

/// One edge from its rows, nearest first.
fn cue(rows: &[(usize, &Placed)], facts: &BTreeMap<ChannelId, &SidebarRow>, above: bool) -> Cue {
    let mut cue = Cue::default();
    let mut seen = BTreeSet::new();
    for (index, placed) in rows {
        let Some(row) = facts.get(&placed.channel).filter(|_| seen.insert(placed.channel)) else { continue };
        cue.count = cue.count.saturating_add(1);
        cue.target.get_or_insert(CueTarget { channel: row.channel, index: *index, collapsed: placed.collapsed });
        let dm = row.channel_type == ChannelType::Dm;
        cue.attention |= dm || row.dot || row.threads > 0 || row.attention.is_some_and(|a| a > 0);
        if let ([other], true) = (row.participants.as_slice(), dm)
            && cue.previews.len() < limits::CUE_PREVIEWS
        {
            cue.previews.push(*other);
        }
    }
    if cue.count > 0 {
        cue.accessible_name = names::cue(cue.count, above);
    }
    cue
}
