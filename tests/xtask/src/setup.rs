//! Setting up what a new machine lacks, once and quietly.
//!
//! What the Rust suites need beside Rust is a C compiler, for SQLite and the signature library. Where there is none and the
//! system is a Debian one of which this is the root user, it is installed; else it is asked for.

use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use crate::say;

/// Makes sure that there is a C compiler.
pub(crate) fn compiler() -> anyhow::Result<()> {
    if works("cc", &["--version"]) {
        return Ok(());
    }
    install(&["build-essential"]).context("a C compiler is needed")
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
    fn a_missing_program_is_noticed() {
        assert!(works("true", &[]));
        assert!(!works("false", &[]));
        assert!(!works("no-such-program-anywhere", &[]));
    }
}
