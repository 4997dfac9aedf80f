//! The scenario files: those that are due must pass; of the others it is told how many do.
//!
//! A milestone makes folders due by listing them in `.config/scenarios`, one below `tests/scenarios/cases` a line.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::rust::{cargo, lines};
use crate::say;
use crate::tally::Tally;

const CASES: &str = "tests/scenarios/cases";
const DUE: &str = ".config/scenarios";

/// The folders that are due, as absolute paths.
pub(crate) fn due_folders(root: &Path) -> anyhow::Result<Vec<String>> {
    let due = due(&fs::read_to_string(root.join(DUE)).with_context(|| format!("reading {DUE}"))?);
    Ok(due.iter().map(|folder| root.join(CASES).join(folder).display().to_string()).collect())
}

/// Runs the due folders, and then the rest.
pub(crate) fn run(root: &Path) -> anyhow::Result<Tally> {
    let due = due(&fs::read_to_string(root.join(DUE)).with_context(|| format!("reading {DUE}"))?);
    let there = folders(&root.join(CASES))?;
    ensure!(!due.is_empty(), "{DUE} names no folder");
    for folder in &due {
        ensure!(there.contains(folder), "{DUE} names {folder}, which is not in {CASES}");
    }
    let runner = runner(root)?;
    let mut tally = run_folders(root, &runner, &due, true)?;
    let rest: Vec<_> = there.iter().filter(|f| !due.contains(f)).cloned().collect();
    if !rest.is_empty() {
        let other = run_folders(root, &runner, &rest, false)?;
        let all = tally.passed + tally.failed + other.passed + other.failed;
        tally.note = format!("due: {}; in all {} of {all} pass", due.join(" "), tally.passed + other.passed);
    }
    Ok(tally)
}

/// Builds the scenario runner and says where it is. All binaries and tests are built together, which is what the Rust suite did
/// already; a build of the runner alone would have other features and compile most dependencies once more.
fn runner(root: &Path) -> anyhow::Result<PathBuf> {
    let build = cargo(root, &["build", "--workspace", "--quiet", "--bins", "--tests"]);
    ensure!(lines(build, say)?, "the scenario runner does not build");
    let here = std::env::current_exe()?;
    let runner = here.with_file_name(format!("waggle-scenarios{}", std::env::consts::EXE_SUFFIX));
    ensure!(runner.is_file(), "the scenario runner is not beside this program");
    Ok(runner)
}

/// Runs the scenario runner over folders. With `show`, what fails is printed.
fn run_folders(root: &Path, runner: &Path, folders: &[String], show: bool) -> anyhow::Result<Tally> {
    let mut command = Command::new(runner);
    command.args(folders.iter().map(|f| format!("{CASES}/{f}"))).current_dir(root);
    let mut closing = None;
    let fine = lines(command, |line| {
        let read = Tally::parse_closing_line(line);
        if show && read.is_none() && !line.starts_with("ok ") {
            say(line);
        }
        closing = read;
    })?;
    let tally = closing.context("the scenario runner gave no closing line")?;
    ensure!(fine == (tally.failed == 0), "the scenario runner's exit status and closing line disagree");
    Ok(tally)
}

/// Folders named in the list; `#` starts a comment.
fn due(list: &str) -> Vec<String> {
    let names = list.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Folders below the cases, in order.
fn folders(cases: &Path) -> anyhow::Result<Vec<String>> {
    let mut found = vec![];
    for entry in fs::read_dir(cases).with_context(|| format!("reading {CASES}"))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_due_folders() {
        assert_eq!(due("# all\n\npaging  # first\n counting\n"), ["paging", "counting"]);
        assert!(due("# paging\n").is_empty());
    }

    #[test]
    fn every_due_folder_is_there() {
        let root = crate::root();
        let there = folders(&root.join(CASES)).unwrap();
        let due = due(&fs::read_to_string(root.join(DUE)).unwrap());
        assert!(!due.is_empty() && due.iter().all(|f| there.contains(f)));
    }
}
