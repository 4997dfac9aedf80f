//! Many seeds: run, and for one that fails print it, shrink it and keep it as a case.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::generate::plan;
use crate::plan::Plan;
use crate::run::{Failure, run};
use crate::shrink::shrink;

/// Real time after which a run of some milliseconds, and its shrinking, stands still.
const STUCK: Duration = Duration::from_secs(300);

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
    let busy: Mutex<BTreeMap<u64, Instant>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..what.jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::SeqCst);
                    let full = locked(&outcome).failed.len() >= what.most_failures;
                    if at >= what.runs || full {
                        return;
                    }
                    let seed = what.from + at;
                    locked(&busy).insert(seed, Instant::now());
                    one(what, seed, &outcome, say);
                    locked(&busy).remove(&seed);
                }
            });
        }
        // Every worker keeps the scope open; this thread looks after them meanwhile.
        while next.load(Ordering::SeqCst) < what.runs || !locked(&busy).is_empty() {
            std::thread::sleep(Duration::from_millis(20));
            watch(&busy, say);
            if locked(&outcome).failed.len() >= what.most_failures && locked(&busy).is_empty() {
                break;
            }
        }
    });
    outcome.into_inner().unwrap_or_default()
}

/// A run that stands still cannot be stopped from outside; it ends the program, with its seed.
fn watch(busy: &Mutex<BTreeMap<u64, Instant>>, say: &(dyn Fn(&str) + Sync)) {
    let stuck = locked(busy).iter().find(|(_, begun)| begun.elapsed() > STUCK).map(|(seed, _)| *seed);
    if let Some(seed) = stuck {
        say(&format!("seed {seed} FAILS: it stands still"));
        std::process::exit(1);
    }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
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
            if passed % 1_000 == 0 {
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
