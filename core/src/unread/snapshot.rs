//! Answers about one target (`unread.md` 3.4, 4.7, 5.2–5.4).

use super::Unread;
use super::marks::{MarkKey, MarkSource};
use super::projection::{Thread, Totals};
use crate::evidence::Evidence;
use crate::ids::{ChannelId, EventId, Target};
use crate::model::{Coverage, Freshness, Manual, ThreadActivity, ThreadActivityItem, UnreadSnapshot};

/// Why a message wants attention (`unread.md` 4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    /// A message of a DM.
    Direct,
    /// It mentions the viewer.
    Mention,
    /// A reply in one of the viewer's conversations.
    Thread,
}

/// Whether a message may call for attention (`unread.md` 4.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttentionStatus {
    /// Not decided: not held, not accessible, or its conversation is not known.
    Unknown,
    /// No.
    Ineligible,
    /// Yes, for its category.
    Eligible,
}

/// What a message is to the viewer (`unread.md` 4.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attention {
    /// Whether it may call.
    pub status: AttentionStatus,
    /// Why, when it may.
    pub category: Option<Category>,
    /// It mentions the viewer and its category is a mention.
    pub mentioned: bool,
    /// Unread by section 5, also when the status is unknown.
    pub unread: bool,
    /// Marked unread by hand.
    pub forced: bool,
    /// Its resolved root, for a reply.
    pub root: Option<EventId>,
    /// Its look-up is not over.
    pub pending: bool,
}

impl Attention {
    const NOTHING: Self = Self {
        status: AttentionStatus::Unknown,
        category: None,
        mentioned: false,
        unread: false,
        forced: false,
        root: None,
        pending: false,
    };
}

/// What is said of a target that is not accessible (`unread.md` 3.4).
pub(super) const DENIED: UnreadSnapshot = UnreadSnapshot {
    observed: None,
    attention: None,
    latest: None,
    coverage: Coverage::Unknown,
    freshness: Freshness::Unknown,
    manual: Manual::None,
    pending: false,
    error: None,
};

/// A snapshot of these counts over what the evidence says of itself.
pub(super) fn counted(
    evidence: &Evidence,
    channel: ChannelId,
    (observed, attention, pending): (u32, u32, bool),
    latest: Option<EventId>,
    manual: Manual,
) -> UnreadSnapshot {
    let known = evidence.is_known(channel);
    UnreadSnapshot {
        observed: known.then_some(observed),
        attention: known.then_some(attention),
        latest,
        coverage: if known { Coverage::Observed } else { Coverage::Unknown },
        freshness: evidence.freshness(),
        manual,
        pending,
        error: evidence.error().cloned(),
    }
}

/// Whether and by whom a target was marked unread by hand (`unread.md` 5.3). `root`: resolved root of a message target.
pub(super) fn manual(target: &Target, root: Option<EventId>, marks: &dyn MarkSource) -> Manual {
    let channel = MarkKey::Channel(target.channel());
    let key = match target {
        Target::Channel(_) => channel,
        Target::Thread(_, root) => MarkKey::Thread(*root),
        Target::Message(_, id) => MarkKey::Message(*id),
    };
    let is_hinted = matches!(target, Target::Channel(id) if marks.is_marked(MarkKey::MessageForce(*id)));
    if marks.is_marked(key) || is_hinted {
        return Manual::LocalOnly;
    }
    if !marks.has_registers() {
        return Manual::None;
    }
    let thread = root.and_then(|root| marks.frontier(MarkKey::Thread(root)));
    let frontier = marks.frontier(key).max(marks.frontier(channel)).max(thread);
    if marks.register(key).is_some_and(|r| r.is_active(frontier)) { Manual::Remote } else { Manual::None }
}

impl Unread {
    /// What is unread about a target. Never fails: what cannot be known is null (R8c).
    pub fn snapshot(&self, target: &Target, marks: &dyn MarkSource) -> UnreadSnapshot {
        let channel = target.channel();
        if !self.access.is_allowed(channel) {
            return DENIED;
        }
        let shown = |t: &Totals| (t.observed, t.attention, t.waiting > 0);
        match target {
            Target::Channel(_) => {
                let scope = self.projection.channel(channel);
                let counts = scope.map_or((0, 0, false), |c| shown(&c.totals));
                let latest = scope.and_then(|c| c.members.first()).map(|first| first.key.id);
                counted(&self.evidence, channel, counts, latest, manual(target, None, marks))
            }
            Target::Thread(_, root) => {
                if self.home_of(root) != Some(channel) {
                    return DENIED;
                }
                let counts = self.projection.thread(root).map_or((0, 0, false), |t| shown(&t.totals));
                counted(&self.evidence, channel, counts, None, manual(target, None, marks))
            }
            Target::Message(_, id) => {
                let Some(entry) = self.evidence.get(id).filter(|e| e.channel() == Some(channel)) else { return DENIED };
                let message = self.msg(id).and_then(|msg| self.projection.message(msg));
                let state = message.map(|m| m.state).unwrap_or_default();
                let (unread, attention, pending) = state.shown();
                let root = self.relevance.resolve(channel, entry.event(), &self.evidence);
                let root = root.filter(|root| root != id);
                let counts = (u32::from(unread), u32::from(attention), pending);
                counted(&self.evidence, channel, counts, None, manual(target, root, marks))
            }
        }
    }

    /// Threads of a channel with unread replies that are the viewer's business, newest first (`unread.md` 5.4, R8f).
    pub fn thread_activity(&self, channel: ChannelId) -> ThreadActivity {
        if !self.access.is_allowed(channel) || !self.evidence.is_known(channel) {
            return ThreadActivity { items: None };
        }
        let active = self.projection.channel(channel).into_iter().flat_map(|c| c.active.iter());
        let mut threads: Vec<&Thread> = active.filter_map(|ix| self.projection.thread_at(*ix)).collect();
        threads.sort_unstable_by_key(|thread| thread.listed.first().copied());
        let items = threads.into_iter().filter_map(|thread| self.activity_item(thread)).collect();
        ThreadActivity { items: Some(items) }
    }

    fn activity_item(&self, thread: &Thread) -> Option<ThreadActivityItem> {
        let latest = thread.listed.first()?;
        let event = self.evidence.get(&latest.id)?.event();
        Some(ThreadActivityItem {
            root: thread.root,
            latest: latest.id,
            author: event.author(self.access.relay()),
            created_at: latest.created_at,
            text: self.evidence.text(event, &self.access),
            count: u32::try_from(thread.listed.len()).unwrap_or(u32::MAX),
        })
    }

    /// What one message is to the viewer, for a notification or a row (`unread.md` 4.7).
    pub fn attention(&self, channel: ChannelId, id: &EventId) -> Attention {
        let entry = self.evidence.get(id).filter(|e| e.channel() == Some(channel) && self.access.is_allowed(channel));
        let message = entry.and_then(|_| self.projection.message(self.msg(id)?));
        let (Some(entry), Some(message)) = (entry, message) else { return Attention::NOTHING };
        let facts = &message.facts;
        let root = facts.is_reply.then(|| self.projection.thread_of(message).map(|t| t.root)).flatten();
        let base = Attention { unread: message.state.unread, forced: facts.is_forced, root, ..Attention::NOTHING };
        if entry.deleted() || facts.is_own {
            return Attention { status: AttentionStatus::Ineligible, unread: false, ..base };
        }
        let is_dm = self.access.channel(channel).is_some_and(crate::evidence::ChannelAccess::is_dm);
        let category = match facts {
            f if f.is_quiet => None,
            _ if is_dm => Some(Category::Direct),
            f if f.is_mention => Some(Category::Mention),
            f if f.in_conversation => Some(Category::Thread),
            _ => None,
        };
        if category.is_some() {
            let mentioned = category == Some(Category::Mention);
            return Attention { status: AttentionStatus::Eligible, category, mentioned, ..base };
        }
        let undecided = facts.is_reply && !facts.is_relevant(is_dm) && facts.choice.is_none() && !facts.is_settled;
        let is_unknown = !facts.is_quiet && (undecided || (facts.is_reply && root.is_none()));
        let status = if is_unknown { AttentionStatus::Unknown } else { AttentionStatus::Ineligible };
        Attention { status, pending: message.state.waiting, ..base }
    }
}
