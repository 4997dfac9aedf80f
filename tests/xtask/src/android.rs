//! The Android app where there is no Gradle: its Maven build, over the real library and the relay (`android/README.md`).
//!
//! Its modules are built together with those of the bindings, whose own tests are left out: they are another suite's.

use std::path::Path;
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
/// The hour of the day, by the clock of the place where they are taken.
const TAKEN_AT: u64 = 9;
const HOUR_S: u64 = 3_600;

/// Compiles and links the app's resources.
const FOR_ANDROID: [Tool; 1] = [("aapt2", "version", "aapt")];

/// Runs the tests of kit, app and sample.
pub(crate) fn test(root: &Path) -> anyhow::Result<Tally> {
    run(root, &[])
}

/// Takes the pictures, into a folder. Times show in them, and what was said today: so they are taken where it is nine in the morning, and
/// the relay's community fell silent at nine sharp.
pub(crate) fn pictures(root: &Path, folder: &Path) -> anyhow::Result<Tally> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let options = [
        format!("-Dwaggle.screenshots={}", folder.display()),
        format!("-Dwaggle.pictures.at={}", now - now % HOUR_S),
        format!("-Dwaggle.timezone={}", place(now)),
        format!("-Dtest={PICTURES}"),
        "-Dsurefire.failIfNoSpecifiedTests=false".to_owned(),
    ];
    run(root, &options)
}

/// The time zone in which it is nine in the morning.
fn place(now: u64) -> String {
    let hour = now / HOUR_S % 24;
    match (TAKEN_AT + 24 - hour) % 24 {
        east @ 0..=12 => format!("GMT+{east}"),
        far => format!("GMT-{}", 24 - far),
    }
}

fn run(root: &Path, options: &[String]) -> anyhow::Result<Tally> {
    setup::tools(&FOR_ANDROID).context("aapt2 is not to be had")?;
    let mut all = ["-DskipTests", "-pl", MODULES, "-am"].map(str::to_owned).to_vec();
    all.extend_from_slice(options);
    kotlin::test_windows(root, PROJECT, all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_always_nine_somewhere() {
        for hour in 0..24 {
            let place = place(hour * HOUR_S + 1_800);
            let (sign, hours) = place.strip_prefix("GMT").unwrap().split_at(1);
            let east = hours.parse::<u64>().unwrap();
            let there = if sign == "+" { hour + east } else { hour + 24 - east };
            assert_eq!((there % 24, east <= 12), (TAKEN_AT, true), "{hour} {place}");
        }
    }
}
