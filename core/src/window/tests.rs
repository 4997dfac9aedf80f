use super::fake::{Bench, Relay};
use super::*;
use crate::error::NetworkFailure;
use crate::event::{Batch, Rejected};
use crate::request::{Answer, Purpose, RequestError};
use crate::testing::{Author, channel, message, reply, template};

pub(super) fn general() -> TimelineKey {
    TimelineKey::channel(channel("general"))
}

pub(super) fn ids(events: &[SharedEvent]) -> Vec<EventId> {
    Bench::sorted(&events.iter().collect::<Vec<_>>())
}

pub(super) fn more(b: &Bench, key: TimelineKey) -> More {
    b.windows.view(&key).unwrap().more()
}

pub(super) fn gap(b: &Bench, key: TimelineKey) -> Option<usize> {
    b.windows.view(&key).unwrap().gap()
}

/// Pitfalls A1, A2: a second denser than a page, each row once.
#[test]
fn one_second_is_paged_by_time_and_id() {
    let mut b = Bench::online();
    let all = b.history(100, 25, 0);
    b.open(general(), 2).unwrap();
    let mut pages = 1;
    while more(&b, general()) == More::Yes {
        b.older(general()).unwrap();
        pages += 1;
    }
    assert_eq!((pages, b.rows(general())), (13, ids(&all)));
    let before = b.asked.len();
    b.older(general()).unwrap();
    assert_eq!(b.asked.len(), before, "nothing is left, so nothing is asked");
}

/// Pitfalls A4, R1: only the bounds end history; an empty channel that can be read has ended.
#[test]
fn only_the_bounds_end_history() {
    let mut b = Bench::online();
    let all = b.history(100, 6, 1);
    b.relay.max_page = 3;
    b.open(general(), 50).unwrap();
    assert_eq!((b.rows(general()).len(), more(&b, general())), (3, More::Yes));
    b.older(general()).unwrap();
    assert_eq!((b.rows(general()), more(&b, general())), (ids(&all), More::No));
    let quiet = TimelineKey::channel(channel("quiet"));
    b.open(quiet, 5).unwrap();
    assert_eq!((b.rows(quiet).len(), more(&b, quiet)), (0, More::No));
}

/// Pitfalls A8.
#[test]
fn a_live_row_older_than_everything_waits_only_while_there_is_more() {
    let mut b = Bench::online();
    let all = b.history(100, 3, 100);
    let bo = Author::named("bo");
    b.open(general(), 2).unwrap();
    let (deep, between) = (message(&bo, b.general, 150, "deep"), message(&bo, b.general, 250, "between"));
    b.post(&deep);
    assert_eq!(b.rows(general()), ids(&all[1..]));
    b.post(&between);
    assert_eq!(b.rows(general()), Bench::sorted(&[&all[1], &between, &all[2]]));
    b.older(general()).unwrap();
    assert_eq!(b.rows(general()), Bench::sorted(&[&all[0], &deep, &all[1], &between, &all[2]]));
    let oldest = message(&bo, b.general, 1, "oldest");
    b.post(&oldest);
    assert_eq!(b.rows(general()).first(), Some(&oldest.id), "nothing is below, so it shows at once");
}

/// R7, pitfalls A13.
#[test]
fn a_gap_is_shown_and_filled_first() {
    let mut b = Bench::online();
    let old = b.history(100, 5, 10);
    b.open(general(), 5).unwrap();
    b.disconnect();
    let new = b.history(1_000, 12, 1);
    b.connect();
    assert_eq!((gap(&b, general()), more(&b, general())), (Some(5), More::Yes));
    assert_eq!(b.rows(general()).len(), 10);
    let live = message(&Author::named("bo"), b.general, 2_000, "live");
    b.post(&live);
    assert_eq!(gap(&b, general()), Some(5));
    b.older(general()).unwrap();
    assert_eq!(gap(&b, general()), Some(5));
    b.older(general()).unwrap();
    let all: Vec<&SharedEvent> = old.iter().chain(&new).chain([&live]).collect();
    assert_eq!((b.rows(general()), gap(&b, general()), more(&b, general())), (Bench::sorted(&all), None, More::No));
}

/// relay-measured 5.1: what a re-read of the same interval lacks is gone; reactions too.
#[test]
fn what_was_deleted_while_offline_is_gone() {
    let mut b = Bench::online();
    let all = b.history(100, 3, 10);
    let bo = Author::named("bo");
    let react = bo.sign(template(7, 200, &[&["e", &all[0].id.to_hex()]], "+"));
    b.open(general(), 10).unwrap();
    b.post(&react);
    assert_eq!(b.windows.view(&general()).unwrap().reactions(&all[0].id, None).len(), 1);
    b.disconnect();
    b.relay.deleted.extend([all[1].id, react.id]);
    b.connect();
    assert_eq!(b.rows(general()), Bench::sorted(&[&all[0], &all[2]]));
    assert!(b.windows.view(&general()).unwrap().reactions(&all[0].id, None).is_empty());
}

/// Rows below the head page are not read again, but what changed them is asked for.
#[test]
fn deeper_rows_learn_of_edits_and_deletions_after_a_reconnect() {
    let mut b = Bench::online();
    let all = b.history(100, 6, 10);
    b.open(general(), 2).unwrap();
    b.older(general()).unwrap();
    b.disconnect();
    let ada = Author::named("ada");
    let about = |kind, id: EventId, text| ada.sign(template(kind, 300, &[&["e", &id.to_hex()]], text));
    let (edit, deletion) = (about(40003, all[3].id, "edited"), about(5, all[2].id, ""));
    b.relay.deleted.insert(all[2].id);
    b.relay.events.extend([edit.clone(), deletion]);
    b.connect();
    assert_eq!(b.rows(general()), Bench::sorted(&[&all[3], &all[4], &all[5]]));
    assert_eq!(b.windows.view(&general()).unwrap().edit(&all[3].id).unwrap().id, edit.id);
}

fn wrong_signer(_: &mut Relay, mut batch: Batch) -> Outcome {
    let bounds = batch.events.pop().unwrap();
    let tags: Vec<Vec<&str>> = bounds.tags.iter().map(|t| t.iter().map(String::as_str).collect()).collect();
    let tags: Vec<&[&str]> = tags.iter().map(Vec::as_slice).collect();
    batch.events.push(Author::named("mallory").sign(template(39006, 5, &tags, &bounds.content)));
    Ok(Answer::Events(batch))
}

fn stuck(relay: &mut Relay, mut batch: Batch) -> Outcome {
    let bounds = batch.events.pop().unwrap();
    let d = bounds.single("d").unwrap().to_owned();
    let mut parts = d.split(':').skip(1);
    let cursor = match (parts.next(), parts.next()) {
        (Some(at), Some(id)) => RowKey::new(at.parse().unwrap(), EventId::parse(id).unwrap()),
        _ => RowKey::new(0, EventId([0; 32])),
    };
    batch.events.push(relay.bounds(bounds.channel().unwrap(), Some(cursor), Some(cursor)));
    Ok(Answer::Events(batch))
}

fn unverifiable(_: &mut Relay, mut batch: Batch) -> Outcome {
    batch.events.pop();
    batch.rejected.push(Rejected { kind: Some(39006), reason: crate::event::RejectReason::Signature });
    Ok(Answer::Events(batch))
}

fn no_bounds(_: &mut Relay, mut batch: Batch) -> Outcome {
    batch.events.pop();
    Ok(Answer::Events(batch))
}

fn cut(_: &mut Relay, _: Batch) -> Outcome {
    Err(RequestError::Network(NetworkFailure::Server(500)))
}

/// R5, pitfalls A7: one silent retry, then `invalid_answer` and nothing has changed.
#[test]
fn bad_bounds_leave_no_trace() {
    for fault in [wrong_signer, stuck, unverifiable] {
        let mut b = Bench::online();
        let all = b.history(100, 8, 10);
        b.open(general(), 2).unwrap();
        b.faults = vec![fault];
        b.older(general()).unwrap();
        assert_eq!(b.rows(general()), ids(&all[4..]));
        b.windows.take_changed();
        b.faults = vec![fault, fault];
        assert_eq!(b.older(general()).unwrap_err().code(), "invalid_answer");
        assert_eq!((b.rows(general()), more(&b, general())), (ids(&all[4..]), More::Yes));
        b.older(general()).unwrap();
        assert_eq!(b.rows(general()), ids(&all[2..]));
    }
}

/// R5: a head re-read tries again by itself after 1 s, then 2 s; the old rows stay meanwhile, live ones show.
#[test]
fn a_failed_reread_repeats_itself() {
    let mut b = Bench::online();
    let all = b.history(100, 3, 10);
    b.open(general(), 50).unwrap();
    b.disconnect();
    let missed = message(&Author::named("bo"), b.general, 200, "missed");
    b.relay.events.push(missed.clone());
    b.faults = vec![wrong_signer, wrong_signer, cut];
    b.connect();
    let view = b.windows.view(&general()).unwrap();
    assert!(view.restored() && view.error().is_some());
    assert_eq!(b.rows(general()), ids(&all));
    let live = message(&Author::named("bo"), b.general, 300, "live");
    b.post(&live);
    assert_eq!(b.rows(general()).last(), Some(&live.id));
    assert_eq!(gap(&b, general()), Some(3), "nothing says that nothing is missing between");
    b.advance(999);
    assert_eq!(b.faults.len(), 1);
    b.advance(1);
    assert!(b.faults.is_empty());
    b.advance(1_999);
    assert!(b.windows.view(&general()).unwrap().restored());
    b.advance(1);
    let view = b.windows.view(&general()).unwrap();
    assert!(!view.restored() && view.error().is_none());
    assert_eq!((b.rows(general()).len(), gap(&b, general()), more(&b, general())), (5, None, More::No));
}

/// R5: no bounds beside rows means plain paging for one connection; the end stays unknown; the next connection probes again.
#[test]
fn a_relay_without_windows_is_threaded_here() {
    let mut b = Bench::online();
    b.relay.windows = false;
    let all = b.history(100, 5, 10);
    let bo = Author::named("bo");
    let r = reply(&bo, b.general, 145, all[4].id, all[4].id);
    let r2 = reply(&bo, b.general, 146, all[4].id, r.id);
    b.relay.events.extend([r.clone(), r2.clone()]);
    b.relay.events.push(Author::named("ada").sign(template(40003, 150, &[&["e", &all[4].id.to_hex()]], "edited")));
    b.open(general(), 2).unwrap();
    assert_eq!(b.rows(general()), ids(&all[3..]), "two replies fill the first page, so the next is read too");
    assert_eq!(b.windows.view(&general()).unwrap().replies(&all[4].id), 1, "direct replies");
    assert!(b.windows.view(&general()).unwrap().edit(&all[4].id).is_some());
    for _ in 0..4 {
        b.older(general()).unwrap();
        assert_eq!(more(&b, general()), More::Unknown);
    }
    assert_eq!(b.rows(general()), ids(&all));
    let live = message(&bo, b.general, 200, "live");
    b.post(&live);
    b.post(&reply(&bo, b.general, 201, live.id, live.id));
    assert_eq!(b.rows(general()).last(), Some(&live.id));
    let thread = TimelineKey::thread(b.general, all[4].id);
    b.open(thread, 50).unwrap();
    assert_eq!(b.rows(thread), vec![all[4].id, r.id, r2.id]);
    b.disconnect();
    b.relay.windows = true;
    b.connect();
    assert_eq!(b.rows(general()).len(), 6);
    b.older(general()).unwrap();
    assert_eq!(gap(&b, general()), None);
}

/// R5: an empty array alone proves nothing.
#[test]
fn an_empty_answer_is_no_old_relay() {
    let mut b = Bench::online();
    b.faults = vec![|_, _| Ok(Answer::Events(Batch::default()))];
    b.open(general(), 5).unwrap();
    assert_eq!((b.rows(general()).len(), more(&b, general())), (0, More::Unknown));
    assert_eq!(b.asked, vec![Purpose::Head, Purpose::Head]);
    let ops = TimelineKey::channel(channel("ops"));
    b.open(ops, 5).unwrap();
    assert_eq!(more(&b, ops), More::No, "the connection is not degraded");
    let joined = b.history(100, 2, 10);
    b.advance(20_000);
    assert_eq!((b.rows(general()), more(&b, general())), (ids(&joined), More::No), "looked at once more");
    let asked = b.asked.len();
    b.advance(600_000);
    assert_eq!(b.asked.len(), asked);
}

/// R5: a mid-history page without bounds goes on plainly from the same cursor.
#[test]
fn windows_may_vanish_between_pages() {
    let mut b = Bench::online();
    let all = b.history(100, 6, 10);
    b.open(general(), 2).unwrap();
    b.faults = vec![no_bounds];
    b.older(general()).unwrap();
    assert_eq!((b.rows(general()), more(&b, general())), (ids(&all[2..]), More::Unknown));
    b.older(general()).unwrap();
    b.older(general()).unwrap();
    assert_eq!((b.rows(general()), more(&b, general())), (ids(&all), More::Unknown));
}

/// `protocol.md` 1.10: a chain is never carried over to the other row mode.
#[test]
fn another_row_mode_drops_the_chain() {
    let mut b = Bench::online();
    let all = b.history(100, 4, 10);
    let r = reply(&Author::named("bo"), b.general, 135, all[3].id, all[3].id);
    b.relay.events.push(r.clone());
    b.open(general(), 2).unwrap();
    assert_eq!(b.rows(general()), ids(&all[2..]));
    b.relay.row_mode = true;
    b.older(general()).unwrap();
    assert_eq!(b.rows(general()), vec![all[3].id, r.id], "read anew from the head, replies are rows now");
    let live = reply(&Author::named("bo"), b.general, 300, all[3].id, r.id);
    b.post(&live);
    assert_eq!(b.rows(general()), vec![all[3].id, r.id, live.id]);
}

/// R2: without an advertised key the transport vouches, or nobody does.
#[test]
fn trust_decides_whether_windows_are_used() {
    let mut b = Bench::new();
    b.relay.identity = false;
    b.connect();
    let all = b.history(100, 3, 10);
    b.open(general(), 2).unwrap();
    let view = b.windows.view(&general()).unwrap();
    assert_eq!((view.trust(), view.more()), (OverlayTrust::Transport, More::Yes));
    b.disconnect();
    let plain = RelayFacts { self_key: None, secure_or_loopback: false, thread_replies_in_channel: false };
    b.windows.on_connected(plain, &mut b.out);
    assert!(b.out.sent.iter().all(|(_, r)| !format!("{:?}", r.body).contains("top_level: true")));
    assert_eq!(b.windows.view(&general()).unwrap().trust(), OverlayTrust::None);
    drop(all);
}

/// Live and page cross: what came live while the page was under way is newer than the page.
#[test]
fn what_crosses_a_page_is_not_lost() {
    let mut b = Bench::online();
    let all = b.history(100, 2, 10);
    let (ada, bo) = (Author::named("ada"), Author::named("bo"));
    b.windows.open(general(), Some(5), CallToken(1), &mut b.out);
    let (id, request) = b.out.sent.remove(0);
    let batch = b.relay.answer(&request);
    let about = |kind, id: EventId, text| ada.sign(template(kind, 300, &[&["e", &id.to_hex()]], text));
    let (edit, deletion) = (about(40003, all[1].id, "edited"), about(5, all[0].id, ""));
    let (live, r) = (message(&bo, b.general, 400, "live"), reply(&bo, b.general, 350, all[1].id, all[1].id));
    [&edit, &deletion, &live, &r].into_iter().for_each(|e| b.relay.events.push(e.clone()));
    let summary = b.relay.summary(b.general, all[1].id).unwrap();
    [&edit, &deletion, &live, &r, &summary].into_iter().for_each(|e| b.windows.on_live(e, &b.facts));
    let now = b.now();
    b.windows.on_answer(id, &Ok(Answer::Events(batch)), &b.facts, now, &mut b.out);
    assert_eq!(b.rows(general()), vec![all[1].id, live.id]);
    let view = b.windows.view(&general()).unwrap();
    assert_eq!((view.replies(&all[1].id), view.edit(&all[1].id).map(|e| e.id)), (1, Some(edit.id)));
}

/// R5: a relay that refuses what it does not know is asked plainly.
#[test]
fn an_unsupported_filter_is_asked_plainly() {
    let refuse: fn(&mut Relay, Batch) -> Outcome = |_, _| {
        let why = crate::error::Refusal::Invalid;
        Err(RequestError::Refused { status: 400, why, text: String::new(), retry_after: None })
    };
    let mut b = Bench::online();
    b.relay.windows = false;
    let all = b.history(100, 3, 10);
    let r: Vec<SharedEvent> =
        (0..3).map(|i| reply(&Author::named("bo"), b.general, 200 + i, all[2].id, all[2].id)).collect();
    b.relay.events.extend(r.iter().cloned());
    let thread = TimelineKey::thread(b.general, all[2].id);
    b.faults = vec![refuse];
    b.open(thread, 2).unwrap();
    assert_eq!(b.rows(thread), vec![all[2].id, r[1].id, r[2].id], "newest first, going back");
    b.older(thread).unwrap();
    assert_eq!((b.rows(thread).len(), more(&b, thread)), (4, More::Unknown));
    b.faults = vec![refuse];
    b.open(general(), 10).unwrap();
    assert_eq!((b.rows(general()), more(&b, general())), (ids(&all), More::Unknown));
}

/// Pitfalls I3: overlays of other signers are ignored; R8 in order of arrival.
#[test]
fn live_summaries_count_only_from_the_relay() {
    let mut b = Bench::online();
    let all = b.history(100, 1, 1);
    let bo = Author::named("bo");
    b.open(general(), 5).unwrap();
    let root = all[0].id;
    let r1 = reply(&bo, b.general, 200, root, root);
    b.post(&r1);
    let replies = |b: &Bench| b.windows.view(&general()).unwrap().replies(&root);
    assert_eq!(replies(&b), 1);
    let (hex, h) = (root.to_hex(), b.general.to_string());
    let tags: &[&[&str]] = &[&["e", &hex], &["d", &hex], &["h", &h]];
    b.windows.on_live(&bo.sign(template(39005, 900, tags, r#"{"reply_count":40,"last_reply_at":null}"#)), &b.facts);
    assert_eq!(replies(&b), 1);
    let own = reply(&Author::named("me"), b.general, 300, root, root);
    b.windows.on_live(&own, &b.facts);
    assert_eq!(replies(&b), 2, "the viewer's own reply, before its summary");
    b.windows.on_live(&Author::named("me").sign(template(5, 301, &[&["e", &own.id.to_hex()]], "")), &b.facts);
    assert_eq!(replies(&b), 1);
    b.relay.deleted.insert(r1.id);
    let summary = b.relay.summary(b.general, root).unwrap();
    b.windows.on_live(&summary, &b.facts);
    assert_eq!(replies(&b), 0, "it can go down");
    assert!(b.windows.take_changed().iter().any(|c| c.touched.contains(&root)));
}

/// R25c, architecture decision 4: opened without a connection, shown from the cache, read when it is there.
#[test]
fn opening_and_paging_work_offline_on_what_is_kept() {
    let mut b = Bench::online();
    let all = b.history(100, 7, 10);
    b.open(general(), 2).unwrap();
    b.older(general()).unwrap();
    b.older(general()).unwrap();
    b.restart();
    b.open(general(), 2).unwrap();
    assert_eq!((b.rows(general()), more(&b, general())), (ids(&all[5..]), More::Yes));
    assert_eq!(b.windows.view(&general()).unwrap().opening(), Opening::Offline);
    b.older(general()).unwrap();
    b.older(general()).unwrap();
    assert_eq!(b.rows(general()), ids(&all[1..]));
    assert_eq!(b.older(general()).unwrap_err(), Error::Network { why: NetworkFailure::Offline });
    let empty = TimelineKey::channel(channel("never-opened"));
    b.open(empty, 2).unwrap();
    assert_eq!((b.rows(empty).len(), more(&b, empty)), (0, More::Unknown));
    b.connect();
    let view = b.windows.view(&general()).unwrap();
    assert!(!view.restored());
    assert_eq!((b.rows(general()), more(&b, general())), (ids(&all[1..]), More::Yes));
    b.older(general()).unwrap();
    assert_eq!((b.rows(general()), more(&b, general())), (ids(&all), More::No));
}

/// A page size smaller than what is kept shows that many rows, and goes on from the relay's word.
#[test]
fn a_smaller_page_size_than_kept() {
    let mut b = Bench::online();
    let all = b.history(100, 9, 10);
    b.open(general(), 6).unwrap();
    b.restart();
    b.open(general(), 2).unwrap();
    assert_eq!(b.rows(general()), ids(&all[7..]));
    b.connect();
    assert_eq!((b.rows(general()), more(&b, general())), (ids(&all[7..]), More::Yes));
    b.older(general()).unwrap();
    assert_eq!(b.rows(general()), ids(&all[5..]));
    b.disconnect();
    b.older(general()).unwrap();
    assert_eq!(b.rows(general()), ids(&all[3..]), "the rest of the kept page");
}

/// A read that is lost with the connection ends its calls.
#[test]
fn losing_the_connection_ends_calls() {
    let mut b = Bench::online();
    b.history(100, 3, 10);
    b.windows.open(general(), Some(2), CallToken(901), &mut b.out);
    b.windows.load_older(general(), CallToken(902), &mut b.out);
    b.windows.take_restores();
    b.windows.restored(&general(), Vec::new(), &b.facts, &mut b.out);
    let sent: Vec<RequestId> = b.out.sent.iter().map(|(id, _)| *id).collect();
    b.windows.on_disconnected(&mut b.out);
    assert_eq!(b.out.cancelled, sent);
    let done = b.windows.take_done();
    assert_eq!(done.iter().find(|(t, _)| t.0 == 901).unwrap().1, Ok(()));
    assert_eq!(done.iter().find(|(t, _)| t.0 == 902).unwrap().1.as_ref().unwrap_err().code(), "network");
    let late = Ok(Answer::Events(Batch::default()));
    let now = b.now();
    assert!(!b.windows.on_answer(sent[0], &late, &b.facts, now, &mut b.out), "a stale answer is nobody's");
}

#[test]
fn access_lost_shows_nothing_until_it_is_granted_again() {
    let mut b = Bench::online();
    let all = b.history(100, 3, 10);
    b.open(general(), 5).unwrap();
    b.windows.on_access_lost(b.general, &mut b.out);
    assert!(b.rows(general()).is_empty());
    assert_eq!(b.older(general()).unwrap_err(), Error::Denied);
    b.post(&message(&Author::named("bo"), b.general, 900, "unseen"));
    assert!(b.rows(general()).is_empty());
    b.windows.on_access_granted(b.general, &mut b.out);
    b.run();
    assert_eq!(b.rows(general()).len(), all.len() + 1);
}

/// B3, scenario paging/05: broadcasts of depth 1 are rows; every reply is a thread row.
#[test]
fn broadcasts_are_rows_and_thread_rows() {
    let mut b = Bench::online();
    let root = b.history(100, 1, 1).remove(0);
    let (bo, h) = (Author::named("bo"), b.general.to_string());
    b.open(general(), 5).unwrap();
    let thread = TimelineKey::thread(b.general, root.id);
    b.open(thread, 5).unwrap();
    let r = reply(&bo, b.general, 110, root.id, root.id);
    let (root_hex, r_hex) = (root.id.to_hex(), r.id.to_hex());
    let shout = |parent: &str, at, value: &str, extra: &[&str]| {
        bo.sign(template(9, at, &[&["h", &h], &["e", parent, "", "reply"], &["broadcast", value], extra], "x"))
    };
    let rows = [shout(&root_hex, 120, "1", &["x"]), shout(&root_hex, 130, "true", &["x"])];
    let deep = shout(&r_hex, 140, "1", &["e", &root_hex, "", "root"]);
    let unmarked = shout(&r_hex, 150, "1", &["x"]);
    for event in [&r, &rows[0], &rows[1], &deep, &unmarked] {
        b.post(event);
    }
    assert_eq!(b.rows(general()), Bench::sorted(&[&root, &rows[0]]));
    assert_eq!(b.rows(thread), Bench::sorted(&[&root, &r, &rows[0], &rows[1], &deep, &unmarked]));
}

/// Pitfalls I5: rows of another channel, of none or of two are dropped alone.
#[test]
fn foreign_rows_are_dropped_alone() {
    let mut b = Bench::online();
    let all = b.history(100, 2, 10);
    b.faults = vec![|_, mut batch| {
        let ada = Author::named("ada");
        let (g, o) = (channel("general").to_string(), channel("ops").to_string());
        for tags in [vec![vec!["h", o.as_str()]], vec![], vec![vec!["h", g.as_str()], vec!["h", o.as_str()]]] {
            let tags: Vec<&[&str]> = tags.iter().map(Vec::as_slice).collect();
            batch.events.insert(0, ada.sign(template(9, 500, &tags, "x")));
        }
        Ok(Answer::Events(batch))
    }];
    b.open(general(), 5).unwrap();
    assert_eq!((b.rows(general()), more(&b, general())), (ids(&all), More::No));
}

/// R7a, pitfalls A19, scenario paging/21.
#[test]
fn a_long_thread_is_read_to_its_last_reply() {
    let mut b = Bench::online();
    let root = b.history(50, 1, 1).remove(0);
    let bo = Author::named("bo");
    // Ten in a second, so that pages end inside one.
    let replies: Vec<SharedEvent> = (0..23)
        .map(|i| {
            bo.sign(template(
                9,
                100 + i / 10,
                &[&["h", &b.general.to_string()], &["e", &root.id.to_hex(), "", "reply"]],
                &format!("{i}"),
            ))
        })
        .collect();
    b.relay.events.extend(replies.iter().cloned());
    let key = TimelineKey::thread(b.general, root.id);
    b.open(key, 10).unwrap();
    assert_eq!((b.rows(key).len(), more(&b, key)), (11, More::Yes));
    let live = reply(&bo, b.general, 300, root.id, root.id);
    b.post(&live);
    assert_eq!((b.rows(key).last(), gap(&b, key)), (Some(&live.id), Some(11)));
    b.older(key).unwrap();
    b.older(key).unwrap();
    assert_eq!((b.rows(key).len(), gap(&b, key), more(&b, key)), (25, None, More::Unknown));
    b.older(key).unwrap();
    assert_eq!(more(&b, key), More::No);
    let asked = b.asked.len();
    b.older(key).unwrap();
    assert_eq!(b.asked.len(), asked);
    let all: Vec<&SharedEvent> = replies.iter().chain([&live]).collect();
    let mut expected = vec![root.id];
    expected.extend(Bench::sorted(&all));
    assert_eq!(b.rows(key), expected);
}

/// R7a: after a reconnect a thread goes on from its last reply; edits and deletions of held replies are asked for.
#[test]
fn a_thread_goes_on_after_a_reconnect() {
    let mut b = Bench::online();
    let root = b.history(50, 1, 1).remove(0);
    let bo = Author::named("bo");
    let r: Vec<SharedEvent> = (0..4).map(|i| reply(&bo, b.general, 100 + i, root.id, root.id)).collect();
    b.relay.events.extend(r[..2].iter().cloned());
    b.relay.events.push(bo.sign(template(40003, 150, &[&["e", &r[0].id.to_hex()]], "edited")));
    let key = TimelineKey::thread(b.general, root.id);
    b.open(key, 10).unwrap();
    assert!(b.windows.view(&key).unwrap().edit(&r[0].id).is_some());
    assert_eq!(b.rows(key), vec![root.id, r[0].id, r[1].id], "the root is fetched by its id");
    b.older(key).unwrap();
    b.post(&r[2]);
    b.disconnect();
    let deletion = bo.sign(template(5, 160, &[&["e", &r[1].id.to_hex()]], ""));
    b.relay.deleted.insert(r[1].id);
    b.relay.events.extend([r[3].clone(), deletion]);
    b.connect();
    assert_eq!(b.rows(key), vec![root.id, r[0].id, r[2].id, r[3].id]);
    assert_eq!(gap(&b, key), None);
    b.restart();
    b.open(key, 10).unwrap();
    assert_eq!(b.rows(key), vec![root.id, r[0].id, r[2].id, r[3].id]);
    assert!(b.windows.view(&key).unwrap().edit(&r[0].id).is_some());
}

#[test]
fn bounds_hold() {
    let mut b = Bench::online();
    for i in 0..limits::OPEN_TIMELINES {
        b.open(TimelineKey::channel(channel(&format!("c{i}"))), 5).unwrap();
    }
    assert_eq!(b.open(general(), 5).unwrap_err().code(), "capacity");
    assert_eq!(b.older(general()).unwrap_err().code(), "not_found");
    b.close(TimelineKey::channel(channel("c0")));
    b.history(100, 30, 1);
    b.open(general(), 50).unwrap();
    assert_eq!(b.windows.shared.fold.len(), 30);
    b.close(general());
    assert!(b.windows.shared.fold.is_empty(), "nothing is held for nobody");
}

/// Pitfalls A14: what a person paged to stays, whatever arrives.
#[test]
fn history_stays_under_live_traffic() {
    let mut b = Bench::online();
    let all = b.history(1_000, 300, 1);
    b.open(general(), 100).unwrap();
    b.older(general()).unwrap();
    b.older(general()).unwrap();
    let bo = Author::named("bo");
    for i in 0..200 {
        let on = all[usize::try_from(i).unwrap()].id.to_hex();
        b.post(&bo.sign(template(7, 5_000 + i, &[&["e", &on]], "+")));
    }
    b.post(&message(&bo, b.general, 9_000, "live"));
    assert_eq!((b.rows(general()).len(), b.rows(general()).first()), (301, Some(&all[0].id)));
}
