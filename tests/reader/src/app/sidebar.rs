//! The list of channels: lines with headings, a cursor, a scroll position and what lies beyond its edges.

use std::sync::Arc;

use waggle::ids::{ChannelId, PublicKey};
use waggle::model::{SidebarRow, SidebarSection, SidebarState};
use waggle::sidebar::{self, Cues, Extent, Placed};

/// One line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideLine {
    /// Name of a section.
    Heading(SidebarSection),
    /// Space between sections.
    Space,
    /// A row, by its index.
    Row(usize),
}

/// The pane.
#[derive(Debug, Default)]
pub struct SidebarPane {
    /// What the core says.
    pub state: Arc<SidebarState>,
    /// The row the cursor is on.
    pub cursor: Option<ChannelId>,
    /// What lies beyond the edges.
    pub cues: Cues,
    lines: Vec<SideLine>,
    top: usize,
    height: usize,
    stale: bool,
}

impl SidebarPane {
    /// Takes in a newer state.
    pub fn set_state(&mut self, state: Arc<SidebarState>) {
        self.lines.clear();
        let mut section = None;
        for (at, row) in state.rows.iter().enumerate() {
            if section != Some(row.section) {
                if section.is_some() {
                    self.lines.push(SideLine::Space);
                }
                self.lines.push(SideLine::Heading(row.section));
                section = Some(row.section);
            }
            self.lines.push(SideLine::Row(at));
        }
        if self.cursor.is_none_or(|c| !state.rows.iter().any(|r| r.channel == c)) {
            self.cursor = state.rows.first().map(|r| r.channel);
        }
        self.state = state;
        self.stale = true;
    }

    /// A channel's row.
    pub fn row(&self, channel: ChannelId) -> Option<&Arc<SidebarRow>> {
        self.state.rows.iter().find(|r| r.channel == channel)
    }

    /// The row under the cursor.
    pub fn selected(&self) -> Option<&Arc<SidebarRow>> {
        self.row(self.cursor?)
    }

    /// Name of the person of a one-to-one DM, as its row shows it.
    pub fn person(&self, key: &PublicKey) -> Option<&str> {
        self.state.rows.iter().find(|r| r.participants.as_slice() == [*key]).map(|r| r.name.as_str())
    }

    fn line_of(&self, channel: ChannelId) -> Option<usize> {
        let rows = &self.state.rows;
        self.lines.iter().position(|l| matches!(l, SideLine::Row(at) if rows[*at].channel == channel))
    }

    /// Fits the list into so many lines, the cursor among them, and measures what lies beyond.
    pub fn arrange(&mut self, height: u16) {
        let height = usize::from(height);
        if self.height != height {
            self.height = height;
            self.keep_cursor_in_view();
            self.stale = true;
        }
        if !self.stale {
            return;
        }
        self.stale = false;
        self.top = self.top.min(self.lines.len().saturating_sub(height));
        self.measure();
    }

    fn measure(&mut self) {
        #[expect(clippy::cast_precision_loss, reason = "no sidebar has 2^52 lines")]
        let unit = |at: usize| Extent { top: at as f64, bottom: at as f64 + 1.0 };
        let rows = &self.state.rows;
        let place = |(at, line): (usize, &SideLine)| match line {
            SideLine::Row(row) => {
                Some(Placed { channel: rows[*row].channel, extent: unit(at), collapsed: false, filtered: false })
            }
            _ => None,
        };
        let placed: Vec<_> = self.lines.iter().enumerate().filter_map(place).collect();
        let viewport = Extent { top: unit(self.top).top, bottom: unit(self.top + self.height).top };
        self.cues = sidebar::cues(&self.state, &placed, viewport);
    }

    fn keep_cursor_in_view(&mut self) {
        let Some(line) = self.cursor.and_then(|c| self.line_of(c)) else { return };
        // The first row takes its heading along.
        let first = if line <= 1 { 0 } else { line };
        if first < self.top {
            self.top = first;
        } else if line >= self.top + self.height {
            self.top = line + 1 - self.height.min(line + 1);
        }
        self.stale = true;
    }

    /// Moves the cursor by rows.
    pub fn step(&mut self, by: isize) {
        let rows = &self.state.rows;
        let at = self.cursor.and_then(|c| rows.iter().position(|r| r.channel == c)).unwrap_or(0);
        let to = at.saturating_add_signed(by).min(rows.len().saturating_sub(1));
        self.cursor = rows.get(to).map(|r| r.channel);
        self.keep_cursor_in_view();
    }

    /// Moves by most of the pane.
    pub fn page(&mut self, forward: bool) {
        let by = isize::try_from(self.height.saturating_sub(2).max(1)).unwrap_or(1);
        self.step(if forward { by } else { -by });
    }

    /// Follows a cue: its nearest row to the middle, the cursor on it. Opens and reads nothing (`unread.md` 12.2).
    pub fn follow_cue(&mut self, below: bool) {
        let cue = if below { &self.cues.below } else { &self.cues.above };
        let Some(target) = cue.target else { return };
        self.cursor = Some(target.channel);
        if let Some(line) = self.line_of(target.channel) {
            self.top = line.saturating_sub(self.height / 2).min(self.lines.len().saturating_sub(self.height));
        }
        self.stale = true;
    }

    /// The lines that show.
    pub fn shown(&self) -> impl Iterator<Item = SideLine> {
        self.lines.iter().copied().skip(self.top).take(self.height)
    }
}
