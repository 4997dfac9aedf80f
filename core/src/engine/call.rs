//! Calls of the app.

use crate::ids::{ChannelId, EventId, Target};
use crate::model::PresentationClass;
use crate::window::TimelineKey;

/// A call that the engine answers once, now or after network and disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// First observation of markers and evidence.
    Ensure,
    /// Markers and evidence again, in full.
    Refresh,
    /// Markers again, then publish.
    RetrySync,
    /// Publish now.
    Flush,
    /// Completes when no look-up is queued, running or waiting.
    SettleLookups,
    /// Opens a timeline.
    Open {
        /// Which.
        key: TimelineKey,
        /// Rows a page; none for the relay's default.
        limit: Option<u32>,
        /// Seconds east of UTC that days begin by.
        utc_offset: i32,
    },
    /// One more page.
    LoadOlder(TimelineKey),
    /// Pages until the first unread row is loaded; answers whether it is.
    LoadFirstUnread(TimelineKey),
    /// Ends one opening of a timeline.
    CloseTimeline(TimelineKey),
    /// Explicit prefix intent.
    MarkThrough(Target, EventId),
    /// A whole channel.
    MarkChannelRead(ChannelId),
    /// Every channel with something unread.
    MarkAllChannelsRead,
    /// The channel is looked at from now on.
    EnterChannel(ChannelId),
    /// It no longer is.
    LeaveChannel(ChannelId),
    /// A message and its loaded replies, for the rest of the visit.
    MarkMessageUnread(ChannelId, EventId),
    /// A message and its loaded replies.
    MarkMessageRead(ChannelId, EventId),
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
    /// One-shot snapshot.
    Snapshot(Target),
    /// One-shot thread activity.
    ThreadActivity(ChannelId),
    /// To the background.
    Suspend {
        /// Milliseconds publication may take.
        budget_ms: u64,
    },
    /// Back to the foreground.
    Resume,
    /// The system says the network changed.
    NetworkChanged,
    /// Orderly end.
    Close,
    /// Forget this community on this device.
    Leave,
}
