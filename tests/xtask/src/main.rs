//! The project's own commands.
//!
//! `cargo xtask test` is the one command that runs every suite there is: it sets up what is missing, runs them one after
//! another, prints a line per suite and, alone on the last line, `N passed, N failed`. A suite is a variant of [`Suite`]; one
//! that does not exist is not listed. `cargo xtask bench` measures the promises about speed and size.

mod android;
mod bench;
mod bindings;
mod bounds;
mod debian;
mod deny;
mod fuzz;
mod instructions;
mod kotlin;
mod mutants;
mod native;
mod package;
mod packages;
mod phones;
mod rust;
mod scenarios;
mod screenshots;
mod setup;
mod swift;
mod tally;
mod through;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use clap::{Parser, Subcommand, ValueEnum};

use bindings::Surface;
use tally::Tally;
use through::Language;

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
    /// Generates the Swift and Kotlin code of the library.
    Bindings {
        /// Compares what apps can see of it with `bindings/api`.
        #[arg(long)]
        check: bool,
        /// Takes what apps can see of it over into `bindings/api`.
        #[arg(long, conflicts_with = "check")]
        bless: bool,
    },
    /// Runs Swift in a package of the work tree, with the library built and linked: `cargo xtask swift -- test --filter NAME`.
    Swift {
        /// The folder of the package.
        #[arg(long, default_value = swift::BINDINGS)]
        package: String,
        /// Arguments of `swift`.
        #[arg(last = true, required = true)]
        arguments: Vec<String>,
    },
    /// Runs scenario files through a language's own layer.
    Through {
        /// Which.
        language: Language,
        /// Files and folders, and `--trace`, `--seed N`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        arguments: Vec<String>,
    },
    /// Assembles what an app's build takes from libraries built for phones.
    Package {
        /// For whom.
        platform: Platform,
        /// The folder of the libraries, with a folder in it for each slice of the XCFramework or each processor of Android.
        #[arg(long, required_unless_present = "placeholder")]
        libraries: Option<PathBuf>,
        /// Lays it out around this system's own library, which runs on no phone.
        #[arg(long, conflicts_with = "libraries")]
        placeholder: bool,
        /// Where the zipped XCFramework will be downloaded from.
        #[arg(long)]
        url: Option<String>,
    },
    /// Takes the pictures of the Android app and of the terminal reader anew.
    Screenshots,
    /// Gets every rule wrong once and sees that a test fails.
    Mutants {
        /// Only mutants of this rule, or with this text.
        #[arg(long)]
        only: Option<String>,
    },
    /// Fuzzes every way in for bytes of others, or one of them; needs a C++ compiler.
    Fuzz {
        /// The one target.
        #[arg(long)]
        target: Option<String>,
        /// Executions of each target.
        #[arg(long, default_value_t = 10_000_000)]
        executions: u64,
        /// Seconds a target may take at most.
        #[arg(long, default_value_t = 3_600)]
        seconds: u64,
        /// Writes the committed corpus anew instead, from it and all that was found on this machine.
        #[arg(long)]
        minimise: bool,
    },
    /// Checks dependencies against `.config/deny.toml` and known advisories, with cargo-deny.
    Deny,
    /// Writes the inventory of bounds from the core's `limits`.
    Bounds,
    /// A virtual week of a thousand channels and a million events: flat memory, bounded files.
    Soak {
        /// Events.
        #[arg(long, default_value_t = 1_000_000)]
        events: u64,
        /// Channels.
        #[arg(long, default_value_t = 1_000)]
        channels: u64,
    },
    /// The core against the embedded relay over loopback: live events at a steady rate, every count right.
    Load {
        /// Events a second.
        #[arg(long, default_value_t = 1_000)]
        rate: u64,
        /// Seconds.
        #[arg(long, default_value_t = 60)]
        seconds: u64,
    },
    /// Runs seeds of the simulator: devices, a relay and everything that can go wrong, held against a plain model.
    Simulate {
        /// How many seeds; from ten thousand on in the release profile.
        #[arg(long, default_value_t = 2_000)]
        runs: u64,
        /// The first seed.
        #[arg(long, default_value_t = 1)]
        from_seed: u64,
        /// Runs at once; as many as there are processors if not given.
        #[arg(long)]
        jobs: Option<usize>,
    },
    /// Measures every promise about speed and size.
    Bench {
        /// Promises by their numbers (`P1 P16`); all of them if none is named.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

/// For whom something is packaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Platform {
    /// An XCFramework and a Swift package.
    Apple,
    /// An AAR in a Maven repository.
    Android,
}

/// The suites, in the order they run: fast ones first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Suite {
    /// Unit, property and policy tests of the workspace.
    Rust,
    /// Instructions of what must not grow with what is held, counted by callgrind.
    Instructions,
    /// Scenario files against core and test relay, in virtual time.
    Scenarios,
    /// The Kotlin module over the library, on the JVM.
    Kotlin,
    /// The Android app over the library, under Robolectric.
    Android,
    /// The Swift package over the library.
    Swift,
    /// The iOS app: its kit, and on Linux its views against declarations.
    Ios,
    /// Scenario files through the Kotlin layer.
    ThroughKotlin,
    /// Scenario files through the Swift layer.
    ThroughSwift,
    /// What apps take, laid out around this system's library.
    Packages,
    /// The library type-checked for Android and iOS.
    Phones,
}

impl Suite {
    fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Instructions => "instructions",
            Self::Scenarios => "scenarios",
            Self::Kotlin => "kotlin",
            Self::Android => "android",
            Self::Swift => "swift",
            Self::Ios => "ios",
            Self::ThroughKotlin => "through-kotlin",
            Self::ThroughSwift => "through-swift",
            Self::Packages => "packages",
            Self::Phones => "phones",
        }
    }

    fn run(self, root: &Path) -> anyhow::Result<Tally> {
        match self {
            Self::Rust => rust::test(root),
            Self::Instructions => instructions::test(root),
            Self::Scenarios => scenarios::run(root),
            Self::Kotlin => kotlin::test(root, kotlin::BINDINGS),
            Self::Android => android::test(root),
            Self::Swift => swift::library(root),
            Self::Ios => swift::app(root),
            Self::ThroughKotlin => through::test(root, Language::Kotlin),
            Self::ThroughSwift => through::test(root, Language::Swift),
            Self::Packages => packages::test(root),
            Self::Phones => phones::test(root),
        }
    }
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Test { only } => test(only),
        Command::Crash { kills } => rust::crash(&root(), kills),
        Command::Bindings { check, bless } => {
            let surface = if bless {
                Surface::Bless
            } else if check {
                Surface::Check
            } else {
                Surface::Ignore
            };
            generate(surface)
        }
        Command::Package { platform, libraries, url, .. } => {
            let options = package::Options { libraries, url };
            match platform {
                Platform::Apple => package::apple(&root(), &options).map(|_| true),
                Platform::Android => package::android(&root(), &options).map(|_| true),
            }
        }
        Command::Through { language, arguments } => through::run(&root(), language, &arguments, say),
        Command::Swift { package, arguments } => swift::run(&root(), &package, &arguments, say),
        Command::Screenshots => screenshots::take(&root()),
        Command::Mutants { only } => mutants::run(&root(), only.as_deref()),
        Command::Fuzz { target, minimise: true, .. } => fuzz::minimise(&root(), target.as_deref()),
        Command::Fuzz { target, executions, seconds, .. } => fuzz::run(&root(), target.as_deref(), executions, seconds),
        Command::Deny => deny::run(&root()),
        Command::Bounds => bounds::write(&root()),
        Command::Soak { events, channels } => rust::soak(&root(), events, channels),
        Command::Load { rate, seconds } => rust::load(&root(), rate, seconds),
        Command::Simulate { runs, from_seed, jobs } => rust::simulate(&root(), runs, from_seed, jobs),
        Command::Bench { arguments } => bench::run(&root(), &arguments),
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
    let all = || Suite::value_variants().to_vec();
    for suite in only.map_or_else(all, |one| vec![one]) {
        say(&format!("== {}", suite.name()));
        let start = Instant::now();
        let tally = suite.run(&root).unwrap_or_else(|error| Tally::broken(format!("{error:#}")));
        lines.push(format!("{:<14} {tally} ({} s)", suite.name(), start.elapsed().as_secs()));
        tally.names.iter().for_each(|name| say(&format!("FAIL {name}")));
        total.add(&tally);
    }
    say("");
    for line in lines {
        say(&line);
    }
    say(&total.closing_line());
    Ok(total.failed == 0)
}

/// Generates the code of the other languages.
fn generate(surface: Surface) -> anyhow::Result<bool> {
    setup::tools(&setup::FOR_RUST).context("setting up")?;
    let (generated, same) = bindings::run(&root(), &native::build(&root())?, surface)?;
    say(&format!("{} and {} are up to date", generated.kotlin.display(), generated.swift.display()));
    Ok(same)
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
