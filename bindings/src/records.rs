//! Small facts that cross as values: unread, thread activity, synchronisation, connection, viewports.

use waggle::error::Error;
use waggle::model;

use crate::errors::Failure;
use crate::ids::{EventId, PublicKey};

/// A fieldless enum of the core under the same names. The match names every variant, so a new one cannot be forgotten.
macro_rules! mirror {
    ($($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident),+ $(,)? })+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, uniffi::Enum)]
        pub enum $name { $($(#[$vdoc])* $variant),+ }

        impl From<waggle::model::$name> for $name {
            fn from(value: waggle::model::$name) -> Self {
                match value { $(waggle::model::$name::$variant => Self::$variant),+ }
            }
        }
    )+};
}
pub(crate) use mirror;

mirror! {
    /// Whether anything is known about a target's messages.
    Coverage {
        /// Evidence is held.
        Observed,
        /// Nothing is known; counts are absent.
        Unknown,
    }
    /// How current the evidence is.
    Freshness {
        /// Live, or just read.
        Observed,
        /// Older than the last connection loss, failure or overflow.
        Stale,
        /// Nothing was observed yet.
        Unknown,
    }
    /// Whether something was marked unread by hand.
    Manual {
        /// No.
        None,
        /// On this device, which is the only one that knows.
        LocalOnly,
        /// By another client.
        Remote,
    }
    /// State of read-state synchronisation.
    SyncState {
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
    /// How complete the markers of other devices are known.
    Completeness {
        /// Not known, also while disconnected.
        Unknown,
        /// A bounded query.
        Bounded,
        /// A complete snapshot.
        Snapshot,
    }
    /// What this device can do with read state.
    Capability {
        /// Nothing: own blobs cannot be decrypted.
        Unsupported,
        /// Shows what others read, publishes nothing.
        ReadOnly,
        /// Everything.
        FrontierSync,
    }
    /// Whether other devices will learn of a change.
    SyncOutlook {
        /// It will be published.
        Pending,
        /// It stays on this device.
        LocalOnly,
    }
    /// Coarse phase of the connection.
    Phase {
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
}

pub(crate) fn failure(error: Option<&Error>) -> Option<Failure> {
    error.map(Failure::from)
}

/// What is unread about one target.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Record)]
pub struct UnreadSnapshot {
    /// Unread members among the evidence held; absent is unknown, never a made-up zero.
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
    /// Some retained reply waits for its look-up.
    pub pending: bool,
    /// The standing error of the last evidence repair.
    pub error: Option<Failure>,
}

impl From<&model::UnreadSnapshot> for UnreadSnapshot {
    fn from(value: &model::UnreadSnapshot) -> Self {
        let model::UnreadSnapshot { observed, attention, latest, coverage, freshness, manual, pending, error } = value;
        Self {
            observed: *observed,
            attention: *attention,
            latest: latest.map(EventId::from),
            coverage: (*coverage).into(),
            freshness: (*freshness).into(),
            manual: (*manual).into(),
            pending: *pending,
            error: failure(error.as_ref()),
        }
    }
}

/// One thread with unread replies.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Record)]
pub struct ThreadActivityItem {
    /// Resolved root.
    pub root: EventId,
    /// Newest unread reply.
    pub latest: EventId,
    /// Its author.
    pub author: PublicKey,
    /// Its time, seconds since 1970.
    pub created_at: u64,
    /// Its text after edits.
    pub text: String,
    /// Unread replies in the thread.
    pub count: u32,
}

impl From<&model::ThreadActivityItem> for ThreadActivityItem {
    fn from(value: &model::ThreadActivityItem) -> Self {
        let model::ThreadActivityItem { root, latest, author, created_at, text, count } = value;
        Self {
            root: (*root).into(),
            latest: (*latest).into(),
            author: (*author).into(),
            created_at: *created_at,
            text: text.clone(),
            count: *count,
        }
    }
}

/// Threads of a channel with unread replies, newest first; absent when the channel is not accessible or nothing is known.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Record)]
pub struct ThreadActivity {
    /// The threads.
    pub items: Option<Vec<ThreadActivityItem>>,
}

impl From<&model::ThreadActivity> for ThreadActivity {
    fn from(value: &model::ThreadActivity) -> Self {
        let model::ThreadActivity { items } = value;
        Self { items: items.as_ref().map(|items| items.iter().map(ThreadActivityItem::from).collect()) }
    }
}

/// Read-state synchronisation at one moment.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Record)]
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
    pub error: Option<Failure>,
}

impl From<&model::SyncStatus> for SyncStatus {
    fn from(value: &model::SyncStatus) -> Self {
        let model::SyncStatus { state, completeness, pending, capability, error } = value;
        Self {
            state: (*state).into(),
            completeness: (*completeness).into(),
            pending: *pending,
            capability: (*capability).into(),
            error: failure(error.as_ref()),
        }
    }
}

/// How far a running repair of counts has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, uniffi::Record)]
pub struct RepairProgress {
    /// Channels done.
    pub done: u32,
    /// Channels in all.
    pub total: u32,
}

/// What the session is doing, for a status line.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Record)]
pub struct Connectivity {
    /// Coarse phase.
    pub phase: Phase,
    /// One sentence for a person.
    pub sentence: String,
    /// Progress of a running repair.
    pub repair: Option<RepairProgress>,
    /// Seconds until the next attempt, while waiting for one.
    pub retry_in: Option<u32>,
    /// Why it is not online, if it is not.
    pub error: Option<Failure>,
}

impl From<&model::Connectivity> for Connectivity {
    fn from(value: &model::Connectivity) -> Self {
        let model::Connectivity { phase, sentence, repair, retry_in, error } = value;
        Self {
            phase: (*phase).into(),
            sentence: sentence.clone(),
            repair: repair.map(|(done, total)| RepairProgress { done, total }),
            retry_in: *retry_in,
            error: failure(error.as_ref()),
        }
    }
}

/// Answer of a change: it is saved on this device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, uniffi::Record)]
pub struct Receipt {
    /// Whether other devices will learn of it.
    pub sync: SyncOutlook,
}

impl From<model::Receipt> for Receipt {
    fn from(value: model::Receipt) -> Self {
        let model::Receipt { sync } = value;
        Self { sync: sync.into() }
    }
}

/// How an app presents a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, uniffi::Enum)]
pub enum PresentationClass {
    /// As its type says.
    Normal,
    /// A Solo chat.
    Solo,
    /// The promoted DM.
    Promoted,
}

impl From<PresentationClass> for model::PresentationClass {
    fn from(value: PresentationClass) -> Self {
        match value {
            PresentationClass::Normal => Self::Normal,
            PresentationClass::Solo => Self::Solo,
            PresentationClass::Promoted => Self::Promoted,
        }
    }
}

/// What one surface shows, as the app reports it.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Record)]
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

impl TryFrom<Viewport> for model::Viewport {
    type Error = Error;

    fn try_from(value: Viewport) -> Result<Self, Error> {
        let Viewport { active, settled, visible, bottom } = value;
        Ok(Self {
            active,
            settled,
            visible: visible.iter().map(EventId::parse).collect::<Result<_, _>>()?,
            bottom: bottom.as_ref().map(EventId::parse).transpose()?,
        })
    }
}
