//! Entering and leaving channels, and what is marked in between (`unread.md` 7.5).

use super::facts::Marks;
use super::saves::For;
use super::settle::unread_ctx;
use super::{CallId, Engine};
use crate::error::Error;
use crate::ids::{ChannelId, EventId};
use crate::journal::{LocalKey, Mutation};
use crate::model::SyncOutlook;
use crate::reading::{Facts as _, Step, explicit};
use crate::unread::{self, MarkKey};

impl Engine {
    /// Begins the channel's visit and ends its hint; a visit that runs already keeps it.
    pub(super) fn enter_channel(&mut self, id: CallId, channel: ChannelId) {
        if !self.scene().allowed(channel) {
            self.answer(id, Err(Error::Denied));
            return;
        }
        let (visit, began) = self.visits.enter(channel);
        // Whether the hint is there is the journal's to say: another process, or a save under way, may have written it.
        if began {
            let mutation = Mutation::ClearUnread(vec![LocalKey::MessageForce(channel)]);
            let step = Step::Enter(channel, visit);
            self.save_step(For::Call(id, SyncOutlook::LocalOnly), Some(channel), Vec::new(), mutation, Some(step));
        } else {
            self.done(id, Ok(()));
        }
    }

    pub(super) fn leave_channel(&mut self, id: CallId, channel: ChannelId) {
        let allowed = self.scene().allowed(channel);
        self.end_visit(channel);
        self.done(id, if allowed { Ok(()) } else { Err(Error::Denied) });
    }

    /// Ends the channel's visit, if one is open.
    pub(super) fn end_visit(&mut self, channel: ChannelId) {
        if let Some((visit, rows)) = self.visits.leave(channel) {
            self.saves.visit_ended(visit);
            self.forced_changed(&rows);
        }
    }

    pub(super) fn mark_message_unread(&mut self, id: CallId, channel: ChannelId, message: EventId) {
        let rows = explicit::subtree(channel, message, &self.scene());
        let rows = rows.and_then(|rows| self.visits.check_room(rows.len()).map(|()| rows));
        match rows {
            Ok(rows) => {
                // Who marks in a channel is in it.
                let (visit, _) = self.visits.enter(channel);
                let rows: Vec<EventId> = rows.iter().map(|m| m.id).collect();
                let step = Step::Force(channel, visit, rows.clone());
                let mutation = Mutation::MarkUnread(LocalKey::MessageForce(channel));
                self.save_step(For::Call(id, SyncOutlook::LocalOnly), Some(channel), rows, mutation, Some(step));
            }
            Err(error) => self.answer(id, Err(error)),
        }
    }

    pub(super) fn mark_message_read(&mut self, id: CallId, channel: ChannelId, message: EventId) {
        let scene = self.scene();
        let intent = explicit::subtree(channel, message, &scene).and_then(|rows| {
            let mut others = self.visits.expected(channel, self.saves.steps());
            others.retain(|other| rows.iter().all(|m| m.id != *other));
            explicit::mark_rows_read(channel, &rows, others.is_empty(), &scene)
        });
        match intent {
            Ok(intent) => {
                // Outside a visit nothing is kept unread.
                let visit = self.visits.current(channel);
                let step = visit.map(|visit| Step::Release(channel, visit, intent.witnesses.clone()));
                let outlook = self.outlook(&intent);
                self.save_intent(For::Call(id, outlook), Some(channel), intent, step);
            }
            Err(error) => self.answer(id, Err(error)),
        }
    }

    /// A save that changes something of a visit ended.
    pub(super) fn step_ended(&mut self, step: Step, committed: bool) {
        if committed {
            let changed = self.visits.apply(step);
            self.forced_changed(&changed);
        } else {
            self.visits.abandon(&step);
        }
    }

    /// Messages are kept unread from now on, or no longer.
    fn forced_changed(&mut self, rows: &[EventId]) {
        let keys: Vec<MarkKey> = rows.iter().map(|id| MarkKey::Message(*id)).collect();
        let marks = Marks(&self.record, &self.visits);
        let ctx = unread_ctx!(self, marks);
        self.unread.marks_changed(&keys, &ctx);
    }
}
