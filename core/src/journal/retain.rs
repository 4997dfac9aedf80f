//! What stays when there is too much.
use std::cmp::{Ordering, Reverse};

use super::key::{Breadth, Key};

/// Rank of a receipt in the reserve: broad before narrow, then newest value, then key (`unread.md` 8.7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReserveRank {
    breadth: Breadth,
    value: Reverse<u32>,
    pub(super) key: Key,
}

impl ReserveRank {
    pub(super) fn new(key: Key, value: u32) -> Self {
        Self { breadth: key.breadth(), value: Reverse(value), key }
    }
}

impl Ord for ReserveRank {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.breadth, self.value).cmp(&(other.breadth, other.value)).then_with(|| self.key.text_cmp(&other.key))
    }
}

impl PartialOrd for ReserveRank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
