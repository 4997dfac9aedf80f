//! POST /events: refusals, duplicates, commands and what they set in motion (measured 4, 6).
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use serde_json::json;
use support::*;
use waggle_test_relay::{Event, tags};

const MEMBER: &str = "restricted: not a channel member";

#[test]
fn the_clock_rule_is_900_seconds_either_way() {
    let world = world();
    let me = world.client("me");
    for (at, good) in [(T0 - 905, false), (T0 - 890, true), (T0 + 600, true), (T0 + 905, false)] {
        let answer = me.publish(&message("me", at, GENERAL, &[], "x"));
        assert_eq!(answer.status == 200, good, "{at}");
        if !good {
            assert_eq!(error(&answer), "invalid: event timestamp too far from server time");
        }
    }
}

#[test]
fn the_refusals_of_shape_kind_size_and_author() {
    let world = world();
    let me = world.client("me");
    let no = |kind: u32, list: &[&[&str]], text: &str| me.refused(&me.sign(kind, list, text));
    let h: &[&str] = &["h", GENERAL];
    for kind in [39005, 39006, 13534, 30622] {
        assert_eq!(no(kind, &[h], ""), (400, "restricted: relay-only kind".into()));
    }
    for kind in [39000, 40099, 20002, 60000] {
        assert_eq!(no(kind, &[h], ""), (400, "restricted: unknown event kind".into()));
    }
    assert_eq!(no(44100, &[], ""), (400, "invalid: membership notifications are relay-signed only".into()));
    assert_eq!(no(20001, &[], "online"), (400, "invalid: kind 20001 is only accepted via WebSocket".into()));
    assert_eq!(no(22242, &[], ""), (400, "invalid: AUTH events cannot be submitted".into()));
    let long = "x".repeat(262_145);
    let text = "invalid: content exceeds maximum size of 262144 bytes (got 262145)";
    assert_eq!(no(9, &[h], &long), (400, text.into()));
    assert_eq!(me.publish(&me.sign(9, &[h], &long[1..])).status, 200, "exactly 262144 bytes are fine");
    assert_eq!(me.publish(&me.sign(9, &[h], "")).status, 200, "empty content is fine");
    let foreign = message("ada", T0, GENERAL, &[], "x");
    let text = "invalid: event pubkey does not match authenticated identity";
    assert_eq!(me.refused(&foreign), (403, text.into()));
    let honest = me.sign(9, &[h], "honest");
    let changed = Event::parse(&honest.json.replace("honest", "changed")).unwrap();
    let text = format!("invalid: invalid event id: computed {}, got {}", changed.computed_id(), honest.id);
    assert_eq!(me.refused(&changed), (400, text));
    let unsigned = Event::parse(&honest.json.replace(&honest.sig, &"00".repeat(64))).unwrap();
    assert_eq!(me.refused(&unsigned), (400, "invalid: invalid schnorr signature".into()));
    assert_eq!(error(&me.send("/events", r#"{"id":"x"}"#)), "invalid event JSON: Invalid event ID at line 1 column 10");
    assert_eq!(error(&me.send("/events", "not json")), "invalid event JSON: expected ident at line 1 column 2");
}

#[test]
fn channel_membership_is_a_400_and_open_channels_need_none() {
    let world = world();
    let (me, cy) = (world.client("me"), world.client("cy"));
    assert_eq!(me.refused(&me.sign(9, &[&["h", SECRET]], "")), (400, MEMBER.into()));
    let unknown = "99999999-9999-4999-8999-999999999999";
    assert_eq!(me.refused(&me.sign(9, &[&["h", unknown]], "")), (400, MEMBER.into()));
    let no_h = "invalid: channel-scoped events must include an h tag";
    assert_eq!(me.refused(&me.sign(9, &[], "")), (400, no_h.into()));
    assert_eq!(me.refused(&me.sign(9, &[&["h", "general"]], "")), (400, no_h.into()));
    assert_eq!(cy.put(9, &[&["h", OPEN]], "hello").2, "");
    assert_eq!(cy.put(1, &[], "a global note").2, "");
    assert_eq!(me.put(40002, &[&["h", GENERAL]], "rich").2, "");
}

#[test]
fn duplicates_and_reposts_of_deleted_events_answer_true_and_store_nothing() {
    let world = world();
    let me = world.client("me");
    let (event, ..) = me.put(9, &[&["h", GENERAL]], "once");
    assert_eq!(me.publish(&event).json()["message"], "duplicate:");
    assert_eq!(me.put(5, &[&["e", &event.id]], "").2, "");
    assert_eq!(me.publish(&event).json(), json!({ "accepted": true, "event_id": event.id, "message": "duplicate:" }));
    assert!(me.events(json!([{ "ids": [event.id] }])).is_empty());
}

#[test]
fn ancestry_is_enforced() {
    let world = world();
    let root = world.past("ada", T0 - 90, GENERAL, &[], "root");
    let other = world.past("ada", T0 - 90, GENERAL, &[], "other");
    let reply = world.past("bo", T0 - 80, GENERAL, &[&["e", &root.id, "", "reply"]], "reply");
    let gone = world.past("ada", T0 - 70, GENERAL, &[], "gone");
    world.client("ada").put(5, &[&["e", &gone.id]], "");
    let me = world.client("me");
    let refused = |channel: &str, list: &[&[&str]]| {
        let mut all = vec![["h", channel].to_vec()];
        all.extend(list.iter().map(|t| t.to_vec()));
        let all: Vec<&[&str]> = all.iter().map(Vec::as_slice).collect();
        me.refused(&me.sign(9, &all, "r")).1
    };
    let wrong = [["e", &other.id, "", "root"], ["e", &reply.id, "", "reply"]];
    assert_eq!(refused(GENERAL, &[&wrong[0], &wrong[1]]), "invalid: root tag does not match thread ancestry");
    let nowhere = "ab".repeat(32);
    assert_eq!(refused(GENERAL, &[&["e", &nowhere, "", "reply"]]), "invalid: reply parent not found");
    assert_eq!(refused(GENERAL, &[&["e", &gone.id, "", "reply"]]), "invalid: reply parent not found");
    let text = "invalid: parent event belongs to a different channel";
    assert_eq!(refused(DM, &[&["e", &root.id, "", "reply"]]), text);
}

#[test]
fn reactions_edits_and_deletions_have_their_own_authority() {
    let world = world();
    let m = world.past("ada", T0 - 90, GENERAL, &[], "m");
    let other = world.past("ada", T0 - 80, GENERAL, &[], "n");
    let gone = world.past("ada", T0 - 70, GENERAL, &[], "gone");
    let (me, ada, bo) = (world.client("me"), world.client("ada"), world.client("bo"));
    ada.put(5, &[&["e", &gone.id]], "");
    let no = |client: &Client, kind: u32, list: &[&[&str]]| client.refused(&client.sign(kind, list, "x")).1;
    let nowhere = "cd".repeat(32);
    assert_eq!(no(&me, 7, &[&["e", &nowhere]]), "invalid: reaction target event not found");
    assert_eq!(no(&me, 7, &[&["e", &gone.id]]), "invalid: reaction target event not found");
    let (like, ..) = me.put(7, &[&["e", &m.id]], "👍");
    let again = me.keys.sign(T0 + 1, 7, tags(&[&["e", &m.id]]), "👍");
    let answer = me.publish(&again).json();
    assert_eq!(
        (&answer["accepted"], &answer["message"]),
        (&json!(false), &json!("duplicate: reaction already exists"))
    );
    me.put(5, &[&["e", &like.id]], "unreact");
    assert!(me.publish(&again).json()["accepted"] == true, "after taking it back it may come again");
    let h: &[&str] = &["h", GENERAL];
    assert_eq!(no(&me, 40003, &[h, &["e", &m.id]]), "invalid: must be event author to edit");
    assert_eq!(no(&ada, 40003, &[h, &["e", &gone.id]]), "invalid: edit target event not found");
    assert_eq!(ada.put(40003, &[h, &["e", &m.id]], "m, edited").2, "");
    assert_eq!(no(&me, 5, &[&["e", &m.id]]), "invalid: must be event author");
    let two = "invalid: deletion events must reference exactly one target via e or a tag (got e=2, a=0)";
    assert_eq!(no(&ada, 5, &[&["e", &m.id], &["e", &other.id]]), two);
    assert_eq!(ada.put(5, &[&["e", &gone.id]], "again").2, "", "deleting a deleted event is accepted");
    assert_eq!(no(&bo, 9005, &[h, &["e", &m.id]]), "invalid: must be event author or channel owner/admin");
    let mine = world.past("me", T0 - 60, GENERAL, &[], "mine");
    assert_eq!(ada.put(9005, &[h, &["e", &mine.id]], "").2, "", "a channel admin moderates");
    let notices = me.events(json!([{ "kinds": [40099], "#h": [GENERAL] }]));
    let said = json!({ "actor": ada.keys.public(), "target_event_id": mine.id, "type": "message_deleted" });
    assert_eq!((notices.len(), content(&notices[0])), (1, said));
}

#[test]
fn addressable_events_are_deleted_by_their_coordinate() {
    let world = world();
    let me = world.client("me");
    me.put(30078, &[&["d", "app"]], "x");
    let coordinate = format!("30078:{}:app", me.keys.public());
    assert_eq!(me.put(5, &[&["a", &coordinate]], "").2, "");
    assert!(me.events(json!([{ "kinds": [30078], "authors": [me.keys.public()] }])).is_empty());
}

#[test]
fn a_channel_lives_through_its_commands() {
    let world = world();
    let (me, bo, cy) = (world.client("me"), world.client("bo"), world.client("cy"));
    let id = "abababab-abab-4bab-8bab-abababababab";
    let h: &[&str] = &["h", id];
    let state = |client: &Client, kind: u32| client.events(json!([{ "kinds": [kind], "#d": [id] }]));
    let new: [&[&str]; 5] =
        [h, &["name", "hives"], &["visibility", "private"], &["channel_type", "stream"], &["about", "bees"]];
    assert_eq!(me.put(9007, &new, "").2, "");
    assert!(!me.put(9007, &new, "again").1);
    let meta = &state(&me, 39000)[0];
    assert_eq!(
        meta["tags"],
        json!([["d", id], ["name", "hives"], ["about", "bees"], ["private"], ["closed"], ["t", "stream"]])
    );
    assert!(state(&cy, 39000).is_empty(), "private group state is not for others");
    assert_eq!(bo.refused(&bo.sign(9021, &[h], "")).1, "restricted: channel is private");
    let bo_p: &[&str] = &["p", bo.keys.public()];
    me.put(9000, &[h, bo_p, &["role", "admin"]], "");
    let roster = &state(&me, 39002)[0];
    let people = json!([["d", id], ["p", me.keys.public(), "", "owner"], ["p", bo.keys.public(), "", "admin"]]);
    assert_eq!(roster["tags"], people);
    let leaders = json!([["d", id], ["p", me.keys.public(), "owner"], ["p", bo.keys.public(), "admin"]]);
    assert_eq!(state(&me, 39001)[0]["tags"], leaders);
    assert!(roster["created_at"].as_u64().unwrap() > T0, "quick revisions run ahead of the clock");
    let told = bo.events(json!([{ "kinds": [44100], "#p": [bo.keys.public()], "limit": 1 }]));
    let said = json!({ "actor": me.keys.public(), "channel_id": id, "type": "member_added" });
    assert!(told.iter().any(|n| content(n) == said));
    me.put(9002, &[h, &["topic", "swarm season"]], "");
    assert_eq!(tag(&state(&me, 39000)[0], "topic"), "swarm season");
    me.put(9002, &[h, &["archived", "true"]], "");
    assert_eq!(me.refused(&me.sign(9, &[h], "x")).1, "invalid: channel is archived");
    assert_eq!(me.events(json!([{ "kinds": [9], "#h": [id], "top_level": true }])).len(), 1, "still readable");
    me.put(9002, &[h, &["archived", "false"]], "");
    bo.put(9022, &[h], "");
    assert!(state(&bo, 39002).is_empty());
    let left = bo.events(json!([{ "kinds": [44101], "#p": [bo.keys.public()] }]));
    assert_eq!(content(&left[0])["type"], "member_removed");
    assert_eq!(cy.refused(&cy.sign(9008, &[h], "")).1, MEMBER);
    me.put(9008, &[h], "");
    assert!(me.events(json!([{ "kinds": [9], "#h": [id], "top_level": true }])).is_empty());
    assert!(state(&me, 39000).is_empty());
    let kinds: Vec<String> =
        world.relay.admin().events(Some(40099), None).unwrap().iter().map(|s| s.event.content.clone()).collect();
    for what in ["channel_created", "member_joined", "topic_changed", "member_left"] {
        assert!(kinds.iter().any(|k| k.contains(what)), "{what}");
    }
}

#[test]
fn open_channels_are_listed_and_joined_by_anyone() {
    let world = world();
    let cy = world.client("cy");
    let seen = cy.events(json!([{ "kinds": [39000] }]));
    assert_eq!(seen.iter().map(|e| tag(e, "d")).collect::<Vec<_>>(), [OPEN]);
    assert_eq!(cy.put(9021, &[&["h", OPEN]], "").2, "");
    let mine = cy.events(json!([{ "kinds": [39002], "#p": [cy.keys.public()] }]));
    assert_eq!(tag(&mine[0], "d"), OPEN);
}

#[test]
fn dms_are_opened_by_their_exact_set_and_hidden_per_person() {
    let world = world();
    let (me, bo) = (world.client("me"), world.client("bo"));
    let (_, _, first) = me.put(41010, &[&["p", bo.keys.public()]], "");
    let said: serde_json::Value = serde_json::from_str(first.strip_prefix("response:").unwrap()).unwrap();
    let id = said["channel_id"].as_str().unwrap().to_owned();
    assert_eq!(said["created"], true);
    let (_, _, again) = bo.put(41010, &[&["p", me.keys.public()]], "");
    assert_eq!(again, format!(r#"response:{{"channel_id":"{id}","created":false}}"#));
    let meta = &me.events(json!([{ "kinds": [39000], "#d": [id] }]))[0];
    assert_eq!((tag(meta, "name"), tag(meta, "t")), ("DM".into(), "dm".into()));
    assert!(meta["tags"].as_array().unwrap().contains(&json!(["hidden"])));
    let hidden = |c: &Client| c.events(json!([{ "kinds": [30622], "#p": [c.keys.public()] }]));
    assert_eq!(bo.put(41012, &[&["h", &id]], "").2, "{}");
    assert_eq!(tag(&hidden(&bo)[0], "h"), id);
    me.put(41010, &[&["p", bo.keys.public()]], "by the peer");
    assert_eq!(tag(&hidden(&bo)[0], "h"), id, "the peer opening it does not unhide it");
    bo.put(41010, &[&["p", me.keys.public()]], "by oneself");
    assert_eq!(tag(&hidden(&bo)[0], "h"), "", "opening it oneself does");
    let text = "invalid: pubkeys must contain at least 1 other participant";
    assert_eq!(me.refused(&me.sign(41010, &[], "")).1, text);
}

#[test]
fn the_community_roster_is_the_owners() {
    let world = world();
    let (owner, me, new) = (world.client("owner"), world.client("me"), world.client("new"));
    assert_eq!(new.query(json!([])).status, 403);
    let add: [&[&str]; 2] = [&["p", new.keys.public()], &["role", "member"]];
    assert_eq!(me.publish(&me.sign(9030, &add, "")).status, 400);
    assert_eq!(owner.put(9030, &add, "").2, "");
    assert_eq!(new.query(json!([])).status, 200);
    let roster = me.events(json!([{ "kinds": [13534] }]));
    assert_eq!(roster.len(), 1);
    assert_eq!(roster[0]["tags"][0], json!(["-"]));
    assert!(roster[0]["tags"].as_array().unwrap().contains(&json!(["member", new.keys.public(), "member"])));
    let late = owner.keys.sign(T0 - 200, 9030, tags(&add), "");
    assert_eq!(owner.publish(&late).status, 400, "its clock allowance is 120 s");
}

#[test]
fn profiles_are_replaceable() {
    let world = world();
    let me = world.client("me");
    me.put(0, &[], r#"{"name":"first"}"#);
    world.clock.advance_ms(1000);
    me.put(0, &[], r#"{"name":"second"}"#);
    let got = me.events(json!([{ "kinds": [0], "authors": [me.keys.public()] }]));
    assert_eq!((got.len(), got[0]["content"].as_str().unwrap()), (1, r#"{"name":"second"}"#));
}
