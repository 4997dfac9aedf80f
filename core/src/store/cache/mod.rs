//! The disposable message cache, `cache.sqlite`: rows a device can show before any network answer (`architecture.md`, decision 6;
//! R8b, R8d).
//!
//! Everything is kept under a partition, the pair of community host and account. A channel's pages lie one to a database row, its
//! newest page first, so that opening a channel reads one row (P12, P13). Beside them: the retained evidence, the structure
//! that evidence needs (parents and roots, also deleted ones), the newest relay-signed rosters and channel metadata, and the
//! relay's NIP-11 `self`.
//!
//! Nothing read from here is trusted: events come back as JSON and pass a [`Verifier`] before use (pitfalls H5). Nothing here is
//! needed: a file that is damaged, or of another version, is deleted and made anew, and the call goes on with an empty cache
//! (pitfalls H3). Calls block and belong on a blocking thread.
//!
//! Bounds: [`limits::CACHE_BYTES`] and [`limits::CACHE_EVENTS`] of pages per partition, the least recently kept channel evicted
//! first, evidence and rosters never with it; [`limits::CACHE_STRUCTURE`] structure events, the oldest forgotten. Evidence and
//! rosters are bounded by the rooms that own them.

mod schema;
mod stored;

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::error::{Error, StorageKind};
use crate::event::kept::KeptPage;
use crate::event::{SharedEvent, Verifier};
use crate::ids::{ChannelId, EventId, PublicKey};
use crate::limits;

pub use stored::StoredPage;

/// A community host and account, as this open cache numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition(i64);

/// Why an event is kept outside of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Retained evidence: messages that may count.
    Evidence,
    /// Verified parents and roots that evidence names, also deleted ones (R8d).
    Structure,
    /// People's profiles.
    Profile,
}

impl Class {
    fn number(self) -> i64 {
        match self {
            Self::Evidence => 1,
            Self::Structure => 2,
            Self::Profile => 3,
        }
    }
}

/// The open cache.
pub struct Cache {
    connection: Connection,
    /// None for a cache in memory.
    path: Option<PathBuf>,
    /// Partitions handed out, so that their numbers hold when the file is made anew.
    known: Vec<(Partition, String, PublicKey)>,
}

impl Cache {
    /// Opens the file, making it if it is not there. A damaged file, or one of another version, is replaced by an empty one.
    /// Fails with `storage` when the directory cannot be written or the disk is full.
    pub fn open(path: &Path) -> Result<Self, Error> {
        match schema::open(path) {
            Ok(connection) => Ok(Self { connection, path: Some(path.to_owned()), known: Vec::new() }),
            Err(error) if schema::is_damage(&error) => {
                schema::remove(path)?;
                let connection = schema::open(path).map_err(|e| storage(&e))?;
                Ok(Self { connection, path: Some(path.to_owned()), known: Vec::new() })
            }
            Err(error) => Err(storage(&error)),
        }
    }

    /// A cache that lasts as long as the value.
    pub fn in_memory() -> Result<Self, Error> {
        let connection = schema::open_in_memory().map_err(|e| storage(&e))?;
        Ok(Self { connection, path: None, known: Vec::new() })
    }

    /// Lets SQLite keep at most so many KiB of the file's pages in memory.
    pub fn keep_in_memory(&self, kib: i64) -> Result<(), Error> {
        self.connection.pragma_update(None, "cache_size", -kib).map_err(|e| storage(&e))
    }

    /// Closes the file and folds its log back, so that no lock and no second file stays.
    pub fn close(self) -> Result<(), Error> {
        // The checkpoint is a courtesy: SQLite does it on the last close, and a cache may lose its tail.
        let _ = self.connection.pragma_update(None, "wal_checkpoint", "TRUNCATE");
        self.connection.close().map_err(|(_, error)| storage(&error))
    }

    /// The partition of a community and account, made if it is not there.
    pub fn partition(&mut self, host: &str, account: &PublicKey) -> Result<Partition, Error> {
        let partition = self.run(|c| {
            c.execute(
                "INSERT INTO partition (host, account) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                params![host, account.0],
            )?;
            c.query_row("SELECT id FROM partition WHERE host = ?1 AND account = ?2", params![host, account.0], |r| {
                r.get(0).map(Partition)
            })
        })?;
        self.known.retain(|(known, ..)| *known != partition);
        self.known.push((partition, host.to_owned(), *account));
        Ok(partition)
    }

    /// Forgets a partition, and overwrites what it held.
    pub fn delete_partition(&mut self, partition: Partition) -> Result<(), Error> {
        self.known.retain(|(known, ..)| *known != partition);
        self.run(|c| {
            c.pragma_update(None, "secure_delete", true)?;
            let deleted = c.execute("DELETE FROM partition WHERE id = ?1", [partition.0]);
            c.pragma_update(None, "secure_delete", false)?;
            deleted.map(drop)
        })
    }

    /// Forgets every partition of an account, overwrites what they held, and closes.
    pub fn sign_out(mut self, account: &PublicKey) -> Result<(), Error> {
        self.run(|c| {
            c.pragma_update(None, "secure_delete", true)?;
            c.execute("DELETE FROM partition WHERE account = ?1", [account.0]).map(drop)
        })?;
        self.close()
    }

    /// The relay key last advertised to this partition.
    pub fn self_key(&mut self, partition: Partition) -> Result<Option<PublicKey>, Error> {
        self.run(|c| {
            let key: Option<Option<[u8; 32]>> =
                c.query_row("SELECT self_key FROM partition WHERE id = ?1", [partition.0], |r| r.get(0)).optional()?;
            Ok(key.flatten().map(PublicKey))
        })
    }

    /// Remembers the relay key, or that there is none.
    pub fn set_self_key(&mut self, partition: Partition, key: Option<&PublicKey>) -> Result<(), Error> {
        self.run(|c| {
            c.execute(
                "UPDATE partition SET self_key = ?2 WHERE id = ?1 AND self_key IS NOT ?2",
                params![partition.0, key.map(|k| k.0)],
            )
            .map(drop)
        })
    }

    /// The first page of a channel or thread, to be shown while the others are read.
    pub fn load_head(
        &mut self,
        partition: Partition,
        channel: ChannelId,
        root: Option<&EventId>,
    ) -> Result<Option<StoredPage>, Error> {
        Ok(self.load(partition, channel, root, 1)?.pop())
    }

    /// All pages of a channel, newest first, or of a thread.
    pub fn load_pages(
        &mut self,
        partition: Partition,
        channel: ChannelId,
        root: Option<&EventId>,
    ) -> Result<Vec<StoredPage>, Error> {
        self.load(partition, channel, root, limits::CACHE_EVENTS)
    }

    fn load(
        &mut self,
        partition: Partition,
        channel: ChannelId,
        root: Option<&EventId>,
        most: u32,
    ) -> Result<Vec<StoredPage>, Error> {
        self.run(|c| {
            let mut query = c.prepare(
                "SELECT page.body FROM page JOIN channel ON page.channel = channel.id
                 WHERE channel.part = ?1 AND channel.uuid = ?2 AND page.root = ?3 ORDER BY page.n LIMIT ?4",
            )?;
            let rows = query.query_map(params![partition.0, channel.0, root_key(root), most], |r| {
                r.get(0).map(|body| StoredPage { body })
            })?;
            rows.collect()
        })
    }

    /// Replaces the pages of a channel or thread, and evicts what is kept longest without being opened, if there is too much.
    pub fn put_pages(
        &mut self,
        partition: Partition,
        channel: ChannelId,
        root: Option<&EventId>,
        pages: &[KeptPage],
    ) -> Result<(), Error> {
        let bodies: Vec<(String, usize)> = pages.iter().map(stored::encode).collect();
        self.run(|c| {
            let tx = c.transaction()?;
            let channel = channel_number(&tx, partition, channel)?;
            tx.execute("DELETE FROM page WHERE channel = ?1 AND root = ?2", params![channel, root_key(root)])?;
            for (n, (body, events)) in (0i64..).zip(&bodies) {
                let bytes = i64::try_from(body.len()).unwrap_or(i64::MAX);
                let events = i64::try_from(*events).unwrap_or(i64::MAX);
                tx.execute(
                    "INSERT INTO page (channel, root, n, bytes, events, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    params![channel, root_key(root), n, bytes, events, body.as_bytes()],
                )?;
            }
            tx.execute(
                "UPDATE channel SET opened = 1 + (SELECT MAX(opened) FROM channel WHERE part = ?1) WHERE id = ?2",
                params![partition.0, channel],
            )?;
            evict(&tx, partition, channel)?;
            tx.commit()
        })
    }

    /// Forgets a channel's pages, evidence and structure: its access was lost.
    pub fn drop_channel(&mut self, partition: Partition, channel: ChannelId) -> Result<(), Error> {
        self.run(|c| {
            c.execute("DELETE FROM channel WHERE part = ?1 AND uuid = ?2", params![partition.0, channel.0]).map(drop)
        })
    }

    /// Keeps events in one commit. Known ones stay as they are.
    pub fn put_events(&mut self, partition: Partition, class: Class, events: &[SharedEvent]) -> Result<(), Error> {
        if events.is_empty() {
            return Ok(());
        }
        self.run(|c| {
            let tx = c.transaction()?;
            insert_events(&tx, partition, class, events)?;
            if class != Class::Evidence {
                tx.execute(
                    "DELETE FROM event WHERE part = ?1 AND class = ?2 AND seq <= (SELECT seq FROM event
                     WHERE part = ?1 AND class = ?2 ORDER BY seq DESC LIMIT 1 OFFSET ?3)",
                    params![partition.0, class.number(), limits::CACHE_STRUCTURE],
                )?;
            }
            tx.commit()
        })
    }

    /// Kept events as JSON, in the order in which they were first kept.
    pub fn load_events(&mut self, partition: Partition, class: Class) -> Result<Vec<String>, Error> {
        self.run(|c| {
            let mut query = c.prepare("SELECT body FROM event WHERE part = ?1 AND class = ?2 ORDER BY seq")?;
            let rows = query.query_map(params![partition.0, class.number()], |r| r.get(0).map(text))?;
            rows.collect()
        })
    }

    /// Forgets these events, or all of the class.
    pub fn drop_events(&mut self, partition: Partition, class: Class, ids: Option<&[EventId]>) -> Result<(), Error> {
        self.run(|c| {
            let tx = c.transaction()?;
            match ids {
                None => drop(tx.execute(
                    "DELETE FROM event WHERE part = ?1 AND class = ?2",
                    params![partition.0, class.number()],
                )?),
                Some(ids) => {
                    let mut delete = tx.prepare("DELETE FROM event WHERE part = ?1 AND class = ?2 AND id = ?3")?;
                    for id in ids {
                        delete.execute(params![partition.0, class.number(), id.0])?;
                    }
                }
            }
            tx.commit()
        })
    }

    /// Remembers relay-signed rosters and metadata (39000 to 39002), each in place of an older one for the same kind and `d`.
    /// Which of two is newer is the caller's to say; events without exactly one `d` are skipped.
    pub fn put_rosters(&mut self, partition: Partition, events: &[SharedEvent]) -> Result<(), Error> {
        self.run(|c| {
            let tx = c.transaction()?;
            for event in events {
                let Some(d) = event.single("d") else { continue };
                tx.execute(
                    "INSERT INTO roster (part, kind, d, body) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT (part, kind, d) DO UPDATE SET body = excluded.body",
                    params![partition.0, event.kind, d, event.to_json().as_bytes()],
                )?;
            }
            tx.commit()
        })
    }

    /// Remembers that these kept events are deleted.
    pub fn put_deleted(&mut self, partition: Partition, ids: &[EventId]) -> Result<(), Error> {
        self.run(|c| {
            let tx = c.transaction()?;
            {
                let mut mark = tx.prepare("UPDATE event SET deleted = 1 WHERE part = ?1 AND id = ?2")?;
                for id in ids {
                    mark.execute(params![partition.0, id.0])?;
                }
            }
            tx.commit()
        })
    }

    /// Kept events that are known to be deleted.
    pub fn load_deleted(&mut self, partition: Partition) -> Result<Vec<EventId>, Error> {
        self.run(|c| {
            let mut query = c.prepare("SELECT id FROM event WHERE part = ?1 AND deleted = 1")?;
            let rows = query.query_map([partition.0], |r| r.get(0).map(EventId))?;
            rows.collect()
        })
    }

    /// Remembers, or with none forgets, that access to a channel is denied for rosters dated before `floor` (seconds).
    pub fn set_denied(&mut self, partition: Partition, channel: ChannelId, floor: Option<u64>) -> Result<(), Error> {
        let floor = floor.map(|f| i64::try_from(f).unwrap_or(i64::MAX));
        self.run(|c| {
            match floor {
                Some(floor) => c.execute(
                    "INSERT INTO denied (part, uuid, floor) VALUES (?1, ?2, ?3)
                     ON CONFLICT (part, uuid) DO UPDATE SET floor = excluded.floor",
                    params![partition.0, channel.0, floor],
                ),
                None => c.execute("DELETE FROM denied WHERE part = ?1 AND uuid = ?2", params![partition.0, channel.0]),
            }
            .map(drop)
        })
    }

    /// Denied channels with their floors.
    pub fn load_denied(&mut self, partition: Partition) -> Result<Vec<(ChannelId, u64)>, Error> {
        self.run(|c| {
            let mut query = c.prepare("SELECT uuid, floor FROM denied WHERE part = ?1 ORDER BY uuid")?;
            let rows = query.query_map([partition.0], |r| {
                Ok((ChannelId(r.get(0)?), u64::try_from(r.get::<_, i64>(1)?).unwrap_or(0)))
            })?;
            rows.collect()
        })
    }

    /// Remembers a small text by name, in place of an older one.
    pub fn set_text(&mut self, partition: Partition, name: &str, body: &str) -> Result<(), Error> {
        self.run(|c| {
            c.execute(
                "INSERT INTO note (part, name, body) VALUES (?1, ?2, ?3)
                 ON CONFLICT (part, name) DO UPDATE SET body = excluded.body",
                params![partition.0, name, body],
            )
            .map(drop)
        })
    }

    /// A text remembered by name.
    pub fn text(&mut self, partition: Partition, name: &str) -> Result<Option<String>, Error> {
        self.run(|c| {
            c.query_row("SELECT body FROM note WHERE part = ?1 AND name = ?2", params![partition.0, name], |r| r.get(0))
                .optional()
        })
    }

    /// Remembered rosters and metadata as JSON, by kind and `d`.
    pub fn load_rosters(&mut self, partition: Partition) -> Result<Vec<String>, Error> {
        self.run(|c| {
            let mut query = c.prepare("SELECT body FROM roster WHERE part = ?1 ORDER BY kind, d")?;
            let rows = query.query_map([partition.0], |r| r.get(0).map(text))?;
            rows.collect()
        })
    }

    /// Runs `f`; if the file turns out damaged, makes an empty one and runs it again there.
    fn run<T>(&mut self, f: impl Fn(&mut Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        match f(&mut self.connection) {
            Err(error) if schema::is_damage(&error) => {
                self.rebuild()?;
                f(&mut self.connection).map_err(|e| storage(&e))
            }
            other => other.map_err(|e| storage(&e)),
        }
    }

    /// Deletes the file and starts an empty one, in which partitions handed out keep their numbers.
    fn rebuild(&mut self) -> Result<(), Error> {
        let fresh = schema::open_in_memory().map_err(|e| storage(&e))?;
        drop(std::mem::replace(&mut self.connection, fresh));
        if let Some(path) = &self.path {
            schema::remove(path)?;
            self.connection = schema::open(path).map_err(|e| storage(&e))?;
        }
        for (partition, host, account) in &self.known {
            self.connection
                .execute(
                    "INSERT INTO partition (id, host, account) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
                    params![partition.0, host, account.0],
                )
                .map_err(|e| storage(&e))?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cache(…)")
    }
}

/// Verifies pages read from the cache. A page that cannot be read ends the list: the ones below it do not join it any more.
pub fn verify(pages: &[StoredPage], verifier: &Verifier) -> Vec<KeptPage> {
    pages.iter().map_while(|page| page.verify(verifier)).collect()
}

fn root_key(root: Option<&EventId>) -> &[u8] {
    root.map_or(&[], |root| root.as_bytes())
}

fn text(body: Vec<u8>) -> String {
    String::from_utf8(body).unwrap_or_default()
}

fn channel_number(c: &Connection, partition: Partition, channel: ChannelId) -> rusqlite::Result<i64> {
    c.execute(
        "INSERT INTO channel (part, uuid) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        params![partition.0, channel.0],
    )?;
    c.query_row("SELECT id FROM channel WHERE part = ?1 AND uuid = ?2", params![partition.0, channel.0], |r| r.get(0))
}

fn insert_events(c: &Connection, partition: Partition, class: Class, events: &[SharedEvent]) -> rusqlite::Result<()> {
    let mut numbers = std::collections::BTreeMap::new();
    let mut insert = c.prepare(
        "INSERT INTO event (part, class, id, channel, body) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
    )?;
    for event in events {
        let channel = match event.channel() {
            None => None,
            Some(id) => match numbers.get(&id) {
                Some(number) => Some(*number),
                None => {
                    let number = channel_number(c, partition, id)?;
                    numbers.insert(id, number);
                    Some(number)
                }
            },
        };
        insert.execute(params![partition.0, class.number(), event.id.0, channel, event.to_json().as_bytes()])?;
    }
    Ok(())
}

/// Deletes pages of the channels kept longest ago, other than `spare`, until the partition is within its bounds.
fn evict(c: &Connection, partition: Partition, spare: i64) -> rusqlite::Result<()> {
    let mut sum = c.prepare(
        "SELECT COALESCE(SUM(bytes), 0), COALESCE(SUM(events), 0) FROM page
         JOIN channel ON page.channel = channel.id WHERE channel.part = ?1",
    )?;
    loop {
        let (bytes, events): (i64, i64) = sum.query_row([partition.0], |r| Ok((r.get(0)?, r.get(1)?)))?;
        if bytes <= limits::CACHE_BYTES && events <= i64::from(limits::CACHE_EVENTS) {
            return Ok(());
        }
        let victim: Option<i64> = c
            .query_row(
                "SELECT id FROM channel WHERE part = ?1 AND id <> ?2 AND EXISTS
                 (SELECT 1 FROM page WHERE page.channel = channel.id) ORDER BY opened LIMIT 1",
                params![partition.0, spare],
                |r| r.get(0),
            )
            .optional()?;
        let Some(victim) = victim else { return Ok(()) };
        c.execute("DELETE FROM page WHERE channel = ?1", [victim])?;
    }
}

fn storage(error: &rusqlite::Error) -> Error {
    let kind = match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DiskFull) => StorageKind::Full,
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => StorageKind::Locked,
        Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => StorageKind::Corrupt,
        _ => StorageKind::Io,
    };
    Error::Storage { kind }
}

#[cfg(test)]
mod tests;
