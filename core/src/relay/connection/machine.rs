//! The state machine itself; `mod.rs` says what it is for.

use std::sync::Arc;

use super::backoff::Backoff;
use super::subscriptions::{Arming, Subscriptions, Verdict};
use super::{Attempt, Effect, Input, LinkEvent, LinkStatus, Output};
use crate::clock::{Millis, Now, ServerTime};
use crate::entropy::Entropy;
use crate::error::{Error, NetworkFailure, Refusal};
use crate::event::SharedEvent;
use crate::identity::SignedJson;
use crate::ids::{ChannelId, EventId, PublicKey};
use crate::limits;
use crate::model::Phase;
use crate::relay::admission::Gate;
use crate::relay::protocol::{
    ClientMessage, RelayAddress, RelayInfo, RelayMessage, SignIn, refuse, sign_in_refusal, socket_auth,
};
use crate::relay::transport::HttpResponse;
use crate::request::RequestError;

/// A restarting relay's close code.
const RESTARTING: u16 = 1012;
/// Being connected at least this long, in milliseconds, makes the next failure the first one again.
const STEADY_MS: u64 = 10_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Discovering { deadline: Millis },
    Dialling { deadline: Millis },
    AwaitingChallenge { deadline: Millis },
    Signing { deadline: Millis },
    Authenticating { deadline: Millis, id: EventId },
    Subscribing,
    Online,
    Waiting { until: Millis },
    Suspended,
    Refused,
    Closed,
}

/// One connection to one relay, over all its attempts. See the module's text.
pub struct Connection {
    address: RelayAddress,
    entropy: Entropy,
    backoff: Backoff,
    time: ServerTime,
    state: State,
    pub(super) attempt: u64,
    /// Transient sign-in refusals in a row.
    refusals: u32,
    info: Arc<RelayInfo>,
    subs: Subscriptions,
    /// Last sign of life, and until when a probe must bring one.
    alive_at: Millis,
    probe: Option<Millis>,
    online_at: Millis,
    /// Whether the engine was told that it is offline since the last `Online`, start or resume.
    offline: bool,
    error: Option<Error>,
}

impl Connection {
    /// An idle connection of `me` to `address`. Without `live` it signs in and subscribes to nothing.
    pub fn new(address: RelayAddress, me: PublicKey, entropy: Entropy, live: bool) -> Self {
        Self {
            address,
            entropy,
            backoff: Backoff::default(),
            time: ServerTime::default(),
            state: State::Idle,
            attempt: 0,
            refusals: 0,
            info: Arc::new(RelayInfo::default()),
            subs: Subscriptions::new(me, live),
            alive_at: Millis(0),
            probe: None,
            online_at: Millis(0),
            offline: false,
            error: None,
        }
    }

    /// Takes in what happened.
    pub fn handle(&mut self, now: Now, input: Input, out: &mut Output) {
        if self.state == State::Closed {
            return;
        }
        match input {
            Input::Start => self.start(out, now),
            Input::Resume => self.resume(now, out),
            Input::NetworkChanged => self.network_changed(now, out),
            Input::Suspend => self.halt(State::Suspended, out),
            Input::Close => self.halt(State::Closed, out),
            Input::Document(a, result) if self.is_current(a) => self.on_document(now, result, out),
            Input::Dialled(a, result) if self.is_current(a) => self.on_dialled(now, result, out),
            Input::Signed(a, result) if self.is_current(a) => self.on_signed(now, result, out),
            Input::Message(a, message) if self.is_current(a) => {
                self.is_alive(now);
                if let RelayMessage::Event { sub, event } = message {
                    // The hot path: nothing falls due because an event came.
                    return self.on_event(&sub, event, out);
                }
                self.on_message(now, message, out);
            }
            Input::Alive(a) if self.is_current(a) => self.is_alive(now),
            Input::Lagged(a) if self.is_current(a) => self.subs.missed_everything(out),
            Input::Ended(a, code) if self.is_current(a) => self.on_ended(now, code, out),
            // Of an attempt that is over.
            Input::Document(..)
            | Input::Dialled(..)
            | Input::Signed(..)
            | Input::Message(..)
            | Input::Alive(_)
            | Input::Lagged(_)
            | Input::Ended(..) => {}
        }
        self.pump(now, out);
    }

    /// Sets the channels to be live: the roster, and what else is opened. Those in `open` go first (R4). Call it after every
    /// re-check of the roster too, even if nothing changed. Takes effect at once when signed in, else on the next connection.
    pub fn set_channels(
        &mut self,
        now: Now,
        channels: impl IntoIterator<Item = ChannelId>,
        open: &[ChannelId],
        out: &mut Output,
    ) {
        self.subs.set(channels, open, out);
        self.pump(now, out);
    }

    /// Whether a channel's head may be read (R3).
    pub fn arming(&self, channel: &ChannelId) -> Arming {
        match self.state {
            State::Subscribing | State::Online => self.subs.arming(channel),
            _ => Arming::Pending,
        }
    }

    /// When [`Connection::on_wake`] has something to do.
    pub fn next_wake(&self, now: Millis) -> Option<Millis> {
        match self.state {
            State::Idle | State::Suspended | State::Refused | State::Closed => None,
            State::Waiting { until } => Some(until),
            State::Discovering { deadline }
            | State::Dialling { deadline }
            | State::AwaitingChallenge { deadline }
            | State::Signing { deadline }
            | State::Authenticating { deadline, .. } => Some(deadline),
            State::Subscribing | State::Online => {
                let silence = self.probe.unwrap_or_else(|| self.alive_at.plus(limits::SILENCE_MS));
                Some(self.subs.next_wake(now).map_or(silence, |at| at.min(silence)))
            }
        }
    }

    /// Does what is due. Harmless when nothing is.
    pub fn on_wake(&mut self, now: Now, out: &mut Output) {
        match self.state {
            State::Waiting { until } if until <= now.mono => self.attempt(now, out),
            State::Discovering { deadline }
            | State::Dialling { deadline }
            | State::AwaitingChallenge { deadline }
            | State::Signing { deadline }
            | State::Authenticating { deadline, .. }
                if deadline <= now.mono =>
            {
                self.fail(now, Error::Network { why: NetworkFailure::TimedOut }, None, out);
            }
            State::Subscribing | State::Online => self.check_silence(now, out),
            _ => {}
        }
        self.pump(now, out);
    }

    /// Learns the relay's time from the `Date` of any HTTP answer (R25).
    pub fn learn(&mut self, now: Now, date: u64) {
        self.time.learn(now, date);
    }

    /// The session's idea of the relay's time.
    pub fn server_time(&self) -> &ServerTime {
        &self.time
    }

    /// What the relay said of itself on the last connection.
    pub fn info(&self) -> &Arc<RelayInfo> {
        &self.info
    }

    /// Where it connects to.
    pub fn address(&self) -> &RelayAddress {
        &self.address
    }

    /// Whether HTTP requests may go out: they wait during the first attempt after a start or resume, and fail at once between a
    /// failure and the next success (R25c).
    pub fn gate(&self) -> Gate {
        match self.state {
            State::Online => Gate::Online,
            State::Idle | State::Suspended | State::Refused | State::Closed | State::Waiting { .. } => Gate::Offline,
            _ if self.offline => Gate::Offline,
            _ => Gate::Connecting,
        }
    }

    /// For a status line.
    pub fn status(&self) -> LinkStatus {
        let (phase, retry_at) = match self.state {
            State::Idle => (Phase::Idle, None),
            State::Online => (Phase::Online, None),
            State::Waiting { until } => (Phase::Offline, Some(until)),
            State::Suspended => (Phase::Suspended, None),
            State::Refused => (Phase::Refused, None),
            State::Closed => (Phase::Closed, None),
            _ => (Phase::Connecting, None),
        };
        LinkStatus { phase, retry_at, error: self.error.clone() }
    }

    fn is_current(&self, attempt: Attempt) -> bool {
        let running = !matches!(
            self.state,
            State::Idle | State::Waiting { .. } | State::Suspended | State::Refused | State::Closed
        );
        running && attempt.0 == self.attempt
    }

    fn is_alive(&mut self, now: Now) {
        self.alive_at = now.mono;
        self.probe = None;
    }

    fn start(&mut self, out: &mut Output, now: Now) {
        if matches!(self.state, State::Idle | State::Refused) {
            self.refusals = 0;
            self.begin_again(now, out);
        }
    }

    fn resume(&mut self, now: Now, out: &mut Output) {
        match self.state {
            State::Suspended | State::Refused | State::Waiting { .. } => self.begin_again(now, out),
            State::Subscribing | State::Online => self.send_probe(now, out),
            _ => {}
        }
    }

    fn network_changed(&mut self, now: Now, out: &mut Output) {
        match self.state {
            State::Waiting { .. } => {
                self.backoff.reset();
                self.attempt(now, out);
            }
            State::Subscribing | State::Online => self.send_probe(now, out),
            _ => {}
        }
    }

    fn begin_again(&mut self, now: Now, out: &mut Output) {
        self.backoff.reset();
        self.offline = false;
        self.error = None;
        self.attempt(now, out);
    }

    fn attempt(&mut self, now: Now, out: &mut Output) {
        self.attempt += 1;
        self.state = State::Discovering { deadline: now.mono.plus(limits::DISCOVERY_DEADLINE_MS) };
        out.effects.push(Effect::FetchDocument(Attempt(self.attempt)));
    }

    /// Ends whatever runs.
    fn abandon(&mut self, out: &mut Output) {
        if self.is_current(Attempt(self.attempt)) {
            out.effects.push(Effect::Abandon(Attempt(self.attempt)));
        }
        self.subs.end();
        self.probe = None;
    }

    fn halt(&mut self, state: State, out: &mut Output) {
        self.abandon(out);
        self.state = state;
    }

    /// The attempt has failed, or its connection is lost: tells so once and arranges for the next. `wait` overrides back-off.
    fn fail(&mut self, now: Now, error: Error, wait: Option<u64>, out: &mut Output) {
        if self.state == State::Online && now.mono.since(self.online_at) >= STEADY_MS {
            self.backoff.reset();
        }
        self.abandon(out);
        self.error = Some(error.clone());
        if !self.offline {
            self.offline = true;
            out.events.push(LinkEvent::Offline { error });
        }
        let by_count = self.backoff.next(&mut self.entropy);
        match wait.unwrap_or(by_count) {
            0 => self.attempt(now, out),
            wait => self.state = State::Waiting { until: now.mono.plus(wait) },
        }
    }

    /// Only the person can help.
    fn refuse(&mut self, error: Error, out: &mut Output) {
        self.halt(State::Refused, out);
        self.offline = true;
        self.error = Some(error.clone());
        out.events.push(LinkEvent::Refused { error });
    }

    fn on_document(&mut self, now: Now, result: Result<HttpResponse, NetworkFailure>, out: &mut Output) {
        if !matches!(self.state, State::Discovering { .. }) {
            return;
        }
        let response = match result {
            Ok(response) => response,
            Err(why) => return self.fail(now, Error::Network { why }, None, out),
        };
        if let Some(date) = response.date {
            self.time.learn(now, date);
        }
        let info = match response.status {
            // A document that cannot be read is no document: going on without would lower the trust in overlays (R2).
            200..=299 => match RelayInfo::parse(&response.body) {
                Some(info) => info,
                None => return self.fail(now, Error::Network { why: NetworkFailure::Truncated }, None, out),
            },
            status @ (429 | 500..) => {
                let error = refuse(status, &String::from_utf8_lossy(&response.body));
                let wait = match &error {
                    RequestError::Refused { retry_after, .. } => {
                        Some(u64::from(retry_after.unwrap_or(limits::RATE_LIMIT_WAIT).clamp(1, 60)) * 1_000)
                    }
                    _ => None,
                };
                return self.fail(now, error.into(), wait, out);
            }
            // A relay without a document. Whether it is one will show.
            _ => RelayInfo::default(),
        };
        self.info = Arc::new(info);
        self.state = State::Dialling { deadline: now.mono.plus(limits::DIAL_DEADLINE_MS) };
        out.effects.push(Effect::Dial(Attempt(self.attempt)));
    }

    fn on_dialled(&mut self, now: Now, result: Result<(), NetworkFailure>, out: &mut Output) {
        if !matches!(self.state, State::Dialling { .. }) {
            return;
        }
        match result {
            Ok(()) => self.state = State::AwaitingChallenge { deadline: now.mono.plus(limits::SIGN_IN_STEP_MS) },
            Err(why) => self.fail(now, Error::Network { why }, None, out),
        }
    }

    fn on_message(&mut self, now: Now, message: RelayMessage, out: &mut Output) {
        match (self.state, message) {
            (State::Dialling { .. } | State::AwaitingChallenge { .. }, RelayMessage::Auth(challenge)) => {
                let server_time = self.time.at(now);
                self.state = State::Signing { deadline: now.mono.plus(limits::SIGN_IN_STEP_MS) };
                let event = socket_auth(&self.address, &challenge, server_time);
                out.effects.push(Effect::Sign { attempt: Attempt(self.attempt), event, server_time });
            }
            (State::Authenticating { id, .. }, RelayMessage::Ok { id: answered, accepted, message })
                if id == answered =>
            {
                self.on_signed_in(now, sign_in_refusal(accepted, &message), out);
            }
            (State::Subscribing | State::Online, message) => self.on_stream(now, message, out),
            _ => {}
        }
    }

    fn on_event(&mut self, sub: &str, event: SharedEvent, out: &mut Output) {
        let streaming = matches!(self.state, State::Subscribing | State::Online);
        if let Some(source) = self.subs.source(sub).filter(|_| streaming) {
            out.events.push(LinkEvent::Live { source, event });
        }
    }

    fn on_signed(&mut self, now: Now, result: Result<SignedJson, Error>, out: &mut Output) {
        if !matches!(self.state, State::Signing { .. }) {
            return;
        }
        match result {
            Ok(signed) => {
                let text = ClientMessage::Auth(signed.json).to_text();
                out.effects.push(Effect::Send(Attempt(self.attempt), text));
                let deadline = now.mono.plus(limits::SIGN_IN_STEP_MS);
                self.state = State::Authenticating { deadline, id: signed.id };
            }
            Err(error) => self.refuse(error, out),
        }
    }

    fn on_signed_in(&mut self, now: Now, verdict: SignIn, out: &mut Output) {
        let refused = |why| Error::RelayRefused { why, retry_after: None };
        match verdict {
            SignIn::Ready => {
                self.refusals = 0;
                self.state = State::Subscribing;
                self.is_alive(now);
                self.subs.begin(Attempt(self.attempt), self.info.dialect());
            }
            SignIn::Again => {
                self.refusals += 1;
                if self.refusals >= limits::SIGN_IN_REFUSALS {
                    self.refuse(refused(Refusal::Auth), out);
                } else {
                    self.fail(now, refused(Refusal::Auth), None, out);
                }
            }
            SignIn::Refused(why) => self.refuse(refused(why), out),
        }
    }

    fn on_stream(&mut self, now: Now, message: RelayMessage, out: &mut Output) {
        match message {
            RelayMessage::Eose { sub } => self.subs.on_eose(&sub, out),
            RelayMessage::Closed { sub, message } => {
                if self.subs.on_closed(now.mono, &sub, &message, out) == Verdict::Reconnect {
                    let why = Refusal::Auth;
                    self.fail(now, Error::RelayRefused { why, retry_after: None }, None, out);
                }
            }
            RelayMessage::Notice(text) => self.subs.on_notice(now.mono, &text),
            // A second challenge cannot be answered; the rest concerns nothing that was asked.
            RelayMessage::Event { .. }
            | RelayMessage::Rejected(_)
            | RelayMessage::Ok { .. }
            | RelayMessage::Auth(_)
            | RelayMessage::Count
            | RelayMessage::Malformed => {}
        }
    }

    fn on_ended(&mut self, now: Now, code: Option<u16>, out: &mut Output) {
        let wait = (code == Some(RESTARTING)).then(|| 500 + self.entropy.below(1_500));
        self.fail(now, Error::Network { why: NetworkFailure::Lost }, wait, out);
    }

    fn check_silence(&mut self, now: Now, out: &mut Output) {
        match self.probe {
            Some(deadline) if deadline <= now.mono => {
                self.fail(now, Error::Network { why: NetworkFailure::TimedOut }, None, out);
            }
            None if now.mono.since(self.alive_at) >= limits::SILENCE_MS => self.send_probe(now, out),
            _ => {}
        }
    }

    fn send_probe(&mut self, now: Now, out: &mut Output) {
        if self.probe.is_none() {
            self.probe = Some(now.mono.plus(limits::PROBE_DEADLINE_MS));
            out.effects.push(Effect::Ping(Attempt(self.attempt)));
        }
    }

    /// Lets subscriptions move on, and says so when the connection is complete.
    fn pump(&mut self, now: Now, out: &mut Output) {
        if !matches!(self.state, State::Subscribing | State::Online) {
            return;
        }
        let server_time = self.time.at(now);
        self.subs.pump(now.mono, server_time, out);
        if self.state == State::Subscribing && self.subs.globals_settled() {
            self.state = State::Online;
            self.online_at = now.mono;
            self.offline = false;
            self.error = None;
            out.events.push(LinkEvent::Online { info: self.info.clone() });
        }
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Connection({:?})", self.status().phase)
    }
}
