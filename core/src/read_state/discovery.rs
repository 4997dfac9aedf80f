//! Finding out whether the relay offers the read-state snapshot, and whether its answer may be believed (`unread.md` 9.5; R24, R25b).
//!
//! A snapshot is complete or it is nothing: one failing check makes the whole answer unusable, and an unusable answer is an error,
//! never a quiet fall-back to a bounded query. What a usable one proves is one writer cut for this community and account; it is no
//! revision, no freshness and says nothing about messages (13, rule 13).

use std::collections::HashSet;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::error::Error;
use crate::event::{SharedEvent, kinds};
use crate::ids::PublicKey;
use crate::limits;
use crate::order::RowKey;
use crate::request::SnapshotEnvelope;

const DOMAIN: &[u8] = b"buzz-read-state-snapshot-v1\0";

/// The relay's offer of a snapshot, from its discovery document.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Descriptor {
    /// The community's UUID.
    pub community: [u8; 16],
}

impl std::fmt::Debug for Descriptor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Descriptor(…)")
    }
}

impl Descriptor {
    /// Reads the `read_state_snapshot` member of a NIP-11 document. `None` means that there is no offer this client knows: another
    /// version, or a community id that is no lower-case UUID. Other members are not required.
    pub fn from_document(document: &[u8]) -> Option<Self> {
        let document: Value = serde_json::from_slice(document).ok()?;
        Self::from_member(document.get("read_state_snapshot")?)
    }

    /// Reads the member itself.
    pub fn from_member(member: &Value) -> Option<Self> {
        if member.get("version")?.as_f64()? != 1.0 {
            return None;
        }
        Some(Self { community: parse_uuid(member.get("community_id")?.as_str()?)? })
    }
}

impl Descriptor {
    /// From the members of a discovery document that was parsed elsewhere.
    pub fn offered(version: Option<u64>, community_id: Option<&str>) -> Option<Self> {
        let community = parse_uuid(community_id?)?;
        (version == Some(1)).then_some(Self { community })
    }
}

fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    if text.len() != 36 || text.bytes().any(|b| b.is_ascii_uppercase()) {
        return None;
    }
    uuid::Uuid::try_parse(text).ok().map(uuid::Uuid::into_bytes)
}

/// A usable snapshot.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Every kind-30078 event of the viewer, other applications' included.
    pub events: Vec<SharedEvent>,
    /// UTF-8 length of the event array.
    pub array_bytes: usize,
}

/// Checks a snapshot's answer. The error is [`Error::InvalidAnswer`] with the check that failed.
pub fn accept(envelope: &SnapshotEnvelope, offer: Descriptor, viewer: &PublicKey) -> Result<Snapshot, Error> {
    let unusable = |why| Err(Error::InvalidAnswer { why });
    let events = &envelope.batch.events;
    if envelope.version != Some(1) || envelope.complete != Some(true) {
        return unusable("snapshot not complete");
    }
    if envelope.community_id.as_deref().and_then(parse_uuid) != Some(offer.community) {
        return unusable("snapshot of another community");
    }
    if envelope.pubkey.as_deref().and_then(|k| PublicKey::parse(k).ok()).as_ref() != Some(viewer) {
        return unusable("snapshot of another account");
    }
    if !envelope.batch.rejected.is_empty() {
        return unusable("snapshot with an invalid event");
    }
    if events.len() > limits::SNAPSHOT_EVENTS || envelope.array_bytes > limits::SNAPSHOT_ARRAY_BYTES {
        return unusable("snapshot too large");
    }
    if events.iter().any(|e| e.pubkey != *viewer || e.kind != kinds::APP_DATA) {
        return unusable("snapshot with a foreign event");
    }
    let mut coordinates = HashSet::with_capacity(events.len());
    if !events.iter().all(|e| coordinates.insert(e.values("d").next().unwrap_or_default())) {
        return unusable("snapshot with a doubled coordinate");
    }
    if envelope.snapshot_id.as_deref() != Some(&snapshot_id(offer, viewer, events)) {
        return unusable("snapshot id does not match");
    }
    Ok(Snapshot { events: events.clone(), array_bytes: envelope.array_bytes })
}

/// The id a snapshot of these events must have (`relay-measured.md` 8): SHA-256 over a domain, the community, the account and the
/// event ids, newest first.
pub fn snapshot_id(offer: Descriptor, viewer: &PublicKey, events: &[SharedEvent]) -> String {
    let mut keys: Vec<RowKey> = events.iter().map(|e| e.key()).collect();
    keys.sort_unstable();
    let mut hash = Sha256::new();
    hash.update(DOMAIN);
    hash.update(offer.community);
    hash.update(viewer.as_bytes());
    for key in &keys {
        hash.update(key.id.as_bytes());
    }
    hex::encode(hash.finalize())
}

#[cfg(test)]
#[path = "discovery_tests.rs"]
mod tests;
