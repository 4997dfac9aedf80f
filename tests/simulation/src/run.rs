//! Carries out a plan: step by step, in virtual time, with every invariant held after each.
//!
//! Time stands still except in [`Run::advance`], which goes from deadline to deadline and lets everything come to rest at each. A step
//! that cannot be done (a device that does not run, a message that is not there) does nothing, so any part of a plan is a plan. A call
//! that is not over when everything rests stays in flight; what it may change is *maybe* until it is over.

use std::rc::Rc;

use tokio::task::JoinHandle;
use waggle::error::Error;
use waggle::session::Timeline;
use waggle_scenarios::clock::{rest, settled};
use waggle_test_relay::faults::{Fault, FaultKind};

use crate::check::Ledger;
use crate::device::{self, Ask, Call};
use crate::model::{AHEAD, Belief, Horizon, Installation, Marks};
use crate::plan::{Act, Aim, Plan, Screen, Step, Trouble, View};
use crate::sabotage::Sabotage;
use crate::world::World;

/// Milliseconds of a dwell (seed).
pub const DWELL_MS: u64 = 300;
/// Between two ticks of the relay while time runs.
const TICK_MS: u64 = 5_000;
/// Seconds an estimate of the relay's time may lag: an answer on its way, and whole seconds.
const LAG: u64 = 15;

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The step after which it was seen, from 0; one past the last means the end.
    pub step: usize,
    /// The invariant, in one word.
    pub invariant: &'static str,
    /// What was seen.
    pub detail: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "after step {}: {}: {}", self.step, self.invariant, self.detail)
    }
}

/// What a run came to.
#[derive(Debug)]
pub struct Report {
    /// Nothing, or the first invariant that did not hold.
    pub failure: Option<Failure>,
    /// What happened, if it was traced.
    pub trace: Vec<String>,
}

/// A broken invariant: its name, and what was seen.
pub type Broken = (&'static str, String);

/// A screen that shows something.
#[derive(Clone)]
struct Dwell {
    device: usize,
    due: u64,
    view: View,
}

/// A timeline under way.
struct Opening {
    device: usize,
    starts: u64,
    screen: Screen,
    task: JoinHandle<Result<Timeline, Error>>,
}

/// A run under way.
pub struct Run {
    /// Its world.
    pub world: World,
    /// What was seen so far.
    pub ledger: Ledger,
    /// What the run does wrong on purpose.
    pub sabotage: Option<Sabotage>,
    dwells: Vec<Dwell>,
    openings: Vec<Opening>,
}

/// Runs a plan.
pub fn run(plan: &Plan, sabotage: Option<Sabotage>, traced: bool) -> Report {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let broken = |what: String| Failure { step: 0, invariant: "setup", detail: what };
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(why) => return Report { failure: Some(broken(why.to_string())), trace: Vec::new() },
    };
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let mut run = match Run::new(plan, sabotage, traced) {
            Ok(run) => run,
            Err(why) => return Report { failure: Some(broken(format!("{why:#}"))), trace: Vec::new() },
        };
        let failure = run.all(plan).await.err();
        for at in 0..run.world.devices.len() {
            run.world.devices[at].kill().await;
        }
        Report { failure, trace: run.world.trace.lines() }
    })
}

impl Run {
    fn new(plan: &Plan, sabotage: Option<Sabotage>, traced: bool) -> anyhow::Result<Self> {
        let world = World::new(plan, traced)?;
        let ledger = Ledger::new(plan);
        Ok(Self { world, ledger, sabotage, dwells: Vec::new(), openings: Vec::new() })
    }

    async fn all(&mut self, plan: &Plan) -> Result<(), Failure> {
        for (number, step) in plan.steps.iter().enumerate() {
            self.world.trace.line("step", || format!("{number} {step:?}"));
            let broken = |(invariant, detail): Broken| Failure { step: number, invariant, detail };
            self.step(step).await.map_err(broken)?;
            self.after(Some(step)).await.map_err(broken)?;
        }
        let broken = |(invariant, detail): Broken| Failure { step: plan.steps.len(), invariant, detail };
        self.world.trace.line("step", || "the end".to_owned());
        self.finish().await.map_err(broken)
    }

    /// What a step leaves behind comes to rest and is looked at.
    pub(crate) async fn after(&mut self, step: Option<&Step>) -> Result<(), Broken> {
        rest().await;
        self.revive().await;
        self.judge_calls().await?;
        self.note_trouble(step);
        self.check(false).await
    }

    // --- Steps ---------------------------------------------------------------------------------------------------------

    async fn step(&mut self, step: &Step) -> Result<(), Broken> {
        let setup = |why: anyhow::Error| ("setup", format!("{why:#}"));
        match step {
            Step::Advance(ms) => self.advance(*ms).await,
            Step::Post(post) => {
                if self.world.post(post, false).map_err(setup)? {
                    self.ledger.posted(post.id, post.channel);
                }
            }
            Step::Delete(id) => drop(self.world.delete(*id).map_err(setup)?),
            Step::Edit(id) => drop(self.world.edit(*id).map_err(setup)?),
            Step::React(id) => drop(self.world.react(*id).map_err(setup)?),
            Step::Peer(marks) => drop(self.world.peer(marks).map_err(setup)?),
            Step::Revoke(channel) => drop(self.world.set_member(*channel, false).map_err(setup)?),
            Step::Grant(channel) => drop(self.world.set_member(*channel, true).map_err(setup)?),
            Step::Restart => self.world.relay.admin().restart(),
            Step::Do(on, act) if *on < self.world.devices.len() => self.act(*on, act).await?,
            Step::Fault(on, trouble) if *on < self.world.devices.len() => self.trouble(*on, trouble),
            Step::Do(..) | Step::Fault(..) => {}
        }
        Ok(())
    }

    fn trouble(&mut self, on: usize, trouble: &Trouble) {
        let device = &mut self.world.devices[on];
        match trouble {
            Trouble::Offline => device.line.set_online(false),
            Trouble::Online => device.line.set_online(true),
            Trouble::Disconnect => drop(self.world.relay.admin().drop_sockets(Some(&device.name))),
            Trouble::Clock(offset) => {
                device.offset = *offset;
                device.clock.set_offset(*offset);
            }
            Trouble::Disk { at, full, skip, times } => device.disk.fail(*at, *full, *skip, (*times).max(1)),
            Trouble::KillAtEffect(n) => device.disk.die_in(*n),
            Trouble::Line { fault, skip, times } => device.line.fault(*fault, *skip, (*times).max(1)),
            Trouble::Relay { fault, skip, times } => {
                if let Ok(kind) = fault.parse() {
                    if kind == FaultKind::NoBounds {
                        device.line.degrade();
                    }
                    let label = Some(device.name.clone());
                    self.world.relay.fault(Fault { kind, times: (*times).max(1), skip: *skip, label });
                }
            }
        }
    }

    async fn act(&mut self, on: usize, act: &Act) -> Result<(), Broken> {
        match act {
            Act::Start => return self.start(on).await,
            Act::Stop => {
                let _ends_anyway = self.end(on, false).await?;
            }
            Act::Kill => {
                self.world.devices[on].kill().await;
                self.gone(on);
            }
            Act::Leave => self.leave(on).await?,
            Act::Hold => self.world.devices[on].disk.gate().hold(),
            Act::Release => self.world.devices[on].disk.gate().release(),
            Act::WipeCache | Act::Backup | Act::Restore | Act::CloneFrom(_) => {
                return self.files(on, act).map_err(|why| ("setup", why.to_string()));
            }
            Act::Open(screen, limit) => self.open(on, *screen, *limit).await,
            Act::Older(screen) => self.older(on, *screen).await,
            Act::Close(screen) => {
                let live = self.world.devices[on].live.as_mut();
                drop(live.and_then(|live| live.timelines.remove(screen)));
                self.ledger.closed(on, *screen);
            }
            Act::Show(view) => self.show(on, view).await,
            Act::Hide(screen) => self.hide(on, *screen),
            other => self.call(on, other).await?,
        }
        Ok(())
    }

    /// Starts a device. What was saved must be there.
    pub(crate) async fn start(&mut self, on: usize) -> Result<(), Broken> {
        let secret = self.world.secret();
        if let Some(sabotage) = self.sabotage {
            sabotage.before_start(&mut self.world, on);
        }
        let device = &mut self.world.devices[on];
        if device.live.is_some() {
            return Ok(());
        }
        let armed = device.disk.is_armed();
        let started = device.start(secret).await;
        rest().await;
        match started {
            Ok(()) => self.ledger.started(&self.world, on),
            // A disk that fails may fail here; the device is started again later.
            Err(Error::Storage { .. }) if armed => {}
            Err(why) => return Err(("open", format!("device {on} does not start: {why}"))),
        }
        Ok(())
    }

    /// A process is gone: what it was about to do may have happened or not.
    fn gone(&mut self, on: usize) {
        self.dwells.retain(|dwell| dwell.device != on);
        for opening in self.openings.extract_if(.., |o| o.device == on) {
            opening.task.abort();
        }
        self.world.devices[on].suspended = false;
        self.ledger.forget(on);
    }

    /// Processes that died at an effect are started again.
    pub(crate) async fn revive(&mut self) {
        for on in 0..self.world.devices.len() {
            if !self.world.devices[on].disk.take_dead() {
                continue;
            }
            self.world.trace.line("step", || format!("device {on} died"));
            self.doubt_calls(on);
            self.world.devices[on].kill().await;
            self.world.devices[on].disk.take_dead();
            self.gone(on);
            self.world.devices[on].line.set_online(true);
            let secret = self.world.secret();
            if self.world.devices[on].start(secret).await.is_ok() {
                rest().await;
                self.ledger.started(&self.world, on);
            }
        }
    }

    /// Ends a session in order, or leaves the community with it. It has half a second for its last publication, and a margin here.
    async fn end(&mut self, on: usize, leave: bool) -> Result<bool, Broken> {
        let Some(session) = self.world.devices[on].session() else { return Ok(false) };
        self.world.devices[on].disk.gate().release();
        let ending = async move { if leave { session.leave().await } else { session.close().await } };
        let mut task = tokio::task::spawn_local(ending);
        for _ in 0..10 {
            match settled(task).await {
                Ok(outcome) => {
                    self.world.devices[on].stopped().await;
                    self.gone(on);
                    return Ok(matches!(outcome, Ok(Ok(()))));
                }
                Err(waiting) => task = waiting,
            }
            self.advance(100).await;
        }
        Err(("hang", format!("device {on} does not end its session")))
    }

    /// Forgets everything of the community, unless another process is at work on the same files.
    async fn leave(&mut self, on: usize) -> Result<(), Broken> {
        let installation = self.world.devices[on].installation;
        let running = self.world.devices.iter().filter(|d| d.installation == installation && d.live.is_some()).count();
        if running != 1 || self.world.devices[on].live.is_none() {
            return Ok(());
        }
        let left = self.end(on, true).await?;
        let mine = &mut self.world.model.installations[self.world.devices[on].installation];
        let shown = std::mem::take(&mut mine.shown);
        let backup = mine.backup.take();
        if left {
            *mine = Installation { shown, backup, ..Installation::default() };
        } else {
            // It may be gone or not.
            mine.doubt(|_| true);
            mine.choices.values_mut().for_each(|choice| *choice = None);
            (mine.shown, mine.backup, mine.kept) = (shown, backup, Marks::new());
        }
        Ok(())
    }

    fn files(&mut self, on: usize, act: &Act) -> std::io::Result<()> {
        let installation = self.world.devices[on].installation;
        let running = |number: usize| {
            let same = |d: &&device::Device| d.installation == number;
            self.world.devices.iter().filter(same).any(|d| d.live.is_some())
        };
        if running(installation) {
            return Ok(());
        }
        let from = match act {
            Act::CloneFrom(other) => {
                let Some(other) = self.world.devices.get(*other) else { return Ok(()) };
                if other.installation == installation || running(other.installation) {
                    return Ok(());
                }
                Some((other.installation, other.dir.clone()))
            }
            _ => None,
        };
        let moved = self.world.devices[on].move_files(act, from.as_ref().map(|(_, dir)| dir.as_path()))?;
        let installations = &mut self.world.model.installations;
        match act {
            Act::Backup if moved => {
                let copy = Installation { backup: None, ..installations[installation].clone() };
                installations[installation].backup = Some(Box::new(copy));
            }
            Act::Restore if moved => {
                if let Some(copy) = installations[installation].backup.clone() {
                    // What it was permitted to read stays permitted.
                    let shown = std::mem::take(&mut installations[installation].shown);
                    installations[installation] = Installation { backup: Some(copy.clone()), shown, ..*copy };
                }
            }
            Act::CloneFrom(_) if moved => {
                if let Some((other, _)) = from {
                    let copy = installations[other].clone();
                    let mine = &mut installations[installation];
                    mine.shown.extend(&copy.shown);
                    (mine.kept, mine.manual, mine.choices) = (copy.kept, copy.manual, copy.choices);
                }
            }
            _ => {}
        }
        Ok(())
    }

    // --- Screens -------------------------------------------------------------------------------------------------------

    async fn open(&mut self, on: usize, screen: Screen, limit: u32) {
        let root = screen.root.map(|id| self.world.event(id));
        let (Some(session), Some(channel)) =
            (self.world.devices[on].session(), self.world.channels.get(screen.channel).copied())
        else {
            return;
        };
        if root == Some(None) {
            return;
        }
        let live = self.world.devices[on].live.as_mut();
        drop(live.and_then(|live| live.timelines.remove(&screen)));
        self.ledger.closed(on, screen);
        let task = tokio::task::spawn_local(device::open(session, channel, root.flatten(), limit.clamp(1, 200)));
        let starts = self.world.devices[on].starts;
        self.openings.push(Opening { device: on, starts, screen, task });
        rest().await;
        self.take_opened().await;
    }

    async fn take_opened(&mut self) {
        for opening in self.openings.extract_if(.., |o| o.task.is_finished()) {
            let device = &mut self.world.devices[opening.device];
            if let (Ok(Ok(timeline)), Some(live)) = (opening.task.await, device.live.as_mut())
                && device.starts == opening.starts
            {
                live.timelines.insert(opening.screen, Rc::new(timeline));
                self.ledger.opened(opening.device, opening.screen);
            }
        }
    }

    async fn older(&mut self, on: usize, screen: Screen) {
        let live = self.world.devices[on].live.as_ref();
        let Some(timeline) = live.and_then(|live| live.timelines.get(&screen)).cloned() else { return };
        let task = tokio::task::spawn_local(async move { timeline.load_older().await });
        if let Err(task) = settled(task).await {
            // It goes on by itself; nobody waits for it.
            drop(task);
        }
    }

    async fn show(&mut self, on: usize, view: &View) {
        let channel = self.world.channels.get(view.screen.channel).copied();
        let root = view.screen.root.map(|id| self.world.event(id));
        let rows = view.rows.iter().filter_map(|id| self.world.event(*id)).collect();
        let bottom = view.bottom.and_then(|id| self.world.event(id));
        let (Some(session), Some(channel), true) = (self.world.devices[on].session(), channel, root != Some(None))
        else {
            return;
        };
        let known = self.world.devices[on].live.as_ref().is_some_and(|l| l.surfaces.contains_key(&view.screen));
        if !known {
            let opened = tokio::task::spawn_local(async move { session.surface(channel, root.flatten()).await });
            let Ok(Ok(Ok(surface))) = settled(opened).await else { return };
            if let Some(live) = self.world.devices[on].live.as_mut() {
                live.surfaces.insert(view.screen, surface);
            }
        }
        let live = self.world.devices[on].live.as_ref();
        let Some(surface) = live.and_then(|live| live.surfaces.get(&view.screen)) else { return };
        surface.report(device::viewport(rows, bottom, view.active, view.settled));
        let same =
            |v: &View| (&v.rows, v.bottom, v.active, v.settled) == (&view.rows, view.bottom, view.active, view.settled);
        let running = self.dwells.iter().find(|d| d.device == on && d.view.screen == view.screen && same(&d.view));
        // A report that repeats the one before does not begin anew.
        let due = running.map_or(self.world.time.now_ms() + DWELL_MS, |d| d.due);
        self.dwells.retain(|d| d.device != on || d.view.screen != view.screen);
        self.dwells.push(Dwell { device: on, due, view: view.clone() });
        rest().await;
        self.advance(view.ms).await;
        if view.hide {
            self.hide(on, view.screen);
        }
    }

    fn hide(&mut self, on: usize, screen: Screen) {
        self.dwells.retain(|d| d.device != on || d.view.screen != screen);
        if let Some(live) = self.world.devices[on].live.as_mut() {
            drop(live.surfaces.remove(&screen));
        }
    }

    /// Lets time run, from deadline to deadline.
    pub async fn advance(&mut self, ms: u64) {
        rest().await;
        let time = self.world.time.clone();
        let target = time.now_ms().saturating_add(ms);
        loop {
            let now = time.now_ms();
            let tick = (now / TICK_MS + 1) * TICK_MS;
            let dwell = self.dwells.iter().map(|d| d.due).min().unwrap_or(target);
            let stop = time.next_deadline().unwrap_or(target).min(tick).min(dwell).min(target).max(now);
            time.move_to(stop);
            self.dwelt(stop);
            if stop == tick {
                self.world.relay.tick();
            }
            rest().await;
            if stop >= target {
                return;
            }
        }
    }

    /// Screens that showed the same for a whole dwell permit what a dwell reads.
    fn dwelt(&mut self, now: u64) {
        let due: Vec<Dwell> = self.dwells.extract_if(.., |d| d.due <= now).collect();
        for dwell in due {
            if self.sabotage.is_some_and(|s| s.forgets_dwells()) {
                continue;
            }
            let horizon = self.horizon(dwell.device);
            let sees_all = self.ledger.sees_all(dwell.device);
            let installation = self.world.devices[dwell.device].installation;
            self.world.model.dwelt(installation, &dwell.view, horizon, sees_all);
            // A bottom ends the channel's manual mark, any row that of a DM.
            let channel = dwell.view.screen.channel;
            self.world.model.installations[installation].doubt(|aim| aim == Aim::Channel(channel));
        }
    }

    /// The latest second that is not dated ahead, by any clock the device may go by.
    pub fn horizon(&self, on: usize) -> Horizon {
        let now = self.world.time.unix();
        let own = now.saturating_add_signed(self.world.devices[on].offset);
        Horizon { low: now.min(own) + AHEAD - LAG, high: now.max(own) + AHEAD + 1 }
    }

    // --- Calls ---------------------------------------------------------------------------------------------------------

    fn ask_of(&self, act: &Act) -> Option<Ask> {
        let world = &self.world;
        Some(match act {
            Act::Suspend => Ask::Suspend,
            Act::Resume => Ask::Resume,
            Act::Ensure => Ask::Ensure,
            Act::Refresh => Ask::Refresh,
            Act::RetrySync => Ask::RetrySync,
            Act::Flush => Ask::Flush,
            Act::MarkAllRead => Ask::MarkAllRead,
            Act::MarkThrough(aim, id) => Ask::MarkThrough(world.target(*aim)?, world.event(*id)?),
            Act::MarkChannelRead(channel) => Ask::MarkChannelRead(*world.channels.get(*channel)?),
            Act::MarkUnread(aim) => Ask::MarkUnread(world.target(*aim)?),
            Act::ClearUnread(aim) => Ask::ClearUnread(world.target(*aim)?),
            Act::Follow(root, value) => {
                let m = world.model.message(*root)?;
                Ask::Follow(world.channels[m.channel], m.event, *value)
            }
            _ => return None,
        })
    }

    async fn call(&mut self, on: usize, act: &Act) -> Result<(), Broken> {
        let (Some(session), Some(ask)) = (self.world.devices[on].session(), self.ask_of(act)) else { return Ok(()) };
        self.permit(on, act);
        let in_order = !self.is_troubled(on);
        self.ledger.asked(on, act, in_order);
        let task = tokio::task::spawn_local(device::ask(session, ask));
        match settled(task).await {
            Ok(outcome) => {
                rest().await;
                self.over(on, act, outcome.unwrap_or(Err(Error::Closed)))
            }
            Err(task) => {
                self.world.trace.line("step", || format!("device {on} {act:?} in flight"));
                self.doubt(on, act);
                self.world.devices[on].calls.push(Call { act: act.clone(), task });
                Ok(())
            }
        }
    }

    /// What was asked by name may be read from now on.
    fn permit(&mut self, on: usize, act: &Act) {
        let horizon = self.horizon(on);
        let installation = self.world.devices[on].installation;
        let model = &mut self.world.model;
        match act {
            Act::MarkThrough(aim, id) => model.asked_through(installation, *aim, *id, horizon),
            Act::MarkChannelRead(channel) => model.asked_channel(installation, *channel, horizon),
            Act::MarkAllRead => (0..model.kinds.len()).for_each(|c| model.asked_channel(installation, c, horizon)),
            _ => {}
        }
    }

    /// A call may or may not have done what it does.
    fn doubt(&mut self, on: usize, act: &Act) {
        let installation = self.world.devices[on].installation;
        let model = &mut self.world.model;
        let all = matches!(act, Act::MarkAllRead);
        match act {
            Act::MarkUnread(aim) => drop(model.installations[installation].manual.insert(*aim, Belief::Maybe)),
            Act::ClearUnread(aim) | Act::MarkThrough(aim, _) => {
                model.installations[installation].doubt(|other| other == *aim);
            }
            Act::MarkChannelRead(_) | Act::MarkAllRead => {
                let aims: Vec<Aim> = model.installations[installation].manual.keys().copied().collect();
                let here = |aim: &Aim| match act {
                    Act::MarkChannelRead(channel) => model.channel_of(*aim) == Some(*channel),
                    _ => all,
                };
                let touched: Vec<Aim> = aims.into_iter().filter(here).collect();
                model.installations[installation].doubt(|aim| touched.contains(&aim));
            }
            Act::Follow(root, _) => drop(model.installations[installation].choices.insert(*root, None)),
            _ => {}
        }
    }

    fn doubt_calls(&mut self, on: usize) {
        let acts: Vec<Act> = self.world.devices[on].calls.iter().map(|call| call.act.clone()).collect();
        acts.iter().for_each(|act| self.doubt(on, act));
    }

    /// A call is over.
    fn over(&mut self, on: usize, act: &Act, outcome: Result<(), Error>) -> Result<(), Broken> {
        self.world.trace.line("step", || format!("device {on} {act:?}: {outcome:?}"));
        self.ledger.answered(&self.world, on, act, &outcome)?;
        match (act, &outcome) {
            (Act::Suspend, Ok(())) => self.world.devices[on].suspended = true,
            (Act::Resume, Ok(())) => self.world.devices[on].suspended = false,
            _ => {}
        }
        // A failed call may have lost its answer only where the process died; then it is not here.
        let installation = self.world.devices[on].installation;
        if outcome.is_err() {
            if matches!(act, Act::MarkAllRead) {
                self.doubt(on, act);
            }
            return Ok(());
        }
        let mine = &mut self.world.model.installations[installation];
        match act {
            Act::MarkUnread(aim) => drop(mine.manual.insert(*aim, Belief::Yes)),
            Act::ClearUnread(aim) | Act::MarkThrough(aim, _) => drop(mine.manual.insert(*aim, Belief::No)),
            Act::MarkChannelRead(channel) => {
                self.doubt(on, act);
                let mine = &mut self.world.model.installations[installation];
                mine.manual.insert(Aim::Channel(*channel), Belief::No);
            }
            Act::MarkAllRead => self.doubt(on, act),
            Act::Follow(root, value) => drop(mine.choices.insert(*root, Some(*value))),
            _ => {}
        }
        Ok(())
    }

    /// Judges calls that came to an end meanwhile.
    pub async fn judge_calls(&mut self) -> Result<(), Broken> {
        self.take_opened().await;
        for on in 0..self.world.devices.len() {
            let calls: Vec<Call> =
                self.world.devices[on].calls.extract_if(.., |call| call.task.is_finished()).collect();
            for call in calls {
                let outcome = call.task.await.unwrap_or(Err(Error::Closed));
                // Its order among later calls is not known here.
                self.over(on, &call.act, outcome)?;
                self.doubt(on, &call.act);
            }
        }
        Ok(())
    }

    /// Whether calls are still in flight.
    pub fn waits(&self) -> Option<String> {
        let calls = self.world.devices.iter().enumerate().find_map(|(on, d)| {
            d.calls.first().map(|call| format!("device {on}: {:?} never came to an end", call.act))
        });
        calls.or_else(|| self.openings.first().map(|o| format!("device {}: a timeline never opened", o.device)))
    }
}
