//! One open timeline and its reads.
//!
//! At most one page is under way. The *head* read is the first of a connection: a channel's newest page, or a thread's next one
//! after the last reply held. It is sent on opening and on every new connection, and repeats itself after a failure. *Older*
//! reads are asked for. A refused page is asked for once more in silence; then the calls that wait fail and nothing has changed
//! (R5). What a page brings is applied in [`super::apply`].

use std::collections::BTreeSet;

use super::chain::{Chains, Next};
use super::changes::{Changes, backoff};
use super::page::{plain_filter, window_filter};
use super::thread::Thread;
use super::{CallToken, Changed, Opening, Shared, TimelineKey};
use crate::clock::Millis;
use crate::error::{Error, NetworkFailure, Refusal};
use crate::event::kept::KeptPage;
use crate::event::{FoldFacts, SharedEvent, kinds};
use crate::ids::EventId;
use crate::limits;
use crate::model::More;
use crate::order::RowKey;
use crate::request::{Answer, Outbox, Outcome, Priority, Purpose, Request, RequestError, RequestId};

/// Rows of a timeline, by its sort.
pub(super) enum Body {
    /// A channel.
    Channel(Chains),
    /// A thread under this root.
    Thread(Thread, EventId),
}

/// Which page is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// The first of this connection.
    Head,
    /// The next older one; of a thread, the next.
    Older,
}

/// A page read under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    id: RequestId,
    pub(super) what: What,
    /// Without extensions (R5).
    pub(super) plain: bool,
    /// Asked once more after a refused page.
    retried: bool,
    pub(super) cursor: Option<RowKey>,
    /// Arrivals before it was sent: a summary that came live since is newer than the page's.
    pub(super) sent_at: u64,
}

/// What is to be done after an answer.
pub(super) enum Then {
    /// The page was taken, the read is over.
    Done,
    /// The page was taken, but calls wait for more: read the next.
    GoOn,
    /// The chain was dropped: start again at the head, after which waiting calls are done.
    Restart,
    /// The relay knows no windows; ask plainly.
    Plain,
    /// Nothing was taken; the page is refused.
    Refuse(&'static str),
}

/// One open timeline.
pub(super) struct Timeline {
    pub(super) key: TimelineKey,
    pub(super) limit: u32,
    pub(super) body: Body,
    /// Rows that show, newest first, a thread's root last.
    pub(super) order: Vec<RowKey>,
    pub(super) changes: Changes,
    pub(super) plain_pages: u32,
    reading: Option<Reading>,
    restarting: bool,
    open_calls: Vec<CallToken>,
    older_calls: Vec<CallToken>,
    restore: Restore,
    opening: Opening,
    fails: u32,
    wake: Option<Millis>,
    /// The head was read once more because nothing at all was answered.
    looked_again: bool,
    error: Option<Error>,
    denied: bool,
    touched: BTreeSet<EventId>,
    dirty: bool,
    unsaved: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Restore {
    /// The engine has to be asked.
    Wanted,
    /// It was asked.
    Asked,
    /// It has answered.
    Done,
}

impl Timeline {
    pub(super) fn new(key: TimelineKey, limit: Option<u32>) -> Self {
        let (body, standard, most) = match key.root {
            None => (Body::Channel(Chains::default()), limits::PAGE_ROWS, limits::PAGE_ROWS_MAX),
            Some(root) => (Body::Thread(Thread::default(), root), limits::THREAD_ROWS, limits::THREAD_ROWS_MAX),
        };
        Self {
            key,
            limit: limit.unwrap_or(standard).clamp(1, most),
            body,
            order: Vec::new(),
            changes: Changes::default(),
            plain_pages: 0,
            reading: None,
            restarting: false,
            open_calls: Vec::new(),
            older_calls: Vec::new(),
            restore: Restore::Wanted,
            opening: Opening::Under,
            fails: 0,
            wake: None,
            looked_again: false,
            error: None,
            denied: false,
            touched: BTreeSet::new(),
            dirty: true,
            unsaved: false,
        }
    }

    pub(super) fn open(&mut self, token: CallToken, shared: &mut Shared, out: &mut Outbox) {
        if self.denied {
            shared.done.push((token, Err(Error::Denied)));
        } else if self.is_fresh() || (shared.connection.is_none() && self.restore == Restore::Done) {
            shared.done.push((token, Ok(())));
        } else if self.open_calls.len() >= limits::TIMELINE_CALLS {
            shared.done.push((token, Err(Error::Busy { what: "timeline" })));
        } else {
            self.open_calls.push(token);
            self.read_head(shared, out);
        }
    }

    pub(super) fn load_older(&mut self, token: CallToken, shared: &mut Shared, out: &mut Outbox) {
        if self.denied {
            shared.done.push((token, Err(Error::Denied)));
        } else if self.older_calls.len() >= limits::TIMELINE_CALLS {
            shared.done.push((token, Err(Error::Busy { what: "timeline" })));
        } else if self.rows_held() >= limits::TIMELINE_ROWS {
            shared.done.push((token, Err(Error::Capacity { what: "rows of a timeline" })));
        } else {
            self.older_calls.push(token);
            self.read_older(shared, out);
        }
    }

    fn rows_held(&self) -> usize {
        match &self.body {
            Body::Channel(chains) => chains.len(),
            Body::Thread(thread, _) => thread.len(),
        }
    }

    /// Sends the head read, if there is a connection and nothing is under way.
    fn read_head(&mut self, shared: &mut Shared, out: &mut Outbox) {
        self.wake = None;
        self.send(What::Head, None, shared, out);
    }

    /// Does what waiting `load_older` calls ask for. They stay waiting while a page is under way.
    fn read_older(&mut self, shared: &mut Shared, out: &mut Outbox) {
        if self.reading.is_some() || self.older_calls.is_empty() {
            return;
        }
        if shared.connection.is_none() {
            if self.restore == Restore::Done {
                let result = self.older_from_cache(shared);
                shared.done(&mut self.older_calls, &result);
            }
            return;
        }
        if !self.is_fresh() {
            self.read_head(shared, out);
            return;
        }
        let next = match &mut self.body {
            Body::Thread(thread, _) => (thread.more() != More::No).then_some(None),
            Body::Channel(chains) => match chains.next() {
                Some(Next::End) if !chains.has_older_chains() => None,
                Some(Next::Cursor(c) | Next::Plain(Some(c))) => Some(Some(c)),
                Some(Next::Kept) => {
                    let result = self.older_from_cache(shared);
                    self.changes.send(self.key.channel, out);
                    shared.done(&mut self.older_calls, &result);
                    return;
                }
                Some(Next::End | Next::Plain(None)) | None => Some(None),
            },
        };
        match next {
            None => shared.done(&mut self.older_calls, &Ok(())),
            Some(cursor) => self.send(What::Older, cursor, shared, out),
        }
    }

    fn older_from_cache(&mut self, shared: &Shared) -> Result<(), Error> {
        let more = self.more();
        let Body::Channel(chains) = &mut self.body else {
            return if more == More::No { Ok(()) } else { Err(offline()) };
        };
        if let Some(rows) = chains.reveal() {
            if shared.connection.is_some() {
                // The head's page reached these rows without reading them: what changed them meanwhile is asked for.
                self.changes.want(rows.iter().map(|key| key.id));
            }
            self.reorder(shared);
            return Ok(());
        }
        if more == More::No { Ok(()) } else { Err(offline()) }
    }

    fn send(&mut self, what: What, cursor: Option<RowKey>, shared: &mut Shared, out: &mut Outbox) {
        if shared.connection.is_none() || self.reading.is_some() || self.denied {
            return;
        }
        let plain = shared.degraded || shared.signer().is_none();
        self.plain_pages = 0;
        self.dirty = true;
        self.ask(Reading { id: RequestId(0), what, plain, retried: false, cursor, sent_at: 0 }, shared, out);
    }

    fn ask(&mut self, mut reading: Reading, shared: &mut Shared, out: &mut Outbox) {
        let channel = self.key.channel;
        let (purpose, filter) = match &mut self.body {
            Body::Thread(thread, root) => {
                if reading.plain && shared.degraded {
                    thread.go_plain();
                }
                (Purpose::Thread, thread.filter(channel, *root, self.limit))
            }
            Body::Channel(_) => {
                let make = if reading.plain { plain_filter } else { window_filter };
                let purpose = if reading.what == What::Head { Purpose::Head } else { Purpose::Older };
                (purpose, make(channel, self.limit, reading.cursor))
            }
        };
        reading.sent_at = shared.counts.now();
        reading.id = out.send(Request::query(purpose, Priority::Foreground, vec![filter]));
        self.reading = Some(reading);
    }

    /// Whether the answer under `id` is waited for.
    pub(super) fn waits_for(&self, id: RequestId) -> bool {
        self.reading.is_some_and(|r| r.id == id) || self.changes.is_mine(id)
    }

    /// Takes the answer that was waited for. Returns rows that look different.
    pub(super) fn answered(
        &mut self,
        id: RequestId,
        outcome: &Outcome,
        facts: &dyn FoldFacts,
        now: Millis,
        shared: &mut Shared,
        out: &mut Outbox,
    ) -> Vec<EventId> {
        if self.changes.is_mine(id) {
            return match outcome {
                Ok(Answer::Events(batch)) => self.take_changes(batch, facts, shared, out),
                _ => {
                    self.changes.failed(now);
                    Vec::new()
                }
            };
        }
        let Some(reading) = self.reading.take() else { return Vec::new() };
        self.dirty = true;
        let mut touched = Vec::new();
        let then = match outcome {
            Ok(Answer::Events(batch)) => self.take_page(&reading, batch, facts, shared, &mut touched),
            Ok(_) => Then::Refuse("an answer of another sort"),
            Err(error) if !reading.plain && is_unsupported(error) => {
                match &mut self.body {
                    Body::Thread(thread, _) => thread.go_plain(),
                    Body::Channel(_) => shared.degraded = true,
                }
                Then::Plain
            }
            Err(error) => {
                self.fail(&reading, error.clone().into(), now, shared);
                return touched;
            }
        };
        self.carry_on(reading, then, now, shared, out);
        self.changes.send(self.key.channel, out);
        touched
    }

    fn carry_on(&mut self, reading: Reading, then: Then, now: Millis, shared: &mut Shared, out: &mut Outbox) {
        match then {
            Then::Done => {
                self.succeed(&reading, shared);
                if reading.plain && !shared.degraded && self.order.is_empty() && !self.looked_again {
                    // Right after joining a relay may answer nothing for some seconds (`protocol.md` 1.7).
                    self.looked_again = true;
                    self.wake = Some(now.plus(limits::SECOND_LOOK_MS));
                }
                self.read_older(shared, out);
            }
            Then::GoOn => {
                let cursor = match &self.body {
                    Body::Channel(chains) => chains.next().and_then(|n| match n {
                        Next::Plain(cursor) => cursor,
                        _ => None,
                    }),
                    Body::Thread(..) => None,
                };
                self.ask(Reading { what: What::Older, cursor, ..reading }, shared, out);
            }
            Then::Restart => {
                self.restarting = true;
                self.read_head(shared, out);
            }
            Then::Plain => self.ask(Reading { plain: true, ..reading }, shared, out),
            Then::Refuse(_) if !reading.retried => self.ask(Reading { retried: true, ..reading }, shared, out),
            Then::Refuse(why) => self.fail(&reading, Error::InvalidAnswer { why }, now, shared),
        }
    }

    fn succeed(&mut self, reading: &Reading, shared: &mut Shared) {
        self.fails = 0;
        self.error = None;
        self.opening = Opening::Done;
        shared.done(&mut self.open_calls, &Ok(()));
        if reading.what == What::Older || std::mem::take(&mut self.restarting) {
            shared.done(&mut self.older_calls, &Ok(()));
        }
    }

    /// The read failed for good: what waits for it fails; a head read is tried again by itself.
    fn fail(&mut self, reading: &Reading, error: Error, now: Millis, shared: &mut Shared) {
        let result = Err(error.clone());
        self.restarting = false;
        shared.done(&mut self.older_calls, &result);
        shared.done(&mut self.open_calls, &result);
        if reading.what == What::Head {
            let named = match &error {
                Error::RelayRefused { retry_after: Some(s), .. } => u64::from(*s).saturating_mul(1_000),
                _ => 0,
            };
            self.wake = Some(now.plus(backoff(self.fails).max(named)));
            self.fails = self.fails.saturating_add(1);
            self.error = Some(error);
            if self.restore == Restore::Done && self.opening == Opening::Under {
                self.opening = Opening::Done;
            }
        }
    }

    pub(super) fn connected(&mut self, shared: &mut Shared, out: &mut Outbox) {
        if self.reading.take().is_some() {
            // The engine reports every loss before a new connection; should it not, the old answer is not waited for.
            self.disconnected(shared, out);
        }
        self.fails = 0;
        self.looked_again = false;
        self.read_head(shared, out);
    }

    pub(super) fn disconnected(&mut self, shared: &mut Shared, out: &mut Outbox) {
        self.stop_reading(out);
        match &mut self.body {
            Body::Channel(chains) => chains.disconnected(),
            Body::Thread(thread, _) => thread.disconnected(),
        }
        let lost = Err(Error::Network { why: NetworkFailure::Lost });
        shared.done(&mut self.older_calls, &lost);
        if self.restore == Restore::Done {
            self.opened_offline(shared);
        }
        self.dirty = true;
        self.reorder(shared);
    }

    /// An open call without a connection is done once the cache has answered.
    fn opened_offline(&mut self, shared: &mut Shared) {
        if self.opening == Opening::Under {
            self.opening = Opening::Offline;
        }
        shared.done(&mut self.open_calls, &Ok(()));
    }

    fn stop_reading(&mut self, out: &mut Outbox) {
        if let Some(reading) = self.reading.take() {
            out.cancel(reading.id);
        }
        self.changes.disconnected(out);
        self.restarting = false;
        self.wake = None;
    }

    /// Ends every call with `error`, and what is under way.
    pub(super) fn abandon(&mut self, error: &Error, shared: &mut Shared, out: &mut Outbox) {
        self.stop_reading(out);
        let result = Err(error.clone());
        shared.done(&mut self.open_calls, &result);
        shared.done(&mut self.older_calls, &result);
    }

    pub(super) fn denied(&mut self, shared: &mut Shared, out: &mut Outbox) {
        self.abandon(&Error::Denied, shared, out);
        match &mut self.body {
            Body::Channel(chains) => *chains = Chains::default(),
            Body::Thread(thread, _) => *thread = Thread::default(),
        }
        self.order.clear();
        self.denied = true;
        self.restore = Restore::Done;
        self.error = Some(Error::Denied);
        self.dirty = true;
        self.unsaved = false;
    }

    pub(super) fn granted(&mut self, shared: &mut Shared, out: &mut Outbox) {
        if std::mem::take(&mut self.denied) {
            self.error = None;
            self.dirty = true;
            self.read_head(shared, out);
        }
    }

    pub(super) fn take_restore(&mut self) -> Option<TimelineKey> {
        let wanted = self.restore == Restore::Wanted;
        if wanted {
            self.restore = Restore::Asked;
        }
        wanted.then_some(self.key)
    }

    pub(super) fn restored(
        &mut self,
        pages: Vec<KeptPage>,
        facts: &dyn FoldFacts,
        shared: &mut Shared,
        out: &mut Outbox,
    ) {
        if self.restore == Restore::Done {
            return;
        }
        self.restore = Restore::Done;
        self.take_kept(pages, facts, shared);
        self.dirty = true;
        if shared.connection.is_none() {
            self.opened_offline(shared);
            self.read_older(shared, out);
        }
    }

    pub(super) fn wake(&mut self, now: Millis, shared: &mut Shared, out: &mut Outbox) {
        if self.wake.is_some_and(|at| at <= now) {
            self.read_head(shared, out);
        }
        self.changes.wake(now, self.key.channel, out);
    }

    pub(super) fn next_wake(&self) -> Option<Millis> {
        self.wake.into_iter().chain(self.changes.next_wake()).min()
    }

    /// Takes a live row of the channel.
    pub(super) fn live(&mut self, event: &SharedEvent, facts: &dyn FoldFacts, shared: &mut Shared) {
        let key = event.key();
        let shows = match &mut self.body {
            _ if self.denied => return,
            Body::Channel(chains) => {
                let row_mode = chains.row_mode().unwrap_or(shared.row_mode());
                if !(row_mode || shared.is_top_level(event)) || !chains.live(key) {
                    return;
                }
                chains.shows(&key)
            }
            Body::Thread(_, root) if event.id == *root => {
                shared.fold.hold(event, facts, shared.epoch);
                self.reorder(shared);
                return;
            }
            Body::Thread(thread, root) => {
                let Some(reference) = event.reference else { return };
                let held = |id: &EventId| shared.fold.get(id).is_some_and(|e| thread.holds(&e.key()));
                if reference.root != *root && !held(&reference.root) && !held(&reference.parent) {
                    return;
                }
                if !thread.live(key) {
                    return;
                }
                true
            }
        };
        shared.fold.hold(event, facts, shared.epoch);
        self.unsaved = true;
        if shows && !shared.fold.is_deleted(&event.id) {
            self.insert(key);
        }
        if self.rows_held() > limits::TIMELINE_ROWS
            && let Body::Channel(chains) = &mut self.body
        {
            chains.shrink();
            self.reorder(shared);
        }
    }

    fn insert(&mut self, key: RowKey) {
        let rows = match (self.key.root, self.order.last()) {
            (Some(root), Some(last)) if last.id == root => self.order.len() - 1,
            _ => self.order.len(),
        };
        if let Some(Err(at)) = self.order.get(..rows).map(|rows| rows.binary_search(&key)) {
            self.order.insert(at, key);
            self.dirty = true;
        }
    }

    /// Puts the rows that show into order again.
    pub(super) fn reorder(&mut self, shared: &Shared) {
        let mut order = match &self.body {
            Body::Channel(chains) => chains.shown(),
            Body::Thread(thread, _) => thread.shown(),
        };
        order.retain(|key| !shared.fold.is_deleted(&key.id));
        if let Some(root) = self.key.root
            && let Some(row) = shared.fold.get(&root)
            && row.channel() == Some(self.key.channel)
            && !shared.fold.is_deleted(&root)
        {
            order.retain(|key| key.id != root);
            order.push(row.key());
        }
        if order != self.order {
            self.order = order;
            self.dirty = true;
        }
    }

    /// A row changed; if it shows here, it looks different, or is gone.
    pub(super) fn touch(&mut self, key: &RowKey, deleted: bool) {
        let at = match self.order.binary_search(key) {
            Ok(at) => at,
            Err(_) if self.key.root == Some(key.id) && self.order.last() == Some(key) => self.order.len() - 1,
            Err(_) => return,
        };
        if deleted {
            self.order.remove(at);
        } else {
            self.touched.insert(key.id);
        }
        self.dirty = true;
        self.unsaved = true;
    }

    /// The rows held have changed: the order is made again, the cache has something new.
    pub(super) fn rows_changed(&mut self, shared: &Shared) {
        self.unsaved = true;
        self.reorder(shared);
    }

    pub(super) fn take_changed(&mut self) -> Option<Changed> {
        std::mem::take(&mut self.dirty).then(|| Changed { key: self.key, touched: std::mem::take(&mut self.touched) })
    }

    /// Ids of everything this timeline needs held.
    pub(super) fn held(&self) -> impl Iterator<Item = EventId> {
        let keys: Vec<EventId> = match &self.body {
            Body::Channel(chains) => chains.keys().map(|k| k.id).collect(),
            Body::Thread(thread, root) => thread.keys().map(|k| k.id).chain([*root]).collect(),
        };
        keys.into_iter()
    }

    pub(super) fn key(&self) -> TimelineKey {
        self.key
    }

    pub(super) fn order(&self) -> &[RowKey] {
        &self.order
    }

    pub(super) fn is_fresh(&self) -> bool {
        match &self.body {
            Body::Channel(chains) => chains.is_fresh(),
            Body::Thread(thread, _) => thread.is_fresh(),
        }
    }

    pub(super) fn is_unsaved(&self) -> bool {
        self.unsaved
    }

    pub(super) fn saved(&mut self) {
        self.unsaved = false;
    }

    pub(super) fn more(&self) -> More {
        match &self.body {
            Body::Channel(chains) => chains.more(),
            Body::Thread(thread, _) => thread.more(),
        }
    }

    pub(super) fn gap(&self) -> Option<usize> {
        let below = match &self.body {
            Body::Channel(chains) => chains.gap(),
            Body::Thread(thread, _) => thread.gap(),
        }?;
        let root = usize::from(self.key.root.is_some() && self.order.last().map(|k| k.id) == self.key.root);
        let rows = self.order.len() - root;
        let above = self.order.get(..rows).map_or(0, |rows| rows.partition_point(|key| *key < below));
        Some(self.order.len() - above)
    }

    pub(super) fn loading(&self) -> bool {
        self.reading.is_some()
    }

    pub(super) fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    pub(super) fn opening(&self) -> Opening {
        self.opening
    }
}

fn offline() -> Error {
    Error::Network { why: NetworkFailure::Offline }
}

/// Whether the relay says that it does not know the filter (R5).
fn is_unsupported(error: &RequestError) -> bool {
    matches!(error, RequestError::Refused { why: Refusal::Invalid, .. })
}

/// Whether the kind is one that a thread's root or a row can have.
pub(super) fn is_row_of(event: &SharedEvent, key: &TimelineKey) -> bool {
    kinds::is_row(event.kind) && event.channel() == Some(key.channel)
}
