//! The machine's face: inputs, effects, calls, triggers and status. The work is in `load` and `flush`.
//!
//! Triggers of a publication (`unread.md` 9.7; R25a): the first unpublished read arms one timer of five seconds, which later reads do
//! not push back; `flush`, `retry_sync`, suspend and stop publish at once; a start publishes what an earlier run left; a reconnect
//! what failed for want of a network; a rate-limited one goes out after the wait the relay named. Anything else waits for the next of
//! these. A revision that was attempted and failed arms no timer again.

use super::discovery::Descriptor;
use super::flush::{Flush, Waiter};
use super::intake::Intake;
use super::load::Load;
use super::plan::{self, Room};
use super::{CryptoJob, CryptoResult, JobId};
use crate::clock::{Millis, Now, ServerTime};
use crate::entropy::Entropy;
use crate::error::{Error, NetworkFailure};
use crate::event::SharedEvent;
use crate::ids::{PublicKey, SlotId};
use crate::journal::{Mutation, Record};
use crate::limits;
use crate::model::{Capability, Completeness, SyncState, SyncStatus};
use crate::request::{Outbox, Outcome, Priority, RequestId};

/// A call of the app that waits for its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

/// One operation on the journal or its lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(pub u64);

/// What the machine wants done. Each is answered exactly once, except `Unlock` and `Done`.
#[derive(Debug, Clone)]
pub enum Effect {
    /// Save this; answer with [`Sync::on_journal`] once it is on disk and in the record.
    Journal {
        /// The operation.
        op: OpId,
        /// The change.
        mutation: Mutation,
    },
    /// Read the record from disk again, as another process may have written; answer with [`Sync::on_journal`].
    Reload {
        /// The operation.
        op: OpId,
    },
    /// Take the publisher lock of this account and community, without waiting long; answer with [`Sync::on_lock`].
    Lock {
        /// The operation.
        op: OpId,
    },
    /// Give the publisher lock back.
    Unlock,
    /// Work for the holder of the key, off the actor; answer with [`Sync::on_crypto`].
    Crypto(CryptoJob),
    /// A call is finished.
    Done {
        /// The call.
        call: CallId,
        /// Its result.
        result: Result<(), Error>,
    },
}

/// What every input is given: time, the latest committed record, and where to put what is wanted.
pub struct Context<'a> {
    /// Both clocks.
    pub now: Now,
    /// The estimate of the relay's clock (R25).
    pub server: ServerTime,
    /// The record as last committed.
    pub record: &'a Record,
    /// Randomness for slots and nonces.
    pub entropy: &'a mut Entropy,
    /// Requests.
    pub outbox: &'a mut Outbox,
    /// Everything else.
    pub effects: &'a mut Vec<Effect>,
}

impl Context<'_> {
    /// The relay's time as far as known, seconds.
    pub(super) fn server_now(&self) -> u64 {
        self.server.at(self.now)
    }

    pub(super) fn done(&mut self, call: CallId, result: Result<(), Error>) {
        self.effects.push(Effect::Done { call, result });
    }
}

/// Numbers for jobs and operations, unique within a machine.
#[derive(Debug, Default)]
pub(super) struct Ids(u64);

impl Ids {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        self.0
    }

    pub(super) fn job(&mut self) -> JobId {
        JobId(self.next())
    }

    pub(super) fn op(&mut self) -> OpId {
        OpId(self.next())
    }
}

/// What the connection offers.
pub(super) struct Link {
    pub(super) offer: Option<Descriptor>,
}

/// Synchronisation of read state for one account in one community. See the [module](super).
pub struct Sync {
    pub(super) viewer: PublicKey,
    pub(super) capability: Capability,
    pub(super) ids: Ids,
    pub(super) link: Option<Link>,
    pub(super) intake: Intake,
    pub(super) load: Option<Load>,
    pub(super) flush: Option<Flush>,
    /// Flushes asked for while a load or another flush runs.
    pub(super) queued: Option<Vec<Waiter>>,
    /// What the last load established.
    pub(super) reach: Completeness,
    /// What the last complete snapshot of this connection held.
    pub(super) room: Option<Room>,
    /// A load has ended in this run, well or not.
    pub(super) started: bool,
    /// A load has ended well in this run.
    pub(super) loaded_once: bool,
    pub(super) load_error: Option<Error>,
    pub(super) flush_error: Option<Error>,
    /// A publication was taken by the relay and not yet seen there.
    pub(super) accepted: bool,
    /// Something was seen there since the last local-only change.
    pub(super) reconciled: bool,
    /// Revisions up to here were attempted.
    pub(super) attempted: u64,
    /// The taken-over slot that was last attempted to be moved away from.
    pub(super) lost: Option<SlotId>,
    /// Revision at the last input.
    revision: u64,
    timer: Option<Millis>,
    pub(super) retry_at: Option<Millis>,
    pub(super) retry_online: bool,
    due_at: Option<Millis>,
    suspended: bool,
    closed: bool,
}

impl Sync {
    /// A machine over an opened journal. `capability` follows from what the host can do: no way to decrypt is unsupported, no signer,
    /// publisher or publisher lock is read-only (`unread.md` 9.6).
    pub fn new(viewer: PublicKey, capability: Capability, record: &Record) -> Self {
        Self {
            viewer,
            capability,
            ids: Ids::default(),
            link: None,
            intake: Intake::default(),
            load: None,
            flush: None,
            queued: None,
            reach: Completeness::Unknown,
            room: None,
            started: false,
            loaded_once: false,
            load_error: None,
            flush_error: None,
            accepted: false,
            reconciled: false,
            attempted: 0,
            lost: None,
            revision: record.revision(),
            timer: None,
            retry_at: None,
            retry_online: false,
            due_at: None,
            suspended: false,
            closed: false,
        }
    }

    /// The connection is signed in and live; `offer` is the snapshot its discovery document offers. Loads the markers, in the
    /// foreground the first time, and then publishes what waits for a connection.
    pub fn connected(&mut self, offer: Option<Descriptor>, io: &mut Context<'_>) {
        if self.link.is_some() {
            self.disconnected(io);
        }
        self.link = Some(Link { offer });
        if self.capability == Capability::Unsupported || self.closed {
            return;
        }
        let priority = if self.loaded_once { Priority::Background } else { Priority::Foreground };
        self.begin_load(None, priority, io);
        self.settle(io);
    }

    /// The connection is gone. What was running fails; what is saved stays.
    pub fn disconnected(&mut self, io: &mut Context<'_>) {
        if self.link.take().is_none() {
            return;
        }
        let lost = Error::Network { why: NetworkFailure::Lost };
        self.abort_load(&lost, io);
        if self.flush.is_some() {
            self.end_flush(Err(lost), io);
        }
        self.reach = Completeness::Unknown;
        self.room = None;
        (self.load_error, self.flush_error) = (None, None);
        (self.timer, self.retry_at) = (None, None);
        self.settle(io);
    }

    /// A verified live event of kind 30078. Other people's and other applications' are ignored.
    pub fn live(&mut self, event: &SharedEvent, io: &mut Context<'_>) {
        if self.capability != Capability::Unsupported {
            self.intake.offer(event, &self.viewer, io.record);
            self.settle(io);
        }
    }

    /// The answer to a request of this machine; says whether it was one.
    pub fn on_answer(&mut self, id: RequestId, outcome: &Outcome, io: &mut Context<'_>) -> bool {
        let ours = if self.load.as_ref().is_some_and(|l| l.awaits(id)) {
            self.load_answered(outcome, io);
            true
        } else if self.flush.as_ref().is_some_and(|f| f.awaits_request(id)) {
            self.flush_answered(outcome, io);
            true
        } else {
            false
        };
        self.settle(io);
        ours
    }

    /// A [`Effect::Journal`] or [`Effect::Reload`] has ended; on success the record given here shows it.
    pub fn on_journal(&mut self, op: OpId, result: Result<(), Error>, io: &mut Context<'_>) {
        if self.intake.is_saving(op) {
            self.intake.saved(result);
        } else if self.flush.as_ref().is_some_and(|f| f.awaits_op(op)) {
            self.flush_saved(result, io);
        }
        self.settle(io);
    }

    /// An [`Effect::Lock`] has ended. A lock that nobody waits for any more is given back.
    pub fn on_lock(&mut self, op: OpId, result: Result<(), Error>, io: &mut Context<'_>) {
        if self.flush.as_ref().is_some_and(|f| f.awaits_op(op)) {
            self.flush_locked(result, io);
        } else if result.is_ok() {
            io.effects.push(Effect::Unlock);
        }
        self.settle(io);
    }

    /// The result of an [`Effect::Crypto`].
    pub fn on_crypto(&mut self, job: JobId, result: CryptoResult, io: &mut Context<'_>) {
        if self.intake.is_decoding(job) {
            if let CryptoResult::Decoded(results) = result {
                self.intake.decoded(results, &self.viewer);
            } else {
                self.intake.decoded(Vec::new(), &self.viewer);
            }
        } else if self.flush.as_ref().is_some_and(|f| f.awaits_job(job)) {
            self.flush_crypto(result, io);
        }
        self.settle(io);
    }

    /// Some mutation was committed, by whomever. New intent arms the timer.
    pub fn committed(&mut self, io: &mut Context<'_>) {
        self.settle(io);
    }

    /// Loads the markers unless they were loaded in this connection, joining a load that runs. After a failed load, fails with the
    /// standing error and sends nothing.
    pub fn ensure(&mut self, call: CallId, io: &mut Context<'_>) {
        if let Some(load) = &mut self.load {
            load.join(call);
            return;
        }
        let standing = self.load_error.clone().or_else(|| self.unreadable());
        let result = match standing {
            Some(error) => Err(error),
            None if self.closed => Err(Error::Closed),
            None if self.link.is_none() => Err(offline()),
            None => Ok(()),
        };
        io.done(call, result);
    }

    /// Loads the markers again, in the foreground.
    pub fn refresh(&mut self, call: CallId, io: &mut Context<'_>) {
        self.load_for(Some(call), Priority::Foreground, io);
    }

    /// Loads the markers again, in the background; nobody waits.
    pub fn refresh_in_background(&mut self, io: &mut Context<'_>) {
        self.load_for(None, Priority::Background, io);
    }

    fn load_for(&mut self, call: Option<CallId>, priority: Priority, io: &mut Context<'_>) {
        match self.can_load() {
            Ok(true) => self.begin_load(call, priority, io),
            Ok(false) => call.into_iter().for_each(|call| io.done(call, Ok(()))),
            Err(error) => call.into_iter().for_each(|call| io.done(call, Err(error.clone()))),
        }
        self.settle(io);
    }

    fn can_load(&self) -> Result<bool, Error> {
        if self.closed {
            Err(Error::Closed)
        } else if self.capability == Capability::Unsupported {
            Ok(false)
        } else if self.link.is_none() {
            Err(offline())
        } else {
            Ok(true)
        }
    }

    /// Publishes now what is not published. Completes when it is reconciled, or with the failure; at once when offline or when there is
    /// nothing to publish.
    pub fn flush(&mut self, call: CallId, io: &mut Context<'_>) {
        if self.closed {
            io.done(call, Err(Error::Closed));
            return;
        }
        self.ask_flush(vec![call.into()], io);
        self.settle(io);
    }

    /// Loads the markers in the foreground, then flushes. Fails with the flush's outcome, else with the load's.
    pub fn retry_sync(&mut self, call: CallId, io: &mut Context<'_>) {
        match self.can_load() {
            Ok(true) => {
                self.begin_load(None, Priority::Foreground, io);
                if let Some(load) = &mut self.load {
                    load.flush_after(call);
                }
            }
            Ok(false) => self.ask_flush(vec![call.into()], io),
            Err(error) => {
                if matches!(error, Error::Network { .. }) {
                    self.flush_error = Some(error.clone());
                }
                io.done(call, Err(error));
            }
        }
        self.settle(io);
    }

    /// The app goes to the background: publishes at once what is unpublished, and arms no timer until [`Sync::resume`].
    pub fn suspend(&mut self, call: CallId, io: &mut Context<'_>) {
        self.suspended = true;
        if self.link.is_none() && is_intent_left(io.record) {
            // Being offline is no failure of going to the background.
            self.retry_online = true;
            io.done(call, Err(offline()));
        } else {
            self.ask_flush(vec![call.into()], io);
        }
        self.settle(io);
    }

    /// The app is back.
    pub fn resume(&mut self, io: &mut Context<'_>) {
        self.suspended = false;
        self.settle(io);
    }

    /// The session ends: publishes at once what is unpublished; later calls fail with [`Error::Closed`].
    pub fn stop(&mut self, call: CallId, io: &mut Context<'_>) {
        self.suspend(call, io);
        self.closed = true;
    }

    /// When [`Sync::on_wake`] is wanted next.
    pub fn next_wake(&self) -> Option<Millis> {
        let flush = self.flush.as_ref().and_then(Flush::deadline);
        [self.timer, self.retry_at, self.due_at, flush, self.intake.deadline()].into_iter().flatten().min()
    }

    /// Time has passed.
    pub fn on_wake(&mut self, io: &mut Context<'_>) {
        let now = io.now.mono;
        let passed = |at: Option<Millis>| at.is_some_and(|at| at <= now);
        if passed(self.flush.as_ref().and_then(Flush::deadline)) {
            self.end_flush(Err(Error::Busy { what: "signer or publisher lock" }), io);
        }
        if passed(self.intake.deadline()) {
            self.intake.decoded(Vec::new(), &self.viewer);
        }
        if passed(self.due_at) {
            self.intake.take_due(io.server_now());
        }
        if passed(self.timer) || passed(self.retry_at) {
            self.ask_flush(Vec::new(), io);
        }
        self.settle(io);
    }

    /// The state to show.
    pub fn status(&self, record: &Record) -> SyncStatus {
        let pending = is_intent_left(record);
        let error = self.flush_error.clone().or_else(|| self.load_error.clone());
        let unreadable = if self.link.is_some() { self.unreadable() } else { None };
        let error = error.or(unreadable);
        let state = if error.is_some() {
            SyncState::Error
        } else if self.link.is_none() {
            SyncState::Stale
        } else if !self.loaded_once && self.load.is_some() {
            SyncState::Loading
        } else if self.accepted {
            SyncState::Accepted
        } else if pending {
            SyncState::Pending
        } else if self.reconciled {
            SyncState::Reconciled
        } else {
            SyncState::Local
        };
        let completeness = if self.intake.unreadable.is_empty() { self.reach } else { Completeness::Unknown };
        SyncStatus { state, completeness, pending, capability: self.capability, error }
    }

    pub(super) fn unreadable(&self) -> Option<Error> {
        self.intake.unreadable.values().next().map(|why| (*why).into())
    }

    /// Starts a flush, or queues it behind the load or flush that runs.
    pub(super) fn ask_flush(&mut self, callers: Vec<Waiter>, io: &mut Context<'_>) {
        (self.timer, self.retry_at) = (None, None);
        if self.load.is_some() || self.flush.is_some() {
            self.queued.get_or_insert_default().extend(callers);
        } else {
            self.begin_flush(callers, io);
        }
    }

    /// Brings everything to rest after an input: intake, whoever waits for it, queued flushes, timers.
    fn settle(&mut self, io: &mut Context<'_>) {
        loop {
            self.intake.pump(&mut self.ids, io);
            if !self.intake.is_idle() {
                break;
            }
            if let Some(error) = self.intake.take_failure() {
                self.intake_failed(&error, io);
            } else if self.load.as_ref().is_some_and(Load::is_digesting) {
                self.end_load(Ok(()), io);
            } else if self.flush.as_ref().is_some_and(Flush::is_digesting) {
                self.flush_digested(io);
            } else {
                break;
            }
        }
        if self.load.is_none()
            && self.flush.is_none()
            && let Some(callers) = self.queued.take()
        {
            self.begin_flush(callers, io);
        }
        self.arm(io);
    }

    /// Something could not be taken in. Whoever waited for it fails: a flush that went on could publish less than its slots hold.
    fn intake_failed(&mut self, error: &Error, io: &mut Context<'_>) {
        let mut live = true;
        if self.load.as_ref().is_some_and(Load::is_digesting) {
            live = false;
            self.end_load(Err(error.clone()), io);
        }
        if self.flush.as_ref().is_some_and(Flush::is_digesting) {
            live = false;
            self.end_flush(Err(error.clone()), io);
        }
        if live {
            // The markers are not complete any more, until the next load.
            self.reach = Completeness::Unknown;
            self.load_error = Some(error.clone());
        }
    }

    fn arm(&mut self, io: &Context<'_>) {
        if io.record.revision() > self.revision && !io.record.is_unpublished() {
            // A local-only change: there is nothing to publish (8.21).
            self.reconciled = false;
        }
        self.revision = io.record.revision();
        let due = self.intake.next_due().map(|at| at.saturating_sub(io.server_now()));
        self.due_at = due.map(|s| io.now.mono.plus(s.saturating_mul(1000)));
        let idle = self.flush.is_none() && self.queued.is_none();
        let wanted = self.capability == Capability::FrontierSync && self.wants_timer(io.record);
        if wanted && idle && self.link.is_some() && !self.suspended && !self.closed {
            self.timer.get_or_insert(io.now.mono.plus(limits::PUBLISH_DELAY_MS));
        }
        if self.suspended || self.link.is_none() {
            self.timer = None;
        }
    }

    /// New intent, or a slot that another client took over, is to be published without being asked.
    fn wants_timer(&self, record: &Record) -> bool {
        let lost = plan::lost_slot(record, &self.intake.seen);
        (record.is_unpublished() && record.revision() > self.attempted) || (lost.is_some() && lost != self.lost)
    }

    /// What waits for a connection: everything at the first load of a run, later what failed for want of one or is new.
    pub(super) fn publish_after_load(&mut self, first: bool, io: &mut Context<'_>) {
        let wanted = first || std::mem::take(&mut self.retry_online) || io.record.revision() > self.attempted;
        if wanted && is_intent_left(io.record) && self.capability == Capability::FrontierSync && !self.suspended {
            self.ask_flush(Vec::new(), io);
        }
    }
}

/// Whether saved intent is not yet reconciled.
pub(super) fn is_intent_left(record: &Record) -> bool {
    record.is_unpublished() || !record.pending().is_empty()
}

pub(super) fn offline() -> Error {
    Error::Network { why: NetworkFailure::Offline }
}

impl std::fmt::Debug for Sync {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Sync(online {}, loading {}, flushing {})",
            self.link.is_some(),
            self.load.is_some(),
            self.flush.is_some()
        )
    }
}
