//! Gives the library the id of its build: a hash over everything that decides what the generated Swift and Kotlin code has to look
//! like, which is the source of the surface, the generator's configuration and the versions of all crates. The same sources give the
//! same id on every machine and for every target, so code and library that were made apart can be told to belong together.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use sha2::{Digest as _, Sha256};

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut files = vec![here.join("uniffi.toml"), here.join("../Cargo.lock")];
    sources(&here.join("src"), &mut files)?;
    let mut hash = Sha256::new();
    for file in &files {
        println!("cargo:rerun-if-changed={}", file.display());
        let text = fs::read(file)?;
        let name = file.strip_prefix(&here).unwrap_or(file).to_string_lossy().into_owned();
        hash.update((name.len() as u64).to_be_bytes());
        hash.update(name);
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(&text);
    }
    println!("cargo:rerun-if-changed={}", here.join("src").display());
    let id: String = hash.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    println!("cargo:rustc-env=WAGGLE_BUILD_ID={id}");
    Ok(())
}

/// All files below a folder, in order of their names.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        if entry.file_type()?.is_dir() { sources(&entry.path(), files)? } else { files.push(entry.path()) }
    }
    Ok(())
}
