//! What only a file can show: damage, versions, other processes, and how much is written.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;

use super::tests::{a_bit_of_everything, channel, fresh, here, id, partition, read, room, save};
use super::*;
use crate::ids::SlotId;
use crate::journal::{Key, Mark, Place, Read};
use crate::testing::{Author, template};

fn file() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.sqlite");
    (dir, path)
}

fn open(path: &Path) -> Result<SqliteJournal, Error> {
    SqliteJournal::open(path, here(), fresh(1), Arc::new(NoHooks))
}

/// Name and bytes of all files beside the journal, but for an empty log and the index SQLite shares between processes.
fn contents(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|file| (file.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&file).unwrap()))
        .filter(|(name, bytes)| !name.ends_with("-shm") && (!name.ends_with("-wal") || !bytes.is_empty()))
        .collect()
}

fn filled(path: &Path) {
    let mut store = open(path).unwrap();
    for mutation in a_bit_of_everything() {
        save(&mut store, &mutation);
    }
    store.close().unwrap();
}

const CORRUPT: Error = Error::Storage { kind: StorageKind::Corrupt };

/// Opening fails with `error` and leaves every byte as it was.
#[track_caller]
fn refused(path: &Path, error: &Error) {
    let before = contents(path);
    assert_eq!(open(path).err().as_ref(), Some(error));
    let after = contents(path);
    assert!(before == after, "bytes changed: {:?} became {:?}", before.keys(), after.keys());
}

/// Closing is real: one file is left, and a lock file where somebody published.
#[test]
fn closing_leaves_one_file() {
    let (_dir, path) = file();
    filled(&path);
    assert_eq!(contents(&path).into_keys().collect::<Vec<_>>(), ["journal.sqlite"]);
    assert!(!path.with_file_name("journal.sqlite-shm").exists());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

/// E13, H3; `unread.md` 8.1, 13 rule 11: noise, a cut file, a damaged page, somebody else's database.
#[test]
fn a_damaged_file_is_an_error_and_stays_as_it_is() {
    let (_dir, path) = file();
    filled(&path);
    let good = fs::read(&path).unwrap();
    fs::write(&path, [b'n'; 5_000]).unwrap();
    refused(&path, &CORRUPT);
    fs::write(&path, &good[..good.len() / 2]).unwrap();
    refused(&path, &CORRUPT);
    fs::write(&path, &good[..10]).unwrap();
    refused(&path, &CORRUPT);
    let mut damaged = 0;
    for page in 1..good.len() / 2_048 {
        let mut bytes = good.clone();
        bytes[page * 2_048..page * 2_048 + 64].fill(0xa5);
        fs::write(&path, &bytes).unwrap();
        refused(&path, &CORRUPT);
        damaged += 1;
    }
    assert!(damaged > 10);
    fs::remove_file(&path).unwrap();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
    refused(&path, &CORRUPT);
    fs::write(&path, &good).unwrap();
    assert!(open(&path).is_ok());
}

/// The same when a log is left over from a crash: it is not written back into a damaged file.
#[test]
fn a_damaged_file_with_a_log_stays_as_it_is() {
    let (_dir, path) = file();
    filled(&path);
    let mut store = open(&path).unwrap();
    save(&mut store, &read(vec![(room(1), 99)]));
    let (main, log) = (fs::read(&path).unwrap(), fs::read(path.with_file_name("journal.sqlite-wal")).unwrap());
    let mut refusals = 0;
    for page in 1..main.len() / 2_048 {
        let (_dir, path) = file();
        let mut bytes = main.clone();
        bytes[page * 2_048..page * 2_048 + 64].fill(0xa5);
        fs::write(&path, &bytes).unwrap();
        fs::write(path.with_file_name("journal.sqlite-wal"), &log).unwrap();
        match open(&path) {
            Ok(store) => assert_eq!(store.record().frontier(&room(1)), Some(99), "the log has a newer page"),
            Err(error) => {
                assert_eq!(error, CORRUPT);
                refused(&path, &CORRUPT);
                assert!(fs::read(&path).unwrap() == bytes);
                refusals += 1;
            }
        }
    }
    assert!(refusals > 5);
}

/// `unread.md` 8.1: any violation in the record, of this partition alone.
#[test]
fn a_damaged_record_is_an_error_and_stays_as_it_is() {
    for damage in [
        "UPDATE mark SET value = -1 WHERE value IS NOT NULL",
        "UPDATE mark SET value = 4294967296 WHERE value IS NOT NULL",
        "UPDATE mark SET recent = 1000 WHERE value IS NOT NULL",
        "UPDATE mark SET home = 'nowhere' WHERE home IS NOT NULL",
        "INSERT INTO mark VALUES (1, '', 1, 0, 0, NULL, NULL, NULL)",
        "UPDATE partition SET revision = -1",
        "UPDATE partition SET accepted_revision = 1000",
        "UPDATE partition SET client_id = ''",
        "DELETE FROM slot",
        "UPDATE local_mark SET revision = 0",
        "UPDATE pending SET event = replace(event, 'sealed', 'forged')",
        "UPDATE pending SET revision = 1000",
        "UPDATE override SET baseline = -1",
    ] {
        let (_dir, path) = file();
        filled(&path);
        let connection = Connection::open(&path).unwrap();
        assert!(connection.execute(damage, []).unwrap() > 0, "{damage}");
        drop(connection);
        refused(&path, &CORRUPT);
        assert!(SqliteJournal::open(&path, partition("other.example", "me"), fresh(1), Arc::new(NoHooks)).is_ok());
    }
}

/// `unread.md` 8.8, row 8.16: that a key is in both sets, or that a home is no text, cannot even be stored.
#[test]
fn the_schema_refuses_what_it_can() {
    let (_dir, path) = file();
    filled(&path);
    let connection = Connection::open(&path).unwrap();
    let key = channel(1).to_string();
    let twice = "INSERT INTO mark VALUES (1, ?1, 1, 1, 0, NULL, NULL, NULL)";
    assert!(connection.execute(twice, [&key]).is_err());
    assert!(connection.execute("UPDATE mark SET home = x'00'", []).is_err());
    assert!(connection.execute("UPDATE mark SET value = 'soon'", []).is_err());
}

/// A pending event must be the viewer's own read state, whoever signed it (`unread.md` 8.1).
#[test]
fn a_pending_event_of_somebody_else_is_damage() {
    let d = format!("read-state:{}", SlotId([3; 16]));
    let by =
        |person: &str, kind, tags: &[&[&str]]| Author::named(person).sign(template(kind, 103, tags, "x")).to_json();
    for event in [
        by("ada", 30078, &[&["d", &d], &["t", "read-state"]]),
        by("me", 30079, &[&["d", &d], &["t", "read-state"]]),
        by("me", 30078, &[&["d", &d], &["d", &d], &["t", "read-state"]]),
        by("me", 30078, &[&["d", &d]]),
        by("me", 30078, &[&["d", "read-state:1"], &["t", "read-state"]]),
    ] {
        let (_dir, path) = file();
        filled(&path);
        Connection::open(&path).unwrap().execute("UPDATE pending SET event = ?1", [event]).unwrap();
        refused(&path, &CORRUPT);
    }
}

/// `unread.md` 10, rows 10.12 and 10.13: only follow choices are read leniently.
#[test]
fn a_malformed_follow_choice_is_skipped() {
    let (_dir, path) = file();
    filled(&path);
    Connection::open(&path).unwrap().execute_batch("INSERT INTO follow VALUES (1, 'bad', 'yes', 7, 9)").unwrap();
    assert_eq!(open(&path).unwrap().record().follows().len(), 1);
}

#[test]
fn a_newer_schema_is_an_error_and_stays_as_it_is() {
    let (_dir, path) = file();
    filled(&path);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 3).unwrap();
    refused(&path, &Error::Storage { kind: StorageKind::NewerVersion });
}

/// A process that died right after creating the file left nothing that hinders.
#[test]
fn an_empty_file_is_a_new_journal() {
    let (_dir, path) = file();
    fs::write(&path, b"").unwrap();
    assert_eq!(open(&path).unwrap().record().revision(), 0);
    let (_dir, path) = file();
    let connection = Connection::open(&path).unwrap();
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
    drop(connection);
    assert_eq!(open(&path).unwrap().record().revision(), 0);
}

/// H2: B waits while A holds the write lock for half a second.
#[test]
fn a_second_writer_waits() {
    let (_dir, path) = file();
    filled(&path);
    let mut store = open(&path).unwrap();
    let mut holder = Connection::open(&path).unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let transaction = holder.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
        tell.send(()).unwrap();
        std::thread::sleep(Duration::from_millis(500));
        transaction.commit().unwrap();
    });
    told.recv().unwrap();
    assert!(matches!(save(&mut store, &read(vec![(room(9), 5)])), Saved::Changed(_)));
    thread.join().unwrap();
}

/// Several threads, each a window of its own, never lose anything.
#[test]
fn many_windows_lose_nothing() {
    let (_dir, path) = file();
    let threads: Vec<_> = (0..4u32)
        .map(|thread| {
            let path = path.clone();
            std::thread::spawn(move || {
                let mut store = open(&path).unwrap();
                for n in 0..25 {
                    save(&mut store, &read(vec![(room(thread * 100 + n), n + 1)]));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let store = open(&path).unwrap();
    assert_eq!((store.record().rows().count(), store.record().revision()), (100, 100));
}

fn log_size(path: &Path) -> u64 {
    fs::metadata(path.with_file_name("journal.sqlite-wal")).unwrap().len()
}

/// P11, L4: at most 16 KiB for a durable mark, nothing for what is already read, nothing at idle.
#[test]
fn p11_bytes_written_for_one_mark() {
    let (_dir, path) = file();
    let mut store = open(&path).unwrap();
    let keys = |n: u32| {
        if n.is_multiple_of(2) {
            Key::Message(id(n.wrapping_mul(0x9e37_79b9)))
        } else {
            room(n.wrapping_mul(0x9e37_79b9))
        }
    };
    let mut sizes = Vec::new();
    for n in 0..400 {
        let before = log_size(&path);
        save(&mut store, &read(vec![(keys(n), n)]));
        sizes.push(log_size(&path) - before);
    }
    sizes.sort_unstable();
    assert!(sizes[200] <= 9 << 10, "usual: {}", sizes[200]);
    assert!(sizes[390] <= 16 << 10, "with a page split now and then: {}", sizes[390]);
    let before = log_size(&path);
    let again = Mutation::Read(Read { marks: vec![Mark::unless_read(keys(7), 7, [])], ..Read::default() });
    assert_eq!(save(&mut store, &again), Saved::Unchanged);
    for _ in 0..100 {
        assert!(store.poll_changes().unwrap().is_none());
    }
    assert_eq!(log_size(&path), before);
}

/// P11 where it is hardest: journal and reserve full, so that every mark moves another and forgets a third.
#[test]
fn p11_bytes_written_under_pressure() {
    let (_dir, path) = file();
    let mut store = open(&path).unwrap();
    let key = |n: u32| Key::Message(id(n.wrapping_mul(0x9e37_79b9)));
    save(&mut store, &read((0..7_000).map(|n| (key(n), n)).collect()));
    assert_eq!(store.record().reserve_size().1, crate::limits::RESERVE_KEYS);
    let mut sizes = Vec::new();
    for n in 7_000..7_060 {
        let before = log_size(&path);
        save(&mut store, &read(vec![(key(n), n)]));
        sizes.push(log_size(&path).saturating_sub(before));
    }
    sizes.sort_unstable();
    assert!(sizes[30] <= 12 << 10, "{}", sizes[30]);
    let record = store.record();
    assert!(record.rows().any(|(_, row)| row.held.is_some_and(|held| held.place == Place::Reserve)));
}

/// No content, id, key or host in anything printed.
#[test]
fn debug_shows_shapes() {
    let (_dir, path) = file();
    filled(&path);
    let store = open(&path).unwrap();
    let text = format!("{:?} {:?} {:?}", store.record(), here(), a_bit_of_everything());
    for secret in ["hive", "sealed", "client-1", &id(2).to_hex()[..8], &channel(1).to_string()[..8]] {
        assert!(!text.contains(secret), "{secret}");
    }
}
