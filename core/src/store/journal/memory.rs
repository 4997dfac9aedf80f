//! The journal without a file, for tests: same rules, same fault points. A [`MemoryDisk`] plays the part of the file and may be shared, so
//! that a restart or a second window is another [`MemoryJournal`] on the same disk.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Cancel, Effect, Hooks, JournalStore, LEFT, Partition, PublisherLock, Saved, at, check_pending};
use crate::error::Error;
use crate::ids::PublicKey;
use crate::journal::{Coverage, Fresh, Mutation, Record, apply};

/// What lasts.
#[derive(Debug, Clone, Default)]
pub struct MemoryDisk(Arc<Mutex<Disk>>);

#[derive(Debug, Default)]
struct Disk {
    next_id: u64,
    partitions: BTreeMap<Partition, Stored>,
    locks: BTreeSet<Partition>,
}

#[derive(Debug, Clone)]
struct Stored {
    id: u64,
    generation: u64,
    record: Record,
}

impl MemoryDisk {
    /// An empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// Deletes all partitions of an account.
    pub fn sign_out(&self, account: &PublicKey) {
        self.lock().partitions.retain(|partition, _| partition.account != *account);
    }

    /// A disk of its own with the same content, as a backup.
    pub fn copy(&self) -> Self {
        let disk = self.lock();
        let copy = Disk { next_id: disk.next_id, partitions: disk.partitions.clone(), locks: BTreeSet::new() };
        Self(Arc::new(Mutex::new(copy)))
    }

    fn lock(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One partition on a [`MemoryDisk`].
pub struct MemoryJournal {
    disk: MemoryDisk,
    partition: Partition,
    hooks: Arc<dyn Hooks>,
    record: Record,
    /// Id and generation of the stored record this one is; none while nothing is stored.
    version: Option<(u64, u64)>,
    /// `record` holds another window's changes that no caller was given yet.
    undelivered: bool,
    closed: bool,
}

impl MemoryJournal {
    /// Opens a partition.
    pub fn open(disk: &MemoryDisk, partition: Partition, fresh: Fresh, hooks: Arc<dyn Hooks>) -> Self {
        let stored = disk.lock().partitions.get(&partition).cloned();
        let version = stored.as_ref().map(|stored| (stored.id, stored.generation));
        let record = stored.map_or_else(|| Record::new(fresh), |stored| stored.record);
        Self { disk: disk.clone(), partition, hooks, record, version, undelivered: false, closed: false }
    }

    fn refresh(&mut self, disk: &Disk) -> Result<(), Error> {
        let stored = disk.partitions.get(&self.partition);
        let version = stored.map(|stored| (stored.id, stored.generation));
        if self.version.is_some_and(|(id, _)| version.map(|v| v.0) != Some(id)) {
            return Err(LEFT);
        }
        let Some(stored) = stored.filter(|_| version != self.version) else { return Ok(()) };
        self.record = stored.record.clone();
        self.version = version;
        self.undelivered = true;
        Ok(())
    }

    fn open_disk(&self) -> Result<MemoryDisk, Error> {
        if self.closed { Err(Error::Closed) } else { Ok(self.disk.clone()) }
    }
}

impl JournalStore for MemoryJournal {
    fn record(&self) -> &Record {
        &self.record
    }

    fn update(&mut self, mutation: &Mutation, facts: &dyn Coverage, cancel: &Cancel) -> Result<Saved, Error> {
        let shared = self.open_disk()?;
        check_pending(mutation, &self.partition.account)?;
        let mut disk = shared.lock();
        at(&*self.hooks, Effect::Begin)?;
        self.refresh(&disk)?;
        cancel.check()?;
        let diff = apply(&self.record, mutation, facts)?;
        if !diff.is_empty() {
            for effect in [Effect::Save, Effect::Row, Effect::Commit] {
                at(&*self.hooks, effect)?;
            }
            cancel.check()?;
            self.record.adopt(&diff);
            let id = self.version.map_or(disk.next_id, |(id, _)| id);
            let generation = self.version.map_or(1, |(_, generation)| generation + 1);
            disk.next_id = disk.next_id.max(id + 1);
            disk.partitions.insert(self.partition.clone(), Stored { id, generation, record: self.record.clone() });
            self.version = Some((id, generation));
            let _ = at(&*self.hooks, Effect::Committed);
        }
        Ok(Saved::of(diff, &mut self.undelivered, &self.record))
    }

    fn poll_changes(&mut self) -> Result<Option<Box<Record>>, Error> {
        let shared = self.open_disk()?;
        self.refresh(&shared.lock())?;
        Ok(std::mem::take(&mut self.undelivered).then(|| Box::new(self.record.clone())))
    }

    fn try_publisher_lock(&mut self) -> Result<Option<PublisherLock>, Error> {
        let shared = self.open_disk()?;
        let free = shared.lock().locks.insert(self.partition.clone());
        let held = || Held { disk: shared.clone(), partition: self.partition.clone() };
        Ok(free.then(|| PublisherLock(Box::new(held()))))
    }

    fn tidy(&mut self) -> Result<(), Error> {
        self.open_disk().map(drop)
    }

    fn leave(&mut self) -> Result<(), Error> {
        let shared = self.open_disk()?;
        at(&*self.hooks, Effect::Delete)?;
        shared.lock().partitions.remove(&self.partition);
        // From now on this handle's record is that of a community that was left.
        self.version = self.version.or(Some((u64::MAX, 0)));
        Ok(())
    }

    fn close(&mut self) -> Result<(), Error> {
        self.closed = true;
        Ok(())
    }
}

struct Held {
    disk: MemoryDisk,
    partition: Partition,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.disk.lock().locks.remove(&self.partition);
    }
}
