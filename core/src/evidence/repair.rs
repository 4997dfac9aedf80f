//! The plan of evidence reads and the machine that carries it out (`unread.md` 3.5, 3.6; R4, R8c, R13).
//!
//! An *attempt* reads the allowed channels in batches of [`limits::CHANNELS_PER_REQUEST`], in channel-id order, one request at a
//! time. It begins in the phase `Markers`, which only waits for the engine to have loaded read markers, and ends with success, the
//! first failure, or a reset. A *full* attempt covers every allowed channel; a *partial* one those granted later.
//!
//! A batch, identified by its exact id list, may have a *mark*: the second from which its next read starts, because everything
//! before is known to be complete. Invariants: at most one request is out; every ticket completes exactly once; a mark never lies
//! past the present; whatever forgets marks also keeps the attempt in flight from installing one.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Error, NetworkFailure};
use crate::event::{Batch, SharedEvent, kinds};
use crate::ids::ChannelId;
use crate::limits;
use crate::request::{Answer, Filter, Outbox, Outcome, Priority, Purpose, Request, RequestId};

/// One waiting call of `ensure` or `refresh`; the number is the engine's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// How a relay reads several channels in one request (R4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// One filter names all channels; the limit is shared.
    #[default]
    Current,
    /// One filter a channel in the same request, each with its own limit.
    August,
}

/// How an answer leaves the machine.
#[derive(Debug)]
pub(crate) enum Answered {
    /// Not a request of this machine, or of an attempt that was given up.
    Foreign,
    /// To be taken in as evidence; then [`Repair::proceed`].
    Take(Vec<SharedEvent>),
    /// The attempt failed; its tickets are completed.
    Failed(Error),
}

/// What an attempt came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RepairEnd {
    /// It goes on.
    Running,
    /// Every channel was read.
    Complete,
    /// The channels granted later were read.
    Partial,
    /// It was read to its end, but evidence overflowed meanwhile: the error stays.
    Spoiled,
}

#[derive(Debug)]
struct Attempt {
    channels: Vec<ChannelId>,
    partial: bool,
    priority: Priority,
    /// Channels read so far, a whole number of batches.
    done: usize,
    out: Option<RequestId>,
    /// Whether its reads may still install marks.
    installs: bool,
    /// What the answer being taken in says about the next read of its batch.
    mark: Mark,
    spoiled: bool,
    tickets: Vec<Ticket>,
}

impl Attempt {
    fn batch(&self) -> &[ChannelId] {
        let rest = self.channels.get(self.done..).unwrap_or_default();
        rest.get(..limits::CHANNELS_PER_REQUEST).unwrap_or(rest)
    }
}

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Idle,
    /// Markers go first; the engine calls [`Repair::start`] when they are there, or failed.
    Markers {
        priority: Priority,
        tickets: Vec<Ticket>,
        announced: bool,
    },
    Reading(Attempt),
}

/// The repair machine.
#[derive(Debug, Default)]
pub struct Repair {
    dialect: Dialect,
    requested: bool,
    phase: Phase,
    /// Calls of `refresh` that wait for the running attempt and then want their own.
    again: Vec<Ticket>,
    marks: BTreeMap<Vec<ChannelId>, u64>,
    /// Channels read successfully on this connection.
    covered: BTreeSet<ChannelId>,
    completions: Vec<(Ticket, Result<(), Error>)>,
}

impl Repair {
    /// Sets the relay's dialect; counts from the next request on.
    pub fn set_dialect(&mut self, dialect: Dialect) {
        self.dialect = dialect;
    }

    /// Whether a repair was ever asked for since the last reset.
    pub fn is_requested(&self) -> bool {
        self.requested
    }

    /// Whether an attempt is under way.
    pub fn is_running(&self) -> bool {
        !matches!(self.phase, Phase::Idle)
    }

    /// Channels read so far and in all, while reading.
    pub fn progress(&self) -> Option<(u32, u32)> {
        let Phase::Reading(attempt) = &self.phase else { return None };
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Some((count(attempt.done), count(attempt.channels.len())))
    }

    /// Whether markers must be loaded before reading starts, and how urgently; said once per attempt.
    pub fn take_markers_wanted(&mut self) -> Option<Priority> {
        match &mut self.phase {
            Phase::Markers { priority, announced, .. } if !*announced => {
                *announced = true;
                Some(*priority)
            }
            _ => None,
        }
    }

    /// Tickets that are through.
    pub fn take_completions(&mut self) -> Vec<(Ticket, Result<(), Error>)> {
        std::mem::take(&mut self.completions)
    }

    /// Asks for evidence once: joins what runs, repeats the standing outcome, or starts the first attempt. Completed at once when
    /// it returns something, else through [`Self::take_completions`].
    pub fn ensure(&mut self, ticket: Ticket, standing: Option<&Error>) -> Option<Result<(), Error>> {
        match &mut self.phase {
            // Reading a granted channel does not make good an earlier failure.
            Phase::Reading(attempt) if attempt.partial && standing.is_some() => return standing.cloned().map(Err),
            Phase::Markers { tickets, .. } | Phase::Reading(Attempt { tickets, .. }) => tickets.push(ticket),
            Phase::Idle if self.requested => return Some(standing.map_or(Ok(()), |error| Err(error.clone()))),
            Phase::Idle => self.request(Priority::Foreground, vec![ticket]),
        }
        None
    }

    /// Asks for a full read, after the running attempt if there is one. Completes through [`Self::take_completions`].
    pub fn refresh(&mut self, ticket: Ticket) {
        self.forget_marks();
        match &mut self.phase {
            Phase::Idle => self.request(Priority::Foreground, vec![ticket]),
            // Nothing is read yet, so what will be read is read in full.
            Phase::Markers { priority, tickets, .. } => {
                *priority = Priority::Foreground;
                tickets.push(ticket);
            }
            Phase::Reading(_) => self.again.push(ticket),
        }
    }

    /// The connection is back: a background attempt, if one was ever asked for (`unread.md` 3.5).
    pub(crate) fn reconnected(&mut self, out: &mut Outbox) {
        if !self.requested {
            return;
        }
        match std::mem::take(&mut self.phase) {
            Phase::Idle => self.request(Priority::Background, Vec::new()),
            Phase::Reading(attempt) => {
                withdraw(&attempt, out);
                self.request(attempt.priority, attempt.tickets);
            }
            markers @ Phase::Markers { .. } => self.phase = markers,
        }
    }

    fn request(&mut self, priority: Priority, tickets: Vec<Ticket>) {
        self.requested = true;
        self.phase = Phase::Markers { priority, tickets, announced: false };
    }

    /// Markers are loaded, or could not be: reading starts, if it was waiting for that (R25c). `Complete` at once when no channel
    /// is allowed.
    pub(crate) fn start(&mut self, allowed: Vec<ChannelId>, out: &mut Outbox) -> RepairEnd {
        match std::mem::take(&mut self.phase) {
            Phase::Markers { priority, tickets, .. } => self.read(allowed, false, priority, tickets, out),
            other => {
                self.phase = other;
                RepairEnd::Running
            }
        }
    }

    /// An attempt that waits for markers fails instead of reading. Whether one did.
    pub(crate) fn cannot_start(&mut self, error: &Error) -> bool {
        let waits = matches!(self.phase, Phase::Markers { .. });
        if waits {
            self.end(&Err(error.clone()));
        }
        waits
    }

    fn read(
        &mut self,
        channels: Vec<ChannelId>,
        partial: bool,
        priority: Priority,
        tickets: Vec<Ticket>,
        out: &mut Outbox,
    ) -> RepairEnd {
        let attempt = Attempt {
            channels,
            partial,
            priority,
            done: 0,
            out: None,
            installs: true,
            mark: Mark::Keep,
            spoiled: false,
            tickets,
        };
        self.phase = Phase::Reading(attempt);
        self.next_batch(out)
    }

    /// Sends the next batch, or ends the attempt.
    fn next_batch(&mut self, out: &mut Outbox) -> RepairEnd {
        let Phase::Reading(attempt) = &mut self.phase else { return RepairEnd::Running };
        let batch = attempt.batch();
        if !batch.is_empty() {
            let since = self.marks.get(batch).copied();
            let request = Request::query(Purpose::Evidence, attempt.priority, filters(self.dialect, batch, since));
            attempt.out = Some(out.send(request));
            return RepairEnd::Running;
        }
        let (end, result) = match (attempt.spoiled, attempt.partial) {
            (true, _) => (RepairEnd::Spoiled, Err(Error::Capacity { what: "message evidence" })),
            (false, true) => (RepairEnd::Partial, Ok(())),
            (false, false) => (RepairEnd::Complete, Ok(())),
        };
        self.end(&result);
        end
    }

    fn end(&mut self, result: &Result<(), Error>) {
        if let Phase::Reading(Attempt { tickets, .. }) | Phase::Markers { tickets, .. } =
            std::mem::take(&mut self.phase)
        {
            self.completions.extend(tickets.into_iter().map(|ticket| (ticket, result.clone())));
        }
        if !self.again.is_empty() {
            let tickets = std::mem::take(&mut self.again);
            self.request(Priority::Foreground, tickets);
        }
    }

    /// An answer arrived. `now` is the relay's time in seconds.
    pub(crate) fn answered(&mut self, id: RequestId, outcome: Outcome, now: u64) -> Answered {
        let Phase::Reading(attempt) = &mut self.phase else { return Answered::Foreign };
        if attempt.out != Some(id) {
            return Answered::Foreign;
        }
        attempt.out = None;
        let batch = match outcome {
            Ok(Answer::Events(batch)) => batch,
            Ok(_) => return self.failed(Error::Network { why: NetworkFailure::Truncated }),
            Err(error) => return self.failed(error.into()),
        };
        attempt.mark = next_mark(self.dialect, &batch, now);
        Answered::Take(batch.events)
    }

    fn failed(&mut self, error: Error) -> Answered {
        self.end(&Err(error.clone()));
        Answered::Failed(error)
    }

    /// The answer was taken in: the next batch, or the end.
    pub(crate) fn proceed(&mut self, out: &mut Outbox) -> RepairEnd {
        let Phase::Reading(attempt) = &mut self.phase else { return RepairEnd::Running };
        // A consumer of what was just taken in may have restarted the attempt meanwhile.
        if attempt.out.is_some() {
            return RepairEnd::Running;
        }
        let batch = attempt.batch().to_vec();
        attempt.done = attempt.done.saturating_add(batch.len());
        if !attempt.spoiled {
            self.covered.extend(batch.iter().copied());
        }
        match (attempt.installs, attempt.mark) {
            (false, _) | (true, Mark::Keep) => {}
            (true, Mark::Remove) => _ = self.marks.remove(&batch),
            (true, Mark::Set(since)) => _ = self.marks.insert(batch, since),
        }
        self.next_batch(out)
    }

    /// The attempt's own answer did not fit: it stops and the error stays (`unread.md` 3.5).
    pub(crate) fn stopped_by_overflow(&mut self) {
        self.end(&Err(Error::Capacity { what: "message evidence" }));
    }

    /// Evidence overflowed, here or by live events.
    pub(crate) fn overflowed(&mut self) {
        self.forget_marks();
        self.covered.clear();
        if let Phase::Reading(attempt) = &mut self.phase {
            attempt.spoiled = true;
        }
    }

    /// The set of allowed channels changed, or one of them was confirmed. `granted`: newly allowed or confirmed channels.
    /// `changed`: the set differs. What ran starts again for the current set; what was granted is read in the background (R8c).
    pub(crate) fn access_changed(
        &mut self,
        allowed: &[ChannelId],
        granted: &[ChannelId],
        changed: bool,
        out: &mut Outbox,
    ) -> RepairEnd {
        if changed {
            self.forget_marks();
            self.covered.retain(|channel| allowed.binary_search(channel).is_ok());
        }
        match std::mem::take(&mut self.phase) {
            Phase::Reading(attempt) if changed => {
                withdraw(&attempt, out);
                let channels = if attempt.partial {
                    let mut wanted: BTreeSet<_> = attempt.channels.into_iter().chain(granted.iter().copied()).collect();
                    wanted.retain(|channel| allowed.binary_search(channel).is_ok());
                    wanted.into_iter().collect()
                } else {
                    allowed.to_vec()
                };
                self.read(channels, attempt.partial, attempt.priority, attempt.tickets, out)
            }
            Phase::Idle if self.requested => {
                let mut missing: Vec<_> =
                    granted.iter().copied().filter(|channel| !self.covered.contains(channel)).collect();
                missing.sort_unstable();
                if missing.is_empty() {
                    return RepairEnd::Running;
                }
                // A read of all there is makes good an earlier failure.
                let partial = missing != allowed;
                self.read(missing, partial, Priority::Background, Vec::new(), out)
            }
            other => {
                self.phase = other;
                RepairEnd::Running
            }
        }
    }

    /// The connection was lost: what reads fails. Its error, if something did.
    pub(crate) fn disconnected(&mut self, out: &mut Outbox) -> Option<Error> {
        self.covered.clear();
        let Phase::Reading(attempt) = &self.phase else { return None };
        withdraw(attempt, out);
        let error = Error::Network { why: NetworkFailure::Lost };
        self.end(&Err(error.clone()));
        Some(error)
    }

    /// The cache was cleared, or the session closed: nothing runs and nothing was ever asked for.
    pub(crate) fn reset(&mut self, why: &Error, out: &mut Outbox) {
        if let Phase::Reading(attempt) = &self.phase {
            withdraw(attempt, out);
        }
        let again = std::mem::take(&mut self.again);
        self.end(&Err(why.clone()));
        self.completions.extend(again.into_iter().map(|ticket| (ticket, Err(why.clone()))));
        self.requested = false;
        self.marks.clear();
        self.covered.clear();
    }

    fn forget_marks(&mut self) {
        self.marks.clear();
        if let Phase::Reading(attempt) = &mut self.phase {
            attempt.installs = false;
        }
    }

    /// Marks held, for tests of the bound.
    #[cfg(test)]
    pub(crate) fn marks(&self) -> usize {
        self.marks.len()
    }
}

fn withdraw(attempt: &Attempt, out: &mut Outbox) {
    if let Some(id) = attempt.out {
        out.cancel(id);
    }
}

fn filters(dialect: Dialect, batch: &[ChannelId], since: Option<u64>) -> Vec<Filter> {
    let filter = |channels: &[ChannelId]| Filter {
        since,
        include_aux: true,
        ..Filter::kinds(&kinds::CONTENT).in_channels(channels.iter().copied()).limit(limits::REPAIR_ROWS)
    };
    match dialect {
        Dialect::Current => vec![filter(batch)],
        Dialect::August => batch.chunks(1).map(filter).collect(),
    }
}

/// What becomes of a batch's mark.
#[derive(Debug, Clone, Copy)]
enum Mark {
    Keep,
    Remove,
    Set(u64),
}

/// What a read says about the next one (`unread.md` 3.6). Rows that did not verify were rows all the same: they used up the limit.
fn next_mark(dialect: Dialect, batch: &Batch, now: u64) -> Mark {
    let is_row = |kind: Option<u16>| kind.is_none_or(kinds::is_content);
    let damaged = batch.rejected.iter().filter(|r| is_row(r.kind)).count();
    let (mut per_channel, mut rows, mut newest) = (BTreeMap::new(), damaged, None);
    for event in batch.events.iter().filter(|e| kinds::is_content(e.kind)) {
        *per_channel.entry(event.channel()).or_insert(damaged) += 1;
        rows += 1;
        newest = newest.max(Some(event.created_at));
    }
    let fullest = match dialect {
        Dialect::Current => rows,
        Dialect::August => per_channel.values().copied().max().unwrap_or(damaged),
    };
    match newest {
        _ if fullest >= limits::REPAIR_ROWS as usize => Mark::Remove,
        Some(newest) => Mark::Set(newest.min(now).saturating_sub(limits::REREAD_MARGIN)),
        None => Mark::Keep,
    }
}
