//! Asks for edits, reactions and deletions of rows whose page did not bring them: thread replies, rows of a relay without
//! windows, and rows of an earlier connection that no page read again (`relay-measured.md` 5.1, 5.2). The root of an open
//! thread that is not held is fetched along.
//!
//! One request at a time. A read goes on until a page is empty, because a short page proves nothing; then what changed the
//! rows before this connection and was not among the answers is gone. A failed read is tried again after 1 s, doubling to 60 s.

use std::collections::BTreeSet;

use super::page::changes_filter;
use crate::clock::Millis;
use crate::event::{Batch, kinds};
use crate::ids::{ChannelId, EventId};
use crate::limits;
use crate::order::RowKey;
use crate::request::{Filter, Outbox, Priority, Purpose, Request, RequestId};

/// Rows waiting for their changes.
#[derive(Debug, Default)]
pub(super) struct Changes {
    wait: BTreeSet<EventId>,
    /// A thread's root that must be fetched.
    root: Option<EventId>,
    flight: Option<Flight>,
    fails: u32,
    wake: Option<Millis>,
}

#[derive(Debug)]
struct Flight {
    id: RequestId,
    rows: Vec<EventId>,
    root: Option<EventId>,
    cursor: Option<RowKey>,
    pages: u32,
}

/// What an answer settled.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Settled {
    /// Rows for which everything was read: what an earlier connection knew besides is gone.
    pub complete: Vec<EventId>,
}

impl Changes {
    /// These rows' changes are wanted.
    pub(super) fn want(&mut self, rows: impl IntoIterator<Item = EventId>) {
        for row in rows {
            if self.wait.len() < limits::TIMELINE_ROWS {
                self.wait.insert(row);
            }
        }
    }

    /// The root must be fetched.
    pub(super) fn want_root(&mut self, root: EventId) {
        self.root = Some(root);
    }

    /// Sends the next request, if one is due.
    pub(super) fn send(&mut self, channel: ChannelId, out: &mut Outbox) {
        if self.flight.is_some() || self.wake.is_some() || (self.wait.is_empty() && self.root.is_none()) {
            return;
        }
        let mut rows = Vec::new();
        while rows.len() < limits::CHANGES_IDS
            && let Some(row) = self.wait.pop_first()
        {
            rows.push(row);
        }
        let root = self.root.take();
        self.request(Flight { id: RequestId(0), rows, root, cursor: None, pages: 0 }, channel, out);
    }

    fn request(&mut self, mut flight: Flight, channel: ChannelId, out: &mut Outbox) {
        let mut filters = Vec::new();
        if !flight.rows.is_empty() {
            filters.push(changes_filter(channel, &flight.rows, flight.cursor));
        }
        if let Some(root) = flight.root {
            filters.push(Filter::kinds(&kinds::ROWS).with_ids([root]).in_channels([channel]));
        }
        flight.id = out.send(Request::query(Purpose::Aux, Priority::Foreground, filters));
        self.flight = Some(flight);
    }

    /// Whether the answer under `id` is for this.
    pub(super) fn is_mine(&self, id: RequestId) -> bool {
        self.flight.as_ref().is_some_and(|f| f.id == id)
    }

    /// An answer came; its events are the caller's to apply. Goes on reading while there may be more.
    pub(super) fn answered(&mut self, batch: &Batch, channel: ChannelId, out: &mut Outbox) -> Settled {
        let Some(mut flight) = self.flight.take() else { return Settled::default() };
        self.fails = 0;
        flight.root = None;
        let last = batch.events.iter().filter(|e| kinds::is_auxiliary(e.kind)).map(|e| e.key()).max();
        let moved = last.filter(|last| flight.cursor.is_none_or(|c| last.is_after(&c)));
        flight.pages += 1;
        if moved.is_some() && flight.pages < limits::CHANGES_PAGES {
            flight.cursor = moved;
            self.request(flight, channel, out);
            return Settled::default();
        }
        self.send(channel, out);
        Settled { complete: if moved.is_none() { flight.rows } else { Vec::new() } }
    }

    /// The request failed.
    pub(super) fn failed(&mut self, now: Millis) {
        if let Some(flight) = self.flight.take() {
            self.wait.extend(flight.rows);
            self.root = self.root.or(flight.root);
            self.wake = Some(now.plus(backoff(self.fails)));
            self.fails = self.fails.saturating_add(1);
        }
    }

    /// The connection ended: nothing is under way any more, and nothing waits; the next connection asks anew.
    pub(super) fn disconnected(&mut self, out: &mut Outbox) {
        if let Some(flight) = self.flight.take() {
            out.cancel(flight.id);
        }
        *self = Self::default();
    }

    /// When [`Changes::wake`] wants to be called.
    pub(super) fn next_wake(&self) -> Option<Millis> {
        self.wake
    }

    /// Time passed.
    pub(super) fn wake(&mut self, now: Millis, channel: ChannelId, out: &mut Outbox) {
        if self.wake.is_some_and(|at| at <= now) {
            self.wake = None;
            self.send(channel, out);
        }
    }
}

/// Milliseconds to wait after the `fails`-th failure in a row, counted from zero (R5).
pub(super) fn backoff(fails: u32) -> u64 {
    limits::REREAD_BACKOFF_MS.saturating_mul(1u64 << fails.min(10)).min(limits::REREAD_BACKOFF_MAX_MS)
}
