//! `waggle-scenarios`: runs scenario files, one line a file.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::{Command, ExitCode};

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
    #[arg(long, conflicts_with = "through")]
    check: bool,
    /// Through the layer of another language, `kotlin` or `swift`, as `cargo xtask through` does.
    #[arg(long, conflicts_with = "jobs")]
    through: Option<String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(language) = &arguments.through {
        return through(language, &arguments);
    }
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

/// The other language's toolchain is xtask's business, so the run is, too.
fn through(language: &str, arguments: &Arguments) -> ExitCode {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["xtask", "through", language, "--seed", &arguments.seed.to_string()]);
    if arguments.trace {
        command.arg("--trace");
    }
    match command.args(&arguments.paths).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
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
