//! What happened, line by line, with its virtual time. Kept only when asked for; shapes and names, never content.

use std::sync::{Arc, Mutex, PoisonError};

use crate::clock::Time;

/// A trace; clones share it. The default one keeps nothing.
#[derive(Clone, Default)]
pub struct Trace(Option<Arc<Kept>>);

struct Kept {
    time: Arc<Time>,
    lines: Mutex<Vec<String>>,
}

impl Trace {
    /// A trace that keeps its lines.
    pub fn kept(time: Arc<Time>) -> Self {
        Self(Some(Arc::new(Kept { time, lines: Mutex::default() })))
    }

    /// Whether anybody will read it.
    pub fn is_kept(&self) -> bool {
        self.0.is_some()
    }

    /// Adds a line about somebody; `what` is only made when it is kept.
    pub fn line(&self, who: &str, what: impl FnOnce() -> String) {
        if let Some(kept) = &self.0 {
            let ms = kept.time.now_ms();
            let line = format!("{:>7}.{:03} {who}: {}", ms / 1000, ms % 1000, what());
            kept.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
    }

    /// The lines so far.
    pub fn lines(&self) -> Vec<String> {
        self.0
            .as_ref()
            .map(|kept| kept.lines.lock().unwrap_or_else(PoisonError::into_inner).clone())
            .unwrap_or_default()
    }
}
