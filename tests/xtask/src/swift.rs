//! Swift packages of the work tree: built and tested with the system's Swift if it is new enough, else with Debian 13's.
//!
//! What is built goes to the target directory, one folder a package. The tests' results are read from what they print: XCTest and
//! Swift Testing each have a line a test.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};

use crate::bindings;
use crate::debian::{Debian, Packages};
use crate::native::{self, Native};
use crate::rust::all_lines;
use crate::say;
use crate::setup;
use crate::tally::Tally;
use crate::through;

/// The package of the bindings.
pub(crate) const BINDINGS: &str = "bindings/swift";

/// The oldest Swift that is taken, as its first number.
const OLDEST: u32 = 6;

const FOR_SWIFT: Packages =
    Packages { name: "Swift", packages: &["swiftlang", "libc6-dev", "libstdc++-14-dev"], backports: false };

/// Seconds after which a run is given up, so that a test that hangs is a failure.
const LIMIT_S: &str = "1200";

/// Subcommands that take a package, a build folder and flags of the linker.
const BUILDING: [&str; 3] = ["build", "test", "run"];

/// Where Swift is.
enum Toolchain {
    System,
    Debian(Debian),
}

impl Toolchain {
    fn find() -> anyhow::Result<Self> {
        let version = Command::new("swift").arg("--version").output().ok().filter(|output| output.status.success());
        let version = version.and_then(|output| major_version(&String::from_utf8_lossy(&output.stdout)));
        if version.is_some_and(|version| version >= OLDEST) {
            return Ok(Self::System);
        }
        if !cfg!(target_os = "linux") {
            bail!("please install Swift {OLDEST} or newer");
        }
        Debian::with(&FOR_SWIFT).context("Swift is not to be had").map(Self::Debian)
    }

    /// A program of the toolchain, or one that uses it, with these arguments, in the folder of the package.
    fn command(&self, root: &Path, package: &Path, native: &Native, program: &str, arguments: &[String]) -> Command {
        let limited = ["timeout", "--kill-after=10", LIMIT_S, program];
        let variables = [
            ("WAGGLE_TEST_RELAY", native.relay.as_path()),
            ("WAGGLE_ROOT", root),
            ("WAGGLE_NATIVE", native.loaded.as_path()),
        ];
        match self {
            Self::System => {
                // A Mac has no `timeout`.
                let words = if setup::works(limited[0], &["--version"]) { &limited[..] } else { &limited[3..] };
                let mut command = Command::new(words[0]);
                command.args(&words[1..]).args(arguments).current_dir(package).envs(variables);
                command
            }
            Self::Debian(debian) => {
                let target = native.folder.parent().unwrap_or(root);
                let mut command = debian.command(package, &[root, target]);
                for (name, value) in variables {
                    command.arg(format!("{name}={}", value.display()));
                }
                command.args(limited).args(arguments);
                command
            }
        }
    }
}

/// The first number of `Swift version 6.0.3 (…)`, also if `Apple` stands before it.
fn major_version(text: &str) -> Option<u32> {
    text.split("Swift version ").nth(1)?.split(['.', '-', ' ']).next()?.parse().ok()
}

/// Runs `swift` for a package of the work tree, with the library and the generated code in place.
pub(crate) fn run(root: &Path, package: &str, arguments: &[String], line: impl FnMut(&str)) -> anyhow::Result<bool> {
    run_over(root, package, &native::build(root)?, arguments, line)
}

/// The same, over a library that was built already.
pub(crate) fn run_over(
    root: &Path,
    package: &str,
    native: &Native,
    arguments: &[String],
    line: impl FnMut(&str),
) -> anyhow::Result<bool> {
    let folder = root.join(package);
    ensure!(folder.join("Package.swift").is_file(), "{package} is no Swift package");
    let toolchain = Toolchain::find()?;
    bindings::generate(root, native)?;
    all_lines(toolchain.command(root, &folder, native, "swift", &complete(package, native, arguments)?), line)
}

/// Where a package is built.
fn scratch(package: &str, native: &Native) -> anyhow::Result<PathBuf> {
    Ok(native.target()?.join("swift").join(package.replace('/', "-")))
}

/// Adds where to build and what to link to arguments of a subcommand that builds.
fn complete(package: &str, native: &Native, arguments: &[String]) -> anyhow::Result<Vec<String>> {
    let Some((first, rest)) = arguments.split_first().filter(|(first, _)| BUILDING.contains(&first.as_str())) else {
        return Ok(arguments.to_vec());
    };
    let scratch = scratch(package, native)?;
    // The runner's library contains the bindings and is loaded in their place.
    let folder = if package == through::SWIFT { through::folder(native) } else { native.loaded.clone() };
    let library = folder.display().to_string();
    let mut all = vec![first.clone(), "--scratch-path".into(), scratch.display().to_string()];
    let mut linker = vec![format!("-L{library}"), "-rpath".into(), library];
    if cfg!(target_os = "linux") {
        // Debian's libswiftObservation.so has an undefined symbol that nothing calls.
        linker.push("--allow-shlib-undefined".into());
    }
    all.extend(linker.into_iter().flat_map(|flag| ["-Xlinker".to_owned(), flag]));
    all.extend(rest.iter().cloned());
    Ok(all)
}

/// Runs the tests of the app for iOS. Where there is SwiftUI itself, Xcode builds its views (`.github/workflows/ios.yml`).
pub(crate) fn app(root: &Path) -> anyhow::Result<Tally> {
    let mut tally = test(root, "ios")?;
    if cfg!(target_os = "linux") {
        tally.add(&test(root, "ios/check")?);
    }
    Ok(tally)
}

/// Runs the tests of the bindings, then builds their documentation: a link to nothing or a missing page fails it.
pub(crate) fn library(root: &Path) -> anyhow::Result<Tally> {
    let mut tally = test(root, BINDINGS)?;
    if cfg!(target_os = "linux") && tally.failed == 0 {
        let (native, folder) = (native::build(root)?, root.join(BINDINGS));
        let built = scratch(BINDINGS, &native)?;
        let written = built.with_file_name("docs");
        let arguments = [written, built].map(|path| path.display().to_string());
        let command = Toolchain::find()?.command(root, &folder, &native, "./docs.sh", &arguments);
        if all_lines(command, say)? {
            tally.pass();
        } else {
            tally.fail("the documentation builds");
        }
    }
    Ok(tally)
}

/// Runs the tests of a package.
pub(crate) fn test(root: &Path, package: &str) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    let mut skipped = 0_u32;
    let mut said = vec![];
    // The last line of Swift Testing, which runs after XCTest.
    let mut ended = false;
    let fine = run(root, package, &["test".into()], |line| {
        match outcome(line) {
            Some((_, Outcome::Passed)) => tally.pass(),
            Some((name, Outcome::Failed)) => tally.fail(name),
            Some((_, Outcome::Skipped)) => skipped += 1,
            None => {}
        }
        ended |= line.contains("Test run with ");
        said.push(line.to_owned());
    })?;
    if !fine || tally.failed > 0 {
        said.iter().filter(|line| worth_showing(line)).for_each(|line| say(line));
    }
    if !fine && (tally.failed == 0 || !ended) {
        tally.add(&Tally::broken(String::new()));
        tally.note = "it did not build, or did not come to its end".into();
    }
    if skipped > 0 {
        tally.note = format!("{skipped} skipped; {}", tally.note).trim_end_matches("; ").to_owned();
    }
    Ok(tally.of_at_least_one())
}

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    Skipped,
}

/// The test a line tells the end of. XCTest: `Test Case 'Suite.name' passed (0.1 seconds)`; Swift Testing, after a mark:
/// `Test name() passed after 0.1 seconds.` Lines of whole runs and of suites are no tests.
fn outcome(line: &str) -> Option<(&str, Outcome)> {
    let line = line.trim();
    if let Some(rest) = line.strip_prefix("Test Case '") {
        let (name, rest) = rest.split_once("' ")?;
        let how = match rest.split_whitespace().next()? {
            "passed" => Outcome::Passed,
            "failed" => Outcome::Failed,
            "skipped" => Outcome::Skipped,
            _ => return None,
        };
        return Some((name, how));
    }
    let (mark, rest) = line.split_once(" Test ")?;
    if mark.chars().count() > 2 || rest.starts_with("run ") || rest.starts_with("case ") {
        return None;
    }
    for (words, how) in [(" passed after ", Outcome::Passed), (" failed after ", Outcome::Failed)] {
        if let Some((name, _)) = rest.split_once(words) {
            return Some((name, how));
        }
    }
    rest.split_once(" skipped").map(|(name, _)| (name, Outcome::Skipped))
}

/// Whether a line of a failed run says more than that something started or passed.
fn worth_showing(line: &str) -> bool {
    let routine = [" started", " passed", "] Compiling", "] Emitting", "] Write", "] Linking", "] Wrapping"];
    !line.trim().is_empty() && !routine.iter().any(|words| line.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        assert_eq!(major_version("Swift version 6.0.3 (swift-6.0.3-RELEASE)\nTarget: x"), Some(6));
        assert_eq!(major_version("swift-driver version: 1 Apple Swift version 5.10 (x)"), Some(5));
        assert_eq!(major_version("bash: swift"), None);
    }

    #[test]
    fn ends_of_tests() {
        for (line, expected) in [
            ("Test Case 'A.testB' passed (0.001 seconds)", Some(("A.testB", Outcome::Passed))),
            ("Test Case 'A.testB' failed (0.001 seconds)", Some(("A.testB", Outcome::Failed))),
            ("Test Case 'A.testB' skipped (0.0 seconds)", Some(("A.testB", Outcome::Skipped))),
            ("Test Case 'A.testB' started at 2026-11-30 22:00:00.000", None),
            ("Test Suite 'A' passed at 2026-11-30", None),
            ("\u{2714} Test b() passed after 0.001 seconds.", Some(("b()", Outcome::Passed))),
            (
                "\u{2718} Test \"says so\" failed after 0.1 seconds with 1 issue.",
                Some(("\"says so\"", Outcome::Failed)),
            ),
            ("\u{279c} Test c() skipped: \"no network\"", Some(("c()", Outcome::Skipped))),
            ("\u{2714} Test run with 3 tests passed after 0.001 seconds.", None),
            ("\u{25c7} Test b() started.", None),
            ("\u{2718} Test b() recorded an issue at x.swift:3:1: Expectation failed: a", None),
            ("\u{2714} Suite A passed after 0.001 seconds.", None),
        ] {
            assert_eq!(outcome(line), expected, "{line}");
        }
    }
}
