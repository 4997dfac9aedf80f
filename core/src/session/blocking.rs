//! Where work that blocks is done: files, decryption, long verification.
//!
//! An app gives it to the runtime's blocking threads, so that the session's task never waits for a disk. Their results then come back in
//! an order nobody chose. A test that compares whole runs does the work in line instead: on a single-threaded runtime everything
//! then happens in one order, the same every time.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Where a client does work that blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Blocking {
    /// On the blocking threads of the tokio runtime: what an app wants.
    #[default]
    Threads,
    /// At once, in the task that needs it, so that a run is deterministic. For tests on a single-threaded runtime: nothing else runs
    /// meanwhile, the user interface's calls included.
    Inline,
}

impl Blocking {
    /// Does it; `None` when it panicked.
    pub(super) async fn run<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        match self {
            Self::Threads => tokio::task::spawn_blocking(work).await.ok(),
            // What panicked owned all it touched, or holds it behind a lock that stays usable, as on a thread.
            Self::Inline => catch_unwind(AssertUnwindSafe(work)).ok(),
        }
    }
}
