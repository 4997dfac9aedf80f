//! Rules of live subscriptions: R3, R4, pitfalls A10, A11, B6, B7.

use std::collections::BTreeSet;

use serde_json::Value;

use super::tests::{AUGUST, CURRENT, Rig};
use super::*;
use crate::ids::ChannelId;
use crate::limits;

fn rooms(range: std::ops::Range<u16>) -> Vec<ChannelId> {
    let room = |n: u16| {
        let mut bytes = [0; 16];
        bytes[..2].copy_from_slice(&n.to_be_bytes());
        ChannelId(bytes)
    };
    range.map(room).collect()
}

fn set(rig: &mut Rig, channels: &[ChannelId], open: &[ChannelId]) {
    rig.set(channels, open);
}

fn asked(frame: &Value) -> BTreeSet<ChannelId> {
    let ids = frame[2]["#h"].as_array().unwrap();
    ids.iter().map(|id| ChannelId::parse(id.as_str().unwrap()).unwrap()).collect()
}

fn reqs(frames: &[Value]) -> Vec<&Value> {
    frames.iter().filter(|f| f[0] == "REQ").collect()
}

fn sub(frame: &Value) -> String {
    frame[1].as_str().unwrap().to_owned()
}

fn armed(channels: &[ChannelId]) -> LinkEvent {
    LinkEvent::Armed { channels: channels.to_vec() }
}

fn missed(channels: &[ChannelId]) -> LinkEvent {
    LinkEvent::Missed { channels: channels.to_vec() }
}

/// R3, pitfalls A11: `limit: 0`, no `since`, every kind that is drawn, folded in or counted; never a channel beside no channel.
#[test]
fn the_filter_of_a_channel() {
    let mut rig = Rig::online(AUGUST);
    set(&mut rig, &rooms(0..1), &[]);
    let frame = &rig.frames()[0];
    assert_eq!(frame.as_array().unwrap().len(), 3);
    let filter = frame[2].as_object().unwrap();
    assert_eq!(filter.keys().map(String::as_str).collect::<BTreeSet<_>>(), BTreeSet::from(["#h", "kinds", "limit"]));
    assert_eq!(filter["limit"], 0);
    let kinds: BTreeSet<u64> = filter["kinds"].as_array().unwrap().iter().map(|k| k.as_u64().unwrap()).collect();
    let expected = [5, 7, 9, 9005, 39000, 39001, 39002, 39005, 40002, 40003, 40008, 40099, 48100];
    assert_eq!(kinds, expected.into_iter().chain(43001..=43006).collect());
}

/// R4: at most 128 ids in a request of the current dialect.
#[test]
fn current_relays_get_chunks_of_128() {
    let mut rig = Rig::online(CURRENT);
    let all = rooms(0..278);
    set(&mut rig, &all, &[]);
    let frames = rig.confirm_all();
    let sizes: Vec<usize> = frames.iter().map(|f| asked(f).len()).collect();
    assert_eq!(sizes, [128, 128, 22]);
    assert_eq!(frames.iter().flat_map(asked).collect::<Vec<_>>(), all, "in id order");
    let events = rig.events();
    assert_eq!(events, [armed(&all[..128]), armed(&all[128..256]), armed(&all[256..])]);
}

/// R4: a change touches the fewest requests, and the old one ends only when the new one is confirmed.
#[test]
fn a_changed_set_is_rechunked_minimally() {
    let mut rig = Rig::online(CURRENT);
    let all = rooms(0..300);
    set(&mut rig, &all[..278], &[]);
    let before = rig.confirm_all();
    rig.events();
    set(&mut rig, &all[..278], &[]);
    assert!(rig.frames().is_empty(), "nothing changed");
    set(&mut rig, &all[..279], &[]);
    let frames = rig.frames();
    assert_eq!(frames.len(), 1);
    assert_eq!(asked(&frames[0]), all[256..279].iter().copied().collect());
    assert_eq!(rig.link.arming(&all[278]), Arming::Pending);
    assert_eq!(rig.link.arming(&all[270]), Arming::Armed, "the old one still stands");
    rig.eose(&sub(&frames[0]));
    assert_eq!(rig.frames(), [serde_json::json!(["CLOSE", sub(&before[2])])]);
    assert_eq!(rig.events(), [armed(&all[278..279])]);
    rig.closed(&sub(&before[2]), "");
    assert!(rig.frames().is_empty(), "the answer to a CLOSE is no loss");

    let left: Vec<ChannelId> = all[..279].iter().copied().filter(|c| *c != all[3]).collect();
    set(&mut rig, &left, &[]);
    let frames = rig.confirm_all();
    assert_eq!(reqs(&frames).len(), 1);
    assert_eq!(asked(&frames[0]).len(), 127);
    rig.frames();
    set(&mut rig, &left[..255], &[]);
    let frames = rig.confirm_all();
    assert_eq!(
        frames,
        [serde_json::json!(["CLOSE", frames[0][1].as_str().unwrap()])],
        "all of a request's channels gone"
    );
}

/// R4, pitfalls B7, scenario paging/17: one request per channel, no more than 40 frames in 5 s, what is open first.
#[test]
fn august_relays_are_paced() {
    let mut rig = Rig::online(AUGUST);
    let all = rooms(0..278);
    set(&mut rig, &all, &[all[200]]);
    let mut order = Vec::new();
    let start = rig.now().mono.0;
    while order.len() < 278 {
        for frame in rig.confirm_all() {
            assert_eq!(asked(&frame).len(), 1);
            order.extend(asked(&frame));
        }
        rig.advance(100);
        assert!(rig.now().mono.0 < start + 45_000);
    }
    assert_eq!(order[0], all[200]);
    assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), 278);
    assert!(rig.keeps_pace());
    assert!(all.iter().all(|c| rig.link.arming(c) == Arming::Armed));
    let events = rig.events();
    let late: Vec<_> = events.iter().filter(|e| matches!(e, LinkEvent::Missed { .. })).collect();
    let [LinkEvent::Missed { channels }] = &late[..] else { panic!("said once, at the end") };
    assert!((200..278).contains(&channels.len()) && !channels.contains(&all[200]), "reads began before they were live");
    assert_eq!(events.last(), late.first().copied());
}

/// What is opened while others still queue overtakes them, and has frames of its own.
#[test]
fn an_opened_channel_overtakes_the_queue() {
    let mut rig = Rig::online(AUGUST);
    let all = rooms(0..120);
    set(&mut rig, &all, &[]);
    assert!(rig.frames().len() < limits::PACE_FRAMES);
    rig.advance(1_000);
    set(&mut rig, &all, &[all[119]]);
    let frames = rig.frames();
    assert_eq!(frames.iter().flat_map(asked).collect::<Vec<_>>(), [all[119]]);
}

/// The relay counts frames over connections, and so does the pacing.
#[test]
fn pacing_survives_a_reconnect() {
    let mut rig = Rig::online(AUGUST);
    let all = rooms(0..120);
    set(&mut rig, &all, &[]);
    let attempt = rig.attempt();
    rig.input(Input::Ended(attempt, None));
    rig.connect(AUGUST);
    assert!(reqs(&rig.frames()).len() >= 2, "globals have frames of their own");
    rig.advance(20_000);
    assert!(rig.keeps_pace());
}

/// R3, pitfalls A10: a head is not read before its channel is armed; a missing EOSE holds nobody up for long, and what could have
/// been missed meanwhile is read again when the confirmation comes.
#[test]
fn a_missing_eose_blocks_nobody_and_loses_nothing() {
    let mut rig = Rig::online(CURRENT);
    let general = rooms(0..1);
    set(&mut rig, &general, &general);
    let first = rig.frames();
    assert_eq!(rig.link.arming(&general[0]), Arming::Pending);
    rig.advance(limits::ARM_TIMEOUT_MS - 1);
    assert_eq!(rig.link.arming(&general[0]), Arming::Pending);
    rig.advance(1);
    assert_eq!(rig.link.arming(&general[0]), Arming::Unconfirmed);
    assert_eq!(rig.events(), [armed(&general)]);
    let second = rig.frames();
    assert_eq!((second.len(), asked(&second[0]).len()), (1, 1), "asked for again");
    // The first one speaks after all.
    rig.eose(&sub(&first[0]));
    assert_eq!(rig.link.arming(&general[0]), Arming::Armed);
    assert_eq!(rig.events(), [missed(&general)]);
    rig.eose(&sub(&second[0]));
    assert_eq!(rig.frames(), [serde_json::json!(["CLOSE", sub(&first[0])])]);
    assert!(rig.events().is_empty(), "said once");
}

#[test]
fn a_silent_relay_is_asked_less_and_less_often() {
    let mut rig = Rig::online(CURRENT);
    let general = rooms(0..1);
    set(&mut rig, &general, &[]);
    let (mut asked, mut ended) = (0, 0);
    let attempt = rig.attempt();
    for _ in 0..60 {
        rig.advance(10_000);
        rig.input(Input::Alive(attempt));
        let frames = rig.frames();
        asked += reqs(&frames).len();
        ended += frames.len() - reqs(&frames).len();
    }
    assert!((8..=14).contains(&asked), "{asked} in ten minutes");
    assert!(asked - ended <= 2, "at most two are open at the relay");
    assert_eq!(rig.events(), [armed(&general)]);
}

/// The same for what every account listens to: online comes without it, the re-read with it.
#[test]
fn unconfirmed_globals_do_not_hold_up_the_connection() {
    let mut rig = Rig::new();
    rig.input(Input::Start);
    rig.connect(CURRENT);
    let frames = rig.frames();
    rig.eose(&sub(&frames[1]));
    rig.advance(limits::ARM_TIMEOUT_MS);
    assert!(matches!(&rig.events()[..], [LinkEvent::Online { .. }]));
    rig.eose(&sub(&frames[2]));
    assert_eq!(rig.events(), [LinkEvent::MissedGlobal { source: Source::OwnData }]);
}

/// Pitfalls B6: back-pressure on a subscription costs no socket; it is armed again after the wait the relay named.
#[test]
fn a_rate_limited_subscription_waits_alone() {
    let mut rig = Rig::online(CURRENT);
    let general = rooms(0..1);
    set(&mut rig, &general, &general);
    let attempt = rig.attempt();
    for _ in 0..3 {
        let frames = rig.frames();
        rig.closed(&sub(&frames[0]), "rate-limited: quota exceeded; retry in 7s");
        rig.advance(6_999);
        assert!(rig.frames().is_empty());
        rig.advance(1);
    }
    rig.confirm_all();
    assert_eq!(rig.attempt(), attempt, "exactly one dial in all");
    assert_eq!(rig.events(), [armed(&general), missed(&general)]);
}

/// B6 again: while a successor is refused, the one it would replace goes on.
#[test]
fn a_refused_successor_costs_nothing_that_worked() {
    let mut rig = Rig::online(CURRENT);
    let all = rooms(0..3);
    set(&mut rig, &all[..2], &[]);
    rig.confirm_all();
    rig.events();
    set(&mut rig, &all, &[]);
    let frames = rig.frames();
    rig.closed(&sub(&frames[0]), "rate-limited: quota exceeded; retry in 7s");
    assert_eq!(rig.link.arming(&all[0]), Arming::Armed);
    assert_eq!(rig.events(), [armed(&all[2..])], "only the new one has to go on without");
    rig.advance(7_000);
    rig.confirm_all();
    assert_eq!(rig.events(), [missed(&all[2..])]);
}

/// `protocol.md` 3.6: revoked access is a question to the roster, not an order to delete; nothing is asked again before the answer.
#[test]
fn revoked_access_is_a_question() {
    for document in [AUGUST, CURRENT] {
        let mut rig = Rig::online(document);
        let all = rooms(0..2);
        set(&mut rig, &all, &[]);
        let frames = rig.confirm_all();
        rig.events();
        let hit = frames.iter().find(|f| asked(f).contains(&all[0])).unwrap();
        let channels: Vec<ChannelId> = asked(hit).into_iter().collect();
        rig.closed(&sub(hit), "restricted: channel access revoked");
        assert_eq!(rig.events(), [LinkEvent::AccessQuestioned { channels: channels.clone() }]);
        assert!(rig.frames().is_empty());
        // The roster lists the second one only.
        set(&mut rig, &all[1..], &[]);
        let frames = rig.confirm_all();
        if channels.len() == 2 {
            assert_eq!(asked(&frames[0]), all[1..].iter().copied().collect());
            assert_eq!(rig.events(), [missed(&all[1..])], "it was deaf in between");
        } else {
            assert!(frames.is_empty() && rig.events().is_empty());
        }
        assert_eq!(rig.link.arming(&all[1]), Arming::Armed);
    }
}

/// The roster still lists it (an archived channel, `protocol.md` 5.5): tried again, and less often when refused again.
#[test]
fn a_channel_the_roster_still_lists_is_tried_again() {
    let mut rig = Rig::online(AUGUST);
    let all = rooms(0..1);
    set(&mut rig, &all, &[]);
    let frames = rig.confirm_all();
    rig.closed(&sub(&frames[0]), "restricted: channel access revoked");
    set(&mut rig, &all, &[]);
    let frames = rig.frames();
    assert_eq!(frames.len(), 1);
    rig.closed(&sub(&frames[0]), "restricted: not a channel member");
    set(&mut rig, &all, &[]);
    assert!(rig.frames().is_empty(), "the roster's word was not enough once: wait");
    let mut tries = 0;
    let attempt = rig.attempt();
    for _ in 0..60 {
        rig.advance(10_000);
        rig.input(Input::Alive(attempt));
        for frame in rig.frames() {
            tries += 1;
            rig.closed(&sub(&frame), "restricted: not a channel member");
        }
    }
    assert!((9..=13).contains(&tries), "{tries} in ten minutes");
    assert_eq!(rig.link.arming(&all[0]), Arming::Unconfirmed, "reading goes on over HTTP");
}

/// R3: where `limit: 0` without `since` is refused, `since` is server time − 960 s, whatever the device clock says.
#[test]
fn a_refused_live_bound_becomes_the_margin() {
    for by_notice in [false, true] {
        let mut rig = Rig::online(AUGUST);
        set(&mut rig, &rooms(0..1), &[]);
        let frames = rig.frames();
        if by_notice {
            rig.say(RelayMessage::Notice("invalid message: invalid filter: limit".into()));
            rig.advance(limits::ARM_TIMEOUT_MS);
        } else {
            rig.closed(&sub(&frames[0]), "invalid: limit must be positive");
        }
        let filter = rig.frames().remove(0)[2].take();
        let server = rig.link.server_time().at(rig.now());
        assert_eq!((filter["since"].as_u64(), filter.get("limit")), (Some(server - 960), None));
    }
}

#[test]
fn too_many_channels_for_this_relay_are_split() {
    let mut rig = Rig::online(CURRENT);
    let all = rooms(0..100);
    set(&mut rig, &all, &[]);
    let frames = rig.frames();
    rig.closed(&sub(&frames[0]), "restricted: too many explicit channels");
    let frames = rig.confirm_all();
    assert_eq!(frames.iter().map(|f| asked(f).len()).collect::<Vec<_>>(), [64, 36]);
    assert!(all.iter().all(|c| rig.link.arming(c) == Arming::Armed));
}

/// A rate limit without a subject holds back all frames.
#[test]
fn a_rate_limit_notice_pauses_frames() {
    let mut rig = Rig::online(AUGUST);
    rig.say(RelayMessage::Notice("rate-limited: quota exceeded; retry in 12s".into()));
    set(&mut rig, &rooms(0..1), &[]);
    assert!(rig.frames().is_empty());
    rig.advance(11_999);
    assert!(rig.frames().is_empty());
    rig.advance(1);
    assert_eq!(rig.frames().len(), 1);
}

/// A reconnect asks for everything again, with new names, the dialect of the new document, and globals first.
#[test]
fn a_new_connection_asks_for_everything() {
    let mut rig = Rig::online(AUGUST);
    let all = rooms(0..5);
    set(&mut rig, &all, &[]);
    rig.confirm_all();
    rig.events();
    let attempt = rig.attempt();
    rig.input(Input::Ended(attempt, None));
    assert_eq!(rig.link.arming(&all[0]), Arming::Pending);
    rig.connect(CURRENT);
    let frames = rig.confirm_all();
    let reqs = reqs(&frames);
    assert_eq!(reqs.len(), 3);
    assert!(reqs[0][2].get("#h").is_none() && reqs[1][2].get("#h").is_none());
    assert_eq!(asked(reqs[2]).len(), 5);
    let events = rig.events();
    assert!(matches!(&events[..], [LinkEvent::Offline { .. }, LinkEvent::Online { .. }, LinkEvent::Armed { .. }]));
}

/// Bounds: more channels than anybody has are not live, and are read without waiting.
#[test]
fn live_channels_are_bounded() {
    let mut rig = Rig::online(CURRENT);
    let all = rooms(0..1_100);
    set(&mut rig, &all, &all[1_099..]);
    let asked: usize = rig.confirm_all().iter().map(|f| asked(f).len()).sum();
    assert_eq!(asked, limits::LIVE_CHANNELS);
    assert_eq!(rig.link.arming(&all[1_099]), Arming::Armed);
    assert_eq!(rig.link.arming(&all[1_098]), Arming::Unconfirmed);
}

mod random {
    use proptest::prelude::*;

    use super::*;

    /// Each plays some minutes of 300 channels, which is not cheap.
    const CASES: u32 = 64;

    #[derive(Debug, Clone)]
    enum Move {
        Set(Vec<u16>, Vec<u16>),
        Confirm(usize),
        Close(usize, &'static str),
        Notice(&'static str),
        Pass(u64),
        Lose,
    }

    fn moves() -> impl Strategy<Value = Vec<Move>> {
        let texts = prop::sample::select(vec![
            "rate-limited: quota exceeded; retry in 3s",
            "restricted: channel access revoked",
            "restricted: too many explicit channels",
            "invalid: x",
            "error: query timed out",
            "",
        ]);
        let ids = || prop::collection::vec(0u16..300, 0..200);
        let one = prop_oneof![
            3 => (ids(), prop::collection::vec(0u16..300, 0..3)).prop_map(|(a, b)| Move::Set(a, b)),
            6 => (0usize..50).prop_map(Move::Confirm),
            3 => (0usize..50, texts.clone()).prop_map(|(n, t)| Move::Close(n, t)),
            1 => texts.prop_map(Move::Notice),
            4 => (0u64..20_000).prop_map(Move::Pass),
            1 => Just(Move::Lose),
        ];
        prop::collection::vec(one, 1..60)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever the relay does, once it confirms everything each wanted channel is live by exactly one request, no
        /// request holds more than 128 channels, and pacing was kept all along.
        #[test]
        fn a_relay_that_comes_to_its_senses_serves_every_channel(current in any::<bool>(), moves in moves()) {
            let document = if current { CURRENT } else { AUGUST };
            let mut rig = Rig::online(document);
            let all = rooms(0..300);
            let (mut wanted, mut open_at_relay) = (BTreeSet::new(), std::collections::BTreeMap::new());
            let mut settle = moves.clone();
            settle.extend((0..60).map(|_| Move::Pass(3_000)));
            for (step, one) in settle.into_iter().enumerate() {
                let settling = step >= moves.len();
                let nth = |open: &std::collections::BTreeMap<String, BTreeSet<ChannelId>>, n: usize| {
                    open.keys().nth(n % open.len().max(1)).cloned()
                };
                match one {
                    Move::Set(ids, open) => {
                        let pick = |ids: &[u16]| ids.iter().map(|n| all[*n as usize]).collect::<Vec<_>>();
                        wanted = pick(&ids).into_iter().chain(pick(&open)).collect();
                        set(&mut rig, &pick(&ids), &pick(&open));
                    }
                    Move::Confirm(n) => {
                        if let Some(name) = nth(&open_at_relay, n) { rig.eose(&name) }
                    }
                    Move::Close(n, text) => {
                        if let Some(name) = nth(&open_at_relay, n) {
                            open_at_relay.remove(&name);
                            rig.closed(&name, text);
                        }
                    }
                    Move::Notice(text) => rig.say(RelayMessage::Notice(text.into())),
                    Move::Pass(ms) => {
                        let attempt = rig.attempt();
                        rig.input(Input::Alive(attempt));
                        rig.advance(ms);
                    }
                    Move::Lose => {
                        let attempt = rig.attempt();
                        rig.input(Input::Ended(attempt, Some(1012)));
                        open_at_relay.clear();
                        rig.advance(2_000);
                        rig.connect(document);
                    }
                }
                for frame in rig.frames().into_iter().filter(|f| f[0] != "AUTH") {
                    let name = sub(&frame);
                    if frame[0] == "CLOSE" {
                        prop_assert!(open_at_relay.remove(&name).is_some());
                    } else {
                        let channels = if frame[2].get("#h").is_some() { asked(&frame) } else { BTreeSet::new() };
                        let most = if current { 128 } else { 1 };
                        prop_assert!(channels.len() <= most);
                        prop_assert!(open_at_relay.insert(name, channels).is_none(), "names are never used twice");
                    }
                }
                if settling {
                    for name in open_at_relay.keys().cloned().collect::<Vec<_>>() {
                        rig.eose(&name);
                    }
                    for frame in rig.frames() {
                        prop_assert_eq!(&frame[0], "CLOSE");
                        open_at_relay.remove(&sub(&frame));
                    }
                }
            }
            prop_assert!(wanted.iter().all(|c| rig.link.arming(c) == Arming::Armed));
            let live: Vec<ChannelId> = open_at_relay.values().flatten().copied().collect();
            prop_assert_eq!(live.len(), wanted.len());
            prop_assert_eq!(live.into_iter().collect::<BTreeSet<_>>(), wanted);
            prop_assert!(rig.keeps_pace());
        }
    }
}
