//! What fuzzing runs: every way in for bytes that somebody else wrote, as a function of those bytes.
//!
//! A target takes any bytes, hands them to the core's own API, and asserts what must hold of the result: it does not only look for panics. The
//! same functions run over the committed corpus in the ordinary tests (`tests/corpus.rs`) and under libFuzzer (`cargo xtask fuzz`).
//!
//! Signatures would keep a fuzzer out of everything behind them, so targets that need events take *templates*: a JSON array of
//! `[author, kind, time, tags, content]`, signed here by one of four people.
#![forbid(unsafe_code)]

mod answers;
mod blobs;
mod frames;
mod journals;
mod templates;

/// One way in.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name, and that of its corpus's folder.
    pub name: &'static str,
    /// Runs one input; panics when something does not hold.
    pub run: fn(&[u8]),
    /// Longest input worth trying, bytes.
    pub longest: usize,
}

/// All of them.
pub const TARGETS: [Target; 7] = [
    Target { name: "frames", run: frames::run, longest: 4_096 },
    Target { name: "answers", run: answers::run, longest: 4_096 },
    Target { name: "documents", run: frames::document, longest: 2_048 },
    Target { name: "blobs", run: blobs::run, longest: 2_048 },
    Target { name: "envelopes", run: blobs::envelope, longest: 4_096 },
    Target { name: "journals", run: journals::run, longest: 2_048 },
    Target { name: "scenarios", run: scenarios, longest: 4_096 },
];

/// A scenario file is somebody else's too: it is read, or refused with the place at fault.
fn scenarios(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Err(fault) = waggle_scenarios::read::read_scenario(text) {
        assert!(!fault.to_string().is_empty(), "a fault says what it is");
    }
}
