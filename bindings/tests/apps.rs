//! Rules about the Swift and Kotlin sources of the tree: no rule about chat in them, and no app that grows into one.
//!
//! A rule about chat needs the protocol's words: kind numbers, tag names, frontier keys. None of them may stand in Swift or Kotlin, tests and
//! samples included; generated code has none to begin with and is not in the tree. Each rule is also run over a sample that breaks it.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::path::{Path, PathBuf};

/// Kinds large enough to be told from ordinary numbers.
const KINDS: [&str; 31] = [
    "9000", "9001", "9005", "9007", "9021", "9022", "20001", "22242", "27235", "30078", "30622", "39000", "39001",
    "39002", "39003", "39005", "39006", "40001", "40002", "40008", "40099", "43001", "43002", "43003", "43004",
    "43005", "43006", "44100", "44101", "45001", "48100",
];

/// Beginnings of texts that only the protocol uses: keys, coordinates, filters, one-letter tags.
const TEXTS: [&str; 14] = [
    "\"read-state",
    "\"channel-mutes",
    "\"thread:",
    "\"msg:",
    "\"kinds\"",
    "\"#h\"",
    "\"#e\"",
    "\"#p\"",
    "\"#d\"",
    "\"e\"",
    "\"p\"",
    "\"h\"",
    "\"d\"",
    "\"broadcast\"",
];

/// Lines of own source an app may have.
const APP_LINES: usize = 4_000;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Folders that tools make, not people.
fn made(name: &str) -> bool {
    ["target", "build", ".build", ".gradle", "WaggleGenerated", "WaggleFFI"].contains(&name)
}

fn sources(below: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(below) else { return vec![] };
    let mut found = vec![];
    for entry in entries {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !made(&name) {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "swift" || e == "kt") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Protocol words in code; comments may speak of anything.
fn protocol(text: &str) -> Vec<String> {
    let mut found = vec![];
    for (number, line) in text.lines().enumerate() {
        let code = line.trim_start();
        if code.starts_with("//") || code.starts_with('*') || code.starts_with("/*") {
            continue;
        }
        let digit = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let kinds = KINDS.iter().filter(|kind| {
            code.match_indices(**kind)
                .any(|(at, _)| !code[..at].ends_with(digit) && !code[at + kind.len()..].starts_with(digit))
        });
        let texts = TEXTS.iter().filter(|text| code.contains(**text));
        found.extend(kinds.chain(texts).map(|word| format!("{}: {word}", number + 1)));
    }
    found
}

#[test]
fn no_rule_about_chat_in_swift_or_kotlin() {
    assert_eq!(protocol("val kind = 30078\n// kind 40002 is fine here\nif (tag[0] == \"h\") {}").len(), 2);
    assert_eq!(protocol("val ms = 130078\nval t = 1.40002\ncolor(0x39000)"), Vec::<String>::new());
    let mut faults = vec![];
    for folder in ["bindings/swift", "bindings/kotlin", "bindings/docs", "ios", "android"] {
        for path in sources(&root().join(folder)) {
            let text = fs::read_to_string(&path).unwrap();
            let name = path.strip_prefix(root()).unwrap().display().to_string();
            faults.extend(protocol(&text).into_iter().map(|fault| format!("{name}:{fault}")));
        }
    }
    assert!(faults.is_empty(), "{} protocol words in apps:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn apps_stay_thin() {
    for app in ["ios", "android"] {
        let product = sources(&root().join(app)).into_iter().filter(|path| {
            let test = |part: &std::ffi::OsStr| {
                let part = part.to_string_lossy();
                part == "test" || part == "Tests" || part.ends_with("Tests") || part == "Declarations"
            };
            !path.iter().any(test)
        });
        let lines: usize = product.map(|path| fs::read_to_string(path).unwrap().lines().count()).sum();
        assert!(lines < APP_LINES, "{app} has {lines} lines of its own");
    }
}
