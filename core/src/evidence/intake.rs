//! Intake of one batch (`unread.md` 3.2).
//!
//! Order inside a batch does not matter: messages are stored first, then auxiliary events level by level, each when all its
//! targets are retained. A cycle, a missing target and more than [`limits::AUX_LEVELS`] levels therefore never resolve, and are
//! refused. A refused deletion of one unknown message waits aside (R9a). The relay's deletion notices are applied last; they
//! are no evidence themselves (R6, R9).

use std::collections::BTreeSet;

use super::access::Access;
use super::store::{Entry, Evidence, Handle, Owners};
use crate::event::authority::{notice_deletes, notice_fits};
use crate::event::{Event, Scope, SharedEvent, kinds};
use crate::ids::{ChannelId, EventId};
use crate::limits;
use crate::model::Freshness;

/// Where events come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The relay, now: evidence becomes fresh.
    Relay,
    /// This device's message cache (R8b): evidence is at most stale.
    Cache,
}

/// What an intake changed.
#[derive(Debug, Default)]
pub struct Delta {
    /// Everything stored, in order of arrival.
    pub stored: Vec<Handle>,
    /// Newly deleted events, stored now or before.
    pub deleted: Vec<Handle>,
    /// Channels that have evidence for the first time.
    pub discovered: Vec<ChannelId>,
    /// Messages whose text may have changed.
    pub edited: Vec<EventId>,
    /// A bound was reached: all evidence is gone and handles are void.
    pub overflowed: bool,
    /// Freshness was not `observed` before.
    pub freshened: bool,
}

/// A bound was reached.
struct Full;

/// An auxiliary event that is not stored yet.
enum Fate {
    Stored,
    /// Refused for good.
    Refused,
    /// Some target is not retained (yet).
    Waiting,
}

impl Evidence {
    /// Takes in a batch of verified events. Unwanted kinds and events already held are skipped; the first copy wins.
    pub(crate) fn intake(&mut self, events: &[SharedEvent], origin: Origin, access: &Access) -> Delta {
        let mut delta = Delta::default();
        if self.try_intake(events, access, &mut delta).is_err() {
            self.overflow();
            return Delta { overflowed: true, ..Delta::default() };
        }
        if !delta.stored.is_empty() {
            let before = self.freshness;
            self.freshness = match (origin, before) {
                (Origin::Relay, _) => Freshness::Observed,
                (Origin::Cache, Freshness::Unknown) => Freshness::Stale,
                (Origin::Cache, other) => other,
            };
            delta.freshened = before != self.freshness;
        }
        delta
    }

    /// Marks events as deleted that the message cache knows to be.
    pub(crate) fn restore_deleted(&mut self, ids: impl IntoIterator<Item = EventId>, delta: &mut Delta) {
        for id in ids {
            let Some(handle) = self.handle(&id) else { continue };
            if let Some(entry) = self.entries.get_mut(handle.ix())
                && !entry.deleted
            {
                entry.deleted = true;
                delta.deleted.push(handle);
            }
        }
    }

    fn try_intake(&mut self, events: &[SharedEvent], access: &Access, delta: &mut Delta) -> Result<(), Full> {
        let (mut auxiliary, mut notices) = (Vec::new(), Vec::new());
        for event in events {
            if kinds::is_content(event.kind) {
                self.take_message(event, access, delta)?;
            } else if is_evidence_aux(event.kind) {
                auxiliary.push(event.clone());
            } else if event.kind == kinds::NOTICE {
                notices.push(event);
            }
        }
        if !auxiliary.is_empty() {
            self.take_auxiliary(auxiliary, access, delta)?;
        }
        self.take_waiting(access, delta)?;
        for notice in notices {
            self.take_notice(notice, access, delta);
        }
        Ok(())
    }

    fn take_message(&mut self, event: &SharedEvent, access: &Access, delta: &mut Delta) -> Result<(), Full> {
        let Some(channel) = event.channel() else { return Ok(()) };
        if !access.is_allowed(channel) || self.ids.contains_key(&event.id) {
            return Ok(());
        }
        self.store(Entry { event: event.clone(), owners: Owners::one(channel), level: 0, deleted: false }, delta)?;
        Ok(())
    }

    /// Stores what resolves, level by level, until nothing more does.
    fn take_auxiliary(&mut self, mut left: Vec<SharedEvent>, access: &Access, delta: &mut Delta) -> Result<(), Full> {
        let (mut edits, mut deletions) = (Vec::new(), Vec::new());
        loop {
            let before = left.len();
            let mut waiting = Vec::new();
            for event in left {
                match self.try_auxiliary(&event, access, delta)? {
                    Fate::Stored if event.kind == kinds::EDIT => edits.push(event),
                    Fate::Stored => deletions.extend(self.handle(&event.id)),
                    Fate::Refused => {}
                    Fate::Waiting => waiting.push(event),
                }
            }
            left = waiting;
            if left.is_empty() || left.len() == before {
                break;
            }
        }
        for event in &left {
            if let Some(target) = self.only_unknown_target(event) {
                self.aside.keep(target, event);
            }
        }
        let already = delta.deleted.len();
        for handle in deletions {
            self.apply_deletion(handle, access, &mut delta.deleted);
        }
        // A deleted edit gives its message the earlier text back; one that was deleted in the batch it came in changed nothing.
        let undone: Vec<_> =
            delta.deleted.iter().skip(already).filter_map(|h| self.entry(*h)).map(|e| e.event.clone()).collect();
        for edit in undone.iter().filter(|e| e.kind == kinds::EDIT && !edits.iter().any(|new| new.id == e.id)) {
            delta.edited.extend(edit.e_targets());
        }
        for edit in edits {
            if self.get(&edit.id).is_some_and(|e| !e.deleted) {
                delta.edited.extend(edit.e_targets());
            }
        }
        Ok(())
    }

    fn try_auxiliary(&mut self, event: &SharedEvent, access: &Access, delta: &mut Delta) -> Result<Fate, Full> {
        if self.ids.contains_key(&event.id) || event.scope == Scope::Invalid {
            return Ok(Fate::Refused);
        }
        let mut owners: BTreeSet<_> = event.channel().into_iter().collect();
        let mut level = 1;
        for target in event.values("e") {
            // A malformed id is a target nobody holds.
            let Some(id) = EventId::parse_reference(target) else { return Ok(Fate::Refused) };
            let Some(entry) = self.get(&id) else { return Ok(Fate::Waiting) };
            owners.extend(entry.owners.iter());
            level = level.max(entry.level.saturating_add(1));
        }
        let Some(owners) = Owners::all(&owners) else { return Ok(Fate::Refused) };
        if level > limits::AUX_LEVELS || owners.iter().any(|owner| !access.is_allowed(owner)) {
            return Ok(Fate::Refused);
        }
        self.store(Entry { event: event.clone(), owners, level, deleted: false }, delta)?;
        Ok(Fate::Stored)
    }

    /// Applies the deletions that waited for what this batch brought.
    fn take_waiting(&mut self, access: &Access, delta: &mut Delta) -> Result<(), Full> {
        let mut next = 0;
        while !self.aside.is_empty()
            && let Some(handle) = delta.stored.get(next).copied()
        {
            next += 1;
            let Some(id) = self.entry(handle).map(|e| e.event.id) else { continue };
            let (notices, deletions): (Vec<_>, Vec<_>) =
                self.aside.take(&id).into_iter().partition(|event| event.kind == kinds::NOTICE);
            self.take_auxiliary(deletions, access, delta)?;
            for notice in &notices {
                self.take_notice(notice, access, delta);
            }
        }
        Ok(())
    }

    fn take_notice(&mut self, notice: &SharedEvent, access: &Access, delta: &mut Delta) {
        let Some(target) = notice_deletes(notice, access.relay()) else { return };
        let Some(handle) = self.handle(&target) else {
            self.aside.keep(target, notice);
            return;
        };
        if let Some(entry) = self.entries.get_mut(handle.ix())
            && !entry.deleted
            && notice_fits(notice, &entry.event)
        {
            entry.deleted = true;
            delta.deleted.push(handle);
        }
    }

    /// The target of a deletion that names exactly one event, which is not retained.
    fn only_unknown_target(&self, event: &Event) -> Option<EventId> {
        if !kinds::is_deletion(event.kind) {
            return None;
        }
        let mut targets = event.values("e");
        let target = EventId::parse_reference(targets.next()?)?;
        (targets.next().is_none() && self.handle(&target).is_none()).then_some(target)
    }

    fn store(&mut self, entry: Entry, delta: &mut Delta) -> Result<(), Full> {
        let bytes = self.bytes.saturating_add(entry.event.json_len);
        if self.entries.len() >= limits::EVIDENCE_EVENTS || bytes > limits::EVIDENCE_BYTES {
            return Err(Full);
        }
        for owner in entry.owners.iter() {
            if self.known.insert(owner) {
                delta.discovered.push(owner);
            }
        }
        delta.stored.push(self.push(entry));
        Ok(())
    }
}

fn is_evidence_aux(kind: u16) -> bool {
    kind == kinds::EDIT || kinds::is_deletion(kind)
}
