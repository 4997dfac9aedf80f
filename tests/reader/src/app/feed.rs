//! One timeline on the screen: what it shows, where it is scrolled to, which row the cursor is on.
//!
//! Invariants: rows that stay keep their place on the screen whatever arrives above or below them, unless the end was showing and is followed.
//! A report names what is drawn, never what is merely laid out.

use std::sync::Arc;

use waggle::error::Error;
use waggle::ids::{ChannelId, EventId};
use waggle::model::{More, TimelineRow, TimelineState, Viewport};

use super::blocks::{Content, Look};
use super::layout::Layout;

/// A channel's timeline or a thread's.
#[derive(Debug)]
pub struct Feed {
    /// Which opening this is; answers for another are dropped.
    pub ticket: u64,
    /// The channel.
    pub channel: ChannelId,
    /// The root, for a thread.
    pub root: Option<EventId>,
    /// The rows, once they came.
    pub state: Option<Arc<TimelineState>>,
    /// Why it could not be opened.
    pub failed: Option<Error>,
    /// The row the cursor is on.
    pub selected: Option<EventId>,
    layout: Layout,
    stale: bool,
    top: usize,
    size: (u16, u16),
    /// Rows were drawn at least once: positioning has finished.
    drawn: bool,
    /// What a page was asked for last, so that the same edge does not ask twice by itself.
    asked: Option<(usize, More)>,
    /// A row to show as soon as it is there.
    jump: Option<EventId>,
}

impl Feed {
    /// A timeline that is being opened.
    pub fn new(ticket: u64, channel: ChannelId, root: Option<EventId>) -> Self {
        Self {
            ticket,
            channel,
            root,
            state: None,
            failed: None,
            selected: None,
            layout: Layout::default(),
            stale: false,
            top: 0,
            size: (0, 0),
            drawn: false,
            asked: None,
            jump: None,
        }
    }

    /// Takes in a newer state.
    pub fn set_state(&mut self, state: Arc<TimelineState>) {
        self.state = Some(state);
        self.stale = true;
    }

    /// The rows held.
    pub fn rows(&self) -> &[Arc<TimelineRow>] {
        self.state.as_ref().map_or(&[], |s| &s.rows)
    }

    /// The row the cursor is on.
    pub fn selected_row(&self) -> Option<&Arc<TimelineRow>> {
        self.rows().iter().find(|r| Some(r.id) == self.selected)
    }

    /// The layout, to draw.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// First line shown.
    pub fn top(&self) -> usize {
        self.top
    }

    fn height(&self) -> usize {
        usize::from(self.size.1)
    }

    fn max_top(&self) -> usize {
        self.layout.total().saturating_sub(self.height())
    }

    /// Whether the end shows.
    pub fn at_end(&self) -> bool {
        self.top >= self.max_top()
    }

    /// Lays out for a pane of this size.
    pub fn arrange(&mut self, width: u16, height: u16, utc_offset: i32, now: u64) {
        let resized = self.size != (width, height);
        if !self.stale && !resized {
            return;
        }
        let Some(state) = self.state.clone() else {
            self.size = (width, height);
            return;
        };
        let first = self.layout.total() == 0;
        let follows = if first { self.root.is_none() } else { self.at_end() && self.follows_end() };
        let on_last = self.selected.is_some() && self.selected == self.last_laid_out();
        let anchor = self.layout.row_from(self.top).map(|(id, start)| (id, start as isize - self.top as isize));
        self.size = (width, height);
        self.layout.rebuild(&state, Look { width, utc_offset, now, thread: self.root.is_some() });
        self.stale = false;
        if follows {
            self.top = self.max_top();
        } else if let Some((index, offset)) = anchor.and_then(|(id, offset)| Some((self.layout.index_of(id)?, offset)))
        {
            self.top = self.layout.extent(index).start.saturating_add_signed(-offset);
        }
        self.top = self.top.min(self.max_top());
        self.keep_cursor(follows && on_last);
        self.carry_out_jump(first);
    }

    /// Whether new rows at the end are to be followed: not into pages that were merely loaded.
    fn follows_end(&self) -> bool {
        self.root.is_none() || self.state.as_ref().is_none_or(|s| s.more != More::Yes)
    }

    fn last_laid_out(&self) -> Option<EventId> {
        self.layout.blocks().iter().rev().find_map(super::blocks::Block::id)
    }

    fn keep_cursor(&mut self, on_last: bool) {
        let lost = self.selected.is_none_or(|id| self.layout.index_of(id).is_none());
        if on_last {
            self.selected = self.last_laid_out();
        } else if lost {
            self.selected = if self.at_end() && self.root.is_none() {
                self.last_laid_out()
            } else {
                self.layout.row_from(self.top).map(|(id, _)| id)
            };
        }
    }

    fn carry_out_jump(&mut self, first: bool) {
        if first && self.root.is_some() {
            // A thread opens where reading goes on.
            self.jump = self.state.as_ref().and_then(|s| s.first_unread);
        }
        if let Some(id) = self.jump
            && self.layout.index_of(id).is_some()
        {
            self.jump = None;
            self.show(id);
        }
    }

    /// Puts a row a third down the pane and the cursor on it; a row that is not there yet is shown when it comes.
    pub fn show(&mut self, id: EventId) {
        match self.layout.index_of(id) {
            Some(index) => {
                let start = self.layout.extent(index).start;
                self.top = start.saturating_sub(self.height() / 3).min(self.max_top());
                self.selected = Some(id);
            }
            None => self.jump = Some(id),
        }
    }

    /// Forgets a row that was waited for.
    pub fn give_up_jump(&mut self) {
        self.jump = None;
    }

    /// Moves the cursor by rows, through long rows by lines. Answers false at an edge.
    pub fn step(&mut self, forward: bool) -> bool {
        let Some(index) = self.selected.and_then(|id| self.layout.index_of(id)) else { return false };
        let extent = self.layout.extent(index);
        let shown = self.top..self.top + self.height();
        // A row that goes on beyond the edge is scrolled through first.
        if forward && extent.end > shown.end && extent.start <= shown.start {
            return self.scroll(1);
        }
        if !forward && extent.start < shown.start && extent.end >= shown.end {
            return self.scroll(-1);
        }
        let blocks = self.layout.blocks();
        let next = if forward {
            (index + 1..blocks.len()).find_map(|i| Some((i, blocks[i].id()?)))
        } else {
            (0..index).rev().find_map(|i| Some((i, blocks[i].id()?)))
        };
        let Some((at, id)) = next else { return self.scroll(if forward { 1 } else { -1 }) };
        self.selected = Some(id);
        self.reveal(at, forward);
        true
    }

    /// Scrolls just so far that a block shows; of a block taller than the pane, the end that comes first.
    fn reveal(&mut self, index: usize, forward: bool) {
        let extent = self.layout.extent(index);
        let height = self.height();
        let tall = extent.len() > height;
        if extent.start < self.top || (tall && forward) {
            self.top = if tall && !forward { extent.end.saturating_sub(height) } else { extent.start };
        } else if extent.end > self.top + height {
            self.top = extent.end.saturating_sub(height);
        }
        self.top = self.top.min(self.max_top());
    }

    /// Scrolls by lines. Answers false when nothing moved.
    pub fn scroll(&mut self, lines: isize) -> bool {
        let before = self.top;
        self.top = self.top.saturating_add_signed(lines).min(self.max_top());
        before != self.top
    }

    /// Scrolls by most of a pane and takes the cursor along.
    pub fn page(&mut self, forward: bool) -> bool {
        let lines = isize::try_from(self.height().saturating_sub(2).max(1)).unwrap_or(1);
        let moved = self.scroll(if forward { lines } else { -lines });
        let shown = self.top..self.top + self.height();
        let inside = |id| self.layout.index_of(id).is_some_and(|i| shown.contains(&self.layout.extent(i).start));
        if !self.selected.is_some_and(inside) {
            self.selected = self.layout.row_from(self.top).map(|(id, _)| id).or(self.selected);
        }
        if !moved {
            self.selected = if forward { self.last_laid_out() } else { self.layout.row_from(0).map(|(id, _)| id) };
        }
        moved
    }

    /// To the newest row.
    pub fn go_to_end(&mut self) {
        self.top = self.max_top();
        self.selected = self.last_laid_out();
    }

    /// To the oldest row held.
    pub fn go_to_start(&mut self) {
        self.top = 0;
        self.selected = self.layout.row_from(0).map(|(id, _)| id);
    }

    /// Whether the shown edge asks for a page by itself: once for what is held.
    pub fn wants_page(&mut self) -> bool {
        let Some(state) = self.state.clone().filter(|s| self.drawn && !s.loading) else { return false };
        let at_edge = if self.root.is_some() { self.at_end() } else { self.top == 0 };
        // A gap is filled on request only, and an end that is not known is looked for by itself in a thread only, where it is one page off.
        let due = match state.more {
            More::Yes => state.gap.is_none(),
            More::Unknown => self.root.is_some() && !state.restored,
            More::No => false,
        };
        at_edge && due && self.ask(state.rows.len(), state.more)
    }

    fn ask(&mut self, rows: usize, more: More) -> bool {
        let ask = Some((rows, more));
        let again = self.asked == ask;
        self.asked = ask;
        !again
    }

    /// Whether a page can be asked for by hand.
    pub fn may_page(&mut self) -> bool {
        let Some(state) = self.state.clone() else { return false };
        self.asked = Some((state.rows.len(), state.more));
        !state.loading && (state.more != More::No || state.gap.is_some())
    }

    /// Notes that it was drawn.
    pub fn drawn(&mut self) {
        self.drawn |= !self.rows().is_empty() && self.height() > 0;
    }

    /// What it shows: fully visible rows in order, and the newest row when its last line shows at the physical end (`unread.md` 11.3).
    pub fn viewport(&self, active: bool) -> Viewport {
        let (top, end) = (self.top, self.top + self.height());
        let mut visible = Vec::new();
        let first = self.layout.block_at(top);
        for index in first..self.layout.blocks().len() {
            let extent = self.layout.extent(index);
            if extent.start >= end {
                break;
            }
            if extent.start >= top && extent.end <= end {
                visible.extend(self.layout.blocks()[index].id());
            }
        }
        let settled = self.drawn && self.jump.is_none() && !self.stale;
        Viewport { active, settled, visible, bottom: self.bottom(top, end) }
    }

    fn bottom(&self, top: usize, end: usize) -> Option<EventId> {
        let state = self.state.as_ref()?;
        let newest = state.rows.last()?;
        // Further pages of a thread hold newer replies than its last row, unless a live one stands behind a gap.
        let known = self.root.is_none() || state.more != More::Yes || state.gap.is_some();
        if !known || Some(newest.id) == self.root || end < self.layout.total() {
            return None;
        }
        let edge = self.layout.extent(self.layout.index_of(newest.id)?).end;
        (edge > top && edge <= end).then_some(newest.id)
    }

    /// The lines to draw, each with the block it belongs to.
    pub fn shown(&self) -> impl Iterator<Item = (&super::blocks::Block, &ratatui::text::Line<'static>)> {
        let first = self.layout.block_at(self.top);
        let skip = self.top - self.layout.extent(first).start.min(self.top);
        let lines = self.layout.blocks().iter().skip(first).flat_map(|b| b.lines.iter().map(move |l| (b, l)));
        lines.skip(skip).take(self.height())
    }

    /// Whether a block's row is under the cursor.
    pub fn is_selected(&self, block: &super::blocks::Block) -> bool {
        matches!(&block.content, Content::Row(row) if Some(row.id) == self.selected)
    }
}
