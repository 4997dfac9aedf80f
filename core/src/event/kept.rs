//! Pages of events as the disposable cache keeps them. Plain data, shared by `window`, which makes and takes them, and by the
//! cache adapter, which writes them down; nothing here is trusted more than the events in it, which are verified again on the
//! way back (pitfalls H5).

use super::SharedEvent;
use crate::order::RowKey;

/// How a kept page goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptNext {
    /// At this cursor, as the relay named it.
    Cursor(RowKey),
    /// Not at all, by the relay's word.
    End,
    /// Not known.
    Unknown,
}

/// One page.
#[derive(Debug, Clone)]
pub struct KeptPage {
    /// Whether thread replies were rows of the channel when it was read (`protocol.md` 1.10).
    pub row_mode: bool,
    /// How it goes on.
    pub next: KeptNext,
    /// Rows in the order of the page: newest first in a channel, oldest first in a thread. A thread's first page starts with
    /// its root where that is held.
    pub rows: Vec<SharedEvent>,
    /// Edits and reactions of those rows that stand.
    pub changes: Vec<SharedEvent>,
    /// Newest summary of each row that has one (kind 39005).
    pub summaries: Vec<SharedEvent>,
}
