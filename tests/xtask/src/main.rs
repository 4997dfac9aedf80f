//! The project's own commands.
//!
//! `cargo xtask test` is the one command that runs every suite there is: it sets up what is missing, runs them one after
//! another, prints a line per suite and, alone on the last line, `N passed, N failed`. A suite is a variant of [`Suite`]; one
//! that does not exist is not listed. `cargo xtask bench` runs the ratio bench.

mod android;
mod bindings;
mod debian;
mod kotlin;
mod native;
mod package;
mod phones;
mod rust;
mod scenarios;
mod setup;
mod swift;
mod tally;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use clap::{Parser, Subcommand, ValueEnum};

use bindings::Surface;
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
    /// Takes the pictures of the Android app's screens anew.
    Screenshots,
    /// Runs the ratio bench; further arguments are handed to it.
    Bench {
        /// Arguments of the bench.
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
    /// Scenario files against core and test relay, in virtual time.
    Scenarios,
    /// The Kotlin module over the library, on the JVM.
    Kotlin,
    /// The Android app over the library, under Robolectric.
    Android,
    /// The Swift package over the library.
    Swift,
    /// The library type-checked for Android and iOS.
    Phones,
}

impl Suite {
    /// Whether its folder is in the tree. For the time until every language has its package.
    fn is_there(self, root: &Path) -> bool {
        match self {
            Self::Rust | Self::Scenarios | Self::Phones => true,
            Self::Kotlin => root.join(kotlin::BINDINGS).is_file(),
            Self::Android => root.join(android::PROJECT).is_file(),
            Self::Swift => root.join(swift::BINDINGS).join("Package.swift").is_file(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Scenarios => "scenarios",
            Self::Kotlin => "kotlin",
            Self::Android => "android",
            Self::Swift => "swift",
            Self::Phones => "phones",
        }
    }

    fn run(self, root: &Path) -> anyhow::Result<Tally> {
        match self {
            Self::Rust => rust::test(root),
            Self::Scenarios => scenarios::run(root),
            Self::Kotlin => kotlin::test(root, kotlin::BINDINGS),
            Self::Android => android::test(root),
            Self::Swift => swift::test(root, swift::BINDINGS),
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
                Platform::Apple => package::apple(&root(), &options),
                Platform::Android => package::android(&root(), &options),
            }
        }
        Command::Swift { package, arguments } => swift::run(&root(), &package, &arguments, say),
        Command::Screenshots => android::screenshots(&root()),
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
    let all = || Suite::value_variants().iter().copied().filter(|suite| suite.is_there(&root)).collect();
    for suite in only.map_or_else(all, |one| vec![one]) {
        say(&format!("== {}", suite.name()));
        let start = Instant::now();
        let tally = suite.run(&root).unwrap_or_else(|error| Tally::broken(format!("{error:#}")));
        lines.push(format!("{:<10} {tally} ({} s)", suite.name(), start.elapsed().as_secs()));
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
