//! What keys do. Every key here stands in the help ([`HELP`]).

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use waggle::ids::Target;
use waggle::model::{Manual, TimelineRow};

use super::{App, Command, Focus, Pane, Popup};

/// The keys, for the help. An empty key is a heading.
pub const HELP: [(&str, &str); 27] = [
    ("", "Moving"),
    ("Tab  ⇧Tab", "next, previous pane"),
    ("h l  ← →", "pane to the left, to the right"),
    ("j k  ↓ ↑", "next, previous row"),
    ("PgDn PgUp", "down, up by a pane"),
    ("g  Home", "oldest row held"),
    ("G  End", "newest row"),
    ("u", "first unread row of this visit"),
    ("o", "load missing or older messages"),
    ("[  ]", "unread channels above, below the list"),
    ("", "Opening"),
    ("Enter", "open channel or thread"),
    ("t", "open the row's thread"),
    ("a", "threads with unread replies"),
    ("", "Reading marks"),
    ("r", "read through this row"),
    ("m", "mark unread; in the list, or take it back"),
    ("Esc", "mark the channel read"),
    ("X  ⇧R", "mark everything read"),
    ("", "Other"),
    ("f", "follow the thread, or no longer"),
    ("M", "mute the channel, or no longer"),
    ("F5", "read counts and marks again"),
    ("p", "publish marks again"),
    ("d", "diagnostics"),
    ("?", "this help"),
    ("q  Ctrl-C", "quit"),
];

impl App {
    pub(super) fn key(&mut self, key: KeyEvent) {
        if key.kind == KeyEventKind::Release {
            return;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => self.quit = true,
            _ if self.popup.is_some() => self.popup_key(key.code),
            KeyCode::Char('d') if control => self.page(true),
            KeyCode::Char('u') if control => self.page(false),
            _ if control => {}
            code => {
                if !self.moving_key(code) {
                    self.acting_key(code, key.modifiers);
                }
            }
        }
    }

    fn popup_key(&mut self, code: KeyCode) {
        match (self.popup, code) {
            (Some(Popup::Activity(at)), KeyCode::Down | KeyCode::Char('j')) => {
                self.select_activity(at.saturating_add(1))
            }
            (Some(Popup::Activity(at)), KeyCode::Up | KeyCode::Char('k')) => self.select_activity(at.saturating_sub(1)),
            (Some(Popup::Activity(at)), KeyCode::Enter) => self.open_activity(at),
            (Some(Popup::ConfirmReadAll), KeyCode::Char('y') | KeyCode::Enter) => {
                self.popup = None;
                self.want(Command::MarkAllRead);
            }
            (Some(Popup::Diagnostics), KeyCode::F(5)) => self.want(Command::Refresh),
            (Some(Popup::Diagnostics), KeyCode::Char('p')) => self.want(Command::RetrySync),
            (_, KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q' | 'n' | '?' | 'd' | 'a')) => self.popup = None,
            _ => {}
        }
    }

    fn select_activity(&mut self, at: usize) {
        let count = self.activity.items.as_ref().map_or(0, Vec::len);
        self.popup = Some(Popup::Activity(at.min(count.saturating_sub(1))));
    }

    fn open_activity(&mut self, at: usize) {
        self.popup = None;
        let root = self.activity.items.as_ref().and_then(|items| items.get(at)).map(|i| i.root);
        if let (Some(root), Some(channel)) = (root, self.main.as_ref().map(|m| m.channel)) {
            self.open_thread(channel, root);
        }
    }

    /// Keys that move something. Whether it was one.
    fn moving_key(&mut self, code: KeyCode) -> bool {
        match code {
            KeyCode::Tab => self.cycle(true),
            KeyCode::BackTab => self.cycle(false),
            KeyCode::Left | KeyCode::Char('h') => self.go_left(),
            KeyCode::Right | KeyCode::Char('l') => self.go_right(),
            KeyCode::Down | KeyCode::Char('j') => self.step(true),
            KeyCode::Up | KeyCode::Char('k') => self.step(false),
            KeyCode::PageDown | KeyCode::Char(' ') => self.page(true),
            KeyCode::PageUp => self.page(false),
            KeyCode::Home | KeyCode::Char('g') => self.go_to_start(),
            KeyCode::End | KeyCode::Char('G') => self.go_to_end(),
            KeyCode::Char('[') => self.sidebar.follow_cue(false),
            KeyCode::Char(']') => self.sidebar.follow_cue(true),
            KeyCode::Char('u') => self.go_to_first_unread(),
            KeyCode::Char('o') => self.load_by_hand(),
            _ => return false,
        }
        true
    }

    fn acting_key(&mut self, code: KeyCode, modifiers: KeyModifiers) {
        match code {
            KeyCode::Char('q') => self.quit = true,
            KeyCode::Char('?') => self.popup = Some(Popup::Help),
            KeyCode::Char('d') => self.popup = Some(Popup::Diagnostics),
            KeyCode::Char('a') if self.main.is_some() => self.popup = Some(Popup::Activity(0)),
            KeyCode::Char('X' | 'R') => self.popup = Some(Popup::ConfirmReadAll),
            KeyCode::Esc if modifiers.contains(KeyModifiers::SHIFT) => self.popup = Some(Popup::ConfirmReadAll),
            KeyCode::Esc => self.mark_channel_read(),
            KeyCode::Enter => self.enter(),
            KeyCode::Char('t') => self.open_rows_thread(),
            KeyCode::Char('r') => self.mark_through(),
            KeyCode::Char('m') => self.mark_unread(),
            KeyCode::Char('f') => self.toggle_follow(),
            KeyCode::Char('M') => self.toggle_mute(),
            KeyCode::F(5) => self.want(Command::Refresh),
            KeyCode::Char('p') => self.want(Command::RetrySync),
            _ => {}
        }
    }

    // --- Moving ----------------------------------------------------------------------------------------------------------

    fn focus_on(&mut self, focus: Focus) {
        if focus == Focus::Sidebar || focus == Focus::Thread {
            // The grant of a visit lasts while focus stays in the channel, and a focused thread needs none.
            self.visit &= focus == Focus::Thread;
        }
        self.focus = focus;
    }

    fn cycle(&mut self, forward: bool) {
        let mut panes = vec![Focus::Sidebar];
        panes.extend(self.main.is_some().then_some(Focus::Main));
        panes.extend(self.thread.is_some().then_some(Focus::Thread));
        let at = panes.iter().position(|p| *p == self.focus).unwrap_or(0);
        let step = if forward { 1 } else { panes.len() - 1 };
        self.focus_on(panes[(at + step) % panes.len()]);
    }

    fn go_left(&mut self) {
        match self.focus {
            Focus::Thread => self.close_thread(),
            Focus::Main | Focus::Sidebar => self.focus_on(Focus::Sidebar),
        }
    }

    fn go_right(&mut self) {
        match self.focus {
            Focus::Sidebar if self.main.is_some() => self.focus_on(Focus::Main),
            Focus::Sidebar => self.enter(),
            Focus::Main if self.thread.is_some() => self.focus_on(Focus::Thread),
            Focus::Main => self.open_rows_thread(),
            Focus::Thread => {}
        }
    }

    fn focused_pane(&self) -> Option<Pane> {
        match self.focus {
            Focus::Sidebar => None,
            Focus::Main => Some(Pane::Main),
            Focus::Thread => Some(Pane::Thread),
        }
    }

    fn step(&mut self, forward: bool) {
        let Some(pane) = self.focused_pane() else { return self.sidebar.step(if forward { 1 } else { -1 }) };
        let moved = self.feed_mut(pane).is_some_and(|f| f.step(forward));
        self.load_at_edge(pane, forward, moved);
    }

    fn page(&mut self, forward: bool) {
        let Some(pane) = self.focused_pane() else { return self.sidebar.page(forward) };
        let moved = self.feed_mut(pane).is_some_and(|f| f.page(forward));
        self.load_at_edge(pane, forward, moved);
    }

    /// A key against the edge where pages come from asks for one, unless rows are missing further down: those are asked for by `o`.
    fn load_at_edge(&mut self, pane: Pane, forward: bool, moved: bool) {
        let towards_pages = forward == (pane == Pane::Thread);
        let Some(feed) = self.feed_mut(pane).filter(|_| towards_pages && !moved) else { return };
        let gap = feed.state.as_ref().is_some_and(|s| s.gap.is_some());
        if !gap && feed.may_page() {
            self.want(Command::LoadOlder(pane));
        }
    }

    fn go_to_start(&mut self) {
        match self.focused_pane() {
            None => self.sidebar.step(isize::MIN),
            Some(pane) => {
                if let Some(feed) = self.feed_mut(pane) {
                    feed.go_to_start();
                }
            }
        }
    }

    fn go_to_end(&mut self) {
        match self.focused_pane() {
            None => self.sidebar.step(isize::MAX),
            Some(pane) => {
                if let Some(feed) = self.feed_mut(pane) {
                    feed.go_to_end();
                }
            }
        }
    }

    fn go_to_first_unread(&mut self) {
        let pane = self.focused_pane().unwrap_or(Pane::Main);
        let Some(feed) = self.feed_mut(pane) else { return };
        let Some(state) = feed.state.clone() else { return };
        match state.first_unread {
            Some(id) if state.rows.iter().any(|r| r.id == id) => feed.show(id),
            first => {
                if let Some(id) = first {
                    feed.show(id);
                }
                self.want(Command::LoadFirstUnread(pane));
            }
        }
    }

    fn load_by_hand(&mut self) {
        let pane = self.focused_pane().unwrap_or(Pane::Main);
        if self.feed_mut(pane).is_some_and(super::Feed::may_page) {
            self.want(Command::LoadOlder(pane));
        }
    }

    // --- Acting ----------------------------------------------------------------------------------------------------------

    fn enter(&mut self) {
        match self.focus {
            Focus::Sidebar => {
                if let Some(channel) = self.sidebar.cursor {
                    self.visit_channel(channel);
                }
            }
            Focus::Main => self.open_rows_thread(),
            Focus::Thread => {}
        }
    }

    fn open_rows_thread(&mut self) {
        let Some(feed) = self.main.as_ref().filter(|_| self.focus == Focus::Main) else { return };
        let Some(row) = feed.selected_row() else { return };
        let (channel, root) = (feed.channel, row.thread_root.unwrap_or(row.id));
        self.open_thread(channel, root);
    }

    /// The row under the cursor of the focused timeline.
    fn focused_row(&self) -> Option<(&super::Feed, &TimelineRow)> {
        let feed = self.feed(self.focused_pane()?)?;
        Some((feed, feed.selected_row()?))
    }

    fn mark_through(&mut self) {
        let Some((feed, row)) = self.focused_row() else { return };
        let channel = feed.channel;
        let target = match row.thread_root.or(feed.root) {
            Some(root) => Target::Thread(channel, root),
            None => Target::Channel(channel),
        };
        let id = row.id;
        self.want(Command::MarkThrough(target, id));
    }

    fn mark_unread(&mut self) {
        if self.focus == Focus::Sidebar {
            let Some(row) = self.sidebar.selected() else { return };
            let (target, marked) = (Target::Channel(row.channel), row.manual != Manual::None);
            return self.want(if marked { Command::ClearUnread(target) } else { Command::MarkUnread(target) });
        }
        let Some((feed, row)) = self.focused_row() else { return };
        if row.quiet {
            return self.tell("Messages for agents are never unread.".to_owned());
        }
        let target = Target::Message(feed.channel, row.id);
        self.want(Command::MarkUnread(target));
    }

    fn mark_channel_read(&mut self) {
        let channel = match self.focus {
            Focus::Sidebar => self.sidebar.cursor,
            Focus::Main | Focus::Thread => self.main.as_ref().map(|m| m.channel),
        };
        if let Some(channel) = channel {
            self.want(Command::MarkChannelRead(channel));
        }
    }

    fn toggle_follow(&mut self) {
        let Some((feed, row)) = self.focused_row() else { return };
        let (channel, root) = (feed.channel, feed.root.or(row.thread_root).unwrap_or(row.id));
        self.want(Command::ToggleFollow(channel, root));
    }

    fn toggle_mute(&mut self) {
        let channel = match self.focus {
            Focus::Sidebar => self.sidebar.cursor,
            Focus::Main | Focus::Thread => self.main.as_ref().map(|m| m.channel),
        };
        let Some(row) = channel.and_then(|c| self.sidebar.row(c)) else { return };
        let (channel, muted) = (row.channel, row.muted);
        self.want(Command::Mute(channel, !muted));
    }
}
