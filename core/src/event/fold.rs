//! How edits, reactions and deletions change rows (R9, R9a, R11; `unread.md` 3.3; `protocol.md` 6.5 to 6.7).
//!
//! A [`Fold`] holds rows and the events that change them. An auxiliary event is applied when it comes, if its target is held;
//! otherwise it is kept aside under the target's id and applied, with authority checked then, when the target is held. What a
//! row looks like is read from it at any time: the newest edit that stands, one reaction per actor and emoji, or nothing when
//! it is deleted.
//!
//! Invariants: arrival order of events does not change the result, except that a deletion naming several targets of which one
//! is unknown is refused whole. Deletions are never undone. Authority is [`super::authority`]'s alone. Everything is bounded:
//! what is kept aside by [`limits::ASIDE_DELETIONS`] and [`limits::ASIDE_CHANGES`], the oldest forgotten; what changes one row
//! by [`limits::CHANGES_PER_ROW`], further ones ignored; rows by their owner, who calls [`Fold::retain`].

use std::collections::VecDeque;

use hashbrown::{HashMap, HashSet};

use super::{SharedEvent, authority, kinds};
use crate::ids::{ChannelId, EventId, PublicKey};
use crate::limits;

/// What a fold needs to know of its surroundings.
pub trait FoldFacts {
    /// The trusted NIP-11 `self` key, if one is known.
    fn relay(&self) -> Option<&PublicKey>;
    /// Whether the relay-signed 39001/39002 make `key` an owner or admin of `channel`.
    fn is_channel_admin(&self, channel: ChannelId, key: &PublicKey) -> bool;
    /// Whether this device retains the event anywhere, for deletions that name several targets (R9a).
    fn retained(&self, id: &EventId) -> bool;
}

/// Marks when something was last seen, so that what a later read of the same interval lacks can be told from what came after
/// it was asked for. Connections of a session count up.
pub type Epoch = u64;

struct Held {
    event: SharedEvent,
    deleted: bool,
    seen: Epoch,
    /// The row this event changes; none for rows.
    changes: Option<EventId>,
}

#[derive(Default)]
struct Changes {
    edits: Vec<EventId>,
    reactions: Vec<EventId>,
}

/// Rows and what changes them.
#[derive(Default)]
pub struct Fold {
    held: HashMap<EventId, Held>,
    changes: HashMap<EventId, Changes>,
    deletions: Aside,
    others: Aside,
}

impl Fold {
    /// Holds a row and applies what was kept aside for it. Held twice, the first copy stays and only `seen` moves.
    pub fn hold(&mut self, row: &SharedEvent, facts: &dyn FoldFacts, seen: Epoch) {
        self.hold_as(row, None, facts, seen);
    }

    fn hold_as(&mut self, event: &SharedEvent, changes: Option<EventId>, facts: &dyn FoldFacts, seen: Epoch) {
        if let Some(held) = self.held.get_mut(&event.id) {
            held.seen = held.seen.max(seen);
            return;
        }
        self.held.insert(event.id, Held { event: event.clone(), deleted: false, seen, changes });
        for deletion in self.deletions.take(&event.id) {
            self.delete(&deletion, &event.id, facts);
        }
        for (other, seen) in self.others.take_seen(&event.id) {
            self.change(&other, event.id, facts, seen);
        }
    }

    /// Applies an edit, a reaction, a deletion or a deletion notice. Other kinds change nothing. Returns the rows that look
    /// different now.
    pub fn apply(&mut self, event: &SharedEvent, facts: &dyn FoldFacts, seen: Epoch) -> Vec<EventId> {
        match event.kind {
            kinds::DELETION | kinds::MODERATION => self.apply_deletion(event, facts),
            kinds::NOTICE => match authority::notice_deletes(event, facts.relay()) {
                Some(target) => self.delete_or_keep(event, target, facts),
                None => Vec::new(),
            },
            kinds::EDIT | kinds::REACTION => match authority::last_target(event) {
                Some(target) if self.held.contains_key(&target) => {
                    self.change(event, target, facts, seen).into_iter().collect()
                }
                Some(target) => {
                    self.others.keep(target, event, seen, limits::ASIDE_CHANGES);
                    Vec::new()
                }
                None => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    fn apply_deletion(&mut self, event: &SharedEvent, facts: &dyn FoldFacts) -> Vec<EventId> {
        let mut targets: Vec<EventId> = event.e_targets().collect();
        targets.sort_unstable();
        targets.dedup();
        match targets.as_slice() {
            [] => Vec::new(),
            [target] => self.delete_or_keep(event, *target, facts),
            several if several.iter().all(|t| self.held.contains_key(t) || facts.retained(t)) => {
                several.iter().filter_map(|t| self.delete(event, t, facts)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn delete_or_keep(&mut self, event: &SharedEvent, target: EventId, facts: &dyn FoldFacts) -> Vec<EventId> {
        if self.held.contains_key(&target) {
            return self.delete(event, &target, facts).into_iter().collect();
        }
        self.deletions.keep(target, event, 0, limits::ASIDE_DELETIONS);
        Vec::new()
    }

    /// Deletes a held target, if `event` may. Returns the row that looks different.
    fn delete(&mut self, event: &SharedEvent, target: &EventId, facts: &dyn FoldFacts) -> Option<EventId> {
        let held = self.held.get_mut(target)?;
        let allowed = if event.kind == kinds::NOTICE {
            authority::notice_fits(event, &held.event)
        } else {
            let channel = held.event.channel().or_else(|| event.channel());
            authority::may_delete(event, &held.event, facts.relay(), |key| {
                channel.is_some_and(|c| facts.is_channel_admin(c, key))
            })
        };
        if !allowed || held.deleted {
            return None;
        }
        held.deleted = true;
        Some(held.changes.unwrap_or(*target))
    }

    /// Lets an edit or a reaction change a held row. Returns the row if it looks different.
    fn change(&mut self, event: &SharedEvent, row: EventId, facts: &dyn FoldFacts, seen: Epoch) -> Option<EventId> {
        let target = self.held.get(&row)?;
        if target.changes.is_some()
            || (event.kind == kinds::EDIT && !authority::may_edit(event, &target.event, facts.relay()))
        {
            return None;
        }
        if let Some(known) = self.held.get_mut(&event.id) {
            known.seen = known.seen.max(seen);
            return None;
        }
        let changes = self.changes.entry(row).or_default();
        if changes.edits.len() + changes.reactions.len() >= limits::CHANGES_PER_ROW
            || event.content.len() > limits::REACTION_BYTES && event.kind == kinds::REACTION
        {
            return None;
        }
        if event.kind == kinds::EDIT { &mut changes.edits } else { &mut changes.reactions }.push(event.id);
        self.hold_as(event, Some(row), facts, seen);
        self.held.get(&event.id).is_some_and(|h| !h.deleted).then_some(row)
    }

    /// The row or auxiliary event, if it is held.
    pub fn get(&self, id: &EventId) -> Option<&SharedEvent> {
        self.held.get(id).map(|h| &h.event)
    }

    /// Whether the held event was deleted.
    pub fn is_deleted(&self, id: &EventId) -> bool {
        self.held.get(id).is_some_and(|h| h.deleted)
    }

    /// When the held event was last seen.
    pub fn seen(&self, id: &EventId) -> Option<Epoch> {
        self.held.get(id).map(|h| h.seen)
    }

    /// The edit whose text the row shows: the newest that stands, on a tie the one with the lower id.
    pub fn edit(&self, row: &EventId) -> Option<&SharedEvent> {
        self.standing(self.changes.get(row).map_or(&[], |c| &c.edits)).min_by_key(|e| e.key())
    }

    /// Reactions that stand, in no particular order: one for each actor and emoji (an empty content is `+`).
    pub fn reactions(&self, row: &EventId, relay: Option<&PublicKey>) -> Vec<(PublicKey, &str)> {
        let mut active = HashSet::new();
        for event in self.standing(self.changes.get(row).map_or(&[], |c| &c.reactions)) {
            let emoji = if event.content.is_empty() { "+" } else { event.content.as_str() };
            active.insert((event.author(relay), emoji));
        }
        active.into_iter().collect()
    }

    fn standing<'a>(&'a self, ids: &'a [EventId]) -> impl Iterator<Item = &'a SharedEvent> {
        ids.iter().filter_map(|id| self.held.get(id)).filter(|h| !h.deleted).map(|h| &h.event)
    }

    /// Everything that stands and changes the row, for the cache; in the order it was applied.
    pub fn changes_of(&self, row: &EventId) -> Vec<SharedEvent> {
        let Some(changes) = self.changes.get(row) else { return Vec::new() };
        self.standing(&changes.edits).chain(self.standing(&changes.reactions)).cloned().collect()
    }

    /// Forgets what changes the row and was last seen before `now`: a complete read of the row's changes did not have it, so it
    /// was deleted meanwhile (`relay-measured.md` 5.1). Returns whether the row may look different.
    pub fn forget_unseen(&mut self, row: &EventId, now: Epoch) -> bool {
        let Some(changes) = self.changes.get_mut(row) else { return false };
        let held = &mut self.held;
        let mut gone = false;
        for list in [&mut changes.edits, &mut changes.reactions] {
            list.retain(|id| {
                let old = held.get(id).is_none_or(|h| h.seen < now);
                if old {
                    gone |= held.remove(id).is_some_and(|h| !h.deleted);
                }
                !old
            });
        }
        gone
    }

    /// Forgets every row for which `keep` says no, and what changes it. What was kept aside stays.
    pub fn retain(&mut self, keep: impl Fn(&EventId) -> bool) {
        self.held.retain(|id, held| keep(held.changes.as_ref().unwrap_or(id)));
        self.changes.retain(|row, _| keep(row));
    }

    /// How many events are held, those kept aside not included.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }
}

impl std::fmt::Debug for Fold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Fold({} held, {} + {} aside)", self.held.len(), self.deletions.len, self.others.len)
    }
}

/// Events waiting for their target, the oldest forgotten at the bound.
#[derive(Default)]
struct Aside {
    by_target: HashMap<EventId, Vec<(SharedEvent, Epoch)>>,
    order: VecDeque<EventId>,
    len: usize,
}

impl Aside {
    fn keep(&mut self, target: EventId, event: &SharedEvent, seen: Epoch, bound: usize) {
        let waiting = self.by_target.entry(target).or_default();
        if waiting.iter().any(|(e, _)| e.id == event.id) {
            return;
        }
        waiting.push((event.clone(), seen));
        self.order.push_back(target);
        self.len += 1;
        while self.len > bound {
            self.forget_oldest();
        }
        // Taken targets leave their place in `order`; compact before it outgrows what it stands for.
        if self.order.len() > bound.saturating_mul(2) {
            self.order.retain(|t| self.by_target.contains_key(t));
        }
    }

    fn forget_oldest(&mut self) {
        let Some(target) = self.order.pop_front() else {
            self.by_target.clear();
            self.len = 0;
            return;
        };
        if let Some(waiting) = self.by_target.get_mut(&target) {
            waiting.remove(0);
            self.len = self.len.saturating_sub(1);
            if waiting.is_empty() {
                self.by_target.remove(&target);
            }
        }
    }

    fn take_seen(&mut self, target: &EventId) -> Vec<(SharedEvent, Epoch)> {
        if self.len == 0 {
            return Vec::new();
        }
        let taken = self.by_target.remove(target).unwrap_or_default();
        self.len = self.len.saturating_sub(taken.len());
        taken
    }

    fn take(&mut self, target: &EventId) -> Vec<SharedEvent> {
        self.take_seen(target).into_iter().map(|(event, _)| event).collect()
    }
}

#[cfg(test)]
#[path = "fold_tests.rs"]
mod tests;
