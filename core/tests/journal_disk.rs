//! What the journal writes, exactly, and what happens when any of it fails (P11, H6; `unread.md` 8.1).
#![allow(clippy::unwrap_used, reason = "a test")]
#![cfg(unix)]

mod disk;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use disk::{Disk, Written};
use rusqlite::ffi;
use waggle::error::{Error, StorageKind};
use waggle::ids::{ChannelId, EventId, PublicKey, SlotId};
use waggle::journal::{Fresh, Key, LocalKey, Mark, Mutation, NoFacts, Read, Record};
use waggle::store::journal::{Cancel, Effect, Hooks, JournalStore as _, NoHooks, Partition, Saved, SqliteJournal};

fn open_with(path: &Path, hooks: Arc<dyn Hooks>) -> Result<SqliteJournal, Error> {
    let partition = Partition { host: "hive.example".into(), account: PublicKey([7; 32]) };
    let fresh = Fresh { slot: SlotId([1; 16]), client_id: "client".into() };
    SqliteJournal::open(path, partition, fresh, hooks)
}

fn open(path: &Path) -> SqliteJournal {
    open_with(path, Arc::new(NoHooks)).unwrap()
}

fn channel(n: u32) -> ChannelId {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&n.wrapping_mul(0x9e37_79b9).to_be_bytes());
    ChannelId(bytes)
}

fn event(n: u32) -> EventId {
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&n.to_be_bytes());
    EventId(bytes)
}

fn read(key: Key, second: u32) -> Mutation {
    Mutation::Read(Read { marks: vec![Mark::always(key, second.into())], ..Read::default() })
}

fn update(store: &mut SqliteJournal, mutation: &Mutation) -> Result<Saved, Error> {
    store.update(mutation, &NoFacts, &Cancel::new())
}

/// P11: one sync and at most 16 KiB for a mark, into room that was on the disk before; nothing at all for what is already read.
#[test]
fn p11_one_mark_is_one_sync_of_a_few_pages() {
    let disk = Disk::take();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.sqlite");
    let log = || std::fs::metadata(path.with_file_name("journal.sqlite-wal")).unwrap().len();
    let mut store = open(&path);
    store.tidy().unwrap();
    let length = log();
    let mut usual = Vec::new();
    for n in 0..600 {
        // New keys split pages now and then; later ones are known.
        let (saved, written) = disk.measure(|| update(&mut store, &read(Key::Channel(channel(n % 400)), 1 + n)));
        assert!(matches!(saved, Ok(Saved::Changed(_))));
        assert_eq!(written.syncs, 1, "mark {n}");
        assert!(written.bytes <= 16 << 10, "mark {n}: {} bytes", written.bytes);
        usual.push(written.bytes);
        let (again, nothing) = disk.measure(|| update(&mut store, &Mutation::ClearUnread(vec![])));
        assert_eq!((again, nothing), (Ok(Saved::Unchanged), Written { bytes: 0, syncs: 0 }));
        let known = Mark::unless_read(Key::Channel(channel(n % 400)), u64::from(n), []);
        let known = Mutation::Read(Read { marks: vec![known], ..Read::default() });
        let (again, nothing) = disk.measure(|| update(&mut store, &known));
        assert_eq!((again, nothing), (Ok(Saved::Unchanged), Written { bytes: 0, syncs: 0 }), "already read");
        let (polled, nothing) = disk.measure(|| store.poll_changes());
        assert_eq!((polled.unwrap(), nothing.bytes), (None, 0));
        store.tidy().unwrap();
        assert_eq!(log(), length, "the log does not grow");
    }
    usual.sort_unstable();
    assert!(usual[300] <= 5 << 10, "two pages: {}", usual[300]);
    let (_, nothing) = disk.measure(|| store.tidy());
    assert_eq!(nothing, Written { bytes: 0, syncs: 0 }, "tidying a tidy log");
    store.close().unwrap();
}

/// The promise rests on a sync that leaves the file's times alone. `.cargo/config.toml` asks for it, of the build of SQLite as of this one.
#[test]
fn sqlite_is_built_with_fdatasync() {
    let mut flags = option_env!("LIBSQLITE3_FLAGS").unwrap_or_default().split_whitespace();
    assert!(flags.any(|flag| flag == "-DHAVE_FDATASYNC=1"), "built without the project's settings");
}

/// Statements that write, by mutation: the partition's revision and the row itself.
#[test]
fn statements_of_a_mutation() {
    #[derive(Default)]
    struct Rows(AtomicU32);
    impl Hooks for Rows {
        fn at(&self, effect: Effect) -> Result<(), StorageKind> {
            self.0.fetch_add(u32::from(effect == Effect::Row), Ordering::SeqCst);
            Ok(())
        }
    }
    let _disk = Disk::take();
    let dir = tempfile::tempdir().unwrap();
    let rows = Arc::new(Rows::default());
    let mut store = open_with(&dir.path().join("journal.sqlite"), rows.clone()).unwrap();
    update(&mut store, &read(Key::Channel(channel(0)), 1)).unwrap();
    let mut statements = |mutation: &Mutation| {
        let before = rows.0.load(Ordering::SeqCst);
        update(&mut store, mutation).unwrap();
        rows.0.load(Ordering::SeqCst) - before
    };
    let force = LocalKey::Message(event(9));
    assert_eq!(statements(&read(Key::Channel(channel(1)), 5)), 2);
    assert_eq!(statements(&read(Key::Channel(channel(1)), 6)), 2);
    assert_eq!(statements(&Mutation::MarkUnread(force)), 2);
    assert_eq!(statements(&Mutation::MarkUnread(force)), 0);
    assert_eq!(statements(&Mutation::ClearUnread(vec![force])), 2);
    let marks = (0..10).map(|n| Mark::always(Key::Message(event(n)), 7)).collect();
    assert_eq!(statements(&Mutation::Read(Read { marks, ..Read::default() })), 11);
}

/// How many updates are in; a panic if one is there in part. Update `n` reads a message and a channel through `n` seconds.
fn count_whole(record: &Record) -> u32 {
    let reads = record.frontier(&Key::Activity(channel(0))).unwrap_or(0);
    for n in 1..=reads {
        assert_eq!(record.frontier(&Key::Message(event(n))), Some(n), "half an update");
    }
    assert_eq!(record.frontier(&Key::Message(event(reads + 1))), None, "half an update");
    assert_eq!(record.revision(), u64::from(reads), "one revision an update");
    reads
}

fn both(n: u32) -> Mutation {
    let marks = vec![Mark::always(Key::Activity(channel(0)), n.into()), Mark::always(Key::Message(event(n)), n.into())];
    Mutation::Read(Read { marks, ..Read::default() })
}

/// Updates, with some of them tidied after, until enough are in or nothing works any more. What was acknowledged.
fn live(path: &Path) -> u32 {
    let Ok(mut store) = open_with(path, Arc::new(NoHooks)) else { return 0 };
    let mut saved = count_whole(store.record());
    let _ = store.tidy();
    for attempt in 0..12 {
        let before = store.record().clone();
        match update(&mut store, &both(saved + 1)) {
            Ok(_) => saved += 1,
            Err(error) => {
                assert!(matches!(error, Error::Storage { kind: StorageKind::Full | StorageKind::Io }), "{error:?}");
                assert_eq!(*store.record(), before, "a failed update leaves nothing in memory");
            }
        }
        assert_eq!(count_whole(store.record()), saved);
        if attempt % 4 == 3 {
            let _ = store.tidy();
        }
    }
    let _ = store.close();
    saved
}

/// A full disk or an I/O error at every single write, cut and sync, once and from there on: every acknowledged update is there, nothing
/// half is, and a disk that works again is used again.
#[test]
fn every_write_may_fail() {
    let disk = Disk::take();
    for (code, forever) in [
        (ffi::SQLITE_FULL, false),
        (ffi::SQLITE_FULL, true),
        (ffi::SQLITE_IOERR_WRITE, false),
        (ffi::SQLITE_IOERR_WRITE, true),
    ] {
        let mut places = 0;
        for skip in 0.. {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("journal.sqlite");
            disk.fail(skip, forever, code);
            let acknowledged = live(&path);
            if !disk.mend() {
                assert_eq!(acknowledged, 12, "without a fault");
                break;
            }
            places += 1;
            let mut store = open(&path);
            let whole = count_whole(store.record());
            // A sync that failed may have reached the disk all the same.
            assert!(
                whole == acknowledged || whole == acknowledged + 1,
                "{skip}: {acknowledged} acknowledged, {whole} there"
            );
            update(&mut store, &both(whole + 1)).unwrap();
            assert_eq!(count_whole(store.record()), whole + 1, "the disk works again");
            store.close().unwrap();
        }
        assert!(places > 40, "{places} places to fail at");
    }
}
