//! Swift and Kotlin bindings of `waggle`: conversions, nothing else. No rule about chat lives here.
//!
//! What crosses today is how failures are told. Sessions and views follow; until then apps in Rust use the core directly.

use waggle::error::{Error, RetryClass};

uniffi::setup_scaffolding!();

/// Whether trying again can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, uniffi::Enum)]
pub enum Retry {
    /// The same call will fail again.
    Never,
    /// The same call may succeed at once.
    Now,
    /// After so many seconds.
    After {
        /// Seconds.
        seconds: u32,
    },
    /// When the connection is back.
    WhenOnline,
    /// After the person has done something.
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

/// Version of the core these bindings were built with.
#[uniffi::export]
pub fn core_version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use waggle::error::Refusal;

    #[test]
    fn a_failure_says_what_the_error_says() {
        let error = Error::RelayRefused { why: Refusal::RateLimited, retry_after: Some(30) };
        let failure = Failure::from(&error);
        assert_eq!((failure.code.as_str(), failure.retry), ("relay_refused", Retry::After { seconds: 30 }));
        assert_eq!(failure.sentence, error.sentence());
    }
}
