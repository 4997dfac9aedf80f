use super::*;
use crate::ids::{ChannelId, EventId};

const CLIENT: &str = "0b6c8a52-7d3e-4d5a-9a51-0f2b3c4d5e6f";

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

fn mark(key: Key, value: u32, recent: u64) -> Candidate {
    Candidate { key, value, recent }
}

fn blob() -> Budget {
    Budget { base: bytes::blob_base(CLIENT), bytes: limits::BLOB_BYTES, keys: limits::JOURNAL_KEYS }
}

fn journal() -> Budget {
    Budget::journal(CLIENT)
}

fn no_covers(_: &Key, _: u32) -> Covers {
    [None, None]
}

fn channel_covers_activity(key: &Key, value: u32) -> Covers {
    match key {
        Key::Activity(channel) => [Some((Key::Channel(*channel), value.into())), None],
        _ => [None, None],
    }
}

fn run(candidates: Vec<Candidate>, budget: Budget, covers: &dyn Fn(&Key, u32) -> Covers) -> Selection {
    select(candidates, &BTreeMap::new(), budget, covers).unwrap()
}

fn kept(selection: &Selection, of: impl Fn(&Key) -> bool) -> usize {
    selection.kept.iter().filter(|c| of(&c.key)).count()
}

fn opaque(text: &str) -> Key {
    Key::parse(text).unwrap()
}

/// The capacities of `unread.md` 8.3, with ten-digit values and a client id of 36 characters.
#[test]
fn capacities_are_the_published_ones() {
    assert_eq!(bytes::blob_base(CLIENT), 72);
    type Make = fn(u32) -> Key;
    let rows: [(Make, usize, [usize; 3]); 5] = [
        (|n| Key::Channel(channel(n)), 50, [1_964, 1_473, 817]),
        (|n| Key::Message(id(n)), 82, [1_197, 898, 498]),
        (|n| Key::Thread(id(n)), 85, [1_155, 866, 481]),
        (|n| Key::Activity(channel(n)), 59, [1_664, 1_248, 693]),
        (|n| Key::ThreadActivity(id(n)), 94, [1_045, 783, 434]),
    ];
    for (make, size, [in_journal, in_share, in_blob]) in rows {
        assert_eq!(bytes::entry(&make(1), 1_751_500_000), size);
        let all: Vec<Candidate> = (0..2_500).map(|n| mark(make(n), 1_751_500_000, 0)).collect();
        assert_eq!(run(all.clone(), journal(), &no_covers).kept.len(), in_journal);
        assert_eq!(run(all.clone(), blob(), &no_covers).kept.len(), in_blob);
        // A single broad pass, with nothing for recency to add.
        let mut one = Run {
            fates: vec![Fate::Waiting; all.len()],
            candidates: all,
            budget: journal(),
            used: Used { bytes: 72, keys: 0 },
        };
        one.broad_pass();
        assert_eq!(one.into_selection(Vec::new()).kept.len(), in_share);
    }
}

/// `unread.md` 8.3: JSON escapes count as written, register-like keys carry one `esc:` on the wire.
#[test]
fn odd_keys_are_counted_as_they_are_written() {
    for text in ["a\"b", "tab\t", "\u{1}", "é", "ov_s:x", "esc:x", "back\\"] {
        let on_wire =
            if text.starts_with("ov_") || text.starts_with("esc:") { format!("esc:{text}") } else { text.into() };
        let key = opaque(text);
        assert_eq!(bytes::entry(&key, 7), serde_json::to_string(&on_wire).unwrap().len() + 3);
        assert_eq!(bytes::reserve_entry(&key, 7), serde_json::to_string(text).unwrap().len() + 3);
    }
    for value in [0, 9, 10, 99, 100, u32::MAX] {
        assert_eq!(bytes::digits(value), value.to_string().len());
    }
    let reserve: BTreeMap<&str, u32> = [("a", 1), ("bb", 22)].into();
    let entries = bytes::reserve_entry(&opaque("a"), 1) + bytes::reserve_entry(&opaque("bb"), 22);
    assert_eq!(bytes::reserve_total(2, entries), serde_json::to_string(&reserve).unwrap().len());
    assert_eq!(bytes::reserve_total(0, 0), 2);
}

/// `unread.md` 8.8, row 8.1.
#[test]
fn row_8_1_freed_room_goes_to_the_next_in_line() {
    let mut all = Vec::new();
    for n in 0..3 {
        all.push(mark(Key::Channel(channel(n)), 1000, 0));
        all.push(mark(Key::Activity(channel(n)), 100, 9000));
    }
    for n in 0..500 {
        all.push(mark(Key::ThreadActivity(id(n)), 200, 1000 + u64::from(n)));
        all.push(mark(Key::Message(id(n)), 100, 5000 + u64::from(n)));
    }
    let selection = run(all, blob(), &channel_covers_activity);
    assert_eq!(kept(&selection, |k| matches!(k, Key::Channel(_))), 3);
    assert_eq!(kept(&selection, |k| matches!(k, Key::Activity(_))), 0);
    assert_eq!(kept(&selection, |k| matches!(k, Key::ThreadActivity(_))), 348);
    assert_eq!(kept(&selection, |k| matches!(k, Key::Message(_))), 139);
    let newest = |k: &Key, most: u32| k.message().is_some_and(|i| i >= id(500 - most));
    assert!(selection.kept.iter().all(|c| match c.key {
        Key::ThreadActivity(_) => newest(&c.key, 348),
        Key::Message(_) => newest(&c.key, 139),
        _ => c.recent == 9000,
    }));
}

/// `unread.md` 8.8, row 8.2.
#[test]
fn row_8_2_a_dropped_mark_gives_its_place_to_its_cover() {
    let room = "c".repeat(50);
    let (room, thread) = (opaque(&room), opaque("thread:a"));
    let covers = |key: &Key, _: u32| -> Covers {
        match key.to_string().as_str() {
            "msg:c0" | "msg:c1" => [Some((room.clone(), 100)), None],
            "thread-activity:a" => [Some((thread.clone(), 300)), None],
            _ => [None, None],
        }
    };
    let all = vec![
        mark(room.clone(), 500, 0),
        mark(opaque("msg:c0"), 100, 9000),
        mark(opaque("msg:c1"), 100, 8999),
        mark(opaque("thread-activity:a"), 300, 8000),
        mark(thread.clone(), 300, 7000),
        mark(opaque("msg:b"), 600, 6000),
    ];
    let budget = Budget { base: bytes::blob_base("c"), bytes: 150, keys: 10_000 };
    let selection = run(all, budget, &covers);
    let mut names: Vec<String> = selection.kept.iter().map(|c| c.key.to_string()).collect();
    names.sort();
    assert_eq!(names, [&room.to_string(), "msg:b", "thread:a"]);
    let recent = |key: &Key| selection.kept.iter().find(|c| c.key == *key).unwrap().recent;
    assert_eq!((recent(&thread), recent(&room)), (8000, 9000));
}

/// `unread.md` 8.8, row 8.4.
#[test]
fn row_8_4_recent_catch_up_never_pushes_out_quiet_broad_marks() {
    let mut all: Vec<Candidate> = (0..300).map(|n| mark(Key::Channel(channel(n)), 10, 0)).collect();
    all.extend((0..100).map(|n| mark(Key::Thread(id(n)), 20, 0)));
    all.extend((0..600).map(|n| mark(Key::Activity(channel(1000 + n)), 1000 + n, u64::from(n) + 1)));
    let selection = run(all, blob(), &no_covers);
    assert_eq!(kept(&selection, |k| matches!(k, Key::Channel(_))), 300);
    assert_eq!(kept(&selection, |k| matches!(k, Key::Thread(_))), 100);
    let activity = kept(&selection, |k| matches!(k, Key::Activity(_)));
    assert!(activity > 0 && activity < 600);
}

/// `unread.md` 8.8, row 8.5.
#[test]
fn row_8_5_the_newest_read_is_kept_beside_old_broad_marks() {
    let mut all: Vec<Candidate> =
        (0..1_300).map(|n| mark(Key::ThreadActivity(id(n)), 1_751_500_000, u64::from(n) + 1)).collect();
    all.push(mark(Key::Message(id(9_999)), 1_600_000_000, 5_000));
    assert_eq!(kept(&run(all, journal(), &no_covers), Key::is_message), 1);
}

/// `unread.md` 8.8, row 8.6.
#[test]
fn row_8_6_channels_first_then_the_newest_read() {
    let mut all: Vec<Candidate> = (0..295).map(|n| mark(Key::Channel(channel(n)), 1_751_500_000, 1)).collect();
    all.extend((0..459).map(|n| mark(Key::Thread(id(n)), 1_751_500_000, 2)));
    all.push(mark(Key::Message(id(9_999)), 1_751_500_000, 3));
    let selection = run(all, blob(), &no_covers);
    assert_eq!(kept(&selection, |k| matches!(k, Key::Channel(_))), 295);
    assert_eq!(kept(&selection, Key::is_message), 1);
}

/// `unread.md` 8.8, row 8.9.
#[test]
fn row_8_9_floors_are_never_cut() {
    let overrides = [(opaque("room"), Override { set: 1, clear: 0, baseline: 4 })].into();
    let budget = Budget { base: 36, bytes: 50, keys: 10_000 };
    assert!(select(vec![mark(opaque("room"), 4, 0)], &overrides, budget, &no_covers).is_err());
}

/// `unread.md` 8.8, row 8.10.
#[test]
fn row_8_10_overrides_and_broad_floors_stay_messages_go() {
    let register = Override { set: 4, clear: 0, baseline: 15 };
    let overrides = [(opaque("msg:child"), register)].into();
    let mut all = vec![mark(opaque("room"), 20, 0), mark(opaque("thread:root"), 30, 0)];
    all.push(mark(opaque("msg:child"), 10, 0));
    all.extend((0..300).map(|n| mark(opaque(&format!("msg:{n}")), 100, n + 1)));
    let budget = Budget { base: bytes::blob_base(CLIENT), bytes: 512, keys: 10_000 };
    let selection = select(all, &overrides, budget, &no_covers).unwrap();
    for name in ["room", "thread:root", "msg:child"] {
        assert_eq!(kept(&selection, |k| *k == opaque(name)), 1, "{name}");
    }
    // The channel mark lifts the message's frontier above the baseline.
    assert!(!register.is_active(20) && register.is_active(15) && register.is_active(0));
}

/// `unread.md` 8.5: chains resolve to the final kept cover, cycles drop nothing, a cover that did not fit replaces nothing.
#[test]
fn chains_and_cycles() {
    let (a, b, c) = (opaque("a"), opaque("b"), opaque("c"));
    let chain = |key: &Key, _: u32| -> Covers {
        let next = if *key == a {
            Some(&b)
        } else if *key == b {
            Some(&c)
        } else {
            None
        };
        [next.map(|k| (k.clone(), 1)), None]
    };
    let all = || vec![mark(a.clone(), 1, 7), mark(b.clone(), 1, 6), mark(c.clone(), 1, 0)];
    let selection = run(all(), journal(), &chain);
    assert_eq!(selection.kept.len(), 1);
    assert!(selection.kept.iter().all(|k| k.key == c && k.recent == 7));
    let cycle = |key: &Key, _: u32| -> Covers {
        let next = if *key == a { &b } else { &a };
        [(*key != c).then(|| (next.clone(), 1)), None]
    };
    assert_eq!(run(all(), journal(), &cycle).kept.len(), 3);
    let none_kept = |_: &Key| None;
    assert_eq!(final_cover(&a, 1, &chain, &none_kept), None);
}

#[test]
fn a_message_mark_takes_part_in_the_broad_pass_when_room_remains() {
    let all = vec![mark(Key::Message(id(1)), 1, 0), mark(Key::Channel(channel(1)), 1, 0)];
    let budget = Budget { base: 0, bytes: 200, keys: 8 };
    assert_eq!(run(all, budget, &no_covers).kept.len(), 2);
}
