//! What is unread: evidence, relevance and marks brought together (`unread.md` 4.7, 5; R8, R17).
//!
//! [`Unread`] owns the bounded [`Evidence`], its [`Repair`] and the [`Relevance`] of replies, and keeps counts of every channel,
//! thread and message up to date as any of them changes ([`projection`]). The record of reading is another room's and comes in as a
//! [`MarkSource`] with every call. [`Unread::recompute`] counts anew in one pass; it is the oracle of tests and benches.
//!
//! Every call leaves all answers consistent before it returns; [`Unread::take_dirty`] then names the targets whose answer may differ,
//! so that the engine replaces all of their views before anybody can read one. Time is an argument: [`Unread::next_wake`] says when
//! an answer can change by time alone.

mod dirty;
mod marks;
mod oracle;
mod projection;
mod queries;
mod rules;
mod snapshot;
mod sorted;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use crate::evidence::IdMap;

use crate::clock::{Millis, Now, ServerTime};
use crate::error::Error;
use crate::event::SharedEvent;
use crate::evidence::{
    Access, Answered, ChannelAccess, Delta, Dialect, Evidence, Handle, Origin, Repair, RepairEnd, Ticket,
};
use crate::ids::{ChannelId, EventId, PublicKey};
use crate::limits;
use crate::model::Freshness;
use crate::relevance::{FollowChoice, LookupKey, Place, Relation, Relevance, Structure, Touch};
use crate::request::{Outbox, Outcome, Priority, RequestId};

use projection::{Message, Msg, Projection};
use rules::Facts;

pub use dirty::{CacheChanges, Dirty};
pub use marks::{MarkKey, MarkSource, NoMarks, Register};
pub use oracle::Recomputed;
pub use queries::{ClearList, MessageFact, MessageView};
pub use snapshot::{Attention, AttentionStatus, Category};

/// What the calls need to know of time and reading.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Monotonic time, for the wait after a failed look-up.
    pub now: Millis,
    /// The session's idea of the relay's time, seconds (R25).
    pub server: u64,
    /// The record of reading.
    pub marks: &'a dyn MarkSource,
}

/// Everything unread of one account in one community.
pub struct Unread {
    access: Access,
    evidence: Evidence,
    repair: Repair,
    relevance: Relevance,
    projection: Projection,
    cache: CacheChanges,
    epoch: u64,
    /// Allowed channels with the epoch of their grant.
    granted_at: IdMap<ChannelId, u64>,
}

impl Unread {
    /// Nothing known yet. `relay` is the trusted NIP-11 `self`, if it is known (R2).
    pub fn new(viewer: PublicKey, relay: Option<PublicKey>) -> Self {
        Self {
            access: Access::new(viewer, relay),
            evidence: Evidence::default(),
            repair: Repair::default(),
            relevance: Relevance::default(),
            projection: Projection::new(-1),
            cache: CacheChanges::default(),
            epoch: 0,
            granted_at: IdMap::default(),
        }
    }

    // --- What surrounds evidence -------------------------------------------------------------------------------------

    /// Replaces the trusted relay key: workflow attribution and authority over relay-signed messages follow it.
    pub fn set_relay(&mut self, relay: Option<PublicKey>, ctx: &Context<'_>) {
        if self.access.set_relay(relay) {
            let deleted = self.evidence.reauthorise(&self.access);
            self.note_deleted(&deleted);
            self.rebuild(ctx);
        }
    }

    /// Sets the relay's dialect (R4).
    pub fn set_dialect(&mut self, dialect: Dialect) {
        self.repair.set_dialect(dialect);
    }

    /// Replaces what is known of all channels. A change of the *set* of allowed channels is a change of access (`unread.md` 3.7): what
    /// is denied now is gone before this returns, and repair and look-ups begin again for the current set (R8c).
    pub fn set_channels(
        &mut self,
        channels: impl IntoIterator<Item = (ChannelId, ChannelAccess)>,
        ctx: &Context<'_>,
        out: &mut Outbox,
    ) {
        self.set_time(ctx.server);
        let old_allowed = self.access.allowed();
        let old = self.access.replace(channels);
        let allowed = self.access.allowed();
        let changed = allowed != old_allowed;
        let mut admins_changed = false;
        let mut granted = Vec::new();
        for id in &allowed {
            let (Some(new), old) = (self.access.channel(*id), old.get(id)) else { continue };
            let was = old.is_some_and(|o| o.allowed);
            if !was || (new.confirmed && !old.is_some_and(|o| o.confirmed)) {
                granted.push(*id);
            }
            admins_changed |= old.is_none_or(|o| o.admins != new.admins);
            if old.is_some_and(|o| o.is_dm()) != new.is_dm() {
                self.projection.set_dm(*id, new.is_dm());
                self.projection.dirty.channels.push(*id);
            }
        }
        if changed {
            self.access_changed(&old_allowed, &allowed, ctx, out);
        }
        let mut touched = Vec::new();
        if admins_changed {
            let deleted = self.evidence.reauthorise(&self.access);
            self.absorb_deleted(&deleted, &mut touched);
        }
        let end = self.repair.access_changed(&allowed, &granted, changed, out);
        self.repair_went(&end);
        self.settle(touched, ctx);
    }

    fn access_changed(&mut self, old: &[ChannelId], new: &[ChannelId], ctx: &Context<'_>, out: &mut Outbox) {
        self.epoch = self.epoch.saturating_add(1);
        self.granted_at.retain(|id, _| new.binary_search(id).is_ok());
        for id in new.iter().filter(|id| old.binary_search(id).is_err()) {
            self.granted_at.insert(*id, self.epoch);
        }
        self.relevance.access_changed(&self.access, out);
        if self.evidence.retain_allowed(&self.access) {
            self.rebuild(ctx);
        }
        self.projection.dirty.all = true;
    }

    /// The connection is signed in and live: look-ups may go out, and a repair runs in the background if one was ever asked for. See
    /// [`Self::take_markers_wanted`].
    pub fn connected(&mut self, out: &mut Outbox) {
        self.relevance.set_online(true, out);
        self.repair.reconnected(out);
    }

    /// Live events may have been missed on this connection: a background repair, if one was ever asked for.
    pub fn missed(&mut self, out: &mut Outbox) {
        self.repair.reconnected(out);
    }

    /// The connection was lost: counts stay and are stale; a running repair fails.
    pub fn disconnected(&mut self, out: &mut Outbox) {
        self.relevance.set_online(false, out);
        self.evidence.mark_stale();
        if let Some(error) = self.repair.disconnected(out) {
            self.evidence.repair_ended(Some(error));
        }
        self.projection.dirty.all = true;
    }

    /// The message cache was cleared, or the session closes: all evidence and look-ups go, waiting calls fail with `why`. Follow
    /// choices and the channels stay (`unread.md` 3.7).
    pub fn clear(&mut self, why: &Error, out: &mut Outbox) {
        self.epoch = self.epoch.saturating_add(1);
        let epoch = self.epoch;
        self.granted_at.values_mut().for_each(|at| *at = epoch);
        self.repair.reset(why, out);
        self.relevance.clear(out);
        self.evidence.clear();
        self.projection.reset();
        self.cache = CacheChanges { cleared: true, ..CacheChanges::default() };
    }

    /// Changes with every change of the set of allowed channels and every clearing (`unread.md` 3.7); a lost connection is neither
    /// (R14c).
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Fence of explicit actions on a channel: none while it is denied; another value after a revocation or clearing, whatever
    /// happens to other channels (R14b).
    pub fn channel_generation(&self, channel: ChannelId) -> Option<u64> {
        self.granted_at.get(&channel).copied()
    }

    // --- Evidence ----------------------------------------------------------------------------------------------------

    /// Takes in verified events of any answer or the live stream (`unread.md` 3.2). Anything may be handed in: what is not evidence is
    /// skipped.
    pub fn intake(&mut self, events: &[SharedEvent], ctx: &Context<'_>) {
        self.take(events, Origin::Relay, ctx);
    }

    /// Takes in what the message cache kept (R8b, R8d): evidence with the ids known to be deleted, and messages that are structure
    /// only. Counts are stale until something newer arrives.
    pub fn restore(
        &mut self,
        events: &[SharedEvent],
        deleted: &[EventId],
        structure: &[SharedEvent],
        ctx: &Context<'_>,
    ) {
        let mut touched = Vec::new();
        for known in structure.iter().filter_map(|event| Structure::of(event)) {
            if self.access.is_allowed(known.channel) {
                self.relevance.add_structure(known, &mut touched);
            }
        }
        if self.take(events, Origin::Cache, ctx) {
            let mut delta = Delta::default();
            self.evidence.restore_deleted(deleted.iter().copied(), &mut delta);
            self.absorb_deleted(&delta.deleted, &mut touched);
        }
        self.settle(touched, ctx);
    }

    /// Whether it fitted.
    fn take(&mut self, events: &[SharedEvent], origin: Origin, ctx: &Context<'_>) -> bool {
        self.set_time(ctx.server);
        let mut touched = Vec::new();
        self.relevance.see_deletions(events, &self.access, &mut touched);
        let delta = self.evidence.intake(events, origin, &self.access);
        if delta.overflowed {
            self.repair.overflowed();
            self.projection.reset();
            self.relevance.evidence_reset();
            self.cache = CacheChanges { cleared: true, ..CacheChanges::default() };
        } else {
            self.absorb(&delta, origin, &mut touched, ctx);
        }
        self.settle(touched, ctx);
        !delta.overflowed
    }

    fn absorb(&mut self, delta: &Delta, origin: Origin, touched: &mut Vec<Touch>, ctx: &Context<'_>) {
        if origin == Origin::Relay {
            let stored = delta.stored.iter().filter_map(|h| self.evidence.entry(*h)).map(|e| e.event().clone());
            self.cache.events.extend(stored);
        }
        self.projection.dirty.all |= delta.freshened;
        for channel in &delta.discovered {
            // Null becomes zero, for the channel and for threads whose root was known already.
            self.projection.dirty.channels.push(*channel);
            self.projection.dirty.activity.push(*channel);
            self.projection.dirty.threads.extend(self.relevance.structures_of(*channel));
        }
        self.add_messages(&delta.stored, touched, ctx);
        self.absorb_deleted(&delta.deleted, touched);
        for id in &delta.edited {
            if let Some(channel) = self.evidence.get(id).and_then(crate::evidence::Entry::channel) {
                self.projection.dirty.activity.push(channel);
            }
        }
    }

    /// Adds messages to the projection; all of them before any is resolved, so that their order does not matter.
    fn add_messages(&mut self, handles: &[Handle], touched: &mut Vec<Touch>, ctx: &Context<'_>) {
        for handle in handles {
            let Some(entry) = self.evidence.entry(*handle) else { continue };
            let Some(channel) = entry.channel() else { continue };
            let event = entry.event();
            let home = (channel, self.access.channel(channel).is_some_and(ChannelAccess::is_dm));
            let facts = Facts {
                is_live: !entry.deleted(),
                is_own: event.pubkey == self.access.viewer(),
                is_quiet: event.quiet,
                is_reply: event.reference.is_some(),
                is_mention: event.mentions(self.access.viewer_hex(), self.access.relay()),
                is_broadcast: event.broadcast,
                ..Facts::default()
            };
            let reference = event.reference.map(|r| (r.parent, r.root));
            self.projection.add(*handle, event.key(), home, reference, facts, ctx.marks);
            if facts.is_own && facts.is_live {
                self.relevance.own_message(event, true, touched);
            }
            let place = (channel, event.id);
            if self.projection.is_claimed(place) || !self.relevance.claiming(&event.id).is_empty() {
                touched.push(Touch::Structure(place));
            }
        }
        for handle in handles {
            if let Some(msg) = self.projection.by_handle(*handle) {
                self.resolve(msg, ctx);
            }
        }
    }

    fn absorb_deleted(&mut self, deleted: &[Handle], touched: &mut Vec<Touch>) {
        self.note_deleted(deleted);
        for handle in deleted {
            let Some(msg) = self.projection.by_handle(*handle) else { continue };
            let Some(message) = self.projection.message(msg) else { continue };
            let (was_live, is_own) = (message.facts.is_live, message.facts.is_own);
            self.projection.remove(msg);
            let Some(event) = self.evidence.entry(*handle).map(|e| e.event().clone()) else { continue };
            if is_own && was_live {
                self.relevance.own_message(&event, false, touched);
            }
            if is_own {
                self.relevance.retract(event.id, &self.access, touched);
            }
        }
    }

    fn note_deleted(&mut self, deleted: &[Handle]) {
        let ids = deleted.iter().filter_map(|h| self.evidence.entry(*h)).map(|e| e.event().id);
        self.cache.deleted.extend(ids);
    }

    /// What the message cache should keep or forget since the last call (R8b, R8d).
    pub fn take_cache_changes(&mut self) -> CacheChanges {
        std::mem::take(&mut self.cache)
    }

    /// The store, for what no query below answers.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// Conversations, for what no query below answers.
    pub fn relevance(&self) -> &Relevance {
        &self.relevance
    }

    /// Access as it stands.
    pub fn access(&self) -> &Access {
        &self.access
    }

    // --- Repair ------------------------------------------------------------------------------------------------------

    /// Asks for evidence once (`unread.md` 3.5, R8c). Done at once when it returns something, else in [`Self::take_completions`].
    pub fn ensure(&mut self, ticket: Ticket) -> Option<Result<(), Error>> {
        self.repair.ensure(ticket, self.evidence.error())
    }

    /// Asks for a full read now, after a running one; completes through [`Self::take_completions`].
    pub fn refresh(&mut self, ticket: Ticket) {
        self.repair.refresh(ticket);
    }

    /// Whether read markers must be loaded now, and how urgently; then [`Self::markers_loaded`], also when that failed (R25c). To be
    /// asked after every call that can start or end a repair.
    pub fn take_markers_wanted(&mut self) -> Option<Priority> {
        self.repair.take_markers_wanted()
    }

    /// Markers are loaded or could not be: the repair that waits for them reads.
    pub fn markers_loaded(&mut self, out: &mut Outbox) {
        let end = self.repair.start(self.access.allowed(), out);
        self.repair_went(&end);
    }

    /// It is not known which channels there are: the repair that waits for markers fails with this.
    pub fn cannot_read(&mut self, error: Error) {
        if self.repair.cannot_start(&error) {
            self.evidence.repair_ended(Some(error));
            self.projection.dirty.all = true;
        }
    }

    /// Calls of `ensure` and `refresh` that are over.
    pub fn take_completions(&mut self) -> Vec<(Ticket, Result<(), Error>)> {
        self.repair.take_completions()
    }

    /// The repair machine, for its progress.
    pub fn repair(&self) -> &Repair {
        &self.repair
    }

    fn repair_went(&mut self, end: &RepairEnd) {
        if *end == RepairEnd::Complete {
            let changed = self.evidence.error().is_some() || self.evidence.freshness() != Freshness::Observed;
            self.evidence.repair_ended(None);
            self.projection.dirty.all |= changed;
            self.cache.repaired = true;
        }
    }

    /// An answer for this room; false when the request is not its own (or was given up).
    pub fn on_answer(&mut self, id: RequestId, outcome: Outcome, ctx: &Context<'_>, out: &mut Outbox) -> bool {
        if self.relevance.owns(id) {
            let mut touched = Vec::new();
            let (now, evidence, access) = (ctx.now, &self.evidence, &self.access);
            let fetched = self.relevance.on_answer(id, outcome, now, evidence, access, out, &mut touched);
            self.cache.structure.extend(fetched);
            self.set_time(ctx.server);
            self.settle(touched, ctx);
            return true;
        }
        match self.repair.answered(id, outcome, ctx.server) {
            Answered::Foreign => return false,
            Answered::Failed(error) => {
                self.evidence.repair_ended(Some(error));
                self.projection.dirty.all = true;
            }
            Answered::Take(events) => {
                if self.take(&events, Origin::Relay, ctx) {
                    let end = self.repair.proceed(out);
                    self.repair_went(&end);
                } else {
                    self.repair.stopped_by_overflow();
                }
            }
        }
        true
    }

    // --- Look-ups and time -------------------------------------------------------------------------------------------

    /// Lets queued look-ups start. To be called when an input was handled, and when [`Self::next_wake`] has come.
    pub fn poll(&mut self, ctx: &Context<'_>, out: &mut Outbox) {
        self.set_time(ctx.server);
        let mut touched = Vec::new();
        self.relevance.poll(ctx.now, &self.evidence, &self.access, out, &mut touched);
        self.settle(touched, ctx);
    }

    /// Whether no look-up is queued or under way.
    pub fn lookups_are_quiet(&self) -> bool {
        self.relevance.is_quiet()
    }

    /// When an answer can change, or a look-up is due, by time alone: then [`Self::poll`].
    pub fn next_wake(&self, server: &ServerTime, now: Now) -> Option<Millis> {
        let seconds = self.projection.next_above_floor().map(|at| at.saturating_add(limits::FLOOR_AGE));
        let floor = seconds.map(|at| now.mono.plus(at.saturating_sub(server.at(now)).saturating_mul(1_000).max(1)));
        self.relevance.next_wake().into_iter().chain(floor).min()
    }

    fn set_time(&mut self, server: u64) {
        let floor = server.checked_sub(limits::FLOOR_AGE).map_or(-1, |f| i64::try_from(f).unwrap_or(i64::MAX));
        self.projection.set_floor(floor);
    }

    // --- Marks and choices -------------------------------------------------------------------------------------------

    /// These keys of the record of reading may have changed: frontier, manual mark or override.
    pub fn marks_changed(&mut self, keys: &[MarkKey], ctx: &Context<'_>) {
        self.set_time(ctx.server);
        for key in keys {
            self.projection.mark_changed(*key, ctx.marks);
            match *key {
                MarkKey::Channel(id) | MarkKey::MessageForce(id) => self.projection.dirty.channels.push(id),
                MarkKey::Activity(_) | MarkKey::ThreadActivity(_) => {}
                MarkKey::Thread(root) => {
                    self.projection.dirty.threads.extend(self.home_of(&root).map(|home| (home, root)))
                }
                MarkKey::Message(id) => {
                    if let Some(msg) = self.msg(&id) {
                        self.projection.message_marks_changed(msg, ctx.marks);
                    }
                    self.projection.dirty.messages.extend(self.home_of(&id).map(|home| (home, id)));
                }
            }
        }
        self.overrides_reached(keys, ctx.marks);
        self.settle(Vec::new(), ctx);
    }

    /// An override holds as long as the frontiers around its key allow (`unread.md` 5.3): a channel's or thread's frontier can end one
    /// of a thread or message in it, and no count need move for that.
    fn overrides_reached(&mut self, keys: &[MarkKey], marks: &dyn MarkSource) {
        if !marks.has_registers() {
            return;
        }
        let home = |key: &MarkKey| match key {
            MarkKey::Channel(id) => Some(*id),
            MarkKey::Thread(root) => self.home_of(root),
            _ => None,
        };
        let homes: HashSet<ChannelId> = keys.iter().filter_map(home).collect();
        if homes.is_empty() {
            return;
        }
        for key in marks.registered() {
            let (MarkKey::Thread(id) | MarkKey::Message(id)) = key else { continue };
            let Some(home) = self.home_of(&id).filter(|home| homes.contains(home)) else { continue };
            let dirty = &mut self.projection.dirty;
            if matches!(key, MarkKey::Thread(_)) { &mut dirty.threads } else { &mut dirty.messages }.push((home, id));
        }
    }

    /// Any key may have changed, as after loading the record: everything is evaluated anew.
    pub fn marks_reset(&mut self, ctx: &Context<'_>) {
        self.set_time(ctx.server);
        self.rebuild(ctx);
    }

    /// The effective state of following a thread (`unread.md` 10). Fails with `denied` where the channel is not accessible.
    pub fn following(&self, channel: ChannelId, root: EventId) -> Result<bool, Error> {
        if !self.access.is_allowed(channel) {
            return Err(Error::Denied);
        }
        Ok(self.relevance.is_following((channel, root)))
    }

    /// The whole list to be saved for a follow choice. Nothing changes until it is saved and handed to [`Self::set_follows`]. Fails
    /// with `denied` unless the relay confirmed access to the channel (R8b).
    pub fn prepare_follow(&self, choice: FollowChoice) -> Result<Vec<FollowChoice>, Error> {
        match self.access.channel(choice.channel) {
            Some(channel) if channel.allowed && channel.confirmed => Ok(self.relevance.with_choice(choice)),
            _ => Err(Error::Denied),
        }
    }

    /// Takes over the saved list of choices, oldest first: after a save, at start, or when another process changed it. What did not
    /// change costs and wakes nothing.
    pub fn set_follows(&mut self, list: &[FollowChoice], ctx: &Context<'_>) {
        self.set_time(ctx.server);
        let mut touched = Vec::new();
        let changed = self.relevance.set_follows(list, &mut touched);
        self.projection.dirty.threads.extend(changed);
        self.settle(touched, ctx);
    }

    /// Targets whose answer may differ since the last call, each once, sorted. A named target may also be unchanged: compare.
    pub fn take_dirty(&mut self) -> Dirty {
        std::mem::take(&mut self.projection.dirty).sorted()
    }

    // --- Keeping the projection true ---------------------------------------------------------------------------------

    /// Follows what was touched until nothing is left to evaluate. It ends: a look-up that is forgotten for a newer one may be
    /// wanted again, but no more are ever wanted than are remembered (`unread.md` 4.4).
    fn settle(&mut self, mut touched: Vec<Touch>, ctx: &Context<'_>) {
        loop {
            for touch in std::mem::take(&mut touched) {
                self.follow(touch, ctx);
            }
            let (evidence, relevance, viewer) = (&self.evidence, &self.relevance, self.access.viewer());
            let wants = self.projection.settle(|message| relation(message, evidence, relevance, viewer));
            for msg in wants {
                if let Some((key, claimed)) = self.lookup_of(msg) {
                    self.relevance.want(key, claimed, &mut touched);
                }
            }
            if touched.is_empty() {
                break;
            }
        }
        self.projection.dirty.bound();
    }

    fn follow(&mut self, touch: Touch, ctx: &Context<'_>) {
        match touch {
            Touch::Parent(place) => {
                for msg in self.projection.siblings(place) {
                    self.projection.queue(msg, true);
                }
            }
            Touch::Claimed(place) => {
                for msg in self.projection.claimants(place) {
                    self.projection.queue(msg, true);
                }
            }
            Touch::Structure(place) => self.resolve_through(place, ctx),
        }
    }

    /// Resolves everything anew whose root is found by way of this message.
    fn resolve_through(&mut self, (channel, id): Place, ctx: &Context<'_>) {
        self.projection.dirty.threads.push((channel, id));
        let mut seen = HashSet::new();
        let mut next = vec![id];
        while let Some(id) = next.pop() {
            let claimants = self.projection.claimants((channel, id));
            let claiming = self.relevance.claiming(&id);
            if (claimants.is_empty() && claiming.is_empty()) || !seen.insert(id) {
                continue;
            }
            next.extend(claiming);
            for msg in claimants {
                self.resolve(msg, ctx);
                next.extend(self.projection.message(msg).map(|m| m.key.id));
            }
        }
    }

    fn resolve(&mut self, msg: Msg, ctx: &Context<'_>) {
        let Some(message) = self.projection.message(msg) else { return };
        let (handle, to_place) = (message.handle, message.facts.is_live && message.facts.is_reply);
        if message.register.is_some() {
            // Another root has another frontier, which can end the message's override.
            let place = (message.home, message.key.id);
            self.projection.dirty.messages.push(place);
        }
        if !to_place {
            return;
        }
        let Some(entry) = self.evidence.entry(handle) else { return };
        let Some(channel) = entry.channel() else { return };
        let root = self.relevance.resolve(channel, entry.event(), &self.evidence);
        self.projection.set_thread(msg, root, ctx.marks);
    }

    /// The look-up a reply wants, and the root it claims.
    fn lookup_of(&self, msg: Msg) -> Option<(LookupKey, EventId)> {
        let message = self.projection.message(msg)?;
        let channel = message.home;
        let structure = message.facts.choice == Some(true);
        let id = if structure { message.claimed } else { message.parent };
        Some((LookupKey { channel, id, structure }, message.claimed))
    }

    /// Builds the projection anew from evidence.
    fn rebuild(&mut self, ctx: &Context<'_>) {
        self.projection.reset();
        self.relevance.evidence_reset();
        let handles: Vec<_> = self.evidence.messages().map(|(handle, ..)| handle).collect();
        let mut touched = Vec::new();
        self.add_messages(&handles, &mut touched, ctx);
        self.settle(touched, ctx);
    }

    fn msg(&self, id: &EventId) -> Option<Msg> {
        self.projection.by_handle(self.evidence.handle(id)?)
    }

    /// The channel of a message that is retained or known as structure.
    fn home_of(&self, id: &EventId) -> Option<ChannelId> {
        match self.evidence.get(id) {
            Some(entry) => entry.channel(),
            None => self.relevance.structure(id).map(|s| s.channel),
        }
    }
}

impl std::fmt::Debug for Unread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Unread({:?}, {:?})", self.evidence, self.relevance)
    }
}

/// How a reply stands to the viewer's conversations.
fn relation(message: &Message, evidence: &Evidence, relevance: &Relevance, viewer: PublicKey) -> Relation {
    let channel = message.home;
    let own_parent = evidence.get(&message.parent).is_some_and(|parent| {
        parent.channel() == Some(channel) && !parent.deleted() && parent.event().pubkey == viewer
    });
    relevance.relation(channel, message.parent, message.claimed, own_parent)
}
