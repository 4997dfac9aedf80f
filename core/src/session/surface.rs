//! A reading surface's end of the wire: reports never block and never queue.
//!
//! A report is put into the surface's mailbox, where it replaces one that was not taken yet, and the task is woken once. So a scroll of a
//! thousand reports costs a thousand short locks and a handful of wake-ups (≤ 20 µs a report).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::command::Command;
use super::handle::Sender;
use crate::model::Viewport;
use crate::reading::SurfaceId;

/// The newest report that the task has not taken yet.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    latest: Mutex<Option<Viewport>>,
    closed: AtomicBool,
}

impl Mailbox {
    /// Puts a report in; true when none was waiting, so the task must be woken.
    fn put(&self, viewport: Viewport) -> bool {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        latest.replace(viewport).is_none()
    }

    /// Takes the newest report.
    pub(crate) fn take(&self) -> Option<Viewport> {
        if self.closed.load(Ordering::Acquire) {
            return None;
        }
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// One place where messages are read: a channel's timeline or a thread's, on one screen.
///
/// Report whenever what is visible changes; close (or drop) it when the screen goes. Reports after that, or on a channel that is not
/// accessible, are ignored.
#[derive(Debug)]
pub struct ReadingSurface {
    id: SurfaceId,
    mailbox: Arc<Mailbox>,
    sender: Sender,
}

impl ReadingSurface {
    pub(crate) fn new(id: SurfaceId, sender: Sender) -> Self {
        Self { id, mailbox: Arc::default(), sender }
    }

    /// Says what the surface shows now. Returns at once.
    pub fn report(&self, viewport: Viewport) {
        if self.mailbox.closed.load(Ordering::Acquire) {
            return;
        }
        if self.mailbox.put(viewport) {
            self.sender.post(Command::SurfaceChanged(self.id, self.mailbox.clone()));
        }
    }

    /// Ends the surface: a running dwell reads nothing, and a save that still waits is void. Idempotent.
    pub fn close(&self) {
        if !self.mailbox.closed.swap(true, Ordering::AcqRel) {
            self.sender.post(Command::CloseSurface(self.id));
        }
    }
}

impl Drop for ReadingSurface {
    fn drop(&mut self) {
        self.close();
    }
}
