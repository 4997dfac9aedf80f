//! Channel and thread paging: what is asked, which answer is believed, and which rows an open timeline shows.
//!
//! [`Windows`] holds the open timelines of one session. A channel timeline is chains of pages with live rows over them
//! ([`chain`]); a thread is pages of replies from the oldest on ([`thread`]). Rows of all timelines are held once, with what
//! changes them, in one [`Fold`]; reply counts are kept beside it ([`counts`]). [`page`] decides which answers are pages,
//! [`open`] drives one timeline through its reads.
//!
//! How the engine uses it: `open` and `load_older` return at once, their results come by [`Windows::take_done`]; what must be read
//! from the cache by [`Windows::take_restores`], answered with [`Windows::restored`]; which timelines look different by
//! [`Windows::take_changed`]. On a new connection the engine arms the live subscriptions first and then calls
//! [`Windows::on_connected`], which reads every open timeline again.
//!
//! Invariants: one page read under way per timeline; an answer counts only if it is the one waited for, so stale ones are
//! discarded by their id; a refused page changes nothing; no call waits for a network that is not there.

mod apply;
mod chain;
mod changes;
mod counts;
mod kept;
mod open;
mod page;
mod thread;

use std::collections::{BTreeMap, BTreeSet};

use crate::clock::{Millis, Now};
use crate::error::Error;
use crate::event::kept::KeptPage;
use crate::event::{Epoch, Event, Fold, FoldFacts, SharedEvent, kinds};
use crate::ids::{ChannelId, EventId, PublicKey};
use crate::limits;
use crate::model::{More, OverlayTrust};
use crate::order::RowKey;
use crate::request::{Outbox, Outcome, RequestId};
use counts::Counts;
use open::Timeline;
use page::Signer;

/// Which timeline: a channel, or one thread of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimelineKey {
    /// The channel.
    pub channel: ChannelId,
    /// The root, for a thread.
    pub root: Option<EventId>,
}

impl TimelineKey {
    /// The channel's own timeline.
    pub fn channel(channel: ChannelId) -> Self {
        Self { channel, root: None }
    }

    /// One thread.
    pub fn thread(channel: ChannelId, root: EventId) -> Self {
        Self { channel, root: Some(root) }
    }
}

/// A call that waits for its result; chosen by the caller, unique while it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallToken(pub u64);

/// What a connection's relay is (NIP-11 and transport).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelayFacts {
    /// NIP-11 `self`.
    pub self_key: Option<PublicKey>,
    /// TLS to the origin the person configured, or loopback (R2).
    pub secure_or_loopback: bool,
    /// NIP-11 `thread_replies_in_channel` (`protocol.md` 1.10).
    pub thread_replies_in_channel: bool,
}

impl RelayFacts {
    /// Who vouches for overlays (R2).
    pub fn trust(&self) -> OverlayTrust {
        match (self.self_key, self.secure_or_loopback) {
            (Some(_), _) => OverlayTrust::Identity,
            (None, true) => OverlayTrust::Transport,
            (None, false) => OverlayTrust::None,
        }
    }
}

/// A timeline that looks different.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Which.
    pub key: TimelineKey,
    /// Rows whose content changed; rows that came or went are found by comparing the order.
    pub touched: BTreeSet<EventId>,
}

/// How far an open call has come, for the first-unread line (R28).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// The first rows are on their way.
    Under,
    /// Opened without a connection; no page of the relay has come since.
    Offline,
    /// The rows a person sees first are there.
    Done,
}

/// State every timeline of a session shares.
struct Shared {
    viewer: PublicKey,
    connection: Option<RelayFacts>,
    trust: OverlayTrust,
    epoch: Epoch,
    /// This connection's relay does not know windows (R5).
    degraded: bool,
    /// Who signed the bounds accepted on this connection (R2, transport).
    overlay_signer: Option<PublicKey>,
    fold: Fold,
    counts: Counts,
    done: Vec<(CallToken, Result<(), Error>)>,
}

impl Shared {
    /// Whose overlays are believed; none means that no window is used.
    fn signer(&self) -> Option<Signer> {
        match self.connection? {
            RelayFacts { self_key: Some(key), .. } => Some(Signer::Key(key)),
            RelayFacts { secure_or_loopback: true, .. } => Some(Signer::Transport),
            RelayFacts { .. } => None,
        }
    }

    /// Whether a live overlay of this signer is believed.
    fn believes(&self, signer: &PublicKey) -> bool {
        match self.signer() {
            Some(Signer::Key(key)) => key == *signer,
            Some(Signer::Transport) => self.overlay_signer == Some(*signer),
            None => false,
        }
    }

    /// Whether the event may be drawn: a notice only when it is the relay's (`unread.md` 13, rule 2).
    fn may_draw(&self, event: &Event) -> bool {
        event.kind != kinds::NOTICE
            || match self.signer() {
                Some(Signer::Key(key)) => key == event.pubkey,
                Some(Signer::Transport) => self.overlay_signer.is_none_or(|signer| signer == event.pubkey),
                None => false,
            }
    }

    /// Row mode that the discovery document names.
    fn row_mode(&self) -> bool {
        self.connection.is_some_and(|c| c.thread_replies_in_channel)
    }

    /// Whether the row stands in the channel by its tags: no reply, or a direct reply with the exact broadcast tag
    /// (`protocol.md` 1.2).
    fn is_top_level(&self, event: &Event) -> bool {
        let Some(reference) = event.reference else { return true };
        let exact = |tag: &Vec<String>| matches!(tag.as_slice(), [name, value] if name == "broadcast" && value == "1");
        reference.parent == reference.root
            && event.tags.iter().any(exact)
            && self.fold.get(&reference.parent).is_none_or(|parent| parent.reference.is_none())
    }

    fn done(&mut self, calls: &mut Vec<CallToken>, result: &Result<(), Error>) {
        self.done.extend(calls.drain(..).map(|token| (token, result.clone())));
    }
}

/// The open timelines of one session.
pub struct Windows {
    shared: Shared,
    timelines: BTreeMap<TimelineKey, Timeline>,
}

impl Windows {
    /// No timeline open. `viewer` is the account.
    pub fn new(viewer: PublicKey) -> Self {
        let shared = Shared {
            viewer,
            connection: None,
            trust: OverlayTrust::None,
            epoch: 0,
            degraded: false,
            overlay_signer: None,
            fold: Fold::default(),
            counts: Counts::default(),
            done: Vec::new(),
        };
        Self { shared, timelines: BTreeMap::new() }
    }

    /// Opens a timeline, or makes sure that one already open is current. `limit` is its page size (1 to
    /// [`limits::PAGE_ROWS_MAX`], for threads [`limits::THREAD_ROWS_MAX`]; others are clamped); none is the relay's default.
    ///
    /// The call is done when the first page of this connection was accepted, or, without a connection, when the cache has
    /// answered; it then succeeds with what is cached. Fails with `capacity` when [`limits::OPEN_TIMELINES`] are open, with the
    /// request's error, or with `invalid_answer`; the timeline stays open then and goes on trying by itself.
    pub fn open(&mut self, key: TimelineKey, limit: Option<u32>, token: CallToken, out: &mut Outbox) {
        if !self.timelines.contains_key(&key) {
            if self.timelines.len() >= limits::OPEN_TIMELINES {
                let error = Error::Capacity { what: "open timelines" };
                self.shared.done.push((token, Err(error)));
                return;
            }
            self.timelines.insert(key, Timeline::new(key, limit));
        }
        if let Some(timeline) = self.timelines.get_mut(&key) {
            timeline.open(token, &mut self.shared, out);
        }
    }

    /// Reads one older page, of a thread the next one. Fills the newest gap first (R7). With nothing left it does nothing;
    /// without a connection it shows what is cached, else fails with `network`. Fails with `not_found` when the timeline is not
    /// open, with `busy` or `capacity` at its bounds, with the request's error, or with `invalid_answer`, and then nothing has
    /// changed.
    pub fn load_older(&mut self, key: TimelineKey, token: CallToken, out: &mut Outbox) {
        match self.timelines.get_mut(&key) {
            Some(timeline) => timeline.load_older(token, &mut self.shared, out),
            None => self.shared.done.push((token, Err(Error::NotFound { what: "open timeline" }))),
        }
    }

    /// Closes a timeline and forgets its rows. Waiting calls fail with `cancelled`. Returns what the cache should keep, if that is
    /// news to it.
    pub fn close(&mut self, key: &TimelineKey, out: &mut Outbox) -> Option<Vec<KeptPage>> {
        let kept = self.keep_unsaved(key);
        let mut timeline = self.timelines.remove(key)?;
        timeline.abandon(&Error::Cancelled { why: "timeline closed" }, &mut self.shared, out);
        self.collect();
        kept
    }

    /// A row held by some open timeline.
    pub fn held(&self, id: &EventId) -> Option<&SharedEvent> {
        self.shared.fold.get(id)
    }

    /// Live events of the channel may have been missed on this connection: its timelines are read again.
    pub fn on_missed(&mut self, channel: ChannelId, out: &mut Outbox) {
        for (_, timeline) in of_channel(&mut self.timelines, channel) {
            timeline.connected(&mut self.shared, out);
        }
    }

    /// Keys of the open timelines, in order.
    pub fn open_keys(&self) -> impl Iterator<Item = &TimelineKey> {
        self.timelines.keys()
    }

    /// Whether the timeline is open.
    pub fn is_open(&self, key: &TimelineKey) -> bool {
        self.timelines.contains_key(key)
    }

    /// Timelines whose cached pages the engine must read and hand to [`Windows::restored`].
    pub fn take_restores(&mut self) -> Vec<TimelineKey> {
        self.timelines.values_mut().filter_map(Timeline::take_restore).collect()
    }

    /// What the cache has for a timeline: verified events, possibly none at all.
    pub fn restored(&mut self, key: &TimelineKey, pages: Vec<KeptPage>, facts: &dyn FoldFacts, out: &mut Outbox) {
        if let Some(timeline) = self.timelines.get_mut(key) {
            timeline.restored(pages, facts, &mut self.shared, out);
        }
    }

    /// Timelines whose pages for the cache have changed since they were last handed out.
    pub fn unsaved(&self) -> impl Iterator<Item = &TimelineKey> {
        self.timelines.iter().filter(|(_, t)| t.is_unsaved()).map(|(key, _)| key)
    }

    /// Pages for the cache, if they have changed; they count as saved then.
    pub fn keep_unsaved(&mut self, key: &TimelineKey) -> Option<Vec<KeptPage>> {
        let timeline = self.timelines.get_mut(key).filter(|t| t.is_unsaved())?;
        Some(timeline.keep(&self.shared))
    }

    /// A connection is up, signed in, and its live subscriptions are armed (R3): every open timeline is read again.
    pub fn on_connected(&mut self, relay: RelayFacts, out: &mut Outbox) {
        let shared = &mut self.shared;
        shared.connection = Some(relay);
        shared.trust = relay.trust();
        shared.epoch += 1;
        shared.degraded = false;
        shared.overlay_signer = None;
        for timeline in self.timelines.values_mut() {
            timeline.connected(shared, out);
        }
    }

    /// The connection is gone. Reads under way end: an `open` succeeds with what there is, a `load_older` fails with `network`.
    pub fn on_disconnected(&mut self, out: &mut Outbox) {
        self.shared.connection = None;
        for timeline in self.timelines.values_mut() {
            timeline.disconnected(&mut self.shared, out);
        }
        self.collect();
    }

    /// The channel is not accessible any more: its timelines show nothing and their calls fail with `denied`. They stay open
    /// for [`Windows::on_access_granted`].
    pub fn on_access_lost(&mut self, channel: ChannelId, out: &mut Outbox) {
        for (_, timeline) in of_channel(&mut self.timelines, channel) {
            timeline.denied(&mut self.shared, out);
        }
        self.collect();
    }

    /// The channel is accessible again: its timelines are read anew.
    pub fn on_access_granted(&mut self, channel: ChannelId, out: &mut Outbox) {
        for (_, timeline) in of_channel(&mut self.timelines, channel) {
            timeline.granted(&mut self.shared, out);
        }
    }

    /// An answer came. Returns false if the request is not of this room.
    pub fn on_answer(
        &mut self,
        id: RequestId,
        outcome: &Outcome,
        facts: &dyn FoldFacts,
        now: Now,
        out: &mut Outbox,
    ) -> bool {
        let Some(timeline) = self.timelines.values_mut().find(|t| t.waits_for(id)) else { return false };
        let touched = timeline.answered(id, outcome, facts, now.mono, &mut self.shared, out);
        self.spread(touched);
        true
    }

    /// A live event of any kind. Repair and look-up answers do not come here: evidence adds no row (`unread.md` 3.5).
    pub fn on_live(&mut self, event: &SharedEvent, facts: &dyn FoldFacts) {
        let mut touched = match event.kind {
            kinds::SUMMARY => self.live_summary(event),
            _ => self.shared.fold.apply(event, facts, self.shared.epoch),
        };
        if kinds::is_row(event.kind)
            && self.shared.may_draw(event)
            && let Some(channel) = event.channel()
        {
            touched.extend(self.live_row(event, channel, facts));
        }
        self.spread(touched);
    }

    fn live_summary(&mut self, event: &SharedEvent) -> Vec<EventId> {
        let believed = page::parse_summary(event).filter(|_| self.shared.believes(&event.pubkey));
        let Some(summary) = believed else { return Vec::new() };
        let fits = match self.shared.fold.get(&summary.root) {
            Some(row) => row.channel() == event.channel(),
            // Its row may be on the page that is under way.
            None => self.timelines.iter().any(|(key, t)| Some(key.channel) == event.channel() && t.loading()),
        };
        if !fits {
            return Vec::new();
        }
        self.shared.counts.summary(summary, event);
        vec![summary.root]
    }

    fn live_row(&mut self, event: &SharedEvent, channel: ChannelId, facts: &dyn FoldFacts) -> Vec<EventId> {
        let shared = &mut self.shared;
        for (_, timeline) in of_channel(&mut self.timelines, channel) {
            timeline.live(event, facts, shared);
        }
        let Some(parent) = event.reference.map(|r| r.parent) else { return Vec::new() };
        if shared.fold.get(&parent).is_none_or(|row| row.channel() != Some(channel)) {
            return Vec::new();
        }
        if shared.counts.reply(event, event.author(facts.relay()) == shared.viewer) {
            shared.fold.hold(event, facts, shared.epoch);
        }
        vec![parent]
    }

    /// Marks rows as touched wherever they show, and the rows whose reply counts they are part of.
    fn spread(&mut self, touched: Vec<EventId>) {
        let shared = &self.shared;
        for id in touched {
            let parent = shared.counts.parent(&id).copied();
            for row in [Some(id), parent].into_iter().flatten() {
                let Some(key) = shared.fold.get(&row).map(|e| e.key()) else { continue };
                let deleted = shared.fold.is_deleted(&row);
                self.timelines.values_mut().for_each(|t| t.touch(&key, deleted));
            }
        }
    }

    /// Forgets rows that no timeline holds.
    fn collect(&mut self) {
        let mut keep: hashbrown::HashSet<EventId> = hashbrown::HashSet::new();
        for timeline in self.timelines.values() {
            keep.extend(timeline.held());
        }
        let Shared { fold, counts, .. } = &mut self.shared;
        counts.retain(|row| keep.contains(row));
        fold.retain(|id| keep.contains(id) || counts.parent(id).is_some());
    }

    /// When [`Windows::on_wake`] wants to be called, in monotonic time.
    pub fn next_wake(&self) -> Option<Millis> {
        self.timelines.values().filter_map(Timeline::next_wake).min()
    }

    /// Time passed.
    pub fn on_wake(&mut self, now: Now, out: &mut Outbox) {
        for timeline in self.timelines.values_mut() {
            timeline.wake(now.mono, &mut self.shared, out);
        }
    }

    /// Results of calls, in the order in which they ended.
    pub fn take_done(&mut self) -> Vec<(CallToken, Result<(), Error>)> {
        std::mem::take(&mut self.shared.done)
    }

    /// Timelines that look different since the last time, in key order.
    pub fn take_changed(&mut self) -> Vec<Changed> {
        self.timelines.values_mut().filter_map(Timeline::take_changed).collect()
    }

    /// One open timeline, to read.
    pub fn view(&self, key: &TimelineKey) -> Option<View<'_>> {
        Some(View { shared: &self.shared, timeline: self.timelines.get(key)? })
    }
}

impl std::fmt::Debug for Windows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Windows({} open, {:?})", self.timelines.len(), self.shared.fold)
    }
}

fn of_channel(
    timelines: &mut BTreeMap<TimelineKey, Timeline>,
    channel: ChannelId,
) -> impl Iterator<Item = (&TimelineKey, &mut Timeline)> {
    timelines.range_mut(TimelineKey::channel(channel)..).take_while(move |(key, _)| key.channel == channel)
}

/// What an open timeline shows.
#[derive(Clone, Copy)]
pub struct View<'a> {
    shared: &'a Shared,
    timeline: &'a Timeline,
}

impl<'a> View<'a> {
    /// Which timeline.
    pub fn key(&self) -> TimelineKey {
        self.timeline.key()
    }

    /// Rows that show, newest first. In a thread the root comes last, whatever its time.
    pub fn order(&self) -> &'a [RowKey] {
        self.timeline.order()
    }

    /// The row as it was sent.
    pub fn row(&self, id: &EventId) -> Option<&'a SharedEvent> {
        self.shared.fold.get(id)
    }

    /// The edit whose text the row shows.
    pub fn edit(&self, id: &EventId) -> Option<&'a SharedEvent> {
        self.shared.fold.edit(id)
    }

    /// Reactions that stand: one for each actor and emoji, in no particular order.
    pub fn reactions(&self, id: &EventId, relay: Option<&PublicKey>) -> Vec<(PublicKey, &'a str)> {
        self.shared.fold.reactions(id, relay)
    }

    /// Replies to show on the row (R8).
    pub fn replies(&self, id: &EventId) -> u32 {
        self.shared.counts.shown(id, |reply| self.shared.fold.is_deleted(reply))
    }

    /// Whether there is more below, in a thread after the last reply.
    pub fn more(&self) -> More {
        self.timeline.more()
    }

    /// How many of the oldest rows stand below the newest gap, if there is one: the gap is above them. May be zero or all rows,
    /// when the rows at the gap's edge are deleted.
    pub fn gap(&self) -> Option<usize> {
        self.timeline.gap()
    }

    /// Whether a page is being read.
    pub fn loading(&self) -> bool {
        self.timeline.loading()
    }

    /// Whether no page of this connection has been accepted yet.
    pub fn restored(&self) -> bool {
        !self.timeline.is_fresh()
    }

    /// Who vouches for overlays; of the last connection, while there is none.
    pub fn trust(&self) -> OverlayTrust {
        self.shared.trust
    }

    /// Why the last automatic read failed.
    pub fn error(&self) -> Option<&'a Error> {
        self.timeline.error()
    }

    /// How far opening has come.
    pub fn opening(&self) -> Opening {
        self.timeline.opening()
    }
}

#[cfg(test)]
pub(crate) mod fake;
#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod tests;
