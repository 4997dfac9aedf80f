//! Codec and coordinate, row by row (`unread.md` 9.11 rows 9.1–9.13; pitfalls E12).

use proptest::prelude::*;

use super::*;
use crate::testing::{Author, template};

const SLOT: &str = "00112233445566778899aabbccddeeff";

fn key(text: &str) -> Key {
    Key::parse(text).unwrap()
}

fn read(contexts: &str) -> State {
    parse(format!(r#"{{"v":1,"client_id":"c","contexts":{contexts}}}"#).as_bytes()).unwrap().state
}

fn frontiers(entries: &[(&str, u32)]) -> State {
    State { frontiers: entries.iter().map(|(k, v)| (key(k), *v)).collect(), ..State::default() }
}

fn with_override(mut state: State, name: &str, set: u32, clear: u32, baseline: u32) -> State {
    state.overrides.insert(key(name), Override { set, clear, baseline });
    state
}

fn coordinate_of(kind: u16, tags: &[&[&str]]) -> Option<SlotId> {
    coordinate(&Author::named("me").sign(template(kind, 1, tags, "")))
}

/// 9.1: a slot of 32 hex digits, one `t`; other `t` values do not disturb.
#[test]
fn row_9_1_a_coordinate_is_recognised() {
    let d = format!("read-state:{SLOT}");
    let slot = SlotId::parse(SLOT).ok();
    assert_eq!(coordinate_of(30078, &[&["d", &d], &["t", "read-state"]]), slot);
    assert_eq!(coordinate_of(30078, &[&["t", "x"], &["t", "read-state", "y"], &["d", &d, "z"]]), slot);
    let rendered = app_data::tags(&app_data::read_state_coordinate(slot.unwrap()), app_data::READ_STATE);
    let tags: Vec<Vec<&str>> = rendered.iter().map(|t| t.iter().map(String::as_str).collect()).collect();
    let tags: Vec<&[&str]> = tags.iter().map(Vec::as_slice).collect();
    assert_eq!(coordinate_of(30078, &tags), slot);
}

/// 9.2, E12: anything else is another application's.
#[test]
fn row_9_2_other_shapes_are_ignored() {
    let d = format!("read-state:{SLOT}");
    let (short, upper) = (d[..d.len() - 1].to_string(), d.to_uppercase().replace("READ-STATE", "read-state"));
    let t: &[&str] = &["t", "read-state"];
    for tags in [
        &[&["d", short.as_str()][..], t][..],
        &[&["d", upper.as_str()], t],
        &[&["d", &d], &["d", &d], t],
        &[&["d", &d], &["d", "other"], t],
        &[&["d", &d], t, t],
        &[&["d", &d]],
        &[&["d", &d], &["t", "Read-State"]],
        &[&["d", "settings"], t],
        &[&["d"], t],
        &[t],
        &[],
    ] {
        assert_eq!(coordinate_of(30078, tags), None);
    }
    assert_eq!(coordinate_of(9, &[&["d", &d], t]), None);
}

/// 13.10: somebody else's event at a valid coordinate.
#[test]
fn row_13_10_another_author_is_ignored() {
    let d = format!("read-state:{SLOT}");
    let event = Author::named("ada").sign(template(30078, 1, &[&["d", &d], &["t", "read-state"]], ""));
    assert!(own_coordinate(&event, &Author::named("ada").key()).is_some());
    assert_eq!(own_coordinate(&event, &Author::named("me").key()), None);
}

/// 9.3: entries with impossible values go alone; other spellings of an integer are that integer.
#[test]
fn row_9_3_values() {
    assert_eq!(read(r#"{"bad":-1,"frac":1.5,"big":4294967296,"ok":0}"#), frontiers(&[("ok", 0)]));
    assert_eq!(
        read(r#"{"s":"5","n":null,"a":[1],"o":{},"t":true,"huge":1e400,"max":4294967295,"e":1e3,"f":4.0}"#),
        frontiers(&[("max", u32::MAX), ("e", 1_000), ("f", 4)])
    );
}

/// 9.4: 256 bytes is the longest key, prefix included.
#[test]
fn row_9_4_keys() {
    let long = "é".repeat(129);
    let longest = "é".repeat(128);
    assert_eq!(read(&format!(r#"{{"{long}":1,"{longest}":2,"":3}}"#)), frontiers(&[(&longest, 2)]));
    let escaped = format!("esc:{}", "x".repeat(252));
    assert_eq!(read(&format!(r#"{{"{escaped}":1,"{escaped}x":2,"esc:":3}}"#)), frontiers(&[(&escaped[4..], 1)]));
}

/// 9.6 and the other checks of the whole.
#[test]
fn row_9_6_whole_blob_checks() {
    let is = |text: &str| parse(text.as_bytes()).map(|_| ());
    assert_eq!(is(r#"{"v":1,"client_id":"c","contexts":{},"x":[{}]}"#), Ok(()));
    assert_eq!(is(r#"{"v":1.0,"client_id":"c","contexts":{}}"#), Ok(()));
    for v in ["2", "0", "\"1\"", "true", "null", "[1]"] {
        assert_eq!(is(&format!(r#"{{"v":{v},"client_id":"c","contexts":{{}}}}"#)), Err(Unreadable::Version));
    }
    assert_eq!(is(r#"{"client_id":"c","contexts":{}}"#), Err(Unreadable::Version));
    let (most, more) = ("é".repeat(64), "é".repeat(65));
    assert_eq!(is(&format!(r#"{{"v":1,"client_id":"{most}","contexts":{{}}}}"#)), Ok(()));
    for client in [format!("\"{more}\""), "\"\"".into(), "7".into(), "null".into()] {
        assert_eq!(is(&format!(r#"{{"v":1,"client_id":{client},"contexts":{{}}}}"#)), Err(Unreadable::ClientId));
    }
    for contexts in ["[]", "null", "\"\"", "1"] {
        assert_eq!(is(&format!(r#"{{"v":1,"client_id":"c","contexts":{contexts}}}"#)), Err(Unreadable::Contexts));
    }
    assert_eq!(is(r#"{"v":1,"client_id":"c"}"#), Err(Unreadable::Contexts));
    for text in ["", "[]", "null", "{", "{}x", "\u{feff}{}"] {
        assert!(matches!(is(text), Err(Unreadable::Json)), "{text}");
    }
    assert_eq!(parse(&[b'{', 0xff, b'}']), Err(Unreadable::Json));
}

/// 9.2: 10,000 keys and 131,072 bytes are the bounds, counted after duplicates.
#[test]
fn bounds_of_a_blob() {
    let of = |n: usize| {
        let entries: Vec<String> = (0..n).map(|i| format!("\"{i}\":1")).collect();
        format!(r#"{{"v":1,"client_id":"c","contexts":{{"0":9,{}}}}}"#, entries.join(","))
    };
    assert_eq!(parse(of(10_000).as_bytes()).unwrap().state.frontiers.len(), 10_000);
    assert_eq!(parse(of(10_001).as_bytes()), Err(Unreadable::Contexts));
    let mut text = of(1);
    text.push_str(&" ".repeat(131_072 - text.len()));
    assert!(parse(text.as_bytes()).is_ok());
    text.push(' ');
    assert_eq!(parse(text.as_bytes()), Err(Unreadable::Oversized));
}

/// 9.2: the last of duplicate keys wins, at both levels.
#[test]
fn the_last_duplicate_wins() {
    assert_eq!(read(r#"{"a":9,"a":4}"#), frontiers(&[("a", 4)]));
    assert_eq!(read(r#"{"a":9,"a":-1}"#), State::default());
    let text = r#"{"v":2,"v":1,"client_id":"x","client_id":"y","contexts":{"a":1},"contexts":{"b":2}}"#;
    let blob = parse(text.as_bytes()).unwrap();
    assert_eq!((blob.client_id.as_str(), blob.state), ("y", frontiers(&[("b", 2)])));
}

/// 9.7–9.9: a group is whole, or a lone clear floor, or nothing; its frontier stays.
#[test]
fn rows_9_7_to_9_9_groups() {
    assert_eq!(read(r#"{"room":4,"ov_s:room":3}"#), frontiers(&[("room", 4)]));
    assert_eq!(read(r#"{"room":4,"ov_s:room":3,"ov_c:room":-1,"ov_b:room":4}"#), frontiers(&[("room", 4)]));
    assert_eq!(read(r#"{"ov_c:room":9}"#), with_override(State::default(), "room", 0, 9, 0));
    assert_eq!(
        read(r#"{"ov_s:room":3,"ov_c:room":1,"ov_b:room":4}"#),
        with_override(State::default(), "room", 3, 1, 4)
    );
    for half in [
        r#"{"ov_b:room":1}"#,
        r#"{"ov_s:room":1,"ov_c:room":1}"#,
        r#"{"ov_s:room":1,"ov_b:room":1}"#,
        r#"{"ov_c:room":1,"ov_b:room":1}"#,
        r#"{"ov_c:room":1,"ov_b:room":null}"#,
        r#"{"ov_c:room":1.5}"#,
        r#"{"ov_c:":1}"#,
        r#"{"ov_x:room":1}"#,
        r#"{"ov_":1}"#,
        r#"{"ov_room":1}"#,
    ] {
        assert_eq!(read(half), State::default(), "{half}");
    }
}

/// Groups are judged before entries are dropped: an over-long sibling removes its group, not only itself.
#[test]
fn an_over_long_sibling_removes_the_group() {
    let fits = "x".repeat(251);
    let long = "x".repeat(252);
    let group = |name: &str| read(&format!(r#"{{"ov_s:{name}":3,"ov_c:{name}":1,"ov_b:{name}":4}}"#));
    assert_eq!(group(&fits), with_override(State::default(), &fits, 3, 1, 4));
    assert_eq!(group(&long), State::default());
}

/// 9.13: exactly one level of escape each way; suffixes of registers are never escaped.
#[test]
fn row_9_13_escaping() {
    let state = read(r#"{"esc:ov_s:x":2,"esc:esc:x":3,"__proto__":4,"ov_c:esc:y":5}"#);
    let expected = frontiers(&[("ov_s:x", 2), ("esc:x", 3), ("__proto__", 4)]);
    assert_eq!(state, with_override(expected, "esc:y", 0, 5, 0));
    let text = write("c", &state).unwrap();
    assert!(text.contains(r#""__proto__":4,"esc:esc:x":3,"esc:ov_s:x":2,"ov_c:esc:y":5"#), "{text}");
    assert_eq!(parse(text.as_bytes()).unwrap().state, state);
    assert_eq!(read(r#"{"esc:a":2,"a":7}"#), frontiers(&[("a", 7)]), "two wire keys of one raw key: the greater");
    assert_eq!(read(r#"{"esc:a":8,"a":7}"#), frontiers(&[("a", 8)]));
}

/// 9.2, 9.11: the canonical form.
#[test]
fn the_writer_is_canonical() {
    let mut state = frontiers(&[("b", 11), ("a", 5)]);
    state = with_override(state, "b", 1, 0, 10);
    state = with_override(state, "a", 4, 3, 5);
    state = with_override(state, "z", 0, 0, 9);
    assert_eq!(
        write("c\"", &state).unwrap(),
        r#"{"v":1,"client_id":"c\"","contexts":{"a":5,"b":11,"ov_b:a":5,"ov_c:a":3,"ov_c:b":1,"ov_s:a":4}}"#
    );
    assert_eq!(write("c", &State::default()).unwrap(), r#"{"v":1,"client_id":"c","contexts":{}}"#);
}

/// 9.4: never more than 40,960 bytes, and nothing a reader would drop.
#[test]
fn the_writer_is_bounded() {
    let client = "00000000-0000-4000-8000-000000000001";
    let channel = |n: u32| Key::parse(&format!("00000000-0000-4000-8000-{n:012x}")).unwrap();
    let of = |n| State { frontiers: (0..n).map(|i| (channel(i), 1_751_500_000)).collect(), ..State::default() };
    assert_eq!(write(client, &of(817)).unwrap().len(), 72 + 817 * 50 - 1);
    assert_eq!(write(client, &of(818)), Err(Error::Capacity { what: "read-state blob" }));
    assert!(write("", &of(1)).is_err() && write(&"x".repeat(65), &of(1)).is_err());
    let escaped_too_long = frontiers(&[(&format!("ov_{}", "x".repeat(250)), 1)]);
    assert_eq!(write(client, &escaped_too_long), Err(Error::InvalidArgument { what: "context key" }));
}

fn blob_of(entries: &[(String, String)]) -> String {
    let body: Vec<String> = entries.iter().map(|(k, v)| format!("{}:{v}", serde_json::to_string(k).unwrap())).collect();
    format!(r#"{{"v":1,"client_id":"c","contexts":{{{}}}}}"#, body.join(","))
}

/// So few that they often meet.
fn few_keys() -> impl Strategy<Value = String> {
    "(esc:){0,2}(ov_[scbx]:){0,2}[ab\"]{0,1}|é{127,129}"
}

fn has_twins(entries: &[(String, String)]) -> bool {
    let raw = |name: &str| name.strip_prefix(ESCAPE).unwrap_or(name).to_owned();
    let mut all: Vec<String> =
        entries.iter().filter(|(name, _)| !name.starts_with(OVERRIDE_PREFIX)).map(|(name, _)| raw(name)).collect();
    all.sort();
    all.windows(2).any(|pair| pair[0] == pair[1])
}

fn keys() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z:]{1,8}", "(esc:|ov_|ov_s:|ov_c:|ov_b:){1,3}[a-z\"\\\\é\u{1}]{0,4}", "\\PC{1,20}"]
}

proptest! {
    /// Escape and unescape are a bijection, and live registers survive: what is written is what is read.
    #[test]
    fn writing_and_reading_round_trip(
        frontiers in prop::collection::btree_map(keys(), any::<u32>(), 0..12),
        live in prop::collection::btree_map(keys(), 1..u32::MAX, 0..4),
    ) {
        let mut state = State::default();
        for (text, value) in &frontiers {
            state.frontiers.insert(key(text), *value);
        }
        for (text, set) in &live {
            state.overrides.insert(key(text), Override { set: *set, clear: set - 1, baseline: u32::MAX });
        }
        let text = write("c", &state).unwrap();
        prop_assert_eq!(&parse(text.as_bytes()).unwrap().state, &state);
        prop_assert_eq!(write("c", &parse(text.as_bytes()).unwrap().state).unwrap(), text);
    }

    /// No input panics, and whatever is read can be judged.
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes);
    }

    #[test]
    fn no_contexts_panic(entries in prop::collection::vec((keys(), "[-0-9.eE]{1,8}|null|\"\"|\\[\\]"), 0..12)) {
        let _ = parse(blob_of(&entries).as_bytes());
    }

    /// One pass either reads what the thorough reading reads, or leaves it to that.
    #[test]
    fn both_ways_to_read_agree(entries in prop::collection::vec((few_keys(), "[0-9]{1,3}|4294967295|4294967296|-1|-0|1e3|4.0|1e400|null"), 0..8)) {
        let text = blob_of(&entries);
        let thorough = thorough(&text);
        let usual = entries.iter().all(|(_, value)| value.parse::<u32>().is_ok() && !value.starts_with('0'));
        match quick(&text) {
            Some(blob) => prop_assert_eq!(Ok(blob), thorough),
            None => prop_assert!(!usual || has_twins(&entries) || entries.iter().any(|(name, _)| !is_key(name))),
        }
    }
}

#[test]
fn errors_and_debug_carry_nothing() {
    let blob = parse(br#"{"v":1,"client_id":"secret","contexts":{"room":77}}"#).unwrap();
    assert_eq!(format!("{blob:?}"), "Blob(State(1 frontiers, 0 overrides))");
    assert!(matches!(Error::from(Unreadable::Cipher), Error::InvalidAnswer { .. }));
}
