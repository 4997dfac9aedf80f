//! Timelines: rows as records in batches, and the view that hands over only what changed.

use std::sync::Arc;

use waggle::model;
use waggle::session::{ListUpdate, RowChange, Timeline as CoreTimeline, TimelineOptions as CoreOptions, View};

use crate::errors::{Failure, SessionError, ViewError};
use crate::ids::{ChannelId, EventId, PublicKey};
use crate::records::{failure, mirror};
use crate::runtime::guarded;

mirror! {
    /// What sort of row it is; how it looks is the app's business.
    RowKind {
        /// A message.
        Message,
        /// A diff.
        Diff,
        /// A notice of the relay.
        Notice,
        /// A job of an agent.
        Job,
        /// A huddle.
        Huddle,
    }
    /// Whether there are older rows; for a thread, further ones.
    More {
        /// Yes.
        Yes,
        /// No, by the relay's word.
        No,
        /// Not known.
        Unknown,
    }
    /// Who vouches for counts and edits that the relay sends along.
    OverlayTrust {
        /// Verified against the relay's advertised key.
        Identity,
        /// The relay advertises no key; the connection stands in.
        Transport,
        /// Nothing does.
        None,
    }
}

/// How reactions of one emoji add up.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Record)]
pub struct Reaction {
    /// The reaction's content; `+` when that was empty.
    pub emoji: String,
    /// How many people.
    pub count: u32,
    /// Whether the viewer is one of them.
    pub mine: bool,
}

impl From<&model::Reaction> for Reaction {
    fn from(value: &model::Reaction) -> Self {
        let model::Reaction { emoji, count, mine } = value;
        Self { emoji: emoji.clone(), count: *count, mine: *mine }
    }
}

/// One finished row of a timeline.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Record)]
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
    /// Text after edits.
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
    /// Replies to it.
    pub replies: u32,
    /// Whether its thread has unread replies or was marked unread.
    pub thread_dot: bool,
    /// Reactions, most first.
    pub reactions: Vec<Reaction>,
    /// Starts a new day, in the time zone offset the timeline was opened with.
    pub starts_day: bool,
    /// Continues the group of the row above.
    pub grouped: bool,
}

impl From<&model::TimelineRow> for TimelineRow {
    fn from(value: &model::TimelineRow) -> Self {
        let model::TimelineRow {
            id,
            created_at,
            author,
            author_name,
            kind,
            text,
            edited,
            own,
            mentioned,
            quiet,
            thread_root,
            replies,
            thread_dot,
            reactions,
            starts_day,
            grouped,
        } = value;
        Self {
            id: (*id).into(),
            created_at: *created_at,
            author: (*author).into(),
            author_name: author_name.clone(),
            kind: (*kind).into(),
            text: text.clone(),
            edited: *edited,
            own: *own,
            mentioned: *mentioned,
            quiet: *quiet,
            thread_root: thread_root.map(EventId::from),
            replies: *replies,
            thread_dot: *thread_dot,
            reactions: reactions.iter().map(Reaction::from).collect(),
            starts_day: *starts_day,
            grouped: *grouped,
        }
    }
}

/// A timeline without its rows.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Record)]
pub struct TimelineStatus {
    /// The channel.
    pub channel: ChannelId,
    /// The root, for a thread. The root itself is the first row when it is held.
    pub root: Option<EventId>,
    /// Whether `load_older` has something to do.
    pub more: More,
    /// Rows above this one are not known to be contiguous with it: index into the rows.
    pub gap: Option<u32>,
    /// The first unread row when the timeline was opened; fixed for the visit.
    pub first_unread: Option<EventId>,
    /// A page is being read.
    pub loading: bool,
    /// The rows come from this device only; no page of this connection has been accepted yet.
    pub restored: bool,
    /// Who vouches for counts and edits.
    pub trust: OverlayTrust,
    /// Why the last automatic read failed.
    pub error: Option<Failure>,
}

/// One step from the rows held to the newer ones. Apply them in order.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Enum)]
pub enum TimelineChange {
    /// A row appears at this index.
    Insert {
        /// Index.
        at: u32,
        /// The row.
        row: TimelineRow,
    },
    /// The row at this index is another version of itself.
    Update {
        /// Index.
        at: u32,
        /// The row.
        row: TimelineRow,
    },
    /// The row at this index disappears.
    Remove {
        /// Index.
        at: u32,
    },
}

/// The rows of an update.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Enum)]
pub enum TimelineRows {
    /// All of them, oldest first.
    Reset {
        /// The rows.
        rows: Vec<TimelineRow>,
    },
    /// Only what changed since the version asked from.
    Changes {
        /// The steps.
        changes: Vec<TimelineChange>,
    },
}

/// A version of a timeline.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Record)]
pub struct TimelineUpdate {
    /// Grows with every change; ask for the next one with it.
    pub version: u64,
    /// Everything but the rows.
    pub status: TimelineStatus,
    /// The rows.
    pub rows: TimelineRows,
}

/// Lists are bounded far below 2^32.
pub(crate) fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

fn status(state: &model::TimelineState) -> TimelineStatus {
    let model::TimelineState { channel, root, rows: _, more, gap, first_unread, loading, restored, trust, error } =
        state;
    TimelineStatus {
        channel: (*channel).into(),
        root: root.map(EventId::from),
        more: (*more).into(),
        gap: gap.map(index),
        first_unread: first_unread.map(EventId::from),
        loading: *loading,
        restored: *restored,
        trust: (*trust).into(),
        error: failure(error.as_ref()),
    }
}

fn reset(state: &model::TimelineState) -> TimelineRows {
    TimelineRows::Reset { rows: state.rows.iter().map(|row| TimelineRow::from(&**row)).collect() }
}

fn change(step: &RowChange<model::TimelineRow>) -> TimelineChange {
    match step {
        RowChange::Insert(at, row) => TimelineChange::Insert { at: index(*at), row: (&**row).into() },
        RowChange::Update(at, row) => TimelineChange::Update { at: index(*at), row: (&**row).into() },
        RowChange::Remove(at) => TimelineChange::Remove { at: index(*at) },
    }
}

impl TimelineUpdate {
    fn of(version: u64, update: &ListUpdate<model::TimelineState, model::TimelineRow>) -> Self {
        let (state, rows) = match update {
            ListUpdate::Reset(state) => (state, reset(state)),
            ListUpdate::Changes(steps, state) => {
                (state, TimelineRows::Changes { changes: steps.iter().map(change).collect() })
            }
        };
        Self { version, status: status(state), rows }
    }
}

/// A timeline's rows as they change.
#[derive(Debug, uniffi::Object)]
pub struct TimelineView(View<model::TimelineState>);

#[uniffi::export]
impl TimelineView {
    /// Everything, at once.
    pub fn current(&self) -> TimelineUpdate {
        let now = self.0.current();
        TimelineUpdate::of(now.version, &ListUpdate::Reset(now.value))
    }

    /// Waits for a version newer than `after`, and answers with the rows that changed since where it still can; 0 takes everything.
    /// Ends with `Closed` after `cancel` or when the timeline closed and its last version was seen. A cancelled wait loses nothing.
    pub async fn next(&self, after: u64) -> Result<TimelineUpdate, ViewError> {
        let (version, update) = guarded(self.0.next_changes(after)).await?;
        Ok(TimelineUpdate::of(version, &update))
    }

    /// Ends this view's waits, now and later. Idempotent.
    pub fn cancel(&self) {
        self.0.cancel();
    }
}

/// How a timeline is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, uniffi::Record)]
pub struct TimelineOptions {
    /// Rows a page: 1 to 200, for a thread 500. Absent takes 50, or 100.
    #[uniffi(default = None)]
    pub limit: Option<u32>,
    /// Seconds east of UTC by which days begin.
    #[uniffi(default = 0)]
    pub utc_offset: i32,
}

impl From<TimelineOptions> for CoreOptions {
    fn from(value: TimelineOptions) -> Self {
        let TimelineOptions { limit, utc_offset } = value;
        Self { limit, utc_offset }
    }
}

/// An open timeline. Close it when its screen goes; it also closes when the last reference goes.
#[derive(Debug, uniffi::Object)]
pub struct Timeline(pub(crate) CoreTimeline);

#[uniffi::export]
impl Timeline {
    /// The rows as they change. Every call makes a view of its own, cancelled by itself.
    pub fn view(&self) -> Arc<TimelineView> {
        Arc::new(TimelineView(self.0.view()))
    }

    /// One more page: an older one for a channel, the next one for a thread. Does nothing when there is none. An open gap is filled first.
    /// The rows stay as they were when it fails.
    pub async fn load_older(&self) -> Result<(), SessionError> {
        Ok(guarded(self.0.load_older()).await?)
    }

    /// Pages until the first unread row of this visit is among the rows; answers whether it is.
    pub async fn jump_to_first_unread(&self) -> Result<bool, SessionError> {
        Ok(guarded(self.0.jump_to_first_unread()).await?)
    }

    /// Ends it; when this returns, it is closed. Idempotent.
    pub async fn close(&self) -> Result<(), SessionError> {
        Ok(guarded(self.0.close()).await?)
    }
}
