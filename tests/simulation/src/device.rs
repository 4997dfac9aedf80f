//! A device: its files, its clock, its line, and the session that runs on them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use tokio::task::JoinHandle;
use waggle::clock::{Clock, Millis, Now};
use waggle::error::Error;
use waggle::identity::{MemorySecrets, Secret};
use waggle::ids::{ChannelId, EventId, Target};
use waggle::model;
use waggle::session::{
    Blocking, Client, Config, Credential, Mode, ReadingSurface, Session, Timeline, TimelineOptions, Waggle,
};
use waggle_scenarios::clock::{VirtualClock, rest};
use waggle_scenarios::native::Gate;

use crate::disk::Disk;
use crate::line::{Line, OverLine};
use crate::plan::{Act, Screen};

/// Sleeps at one moment, to that moment or before, that nobody needs who makes progress.
const SPIN: u32 = 20_000;

/// A device's clock, which notices a session that wakes and wakes and gets nowhere.
struct Watched {
    clock: Arc<VirtualClock>,
    line: Arc<Line>,
    /// The moment, and sleeps that were over when they began.
    seen: Mutex<(u64, u32)>,
}

impl Clock for Watched {
    fn now(&self) -> Now {
        self.clock.now()
    }

    fn sleep_until(&self, at: Millis) -> BoxFuture<'static, ()> {
        let now = self.clock.now().mono;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.0 != now.0 {
            *seen = (now.0, 0);
        }
        if at <= now {
            seen.1 += 1;
            if seen.1 == SPIN {
                self.line.violated(format!("{SPIN} wake-ups at one moment"));
            }
            if seen.1 >= SPIN {
                return Box::pin(std::future::pending());
            }
        }
        self.clock.sleep_until(at)
    }
}

/// Milliseconds a suspended app gives its session.
const SUSPEND_MS: u64 = 5_000;
/// The relay's origin.
pub const HOST: &str = "relay.test";

/// A running process.
pub struct Live {
    /// Its session.
    pub session: Session,
    /// Open timelines.
    pub timelines: BTreeMap<Screen, Rc<Timeline>>,
    /// Reading surfaces.
    pub surfaces: BTreeMap<Screen, ReadingSurface>,
    /// Sessions end with their client.
    _client: Client,
}

/// A call under way.
pub struct Call {
    /// What was asked.
    pub act: Act,
    /// Its outcome, when it is there.
    pub task: JoinHandle<Result<(), Error>>,
}

/// A device.
pub struct Device {
    /// Its name.
    pub name: String,
    /// Where its files are.
    pub dir: PathBuf,
    /// The installation it belongs to: devices that share files share it.
    pub installation: usize,
    /// Whether it publishes.
    pub signs: bool,
    /// Whether it is a second process beside another one.
    pub second: bool,
    /// Its clocks.
    pub clock: Arc<VirtualClock>,
    /// Seconds its wall clock is off.
    pub offset: i64,
    /// Its line.
    pub line: Arc<Line>,
    /// Its disk.
    pub disk: Arc<Disk>,
    /// The process, if it runs.
    pub live: Option<Live>,
    /// Whether the app is in the background.
    pub suspended: bool,
    /// Calls that are not over.
    pub calls: Vec<Call>,
    /// What randomness follows from.
    pub seed: u64,
    /// Processes so far.
    pub starts: u64,
}

impl Device {
    /// Its session.
    pub fn session(&self) -> Option<Session> {
        self.live.as_ref().map(|live| live.session.clone())
    }

    fn config(&mut self) -> Config {
        self.starts += 1;
        let data_dir = self.dir.join("data");
        let mut config = Config::new(data_dir, Arc::new(MemorySecrets::new()), Arc::new(OverLine(self.line.clone())));
        let (clock, line) = (self.clock.clone(), self.line.clone());
        config.clock = Arc::new(Watched { clock, line, seen: Mutex::default() });
        config.seed = Some(self.seed.wrapping_mul(1_000).wrapping_add(self.starts));
        config.saves = Arc::new(Gate(self.disk.gate().clone()));
        config.disk = self.disk.clone();
        config.blocking = Blocking::Inline;
        config.mode = if self.second { Mode::Extension } else { Mode::App };
        config
    }

    /// Starts a process on the device's files.
    pub async fn start(&mut self, secret: [u8; 32]) -> Result<(), Error> {
        if self.live.is_some() {
            return Ok(());
        }
        self.line.new_process();
        let config = self.config();
        let secret = Secret::from_bytes(secret)?;
        let credential = if self.signs { Credential::Full(secret) } else { Credential::ReadOnly(secret) };
        let client = Waggle::open(config)?;
        client.sign_in(credential).await?;
        let session = client.session(&format!("https://{HOST}"))?;
        session.start().await?;
        self.suspended = false;
        let live = Live { session, timelines: BTreeMap::new(), surfaces: BTreeMap::new(), _client: client };
        self.live = Some(live);
        Ok(())
    }

    /// Drops the process with no farewell.
    pub async fn kill(&mut self) {
        for call in self.calls.drain(..) {
            call.task.abort();
        }
        if let Some(live) = self.live.take() {
            live.session.kill();
            drop(live);
        }
        rest().await;
        self.disk.gate().release();
        rest().await;
    }

    /// What is left of a process whose session has ended.
    pub async fn stopped(&mut self) {
        drop(self.live.take());
        for call in self.calls.drain(..) {
            call.task.abort();
        }
        rest().await;
    }

    /// Moves files of a device that does not run. Whether there was something to move.
    pub fn move_files(&self, act: &Act, from: Option<&Path>) -> std::io::Result<bool> {
        let (data, aside) = (self.dir.join("data"), self.dir.join("backup"));
        match act {
            Act::WipeCache => remove(&data, "cache").map(|()| true),
            Act::Backup => {
                remove(&aside, "")?;
                copy(&data, &aside, "journal")
            }
            _ => {
                let source = from.map_or(aside, |dir| dir.join("data"));
                if !source.join("journal.sqlite").exists() {
                    return Ok(false);
                }
                remove(&data, "journal")?;
                copy(&source, &data, "journal")
            }
        }
    }
}

fn files(dir: &Path, prefix: &str) -> std::io::Result<Vec<PathBuf>> {
    if !dir.exists() {
        return Ok(Vec::new());
    }
    let named = |path: &PathBuf| path.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.starts_with(prefix));
    let all = std::fs::read_dir(dir)?.map(|entry| entry.map(|e| e.path())).collect::<std::io::Result<Vec<_>>>()?;
    Ok(all.into_iter().filter(named).collect())
}

fn remove(dir: &Path, prefix: &str) -> std::io::Result<()> {
    files(dir, prefix)?.iter().try_for_each(std::fs::remove_file)
}

fn copy(from: &Path, to: &Path, prefix: &str) -> std::io::Result<bool> {
    std::fs::create_dir_all(to)?;
    let all = files(from, prefix)?;
    for path in &all {
        if let Some(name) = path.file_name() {
            std::fs::copy(path, to.join(name))?;
        }
    }
    Ok(!all.is_empty())
}

/// Calls of a session that need nothing of the app.
#[derive(Debug, Clone, Copy)]
pub enum Ask {
    /// `suspend`.
    Suspend,
    /// `resume`.
    Resume,
    /// `ensure`.
    Ensure,
    /// `refresh`, then the look-ups it needs.
    Refresh,
    /// `retry_sync`.
    RetrySync,
    /// `flush`.
    Flush,
    /// `mark_through`.
    MarkThrough(Target, EventId),
    /// `mark_channel_read`.
    MarkChannelRead(ChannelId),
    /// `mark_all_channels_read`.
    MarkAllRead,
    /// `mark_unread`.
    MarkUnread(Target),
    /// `clear_unread`.
    ClearUnread(Target),
    /// `follow`.
    Follow(ChannelId, EventId, bool),
}

/// Makes a call.
pub async fn ask(session: Session, what: Ask) -> Result<(), Error> {
    match what {
        Ask::Suspend => session.suspend(SUSPEND_MS).await,
        Ask::Resume => session.resume().await,
        Ask::Ensure => session.ensure().await,
        Ask::Refresh => {
            session.refresh().await?;
            session.settle_lookups().await
        }
        Ask::RetrySync => session.retry_sync().await,
        Ask::Flush => session.flush().await,
        Ask::MarkThrough(target, id) => session.mark_through(target, id).await.map(drop),
        Ask::MarkChannelRead(channel) => session.mark_channel_read(channel).await.map(drop),
        Ask::MarkAllRead => session.mark_all_channels_read().await.map(drop),
        Ask::MarkUnread(target) => session.mark_unread(target).await.map(drop),
        Ask::ClearUnread(target) => session.clear_unread(target).await.map(drop),
        Ask::Follow(channel, root, value) => session.follow(channel, root, value).await,
    }
}

/// Opens a timeline.
pub async fn open(session: Session, channel: ChannelId, root: Option<EventId>, limit: u32) -> Result<Timeline, Error> {
    let options = TimelineOptions { limit: Some(limit), ..TimelineOptions::default() };
    match root {
        Some(root) => session.thread(channel, root, options).await,
        None => session.timeline(channel, options).await,
    }
}

/// What a surface reports.
pub fn viewport(rows: Vec<EventId>, bottom: Option<EventId>, active: bool, settled: bool) -> model::Viewport {
    model::Viewport { active, settled, visible: rows, bottom }
}
