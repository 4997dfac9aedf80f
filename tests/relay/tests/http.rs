//! NIP-98, NIP-11, membership, quotas and dialects over HTTP (measured 2, 3, 5.3, 8).
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use base64::{Engine, engine::general_purpose};
use serde_json::{Value, json};
use support::*;
use waggle_test_relay::{Dialect, HttpRequest, Purpose, sha256, tags};

const BODY: &str = r#"[{"kinds":[0],"limit":1}]"#;

/// One query with a changed NIP-98 event: status and text.
fn probe(client: &Client, change: impl FnOnce(&mut (u64, u32, Vec<Vec<String>>))) -> (u16, String) {
    let header = client.auth("/query", BODY.as_bytes(), change);
    let request = HttpRequest::post("/query", BODY).header("Authorization", header);
    let answer = client.relay.http(request).unwrap();
    (answer.status, error(&answer))
}

fn url(to: &str) -> impl FnOnce(&mut (u64, u32, Vec<Vec<String>>)) {
    move |e| e.2[0][1] = to.to_owned()
}

fn failed(what: &str) -> (u16, String) {
    (401, format!("NIP-98: NIP-98 HTTP Auth verification failed: {what}"))
}

#[test]
fn the_nip98_table() {
    let world = world();
    let me = world.client("me");
    let good = (200, String::new());
    assert_eq!(probe(&me, |_| {}), good);
    assert_eq!(probe(&me, |e| e.2[1][1] = "post".into()), good, "method in lower case");
    assert_eq!(probe(&me, url("https://relay.test/query/")), good, "trailing slash");
    assert_eq!(probe(&me, url("HTTPS://RELAY.test/query")), good, "scheme and host in any case");
    assert_eq!(probe(&me, |e| drop(e.2.remove(2))), good, "no payload tag");
    assert_eq!(probe(&me, |e| e.0 -= 55), good, "55 s old");
    let method = "method mismatch: event has `GET`, expected `POST`";
    assert_eq!(probe(&me, |e| e.2[1][1] = "GET".into()), failed(method));
    for wrong in [
        "https://relay.test/events",
        "http://relay.test/query",
        "https://localhost/query",
        "https://relay.test/query?a=1",
    ] {
        let text = format!("URL mismatch: event has `{wrong}`, expected `https://relay.test/query`");
        assert_eq!(probe(&me, url(wrong)), failed(&text));
    }
    let payload = "payload tag SHA-256 mismatch: request body does not match signed hash";
    assert_eq!(probe(&me, |e| e.2[2][1] = "00".repeat(32)), failed(payload));
    let stale = "event timestamp outside ±60s window (delta: 65s)";
    assert_eq!(probe(&me, |e| e.0 -= 65), failed(stale));
    assert_eq!(probe(&me, |e| e.0 += 65), failed(stale));
    assert_eq!(probe(&me, |e| e.1 = 22242), failed("expected kind 27235, got 22242"));
}

#[test]
fn headers_that_are_no_nip98() {
    let world = world();
    let me = world.client("me");
    let answer = |header: Option<(&str, String)>| {
        let mut request = HttpRequest::post("/query", BODY);
        if let Some((name, value)) = header {
            request = request.header(name, value);
        }
        let answer = world.relay.http(request).unwrap();
        (answer.status, error(&answer))
    };
    let missing = (401, "missing Nostr auth".to_owned());
    assert_eq!(answer(None), missing);
    assert_eq!(answer(Some(("x-pubkey", person("me").public().to_owned()))), missing);
    assert_eq!(answer(Some(("authorization", "Bearer x".into()))), missing);
    assert_eq!(answer(Some(("authorization", "Nostr !!".into()))), (401, "invalid base64 in Nostr auth".into()));
    let good = me.auth("/query", BODY.as_bytes(), |_| {});
    let bytes = general_purpose::STANDARD.decode(&good[6..]).unwrap();
    let bare = general_purpose::URL_SAFE_NO_PAD.encode([bytes, b" ".to_vec()].concat());
    assert_eq!(answer(Some(("authorization", format!("Nostr {bare}")))), (401, "invalid base64 in Nostr auth".into()));
    let event = me.keys.sign(me.now(), 27235, tags(&[&["u", "https://relay.test/query"], &["method", "POST"]]), "");
    let forged = event.json.replace(&event.sig, &"00".repeat(64));
    let header = format!("Nostr {}", general_purpose::STANDARD.encode(forged));
    assert_eq!(answer(Some(("authorization", header))), failed("invalid Schnorr signature"));
}

#[test]
fn a_header_is_good_once_and_twins_of_one_second_are_one() {
    let world = world();
    let me = world.client("me");
    let header = me.auth("/query", BODY.as_bytes(), |_| {});
    let send = |header: &str| {
        let answer = world.relay.http(HttpRequest::post("/query", BODY).header("authorization", header)).unwrap();
        (answer.status, error(&answer))
    };
    assert_eq!(send(&header).0, 200);
    assert_eq!(send(&header), (401, "NIP-98: replay detected".into()));
    let plain = |_: ()| me.auth("/query", BODY.as_bytes(), |e| drop(e.2.pop()));
    assert_eq!(send(&plain(())).0, 200);
    assert_eq!(send(&plain(())), (401, "NIP-98: replay detected".into()), "same second, no nonce");
}

#[test]
fn the_discovery_document_of_both_dialects() {
    let world = world();
    let get = |path: &str| world.relay.http(HttpRequest::get(path)).unwrap();
    let doc = get("/").json();
    assert_eq!(doc, get("/info").json());
    assert_eq!(doc["self"], world.relay.public_key());
    assert_eq!(doc["limitation"]["max_message_length"], 524_288);
    let expected = json!({
        "version": 1, "community_id": world.relay.community_id(), "max_events": 4096, "max_event_array_bytes": 8_388_608,
    });
    assert_eq!(doc["read_state_snapshot"], expected);
    let foreign = world.relay.http(HttpRequest::get("/").header("host", "elsewhere.test")).unwrap();
    assert_eq!(foreign.status, 200, "served for any host");
    assert!(foreign.json().get("read_state_snapshot").is_none(), "but without what belongs to a community");
    let answer = get("/");
    assert!(answer.header("date").unwrap().ends_with("GMT"));
    let old = world_with(|s| {
        s.dialect = Dialect::August;
        s.identity = false;
    });
    let doc = old.relay.http(HttpRequest::get("/")).unwrap().json();
    assert!(doc.get("read_state_snapshot").is_none() && doc.get("self").is_none());
}

#[test]
fn tenancy_membership_and_size() {
    let world = world();
    let me = world.client("me");
    let header = me.auth("/query", BODY.as_bytes(), |_| {});
    let request = HttpRequest::post("/query", BODY).header("authorization", header);
    let foreign = world.relay.http(request.header("host", "elsewhere.test")).unwrap();
    let text = "relay: no community is configured for this host";
    assert_eq!((foreign.status, error(&foreign).as_str()), (404, text));
    let stranger = world.client("stranger");
    let outside = stranger.send("/query", "not json");
    let body = json!({
        "error": "relay_membership_required", "message": "You must be a relay member to access this relay",
    });
    assert_eq!((outside.status, outside.json()), (403, body), "membership comes before JSON on /query");
    assert_eq!(error(&stranger.send("/events", "not json")), "invalid event JSON: expected ident at line 1 column 2");
    assert_eq!(stranger.send("/events", stranger.sign(0, &[], "{}").json.as_bytes()).status, 403);
    let big = me.send("/query", vec![b' '; 1_048_577]);
    assert_eq!((big.status, big.body.as_slice()), (413, b"length limit exceeded".as_slice()));
    assert_eq!(big.header("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(world.relay.http(HttpRequest::get("/api/join-policy")).unwrap().json(), json!({}));
}

#[test]
fn http_calls_share_300_a_minute_and_name_the_wait() {
    let world = world();
    let me = world.client("me");
    for _ in 0..299 {
        assert_eq!(me.query(json!([])).status, 200);
    }
    world.advance(3);
    assert_eq!(me.send("/count", "[]").status, 200);
    let answer = me.query(json!([]));
    assert_eq!((answer.status, error(&answer).as_str()), (429, "rate-limited: quota exceeded; retry in 57s"));
    assert_eq!(me.publish(&me.sign(0, &[], "{}")).status, 429, "/events draws on the same");
    assert_eq!(world.client("ada").query(json!([])).status, 200, "per key");
    world.advance(57);
    assert_eq!(me.query(json!([])).status, 200);
    assert_eq!(world.relay.counters().refused, 2);
}

#[test]
fn several_channels_in_one_filter_by_dialect() {
    for (world, want) in [(world(), 3), (august(), 1)] {
        world.past("ada", T0 - 30, GENERAL, &[], "g");
        world.past("ada", T0 - 20, OPEN, &[], "o");
        world.past("ada", T0 - 10, DM, &[], "d");
        let me = world.client("me");
        let got = me.events(json!([{ "kinds": [9], "#h": [GENERAL, OPEN, DM] }]));
        assert_eq!(got.len(), want);
        if want == 1 {
            assert_eq!(got[0]["content"], "d", "the smallest id wins, the rest is dropped");
        }
        let split =
            json!([{ "kinds": [9], "#h": [GENERAL] }, { "kinds": [9], "#h": [SECRET] }, { "kinds": [9], "#h": [DM] }]);
        assert_eq!(me.events(split).len(), 2, "one filter a channel; inaccessible ones are skipped");
    }
}

#[test]
fn at_most_128_explicit_channels_in_one_current_request() {
    let world = world();
    let me = world.client("me");
    let many = |n: usize| (0..n).map(|_| GENERAL).collect::<Vec<_>>();
    assert_eq!(me.query(json!([{ "kinds": [9], "#h": many(128) }])).status, 200);
    let over = me.query(json!([{ "kinds": [9], "#h": many(100) }, { "kinds": [9], "#h": many(29) }]));
    assert_eq!((over.status, error(&over).as_str()), (400, "too many explicit channels"));
    let old = august();
    assert_eq!(old.client("me").query(json!([{ "kinds": [9], "#h": many(200) }])).status, 200);
}

fn app_data(client: &Client, d: &str, t: &str, at: u64, text: &str) -> (String, String) {
    let event = client.keys.sign(at, 30078, tags(&[&["d", d], &["t", t]]), text);
    let answer = client.publish(&event).json();
    assert_eq!(answer["accepted"], true, "{answer}");
    (event.id, answer["message"].as_str().unwrap().to_owned())
}

#[test]
fn the_snapshot_is_complete_bound_and_exact() {
    let world = world();
    let me = world.client("me");
    let filter = json!({ "kinds": [30078], "authors": [me.keys.public()], "read_state_snapshot": 1 });
    let empty = me.query(json!([filter])).json();
    assert_eq!((&empty["complete"], &empty["events"]), (&json!(true), &json!([])));
    let slot = format!("read-state:{}", "a".repeat(32));
    let (one, _) = app_data(&me, &slot, "read-state", T0 - 5, "x");
    let (two, _) = app_data(&me, "channel-mutes", "channel-mutes", T0, "y");
    let got = me.query(json!([filter])).json();
    assert_eq!(ids(got["events"].as_array().unwrap()), [two.clone(), one.clone()], "all of kind 30078, newest first");
    let mut bytes = b"buzz-read-state-snapshot-v1\0".to_vec();
    bytes.extend(hex::decode(world.relay.community_id().replace('-', "")).unwrap());
    bytes.extend(hex::decode(me.keys.public()).unwrap());
    bytes.extend(hex::decode(two).unwrap());
    bytes.extend(hex::decode(one).unwrap());
    assert_eq!(got["snapshot_id"], hex::encode(sha256(&bytes)));
    assert_eq!((&got["community_id"], &got["pubkey"]), (&json!(world.relay.community_id()), &json!(me.keys.public())));
    let text = "read_state_snapshot requires one exact version-1 own-author kind-30078 filter";
    let with = |key: &str, v: Value| {
        let mut f = filter.clone();
        f[key] = v;
        f
    };
    for bad in [
        json!([with("limit", json!(1))]),
        json!([with("read_state_snapshot", json!(2))]),
        json!([with("read_state_snapshot", json!(false))]),
        json!([filter, { "kinds": [0] }]),
        json!([with("authors", json!([person("ada").public()]))]),
        json!([with("kinds", json!([30078, 0]))]),
    ] {
        let answer = me.query(bad);
        assert_eq!((answer.status, error(&answer).as_str()), (400, text));
    }
    let old = august();
    let ada = old.client("me");
    assert!(ada.query(json!([filter])).json().is_array(), "August does not know it");
}

#[test]
fn a_snapshot_beyond_its_limits_is_refused_not_cut() {
    let world = world();
    let me = world.client("me");
    let filler = "x".repeat(250_000);
    for n in 0..34 {
        app_data(&me, &format!("app-{n}"), "app", T0, &filler);
    }
    let answer = me.query(json!([{ "kinds": [30078], "authors": [me.keys.public()], "read_state_snapshot": 1 }]));
    assert_eq!(answer.status, 413);
}

#[test]
fn read_state_supersession_answers_accepted_and_stores_nothing() {
    let world = world();
    let me = world.client("me");
    let slot = format!("read-state:{}", "c".repeat(32));
    let (first, message) = app_data(&me, &slot, "read-state", T0, "0");
    assert_eq!(message, "");
    assert_eq!(app_data(&me, &slot, "read-state", T0 - 1, "older").1, "duplicate:");
    let twins: Vec<_> =
        (0..20).map(|n| me.keys.sign(T0, 30078, tags(&[&["d", &slot], &["t", "read-state"]]), n.to_string())).collect();
    let higher = twins.iter().find(|e| e.id > first).unwrap();
    assert_eq!(me.publish(higher).json()["message"], "duplicate:", "same second, higher id");
    let (newer, message) = app_data(&me, &slot, "read-state", T0 + 1, "newer");
    assert_eq!(message, "");
    assert_eq!(
        app_data(&me, &slot, "read-state", T0 + 1, "newer"),
        (newer.clone(), "duplicate:".into()),
        "exact replay"
    );
    for filter in [json!({ "kinds": [30078], "#d": [slot] }), json!({ "kinds": [30078], "#t": ["read-state"] })] {
        let got = ids(&world.client("ada").events(json!([filter])));
        assert_eq!(got, std::slice::from_ref(&newer), "any member may fetch it");
    }
    let counters = world.relay.counters();
    assert_eq!(counters.publishes, 2);
    let slots = world.relay.admin().read_state(me.keys.public()).unwrap();
    assert_eq!((slots.len(), slots[0].by_client, &slots[0].event.id), (1, true, &newer));
}

#[test]
fn requests_are_counted_by_given_or_derived_purpose() {
    let world = world();
    let me = world.client("me");
    me.query(json!([{ "kinds": [9], "#h": [GENERAL], "top_level": true }]));
    me.query(json!([{ "kinds": [9, 5], "#h": [GENERAL, DM] }, { "kinds": [9], "#h": [OPEN] }]));
    me.query(json!([{ "kinds": [39002], "#p": [me.keys.public()] }]));
    let body = json!([{ "ids": ["ab".repeat(32)] }]).to_string().into_bytes();
    let mut request = me.request("/query", body.clone());
    request.purpose = Some(Purpose::Homes);
    world.relay.http(request.header("authorization", me.auth("/query", &body, |_| {}))).unwrap();
    let seen = world.relay.counters();
    let of = |p| seen.of(p);
    assert_eq!(
        [of(Purpose::Head), of(Purpose::Evidence), of(Purpose::Roster), of(Purpose::Homes), of(Purpose::Lookup)],
        [1, 1, 1, 1, 0]
    );
    assert_eq!(seen.evidence_channels, [3]);
    assert_eq!(seen.refused, 0);
}
