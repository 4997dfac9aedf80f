//! The journal in SQLite: one file for all partitions, a connection for each open one.
//!
//! The record as of the last read or commit stays in memory. An update takes the write lock, compares the partition's `generation`, reads
//! the partition anew if somebody else has written, and writes the rows of the diff: two pages and one sync for the usual mark
//! (P11). Memory follows only after the commit.
//!
//! Besides that one sync, an update would sometimes wait for the log to grow, to be written back, or to begin anew.
//! [`JournalStore::tidy`] does all three ahead, so a mark overwrites room that is on the disk already, and its sync is of data alone.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use sha2::{Digest as _, Sha256};

use super::schema::{begin, open, reserve, storage, trust};
use super::{Cancel, Effect, Hooks, JournalStore, LEFT, Partition, PublisherLock, Saved, at, check_pending, signed};
use crate::error::{Error, StorageKind};
use crate::event::Verifier;
use crate::ids::{PublicKey, SlotId};
use crate::journal::{Coverage, Diff, Fresh, Mutation, Pending, Place, Record, Row, Stored, StoredRow, apply};
use crate::limits;

/// Tables that hold rows of a partition, all but `partition` itself.
const TABLES: [&str; 6] = ["slot", "mark", "override", "local_mark", "pending", "follow"];

/// One partition of the journal file.
pub struct SqliteJournal {
    path: PathBuf,
    partition: Partition,
    hooks: Arc<dyn Hooks>,
    /// None once closed.
    connection: Option<Connection>,
    record: Record,
    /// Which stored partition `record` is; none while nothing is stored.
    version: Option<Version>,
    /// SQLite's word for "some other connection has committed".
    data_version: i64,
    /// `record` holds another process's changes that no caller was given yet.
    undelivered: bool,
    left: bool,
    /// Rows written since the log was tidied; none before it was for the first time.
    written: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Version {
    id: i64,
    generation: i64,
}

impl SqliteJournal {
    /// Opens the file at `path`, creating it if there is none, and reads the partition. `fresh` becomes its identity if it does not
    /// exist yet; that is stored with the first update.
    ///
    /// Fails with [`Error::Storage`]: `Corrupt` for a damaged file or record and `NewerVersion` for one of a newer Waggle, both left as
    /// they are.
    pub fn open(path: &Path, partition: Partition, fresh: Fresh, hooks: Arc<dyn Hooks>) -> Result<Self, Error> {
        let mut connection = open(path, &*hooks)?;
        let read = read(&mut connection, &partition)?;
        trust(&connection)?;
        let (record, version) = match read {
            Some((record, version)) => (record, Some(version)),
            None => (Record::new(fresh), None),
        };
        let data_version = data_version(&connection)?;
        Ok(Self {
            path: path.to_owned(),
            partition,
            hooks,
            connection: Some(connection),
            record,
            version,
            data_version,
            undelivered: false,
            left: false,
            written: None,
        })
    }

    /// Lets SQLite keep at most so many KiB of the file's pages in memory.
    pub fn keep_in_memory(&mut self, kib: i64) -> Result<(), Error> {
        self.connection()?.pragma_update(None, "cache_size", -kib).map_err(|e| storage(&e))
    }

    /// Deletes all partitions of an account. Without a file there is nothing to delete.
    pub fn sign_out(path: &Path, account: &PublicKey, hooks: &dyn Hooks) -> Result<(), Error> {
        Self::delete(path, hooks, "account = ?1", &[&account.to_hex()])
    }

    /// Deletes one partition that is not open here: what [`JournalStore::leave`] does for one that is.
    pub fn forget(path: &Path, partition: &Partition, hooks: &dyn Hooks) -> Result<(), Error> {
        let (host, account) = (&partition.host, partition.account.to_hex());
        Self::delete(path, hooks, "host = ?1 AND account = ?2", &[host, &account])
    }

    /// The partitions in the file, ordered by host, then account.
    pub fn partitions(path: &Path, hooks: &dyn Hooks) -> Result<Vec<Partition>, Error> {
        if !path.exists() {
            return Ok(Vec::new());
        }
        let connection = open(path, hooks)?;
        let mut statement = connection
            .prepare("SELECT host, account FROM partition ORDER BY host, account")
            .map_err(|e| storage(&e))?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)));
        rows.map_err(|e| storage(&e))?
            .map(|row| {
                let (host, account) = row.map_err(|e| storage(&e))?;
                let account = PublicKey::parse(&account).map_err(|_| CORRUPT)?;
                Ok(Partition { host, account })
            })
            .collect()
    }

    fn delete(path: &Path, hooks: &dyn Hooks, which: &str, values: &[&String]) -> Result<(), Error> {
        if !path.exists() {
            return Ok(());
        }
        let mut connection = open(path, hooks)?;
        trust(&connection)?;
        delete(&mut connection, hooks, which, values)
    }

    fn connection(&mut self) -> Result<&mut Connection, Error> {
        self.connection.as_mut().ok_or(Error::Closed)
    }
}

const CORRUPT: Error = Error::Storage { kind: StorageKind::Corrupt };

impl JournalStore for SqliteJournal {
    fn record(&self) -> &Record {
        &self.record
    }

    fn update(&mut self, mutation: &Mutation, facts: &dyn Coverage, cancel: &Cancel) -> Result<Saved, Error> {
        let hooks = Arc::clone(&self.hooks);
        let connection = self.connection.as_mut().ok_or(Error::Closed)?;
        if self.left {
            return Err(LEFT);
        }
        check_pending(mutation, &self.partition.account)?;
        at(&*hooks, Effect::Begin)?;
        let transaction = begin(connection)?;
        if let Some((record, version)) = newer(&transaction, &self.partition, self.version)? {
            self.record = record;
            self.version = Some(version);
            self.undelivered = true;
        }
        cancel.check()?;
        let diff = apply(&self.record, mutation, facts)?;
        if !diff.is_empty() {
            at(&*hooks, Effect::Save)?;
            let mut write = Write { transaction: &transaction, hooks: &*hooks, base: &self.record, rows: 0 };
            let version = write.diff(&self.partition, self.version, &diff)?;
            let rows = write.rows;
            at(&*hooks, Effect::Commit)?;
            cancel.check()?;
            transaction.commit().map_err(|e| storage(&e))?;
            self.written = self.written.map(|written| written.saturating_add(rows));
            // Too late to fail.
            let _ = at(&*hooks, Effect::Committed);
            self.record.adopt(&diff);
            self.version = Some(version);
        }
        Ok(Saved::of(diff, &mut self.undelivered, &self.record))
    }

    fn poll_changes(&mut self) -> Result<Option<Box<Record>>, Error> {
        let (before, left) = (self.data_version, self.left);
        let connection = self.connection.as_mut().ok_or(Error::Closed)?;
        if left {
            return Err(LEFT);
        }
        let now = data_version(connection)?;
        if now != before {
            let transaction = connection.transaction().map_err(|e| storage(&e))?;
            if let Some((record, version)) = newer(&transaction, &self.partition, self.version)? {
                self.record = record;
                self.version = Some(version);
                self.undelivered = true;
            }
            self.data_version = now;
        }
        Ok(std::mem::take(&mut self.undelivered).then(|| Box::new(self.record.clone())))
    }

    fn try_publisher_lock(&mut self) -> Result<Option<PublisherLock>, Error> {
        self.connection()?;
        let io = |_| Error::Storage { kind: StorageKind::Io };
        let file = lock_file(&self.path, &self.partition).map_err(io)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(PublisherLock(Box::new(file)))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(io(error)),
        }
    }

    fn tidy(&mut self) -> Result<(), Error> {
        let hooks = Arc::clone(&self.hooks);
        let connection = self.connection.as_mut().ok_or(Error::Closed)?;
        if self.left || self.written.is_some_and(|rows| rows < limits::JOURNAL_LOG_ROWS) {
            return Ok(());
        }
        at(&*hooks, Effect::Checkpoint)?;
        // Partly or not at all while another process reads; then the next one does it.
        let _ = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        at(&*hooks, Effect::Reserve)?;
        reserve(connection, &self.path)?;
        self.written = Some(0);
        Ok(())
    }

    fn leave(&mut self) -> Result<(), Error> {
        let hooks = Arc::clone(&self.hooks);
        let (host, account) = (self.partition.host.clone(), self.partition.account.to_hex());
        delete(self.connection()?, &*hooks, "host = ?1 AND account = ?2", &[&host, &account])?;
        self.left = true;
        Ok(())
    }

    fn close(&mut self) -> Result<(), Error> {
        let Some(connection) = self.connection.take() else { return Ok(()) };
        at(&*self.hooks, Effect::Checkpoint)?;
        // Another process may be reading the log; then the last one to close writes it back.
        let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        connection.close().map_err(|(_, e)| storage(&e))
    }
}

/// The lock file of a partition. Its name tells nobody which community it is for.
fn lock_file(path: &Path, partition: &Partition) -> std::io::Result<File> {
    let digest = Sha256::digest(format!("{}\n{}", partition.host, partition.account));
    let name = format!("journal.publisher-{}.lock", hex::encode(digest.get(..8).unwrap_or_default()));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path.with_file_name(name))
}

fn data_version(connection: &Connection) -> Result<i64, Error> {
    connection.query_row("PRAGMA data_version", [], |row| row.get(0)).map_err(|e| storage(&e))
}

fn delete(connection: &mut Connection, hooks: &dyn Hooks, which: &str, values: &[&String]) -> Result<(), Error> {
    let transaction = begin(connection)?;
    at(hooks, Effect::Delete)?;
    let values = rusqlite::params_from_iter(values);
    for table in TABLES {
        let sql = format!("DELETE FROM {table} WHERE partition IN (SELECT id FROM partition WHERE {which})");
        transaction.execute(&sql, values.clone()).map_err(|e| storage(&e))?;
    }
    transaction.execute(&format!("DELETE FROM partition WHERE {which}"), values).map_err(|e| storage(&e))?;
    at(hooks, Effect::Commit)?;
    transaction.commit().map_err(|e| storage(&e))?;
    // What was deleted must not linger in the log; if others are using it, the last one to close sees to that.
    let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    Ok(())
}

/// The stored partition, if it is not the one known.
fn newer(
    connection: &Connection,
    partition: &Partition,
    known: Option<Version>,
) -> Result<Option<(Record, Version)>, Error> {
    let stored = version(connection, partition)?;
    if known.is_some_and(|known| stored.map(|v| v.id) != Some(known.id)) {
        return Err(LEFT);
    }
    match stored {
        Some(version) if Some(version) != known => {
            let stored = read_stored(connection, version.id).map_err(|e| storage(&e))?;
            Ok(Some((validate(stored, partition)?, version)))
        }
        _ => Ok(None),
    }
}

fn version(connection: &Connection, partition: &Partition) -> Result<Option<Version>, Error> {
    let sql = "SELECT id, generation FROM partition WHERE host = ?1 AND account = ?2";
    let read = |row: &rusqlite::Row<'_>| Ok(Version { id: row.get(0)?, generation: row.get(1)? });
    let mut statement = connection.prepare_cached(sql).map_err(|e| storage(&e))?;
    statement.query_row(params![partition.host, partition.account.to_hex()], read).optional().map_err(|e| storage(&e))
}

fn read(connection: &mut Connection, partition: &Partition) -> Result<Option<(Record, Version)>, Error> {
    // One transaction, so that all tables are of one moment.
    let transaction = connection.transaction().map_err(|e| storage(&e))?;
    newer(&transaction, partition, None)
}

fn read_stored(connection: &Connection, id: i64) -> rusqlite::Result<Stored> {
    let all = |sql: &str, take: &mut dyn FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<()>| {
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([id])?;
        while let Some(row) = rows.next()? {
            take(row)?;
        }
        Ok::<(), rusqlite::Error>(())
    };
    let mut stored = Stored::default();
    all("SELECT client_id, revision, accepted_revision, last_created_at FROM partition WHERE id = ?1", &mut |row| {
        stored.client_id = row.get(0)?;
        stored.revision = row.get(1)?;
        stored.accepted_revision = row.get(2)?;
        stored.last_created_at = row.get(3)?;
        Ok(())
    })?;
    all("SELECT slot FROM slot WHERE partition = ?1 ORDER BY position", &mut |row| {
        stored.slots.push(row.get(0)?);
        Ok(())
    })?;
    all("SELECT key, value, reserved, recent, home, own, slot FROM mark WHERE partition = ?1", &mut |row| {
        let mark = StoredRow {
            value: row.get(1)?,
            reserved: row.get(2)?,
            recent: row.get(3)?,
            home: row.get(4)?,
            own: row.get(5)?,
            slot: row.get(6)?,
        };
        stored.rows.push((row.get(0)?, mark));
        Ok(())
    })?;
    all("SELECT key, set_at, clear_at, baseline FROM override WHERE partition = ?1", &mut |row| {
        stored.overrides.push((row.get(0)?, [row.get(1)?, row.get(2)?, row.get(3)?]));
        Ok(())
    })?;
    all("SELECT key, revision FROM local_mark WHERE partition = ?1", &mut |row| {
        stored.local.push((row.get(0)?, row.get(1)?));
        Ok(())
    })?;
    all("SELECT event, revision FROM pending WHERE partition = ?1 ORDER BY position", &mut |row| {
        stored.pending.push((row.get(0)?, row.get(1)?));
        Ok(())
    })?;
    all("SELECT channel, root, following, position FROM follow WHERE partition = ?1 ORDER BY position", &mut |row| {
        stored.follows.push((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
        Ok(())
    })?;
    Ok(stored)
}

fn validate(stored: Stored, partition: &Partition) -> Result<Record, Error> {
    // Only a record with pending events needs one.
    let verifier = (!stored.pending.is_empty()).then(Verifier::new);
    let verify = |json: &str| signed(verifier.as_ref()?, &partition.account, json);
    stored.validate(&verify).map_err(|_| CORRUPT)
}

/// Writes the rows of a diff.
struct Write<'t> {
    transaction: &'t Transaction<'t>,
    hooks: &'t dyn Hooks,
    base: &'t Record,
    /// Statements so far.
    rows: u32,
}

impl Write<'_> {
    fn execute(&mut self, sql: &str, values: impl rusqlite::Params) -> Result<(), Error> {
        at(self.hooks, Effect::Row)?;
        self.rows = self.rows.saturating_add(1);
        let mut statement = self.transaction.prepare_cached(sql).map_err(|e| storage(&e))?;
        statement.execute(values).map(drop).map_err(|e| storage(&e))
    }

    fn diff(&mut self, partition: &Partition, version: Option<Version>, diff: &Diff) -> Result<Version, Error> {
        let header = diff.header.as_ref().unwrap_or(self.base.header());
        let scalars = (header.revision, header.accepted_revision, header.last_created_at);
        let [revision, accepted] = [int(scalars.0)?, int(scalars.1)?];
        let version = match version {
            Some(Version { id, generation }) => {
                let generation = generation.wrapping_add(1);
                self.execute(
                    "UPDATE partition SET revision = ?2, accepted_revision = ?3, last_created_at = ?4, generation = ?5
                     WHERE id = ?1",
                    params![id, revision, accepted, scalars.2, generation],
                )?;
                Version { id, generation }
            }
            None => {
                self.execute(
                    "INSERT INTO partition
                         (host, account, client_id, revision, accepted_revision, last_created_at, generation)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1)",
                    params![
                        partition.host,
                        partition.account.to_hex(),
                        header.client_id,
                        revision,
                        accepted,
                        scalars.2
                    ],
                )?;
                let id = self.transaction.last_insert_rowid();
                let slots = diff.slots.as_deref().unwrap_or(self.base.slots());
                self.slots(id, slots)?;
                Version { id, generation: 1 }
            }
        };
        self.rows(version.id, diff)?;
        if let Some(slots) = &diff.slots {
            self.slots(version.id, slots)?;
        }
        if let Some(pending) = &diff.pending {
            self.pending(version.id, pending)?;
        }
        Ok(version)
    }

    fn rows(&mut self, id: i64, diff: &Diff) -> Result<(), Error> {
        for (key, row) in &diff.rows {
            self.mark(id, &key.to_string(), row)?;
        }
        for (key, value) in &diff.overrides {
            self.execute(
                "INSERT OR REPLACE INTO override VALUES (?1, ?2, ?3, ?4, ?5)",
                params![id, key.to_string(), value.set, value.clear, value.baseline],
            )?;
        }
        for (key, revision) in &diff.local {
            let key = key.to_string();
            match revision {
                Some(revision) => self.execute(
                    "INSERT OR REPLACE INTO local_mark VALUES (?1, ?2, ?3)",
                    params![id, key, int(*revision)?],
                )?,
                None => self.execute("DELETE FROM local_mark WHERE partition = ?1 AND key = ?2", params![id, key])?,
            }
        }
        for ((channel, root), choice) in &diff.follows {
            let (channel, root) = (channel.to_string(), root.to_hex());
            match choice {
                Some(choice) => self.execute(
                    "INSERT OR REPLACE INTO follow VALUES (?1, ?2, ?3, ?4, ?5)",
                    params![id, channel, root, choice.following, int(choice.order)?],
                )?,
                None => self.execute(
                    "DELETE FROM follow WHERE partition = ?1 AND channel = ?2 AND root = ?3",
                    params![id, channel, root],
                )?,
            }
        }
        Ok(())
    }

    fn mark(&mut self, id: i64, key: &str, row: &Row) -> Result<(), Error> {
        if row.is_empty() {
            return self.execute("DELETE FROM mark WHERE partition = ?1 AND key = ?2", params![id, key]);
        }
        let (reserved, recent) = match row.held.map(|held| held.place) {
            Some(Place::Journal { recent }) => (false, int(recent)?),
            Some(Place::Reserve) => (true, 0),
            None => (false, 0),
        };
        let slot = row.own.and_then(|own| own.slot).map(|slot| slot.to_hex());
        self.execute(
            "INSERT OR REPLACE INTO mark VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                id,
                key,
                row.held.map(|held| held.value),
                reserved,
                recent,
                row.home.map(|home| home.to_string()),
                row.own.map(|own| own.value),
                slot
            ],
        )
    }

    fn slots(&mut self, id: i64, slots: &[SlotId]) -> Result<(), Error> {
        for (position, slot) in slots.iter().enumerate() {
            self.execute(
                "INSERT OR REPLACE INTO slot VALUES (?1, ?2, ?3)",
                params![id, int(position as u64)?, slot.to_hex()],
            )?;
        }
        self.execute("DELETE FROM slot WHERE partition = ?1 AND position >= ?2", params![id, int(slots.len() as u64)?])
    }

    fn pending(&mut self, id: i64, pending: &[Pending]) -> Result<(), Error> {
        for gone in self.base.pending().iter().filter(|old| pending.iter().all(|new| new.id != old.id)) {
            self.execute("DELETE FROM pending WHERE partition = ?1 AND event_id = ?2", params![id, gone.id.to_hex()])?;
        }
        for (position, event) in pending.iter().enumerate() {
            if self.base.pending().get(position).is_some_and(|old| old.id == event.id) {
                continue;
            }
            self.execute(
                "INSERT OR REPLACE INTO pending VALUES (?1, ?2, ?3, ?4, ?5)",
                params![id, event.id.to_hex(), int(position as u64)?, int(event.revision)?, event.json],
            )?;
        }
        Ok(())
    }
}

fn int(value: u64) -> Result<i64, Error> {
    i64::try_from(value).map_err(|_| Error::Capacity { what: "revisions" })
}
