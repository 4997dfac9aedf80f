//! Request quotas: fixed windows that start with the first request, per key and kind of traffic.
//!
//! The window's end is named in whole seconds, rounded up, because clients read the wait from the text.

use std::collections::HashMap;

/// A kind of traffic with its own window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Traffic {
    /// `/query`, `/count` and `/events`: 300 a minute.
    Http,
    /// EVENT frames: 60 a minute.
    Events,
    /// EVENT, REQ and COUNT frames: 50 in 5 s.
    Frames,
}

impl Traffic {
    fn allowance(self) -> (u32, u64) {
        match self {
            Self::Http => (300, 60_000),
            Self::Events => (60, 60_000),
            Self::Frames => (50, 5_000),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Quotas(HashMap<(String, Traffic), (u64, u32)>);

impl Quotas {
    /// Counts one request; when there are too many, the text to refuse it with.
    pub(crate) fn admit(&mut self, key: &str, traffic: Traffic, now_ms: u64) -> Result<(), String> {
        let (most, span) = traffic.allowance();
        let window = self.0.entry((key.to_owned(), traffic)).or_insert((now_ms, 0));
        if now_ms >= window.0 + span || now_ms < window.0 {
            *window = (now_ms, 0);
        }
        if window.1 >= most {
            return Err(exceeded((window.0 + span - now_ms).div_ceil(1000)));
        }
        window.1 += 1;
        Ok(())
    }
}

/// The text of a refusal.
pub(crate) fn exceeded(secs: u64) -> String {
    format!("rate-limited: quota exceeded; retry in {secs}s")
}
