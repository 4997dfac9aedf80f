//! The list of channels, with what lies beyond its edges.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use waggle::model::{ChannelType, SidebarRow, SidebarSection};
use waggle::sidebar::Cue;

use super::put;
use crate::app::{App, Focus, SideLine, text, theme};

pub(super) fn draw(app: &App, area: Rect, buffer: &mut Buffer) {
    let columns = usize::from(area.width.saturating_sub(1));
    edge(app, &app.sidebar.cues.above, "▲", area, 0, buffer);
    for (at, line) in app.sidebar.shown().enumerate() {
        let drawn = match line {
            SideLine::Space => Line::default(),
            SideLine::Heading(section) => Line::styled(text::fit(heading(section), columns), theme::QUIET),
            SideLine::Row(index) => match app.sidebar.state.rows.get(index) {
                Some(of) => row(app, of, columns),
                None => Line::default(),
            },
        };
        put(drawn, area, u16::try_from(at + 1).unwrap_or(u16::MAX), buffer);
    }
    edge(app, &app.sidebar.cues.below, "▼", area, area.height.saturating_sub(1), buffer);
    if app.sidebar.state.rows.is_empty() {
        put(Line::styled(" no channels yet", theme::QUIET), area, 1, buffer);
    }
}

fn heading(section: SidebarSection) -> &'static str {
    match section {
        SidebarSection::Promoted => "Promoted",
        SidebarSection::Channels => "Channels",
        SidebarSection::DirectMessages => "Direct messages",
        SidebarSection::Solo => "Solo",
        SidebarSection::Open => "Open channels",
        SidebarSection::Archived => "Archived",
    }
}

/// `▼ 5 unread · Mara, Jonah`.
fn edge(app: &App, cue: &Cue, arrow: &str, area: Rect, row: u16, buffer: &mut Buffer) {
    if cue.count == 0 {
        return;
    }
    let people: Vec<_> = cue.previews.iter().filter_map(|key| app.sidebar.person(key)).map(text::one_line).collect();
    let mut said = format!(" {arrow} {} unread", cue.count);
    if !people.is_empty() {
        said.push_str(" · ");
        said.push_str(&people.join(", "));
    }
    let style = if cue.attention { theme::ACCENT } else { theme::STRONG };
    put(Line::styled(text::fit(&said, usize::from(area.width.saturating_sub(1))), style), area, row, buffer);
}

fn row(app: &App, of: &SidebarRow, columns: usize) -> Line<'static> {
    let open = app.main.as_ref().is_some_and(|m| m.channel == of.channel);
    let sign = match of.channel_type {
        ChannelType::Dm => "@",
        ChannelType::Forum => "¶",
        ChannelType::Workflow => "⚙",
        ChannelType::Stream | ChannelType::Unknown => "#",
    };
    let bell = if of.bell { " 🔕" } else { "" };
    let dot = if of.dot { " ●" } else { "" };
    let left = format!("{}{sign} ", if open { "▸" } else { " " });
    let room = columns.saturating_sub(text::width(&left) + text::width(bell) + text::width(dot));
    let name = text::fit(&text::one_line(&of.name), room);
    let style = if of.strong {
        theme::STRONG
    } else if of.joined && !of.archived {
        theme::PLAIN
    } else {
        theme::QUIET
    };
    let used = text::width(&left) + text::width(&name) + text::width(bell) + text::width(dot);
    let spans = vec![
        Span::styled(left, theme::QUIET),
        Span::styled(name, style),
        Span::styled(bell, theme::QUIET),
        Span::styled(dot, theme::ACCENT),
        Span::raw(" ".repeat(columns.saturating_sub(used))),
    ];
    let line = Line::from(spans);
    let under_cursor = app.sidebar.cursor == Some(of.channel) && app.focus == Focus::Sidebar;
    if under_cursor { line.patch_style(theme::CURSOR) } else { line }
}
