//! What covers the screen: help, activity, a question, diagnostics.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Widget as _};

use super::put;
use crate::app::{App, HELP, Pane, Popup, date, text, theme, words};

pub(super) fn draw(app: &App, screen: Rect, buffer: &mut Buffer) {
    let (title, lines, width) = match app.popup {
        None => return,
        Some(Popup::Help) => ("Keys", help(), 60),
        Some(Popup::Activity(at)) => ("Threads with unread replies", activity(app, at), 70),
        Some(Popup::ConfirmReadAll) => ("Mark everything read?", question(), 56),
        Some(Popup::Diagnostics) => ("Diagnostics", diagnostics(app), 64),
    };
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2).min(screen.height);
    let width = width.min(screen.width);
    let area =
        Rect { x: screen.x + (screen.width - width) / 2, y: screen.y + (screen.height - height) / 2, width, height };
    Clear.render(area, buffer);
    let frame = Block::bordered().title(format!(" {title} "));
    let inner = frame.inner(area);
    frame.render(area, buffer);
    for (at, line) in lines.into_iter().enumerate() {
        put(line, inner, u16::try_from(at).unwrap_or(u16::MAX), buffer);
    }
}

fn help() -> Vec<Line<'static>> {
    let line = |(key, what): &(&str, &'static str)| match *key {
        "" => Line::styled(*what, theme::NAME),
        key => Line::from(vec![Span::styled(format!("  {key:<12}"), theme::ACCENT), Span::raw(*what)]),
    };
    HELP.iter().map(line).collect()
}

fn question() -> Vec<Line<'static>> {
    vec![
        Line::raw("Every channel of this community is marked read now."),
        Line::raw(""),
        Line::styled("y  yes      n  no", theme::ACCENT),
    ]
}

fn activity(app: &App, at: usize) -> Vec<Line<'static>> {
    let Some(items) = &app.activity.items else { return vec![Line::styled("not known yet", theme::QUIET)] };
    if items.is_empty() {
        return vec![Line::styled("none", theme::QUIET)];
    }
    let name = |key| {
        let rows = app.feed(Pane::Main).map_or(&[][..], |f| f.rows());
        rows.iter().find(|r| r.author == key).map(|r| r.author_name.as_str())
    };
    let line = |(n, item): (usize, &waggle::model::ThreadActivityItem)| {
        let author = name(item.author).or_else(|| app.sidebar.person(&item.author)).unwrap_or("Someone");
        let time = date::moment(item.created_at, app.settings.utc_offset, app.now());
        let head = format!("{:>2} ● {} {time}  ", item.count, text::one_line(author));
        let room = 66usize.saturating_sub(text::width(&head));
        let said = text::fit(&text::one_line(&item.text), room);
        let line = Line::from(vec![Span::styled(head, theme::ACCENT), Span::raw(said)]);
        if n == at { line.patch_style(theme::CURSOR) } else { line }
    };
    items.iter().enumerate().map(line).collect()
}

fn diagnostics(app: &App) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let mut say = |what: &str, value: String, style: Style| {
        let label = Span::styled(format!("{what:<16}"), theme::QUIET);
        lines.push(Line::from(vec![label, Span::styled(text::fit(&value, 46), style)]));
    };
    let plain = theme::PLAIN;
    if let Some(line) = &app.connectivity {
        say("connection", line.sentence.clone(), plain);
        if let Some((done, all)) = line.repair {
            say("counting", format!("{done} of {all} channels"), plain);
        }
        if let Some(error) = &line.error {
            say("", format!("{} ({})", error.sentence(), error.code()), theme::ERROR);
        }
    }
    if let Some(sync) = &app.sync {
        say("marks", words::sync(sync.state).to_owned(), plain);
        say("other devices", words::completeness(sync.completeness).to_owned(), plain);
        say("this device", words::capability(sync.capability).to_owned(), plain);
        if let Some(error) = &sync.error {
            say("", format!("{} ({})", error.sentence(), error.code()), theme::ERROR);
        }
    }
    if let Some(unread) = &app.unread {
        say("open channel", String::new(), plain);
        say("  unread", words::count(unread.observed), plain);
        say("  for you", words::count(unread.attention), plain);
        say("  evidence", words::coverage(unread.coverage).to_owned(), plain);
        say("  freshness", words::freshness(unread.freshness).to_owned(), plain);
        say("  marked unread", words::manual(unread.manual).to_owned(), plain);
        say("  looking up", if unread.pending { "yes" } else { "no" }.to_owned(), plain);
        if let Some(error) = &unread.error {
            say("", format!("{} ({})", error.sentence(), error.code()), theme::ERROR);
        }
    }
    if let Some(state) = app.feed(Pane::Main).and_then(|f| f.state.as_ref()) {
        say("  rows", state.rows.len().to_string(), plain);
        say("  older rows", words::more(state.more).to_owned(), plain);
        say("  vouched by", words::trust(state.trust).to_owned(), plain);
    }
    lines.push(Line::raw(""));
    lines.push(Line::styled("F5 count again   p publish again   Esc close", theme::ACCENT));
    lines
}
