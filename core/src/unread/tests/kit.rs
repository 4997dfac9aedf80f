//! A small world to count in: people, channels, marks, and a relay that is played by the test.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::clock::Millis;
use crate::error::NetworkFailure;
use crate::event::{Batch, SharedEvent};
use crate::evidence::ChannelAccess;
use crate::ids::{ChannelId, EventId, Target};
use crate::model::{ChannelType, ThreadActivity, UnreadSnapshot};
use crate::request::{Answer, Body, Filter, Outbox, Purpose, Request, RequestError, RequestId};
use crate::testing::{Author, channel, template};
use crate::unread::{Context, MarkKey, MarkSource, Register, Unread};

/// The moment tests happen at, unless they say otherwise: so early that no message is thirty days old.
pub(super) const NOW: u64 = 1_000_000;

/// A record of reading that tests write to.
#[derive(Default)]
pub(super) struct Marks {
    pub(super) frontiers: BTreeMap<MarkKey, u64>,
    pub(super) local: BTreeSet<MarkKey>,
    pub(super) registers: BTreeMap<MarkKey, Register>,
}

impl MarkSource for Marks {
    fn frontier(&self, key: MarkKey) -> Option<u64> {
        self.frontiers.get(&key).copied()
    }

    fn is_marked(&self, key: MarkKey) -> bool {
        self.local.contains(&key)
    }

    fn register(&self, key: MarkKey) -> Option<Register> {
        self.registers.get(&key).copied()
    }

    fn has_registers(&self) -> bool {
        !self.registers.is_empty()
    }

    fn registered(&self) -> Vec<MarkKey> {
        self.registers.keys().copied().collect()
    }
}

/// A message in the making.
pub(super) struct Say {
    by: &'static str,
    at: u64,
    kind: u16,
    tags: Vec<Vec<String>>,
    text: String,
}

/// A message by somebody in a channel.
pub(super) fn say(by: &'static str, home: &str, at: u64) -> Say {
    bare(by, at).tag(&["h", &channel(home).to_string()])
}

/// An event without any tag.
pub(super) fn bare(by: &'static str, at: u64) -> Say {
    Say { by, at, kind: 9, tags: Vec::new(), text: "text".into() }
}

impl Say {
    pub(super) fn tag(mut self, tag: &[&str]) -> Self {
        self.tags.push(tag.iter().map(|t| (*t).to_string()).collect());
        self
    }

    pub(super) fn kind(mut self, kind: u16) -> Self {
        self.kind = kind;
        self
    }

    pub(super) fn text(mut self, text: &str) -> Self {
        self.text = text.into();
        self
    }

    /// Answers `parent`, claiming no other root.
    pub(super) fn to(self, parent: &EventId) -> Self {
        self.tag(&["e", &parent.to_hex(), "", "reply"])
    }

    /// Answers `parent` under `root`.
    pub(super) fn under(self, root: &EventId, parent: &EventId) -> Self {
        self.tag(&["e", &root.to_hex(), "", "root"]).to(parent)
    }

    pub(super) fn mention(self) -> Self {
        self.tag(&["p", &Author::named("me").key().to_hex()])
    }

    pub(super) fn broadcast(self) -> Self {
        self.tag(&["broadcast", "1"])
    }

    pub(super) fn quiet(self) -> Self {
        self.tag(&["audience", "agents"])
    }

    pub(super) fn about(self, targets: &[&EventId]) -> Self {
        targets.iter().fold(self, |say, id| say.tag(&["e", &id.to_hex()]))
    }

    pub(super) fn sign(self) -> SharedEvent {
        let tags: Vec<Vec<&str>> = self.tags.iter().map(|t| t.iter().map(String::as_str).collect()).collect();
        let tags: Vec<&[&str]> = tags.iter().map(Vec::as_slice).collect();
        Author::named(self.by).sign(template(self.kind, self.at, &tags, &self.text))
    }
}

/// A deletion by its signer, without a channel tag.
pub(super) fn delete(by: &'static str, at: u64, targets: &[&EventId]) -> SharedEvent {
    bare(by, at).kind(5).about(targets).sign()
}

/// An edit.
pub(super) fn edit(by: &'static str, at: u64, target: &SharedEvent, text: &str) -> SharedEvent {
    bare(by, at).kind(40003).about(&[&target.id]).text(text).sign()
}

/// Facts of a channel the viewer is a confirmed member of.
pub(super) fn member(channel_type: ChannelType) -> ChannelAccess {
    ChannelAccess { allowed: true, confirmed: true, channel_type, admins: Arc::new([]) }
}

pub(super) struct World {
    pub(super) unread: Unread,
    pub(super) marks: Marks,
    pub(super) out: Outbox,
    pub(super) access: BTreeMap<ChannelId, ChannelAccess>,
    pub(super) server: u64,
    pub(super) mono: u64,
    /// Ids that were ever seen, as targets of [`Self::check`].
    seen: BTreeSet<EventId>,
}

impl World {
    /// Channel names ending in `dm` are DMs, the others streams. The connection is up.
    pub(super) fn new(names: &[&str]) -> Self {
        let mut world = Self {
            unread: Unread::new(Author::named("me").key(), Some(Author::named("relay").key())),
            marks: Marks::default(),
            out: Outbox::default(),
            access: BTreeMap::new(),
            server: NOW,
            mono: 0,
            seen: BTreeSet::new(),
        };
        for name in names {
            let channel_type = if name.ends_with("dm") { ChannelType::Dm } else { ChannelType::Stream };
            world.access.insert(channel(name), member(channel_type));
        }
        world.set_access();
        world.unread.connected(&mut world.out);
        world.unread.take_dirty();
        world
    }

    pub(super) fn set_access(&mut self) {
        let access = self.access.clone();
        self.with(|unread, ctx, out| unread.set_channels(access, ctx, out));
    }

    /// Runs a call and compares everything with the oracle.
    pub(super) fn with<T>(&mut self, call: impl FnOnce(&mut Unread, &Context<'_>, &mut Outbox) -> T) -> T {
        let ctx = Context { now: Millis(self.mono), server: self.server, marks: &self.marks };
        let result = call(&mut self.unread, &ctx, &mut self.out);
        self.check();
        result
    }

    pub(super) fn intake(&mut self, events: &[&SharedEvent]) {
        let events: Vec<_> = events.iter().copied().cloned().collect();
        self.seen.extend(events.iter().map(|e| e.id));
        self.seen.extend(events.iter().filter_map(|e| e.reference).flat_map(|r| [r.parent, r.root]));
        self.with(|unread, ctx, _| unread.intake(&events, ctx));
    }

    pub(super) fn mark(&mut self, key: MarkKey, value: u64) {
        self.marks.frontiers.insert(key, value);
        self.with(|unread, ctx, _| unread.marks_changed(&[key], ctx));
    }

    pub(super) fn force(&mut self, key: MarkKey, on: bool) {
        if on {
            self.marks.local.insert(key);
        } else {
            self.marks.local.remove(&key);
        }
        self.with(|unread, ctx, _| unread.marks_changed(&[key], ctx));
    }

    pub(super) fn register(&mut self, key: MarkKey, set: u64, clear: u64, baseline: u64) {
        self.marks.registers.insert(key, Register { set, clear, baseline });
        self.with(|unread, ctx, _| unread.marks_changed(&[key], ctx));
    }

    pub(super) fn snapshot(&self, target: Target) -> UnreadSnapshot {
        self.unread.snapshot(&target, &self.marks)
    }

    pub(super) fn channel(&self, name: &str) -> UnreadSnapshot {
        self.snapshot(Target::Channel(channel(name)))
    }

    /// `observed` and `attention` of a channel.
    pub(super) fn counts(&self, name: &str) -> Option<(u32, u32)> {
        pair(&self.channel(name))
    }

    pub(super) fn thread(&self, name: &str, root: &EventId) -> Option<(u32, u32)> {
        pair(&self.snapshot(Target::Thread(channel(name), *root)))
    }

    pub(super) fn message(&self, name: &str, id: &EventId) -> Option<(u32, u32)> {
        pair(&self.snapshot(Target::Message(channel(name), *id)))
    }

    pub(super) fn pending(&self, name: &str, id: &EventId) -> bool {
        self.snapshot(Target::Message(channel(name), *id)).pending
    }

    /// Thread activity as (root, latest, count).
    pub(super) fn activity(&self, name: &str) -> Option<Vec<(EventId, EventId, u32)>> {
        let items = self.unread.thread_activity(channel(name)).items?;
        Some(items.into_iter().map(|item| (item.root, item.latest, item.count)).collect())
    }

    /// Requests sent since the last call, those withdrawn left out.
    pub(super) fn sent(&mut self) -> Vec<(RequestId, Request)> {
        std::mem::take(&mut self.out.sent)
    }

    /// The filters of the only request sent.
    pub(super) fn sent_one(&mut self) -> (RequestId, Vec<Filter>) {
        let mut sent = self.sent();
        assert_eq!(sent.len(), 1, "exactly one request");
        let (id, request) = sent.remove(0);
        (id, filters(&request))
    }

    pub(super) fn answer(&mut self, id: RequestId, events: &[&SharedEvent]) -> bool {
        let events: Vec<_> = events.iter().copied().cloned().collect();
        self.seen.extend(events.iter().map(|e| e.id));
        let batch = Batch { events, rejected: Vec::new() };
        self.with(|unread, ctx, out| unread.on_answer(id, Ok(Answer::Events(batch)), ctx, out))
    }

    pub(super) fn fail(&mut self, id: RequestId) -> bool {
        let error = RequestError::Network(NetworkFailure::TimedOut);
        self.with(|unread, ctx, out| unread.on_answer(id, Err(error), ctx, out))
    }

    pub(super) fn poll(&mut self) {
        self.with(|unread, ctx, out| unread.poll(ctx, out));
    }

    /// Lets look-ups run against what `relay` holds until none is left; how many requests that took.
    pub(super) fn settle(&mut self, relay: &[&SharedEvent]) -> usize {
        let mut count = 0;
        loop {
            self.poll();
            let sent = self.sent();
            if sent.is_empty() {
                return count;
            }
            for (id, request) in sent {
                assert_eq!(request.purpose, Purpose::Lookup);
                count += 1;
                let found = find(relay, &filters(&request));
                self.answer(id, &found.iter().collect::<Vec<_>>());
            }
        }
    }

    /// Every target's answer is the oracle's.
    pub(super) fn check(&self) {
        let ctx = Context { now: Millis(self.mono), server: self.server, marks: &self.marks };
        let oracle = self.unread.recompute(&ctx);
        for id in self.access.keys() {
            let target = Target::Channel(*id);
            assert_eq!(self.snapshot(target), oracle.snapshot(&target), "channel");
            let activity: ThreadActivity = self.unread.thread_activity(*id);
            assert_eq!(activity, oracle.thread_activity(*id), "thread activity");
            for message in &self.seen {
                let target = Target::Thread(*id, *message);
                assert_eq!(self.snapshot(target), oracle.snapshot(&target), "thread");
                let target = Target::Message(*id, *message);
                assert_eq!(self.snapshot(target), oracle.snapshot(&target), "message");
            }
        }
    }
}

pub(super) fn pair(snapshot: &UnreadSnapshot) -> Option<(u32, u32)> {
    Some((snapshot.observed?, snapshot.attention?))
}

pub(super) fn filters(request: &Request) -> Vec<Filter> {
    match &request.body {
        Body::Query(filters) => filters.clone(),
        _ => panic!("no query"),
    }
}

/// What a relay that holds these events answers: newest first, cut at the limit, with the deletions of its rows.
pub(super) fn find(relay: &[&SharedEvent], filters: &[Filter]) -> Vec<SharedEvent> {
    let mut found = Vec::new();
    for filter in filters {
        let matches = |event: &&&SharedEvent| {
            let any = |wanted: &Option<Vec<String>>, has: &dyn Fn(&String) -> bool| {
                wanted.as_ref().is_none_or(|list| list.iter().any(has))
            };
            filter.kinds.contains(&event.kind)
                && any(&filter.ids, &|id| *id == event.id.to_hex())
                && any(&filter.authors, &|key| *key == event.pubkey.to_hex())
                && any(&filter.h, &|h| event.values("h").any(|v| v == h))
                && any(&filter.e, &|e| event.values("e").any(|v| v == e))
                && filter.since.is_none_or(|since| event.created_at >= since)
                && filter.until.is_none_or(|until| event.created_at <= until)
        };
        let mut rows: Vec<_> = relay.iter().filter(matches).map(|e| (*e).clone()).collect();
        rows.sort_by_key(|e| e.key());
        rows.truncate(filter.limit.unwrap_or(1_000) as usize);
        found.extend(rows);
    }
    found
}
