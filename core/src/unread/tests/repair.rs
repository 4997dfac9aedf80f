//! `unread.md` 3.5, 3.6 and R4, R8c, R13: the repair machine, played against by hand.

use super::kit::{NOW, World, filters, member, say};
use crate::error::{Error, NetworkFailure};
use crate::event::{RejectReason, Rejected, SharedEvent};
use crate::evidence::{Dialect, Ticket};
use crate::ids::ChannelId;
use crate::limits;
use crate::model::{ChannelType, Freshness};
use crate::request::{Answer, Priority, Purpose, RequestId};
use crate::testing::channel;

const LOST: Error = Error::Network { why: NetworkFailure::TimedOut };

/// A world with so many channels, and their ids in order.
fn roster(count: usize) -> (World, Vec<ChannelId>) {
    let names: Vec<_> = (0..count).map(|n| format!("c{n}")).collect();
    let world = World::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let ids = world.access.keys().copied().collect();
    (world, ids)
}

impl World {
    fn begin(&mut self, ticket: u64) {
        assert_eq!(self.unread.ensure(Ticket(ticket)), None);
        self.markers();
    }

    /// The engine's part: markers first.
    fn markers(&mut self) {
        assert!(self.unread.take_markers_wanted().is_some());
        assert_eq!(self.unread.take_markers_wanted(), None, "said once");
        self.with(|unread, _, out| unread.markers_loaded(out));
    }

    fn done(&mut self) -> Vec<(u64, Result<(), Error>)> {
        self.unread.take_completions().into_iter().map(|(ticket, result)| (ticket.0, result)).collect()
    }

    /// The only request out: its channels and `since`.
    fn batch(&mut self) -> (RequestId, usize, Option<u64>) {
        let (id, filters) = self.sent_one();
        (id, filters.iter().map(|f| f.channel_count()).sum(), filters[0].since)
    }

    fn reconnect(&mut self) {
        self.with(|unread, _, out| unread.disconnected(out));
        self.with(|unread, _, out| unread.connected(out));
        self.markers();
    }
}

/// Row 3.16, R4 and R13.
#[test]
fn row_3_16_three_reads_for_278_channels() {
    let (mut world, ids) = roster(278);
    world.begin(1);
    let (id, request) = world.sent().remove(0);
    assert_eq!((request.purpose, request.priority), (Purpose::Evidence, Priority::Foreground));
    assert_eq!(request.deadline_ms, limits::REQUEST_DEADLINE_MS);
    let filter = &filters(&request)[0];
    let names: Vec<_> = ids[..128].iter().map(ToString::to_string).collect();
    assert_eq!((filter.h.as_ref(), filter.limit, filter.include_aux), (Some(&names), Some(500), true));
    assert_eq!((&filter.kinds[..], filter.since), (&[9, 40002, 40008][..], None));
    assert_eq!(world.unread.repair().progress(), Some((0, 278)));
    world.answer(id, &[&say("ada", "c0", 10).sign()]);
    assert_eq!(world.counts("c0"), Some((1, 0)), "the first batch is visible before the second");
    let (second, count, _) = world.batch();
    assert_eq!((count, world.unread.repair().progress()), (128, Some((128, 278))));
    world.answer(second, &[]);
    let (third, count, _) = world.batch();
    assert_eq!((count, world.done()), (22, vec![]));
    world.answer(third, &[]);
    assert_eq!(world.done(), vec![(1, Ok(()))]);
    assert_eq!(world.channel("c1").freshness, Freshness::Observed);
    assert_eq!(world.channel("c1").observed, None, "R8a");
    assert_eq!(world.unread.ensure(Ticket(2)), Some(Ok(())));
    assert!(world.sent().is_empty());
    assert!(world.unread.take_cache_changes().repaired);
}

#[test]
fn august_asks_with_one_filter_a_channel() {
    let (mut world, ids) = roster(130);
    world.unread.set_dialect(Dialect::August);
    world.begin(1);
    let (id, filters) = world.sent_one();
    assert_eq!(filters.len(), 128);
    for (filter, channel) in filters.iter().zip(&ids) {
        assert_eq!(filter.h, Some(vec![channel.to_string()]));
        assert_eq!(filter.limit, Some(500));
    }
    // 500 rows of one channel are a full page; 500 of several are not.
    let spread: Vec<_> = (0..500).map(|n| say("ada", &format!("c{}", n % 100), 10_000 + n).sign()).collect();
    world.answer(id, &spread.iter().collect::<Vec<_>>());
    let (id, count, _) = world.batch();
    assert_eq!(count, 2);
    world.answer(id, &[]);
    world.reconnect();
    assert_eq!(world.batch().2, Some(10_499 - 960));
}

/// Row 3.17 and R8c.
#[test]
fn row_3_17_a_failed_batch_keeps_the_earlier_ones() {
    let (mut world, _) = roster(129);
    world.begin(1);
    assert_eq!(world.unread.ensure(Ticket(2)), None, "shares the work");
    let (first, ..) = world.batch();
    world.answer(first, &[&say("ada", "c0", 10).sign()]);
    let (second, ..) = world.batch();
    world.fail(second);
    assert_eq!(world.done(), vec![(1, Err(LOST)), (2, Err(LOST))]);
    let snapshot = world.channel("c0");
    assert_eq!((snapshot.observed, snapshot.freshness, snapshot.error), (Some(1), Freshness::Stale, Some(LOST)));
    assert_eq!(world.unread.ensure(Ticket(3)), Some(Err(LOST)));
    assert!(world.sent().is_empty());
    world.unread.refresh(Ticket(4));
    world.markers();
    for _ in 0..2 {
        let (id, ..) = world.batch();
        world.answer(id, &[]);
    }
    assert_eq!(world.done(), vec![(4, Ok(()))]);
    assert_eq!((world.channel("c0").error, world.channel("c0").freshness), (None, Freshness::Observed));
}

/// Row 3.19 and R8c: a late answer of an abandoned attempt is nobody's, and the attempt begins again for the current set.
#[test]
fn row_3_19_access_changes_restart_a_repair() {
    let (mut world, ids) = roster(129);
    world.begin(1);
    let (old, ..) = world.batch();
    world.access.insert(channel("new"), member(ChannelType::Stream));
    world.set_access();
    let (id, count, _) = world.batch();
    assert_eq!((count, &world.out.cancelled[..]), (128, &[old][..]));
    assert!(!world.answer(old, &[&say("ada", "c0", 10).sign()]));
    assert_eq!(world.counts("c0"), None);
    world.access.remove(&ids[0]);
    world.set_access();
    let (id2, ..) = world.batch();
    assert!(!world.answer(id, &[]));
    world.answer(id2, &[]);
    let (id3, count, _) = world.batch();
    assert_eq!(count, 1);
    world.answer(id3, &[]);
    assert_eq!(world.done(), vec![(1, Ok(()))]);
}

/// Row 3.19 (clear) and 3.20: nothing goes on after the cache was cleared.
#[test]
fn row_3_20_a_cleared_cache_ends_the_repair() {
    let (mut world, _) = roster(129);
    world.begin(1);
    let (first, ..) = world.batch();
    world.unread.refresh(Ticket(2));
    let why = Error::Cancelled { why: "cache cleared" };
    world.with(|unread, _, out| unread.clear(&why, out));
    assert_eq!(world.done(), vec![(1, Err(why.clone())), (2, Err(why))]);
    assert!(!world.answer(first, &[&say("ada", "c0", 10).sign()]));
    assert!(world.sent().is_empty() && world.counts("c0").is_none());
    world.begin(3);
    assert_eq!(world.batch().1, 128);
}

/// R8c and presentation: a grant after the first `ensure` reads the new channel alone, in the background, and only that.
#[test]
fn a_grant_is_repaired_in_the_background() {
    let mut world = World::new(&["c"]);
    world.access.insert(channel("early"), member(ChannelType::Stream));
    world.set_access();
    assert!(world.sent().is_empty(), "nothing was asked for yet");
    world.begin(1);
    let (id, ..) = world.batch();
    world.answer(id, &[]);
    world.access.insert(channel("new"), member(ChannelType::Stream));
    world.set_access();
    let (id, request) = world.sent().remove(0);
    assert_eq!(request.priority, Priority::Background);
    assert_eq!(filters(&request)[0].h, Some(vec![channel("new").to_string()]));
    world.answer(id, &[&say("ada", "new", 10).sign()]);
    assert_eq!(world.counts("new"), Some((1, 0)));
    // A change of type alone reads nothing.
    world.access.get_mut(&channel("new")).unwrap().channel_type = ChannelType::Dm;
    world.set_access();
    assert!(world.sent().is_empty());
}

/// These channels; a repair failed, and then `c`, which was only restored, was confirmed.
fn confirmed_after_a_failure(channels: &[&str]) -> World {
    let mut world = World::new(channels);
    world.access.get_mut(&channel("c")).unwrap().confirmed = false;
    world.set_access();
    world.begin(1);
    let (id, ..) = world.batch();
    world.fail(id);
    world.access.get_mut(&channel("c")).unwrap().confirmed = true;
    world.set_access();
    world
}

/// `unread.md` 3.5: a channel that was only restored and is confirmed after a repair failed is read. Where that reads some of the channels,
/// it makes no failure good.
#[test]
fn a_confirmed_roster_repairs_what_was_restored() {
    let mut world = confirmed_after_a_failure(&["c", "d"]);
    let (id, count, _) = world.batch();
    assert_eq!(count, 1);
    assert_eq!(world.unread.ensure(Ticket(2)), Some(Err(LOST)), "that makes no failure good");
    world.answer(id, &[]);
    assert!(world.sent().is_empty());
    assert_eq!(world.channel("c").error, Some(LOST));
}

/// R8c: where it reads all of them, it is the retry that `ensure` may join, and makes the failure good.
#[test]
fn a_confirmed_roster_retries_a_failed_repair() {
    let mut world = confirmed_after_a_failure(&["c"]);
    let (id, ..) = world.batch();
    assert_eq!(world.unread.ensure(Ticket(2)), None, "joins what runs");
    world.answer(id, &[]);
    assert_eq!(world.done(), vec![(1, Err(LOST)), (2, Ok(()))]);
    assert_eq!(world.channel("c").error, None);
}

#[test]
fn an_empty_roster_is_repaired_at_once() {
    let mut world = World::new(&[]);
    world.begin(1);
    assert_eq!(world.done(), vec![(1, Ok(()))]);
    assert_eq!(world.unread.evidence().freshness(), Freshness::Observed);
}

#[test]
fn a_lost_connection_fails_the_attempt_and_the_next_one_reads_again() {
    let (mut world, _) = roster(1);
    world.with(|unread, _, out| unread.connected(out));
    assert_eq!(world.unread.take_markers_wanted(), None, "nothing was ever asked for");
    world.begin(1);
    let (id, ..) = world.batch();
    world.with(|unread, _, out| unread.disconnected(out));
    assert_eq!(world.done(), vec![(1, Err(Error::Network { why: NetworkFailure::Lost }))]);
    assert!(!world.answer(id, &[]));
    world.with(|unread, _, out| unread.connected(out));
    assert_eq!(world.unread.take_markers_wanted(), Some(Priority::Background));
    assert_eq!(world.unread.ensure(Ticket(2)), None, "joins what is coming");
    world.with(|unread, _, out| unread.markers_loaded(out));
    let (id, ..) = world.batch();
    world.answer(id, &[]);
    assert_eq!(world.done(), vec![(2, Ok(()))]);
    assert_eq!(world.channel("c0").error, None);
}

/// One full repair of one channel with this answer, then a reconnect: the next `since`.
fn since_after(events: &[SharedEvent]) -> Option<u64> {
    let (mut world, _) = roster(1);
    world.begin(1);
    let (id, ..) = world.batch();
    world.answer(id, &events.iter().collect::<Vec<_>>());
    world.reconnect();
    world.batch().2
}

fn rows(count: u64, newest: u64) -> Vec<SharedEvent> {
    (0..count).map(|back| say("ada", "c0", newest - back).sign()).collect()
}

/// Rows 3.21, 3.22, 3.24, and a full page.
#[test]
fn rows_3_21_to_3_24_bounded_reads() {
    assert_eq!(since_after(&rows(40, 50_000)), Some(50_000 - 960), "3.21");
    assert_eq!(since_after(&rows(3, NOW + 5_000)), Some(NOW - 960), "3.22");
    assert_eq!(since_after(&[]), None, "an empty read installs none");
    assert_eq!(since_after(&rows(499, 50_000)), Some(50_000 - 960));
    assert_eq!(since_after(&rows(500, 50_000)), None, "a full read may have cut something off");
    let with_aux: Vec<_> = rows(1, 50_000).into_iter().chain([say("ada", "c0", 60_000).kind(5).sign()]).collect();
    assert_eq!(since_after(&with_aux), Some(50_000 - 960), "auxiliary events are no rows");
}

#[test]
fn row_3_24_marks_outlive_empty_and_failed_reads() {
    let (mut world, _) = roster(1);
    world.begin(1);
    let (id, ..) = world.batch();
    world.answer(id, &rows(2, 50_000).iter().collect::<Vec<_>>());
    world.reconnect();
    let (id, _, since) = world.batch();
    assert_eq!(since, Some(49_040));
    world.answer(id, &[]);
    world.reconnect();
    let (id, _, since) = world.batch();
    assert_eq!(since, Some(49_040), "3.24");
    world.fail(id);
    world.reconnect();
    let (id, _, since) = world.batch();
    assert_eq!(since, Some(49_040), "R13: a failed read keeps its mark");
    world.answer(id, &rows(500, 60_000).iter().collect::<Vec<_>>());
    world.reconnect();
    assert_eq!(world.batch().2, None, "a full read drops it");
}

/// Rejected rows used up the relay's limit too.
#[test]
fn damaged_rows_make_a_page_full() {
    let (mut world, _) = roster(1);
    world.begin(1);
    let (id, ..) = world.batch();
    let batch = crate::event::Batch {
        events: rows(499, 50_000),
        rejected: vec![Rejected { kind: Some(9), reason: RejectReason::Signature }],
    };
    world.with(|unread, ctx, out| unread.on_answer(id, Ok(Answer::Events(batch)), ctx, out));
    world.reconnect();
    assert_eq!(world.batch().2, None);
}

/// Row 3.25.
#[test]
fn row_3_25_refresh_waits_and_then_reads_in_full() {
    let (mut world, _) = roster(1);
    world.begin(1);
    let (id, ..) = world.batch();
    world.unread.refresh(Ticket(2));
    assert!(world.sent().is_empty());
    world.answer(id, &rows(2, 50_000).iter().collect::<Vec<_>>());
    assert_eq!(world.done(), vec![(1, Ok(()))]);
    world.markers();
    let (id, _, since) = world.batch();
    assert_eq!(since, None, "the first installed no mark");
    world.answer(id, &rows(2, 50_000).iter().collect::<Vec<_>>());
    assert_eq!(world.done(), vec![(2, Ok(()))]);
    world.reconnect();
    assert_eq!(world.batch().2, Some(49_040));
}

/// Rows 3.1, 3.4 and 3.5: overflow in the repair's own answer stops it; refresh counts anew.
#[test]
fn rows_3_1_3_4_and_3_5_overflow_stops_a_repair() {
    let (mut world, _) = roster(129);
    let held: Vec<_> = (0..limits::EVIDENCE_EVENTS as u64).map(|at| say("ada", "c0", at + 1).sign()).collect();
    world.begin(1);
    let (id, ..) = world.batch();
    world.unread.intake(
        &held,
        &super::super::Context { now: crate::clock::Millis(0), server: NOW, marks: &super::super::NoMarks },
    );
    assert_eq!(world.counts("c0"), Some((4_096, 0)));
    world.answer(id, &[&say("bo", "c1", 10).sign()]);
    assert!(world.sent().is_empty(), "3.5: the second batch is never sent");
    assert_eq!(world.done(), vec![(1, Err(Error::Capacity { what: "message evidence" }))]);
    let snapshot = world.channel("c0");
    assert_eq!((snapshot.observed, snapshot.freshness), (None, Freshness::Stale));
    assert_eq!(world.unread.ensure(Ticket(2)).unwrap().unwrap_err().code(), "capacity");
    world.unread.refresh(Ticket(3));
    world.markers();
    for events in [vec![say("bo", "c1", 10).sign()], vec![]] {
        let (id, ..) = world.batch();
        world.answer(id, &events.iter().collect::<Vec<_>>());
    }
    assert_eq!(world.done(), vec![(3, Ok(()))]);
    assert_eq!((world.channel("c0").error, world.counts("c1")), (None, Some((1, 0))), "3.4");
}

/// Seed: a repair in flight while live events overflow installs no mark and leaves the error.
#[test]
fn live_overflow_spoils_a_running_repair() {
    let (mut world, _) = roster(1);
    world.begin(1);
    let (id, ..) = world.batch();
    let large = "x".repeat(250_000);
    let events: Vec<_> = (0..40).map(|at| say("ada", "c0", at).text(&large).sign()).collect();
    world.intake(&events.iter().collect::<Vec<_>>());
    world.answer(id, &rows(1, 50_000).iter().collect::<Vec<_>>());
    assert_eq!(world.done()[0].1.as_ref().unwrap_err().code(), "capacity");
    assert_eq!(world.counts("c0"), Some((1, 0)), "what arrived counts");
    assert!(world.channel("c0").error.is_some());
    world.reconnect();
    assert_eq!(world.batch().2, None);
}

/// Marks are forgotten with every access change, so they stay few.
#[test]
fn access_changes_forget_marks() {
    let (mut world, _) = roster(2);
    world.begin(1);
    let (id, ..) = world.batch();
    world.answer(id, &[&say("ada", "c0", 5_000).sign()]);
    assert_eq!(world.unread.repair().marks(), 1);
    world.access.insert(channel("new"), member(ChannelType::Stream));
    world.set_access();
    assert_eq!(world.unread.repair().marks(), 0);
}
