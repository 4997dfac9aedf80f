//! Which slot carries which key, and what has to be sent in which order (`unread.md` 9.8; R19, R20).
//!
//! Algorithm. Every publishable own frontier has a slot or none yet. A slot that no longer fits its budget gives up keys: those the
//! relay lacks first, then the others, in key order. Keys without a slot go, in key order, to the slot with most room, else to a new
//! slot if one may be added. Only a slot that lacks one of its own values on the relay, or gave a key up, is sent; slots that gave
//! keys up come last, so a key's new home is always there before its old one is without it.
//!
//! Invariants: a key that fits stays where it is; a slot that gives keys up takes none in the same plan; every blob of a plan fits
//! [`limits::BLOB_BYTES`]; nothing at or below the 30-day floor and no `msg:` key is in one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::blob;
use super::discovery::Snapshot;
use crate::entropy::Entropy;
use crate::error::Error;
use crate::event::app_data;
use crate::ids::{PublicKey, SlotId};
use crate::journal::{Key, Record, bytes};
use crate::limits;
use crate::order::RowKey;

/// What the relay was last seen to hold at one of this installation's coordinates.
#[derive(Clone, PartialEq, Eq)]
pub struct Observed {
    /// Time and id of the event.
    pub key: RowKey,
    /// Whether it carries this installation's client id; if not, the slot is lost (R21).
    pub ours: bool,
    /// Its frontiers.
    pub frontiers: BTreeMap<Key, u32>,
}

impl std::fmt::Debug for Observed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Observed({} frontiers, ours {})", self.frontiers.len(), self.ours)
    }
}

/// What was last seen at each own coordinate.
pub type Sightings = BTreeMap<SlotId, Observed>;

/// One blob to send.
#[derive(Clone, PartialEq, Eq)]
pub struct Send {
    /// Where.
    pub slot: SlotId,
    /// What.
    pub frontiers: BTreeMap<Key, u32>,
}

impl std::fmt::Debug for Send {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Send({} frontiers)", self.frontiers.len())
    }
}

/// What to do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// New slots, to be saved before anything is sent.
    pub add: Vec<SlotId>,
    /// Keys and the slot that carries them from now on, to be saved with the new slots.
    pub carry: Vec<(Key, SlotId)>,
    /// Blobs in the order they must be sent.
    pub sends: Vec<Send>,
    /// Keys that no slot has room for, or whose slot may not be published now.
    pub left_out: usize,
}

/// The own frontiers that are to be on the relay at `server_now`: above the 30-day floor and no message marks.
pub fn publishable(record: &Record, server_now: u64) -> impl Iterator<Item = (&Key, u32, Option<SlotId>)> {
    let floor = server_now.saturating_sub(limits::FLOOR_AGE);
    record
        .own()
        .filter(move |(key, own)| u64::from(own.value) > floor && !key.is_message())
        .map(|(key, own)| (key, own.value, own.slot.filter(|slot| record.slots().contains(slot))))
}

/// Whether the relay lacks this value in that slot, as far as it was seen.
fn lacks(seen: &Sightings, slot: SlotId, key: &Key, value: u32) -> bool {
    seen.get(&slot).is_none_or(|o| !o.ours || o.frontiers.get(key).is_none_or(|held| *held < value))
}

/// Whether the relay lacks some own value, as far as it was seen.
pub fn is_anything_missing(record: &Record, seen: &Sightings, server_now: u64) -> bool {
    publishable(record, server_now).any(|(key, value, slot)| slot.is_none_or(|slot| lacks(seen, slot, key, value)))
}

/// Whether the relay lacks some own value that this slot carries.
pub fn is_slot_missing_any(record: &Record, seen: &Sightings, slot: SlotId, server_now: u64) -> bool {
    publishable(record, server_now).any(|(key, value, at)| at == Some(slot) && lacks(seen, slot, key, value))
}

struct Bin {
    slot: SlotId,
    keys: BTreeMap<Key, u32>,
    /// Sum of entry sizes, each with its comma.
    entries: usize,
    gave_up: bool,
    usable: bool,
}

impl Bin {
    fn new(slot: SlotId, usable: bool) -> Self {
        Self { slot, keys: BTreeMap::new(), entries: 0, gave_up: false, usable }
    }

    fn put(&mut self, key: Key, value: u32) {
        self.entries = self.entries.saturating_add(bytes::entry(&key, value));
        self.keys.insert(key, value);
    }

    fn take(&mut self, key: &Key) {
        if let Some(value) = self.keys.remove(key) {
            self.entries = self.entries.saturating_sub(bytes::entry(key, value));
        }
    }

    /// Exact bytes of the blob: the last entry has no comma.
    fn room(&self, base: usize, extra: usize) -> Option<usize> {
        (limits::BLOB_BYTES + 1).checked_sub(base + self.entries + extra)
    }
}

/// Makes a plan. `may_add`: a complete snapshot is held, so that new slots may be added and slots the relay was never seen to hold
/// may be published; without one only the primary and slots that exist there are (R20).
pub fn plan(record: &Record, seen: &Sightings, server_now: u64, may_add: bool, entropy: &mut Entropy) -> Plan {
    let base = bytes::blob_base(&record.header().client_id);
    let mut plan = Plan::default();
    let exists = |index: usize, slot: &SlotId| may_add || index == 0 || seen.contains_key(slot);
    let mut bins: Vec<Bin> =
        record.slots().iter().enumerate().map(|(i, slot)| Bin::new(*slot, exists(i, slot))).collect();
    let mut homeless = Vec::new();
    for (key, value, slot) in publishable(record, server_now) {
        match slot.and_then(|slot| bins.iter_mut().find(|bin| bin.slot == slot)) {
            Some(bin) => bin.put(key.clone(), value),
            None => homeless.push((key.clone(), value)),
        }
    }
    for bin in &mut bins {
        shrink(bin, base, seen, &mut homeless);
    }
    homeless.sort_by(|(a, _), (b, _)| a.text_cmp(b));
    for (key, value) in homeless {
        place(&mut plan, &mut bins, base, key, value, may_add, entropy);
    }
    let unusable = bins.iter().filter(|bin| !bin.usable);
    plan.left_out += unusable.map(|bin| missing(bin, seen)).sum::<usize>();
    bins.retain(|bin| bin.usable && !bin.keys.is_empty() && (bin.gave_up || missing(bin, seen) > 0));
    bins.sort_by_key(|bin| bin.gave_up);
    plan.sends = bins.into_iter().map(|bin| Send { slot: bin.slot, frontiers: bin.keys }).collect();
    plan
}

fn missing(bin: &Bin, seen: &Sightings) -> usize {
    bin.keys.iter().filter(|(key, value)| lacks(seen, bin.slot, key, **value)).count()
}

/// Takes keys out of a slot until it fits: first what the relay lacks there (it changes anyway), then the others.
fn shrink(bin: &mut Bin, base: usize, seen: &Sightings, homeless: &mut Vec<(Key, u32)>) {
    if bin.room(base, 0).is_some() {
        return;
    }
    let mut order: Vec<(bool, Key, u32)> =
        bin.keys.iter().map(|(key, value)| (!lacks(seen, bin.slot, key, *value), key.clone(), *value)).collect();
    order.sort_by(|(a_kept, a, _), (b_kept, b, _)| a_kept.cmp(b_kept).then_with(|| a.text_cmp(b)));
    for (_, key, value) in order {
        if bin.room(base, 0).is_some() {
            break;
        }
        bin.take(&key);
        bin.gave_up = true;
        homeless.push((key, value));
    }
}

fn place(
    plan: &mut Plan,
    bins: &mut Vec<Bin>,
    base: usize,
    key: Key,
    value: u32,
    may_add: bool,
    entropy: &mut Entropy,
) {
    let size = bytes::entry(&key, value);
    let open = bins.iter_mut().enumerate().filter(|(_, bin)| bin.usable && !bin.gave_up);
    let best = open
        .filter_map(|(index, bin)| Some((bin.room(base, size)?, Reverse(index), bin)))
        .max_by_key(|(room, index, _)| (*room, *index));
    if let Some((_, _, bin)) = best {
        plan.carry.push((key.clone(), bin.slot));
        bin.put(key, value);
        return;
    }
    if !may_add || bins.len() >= limits::SLOTS {
        plan.left_out += 1;
        return;
    }
    let mut bin = Bin::new(entropy.slot(), true);
    plan.add.push(bin.slot);
    plan.carry.push((key.clone(), bin.slot));
    bin.put(key, value);
    bins.push(bin);
}

/// What the last complete snapshot held, to be sure that another one will still fit after a publication (`unread.md` 9.8, 9.38).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Room {
    events: usize,
    bytes: usize,
    sizes: BTreeMap<SlotId, usize>,
}

impl Room {
    /// Counts a snapshot, other applications' coordinates included.
    pub fn of(snapshot: &Snapshot, viewer: &PublicKey) -> Self {
        let sized = |event: &crate::event::SharedEvent| Some((blob::own_coordinate(event, viewer)?, event.json_len));
        Self {
            events: snapshot.events.len(),
            bytes: snapshot.array_bytes,
            sizes: snapshot.events.iter().filter_map(sized).collect(),
        }
    }

    /// Takes in that this coordinate now holds an event of `size` bytes.
    pub fn stored(&mut self, slot: SlotId, size: usize) {
        match self.sizes.insert(slot, size) {
            Some(old) => self.bytes = self.bytes.saturating_sub(old).saturating_add(size),
            None => {
                self.events += 1;
                self.bytes = self.bytes.saturating_add(size + 1);
            }
        }
    }

    /// Whether every prefix of these sends leaves a snapshot within its bounds. Fails with [`Error::Capacity`].
    pub fn check(&self, sends: impl IntoIterator<Item = (SlotId, usize)>) -> Result<(), Error> {
        let mut room = self.clone();
        for (slot, size) in sends {
            room.stored(slot, size);
            if room.events > limits::SNAPSHOT_EVENTS || room.bytes > limits::SNAPSHOT_ARRAY_BYTES {
                return Err(Error::Capacity { what: "read-state snapshot" });
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for Room {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Room({} events, {} bytes)", self.events, self.bytes)
    }
}

/// Slots of the record that hold another client's state.
pub fn lost_slot(record: &Record, seen: &Sightings) -> Option<SlotId> {
    record.slots().iter().copied().find(|slot| seen.get(slot).is_some_and(|o| !o.ours))
}

/// Slots that are ours, for a filter.
pub fn d_values(slots: &BTreeSet<SlotId>) -> Vec<String> {
    slots.iter().map(|slot| app_data::read_state_coordinate(*slot)).collect()
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
