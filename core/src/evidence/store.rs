//! The bounded set of verified events, and what retained events say about each other.
//!
//! Entries are numbered in order of arrival; a [`Handle`] stays valid until the set is cut down ([`Evidence::retain_allowed`]) or
//! cleared. No single event is ever evicted: at a bound everything goes, visibly (`unread.md` 3.1).
//!
//! Invariants: every owner of an entry was allowed when it was stored; `bytes` is the sum of the entries' JSON lengths; a
//! deleted entry stays deleted, and stays an entry, because it may be the root of a thread.

use std::collections::BTreeSet;

use crate::idmap::{IdMap, IdSet};

use super::access::Access;
use super::aside::Aside;
use crate::error::Error;
use crate::event::authority::{may_delete, may_edit};
use crate::event::{Event, SharedEvent, display_text, kinds};
use crate::ids::{ChannelId, EventId};
use crate::model::Freshness;

/// Number of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(pub(crate) u32);

impl Handle {
    pub(crate) fn ix(self) -> usize {
        self.0 as usize
    }
}

/// The channels an event belongs to: one for a message, all of its targets' for an auxiliary event. Sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owners {
    pub(super) first: ChannelId,
    pub(super) rest: Box<[ChannelId]>,
}

impl Owners {
    pub(super) fn one(channel: ChannelId) -> Self {
        Self { first: channel, rest: Box::default() }
    }

    pub(super) fn all(channels: &BTreeSet<ChannelId>) -> Option<Self> {
        let mut channels = channels.iter().copied();
        Some(Self { first: channels.next()?, rest: channels.collect() })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = ChannelId> + '_ {
        std::iter::once(self.first).chain(self.rest.iter().copied())
    }
}

/// A retained event.
#[derive(Debug, Clone)]
pub struct Entry {
    pub(super) event: SharedEvent,
    pub(super) owners: Owners,
    /// 0 for a message, one more than its deepest target for an auxiliary event.
    pub(super) level: u8,
    pub(super) deleted: bool,
}

impl Entry {
    /// The event.
    pub fn event(&self) -> &SharedEvent {
        &self.event
    }

    /// Whether an authorised deletion removed it (R9).
    pub fn deleted(&self) -> bool {
        self.deleted
    }

    /// The channel, for a message.
    pub fn channel(&self) -> Option<ChannelId> {
        kinds::is_content(self.event.kind).then_some(self.owners.first)
    }
}

/// The bounded store of message evidence (`unread.md` 3).
pub struct Evidence {
    pub(super) entries: Vec<Entry>,
    pub(super) ids: IdMap<EventId, Handle>,
    pub(super) bytes: usize,
    pub(super) known: IdSet<ChannelId>,
    /// Edits by the message they name.
    pub(super) edits: IdMap<EventId, Vec<Handle>>,
    pub(super) deletions: Vec<Handle>,
    pub(super) aside: Aside,
    pub(super) freshness: Freshness,
    pub(super) error: Option<Error>,
}

impl Default for Evidence {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            ids: IdMap::default(),
            bytes: 0,
            known: IdSet::default(),
            edits: IdMap::default(),
            deletions: Vec::new(),
            aside: Aside::default(),
            freshness: Freshness::Unknown,
            error: None,
        }
    }
}

impl Evidence {
    /// How many events are held.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes held: the JSON lengths of the events, summed.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Deletions kept until their target arrives.
    pub fn aside(&self) -> usize {
        self.aside.len()
    }

    /// How current the evidence is (`unread.md` 3.4).
    pub fn freshness(&self) -> Freshness {
        self.freshness
    }

    /// The standing error of the last repair or overflow.
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// Whether any evidence was retained for the channel since the last reset: its counts are numbers (R8a).
    pub fn is_known(&self, channel: ChannelId) -> bool {
        self.known.contains(&channel)
    }

    /// Handle of a retained event.
    pub fn handle(&self, id: &EventId) -> Option<Handle> {
        self.ids.get(id).copied()
    }

    /// A retained event by its handle.
    pub fn entry(&self, handle: Handle) -> Option<&Entry> {
        self.entries.get(handle.ix())
    }

    /// A retained event.
    pub fn get(&self, id: &EventId) -> Option<&Entry> {
        self.entry(self.handle(id)?)
    }

    /// All retained events in order of arrival, for the message cache.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// Retained messages with their handles, in order of arrival.
    pub fn messages(&self) -> impl Iterator<Item = (Handle, ChannelId, &Entry)> {
        let numbered = (0..).map(Handle).zip(&self.entries);
        numbered.filter_map(|(handle, entry)| Some((handle, entry.channel()?, entry)))
    }

    /// The text a person reads: that of the newest live edit by somebody who may (tie: lower id), else the original's
    /// (`unread.md` 3.3). An edit changes nothing else (R11).
    pub fn text(&self, event: &Event, access: &Access) -> String {
        let edits = self.edits.get(&event.id).into_iter().flatten().filter_map(|handle| self.entry(*handle));
        let newest = edits
            .filter(|edit| !edit.deleted && may_edit(&edit.event, event, access.relay()))
            .min_by_key(|edit| edit.event.key());
        newest.map_or_else(|| event.text(), |edit| display_text(event.kind, &edit.event.content))
    }

    /// Applies the deletion `handle` to whatever it names and may delete; newly deleted entries go to `deleted`.
    pub(super) fn apply_deletion(&mut self, handle: Handle, access: &Access, deleted: &mut Vec<Handle>) {
        let Some(deletion) = self.entry(handle).map(|e| e.event.clone()) else { return };
        for id in deletion.e_targets() {
            let Some(target) = self.handle(&id) else { continue };
            let Some(entry) = self.entries.get_mut(target.ix()) else { continue };
            // Deleting a deletion has no effect (`unread.md` 3.3).
            if entry.deleted || kinds::is_deletion(entry.event.kind) {
                continue;
            }
            let channel = entry.owners.first;
            if may_delete(&deletion, &entry.event, access.relay(), |key| access.is_admin(channel, key)) {
                entry.deleted = true;
                deleted.push(target);
            }
        }
    }

    /// Applies all retained deletions again, after the relay's key or a list of admins changed. Nothing comes back.
    pub(crate) fn reauthorise(&mut self, access: &Access) -> Vec<Handle> {
        let mut deleted = Vec::new();
        for handle in self.deletions.clone() {
            self.apply_deletion(handle, access, &mut deleted);
        }
        deleted
    }

    /// Drops every event with an owner that is not allowed any more; whether there was one (`unread.md` 3.7). Handles change.
    pub(crate) fn retain_allowed(&mut self, access: &Access) -> bool {
        let before = self.entries.len();
        self.known.retain(|channel| access.is_allowed(*channel));
        self.entries.retain(|entry| entry.owners.iter().all(|owner| access.is_allowed(owner)));
        if self.entries.len() == before {
            return false;
        }
        let kept = std::mem::take(&mut self.entries);
        self.ids.clear();
        self.edits.clear();
        self.deletions.clear();
        self.bytes = 0;
        for entry in kept {
            self.push(entry);
        }
        true
    }

    /// Adds an entry; the caller has checked everything.
    pub(super) fn push(&mut self, entry: Entry) -> Handle {
        // The set is bounded far below 2^32.
        let handle = Handle(u32::try_from(self.entries.len()).unwrap_or(u32::MAX));
        self.bytes = self.bytes.saturating_add(entry.event.json_len);
        self.ids.insert(entry.event.id, handle);
        if entry.event.kind == kinds::EDIT {
            for target in entry.event.e_targets() {
                let edits = self.edits.entry(target).or_default();
                if edits.last() != Some(&handle) {
                    edits.push(handle);
                }
            }
        } else if kinds::is_deletion(entry.event.kind) {
            self.deletions.push(handle);
        }
        self.entries.push(entry);
        handle
    }

    fn drop_events(&mut self) {
        self.entries.clear();
        self.ids.clear();
        self.edits.clear();
        self.deletions.clear();
        self.known.clear();
        self.bytes = 0;
    }

    /// A bound was reached: everything goes, and says so (`unread.md` 3.1).
    pub(super) fn overflow(&mut self) {
        self.drop_events();
        self.freshness = Freshness::Stale;
        self.error = Some(Error::Capacity { what: "message evidence" });
    }

    /// The cache was cleared (`unread.md` 3.7).
    pub(crate) fn clear(&mut self) {
        self.drop_events();
        self.aside.clear();
        self.freshness = Freshness::Unknown;
        self.error = None;
    }

    /// The connection was lost.
    pub(crate) fn mark_stale(&mut self) {
        if self.freshness == Freshness::Observed {
            self.freshness = Freshness::Stale;
        }
    }

    /// A repair ended.
    pub(crate) fn repair_ended(&mut self, error: Option<Error>) {
        self.freshness = if error.is_some() { Freshness::Stale } else { Freshness::Observed };
        self.error = error;
    }
}

impl std::fmt::Debug for Evidence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Evidence({} events, {} B, {} channels)", self.entries.len(), self.bytes, self.known.len())
    }
}
