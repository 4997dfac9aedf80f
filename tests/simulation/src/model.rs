//! The reference model: the whole history as the simulation itself knows it, and what may follow from it.
//!
//! It shares no code with the core. It knows every message, every deletion, what every screen showed for how long and what was asked by
//! name, and judges from that alone. Where a device cannot know everything, a judgement is *maybe*, and a count is a range.
//!
//! | question | answer |
//! | --- | --- |
//! | how far may a frontier be? | [`Model::allowed`]: the greatest value that a dwell or a call permitted, per key |
//! | is a message unread under these marks? | [`Model::judge`] (`unread.md` 4.1, 5.1) |
//! | does a mark still hold? | [`Model::holds`]: by itself or under a broader one that covers it (`unread.md` 8.5) |
//! | what is counted? | [`Model::count`] |

use std::collections::{BTreeMap, BTreeSet};

use waggle::ids::EventId;

use crate::plan::{Aim, Kind, MsgId, Screen, View, Who};

/// Seconds a message may be ahead before no prefix goes to it (R12).
pub const AHEAD: u64 = 900;
/// Age in seconds at which a message is read by itself (R17).
pub const FLOOR: u64 = 2_592_000;

pub use crate::plan::Mark as Key;

impl Key {
    /// Whether it is never published (R19).
    pub fn is_private(self) -> bool {
        matches!(self, Self::Message(_))
    }
}

impl From<Aim> for Key {
    fn from(aim: Aim) -> Self {
        match aim {
            Aim::Channel(c) => Self::Channel(c),
            Aim::Thread(m) => Self::Thread(m),
            Aim::Message(m) => Self::Message(m),
        }
    }
}

/// Frontiers.
pub type Marks = BTreeMap<Key, u64>;

/// A message.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "as in the plan")]
pub struct Msg {
    pub id: MsgId,
    pub event: EventId,
    pub by: Who,
    pub channel: usize,
    pub at: u64,
    pub parent: Option<MsgId>,
    /// Of a reply.
    pub root: Option<MsgId>,
    pub depth: u32,
    pub broadcast: bool,
    pub mention: bool,
    pub quiet: bool,
    pub deleted: bool,
    /// It arrived when the channel had one that stands after it: dated in the past, or of the same second.
    pub late: bool,
}

impl Msg {
    /// A row of the channel's timeline: top-level, or a direct broadcast reply.
    pub fn is_row(&self) -> bool {
        self.parent.is_none() || (self.broadcast && self.depth == 1)
    }

    fn counts(&self) -> bool {
        self.by != Who::Me && !self.quiet
    }
}

/// What is known of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Belief {
    /// It is not so.
    No,
    /// It may be so.
    Maybe,
    /// It is so.
    Yes,
}

impl Belief {
    fn of(known: bool) -> Self {
        if known { Self::Yes } else { Self::No }
    }

    fn or(self, other: Self) -> Self {
        self.max(other)
    }

    fn and(self, other: Self) -> Self {
        self.min(other)
    }

    fn not(self) -> Self {
        match self {
            Self::No => Self::Yes,
            Self::Maybe => Self::Maybe,
            Self::Yes => Self::No,
        }
    }
}

/// What one installation has saved, as far as the simulation saw it.
#[derive(Debug, Clone, Default)]
pub struct Installation {
    /// Frontiers seen in its journal: none of these may ever be lost.
    pub kept: Marks,
    /// Messages it may hold a mark of its own for.
    pub shown: BTreeSet<MsgId>,
    /// Manual marks.
    pub manual: BTreeMap<Aim, Belief>,
    /// Follow choices: `None` is unknown.
    pub choices: BTreeMap<MsgId, Option<bool>>,
    /// What a backup holds.
    pub backup: Option<Box<Installation>>,
}

impl Installation {
    /// Whether a target is marked unread by hand.
    pub fn manual(&self, aim: Aim) -> Belief {
        self.manual.get(&aim).copied().unwrap_or(Belief::No)
    }

    /// Whatever was certain about these marks is no longer.
    pub fn doubt(&mut self, which: impl Fn(Aim) -> bool) {
        for (aim, belief) in &mut self.manual {
            if which(*aim) && *belief == Belief::Yes {
                *belief = Belief::Maybe;
            }
        }
    }
}

/// A range of counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Range {
    /// At least.
    pub low: u32,
    /// At most.
    pub high: u32,
}

impl Range {
    fn add(&mut self, belief: Belief) {
        self.low += u32::from(belief == Belief::Yes);
        self.high += u32::from(belief != Belief::No);
    }

    /// Whether a number is in it.
    pub fn has(self, n: u32) -> bool {
        (self.low..=self.high).contains(&n)
    }
}

/// The latest second that is not dated ahead, by whatever clock a device may go by.
#[derive(Debug, Clone, Copy)]
pub struct Horizon {
    /// By the slowest.
    pub low: u64,
    /// By the fastest.
    pub high: u64,
}

/// The model.
#[derive(Debug, Default)]
pub struct Model {
    /// Types of the channels.
    pub kinds: Vec<Kind>,
    /// Whether the viewer is in them.
    pub member: Vec<bool>,
    /// All messages ever.
    pub messages: BTreeMap<MsgId, Msg>,
    /// How far frontiers may be, `msg:` keys aside.
    pub allowed: Marks,
    /// What other clients published; it counts from when it is not ahead any more (R12).
    pub peers: Vec<(Key, u64)>,
    /// Installations.
    pub installations: Vec<Installation>,
}

impl Model {
    /// The message of a number.
    pub fn message(&self, id: MsgId) -> Option<&Msg> {
        self.messages.get(&id)
    }

    /// The channel of a target.
    pub fn channel_of(&self, aim: Aim) -> Option<usize> {
        match aim {
            Aim::Channel(c) => (c < self.kinds.len()).then_some(c),
            Aim::Thread(m) | Aim::Message(m) => self.message(m).map(|m| m.channel),
        }
    }

    /// Whether a channel is a DM.
    pub fn is_dm(&self, channel: usize) -> bool {
        self.kinds.get(channel) == Some(&Kind::Dm)
    }

    /// Messages of a channel.
    pub fn of_channel(&self, channel: usize) -> impl Iterator<Item = &Msg> {
        self.messages.values().filter(move |m| m.channel == channel)
    }

    /// Every key there can be a frontier for.
    pub fn keys(&self) -> Vec<Key> {
        let channels = (0..self.kinds.len()).flat_map(|c| [Key::Channel(c), Key::Activity(c)]);
        let messages = self.messages.values().flat_map(|m| {
            let own = std::iter::once(Key::Message(m.id));
            own.chain(
                m.parent.is_none().then_some([Key::Thread(m.id), Key::ThreadActivity(m.id)]).into_iter().flatten(),
            )
        });
        channels.chain(messages).collect()
    }

    // --- What may be ---------------------------------------------------------------------------------------------------

    fn allow(&mut self, key: Key, value: u64) {
        let allowed = self.allowed.entry(key).or_insert(value);
        *allowed = value.max(*allowed);
    }

    fn newest(&self, within: u64, of: impl Fn(&Msg) -> bool) -> Option<u64> {
        self.messages.values().filter(|m| of(m) && m.at <= within).map(|m| m.at).max()
    }

    /// A screen showed something for a whole dwell. `sees_all` says that the device held every message of the channel then.
    pub fn dwelt(&mut self, installation: usize, view: &View, horizon: Horizon, sees_all: bool) {
        let Screen { channel, root } = view.screen;
        if !view.active || !view.settled {
            return;
        }
        let here = |model: &Self, id: MsgId| model.message(id).is_some_and(|m| m.channel == channel);
        let rows: Vec<MsgId> = view.rows.iter().copied().filter(|id| here(self, *id)).collect();
        let bottom = view.bottom.filter(|id| here(self, *id));
        if self.is_dm(channel) {
            if (!rows.is_empty() || bottom.is_some())
                && let Some(newest) = self.newest(horizon.high, |m| m.channel == channel)
            {
                self.allow(Key::Channel(channel), newest);
            }
            self.show(installation, rows.into_iter().chain(bottom));
            return;
        }
        self.show(installation, rows.into_iter());
        let Some(bottom) = bottom.and_then(|id| self.message(id)).cloned() else { return };
        match root {
            None if bottom.is_row() => {
                let newer = |m: &Msg| m.channel == channel && m.is_row() && m.at > bottom.at && !m.deleted;
                if sees_all && self.messages.values().any(newer) {
                    return;
                }
                if let Some(newest) = self.newest(horizon.high, |m| m.channel == channel) {
                    self.allow(Key::Activity(channel), newest);
                }
                let read = |m: &&Msg| m.is_row() && m.at <= bottom.at;
                let read: Vec<MsgId> = self.of_channel(channel).filter(read).map(|m| m.id).collect();
                self.show(installation, read.into_iter());
            }
            Some(root) if bottom.root == Some(root) => {
                let newer = |m: &Msg| m.root == Some(root) && m.at > bottom.at && !m.deleted;
                if sees_all && self.messages.values().any(newer) {
                    return;
                }
                if let Some(newest) = self.newest(horizon.high, |m| m.root == Some(root)) {
                    self.allow(Key::ThreadActivity(root), newest);
                }
                self.show_ahead(installation, horizon, |m| m.root == Some(root));
            }
            _ => {}
        }
    }

    /// Messages that may seem dated ahead are read by their own marks.
    fn show_ahead(&mut self, installation: usize, horizon: Horizon, of: impl Fn(&Msg) -> bool) {
        let ahead = self.messages.values().filter(|m| of(m) && m.at > horizon.low);
        let ahead: Vec<MsgId> = ahead.map(|m| m.id).collect();
        self.show(installation, ahead.into_iter());
    }

    fn show(&mut self, installation: usize, rows: impl Iterator<Item = MsgId>) {
        if let Some(installation) = self.installations.get_mut(installation) {
            installation.shown.extend(rows);
        }
    }

    /// Whether a target can be read through a message (R16, R16b).
    pub fn fits(&self, aim: Aim, id: MsgId) -> bool {
        let Some(m) = self.message(id) else { return false };
        match aim {
            Aim::Channel(c) => m.channel == c && m.parent.is_none(),
            Aim::Thread(root) => m.id == root || m.root == Some(root),
            Aim::Message(own) => own == id,
        }
    }

    /// Somebody asked to read a target through one of its messages.
    pub fn asked_through(&mut self, installation: usize, aim: Aim, id: MsgId, horizon: Horizon) {
        let Some(m) = self.message(id).cloned().filter(|_| self.fits(aim, id)) else { return };
        if aim == Aim::Message(id) {
            return self.show(installation, std::iter::once(id));
        }
        // R14b: dated ahead, it is read by its own mark, and the prefix goes to the newest that is not.
        self.show_ahead(installation, horizon, |o| o.id == id);
        let within = self.messages.values().filter(|o| self.fits(aim, o.id) && o.at <= horizon.high && o.at <= m.at);
        if let Some(newest) = within.map(|o| o.at).max() {
            self.allow(aim.into(), newest);
        }
    }

    /// Somebody asked to read a channel.
    pub fn asked_channel(&mut self, installation: usize, channel: usize, horizon: Horizon) {
        let click = horizon.high - AHEAD;
        let newest = self.newest(horizon.high, |m| m.channel == channel);
        self.allow(Key::Channel(channel), newest.map_or(click, |newest| newest.max(click)));
        self.show_ahead(installation, horizon, |m| m.channel == channel);
    }

    /// How far a frontier may be on an installation. `horizon` is the latest second that is not ahead for it.
    pub fn bound(&self, installation: usize, key: Key, horizon: u64) -> Option<u64> {
        let peers = self.peers.iter().filter(|(of, value)| *of == key && (key.is_private() || *value <= horizon));
        let peers = peers.map(|(_, value)| *value).max();
        let own = match key {
            Key::Message(id) => {
                let shown = self.installations.get(installation).is_some_and(|i| i.shown.contains(&id));
                self.message(id).filter(|_| shown).map(|m| m.at)
            }
            other => self.allowed.get(&other).copied(),
        };
        own.max(peers)
    }

    /// What a device that knows everything lists as threads with unread replies: how many may be unread under each root.
    pub fn activity(&self, of: &Installation, marks: &Marks, channel: usize, now: u64) -> BTreeMap<MsgId, Range> {
        let mut threads = BTreeMap::new();
        for m in self.of_channel(channel).filter(|_| !self.is_dm(channel)) {
            let Some(root) = m.root else { continue };
            let known = if self.message(root).is_none_or(|r| r.deleted) { Belief::Maybe } else { Belief::Yes };
            let listed = Belief::of(m.mention || m.broadcast).or(self.in_conversation(of, m));
            let (unread, _) = self.judge(of, marks, m, now);
            let range: &mut Range = threads.entry(root).or_default();
            range.add(unread.and(known).and(listed));
        }
        threads
    }

    // --- What holds ----------------------------------------------------------------------------------------------------

    /// Whether what a mark reads is still read: by itself, or under a broader one.
    pub fn holds(&self, marks: &Marks, key: Key, value: u64) -> bool {
        let at = |key: Key| marks.get(&key).is_some_and(|v| *v >= value);
        if at(key) {
            return true;
        }
        match key {
            Key::Channel(_) => false,
            Key::Activity(c) => at(Key::Channel(c)),
            Key::Thread(root) => self.home_holds(root, &at),
            Key::ThreadActivity(root) => at(Key::Thread(root)) || self.home_holds(root, &at),
            Key::Message(id) => self.message(id).is_some_and(|m| {
                // What a cover has to reach is the message, whatever a peer wrote.
                let reaches = |key: Key| marks.get(&key).is_some_and(|v| *v >= value.min(m.at));
                reaches(Key::Channel(m.channel)) || (self.is_ordinary(m) && reaches(Key::Activity(m.channel)))
            }),
        }
    }

    fn home_holds(&self, root: MsgId, at: &dyn Fn(Key) -> bool) -> bool {
        self.message(root).is_some_and(|m| at(Key::Channel(m.channel)))
    }

    /// A top-level message that `activity:` can read.
    fn is_ordinary(&self, m: &Msg) -> bool {
        // For agents only, it calls for nobody, whatever else it says (R10).
        m.parent.is_none() && (m.quiet || !(m.mention || m.broadcast)) && !self.is_dm(m.channel)
    }

    // --- What counts ---------------------------------------------------------------------------------------------------

    /// Whether marks read a message. Thread marks reach a reply only where its root can be had.
    fn is_read(&self, marks: &Marks, m: &Msg) -> Belief {
        let at = |key: Key| marks.get(&key).is_some_and(|v| *v >= m.at);
        if at(Key::Channel(m.channel)) || at(Key::Message(m.id)) {
            return Belief::Yes;
        }
        if self.is_ordinary(m) && at(Key::Activity(m.channel)) {
            return Belief::Yes;
        }
        let Some(root) = m.root else { return Belief::No };
        if !at(Key::Thread(root)) && !at(Key::ThreadActivity(root)) {
            return Belief::No;
        }
        match self.message(root) {
            Some(root) if !root.deleted => Belief::Yes,
            _ => Belief::Maybe,
        }
    }

    /// Whether a reply lies in one of the viewer's conversations.
    fn in_conversation(&self, of: &Installation, m: &Msg) -> Belief {
        let Some(root) = m.root else { return Belief::No };
        match of.choices.get(&root) {
            Some(Some(choice)) => return Belief::of(*choice),
            Some(None) => return Belief::Maybe,
            None => {}
        }
        let mine = self.messages.values().filter(|o| o.by == Who::Me && (o.id == root || o.root == Some(root)));
        mine.fold(Belief::No, |known, o| known.or(if o.deleted { Belief::Maybe } else { Belief::Yes }))
    }

    /// Whether a message is unread, and whether it wants attention.
    pub fn judge(&self, of: &Installation, marks: &Marks, m: &Msg, now: u64) -> (Belief, Belief) {
        if !m.counts() {
            return (Belief::No, Belief::No);
        }
        let conversation = self.in_conversation(of, m);
        let named = self.is_dm(m.channel) || m.mention || m.broadcast;
        let priority = Belief::of(named).or(conversation);
        let relevant = Belief::of(m.parent.is_none()).or(priority);
        let old = m.at + FLOOR <= now;
        let by_rule = relevant.and(Belief::of(!old)).and(self.is_read(marks, m).not());
        let unread = match of.manual(Aim::Message(m.id)) {
            Belief::Yes => Belief::Yes,
            Belief::Maybe => by_rule.or(Belief::Maybe),
            Belief::No => by_rule,
        };
        // A deletion that a device never heard of cannot count against it.
        let unread = if m.deleted { unread.and(Belief::Maybe) } else { unread };
        (unread, unread.and(priority))
    }

    /// Whether a message could be unread for a device that knows but a part: nothing it is sure to know reads it.
    pub fn could_be_unread(&self, of: &Installation, marks: &Marks, m: &Msg, now: u64) -> bool {
        let marked = of.manual(Aim::Message(m.id)) != Belief::No;
        let old = m.at + FLOOR < now;
        m.counts() && (marked || (!old && self.is_surely_read(marks, m) == Belief::No))
    }

    /// As [`Self::is_read`], without what needs the root.
    fn is_surely_read(&self, marks: &Marks, m: &Msg) -> Belief {
        match self.is_read(marks, m) {
            Belief::Yes => {
                let without_root = Msg { root: None, ..m.clone() };
                if m.root.is_none() { Belief::Yes } else { self.is_read(marks, &without_root) }
            }
            _ => Belief::No,
        }
    }

    /// Whether a message belongs to a target.
    pub fn is_member(&self, aim: Aim, m: &Msg) -> bool {
        match aim {
            Aim::Channel(c) => m.channel == c,
            Aim::Thread(root) => m.root == Some(root),
            Aim::Message(id) => m.id == id,
        }
    }

    /// What a device that knows everything counts: unread, and wanting attention.
    pub fn count(&self, of: &Installation, marks: &Marks, aim: Aim, now: u64) -> (Range, Range) {
        let (mut unread, mut attention) = (Range::default(), Range::default());
        for m in self.messages.values().filter(|m| self.is_member(aim, m)) {
            // Under a deleted root a thread may be no thread.
            let in_thread = match aim {
                Aim::Thread(root) if self.message(root).is_none_or(|r| r.deleted) => Belief::Maybe,
                _ => Belief::Yes,
            };
            let (a, b) = self.judge(of, marks, m, now);
            unread.add(a.and(in_thread));
            attention.add(b.and(in_thread));
        }
        (unread, attention)
    }

    /// The most a device that knows a part can count.
    pub fn at_most(&self, of: &Installation, marks: &Marks, aim: Aim, now: u64) -> u32 {
        let members = self.messages.values().filter(|m| self.is_member(aim, m));
        let counted = members.filter(|m| self.could_be_unread(of, marks, m, now)).count();
        u32::try_from(counted).unwrap_or(u32::MAX)
    }
}
