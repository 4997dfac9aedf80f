//! `cargo xtask bench`: every promise about speed and size, a line each: number, name, what was measured, limit.
//!
//! Most are ratios that one program measures in one run (`core/benches/ratios`). Others need more than the core: a session and a relay
//! (P15, P17), another language (P16), the library as phones get it (P20). P16 is time over F1(123), both of them minima; as times drift, F1
//! is measured right before. P20's size is also kept in a file, so that growth is noticed before it is past the limit.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};

use crate::kotlin;
use crate::native::{self, Native};
use crate::rust::{cargo, lines};
use crate::say;
use crate::swift;

/// What others than the ratio bench measure.
const ELSEWHERE: [&str; 4] = ["P15", "P16", "P17", "P20"];

/// The test that counts what one live event costs an app.
const LIVE_EVENT: &str = "one_live_event_wakes_what_it_touches";

/// P20: bytes of the stripped library of the `mobile` profile.
const MOST_BYTES: u64 = 6_500_000;
/// Where its size is kept, in bytes, and a change that has to be explained in the commit that changes the file.
const SIZE: &str = "bindings/size.txt";
const CHANGE_BYTES: u64 = 100_000;
/// What libraries for phones are built with: libsecp256k1's tables of the generator take 128 KiB instead of 1 MiB, for about four more
/// additions per verification. Its crate knows only the window of 15 and one of 4, which is slow.
const SMALL_TABLES: &str = "-DECMULT_WINDOW_SIZE=12";

/// Runs them, or those that are named; other arguments are the ratio bench's.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<bool> {
    let wanted: Vec<&str> = arguments.iter().map(String::as_str).filter(|a| a.starts_with('P')).collect();
    let is_wanted = |promise: &str| wanted.is_empty() || wanted.contains(&promise);
    let mut fine = true;
    if wanted.is_empty() || wanted.iter().any(|promise| !ELSEWHERE.contains(promise)) {
        let mut command = ratios(root);
        command.args(arguments);
        fine &= lines(command, say)?;
    }
    if is_wanted("P15") {
        fine &= live_event(root)?;
    }
    if is_wanted("P16") {
        fine &= crossing(root)?;
    }
    if is_wanted("P17") {
        let reader = ["run", "--release", "--quiet", "-p", "waggle-reader", "--", "--bench-waits"];
        fine &= lines(cargo(root, &reader), say)?;
    }
    if is_wanted("P20") {
        fine &= size(root)?;
    }
    Ok(fine)
}

fn ratios(root: &Path) -> std::process::Command {
    cargo(root, &["bench", "--quiet", "-p", "waggle", "--bench", "ratios", "--"])
}

/// P15, which a test counts: it needs no clock.
fn live_event(root: &Path) -> anyhow::Result<bool> {
    let mut said = vec![];
    let arguments = ["test", "--quiet", "--workspace", "--lib", LIVE_EVENT, "--", "--nocapture"];
    let fine = lines(cargo(root, &arguments), |line| said.push(line.to_owned()))?;
    promise("P15", fine, &said)
}

/// P16, in Swift and in Kotlin, over a library built for release.
fn crossing(root: &Path) -> anyhow::Result<bool> {
    let native = native::build(root)?;
    let release = cargo(root, &["build", "--release", "--quiet", "-p", "waggle-ffi"]);
    ensure!(lines(release, say)?, "the library does not build for release");
    let native = Native { loaded: native.target()?.join("release"), ..native };
    // What has to be compiled is compiled before F1 is measured.
    let build = ["build", "-c", "release", "--product", "WaggleBench"].map(str::to_owned);
    let mut said = vec![];
    let built = swift::run_over(root, swift::BINDINGS, &native, &build, |line| said.push(line.to_owned()))?;
    ensure!(built, "Swift's bench does not compile:\n{}", said.join("\n"));
    let module = kotlin::Module::prepare(root, kotlin::SHIPPED_PROJECT, &native)?;
    ensure!(module.maven("test-compile")?, "Kotlin's bench does not compile");

    let program = ["run", "-c", "release", "--skip-build", "WaggleBench"].map(str::to_owned);
    let mut arguments = program.to_vec();
    arguments.push(f1(root)?.to_string());
    said.clear();
    let fine = swift::run_over(root, swift::BINDINGS, &native, &arguments, |line| said.push(line.to_owned()))?;
    let fine = promise("P16", fine, &said)?;
    let (also, said) = module.bench(f1(root)?)?;
    Ok(promise("P16", also, &said)? && fine)
}

/// Microseconds of F1(123).
fn f1(root: &Path) -> anyhow::Result<f64> {
    let mut found = None;
    let mut command = ratios(root);
    command.arg("F1");
    lines(command, |line| found = found.or_else(|| line.strip_prefix("F1 microseconds ")?.trim().parse().ok()))?;
    found.context("the ratio bench does not say what F1 takes")
}

/// Says a promise's lines, and everything else if it failed. Says whether it holds.
fn promise(number: &str, fine: bool, said: &[String]) -> anyhow::Result<bool> {
    // Maven resets colours at the start of a line.
    let said: Vec<&str> = said.iter().map(|line| line.trim_start_matches("\u{1b}[0m")).collect();
    let is_promise = |line: &&&str| line.split(' ').next() == Some(number);
    ensure!(!fine || said.iter().any(|line| is_promise(&line)), "what measures {number} said nothing");
    said.iter().filter(|line| !fine || is_promise(line)).for_each(|line| say(line));
    Ok(fine)
}

/// P20: the library as a phone gets it, for this system's processor.
fn size(root: &Path) -> anyhow::Result<bool> {
    let target = native::target()?;
    let mut command = cargo(root, &["rustc", "--quiet", "--profile", "mobile", "-p", "waggle-ffi"]);
    command.args(["--crate-type", "cdylib", "--no-default-features"]).env("CFLAGS", SMALL_TABLES);
    ensure!(lines(command, say)?, "the library does not build for phones");
    let library = native::library_in(&target.join("mobile"), "waggle_ffi")?;
    let bytes = fs::metadata(&library)?.len();
    let kept = fs::read_to_string(root.join(SIZE)).with_context(|| format!("reading {SIZE}"))?;
    let kept: u64 = kept.trim().parse().with_context(|| format!("{SIZE} is not a number of bytes"))?;
    let (line, fine) = size_line(bytes);
    say(&line);
    if !(cfg!(all(target_arch = "x86_64", target_os = "linux")) && kept.abs_diff(bytes) > CHANGE_BYTES) {
        return Ok(fine);
    }
    say(&format!(
        "the library has {bytes} bytes, {SIZE} says {kept}: write it there, and why into the commit's message"
    ));
    Ok(false)
}

fn size_line(bytes: u64) -> (String, bool) {
    let fine = bytes <= MOST_BYTES;
    let mark = if fine { "" } else { "  PAST THE LIMIT" };
    let [size, limit] = [bytes, MOST_BYTES].map(|bytes| bytes as f64 / 1e6);
    (format!("P20 library_megabytes {size:.3} {limit:.2}{mark}"), fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promises_are_heard() {
        let said = ["Building", "\u{1b}[0m\u{1b}[0mP16 kotlin 0.05 0.10"].map(str::to_owned);
        assert!(promise("P16", true, &said).unwrap());
        assert!(!promise("P16", false, &said).unwrap());
        assert!(promise("P1", true, &said).is_err());
    }

    #[test]
    fn a_library_past_its_limit() {
        assert_eq!(size_line(5_123_456), ("P20 library_megabytes 5.123 6.50".to_owned(), true));
        assert_eq!(size_line(6_500_001), ("P20 library_megabytes 6.500 6.50  PAST THE LIMIT".to_owned(), false));
    }
}
