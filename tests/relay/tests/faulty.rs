//! Every fault: what it strikes and what the answer then looks like.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use serde_json::{Value, json};
use support::*;
use waggle_test_relay::{
    Event, HttpResponse, Lost, Purpose,
    faults::{Fault, FaultKind},
    tags,
};

fn filled() -> World {
    let world = world();
    for n in 0..6 {
        let m = world.past("ada", T0 - 90 + n * 10, GENERAL, &[], "m");
        world.past("bo", T0 - 85 + n * 10, GENERAL, &[&["e", &m.id, "", "reply"]], "r");
    }
    world
}

fn head() -> Value {
    json!([{ "kinds": [9], "#h": [GENERAL], "limit": 2, "top_level": true, "include_summaries": true }])
}

/// A further page whose cursor is the end of the first.
fn further(me: &Client) -> Value {
    let end = content(me.events(head()).last().unwrap());
    let mut filter = head();
    filter[0]["until"] = end["next_cursor"]["created_at"].clone();
    filter[0]["before_id"] = end["next_cursor"]["id"].clone();
    filter
}

fn verified(event: &Value) -> bool {
    let event = Event::parse(&event.to_string()).unwrap();
    event.computed_id() == event.id && event.signature_is_valid()
}

fn strike(world: &World, kind: FaultKind) {
    world.relay.fault(Fault::once(kind));
}

#[test]
fn window_faults_touch_one_window_answer() {
    let world = filled();
    let me = world.client("me");
    let page = |kind: FaultKind| {
        let filter = further(&me);
        strike(&world, kind);
        let got = me.events(filter.clone());
        assert!(world.relay.faults().is_empty(), "{kind:?} is spent");
        assert_eq!(of_kind(&me.events(filter.clone()), 39006).len(), 1, "and the next answer is good");
        (filter, got)
    };
    assert!(of_kind(&page(FaultKind::NoBounds).1, 39006).is_empty());
    let two = of_kind(&page(FaultKind::TwoBounds).1, 39006);
    assert_eq!((two.len(), two[0]["content"] == two[1]["content"]), (2, false));
    let (filter, got) = page(FaultKind::BoundsWrongCursor);
    let bound = &of_kind(&got, 39006)[0];
    assert!(verified(bound) && !tag(bound, "d").contains(filter[0]["before_id"].as_str().unwrap()));
    let bound = &of_kind(&page(FaultKind::BoundsWrongSigner).1, 39006)[0];
    assert!(verified(bound) && bound["pubkey"] != world.relay.public_key());
    let bound = &of_kind(&page(FaultKind::BoundsInconsistent).1, 39006)[0];
    assert!(verified(bound));
    assert_eq!(content(bound), json!({ "has_more": true, "next_cursor": null }));
    let (filter, got) = page(FaultKind::BoundsStuck);
    assert_eq!(content(&of_kind(&got, 39006)[0])["next_cursor"]["id"], filter[0]["before_id"]);
    let (filter, got) = page(FaultKind::RowsBeforeCursor);
    assert!(got[0]["created_at"].as_u64() > filter[0]["until"].as_u64());
    let sums = of_kind(&page(FaultKind::OverlayForged).1, 39005);
    assert!(!sums.is_empty() && sums.iter().all(|s| verified(s) && s["pubkey"] != world.relay.public_key()));
    assert_eq!(world.relay.counters().refused, 0);
}

#[test]
fn the_last_page_is_inconsistent_the_other_way_and_stuck_waits_for_a_cursor() {
    let world = filled();
    let me = world.client("me");
    let mut all = head();
    all[0]["limit"] = json!(50);
    strike(&world, FaultKind::BoundsInconsistent);
    assert_eq!(content(me.events(all).last().unwrap())["has_more"], false);
    strike(&world, FaultKind::BoundsStuck);
    me.events(head());
    assert_eq!(world.relay.faults().len(), 1, "a head request has no cursor to be stuck at");
}

#[test]
fn queries_fail_or_break_off() {
    let world = filled();
    let me = world.client("me");
    strike(&world, FaultKind::Http500);
    assert_eq!(me.query(head()).status, 500);
    strike(&world, FaultKind::TruncatedBody);
    let cut: HttpResponse = me.query(head());
    assert!(cut.truncated && cut.json().is_null());
    let whole: usize = cut.header("content-length").unwrap().parse().unwrap();
    assert!(cut.body.len() < whole);
    strike(&world, FaultKind::EvidenceFails);
    assert_eq!(me.query(head()).status, 200, "only evidence reads");
    assert_eq!(me.query(json!([{ "kinds": [9, 5], "#h": [GENERAL] }])).status, 500);
    strike(&world, FaultKind::LookupFails);
    assert_eq!(me.query(json!([{ "ids": ["ab".repeat(32)] }])).status, 500);
    assert_eq!(me.query(json!([{ "ids": ["ab".repeat(32)] }])).status, 200);
    assert_eq!(world.relay.counters().refused, 0);
    assert_eq!(world.relay.counters().of(Purpose::Lookup), 2);
}

#[test]
fn rate_limited_touches_any_request_and_names_30_seconds() {
    let world = filled();
    let me = world.client("me");
    world.relay.fault(Fault { times: 4, ..Fault::once(FaultKind::RateLimited) });
    let text = "rate-limited: quota exceeded; retry in 30s";
    let answer = me.query(head());
    assert_eq!((answer.status, error(&answer).as_str()), (429, text));
    assert_eq!(me.publish(&message("me", T0, GENERAL, &[], "x")).status, 429);
    let mut live = me.socket();
    assert_eq!(live.req("s", &[json!({ "kinds": [9], "#h": [GENERAL] })]), [json!(["CLOSED", "s", text])]);
    live.say(json!(["EVENT", value(&message("me", T0, GENERAL, &[], "x"))]));
    assert_eq!(live.texts(), [json!(["NOTICE", text])]);
    assert_eq!(me.query(head()).status, 200);
    assert_eq!(world.relay.counters().refused, 0, "what a fault refuses is not counted");
}

fn blob(me: &Client, text: &str) -> Event {
    me.keys.sign(
        me.now(),
        30078,
        tags(&[&["d", &format!("read-state:{}", "a".repeat(32))], &["t", "read-state"]]),
        text,
    )
}

#[test]
fn publications_are_lost_or_refused() {
    let world = world();
    let me = world.client("me");
    strike(&world, FaultKind::PublishRefusedTimestamp);
    assert_eq!(me.put(9, &[&["h", GENERAL]], "messages are not touched").2, "");
    let text = "invalid: event timestamp too far from server time";
    assert_eq!(me.refused(&blob(&me, "1")), (400, text.into()));
    strike(&world, FaultKind::PublishRefused);
    assert_eq!(me.refused(&blob(&me, "1")).0, 400);
    strike(&world, FaultKind::PublishLost);
    let event = blob(&me, "2");
    let body = event.json.as_bytes().to_vec();
    let request = me.request("/events", body.clone()).header("authorization", me.auth("/events", &body, |_| {}));
    assert_eq!(world.relay.http(request), Err(Lost));
    assert_eq!(me.publish(&event).json()["message"], "duplicate:", "it was stored");
    strike(&world, FaultKind::PublishLost);
    let mut live = me.socket();
    world.clock.advance_ms(1000);
    let over = blob(&me, "3");
    live.say(json!(["EVENT", value(&over)]));
    assert!(live.texts().is_empty(), "no OK over a socket either");
    assert_eq!((world.relay.counters().publishes, world.relay.counters().refused), (2, 0));
}

#[test]
fn snapshots_are_unusable_in_four_ways() {
    let world = world();
    let me = world.client("me");
    let filter = json!([{ "kinds": [30078], "authors": [me.keys.public()], "read_state_snapshot": 1 }]);
    strike(&world, FaultKind::SnapshotForged);
    assert_eq!(me.query(filter.clone()).json()["events"], json!([]));
    assert_eq!(world.relay.faults().len(), 1, "nothing to damage in an empty one");
    me.publish(&blob(&me, "x"));
    assert!(!verified(&me.query(filter.clone()).json()["events"][0]));
    strike(&world, FaultKind::SnapshotIncomplete);
    assert_eq!(me.query(filter.clone()).json()["complete"], false);
    strike(&world, FaultKind::SnapshotOtherCommunity);
    assert_ne!(me.query(filter.clone()).json()["community_id"], world.relay.community_id());
    strike(&world, FaultKind::SnapshotUnavailable);
    let down = me.query(filter.clone());
    assert!(down.status == 503 && error(&down).contains("cannot prove complete"));
    assert_eq!(me.query(filter).json()["complete"], true);
}

#[test]
fn readbacks_come_back_empty_and_eose_is_withheld() {
    let world = world();
    let me = world.client("me");
    me.publish(&blob(&me, "x"));
    strike(&world, FaultKind::ReadbackEmpty);
    let own =
        json!([{ "kinds": [30078], "authors": [me.keys.public()], "#d": [format!("read-state:{}", "a".repeat(32))] }]);
    assert_eq!(
        me.events(json!([{ "kinds": [30078], "authors": [me.keys.public()], "#d": ["channel-mutes"] }])).len(),
        0
    );
    assert_eq!(me.events(own.clone()).len(), 0);
    assert_eq!(me.events(own).len(), 1);
    strike(&world, FaultKind::NoEose);
    let mut live = me.socket();
    assert!(live.req("s", &[json!({ "kinds": [9], "#h": [GENERAL] })]).is_empty());
    assert_eq!(live.req("s", &[json!({ "kinds": [9], "#h": [GENERAL] })]), [json!(["EOSE", "s"])]);
}

#[test]
fn faults_skip_and_keep_to_their_device() {
    let world = filled();
    let (phone, tablet) = (world.client("me").labelled("phone"), world.client("me").labelled("tablet"));
    world.relay.fault(Fault { skip: 1, label: Some("phone".into()), ..Fault::once(FaultKind::Http500) });
    assert_eq!(tablet.query(head()).status, 200);
    assert_eq!([phone.query(head()).status, phone.query(head()).status, phone.query(head()).status], [200, 500, 200]);
}
