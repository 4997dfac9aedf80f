//! What an error text means.
//!
//! Only the class leaves this module, and the bounded text for one exact comparison (R22). Numbers in texts are bounded: a relay
//! cannot make a session wait for longer than [`limits::RETRY_AFTER_MAX`].

use crate::error::{NetworkFailure, Refusal};
use crate::limits;
use crate::request::RequestError;

/// The one text that unlocks signing a publication anew (R22). Nothing but an equal error member counts.
const TIMESTAMP: &str = "invalid: event timestamp too far from server time";

/// Cuts a relay's text to [`limits::RELAY_TEXT_BYTES`].
pub(super) fn bounded(text: &str) -> String {
    let mut end = text.len().min(limits::RELAY_TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}

/// Seconds of `retry in 57s`, at most [`limits::RETRY_AFTER_MAX`].
pub fn retry_after(text: &str) -> Option<u32> {
    let (_, rest) = text.split_once("retry in ")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    if !rest.get(digits..)?.starts_with('s') || digits == 0 {
        return None;
    }
    // More digits than a number can hold is a long wait, not none.
    let seconds = rest.get(..digits)?.parse().unwrap_or(u32::MAX);
    Some(seconds.min(limits::RETRY_AFTER_MAX))
}

/// Class of an answered refusal by status and error text (`protocol.md` 2.5, 3.5). `text` must not have been cut.
pub fn classify(status: u16, text: &str) -> Refusal {
    if text == TIMESTAMP {
        return Refusal::Timestamp;
    }
    match status {
        401 => return Refusal::Auth,
        404 => return Refusal::NoCommunity,
        413 => return Refusal::TooLarge,
        429 => return Refusal::RateLimited,
        _ => {}
    }
    if text == "relay_membership_required" || text == "restricted: not a relay member" {
        return Refusal::NotMember;
    }
    match text.split_once(':').map(|(prefix, _)| prefix) {
        Some("rate-limited") => Refusal::RateLimited,
        Some("restricted" | "blocked") => Refusal::Restricted,
        Some("auth-required") => Refusal::Auth,
        Some("invalid") => Refusal::Invalid,
        _ if status == 403 => Refusal::Restricted,
        _ if status == 400 => Refusal::Invalid,
        _ => Refusal::Other,
    }
}

/// The request error of an answer that is no success. 5xx is the relay's failure, not its word.
pub fn refuse(status: u16, text: &str) -> RequestError {
    if status >= 500 {
        return RequestError::Network(NetworkFailure::Server(status));
    }
    RequestError::Refused { status, why: classify(status, text), text: bounded(text), retry_after: retry_after(text) }
}

/// Whether signing anew may help: the signature was too old, too new or seen before (`protocol.md` 2.5; R25).
pub fn is_stale_signature(error: &RequestError) -> bool {
    let RequestError::Refused { status: 401, text, .. } = error else { return false };
    text.contains("outside ±60s") || text.contains("replay detected")
}

/// The distance in seconds that a clock refusal names: `event timestamp outside ±60s window (delta: 109s)`. It has no sign.
pub fn skew_of(error: &RequestError) -> Option<i64> {
    let RequestError::Refused { status: 401, text, .. } = error else { return None };
    let (_, rest) = text.split_once("outside ±60s")?;
    let (_, rest) = rest.split_once("delta: ")?;
    let (number, _) = rest.split_once('s')?;
    number.parse().ok()
}

/// What an OK to a socket sign-in means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignIn {
    /// Signed in.
    Ready,
    /// This socket is spent; another attempt may succeed.
    Again,
    /// Only the person can help.
    Refused(Refusal),
}

/// Reads the OK to an AUTH (`protocol.md` 3.1; pitfalls B13).
pub fn sign_in_refusal(accepted: bool, text: &str) -> SignIn {
    if accepted || text.ends_with("already authenticated") {
        return SignIn::Ready;
    }
    match classify(200, text) {
        Refusal::NotMember => SignIn::Refused(Refusal::NotMember),
        Refusal::Restricted => SignIn::Refused(Refusal::Restricted),
        _ => SignIn::Again,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `relay-measured.md` 7, `protocol.md` 2.5: only the text names the wait.
    #[test]
    fn waits_are_read_from_the_text() {
        assert_eq!(retry_after("rate-limited: quota exceeded; retry in 57s"), Some(57));
        assert_eq!(retry_after("rate-limited: quota exceeded; retry in 0s"), Some(0));
        assert_eq!(retry_after("retry in 99999999999999s"), Some(limits::RETRY_AFTER_MAX));
        for none in [
            "rate-limited: shared admission unavailable",
            "retry in s",
            "retry in -1s",
            "retry in 5",
            "retry in 5 minutes",
        ] {
            assert_eq!(retry_after(none), None, "{none}");
        }
    }

    /// `protocol.md` 2.5, row by row, and the texts of `relay-measured.md` 2 to 5.
    #[test]
    fn refusals_have_classes() {
        for (status, text, class) in [
            (400, "invalid filters: invalid type: map", Refusal::Invalid),
            (400, "before_id must be a 64-char hex event id", Refusal::Invalid),
            (400, "top_level requires exactly one #h channel", Refusal::Invalid),
            (400, "too many explicit channels", Refusal::Invalid),
            (400, "invalid: event timestamp too far from server time", Refusal::Timestamp),
            (400, "restricted: not a channel member", Refusal::Restricted),
            (401, "missing Nostr auth", Refusal::Auth),
            (401, "NIP-98: replay detected", Refusal::Auth),
            (403, "relay_membership_required", Refusal::NotMember),
            (403, "restricted: p-gated kinds require #p tag matching your pubkey", Refusal::Restricted),
            (403, "invalid: event pubkey does not match authenticated identity", Refusal::Invalid),
            (404, "relay: no community is configured for this host", Refusal::NoCommunity),
            (413, "length limit exceeded", Refusal::TooLarge),
            (429, "rate-limited: quota exceeded; retry in 57s", Refusal::RateLimited),
            (301, "", Refusal::Other),
        ] {
            assert_eq!(classify(status, text), class, "{status} {text}");
        }
        assert_eq!(
            refuse(503, "rate-limited: shared admission unavailable"),
            RequestError::Network(NetworkFailure::Server(503))
        );
    }

    /// R22 and `unread.md` 13.16: nothing but the equal text.
    #[test]
    fn only_the_exact_timestamp_text_counts() {
        let long = format!("{TIMESTAMP}{}", " ".repeat(600));
        for text in [&format!("{TIMESTAMP}."), &format!("x{TIMESTAMP}"), &TIMESTAMP.to_uppercase(), &long] {
            assert_ne!(classify(400, text), Refusal::Timestamp);
            let RequestError::Refused { text: kept, .. } = refuse(400, text) else { panic!() };
            assert!(kept != TIMESTAMP && kept.len() <= limits::RELAY_TEXT_BYTES);
        }
        assert_eq!(bounded(&"é".repeat(400)).len(), limits::RELAY_TEXT_BYTES);
    }

    /// R25, pitfalls G3.
    #[test]
    fn clock_and_replay_refusals_are_told_apart() {
        let clock = refuse(
            401,
            "NIP-98: NIP-98 HTTP Auth verification failed: event timestamp outside ±60s window (delta: 109s)",
        );
        let replay = refuse(401, "NIP-98: replay detected");
        let other = refuse(401, "NIP-98: NIP-98 HTTP Auth verification failed: invalid Schnorr signature");
        assert_eq!((is_stale_signature(&clock), skew_of(&clock)), (true, Some(109)));
        assert_eq!((is_stale_signature(&replay), skew_of(&replay)), (true, None));
        assert_eq!((is_stale_signature(&other), skew_of(&other)), (false, None));
    }

    /// Pitfalls B13.
    #[test]
    fn sign_in_answers() {
        assert_eq!(sign_in_refusal(true, ""), SignIn::Ready);
        assert_eq!(sign_in_refusal(false, "auth-required: already authenticated"), SignIn::Ready);
        assert_eq!(sign_in_refusal(false, "auth-required: verification failed"), SignIn::Again);
        assert_eq!(sign_in_refusal(false, "error: internal error checking restriction state"), SignIn::Again);
        assert_eq!(sign_in_refusal(false, "restricted: not a relay member"), SignIn::Refused(Refusal::NotMember));
        assert_eq!(
            sign_in_refusal(false, "blocked: you are banned from this community"),
            SignIn::Refused(Refusal::Restricted)
        );
    }
}
