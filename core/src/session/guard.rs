//! The life of a session's task as its handles see it.

use std::sync::Mutex;
use std::sync::PoisonError;

use tokio::sync::watch;
use tokio::task::AbortHandle;

/// Ends the task when the last handle goes.
#[derive(Debug)]
pub(crate) struct TaskGuard {
    abort: Mutex<Option<AbortHandle>>,
    ended: watch::Receiver<bool>,
}

impl TaskGuard {
    pub(crate) fn new(ended: watch::Receiver<bool>) -> Self {
        Self { abort: Mutex::default(), ended }
    }

    pub(crate) fn set(&self, abort: AbortHandle) {
        *self.abort.lock().unwrap_or_else(PoisonError::into_inner) = Some(abort);
    }

    /// Drops the task with everything it owns.
    pub(crate) fn kill(&self) {
        if let Some(abort) = self.abort.lock().unwrap_or_else(PoisonError::into_inner).take() {
            abort.abort();
        }
    }

    /// Completes when the task has ended and everything it owned is released.
    pub(crate) async fn ended(&self) {
        let mut ended = self.ended.clone();
        // An error means that the sender is gone, with the task.
        let _ = ended.wait_for(|over| *over).await;
    }
}

impl Drop for TaskGuard {
    fn drop(&mut self) {
        self.kill();
    }
}
