//! Scenario files through the bindings: the runner with its relay, time and disks, loaded by a Kotlin or Swift program that answers for
//! the devices.
//!
//! # How it works
//! The library contains the bindings and is loaded in their place, so one process and one runtime hold everything, and time stays
//! virtual. A device here carries out what concerns its ground (network, disk, clock, files), opens the client, and hands it over as
//! the bindings' own [`Client`]; from there on the program's idiomatic layer is asked in JSON lines (`waggle_scenarios::driver`).
//!
//! # When everything rests
//! The runner moves time only when nothing is left to run. Tokio cannot see a program's own threads, so the program counts: it calls
//! [`Activity::begin`] when something of a device is put in its queue, [`Activity::end`] when that has run. While the count is not zero a
//! blocking task stands in for it, and tokio's idle clock waits for blocking tasks. Waking foreign code happens inside the call that wakes
//! it, so no moment lies between the two.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use waggle::error::Error;
use waggle::journal::Key;
use waggle_ffi::client::Client;
use waggle_ffi::runtime::Rt;
use waggle_ffi::session::Session;
use waggle_scenarios::device::DeviceEnv;
use waggle_scenarios::driver::{Ask, Driver, Fact, Failure, Observe, Op, Reply};
use waggle_scenarios::files::{Options, expand, run_files};
use waggle_scenarios::native::{move_files, open_client};

waggle_ffi::uniffi_reexport_scaffolding!();
uniffi::setup_scaffolding!("waggle_through");

/// Something asked of a device; answer it once.
#[derive(uniffi::Object)]
pub struct Question(Mutex<Option<oneshot::Sender<String>>>);

#[uniffi::export]
impl Question {
    /// Answers with a reply as a JSON line. Later answers are ignored.
    pub fn answer(&self, reply: String) {
        if let Some(asker) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // Nobody waits for an abandoned call.
            let _ = asker.send(reply);
        }
    }
}

/// One device, played by the program.
#[uniffi::export(with_foreign)]
pub trait DeviceApp: Send + Sync {
    /// The app starts on this client: open its session with the community at `origin`, start it, answer. Must not wait.
    fn start(&self, client: Arc<Client>, origin: String, question: Arc<Question>);
    /// Does or looks at something; a line as `driver::Ask`, answered as `driver::Reply`. Must not wait.
    fn ask(&self, line: String, question: Arc<Question>);
    /// The process is gone: forget everything without a farewell. Must not wait.
    fn gone(&self);
}

/// Makes devices.
#[uniffi::export(with_foreign)]
pub trait DeviceMaker: Send + Sync {
    /// A device whose work is counted by `activity`.
    fn device(&self, activity: Arc<Activity>) -> Arc<dyn DeviceApp>;
}

/// Counts what a device has to run.
#[derive(uniffi::Object)]
pub struct Activity {
    runtime: Handle,
    state: Arc<(Mutex<u64>, Condvar)>,
}

impl Activity {
    fn count(&self) -> std::sync::MutexGuard<'_, u64> {
        self.state.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[uniffi::export]
impl Activity {
    /// Something was put in the queue.
    pub fn begin(&self) {
        let mut count = self.count();
        *count += 1;
        if *count == 1 {
            let state = self.state.clone();
            self.runtime.spawn_blocking(move || {
                let mut count = state.0.lock().unwrap_or_else(PoisonError::into_inner);
                while *count > 0 {
                    count = state.1.wait(count).unwrap_or_else(PoisonError::into_inner);
                }
            });
        }
    }

    /// It has run.
    pub fn end(&self) {
        let mut count = self.count();
        *count = count.saturating_sub(1);
        if *count == 0 {
            self.state.1.notify_all();
        }
    }
}

/// Runs scenario files and prints a line each; answers how many failed. Blocks until the last one has ended.
#[uniffi::export]
pub fn run_scenarios(maker: Arc<dyn DeviceMaker>, paths: Vec<String>, seed: u64, trace: bool, jobs: u32) -> u32 {
    let make = move |env: DeviceEnv| -> anyhow::Result<Rc<dyn Driver>> {
        let activity = Activity { runtime: Handle::current(), state: Arc::default() };
        let app = maker.device(Arc::new(activity));
        Ok(Rc::new(Through(Rc::new(Device { env, app, starts: RefCell::default(), live: RefCell::default() }))))
    };
    let paths: Vec<PathBuf> = paths.into_iter().map(PathBuf::from).collect();
    let options = Options { seed, trace, jobs: jobs as usize, driver: Some(Arc::new(make)), threads: true };
    match run_files(&expand(&paths), &options, &mut std::io::stdout().lock()) {
        Ok(summary) => u32::try_from(summary.failed).unwrap_or(u32::MAX),
        Err(_) => u32::MAX,
    }
}

struct Through(Rc<Device>);

struct Device {
    env: DeviceEnv,
    app: Arc<dyn DeviceApp>,
    starts: RefCell<u64>,
    live: RefCell<Option<Arc<Client>>>,
}

impl Driver for Through {
    fn call(&self, op: Op) -> LocalBoxFuture<'static, Result<(), Failure>> {
        self.0.clone().carry_out(op).boxed_local()
    }

    fn observe(&self, what: Observe) -> LocalBoxFuture<'static, Result<Fact, Failure>> {
        self.0.clone().look(what).boxed_local()
    }
}

impl Device {
    async fn question(&self, put: impl FnOnce(&dyn DeviceApp, Arc<Question>)) -> Result<Reply, Failure> {
        let (asker, answer) = oneshot::channel();
        put(&*self.app, Arc::new(Question(Mutex::new(Some(asker)))));
        let line = answer.await.map_err(|_| Failure::usage("the device gave no answer"))?;
        match serde_json::from_str(&line) {
            Ok(Reply::Failed(failure)) => Err(failure),
            Ok(reply) => Ok(reply),
            Err(why) => Err(Failure::usage(format!("the device answered with no reply: {why}"))),
        }
    }

    async fn ask(&self, ask: &Ask) -> Result<Reply, Failure> {
        let line = serde_json::to_string(ask).map_err(|why| Failure::usage(why.to_string()))?;
        self.question(|app, question| app.ask(line, question)).await
    }

    fn sessions(&self) -> Vec<Arc<Session>> {
        self.live.borrow().as_ref().map(|client| client.live_sessions()).unwrap_or_default()
    }

    /// The session, for what the bindings do not offer an app: the inside of its journal.
    fn session(&self) -> Result<Arc<Session>, Failure> {
        self.sessions().pop().ok_or_else(|| Failure::usage("the device is not running"))
    }

    async fn carry_out(self: Rc<Self>, op: Op) -> Result<(), Failure> {
        if self.env.apply(&op) {
            return Ok(());
        }
        match op {
            Op::Start => self.start().await,
            Op::Kill => {
                self.sessions().iter().for_each(|session| session.core().kill());
                self.app.gone();
                drop(self.live.take());
                Ok(())
            }
            Op::Backup | Op::Restore | Op::WipeCache if self.live.borrow().is_some() => {
                Err(Failure::usage("the device is running"))
            }
            Op::Backup | Op::Restore | Op::WipeCache => {
                move_files(&self.env.dir, &op).map_err(|why| Failure::usage(why.to_string()))
            }
            Op::Stop | Op::Leave => {
                let outcome = self.ask(&Ask::Op(op)).await;
                self.app.gone();
                drop(self.live.take());
                outcome.map(drop)
            }
            _ if self.live.borrow().is_none() => Err(Failure::usage("the device is not running")),
            other => self.ask(&Ask::Op(other)).await.map(drop),
        }
    }

    async fn start(&self) -> Result<(), Failure> {
        if self.live.borrow().is_some() {
            return Err(Failure::usage("the device is running"));
        }
        let starts = {
            let mut starts = self.starts.borrow_mut();
            *starts += 1;
            *starts
        };
        let client = Client::around(open_client(&self.env, starts).await?, Rt::of(Handle::current()));
        let (given, origin) = (client.clone(), self.env.origin.clone());
        *self.live.borrow_mut() = Some(client);
        let started = self.question(|app, question| app.start(given, origin, question)).await;
        if started.is_err() {
            self.app.gone();
            drop(self.live.take());
        }
        started.map(drop)
    }

    async fn look(self: Rc<Self>, what: Observe) -> Result<Fact, Failure> {
        match what {
            Observe::Journal { keys } => {
                let parsed = keys.iter().map(|k| Key::parse(k)).collect::<Result<Vec<_>, _>>().map_err(Error::from)?;
                let values = self.session()?.core().journal(parsed).await?;
                let values = values.into_iter().map(|value| value.map(u64::from));
                Ok(Fact::Journal { values: keys.into_iter().zip(values).collect() })
            }
            Observe::PrimarySlot => Ok(Fact::PrimarySlot { slot: Some(self.session()?.core().primary_slot().await?) }),
            other => match self.ask(&Ask::Observe(other)).await? {
                Reply::Seen(fact) => Ok(fact),
                Reply::Done | Reply::Failed(_) => Err(Failure::usage("the device saw nothing")),
            },
        }
    }
}
