//! What a scenario needs of one device, as messages: operations ([`Op`]) and observations ([`Observe`] → [`Fact`]).
//!
//! Everything here is plain data with ids as hex and channels as UUIDs, so that a device may live in this process (the
//! native driver) or in another one that is spoken to in JSON lines, one [`Ask`] a line answered by one [`Reply`]: the
//! Kotlin and Swift bindings are driven so. Names and refs of scenario files never reach a driver.
//!
//! A driver decides nothing and waits for nothing by itself: an operation that is not finished when the device has come to
//! rest stays in flight, and the runner looks at its outcome later.

use std::collections::BTreeMap;
use std::fmt;

use futures_util::future::LocalBoxFuture;
use serde::{Deserialize, Serialize};

/// Why an operation failed: the stable codes of `waggle::error::Error::code`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the codes that `waggle::error` describes")]
pub enum Code {
    NotFound,
    Denied,
    InvalidTarget,
    InvalidArgument,
    Cancelled,
    Storage,
    Unsupported,
    ReadOnly,
    Capacity,
    Closed,
    Busy,
    Network,
    RelayRefused,
    InvalidAnswer,
    Clock,
}

impl Code {
    /// The code as files write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Denied => "denied",
            Self::InvalidTarget => "invalid_target",
            Self::InvalidArgument => "invalid_argument",
            Self::Cancelled => "cancelled",
            Self::Storage => "storage",
            Self::Unsupported => "unsupported",
            Self::ReadOnly => "read_only",
            Self::Capacity => "capacity",
            Self::Closed => "closed",
            Self::Busy => "busy",
            Self::Network => "network",
            Self::RelayRefused => "relay_refused",
            Self::InvalidAnswer => "invalid_answer",
            Self::Clock => "clock",
        }
    }

    /// The code of that name.
    pub fn named(name: &str) -> Option<Self> {
        serde_json::from_value(name.into()).ok()
    }
}

/// A failed operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Its code; none where the driver itself is at fault (a device that was never started, a broken pipe).
    pub code: Option<Code>,
    /// What happened, for the trace.
    pub text: String,
}

impl Failure {
    /// A failure with a code.
    pub fn coded(code: Code, text: impl Into<String>) -> Self {
        Self { code: Some(code), text: text.into() }
    }

    /// A fault of driver or file, which no `fails` can expect.
    pub fn usage(text: impl Into<String>) -> Self {
        Self { code: None, text: text.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "{} ({})", code.name(), self.text),
            None => f.write_str(&self.text),
        }
    }
}

impl From<waggle::error::Error> for Failure {
    fn from(error: waggle::error::Error) -> Self {
        Self { code: Code::named(error.code()), text: error.to_string() }
    }
}

/// What an unread question is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum TargetId {
    /// A channel.
    Channel {
        /// UUID.
        channel: String,
    },
    /// A thread.
    Thread {
        /// UUID.
        channel: String,
        /// Root id.
        root: String,
    },
    /// One message.
    Message {
        /// UUID.
        channel: String,
        /// Event id.
        message: String,
    },
}

impl TargetId {
    /// The channel it lies in.
    pub fn channel(&self) -> &str {
        match self {
            Self::Channel { channel } | Self::Thread { channel, .. } | Self::Message { channel, .. } => channel,
        }
    }
}

/// A timeline or surface: a channel's, or a thread's when `root` is set.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// UUID.
    pub channel: String,
    /// Root id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
}

/// Failures of the device's disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiskFault {
    /// No space left.
    DiskFull,
    /// Input/output error.
    DiskIoError,
}

/// How an app presents a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "as in `waggle::model::PresentationClass`")]
pub enum Class {
    Normal,
    Solo,
    Promoted,
}

/// What a surface reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewportReport {
    /// Fully visible rows, top to bottom.
    pub rows: Vec<String>,
    /// The row whose bottom edge shows at the physical bottom.
    pub bottom: Option<String>,
    /// Front-most and interactive.
    pub active: bool,
    /// Positioning has finished.
    pub settled: bool,
}

/// One thing a device is told to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
#[expect(missing_docs, reason = "fields are named as in scenario files")]
pub enum Op {
    /// Open client and session on the device's storage and connect.
    Start,
    /// Close the session in order.
    Stop,
    /// Drop everything with no farewell.
    Kill,
    /// Leave the community on this device.
    Leave,
    /// App to background.
    Suspend,
    /// App to foreground.
    Resume,
    /// Copy the stopped device's journal aside.
    Backup,
    /// Put that copy back.
    Restore,
    /// Delete the disposable message cache.
    WipeCache,
    /// The wall clock is off the relay's by so many seconds.
    Clock { offset: i64 },
    /// Connection cut or restored.
    Network { online: bool },
    /// The next journal save waits.
    HoldSave,
    /// It waits no longer.
    ReleaseSave,
    /// Journal saves fail: after `skip` of them, `times` times.
    DiskFault { fault: DiskFault, times: u32, skip: u32 },
    /// `session.ensure`.
    Ensure,
    /// `session.refresh`.
    Refresh,
    /// `session.retry_sync`.
    RetrySync,
    /// `session.flush`.
    Flush,
    /// Let queued look-ups run.
    SettleLookups,
    /// Open a timeline: its head page. Opening an open one disposes of the old one first.
    Open { place: Place, limit: Option<u32> },
    /// One older page (for a thread: a further one).
    Older { place: Place },
    /// Dispose of a timeline.
    Close { place: Place },
    /// A surface's report; makes the surface when there is none.
    Show { place: Place, viewport: ViewportReport },
    /// Close a surface.
    Hide { place: Place },
    /// `session.mark_through`.
    MarkThrough { target: TargetId, message: String },
    /// `session.mark_channel_read`.
    MarkChannelRead { channel: String },
    /// `session.mark_all_channels_read`.
    MarkAllRead,
    /// `session.mark_unread`.
    MarkUnread { target: TargetId },
    /// `session.clear_unread`.
    ClearUnread { target: TargetId },
    /// `session.follow`.
    Follow { channel: String, root: String, value: bool },
    /// `session.mute`.
    Mute { channel: String, value: bool },
    /// `session.present_as`.
    PresentAs { channel: String, class: Class },
}

/// One thing to look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "observe", rename_all = "snake_case")]
#[expect(missing_docs, reason = "fields are named as in scenario files")]
pub enum Observe {
    /// [`Fact::Unread`].
    Unread { target: TargetId },
    /// [`Fact::Timeline`] of a timeline that was opened.
    Timeline { place: Place },
    /// [`Fact::Activity`].
    Activity { channel: String },
    /// [`Fact::Sidebar`].
    Sidebar,
    /// [`Fact::Following`].
    Following { channel: String, root: String },
    /// [`Fact::Journal`]: for every key the greatest value saved over everything the device keeps.
    Journal { keys: Vec<String> },
    /// [`Fact::Sync`].
    Sync,
    /// [`Fact::PrimarySlot`] of this installation.
    PrimarySlot,
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
#[expect(missing_docs, reason = "described by the types within")]
pub enum Fact {
    Unread(UnreadFact),
    Timeline(TimelineFact),
    Activity { items: Option<Vec<ActivityItem>> },
    Sidebar { rows: Vec<SidebarFact> },
    Following { value: bool },
    Journal { values: BTreeMap<String, Option<u64>> },
    Sync(SyncFact),
    PrimarySlot { slot: Option<String> },
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[expect(missing_docs, reason = "words of the scenario format")]
        pub enum $name { $(#[serde(rename = $word)] $variant),+ }

        impl $name {
            /// All words.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $word),+ })
            }
        }
    };
}

words!(
    /// Whether anything is known.
    Coverage { Observed = "observed", Unknown = "unknown" }
);
words!(
    /// How current it is.
    Freshness { Observed = "observed", Stale = "stale", Unknown = "unknown" }
);
words!(
    /// Marked unread by hand.
    Manual { None = "none", LocalOnly = "local-only", Remote = "remote" }
);
words!(
    /// Whether there are older rows.
    More { Yes = "yes", No = "no", Unknown = "unknown" }
);
words!(
    /// State of read-state synchronisation.
    SyncState {
        Loading = "loading", Local = "local", Pending = "pending", Accepted = "accepted",
        Reconciled = "reconciled", Stale = "stale", Error = "error",
    }
);
words!(
    /// How complete other devices' markers are known.
    Completeness { Unknown = "unknown", Bounded = "bounded", Snapshot = "snapshot" }
);
words!(
    /// What the device can do with read state.
    Capability { Unsupported = "unsupported", ReadOnly = "read-only", FrontierSync = "frontier-sync" }
);

/// What is unread about a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "as in `waggle::model::UnreadSnapshot`")]
pub struct UnreadFact {
    pub observed: Option<u32>,
    pub attention: Option<u32>,
    pub latest: Option<String>,
    pub coverage: Coverage,
    pub freshness: Freshness,
    pub manual: Manual,
    pub pending: bool,
    pub error: bool,
}

/// A timeline as a person sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineFact {
    /// Rows, oldest first.
    pub rows: Vec<RowFact>,
    /// Whether there are older ones.
    pub more: More,
    /// Whether some rows stand behind a gap.
    pub gap: bool,
    /// The first unread row when it was opened.
    pub first_unread: Option<String>,
}

/// A row of a timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "as in `waggle::model::TimelineRow`")]
pub struct RowFact {
    pub id: String,
    pub text: String,
    pub edited: bool,
    pub replies: u32,
    pub reactions: BTreeMap<String, u32>,
    pub thread_dot: bool,
}

/// A thread with unread replies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "as in `waggle::model::ThreadActivityItem`")]
pub struct ActivityItem {
    pub root: String,
    pub latest: String,
    pub count: u32,
}

/// A row of the sidebar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "as in `waggle::model::SidebarRow`")]
pub struct SidebarFact {
    pub channel: String,
    pub strong: bool,
    pub dot: bool,
    pub bell: bool,
    pub counted: bool,
}

/// Read-state synchronisation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "as in `waggle::model::SyncStatus`")]
pub struct SyncFact {
    pub state: SyncState,
    pub completeness: Completeness,
    pub pending: bool,
    pub capability: Capability,
}

/// A line to a driver in another process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[expect(missing_docs, reason = "described by the types within")]
pub enum Ask {
    Op(Op),
    Observe(Observe),
}

/// Its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The operation is done.
    Done,
    /// It failed.
    Failed(Failure),
    /// What was seen.
    Seen(Fact),
}

/// One device.
pub trait Driver {
    /// Begins an operation. The future owns all it needs: it may outlive later calls, and dropping it abandons the call.
    fn call(&self, op: Op) -> LocalBoxFuture<'static, Result<(), Failure>>;

    /// Looks at something. It never waits for time or network.
    fn observe(&self, what: Observe) -> LocalBoxFuture<'static, Result<Fact, Failure>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_core() {
        let error = waggle::error::Error::InvalidTarget { why: "x" };
        assert_eq!(Failure::from(error).code, Some(Code::InvalidTarget));
        for name in ["not_found", "denied", "read_only", "relay_refused", "invalid_answer", "clock"] {
            assert_eq!(Code::named(name).map(Code::name), Some(name));
        }
        assert_eq!(Code::named("other"), None);
    }

    #[test]
    fn messages_are_json_lines() {
        let place = Place { channel: "c".into(), root: None };
        let viewport = ViewportReport { rows: vec!["m".into()], bottom: None, active: true, settled: true };
        let asks = [
            Ask::Op(Op::Start),
            Ask::Op(Op::Show { place: place.clone(), viewport }),
            Ask::Op(Op::MarkUnread { target: TargetId::Thread { channel: "c".into(), root: "r".into() } }),
            Ask::Observe(Observe::Timeline { place }),
        ];
        for ask in asks {
            let line = serde_json::to_string(&ask).unwrap();
            assert!(!line.contains('\n'));
            assert_eq!(serde_json::from_str::<Ask>(&line).unwrap(), ask);
        }
        let fact = Fact::Journal { values: [("k".to_owned(), Some(7)), ("l".to_owned(), None)].into() };
        let line = serde_json::to_string(&Reply::Seen(fact.clone())).unwrap();
        assert_eq!(serde_json::from_str::<Reply>(&line).unwrap(), Reply::Seen(fact));
    }
}
