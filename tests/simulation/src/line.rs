//! A device's line to the relay in this process: where traffic goes wrong, and where every request is held against the relay's limits.
//!
//! It works in virtual time: a slow answer sleeps on the scenario's clock. What is watched is what a relay can see: how many requests are
//! in flight, how many in a window, how large they are, how many channels, ids and rows they ask for. A process that was started anew
//! knows nothing of the calls of the one before, so windows count per process.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use waggle::clock::{Clock as _, Millis};
use waggle::error::NetworkFailure;
use waggle::ids::EventId;
use waggle::limits;
use waggle::relay::transport::{HttpRequest, HttpResponse, Socket, SocketEvent, SocketRequest, Transport};
use waggle::request::Purpose;
use waggle_scenarios::clock::{Time, VirtualClock};
use waggle_scenarios::trace::Trace;
use waggle_scenarios::transport::{Pipe, socket, to_relay};
use waggle_test_relay::{Relay, SocketReceiver, SocketSender};

use crate::dice::Dice;
use crate::plan::LineFault;
use crate::watch;

/// Events remembered for a replay.
const REPLAYED: usize = 48;
/// Read-state answers remembered to be served again.
const OLD_ANSWERS: usize = 8;
/// Milliseconds of a slow answer: within the deadline of a request, or beyond it.
const SLOW_MS: [u64; 3] = [400, 6_000, 12_000];
/// Most milliseconds of a late event.
const LATE_MS: u64 = 950;

#[derive(Default)]
struct State {
    offline: bool,
    /// Counts the times the line was cut.
    cuts: u64,
    sockets: Vec<SocketSender>,
    faults: Vec<(LineFault, u32, u32)>,
    in_flight: usize,
    /// Times of calls and frames of this process.
    calls: VecDeque<u64>,
    frames: VecDeque<u64>,
    pushed: VecDeque<String>,
    answers: VecDeque<(Purpose, HttpResponse)>,
    violations: Vec<String>,
    /// Pushed frames that were withheld.
    withheld: Vec<String>,
    /// Whether one of this connection was a notice of membership.
    lacks_notice: bool,
    /// Whether the relay was ever told to answer as one without windows: that is believed until the next connection (R5).
    degraded: bool,
    /// Until when the relay will not hear of a refused subscription, ms.
    refused_until: u64,
    /// When a look-up last failed, ms.
    lookup_failed: Option<u64>,
    /// Whether anything went wrong since this was last asked.
    troubled: bool,
    /// Answers and events under way.
    pending: u32,
}

/// Milliseconds for which the relay refuses a rate-limited subscription (it names 30 s), and a margin for asking anew.
const REFUSED_MS: u64 = 32_000;

/// A device's line.
pub struct Line {
    relay: Relay,
    label: String,
    time: Arc<Time>,
    clock: Arc<VirtualClock>,
    state: Mutex<State>,
    dice: Mutex<Dice>,
    trace: Trace,
}

/// Counts a request as in flight until dropped.
struct Flight(Arc<Line>);

impl Drop for Flight {
    fn drop(&mut self) {
        self.0.state().in_flight -= 1;
    }
}

/// Counts something as under way until dropped.
struct UnderWay(Arc<Line>);

impl UnderWay {
    fn new(line: &Arc<Line>) -> Self {
        line.state().pending += 1;
        Self(line.clone())
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.state().pending -= 1;
    }
}

impl Line {
    /// A line that works.
    pub fn new(relay: Relay, label: &str, time: Arc<Time>, seed: u64, trace: Trace) -> Arc<Self> {
        Arc::new(Self {
            relay,
            label: label.to_owned(),
            clock: VirtualClock::new(time.clone()),
            time,
            state: Mutex::default(),
            dice: Mutex::new(Dice::new(seed)),
            trace,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn dice(&self) -> MutexGuard<'_, Dice> {
        self.dice.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cuts the line or mends it. Cutting ends every socket and loses the answers on their way.
    pub fn set_online(&self, online: bool) {
        let sockets = {
            let mut state = self.state();
            state.offline = !online;
            if online {
                return;
            }
            state.cuts += 1;
            state.troubled = true;
            std::mem::take(&mut state.sockets)
        };
        sockets.iter().for_each(SocketSender::close);
    }

    /// Whether it works.
    pub fn is_online(&self) -> bool {
        !self.state().offline
    }

    /// After `skip` chances, a fault strikes `times` times.
    pub fn fault(&self, fault: LineFault, skip: u32, times: u32) {
        self.state().faults.push((fault, skip, times));
    }

    /// Everything works again.
    pub fn mend(&self) {
        let mut state = self.state();
        state.faults.clear();
        state.offline = false;
    }

    /// A process begins: windows count anew.
    pub fn new_process(&self) {
        let mut state = self.state();
        state.calls.clear();
        state.frames.clear();
    }

    /// What was against a limit so far, and forgets it.
    pub fn violations(&self) -> Vec<String> {
        std::mem::take(&mut self.state().violations)
    }

    /// Whether anything went wrong since the last question, is armed, or is still under way.
    pub fn was_troubled(&self) -> bool {
        let mut state = self.state();
        let refused = self.time.now_ms() < state.refused_until;
        let now = state.offline || refused || !state.faults.is_empty() || state.pending > 0;
        std::mem::take(&mut state.troubled) || now
    }

    /// Whether pushed events were ever withheld.
    pub fn has_withheld(&self) -> bool {
        !self.state().withheld.is_empty()
    }

    /// Whether a notice of membership was withheld on this connection: nobody asks for the roster again before the next.
    pub fn lacks_notice(&self) -> bool {
        self.state().lacks_notice
    }

    /// Whether this event was ever withheld.
    pub fn has_withheld_event(&self, id: &EventId) -> bool {
        let id = format!(r#""id":"{}""#, id.to_hex());
        self.state().withheld.iter().any(|frame| frame.contains(&id))
    }

    /// The relay is told to answer as one without windows.
    pub fn degrade(&self) {
        self.state().degraded = true;
    }

    /// Whether it ever was.
    pub fn was_degraded(&self) -> bool {
        self.state().degraded
    }

    /// Whether a look-up failed so lately that the next one may still wait (`unread.md` 4.6).
    pub fn looks_up_again(&self) -> bool {
        self.state().lookup_failed.is_some_and(|at| self.time.now_ms() <= at + limits::LOOKUP_RETRY_MS.1 + 1_000)
    }

    /// Notes a violation.
    pub fn violated(&self, what: String) {
        self.state().violations.push(format!("{}: {what}", self.label));
    }

    fn strike(&self, kinds: &[LineFault]) -> Option<LineFault> {
        let mut state = self.state();
        let at = state.faults.iter().position(|(fault, ..)| kinds.contains(fault))?;
        let (fault, skip, times) = &mut state.faults[at];
        if *skip > 0 {
            *skip -= 1;
            return None;
        }
        let fault = *fault;
        *times -= 1;
        if *times == 0 {
            state.faults.remove(at);
        }
        state.troubled = true;
        Some(fault)
    }

    /// Counts a call or frame and complains when there are more than a relay takes.
    fn count(&self, frames: bool) {
        let now = self.time.now_ms();
        let mut state = self.state();
        let (window, span, most) = if frames {
            (&mut state.frames, limits::PACE_WINDOW_MS, limits::PACE_FRAMES)
        } else {
            (&mut state.calls, limits::QUOTA_WINDOW_MS, limits::QUOTA_CALLS)
        };
        while window.front().is_some_and(|at| at + span <= now) {
            window.pop_front();
        }
        window.push_back(now);
        let seen = window.len();
        if seen > most {
            state.violations.push(format!("{}: {seen} calls or frames within {span} ms", self.label));
        }
    }

    fn begin(self: &Arc<Self>, request: &HttpRequest) -> Option<Flight> {
        watch::request(request).into_iter().for_each(|what| self.violated(what));
        if request.purpose == Purpose::Nip11 {
            return None;
        }
        self.count(false);
        let mut state = self.state();
        state.in_flight += 1;
        let seen = state.in_flight;
        if seen > limits::REQUESTS_IN_FLIGHT {
            state.violations.push(format!("{}: {seen} requests in flight", self.label));
        }
        drop(state);
        Some(Flight(self.clone()))
    }

    async fn exchange(self: Arc<Self>, request: HttpRequest) -> Result<HttpResponse, NetworkFailure> {
        let cuts = {
            let state = self.state();
            if state.offline {
                return Err(NetworkFailure::Offline);
            }
            state.cuts
        };
        let _flight = self.begin(&request);
        let (purpose, max_body) = (request.purpose, request.max_body);
        let fault = self.strike(faults_of(purpose));
        self.trace.line(&self.label, || format!("{purpose:?} {fault:?}"));
        if fault == Some(LineFault::LoseRequest) {
            tokio::task::yield_now().await;
            return Err(NetworkFailure::Lost);
        }
        let outcome = match fault {
            Some(LineFault::SwallowPublish) => Ok(self.swallow(&request)),
            Some(LineFault::StaleReadState) => match self.old_answer(purpose) {
                Some(old) => Ok(old),
                None => self.ask(request),
            },
            _ => self.ask(request),
        };
        if fault == Some(LineFault::SlowAnswer) {
            let ms = { SLOW_MS[self.dice().below(SLOW_MS.len())] };
            let _under_way = UnderWay::new(&self);
            self.clock.sleep_until(Millis(self.time.now_ms() + ms)).await;
        }
        tokio::task::yield_now().await;
        if self.state().cuts != cuts || fault == Some(LineFault::LoseAnswer) {
            return Err(NetworkFailure::Lost);
        }
        let mut answer = outcome?;
        self.remember(purpose, &answer);
        if fault == Some(LineFault::OmitRows) {
            answer.body = watch::without_every_second(&answer.body);
        }
        if answer.body.len() > max_body { Err(NetworkFailure::Oversized) } else { Ok(answer) }
    }

    fn ask(&self, request: HttpRequest) -> Result<HttpResponse, NetworkFailure> {
        let mut request = to_relay(request);
        request.label = Some(self.label.clone());
        let answer = self.relay.http(request).map_err(|_| NetworkFailure::Lost)?;
        self.trace.line(&self.label, || format!("-> {} {} B", answer.status, answer.body.len()));
        if answer.truncated {
            self.state().troubled = true;
            return Err(NetworkFailure::Truncated);
        }
        let date = answer.header("date").and_then(|d| httpdate::parse_http_date(d).ok());
        let date = date.and_then(|d| d.duration_since(std::time::UNIX_EPOCH).ok()).map(|d| d.as_secs());
        Ok(HttpResponse { status: answer.status, date, body: answer.body })
    }

    fn swallow(&self, request: &HttpRequest) -> HttpResponse {
        let id = watch::event_id(&request.body);
        let body = format!(r#"{{"accepted":true,"event_id":"{id}","message":""}}"#);
        HttpResponse { status: 200, date: Some(self.time.unix()), body: body.into_bytes() }
    }

    fn remember(&self, purpose: Purpose, answer: &HttpResponse) {
        if matches!(purpose, Purpose::Snapshot | Purpose::ReadState) && answer.status == 200 {
            let mut state = self.state();
            if state.answers.len() >= OLD_ANSWERS {
                state.answers.pop_front();
            }
            state.answers.push_back((purpose, answer.clone()));
        }
    }

    fn old_answer(&self, purpose: Purpose) -> Option<HttpResponse> {
        let state = self.state();
        let old = state.answers.iter().find(|(of, _)| *of == purpose)?;
        Some(HttpResponse { date: Some(self.time.unix()), ..old.1.clone() })
    }

    fn open(&self) -> Result<(SocketSender, SocketReceiver), NetworkFailure> {
        if self.state().offline {
            return Err(NetworkFailure::Offline);
        }
        let (sender, receiver) = self.relay.connect_labelled(self.label.clone()).split();
        let mut state = self.state();
        state.lacks_notice = false;
        state.sockets.push(sender.clone());
        drop(state);
        self.trace.line(&self.label, || "socket".to_owned());
        Ok((sender, receiver))
    }
}

fn faults_of(purpose: Purpose) -> &'static [LineFault] {
    use LineFault::{LoseAnswer, LoseRequest, OmitRows, SlowAnswer, StaleReadState, SwallowPublish};
    match purpose {
        Purpose::Evidence => &[LoseRequest, LoseAnswer, SlowAnswer, OmitRows],
        Purpose::Snapshot | Purpose::ReadState => &[LoseRequest, LoseAnswer, SlowAnswer, StaleReadState],
        Purpose::Publish => &[LoseRequest, LoseAnswer, SlowAnswer, SwallowPublish],
        _ => &[LoseRequest, LoseAnswer, SlowAnswer],
    }
}

/// The core's transport port over a [`Line`].
pub struct OverLine(pub Arc<Line>);

impl Transport for OverLine {
    fn http(&self, request: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, NetworkFailure>> {
        let line = self.0.clone();
        Box::pin(async move {
            // An exchange given up in this instant is over before the next one is on the wire.
            tokio::task::yield_now().await;
            let is_lookup = request.purpose == Purpose::Lookup;
            let outcome = line.clone().exchange(request).await;
            if is_lookup && outcome.as_ref().map_or(true, |answer| answer.status != 200) {
                line.state().lookup_failed = Some(line.time.now_ms());
            }
            outcome
        })
    }

    fn connect(&self, _: SocketRequest) -> BoxFuture<'static, Result<Socket, NetworkFailure>> {
        let line = self.0.clone();
        Box::pin(async move {
            let (sender, receiver) = line.open()?;
            Ok(socket(line, sender, receiver))
        })
    }
}

impl Pipe for Line {
    fn leaves(&self, text: &str) {
        watch::frame(text).into_iter().for_each(|what| self.violated(what));
        if watch::is_counted(text) {
            self.count(true);
        }
    }

    async fn arrives(self: Arc<Self>, text: String, events: &mpsc::Sender<SocketEvent>) -> bool {
        if text.starts_with("[\"EVENT\"") {
            deliver(&self, text, events).await.is_ok()
        } else {
            // Until it may ask again, a device hears nothing of these channels live.
            if text.starts_with("[\"CLOSED\"") && text.contains("rate-limited:") {
                self.state().refused_until = self.time.now_ms() + REFUSED_MS;
            }
            events.send(SocketEvent::Text(text)).await.is_ok()
        }
    }
}

/// Hands a pushed event on, or does to it what a fault says.
async fn deliver(line: &Arc<Line>, text: String, events: &mpsc::Sender<SocketEvent>) -> Result<(), ()> {
    use LineFault::{DoubleEvent, LateEvent, ReplayEvents, WithholdEvent};
    let fault = line.strike(&[WithholdEvent, DoubleEvent, LateEvent, ReplayEvents]);
    line.trace.line(&line.label, || format!("< event {} B {fault:?}", text.len()));
    let mut frames = Vec::new();
    match fault {
        Some(WithholdEvent) => {
            let mut state = line.state();
            state.lacks_notice |= text.contains(r#""kind":4410"#);
            state.withheld.push(text.clone());
        }
        Some(DoubleEvent) => frames.extend([text.clone(), text.clone()]),
        Some(LateEvent) => {
            let (ms, line, events, text) = (line.dice().below64(LATE_MS), line.clone(), events.clone(), text.clone());
            let under_way = UnderWay::new(&line);
            tokio::spawn(async move {
                line.clock.sleep_until(Millis(line.time.now_ms() + ms)).await;
                let _gone = events.send(SocketEvent::Text(text)).await;
                drop(under_way);
            });
        }
        Some(ReplayEvents) => {
            frames.extend(line.state().pushed.iter().cloned());
            frames.push(text.clone());
        }
        _ => frames.push(text.clone()),
    }
    {
        let mut state = line.state();
        if state.pushed.len() >= REPLAYED {
            state.pushed.pop_front();
        }
        state.pushed.push_back(text);
    }
    for frame in frames {
        events.send(SocketEvent::Text(frame)).await.map_err(drop)?;
    }
    Ok(())
}
