//! The reader's state machine: keys and facts of the core in; what to draw, what to do and what to report out.
//!
//! It contains no rule about chat. Counts, dots, bells, cues, groups and days come finished from the core; keys become calls to it; what is
//! visible is reported to it, and it decides what that means. What *is* decided here is this terminal's own: focus, scrolling, and
//! which panes have the reader's attention ([`App::is_active`]; `unread.md` 11.2).

pub mod blocks;
pub mod date;
mod event;
mod feed;
mod keys;
mod layout;
mod sidebar;
pub mod text;
pub mod theme;
pub mod words;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use ratatui::layout::Rect;
use waggle::error::Error;
use waggle::ids::{ChannelId, EventId};
use waggle::model::{Connectivity, SyncStatus, ThreadActivity, UnreadSnapshot, Viewport};

pub use event::{Command, Event, Pane};
pub use feed::Feed;
pub use keys::HELP;
pub use layout::Layout;
pub use sidebar::{SideLine, SidebarPane};

use crate::ui::arrangement::Arrangement;

/// Milliseconds a note stays.
const NOTE_MS: u64 = 5_000;

/// Where keys go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    /// The list of channels.
    Sidebar,
    /// The channel.
    Main,
    /// The thread.
    Thread,
}

/// What covers the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Popup {
    /// The keys.
    Help,
    /// Threads with unread replies; the cursor is on the n-th.
    Activity(usize),
    /// "Mark everything read?"
    ConfirmReadAll,
    /// What the session knows about itself.
    Diagnostics,
}

/// What the person is told for a moment.
#[derive(Debug, Clone)]
pub struct Note {
    /// The words.
    pub text: String,
    /// It tells of a failure.
    pub failed: bool,
    until: u64,
}

/// What does not change while the app runs.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Words for the title line: which relay, which device.
    pub title: String,
    /// Seconds east of UTC.
    pub utc_offset: i32,
}

/// The whole state.
#[derive(Debug)]
pub struct App {
    /// Settings.
    pub settings: Settings,
    /// The list of channels.
    pub sidebar: SidebarPane,
    /// The open channel.
    pub main: Option<Feed>,
    /// The open thread.
    pub thread: Option<Feed>,
    /// Where keys go.
    pub focus: Focus,
    /// What covers the screen.
    pub popup: Option<Popup>,
    /// The status line.
    pub connectivity: Option<Arc<Connectivity>>,
    /// Synchronisation.
    pub sync: Option<Arc<SyncStatus>>,
    /// What is unread in the open channel.
    pub unread: Option<Arc<UnreadSnapshot>>,
    /// Threads of the open channel with unread replies.
    pub activity: Arc<ThreadActivity>,
    /// What the person is told for a moment.
    pub note: Option<Note>,
    /// The person wants to leave.
    pub quit: bool,
    /// Where everything stands.
    pub arrangement: Arrangement,
    clock_ms: u64,
    now: u64,
    has_keyboard: bool,
    /// The person came back to the channel by name while its thread was open: both are read while focus stays here (`unread.md` 11.2).
    visit: bool,
    tickets: u64,
    reported: [Option<(u64, Viewport)>; 2],
    commands: Vec<Command>,
    changed: bool,
}

impl App {
    /// An app that shows nothing yet.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            sidebar: SidebarPane::default(),
            main: None,
            thread: None,
            focus: Focus::Sidebar,
            popup: None,
            connectivity: None,
            sync: None,
            unread: None,
            activity: Arc::default(),
            note: None,
            quit: false,
            arrangement: Arrangement::default(),
            clock_ms: 0,
            now: 0,
            has_keyboard: true,
            visit: false,
            tickets: 0,
            reported: [None, None],
            commands: Vec::new(),
            changed: true,
        }
    }

    /// Takes in what happened.
    pub fn handle(&mut self, event: Event) {
        if let Event::Tick(ms, now) = event {
            return self.tick(ms, now);
        }
        self.changed = true;
        match event {
            Event::Key(key) => self.key(key),
            Event::Focus(has) => self.has_keyboard = has,
            Event::Tick(..) => {}
            Event::Sidebar(state) => self.sidebar.set_state(state),
            Event::Timeline(pane, ticket, state) => {
                if let Some(feed) = self.feed_of(pane, ticket) {
                    feed.set_state(state);
                }
            }
            Event::Unread(ticket, unread) => {
                if self.feed_of(Pane::Main, ticket).is_some() {
                    self.unread = Some(unread);
                }
            }
            Event::Activity(ticket, activity) => {
                if self.feed_of(Pane::Main, ticket).is_some() {
                    self.activity = activity;
                }
            }
            Event::Connectivity(value) => self.connectivity = Some(value),
            Event::Sync(value) => self.sync = Some(value),
            Event::OpenFailed(pane, ticket, error) => {
                if let Some(feed) = self.feed_of(pane, ticket) {
                    feed.failed = Some(error);
                }
            }
            Event::Paged(pane, ticket, outcome) => {
                if let (Some(_), Err(error)) = (self.feed_of(pane, ticket), outcome) {
                    self.fail(&error);
                }
            }
            Event::FirstUnread(pane, ticket, outcome) => self.first_unread_came(pane, ticket, outcome),
            Event::Done(Ok(text)) => self.tell(text),
            Event::Done(Err(error)) => self.fail(&error),
        }
    }

    fn tick(&mut self, ms: u64, now: u64) {
        self.clock_ms = ms;
        self.now = now;
        if self.note.take_if(|n| n.until <= ms).is_some() {
            self.changed = true;
        }
    }

    fn first_unread_came(&mut self, pane: Pane, ticket: u64, outcome: Result<bool, Error>) {
        let Some(feed) = self.feed_of(pane, ticket) else { return };
        if outcome != Ok(true) {
            feed.give_up_jump();
        }
        match outcome {
            Ok(true) => {}
            Ok(false) => self.tell("Nothing here was unread when you opened it.".to_owned()),
            Err(error) => self.fail(&error),
        }
    }

    /// What the app wants done, in order.
    pub fn take_commands(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.commands)
    }

    /// Whether a new picture is due. Answers once.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    fn feed_of(&mut self, pane: Pane, ticket: u64) -> Option<&mut Feed> {
        self.feed_mut(pane).filter(|f| f.ticket == ticket)
    }

    /// The timeline of a pane.
    pub fn feed(&self, pane: Pane) -> Option<&Feed> {
        match pane {
            Pane::Main => self.main.as_ref(),
            Pane::Thread => self.thread.as_ref(),
        }
    }

    fn feed_mut(&mut self, pane: Pane) -> Option<&mut Feed> {
        match pane {
            Pane::Main => self.main.as_mut(),
            Pane::Thread => self.thread.as_mut(),
        }
    }

    /// Unix seconds, as of the last tick.
    pub fn now(&self) -> u64 {
        self.now
    }

    fn tell(&mut self, text: String) {
        self.note = Some(Note { text, failed: false, until: self.clock_ms + NOTE_MS });
    }

    fn fail(&mut self, error: &Error) {
        self.note = Some(Note { text: error.sentence().to_owned(), failed: true, until: self.clock_ms + NOTE_MS });
    }

    fn want(&mut self, command: Command) {
        self.commands.push(command);
    }

    // --- Panes -----------------------------------------------------------------------------------------------------------

    /// Opens a channel because the person asked for it by name.
    fn visit_channel(&mut self, channel: ChannelId) {
        self.focus = Focus::Main;
        let thread_is_here = self.thread.as_ref().is_some_and(|t| t.channel == channel);
        if self.main.as_ref().is_some_and(|m| m.channel == channel && m.failed.is_none()) {
            self.visit = thread_is_here;
            return;
        }
        if !thread_is_here {
            self.close_thread();
        }
        self.visit = thread_is_here;
        self.unread = None;
        self.activity = Arc::default();
        self.open(Pane::Main, channel, None);
    }

    /// Opens a thread; only what holds focus is read then.
    fn open_thread(&mut self, channel: ChannelId, root: EventId) {
        self.focus = Focus::Thread;
        self.visit = false;
        if self.thread.as_ref().is_some_and(|t| t.channel == channel && t.root == Some(root) && t.failed.is_none()) {
            return;
        }
        self.open(Pane::Thread, channel, Some(root));
    }

    fn open(&mut self, pane: Pane, channel: ChannelId, root: Option<EventId>) {
        self.tickets += 1;
        let feed = Feed::new(self.tickets, channel, root);
        match pane {
            Pane::Main => self.main = Some(feed),
            Pane::Thread => self.thread = Some(feed),
        }
        self.want(Command::Open { pane, ticket: self.tickets, channel, root });
    }

    fn close_thread(&mut self) {
        if self.thread.take().is_some() {
            self.want(Command::CloseThread);
        }
        self.visit = false;
        if self.focus == Focus::Thread {
            self.focus = Focus::Main;
        }
    }

    /// Whether a pane has the reader's attention: the one that holds focus; beside the channel also its thread after an explicit
    /// return (`unread.md` 11.2). Nothing has it under a popup, without the keyboard, or when it is not on the screen.
    pub fn is_active(&self, pane: Pane) -> bool {
        let (focused, shown) = match pane {
            Pane::Main => (self.focus == Focus::Main, self.arrangement.main.is_some()),
            Pane::Thread => {
                let granted = self.visit && self.focus == Focus::Main;
                (self.focus == Focus::Thread || granted, self.arrangement.thread.is_some())
            }
        };
        focused && shown && self.popup.is_none() && self.has_keyboard
    }

    // --- A picture -------------------------------------------------------------------------------------------------------

    /// Lays everything out for a terminal of this size, before a picture is drawn.
    pub fn arrange(&mut self, area: Rect) {
        self.arrangement = Arrangement::of(area, self.focus, self.thread.is_some());
        if let Some(list) = self.arrangement.sidebar {
            self.sidebar.arrange(list.height.saturating_sub(2));
        }
        let places = [(Pane::Main, self.arrangement.main), (Pane::Thread, self.arrangement.thread)];
        let (utc_offset, now) = (self.settings.utc_offset, self.now);
        for (pane, place) in places {
            let Some(place) = place.map(crate::ui::arrangement::inside) else { continue };
            if let Some(feed) = self.feed_mut(pane) {
                feed.arrange(place.width, place.height, utc_offset, now);
            }
        }
    }

    /// Notes that the picture was drawn: reports what it shows, where that changed, and asks for pages at its edges.
    pub fn drawn(&mut self) {
        for pane in [Pane::Main, Pane::Thread] {
            let shown = match pane {
                Pane::Main => self.arrangement.main.is_some(),
                Pane::Thread => self.arrangement.thread.is_some(),
            };
            let active = self.is_active(pane);
            let Some(feed) = self.feed_mut(pane) else { continue };
            let mut wants_page = false;
            let viewport = if shown {
                feed.drawn();
                wants_page = feed.wants_page();
                feed.viewport(active)
            } else {
                Viewport::default()
            };
            let report = Some((feed.ticket, viewport));
            if wants_page {
                self.want(Command::LoadOlder(pane));
            }
            self.report(pane, report);
        }
    }

    fn report(&mut self, pane: Pane, report: Option<(u64, Viewport)>) {
        let slot = match pane {
            Pane::Main => &mut self.reported[0],
            Pane::Thread => &mut self.reported[1],
        };
        if *slot == report {
            return;
        }
        slot.clone_from(&report);
        if let Some((_, viewport)) = report {
            self.want(Command::Report(pane, viewport));
        }
    }

    /// Says again what is shown, because a surface was opened that has not heard it.
    pub fn report_again(&mut self, pane: Pane) {
        let slot = match pane {
            Pane::Main => &mut self.reported[0],
            Pane::Thread => &mut self.reported[1],
        };
        *slot = None;
        self.changed = true;
    }

    /// Name of a channel as the sidebar shows it.
    pub fn channel_name(&self, channel: ChannelId) -> String {
        self.sidebar.row(channel).map_or_else(|| "channel".to_owned(), |r| text::one_line(&r.name))
    }
}
