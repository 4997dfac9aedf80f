//! The algebra of read state: what it means to combine what several installations know (`unread.md` 9.3).
//!
//! Frontiers combine by maximum, override registers by maximum of each component. Both are joins of a lattice: commutative,
//! associative, idempotent and monotone, so blobs may arrive in any order and any number of times. Nothing here ever lowers a
//! value, and no clock is consulted (R12 is applied before a value comes here).
//!
//! The override actions (mark unread, mark read) are part of NIP-RS and of this algebra; this release publishes no override, so
//! outside tests nothing calls them (R19).

use std::collections::BTreeMap;

use crate::error::Error;
use crate::idmap::IdMap;
use crate::journal::{Key, Override};
use crate::limits;

/// Marks a context unread at `frontier`: the set counter passes both counters, the baseline becomes the frontier, the clear counter
/// stays. Fails with [`Error::Capacity`] when the counters are exhausted.
pub fn mark_unread(register: Override, frontier: u32) -> Result<Override, Error> {
    Ok(Override { set: next_counter(register)?, baseline: frontier, ..register })
}

/// Marks a context read: the clear counter passes both counters. Fails with [`Error::Capacity`] when the counters are exhausted.
pub fn mark_read(register: Override) -> Result<Override, Error> {
    Ok(Override { clear: next_counter(register)?, ..register })
}

fn next_counter(register: Override) -> Result<u32, Error> {
    let exhausted = Error::Capacity { what: "override counter" };
    register.set.max(register.clear).checked_add(1).ok_or(exhausted)
}

/// What a writer puts out for a register (`unread.md` 9.2): an active one whole, one that was ever used as its clear floor alone, one
/// never used not at all. A missing frontier counts as 0.
pub fn canonical(register: Override, frontier: Option<u32>) -> Option<Canonical> {
    if register.is_active(frontier.unwrap_or(0)) {
        return Some(Canonical::Live(register));
    }
    let floor = register.set.max(register.clear);
    (floor > 0).then_some(Canonical::Floor(floor))
}

/// The canonical wire form of a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Canonical {
    /// All three parts.
    Live(Override),
    /// Only the clear part.
    Floor(u32),
}

/// Frontiers and override registers under raw (unescaped) keys.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct State {
    /// Read through this second, by context.
    pub frontiers: BTreeMap<Key, u32>,
    /// Manual-unread registers, by context.
    pub overrides: BTreeMap<Key, Override>,
}

impl State {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.frontiers.is_empty() && self.overrides.is_empty()
    }

    /// Keys this state takes in a blob: one a frontier, three a register.
    pub fn key_count(&self) -> usize {
        self.frontiers.len().saturating_add(self.overrides.len().saturating_mul(3))
    }

    /// Raises one frontier; never lowers it. Says whether it rose.
    pub fn raise(&mut self, key: &Key, value: u32) -> bool {
        match self.frontiers.get_mut(key) {
            Some(held) if *held >= value => false,
            Some(held) => {
                *held = value;
                true
            }
            None => {
                self.frontiers.insert(key.clone(), value);
                true
            }
        }
    }

    /// Joins `other` into this state.
    pub fn merge(&mut self, other: &Self) {
        for (key, value) in &other.frontiers {
            self.raise(key, *value);
        }
        for (key, register) in &other.overrides {
            let held = self.overrides.entry(key.clone()).or_default();
            *held = held.merge(*register);
        }
    }

    /// Joins `other` into this state unless that would take more than [`limits::BLOB_KEYS`] keys; then nothing changes and the
    /// error is [`Error::Capacity`] (`unread.md` 9.3).
    pub fn merge_strict(&mut self, other: &Self) -> Result<(), Error> {
        let new_frontiers = other.frontiers.keys().filter(|k| !self.frontiers.contains_key(*k)).count();
        let new_overrides = other.overrides.keys().filter(|k| !self.overrides.contains_key(*k)).count();
        if self.key_count() + new_frontiers + 3 * new_overrides > limits::BLOB_KEYS {
            return Err(Error::Capacity { what: "read-state keys" });
        }
        self.merge(other);
        Ok(())
    }

    /// Whether merging `other` would change nothing.
    pub fn covers(&self, other: &Self) -> bool {
        other.frontiers.iter().all(|(key, value)| self.frontiers.get(key).is_some_and(|held| held >= value))
            && other
                .overrides
                .iter()
                .all(|(key, register)| self.overrides.get(key).is_some_and(|held| held.merge(*register) == *held))
    }
}

/// What many states join into, without an order: a load joins thousands, and looking keys up in a tree was most of that (P9).
#[derive(Default)]
pub struct Join {
    frontiers: IdMap<Key, u32>,
    overrides: IdMap<Key, Override>,
}

impl Join {
    /// As [`State::key_count`].
    pub fn key_count(&self) -> usize {
        self.frontiers.len().saturating_add(self.overrides.len().saturating_mul(3))
    }

    /// As [`State::raise`].
    pub fn raise(&mut self, key: &Key, value: u32) {
        let held = self.frontiers.entry_ref(key).or_insert(value);
        *held = value.max(*held);
    }

    /// Joins a register.
    pub fn register(&mut self, key: &Key, register: Override) {
        let held = self.overrides.entry_ref(key).or_default();
        *held = held.merge(register);
    }

    /// Joins a state, as [`State::merge`].
    pub fn merge(&mut self, other: &State) {
        other.frontiers.iter().for_each(|(key, value)| self.raise(key, *value));
        other.overrides.iter().for_each(|(key, register)| self.register(key, *register));
    }

    /// The joined frontiers that `wanted` says yes to, in the order of keys.
    pub fn frontiers(&self, wanted: impl Fn(&Key, u32) -> bool) -> Vec<(Key, u32)> {
        sorted(self.frontiers.iter().filter(|(key, value)| wanted(key, **value)))
    }

    /// The joined registers that `wanted` says yes to, in the order of keys.
    pub fn overrides(&self, wanted: impl Fn(&Key, Override) -> bool) -> Vec<(Key, Override)> {
        sorted(self.overrides.iter().filter(|(key, register)| wanted(key, **register)))
    }
}

fn sorted<'a, V: Copy + 'a>(entries: impl Iterator<Item = (&'a Key, &'a V)>) -> Vec<(Key, V)> {
    let mut all: Vec<(Key, V)> = entries.map(|(key, value)| (key.clone(), *value)).collect();
    all.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    all
}

impl std::fmt::Debug for Join {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Join({} frontiers, {} overrides)", self.frontiers.len(), self.overrides.len())
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "State({} frontiers, {} overrides)", self.frontiers.len(), self.overrides.len())
    }
}

#[cfg(test)]
#[path = "algebra_tests.rs"]
mod tests;
