//! The look-up machine: one batch of parents of one channel at a time (`unread.md` 4.3, 4.6).
//!
//! Two background reads in parallel under one deadline: the missing parents and roots by id, and the viewer's messages that name
//! them. A full page of the latter is cut by the relay, so it decides nothing: with several parents it is dropped and each half is
//! asked; with one it is paged back until something decides, nothing moves, or [`limits::LOOKUP_PAGES`] were read.
//!
//! Invariants: at most two requests are out, never two for one parent; a failed attempt puts back what it had not decided and
//! waits 1 s doubling to 60 s; an abandoned one puts it back without waiting.

use std::collections::{BTreeSet, HashSet};

use super::lookups::{Asked, LookupKey};
use super::structure::Structure;
use crate::clock::Millis;
use crate::event::{Batch, SharedEvent, kinds};
use crate::ids::{ChannelId, EventId, PublicKey};
use crate::limits;
use crate::request::{Answer, Filter, Outbox, Outcome, Priority, Purpose, Request, RequestId};

/// Parents asked together in one page sequence.
#[derive(Default)]
struct Group {
    parents: Vec<Asked>,
    rows: Vec<Structure>,
    until: Option<u64>,
    pages: u32,
}

struct Flight {
    channel: ChannelId,
    /// All keys of the batch, in the order they were queued.
    keys: Vec<LookupKey>,
    structural: Vec<Asked>,
    /// What was asked for by id; anything else in the answer is not wanted.
    missing: BTreeSet<EventId>,
    ids: Option<RequestId>,
    page: Option<RequestId>,
    answer: Option<Batch>,
    group: Option<Group>,
    rest: Vec<Group>,
}

/// What an answer brought.
#[derive(Default)]
pub(super) struct Progress {
    /// Parents and roots fetched by id.
    pub(super) fetched: Vec<SharedEvent>,
    /// Structural look-ups that are over.
    pub(super) structural: Vec<Asked>,
    /// Parents that can be decided, with the viewer's messages found for them.
    pub(super) decided: Vec<(Vec<Asked>, Vec<Structure>)>,
    /// To be put back.
    pub(super) returned: Vec<LookupKey>,
}

#[derive(Default)]
pub(super) struct Fetch {
    flight: Option<Flight>,
    failures: u32,
    retry_at: Option<Millis>,
}

impl Fetch {
    pub(super) fn is_idle(&self) -> bool {
        self.flight.is_none()
    }

    /// When the machine wants to go on after a failure.
    pub(super) fn retry_at(&self) -> Option<Millis> {
        self.retry_at
    }

    /// Whether a new batch may start now.
    pub(super) fn is_ready(&mut self, now: Millis) -> bool {
        if self.retry_at.is_some_and(|at| now >= at) {
            self.retry_at = None;
        }
        self.flight.is_none() && self.retry_at.is_none()
    }

    /// Sends both reads. `missing`: ids to fetch, without those held.
    pub(super) fn start(
        &mut self,
        channel: ChannelId,
        asked: Vec<Asked>,
        missing: BTreeSet<EventId>,
        viewer: &PublicKey,
        out: &mut Outbox,
    ) {
        let keys = asked.iter().map(|a| a.key).collect();
        let (structural, parents): (Vec<_>, Vec<_>) = asked.into_iter().partition(|a| a.key.structure);
        let group = (!parents.is_empty()).then(|| Group { parents, ..Group::default() });
        let ids = (!missing.is_empty()).then(|| out.send(by_id(&missing)));
        let page = group.as_ref().map(|group| out.send(replies(channel, group, viewer)));
        let (answer, rest) = (None, Vec::new());
        self.flight = Some(Flight { channel, keys, structural, missing, ids, page, answer, group, rest });
    }

    /// Whether the request is of the batch in flight.
    pub(super) fn owns(&self, id: RequestId) -> bool {
        self.flight.as_ref().is_some_and(|f| f.ids == Some(id) || f.page == Some(id))
    }

    /// Gives up the batch in flight without blame: access or connection changed. Its keys.
    pub(super) fn abandon(&mut self, out: &mut Outbox) -> Vec<LookupKey> {
        let Some(flight) = self.flight.take() else { return Vec::new() };
        for id in flight.ids.into_iter().chain(flight.page) {
            out.cancel(id);
        }
        flight.keys
    }

    /// Forgets failures too.
    pub(super) fn reset(&mut self, out: &mut Outbox) {
        self.abandon(out);
        *self = Self::default();
    }

    /// Nothing had to be asked, or an answer arrived: goes as far as it can.
    pub(super) fn answered(
        &mut self,
        answer: Option<(RequestId, Outcome)>,
        now: Millis,
        viewer: &PublicKey,
        out: &mut Outbox,
    ) -> Progress {
        let mut progress = Progress::default();
        let Some(flight) = &mut self.flight else { return progress };
        if let Some((id, outcome)) = answer {
            let Ok(Answer::Events(batch)) = outcome else { return self.fail(id, now, out) };
            if flight.ids == Some(id) {
                flight.ids = None;
                progress.fetched = live_rows(&batch, flight.channel);
                progress.fetched.retain(|event| flight.missing.contains(&event.id));
            } else {
                flight.page = None;
                flight.answer = Some(batch);
            }
        }
        // Parents and roots come first: the viewer's own are the witnesses.
        if flight.ids.is_some() {
            return progress;
        }
        progress.structural = std::mem::take(&mut flight.structural);
        if let Some(batch) = flight.answer.take() {
            flight.take_page(&batch, viewer, &mut progress);
        }
        if flight.page.is_none() {
            match &flight.group {
                Some(group) => flight.page = Some(out.send(replies(flight.channel, group, viewer))),
                None => {
                    self.flight = None;
                    self.failures = 0;
                }
            }
        }
        progress
    }

    fn fail(&mut self, failed: RequestId, now: Millis, out: &mut Outbox) -> Progress {
        if let Some(flight) = &mut self.flight {
            flight.ids = flight.ids.filter(|id| *id != failed);
            flight.page = flight.page.filter(|id| *id != failed);
        }
        let (first, longest) = limits::LOOKUP_RETRY_MS;
        let wait = first.saturating_mul(1 << self.failures.min(16)).min(longest);
        self.failures = self.failures.saturating_add(1);
        self.retry_at = Some(now.plus(wait));
        Progress { returned: self.abandon(out), ..Progress::default() }
    }
}

impl Flight {
    fn take_page(&mut self, batch: &Batch, viewer: &PublicKey, progress: &mut Progress) {
        let Some(mut group) = self.group.take() else { return };
        let damaged = batch.rejected.iter().filter(|r| r.kind.is_none_or(kinds::is_content)).count();
        let content = batch.events.iter().filter(|e| kinds::is_content(e.kind));
        let oldest = content.clone().map(|e| e.created_at).min();
        let is_full = content.count() + damaged >= limits::LOOKUP_ROWS as usize;
        if is_full && group.parents.len() > 1 {
            let second = group.parents.split_off(group.parents.len().div_ceil(2));
            self.rest.push(Group { parents: second, ..Group::default() });
            self.group = Some(Group { parents: group.parents, ..Group::default() });
            return;
        }
        let rows = live_rows(batch, self.channel);
        group.rows.extend(rows.iter().filter(|row| row.pubkey == *viewer).filter_map(|row| Structure::of(row)));
        group.pages += 1;
        let decided = group.parents.iter().all(|asked| group.rows.iter().any(|row| asked.decided_by(row)));
        if is_full && !decided && group.pages < limits::LOOKUP_PAGES && oldest != group.until && oldest.is_some() {
            group.until = oldest;
            self.group = Some(group);
            return;
        }
        progress.decided.push((group.parents, group.rows));
        self.group = self.rest.pop();
    }
}

/// Messages of the channel that are not deleted by their own author in the same answer (`unread.md` 4.3).
fn live_rows(batch: &Batch, channel: ChannelId) -> Vec<SharedEvent> {
    let deletions = batch.events.iter().filter(|e| kinds::is_deletion(e.kind));
    let deleted: HashSet<_> = deletions.flat_map(|d| d.e_targets().map(|id| (d.pubkey, id))).collect();
    let is_live = |event: &&SharedEvent| {
        kinds::is_content(event.kind)
            && event.channel() == Some(channel)
            && !deleted.contains(&(event.pubkey, event.id))
    };
    batch.events.iter().filter(is_live).cloned().collect()
}

fn by_id(missing: &BTreeSet<EventId>) -> Request {
    let limit = u32::try_from(missing.len()).unwrap_or(u32::MAX);
    let filter =
        Filter { include_aux: true, ..Filter::kinds(&kinds::CONTENT).with_ids(missing.iter().copied()).limit(limit) };
    Request::query(Purpose::Lookup, Priority::Background, vec![filter])
}

fn replies(channel: ChannelId, group: &Group, viewer: &PublicKey) -> Request {
    let subjects: BTreeSet<_> = group.parents.iter().flat_map(|a| a.roots.iter().copied().chain([a.key.id])).collect();
    let filter = Filter { include_aux: true, until: group.until, ..Filter::kinds(&kinds::CONTENT) };
    let filter = filter.by(viewer).in_channels([channel]).about(subjects).limit(limits::LOOKUP_ROWS);
    Request::query(Purpose::Lookup, Priority::Background, vec![filter])
}
