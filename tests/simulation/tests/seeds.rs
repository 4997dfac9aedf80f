//! Many seeds hold, the same seed does the same, and what once broke stays whole.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::Path;
use std::sync::Mutex;

use waggle_simulation::campaign::{Campaign, campaign, case};
use waggle_simulation::generate::plan;
use waggle_simulation::run::run;

/// Seeds of an ordinary test run; `cargo xtask simulate` runs as many as one likes.
const RUNS: u64 = 2_000;

#[test]
fn two_thousand_seeds_hold() {
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let what = Campaign { from: 1, runs: RUNS, jobs, keep: None, most_failures: 5 };
    let said = Mutex::new(Vec::new());
    let outcome = campaign(&what, &|line| said.lock().unwrap().push(line.to_owned()));
    let said = said.into_inner().unwrap();
    assert!(
        outcome.failed.is_empty(),
        "to reproduce: cargo xtask simulate --from-seed SEED --runs 1\n{}",
        said.join("\n")
    );
    assert_eq!(outcome.passed, RUNS);
}

#[test]
fn the_same_seed_does_the_same() {
    for seed in [3, 14, 159, 265] {
        let (once, again) = (run(&plan(seed), None, true), run(&plan(seed), None, true));
        assert!(once.trace.len() > 50);
        assert_eq!(once.failure, again.failure);
        assert_eq!(once.trace, again.trace, "seed {seed}");
    }
}

#[test]
fn kept_cases_stay_whole() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "json"));
    assert!(!paths.is_empty());
    for path in paths {
        let case = case(&path).unwrap();
        let failure = run(&case.plan, None, false).failure;
        assert!(failure.is_none(), "{}: {}: {}", path.display(), case.title, failure.unwrap());
    }
}
