//! Explicit follow choices (`unread.md` 10).
//!
//! A choice is about a thread by its claimed root, in one channel; no choice is automatic. The newest
//! [`limits::FOLLOW_CHOICES`] are held, in the order they were made. The durable list belongs to the journal: a choice is prepared
//! here, saved there, and takes effect when the saved list is handed back. A list from another process is handed in the same way.

use std::collections::BTreeMap;

use crate::evidence::IdMap;

use super::Place;
use crate::ids::{ChannelId, EventId};
use crate::limits;

/// One stored choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowChoice {
    /// The channel it holds in.
    pub channel: ChannelId,
    /// The claimed root.
    pub root: EventId,
    /// Follow or unfollow.
    pub following: bool,
}

/// The choices in memory.
#[derive(Default)]
pub(super) struct Follows {
    choices: IdMap<Place, (u64, bool)>,
    order: BTreeMap<u64, Place>,
}

impl Follows {
    pub(super) fn get(&self, thread: Place) -> Option<bool> {
        self.choices.get(&thread).map(|(_, following)| *following)
    }

    /// All choices, oldest first.
    pub(super) fn list(&self) -> Vec<FollowChoice> {
        let choice = |(channel, root): Place| {
            self.get((channel, root)).map(|following| FollowChoice { channel, root, following })
        };
        self.order.values().filter_map(|place| choice(*place)).collect()
    }

    /// The list with this choice as the newest, the oldest beyond the bound left out.
    pub(super) fn with(&self, choice: FollowChoice) -> Vec<FollowChoice> {
        let mut list = self.list();
        list.retain(|held| (held.channel, held.root) != (choice.channel, choice.root));
        list.push(choice);
        let surplus = list.len().saturating_sub(limits::FOLLOW_CHOICES);
        list.drain(..surplus);
        list
    }

    /// Takes over a saved list, oldest first, of which the last choice of a thread counts; the threads whose choice changed.
    pub(super) fn replace(&mut self, list: &[FollowChoice]) -> Vec<Place> {
        let old = std::mem::take(self);
        let surplus = list.len().saturating_sub(limits::FOLLOW_CHOICES);
        for (age, choice) in (0..).zip(list.iter().skip(surplus)) {
            let place = (choice.channel, choice.root);
            if let Some((before, _)) = self.choices.insert(place, (age, choice.following)) {
                self.order.remove(&before);
            }
            self.order.insert(age, place);
        }
        let mut changed: Vec<_> =
            old.order.values().chain(self.order.values()).copied().filter(|p| old.get(*p) != self.get(*p)).collect();
        changed.sort_unstable();
        changed.dedup();
        changed
    }
}

/// Reads a stored JSON array of `["<channel>:<root>", bool]` in order. Malformed entries are skipped, text that is no array is
/// an empty list, a root is lower-cased (`unread.md` 10).
pub fn parse_follows(text: &str) -> Vec<FollowChoice> {
    let entries: Vec<serde_json::Value> = serde_json::from_str(text).unwrap_or_default();
    let parse = |entry: &serde_json::Value| {
        let [key, following] = entry.as_array()?.as_slice() else { return None };
        let (channel, root) = key.as_str()?.rsplit_once(':')?;
        let (channel, root) = (ChannelId::parse(channel).ok()?, EventId::parse_reference(root)?);
        Some(FollowChoice { channel, root, following: following.as_bool()? })
    };
    entries.iter().filter_map(parse).collect()
}
