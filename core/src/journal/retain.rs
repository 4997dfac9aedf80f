//! What stays when there is too much (`unread.md` 8.4, 8.7).
//!
//! Selection. With overrides: their registers, their direct floors and every non-`msg:` frontier first, or the save fails. Then the
//! *broad pass* up to three quarters of the budget: by breadth, interaction, value, key, stopping at the first mark that does not
//! fit. Then the *recency pass* over the whole budget: by interaction, value, key, skipping what does not fit. Then marks
//! covered by a kept one are dropped, and both passes go on with what waits, until a round drops nothing. What was kept stays
//! kept between rounds, and what was dropped does not return.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

use super::bytes;
use super::coverage::Covers;
use super::key::{Breadth, Key};
use super::record::Override;
use crate::limits;

/// Room for a selection: bytes and keys, and how much of each broad marks may claim ahead of recent ones.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    base: usize,
    bytes: usize,
    keys: usize,
}

impl Budget {
    /// The sync journal's.
    pub(super) fn journal(client_id: &str) -> Self {
        Self { base: bytes::blob_base(client_id), bytes: limits::JOURNAL_BYTES, keys: limits::JOURNAL_KEYS }
    }

    fn fits(&self, used: Used, entry: usize) -> bool {
        used.bytes + entry <= self.bytes && used.keys < self.keys
    }

    fn fits_share(&self, used: Used, entry: usize) -> bool {
        used.bytes + entry <= self.bytes / 4 * 3 && used.keys < self.keys / 4 * 3
    }
}

#[derive(Clone, Copy)]
struct Used {
    bytes: usize,
    keys: usize,
}

/// A mark that wants to stay.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) key: Key,
    pub(super) value: u32,
    /// Revision of its last local use, 0 = none.
    pub(super) recent: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Waiting,
    Kept,
    Dropped,
}

/// What became of the candidates. Those in neither list did not fit.
#[derive(Default)]
pub(super) struct Selection {
    /// Kept, with the interaction order inherited from what they cover.
    pub(super) kept: Vec<Candidate>,
    /// Dropped as covered, with the kept mark that covers them in the end.
    pub(super) dropped: Vec<(Key, Key)>,
    /// Neither kept nor covered.
    pub(super) evicted: Vec<Key>,
}

/// A mark's last kept cover along the chain of covers; none when it has none, or when the chain is a cycle.
pub(super) fn final_cover(
    key: &Key,
    value: u32,
    covers: &dyn Fn(&Key, u32) -> Covers,
    kept: &dyn Fn(&Key) -> Option<u32>,
) -> Option<Key> {
    let step = |at: &Key, value: u32| {
        covers(at, value).into_iter().flatten().find_map(|(cover, need)| {
            let held = kept(&cover).filter(|held| u64::from(*held) >= need)?;
            Some((cover, held))
        })
    };
    let (mut last, mut held) = step(key, value)?;
    let mut passed = vec![key.clone()];
    while let Some((next, value)) = step(&last, held) {
        passed.push(last);
        if passed.contains(&next) {
            return None;
        }
        (last, held) = (next, value);
    }
    Some(last)
}

/// Chooses among `candidates` (distinct keys). Fails, naming the bound, when something that must not go does not fit.
pub(super) fn select(
    mut candidates: Vec<Candidate>,
    overrides: &BTreeMap<Key, Override>,
    budget: Budget,
    covers: &dyn Fn(&Key, u32) -> Covers,
) -> Result<Selection, &'static str> {
    candidates.sort_unstable_by(|a, b| a.key.cmp(&b.key));
    let mut run = Run {
        fates: vec![Fate::Waiting; candidates.len()],
        candidates,
        budget,
        used: Used { bytes: budget.base, keys: 0 },
    };
    run.protect(overrides)?;
    let mut dropped = Vec::new();
    loop {
        run.broad_pass();
        run.recency_pass();
        // Nothing is dropped while an override exists (`unread.md` 8.4).
        let round = if overrides.is_empty() { run.drop_covered(covers) } else { Vec::new() };
        if round.is_empty() {
            break;
        }
        dropped.extend(round);
    }
    Ok(run.into_selection(dropped))
}

struct Run {
    /// Sorted by key.
    candidates: Vec<Candidate>,
    fates: Vec<Fate>,
    budget: Budget,
    used: Used,
}

impl Run {
    fn find(&self, key: &Key) -> Option<usize> {
        self.candidates.binary_search_by(|c| c.key.cmp(key)).ok()
    }

    fn kept_value(&self, key: &Key) -> Option<u32> {
        let index = self.find(key)?;
        let candidate = self.candidates.get(index)?;
        (self.fates.get(index) == Some(&Fate::Kept)).then_some(candidate.value)
    }

    fn keep(&mut self, index: usize, entry: usize) {
        if let Some(fate) = self.fates.get_mut(index) {
            *fate = Fate::Kept;
            self.used.bytes += entry;
            self.used.keys += 1;
        }
    }

    fn must_keep(&mut self, index: usize) -> Result<(), &'static str> {
        let Some(candidate) = self.candidates.get(index) else { return Ok(()) };
        if self.fates.get(index) != Some(&Fate::Waiting) {
            return Ok(());
        }
        let entry = bytes::entry(&candidate.key, candidate.value);
        if !self.budget.fits(self.used, entry) {
            return Err("read-state floors");
        }
        self.keep(index, entry);
        Ok(())
    }

    fn protect(&mut self, overrides: &BTreeMap<Key, Override>) -> Result<(), &'static str> {
        if overrides.is_empty() {
            return Ok(());
        }
        for (key, value) in overrides {
            let entry = bytes::override_entry(key, *value);
            if self.used.bytes + entry > self.budget.bytes || self.used.keys + 3 > self.budget.keys {
                return Err("read-state overrides");
            }
            self.used.bytes += entry;
            self.used.keys += 3;
        }
        for key in overrides.keys() {
            if let Some(index) = self.find(key) {
                self.must_keep(index)?;
            }
        }
        let floors: Vec<usize> =
            self.candidates.iter().enumerate().filter(|(_, c)| !c.key.is_message()).map(|(i, _)| i).collect();
        floors.into_iter().try_for_each(|index| self.must_keep(index))
    }

    /// Waiting candidates in the given order, with their entry sizes.
    fn waiting(&self, order: impl Fn(&Candidate, &Candidate) -> Ordering) -> Vec<(usize, usize)> {
        let mut waiting: Vec<(usize, &Candidate)> = self
            .candidates
            .iter()
            .enumerate()
            .filter(|(index, _)| self.fates.get(*index) == Some(&Fate::Waiting))
            .collect();
        waiting.sort_unstable_by(|(_, a), (_, b)| order(a, b));
        waiting.into_iter().map(|(index, c)| (index, bytes::entry(&c.key, c.value))).collect()
    }

    fn broad_pass(&mut self) {
        for (index, entry) in self.waiting(|a, b| a.key.breadth().cmp(&b.key.breadth()).then_with(|| recency(a, b))) {
            if !self.budget.fits_share(self.used, entry) {
                break;
            }
            self.keep(index, entry);
        }
    }

    fn recency_pass(&mut self) {
        for (index, entry) in self.waiting(recency) {
            if self.budget.fits(self.used, entry) {
                self.keep(index, entry);
            }
        }
    }

    fn drop_covered(&mut self, covers: &dyn Fn(&Key, u32) -> Covers) -> Vec<(Key, Key)> {
        let kept = self.candidates.iter().zip(&self.fates).filter(|(_, fate)| **fate == Fate::Kept);
        let round: Vec<(Key, Key)> = kept
            .filter_map(|(c, _)| {
                let cover = final_cover(&c.key, c.value, covers, &|key| self.kept_value(key))?;
                Some((c.key.clone(), cover))
            })
            .collect();
        for (key, cover) in &round {
            let Some(index) = self.find(key) else { continue };
            let Some(gone) = self.candidates.get(index) else { continue };
            let (recent, entry) = (gone.recent, bytes::entry(&gone.key, gone.value));
            if let Some(fate) = self.fates.get_mut(index) {
                *fate = Fate::Dropped;
            }
            self.used.bytes -= entry;
            self.used.keys -= 1;
            if let Some(heir) = self.find(cover).and_then(|i| self.candidates.get_mut(i)) {
                heir.recent = heir.recent.max(recent);
            }
        }
        round
    }

    fn into_selection(self, dropped: Vec<(Key, Key)>) -> Selection {
        let mut selection = Selection { dropped, ..Selection::default() };
        for (candidate, fate) in self.candidates.into_iter().zip(self.fates) {
            match fate {
                Fate::Kept => selection.kept.push(candidate),
                Fate::Waiting => selection.evicted.push(candidate.key),
                Fate::Dropped => {}
            }
        }
        selection
    }
}

/// Most recently used first, then greatest value, then key.
fn recency(a: &Candidate, b: &Candidate) -> Ordering {
    (b.recent, b.value).cmp(&(a.recent, a.value)).then_with(|| a.key.text_cmp(&b.key))
}

/// Rank of a receipt in the reserve: broad before narrow, then newest value, then key (`unread.md` 8.7). The greatest goes first.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ReserveRank {
    breadth: Breadth,
    value: Reverse<u32>,
    pub(super) key: Key,
}

impl ReserveRank {
    pub(super) fn new(key: Key, value: u32) -> Self {
        Self { breadth: key.breadth(), value: Reverse(value), key }
    }

    /// Order while overrides exist: inherited floors, which only `msg:` marks are not, stay before everything else.
    pub(super) fn protected_cmp(&self, other: &Self) -> Ordering {
        self.key.is_message().cmp(&other.key.is_message()).then_with(|| self.cmp(other))
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

#[cfg(test)]
#[path = "retain_tests.rs"]
mod tests;
