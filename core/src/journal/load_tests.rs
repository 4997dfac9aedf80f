use super::*;
use crate::journal::{Mark, Mutation, NoFacts, Read, apply};

const SLOT: &str = "0123456789abcdef0123456789abcdef";

fn stored() -> Stored {
    Stored {
        client_id: "client".into(),
        revision: 9,
        accepted_revision: 4,
        last_created_at: 100,
        slots: vec![SLOT.into()],
        ..Stored::default()
    }
}

fn channel() -> String {
    "0b6c8a52-7d3e-4d5a-9a51-0f2b3c4d5e6f".into()
}

fn hex(n: u8) -> String {
    hex::encode([n; 32])
}

fn frontier(value: i64) -> StoredRow {
    StoredRow { value: Some(value), ..StoredRow::default() }
}

fn receipt(value: i64) -> StoredRow {
    StoredRow { value: Some(value), reserved: true, ..StoredRow::default() }
}

fn verify(json: &str) -> Option<Signed> {
    let slot = SlotId::parse(SLOT).unwrap();
    (json == "good").then_some(Signed { id: EventId([1; 32]), created_at: 100, slot })
}

#[track_caller]
fn damaged(change: impl FnOnce(&mut Stored)) {
    let mut record = stored();
    change(&mut record);
    assert!(record.validate(&verify).is_err());
}

#[track_caller]
fn fine(change: impl FnOnce(&mut Stored)) -> Record {
    let mut record = stored();
    change(&mut record);
    record.validate(&verify).unwrap()
}

#[test]
fn a_whole_record_loads() {
    let record = fine(|s| {
        s.rows = vec![
            (channel(), StoredRow { recent: 3, own: Some(5), slot: Some(SLOT.into()), ..frontier(7) }),
            (format!("msg:{}", hex(1)), StoredRow { home: Some(channel()), ..receipt(8) }),
            (format!("thread:{}", hex(2)), StoredRow { own: Some(5), ..StoredRow::default() }),
        ];
        s.overrides = vec![(channel(), [1, 2, 3])];
        s.local = vec![(format!("message-force:{}", channel()), 9)];
        s.pending = vec![("good".into(), 9)];
        s.follows = vec![(channel(), hex(1), 1, 4)];
    });
    let channel = ChannelId::parse(&channel()).unwrap();
    assert_eq!(record.frontier(&Key::Channel(channel)), Some(7));
    assert_eq!(record.home(&EventId([1; 32])), Some(channel));
    assert_eq!(record.own().count(), 2);
    assert_eq!(record.overrides().len(), 1);
    assert_eq!(record.local_mark(&LocalKey::MessageForce(channel)), Some(9));
    assert_eq!(record.pending().len(), 1);
    assert_eq!(record.follows().get(channel, EventId([1; 32])), Some(true));
    assert!(record.is_unpublished());
}

/// `unread.md` 8.1, the scalar members.
#[test]
fn scalars() {
    for bad in [-1, 1 << 53] {
        damaged(|s| s.revision = bad);
    }
    for bad in [-1, 10] {
        damaged(|s| s.accepted_revision = bad);
    }
    for bad in [-1, 1 << 32] {
        damaged(|s| s.last_created_at = bad);
    }
    damaged(|s| s.client_id = String::new());
    damaged(|s| s.client_id = "é".repeat(65));
    fine(|s| s.client_id = "é".repeat(64));
}

#[test]
fn slots() {
    damaged(|s| s.slots.clear());
    damaged(|s| s.slots = vec![SLOT.to_uppercase()]);
    damaged(|s| s.slots = vec![SLOT.into(), SLOT.into()]);
    damaged(|s| s.slots = (0..=limits::SLOTS).map(|n| format!("{n:032x}")).collect());
}

/// `unread.md` 8.1: keys, values and interaction order of frontiers.
#[test]
fn frontiers() {
    for bad in ["", &"k".repeat(257)] {
        damaged(|s| s.rows = vec![(bad.into(), frontier(1))]);
    }
    for bad in [-1, 1 << 32] {
        damaged(|s| s.rows = vec![("room".into(), frontier(bad))]);
        damaged(|s| s.rows = vec![("room".into(), StoredRow { own: Some(bad), ..frontier(1) })]);
        damaged(|s| s.overrides = vec![("room".into(), [bad, 0, 0])]);
        damaged(|s| s.overrides = vec![("room".into(), [0, bad, 0])]);
        damaged(|s| s.overrides = vec![("room".into(), [0, 0, bad])]);
    }
    damaged(|s| s.rows = vec![("room".into(), StoredRow { recent: 10, ..frontier(1) })]);
    damaged(|s| s.rows = vec![("room".into(), StoredRow { recent: -1, ..frontier(1) })]);
    damaged(|s| s.rows = vec![("room".into(), StoredRow { recent: 1, ..receipt(1) })]);
    damaged(|s| s.rows = vec![("room".into(), StoredRow::default())]);
    damaged(|s| s.rows = vec![("room".into(), frontier(1)), ("room".into(), frontier(2))]);
    damaged(|s| s.rows = (0..=limits::JOURNAL_KEYS).map(|n| (format!("{n}"), frontier(1))).collect());
    damaged(|s| s.rows = (0..2_000).map(|n| (format!("{n:060}"), frontier(1_000_000_000))).collect());
    damaged(|s| s.overrides = vec![("k".repeat(252), [1, 0, 0])]);
    fine(|s| s.overrides = vec![("k".repeat(251), [1, 0, 0])]);
}

#[test]
fn own() {
    damaged(|s| s.rows = vec![(format!("msg:{}", hex(1)), StoredRow { own: Some(1), ..frontier(1) })]);
    damaged(|s| s.rows = vec![("room".into(), StoredRow { slot: Some(SLOT.into()), ..frontier(1) })]);
    let elsewhere = Some(format!("{:032x}", 7));
    damaged(|s| s.rows = vec![("room".into(), StoredRow { own: Some(1), slot: elsewhere, ..frontier(1) })]);
}

/// `unread.md` 8.8, row 8.16. That a key is in both sets cannot be stored: a row is one key.
#[test]
fn row_8_16_reserve() {
    damaged(|s| s.rows = (0..=limits::RESERVE_KEYS).map(|n| (format!("m:{n}"), receipt(1))).collect());
    damaged(|s| s.rows = vec![("room".into(), receipt(-1))]);
    damaged(|s| s.rows = vec![(String::new(), receipt(1))]);
    damaged(|s| s.rows = vec![("k".repeat(257), receipt(1))]);
    damaged(|s| s.rows = vec![("room".into(), frontier(1)), ("room".into(), receipt(1))]);
    damaged(|s| s.rows = (0..2_300).map(|n| (format!("{n:0>216}:"), receipt(1_000_000_000))).collect());
}

/// `unread.md` 8.8, row 8.17.
#[test]
fn row_8_17_homes() {
    let home = || Some(channel());
    damaged(|s| s.rows = vec![(format!("msg:{}", hex(1)), StoredRow { home: Some("?".into()), ..frontier(1) })]);
    let record = fine(|s| {
        s.rows = vec![
            ("room".into(), StoredRow { home: home(), ..frontier(1) }),
            (format!("thread:{}", hex(1)), StoredRow { home: home(), own: Some(1), ..StoredRow::default() }),
        ];
    });
    assert!(record.rows().all(|(_, row)| row.home.is_none()), "a home nothing kept names is dropped silently");
}

#[test]
fn manual_marks() {
    for bad in [0, -1, 10] {
        damaged(|s| s.local = vec![(channel(), bad)]);
    }
    damaged(|s| s.local = vec![("thread:short".into(), 1)]);
    damaged(|s| s.local = (0..=limits::LOCAL_MARKS).map(|n| (format!("msg:{n:064x}"), 1)).collect());
}

#[test]
fn pending() {
    damaged(|s| s.pending = vec![("forged".into(), 1)]);
    damaged(|s| s.pending = vec![("good".into(), 10)]);
    damaged(|s| s.pending = vec![("good".into(), 1), ("good".into(), 1)]);
    damaged(|s| {
        s.pending = vec![("good".into(), 1)];
        s.last_created_at = 99;
    });
    damaged(|s| {
        s.pending = vec![("good".into(), 1)];
        s.slots = vec![format!("{:032x}", 7)];
    });
}

/// `unread.md` 10, rows 10.12 and 10.13: what cannot be read is skipped, the newest 1,000 are kept.
#[test]
fn row_10_12_follows() {
    let record = fine(|s| {
        s.follows = vec![
            ("bad".into(), "yes".into(), 1, 1),
            (channel(), hex(1), 7, 2),
            (channel(), hex(2), 0, -1),
            (channel(), hex(3), 1, 4),
        ];
    });
    assert_eq!(record.follows().iter().map(|(key, _)| key.1).collect::<Vec<_>>(), [EventId([3; 32])]);
    let record = fine(|s| {
        s.follows = (0..1_200).map(|n| (channel(), format!("{n:064x}"), 1, n)).collect();
    });
    assert_eq!(record.follows().len(), limits::FOLLOWS);
    assert!(record.follows().iter().all(|((_, root), _)| root.to_hex() >= format!("{:064x}", 200)));
}

/// Opaque contexts of other clients survive a round.
#[test]
fn what_is_not_understood_is_kept() {
    let mut record = fine(|s| s.rows = vec![("ov_x:esc:\u{1f980}".into(), frontier(3))]);
    let marks = vec![Mark::always(Key::parse("room").unwrap(), 1)];
    let diff = apply(&record, &Mutation::Read(Read { marks, ..Read::default() }), &NoFacts).unwrap();
    record.adopt(&diff);
    assert_eq!(record.frontier(&Key::parse("ov_x:esc:\u{1f980}").unwrap()), Some(3));
}
