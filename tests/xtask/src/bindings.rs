//! `cargo xtask bindings`: the Swift and Kotlin code of the library.
//!
//! `waggle-bindgen` writes it to `bindings` in the target directory; it is never committed. The Maven modules read their sources from
//! there. A Swift package takes sources from its own folder only, so the Swift files are copied below `Sources` there, where git
//! ignores them. What an app can see is kept as text in `bindings/api`, so that a change of it shows in a review.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::native::Native;
use crate::rust::lines;
use crate::say;

const API: &str = "bindings/api";

/// Something exported.
struct Exported {
    /// The crate's name in Rust, which is the library's name, too.
    name: &'static str,
    folder: &'static str,
    /// Below `bindings` in the target directory.
    out: &'static str,
    /// The `Sources` of its Swift package.
    swift: &'static str,
    /// The Swift module that has the types it takes from another one.
    import: Option<&'static str>,
}

/// The bindings, and the runner of scenarios through them, which contains the bindings.
const EXPORTED: [Exported; 2] = [
    Exported { name: "waggle_ffi", folder: "bindings", out: "", swift: "bindings/swift/Sources", import: None },
    Exported {
        name: "waggle_through",
        folder: "tests/scenarios/through",
        out: "through",
        swift: "bindings/swift/through/Sources",
        import: Some("WaggleGenerated"),
    },
];

/// What to do with the text of the surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Surface {
    /// Leave it alone.
    Ignore,
    /// Compare it with what is committed.
    Check,
    /// Write it.
    Bless,
}

/// Where generated code is.
pub(crate) struct Generated {
    pub(crate) kotlin: PathBuf,
    pub(crate) swift: PathBuf,
}

/// Generates both languages from the built library.
pub(crate) fn generate(root: &Path, native: &Native) -> anyhow::Result<Generated> {
    let (generated, _) = run(root, native, Surface::Ignore)?;
    Ok(generated)
}

/// Generates both languages, and compares or writes the text of the surface. Says whether it is as committed.
pub(crate) fn run(root: &Path, native: &Native, surface: Surface) -> anyhow::Result<(Generated, bool)> {
    let [bindings, through] = &EXPORTED;
    let fine = generate_one(root, native, bindings, surface)?;
    generate_one(root, native, through, Surface::Ignore)?;
    let out = native.target()?.join("bindings");
    Ok((Generated { kotlin: out.join("kotlin"), swift: out.join("swift") }, fine))
}

fn generate_one(root: &Path, native: &Native, exported: &Exported, surface: Surface) -> anyhow::Result<bool> {
    let out = native.target()?.join("bindings").join(exported.out);
    let mut command = Command::new(&native.bindgen);
    command.arg("--library").arg(native.library(exported.name)?).args(["--only", exported.name]).arg("--out").arg(&out);
    for known in &EXPORTED {
        command.arg("--crate").arg(format!("{}={}", known.name, root.join(known.folder).display()));
    }
    if let Some(module) = exported.import {
        command.args(["--import", module]);
    }
    if exported.out.is_empty() {
        command.args(["--build-id", &native.build_id]);
    }
    match surface {
        Surface::Ignore => {}
        Surface::Check => drop(command.arg("--check").arg(root.join(API))),
        Surface::Bless => drop(command.arg("--bless").arg(root.join(API))),
    }
    let fine = lines(command, say)?;
    ensure!(fine || surface == Surface::Check, "the Swift and Kotlin code of {} could not be generated", exported.name);
    for module in fs::read_dir(out.join("swift")).context("reading the generated Swift")? {
        let module = module?;
        copy(&module.path(), &root.join(exported.swift).join(module.file_name()))?;
    }
    Ok(fine)
}

/// Makes a folder hold what another one does (files only), and touches no file that is right already.
pub(crate) fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(to)? {
        let entry = entry?;
        if !from.join(entry.file_name()).is_file() {
            fs::remove_file(entry.path())?;
        }
    }
    for entry in fs::read_dir(from).with_context(|| format!("reading {}", from.display()))? {
        let entry = entry?;
        let (new, path) = (fs::read(entry.path())?, to.join(entry.file_name()));
        if !fs::read(&path).is_ok_and(|old| old == new) {
            fs::write(&path, new).with_context(|| format!("writing {}", path.display()))?;
        }
    }
    Ok(())
}
