//! The finished facts handed to apps: plain records, the same in Rust, Swift and Kotlin.
//!
//! Rooms produce them, `session` publishes them, bindings convert them field by field. Nothing here decides anything, and
//! nothing here is a sentence about chat rules: an app draws these and reports what it shows.

use std::sync::Arc;

use crate::error::Error;
use crate::ids::{ChannelId, EventId, PublicKey};

/// Whether anything is known about a target's messages (`unread.md` 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// Evidence is held.
    Observed,
    /// Nothing is known; counts are `None`.
    Unknown,
}

/// How current the evidence is (`unread.md` 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// Live, or just read.
    Observed,
    /// Older than the last connection loss, failure or overflow.
    Stale,
    /// Nothing was observed yet.
    Unknown,
}

/// Whether something was marked unread by hand (`unread.md` 5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manual {
    /// No.
    None,
    /// On this device, which is the only one that knows.
    LocalOnly,
    /// By another client, through an NIP-RS override.
    Remote,
}

/// What is unread about one target (`unread.md` 5.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadSnapshot {
    /// Unread members among the evidence held; `None` is unknown, never a made-up zero.
    pub observed: Option<u32>,
    /// Those of them that want attention; at most `observed`.
    pub attention: Option<u32>,
    /// Newest message of a channel target, own and read ones included.
    pub latest: Option<EventId>,
    /// Whether anything is known.
    pub coverage: Coverage,
    /// How current it is.
    pub freshness: Freshness,
    /// Marked by hand.
    pub manual: Manual,
    /// Some retained reply in a channel or thread target waits for its look-up (R8e).
    pub pending: bool,
    /// The standing error of the last evidence repair.
    pub error: Option<Error>,
}

/// One thread with unread replies (`unread.md` 5.4).
#[derive(Clone, PartialEq, Eq)]
pub struct ThreadActivityItem {
    /// Resolved root.
    pub root: EventId,
    /// Newest unread reply.
    pub latest: EventId,
    /// Its author.
    pub author: PublicKey,
    /// Its time, seconds.
    pub created_at: u64,
    /// Its text after edits.
    pub text: String,
    /// Unread replies in the thread.
    pub count: u32,
}

crate::ids::hidden_debug!(ThreadActivityItem);

/// Threads of a channel with unread replies, newest first; `None` when the channel is not accessible or nothing is known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ThreadActivity {
    /// The threads.
    pub items: Option<Vec<ThreadActivityItem>>,
}

/// How reactions of one emoji add up.
#[derive(Clone, PartialEq, Eq)]
pub struct Reaction {
    /// The reaction's content; `+` when that was empty.
    pub emoji: String,
    /// How many people.
    pub count: u32,
    /// Whether the viewer is one of them.
    pub mine: bool,
}

crate::ids::hidden_debug!(Reaction);

/// What sort of row it is; how it looks is the app's business.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    /// Kind 9 or 40002.
    Message,
    /// Kind 40008.
    Diff,
    /// Kind 40099.
    Notice,
    /// Kinds 43001 to 43006.
    Job,
    /// Kind 48100.
    Huddle,
}

/// One finished row of a timeline.
#[derive(Clone, PartialEq, Eq)]
pub struct TimelineRow {
    /// Event id, the row's identity.
    pub id: EventId,
    /// Seconds since 1970.
    pub created_at: u64,
    /// Author, after the relay's attribution.
    pub author: PublicKey,
    /// Author's name as far as known, else a short form of the key.
    pub author_name: String,
    /// What sort of row.
    pub kind: RowKind,
    /// Text after edits; of a notice, the sentence it makes.
    pub text: String,
    /// Whether an edit was applied.
    pub edited: bool,
    /// The viewer wrote it.
    pub own: bool,
    /// It mentions the viewer.
    pub mentioned: bool,
    /// Its audience is agents only; no mark read or unread is offered for it.
    pub quiet: bool,
    /// The root of the thread it answers in, when it is a reply shown here.
    pub thread_root: Option<EventId>,
    /// Replies to it (R8).
    pub replies: u32,
    /// Whether its thread has unread replies or was marked unread (`unread.md` 12.3).
    pub thread_dot: bool,
    /// Reactions, most first, then by emoji.
    pub reactions: Vec<Reaction>,
    /// Starts a new day, in the time zone offset the timeline was opened with.
    pub starts_day: bool,
    /// Continues the group of the row above: same author, same sort, less than five minutes later.
    pub grouped: bool,
}

crate::ids::hidden_debug!(TimelineRow);

/// Whether there are older rows (R5, R7, R7a); for a thread, further ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum More {
    /// Yes.
    Yes,
    /// No, by the relay's word.
    No,
    /// Not known.
    Unknown,
}

/// Who vouches for overlays (R2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverlayTrust {
    /// Verified against the relay's advertised key.
    Identity,
    /// The relay advertises no key; TLS to the configured origin, or loopback, stands in.
    Transport,
    /// Nothing does: no window is used.
    None,
}

/// A timeline as a person sees it, oldest row first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineState {
    /// The channel.
    pub channel: ChannelId,
    /// The root, for a thread. The root itself is the first row when it is held.
    pub root: Option<EventId>,
    /// Rows, oldest first.
    pub rows: Vec<Arc<TimelineRow>>,
    /// Whether `load_older` has something to do.
    pub more: More,
    /// Rows above this one are not known to be contiguous with it: index into `rows`.
    pub gap: Option<usize>,
    /// The first unread row when the timeline was opened; fixed for the visit (R28).
    pub first_unread: Option<EventId>,
    /// A page is being read.
    pub loading: bool,
    /// The rows come from this device only; no page of this connection has been accepted yet.
    pub restored: bool,
    /// Who vouches for overlays.
    pub trust: OverlayTrust,
    /// Why the last automatic read failed.
    pub error: Option<Error>,
}

/// How an app presents a conversation (R27a).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PresentationClass {
    /// As its type says.
    #[default]
    Normal,
    /// A Solo chat.
    Solo,
    /// The promoted DM.
    Promoted,
}

/// Type of a channel by its metadata; no metadata is unknown, which is not "no DM" (`unread.md` 1.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelType {
    /// Chat.
    Stream,
    /// Direct messages.
    Dm,
    /// Forum.
    Forum,
    /// Workflow.
    Workflow,
    /// No metadata yet, or another type.
    Unknown,
}

/// Part of the sidebar a row stands in, in the order they are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SidebarSection {
    /// The promoted DM.
    Promoted,
    /// Joined channels, by name.
    Channels,
    /// Direct messages, newest first.
    DirectMessages,
    /// Solo chats, newest first.
    Solo,
    /// Open channels the viewer has not joined, by name.
    Open,
    /// Archived conversations, by name.
    Archived,
}

/// One sidebar row, ready to draw (`unread.md` 12).
#[derive(Clone, PartialEq, Eq)]
pub struct SidebarRow {
    /// The channel.
    pub channel: ChannelId,
    /// Name to show: the channel's, or the other participants' for a DM.
    pub name: String,
    /// Part of the sidebar it stands in.
    pub section: SidebarSection,
    /// Type.
    pub channel_type: ChannelType,
    /// Participants of a DM without the viewer, sorted; empty for other types.
    pub participants: Vec<PublicKey>,
    /// Strong label.
    pub strong: bool,
    /// The accent dot.
    pub dot: bool,
    /// The crossed-out bell.
    pub bell: bool,
    /// Whether it counts in an off-screen cue.
    pub counted: bool,
    /// Threads with unread replies, for the popover.
    pub threads: u32,
    /// Unread count as in [`UnreadSnapshot`].
    pub observed: Option<u32>,
    /// Attention count as in [`UnreadSnapshot`].
    pub attention: Option<u32>,
    /// Marked by hand.
    pub manual: Manual,
    /// What assistive technology reads.
    pub accessible_name: String,
    /// The viewer is a member. Otherwise it is an open channel that can be read as a timeline only.
    pub joined: bool,
    /// Archived by its metadata.
    pub archived: bool,
    /// Muted by the confirmed preference.
    pub muted: bool,
    /// Time of the newest message held, for sorting; seconds.
    pub latest_at: Option<u64>,
}

crate::ids::hidden_debug!(SidebarRow);

/// The sidebar, joined channels first by name within their section.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SidebarState {
    /// Rows in the order to draw.
    pub rows: Vec<Arc<SidebarRow>>,
    /// The roster shown is restored from this device and not confirmed by the relay yet (R8b).
    pub cached: bool,
}

/// State of read-state synchronisation (`unread.md` 9.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncState {
    /// Storage is being opened, or markers are being loaded for the first time.
    Loading,
    /// Nothing to publish.
    Local,
    /// Saved intent waits for publication.
    Pending,
    /// The relay took it; not yet seen there.
    Accepted,
    /// Seen there.
    Reconciled,
    /// Not connected.
    Stale,
    /// The last attempt failed.
    Error,
}

/// How complete the markers of other devices are known (`unread.md` 9.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completeness {
    /// Not known, also while disconnected.
    Unknown,
    /// A bounded query.
    Bounded,
    /// A complete snapshot.
    Snapshot,
}

/// What this device can do with read state (`unread.md` 9.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// Nothing: own blobs cannot be decrypted.
    Unsupported,
    /// Shows what others read, publishes nothing.
    ReadOnly,
    /// Everything.
    FrontierSync,
}

/// Read-state synchronisation at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncStatus {
    /// State.
    pub state: SyncState,
    /// Completeness of other devices' markers.
    pub completeness: Completeness,
    /// Saved intent that is not yet reconciled.
    pub pending: bool,
    /// What this device can do.
    pub capability: Capability,
    /// Why the state is an error.
    pub error: Option<Error>,
}

/// How far a mutation got when its call returned. `Saved` is the only durability there is: otherwise the call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncOutlook {
    /// Will be published.
    Pending,
    /// Stays on this device.
    LocalOnly,
}

/// Answer of a mutation: it is saved on this device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// Whether other devices will learn of it.
    pub sync: SyncOutlook,
}

/// What one surface shows, as the app reports it (`unread.md` 11).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Viewport {
    /// Front-most, interactive, nothing modal over it.
    pub active: bool,
    /// Positioning has finished.
    pub settled: bool,
    /// Fully visible rows, top to bottom. The first 128 count.
    pub visible: Vec<EventId>,
    /// The newest row, when its bottom edge shows at the physical bottom.
    pub bottom: Option<EventId>,
}

/// What the session is doing, for a status line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connectivity {
    /// Coarse phase.
    pub phase: Phase,
    /// One sentence for a person.
    pub sentence: String,
    /// Channels repaired so far and in all, while a repair runs.
    pub repair: Option<(u32, u32)>,
    /// Seconds until the next attempt, while waiting for one.
    pub retry_in: Option<u32>,
    /// Why it is not online, if it is not.
    pub error: Option<Error>,
}

/// Coarse phase of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Not started.
    Idle,
    /// Dialling or signing in.
    Connecting,
    /// Signed in and live.
    Online,
    /// Waiting for the next attempt.
    Offline,
    /// In the background.
    Suspended,
    /// Signing in is refused; only an action of the person helps.
    Refused,
    /// Closed.
    Closed,
}
