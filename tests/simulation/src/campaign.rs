//! Many seeds: run, and for one that fails print it, shrink it and keep it as a case.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::generate::plan;
use crate::plan::Plan;
use crate::run::{Failure, run};
use crate::shrink::shrink;

/// A kept case: a plan that once broke an invariant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// What it showed.
    pub title: String,
    /// What broke.
    pub invariant: String,
    /// The plan.
    pub plan: Plan,
}

/// What a campaign is to do.
#[derive(Debug, Clone)]
pub struct Campaign {
    /// The first seed.
    pub from: u64,
    /// How many.
    pub runs: u64,
    /// How many at once.
    pub jobs: usize,
    /// Where failing plans are kept, shrunk. None keeps nothing.
    pub keep: Option<PathBuf>,
    /// Stops after so many failures.
    pub most_failures: usize,
}

/// What it came to.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Runs that held.
    pub passed: u64,
    /// The others, by seed.
    pub failed: BTreeMap<u64, Failure>,
}

/// Runs it. `say` is told what is worth a line.
pub fn campaign(what: &Campaign, say: &(dyn Fn(&str) + Sync)) -> Outcome {
    let (next, outcome) = (AtomicU64::new(0), Mutex::new(Outcome::default()));
    std::thread::scope(|scope| {
        for _ in 0..what.jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::SeqCst);
                    let full = locked(&outcome).failed.len() >= what.most_failures;
                    if at >= what.runs || full {
                        return;
                    }
                    one(what, what.from + at, &outcome, say);
                }
            });
        }
    });
    outcome.into_inner().unwrap_or_default()
}

fn locked(outcome: &Mutex<Outcome>) -> std::sync::MutexGuard<'_, Outcome> {
    outcome.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn one(what: &Campaign, seed: u64, outcome: &Mutex<Outcome>, say: &(dyn Fn(&str) + Sync)) {
    let whole = plan(seed);
    let caught = std::panic::catch_unwind(|| run(&whole, None, false).failure);
    let failure = match caught {
        Ok(None) => {
            let passed = {
                let mut outcome = locked(outcome);
                outcome.passed += 1;
                outcome.passed
            };
            if passed % 10_000 == 0 {
                say(&format!("{passed} runs hold"));
            }
            return;
        }
        Ok(Some(failure)) => failure,
        Err(_) => Failure { step: 0, invariant: "panic", detail: "the simulation panicked".to_owned() },
    };
    say(&format!("seed {seed} FAILS {failure}"));
    if let Some(folder) = &what.keep
        && failure.invariant != "panic"
    {
        keep(folder, seed, &whole, &failure, say);
    }
    locked(outcome).failed.insert(seed, failure);
}

fn keep(folder: &Path, seed: u64, whole: &Plan, failure: &Failure, say: &(dyn Fn(&str) + Sync)) {
    let small = shrink(whole, failure);
    let now = run(&small, None, false).failure;
    let title = now.map_or_else(|| failure.to_string(), |failure| failure.to_string());
    say(&format!("seed {seed} shrunk from {} to {} steps: {title}", whole.steps.len(), small.steps.len()));
    let case = Case { title, invariant: failure.invariant.to_owned(), plan: small };
    let written = serde_json::to_string_pretty(&case).map_err(std::io::Error::other).and_then(|text| {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join(format!("seed-{seed}.json")), text + "\n")
    });
    match written {
        Ok(()) => say(&format!("seed {seed} kept as seed-{seed}.json")),
        Err(why) => say(&format!("seed {seed} cannot be kept: {why}")),
    }
}

/// Reads a kept case.
pub fn case(path: &Path) -> anyhow::Result<Case> {
    Ok(serde_json::from_str(&std::fs::read_to_string(path)?)?)
}
