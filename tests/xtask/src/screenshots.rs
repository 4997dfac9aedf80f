//! `cargo xtask screenshots`: pictures of what people see, for the documentation.
//!
//! Those of the Android app are taken by its tests, with the clock set (`android.rs`). Those of the terminal reader are its snapshots: its tests
//! write each screen as an SVG, which is drawn here, with a font for its text and one for emoji. Two runs give the same bytes. A folder is
//! only touched when all its pictures could be taken.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::bindings;
use crate::rust::cargo;
use crate::say;
use crate::setup::{self, Tool};
use crate::{android, native};

/// Where pictures are kept.
const ANDROID: &str = "android/screenshots";
const READER: &str = "tests/reader/screenshots";

/// Draws an SVG, and the fonts that are named in it.
const FOR_READER: [Tool; 3] = [
    ("rsvg-convert", "--version", "librsvg2-bin"),
    ("ls", "/usr/share/fonts/truetype/dejavu/DejaVuSansMono-Bold.ttf", "fonts-dejavu-core"),
    ("ls", "/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf", "fonts-noto-color-emoji"),
];

/// Takes all of them. Says whether that worked.
pub(crate) fn take(root: &Path) -> anyhow::Result<bool> {
    let target = native::build(root)?.target()?.join("screenshots");
    reader(root, fresh(&target.join("reader"))?).context("the terminal reader's")?;
    android(root, fresh(&target.join("android"))?).context("the Android app's")?;
    Ok(true)
}

fn fresh(folder: &Path) -> anyhow::Result<&Path> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    Ok(folder)
}

fn keep(root: &Path, taken: &Path, folder: &str) -> anyhow::Result<()> {
    bindings::copy(taken, &root.join(folder))?;
    say(&format!("{folder}: {} pictures", fs::read_dir(taken)?.count()));
    Ok(())
}

fn android(root: &Path, folder: &Path) -> anyhow::Result<()> {
    let tally = android::pictures(root, folder)?;
    ensure!(tally.failed == 0, "{tally} {}", tally.names.join(" "));
    keep(root, folder, ANDROID)
}

fn reader(root: &Path, folder: &Path) -> anyhow::Result<()> {
    setup::tools(&FOR_READER)?;
    let screens = fresh(&folder.with_extension("svg"))?.to_owned();
    let mut test = cargo(root, &["test", "--quiet", "-p", "waggle-reader", "--test", "screens"]);
    test.env("WAGGLE_PICTURES", &screens);
    setup::quietly(test, "the test of the screens")?;
    for screen in fs::read_dir(&screens)? {
        let screen = screen?.path();
        let name = screen.file_stem().context("a picture without a name")?;
        let mut draw = Command::new("rsvg-convert");
        draw.arg("--output").arg(folder.join(name).with_extension("png")).arg(&screen);
        setup::quietly(draw, "rsvg-convert")?;
    }
    keep(root, folder, READER)
}
