//! The rows of a channel timeline: chains of pages, what came live, and the gaps between (R7; NIP-CW, client obligations).
//!
//! A chain is a run of pages, each going on where the one before ended. The first chain is the newest; below it, behind a gap,
//! stand the chains of earlier connections. After a reconnect a new head page is put on top. Its interval reaches down to its
//! next cursor; rows of older chains inside that interval which it does not have are gone, and the first older chain that goes
//! on below the cursor belongs to the new chain from there. Further pages of the newest chain do the same.
//!
//! Live rows are kept apart. They show where pages cover their place or above everything; a row older than all loaded pages
//! waits while the relay has older history, because its page will bring it (pitfalls A8).
//!
//! Invariants: no page changes except by losing rows to a newer read of the same interval, or by taking in the live rows above
//! it when the connection ends; only keys are kept here, rows are held by the room; `shown` is the one order of rows.

use std::collections::BTreeSet;

use crate::limits;
use crate::model::More;
use crate::order::RowKey;

/// Where a page goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// After this cursor, by the relay's word.
    Cursor(RowKey),
    /// Nowhere, by the relay's word.
    End,
    /// After this row of a plain read, if there was one; whether anything is there is unknown (R5).
    Plain(Option<RowKey>),
    /// In a kept page that is not shown yet.
    Kept,
}

/// A page: rows newest first, and where it goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Page {
    pub rows: Vec<RowKey>,
    pub next: Next,
}

impl Page {
    /// Down to where the page is known: `None` is the beginning of history.
    fn bottom(&self) -> Bottom {
        match self.next {
            Next::End => Bottom::Beginning,
            Next::Cursor(c) | Next::Plain(Some(c)) => Bottom::At(c),
            Next::Plain(None) | Next::Kept => self.rows.last().map_or(Bottom::Nothing, |r| Bottom::At(*r)),
        }
    }
}

/// How far down something is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bottom {
    /// To the beginning of history.
    Beginning,
    /// To this position, which is included.
    At(RowKey),
    /// Not at all.
    Nothing,
}

impl Bottom {
    fn covers(self, key: &RowKey) -> bool {
        match self {
            Self::Beginning => true,
            Self::At(bottom) => *key <= bottom,
            Self::Nothing => false,
        }
    }

    /// Whether it reaches at least as far down as `other`.
    fn reaches(self, other: Self) -> bool {
        match (self, other) {
            (_, Self::Nothing) | (Self::Beginning, _) => true,
            (Self::At(own), Self::At(other)) => own >= other,
            _ => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Chain {
    pages: Vec<Page>,
}

impl Chain {
    fn bottom(&self) -> Bottom {
        self.pages.last().map_or(Bottom::Nothing, Page::bottom)
    }

    fn top(&self) -> Option<&RowKey> {
        self.pages.iter().flat_map(|p| p.rows.first()).next()
    }

    fn rows(&self) -> impl Iterator<Item = &RowKey> {
        self.pages.iter().flat_map(|p| &p.rows)
    }

    /// Drops the part that `bottom` covers, except rows for which `keep` says yes, which are returned.
    fn cut(&mut self, bottom: Bottom, keep: &dyn Fn(&RowKey) -> bool) -> Vec<RowKey> {
        let mut kept = Vec::new();
        for page in &mut self.pages {
            page.rows.retain(|row| {
                let inside = bottom.covers(row);
                if inside && keep(row) {
                    kept.push(*row);
                }
                !inside
            });
        }
        self.pages.retain(|page| !bottom.reaches(page.bottom()) || !page.rows.is_empty());
        kept
    }
}

/// All rows of one channel timeline.
#[derive(Debug, Default)]
pub(super) struct Chains {
    chains: Vec<Chain>,
    /// The first chain's head was read on this connection.
    fresh: bool,
    /// Rows heard on this connection.
    live: BTreeSet<RowKey>,
    /// Kept pages below the last chain that are not shown yet.
    kept: Vec<Page>,
    /// Whether thread replies are rows in these pages; a chain is never carried over to the other mode (`protocol.md` 1.10).
    row_mode: bool,
}

impl Chains {
    /// Whether a head page of this connection was accepted.
    pub(super) fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// Whether there are no pages at all, shown or kept.
    pub(super) fn is_empty(&self) -> bool {
        self.chains.is_empty() && self.kept.is_empty()
    }

    /// Whether thread replies are rows; none before any page.
    pub(super) fn row_mode(&self) -> Option<bool> {
        (!self.is_empty()).then_some(self.row_mode)
    }

    /// Takes the head page of this connection. `complete`: a row the page lacks is gone.
    pub(super) fn head(&mut self, page: Page, row_mode: bool, complete: bool) {
        if self.row_mode().is_some_and(|mode| mode != row_mode) {
            self.chains.clear();
            self.kept.clear();
        }
        self.row_mode = row_mode;
        let nothing = page.rows.is_empty() && page.next == Next::Plain(None);
        self.fresh = true;
        if nothing && !self.chains.is_empty() {
            return; // A plain read that gave nothing proves nothing (R5): what is held stays.
        }
        self.chains.insert(0, Chain::default());
        self.push(page, complete);
    }

    /// Takes the next page of the newest chain.
    pub(super) fn older(&mut self, page: Page, complete: bool) {
        if page.rows.is_empty() && (self.next() == Some(page.next) || page.next == Next::Plain(None)) {
            return; // A plain read found nothing further; the next call asks there again.
        }
        if self.chains.is_empty() {
            self.chains.push(Chain::default());
        }
        self.push(page, complete);
    }

    fn push(&mut self, page: Page, complete: bool) {
        let Some(first) = self.chains.first_mut() else { return };
        let bottom = page.bottom();
        let page_rows: BTreeSet<RowKey> = page.rows.iter().copied().collect();
        first.pages.push(page);
        self.join(bottom, &|row| !complete && !page_rows.contains(row));
    }

    /// Lets the newest chain, which reaches down to `bottom`, take in older chains. `keep` names rows inside it to keep.
    fn join(&mut self, bottom: Bottom, keep: &dyn Fn(&RowKey) -> bool) {
        let mut rest = self.chains.split_off(1.min(self.chains.len())).into_iter();
        let Some(first) = self.chains.first_mut() else { return };
        let mut behind = Vec::new();
        for mut old in rest.by_ref() {
            let Some(top) = old.top() else { continue };
            if !bottom.covers(top) {
                behind.push(old);
                break;
            }
            let goes_on = !bottom.reaches(old.bottom());
            let kept = old.cut(bottom, keep);
            if let Some(page) = first.pages.last_mut() {
                page.rows.extend(kept);
                page.rows.sort_unstable();
                page.rows.dedup();
            }
            if goes_on {
                first.pages.append(&mut old.pages);
                break;
            }
        }
        behind.extend(rest);
        self.chains.extend(behind);
        self.bound_chains();
        if self.chains.len() == 1 {
            self.trim_kept();
        }
    }

    fn bound_chains(&mut self) {
        if self.chains.len() > limits::TIMELINE_CHAINS {
            self.chains.truncate(limits::TIMELINE_CHAINS);
            self.kept.clear(); // They went on below the last chain.
        }
    }

    /// Drops kept rows that the shown chain covers.
    fn trim_kept(&mut self) {
        let Some(last) = self.chains.last() else { return };
        if last.pages.last().is_some_and(|p| p.next == Next::Kept) {
            return;
        }
        let mut kept = Chain { pages: std::mem::take(&mut self.kept) };
        kept.cut(last.bottom(), &|_| false);
        self.kept = kept.pages;
    }

    /// Puts pages from the cache below what is held: the first page shown, cut after `shown` rows, the others kept for reading
    /// offline. They are the chain of an earlier connection.
    pub(super) fn restore(&mut self, mut pages: Vec<Page>, row_mode: bool, shown: usize) {
        if pages.is_empty() || self.row_mode().is_some_and(|mode| mode != row_mode) {
            return;
        }
        self.row_mode = row_mode;
        let mut head = pages.remove(0);
        if head.rows.len() > shown {
            let rest = head.rows.split_off(shown);
            pages.insert(0, Page { rows: rest, next: head.next });
            head.next = Next::Kept;
        }
        self.kept = pages;
        self.chains.push(Chain { pages: vec![head] });
        if self.fresh && self.chains.len() > 1 {
            let bottom = self.chains.first().map_or(Bottom::Nothing, Chain::bottom);
            self.join(bottom, &|_| false);
        }
    }

    /// Shows the next kept page. Returns its rows, if there was one.
    pub(super) fn reveal(&mut self) -> Option<Vec<RowKey>> {
        if self.kept.is_empty() {
            return None;
        }
        let page = self.kept.remove(0);
        let rows = page.rows.clone();
        if self.chains.is_empty() {
            self.chains.push(Chain::default());
        }
        if let Some(last) = self.chains.last_mut() {
            last.pages.push(page);
        }
        Some(rows)
    }

    /// Takes a live row. Returns false if a page has it.
    pub(super) fn live(&mut self, key: RowKey) -> bool {
        let paged = self.chains.iter().flat_map(|c| &c.pages).any(|p| p.rows.binary_search(&key).is_ok());
        !paged && self.live.insert(key)
    }

    /// The connection ended: live rows that show become rows of the chain they stand in, those that wait are forgotten.
    pub(super) fn disconnected(&mut self) {
        let mut above = Vec::new();
        for key in std::mem::take(&mut self.live) {
            match self.place(&key) {
                Place::Above => above.push(key),
                Place::In(chain) => {
                    let Some(chain) = self.chains.get_mut(chain) else { continue };
                    let at = chain.pages.iter().position(|p| p.bottom().covers(&key)).unwrap_or(0);
                    if let Some(page) = chain.pages.get_mut(at) {
                        insert(&mut page.rows, key);
                    }
                }
                Place::Waits => {}
            }
        }
        // Heard without any head page below: a chain of its own, contiguous as long as the connection lasted. Where it goes on
        // is only asked for when a newer head page has joined it.
        if let Some(last) = above.last().copied() {
            self.chains.insert(0, Chain { pages: vec![Page { rows: above, next: Next::Cursor(last) }] });
            self.bound_chains();
        }
        self.fresh = false;
    }

    fn place(&self, key: &RowKey) -> Place {
        for (i, chain) in self.chains.iter().enumerate() {
            let open_above = i == 0 && self.fresh;
            if !open_above && chain.top().is_none_or(|top| key < top) {
                // Newer than this chain and in none above: on top of everything, or in a gap that paging will fill.
                return if i == 0 { Place::Above } else { Place::Waits };
            }
            // A chain that covers nothing has no row to be older than.
            if chain.bottom() == Bottom::Nothing || chain.bottom().covers(key) {
                return Place::In(i);
            }
        }
        if self.chains.is_empty() { Place::Above } else { Place::Waits }
    }

    /// Whether a live row shows now.
    pub(super) fn shows(&self, key: &RowKey) -> bool {
        self.place(key) != Place::Waits
    }

    /// All rows that show, newest first.
    pub(super) fn shown(&self) -> Vec<RowKey> {
        let mut rows: Vec<RowKey> = self.chains.iter().flat_map(Chain::rows).copied().collect();
        rows.extend(self.live.iter().filter(|key| self.shows(key)));
        rows.sort_unstable();
        rows.dedup();
        rows
    }

    /// Every key held, shown or not.
    pub(super) fn keys(&self) -> impl Iterator<Item = &RowKey> {
        self.chains.iter().flat_map(Chain::rows).chain(&self.live).chain(self.kept.iter().flat_map(|p| &p.rows))
    }

    /// The first row below the newest gap: it and older ones are not known to be contiguous with what stands above.
    pub(super) fn gap(&self) -> Option<RowKey> {
        let top = self.chains.first()?.top();
        if !self.fresh
            && let Some(top) = top
            && self.live.first().is_some_and(|newest| newest < top)
        {
            return Some(*top);
        }
        self.chains.get(1)?.top().copied()
    }

    /// Whether there is more below (R5, R7).
    pub(super) fn more(&self) -> More {
        if self.gap().is_some() || !self.kept.is_empty() {
            return More::Yes;
        }
        match self.chains.last().and_then(|c| c.pages.last()).map(|p| p.next) {
            Some(Next::Cursor(_) | Next::Kept) => More::Yes,
            Some(Next::End) => More::No,
            Some(Next::Plain(_)) | None => More::Unknown,
        }
    }

    /// Where the newest chain goes on; none before any page.
    pub(super) fn next(&self) -> Option<Next> {
        self.chains.first()?.pages.last().map(|p| p.next)
    }

    /// Whether older chains stand below a gap.
    pub(super) fn has_older_chains(&self) -> bool {
        self.chains.len() > 1
    }

    /// Rows of the newest chain that show and were not in its first page, newest first: those a head page did not read again.
    pub(super) fn below_head(&self) -> Vec<RowKey> {
        let mut pages = self.chains.iter().flat_map(|c| &c.pages);
        pages.next();
        pages.flat_map(|p| &p.rows).copied().collect()
    }

    /// Gives up the oldest pages when live rows have made the timeline larger than it may be. They can be read again.
    pub(super) fn shrink(&mut self) {
        let size = |chains: &[Chain]| chains.iter().map(|c| c.rows().count()).sum::<usize>();
        while size(&self.chains) + self.live.len() > limits::TIMELINE_ROWS {
            self.kept.clear();
            let only = self.chains.len() == 1;
            let Some(last) = self.chains.last_mut() else { return };
            if only && last.pages.len() <= 1 {
                return;
            }
            last.pages.pop();
            if last.pages.is_empty() {
                self.chains.pop();
            }
        }
    }

    /// Rows that show or wait, kept pages not included.
    pub(super) fn len(&self) -> usize {
        self.chains.iter().map(|c| c.rows().count()).sum::<usize>() + self.live.len()
    }

    /// The newest chain's pages for the cache, with the live rows that stand on it merged into the first; at most `rows` rows.
    pub(super) fn to_keep(&self, rows: usize) -> Vec<Page> {
        let Some(first) = self.chains.first() else { return Vec::new() };
        let below = if self.chains.len() == 1 { self.kept.as_slice() } else { &[] };
        let mut pages: Vec<Page> = Vec::new();
        for page in first.pages.iter().chain(below) {
            match pages.last_mut() {
                Some(last) if last.next == Next::Kept => {
                    last.rows.extend(&page.rows);
                    last.next = page.next;
                }
                _ => pages.push(page.clone()),
            }
        }
        if let Some(head) = pages.first_mut() {
            let bottom = head.bottom();
            if self.fresh {
                self.live.iter().filter(|k| bottom.covers(k)).for_each(|k| insert(&mut head.rows, *k));
            }
            if head.rows.len() > rows {
                head.rows.truncate(rows);
                head.next = Next::Plain(head.rows.last().copied());
                pages.truncate(1);
            }
        }
        let mut left = rows;
        let fit = pages.iter().take_while(|p| {
            let fits = p.rows.len() <= left;
            left = left.saturating_sub(p.rows.len());
            fits
        });
        let fit = fit.count();
        pages.truncate(fit);
        pages
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Above,
    In(usize),
    Waits,
}

fn insert(rows: &mut Vec<RowKey>, key: RowKey) {
    if let Err(at) = rows.binary_search(&key) {
        rows.insert(at, key);
    }
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
