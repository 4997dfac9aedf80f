//! How many replies a row has (R8; pitfalls B1).
//!
//! The relay's summary (39005) counts; the newest to arrive wins, whatever its `created_at`, and the count may go down. Added to
//! it are the viewer's own replies that came live after it and that it cannot contain yet: those dated after the summary's
//! `last_reply_at`, and of the others those for which the summary has no room, because the replies known before already make
//! up its count. A row without any summary has as many replies as are known here (R5: threaded on the device).
//!
//! Invariants: only direct replies count; a deleted reply counts nowhere; what is remembered is bounded by
//! [`limits::KNOWN_REPLIES_PER_ROW`] and [`limits::KNOWN_REPLIES`], and forgotten with the row.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use super::page::Summary;
use crate::event::{Event, SharedEvent};
use crate::ids::EventId;
use crate::limits;

/// A reply that is known to exist.
#[derive(Debug, Clone, Copy)]
struct Known {
    created_at: u64,
    /// The viewer's own, and heard live: it may be newer than the summary.
    own_live: bool,
    /// Place in the order of arrival, shared with summaries.
    arrival: u64,
}

#[derive(Debug, Default)]
struct Row {
    summary: Option<Counted>,
    replies: BTreeMap<EventId, Known>,
}

#[derive(Debug)]
struct Counted {
    count: u32,
    last_reply_at: Option<u64>,
    arrival: u64,
    /// The event, for the cache; none where a complete page said by silence that there are no replies.
    event: Option<SharedEvent>,
}

/// Reply counts of held rows.
#[derive(Debug, Default)]
pub(super) struct Counts {
    rows: HashMap<EventId, Row>,
    parent_of: HashMap<EventId, EventId>,
    arrivals: u64,
}

impl Counts {
    fn arrive(&mut self) -> u64 {
        self.arrivals += 1;
        self.arrivals
    }

    /// The last arrival so far.
    pub(super) fn now(&self) -> u64 {
        self.arrivals
    }

    fn arrived_since(&self, row: &EventId, then: u64) -> bool {
        self.rows.get(row).and_then(|r| r.summary.as_ref()).is_some_and(|s| s.arrival > then)
    }

    /// Takes in a believed summary of a page that was asked for at `then`. One that came live since is newer and stays.
    pub(super) fn summary_of_page(&mut self, summary: Summary, event: &SharedEvent, then: u64) {
        if !self.arrived_since(&summary.root, then) {
            self.summary(summary, event);
        }
    }

    /// Takes in a live summary that is already believed.
    pub(super) fn summary(&mut self, summary: Summary, event: &SharedEvent) {
        let arrival = self.arrive();
        self.rows.entry(summary.root).or_default().summary = Some(Counted {
            count: summary.count,
            last_reply_at: summary.last_reply_at,
            arrival,
            event: Some(event.clone()),
        });
    }

    /// A complete window page asked for at `then` had this row and no summary for it: it had no replies.
    pub(super) fn no_summary(&mut self, row: EventId, then: u64) {
        if self.arrived_since(&row, then) {
            return;
        }
        let arrival = self.arrive();
        self.rows.entry(row).or_default().summary =
            Some(Counted { count: 0, last_reply_at: None, arrival, event: None });
    }

    /// A reply is known to exist; its direct parent is a held row. `own_live`: the viewer's own, heard live. Returns whether it
    /// was new and could be remembered.
    pub(super) fn reply(&mut self, event: &Event, own_live: bool) -> bool {
        let Some(reference) = event.reference else { return false };
        if self.parent_of.len() >= limits::KNOWN_REPLIES || self.parent_of.contains_key(&event.id) {
            return false;
        }
        let arrival = self.arrive();
        let row = self.rows.entry(reference.parent).or_default();
        if row.replies.len() >= limits::KNOWN_REPLIES_PER_ROW {
            return false;
        }
        row.replies.insert(event.id, Known { created_at: event.created_at, own_live, arrival });
        self.parent_of.insert(event.id, reference.parent);
        true
    }

    /// The row whose count a reply is part of.
    pub(super) fn parent(&self, reply: &EventId) -> Option<&EventId> {
        self.parent_of.get(reply)
    }

    /// The newest summary event of the row, for the cache.
    pub(super) fn summary_event(&self, row: &EventId) -> Option<&SharedEvent> {
        self.rows.get(row)?.summary.as_ref()?.event.as_ref()
    }

    /// Replies to show on the row; `deleted` says which replies are gone.
    pub(super) fn shown(&self, row: &EventId, deleted: impl Fn(&EventId) -> bool) -> u32 {
        let Some(row) = self.rows.get(row) else { return 0 };
        let mut standing: Vec<&Known> = row.replies.iter().filter(|(id, _)| !deleted(id)).map(|(_, k)| k).collect();
        let Some(summary) = &row.summary else { return u32::try_from(standing.len()).unwrap_or(u32::MAX) };
        standing.sort_unstable_by_key(|k| k.arrival);
        let (mut shown, mut accounted) = (summary.count, 0u32);
        for known in standing {
            if known.arrival < summary.arrival {
                accounted = accounted.saturating_add(1);
                continue;
            }
            let later = summary.last_reply_at.is_none_or(|last| known.created_at > last);
            if known.own_live && (later || accounted >= summary.count) {
                shown = shown.saturating_add(1);
            } else {
                accounted = accounted.saturating_add(1);
            }
        }
        shown
    }

    /// Forgets rows for which `keep` says no, with their replies.
    pub(super) fn retain(&mut self, keep: impl Fn(&EventId) -> bool) {
        self.rows.retain(|row, _| keep(row));
        let rows = &self.rows;
        self.parent_of.retain(|_, parent| rows.contains_key(parent));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Author, channel, message, reply, template};

    struct Bench {
        counts: Counts,
        root: EventId,
        me: Author,
    }

    impl Bench {
        fn new() -> Self {
            let root = message(&Author::named("ada"), channel("general"), 1, "root").id;
            Self { counts: Counts::default(), root, me: Author::named("me") }
        }
        fn summary(&mut self, count: u32, last: u64) {
            let event = Author::named("relay").sign(template(39005, last, &[], ""));
            self.counts.summary(Summary { root: self.root, count, last_reply_at: Some(last) }, &event);
        }
        fn reply(&mut self, who: &str, at: u64, live: bool) -> EventId {
            let by = Author::named(who);
            let event = reply(&by, channel("general"), at, self.root, self.root);
            self.counts.reply(&event, live && by.key() == self.me.key());
            event.id
        }
        fn shown(&self) -> u32 {
            self.counts.shown(&self.root, |_| false)
        }
    }

    /// Pitfalls B1: the plain case, then the summary that contains it.
    #[test]
    fn an_own_reply_counts_until_the_summary_has_it() {
        let mut b = Bench::new();
        b.summary(2, 100);
        b.reply("me", 105, true);
        assert_eq!(b.shown(), 3);
        b.summary(3, 105);
        assert_eq!(b.shown(), 3);
        b.summary(2, 105);
        assert_eq!(b.shown(), 2, "it can go down");
    }

    /// Pitfalls B1: within one second, both orders.
    #[test]
    fn within_one_second_the_summarys_room_decides() {
        let mut b = Bench::new();
        b.reply("bo", 99, false);
        b.reply("cy", 100, false);
        b.summary(2, 100);
        b.reply("me", 100, true);
        assert_eq!(b.shown(), 3);
        let mut b = Bench::new();
        b.summary(3, 100);
        b.reply("me", 100, true);
        assert_eq!(b.shown(), 3, "the summary came first and contains it");
    }

    #[test]
    fn others_replies_wait_for_the_summary_and_deleted_ones_count_nowhere() {
        let mut b = Bench::new();
        b.summary(1, 100);
        b.reply("bo", 105, true);
        assert_eq!(b.shown(), 1);
        let own = b.reply("me", 106, true);
        assert_eq!(b.shown(), 2);
        assert_eq!(b.counts.shown(&b.root, |id| *id == own), 1);
    }

    #[test]
    fn without_a_summary_known_replies_count() {
        let mut b = Bench::new();
        b.reply("bo", 105, true);
        b.reply("cy", 106, false);
        assert_eq!(b.shown(), 2);
        b.counts.no_summary(b.root, b.counts.now());
        assert_eq!(b.shown(), 0);
        b.counts.retain(|_| false);
        assert!(b.counts.parent_of.is_empty());
    }
}
