//! Setting up what a new machine lacks, once and quietly.
//!
//! A suite names the programs it needs and the Debian packages they are in. What is missing is installed where the system has
//! apt and this is the root user, else it is asked for. (Building this very program needs a C compiler as linker;
//! `.ci/run` takes care of that on a machine without one.)

use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use crate::say;

/// A program, an argument with which it does nothing but succeed, and the package it is in.
pub(crate) type Tool = (&'static str, &'static str, &'static str);

/// What the Rust suites need beside Rust: a C compiler, for SQLite and the signature library.
pub(crate) const FOR_RUST: [Tool; 1] = [("cc", "--version", "build-essential")];

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
fn works(program: &str, arguments: &[&str]) -> bool {
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
    let output = Command::new("apt-get")
        .arg("-qq")
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .output()
        .context("starting apt-get")?;
    if !output.status.success() {
        bail!("apt-get {} failed: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
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
