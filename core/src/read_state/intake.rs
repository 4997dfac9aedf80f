//! From read-state events to merged state: newest of each coordinate, decrypted off the actor, saved, and only then remembered.
//!
//! Algorithm. Events are offered from loads, read-backs and the live stream alike. One that is not newer than what is known of its
//! coordinate is dropped without decryption, as is this installation's own event, whose contents are known (E7). The others are
//! decoded in small jobs, one after another, folded into one digest, and saved as one merge. A version is admitted only after that
//! save, so a failed one leaves it to be read again (`unread.md` 9.6).
//!
//! Values of peers that lie too far ahead (R12) are kept apart until the relay's time catches up; then they are merged like others.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::algebra::Join;
use super::blob::{self, Blob, Unreadable};
use super::crypto::{CryptoJob, DecodeJob, JobId};
use super::plan::{Observed, Sightings};
use super::sync::{Context, Effect, Ids, OpId};
use crate::clock::Millis;
use crate::error::Error;
use crate::event::SharedEvent;
use crate::ids::{EventId, PublicKey, SlotId};
use crate::journal::{Key, Merge, Mutation, Record, is_ahead};
use crate::limits;
use crate::order::RowKey;

/// What one save takes in.
#[derive(Default)]
struct Digest {
    /// Peers' state, and message marks of our own slots.
    state: Join,
    /// Own values with their slot.
    own: Vec<(Key, u32, SlotId)>,
    ahead: Vec<(u32, Key)>,
    /// Values that were ahead and are due now; taken out of `ahead` once saved.
    due: Vec<(u32, Key)>,
    versions: Vec<(SlotId, RowKey)>,
    seen: Vec<(SlotId, Observed)>,
}

impl Digest {
    fn is_empty(&self) -> bool {
        self.versions.is_empty() && self.due.is_empty()
    }
}

/// See the module.
#[derive(Default)]
pub(super) struct Intake {
    /// Versions whose contents are saved.
    versions: BTreeMap<SlotId, RowKey>,
    /// Newest version on its way, by coordinate.
    underway: BTreeMap<SlotId, RowKey>,
    inbox: BTreeMap<SlotId, SharedEvent>,
    decoding: Option<(DecodeJob, Millis)>,
    decoded: VecDeque<(SlotId, RowKey, Blob)>,
    digest: Digest,
    saving: Option<(OpId, Digest)>,
    failure: Option<Error>,
    /// Recognised coordinates whose newest version cannot be read (R23).
    pub(super) unreadable: BTreeMap<SlotId, Unreadable>,
    /// Values not merged yet.
    ahead: BTreeSet<(u32, Key)>,
    /// The last save failed: values held back wait for the next one that succeeds.
    stalled: bool,
    /// Own coordinates as last seen.
    pub(super) seen: Sightings,
    /// Contents of events sealed here and not yet reconciled: their echo needs no decryption.
    pub(super) sealed: BTreeMap<EventId, BTreeMap<Key, u32>>,
}

impl Intake {
    /// Whether everything offered so far has been dealt with.
    pub(super) fn is_idle(&self) -> bool {
        self.inbox.is_empty()
            && self.decoding.is_none()
            && self.decoded.is_empty()
            && self.digest.is_empty()
            && self.saving.is_none()
    }

    /// The failure since it was last asked for.
    pub(super) fn take_failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    /// Offers a verified event. Not the viewer's, at no coordinate, or not newer: nothing happens.
    pub(super) fn offer(&mut self, event: &SharedEvent, viewer: &PublicKey, record: &Record) {
        let Some(slot) = blob::own_coordinate(event, viewer) else { return };
        let key = event.key();
        // A slot another process just added to the journal was a peer's until now: its contents are wanted once more.
        let unseen = record.slots().contains(&slot) && !self.seen.contains_key(&slot);
        let version = self.versions.get(&slot).filter(|_| !unseen);
        let known = version.into_iter().chain(self.underway.get(&slot)).min();
        if known.is_some_and(|known| key >= *known) {
            return;
        }
        if let Some(frontiers) = self.sealed.get(&event.id) {
            let observed = Observed { key, ours: true, frontiers: frontiers.clone() };
            self.versions.insert(slot, key);
            self.unreadable.remove(&slot);
            if record.slots().contains(&slot) {
                self.seen.insert(slot, observed);
            }
            return;
        }
        if known.is_none()
            && !self.versions.contains_key(&slot)
            && self.versions.len() + self.underway.len() >= limits::COORDINATES
        {
            self.forget();
            self.failure = Some(Error::Capacity { what: "read-state coordinates" });
            return;
        }
        if event.json_len > limits::READ_STATE_EVENT_BYTES {
            self.unreadable.insert(slot, Unreadable::Oversized);
            return;
        }
        self.underway.insert(slot, key);
        self.inbox.insert(slot, event.clone());
    }

    /// Forgets what was seen at coordinates that are not ours any more, or not there any more.
    pub(super) fn forget_seen(&mut self, keep: impl Fn(&SlotId, &Observed) -> bool) {
        self.seen.retain(|slot, observed| keep(slot, observed));
    }

    /// Forgets all versions; they are read again when they are next offered.
    fn forget(&mut self) {
        self.versions.clear();
        self.underway.clear();
        self.inbox.clear();
    }

    /// Does what can be done now: fold, save, decode. Call after every offer and answer.
    pub(super) fn pump(&mut self, ids: &mut Ids, io: &mut Context<'_>) {
        while self.saving.is_none() {
            if let Some((_, _, blob)) = self.decoded.front() {
                let total = self.digest.state.key_count() + self.digest.own.len() + blob.state.key_count();
                if !self.digest.is_empty() && total > limits::BLOB_KEYS {
                    self.save(ids, io);
                } else if let Some((slot, key, blob)) = self.decoded.pop_front() {
                    self.fold(slot, key, blob, io);
                }
            } else if self.decoding.is_some() {
                return;
            } else if !self.inbox.is_empty() {
                self.decode(ids, io);
            } else if !self.digest.is_empty() {
                self.save(ids, io);
            } else {
                return;
            }
        }
    }

    fn decode(&mut self, ids: &mut Ids, io: &mut Context<'_>) {
        let (mut events, mut size) = (Vec::new(), 0usize);
        while let Some(entry) = self.inbox.first_entry() {
            size = size.saturating_add(entry.get().json_len);
            if events.len() == limits::DECODE_EVENTS || (!events.is_empty() && size > limits::DECODE_BYTES) {
                break;
            }
            events.push(entry.remove());
        }
        let job = DecodeJob { id: ids.job(), events };
        io.effects.push(Effect::Crypto(CryptoJob::Decode(job.clone())));
        self.decoding = Some((job, io.now.mono.plus(limits::SIGNER_DEADLINE_MS)));
    }

    /// Whether the job is this one's.
    pub(super) fn is_decoding(&self, job: JobId) -> bool {
        self.decoding.as_ref().is_some_and(|(decoding, _)| decoding.id == job)
    }

    /// When to give up on the holder of the key.
    pub(super) fn deadline(&self) -> Option<Millis> {
        self.decoding.as_ref().map(|(_, deadline)| *deadline)
    }

    /// Takes in a job's result. Events without one count as not decrypted by the signer.
    pub(super) fn decoded(&mut self, results: Vec<Result<Blob, Unreadable>>, viewer: &PublicKey) {
        let Some((job, _)) = self.decoding.take() else { return };
        let missing = std::iter::repeat_with(|| Err(Unreadable::Signer));
        for (event, result) in job.events.iter().zip(results.into_iter().chain(missing)) {
            let Some(slot) = blob::own_coordinate(event, viewer) else { continue };
            match result {
                Ok(blob) => self.decoded.push_back((slot, event.key(), blob)),
                Err(why) => {
                    self.unreadable.insert(slot, why);
                    self.settle(slot, event.key());
                }
            }
        }
    }

    fn settle(&mut self, slot: SlotId, key: RowKey) {
        if self.underway.get(&slot) == Some(&key) {
            self.underway.remove(&slot);
        }
    }

    fn fold(&mut self, slot: SlotId, key: RowKey, blob: Blob, io: &Context<'_>) {
        let listed = io.record.slots().contains(&slot);
        let ours = listed && blob.client_id == io.record.header().client_id;
        let now = io.server_now();
        for (name, value) in &blob.state.frontiers {
            if ours && !name.is_message() {
                self.digest.own.push((name.clone(), *value, slot));
            } else if !ours && is_ahead(name, *value, now) {
                self.digest.ahead.push((*value, name.clone()));
            } else {
                self.digest.state.raise(name, *value);
            }
        }
        for (name, register) in &blob.state.overrides {
            self.digest.state.register(name, *register);
        }
        if listed {
            self.digest.seen.push((slot, Observed { key, ours, frontiers: blob.state.frontiers }));
        }
        self.digest.versions.push((slot, key));
    }

    fn save(&mut self, ids: &mut Ids, io: &mut Context<'_>) {
        let digest = std::mem::take(&mut self.digest);
        let merge = news(&digest, io.record);
        if merge.frontiers.is_empty() && merge.overrides.is_empty() && merge.own.is_empty() {
            self.admit(digest);
            return;
        }
        let op = ids.op();
        io.effects.push(Effect::Journal { op, mutation: Mutation::Merge(merge) });
        self.saving = Some((op, digest));
    }

    /// Whether the operation is this one's save.
    pub(super) fn is_saving(&self, op: OpId) -> bool {
        self.saving.as_ref().is_some_and(|(saving, _)| *saving == op)
    }

    /// The save has ended.
    pub(super) fn saved(&mut self, result: Result<(), Error>) {
        let Some((_, digest)) = self.saving.take() else { return };
        match result {
            Ok(()) => self.admit(digest),
            Err(error) => {
                for (slot, key) in digest.versions {
                    self.settle(slot, key);
                }
                self.failure = Some(error);
                self.stalled = true;
            }
        }
    }

    fn admit(&mut self, digest: Digest) {
        self.stalled = false;
        for (slot, key) in digest.versions {
            self.settle(slot, key);
            self.unreadable.remove(&slot);
            let version = self.versions.entry(slot).or_insert(key);
            *version = (*version).min(key);
        }
        for (slot, observed) in digest.seen {
            if self.seen.get(&slot).is_none_or(|held| observed.key < held.key) {
                self.seen.insert(slot, observed);
            }
        }
        for due in &digest.due {
            self.ahead.remove(due);
        }
        self.ahead.extend(digest.ahead);
        while self.ahead.len() > limits::AHEAD_VALUES {
            self.ahead.pop_last();
        }
    }

    /// Server time, in seconds, from which the nearest value held back may be merged. None also while something else is being saved.
    pub(super) fn next_due(&self) -> Option<u64> {
        if self.stalled || !self.is_idle() {
            return None;
        }
        self.ahead.first().map(|(value, _)| u64::from(*value).saturating_sub(limits::RELAY_DRIFT))
    }

    /// Takes values whose time has come into the next save.
    pub(super) fn take_due(&mut self, server_now: u64) {
        if self.stalled || !self.is_idle() {
            return;
        }
        let due = self.ahead.iter().take_while(|(value, key)| !is_ahead(key, *value, server_now));
        self.digest.due = due.cloned().collect();
        for (value, key) in &self.digest.due {
            self.digest.state.raise(key, *value);
        }
    }
}

/// The part of a digest that would change the record.
fn news(digest: &Digest, record: &Record) -> Merge {
    let rises = |key: &Key, value: u32| record.frontier(key).is_none_or(|held| held < value);
    let own = digest.own.iter().filter(|(key, value, _)| {
        let held = record.row(key).and_then(|row| row.own);
        held.is_none_or(|own| own.value < *value || own.slot.is_none()) || rises(key, *value)
    });
    Merge {
        frontiers: digest.state.frontiers(rises),
        overrides: digest
            .state
            .overrides(|key, register| record.overrides().get(key).is_none_or(|held| held.merge(register) != *held)),
        own: own.cloned().collect(),
    }
}
