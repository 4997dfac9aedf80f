use proptest::prelude::*;

use super::*;
use crate::journal::{Facts, Fence, Fresh, MessageFact, NoFacts, is_ahead};

const T: u32 = 1_751_500_000;

fn id(n: u32) -> EventId {
    let mut bytes = [0u8; 32];
    bytes[..4].copy_from_slice(&n.to_be_bytes());
    EventId(bytes)
}

fn channel(n: u32) -> ChannelId {
    let mut bytes = [0u8; 16];
    bytes[..4].copy_from_slice(&n.to_be_bytes());
    ChannelId(bytes)
}

fn slot(n: u8) -> SlotId {
    SlotId([n; 16])
}

fn msg(n: u32) -> Key {
    Key::Message(id(n))
}

fn room(n: u32) -> Key {
    Key::Channel(channel(n))
}

fn fresh() -> Record {
    Record::new(Fresh { slot: slot(1), client_id: "0b6c8a52-7d3e-4d5a-9a51-0f2b3c4d5e6f".into() })
}

fn read(marks: Vec<(Key, u32)>) -> Mutation {
    let marks = marks.into_iter().map(|(key, value)| Mark::always(key, value.into())).collect();
    Mutation::Read(Read { marks, ..Read::default() })
}

fn merge(frontiers: Vec<(Key, u32)>) -> Mutation {
    Mutation::Merge(Merge { frontiers, ..Merge::default() })
}

fn overrides(overrides: Vec<(Key, Override)>) -> Mutation {
    Mutation::Merge(Merge { overrides, ..Merge::default() })
}

fn facts(all: impl IntoIterator<Item = (u32, u32, u32, bool)>) -> Facts {
    let fact = |(n, c, at, ordinary): (u32, u32, u32, bool)| {
        (id(n), MessageFact { channel: channel(c), created_at: at.into(), ordinary })
    };
    Facts(all.into_iter().map(fact).collect())
}

impl Record {
    #[track_caller]
    fn must(&mut self, mutation: &Mutation, facts: &dyn Coverage) -> Diff {
        let diff = apply(self, mutation, facts).unwrap();
        self.adopt(&diff);
        self.check();
        diff
    }

    fn place(&self, key: &Key) -> Option<Place> {
        self.rows.get(key).and_then(|row| row.held).map(|held| held.place)
    }

    fn in_journal(&self, key: &Key) -> bool {
        matches!(self.place(key), Some(Place::Journal { .. }))
    }

    /// Every invariant of the record, counted anew.
    #[track_caller]
    fn check(&self) {
        let mut anew = Record::new(Fresh { slot: slot(1), client_id: self.header.client_id.clone() });
        for (key, row) in &self.rows {
            anew.put(key, *row);
            assert!(!row.is_empty());
            assert!(row.home.is_none() || row.held.is_some());
            assert!(row.own.is_none() || !key.is_message());
            if let Some(Held { place: Place::Journal { recent }, .. }) = row.held {
                assert!(recent <= self.header.revision);
            }
        }
        assert_eq!(anew.totals, self.totals);
        assert!(anew.by_home == self.by_home && anew.homeless == self.homeless);
        assert!(anew.reserve_order == self.reserve_order);
        let ((bytes, keys), (reserve_bytes, reserve_keys)) = (self.journal_size(), self.reserve_size());
        assert!(bytes <= limits::JOURNAL_BYTES && keys <= limits::JOURNAL_KEYS);
        assert!(reserve_bytes <= limits::RESERVE_BYTES && reserve_keys <= limits::RESERVE_KEYS);
        assert!(self.header.accepted_revision <= self.header.revision);
        assert!(self.local.values().all(|at| (1..=self.header.revision).contains(at)));
        let reserve: BTreeMap<String, u32> = self
            .rows
            .iter()
            .filter_map(|(k, r)| r.held.filter(|h| h.place == Place::Reserve).map(|h| (k.to_string(), h.value)))
            .collect();
        assert_eq!(serde_json::to_string(&reserve).unwrap().len(), reserve_bytes, "the reserve is counted exactly");
    }
}

/// `unread.md` 8.2: a read takes one revision, whatever it writes; 7.6.
#[test]
fn a_read_takes_one_revision_and_advances_by_maximum() {
    let mut record = fresh();
    let mutation = Mutation::Read(Read {
        marks: vec![Mark::always(room(1), 25), Mark::always(msg(1), 11)],
        clear: vec![LocalKey::Channel(channel(1)), LocalKey::Thread(id(7)), LocalKey::MessageForce(channel(1))],
        ..Read::default()
    });
    record.must(&Mutation::MarkUnread(LocalKey::Channel(channel(1))), &NoFacts);
    record.must(&Mutation::MarkUnread(LocalKey::MessageForce(channel(1))), &NoFacts);
    record.must(&Mutation::MarkUnread(LocalKey::Channel(channel(2))), &NoFacts);
    let before = record.revision();
    record.must(&mutation, &NoFacts);
    assert_eq!(record.revision(), before + 1);
    assert_eq!(record.local_marks().map(|(key, _)| *key).collect::<Vec<_>>(), [LocalKey::Channel(channel(2))]);
    assert_eq!((record.frontier(&room(1)), record.frontier(&msg(1))), (Some(25), Some(11)));
    record.must(&read(vec![(room(1), 20)]), &NoFacts);
    assert_eq!(record.frontier(&room(1)), Some(25), "a frontier never sinks");
}

/// `unread.md` 8.2, 6.13: the same value again is an interaction, unless the caller says that it is covered.
#[test]
fn what_is_read_already_saves_nothing() {
    let mut record = fresh();
    record.must(&read(vec![(room(1), 20)]), &NoFacts);
    let again = record.must(&read(vec![(room(1), 20)]), &NoFacts);
    assert!(!again.is_empty());
    assert_eq!(record.place(&room(1)), Some(Place::Journal { recent: 2 }));
    let covered = |mark: Mark| Mutation::Read(Read { marks: vec![mark], ..Read::default() });
    for mark in [Mark::unless_read(msg(1), 20, [room(1)]), Mark::unless_read(room(1), 20, [])] {
        assert!(apply(&record, &covered(mark), &NoFacts).unwrap().is_empty());
    }
    let newer = covered(Mark::unless_read(msg(1), 21, [room(1)]));
    assert!(!apply(&record, &newer, &NoFacts).unwrap().is_empty());
    assert!(apply(&record, &merge(vec![(room(1), 20), (room(1), 3)]), &NoFacts).unwrap().is_empty(), "9.28");
}

/// R14: the `msg:` marks of a catch-up are judged by the activity mark of the same save.
#[test]
fn marks_of_one_read_see_each_other() {
    let mut record = fresh();
    let marks = vec![
        Mark::unless_read(Key::Activity(channel(1)), 20, [room(1)]),
        Mark::unless_read(msg(1), 15, [Key::Activity(channel(1))]),
        Mark::unless_read(msg(2), 15, [room(1)]),
    ];
    record.must(&Mutation::Read(Read { marks, ..Read::default() }), &NoFacts);
    assert_eq!((record.frontier(&msg(1)), record.frontier(&msg(2))), (None, Some(15)));
}

/// `unread.md` 6.4: a manual mark made after the lease cancels, one made before does not.
#[test]
fn fences_hold_against_the_record_being_replaced() {
    let mut record = fresh();
    let key = LocalKey::Channel(channel(1));
    record.must(&Mutation::MarkUnread(key), &NoFacts);
    let lease = |revision| {
        Mutation::Read(Read {
            marks: vec![Mark::always(Key::Activity(channel(1)), 9)],
            clear: vec![key],
            fences: vec![Fence { key, revision }],
        })
    };
    let at = record.revision();
    let fenced = apply(&record, &lease(at - 1), &NoFacts);
    assert_eq!(fenced, Err(JournalError::Fenced));
    record.must(&lease(at), &NoFacts);
    assert_eq!(record.local_mark(&key), None);
    let error: crate::error::Error = JournalError::Fenced.into();
    assert_eq!(error.code(), "cancelled");
}

/// F6, F3; `unread.md` 7.4: a mark twice is nothing, clearing gives back exactly what was, no frontier moves.
#[test]
fn manual_marks_move_no_frontier() {
    let mut record = fresh();
    record.must(&read(vec![(room(1), 5)]), &NoFacts);
    let key = LocalKey::Channel(channel(1));
    record.must(&Mutation::MarkUnread(key), &NoFacts);
    assert_eq!(record.local_mark(&key), Some(2));
    assert!(apply(&record, &Mutation::MarkUnread(key), &NoFacts).unwrap().is_empty());
    assert_eq!(record.frontier(&room(1)), Some(5));
    record.must(&Mutation::ClearUnread(vec![key]), &NoFacts);
    assert!(apply(&record, &Mutation::ClearUnread(vec![key]), &NoFacts).unwrap().is_empty());
    assert_eq!(record.frontier(&room(1)), Some(5));
}

#[test]
fn one_manual_mark_too_many_is_refused() {
    let mut record = fresh();
    for n in 0..limits::LOCAL_MARKS as u32 {
        record.local.insert(LocalKey::Message(id(n)), 1);
    }
    record.header.revision = 1;
    let more = Mutation::MarkUnread(LocalKey::Channel(channel(1)));
    assert_eq!(apply(&record, &more, &NoFacts), Err(JournalError::Capacity("manual unread marks")));
    assert!(apply(&record, &Mutation::MarkUnread(LocalKey::Message(id(1))), &NoFacts).unwrap().is_empty());
}

/// `unread.md` 8.8, row 8.21: a local-only change after everything was accepted is accepted too; R19 for `msg:` marks.
#[test]
fn row_8_21_local_changes_give_nothing_to_publish() {
    let mut record = fresh();
    record.must(&Mutation::MarkUnread(LocalKey::Channel(channel(1))), &NoFacts);
    record.must(&read(vec![(msg(1), 9)]), &NoFacts);
    assert_eq!((record.revision(), record.is_unpublished()), (2, false));
    record.must(&read(vec![(room(1), 9)]), &NoFacts);
    assert!(record.is_unpublished());
    record.must(&Mutation::ClearUnread(vec![LocalKey::Channel(channel(1))]), &NoFacts);
    assert_eq!((record.header.accepted_revision, record.revision()), (2, 4), "what waits is not accepted by the way");
}

/// `unread.md` 8.2: merges, homes and read-back change no revision.
#[test]
fn what_others_did_changes_no_revision() {
    let mut record = fresh();
    record.must(&read(vec![(Key::Thread(id(1)), 9), (room(9), 1)]), &NoFacts);
    let before = record.revision();
    record.must(&merge(vec![(room(1), 8)]), &NoFacts);
    record.must(&Mutation::LearnHomes(vec![(id(1), channel(2))]), &NoFacts);
    record.must(&Mutation::Reconcile { events: vec![], accepted: Some(before) }, &NoFacts);
    assert_eq!((record.revision(), record.is_unpublished()), (before, false));
    assert_eq!(record.home(&id(1)), Some(channel(2)));
}

/// R19; `unread.md` 9.8, row 9.34; E22: own is what was advanced here, never a peer's value, never a `msg:` mark.
#[test]
fn own_is_what_this_installation_advanced() {
    let mut record = fresh();
    record.must(&read(vec![(room(1), 5), (msg(1), 5)]), &NoFacts);
    record.must(&merge(vec![(room(2), 9), (room(3), 9)]), &NoFacts);
    record.must(&read(vec![(room(1), 7), (room(2), 9), (room(3), 4)]), &NoFacts);
    let own: Vec<(Key, u32)> = record.own().map(|(key, own)| (key.clone(), own.value)).collect();
    assert_eq!(own, [(room(1), 7)]);
    record.must(&read(vec![(room(2), 10)]), &NoFacts);
    assert_eq!(record.row(&room(2)).unwrap().own, Some(Own { value: 10, slot: None }));
}

/// `unread.md` 9.8: values found in this installation's own slots become own again; a cloned journal never sends an older one.
#[test]
fn own_values_are_recovered_from_own_slots() {
    let mut record = fresh();
    record.must(&read(vec![(room(1), 5)]), &NoFacts);
    let found = vec![(room(1), 8, slot(1)), (room(2), 4, slot(1)), (msg(3), 4, slot(1)), (room(4), 1, slot(9))];
    let mutation = Mutation::Merge(Merge { own: found, ..Merge::default() });
    record.must(&mutation, &NoFacts);
    let own = |key: Key| record.row(&key).and_then(|row| row.own);
    assert_eq!(own(room(1)), Some(Own { value: 8, slot: Some(slot(1)) }));
    assert_eq!(own(room(2)), Some(Own { value: 4, slot: Some(slot(1)) }));
    assert_eq!(own(msg(3)), None);
    assert_eq!(own(room(4)), Some(Own { value: 1, slot: None }), "a slot that is not listed is nobody's");
    assert_eq!(record.frontier(&room(1)), Some(8));
    assert!(apply(&record, &mutation, &NoFacts).unwrap().is_empty());
}

/// A covered own mark stays published until its cover is as much this installation's own.
#[test]
fn own_goes_with_its_mark_only_under_an_own_cover() {
    let mut record = fresh();
    record.must(&read(vec![(Key::Activity(channel(1)), 5), (Key::Activity(channel(2)), 5)]), &NoFacts);
    record.must(&merge(vec![(room(1), 9)]), &NoFacts);
    record.must(&read(vec![(room(2), 9)]), &NoFacts);
    assert!(record.place(&Key::Activity(channel(1))).is_none() && record.place(&Key::Activity(channel(2))).is_none());
    let own: Vec<Key> = record.own().map(|(key, _)| key.clone()).collect();
    assert_eq!(own, [room(2), Key::Activity(channel(1))]);
    record.must(&read(vec![(Key::Activity(channel(1)), 6)]), &NoFacts);
    assert_eq!(record.frontier(&Key::Activity(channel(1))), Some(6));
}

/// R12, E21.
#[test]
fn a_value_too_far_ahead_is_recognised() {
    assert!(is_ahead(&room(1), T + 901, T.into()) && !is_ahead(&room(1), T + 900, T.into()));
    assert!(!is_ahead(&msg(1), u32::MAX, T.into()));
    assert!(is_ahead(&Key::parse("context of somebody").unwrap(), u32::MAX, T.into()));
}

/// A time beyond what a frontier can hold is refused, not cut.
#[test]
fn a_time_beyond_the_format_is_refused() {
    let marks = vec![Mark::always(room(1), u64::from(u32::MAX) + 1)];
    let refused = apply(&fresh(), &Mutation::Read(Read { marks, ..Read::default() }), &NoFacts);
    assert_eq!(refused, Err(JournalError::Invalid("time of a mark")));
}

/// `unread.md` 8.8, row 8.7.
#[test]
fn row_8_7_coverage_is_off_while_an_override_exists() {
    let known = facts([(1, 7, 10, false), (2, 8, 30, false)]);
    let all = vec![(room(7), 20), (msg(1), 10), (msg(2), 30)];
    let mut record = fresh();
    record.must(&merge(all.clone()), &known);
    assert_eq!((record.frontier(&msg(1)), record.frontier(&msg(2))), (None, Some(30)));
    let mut held = fresh();
    held.must(&overrides(vec![(room(9), Override { set: 1, clear: 1, baseline: 0 })]), &known);
    held.must(&merge(all), &known);
    assert_eq!((held.frontier(&msg(1)), held.frontier(&msg(2))), (Some(10), Some(30)));
}

/// `unread.md` 8.8, rows 8.24 and 8.25.
#[test]
fn rows_8_24_and_8_25_what_a_broader_mark_replaces() {
    let known = facts([(1, 7, 10, false), (2, 7, 11, false), (5, 7, 5, false)]);
    let mut record = fresh();
    record.must(&read(vec![(msg(1), 10), (msg(2), 11)]), &known);
    record.must(&read(vec![(Key::ThreadActivity(id(5)), 11)]), &known);
    record.must(&read(vec![(Key::Thread(id(5)), 11)]), &known);
    assert!(record.in_journal(&msg(1)) && record.in_journal(&msg(2)), "a thread mark replaces no message mark");
    assert_eq!(record.place(&Key::ThreadActivity(id(5))), None);
    record.must(&read(vec![(Key::Activity(channel(7)), 11)]), &known);
    record.must(&read(vec![(room(7), 25)]), &known);
    assert_eq!(record.rows().map(|(key, _)| key.clone()).collect::<Vec<_>>(), [room(7)]);
}

/// `unread.md` 8.5, every row of its table.
#[test]
fn coverage_table() {
    let (activity, thread, thread_activity) =
        (Key::Activity(channel(7)), Key::Thread(id(1)), Key::ThreadActivity(id(1)));
    let known = |at, ordinary| facts([(1, 7, at, ordinary)]);
    let gone = |cover: (Key, u32), mark: (Key, u32), facts: &dyn Coverage| {
        let mut record = fresh();
        record.must(&merge(vec![cover, mark.clone()]), facts);
        record.place(&mark.0).is_none()
    };
    assert!(gone((room(7), 5), (activity.clone(), 5), &NoFacts));
    assert!(!gone((room(7), 4), (activity.clone(), 5), &NoFacts));
    assert!(gone((thread.clone(), 5), (thread_activity.clone(), 5), &NoFacts));
    assert!(!gone((thread.clone(), 4), (thread_activity.clone(), 5), &NoFacts));
    assert!(!gone((room(7), 5), (thread.clone(), 5), &NoFacts), "home unknown");
    assert!(gone((room(7), 5), (thread.clone(), 5), &known(9, false)));
    assert!(gone((room(7), 5), (thread_activity.clone(), 5), &known(9, false)));
    assert!(!gone((room(8), 5), (thread.clone(), 5), &known(1, false)), "another channel");
    assert!(gone((room(7), 5), (msg(1), 9), &known(5, false)), "the event's time counts");
    assert!(!gone((room(7), 5), (msg(1), 5), &known(6, false)));
    assert!(gone((activity.clone(), 5), (msg(1), 5), &known(5, true)));
    assert!(!gone((activity.clone(), 5), (msg(1), 5), &known(5, false)));
    assert!(!gone((thread, 5), (msg(1), 5), &known(5, true)));
    assert!(!gone((thread_activity, 5), (msg(1), 5), &known(5, true)));
    assert!(!gone((activity, 5), (room(7), 5), &NoFacts));
    // Not retained, home saved: the mark's own value counts.
    let mut record = fresh();
    record.must(&read(vec![(msg(1), 9)]), &known(5, false));
    record.must(&merge(vec![(room(7), 8)]), &NoFacts);
    assert!(record.in_journal(&msg(1)));
    record.must(&merge(vec![(room(7), 9)]), &NoFacts);
    assert_eq!(record.place(&msg(1)), None);
}

/// `unread.md` 8.5: a dropped mark passes its interaction order on.
#[test]
fn a_dropped_mark_protects_its_cover() {
    let known = facts([(1, 7, 10, false)]);
    let mut record = fresh();
    record.must(&read(vec![(msg(1), 10)]), &known);
    record.must(&merge(vec![(room(7), 20)]), &known);
    assert_eq!(record.place(&room(7)), Some(Place::Journal { recent: 1 }));
}

/// `unread.md` 8.8, row 8.11.
#[test]
fn row_8_11_a_returning_receipt_keeps_the_maximum() {
    let mut record = fresh();
    record.put(&msg(1), Row { held: Some(Held { value: 20, place: Place::Reserve }), ..Row::default() });
    record.must(&read(vec![(msg(1), 5)]), &NoFacts);
    assert_eq!((record.frontier(&msg(1)), record.in_journal(&msg(1))), (Some(20), true));
    assert_eq!(record.reserve_size(), (2, 0));
}

/// `unread.md` 8.8, row 8.12; H9.
#[test]
fn row_8_12_many_message_marks_fill_journal_and_reserve() {
    let mut record = fresh();
    let all: Vec<(Key, u32)> = (0..8_000).map(|n| (msg(n), T + n)).collect();
    record.must(&read(all), &NoFacts);
    let (_, journal) = record.journal_size();
    let (_, reserve) = record.reserve_size();
    assert_eq!((journal, reserve), (1_197, 5_000));
    assert_eq!((record.frontier(&msg(0)), record.frontier(&msg(7_999))), (None, Some(T + 7_999)));
    let again: Vec<(Key, u32)> = record.rows().map(|(key, row)| (key.clone(), row.frontier().unwrap())).collect();
    let journal_only = again.into_iter().filter(|(key, _)| record.in_journal(key)).collect();
    assert!(apply(&record, &merge(journal_only), &NoFacts).unwrap().is_empty(), "idempotent");
}

fn with_reserve(keys: impl IntoIterator<Item = (Key, u32)>) -> Record {
    let mut record = fresh();
    for (key, value) in keys {
        record.put(&key, Row { held: Some(Held { value, place: Place::Reserve }), ..Row::default() });
    }
    record
}

/// `unread.md` 8.8, row 8.14.
#[test]
fn row_8_14_an_override_leaves_the_reserve_alone() {
    let reserve: Vec<(Key, u32)> = (0..2_000).map(|n| (Key::ThreadActivity(id(n)), T)).collect();
    let mut record = with_reserve(reserve);
    record.must(&overrides(vec![(room(1), Override { set: 1, clear: 0, baseline: 4 })]), &NoFacts);
    assert_eq!(record.reserve_size().1, 2_000);
    assert_eq!(record.journal_size().1, 3);
}

/// `unread.md` 8.8, row 8.15: nothing of a reserve that is exactly full is lost.
#[test]
fn row_8_15_a_full_reserve_is_kept_whole() {
    let mut keys: Vec<(Key, u32)> = (0..4_000).map(|n| (Key::ThreadActivity(id(n)), T)).collect();
    let used = bytes::reserve_total(4_000, keys.iter().map(|(k, v)| bytes::reserve_entry(k, *v)).sum());
    let (mut left, mut n) = (limits::RESERVE_BYTES - used, 0);
    while keys.len() < limits::RESERVE_KEYS {
        let room = left / (limits::RESERVE_KEYS - keys.len());
        let text = format!("x:{n:0>width$}", width = room - 16);
        keys.push((Key::parse(&text).unwrap(), T));
        left -= bytes::reserve_entry(&keys[keys.len() - 1].0, T);
        n += 1;
    }
    let mut record = with_reserve(keys);
    assert_eq!(record.reserve_size(), (limits::RESERVE_BYTES, limits::RESERVE_KEYS));
    record.must(&overrides(vec![(room(1), Override { set: 1, clear: 0, baseline: 4 })]), &NoFacts);
    assert_eq!(record.reserve_size(), (limits::RESERVE_BYTES, limits::RESERVE_KEYS));
}

/// `unread.md` 8.7: an override pulls its floor out of the reserve.
#[test]
fn an_override_pulls_its_floor_into_the_journal() {
    let mut record = with_reserve([(room(1), 9), (room(2), 9)]);
    record.must(&overrides(vec![(room(1), Override { set: 1, clear: 0, baseline: 4 })]), &NoFacts);
    assert!(record.in_journal(&room(1)) && !record.in_journal(&room(2)));
    assert_eq!(record.overrides()[&room(1)], Override { set: 1, clear: 0, baseline: 4 });
    record.must(&overrides(vec![(room(1), Override { set: 0, clear: 2, baseline: 1 })]), &NoFacts);
    assert_eq!(record.overrides()[&room(1)], Override { set: 1, clear: 2, baseline: 4 });
    let long = Key::parse(&"k".repeat(252)).unwrap();
    let refused = apply(&record, &overrides(vec![(long, Override::default())]), &NoFacts);
    assert_eq!(refused, Err(JournalError::Invalid("key of an override")));
}

/// `unread.md` 8.4.1: with an override, broad marks that do not fit make the save fail; nothing is cut.
#[test]
fn overrides_and_floors_that_do_not_fit_fail_the_save() {
    let mut record = fresh();
    record.must(&overrides(vec![(room(1), Override { set: 1, clear: 0, baseline: 4 })]), &NoFacts);
    let many: Vec<(Key, u32)> = (0..2_000).map(|n| (room(n), T)).collect();
    assert!(matches!(apply(&record, &merge(many), &NoFacts), Err(JournalError::Capacity(_))));
    let messages: Vec<(Key, u32)> = (0..2_000).map(|n| (msg(n), T)).collect();
    record.must(&merge(messages), &NoFacts);
    assert_eq!(record.reserve_size().1 + record.journal_size().1, 2_003);
}

/// Seed: the reserve drops a receipt that a kept broader receipt covers, wherever the cover is.
#[test]
fn the_reserve_drops_what_is_covered() {
    let mut record = with_reserve([(Key::Activity(channel(1)), 5), (room(2), 9), (Key::ThreadActivity(id(3)), 4)]);
    record.must(&read(vec![(room(1), 6)]), &NoFacts);
    assert_eq!(record.frontier(&Key::Activity(channel(1))), None, "cover in the journal");
    record.put(
        &Key::Activity(channel(2)),
        Row { held: Some(Held { value: 9, place: Place::Reserve }), ..Row::default() },
    );
    record.must(&Mutation::LearnHomes(vec![(id(3), channel(2))]), &NoFacts);
    assert_eq!(record.rows().map(|(k, _)| k.clone()).collect::<Vec<_>>(), [room(1), room(2)], "cover in the reserve");
    // A journal mark never depends on a cover in the reserve, which is not published.
    record.must(&read(vec![(Key::Activity(channel(2)), 8)]), &NoFacts);
    assert!(record.in_journal(&Key::Activity(channel(2))));
}

/// `unread.md` 10, rows 10.1–10.3 and 10.11 as far as they are storage; D1, D3.
#[test]
fn follow_choices_keep_their_order_and_bound() {
    let mut record = fresh();
    let follow = |n: u32, choice| Mutation::Follow { channel: channel(1), root: id(n), choice };
    for n in 0..limits::FOLLOWS as u32 {
        record.must(&follow(n, Some(true)), &NoFacts);
    }
    assert_eq!(record.revision(), 0, "a choice is no reading");
    record.must(&follow(0, Some(false)), &NoFacts);
    assert!(apply(&record, &follow(0, Some(false)), &NoFacts).unwrap().is_empty(), "the newest choice again");
    let diff = record.must(&follow(5_000, Some(true)), &NoFacts);
    assert_eq!(diff.follows.last(), Some(&((channel(1), id(1)), None)), "the oldest goes and is named");
    let all: Vec<_> = record.follows().iter().collect();
    assert_eq!(all.len(), limits::FOLLOWS);
    assert_eq!(all[998..], [((channel(1), id(0)), false), ((channel(1), id(5_000)), true)]);
    assert_eq!(record.follows().get(channel(2), id(0)), None, "row 10.7: another channel");
    record.must(&follow(0, None), &NoFacts);
    assert_eq!(record.follows().get(channel(1), id(0)), None);
    assert!(apply(&record, &follow(0, None), &NoFacts).unwrap().is_empty());
}

fn pending(n: u32, at: u8, revision: u64) -> Pending {
    Pending { id: id(n), slot: slot(at), created_at: T + n, revision, json: "{}".into() }
}

/// R20; `unread.md` 9.7: slots are saved before use, events before sending, in order.
#[test]
fn slots_and_pending_events() {
    let mut record = fresh();
    record.must(&read(vec![(room(1), 5), (room(2), 6)]), &NoFacts);
    let assign = |add: Vec<SlotId>, carry| Mutation::Assign { add, carry };
    record.must(&assign(vec![slot(2)], vec![(room(1), slot(1)), (room(2), slot(2))]), &NoFacts);
    assert_eq!(record.slots(), [slot(1), slot(2)]);
    assert_eq!(record.row(&room(2)).unwrap().own, Some(Own { value: 6, slot: Some(slot(2)) }));
    for wrong in [
        assign(vec![slot(1)], vec![]),
        assign(vec![], vec![(room(3), slot(1))]),
        assign(vec![], vec![(room(1), slot(9))]),
        Mutation::SavePending(vec![pending(1, 9, 1)]),
        Mutation::SavePending(vec![pending(1, 1, 2)]),
        Mutation::SavePending(vec![pending(1, 1, 1), pending(2, 1, 1)]),
        Mutation::ReplacePending { refused: id(1), event: pending(2, 1, 1) },
    ] {
        assert!(matches!(apply(&record, &wrong, &NoFacts), Err(JournalError::Invalid(_))));
    }
    record.must(&Mutation::SavePending(vec![pending(1, 2, 1), pending(2, 1, 1)]), &NoFacts);
    assert_eq!(record.pending().iter().map(|p| p.id).collect::<Vec<_>>(), [id(1), id(2)]);
    assert_eq!(record.header().last_created_at, T + 2);
    record.must(&Mutation::ReplacePending { refused: id(1), event: pending(3, 2, 1) }, &NoFacts);
    assert_eq!(record.pending().iter().map(|p| p.id).collect::<Vec<_>>(), [id(3), id(2)]);
    record.must(&Mutation::Reconcile { events: vec![id(3)], accepted: None }, &NoFacts);
    assert!(record.is_unpublished());
    record.must(&Mutation::Reconcile { events: vec![id(2)], accepted: Some(99) }, &NoFacts);
    assert_eq!((record.pending().len(), record.header().accepted_revision), (0, 1), "never beyond the revision");
    let too_many = assign((10..10 + limits::SLOTS as u8).map(slot).collect(), vec![]);
    assert!(matches!(apply(&record, &too_many, &NoFacts), Err(JournalError::Capacity(_))));
}

/// R21: the lost slot's pending event goes, what it carried is carried by the new one, its values stay own.
#[test]
fn a_lost_slot_is_replaced() {
    let mut record = fresh();
    record.must(&read(vec![(room(1), 5)]), &NoFacts);
    record.must(&Mutation::Assign { add: vec![slot(2)], carry: vec![(room(1), slot(1))] }, &NoFacts);
    record.must(&Mutation::SavePending(vec![pending(1, 1, 1), pending(2, 2, 1)]), &NoFacts);
    record.must(&Mutation::ReplaceSlot { lost: slot(1), fresh: slot(3) }, &NoFacts);
    assert_eq!(record.slots(), [slot(3), slot(2)]);
    assert_eq!(record.pending().iter().map(|p| p.id).collect::<Vec<_>>(), [id(2)]);
    assert_eq!(record.row(&room(1)).unwrap().own, Some(Own { value: 5, slot: Some(slot(3)) }));
    for (lost, fresh) in [(slot(1), slot(4)), (slot(2), slot(3))] {
        assert!(apply(&record, &Mutation::ReplaceSlot { lost, fresh }, &NoFacts).is_err());
    }
}

/// The bound on what is published: the lowest values go first.
#[test]
fn own_frontiers_are_bounded() {
    let mut record = fresh();
    for n in 0..limits::OWN_KEYS as u32 {
        record.put(&room(n), Row { own: Some(Own { value: T + n, slot: None }), ..Row::default() });
    }
    record.must(&read(vec![(room(50_000), T + 50_000)]), &NoFacts);
    assert_eq!(record.own().count(), limits::OWN_KEYS);
    assert!(record.row(&room(0)).is_none() && record.row(&room(1)).is_some());
}

/// `questions` asks for everything the answer to which could change what is dropped.
#[test]
fn questions_name_what_matters() {
    let mut record = fresh();
    record.must(&read(vec![(msg(1), 5), (msg(2), 5)]), &facts([(1, 7, 5, false)]));
    let asked: Vec<EventId> = record.questions(&read(vec![(room(7), 4), (msg(3), 1)])).into_iter().collect();
    assert_eq!(asked, [id(1), id(2), id(3)]);
    assert_eq!(record.questions(&read(vec![(room(8), 4)])).into_iter().collect::<Vec<_>>(), [id(2)]);
    assert!(record.questions(&Mutation::ClearUnread(vec![])).is_empty());
    assert_eq!(record.questions(&Mutation::LearnHomes(vec![])).len(), 2);
}

/// The same rules without any shortcut: select among everything, build the reserve from nothing.
#[derive(Default)]
struct Oracle {
    journal: BTreeMap<Key, (u32, u64)>,
    reserve: BTreeMap<Key, u32>,
    revision: u64,
}

impl Oracle {
    fn step(&mut self, marks: &[(Key, u32)], local: bool, facts: &Facts) {
        self.revision += u64::from(local);
        for (key, value) in marks {
            let back = self.reserve.remove(key).unwrap_or(0);
            let entry = self.journal.entry(key.clone()).or_default();
            entry.0 = entry.0.max(*value).max(back);
            entry.1 = if local { self.revision } else { entry.1 };
        }
        let covers = |key: &Key, value: u32| covers(key, value, None, facts);
        let candidates = self.journal.iter().map(|(key, (value, recent))| Candidate {
            key: key.clone(),
            value: *value,
            recent: *recent,
        });
        let budget = Budget::journal(&fresh().header.client_id);
        let selection = select(candidates.collect(), &BTreeMap::new(), budget, &covers).unwrap();
        for key in selection.evicted {
            self.reserve.insert(key.clone(), self.journal[&key].0);
        }
        self.journal = selection.kept.into_iter().map(|c| (c.key, (c.value, c.recent))).collect();
        let mut ranks: Vec<(ReserveRank, u32)> =
            self.reserve.iter().map(|(key, value)| (ReserveRank::new(key.clone(), *value), *value)).collect();
        ranks.sort();
        let (mut accepted, mut used) = (BTreeMap::new(), 0);
        for (rank, value) in ranks {
            let kept = |key: &Key| self.journal.get(key).map(|(v, _)| *v).or_else(|| accepted.get(key).copied());
            if final_cover(&rank.key, value, &covers, &kept).is_some() {
                continue;
            }
            let entry = bytes::reserve_entry(&rank.key, value);
            if accepted.len() == limits::RESERVE_KEYS
                || bytes::reserve_total(accepted.len() + 1, used + entry) > limits::RESERVE_BYTES
            {
                break;
            }
            used += entry;
            accepted.insert(rank.key, value);
        }
        self.reserve = accepted;
    }

    #[track_caller]
    fn compare(&self, record: &Record) {
        let mut held: BTreeMap<Key, Held> = self
            .journal
            .iter()
            .map(|(k, (value, recent))| (k.clone(), Held { value: *value, place: Place::Journal { recent: *recent } }))
            .collect();
        held.extend(self.reserve.iter().map(|(k, v)| (k.clone(), Held { value: *v, place: Place::Reserve })));
        let found: BTreeMap<Key, Held> =
            record.rows().filter_map(|(key, row)| row.held.map(|held| (key.clone(), held))).collect();
        assert!(held == found, "{} against {} rows", held.len(), found.len());
    }
}

/// Message `n` lies in channel `n % 5`, has time `T + n`, and is ordinary when even.
fn world(messages: u32) -> Facts {
    facts((0..messages).map(|n| (n, n % 5, T + n, n % 2 == 0)))
}

fn key_of(family: u8, n: u32) -> Key {
    match family {
        0 => room(n % 5),
        1 => Key::Activity(channel(n % 5)),
        2 => Key::Thread(id(n)),
        3 => Key::ThreadActivity(id(n)),
        _ => msg(n),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// What is looked at incrementally comes to the same as looking at everything.
    #[test]
    fn shortcuts_change_nothing(
        steps in prop::collection::vec((any::<bool>(), prop::collection::vec((0u8..6, 0u32..40, 0u32..60), 1..5)), 1..30),
    ) {
        let known = world(40);
        let (mut record, mut oracle) = (fresh(), Oracle::default());
        for (local, marks) in steps {
            let marks: Vec<(Key, u32)> = marks.into_iter().map(|(f, n, v)| (key_of(f, n), T + v)).collect();
            let before = record.clone();
            record.must(&if local { read(marks.clone()) } else { merge(marks.clone()) }, &known);
            oracle.step(&marks, local, &known);
            oracle.compare(&record);
            // No frontier sinks, but for what is covered: and then its cover reads as far.
            for (key, row) in before.rows() {
                let (was, now) = (row.frontier().unwrap(), record.frontier(key));
                let reads = |cover: Option<(Key, u64)>| {
                    cover.is_some_and(|(c, need)| record.frontier(&c).is_some_and(|f| u64::from(f) >= need))
                };
                let covered = covers(key, was, None, &known).into_iter().any(reads);
                prop_assert!(now.is_some_and(|now| now >= was) || covered);
            }
            let again: Vec<(Key, u32)> =
                record.rows().filter_map(|(k, r)| r.held.map(|held| (k.clone(), held.value))).collect();
            prop_assert!(apply(&record, &merge(again), &known).unwrap().is_empty(), "idempotent");
        }
    }

    #[test]
    fn keys_round_trip(text in "(msg:|thread:|activity:|thread-activity:|esc:|ov_s:|)[0-9a-f-]{0,64}|.{1,40}") {
        match Key::parse(&text) {
            Ok(key) => {
                prop_assert_eq!(key.to_string(), text.clone());
                prop_assert_eq!(key.text_len(), text.len());
                prop_assert_eq!(Key::parse(&text).unwrap(), key);
            }
            Err(_) => prop_assert!(text.is_empty() || text.len() > limits::KEY_BYTES),
        }
    }

    #[test]
    fn typed_keys_order_as_their_text(a in (0u8..6, any::<u32>()), b in (0u8..6, any::<u32>())) {
        let (a, b) = (key_of(a.0, a.1), key_of(b.0, b.1));
        prop_assert_eq!(a.text_cmp(&b), a.to_string().cmp(&b.to_string()));
    }
}

/// The same under pressure, where the journal is full and later the reserve too.
#[test]
fn shortcuts_change_nothing_under_pressure() {
    let known = world(9_000);
    let (mut record, mut oracle) = (fresh(), Oracle::default());
    for step in 0..140u32 {
        let marks: Vec<(Key, u32)> = (0..60)
            .map(|n| {
                let n = (step * 61 + n * 7) % 9_000;
                match n % 11 {
                    0 => (Key::Thread(id(n)), T + n),
                    1 => (Key::ThreadActivity(id(n)), T + n),
                    _ => (msg(n), T + n),
                }
            })
            .collect();
        let marks = if step % 35 == 34 { vec![(room(step % 5), T + step * 20)] } else { marks };
        record.must(&if step % 3 == 0 { merge(marks.clone()) } else { read(marks.clone()) }, &known);
        oracle.step(&marks, step % 3 != 0, &known);
        oracle.compare(&record);
    }
    assert!(record.reserve_size().1 > 4_000, "pressure was reached: {}", record.reserve_size().1);
}

/// E6: a mark just made for an old message outlives older interaction.
#[test]
fn an_old_message_read_now_outlives_older_reads() {
    let mut record = fresh();
    record.must(&read((0..1_300).map(|n| (msg(n), T)).collect()), &NoFacts);
    record.must(&read(vec![(msg(5_000), T - 864_000)]), &NoFacts);
    record.must(&read((2_000..2_100).map(|n| (msg(n), T)).collect()), &NoFacts);
    assert!(record.in_journal(&msg(5_000)));
}
