//! What the relay's tests share: people, a small community, a signing HTTP client, an authenticated socket.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "test support; every test file uses a part of it")]

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use waggle_test_relay::{
    Dialect, Event, HttpRequest, HttpResponse, Keys, ManualClock, Relay, RelayConfig, ServerFrame, Settings, Socket,
    admin::{Bring, NewChannel},
    sha256, tags,
};

pub const T0: u64 = 1_751_500_000;
pub const GENERAL: &str = "11111111-1111-4111-8111-111111111111";
pub const SECRET: &str = "22222222-2222-4222-8222-222222222222";
pub const OPEN: &str = "33333333-3333-4333-8333-333333333333";
pub const DM: &str = "00000000-0000-4000-8000-00000000000d";

static NONCE: AtomicU64 = AtomicU64::new(0);

pub fn person(name: &str) -> Keys {
    Keys::new(sha256(format!("waggle/person/{name}").as_bytes())).unwrap()
}

/// A relay with `me`, `ada` (admin of general), `bo`, `cy` and `owner`; `general` holds the first three, `secret` ada and bo,
/// `open` only ada, the DM me and ada.
pub struct World {
    pub relay: Relay,
    pub clock: Arc<ManualClock>,
}

pub fn world() -> World {
    world_with(|_| {})
}

pub fn august() -> World {
    world_with(|s| s.dialect = Dialect::August)
}

pub fn world_with(change: impl FnOnce(&mut Settings)) -> World {
    let clock = ManualClock::at(T0);
    let mut config = RelayConfig::new(clock.clone());
    change(&mut config.settings);
    let relay = Relay::open(config).unwrap();
    furnish(&relay);
    World { relay, clock }
}

pub fn furnish(relay: &Relay) {
    let (me, ada, bo, cy, owner) = (person("me"), person("ada"), person("bo"), person("cy"), person("owner"));
    let people = [
        (owner.public(), "owner"),
        (me.public(), "member"),
        (ada.public(), "member"),
        (bo.public(), "member"),
        (cy.public(), "member"),
    ];
    relay.admin().add_people(&people).unwrap();
    let mut general = NewChannel::stream(GENERAL, "general", &[me.public(), ada.public(), bo.public()]);
    general.admins = vec![ada.public().to_owned()];
    let secret = NewChannel::stream(SECRET, "secret", &[ada.public(), bo.public()]);
    let mut open = NewChannel::stream(OPEN, "open", &[ada.public()]);
    open.open = true;
    let mut dm = NewChannel::stream(DM, "DM", &[me.public(), ada.public()]);
    dm.kind = "dm".into();
    relay.admin().create_channels(vec![general, secret, open, dm]).unwrap();
}

impl World {
    pub fn client(&self, name: &str) -> Client {
        Client { keys: person(name), relay: self.relay.clone(), clock: self.clock.clone(), label: None }
    }

    pub fn now(&self) -> u64 {
        waggle_test_relay::RelayClock::now_ms(&*self.clock) / 1000
    }

    /// A message as history: accepted with its own time.
    pub fn past(&self, by: &str, at: u64, channel: &str, extra: &[&[&str]], text: &str) -> Event {
        let event = message(by, at, channel, extra, text);
        let bring = Bring { history: true, ..Bring::default() };
        let answer = self.relay.admin().accept(event.clone(), &bring).unwrap().unwrap();
        assert_eq!((answer.accepted, answer.message.as_str()), (true, ""));
        event
    }

    /// A message accepted now.
    pub fn post(&self, by: &str, channel: &str, extra: &[&[&str]], text: &str) -> Event {
        let event = message(by, self.now(), channel, extra, text);
        self.relay.admin().accept(event.clone(), &Bring::default()).unwrap().unwrap();
        event
    }

    pub fn advance(&self, secs: u64) {
        self.clock.advance_ms(secs * 1000);
        self.relay.tick();
    }
}

pub fn message(by: &str, at: u64, channel: &str, extra: &[&[&str]], text: &str) -> Event {
    let mut all = tags(&[&["h", channel]]);
    all.extend(tags(extra));
    person(by).sign(at, 9, all, text)
}

pub struct Client {
    pub keys: Keys,
    pub relay: Relay,
    pub clock: Arc<ManualClock>,
    pub label: Option<String>,
}

impl Client {
    pub fn now(&self) -> u64 {
        waggle_test_relay::RelayClock::now_ms(&*self.clock) / 1000
    }

    pub fn labelled(mut self, label: &str) -> Self {
        self.label = Some(label.to_owned());
        self
    }

    /// The header of a good NIP-98 event, changed by `change` before signing.
    pub fn auth(&self, path: &str, body: &[u8], change: impl FnOnce(&mut (u64, u32, Vec<Vec<String>>))) -> String {
        let nonce = NONCE.fetch_add(1, Ordering::SeqCst).to_string();
        let url = format!("https://relay.test{path}");
        let payload = hex::encode(sha256(body));
        let list = tags(&[&["u", &url], &["method", "POST"], &["payload", &payload], &["nonce", &nonce]]);
        let mut parts = (self.now(), 27235, list);
        change(&mut parts);
        header_of(&self.keys.sign(parts.0, parts.1, parts.2, ""))
    }

    pub fn send(&self, path: &str, body: impl Into<Vec<u8>>) -> HttpResponse {
        let body = body.into();
        let header = self.auth(path, &body, |_| {});
        self.relay.http(self.request(path, body).header("authorization", header)).unwrap()
    }

    pub fn request(&self, path: &str, body: Vec<u8>) -> HttpRequest {
        let mut request = HttpRequest::post(path, body);
        request.label = self.label.clone();
        request
    }

    pub fn query(&self, filters: Value) -> HttpResponse {
        self.send("/query", filters.to_string())
    }

    /// A query that must succeed: its events.
    pub fn events(&self, filters: Value) -> Vec<Value> {
        let answer = self.query(filters);
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
        answer.json().as_array().unwrap().clone()
    }

    pub fn publish(&self, event: &Event) -> HttpResponse {
        self.send("/events", event.json.as_bytes())
    }

    pub fn sign(&self, kind: u32, list: &[&[&str]], content: &str) -> Event {
        self.keys.sign(self.now(), kind, tags(list), content)
    }

    /// Signs and publishes; the answer's accepted and message.
    pub fn put(&self, kind: u32, list: &[&[&str]], content: &str) -> (Event, bool, String) {
        let event = self.sign(kind, list, content);
        let answer = self.publish(&event).json();
        assert!(answer["error"].is_null(), "{answer}");
        let message = answer["message"].as_str().unwrap().to_owned();
        (event, answer["accepted"].as_bool().unwrap(), message)
    }

    /// Publishes what must be refused: status and text.
    pub fn refused(&self, event: &Event) -> (u16, String) {
        let answer = self.publish(event);
        (answer.status, error(&answer))
    }

    /// An authenticated socket.
    pub fn socket(&self) -> Live {
        let socket = match &self.label {
            Some(label) => self.relay.connect_labelled(label.clone()),
            None => self.relay.connect(),
        };
        let mut live = Live { socket };
        let challenge = live.texts()[0][1].as_str().unwrap().to_owned();
        let auth = self.sign(22242, &[&["relay", "wss://relay.test"], &["challenge", &challenge]], "");
        live.say(json!(["AUTH", serde_json::from_str::<Value>(&auth.json).unwrap()]));
        assert_eq!(live.texts(), [json!(["OK", auth.id, true, ""])]);
        live
    }
}

pub fn header_of(event: &Event) -> String {
    format!("Nostr {}", STANDARD.encode(event.json.as_bytes()))
}

pub fn error(answer: &HttpResponse) -> String {
    answer.json()["error"].as_str().unwrap_or_default().to_owned()
}

pub fn value(event: &Event) -> Value {
    serde_json::from_str(&event.json).unwrap()
}

pub fn ids(events: &[Value]) -> Vec<String> {
    events.iter().map(|e| e["id"].as_str().unwrap().to_owned()).collect()
}

pub fn of_kind(events: &[Value], kind: u64) -> Vec<Value> {
    events.iter().filter(|e| e["kind"] == kind).cloned().collect()
}

pub fn content(event: &Value) -> Value {
    serde_json::from_str(event["content"].as_str().unwrap()).unwrap()
}

/// The first value of an event's tag.
pub fn tag(event: &Value, name: &str) -> String {
    let all = event["tags"].as_array().unwrap();
    all.iter().find(|t| t[0] == name).map(|t| t[1].as_str().unwrap().to_owned()).unwrap_or_default()
}

pub struct Live {
    pub socket: Socket,
}

impl Live {
    pub fn say(&self, frame: Value) {
        assert!(self.socket.send(frame.to_string()));
    }

    pub fn frames(&mut self) -> Vec<ServerFrame> {
        std::iter::from_fn(|| self.socket.try_recv()).collect()
    }

    pub fn texts(&mut self) -> Vec<Value> {
        let frames = self.frames().into_iter();
        frames
            .filter_map(|f| match f {
                ServerFrame::Text(text) => Some(serde_json::from_str(&text).unwrap()),
                _ => None,
            })
            .collect()
    }

    /// Subscribes and returns what came, EOSE included.
    pub fn req(&mut self, name: &str, filters: &[Value]) -> Vec<Value> {
        let mut frame = vec![json!("REQ"), json!(name)];
        frame.extend_from_slice(filters);
        self.say(Value::Array(frame));
        self.texts()
    }

    /// The events pushed since, as (subscription, kind).
    pub fn pushed(&mut self) -> Vec<(String, u64)> {
        let texts = self.texts().into_iter().filter(|t| t[0] == "EVENT");
        texts.map(|t| (t[1].as_str().unwrap().to_owned(), t[2]["kind"].as_u64().unwrap())).collect()
    }
}
