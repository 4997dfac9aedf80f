//! Bringing everything to rest after an input: carries what rooms put out to whom it concerns until nothing moves.

use super::facts::{self, FoldScene, Marks};
use super::saves::{For, Save};
use super::{Effect, Engine, Keep, OpId, Reply, Room, WindowCall};
use crate::error::{Error, NetworkFailure};
use crate::event::SharedEvent;
use crate::event::kept::KeptPage;
use crate::ids::{ChannelId, EventId};
use crate::journal::{Mutation, Record};
use crate::limits;
use crate::model::{Receipt, SyncOutlook};
use crate::read_state;
use crate::reading::{Intent, Step};
use crate::relay::admission::{Finished, Gate, Pumped};
use crate::relay::connection::Arming;
use crate::request::{Answer, Body, Outcome, Purpose, Request, RequestId};
use crate::store::journal::{Cancel, Saved};
use crate::unread;
use crate::window::TimelineKey;

/// The unread room's context, from disjoint fields of the engine.
macro_rules! unread_ctx {
    ($engine:ident, $marks:ident) => {
        unread::Context { now: $engine.now.mono, server: $engine.link.server_time().at($engine.now), marks: &$marks }
    };
}
pub(super) use unread_ctx;

impl Engine {
    /// See the module's text. Each round carries things forward only, so it ends; the bound is for a bug's sake.
    pub(super) fn settle(&mut self) {
        for _ in 0..limits::SETTLE_ROUNDS {
            let moved = [
                self.carry_link_events(),
                self.carry_gate(),
                self.carry_parked(),
                self.carry_admission(),
                self.carry_sync(),
                self.carry_windows(),
                self.carry_evidence(),
                self.carry_lookups(),
            ];
            if !moved.contains(&true) {
                break;
            }
        }
        self.check_witnesses();
        if !self.deferred {
            self.keep();
            self.project();
        }
    }

    /// Between `true` and `false`, inputs change nothing anybody sees: a burst of them is projected once, at its end.
    pub fn defer(&mut self, deferred: bool) {
        self.deferred = deferred;
        if !deferred {
            self.settle();
        }
    }

    /// Takes the requests a room has just sent: to the queue, or to wait for their channel's live stream.
    pub(super) fn route(&mut self, room: Room) {
        for id in std::mem::take(&mut self.out.cancelled) {
            self.owners.remove(&id);
            self.parked.retain(|(parked, ..)| *parked != id);
            if self.admission.cancel(id) {
                self.effects.push(Effect::Abort(id));
            }
        }
        for (id, request) in std::mem::take(&mut self.out.sent) {
            self.owners.insert(id, room);
            match armed_by(&request) {
                Some(channel) if self.must_wait(channel) => self.parked.push((id, request, channel)),
                _ => self.submit(id, request),
            }
        }
    }

    /// Whether the channel's live stream is not armed yet but will be (R3).
    fn must_wait(&self, channel: ChannelId) -> bool {
        self.admission_open() && self.link.arming(&channel) == Arming::Pending
    }

    fn admission_open(&self) -> bool {
        self.link.gate() != Gate::Offline
    }

    /// Requests sent while projecting go out with this input, not with the next.
    pub(super) fn send_now(&mut self) {
        self.carry_admission();
    }

    fn submit(&mut self, id: RequestId, request: Request) {
        if let Err(error) = self.admission.submit(self.now.mono, id, request) {
            self.deliver(id, Err(error));
        }
    }

    fn carry_parked(&mut self) -> bool {
        let ready: Vec<_> = {
            let waiting = std::mem::take(&mut self.parked);
            let (wait, ready) = waiting.into_iter().partition(|(_, _, channel)| self.must_wait(*channel));
            self.parked = wait;
            ready
        };
        let moved = !ready.is_empty();
        for (id, request, _) in ready {
            self.submit(id, request);
        }
        moved
    }

    pub(super) fn carry_gate(&mut self) -> bool {
        let failed = self.admission.set_gate(self.link.gate());
        let moved = !failed.is_empty();
        for (id, error) in failed {
            self.deliver(id, Err(error));
        }
        moved
    }

    fn carry_admission(&mut self) -> bool {
        let pumped = self.admission.pump(self.now.mono);
        self.pumped(pumped)
    }

    fn pumped(&mut self, pumped: Pumped) -> bool {
        let moved = !pumped.failed.is_empty();
        let server_time = self.server_now();
        for id in pumped.start {
            if let Some(request) = self.admission.request(id).cloned() {
                self.effects.push(Effect::Exchange { id, request, server_time });
            }
        }
        self.effects.extend(pumped.abort.into_iter().map(Effect::Abort));
        for (id, error) in pumped.failed {
            self.deliver(id, Err(error));
        }
        moved
    }

    pub(super) fn finish_exchange(&mut self, id: RequestId, outcome: Outcome) {
        let (finished, pumped) = self.admission.finish(self.now, id, outcome, self.link.server_time());
        if let Finished::Report(outcome) = finished {
            self.deliver(id, outcome);
        }
        self.pumped(pumped);
    }

    /// Gives an outcome to the room that asked.
    fn deliver(&mut self, id: RequestId, outcome: Outcome) {
        let Some(room) = self.owners.remove(&id) else { return };
        let now = self.now;
        match room {
            Room::Directory => {
                let change = self.directory.on_answer(id, outcome, now.mono, &mut self.out);
                self.route(room);
                self.access_changed(&change);
                // The connection asks again for channels it was refused only after the roster was looked at.
                self.subscribe();
            }
            Room::Mutes => {
                let server = self.server_now();
                let effects = self.mutes.on_answer(id, outcome, now.mono, server, &mut self.out);
                self.route(room);
                self.mute_effects(effects);
            }
            Room::Profiles => {
                if let Ok(Answer::Events(batch)) = &outcome {
                    self.effects.push(Effect::Keep(Keep::Profiles(batch.events.clone())));
                }
                let named = self.profiles.on_answer(id, outcome, &mut self.out);
                self.route(room);
                self.names_changed(&named);
            }
            Room::Windows => self.window_answered(id, &outcome),
            Room::Unread => {
                let marks = Marks(&self.record, &self.visits);
                let ctx = unread_ctx!(self, marks);
                self.unread.on_answer(id, outcome, &ctx, &mut self.out);
                self.route(room);
            }
            Room::Sync => {
                self.with_sync(|sync, io| sync.on_answer(id, &outcome, io));
            }
            Room::Homes => {
                let learned = self.homes.on_answer(id, &outcome, &mut self.out);
                self.route(room);
                self.save_homes(learned);
            }
        }
    }

    fn window_answered(&mut self, id: RequestId, outcome: &Outcome) {
        let scene = FoldScene { relay: self.relay_key(), directory: &self.directory, unread: &self.unread };
        self.windows.on_answer(id, outcome, &scene, self.now, &mut self.out);
        self.route(Room::Windows);
        if let Ok(Answer::Events(batch)) = outcome {
            self.witness_rows(&batch.events);
        }
    }

    /// Rows that a page brought are evidence too, as long as there is room: reading far back must never cost the counts.
    fn witness_rows(&mut self, events: &[SharedEvent]) {
        let shown: Vec<SharedEvent> = events.iter().filter(|e| self.windows.held(&e.id).is_some()).cloned().collect();
        let evidence = self.unread.evidence();
        let fresh = shown.iter().filter(|e| evidence.get(&e.id).is_none());
        let (count, bytes) = fresh.fold((0, 0), |(n, b), e| (n + 1, b + e.json_len));
        let room = limits::EVIDENCE_EVENTS / 4 * 3;
        let fits = evidence.len() + count <= room && evidence.bytes() + bytes <= limits::EVIDENCE_BYTES / 4 * 3;
        if shown.is_empty() || !fits {
            return;
        }
        let marks = Marks(&self.record, &self.visits);
        let ctx = unread_ctx!(self, marks);
        self.unread.intake(&shown, &ctx);
    }

    pub(super) fn restore_pages(&mut self, key: &TimelineKey, pages: Vec<KeptPage>) {
        let events: Vec<SharedEvent> = pages.iter().flat_map(|p| p.rows.iter().chain(&p.changes)).cloned().collect();
        let scene = FoldScene { relay: self.relay_key(), directory: &self.directory, unread: &self.unread };
        self.windows.restored(key, pages, &scene, &mut self.out);
        self.route(Room::Windows);
        let marks = Marks(&self.record, &self.visits);
        let ctx = unread_ctx!(self, marks);
        self.unread.restore(&events, &[], &[], &ctx);
    }

    fn carry_windows(&mut self) -> bool {
        let restores = self.windows.take_restores();
        let done = self.windows.take_done();
        let moved = !restores.is_empty() || !done.is_empty();
        self.effects.extend(restores.into_iter().map(Effect::Restore));
        for (token, result) in done {
            self.window_done(super::CallId(token.0), result);
        }
        moved
    }

    fn window_done(&mut self, call: super::CallId, result: Result<(), Error>) {
        match self.waiting.windows.remove(&call) {
            Some(WindowCall::Open(key)) => {
                if result.is_err() {
                    self.close_timeline(key);
                }
                self.done(call, result);
            }
            Some(WindowCall::FirstUnread(key)) if result.is_ok() => self.page_to_first_unread(call, key),
            Some(WindowCall::Older | WindowCall::FirstUnread(_)) => self.done(call, result),
            None => {}
        }
    }

    /// What the read-state machine wants done.
    fn carry_sync(&mut self) -> bool {
        let wanted = std::mem::take(&mut self.sync_out);
        let moved = !wanted.is_empty();
        for effect in wanted {
            match effect {
                read_state::Effect::Journal { op, mutation } => {
                    self.save(For::Sync(op), None, Vec::new(), mutation);
                }
                read_state::Effect::Reload { op } => {
                    let op = self.in_line(op);
                    self.effects.push(Effect::Reload(op));
                }
                read_state::Effect::Lock { op } => {
                    let op = self.in_line(op);
                    self.effects.push(Effect::Lock(op));
                }
                read_state::Effect::Unlock => self.effects.push(Effect::Unlock),
                read_state::Effect::Crypto(job) => self.effects.push(Effect::Crypto(job)),
                read_state::Effect::Done { call, result } => self.sync_done(call.0, result),
            }
        }
        moved
    }

    fn in_line(&mut self, op: read_state::OpId) -> OpId {
        let own = self.op();
        let save = Save {
            purpose: For::Sync(op),
            channel: None,
            witnesses: Vec::new(),
            cancel: Cancel::new(),
            step: None,
            access_lost: false,
        };
        self.saves.begin(own, save);
        own
    }

    fn sync_done(&mut self, call: u64, result: Result<(), Error>) {
        if self.waiting.markers == Some(call) {
            self.waiting.markers = None;
            self.waiting.markers_done = true;
        } else if self.waiting.sync.remove(&super::CallId(call)) {
            self.done(super::CallId(call), result);
        } else {
            self.stage_published(super::CallId(call));
        }
    }

    /// Markers before evidence, the roster before both; then calls that are through.
    fn carry_evidence(&mut self) -> bool {
        let mut moved = false;
        if self.unread.take_markers_wanted().is_some() {
            moved = true;
            self.waiting.next_internal += 1;
            let call = super::INTERNAL | self.waiting.next_internal;
            self.waiting.markers = Some(call);
            self.waiting.markers_done = false;
            let anew = std::mem::take(&mut self.waiting.markers_anew);
            self.with_sync(|sync, io| {
                let call = read_state::CallId(call);
                if anew { sync.refresh(call, io) } else { sync.ensure(call, io) }
            });
        }
        if self.waiting.markers_done && self.roster_is_settled() {
            moved = true;
            self.waiting.markers_done = false;
            match self.roster_is_missing() {
                Some(error) => self.unread.cannot_read(error),
                None => self.unread.markers_loaded(&mut self.out),
            }
            self.route(Room::Unread);
        }
        for (ticket, result) in self.unread.take_completions() {
            moved = true;
            let call = super::CallId(ticket.0);
            if self.waiting.evidence.remove(&call) {
                self.done(call, result);
            }
        }
        moved
    }

    /// Why there is no roster to read by, not even a kept one: then a read that reads nothing is no success.
    fn roster_is_missing(&self) -> Option<Error> {
        if !self.directory.is_cached() || self.directory.channels().next().is_some() {
            return None;
        }
        let offline = Error::Network { why: NetworkFailure::Offline };
        Some(self.directory.error().cloned().unwrap_or(offline))
    }

    /// Whether waiting for the relay's roster makes no sense any more: it is there, cannot be had, or was asked for in vain.
    pub(super) fn roster_is_settled(&self) -> bool {
        !self.directory.is_cached() || self.directory.error().is_some() || self.link.gate() == Gate::Offline
    }

    fn carry_lookups(&mut self) -> bool {
        let marks = Marks(&self.record, &self.visits);
        let ctx = unread_ctx!(self, marks);
        self.unread.poll(&ctx, &mut self.out);
        let sent = !self.out.sent.is_empty();
        self.route(Room::Unread);
        let waits_for_time = self.unread.relevance().next_wake().is_some();
        if !self.waiting.lookups.is_empty() && (self.unread.lookups_are_quiet() || waits_for_time || !self.online) {
            for call in std::mem::take(&mut self.waiting.lookups) {
                self.done(call, Ok(()));
            }
        }
        self.carry_opens() || sent
    }

    /// Opens that waited for the first roster.
    fn carry_opens(&mut self) -> bool {
        if self.waiting.opens.is_empty() || !self.roster_is_settled() {
            return false;
        }
        for (call, key, limit, utc_offset) in std::mem::take(&mut self.waiting.opens) {
            self.open(call, key, limit, utc_offset);
        }
        true
    }

    // --- Saves ---------------------------------------------------------------------------------------------------------

    /// Puts an intent of reading in line. An empty one is answered at once.
    pub(super) fn save_intent(&mut self, purpose: For, channel: Option<ChannelId>, intent: Intent, step: Option<Step>) {
        if intent.is_empty() {
            self.save_ended(purpose, Ok(()), false);
            return;
        }
        self.save_step(purpose, channel, intent.witnesses, Mutation::Read(intent.read), step);
    }

    /// Puts a mutation in line.
    pub(super) fn save(
        &mut self,
        purpose: For,
        channel: Option<ChannelId>,
        witnesses: Vec<EventId>,
        mutation: Mutation,
    ) {
        self.save_step(purpose, channel, witnesses, mutation, None);
    }

    /// Puts a mutation in line that changes something of a visit when it commits.
    pub(super) fn save_step(
        &mut self,
        purpose: For,
        channel: Option<ChannelId>,
        witnesses: Vec<EventId>,
        mutation: Mutation,
        step: Option<Step>,
    ) {
        if self.saves.len() >= limits::SAVES_UNDER_WAY {
            if let Some(step) = step {
                self.step_ended(step, false);
            }
            self.save_ended(purpose, Err(Error::Busy { what: "journal" }), false);
            return;
        }
        let op = self.op();
        let cancel = Cancel::new();
        let facts = facts::coverage(&self.record, &mutation, &self.unread);
        let save = Save { purpose, channel, witnesses, cancel: cancel.clone(), step, access_lost: false };
        self.saves.begin(op, save);
        self.effects.push(Effect::Save { op, mutation, facts, cancel });
    }

    pub(super) fn saved(&mut self, op: OpId, result: Result<Saved, Error>) {
        let result = result.map(|saved| self.adopt(saved));
        if let Some(save) = self.saves.end(op) {
            if let Some(step) = save.step {
                self.step_ended(step, result.is_ok());
            }
            self.save_ended(save.purpose, result, save.access_lost);
        }
    }

    /// Brings the record in memory up to the one on disk, and everything that follows from it.
    fn adopt(&mut self, saved: Saved) {
        match saved {
            Saved::Unchanged => {}
            Saved::Replaced(record) => self.replace_record(*record),
            Saved::Changed(diff) => {
                self.record.adopt(&diff);
                let mut keys: Vec<_> = diff.rows.keys().filter_map(facts::mark_key).collect();
                keys.extend(diff.overrides.keys().filter_map(facts::mark_key));
                keys.extend(diff.local.keys().map(facts::manual_key));
                let marks = Marks(&self.record, &self.visits);
                let ctx = unread_ctx!(self, marks);
                if diff.overrides.is_empty() {
                    self.unread.marks_changed(&keys, &ctx);
                } else {
                    self.unread.marks_reset(&ctx);
                }
                if !diff.follows.is_empty() {
                    self.follows_changed();
                }
                self.with_sync(|sync, io| sync.committed(io));
            }
        }
    }

    /// Another process wrote the record meanwhile.
    pub(super) fn replace_record(&mut self, record: Record) {
        self.record = record;
        let marks = Marks(&self.record, &self.visits);
        let ctx = unread_ctx!(self, marks);
        self.unread.marks_reset(&ctx);
        self.follows_changed();
        self.with_sync(|sync, io| sync.committed(io));
    }

    pub(super) fn follows_changed(&mut self) {
        let choices = self.record.follows().iter();
        let list: Vec<_> = choices
            .map(|((channel, root), following)| crate::relevance::FollowChoice { channel, root, following })
            .collect();
        let marks = Marks(&self.record, &self.visits);
        let ctx = unread_ctx!(self, marks);
        self.unread.set_follows(&list, &ctx);
    }

    fn save_ended(&mut self, purpose: For, result: Result<(), Error>, access_lost: bool) {
        match purpose {
            For::Call(call, sync) => self.answer(call, result.map(|()| Reply::Saved(Receipt { sync }))),
            For::Follow(call) => self.done(call, result),
            For::Sweep(call) => self.sweep_step(call, result, access_lost),
            For::Dwell(_) | For::Homes => {}
            For::Sync(op) => self.with_sync(|sync, io| sync.on_journal(op, result, io)),
        }
    }

    pub(super) fn sweep_step(&mut self, call: super::CallId, result: Result<(), Error>, access_lost: bool) {
        let Some(sweep) = self.waiting.sweeps.get_mut(&call) else { return };
        sweep.left = sweep.left.saturating_sub(1);
        match result {
            Ok(()) => sweep.saved += 1,
            // A channel whose access was lost before its turn is skipped, not failed (`unread.md` 7.3).
            Err(Error::Cancelled { .. }) if access_lost => {}
            Err(error) => _ = sweep.first_error.get_or_insert(error),
        }
        if sweep.left == 0
            && let Some(sweep) = self.waiting.sweeps.remove(&call)
        {
            self.answer(call, sweep.first_error.map_or(Ok(Reply::Swept(sweep.saved)), Err));
        }
    }

    fn save_homes(&mut self, learned: Option<Mutation>) {
        if let Some(mutation) = learned {
            self.save(For::Homes, None, Vec::new(), mutation);
        }
    }

    /// A save rests on messages that must still be there when it commits.
    fn check_witnesses(&mut self) {
        if self.saves.len() > 0 {
            let unread = &self.unread;
            self.saves.witnesses_lost(|id| unread.message(id).is_none_or(|m| m.deleted));
        }
    }

    // --- The cache -----------------------------------------------------------------------------------------------------

    /// Hands on what the disposable cache should keep.
    fn keep(&mut self) {
        let changes = self.unread.take_cache_changes();
        if changes.cleared {
            self.effects.push(Effect::Keep(Keep::NoEvidence));
        }
        if !changes.events.is_empty() {
            self.effects.push(Effect::Keep(Keep::Evidence(changes.events)));
        }
        if !changes.deleted.is_empty() {
            self.effects.push(Effect::Keep(Keep::Deleted(changes.deleted)));
        }
        if !changes.structure.is_empty() {
            self.effects.push(Effect::Keep(Keep::Structure(changes.structure)));
        }
        if changes.repaired {
            let unread = &self.unread;
            let learned = self.homes.start(&self.record, |id| unread.message(id).is_some(), &mut self.out);
            self.route(Room::Homes);
            self.save_homes(learned);
            self.carry_admission();
        }
        let unsaved: Vec<TimelineKey> = self.windows.unsaved().copied().collect();
        for key in unsaved {
            if let Some(pages) = self.windows.keep_unsaved(&key) {
                self.effects.push(Effect::Keep(Keep::Pages(key, pages)));
            }
        }
        let channels = self.directory.take_unsaved();
        if !channels.is_empty() {
            self.effects.push(Effect::Keep(Keep::Channels(channels)));
        }
        if let Some(mutes) = self.mutes.take_unsaved() {
            self.effects.push(Effect::Keep(Keep::Mutes(mutes)));
        }
    }

    /// The sync outlook of what an intent writes: only frontiers other than a message's leave this device (R19).
    pub(super) fn outlook(&self, intent: &Intent) -> SyncOutlook {
        let leaves = intent.read.marks.iter().any(|mark| !mark.key.is_message());
        if leaves { SyncOutlook::Pending } else { SyncOutlook::LocalOnly }
    }
}

/// The channel whose live stream must be armed before this request goes out (R3): page reads of a timeline.
fn armed_by(request: &Request) -> Option<ChannelId> {
    if !matches!(request.purpose, Purpose::Head | Purpose::Thread) {
        return None;
    }
    let Body::Query(filters) = &request.body else { return None };
    filters.iter().find_map(|f| f.h.as_ref()?.first().and_then(|h| ChannelId::parse(h).ok()))
}
