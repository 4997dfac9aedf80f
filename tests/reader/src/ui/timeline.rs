//! A timeline's pane: title, rows, cursor, and what is said when there are none.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use waggle::model::Manual;

use super::arrangement::inside;
use super::{put, put_ends};
use crate::app::{App, Feed, Focus, Pane, text, theme, words};

pub(super) fn draw(app: &App, pane: Pane, area: Rect, buffer: &mut Buffer) {
    let focused = app.focus == if pane == Pane::Main { Focus::Main } else { Focus::Thread };
    let bar = if focused { "┃" } else { "│" };
    for row in 0..area.height {
        put(Line::styled(bar, if focused { theme::PLAIN } else { theme::QUIET }), area, row, buffer);
    }
    let rows = inside(area);
    let head = Rect { y: area.y, height: 1.min(area.height), ..rows };
    let Some(feed) = app.feed(pane) else {
        put(Line::styled(" choose a channel and press Enter", theme::QUIET), rows, 1, buffer);
        return;
    };
    title(app, pane, feed, head, buffer);
    if let Some(said) = instead_of_rows(feed) {
        put(Line::styled(text::fit(&format!(" {said}"), usize::from(rows.width)), theme::QUIET), rows, 0, buffer);
        return;
    }
    for (at, (block, line)) in feed.shown().enumerate() {
        let gutter = if focused && feed.is_selected(block) { "▌ " } else { "  " };
        let mut drawn = Line::from(Span::styled(gutter, theme::ACCENT));
        let style = line.style;
        drawn.extend(line.spans.iter().map(|s| Span::styled(s.content.as_ref(), style.patch(s.style))));
        put(drawn, rows, u16::try_from(at).unwrap_or(u16::MAX), buffer);
    }
}

/// What is said while there are no rows.
fn instead_of_rows(feed: &Feed) -> Option<&'static str> {
    if let Some(error) = &feed.failed {
        return Some(error.sentence());
    }
    match &feed.state {
        None => Some("opening…"),
        Some(state) if state.rows.is_empty() => Some(match (&state.error, state.loading) {
            (_, true) => "reading…",
            (Some(error), false) => error.sentence(),
            (None, false) => "nothing here yet",
        }),
        Some(_) => None,
    }
}

fn title(app: &App, pane: Pane, feed: &Feed, area: Rect, buffer: &mut Buffer) {
    let name = app.channel_name(feed.channel);
    let left = match pane {
        Pane::Main => format!(" {name}{}", counts(app)),
        Pane::Thread => format!(" Thread in {name}"),
    };
    let restored = feed.state.as_ref().is_some_and(|s| s.restored);
    let mut right = Vec::new();
    if restored {
        right.push("offline copy".to_owned());
    }
    if !feed.at_end() {
        right.push("▼ more below (G)".to_owned());
    }
    let failed = feed.state.as_ref().and_then(|s| s.error.as_ref()).filter(|_| !feed.rows().is_empty());
    right.extend(failed.map(|e| e.sentence().to_owned()));
    put_ends((left, theme::STRONG), (right.join(" · "), theme::QUIET), area, buffer);
}

/// What is unread here, as far as it is known.
fn counts(app: &App) -> String {
    let Some(unread) = &app.unread else { return String::new() };
    let mut said = match (unread.observed, unread.attention) {
        (Some(0) | None, _) => String::new(),
        (Some(n), Some(a)) if a > 0 => format!(" · {n} unread, {a} for you"),
        (Some(n), _) => format!(" · {n} unread"),
    };
    if unread.manual != Manual::None {
        said.push_str(" · marked unread");
    }
    let threads = app.activity.items.as_ref().map_or(0, Vec::len);
    if threads > 0 {
        said.push_str(&format!(" · {} in threads (a)", words::count(u32::try_from(threads).ok())));
    }
    said
}
