//! Rows of `unread.md` 6.5, 7.7 and 11.6 that no given scenario shows, against a table of messages.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::ids::Target;
use crate::journal::{Fence, Mark, Read};

const C: ChannelId = ChannelId([1; 16]);
const NOW: u64 = 1_000;

fn id(n: u8) -> EventId {
    EventId([n; 32])
}

fn at(n: u8, created_at: u64) -> MessageFact {
    MessageFact {
        id: id(n),
        created_at,
        own: false,
        quiet: false,
        reference: None,
        resolved_root: Some(id(n)),
        row: true,
        priority: false,
        marked: false,
        overridden: false,
        beyond_frontier: true,
    }
}

fn reply(n: u8, created_at: u64, root: u8) -> MessageFact {
    let reference = Some(Reference { parent: id(root), root: id(root) });
    MessageFact { reference, resolved_root: Some(id(root)), row: false, priority: true, ..at(n, created_at) }
}

#[derive(Default)]
struct Table {
    messages: Vec<MessageFact>,
    marks: BTreeMap<LocalKey, u64>,
    others: BTreeMap<EventId, RowKey>,
    unknown_roots: BTreeSet<EventId>,
    revision: u64,
    dm: bool,
    denied: bool,
    read_only: bool,
    untyped: bool,
}

impl Facts for Table {
    fn allowed(&self, _: ChannelId) -> bool {
        !self.denied
    }
    fn is_dm(&self, _: ChannelId) -> bool {
        self.dm
    }
    fn type_known(&self, _: ChannelId) -> bool {
        !self.untyped
    }
    fn message(&self, _: ChannelId, id: EventId) -> Option<MessageFact> {
        self.messages.iter().find(|m| m.id == id).copied()
    }
    fn messages(&self, _: ChannelId) -> Vec<MessageFact> {
        let mut all = self.messages.clone();
        all.sort_by_key(|m| (m.created_at, m.id));
        all
    }
    fn knows(&self, _: ChannelId, id: EventId) -> bool {
        !self.unknown_roots.contains(&id)
    }
    fn other_row(&self, _: ChannelId, id: EventId) -> Option<RowKey> {
        self.others.get(&id).copied()
    }
    fn mark_revision(&self, key: &LocalKey) -> Option<u64> {
        self.marks.get(key).copied()
    }
    fn revision(&self) -> u64 {
        self.revision
    }
    fn can_write_frontiers(&self) -> bool {
        !self.read_only
    }
}

fn table(messages: Vec<MessageFact>) -> Table {
    Table { messages, ..Table::default() }
}

fn view(visible: &[u8], bottom: Option<u8>) -> Viewport {
    Viewport { active: true, settled: true, visible: visible.iter().map(|n| id(*n)).collect(), bottom: bottom.map(id) }
}

/// The reads a dwell on this viewport earns.
fn dwell(table: &Table, root: Option<u8>, viewport: &Viewport) -> Vec<Read> {
    let mut surfaces = Surfaces::default();
    let surface = surfaces.open(C, root.map(id)).unwrap();
    surfaces.report(surface, viewport, Millis(0), table);
    let due = surfaces.next_wake();
    surfaces.on_wake(due.unwrap_or(Millis(300)), NOW, table).into_iter().map(|e| e.intent.read).collect()
}

fn values(reads: &[Read]) -> Vec<(Key, u64)> {
    reads.iter().flat_map(|r| &r.marks).map(|m| (m.key.clone(), m.value)).collect()
}

fn message(n: u8) -> Key {
    Key::Message(id(n))
}

/// `unread.md` 6.2 with R14: 11 own root, 12 reply to me, 13 ordinary root, 14 stranger's reply, 15 mention, 16 broadcast, 20 bottom.
#[test]
fn a_channel_bottom_saves_activity_and_a_mark_for_each_row_it_cannot_read() {
    let own = MessageFact { own: true, ..at(11, 11) };
    let stranger = MessageFact { priority: false, ..reply(14, 14, 13) };
    let priority = |n| MessageFact { priority: true, ..at(n, u64::from(n)) };
    let t = table(vec![own, reply(12, 12, 11), at(13, 13), stranger, priority(15), priority(16), at(20, 20)]);
    let reads = dwell(&t, None, &view(&[], Some(20)));
    assert_eq!(values(&reads), vec![(Key::Activity(C), 20), (message(15), 15), (message(16), 16)]);
    assert_eq!(reads[0].fences, vec![Fence { key: LocalKey::Channel(C), revision: 0 }]);
    assert!(reads[0].clear.is_empty());
}

/// `unread.md` 6.5–6.8.
#[test]
fn only_the_newest_row_is_a_bottom() {
    let broadcast = MessageFact { row: true, ..reply(9, 30, 1) };
    assert!(dwell(&table(vec![at(1, 10), at(2, 20)]), None, &view(&[], Some(1))).is_empty());
    assert!(dwell(&table(vec![at(1, 10), broadcast]), None, &view(&[], Some(1))).is_empty());
    let plain = dwell(&table(vec![at(1, 10), reply(2, 20, 1)]), None, &view(&[], Some(1)));
    assert_eq!(values(&plain), vec![(Key::Activity(C), 20)]);
    let equal = dwell(&table(vec![at(1, 10), at(2, 10)]), None, &view(&[], Some(1)));
    assert_eq!(values(&equal), vec![(Key::Activity(C), 10)]);
}

/// R14a: a notice at the bottom stands for the newest message row above it.
#[test]
fn a_notice_at_the_bottom_counts_by_the_message_above() {
    let mut t = table(vec![at(1, 10), at(2, 20)]);
    t.others.insert(id(9), RowKey::new(25, id(9)));
    assert_eq!(values(&dwell(&t, None, &view(&[], Some(9)))), vec![(Key::Activity(C), 20)]);
    t.messages.push(at(3, 30));
    assert!(dwell(&t, None, &view(&[], Some(9))).is_empty(), "a newer row exists below the notice");
}

/// R12, R14a: a future-dated row is read by its own mark, and limits no cut.
#[test]
fn prefixes_stop_before_what_is_dated_too_far_ahead() {
    let t = table(vec![at(1, 10), at(2, NOW + 901)]);
    assert_eq!(values(&dwell(&t, None, &view(&[], Some(2)))), vec![(Key::Activity(C), 10), (message(2), NOW + 901)]);
    let edge = table(vec![at(1, 10), at(2, NOW + 900)]);
    assert_eq!(values(&dwell(&edge, None, &view(&[], Some(2)))), vec![(Key::Activity(C), NOW + 900)]);
    let dm = Table { dm: true, ..table(vec![at(1, 10), at(2, NOW + 901)]) };
    assert_eq!(values(&dwell(&dm, None, &view(&[1], None))), vec![(Key::Channel(C), 10)]);
    assert_eq!(values(&dwell(&dm, None, &view(&[2], None))), vec![(Key::Channel(C), 10), (message(2), NOW + 901)]);
}

/// `unread.md` 6.2, 6.13, 6.15: what makes a visible row's own mark unnecessary.
#[test]
fn a_visible_row_needs_no_mark_that_a_broader_one_covers() {
    let root = id(1);
    let t = table(vec![at(1, 10), reply(2, 20, 1), MessageFact { priority: true, ..at(3, 30) }]);
    let reads = dwell(&t, Some(1), &view(&[2], None));
    let covers = |key: Key, more: &[Key]| Mark::unless_read(key, 20, more.iter().cloned());
    assert_eq!(reads[0].marks, vec![covers(message(2), &[Key::Channel(C), Key::Thread(root)])]);
    let ordinary = dwell(&t, None, &view(&[1], None));
    assert!(ordinary[0].marks[0].unless.contains(&Key::Activity(C)));
    assert!(!dwell(&t, None, &view(&[3], None))[0].marks[0].unless.contains(&Key::Activity(C)), "priority");
    let untyped = Table { untyped: true, ..table(vec![at(1, 10)]) };
    assert!(!dwell(&untyped, None, &view(&[1], None))[0].marks[0].unless.contains(&Key::Activity(C)), "6.15");
    let overridden = table(vec![MessageFact { overridden: true, ..at(1, 10) }]);
    assert!(!dwell(&overridden, None, &view(&[1], None))[0].marks[0].unless.contains(&Key::Activity(C)));
}

/// `unread.md` 11.13 and R14a: the first 128 rows of a report count.
#[test]
fn a_long_report_counts_its_first_rows() {
    let t = table((0..200).map(|n| at(n, u64::from(n) + 1)).collect());
    let all: Vec<u8> = (0..200).collect();
    assert_eq!(values(&dwell(&t, None, &view(&all, None))).len(), limits::VISIBLE_ROWS);
}

/// `unread.md` 6.17 as a report: what is not held is passed over, the rest is read.
#[test]
fn rows_not_held_are_passed_over() {
    let t = table(vec![at(1, 10), at(3, 30), MessageFact { own: true, ..at(4, 40) }]);
    assert_eq!(values(&dwell(&t, None, &view(&[1, 2, 3, 4], None))), vec![(message(1), 10), (message(3), 30)]);
}

/// `unread.md` 6.18, 6.21–6.24, R15.
#[test]
fn a_dm_thread_stops_before_the_outside() {
    let dm = |messages| Table { dm: true, marks: [(LocalKey::Channel(C), 0)].into(), ..table(messages) };
    let full = vec![at(1, 10), reply(2, 12, 1), at(3, 13), reply(4, 14, 1)];
    let whole = dwell(&dm(full.clone()), None, &view(&[1], None));
    assert_eq!((values(&whole), whole[0].clear.len()), (vec![(Key::Channel(C), 14)], 1));
    let thread = dwell(&dm(full.clone()), Some(1), &view(&[1, 2], None));
    assert_eq!((values(&thread), thread[0].clear.len()), (vec![(Key::Channel(C), 12)], 0));
    let with = |change: fn(&mut MessageFact)| {
        let mut messages = full.clone();
        change(&mut messages[2]);
        values(&dwell(&dm(messages), Some(1), &view(&[1, 2], None)))
    };
    let newest = vec![(Key::Channel(C), 14)];
    assert_eq!(with(|m| m.own = true), newest, "6.22");
    assert_eq!(with(|m| m.quiet = true), newest);
    assert_eq!(with(|m| m.marked = true), newest, "a message kept unread does not stop it");
    assert_eq!(with(|m| m.beyond_frontier = false), newest);
    assert_eq!(with(|m| m.created_at = 10), vec![(Key::Channel(C), 9)], "6.23");
    let mut lone = dm(vec![reply(3, 13, 9), reply(4, 14, 9)]);
    assert_eq!(values(&dwell(&lone, Some(9), &view(&[4], Some(4)))), vec![(Key::Channel(C), 14)]);
    lone.unknown_roots.insert(id(9));
    assert_eq!(values(&dwell(&lone, Some(9), &view(&[4], Some(4)))), vec![(Key::Channel(C), 12)], "6.24");
}

/// `unread.md` 6.1: leases, fences, capability and access.
#[test]
fn what_ends_a_lease() {
    let mut t = table(vec![at(1, 10)]);
    let mut surfaces = Surfaces::default();
    let s = surfaces.open(C, None).unwrap();
    assert!(surfaces.report(s, &Viewport { active: false, ..view(&[1], None) }, Millis(0), &t), "a hard stop");
    assert!(!surfaces.report(s, &Viewport { settled: false, ..view(&[1], None) }, Millis(0), &t));
    assert!(!surfaces.report(s, &view(&[], None), Millis(0), &t));
    assert_eq!(surfaces.next_wake(), None);
    surfaces.report(s, &view(&[1], None), Millis(0), &t);
    surfaces.report(s, &view(&[1], None), Millis(200), &t);
    assert_eq!(surfaces.next_wake(), Some(Millis(300)), "an equal report postpones nothing");
    assert!(surfaces.viewing(id(1)));
    assert!(surfaces.on_wake(Millis(299), NOW, &t).is_empty());
    t.marks.insert(LocalKey::Channel(C), 1);
    assert!(surfaces.on_wake(Millis(300), NOW, &t).is_empty(), "a newer manual mark");
    surfaces.report(s, &view(&[1], None), Millis(400), &t);
    surfaces.on_access_lost(C);
    assert_eq!(surfaces.next_wake(), None);
    t.denied = true;
    surfaces.report(s, &view(&[1], None), Millis(500), &t);
    assert_eq!(surfaces.next_wake(), None, "R16b");
    let read_only = Table { read_only: true, ..table(vec![at(1, 10)]) };
    assert!(dwell(&read_only, None, &view(&[1], Some(1))).is_empty(), "11.10");
}

/// `unread.md` 3.29.
#[test]
fn the_sixty_fifth_surface_fails() {
    let mut surfaces = Surfaces::default();
    let first = surfaces.open(C, None).unwrap();
    for _ in 1..limits::SURFACES {
        surfaces.open(C, None).unwrap();
    }
    assert_eq!(surfaces.open(C, None), Err(Error::Capacity { what: "reading surfaces" }));
    surfaces.close(first);
    surfaces.open(C, None).unwrap();
}

/// R14b, R16, R16b.
#[test]
fn mark_through_a_future_dated_message() {
    let t = table(vec![at(1, 10), reply(2, 20, 1), at(3, NOW + 5_000), reply(4, NOW + 6_000, 1)]);
    let through = |target, n| explicit::mark_through(&target, id(n), NOW, &t).map(|i| values(&[i.read]));
    let channel = Target::Channel(C);
    assert_eq!(through(channel, 3), Ok(vec![(message(3), NOW + 5_000), (Key::Channel(C), 10)]));
    assert_eq!(through(Target::Thread(C, id(1)), 4), Ok(vec![(message(4), NOW + 6_000), (Key::Thread(id(1)), 20)]));
    assert_eq!(through(Target::Message(C, id(3)), 3), Ok(vec![(message(3), NOW + 5_000)]));
    assert_eq!(through(channel, 9), Err(Error::NotFound { what: "message" }));
    assert!(matches!(through(channel, 2), Err(Error::InvalidTarget { .. })));
    let denied = Table { denied: true, ..Table::default() };
    assert_eq!(explicit::mark_through(&channel, id(1), NOW, &denied), Err(Error::Denied));
    let read_only = Table { read_only: true, ..table(vec![at(1, 10)]) };
    assert_eq!(explicit::mark_through(&channel, id(1), NOW, &read_only), Err(Error::ReadOnly));
}

/// `unread.md` 7.2, 7.9, 7.10.
#[test]
fn mark_channel_read_takes_the_later_of_click_and_newest() {
    let cut = |t: &Table, click| explicit::mark_channel_read(C, click, t).map(|i| values(&[i.read]));
    let t = table(vec![at(1, 10), reply(2, 20, 1)]);
    assert_eq!(cut(&t, 15), Ok(vec![(Key::Channel(C), 20)]));
    assert_eq!(cut(&t, 25), Ok(vec![(Key::Channel(C), 25)]));
    let future = table(vec![at(1, 10), at(2, 5_000)]);
    assert_eq!(cut(&future, 25), Ok(vec![(Key::Channel(C), 25), (message(2), 5_000)]), "R14b");
    let empty = Table { read_only: true, ..Table::default() };
    assert_eq!(cut(&empty, 20), Ok(vec![]));
    assert_eq!(cut(&Table { read_only: true, ..table(vec![at(1, 10)]) }, 20), Err(Error::ReadOnly));
    let intent = explicit::mark_channel_read(C, 25, &t).unwrap();
    for key in [LocalKey::Channel(C), LocalKey::Thread(id(1)), LocalKey::Message(id(2)), LocalKey::MessageForce(C)] {
        assert!(intent.read.clear.contains(&key));
    }
}

/// `unread.md` 1.3, 7.4: what can be marked by hand.
#[test]
fn manual_marks_need_their_target() {
    let quiet = MessageFact { quiet: true, ..at(2, 20) };
    let t = table(vec![at(1, 10), quiet, reply(3, 30, 1)]);
    let key = |target| explicit::manual_key(&target, &t);
    assert_eq!(key(Target::Message(C, id(3))), Ok(LocalKey::Message(id(3))));
    assert_eq!(key(Target::Thread(C, id(1))), Ok(LocalKey::Thread(id(1))));
    assert!(matches!(key(Target::Message(C, id(2))), Err(Error::InvalidTarget { .. })));
    assert!(matches!(key(Target::Message(C, id(9))), Err(Error::NotFound { .. })));
    assert!(matches!(key(Target::Thread(C, id(9))), Err(Error::NotFound { .. })));
}
