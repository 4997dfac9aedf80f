//! What may be depended on: licences, sources, bans, and known faults.
//!
//! `.config/deny.toml` is the list. [`run`] hands it to cargo-deny, which knows the advisories; the test below holds the rest of it on every run,
//! offline once the dependencies are there, and in seconds. Building cargo-deny takes minutes on two cores, so it runs on its own
//! (`.github/workflows/deny.yml`, or by hand), and a database of advisories that cannot be reached fails that and nothing else.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::rust::lines;
use crate::say;

const CONFIG: &str = ".config/deny.toml";
/// Pinned, so that a run tomorrow is the run of today.
const VERSION: &str = "0.20.2";

/// Checks the lists here, then runs cargo-deny, installing it where it is missing.
pub(crate) fn run(root: &Path) -> anyhow::Result<bool> {
    let faults = check(root)?;
    faults.iter().for_each(|fault| say(fault));
    if !faults.is_empty() {
        return Ok(false);
    }
    if !works() {
        say(&format!("installing cargo-deny {VERSION}, which takes a while"));
        let install = ["install", "--quiet", "--locked", "cargo-deny", "--version", VERSION];
        ensure!(lines(crate::rust::cargo(root, &install), say)?, "cargo-deny does not build");
    }
    lines(crate::rust::cargo(root, &["deny", "--workspace", "--config", CONFIG, "check"]), say)
}

fn works() -> bool {
    Command::new("cargo").args(["deny", "--version"]).output().is_ok_and(|output| output.status.success())
}

/// A package of the dependency graph.
#[derive(serde::Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
}

#[derive(serde::Deserialize)]
struct Config {
    graph: Graph,
    licenses: Licenses,
    bans: Bans,
    sources: Sources,
}

#[derive(serde::Deserialize)]
struct Graph {
    targets: Vec<String>,
}

#[derive(serde::Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(serde::Deserialize)]
struct Bans {
    deny: Vec<Ban>,
}

#[derive(serde::Deserialize)]
struct Ban {
    #[serde(rename = "crate")]
    name: String,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    allow_registry: Vec<String>,
}

impl Config {
    fn read(root: &Path) -> anyhow::Result<Self> {
        toml::from_str(&std::fs::read_to_string(root.join(CONFIG))?).with_context(|| format!("reading {CONFIG}"))
    }

    /// What is wrong with a package.
    fn faults(&self, package: &Package) -> Vec<String> {
        let mut faults = Vec::new();
        let mut fault = |what: String| faults.push(format!("{} {}: {what}", package.name, package.version));
        let Some(source) = &package.source else { return Vec::new() };
        if !self.sources.allow_registry.iter().any(|r| source.strip_prefix("registry+") == Some(r)) {
            fault(format!("comes from {source}"));
        }
        if self.bans.deny.iter().any(|ban| ban.name == package.name) {
            fault("is banned".to_owned());
        }
        let license = package.license.as_deref().unwrap_or_default();
        match spdx::Expression::parse_mode(license, spdx::ParseMode::LAX) {
            Ok(expression) if expression.evaluate(|req| self.licenses.allow.contains(&req.to_string())) => {}
            Ok(_) => fault(format!("has the licence {license}")),
            Err(_) => fault(format!("has a licence that cannot be read: {license}")),
        }
        faults
    }
}

/// Every package that the platforms of the list need.
fn packages(root: &Path, targets: &[String]) -> anyhow::Result<Vec<Package>> {
    #[derive(serde::Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    let mut command = crate::rust::cargo(root, &["metadata", "--locked", "--format-version", "1"]);
    command.args(targets.iter().flat_map(|target| ["--filter-platform", target]));
    let output = command.output().context("starting cargo metadata")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(serde_json::from_slice::<Metadata>(&output.stdout)?.packages)
}

/// Everything that is not as the list says.
fn check(root: &Path) -> anyhow::Result<Vec<String>> {
    let config = Config::read(root)?;
    let packages = packages(root, &config.graph.targets)?;
    ensure!(packages.len() > 100, "{} packages are not the whole graph", packages.len());
    Ok(packages.iter().flat_map(|package| config.faults(package)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dependency_is_as_the_list_says() {
        let faults = check(&crate::root()).unwrap();
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    #[test]
    fn what_the_list_forbids_is_found() {
        let config = Config::read(&crate::root()).unwrap();
        let package = |name: &str, license: Option<&str>, source: &str| Package {
            name: name.into(),
            version: "1.0.0".into(),
            license: license.map(str::to_owned),
            source: Some(source.into()),
        };
        let crates_io = "registry+https://github.com/rust-lang/crates.io-index";
        assert_eq!(config.faults(&package("serde", Some("MIT OR Apache-2.0"), crates_io)), Vec::<String>::new());
        assert_eq!(config.faults(&package("serde", Some("MIT/Apache-2.0"), crates_io)), Vec::<String>::new());
        assert_eq!(config.faults(&package("uniffi", Some("MPL-2.0"), crates_io)), Vec::<String>::new());
        let found = |name, license, source| config.faults(&package(name, license, source)).len();
        assert_eq!(found("x", Some("GPL-3.0-only"), crates_io), 1);
        assert_eq!(found("x", Some("MIT AND AGPL-3.0-only"), crates_io), 1);
        assert_eq!(found("x", None, crates_io), 1);
        assert_eq!(found("openssl-sys", Some("MIT"), crates_io), 1);
        assert_eq!(found("x", Some("MIT"), "git+https://example.org/x"), 1);
        assert_eq!(found("x", Some("MIT"), "registry+https://example.org/index"), 1);
    }
}
