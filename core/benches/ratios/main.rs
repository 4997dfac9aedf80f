//! The ratio bench: what Waggle promises about speed, as ratios to F1 in one run (`ARCHITECTURE.md`, "Speed").
//!
//! F1(n) is n one-by-one `secp256k1::schnorr::verify` calls over the same signatures with keys parsed outside the clock. Every case is
//! interleaved with F1 round by round on one thread, by the thread's CPU clock (the wall clock only where a disk is part of the promise),
//! and the minimum over all rounds counts: absolute times drift, ratios inside one run hold. A line a promise: number, name, ratio, limit.
//!
//! `cargo bench -p waggle --bench ratios -- P1 P4` runs those alone. Exits non-zero past a limit. `-- F1` only says how many
//! microseconds F1(123) takes, for what is measured in other processes (P16). P15 to P17 and P20 are `cargo xtask bench`'s.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a bench prints, and a broken fixture should stop it"
)]

mod counting;
mod durable;
mod fixtures;
mod memory;
mod paging;

use std::alloc::{GlobalAlloc, Layout, System};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of CPU time this thread has used.
pub(crate) fn cpu_ns() -> u64 {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Times one call by the thread's CPU clock.
pub(crate) fn time<R>(f: impl FnOnce() -> R) -> u64 {
    let start = cpu_ns();
    std::hint::black_box(f());
    cpu_ns() - start
}

/// Counts allocations, for the promises that are about them, and only while those are measured: a locked addition for each allocation is no
/// part of what the others promise.
struct Counting;

static COUNTED: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

fn count() {
    if COUNTED.load(Ordering::Relaxed) {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every call goes to the system's allocator unchanged; counting touches no memory of the caller. All four are passed on: by the
// trait's defaults whatever grows would be copied, and what is zero written, as in no program.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations made by one call.
pub(crate) fn allocations(f: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    COUNTED.store(true, Ordering::Relaxed);
    f();
    COUNTED.store(false, Ordering::Relaxed);
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

/// Rounds of every case; the minimum counts.
pub(crate) const ROUNDS: usize = 41;

/// Minimum of each of the given cases over interleaved rounds.
pub(crate) fn minima(rounds: usize, cases: &mut [&mut dyn FnMut() -> u64]) -> Vec<u64> {
    let mut best = vec![u64::MAX; cases.len()];
    for _ in 0..rounds {
        for (slot, case) in best.iter_mut().zip(cases.iter_mut()) {
            *slot = (*slot).min(case());
        }
    }
    best
}

/// One measured promise.
pub(crate) struct Line {
    pub(crate) promise: &'static str,
    pub(crate) name: &'static str,
    pub(crate) ratio: f64,
    pub(crate) limit: f64,
}

/// A promise's number and what measures it; a measurement may yield several lines.
type Case = (&'static [&'static str], fn() -> Vec<Line>);

const CASES: &[Case] = &[
    (&["P1"], paging::page_ingest),
    (&["P2"], paging::page_without_signatures),
    (&["P3"], paging::one_forged),
    (&["P4"], paging::seen_again),
    (&["P5"], counting::live_event),
    (&["P6"], counting::projection),
    (&["P7"], counting::mark_channel),
    (&["P7"], counting::apply_mark),
    (&["P8"], counting::repair),
    (&["P9"], durable::snapshot),
    (&["P10"], durable::cipher_ratio),
    (&["P11"], durable::durable_mark),
    (&["P12"], paging::first_page),
    (&["P13"], paging::cold_page),
    (&["P14"], counting::restore),
    (&["P18"], memory::peak),
    (&["P19"], counting::allocations_per_event),
];

fn main() -> ExitCode {
    if memory::is_child() {
        return ExitCode::SUCCESS;
    }
    if std::env::args().any(|argument| argument == "F1") {
        println!("F1 microseconds {:.1}", paging::f1_microseconds());
        return ExitCode::SUCCESS;
    }
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
