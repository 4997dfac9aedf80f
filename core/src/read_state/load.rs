//! Loading the markers of all installations (`unread.md` 9.5, 9.6; R23, R25b).
//!
//! Where the relay offers a snapshot, that is asked for and nothing else: an answer that is not usable fails the load. Where it does
//! not, one bounded query is made and completeness says so. Everything recognised is then decoded, merged and saved; a coordinate
//! that cannot be read fails the load after the readable ones were taken in.

use super::discovery;
use super::flush::Waiter;
use super::plan::Room;
use super::sync::{CallId, Context, Sync};
use crate::error::Error;
use crate::event::kinds;
use crate::limits;
use crate::model::Completeness;
use crate::request::{Answer, Body, Filter, Outcome, Priority, Purpose, Request, RequestId};

/// A load that runs. Calls share it.
pub(super) struct Load {
    callers: Vec<CallId>,
    flushers: Vec<CallId>,
    /// None once answered.
    request: Option<RequestId>,
    /// What it will have established.
    reach: Completeness,
    /// The connection's first load wants a publication behind it.
    first: bool,
}

impl Load {
    pub(super) fn awaits(&self, id: RequestId) -> bool {
        self.request == Some(id)
    }

    pub(super) fn is_digesting(&self) -> bool {
        self.request.is_none()
    }

    pub(super) fn join(&mut self, call: CallId) {
        self.callers.push(call);
    }

    pub(super) fn flush_after(&mut self, call: CallId) {
        self.flushers.push(call);
    }
}

impl Sync {
    /// Starts a load, or joins the one that runs.
    pub(super) fn begin_load(&mut self, call: Option<CallId>, priority: Priority, io: &mut Context<'_>) {
        if let Some(load) = &mut self.load {
            load.callers.extend(call);
            return;
        }
        let offered = self.link.as_ref().and_then(|link| link.offer).is_some();
        let (purpose, body) = if offered {
            (Purpose::Snapshot, Body::Snapshot(self.viewer))
        } else {
            let mut filter = Filter::kinds(&[kinds::APP_DATA]).by(&self.viewer).limit(limits::READ_STATE_ROWS);
            filter.t = Some(vec!["read-state".into()]);
            (Purpose::ReadState, Body::Query(vec![filter]))
        };
        let request = Request { purpose, priority, body, deadline_ms: limits::REQUEST_DEADLINE_MS };
        let id = io.outbox.send(request);
        self.load = Some(Load {
            callers: call.into_iter().collect(),
            flushers: Vec::new(),
            request: Some(id),
            reach: Completeness::Unknown,
            first: !self.started,
        });
    }

    pub(super) fn load_answered(&mut self, outcome: &Outcome, io: &mut Context<'_>) {
        let offer = self.link.as_ref().and_then(|link| link.offer);
        let events = match (outcome, offer) {
            (Ok(Answer::Snapshot(envelope)), Some(offer)) => {
                discovery::accept(envelope, offer, &self.viewer).map(|s| {
                    self.room = Some(Room::of(&s, &self.viewer));
                    (s.events, Completeness::Snapshot)
                })
            }
            (Ok(Answer::Events(batch)), None) => Ok((batch.events.clone(), Completeness::Bounded)),
            (Ok(_), _) => Err(Error::InvalidAnswer { why: "snapshot not complete" }),
            (Err(error), _) => Err(error.clone().into()),
        };
        match events {
            Ok((events, reach)) => {
                // What is gone from the relay is not unreadable any more; what is still there is tried again.
                self.intake.unreadable.clear();
                for event in &events {
                    self.intake.offer(event, &self.viewer, io.record);
                }
                if let Some(load) = &mut self.load {
                    load.request = None;
                    load.reach = reach;
                }
            }
            Err(error) => self.end_load(Err(error), io),
        }
    }

    pub(super) fn abort_load(&mut self, error: &Error, io: &mut Context<'_>) {
        let Some(load) = self.load.take() else { return };
        if let Some(id) = load.request {
            io.outbox.cancel(id);
        }
        for call in load.callers.into_iter().chain(load.flushers) {
            io.done(call, Err(error.clone()));
        }
        // Calls that waited behind this load for a flush fail in `begin_flush`, which finds no connection.
    }

    /// The load has ended: everything it brought has been dealt with, or it failed.
    pub(super) fn end_load(&mut self, result: Result<(), Error>, io: &mut Context<'_>) {
        let Some(load) = self.load.take() else { return };
        self.reach = if result.is_ok() { load.reach } else { Completeness::Unknown };
        self.load_error = result.clone().err();
        self.started = true;
        self.loaded_once |= result.is_ok();
        let result = result.and_then(|()| self.unreadable().map_or(Ok(()), Err));
        for call in load.callers {
            io.done(call, result.clone());
        }
        if !load.flushers.is_empty() {
            let before = result.err();
            let waiters = load.flushers.into_iter().map(|call| Waiter { call, before: before.clone() });
            self.ask_flush(waiters.collect(), io);
        }
        self.publish_after_load(load.first, io);
    }
}
