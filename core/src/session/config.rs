//! What a client is opened with: paths, ports, limits.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::blocking::Blocking;
use crate::clock::{Clock, SystemClock};
use crate::identity::{Secret, SecretStore};
use crate::relay::transport::Transport;
use crate::store::journal::{Hooks, NoHooks};

/// Everything a client needs from its host.
#[derive(Clone)]
pub struct Config {
    /// Directory of this installation's files; created if missing. `journal.sqlite` in it must be kept, `cache.sqlite` may be lost.
    pub data_dir: PathBuf,
    /// Where keys are kept.
    pub secrets: Arc<dyn SecretStore>,
    /// How bytes reach the relay.
    pub transport: Arc<dyn Transport>,
    /// Where time comes from.
    pub clock: Arc<dyn Clock>,
    /// Seed of all randomness; `None` asks the operating system. Set it in tests only: it makes keys and nonces guessable.
    pub seed: Option<u64>,
    /// What stands before the journal's saves; tests hold saves with it.
    pub saves: Arc<dyn SaveHook>,
    /// Fault points of the journal's disk; tests break it there.
    pub disk: Arc<dyn Hooks>,
    /// Where work that blocks is done; tests that compare whole runs do it in line.
    pub blocking: Blocking,
    /// How much is kept in memory and on disk.
    pub mode: Mode,
}

impl Config {
    /// An app's configuration on the operating system's clock and randomness.
    pub fn new(data_dir: PathBuf, secrets: Arc<dyn SecretStore>, transport: Arc<dyn Transport>) -> Self {
        Self {
            data_dir,
            secrets,
            transport,
            clock: Arc::new(SystemClock::new()),
            seed: None,
            saves: Arc::new(Unhindered),
            disk: Arc::new(NoHooks),
            blocking: Blocking::Threads,
            mode: Mode::App,
        }
    }
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Config({:?})", self.mode)
    }
}

/// What sort of process this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// An app in the foreground.
    #[default]
    App,
    /// A short-lived extension beside the app, with little memory: no live subscriptions, small caches.
    Extension,
}

/// Stands before every save of the journal.
pub trait SaveHook: Send + Sync + 'static {
    /// Completes when the save may go on.
    fn before_save(&self) -> BoxFuture<'static, ()>;
}

/// Lets every save pass at once.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unhindered;

impl SaveHook for Unhindered {
    fn before_save(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// How an account signs in.
#[derive(Clone)]
pub enum Credential {
    /// With its key; read state is published.
    Full(Secret),
    /// With its key, which is used to sign in and to read, never to publish.
    ReadOnly(Secret),
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credential(…)")
    }
}
