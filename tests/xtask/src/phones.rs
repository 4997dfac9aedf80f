//! The library for the phones' own targets: type-checked whole, with everything it depends on, but not linked.
//!
//! Rust's standard library for these targets is used where it is installed, else it is built from its source with Debian 13's
//! Rust. C code is not needed for a check: its compilers are stand-ins that leave an empty file. What only shows when linking or
//! running on a device is for `.github/workflows/phones.yml`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

use crate::debian::{Debian, Packages};
use crate::rust::cargo;
use crate::say;
use crate::tally::Tally;

/// What is checked: 64 and 32 bit Android, and iOS.
const TARGETS: [&str; 3] = ["aarch64-linux-android", "armv7-linux-androideabi", "aarch64-apple-ios"];

const CHECK: [&str; 7] = ["check", "--quiet", "--locked", "--lib", "-p", "waggle", "-p"];
const LAST: &str = "waggle-ffi";

const FOR_PHONES: Packages = Packages {
    name: "Rust for phones",
    packages: &["rustc", "cargo", "rust-src", "gcc", "libc6-dev"],
    backports: true,
};

/// Stands in for a C compiler: leaves an empty file where an object is wanted, and has a real one preprocess, with which build
/// scripts find out what kind of compiler it is.
const COMPILER: &str = r#"#!/bin/sh
out= pre= last=
while [ $# -gt 0 ]; do
  case $1 in
    -o) out=$2; shift ;;
    -E) pre=yes ;;
    *) last=$1 ;;
  esac
  shift
done
if [ -n "$pre" ]; then exec cc -E "$last"; fi
if [ -n "$out" ]; then : > "$out"; fi
"#;

/// Stands in for Xcode's `xcrun`: all that is asked of it is where the system's headers are.
const XCRUN: &str = "#!/bin/sh\necho /nonexistent\n";

/// Checks every target.
pub(crate) fn test(root: &Path) -> anyhow::Result<Tally> {
    let here = std::env::current_exe()?;
    let target = here.ancestors().nth(2).context("this program is in no target directory")?.join("phones");
    fs::create_dir_all(&target)?;
    let tools = stand_ins(&target)?;
    let mut debian = None;
    let mut tally = Tally::default();
    for name in TARGETS {
        let command = if installed(name) {
            let mut command = cargo(root, &CHECK);
            command.arg(LAST).args(["--target", name]).envs(variables(name, &target, &tools));
            let path = std::env::var("PATH").unwrap_or_default();
            command.env("PATH", format!("{}:{path}", tools.display()));
            command
        } else {
            if debian.is_none() {
                debian = Some(Debian::with(&FOR_PHONES).context("Rust for the phones' targets is not to be had")?);
            }
            let debian = debian.as_ref().context("no Debian")?;
            in_debian(debian, root, name, &target, &tools)
        };
        check(name, command, &mut tally)?;
    }
    Ok(tally)
}

/// Whether this Rust has the standard library for the target.
fn installed(target: &str) -> bool {
    let found = Command::new("rustc").args(["--print", "target-libdir", "--target", target]).output();
    found.is_ok_and(|output| {
        output.status.success() && Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir()
    })
}

/// The check with Debian 13's Rust, which builds the standard library first.
fn in_debian(debian: &Debian, root: &Path, name: &str, target: &Path, tools: &Path) -> Command {
    let mut command = debian.command(root, &[root, target]);
    for (variable, value) in variables(name, target, tools) {
        command.arg(format!("{variable}={value}"));
    }
    command.arg(format!("PATH={}:/usr/bin:/bin", tools.display()));
    // A released compiler builds its own standard library only when told that it may.
    command.args(["RUSTC_BOOTSTRAP=1", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"]);
    command.args(["CARGO_HTTP_CAINFO=/etc/ssl/certs/ca-certificates.crt", "cargo"]).args(CHECK).arg(LAST);
    command.args(["-Zbuild-std=std,panic_unwind", "--target", name]);
    command
}

/// Where the check builds, and which stand-ins build scripts find.
fn variables(name: &str, target: &Path, tools: &Path) -> [(String, String); 3] {
    let suffix = name.replace('-', "_");
    [
        ("CARGO_TARGET_DIR".into(), target.display().to_string()),
        (format!("CC_{suffix}"), tools.join("cc-stand-in").display().to_string()),
        (format!("AR_{suffix}"), "true".into()),
    ]
}

/// Writes the stand-ins and says in which folder they are.
fn stand_ins(target: &Path) -> anyhow::Result<PathBuf> {
    let tools = target.join("stand-ins");
    fs::create_dir_all(&tools)?;
    for (name, text) in [("cc-stand-in", COMPILER), ("xcrun", XCRUN)] {
        let path = tools.join(name);
        if !fs::read_to_string(&path).is_ok_and(|there| there == text) {
            fs::write(&path, text)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(tools)
}

/// Runs one check; it counts as one test, and its output is shown if it fails.
fn check(name: &str, mut command: Command, tally: &mut Tally) -> anyhow::Result<()> {
    let output = command.stdin(Stdio::null()).output().context("starting the check")?;
    if output.status.success() {
        tally.pass();
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    said.lines().for_each(say);
    ensure!(!said.is_empty(), "the check of {name} failed without a word");
    tally.fail(name);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stand_in_leaves_objects_and_preprocesses() {
        let folder = std::env::temp_dir().join(format!("waggle-stand-ins-{}", std::process::id()));
        let tools = stand_ins(&folder).unwrap();
        let compiler = tools.join("cc-stand-in");
        let object = folder.join("a.o");
        assert!(Command::new(&compiler).args(["-c", "no-such.c", "-o"]).arg(&object).status().unwrap().success());
        assert_eq!(fs::metadata(&object).unwrap().len(), 0);
        let source = folder.join("a.c");
        fs::write(&source, "#ifdef __GNUC__\ngnu\n#endif\n").unwrap();
        let found = Command::new(&compiler).arg("-E").arg(&source).output().unwrap();
        assert!(String::from_utf8_lossy(&found.stdout).contains("gnu"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
