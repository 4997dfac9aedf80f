//! `cargo xtask through kotlin|swift PATH…`: scenario files through a language's own layer, in virtual time.
//!
//! The runner, its relay and its clock are the library `waggle_through`, which contains the bindings. It is loaded under their name
//! from a folder of its own; the program of the language then plays the devices.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use clap::ValueEnum;

use crate::native::{self, Native};
use crate::rust::lines;
use crate::say;
use crate::scenarios;
use crate::tally::Tally;
use crate::{kotlin, swift};

/// The Swift package of the program.
pub(crate) const SWIFT: &str = "bindings/swift/through";
/// The Maven module of the program, below the reactor of the bindings.
const KOTLIN: &str = "waggle-through";

/// A language with a layer of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// On the JVM.
    Kotlin,
    /// On Linux.
    Swift,
}

/// The folder in which the runner's library has the name of the bindings'.
pub(crate) fn folder(native: &Native) -> PathBuf {
    native.folder.join("through")
}

/// Puts the runner's library into that folder.
fn place(native: &Native) -> anyhow::Result<()> {
    let folder = folder(native);
    fs::create_dir_all(&folder)?;
    let (from, bindings) = (native.library("waggle_through")?, native.library("waggle_ffi")?);
    let to = folder.join(bindings.file_name().context("a library without a name")?);
    let fresh = |path: &Path| fs::metadata(path).and_then(|meta| meta.modified()).ok();
    if fresh(&to) < fresh(&from) {
        fs::copy(&from, &to).context("placing the runner's library")?;
    }
    Ok(())
}

/// Runs files and hands over every line. Says whether all passed.
pub(crate) fn run(
    root: &Path,
    language: Language,
    arguments: &[String],
    line: impl FnMut(&str),
) -> anyhow::Result<bool> {
    let native = native::build(root)?;
    place(&native)?;
    // The programs run elsewhere.
    let absolute = |text: &String| fs::canonicalize(text).map_or(text.clone(), |path| path.display().to_string());
    let arguments: Vec<String> = arguments.iter().map(absolute).collect();
    match language {
        Language::Kotlin => {
            let module = kotlin::Module::prepare(root, kotlin::BINDINGS, &native)?;
            ensure!(module.maven("process-classes")?, "the program does not compile");
            let build = module.build.join(KOTLIN);
            let others = fs::read_to_string(build.join("classpath")).context("reading the class path")?;
            let mut java = Command::new("java");
            java.arg(format!("-Djna.library.path={}", folder(&native).display()))
                .arg("-cp")
                .arg(format!("{}:{}", build.join("classes").display(), others.trim()))
                .arg("org.waggle.through.MainKt")
                .args(&arguments)
                .current_dir(root);
            lines(java, line)
        }
        Language::Swift => {
            let mut all = vec!["run".to_owned(), "--quiet".to_owned(), "WaggleThrough".to_owned()];
            all.extend(arguments.iter().cloned());
            swift::run(root, SWIFT, &all, line)
        }
    }
}

/// The suite: every due file.
pub(crate) fn test(root: &Path, language: Language) -> anyhow::Result<Tally> {
    let due = scenarios::due_folders(root)?;
    let mut closing = None;
    let fine = run(root, language, &due, |line| {
        let read = Tally::parse_closing_line(line);
        if read.is_none() && !line.starts_with("ok ") {
            say(line);
        }
        closing = read.or(closing.take());
    })?;
    let tally = closing.context("the runner gave no closing line")?;
    ensure!(fine || tally.failed > 0, "the runner failed and counted no failure");
    Ok(tally)
}
