//! Runs one scenario: builds its world, then does its steps in order.
//!
//! # Time and rest
//!
//! Virtual time stands still except in [`Runner::advance`], which goes from deadline to deadline of whoever sleeps (devices,
//! and a tick of the relay every second) and lets everything come to rest at each. After every step everything already due
//! comes to rest too, so a step sees the finished effects of those before it.
//!
//! # Calls
//!
//! A call that is not finished when everything rests stays in flight. If a save is held on its device (`hold`), its outcome
//! belongs to the `release` that follows; otherwise it is judged as soon as it is there, and a call without outcome at the
//! end of the file fails the scenario. `kill` loses the device's calls.
//!
//! # Faults
//!
//! A fault belongs to one device, the step's `on` or the first one: relay faults strike answers to that device, disk faults
//! its journal saves.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use tokio::task::JoinHandle;
use waggle_test_relay::admin::{Bring, NewChannel};
use waggle_test_relay::faults::Fault;
use waggle_test_relay::{Event, Relay, RelayConfig, Settings};

use crate::book::Book;
use crate::clock::{Time, VirtualClock, rest, settled};
use crate::device::{DeviceEnv, Link, SaveGate};
use crate::driver::{Code, Driver, Failure, Observe, Op, ViewportReport};
use crate::names::sha256;
use crate::scenario::{
    Action, ChannelSpec, Dialect, EventSpec, Expect, FaultSpec, Form, RelaySet, Scenario, Show, SlotSpec, Step,
};
use crate::trace::Trace;

/// Seconds a channel is older than the scenario.
const CHANNEL_AGE: u64 = 86_400;
const HOST: &str = "relay.test";
/// Between two ticks of the relay while time runs.
const TICK_MS: u64 = 1_000;
/// The same on long ways: its pings are half a minute apart.
const LONG_TICK_MS: u64 = 15_000;
const LONG_MS: u64 = 3_600_000;
/// Between two looks at expectations that have time.
const LOOK_MS: u64 = 100;
/// Dwell of a `read` step.
const READ_MS: u64 = 300;

/// Makes the driver of a device.
pub type MakeDriver = dyn Fn(DeviceEnv) -> anyhow::Result<Rc<dyn Driver>>;

/// A call in flight.
struct Call {
    step: usize,
    word: String,
    fails: Option<Code>,
    /// Judged by a `release`.
    held: bool,
    task: JoinHandle<Result<(), Failure>>,
}

pub(crate) struct Device {
    pub(crate) driver: Rc<dyn Driver>,
    gate: Arc<SaveGate>,
    calls: Vec<Call>,
}

/// A scenario under way.
pub struct Runner {
    pub(crate) scenario: Rc<Scenario>,
    pub(crate) book: Book,
    pub(crate) relay: Relay,
    pub(crate) devices: BTreeMap<String, Device>,
    time: Arc<Time>,
    trace: Trace,
    /// What every device showed when the trace last looked.
    pub(crate) last_views: BTreeMap<String, Arc<str>>,
    /// Holds the devices' storage.
    _storage: tempfile::TempDir,
}

impl Runner {
    /// Builds the world: relay, channels, history, devices that were never started.
    pub fn new(scenario: Rc<Scenario>, seed: u64, traced: bool, make: &MakeDriver) -> anyhow::Result<Self> {
        let time = Time::starting_at(scenario.t0);
        let trace = if traced { Trace::kept(time.clone()) } else { Trace::default() };
        let mut config = RelayConfig::new(time.clone());
        config.host = HOST.to_owned();
        config.secret_key = sha256("waggle/person/relay");
        config.settings = settings(&Settings { max_rows: 500, ..Settings::default() }, &scenario.relay);
        config.seed = seed;
        let relay = Relay::open(config)?;
        let storage = tempfile::tempdir()?;
        let mut runner = Self {
            book: Book::new(scenario.t0),
            devices: BTreeMap::new(),
            relay,
            time,
            trace,
            last_views: BTreeMap::new(),
            _storage: storage,
            scenario: scenario.clone(),
        };
        runner.populate(&scenario)?;
        for (i, spec) in scenario.devices.iter().enumerate() {
            let dir = runner._storage.path().join(format!("device-{i}"));
            std::fs::create_dir(&dir)?;
            let env = DeviceEnv {
                name: spec.name.clone(),
                secret: runner.book.person(&scenario.viewer)?.secret(),
                signs: spec.signs,
                dir,
                clock: VirtualClock::new(runner.time.clone()),
                link: Link::new(runner.relay.clone(), &spec.name, runner.trace.clone()),
                gate: Arc::default(),
                seed: seed.wrapping_mul(1_000).wrapping_add(i as u64),
                origin: format!("https://{HOST}"),
            };
            let gate = env.gate.clone();
            runner.devices.insert(spec.name.clone(), Device { driver: make(env)?, gate, calls: Vec::new() });
        }
        Ok(runner)
    }

    /// The trace so far.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    fn populate(&mut self, scenario: &Scenario) -> anyhow::Result<()> {
        let mut people = vec![scenario.viewer.clone()];
        people.extend(scenario.channels.iter().flat_map(|c| c.members.iter().chain(&c.admins).cloned()));
        people.extend(scenario.history.iter().map(|e| e.by.clone()));
        people.retain(|p| p != "relay");
        people.sort();
        people.dedup();
        let keys: Vec<String> =
            people.iter().map(|p| Ok(self.book.person(p)?.public())).collect::<anyhow::Result<_>>()?;
        let roles: Vec<(&str, &str)> = keys.iter().map(|k| (k.as_str(), "member")).collect();
        self.relay.admin().add_people(&roles)?;
        let channels = scenario.channels.iter().map(|c| self.new_channel(c)).collect::<anyhow::Result<_>>()?;
        self.relay.admin().create_channels(channels)?;
        for spec in &scenario.history {
            if matches!(&spec.form, Form::ReadState(blob) if matches!(blob.slot, SlotSpec::OwnOf(_))) {
                bail!("history {}: no device has a slot yet", spec.name);
            }
            let refs = self.book.build(spec, self.scenario.t0, &BTreeMap::new())?;
            if spec.stored {
                self.bring(spec, &refs, &Bring { quiet: true, history: true, channel: None })?;
            }
        }
        self.relay.reset_counters();
        Ok(())
    }

    fn new_channel(&mut self, spec: &ChannelSpec) -> anyhow::Result<NewChannel> {
        let mut keys = |names: &[String]| -> anyhow::Result<Vec<String>> {
            names.iter().map(|n| Ok(self.book.person(n)?.public())).collect()
        };
        let (members, admins) = (keys(&spec.members)?, keys(&spec.admins)?);
        Ok(NewChannel {
            id: self.book.channel(&spec.name),
            name: spec.name.clone(),
            kind: spec.kind.word().to_owned(),
            open: spec.open,
            about: None,
            members,
            admins,
            metadata: spec.metadata,
            // Older than any change a step makes, so that no two versions share a second.
            created_at: Some(self.scenario.t0.saturating_sub(CHANNEL_AGE)),
        })
    }

    /// Hands built events to the relay.
    fn bring(&mut self, spec: &EventSpec, refs: &[String], bring: &Bring) -> anyhow::Result<()> {
        let mut checked = Vec::new();
        for name in refs {
            let built = self.book.built(name)?;
            let event = Event::parse(&built.event.json).with_context(|| format!("event {name}"))?;
            if spec.unchecked {
                let bring = Bring { channel: built.channel.clone(), ..bring.clone() };
                self.relay.admin().store(&event, &bring)?;
            } else {
                checked.push(event);
            }
        }
        match self.relay.admin().accept_all(checked, bring)? {
            Ok(()) => Ok(()),
            Err((id, refused)) => bail!("the relay refuses {}: {refused}", self.book.name_of(&id)),
        }
    }

    /// Does everything. The error says which step failed and how.
    pub async fn run(&mut self) -> Result<(), String> {
        rest().await;
        let scenario = self.scenario.clone();
        for (i, step) in scenario.steps.iter().enumerate() {
            let number = i + 1;
            self.trace.line("step", || format!("{number} {}", step.word));
            let done = self.step(number, step).await;
            done.map_err(|why| format!("step {number}: {why:#}"))?;
            self.judge()?;
            self.trace_views().await;
        }
        self.judge()?;
        self.unfinished()
    }

    async fn step(&mut self, number: usize, step: &Step) -> anyhow::Result<()> {
        if let Some(op) = self.op_of(&step.action)? {
            return self.call(number, step, op, step.fails).await;
        }
        match &step.action {
            Action::Restart => {
                self.call(number, step, Op::Kill, None).await?;
                self.call(number, step, Op::Start, step.fails).await?;
            }
            Action::Read(show) => {
                let op = self.show(show)?;
                let Op::Show { place, .. } = &op else { bail!("a read is a show") };
                let place = place.clone();
                self.call(number, step, op, step.fails).await?;
                self.advance(READ_MS).await?;
                self.call(number, step, Op::Hide { place }, None).await?;
            }
            Action::Release => self.release(number, step).await?,
            other => {
                if step.fails.is_some() {
                    bail!("{} cannot fail", step.word);
                }
                self.arrange(other, step).await?;
            }
        }
        rest().await;
        Ok(())
    }

    /// Steps that are no call: time, relay, expectations.
    async fn arrange(&mut self, action: &Action, step: &Step) -> anyhow::Result<()> {
        match action {
            Action::Advance { ms } => self.advance(*ms).await?,
            Action::Post { event, quiet } => self.post(event, *quiet).await?,
            Action::Fault { fault: FaultSpec::Relay(kind), times, skip } => {
                self.relay.fault(Fault { kind: *kind, times: *times, skip: *skip, label: Some(step.on.clone()) });
            }
            Action::Grant { person, channel } => {
                let (channel, key) = (self.book.channel(channel), self.book.person(person)?.public());
                self.relay.admin().grant(&channel, &key, "member")?;
            }
            Action::Revoke { person, channel } => {
                let (channel, key) = (self.book.channel(channel), self.book.person(person)?.public());
                self.relay.admin().revoke(&channel, &key)?;
            }
            Action::SetType { channel, kind } => {
                let channel = self.book.channel(channel);
                self.relay.admin().set_type(&channel, kind.word())?;
            }
            Action::Relay(set) => self.relay.set_settings(settings(&self.relay.settings(), set)),
            Action::Expect(expect) => self.expect(expect, &step.on).await?,
            other => bail!("{other:?} is not arranged here"),
        }
        Ok(())
    }

    /// The operation of a step that is one call of one device.
    fn op_of(&mut self, action: &Action) -> anyhow::Result<Option<Op>> {
        let book = &mut self.book;
        Ok(Some(match action {
            Action::Start => Op::Start,
            Action::Stop => Op::Stop,
            Action::Kill => Op::Kill,
            Action::Leave => Op::Leave,
            Action::Suspend => Op::Suspend,
            Action::Resume => Op::Resume,
            Action::Backup => Op::Backup,
            Action::Restore => Op::Restore,
            Action::WipeCache => Op::WipeCache,
            Action::Clock { offset } => Op::Clock { offset: *offset },
            Action::Network { online } => Op::Network { online: *online },
            Action::Hold => Op::HoldSave,
            Action::Fault { fault: FaultSpec::Disk(fault), times, skip } => {
                Op::DiskFault { fault: *fault, times: *times, skip: *skip }
            }
            Action::Ensure => Op::Ensure,
            Action::Refresh => Op::Refresh,
            Action::RetrySync => Op::RetrySync,
            Action::Flush => Op::Flush,
            Action::SettleLookups => Op::SettleLookups,
            Action::MarkAllRead => Op::MarkAllRead,
            Action::Open { place, limit } => Op::Open { place: book.place(place)?, limit: *limit },
            Action::Older { place } => Op::Older { place: book.place(place)? },
            Action::Close { place } => Op::Close { place: book.place(place)? },
            Action::Hide { place } => Op::Hide { place: book.place(place)? },
            Action::Show(show) => self.show(show)?,
            Action::MarkThrough { target, message } => {
                Op::MarkThrough { target: book.target(target)?, message: book.id(message)? }
            }
            Action::MarkChannelRead { channel } => Op::MarkChannelRead { channel: book.channel(channel) },
            Action::MarkUnread { target } => Op::MarkUnread { target: book.target(target)? },
            Action::ClearUnread { target } => Op::ClearUnread { target: book.target(target)? },
            Action::Follow { channel, root, value } => {
                Op::Follow { channel: book.channel(channel), root: book.id(root)?, value: *value }
            }
            Action::Mute { channel, value } => Op::Mute { channel: book.channel(channel), value: *value },
            Action::PresentAs { channel, class } => Op::PresentAs { channel: book.channel(channel), class: *class },
            _ => return Ok(None),
        }))
    }

    fn show(&mut self, show: &Show) -> anyhow::Result<Op> {
        let bottom = show.bottom.as_deref().map(|b| self.book.id(b)).transpose()?;
        let rows = self.book.ids(&show.rows)?;
        let viewport = ViewportReport { rows, bottom, active: show.active, settled: show.settled };
        Ok(Op::Show { place: self.book.place(&show.place)?, viewport })
    }

    pub(crate) fn device(&mut self, name: &str) -> anyhow::Result<&mut Device> {
        self.devices.get_mut(name).ok_or_else(|| anyhow!("no device {name}"))
    }

    /// Begins a call, lets everything rest, and judges it if it is over.
    async fn call(&mut self, number: usize, step: &Step, op: Op, fails: Option<Code>) -> anyhow::Result<()> {
        let trace = self.trace.clone();
        let device = self.device(&step.on)?;
        let kills = op == Op::Kill;
        if kills {
            device.calls.drain(..).for_each(|call| call.task.abort());
        }
        let gate = device.gate.clone();
        let task = tokio::task::spawn_local(device.driver.call(op));
        match settled(task).await {
            Ok(outcome) => {
                let outcome = outcome?;
                trace.line(&step.on, || match &outcome {
                    Ok(()) => format!("{} done", step.word),
                    Err(why) => format!("{} failed: {why}", step.word),
                });
                // What the call set in motion comes to rest before anybody looks.
                rest().await;
                if kills {
                    // Whoever waited behind the gate is dead by now.
                    gate.release();
                }
                verdict(&step.word, fails, outcome).map_err(|why| anyhow!(why))
            }
            Err(task) => {
                trace.line(&step.on, || format!("{} in flight", step.word));
                let held = device.gate.is_held();
                device.calls.push(Call { step: number, word: step.word.clone(), fails, held, task });
                Ok(())
            }
        }
    }

    /// Opens the gate and judges the calls that waited behind it: with `fails` at least one must fail so, and none otherwise.
    async fn release(&mut self, number: usize, step: &Step) -> anyhow::Result<()> {
        self.call(number, step, Op::ReleaseSave, None).await?;
        rest().await;
        let device = self.device(&step.on)?;
        let (held, others): (Vec<Call>, Vec<Call>) = device.calls.drain(..).partition(|c| c.held);
        device.calls = others;
        let mut failed_so = false;
        for mut call in held {
            if !call.task.is_finished() {
                // It waits for something else now; it is judged like any other call.
                call.held = false;
                call.fails = call.fails.or(step.fails);
                failed_so |= call.fails.is_some();
                self.device(&step.on)?.calls.push(call);
                continue;
            }
            let outcome = call.task.await?;
            let so = outcome.as_ref().err().is_some_and(|f| f.code.is_some() && f.code == step.fails);
            failed_so |= so;
            if !so {
                verdict(&call.word, call.fails, outcome).map_err(|why| anyhow!("step {} {why}", call.step))?;
            }
        }
        match step.fails {
            Some(code) if !failed_so => bail!("no held call failed, expected {}", code.name()),
            _ => Ok(()),
        }
    }

    /// Judges calls that have come to an end meanwhile.
    fn judge(&mut self) -> Result<(), String> {
        for device in self.devices.values_mut() {
            let (over, open): (Vec<Call>, Vec<Call>) =
                device.calls.drain(..).partition(|c| !c.held && c.task.is_finished());
            device.calls = open;
            for call in over {
                let outcome = futures_util::FutureExt::now_or_never(call.task);
                let outcome = outcome.and_then(Result::ok).unwrap_or_else(|| Err(Failure::usage("the call was lost")));
                verdict(&call.word, call.fails, outcome).map_err(|why| format!("step {}: {why}", call.step))?;
            }
        }
        Ok(())
    }

    fn unfinished(&self) -> Result<(), String> {
        let open = self.devices.values().flat_map(|d| &d.calls).find(|c| !c.held);
        match open {
            Some(call) => Err(format!("step {}: {} never came to an end", call.step, call.word)),
            None => Ok(()),
        }
    }

    /// Lets time run, from deadline to deadline.
    pub(crate) async fn advance(&mut self, ms: u64) -> anyhow::Result<()> {
        rest().await;
        let target = self.time.now_ms().saturating_add(ms);
        let tick = if ms > LONG_MS { LONG_TICK_MS } else { TICK_MS };
        loop {
            let now = self.time.now_ms();
            let next_tick = (now / tick + 1) * tick;
            let stop = self.time.next_deadline().unwrap_or(target).min(next_tick).min(target).max(now);
            self.time.move_to(stop);
            self.relay.tick();
            rest().await;
            if stop >= target {
                break;
            }
        }
        self.judge().map_err(|why| anyhow!(why))
    }

    pub(crate) async fn post(&mut self, spec: &EventSpec, quiet: bool) -> anyhow::Result<()> {
        let mut slots = BTreeMap::new();
        if let Form::ReadState(blob) = &spec.form
            && let SlotSpec::OwnOf(name) = &blob.slot
            && let Some(slot) = self.primary_slot(name).await?
        {
            slots.insert(name.clone(), slot);
        }
        let refs = self.book.build(spec, self.time.unix(), &slots)?;
        self.bring(spec, &refs, &Bring { quiet, ..Bring::default() })
    }

    async fn primary_slot(&mut self, name: &str) -> anyhow::Result<Option<String>> {
        match self.observe(name, Observe::PrimarySlot).await {
            Ok(crate::driver::Fact::PrimarySlot { slot }) => Ok(slot),
            Ok(_) => bail!("{name} answered something else"),
            Err(why) => bail!("the slot of {name} cannot be seen: {why}"),
        }
    }

    /// Waits until the checks hold, at most as long as they have.
    async fn expect(&mut self, expect: &Expect, on: &str) -> anyhow::Result<()> {
        let until = self.time.now_ms() + expect.within_ms;
        loop {
            let mismatches = self.check_all(&expect.checks, on).await?;
            if mismatches.is_empty() {
                return Ok(());
            }
            let left = until.saturating_sub(self.time.now_ms());
            if left == 0 {
                bail!("{}", mismatches.join("; "));
            }
            self.advance(left.min(LOOK_MS)).await?;
        }
    }
}

/// Whether a call ended as it had to.
fn verdict(word: &str, fails: Option<Code>, outcome: Result<(), Failure>) -> Result<(), String> {
    match (fails, outcome) {
        (None, Ok(())) => Ok(()),
        (None, Err(why)) => Err(format!("{word} failed: {why}")),
        (Some(code), Ok(())) => Err(format!("{word} did not fail, expected {}", code.name())),
        (Some(code), Err(why)) if why.code == Some(code) => Ok(()),
        (Some(code), Err(why)) => Err(format!("{word} expected {}, got {why}", code.name())),
    }
}

fn settings(old: &Settings, set: &RelaySet) -> Settings {
    let dialect = match set.dialect {
        Some(Dialect::Current) => waggle_test_relay::Dialect::Current,
        Some(Dialect::August) => waggle_test_relay::Dialect::August,
        None => old.dialect,
    };
    Settings {
        dialect,
        thread_replies_in_channel: set.thread_replies_in_channel.unwrap_or(old.thread_replies_in_channel),
        max_page: set.max_page.unwrap_or(old.max_page),
        max_rows: set.max_rows.unwrap_or(old.max_rows),
        channel_window: set.channel_window.unwrap_or(old.channel_window),
        identity: set.identity.unwrap_or(old.identity),
        quotas: old.quotas,
    }
}
