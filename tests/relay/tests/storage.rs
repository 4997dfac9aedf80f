//! A relay in a file comes back as it was; a large one answers fast.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::time::{Duration, Instant};

use serde_json::json;
use support::*;
use waggle_test_relay::{
    ManualClock, Relay, RelayConfig, Storage,
    admin::{Bring, NewChannel},
};

#[test]
fn a_file_keeps_events_channels_people_and_threads() {
    let dir = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(T0);
    let open = || {
        let mut config = RelayConfig::new(clock.clone());
        config.storage = Storage::File(dir.path().join("relay.db"));
        Relay::open(config).unwrap()
    };
    let world = World { relay: open(), clock: clock.clone() };
    furnish(&world.relay);
    let root = world.past("ada", T0 - 50, GENERAL, &[], "root");
    world.past("bo", T0 - 40, GENERAL, &[&["e", &root.id, "", "reply"]], "reply");
    drop(world);
    let world = World { relay: open(), clock };
    let me = world.client("me");
    let got = me.events(json!([{ "kinds": [9], "#h": [GENERAL], "top_level": true, "include_summaries": true }]));
    assert_eq!(ids(&of_kind(&got, 9)), [root.id]);
    assert_eq!(content(&of_kind(&got, 39005)[0])["reply_count"], 1);
    assert!(me.events(json!([{ "kinds": [9], "#h": [SECRET], "top_level": true }])).is_empty());
}

#[test]
fn four_thousand_events_and_820_channels_are_quick() {
    let started = Instant::now();
    let world = world();
    let me = person("me");
    let id = |n: usize| format!("aaaaaaaa-0000-4000-8000-{n:012x}");
    let channels = (0..820).map(|n| NewChannel::stream(id(n), format!("c{n}"), &[me.public(), person("ada").public()]));
    world.relay.admin().create_channels(channels.collect()).unwrap();
    let events = (0..4_100).map(|n| message("ada", T0 - 5_000 + n as u64, &id(n % 20), &[], "m")).collect();
    let history = Bring { history: true, ..Bring::default() };
    world.relay.admin().accept_all(events, &history).unwrap().unwrap();
    let client = world.client("me");
    let built = started.elapsed();
    let roster = client.events(json!([{ "kinds": [39002], "#p": [me.public()], "limit": 1000 }]));
    assert_eq!(roster.len(), 822);
    let all: Vec<String> = (0..128).map(id).collect();
    let evidence = client.events(json!([{ "kinds": [9, 40002, 5], "#h": all, "limit": 500 }]));
    assert_eq!(evidence.len(), 500);
    for n in 0..100 {
        client.events(json!([{ "kinds": [9], "#h": [id(n % 20)], "limit": 50, "top_level": true, "include_aux": true, "include_summaries": true }]));
    }
    let asked = started.elapsed() - built;
    assert!(built < Duration::from_secs(8) && asked < Duration::from_secs(4), "{built:?} to build, {asked:?} to ask");
}
