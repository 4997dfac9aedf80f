//! Which panes fit on the screen, and where.

use ratatui::layout::Rect;

use crate::app::Focus;

/// Columns of the list of channels.
const LIST: u16 = 28;
/// Columns a timeline needs beside something else.
const TIMELINE: u16 = 40;

/// Where the panes stand. A pane that is not there is not on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Arrangement {
    /// Title line.
    pub title: Rect,
    /// List of channels.
    pub sidebar: Option<Rect>,
    /// The channel.
    pub main: Option<Rect>,
    /// The thread.
    pub thread: Option<Rect>,
    /// Status line.
    pub status: Rect,
    /// Keys.
    pub keys: Rect,
}

impl Arrangement {
    /// Arranges for a screen. What does not fit gives way to what holds focus.
    pub fn of(area: Rect, focus: Focus, thread: bool) -> Self {
        let line = |y: u16| Rect { y, height: 1.min(area.height), ..area };
        let body = Rect { y: area.y + 1.min(area.height), height: area.height.saturating_sub(3), ..area };
        let mut out = Self {
            title: line(area.y),
            status: line(area.bottom().saturating_sub(2).max(area.y)),
            keys: line(area.bottom().saturating_sub(1).max(area.y)),
            ..Self::default()
        };
        let columns = |x: u16, width: u16| Rect { x: body.x + x, width, ..body };
        if body.width >= LIST + 2 * TIMELINE && thread {
            let rest = body.width - LIST;
            let side = (rest * 2 / 5).max(TIMELINE);
            out.sidebar = Some(columns(0, LIST));
            out.main = Some(columns(LIST, rest - side));
            out.thread = Some(columns(body.width - side, side));
        } else if body.width >= LIST + TIMELINE {
            out.sidebar = Some(columns(0, LIST));
            let rest = columns(LIST, body.width - LIST);
            if thread && focus == Focus::Thread { out.thread = Some(rest) } else { out.main = Some(rest) }
        } else {
            match focus {
                Focus::Sidebar => out.sidebar = Some(body),
                Focus::Main => out.main = Some(body),
                Focus::Thread => out.thread = Some(body),
            }
        }
        out
    }
}

/// What is left of a timeline's pane for its rows: a title above, a border on the left.
pub fn inside(pane: Rect) -> Rect {
    Rect {
        x: pane.x + 1.min(pane.width),
        y: pane.y + 1.min(pane.height),
        width: pane.width.saturating_sub(1),
        height: pane.height.saturating_sub(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_gives_way_to_focus() {
        let wide = Arrangement::of(Rect::new(0, 0, 140, 40), Focus::Main, true);
        assert!(wide.sidebar.is_some() && wide.main.is_some() && wide.thread.is_some());
        let middle = Arrangement::of(Rect::new(0, 0, 80, 24), Focus::Thread, true);
        assert!(middle.sidebar.is_some() && middle.main.is_none() && middle.thread.is_some());
        let narrow = Arrangement::of(Rect::new(0, 0, 40, 24), Focus::Main, true);
        assert!(narrow.sidebar.is_none() && narrow.main.is_some() && narrow.thread.is_none());
    }

    #[test]
    fn no_screen_is_too_small() {
        for width in 0..6 {
            for height in 0..6 {
                let area = Rect::new(0, 0, width, height);
                for focus in [Focus::Sidebar, Focus::Main, Focus::Thread] {
                    let a = Arrangement::of(area, focus, true);
                    let panes = [a.sidebar, a.main, a.thread].into_iter().flatten();
                    for rect in panes.clone().chain(panes.map(inside)).chain([a.title, a.status, a.keys]) {
                        assert!(rect.right() <= area.right() && rect.bottom() <= area.bottom(), "{rect} in {area}");
                    }
                }
            }
        }
    }
}
