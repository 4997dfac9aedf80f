//! A relay in memory for the tests of paging, and a bench that carries requests to it. It keeps NIP-CW and the thread path to
//! the letter, so that what the rooms ask and believe can be checked without a network.

use std::collections::{BTreeMap, BTreeSet};

use super::{CallToken, RelayFacts, TimelineKey, Windows};
use crate::clock::{Millis, Now};
use crate::error::Error;
use crate::event::kept::KeptPage;
use crate::event::{Batch, FoldFacts, SharedEvent, kinds};
use crate::ids::{ChannelId, EventId, PublicKey};
use crate::order::RowKey;
use crate::request::{Answer, Body, Filter, Outbox, Outcome, Purpose, Request};
use crate::testing::{Author, channel, message, template};

/// The relay.
pub(crate) struct Relay {
    pub(crate) keys: Author,
    pub(crate) events: Vec<SharedEvent>,
    pub(crate) deleted: BTreeSet<EventId>,
    pub(crate) windows: bool,
    pub(crate) row_mode: bool,
    pub(crate) identity: bool,
    pub(crate) max_page: usize,
    clock: u64,
}

impl Relay {
    fn new() -> Self {
        Self {
            keys: Author::named("relay"),
            events: Vec::new(),
            deleted: BTreeSet::new(),
            windows: true,
            row_mode: false,
            identity: true,
            max_page: 200,
            clock: 0,
        }
    }

    fn parent(&self, event: &SharedEvent) -> Option<EventId> {
        event.reference.map(|r| r.parent)
    }

    fn depth(&self, event: &SharedEvent) -> usize {
        let mut depth = 0;
        let mut at = self.parent(event);
        while let Some(id) = at {
            depth += 1;
            at = self.events.iter().find(|e| e.id == id).and_then(|e| self.parent(e));
        }
        depth
    }

    fn live(&self) -> impl Iterator<Item = &SharedEvent> {
        self.events.iter().filter(|e| !self.deleted.contains(&e.id))
    }

    pub(crate) fn answer(&mut self, request: &Request) -> Batch {
        let Body::Query(filters) = &request.body else { panic!("only queries") };
        let mut batch = Batch::default();
        for filter in filters {
            let events = if filter.top_level && self.windows {
                self.window(filter)
            } else if filter.depth_limit.is_some() && self.windows {
                self.thread(filter)
            } else {
                self.plain(filter)
            };
            batch.events.extend(events);
        }
        batch
    }

    fn channel_of(filter: &Filter) -> ChannelId {
        ChannelId::parse(&filter.h.as_ref().unwrap()[0]).unwrap()
    }

    fn cursor(filter: &Filter) -> Option<RowKey> {
        assert_eq!(filter.until.is_some(), filter.before_id.is_some(), "both halves of a cursor or neither");
        filter.until.map(|t| RowKey::new(t, EventId::parse(filter.before_id.as_ref().unwrap()).unwrap()))
    }

    fn window(&mut self, filter: &Filter) -> Vec<SharedEvent> {
        let (c, cursor) = (Self::channel_of(filter), Self::cursor(filter));
        let exact = |e: &SharedEvent| e.tags.iter().any(|t| t.as_slice() == ["broadcast", "1"]);
        let mut rows: Vec<SharedEvent> = self
            .live()
            .filter(|e| e.channel() == Some(c) && filter.kinds.contains(&e.kind))
            .filter(|e| self.row_mode || self.depth(e) == 0 || (self.depth(e) == 1 && exact(e)))
            .filter(|e| cursor.is_none_or(|c| e.key().is_after(&c)))
            .cloned()
            .collect();
        rows.sort_by_key(|e| e.key());
        let limit = (filter.limit.unwrap() as usize).min(self.max_page);
        let more = rows.len() > limit;
        rows.truncate(limit);
        let ids: Vec<EventId> = rows.iter().map(|e| e.id).collect();
        let aux: Vec<SharedEvent> = self
            .live()
            .filter(|e| kinds::is_auxiliary(e.kind) && e.e_targets().any(|t| ids.contains(&t)))
            .cloned()
            .collect();
        let next = more.then(|| rows.last().unwrap().key());
        let mut all = rows;
        all.extend(aux);
        for id in ids {
            if let Some(summary) = self.summary(c, id)
                && self.reply_count(id) > 0
            {
                all.push(summary);
            }
        }
        all.push(self.bounds(c, cursor, next));
        all
    }

    fn reply_count(&self, root: EventId) -> usize {
        self.live().filter(|e| self.parent(e) == Some(root)).count()
    }

    /// A fresh summary of the row.
    pub(crate) fn summary(&mut self, c: ChannelId, root: EventId) -> Option<SharedEvent> {
        self.clock += 1;
        let last = self.live().filter(|e| self.parent(e) == Some(root)).map(|e| e.created_at).max();
        let (c, root_hex) = (c.to_string(), root.to_hex());
        let content = serde_json::json!({
            "reply_count": self.reply_count(root), "descendant_count": 0, "participants": [], "last_reply_at": last,
        });
        let tags: &[&[&str]] = &[&["e", &root_hex], &["d", &root_hex], &["h", &c]];
        Some(self.keys.sign(template(kinds::SUMMARY, self.clock, tags, &content.to_string())))
    }

    pub(crate) fn bounds(&mut self, c: ChannelId, cursor: Option<RowKey>, next: Option<RowKey>) -> SharedEvent {
        self.clock += 1;
        let at = cursor.map_or("head".to_owned(), |c| format!("{}:{}", c.created_at, c.id));
        let content = serde_json::json!({
            "has_more": next.is_some(),
            "next_cursor": next.map(|n| serde_json::json!({"created_at": n.created_at, "id": n.id.to_hex()})),
            "thread_replies_in_channel": self.row_mode,
        });
        let (d, h) = (format!("{c}:{at}"), c.to_string());
        self.keys.sign(template(kinds::BOUNDS, self.clock, &[&["d", &d], &["h", &h]], &content.to_string()))
    }

    fn thread(&self, filter: &Filter) -> Vec<SharedEvent> {
        let root = EventId::parse(&filter.e.as_ref().unwrap()[0]).unwrap();
        let after =
            filter.thread_cursor.map(|t| (t, EventId::parse(filter.thread_cursor_id.as_ref().unwrap()).unwrap()));
        let mut rows: Vec<SharedEvent> = self
            .live()
            .filter(|e| e.reference.is_some_and(|r| r.root == root))
            .filter(|e| after.is_none_or(|after| (e.created_at, e.id) > after))
            .cloned()
            .collect();
        rows.sort_by_key(|e| (e.created_at, e.id));
        rows.truncate(filter.limit.unwrap() as usize);
        rows
    }

    fn plain(&self, filter: &Filter) -> Vec<SharedEvent> {
        let cursor = Self::cursor(filter);
        let mut found: Vec<SharedEvent> = self
            .live()
            .filter(|e| filter.kinds.contains(&e.kind))
            .filter(|e| filter.ids.as_ref().is_none_or(|ids| ids.contains(&e.id.to_hex())))
            .filter(|e| filter.e.as_ref().is_none_or(|ids| e.e_targets().any(|t| ids.contains(&t.to_hex()))))
            .filter(|e| kinds::is_auxiliary(e.kind) || e.channel() == Some(Self::channel_of(filter)))
            .filter(|e| cursor.is_none_or(|c| e.key().is_after(&c)))
            .cloned()
            .collect();
        found.sort_by_key(|e| e.key());
        found.truncate(filter.limit.unwrap_or(500) as usize);
        found
    }
}

/// What the rooms are told of their surroundings.
pub(crate) struct Facts {
    pub(crate) relay: PublicKey,
}

impl FoldFacts for Facts {
    fn relay(&self) -> Option<&PublicKey> {
        Some(&self.relay)
    }
    fn is_channel_admin(&self, _: ChannelId, _: &PublicKey) -> bool {
        false
    }
    fn retained(&self, _: &EventId) -> bool {
        false
    }
}

/// Windows, a relay, and the way between.
pub(crate) struct Bench {
    pub(crate) windows: Windows,
    pub(crate) relay: Relay,
    pub(crate) facts: Facts,
    pub(crate) out: Outbox,
    pub(crate) now: u64,
    pub(crate) general: ChannelId,
    pub(crate) asked: Vec<Purpose>,
    pub(crate) kept: BTreeMap<TimelineKey, Vec<KeptPage>>,
    /// Changes the answers, first come first served.
    pub(crate) faults: Vec<fn(&mut Relay, Batch) -> Outcome>,
    calls: u64,
    online: bool,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let relay = Relay::new();
        Self {
            windows: Windows::new(Author::named("me").key()),
            facts: Facts { relay: relay.keys.key() },
            relay,
            out: Outbox::default(),
            now: 0,
            general: channel("general"),
            asked: Vec::new(),
            kept: BTreeMap::new(),
            faults: Vec::new(),
            calls: 0,
            online: false,
        }
    }

    /// A bench that is online.
    pub(crate) fn online() -> Self {
        let mut bench = Self::new();
        bench.connect();
        bench
    }

    pub(crate) fn connect(&mut self) {
        let facts = RelayFacts {
            self_key: self.relay.identity.then(|| self.relay.keys.key()),
            secure_or_loopback: true,
            thread_replies_in_channel: self.relay.row_mode,
        };
        self.online = true;
        self.windows.on_connected(facts, &mut self.out);
        self.run();
    }

    pub(crate) fn disconnect(&mut self) {
        self.online = false;
        self.windows.on_disconnected(&mut self.out);
        self.run();
    }

    pub(crate) fn now(&self) -> Now {
        Now { mono: Millis(self.now), wall: 0 }
    }

    /// Carries every request to the relay and back, and reads the cache.
    pub(crate) fn run(&mut self) {
        loop {
            for key in self.windows.take_restores() {
                let pages = self.kept.get(&key).cloned().unwrap_or_default();
                self.windows.restored(&key, pages, &self.facts, &mut self.out);
            }
            let sent = std::mem::take(&mut self.out.sent);
            if sent.is_empty() {
                break;
            }
            for (id, request) in sent {
                assert!(self.online, "nothing is asked without a connection");
                self.asked.push(request.purpose);
                let batch = self.relay.answer(&request);
                let windowed = matches!(request.purpose, Purpose::Head | Purpose::Older | Purpose::Thread);
                let outcome = if windowed && !self.faults.is_empty() {
                    self.faults.remove(0)(&mut self.relay, batch)
                } else {
                    Ok(Answer::Events(batch))
                };
                let now = self.now();
                assert!(self.windows.on_answer(id, &outcome, &self.facts, now, &mut self.out));
            }
        }
    }

    /// Lets time pass.
    pub(crate) fn advance(&mut self, ms: u64) {
        let until = self.now + ms;
        while let Some(at) = self.windows.next_wake().filter(|at| at.0 <= until) {
            self.now = self.now.max(at.0);
            let now = self.now();
            self.windows.on_wake(now, &mut self.out);
            self.run();
        }
        self.now = until;
    }

    pub(crate) fn open(&mut self, key: TimelineKey, limit: u32) -> Result<(), Error> {
        self.calls += 1;
        let token = CallToken(self.calls);
        self.windows.open(key, Some(limit), token, &mut self.out);
        self.run();
        self.result(token)
    }

    pub(crate) fn older(&mut self, key: TimelineKey) -> Result<(), Error> {
        self.calls += 1;
        let token = CallToken(self.calls);
        self.windows.load_older(key, token, &mut self.out);
        self.run();
        self.result(token)
    }

    pub(crate) fn close(&mut self, key: TimelineKey) {
        if let Some(pages) = self.windows.close(&key, &mut self.out) {
            self.kept.insert(key, pages);
        }
        self.run();
    }

    /// A new session over the same cache.
    pub(crate) fn restart(&mut self) {
        let open: Vec<TimelineKey> = self.windows.open_keys().copied().collect();
        open.into_iter().for_each(|key| self.close(key));
        self.windows = Windows::new(Author::named("me").key());
        self.online = false;
    }

    fn result(&mut self, token: CallToken) -> Result<(), Error> {
        let done = self.windows.take_done();
        done.into_iter().find(|(t, _)| *t == token).expect("the call has ended").1
    }

    /// Stores an event on the relay and, if connected, pushes it live with a summary for its parent.
    pub(crate) fn post(&mut self, event: &SharedEvent) {
        self.relay.events.push(event.clone());
        if kinds::is_deletion(event.kind) {
            self.relay.deleted.extend(event.e_targets());
        }
        if self.online {
            self.windows.on_live(event, &self.facts);
            if let Some(parent) = event.reference.map(|r| r.parent) {
                let summary = self.relay.summary(self.general, parent).unwrap();
                self.windows.on_live(&summary, &self.facts);
            }
        }
        self.run();
    }

    /// `count` messages of ada, `step` seconds apart, stored without being pushed.
    pub(crate) fn history(&mut self, from: u64, count: u64, step: u64) -> Vec<SharedEvent> {
        let ada = Author::named("ada");
        let events: Vec<SharedEvent> =
            (0..count).map(|i| message(&ada, self.general, from + i * step, &format!("m{i}"))).collect();
        self.relay.events.extend(events.iter().cloned());
        events
    }

    /// Ids shown, oldest first.
    pub(crate) fn rows(&self, key: TimelineKey) -> Vec<EventId> {
        self.windows.view(&key).unwrap().order().iter().rev().map(|k| k.id).collect()
    }

    /// Ids in the order in which a person sees them.
    pub(crate) fn sorted(events: &[&SharedEvent]) -> Vec<EventId> {
        let mut keys: Vec<RowKey> = events.iter().map(|e| e.key()).collect();
        keys.sort();
        keys.iter().rev().map(|k| k.id).collect()
    }
}
