//! Slot planning (`unread.md` 9.8; R19, R20).

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::algebra::State;
use super::super::harness::{T0, at, channel, slot};
use super::*;
use crate::ids::EventId;
use crate::journal::{Fresh, Merge, Mutation, NoFacts, apply};

const CLIENT: &str = "00000000-0000-4000-8000-000000000001";

/// A record with own values; those with a slot are carried by it.
fn record(slots: &[SlotId], own: &[(Key, u32, Option<SlotId>)]) -> Record {
    let mut record = Record::new(Fresh { slot: slots[0], client_id: CLIENT.into() });
    let merge = Merge { own: own.iter().map(|(k, v, _)| (k.clone(), *v, slot(0xee))).collect(), ..Merge::default() };
    let carry = own.iter().filter_map(|(k, _, s)| Some((k.clone(), (*s)?))).collect();
    for mutation in [Mutation::Merge(merge), Mutation::Assign { add: slots[1..].to_vec(), carry }] {
        let diff = apply(&record, &mutation, &NoFacts).unwrap();
        record.adopt(&diff);
    }
    record
}

fn seen(slot: SlotId, frontiers: &[(Key, u32)]) -> (SlotId, Observed) {
    let key = RowKey::new(1, EventId([1; 32]));
    (slot, Observed { key, ours: true, frontiers: frontiers.iter().cloned().collect() })
}

fn make(record: &Record, seen: &Sightings, may_add: bool) -> Plan {
    plan(record, seen, T0, may_add, &mut Entropy::from_seed(3))
}

fn slots_of(plan: &Plan) -> Vec<SlotId> {
    plan.sends.iter().map(|send| send.slot).collect()
}

/// An opaque key whose entry takes exactly `size` bytes with a one-digit value.
fn sized(size: usize, n: usize) -> Key {
    let name = format!("{n:03}");
    Key::parse(&format!("k{name}{}", "x".repeat(size - 5 - 1 - name.len()))).unwrap()
}

/// Only a slot that lacks one of its own values is republished.
#[test]
fn only_what_lacks_a_value_is_sent() {
    let (a, b) = (slot(1), slot(2));
    let own = [(channel(1), at(0), Some(a)), (channel(2), at(0), Some(b))];
    let record = record(&[a, b], &own);
    let there: Sightings = [seen(a, &[(channel(1), at(0))]), seen(b, &[(channel(2), at(9))])].into();
    assert_eq!(make(&record, &there, true), Plan::default());
    assert!(!is_anything_missing(&record, &there, T0));
    let lower: Sightings = [seen(a, &[(channel(1), at(0))]), seen(b, &[(channel(2), at(-1))])].into();
    assert_eq!(slots_of(&make(&record, &lower, true)), [b]);
    assert!(is_slot_missing_any(&record, &lower, b, T0) && !is_slot_missing_any(&record, &lower, a, T0));
    let absent: Sightings = [seen(b, &[(channel(2), at(0))])].into();
    assert_eq!(slots_of(&make(&record, &absent, true)), [a]);
}

/// A key stays where it is, new keys go where most room is, earlier slots first on a tie.
#[test]
fn keys_are_sticky_and_new_ones_go_where_room_is() {
    let (a, b, c) = (slot(1), slot(2), slot(3));
    let own = [
        (channel(1), at(0), Some(a)),
        (channel(2), at(0), Some(a)),
        (channel(3), at(0), Some(b)),
        (channel(4), at(0), Some(c)),
        (channel(5), at(0), None),
    ];
    let record = record(&[a, b, c], &own);
    let plan = make(&record, &Sightings::new(), true);
    assert_eq!(plan.carry, [(channel(5), b)]);
    assert!(plan.add.is_empty());
    let of = |slot: SlotId| {
        plan.sends.iter().find(|s| s.slot == slot).unwrap().frontiers.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!((of(a), of(b), of(c)), (vec![channel(1), channel(2)], vec![channel(3), channel(5)], vec![channel(4)]));
}

/// R17, R19: nothing at the floor, no message marks.
#[test]
fn what_is_not_publishable() {
    let floor = at(0) - 2_592_000;
    let own = [(channel(1), floor, None), (channel(2), floor + 1, None), (Key::Message(EventId([1; 32])), at(0), None)];
    let record = record(&[slot(1)], &own[..2]);
    let plan = make(&record, &Sightings::new(), true);
    assert_eq!(plan.carry, [(channel(2), slot(1))]);
    assert_eq!(plan.sends[0].frontiers, BTreeMap::from([(channel(2), floor + 1)]));
    let with_message = self::record(&[slot(1)], &[own[2].clone()].map(|(k, v, _)| (k, v, None)));
    assert_eq!(make(&with_message, &Sightings::new(), true), Plan::default());
}

/// `unread.md` 9.37: a value grows, its slot overflows: the key moves, its new home is sent first, then the old slot without it.
#[test]
fn row_9_37_a_key_that_must_move() {
    let (a, b) = (slot(1), slot(2));
    let base = bytes::blob_base(CLIENT);
    // 160 keys of 255 bytes and one of the rest fill the blob to its last byte.
    let mut own: Vec<(Key, u32, Option<SlotId>)> = (0..160).map(|n| (sized(255, n), 5, Some(a))).collect();
    let rest = limits::BLOB_BYTES + 1 - base - 160 * 255;
    own.push((sized(rest, 999), 5, Some(a)));
    let fits: Vec<(Key, u32)> = own.iter().map(|(k, v, _)| (k.clone(), *v)).collect();
    let there: Sightings = [seen(a, &fits), seen(b, &[(channel(1), at(0))])].into();
    let at_5 = |own: &[(Key, u32, Option<SlotId>)]| {
        let mut all = own.to_vec();
        all.push((channel(1), at(0), Some(b)));
        record(&[a, b], &all)
    };
    let now = 100;
    let make = |record: &Record| plan(record, &there, now, true, &mut Entropy::from_seed(3));
    assert_eq!(make(&at_5(&own)), Plan::default(), "exactly full");
    own[77].1 = 10;
    let plan = make(&at_5(&own));
    assert_eq!(plan.carry, [(sized(255, 77), b)]);
    assert_eq!(slots_of(&plan), [b, a]);
    assert_eq!(plan.sends[0].frontiers.len(), 2);
    assert_eq!(plan.sends[1].frontiers.len(), 160);
    assert!(!plan.sends[1].frontiers.contains_key(&sized(255, 77)));
}

/// R20: the smallest key moves first, to the slot with most room; without room anywhere, to a new slot.
#[test]
fn moves_go_to_most_room_else_a_new_slot() {
    let (a, b) = (slot(1), slot(2));
    let base = bytes::blob_base(CLIENT);
    let full = |from: usize, home: SlotId| -> Vec<(Key, u32, Option<SlotId>)> {
        let mut own: Vec<_> = (from..from + 160).map(|n| (sized(255, n), 5, Some(home))).collect();
        own.push((sized(limits::BLOB_BYTES + 1 - base - 160 * 255, from + 400), 5, Some(home)));
        own
    };
    let mut own = full(0, a);
    own.extend(full(200, b));
    own[3].1 = 10;
    own[5].1 = 10;
    let record = record(&[a, b], &own);
    let there: Sightings = [
        seen(a, &full(0, a).into_iter().map(|(k, v, _)| (k, v)).collect::<Vec<_>>()),
        seen(b, &full(200, b).into_iter().map(|(k, v, _)| (k, v)).collect::<Vec<_>>()),
    ]
    .into();
    let plan = plan(&record, &there, 100, true, &mut Entropy::from_seed(3));
    assert_eq!(plan.add.len(), 1);
    assert_eq!(plan.carry, [(sized(255, 3), plan.add[0])], "moving one makes enough room for the other");
    assert_eq!(slots_of(&plan), [plan.add[0], a]);
    let stuck = super::plan(&record, &there, 100, false, &mut Entropy::from_seed(3));
    assert_eq!((stuck.add.len(), stuck.left_out), (0, 1));
}

/// R20: without a complete snapshot a spill slot that the relay was never seen to hold waits.
#[test]
fn without_a_snapshot_only_what_exists() {
    let (a, b) = (slot(1), slot(2));
    let record = record(&[a, b], &[(channel(1), at(0), Some(a)), (channel(2), at(0), Some(b))]);
    let plan = make(&record, &Sightings::new(), false);
    assert_eq!((slots_of(&plan), plan.left_out), (vec![a], 1));
    let exists: Sightings = [seen(b, &[])].into();
    let plan = make(&record, &exists, false);
    assert_eq!((slots_of(&plan), plan.left_out), (vec![a, b], 0));
}

/// A slot another client took over lacks everything.
#[test]
fn a_lost_slot_is_found() {
    let record = record(&[slot(1)], &[(channel(1), at(0), Some(slot(1)))]);
    let mut there: Sightings = [seen(slot(1), &[(channel(1), at(0))]), seen(slot(9), &[])].into();
    there.get_mut(&slot(9)).unwrap().ours = false;
    assert_eq!(lost_slot(&record, &there), None, "another one's slot is not ours to lose");
    there.get_mut(&slot(1)).unwrap().ours = false;
    assert_eq!(lost_slot(&record, &there), Some(slot(1)));
    assert!(is_anything_missing(&record, &there, T0));
}

/// `unread.md` 9.38: both bounds, for every prefix.
#[test]
fn room() {
    let mut room = Room { events: limits::SNAPSHOT_EVENTS - 1, bytes: 1_000, sizes: BTreeMap::from([(slot(1), 500)]) };
    assert!(room.check([(slot(1), 700), (slot(2), 10)]).is_ok());
    assert!(room.check([(slot(2), 10), (slot(3), 10)]).is_err());
    room = Room { events: 2, bytes: limits::SNAPSHOT_ARRAY_BYTES - 100, sizes: BTreeMap::from([(slot(1), 500)]) };
    assert!(room.check([(slot(1), 600)]).is_ok());
    assert!(room.check([(slot(1), 601)]).is_err());
    assert!(room.check([(slot(2), 99)]).is_ok());
    assert!(room.check([(slot(2), 100)]).is_err(), "the comma counts");
    assert!(room.check([(slot(2), 300), (slot(1), 100)]).is_err(), "every prefix, not only the end");
    assert!(room.check([(slot(1), 100), (slot(2), 300)]).is_ok());
}

proptest! {
    /// Whatever is carried where: each publishable key is in exactly one place, every blob fits and can be written, a key that fits
    /// stays, and once all of it was stored there is nothing left to do.
    #[test]
    fn plans_are_sound(
        keys in prop::collection::btree_map(0..600usize, (1..3u8, prop::bool::ANY, 5..300usize), 0..300),
        stored in prop::bool::ANY,
    ) {
        let (a, b) = (slot(1), slot(2));
        let mut own = Vec::new();
        for (n, (home, assigned, size)) in keys {
            let key = sized(size.clamp(12, 250), n);
            own.push((key, 5, assigned.then_some(if home == 1 { a } else { b })));
        }
        let record = record(&[a, b], &own);
        let mut there = Sightings::new();
        if stored {
            there.extend([seen(a, &own.iter().filter(|o| o.2 == Some(a)).map(|(k, v, _)| (k.clone(), *v)).collect::<Vec<_>>())]);
        }
        let now = 100;
        let plan = plan(&record, &there, now, true, &mut Entropy::from_seed(3));
        prop_assert_eq!(plan.left_out, 0);
        for send in &plan.sends {
            let state = State { frontiers: send.frontiers.clone(), ..State::default() };
            prop_assert!(blob::write(CLIENT, &state).unwrap().len() <= limits::BLOB_BYTES);
        }
        let mut after = record.clone();
        let diff = apply(&after, &Mutation::Assign { add: plan.add.clone(), carry: plan.carry.clone() }, &NoFacts).unwrap();
        after.adopt(&diff);
        for send in &plan.sends {
            there.extend([seen(send.slot, &send.frontiers.clone().into_iter().collect::<Vec<_>>())]);
        }
        prop_assert!(!is_anything_missing(&after, &there, now));
        prop_assert_eq!(super::plan(&after, &there, now, true, &mut Entropy::from_seed(4)), Plan::default());
        let placed: usize = there.values().map(|o| o.frontiers.len()).sum();
        prop_assert!(placed >= own.len());
    }
}
