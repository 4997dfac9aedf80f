//! Thread pages and plain filters (measured 5.2, 5.3).
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use serde_json::{Value, json};
use support::*;

#[test]
fn thread_pages_are_oldest_first_and_end_with_a_short_or_empty_page() {
    let world = world();
    let root = world.past("ada", T0 - 900, GENERAL, &[], "root");
    let mut sent = Vec::new();
    for n in 0..26 {
        sent.push(world.past("bo", T0 - 800 + n / 4, GENERAL, &[&["e", &root.id, "", "reply"]], &format!("r{n}")));
    }
    sent.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    let me = world.client("me");
    let mut filter = json!({ "kinds": [9], "#e": [root.id], "#h": [GENERAL], "depth_limit": 100, "limit": 13 });
    let (mut got, mut pages) = (Vec::new(), 0);
    loop {
        let events = me.events(json!([filter]));
        pages += 1;
        let Some(last) = events.last() else { break };
        filter["thread_cursor"] = last["created_at"].clone();
        filter["thread_cursor_id"] = last["id"].clone();
        got.extend(ids(&events));
    }
    assert_eq!(got, sent.iter().map(|e| e.id.clone()).collect::<Vec<_>>());
    assert_eq!(pages, 3, "an exact multiple costs one empty page");
}

#[test]
fn what_selects_a_thread_page_and_what_it_ignores() {
    let world = world();
    let root = world.past("ada", T0 - 90, GENERAL, &[], "root");
    let one = world.past("bo", T0 - 80, GENERAL, &[&["e", &root.id, "", "reply"]], "one");
    let nested = [["e", &root.id, "", "root"], ["e", &one.id, "", "reply"]];
    let two = world.past("me", T0 - 70, GENERAL, &[&nested[0], &nested[1]], "two");
    let me = world.client("me");
    let got = |extra: Value| {
        let mut filter = json!({ "kinds": [9], "#e": [root.id], "#h": [GENERAL], "depth_limit": 10 });
        filter.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        me.events(json!([filter])).len()
    };
    assert_eq!(got(json!({})), 2);
    assert_eq!(got(json!({ "kinds": [7] })), 2, "kinds are ignored");
    assert_eq!(got(json!({ "#h": [DM] })), 2, "so is another channel in #h");
    assert_eq!(got(json!({ "depth_limit": 1 })), 1);
    assert_eq!(got(json!({ "depth_limit": 0 })), 0);
    assert_eq!(got(json!({ "#e": [one.id] })), 0, "a reply is no root");
    assert_eq!(got(json!({ "#e": ["ee".repeat(32)] })), 0);
    assert_eq!(got(json!({ "thread_cursor": "x", "thread_cursor_id": one.id })), 2, "a malformed cursor is ignored");
    let by_time = json!({ "thread_cursor": T0 - 80, "thread_cursor_id": "nothex" });
    assert_eq!(got(by_time), 1, "a malformed id pages on time alone");
    assert_eq!(got(json!({ "threadCursor": T0 - 80, "threadCursorId": one.id })), 1);
    let plain = me.events(json!([{ "kinds": [9], "#e": [root.id], "thread_cursor": T0 - 80 }]));
    assert_eq!(ids(&plain), [two.id, one.id], "without depth_limit it is a plain query");
    assert_eq!(me.query(json!([{ "#e": [root.id], "depth_limit": 10 }])).status, 403);
    assert!(world.client("cy").events(json!([{ "kinds": [9], "#e": [root.id], "depth_limit": 10 }])).is_empty());
}

#[test]
fn plain_filters_are_inclusive_in_time_and_take_an_exact_cursor() {
    let world = world();
    let mut all: Vec<_> = (0..6).map(|n| world.past("ada", T0 - 50 + n / 3, GENERAL, &[], &format!("m{n}"))).collect();
    all.sort_by(|a, b| b.created_at.cmp(&a.created_at).then(a.id.cmp(&b.id)));
    let me = world.client("me");
    let get = |extra: Value| {
        let mut filter = json!({ "kinds": [9], "#h": [GENERAL] });
        filter.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        me.query(json!([filter]))
    };
    assert_eq!(get(json!({ "since": T0 - 50, "until": T0 - 50 })).json().as_array().unwrap().len(), 3);
    let next = get(json!({ "until": all[1].created_at, "before_id": all[1].id }));
    let want: Vec<_> = all[2..].iter().map(|e| e.id.clone()).collect();
    assert_eq!(ids(next.json().as_array().unwrap()), want);
    assert_eq!(error(&get(json!({ "before_id": all[0].id }))), "before_id requires until to be set");
    assert_eq!(error(&get(json!({ "before_id": "x", "until": 5 }))), "before_id must be a 64-char hex event id");
    assert_eq!(get(json!({ "limit": 0 })).json(), json!([]));
}

#[test]
fn body_shapes_and_gates() {
    let world = world();
    let me = world.client("me");
    let shape = "invalid filters: invalid type: map, expected a sequence at line 1 column 0";
    assert_eq!(error(&me.query(json!({ "kinds": [9] }))), shape);
    assert_eq!(me.query(json!([])).json(), json!([]));
    assert_eq!(me.query(json!([{ "kinds": [9], "#h": ["not-a-uuid"] }])).json(), json!([]));
    let gate = "restricted: p-gated kinds require #p tag matching your pubkey";
    for filter in [
        json!({ "kinds": [44100] }),
        json!({ "limit": 1 }),
        json!({ "kinds": [30622], "#p": [person("ada").public()] }),
    ] {
        let answer = me.query(json!([filter]));
        assert_eq!((answer.status, error(&answer).as_str()), (403, gate));
    }
    assert_eq!(me.query(json!([{ "kinds": [30300] }])).status, 403);
    let mixed = me.query(json!([{ "kinds": [9], "search": "x" }, { "kinds": [9] }]));
    assert_eq!(error(&mixed), "mixed search and non-search filters not supported");
}

#[test]
fn the_assigned_channel_counts_not_the_h_tag_and_filters_are_not_deduplicated() {
    let world = world();
    let m = world.past("ada", T0 - 90, GENERAL, &[&["p", person("me").public()]], "hello swarm");
    let me = world.client("me");
    let (reaction, ..) = me.put(7, &[&["e", &m.id]], "+");
    let got = me.events(json!([{ "kinds": [7], "#h": [GENERAL] }]));
    assert_eq!(ids(&got), [reaction.id], "a reaction without h is in its target's channel");
    let twice = json!([{ "kinds": [9], "#h": [GENERAL], "limit": 1 }, { "kinds": [9], "#h": [GENERAL], "limit": 1 }]);
    assert_eq!(me.events(twice).len(), 2);
    assert_eq!(me.events(json!([{ "kinds": [9], "#p": [person("me").public()] }])).len(), 1);
    assert_eq!(me.events(json!([{ "kinds": [9], "feed_types": ["mentions"] }])).len(), 1);
    assert_eq!(me.events(json!([{ "kinds": [9], "search": "SWARM" }])).len(), 1);
    assert_eq!(me.send("/count", json!([{ "kinds": [9], "#h": [GENERAL] }]).to_string()).json(), json!({ "count": 1 }));
    assert_eq!(me.events(json!([{ "ids": [m.id] }])).len(), 1);
    assert!(me.events(json!([{ "kinds": [39005, 39006], "#h": [GENERAL] }])).is_empty());
    world.client("ada").put(5, &[&["e", &m.id]], "");
    assert!(me.events(json!([{ "ids": [m.id] }])).is_empty(), "a deleted event is gone from every query");
    assert_eq!(me.events(json!([{ "kinds": [5], "#e": [m.id] }])).len(), 1, "its deletion is not");
}

#[test]
fn max_rows_is_default_and_cap_of_a_plain_query() {
    let world = world_with(|s| s.max_rows = 4);
    for n in 0..9 {
        world.past("ada", T0 - 90 + n, GENERAL, &[], "m");
    }
    let me = world.client("me");
    assert_eq!(me.events(json!([{ "kinds": [9], "#h": [GENERAL] }])).len(), 4);
    assert_eq!(me.events(json!([{ "kinds": [9], "#h": [GENERAL], "limit": 100 }])).len(), 4);
    assert_eq!(me.events(json!([{ "kinds": [9], "#h": [GENERAL], "limit": 2 }])).len(), 2);
}
