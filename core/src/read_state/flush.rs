//! Publishing what this installation read (`unread.md` 9.7–9.10; R19–R22, R26).
//!
//! One flush at a time, under the publisher lock of account and community:
//!
//! 1. lock, read the journal again, refuse visibly while any override is merged;
//! 2. read back the own coordinates and merge them; a slot that another client took over is given up for a new one, saved first;
//! 3. send what is pending, byte for byte, in order; read each back, and only if the relay is seen to hold it, reconcile it;
//! 4. plan (`plan`); save new slots; seal each blob, decode what was sealed and compare; save the signed events; then step 3 for them.
//!
//! The exact refusal "too far from server time" of an event more than 900 s old allows one replacement a flush, saved before it is
//! sent; until then the old one stays. Any failure ends the flush and leaves everything saved as it was.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::algebra::State;
use super::crypto::{CryptoJob, CryptoResult, DecodeJob, JobId, SealJob};
use super::plan::{self, Plan, Send};
use super::sync::{CallId, Context, Effect, OpId, Sync, is_intent_left, offline};
use super::{Blob, Unreadable, blob};
use crate::clock::Millis;
use crate::error::{Error, Refusal};
use crate::event::{Batch, SharedEvent, kinds};
use crate::ids::{EventId, SlotId};
use crate::journal::{Key, Mutation, Pending};
use crate::limits;
use crate::model::Capability;
use crate::order::RowKey;
use crate::request::{Answer, Body, Filter, Outcome, Priority, Purpose, Request, RequestError, RequestId};

/// The one refusal that may be answered with a new signature. Compared whole: free relay text decides nothing (13, rule 17).
const TOO_FAR: &str = "invalid: event timestamp too far from server time";
const DUPLICATE: &str = "duplicate:";

/// A call that waits for a flush.
#[derive(Clone)]
pub(super) struct Waiter {
    pub(super) call: CallId,
    /// How what came before the flush failed; reported if the flush does not fail itself.
    pub(super) before: Option<Error>,
}

impl From<CallId> for Waiter {
    fn from(call: CallId) -> Self {
        Self { call, before: None }
    }
}

/// Why own coordinates are read back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    /// Before anything is sent.
    Start,
    /// The relay took this event.
    Taken(EventId),
    /// The relay refused this event for its time.
    Refused(EventId),
}

/// What a save of the journal is followed by.
enum Next {
    /// Look again at what was read back.
    Judge(Why),
    /// Send the first pending event, or plan.
    Step,
    /// Seal the next blob of the batch.
    Seal,
    /// The batch is saved: send it.
    Saved,
    /// Nothing is left to do.
    End,
}

enum Stage {
    Locking(OpId),
    Reloading(OpId),
    Asking(RequestId, Why),
    Digesting(Why),
    Saving(OpId, Next),
    Sealing(JobId, Send),
    Checking(JobId, Send, SharedEvent),
    Sending(RequestId, EventId),
    /// Between two stages only.
    Resting,
}

/// Blobs on their way to being pending events.
struct Drafts {
    todo: VecDeque<Send>,
    created_at: u32,
    revision: u64,
    /// The event this batch replaces, after a refusal.
    refused: Option<EventId>,
    ready: Vec<(Pending, BTreeMap<Key, u32>)>,
}

/// A flush that runs.
pub(super) struct Flush {
    waiters: Vec<Waiter>,
    stage: Stage,
    since: Millis,
    locked: bool,
    /// The one replacement was used.
    replaced: bool,
    /// The plan of this flush was carried out.
    planned: bool,
    moves: usize,
    left_out: usize,
    /// Newest event at each own coordinate in the last answer.
    found: BTreeMap<SlotId, RowKey>,
    batch: Option<Drafts>,
}

impl Flush {
    pub(super) fn awaits_request(&self, id: RequestId) -> bool {
        matches!(self.stage, Stage::Asking(r, _) | Stage::Sending(r, _) if r == id)
    }

    pub(super) fn awaits_op(&self, op: OpId) -> bool {
        matches!(self.stage, Stage::Locking(o) | Stage::Reloading(o) | Stage::Saving(o, _) if o == op)
    }

    pub(super) fn awaits_job(&self, job: JobId) -> bool {
        matches!(self.stage, Stage::Sealing(j, _) | Stage::Checking(j, ..) if j == job)
    }

    pub(super) fn is_digesting(&self) -> bool {
        matches!(self.stage, Stage::Digesting(_))
    }

    /// When to give up on the lock or the signer; everything else ends by itself.
    pub(super) fn deadline(&self) -> Option<Millis> {
        matches!(self.stage, Stage::Locking(_) | Stage::Sealing(..) | Stage::Checking(..))
            .then_some(self.since.plus(limits::SIGNER_DEADLINE_MS))
    }

    fn enter(&mut self, stage: Stage, io: &Context<'_>) {
        self.stage = stage;
        self.since = io.now.mono;
    }
}

impl Sync {
    pub(super) fn begin_flush(&mut self, waiters: Vec<Waiter>, io: &mut Context<'_>) {
        let mut flush = Flush {
            waiters,
            stage: Stage::Resting,
            since: io.now.mono,
            locked: false,
            replaced: false,
            planned: false,
            moves: 0,
            left_out: 0,
            found: BTreeMap::new(),
            batch: None,
        };
        let lost = plan::lost_slot(io.record, &self.intake.seen);
        let idle = lost.is_none() && io.record.pending().is_empty();
        let verdict = if idle && !io.record.is_unpublished() {
            Some(Ok(()))
        } else if self.capability != Capability::FrontierSync {
            Some(if is_intent_left(io.record) { Err(Error::ReadOnly) } else { Ok(()) })
        } else if self.link.is_none() && (!idle || self.is_missing(io)) {
            Some(Err(offline()))
        } else {
            None
        };
        if let Some(result) = verdict {
            self.flush = Some(flush);
            self.end_flush(result, io);
            return;
        }
        self.lost = lost;
        self.attempted = self.attempted.max(io.record.revision());
        if idle && !self.is_missing(io) {
            // Marks that are never published, or a value seen on the relay already: no need to ask anybody.
            self.flush = Some(flush);
            self.accept_all(io);
            return;
        }
        let op = self.ids.op();
        io.effects.push(Effect::Lock { op });
        flush.stage = Stage::Locking(op);
        self.flush = Some(flush);
    }

    fn is_missing(&self, io: &Context<'_>) -> bool {
        plan::is_anything_missing(io.record, &self.intake.seen, io.server_now())
    }

    /// Ends the running flush: gives the lock back, answers the callers, and decides what may start the next one.
    pub(super) fn end_flush(&mut self, result: Result<(), Error>, io: &mut Context<'_>) {
        let Some(flush) = self.flush.take() else { return };
        if let Stage::Asking(id, _) | Stage::Sending(id, _) = flush.stage {
            io.outbox.cancel(id);
        }
        if flush.locked {
            io.effects.push(Effect::Unlock);
        }
        self.accepted = false;
        self.flush_error = result.clone().err();
        match &result {
            Ok(()) => self.retry_online = false,
            Err(Error::Network { .. }) => self.retry_online = true,
            Err(Error::RelayRefused { why: Refusal::RateLimited, retry_after }) => {
                let wait = u64::from(retry_after.unwrap_or(limits::RATE_LIMIT_WAIT));
                self.retry_at = Some(io.now.mono.plus(wait.saturating_mul(1000)));
            }
            _ => {}
        }
        for waiter in flush.waiters {
            let result = result.clone().and_then(|()| waiter.before.map_or(Ok(()), Err));
            io.done(waiter.call, result);
        }
    }

    pub(super) fn flush_locked(&mut self, result: Result<(), Error>, io: &mut Context<'_>) {
        if let Err(error) = result {
            self.end_flush(Err(error), io);
            return;
        }
        let op = self.ids.op();
        io.effects.push(Effect::Reload { op });
        if let Some(flush) = &mut self.flush {
            flush.locked = true;
            flush.enter(Stage::Reloading(op), io);
        }
    }

    pub(super) fn flush_saved(&mut self, result: Result<(), Error>, io: &mut Context<'_>) {
        if let Err(error) = result {
            self.end_flush(Err(error), io);
            return;
        }
        let Some(flush) = &mut self.flush else { return };
        match std::mem::replace(&mut flush.stage, Stage::Resting) {
            Stage::Reloading(_) => self.reloaded(io),
            Stage::Saving(_, Next::Judge(why)) => self.judge(why, io),
            Stage::Saving(_, Next::Step) => self.step(io),
            Stage::Saving(_, Next::Seal) => self.seal_next(io),
            Stage::Saving(_, Next::Saved) => self.batch_saved(io),
            Stage::Saving(_, Next::End) => self.end_well(io),
            _ => {}
        }
    }

    fn reloaded(&mut self, io: &mut Context<'_>) {
        // Another process may have read meanwhile: that is attempted now, too.
        self.attempted = self.attempted.max(io.record.revision());
        let pending: BTreeSet<EventId> = io.record.pending().iter().map(|p| p.id).collect();
        self.intake.sealed.retain(|id, _| pending.contains(id));
        self.intake.forget_seen(|slot, _| io.record.slots().contains(slot));
        if !self.refuse_overrides(io) {
            let slots = io.record.slots().iter().copied().collect();
            self.read_back(Why::Start, &slots, io);
        }
    }

    /// Any override in the merged state blocks publication visibly (R19).
    fn refuse_overrides(&mut self, io: &mut Context<'_>) -> bool {
        let blocked = !io.record.overrides().is_empty();
        if blocked {
            self.end_flush(Err(Error::Unsupported { what: "publishing while overrides exist" }), io);
        }
        blocked
    }

    fn save(&mut self, mutation: Mutation, next: Next, io: &mut Context<'_>) {
        let op = self.ids.op();
        io.effects.push(Effect::Journal { op, mutation });
        if let Some(flush) = &mut self.flush {
            flush.enter(Stage::Saving(op, next), io);
        }
    }

    fn ask(&mut self, purpose: Purpose, body: Body, io: &mut Context<'_>) -> RequestId {
        let deadline_ms = limits::REQUEST_DEADLINE_MS;
        io.outbox.send(Request { purpose, priority: Priority::Background, body, deadline_ms })
    }

    fn read_back(&mut self, why: Why, slots: &BTreeSet<SlotId>, io: &mut Context<'_>) {
        let mut filter = Filter::kinds(&[kinds::APP_DATA]).by(&self.viewer).limit(limits::READ_STATE_ROWS);
        filter.d = Some(plan::d_values(slots));
        let id = self.ask(Purpose::Readback, Body::Query(vec![filter]), io);
        if let Some(flush) = &mut self.flush {
            flush.enter(Stage::Asking(id, why), io);
        }
    }

    pub(super) fn flush_answered(&mut self, outcome: &Outcome, io: &mut Context<'_>) {
        let Some(flush) = &mut self.flush else { return };
        match (std::mem::replace(&mut flush.stage, Stage::Resting), outcome) {
            (Stage::Asking(_, why), Ok(Answer::Events(batch))) => self.found(why, batch, io),
            (Stage::Sending(_, id), Ok(Answer::Published { accepted, message })) => {
                if *accepted || message.starts_with(DUPLICATE) {
                    self.taken(id, io);
                } else {
                    self.end_flush(Err(Error::RelayRefused { why: Refusal::Other, retry_after: None }), io);
                }
            }
            (Stage::Sending(_, id), Err(error)) => self.refused(id, error, io),
            (_, Err(error)) => self.end_flush(Err(error.clone().into()), io),
            (_, Ok(_)) => self.end_flush(Err(Error::InvalidAnswer { why: "answer of another sort" }), io),
        }
    }

    fn found(&mut self, why: Why, batch: &Batch, io: &mut Context<'_>) {
        let mut found: BTreeMap<SlotId, RowKey> = BTreeMap::new();
        for event in &batch.events {
            if let Some(slot) = blob::own_coordinate(event, &self.viewer) {
                let newest = found.entry(slot).or_insert_with(|| event.key());
                *newest = event.key().min(*newest);
                self.intake.offer(event, &self.viewer, io.record);
            }
        }
        if why == Why::Start {
            // All own coordinates were asked for: one that is not in the answer is not there. What another client was seen to
            // hold stays remembered all the same: such a slot is never written to.
            self.intake.forget_seen(|slot, seen| found.contains_key(slot) || !seen.ours);
        }
        if let Some(flush) = &mut self.flush {
            flush.found = found;
            flush.enter(Stage::Digesting(why), io);
        }
    }

    /// What was read back is merged and saved.
    pub(super) fn flush_digested(&mut self, io: &mut Context<'_>) {
        let Some(flush) = &mut self.flush else { return };
        let Stage::Digesting(why) = std::mem::replace(&mut flush.stage, Stage::Resting) else { return };
        let unreadable = io.record.slots().iter().find_map(|slot| self.intake.unreadable.get(slot));
        match unreadable.map(|why| Error::from(*why)) {
            Some(error) => self.end_flush(Err(error), io),
            None => self.judge(why, io),
        }
    }

    fn judge(&mut self, why: Why, io: &mut Context<'_>) {
        if self.refuse_overrides(io) || self.move_away(why, io) {
            return;
        }
        match why {
            Why::Start => self.step(io),
            Why::Taken(id) => self.judge_taken(id, io),
            Why::Refused(id) => self.judge_refused(id, io),
        }
    }

    /// Gives up a slot that another client took over: a new one is saved in its place before anything is sent (R21).
    fn move_away(&mut self, why: Why, io: &mut Context<'_>) -> bool {
        let Some(lost) = plan::lost_slot(io.record, &self.intake.seen) else { return false };
        if !self.plan_again(io) {
            return true;
        }
        self.lost = Some(lost);
        let fresh = io.entropy.slot();
        self.save(Mutation::ReplaceSlot { lost, fresh }, Next::Judge(why), io);
        true
    }

    /// Something else stands where this flush wrote or wants to write: plan once more, a few times at most.
    fn plan_again(&mut self, io: &mut Context<'_>) -> bool {
        let Some(flush) = &mut self.flush else { return false };
        flush.planned = false;
        flush.moves += 1;
        let may = flush.moves <= limits::SLOT_MOVES;
        if !may {
            self.end_flush(Err(Error::Busy { what: "read-state slot" }), io);
        }
        may
    }

    /// Sends what is pending, first unfinished first; then plans once.
    fn step(&mut self, io: &mut Context<'_>) {
        let Some(flush) = &mut self.flush else { return };
        let planned = flush.planned;
        if let Some(first) = io.record.pending().first() {
            let (id, json) = (first.id, first.json.clone());
            let request = self.ask(Purpose::Publish, Body::Publish(json), io);
            if let Some(flush) = &mut self.flush {
                flush.enter(Stage::Sending(request, id), io);
            }
        } else if planned {
            self.end_well(io);
        } else {
            self.make_plan(io);
        }
    }

    fn end_well(&mut self, io: &mut Context<'_>) {
        let left_out = self.flush.as_ref().is_some_and(|f| f.left_out > 0);
        let result = if left_out { Err(Error::Capacity { what: "read-state slots" }) } else { Ok(()) };
        self.end_flush(result, io);
    }

    fn taken(&mut self, id: EventId, io: &mut Context<'_>) {
        self.accepted = true;
        self.read_back_pending(id, Why::Taken(id), io);
    }

    fn read_back_pending(&mut self, id: EventId, why: Why, io: &mut Context<'_>) {
        match io.record.pending().iter().find(|p| p.id == id) {
            Some(pending) => self.read_back(why, &BTreeSet::from([pending.slot]), io),
            None => self.step(io),
        }
    }

    fn refused(&mut self, id: EventId, error: &RequestError, io: &mut Context<'_>) {
        let too_far = matches!(error, RequestError::Refused { text, .. } if text == TOO_FAR);
        let pending = io.record.pending().iter().find(|p| p.id == id);
        let age = pending.map_or(0, |p| io.server_now().saturating_sub(u64::from(p.created_at)));
        let replaced = self.flush.as_ref().is_none_or(|f| f.replaced);
        if too_far && age > limits::RELAY_DRIFT && !replaced {
            self.read_back_pending(id, Why::Refused(id), io);
        } else {
            self.end_flush(Err(error.clone().into()), io);
        }
    }

    /// Only what was read back counts; the relay's word does not (R26).
    fn judge_taken(&mut self, id: EventId, io: &mut Context<'_>) {
        let Some(pending) = io.record.pending().iter().find(|p| p.id == id).cloned() else {
            self.step(io);
            return;
        };
        match self.standing(&pending, io) {
            Standing::Holds => self.reconcile(&pending, true, io),
            Standing::Superseded => self.reconcile(&pending, false, io),
            Standing::Absent => self.end_flush(Err(Error::InvalidAnswer { why: "publication not there" }), io),
        }
    }

    fn judge_refused(&mut self, id: EventId, io: &mut Context<'_>) {
        let Some(pending) = io.record.pending().iter().find(|p| p.id == id).cloned() else {
            self.step(io);
            return;
        };
        if self.standing(&pending, io) == Standing::Holds {
            self.reconcile(&pending, true, io);
            return;
        }
        if let Some(flush) = &mut self.flush {
            flush.replaced = true;
        }
        self.replace(&pending, io);
    }

    /// What the last read-back says of a pending event.
    fn standing(&self, pending: &Pending, io: &Context<'_>) -> Standing {
        let found = self.flush.as_ref().and_then(|f| f.found.get(&pending.slot));
        let mine = RowKey::new(u64::from(pending.created_at), pending.id);
        match found {
            Some(key) if key.id == pending.id => Standing::Holds,
            // A newer event of this installation, by a clone or an earlier life of this journal, stands in its place.
            Some(key) if *key < mine => {
                let now = io.server_now();
                if plan::is_slot_missing_any(io.record, &self.intake.seen, pending.slot, now) {
                    Standing::Superseded
                } else {
                    Standing::Holds
                }
            }
            _ => Standing::Absent,
        }
    }

    /// Drops a pending event. Its revision is accepted when it `holds` and nothing else of the batch is left; what a superseded one
    /// carried is planned again.
    fn reconcile(&mut self, pending: &Pending, holds: bool, io: &mut Context<'_>) {
        let others = io.record.pending().iter().any(|p| p.id != pending.id);
        let accepted = (holds && !others).then_some(pending.revision);
        if let (Some(room), true) = (&mut self.room, holds) {
            room.stored(pending.slot, pending.json.len());
        }
        if !holds && !self.plan_again(io) {
            return;
        }
        self.accepted = false;
        self.reconciled |= holds;
        self.save(Mutation::Reconcile { events: vec![pending.id], accepted }, Next::Step, io);
    }

    fn plan(&self, io: &mut Context<'_>) -> Plan {
        let now = io.server_now();
        plan::plan(io.record, &self.intake.seen, now, self.room.is_some(), io.entropy)
    }

    fn make_plan(&mut self, io: &mut Context<'_>) {
        let plan = self.plan(io);
        let left_out = plan.left_out;
        let revision = if left_out == 0 { io.record.revision() } else { io.record.header().accepted_revision };
        self.attempted = self.attempted.max(io.record.revision());
        if let Some(flush) = &mut self.flush {
            flush.left_out = left_out;
        }
        if !plan.sends.is_empty() {
            self.begin_batch(plan, revision, None, io);
        } else if left_out == 0 {
            self.accept_all(io);
        } else {
            self.end_well(io);
        }
    }

    /// Nothing is missing on the relay: all intent so far counts as published.
    fn accept_all(&mut self, io: &mut Context<'_>) {
        if !io.record.is_unpublished() {
            self.end_well(io);
            return;
        }
        let accepted = Some(io.record.revision());
        self.save(Mutation::Reconcile { events: Vec::new(), accepted }, Next::End, io);
    }

    /// Signs a refused event's slot anew from the current journal (9.10).
    fn replace(&mut self, pending: &Pending, io: &mut Context<'_>) {
        let mut plan = self.plan(io);
        let alone = plan.left_out == 0 && plan.sends.iter().all(|send| send.slot == pending.slot);
        let others = io.record.pending().iter().any(|p| p.id != pending.id);
        plan.sends.retain(|send| send.slot == pending.slot);
        if plan.sends.is_empty() {
            // Nothing of it is worth publishing any more.
            self.reconcile(pending, false, io);
            return;
        }
        let header = io.record.header();
        let revision = if alone && !others { header.revision } else { header.accepted_revision };
        self.begin_batch(plan, revision, Some(pending.id), io);
    }

    fn begin_batch(&mut self, plan: Plan, revision: u64, refused: Option<EventId>, io: &mut Context<'_>) {
        let created_at = match self.next_clock(&plan, io) {
            Ok(created_at) => created_at,
            Err(error) => {
                self.end_flush(Err(error), io);
                return;
            }
        };
        if let Some(flush) = &mut self.flush {
            flush.batch = Some(Drafts { todo: plan.sends.into(), created_at, revision, refused, ready: Vec::new() });
        }
        if plan.add.is_empty() && plan.carry.is_empty() {
            self.seal_next(io);
        } else {
            self.save(Mutation::Assign { add: plan.add, carry: plan.carry }, Next::Seal, io);
        }
    }

    /// The time to sign next (`unread.md` 9.9): after everything signed before, at most 60 s ahead of the relay.
    fn next_clock(&self, plan: &Plan, io: &Context<'_>) -> Result<u32, Error> {
        let seen = plan.sends.iter().filter_map(|send| self.intake.seen.get(&send.slot)).map(|o| o.key.created_at);
        let previous = seen.max().unwrap_or(0).max(u64::from(io.record.header().last_created_at));
        next_clock(io.server_now(), previous)
    }

    fn seal_next(&mut self, io: &mut Context<'_>) {
        let Some(flush) = &mut self.flush else { return };
        let Some(batch) = &mut flush.batch else { return };
        let Some(send) = batch.todo.pop_front() else {
            self.save_batch(io);
            return;
        };
        let state = State { frontiers: send.frontiers.clone(), ..State::default() };
        let job = blob::write(&io.record.header().client_id, &state).and_then(|plaintext| {
            let created_at = u64::from(batch.created_at);
            let job = SealJob { id: self.ids.job(), slot: send.slot, created_at, plaintext, nonce: io.entropy.bytes() };
            job.check(io.server_now()).map(|()| job)
        });
        match job {
            Ok(job) => {
                flush.enter(Stage::Sealing(job.id, send), io);
                io.effects.push(Effect::Crypto(CryptoJob::Seal(job)));
            }
            Err(error) => self.end_flush(Err(error), io),
        }
    }

    pub(super) fn flush_crypto(&mut self, result: CryptoResult, io: &mut Context<'_>) {
        let Some(flush) = &mut self.flush else { return };
        match (std::mem::replace(&mut flush.stage, Stage::Resting), result) {
            (Stage::Sealing(_, send), CryptoResult::Sealed(Ok(event))) => self.sealed(send, event, io),
            (Stage::Sealing(..), CryptoResult::Sealed(Err(error))) => self.end_flush(Err(error), io),
            (Stage::Checking(_, send, event), CryptoResult::Decoded(results)) => {
                self.checked(send, &event, results.into_iter().next(), io);
            }
            _ => self.end_flush(Err(Error::InvalidAnswer { why: "signer's answer of another sort" }), io),
        }
    }

    /// The signer's output is checked like anybody's: author, coordinate, time, size, then its contents (13, rule 9).
    fn sealed(&mut self, send: Send, event: SharedEvent, io: &mut Context<'_>) {
        let Some(flush) = &mut self.flush else { return };
        let asked = flush.batch.as_ref().map(|b| u64::from(b.created_at));
        let fits = blob::own_coordinate(&event, &self.viewer) == Some(send.slot)
            && Some(event.created_at) == asked
            && event.json_len <= limits::PENDING_BYTES;
        if !fits {
            self.end_flush(Err(Error::InvalidAnswer { why: "signed event differs" }), io);
            return;
        }
        let job = DecodeJob { id: self.ids.job(), events: vec![event.clone()] };
        flush.enter(Stage::Checking(job.id, send, event), io);
        io.effects.push(Effect::Crypto(CryptoJob::Decode(job)));
    }

    fn checked(
        &mut self,
        send: Send,
        event: &SharedEvent,
        decoded: Option<Result<Blob, Unreadable>>,
        io: &mut Context<'_>,
    ) {
        let Some(batch) = self.flush.as_mut().and_then(|f| f.batch.as_mut()) else { return };
        let client_id = &io.record.header().client_id;
        let same = matches!(&decoded, Some(Ok(blob)) if blob.client_id == *client_id
            && blob.state.overrides.is_empty() && blob.state.frontiers == send.frontiers);
        if !same {
            self.end_flush(Err(Error::InvalidAnswer { why: "signed contents differ" }), io);
            return;
        }
        let (id, slot, created_at, revision) = (event.id, send.slot, batch.created_at, batch.revision);
        batch.ready.push((Pending { id, slot, created_at, revision, json: event.to_json() }, send.frontiers));
        self.seal_next(io);
    }

    fn save_batch(&mut self, io: &mut Context<'_>) {
        let Some(batch) = self.flush.as_mut().and_then(|f| f.batch.as_mut()) else { return };
        let sizes = batch.ready.iter().map(|(pending, _)| (pending.slot, pending.json.len()));
        if let Some(Err(error)) = self.room.as_ref().map(|room| room.check(sizes)) {
            self.end_flush(Err(error), io);
            return;
        }
        let mut events = batch.ready.iter().map(|(pending, _)| pending.clone());
        let mutation = match batch.refused {
            Some(refused) => events.next().map(|event| Mutation::ReplacePending { refused, event }),
            None => Some(Mutation::SavePending(events.collect())),
        };
        if let Some(mutation) = mutation {
            self.save(mutation, Next::Saved, io);
        }
    }

    fn batch_saved(&mut self, io: &mut Context<'_>) {
        let Some(flush) = &mut self.flush else { return };
        if let Some(batch) = flush.batch.take() {
            flush.planned = batch.refused.is_none();
            self.intake.sealed.extend(batch.ready.into_iter().map(|(pending, contents)| (pending.id, contents)));
        }
        self.step(io);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// The relay holds it, or something of ours that says as much.
    Holds,
    /// Something newer of ours stands there that lacks some own value.
    Superseded,
    /// The relay does not hold it.
    Absent,
}

/// The next time to sign: the relay's now, or one second after `previous`. Fails with [`Error::Clock`] when that is more than
/// [`limits::PUBLISH_LEAD`] ahead of now, or no `u32`.
fn next_clock(now: u64, previous: u64) -> Result<u32, Error> {
    let next = now.max(previous.saturating_add(1));
    let lead = next.saturating_sub(now);
    let refuse = Error::Clock { skew: i64::try_from(lead).unwrap_or(i64::MAX) };
    if lead > limits::PUBLISH_LEAD {
        return Err(refuse);
    }
    u32::try_from(next).map_err(|_| refuse)
}
