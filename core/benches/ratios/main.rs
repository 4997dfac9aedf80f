//! The ratio bench: what Waggle promises about speed, as ratios to F1 in one run (`ARCHITECTURE.md`, "Speed").
//!
//! F1(n) is n one-by-one `secp256k1::schnorr::verify` calls over the same signatures with keys parsed outside the clock. Every case is
//! interleaved with F1 round by round on one thread, by the thread's CPU clock (the wall clock only where a disk is part of the promise),
//! and the minimum over all rounds counts: absolute times drift, ratios inside one run hold. A line a promise: number, name, ratio, limit.
//!
//! `cargo bench -p waggle --bench ratios -- P1 P4` runs those alone. Exits non-zero past a limit.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a bench prints, and a broken fixture should stop it"
)]

mod fixtures;
mod paging;

use std::process::ExitCode;

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of CPU time this thread has used.
pub fn cpu_ns() -> u64 {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Times one call by the thread's CPU clock.
pub fn time<R>(f: impl FnOnce() -> R) -> u64 {
    let start = cpu_ns();
    std::hint::black_box(f());
    cpu_ns() - start
}

/// Rounds of every case; the minimum counts.
pub const ROUNDS: usize = 41;

/// Minimum of each of the given cases over interleaved rounds.
pub fn minima(rounds: usize, cases: &mut [&mut dyn FnMut() -> u64]) -> Vec<u64> {
    let mut best = vec![u64::MAX; cases.len()];
    for _ in 0..rounds {
        for (slot, case) in best.iter_mut().zip(cases.iter_mut()) {
            *slot = (*slot).min(case());
        }
    }
    best
}

/// One measured promise.
pub struct Line {
    pub promise: &'static str,
    pub name: &'static str,
    pub ratio: f64,
    pub limit: f64,
}

/// A promise's number and what measures it; a measurement may yield several lines.
type Case = (&'static [&'static str], fn() -> Vec<Line>);

const CASES: &[Case] = &[
    (&["P1"], paging::page_ingest),
    (&["P2"], paging::page_without_signatures),
    (&["P3"], paging::one_forged),
    (&["P4"], paging::seen_again),
    (&["P12"], paging::first_page),
];

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| a.starts_with('P')).collect();
    let mut failed = 0;
    for (numbers, measure) in CASES {
        if !wanted.is_empty() && !numbers.iter().any(|n| wanted.iter().any(|w| w == n)) {
            continue;
        }
        for line in measure() {
            let mark = if line.ratio <= line.limit { "" } else { "  PAST THE LIMIT" };
            failed += usize::from(line.ratio > line.limit);
            println!("{} {} {:.3} {:.2}{mark}", line.promise, line.name, line.ratio, line.limit);
        }
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
