//! The channel window (measured 5.1) row by row.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use serde_json::{Value, json};
use support::*;
use waggle_test_relay::{Dialect, admin::Bring};

fn head(channel: &str, limit: u32) -> Value {
    json!([{ "kinds": [9], "#h": [channel], "limit": limit, "top_level": true, "include_summaries": true, "include_aux": true }])
}

fn bounds(events: &[Value]) -> Value {
    let found = of_kind(events, 39006);
    assert_eq!(found.len(), 1);
    assert_eq!(events.last().unwrap()["kind"], 39006, "the bounds come last");
    found[0].clone()
}

/// Pages through a channel; the ids of all rows and the number of pages.
fn walk(client: &Client, channel: &str, limit: u32) -> (Vec<String>, usize) {
    let (mut rows, mut pages, mut filter) = (Vec::new(), 0, head(channel, limit));
    loop {
        let events = client.events(filter.clone());
        pages += 1;
        rows.extend(ids(&of_kind(&events, 9)));
        let end = bounds(&events);
        let sent = &filter[0];
        let expected = match sent.get("until") {
            None => format!("{channel}:head"),
            Some(until) => format!("{channel}:{until}:{}", sent["before_id"].as_str().unwrap()),
        };
        assert_eq!(tag(&end, "d"), expected);
        assert_eq!(tag(&end, "h"), channel);
        let said = content(&end);
        assert_eq!(said["has_more"], !said["next_cursor"].is_null());
        if said["has_more"] == false {
            return (rows, pages);
        }
        filter[0]["until"] = said["next_cursor"]["created_at"].clone();
        filter[0]["before_id"] = said["next_cursor"]["id"].clone();
    }
}

#[test]
fn pages_of_seven_over_205_rows_with_full_seconds_equal_one_order() {
    let world = world();
    for n in 0..205 {
        world.past("ada", T0 - 1000 + n / 10, GENERAL, &[], &format!("m{n}"));
    }
    let me = world.client("me");
    let (rows, pages) = walk(&me, GENERAL, 7);
    assert_eq!((rows.len(), pages), (205, 30));
    let (big, _) = walk(&me, GENERAL, 200);
    assert_eq!(rows, big);
    let full = me.events(json!([{ "kinds": [9], "#h": [GENERAL] }]));
    assert_eq!(ids(&full), rows, "newest first, id ascending inside a second");
}

#[test]
fn an_exact_multiple_ends_with_a_full_page_and_no_more() {
    let world = world();
    for n in 0..14 {
        world.past("ada", T0 - 100, GENERAL, &[], &format!("m{n}"));
    }
    let (rows, pages) = walk(&world.client("me"), GENERAL, 7);
    assert_eq!((rows.len(), pages), (14, 2));
}

#[test]
fn limits_default_to_50_clamp_to_200_and_zero_is_one() {
    let world = world();
    for n in 0..210 {
        world.past("ada", T0 - 1000 + n, GENERAL, &[], "m");
    }
    let me = world.client("me");
    let rows = |filter: Value| of_kind(&me.events(json!([filter])), 9).len();
    assert_eq!(rows(json!({ "kinds": [9], "#h": [GENERAL], "top_level": true })), 50);
    assert_eq!(rows(json!({ "kinds": [9], "#h": [GENERAL], "top_level": true, "limit": 5000 })), 200);
    assert_eq!(rows(json!({ "kinds": [9], "#h": [GENERAL], "top_level": true, "limit": 0 })), 1);
}

#[test]
fn rows_are_top_level_messages_and_depth_one_broadcasts() {
    let world = world();
    let root = world.past("ada", T0 - 90, GENERAL, &[], "root");
    let reply = world.past("bo", T0 - 80, GENERAL, &[&["e", &root.id, "", "reply"]], "reply");
    let cast = world.past("bo", T0 - 70, GENERAL, &[&["e", &root.id, "", "reply"], &["broadcast", "1"]], "cast");
    let nested = [["e", &root.id, "", "root"], ["e", &reply.id, "", "reply"]];
    world.past("me", T0 - 60, GENERAL, &[&nested[0], &nested[1], &["broadcast", "1"]], "deep cast is no row");
    let lone = world.past("me", T0 - 50, GENERAL, &[&["e", &root.id, "", "root"]], "a lone root marker is a row");
    let bare = world.past("me", T0 - 40, GENERAL, &[&["e", &root.id]], "an unmarked e tag is a row");
    let both = [["e", &root.id, "", "root"], ["e", &root.id, "", "reply"]];
    world.past("me", T0 - 30, GENERAL, &[&both[0], &both[1]], "depth one in the long form");
    let me = world.client("me");
    let events = me.events(head(GENERAL, 50));
    assert_eq!(ids(&of_kind(&events, 9)), [&bare.id, &lone.id, &cast.id, &root.id].map(String::clone));
    let sums = of_kind(&events, 39005);
    assert_eq!(sums.len(), 1);
    assert_eq!(
        (tag(&sums[0], "e"), tag(&sums[0], "d"), tag(&sums[0], "h")),
        (root.id.clone(), root.id.clone(), GENERAL.into())
    );
    let said = content(&sums[0]);
    assert_eq!((&said["reply_count"], &said["descendant_count"]), (&json!(3), &json!(4)));
    assert_eq!(said["participants"], json!([person("me").public(), person("bo").public()]));
    assert_eq!(sums[0]["pubkey"], world.relay.public_key());
}

#[test]
fn a_broadcast_stays_a_row_after_its_root_is_deleted() {
    let world = world();
    let root = world.past("ada", T0 - 90, GENERAL, &[], "root");
    let cast = world.past("bo", T0 - 80, GENERAL, &[&["e", &root.id, "", "reply"], &["broadcast", "1"]], "cast");
    world.client("ada").put(5, &[&["e", &root.id]], "");
    let me = world.client("me");
    assert_eq!(ids(&of_kind(&me.events(head(GENERAL, 50)), 9)), std::slice::from_ref(&cast.id));
    let thread = json!([{ "kinds": [9], "#e": [root.id], "depth_limit": 10 }]);
    assert_eq!(ids(&me.events(thread)), [cast.id], "the thread of a deleted root is still readable");
}

#[test]
fn aux_holds_live_reactions_edits_of_rows_and_not_of_replies() {
    let world = world();
    let root = world.past("ada", T0 - 90, GENERAL, &[], "root");
    let reply = world.past("bo", T0 - 80, GENERAL, &[&["e", &root.id, "", "reply"]], "reply");
    let (me, ada, bo) = (world.client("me"), world.client("ada"), world.client("bo"));
    let (kept, ..) = me.put(7, &[&["e", &root.id]], "+");
    let (taken, ..) = bo.put(7, &[&["e", &root.id]], "👀");
    me.put(7, &[&["e", &reply.id]], "on a reply");
    let (edit, ..) = ada.put(40003, &[&["h", GENERAL], &["e", &root.id]], "root, edited");
    bo.put(5, &[&["e", &taken.id]], "");
    let events = me.events(head(GENERAL, 50));
    let mut aux = ids(&of_kind(&events, 7));
    aux.extend(ids(&of_kind(&events, 40003)));
    assert_eq!(aux, [kept.id, edit.id]);
    assert!(of_kind(&events, 5).is_empty(), "a removed reaction is absent and so is its deletion");
    let plain = me.events(json!([{ "kinds": [7, 40003, 5, 9005], "#e": [reply.id], "#h": [GENERAL] }]));
    assert_eq!(plain.len(), 1, "aux of replies is a separate question");
}

#[test]
fn aux_second_hop_finds_an_unchecked_deletion_of_a_live_reaction() {
    let world = world();
    let root = world.past("ada", T0 - 90, GENERAL, &[], "root");
    let me = world.client("me");
    let (reaction, ..) = me.put(7, &[&["e", &root.id]], "+");
    let foreign = world.client("bo").sign(5, &[&["e", &reaction.id]], "");
    world.relay.admin().store(&foreign, &Bring::default()).unwrap();
    let events = me.events(head(GENERAL, 50));
    assert_eq!(ids(&events)[..3], [root.id, reaction.id, foreign.id]);
}

#[test]
fn summaries_count_down_but_never_rewind_their_last_reply() {
    let world = world();
    let root = world.past("ada", T0 - 90, GENERAL, &[], "root");
    let one = world.past("bo", T0 - 80, GENERAL, &[&["e", &root.id, "", "reply"]], "one");
    let two = world.past("bo", T0 - 70, GENERAL, &[&["e", &root.id, "", "reply"]], "two");
    let bo = world.client("bo");
    bo.put(5, &[&["e", &two.id]], "");
    let said = content(&of_kind(&bo.events(head(GENERAL, 50)), 39005)[0]);
    assert_eq!((&said["reply_count"], &said["last_reply_at"]), (&json!(1), &json!(T0 - 70)));
    bo.put(5, &[&["e", &one.id]], "");
    assert!(of_kind(&bo.events(head(GENERAL, 50)), 39005).is_empty(), "no replies, no summary in a window");
}

#[test]
fn cursor_and_shape_errors_come_in_order_and_in_the_measured_words() {
    let world = world();
    world.past("ada", T0 - 90, GENERAL, &[], "m");
    let (me, cy) = (world.client("me"), world.client("cy"));
    let id = "ab".repeat(32);
    let ask = |client: &Client, extra: Value| {
        let mut filter = json!({ "kinds": [9], "#h": [GENERAL], "limit": 5, "top_level": true });
        filter.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let answer = client.query(json!([filter]));
        (answer.status, error(&answer), answer.json())
    };
    let both = "top_level cursor requires both until and before_id, or neither";
    let shape = "top_level: before_id must be a 64-hex event id";
    for (extra, text) in [
        (json!({ "until": T0 }), both),
        (json!({ "before_id": id }), both),
        (json!({ "#h": [GENERAL, OPEN] }), "top_level requires exactly one #h channel"),
        (json!({ "#h": null }), "top_level requires exactly one #h channel"),
        (json!({ "until": T0, "before_id": "xyz" }), shape),
        (json!({ "until": T0, "before_id": &id[1..] }), shape),
        (json!({ "until": T0, "before_id": 5 }), shape),
        (json!({ "until": T0, "before_id": null }), shape),
        (json!({ "until": null, "before_id": null }), shape),
        (json!({ "until": 99_999_999_999_999_u64, "before_id": id }), "top_level: until is out of range"),
        (json!({ "until": -1, "before_id": id }), "invalid filters: invalid value: integer `-1`, expected u64"),
        (json!({ "until": "123", "before_id": id }), "invalid filters: invalid type: string \"123\", expected u64"),
        (json!({ "limit": -1 }), "invalid filters: invalid value: integer `-1`, expected usize"),
    ] {
        let (status, said, _) = ask(&me, extra.clone());
        assert_eq!((status, said.as_str()), (400, text), "{extra}");
    }
    let (status, _, body) = ask(&cy, json!({ "until": T0 }));
    assert_eq!((status, body), (200, json!([])), "access is looked at before the cursor");
    let (status, _, body) = ask(&me, json!({ "until": T0, "before_id": id.to_uppercase() }));
    assert_eq!(status, 200, "an upper-case id that names nothing is fine");
    assert_eq!(tag(body.as_array().unwrap().last().unwrap(), "d"), format!("{GENERAL}:{T0}:{id}"));
}

#[test]
fn other_members_of_the_filter_are_ignored_and_a_string_flag_is_a_plain_filter() {
    let world = world();
    world.past("ada", T0 - 90, GENERAL, &[], "m");
    let me = world.client("me");
    let count = |extra: Value| {
        let mut filter = json!({ "kinds": [9], "#h": [GENERAL], "top_level": true });
        filter.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        me.events(json!([filter])).len()
    };
    assert_eq!(count(json!({ "since": T0 + 9999 })), 2);
    assert_eq!(count(json!({ "authors": [person("cy").public()] })), 2);
    assert_eq!(count(json!({ "#p": [person("cy").public()] })), 2);
    assert_eq!(count(json!({ "#h": [GENERAL.to_uppercase()] })), 2);
    assert_eq!(count(json!({ "search": "zzz" })), 0, "a search diverts, the window is dropped");
    assert_eq!(count(json!({ "top_level": "true" })), 1, "a string flag is a plain filter");
    assert_eq!(me.query(json!([{ "#h": [GENERAL], "top_level": true }])).status, 403, "kinds are required");
    let empty = me.events(json!([{ "kinds": [], "#h": [GENERAL], "top_level": true }]));
    assert!(empty.iter().any(|e| e["content"] == "m"), "an empty list of kinds restricts nothing");
    let reactions = me.events(json!([{ "kinds": [7], "#h": [GENERAL], "top_level": true }]));
    assert_eq!(reactions.len(), 1, "reactions are rows if asked for; there are none");
}

#[test]
fn access_decides_between_an_empty_answer_and_bounds() {
    let world = world();
    let (me, cy) = (world.client("me"), world.client("cy"));
    assert!(cy.events(head(GENERAL, 5)).is_empty());
    assert!(cy.events(head("99999999-9999-4999-8999-999999999999", 5)).is_empty());
    assert_eq!(cy.events(head(OPEN, 5)).len(), 1, "open channels need no membership");
    assert_eq!(me.events(head(GENERAL, 5)).len(), 1, "readable and empty: bounds alone");
}

#[test]
fn windows_are_answered_before_other_filters_each_with_its_bounds() {
    let world = world();
    world.past("ada", T0 - 90, GENERAL, &[], "g");
    world.past("ada", T0 - 90, DM, &[], "d");
    let me = world.client("me");
    let filters = json!([
        { "kinds": [9], "#h": [DM] },
        { "kinds": [9], "#h": [GENERAL], "top_level": true },
        { "kinds": [9], "#h": [DM], "top_level": true },
    ]);
    let kinds: Vec<u64> = me.events(filters).iter().map(|e| e["kind"].as_u64().unwrap()).collect();
    assert_eq!(kinds, [9, 39006, 9, 39006, 9]);
}

#[test]
fn row_mode_makes_every_depth_a_row_and_says_so() {
    let world = world_with(|s| s.thread_replies_in_channel = true);
    let root = world.past("ada", T0 - 90, GENERAL, &[], "root");
    let reply = world.past("bo", T0 - 80, GENERAL, &[&["e", &root.id, "", "reply"]], "reply");
    let me = world.client("me");
    let events = me.events(head(GENERAL, 50));
    assert_eq!(ids(&of_kind(&events, 9)), [reply.id, root.id]);
    assert_eq!(content(&bounds(&events))["thread_replies_in_channel"], true);
    let doc = world.relay.http(waggle_test_relay::HttpRequest::get("/")).unwrap().json();
    assert_eq!(doc["thread_replies_in_channel"], true);
}

#[test]
fn max_page_caps_a_page_and_a_relay_without_windows_answers_plainly() {
    let world = world_with(|s| {
        s.max_page = 3;
        s.dialect = Dialect::Current;
    });
    let root = world.past("ada", T0 - 90, GENERAL, &[], "root");
    world.past("bo", T0 - 80, GENERAL, &[&["e", &root.id, "", "reply"]], "reply");
    for n in 0..5 {
        world.past("ada", T0 - 70 + n, GENERAL, &[], "m");
    }
    let me = world.client("me");
    let events = me.events(head(GENERAL, 50));
    assert_eq!((of_kind(&events, 9).len(), content(&bounds(&events))["has_more"].clone()), (3, json!(true)));
    let mut settings = world.relay.settings();
    settings.channel_window = false;
    world.relay.set_settings(settings);
    let events = me.events(head(GENERAL, 50));
    assert_eq!(events.len(), 7, "replies too, and no overlay");
    assert!(of_kind(&events, 39006).is_empty());
}

#[test]
fn damaged_events_are_rows_byte_for_byte() {
    let world = world();
    let honest = message("ada", T0 - 50, GENERAL, &[], "x");
    let text = honest.json.replace(&honest.sig, &"0".repeat(128)).replace(",\"kind\"", " ,\"kind\"");
    let forged = waggle_test_relay::Event::parse(&text).unwrap();
    world.relay.admin().store(&forged, &Bring::default()).unwrap();
    let answer = world.client("me").query(head(GENERAL, 5));
    assert!(String::from_utf8(answer.body).unwrap().contains(&text));
}

#[test]
fn overlays_verify_against_the_relays_key() {
    let world = world();
    world.past("ada", T0 - 90, GENERAL, &[], "m");
    let end = bounds(&world.client("me").events(head(GENERAL, 5)));
    let event = waggle_test_relay::Event::parse(&end.to_string()).unwrap();
    assert_eq!(event.computed_id(), event.id);
    assert!(event.signature_is_valid());
    assert_eq!(event.content, r#"{"has_more":false,"next_cursor":null}"#);
    assert_eq!(event.pubkey, world.relay.public_key());
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 24, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_page_size_over_any_seconds_gives_every_row_once_in_order(
        seconds in proptest::collection::vec(0_u64..6, 0..40),
        limit in 1_u32..12,
    ) {
        let world = world();
        let sent = seconds.iter().enumerate().map(|(n, s)| world.past("ada", T0 - 100 + s, GENERAL, &[], &n.to_string()));
        let mut sent: Vec<_> = sent.collect();
        sent.sort_by(|a, b| b.created_at.cmp(&a.created_at).then(a.id.cmp(&b.id)));
        let (rows, pages) = walk(&world.client("me"), GENERAL, limit);
        let want: Vec<_> = sent.into_iter().map(|e| e.id).collect();
        proptest::prop_assert_eq!(&rows, &want);
        proptest::prop_assert_eq!(pages, want.len().div_ceil(limit as usize).max(1));
    }
}
