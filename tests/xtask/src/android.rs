//! The Android app where there is no Gradle: its Maven build, over the real library and the relay (`android/README.md`).
//!
//! Its modules are built together with those of the bindings, whose own tests are left out: they are another suite's.

use std::path::Path;

use anyhow::Context as _;

use crate::kotlin;
use crate::setup::{self, Tool};
use crate::tally::Tally;

/// What lists the modules.
pub(crate) const PROJECT: &str = "android/pom.xml";
/// Where pictures are kept.
const SCREENSHOTS: &str = "android/screenshots";
/// The test that takes them.
const PICTURES: &str = "PicturesTest";

/// Compiles and links the app's resources.
const FOR_ANDROID: [Tool; 1] = [("aapt2", "version", "aapt")];

/// Runs the tests of kit and app.
pub(crate) fn test(root: &Path) -> anyhow::Result<Tally> {
    run(root, &[])
}

/// Takes the pictures anew. Says whether all could be taken.
pub(crate) fn screenshots(root: &Path) -> anyhow::Result<bool> {
    let folder = root.join(SCREENSHOTS);
    let options = [
        format!("-Dwaggle.screenshots={}", folder.display()),
        format!("-Dtest={PICTURES}"),
        "-Dsurefire.failIfNoSpecifiedTests=false".to_owned(),
    ];
    let tally = run(root, &options)?;
    tally.names.iter().for_each(|name| crate::say(&format!("FAIL {name}")));
    crate::say(&format!("{}: {tally}", folder.display()));
    Ok(tally.failed == 0)
}

fn run(root: &Path, options: &[String]) -> anyhow::Result<Tally> {
    setup::tools(&FOR_ANDROID).context("aapt2 is not to be had")?;
    let mut all = ["-DskipTests", "-pl", "kit,app", "-am"].map(str::to_owned).to_vec();
    all.extend_from_slice(options);
    kotlin::test_with(root, PROJECT, &all)
}
