//! The session's task: owns the engine, feeds it, carries out what it wants, publishes what changed.
//!
//! One loop. It waits for a command, a report or the engine's next moment; takes everything that is there already, up to
//! [`limits::BATCH_INPUTS`], so that a burst is projected once; then carries out the effects in order and publishes the changes in one step.
//! Nothing in the loop blocks: disks, signatures and sockets are tasks of their own, owned by the loop and gone with it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};

use super::command::{Answer, Command};
use super::disk::{self, CacheJob, JournalJob};
use super::input::Input;
use super::view::{Board, Cell, View};
use super::wire::Wire;
use super::{Config, crypto};
use crate::engine::{CallId, Change, Effect, Engine, Reply};
use crate::entropy::Entropy;
use crate::error::Error;
use crate::ids::{ChannelId, Target};
use crate::limits;
use crate::model::{Connectivity, SidebarState, SyncStatus, ThreadActivity, TimelineState, UnreadSnapshot};
use crate::relay::connection::{self, Attempt};
use crate::relay::transport::ClientFrame;
use crate::request::RequestId;
use crate::window::TimelineKey;

/// Cells of the views.
pub(super) struct Cells {
    pub(super) board: Arc<Board>,
    pub(super) sidebar: Arc<Cell<SidebarState>>,
    pub(super) sync: Arc<Cell<SyncStatus>>,
    pub(super) connectivity: Arc<Cell<Connectivity>>,
    pub(super) unread: BTreeMap<Target, Arc<Cell<UnreadSnapshot>>>,
    pub(super) activity: BTreeMap<ChannelId, Arc<Cell<ThreadActivity>>>,
    pub(super) timelines: BTreeMap<TimelineKey, Arc<Cell<TimelineState>>>,
}

impl Cells {
    fn publish(&mut self, changes: Vec<Change>) {
        let updates = changes.into_iter().filter_map(|change| match change {
            Change::Unread(target, value) => Some(self.unread.get(&target)?.update(value)),
            Change::Activity(channel, value) => Some(self.activity.get(&channel)?.update(value)),
            Change::Timeline(key, value) => Some(self.timelines.get(&key)?.update(value)),
            Change::Sidebar(value) => Some(self.sidebar.update(value)),
            Change::Sync(value) => Some(self.sync.update(value)),
            Change::Connectivity(value) => Some(self.connectivity.update(value)),
        });
        let updates = updates.collect();
        self.board.publish(updates);
    }

    fn close(&self) {
        self.sidebar.close();
        self.sync.close();
        self.connectivity.close();
        self.unread.values().for_each(|c| c.close());
        self.activity.values().for_each(|c| c.close());
        self.timelines.values().for_each(|c| c.close());
    }
}

/// The running session.
pub(super) struct Actor {
    pub(super) engine: Engine,
    pub(super) config: Config,
    pub(super) wire: Wire,
    pub(super) entropy: Entropy,
    pub(super) cells: Cells,
    pub(super) journal: mpsc::UnboundedSender<JournalJob>,
    pub(super) cache: mpsc::UnboundedSender<CacheJob>,
    pub(super) tasks: Tasks,
    pub(super) exchanges: BTreeMap<RequestId, AbortHandle>,
    pub(super) link: Vec<(Attempt, AbortHandle)>,
    pub(super) socket: Option<(Attempt, mpsc::Sender<ClientFrame>)>,
    pub(super) answers: BTreeMap<CallId, Answer<Reply>>,
    pub(super) next_call: u64,
}

/// The tasks of a session, each with a name: a panic is told by it.
#[derive(Default)]
pub(super) struct Tasks {
    set: JoinSet<()>,
    names: HashMap<tokio::task::Id, &'static str>,
}

/// What a session's task panics with when one of its tasks did.
pub(super) struct TaskPanic(pub(super) &'static str);

impl Tasks {
    pub(super) fn spawn(&mut self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let handle = self.set.spawn(task);
        self.names.insert(handle.id(), name);
        handle
    }

    /// Waits for the next task to end; its name if it panicked. Never completes when there is none.
    async fn ended(&mut self) -> Option<&'static str> {
        let (id, panicked) = match self.set.join_next_with_id().await {
            Some(Ok((id, ()))) => (id, false),
            Some(Err(error)) => (error.id(), error.is_panic()),
            None => std::future::pending().await,
        };
        self.names.remove(&id).filter(|_| panicked)
    }
}

/// How the loop goes on.
enum Flow {
    On,
    /// Everything is through: release and end.
    End {
        leave: bool,
        call: CallId,
        outcome: Result<(), Error>,
    },
}

impl Actor {
    /// Runs until the session is closed or left. `started` is answered once what this device holds is published: locally ready.
    pub(super) async fn run(
        mut self,
        started: Answer<Reply>,
        mut calls: mpsc::Receiver<Command>,
        mut posts: mpsc::UnboundedReceiver<Command>,
        mut inputs: mpsc::Receiver<Input>,
    ) {
        self.engine.set_now(self.config.clock.now());
        self.engine.start();
        let mut flow = self.carry_out();
        let _ = started.send(Ok(Reply::Done));
        while let Flow::On = flow {
            let wake = self.engine.next_wake();
            let clock = self.config.clock.clone();
            let sleep = async move {
                match wake {
                    Some(at) => clock.sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                // Posts first: whoever lets a surface go and then asks for the next one has room for it, however much is asked.
                Some(command) = posts.recv() => self.command(command),
                command = calls.recv() => match command {
                    Some(command) => self.command(command),
                    // Nobody can ask any more; the guard ends the task in a moment.
                    None => return,
                },
                Some(input) = inputs.recv() => self.input_batch(input, &mut inputs),
                // A fault of this program: the session ends with it, visibly, instead of going on half alive.
                panicked = self.tasks.ended() => if let Some(name) = panicked {
                    tracing::error!(task = name, "a task of the session panicked");
                    std::panic::resume_unwind(Box::new(TaskPanic(name)));
                },
                () = sleep => {
                    self.engine.set_now(self.config.clock.now());
                    self.engine.on_wake();
                }
            }
            flow = self.carry_out();
        }
        if let Flow::End { leave, call, outcome } = flow {
            self.end(leave, call, outcome).await;
        }
    }

    /// Takes what is there already, so that a burst is projected once.
    fn input_batch(&mut self, first: Input, inputs: &mut mpsc::Receiver<Input>) {
        self.engine.set_now(self.config.clock.now());
        let Ok(second) = inputs.try_recv() else { return self.input(first) };
        self.engine.defer(true);
        self.input(first);
        self.input(second);
        for _ in 2..limits::BATCH_INPUTS {
            let Ok(next) = inputs.try_recv() else { break };
            self.input(next);
        }
        self.engine.defer(false);
    }

    fn input(&mut self, input: Input) {
        match input {
            Input::Link(input) => self.engine.on_link(input),
            Input::Dialled(attempt, result) => {
                let result = result.map(|tx| self.socket = Some((attempt, tx)));
                self.engine.on_link(connection::Input::Dialled(attempt, result));
            }
            Input::Exchange(id, outcome, date) => {
                self.exchanges.remove(&id);
                self.engine.on_exchange(id, outcome, date);
            }
            Input::Saved(op, result) => self.engine.on_saved(op, result),
            Input::Reloaded(op, result) => self.engine.on_reloaded(op, result),
            Input::Locked(op, result) => self.engine.on_lock(op, result),
            Input::Crypto(job, result) => self.engine.on_crypto(job, result),
            Input::MuteJob(job, result) => self.engine.on_mute_job(job, result),
            Input::Restored(key, pages) => self.engine.on_restored(key, pages),
            Input::Evidence { events, deleted, structure } => {
                self.engine.on_evidence_restored(&events, &deleted, &structure);
            }
        }
    }

    fn command(&mut self, command: Command) {
        self.engine.set_now(self.config.clock.now());
        match command {
            // Started already: that is what the caller wants.
            Command::Start(answer) => drop(answer.send(Ok(Reply::Done))),
            Command::Call(call, answer) => {
                self.next_call += 1;
                let id = CallId(self.next_call);
                self.answers.insert(id, answer);
                self.engine.on_call(id, call);
            }
            Command::ViewUnread(target, answer) => drop(answer.send(self.view_unread(target))),
            Command::ViewActivity(channel, answer) => drop(answer.send(self.view_activity(channel))),
            Command::ViewTimeline(key, answer) => drop(answer.send(self.view_timeline(key))),
            Command::OpenSurface(channel, root, answer) => {
                let opened = self.engine.open_surface(channel, root);
                let id = opened.as_ref().ok().copied();
                if answer.send(opened).is_err()
                    && let Some(id) = id
                {
                    self.engine.close_surface(id);
                }
            }
            Command::Journal(keys, answer) => {
                let values = keys.iter().map(|key| self.engine.record().frontier(key)).collect();
                let _ = answer.send(Ok(values));
            }
            Command::PrimarySlot(answer) => {
                let slot = self.engine.record().slots().first().map(|s| s.to_hex());
                let _ = answer.send(slot.ok_or(Error::NotFound { what: "slot" }));
            }
            Command::SurfaceChanged(id, mailbox) => {
                if let Some(viewport) = mailbox.take() {
                    self.engine.report(id, &viewport);
                }
            }
            Command::CloseSurface(id) => self.engine.close_surface(id),
            Command::DropTimeline(key) => self.engine.drop_timeline(key),
        }
    }

    // --- Views ---------------------------------------------------------------------------------------------------------

    fn view_unread(&mut self, target: Target) -> Result<View<UnreadSnapshot>, Error> {
        if let Some(cell) = self.cells.unread.get(&target) {
            return Ok(View::new(cell.clone()));
        }
        if self.cells.unread.len() >= limits::SELECTORS {
            // Those nobody holds a view of go first (`unread.md` 3.1).
            let idle = |_: &Target, cell: &mut Arc<Cell<UnreadSnapshot>>| Arc::strong_count(cell) == 1;
            for (target, _) in self.cells.unread.extract_if(.., idle) {
                self.engine.unwatch(&target);
            }
        }
        if self.cells.unread.len() >= limits::SELECTORS {
            return Err(Error::Capacity { what: "unread views" });
        }
        let cell = Cell::new(self.cells.board.clone(), self.engine.watch(target));
        self.cells.unread.insert(target, cell.clone());
        Ok(View::new(cell))
    }

    fn view_activity(&mut self, channel: ChannelId) -> Result<View<ThreadActivity>, Error> {
        if let Some(cell) = self.cells.activity.get(&channel) {
            return Ok(View::new(cell.clone()));
        }
        if self.cells.activity.len() >= limits::DIRECTORY_CHANNELS {
            let idle = |_: &ChannelId, cell: &mut Arc<Cell<ThreadActivity>>| Arc::strong_count(cell) == 1;
            for (channel, _) in self.cells.activity.extract_if(.., idle) {
                self.engine.unwatch_activity(&channel);
            }
        }
        if self.cells.activity.len() >= limits::DIRECTORY_CHANNELS {
            return Err(Error::Capacity { what: "activity views" });
        }
        let cell = Cell::new(self.cells.board.clone(), self.engine.watch_activity(channel));
        self.cells.activity.insert(channel, cell.clone());
        Ok(View::new(cell))
    }

    fn view_timeline(&mut self, key: TimelineKey) -> Result<View<TimelineState>, Error> {
        if let Some(cell) = self.cells.timelines.get(&key) {
            return Ok(View::new(cell.clone()));
        }
        let state = self.engine.timeline(&key).ok_or(Error::NotFound { what: "open timeline" })?;
        let cell = Cell::new(self.cells.board.clone(), state);
        self.cells.timelines.insert(key, cell.clone());
        Ok(View::new(cell))
    }

    /// Views of timelines that are closed end.
    fn drop_closed_timelines(&mut self) {
        let engine = &self.engine;
        let closed = |key: &TimelineKey, _: &mut Arc<Cell<TimelineState>>| engine.timeline(key).is_none();
        for (_, cell) in self.cells.timelines.extract_if(.., closed) {
            cell.close();
        }
    }

    // --- Effects -------------------------------------------------------------------------------------------------------

    /// Carries out what the engine wants. Changes are published before calls are answered, so a caller sees what its call did.
    fn carry_out(&mut self) -> Flow {
        self.drop_closed_timelines();
        let effects = self.engine.take_effects();
        let changes = self.engine.take_changes();
        self.cells.publish(changes);
        let mut flow = Flow::On;
        for effect in effects {
            match effect {
                Effect::Link(effect) => self.link_effect(effect),
                Effect::Exchange { id, request, server_time } => {
                    let exchange = self.wire.clone().exchange(id, request, server_time, self.entropy.fork());
                    self.exchanges.insert(id, self.tasks.spawn("exchange", exchange));
                }
                Effect::Abort(id) => {
                    if let Some(task) = self.exchanges.remove(&id) {
                        task.abort();
                    }
                }
                Effect::Save { op, mutation, facts, cancel } => {
                    let _ = self.journal.send(JournalJob::Save { op, mutation, facts, cancel });
                }
                Effect::Reload(op) => drop(self.journal.send(JournalJob::Reload(op))),
                Effect::Lock(op) => drop(self.journal.send(JournalJob::Lock(op))),
                Effect::Unlock => drop(self.journal.send(JournalJob::Unlock)),
                Effect::Crypto(job) => self.crypto(job),
                Effect::MuteJob(job) => self.mute_job(job),
                Effect::Restore(key) => drop(self.cache.send(CacheJob::Restore(key))),
                Effect::Keep(keep) => drop(self.cache.send(CacheJob::Keep(keep))),
                Effect::Answer(call, result) => {
                    if let Some(answer) = self.answers.remove(&call) {
                        let _ = answer.send(result);
                    }
                }
                Effect::End { leave, call, outcome } => flow = Flow::End { leave, call, outcome },
            }
        }
        flow
    }

    fn link_effect(&mut self, effect: connection::Effect) {
        let wire = self.wire.clone();
        match effect {
            connection::Effect::FetchDocument(attempt) => {
                let task = self.tasks.spawn("discovery", wire.fetch_document(attempt));
                self.link.push((attempt, task));
            }
            connection::Effect::Dial(attempt) => {
                let task = self.tasks.spawn("socket", wire.socket(attempt));
                self.link.push((attempt, task));
            }
            connection::Effect::Sign { attempt, event, server_time } => {
                let task = self.tasks.spawn("sign-in", wire.sign(attempt, event, server_time));
                self.link.push((attempt, task));
            }
            connection::Effect::Send(attempt, text) => self.send_frame(attempt, ClientFrame::Text(text)),
            connection::Effect::Ping(attempt) => self.send_frame(attempt, ClientFrame::Ping),
            connection::Effect::Abandon(attempt) => {
                self.link.retain(|(of, task)| {
                    if *of == attempt {
                        task.abort();
                    }
                    *of != attempt
                });
                self.socket.take_if(|(of, _)| *of == attempt);
            }
        }
    }

    fn send_frame(&mut self, attempt: Attempt, frame: ClientFrame) {
        // A full socket is a dead one: the connection's own deadlines find out.
        if let Some((of, tx)) = &self.socket
            && *of == attempt
        {
            let _ = tx.try_send(frame);
        }
    }

    fn crypto(&mut self, job: crate::read_state::CryptoJob) {
        let Wire { signer, verifier, inputs, blocking, .. } = self.wire.clone();
        let server_time = self.engine.server_time();
        self.tasks.spawn("crypto", async move {
            let (id, result) = crypto::read_state(job, signer, verifier, server_time, blocking).await;
            let _ = inputs.send(Input::Crypto(id, result)).await;
        });
    }

    fn mute_job(&mut self, job: crate::directory::mutes::Job) {
        let Wire { signer, verifier, inputs, .. } = self.wire.clone();
        let (server_time, nonce) = (self.engine.server_time(), self.entropy.bytes());
        self.tasks.spawn("crypto", async move {
            let (id, result) = crypto::mutes(job, signer, verifier, server_time, nonce).await;
            let _ = inputs.send(Input::MuteJob(id, result)).await;
        });
    }

    /// Releases everything, then answers.
    async fn end(mut self, leave: bool, call: CallId, outcome: Result<(), Error>) {
        self.socket = None;
        self.exchanges.clear();
        let (journal_done, journal_over) = oneshot::channel();
        let (cache_done, cache_over) = oneshot::channel();
        let _ = self.journal.send(JournalJob::End { leave, done: journal_done });
        let _ = self.cache.send(CacheJob::End { leave, done: cache_done });
        let released = journal_over.await.unwrap_or(Ok(()));
        let _ = cache_over.await;
        self.tasks.set.shutdown().await;
        self.cells.close();
        if let Some(answer) = self.answers.remove(&call) {
            let _ = answer.send(outcome.and(released).map(|()| Reply::Done));
        }
        for answer in std::mem::take(&mut self.answers).into_values() {
            let _ = answer.send(Err(Error::Closed));
        }
    }
}

/// Starts the two lines of blocking work.
pub(super) fn start_lines(
    tasks: &mut Tasks,
    opened: (
        Box<dyn crate::store::journal::JournalStore>,
        Option<(crate::store::cache::Cache, crate::store::cache::Partition)>,
    ),
    config: &Config,
    wire: &Wire,
) -> (mpsc::UnboundedSender<JournalJob>, mpsc::UnboundedSender<CacheJob>) {
    let (journal, journal_jobs) = mpsc::unbounded_channel();
    let (cache, cache_jobs) = mpsc::unbounded_channel();
    tasks.spawn(
        "journal",
        disk::journal_line(opened.0, journal_jobs, config.saves.clone(), wire.blocking, wire.inputs.clone()),
    );
    tasks.spawn(
        "cache",
        disk::cache_line(opened.1, cache_jobs, wire.verifier.clone(), wire.blocking, wire.inputs.clone()),
    );
    (journal, cache)
}
