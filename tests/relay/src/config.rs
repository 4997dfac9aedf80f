//! What a relay is opened with: its address, its key, its store, its clock and the switches of its dialect.
//!
//! Nothing here reads a clock or the operating system's randomness by itself: time comes from [`RelayClock`] and every
//! random-looking value (challenges, channel ids of DMs) is drawn from `seed`, so the same calls give the same bytes.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

/// Where the relay's time comes from.
pub trait RelayClock: Send + Sync {
    /// Unix time in milliseconds.
    fn now_ms(&self) -> u64;
}

/// The machine's clock, for the relay that runs alone.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl RelayClock for SystemClock {
    fn now_ms(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
    }
}

/// A clock that moves only when told to.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// A clock standing at `secs` of Unix time.
    pub fn at(secs: u64) -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(secs * 1000)))
    }

    /// Moves the clock forward.
    pub fn advance_ms(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }

    /// Puts the clock at `ms` of Unix time.
    pub fn set_ms(&self, ms: u64) {
        self.0.store(ms, Ordering::SeqCst);
    }
}

impl RelayClock for ManualClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Where events are kept.
#[derive(Debug, Clone, Default)]
pub enum Storage {
    /// In memory, gone with the relay.
    #[default]
    Memory,
    /// In a SQLite file.
    File(PathBuf),
}

/// Which relay line is imitated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// Advertises `read_state_snapshot`; multi-channel filters and subscriptions work, at most 128 channel ids a request.
    #[default]
    Current,
    /// The August 2026 snapshot as measured: no snapshot, one channel a filter and a subscription.
    August,
}

/// The switches of a relay. A change takes effect on the next connection (see [`crate::Relay::set_settings`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The relay line imitated.
    pub dialect: Dialect,
    /// Row mode: every depth is a row of the channel window.
    pub thread_replies_in_channel: bool,
    /// The most rows a window page holds (never above 200).
    pub max_page: u32,
    /// The most events a plain query answers, and its default.
    pub max_rows: u32,
    /// Whether `top_level` is understood.
    pub channel_window: bool,
    /// Whether NIP-11 names the relay's key (`self`). It signs either way.
    pub identity: bool,
    /// Whether request quotas apply.
    pub quotas: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            dialect: Dialect::Current,
            thread_replies_in_channel: false,
            max_page: 200,
            max_rows: 1000,
            channel_window: true,
            identity: true,
            quotas: true,
        }
    }
}

/// Everything a relay is opened with.
#[derive(Clone)]
pub struct RelayConfig {
    /// The one host this relay is a community for, e.g. `relay.test` or `127.0.0.1:7447`.
    pub host: String,
    /// Whether its origin is `https`/`wss` (the front itself never speaks TLS).
    pub secure: bool,
    /// The relay's own secret key.
    pub secret_key: [u8; 32],
    /// Where events are kept.
    pub storage: Storage,
    /// The switches.
    pub settings: Settings,
    /// The clock.
    pub clock: Arc<dyn RelayClock>,
    /// What every random-looking value is drawn from.
    pub seed: u64,
}

impl RelayConfig {
    /// A relay in memory on `relay.test` with a fixed key and seed 1.
    pub fn new(clock: Arc<dyn RelayClock>) -> Self {
        Self {
            host: "relay.test".into(),
            secure: true,
            secret_key: crate::event::sha256(b"waggle/person/relay"),
            storage: Storage::Memory,
            settings: Settings::default(),
            clock,
            seed: 1,
        }
    }
}

/// Deterministic bytes: SHA-256 over the seed and a counter. Predictable on purpose, as no secret depends on it.
#[derive(Debug, Clone)]
pub(crate) struct Draws {
    seed: u64,
    count: u64,
}

impl Draws {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, count: 0 }
    }

    /// The next 32 bytes.
    pub(crate) fn next(&mut self) -> [u8; 32] {
        self.count += 1;
        crate::event::sha256(format!("waggle/test-relay/{}/{}", self.seed, self.count).as_bytes())
    }

    /// The next random-looking UUIDv4.
    pub(crate) fn uuid(&mut self) -> String {
        let mut bytes = [0u8; 16];
        bytes.copy_from_slice(&self.next()[..16]);
        uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
    }
}
