//! The file: its tables, how it is opened, and when it is given up.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};

use crate::error::{Error, StorageKind};

/// Raised with every change of the tables; a file of any other version is deleted and made anew.
const VERSION: i64 = 1;

// Bodies stand last in their rows, so that sums over pages read no body.
const TABLES: &str = "
CREATE TABLE partition (
    id INTEGER PRIMARY KEY, host TEXT NOT NULL, account BLOB NOT NULL, self_key BLOB, UNIQUE (host, account));
CREATE TABLE channel (
    id INTEGER PRIMARY KEY, part INTEGER NOT NULL REFERENCES partition ON DELETE CASCADE, uuid BLOB NOT NULL,
    opened INTEGER NOT NULL DEFAULT 0, UNIQUE (part, uuid));
CREATE TABLE page (
    id INTEGER PRIMARY KEY, channel INTEGER NOT NULL REFERENCES channel ON DELETE CASCADE, root BLOB NOT NULL,
    n INTEGER NOT NULL, bytes INTEGER NOT NULL, events INTEGER NOT NULL, body BLOB NOT NULL, UNIQUE (channel, root, n));
CREATE TABLE event (
    seq INTEGER PRIMARY KEY, part INTEGER NOT NULL REFERENCES partition ON DELETE CASCADE, class INTEGER NOT NULL,
    id BLOB NOT NULL, channel INTEGER REFERENCES channel ON DELETE CASCADE, deleted INTEGER NOT NULL DEFAULT 0,
    body BLOB NOT NULL, UNIQUE (part, class, id));
CREATE INDEX event_channel ON event (channel);
CREATE TABLE roster (
    part INTEGER NOT NULL REFERENCES partition ON DELETE CASCADE, kind INTEGER NOT NULL, d TEXT NOT NULL,
    body BLOB NOT NULL, PRIMARY KEY (part, kind, d));
CREATE TABLE denied (
    part INTEGER NOT NULL REFERENCES partition ON DELETE CASCADE, uuid BLOB NOT NULL, floor INTEGER NOT NULL,
    PRIMARY KEY (part, uuid));
CREATE TABLE note (
    part INTEGER NOT NULL REFERENCES partition ON DELETE CASCADE, name TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (part, name));
";

/// Opens the file and makes its tables. A file of another version counts as damaged.
pub(super) fn open(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    // Another process of the app may be writing (`architecture.md`, decision 8).
    connection.busy_timeout(Duration::from_secs(2))?;
    connection.pragma_update(None, "page_size", 16_384)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // The cache may lose its last commits to a power cut; it never loses its shape.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    prepare(connection)
}

/// The same in memory.
pub(super) fn open_in_memory() -> rusqlite::Result<Connection> {
    prepare(Connection::open_in_memory()?)
}

fn prepare(mut connection: Connection) -> rusqlite::Result<Connection> {
    connection.pragma_update(None, "foreign_keys", true)?;
    let tx = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let version: i64 = tx.pragma_query_value(None, "user_version", |r| r.get(0))?;
    match version {
        VERSION => {}
        0 => {
            tx.execute_batch(TABLES)?;
            tx.pragma_update(None, "user_version", VERSION)?;
        }
        _ => {
            return Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_NOTADB), None));
        }
    }
    tx.commit()?;
    Ok(connection)
}

/// Whether the file itself is at fault, so that only a new one helps.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    match error {
        // A body of an unexpected type or a missing table: not what this version wrote.
        rusqlite::Error::InvalidColumnType(..) | rusqlite::Error::FromSqlConversionFailure(..) => true,
        other => matches!(
            other.sqlite_error_code(),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown)
        ),
    }
}

/// Deletes the file and what SQLite keeps beside it.
pub(super) fn remove(path: &Path) -> Result<(), Error> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        match std::fs::remove_file(PathBuf::from(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::Storage { kind: StorageKind::Io });
            }
            _ => {}
        }
    }
    Ok(())
}
