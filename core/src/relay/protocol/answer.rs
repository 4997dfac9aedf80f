//! Requests as HTTP exchanges, and answers as outcomes.
//!
//! A body is read once when it is well formed. When it is not, items are cut out of it as borrowed text and verified one by one, so a fault in
//! one event concerns that event alone. Runs off the actor. The number of items is bounded as well as the bytes.

use serde::Deserialize;
use serde::de::{Deserializer as _, Error as _, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::refusal::{bounded, refuse};
use crate::error::NetworkFailure;
use crate::event::{Batch, Verifier, kinds};
use crate::limits;
use crate::object::Object;
use crate::relay::transport::{HttpResponse, Method};
use crate::request::{Answer, Body, Filter, Outcome, Request, RequestError, SnapshotEnvelope};

/// How a request travels.
#[derive(Clone, PartialEq, Eq)]
pub struct Exchange {
    /// Method.
    pub method: Method,
    /// Path with its leading slash.
    pub path: &'static str,
    /// Body, the bytes that NIP-98 signs.
    pub body: Vec<u8>,
    /// Bytes of the answer to read at most.
    pub max_body: usize,
    /// Whether it needs NIP-98.
    pub signed: bool,
    /// Headers beside `Authorization`.
    pub headers: Vec<(String, String)>,
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Exchange({:?} {}, {} B)", self.method, self.path, self.body.len())
    }
}

/// The exchange a request becomes.
pub fn exchange(request: &Request) -> Exchange {
    let json = ("Content-Type".to_owned(), "application/json".to_owned());
    let post = |path, body, max_body| Exchange {
        method: Method::Post,
        path,
        body,
        max_body,
        signed: true,
        headers: vec![json.clone()],
    };
    match &request.body {
        // Filters are maps of strings and numbers: writing them cannot fail.
        Body::Query(filters) => post("/query", serde_json::to_vec(filters).unwrap_or_default(), limits::ANSWER_BYTES),
        Body::Snapshot(author) => {
            // Exactly these members, or the relay refuses (`unread.md` 9.5).
            let filter = Filter { read_state_snapshot: Some(1), ..Filter::kinds(&[kinds::APP_DATA]).by(author) };
            post("/query", serde_json::to_vec(&[filter]).unwrap_or_default(), limits::SNAPSHOT_STREAM_BYTES)
        }
        Body::Publish(event) => post("/events", event.clone().into_bytes(), limits::RECEIPT_BYTES),
        Body::Nip11 => Exchange {
            method: Method::Get,
            path: "/",
            body: Vec::new(),
            max_body: limits::DOCUMENT_BYTES,
            signed: false,
            headers: vec![("Accept".to_owned(), "application/nostr+json".to_owned())],
        },
    }
}

/// What an HTTP answer means for the request it answers.
pub fn outcome(response: &HttpResponse, request: &Request, verifier: &Verifier) -> Outcome {
    match response.status {
        200..=299 => decode(&response.body, request, verifier),
        status => Err(refuse(status, &error_text(&response.body))),
    }
}

/// Decodes the body of a success.
pub fn decode(body: &[u8], request: &Request, verifier: &Verifier) -> Outcome {
    if body.len() > exchange_cap(request) {
        return Err(RequestError::Network(NetworkFailure::Oversized));
    }
    let found = match &request.body {
        Body::Query(_) => events(body, verifier).map(Answer::Events),
        Body::Snapshot(_) if body.trim_ascii_start().first() == Some(&b'{') => snapshot(body, verifier),
        Body::Snapshot(_) => events(body, verifier).map(Answer::Events),
        Body::Publish(_) => return published(body),
        Body::Nip11 => Ok(Answer::Document(body.to_vec())),
    };
    found.map_err(RequestError::Network)
}

fn exchange_cap(request: &Request) -> usize {
    match request.body {
        Body::Query(_) => limits::ANSWER_BYTES,
        Body::Snapshot(_) => limits::SNAPSHOT_STREAM_BYTES,
        Body::Publish(_) => limits::RECEIPT_BYTES,
        Body::Nip11 => limits::DOCUMENT_BYTES,
    }
}

fn events(body: &[u8], verifier: &Verifier) -> Result<Batch, NetworkFailure> {
    let text = std::str::from_utf8(body).map_err(|_| NetworkFailure::Truncated)?;
    // Nearly every answer is as it should be, and reading it once is a fifth of what an answer costs beside its signatures (P2).
    if let Some(batch) = verifier.array(text, limits::ANSWER_ITEMS) {
        return Ok(batch);
    }
    let mut items = Items { verifier, batch: Batch::default(), overflow: false };
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = reader.deserialize_seq(&mut items).and_then(|()| reader.end());
    match read {
        _ if items.overflow => Err(NetworkFailure::Oversized),
        Ok(()) => Ok(items.batch),
        Err(_) => Err(NetworkFailure::Truncated),
    }
}

/// Verifies the elements of an array as they are met.
struct Items<'v> {
    verifier: &'v Verifier,
    batch: Batch,
    overflow: bool,
}

impl<'de> Visitor<'de> for &mut Items<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(item) = seq.next_element::<&RawValue>()? {
            if self.batch.events.len() + self.batch.rejected.len() >= limits::ANSWER_ITEMS {
                self.overflow = true;
                return Err(A::Error::custom("too many items"));
            }
            match self.verifier.event(item.get()) {
                Ok(event) => self.batch.events.push(event),
                Err(rejected) => self.batch.rejected.push(rejected),
            }
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    read_state_snapshot: Option<&'a RawValue>,
    #[serde(borrow, default)]
    complete: Option<&'a RawValue>,
    #[serde(borrow, default)]
    community_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pubkey: Option<&'a RawValue>,
    #[serde(borrow, default)]
    snapshot_id: Option<&'a RawValue>,
    #[serde(borrow)]
    events: &'a RawValue,
}

/// A member of the right type; of another type it is absent, and `read_state` refuses the envelope.
fn member<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
    raw.and_then(|r| serde_json::from_str(r.get()).ok())
}

fn snapshot(body: &[u8], verifier: &Verifier) -> Result<Answer, NetworkFailure> {
    let text = std::str::from_utf8(body).map_err(|_| NetworkFailure::Truncated)?;
    let Object(envelope): Object<Envelope<'_>> = serde_json::from_str(text).map_err(|_| NetworkFailure::Truncated)?;
    let array = envelope.events.get();
    Ok(Answer::Snapshot(Box::new(SnapshotEnvelope {
        version: member(envelope.read_state_snapshot),
        complete: member(envelope.complete),
        community_id: member::<String>(envelope.community_id).map(|t| bounded(&t)),
        pubkey: member::<String>(envelope.pubkey).map(|t| bounded(&t)),
        snapshot_id: member::<String>(envelope.snapshot_id).map(|t| bounded(&t)),
        batch: events(array.as_bytes(), verifier)?,
        array_bytes: array.len(),
    })))
}

#[derive(Deserialize)]
struct Receipt {
    accepted: bool,
    #[serde(default)]
    message: String,
}

fn published(body: &[u8]) -> Outcome {
    let Object(receipt): Object<Receipt> =
        serde_json::from_slice(body).map_err(|_| RequestError::Network(NetworkFailure::Truncated))?;
    // A duplicate is done, whichever way the relay says so (`protocol.md` 3.5); any other `false` is a refusal.
    if receipt.accepted || receipt.message.starts_with("duplicate:") {
        return Ok(Answer::Published { accepted: receipt.accepted, message: bounded(&receipt.message) });
    }
    Err(refuse(200, &receipt.message))
}

/// The `error` member of a refusal; the text itself where the body is no JSON (413 is plain text).
fn error_text(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Refused {
        error: String,
    }
    let body = body.get(..body.len().min(limits::RECEIPT_BYTES)).unwrap_or_default();
    match serde_json::from_slice::<Object<Refused>>(body) {
        Ok(Object(refused)) => refused.error,
        Err(_) => String::new(),
    }
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
