//! The laws of merging, and one test for each plausible way to get them wrong.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::ids::EventId;

fn reg(set: u32, clear: u32, baseline: u32) -> Override {
    Override { set, clear, baseline }
}

fn key(n: u8) -> Key {
    Key::Thread(EventId([n; 32]))
}

fn numbers() -> impl Strategy<Value = u32> {
    prop_oneof![0..6u32, Just(u32::MAX - 1), Just(u32::MAX), any::<u32>()]
}

fn registers() -> impl Strategy<Value = Override> {
    (numbers(), numbers(), numbers()).prop_map(|(s, c, b)| reg(s, c, b))
}

fn states() -> impl Strategy<Value = State> {
    let frontiers = prop::collection::btree_map((0..5u8).prop_map(key), numbers(), 0..5);
    let overrides = prop::collection::btree_map((0..5u8).prop_map(key), registers(), 0..4);
    (frontiers, overrides).prop_map(|(frontiers, overrides)| State { frontiers, overrides })
}

fn join(a: &State, b: &State) -> State {
    let mut out = a.clone();
    out.merge(b);
    out
}

proptest! {
    /// `unread.md` 9.3.
    #[test]
    fn merging_is_commutative_associative_idempotent_monotone(a in states(), b in states(), c in states()) {
        prop_assert_eq!(join(&a, &b), join(&b, &a));
        prop_assert_eq!(join(&join(&a, &b), &c), join(&a, &join(&b, &c)));
        prop_assert_eq!(join(&a, &a), a.clone());
        let ab = join(&a, &b);
        prop_assert!(ab.covers(&a) && ab.covers(&b));
        let greatest = |k: &Key, v: &u32| Some(v) == a.frontiers.get(k).max(b.frontiers.get(k));
        prop_assert!(ab.frontiers.iter().all(|(k, v)| greatest(k, v)));
    }

    /// The join without an order is the same join, whatever is asked of it comes sorted, and it counts the same keys.
    #[test]
    fn joining_is_merging(all in prop::collection::vec(states(), 0..5)) {
        let (mut joined, mut merged) = (Join::default(), State::default());
        for state in &all {
            joined.merge(state);
            merged.merge(state);
        }
        let (frontiers, overrides) = (joined.frontiers(|_, _| true), joined.overrides(|_, _| true));
        prop_assert!(frontiers.is_sorted() && overrides.iter().is_sorted_by_key(|(key, _)| key));
        prop_assert_eq!(joined.key_count(), merged.key_count());
        prop_assert_eq!(joined.frontiers(|_, value| value < 3), merged.clone().frontiers.into_iter().filter(|(_, v)| *v < 3).collect::<Vec<_>>());
        prop_assert_eq!(State { frontiers: frontiers.into_iter().collect(), overrides: overrides.into_iter().collect() }, merged);
    }

    #[test]
    fn covering_is_merging_without_effect(a in states(), b in states()) {
        prop_assert_eq!(a.covers(&b), join(&a, &b) == a);
    }

    /// The strict bound counts what the union would hold, and a refusal changes nothing.
    #[test]
    fn strict_merging_is_merging_or_nothing(a in states(), b in states()) {
        let mut strict = a.clone();
        strict.merge_strict(&b).unwrap();
        prop_assert_eq!(strict, join(&a, &b));
    }

    /// A floor may suppress another register, never revive one (`protocol.md` 8.5).
    #[test]
    fn a_floor_never_revives(dead in registers(), other in registers(), f in numbers()) {
        if let Some(Canonical::Floor(clear)) = canonical(dead, Some(f)) {
            let merged = other.merge(reg(0, clear, 0));
            prop_assert!(!merged.is_active(f) || other.is_active(f));
        }
    }

    /// Marking unread holds at its frontier and ends with one more; marking read always ends it.
    #[test]
    fn marks_do_what_they_say(r in registers(), f in 0..u32::MAX) {
        if let Ok(marked) = mark_unread(r, f) {
            prop_assert!(marked.is_active(f));
            prop_assert!(!marked.is_active(f + 1));
            prop_assert_eq!(marked.clear, r.clear);
            if let Ok(read) = mark_read(marked) {
                prop_assert!(!read.is_active(f));
                prop_assert_eq!((read.set, read.baseline), (marked.set, marked.baseline));
            }
        } else {
            prop_assert_eq!(r.set.max(r.clear), u32::MAX);
        }
    }
}

/// Mutants: `set > clear` swapped, tie counted as set, `set > 0` dropped, baseline compared the other way or strictly.
#[test]
fn activity() {
    assert!(reg(2, 1, 10).is_active(10));
    assert!(!reg(1, 2, 10).is_active(10), "cleared");
    assert!(!reg(2, 2, 10).is_active(10), "clear wins ties");
    assert!(!reg(0, 0, 10).is_active(10), "never used");
    assert!(!reg(2, 1, 10).is_active(11), "read past");
    assert!(reg(2, 1, 10).is_active(9), "not yet there");
    assert!(matches!(canonical(reg(1, 0, 0), None), Some(Canonical::Live(_))), "a missing frontier is 0");
}

/// Mutants: a smaller value or part wins, parts mixed up.
#[test]
fn the_greater_part_wins() {
    assert_eq!(reg(1, 8, 3).merge(reg(4, 2, 6)), reg(4, 8, 6));
    let mut state = State::default();
    assert!(state.raise(&key(1), 5) && state.raise(&key(2), 0));
    assert!(!state.raise(&key(1), 4) && !state.raise(&key(1), 5) && state.raise(&key(1), 6));
    assert_eq!(state.frontiers, BTreeMap::from([(key(1), 6), (key(2), 0)]));
}

/// `unread.md` 9.11: marked unread at 10, then read to 11, it goes out as a floor; 9.12: a stale register merged after that floor stays
/// inactive at frontier 10.
#[test]
fn rows_9_11_and_9_12_dead_registers_are_floors() {
    let marked = mark_unread(Override::default(), 10).unwrap();
    assert_eq!(marked, reg(1, 0, 10));
    assert_eq!(canonical(marked, Some(10)), Some(Canonical::Live(marked)));
    assert_eq!(canonical(marked, Some(11)), Some(Canonical::Floor(1)));
    assert!(!reg(0, 1, 0).merge(reg(1, 0, 10)).is_active(10));
    assert_eq!(canonical(Override::default(), Some(11)), None);
}

/// Two dead registers would join into a live one if they were published raw (`protocol.md` 8.5).
#[test]
fn raw_dead_registers_would_revive() {
    let (a, b, frontier) = (reg(3, 0, 5), reg(1, 1, 20), 10);
    assert!(!a.is_active(frontier) && !b.is_active(frontier) && a.merge(b).is_active(frontier));
    let floor = |r| match canonical(r, Some(frontier)) {
        Some(Canonical::Floor(clear)) => reg(0, clear, 0),
        other => panic!("{other:?}"),
    };
    assert!(!floor(a).merge(floor(b)).is_active(frontier));
    assert!(!floor(a).merge(b).is_active(frontier) && !a.merge(floor(b)).set.eq(&0));
}

/// `unread.md` 9.3: exhausted counters refuse.
#[test]
fn counters_do_not_wrap() {
    for r in [reg(u32::MAX, 0, 0), reg(0, u32::MAX, 0)] {
        assert_eq!(mark_unread(r, 0), Err(Error::Capacity { what: "override counter" }));
        assert_eq!(mark_read(r), Err(Error::Capacity { what: "override counter" }));
    }
    assert_eq!(mark_unread(reg(2, 7, 0), 3), Ok(reg(8, 7, 3)));
    assert_eq!(mark_read(reg(2, 7, 3)), Ok(reg(2, 8, 3)));
}

/// `unread.md` 9.3: frontiers + 3 × overrides ≤ 10,000; beyond, stored intent is kept.
#[test]
fn the_strict_bound_is_exact() {
    let id = |n: u32| {
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&n.to_be_bytes());
        Key::Thread(EventId(bytes))
    };
    let of = |range: std::ops::Range<u32>| State { frontiers: range.map(|n| (id(n), 1)).collect(), ..State::default() };
    let mut state = of(0..9_997);
    state.overrides.insert(id(1), reg(1, 0, 0));
    assert_eq!(state.key_count(), 10_000);
    state.merge_strict(&of(5..9_000)).unwrap();
    let before = state.clone();
    assert!(state.merge_strict(&of(9_996..9_998)).is_err());
    let one = State { overrides: BTreeMap::from([(id(2), reg(1, 0, 0))]), ..State::default() };
    assert!(state.merge_strict(&one).is_err());
    assert_eq!(state, before);
    let mut nearly = of(0..9_998);
    assert!(nearly.merge_strict(&one).is_err(), "a register takes three keys");
    nearly.frontiers.pop_last();
    nearly.merge_strict(&one).unwrap();
}

#[test]
fn debug_shows_shapes() {
    let state = State { frontiers: BTreeMap::from([(key(0xaa), 77)]), ..State::default() };
    assert_eq!(format!("{state:?}"), "State(1 frontiers, 0 overrides)");
    assert!(!state.is_empty() && State::default().is_empty());
}
