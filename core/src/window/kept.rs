//! What an open timeline gives the cache and takes from it. Kept rows are those of an earlier connection: shown at once, read
//! again as soon as there is a connection, and never believed more than a page of the relay.

use super::Shared;
use super::apply::hold_rows;
use super::chain::{Next, Page};
use super::open::{Body, Timeline, is_row_of};
use super::page::parse_summary;
use crate::event::kept::{KeptNext, KeptPage};
use crate::event::{FoldFacts, SharedEvent};
use crate::ids::EventId;
use crate::limits;
use crate::model::More;

impl Timeline {
    /// Pages for the cache. They count as saved.
    pub(super) fn keep(&mut self, shared: &Shared) -> Vec<KeptPage> {
        self.saved();
        match &self.body {
            Body::Channel(chains) => {
                let row_mode = chains.row_mode().unwrap_or(false);
                let pages = chains.to_keep(limits::KEPT_ROWS);
                pages
                    .iter()
                    .map(|p| keep_page(shared, row_mode, p.rows.iter().map(|k| &k.id), to_kept(p.next)))
                    .collect()
            }
            Body::Thread(thread, root) => {
                let next = if thread.more() == More::No { KeptNext::End } else { KeptNext::Unknown };
                let mut ids = vec![*root];
                ids.extend(thread.contiguous().iter().take(limits::KEPT_ROWS).map(|k| k.id));
                vec![keep_page(shared, false, ids.iter(), next)]
            }
        }
    }

    /// Takes pages from the cache.
    pub(super) fn take_kept(&mut self, pages: Vec<KeptPage>, facts: &dyn FoldFacts, shared: &mut Shared) {
        let mut touched = Vec::new();
        let root = self.key.root;
        for page in &pages {
            let rows: Vec<SharedEvent> = page.rows.iter().filter(|e| is_row_of(e, &self.key)).cloned().collect();
            // Seen on no connection, so that the first read that lacks it forgets it.
            let epoch = std::mem::take(&mut shared.epoch);
            hold_rows(&rows, facts, shared, &mut touched);
            page.changes.iter().for_each(|c| drop(shared.fold.apply(c, facts, 0)));
            shared.epoch = epoch;
            for event in &page.summaries {
                // Whose word it was is not known without a connection; it was checked when it was kept.
                if let Some(summary) = parse_summary(event)
                    && facts.relay().is_none_or(|relay| *relay == event.pubkey)
                    && rows.iter().any(|r| r.id == summary.root)
                {
                    shared.counts.summary_of_page(summary, event, 0);
                }
            }
        }
        match &mut self.body {
            Body::Channel(chains) => {
                let row_mode = pages.first().is_some_and(|p| p.row_mode);
                let pages = pages.iter().filter(|p| p.row_mode == row_mode);
                let pages: Vec<Page> = pages.map(|p| from_kept(p, &self.key)).collect();
                chains.restore(pages, row_mode, self.limit as usize);
            }
            Body::Thread(thread, _) => {
                let rows = pages.iter().flat_map(|p| &p.rows);
                let replies = rows.filter(|e| is_row_of(e, &self.key) && Some(e.id) != root && e.reference.is_some());
                thread.restore(replies.map(|e| e.key()));
            }
        }
        self.reorder(shared);
    }
}

fn keep_page<'a>(
    shared: &Shared,
    row_mode: bool,
    ids: impl Iterator<Item = &'a EventId> + Clone,
    next: KeptNext,
) -> KeptPage {
    let standing = ids.filter(|id| !shared.fold.is_deleted(id));
    KeptPage {
        row_mode,
        next,
        rows: standing.clone().filter_map(|id| shared.fold.get(id)).cloned().collect(),
        changes: standing.clone().flat_map(|id| shared.fold.changes_of(id)).collect(),
        summaries: standing.filter_map(|id| shared.counts.summary_event(id)).cloned().collect(),
    }
}

fn to_kept(next: Next) -> KeptNext {
    match next {
        Next::Cursor(cursor) => KeptNext::Cursor(cursor),
        Next::End => KeptNext::End,
        Next::Plain(_) | Next::Kept => KeptNext::Unknown,
    }
}

fn from_kept(page: &KeptPage, key: &super::TimelineKey) -> Page {
    let mut rows: Vec<_> = page.rows.iter().filter(|e| is_row_of(e, key)).map(|e| e.key()).collect();
    rows.sort_unstable();
    rows.dedup();
    let next = match page.next {
        KeptNext::Cursor(cursor) => Next::Cursor(cursor),
        KeptNext::End => Next::End,
        KeptNext::Unknown => Next::Plain(rows.last().copied()),
    };
    Page { rows, next }
}
