//! What the relay saw: requests by purpose, refusals, and the read state clients stored.
//!
//! `refused` counts every request of any kind the relay itself turned down; what a fault caused is not counted.

use std::collections::BTreeMap;

use crate::{event::Event, purpose::Purpose};

/// Counts since the relay opened (or since the last reset).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters {
    /// HTTP requests by purpose.
    pub requests: BTreeMap<Purpose, u64>,
    /// For each evidence request, the number of `#h` ids over its filters, in order.
    pub evidence_channels: Vec<usize>,
    /// Requests refused (4xx, CLOSED with an error, rate-limit NOTICE, OK false), faults not counted.
    pub refused: u64,
    /// What was refused, in order, for traces: short texts.
    pub refusals: Vec<String>,
    /// Read-state publications of clients that were stored.
    pub publishes: u64,
    /// REQ frames answered.
    pub subscriptions: u64,
}

impl Counters {
    /// Requests of one purpose.
    pub fn of(&self, purpose: Purpose) -> u64 {
        self.requests.get(&purpose).copied().unwrap_or(0)
    }

    pub(crate) fn saw(&mut self, purpose: Purpose) {
        *self.requests.entry(purpose).or_default() += 1;
    }

    pub(crate) fn refuse(&mut self, why: &str) {
        self.refused += 1;
        self.refusals.push(why.to_owned());
    }
}

/// A read-state coordinate the relay holds.
#[derive(Debug, Clone)]
pub struct ReadStateSlot {
    /// Its author.
    pub pubkey: String,
    /// Its `d` tag, `read-state:…`.
    pub d: String,
    /// The live event there.
    pub event: Event,
    /// Whether a client wrote it (false: a test put it there).
    pub by_client: bool,
    /// The device label of the client.
    pub label: Option<String>,
}
