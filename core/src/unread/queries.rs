//! What other rooms ask about retained messages: reading, retention, timelines, the sidebar.

use super::Unread;
use super::marks::{MarkKey, MarkSource};
use super::projection::{Message, Msg};
use super::snapshot::manual;
use crate::event::SharedEvent;
use crate::ids::{ChannelId, EventId, Target};
use crate::limits;
use crate::model::{ChannelType, Manual};

/// One retained message as evaluated now.
#[derive(Debug, Clone, Copy)]
pub struct MessageView<'a> {
    /// The event.
    pub event: &'a SharedEvent,
    /// Its channel.
    pub channel: ChannelId,
    /// Removed by an authorised deletion; nothing below but `own`, `quiet` and the roots means anything then.
    pub deleted: bool,
    /// The viewer signed it.
    pub own: bool,
    /// For agents only (R10): no mark is offered for it, and none takes effect.
    pub quiet: bool,
    /// Unread (`unread.md` 5.1).
    pub unread: bool,
    /// Marked unread by hand, which no frontier changes.
    pub forced: bool,
    /// Has priority, read or not: a DM, mention, broadcast or reply in one of the viewer's conversations. Such a message is read
    /// by no `activity:` mark.
    pub priority: bool,
    /// A row of the channel's timeline: top-level, or a broadcast that answers its root (R14a).
    pub row: bool,
    /// The root it resolves to: itself when top-level.
    pub root: Option<EventId>,
}

impl MessageView<'_> {
    /// The root it claims; what a DM's thread reader and follow choices go by.
    pub fn claimed_root(&self) -> EventId {
        self.event.claimed_root()
    }

    /// Dated more than [`limits::RELAY_DRIFT`] after the relay's time: no prefix is ever advanced to it by reading (R12).
    pub fn is_future(&self, server: u64) -> bool {
        self.event.created_at > server.saturating_add(limits::RELAY_DRIFT)
    }
}

/// What marking a channel read clears beside the channel's own marks (`unread.md` 7.2). Sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClearList {
    /// `msg:` of every retained message.
    pub messages: Vec<EventId>,
    /// `thread:` of every resolved root and of every retained top-level message.
    pub threads: Vec<EventId>,
}

/// What retention must know of a retained message (`unread.md` 8.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageFact {
    /// Its channel.
    pub channel: ChannelId,
    /// Its time, seconds.
    pub created_at: u64,
    /// Its channel's `activity:` mark reads it: top-level without priority, in a channel known to be no DM.
    pub ordinary: bool,
}

impl Unread {
    fn view<'a>(&'a self, message: &'a Message) -> Option<MessageView<'a>> {
        let entry = self.evidence.entry(message.handle)?;
        let (event, channel) = (entry.event(), entry.channel()?);
        let is_dm = self.access.channel(channel).is_some_and(crate::evidence::ChannelAccess::is_dm);
        let root =
            if message.facts.is_reply { self.projection.thread_of(message).map(|t| t.root) } else { Some(event.id) };
        Some(MessageView {
            event,
            channel,
            deleted: entry.deleted(),
            own: message.facts.is_own,
            quiet: message.facts.is_quiet,
            unread: message.state.unread,
            forced: message.facts.is_forced,
            priority: message.facts.has_priority(is_dm),
            row: self.is_row(event),
            root,
        })
    }

    /// Whether a message is a row of its channel's timeline.
    fn is_row(&self, event: &SharedEvent) -> bool {
        let Some(reference) = event.reference else { return true };
        let parent_is_reply = || match self.evidence.get(&reference.parent) {
            Some(parent) => parent.event().reference.is_some(),
            None => self.relevance.structure(&reference.parent).is_some_and(|s| s.reference.is_some()),
        };
        event.broadcast && reference.parent == reference.root && !parent_is_reply()
    }

    /// A retained message of an accessible channel, deleted or not.
    pub fn message(&self, id: &EventId) -> Option<MessageView<'_>> {
        self.view(self.projection.message(self.msg(id)?)?).filter(|view| self.access.is_allowed(view.channel))
    }

    /// Live messages of a channel, newest first.
    pub fn members(&self, channel: ChannelId) -> impl DoubleEndedIterator<Item = MessageView<'_>> {
        let members = self.projection.channel(channel).filter(|_| self.access.is_allowed(channel));
        members.into_iter().flat_map(|c| c.members.iter()).filter_map(|member| self.view_of(member.msg))
    }

    fn view_of(&self, msg: Msg) -> Option<MessageView<'_>> {
        self.view(self.projection.message(msg)?)
    }

    /// Live replies that resolve to a root, newest first.
    pub fn replies(&self, root: &EventId) -> impl DoubleEndedIterator<Item = MessageView<'_>> {
        let members = self.projection.thread(root);
        members.into_iter().flat_map(|t| t.members.iter()).filter_map(|member| self.view_of(member.msg))
    }

    /// Time of the newest live message of a channel, own and read ones, replies and quiet ones included. With `server`, the
    /// relay's time, only those that are not future-dated (R12).
    pub fn newest_at(&self, channel: ChannelId, server: Option<u64>) -> Option<u64> {
        if !self.access.is_allowed(channel) {
            return None;
        }
        let horizon = server.map_or(u64::MAX, |now| now.saturating_add(limits::RELAY_DRIFT));
        let members = &self.projection.channel(channel)?.members;
        members.range(|member| member.key.created_at > horizon, |_| true).next().map(|member| member.key.created_at)
    }

    /// Timeline rows of a channel dated at or before `until`, newest first.
    pub fn rows(&self, channel: ChannelId, until: u64) -> impl Iterator<Item = MessageView<'_>> {
        let members = self.projection.channel(channel).filter(|_| self.access.is_allowed(channel));
        let found = members.into_iter().flat_map(move |c| c.members.range(move |m| m.key.created_at > until, |_| true));
        found.filter_map(|member| self.view_of(member.msg)).filter(|view| view.row)
    }

    /// The oldest unread timeline row of a channel, never the viewer's own (R28).
    pub fn first_unread_row(&self, channel: ChannelId) -> Option<EventId> {
        self.members(channel).rev().find(|view| view.row && view.unread).map(|view| view.event.id)
    }

    /// The oldest unread reply of a thread.
    pub fn first_unread_reply(&self, root: &EventId) -> Option<EventId> {
        self.replies(root).rev().find(|view| view.unread).map(|view| view.event.id)
    }

    /// Whether a retained message is unread.
    pub fn is_unread(&self, id: &EventId) -> bool {
        self.msg(id).and_then(|msg| self.projection.message(msg)).is_some_and(|m| m.state.unread)
    }

    /// The channel of a message that is retained, or known as structure from look-ups.
    pub fn channel_of(&self, id: &EventId) -> Option<ChannelId> {
        self.home_of(id)
    }

    /// The text of a retained message after edits.
    pub fn text(&self, id: &EventId) -> Option<String> {
        self.evidence.get(id).map(|entry| self.evidence.text(entry.event(), &self.access))
    }

    /// What marking the channel read clears (`unread.md` 7.2).
    pub fn clear_list(&self, channel: ChannelId) -> ClearList {
        let mut list = ClearList::default();
        for view in self.members(channel) {
            list.messages.push(view.event.id);
            list.threads.extend(view.root);
        }
        list.messages.sort_unstable();
        list.threads.sort_unstable();
        list.threads.dedup();
        list
    }

    /// Channels that marking everything read selects (`unread.md` 7.3), in channel-id order.
    pub fn mark_all_selection(&self, marks: &dyn MarkSource) -> Vec<ChannelId> {
        let is_selected = |id: &ChannelId| {
            let target = Target::Channel(*id);
            if manual(&target, None, marks) != Manual::None {
                return true;
            }
            let Some(channel) = self.projection.channel(*id) else { return false };
            channel.totals.observed > 0
                || self.clear_list(*id).threads.iter().any(|root| marks.is_marked(MarkKey::Thread(*root)))
        };
        self.access.allowed().into_iter().filter(is_selected).collect()
    }

    /// What retention must know of a message; none when it is not retained.
    pub fn message_fact(&self, id: &EventId) -> Option<MessageFact> {
        let view = self.message(id)?;
        let channel_type = self.access.channel(view.channel)?.channel_type;
        let is_known = !matches!(channel_type, ChannelType::Unknown | ChannelType::Dm);
        Some(MessageFact {
            channel: view.channel,
            created_at: view.event.created_at,
            ordinary: is_known && view.event.reference.is_none() && !view.priority,
        })
    }
}
