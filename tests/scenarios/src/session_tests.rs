//! Rules over real sessions for which the scenario language has no words: visits of a channel (`unread.md` 7.5), and what one live
//! event costs an app (P15).
//!
//! The world is that of a scenario file; its `post` steps are carried out by name.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use waggle::error::Error;
use waggle::identity::{MemorySecrets, Secret};
use waggle::ids::{ChannelId, EventId, Target};
use waggle::journal::Key;
use waggle::model::{Manual, Viewport};
use waggle::session::{
    Blocking, Client, Config, Credential, ListUpdate, Mode, RowChange, Session, TimelineOptions, Waggle,
};
use waggle::store::journal::NoHooks;

use crate::clock::{rest, settled};
use crate::device::{DeviceEnv, SaveGate};
use crate::driver::{Driver, Fact, Failure, Observe, Op};
use crate::read::read_scenario;
use crate::runner::Runner;
use crate::scenario::Action;
use crate::transport::InProcess;

/// A channel that was looked through, with a thread of four: two by others, one own, one of the agents.
const WORLD: &str = r#"{"scenario": 1, "title": "a world for sessions",
    "channels": [{"name": "general", "members": ["me", "ada", "bo"]}, {"name": "ops", "members": ["me", "ada"]}],
    "history": [
        {"ref": "m1", "by": "ada", "in": "general", "at": -100},
        {"ref": "r1", "by": "bo", "in": "general", "at": -90, "reply_to": "m1"},
        {"ref": "r2", "by": "me", "in": "general", "at": -80, "reply_to": "r1"},
        {"ref": "q1", "by": "bo", "in": "general", "at": -70, "reply_to": "r2", "audience": "agents"},
        {"ref": "m2", "by": "ada", "in": "general", "at": -60},
        {"ref": "o1", "by": "ada", "in": "ops", "at": -50},
        {"ref": "b1", "by": "me", "read_state": {"client": "peer", "contexts": {"general": "@m2"}}}],
    "devices": ["phone"],
    "steps": [
        {"do": "post", "event": {"ref": "x1", "by": "bo", "delete": ["r1"]}},
        {"do": "post", "event": {"ref": "m3", "by": "ada", "in": "general", "text": "a new message of usual length, as people write them"}}]}"#;

/// Drives nothing: the tests hold the session themselves.
struct Idle;

impl Driver for Idle {
    fn call(&self, _: Op) -> futures_util::future::LocalBoxFuture<'static, Result<(), Failure>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn observe(&self, _: Observe) -> futures_util::future::LocalBoxFuture<'static, Result<Fact, Failure>> {
        Box::pin(std::future::ready(Err(Failure::usage("idle"))))
    }
}

struct Gate(Arc<SaveGate>);

impl waggle::session::SaveHook for Gate {
    fn before_save(&self) -> futures_util::future::BoxFuture<'static, ()> {
        Box::pin(self.0.passage())
    }
}

struct World {
    runner: Runner,
    env: DeviceEnv,
    _client: Client,
    session: Session,
}

fn run(test: impl AsyncFnOnce()) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test());
}

/// What needs no time.
async fn now<T>(call: impl Future<Output = T>) -> T {
    settled(Box::pin(call)).await.ok().expect("it waits for time")
}

async fn open(env: &DeviceEnv, signs: bool) -> (Client, Session) {
    let config = Config {
        data_dir: env.dir.clone(),
        secrets: Arc::new(MemorySecrets::new()),
        transport: Arc::new(InProcess(env.link.clone())),
        clock: env.clock.clone(),
        seed: Some(1),
        saves: Arc::new(Gate(env.gate.clone())),
        disk: Arc::new(NoHooks),
        blocking: Blocking::Inline,
        mode: Mode::App,
    };
    let client = Waggle::open(config).unwrap();
    let secret = Secret::from_bytes(env.secret).unwrap();
    client.sign_in(if signs { Credential::Full(secret) } else { Credential::ReadOnly(secret) }).await.unwrap();
    let session = client.session(&env.origin).unwrap();
    now(session.start()).await.unwrap();
    now(session.ensure()).await.unwrap();
    now(session.settle_lookups()).await.unwrap();
    (client, session)
}

impl World {
    async fn new(signs: bool) -> Self {
        let envs = Rc::new(RefCell::new(Vec::new()));
        let taken = envs.clone();
        let make = move |env: DeviceEnv| -> anyhow::Result<Rc<dyn Driver>> {
            taken.borrow_mut().push(env);
            Ok(Rc::new(Idle))
        };
        let runner = Runner::new(Rc::new(read_scenario(WORLD).unwrap()), 1, false, &make).unwrap();
        let env = envs.borrow_mut().remove(0);
        let (client, session) = open(&env, signs).await;
        Self { runner, env, _client: client, session }
    }

    fn id(&self, name: &str) -> EventId {
        EventId::parse(&self.runner.book.id(name).unwrap()).unwrap()
    }

    async fn post(&mut self, name: &str) {
        let scenario = self.runner.scenario.clone();
        let spec = scenario.steps.iter().find_map(|step| match &step.action {
            Action::Post { event, .. } if event.name == name => Some(event),
            _ => None,
        });
        self.runner.post(spec.unwrap(), false).await.unwrap();
        rest().await;
    }

    /// Unread count, and whether it is marked by hand.
    async fn seen(&self, target: Target) -> (Option<u32>, Manual) {
        let snapshot = now(self.session.snapshot(target)).await.unwrap();
        (snapshot.observed, snapshot.manual)
    }

    async fn channel(&self) -> (Option<u32>, Manual) {
        self.seen(Target::Channel(general())).await
    }

    async fn message(&self, name: &str) -> (Option<u32>, Manual) {
        self.seen(Target::Message(general(), self.id(name))).await
    }

    async fn unread(&self, name: &str) -> Result<(), Error> {
        now(self.session.mark_message_unread(general(), self.id(name))).await.map(drop)
    }

    async fn read(&self, name: &str) -> Result<(), Error> {
        now(self.session.mark_message_read(general(), self.id(name))).await.map(drop)
    }

    async fn enter(&self) {
        now(self.session.enter_channel(general())).await.unwrap();
    }

    async fn leave(&self) {
        now(self.session.leave_channel(general())).await.unwrap();
    }
}

fn named(name: &str) -> ChannelId {
    ChannelId::parse(&crate::names::channel_id(name)).unwrap()
}

fn general() -> ChannelId {
    named("general")
}

const MARKED: Manual = Manual::LocalOnly;

/// 7.24: the message and its loaded replies, own and quiet ones without a count; gone with the visit, but for the hint.
#[test]
fn a_message_marked_unread_is_so_for_the_visit() {
    run(async || {
        let world = World::new(true).await;
        assert_eq!(world.channel().await, (Some(0), Manual::None), "the peer read it");
        world.enter().await;
        world.unread("m1").await.unwrap();
        assert_eq!(world.channel().await, (Some(2), MARKED));
        assert_eq!((world.message("m1").await, world.message("r1").await), ((Some(1), MARKED), (Some(1), MARKED)));
        assert_eq!(
            (world.message("r2").await, world.message("q1").await),
            ((Some(0), MARKED), (Some(0), Manual::None))
        );
        assert_eq!(world.message("m2").await, (Some(0), Manual::None));
        world.enter().await;
        assert_eq!(world.channel().await, (Some(2), MARKED), "once per entry");
        world.leave().await;
        assert_eq!(world.channel().await, (Some(0), MARKED));
        world.enter().await;
        assert_eq!(world.channel().await, (Some(0), Manual::None));
    });
}

/// 7.24: an independent mark on the channel stays; the hint outlives the process, the visit does not.
#[test]
fn entering_ends_the_hint_alone_also_after_a_restart() {
    run(async || {
        let mut world = World::new(true).await;
        world.unread("r1").await.unwrap();
        assert_eq!(world.channel().await, (Some(1), MARKED), "marking begins a visit");
        world.session.kill();
        (world._client, world.session) = open(&world.env, true).await;
        assert_eq!(world.channel().await, (Some(0), MARKED));
        now(world.session.mark_unread(Target::Channel(general()))).await.unwrap();
        world.enter().await;
        assert_eq!(world.channel().await, (Some(0), MARKED), "the channel's own mark");
        now(world.session.clear_unread(Target::Channel(general()))).await.unwrap();
        assert_eq!(world.channel().await, (Some(0), Manual::None));
    });
}

/// 7.25, also with saves under way; and what is saved.
#[test]
fn the_hint_stays_until_the_last_message_is_read() {
    run(async || {
        let mut world = World::new(true).await;
        world.post("m3").await;
        world.enter().await;
        world.unread("m1").await.unwrap();
        world.unread("m3").await.unwrap();
        world.read("m1").await.unwrap();
        assert_eq!(world.channel().await, (Some(1), MARKED));
        world.read("m3").await.unwrap();
        assert_eq!(world.channel().await, (Some(0), Manual::None));
        let keys = ["m1", "r2", "m3"].map(|name| Key::Message(world.id(name))).to_vec();
        let values = now(world.session.journal(keys)).await.unwrap();
        let kept: Vec<bool> = values.iter().map(Option::is_some).collect();
        assert_eq!(kept, [false, false, true], "what the channel's frontier covers is not kept beside it, nor the own");
        // In one go: each decides by what those before it will leave.
        let (a, b, c) = (world.unread("m1"), world.unread("m2"), world.read("m1"));
        assert_eq!(futures_util::join!(a, b, c), (Ok(()), Ok(()), Ok(())));
        assert_eq!(world.channel().await, (Some(1), MARKED));
        world.leave().await;
        assert_eq!(world.channel().await, (Some(0), MARKED));
    });
}

/// 7.26; a whole channel read ends it (7.2).
#[test]
fn catching_up_does_not_read_it_and_reading_the_channel_does() {
    run(async || {
        let mut world = World::new(true).await;
        world.enter().await;
        world.unread("m1").await.unwrap();
        let surface = now(world.session.surface(general(), None)).await.unwrap();
        let (m1, m2) = (world.id("m1"), world.id("m2"));
        surface.report(Viewport { active: true, settled: true, visible: vec![m1, m2], bottom: Some(m2) });
        rest().await;
        world.runner.advance(400).await.unwrap();
        assert_eq!(world.channel().await, (Some(2), MARKED));
        now(world.session.mark_channel_read(general())).await.unwrap();
        assert_eq!(world.channel().await, (Some(0), Manual::None));
        assert_eq!(world.message("m1").await, (Some(0), Manual::None));
        world.unread("m1").await.unwrap();
        now(world.session.mark_all_channels_read()).await.unwrap();
        assert_eq!(world.channel().await, (Some(0), Manual::None));
    });
}

/// Fences: the visit, and every row; and what is refused at once.
#[test]
fn what_ends_before_the_save_voids_it() {
    run(async || {
        let mut world = World::new(true).await;
        world.enter().await;
        let cancelled =
            |result: Result<(), Error>| assert!(matches!(result, Err(Error::Cancelled { .. })), "{result:?}");
        world.env.gate.hold();
        let (session, m1) = (world.session.clone(), world.id("m1"));
        let held = tokio::task::spawn_local(async move { session.mark_message_unread(general(), m1).await.map(drop) });
        rest().await;
        world.leave().await;
        world.env.gate.release();
        cancelled(held.await.unwrap());
        assert_eq!(world.channel().await, (Some(0), Manual::None));
        world.enter().await;
        world.env.gate.hold();
        let session = world.session.clone();
        let held = tokio::task::spawn_local(async move { session.mark_message_read(general(), m1).await.map(drop) });
        rest().await;
        world.post("x1").await;
        world.env.gate.release();
        cancelled(held.await.unwrap());
        assert!(matches!(world.unread("r1").await, Err(Error::NotFound { .. })), "deleted");
        assert!(matches!(world.unread("q1").await, Err(Error::InvalidTarget { .. })), "quiet");
        let foreign = now(world.session.mark_message_unread(named("ops"), m1)).await;
        assert!(matches!(foreign, Err(Error::NotFound { .. })));
        assert_eq!(now(world.session.enter_channel(named("elsewhere"))).await, Err(Error::Denied));
        assert_eq!(now(world.session.leave_channel(named("elsewhere"))).await, Err(Error::Denied));
    });
}

/// 7.28.
#[test]
fn without_frontiers_only_what_is_read_can_be_marked_read() {
    run(async || {
        let mut world = World::new(false).await;
        world.enter().await;
        world.unread("m1").await.unwrap();
        assert_eq!(world.channel().await, (Some(2), MARKED));
        world.read("m1").await.unwrap();
        assert_eq!(world.channel().await, (Some(0), Manual::None));
        world.post("m3").await;
        assert_eq!(world.read("m3").await, Err(Error::ReadOnly));
        assert_eq!(world.channel().await, (Some(1), Manual::None));
    });
}

/// Bytes a row takes as one packed record: its texts and its fixed part.
fn timeline_bytes(row: &waggle::model::TimelineRow) -> usize {
    const FIXED: usize = 2 * 32 + 8 + 4 + 33 + 16;
    let reactions: usize = row.reactions.iter().map(|r| r.emoji.len() + 5).sum();
    FIXED + row.text.len() + row.author_name.len() + reactions
}

fn sidebar_bytes(row: &waggle::model::SidebarRow) -> usize {
    const FIXED: usize = 16 + 3 * 8 + 16;
    FIXED + row.name.len() + 32 * row.participants.len()
}

/// P15: one live event wakes the views it touches once each, with at most two rows and 1 KiB; others sleep. `cargo xtask bench` prints
/// what this says.
#[test]
#[expect(clippy::print_stdout, reason = "the promise's lines, among those of the bench")]
fn one_live_event_wakes_what_it_touches() {
    run(async || {
        let mut world = World::new(true).await;
        let open = |channel| world.session.timeline(channel, TimelineOptions::default());
        let (timeline, other) = (now(open(general())).await.unwrap(), now(open(named("ops"))).await.unwrap());
        let thread = now(world.session.thread(general(), world.id("m1"), TimelineOptions::default())).await.unwrap();
        let mut watched = Vec::new();
        for target in [
            Target::Channel(general()),
            Target::Channel(named("ops")),
            Target::Thread(general(), world.id("m1")),
            Target::Message(general(), world.id("m2")),
        ] {
            watched.push(now(world.session.unread(target)).await.unwrap());
        }
        let activity = now(world.session.thread_activity(general())).await.unwrap();
        rest().await;
        let (session, rows, sidebar) = (world.session.clone(), timeline.view(), world.session.sidebar());
        let versions = || {
            let mut all: Vec<u64> = watched.iter().map(|view| view.current().version).collect();
            all.push(activity.current().version);
            all.extend([rows.current().version, sidebar.current().version]);
            all.extend([other.view().current().version, thread.view().current().version]);
            all.extend([session.sync().current().version, session.connectivity().current().version]);
            all
        };
        let before = versions();
        world.post("m3").await;
        let moved: Vec<u64> = versions().iter().zip(&before).map(|(now, then)| now - then).collect();
        //                  general ops thread m2 activity timeline sidebar ops thread sync line
        assert_eq!(moved, [1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0]);
        let (mut changed, mut bytes) = (0, 0);
        let (_, update) = now(rows.next_changes(before[5])).await.unwrap();
        let ListUpdate::Changes(steps, _) = update else { panic!("a whole timeline for one event") };
        for step in &steps {
            changed += 1;
            bytes += match step {
                RowChange::Insert(_, row) | RowChange::Update(_, row) => timeline_bytes(row),
                RowChange::Remove(_) => 8,
            };
        }
        let (_, update) = now(sidebar.next_changes(before[6])).await.unwrap();
        let ListUpdate::Changes(steps, _) = update else { panic!("a whole sidebar for one event") };
        for step in &steps {
            changed += 1;
            bytes += match step {
                RowChange::Insert(_, row) | RowChange::Update(_, row) => sidebar_bytes(row),
                RowChange::Remove(_) => 8,
            };
        }
        assert!(changed <= 2 && bytes <= 1_024, "{changed} rows, {bytes} bytes");
        let woken = moved.iter().sum::<u64>();
        let touched = moved.iter().filter(|n| **n > 0).count() as u64;
        println!("P15 wakeups_per_view_it_touches {:.3} 1.00", woken as f64 / touched as f64);
        println!("P15 views_woken_that_did_not_change {:.3} 0.00", (touched - 3) as f64);
        println!("P15 rows_of_one_live_event {:.3} 2.00", f64::from(changed));
        println!("P15 bytes_of_one_live_event {:.3} 1024.00", bytes as f64);
    });
}
