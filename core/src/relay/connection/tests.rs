//! The connection's rules, in virtual time. `Rig` is the owner and the relay at once; it never sleeps.

use super::*;
use crate::clock::Now;
use crate::entropy::Entropy;
use crate::error::Refusal;
use crate::identity::{LocalSigner, Secret};
use crate::limits;
use crate::relay::admission::Gate;
use crate::relay::protocol::RelayAddress;
use crate::testing::{Author, channel, message};

const T: u64 = 1_751_500_000;

pub(super) struct Rig {
    pub(super) link: Connection,
    ms: u64,
    /// Device clock minus relay clock, seconds.
    offset: i64,
    signer: LocalSigner,
    pub(super) out: Output,
    /// When each REQ was sent, milliseconds.
    pub(super) sent: Vec<u64>,
    stamped: usize,
}

impl Rig {
    pub(super) fn new() -> Self {
        let me = Author::named("me");
        let address = RelayAddress::parse("wss://r.example").unwrap();
        let signer = LocalSigner::new(&Secret::from_bytes(me.secret()).ok().unwrap()).unwrap();
        let link = Connection::new(address, me.key(), Entropy::from_seed(7), true);
        Self { link, ms: 0, offset: 0, signer, out: Output::default(), sent: Vec::new(), stamped: 0 }
    }

    pub(super) fn now(&self) -> Now {
        Now { mono: Millis(self.ms), wall: (T + self.ms / 1_000).saturating_add_signed(self.offset) }
    }

    pub(super) fn input(&mut self, input: Input) {
        self.link.handle(self.now(), input, &mut self.out);
        self.stamp();
    }

    pub(super) fn set(&mut self, channels: &[ChannelId], open: &[ChannelId]) {
        self.link.set_channels(self.now(), channels.iter().copied(), open, &mut self.out);
        self.stamp();
    }

    fn stamp(&mut self) {
        let news = &self.out.effects[self.stamped..];
        let reqs = news.iter().filter(|e| matches!(e, Effect::Send(_, text) if text.starts_with("[\"REQ"))).count();
        self.sent.extend(std::iter::repeat_n(self.ms, reqs));
        self.stamped = self.out.effects.len();
    }

    /// The frame quota, over everything sent.
    pub(super) fn keeps_pace(&self) -> bool {
        let in_window = |at: u64| self.sent.iter().filter(|t| (at..at + limits::PACE_WINDOW_MS).contains(t)).count();
        self.sent.iter().all(|at| in_window(*at) <= limits::PACE_FRAMES)
    }

    /// Moves time, waking the connection whenever it asked to be woken.
    pub(super) fn advance(&mut self, ms: u64) {
        let end = self.ms + ms;
        let mut wakes = 0;
        while let Some(at) = self.link.next_wake(Millis(self.ms)).filter(|at| at.0 <= end) {
            self.ms = self.ms.max(at.0);
            self.link.on_wake(self.now(), &mut self.out);
            self.stamp();
            wakes += 1;
            assert!(wakes < 10_000, "it spins");
        }
        self.ms = end;
    }

    pub(super) fn attempt(&self) -> Attempt {
        Attempt(self.link.attempt)
    }

    pub(super) fn effects(&mut self) -> Vec<Effect> {
        self.stamped = 0;
        std::mem::take(&mut self.out.effects)
    }

    pub(super) fn events(&mut self) -> Vec<LinkEvent> {
        std::mem::take(&mut self.out.events)
    }

    /// Text frames sent since the last look.
    pub(super) fn frames(&mut self) -> Vec<serde_json::Value> {
        let texts = self.effects().into_iter().filter_map(|e| match e {
            Effect::Send(_, text) => Some(text),
            _ => None,
        });
        texts.map(|t| serde_json::from_str(&t).unwrap()).collect()
    }

    pub(super) fn say(&mut self, message: RelayMessage) {
        let attempt = self.attempt();
        self.input(Input::Message(attempt, message));
    }

    pub(super) fn eose(&mut self, sub: &str) {
        self.say(RelayMessage::Eose { sub: sub.into() });
    }

    pub(super) fn closed(&mut self, sub: &str, text: &str) {
        self.say(RelayMessage::Closed { sub: sub.into(), message: text.into() });
    }

    pub(super) fn document(&mut self, document: &str) {
        let response =
            HttpResponse { status: 200, date: Some(T + self.ms / 1_000), body: document.as_bytes().to_vec() };
        let attempt = self.attempt();
        self.input(Input::Document(attempt, Ok(response)));
    }

    fn lose(&mut self) {
        let attempt = self.attempt();
        self.input(Input::Document(attempt, Err(NetworkFailure::Offline)));
    }

    /// Carries out the sign-in up to the relay's verdict.
    fn sign_in(&mut self, accepted: bool, text: &str) {
        let attempt = self.attempt();
        self.input(Input::Dialled(attempt, Ok(())));
        self.say(RelayMessage::Auth("c0ffee".into()));
        let Some(Effect::Sign { event, server_time, .. }) = self.effects().pop() else { panic!("nothing to sign") };
        let signed = self.signer.sign_now(&event, server_time).unwrap();
        let id = signed.id;
        self.input(Input::Signed(attempt, Ok(signed)));
        self.say(RelayMessage::Ok { id, accepted, message: text.into() });
    }

    /// From an attempt just started to signed in; the REQs stay in the effects.
    pub(super) fn connect(&mut self, document: &str) {
        self.document(document);
        self.sign_in(true, "");
    }

    /// Online with both global subscriptions confirmed; frames and events looked at.
    pub(super) fn online(document: &str) -> Self {
        let mut rig = Self::new();
        rig.input(Input::Start);
        rig.connect(document);
        rig.confirm_all();
        assert!(matches!(rig.events().as_slice(), [LinkEvent::Online { .. }]));
        rig
    }

    /// Confirms every REQ sent since the last look; gives them.
    pub(super) fn confirm_all(&mut self) -> Vec<serde_json::Value> {
        let frames = self.frames();
        for sub in frames.iter().filter(|f| f[0] == "REQ").map(|f| f[1].as_str().unwrap().to_owned()) {
            self.eose(&sub);
        }
        frames
    }
}

pub(super) const AUGUST: &str = "{}";
pub(super) const CURRENT: &str = r#"{"read_state_snapshot":{"version":1}}"#;

fn names(effects: &[Effect]) -> Vec<&'static str> {
    effects
        .iter()
        .map(|e| match e {
            Effect::FetchDocument(_) => "document",
            Effect::Dial(_) => "dial",
            Effect::Sign { .. } => "sign",
            Effect::Send(..) => "send",
            Effect::Ping(_) => "ping",
            Effect::Abandon(_) => "abandon",
        })
        .collect()
}

#[test]
fn from_start_to_online() {
    let mut rig = Rig::new();
    assert_eq!(rig.link.gate(), Gate::Offline);
    rig.input(Input::Start);
    assert_eq!(names(&rig.effects()), ["document"]);
    assert_eq!((rig.link.gate(), rig.link.status().phase), (Gate::Connecting, Phase::Connecting));
    rig.document(r#"{"name":"r","read_state_snapshot":{"version":1}}"#);
    assert_eq!(names(&rig.effects()), ["dial"]);
    rig.sign_in(true, "");
    let frames = rig.frames();
    let auth = frames[0].as_array().unwrap();
    assert_eq!((auth[0].as_str(), auth[1]["kind"].as_u64()), (Some("AUTH"), Some(22242)));
    assert_eq!(auth[1]["tags"][0][1], "wss://r.example");
    let me = Author::named("me").key().to_hex();
    assert_eq!(frames[1], serde_json::json!(["REQ", "w0", {"kinds":[44100,44101],"#p":[me],"limit":0}]));
    assert_eq!(frames[2], serde_json::json!(["REQ", "w1", {"kinds":[30078],"authors":[me],"limit":0}]));
    assert!(rig.events().is_empty(), "not online before they are confirmed");
    rig.eose("w0");
    rig.eose("w1");
    let events = rig.events();
    assert!(matches!(&events[..], [LinkEvent::Online { info }] if info.name.as_deref() == Some("r")));
    assert_eq!((rig.link.gate(), rig.link.status().phase), (Gate::Online, Phase::Online));
}

/// R25: the relay's time comes from the discovery document's date, so a wrong device clock signs in.
#[test]
fn the_relays_time_is_signed() {
    for offset in [-3_600, 3_600] {
        let mut rig = Rig::new();
        rig.offset = offset;
        rig.input(Input::Start);
        rig.document(AUGUST);
        let attempt = rig.attempt();
        rig.input(Input::Dialled(attempt, Ok(())));
        rig.say(RelayMessage::Auth("c".into()));
        let Some(Effect::Sign { event, server_time, .. }) = rig.effects().pop() else { panic!() };
        assert_eq!((event.created_at(), server_time), (T, T));
        assert!(rig.link.server_time().is_known());
    }
}

/// Pitfalls B12: every step of a handshake has its deadline.
#[test]
fn handshakes_have_deadlines() {
    let steps: [&dyn Fn(&mut Rig); 5] = [
        &|_| {},
        &|rig| rig.document(AUGUST),
        &|rig| {
            rig.document(AUGUST);
            let attempt = rig.attempt();
            rig.input(Input::Dialled(attempt, Ok(())));
        },
        &|rig| {
            rig.document(AUGUST);
            rig.say(RelayMessage::Auth("c".into()));
        },
        &|rig| {
            rig.document(AUGUST);
            rig.say(RelayMessage::Auth("c".into()));
            let Some(Effect::Sign { event, server_time, .. }) = rig.effects().pop() else { panic!() };
            let signed = rig.signer.sign_now(&event, server_time).unwrap();
            let attempt = rig.attempt();
            rig.input(Input::Signed(attempt, Ok(signed)));
        },
    ];
    for step in steps {
        let mut rig = Rig::new();
        rig.input(Input::Start);
        step(&mut rig);
        rig.effects();
        let first = rig.attempt();
        // Pongs alone do not count as progress.
        rig.advance(2_000);
        rig.input(Input::Alive(first));
        rig.advance(8_000);
        assert_eq!(names(&rig.effects()), ["abandon", "document"]);
        assert!(rig.attempt() > first);
        let timed_out = Error::Network { why: NetworkFailure::TimedOut };
        assert_eq!(rig.events(), [LinkEvent::Offline { error: timed_out }]);
        assert_eq!(rig.link.gate(), Gate::Offline);
    }
}

/// R25c: wherever in a wait the network comes back, the connection is there within 120 s; and it never spins.
#[test]
fn back_within_two_minutes_of_the_networks_return() {
    for outage in [1_000u64, 5_000, 30_000, 61_000, 600_000, 3_600_000] {
        let mut rig = Rig::online(CURRENT);
        rig.advance(20_000);
        let attempt = rig.attempt();
        rig.input(Input::Ended(attempt, None));
        let until = rig.ms + outage;
        let mut attempts = 0;
        // While the network is gone every attempt fails at once.
        while rig.ms < until {
            if names(&rig.effects()).contains(&"document") {
                attempts += 1;
                rig.lose();
            } else {
                rig.advance(100);
            }
        }
        assert!(attempts <= 9 + outage / 30_000, "{attempts} attempts in {outage} ms");
        let back = rig.ms;
        while !names(&rig.effects()).contains(&"document") {
            rig.advance(100);
        }
        rig.connect(CURRENT);
        rig.confirm_all();
        assert!(rig.ms - back < 120_000);
        let events = rig.events();
        assert!(matches!(&events[..], [LinkEvent::Offline { .. }, LinkEvent::Online { .. }]), "told once per loss");
    }
}

#[test]
fn the_first_retry_is_immediate_and_hints_end_a_wait() {
    let mut rig = Rig::online(AUGUST);
    rig.advance(60_000 - 1);
    let attempt = rig.attempt();
    rig.input(Input::Ended(attempt, Some(1_006)));
    assert_eq!(names(&rig.effects()), ["abandon", "document"]);
    rig.lose();
    let at = rig.link.status().retry_at.unwrap();
    assert!((500..=1_000).contains(&(at.0 - rig.ms)));
    rig.effects();
    rig.input(Input::NetworkChanged);
    assert_eq!(names(&rig.effects()), ["document"]);
}

/// `protocol.md` 3.1: a restarting relay is back within seconds.
#[test]
fn a_restart_of_the_relay_is_retried_soon() {
    let mut rig = Rig::online(AUGUST);
    for _ in 0..20 {
        let attempt = rig.attempt();
        rig.input(Input::Ended(attempt, Some(1012)));
        rig.effects();
        let wait = rig.link.status().retry_at.unwrap().0 - rig.ms;
        assert!((500..=2_000).contains(&wait));
        rig.advance(wait);
        rig.connect(AUGUST);
        rig.confirm_all();
        assert_eq!(rig.link.gate(), Gate::Online);
    }
}

/// Pitfalls B13.
#[test]
fn sign_in_refusals() {
    let refused = |why| Error::RelayRefused { why, retry_after: None };
    let again = |rig: &mut Rig, accepted, text: &str| {
        while !names(&rig.effects()).contains(&"document") {
            rig.advance(50);
        }
        rig.document(AUGUST);
        rig.sign_in(accepted, text);
    };
    let transient = "auth-required: verification failed";
    let mut rig = Rig::new();
    rig.input(Input::Start);
    again(&mut rig, false, "auth-required: already authenticated");
    rig.confirm_all();
    assert_eq!(rig.link.gate(), Gate::Online, "already authenticated is ready");

    let mut rig = Rig::new();
    rig.input(Input::Start);
    again(&mut rig, false, transient);
    again(&mut rig, false, "error: internal error checking restriction state");
    again(&mut rig, true, "");
    rig.confirm_all();
    assert_eq!(rig.link.gate(), Gate::Online, "two transient refusals, then ready");
    let attempt = rig.attempt();
    rig.input(Input::Ended(attempt, None));
    again(&mut rig, false, transient);
    again(&mut rig, false, transient);
    rig.events();
    again(&mut rig, false, transient);
    assert_eq!(rig.events(), [LinkEvent::Refused { error: refused(Refusal::Auth) }], "three in a row");
    assert_eq!((rig.link.status().phase, rig.link.next_wake(Millis(rig.ms))), (Phase::Refused, None));

    let mut rig = Rig::new();
    rig.input(Input::Start);
    again(&mut rig, false, "restricted: not a relay member");
    assert_eq!(rig.events(), [LinkEvent::Refused { error: refused(Refusal::NotMember) }]);
    rig.effects();
    rig.input(Input::NetworkChanged);
    rig.advance(3_600_000);
    assert!(rig.effects().is_empty(), "nothing is tried by itself");
    rig.input(Input::Start);
    assert_eq!(names(&rig.effects()), ["document"], "the person tries again");
}

#[test]
fn a_signer_that_refuses_ends_the_attempts() {
    let mut rig = Rig::new();
    rig.input(Input::Start);
    rig.document(AUGUST);
    rig.say(RelayMessage::Auth("c".into()));
    let attempt = rig.attempt();
    rig.input(Input::Signed(attempt, Err(Error::ReadOnly)));
    assert_eq!(rig.events(), [LinkEvent::Refused { error: Error::ReadOnly }]);
}

/// Pitfalls B4: a socket that went dead is found out, on waking up and in silence.
#[test]
fn a_dead_socket_is_replaced() {
    let mut rig = Rig::online(AUGUST);
    rig.input(Input::Resume);
    assert_eq!(names(&rig.effects()), ["ping"]);
    let attempt = rig.attempt();
    rig.advance(1_000);
    rig.input(Input::Alive(attempt));
    rig.advance(10_000);
    assert_eq!(rig.attempt(), attempt, "it answered: no reconnect");
    rig.input(Input::Resume);
    rig.advance(limits::PROBE_DEADLINE_MS);
    assert_eq!(names(&rig.effects()), ["ping", "abandon", "document"]);
    rig.connect(AUGUST);
    rig.confirm_all();
    rig.effects();
    let attempt = rig.attempt();
    for _ in 0..10 {
        rig.advance(30_000);
        rig.input(Input::Alive(attempt));
    }
    assert!(rig.effects().is_empty(), "the relay's pings are enough");
    rig.advance(limits::SILENCE_MS + limits::PROBE_DEADLINE_MS);
    assert_eq!(names(&rig.effects()), ["ping", "abandon", "document"]);
}

/// `architecture.md` decision 7, pitfalls B4: suspended is silent, resumed connects at once.
#[test]
fn suspend_resume_close() {
    let mut rig = Rig::online(AUGUST);
    rig.input(Input::Suspend);
    assert_eq!(names(&rig.effects()), ["abandon"]);
    assert_eq!((rig.link.next_wake(Millis(rig.ms)), rig.link.gate()), (None, Gate::Offline));
    let old = rig.attempt();
    rig.input(Input::Ended(old, None));
    rig.input(Input::Message(old, RelayMessage::Notice("x".into())));
    rig.input(Input::NetworkChanged);
    assert!(rig.effects().is_empty() && rig.events().is_empty());
    rig.input(Input::Resume);
    assert_eq!((names(&rig.effects()), rig.link.gate()), (vec!["document"], Gate::Connecting));
    rig.input(Input::Close);
    assert_eq!(names(&rig.effects()), ["abandon"]);
    for input in [Input::Start, Input::Resume, Input::NetworkChanged] {
        rig.input(input);
    }
    assert!(rig.effects().is_empty());
    assert_eq!(rig.link.status().phase, Phase::Closed);
}

#[test]
fn reports_of_an_earlier_attempt_change_nothing() {
    let mut rig = Rig::online(AUGUST);
    let old = rig.attempt();
    rig.input(Input::Ended(old, None));
    rig.effects();
    rig.events();
    rig.input(Input::Ended(old, None));
    rig.input(Input::Dialled(old, Ok(())));
    rig.input(Input::Document(old, Err(NetworkFailure::Offline)));
    rig.input(Input::Lagged(old));
    assert!(rig.effects().is_empty() && rig.events().is_empty());
}

#[test]
fn a_document_that_cannot_be_read_fails_the_attempt() {
    let answers = [(200, "[]"), (500, ""), (429, r#"{"error":"rate-limited: quota exceeded; retry in 9s"}"#)];
    for (status, body) in answers {
        let mut rig = Rig::new();
        rig.input(Input::Start);
        rig.effects();
        let response = HttpResponse { status, date: None, body: body.as_bytes().to_vec() };
        let attempt = rig.attempt();
        rig.input(Input::Document(attempt, Ok(response)));
        assert!(matches!(&rig.events()[..], [LinkEvent::Offline { .. }]), "{status}");
        if status == 429 {
            assert_eq!(rig.link.status().retry_at, Some(Millis(9_000)));
        }
    }
    let mut rig = Rig::new();
    rig.input(Input::Start);
    let attempt = rig.attempt();
    rig.effects();
    let response = HttpResponse { status: 404, date: None, body: Vec::new() };
    rig.input(Input::Document(attempt, Ok(response)));
    assert_eq!(names(&rig.effects()), ["dial"], "a relay without a document may still be one");
}

#[test]
fn live_events_come_with_their_source() {
    let mut rig = Rig::online(AUGUST);
    let general = channel("general");
    rig.set(&[general], &[]);
    let frames = rig.confirm_all();
    let sub = frames[0][1].as_str().unwrap().to_owned();
    let event = message(&Author::named("ada"), general, T, "hi");
    rig.events();
    rig.say(RelayMessage::Event { sub, event: event.clone() });
    rig.say(RelayMessage::Event { sub: "w0".into(), event: event.clone() });
    rig.say(RelayMessage::Event { sub: "w99".into(), event: event.clone() });
    rig.say(RelayMessage::Event { sub: "x".into(), event: event.clone() });
    assert_eq!(
        rig.events(),
        [
            LinkEvent::Live { source: Source::Channels(Some(general)), event: event.clone() },
            LinkEvent::Live { source: Source::Membership, event },
        ]
    );
}

/// Pitfalls B15: what was lost on this side ends in a repair.
#[test]
fn lag_asks_for_a_re_read() {
    let mut rig = Rig::online(CURRENT);
    rig.set(&[channel("a")], &[]);
    rig.confirm_all();
    rig.events();
    let attempt = rig.attempt();
    rig.input(Input::Lagged(attempt));
    assert_eq!(
        rig.events(),
        [
            LinkEvent::MissedGlobal { source: Source::Membership },
            LinkEvent::MissedGlobal { source: Source::OwnData },
            LinkEvent::Missed { channels: vec![channel("a")] },
        ]
    );
}

#[test]
fn a_socket_that_forgot_us_is_replaced() {
    let mut rig = Rig::online(AUGUST);
    rig.closed("w0", "auth-required: not authenticated");
    assert_eq!(names(&rig.effects()), ["abandon", "document"]);
}

/// A relay that takes the connection and drops it again is not hammered.
#[test]
fn a_flapping_connection_backs_off() {
    let mut rig = Rig::online(AUGUST);
    let mut attempts = 0;
    while rig.ms < 600_000 {
        let attempt = rig.attempt();
        rig.input(Input::Ended(attempt, None));
        while !names(&rig.effects()).contains(&"document") {
            rig.advance(100);
        }
        attempts += 1;
        rig.connect(AUGUST);
        rig.confirm_all();
    }
    assert!(attempts < 30, "{attempts} connections in ten minutes");
}
