//! What is asked of the relay, and what comes back: the vocabulary shared by all rooms that read or publish.
//!
//! A room never sends anything itself. It puts a [`Request`] into an [`Outbox`], gets a [`RequestId`], and later is given the
//! [`Answer`] under that id by the engine, exactly once; events in it are verified already. Deadlines are enforced by the engine:
//! a room that hears [`RequestError::Network`] with `TimedOut` need not cancel anything.

use serde::Serialize;

use crate::error::{Error, NetworkFailure, Refusal};
use crate::event::Batch;
use crate::ids::{ChannelId, EventId, PublicKey};
use crate::limits;
use crate::order::RowKey;

/// Identifies one request of one engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// What a request is for: decides its place in the queue, and is what test relays count by. Never on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Discovery document.
    Nip11,
    /// Head page of a channel window.
    Head,
    /// Older page of a channel window.
    Older,
    /// Thread page.
    Thread,
    /// Edits, reactions and deletions of rows already held.
    Aux,
    /// Evidence repair.
    Evidence,
    /// Conversation look-up.
    Lookup,
    /// Channels of marked messages.
    Homes,
    /// Read-state snapshot.
    Snapshot,
    /// Bounded read-state query.
    ReadState,
    /// Read-back of own coordinates.
    Readback,
    /// Publication.
    Publish,
    /// Rosters and channel metadata.
    Roster,
    /// Account preferences (mutes).
    Preference,
    /// Profiles.
    Profile,
}

/// Place in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Somebody waits for it.
    Foreground,
    /// Nobody waits.
    Background,
}

/// One NIP-01 filter with the bridge's extensions. Absent members are left out, never null (`relay-measured.md` 5.1).
#[derive(Clone, Default, PartialEq, Eq, Serialize)]
pub struct Filter {
    /// Event ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<String>>,
    /// Authors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authors: Option<Vec<String>>,
    /// Kinds; always named, a filter without them is refused.
    pub kinds: Vec<u16>,
    /// `#h`.
    #[serde(rename = "#h", skip_serializing_if = "Option::is_none")]
    pub h: Option<Vec<String>>,
    /// `#e`.
    #[serde(rename = "#e", skip_serializing_if = "Option::is_none")]
    pub e: Option<Vec<String>>,
    /// `#p`.
    #[serde(rename = "#p", skip_serializing_if = "Option::is_none")]
    pub p: Option<Vec<String>>,
    /// `#d`.
    #[serde(rename = "#d", skip_serializing_if = "Option::is_none")]
    pub d: Option<Vec<String>>,
    /// `#t`.
    #[serde(rename = "#t", skip_serializing_if = "Option::is_none")]
    pub t: Option<Vec<String>>,
    /// Inclusive lower bound of `created_at`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// Inclusive upper bound of `created_at`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// Most events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Extension: the id half of the composite cursor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before_id: Option<String>,
    /// Extension: channel window.
    #[serde(skip_serializing_if = "is_false")]
    pub top_level: bool,
    /// Extension: thread summaries.
    #[serde(skip_serializing_if = "is_false")]
    pub include_summaries: bool,
    /// Extension: auxiliary closure.
    #[serde(skip_serializing_if = "is_false")]
    pub include_aux: bool,
    /// Extension: thread page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth_limit: Option<u32>,
    /// Extension: time of the last reply held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_cursor: Option<u64>,
    /// Extension: id of the last reply held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_cursor_id: Option<String>,
    /// Extension: the read-state snapshot, version 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_state_snapshot: Option<u8>,
}

crate::ids::hidden_debug!(Filter);

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

impl Filter {
    /// A filter of these kinds.
    pub fn kinds(kinds: &[u16]) -> Self {
        Self { kinds: kinds.to_vec(), ..Self::default() }
    }

    /// With `#h` of these channels.
    pub fn in_channels(mut self, channels: impl IntoIterator<Item = ChannelId>) -> Self {
        self.h = Some(channels.into_iter().map(|c| c.to_string()).collect());
        self
    }

    /// With these ids.
    pub fn with_ids(mut self, ids: impl IntoIterator<Item = EventId>) -> Self {
        self.ids = Some(ids.into_iter().map(|i| i.to_hex()).collect());
        self
    }

    /// With `#e` of these ids.
    pub fn about(mut self, ids: impl IntoIterator<Item = EventId>) -> Self {
        self.e = Some(ids.into_iter().map(|i| i.to_hex()).collect());
        self
    }

    /// With this author.
    pub fn by(mut self, author: &PublicKey) -> Self {
        self.authors = Some(vec![author.to_hex()]);
        self
    }

    /// With this limit.
    pub fn limit(mut self, limit: u32) -> Self {
        self.limit = Some(limit);
        self
    }

    /// After this composite cursor.
    pub fn before(mut self, cursor: RowKey) -> Self {
        self.until = Some(cursor.created_at);
        self.before_id = Some(cursor.id.to_hex());
        self
    }

    /// Channel ids this filter names.
    pub fn channel_count(&self) -> usize {
        self.h.as_ref().map_or(0, Vec::len)
    }
}

/// What is sent.
#[derive(Clone, PartialEq, Eq)]
pub enum Body {
    /// `POST /query` with these filters; the answer is [`Answer::Events`].
    Query(Vec<Filter>),
    /// `POST /query` for the read-state snapshot; the answer is [`Answer::Snapshot`] or, from a relay that does not know it,
    /// [`Answer::Events`].
    Snapshot(PublicKey),
    /// `POST /events` with this exact event JSON; the answer is [`Answer::Published`].
    Publish(String),
    /// `GET /` for the discovery document; the answer is [`Answer::Document`].
    Nip11,
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Query(filters) => write!(f, "Query({} filters)", filters.len()),
            Self::Snapshot(_) => f.write_str("Snapshot"),
            Self::Publish(event) => write!(f, "Publish({} B)", event.len()),
            Self::Nip11 => f.write_str("Nip11"),
        }
    }
}

/// A request with its circumstances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// What for.
    pub purpose: Purpose,
    /// How urgent.
    pub priority: Priority,
    /// What.
    pub body: Body,
    /// Milliseconds until it counts as failed, queueing included.
    pub deadline_ms: u64,
}

impl Request {
    /// A query with the standard deadline.
    pub fn query(purpose: Purpose, priority: Priority, filters: Vec<Filter>) -> Self {
        Self { purpose, priority, body: Body::Query(filters), deadline_ms: limits::REQUEST_DEADLINE_MS }
    }
}

/// The read-state snapshot's envelope, its events verified (`unread.md` 9.5). Whether it may be believed is `read_state`'s to say.
#[derive(Clone)]
pub struct SnapshotEnvelope {
    /// Version member.
    pub version: Option<u64>,
    /// Completeness member.
    pub complete: Option<bool>,
    /// Community member.
    pub community_id: Option<String>,
    /// Account member.
    pub pubkey: Option<String>,
    /// Snapshot id member.
    pub snapshot_id: Option<String>,
    /// The events; any rejected one makes the answer unusable.
    pub batch: Batch,
    /// UTF-8 length of the event array as received.
    pub array_bytes: usize,
}

crate::ids::hidden_debug!(SnapshotEnvelope);

/// What came back, verified.
#[derive(Clone)]
pub enum Answer {
    /// Events of a query.
    Events(Batch),
    /// The snapshot's object.
    Snapshot(Box<SnapshotEnvelope>),
    /// The relay's word on a publication. `accepted` proves nothing (R26).
    Published {
        /// Its `accepted` member.
        accepted: bool,
        /// Its `message` member, at most 512 bytes.
        message: String,
    },
    /// The discovery document's bytes.
    Document(Vec<u8>),
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Events(batch) => write!(f, "Events({}, {} dropped)", batch.events.len(), batch.rejected.len()),
            Self::Snapshot(envelope) => write!(f, "{envelope:?}"),
            Self::Published { accepted, message } => write!(f, "Published({accepted}, {} B)", message.len()),
            Self::Document(bytes) => write!(f, "Document({} B)", bytes.len()),
        }
    }
}

/// Why there is no answer.
#[derive(Clone, PartialEq, Eq)]
pub enum RequestError {
    /// No usable answer.
    Network(NetworkFailure),
    /// An answered refusal. `text` is the relay's own error member, bounded to 512 bytes, for exact comparison only (R22): it is never
    /// shown, logged or forwarded.
    Refused {
        /// HTTP status, or 200 for `accepted: false`.
        status: u16,
        /// Its class.
        why: Refusal,
        /// Error text.
        text: String,
        /// Seconds to wait that the text named.
        retry_after: Option<u32>,
    },
    /// The device clock is too far off to sign in, and the relay's time could not be learned.
    Clock {
        /// Device minus relay, seconds.
        skew: i64,
    },
    /// This device cannot sign.
    ReadOnly,
}

// Without the relay's text, which may name anything.
impl std::fmt::Debug for RequestError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Network(why) => write!(f, "Network({why:?})"),
            Self::Refused { status, why, text, retry_after } => {
                write!(f, "Refused({status}, {why:?}, {} B, {retry_after:?})", text.len())
            }
            Self::Clock { skew } => write!(f, "Clock({skew} s)"),
            Self::ReadOnly => f.write_str("ReadOnly"),
        }
    }
}

impl From<RequestError> for Error {
    fn from(value: RequestError) -> Self {
        match value {
            RequestError::Network(why) => Error::Network { why },
            RequestError::Refused { why, retry_after, .. } => Error::RelayRefused { why, retry_after },
            RequestError::Clock { skew } => Error::Clock { skew },
            RequestError::ReadOnly => Error::ReadOnly,
        }
    }
}

/// The result a room is given.
pub type Outcome = Result<Answer, RequestError>;

/// Where rooms put requests. One per engine, so ids are unique.
#[derive(Debug, Default)]
pub struct Outbox {
    next: u64,
    /// Requests to be sent, in order.
    pub sent: Vec<(RequestId, Request)>,
    /// Requests whose answer nobody wants any more.
    pub cancelled: Vec<RequestId>,
}

impl Outbox {
    /// Queues a request.
    pub fn send(&mut self, request: Request) -> RequestId {
        self.next += 1;
        let id = RequestId(self.next);
        self.sent.push((id, request));
        id
    }

    /// Withdraws a request; no answer will be given under its id.
    pub fn cancel(&mut self, id: RequestId) {
        self.sent.retain(|(sent, _)| *sent != id);
        self.cancelled.push(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_members_are_left_out() {
        let filter =
            Filter::kinds(&[9]).in_channels([ChannelId([0; 16])]).limit(2).before(RowKey::new(7, EventId([1; 32])));
        let json = serde_json::to_value(&filter).unwrap();
        let mut keys: Vec<_> = json.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        assert_eq!(keys, ["#h", "before_id", "kinds", "limit", "until"]);
    }
}
