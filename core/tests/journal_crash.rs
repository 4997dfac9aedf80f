//! What was acknowledged survives a kill at any moment, and nothing is half there (E16, H6).
//!
//! The test starts itself as a child that saves one update after the other, each a channel mark with a message mark and the end of a
//! manual mark in one transaction, and prints a line when an update is acknowledged. The parent kills it: the child kills itself at
//! its n-th store effect, or the parent does after a random time. Then the journal is opened, and must hold either
//! exactly what was acknowledged or one update more, whole. `WAGGLE_CRASH_KILLS` sets how many kills (20).
#![allow(clippy::unwrap_used, reason = "a test")]
#![cfg(unix)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use waggle::entropy::Entropy;
use waggle::error::StorageKind;
use waggle::ids::{ChannelId, EventId, PublicKey, SlotId};
use waggle::journal::{Fresh, Key, LocalKey, Mark, Mutation, NoFacts, Read, Record};
use waggle::store::journal::{Cancel, Effect, Hooks, JournalStore as _, NoHooks, Partition, SqliteJournal};

/// Journal file of the child; set only in a child.
const FILE: &str = "WAGGLE_CRASH_FILE";
/// The child's store effect at which it kills itself; 0 = never.
const EFFECT: &str = "WAGGLE_CRASH_EFFECT";

/// Kills its own process at an effect, with nothing run on the way out.
struct KillAt(AtomicU64);

impl Hooks for KillAt {
    fn at(&self, _: Effect) -> Result<(), StorageKind> {
        if self.0.fetch_sub(1, Ordering::SeqCst) == 1 {
            let _ = Command::new("kill").args(["-KILL", &std::process::id().to_string()]).status();
            // The signal is on its way; nothing further may happen to the store.
            loop {
                std::thread::park();
            }
        }
        Ok(())
    }
}

fn open(path: &Path, hooks: Arc<dyn Hooks>) -> SqliteJournal {
    let partition = Partition { host: "hive.example".into(), account: PublicKey([7; 32]) };
    let fresh = Fresh { slot: SlotId([1; 16]), client_id: "client".into() };
    SqliteJournal::open(path, partition, fresh, hooks).unwrap()
}

fn event(n: u32) -> EventId {
    let mut bytes = [0u8; 32];
    bytes[..4].copy_from_slice(&n.to_be_bytes());
    EventId(bytes)
}

fn channel() -> ChannelId {
    ChannelId([5; 16])
}

/// Update `n`, after which three things must have changed together.
fn update(n: u32) -> [Mutation; 2] {
    let marks = vec![Mark::always(Key::Activity(channel()), n.into()), Mark::always(Key::Message(event(n)), n.into())];
    let clear = vec![LocalKey::Message(event(n))];
    let read = Mutation::Read(Read { marks, clear, ..Read::default() });
    [Mutation::MarkUnread(LocalKey::Message(event(n))), read]
}

/// How many of the mutations are in, or a panic if one is there in part.
fn count_whole(record: &Record) -> u32 {
    let reads = record.frontier(&Key::Activity(channel())).unwrap_or(0);
    for n in 1..=reads {
        assert_eq!(record.frontier(&Key::Message(event(n))), Some(n), "half an update");
        assert_eq!(record.local_mark(&LocalKey::Message(event(n))), None, "half an update");
    }
    assert_eq!(record.frontier(&Key::Message(event(reads + 1))), None, "half an update");
    let marked = u32::from(record.local_mark(&LocalKey::Message(event(reads + 1))).is_some());
    assert_eq!(record.local_marks().count(), marked as usize, "half an update");
    assert_eq!(record.revision(), u64::from(2 * reads + marked), "one revision an update");
    2 * reads + marked
}

/// Not a test of its own: does nothing unless a parent started it.
#[test]
fn journal_crash_child() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let at = std::env::var(EFFECT).unwrap().parse().unwrap();
    let mut store = open(Path::new(&file), Arc::new(KillAt(AtomicU64::new(at))));
    let mut done = count_whole(store.record());
    store.tidy().unwrap();
    let mut out = std::io::stdout();
    writeln!(out, "\nready").unwrap();
    // Few enough that nothing is evicted before the journal starts anew; then only the parent's kill is waited for.
    for _ in 0..400 {
        let mutation = &update(done / 2 + 1)[(done % 2) as usize];
        store.update(mutation, &NoFacts, &Cancel::new()).unwrap();
        done += 1;
        writeln!(out, "saved {done}").unwrap();
        out.flush().unwrap();
        // As the session does once the answer is out; its effects are among those a kill falls on.
        store.tidy().unwrap();
    }
    loop {
        std::thread::park();
    }
}

fn spawn(path: &Path, effect: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "journal_crash_child", "--nocapture"])
        .env(FILE, path)
        .env(EFFECT, effect.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Runs a child until it is dead and returns how much it had acknowledged.
fn run_to_death(path: &Path, effect: u64, after: Option<Duration>) -> Option<u32> {
    let mut child = spawn(path, effect);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let reader = std::thread::spawn(move || {
        let mut last = None;
        for line in lines.map_while(Result::ok) {
            if let Some(n) = line.strip_prefix("saved ") {
                last = n.parse().ok();
            }
        }
        last
    });
    if let Some(after) = after {
        std::thread::sleep(after);
        child.kill().unwrap();
    }
    let status = child.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9), "the child died of the kill");
    reader.join().unwrap()
}

fn check(path: &Path) -> u32 {
    let mut store = open(path, Arc::new(NoHooks));
    let whole = count_whole(store.record());
    store.close().unwrap();
    whole
}

/// Looks at a copy, so that the next child meets the files as the kill left them.
fn check_copy(path: &Path) -> u32 {
    let dir = tempfile::tempdir().unwrap();
    for name in ["journal.sqlite", "journal.sqlite-wal"] {
        let from = path.with_file_name(name);
        if from.exists() {
            std::fs::copy(from, dir.path().join(name)).unwrap();
        }
    }
    check(&dir.path().join("journal.sqlite"))
}

#[test]
fn every_acknowledged_update_survives_a_kill() {
    let kills: u64 = std::env::var("WAGGLE_CRASH_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.sqlite");
    let mut entropy = Entropy::from_seed(kills);
    let mut before = 0;
    for kill in 0..kills {
        // Two of three at an effect, walking through all of them; the third at a random time. When effects are counted from
        // a fresh file, those of its creation are among them.
        let (effect, after) = match kill % 3 {
            2 => (0, Some(Duration::from_millis(20 + entropy.below(120)))),
            _ => (1 + kill % 23, None),
        };
        if kill % 10 == 9 {
            std::fs::remove_dir_all(dir.path()).unwrap();
            std::fs::create_dir(dir.path()).unwrap();
            before = 0;
        }
        let acknowledged = run_to_death(&path, effect, after).unwrap_or(before);
        let whole = if kill % 2 == 0 { check(&path) } else { check_copy(&path) };
        assert!(
            whole == acknowledged || whole == acknowledged + 1,
            "kill {kill}: {acknowledged} acknowledged, {whole} there"
        );
        before = whole;
    }
}
