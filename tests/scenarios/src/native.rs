//! The driver over the core's own API, in this process.
//!
//! A device is a client that is opened at `start` and gone after `stop`, `kill` and `leave`. Timelines and surfaces are kept by place,
//! as an app keeps its screens, and go with the session.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, LocalBoxFuture};
use waggle::error::{Error, StorageKind};
use waggle::identity::{MemorySecrets, Secret};
use waggle::ids::{ChannelId, EventId, Target};
use waggle::journal::Key;
use waggle::model;
use waggle::session::{
    Blocking, Client, Config, Credential, Mode, ReadingSurface, SaveHook, Session, Timeline, TimelineOptions, Waggle,
};
use waggle::store::journal::{Effect, Hooks};

use crate::device::{DeviceEnv, SaveGate};
use crate::driver::{
    ActivityItem, Capability, Class, Completeness, Coverage, DiskFault, Driver, Fact, Failure, Freshness, Manual, More,
    Observe, Op, Place, RowFact, SidebarFact, SyncFact, SyncState, TargetId, TimelineFact, UnreadFact, ViewportReport,
};
use crate::transport::InProcess;

/// Milliseconds a suspended app gives its session.
pub const SUSPEND_MS: u64 = 5_000;

/// Makes a device.
pub fn make(env: DeviceEnv) -> anyhow::Result<Rc<dyn Driver>> {
    Ok(Rc::new(Native(Rc::new(Device { env, starts: RefCell::new(0), live: RefCell::new(None) }))))
}

struct Native(Rc<Device>);

struct Device {
    env: DeviceEnv,
    /// Sessions opened so far: a restarted process draws other numbers.
    starts: RefCell<u64>,
    live: RefCell<Option<Live>>,
}

/// A running app.
struct Live {
    session: Session,
    timelines: BTreeMap<Place, Rc<Timeline>>,
    surfaces: BTreeMap<Place, ReadingSurface>,
    /// Sessions end with their client.
    _client: Client,
}

/// The gate as the core knows it.
pub struct Gate(pub Arc<SaveGate>);

impl SaveHook for Gate {
    fn before_save(&self) -> BoxFuture<'static, ()> {
        self.0.passage().boxed()
    }
}

impl Hooks for Gate {
    fn at(&self, effect: Effect) -> Result<(), StorageKind> {
        if effect != Effect::Save {
            return Ok(());
        }
        self.0.strike().map_err(|fault| match fault {
            DiskFault::DiskFull => StorageKind::Full,
            DiskFault::DiskIoError => StorageKind::Io,
        })
    }
}

impl Driver for Native {
    fn call(&self, op: Op) -> LocalBoxFuture<'static, Result<(), Failure>> {
        self.0.clone().carry_out(op).boxed_local()
    }

    fn observe(&self, what: Observe) -> LocalBoxFuture<'static, Result<Fact, Failure>> {
        self.0.clone().look(what).boxed_local()
    }
}

impl Device {
    fn session(&self) -> Result<Session, Failure> {
        let live = self.live.borrow();
        live.as_ref().map(|live| live.session.clone()).ok_or_else(|| Failure::usage("the device is not running"))
    }

    fn with<T>(&self, work: impl FnOnce(&mut Live) -> T) -> Result<T, Failure> {
        let mut live = self.live.borrow_mut();
        live.as_mut().map(work).ok_or_else(|| Failure::usage("the device is not running"))
    }

    fn stopped(&self) -> Result<(), Failure> {
        if self.live.borrow().is_some() { Err(Failure::usage("the device is running")) } else { Ok(()) }
    }

    async fn carry_out(self: Rc<Self>, op: Op) -> Result<(), Failure> {
        if self.env.apply(&op) {
            return Ok(());
        }
        match op {
            Op::Start => self.start().await,
            Op::Kill => {
                if let Some(live) = self.live.take() {
                    live.session.kill();
                }
                Ok(())
            }
            Op::Stop | Op::Leave => {
                let session = self.session()?;
                let outcome = if op == Op::Stop { session.close().await } else { session.leave().await };
                drop(self.live.take());
                Ok(outcome?)
            }
            Op::Backup | Op::Restore | Op::WipeCache => {
                self.stopped()?;
                move_files(&self.env.dir, &op).map_err(|why| Failure::usage(why.to_string()))
            }
            Op::Open { .. } | Op::Older { .. } | Op::Close { .. } | Op::Show { .. } | Op::Hide { .. } => {
                self.screen(op).await
            }
            other => Ok(ask(self.session()?, other).await?),
        }
    }

    async fn start(&self) -> Result<(), Failure> {
        self.stopped()?;
        let starts = {
            let mut starts = self.starts.borrow_mut();
            *starts += 1;
            *starts
        };
        let client = open_client(&self.env, starts).await?;
        let session = client.session(&self.env.origin)?;
        session.start().await?;
        let live = Live { session, timelines: BTreeMap::new(), surfaces: BTreeMap::new(), _client: client };
        *self.live.borrow_mut() = Some(live);
        Ok(())
    }

    /// Timelines and surfaces.
    async fn screen(&self, op: Op) -> Result<(), Failure> {
        match op {
            Op::Open { place, limit } => {
                let old = self.with(|live| live.timelines.remove(&place))?;
                close(old).await?;
                let session = self.session()?;
                let options = TimelineOptions { limit, ..TimelineOptions::default() };
                let channel = channel(&place.channel)?;
                let timeline = match &place.root {
                    Some(root) => session.thread(channel, event(root)?, options).await?,
                    None => session.timeline(channel, options).await?,
                };
                self.with(|live| live.timelines.insert(place, Rc::new(timeline))).map(drop)
            }
            Op::Older { place } => Ok(self.timeline(&place)?.load_older().await?),
            Op::Close { place } => close(self.with(|live| live.timelines.remove(&place))?).await,
            Op::Show { place, viewport } => self.show(place, viewport).await,
            Op::Hide { place } => {
                if let Some(surface) = self.with(|live| live.surfaces.remove(&place))? {
                    surface.close();
                }
                Ok(())
            }
            _ => Err(Failure::usage("no screen")),
        }
    }

    fn timeline(&self, place: &Place) -> Result<Rc<Timeline>, Failure> {
        self.with(|live| live.timelines.get(place).cloned())?.ok_or_else(|| Failure::usage("not open"))
    }

    async fn show(&self, place: Place, report: ViewportReport) -> Result<(), Failure> {
        let (channel, root) = (channel(&place.channel)?, place.root.as_deref().map(event).transpose()?);
        let viewport = model::Viewport {
            active: report.active,
            settled: report.settled,
            visible: report.rows.iter().map(|id| event(id)).collect::<Result<_, _>>()?,
            bottom: report.bottom.as_deref().map(event).transpose()?,
        };
        if !self.with(|live| live.surfaces.contains_key(&place))? {
            match self.session()?.surface(channel, root).await {
                Ok(surface) => drop(self.with(|live| live.surfaces.insert(place.clone(), surface))?),
                // Reports on a channel that is not accessible are ignored (R16b).
                Err(Error::Denied) => return Ok(()),
                Err(why) => return Err(why.into()),
            }
        }
        self.with(|live| {
            if let Some(surface) = live.surfaces.get(&place) {
                surface.report(viewport);
            }
        })
    }

    async fn look(self: Rc<Self>, what: Observe) -> Result<Fact, Failure> {
        let session = self.session()?;
        Ok(match what {
            Observe::Unread { target } => Fact::Unread(unread(&session.snapshot(to_target(&target)?).await?)),
            Observe::Timeline { place } => Fact::Timeline(timeline(&self.timeline(&place)?.state())),
            Observe::Activity { channel: id } => {
                let activity = session.activity(channel(&id)?).await?;
                Fact::Activity { items: activity.items.map(|items| items.iter().map(activity_item).collect()) }
            }
            Observe::Sidebar => {
                let state = session.sidebar().current().value;
                Fact::Sidebar { rows: state.rows.iter().map(|row| sidebar(row)).collect() }
            }
            Observe::Following { channel: id, root } => {
                Fact::Following { value: session.following(channel(&id)?, event(&root)?).await? }
            }
            Observe::Journal { keys } => {
                let parsed = keys.iter().map(|k| Key::parse(k)).collect::<Result<Vec<_>, _>>().map_err(Error::from)?;
                let values = session.journal(parsed).await?;
                Fact::Journal { values: keys.into_iter().zip(values.into_iter().map(|v| v.map(u64::from))).collect() }
            }
            Observe::Sync => Fact::Sync(sync(&session.sync().current().value)),
            Observe::PrimarySlot => Fact::PrimarySlot { slot: Some(session.primary_slot().await?) },
        })
    }
}

/// A client on a device's ground, signed in. `starts` counts them: a restarted process draws other numbers.
pub async fn open_client(env: &DeviceEnv, starts: u64) -> Result<Client, Failure> {
    let gate = Arc::new(Gate(env.gate.clone()));
    let config = Config {
        data_dir: env.dir.join("data"),
        secrets: Arc::new(MemorySecrets::new()),
        transport: Arc::new(InProcess(env.link.clone())),
        clock: env.clock.clone(),
        seed: Some(env.seed.wrapping_mul(1_000).wrapping_add(starts)),
        saves: gate.clone(),
        disk: gate,
        // So that a trace is the same every time.
        blocking: Blocking::Inline,
        mode: Mode::App,
    };
    let secret = Secret::from_bytes(env.secret)?;
    let credential = if env.signs { Credential::Full(secret) } else { Credential::ReadOnly(secret) };
    let client = Waggle::open(config)?;
    client.sign_in(credential).await?;
    Ok(client)
}

/// Copies a stopped device's journal aside, puts it back, or deletes its cache.
pub fn move_files(dir: &Path, op: &Op) -> std::io::Result<()> {
    let (data, aside) = (dir.join("data"), dir.join("backup"));
    match op {
        Op::Backup => {
            remove(&aside, "")?;
            copy(&data, &aside, "journal")
        }
        Op::Restore => {
            remove(&data, "journal")?;
            copy(&aside, &data, "journal")
        }
        _ => remove(&data, "cache"),
    }
}

/// The calls that are one call of the session.
async fn ask(session: Session, op: Op) -> Result<(), Error> {
    match op {
        Op::Suspend => session.suspend(SUSPEND_MS).await,
        Op::Resume => session.resume().await,
        Op::Ensure => session.ensure().await,
        Op::Refresh => session.refresh().await,
        Op::RetrySync => session.retry_sync().await,
        Op::Flush => session.flush().await,
        Op::SettleLookups => session.settle_lookups().await,
        Op::MarkThrough { target, message } => {
            session.mark_through(to_target(&target)?, event(&message)?).await.map(drop)
        }
        Op::MarkChannelRead { channel: id } => session.mark_channel_read(channel(&id)?).await.map(drop),
        Op::MarkAllRead => session.mark_all_channels_read().await.map(drop),
        Op::MarkUnread { target } => session.mark_unread(to_target(&target)?).await.map(drop),
        Op::ClearUnread { target } => session.clear_unread(to_target(&target)?).await.map(drop),
        Op::Follow { channel: id, root, value } => session.follow(channel(&id)?, event(&root)?, value).await,
        Op::Mute { channel: id, value } => session.mute(channel(&id)?, value).await,
        Op::PresentAs { channel: id, class } => {
            let class = match class {
                Class::Normal => model::PresentationClass::Normal,
                Class::Solo => model::PresentationClass::Solo,
                Class::Promoted => model::PresentationClass::Promoted,
            };
            session.present_as(channel(&id)?, class).await
        }
        _ => Err(Error::Unsupported { what: "this operation" }),
    }
}

async fn close(timeline: Option<Rc<Timeline>>) -> Result<(), Failure> {
    match timeline.map(Rc::try_unwrap) {
        Some(Ok(timeline)) => Ok(timeline.close().await?),
        // A page is still being read for it; it closes when that is over.
        Some(Err(_)) | None => Ok(()),
    }
}

fn channel(id: &str) -> Result<ChannelId, Error> {
    Ok(ChannelId::parse(id)?)
}

fn event(id: &str) -> Result<EventId, Error> {
    Ok(EventId::parse(id)?)
}

fn to_target(target: &TargetId) -> Result<Target, Error> {
    Ok(match target {
        TargetId::Channel { channel: c } => Target::Channel(channel(c)?),
        TargetId::Thread { channel: c, root } => Target::Thread(channel(c)?, event(root)?),
        TargetId::Message { channel: c, message } => Target::Message(channel(c)?, event(message)?),
    })
}

fn unread(snapshot: &model::UnreadSnapshot) -> UnreadFact {
    UnreadFact {
        observed: snapshot.observed,
        attention: snapshot.attention,
        latest: snapshot.latest.map(|id| id.to_hex()),
        coverage: match snapshot.coverage {
            model::Coverage::Observed => Coverage::Observed,
            model::Coverage::Unknown => Coverage::Unknown,
        },
        freshness: match snapshot.freshness {
            model::Freshness::Observed => Freshness::Observed,
            model::Freshness::Stale => Freshness::Stale,
            model::Freshness::Unknown => Freshness::Unknown,
        },
        manual: match snapshot.manual {
            model::Manual::None => Manual::None,
            model::Manual::LocalOnly => Manual::LocalOnly,
            model::Manual::Remote => Manual::Remote,
        },
        pending: snapshot.pending,
        error: snapshot.error.is_some(),
    }
}

fn timeline(state: &model::TimelineState) -> TimelineFact {
    TimelineFact {
        rows: state.rows.iter().map(|row| row_fact(row)).collect(),
        more: match state.more {
            model::More::Yes => More::Yes,
            model::More::No => More::No,
            model::More::Unknown => More::Unknown,
        },
        gap: state.gap.is_some(),
        first_unread: state.first_unread.map(|id| id.to_hex()),
    }
}

fn row_fact(row: &model::TimelineRow) -> RowFact {
    RowFact {
        id: row.id.to_hex(),
        text: row.text.clone(),
        edited: row.edited,
        replies: row.replies,
        reactions: row.reactions.iter().map(|r| (r.emoji.clone(), r.count)).collect(),
        thread_dot: row.thread_dot,
    }
}

fn activity_item(item: &model::ThreadActivityItem) -> ActivityItem {
    ActivityItem { root: item.root.to_hex(), latest: item.latest.to_hex(), count: item.count }
}

fn sidebar(row: &model::SidebarRow) -> SidebarFact {
    SidebarFact {
        channel: row.channel.to_string(),
        strong: row.strong,
        dot: row.dot,
        bell: row.bell,
        counted: row.counted,
    }
}

fn sync(status: &model::SyncStatus) -> SyncFact {
    SyncFact {
        state: match status.state {
            model::SyncState::Loading => SyncState::Loading,
            model::SyncState::Local => SyncState::Local,
            model::SyncState::Pending => SyncState::Pending,
            model::SyncState::Accepted => SyncState::Accepted,
            model::SyncState::Reconciled => SyncState::Reconciled,
            model::SyncState::Stale => SyncState::Stale,
            model::SyncState::Error => SyncState::Error,
        },
        completeness: match status.completeness {
            model::Completeness::Unknown => Completeness::Unknown,
            model::Completeness::Bounded => Completeness::Bounded,
            model::Completeness::Snapshot => Completeness::Snapshot,
        },
        pending: status.pending,
        capability: match status.capability {
            model::Capability::Unsupported => Capability::Unsupported,
            model::Capability::ReadOnly => Capability::ReadOnly,
            model::Capability::FrontierSync => Capability::FrontierSync,
        },
    }
}

/// Files of a folder whose names begin so; none where there is no folder.
fn files(folder: &Path, prefix: &str) -> std::io::Result<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(prefix) && entry.path().is_file() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

fn remove(folder: &Path, prefix: &str) -> std::io::Result<()> {
    files(folder, prefix)?.into_iter().try_for_each(std::fs::remove_file)
}

fn copy(from: &Path, to: &Path, prefix: &str) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for file in files(from, prefix)? {
        if let Some(name) = file.file_name() {
            std::fs::copy(&file, to.join(name))?;
        }
    }
    Ok(())
}
