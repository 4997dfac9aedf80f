//! Asks the relay for the channels of messages that kept marks name (`unread.md` 8.6).
//!
//! A channel mark can cover a receipt only while the channel of the message it names is known. For receipts saved without one, the
//! relay is asked once a session, after evidence repair, in batches one after the other. Nothing is published and no read
//! changes; a failed or empty answer keeps the receipt, and its message counts as asked.
//!
//! Invariants: at most one request is out; an id is asked at most once between resets that found it unanswered; only ids that were
//! asked for in this very batch are accepted, from signed content events with exactly one channel.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;

use super::key::Key;
use super::mutation::Mutation;
use super::record::Record;
use crate::event::kinds;
use crate::ids::{ChannelId, EventId};
use crate::limits;
use crate::request::{Answer, Filter, Outbox, Outcome, Priority, Purpose, Request, RequestId};

/// Messages remembered as asked in one session: every key journal and reserve can hold. Beyond, no more are asked for.
const ASKED: usize = limits::JOURNAL_KEYS + limits::RESERVE_KEYS;

/// The look-up of one session.
#[derive(Default)]
pub struct Lookup {
    asked: BTreeSet<EventId>,
    waiting: VecDeque<Vec<EventId>>,
    out: Option<(RequestId, Vec<EventId>)>,
    found: Vec<(EventId, ChannelId)>,
}

impl Lookup {
    /// To be called after every complete evidence repair of the current epoch. `is_loaded` says whether evidence holds a message.
    ///
    /// Puts the first request into `out`; or, when nothing has to be asked, returns the mutation to save now: what evidence has
    /// just told is looked through once.
    pub fn start(
        &mut self,
        record: &Record,
        is_loaded: impl Fn(&EventId) -> bool,
        out: &mut Outbox,
    ) -> Option<Mutation> {
        if self.is_busy() || !record.overrides().is_empty() {
            return None;
        }
        let ids = self.wanted(record, is_loaded);
        self.asked.extend(&ids);
        self.waiting = ids.chunks(limits::HOMES_PER_REQUEST).map(<[EventId]>::to_vec).collect();
        self.next(out)
    }

    /// Whether a request is out.
    pub fn is_busy(&self) -> bool {
        self.out.is_some()
    }

    /// Whether an answer under this id belongs here.
    pub fn expects(&self, id: RequestId) -> bool {
        self.out.as_ref().is_some_and(|(out, _)| *out == id)
    }

    /// Takes an answer. After the last batch it returns the mutation to save, if anything was found.
    pub fn on_answer(&mut self, id: RequestId, outcome: &Outcome, out: &mut Outbox) -> Option<Mutation> {
        if !self.expects(id) {
            return None;
        }
        let (_, batch) = self.out.take()?;
        if let Ok(Answer::Events(answer)) = outcome {
            let homes = answer.events.iter().filter(|e| kinds::is_content(e.kind) && batch.contains(&e.id));
            self.found.extend(homes.filter_map(|event| Some((event.id, event.channel()?))));
        }
        self.next(out)
    }

    /// The epoch moved: what is under way is discarded, and what it asked for may be asked again.
    pub fn reset(&mut self, out: &mut Outbox) {
        let under_way = self.out.take().map(|(id, batch)| {
            out.cancel(id);
            batch
        });
        for id in under_way.into_iter().chain(self.waiting.drain(..)).flatten() {
            self.asked.remove(&id);
        }
        for (id, _) in self.found.drain(..) {
            self.asked.remove(&id);
        }
    }

    /// Messages of keys that some channel mark could cover, with unknown channel.
    fn wanted(&self, record: &Record, is_loaded: impl Fn(&EventId) -> bool) -> Vec<EventId> {
        let channels = record.rows().filter(|(key, _)| matches!(key, Key::Channel(_)));
        let Some(reach) = channels.filter_map(|(_, row)| row.held.map(|held| held.value)).max() else {
            return Vec::new();
        };
        let room = ASKED.saturating_sub(self.asked.len());
        let ids: BTreeSet<EventId> = record
            .homeless()
            .filter(|(_, value)| *value <= reach)
            .map(|(id, _)| id)
            .filter(|id| !self.asked.contains(id) && !is_loaded(id) && record.home(id).is_none())
            .collect();
        ids.into_iter().take(room).collect()
    }

    fn next(&mut self, out: &mut Outbox) -> Option<Mutation> {
        let Some(batch) = self.waiting.pop_front() else {
            return Some(Mutation::LearnHomes(std::mem::take(&mut self.found)));
        };
        let limit = u32::try_from(batch.len()).unwrap_or(u32::MAX);
        let filter = Filter::kinds(&kinds::CONTENT).with_ids(batch.iter().copied()).limit(limit);
        let id = out.send(Request::query(Purpose::Homes, Priority::Background, vec![filter]));
        self.out = Some((id, batch));
        None
    }
}

impl fmt::Debug for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lookup({} asked, {} batches waiting)", self.asked.len(), self.waiting.len())
    }
}

#[cfg(test)]
#[path = "homes_tests.rs"]
mod tests;
