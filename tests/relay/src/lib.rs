//! A small, faithful Buzz relay for tests and demos. Not for deployment: it keeps no secrets and trusts its host.
//!
//! # Algorithm and invariants
//!
//! One state machine behind one lock ([`Relay`]). Nothing inside sleeps, reads a clock or draws randomness: time comes from
//! [`RelayClock`], timers fire in [`Relay::tick`], challenges and ids are drawn from a seed. Equal calls give equal bytes.
//! Events live in SQLite in their order of arrival, as the text they came in. Access is checked again for every answer
//! and every push.
//!
//! # Using it in process
//!
//! ```
//! use waggle_test_relay::{HttpRequest, ManualClock, Relay, RelayConfig};
//! let clock = ManualClock::at(1_751_500_000);
//! let relay = Relay::open(RelayConfig::new(clock.clone())).expect("opens");
//! let answer = relay.http(HttpRequest::get("/")).expect("not lost");
//! assert_eq!(answer.status, 200);
//! ```
//!
//! | what | call |
//! | --- | --- |
//! | one HTTP exchange | [`Relay::http`] → [`HttpResponse`], or [`Lost`] where a fault cut the connection |
//! | a WebSocket | [`Relay::connect`], [`Relay::connect_labelled`] → [`Socket`] (`send`, `recv`, `try_recv`, `split`, `close`); frames are [`ServerFrame`] |
//! | timers | [`Relay::tick`] after every move of the clock |
//! | switches | [`Relay::settings`], [`Relay::set_settings`] (a device notices on its next connection) |
//! | tests' own hand | [`Relay::admin`] → [`admin::Admin`]: people, channels, `accept`, `store` (unchecked), `grant`, `revoke`, `set_type`, `relay_event`, `drop_sockets` … |
//! | misbehaviour | [`Relay::fault`] with a [`faults::Fault`] |
//! | counts | [`Relay::counters`] → [`counters::Counters`], [`admin::Admin::read_state`] |
//! | a real socket | [`Relay::serve`] |
//! | a lived-in community | [`community::seed_community`] → [`community::Community`], and its [`community::Live`] generator |
//!
//! Device labels and purposes travel beside the request ([`HttpRequest::label`], [`HttpRequest::purpose`]), never on the wire;
//! where no purpose is given it is read from the request's shape.

pub mod admin;
mod channels;
pub mod community;
mod config;
pub mod counters;
mod effects;
mod event;
pub mod faults;
mod filter;
mod http;
mod ingest;
mod kinds;
mod live;
mod mutate;
mod nip11;
mod nip98;
mod purpose;
mod query;
mod quota;
mod serve;
mod snapshot;
mod socket;
mod state;
mod store;
mod window;
mod wire;

use std::sync::{Arc, Mutex, MutexGuard};

pub use config::{Dialect, ManualClock, RelayClock, RelayConfig, Settings, Storage, SystemClock};
pub use event::{Event, Keys, sha256, tags};
pub use http::{HttpRequest, HttpResponse, Lost};
pub use purpose::Purpose;
pub use socket::{ServerFrame, Socket, SocketReceiver, SocketSender};
pub use store::{Origin, Place, Stored};

use state::State;

/// A relay. Clones share the same state.
#[derive(Clone)]
pub struct Relay(Arc<Shared>);

struct Shared {
    clock: Arc<dyn RelayClock>,
    state: Mutex<State>,
}

impl std::fmt::Debug for Relay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Relay")
    }
}

impl Relay {
    /// Opens a relay.
    pub fn open(config: RelayConfig) -> anyhow::Result<Self> {
        let clock = config.clock.clone();
        let state = State::open(config)?;
        Ok(Self(Arc::new(Shared { clock, state: Mutex::new(state) })))
    }

    /// The state, with the clock read once for the whole call.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        let now = self.0.clock.now_ms();
        // A panic under the lock is a bug of the test relay; going on would hide it.
        let mut state = self.0.state.lock().expect("the relay's state is intact");
        state.now_ms = now;
        state
    }

    /// One HTTP exchange.
    pub fn http(&self, request: HttpRequest) -> Result<HttpResponse, Lost> {
        self.state().exchange(&request)
    }

    /// Opens an in-process WebSocket without a device label.
    pub fn connect(&self) -> Socket {
        socket::open(self, None)
    }

    /// Opens an in-process WebSocket of a device.
    pub fn connect_labelled(&self, label: impl Into<String>) -> Socket {
        socket::open(self, Some(label.into()))
    }

    /// Fires every timer that is due: AUTH deadlines, pings, dead peers.
    pub fn tick(&self) {
        self.state().tick();
    }

    /// The switches new connections get.
    pub fn settings(&self) -> Settings {
        self.state().settings.clone()
    }

    /// Changes the switches. A device with an open socket keeps its old ones, over HTTP too, until it connects anew.
    pub fn set_settings(&self, settings: Settings) {
        self.state().settings = settings;
    }

    /// Adds a fault.
    pub fn fault(&self, fault: faults::Fault) {
        self.state().faults.add(fault);
    }

    /// The faults not yet spent.
    pub fn faults(&self) -> Vec<faults::Fault> {
        self.state().faults.waiting()
    }

    /// Forgets all faults.
    pub fn clear_faults(&self) {
        self.state().faults.clear();
    }

    /// What the relay saw so far.
    pub fn counters(&self) -> counters::Counters {
        self.state().counters.clone()
    }

    /// Starts counting anew.
    pub fn reset_counters(&self) {
        self.state().counters = counters::Counters::default();
    }

    /// The relay's public key (NIP-11 `self`).
    pub fn public_key(&self) -> String {
        self.state().keys.public().to_owned()
    }

    /// The community's id, as the snapshot descriptor names it.
    pub fn community_id(&self) -> String {
        self.state().community_id.clone()
    }

    /// The tests' own hand.
    pub fn admin(&self) -> admin::Admin<'_> {
        admin::Admin::new(self)
    }

    /// Serves HTTP and WebSocket on a listener until dropped; ticks by itself.
    pub async fn serve(self, listener: tokio::net::TcpListener) -> std::io::Result<()> {
        serve::run(self, listener).await
    }
}
