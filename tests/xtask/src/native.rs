//! The Rust side of the other languages' packages: the library they load, and the relay their tests talk to.

use std::env::consts;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use crate::rust::{cargo, lines};

/// What was built, and where.
pub(crate) struct Native {
    /// The folder with the library and the programs; also that of the running program.
    pub(crate) folder: PathBuf,
    /// The folder of the library that other languages load: the same, unless one built for release is measured.
    pub(crate) loaded: PathBuf,
    /// The test relay's program.
    pub(crate) relay: PathBuf,
    /// The generator's program.
    pub(crate) bindgen: PathBuf,
    /// What the library answers as its build.
    pub(crate) build_id: String,
}

impl Native {
    /// The target directory.
    pub(crate) fn target(&self) -> anyhow::Result<&Path> {
        self.folder.parent().context("the target directory has no parent")
    }

    /// The library of an exported crate.
    pub(crate) fn library(&self, name: &str) -> anyhow::Result<PathBuf> {
        library_in(&self.folder, name)
    }
}

/// The library of an exported crate in a folder of what was built.
pub(crate) fn library_in(folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    there(folder.join(format!("{}{name}{}", consts::DLL_PREFIX, consts::DLL_SUFFIX)))
}

/// The target directory, in which this program is.
pub(crate) fn target() -> anyhow::Result<PathBuf> {
    let here = std::env::current_exe()?;
    Ok(here.ancestors().nth(2).context("this program is in no target directory")?.to_owned())
}

fn there(path: PathBuf) -> anyhow::Result<PathBuf> {
    ensure!(path.is_file(), "{} was not built", path.display());
    Ok(path)
}

/// Builds them with the profile of the tests. All libraries and programs of the workspace are built together, and one small test
/// with them: a build of some packages alone, or of no test, would have other features and compile most dependencies once more.
pub(crate) fn build(root: &Path) -> anyhow::Result<Native> {
    let options = ["--lib", "--bins", "--test", "policy", "--message-format", "json-render-diagnostics"];
    let build = cargo(root, &[&["build", "--workspace", "--quiet"], &options[..]].concat());
    let mut build_id = None;
    let fine = lines(build, |line| build_id = build_id.take().or_else(|| build_id_in(line)))?;
    ensure!(fine, "the Rust library does not build");
    let here = std::env::current_exe()?;
    let folder = here.parent().context("this program is in no folder")?.to_owned();
    let program = |name: &str| there(folder.join(format!("{name}{}", consts::EXE_SUFFIX)));
    Ok(Native {
        relay: program("waggle-test-relay")?,
        bindgen: program("waggle-bindgen")?,
        build_id: build_id.context("cargo did not say which build of waggle-ffi this is")?,
        loaded: folder.clone(),
        folder,
    })
}

/// What the build script of `waggle-ffi` put into the library as its build, from a line of cargo's messages.
fn build_id_in(line: &str) -> Option<String> {
    let (_, after) = line.split_once(r#"["WAGGLE_BUILD_ID",""#)?;
    after.split_once('"').map(|(id, _)| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_is_in_cargos_messages() {
        let message =
            r#"{"reason":"build-script-executed","package_id":"x","env":[["A","b"],["WAGGLE_BUILD_ID","1f"]]}"#;
        assert_eq!(build_id_in(message).as_deref(), Some("1f"));
        assert_eq!(build_id_in(r#"{"reason":"build-script-executed","env":[["A","b"]]}"#), None);
    }
}
