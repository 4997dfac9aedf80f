//! The demo community: there, deterministic, readable by its viewer, and alive.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::collections::BTreeSet;

use serde_json::json;
use support::*;
use waggle_test_relay::{
    ManualClock, Relay, RelayConfig,
    community::{Community, seed_community},
};

fn seeded() -> (World, Community) {
    let clock = ManualClock::at(T0);
    let relay = Relay::open(RelayConfig::new(clock.clone())).unwrap();
    let community = seed_community(&relay, T0).unwrap();
    (World { relay, clock }, community)
}

fn viewer(world: &World, community: &Community) -> Client {
    Client { keys: community.viewer.clone(), relay: world.relay.clone(), clock: world.clock.clone(), label: None }
}

#[test]
fn the_community_is_lived_in_and_every_event_is_good() {
    let (world, community) = seeded();
    let me = viewer(&world, &community);
    let mine = me.events(json!([{ "kinds": [39002], "#p": [me.keys.public()] }]));
    assert!(mine.len() >= 12);
    let types: BTreeSet<String> = me.events(json!([{ "kinds": [39000] }])).iter().map(|e| tag(e, "t")).collect();
    assert_eq!(types, ["dm", "forum", "stream"].map(String::from).into());
    let busy = &community.channels["apiary-log"];
    let count = |kinds: &[u32]| me.events(json!([{ "kinds": kinds, "#h": [busy] }])).len();
    assert!(count(&[9]) >= 350, "{}", count(&[9]));
    assert!(count(&[7]) > 40 && count(&[40003]) > 10 && count(&[5]) > 5 && count(&[9005]) == 1 && count(&[40099]) == 1);
    assert_eq!(me.events(json!([{ "kinds": [0] }])).len(), 11);
    let unjoined = &community.channels["bee-photos"];
    assert!(!mine.iter().any(|e| tag(e, "d") == *unjoined));
    assert!(me.events(json!([{ "kinds": [9], "#h": [unjoined], "top_level": true }])).len() > 1);
    for stored in world.relay.admin().events(None, None).unwrap() {
        assert!(stored.event.computed_id() == stored.event.id && stored.event.signature_is_valid());
        assert!(stored.event.created_at <= T0 + 5, "nothing lies in the future: {:?}", stored.event);
    }
    assert_eq!(world.relay.admin().read_state(me.keys.public()).unwrap().len(), 1);
    assert!(community.viewer_nsec().unwrap().starts_with("nsec1"));
}

#[test]
fn the_same_moment_gives_the_same_community() {
    let ids =
        || seeded().0.relay.admin().events(None, None).unwrap().iter().map(|s| s.event.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(), ids());
    let (world, _) = seeded();
    let before = world.relay.admin().events(None, None).unwrap().len();
    seed_community(&world.relay, T0 + 60).unwrap();
    assert_eq!(world.relay.admin().events(None, None).unwrap().len(), before, "seeding again adds nothing");
}

#[test]
fn things_keep_happening() {
    let (world, community) = seeded();
    let me = viewer(&world, &community);
    let mut socket = me.socket();
    let all: Vec<&String> = community.channels.values().collect();
    socket.req("all", &[json!({ "kinds": [9, 7], "#h": all, "limit": 0 })]);
    let mut live = community.live();
    let mut pushed = Vec::new();
    for _ in 0..50 {
        world.advance(20);
        live.next_activity(&world.relay, world.now()).unwrap();
        pushed.extend(socket.pushed());
    }
    assert!(pushed.len() == 50, "{}", pushed.len());
    assert!(pushed.iter().any(|(_, kind)| *kind == 7));
}
