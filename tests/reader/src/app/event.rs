//! What goes into the app's state machine and what comes out.

use std::sync::Arc;

use ratatui::crossterm::event::KeyEvent;
use waggle::error::Error;
use waggle::ids::{ChannelId, EventId, Target};
use waggle::model::{Connectivity, SidebarState, SyncStatus, ThreadActivity, TimelineState, UnreadSnapshot, Viewport};

/// Which timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pane {
    /// The channel's.
    Main,
    /// The thread's.
    Thread,
}

/// What happens to the app.
#[derive(Debug, Clone)]
pub enum Event {
    /// A key.
    Key(KeyEvent),
    /// The terminal gained or lost the keyboard.
    Focus(bool),
    /// Milliseconds since the app was opened, and Unix seconds.
    Tick(u64, u64),
    /// The sidebar changed.
    Sidebar(Arc<SidebarState>),
    /// A timeline changed.
    Timeline(Pane, u64, Arc<TimelineState>),
    /// What is unread in the open channel changed.
    Unread(u64, Arc<UnreadSnapshot>),
    /// The open channel's threads with unread replies changed.
    Activity(u64, Arc<ThreadActivity>),
    /// The status line changed.
    Connectivity(Arc<Connectivity>),
    /// Synchronisation changed.
    Sync(Arc<SyncStatus>),
    /// A timeline could not be opened.
    OpenFailed(Pane, u64, Error),
    /// A page was read, or could not be.
    Paged(Pane, u64, Result<(), Error>),
    /// The first unread row of a visit is among the rows now, or there is none.
    FirstUnread(Pane, u64, Result<bool, Error>),
    /// Something the person asked for was done, or failed.
    Done(Result<String, Error>),
}

/// What the app wants done. Answers come back as events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Open a timeline in a pane, in place of what is there.
    Open {
        /// Where.
        pane: Pane,
        /// Names this opening.
        ticket: u64,
        /// The channel.
        channel: ChannelId,
        /// The root, for a thread.
        root: Option<EventId>,
    },
    /// Close the thread pane.
    CloseThread,
    /// Read one more page.
    LoadOlder(Pane),
    /// Read pages until the first unread row is there.
    LoadFirstUnread(Pane),
    /// Report what a surface shows.
    Report(Pane, Viewport),
    /// Mark read through a message.
    MarkThrough(Target, EventId),
    /// Mark a channel read.
    MarkChannelRead(ChannelId),
    /// Mark everything read.
    MarkAllRead,
    /// Mark unread.
    MarkUnread(Target),
    /// Take that back.
    ClearUnread(Target),
    /// Follow a thread, or no longer.
    ToggleFollow(ChannelId, EventId),
    /// Mute or unmute.
    Mute(ChannelId, bool),
    /// Read evidence and marks again.
    Refresh,
    /// Publish again.
    RetrySync,
}
