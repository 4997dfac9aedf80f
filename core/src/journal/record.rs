//! The record itself: one per (community host, account), held in memory as it stands in the file.
//!
//! Invariants, established by [`super::Stored::validate`] and kept by [`Record::adopt`], the only ways in: a key is in the journal or in
//! the reserve, never in both; only journal keys have an interaction order; every interaction order and local mark is between 1
//! and `revision`; `accepted_revision ≤ revision`; running totals equal what counting anew gives; bounds of `limits` hold.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::bytes;
use super::diff::Diff;
use super::follows::Follows;
use super::key::{Key, LocalKey};
use super::retain::ReserveRank;
use crate::ids::{ChannelId, EventId, SlotId};

/// Where a frontier is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The sync journal, with the revision of its last local interaction.
    Journal {
        /// Revision of the last local use; 0 for none, as for a peer's value.
        recent: u64,
    },
    /// The local-only reserve (`unread.md` 8.7).
    Reserve,
}

/// A frontier and where it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// Read through this second.
    pub value: u32,
    /// Journal or reserve.
    pub place: Place,
}

/// A frontier this installation advanced itself and therefore publishes (R19).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Own {
    /// The greatest value it advanced to.
    pub value: u32,
    /// The slot that carries it; none until it is first published.
    pub slot: Option<SlotId>,
}

/// Everything kept under one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Row {
    /// The frontier, if one is kept.
    pub held: Option<Held>,
    /// This installation's own part of it.
    pub own: Option<Own>,
    /// Channel of the message the key names, where known (`unread.md` 8.6). Only beside `held`.
    pub home: Option<ChannelId>,
}

impl Row {
    /// How far the key is read: what is kept, or, after that was evicted, what this installation still publishes.
    pub fn frontier(&self) -> Option<u32> {
        self.held.map(|held| held.value).or(self.own.map(|own| own.value))
    }

    /// Nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.held.is_none() && self.own.is_none()
    }
}

/// An NIP-RS manual-unread register (`unread.md` 9.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Override {
    /// `ov_s:`.
    pub set: u32,
    /// `ov_c:`.
    pub clear: u32,
    /// `ov_b:`.
    pub baseline: u32,
}

impl Override {
    /// Component-wise maximum: commutative, associative, idempotent.
    pub fn merge(self, other: Self) -> Self {
        Self {
            set: self.set.max(other.set),
            clear: self.clear.max(other.clear),
            baseline: self.baseline.max(other.baseline),
        }
    }

    /// Whether it holds its key unread, given the key's generic frontier (missing = 0); clear wins ties (`unread.md` 5.1).
    pub fn is_active(self, frontier: u32) -> bool {
        self.set > 0 && self.set > self.clear && frontier <= self.baseline
    }
}

/// A signed event that was saved before it was sent (R20).
#[derive(Clone, PartialEq, Eq)]
pub struct Pending {
    /// Its id.
    pub id: EventId,
    /// The coordinate it replaces.
    pub slot: SlotId,
    /// Its time.
    pub created_at: u32,
    /// The revision it covers.
    pub revision: u64,
    /// Its exact JSON, sent byte for byte.
    pub json: String,
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pending({} bytes)", self.json.len())
    }
}

/// Identity of a record that does not exist yet: random, given by the caller.
#[derive(Clone, PartialEq, Eq)]
pub struct Fresh {
    /// The primary slot.
    pub slot: SlotId,
    /// 1 to 64 code points; a random UUID.
    pub client_id: String,
}

crate::ids::hidden_debug!(Fresh);

/// Scalars of the record.
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    /// This installation's NIP-RS client id.
    pub client_id: String,
    /// Revision of local intent.
    pub revision: u64,
    /// Local intent up to here needs no publication any more.
    pub accepted_revision: u64,
    /// Time of the newest event signed here; publication clocks go on from it (`unread.md` 9.9).
    pub last_created_at: u32,
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Header(revision {}, accepted {})", self.revision, self.accepted_revision)
    }
}

/// The durable record of reading of one account in one community.
#[derive(Clone, PartialEq)]
pub struct Record {
    pub(super) header: Header,
    pub(super) slots: Vec<SlotId>,
    pub(super) rows: BTreeMap<Key, Row>,
    pub(super) overrides: BTreeMap<Key, Override>,
    pub(super) local: BTreeMap<LocalKey, u64>,
    pub(super) pending: Vec<Pending>,
    pub(super) follows: Follows,
    pub(super) totals: Totals,
    /// Kept keys by the channel they are known to belong to.
    pub(super) by_home: BTreeMap<ChannelId, BTreeSet<Key>>,
    /// Kept keys that name a message whose channel is not known.
    pub(super) homeless: BTreeSet<Key>,
    /// Reserve keys in the order they are kept by, the first to go last.
    pub(super) reserve_order: BTreeSet<ReserveRank>,
}

/// Running totals, so that a save need not count everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Totals {
    pub(super) journal_keys: usize,
    /// Entries only, without the frame (`unread.md` 8.3).
    pub(super) journal_bytes: usize,
    pub(super) reserve_keys: usize,
    /// Entries with a comma each, without the frame.
    pub(super) reserve_bytes: usize,
    pub(super) own_keys: usize,
}

impl Record {
    /// A record nothing has been written to.
    pub fn new(fresh: Fresh) -> Self {
        Self {
            header: Header { client_id: fresh.client_id, revision: 0, accepted_revision: 0, last_created_at: 0 },
            slots: vec![fresh.slot],
            rows: BTreeMap::new(),
            overrides: BTreeMap::new(),
            local: BTreeMap::new(),
            pending: Vec::new(),
            follows: Follows::default(),
            totals: Totals::default(),
            by_home: BTreeMap::new(),
            homeless: BTreeSet::new(),
            reserve_order: BTreeSet::new(),
        }
    }

    /// The greatest value kept for `key`, in the journal or the reserve: what unread evaluation reads.
    pub fn frontier(&self, key: &Key) -> Option<u32> {
        self.rows.get(key).and_then(Row::frontier)
    }

    /// Everything kept under `key`.
    pub fn row(&self, key: &Key) -> Option<&Row> {
        self.rows.get(key)
    }

    /// All rows, in map order.
    pub fn rows(&self) -> impl Iterator<Item = (&Key, &Row)> {
        self.rows.iter()
    }

    /// Whether one of `keys` reads as far as `value`.
    pub fn is_read<'k>(&self, value: u64, keys: impl IntoIterator<Item = &'k Key>) -> bool {
        keys.into_iter().any(|key| self.frontier(key).is_some_and(|f| u64::from(f) >= value))
    }

    /// Frontiers this installation advanced (R19), in map order. Never a `msg:` key.
    pub fn own(&self) -> impl Iterator<Item = (&Key, &Own)> {
        self.rows.iter().filter_map(|(key, row)| row.own.as_ref().map(|own| (key, own)))
    }

    /// The overrides, in map order.
    pub fn overrides(&self) -> &BTreeMap<Key, Override> {
        &self.overrides
    }

    /// The revision at which `key` was marked unread by hand, if it is.
    pub fn local_mark(&self, key: &LocalKey) -> Option<u64> {
        self.local.get(key).copied()
    }

    /// All manual marks, in map order.
    pub fn local_marks(&self) -> impl Iterator<Item = (&LocalKey, u64)> {
        self.local.iter().map(|(key, revision)| (key, *revision))
    }

    /// Scalars.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Revision of local intent.
    pub fn revision(&self) -> u64 {
        self.header.revision
    }

    /// Whether local intent is saved that the relay is not known to hold.
    pub fn is_unpublished(&self) -> bool {
        self.header.revision > self.header.accepted_revision
    }

    /// The coordinates of this installation, the primary first.
    pub fn slots(&self) -> &[SlotId] {
        &self.slots
    }

    /// Saved signed events, the first to be sent first.
    pub fn pending(&self) -> &[Pending] {
        &self.pending
    }

    /// Follow choices.
    pub fn follows(&self) -> &Follows {
        &self.follows
    }

    /// The channel of a message that a kept key names, where known.
    pub fn home(&self, id: &EventId) -> Option<ChannelId> {
        [Key::Message(*id), Key::Thread(*id), Key::ThreadActivity(*id)]
            .iter()
            .find_map(|key| self.rows.get(key).and_then(|row| row.home))
    }

    /// Messages that kept keys name and whose channel is not known, with the value of the key.
    pub(super) fn homeless(&self) -> impl Iterator<Item = (EventId, u32)> + '_ {
        self.homeless.iter().filter_map(|key| Some((key.message()?, self.rows.get(key)?.held?.value)))
    }

    /// Bytes and keys of the sync journal as `unread.md` 8.3 counts them, overrides included.
    pub fn journal_size(&self) -> (usize, usize) {
        let overrides: usize = self.overrides.iter().map(|(key, value)| bytes::override_entry(key, *value)).sum();
        (
            bytes::blob_base(&self.header.client_id) + self.totals.journal_bytes + overrides,
            self.totals.journal_keys + 3 * self.overrides.len(),
        )
    }

    /// Exact bytes and keys of the reserve as JSON.
    pub fn reserve_size(&self) -> (usize, usize) {
        (bytes::reserve_total(self.totals.reserve_keys, self.totals.reserve_bytes), self.totals.reserve_keys)
    }

    /// Takes over a saved change. `diff` must come from [`super::apply()`] on this very state.
    pub fn adopt(&mut self, diff: &Diff) {
        for (key, row) in &diff.rows {
            self.put(key, *row);
        }
        for (key, value) in &diff.overrides {
            self.overrides.insert(key.clone(), *value);
        }
        for (key, revision) in &diff.local {
            match revision {
                Some(revision) => self.local.insert(*key, *revision),
                None => self.local.remove(key),
            };
        }
        self.follows.adopt(&diff.follows);
        if let Some(slots) = &diff.slots {
            self.slots.clone_from(slots);
        }
        if let Some(pending) = &diff.pending {
            self.pending.clone_from(pending);
        }
        if let Some(header) = &diff.header {
            self.header = header.clone();
        }
    }

    /// Replaces the row of `key` and keeps totals and indexes true.
    pub(super) fn put(&mut self, key: &Key, row: Row) {
        if let Some(old) = self.rows.get(key).copied() {
            self.account(key, &old, false);
        }
        if row.is_empty() {
            self.rows.remove(key);
            return;
        }
        self.account(key, &row, true);
        self.rows.insert(key.clone(), row);
    }

    fn account(&mut self, key: &Key, row: &Row, add: bool) {
        self.totals.count(key, row, add);
        let Some(held) = row.held else { return };
        if matches!(held.place, Place::Reserve) {
            let rank = ReserveRank::new(key.clone(), held.value);
            if add {
                self.reserve_order.insert(rank);
            } else {
                self.reserve_order.remove(&rank);
            }
        }
        match row.home {
            Some(home) if add => {
                self.by_home.entry(home).or_default().insert(key.clone());
            }
            Some(home) => {
                if let Some(keys) = self.by_home.get_mut(&home) {
                    keys.remove(key);
                    if keys.is_empty() {
                        self.by_home.remove(&home);
                    }
                }
            }
            None if key.message().is_none() => {}
            None if add => {
                self.homeless.insert(key.clone());
            }
            None => {
                self.homeless.remove(key);
            }
        }
    }
}

impl Totals {
    /// Adds or takes away what one row weighs.
    pub(super) fn count(&mut self, key: &Key, row: &Row, add: bool) {
        let step = |total: &mut usize, by: usize| {
            *total = if add { total.saturating_add(by) } else { total.saturating_sub(by) };
        };
        if row.own.is_some() {
            step(&mut self.own_keys, 1);
        }
        match row.held {
            Some(Held { value, place: Place::Journal { .. } }) => {
                step(&mut self.journal_keys, 1);
                step(&mut self.journal_bytes, bytes::entry(key, value));
            }
            Some(Held { value, place: Place::Reserve }) => {
                step(&mut self.reserve_keys, 1);
                step(&mut self.reserve_bytes, bytes::reserve_entry(key, value));
            }
            None => {}
        }
    }
}

// Shapes only: the record is the most private thing there is.
impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Record({} rows, {} overrides, {} local marks, {} pending, revision {})",
            self.rows.len(),
            self.overrides.len(),
            self.local.len(),
            self.pending.len(),
            self.header.revision
        )
    }
}
