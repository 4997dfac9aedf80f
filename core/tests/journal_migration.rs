//! A journal of schema version 1, as an older Waggle left it, is read by this one (`core/tests/fixtures/journal-v1.sqlite`).
//!
//! The fixture is made by `WAGGLE_WRITE_FIXTURES=1 cargo test -p waggle --test journal_migration`, which writes it anew from the
//! statements below; otherwise the committed bytes are used, because what has to be read is what was written then.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;
use waggle::ids::{ChannelId, EventId, PublicKey, SlotId};
use waggle::journal::{Fresh, Key, LocalKey, Mark, Mutation, NoFacts, Override, Place, Read};
use waggle::store::journal::{Cancel, JournalStore as _, NoHooks, Partition, SqliteJournal};

/// Schema version 1, to the letter.
const SCHEMA_1: &str = "
PRAGMA journal_mode = DELETE;
PRAGMA application_id = 0x57474c4a;
CREATE TABLE partition (
    id INTEGER PRIMARY KEY AUTOINCREMENT, host TEXT NOT NULL, account TEXT NOT NULL, client_id TEXT NOT NULL,
    slot TEXT NOT NULL, revision INTEGER NOT NULL, accepted_revision INTEGER NOT NULL, last_created_at INTEGER NOT NULL,
    pending_id TEXT, pending_event TEXT, pending_revision INTEGER, UNIQUE (host, account)
) STRICT;
CREATE TABLE frontier (
    partition INTEGER NOT NULL, key TEXT NOT NULL, value INTEGER NOT NULL, recent INTEGER NOT NULL,
    PRIMARY KEY (partition, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE reserve (
    partition INTEGER NOT NULL, key TEXT NOT NULL, value INTEGER NOT NULL, PRIMARY KEY (partition, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE home (
    partition INTEGER NOT NULL, message TEXT NOT NULL, channel TEXT NOT NULL, PRIMARY KEY (partition, message)
) STRICT, WITHOUT ROWID;
CREATE TABLE override (
    partition INTEGER NOT NULL, key TEXT NOT NULL, set_at INTEGER NOT NULL, clear_at INTEGER NOT NULL,
    baseline INTEGER NOT NULL, PRIMARY KEY (partition, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE local_mark (
    partition INTEGER NOT NULL, key TEXT NOT NULL, revision INTEGER NOT NULL, PRIMARY KEY (partition, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE follow (
    partition INTEGER NOT NULL, channel TEXT NOT NULL, root TEXT NOT NULL, following INTEGER NOT NULL,
    position INTEGER NOT NULL, PRIMARY KEY (partition, channel, root)
) STRICT, WITHOUT ROWID;
PRAGMA user_version = 1;
";

const ROOM: &str = "0b6c8a52-7d3e-4d5a-9a51-0f2b3c4d5e6f";
/// Public key of the secret SHA-256(`waggle/person/me`).
const ME: &str = "f3b753c775121a8acf64b79cbd9dff337bc6776e5f01ab24c55d02ec999b1cae";
/// A read-state event of theirs at slot `aa…`, time 1751500000, signed.
const PENDING: &str = include_str!("fixtures/pending-v1.json");

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/journal-v1.sqlite")
}

fn id(n: u8) -> EventId {
    EventId([n; 32])
}

fn write(path: &Path) {
    let _ = std::fs::remove_file(path);
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(SCHEMA_1).unwrap();
    let pending = PENDING.trim_end();
    let pending_id = serde_json::from_str::<serde_json::Value>(pending).unwrap()["id"].as_str().unwrap().to_owned();
    let partitions = "INSERT INTO partition VALUES (?1, ?2, ?3, 'client-of-v1', ?4, 5, 2, 1751500000, ?5, ?6, ?7)";
    let none = (None::<String>, None::<String>, None::<i64>);
    let (slot, other) = ("aa".repeat(16), "bb".repeat(16));
    connection.execute(partitions, (1, "hive.example", ME, slot, Some(pending_id), Some(pending), Some(3))).unwrap();
    connection.execute(partitions, (2, "other.example", ME, other, none.0, none.1, none.2)).unwrap();
    let frontier = "INSERT INTO frontier VALUES (?1, ?2, ?3, ?4)";
    for (partition, key, value, recent) in [
        (1, ROOM.to_owned(), 1_751_400_000, 5),
        (1, format!("thread:{}", id(1)), 1_751_400_001, 0),
        (1, format!("msg:{}", id(2)), 1_751_400_002, 4),
        (1, "context of somebody".to_owned(), 7, 0),
        (2, ROOM.to_owned(), 1, 1),
    ] {
        connection.execute(frontier, (partition, key, value, recent)).unwrap();
    }
    let reserve = "INSERT INTO reserve VALUES (1, ?1, ?2)";
    connection.execute(reserve, (format!("msg:{}", id(3)), 1_700_000_000)).unwrap();
    connection.execute(reserve, (format!("thread-activity:{}", id(1)), 1_700_000_001)).unwrap();
    let home = "INSERT INTO home VALUES (1, ?1, ?2)";
    for message in [id(1), id(3), id(9)] {
        connection.execute(home, (message.to_hex(), ROOM)).unwrap();
    }
    connection.execute("INSERT INTO override VALUES (1, ?1, 1, 2, 3)", [ROOM]).unwrap();
    connection.execute("INSERT INTO local_mark VALUES (1, ?1, 2)", [format!("message-force:{ROOM}")]).unwrap();
    let follow = "INSERT INTO follow VALUES (1, ?1, ?2, ?3, ?4)";
    connection.execute(follow, (ROOM, id(1).to_hex(), 1, 1)).unwrap();
    connection.execute(follow, (ROOM, id(2).to_hex(), 0, 2)).unwrap();
}

fn open(path: &Path, host: &str) -> SqliteJournal {
    let partition = Partition { host: host.into(), account: PublicKey::parse(ME).unwrap() };
    let fresh = Fresh { slot: SlotId([1; 16]), client_id: "not used".into() };
    SqliteJournal::open(path, partition, fresh, Arc::new(NoHooks)).unwrap()
}

#[test]
fn a_journal_of_version_1_is_migrated_whole() {
    if std::env::var_os("WAGGLE_WRITE_FIXTURES").is_some() {
        write(&fixture());
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.sqlite");
    std::fs::copy(fixture(), &path).unwrap();
    let room = ChannelId::parse(ROOM).unwrap();
    for round in 0..2 {
        let store = open(&path, "hive.example");
        let record = store.record();
        assert_eq!(record.header().client_id, "client-of-v1");
        assert_eq!((record.revision(), record.header().accepted_revision), (5, 2));
        assert_eq!(record.slots(), [SlotId([0xaa; 16])]);
        assert_eq!(record.rows().count(), 6, "round {round}");
        let held = |key: &Key| record.row(key).and_then(|row| row.held).unwrap();
        assert_eq!(held(&Key::Channel(room)).place, Place::Journal { recent: 5 });
        assert_eq!(held(&Key::Message(id(2))).value, 1_751_400_002);
        assert_eq!(held(&Key::Message(id(3))).place, Place::Reserve);
        assert_eq!(held(&Key::ThreadActivity(id(1))).place, Place::Reserve);
        for message in [1, 3] {
            assert_eq!(record.home(&id(message)), Some(room));
        }
        assert_eq!((record.home(&id(2)), record.home(&id(9))), (None, None));
        assert_eq!(record.own().count(), 0, "what was own is recovered from the relay");
        assert_eq!(record.overrides()[&Key::Channel(room)], Override { set: 1, clear: 2, baseline: 3 });
        assert_eq!(record.local_mark(&LocalKey::MessageForce(room)), Some(2));
        assert_eq!(record.pending().len(), 1);
        assert_eq!(record.pending()[0].json, PENDING.trim_end());
        let follows: Vec<_> = record.follows().iter().collect();
        assert_eq!(follows, [((room, id(1)), true), ((room, id(2)), false)]);
    }
    let mut other = open(&path, "other.example");
    assert_eq!(other.record().frontier(&Key::Channel(room)), Some(1));
    let read = Mutation::Read(Read { marks: vec![Mark::always(Key::Channel(room), 9)], ..Read::default() });
    other.update(&read, &NoFacts, &Cancel::new()).unwrap();
    drop(other);
    assert_eq!(open(&path, "other.example").record().frontier(&Key::Channel(room)), Some(9));
    assert_eq!(open(&path, "hive.example").record().frontier(&Key::Channel(room)), Some(1_751_400_000));
}
