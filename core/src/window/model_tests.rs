//! Long random runs against the relay in memory: whatever happens on the way, the end is what the relay has.

use std::collections::BTreeSet;

use super::fake::Bench;
use super::tests::{gap, general, more};
use super::{CallToken, TimelineKey};
use crate::event::{Batch, SharedEvent};
use crate::ids::EventId;
use crate::model::More;
use crate::request::Answer;
use crate::testing::{Author, channel, message, template};

/// The same numbers for the same seed.
fn numbers(mut seed: u64) -> impl FnMut(u64) -> u64 {
    move |below| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    }
}

fn pick<T: Clone>(from: &[T], random: &mut impl FnMut(u64) -> u64) -> T {
    from[usize::try_from(random(from.len() as u64)).unwrap()].clone()
}

/// A validly signed event that makes as little sense as may be.
fn hostile(known: &[EventId], random: &mut impl FnMut(u64) -> u64) -> SharedEvent {
    let (g, o) = (channel("general").to_string(), channel("ops").to_string());
    let e = pick(known, random).to_hex();
    let d = if random(2) == 0 { format!("{g}:head") } else { e.clone() };
    let cursor = format!(r#"{{"has_more":true,"next_cursor":{{"created_at":{},"id":"{e}"}}}}"#, random(300));
    let contents = [
        cursor.as_str(),
        r#"{"has_more":false,"next_cursor":null}"#,
        r#"{"reply_count":4294967295,"last_reply_at":18446744073709551615}"#,
        "x",
    ];
    let all: [&[&str]; 6] =
        [&["h", &g], &["h", &o], &["e", &e, "", "reply"], &["e", &e, "", "root"], &["d", &d], &["broadcast", "1"]];
    let tags: Vec<&[&str]> = all.into_iter().filter(|_| random(2) == 0).collect();
    let at = if random(20) == 0 { u64::MAX - random(3) } else { random(300) };
    let kind = pick(&[5, 7, 9, 9005, 39005, 39006, 40002, 40003, 40099, 43001], random);
    Author::named(pick(&["ada", "relay", "me"], random)).sign(template(kind, at, &tags, pick(&contents, random)))
}

/// A model of everything at once: whatever is posted, deleted, missed and paged, in the end the timeline is what the relay has.
#[test]
fn in_the_end_every_row_is_there_once() {
    let mut random = numbers(7);
    for round in 0..40 {
        let mut b = Bench::online();
        b.history(1_000, random(20), random(3));
        b.open(general(), 1 + u32::try_from(random(6)).unwrap()).unwrap();
        let ada = Author::named("ada");
        let mut online = true;
        for step in 0..60 {
            match random(9) {
                0 if online => {
                    b.disconnect();
                    online = false;
                }
                0 | 1 if !online => {
                    b.connect();
                    online = true;
                }
                2 => {
                    let standing: Vec<EventId> = b.relay.events.iter().filter(|e| e.kind == 9).map(|e| e.id).collect();
                    if let Some(id) = standing.get(usize::try_from(random(1 + standing.len() as u64)).unwrap()) {
                        b.post(&ada.sign(template(5, 3_000, &[&["e", &id.to_hex()]], "")));
                    }
                }
                3 | 4 => drop(b.older(general())),
                5 if random(4) == 0 => {
                    b.restart();
                    online = false;
                    b.open(general(), 1 + u32::try_from(random(6)).unwrap()).unwrap();
                }
                _ => {
                    // Backdated by a little while connected, as people's clocks are.
                    let at = 2_000 + step * 3 - if online { random(20) } else { 0 };
                    b.post(&message(&ada, b.general, at, &format!("{round}.{step}")));
                }
            }
            let order = b.windows.view(&general()).unwrap().order();
            assert!(order.windows(2).all(|w| w[0] < w[1]), "in order, each once");
        }
        if !online {
            b.connect();
        }
        b.advance(120_000);
        let mut calls = 0;
        while more(&b, general()) == More::Yes {
            b.older(general()).unwrap();
            calls += 1;
            assert!(calls < 500, "paging ends");
        }
        let expected: Vec<&SharedEvent> =
            b.relay.events.iter().filter(|e| e.kind == 9 && !b.relay.deleted.contains(&e.id)).collect();
        assert_eq!(b.rows(general()), Bench::sorted(&expected), "round {round}");
        assert_eq!(gap(&b, general()), None);
    }
}

/// The same for a thread, with restarts over the cache: in the end every reply that stands is there once, under its root.
#[test]
fn in_the_end_every_reply_is_there_once() {
    let mut random = numbers(11);
    let ada = Author::named("ada");
    for round in 0..25 {
        let mut b = Bench::online();
        let root = b.history(1_000, 1, 1).remove(0);
        let key = TimelineKey::thread(b.general, root.id);
        let limit = 1 + u32::try_from(random(5)).unwrap();
        let make = |at: u64, n: u64| {
            let (h, root) = (channel("general").to_string(), root.id.to_hex());
            ada.sign(template(9, at, &[&["h", &h], &["e", &root, "", "reply"]], &format!("{round}.{n}")))
        };
        b.relay.events.extend((0..random(12)).map(|i| make(1_100 + i / 3, 1_000 + i)));
        b.open(key, limit).unwrap();
        let mut online = true;
        for step in 0..50 {
            match random(9) {
                0 if online => {
                    b.disconnect();
                    online = false;
                }
                0 | 1 if !online => {
                    b.connect();
                    online = true;
                }
                2 => {
                    let standing: Vec<EventId> =
                        b.relay.events.iter().filter(|e| e.reference.is_some()).map(|e| e.id).collect();
                    if let Some(id) = standing.get(usize::try_from(random(1 + standing.len() as u64)).unwrap()) {
                        b.post(&ada.sign(template(5, 3_000, &[&["e", &id.to_hex()]], "")));
                    }
                }
                3 => drop(b.older(key)),
                4 if random(3) == 0 => {
                    b.restart();
                    online = false;
                    b.open(key, limit).unwrap();
                }
                _ => b.post(&make(2_000 + step * 3, step)),
            }
            let rows = b.rows(key);
            assert_eq!(rows.iter().collect::<BTreeSet<_>>().len(), rows.len(), "each once");
        }
        if !online {
            b.connect();
        }
        b.advance(120_000);
        for _ in 0..100 {
            b.older(key).unwrap();
        }
        assert_eq!((more(&b, key), gap(&b, key)), (More::No, None));
        let replies: Vec<&SharedEvent> =
            b.relay.events.iter().filter(|e| e.reference.is_some() && !b.relay.deleted.contains(&e.id)).collect();
        let mut expected = vec![root.id];
        expected.extend(Bench::sorted(&replies));
        assert_eq!(b.rows(key), expected, "round {round}");
    }
}

/// Pitfalls I6: whatever a relay answers or pushes, nothing panics, and what shows is in order and of the channel.
#[test]
fn hostile_answers_keep_the_invariants() {
    let mut random = numbers(5);
    let mut b = Bench::online();
    let root = b.history(100, 30, 0).remove(0);
    let thread = TimelineKey::thread(b.general, root.id);
    let mut known: Vec<EventId> = b.relay.events.iter().map(|e| e.id).collect();
    for round in 0..600u64 {
        let events: Vec<SharedEvent> = (0..random(6)).map(|_| hostile(&known, &mut random)).collect();
        known.extend(events.iter().map(|e| e.id));
        let keys = [general(), thread];
        match random(6) {
            0 => b.windows.open(pick(&keys, &mut random), None, CallToken(round), &mut b.out),
            1 => b.windows.load_older(pick(&keys, &mut random), CallToken(round), &mut b.out),
            2 if random(4) == 0 => {
                b.windows.on_disconnected(&mut b.out);
                b.connect();
            }
            _ => events.iter().for_each(|e| b.windows.on_live(e, &b.facts)),
        }
        for key in b.windows.take_restores() {
            b.windows.restored(&key, Vec::new(), &b.facts, &mut b.out);
        }
        for (id, _) in std::mem::take(&mut b.out.sent) {
            let outcome = Ok(Answer::Events(Batch { events: events.clone(), rejected: Vec::new() }));
            let now = b.now();
            b.windows.on_answer(id, &outcome, &b.facts, now, &mut b.out);
        }
        b.advance(random(3_000));
        for key in keys.iter().filter(|k| b.windows.is_open(k)) {
            let view = b.windows.view(key).unwrap();
            let rows = view.order().strip_suffix(&[root.key()]).unwrap_or(view.order());
            assert!(rows.windows(2).all(|w| w[0] < w[1]));
            assert!(view.order().iter().all(|k| view.row(&k.id).unwrap().channel() == Some(b.general)));
            assert!(view.gap().is_none_or(|gap| gap <= view.order().len()));
            assert!(view.order().iter().all(|k| view.edit(&k.id).is_none_or(|e| e.kind == 40003)));
            view.order().iter().map(|k| view.replies(&k.id)).for_each(drop);
        }
    }
    b.restart();
}
