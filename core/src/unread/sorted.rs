//! A short sorted list whose changes are nearly all at one of its ends.
//!
//! Live messages are newer than all others and pages of history older, so an insertion is a push; anything else moves the shorter
//! side, which for the few thousand items there can be is cheaper than the nodes of a tree are when they are not in a cache. It
//! takes one allocation, however long it is.
//!
//! Invariant: strictly ascending.

use std::collections::VecDeque;

#[derive(Debug, Clone)]
pub(super) struct Sorted<T>(VecDeque<T>);

impl<T> Default for Sorted<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T: Ord> Sorted<T> {
    pub(super) fn insert(&mut self, item: T) {
        if self.0.front().is_none_or(|first| item < *first) {
            self.0.push_front(item);
        } else if self.0.back().is_some_and(|last| *last < item) {
            self.0.push_back(item);
        } else if let Err(at) = self.0.binary_search(&item) {
            self.0.insert(at, item);
        }
    }

    pub(super) fn remove(&mut self, item: &T) {
        if let Ok(at) = self.0.binary_search(item) {
            self.0.remove(at);
        }
    }

    pub(super) fn first(&self) -> Option<&T> {
        self.0.front()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.0.iter()
    }

    /// Items from the first one that is not `before`, to the first one that is not `within`; both hold for a beginning of the list.
    pub(super) fn range(
        &self,
        before: impl Fn(&T) -> bool,
        within: impl Fn(&T) -> bool,
    ) -> impl DoubleEndedIterator<Item = &T> {
        let from = self.0.partition_point(before);
        let to = self.0.partition_point(within).max(from);
        self.0.range(from..to)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// It is a sorted set, whatever the order of changes.
        #[test]
        fn it_is_a_sorted_set(changes in prop::collection::vec((any::<bool>(), 0..40u8), 0..200), a in 0..40u8, b in 0..40u8) {
            let (mut sorted, mut model) = (Sorted::default(), BTreeSet::new());
            for (adds, item) in changes {
                if adds {
                    sorted.insert(item);
                    model.insert(item);
                } else {
                    sorted.remove(&item);
                    model.remove(&item);
                }
                prop_assert!(sorted.iter().eq(model.iter()));
                prop_assert_eq!((sorted.first(), sorted.len()), (model.first(), model.len()));
                prop_assert_eq!(sorted.is_empty(), model.is_empty());
            }
            let (low, high) = (a.min(b), a.max(b));
            prop_assert!(sorted.range(|x| *x < low, |x| *x < high).eq(model.range(low..high)));
            prop_assert!(sorted.range(|x| *x < high, |x| *x < low).next().is_none());
        }
    }
}
