//! The runtime the core's tasks live on. It belongs to the client; apps' executors never run core work, they only poll.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use tokio::runtime::{Builder, Handle, Runtime};
use waggle::error::Error;
use waggle::session::Mode;

/// Bytes of a worker's stack. Phones give 512 KiB to threads that nobody asked about, which signature batches come near to.
const STACK: usize = 2 << 20;

/// A client's runtime, or somebody else's in tests.
#[derive(Clone)]
pub struct Rt(Arc<Inner>);

struct Inner {
    handle: Handle,
    owned: Mutex<Option<Runtime>>,
}

impl Rt {
    /// Two workers for an app, one for an extension. Fails with `unsupported` where threads cannot be made.
    pub(crate) fn new(mode: Mode) -> Result<Self, Error> {
        let (workers, blocking) = match mode {
            Mode::App => (2, 8),
            Mode::Extension => (1, 2),
        };
        let runtime = Builder::new_multi_thread()
            .worker_threads(workers)
            .max_blocking_threads(blocking)
            .thread_name("waggle")
            .thread_stack_size(STACK)
            .enable_all()
            .build()
            .map_err(|_| Error::Unsupported { what: "threads" })?;
        let handle = runtime.handle().clone();
        Ok(Self(Arc::new(Inner { handle, owned: Mutex::new(Some(runtime)) })))
    }

    /// Uses a runtime that somebody else drives: the scenario runner's, in virtual time.
    pub fn of(handle: Handle) -> Self {
        Self(Arc::new(Inner { handle, owned: Mutex::new(None) }))
    }

    pub(crate) fn handle(&self) -> &Handle {
        &self.0.handle
    }

    /// Carries something out on the runtime. It goes on when the caller is cancelled.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        match self.0.handle.spawn(work).await {
            Ok(outcome) => outcome,
            Err(ended) if ended.is_panic() => Err(Error::Failed { task: "call" }),
            Err(_) => Err(Error::Closed),
        }
    }

    /// Ends every task. Does not wait, so it may be called from anywhere.
    pub(crate) fn shut_down(&self) {
        self.0.shut_down();
    }
}

impl Inner {
    fn shut_down(&self) {
        if let Some(runtime) = self.owned.lock().unwrap_or_else(PoisonError::into_inner).take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // A runtime dropped on one of its own threads would panic.
        self.shut_down();
    }
}

impl std::fmt::Debug for Rt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Rt(…)")
    }
}

/// Awaits something that only sends to the session's task and waits for its answer, which needs no runtime. A panic is a failure.
pub(crate) async fn guarded<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or(Err(Error::Failed { task: "call" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_and_a_runtime_may_go_anywhere() {
        let rt = Rt::new(Mode::Extension).unwrap();
        let inside = std::future::poll_fn(|_| -> std::task::Poll<Result<(), Error>> { panic!("inside") });
        let outcome = guarded(inside).now_or_never();
        assert_eq!(outcome, Some(Err(Error::Failed { task: "call" })));
        let (other, handle) = (rt.clone(), rt.handle().clone());
        let (sent, got) = std::sync::mpsc::channel();
        handle.spawn(async move {
            drop(other.run(async { Ok(()) }).await);
            drop(other);
            let _ = sent.send(());
        });
        drop(rt);
        let _ = got.recv();
    }
}
