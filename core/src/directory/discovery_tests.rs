//! What is asked when, and what answers prove.

use super::tests::Bench;
use super::*;
use crate::clock::Millis;
use crate::error::{NetworkFailure, Refusal};
use crate::event::{Batch, RejectReason, Rejected};
use crate::request::{Answer, Body, Outbox, Outcome, Purpose, RequestError, RequestId};
use crate::testing::channel;

const NOW: Millis = Millis(1_000);

/// The filter of a request.
fn filter(out: &Outbox, id: RequestId) -> Filter {
    let (_, request) = out.sent.iter().find(|(sent, _)| *sent == id).unwrap();
    assert_eq!(request.purpose, Purpose::Roster);
    let Body::Query(filters) = &request.body else { panic!("not a query") };
    assert_eq!(filters.len(), 1);
    filters[0].clone()
}

/// Requests sent and neither answered nor cancelled, oldest first.
fn open(b: &Bench) -> Vec<RequestId> {
    b.out.sent.iter().map(|(id, _)| *id).filter(|id| b.directory.owns(*id)).collect()
}

/// The open request of these kinds, with or without `#d`.
fn pending(b: &Bench, kinds: &[u16], by_id: bool) -> RequestId {
    let wanted = |id: &RequestId| {
        let f = filter(&b.out, *id);
        f.kinds == kinds && f.d.is_some() == by_id
    };
    open(b).into_iter().find(wanted).unwrap()
}

fn mine(b: &Bench) -> RequestId {
    pending(b, &[kinds::MEMBERS], false)
}

fn browse(b: &Bench) -> RequestId {
    pending(b, &[kinds::CHANNEL], false)
}

fn check(b: &Bench) -> RequestId {
    pending(b, &LIVE_KINDS, true)
}

fn events(events: Vec<SharedEvent>) -> Outcome {
    Ok(Answer::Events(Batch { events, rejected: vec![] }))
}

fn lost() -> Outcome {
    Err(RequestError::Network(NetworkFailure::Lost))
}

impl Bench {
    fn connect(&mut self) {
        self.directory.on_connected(&mut self.out);
    }

    fn answer(&mut self, id: RequestId, outcome: Outcome) -> AccessChange {
        assert!(self.directory.owns(id));
        self.directory.on_answer(id, outcome, NOW, &mut self.out)
    }

    /// A directory that has taken in a listing of these channels.
    fn listed(names: &[&str]) -> Self {
        let mut b = Self::new();
        b.connect();
        let rosters = names.iter().map(|n| b.roster(channel(n), 10, &[&b.me])).collect();
        b.answer(mine(&b), events(rosters));
        for id in open(&b) {
            b.answer(id, events(vec![]));
        }
        b
    }

    fn has(&self, name: &str) -> bool {
        self.directory.is_allowed(channel(name))
    }
}

#[test]
fn a_first_connection_reads_rosters_then_descriptions() {
    let mut b = Bench::new();
    assert!(b.directory.is_cached());
    b.connect();
    let first = filter(&b.out, mine(&b));
    assert_eq!((first.p, first.limit), (Some(vec![b.me.key().to_hex()]), Some(500)));
    assert_eq!(first.authors, Some(vec![b.relay.key().to_hex()]), "forgeries cannot crowd the relay out");
    assert_eq!(filter(&b.out, browse(&b)).limit, Some(500));
    let c = channel("general");
    let roster = b.roster(c, 10, &[&b.me]);
    let change = b.answer(mine(&b), events(vec![roster]));
    assert!(change.first_confirmed && change.granted.contains(&c) && !b.directory.is_cached());
    let described = pending(&b, &[kinds::CHANNEL, kinds::ADMINS], true);
    assert_eq!(filter(&b.out, described).d, Some(vec![c.to_string()]));
    let meta = b.meta(c, 5, &[&["name", "general"], &["t", "stream"]]);
    let change = b.answer(described, events(vec![meta]));
    assert!(change.type_changed.contains(&c) && change.renamed.contains(&c) && !change.first_confirmed);
    let town = b.meta(channel("town"), 5, &[&["name", "town"], &["public"]]);
    b.answer(browse(&b), events(vec![town]));
    assert!(b.directory.is_readable(channel("town")) && !b.directory.is_allowed(channel("town")));
    assert!(open(&b).is_empty() && b.directory.next_wake().is_none());
}

/// `protocol.md` 5.3: pages follow the exact cursor, and a relay's own cap is not the end; A17: at most 128 ids a request.
#[test]
fn listings_are_paged_and_batches_bounded() {
    let mut b = Bench::new();
    b.connect();
    let mut rosters: Vec<_> = (0..278).map(|n| b.roster(channel(&format!("c{n}")), 10 + n / 3, &[&b.me])).collect();
    rosters.sort_by_key(|e| e.key());
    for page in rosters.chunks(100) {
        let id = mine(&b);
        b.answer(id, events(page.to_vec()));
        let next = filter(&b.out, mine(&b));
        let last = page.last().unwrap();
        assert_eq!((next.until, next.before_id), (Some(last.created_at), Some(last.id.to_hex())));
        assert!(b.directory.is_cached(), "not through yet");
    }
    let change = b.answer(mine(&b), events(vec![]));
    assert!(change.first_confirmed);
    assert_eq!(b.directory.allowed().count(), 278);
    let asked: Vec<_> = open(&b).into_iter().filter_map(|id| filter(&b.out, id).d.map(|d| d.len())).collect();
    assert_eq!(asked, [128, 128, 22]);
}

/// A relay that repeats a page, or never ends, takes nothing away.
#[test]
fn a_listing_that_does_not_move_proves_nothing() {
    let mut b = Bench::listed(&["kept"]);
    b.connect();
    let page: Vec<_> = (0..20).map(|n| b.roster(channel(&format!("c{n}")), 10, &[&b.me])).collect();
    b.answer(mine(&b), events(page.clone()));
    b.answer(mine(&b), events(page));
    assert!(b.has("kept"));
    assert_eq!(filter(&b.out, check(&b)).d, Some(vec![channel("kept").to_string()]));
    b.answer(check(&b), events(vec![]));
    assert!(!b.has("kept"));
}

/// `unread.md` 1.5: a complete listing denies what it omits, except where the roster changed since the read began.
#[test]
fn a_complete_listing_denies_what_it_omits() {
    let mut b = Bench::listed(&["general", "ops", "lounge"]);
    b.connect();
    let id = mine(&b);
    let moved = b.roster(channel("lounge"), 11, &[&b.me, &b.ada]);
    b.live(&moved);
    let still = b.roster(channel("general"), 10, &[&b.me]);
    let change = b.answer(id, events(vec![still]));
    assert_eq!(change.revoked, BTreeSet::from([channel("ops")]));
    assert!(b.has("general") && b.has("lounge"));
    // The denied channel's roster does not come back by a replay, but by the relay's own later answer.
    let replay = b.roster(channel("ops"), 10, &[&b.me]);
    assert!(b.live(&replay).is_empty());
    b.connect();
    let general = b.roster(channel("general"), 10, &[&b.me]);
    assert_eq!(b.answer(mine(&b), events(vec![general, replay, moved])).granted.len(), 1);
}

/// R8b: the first complete listing replaces restored rosters and confirms those it lists.
#[test]
fn the_first_listing_replaces_restored_rosters() {
    let mut b = Bench::listed(&["general", "ops"]);
    let stored = b.directory.take_unsaved();
    b.directory = Directory::new(b.me.key(), Trust::Key(b.relay.key()));
    b.directory.restore(stored);
    b.connect();
    assert!(b.directory.is_cached() && b.has("ops"));
    let still = b.roster(channel("general"), 10, &[&b.me]);
    let change = b.answer(mine(&b), events(vec![still]));
    assert!(change.first_confirmed && !b.directory.is_cached());
    assert_eq!(change.confirmed, BTreeSet::from([channel("general")]));
    assert_eq!(change.revoked, BTreeSet::from([channel("ops")]));
    let stored = b.directory.take_unsaved();
    b.directory = Directory::new(b.me.key(), Trust::Key(b.relay.key()));
    b.directory.restore(stored);
    assert!(!b.has("ops"), "the denial is remembered");
}

/// R25: a failed read changes nothing and is repeated after 1 s, doubling to 60 s.
#[test]
fn a_failed_listing_is_never_left_everything() {
    let mut b = Bench::listed(&["general"]);
    b.connect();
    let mut now = NOW;
    for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
        b.answer(browse(&b), events(vec![]));
        let id = mine(&b);
        assert!(b.directory.on_answer(id, lost(), now, &mut b.out).is_empty());
        assert_eq!(b.directory.error(), Some(&Error::Network { why: NetworkFailure::Lost }));
        assert!(b.has("general"));
        assert_eq!(b.directory.next_wake(), Some(now.plus(wait * 1_000)));
        b.directory.on_wake(now.plus(1), &mut b.out);
        assert!(open(&b).is_empty(), "too early");
        now = now.plus(wait * 1_000);
        b.directory.on_wake(now, &mut b.out);
    }
    let still = b.roster(channel("general"), 10, &[&b.me]);
    b.answer(mine(&b), events(vec![still]));
    assert_eq!(b.directory.error(), None);
}

/// R25a: a relay that names a wait is given it.
#[test]
fn a_named_wait_is_kept() {
    let mut b = Bench::listed(&["general"]);
    b.connect();
    let why = Refusal::RateLimited;
    let refused = RequestError::Refused { status: 429, why, text: String::new(), retry_after: Some(30) };
    b.answer(mine(&b), Err(refused));
    assert_eq!(b.directory.next_wake(), Some(NOW.plus(30_000)));
    assert!(b.has("general"));
}

/// A relay that is behind and lists an older roster has still listed the channel.
#[test]
fn an_older_listing_omits_nothing() {
    let mut b = Bench::listed(&["general"]);
    let newer = b.roster(channel("general"), 20, &[&b.me, &b.ada]);
    b.live(&newer);
    b.connect();
    let older = b.roster(channel("general"), 10, &[&b.me]);
    assert!(b.answer(mine(&b), events(vec![older])).revoked.is_empty());
    assert!(b.has("general"));
}

/// R25: one surprisingly empty answer is asked again by id; a second one is believed.
#[test]
fn an_empty_listing_is_asked_again() {
    for rejoined in [true, false] {
        let mut b = Bench::listed(&["general", "ops"]);
        b.connect();
        assert!(b.answer(mine(&b), events(vec![])).is_empty());
        assert!(b.has("general") && b.has("ops"));
        let asked = filter(&b.out, check(&b));
        assert_eq!(asked.d.map(|d| d.len()), Some(2));
        let found = if rejoined { vec![b.roster(channel("ops"), 10, &[&b.me])] } else { vec![] };
        let change = b.answer(check(&b), events(found));
        assert_eq!((b.has("general"), b.has("ops")), (false, rejoined));
        assert_eq!(change.revoked.len(), if rejoined { 1 } else { 2 });
    }
}

/// A listing with something unreadable in it grants, but takes nothing away; nor does an unreadable check.
#[test]
fn damage_takes_nothing_away() {
    let mut b = Bench::listed(&["general", "ops"]);
    b.connect();
    let damaged = |events: Vec<SharedEvent>| {
        let rejected = vec![Rejected { kind: Some(kinds::MEMBERS), reason: RejectReason::Signature }];
        Ok(Answer::Events(Batch { events, rejected }))
    };
    let fresh = b.roster(channel("new"), 10, &[&b.me]);
    assert_eq!(b.answer(mine(&b), damaged(vec![fresh])).granted.len(), 1);
    assert!(b.answer(check(&b), damaged(vec![])).is_empty());
    assert!(b.has("general") && b.has("ops") && b.has("new"));
}

/// A forged roster in the answer neither grants nor counts as listed (`unread.md` 13.4).
#[test]
fn forged_rosters_in_an_answer() {
    let mut b = Bench::listed(&["general", "town"]);
    b.connect();
    let forged = b.roster_by(&b.ada, channel("general"), 99, &[&b.me]);
    let ops = b.roster_by(&b.ada, channel("ops"), 99, &[&b.me]);
    let town = b.roster(channel("town"), 10, &[&b.me]);
    let change = b.answer(mine(&b), events(vec![forged, ops, town]));
    assert_eq!(change.revoked, BTreeSet::from([channel("general")]));
    assert!(change.granted.is_empty());
}

/// `relay-measured.md` 6: on 44100 and 44101 the channel is asked for; scenario presentation/13.
#[test]
fn notices_ask_for_their_channel() {
    let mut b = Bench::listed(&["general"]);
    let added = b.notice(channel("ops"), 20, true);
    assert!(b.live(&added).is_empty(), "the notice alone grants nothing");
    assert_eq!(filter(&b.out, check(&b)).kinds, LIVE_KINDS);
    let (roster, meta) = (b.roster(channel("ops"), 21, &[&b.me]), b.meta(channel("ops"), 5, &[&["t", "stream"]]));
    let change = b.answer(check(&b), events(vec![roster, meta]));
    assert_eq!(change.granted, BTreeSet::from([channel("ops")]));
    assert!(b.directory.facts(channel("ops")).unwrap().confirmed);
    let removed = b.notice(channel("ops"), 30, false);
    assert_eq!(b.live(&removed).revoked, BTreeSet::from([channel("ops")]));
    b.answer(check(&b), events(vec![]));
    assert!(open(&b).is_empty() && !b.has("ops"));
}

/// The question about a removal may be answered by a relay that is behind: the roster from before it gives nothing back.
#[test]
fn an_answer_from_before_the_removal() {
    let mut b = Bench::listed(&["general"]);
    let removed = b.notice(channel("general"), 30, false);
    b.live(&removed);
    let before = b.roster(channel("general"), 10, &[&b.me]);
    assert!(b.answer(check(&b), events(vec![before])).is_empty());
    assert!(!b.has("general"));
}

/// B10 with the questions between: removal, then addition, while the first check is under way.
#[test]
fn rejoin_while_the_removal_is_checked() {
    let mut b = Bench::listed(&["general"]);
    let (removed, added) = (b.notice(channel("general"), 30, false), b.notice(channel("general"), 31, true));
    b.live(&removed);
    b.live(&added);
    assert_eq!(open(&b).len(), 1, "one check at a time");
    b.answer(check(&b), events(vec![]));
    let rejoined = b.roster(channel("general"), 32, &[&b.me]);
    let change = b.answer(check(&b), events(vec![rejoined]));
    assert_eq!(change.granted, BTreeSet::from([channel("general")]));
}

/// A membership that is announced before the roster shows it is asked for again, a few times.
#[test]
fn an_announced_membership_is_awaited() {
    let mut b = Bench::listed(&[]);
    let added = b.notice(channel("ops"), 20, true);
    b.live(&added);
    let mut now = NOW;
    for _ in 0..limits::GRANT_CHECKS {
        b.directory.on_answer(check(&b), events(vec![]), now, &mut b.out);
        now = b.directory.next_wake().unwrap();
        b.directory.on_wake(now, &mut b.out);
    }
    b.answer(check(&b), events(vec![]));
    assert!(open(&b).is_empty() && b.directory.next_wake().is_none());
}

/// `protocol.md` 3.6: "channel access revoked" is a question, not an answer: the channel may be archived, or closed.
#[test]
fn a_closed_subscription_asks_again() {
    let mut b = Bench::listed(&["general"]);
    let town = b.meta(channel("town"), 5, &[&["public"], &["t", "stream"]]);
    b.live(&town);
    for name in ["general", "town"] {
        b.directory.check(channel(name), &mut b.out);
    }
    assert!(b.has("general") && b.directory.is_readable(channel("town")));
    let (roster, archived) =
        (b.roster(channel("general"), 10, &[&b.me]), b.meta(channel("general"), 9, &[&["archived", "true"]]));
    let change = b.answer(check(&b), events(vec![roster, archived]));
    assert!(b.has("general") && b.directory.facts(channel("general")).unwrap().archived);
    assert!(change.revoked.is_empty());
    let change = b.answer(check(&b), events(vec![]));
    assert_eq!(change.hidden, BTreeSet::from([channel("town")]), "no longer open to everyone");
    // Shown again by the relay's own answer, not by a replay.
    assert!(b.live(&town).is_empty());
    b.connect();
    assert_eq!(b.answer(browse(&b), events(vec![town])).touched, BTreeSet::from([channel("town")]));
}

/// Open channels that a complete listing no longer shows are gone; an empty one proves nothing.
#[test]
fn browsing_forgets_what_is_no_longer_open() {
    let mut b = Bench::listed(&[]);
    let (town, park) = (b.meta(channel("town"), 5, &[&["public"]]), b.meta(channel("park"), 5, &[&["public"]]));
    b.live(&town);
    b.live(&park);
    b.connect();
    assert!(b.answer(browse(&b), events(vec![])).is_empty());
    b.connect();
    assert_eq!(b.answer(browse(&b), events(vec![town])).hidden, BTreeSet::from([channel("park")]));
}

/// Nothing is asked while there is no connection, and what was being asked is dropped.
#[test]
fn a_lost_connection_keeps_everything() {
    let mut b = Bench::listed(&["general"]);
    b.connect();
    b.directory.on_disconnected(&mut b.out);
    assert!(open(&b).is_empty() && b.has("general"));
    assert_eq!(b.out.cancelled.len(), 2);
    b.directory.check(channel("general"), &mut b.out);
    b.directory.refresh(&mut b.out);
    assert!(open(&b).is_empty());
    b.connect();
    assert_eq!(open(&b).len(), 3, "both listings and the check that was due");
}

/// A live roster of a channel without metadata asks for it; a channel that has none stays of unknown type.
#[test]
fn a_bare_grant_asks_for_metadata() {
    let mut b = Bench::listed(&[]);
    let roster = b.roster(channel("dm"), 10, &[&b.me, &b.ada]);
    b.live(&roster);
    b.answer(check(&b), events(vec![roster]));
    assert!(open(&b).is_empty());
    assert_eq!(b.directory.facts(channel("dm")).unwrap().channel_type, ChannelType::Unknown);
}

#[test]
fn live_filters_are_unbounded_below() {
    let b = Bench::new();
    let filter = b.directory.notice_filter();
    assert_eq!((filter.kinds, filter.since, filter.limit), (vec![44100, 44101], None, Some(0)));
    assert_eq!(filter.p, Some(vec![b.me.key().to_hex()]));
}
