//! From bytes to verified events.
//!
//! For each event: parse with borrowed strings, check shapes, recompute the id, then check the signature, unless the same
//! (id, signature) was verified before (P4). Parsed public keys are kept, because parsing one costs a tenth of a
//! verification. A fault concerns its event alone: the rest of an array is kept.
//!
//! Invariants: an [`Event`] is only ever made here; a memo hit needs the same id **and** signature **and** a matching hash;
//! memo and key cache are bounded.

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;
use secp256k1::{SECP256K1, XOnlyPublicKey, schnorr};
use serde::de::{DeserializeSeed, Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer as _};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use super::{Event, SharedEvent, parse_broadcast, parse_quiet, parse_reference, parse_scope};
use crate::ids::{EventId, PublicKey, Signature, push_hex};
use crate::limits;
use crate::object::Object;

/// Why an event was not taken. Carries nothing of the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RejectReason {
    /// Not a JSON object of the right shape: missing member, wrong type, number out of range.
    #[error("malformed event")]
    Malformed,
    /// More tags, or a larger event, than is ever accepted.
    #[error("oversized event")]
    Oversized,
    /// The id is not the hash of the fields.
    #[error("id does not match")]
    Id,
    /// The signature does not verify.
    #[error("signature does not verify")]
    Signature,
}

/// An event that was dropped, with as much as can be said of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rejected {
    /// Its kind, where that much could be read: a window must know whether bounds were among what was dropped.
    pub kind: Option<u16>,
    /// Why.
    pub reason: RejectReason,
}

/// The events of one answer.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// Verified events in the order of the answer; duplicates within the answer are kept.
    pub events: Vec<SharedEvent>,
    /// What was dropped.
    pub rejected: Vec<Rejected>,
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    pubkey: Cow<'a, str>,
    created_at: u64,
    kind: u16,
    #[serde(borrow)]
    tags: Tags<'a>,
    #[serde(borrow)]
    content: Cow<'a, str>,
    #[serde(borrow)]
    sig: Cow<'a, str>,
}

// `Cow` inside a `Vec` is not borrowed by serde on its own.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Tags as far as they are kept. An empty tag takes three bytes of an answer and eight times that in memory, so reading them stops at a
/// bound, whatever the answer's size; the rest is looked at and let go.
#[derive(Default)]
struct Tags<'a> {
    list: Vec<Vec<Text<'a>>>,
    texts: usize,
    oversized: bool,
}

impl<'de: 'a, 'a> Deserialize<'de> for Tags<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(TagsVisitor(Tags::default()))
    }
}

struct TagsVisitor<'a>(Tags<'a>);

impl<'de: 'a, 'a> Visitor<'de> for TagsVisitor<'a> {
    type Value = Tags<'a>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("tags")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Tags<'a>, A::Error> {
        let mut tags = self.0;
        while let Some(tag) = seq.next_element_seed(OneTag(&mut tags))? {
            tags.oversized |= tags.list.len() == limits::EVENT_TAGS;
            if !tags.oversized {
                tags.list.push(tag);
            }
        }
        Ok(tags)
    }
}

/// Reads one tag into the room that is left for texts.
struct OneTag<'t, 'a>(&'t mut Tags<'a>);

impl<'de: 'a, 'a> DeserializeSeed<'de> for OneTag<'_, 'a> {
    type Value = Vec<Text<'a>>;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de: 'a, 'a> Visitor<'de> for OneTag<'_, 'a> {
    type Value = Vec<Text<'a>>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a tag")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut tag = Vec::new();
        while let Some(text) = seq.next_element::<Text<'a>>()? {
            self.0.oversized |= self.0.texts == limits::EVENT_TAG_TEXTS;
            if !self.0.oversized {
                self.0.texts += 1;
                tag.push(text);
            }
        }
        Ok(tag)
    }
}

#[derive(Deserialize)]
struct KindOnly {
    kind: u16,
}

/// Parses and verifies events, remembering what it verified. Shared between threads; no lock is held over a signature.
pub struct Verifier {
    proven: Mutex<LruCache<EventId, Signature>>,
    keys: Mutex<LruCache<PublicKey, XOnlyPublicKey>>,
    checks: AtomicU64,
}

impl Default for Verifier {
    fn default() -> Self {
        Self::new()
    }
}

impl Verifier {
    /// A verifier with the standard bounds ([`limits::VERIFIED_IDS`], [`limits::PARSED_KEYS`]).
    pub fn new() -> Self {
        Self::bounded(limits::VERIFIED_IDS, limits::PARSED_KEYS)
    }

    /// A verifier that remembers so many events and keys.
    pub fn bounded(ids: usize, keys: usize) -> Self {
        let cap = |n: usize| NonZeroUsize::new(n).unwrap_or(NonZeroUsize::MIN);
        Self {
            proven: Mutex::new(LruCache::new(cap(ids))),
            keys: Mutex::new(LruCache::new(cap(keys))),
            checks: AtomicU64::new(0),
        }
    }

    /// How many signatures were checked so far: the counter behind P4.
    pub fn signature_checks(&self) -> u64 {
        self.checks.load(Ordering::Relaxed)
    }

    /// Forgets verified ids (not keys), for benches.
    pub fn forget(&self) {
        self.proven.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Parses and verifies one event.
    pub fn event(&self, json: &str) -> Result<SharedEvent, Rejected> {
        self.verify(json).map_err(|reason| Rejected {
            kind: serde_json::from_str(json).ok().map(|Object(KindOnly { kind })| kind),
            reason,
        })
    }

    /// Parses and verifies a JSON array of events. `None` when the text is no JSON array at all.
    pub fn batch(&self, json: &[u8]) -> Option<Batch> {
        let text = std::str::from_utf8(json).ok()?;
        let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        Some(self.each(items.into_iter()))
    }

    /// Parses and verifies an array of at most `most` well-formed events in one pass. `None` when it is anything else: then [`Self::each`] says
    /// which item is at fault. Signatures come last and one after another, so that their tables stay in the processor's cache (P1).
    pub fn array(&self, text: &str, most: usize) -> Option<Batch> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let all = reader.deserialize_seq(Assembly { most }).ok()?;
        reader.end().ok()?;
        let mut batch = Batch { events: Vec::with_capacity(all.len()), rejected: Vec::new() };
        for (kind, assembled) in all {
            match assembled.and_then(|event| self.prove(&event).map(|()| event)) {
                Ok(event) => batch.events.push(event),
                Err(reason) => batch.rejected.push(Rejected { kind: Some(kind), reason }),
            }
        }
        Some(batch)
    }

    /// Verifies raw items one by one.
    pub fn each<'a>(&self, items: impl Iterator<Item = &'a RawValue>) -> Batch {
        let mut batch = Batch::default();
        for item in items {
            match self.event(item.get()) {
                Ok(event) => batch.events.push(event),
                Err(rejected) => batch.rejected.push(rejected),
            }
        }
        batch
    }

    fn verify(&self, json: &str) -> Result<SharedEvent, RejectReason> {
        if json.len() > limits::EVENT_BYTES {
            return Err(RejectReason::Oversized);
        }
        let Object(wire) = serde_json::from_str(json).map_err(|_| RejectReason::Malformed)?;
        self.admit(wire)
    }

    fn admit(&self, wire: Wire<'_>) -> Result<SharedEvent, RejectReason> {
        let event = assemble(wire)?;
        self.prove(&event)?;
        Ok(event)
    }

    /// Checks the signature, unless it was checked before.
    fn prove(&self, event: &Event) -> Result<(), RejectReason> {
        if !self.is_proven(event) {
            self.check_signature(event)?;
            let mut proven = self.proven.lock().unwrap_or_else(PoisonError::into_inner);
            proven.put(event.id, event.sig);
        }
        Ok(())
    }

    fn is_proven(&self, event: &Event) -> bool {
        let mut proven = self.proven.lock().unwrap_or_else(PoisonError::into_inner);
        proven.get(&event.id) == Some(&event.sig)
    }

    fn check_signature(&self, event: &Event) -> Result<(), RejectReason> {
        let key = self.key(&event.pubkey).ok_or(RejectReason::Signature)?;
        let sig = schnorr::Signature::from_slice(&event.sig.0).map_err(|_| RejectReason::Signature)?;
        self.checks.fetch_add(1, Ordering::Relaxed);
        SECP256K1.verify_schnorr(&sig, &event.id.0, &key).map_err(|_| RejectReason::Signature)
    }

    fn key(&self, pubkey: &PublicKey) -> Option<XOnlyPublicKey> {
        if let Some(key) = self.keys.lock().unwrap_or_else(PoisonError::into_inner).get(pubkey) {
            return Some(*key);
        }
        let key = XOnlyPublicKey::from_slice(&pubkey.0).ok()?;
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).put(*pubkey, key);
        Some(key)
    }
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Verifier(…)")
    }
}

/// Reads an array of events that are checked for all but their signatures, each while it is at hand. Fails on anything else.
struct Assembly {
    most: usize,
}

impl<'de> Visitor<'de> for Assembly {
    type Value = Vec<(u16, Result<SharedEvent, RejectReason>)>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(Object(wire)) = seq.next_element::<Object<Wire<'de>>>()? {
            if all.len() >= self.most {
                return Err(A::Error::custom("too many events"));
            }
            all.push((wire.kind, assemble(wire)));
        }
        Ok(all)
    }
}

/// The event, but for its signature.
fn assemble(wire: Wire<'_>) -> Result<SharedEvent, RejectReason> {
    if wire.tags.oversized {
        return Err(RejectReason::Oversized);
    }
    let id = EventId::parse(&wire.id).map_err(|_| RejectReason::Malformed)?;
    let pubkey = PublicKey::parse(&wire.pubkey).map_err(|_| RejectReason::Malformed)?;
    let sig = Signature::parse(&wire.sig).map_err(|_| RejectReason::Malformed)?;
    let (digest, form_len) = hashed(&wire);
    if form_len > limits::EVENT_BYTES {
        return Err(RejectReason::Oversized);
    }
    if digest != id.0 {
        return Err(RejectReason::Id);
    }
    let tags: Vec<Vec<String>> =
        wire.tags.list.into_iter().map(|tag| tag.into_iter().map(|t| t.0.into_owned()).collect()).collect();
    Ok(Arc::new(Event {
        id,
        pubkey,
        created_at: wire.created_at,
        kind: wire.kind,
        scope: parse_scope(&tags),
        reference: parse_reference(&tags),
        broadcast: parse_broadcast(&tags),
        quiet: parse_quiet(&tags),
        addressed: tags.iter().any(|tag| tag.first().is_some_and(|name| name == "p")),
        tags,
        content: wire.content.into_owned(),
        sig,
        json_len: form_len - CANONICAL_FRAME + OBJECT_FRAME,
    }))
}

/// Bytes of `[0,"<64>",…,…,…,…]` that are neither time, kind, tags nor content.
const CANONICAL_FRAME: usize = 74;
/// Bytes of the compact event object that are neither time, kind, tags nor content.
const OBJECT_FRAME: usize = 327;

/// SHA-256 of the canonical serialisation, and the length of that. The content, most of an event, is hashed where it lies. `wire.pubkey` is
/// hex already.
fn hashed(wire: &Wire<'_>) -> ([u8; 32], usize) {
    let mut form = Vec::with_capacity(512);
    form.extend_from_slice(b"[0,\"");
    form.extend_from_slice(wire.pubkey.as_bytes());
    form.extend_from_slice(b"\",");
    // Writing to a Vec cannot fail, and numbers and texts always serialise.
    let _ = serde_json::to_writer(&mut form, &wire.created_at);
    form.push(b',');
    let _ = serde_json::to_writer(&mut form, &wire.kind);
    form.extend_from_slice(b",[");
    for (at, tag) in wire.tags.list.iter().enumerate() {
        form.extend_from_slice(if at == 0 { b"[" } else { b",[" });
        for (at, text) in tag.iter().enumerate() {
            if at > 0 {
                form.push(b',');
            }
            push_text(&mut form, text);
        }
        form.push(b']');
    }
    form.extend_from_slice(b"],");
    let Cow::Borrowed(content) = wire.content else {
        let _ = serde_json::to_writer(&mut form, &wire.content);
        form.push(b']');
        return (Sha256::digest(&form).into(), form.len());
    };
    form.push(b'"');
    let hash = Sha256::new().chain_update(&form).chain_update(content).chain_update(b"\"]");
    (hash.finalize().into(), form.len() + content.len() + 2)
}

/// A text as the canonical serialisation has it. What the JSON reader could borrow had no escapes, and so nothing that needs one: neither a quote
/// nor a backslash nor a control character, which it refuses.
fn push_text(form: &mut Vec<u8>, text: &Text<'_>) {
    match &text.0 {
        Cow::Borrowed(text) => {
            form.push(b'"');
            form.extend_from_slice(text.as_bytes());
            form.push(b'"');
        }
        Cow::Owned(text) => {
            // Writing to a Vec cannot fail, and a text always serialises.
            let _ = serde_json::to_writer(form, text);
        }
    }
}

fn canonical<T: serde::Serialize>(pubkey: &str, created_at: u64, kind: u16, tags: &T, content: &str) -> Vec<u8> {
    let mut form = Vec::with_capacity(512 + content.len());
    // Writing to a Vec cannot fail, and these types always serialise.
    let _ = serde_json::to_writer(&mut form, &(0, pubkey, created_at, kind, tags, content));
    form
}

/// The id an event with these fields must have (NIP-01).
pub fn canonical_id(pubkey: &PublicKey, created_at: u64, kind: u16, tags: &[Vec<String>], content: &str) -> EventId {
    EventId(Sha256::digest(canonical(&pubkey.to_hex(), created_at, kind, &tags, content)).into())
}

pub(super) fn to_json(event: &Event) -> String {
    let mut out = Vec::with_capacity(event.json_len);
    // Writing to a Vec cannot fail, and these types always serialise.
    out.extend_from_slice(b"{\"content\":");
    let _ = serde_json::to_writer(&mut out, &event.content);
    out.extend_from_slice(b",\"created_at\":");
    let _ = serde_json::to_writer(&mut out, &event.created_at);
    out.extend_from_slice(b",\"id\":\"");
    push_hex(&event.id.0, &mut out);
    out.extend_from_slice(b"\",\"kind\":");
    let _ = serde_json::to_writer(&mut out, &event.kind);
    out.extend_from_slice(b",\"pubkey\":\"");
    push_hex(&event.pubkey.0, &mut out);
    out.extend_from_slice(b"\",\"sig\":\"");
    push_hex(&event.sig.0, &mut out);
    out.extend_from_slice(b"\",\"tags\":");
    let _ = serde_json::to_writer(&mut out, &event.tags);
    out.push(b'}');
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Author, template};

    #[test]
    fn a_signed_event_is_taken_and_its_json_round_trips() {
        let event = Author::named("ada").sign(template(9, 1_751_500_000, &[&["h", "x"]], "hé\u{1}\"\n"));
        let verifier = Verifier::new();
        let json = event.to_json();
        assert_eq!(json.len(), event.json_len);
        assert_eq!(*verifier.event(&json).unwrap(), *event);
        assert_eq!(verifier.signature_checks(), 1);
        verifier.event(&json).unwrap();
        assert_eq!(verifier.signature_checks(), 1, "P4: the same (id, sig) is not checked again");
    }

    /// NIP-01: each text is escaped for the id as the serialisation says, however the sender spelt it.
    #[test]
    fn the_id_does_not_depend_on_the_spelling() {
        let author = Author::named("ada");
        let verifier = Verifier::new();
        for text in ["", "plain é 🐝", "\u{7f}\u{2028}", "\"", "\\", "/", "a\n\t\r\u{8}\u{c}", "\u{1}\u{1f}"] {
            let event = author.sign(template(9, 1_751_500_000, &[&["t", text], &[], &[text]], text));
            let json = event.to_json();
            assert_eq!(json.len(), event.json_len);
            assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap()["content"], text);
            let quoted = serde_json::to_string(text).unwrap();
            let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
            let other = json.replace(&quoted, &format!("\"{escaped}\""));
            for spelling in [&json, &other, &json.replace('/', "\\/")] {
                let read = verifier.event(spelling).unwrap();
                assert_eq!((&*read, read.json_len, read.text()), (&*event, event.json_len, text.to_owned()));
            }
        }
        let raw = author.sign(template(9, 5, &[], "x")).to_json().replace("\"x\"", "\"\u{1}\"");
        assert_eq!(verifier.event(&raw).unwrap_err().reason, RejectReason::Malformed);
    }

    #[test]
    fn one_flipped_bit_anywhere_is_refused() {
        let event = Author::named("ada").sign(template(9, 1_751_500_000, &[&["p", "q"]], "hello"));
        let json = event.to_json();
        let verifier = Verifier::new();
        verifier.event(&json).unwrap();
        let swap = |from: &str, to: &str| json.replacen(from, to, 1);
        let flip = |hex: &str| format!("{}{}", if hex.starts_with('0') { '1' } else { '0' }, &hex[1..]);
        let (id, key, sig) = (event.id.to_hex(), event.pubkey.to_hex(), event.sig.to_hex());
        for bad in [
            swap(&id, &flip(&id)),
            swap(&key, &flip(&key)),
            swap(&sig, &flip(&sig)),
            swap("hello", "hellp"),
            swap("\"q\"", "\"r\""),
        ] {
            assert_ne!(bad, json);
            assert!(verifier.event(&bad).is_err());
        }
    }

    /// `unread.md` 13.1–13.3, pitfalls I6.
    #[test]
    fn malformed_events_are_typed_and_alone() {
        let good = Author::named("ada").sign(template(9, 5, &[], "x")).to_json();
        let verifier = Verifier::new();
        for (from, to) in [
            ("\"created_at\":5", "\"created_at\":-1"),
            ("\"created_at\":5", "\"created_at\":1.5"),
            ("\"created_at\":5", "\"created_at\":\"5\""),
            ("\"kind\":9", "\"kind\":65536"),
            ("\"tags\":[]", "\"tags\":[[1]]"),
            ("\"tags\":[]", "\"tags\":{}"),
            ("\"content\":\"x\"", "\"content\":\"\\ud800\""),
        ] {
            let bad = good.replacen(from, to, 1);
            assert_ne!(bad, good);
            assert_eq!(verifier.event(&bad).unwrap_err().reason, RejectReason::Malformed);
        }
        let many = format!("\"tags\":[{}[]]", "[],".repeat(limits::EVENT_TAGS));
        assert_eq!(
            verifier.event(&good.replacen("\"tags\":[]", &many, 1)).unwrap_err().reason,
            RejectReason::Oversized
        );
        let long = format!("\"tags\":[[\"x\"{}]]", ",\"\"".repeat(limits::EVENT_TAG_TEXTS));
        let (long, most) = (good.replacen("\"tags\":[]", &long, 1), format!("[{good}]").len());
        assert_eq!(verifier.event(&long).unwrap_err().reason, RejectReason::Oversized);
        // In one pass over a whole answer too, where an item may be as large as the answer.
        let batch = verifier.array(&format!("[{good},{long}]"), most).unwrap();
        assert_eq!((batch.events.len(), batch.rejected[0].reason), (1, RejectReason::Oversized));
        let array = format!("[{good},{{\"kind\":39006}},7,{good}]");
        let batch = verifier.batch(array.as_bytes()).unwrap();
        assert_eq!(batch.events.len(), 2);
        assert_eq!(batch.rejected.iter().map(|r| r.kind).collect::<Vec<_>>(), vec![Some(39006), None]);
        assert!(verifier.batch(&array.as_bytes()[..array.len() - 1]).is_none());
        assert!(verifier.batch(b"{}").is_none());
    }
}
