//! NIP-98: who makes an HTTP request.
//!
//! Order: header → base64 → event → kind → signature → clock → URL → method → payload. The replay check comes later, after
//! the quota, so a rate-limited attempt does not burn its event.

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::{
    event::{Event, sha256},
    state::State,
};

const WINDOW: u64 = 60;
const REMEMBERED_MS: u64 = 120_000;

fn failed(why: impl std::fmt::Display) -> String {
    format!("NIP-98: NIP-98 HTTP Auth verification failed: {why}")
}

/// Scheme and host in lower case, no trailing slash.
fn normal(url: &str) -> String {
    let url = url.trim_end_matches('/');
    let start = url.find("://").map_or(0, |i| i + 3);
    let end = url[start..].find('/').map_or(url.len(), |i| start + i);
    format!("{}{}", url[..end].to_ascii_lowercase(), &url[end..])
}

impl State {
    /// The verified event of an `Authorization` header, or the text of the 401.
    pub(crate) fn verify_auth(
        &self,
        header: Option<&str>,
        method: &str,
        path: &str,
        body: &[u8],
    ) -> Result<Event, String> {
        let Some(encoded) = header.and_then(|h| h.strip_prefix("Nostr ")) else {
            return Err("missing Nostr auth".into());
        };
        let bytes = STANDARD.decode(encoded.trim()).map_err(|_| "invalid base64 in Nostr auth".to_owned())?;
        let text = String::from_utf8(bytes).map_err(|_| "invalid base64 in Nostr auth".to_owned())?;
        let event = Event::parse(&text).map_err(|e| failed(format!("invalid event: {e}")))?;
        if event.kind != 27235 {
            return Err(failed(format!("expected kind 27235, got {}", event.kind)));
        }
        if event.computed_id() != event.id || !event.signature_is_valid() {
            return Err(failed("invalid Schnorr signature"));
        }
        let delta = self.now().abs_diff(event.created_at);
        if delta > WINDOW {
            return Err(failed(format!("event timestamp outside ±{WINDOW}s window (delta: {delta}s)")));
        }
        let scheme = if self.secure { "https" } else { "http" };
        let expected = format!("{scheme}://{}{path}", self.host);
        let url = event.tag("u").ok_or_else(|| failed("missing u tag"))?;
        if normal(url) != normal(&expected) {
            return Err(failed(format!("URL mismatch: event has `{url}`, expected `{expected}`")));
        }
        let verb = event.tag("method").ok_or_else(|| failed("missing method tag"))?;
        if !verb.eq_ignore_ascii_case(method) {
            return Err(failed(format!("method mismatch: event has `{verb}`, expected `{method}`")));
        }
        if event.tag("payload").is_some_and(|p| !p.eq_ignore_ascii_case(&hex::encode(sha256(body)))) {
            return Err(failed("payload tag SHA-256 mismatch: request body does not match signed hash"));
        }
        Ok(event)
    }

    /// Burns an event's id; false when it was used before.
    pub(crate) fn burn_auth(&mut self, id: &str) -> bool {
        let now = self.now_ms;
        if self.replay.len() > 10_000 {
            self.replay.retain(|_, until| *until > now);
        }
        match self.replay.get(id) {
            Some(until) if *until > now => false,
            _ => {
                self.replay.insert(id.to_owned(), now + REMEMBERED_MS);
                true
            }
        }
    }
}
