//! What handles ask of the session's task, and how they are answered.
//!
//! Every call is a [`Command`] with a oneshot for its answer. The task may drop an answer's receiver's interest (a cancelled call)
//! without harm: commands are carried out whether or not anybody still waits.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::view::View;
use crate::engine::{CallId, TimelineKey};
use crate::error::Error;
use crate::ids::{ChannelId, EventId, Target};
use crate::model::{
    Connectivity, PresentationClass, Receipt, SidebarState, SyncStatus, ThreadActivity, TimelineState, UnreadSnapshot,
};
use crate::reading::SurfaceId;

/// Where an answer goes.
pub(crate) type Answer<T> = oneshot::Sender<Result<T, Error>>;

/// A call that the engine answers, now or after network and disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// Local readiness.
    Start,
    /// First observation of markers and evidence.
    Ensure,
    /// Evidence and markers again, in full.
    Refresh,
    /// Markers again, then publish.
    RetrySync,
    /// Publish now.
    Flush,
    /// Completes when no look-up is queued or running.
    SettleLookups,
    /// Opens a timeline or thread: completes with its first page, or at once with what is held.
    Open {
        /// Which.
        key: TimelineKey,
        /// Rows a page; `None` for the relay's default.
        limit: Option<u32>,
        /// Seconds east of UTC that days begin by.
        utc_offset: i32,
    },
    /// One more page.
    LoadOlder(TimelineKey),
    /// Pages until the first unread row is loaded.
    LoadFirstUnread(TimelineKey),
    /// Ends one opening of a timeline.
    CloseTimeline(TimelineKey),
    /// Explicit prefix intent.
    MarkThrough(Target, EventId),
    /// The whole channel.
    MarkChannelRead(ChannelId),
    /// Every channel with something unread.
    MarkAllChannelsRead,
    /// A local manual mark.
    MarkUnread(Target),
    /// Its removal.
    ClearUnread(Target),
    /// The effective follow state.
    Following(ChannelId, EventId),
    /// An explicit follow choice.
    Follow(ChannelId, EventId, bool),
    /// The synced mute preference.
    Mute(ChannelId, bool),
    /// How the app presents a conversation.
    PresentAs(ChannelId, PresentationClass),
    /// One-shot unread snapshot.
    Snapshot(Target),
    /// One-shot thread activity.
    ThreadActivity(ChannelId),
    /// To the background: flush what can be flushed within the budget.
    Suspend {
        /// Milliseconds.
        budget_ms: u64,
    },
    /// Back to the foreground.
    Resume,
    /// Orderly end: flush, then release everything.
    Close,
    /// Deletes this community's device state, and only that.
    Leave,
}

/// What a completed call answers with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Done.
    Done,
    /// Saved.
    Saved(Receipt),
    /// Yes or no.
    Flag(bool),
    /// A snapshot.
    Unread(Box<UnreadSnapshot>),
    /// Thread activity.
    Activity(Box<ThreadActivity>),
    /// How many channels a sweep saved.
    Swept(u32),
}

/// Everything a handle can send.
pub(crate) enum Command {
    /// A call for the engine.
    Call(CallId, Call, Answer<Reply>),
    /// Registers a view of a target.
    ViewUnread(Target, Answer<View<UnreadSnapshot>>),
    /// Registers a view of a channel's thread activity.
    ViewActivity(ChannelId, Answer<View<ThreadActivity>>),
    /// The view of an open timeline.
    ViewTimeline(TimelineKey, Answer<View<TimelineState>>),
    /// Opens a reading surface.
    OpenSurface(ChannelId, Option<EventId>, Answer<SurfaceId>),
    /// A surface has a new report in its mailbox.
    SurfaceChanged(SurfaceId, Arc<super::surface::Mailbox>),
    /// A surface is gone.
    CloseSurface(SurfaceId),
    /// A timeline handle was dropped.
    CloseTimeline(TimelineKey),
}

/// Views that exist from the start.
#[derive(Clone)]
pub(crate) struct StandingViews {
    pub(crate) sidebar: View<SidebarState>,
    pub(crate) sync: View<SyncStatus>,
    pub(crate) connectivity: View<Connectivity>,
}
