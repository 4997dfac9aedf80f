//! Fuzzing on stable Rust: libFuzzer linked as a library, coverage by the compiler's own pass, in a target directory of its own.
//!
//! No sanitizer of memory is asked for (that would need nightly): the core forbids `unsafe`, and what is looked for is a panic, an overflow, a broken
//! promise (`tests/fuzz/src`), or an input that takes too long. The committed corpus is where it starts; what it finds goes to `target/fuzzing`.
//!
//! `--minimise` keeps of all that the fewest inputs that reach every edge any of them reaches: files named by their hash beside those with a name,
//! which were written by hand or were findings and stay.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::rust::lines;
use crate::{say, setup};

/// The targets of `tests/fuzz`, with the longest input worth trying.
const TARGETS: [(&str, u32); 7] = [
    ("frames", 4_096),
    ("answers", 4_096),
    ("documents", 2_048),
    ("blobs", 2_048),
    ("envelopes", 4_096),
    ("journals", 2_048),
    ("scenarios", 4_096),
];

const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";
/// The platform is named, so that build scripts and macros are not instrumented.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// Fuzzes the targets one after another; each must come to its end without a finding.
pub(crate) fn run(root: &Path, only: Option<&str>, executions: u64, seconds: u64) -> anyhow::Result<bool> {
    let home = build(root)?;
    let (mut fine, mut findings) = (0, 0);
    for (name, longest) in wanted(only)? {
        let grown = home.join("corpus").join(name);
        fs::create_dir_all(&grown)?;
        let mut command = program(&home, name);
        command.arg(&grown).arg(kept(root, name));
        command.args([
            format!("-runs={executions}"),
            format!("-max_total_time={seconds}"),
            format!("-max_len={longest}"),
        ]);
        command.args(["-timeout=10", "-rss_limit_mb=2048", "-verbosity=0", "-print_final_stats=1"]);
        command.arg(format!("-artifact_prefix={}/{name}-", home.display()));
        let output = command.output().context("starting the fuzz program")?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let stat = |what: &str| {
            let line = said.lines().find_map(|line| line.strip_prefix(&format!("stat::{what}:")));
            line.map_or_else(|| "?".to_owned(), |n| n.trim().to_owned())
        };
        say(&format!(
            "{name:<10} {} executions, {} a second",
            stat("number_of_executed_units"),
            stat("average_exec_per_sec")
        ));
        if output.status.success() {
            fine += 1;
        } else {
            findings += 1;
            say(&said);
        }
    }
    say(&format!("{fine} passed, {findings} failed"));
    Ok(findings == 0)
}

/// Writes the corpora anew: what has a name, and the fewest inputs beside it that reach what all reach that were ever found here or kept.
pub(crate) fn minimise(root: &Path, only: Option<&str>) -> anyhow::Result<bool> {
    let home = build(root)?;
    for (name, _) in wanted(only)? {
        let (kept, grown) = (kept(root, name), home.join("corpus").join(name));
        fs::create_dir_all(&grown)?;
        for input in fs::read_dir(&kept)? {
            let input = input?;
            let file = input.file_name();
            if file.to_str().is_some_and(is_hash) {
                fs::rename(input.path(), grown.join(file))?;
            }
        }
        let mut command = program(&home, name);
        // Edges alone: how often each is taken, and what was compared, tells thousands of inputs apart.
        command.args(["-set_cover_merge=1", "-use_counters=0", "-use_cmp=0", "-verbosity=0"]).arg(&kept).arg(&grown);
        let output = command.output().context("starting the fuzz program")?;
        ensure!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let sizes: Vec<u64> =
            fs::read_dir(&kept)?.map(|file| Ok(file?.metadata()?.len())).collect::<anyhow::Result<_>>()?;
        say(&format!("{name:<10} {} inputs, {} bytes", sizes.len(), sizes.iter().sum::<u64>()));
    }
    Ok(true)
}

/// Builds the fuzz program; returns its home.
fn build(root: &Path) -> anyhow::Result<PathBuf> {
    setup::tools(&[("c++", "--version", "build-essential")]).context("setting up")?;
    let home = root.join("target/fuzzing");
    let what = ["build", "-p", "waggle-fuzz", "--features", "engine", "--bin", "waggle-fuzz"];
    let mut build = crate::rust::cargo(root, &what);
    build.args(["--profile", "fuzz", "--target", PLATFORM]);
    build.env("CARGO_TARGET_DIR", &home).env("RUSTFLAGS", COVERAGE);
    ensure!(lines(build, say)?, "the fuzz program does not build");
    Ok(home)
}

fn wanted(only: Option<&str>) -> anyhow::Result<Vec<(&'static str, u32)>> {
    let wanted: Vec<_> = TARGETS.into_iter().filter(|(name, _)| only.is_none_or(|only| only == *name)).collect();
    ensure!(!wanted.is_empty(), "there is no target {}", only.unwrap_or_default());
    Ok(wanted)
}

fn program(home: &Path, target: &str) -> Command {
    let mut command = Command::new(home.join(PLATFORM).join("fuzz/waggle-fuzz"));
    command.env("WAGGLE_FUZZ_TARGET", target).current_dir(home);
    command
}

fn kept(root: &Path, target: &str) -> PathBuf {
    root.join("tests/fuzz/corpus").join(target)
}

/// Whether libFuzzer named the file: by its SHA-1.
fn is_hash(name: &str) -> bool {
    name.len() == 40 && name.bytes().all(|b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The list here is the one there: this program does not link the core.
    #[test]
    fn the_targets_are_those_of_the_fuzz_crate() {
        let source = fs::read_to_string(crate::root().join("tests/fuzz/src/lib.rs")).unwrap();
        for (name, longest) in TARGETS {
            let longest = if longest == 4_096 { "4_096" } else { "2_048" };
            let line = source.lines().find(|line| line.contains(&format!("name: \"{name}\""))).unwrap_or_default();
            assert!(line.contains(&format!("longest: {longest}")), "{name}");
        }
        assert_eq!(source.matches("Target { name: ").count(), TARGETS.len());
    }
}
