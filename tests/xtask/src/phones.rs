//! The library for the phones' own targets: type-checked whole, with everything it depends on, but not linked.
//!
//! Rust's standard library for these targets is used where it is installed, else it is built from its source with Debian 13's
//! Rust. C code is not needed for a check: its compilers are stand-ins that leave an empty file. What only shows when linking or
//! running on a device is for `.github/workflows/phones.yml`.
//!
//! One cargo checks all targets, so that what runs here (build scripts, macros) is built once, and nothing is optimised: it all
//! runs for less time than that takes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;

use crate::debian::{Debian, Packages};
use crate::native;
use crate::rust::cargo;
use crate::say;
use crate::tally::Tally;

/// What is checked: Android with 64 and with 32 bits, and iOS.
const TARGETS: [&str; 3] = ["aarch64-linux-android", "armv7-linux-androideabi", "aarch64-apple-ios"];

const CHECK: [&str; 8] = ["check", "--quiet", "--locked", "--lib", "-p", "waggle", "-p", "waggle-ffi"];

/// Settings of cargo that make the check cheap.
const CHEAP: [&str; 3] =
    [r#"profile.dev.package."*".opt-level=0"#, "profile.dev.debug=false", "profile.dev.incremental=false"];

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

/// Checks every target; each counts as one test.
pub(crate) fn test(root: &Path) -> anyhow::Result<Tally> {
    let target = native::target()?.join("phones");
    fs::create_dir_all(&target)?;
    let place = Place { root, tools: stand_ins(&target)?, target };
    let debian = if TARGETS.into_iter().all(installed) {
        None
    } else {
        Some(Debian::with(&FOR_PHONES).context("Rust for the phones' targets is not to be had")?)
    };
    let command = |names: &[&str]| match &debian {
        Some(debian) => place.in_debian(debian, names),
        None => place.here(names),
    };
    let mut tally = Tally::default();
    if fine(command(&TARGETS), |_| {})? {
        TARGETS.iter().for_each(|_| tally.pass());
        return Ok(tally);
    }
    // What fits one target is checked by now: finding out which ones fail is cheap.
    for name in TARGETS {
        if fine(command(&[name]), say)? { tally.pass() } else { tally.fail(name) }
    }
    if tally.failed == 0 {
        tally.fail("all targets at once");
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

/// Runs a check and hands over every line of what it says. Says whether it succeeded.
fn fine(mut command: Command, line: impl FnMut(&str)) -> anyhow::Result<bool> {
    let output = command.stdin(Stdio::null()).output().context("starting the check")?;
    String::from_utf8_lossy(&output.stderr).lines().for_each(line);
    Ok(output.status.success())
}

/// Where things are.
struct Place<'a> {
    root: &'a Path,
    tools: PathBuf,
    target: PathBuf,
}

impl Place<'_> {
    /// The check with the Rust that runs this program.
    fn here(&self, names: &[&str]) -> Command {
        let mut command = cargo(self.root, &CHECK);
        command.args(Self::options(names)).envs(self.variables());
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.tools.display()));
        command
    }

    /// The check with Debian 13's Rust, which builds the standard library first. What cargo downloads is shared with the system's.
    fn in_debian(&self, debian: &Debian, names: &[&str]) -> Command {
        let registry = cargo_home().map(|home| home.join("registry")).filter(|registry| registry.is_dir());
        let bound: Vec<&Path> = [self.root, &self.target].into_iter().chain(registry.as_deref()).collect();
        let mut command = debian.command(self.root, &bound);
        for (variable, value) in self.variables() {
            command.arg(format!("{variable}={value}"));
        }
        if let Some(home) = registry.as_deref().and_then(Path::parent) {
            command.arg(format!("CARGO_HOME={}", home.display()));
        }
        command.arg(format!("PATH={}:/usr/bin:/bin", self.tools.display()));
        // A released compiler builds its own standard library only when told that it may.
        command.args(["RUSTC_BOOTSTRAP=1", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"]);
        command.args(["CARGO_HTTP_CAINFO=/etc/ssl/certs/ca-certificates.crt", "cargo"]).args(CHECK);
        command.arg("-Zbuild-std=std,panic_unwind").args(Self::options(names));
        command
    }

    fn options<'b>(names: &[&'b str]) -> Vec<&'b str> {
        let targets = names.iter().flat_map(|name| ["--target", name]);
        CHEAP.iter().flat_map(|setting| ["--config", setting]).chain(targets).collect()
    }

    /// Where the check builds, and which stand-ins build scripts find.
    fn variables(&self) -> Vec<(String, String)> {
        let mut all = vec![("CARGO_TARGET_DIR".to_owned(), self.target.display().to_string())];
        for name in TARGETS {
            let suffix = name.replace('-', "_");
            all.push((format!("CC_{suffix}"), self.tools.join("cc-stand-in").display().to_string()));
            all.push((format!("AR_{suffix}"), "true".to_owned()));
        }
        all
    }
}

/// Cargo's own folder: where it is told to be, else where it always is.
fn cargo_home() -> Option<PathBuf> {
    let named = std::env::var_os("CARGO_HOME").filter(|named| !named.is_empty()).map(PathBuf::from);
    named.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")))
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
