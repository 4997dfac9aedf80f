//! The inventory of bounds: a page made from `core/src/limits.rs`, which is the only place where a bound is written down.
//!
//! `cargo xtask bounds` writes the page. The tests hold that it is current, that every bound says why it is what it is, and that somebody enforces it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};

const SOURCE: &str = "core/src/limits.rs";
const PAGE: &str = "core/docs/bounds.md";

/// One bound as the source has it.
struct Bound {
    name: String,
    value: String,
    reason: String,
}

/// Reads every constant with the comment before it.
fn bounds(source: &str) -> anyhow::Result<Vec<Bound>> {
    let (mut found, mut reason) = (Vec::new(), String::new());
    for line in source.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("///") {
            if !reason.is_empty() {
                reason.push(' ');
            }
            reason.push_str(text.trim());
        } else if let Some(rest) = line.strip_prefix("pub const ") {
            let (name, rest) = rest.split_once(':').context("a constant without a type")?;
            let (_, value) = rest.split_once('=').with_context(|| format!("{name} has no value on its line"))?;
            let value = value.trim().trim_end_matches(';').to_owned();
            found.push(Bound { name: name.to_owned(), value, reason: std::mem::take(&mut reason) });
        } else if !line.starts_with("//!") {
            reason.clear();
        }
    }
    ensure!(found.len() > 50, "{} bounds are not all", found.len());
    Ok(found)
}

fn page(bounds: &[Bound]) -> String {
    let mut out = format!(
        "# Bounds\n\nWritten by `cargo xtask bounds` from `{SOURCE}`; a test holds that it is current. {} bounds.\n\n\
         | bound | value | why, and what happens at it |\n| --- | --- | --- |\n",
        bounds.len()
    );
    for bound in bounds {
        let reason = bound.reason.replace("[`", "`").replace("`]", "`").replace('|', "\\|");
        let _ = writeln!(out, "| `{}` | `{}` | {reason} |", bound.name, bound.value);
    }
    out
}

/// Writes the page.
pub(crate) fn write(root: &Path) -> anyhow::Result<bool> {
    let bounds = bounds(&fs::read_to_string(root.join(SOURCE))?)?;
    fs::write(root.join(PAGE), page(&bounds)).with_context(|| format!("writing {PAGE}"))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Bound> {
        bounds(&fs::read_to_string(crate::root().join(SOURCE)).unwrap()).unwrap()
    }

    #[test]
    fn the_page_is_current() {
        let written = fs::read_to_string(crate::root().join(PAGE)).unwrap();
        assert_eq!(written, page(&all()), "cargo xtask bounds");
    }

    #[test]
    fn every_bound_has_its_reason() {
        for bound in all() {
            assert!(bound.reason.len() > 12, "{} says nothing", bound.name);
        }
    }

    /// A bound that no product code names bounds nothing.
    #[test]
    fn every_bound_is_enforced_somewhere() {
        let mut sources = String::new();
        let mut open = vec![crate::root().join("core/src")];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                if path.is_dir() {
                    open.push(path);
                } else if name != "limits.rs" && !name.contains("test") {
                    let text = fs::read_to_string(path).unwrap();
                    // Test modules stand at the end of their files.
                    sources.push_str(text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default());
                }
            }
        }
        let letter = |c: char| c.is_alphanumeric() || c == '_';
        let unused: Vec<_> = all()
            .into_iter()
            .filter(|b| {
                !sources.match_indices(&b.name).any(|(at, name)| {
                    !sources[..at].ends_with(letter) && !sources[at + name.len()..].starts_with(letter)
                })
            })
            .map(|b| b.name)
            .collect();
        assert!(unused.is_empty(), "nobody enforces {unused:?}");
    }
}
