//! The account's mute preference: kind 30078 with `d` = `t` = `channel-mutes`, encrypted to oneself (`unread.md` 1.5).
//!
//! # Reading
//! The preference is read on every connection and arrives live; each event is decrypted once, by a [`Job`]. States merge per
//! channel: greater `updatedAt` wins, a tie goes to what is held, so copies may cross in any order (E19). One entry of the
//! wrong shape is skipped alone (1.24).
//!
//! # Muting (R27b)
//! [`Mutes::mute`] queues a call. One call at a time reads the preference, merges it, changes its channel with a greater
//! `updatedAt`, has the result encrypted and signed with a later `created_at` than the event read, and publishes it. Only an
//! acceptance that says nothing of a duplicate counts (R26); after a duplicate the call starts over, a few times. Whatever
//! fails first is the call's error, and nothing changes. A preference that exists but cannot be read is never overwritten.
//!
//! Invariant: [`Mutes::is_muted`] answers from *confirmed* states only: ones the relay stored.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value, json};

use crate::clock::Millis;
use crate::error::{Error, Refusal};
use crate::event::{Event, SharedEvent, app_data, kinds};
use crate::ids::{ChannelId, PublicKey};
use crate::limits;
use crate::order::RowKey;
use crate::request::{Answer, Body, Filter, Outbox, Outcome, Priority, Purpose, Request, RequestId};

/// The coordinate, and the value of its `t` tag.
pub const COORDINATE: &str = app_data::MUTES;

/// Identifies one job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u64);

/// Work for the holder of the account's key. Its result is given back by [`Mutes::on_job`], exactly once.
#[derive(Clone, PartialEq, Eq)]
pub enum Job {
    /// Decrypt what the account encrypted to itself (NIP-44).
    Decrypt {
        /// Which job.
        id: JobId,
        /// The event's content.
        ciphertext: String,
    },
    /// Encrypt to the account itself (NIP-44) and sign.
    EncryptAndSign {
        /// Which job.
        id: JobId,
        /// Kind of the event.
        kind: u16,
        /// Its time, seconds.
        created_at: u64,
        /// Its tags.
        tags: Vec<Vec<String>>,
        /// What to encrypt.
        plaintext: String,
    },
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Decrypt { id, ciphertext } => write!(f, "Decrypt({id:?}, {} B)", ciphertext.len()),
            Self::EncryptAndSign { id, plaintext, .. } => write!(f, "EncryptAndSign({id:?}, {} B)", plaintext.len()),
        }
    }
}

/// What a [`Job`] came to.
#[derive(Clone)]
pub enum JobResult {
    /// Of [`Job::Decrypt`].
    Plaintext(String),
    /// Of [`Job::EncryptAndSign`]: the signed event.
    Signed(SharedEvent),
    /// It could not be done: [`Error::ReadOnly`] without a signer, [`Error::InvalidAnswer`] when the content does not decrypt.
    Failed(Error),
}

/// Identifies one `mute` call; the caller chooses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

/// What an input led to.
#[derive(Debug, Default)]
pub struct MuteEffects {
    /// Work to be done.
    pub jobs: Vec<Job>,
    /// Calls that ended.
    pub done: Vec<(CallId, Result<(), Error>)>,
    /// Channels whose confirmed preference changed.
    pub changed: BTreeSet<ChannelId>,
}

/// One channel's entry.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Entry {
    muted: bool,
    /// Seconds by the device that set it. A number in JSON, not necessarily whole.
    updated_at: f64,
}

struct Call {
    id: CallId,
    channel: ChannelId,
    muted: bool,
    attempts: u8,
}

/// Where the current call stands.
enum Step {
    Idle,
    Reading(RequestId),
    /// The preference of this version is being decrypted.
    Opening(JobId, RowKey),
    /// The merged state is being signed.
    Signing(JobId, BTreeMap<String, Entry>),
    Publishing(RequestId, SharedEvent, BTreeMap<String, Entry>),
}

/// The mute preference of one account in one community.
pub struct Mutes {
    viewer: PublicKey,
    confirmed: BTreeMap<String, Entry>,
    /// Newest event whose state is merged into `confirmed`.
    merged: Option<RowKey>,
    calls: VecDeque<Call>,
    step: Step,
    /// Read on connecting, nobody waits for it.
    listing: Option<RequestId>,
    /// A live or listed event that is being decrypted.
    opening: Option<(JobId, RowKey)>,
    /// The newest of those that came meanwhile.
    next: Option<SharedEvent>,
    jobs: u64,
    unsaved: bool,
    connected: bool,
    /// When the listing is repeated, and how long after a further failure.
    retry: Option<Millis>,
    backoff_ms: u64,
    error: Option<Error>,
}

impl std::fmt::Debug for Mutes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Mutes({} channels, {} calls)", self.confirmed.len(), self.calls.len())
    }
}

impl Mutes {
    /// Nothing is muted.
    pub fn new(viewer: PublicKey) -> Self {
        Self {
            viewer,
            confirmed: BTreeMap::new(),
            merged: None,
            calls: VecDeque::new(),
            step: Step::Idle,
            listing: None,
            opening: None,
            next: None,
            jobs: 0,
            unsaved: false,
            connected: false,
            retry: None,
            backoff_ms: limits::RETRY_MIN_MS,
            error: None,
        }
    }

    /// Whether the confirmed preference mutes the channel.
    pub fn is_muted(&self, channel: ChannelId) -> bool {
        self.confirmed.get(&channel.to_string()).is_some_and(|e| e.muted)
    }

    /// Why the preference could not be read, until it can.
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// Filter of the live subscription for the preference (R3).
    pub fn live_filter(&self) -> Filter {
        self.filter().limit(0)
    }

    fn filter(&self) -> Filter {
        Filter { d: Some(vec![COORDINATE.to_owned()]), ..Filter::kinds(&[kinds::APP_DATA]) }.by(&self.viewer)
    }

    /// The confirmed state to be kept over restarts, when it changed since the last call.
    pub fn take_unsaved(&mut self) -> Option<String> {
        std::mem::take(&mut self.unsaved).then(|| payload(&self.confirmed))
    }

    /// Takes in what [`Mutes::take_unsaved`] gave an earlier session. Unreadable text is ignored: the relay has the original.
    pub fn restore(&mut self, stored: &str) -> BTreeSet<ChannelId> {
        let entries = parse(stored).unwrap_or_default();
        let changed = self.merge(entries);
        self.unsaved = false;
        changed
    }

    /// Queues a mute or unmute. The caller has checked that the channel is allowed. Ends in [`MuteEffects::done`].
    pub fn mute(&mut self, id: CallId, channel: ChannelId, muted: bool, out: &mut Outbox) -> MuteEffects {
        let mut effects = MuteEffects::default();
        if self.calls.len() >= limits::MUTE_CALLS {
            effects.done.push((id, Err(Error::Capacity { what: "waiting mute calls" })));
            return effects;
        }
        self.calls.push_back(Call { id, channel, muted, attempts: 0 });
        self.advance(out);
        effects
    }

    /// The connection is there: reads the preference.
    pub fn on_connected(&mut self, out: &mut Outbox) {
        self.on_disconnected(out);
        self.connected = true;
        self.backoff_ms = limits::RETRY_MIN_MS;
        self.list(out);
    }

    /// The connection is gone. Running calls end by the answers their requests are given.
    pub fn on_disconnected(&mut self, out: &mut Outbox) {
        self.connected = false;
        self.retry = None;
        if let Some(id) = self.listing.take() {
            out.cancel(id);
        }
    }

    /// When [`Mutes::on_wake`] wants to be called.
    pub fn next_wake(&self) -> Option<Millis> {
        self.retry
    }

    /// Repeats a failed read, if it is time.
    pub fn on_wake(&mut self, now: Millis, out: &mut Outbox) {
        if self.retry.take_if(|at| *at <= now).is_some() {
            self.list(out);
        }
    }

    /// The session closes: every call ends with [`Error::Closed`].
    pub fn close(&mut self, out: &mut Outbox) -> MuteEffects {
        self.on_disconnected(out);
        if let Step::Reading(id) | Step::Publishing(id, ..) = &self.step {
            out.cancel(*id);
        }
        let mut effects = MuteEffects::default();
        while !self.calls.is_empty() {
            self.end(Err(Error::Closed), &mut effects);
        }
        effects
    }

    fn list(&mut self, out: &mut Outbox) {
        let request = Request::query(Purpose::Preference, Priority::Background, vec![self.filter().limit(1)]);
        self.listing = Some(out.send(request));
    }

    /// Whether the answer under this id is for the mutes.
    pub fn owns(&self, id: RequestId) -> bool {
        self.listing == Some(id) || matches!(&self.step, Step::Reading(own) | Step::Publishing(own, ..) if *own == id)
    }

    /// Takes in the answer to one of its requests; ids of others are ignored. `server` is the best estimate of the relay's time
    /// in seconds.
    pub fn on_answer(
        &mut self,
        id: RequestId,
        outcome: Outcome,
        now: Millis,
        server: u64,
        out: &mut Outbox,
    ) -> MuteEffects {
        let mut effects = MuteEffects::default();
        if self.listing == Some(id) {
            self.on_listed(outcome, now, &mut effects);
            return effects;
        }
        match std::mem::replace(&mut self.step, Step::Idle) {
            Step::Reading(own) if own == id => self.on_read(outcome, server, &mut effects),
            Step::Publishing(own, event, state) if own == id => self.on_published(outcome, &event, state, &mut effects),
            other => self.step = other,
        }
        self.advance(out);
        effects
    }

    /// Takes in a live event; those of other coordinates and people are ignored.
    pub fn on_event(&mut self, event: &SharedEvent) -> MuteEffects {
        let mut effects = MuteEffects::default();
        self.open_newest(std::slice::from_ref(event), &mut effects);
        effects
    }

    /// Takes in what a job came to; ids of others are ignored.
    pub fn on_job(&mut self, id: JobId, result: JobResult, server: u64, out: &mut Outbox) -> MuteEffects {
        let mut effects = MuteEffects::default();
        if let Some((_, at)) = self.opening.take_if(|(own, _)| *own == id) {
            match opened(result) {
                Ok(entries) => self.confirm(at, entries, &mut effects),
                Err(error) => self.error = Some(error),
            }
            if let Some(next) = self.next.take() {
                self.open_newest(std::slice::from_ref(&next), &mut effects);
            }
            return effects;
        }
        match std::mem::replace(&mut self.step, Step::Idle) {
            Step::Opening(own, at) if own == id => match opened(result) {
                Ok(entries) => {
                    self.confirm(at, entries, &mut effects);
                    self.sign(Some(at), server, &mut effects);
                }
                Err(error) => self.end(Err(error), &mut effects),
            },
            Step::Signing(own, state) if own == id => match result {
                JobResult::Signed(event) => self.publish(event, state, out, &mut effects),
                JobResult::Failed(error) => self.end(Err(error), &mut effects),
                JobResult::Plaintext(_) => self.end(Err(WRONG_RESULT), &mut effects),
            },
            other => self.step = other,
        }
        self.advance(out);
        effects
    }

    fn on_listed(&mut self, outcome: Outcome, now: Millis, effects: &mut MuteEffects) {
        self.listing = None;
        let failure = match outcome {
            Ok(Answer::Events(batch)) => return self.open_newest(&batch.events, effects),
            Ok(_) => NOT_EVENTS,
            Err(error) => error.into(),
        };
        let named = match failure {
            Error::RelayRefused { retry_after: Some(seconds), .. } => u64::from(seconds).saturating_mul(1_000),
            _ => 0,
        };
        self.error = Some(failure);
        if self.connected {
            self.retry = Some(now.plus(self.backoff_ms.max(named)));
            self.backoff_ms = self.backoff_ms.saturating_mul(2).min(limits::RETRY_MAX_MS);
        }
    }

    /// Starts the next call, if none is under way.
    fn advance(&mut self, out: &mut Outbox) {
        if matches!(self.step, Step::Idle) && !self.calls.is_empty() {
            let request = Request::query(Purpose::Preference, Priority::Foreground, vec![self.filter().limit(1)]);
            self.step = Step::Reading(out.send(request));
        }
    }

    fn on_read(&mut self, outcome: Outcome, server: u64, effects: &mut MuteEffects) {
        let batch = match outcome {
            Ok(Answer::Events(batch)) => batch,
            Ok(_) => return self.end(Err(NOT_EVENTS), effects),
            Err(error) => return self.end(Err(error.into()), effects),
        };
        if !batch.rejected.is_empty() {
            return self.end(Err(Error::InvalidAnswer { why: "the stored preference does not verify" }), effects);
        }
        match self.newest(&batch.events) {
            Some(event) if self.merged != Some(event.key()) => {
                let id = self.job_id();
                effects.jobs.push(Job::Decrypt { id, ciphertext: event.content.clone() });
                self.step = Step::Opening(id, event.key());
            }
            found => self.sign(found.map(|e| e.key()), server, effects),
        }
    }

    /// Merges the call's choice into what is confirmed and has it signed. `read` is the version on the relay.
    fn sign(&mut self, read: Option<RowKey>, server: u64, effects: &mut MuteEffects) {
        let Some(call) = self.calls.front() else { return };
        let mut state = self.confirmed.clone();
        let key = call.channel.to_string();
        // Later than the entry it replaces, also when that was set by a clock that runs ahead.
        let after = state.get(&key).map_or(0.0, |e| e.updated_at.floor() + 1.0);
        let updated_at = after.max(seconds(server));
        state.insert(key, Entry { muted: call.muted, updated_at });
        bound(&mut state);
        let newest = read.into_iter().chain(self.merged).map(|k| k.created_at.saturating_add(1)).max();
        let created_at = newest.unwrap_or(0).max(server);
        let tags = app_data::tags(COORDINATE, COORDINATE);
        let id = self.job_id();
        let plaintext = payload(&state);
        effects.jobs.push(Job::EncryptAndSign { id, kind: kinds::APP_DATA, created_at, tags, plaintext });
        self.step = Step::Signing(id, state);
    }

    fn publish(
        &mut self,
        event: SharedEvent,
        state: BTreeMap<String, Entry>,
        out: &mut Outbox,
        effects: &mut MuteEffects,
    ) {
        if self.newest(std::slice::from_ref(&event)).is_none() {
            return self.end(Err(WRONG_RESULT), effects);
        }
        let id = out.send(Request {
            purpose: Purpose::Publish,
            priority: Priority::Foreground,
            body: Body::Publish(event.to_json()),
            deadline_ms: limits::REQUEST_DEADLINE_MS,
        });
        self.step = Step::Publishing(id, event, state);
    }

    fn on_published(
        &mut self,
        outcome: Outcome,
        event: &Event,
        state: BTreeMap<String, Entry>,
        effects: &mut MuteEffects,
    ) {
        let refused = |why| Err(Error::RelayRefused { why, retry_after: None });
        match outcome {
            Ok(Answer::Published { accepted: true, message }) if message.starts_with("duplicate") => {
                let Some(call) = self.calls.front_mut() else { return };
                call.attempts += 1;
                if call.attempts >= limits::MUTE_ATTEMPTS {
                    self.end(refused(Refusal::Other), effects);
                }
            }
            Ok(Answer::Published { accepted: true, .. }) => {
                self.confirm(event.key(), state, effects);
                self.end(Ok(()), effects);
            }
            Ok(Answer::Published { accepted: false, .. }) => self.end(refused(Refusal::Other), effects),
            Ok(_) => self.end(Err(Error::InvalidAnswer { why: "not the answer to a publication" }), effects),
            Err(error) => self.end(Err(error.into()), effects),
        }
    }

    fn end(&mut self, result: Result<(), Error>, effects: &mut MuteEffects) {
        self.step = Step::Idle;
        if let Some(call) = self.calls.pop_front() {
            effects.done.push((call.id, result));
        }
    }

    /// The newest of the events that is this account's preference.
    fn newest<'a>(&self, events: &'a [SharedEvent]) -> Option<&'a SharedEvent> {
        let own = |e: &&SharedEvent| {
            e.kind == kinds::APP_DATA && e.pubkey == self.viewer && e.single("d") == Some(COORDINATE)
        };
        events.iter().filter(own).min_by_key(|e| e.key())
    }

    /// Has the newest of the events decrypted, unless it is merged already or another is being decrypted.
    fn open_newest(&mut self, events: &[SharedEvent], effects: &mut MuteEffects) {
        let Some(event) = self.newest(events) else {
            return;
        };
        let key = event.key();
        if self.merged.is_some_and(|merged| merged == key) {
            return;
        }
        match &self.opening {
            None => {
                let id = self.job_id();
                self.opening = Some((id, key));
                effects.jobs.push(Job::Decrypt { id, ciphertext: event.content.clone() });
            }
            Some((_, running)) if *running == key => {}
            Some(_) if self.next.as_ref().is_none_or(|n| key < n.key()) => self.next = Some(event.clone()),
            Some(_) => {}
        }
    }

    fn confirm(&mut self, at: RowKey, entries: BTreeMap<String, Entry>, effects: &mut MuteEffects) {
        self.error = None;
        if self.merged.is_none_or(|merged| at < merged) {
            self.merged = Some(at);
        }
        effects.changed.extend(self.merge(entries));
    }

    /// Merges per channel; says which channels are muted or unmuted by it.
    fn merge(&mut self, entries: BTreeMap<String, Entry>) -> BTreeSet<ChannelId> {
        let mut changed = BTreeSet::new();
        for (key, entry) in entries {
            let held = self.confirmed.get(&key);
            if held.is_some_and(|h| h.updated_at >= entry.updated_at) {
                continue;
            }
            if held.is_some_and(|h| h.muted) != entry.muted {
                changed.extend(ChannelId::parse(&key).ok());
            }
            self.confirmed.insert(key, entry);
            self.unsaved = true;
        }
        bound(&mut self.confirmed);
        changed
    }

    fn job_id(&mut self) -> JobId {
        self.jobs += 1;
        JobId(self.jobs)
    }
}

const NOT_EVENTS: Error = Error::InvalidAnswer { why: "not a list of events" };
const WRONG_RESULT: Error = Error::InvalidAnswer { why: "the result of another job" };

fn opened(result: JobResult) -> Result<BTreeMap<String, Entry>, Error> {
    match result {
        JobResult::Plaintext(text) => {
            parse(&text).ok_or(Error::InvalidAnswer { why: "the stored preference cannot be read" })
        }
        JobResult::Failed(error) => Err(error),
        JobResult::Signed(_) => Err(WRONG_RESULT),
    }
}

/// Entries of a payload. None when it is not one of version 1; an entry of the wrong shape is skipped alone (1.24).
fn parse(text: &str) -> Option<BTreeMap<String, Entry>> {
    let body: Value = serde_json::from_str(text).ok()?;
    if body.get("version")?.as_u64() != Some(1) {
        return None;
    }
    let entry = |value: &Value| {
        let muted = value.get("muted")?.as_bool()?;
        let updated_at = value.get("updatedAt")?.as_f64().filter(|n| n.is_finite() && *n >= 0.0)?;
        Some(Entry { muted, updated_at })
    };
    let channels = body.get("channels")?.as_object()?;
    let mut entries = channels.iter().filter_map(|(k, v)| Some((k.clone(), entry(v)?))).collect();
    bound(&mut entries);
    Some(entries)
}

fn payload(entries: &BTreeMap<String, Entry>) -> String {
    let channels: Map<String, Value> = entries
        .iter()
        .map(|(key, e)| (key.clone(), json!({ "muted": e.muted, "updatedAt": number(e.updated_at) })))
        .collect();
    json!({ "version": 1, "channels": channels }).to_string()
}

/// A whole number is written as one.
fn number(value: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked: whole, and exact in both types"
    )]
    if value.fract() == 0.0 && value < EXACT { json!(value as u64) } else { json!(value) }
}

fn seconds(server: u64) -> f64 {
    // Exact for the next 285 million years, and monotonic beyond.
    #[expect(clippy::cast_precision_loss, reason = "see above")]
    let exact = server as f64;
    exact
}

/// Drops the entries changed longest ago beyond [`limits::MUTES`].
fn bound(entries: &mut BTreeMap<String, Entry>) {
    let Some(over) = entries.len().checked_sub(limits::MUTES).filter(|n| *n > 0) else { return };
    let mut by_age: Vec<_> = entries.iter().map(|(k, e)| (e.updated_at, k.clone())).collect();
    by_age.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
    for (_, key) in by_age.into_iter().take(over) {
        entries.remove(&key);
    }
}
