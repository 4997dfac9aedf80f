//! What an answer changes in an open timeline, once it is known to be the one waited for.

use super::Shared;
use super::chain::{Next, Page};
use super::open::{Body, Reading, Then, Timeline, What, is_row_of};
use super::page::{Signer, Unusable, WindowPage, accept};
use super::thread::ThreadPage;
use crate::event::{Batch, FoldFacts, SharedEvent, kinds};
use crate::ids::EventId;
use crate::limits;
use crate::order::RowKey;
use crate::request::Outbox;

impl Timeline {
    /// Takes a page, or says what is to be done instead. `touched` gets the rows that look different.
    pub(super) fn take_page(
        &mut self,
        reading: &Reading,
        batch: &Batch,
        facts: &dyn FoldFacts,
        shared: &mut Shared,
        touched: &mut Vec<EventId>,
    ) -> Then {
        let channel = self.key.channel;
        match (&mut self.body, reading.plain) {
            (Body::Thread(thread, root), _) => {
                match thread.accept(batch, channel, *root, self.limit, |e| shared.may_draw(e)) {
                    Ok(page) => self.take_thread(reading, page, facts, shared, touched),
                    Err(why) => Then::Refuse(why),
                }
            }
            (Body::Channel(_), true) => self.take_plain(reading, batch, facts, shared, touched),
            (Body::Channel(_), false) => {
                // The relay may have stopped vouching for itself meanwhile only with the connection, which ends the read.
                let signer = shared.signer().unwrap_or(Signer::Transport);
                match accept(batch, channel, reading.cursor, signer) {
                    Ok(page) => self.take_window(reading, page, facts, shared, touched),
                    Err(Unusable::Empty) => Then::Plain,
                    Err(Unusable::NoBounds) => {
                        shared.degraded = true;
                        Then::Plain
                    }
                    Err(Unusable::Invalid(why)) => Then::Refuse(why),
                }
            }
        }
    }

    fn take_window(
        &mut self,
        reading: &Reading,
        page: WindowPage,
        facts: &dyn FoldFacts,
        shared: &mut Shared,
        touched: &mut Vec<EventId>,
    ) -> Then {
        let row_mode = page.row_mode.unwrap_or(shared.row_mode());
        let Body::Channel(chains) = &mut self.body else { return Then::Done };
        if reading.what == What::Older && chains.row_mode().is_some_and(|mode| mode != row_mode) {
            *chains = super::chain::Chains::default();
            self.rows_changed(shared);
            return Then::Restart;
        }
        shared.overlay_signer = Some(page.signer);
        let keys = page.rows.iter().map(|e| e.key()).collect();
        let next = page.next.map_or(Next::End, Next::Cursor);
        let page_of_keys = Page { rows: keys, next };
        if reading.what == What::Head {
            chains.head(page_of_keys, row_mode, page.rows_complete);
            // Older rows stand as they were read on an earlier connection; what changed them meanwhile is asked for.
            let below = chains.below_head();
            self.changes.want(below.iter().take(limits::CHANGES_IDS).map(|k| k.id));
        } else {
            chains.older(page_of_keys, page.rows_complete);
        }
        hold_rows(&page.rows, facts, shared, touched);
        apply_changes(&page.changes, facts, shared, touched);
        if page.changes_complete {
            for row in &page.rows {
                shared.fold.forget_unseen(&row.id, shared.epoch);
            }
        }
        if page.changes_capped {
            self.changes.want(page.rows.iter().map(|r| r.id));
        }
        for (summary, event) in &page.summaries {
            shared.counts.summary_of_page(*summary, event, reading.sent_at);
        }
        if page.summaries_complete {
            let counted = |id: &EventId| page.summaries.iter().any(|(s, _)| s.root == *id);
            page.rows.iter().filter(|r| !counted(&r.id)).for_each(|r| shared.counts.no_summary(r.id, reading.sent_at));
        }
        touched.extend(page.rows.iter().map(|r| r.id));
        self.rows_changed(shared);
        Then::Done
    }

    /// A page of a relay without windows: rows and replies mixed, threaded here (R5).
    fn take_plain(
        &mut self,
        reading: &Reading,
        batch: &Batch,
        facts: &dyn FoldFacts,
        shared: &mut Shared,
        touched: &mut Vec<EventId>,
    ) -> Then {
        let mut all: Vec<SharedEvent> = batch.events.iter().filter(|e| is_row_of(e, &self.key)).cloned().collect();
        all.retain(|e| reading.cursor.is_none_or(|c| e.key().is_after(&c)));
        all.sort_unstable_by_key(|e| e.key());
        all.dedup_by_key(|e| e.id);
        let last = all.last().map(|e| e.key());
        all.retain(|e| shared.may_draw(e));
        hold_rows(&all, facts, shared, touched);
        touched.extend(all.iter().map(|e| e.id));
        let Body::Channel(chains) = &mut self.body else { return Then::Done };
        let row_mode = chains.row_mode().unwrap_or(shared.row_mode());
        let rows: Vec<RowKey> = all.iter().filter(|e| row_mode || shared.is_top_level(e)).map(|e| e.key()).collect();
        let brought = rows.iter().any(|k| !shared.fold.is_deleted(&k.id));
        self.changes.want(all.iter().map(|e| e.id));
        let page = Page { rows, next: Next::Plain(last.or(reading.cursor)) };
        let complete = batch.rejected.is_empty();
        if reading.what == What::Head {
            chains.head(page, row_mode, complete);
        } else {
            chains.older(page, complete);
        }
        self.rows_changed(shared);
        self.plain_pages += 1;
        // Nothing but replies: a person who asked for rows wants the next ones.
        if last.is_some() && !brought && self.plain_pages < limits::PLAIN_PAGES_PER_CALL {
            Then::GoOn
        } else {
            Then::Done
        }
    }

    fn take_thread(
        &mut self,
        reading: &Reading,
        page: ThreadPage,
        facts: &dyn FoldFacts,
        shared: &mut Shared,
        touched: &mut Vec<EventId>,
    ) -> Then {
        hold_rows(&page.rows, facts, shared, touched);
        apply_changes(&page.changes, facts, shared, touched);
        touched.extend(page.rows.iter().map(|r| r.id));
        if let Body::Thread(thread, root) = &self.body {
            if reading.what == What::Head {
                // Also what changed the replies of earlier connections, newest first as far as one request goes.
                self.changes.want(thread.shown().iter().take(limits::CHANGES_IDS).map(|k| k.id));
                self.changes.want([*root]);
                if shared.fold.get(root).is_none() {
                    self.changes.want_root(*root);
                }
            }
            self.changes.want(page.rows.iter().map(|r| r.id));
        }
        self.rows_changed(shared);
        Then::Done
    }

    /// Takes edits, reactions and deletions that were asked for, and the root.
    pub(super) fn take_changes(
        &mut self,
        batch: &Batch,
        facts: &dyn FoldFacts,
        shared: &mut Shared,
        out: &mut Outbox,
    ) -> Vec<EventId> {
        let mut touched = Vec::new();
        let root = batch.events.iter().find(|e| Some(e.id) == self.key.root && is_row_of(e, &self.key));
        if let Some(root) = root.filter(|root| shared.may_draw(root)) {
            shared.fold.hold(root, facts, shared.epoch);
            touched.push(root.id);
        }
        let changes: Vec<SharedEvent> = batch.events.iter().filter(|e| kinds::is_auxiliary(e.kind)).cloned().collect();
        apply_changes(&changes, facts, shared, &mut touched);
        let settled = self.changes.answered(batch, self.key.channel, out);
        for row in settled.complete {
            if shared.fold.forget_unseen(&row, shared.epoch) {
                touched.push(row);
            }
        }
        self.rows_changed(shared);
        touched
    }
}

/// Holds rows, lets notices among them delete, and counts replies among them for their parents.
pub(super) fn hold_rows(rows: &[SharedEvent], facts: &dyn FoldFacts, shared: &mut Shared, touched: &mut Vec<EventId>) {
    for row in rows {
        shared.fold.hold(row, facts, shared.epoch);
        if row.kind == kinds::NOTICE {
            touched.extend(shared.fold.apply(row, facts, shared.epoch));
        }
        if let Some(reference) = row.reference {
            shared.counts.reply(row, false);
            touched.push(reference.parent);
        }
    }
}

fn apply_changes(changes: &[SharedEvent], facts: &dyn FoldFacts, shared: &mut Shared, touched: &mut Vec<EventId>) {
    for change in changes {
        touched.extend(shared.fold.apply(change, facts, shared.epoch));
    }
}
