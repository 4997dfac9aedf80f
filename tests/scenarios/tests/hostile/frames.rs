//! Bad frames on the live socket, and verified events on it that may not count.

use serde_json::Value;
use waggle_scenarios::names::channel_id;

use crate::table::{none, unchanged};
use crate::world::{T0, World, person, run, signed};

pub(crate) struct Frame {
    pub(crate) rule: &'static str,
    pub(crate) what: &'static str,
    pub(crate) text: fn(&World) -> String,
}

const fn frame(rule: &'static str, what: &'static str, text: fn(&World) -> String) -> Frame {
    Frame { rule, what, text }
}

/// A good message by ada, which would count, to be damaged.
fn good() -> String {
    signed("ada", T0 - 50, 9, &[&["h", &channel_id("general")]], "kanari, count me")
}

/// The same message in a frame of a live subscription, damaged.
fn event(world: &World, json: &str) -> String {
    format!("[\"EVENT\",\"{}\",{json}]", world.tamper.subscription(&channel_id("general")).unwrap())
}

fn damaged(world: &World, from: &str, to: &str) -> String {
    let json = good();
    let bad = json.replacen(from, to, 1);
    assert_ne!(bad, json, "{from}");
    event(world, &bad)
}

/// Changes the first digit behind `member`.
fn flipped(world: &World, member: &str) -> String {
    let json = good();
    let at = json.find(member).unwrap() + member.len();
    let digit = if json.as_bytes()[at] == b'0' { "1" } else { "0" };
    let mut bad = json;
    bad.replace_range(at..=at, digit);
    event(world, &bad)
}

/// What follows `member` in quotes, in upper case.
fn upper(world: &World, member: &str) -> String {
    let json = good();
    let at = json.find(member).unwrap() + member.len();
    let hex = json[at..].split('"').next().unwrap().to_owned();
    event(world, &json.replacen(&hex, &hex.to_uppercase(), 1))
}

pub(crate) const ROWS: &[Frame] = &[
    frame("pitfalls I", "an empty frame", |_| String::new()),
    frame("pitfalls I", "spaces", |_| " \t\n ".into()),
    frame("pitfalls I", "an object", |_| "{\"EVENT\":1}".into()),
    frame("pitfalls I", "an empty array", |_| "[]".into()),
    frame("pitfalls I", "a number for a verb", |_| "[1,2]".into()),
    frame("pitfalls I", "an unknown verb", |_| "[\"SHUTDOWN\",\"now\"]".into()),
    frame("pitfalls I", "an event without anything", |_| "[\"EVENT\"]".into()),
    frame("pitfalls I", "an event without the event", |w| event(w, "").replace(",]", "]")),
    frame("pitfalls I", "null for an event", |w| event(w, "null")),
    frame("pitfalls I", "an array for an event", |w| event(w, "[]")),
    frame("NIP-01", "an array of the event's members", |w| {
        let e: Value = serde_json::from_str(&good()).unwrap();
        let names = ["id", "pubkey", "created_at", "kind", "tags", "content", "sig"];
        event(w, &Value::from_iter(names.map(|name| e[name].clone())).to_string())
    }),
    frame("pitfalls I", "a frame cut in the middle", |w| event(w, &good()).chars().take(120).collect()),
    frame("pitfalls I", "something behind the frame", |w| event(w, &good()) + " {}"),
    frame("pitfalls I", "200,000 brackets", |_| "[".repeat(200_000)),
    frame("pitfalls I", "200,000 brackets inside an event", |w| event(w, &"[".repeat(200_000))),
    frame("limits FRAME_BYTES", "a frame over a mebibyte", |_| format!("[\"NOTICE\",\"{}\"]", "x".repeat(1 << 20))),
    frame("unread 13.1", "a flipped digit of the id", |w| flipped(w, "\"id\":\"")),
    frame("unread 13.1", "a flipped digit of the signature", |w| flipped(w, "\"sig\":\"")),
    frame("unread 13.1", "a flipped digit of the author", |w| flipped(w, "\"pubkey\":\"")),
    frame("unread 13.1", "another content under the signature", |w| damaged(w, "count me", "count us")),
    frame("unread 13.1", "another time under the signature", |w| damaged(w, "\"created_at\":17", "\"created_at\":18")),
    frame("unread 13.3", "an author in upper case", |w| upper(w, "\"pubkey\":\"")),
    frame("unread 13.3", "an id in upper case", |w| upper(w, "\"id\":\"")),
    frame("unread 13.3", "a signature in upper case", |w| upper(w, "\"sig\":\"")),
    frame("unread 13 rule 1", "a negative time", |w| damaged(w, "\"created_at\":1", "\"created_at\":-1")),
    frame("unread 13 rule 1", "a broken time", |w| damaged(w, "\"created_at\":1", "\"created_at\":0.1")),
    frame("unread 13 rule 1", "a time beyond 64 bits", |w| {
        damaged(w, "\"created_at\":1", "\"created_at\":99999999999999999999")
    }),
    frame("unread 13 rule 1", "a time that is a text", |w| {
        damaged(w, "\"created_at\":1751499950", "\"created_at\":\"1751499950\"")
    }),
    frame("unread 13 rule 1", "kind 65,536", |w| damaged(w, "\"kind\":9", "\"kind\":65536")),
    frame("unread 13 rule 1", "a kind that is a text", |w| damaged(w, "\"kind\":9", "\"kind\":\"9\"")),
    frame("unread 13 rule 1", "numbers in tags", |w| damaged(w, "\"tags\":[[\"h\"", "\"tags\":[[9")),
    frame("unread 13 rule 1", "a tag that is a text", |w| damaged(w, "\"tags\":[", "\"tags\":[\"h\",")),
    frame("unread 13 rule 1", "an object for tags", |w| damaged(w, "\"tags\":[", "\"tags\":{},\"x\":[")),
    frame("unread 13 rule 1", "no signature", |w| damaged(w, "\"sig\":", "\"gis\":")),
    frame("unread 13 rule 1", "half a surrogate pair", |w| damaged(w, "count me", "\\ud800")),
    frame("unread 13 rule 1", "a member twice", |w| damaged(w, "\"kind\":9", "\"kind\":9,\"kind\":9")),
    frame("limits EVENT_TAGS", "10,000 tags", |w| {
        let tag = vec!["t".to_owned(), "x".to_owned()];
        let tags = std::iter::repeat_n(tag, 10_000).chain([vec!["h".to_owned(), channel_id("general")]]).collect();
        event(w, &person("ada").sign(T0 - 50, 9, tags, "many", None).json)
    }),
    frame("unread 1.2", "two h tags", |w| {
        let h = channel_id("general");
        event(w, &signed("ada", T0 - 50, 9, &[&["h", &h], &["h", &h]], "twice"))
    }),
    frame("unread 1.2", "an h tag in upper case", |w| {
        let h = channel_id("general").to_uppercase();
        event(w, &signed("ada", T0 - 50, 9, &[&["h", &h]], "loud"))
    }),
    frame("unread 1.2", "no h tag", |w| event(w, &signed("ada", T0 - 50, 9, &[], "nowhere"))),
    frame("unread 3.2", "a channel the reader is no member of", |w| {
        event(w, &signed("ada", T0 - 50, 9, &[&["h", &channel_id("secret")]], "not yours"))
    }),
    frame("pitfalls I", "the end of an unknown subscription's past", |_| "[\"EOSE\",\"nobody\"]".into()),
    frame("pitfalls I", "a subscription's name of 65 characters", |_| format!("[\"EOSE\",\"{}\"]", "s".repeat(65))),
    frame("pitfalls I", "an unknown subscription closed", |_| "[\"CLOSED\",\"nobody\",\"error: gone\"]".into()),
    frame("pitfalls I", "OK for nothing that was sent", |_| format!("[\"OK\",\"{}\",true,\"\"]", "ab".repeat(32))),
    frame("pitfalls I", "OK for no id", |_| "[\"OK\",\"x\",true,\"\"]".into()),
    frame("pitfalls I", "OK with a number for its word", |_| format!("[\"OK\",\"{}\",1,\"\"]", "ab".repeat(32))),
    frame("limits RELAY_TEXT_BYTES", "a long notice", |_| format!("[\"NOTICE\",\"{}\"]", "n".repeat(100_000))),
    frame("pitfalls I", "an empty challenge", |_| "[\"AUTH\",\"\"]".into()),
    frame("limits RELAY_TEXT_BYTES", "a challenge of 513 bytes", |_| format!("[\"AUTH\",\"{}\"]", "c".repeat(513))),
    frame("pitfalls I", "a count nobody asked for", |_| "[\"COUNT\",\"x\",{\"count\":7}]".into()),
];

#[test]
fn bad_frames_change_nothing() {
    run(async {
        let mut world = World::new().await;
        let before = world.facts().await;
        let mut faults = Vec::new();
        for row in ROWS {
            let text = (row.text)(&world);
            assert!(world.tamper.inject(text), "{}: the socket is open", row.what);
            world.settle().await;
            unchanged(&mut world, &before, &format!("{} ({})", row.what, row.rule), &mut faults).await;
        }
        none(faults);
        // The undamaged message counts: a table of messages that could not count would prove nothing.
        let text = event(&world, &good());
        world.tamper.inject(text);
        world.settle().await;
        let after = world.facts().await;
        assert_eq!(after.counts["general"].0, before.counts["general"].0.map(|n| n + 1));
    });
}

/// A verified event by somebody who has no right to what it says.
pub(crate) struct Pushed {
    pub(crate) rule: &'static str,
    pub(crate) what: &'static str,
    pub(crate) json: fn(&World) -> Vec<String>,
}

const fn pushed(rule: &'static str, what: &'static str, json: fn(&World) -> Vec<String>) -> Pushed {
    Pushed { rule, what, json }
}

fn by_bo(world: &World, kind: u16, target: &str, content: &str) -> Vec<String> {
    let (h, id) = (channel_id("general"), world.id(target).to_hex());
    vec![signed("bo", T0 - 40, kind, &[&["h", &h], &["e", &id]], content)]
}

/// A chain of replies by bo, each to the one before, old enough to be under what was read.
fn chain(first: &[&str], length: usize) -> Vec<String> {
    let h = channel_id("general");
    let mut parent: Option<String> = None;
    (0..length)
        .map(|i| {
            let at = T0 - 9_990 + i as u64;
            let json = match &parent {
                None => signed("bo", at, 9, &[&["h", &h], first], "link"),
                Some(id) => signed("bo", at, 9, &[&["h", &h], &["e", id, "", "reply"]], "link"),
            };
            parent = Some(crate::world::id_of(&json).to_hex());
            json
        })
        .collect()
}

pub(crate) const EVENTS: &[Pushed] = &[
    pushed("unread 3.3", "a deletion by a stranger", |w| by_bo(w, 5, "m44", "")),
    pushed("R9", "a moderation by a member", |w| by_bo(w, 9005, "m44", "")),
    pushed("unread 3.15", "an edit by a stranger", |w| by_bo(w, 40003, "m44", "not what ada said")),
    pushed("R9", "a notice of a deletion by a member", |w| {
        let (h, id) = (channel_id("general"), w.id("m44").to_hex());
        let content = format!("{{\"type\":\"message_deleted\",\"target\":\"{id}\"}}");
        vec![signed("bo", T0 - 40, 40_099, &[&["h", &h], &["e", &id]], &content)]
    }),
    pushed("unread 13.6", "a deletion of one's own and a foreign message", |w| {
        let (h, own, other) = (channel_id("general"), w.id("call").to_hex(), w.id("s1").to_hex());
        vec![signed("bo", T0 - 40, 5, &[&["h", &h], &["e", &own], &["e", &other]], "")]
    }),
    pushed("unread 3.6", "a deletion of one's own and an unknown message", |w| {
        let (h, own) = (channel_id("general"), w.id("call").to_hex());
        vec![signed("bo", T0 - 40, 5, &[&["h", &h], &["e", &own], &["e", &"ab".repeat(32)]], "")]
    }),
    pushed("unread 13.4", "a roster by a member without the viewer", |_| {
        vec![signed("ada", T0 + 99, 39_002, &[&["d", &channel_id("general")], &["p", &person("ada").public()]], "")]
    }),
    pushed("unread 1.25", "a roster by a member with the viewer", |_| {
        vec![signed("ada", T0 + 99, 39_002, &[&["d", &channel_id("secret")], &["p", &person("me").public()]], "")]
    }),
    pushed("unread 13 rule 2", "admins by a member, then a moderation by that admin", |w| {
        let (general, bo) = (channel_id("general"), person("bo").public());
        let mut both = vec![signed("bo", T0 + 99, 39_001, &[&["d", &general], &["p", &bo, "admin"]], "")];
        both.extend(by_bo(w, 9005, "m43", ""));
        both
    }),
    pushed("unread 13 rule 2", "metadata by a member", |_| {
        let tags: &[&[&str]] = &[&["d", &channel_id("general")], &["name", "mine now"], &["t", "dm"]];
        vec![signed("ada", T0 + 99, 39_000, tags, "")]
    }),
    pushed("unread 13 rule 2", "a summary by a member", |w| {
        let (h, id) = (channel_id("general"), w.id("m44").to_hex());
        let content = "{\"reply_count\":40,\"descendant_count\":40,\"participants\":[],\"last_reply_at\":1751499999}";
        vec![signed("ada", T0 - 30, 39_005, &[&["e", &id], &["d", &id], &["h", &h]], content)]
    }),
    pushed("unread 13 rule 2", "bounds out of nowhere", |_| {
        let d = format!("{}:head", channel_id("general"));
        vec![signed("ada", T0 - 30, 39_006, &[&["d", &d], &["h", &channel_id("general")]], "{\"has_more\":false}")]
    }),
    pushed("unread 13 rule 2", "a removal announced by a member", |_| {
        let tags: &[&[&str]] = &[&["p", &person("me").public()], &["h", &channel_id("general")]];
        vec![signed("ada", T0 - 30, 44_101, tags, "")]
    }),
    pushed("unread 13.10", "read state by somebody else", |_| {
        let blob = format!("{{\"v\":1,\"client_id\":\"x\",\"contexts\":{{\"{}\":1751600000}}}}", channel_id("general"));
        let sealed = person("ada").seal(&blob, "a").unwrap();
        let tags: &[&[&str]] = &[&["d", "read-state:0123456789abcdef0123456789abcdef"], &["t", "read-state"]];
        vec![signed("ada", T0 - 30, 30_078, tags, &sealed)]
    }),
    pushed("unread 1.5", "mutes by somebody else", |_| {
        let text = format!(
            "{{\"version\":1,\"channels\":{{\"{}\":{{\"muted\":true,\"updatedAt\":9e9}}}}}}",
            channel_id("general")
        );
        let sealed = person("ada").seal(&text, "a").unwrap();
        vec![signed("ada", T0 - 30, 30_078, &[&["d", "channel-mutes"], &["t", "channel-mutes"]], &sealed)]
    }),
    pushed("unread 1.24", "mutes of the viewer that say nothing of the sort", |_| {
        let general = channel_id("general");
        let entries = format!("{{\"{general}\":{{\"muted\":\"yes\",\"updatedAt\":9e9}},\"x\":7,\"{general} \":{{}}}}");
        let sealed = person("me").seal(&format!("{{\"version\":1,\"channels\":{entries}}}"), "a").unwrap();
        vec![signed("me", T0 - 30, 30_078, &[&["d", "channel-mutes"], &["t", "channel-mutes"]], &sealed)]
    }),
    pushed("unread 1.5", "mutes of the viewer that cannot be read", |_| {
        vec![signed("me", T0 - 29, 30_078, &[&["d", "channel-mutes"], &["t", "channel-mutes"]], "AgAAAA==")]
    }),
    pushed("limits REACTION_BYTES", "a reaction of 257 bytes", |w| by_bo(w, 7, "m44", &"x".repeat(257))),
    pushed("unread 1.4", "a reaction to nothing", |_| {
        vec![signed("bo", T0 - 40, 7, &[&["h", &channel_id("general")], &["e", "junk"]], "+")]
    }),
    pushed("unread 2.14", "two messages that claim each other", |_| {
        // Neither id can be known to the other, so the circle is closed by roots that are not there.
        let h = channel_id("general");
        let one = signed("bo", T0 - 9_999, 9, &[&["h", &h], &["e", &"cd".repeat(32), "", "reply"]], "one");
        let id = crate::world::id_of(&one).to_hex();
        let two = signed("bo", T0 - 9_998, 9, &[&["h", &h], &["e", &id, "", "root"], &["e", &id, "", "reply"]], "two");
        vec![two, one]
    }),
    pushed("unread 2.16", "a chain of 33 replies to nothing", |_| chain(&["e", &"ef".repeat(32), "", "reply"], 33)),
    pushed("unread 2.16", "a chain of 40 replies under a stranger's message", |w| {
        let id = w.id("m1").to_hex();
        chain(&["e", &id, "", "reply"], 40)
    }),
    pushed("unread 4.7", "a reply to the viewer's message, in another channel", |w| {
        let (h, id) = (channel_id("secret"), w.id("root").to_hex());
        vec![signed("bo", T0 - 40, 9, &[&["h", &h], &["e", &id, "", "reply"]], "over here")]
    }),
];

#[test]
fn verified_events_without_a_right_to_what_they_say_change_nothing() {
    run(async {
        let mut world = World::new().await;
        let before = world.facts().await;
        let mut faults = Vec::new();
        for row in EVENTS {
            for json in (row.json)(&world) {
                world.push(&json);
            }
            world.advance(2_500).await;
            unchanged(&mut world, &before, &format!("{} ({})", row.what, row.rule), &mut faults).await;
        }
        none(faults);
    });
}
