//! Drawing: pure functions from the app's state into a buffer. Where things stand was decided before ([`App::arrange`]).

pub mod arrangement;
mod popups;
mod sidebar;
mod timeline;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget as _;

use crate::app::{App, Focus, Pane, text, theme};

/// Draws the whole screen.
pub fn draw(app: &App, buffer: &mut Buffer) {
    let places = &app.arrangement;
    title(app, places.title, buffer);
    if let Some(area) = places.sidebar {
        sidebar::draw(app, area, buffer);
    }
    if let Some(area) = places.main {
        timeline::draw(app, Pane::Main, area, buffer);
    }
    if let Some(area) = places.thread {
        timeline::draw(app, Pane::Thread, area, buffer);
    }
    status(app, places.status, buffer);
    keys(app, places.keys, buffer);
    popups::draw(app, *buffer.area(), buffer);
}

/// Puts a line at a row of an area.
fn put(line: Line<'_>, area: Rect, row: u16, buffer: &mut Buffer) {
    if row < area.height {
        line.render(Rect { y: area.y + row, height: 1, ..area }, buffer);
    }
}

/// Words on the left, words on the right, as much as fits; the left gives way.
fn put_ends(left: (String, Style), right: (String, Style), area: Rect, buffer: &mut Buffer) {
    let columns = usize::from(area.width);
    let said_right = text::fit(&right.0, columns);
    let room = columns.saturating_sub(text::width(&said_right) + 1);
    let said_left = text::fit(&left.0, room);
    let space = columns.saturating_sub(text::width(&said_left) + text::width(&said_right));
    let spans = vec![Span::styled(said_left, left.1), Span::raw(" ".repeat(space)), Span::styled(said_right, right.1)];
    put(Line::from(spans), area, 0, buffer);
}

fn title(app: &App, area: Rect, buffer: &mut Buffer) {
    let cached = if app.sidebar.state.cached { "list from this device" } else { "" };
    put_ends((app.settings.title.clone(), theme::NAME), (cached.to_owned(), theme::QUIET), area, buffer);
}

/// What is happening, in the core's words; for a moment, what became of the last key.
fn status(app: &App, area: Rect, buffer: &mut Buffer) {
    let mut said = app.connectivity.as_ref().map_or_else(|| "Opening…".to_owned(), |c| c.sentence.clone());
    if let Some(seconds) = app.connectivity.as_ref().and_then(|c| c.retry_in) {
        said.push_str(&format!(" Next attempt in {seconds} s."));
    }
    let failed = app.connectivity.as_ref().is_some_and(|c| c.error.is_some());
    let style = if failed { theme::ERROR } else { theme::PLAIN };
    let note = app.note.as_ref().map_or((String::new(), theme::PLAIN), |n| {
        (n.text.clone(), if n.failed { theme::ERROR } else { theme::ACCENT })
    });
    put_ends((said, style), note, area, buffer);
}

fn keys(app: &App, area: Rect, buffer: &mut Buffer) {
    let said = match app.focus {
        _ if app.popup.is_some() => "Esc close  j/k move  Enter choose",
        Focus::Sidebar => {
            "Enter open  j/k move  [ ] unread beyond  m unread  Esc read  M mute  X all read  ? help  q quit"
        }
        Focus::Main => {
            "Enter thread  j/k move  u first unread  G newest  m unread  r read to here  Esc read all  a activity  ? help"
        }
        Focus::Thread => "h close  j/k move  m unread  r read to here  f follow  Tab pane  ? help  q quit",
    };
    put(Line::styled(text::fit(said, usize::from(area.width)), theme::QUIET), area, 0, buffer);
}
