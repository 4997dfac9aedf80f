//! The engine: composes the machines of one account in one community. Inputs in, effects and changes out; no time, randomness, file or
//! socket of its own.
//!
//! How it works. Every input goes to the room it concerns; then [`Engine`] *settles*: it carries what rooms put out to whom it concerns
//! (requests to the admission queue, answers to the room that asked, connection events to everybody, saves to the journal's line) until
//! nothing moves. Only then are views projected again, for the targets that were touched and for nobody else, and handed out together, so no
//! reader can see half of a change.
//!
//! Invariants. A request is answered exactly once, to the room that sent it. A head or thread page is requested only when its channel's
//! live stream is armed (R3). Access that is lost is gone from every room before anything is projected. The record in memory is the one on
//! disk: it changes only by what the store reports as saved. A call is answered exactly once.

mod access;
mod call;
mod calls;
mod effect;
mod facts;
mod link;
mod project;
mod saves;
mod settle;
mod visits;
mod words;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::clock::{Millis, Now};
use crate::directory::mutes::{self, Mutes};
use crate::directory::profiles::Profiles;
use crate::directory::{Directory, StoredChannel, Trust};
use crate::entropy::Entropy;
use crate::error::Error;
use crate::event::SharedEvent;
use crate::event::kept::KeptPage;
use crate::ids::{ChannelId, EventId, PublicKey, Target};
use crate::journal::{Record, homes};
use crate::model::{Capability, Connectivity, PresentationClass, SyncStatus, Viewport};
use crate::read_state::{self, CryptoResult, Sync};
use crate::reading::{SurfaceId, Surfaces, Visits};
use crate::relay::admission::Admission;
use crate::relay::connection::{self, Connection};
use crate::relay::protocol::RelayAddress;
use crate::request::{Outbox, Outcome, Request, RequestId};
use crate::sidebar::Sidebar;
use crate::store::journal::Saved;
use crate::timeline::Timelines;
use crate::unread::Unread;
use crate::window::{TimelineKey, Windows};

pub use call::Call;
pub use effect::{Change, Effect, Keep, Reply};

use saves::{Saves, Sweep};

/// One call of the app, numbered by the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

/// One operation on the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(pub u64);

/// Which room a request belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    Directory,
    Mutes,
    Profiles,
    Windows,
    Unread,
    Sync,
    Homes,
}

/// Marks the engine's own calls among those of the app.
const INTERNAL: u64 = 1 << 63;

/// What an engine is made of.
pub struct Parts {
    /// Where the relay is.
    pub address: RelayAddress,
    /// The account.
    pub account: PublicKey,
    /// What this device can do with read state.
    pub capability: Capability,
    /// The journal's record as opened.
    pub record: Record,
    /// Randomness.
    pub entropy: Entropy,
    /// What the cache kept.
    pub kept: Kept,
    /// Whether channels are listened to. Without, the session reads what it is asked for and no more: an extension's way.
    pub live: bool,
    /// Time.
    pub now: Now,
}

/// What the disposable cache had when the session opened; events are verified.
#[derive(Default)]
pub struct Kept {
    /// The relay's `self` key as last advertised; the outer none is "never connected".
    pub relay: Option<Option<PublicKey>>,
    /// Directory events.
    pub channels: Vec<(ChannelId, StoredChannel)>,
    /// The mute preference.
    pub mutes: Option<String>,
    /// Profiles.
    pub profiles: Vec<SharedEvent>,
}

crate::ids::hidden_debug!(Kept);

/// See the module's text.
pub struct Engine {
    account: PublicKey,
    capability: Capability,
    now: Now,
    entropy: Entropy,
    out: Outbox,
    owners: BTreeMap<RequestId, Room>,
    /// Pages that wait for their channel's live stream (R3).
    parked: Vec<(RequestId, Request, ChannelId)>,
    link: Connection,
    link_out: connection::Output,
    online: bool,
    admission: Admission,
    directory: Directory,
    mutes: Mutes,
    profiles: Profiles,
    windows: Windows,
    timelines: Timelines,
    /// How often each timeline is open.
    openings: BTreeMap<TimelineKey, u32>,
    unread: Unread,
    surfaces: Surfaces,
    visits: Visits,
    record: Record,
    sync: Sync,
    sync_out: Vec<read_state::Effect>,
    homes: homes::Lookup,
    sidebar: Sidebar,
    classes: BTreeMap<ChannelId, PresentationClass>,
    saves: Saves,
    next_op: u64,
    waiting: Waiting,
    stage: Stage,
    effects: Vec<Effect>,
    changes: Vec<Change>,
    watched: BTreeSet<Target>,
    watched_activity: BTreeSet<ChannelId>,
    stale_rows: BTreeSet<ChannelId>,
    all_rows_stale: bool,
    last_sync: Option<SyncStatus>,
    last_connectivity: Option<Connectivity>,
    last_cached: bool,
    deferred: bool,
}

/// Calls that wait for something.
#[derive(Debug, Default)]
struct Waiting {
    /// Opens that wait for the first roster.
    opens: VecDeque<(CallId, TimelineKey, Option<u32>, i32)>,
    /// What window calls are for.
    windows: BTreeMap<CallId, WindowCall>,
    /// Read-state calls that answer an app's call.
    sync: BTreeSet<CallId>,
    /// The read-state call that an evidence repair waits for.
    markers: Option<u64>,
    /// Markers are through; the repair waits for the first roster.
    markers_done: bool,
    /// The markers are to be loaded anew.
    markers_anew: bool,
    evidence: BTreeSet<CallId>,
    lookups: Vec<CallId>,
    mutes: BTreeSet<CallId>,
    sweeps: BTreeMap<CallId, Sweep>,
    next_internal: u64,
}

/// What a call to the windows was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WindowCall {
    Open(TimelineKey),
    Older,
    /// Paging towards the first unread row.
    FirstUnread(TimelineKey),
}

/// Whether the session runs, rests or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Running,
    /// Publishing before the background; at the deadline the socket closes anyway.
    Suspending {
        call: CallId,
        deadline: Millis,
    },
    Suspended,
    /// Publishing before the end.
    Closing {
        call: CallId,
        deadline: Millis,
    },
    Ended,
}

impl Engine {
    /// An engine that has connected to nothing yet. What the cache kept can be read at once.
    pub fn new(parts: Parts) -> Self {
        let Parts { address, account, capability, record, mut entropy, kept, live, now } = parts;
        let relay = kept.relay.flatten();
        let trust = match kept.relay {
            Some(Some(key)) => Trust::Key(key),
            Some(None) if address.is_trusted() => Trust::Transport,
            _ => Trust::None,
        };
        let sync = Sync::new(account, capability, &record);
        let link = Connection::new(address, account, entropy.fork(), live);
        let mut engine = Self {
            account,
            capability,
            now,
            out: Outbox::default(),
            owners: BTreeMap::new(),
            parked: Vec::new(),
            link,
            link_out: connection::Output::default(),
            online: false,
            admission: Admission::new(),
            directory: Directory::new(account, trust),
            mutes: Mutes::new(account),
            profiles: Profiles::new(),
            windows: Windows::new(account),
            timelines: Timelines::default(),
            openings: BTreeMap::new(),
            unread: Unread::new(account, relay),
            surfaces: Surfaces::default(),
            visits: Visits::default(),
            record,
            sync,
            sync_out: Vec::new(),
            homes: homes::Lookup::default(),
            sidebar: Sidebar::default(),
            classes: BTreeMap::new(),
            saves: Saves::default(),
            next_op: 0,
            waiting: Waiting::default(),
            stage: Stage::Running,
            effects: Vec::new(),
            changes: Vec::new(),
            watched: BTreeSet::new(),
            watched_activity: BTreeSet::new(),
            stale_rows: BTreeSet::new(),
            all_rows_stale: true,
            last_sync: None,
            last_connectivity: None,
            last_cached: false,
            deferred: false,
            entropy,
        };
        engine.take_kept(kept);
        engine.settle();
        engine
    }

    /// The account.
    pub fn account(&self) -> PublicKey {
        self.account
    }

    /// The record of reading, for diagnostics and tests.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// What is wanted since the last call, in order.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// What changed since the last call, to be published in one step.
    pub fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    /// Sets the time for what follows.
    pub fn set_now(&mut self, now: Now) {
        self.now = now;
    }

    /// The relay's time as far as known, seconds.
    fn server_now(&self) -> u64 {
        self.link.server_time().at(self.now)
    }

    /// When [`Engine::on_wake`] wants to be called.
    pub fn next_wake(&self) -> Option<Millis> {
        let now = self.now.mono;
        let stage = match self.stage {
            Stage::Suspending { deadline, .. } | Stage::Closing { deadline, .. } => Some(deadline),
            Stage::Running | Stage::Suspended | Stage::Ended => None,
        };
        [
            stage,
            self.link.next_wake(now),
            self.admission.next_wake(now),
            self.directory.next_wake(),
            self.mutes.next_wake(),
            self.windows.next_wake(),
            self.unread.next_wake(self.link.server_time(), self.now),
            self.surfaces.next_wake(),
            self.sync.next_wake(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Time has passed.
    pub fn on_wake(&mut self) {
        let (now, server) = (self.now, self.server_now());
        self.link.on_wake(now, &mut self.link_out);
        self.directory.on_wake(now.mono, &mut self.out);
        self.route(Room::Directory);
        self.mutes.on_wake(now.mono, &mut self.out);
        self.route(Room::Mutes);
        self.windows.on_wake(now, &mut self.out);
        self.route(Room::Windows);
        self.with_sync(|sync, io| sync.on_wake(io));
        let scene = facts::ReadingScene {
            unread: &self.unread,
            record: &self.record,
            windows: &self.windows,
            capability: self.capability,
            server,
        };
        let earned = self.surfaces.on_wake(now.mono, server, &scene);
        for dwell in earned {
            self.save_intent(saves::For::Dwell(dwell.surface), Some(dwell.channel), dwell.intent, None);
        }
        self.check_stage();
        self.settle();
    }

    /// Something happened to the connection.
    pub fn on_link(&mut self, input: connection::Input) {
        self.link.handle(self.now, input, &mut self.link_out);
        self.settle();
    }

    /// An exchange ended: with what it means, and the `Date` of the answer.
    pub fn on_exchange(&mut self, id: RequestId, outcome: Outcome, date: Option<u64>) {
        if let Some(date) = date {
            self.link.learn(self.now, date);
        }
        self.finish_exchange(id, outcome);
        self.settle();
    }

    /// A save ended.
    pub fn on_saved(&mut self, op: OpId, result: Result<Saved, Error>) {
        self.saved(op, result);
        self.settle();
    }

    /// The record was looked at again; a new one if another process had written.
    pub fn on_reloaded(&mut self, op: OpId, result: Result<Option<Box<Record>>, Error>) {
        let result = result.map(|new| {
            if let Some(new) = new {
                self.replace_record(*new);
            }
        });
        if let Some(saves::Save { purpose: saves::For::Sync(op), .. }) = self.saves.end(op) {
            self.with_sync(|sync, io| sync.on_journal(op, result, io));
        }
        self.settle();
    }

    /// The publisher lock was taken, or is held by somebody else.
    pub fn on_lock(&mut self, op: OpId, result: Result<(), Error>) {
        if let Some(saves::Save { purpose: saves::For::Sync(op), .. }) = self.saves.end(op) {
            self.with_sync(|sync, io| sync.on_lock(op, result, io));
        }
        self.settle();
    }

    /// A crypto job of read state ended.
    pub fn on_crypto(&mut self, job: read_state::JobId, result: CryptoResult) {
        self.with_sync(|sync, io| sync.on_crypto(job, result, io));
        self.settle();
    }

    /// A crypto job of the mute preference ended.
    pub fn on_mute_job(&mut self, job: mutes::JobId, result: mutes::JobResult) {
        let server = self.server_now();
        let effects = self.mutes.on_job(job, result, server, &mut self.out);
        self.route(Room::Mutes);
        self.mute_effects(effects);
        self.settle();
    }

    /// What the cache had of a timeline; verified.
    pub fn on_restored(&mut self, key: TimelineKey, pages: Vec<KeptPage>) {
        self.restore_pages(&key, pages);
        self.settle();
    }

    /// Evidence the cache had; verified. May come in several parts, while the session is already in use.
    pub fn on_evidence_restored(&mut self, events: &[SharedEvent], deleted: &[EventId], structure: &[SharedEvent]) {
        let marks = facts::Marks(&self.record, &self.visits);
        let ctx =
            crate::unread::Context { now: self.now.mono, server: self.link.server_time().at(self.now), marks: &marks };
        self.unread.restore(events, deleted, structure, &ctx);
        self.settle();
    }

    /// A call of the app.
    pub fn on_call(&mut self, id: CallId, call: Call) {
        self.call(id, call);
        self.settle();
    }

    /// Opens a reading surface.
    pub fn open_surface(&mut self, channel: ChannelId, root: Option<EventId>) -> Result<SurfaceId, Error> {
        self.surfaces.open(channel, root)
    }

    /// A surface's report.
    pub fn report(&mut self, id: SurfaceId, viewport: &Viewport) {
        if self.stage != Stage::Running {
            return;
        }
        let scene = facts::ReadingScene {
            unread: &self.unread,
            record: &self.record,
            windows: &self.windows,
            capability: self.capability,
            server: self.link.server_time().at(self.now),
        };
        if self.surfaces.report(id, viewport, self.now.mono, &scene) {
            self.saves.surface_stopped(id);
        }
    }

    /// A surface is gone.
    pub fn close_surface(&mut self, id: SurfaceId) {
        self.surfaces.close(id);
        self.saves.surface_stopped(id);
    }

    /// Somebody watches a target from now on: its value now.
    pub fn watch(&mut self, target: Target) -> crate::model::UnreadSnapshot {
        self.watched.insert(target);
        self.unread.snapshot(&target, &facts::Marks(&self.record, &self.visits))
    }

    /// Nobody watches it any more.
    pub fn unwatch(&mut self, target: &Target) {
        self.watched.remove(target);
    }

    /// Somebody watches a channel's thread activity.
    pub fn watch_activity(&mut self, channel: ChannelId) -> crate::model::ThreadActivity {
        self.watched_activity.insert(channel);
        self.unread.thread_activity(channel)
    }

    /// Nobody watches it any more.
    pub fn unwatch_activity(&mut self, channel: &ChannelId) {
        self.watched_activity.remove(channel);
    }

    /// The relay's time as far as known, seconds.
    pub fn server_time(&self) -> u64 {
        self.server_now()
    }

    /// An open timeline as it stands.
    pub fn timeline(&self, key: &TimelineKey) -> Option<crate::model::TimelineState> {
        self.timelines.state(&self.windows.view(key)?)
    }

    fn op(&mut self) -> OpId {
        self.next_op += 1;
        OpId(self.next_op)
    }

    fn answer(&mut self, call: CallId, result: Result<Reply, Error>) {
        self.effects.push(Effect::Answer(call, result));
    }

    fn done(&mut self, call: CallId, result: Result<(), Error>) {
        self.answer(call, result.map(|()| Reply::Done));
    }

    /// Runs a step of the read-state machine with everything it may use.
    fn with_sync<R>(&mut self, step: impl FnOnce(&mut Sync, &mut read_state::Context<'_>) -> R) -> R {
        let mut io = read_state::Context {
            now: self.now,
            server: *self.link.server_time(),
            record: &self.record,
            entropy: &mut self.entropy,
            outbox: &mut self.out,
            effects: &mut self.sync_out,
        };
        let result = step(&mut self.sync, &mut io);
        self.route(Room::Sync);
        result
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Engine({:?}, {:?}, {} saves)", self.stage, self.unread, self.saves.len())
    }
}
