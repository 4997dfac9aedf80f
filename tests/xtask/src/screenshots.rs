//! `cargo xtask screenshots`: pictures of what people see, for the documentation.
//!
//! Those of the Android app are taken by its tests, with the clock set (`android.rs`). Those of the terminal reader are its snapshots: its tests
//! write each screen as an SVG, which is drawn here; so are the emoji in it, from a font that has them in colour. Two runs give the same bytes. A
//! folder is only touched when all its pictures could be taken.

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

/// Draws an SVG, draws text in colour, and the fonts of both.
const FOR_READER: [Tool; 4] = [
    ("rsvg-convert", "--version", "librsvg2-bin"),
    ("pango-view", "--version", "pango1.0-tools"),
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
    // With the features of the whole workspace, as everything else was built.
    let mut test = cargo(root, &["test", "--quiet", "--workspace", "--test", "screens"]);
    test.env("WAGGLE_PICTURES", &screens);
    setup::quietly(test, "the test of the screens")?;
    for screen in fs::read_dir(&screens)?.collect::<Result<Vec<_>, _>>()? {
        let screen = screen.path();
        emoji(&screens, &fs::read_to_string(&screen)?)?;
        let name = screen.file_stem().context("a picture without a name")?;
        let mut draw = Command::new("rsvg-convert");
        draw.arg("--output").arg(folder.join(name).with_extension("png")).arg(&screen);
        setup::quietly(draw, "rsvg-convert")?;
    }
    keep(root, folder, READER)
}

/// Draws the emoji that a screen names, beside it: `emoji-` and code points.
fn emoji(folder: &Path, screen: &str) -> anyhow::Result<()> {
    for code in screen.split("href=\"emoji-").skip(1).filter_map(|rest| rest.split(".png\"").next()) {
        let picture = folder.join(format!("emoji-{code}.png"));
        if picture.exists() {
            continue;
        }
        let point = |hex| u32::from_str_radix(hex, 16).ok().and_then(char::from_u32);
        let text: Option<String> = code.split('-').map(point).collect();
        let mut draw = Command::new("pango-view");
        draw.args(["--no-display", "--margin=0", "--background=transparent", "--font=Noto Color Emoji 48"]);
        draw.arg("--text").arg(text.context("a name that is no emoji")?).arg("--output").arg(picture);
        setup::quietly(draw, "pango-view")?;
    }
    Ok(())
}
