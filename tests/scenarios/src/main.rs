//! `waggle-scenarios`: runs scenario files, one line a file.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use waggle_scenarios::files::{Options, SharedMakeDriver, expand, run_files};

/// Runs scenario files against the core and the test relay in virtual time.
#[derive(Parser)]
struct Arguments {
    /// Files, or folders for every .json file below them.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Print every relay request and state change with its virtual time.
    #[arg(long)]
    trace: bool,
    /// What randomness follows from: the same file and seed give the same trace.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Files at once; as many as there are processors if not given.
    #[arg(long)]
    jobs: Option<usize>,
    /// Only read the files.
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let native: SharedMakeDriver = std::sync::Arc::new(waggle_scenarios::native::make);
    let driver = (!arguments.check).then_some(native);
    let options = Options {
        seed: arguments.seed,
        trace: arguments.trace,
        jobs: arguments.jobs.unwrap_or_else(processors),
        driver,
        threads: false,
    };
    match run_files(&expand(&arguments.paths), &options, &mut std::io::stdout().lock()) {
        Ok(summary) => ExitCode::from(summary.exit_code()),
        Err(why) => complain(&why.to_string()),
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[expect(clippy::print_stderr, reason = "a command-line tool speaks so")]
fn complain(why: &str) -> ExitCode {
    eprintln!("waggle-scenarios: {why}");
    ExitCode::from(2)
}
