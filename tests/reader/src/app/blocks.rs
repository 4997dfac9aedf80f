//! How rows of a timeline look: each row a block of lines as wide as its pane, with marks between them.
//!
//! A block depends on its row, the width and a few facts about the pane, so blocks of unchanged rows are kept from one layout to the next.

use std::sync::Arc;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use waggle::ids::EventId;
use waggle::model::{More, RowKind, TimelineRow, TimelineState};

use super::{date, text, theme, words};

/// Columns left of a row's text, where the cursor stands.
pub const GUTTER: u16 = 2;

/// What stands in a timeline.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// A row.
    Row(Arc<TimelineRow>),
    /// A mark between rows.
    Mark(Mark),
}

/// Marks between rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Rows are missing here.
    Gap,
    /// There is nothing older.
    Beginning,
    /// A page is being read.
    Loading,
    /// There may be more, on request.
    MaybeMore,
    /// A new day, of this moment.
    Day(u64),
    /// Rows from here on were unread when the channel was opened.
    FirstUnread,
}

/// Lines that belong together.
#[derive(Debug, Clone)]
pub struct Block {
    /// What it is of.
    pub content: Content,
    /// The lines to draw, without the gutter.
    pub lines: Vec<Line<'static>>,
}

impl Block {
    /// The row's id, where it is one.
    pub fn id(&self) -> Option<EventId> {
        match &self.content {
            Content::Row(row) => Some(row.id),
            Content::Mark(_) => None,
        }
    }
}

/// What looks depend on beside the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Columns of the pane.
    pub width: u16,
    /// Seconds east of UTC.
    pub utc_offset: i32,
    /// Unix seconds, for dates.
    pub now: u64,
    /// Whether it is a thread.
    pub thread: bool,
}

/// What stands in the pane, top to bottom.
pub fn contents(state: &TimelineState) -> Vec<Content> {
    let mut out = Vec::with_capacity(state.rows.len() + 16);
    let thread = state.root.is_some();
    if !thread {
        out.extend(edge_mark(state).map(Content::Mark));
    }
    for (at, row) in state.rows.iter().enumerate() {
        if state.gap == Some(at) {
            out.push(Content::Mark(Mark::Gap));
        }
        if row.starts_day {
            out.push(Content::Mark(Mark::Day(row.created_at)));
        }
        if state.first_unread == Some(row.id) {
            out.push(Content::Mark(Mark::FirstUnread));
        }
        out.push(Content::Row(row.clone()));
    }
    if thread && !state.rows.is_empty() && state.more != More::No {
        out.extend(edge_mark(state).map(Content::Mark));
    }
    out
}

/// The mark where further rows would come from.
fn edge_mark(state: &TimelineState) -> Option<Mark> {
    if state.loading {
        return Some(Mark::Loading);
    }
    match state.more {
        More::No => Some(Mark::Beginning),
        More::Unknown if !state.rows.is_empty() => Some(Mark::MaybeMore),
        More::Unknown | More::Yes => None,
    }
}

/// Draws what stands in the pane.
pub fn draw(content: Content, look: &Look) -> Block {
    let lines = match &content {
        Content::Row(row) => row_lines(row, look),
        Content::Mark(mark) => vec![mark_line(*mark, look)],
    };
    Block { content, lines }
}

fn mark_line(mark: Mark, look: &Look) -> Line<'static> {
    let (said, style) = match mark {
        Mark::Gap => ("missing messages, press o to load".to_owned(), theme::ACCENT),
        Mark::Beginning => ("beginning of channel".to_owned(), theme::QUIET),
        Mark::Loading if look.thread => ("loading more replies…".to_owned(), theme::QUIET),
        Mark::Loading => ("loading older messages…".to_owned(), theme::QUIET),
        Mark::MaybeMore if look.thread => ("press o to look for more replies".to_owned(), theme::QUIET),
        Mark::MaybeMore => ("press o to look for older messages".to_owned(), theme::QUIET),
        Mark::Day(at) => (date::day(at, look.utc_offset, look.now), theme::QUIET),
        Mark::FirstUnread => ("new since your last visit".to_owned(), theme::ACCENT),
    };
    rule(&said, look.width, style)
}

/// A rule across the pane with words in its middle.
fn rule(said: &str, width: u16, style: Style) -> Line<'static> {
    let room = usize::from(width.saturating_sub(GUTTER));
    let said = text::fit(said, room.saturating_sub(4));
    let dashes = room.saturating_sub(text::width(&said) + 2);
    let left = dashes / 2;
    Line::styled(format!("{} {said} {}", "─".repeat(left), "─".repeat(dashes - left)), style)
}

fn row_lines(row: &TimelineRow, look: &Look) -> Vec<Line<'static>> {
    let columns = usize::from(look.width.saturating_sub(GUTTER));
    let mut lines = Vec::new();
    if row.kind == RowKind::Notice {
        let said = format!("· {} {}", row.text, date::time(row.created_at, look.utc_offset));
        lines.extend(text::wrap(&said, columns).into_iter().map(|l| Line::styled(l, theme::QUIET)));
        return lines;
    }
    // A row that speaks to the viewer says so, also inside a group.
    if !row.grouped || row.mentioned {
        lines.push(head(row, look, columns));
    }
    if row.thread_root.is_some() && !look.thread {
        lines.push(Line::styled("↳ reply in a thread", theme::QUIET));
    }
    body(row, columns, &mut lines);
    foot(row, look, columns, &mut lines);
    lines
}

/// Author, sort and time.
fn head(row: &TimelineRow, look: &Look, columns: usize) -> Line<'static> {
    let time = date::time(row.created_at, look.utc_offset);
    let sort = match row.kind {
        RowKind::Diff => " · diff",
        RowKind::Job => " · job",
        RowKind::Huddle => " · huddle",
        RowKind::Message | RowKind::Notice => "",
    };
    let quiet = if row.quiet { " · for agents" } else { "" };
    let mention = if row.mentioned { " @you" } else { "" };
    let rest = text::width(&time) + text::width(sort) + text::width(quiet) + text::width(mention) + 2;
    let author = text::fit(&text::one_line(&row.author_name), columns.saturating_sub(rest));
    let mut spans = vec![
        Span::styled(author, if row.own { theme::OWN } else { theme::NAME }),
        Span::styled(format!("  {time}{sort}{quiet}"), theme::QUIET),
    ];
    if row.mentioned {
        spans.push(Span::styled(mention, theme::ACCENT));
    }
    Line::from(spans)
}

/// The text, and `(edited)` behind it where that fits.
fn body(row: &TimelineRow, columns: usize, lines: &mut Vec<Line<'static>>) {
    let style = if row.quiet { theme::QUIET } else { theme::PLAIN };
    let mut texts = text::wrap(&row.text, columns);
    let edited = if row.edited { " (edited)" } else { "" };
    let behind = texts.last().is_some_and(|last| text::width(last) + edited.len() <= columns);
    if row.edited && !behind {
        texts.push(String::new());
    }
    let last = texts.len().saturating_sub(1);
    for (at, said) in texts.into_iter().enumerate() {
        let style = match (row.kind, said.chars().next()) {
            (RowKind::Diff, Some('+')) => theme::ADDED,
            (RowKind::Diff, Some('-')) => theme::REMOVED,
            _ => style,
        };
        let mut line = Line::from(Span::styled(said, style));
        if at == last && row.edited {
            line.push_span(Span::styled(if behind { edited } else { edited.trim_start() }, theme::QUIET));
        }
        lines.push(line);
    }
}

/// Reactions, then the thread's button.
fn foot(row: &TimelineRow, look: &Look, columns: usize, lines: &mut Vec<Line<'static>>) {
    if !row.reactions.is_empty() {
        let each = row.reactions.iter().map(|r| {
            let emoji = if r.emoji == "+" { "👍".to_owned() } else { text::one_line(&r.emoji) };
            let (open, close) = if r.mine { ("[", "]") } else { ("", "") };
            format!("{open}{emoji} {}{close}", r.count)
        });
        let said = each.collect::<Vec<_>>().join("  ");
        lines.extend(text::wrap(&said, columns).into_iter().map(|l| Line::styled(l, theme::QUIET)));
    }
    if look.thread || (row.replies == 0 && !row.thread_dot) {
        return;
    }
    let mut spans = vec![Span::styled(format!("⤷ {}", words::replies(row.replies)), theme::QUIET)];
    if row.thread_dot {
        spans.push(Span::styled(" ●", theme::ACCENT));
    }
    lines.push(Line::from(spans));
}
