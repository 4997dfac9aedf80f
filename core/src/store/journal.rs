//! Where the durable record of reading lies: the port [`JournalStore`], its SQLite and memory adapters, and the fault points
//! tests use.
//!
//! Promises. An update is one transaction on the latest stored record, so several windows and processes merge. What
//! [`JournalStore::update`] acknowledged is on the disk; what it failed with left nothing behind, in the file or in memory. A damaged file or
//! record is a visible error and its bytes stay as they are (`unread.md` 8.1). Leaving a community deletes exactly its
//! partition. Publishing is for one process at a time, by a lock that dies with its holder.
//!
//! Calls block; the session makes them from a blocking thread.

mod memory;
mod schema;
mod sqlite;

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Error, StorageKind};
use crate::event::{Verifier, kinds};
use crate::ids::{PublicKey, SlotId};
use crate::journal::{Coverage, Diff, Mutation, Record, Signed};

pub use memory::{MemoryDisk, MemoryJournal};
pub use sqlite::SqliteJournal;

/// Whose record it is: one account in one community.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Partition {
    /// The community's host, normalised by the caller.
    pub host: String,
    /// The account.
    pub account: PublicKey,
}

impl fmt::Debug for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Partition(…)")
    }
}

/// What an update did.
#[derive(Debug, Clone, PartialEq)]
pub enum Saved {
    /// Nothing needed saving; nothing was written.
    Unchanged,
    /// Saved; to be adopted by whoever holds the record as it was returned last.
    Changed(Diff),
    /// Another process had written meanwhile: the whole record as it stands now, this update included.
    Replaced(Box<Record>),
}

impl Saved {
    /// How an update ended that came to `diff`: with the whole `record` where the holder has not been given yet what another process wrote.
    pub(super) fn of(diff: Diff, undelivered: &mut bool, record: &Record) -> Self {
        if std::mem::take(undelivered) {
            Self::Replaced(Box::new(record.clone()))
        } else if diff.is_empty() {
            Self::Unchanged
        } else {
            Self::Changed(diff)
        }
    }

    /// Brings a held record up to date.
    pub fn adopt_into(self, record: &mut Record) {
        match self {
            Self::Unchanged => {}
            Self::Changed(diff) => record.adopt(&diff),
            Self::Replaced(new) => *record = *new,
        }
    }
}

/// A flag that voids an update which has not committed yet: access lost, cache cleared, session closed. Looked at last
/// before the commit.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Voids every update that was given this flag and has not committed.
    pub fn set(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether it was set.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    fn check(&self) -> Result<(), Error> {
        if self.is_set() { Err(Error::Cancelled { why: "no longer wanted" }) } else { Ok(()) }
    }
}

/// Held while publishing. Dropping it, or the death of the process, gives it up.
pub struct PublisherLock(#[expect(dead_code, reason = "only held")] Box<dyn Any + Send>);

impl fmt::Debug for PublisherLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PublisherLock")
    }
}

/// The journal of one partition.
pub trait JournalStore: Send {
    /// The record as it was read or saved last. A record nothing was saved in yet has its identity in memory only: it is stored with
    /// the first update.
    fn record(&self) -> &Record;

    /// Applies a mutation to the latest stored record and saves the result in one transaction. `facts` answers the questions of
    /// [`Record::questions`].
    ///
    /// Fails, with nothing changed, with [`Error::Storage`] when the disk refuses, [`Error::Cancelled`] when a fence or `cancel` says
    /// so or the community was left, [`Error::Capacity`] at a bound, [`Error::Closed`] after [`JournalStore::close`].
    fn update(&mut self, mutation: &Mutation, facts: &dyn Coverage, cancel: &Cancel) -> Result<Saved, Error>;

    /// The record, if another window or process has written it since; cheap when not. Writes nothing.
    fn poll_changes(&mut self) -> Result<Option<Box<Record>>, Error>;

    /// The right to publish for this partition; none while somebody else holds it.
    fn try_publisher_lock(&mut self) -> Result<Option<PublisherLock>, Error>;

    /// Does ahead what would make a coming update slow: writes the log back and makes room in it. To be called when nobody waits, after
    /// opening and after updates; cheap when there is nothing to do. Changes nothing that anybody can read.
    fn tidy(&mut self) -> Result<(), Error>;

    /// Deletes this partition, follow choices included, and nothing else; later updates fail with [`Error::Cancelled`].
    fn leave(&mut self) -> Result<(), Error>;

    /// Writes everything to its final place and releases every file. Later calls fail with [`Error::Closed`].
    fn close(&mut self) -> Result<(), Error>;
}

/// A point at which a store is about to do, or has just done, something that lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Before the file and its tables are created.
    Create,
    /// Before an older schema is migrated.
    Migrate,
    /// Before a transaction begins.
    Begin,
    /// Before the first write of an update that has something to save.
    Save,
    /// Before each written row.
    Row,
    /// Before the commit.
    Commit,
    /// After the commit; the update is not acknowledged yet. A failure here changes nothing any more.
    Committed,
    /// Before partitions are deleted.
    Delete,
    /// Before a checkpoint.
    Checkpoint,
    /// Before room is made in the log.
    Reserve,
}

/// Fault points, for tests: an error returned here happens to the store.
pub trait Hooks: Send + Sync {
    /// Called at every effect.
    fn at(&self, effect: Effect) -> Result<(), StorageKind>;
}

/// No faults.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHooks;

impl Hooks for NoHooks {
    fn at(&self, _: Effect) -> Result<(), StorageKind> {
        Ok(())
    }
}

/// Faults that were ordered beforehand, one after the other.
#[derive(Debug, Default)]
pub struct Faults(Mutex<VecDeque<Fault>>);

#[derive(Debug, Clone, Copy)]
struct Fault {
    at: Effect,
    kind: StorageKind,
    skip: u32,
    times: u32,
}

impl Faults {
    /// No fault is armed.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// After `skip` passes of `at`, the next `times` fail with `kind`. With [`Effect::Save`] that counts updates that have something to
    /// save.
    pub fn arm(&self, at: Effect, kind: StorageKind, skip: u32, times: u32) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(Fault { at, kind, skip, times });
    }
}

impl Hooks for Faults {
    fn at(&self, effect: Effect) -> Result<(), StorageKind> {
        let mut faults = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(fault) = faults.iter_mut().find(|fault| fault.at == effect && fault.times > 0) else {
            return Ok(());
        };
        if fault.skip > 0 {
            fault.skip -= 1;
            return Ok(());
        }
        fault.times -= 1;
        let kind = fault.kind;
        faults.retain(|fault| fault.times > 0);
        Err(kind)
    }
}

fn at(hooks: &dyn Hooks, effect: Effect) -> Result<(), Error> {
    hooks.at(effect).map_err(|kind| Error::Storage { kind })
}

/// What a pending event is, if it is read state of this account, correctly signed.
fn signed(verifier: &Verifier, account: &PublicKey, json: &str) -> Option<Signed> {
    let event = verifier.event(json).ok()?;
    let slot = SlotId::parse(event.single("d")?.strip_prefix("read-state:")?).ok()?;
    let fits = event.pubkey == *account
        && event.kind == kinds::APP_DATA
        && event.values("t").filter(|t| *t == "read-state").count() == 1;
    fits.then_some(Signed { id: event.id, created_at: event.created_at, slot })
}

/// Refuses to save a pending event that could not be loaded again.
fn check_pending(mutation: &Mutation, account: &PublicKey) -> Result<(), Error> {
    let events = match mutation {
        Mutation::SavePending(events) => events.as_slice(),
        Mutation::ReplacePending { event, .. } => std::slice::from_ref(event),
        _ => return Ok(()),
    };
    let verifier = Verifier::new();
    let fits = events.iter().all(|event| {
        let (id, slot, created_at) = (event.id, event.slot, event.created_at.into());
        signed(&verifier, account, &event.json) == Some(Signed { id, created_at, slot })
    });
    if fits { Ok(()) } else { Err(Error::InvalidArgument { what: "pending event" }) }
}

/// What an update of a partition fails with once that was deleted: nothing comes back by itself.
const LEFT: Error = Error::Cancelled { why: "this community was left" };

#[cfg(test)]
#[path = "journal/tests.rs"]
mod tests;

#[cfg(test)]
#[path = "journal/file_tests.rs"]
mod file_tests;
