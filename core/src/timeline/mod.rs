//! Finished rows of open timelines, and the differences between one version and the next.
//!
//! `window` says which rows show and in which order; this room draws each of them once and again only when it was touched or
//! its neighbour above changed. [`Timelines::update`] walks the old and the new order together and answers with keyed
//! differences, to be applied one after the other, so that only they need to cross to an app.
//!
//! The first-unread line is taken when a timeline is opened and stays for that visit (R28): while the first rows are on their
//! way it follows them, then it is fixed. A timeline opened without a connection and without an unread row takes it from the
//! first page that comes.
//!
//! Invariants: rows are oldest first, a thread's root first of all; applying the differences to the old rows gives the new
//! rows; the line is never the viewer's own row and never a thread's root.

mod draw;
mod notice;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::event::Event;
use crate::ids::{ChannelId, EventId, PublicKey};
use crate::model::{RowKind, TimelineRow, TimelineState};
use crate::order::RowKey;
use crate::window::{Opening, TimelineKey, View};
use draw::Neighbour;

/// What drawing needs to know of the rooms beside.
pub trait RowFacts {
    /// The viewer.
    fn viewer(&self) -> &PublicKey;
    /// The viewer's key in lower-case hex, as `p` tags have it.
    fn viewer_hex(&self) -> &str;
    /// The trusted NIP-11 `self` key.
    fn relay(&self) -> Option<&PublicKey>;
    /// A person's name, as far as known.
    fn name(&self, person: &PublicKey) -> Option<String>;
    /// Whether the message is unread now. Asked for other people's rows only.
    fn is_unread(&self, row: &Event) -> bool;
    /// Whether the thread under this root has unread replies or was marked unread (`unread.md` 12.3).
    fn thread_dot(&self, channel: ChannelId, root: &EventId) -> bool;
}

/// One difference. Indexes are those of the list as the differences before have left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowDiff {
    /// A row came.
    Insert {
        /// Where it stands now.
        index: usize,
        /// It.
        row: Arc<TimelineRow>,
    },
    /// A row looks different.
    Update {
        /// Where it stands.
        index: usize,
        /// It.
        row: Arc<TimelineRow>,
    },
    /// A row is gone.
    Remove {
        /// Where it stood.
        index: usize,
    },
}

struct Entry {
    key: RowKey,
    row: Arc<TimelineRow>,
    /// The row above when it was drawn, and whether a gap was between.
    above: (Option<EventId>, bool),
    /// Whom a notice names, beside the author.
    named: Vec<PublicKey>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// Not fixed yet; this is where it would be.
    Open(Option<EventId>),
    /// Fixed for the visit.
    Fixed(Option<EventId>),
}

struct Projection {
    entries: Vec<Entry>,
    line: Line,
    utc_offset: i32,
    /// Rows to draw again although `window` did not touch them.
    touched: BTreeSet<EventId>,
}

/// The drawn rows of all open timelines.
#[derive(Default)]
pub struct Timelines {
    open: BTreeMap<TimelineKey, Projection>,
}

impl Timelines {
    /// A timeline was opened. `utc_offset` (seconds east of UTC) decides where days start. Opened twice, the visit goes on.
    pub fn open(&mut self, key: TimelineKey, utc_offset: i32) {
        self.open.entry(key).or_insert_with(|| Projection {
            entries: Vec::new(),
            line: Line::Open(None),
            utc_offset,
            touched: BTreeSet::new(),
        });
    }

    /// A timeline was closed: the visit is over.
    pub fn close(&mut self, key: &TimelineKey) {
        self.open.remove(key);
    }

    /// A thread's unread state changed: the row it hangs on may look different.
    pub fn touch_thread(&mut self, channel: ChannelId, root: &EventId) {
        for (key, projection) in &mut self.open {
            if key.channel == channel && projection.entries.iter().any(|e| e.key.id == *root) {
                projection.touched.insert(*root);
            }
        }
    }

    /// A person's name changed.
    pub fn touch_author(&mut self, person: &PublicKey) {
        for projection in self.open.values_mut() {
            let names = |e: &&Entry| e.row.author == *person || e.named.contains(person);
            let by = projection.entries.iter().filter(names).map(|e| e.key.id);
            projection.touched.extend(by.collect::<Vec<_>>());
        }
    }

    /// Whose names the rows of a timeline show.
    pub fn people(&self, key: &TimelineKey) -> BTreeSet<PublicKey> {
        let entries = self.open.get(key).into_iter().flat_map(|p| &p.entries);
        entries.flat_map(|e| e.named.iter().copied().chain([e.row.author])).collect()
    }

    /// Everything may look different: the relay's key became known, or thread marks of a whole channel changed.
    pub fn touch_channel(&mut self, channel: ChannelId) {
        for (key, projection) in &mut self.open {
            if key.channel == channel {
                projection.touched.extend(projection.entries.iter().map(|e| e.key.id));
            }
        }
    }

    /// Timelines with rows to draw again, in key order; [`Timelines::update`] settles them.
    pub fn pending(&self) -> Vec<TimelineKey> {
        self.open.iter().filter(|(_, p)| !p.touched.is_empty()).map(|(key, _)| *key).collect()
    }

    /// Draws what changed and says how the rows differ from before. `touched` is what `window` reported for the timeline. None
    /// if it is not open here.
    pub fn update(
        &mut self,
        view: &View<'_>,
        touched: &BTreeSet<EventId>,
        facts: &dyn RowFacts,
    ) -> Option<Vec<RowDiff>> {
        let projection = self.open.get_mut(&view.key())?;
        let diffs = projection.redraw(view, touched, facts);
        projection.capture(view, facts);
        Some(diffs)
    }

    /// The first-unread line of the visit, as it stands.
    pub fn first_unread(&self, key: &TimelineKey) -> Option<EventId> {
        self.open.get(key)?.line.at()
    }

    /// The whole timeline as a person sees it, as of the last update.
    pub fn state(&self, view: &View<'_>) -> Option<TimelineState> {
        let key = view.key();
        let projection = self.open.get(&key)?;
        Some(TimelineState {
            channel: key.channel,
            root: key.root,
            rows: projection.entries.iter().map(|e| e.row.clone()).collect(),
            more: view.more(),
            gap: view.gap(),
            first_unread: projection.line.at(),
            loading: view.loading(),
            restored: view.restored(),
            trust: view.trust(),
            error: view.error().cloned(),
        })
    }
}

impl std::fmt::Debug for Timelines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Timelines({} open)", self.open.len())
    }
}

impl Line {
    fn at(self) -> Option<EventId> {
        match self {
            Self::Open(at) | Self::Fixed(at) => at,
        }
    }
}

impl Projection {
    fn redraw(&mut self, view: &View<'_>, touched: &BTreeSet<EventId>, facts: &dyn RowFacts) -> Vec<RowDiff> {
        let own_touched = std::mem::take(&mut self.touched);
        let root = view.key().root;
        // Oldest first; a thread's root before everything.
        let rank = |key: &RowKey| (Some(key.id) != root, std::cmp::Reverse(*key));
        let mut diffs = Vec::new();
        let mut old = std::mem::take(&mut self.entries).into_iter().peekable();
        let mut entries: Vec<Entry> = Vec::with_capacity(view.order().len());
        let gap = view.gap();
        for key in view.order().iter().rev() {
            let Some(event) = view.row(&key.id) else { continue };
            let index = entries.len();
            while old.next_if(|e| rank(&e.key) < rank(key)).is_some() {
                diffs.push(RowDiff::Remove { index });
            }
            let known = old.next_if(|e| e.key == *key);
            let after_gap = gap == Some(index);
            let above = (entries.last().map(|e| e.key.id), after_gap);
            let again = touched.contains(&key.id) || own_touched.contains(&key.id);
            if let Some(known) = known {
                if !again && known.above == above {
                    entries.push(known);
                    continue;
                }
                let row = self.draw(view, event, entries.last(), after_gap, facts);
                if row == *known.row {
                    entries.push(Entry { above, ..known });
                    continue;
                }
                let row = Arc::new(row);
                diffs.push(RowDiff::Update { index, row: row.clone() });
                entries.push(Entry { row, above, ..known });
            } else {
                let row = Arc::new(self.draw(view, event, entries.last(), after_gap, facts));
                diffs.push(RowDiff::Insert { index, row: row.clone() });
                let named = if row.kind == RowKind::Notice { notice::people(&event.content) } else { Vec::new() };
                entries.push(Entry { key: *key, row, above, named });
            }
        }
        let index = entries.len();
        diffs.extend(old.map(|_| RowDiff::Remove { index }));
        self.entries = entries;
        diffs
    }

    fn draw(
        &self,
        view: &View<'_>,
        event: &Event,
        above: Option<&Entry>,
        after_gap: bool,
        facts: &dyn RowFacts,
    ) -> TimelineRow {
        let above = above.map(|e| Neighbour { row: &e.row, contiguous: !after_gap });
        draw::row(view, event, above, self.utc_offset, facts)
    }

    /// Fixes the first-unread line when the rows of the opening are there (R28).
    fn capture(&mut self, view: &View<'_>, facts: &dyn RowFacts) {
        if let Line::Fixed(_) = self.line {
            return;
        }
        let root = view.key().root;
        let unread = self.entries.iter().find(|e| {
            !e.row.own && Some(e.key.id) != root && view.row(&e.key.id).is_some_and(|event| facts.is_unread(event))
        });
        let at = unread.map(|e| e.key.id);
        self.line = match (view.opening(), at) {
            (Opening::Done, _) | (Opening::Offline, Some(_)) => Line::Fixed(at),
            (Opening::Under | Opening::Offline, _) => Line::Open(at),
        };
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
