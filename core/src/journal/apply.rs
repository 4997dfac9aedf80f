//! From a mutation to the rows it changes.
//!
//! [`Work`] is an overlay over the record: it collects changed rows, keeps the running totals, and at the end compares with the record,
//! so that a change which comes to nothing writes nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::coverage::{Coverage, Covers, covers};
use super::diff::Diff;
use super::key::{Key, LocalKey};
use super::mutation::{Mark, Merge, Mutation, Read};
use super::record::{Header, Held, Override, Own, Pending, Place, Record, Row, Totals};
use super::retain::{Budget, Candidate, ReserveRank, final_cover, select};
use super::{JournalError, bytes};
use crate::ids::{ChannelId, EventId, SlotId};
use crate::limits;

/// What `mutation` changes in `record`, given the facts known about messages. An empty diff means that nothing needs saving.
///
/// Fails, changing nothing, when a fence does not hold, when a bound is reached that nothing may be dropped for, or when the
/// mutation does not fit the record.
pub fn apply(record: &Record, mutation: &Mutation, facts: &dyn Coverage) -> Result<Diff, JournalError> {
    let mut work = Work::new(record, facts);
    match mutation {
        Mutation::Read(read) => work.read(read)?,
        Mutation::MarkUnread(key) => work.mark_unread(*key)?,
        Mutation::ClearUnread(keys) => work.clear_unread(keys),
        Mutation::Merge(merge) => work.merge(merge)?,
        Mutation::LearnHomes(homes) => work.learn_homes(homes)?,
        Mutation::Follow { channel, root, choice } => {
            work.diff.follows = record.follows.plan((*channel, *root), *choice);
        }
        Mutation::Assign { add, carry } => work.assign(add, carry)?,
        Mutation::ReplaceSlot { lost, fresh } => work.replace_slot(*lost, *fresh)?,
        Mutation::SavePending(events) => work.save_pending(events)?,
        Mutation::ReplacePending { refused, event } => work.replace_pending(refused, event)?,
        Mutation::Reconcile { events, accepted } => work.reconcile(events, *accepted),
    }
    Ok(work.finish())
}

impl Record {
    /// The messages whose facts decide what `mutation` may drop: what to put into [`super::Facts`]. Others are not asked for.
    pub fn questions(&self, mutation: &Mutation) -> BTreeSet<EventId> {
        let named = |keys: &mut dyn Iterator<Item = &Key>| keys.filter_map(Key::message).collect::<BTreeSet<_>>();
        let touched: Vec<&Key> = match mutation {
            Mutation::Read(read) => read.marks.iter().map(|mark| &mark.key).collect(),
            Mutation::Merge(merge) => {
                merge.frontiers.iter().map(|(key, _)| key).chain(merge.own.iter().map(|(key, ..)| key)).collect()
            }
            Mutation::LearnHomes(_) => return named(&mut self.rows.keys()),
            _ => return BTreeSet::new(),
        };
        let mut ids = named(&mut self.homeless.iter().chain(touched.iter().copied()));
        for key in touched {
            if let Key::Channel(channel) | Key::Activity(channel) = key {
                let at_home = self.by_home.get(channel).into_iter().flatten();
                ids.extend(at_home.filter_map(Key::message));
            }
        }
        ids
    }
}

struct Work<'a> {
    base: &'a Record,
    facts: &'a dyn Coverage,
    header: Header,
    rows: BTreeMap<Key, Row>,
    totals: Totals,
    diff: Diff,
}

impl<'a> Work<'a> {
    fn new(base: &'a Record, facts: &'a dyn Coverage) -> Self {
        Self {
            base,
            facts,
            header: base.header.clone(),
            rows: BTreeMap::new(),
            totals: base.totals,
            diff: Diff::default(),
        }
    }

    fn finish(mut self) -> Diff {
        let base = self.base;
        self.rows.retain(|key, row| base.rows.get(key).copied().unwrap_or_default() != *row);
        self.diff.rows = self.rows;
        self.diff.header = (self.header != base.header).then_some(self.header);
        self.diff
    }

    fn row(&self, key: &Key) -> Row {
        self.rows.get(key).or_else(|| self.base.rows.get(key)).copied().unwrap_or_default()
    }

    fn set(&mut self, key: &Key, row: Row) {
        let old = self.row(key);
        self.totals.count(key, &old, false);
        self.totals.count(key, &row, true);
        self.rows.insert(key.clone(), row);
    }

    fn frontier(&self, key: &Key) -> Option<u32> {
        self.row(key).frontier()
    }

    /// A local change takes a revision. One that gives nothing to publish is accepted at once if nothing else waits (`unread.md` 8.2).
    fn next_revision(&mut self, publishes: bool) -> u64 {
        let before = self.header.revision;
        self.header.revision = before.saturating_add(1);
        if !publishes && self.header.accepted_revision == before {
            self.header.accepted_revision = self.header.revision;
        }
        self.header.revision
    }

    fn read(&mut self, read: &Read) -> Result<(), JournalError> {
        if read.fences.iter().any(|f| self.base.local_mark(&f.key).is_some_and(|at| at > f.revision)) {
            return Err(JournalError::Fenced);
        }
        let revision = self.base.header.revision.saturating_add(1);
        let (mut marked, mut publishes) = (false, false);
        for Mark { key, value, unless } in &read.marks {
            if unless.iter().any(|cover| self.frontier(cover).is_some_and(|f| u64::from(f) >= *value)) {
                continue;
            }
            let value = u32::try_from(*value).map_err(|_| JournalError::Invalid("time of a mark"))?;
            marked = true;
            let advances = self.frontier(key).is_none_or(|f| f < value);
            self.hold(key, value, Some(revision));
            if advances && !key.is_message() {
                publishes = true;
                self.advance_own(key, value, None);
            }
        }
        let cleared = self.end_marks(&read.clear);
        if marked || cleared {
            self.next_revision(publishes);
        }
        if marked { self.retain(&BTreeSet::new()) } else { Ok(()) }
    }

    /// Merges a value by maximum. A key of the reserve returns to the journal with the greater value (`unread.md` 8.7).
    fn hold(&mut self, key: &Key, value: u32, used: Option<u64>) {
        let mut row = self.row(key);
        let (before, order) = match row.held {
            Some(Held { value, place: Place::Journal { recent } }) => (value, recent),
            Some(Held { value, place: Place::Reserve }) => (value, 0),
            None => (0, 0),
        };
        let place = Place::Journal { recent: used.unwrap_or(order) };
        let own = row.own.map_or(0, |own| own.value);
        row.held = Some(Held { value: value.max(before).max(own), place });
        self.set(key, row);
    }

    fn advance_own(&mut self, key: &Key, value: u32, slot: Option<SlotId>) {
        let mut row = self.row(key);
        let old = row.own;
        row.own = Some(Own {
            value: old.map_or(value, |own| own.value.max(value)),
            slot: old.and_then(|own| own.slot).or(slot),
        });
        self.set(key, row);
    }

    fn end_marks(&mut self, keys: &[LocalKey]) -> bool {
        let there = keys.iter().filter(|key| self.base.local.contains_key(key));
        self.diff.local.extend(there.map(|key| (*key, None)));
        !self.diff.local.is_empty()
    }

    fn mark_unread(&mut self, key: LocalKey) -> Result<(), JournalError> {
        if self.base.local.contains_key(&key) {
            return Ok(());
        }
        if self.base.local.len() >= limits::LOCAL_MARKS {
            return Err(JournalError::Capacity("manual unread marks"));
        }
        let revision = self.next_revision(false);
        self.diff.local.insert(key, Some(revision));
        Ok(())
    }

    fn clear_unread(&mut self, keys: &[LocalKey]) {
        if self.end_marks(keys) {
            self.next_revision(false);
        }
    }

    fn merge(&mut self, merge: &Merge) -> Result<(), JournalError> {
        for (key, value) in &merge.overrides {
            if key.text_len() + "ov_s:".len() > limits::KEY_BYTES {
                return Err(JournalError::Invalid("key of an override"));
            }
            let old = self.diff.overrides.get(key).or_else(|| self.base.overrides.get(key)).copied();
            let new = old.unwrap_or_default().merge(*value);
            if old != Some(new) {
                self.diff.overrides.insert(key.clone(), new);
            }
        }
        for (key, value) in &merge.frontiers {
            self.hold(key, *value, None);
        }
        for (key, value, slot) in &merge.own {
            self.hold(key, *value, None);
            if !key.is_message() {
                let slot = self.base.slots.contains(slot).then_some(*slot);
                self.advance_own(key, *value, slot);
            }
        }
        self.retain(&BTreeSet::new())
    }

    fn learn_homes(&mut self, homes: &[(EventId, ChannelId)]) -> Result<(), JournalError> {
        for (id, channel) in homes {
            for key in [Key::Message(*id), Key::Thread(*id), Key::ThreadActivity(*id)] {
                let mut row = self.row(&key);
                if row.held.is_some() && row.home.is_none() {
                    row.home = Some(*channel);
                    self.set(&key, row);
                }
            }
        }
        // Evidence is at its fullest now, so everything is looked at once, also what nothing else would touch.
        let all = self.base.rows.keys().cloned().collect();
        self.retain(&all)
    }

    fn assign(&mut self, add: &[SlotId], carry: &[(Key, SlotId)]) -> Result<(), JournalError> {
        let mut slots = self.base.slots.clone();
        for slot in add {
            if slots.contains(slot) {
                return Err(JournalError::Invalid("slot"));
            }
            slots.push(*slot);
        }
        if slots.len() > limits::SLOTS {
            return Err(JournalError::Capacity("read-state slots"));
        }
        for (key, slot) in carry {
            let mut row = self.row(key);
            let own = row.own.as_mut().ok_or(JournalError::Invalid("key that is not own"))?;
            if !slots.contains(slot) {
                return Err(JournalError::Invalid("slot"));
            }
            own.slot = Some(*slot);
            self.set(key, row);
        }
        self.diff.slots = (!add.is_empty()).then_some(slots);
        Ok(())
    }

    fn replace_slot(&mut self, lost: SlotId, fresh: SlotId) -> Result<(), JournalError> {
        let base = self.base;
        let mut slots = base.slots.clone();
        if slots.contains(&fresh) {
            return Err(JournalError::Invalid("slot"));
        }
        let place = slots.iter_mut().find(|slot| **slot == lost).ok_or(JournalError::Invalid("slot"))?;
        *place = fresh;
        self.diff.slots = Some(slots);
        self.keep_pending(|event| event.slot != lost);
        let carried: Vec<(&Key, Row)> = base
            .rows
            .iter()
            .filter(|(_, row)| row.own.is_some_and(|own| own.slot == Some(lost)))
            .map(|(key, row)| (key, *row))
            .collect();
        for (key, mut row) in carried {
            row.own = row.own.map(|own| Own { slot: Some(fresh), ..own });
            self.set(key, row);
        }
        Ok(())
    }

    fn keep_pending(&mut self, keep: impl Fn(&Pending) -> bool) {
        if self.base.pending.iter().any(|event| !keep(event)) {
            self.diff.pending = Some(self.base.pending.iter().filter(|event| keep(event)).cloned().collect());
        }
    }

    fn admit(&mut self, event: &Pending, others: &[Pending]) -> Result<(), JournalError> {
        if event.json.len() > limits::PENDING_BYTES {
            return Err(JournalError::Capacity("signed read-state event"));
        }
        let known = self.base.slots.contains(&event.slot) && event.revision <= self.base.header.revision;
        if !known || others.iter().any(|other| other.slot == event.slot || other.id == event.id) {
            return Err(JournalError::Invalid("pending event"));
        }
        self.header.last_created_at = self.header.last_created_at.max(event.created_at);
        Ok(())
    }

    fn save_pending(&mut self, events: &[Pending]) -> Result<(), JournalError> {
        let mut pending = self.base.pending.clone();
        for event in events {
            self.admit(event, &pending)?;
            pending.push(event.clone());
        }
        self.diff.pending = (!events.is_empty()).then_some(pending);
        Ok(())
    }

    fn replace_pending(&mut self, refused: &EventId, event: &Pending) -> Result<(), JournalError> {
        let mut pending = self.base.pending.clone();
        let index = pending.iter().position(|p| p.id == *refused && p.slot == event.slot);
        let index = index.ok_or(JournalError::Invalid("pending event"))?;
        pending.remove(index);
        self.admit(event, &pending)?;
        pending.insert(index, event.clone());
        self.diff.pending = Some(pending);
        Ok(())
    }

    fn reconcile(&mut self, events: &[EventId], accepted: Option<u64>) {
        self.keep_pending(|event| !events.contains(&event.id));
        let accepted = accepted.unwrap_or(0).min(self.header.revision);
        self.header.accepted_revision = self.header.accepted_revision.max(accepted);
    }
}

/// Retention.
impl Work<'_> {
    /// Brings the overlay within bounds and drops what is covered. Besides changed rows, `also` is looked at.
    fn retain(&mut self, also: &BTreeSet<Key>) -> Result<(), JournalError> {
        self.settle_homes();
        let overrides = self.overrides();
        if !overrides.is_empty() {
            self.return_floors(&overrides);
        }
        let mut suspects = also.clone();
        if self.is_over_budget(&overrides) {
            suspects.extend(self.squeeze(&overrides)?);
        }
        if overrides.is_empty() {
            self.drop_covered(suspects);
        }
        self.bound_reserve(!overrides.is_empty());
        self.bound_own();
        Ok(())
    }

    fn overrides(&self) -> BTreeMap<Key, Override> {
        let mut all = self.base.overrides.clone();
        all.extend(self.diff.overrides.iter().map(|(key, value)| (key.clone(), *value)));
        all
    }

    /// Takes the channel of each message a kept mark names from loaded messages, or from a sibling mark (`unread.md` 8.6).
    fn settle_homes(&mut self) {
        let (base, facts) = (self.base, self.facts);
        let loaded = |key: &Key| facts.message(&key.message()?).map(|fact| fact.channel);
        let old = base.homeless.iter().filter(|key| !self.rows.contains_key(key));
        let changed = self.rows.iter().filter(|(_, row)| row.held.is_some() && row.home.is_none());
        let sibling = |key: &Key| key.message().and_then(|id| base.home(&id));
        let found: Vec<(Key, ChannelId)> = old
            .filter_map(|key| Some((key.clone(), loaded(key)?)))
            .chain(changed.filter_map(|(key, _)| Some((key.clone(), loaded(key).or_else(|| sibling(key))?))))
            .collect();
        for (key, home) in found {
            let row = Row { home: Some(home), ..self.row(&key) };
            self.set(&key, row);
        }
    }

    /// Direct floors of overrides return from the reserve to the journal (`unread.md` 8.7).
    fn return_floors(&mut self, overrides: &BTreeMap<Key, Override>) {
        for key in overrides.keys() {
            if let Some(Held { value, place: Place::Reserve }) = self.row(key).held {
                self.hold(key, value, None);
            }
        }
    }

    fn is_over_budget(&self, overrides: &BTreeMap<Key, Override>) -> bool {
        let registers: usize = overrides.iter().map(|(key, value)| bytes::override_entry(key, *value)).sum();
        let used = bytes::blob_base(&self.header.client_id) + registers + self.totals.journal_bytes;
        used > limits::JOURNAL_BYTES || self.totals.journal_keys + 3 * overrides.len() > limits::JOURNAL_KEYS
    }

    /// Selects anew among all journal marks; what does not stay goes to the reserve. Returns the keys that went there.
    fn squeeze(&mut self, overrides: &BTreeMap<Key, Override>) -> Result<Vec<Key>, JournalError> {
        let base = self.base.rows.iter().filter(|(key, _)| !self.rows.contains_key(key));
        let candidates = base.chain(&self.rows).filter_map(|(key, row)| match row.held {
            Some(Held { value, place: Place::Journal { recent } }) => {
                Some(Candidate { key: key.clone(), value, recent })
            }
            _ => None,
        });
        let budget = Budget::journal(&self.header.client_id);
        let selection = select(candidates.collect(), overrides, budget, &|key, value| self.covers(key, value))
            .map_err(JournalError::Capacity)?;
        for Candidate { key, value, recent } in selection.kept {
            let mut row = self.row(&key);
            let held = Some(Held { value, place: Place::Journal { recent } });
            if row.held != held {
                row.held = held;
                self.set(&key, row);
            }
        }
        for (key, cover) in &selection.dropped {
            self.drop_mark(key, Some(cover));
        }
        for key in &selection.evicted {
            let mut row = self.row(key);
            row.held = row.held.map(|held| Held { place: Place::Reserve, ..held });
            self.set(key, row);
        }
        Ok(selection.evicted)
    }

    fn covers(&self, key: &Key, value: u32) -> Covers {
        covers(key, value, self.row(key).home, self.facts)
    }

    /// Drops marks that a kept broader one covers: among `suspects`, the changed rows, and what a changed row may cover.
    fn drop_covered(&mut self, mut suspects: BTreeSet<Key>) {
        for (key, row) in &self.rows {
            if row.held.is_none() {
                continue;
            }
            suspects.insert(key.clone());
            match key {
                Key::Channel(channel) => {
                    suspects.insert(Key::Activity(*channel));
                    suspects.extend(self.base.by_home.get(channel).into_iter().flatten().cloned());
                }
                Key::Activity(channel) => {
                    let at_home = self.base.by_home.get(channel).into_iter().flatten();
                    suspects.extend(at_home.filter(|key| key.is_message()).cloned());
                }
                Key::Thread(root) => {
                    suspects.insert(Key::ThreadActivity(*root));
                }
                _ => {}
            }
        }
        let covered: Vec<(Key, Key)> = suspects
            .into_iter()
            .filter_map(|key| {
                let held = self.row(&key).held?;
                let in_reserve = held.place == Place::Reserve;
                // The journal must not depend on the reserve, which is never published.
                let kept = |cover: &Key| {
                    let cover = self.row(cover).held?;
                    (in_reserve || cover.place != Place::Reserve).then_some(cover.value)
                };
                let cover = final_cover(&key, held.value, &|key, value| self.covers(key, value), &kept)?;
                Some((key, cover))
            })
            .collect();
        for (key, cover) in &covered {
            self.bequeath(key, cover);
            self.drop_mark(key, Some(cover));
        }
    }

    /// A dropped mark's interaction order protects its cover from now on.
    fn bequeath(&mut self, key: &Key, cover: &Key) {
        let Some(Held { place: Place::Journal { recent }, .. }) = self.row(key).held else { return };
        let mut heir = self.row(cover);
        if let Some(Held { place: Place::Journal { recent: own }, .. }) = &mut heir.held
            && recent > *own
        {
            *own = recent;
            self.set(cover, heir);
        }
    }

    /// Removes a mark. This installation's own part goes too when the cover is as much its own; else it is still published.
    fn drop_mark(&mut self, key: &Key, cover: Option<&Key>) {
        let mut row = self.row(key);
        row.held = None;
        row.home = None;
        if let (Some(own), Some(cover)) = (row.own, cover)
            && self.row(cover).own.is_some_and(|other| other.value >= own.value)
        {
            row.own = None;
        }
        self.set(key, row);
    }

    fn is_reserve_over(&self) -> bool {
        let bytes = bytes::reserve_total(self.totals.reserve_keys, self.totals.reserve_bytes);
        self.totals.reserve_keys > limits::RESERVE_KEYS || bytes > limits::RESERVE_BYTES
    }

    /// Forgets receipts from the far end of the reserve until it is within bounds.
    fn bound_reserve(&mut self, protected: bool) {
        if !self.is_reserve_over() {
            return;
        }
        let base = self.base;
        let changed = self.rows.iter().filter_map(|(key, row)| match row.held {
            Some(Held { value, place: Place::Reserve }) => Some(ReserveRank::new(key.clone(), value)),
            _ => None,
        });
        let mut changed: Vec<ReserveRank> = changed.collect();
        let touched: BTreeSet<Key> = self.rows.keys().cloned().collect();
        let unchanged = base.reserve_order.iter().filter(|rank| !touched.contains(&rank.key));
        if protected {
            changed.extend(unchanged.cloned());
            changed.sort_unstable_by(ReserveRank::protected_cmp);
            self.forget_from(changed.iter().rev());
        } else {
            changed.sort_unstable();
            // Both are sorted; the far end of either is next, without looking at the rest of the reserve.
            let mut left = unchanged.rev().peekable();
            let mut right = changed.iter().rev().peekable();
            self.forget_from(std::iter::from_fn(|| match (left.peek(), right.peek()) {
                (Some(a), Some(b)) if a < b => right.next(),
                (Some(_), _) => left.next(),
                (None, _) => right.next(),
            }));
        }
    }

    fn forget_from<'r>(&mut self, mut last_first: impl Iterator<Item = &'r ReserveRank>) {
        while self.is_reserve_over() {
            let Some(last) = last_first.next() else { break };
            self.drop_mark(&last.key, None);
        }
    }

    /// Stops publishing the lowest values when there are more than the bound.
    fn bound_own(&mut self) {
        let surplus = self.totals.own_keys.saturating_sub(limits::OWN_KEYS);
        if surplus == 0 {
            return;
        }
        let base = self.base.rows.iter().filter(|(key, _)| !self.rows.contains_key(key));
        let mut own: Vec<(u32, Key)> =
            base.chain(&self.rows).filter_map(|(key, row)| row.own.map(|own| (own.value, key.clone()))).collect();
        own.sort_unstable();
        for (_, key) in own.into_iter().take(surplus) {
            let mut row = self.row(&key);
            row.own = None;
            self.set(&key, row);
        }
    }
}

#[cfg(test)]
#[path = "apply_tests.rs"]
mod tests;
