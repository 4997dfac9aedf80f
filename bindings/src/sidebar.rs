//! The sidebar: rows, and what lies beyond the visible part.

use waggle::model;
use waggle::session::{ListUpdate, RowChange, View};
use waggle::sidebar as core;

use crate::errors::{SessionError, ViewError};
use crate::ids::{ChannelId, PublicKey};
use crate::records::{Manual, mirror};
use crate::runtime::guarded;
use crate::timeline::index;

mirror! {
    /// Type of a channel by its metadata.
    ChannelType {
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
    SidebarSection {
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
}

/// One sidebar row, ready to draw.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Record)]
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
    /// Unread count; absent is unknown.
    pub observed: Option<u32>,
    /// Attention count; absent is unknown.
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
    /// Time of the newest message held, seconds since 1970.
    pub latest_at: Option<u64>,
}

impl From<&model::SidebarRow> for SidebarRow {
    fn from(value: &model::SidebarRow) -> Self {
        let model::SidebarRow {
            channel,
            name,
            section,
            channel_type,
            participants,
            strong,
            dot,
            bell,
            counted,
            threads,
            observed,
            attention,
            manual,
            accessible_name,
            joined,
            archived,
            muted,
            latest_at,
        } = value;
        Self {
            channel: (*channel).into(),
            name: name.clone(),
            section: (*section).into(),
            channel_type: (*channel_type).into(),
            participants: participants.iter().copied().map(PublicKey::from).collect(),
            strong: *strong,
            dot: *dot,
            bell: *bell,
            counted: *counted,
            threads: *threads,
            observed: *observed,
            attention: *attention,
            manual: (*manual).into(),
            accessible_name: accessible_name.clone(),
            joined: *joined,
            archived: *archived,
            muted: *muted,
            latest_at: *latest_at,
        }
    }
}

/// One step from the rows held to the newer ones. Apply them in order.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Enum)]
pub enum SidebarChange {
    /// A row appears at this index.
    Insert {
        /// Index.
        at: u32,
        /// The row.
        row: SidebarRow,
    },
    /// The row at this index is another version of itself.
    Update {
        /// Index.
        at: u32,
        /// The row.
        row: SidebarRow,
    },
    /// The row at this index disappears.
    Remove {
        /// Index.
        at: u32,
    },
}

/// The rows of an update.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Enum)]
pub enum SidebarRows {
    /// All of them, in drawing order.
    Reset {
        /// The rows.
        rows: Vec<SidebarRow>,
    },
    /// Only what changed since the version asked from.
    Changes {
        /// The steps.
        changes: Vec<SidebarChange>,
    },
}

/// A version of the sidebar.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Record)]
pub struct SidebarUpdate {
    /// Grows with every change; ask for the next one with it.
    pub version: u64,
    /// The channels shown are restored from this device and not confirmed by the relay yet.
    pub cached: bool,
    /// The rows.
    pub rows: SidebarRows,
}

impl SidebarUpdate {
    fn of(version: u64, update: &ListUpdate<model::SidebarState, model::SidebarRow>) -> Self {
        let (state, rows) = match update {
            ListUpdate::Reset(state) => {
                (state, SidebarRows::Reset { rows: state.rows.iter().map(|row| (&**row).into()).collect() })
            }
            ListUpdate::Changes(steps, state) => {
                (state, SidebarRows::Changes { changes: steps.iter().map(change).collect() })
            }
        };
        let model::SidebarState { rows: _, cached } = **state;
        Self { version, cached, rows }
    }
}

fn change(step: &RowChange<model::SidebarRow>) -> SidebarChange {
    match step {
        RowChange::Insert(at, row) => SidebarChange::Insert { at: index(*at), row: (&**row).into() },
        RowChange::Update(at, row) => SidebarChange::Update { at: index(*at), row: (&**row).into() },
        RowChange::Remove(at) => SidebarChange::Remove { at: index(*at) },
    }
}

/// Vertical extent, top to bottom, in any unit; the same one for rows and viewport.
#[derive(Debug, Clone, Copy, PartialEq, uniffi::Record)]
pub struct Extent {
    /// Upper edge.
    pub top: f64,
    /// Lower edge; larger than `top` for anything that has a size.
    pub bottom: f64,
}

impl From<Extent> for core::Extent {
    fn from(value: Extent) -> Self {
        let Extent { top, bottom } = value;
        Self { top, bottom }
    }
}

/// One row as the app placed it. The same conversation may be placed several times.
#[derive(Debug, Clone, PartialEq, uniffi::Record)]
pub struct Placed {
    /// The conversation.
    pub channel: ChannelId,
    /// Where it is; for a row of a collapsed section, where the section's summary is.
    pub extent: Extent,
    /// It stands in a collapsed section, which has to be expanded to show it.
    pub collapsed: bool,
    /// A search hides it.
    pub filtered: bool,
}

/// The row to scroll to.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Record)]
pub struct CueTarget {
    /// The conversation.
    pub channel: ChannelId,
    /// Which of the placed rows.
    pub index: u32,
    /// Its section has to be expanded first.
    pub collapsed: bool,
}

/// One edge of the list. With a count of zero there is nothing to draw.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Record)]
pub struct Cue {
    /// Distinct conversations.
    pub count: u32,
    /// The nearest row.
    pub target: Option<CueTarget>,
    /// The other person of up to three one-to-one DMs, nearest first.
    pub previews: Vec<PublicKey>,
    /// Some conversation wants attention.
    pub attention: bool,
    /// What assistive technology reads; empty when there is nothing.
    pub accessible_name: String,
}

impl From<core::Cue> for Cue {
    fn from(value: core::Cue) -> Self {
        let core::Cue { count, target, previews, attention, accessible_name } = value;
        let target = target.map(|core::CueTarget { channel, index: at, collapsed }| CueTarget {
            channel: channel.into(),
            index: index(at),
            collapsed,
        });
        Self {
            count,
            target,
            previews: previews.into_iter().map(PublicKey::from).collect(),
            attention,
            accessible_name,
        }
    }
}

/// What lies beyond both edges of the visible part.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Record)]
pub struct Cues {
    /// Upper edge.
    pub above: Cue,
    /// Lower edge.
    pub below: Cue,
}

impl From<core::Cues> for Cues {
    fn from(value: core::Cues) -> Self {
        let core::Cues { above, below } = value;
        Self { above: above.into(), below: below.into() }
    }
}

/// The sidebar's rows as they change.
#[derive(Debug, uniffi::Object)]
pub struct SidebarView(pub(crate) View<model::SidebarState>);

#[uniffi::export]
impl SidebarView {
    /// Everything, at once.
    pub fn current(&self) -> SidebarUpdate {
        let now = self.0.current();
        SidebarUpdate::of(now.version, &ListUpdate::Reset(now.value))
    }

    /// Waits for a version newer than `after`, and answers with the rows that changed since where it still can; 0 takes everything.
    /// Ends with `Closed` after `cancel` or when the session closed and its last version was seen. A cancelled wait loses nothing.
    pub async fn next(&self, after: u64) -> Result<SidebarUpdate, ViewError> {
        let (version, update) = guarded(self.0.next_changes(after)).await?;
        Ok(SidebarUpdate::of(version, &update))
    }

    /// Ends this view's waits, now and later. Idempotent.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// What lies beyond the edges, for rows at measured places. Fails with `InvalidArgument` for a channel id that is none.
    pub fn cues(&self, placed: Vec<Placed>, viewport: Extent) -> Result<Cues, SessionError> {
        let placed = placed
            .into_iter()
            .map(|Placed { channel, extent, collapsed, filtered }| {
                Ok(core::Placed { channel: channel.parse()?, extent: extent.into(), collapsed, filtered })
            })
            .collect::<Result<Vec<_>, waggle::error::Error>>()?;
        Ok(core::cues(&self.0.current().value, &placed, viewport.into()).into())
    }

    /// What lies beyond the edges when the newest rows from index `first` to `last` show, if only partly. `first` above `last`: none shows.
    pub fn cues_of_range(&self, first: u32, last: u32) -> Cues {
        core::cues_of_range(&self.0.current().value, first as usize, last as usize).into()
    }
}
