//! Follow choices as stored data: which root, which choice, in the order they were made (`unread.md` 10).
//!
//! Invariant: at most [`limits::FOLLOWS`] choices; order numbers are distinct. What a choice means is `relevance`'s.

use std::collections::BTreeMap;
use std::fmt;

use crate::ids::{ChannelId, EventId};
use crate::limits;

/// What a choice is about: the thread under a claimed root, in one channel.
pub type FollowKey = (ChannelId, EventId);

/// A stored choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// Follow or unfollow.
    pub following: bool,
    /// Greater is newer.
    pub order: u64,
}

/// All choices of one account in one community.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Follows {
    choices: BTreeMap<FollowKey, Choice>,
    order: BTreeMap<u64, FollowKey>,
}

/// Changed choices; none = forgotten.
pub type FollowChanges = Vec<(FollowKey, Option<Choice>)>;

impl Follows {
    /// The choice for a root, none = automatic.
    pub fn get(&self, channel: ChannelId, root: EventId) -> Option<bool> {
        self.choices.get(&(channel, root)).map(|choice| choice.following)
    }

    /// All choices, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (FollowKey, bool)> + '_ {
        self.order.values().filter_map(|key| self.choices.get(key).map(|choice| (*key, choice.following)))
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.choices.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.choices.is_empty()
    }

    /// What setting (or, with none, forgetting) a choice changes: the choice, and what falls off the far end.
    pub(super) fn plan(&self, key: FollowKey, choice: Option<bool>) -> FollowChanges {
        let newest = self.order.last_key_value();
        let Some(following) = choice else {
            return self.choices.contains_key(&key).then_some((key, None)).into_iter().collect();
        };
        let stays = newest.is_some_and(|(_, newest)| *newest == key);
        if stays && self.get(key.0, key.1) == Some(following) {
            return Vec::new();
        }
        let order = newest.map_or(1, |(order, _)| order.saturating_add(1));
        let mut changes = vec![(key, Some(Choice { following, order }))];
        let others = self.choices.len() - usize::from(self.choices.contains_key(&key));
        let surplus = (others + 1).saturating_sub(limits::FOLLOWS);
        let oldest = self.order.values().filter(|old| **old != key).take(surplus);
        changes.extend(oldest.map(|old| (*old, None)));
        changes
    }

    pub(super) fn adopt(&mut self, changes: &FollowChanges) {
        for (key, choice) in changes {
            self.put(*key, *choice);
        }
    }

    pub(super) fn put(&mut self, key: FollowKey, choice: Option<Choice>) {
        if let Some(old) = self.choices.remove(&key) {
            self.order.remove(&old.order);
        }
        if let Some(choice) = choice {
            self.choices.insert(key, choice);
            self.order.insert(choice.order, key);
        }
    }
}

impl fmt::Debug for Follows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Follows({})", self.len())
    }
}
