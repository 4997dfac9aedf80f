//! Frames of the relay, one a line, into a connection that is signed in; and its discovery document.

use std::sync::{LazyLock, OnceLock};

use waggle::clock::{Millis, Now};
use waggle::entropy::Entropy;
use waggle::error::Error;
use waggle::event::Verifier;
use waggle::identity::{LocalSigner, Secret, SignedJson, Signer as _, Unsigned};
use waggle::ids::ChannelId;
use waggle::limits;
use waggle::read_state::Descriptor;
use waggle::relay::connection::{Attempt, Connection, Effect, Input, Output};
use waggle::relay::protocol::{self, RelayAddress, RelayInfo, RelayMessage};
use waggle::relay::transport::HttpResponse;
use waggle_scenarios::names::channel_id;

use crate::templates::PEOPLE;

const NOW: u64 = 1_751_500_000;

static SIGNER: LazyLock<Option<LocalSigner>> = LazyLock::new(|| {
    let me = PEOPLE.get(1)?;
    LocalSigner::new(&Secret::from_bytes(me.secret()).ok()?).ok()
});

/// Signs; the sign-in with which every input begins only once, for that is most of what a short input costs.
fn signed(event: Unsigned, server_time: u64) -> Option<Result<SignedJson, Error>> {
    static FIRST: OnceLock<(Unsigned, SignedJson)> = OnceLock::new();
    if let Some((_, known)) = FIRST.get().filter(|(first, _)| *first == event) {
        return Some(Ok(known.clone()));
    }
    let signed = SIGNER.as_ref()?.sign_now(&event, server_time);
    if let Ok(signed) = &signed {
        FIRST.get_or_init(|| (event, signed.clone()));
    }
    Some(signed)
}

/// The owner of a connection, who does at once what it wants.
struct Owner {
    link: Connection,
    ms: u64,
    /// The attempt that runs, as the connection named it last.
    attempt: Option<Attempt>,
}

impl Owner {
    fn signed_in() -> Option<Self> {
        let address = RelayAddress::parse("wss://r.example").ok()?;
        let link = Connection::new(address, SIGNER.as_ref()?.public_key(), Entropy::from_seed(7), true);
        let mut owner = Self { link, ms: 0, attempt: None };
        let mut out = Output::default();
        let channel = ChannelId::parse(&channel_id("general")).ok()?;
        owner.link.set_channels(owner.now(), [channel], &[channel], &mut out);
        owner.input(Input::Start);
        owner.message(RelayMessage::Auth("challenge".to_owned()));
        Some(owner)
    }

    fn now(&self) -> Now {
        Now { mono: Millis(self.ms), wall: NOW + self.ms / 1_000 }
    }

    fn message(&mut self, message: RelayMessage) {
        if let Some(attempt) = self.attempt {
            self.input(Input::Message(attempt, message));
        }
    }

    fn input(&mut self, input: Input) {
        let mut out = Output::default();
        self.link.handle(self.now(), input, &mut out);
        // What follows from an answer follows at once; a connection that asks for ever more would not end.
        for _ in 0..64 {
            let wanted = std::mem::take(&mut out.effects);
            if wanted.is_empty() {
                return;
            }
            for effect in wanted {
                self.carry_out(effect, &mut out);
            }
        }
        panic!("the connection never stops wanting something");
    }

    fn carry_out(&mut self, effect: Effect, out: &mut Output) {
        let now = self.now();
        let answer = match effect {
            Effect::FetchDocument(attempt) => {
                self.attempt = Some(attempt);
                let body = br#"{"name":"r","read_state_snapshot":{"version":1}}"#.to_vec();
                Input::Document(attempt, Ok(HttpResponse { status: 200, date: Some(NOW), body }))
            }
            Effect::Dial(attempt) => Input::Dialled(attempt, Ok(())),
            Effect::Sign { attempt, event, server_time } => {
                let Some(signed) = signed(event, server_time) else { return };
                let id = signed.as_ref().ok().map(|s| s.id);
                self.link.handle(now, Input::Signed(attempt, signed), out);
                let Some(id) = id else { return };
                Input::Message(attempt, RelayMessage::Ok { id, accepted: true, message: String::new() })
            }
            Effect::Send(_, text) => {
                assert!(text.len() <= limits::FRAME_BYTES && text.starts_with('['), "a frame is a frame");
                return;
            }
            Effect::Ping(_) | Effect::Abandon(_) => return,
        };
        self.link.handle(now, answer, out);
    }
}

/// Frames, one a line. A line `~N` lets N milliseconds pass.
pub(crate) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (verifier, again) = (Verifier::new(), Verifier::new());
    let Some(mut owner) = Owner::signed_in() else { return };
    for line in text.split('\n').take(64) {
        if let Some(ms) = line.strip_prefix('~').and_then(|ms| ms.parse::<u32>().ok()) {
            owner.ms += u64::from(ms);
            let mut out = Output::default();
            owner.link.on_wake(owner.now(), &mut out);
            for effect in out.effects {
                owner.carry_out(effect, &mut Output::default());
            }
            continue;
        }
        let message = protocol::receive(line, &verifier);
        holds(&message, &again);
        owner.message(message);
    }
    let _ = (owner.link.status(), owner.link.next_wake(Millis(owner.ms)), owner.link.gate());
}

/// What is handed on is bounded, and an event among it verifies a second time from its own JSON.
fn holds(message: &RelayMessage, verifier: &Verifier) {
    match message {
        RelayMessage::Event { event, sub } => {
            assert!(sub.len() <= 64);
            let twin = verifier.event(&event.to_json());
            assert!(twin.is_ok_and(|twin| *twin == **event), "an event is what its JSON says");
            assert!(event.tags.len() <= limits::EVENT_TAGS && event.json_len <= limits::EVENT_BYTES + 1_024);
        }
        RelayMessage::Ok { message, .. } | RelayMessage::Closed { message, .. } | RelayMessage::Notice(message) => {
            assert!(message.len() <= limits::RELAY_TEXT_BYTES);
        }
        RelayMessage::Auth(challenge) => {
            assert!(!challenge.is_empty() && challenge.len() <= limits::RELAY_TEXT_BYTES);
        }
        RelayMessage::Eose { sub } => assert!(sub.len() <= 64),
        RelayMessage::Rejected(_) | RelayMessage::Count | RelayMessage::Malformed => {}
    }
}

/// A discovery document. What is read of it is bounded, and reading is a function of the text.
pub(crate) fn document(data: &[u8]) {
    let info = RelayInfo::parse(data);
    assert_eq!(info, RelayInfo::parse(data));
    let Some(info) = info else { return };
    assert!(info.name.as_ref().is_none_or(|name| name.len() <= limits::RELAY_TEXT_BYTES));
    let offered = info.snapshot.as_ref().and_then(|s| Descriptor::offered(s.version, s.community_id.as_deref()));
    // Both ways to read the offer: from the whole document, and from what was read of it.
    let direct = Descriptor::from_document(data);
    assert!(offered.is_none() || offered == direct, "an offer that was read is an offer in the document");
    let _ = info.dialect();
}
