//! The file: opening it without touching what is damaged, its tables, and migrations.
//!
//! Order of an opening: size, magic bytes and a full check of the structure, then the application id and version, and only then the first
//! write. A file that fails any of these is closed without a checkpoint, so its bytes stay as they are.
//!
//! Version 1 had one slot, at most one pending event, frontiers, reserve and homes in tables of their own, and did not know which
//! frontiers were its own; version 2 keeps one row a key. What was own under version 1 is recovered from the relay (`unread.md` 9.8).

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use super::{Effect, Hooks, at};
use crate::error::{Error, StorageKind};
use crate::limits;

/// Schema version this code writes.
pub(super) const VERSION: i64 = 2;
/// `WGLJ`.
const APPLICATION_ID: i64 = 0x5747_4c4a;

/// Tables of version 2. Every one is keyed by partition, that is by (community host, account).
const CREATE: &str = "
CREATE TABLE partition (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    host TEXT NOT NULL,
    account TEXT NOT NULL,
    client_id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    accepted_revision INTEGER NOT NULL,
    last_created_at INTEGER NOT NULL,
    generation INTEGER NOT NULL, -- grows with every commit, so that others see a change
    UNIQUE (host, account)
) STRICT;
CREATE TABLE slot (
    partition INTEGER NOT NULL,
    position INTEGER NOT NULL,
    slot TEXT NOT NULL,
    PRIMARY KEY (partition, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE mark (
    partition INTEGER NOT NULL,
    key TEXT NOT NULL,
    value INTEGER, -- the frontier; null when only `own` is left
    reserved INTEGER NOT NULL, -- 1 in the local-only reserve
    recent INTEGER NOT NULL, -- revision of the last local use
    home TEXT, -- channel of the message the key names
    own INTEGER, -- what this installation advanced it to
    slot TEXT, -- the slot that carries that
    PRIMARY KEY (partition, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE override (
    partition INTEGER NOT NULL,
    key TEXT NOT NULL,
    set_at INTEGER NOT NULL,
    clear_at INTEGER NOT NULL,
    baseline INTEGER NOT NULL,
    PRIMARY KEY (partition, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE local_mark (
    partition INTEGER NOT NULL,
    key TEXT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (partition, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE pending (
    partition INTEGER NOT NULL,
    event_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    event TEXT NOT NULL, -- exact signed JSON
    PRIMARY KEY (partition, event_id)
) STRICT;
CREATE TABLE follow (
    partition INTEGER NOT NULL,
    channel TEXT NOT NULL,
    root TEXT NOT NULL,
    following INTEGER NOT NULL,
    position INTEGER NOT NULL, -- greater is newer
    PRIMARY KEY (partition, channel, root)
) STRICT, WITHOUT ROWID;
";

/// From version 1, whose tables are moved aside, filled over and dropped.
const FROM_1: &str = "
INSERT INTO partition SELECT id, host, account, client_id, revision, accepted_revision, last_created_at, 1 FROM v1_partition;
INSERT INTO slot SELECT id, 0, slot FROM v1_partition;
INSERT INTO mark
    SELECT f.partition, f.key, f.value, 0, f.recent, h.channel, NULL, NULL FROM v1_frontier f
    LEFT JOIN v1_home h ON h.partition = f.partition AND h.message = substr(f.key, instr(f.key, ':') + 1);
INSERT INTO mark
    SELECT r.partition, r.key, r.value, 1, 0, h.channel, NULL, NULL FROM v1_reserve r
    LEFT JOIN v1_home h ON h.partition = r.partition AND h.message = substr(r.key, instr(r.key, ':') + 1);
INSERT INTO override SELECT partition, key, set_at, clear_at, baseline FROM v1_override;
INSERT INTO local_mark SELECT partition, key, revision FROM v1_local_mark;
INSERT INTO pending SELECT id, pending_id, 0, pending_revision, pending_event FROM v1_partition WHERE pending_event IS NOT NULL;
INSERT INTO follow SELECT partition, channel, root, following, position FROM v1_follow;
";

/// Tables of version 1.
const TABLES_1: [&str; 7] = ["partition", "frontier", "reserve", "home", "override", "local_mark", "follow"];

/// What an SQLite error is to a caller. Nothing of its text goes on: it may contain a path.
pub(super) fn storage(error: &rusqlite::Error) -> Error {
    use rusqlite::ErrorCode as Code;
    let kind = match error {
        rusqlite::Error::SqliteFailure(failure, _) => match failure.code {
            Code::DiskFull => StorageKind::Full,
            Code::DatabaseBusy | Code::DatabaseLocked | Code::FileLockingProtocolFailed => StorageKind::Locked,
            Code::DatabaseCorrupt | Code::NotADatabase | Code::TypeMismatch | Code::ConstraintViolation => {
                StorageKind::Corrupt
            }
            _ => StorageKind::Io,
        },
        rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::Utf8Error(..)
        | rusqlite::Error::QueryReturnedNoRows => StorageKind::Corrupt,
        _ => StorageKind::Io,
    };
    Error::Storage { kind }
}

fn io(error: &std::io::Error) -> Error {
    let kind = match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => StorageKind::Full,
        _ => StorageKind::Io,
    };
    Error::Storage { kind }
}

const CORRUPT: Error = Error::Storage { kind: StorageKind::Corrupt };

/// A connection to a checked, current file. Until [`trust`] is called, closing it leaves the file as it is.
pub(super) fn open(path: &Path, hooks: &dyn Hooks) -> Result<Connection, Error> {
    let is_new = create_or_look(path, hooks)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(|e| storage(&e))?;
    let opened = prepare(&mut connection, is_new, hooks);
    opened.map(|()| connection)
}

/// From now on, closing the connection may write the log back into the file.
pub(super) fn trust(connection: &Connection) -> Result<(), Error> {
    set(connection, DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)
}

fn set(connection: &Connection, config: DbConfig, on: bool) -> Result<(), Error> {
    connection.set_db_config(config, on).map(drop).map_err(|e| storage(&e))
}

/// Whether the file is new. It is not opened to see that: closing any handle of the file gives up the locks that other
/// connections of this process have on it, and another process could take the log away from under them.
fn create_or_look(path: &Path, hooks: &dyn Hooks) -> Result<bool, Error> {
    match fs::metadata(path) {
        // SQLite takes a file of less than its smallest page for an empty one; what is longer it looks at itself.
        Ok(found) if (1..512).contains(&found.len()) || !found.is_file() => Err(CORRUPT),
        Ok(found) => Ok(found.len() == 0),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            at(hooks, Effect::Create)?;
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            options.open(path).map_err(|e| io(&e))?;
            Ok(true)
        }
        Err(error) => Err(io(&error)),
    }
}

fn prepare(connection: &mut Connection, is_new: bool, hooks: &dyn Hooks) -> Result<(), Error> {
    set(connection, DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    set(connection, DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.busy_timeout(Duration::from_millis(limits::JOURNAL_BUSY_MS)).map_err(|e| storage(&e))?;
    if is_new {
        // Small pages keep what one mark writes small, even when a page splits (P11).
        connection.pragma_update(None, "page_size", 2_048).map_err(|e| storage(&e))?;
    } else {
        check(connection)?;
    }
    configure(connection)?;
    let mut version = version(connection)?;
    if version == 0 {
        create(connection, hooks)?;
        version = VERSION;
    }
    if version < VERSION {
        migrate(connection, hooks)?;
    }
    Ok(())
}

/// Looks at everything before anything may be written.
fn check(connection: &Connection) -> Result<(), Error> {
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(|e| storage(&e))?;
    if found != "ok" {
        return Err(CORRUPT);
    }
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(|e| storage(&e))?;
    let id: i64 = connection.query_row("PRAGMA application_id", [], |row| row.get(0)).map_err(|e| storage(&e))?;
    match version(connection)? {
        // A process died between creating the file and its tables.
        0 if tables == 0 && (id == 0 || id == APPLICATION_ID) => Ok(()),
        1..=VERSION if id == APPLICATION_ID => Ok(()),
        newer if newer > VERSION && id == APPLICATION_ID => Err(Error::Storage { kind: StorageKind::NewerVersion }),
        _ => Err(CORRUPT),
    }
}

fn version(connection: &Connection) -> Result<i64, Error> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(|e| storage(&e))
}

fn configure(connection: &Connection) -> Result<(), Error> {
    let mode: String =
        connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(|e| storage(&e))?;
    if !mode.eq_ignore_ascii_case("wal") {
        return Err(Error::Storage { kind: StorageKind::Io });
    }
    // FULL: an acknowledged commit survives a power cut. The fullfsync pair does the same where fsync alone does not (Apple).
    // secure_delete: what was forgotten is overwritten, not only unlinked.
    connection
        .execute_batch(
            "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;
             PRAGMA secure_delete = ON; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;",
        )
        .map_err(|e| storage(&e))
}

fn create(connection: &mut Connection, hooks: &dyn Hooks) -> Result<(), Error> {
    let transaction = begin(connection)?;
    // Another process may have been faster.
    if version(&transaction)? == 0 {
        at(hooks, Effect::Create)?;
        let batch = format!("{CREATE} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION};");
        transaction.execute_batch(&batch).map_err(|e| storage(&e))?;
    }
    transaction.commit().map_err(|e| storage(&e))
}

fn migrate(connection: &mut Connection, hooks: &dyn Hooks) -> Result<(), Error> {
    let transaction = begin(connection)?;
    if version(&transaction)? == 1 {
        at(hooks, Effect::Migrate)?;
        let aside: String = TABLES_1.iter().map(|t| format!("ALTER TABLE {t} RENAME TO v1_{t};")).collect();
        let drop: String = TABLES_1.iter().map(|t| format!("DROP TABLE v1_{t};")).collect();
        let batch = format!("{aside} {CREATE} {FROM_1} {drop} PRAGMA user_version = {VERSION};");
        transaction.execute_batch(&batch).map_err(|e| storage(&e))?;
    }
    transaction.commit().map_err(|e| storage(&e))
}

/// Makes the log file as long as it usually gets and begins it, so that coming commits overwrite what is on the disk already: a file
/// that grows costs a commit of the file system beside the sync, and a log that begins costs one sync more (P11).
///
/// Nobody else may write the log meanwhile: that is what the write lock is for. SQLite takes no locks on the log file itself, so
/// closing it here gives none up.
pub(super) fn reserve(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    let transaction = begin(connection)?;
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    let mut log = OpenOptions::new().append(true).open(&name).map_err(|e| io(&e))?;
    let length = log.metadata().map_err(|e| io(&e))?.len();
    if length < limits::JOURNAL_LOG_BYTES {
        // Zeros, which are no frame, and not a hole: a hole is filled by a commit of the file system, too.
        let missing = usize::try_from(limits::JOURNAL_LOG_BYTES - length).unwrap_or(0);
        log.write_all(&vec![0; missing]).and_then(|()| log.sync_all()).map_err(|e| io(&e))?;
    }
    // Any page will do to begin the log.
    transaction.pragma_update(None, "user_version", VERSION).map_err(|e| storage(&e))?;
    transaction.commit().map_err(|e| storage(&e))
}

pub(super) fn begin(connection: &mut Connection) -> Result<Transaction<'_>, Error> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(|e| storage(&e))
}
