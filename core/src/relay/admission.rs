//! The queue in front of the HTTP bridge.
//!
//! Foreground goes before background and first come first served inside each. A request starts when four bounds allow it: the
//! connection is there, no pause that the relay asked for is running, fewer than [`limits::REQUESTS_IN_FLIGHT`] are in flight, and
//! the quota of any 60 s has room. Background requests may use a part of the last two only, so a read never waits behind
//! catch-up.
//!
//! Invariants: every request given in is reported exactly once, by [`Admission::submit`], [`Admission::pump`],
//! [`Admission::finish`] or [`Admission::set_gate`], unless it was cancelled; it is reported by its deadline at the latest, queueing
//! included. A request that could not start before its deadline because of a pause is refused at once with the rest of the
//! wait, so nobody waits for what cannot come. One refused for its signature's age or reuse is tried once more with a new one
//! (R25); a second refusal for its age is the device clock's fault.

use std::collections::{BTreeMap, VecDeque};

use crate::clock::{Millis, Now, ServerTime};
use crate::error::{NetworkFailure, Refusal};
use crate::limits;
use crate::relay::protocol::{is_stale_signature, skew_of};
use crate::request::{Outcome, Priority, Request, RequestError, RequestId};

/// Whether requests can go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Gate {
    /// No: they fail at once (R25c).
    #[default]
    Offline,
    /// Not yet, but soon: they wait.
    Connecting,
    /// Yes.
    Online,
}

/// What [`Admission::pump`] found.
#[derive(Debug, Default, PartialEq)]
pub struct Pumped {
    /// Requests to start now, each to be signed anew.
    pub start: Vec<RequestId>,
    /// Requests that failed.
    pub failed: Vec<(RequestId, RequestError)>,
    /// Those of the failed ones whose exchange is running and should be dropped.
    pub abort: Vec<RequestId>,
}

/// What is to be done with an answer.
#[derive(Debug)]
pub enum Finished {
    /// Hand it to the room that asked.
    Report(Outcome),
    /// Nothing: it will be started again.
    Again,
    /// Nothing: nobody waits for it any more.
    Unknown,
}

struct Held {
    request: Request,
    deadline: Millis,
    in_flight: bool,
    retried: bool,
}

/// See the module's text.
#[derive(Default)]
pub struct Admission {
    gate: Gate,
    held: BTreeMap<RequestId, Held>,
    foreground: VecDeque<RequestId>,
    background: VecDeque<RequestId>,
    /// Start times of the last minute, at most [`limits::QUOTA_CALLS`].
    calls: VecDeque<Millis>,
    paused_until: Millis,
    in_flight: usize,
    background_in_flight: usize,
}

impl Admission {
    /// An empty, offline queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a request in. An error is its outcome, reported at once: offline, hopelessly queued, or paused beyond its deadline.
    pub fn submit(&mut self, now: Millis, id: RequestId, request: Request) -> Result<(), RequestError> {
        let deadline = now.plus(request.deadline_ms);
        if self.gate == Gate::Offline {
            return Err(RequestError::Network(NetworkFailure::Offline));
        }
        if let Some(refused) = self.paused_beyond(now, deadline) {
            return Err(refused);
        }
        if self.foreground.len() + self.background.len() >= limits::REQUESTS_QUEUED {
            return Err(RequestError::Network(NetworkFailure::TimedOut));
        }
        self.line(request.priority).push_back(id);
        self.held.insert(id, Held { request, deadline, in_flight: false, retried: false });
        Ok(())
    }

    /// Withdraws a request. Whether its exchange is running and should be dropped.
    pub fn cancel(&mut self, id: RequestId) -> bool {
        self.remove(id).is_some_and(|held| held.in_flight)
    }

    /// The request under an id, as long as it is held.
    pub fn request(&self, id: RequestId) -> Option<&Request> {
        self.held.get(&id).map(|held| &held.request)
    }

    /// Requests queued and in flight.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Opens or closes the gate. Going offline fails what is queued; exchanges in flight end by themselves.
    pub fn set_gate(&mut self, gate: Gate) -> Vec<(RequestId, RequestError)> {
        self.gate = gate;
        if gate != Gate::Offline {
            return Vec::new();
        }
        let queued: Vec<RequestId> = self.foreground.iter().chain(&self.background).copied().collect();
        self.fail(queued, &RequestError::Network(NetworkFailure::Offline))
    }

    /// Fails what is overdue and names what may start now. Call it after every change and at [`Admission::next_wake`].
    pub fn pump(&mut self, now: Millis) -> Pumped {
        let mut pumped = Pumped::default();
        let overdue: Vec<RequestId> = self.held.iter().filter(|(_, h)| h.deadline <= now).map(|(id, _)| *id).collect();
        pumped.abort = overdue.iter().filter(|id| self.held.get(id).is_some_and(|h| h.in_flight)).copied().collect();
        pumped.failed = self.fail(overdue, &RequestError::Network(NetworkFailure::TimedOut));
        while self.calls.front().is_some_and(|at| now.since(*at) >= limits::QUOTA_WINDOW_MS) {
            self.calls.pop_front();
        }
        while let Some(id) = self.next_to_start(now) {
            self.calls.push_back(now);
            pumped.start.push(id);
        }
        pumped
    }

    /// Takes in the outcome of a started request. `server_time` has already learned from the answer's date.
    pub fn finish(
        &mut self,
        now: Now,
        id: RequestId,
        outcome: Outcome,
        server_time: &ServerTime,
    ) -> (Finished, Pumped) {
        let Some(held) = self.remove(id) else { return (Finished::Unknown, Pumped::default()) };
        let mut refused = Pumped::default();
        let outcome = match outcome {
            Err(error) if is_stale_signature(&error) => match self.retry(now, id, held, error, server_time) {
                None => return (Finished::Again, refused),
                Some(error) => Err(error),
            },
            other => other,
        };
        if let Err(RequestError::Refused { why: Refusal::RateLimited, retry_after, .. }) = &outcome {
            refused.failed = self.pause(now.mono, *retry_after);
        }
        (Finished::Report(outcome), refused)
    }

    /// When [`Admission::pump`] has something to do next.
    pub fn next_wake(&self, now: Millis) -> Option<Millis> {
        let deadline = self.held.values().map(|h| h.deadline).min()?;
        if self.gate != Gate::Online {
            return Some(deadline);
        }
        let starts = self.next_start(now);
        Some(starts.map_or(deadline, |at| at.min(deadline)))
    }

    /// The moment something queued may start, unless a slot must become free first.
    fn next_start(&self, now: Millis) -> Option<Millis> {
        let foreground = !self.foreground.is_empty() && self.in_flight < limits::REQUESTS_IN_FLIGHT;
        let background = !self.background.is_empty() && self.background_may_fly();
        let quota = match (foreground, background) {
            (true, _) => limits::QUOTA_CALLS,
            (false, true) => limits::QUOTA_BACKGROUND,
            (false, false) => return None,
        };
        // The call that must leave the window before there is room.
        let over = self.calls.len().checked_sub(quota);
        let room = over.and_then(|at| self.calls.get(at)).map_or(now, |at| at.plus(limits::QUOTA_WINDOW_MS));
        Some(room.max(self.paused_until).max(now))
    }

    fn background_may_fly(&self) -> bool {
        self.in_flight < limits::REQUESTS_IN_FLIGHT && self.background_in_flight < limits::BACKGROUND_IN_FLIGHT
    }

    fn next_to_start(&mut self, now: Millis) -> Option<RequestId> {
        if self.gate != Gate::Online || now < self.paused_until || self.in_flight >= limits::REQUESTS_IN_FLIGHT {
            return None;
        }
        let id = if self.calls.len() < limits::QUOTA_CALLS && !self.foreground.is_empty() {
            self.foreground.pop_front()
        } else if self.calls.len() < limits::QUOTA_BACKGROUND && self.background_may_fly() {
            self.background.pop_front()
        } else {
            None
        }?;
        let held = self.held.get_mut(&id)?;
        held.in_flight = true;
        self.in_flight += 1;
        self.background_in_flight += usize::from(held.request.priority == Priority::Background);
        Some(id)
    }

    /// Queues a request again, or gives the error to report: once more at most, and never past a closed gate.
    fn retry(
        &mut self,
        now: Now,
        id: RequestId,
        held: Held,
        error: RequestError,
        server_time: &ServerTime,
    ) -> Option<RequestError> {
        if held.retried {
            let Some(delta) = skew_of(&error) else { return Some(error) };
            let signed = |a: u64, b: u64| {
                i64::try_from(a).unwrap_or(i64::MAX).saturating_sub(i64::try_from(b).unwrap_or(i64::MAX))
            };
            let skew = if server_time.is_known() { signed(now.wall, server_time.at(now)) } else { delta };
            return Some(RequestError::Clock { skew });
        }
        if self.gate == Gate::Offline {
            return Some(RequestError::Network(NetworkFailure::Offline));
        }
        self.line(held.request.priority).push_front(id);
        self.held.insert(id, Held { in_flight: false, retried: true, ..held });
        None
    }

    fn pause(&mut self, now: Millis, named: Option<u32>) -> Vec<(RequestId, RequestError)> {
        let wait = named.unwrap_or(limits::RATE_LIMIT_WAIT).min(limits::RETRY_AFTER_MAX);
        self.paused_until = self.paused_until.max(now.plus(u64::from(wait) * 1_000));
        let queued = self.foreground.iter().chain(&self.background).copied();
        let hopeless: Vec<RequestId> = queued
            .filter(|id| self.held.get(id).is_some_and(|h| self.paused_beyond(now, h.deadline).is_some()))
            .collect();
        match self.paused_beyond(now, now) {
            Some(refused) => self.fail(hopeless, &refused),
            None => Vec::new(),
        }
    }

    /// The refusal of a request whose deadline comes before the pause ends.
    fn paused_beyond(&self, now: Millis, deadline: Millis) -> Option<RequestError> {
        (self.paused_until >= deadline).then(|| RequestError::Refused {
            status: 429,
            why: Refusal::RateLimited,
            text: String::new(),
            retry_after: Some(u32::try_from(self.paused_until.since(now).div_ceil(1_000)).unwrap_or(u32::MAX)),
        })
    }

    fn fail(&mut self, ids: Vec<RequestId>, error: &RequestError) -> Vec<(RequestId, RequestError)> {
        ids.into_iter().filter(|id| self.remove(*id).is_some()).map(|id| (id, error.clone())).collect()
    }

    fn remove(&mut self, id: RequestId) -> Option<Held> {
        let held = self.held.remove(&id)?;
        if held.in_flight {
            self.in_flight = self.in_flight.saturating_sub(1);
            let background = usize::from(held.request.priority == Priority::Background);
            self.background_in_flight = self.background_in_flight.saturating_sub(background);
        } else {
            self.line(held.request.priority).retain(|queued| *queued != id);
        }
        Some(held)
    }

    fn line(&mut self, priority: Priority) -> &mut VecDeque<RequestId> {
        match priority {
            Priority::Foreground => &mut self.foreground,
            Priority::Background => &mut self.background,
        }
    }
}

impl std::fmt::Debug for Admission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Admission({:?}, {} held, {} in flight)", self.gate, self.held.len(), self.in_flight)
    }
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
