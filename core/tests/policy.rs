//! Rules about the sources of `core` that no compiler holds: which room may know which, where time and randomness come from,
//! what may be logged, and how large things get.
//!
//! Each rule is a function from a source file to its violations. It is run over every file of `core/src`, and over a sample
//! that breaks it, so a rule that stopped finding anything fails too. Sources are looked at *masked*: comments and the inside
//! of literals are blanked, so a word in a text breaks no rule. Test code (items and modules under `#[cfg(test)]`) is exempt
//! where a rule says so.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

// ---------------------------------------------------------------------------------------------------------------- the rules

/// Rooms that know nothing above themselves; every room may use them.
const BASE: [&str; 8] = ["ids", "idmap", "object", "order", "limits", "clock", "entropy", "error"];

/// What each room may know, beside the base, and through it whatever that may know (`ARCHITECTURE.md`, "Rooms of core").
const ARROWS: [(&str, &[&str]); 18] = [
    ("model", &[]),
    ("event", &[]),
    ("request", &["event"]),
    ("directory", &["request", "model"]),
    ("window", &["request", "model"]),
    ("evidence", &["request", "model"]),
    ("relevance", &["evidence"]),
    ("journal", &["request", "model"]),
    ("read_state", &["journal"]),
    ("unread", &["relevance", "journal"]),
    ("reading", &["unread"]),
    ("timeline", &["unread", "window"]),
    ("sidebar", &["unread", "window"]),
    ("identity", &["event"]),
    ("store", &["event", "journal"]),
    ("relay", &["request", "identity", "model"]),
    ("engine", &["directory", "read_state", "reading", "timeline", "sidebar", "relay", "store"]),
    ("session", &["engine", "store", "relay", "identity"]),
];

/// Rooms that do input and output. All others are sans-IO.
const WITH_IO: [&str; 6] = ["session", "store", "relay", "identity", "clock", "entropy"];

/// Words that read a clock or ask for randomness; only `clock` and `entropy` may.
const AMBIENT: [&str; 11] = [
    "SystemTime::now",
    "Instant::now",
    "Utc::now",
    "getrandom",
    "thread_rng",
    "rand::rng",
    "rand::random",
    "OsRng",
    "from_os_rng",
    "new_v4",
    "RandomState",
];

/// Words of input, output and scheduling.
const IO: [&str; 12] = [
    "async fn",
    "async move",
    ".await",
    "tokio::",
    "std::fs",
    "std::net",
    "std::thread",
    "std::process",
    "std::env",
    "rusqlite::",
    "reqwest::",
    "tokio_tungstenite",
];

/// Ways to panic on purpose.
const PANICS: [&str; 7] =
    [".unwrap()", ".expect(", ".unwrap_err()", "panic!(", "unreachable!(", "todo!(", "unimplemented!("];

/// Names a log line may carry: shapes, never values (`error` is an [`waggle::error::Error`] or one of its parts, which carry
/// no content, id, key or host).
const LOGGED: [&str; 34] = [
    "accounts", "age_s", "attempt", "attempts", "bytes", "cached", "capacity", "channels", "code", "count", "dialect",
    "dropped", "error", "events", "held", "kind", "kinds", "ms", "pages", "pending", "phase", "priority", "purpose",
    "reason", "rejected", "requests", "rows", "seconds", "skew", "state", "status", "task", "version", "wait_ms",
];

const FILE_LINES: usize = 800;
const FUNCTION_LINES: usize = 60;

fn arrows(file: &Source) -> Vec<String> {
    let table: BTreeMap<&str, &[&str]> = ARROWS.into_iter().chain(BASE.map(|room| (room, &[] as &[&str]))).collect();
    let room = file.room();
    if room == "lib" || file.test {
        return vec![];
    }
    if !table.contains_key(room) {
        return vec![file.at(0, "the room is not in the table of arrows")];
    }
    let mut known: BTreeSet<&str> = BASE.into_iter().chain([room]).collect();
    let mut open: Vec<&str> = table[room].to_vec();
    while let Some(next) = open.pop() {
        if known.insert(next) {
            open.extend(table[next]);
        }
    }
    file.crate_paths()
        .into_iter()
        .filter(|(_, target)| table.contains_key(target.as_str()) && !known.contains(target.as_str()))
        .map(|(at, target)| file.at(at, &format!("{room} may not know {target}")))
        .collect()
}

fn ambient(file: &Source) -> Vec<String> {
    if ["clock", "entropy"].contains(&file.room()) { vec![] } else { file.find(&file.product, &AMBIENT) }
}

fn io(file: &Source) -> Vec<String> {
    if WITH_IO.contains(&file.room()) { vec![] } else { file.find(&file.product, &IO) }
}

fn panics(file: &Source) -> Vec<String> {
    file.find(&file.product, &PANICS)
}

fn sizes(file: &Source) -> Vec<String> {
    let mut found = vec![];
    let lines = file.text.lines().count();
    if lines >= FILE_LINES {
        found.push(file.at(0, &format!("{lines} lines in one file")));
    }
    for (at, name) in words_after(&file.product, "fn ") {
        let Some(body) = body_of(&file.product, at) else { continue };
        let lines = file.product[at..body].matches('\n').count() + 1;
        if lines > FUNCTION_LINES {
            found.push(file.at(at, &format!("fn {name} has {lines} lines")));
        }
    }
    found
}

fn module_docs(file: &Source) -> Vec<String> {
    let opening = file.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    if file.test || opening.starts_with("//! ") {
        vec![]
    } else {
        vec![file.at(0, "the module does not open with //!")]
    }
}

/// Log lines name only allow-listed fields, and interpolate nothing else.
fn logs(file: &Source) -> Vec<String> {
    const MACROS: [&str; 12] = [
        "trace!(",
        "debug!(",
        "info!(",
        "warn!(",
        "error!(",
        "event!(",
        "span!(",
        "trace_span!(",
        "debug_span!(",
        "info_span!(",
        "warn_span!(",
        "error_span!(",
    ];
    let mut found = vec![];
    for name in MACROS {
        for (at, _) in file.product.match_indices(name) {
            let before = file.product[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
                continue;
            }
            let start = at + name.len();
            let end = closing(&file.product, start - 1).unwrap_or(file.product.len());
            for fault in log_faults(&file.product[start..end], &file.text[start..end]) {
                found.push(file.at(at, &fault));
            }
        }
    }
    if !["lib"].contains(&file.room()) && file.product.contains("#[instrument") {
        found.push(file.at(0, "#[instrument] records arguments"));
    }
    found
}

/// What is wrong with the arguments of one log macro; `code` is masked, `text` is as written.
fn log_faults(code: &str, text: &str) -> Vec<String> {
    let allowed = |name: &str| LOGGED.contains(&name);
    let mut faults = vec![];
    let mut from = 0;
    for part in split_top(code) {
        let raw = &text[from..from + part.len()];
        from += part.len() + 1;
        let (part, raw) = (part.trim(), raw.trim());
        if part.is_empty() {
            continue;
        }
        if raw.starts_with('"') {
            faults.extend(interpolated(raw).filter(|n| !allowed(n)).map(|n| format!("the message shows `{n}`")));
            continue;
        }
        let (name, value) = part.split_once('=').map_or((part, None), |(n, v)| (n.trim(), Some(v.trim())));
        if name.starts_with("target:") || name.starts_with("Level::") || name.starts_with("tracing::Level") {
            continue;
        }
        let bare = name.trim_start_matches(['%', '?']).trim();
        if !allowed(bare) {
            faults.push(format!("field `{bare}` is not on the list"));
        }
        // A listed name must not smuggle a displayed value of another sort; `error`, `kind` and the like may be displayed.
        let shown = value.filter(|v| v.starts_with(['%', '?']));
        if shown.is_some()
            && !["error", "kind", "phase", "priority", "purpose", "reason", "state", "dialect"].contains(&bare)
        {
            faults.push(format!("field `{bare}` displays a value"));
        }
    }
    faults
}

/// Names in the braces of a format string; an empty brace is `{}`.
fn interpolated(literal: &str) -> impl Iterator<Item = String> {
    let plain = literal.replace("{{", "").replace("}}", "");
    let mut names = vec![];
    for piece in plain.split('{').skip(1) {
        let inside = piece.split('}').next().unwrap_or_default();
        let name = inside.split(':').next().unwrap_or_default().trim();
        names.push(if name.is_empty() { "{}".to_owned() } else { name.to_owned() });
    }
    names.into_iter()
}

/// Types that hold text and may show it: sentences of the core's own.
const SHOWN: [&str; 1] = ["Connectivity"];

/// A type that holds text or bytes of its own does not derive `Debug`, which would show them. Types made of other types are safe with
/// them.
fn debug_shows_shapes(file: &Source) -> Vec<String> {
    const HELD: [&str; 8] = ["String", "str", "Vec<u8>", "[u8", "Cow", "Value", "RawValue", "Map<String"];
    let mut found = vec![];
    for (at, _) in file.product.match_indices("#[derive(") {
        let open = at + "#[derive".len();
        let Some(end) = closing(&file.product, open) else { continue };
        if !split_top(&file.product[open + 1..end]).iter().any(|name| name.trim() == "Debug") {
            continue;
        }
        let rest = &file.product[end..];
        let item = ["struct ", "enum "].iter().filter_map(|word| words_after(rest, word).next()).min();
        let Some((start, name)) = item else { continue };
        let body = rest[start..].find(['{', '(', ';']).map_or(start, |i| start + i);
        let body = &rest[body..closing(rest, body).unwrap_or(body)];
        let text = body.replace("&'static str", "");
        if !SHOWN.contains(&name.as_str()) && HELD.iter().any(|word| has_word(&text, word)) {
            found.push(file.at(at, &format!("{name} derives Debug and holds text")));
        }
    }
    found
}

/// Whether the word stands in the code as a word of its own.
fn has_word(code: &str, word: &str) -> bool {
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| {
        !(code[..at].ends_with(letter) || word.ends_with(letter) && code[at + word.len()..].starts_with(letter))
    })
}

/// Only `identity` holds keys and signs, and it signs in one place: whatever is signed is an `Unsigned`.
fn signing(file: &Source) -> Vec<String> {
    const KEYS: [&str; 5] = ["sign_schnorr", "sign_schnorr_no_aux_rand", "SecretKey", "Keypair", "SigningKey"];
    if file.room() == "identity" {
        let places = file.find(&file.product, &KEYS[..2]);
        return if file.name == "identity/signer.rs" { places.into_iter().skip(1).collect() } else { places };
    }
    file.find(&file.product, &KEYS)
}

// ---------------------------------------------------------------------------------------------------------------- the tests

#[test]
fn rooms_know_only_what_lies_below() {
    hold(arrows, "window/mod.rs", "//! x\nuse crate::unread::Unread;", "window may not know unread");
    let grouped = "//! x\nuse crate::{ids::EventId, reading::{Lease, self}, error};";
    hold(arrows, "evidence/deep/mod.rs", grouped, "evidence may not know reading");
    hold(arrows, "event/kinds.rs", "//! x\nuse super::super::engine::Engine;", "event may not know engine");
    hold(arrows, "cellar.rs", "//! x\n", "not in the table");
    let fine = "//! x\nuse crate::journal::Journal; use super::super::order; // crate::engine\n#[cfg(test)] use crate::engine::E;";
    assert_eq!(arrows(&Source::sample("unread/x.rs", fine)), Vec::<String>::new());
    for (room, _) in ARROWS {
        let place = Path::new(&sources()).join(room);
        assert!(place.is_dir() || place.with_extension("rs").is_file(), "{room} is in the table, but not in the house");
    }
}

#[test]
fn time_and_randomness_are_arguments() {
    hold(ambient, "engine/mod.rs", "//! x\nfn f() { let t = std::time::Instant::now(); }", "Instant::now");
    hold(ambient, "session/mod.rs", "//! x\nfn f() { getrandom::fill(&mut b); }", "getrandom");
    assert!(ambient(&Source::sample("clock.rs", "//! x\nfn f() { Instant::now(); }")).is_empty());
}

#[test]
fn rooms_above_session_do_no_io() {
    hold(io, "unread/mod.rs", "//! x\nasync fn f() {}", "async fn");
    hold(io, "journal/mod.rs", "//! x\nuse std::fs::File;", "std::fs");
    assert!(io(&Source::sample("store/mod.rs", "//! x\nuse std::fs::File;")).is_empty());
    assert!(
        io(&Source::sample("journal/x.rs", "//! async fn\nconst X: &str = \"std::fs\"; fn f() { self.awaited; }"))
            .is_empty()
    );
}

#[test]
fn nothing_panics_on_purpose() {
    hold(panics, "window/mod.rs", "//! x\nfn f() { x.unwrap(); }", ".unwrap()");
    hold(panics, "window/mod.rs", "//! x\nfn f() { x.expect(\"y\"); }", ".expect(");
    let tested =
        "//! x\n#[cfg(test)]\nmod tests { fn f() { x.unwrap(); } }\n#[expect(dead_code)] fn g() { x.unwrap_or(1); }";
    assert!(panics(&Source::sample("window/mod.rs", tested)).is_empty());
}

#[test]
fn files_and_functions_stay_small() {
    hold(sizes, "window/mod.rs", &"//! x\n".repeat(FILE_LINES), "lines in one file");
    let long = format!("//! x\nfn f(a: fn() -> u8) {{\n{}}}\n", "    g();\n".repeat(FUNCTION_LINES));
    hold(sizes, "window/mod.rs", &long, "fn f has");
    let short = format!("//! x\nfn f() {{\n{}}}\ntrait T {{ fn g(); }}\n", "    g();\n".repeat(FUNCTION_LINES - 2));
    assert!(sizes(&Source::sample("window/mod.rs", &short)).is_empty());
}

#[test]
fn modules_open_with_their_story() {
    hold(module_docs, "window/mod.rs", "use x;\n//! late", "does not open");
}

#[test]
fn logs_carry_shapes_only() {
    for (line, fault) in [
        ("tracing::info!(channel = %id, \"opened\")", "`channel` is not on the list"),
        ("tracing::debug!(%pubkey)", "`pubkey` is not on the list"),
        ("tracing::warn!(rows = ?rows, \"page\")", "`rows` displays a value"),
        ("warn!(count, \"from {host}\")", "the message shows `host`"),
        ("tracing::error!(\"failed: {}\", content)", "the message shows `{}`"),
        ("tracing::info!(target: \"x\", url = url.len())", "`url` is not on the list"),
        ("tracing::info_span!(\"sync\", event_id)", "`event_id` is not on the list"),
    ] {
        hold(logs, "session/mod.rs", &format!("//! x\nfn f() {{ {line}; }}"), fault);
    }
    for line in [
        "tracing::info!(rows = page.rows.len(), ms, \"page {{}} accepted\")",
        "tracing::warn!(error = %why, attempt = n + 1, purpose = ?purpose, \"failed, {attempt}\")",
        "tracing::event!(tracing::Level::INFO, count = f(a, b))",
        "debug_info!(secret)",
    ] {
        let sample = Source::sample("session/mod.rs", &format!("//! x\nfn f() {{ {line}; }}"));
        assert_eq!(logs(&sample), Vec::<String>::new(), "{line}");
    }
    hold(logs, "session/mod.rs", "//! x\n#[instrument(skip(x))]\nfn f() {}", "#[instrument]");
}

#[test]
fn debug_renderings_show_shapes() {
    for (item, held) in [
        ("#[derive(Clone, Debug)]\npub struct Row {\n    text: String,\n}", "Row"),
        ("#[derive(Debug)] #[serde(x)] pub enum Frame { Text(String), Ping }", "Frame"),
        ("#[derive(Debug)]\nstruct Key([u8; 32]);", "Key"),
        ("#[derive(Debug)]\nstruct Body<'a> { raw: Cow<'a, str> }", "Body"),
        ("#[derive(Debug)]\nstruct Slice<'a>(&'a str);", "Slice"),
    ] {
        hold(debug_shows_shapes, "model.rs", &format!("//! x\n{item}"), &format!("{held} derives Debug"));
    }
    let fine = "//! x\n#[derive(Debug)] struct A { what: &'static str, n: u8, ids: Vec<EventId> }\n#[derive(Clone)] struct B(String);";
    assert_eq!(debug_shows_shapes(&Source::sample("model.rs", fine)), Vec::<String>::new());
}

#[test]
fn only_identity_signs_and_in_one_place() {
    hold(signing, "engine/mod.rs", "//! x\nfn f() { k.sign_schnorr(&id, &pair); }", "sign_schnorr");
    hold(signing, "session/x.rs", "//! x\nuse secp256k1::Keypair;", "Keypair");
    hold(
        signing,
        "identity/cipher.rs",
        "//! x\nfn f() { k.sign_schnorr_no_aux_rand(&id, &pair); }",
        "sign_schnorr_no_aux_rand",
    );
    let signer = files().into_iter().find(|f| f.name == "identity/signer.rs").unwrap();
    assert_eq!(signer.find(&signer.product, &["sign_schnorr_no_aux_rand", "sign_schnorr"]).len(), 1);
}

#[test]
fn unsafe_code_is_forbidden() {
    let lib = fs::read_to_string(sources().join("lib.rs")).unwrap();
    assert!(lib.lines().any(|line| line.trim() == "#![forbid(unsafe_code)]"));
}

/// Bindings log, panic and grow by the same rules, and know the core's doors only: no room that decides about chat.
#[test]
fn bindings_keep_the_rules_and_know_no_chat() {
    let doors = ["clock", "error", "event", "identity", "ids", "limits", "model", "relay", "session", "sidebar"];
    let behind = |file: &Source| -> Vec<String> {
        let used = words_after(&file.product, "waggle::").filter(|(_, room)| !doors.contains(&room.as_str()));
        used.map(|(at, room)| file.at(at, &format!("bindings may not know {room}"))).collect()
    };
    let sample = Source::sample("x.rs", "//! x\nuse waggle::unread::Facts;");
    assert_eq!(behind(&sample).len(), 1);
    let bindings = files_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../bindings/src"));
    assert!(bindings.len() > 5, "the bindings were not found");
    let rules = [ambient, panics, sizes, module_docs, logs];
    let shared = |file| rules.iter().flat_map(move |rule| rule(file));
    let all: Vec<_> = bindings.iter().flat_map(|file| shared(file).chain(behind(file))).collect();
    assert!(all.is_empty(), "in bindings/src, {} violations:\n{}", all.len(), all.join("\n"));
}

/// The scanner itself: what it blanks, and what it leaves.
#[test]
fn masking_blanks_text_and_keeps_code() {
    let text = "a /* x /* y */ z */ b // c\n\"d\\\"e\" r#\"f\"g\"# b'\\'' 'h' '\\u{1}' <'life> x'y";
    let masked = mask(text);
    assert_eq!(masked.len(), text.len());
    let words: Vec<_> = masked.split_whitespace().collect();
    assert_eq!(words.join(" "), "a b \" \" r#\" \"# b' ' ' ' ' ' <'life> x'y");
    let code = "fn a() {}\n#[cfg(test)]\n#[allow(x)]\nmod tests { fn b() { c(); } }\nfn d() {}\n#[cfg(test)]\nuse e;\nfn g() {}";
    let kept = without_tests(code);
    assert!(kept.contains("fn a") && kept.contains("fn d") && kept.contains("fn g"));
    let declared = "#[cfg(test)]\npub(crate) mod a;\n#[cfg(test)]\n#[path = \"x_b.rs\"]\nmod b;\nmod c;\n#[cfg(test)]\nmod d { mod e; }";
    let found = test_modules(Path::new("src/x.rs"), declared);
    assert_eq!(found, ["src/x/a", "src/x_b"].map(PathBuf::from));
    assert!(!kept.contains("fn b") && !kept.contains("use e") && kept.len() == code.len());
}

// -------------------------------------------------------------------------------------------------------------- the scanner

/// Asserts that the rule finds `fault` in the sample, and nothing in the sources.
fn hold(rule: fn(&Source) -> Vec<String>, name: &str, sample: &str, fault: &str) {
    let found = rule(&Source::sample(name, sample));
    assert!(found.iter().any(|f| f.contains(fault)), "the rule does not find {fault:?}: {found:?}");
    let all: Vec<_> = files().iter().flat_map(rule).collect();
    assert!(all.is_empty(), "{} violations:\n{}", all.len(), all.join("\n"));
}

/// One source file.
struct Source {
    /// Path below `core/src`, with `/`.
    name: String,
    text: String,
    /// Masked, test code blanked too; as long as `text`.
    product: String,
    /// A module that only tests are compiled with.
    test: bool,
}

impl Source {
    fn new(name: String, text: String, test: bool) -> Self {
        let masked = mask(&text);
        let product = if test { blank(&masked, 0, masked.len()) } else { without_tests(&masked) };
        Self { name, text, product, test }
    }

    fn sample(name: &str, text: &str) -> Self {
        Self::new(name.into(), text.into(), false)
    }

    /// The room the file stands in.
    fn room(&self) -> &str {
        self.name.split('/').next().unwrap_or_default().trim_end_matches(".rs")
    }

    /// How deep below the crate its module is.
    fn depth(&self) -> usize {
        self.name.trim_end_matches(".rs").trim_end_matches("/mod").split('/').count()
    }

    fn at(&self, offset: usize, fault: &str) -> String {
        let line = self.text.as_bytes()[..offset].iter().filter(|b| **b == b'\n').count() + 1;
        format!("core/src/{}:{line}: {fault}", self.name)
    }

    /// Where these words stand; a word that begins or ends with a letter does so as a whole word.
    fn find(&self, code: &str, words: &[&str]) -> Vec<String> {
        let letter = |c: char| c.is_alphanumeric() || c == '_';
        let mut found = vec![];
        for word in words {
            for (at, _) in code.match_indices(word) {
                let longer = word.starts_with(letter) && code[..at].ends_with(letter)
                    || word.ends_with(letter) && code[at + word.len()..].starts_with(letter);
                if !longer {
                    found.push(self.at(at, word));
                }
            }
        }
        found
    }

    /// Every first segment after `crate::`, or after as many `super::` as lead to the crate, in product code.
    fn crate_paths(&self) -> Vec<(usize, String)> {
        let root = "super::".repeat(self.depth());
        let mut found = vec![];
        for prefix in ["crate::", &root] {
            for (at, _) in self.product.match_indices(prefix) {
                let before = &self.product[..at];
                if before.ends_with("::") || before.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
                    continue;
                }
                let rest = &self.product[at + prefix.len()..];
                if let Some(group) = rest.strip_prefix('{') {
                    let end = closing(rest, 0).map_or(group.len(), |e| e - 1);
                    found.extend(split_top(&group[..end.min(group.len())]).into_iter().map(|p| (at, ident(p.trim()))));
                } else {
                    found.push((at, ident(rest)));
                }
            }
        }
        found
    }
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// All files of `core/src`.
fn files() -> Vec<Source> {
    let read = files_below(&sources());
    assert!(read.len() >= BASE.len() + ARROWS.len(), "the sources were not found");
    read
}

/// All sources below a folder, those of test modules marked.
fn files_below(root: &Path) -> Vec<Source> {
    let mut paths = vec![];
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    let read: Vec<_> = paths.into_iter().map(|p| (p.clone(), fs::read_to_string(p).unwrap())).collect();
    let tests: Vec<PathBuf> = read.iter().flat_map(|(path, text)| test_modules(path, text)).collect();
    let name = |p: &Path| p.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/");
    read.into_iter()
        .map(|(path, text)| {
            let bare = path.with_extension("");
            let test = tests.iter().any(|t| bare == *t || path.starts_with(t));
            Source::new(name(&path), text, test)
        })
        .collect()
}

/// Modules declared under `#[cfg(test)]` in this file, as paths without extension.
fn test_modules(path: &Path, text: &str) -> Vec<PathBuf> {
    const UNDER_TEST: &str = "#[cfg(test)]";
    let here = path.parent().unwrap();
    let folder = match path.file_stem().and_then(|s| s.to_str()) {
        Some("mod" | "lib") => here.to_owned(),
        _ => path.with_extension(""),
    };
    let masked = mask(text);
    let declared = masked.match_indices(UNDER_TEST).filter_map(|(at, _)| {
        let from = at + UNDER_TEST.len();
        let item = &masked[from..from + masked[from..].find(';')?];
        let (_, name) = item.rsplit_once("mod ").filter(|_| !item.contains('{'))?;
        let written = &text[from..from + item.len()];
        let named = written.split_once("path = \"").and_then(|(_, rest)| rest.split('"').next());
        Some(named.map_or_else(|| folder.join(name.trim()), |file| here.join(file).with_extension("")))
    });
    declared.collect()
}

fn ident(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// Places where `word` stands as a word of its own, and the identifier after it.
fn words_after<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = (usize, String)> + 'a {
    code.match_indices(word).filter_map(move |(at, _)| {
        let own = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let name = ident(&code[at + word.len()..]);
        (own && !name.is_empty()).then_some((at, name))
    })
}

/// The end of the body of the function that starts at `at`; none when it has no body.
fn body_of(code: &str, at: usize) -> Option<usize> {
    let mut depth = 0i32;
    for (i, c) in code[at..].char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ';' if depth == 0 => return None,
            '{' if depth == 0 => return closing(code, at + i),
            _ => {}
        }
    }
    None
}

/// The offset of the bracket that closes the one at `open`.
fn closing(code: &str, open: usize) -> Option<usize> {
    let mut depth = 0i32;
    for (i, c) in code[open..].char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(open + i);
        }
    }
    None
}

/// Splits at commas outside all brackets.
fn split_top(code: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (vec![], 0i32, 0);
    for (i, c) in code.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&code[from..i]);
                from = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&code[from..]);
    parts
}

/// The text with everything between the offsets blanked, line breaks kept.
fn blank(text: &str, from: usize, to: usize) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for byte in &mut bytes[from..to] {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// Masked code without its items under `#[cfg(test)]`.
fn without_tests(masked: &str) -> String {
    let mut code = masked.to_owned();
    while let Some(at) = code.find("#[cfg(test)]") {
        let rest = at + "#[cfg(test)]".len();
        let stop = code[rest..].find(['{', ';']).map_or(code.len() - 1, |i| rest + i);
        let end = if code.as_bytes()[stop] == b'{' { closing(&code, stop).unwrap_or(code.len() - 1) } else { stop };
        code = blank(&code, at, end + 1);
    }
    code
}

/// Comments and the inside of literals blanked; as long as the text, so offsets stay.
fn mask(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let (inside, end) = literal(bytes, at);
        for byte in &mut out[inside.0..inside.1] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end;
    }
    String::from_utf8(out).unwrap()
}

/// What stands at `at`: the range to blank, and where to go on.
fn literal(bytes: &[u8], at: usize) -> ((usize, usize), usize) {
    let rest = &bytes[at..];
    let find = |needle: &[u8], from: usize| {
        bytes[from..].windows(needle.len()).position(|w| w == needle).map_or(bytes.len(), |i| from + i)
    };
    let word_before = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
    match rest[0] {
        b'/' if rest.starts_with(b"//") => {
            let end = find(b"\n", at);
            ((at, end), end)
        }
        b'/' if rest.starts_with(b"/*") => {
            let (mut depth, mut i) = (1, at + 2);
            while i < bytes.len() && depth > 0 {
                match &bytes[i..(i + 2).min(bytes.len())] {
                    b"/*" => (depth, i) = (depth + 1, i + 2),
                    b"*/" => (depth, i) = (depth - 1, i + 2),
                    _ => i += 1,
                }
            }
            ((at, i), i)
        }
        b'r' if !word_before || bytes[at - 1] == b'b' => {
            let hashes = rest[1..].iter().take_while(|b| **b == b'#').count();
            if rest.get(1 + hashes) != Some(&b'"') {
                return ((at, at), at + 1);
            }
            let start = at + hashes + 2;
            let end = find(&[&b"\""[..], &b"#".repeat(hashes)].concat(), start);
            ((start, end), (end + 1 + hashes).min(bytes.len()))
        }
        b'"' => {
            let end = end_quote(bytes, at + 1, b'"');
            ((at + 1, end), (end + 1).min(bytes.len()))
        }
        // A character, not a lifetime: an escape, or a quote right after one character. `x'` ends no literal.
        b'\'' if !word_before || bytes[at - 1] == b'b' => {
            let wide = rest.get(1).map_or(1, |b| if b.is_ascii() { 1 } else { b.leading_ones() as usize });
            if rest.get(1) == Some(&b'\\') || rest.get(1 + wide) == Some(&b'\'') {
                let end = end_quote(bytes, at + 1, b'\'');
                ((at + 1, end), (end + 1).min(bytes.len()))
            } else {
                ((at, at), at + 1)
            }
        }
        _ => ((at, at), at + 1),
    }
}

/// The next `quote` that is not escaped.
fn end_quote(bytes: &[u8], from: usize, quote: u8) -> usize {
    let mut i = from;
    while i < bytes.len() && bytes[i] != quote {
        i += if bytes[i] == b'\\' { 2 } else { 1 };
    }
    i.min(bytes.len())
}
