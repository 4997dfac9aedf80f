//! Reading the directory: which questions are asked when, and what an answer proves.
//!
//! On every connection two listings start: *mine* (39002 with the viewer's `#p`) and *browse* (39000 without `#d`, which lists
//! open channels too), both paged by the exact `(until, before_id)` cursor. When *mine* is through, metadata and admin lists
//! of all allowed channels are read by `#d` in batches. Single channels are *checked* (all three kinds by `#d`) whenever
//! something hints that they changed; at most one check is under way, the others wait in a set.
//!
//! What an answer proves: a channel listed in it is granted at once. A channel missing from a listing is denied only when that
//! listing was one undamaged, non-empty page, that is a snapshot; otherwise it is checked by id, because a longer listing can
//! miss a roster that moved while it was paged, and one empty answer never means "left everything" (R25). A channel missing
//! from an undamaged check is denied. A failed read takes nothing away and is repeated after 1 s, doubling to 60 s.

use std::collections::{BTreeMap, BTreeSet};

use super::{AccessChange, Directory, LIVE_KINDS, Source, Trust, directory_channel};
use crate::clock::Millis;
use crate::error::Error;
use crate::event::{Batch, SharedEvent, kinds};
use crate::ids::ChannelId;
use crate::limits;
use crate::order::RowKey;
use crate::request::{Answer, Filter, Outbox, Outcome, Priority, Purpose, Request, RequestId};

/// A question.
#[derive(Clone, PartialEq, Eq)]
enum Ask {
    /// Rosters that list the viewer.
    Mine,
    /// Metadata and admin lists of these channels.
    Describe(Vec<ChannelId>),
    /// Metadata of whatever may be seen.
    Browse,
    /// Everything about these channels.
    Check(Vec<ChannelId>),
}

/// A question that is being answered, over one or more pages.
struct Flight {
    ask: Ask,
    /// Tick when it began.
    began: u64,
    cursor: Option<RowKey>,
    pages: u32,
    /// Pages that had anything in them.
    filled: u32,
    /// Something in it could not be read.
    damaged: bool,
    /// Channels it listed: rosters with the viewer, or for *browse* metadata.
    listed: BTreeSet<ChannelId>,
    /// Channels whose metadata it showed.
    described: BTreeSet<ChannelId>,
    /// Coordinates it answered, to end a batch without a further page.
    answered: BTreeSet<(u16, ChannelId)>,
}

/// State of the reads.
#[derive(Default)]
pub(super) struct Discovery {
    connected: bool,
    flights: BTreeMap<RequestId, Flight>,
    /// Channels to be checked when the running check is through.
    due: BTreeSet<ChannelId>,
    /// Channels a listing omitted without proving anything; their check decides.
    doubtful: BTreeSet<ChannelId>,
    /// Times a channel was checked because of an announced membership.
    awaited: BTreeMap<ChannelId, u8>,
    /// The listing of the viewer's rosters came through on this connection.
    listed: bool,
    /// A complete listing was taken in, in this session.
    confirmed: bool,
    /// When to try again, and whether everything or only the checks that are due.
    retry: Option<(Millis, bool)>,
    backoff_ms: u64,
    error: Option<Error>,
}

impl Discovery {
    pub(super) fn complete(&self) -> bool {
        self.confirmed
    }

    pub(super) fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    fn checking(&self) -> bool {
        self.flights.values().any(|f| matches!(f.ask, Ask::Check(_)))
    }

    /// Plans a repetition: after the usual wait, or after `named` seconds where the relay asked for more.
    fn later(&mut self, now: Millis, everything: bool, named: Option<u32>) {
        if let Some((_, all)) = &mut self.retry {
            *all |= everything;
            return;
        }
        let wait = self.backoff_ms.clamp(limits::RETRY_MIN_MS, limits::RETRY_MAX_MS);
        self.backoff_ms = wait.saturating_mul(2);
        let named = u64::from(named.unwrap_or(0)).saturating_mul(1_000);
        self.retry = Some((now.plus(wait.max(named)), everything));
    }
}

impl Directory {
    /// The connection is there and the notice subscription is armed: reads everything anew.
    pub fn on_connected(&mut self, out: &mut Outbox) {
        self.on_disconnected(out);
        self.discovery.connected = true;
        self.discovery.backoff_ms = 0;
        self.read_everything(out);
    }

    /// The connection is gone: what was being read is dropped, what is known stays.
    pub fn on_disconnected(&mut self, out: &mut Outbox) {
        self.discovery.connected = false;
        self.discovery.retry = None;
        self.drop_flights(out);
    }

    /// Reads everything anew, because somebody asked. Does nothing while not connected.
    pub fn refresh(&mut self, out: &mut Outbox) {
        if self.discovery.connected {
            self.read_everything(out);
        }
    }

    /// Whether the answer under this id is for the directory.
    pub fn owns(&self, id: RequestId) -> bool {
        self.discovery.flights.contains_key(&id)
    }

    /// Takes in the answer to one of its requests; ids of others are ignored.
    pub fn on_answer(&mut self, id: RequestId, outcome: Outcome, now: Millis, out: &mut Outbox) -> AccessChange {
        let mut change = AccessChange::default();
        let Some(flight) = self.discovery.flights.remove(&id) else { return change };
        match outcome {
            Ok(Answer::Events(batch)) => {
                self.discovery.error = None;
                self.take_page(flight, &batch, now, out, &mut change);
            }
            Ok(_) => self.fail(flight.ask, Error::InvalidAnswer { why: "not a list of events" }, now),
            Err(error) => self.fail(flight.ask, error.into(), now),
        }
        if self.discovery.retry.is_none() {
            self.send_due(out);
        }
        change
    }

    /// Takes in a live event; kinds of others are ignored.
    pub fn on_event(&mut self, event: &SharedEvent, out: &mut Outbox) -> AccessChange {
        let mut change = AccessChange::default();
        if matches!(event.kind, kinds::MEMBER_ADDED | kinds::MEMBER_REMOVED) {
            if let Some(channel) = self.take_notice(event, &mut change) {
                self.discovery.awaited.remove(&channel);
                self.check(channel, out);
            }
        } else {
            self.take(event, Source::Live, &mut change);
            self.ask_undescribed(&change);
            self.send_due(out);
        }
        change
    }

    /// Something hints that the channel changed: a subscription on it was closed, or a read of it came back empty. It is asked
    /// for; nothing changes until the answer.
    pub fn check(&mut self, channel: ChannelId, out: &mut Outbox) {
        if self.discovery.due.len() < limits::DIRECTORY_CHANNELS * 2 {
            self.discovery.due.insert(channel);
        }
        self.send_due(out);
    }

    /// When [`Directory::on_wake`] wants to be called.
    pub fn next_wake(&self) -> Option<Millis> {
        self.discovery.retry.map(|(at, _)| at)
    }

    /// Repeats what failed, if it is time.
    pub fn on_wake(&mut self, now: Millis, out: &mut Outbox) {
        let Some((_, everything)) = self.discovery.retry.filter(|(at, _)| *at <= now) else { return };
        self.discovery.retry = None;
        if everything {
            self.read_everything(out);
        }
        self.send_due(out);
    }

    fn drop_flights(&mut self, out: &mut Outbox) {
        for (id, flight) in std::mem::take(&mut self.discovery.flights) {
            out.cancel(id);
            if let Ask::Check(channels) = flight.ask {
                self.discovery.due.extend(channels);
            }
        }
    }

    fn read_everything(&mut self, out: &mut Outbox) {
        self.drop_flights(out);
        self.discovery.listed = false;
        self.discovery.retry = None;
        self.discovery.awaited.clear();
        self.discovery.doubtful.clear();
        self.begin(Ask::Mine, out);
        self.begin(Ask::Browse, out);
        self.send_due(out);
    }

    fn begin(&mut self, ask: Ask, out: &mut Outbox) {
        let flight = Flight {
            ask,
            began: self.next_tick(),
            cursor: None,
            pages: 0,
            filled: 0,
            damaged: false,
            listed: BTreeSet::new(),
            described: BTreeSet::new(),
            answered: BTreeSet::new(),
        };
        self.send(flight, out);
    }

    fn send(&mut self, flight: Flight, out: &mut Outbox) {
        let by_id = |kinds: &[u16], channels: &[ChannelId]| Filter {
            d: Some(channels.iter().map(ToString::to_string).collect()),
            ..Filter::kinds(kinds)
        };
        let mut filter = match &flight.ask {
            Ask::Mine => Filter { p: Some(vec![self.viewer_hex.clone()]), ..Filter::kinds(&[kinds::MEMBERS]) },
            Ask::Browse => Filter::kinds(&[kinds::CHANNEL]),
            Ask::Describe(channels) => by_id(&[kinds::CHANNEL, kinds::ADMINS], channels),
            Ask::Check(channels) => by_id(&LIVE_KINDS, channels),
        }
        .limit(limits::DIRECTORY_PAGE);
        if let Trust::Key(relay) = &self.trust {
            // What others sign under these kinds must not crowd the relay's own word out of a page.
            filter = filter.by(relay);
        }
        if let Some(cursor) = flight.cursor {
            filter = filter.before(cursor);
        }
        let priority = if flight.ask == Ask::Browse { Priority::Background } else { Priority::Foreground };
        let id = out.send(Request::query(Purpose::Roster, priority, vec![filter]));
        self.discovery.flights.insert(id, flight);
    }

    /// Starts the next check, if none is running. A fresh hint does not wait for a repetition that is due later.
    fn send_due(&mut self, out: &mut Outbox) {
        if !self.discovery.connected || self.discovery.checking() || self.discovery.due.is_empty() {
            return;
        }
        let batch: Vec<_> = self.discovery.due.iter().copied().take(limits::CHANNELS_PER_REQUEST).collect();
        for channel in &batch {
            self.discovery.due.remove(channel);
        }
        self.begin(Ask::Check(batch), out);
    }

    /// Channels granted by a live roster without metadata are asked for: their type is not known yet.
    fn ask_undescribed(&mut self, change: &AccessChange) {
        let bare = change.granted.iter().filter(|c| self.metadata.get(**c).is_none());
        self.discovery.due.extend(bare);
    }

    fn fail(&mut self, ask: Ask, error: Error, now: Millis) {
        let named = match error {
            Error::RelayRefused { retry_after, .. } => retry_after,
            _ => None,
        };
        self.discovery.error = Some(error);
        if !self.discovery.connected {
            return;
        }
        match ask {
            Ask::Check(channels) => {
                self.discovery.due.extend(channels);
                self.discovery.later(now, false, named);
            }
            Ask::Mine | Ask::Describe(_) | Ask::Browse => self.discovery.later(now, true, named),
        }
    }

    fn take_page(
        &mut self,
        mut flight: Flight,
        batch: &Batch,
        now: Millis,
        out: &mut Outbox,
        change: &mut AccessChange,
    ) {
        flight.pages += 1;
        flight.filled += u32::from(!batch.events.is_empty());
        flight.damaged |= batch.rejected.iter().any(|r| r.kind.is_none_or(|k| LIVE_KINDS.contains(&k)));
        for event in &batch.events {
            let listed = self.take(event, Source::Read(flight.began), change);
            let Some(channel) = directory_channel(event).filter(|_| self.trust.accepts(event)) else { continue };
            flight.answered.insert((event.kind, channel));
            if listed {
                flight.listed.insert(channel);
            }
            if event.kind == kinds::CHANNEL {
                flight.described.insert(channel);
            }
        }
        let last = batch.events.iter().map(|e| e.key()).max();
        match last.filter(|_| flight.wants_more(batch.events.len() + batch.rejected.len())) {
            Some(last) if flight.cursor.is_some_and(|cursor| last <= cursor) => {
                flight.damaged = true;
                self.finish(flight, now, out, change);
            }
            Some(_) if flight.pages >= limits::DIRECTORY_PAGES => {
                flight.damaged = true;
                self.finish(flight, now, out, change);
            }
            Some(last) => {
                flight.cursor = Some(last);
                self.send(flight, out);
            }
            None => self.finish(flight, now, out, change),
        }
    }

    fn finish(&mut self, flight: Flight, now: Millis, out: &mut Outbox, change: &mut AccessChange) {
        match &flight.ask {
            Ask::Mine => self.finish_mine(&flight, out, change),
            Ask::Browse => self.finish_browse(&flight, change),
            Ask::Describe(_) => {}
            Ask::Check(channels) => self.finish_check(&flight, channels, now, change),
        }
        if self.discovery.listed && !self.discovery.confirmed && self.discovery.doubtful.is_empty() {
            self.discovery.confirmed = true;
            change.first_confirmed = true;
        }
        if self.discovery.flights.is_empty() && self.discovery.retry.is_none() {
            self.discovery.backoff_ms = 0;
        }
    }

    fn finish_mine(&mut self, flight: &Flight, out: &mut Outbox, change: &mut AccessChange) {
        self.discovery.listed = true;
        let omitted: Vec<_> = self.allowed().filter(|c| !flight.listed.contains(c)).collect();
        if flight.filled == 1 && !flight.damaged {
            for channel in omitted {
                self.deny_omitted(channel, flight.began, change);
            }
        } else {
            self.discovery.doubtful.extend(omitted.iter().copied());
            self.discovery.due.extend(omitted);
        }
        let allowed: Vec<_> = self.allowed().collect();
        for batch in allowed.chunks(limits::CHANNELS_PER_REQUEST) {
            self.begin(Ask::Describe(batch.to_vec()), out);
        }
    }

    fn finish_browse(&mut self, flight: &Flight, change: &mut AccessChange) {
        if flight.filled != 1 || flight.damaged {
            return;
        }
        let omitted = self.facts.iter().filter(|(c, f)| !f.allowed && !flight.described.contains(c));
        for channel in omitted.map(|(c, _)| *c).collect::<Vec<_>>() {
            self.withdraw(channel, flight.began, change);
        }
    }

    fn finish_check(&mut self, flight: &Flight, channels: &[ChannelId], now: Millis, change: &mut AccessChange) {
        for channel in channels {
            self.discovery.doubtful.remove(channel);
        }
        if flight.damaged {
            return;
        }
        for channel in channels {
            if !flight.listed.contains(channel) {
                self.deny_omitted(*channel, flight.began, change);
                self.await_grant(*channel, now);
            }
            if !flight.described.contains(channel) {
                self.withdraw(*channel, flight.began, change);
            }
        }
    }

    /// The relay announced a membership that its roster does not show: asks again, a few times.
    fn await_grant(&mut self, channel: ChannelId, now: Millis) {
        let announced = self.standing.get(&channel).and_then(|m| m.notice).is_some_and(|(_, _, added)| added);
        // A newer notice has asked already, and does not wait.
        if !announced || self.member(channel) || self.discovery.due.contains(&channel) {
            return;
        }
        let times = self.discovery.awaited.entry(channel).or_insert(0);
        if *times < limits::GRANT_CHECKS {
            *times += 1;
            self.discovery.due.insert(channel);
            self.discovery.later(now, false, None);
        }
    }
}

impl Flight {
    /// Whether a page of this many events leaves it open if there are more.
    fn wants_more(&self, page: usize) -> bool {
        let asked = match &self.ask {
            Ask::Describe(channels) => channels.len() * 2,
            Ask::Check(channels) => channels.len() * LIVE_KINDS.len(),
            Ask::Mine | Ask::Browse => usize::MAX,
        };
        page >= limits::DIRECTORY_SURE_PAGE && self.answered.len() < asked
    }
}
