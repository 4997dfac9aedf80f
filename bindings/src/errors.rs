//! Failures by area. Each enum has the variants its calls can fail with, with their facts; each variant carries a [`Failure`], which says the
//! same in every area: code, retry class, sentence.
//!
//! A failure the area does not expect is its `Other`, with everything said in the `Failure`: nothing is lost when the core learns a new one.

use waggle::error::{self, Error, RetryClass};

/// Whether trying again can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, uniffi::Enum)]
pub enum Retry {
    /// The same call will fail again.
    Never,
    /// The same call may succeed at once or soon.
    Now,
    /// After so many seconds.
    After {
        /// Seconds.
        seconds: u32,
    },
    /// When the connection is back.
    WhenOnline,
    /// After the person has done something: freed space, set the clock, signed in.
    AfterAction,
}

/// A failure as data: a stable code, whether to try again, and one sentence for a person.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Record)]
pub struct Failure {
    /// The stable code, the same in scenarios, Rust, Swift and Kotlin.
    pub code: String,
    /// Whether trying again can help.
    pub retry: Retry,
    /// What to tell a person.
    pub sentence: String,
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        let retry = match error.retry_class() {
            RetryClass::Never => Retry::Never,
            RetryClass::Now => Retry::Now,
            RetryClass::After(seconds) => Retry::After { seconds },
            RetryClass::WhenOnline => Retry::WhenOnline,
            RetryClass::AfterAction => Retry::AfterAction,
        };
        Self { code: error.code().to_owned(), retry, sentence: error.sentence().to_owned() }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.sentence)
    }
}

/// Kinds of storage failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, uniffi::Enum)]
pub enum StorageKind {
    /// No space left.
    Full,
    /// Read or write error.
    Io,
    /// The stored record cannot be read; it was left untouched.
    Corrupt,
    /// Another process holds the file.
    Locked,
    /// Written by a newer version of Waggle.
    NewerVersion,
}

impl From<error::StorageKind> for StorageKind {
    fn from(kind: error::StorageKind) -> Self {
        match kind {
            error::StorageKind::Full => Self::Full,
            error::StorageKind::Io => Self::Io,
            error::StorageKind::Corrupt => Self::Corrupt,
            error::StorageKind::Locked => Self::Locked,
            error::StorageKind::NewerVersion => Self::NewerVersion,
        }
    }
}

/// Kinds of missing answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, uniffi::Enum)]
pub enum NetworkFailure {
    /// There is no connection now.
    Offline,
    /// The connection was cut while waiting.
    Lost,
    /// No answer in time.
    TimedOut,
    /// The relay failed.
    Server {
        /// HTTP status, 500 to 599.
        status: u16,
    },
    /// The answer ended early or was no JSON.
    Truncated,
    /// The answer was larger than its bound.
    Oversized,
}

impl From<error::NetworkFailure> for NetworkFailure {
    fn from(why: error::NetworkFailure) -> Self {
        match why {
            error::NetworkFailure::Offline => Self::Offline,
            error::NetworkFailure::Lost => Self::Lost,
            error::NetworkFailure::TimedOut => Self::TimedOut,
            error::NetworkFailure::Server(status) => Self::Server { status },
            error::NetworkFailure::Truncated => Self::Truncated,
            error::NetworkFailure::Oversized => Self::Oversized,
        }
    }
}

/// Classes of an answered refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, uniffi::Enum)]
pub enum Refusal {
    /// Malformed request.
    Invalid,
    /// The event's time is too far from the relay's.
    Timestamp,
    /// No right to do this.
    Restricted,
    /// Not a member of the community.
    NotMember,
    /// Sign-in failed.
    Auth,
    /// Quota exceeded.
    RateLimited,
    /// There is no community at this address.
    NoCommunity,
    /// Too large, or not to be had in full.
    TooLarge,
    /// Anything else.
    Other,
}

impl From<error::Refusal> for Refusal {
    fn from(why: error::Refusal) -> Self {
        match why {
            error::Refusal::Invalid => Self::Invalid,
            error::Refusal::Timestamp => Self::Timestamp,
            error::Refusal::Restricted => Self::Restricted,
            error::Refusal::NotMember => Self::NotMember,
            error::Refusal::Auth => Self::Auth,
            error::Refusal::RateLimited => Self::RateLimited,
            error::Refusal::NoCommunity => Self::NoCommunity,
            error::Refusal::TooLarge => Self::TooLarge,
            error::Refusal::Other => Self::Other,
        }
    }
}

/// Of clients and accounts: opening, signing in and out.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Error)]
pub enum ClientError {
    /// A key, address or name that is none, or nobody is signed in.
    InvalidArgument {
        /// Which argument.
        what: String,
        /// Code, retry class and sentence.
        failure: Failure,
    },
    /// The account's key is not in the key store.
    NotFound {
        /// What was looked for.
        what: String,
        /// Code, retry class and sentence.
        failure: Failure,
    },
    /// The key store or the disk refused; nothing was changed.
    Storage {
        /// What sort of failure.
        kind: StorageKind,
        /// Code, retry class and sentence.
        failure: Failure,
    },
    /// The platform cannot do this.
    Unsupported {
        /// What is missing.
        what: String,
        /// Code, retry class and sentence.
        failure: Failure,
    },
    /// A bound was reached.
    Capacity {
        /// Which bound.
        what: String,
        /// Code, retry class and sentence.
        failure: Failure,
    },
    /// The client was closed.
    Closed {
        /// Code, retry class and sentence.
        failure: Failure,
    },
    /// Anything else; the failure says what.
    Other {
        /// Code, retry class and sentence.
        failure: Failure,
    },
}

impl From<Error> for ClientError {
    fn from(error: Error) -> Self {
        let failure = Failure::from(&error);
        match error {
            Error::InvalidArgument { what } => Self::InvalidArgument { what: what.to_owned(), failure },
            Error::NotFound { what } => Self::NotFound { what: what.to_owned(), failure },
            Error::Storage { kind } => Self::Storage { kind: kind.into(), failure },
            Error::Unsupported { what } => Self::Unsupported { what: what.to_owned(), failure },
            Error::Capacity { what } => Self::Capacity { what: what.to_owned(), failure },
            Error::Closed => Self::Closed { failure },
            Error::Denied
            | Error::InvalidTarget { .. }
            | Error::Cancelled { .. }
            | Error::ReadOnly
            | Error::Busy { .. }
            | Error::Network { .. }
            | Error::RelayRefused { .. }
            | Error::InvalidAnswer { .. }
            | Error::Failed { .. }
            | Error::Clock { .. } => Self::Other { failure },
        }
    }
}

/// Of everything that reads, marks, counts or synchronises in a session.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Error)]
pub enum SessionError {
    /// The message or root is not held by this device.
    NotFound {
        /// What was looked for.
        what: String,
        /// Code, retry class and sentence.
        failure: Failure,
    },
    /// The channel is not accessible to this account now.
    Denied {
        /// Code, retry class and sentence.
        failure: Failure,
    },
    /// A target of the wrong sort, or a message that does not belong to its target.
    InvalidTarget {
        /// Which rule was broken.
        why: String,
        /// Code, retry class and sentence.
        failure: Failure,
    },
    /// An argument that is malformed or out of bounds.
    InvalidArgument {
        /// Which argument.
        what: String,
        /// Code, retry class and sentence.
        failure: Failure,
    },
    /// Something that happened meanwhile made the call void.
    Cancelled {
        /// What happened.
        why: String,
        /// Code, retry class and sentence.
        failure: Failure,
    },
    /// The disk refused; nothing was changed.
    Storage {
        /// What sort of failure.
        kind: StorageKind,
        /// Code, retry class and sentence.
        failure: Failure,
    },
    /// The relay, platform or configuration cannot do this.
    Unsupported {
        /// What is missing.
        what: String,
        /// Code, retry class and sentence.
        failure: Failure,
    },
    /// This device has no signer, so nothing can be published.
    ReadOnly {
        /// Code, retry class and sentence.
        failure: Failure,
    },
    /// A bound was reached.
    Capacity {
        /// Which bound.
        what: String,
        /// Code, retry class and sentence.
        failure: Failure,
    },
    /// The session was closed.
    Closed {
        /// Code, retry class and sentence.
        failure: Failure,
    },
    /// Another call or process is doing the same.
    Busy {
        /// What is in use.
        what: String,
        /// Code, retry class and sentence.
        failure: Failure,
    },
    /// No usable answer.
    Network {
        /// What happened.
        why: NetworkFailure,
        /// Code, retry class and sentence.
        failure: Failure,
    },
    /// The relay answered and refused.
    RelayRefused {
        /// The class of refusal.
        why: Refusal,
        /// Code, retry class and sentence.
        failure: Failure,
    },
    /// The relay answered with something that cannot be accepted.
    InvalidAnswer {
        /// Which check failed.
        why: String,
        /// Code, retry class and sentence.
        failure: Failure,
    },
    /// A fault of Waggle itself; what was saved is safe.
    Failed {
        /// Which task.
        task: String,
        /// Code, retry class and sentence.
        failure: Failure,
    },
    /// The device clock is too far from the relay's.
    Clock {
        /// Device time minus relay time, seconds.
        skew: i64,
        /// Code, retry class and sentence.
        failure: Failure,
    },
}

impl From<Error> for SessionError {
    fn from(error: Error) -> Self {
        let failure = Failure::from(&error);
        match error {
            Error::NotFound { what } => Self::NotFound { what: what.to_owned(), failure },
            Error::Denied => Self::Denied { failure },
            Error::InvalidTarget { why } => Self::InvalidTarget { why: why.to_owned(), failure },
            Error::InvalidArgument { what } => Self::InvalidArgument { what: what.to_owned(), failure },
            Error::Cancelled { why } => Self::Cancelled { why: why.to_owned(), failure },
            Error::Storage { kind } => Self::Storage { kind: kind.into(), failure },
            Error::Unsupported { what } => Self::Unsupported { what: what.to_owned(), failure },
            Error::ReadOnly => Self::ReadOnly { failure },
            Error::Capacity { what } => Self::Capacity { what: what.to_owned(), failure },
            Error::Closed => Self::Closed { failure },
            Error::Busy { what } => Self::Busy { what: what.to_owned(), failure },
            Error::Network { why } => Self::Network { why: why.into(), failure },
            // How long to wait is in the failure's retry class.
            Error::RelayRefused { why, retry_after: _ } => Self::RelayRefused { why: why.into(), failure },
            Error::InvalidAnswer { why } => Self::InvalidAnswer { why: why.to_owned(), failure },
            Error::Failed { task } => Self::Failed { task: task.to_owned(), failure },
            Error::Clock { skew } => Self::Clock { skew, failure },
        }
    }
}

/// Of waiting for a view's next version.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Error)]
pub enum ViewError {
    /// The view was cancelled, or its session closed and the last version was seen: an orderly end.
    Closed {
        /// Code, retry class and sentence.
        failure: Failure,
    },
    /// A fault of Waggle itself.
    Failed {
        /// Code, retry class and sentence.
        failure: Failure,
    },
}

impl From<Error> for ViewError {
    fn from(error: Error) -> Self {
        let failure = Failure::from(&error);
        if error == Error::Closed { Self::Closed { failure } } else { Self::Failed { failure } }
    }
}

macro_rules! says_its_sentence {
    ($($name:ident { $($variant:ident),+ $(,)? })+) => {$(
        impl $name {
            /// Code, retry class and sentence.
            pub fn failure(&self) -> &Failure {
                match self { $(Self::$variant { failure, .. })|+ => failure }
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.failure().fmt(f)
            }
        }
        impl std::error::Error for $name {}
    )+};
}

says_its_sentence! {
    ClientError { InvalidArgument, NotFound, Storage, Unsupported, Capacity, Closed, Other }
    SessionError {
        NotFound, Denied, InvalidTarget, InvalidArgument, Cancelled, Storage, Unsupported, ReadOnly, Capacity, Closed, Busy, Network,
        RelayRefused, InvalidAnswer, Failed, Clock,
    }
    ViewError { Closed, Failed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_says_the_same_in_every_area() {
        let errors = [
            Error::NotFound { what: "message" },
            Error::Denied,
            Error::InvalidTarget { why: "sort" },
            Error::InvalidArgument { what: "limit" },
            Error::Cancelled { why: "access" },
            Error::Storage { kind: error::StorageKind::Full },
            Error::Unsupported { what: "TLS" },
            Error::ReadOnly,
            Error::Capacity { what: "surfaces" },
            Error::Closed,
            Error::Busy { what: "publisher" },
            Error::Network { why: error::NetworkFailure::Server(503) },
            Error::RelayRefused { why: error::Refusal::RateLimited, retry_after: Some(30) },
            Error::InvalidAnswer { why: "cursor" },
            Error::Failed { task: "session" },
            Error::Clock { skew: 3600 },
        ];
        for error in errors {
            let failure = Failure::from(&error);
            assert_eq!((failure.code.as_str(), failure.sentence.as_str()), (error.code(), error.sentence()));
            assert_eq!(SessionError::from(error.clone()).failure(), &failure);
            assert_eq!(ClientError::from(error.clone()).failure(), &failure);
            assert_eq!(ViewError::from(error).failure(), &failure);
        }
        let limited = Error::RelayRefused { why: error::Refusal::RateLimited, retry_after: Some(30) };
        assert_eq!(SessionError::from(limited).failure().retry, Retry::After { seconds: 30 });
    }
}
