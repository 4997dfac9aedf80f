//! The one comparison of rows: time descending, then id ascending (NIP-CW; R1).
//!
//! `a < b` means that `a` stands before `b` in a listing that has the newest row first. A timeline drawn oldest first is
//! the reverse of that order, never another comparison.

use std::cmp::Ordering;

use crate::ids::EventId;

/// Position of a row in its channel: `(created_at DESC, id ASC)`. Also the request cursor of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RowKey {
    /// Seconds since 1970.
    pub created_at: u64,
    /// The row's event, or for a cursor the event the relay named (which the client may never receive).
    pub id: EventId,
}

impl RowKey {
    /// A key from its parts.
    pub fn new(created_at: u64, id: EventId) -> Self {
        Self { created_at, id }
    }

    /// Whether this row comes strictly later in a newest-first listing than `cursor`, that is: is older.
    pub fn is_after(&self, cursor: &RowKey) -> bool {
        self > cursor
    }
}

impl Ord for RowKey {
    fn cmp(&self, other: &Self) -> Ordering {
        other.created_at.cmp(&self.created_at).then_with(|| self.id.cmp(&other.id))
    }
}

impl PartialOrd for RowKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_first_then_lowest_id() {
        let key = |t, b| RowKey::new(t, EventId([b; 32]));
        let mut rows = vec![key(5, 2), key(9, 9), key(5, 1), key(1, 0)];
        rows.sort();
        assert_eq!(rows, vec![key(9, 9), key(5, 1), key(5, 2), key(1, 0)]);
        assert!(key(5, 2).is_after(&key(5, 1)) && !key(5, 1).is_after(&key(5, 1)));
    }
}
