//! Setting up what a new machine lacks, once and quietly.
//!
//! A suite names the programs it needs and the Debian packages they are in. What is missing is installed where the system has
//! apt and this is the root user, else it is asked for. (Building this very program needs a C compiler as linker;
//! `.ci/run` takes care of that on a machine without one.)

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use crate::say;

/// A program, an argument with which it does nothing but succeed, and the package it is in.
pub(crate) type Tool = (&'static str, &'static str, &'static str);

/// What the Rust suites need beside Rust: a C compiler, for SQLite and the signature library.
pub(crate) const FOR_RUST: [Tool; 1] = [("cc", "--version", "build-essential")];

/// Where what was set up or downloaded is kept, outside the work tree: `WAGGLE_CACHE`, else `~/.cache/waggle`.
pub(crate) fn cache() -> anyhow::Result<PathBuf> {
    let named = std::env::var_os("WAGGLE_CACHE").filter(|named| !named.is_empty()).map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/waggle"));
    let folder = named.or_else(home).context("neither WAGGLE_CACHE nor HOME is set")?;
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    Ok(folder.canonicalize()?)
}

/// Waits until no other run holds the lock of this name, and holds it until the answer is dropped or the process ends.
pub(crate) fn lock(name: &str) -> anyhow::Result<File> {
    let path = cache()?.join(format!("{name}.lock"));
    let file = File::create(&path).with_context(|| format!("opening {}", path.display()))?;
    file.lock().with_context(|| format!("waiting for {}", path.display()))?;
    Ok(file)
}

/// So many lines of a failed command's output are shown.
const LAST_LINES: usize = 15;

/// Makes sure that these programs are there.
pub(crate) fn tools(needed: &[Tool]) -> anyhow::Result<()> {
    let missing = missing(needed);
    if missing.is_empty() { Ok(()) } else { install(&missing) }
}

/// Packages of the programs that are not there, each once.
fn missing(needed: &[Tool]) -> Vec<&'static str> {
    let mut packages: Vec<_> =
        needed.iter().filter(|(program, argument, _)| !works(program, &[argument])).map(|(_, _, p)| *p).collect();
    packages.dedup();
    packages
}

/// Whether the command is there and succeeds.
pub(crate) fn works(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Installs packages of the system. Their output is shown only when it fails.
fn install(packages: &[&str]) -> anyhow::Result<()> {
    if !works("apt-get", &["--version"]) {
        bail!("please install: {}", packages.join(" "));
    }
    say(&format!("installing {}", packages.join(" ")));
    apt(&["update"])?;
    apt(&[&["install", "--yes", "--no-install-recommends"], packages].concat())
}

fn apt(arguments: &[&str]) -> anyhow::Result<()> {
    let mut command = Command::new("apt-get");
    command.arg("-qq").args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    quietly(command, &format!("apt-get {}", arguments.join(" ")))
}

/// Runs a command whose output matters only when it fails; then the end of it is in the error.
pub(crate) fn quietly(mut command: Command, what: &str) -> anyhow::Result<()> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("starting {what}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<_> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    bail!("{what} failed:\n{}", lines[lines.len().saturating_sub(LAST_LINES)..].join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_programs_are_noticed() {
        assert!(works("true", &[]));
        assert!(!works("false", &[]));
        let needed = [("true", "x", "here"), ("no-such-program", "x", "gone"), ("nor-this-one", "x", "gone")];
        assert_eq!(missing(&needed), ["gone"]);
        assert!(tools(&needed[..1]).is_ok());
    }
}
