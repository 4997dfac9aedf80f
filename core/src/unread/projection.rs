//! The counts, kept up to date message by message.
//!
//! Every message, thread and channel has a small number; each scope holds its messages in row order and running totals. A change
//! of any input names the messages it can concern, by an index of exactly that input:
//!
//! | input | messages queued |
//! |---|---|
//! | new message | itself |
//! | frontier of a channel or thread | those dated between old and new, by the scope's order |
//! | 30-day floor | those dated between old and new, by the order of all |
//! | mark on one message | itself |
//! | a `Touch` of relevance | replies by parent, by claimed root, or by way of a root |
//! | channel type, an override register | its channel or thread |
//!
//! Queued messages are evaluated once, at [`Projection::settle`], and their difference is added to the totals. So one live event
//! costs O(log n), a frontier O(log n + k), and nothing depends on how many channels there are.
//!
//! Invariants, which the oracle checks: totals equal what counting anew gives; a message's stored state is what [`super::rules`]
//! says of its stored facts, except while it is queued. Reset paths build everything anew from evidence.

use std::collections::BTreeSet;

use crate::evidence::IdMap;

use super::dirty::Dirty;
use super::marks::{MarkKey, MarkSource, Register};
use super::rules::{Facts, State, evaluate};
use super::sorted::Sorted;
use crate::evidence::Handle;
use crate::ids::{ChannelId, EventId};
use crate::order::RowKey;
use crate::relevance::{Place, Relation};

/// No number.
const NONE: u32 = u32::MAX;

/// Number of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Msg(pub(super) u32);

/// What evaluation needs comes first and fills one line of the processor's cache: marking a thousand messages read is bound by how
/// many such lines it fetches (P7).
#[repr(C, align(64))]
pub(super) struct Message {
    pub(super) channel: u32,
    pub(super) thread: u32,
    frontier: i64,
    pub(super) register: Option<Box<Register>>,
    pub(super) facts: Facts,
    pub(super) state: State,
    queued: bool,
    /// Its relation to conversations must be asked anew.
    unrelated: bool,
    /// Its look-up was asked for since then.
    wanted: bool,
    pub(super) key: RowKey,
    /// Its channel.
    pub(super) home: ChannelId,
    pub(super) handle: Handle,
    next_sibling: u32,
    next_claimant: u32,
    pub(super) parent: EventId,
    pub(super) claimed: EventId,
}

/// A message among those of its scope, ordered by its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Member {
    pub(super) key: RowKey,
    pub(super) msg: Msg,
}

/// What a scope counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Totals {
    pub(super) observed: u32,
    pub(super) attention: u32,
    pub(super) waiting: u32,
}

impl Totals {
    fn shift(&mut self, old: State, new: State) {
        let count = |n: &mut u32, was: bool, is: bool| match (was, is) {
            (false, true) => *n = n.saturating_add(1),
            (true, false) => *n = n.saturating_sub(1),
            _ => {}
        };
        count(&mut self.observed, old.unread, new.unread);
        count(&mut self.attention, old.unread && old.priority, new.unread && new.priority);
        count(&mut self.waiting, old.waiting, new.waiting);
    }

    /// What a snapshot shows of them.
    fn shown(&self) -> (u32, u32, bool) {
        (self.observed, self.attention, self.waiting > 0)
    }
}

struct Marks {
    frontier: i64,
    catch_up: i64,
    register: Option<Box<Register>>,
}

/// Aligned, so that a live event touches two lines of the processor's cache here, whatever the number of channels (P6).
#[repr(C, align(64))]
pub(super) struct Channel {
    pub(super) id: ChannelId,
    marks: Marks,
    pub(super) totals: Totals,
    pub(super) is_dm: bool,
    /// Live messages, newest first.
    pub(super) members: Sorted<Member>,
    /// Threads with listed replies.
    pub(super) active: BTreeSet<u32>,
    /// Threads with live replies.
    pub(super) threads: BTreeSet<u32>,
}

pub(super) struct Thread {
    pub(super) root: EventId,
    marks: Marks,
    /// Live replies, newest first.
    pub(super) members: Sorted<Member>,
    pub(super) totals: Totals,
    /// Unread replies of thread activity, newest first.
    pub(super) listed: Sorted<RowKey>,
}

#[derive(Default)]
pub(super) struct Projection {
    pub(super) messages: Vec<Message>,
    by_handle: Vec<u32>,
    pub(super) channels: Vec<Channel>,
    channel_ids: IdMap<ChannelId, u32>,
    pub(super) threads: Vec<Thread>,
    thread_ids: IdMap<EventId, u32>,
    free_threads: Vec<u32>,
    /// Last reply by (channel, parent) and by (channel, claimed root); the others follow in the messages.
    by_parent: IdMap<Place, u32>,
    by_claimed: IdMap<Place, u32>,
    by_time: Sorted<(u64, Msg)>,
    /// Messages at or before this second are read (R17); −1 when none is.
    floor: i64,
    queue: Vec<Msg>,
    /// Targets whose answer may have changed.
    pub(super) dirty: Dirty,
}

fn signed(value: Option<u64>) -> i64 {
    value.map_or(-1, |v| i64::try_from(v).unwrap_or(i64::MAX))
}

fn known(value: i64) -> Option<u64> {
    u64::try_from(value).ok()
}

impl Marks {
    fn of(frontier: MarkKey, catch_up: MarkKey, marks: &dyn MarkSource) -> Self {
        Self {
            frontier: signed(marks.frontier(frontier)),
            catch_up: signed(marks.frontier(catch_up)),
            register: register(frontier, marks),
        }
    }
}

/// Kept apart from what is always looked at: hardly any key has one.
fn register(key: MarkKey, marks: &dyn MarkSource) -> Option<Box<Register>> {
    if marks.has_registers() { marks.register(key).map(Box::new) } else { None }
}

impl Projection {
    pub(super) fn new(floor: i64) -> Self {
        Self { floor, ..Self::default() }
    }

    /// Forgets all messages; every target is dirty.
    pub(super) fn reset(&mut self) {
        *self = Self { dirty: Dirty { all: true, ..Dirty::default() }, ..Self::new(self.floor) };
    }

    pub(super) fn message(&self, msg: Msg) -> Option<&Message> {
        self.messages.get(msg.0 as usize)
    }

    pub(super) fn by_handle(&self, handle: Handle) -> Option<Msg> {
        self.by_handle.get(handle.ix()).filter(|m| **m != NONE).map(|m| Msg(*m))
    }

    pub(super) fn channel(&self, id: ChannelId) -> Option<&Channel> {
        self.channels.get(*self.channel_ids.get(&id)? as usize)
    }

    pub(super) fn thread(&self, root: &EventId) -> Option<&Thread> {
        self.threads.get(*self.thread_ids.get(root)? as usize)
    }

    pub(super) fn thread_at(&self, ix: u32) -> Option<&Thread> {
        self.threads.get(ix as usize)
    }

    pub(super) fn thread_of(&self, message: &Message) -> Option<&Thread> {
        self.thread_at(message.thread)
    }

    fn channel_ix(&mut self, id: ChannelId, is_dm: bool, marks: &dyn MarkSource) -> u32 {
        if let Some(ix) = self.channel_ids.get(&id) {
            return *ix;
        }
        let ix = number(self.channels.len());
        self.channels.push(Channel {
            id,
            is_dm,
            marks: Marks::of(MarkKey::Channel(id), MarkKey::Activity(id), marks),
            members: Sorted::default(),
            totals: Totals::default(),
            active: BTreeSet::new(),
            threads: BTreeSet::new(),
        });
        self.channel_ids.insert(id, ix);
        ix
    }

    fn thread_ix(&mut self, root: EventId, channel: u32, marks: &dyn MarkSource) -> u32 {
        if let Some(ix) = self.thread_ids.get(&root) {
            return *ix;
        }
        let thread = Thread {
            root,
            marks: Marks::of(MarkKey::Thread(root), MarkKey::ThreadActivity(root), marks),
            members: Sorted::default(),
            totals: Totals::default(),
            listed: Sorted::default(),
        };
        let ix = match self.free_threads.pop() {
            Some(ix) => {
                if let Some(slot) = self.threads.get_mut(ix as usize) {
                    *slot = thread;
                }
                ix
            }
            None => {
                self.threads.push(thread);
                number(self.threads.len() - 1)
            }
        };
        self.thread_ids.insert(root, ix);
        if let Some(channel) = self.channels.get_mut(channel as usize) {
            channel.threads.insert(ix);
        }
        ix
    }

    /// Adds a message, live or deleted, and queues it. `home`: its channel and whether that is a DM.
    pub(super) fn add(
        &mut self,
        handle: Handle,
        key: RowKey,
        home: (ChannelId, bool),
        reference: Option<(EventId, EventId)>,
        facts: Facts,
        marks: &dyn MarkSource,
    ) -> Msg {
        let channel = self.channel_ix(home.0, home.1, marks);
        let msg = Msg(number(self.messages.len()));
        let id = MarkKey::Message(key.id);
        let (parent, claimed) = reference.unwrap_or((key.id, key.id));
        let chain = |index: &mut IdMap<Place, u32>, to: EventId| {
            if facts.is_reply { index.insert((home.0, to), msg.0).unwrap_or(NONE) } else { NONE }
        };
        let next_sibling = chain(&mut self.by_parent, parent);
        let next_claimant = chain(&mut self.by_claimed, claimed);
        let is_live = facts.is_live;
        self.messages.push(Message {
            home: home.0,
            channel,
            thread: NONE,
            key,
            handle,
            parent,
            claimed,
            facts: Facts { is_forced: marks.is_marked(id), ..facts },
            state: State::default(),
            frontier: signed(marks.frontier(id)),
            register: register(id, marks),
            next_sibling,
            next_claimant,
            queued: false,
            unrelated: true,
            wanted: false,
        });
        if self.by_handle.len() <= handle.ix() {
            self.by_handle.resize(handle.ix() + 1, NONE);
        }
        if let Some(slot) = self.by_handle.get_mut(handle.ix()) {
            *slot = msg.0;
        }
        if is_live {
            self.by_time.insert((key.created_at, msg));
            if let Some(channel) = self.channels.get_mut(channel as usize) {
                channel.members.insert(Member { key, msg });
                if channel.members.first().is_some_and(|first| first.key == key) {
                    self.dirty.channels.push(channel.id);
                }
            }
            self.queue(msg, true);
        }
        // The message and the thread under it become targets.
        self.dirty.messages.push((home.0, key.id));
        self.dirty.threads.push((home.0, key.id));
        msg
    }

    /// A message was deleted.
    pub(super) fn remove(&mut self, msg: Msg) {
        let Some(message) = self.messages.get_mut(msg.0 as usize) else { return };
        if !message.facts.is_live {
            return;
        }
        message.facts.is_live = false;
        let (key, channel) = (message.key, message.channel);
        self.apply(msg, State::default());
        self.set_thread(msg, None, &super::marks::NoMarks);
        self.by_time.remove(&(key.created_at, msg));
        if let Some(channel) = self.channels.get_mut(channel as usize) {
            let was_latest = channel.members.first().is_some_and(|first| first.key == key);
            channel.members.remove(&Member { key, msg });
            if was_latest {
                self.dirty.channels.push(channel.id);
            }
        }
    }

    /// Puts a live message under its resolved root, or under none.
    pub(super) fn set_thread(&mut self, msg: Msg, root: Option<EventId>, marks: &dyn MarkSource) {
        let Some((channel, key, old, state)) = self.message(msg).map(|m| (m.channel, m.key, m.thread, m.state)) else {
            return;
        };
        if self.thread_at(old).map(|t| t.root) == root {
            return;
        }
        // Its part of the totals moves with it.
        self.apply(msg, State::default());
        if let Some(thread) = self.threads.get_mut(old as usize) {
            thread.members.remove(&Member { key, msg });
            if thread.members.is_empty() {
                let root = thread.root;
                self.thread_ids.remove(&root);
                self.free_threads.push(old);
                if let Some(channel) = self.channels.get_mut(channel as usize) {
                    channel.threads.remove(&old);
                }
            }
        }
        let new = root.map_or(NONE, |root| self.thread_ix(root, channel, marks));
        if let Some(message) = self.messages.get_mut(msg.0 as usize) {
            message.thread = new;
        }
        if let Some(thread) = self.threads.get_mut(new as usize) {
            thread.members.insert(Member { key, msg });
        }
        self.apply(msg, state);
        self.queue(msg, false);
    }

    /// Queues a message for evaluation; `relation`: its conversations too.
    pub(super) fn queue(&mut self, msg: Msg, relation: bool) {
        let Some(message) = self.messages.get_mut(msg.0 as usize) else { return };
        message.unrelated |= relation;
        if message.facts.is_live && !message.queued {
            message.queued = true;
            self.queue.push(msg);
        }
    }

    fn queue_all(&mut self, messages: Vec<Msg>, relation: bool) {
        for msg in messages {
            self.queue(msg, relation);
        }
    }

    /// Replies to `parent`, last first.
    pub(super) fn siblings(&self, parent: Place) -> Vec<Msg> {
        let first = self.by_parent.get(&parent).copied().unwrap_or(NONE);
        self.chain(first, |m| m.next_sibling)
    }

    /// Replies that claim `root`, last first.
    pub(super) fn claimants(&self, root: Place) -> Vec<Msg> {
        let first = self.by_claimed.get(&root).copied().unwrap_or(NONE);
        self.chain(first, |m| m.next_claimant)
    }

    fn chain(&self, first: u32, next: impl Fn(&Message) -> u32) -> Vec<Msg> {
        let mut found = Vec::new();
        let mut at = first;
        while let Some(message) = self.messages.get(at as usize) {
            found.push(Msg(at));
            at = next(message);
        }
        found
    }

    /// Whether some reply claims this root.
    pub(super) fn is_claimed(&self, root: Place) -> bool {
        self.by_claimed.contains_key(&root)
    }

    /// Evaluates what is queued, in order of arrival; `relate` says how a reply stands to the viewer's conversations. The messages
    /// that now want a look-up and did not ask yet.
    pub(super) fn settle(&mut self, relate: impl Fn(&Message) -> Relation) -> Vec<Msg> {
        let mut wants = Vec::new();
        let mut queue = std::mem::take(&mut self.queue);
        for msg in queue.drain(..) {
            let Some(message) = self.messages.get_mut(msg.0 as usize) else { continue };
            message.queued = false;
            if std::mem::take(&mut message.unrelated) && message.facts.is_reply {
                let relation = relate(message);
                message.wanted = false;
                message.facts.in_conversation = relation.conversation;
                message.facts.choice = relation.choice;
                message.facts.is_settled = relation.settled;
            }
            let Some((state, wants_lookup)) = self.evaluate(msg) else { continue };
            self.apply(msg, state);
            if wants_lookup
                && let Some(message) = self.messages.get_mut(msg.0 as usize)
                && !std::mem::replace(&mut message.wanted, true)
            {
                wants.push(msg);
            }
        }
        // Keeps its room.
        self.queue = queue;
        wants.sort_unstable();
        wants
    }

    fn evaluate(&self, msg: Msg) -> Option<(State, bool)> {
        let message = self.message(msg)?;
        let channel = self.channels.get(message.channel as usize)?;
        let thread = self.thread_of(message);
        let (channel_frontier, message_frontier) = (channel.marks.frontier, message.frontier);
        let thread_frontier = thread.map_or(-1, |t| t.marks.frontier);
        let generic = channel_frontier.max(message_frontier).max(thread_frontier);
        let active = |register: &Option<Box<Register>>, frontier: i64| {
            register.as_ref().is_some_and(|r| r.is_active(known(frontier)))
        };
        let overridden = active(&message.register, generic)
            || active(&channel.marks.register, channel_frontier)
            || thread.is_some_and(|t| active(&t.marks.register, t.marks.frontier.max(channel_frontier)));
        let place = super::rules::Place {
            is_dm: channel.is_dm,
            has_root: thread.is_some(),
            created_at: signed(Some(message.key.created_at)),
            floor: self.floor,
            generic,
            activity: channel.marks.catch_up,
            thread_activity: thread.map_or(-1, |t| t.marks.catch_up),
            overridden,
        };
        Some(evaluate(&message.facts, &place))
    }

    /// Replaces a message's state and moves the totals by the difference.
    fn apply(&mut self, msg: Msg, new: State) {
        let Some(message) = self.messages.get_mut(msg.0 as usize) else { return };
        let old = std::mem::replace(&mut message.state, new);
        if old == new {
            return;
        }
        let (key, thread_ix) = (message.key, message.thread);
        let Some(channel) = self.channels.get_mut(message.channel as usize) else { return };
        if old.shown() != new.shown() {
            self.dirty.messages.push((channel.id, key.id));
        }
        let before = channel.totals.shown();
        channel.totals.shift(old, new);
        if before != channel.totals.shown() {
            self.dirty.channels.push(channel.id);
        }
        let Some(thread) = self.threads.get_mut(thread_ix as usize) else { return };
        let before = thread.totals.shown();
        thread.totals.shift(old, new);
        if before != thread.totals.shown() {
            self.dirty.threads.push((channel.id, thread.root));
        }
        if old.listed != new.listed {
            if new.listed {
                thread.listed.insert(key);
            } else {
                thread.listed.remove(&key);
            }
            if thread.listed.is_empty() {
                channel.active.remove(&thread_ix);
            } else {
                channel.active.insert(thread_ix);
            }
            self.dirty.activity.push(channel.id);
        }
    }

    /// The floor moved (R17).
    pub(super) fn set_floor(&mut self, floor: i64) {
        let old = std::mem::replace(&mut self.floor, floor);
        if old == floor {
            return;
        }
        let (low, high) = (old.min(floor), old.max(floor));
        let Some(high) = known(high) else { return };
        let low = known(low).map_or(0, |low| low.saturating_add(1));
        let passed: Vec<_> =
            self.by_time.range(|(at, _)| *at < low, |(at, _)| *at <= high).map(|(_, msg)| *msg).collect();
        self.queue_all(passed, false);
    }

    /// The earliest live message above the floor.
    pub(super) fn next_above_floor(&self) -> Option<u64> {
        let above = known(self.floor).map_or(0, |floor| floor.saturating_add(1));
        self.by_time.range(|(at, _)| *at < above, |_| true).next().map(|(at, _)| *at)
    }

    /// The channel's type changed between DM and anything else.
    pub(super) fn set_dm(&mut self, id: ChannelId, is_dm: bool) {
        let Some(ix) = self.channel_ids.get(&id).copied() else { return };
        let Some(channel) = self.channels.get_mut(ix as usize) else { return };
        if std::mem::replace(&mut channel.is_dm, is_dm) != is_dm {
            let all = channel.members.iter().map(|member| member.msg).collect();
            self.queue_all(all, false);
        }
    }

    /// One key of the record of reading may have changed. Manual marks of scopes change no count.
    pub(super) fn mark_changed(&mut self, key: MarkKey, marks: &dyn MarkSource) {
        match key {
            MarkKey::Channel(id) | MarkKey::Activity(id) => self.channel_marks_changed(id, marks),
            MarkKey::Thread(root) | MarkKey::ThreadActivity(root) => self.thread_marks_changed(root, marks),
            MarkKey::Message(_) | MarkKey::MessageForce(_) => {}
        }
    }

    fn channel_marks_changed(&mut self, id: ChannelId, marks: &dyn MarkSource) {
        let Some(ix) = self.channel_ids.get(&id).copied() else { return };
        let Some(channel) = self.channels.get_mut(ix as usize) else { return };
        let new = Marks::of(MarkKey::Channel(id), MarkKey::Activity(id), marks);
        let old = std::mem::replace(&mut channel.marks, new);
        let found = reached(&channel.members, &old, &channel.marks, marks.has_registers());
        self.queue_all(found, false);
    }

    fn thread_marks_changed(&mut self, root: EventId, marks: &dyn MarkSource) {
        let Some(ix) = self.thread_ids.get(&root).copied() else { return };
        let Some(thread) = self.threads.get_mut(ix as usize) else { return };
        let new = Marks::of(MarkKey::Thread(root), MarkKey::ThreadActivity(root), marks);
        let old = std::mem::replace(&mut thread.marks, new);
        let found = reached(&thread.members, &old, &thread.marks, marks.has_registers());
        self.queue_all(found, false);
    }

    pub(super) fn message_marks_changed(&mut self, msg: Msg, marks: &dyn MarkSource) {
        let Some(message) = self.messages.get_mut(msg.0 as usize) else { return };
        let key = MarkKey::Message(message.key.id);
        message.facts.is_forced = marks.is_marked(key);
        message.frontier = signed(marks.frontier(key));
        message.register = register(key, marks);
        self.queue(msg, false);
    }
}

/// Members a change of a scope's marks can concern: those dated between the old and the new value. A register can turn with the
/// frontier, and then concerns all.
fn reached(members: &Sorted<Member>, old: &Marks, new: &Marks, has_registers: bool) -> Vec<Msg> {
    if has_registers || old.register != new.register {
        return members.iter().map(|member| member.msg).collect();
    }
    let mut found = Vec::new();
    for (was, is) in [(old.frontier, new.frontier), (old.catch_up, new.catch_up)] {
        let (low, high) = (was.min(is), was.max(is));
        // Newest first: from the first that is not past the greater value, to the first that is not past the lesser.
        let past = |member: &Member, value: i64| signed(Some(member.key.created_at)) > value;
        if low < high {
            found.extend(members.range(|m| past(m, high), |m| past(m, low)).map(|member| member.msg));
        }
    }
    found
}

fn number(n: usize) -> u32 {
    // Bounded far below by the evidence window.
    u32::try_from(n).unwrap_or(NONE)
}
