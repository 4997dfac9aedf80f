//! Counting anew in one pass: the same answers from the same inputs, without any of the projection's state.
//!
//! It shares only the rule for one message with the projection and asks every fact again: ancestry is walked, the viewer's part in
//! conversations collected, every mark read. Tests compare both after every step; benches divide one by the other (P6).

use std::collections::{BTreeMap, HashMap, HashSet};

use super::marks::MarkKey;
use super::rules::{Facts, Place as Standing, State, evaluate};
use super::snapshot::{DENIED, counted, manual};
use super::{Context, Unread};
use crate::event::Event;
use crate::evidence::{ChannelAccess, Entry};
use crate::ids::{ChannelId, EventId, Target};
use crate::limits;
use crate::model::{ThreadActivity, ThreadActivityItem, UnreadSnapshot};
use crate::order::RowKey;
use crate::relevance::{LookupKey, Place};

#[derive(Default)]
struct Scope {
    counts: (u32, u32, bool),
    latest: Option<RowKey>,
    listed: Option<(RowKey, u32)>,
}

impl Scope {
    fn add(&mut self, key: RowKey, state: State) {
        let (unread, attention, waiting) = state.shown();
        self.counts.0 += u32::from(unread);
        self.counts.1 += u32::from(attention);
        self.counts.2 |= waiting;
        self.latest = Some(self.latest.map_or(key, |latest| latest.min(key)));
        if state.listed {
            let (first, count) = self.listed.unwrap_or((key, 0));
            self.listed = Some((first.min(key), count + 1));
        }
    }
}

/// Everything counted anew.
pub struct Recomputed<'a> {
    unread: &'a Unread,
    ctx: Context<'a>,
    channels: HashMap<ChannelId, Scope>,
    threads: BTreeMap<Place, Scope>,
    messages: HashMap<EventId, State>,
}

/// Where the viewer took part.
struct Parts {
    threads: HashSet<Place>,
    joined: HashSet<Place>,
    own: HashSet<Place>,
}

impl Unread {
    /// Counts everything anew, in one pass over the evidence.
    pub fn recompute<'a>(&'a self, ctx: &Context<'a>) -> Recomputed<'a> {
        let mut all = Recomputed {
            unread: self,
            ctx: *ctx,
            channels: HashMap::new(),
            threads: BTreeMap::new(),
            messages: HashMap::new(),
        };
        let parts = self.parts();
        for (_, channel, entry) in self.evidence.messages().filter(|(_, _, entry)| !entry.deleted()) {
            let event = entry.event();
            let root = event.reference.and_then(|_| self.relevance.resolve(channel, event, &self.evidence));
            let state = all.evaluate(channel, event, root, &parts);
            all.channels.entry(channel).or_default().add(event.key(), state);
            if let Some(root) = root {
                all.threads.entry((channel, root)).or_default().add(event.key(), state);
            }
            all.messages.insert(event.id, state);
        }
        all
    }

    fn parts(&self) -> Parts {
        let mut parts = Parts {
            threads: self.relevance.looked_up_threads().collect(),
            joined: HashSet::new(),
            own: HashSet::new(),
        };
        let is_own = |entry: &Entry| !entry.deleted() && entry.event().pubkey == self.access.viewer();
        for (_, channel, entry) in self.evidence.messages().filter(|(_, _, entry)| is_own(entry)) {
            let event = entry.event();
            parts.own.insert((channel, event.id));
            parts.threads.insert((channel, event.claimed_root()));
            parts.joined.extend(event.reference.map(|r| (channel, r.parent)));
        }
        parts
    }
}

impl Recomputed<'_> {
    fn evaluate(&self, channel: ChannelId, event: &Event, root: Option<EventId>, parts: &Parts) -> State {
        let (access, relevance, marks) = (&self.unread.access, &self.unread.relevance, self.ctx.marks);
        let mut facts = Facts {
            is_live: true,
            is_own: event.pubkey == access.viewer(),
            is_quiet: event.quiet,
            is_reply: event.reference.is_some(),
            is_mention: event.mentions(access.viewer_hex(), access.relay()),
            is_broadcast: event.broadcast,
            is_forced: marks.is_marked(MarkKey::Message(event.id)),
            is_settled: true,
            ..Facts::default()
        };
        if let Some(reference) = event.reference {
            let (thread, parent) = ((channel, reference.root), (channel, reference.parent));
            facts.choice = relevance.choice(thread);
            facts.in_conversation = facts.choice.unwrap_or_else(|| {
                parts.threads.contains(&thread) || parts.own.contains(&parent) || parts.joined.contains(&parent)
            });
            let key = LookupKey { channel, id: reference.parent, structure: false };
            facts.is_settled = relevance.is_settled(&key, &reference.root);
        }
        let frontier = |key| marks.frontier(key);
        let of_channel = frontier(MarkKey::Channel(channel));
        let of_thread = root.and_then(|root| frontier(MarkKey::Thread(root)));
        let generic = of_channel.max(of_thread).max(frontier(MarkKey::Message(event.id)));
        let is_active = |key, frontier| marks.register(key).is_some_and(|r| r.is_active(frontier));
        let overridden = marks.has_registers()
            && (is_active(MarkKey::Message(event.id), generic)
                || is_active(MarkKey::Channel(channel), of_channel)
                || root.is_some_and(|root| is_active(MarkKey::Thread(root), of_thread.max(of_channel))));
        let signed = |value: Option<u64>| value.map_or(-1, |v| i64::try_from(v).unwrap_or(i64::MAX));
        let standing = Standing {
            is_dm: access.channel(channel).is_some_and(ChannelAccess::is_dm),
            has_root: root.is_some(),
            created_at: signed(Some(event.created_at)),
            floor: signed(self.ctx.server.checked_sub(limits::FLOOR_AGE)),
            generic: signed(generic),
            activity: signed(frontier(MarkKey::Activity(channel))),
            thread_activity: signed(root.and_then(|root| frontier(MarkKey::ThreadActivity(root)))),
            overridden,
        };
        evaluate(&facts, &standing).0
    }

    /// As [`Unread::snapshot`].
    pub fn snapshot(&self, target: &Target) -> UnreadSnapshot {
        let (unread, marks, channel) = (self.unread, self.ctx.marks, target.channel());
        if !unread.access.is_allowed(channel) {
            return DENIED;
        }
        let (scope, root) = match target {
            Target::Channel(_) => (self.channels.get(&channel), None),
            Target::Thread(_, root) if unread.home_of(root) == Some(channel) => {
                (self.threads.get(&(channel, *root)), None)
            }
            Target::Message(_, id) => {
                let Some(entry) = unread.evidence.get(id).filter(|e| e.channel() == Some(channel)) else {
                    return DENIED;
                };
                let event = entry.event();
                let root = event.reference.and_then(|_| unread.relevance.resolve(channel, event, &unread.evidence));
                let (is_unread, attention, pending) = self.messages.get(id).copied().unwrap_or_default().shown();
                let counts = (u32::from(is_unread), u32::from(attention), pending);
                return counted(&unread.evidence, channel, counts, None, manual(target, root, marks));
            }
            Target::Thread(..) => return DENIED,
        };
        let counts = scope.map_or((0, 0, false), |s| s.counts);
        let latest = scope.filter(|_| matches!(target, Target::Channel(_))).and_then(|s| s.latest).map(|key| key.id);
        counted(&unread.evidence, channel, counts, latest, manual(target, root, marks))
    }

    /// As [`Unread::thread_activity`].
    pub fn thread_activity(&self, channel: ChannelId) -> ThreadActivity {
        let unread = self.unread;
        if !unread.access.is_allowed(channel) || !unread.evidence.is_known(channel) {
            return ThreadActivity { items: None };
        }
        let threads = self.threads.iter().filter(|((home, _), _)| *home == channel);
        let mut found: Vec<_> =
            threads.filter_map(|((_, root), scope)| scope.listed.map(|(first, count)| (first, count, *root))).collect();
        found.sort_unstable();
        let item = |(latest, count, root): (RowKey, u32, EventId)| {
            let event = unread.evidence.get(&latest.id)?.event();
            let author = event.author(unread.access.relay());
            let text = unread.evidence.text(event, &unread.access);
            Some(ThreadActivityItem { root, latest: latest.id, author, created_at: latest.created_at, text, count })
        };
        ThreadActivity { items: Some(found.into_iter().filter_map(item).collect()) }
    }
}

impl std::fmt::Debug for Recomputed<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Recomputed({} messages)", self.messages.len())
    }
}
