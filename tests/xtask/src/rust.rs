//! The workspace's own tests.

use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;

use crate::say;
use crate::tally::Tally;

/// Runs a command, hands every line of its output to `line`, and says whether it succeeded.
pub(crate) fn lines(mut command: Command, line: impl FnMut(&str)) -> anyhow::Result<bool> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("starting a command")?;
    let output = child.stdout.take().context("no output to read")?;
    hand_over(output, line)?;
    Ok(child.wait()?.success())
}

/// The same, with the lines of its error output among those of its output.
pub(crate) fn all_lines(mut command: Command, line: impl FnMut(&str)) -> anyhow::Result<bool> {
    let (output, end) = std::io::pipe()?;
    let mut child =
        command.stdin(Stdio::null()).stdout(end.try_clone()?).stderr(end).spawn().context("starting a command")?;
    // The command holds the other ends of the pipe, too; it would never be seen to end.
    drop(command);
    hand_over(output, line)?;
    Ok(child.wait()?.success())
}

fn hand_over(output: impl Read, mut line: impl FnMut(&str)) -> anyhow::Result<()> {
    for read in BufReader::new(output).split(b'\n') {
        line(&String::from_utf8_lossy(&read.context("reading the output")?));
    }
    Ok(())
}

/// What cargo tells a program it runs of the package that is in.
const OF_A_PACKAGE: [&str; 5] =
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE"];

/// The cargo that runs this program, in the workspace, as if it were called by hand. Build scripts (that of `ring`) run again when what
/// cargo told this program is different, and then most of the workspace is compiled again after every change between the two.
pub(crate) fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root);
    for (name, _) in std::env::vars_os() {
        if OF_A_PACKAGE.iter().any(|start| name.to_string_lossy().starts_with(start)) {
            command.env_remove(name);
        }
    }
    command
}

/// `cargo test` over the workspace; every test program counts.
pub(crate) fn test(root: &Path) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    let fine = lines(cargo(root, &["test", "--workspace", "--quiet", "--no-fail-fast"]), |line| {
        if let Some(found) = Tally::parse_rust_result(line) {
            tally.add(&found);
        }
        if worth_showing(line) {
            say(line);
        }
    })?;
    if !fine && tally.failed == 0 {
        // It did not build, or a test program died.
        tally.add(&Tally::broken(String::new()));
        tally.note = "something did not build, or did not come to its end".into();
    }
    Ok(tally)
}

/// Whether a line of `cargo test --quiet` says more than that something passed.
fn worth_showing(line: &str) -> bool {
    let dots = line.split_whitespace().next().is_some_and(|w| w.bytes().all(|b| b == b'.'));
    let counted = line.split_once('/').is_some_and(|(n, m)| {
        n.trim_start_matches('.').trim().parse::<u32>().is_ok() && m.trim().parse::<u32>().is_ok()
    });
    let routine = line.trim().is_empty() || line.starts_with("running ") || line.starts_with("test result: ok.");
    !(routine || dots || counted)
}

/// The crash test of the journal, with so many kills.
pub(crate) fn crash(root: &Path, kills: u32) -> anyhow::Result<bool> {
    let mut command = cargo(root, &["test", "-p", "waggle", "--test", "journal_crash", "--", "--nocapture"]);
    command.env("WAGGLE_CRASH_KILLS", kills.to_string());
    lines(command, say)
}

/// The soak, at this size.
pub(crate) fn soak(root: &Path, events: u64, channels: u64) -> anyhow::Result<bool> {
    let mut command =
        cargo(root, &["test", "--release", "-p", "waggle-scenarios", "--test", "soak", "--", "--nocapture"]);
    command.env("WAGGLE_SOAK_EVENTS", events.to_string()).env("WAGGLE_SOAK_CHANNELS", channels.to_string());
    lines(command, say)
}

/// The load over loopback, at this size.
pub(crate) fn load(root: &Path, rate: u64, seconds: u64) -> anyhow::Result<bool> {
    let mut command =
        cargo(root, &["test", "--release", "-p", "waggle-scenarios", "--test", "wire", "--", "--nocapture"]);
    command.env("WAGGLE_LOAD_RATE", rate.to_string()).env("WAGGLE_LOAD_SECONDS", seconds.to_string());
    lines(command, say)
}

/// Runs from which a release build pays for itself.
const LONG: u64 = 10_000;

/// Seeds of the simulator. A failing one is printed, shrunk and kept beside the regression cases.
pub(crate) fn simulate(root: &Path, runs: u64, from: u64, jobs: Option<usize>) -> anyhow::Result<bool> {
    let profile: &[&str] = if runs >= LONG { &["--release"] } else { &[] };
    let mut command = cargo(root, &["run", "--quiet", "-p", "waggle-simulation"]);
    command.args(profile).arg("--").args(["--runs", &runs.to_string(), "--from-seed", &from.to_string()]);
    command.args(["--keep", "tests/simulation/cases"]);
    if let Some(jobs) = jobs {
        command.args(["--jobs", &jobs.to_string()]);
    }
    lines(command, say)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_is_not_told_of_this_package() {
        let command = cargo(Path::new("."), &["--version"]);
        let removed = |name: &str| command.get_envs().any(|(n, value)| n == name && value.is_none());
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_none() || removed("CARGO_MANIFEST_DIR"));
        assert!(std::env::var_os("CARGO_PKG_NAME").is_none() || removed("CARGO_PKG_NAME"));
        assert!(!removed("PATH"));
    }

    #[test]
    fn only_failures_are_shown() {
        for quiet in ["", "running 3 tests", "...", "....... 87/120", "test result: ok. 3 passed; 0 failed; 0 ignored"]
        {
            assert!(!worth_showing(quiet), "{quiet}");
        }
        for loud in ["---- x stdout ----", "test result: FAILED. 1 passed; 1 failed", "assertion failed", "failures:"] {
            assert!(worth_showing(loud), "{loud}");
        }
    }
}
