//! Calls of the app, one by one.

use super::facts::{Marks, ReadingScene};
use super::saves::{For, Sweep};
use super::{Call, CallId, Effect, Engine, Reply, Room, Stage, WindowCall};
use crate::directory::mutes;
use crate::error::Error;
use crate::evidence::Ticket;
use crate::ids::{ChannelId, EventId, Target};
use crate::journal::{LocalKey, Mutation};
use crate::limits;
use crate::model::{More, PresentationClass, SyncOutlook};
use crate::read_state;
use crate::reading::{Step, explicit};
use crate::relay::connection;
use crate::relevance::FollowChoice;
use crate::window::{CallToken, TimelineKey};

impl Engine {
    pub(super) fn call(&mut self, id: CallId, call: Call) {
        if matches!(self.stage, Stage::Closing { .. } | Stage::Ended) {
            self.answer(id, Err(Error::Closed));
            return;
        }
        match call {
            Call::Ensure | Call::Refresh => self.observe(id, call == Call::Refresh),
            Call::RetrySync => self.sync_call(id, read_state::Sync::retry_sync),
            Call::Flush => self.sync_call(id, read_state::Sync::flush),
            Call::SettleLookups => self.waiting.lookups.push(id),
            Call::Open { key, limit, utc_offset } => self.open(id, key, limit, utc_offset),
            Call::LoadOlder(key) => self.window_call(id, key, WindowCall::Older),
            Call::LoadFirstUnread(key) => self.page_to_first_unread(id, key),
            Call::CloseTimeline(key) => {
                self.close_timeline(key);
                self.done(id, Ok(()));
            }
            Call::MarkThrough(..) | Call::MarkChannelRead(_) => self.explicit_read(id, &call),
            Call::MarkAllChannelsRead => self.mark_all(id),
            Call::EnterChannel(channel) => self.enter_channel(id, channel),
            Call::LeaveChannel(channel) => self.leave_channel(id, channel),
            Call::MarkMessageUnread(channel, message) => self.mark_message_unread(id, channel, message),
            Call::MarkMessageRead(channel, message) => self.mark_message_read(id, channel, message),
            Call::MarkUnread(target) => self.manual(id, &target, true),
            Call::ClearUnread(target) => self.manual(id, &target, false),
            Call::Following(channel, root) => {
                let following = self.unread.following(channel, root);
                self.answer(id, following.map(Reply::Flag));
            }
            Call::Follow(channel, root, following) => self.follow(id, FollowChoice { channel, root, following }),
            Call::Mute(channel, muted) => self.mute(id, channel, muted),
            Call::PresentAs(channel, class) => self.present_as(id, channel, class),
            Call::Snapshot(target) => {
                let snapshot = self.unread.snapshot(&target, &Marks(&self.record, &self.visits));
                self.answer(id, Ok(Reply::Unread(Box::new(snapshot))));
            }
            Call::ThreadActivity(channel) => {
                let activity = self.unread.thread_activity(channel);
                self.answer(id, Ok(Reply::Activity(Box::new(activity))));
            }
            Call::Suspend { .. } | Call::Resume | Call::NetworkChanged | Call::Close | Call::Leave => {
                self.lifecycle(id, &call);
            }
        }
    }

    fn observe(&mut self, id: CallId, anew: bool) {
        if anew {
            self.waiting.markers_anew = true;
            if self.directory.error().is_some() {
                self.directory.refresh(&mut self.out);
                self.route(Room::Directory);
            }
            self.unread.refresh(Ticket(id.0));
        } else if let Some(result) = self.unread.ensure(Ticket(id.0)) {
            self.done(id, result);
            return;
        }
        self.waiting.evidence.insert(id);
    }

    fn sync_call(
        &mut self,
        id: CallId,
        step: fn(&mut read_state::Sync, read_state::CallId, &mut read_state::Context<'_>),
    ) {
        self.waiting.sync.insert(id);
        self.with_sync(|sync, io| step(sync, read_state::CallId(id.0), io));
    }

    // --- Timelines -----------------------------------------------------------------------------------------------------

    pub(super) fn open(&mut self, id: CallId, key: TimelineKey, limit: Option<u32>, utc_offset: i32) {
        if !self.directory.is_readable(key.channel) {
            if self.roster_is_settled() || self.waiting.opens.len() >= limits::OPEN_TIMELINES {
                self.answer(id, Err(Error::Denied));
            } else {
                self.waiting.opens.push_back((id, key, limit, utc_offset));
            }
            return;
        }
        let openings = self.openings.entry(key).or_insert(0);
        *openings = openings.saturating_add(1);
        self.timelines.open(key, utc_offset);
        self.subscribe();
        self.waiting.windows.insert(id, WindowCall::Open(key));
        self.windows.open(key, limit, CallToken(id.0), &mut self.out);
        self.route(Room::Windows);
    }

    fn window_call(&mut self, id: CallId, key: TimelineKey, what: WindowCall) {
        self.waiting.windows.insert(id, what);
        self.windows.load_older(key, CallToken(id.0), &mut self.out);
        self.route(Room::Windows);
    }

    /// Pages on until the first unread row of the visit is loaded, or nothing more can be.
    pub(super) fn page_to_first_unread(&mut self, id: CallId, key: TimelineKey) {
        let Some(view) = self.windows.view(&key) else {
            self.answer(id, Err(Error::NotFound { what: "open timeline" }));
            return;
        };
        let wanted = match key.root {
            None => self.unread.first_unread_row(key.channel),
            Some(root) => self.unread.first_unread_reply(&root),
        };
        let wanted = self.timelines.first_unread(&key).or(wanted);
        let loaded = wanted.is_some_and(|id| view.order().iter().any(|row| row.id == id));
        let Some(first) = wanted else {
            self.answer(id, Ok(Reply::Flag(false)));
            return;
        };
        // Rows come newest first, so a row older than all loaded ones is still below.
        let below = self.unread.message(&first).is_none_or(|m| {
            view.order().last().is_none_or(|oldest| m.event.key().is_after(oldest)) || view.gap().is_some()
        });
        if loaded || view.more() == More::No || !below {
            self.answer(id, Ok(Reply::Flag(loaded)));
        } else {
            self.window_call(id, key, WindowCall::FirstUnread(key));
        }
    }

    /// Ends one opening; the last one ends the visit.
    pub(super) fn close_timeline(&mut self, key: TimelineKey) {
        let Some(openings) = self.openings.get_mut(&key) else { return };
        *openings = openings.saturating_sub(1);
        if *openings > 0 {
            return;
        }
        self.openings.remove(&key);
        self.timelines.close(&key);
        if let Some(pages) = self.windows.close(&key, &mut self.out) {
            self.effects.push(Effect::Keep(super::Keep::Pages(key, pages)));
        }
        self.route(Room::Windows);
        self.subscribe();
    }

    /// A handle was dropped.
    pub fn drop_timeline(&mut self, key: TimelineKey) {
        self.close_timeline(key);
        self.settle();
    }

    // --- Reading -------------------------------------------------------------------------------------------------------

    pub(super) fn scene(&self) -> ReadingScene<'_> {
        ReadingScene {
            unread: &self.unread,
            record: &self.record,
            windows: &self.windows,
            capability: self.capability,
            server: self.server_now(),
        }
    }

    fn explicit_read(&mut self, id: CallId, call: &Call) {
        let (server, scene) = (self.server_now(), self.scene());
        let (channel, intent) = match call {
            Call::MarkThrough(target, message) => {
                (target.channel(), explicit::mark_through(target, *message, server, &scene))
            }
            Call::MarkChannelRead(channel) => (*channel, explicit::mark_channel_read(*channel, server, &scene)),
            _ => return,
        };
        match intent {
            Ok(intent) => {
                let outlook = self.outlook(&intent);
                let step = matches!(call, Call::MarkChannelRead(_)).then_some(Step::ReleaseAll(channel));
                self.save_intent(For::Call(id, outlook), Some(channel), intent, step);
            }
            Err(error) => self.answer(id, Err(error)),
        }
    }

    /// Every cut is taken now, with one clock, and every save gets its place in line now (`unread.md` 7.3).
    fn mark_all(&mut self, id: CallId) {
        let server = self.server_now();
        let selected = self.unread.mark_all_selection(&Marks(&self.record, &self.visits));
        let scene = self.scene();
        let intents: Vec<(ChannelId, Result<_, Error>)> =
            selected.iter().map(|c| (*c, explicit::mark_channel_read(*c, server, &scene))).collect();
        if intents.is_empty() {
            self.answer(id, Ok(Reply::Swept(0)));
            return;
        }
        let left = u32::try_from(intents.len()).unwrap_or(u32::MAX);
        self.waiting.sweeps.insert(id, Sweep { left, ..Sweep::default() });
        for (channel, intent) in intents {
            match intent {
                Ok(intent) => {
                    self.save_intent(For::Sweep(id), Some(channel), intent, Some(Step::ReleaseAll(channel)));
                }
                Err(error) => self.sweep_step(id, Err(error), false),
            }
        }
    }

    fn manual(&mut self, id: CallId, target: &Target, mark: bool) {
        let key = match explicit::manual_key(target, &self.scene()) {
            // What vanished can still be unmarked (F8).
            Err(Error::NotFound { .. }) if !mark && self.record.local_mark(&LocalKey::from(*target)).is_some() => {
                Ok(LocalKey::from(*target))
            }
            other => other,
        };
        match key {
            Ok(key) => {
                let mutation = if mark { Mutation::MarkUnread(key) } else { Mutation::ClearUnread(vec![key]) };
                let purpose = For::Call(id, SyncOutlook::LocalOnly);
                self.save(purpose, Some(target.channel()), Vec::new(), mutation);
            }
            Err(error) => self.answer(id, Err(error)),
        }
    }

    // --- Choices and preferences ---------------------------------------------------------------------------------------

    fn follow(&mut self, id: CallId, choice: FollowChoice) {
        match self.unread.prepare_follow(choice) {
            Ok(_) => {
                let FollowChoice { channel, root, following } = choice;
                let mutation = Mutation::Follow { channel, root, choice: Some(following) };
                self.save(For::Follow(id), Some(channel), Vec::new(), mutation);
            }
            Err(error) => self.answer(id, Err(error)),
        }
    }

    fn mute(&mut self, id: CallId, channel: ChannelId, muted: bool) {
        if !self.directory.is_allowed(channel) {
            self.answer(id, Err(Error::Denied));
            return;
        }
        self.waiting.mutes.insert(id);
        let effects = self.mutes.mute(mutes::CallId(id.0), channel, muted, &mut self.out);
        self.route(Room::Mutes);
        self.mute_effects(effects);
    }

    fn present_as(&mut self, id: CallId, channel: ChannelId, class: PresentationClass) {
        if !self.directory.is_readable(channel) {
            self.answer(id, Err(Error::Denied));
            return;
        }
        match class {
            PresentationClass::Normal => _ = self.classes.remove(&channel),
            PresentationClass::Solo | PresentationClass::Promoted => _ = self.classes.insert(channel, class),
        }
        self.stale_rows.insert(channel);
        self.done(id, Ok(()));
    }

    // --- Life ----------------------------------------------------------------------------------------------------------

    fn lifecycle(&mut self, id: CallId, call: &Call) {
        match call {
            Call::Suspend { budget_ms } => self.suspend(id, *budget_ms),
            Call::Resume => {
                if matches!(self.stage, Stage::Suspending { .. }) {
                    self.finish_stage();
                }
                self.stage = Stage::Running;
                self.with_sync(|sync, io| sync.resume(io));
                self.link.handle(self.now, connection::Input::Resume, &mut self.link_out);
                self.done(id, Ok(()));
            }
            Call::NetworkChanged => {
                self.link.handle(self.now, connection::Input::NetworkChanged, &mut self.link_out);
                self.done(id, Ok(()));
            }
            Call::Close => {
                self.surfaces.stop_all();
                self.saves.stop_dwells();
                let deadline = self.now.mono.plus(limits::CLOSE_BUDGET_MS);
                self.stage = Stage::Closing { call: id, deadline };
                self.with_sync(|sync, io| sync.stop(read_state::CallId(id.0), io));
            }
            Call::Leave => {
                self.surfaces.stop_all();
                self.saves.stop_dwells();
                self.end(id, true);
            }
            _ => {}
        }
    }

    /// Starts connecting. What the device holds is readable already.
    pub fn start(&mut self) {
        self.link.handle(self.now, connection::Input::Start, &mut self.link_out);
        self.settle();
    }

    fn suspend(&mut self, id: CallId, budget_ms: u64) {
        if self.stage != Stage::Running {
            self.done(id, Ok(()));
            return;
        }
        self.surfaces.stop_all();
        self.stage = Stage::Suspending { call: id, deadline: self.now.mono.plus(budget_ms) };
        self.with_sync(|sync, io| sync.suspend(read_state::CallId(id.0), io));
    }

    /// The publication before suspending or closing is through, well or not.
    pub(super) fn stage_published(&mut self, published: CallId) {
        match self.stage {
            Stage::Suspending { call, .. } | Stage::Closing { call, .. } if call == published => self.finish_stage(),
            _ => {}
        }
    }

    /// The budget may be over.
    pub(super) fn check_stage(&mut self) {
        match self.stage {
            Stage::Suspending { deadline, .. } | Stage::Closing { deadline, .. } if deadline <= self.now.mono => {
                self.finish_stage();
            }
            _ => {}
        }
    }

    fn finish_stage(&mut self) {
        match self.stage {
            Stage::Suspending { call, .. } => {
                self.stage = Stage::Suspended;
                self.link.handle(self.now, connection::Input::Suspend, &mut self.link_out);
                self.went_offline();
                self.done(call, Ok(()));
            }
            Stage::Closing { call, .. } => self.end(call, false),
            Stage::Running | Stage::Suspended | Stage::Ended => {}
        }
    }

    fn end(&mut self, call: CallId, leave: bool) {
        self.stage = Stage::Ended;
        self.link.handle(self.now, connection::Input::Close, &mut self.link_out);
        self.went_offline();
        let effects = self.mutes.close(&mut self.out);
        self.route(Room::Mutes);
        self.mute_effects(effects);
        self.abandon_calls();
        self.carry_link_events();
        self.effects.push(Effect::End { leave, call, outcome: Ok(()) });
    }

    /// Nobody waits for ever: what still waits ends with `closed`.
    fn abandon_calls(&mut self) {
        let mut left: Vec<CallId> = self.waiting.opens.drain(..).map(|(call, ..)| call).collect();
        left.extend(std::mem::take(&mut self.waiting.windows).into_keys());
        left.extend(std::mem::take(&mut self.waiting.sync));
        left.extend(std::mem::take(&mut self.waiting.evidence));
        left.extend(std::mem::take(&mut self.waiting.lookups));
        left.extend(std::mem::take(&mut self.waiting.mutes));
        for call in left {
            self.answer(call, Err(Error::Closed));
        }
    }

    /// The root a thread view of this message belongs to, for links.
    pub fn thread_of(&self, id: &EventId) -> Option<EventId> {
        self.unread.message(id).and_then(|m| m.root)
    }
}
