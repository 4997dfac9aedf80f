//! What handles ask of the session's task. Every question has a oneshot for its answer; a receiver that is gone is no reason not to act.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::surface::Mailbox;
use super::view::View;
use crate::engine::{Call, Reply};
use crate::error::Error;
use crate::ids::{ChannelId, EventId, Target};
use crate::journal::Key;
use crate::model::{Connectivity, SidebarState, SyncStatus, ThreadActivity, TimelineState, UnreadSnapshot};
use crate::reading::SurfaceId;
use crate::window::TimelineKey;

/// Where an answer goes.
pub(crate) type Answer<T> = oneshot::Sender<Result<T, Error>>;

/// Everything a handle can send.
pub(crate) enum Command {
    /// Opens what this device holds.
    Start(Answer<Reply>),
    /// A call for the engine.
    Call(Call, Answer<Reply>),
    /// Registers a view of a target.
    ViewUnread(Target, Answer<View<UnreadSnapshot>>),
    /// Registers a view of a channel's thread activity.
    ViewActivity(ChannelId, Answer<View<ThreadActivity>>),
    /// The view of an open timeline.
    ViewTimeline(TimelineKey, Answer<View<TimelineState>>),
    /// Opens a reading surface.
    OpenSurface(ChannelId, Option<EventId>, Answer<SurfaceId>),
    /// Values the journal keeps, for diagnostics and tests.
    Journal(Vec<Key>, Answer<Vec<Option<u32>>>),
    /// This installation's primary read-state slot, for diagnostics and tests.
    PrimarySlot(Answer<String>),
    /// A surface has a new report in its mailbox.
    SurfaceChanged(SurfaceId, Arc<Mailbox>),
    /// A surface is gone.
    CloseSurface(SurfaceId),
    /// A timeline handle was dropped.
    DropTimeline(TimelineKey),
}

/// Views that exist from the start.
#[derive(Clone)]
pub(crate) struct StandingViews {
    pub(crate) sidebar: View<SidebarState>,
    pub(crate) sync: View<SyncStatus>,
    pub(crate) connectivity: View<Connectivity>,
}
