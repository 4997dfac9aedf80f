//! Time as an argument.
//!
//! Everything above `session` receives a [`Now`]; only this module may read a clock (policy test). Two kinds of time are
//! kept apart: monotonic milliseconds for dwell, back-off and deadlines, and the device's wall clock in whole seconds,
//! which may be wrong by any amount. [`ServerTime`] is the session's idea of the relay's clock (R25).

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures_util::future::BoxFuture;

/// Monotonic milliseconds since an arbitrary start. Never goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Millis(pub u64);

impl Millis {
    /// This moment plus `ms` milliseconds, saturating.
    pub fn plus(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Milliseconds since `earlier`, zero if that lies ahead.
    pub fn since(self, earlier: Millis) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// The two clocks of a device at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Monotonic time.
    pub mono: Millis,
    /// The device's wall clock, seconds since 1970. Not to be trusted.
    pub wall: u64,
}

/// Port: where time comes from.
pub trait Clock: Send + Sync + 'static {
    /// Both clocks now.
    fn now(&self) -> Now;
    /// Completes when the monotonic clock has reached `at`.
    fn sleep_until(&self, at: Millis) -> BoxFuture<'static, ()>;
}

/// The operating system's clocks.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// A clock whose monotonic time starts now.
    pub fn new() -> Self {
        Self { start: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Now {
        let mono = Millis(u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX));
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
        Now { mono, wall }
    }

    fn sleep_until(&self, at: Millis) -> BoxFuture<'static, ()> {
        let deadline = self.start + Duration::from_millis(at.0);
        Box::pin(tokio::time::sleep_until(deadline.into()))
    }
}

/// The session's estimate of the relay's clock, learned from HTTP `Date` headers (R25). It is not kept over a restart (R16a).
///
/// It is held against the *monotonic* clock, so a device clock that jumps meanwhile does not move it. A `Date` header has
/// whole seconds and was written some time before it arrives; the estimate is therefore up to about a second behind, never
/// ahead by more than the truncation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerTime {
    learned: Option<(Millis, u64)>,
}

impl ServerTime {
    /// Takes in a `Date` header that arrived at `now`. The latest answer wins: relays step their clocks too.
    /// A date beyond 32 bits, the range of everything that is ever dated here, is nonsense and ignored: it would read everything by age.
    pub fn learn(&mut self, now: Now, date: u64) {
        if u32::try_from(date).is_err() {
            return;
        }
        // Keep an estimate that already agrees to the second: the header is truncated, and a later header must not make
        // time stand still or go back by its truncation.
        if self.learned.is_some() && self.at(now).abs_diff(date) <= 1 {
            return;
        }
        self.learned = Some((now.mono, date));
    }

    /// Whether any answer has told the relay's time in this session.
    pub fn is_known(&self) -> bool {
        self.learned.is_some()
    }

    /// Best estimate of the relay's time in seconds; the device clock where nothing better is known.
    pub fn at(&self, now: Now) -> u64 {
        match self.learned {
            Some((at, date)) => date.saturating_add(now.mono.since(at) / 1000),
            None => now.wall,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_time_runs_on_the_monotonic_clock() {
        let mut time = ServerTime::default();
        let at = |ms, wall| Now { mono: Millis(ms), wall };
        assert_eq!(time.at(at(0, 77)), 77);
        time.learn(at(1_000, 77), 5_000);
        assert_eq!(time.at(at(3_500, 9)), 5_002);
        time.learn(at(3_500, 9), 5_003);
        assert_eq!(time.at(at(3_500, 9)), 5_002, "a difference of one second is the header's truncation");
        time.learn(at(3_500, 9), 4_000);
        assert_eq!(time.at(at(4_500, 9)), 4_001);
        time.learn(at(4_500, 9), 1 << 32);
        assert_eq!(time.at(at(4_500, 9)), 4_001, "a date after the year 2106 is none");
    }
}
