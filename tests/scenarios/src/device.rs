//! What a device in this process stands on: its directory, its clock, its line to the relay, and the gate before its disk.
//!
//! The gate and the line are where scenarios interfere: a held save waits in [`SaveGate::passage`], a disk fault comes out
//! of [`SaveGate::strike`], and going offline cuts every socket of the [`Link`] and loses the answers on their way. A driver in another process
//! is told the same by [`Op`] messages and keeps its own.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use waggle_test_relay::{HttpRequest, HttpResponse, Relay, SocketReceiver, SocketSender};

use crate::clock::VirtualClock;
use crate::driver::{DiskFault, Op};
use crate::trace::Trace;

/// Everything a driver is made with.
#[derive(Clone)]
pub struct DeviceEnv {
    /// Its name, which also labels its requests.
    pub name: String,
    /// The viewer's secret key.
    pub secret: [u8; 32],
    /// Whether the device may sign; otherwise it knows the public key only.
    pub signs: bool,
    /// Its own storage.
    pub dir: PathBuf,
    /// Its clocks.
    pub clock: Arc<VirtualClock>,
    /// Its line to the relay.
    pub link: Arc<Link>,
    /// The gate before its journal.
    pub gate: Arc<SaveGate>,
    /// What its randomness follows from; another number for every device.
    pub seed: u64,
    /// The relay's origin, `https://…`.
    pub origin: String,
}

impl DeviceEnv {
    /// Carries out the operations that concern the ground a device stands on. False when it was another one.
    pub fn apply(&self, op: &Op) -> bool {
        match op {
            Op::Clock { offset } => self.clock.set_offset(*offset),
            Op::Network { online } => self.link.set_online(*online),
            Op::HoldSave => self.gate.hold(),
            Op::ReleaseSave => self.gate.release(),
            Op::DiskFault { fault, times, skip } => self.gate.fail(*fault, *times, *skip),
            _ => return false,
        }
        true
    }
}

#[derive(Default)]
struct GateState {
    held: bool,
    faults: VecDeque<(DiskFault, u32, u32)>,
}

/// Stands before every save of a device's journal.
#[derive(Default)]
pub struct SaveGate {
    state: Mutex<GateState>,
    opened: Notify,
}

impl SaveGate {
    fn state(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next save waits, and those behind it.
    pub fn hold(&self) {
        self.state().held = true;
    }

    /// They wait no longer.
    pub fn release(&self) {
        self.state().held = false;
        self.opened.notify_waiters();
    }

    /// Whether saves wait.
    pub fn is_held(&self) -> bool {
        self.state().held
    }

    /// After `skip` saves, `times` of them fail.
    pub fn fail(&self, fault: DiskFault, times: u32, skip: u32) {
        self.state().faults.push_back((fault, times, skip));
    }

    /// To be awaited before a save, outside any transaction: waits while the gate is held.
    pub fn passage(self: &Arc<Self>) -> impl Future<Output = ()> + Send + 'static {
        let gate = self.clone();
        async move {
            loop {
                let opened = gate.opened.notified();
                if !gate.is_held() {
                    return;
                }
                opened.await;
            }
        }
    }

    /// To be asked when a save is about to write: whether it may. A save that fails here must change nothing.
    pub fn strike(&self) -> Result<(), DiskFault> {
        let mut state = self.state();
        let Some((fault, times, skip)) = state.faults.front_mut() else { return Ok(()) };
        if *skip > 0 {
            *skip -= 1;
            return Ok(());
        }
        let fault = *fault;
        *times -= 1;
        if *times == 0 {
            state.faults.pop_front();
        }
        Err(fault)
    }
}

/// Why there was no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkFailure {
    /// There is no connection.
    Offline,
    /// It was cut while waiting.
    Lost,
    /// The body ended early.
    Truncated,
}

#[derive(Default)]
struct LinkState {
    offline: bool,
    /// Counts the times the line was cut.
    cuts: u64,
    sockets: Vec<SocketSender>,
}

/// A device's line to the relay in this process.
pub struct Link {
    relay: Relay,
    label: String,
    state: Mutex<LinkState>,
    trace: Trace,
}

impl Link {
    /// A line that works.
    pub fn new(relay: Relay, label: &str, trace: Trace) -> Arc<Self> {
        Arc::new(Self { relay, label: label.to_owned(), state: Mutex::default(), trace })
    }

    fn state(&self) -> MutexGuard<'_, LinkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cuts the line or mends it. Cutting ends every socket and loses the answers on their way.
    pub fn set_online(&self, online: bool) {
        let mut state = self.state();
        state.offline = !online;
        if !online {
            state.cuts += 1;
            let sockets = std::mem::take(&mut state.sockets);
            drop(state);
            sockets.iter().for_each(SocketSender::close);
        }
    }

    /// Whether the line works.
    pub fn is_online(&self) -> bool {
        !self.state().offline
    }

    /// One HTTP exchange. The relay works on it at once; the answer comes a moment later, if the line still stands.
    pub async fn http(&self, mut request: HttpRequest) -> Result<HttpResponse, LinkFailure> {
        let cuts = {
            let state = self.state();
            if state.offline {
                return Err(LinkFailure::Offline);
            }
            state.cuts
        };
        request.label = Some(self.label.clone());
        let what = request.purpose.map_or(request.path.clone(), |p| p.name().to_owned());
        let answer = self.relay.http(request);
        let outcome = match &answer {
            Ok(answer) => {
                format!("{} {} B{}", answer.status, answer.body.len(), if answer.truncated { " cut" } else { "" })
            }
            Err(_) => "lost".to_owned(),
        };
        self.trace.line(&self.label, || format!("{what} -> {outcome}"));
        tokio::task::yield_now().await;
        if self.state().cuts != cuts {
            return Err(LinkFailure::Lost);
        }
        match answer {
            Ok(answer) if answer.truncated => Err(LinkFailure::Truncated),
            Ok(answer) => Ok(answer),
            Err(_) => Err(LinkFailure::Lost),
        }
    }

    /// Opens a WebSocket; its frames end when the relay or the line does.
    pub fn connect(&self) -> Result<(SocketSender, SocketReceiver), LinkFailure> {
        let mut state = self.state();
        if state.offline {
            return Err(LinkFailure::Offline);
        }
        let (sender, receiver) = self.relay.connect_labelled(self.label.clone()).split();
        state.sockets.push(sender.clone());
        drop(state);
        self.trace.line(&self.label, || "socket opened".to_owned());
        Ok((sender, receiver))
    }

    /// Notes a frame for the trace: its verb and its size.
    pub fn frame(&self, direction: &str, text: &str) {
        self.trace.line(&self.label, || {
            let verb = text.split('"').nth(1).unwrap_or("?");
            format!("{direction} {verb} {} B", text.len())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Time, rest};
    use waggle_test_relay::RelayConfig;

    fn run<T>(test: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, test)
    }

    #[test]
    fn a_held_save_waits_and_a_disk_fault_strikes_after_its_skips() {
        run(async {
            let gate = Arc::new(SaveGate::default());
            gate.hold();
            gate.fail(DiskFault::DiskFull, 1, 1);
            let saves = {
                let gate = gate.clone();
                async move {
                    gate.passage().await;
                    [gate.strike(), gate.strike(), gate.strike()]
                }
            };
            let held = tokio::task::spawn_local(saves);
            rest().await;
            assert!(!held.is_finished());
            gate.release();
            assert_eq!(held.await.unwrap(), [Ok(()), Err(DiskFault::DiskFull), Ok(())]);
        });
    }

    #[test]
    fn a_cut_line_ends_sockets_and_loses_answers_on_their_way() {
        run(async {
            let time = Time::starting_at(1_751_500_000);
            let relay = Relay::open(RelayConfig::new(time)).unwrap();
            let link = Link::new(relay.clone(), "phone", Trace::default());
            let (_, mut frames) = link.connect().unwrap();
            assert!(frames.recv().await.is_some(), "the challenge");
            let asked = {
                let link = link.clone();
                tokio::task::spawn_local(async move { link.http(HttpRequest::get("/")).await })
            };
            tokio::task::yield_now().await;
            link.set_online(false);
            assert_eq!(asked.await.unwrap(), Err(LinkFailure::Lost));
            assert_eq!(frames.recv().await, None);
            assert_eq!(relay.admin().open_sockets(), 0);
            assert_eq!(link.http(HttpRequest::get("/")).await, Err(LinkFailure::Offline));
            assert!(link.connect().is_err());
            link.set_online(true);
            assert_eq!(link.http(HttpRequest::get("/")).await.map(|a| a.status), Ok(200));
        });
    }
}
