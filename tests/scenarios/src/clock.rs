//! Virtual time: one [`Time`] a scenario, on which every device's clock and the relay's clock stand.
//!
//! Time moves only by [`Time::move_to`]. A sleeper registers its deadline; moving past it wakes sleepers in the order of
//! deadline, then registration. The runner moves from deadline to deadline, never past one ([`Time::next_deadline`]), so a
//! timer finds the clock exactly where it asked for. tokio's own (paused) clock is something else: it tells when nothing is left to run.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures_util::future::BoxFuture;
use waggle::clock::{Clock, Millis, Now};

#[derive(Default)]
struct State {
    now: u64,
    registered: u64,
    sleepers: BTreeMap<(u64, u64), Waker>,
}

/// The time of a scenario, in milliseconds since its `t0`.
pub struct Time {
    t0: u64,
    state: Mutex<State>,
}

impl Time {
    /// Time that stands at `t0` (Unix seconds).
    pub fn starting_at(t0: u64) -> Arc<Self> {
        Arc::new(Self { t0, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Milliseconds since `t0`.
    pub fn now_ms(&self) -> u64 {
        self.state().now
    }

    /// Unix seconds.
    pub fn unix(&self) -> u64 {
        self.t0 + self.now_ms() / 1000
    }

    /// The earliest deadline somebody sleeps for.
    pub fn next_deadline(&self) -> Option<u64> {
        self.state().sleepers.keys().next().map(|(at, _)| *at)
    }

    /// Moves to `ms` after `t0` and wakes who is due, in order.
    pub fn move_to(&self, ms: u64) {
        let due = {
            let mut state = self.state();
            state.now = state.now.max(ms);
            let later = state.sleepers.split_off(&(ms + 1, 0));
            std::mem::replace(&mut state.sleepers, later)
        };
        due.into_values().for_each(Waker::wake);
    }
}

impl std::fmt::Debug for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Time({} ms)", self.now_ms())
    }
}

impl waggle_test_relay::RelayClock for Time {
    fn now_ms(&self) -> u64 {
        self.t0 * 1000 + self.state().now
    }
}

/// Completes when time has reached its deadline; forgotten when dropped.
struct Sleep {
    time: Arc<Time>,
    at: u64,
    key: Option<(u64, u64)>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let time = self.time.clone();
        let mut state = time.state();
        if state.now >= self.at {
            return Poll::Ready(());
        }
        let key = self.key.unwrap_or_else(|| {
            state.registered += 1;
            (self.at, state.registered)
        });
        state.sleepers.insert(key, cx.waker().clone());
        self.key = Some(key);
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.time.state().sleepers.remove(&key);
        }
    }
}

/// A device's clocks: the scenario's time, and a wall clock that may be wrong.
pub struct VirtualClock {
    time: Arc<Time>,
    offset: AtomicI64,
}

impl VirtualClock {
    /// A right clock.
    pub fn new(time: Arc<Time>) -> Arc<Self> {
        Arc::new(Self { time, offset: AtomicI64::new(0) })
    }

    /// Sets the wall clock off by so many seconds; monotonic time is unaffected.
    pub fn set_offset(&self, seconds: i64) {
        self.offset.store(seconds, Ordering::SeqCst);
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Now {
        let wall = self.time.unix().saturating_add_signed(self.offset.load(Ordering::SeqCst));
        Now { mono: Millis(self.time.now_ms()), wall }
    }

    fn sleep_until(&self, at: Millis) -> BoxFuture<'static, ()> {
        Box::pin(Sleep { time: self.time.clone(), at: at.0, key: None })
    }
}

/// Waits until nothing on this runtime can run: no task is ready and no blocking work is in flight.
///
/// tokio's paused clock moves by itself exactly then; nothing else in a scenario sleeps on it.
pub async fn rest() {
    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
}

/// The outcome of a future that is to be ready by the time everything rests, or the future back.
pub async fn settled<F: Future + Unpin>(mut future: F) -> Result<F::Output, F> {
    tokio::select! {
        biased;
        done = &mut future => Ok(done),
        () = rest() => Err(future),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run<T>(test: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, test)
    }

    #[test]
    fn sleepers_wake_in_order_of_deadline_then_registration() {
        run(async {
            let time = Time::starting_at(1_751_500_000);
            let clock = VirtualClock::new(time.clone());
            let (sender, mut woken) = tokio::sync::mpsc::unbounded_channel();
            for (name, at) in [("c", 30), ("a", 10), ("b1", 20), ("b2", 20)] {
                let (clock, sender, time) = (clock.clone(), sender.clone(), time.clone());
                tokio::task::spawn_local(async move {
                    clock.sleep_until(Millis(at)).await;
                    sender.send((name, time.now_ms())).unwrap();
                });
            }
            rest().await;
            while let Some(at) = time.next_deadline() {
                time.move_to(at);
                rest().await;
            }
            let seen: Vec<_> = std::iter::from_fn(|| woken.try_recv().ok()).collect();
            assert_eq!(seen, [("a", 10), ("b1", 20), ("b2", 20), ("c", 30)]);
        });
    }

    #[test]
    fn a_dropped_sleeper_is_forgotten_and_a_wrong_wall_clock_moves_no_timer() {
        run(async {
            let time = Time::starting_at(1_000);
            let clock = VirtualClock::new(time.clone());
            clock.set_offset(-120);
            let sleep = clock.sleep_until(Millis(5_000));
            assert!(settled(sleep).await.is_err());
            assert_eq!(time.next_deadline(), None);
            time.move_to(5_000);
            assert_eq!(clock.now(), Now { mono: Millis(5_000), wall: 885 });
            assert!(settled(clock.sleep_until(Millis(5_000))).await.is_ok());
        });
    }

    #[test]
    fn rest_waits_for_blocking_work() {
        run(async {
            let (sender, receiver) = tokio::sync::oneshot::channel();
            tokio::task::spawn_local(async move {
                let done = tokio::task::spawn_blocking(|| std::thread::sleep(std::time::Duration::from_millis(30)));
                done.await.unwrap();
                sender.send(()).unwrap();
            });
            rest().await;
            assert!(settled(receiver).await.is_ok());
        });
    }
}
