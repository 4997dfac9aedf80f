//! `waggle-simulation`: runs many seeds, one seed with its trace, or kept cases.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use waggle_simulation::campaign::{Campaign, campaign, case};
use waggle_simulation::generate::plan;
use waggle_simulation::run::run;

/// Runs devices, a relay and everything that can go wrong, and holds them against a plain model.
#[derive(Parser)]
struct Arguments {
    /// How many runs.
    #[arg(long, default_value_t = 1_000)]
    runs: u64,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    from_seed: u64,
    /// Runs at once; as many as there are processors if not given.
    #[arg(long)]
    jobs: Option<usize>,
    /// Where failing plans are kept, shrunk.
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Failures after which it stops.
    #[arg(long, default_value_t = 5)]
    most_failures: usize,
    /// Runs one seed and prints what happened.
    #[arg(long)]
    trace: Option<u64>,
    /// Prints a seed's plan instead of running it.
    #[arg(long)]
    plan: Option<u64>,
    /// Runs kept cases, with their trace.
    cases: Vec<PathBuf>,
}

#[expect(clippy::print_stdout, reason = "a command-line tool speaks so")]
fn say(line: &str) {
    println!("{line}");
}

fn main() -> ExitCode {
    match told(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            say(&format!("waggle-simulation: {why:#}"));
            ExitCode::from(2)
        }
    }
}

fn told(arguments: &Arguments) -> anyhow::Result<bool> {
    if let Some(seed) = arguments.plan {
        say(&serde_json::to_string_pretty(&plan(seed))?);
        return Ok(true);
    }
    let mut traced = arguments.trace.map(plan).into_iter().collect::<Vec<_>>();
    for path in &arguments.cases {
        traced.push(case(path)?.plan);
    }
    if traced.is_empty() {
        return Ok(many(arguments));
    }
    let mut fine = true;
    for plan in traced {
        let report = run(&plan, None, true);
        report.trace.iter().for_each(|line| say(line));
        match report.failure {
            Some(failure) => {
                say(&format!("FAILS {failure}"));
                fine = false;
            }
            None => say("holds"),
        }
    }
    Ok(fine)
}

fn many(arguments: &Arguments) -> bool {
    let what = Campaign {
        from: arguments.from_seed,
        runs: arguments.runs,
        jobs: arguments.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)),
        keep: arguments.keep.clone(),
        most_failures: arguments.most_failures,
    };
    let begun = Instant::now();
    let outcome = campaign(&what, &say);
    let ms = begun.elapsed().as_secs_f64() * 1_000.0 / (outcome.passed.max(1) as f64);
    say(&format!("{ms:.1} ms a run over {} jobs", what.jobs));
    say(&format!("{} passed, {} failed", outcome.passed, outcome.failed.len()));
    outcome.failed.is_empty()
}
