use super::*;
use crate::error::NetworkFailure;
use crate::event::{Batch, SharedEvent};
use crate::ids::SlotId;
use crate::journal::{Facts, Fresh, Merge, MessageFact, NoFacts, Override, apply};
use crate::request::{Body, RequestError};
use crate::testing::{Author, channel, message, template};

fn record(marks: Vec<(Key, u32)>) -> Record {
    let mut record = Record::new(Fresh { slot: SlotId([1; 16]), client_id: "client".into() });
    save(&mut record, &Mutation::Merge(Merge { frontiers: marks, ..Merge::default() }));
    record
}

fn save(record: &mut Record, mutation: &Mutation) {
    let diff = apply(record, mutation, &NoFacts).unwrap();
    record.adopt(&diff);
}

fn answer(events: Vec<SharedEvent>) -> Outcome {
    Ok(Answer::Events(Batch { events, rejected: vec![] }))
}

fn asked(out: &Outbox) -> Vec<usize> {
    let count = |request: &Request| match &request.body {
        Body::Query(filters) => {
            assert_eq!(filters.len(), 1);
            let ids = filters[0].ids.as_ref().unwrap().len();
            assert_eq!((filters[0].limit, filters[0].kinds.as_slice()), (Some(ids as u32), &kinds::CONTENT[..]));
            assert_eq!((request.purpose, request.priority), (Purpose::Homes, Priority::Background));
            ids
        }
        _ => 0,
    };
    out.sent.iter().map(|(_, request)| count(request)).collect()
}

fn id(n: u32) -> EventId {
    let mut bytes = [0u8; 32];
    bytes[..4].copy_from_slice(&n.to_be_bytes());
    EventId(bytes)
}

/// `unread.md` 8.8, row 8.26.
#[test]
fn row_8_26_a_found_home_lets_the_receipt_go() {
    let (ada, general) = (Author::named("ada"), channel("general"));
    let event = message(&ada, general, 50, "hi");
    let mut record = record(vec![(Key::Message(event.id), 50), (Key::Channel(general), 90)]);
    assert_eq!(record.frontier(&Key::Message(event.id)), Some(50), "without a home it is kept");
    let (mut lookup, mut out) = (Lookup::default(), Outbox::default());
    assert_eq!(lookup.start(&record, |_| false, &mut out), None);
    assert_eq!(asked(&out), [1]);
    let mutation = lookup.on_answer(out.sent[0].0, &answer(vec![event.clone()]), &mut out).unwrap();
    assert_eq!(mutation, Mutation::LearnHomes(vec![(event.id, general)]));
    let before = record.header().clone();
    save(&mut record, &mutation);
    assert_eq!(record.frontier(&Key::Message(event.id)), None);
    assert!(*record.header() == before, "nothing to publish");
    assert!(!lookup.is_busy());
}

/// `unread.md` 8.8, row 8.27; 8.6: not asked again this session, whatever came back.
#[test]
fn row_8_27_nothing_found_keeps_the_receipt_and_is_not_asked_again() {
    let general = channel("general");
    let record = record(vec![(Key::Message(id(1)), 50), (Key::Channel(general), 90)]);
    let none = Mutation::LearnHomes(vec![]);
    for outcome in [answer(vec![]), Err(RequestError::Network(NetworkFailure::TimedOut))] {
        let (mut lookup, mut out) = (Lookup::default(), Outbox::default());
        lookup.start(&record, |_| false, &mut out);
        assert_eq!(lookup.on_answer(out.sent[0].0, &outcome, &mut out), Some(none.clone()));
        assert!(apply(&record, &none, &NoFacts).unwrap().is_empty());
        assert_eq!(lookup.start(&record, |_| false, &mut out), Some(none.clone()));
        assert_eq!(out.sent.len(), 1);
    }
}

/// `unread.md` 8.6: only what a channel mark could cover, in batches of 100, one after the other.
#[test]
fn only_what_could_be_covered_is_asked_for_in_batches() {
    let general = channel("general");
    let mut marks: Vec<(Key, u32)> = (0..250).map(|n| (Key::Message(id(n)), 50)).collect();
    marks.extend([(Key::Thread(id(0)), 50), (Key::ThreadActivity(id(300)), 90), (Key::Message(id(301)), 91)]);
    let no_channel = record(marks.clone());
    marks.push((Key::Channel(general), 90));
    let record = record(marks);
    let (mut lookup, mut out) = (Lookup::default(), Outbox::default());
    assert_eq!(lookup.start(&no_channel, |_| false, &mut out), Some(Mutation::LearnHomes(vec![])));
    lookup.start(&record, |loaded| *loaded == id(7), &mut out);
    for n in 0..3 {
        assert_eq!(out.sent.len(), n + 1);
        assert!(lookup.start(&record, |_| false, &mut out).is_none(), "one look-up at a time");
        lookup.on_answer(out.sent[n].0, &answer(vec![]), &mut out);
    }
    assert_eq!(asked(&out), [100, 100, 50]);
}

/// `unread.md` 8.6: no look-up while overrides exist.
#[test]
fn nothing_is_asked_while_an_override_exists() {
    let general = channel("general");
    let mut record = record(vec![(Key::Message(id(1)), 50), (Key::Channel(general), 90)]);
    let overrides = vec![(Key::Channel(general), Override { set: 1, clear: 0, baseline: 0 })];
    save(&mut record, &Mutation::Merge(Merge { overrides, ..Merge::default() }));
    let mut out = Outbox::default();
    assert_eq!(Lookup::default().start(&record, |_| false, &mut out), None);
    assert!(out.sent.is_empty());
}

/// `unread.md` 13, row 13.8, and 8.6: only asked ids of content kind with a single channel.
#[test]
fn row_13_8_an_answer_must_fit() {
    let (ada, general) = (Author::named("ada"), channel("general"));
    let h = general.to_string();
    let two = ada.sign(template(9, 50, &[&["h", &h], &["h", &h]], "x"));
    let notice = ada.sign(template(40099, 50, &[&["h", &h]], "x"));
    let unasked = message(&ada, general, 50, "y");
    let good = message(&ada, general, 50, "z");
    let marks = [&two, &notice, &good].map(|e| (Key::Message(e.id), 50));
    let record = record(marks.into_iter().chain([(Key::Channel(general), 90)]).collect());
    let (mut lookup, mut out) = (Lookup::default(), Outbox::default());
    lookup.start(&record, |_| false, &mut out);
    let all = answer(vec![two, notice, unasked, good.clone()]);
    assert_eq!(lookup.on_answer(RequestId(99), &all, &mut out), None);
    let found = lookup.on_answer(out.sent[0].0, &all, &mut out);
    assert_eq!(found, Some(Mutation::LearnHomes(vec![(good.id, general)])));
}

/// `unread.md` 8.6: the epoch moved.
#[test]
fn a_reset_discards_and_allows_asking_again() {
    let general = channel("general");
    let mut marks: Vec<(Key, u32)> = (0..150).map(|n| (Key::Message(id(n)), 50)).collect();
    marks.push((Key::Channel(general), 90));
    let record = record(marks);
    let (mut lookup, mut out) = (Lookup::default(), Outbox::default());
    lookup.start(&record, |_| false, &mut out);
    lookup.on_answer(out.sent[0].0, &answer(vec![]), &mut out);
    let late = out.sent[1].0;
    lookup.reset(&mut out);
    assert_eq!(out.cancelled, [late]);
    assert_eq!(lookup.on_answer(late, &answer(vec![]), &mut out), None);
    lookup.start(&record, |_| false, &mut out);
    assert_eq!(asked(&out), [100, 50], "the answered hundred is not asked for again");
}

/// `unread.md` 8.6: loaded messages give their channel with any save.
#[test]
fn loaded_messages_need_no_look_up() {
    let general = channel("general");
    let mut record = record(vec![(Key::Message(id(1)), 50), (Key::Thread(id(2)), 95), (Key::Channel(general), 90)]);
    let fact = |at| MessageFact { channel: general, created_at: at, ordinary: false };
    let facts = Facts([(id(1), fact(50)), (id(2), fact(20))].into());
    let save = Mutation::LearnHomes(vec![]);
    assert_eq!(record.questions(&save).len(), 2);
    let diff = apply(&record, &save, &facts).unwrap();
    record.adopt(&diff);
    assert_eq!((record.frontier(&Key::Message(id(1))), record.home(&id(2))), (None, Some(general)));
}
