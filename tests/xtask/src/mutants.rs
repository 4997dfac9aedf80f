//! The mutation matrix: every rule that is easy to get wrong, got wrong once, must fail a test.
//!
//! The list (`mutants/*.toml`) names a rule, a place and the wrong code. All mutants are compiled into one scratch copy of the tree below `target`, each
//! behind a switch that is read from the environment, so two builds (scenario runner and unit tests) serve them all. A mutant's own suite runs
//! first and stops at the first failure; only when that passes, every scenario runs. One that survives is a missing test.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;

use crate::rust::lines;
use crate::say;

const LIST: &str = "tests/xtask/mutants/rules.toml";
const RESULTS: &str = "tests/xtask/mutants/RESULTS.md";
const CASES: &str = "tests/scenarios/cases";
/// What a mutant may take: one that loops for ever is killed by the clock.
const PATIENCE: Duration = Duration::from_secs(180);

/// The switch, added to the scratch copy only.
const SWITCH: &str = "//! Which mutant is on.\n#![allow(missing_docs)]\npub fn is(number: u32) -> bool {\n    \
    static ON: std::sync::OnceLock<u32> = std::sync::OnceLock::new();\n    \
    *ON.get_or_init(|| std::env::var(\"WAGGLE_MUTANT\").ok().and_then(|n| n.parse().ok()).unwrap_or(0)) == number\n}\n";

#[derive(Deserialize)]
struct List {
    mutant: Vec<Mutant>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutant {
    rule: String,
    what: String,
    file: String,
    find: String,
    put: String,
    #[serde(default)]
    raw: bool,
    suite: Vec<String>,
}

impl Mutant {
    /// The code that stands in the scratch copy in the place of `find`.
    fn rendered(&self, number: usize) -> String {
        if self.raw {
            return self.put.replace("@N@", &number.to_string());
        }
        // A statement keeps its semicolon outside.
        let find = self.find.strip_suffix(';').map_or((self.find.as_str(), ""), |find| (find, ";"));
        format!("(if crate::mutant::is({number}) {{ {} }} else {{ {} }}){}", later(number), find.0, find.1)
    }
}

/// Stands for the wrong code of a mutant until all are planted.
fn later(number: usize) -> String {
    format!("\u{1}{number}\u{2}")
}

/// Runs the matrix, or the mutants whose rule or text contains `only`. The results are written when all ran.
pub(crate) fn run(root: &Path, only: Option<&str>) -> anyhow::Result<bool> {
    let list: List =
        toml::from_str(&fs::read_to_string(root.join(LIST))?).with_context(|| format!("reading {LIST}"))?;
    let scratch = root.join("target/mutants");
    copy_tree(root, &scratch)?;
    plant(&scratch, &list.mutant)?;
    say(&format!("{} mutants; building the scratch copy twice", list.mutant.len()));
    seed(&root.join("target/debug"), &scratch.join("built/debug"))?;
    let suites = Suites::build(&scratch)?;
    ensure!(suites.kills(0, &["all".to_owned()])?.is_none(), "the scratch copy fails its scenarios with no mutant on");
    let mut table = String::new();
    let (mut killed, mut survivors) = (0, 0);
    for (i, mutant) in list.mutant.iter().enumerate() {
        let wanted = only.is_none_or(|only| mutant.rule == only || mutant.what.contains(only));
        if !wanted {
            continue;
        }
        let start = Instant::now();
        let mut killer = suites.kills(i + 1, &mutant.suite)?;
        if killer.is_none() {
            killer = suites.kills(i + 1, &["all".to_owned()])?;
        }
        let verdict = killer.as_deref().unwrap_or("**survived**");
        if killer.is_some() {
            killed += 1
        } else {
            survivors += 1
        }
        say(&format!("{:>3} {:<6} {} — {verdict} ({} s)", i + 1, mutant.rule, mutant.what, start.elapsed().as_secs()));
        let _ = writeln!(table, "| {} | {} | {} | {verdict} |", i + 1, mutant.rule, mutant.what);
    }
    say(&format!("{killed} passed, {survivors} failed"));
    if only.is_none() {
        fs::write(root.join(RESULTS), results(killed, survivors, &table))?;
    }
    Ok(survivors == 0)
}

fn results(killed: u32, survivors: u32, table: &str) -> String {
    format!(
        "# Mutants\n\nWritten by `cargo xtask mutants`. {killed} killed, {survivors} survived.\n\n\
         | # | rule | mutant | killed by |\n| --- | --- | --- | --- |\n{table}"
    )
}

/// Brings the scratch copy up to date. Files that are the same keep their time, so that little is built again.
fn copy_tree(root: &Path, scratch: &Path) -> anyhow::Result<()> {
    let listed = Command::new("git").args(["ls-files", "-co", "--exclude-standard"]).current_dir(root).output()?;
    ensure!(listed.status.success(), "git does not list the tree");
    for name in String::from_utf8(listed.stdout)?.lines() {
        let (from, to) = (root.join(name), scratch.join(name));
        let Ok(text) = fs::read(&from) else { continue };
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        let planted = name.starts_with("core/src");
        if planted || fs::read(&to).ok().as_deref() != Some(&text) {
            write_if_new(&to, &text, planted)?;
        }
    }
    Ok(())
}

/// Files of the core are written beside and compared after planting.
fn write_if_new(to: &Path, text: &[u8], planted: bool) -> anyhow::Result<()> {
    let to = if planted { to.with_extension("rs.clean") } else { to.to_owned() };
    fs::write(&to, text).with_context(|| format!("writing {}", to.display()))
}

/// Dependencies that are built already need not be built again: they do not know where the workspace is.
fn seed(from: &Path, to: &Path) -> anyhow::Result<()> {
    if to.exists() || !from.exists() {
        return Ok(());
    }
    fs::create_dir_all(to)?;
    for part in ["deps", "build", ".fingerprint"] {
        let copied =
            Command::new("cp").arg("-a").arg(from.join(part)).arg(to).status().context("copying what is built")?;
        ensure!(copied.success(), "what is built cannot be copied");
    }
    Ok(())
}

/// Puts every mutant in its place.
fn plant(scratch: &Path, mutants: &[Mutant]) -> anyhow::Result<()> {
    let mut files: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut open = vec![scratch.join("core/src")];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.to_string_lossy().ends_with(".rs.clean") {
                let text = fs::read_to_string(&path)?;
                fs::remove_file(&path)?;
                files.insert(path.with_extension(""), text);
            }
        }
    }
    // The longest places first: one may stand inside another, and is then planted in what was right there. What is wrong is filled in last, so
    // that no place is found in it.
    let mut order: Vec<usize> = (0..mutants.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(mutants[*i].find.len()));
    for i in &order {
        let mutant = &mutants[*i];
        let text =
            files.get_mut(&scratch.join(&mutant.file)).with_context(|| format!("{} is not there", mutant.file))?;
        let count = text.matches(&mutant.find).count();
        if count != 1 {
            bail!("mutant {} ({}): its place is there {count} times", i + 1, mutant.what);
        }
        *text = text.replacen(&mutant.find, &mutant.rendered(i + 1), 1);
    }
    for text in files.values_mut() {
        for (i, mutant) in mutants.iter().enumerate() {
            *text = text.replace(&later(i + 1), mutant.put.strip_suffix(';').unwrap_or(&mutant.put));
        }
    }
    let lib = files.get_mut(&scratch.join("core/src/lib.rs")).context("no lib.rs")?;
    // Code that a mutant makes unused is no news.
    let quiet = lib.replace("#![forbid(unsafe_code)]", "#![forbid(unsafe_code)]\n#![allow(warnings)]");
    *lib = format!("{}\n#[doc(hidden)]\npub mod mutant;\n", quiet.trim_end());
    files.insert(scratch.join("core/src/mutant.rs"), SWITCH.to_owned());
    for (path, text) in files {
        if fs::read_to_string(&path).ok().as_deref() != Some(text.as_str()) {
            fs::write(&path, text)?;
        }
    }
    Ok(())
}

/// The programs that look for mutants.
struct Suites {
    scratch: PathBuf,
    scenarios: PathBuf,
    units: PathBuf,
}

impl Suites {
    fn build(scratch: &Path) -> anyhow::Result<Self> {
        let cargo = |arguments: &[&str]| {
            let mut command = crate::rust::cargo(scratch, arguments);
            command.env("CARGO_TARGET_DIR", scratch.join("built"));
            command
        };
        let fine = lines(cargo(&["build", "--quiet", "-p", "waggle-scenarios", "--bins"]), say)?;
        ensure!(fine, "the scratch copy does not build");
        let mut units = None;
        let tests = ["test", "-p", "waggle", "--lib", "--no-run", "--message-format", "json"];
        let fine = lines(cargo(&tests), |line| {
            if line.contains("\"profile\":{") && line.contains("\"test\":true") {
                units =
                    line.split("\"executable\":\"").nth(1).and_then(|rest| rest.split('"').next()).map(PathBuf::from);
            }
        })?;
        ensure!(fine, "the unit tests of the scratch copy do not build");
        let scenarios = scratch.join("built/debug/waggle-scenarios");
        Ok(Self { scratch: scratch.to_owned(), scenarios, units: units.context("no test program was built")? })
    }

    /// What notices the mutant: a scenario file, a unit test, or the clock.
    fn kills(&self, number: usize, suite: &[String]) -> anyhow::Result<Option<String>> {
        for part in suite {
            let killer = match part.strip_prefix("lib:") {
                Some(filter) => self.unit_tests(number, filter)?,
                None => self.scenario(number, part)?,
            };
            if killer.is_some() {
                return Ok(killer);
            }
        }
        Ok(None)
    }

    fn scenario(&self, number: usize, part: &str) -> anyhow::Result<Option<String>> {
        let mut command = Command::new(&self.scenarios);
        command.args(files(&self.scratch.join(CASES), part)?);
        self.first_failure(command, number, |line| {
            let title = line.strip_prefix("FAIL ")?;
            Some(title.split(": ").next().unwrap_or(title).to_owned())
        })
    }

    fn unit_tests(&self, number: usize, filter: &str) -> anyhow::Result<Option<String>> {
        let mut command = Command::new(&self.units);
        command.arg(filter).current_dir(self.scratch.join("core"));
        self.first_failure(command, number, |line| {
            let name = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
            Some(format!("unit test `{name}`"))
        })
    }

    /// Runs a program with a mutant on until it names a failure or ends, whichever is first.
    fn first_failure(
        &self,
        mut command: Command,
        number: usize,
        failure: impl Fn(&str) -> Option<String> + Send + 'static,
    ) -> anyhow::Result<Option<String>> {
        use std::io::BufRead as _;
        command.env("WAGGLE_MUTANT", number.to_string()).stdin(Stdio::null()).stderr(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).spawn().context("starting a suite")?;
        let output = child.stdout.take().context("no output")?;
        let (sender, found) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let first = std::io::BufReader::new(output).lines().map_while(Result::ok).find_map(|line| failure(&line));
            let _ = sender.send(first);
        });
        let found = found.recv_timeout(PATIENCE).unwrap_or_else(|_| Some("the clock: it never ends".to_owned()));
        if found.is_some() {
            let _ = child.kill();
        }
        let status = child.wait()?;
        // A suite that dies without a word has noticed, too.
        Ok(found.or_else(|| (!status.success()).then(|| "a crash".to_owned())))
    }
}

/// Scenario files of a part of a suite: `all`, a folder, or the beginning of a file's name in one.
fn files(cases: &Path, part: &str) -> anyhow::Result<Vec<PathBuf>> {
    if part == "all" {
        return Ok(vec![cases.to_owned()]);
    }
    let Some((folder, name)) = part.split_once('/') else { return Ok(vec![cases.join(part)]) };
    let mut found = Vec::new();
    for entry in fs::read_dir(cases.join(folder)).with_context(|| format!("no folder {folder}"))? {
        let path = entry?.path();
        if path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(name)) {
            found.push(path);
        }
    }
    ensure!(!found.is_empty(), "no scenario {part}");
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> Vec<Mutant> {
        toml::from_str::<List>(&fs::read_to_string(crate::root().join(LIST)).unwrap()).unwrap().mutant
    }

    /// The matrix itself takes an hour; that it could run is checked always.
    #[test]
    fn every_mutant_has_its_place_and_its_suite() {
        let root = crate::root();
        let list = list();
        assert!(list.len() >= 40, "{} mutants", list.len());
        for mutant in &list {
            let text = fs::read_to_string(root.join(&mutant.file)).unwrap();
            assert_eq!(text.matches(&mutant.find).count(), 1, "{}: {}", mutant.rule, mutant.what);
            assert_ne!(mutant.find, mutant.put, "{}", mutant.what);
            for part in mutant.suite.iter().filter(|part| !part.starts_with("lib:")) {
                files(&root.join(CASES), part).unwrap();
            }
        }
    }

    #[test]
    fn a_mutant_is_a_guarded_expression() {
        let mutant = |find: &str, put: &str, raw| Mutant {
            rule: String::new(),
            what: String::new(),
            file: String::new(),
            find: find.into(),
            put: put.into(),
            raw,
            suite: Vec::new(),
        };
        let guarded = |right: &str| format!("(if crate::mutant::is(7) {{ {} }} else {{ {right} }})", later(7));
        assert_eq!(mutant("a < b", "a", false).rendered(7), guarded("a < b"));
        assert_eq!(mutant("f();", "()", false).rendered(7), guarded("f()") + ";");
        assert_eq!(mutant("x", "y @N@", true).rendered(7), "y 7");
    }

    /// The committed results are those of this list.
    #[test]
    fn the_results_name_every_mutant_and_none_survived() {
        let results = fs::read_to_string(crate::root().join(RESULTS)).unwrap();
        for mutant in list() {
            assert!(results.contains(&mutant.what), "{} was never run: cargo xtask mutants", mutant.what);
        }
        assert!(!results.contains("**survived**"), "a mutant survives: a test is missing");
    }
}
