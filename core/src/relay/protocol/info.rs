//! The discovery document (NIP-11), read tolerantly: a member of the wrong type is an absent member.
//!
//! The document is not signed. TLS vouches for it, or nothing does (R2).

use serde_json::{Map, Value};

use super::refusal::bounded;
use crate::ids::PublicKey;

/// The two lines of relays (R4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// No snapshot; one channel per filter in a query, one live subscription per channel.
    #[default]
    August,
    /// Snapshot, and filters of many channels in queries and live.
    Current,
}

/// The `read_state_snapshot` member as the relay wrote it; `read_state` decides whether it can be used (`unread.md` 9.5).
#[derive(Clone, PartialEq, Eq, Default)]
pub struct SnapshotDescriptor {
    /// Version.
    pub version: Option<u64>,
    /// Community, at most 512 bytes, unparsed.
    pub community_id: Option<String>,
    /// Most events of a snapshot.
    pub max_events: Option<u64>,
    /// Most bytes of its event array.
    pub max_event_array_bytes: Option<u64>,
}

crate::ids::hidden_debug!(SnapshotDescriptor);

/// What a relay says of itself.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct RelayInfo {
    /// Name for a person, at most 512 bytes.
    pub name: Option<String>,
    /// The key that signs overlays, rosters and notices; absent on relays without a stable one.
    pub self_key: Option<PublicKey>,
    /// Snapshot descriptor; its presence makes the relay *current* (R4).
    pub snapshot: Option<SnapshotDescriptor>,
    /// Whether replies of any depth are rows of channel windows (`protocol.md` 1.10).
    pub thread_replies_in_channel: bool,
    /// `limitation.max_subscriptions`.
    pub max_subscriptions: Option<u64>,
    /// `limitation.max_message_length`, bytes.
    pub max_message_length: Option<u64>,
    /// `limitation.max_limit`, rows of a plain query.
    pub max_limit: Option<u64>,
}

crate::ids::hidden_debug!(RelayInfo);

impl RelayInfo {
    /// Reads a document; `None` when the bytes are no JSON object.
    pub fn parse(document: &[u8]) -> Option<Self> {
        let Ok(Value::Object(top)) = serde_json::from_slice::<Value>(document) else { return None };
        let limitation = top.get("limitation").and_then(Value::as_object);
        let limit = |name: &str| limitation.and_then(|l| number(l, name));
        Some(Self {
            name: text(&top, "name"),
            self_key: top.get("self").and_then(Value::as_str).and_then(|k| PublicKey::parse(k).ok()),
            snapshot: top.get("read_state_snapshot").and_then(Value::as_object).map(descriptor),
            thread_replies_in_channel: top.get("thread_replies_in_channel") == Some(&Value::Bool(true)),
            max_subscriptions: limit("max_subscriptions"),
            max_message_length: limit("max_message_length"),
            max_limit: limit("max_limit"),
        })
    }

    /// Which line of relays this is (R4).
    pub fn dialect(&self) -> Dialect {
        if self.snapshot.is_some() { Dialect::Current } else { Dialect::August }
    }
}

fn descriptor(member: &Map<String, Value>) -> SnapshotDescriptor {
    SnapshotDescriptor {
        version: number(member, "version"),
        community_id: text(member, "community_id"),
        max_events: number(member, "max_events"),
        max_event_array_bytes: number(member, "max_event_array_bytes"),
    }
}

fn number(map: &Map<String, Value>, name: &str) -> Option<u64> {
    map.get(name).and_then(Value::as_u64)
}

fn text(map: &Map<String, Value>, name: &str) -> Option<String> {
    map.get(name).and_then(Value::as_str).map(bounded)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `relay-measured.md` 2 and 8.
    #[test]
    fn documents_of_both_dialects() {
        let key = "ab".repeat(32);
        let august = format!(
            r#"{{"name":"Buzz Relay","pubkey":null,"supported_nips":[1,11],"limitation":{{"max_message_length":524288,
            "max_subscriptions":1024,"max_limit":1000,"min_pow_difficulty":null}},"self":"{key}"}}"#
        );
        let info = RelayInfo::parse(august.as_bytes()).unwrap();
        assert_eq!(info.dialect(), Dialect::August);
        assert_eq!(info.self_key, PublicKey::parse(&key).ok());
        assert_eq!(
            (info.max_subscriptions, info.max_message_length, info.max_limit),
            (Some(1024), Some(524_288), Some(1000))
        );
        assert!(!info.thread_replies_in_channel);
        let current = r#"{"thread_replies_in_channel":true,"read_state_snapshot":{"version":1,
            "community_id":"0b6c8a52-7d3e-4d5a-9a51-0f2b3c4d5e6f","max_events":4096,"max_event_array_bytes":8388608}}"#;
        let info = RelayInfo::parse(current.as_bytes()).unwrap();
        assert_eq!(info.dialect(), Dialect::Current);
        assert!(info.thread_replies_in_channel && info.self_key.is_none());
        let snapshot = info.snapshot.unwrap();
        assert_eq!((snapshot.version, snapshot.max_events), (Some(1), Some(4096)));
        assert_eq!(snapshot.community_id.unwrap().len(), 36);
    }

    /// Pitfalls I: hostile documents.
    #[test]
    fn members_of_the_wrong_type_are_absent() {
        let hostile = format!(
            r#"{{"name":7,"self":"{}","read_state_snapshot":{{"version":-1,"community_id":[],"max_events":1.5}},
            "thread_replies_in_channel":"true","limitation":[],"x":{{"y":[]}}}}"#,
            "AB".repeat(32)
        );
        let info = RelayInfo::parse(hostile.as_bytes()).unwrap();
        assert_eq!(info, RelayInfo { snapshot: Some(SnapshotDescriptor::default()), ..RelayInfo::default() });
        let long = format!(r#"{{"name":"{}"}}"#, "é".repeat(2_000));
        assert!(RelayInfo::parse(long.as_bytes()).unwrap().name.unwrap().len() <= 512);
        let deep = "[".repeat(100_000);
        for bad in [&b"[]"[..], b"", b"{", b"\xff", deep.as_bytes()] {
            assert_eq!(RelayInfo::parse(bad), None);
        }
        assert_eq!(RelayInfo::parse(br#"{"read_state_snapshot":null}"#).unwrap().dialect(), Dialect::August);
    }
}
