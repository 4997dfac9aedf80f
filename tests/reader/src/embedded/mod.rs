//! A relay in this process, with a lived-in community, and how a second reader finds it.
//!
//! The first reader speaks to its relay in process ([`Line`]) and also serves it on a loopback port, which it writes into a runtime file
//! ([`meeting`]); another reader started meanwhile finds the file and connects over real HTTP and WebSockets. The relay is a test relay with a
//! publicly known viewer key: it listens on this machine only.

mod line;
pub mod meeting;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use waggle::identity::Secret;
use waggle_test_relay::community::{Community, seed_community};
use waggle_test_relay::{Dialect, Relay, RelayClock, RelayConfig, Settings, Storage};

pub use line::Line;

/// How often the relay's timers are looked at.
const TICK: Duration = Duration::from_millis(200);
/// Time between arrivals in the community.
const ARRIVALS: Duration = Duration::from_secs(6);

/// What an embedded relay is opened with.
#[derive(Clone)]
pub struct Options {
    /// Its host and port: the community's name, and where it is served if it is.
    pub host: String,
    /// The relay line imitated.
    pub dialect: Dialect,
    /// Where its events are kept.
    pub storage: Storage,
    /// Its clock.
    pub clock: Arc<dyn RelayClock>,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Options({:?})", self.dialect)
    }
}

/// The relay and its community. Its tasks end with it.
#[derive(Debug)]
pub struct Embedded {
    /// The relay.
    pub relay: Relay,
    /// Who and what is in it.
    pub community: Community,
    host: String,
    clock: Clock,
    tasks: JoinSet<()>,
}

/// The relay's clock, without a face.
#[derive(Clone)]
struct Clock(Arc<dyn RelayClock>);

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}

impl Clock {
    fn seconds(&self) -> u64 {
        self.0.now_ms() / 1000
    }
}

impl Embedded {
    /// Opens a relay and fills it with the community, its talk ending now.
    pub fn open(options: Options) -> anyhow::Result<Self> {
        let mut config = RelayConfig::new(options.clock.clone());
        config.host.clone_from(&options.host);
        config.secure = false;
        config.storage = options.storage;
        config.settings = Settings { dialect: options.dialect, ..Settings::default() };
        let relay = Relay::open(config).context("the embedded relay does not open")?;
        let clock = Clock(options.clock);
        let community = seed_community(&relay, clock.seconds()).context("the community cannot be seeded")?;
        Ok(Self { relay, community, host: options.host, clock, tasks: JoinSet::new() })
    }

    /// The address a session opens.
    pub fn address(&self) -> String {
        format!("ws://{}", self.host)
    }

    /// The viewer's key. It is public knowledge.
    pub fn viewer(&self) -> anyhow::Result<Secret> {
        Ok(Secret::from_bytes(self.community.viewer.secret())?)
    }

    /// The relay's time, Unix seconds.
    pub fn seconds(&self) -> u64 {
        self.clock.seconds()
    }

    /// A line of a device to the relay.
    pub fn line(&self, device: &str) -> Arc<Line> {
        Line::new(self.relay.clone(), device)
    }

    /// Looks at the relay's timers from now on.
    pub fn keep_time(&mut self) {
        let relay = self.relay.clone();
        self.tasks.spawn(async move {
            let mut interval = tokio::time::interval(TICK);
            loop {
                interval.tick().await;
                relay.tick();
            }
        });
    }

    /// Lets something happen in the community every few seconds.
    pub fn keep_talking(&mut self) {
        let (relay, clock, mut live) = (self.relay.clone(), self.clock.clone(), self.community.live());
        self.tasks.spawn(async move {
            let mut interval = tokio::time::interval(ARRIVALS);
            interval.tick().await;
            loop {
                interval.tick().await;
                // What is refused (into an archived channel, say) is skipped; the next comes anyway.
                let _skipped = live.next_activity(&relay, clock.seconds());
            }
        });
    }

    /// Serves it to other processes of this machine. It then keeps time by itself.
    pub fn serve(&mut self, listener: TcpListener) {
        let relay = self.relay.clone();
        self.tasks.spawn(async move {
            if relay.serve(listener).await.is_err() {
                tracing::warn!("the embedded relay is no longer served");
            }
        });
    }
}
