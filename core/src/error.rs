//! Errors are data: what happened, whether trying again helps, and what a person may be told.
//!
//! No variant carries content, an id, a key or a host, so every error may be logged (policy test).

/// What [`Error::InvalidAnswer`] says of text that is no NIP-44 payload at all, so that a reader of it can tell that from one that is
/// not its own.
pub const MALFORMED_PAYLOAD: &str = "malformed payload";

/// Everything a call of Waggle can fail with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The message or root is not held by this device (R16b).
    #[error("not found: {what}")]
    NotFound {
        /// What was looked for.
        what: &'static str,
    },
    /// The channel is not accessible to this account now. Says nothing about whether it exists (R16b).
    #[error("no access to this channel")]
    Denied,
    /// A target of the wrong sort, or a message that does not belong to its target (R16, R16b).
    #[error("the target does not fit: {why}")]
    InvalidTarget {
        /// Which rule was broken.
        why: &'static str,
    },
    /// An argument that is malformed or out of bounds.
    #[error("invalid argument: {what}")]
    InvalidArgument {
        /// Which argument.
        what: &'static str,
    },
    /// Something that happened meanwhile made the call void: access lost, cache cleared, closed surface, newer intent.
    #[error("cancelled: {why}")]
    Cancelled {
        /// What happened.
        why: &'static str,
    },
    /// The disk refused; nothing was changed.
    #[error("storage failed: {kind}")]
    Storage {
        /// What sort of failure.
        kind: StorageKind,
    },
    /// The relay, platform or configuration cannot do this.
    #[error("not supported: {what}")]
    Unsupported {
        /// What is missing.
        what: &'static str,
    },
    /// This device has no signer, so nothing can be published (`unread.md` 9.6).
    #[error("this device cannot sign")]
    ReadOnly,
    /// A bound was reached.
    #[error("capacity reached: {what}")]
    Capacity {
        /// Which bound; see `limits`.
        what: &'static str,
    },
    /// The session or client was closed.
    #[error("closed")]
    Closed,
    /// Another call or process is doing the same.
    #[error("busy: {what}")]
    Busy {
        /// What is in use.
        what: &'static str,
    },
    /// No usable answer: no connection, cut, timed out, 5xx, truncated.
    #[error("no usable answer from the relay: {why}")]
    Network {
        /// What happened.
        why: NetworkFailure,
    },
    /// The relay answered and refused.
    #[error("the relay refused: {why}")]
    RelayRefused {
        /// The class of refusal.
        why: Refusal,
        /// Seconds to wait that the relay named, if it did.
        retry_after: Option<u32>,
    },
    /// The relay answered with something that cannot be accepted.
    #[error("the relay's answer is invalid: {why}")]
    InvalidAnswer {
        /// Which check failed.
        why: &'static str,
    },
    /// A fault of Waggle itself: a task panicked. What was saved is safe.
    #[error("failed inside: {task}")]
    Failed {
        /// Which task.
        task: &'static str,
    },
    /// The device clock is too far from the relay's to act.
    #[error("the device clock is {skew} s off the relay's")]
    Clock {
        /// Device time minus relay time, seconds.
        skew: i64,
    },
}

/// Kinds of storage failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StorageKind {
    /// No space left.
    #[error("disk full")]
    Full,
    /// Read or write error.
    #[error("input/output error")]
    Io,
    /// The stored record cannot be read; it was left untouched (`unread.md` 8.1).
    #[error("stored data is damaged")]
    Corrupt,
    /// Another process holds the file.
    #[error("locked by another process")]
    Locked,
    /// Written by a newer version of Waggle.
    #[error("stored by a newer version")]
    NewerVersion,
}

/// Kinds of missing answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NetworkFailure {
    /// There is no connection now.
    #[error("offline")]
    Offline,
    /// The connection was cut while waiting.
    #[error("connection lost")]
    Lost,
    /// No answer in time.
    #[error("timed out")]
    TimedOut,
    /// The relay failed (5xx).
    #[error("relay error {0}")]
    Server(u16),
    /// The answer ended early or was no JSON.
    #[error("truncated answer")]
    Truncated,
    /// The answer was larger than its bound; reading stopped there.
    #[error("oversized answer")]
    Oversized,
}

/// Classes of an answered refusal (`protocol.md` 2.5, 3.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Malformed request.
    #[error("invalid request")]
    Invalid,
    /// `invalid: event timestamp too far from server time`, to the letter (R22).
    #[error("event time too far from the relay's")]
    Timestamp,
    /// No right to do this.
    #[error("no permission")]
    Restricted,
    /// Not a member of the community.
    #[error("not a member of this community")]
    NotMember,
    /// Sign-in failed.
    #[error("authentication failed")]
    Auth,
    /// Quota exceeded.
    #[error("rate limited")]
    RateLimited,
    /// There is no community at this address.
    #[error("no community here")]
    NoCommunity,
    /// Too large, or not to be had in full.
    #[error("too large")]
    TooLarge,
    /// Anything else.
    #[error("refused")]
    Other,
}

/// Whether trying again can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryClass {
    /// The same call will fail again.
    Never,
    /// The same call may succeed at once or soon.
    Now,
    /// After the given number of seconds.
    After(u32),
    /// When the connection is back.
    WhenOnline,
    /// After the person has done something: freed space, set the clock, signed in.
    AfterAction,
}

impl Error {
    /// The stable code, the same in scenarios, Swift and Kotlin.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "not_found",
            Self::Denied => "denied",
            Self::InvalidTarget { .. } => "invalid_target",
            Self::InvalidArgument { .. } => "invalid_argument",
            Self::Cancelled { .. } => "cancelled",
            Self::Storage { .. } => "storage",
            Self::Unsupported { .. } => "unsupported",
            Self::ReadOnly => "read_only",
            Self::Capacity { .. } => "capacity",
            Self::Closed => "closed",
            Self::Busy { .. } => "busy",
            Self::Network { .. } => "network",
            Self::RelayRefused { .. } => "relay_refused",
            Self::InvalidAnswer { .. } => "invalid_answer",
            Self::Failed { .. } => "failed",
            Self::Clock { .. } => "clock",
        }
    }

    /// Whether trying again can help.
    pub fn retry_class(&self) -> RetryClass {
        match self {
            Self::Network { .. } => RetryClass::WhenOnline,
            Self::RelayRefused { retry_after: Some(s), .. } => RetryClass::After(*s),
            Self::RelayRefused { why: Refusal::RateLimited, .. } => RetryClass::After(60),
            Self::Busy { .. } | Self::InvalidAnswer { .. } | Self::Cancelled { .. } => RetryClass::Now,
            Self::Storage { .. } | Self::Clock { .. } | Self::Capacity { .. } => RetryClass::AfterAction,
            Self::RelayRefused { why: Refusal::Auth | Refusal::NotMember | Refusal::NoCommunity, .. } => {
                RetryClass::AfterAction
            }
            _ => RetryClass::Never,
        }
    }

    /// One sentence for a person.
    pub fn sentence(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "That message is not on this device.",
            Self::Denied => "You cannot read this channel.",
            Self::InvalidTarget { .. } => "That does not work for this message.",
            Self::InvalidArgument { .. } => "That is not something Waggle understands.",
            Self::Cancelled { .. } => "Something changed meanwhile. Try again.",
            Self::Storage { kind: StorageKind::Full } => "The disk is full. Nothing was changed.",
            Self::Storage { kind: StorageKind::Corrupt } => "Stored reading marks are damaged and were left untouched.",
            Self::Storage { .. } => "This could not be saved. Nothing was changed.",
            Self::Unsupported { .. } => "This is not possible here.",
            Self::ReadOnly => "This device can read but not publish.",
            Self::Capacity { .. } => "There is more here than this device keeps. Refresh to count again.",
            Self::Closed => "This session is closed.",
            Self::Busy { .. } => "This is already being done.",
            Self::Network { why: NetworkFailure::Offline } => "You are offline.",
            Self::Network { .. } => "The relay did not answer.",
            Self::RelayRefused { why: Refusal::RateLimited, .. } => "The relay asked for a pause.",
            Self::RelayRefused { why: Refusal::NotMember, .. } => "You are not a member of this community.",
            Self::RelayRefused { why: Refusal::NoCommunity, .. } => "There is no community at this address.",
            Self::RelayRefused { why: Refusal::Auth, .. } => "Signing in failed.",
            Self::RelayRefused { .. } => "The relay refused this.",
            Self::InvalidAnswer { .. } => "The relay answered with something that could not be checked.",
            Self::Failed { .. } => "Waggle failed inside. What was saved is safe; start again.",
            Self::Clock { .. } => "The clock of this device is wrong.",
        }
    }
}
