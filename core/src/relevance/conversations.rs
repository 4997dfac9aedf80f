//! Where the viewer took part, by what is retained (`unread.md` 4.1).
//!
//! Two counted sets over the viewer's retained, not deleted messages: threads by claimed root (R8f), and parents answered.
//! Counting makes leaving as cheap as joining. That the parent is the viewer's own message is asked of evidence.

use crate::evidence::IdMap;

use super::{Place, Touch};
use crate::event::Event;
use crate::ids::ChannelId;

#[derive(Default)]
pub(super) struct Conversations {
    threads: IdMap<Place, u32>,
    joined: IdMap<Place, u32>,
}

/// A counted set: whether the first member came or the last one left.
pub(super) fn count(set: &mut IdMap<Place, u32>, place: Place, add: bool) -> bool {
    if add {
        let n = set.entry(place).or_default();
        *n = n.saturating_add(1);
        return *n == 1;
    }
    let Some(n) = set.get_mut(&place) else { return false };
    *n = n.saturating_sub(1);
    let gone = *n == 0;
    if gone {
        set.remove(&place);
    }
    gone
}

impl Conversations {
    /// A message of the viewer came (`add`) or went.
    pub(super) fn own(&mut self, channel: ChannelId, event: &Event, add: bool, touched: &mut Vec<Touch>) {
        // Replies to this very message.
        touched.push(Touch::Parent((channel, event.id)));
        let thread = (channel, event.claimed_root());
        if count(&mut self.threads, thread, add) {
            touched.push(Touch::Claimed(thread));
        }
        if let Some(reference) = event.reference {
            let parent = (channel, reference.parent);
            if count(&mut self.joined, parent, add) {
                touched.push(Touch::Parent(parent));
            }
        }
    }

    /// The viewer wrote somewhere under this claimed root, or wrote it.
    pub(super) fn in_thread(&self, thread: Place) -> bool {
        self.threads.contains_key(&thread)
    }

    /// The viewer answered this message.
    pub(super) fn has_joined(&self, parent: Place) -> bool {
        self.joined.contains_key(&parent)
    }

    pub(super) fn clear(&mut self) {
        self.threads.clear();
        self.joined.clear();
    }
}
