//! Deletions of one message that is not held yet (R9a).
//!
//! A live deletion can overtake its target. It waits here until the target arrives and goes through intake then, with the
//! authority of that moment. Invariants: bounded in number and bytes, oldest forgotten; one deletion is kept once per target.

use std::collections::BTreeMap;

use crate::idmap::IdMap;

use crate::event::SharedEvent;
use crate::ids::EventId;
use crate::limits;

#[derive(Default)]
pub(super) struct Aside {
    next: u64,
    bytes: usize,
    by_age: BTreeMap<u64, (EventId, SharedEvent)>,
    by_target: IdMap<EventId, Vec<u64>>,
}

impl Aside {
    pub(super) fn is_empty(&self) -> bool {
        self.by_age.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.by_age.len()
    }

    pub(super) fn keep(&mut self, target: EventId, deletion: &SharedEvent) {
        if deletion.json_len > limits::ASIDE_BYTES {
            return;
        }
        let ages = self.by_target.entry(target).or_default();
        if ages.iter().any(|age| self.by_age.get(age).is_some_and(|(_, held)| held.id == deletion.id)) {
            return;
        }
        ages.push(self.next);
        self.bytes += deletion.json_len;
        self.by_age.insert(self.next, (target, deletion.clone()));
        self.next += 1;
        while self.by_age.len() > limits::ASIDE_DELETIONS || self.bytes > limits::ASIDE_BYTES {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some((age, (target, deletion))) = self.by_age.pop_first() else { return };
        self.bytes = self.bytes.saturating_sub(deletion.json_len);
        if let Some(ages) = self.by_target.get_mut(&target) {
            ages.retain(|a| *a != age);
            if ages.is_empty() {
                self.by_target.remove(&target);
            }
        }
    }

    /// Takes out what waits for `target`, oldest first.
    pub(super) fn take(&mut self, target: &EventId) -> Vec<SharedEvent> {
        let ages = self.by_target.remove(target).unwrap_or_default();
        let taken: Vec<_> =
            ages.iter().filter_map(|age| self.by_age.remove(age).map(|(_, deletion)| deletion)).collect();
        self.bytes = self.bytes.saturating_sub(taken.iter().map(|d| d.json_len).sum());
        taken
    }

    pub(super) fn clear(&mut self) {
        *self = Self { next: self.next, ..Self::default() };
    }
}
