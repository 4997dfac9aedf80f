//! A scripted world around the machine, for its tests: a journal, a signer, a lock and a relay that misbehaves on request.
#![allow(clippy::unwrap_used, reason = "only compiled for tests")]

use std::collections::{BTreeMap, VecDeque};

use super::algebra::State;
use super::blob;
use super::crypto::{CryptoJob, CryptoResult, JobId};
use super::discovery::{self, Descriptor};
use super::sync::{CallId, Context, Effect, OpId, Sync};
use crate::clock::{Millis, Now, ServerTime};
use crate::entropy::Entropy;
use crate::error::{Error, NetworkFailure, Refusal, StorageKind};
use crate::event::{Batch, SharedEvent, Verifier, app_data, kinds};
use crate::identity::{LocalCipher, Secret, SelfCipher as _};
use crate::ids::{ChannelId, SlotId};
use crate::journal::{Fresh, Key, Mark, Mutation, NoFacts, Read, Record, apply};
use crate::limits;
use crate::model::{Capability, SyncStatus};
use crate::request::{Answer, Body, Outbox, Outcome, Purpose, Request, RequestError, RequestId, SnapshotEnvelope};
use crate::testing::{Author, Template, template};

/// Where every test starts, seconds.
pub(super) const T0: u64 = 1_751_500_000;
pub(super) const OFFER: Descriptor = Descriptor { community: [7; 16] };
pub(super) const TOO_FAR: &str = "invalid: event timestamp too far from server time";

/// How the relay answers one publication; the default is to store it and say so.
#[derive(Debug, Clone)]
pub(super) enum Reply {
    /// Stored, but the answer is lost.
    Lost,
    /// Not stored, with this text.
    Refused(&'static str),
    /// Not stored, wait so long.
    RateLimited(u32),
    /// "Taken", but not stored.
    Duplicate,
    /// Before this one is stored, another event lands.
    Overtaken(SharedEvent),
}

/// What happened, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Lock,
    Unlock,
    Reload,
    Save(&'static str),
    Seal,
    Decode(usize),
    Ask(Purpose),
    Publish(SlotId),
}

pub(super) type Tamper = Box<dyn Fn(Template, &Author) -> Template>;

pub(super) struct World {
    pub(super) me: Author,
    pub(super) cipher: LocalCipher,
    pub(super) verifier: Verifier,
    pub(super) record: Record,
    pub(super) sync: Sync,
    pub(super) now: Now,
    pub(super) server: ServerTime,
    entropy: Entropy,
    outbox: Outbox,
    effects: Vec<Effect>,
    /// The relay's coordinates by their `d`.
    pub(super) stored: BTreeMap<String, SharedEvent>,
    pub(super) log: Vec<Step>,
    pub(super) done: BTreeMap<CallId, Result<(), Error>>,
    /// Event JSON of every publication sent.
    pub(super) published: Vec<String>,
    pub(super) replies: VecDeque<Reply>,
    /// Results of the next saves; the default is success.
    pub(super) saves: VecDeque<Result<(), Error>>,
    pub(super) held: Option<Vec<(OpId, Mutation)>>,
    pub(super) lock: Result<(), Error>,
    /// Read-backs lag behind this installation's own writes.
    pub(super) readback_empty: bool,
    /// Requests are swallowed: nothing is answered.
    pub(super) mute: bool,
    /// Own publications come back live, as from a relay.
    pub(super) echo: bool,
    /// The signer does not answer.
    pub(super) silent_signer: bool,
    pub(super) tamper: Option<Tamper>,
    /// Damages the snapshot's envelope.
    pub(super) damage: Option<fn(&mut SnapshotEnvelope)>,
    /// Answers the next load with this instead.
    pub(super) load_error: Option<RequestError>,
    /// Answers a snapshot request with a plain array, as a relay that does not know it.
    pub(super) plain: bool,
    /// Further events of a plain array, after those stored.
    pub(super) extra: Vec<SharedEvent>,
    /// The loads asked for.
    pub(super) loads: Vec<Request>,
    calls: u64,
}

impl World {
    pub(super) fn new() -> Self {
        Self::with(Capability::FrontierSync)
    }

    pub(super) fn with(capability: Capability) -> Self {
        let me = Author::named("me");
        let fresh = Fresh { slot: SlotId([1; 16]), client_id: "00000000-0000-4000-8000-000000000001".into() };
        let record = Record::new(fresh);
        let now = Now { mono: Millis(1_000), wall: T0 };
        let mut server = ServerTime::default();
        server.learn(now, T0);
        Self {
            cipher: LocalCipher::new(&Secret::from_bytes(me.secret()).unwrap()).unwrap(),
            sync: Sync::new(me.key(), capability, &record),
            me,
            verifier: Verifier::new(),
            record,
            now,
            server,
            entropy: Entropy::from_seed(1),
            outbox: Outbox::default(),
            effects: Vec::new(),
            stored: BTreeMap::new(),
            log: Vec::new(),
            done: BTreeMap::new(),
            published: Vec::new(),
            replies: VecDeque::new(),
            saves: VecDeque::new(),
            held: None,
            lock: Ok(()),
            readback_empty: false,
            mute: false,
            echo: true,
            silent_signer: false,
            tamper: None,
            damage: None,
            load_error: None,
            plain: false,
            extra: Vec::new(),
            loads: Vec::new(),
            calls: 0,
        }
    }

    /// A world that is connected to a relay with snapshots, its markers loaded.
    pub(super) fn online() -> Self {
        let mut world = Self::new();
        world.connect();
        world.log.clear();
        world
    }

    /// One input, and everything that follows from it at once.
    pub(super) fn input<R>(&mut self, f: impl FnOnce(&mut Sync, &mut Context<'_>) -> R) -> R {
        let mut io = Context {
            now: self.now,
            server: self.server,
            record: &self.record,
            entropy: &mut self.entropy,
            outbox: &mut self.outbox,
            effects: &mut self.effects,
        };
        f(&mut self.sync, &mut io)
    }

    pub(super) fn run(&mut self) {
        loop {
            if !self.effects.is_empty() {
                let effect = self.effects.remove(0);
                self.perform(effect);
            } else if !self.outbox.sent.is_empty() {
                let (id, request) = self.outbox.sent.remove(0);
                self.log.push(match (&request.body, request.purpose) {
                    (Body::Publish(json), _) => Step::Publish(self.slot_of(json)),
                    (_, purpose) => Step::Ask(purpose),
                });
                self.serve(id, &request);
            } else {
                return;
            }
        }
    }

    fn slot_of(&self, json: &str) -> SlotId {
        blob::coordinate(&self.verifier.event(json).unwrap()).unwrap()
    }

    fn call(&mut self, f: impl FnOnce(&mut Sync, CallId, &mut Context<'_>)) -> CallId {
        self.calls += 1;
        let call = CallId(self.calls);
        self.input(|sync, io| f(sync, call, io));
        self.run();
        call
    }

    /// Runs a call to its end.
    pub(super) fn ended(&mut self, f: impl FnOnce(&mut Sync, CallId, &mut Context<'_>)) -> Result<(), Error> {
        let call = self.call(f);
        self.done.remove(&call).expect("the call has not ended")
    }

    pub(super) fn open(&mut self, f: impl FnOnce(&mut Sync, CallId, &mut Context<'_>)) -> CallId {
        self.call(f)
    }

    pub(super) fn flush(&mut self) -> Result<(), Error> {
        self.ended(Sync::flush)
    }

    pub(super) fn connect(&mut self) {
        self.connect_with(Some(OFFER));
    }

    pub(super) fn connect_with(&mut self, offer: Option<Descriptor>) {
        self.input(|sync, io| sync.connected(offer, io));
        self.run();
    }

    pub(super) fn disconnect(&mut self) {
        self.input(Sync::disconnected);
        self.run();
    }

    /// A new run on the same journal, as after a restart.
    pub(super) fn restart(&mut self) {
        self.effects.clear();
        self.outbox = Outbox::default();
        self.sync = Sync::new(self.me.key(), Capability::FrontierSync, &self.record);
    }

    /// Lets time pass, waking the machine when it asks.
    pub(super) fn advance(&mut self, ms: u64) {
        let end = self.now.mono.plus(ms);
        while let Some(at) = self.sync.next_wake().filter(|at| *at <= end) {
            self.jump(at.max(self.now.mono));
            self.input(Sync::on_wake);
            self.run();
        }
        self.jump(end);
    }

    fn jump(&mut self, to: Millis) {
        let wall_ms = self.now.wall * 1000 + to.since(self.now.mono);
        self.now = Now { mono: to, wall: wall_ms / 1000 };
    }

    /// This installation reads.
    pub(super) fn read(&mut self, key: Key, value: u64) {
        let read = Read { marks: vec![Mark::always(key, value)], ..Read::default() };
        self.commit(&Mutation::Read(read));
    }

    /// Reads many keys in one save.
    pub(super) fn read_all(&mut self, keys: impl IntoIterator<Item = Key>, value: u64) {
        let marks = keys.into_iter().map(|key| Mark::always(key, value)).collect();
        self.commit(&Mutation::Read(Read { marks, ..Read::default() }));
    }

    pub(super) fn commit(&mut self, mutation: &Mutation) {
        let diff = apply(&self.record, mutation, &NoFacts).unwrap();
        self.record.adopt(&diff);
        self.input(Sync::committed);
        self.run();
    }

    pub(super) fn status(&self) -> SyncStatus {
        self.sync.status(&self.record)
    }

    /// A blob of the viewer's, by another installation.
    pub(super) fn peer(&self, slot: SlotId, at: u64, entries: &[(&Key, u32)]) -> SharedEvent {
        self.blob_by("peer", slot, at, entries)
    }

    pub(super) fn blob_by(&self, client: &str, slot: SlotId, at: u64, entries: &[(&Key, u32)]) -> SharedEvent {
        let state = State { frontiers: entries.iter().map(|(k, v)| ((*k).clone(), *v)).collect(), ..State::default() };
        self.raw_blob(slot, at, &blob::write(client, &state).unwrap())
    }

    pub(super) fn raw_blob(&self, slot: SlotId, at: u64, plaintext: &str) -> SharedEvent {
        let content = self.cipher.encrypt_as_peer(plaintext.as_bytes(), [9; 32]).unwrap();
        self.event(slot, at, &content)
    }

    pub(super) fn event(&self, slot: SlotId, at: u64, content: &str) -> SharedEvent {
        self.me.sign(template(
            30078,
            at,
            &[&["d", &app_data::read_state_coordinate(slot)], &["t", "read-state"]],
            content,
        ))
    }

    /// The relay stores it without pushing it.
    pub(super) fn store(&mut self, event: &SharedEvent) {
        let d = event.values("d").next().unwrap_or_default().to_owned();
        if self.stored.get(&d).is_none_or(|held| event.key() < held.key()) {
            self.stored.insert(d, event.clone());
        }
    }

    pub(super) fn push(&mut self, event: &SharedEvent) {
        self.input(|sync, io| sync.live(event, io));
        self.run();
    }

    pub(super) fn post(&mut self, event: &SharedEvent) {
        self.store(event);
        self.push(event);
    }

    /// What the relay's copy of a slot says, decrypted.
    pub(super) fn contents(&self, slot: SlotId) -> Option<BTreeMap<Key, u32>> {
        let event = self.stored.get(&app_data::read_state_coordinate(slot))?;
        Some(blob::parse(self.cipher.decrypt(&event.content).unwrap().as_bytes()).unwrap().state.frontiers)
    }

    /// The greatest value for a key over the slots of this installation.
    pub(super) fn on_relay(&self, key: &Key) -> Option<u32> {
        let slots = self.record.slots().iter();
        slots.filter_map(|slot| self.contents(*slot)?.get(key).copied()).max()
    }

    pub(super) fn count(&self, step: &Step) -> usize {
        self.log.iter().filter(|s| *s == step).count()
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Journal { op, mutation } => {
                if let Some(held) = &mut self.held {
                    held.push((op, mutation));
                } else {
                    self.save(op, &mutation);
                }
            }
            Effect::Reload { op } => {
                self.log.push(Step::Reload);
                self.input(|sync, io| sync.on_journal(op, Ok(()), io));
            }
            Effect::Lock { op } => {
                self.log.push(Step::Lock);
                let result = self.lock.clone();
                self.input(|sync, io| sync.on_lock(op, result, io));
            }
            Effect::Unlock => self.log.push(Step::Unlock),
            Effect::Crypto(job) => {
                let (id, result) = self.work(job);
                if !self.silent_signer {
                    self.input(|sync, io| sync.on_crypto(id, result, io));
                }
            }
            Effect::Done { call, result } => {
                assert!(self.done.insert(call, result).is_none(), "a call ends once");
            }
        }
    }

    pub(super) fn release(&mut self) {
        for (op, mutation) in self.held.take().unwrap_or_default() {
            self.save(op, &mutation);
        }
        self.run();
    }

    fn save(&mut self, op: OpId, mutation: &Mutation) {
        self.log.push(Step::Save(match mutation {
            Mutation::Merge(_) => "merge",
            Mutation::Assign { .. } => "assign",
            Mutation::ReplaceSlot { .. } => "replace slot",
            Mutation::SavePending(_) => "pending",
            Mutation::ReplacePending { .. } => "replacement",
            Mutation::Reconcile { .. } => "reconcile",
            _ => "other",
        }));
        let mut result = self.saves.pop_front().unwrap_or(Ok(()));
        if result.is_ok() {
            match apply(&self.record, mutation, &NoFacts) {
                Ok(diff) => self.record.adopt(&diff),
                Err(error) => result = Err(error.into()),
            }
        }
        self.input(|sync, io| sync.on_journal(op, result, io));
    }

    fn work(&mut self, job: CryptoJob) -> (JobId, CryptoResult) {
        match job {
            CryptoJob::Decode(job) => {
                self.log.push(Step::Decode(job.events.len()));
                let plain = |e: &SharedEvent| Ok(self.cipher.decrypt(&e.content)?.into_bytes());
                (job.id, job.finish(job.events.iter().map(plain)))
            }
            CryptoJob::Seal(job) => {
                self.log.push(Step::Seal);
                self.check_sealed(&job.plaintext);
                let content = self.cipher.encrypt(&job.plaintext, job.nonce).unwrap();
                let tags = app_data::tags(&app_data::read_state_coordinate(job.slot), app_data::READ_STATE);
                let mut event = Template { kind: kinds::APP_DATA, created_at: job.created_at, tags, content };
                if let Some(tamper) = &self.tamper {
                    event = tamper(event, &self.me);
                }
                (job.id, CryptoResult::Sealed(Ok(self.me.sign(event))))
            }
        }
    }

    /// R19: nothing but own values, no message marks, never past the budget.
    fn check_sealed(&self, plaintext: &str) {
        assert!(plaintext.len() <= limits::BLOB_BYTES);
        let blob = blob::parse(plaintext.as_bytes()).unwrap();
        assert!(blob.state.overrides.is_empty() && blob.client_id == self.record.header().client_id);
        for (key, value) in &blob.state.frontiers {
            let own = self.record.row(key).and_then(|row| row.own).expect("only own keys are sealed");
            assert!(!key.is_message() && *value <= own.value);
        }
    }

    /// Saved before it is sent, and never over another client's state (R21).
    fn check_published(&self, json: &str, event: &SharedEvent) {
        assert!(self.record.pending().iter().any(|p| p.json == json), "saved before it is sent");
        let Some(held) = event.values("d").next().and_then(|d| self.stored.get(d)) else { return };
        if let Some(client) = self.client_of(held) {
            assert_eq!(client, self.record.header().client_id, "another client's slot is not written to");
        }
    }

    fn client_of(&self, event: &SharedEvent) -> Option<String> {
        let plaintext = self.cipher.decrypt(&event.content).ok()?;
        Some(blob::parse(plaintext.as_bytes()).ok()?.client_id)
    }

    fn serve(&mut self, id: RequestId, request: &Request) {
        if matches!(request.purpose, Purpose::Snapshot | Purpose::ReadState) {
            self.loads.push(request.clone());
        }
        if self.mute {
            return;
        }
        let outcome = match &request.body {
            Body::Publish(json) => self.take(json),
            Body::Snapshot(_) => match self.load_error.take() {
                Some(error) => Err(error),
                None if self.plain => Ok(Answer::Events(self.query(Purpose::ReadState, None))),
                None => Ok(Answer::Snapshot(Box::new(self.snapshot()))),
            },
            Body::Query(filters) => {
                let error = if request.purpose == Purpose::ReadState { self.load_error.take() } else { None };
                match error {
                    Some(error) => Err(error),
                    None => Ok(Answer::Events(self.query(request.purpose, filters[0].d.as_deref()))),
                }
            }
            Body::Nip11 => unreachable!("the machine does not ask for it"),
        };
        self.answer(id, &outcome);
    }

    fn answer(&mut self, id: RequestId, outcome: &Outcome) {
        assert!(self.input(|sync, io| sync.on_answer(id, outcome, io)), "every answer is the machine's");
    }

    fn query(&self, purpose: Purpose, d: Option<&[String]>) -> Batch {
        let lagging = purpose == Purpose::Readback && self.readback_empty;
        let wanted = |event: &&SharedEvent| match d {
            Some(_) if lagging && self.client_of(event).is_none_or(|c| c == self.record.header().client_id) => false,
            Some(d) => event.values("d").next().is_some_and(|v| d.iter().any(|w| w == v)),
            None => event.values("t").any(|t| t == "read-state"),
        };
        let events = self.stored.values().chain(&self.extra).filter(wanted).cloned().collect();
        Batch { events, rejected: Vec::new() }
    }

    pub(super) fn snapshot(&self) -> SnapshotEnvelope {
        let events: Vec<SharedEvent> = self.stored.values().cloned().collect();
        let bytes: usize = events.iter().map(|e| e.json_len + 1).sum();
        let mut envelope = SnapshotEnvelope {
            version: Some(1),
            complete: Some(true),
            community_id: Some(uuid::Uuid::from_bytes(OFFER.community).to_string()),
            pubkey: Some(self.me.key().to_hex()),
            snapshot_id: Some(discovery::snapshot_id(OFFER, &self.me.key(), &events)),
            batch: Batch { events, rejected: Vec::new() },
            array_bytes: bytes + 1,
        };
        if let Some(damage) = self.damage {
            damage(&mut envelope);
        }
        envelope
    }

    fn take(&mut self, json: &str) -> Outcome {
        self.published.push(json.to_owned());
        let event = self.verifier.event(json).unwrap();
        self.check_published(json, &event);
        let reply = self.replies.pop_front();
        match &reply {
            Some(Reply::Refused(text)) => {
                return Err(refusal(Refusal::Other, text, None));
            }
            Some(Reply::RateLimited(s)) => return Err(refusal(Refusal::RateLimited, "rate-limited: wait", Some(*s))),
            Some(Reply::Duplicate) => return Ok(published("duplicate:")),
            Some(Reply::Overtaken(other)) => self.store(&other.clone()),
            Some(Reply::Lost) | None => {}
        }
        let d = event.values("d").next().unwrap().to_owned();
        let newer = self.stored.get(&d).is_none_or(|held| event.key() < held.key());
        self.store(&event);
        if matches!(reply, Some(Reply::Lost)) {
            return Err(RequestError::Network(NetworkFailure::TimedOut));
        }
        if self.echo && newer {
            self.input(|sync, io| sync.live(&event, io));
        }
        Ok(published(if newer { "" } else { "duplicate:" }))
    }
}

pub(super) fn refusal(why: Refusal, text: &str, retry_after: Option<u32>) -> RequestError {
    RequestError::Refused { status: 400, why, text: text.into(), retry_after }
}

fn published(message: &str) -> Answer {
    Answer::Published { accepted: true, message: message.into() }
}

pub(super) fn full() -> Error {
    Error::Storage { kind: StorageKind::Full }
}

pub(super) fn channel(n: u16) -> Key {
    let mut bytes = [0x40; 16];
    bytes[14..].copy_from_slice(&n.to_be_bytes());
    Key::Channel(ChannelId(bytes))
}

pub(super) fn slot(n: u8) -> SlotId {
    SlotId([n; 16])
}

/// Seconds as a frontier value.
pub(super) fn at(offset: i64) -> u32 {
    u32::try_from(i64::try_from(T0).unwrap() + offset).unwrap()
}
