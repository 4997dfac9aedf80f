//! The replies of one thread: pages from the oldest on, and what came live (R7a; `relay-measured.md` 5.2).
//!
//! The relay gives replies in the order `(created_at, id)`, strictly after the last one held, and says nothing about the end:
//! an empty page is the end, and after a page shorter than asked nothing is known. Live replies are drawn at once; while a full
//! page says that others are missing between, they stand behind a gap. After a reconnect the thread goes on from its last
//! contiguous reply. A relay that does not know threads answers newest first; then pages go back from there and the beginning
//! stays unknown (R5).
//!
//! Invariants: a reply is held once, paged or live; the cursor is the last reply a page brought, or a live one that is contiguous with it; it only moves forward.

use std::collections::BTreeSet;

use crate::event::{Batch, Event, SharedEvent, kinds};
use crate::ids::{ChannelId, EventId};
use crate::limits;
use crate::model::More;
use crate::order::RowKey;
use crate::request::Filter;

/// The order of the thread path: oldest first, then lowest id.
type Ascending = (u64, EventId);

fn ascending(key: &RowKey) -> Ascending {
    (key.created_at, key.id)
}

/// Replies of a thread.
#[derive(Debug, Default)]
pub(super) struct Thread {
    paged: BTreeSet<RowKey>,
    live: BTreeSet<RowKey>,
    /// Last reply held without a hole before it.
    cursor: Option<Ascending>,
    /// What the last page said.
    end: End,
    /// A page of this connection was accepted.
    fresh: bool,
    /// Set when the relay answers newest first: where the pages going back have come to.
    plain: Option<Option<RowKey>>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum End {
    /// No page yet.
    #[default]
    Unread,
    /// A full page: there is more.
    More,
    /// A short page.
    Unknown,
    /// An empty page.
    Reached,
}

/// What became of a page.
#[derive(Debug)]
pub(super) struct ThreadPage {
    /// Replies it brought, in its order.
    pub rows: Vec<SharedEvent>,
    /// Edits, reactions and deletions, from relays that send them along.
    pub changes: Vec<SharedEvent>,
}

impl Thread {
    /// Whether a page of this connection was accepted.
    pub(super) fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// The filter of the next page.
    pub(super) fn filter(&self, channel: ChannelId, root: EventId, limit: u32) -> Filter {
        let filter = Filter::kinds(&kinds::ROWS).in_channels([channel]).about([root]).limit(limit);
        match (self.plain, self.cursor) {
            (Some(Some(before)), _) => filter.before(before),
            (Some(None), _) => filter,
            (None, cursor) => Filter {
                depth_limit: Some(limits::THREAD_DEPTH),
                thread_cursor: cursor.map(|(at, _)| at),
                thread_cursor_id: cursor.map(|(_, id)| id.to_hex()),
                ..filter
            },
        }
    }

    /// Goes over to plain pages, newest first.
    pub(super) fn go_plain(&mut self) {
        self.plain.get_or_insert(None);
    }

    /// Checks and takes in the next page, without what may not be drawn. Fails with the broken rule and changes nothing.
    pub(super) fn accept(
        &mut self,
        batch: &Batch,
        channel: ChannelId,
        root: EventId,
        limit: u32,
        may_draw: impl Fn(&Event) -> bool,
    ) -> Result<ThreadPage, &'static str> {
        let received: Vec<&SharedEvent> = batch.events.iter().filter(|e| kinds::is_row(e.kind)).collect();
        if self.plain.is_none() && received.len() > 1 && self.cursor.is_none() && is_newest_first(&received) {
            self.go_plain(); // The relay ignored what it does not know.
        }
        if self.plain.is_none() {
            let mut last = self.cursor;
            for event in &received {
                let key = ascending(&event.key());
                if last.is_some_and(|last| key <= last) {
                    return Err("replies are out of order");
                }
                last = Some(key);
            }
        }
        let rows: Vec<SharedEvent> = received
            .iter()
            .filter(|e| is_reply_of(e, channel, root, self.plain.is_some()) && may_draw(e))
            .map(|e| (*e).clone())
            .collect();
        self.fresh = true;
        for key in rows.iter().map(|e| e.key()) {
            self.live.remove(&key);
            self.paged.insert(key);
        }
        let size = received.len() + batch.rejected.iter().filter(|r| r.kind.is_none_or(kinds::is_row)).count();
        if let Some(before) = self.plain {
            self.plain = Some(received.iter().map(|e| e.key()).max().or(before));
            self.end = End::Unknown;
        } else {
            self.cursor = received.last().map(|e| ascending(&e.key())).or(self.cursor);
            self.end = match size {
                0 => End::Reached,
                n if n < limit as usize => End::Unknown,
                _ => End::More,
            };
            self.settle_live();
        }
        let changes = batch.events.iter().filter(|e| kinds::is_auxiliary(e.kind)).cloned().collect();
        Ok(ThreadPage { rows, changes })
    }

    /// Live replies that pages have reached become paged ones; at the end, all of them do.
    fn settle_live(&mut self) {
        let reached = self.end == End::Reached;
        let cursor = self.cursor;
        let settled: Vec<RowKey> =
            self.live.iter().filter(|k| reached || cursor.is_some_and(|c| ascending(k) <= c)).copied().collect();
        for key in settled {
            self.live.remove(&key);
            self.paged.insert(key);
            if reached {
                self.cursor = self.cursor.max(Some(ascending(&key)));
            }
        }
    }

    /// Takes a live reply. Returns false if it is held already.
    pub(super) fn live(&mut self, key: RowKey) -> bool {
        if self.holds(&key) {
            return false;
        }
        let inside = self.cursor.is_some_and(|c| ascending(&key) <= c);
        if inside || (self.end == End::Reached && self.fresh) {
            self.paged.insert(key);
            self.cursor = self.cursor.max(Some(ascending(&key)));
        } else {
            self.live.insert(key);
        }
        true
    }

    /// Takes replies from the cache. They are contiguous from the oldest on.
    pub(super) fn restore(&mut self, keys: impl IntoIterator<Item = RowKey>) {
        for key in keys {
            self.live.remove(&key);
            self.paged.insert(key);
            if !self.fresh {
                self.cursor = self.cursor.max(Some(ascending(&key)));
            }
        }
    }

    /// The connection ended.
    pub(super) fn disconnected(&mut self) {
        self.fresh = false;
        self.plain = None;
        if self.end != End::More {
            // Nothing is known to be missing before them.
            for key in std::mem::take(&mut self.live) {
                self.paged.insert(key);
                self.cursor = self.cursor.max(Some(ascending(&key)));
            }
        }
        if self.end == End::Reached {
            self.end = End::Unknown;
        }
    }

    /// Replies, newest first.
    pub(super) fn shown(&self) -> Vec<RowKey> {
        let mut rows: Vec<RowKey> = self.paged.iter().chain(self.live.iter()).copied().collect();
        rows.sort_unstable();
        rows
    }

    /// Whether the reply is held.
    pub(super) fn holds(&self, key: &RowKey) -> bool {
        self.paged.contains(key) || self.live.contains(key)
    }

    /// Replies from the oldest on, as far as nothing is known to be missing between; none when pages go back.
    pub(super) fn contiguous(&self) -> Vec<RowKey> {
        if self.plain.is_some() {
            return Vec::new();
        }
        let open_end = self.end != End::More;
        let cursor = self.cursor;
        let mut rows = self.shown();
        rows.retain(|k| open_end || cursor.is_some_and(|c| ascending(k) <= c));
        rows.reverse();
        rows
    }

    /// Every reply held.
    pub(super) fn keys(&self) -> impl Iterator<Item = &RowKey> {
        self.paged.iter().chain(self.live.iter())
    }

    /// How many replies are held.
    pub(super) fn len(&self) -> usize {
        self.paged.len() + self.live.len()
    }

    /// Where the gap is that live replies stand behind, if pages are missing between: everything in the listing from here on
    /// was paged. Drawing order and page order differ within a second, so the gap stands after the last paged second.
    pub(super) fn gap(&self) -> Option<RowKey> {
        if self.end != End::More || self.live.is_empty() {
            return None;
        }
        let (second, _) = self.cursor?;
        Some(RowKey::new(second, EventId([0; 32])))
    }

    /// Whether there are further replies (R7a).
    pub(super) fn more(&self) -> More {
        match self.end {
            End::More => More::Yes,
            End::Reached => More::No,
            End::Unread | End::Unknown => More::Unknown,
        }
    }
}

fn is_newest_first(events: &[&SharedEvent]) -> bool {
    events.windows(2).all(|w| matches!(w, [a, b] if a.key() < b.key()))
        && !events.windows(2).all(|w| matches!(w, [a, b] if ascending(&a.key()) < ascending(&b.key())))
}

/// What of a page is shown: replies of this channel. The thread path answers by the relay's stored root, which a reply need not
/// claim; a plain answer holds whatever names the root.
fn is_reply_of(event: &Event, channel: ChannelId, root: EventId, plain: bool) -> bool {
    event.channel() == Some(channel) && event.id != root && event.reference.is_some_and(|r| !plain || r.root == root)
}
