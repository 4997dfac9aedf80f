//! Live subscriptions of one connection.
//!
//! Wanted are membership notices, the viewer's own data, and a set of channels. Channels are put into subscriptions of at most
//! 128 (current dialect) or of one (August; R4). A change of the set touches the fewest subscriptions, and a subscription is replaced
//! *make before break*: the new one is asked for under a new id, and the old one is closed when the new one is confirmed. So a
//! refusal costs nothing that worked (pitfalls B6), every EOSE belongs to exactly one request, and no moment is without a
//! subscription.
//!
//! Frames are paced over any 5 s (R4); what is open goes first and has frames of its own. Not confirmed within
//! [`limits::ARM_TIMEOUT_MS`], a subscription is asked for again and its channels are released with a promise: the confirmation, when
//! it comes, reports them as missed (R3). The same promise holds for every interruption, and for channels that had to wait for the frame
//! quota while others were read already.
//!
//! Invariants: a *head* is a subscription that no other replaces; heads partition the wanted channels once [`plan`] has run. At
//! most three requests per head are open at the relay: a confirmed one, its late successor, and the one asked for after that. Filters say `limit: 0` and no `since`; only after the relay called that
//! invalid, `since` = server time − 960 s (R3).
//!
//! [`plan`]: Subscriptions::plan

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Attempt, Effect, LinkEvent, Output, Source};
use crate::clock::Millis;
use crate::error::Refusal;
use crate::event::kinds;
use crate::ids::{ChannelId, PublicKey};
use crate::limits;
use crate::relay::protocol::{ClientMessage, Dialect, classify, retry_after};
use crate::request::Filter;

/// Whether a channel's live stream has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arming {
    /// Not yet; wait before reading the head (R3).
    Pending,
    /// Confirmed.
    Armed,
    /// It could not be confirmed for now, or is not wanted. Read; should it be confirmed later, a re-read is asked for.
    Unconfirmed,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Topic {
    Membership,
    OwnData,
    Channels(BTreeSet<ChannelId>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Waits for its turn.
    Queued,
    /// Asked for.
    Sent { deadline: Millis },
    /// Asked for, not confirmed in time, asked for again by its successor. May still be confirmed.
    Late,
    /// Confirmed.
    Armed,
    /// Refused; waits. With `recheck`, a call of `set` ends the wait.
    Parked { until: Millis, recheck: bool },
}

#[derive(Debug)]
struct Sub {
    topic: Topic,
    state: State,
    /// Earlier subscriptions that this one's confirmation ends. All of them are in the map.
    replaces: Vec<u64>,
    /// Failures since the last confirmation, for back-off.
    failures: u32,
    /// It had to wait for the frame quota, while others were confirmed already and reads began.
    paced: bool,
}

/// What a CLOSED means beyond its subscription.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing.
    Stay,
    /// The relay does not know who we are any more: the socket is of no use.
    Reconnect,
}

/// See the module's text.
#[derive(Debug)]
pub(super) struct Subscriptions {
    me: PublicKey,
    /// Whether there are any.
    live: bool,
    attempt: Option<Attempt>,
    dialect: Dialect,
    wanted: BTreeSet<ChannelId>,
    open: BTreeSet<ChannelId>,
    subs: BTreeMap<u64, Sub>,
    next: u64,
    chunk: usize,
    with_since: bool,
    /// Frames of the last five seconds. The relay counts them over connections, and so does this.
    sent: VecDeque<Millis>,
    quiet_until: Millis,
    /// Channels and global topics that owe a re-read when confirmed.
    owed: BTreeSet<ChannelId>,
    owed_global: BTreeSet<Topic>,
    /// Channels confirmed after having waited for the frame quota; reported as missed, all at once, when no more of them wait.
    late: BTreeSet<ChannelId>,
    /// Channels already released to be read on this connection.
    released: BTreeSet<ChannelId>,
}

impl Subscriptions {
    pub(super) fn new(me: PublicKey, live: bool) -> Self {
        Self {
            me,
            live,
            attempt: None,
            dialect: Dialect::August,
            wanted: BTreeSet::new(),
            open: BTreeSet::new(),
            subs: BTreeMap::new(),
            next: 0,
            chunk: 1,
            with_since: false,
            sent: VecDeque::new(),
            quiet_until: Millis(0),
            owed: BTreeSet::new(),
            owed_global: BTreeSet::new(),
            late: BTreeSet::new(),
            released: BTreeSet::new(),
        }
    }

    /// A connection is signed in: asks for everything.
    pub(super) fn begin(&mut self, attempt: Attempt, dialect: Dialect) {
        self.end();
        self.attempt = Some(attempt);
        self.dialect = dialect;
        self.chunk = match dialect {
            Dialect::Current => limits::CHANNELS_PER_REQUEST,
            Dialect::August => 1,
        };
        if !self.live {
            return;
        }
        self.add(Topic::Membership, Vec::new());
        self.add(Topic::OwnData, Vec::new());
        self.plan(&mut Output::default());
    }

    /// The connection is gone. What is wanted stays.
    pub(super) fn end(&mut self) {
        self.attempt = None;
        self.subs.clear();
        self.owed.clear();
        self.owed_global.clear();
        self.late.clear();
        self.released.clear();
        self.with_since = false;
    }

    /// Sets the wanted channels; those in `open` go first. Beyond [`limits::LIVE_CHANNELS`] the last by id are left out.
    pub(super) fn set(&mut self, channels: impl IntoIterator<Item = ChannelId>, open: &[ChannelId], out: &mut Output) {
        if !self.live {
            return;
        }
        let all: BTreeSet<ChannelId> = channels.into_iter().collect();
        self.open = open.iter().copied().take(limits::LIVE_CHANNELS).collect();
        self.wanted = self.open.clone();
        let room = limits::LIVE_CHANNELS - self.wanted.len();
        self.wanted.extend(all.difference(&self.open).copied().take(room));
        self.owed.retain(|c| self.wanted.contains(c));
        self.late.retain(|c| self.wanted.contains(c));
        self.released.retain(|c| self.wanted.contains(c));
        for sub in self.subs.values_mut() {
            if matches!(sub.state, State::Parked { recheck: true, .. }) {
                sub.state = State::Queued;
            }
        }
        if self.attempt.is_some() {
            self.plan(out);
        }
    }

    /// Whether membership notices and own data need not be waited for any more.
    pub(super) fn globals_settled(&self) -> bool {
        !self.live
            || [Topic::Membership, Topic::OwnData].iter().all(|topic| {
                let of_topic = |s: &&Sub| s.topic == *topic;
                self.subs.values().filter(of_topic).any(|s| !matches!(s.state, State::Queued | State::Sent { .. }))
            })
    }

    /// Whether a channel's head may be read.
    pub(super) fn arming(&self, channel: &ChannelId) -> Arming {
        if self.covered(channel, |s| s == State::Armed) {
            Arming::Armed
        } else if !self.wanted.contains(channel) || self.released.contains(channel) {
            Arming::Unconfirmed
        } else {
            Arming::Pending
        }
    }

    /// How a subscription's events came; `None` for one that is not ours (any more).
    pub(super) fn source(&self, name: &str) -> Option<Source> {
        self.subs.get(&number(name)?).map(|sub| source_of(&sub.topic))
    }

    /// Events were lost on this side: everything owes a re-read now.
    pub(super) fn missed_everything(&self, out: &mut Output) {
        out.events.push(LinkEvent::MissedGlobal { source: Source::Membership });
        out.events.push(LinkEvent::MissedGlobal { source: Source::OwnData });
        if !self.wanted.is_empty() {
            out.events.push(LinkEvent::Missed { channels: self.wanted.iter().copied().collect() });
        }
    }

    /// A subscription is confirmed.
    pub(super) fn on_eose(&mut self, name: &str, out: &mut Output) {
        let Some(id) = number(name) else { return };
        let Some(sub) = self.subs.get_mut(&id).filter(|s| matches!(s.state, State::Sent { .. } | State::Late)) else {
            return;
        };
        sub.state = State::Armed;
        sub.failures = 0;
        let (topic, paced, replaced) = (sub.topic.clone(), sub.paced, std::mem::take(&mut sub.replaces));
        for old in replaced {
            self.close(old, out);
        }
        // A successor that was only waiting to ask for the same has become needless.
        let needless = |s: &Sub| s.state == State::Queued && s.replaces == [id] && s.topic == topic;
        self.subs.retain(|_, s| !needless(s));
        match topic {
            Topic::Channels(channels) => self.confirmed(&channels, paced, out),
            global => {
                if self.owed_global.remove(&global) {
                    out.events.push(LinkEvent::MissedGlobal { source: source_of(&global) });
                }
            }
        }
    }

    fn confirmed(&mut self, channels: &BTreeSet<ChannelId>, paced: bool, out: &mut Output) {
        if paced {
            self.late.extend(channels.difference(&self.owed));
        }
        let missed: Vec<ChannelId> = channels.iter().filter(|c| self.owed.remove(c)).copied().collect();
        self.release(channels.iter().copied(), out);
        if !missed.is_empty() {
            out.events.push(LinkEvent::Missed { channels: missed });
        }
    }

    /// Lets channels be read that were waited for so far.
    fn release(&mut self, channels: impl Iterator<Item = ChannelId>, out: &mut Output) {
        let wanted = &self.wanted;
        let news: Vec<ChannelId> = channels.filter(|c| wanted.contains(c) && self.released.insert(*c)).collect();
        if !news.is_empty() {
            out.events.push(LinkEvent::Armed { channels: news });
        }
    }

    /// A subscription has ended.
    pub(super) fn on_closed(&mut self, now: Millis, name: &str, text: &str, out: &mut Output) -> Verdict {
        // Answers to our own CLOSE name subscriptions that are forgotten already.
        let Some(id) = number(name) else { return Verdict::Stay };
        let Some(sub) = self.subs.remove(&id) else { return Verdict::Stay };
        if text.starts_with("auth-required:") {
            return Verdict::Reconnect;
        }
        let state = self.after_refusal(now, text, &sub, out);
        self.interrupted(&sub.topic, out);
        match self.subs.values_mut().find(|s| s.replaces.contains(&id)) {
            // Its successor asks for the same anyway.
            Some(successor) => {
                successor.replaces.retain(|r| *r != id);
                successor.replaces.extend(sub.replaces);
            }
            None => {
                let again = self.add(sub.topic, sub.replaces);
                if let Some(again) = self.subs.get_mut(&again) {
                    again.state = state;
                    again.failures = sub.failures.saturating_add(1);
                }
            }
        }
        if self.attempt.is_some() {
            self.plan(out);
        }
        Verdict::Stay
    }

    /// What becomes of a subscription that ended with `text` (`protocol.md` 3.5).
    fn after_refusal(&mut self, now: Millis, text: &str, sub: &Sub, out: &mut Output) -> State {
        let wait = now.plus(backoff(limits::RECONNECT_FIRST_MS, sub.failures));
        let parked = State::Parked { until: wait, recheck: false };
        if text.ends_with("too many explicit channels") && self.chunk > 1 {
            self.chunk = (self.chunk / 2).max(1);
            return State::Queued;
        }
        match classify(200, text) {
            Refusal::RateLimited => {
                let named = retry_after(text).unwrap_or(5).max(1);
                State::Parked { until: now.plus(u64::from(named) * 1_000), recheck: false }
            }
            Refusal::Restricted | Refusal::NotMember => {
                if let Topic::Channels(channels) = &sub.topic {
                    out.events.push(LinkEvent::AccessQuestioned { channels: channels.iter().copied().collect() });
                }
                // The roster decides; only if nobody looks it up is it tried again.
                let until = now.plus(backoff(limits::ARM_TIMEOUT_MS, sub.failures));
                State::Parked { until, recheck: sub.failures == 0 }
            }
            Refusal::Invalid if !self.with_since => {
                self.with_since = true;
                State::Queued
            }
            _ => parked,
        }
    }

    /// Notes what is no longer covered, and lets nobody wait for it.
    fn interrupted(&mut self, topic: &Topic, out: &mut Output) {
        match topic {
            Topic::Channels(channels) => {
                let alive = |s: State| matches!(s, State::Armed | State::Late);
                let lost: Vec<ChannelId> =
                    channels.iter().filter(|c| self.wanted.contains(c) && !self.covered(c, alive)).copied().collect();
                self.owed.extend(&lost);
                self.release(lost.into_iter(), out);
            }
            global => {
                self.owed_global.insert(global.clone());
            }
        }
    }

    /// Words without a subject: a rate limit pauses all frames, "invalid" may be about a subscription that will stay silent.
    pub(super) fn on_notice(&mut self, now: Millis, text: &str) {
        if classify(200, text) == Refusal::RateLimited {
            let named = retry_after(text).unwrap_or(5).max(1);
            self.quiet_until = self.quiet_until.max(now.plus(u64::from(named) * 1_000));
        } else if text.starts_with("invalid") && text.contains("filter") {
            self.with_since = true;
        }
    }

    /// Deals with what is due: time-outs, ended waits, frames that may go. `server_time` in seconds.
    pub(super) fn pump(&mut self, now: Millis, server_time: u64, out: &mut Output) {
        let Some(attempt) = self.attempt else { return };
        self.time_out(now, out);
        for sub in self.subs.values_mut() {
            if matches!(sub.state, State::Parked { until, .. } if until <= now) {
                sub.state = State::Queued;
            }
        }
        while self.sent.front().is_some_and(|at| now.since(*at) >= limits::PACE_WINDOW_MS) {
            self.sent.pop_front();
        }
        while let Some((_, id)) = self.next_queued().filter(|(urgent, _)| self.may_send_at(now, *urgent) <= now) {
            let since = self.with_since.then(|| server_time.saturating_sub(limits::REREAD_MARGIN));
            let me = self.me;
            let Some(sub) = self.subs.get_mut(&id) else { return };
            sub.state = State::Sent { deadline: now.plus(backoff(limits::ARM_TIMEOUT_MS, sub.failures)) };
            let req = ClientMessage::Req { sub: name_of(id), filters: vec![filter(&sub.topic, &me, since)] };
            self.sent.push_back(now);
            out.effects.push(Effect::Send(attempt, req.to_text()));
        }
        self.report_late(out);
    }

    /// Whatever was read of these channels since the connection began may have ended before their live streams did begin.
    fn report_late(&mut self, out: &mut Output) {
        let mut waiting = false;
        for sub in self.subs.values_mut() {
            sub.paced |= sub.state == State::Queued;
            waiting |= sub.paced && matches!(sub.state, State::Queued | State::Sent { .. });
        }
        if !waiting && !self.late.is_empty() {
            out.events.push(LinkEvent::Missed { channels: std::mem::take(&mut self.late).into_iter().collect() });
        }
    }

    /// When [`Subscriptions::pump`] has something to do.
    pub(super) fn next_wake(&self, now: Millis) -> Option<Millis> {
        self.attempt?;
        let timers = self.subs.values().filter_map(|s| match s.state {
            State::Sent { deadline } => Some(deadline),
            State::Parked { until, .. } => Some(until),
            State::Queued | State::Late | State::Armed => None,
        });
        timers.chain(self.next_queued().map(|(urgent, _)| self.may_send_at(now, urgent))).min()
    }

    /// Subscriptions not confirmed in time are asked for again, unless a successor does that already; what they cover is
    /// released, and owed.
    fn time_out(&mut self, now: Millis, out: &mut Output) {
        let due = |s: &Sub| matches!(s.state, State::Sent { deadline } if deadline <= now);
        let late: Vec<u64> = self.subs.iter().filter(|(_, s)| due(s)).map(|(id, _)| *id).collect();
        for id in late {
            let has_successor = self.subs.values().any(|s| s.replaces.contains(&id));
            let Some(sub) = self.subs.get_mut(&id) else { continue };
            sub.state = State::Late;
            let topic = sub.topic.clone();
            if !has_successor {
                self.ask_again(id, out);
            }
            match topic {
                Topic::Channels(channels) => {
                    let armed = |s| s == State::Armed;
                    let lost: Vec<ChannelId> = channels.into_iter().filter(|c| !self.covered(c, armed)).collect();
                    self.owed.extend(&lost);
                    self.release(lost.into_iter(), out);
                }
                global => {
                    self.owed_global.insert(global);
                }
            }
        }
    }

    /// Queues a successor of a late subscription. Late ones before it have had their chance; confirmed ones go on.
    fn ask_again(&mut self, id: u64, out: &mut Output) {
        let Some(sub) = self.subs.get_mut(&id) else { return };
        let (topic, failures) = (sub.topic.clone(), sub.failures.saturating_add(1));
        let before = std::mem::take(&mut sub.replaces);
        let is_late = |r: &u64| self.subs.get(r).is_some_and(|s| s.state == State::Late);
        let (late, confirmed): (Vec<u64>, Vec<u64>) = before.into_iter().partition(is_late);
        for old in late {
            self.close(old, out);
        }
        if let Some(sub) = self.subs.get_mut(&id) {
            sub.replaces = confirmed;
        }
        let next = self.add(topic, vec![id]);
        if let Some(next) = self.subs.get_mut(&next) {
            next.failures = failures;
        }
    }

    fn covered(&self, channel: &ChannelId, state: impl Fn(State) -> bool) -> bool {
        self.subs.values().any(|s| state(s.state) && matches!(&s.topic, Topic::Channels(c) if c.contains(channel)))
    }

    fn add(&mut self, topic: Topic, replaces: Vec<u64>) -> u64 {
        let id = self.next;
        self.next += 1;
        self.subs.insert(id, Sub { topic, state: State::Queued, replaces, failures: 0, paced: false });
        id
    }

    /// Ends a subscription and those it would have replaced.
    fn close(&mut self, id: u64, out: &mut Output) {
        let mut ending = vec![id];
        while let Some(id) = ending.pop() {
            let Some(sub) = self.subs.remove(&id) else { continue };
            ending.extend(sub.replaces);
            let asked = matches!(sub.state, State::Sent { .. } | State::Late | State::Armed);
            if let Some(attempt) = self.attempt.filter(|_| asked) {
                // CLOSE is not counted by the relay's frame quota.
                out.effects.push(Effect::Send(attempt, ClientMessage::Close { sub: name_of(id) }.to_text()));
            }
        }
    }

    /// Makes the heads partition the wanted channels, with the fewest new requests.
    fn plan(&mut self, out: &mut Output) {
        let replaced: BTreeSet<u64> = self.subs.values().flat_map(|s| s.replaces.iter().copied()).collect();
        let heads: Vec<(u64, BTreeSet<ChannelId>)> = self
            .subs
            .iter()
            .filter(|(id, _)| !replaced.contains(id))
            .filter_map(|(id, s)| match &s.topic {
                Topic::Channels(c) => Some((*id, c.clone())),
                Topic::Membership | Topic::OwnData => None,
            })
            .collect();
        let mut missing = self.wanted.clone();
        let mut kept = Vec::new();
        for (id, channels) in heads {
            let mut keep: BTreeSet<ChannelId> = channels.intersection(&missing).copied().collect();
            while keep.len() > self.chunk {
                keep.pop_last();
            }
            missing.retain(|c| !keep.contains(c));
            if keep.is_empty() {
                self.close(id, out);
            } else {
                kept.push((id, channels, keep));
            }
        }
        for (id, channels, mut keep) in kept {
            // One that is refused for now is left as it is: what is added to it would wait with it.
            let parked = matches!(self.subs.get(&id).map(|s| s.state), Some(State::Parked { .. }));
            while !parked
                && keep.len() < self.chunk
                && let Some(channel) = missing.pop_first()
            {
                keep.insert(channel);
            }
            if keep != channels {
                self.rechunk(id, keep, out);
            }
        }
        while !missing.is_empty() {
            let chunk: BTreeSet<ChannelId> = missing.iter().copied().take(self.chunk).collect();
            missing.retain(|c| !chunk.contains(c));
            self.add(Topic::Channels(chunk), Vec::new());
        }
    }

    /// Gives a head other channels: in place while it is not asked for, else by a successor. One that was never confirmed has
    /// nothing that could break, so it ends at once and chains stay short.
    fn rechunk(&mut self, id: u64, channels: BTreeSet<ChannelId>, out: &mut Output) {
        let Some(sub) = self.subs.get_mut(&id) else { return };
        match sub.state {
            State::Queued | State::Parked { .. } => sub.topic = Topic::Channels(channels),
            State::Armed => {
                self.add(Topic::Channels(channels), vec![id]);
            }
            State::Sent { .. } | State::Late => {
                let replaces = std::mem::take(&mut sub.replaces);
                self.close(id, out);
                self.add(Topic::Channels(channels), replaces);
            }
        }
    }

    /// The queued subscription whose turn it is, and whether somebody waits for it.
    fn next_queued(&self) -> Option<(bool, u64)> {
        let rank = |sub: &Sub| match &sub.topic {
            Topic::Membership | Topic::OwnData => (0, None),
            Topic::Channels(c) if c.iter().any(|c| self.open.contains(c)) => (1, c.first().copied()),
            Topic::Channels(c) => (2, c.first().copied()),
        };
        let queued = self.subs.iter().filter(|(_, s)| s.state == State::Queued);
        queued.map(|(id, s)| (rank(s), *id)).min().map(|((rank, _), id)| (rank < 2, id))
    }

    fn may_send_at(&self, now: Millis, urgent: bool) -> Millis {
        let most = if urgent { limits::PACE_FRAMES } else { limits::PACE_BACKGROUND };
        let recent = |at: &&Millis| now.since(**at) < limits::PACE_WINDOW_MS;
        let count = self.sent.iter().filter(recent).count();
        let room = count.checked_sub(most).and_then(|over| self.sent.iter().filter(recent).nth(over));
        room.map_or(now, |at| at.plus(limits::PACE_WINDOW_MS)).max(self.quiet_until)
    }
}

/// Doubling from `first` to a minute.
fn backoff(first: u64, failures: u32) -> u64 {
    first.saturating_mul(1 << failures.min(16)).min(limits::RECONNECT_MAX_MS)
}

fn name_of(id: u64) -> String {
    format!("w{id}")
}

fn number(name: &str) -> Option<u64> {
    name.strip_prefix('w')?.parse().ok()
}

fn source_of(topic: &Topic) -> Source {
    match topic {
        Topic::Membership => Source::Membership,
        Topic::OwnData => Source::OwnData,
        Topic::Channels(channels) if channels.len() == 1 => Source::Channels(channels.first().copied()),
        Topic::Channels(_) => Source::Channels(None),
    }
}

/// Everything of a channel that is drawn, counted, folded in or says who may see it.
fn filter(topic: &Topic, me: &PublicKey, since: Option<u64>) -> Filter {
    let mut filter = match topic {
        Topic::Membership => {
            Filter { p: Some(vec![me.to_hex()]), ..Filter::kinds(&[kinds::MEMBER_ADDED, kinds::MEMBER_REMOVED]) }
        }
        Topic::OwnData => Filter::kinds(&[kinds::APP_DATA]).by(me),
        Topic::Channels(channels) => {
            let mut all = kinds::ROWS.to_vec();
            all.extend(kinds::AUXILIARY);
            all.extend([kinds::SUMMARY, kinds::CHANNEL, kinds::ADMINS, kinds::MEMBERS]);
            Filter::kinds(&all).in_channels(channels.iter().copied())
        }
    };
    match since {
        Some(since) => filter.since = Some(since),
        None => filter.limit = Some(0),
    }
    filter
}
