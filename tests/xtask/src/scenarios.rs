//! The scenario files: those that are due must pass; of the others it is told how many do.
//!
//! A milestone makes folders due by listing them in `.config/scenarios`, one below `tests/scenarios/cases` a line.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};

use crate::rust::{cargo, lines};
use crate::say;
use crate::tally::Tally;

const CASES: &str = "tests/scenarios/cases";
const DUE: &str = ".config/scenarios";

/// Runs the due folders, and then the rest.
pub(crate) fn run(root: &Path) -> anyhow::Result<Tally> {
    let due = due(&fs::read_to_string(root.join(DUE)).with_context(|| format!("reading {DUE}"))?);
    let there = folders(&root.join(CASES))?;
    ensure!(!due.is_empty(), "{DUE} names no folder");
    for folder in &due {
        ensure!(there.contains(folder), "{DUE} names {folder}, which is not in {CASES}");
    }
    let mut tally = run_folders(root, &due, true)?;
    let rest: Vec<_> = there.iter().filter(|f| !due.contains(f)).cloned().collect();
    if !rest.is_empty() {
        let other = run_folders(root, &rest, false)?;
        let all = tally.passed + tally.failed + other.passed + other.failed;
        tally.note = format!("due: {}; in all {} of {all} pass", due.join(" "), tally.passed + other.passed);
    }
    Ok(tally)
}

/// Runs the scenario runner over folders. With `show`, what fails is printed.
fn run_folders(root: &Path, folders: &[String], show: bool) -> anyhow::Result<Tally> {
    let paths: Vec<_> = folders.iter().map(|f| format!("{CASES}/{f}")).collect();
    let mut arguments = vec!["run", "--quiet", "-p", "waggle-scenarios", "--"];
    arguments.extend(paths.iter().map(String::as_str));
    let mut closing = None;
    let fine = lines(root, &cargo(), &arguments, |line| {
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
