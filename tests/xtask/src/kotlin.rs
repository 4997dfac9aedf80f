//! Maven modules of the work tree, on the JVM.
//!
//! Maven keeps what it downloads where it always does. Once a module was tested with all it needs, later runs do not ask the
//! network again (`--offline`) until a `pom.xml` changes. The results are read from Surefire's reports, which are removed before.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::iter;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::bindings;
use crate::native::{self, Native};
use crate::rust::lines;
use crate::say;
use crate::setup::{self, Tool};
use crate::tally::Tally;

/// Everything of Kotlin: the bindings' module and its fakes.
pub(crate) const BINDINGS: &str = "bindings/kotlin/reactor.xml";
/// The module that apps take, as Maven builds it.
const SHIPPED: &str = "waggle";
/// That module alone.
pub(crate) const SHIPPED_PROJECT: &str = "bindings/kotlin/pom.xml";
/// Compiles and runs the module's bench.
const BENCH: [&str; 4] = ["-P", "bench", "test-compile", "exec:exec"];

const FOR_MAVEN: [Tool; 2] = [("javac", "--version", "openjdk-17-jdk-headless"), ("mvn", "--version", "maven")];

/// A screen in memory, and the part of the JDK that opens windows (libGL comes with it).
const FOR_WINDOWS: [Tool; 3] =
    [("xvfb-run", "--help", "xvfb"), ("xauth", "version", "xauth"), ("ls", JDK_WINDOWS, "openjdk-17-jre")];
const JDK_WINDOWS: &str = if cfg!(target_arch = "aarch64") {
    "/usr/lib/jvm/java-17-openjdk-arm64/lib/libawt_xawt.so"
} else {
    "/usr/lib/jvm/java-17-openjdk-amd64/lib/libawt_xawt.so"
};

/// Seconds after which a module's tests are given up, so that a test that hangs is a failure.
const LIMIT_S: u32 = 1200;

/// A module, or modules built together, ready to be built.
pub(crate) struct Module {
    /// The `pom.xml`, or what lists the modules.
    project: PathBuf,
    root: PathBuf,
    /// Where Maven builds it.
    pub(crate) build: PathBuf,
    native: PathBuf,
    relay: PathBuf,
    generated: PathBuf,
    /// What Maven is told beside where things are.
    options: Vec<String>,
    /// Whether its tests open windows: they get a screen in memory.
    windows: bool,
    generated_through: PathBuf,
}

impl Module {
    /// Sets up Maven and generates the code.
    pub(crate) fn prepare(root: &Path, module: &str, native: &Native) -> anyhow::Result<Self> {
        let project = root.join(module);
        ensure!(project.is_file(), "there is no {module}");
        setup::tools(&FOR_MAVEN).context("Maven and a JDK are not to be had")?;
        let generated = bindings::generate(root, native)?;
        Ok(Self {
            root: root.to_owned(),
            build: native.target()?.join("maven").join(folder_name(module)),
            project,
            native: native.loaded.clone(),
            relay: native.relay.clone(),
            generated: generated.kotlin,
            options: vec![],
            windows: false,
            generated_through: native.target()?.join("bindings/through/kotlin"),
        })
    }

    /// Runs Maven up to a phase; what it says is shown if it fails. Says whether it succeeded.
    pub(crate) fn maven(&self, phase: &str) -> anyhow::Result<bool> {
        let (fine, said) = self.run(&[phase], &[])?;
        if !fine {
            said.iter().for_each(|line| say(line));
        }
        Ok(fine)
    }

    /// Runs the module's bench, which is told how many microseconds F1(123) takes. Answers whether it succeeded, and what it said.
    pub(crate) fn bench(&self, f1: f64) -> anyhow::Result<(bool, Vec<String>)> {
        self.run(&BENCH, &[format!("-Dwaggle.bench.f1={f1}")])
    }

    /// Runs Maven with the goals, and properties that change nothing about what it needs for them.
    fn run(&self, goals: &[&str], properties: &[String]) -> anyhow::Result<(bool, Vec<String>)> {
        let mark = self.mark(goals)?;
        let mut said = vec![];
        let mut run = |offline: bool| {
            said.clear();
            let mut command = self.command(offline);
            command.args(properties).args(goals);
            let fine = lines(command, |line| said.push(line.to_owned()))?;
            anyhow::Ok((fine, said.iter().any(|line| line.contains("offline"))))
        };
        let known = mark.is_file();
        if !known {
            say("Maven gets what is missing (once; a minute)");
        }
        let (mut fine, lacking) = run(known)?;
        if known && !fine && lacking {
            (fine, _) = run(false)?;
        }
        if fine {
            fs::write(&mark, "")?;
        }
        Ok((fine, said))
    }

    /// Where things are is told as properties, which the module's `pom.xml` has defaults for.
    fn command(&self, offline: bool) -> Command {
        let mut command = if self.windows {
            let mut screen = Command::new("xvfb-run");
            screen.args(["--auto-servernum", "--server-args=-screen 0 1280x1024x24", "mvn"]);
            screen
        } else {
            Command::new("mvn")
        };
        command.args(["-q", "-B", "-ntp", "-Dstyle.color=never"]).arg("-f").arg(&self.project);
        for (name, path) in [
            ("waggle.root", &self.root),
            ("waggle.build", &self.build),
            ("waggle.generated", &self.generated),
            ("waggle.generated.through", &self.generated_through),
            ("waggle.native", &self.native),
            ("waggle.test.relay", &self.relay),
        ] {
            command.arg(format!("-D{name}={}", path.display()));
        }
        command.args(&self.options);
        command.arg(format!("-Dsurefire.timeout={LIMIT_S}"));
        if offline {
            command.arg("--offline");
        }
        command.current_dir(&self.root);
        command
    }

    /// The file that says that everything these modules need for the goals is there.
    fn mark(&self, goals: &[&str]) -> anyhow::Result<PathBuf> {
        let mut hasher = DefaultHasher::new();
        goals.join(" ").hash(&mut hasher);
        for project in projects(self.project.parent().context("a project without a folder")?)? {
            fs::read(project)?.hash(&mut hasher);
        }
        Ok(setup::cache()?.join(format!("maven-{:016x}.complete", hasher.finish())))
    }
}

/// The folder of what is built from a project in the work tree: its path, in one word.
fn folder_name(project: &str) -> String {
    Path::new(project).parent().unwrap_or(Path::new("")).to_string_lossy().replace('/', "-")
}

/// Maven's files in a folder and in those below it, without the sources.
fn projects(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = vec![];
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !path.ends_with("src") {
            found.extend(projects(&path)?);
        } else if path.extension().is_some_and(|kind| kind == "xml") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Runs the tests of a module.
pub(crate) fn test(root: &Path, module: &str) -> anyhow::Result<Tally> {
    run_tests(&Module::prepare(root, module, &native::build(root)?)?)
}

/// Runs the tests of a module that opens windows, with options of Maven's own.
pub(crate) fn test_windows(root: &Path, module: &str, options: Vec<String>) -> anyhow::Result<Tally> {
    setup::tools(&FOR_WINDOWS).context("a screen in memory is not to be had")?;
    run_tests(&Module { options, windows: true, ..Module::prepare(root, module, &native::build(root)?)? })
}

fn run_tests(module: &Module) -> anyhow::Result<Tally> {
    let reports = module.build.join("surefire-reports");
    for old in iter::once(reports.clone()).chain(compiled_tests(&module.build)?) {
        if old.exists() {
            fs::remove_dir_all(&old)?;
        }
    }
    let fine = module.maven("test")?;
    let mut tally = if reports.is_dir() { read_reports(&reports)? } else { Tally::default() };
    if !fine && tally.failed == 0 {
        tally.add(&Tally::broken(String::new()));
        tally.note = "it did not build, or did not come to its end".into();
    }
    Ok(tally.of_at_least_one())
}

/// Folders of compiled tests: the compiler leaves the class of a test whose source is gone, and it would be run.
fn compiled_tests(build: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !build.exists() {
        return Ok(vec![]);
    }
    fs::read_dir(build)?.map(|module| Ok(module?.path().join("test-classes"))).collect()
}

/// Compiles the module of the bindings and says where its classes are.
pub(crate) fn classes(root: &Path, native: &Native) -> anyhow::Result<PathBuf> {
    let module = Module::prepare(root, BINDINGS, native)?;
    ensure!(module.maven("compile")?, "{BINDINGS} does not compile");
    Ok(module.build.join(SHIPPED).join("classes"))
}

/// Adds up all reports of a folder.
fn read_reports(folder: &Path) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("TEST-") && name.ends_with(".xml") {
            let text = fs::read_to_string(&path)?;
            read_report(&text, &mut tally).with_context(|| format!("reading {}", path.display()))?;
        }
    }
    Ok(tally)
}

/// Reads one of Surefire's reports: a `testcase` with a `failure` or an `error` in it failed, one with `skipped` was not run.
fn read_report(text: &str, tally: &mut Tally) -> anyhow::Result<()> {
    let report = roxmltree::Document::parse(text)?;
    let mut skipped = 0_u32;
    for case in report.descendants().filter(|node| node.has_tag_name("testcase")) {
        let name = format!(
            "{}.{}",
            case.attribute("classname").unwrap_or_default(),
            case.attribute("name").unwrap_or_default()
        );
        let has = |what: &str| case.children().any(|node| node.has_tag_name(what));
        if has("failure") || has("error") {
            tally.fail(&name);
        } else if has("skipped") {
            skipped += 1;
        } else {
            tally.pass();
        }
    }
    if skipped > 0 {
        tally.note = format!("{} {skipped} skipped", tally.note).trim().to_owned();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_surefire() {
        let text = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuite xmlns:xsi="x" name="org.waggle.ATest" tests="4" errors="1" skipped="1" failures="1">
  <properties><property name="a" value="b"/></properties>
  <testcase name="one" classname="org.waggle.ATest" time="0.1"/>
  <testcase name="two" classname="org.waggle.ATest"><failure message="m" type="t">at x</failure></testcase>
  <testcase name="three" classname="org.waggle.ATest"><error type="t"/></testcase>
  <testcase name="four" classname="org.waggle.ATest"><skipped/></testcase>
</testsuite>"#;
        let mut tally = Tally::default();
        read_report(text, &mut tally).unwrap();
        assert_eq!((tally.passed, tally.failed, tally.note.as_str()), (1, 2, "1 skipped"));
        assert_eq!(tally.names, ["org.waggle.ATest.two", "org.waggle.ATest.three"]);
        assert!(read_report("<testsuite", &mut tally).is_err());
    }
}
