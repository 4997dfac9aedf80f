//! The Android app where there is no Gradle: its Maven build, over the real library and the relay (`android/README.md`).
//!
//! Its modules are built together with those of the bindings, whose own tests are left out: they are another suite's.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context as _;

use crate::kotlin;
use crate::setup::{self, Tool};
use crate::tally::Tally;

/// What lists the modules.
const PROJECT: &str = "android/pom.xml";
/// Those of Android, and the how-to's sample for Compose, which is a desktop program.
const MODULES: &str = ":kit,:app,:compose-sample";
/// The test that takes them.
const PICTURES: &str = "PicturesTest";
/// When they are taken: Thursday, 3 July 2025, 09:00 UTC, as those of the terminal reader.
const TAKEN_AT: i64 = 1_751_533_200;

/// Compiles and links the app's resources.
const FOR_ANDROID: [Tool; 1] = [("aapt2", "version", "aapt")];
/// Sets the clock of a process: times and days show in pictures.
const FOR_PICTURES: [Tool; 1] = [("faketime", "--version", "faketime")];

/// Runs the tests of kit, app and sample.
pub(crate) fn test(root: &Path) -> anyhow::Result<Tally> {
    run(root, &[])
}

/// Takes the pictures, into a folder.
pub(crate) fn pictures(root: &Path, folder: &Path) -> anyhow::Result<Tally> {
    setup::tools(&FOR_PICTURES)?;
    let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs())?;
    let options = [
        format!("-Dwaggle.screenshots={}", folder.display()),
        format!("-Dwaggle.pictures.clock={}", clock()?.display()),
        format!("-Dwaggle.pictures.shift={}", TAKEN_AT - now),
        format!("-Dwaggle.pictures.at={TAKEN_AT}"),
        format!("-Dtest={PICTURES}"),
        "-Dsurefire.failIfNoSpecifiedTests=false".to_owned(),
    ];
    run(root, &options)
}

/// The library behind the program `faketime`, in the folder of this system's kind of processor.
fn clock() -> anyhow::Result<PathBuf> {
    let folders = fs::read_dir("/usr/lib")?.filter_map(Result::ok);
    let mut found = folders.map(|folder| folder.path().join("faketime/libfaketime.so.1"));
    found.find(|path| path.is_file()).context("faketime has no library in /usr/lib")
}

fn run(root: &Path, options: &[String]) -> anyhow::Result<Tally> {
    setup::tools(&FOR_ANDROID).context("aapt2 is not to be had")?;
    let mut all = ["-DskipTests", "-pl", MODULES, "-am"].map(str::to_owned).to_vec();
    all.extend_from_slice(options);
    kotlin::test_windows(root, PROJECT, all)
}
