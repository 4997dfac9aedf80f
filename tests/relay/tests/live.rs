//! The WebSocket (measured 7): authentication, subscriptions, live delivery, revocation, limits, timers.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use serde_json::{Value, json};
use support::*;
use waggle_test_relay::{ServerFrame, admin::Bring, tags};

fn auth_frame(name: &str, at: u64, relay: &str, challenge: &str) -> (String, Value) {
    let event = person(name).sign(at, 22242, tags(&[&["relay", relay], &["challenge", challenge]]), "");
    (event.id.clone(), json!(["AUTH", value(&event)]))
}

fn attempt(world: &World, name: &str, at: u64, relay: &str, challenge: Option<&str>) -> (bool, String) {
    let mut live = Live { socket: world.relay.connect() };
    let given = live.texts()[0][1].as_str().unwrap().to_owned();
    let (_, frame) = auth_frame(name, at, relay, challenge.unwrap_or(&given));
    live.say(frame);
    let answer = live.texts().remove(0);
    (answer[2].as_bool().unwrap(), answer[3].as_str().unwrap().to_owned())
}

#[test]
fn authentication_succeeds_once_and_fails_as_measured() {
    let world = world();
    let no = (false, "auth-required: verification failed".to_owned());
    assert_eq!(attempt(&world, "me", T0, "wss://relay.test", None), (true, String::new()));
    assert!(attempt(&world, "me", T0, "wss://relay.test/", None).0, "trailing slash");
    assert_eq!(attempt(&world, "me", T0, "wss://relay.test", Some(&"00".repeat(32))), no);
    assert_eq!(attempt(&world, "me", T0, "wss://example.com", None), no);
    assert_eq!(attempt(&world, "me", T0 - 90, "wss://relay.test", None), no);
    let outside = (false, "restricted: not a relay member".to_owned());
    assert_eq!(attempt(&world, "stranger", T0, "wss://relay.test", None), outside);
    let mut live = world.client("me").socket();
    let (id, frame) = auth_frame("me", T0, "wss://relay.test", "x");
    live.say(frame);
    assert_eq!(live.texts(), [json!(["OK", id, false, "auth-required: already authenticated"])]);
}

#[test]
fn nothing_works_before_authentication() {
    let world = world();
    let mut live = Live { socket: world.relay.connect() };
    live.texts();
    live.say(json!(["REQ", "s1", { "kinds": [9], "#h": [GENERAL] }]));
    let event = message("me", T0, GENERAL, &[], "x");
    live.say(json!(["EVENT", value(&event)]));
    let want = [
        json!(["NOTICE", "auth-required: authenticate before subscribing"]),
        json!(["CLOSED", "s1", "auth-required: not authenticated"]),
        json!(["OK", event.id, false, "auth-required: not authenticated"]),
    ];
    assert_eq!(live.texts(), want);
}

#[test]
fn five_seconds_to_authenticate_then_pings_and_three_missed_pongs() {
    let world = world();
    let mut silent = world.relay.connect();
    let mut live = world.client("me").socket();
    world.clock.advance_ms(4_999);
    world.relay.tick();
    silent.try_recv();
    assert_eq!(silent.try_recv(), None);
    world.clock.advance_ms(1);
    world.relay.tick();
    assert_eq!(silent.try_recv(), Some(ServerFrame::Close { code: None }));
    world.advance(3600);
    assert_eq!(live.frames(), [ServerFrame::Ping], "one ping however far the clock moved; reading answered it");
    for _ in 0..4 {
        world.advance(30);
    }
    assert!(matches!(live.frames().last(), Some(ServerFrame::Close { code: None })), "three unanswered, dropped");
    assert!(!live.socket.send("[]"));
}

#[test]
fn history_then_eose_then_live_with_the_ok_first() {
    let world = world();
    let old = world.past("ada", T0 - 50, GENERAL, &[], "old");
    let me = world.client("me");
    let mut live = me.socket();
    let got = live
        .req("a", &[json!({ "kinds": [9], "#h": [GENERAL] }), json!({ "kinds": [9], "#h": [GENERAL], "limit": 1 })]);
    assert_eq!(got, [json!(["EVENT", "a", value(&old)]), json!(["EOSE", "a"])], "deduplicated over the filters");
    let event = me.sign(9, &[&["h", GENERAL]], "new");
    live.say(json!(["EVENT", value(&event)]));
    assert_eq!(live.texts(), [json!(["OK", event.id, true, ""]), json!(["EVENT", "a", value(&event)])]);
    live.say(json!(["EVENT", value(&event)]));
    assert_eq!(live.texts(), [json!(["OK", event.id, true, "duplicate:"])]);
    live.say(json!(["CLOSE", "a"]));
    assert_eq!(live.texts(), [json!(["CLOSED", "a", ""])]);
    world.post("ada", GENERAL, &[], "unheard");
    assert!(live.pushed().is_empty());
}

#[test]
fn limit_zero_hears_everything_later_and_since_holds_live() {
    let world = world();
    world.past("ada", T0 - 50, GENERAL, &[], "old");
    let mut live = world.client("me").socket();
    assert_eq!(live.req("z", &[json!({ "kinds": [9], "#h": [GENERAL], "limit": 0 })]), [json!(["EOSE", "z"])]);
    assert_eq!(live.req("s", &[json!({ "kinds": [9], "#h": [GENERAL], "since": T0 })]), [json!(["EOSE", "s"])]);
    let back = message("ada", T0 - 300, GENERAL, &[], "back-dated");
    world.relay.admin().accept(back, &Bring::default()).unwrap().unwrap();
    assert_eq!(live.pushed(), [("z".to_owned(), 9)], "since suppresses what is back-dated");
}

#[test]
fn a_reply_brings_its_summary_if_asked_for_and_so_does_its_deletion() {
    let world = world();
    let root = world.past("ada", T0 - 50, GENERAL, &[], "root");
    let mut live = world.client("me").socket();
    live.req("with", &[json!({ "kinds": [9, 5, 7, 9005, 39005, 40099], "#h": [GENERAL], "limit": 0 })]);
    live.req("without", &[json!({ "kinds": [9], "#h": [GENERAL], "limit": 0 })]);
    let (ada, bo) = (world.client("ada"), world.client("bo"));
    let (reply, ..) = bo.put(9, &[&["h", GENERAL], &["e", &root.id, "", "reply"]], "reply");
    let texts = live.texts();
    let order: Vec<(&str, u64)> =
        texts.iter().map(|t| (t[1].as_str().unwrap(), t[2]["kind"].as_u64().unwrap())).collect();
    assert_eq!(order, [("with", 9), ("without", 9), ("with", 39005)]);
    let said = content(&texts[2][2]);
    assert_eq!((&said["reply_count"], &said["last_reply_at"]), (&json!(1), &json!(T0)));
    bo.put(7, &[&["e", &root.id]], "+");
    bo.put(5, &[&["e", &reply.id]], "");
    let texts = live.texts();
    assert_eq!(texts.iter().map(|t| t[2]["kind"].as_u64().unwrap()).collect::<Vec<_>>(), [7, 5, 39005]);
    assert_eq!(content(&texts[2][2])["reply_count"], 0);
    ada.put(9005, &[&["h", GENERAL], &["e", &root.id]], "");
    assert_eq!(live.pushed(), [("with".into(), 9005), ("with".into(), 40099)], "no summary for a root that is gone");
}

#[test]
fn live_scope_of_the_current_dialect() {
    let world = world();
    let mut live = world.client("me").socket();
    live.req("multi", &[json!({ "kinds": [9], "#h": [GENERAL, DM, SECRET], "limit": 0 })]);
    live.req(
        "two",
        &[json!({ "kinds": [9], "#h": [GENERAL], "limit": 0 }), json!({ "kinds": [9], "#h": [DM], "limit": 0 })],
    );
    live.req("mixed", &[json!({ "kinds": [9], "#h": [GENERAL], "limit": 0 }), json!({ "kinds": [30078], "limit": 0 })]);
    world.post("ada", DM, &[], "to the dm");
    assert_eq!(live.pushed(), [("multi".to_owned(), 9), ("two".to_owned(), 9)]);
    world.post("ada", SECRET, &[], "not for me");
    world.post("ada", GENERAL, &[], "to general");
    assert_eq!(
        live.pushed(),
        [("multi".to_owned(), 9), ("two".to_owned(), 9)],
        "a mixed one is global and dead for channels"
    );
    let many: Vec<&str> = (0..129).map(|_| GENERAL).collect();
    let got = live.req("over", &[json!({ "kinds": [9], "#h": many, "limit": 0 })]);
    assert_eq!(got, [json!(["CLOSED", "over", "restricted: too many explicit channels"])]);
}

#[test]
fn live_scope_of_august_is_one_channel() {
    let world = august();
    world.past("ada", T0 - 9, DM, &[], "old");
    world.past("ada", T0 - 9, GENERAL, &[], "old");
    let mut live = world.client("me").socket();
    let got = live.req("multi", &[json!({ "kinds": [9], "#h": [GENERAL, DM] })]);
    assert_eq!(got.len(), 3, "history is served");
    live.req(
        "two",
        &[json!({ "kinds": [9], "#h": [GENERAL], "limit": 0 }), json!({ "kinds": [9], "#h": [DM], "limit": 0 })],
    );
    live.req("none", &[json!({ "kinds": [9], "limit": 0 })]);
    live.req("single", &[json!({ "kinds": [9], "#h": [DM], "limit": 0 })]);
    world.post("ada", DM, &[], "d");
    world.post("ada", GENERAL, &[], "g");
    assert_eq!(live.pushed(), [("single".to_owned(), 9)]);
}

#[test]
fn refused_subscriptions() {
    let world = world();
    let mut live = world.client("cy").socket();
    let member = "restricted: not a channel member";
    let gated = "restricted: p-gated events require #p matching your pubkey";
    for (filter, why) in [
        (json!({ "kinds": [9], "#h": [SECRET] }), member),
        (json!({ "kinds": [9], "#h": ["99999999-9999-4999-8999-999999999999"] }), member),
        (json!({ "kinds": [44100] }), gated),
        (json!({ "limit": 1 }), gated),
    ] {
        assert_eq!(live.req("x", &[filter]), [json!(["CLOSED", "x", why])]);
    }
    assert_eq!(live.req("o", &[json!({ "kinds": [9], "#h": [OPEN], "limit": 0 })]), [json!(["EOSE", "o"])]);
    world.post("ada", OPEN, &[], "open");
    assert_eq!(live.pushed(), [("o".to_owned(), 9)]);
}

#[test]
fn global_events_need_a_global_subscription_and_group_state_a_channel_one() {
    let world = world();
    let me = world.client("me");
    let mut live = me.socket();
    live.req("own", &[json!({ "kinds": [30078], "authors": [me.keys.public()], "limit": 0 })]);
    live.req("disc", &[json!({ "kinds": [39000, 39002], "limit": 0 })]);
    live.req("chan", &[json!({ "kinds": [39000, 39002], "#h": [GENERAL], "limit": 0 })]);
    live.req("note", &[json!({ "kinds": [44100, 44101], "#p": [me.keys.public()], "limit": 0 })]);
    me.put(30078, &[&["d", "read-state:x"]], "x");
    assert_eq!(live.pushed(), [("own".to_owned(), 30078)]);
    world.relay.admin().grant(GENERAL, person("cy").public(), "member").unwrap();
    assert_eq!(live.pushed(), [("chan".to_owned(), 39000), ("chan".to_owned(), 39002)]);
    world.relay.admin().grant(SECRET, me.keys.public(), "member").unwrap();
    assert_eq!(live.pushed(), [("note".to_owned(), 44100)]);
}

#[test]
fn revocation_closes_then_tells_and_nothing_more_arrives() {
    let world = world();
    let me = world.client("me");
    let mut live = me.socket();
    live.req("g", &[json!({ "kinds": [9], "#h": [GENERAL], "limit": 0 })]);
    live.req("d", &[json!({ "kinds": [9], "#h": [DM], "limit": 0 })]);
    live.req("both", &[json!({ "kinds": [9], "#h": [GENERAL, DM], "limit": 0 })]);
    live.req("n", &[json!({ "kinds": [44100, 44101], "#p": [me.keys.public()], "limit": 0 })]);
    world.relay.admin().revoke(GENERAL, me.keys.public()).unwrap();
    let texts = live.texts();
    let why = "restricted: channel access revoked";
    assert_eq!(texts[..2], [json!(["CLOSED", "both", why]), json!(["CLOSED", "g", why])]);
    assert_eq!((texts.len(), &texts[2][2]["kind"]), (3, &json!(44101)));
    world.post("ada", GENERAL, &[], "x");
    world.post("ada", DM, &[], "y");
    assert_eq!(live.pushed(), [("d".to_owned(), 9)]);
    assert!(me.events(json!([{ "kinds": [9], "#h": [GENERAL], "top_level": true }])).is_empty());
    assert_eq!(world.relay.counters().refused, 0, "a revocation is no refusal");
}

#[test]
fn removal_archiving_and_closing_a_channel_end_subscriptions() {
    let world = world();
    let (ada, cy) = (world.client("ada"), world.client("cy"));
    let mut live = cy.socket();
    let closed = |name: &str| json!(["CLOSED", name, "restricted: channel access revoked"]);
    live.req("o", &[json!({ "kinds": [9], "#h": [OPEN], "limit": 0 })]);
    world.relay.admin().set_open(OPEN, false).unwrap();
    assert_eq!(live.texts(), [closed("o")], "an open channel closed to outsiders");
    world.relay.admin().set_open(OPEN, true).unwrap();
    live.req("o", &[json!({ "kinds": [9], "#h": [OPEN], "limit": 0 })]);
    world.relay.admin().set_archived(OPEN, true).unwrap();
    assert_eq!(live.texts(), [closed("o")]);
    let mut bo = world.client("bo").socket();
    bo.req("g", &[json!({ "kinds": [9], "#h": [GENERAL], "limit": 0 })]);
    ada.put(9001, &[&["h", GENERAL], &["p", person("bo").public()]], "");
    assert_eq!(bo.texts(), [closed("g")]);
}

#[test]
fn typing_and_presence_are_heard_and_not_kept() {
    let world = world();
    let ada = world.client("ada");
    let mut live = world.client("me").socket();
    live.req("ty", &[json!({ "kinds": [20002], "#h": [GENERAL] })]);
    live.req("pr", &[json!({ "kinds": [20001], "authors": [ada.keys.public()] })]);
    let mut peer = ada.socket();
    for event in [ada.sign(20002, &[&["h", GENERAL]], ""), ada.sign(20001, &[], "online")] {
        peer.say(json!(["EVENT", value(&event)]));
        assert_eq!(peer.texts(), [json!(["OK", event.id, true, ""])]);
    }
    assert_eq!(live.pushed(), [("ty".to_owned(), 20002), ("pr".to_owned(), 20001)]);
    assert!(ada.events(json!([{ "kinds": [20001], "authors": [ada.keys.public()] }])).is_empty());
}

#[test]
fn malformed_frames_get_a_notice_and_too_large_ones_end_the_connection() {
    let world = world();
    let mut live = world.client("me").socket();
    let notice = |what: &str| json!(["NOTICE", format!("invalid message: Invalid message format: {what}")]);
    let eleven: Vec<Value> = (0..11).map(|_| json!({ "kinds": [9], "#h": [GENERAL] })).collect();
    assert_eq!(live.req("f", &eleven), [notice("REQ contains 11 filters, maximum is 10")]);
    let long = "x".repeat(257);
    assert_eq!(live.req(&long, &eleven[..1]), [notice("REQ sub_id exceeds maximum length of 256 bytes")]);
    live.say(json!(["NOPE"]));
    assert_eq!(live.texts(), [notice("unknown message type: NOPE")]);
    assert!(live.socket.send("nonsense"));
    assert!(
        live.texts()[0][1].as_str().unwrap().starts_with("invalid message: Invalid message format: JSON parse error:")
    );
    live.say(json!(["COUNT", "c", { "kinds": [9], "#h": [GENERAL] }]));
    assert_eq!(live.texts(), [json!(["COUNT", "c", { "count": 0 }])]);
    live.socket.send("x".repeat(512 * 1024 + 1));
    assert_eq!(live.frames(), [ServerFrame::Close { code: None }]);
}

#[test]
fn req_ignores_the_window_members_and_replaces_by_name() {
    let world = world();
    world.past("ada", T0 - 9, GENERAL, &[], "m");
    let mut live = world.client("me").socket();
    let got = live.req("t", &[json!({ "kinds": [9], "#h": [GENERAL], "top_level": true, "include_summaries": true })]);
    assert_eq!(got.len(), 2, "one event and EOSE, no overlay");
    live.req("t", &[json!({ "kinds": [9], "#h": [DM], "limit": 0 })]);
    world.post("ada", GENERAL, &[], "x");
    world.post("ada", DM, &[], "y");
    assert_eq!(live.pushed(), [("t".to_owned(), 9)]);
}

#[test]
fn frame_quota_closes_reqs_and_event_quota_answers_a_notice() {
    let world = world();
    let me = world.client("me");
    let mut live = me.socket();
    for n in 0..50 {
        live.req(&format!("s{n}"), &[json!({ "kinds": [9], "#h": [GENERAL], "limit": 0 })]);
    }
    let why = "rate-limited: quota exceeded; retry in 5s";
    assert_eq!(
        live.req("s50", &[json!({ "kinds": [9], "#h": [GENERAL], "limit": 0 })]),
        [json!(["CLOSED", "s50", why])]
    );
    let event = me.sign(9, &[&["h", DM]], "x");
    live.say(json!(["EVENT", value(&event)]));
    assert_eq!(live.texts(), [json!(["NOTICE", why])]);
    world.clock.advance_ms(5_000);
    for n in 0..60 {
        if n % 40 == 39 {
            world.clock.advance_ms(5_000);
        }
        live.say(json!(["EVENT", value(&me.sign(9, &[&["h", DM]], &n.to_string()))]));
    }
    live.texts();
    live.say(json!(["EVENT", value(&event)]));
    assert_eq!(
        live.texts(),
        [json!(["NOTICE", "rate-limited: quota exceeded; retry in 55s"])],
        "a NOTICE, never an OK"
    );
    assert_eq!(world.relay.counters().refused, 3);
    assert_eq!(me.publish(&event).status, 200, "the message quota is not HTTP's");
}

#[test]
fn sockets_can_be_cut_by_label_and_end_with_1012_on_restart() {
    let world = world();
    let mut phone = world.client("me").labelled("phone").socket();
    let mut tablet = world.client("me").labelled("tablet").socket();
    assert_eq!(world.relay.admin().drop_sockets(Some("phone")), 1);
    assert_eq!(phone.socket.try_recv(), None);
    assert!(!phone.socket.send("[]"));
    world.relay.admin().restart();
    assert_eq!(tablet.frames(), [ServerFrame::Close { code: Some(1012) }]);
    drop(world.client("me").socket());
    assert_eq!(world.relay.admin().open_sockets(), 0);
}

#[test]
fn settings_change_with_the_next_connection_of_a_device() {
    let world = world();
    let me = world.client("me").labelled("phone");
    let live = me.socket();
    let mut settings = world.relay.settings();
    settings.max_rows = 1;
    world.relay.set_settings(settings);
    for n in 0..3 {
        world.past("ada", T0 - 9 + n, GENERAL, &[], "m");
    }
    let rows = || me.events(json!([{ "kinds": [9], "#h": [GENERAL] }])).len();
    assert_eq!(rows(), 3);
    drop(live);
    assert_eq!(rows(), 1);
}

#[test]
fn unchecked_events_are_pushed_and_do_nothing_else_and_quiet_ones_are_only_stored() {
    let world = world();
    let m = world.past("ada", T0 - 9, GENERAL, &[], "m");
    let mut live = world.client("me").socket();
    live.req("g", &[json!({ "kinds": [9, 5, 39005, 40099], "#h": [GENERAL], "limit": 0 })]);
    let ghost = "ab".repeat(32);
    let foreign = person("ada").sign(T0, 5, tags(&[&["e", &ghost], &["e", &m.id]]), "");
    world.relay.admin().store(&foreign, &Bring::default()).unwrap();
    let far = message("ada", T0 + 90_000, GENERAL, &[&["e", &m.id, "", "reply"]], "far");
    world.relay.admin().store(&far, &Bring::default()).unwrap();
    assert_eq!(live.pushed(), [("g".to_owned(), 5), ("g".to_owned(), 9)], "no removal, no summary");
    let me = world.client("me");
    let window = me.events(json!([{ "kinds": [9], "#h": [GENERAL], "top_level": true, "include_summaries": true }]));
    assert_eq!(window.len(), 2, "the row is still there, the reply is none and no summary counts it");
    let quiet = Bring { quiet: true, ..Bring::default() };
    world.relay.admin().accept(message("ada", T0, GENERAL, &[], "quiet"), &quiet).unwrap().unwrap();
    assert!(live.pushed().is_empty());
    assert_eq!(me.events(json!([{ "kinds": [9], "#h": [GENERAL], "limit": 1, "until": T0 }])).len(), 1);
}
