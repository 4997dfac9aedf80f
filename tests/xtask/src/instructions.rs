//! Instruction counts of P6 and P7 under callgrind: work that grows with what is held is seen without a clock, on any machine.
//!
//! `core/benches/instructions.rs` is one program; each case is a run of it, in which callgrind counts what one function calls. Counts
//! are compared with each other only, so neither processor nor compiler matters. The limits are those of the promises (`CONTRIBUTING.md`,
//! "ratio bench").

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

use crate::native;
use crate::rust::{cargo, lines};
use crate::say;
use crate::setup::{self, Tool};
use crate::tally::Tally;

const FOR_COUNTING: [Tool; 1] = [("valgrind", "--version", "valgrind")];

/// The function whose calls are counted; its name contains this and no other's does.
const COUNTED: &str = "--toggle-collect=*counted_by_callgrind*";

/// Live events of a case.
const LIVE: f64 = 64.0;

/// A case: its name and two numbers.
type Case = [&'static str; 3];

/// A promise: its number and name, the case that is counted, the one it is held against and how often, and the limit.
struct Check {
    promise: &'static str,
    name: &'static str,
    counted: Case,
    against: Case,
    times: f64,
    limit: f64,
}

const LIVE_EVENT: Case = ["live", "4096", "300"];
const FEW_READ: Case = ["mark", "4096", "10"];

const CHECKS: [Check; 5] = [
    Check {
        promise: "P6",
        name: "instructions_full_over_small",
        counted: LIVE_EVENT,
        // Not 512: a table would double while it is counted, and that would flatter.
        against: ["live", "640", "300"],
        times: 1.0,
        limit: 1.5,
    },
    Check {
        promise: "P6",
        name: "instructions_3000_channels_over_300",
        counted: ["live", "4096", "3000"],
        against: LIVE_EVENT,
        times: 1.0,
        limit: 1.25,
    },
    Check {
        promise: "P6",
        name: "instructions_over_recompute",
        counted: LIVE_EVENT,
        against: ["recompute", "4096", "300"],
        times: LIVE,
        limit: 0.01,
    },
    Check {
        promise: "P7",
        name: "instructions_full_over_small",
        counted: FEW_READ,
        against: ["mark", "640", "10"],
        times: 1.0,
        limit: 1.5,
    },
    // So much a message, however many there are.
    Check {
        promise: "P7",
        name: "instructions_per_message_of_1000_over_100",
        counted: ["mark", "4096", "1000"],
        against: ["mark", "4096", "100"],
        times: 10.0,
        limit: 1.5,
    },
];

/// Counts every case once and compares.
pub(crate) fn test(root: &Path) -> anyhow::Result<Tally> {
    setup::tools(&FOR_COUNTING).context("valgrind is not to be had")?;
    let program = build(root)?;
    let cases: BTreeSet<Case> = CHECKS.iter().flat_map(|check| [check.counted, check.against]).collect();
    let counted = cases.into_iter().map(|case| Ok((case, count(&program, case)?)));
    let counts: BTreeMap<Case, f64> = counted.collect::<anyhow::Result<_>>()?;
    let mut tally = Tally::default();
    for check in &CHECKS {
        let [counted, against] = [check.counted, check.against].map(|case| counts.get(&case).copied());
        let ratio = counted.context("not counted")? / (against.context("not counted")? * check.times);
        let line = format!("{} {} {ratio:.4} {:.2}", check.promise, check.name, check.limit);
        if ratio <= check.limit {
            say(&line);
            tally.pass();
        } else {
            say(&format!("{line}  PAST THE LIMIT"));
            tally.fail(&format!("{} {}", check.promise, check.name));
        }
    }
    Ok(tally)
}

/// Builds the program as tests are built, and says where it is.
fn build(root: &Path) -> anyhow::Result<PathBuf> {
    // With the whole workspace: alone it would have other features, and most dependencies would be compiled once more.
    let arguments = ["build", "--workspace", "--quiet", "--bench", "instructions", "--message-format"];
    let mut command = cargo(root, &arguments);
    command.arg("json-render-diagnostics");
    let mut program = None;
    let fine = lines(command, |line| program = program.take().or_else(|| executable(line)))?;
    ensure!(fine, "what is counted does not build");
    program.context("cargo did not say where it built what is counted")
}

/// The program of the bench in a line of cargo's messages.
fn executable(line: &str) -> Option<PathBuf> {
    if !line.contains(r#""name":"instructions""#) {
        return None;
    }
    let (_, after) = line.split_once(r#""executable":""#)?;
    after.split_once('"').map(|(path, _)| PathBuf::from(path))
}

/// Instructions of one case.
fn count(program: &Path, case: Case) -> anyhow::Result<f64> {
    let mut command = Command::new("valgrind");
    let profile = native::target()?.join("callgrind.out");
    command.args(["--tool=callgrind", COUNTED]).arg(format!("--callgrind-out-file={}", profile.display()));
    command.arg(program).args(case);
    let output = command.stdin(Stdio::null()).output().context("starting valgrind")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{case:?} was not counted:\n{said}");
    let count =
        said.lines().find_map(collected).with_context(|| format!("valgrind did not count {case:?}:\n{said}"))?;
    // Less than that does nothing: the function was not found, or it is empty.
    ensure!(count > 1_000, "valgrind counted {count} instructions of {case:?}");
    Ok(count as f64)
}

/// The count in the line `==1== Collected : 123`.
fn collected(line: &str) -> Option<u64> {
    let (_, count) = line.split_once("Collected : ")?;
    count.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_valgrind_says() {
        assert_eq!(collected("==12== Collected : 4711"), Some(4711));
        assert_eq!(collected("==12== Events    : Ir"), None);
    }

    #[test]
    fn where_the_program_is() {
        let message =
            r#"{"reason":"compiler-artifact","target":{"kind":["bench"],"name":"instructions"},"executable":"/t/x-1"}"#;
        assert_eq!(executable(message), Some(PathBuf::from("/t/x-1")));
        assert_eq!(executable(&message.replace("instructions", "ratios")), None);
        assert_eq!(executable(&message.replace("\"/t/x-1\"", "null")), None);
    }
}
