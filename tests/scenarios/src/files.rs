//! Many files: which ones, side by side, and what is printed about them.
//!
//! Lines come in the order of the files however many run at once. A file that does not come to an end in real time (a core that
//! never rests) is given up after [`GIVE_UP`] and fails; its thread is left behind.

use std::collections::VecDeque;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;

use crate::device::DeviceEnv;
use crate::driver::Driver;
use crate::read::read_scenario;
use crate::runner::Runner;
use crate::scenario::Scenario;

/// Real time a file may take.
pub const GIVE_UP: Duration = Duration::from_secs(300);

/// Makes the driver of a device; one for all threads.
pub type SharedMakeDriver = Arc<dyn Fn(DeviceEnv) -> anyhow::Result<Rc<dyn Driver>> + Send + Sync>;

/// How to run.
#[derive(Clone)]
pub struct Options {
    /// What randomness follows from.
    pub seed: u64,
    /// Whether traces are printed.
    pub trace: bool,
    /// How many files at once.
    pub jobs: usize,
    /// The way to the core; without one files are only read.
    pub driver: Option<SharedMakeDriver>,
    /// Whether the way to the core may use other threads: then results are repeatable, traces are not.
    pub threads: bool,
}

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Everything held.
    Passed,
    /// Something did not, in words.
    Failed(String),
    /// It cannot be read, in words.
    Unreadable(String),
}

/// A file's report.
#[derive(Debug, Clone)]
pub struct Report {
    /// Title, or the path where the file cannot be read.
    pub title: String,
    /// What became of it.
    pub outcome: Outcome,
    /// Its trace.
    pub trace: Vec<String>,
}

impl Report {
    fn unreadable(path: &Path, why: impl std::fmt::Display) -> Self {
        let title = path.display().to_string();
        Self { title, outcome: Outcome::Unreadable(format!("cannot be read: {why}")), trace: Vec::new() }
    }

    fn failed(path: &Path, why: &str) -> Self {
        let title = path.display().to_string();
        Self { title, outcome: Outcome::Failed(why.to_owned()), trace: Vec::new() }
    }

    /// The line printed about it.
    pub fn line(&self) -> String {
        match &self.outcome {
            Outcome::Passed => format!("ok   {}", self.title),
            Outcome::Failed(why) | Outcome::Unreadable(why) => {
                format!("FAIL {}: {}", self.title, why.replace(['\n', '\r'], " "))
            }
        }
    }
}

/// Counts over all files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Files that passed.
    pub passed: usize,
    /// Files that did not.
    pub failed: usize,
    /// Those of them that cannot be read.
    pub unreadable: usize,
}

impl Summary {
    /// 0, 1 when something failed, 2 when a file cannot be read.
    pub fn exit_code(&self) -> u8 {
        match (self.unreadable, self.failed) {
            (0, 0) => 0,
            (0, _) => 1,
            _ => 2,
        }
    }
}

/// The files meant by some paths: a folder stands for every `.json` file below it, by path.
pub fn expand(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() { below(path, &mut files) } else { files.push(path.clone()) }
    }
    files
}

fn below(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().filter_map(|e| e.ok().map(|e| e.path())).collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            below(&entry, files);
        } else if entry.extension().is_some_and(|e| e == "json") {
            files.push(entry);
        }
    }
}

/// Reads a file.
pub fn load(path: &Path) -> anyhow::Result<Scenario> {
    let text = std::fs::read_to_string(path).context("no readable file")?;
    Ok(read_scenario(&text)?)
}

/// Reads and runs one file on this thread.
pub fn run_file(path: &Path, options: &Options) -> Report {
    let scenario = match load(path) {
        Ok(scenario) => scenario,
        Err(why) => return Report::unreadable(path, format_args!("{why:#}")),
    };
    let title = scenario.title.clone();
    let Some(make) = options.driver.clone() else {
        return Report { title, outcome: Outcome::Passed, trace: Vec::new() };
    };
    let (outcome, trace) = match play(scenario, options, &*make) {
        Ok((Ok(()), trace)) => (Outcome::Passed, trace),
        Ok((Err(why), trace)) => (Outcome::Failed(why), trace),
        Err(why) => (Outcome::Failed(format!("the world could not be built: {why:#}")), Vec::new()),
    };
    Report { title, outcome, trace }
}

/// How a scenario went, and its trace.
pub type Played = (Result<(), String>, Vec<String>);

/// Runs a scenario on this thread.
pub fn play(scenario: Scenario, options: &Options, make: &crate::runner::MakeDriver) -> anyhow::Result<Played> {
    // Work on a thread of its own comes back when it likes, and the trace would not be the same twice.
    let threads = Arc::new(AtomicUsize::new(0));
    let started = threads.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .on_thread_start(move || {
            started.fetch_add(1, Ordering::SeqCst);
        })
        .build()?;
    let local = tokio::task::LocalSet::new();
    let played = local.block_on(&runtime, async {
        let mut runner = Runner::new(Rc::new(scenario), options.seed, options.trace, make)?;
        let mut result = runner.run().await;
        if result.is_ok() && !options.threads && threads.load(Ordering::SeqCst) > 0 {
            result = Err("work was done on another thread, so the run is not repeatable".to_owned());
        }
        Ok((result, runner.trace().lines()))
    });
    drop(local);
    runtime.shutdown_background();
    played
}

/// What the threads share.
struct Work {
    queue: Mutex<VecDeque<(usize, PathBuf)>>,
    reports: Sender<(usize, Report)>,
    options: Options,
}

impl Work {
    /// A thread that runs file after file.
    fn hire(self: &Arc<Self>) {
        let work = self.clone();
        std::thread::spawn(move || {
            while let Some((i, path)) = { work.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front() } {
                let report = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run_file(&path, &work.options)));
                let report = report.unwrap_or_else(|_| Report::failed(&path, "panicked"));
                if work.reports.send((i, report)).is_err() {
                    return;
                }
            }
        });
    }
}

/// Runs files and prints as they come to an end, in their order.
pub fn run_files(files: &[PathBuf], options: &Options, out: &mut dyn Write) -> std::io::Result<Summary> {
    let queue = Mutex::new(files.iter().cloned().enumerate().collect());
    let (sender, receiver) = channel();
    let work = Arc::new(Work { queue, reports: sender, options: options.clone() });
    for _ in 0..options.jobs.clamp(1, files.len().max(1)) {
        work.hire();
    }
    let mut summary = Summary::default();
    let mut reports: Vec<Option<Report>> = files.iter().map(|_| None).collect();
    for (i, path) in files.iter().enumerate() {
        let report = loop {
            if let Some(report) = reports[i].take() {
                break report;
            }
            match receiver.recv_timeout(GIVE_UP) {
                Ok((done, report)) => reports[done] = Some(report),
                Err(_) => {
                    // Its thread is left behind; another takes its place.
                    work.hire();
                    break Report::failed(path, "did not come to an end");
                }
            }
        };
        summary.count(&report);
        for line in &report.trace {
            writeln!(out, "{line}")?;
        }
        writeln!(out, "{}", report.line())?;
    }
    writeln!(out, "{} passed, {} failed", summary.passed, summary.failed)?;
    Ok(summary)
}

impl Summary {
    fn count(&mut self, report: &Report) {
        match report.outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Failed(_) => self.failed += 1,
            Outcome::Unreadable(_) => {
                self.failed += 1;
                self.unreadable += 1;
            }
        }
    }
}
