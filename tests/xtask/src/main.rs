//! The project's own commands.
//!
//! `cargo xtask test` is the one command that runs every suite there is: it sets up what is missing, runs them one after
//! another, prints a line per suite and, alone on the last line, `N passed, N failed`. A suite is a variant of [`Suite`]; one
//! that does not exist is not listed. `cargo xtask bench` runs the ratio bench.

mod rust;
mod scenarios;
mod setup;
mod tally;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use clap::{Parser, Subcommand, ValueEnum};

use tally::Tally;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's own commands")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs every suite there is, or one of them.
    Test {
        /// The one suite to run.
        #[arg(long)]
        only: Option<Suite>,
    },
    /// Kills a process at every write to its journal and at random times, and checks what survives.
    Crash {
        /// How many kills.
        #[arg(long, default_value_t = 500)]
        kills: u32,
    },
    /// Runs the ratio bench; further arguments are handed to it.
    Bench {
        /// Arguments of the bench.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

/// The suites, in the order they run: fast ones first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Suite {
    /// Unit, property and policy tests of the workspace.
    Rust,
    /// Scenario files against core and test relay, in virtual time.
    Scenarios,
}

impl Suite {
    fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Scenarios => "scenarios",
        }
    }

    fn run(self, root: &Path) -> anyhow::Result<Tally> {
        match self {
            Self::Rust => rust::test(root),
            Self::Scenarios => scenarios::run(root),
        }
    }
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Test { only } => test(only),
        Command::Crash { kills } => rust::crash(&root(), kills),
        Command::Bench { arguments } => rust::bench(&root(), &arguments),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs the suites. A suite that cannot be run at all counts as one failure and does not stop the others.
fn test(only: Option<Suite>) -> anyhow::Result<bool> {
    let root = root();
    setup::tools(&setup::FOR_RUST).context("setting up")?;
    let mut total = Tally::default();
    let mut lines = vec![];
    for suite in only.map_or_else(|| Suite::value_variants().to_vec(), |one| vec![one]) {
        say(&format!("== {}", suite.name()));
        let start = Instant::now();
        let tally = suite.run(&root).unwrap_or_else(|error| Tally::broken(format!("{error:#}")));
        lines.push(format!("{:<10} {tally} ({} s)", suite.name(), start.elapsed().as_secs()));
        total.add(&tally);
    }
    say("");
    for line in lines {
        say(&line);
    }
    say(&total.closing_line());
    Ok(total.failed == 0)
}

/// The folder of the workspace.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

#[expect(clippy::print_stdout, reason = "a command line tool speaks on its output")]
fn say(line: &str) {
    println!("{line}");
}
