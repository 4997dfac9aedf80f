//! The read-state snapshot: all live kind-30078 events of the caller, or an error; never a part.

use serde_json::Value;

use crate::{
    event::{Event, sha256},
    filter::Filter,
    query::{Refusal, bad},
    state::State,
    store::Select,
};

/// The most events of a snapshot.
pub(crate) const MAX_EVENTS: usize = 4_096;
/// The most bytes of its event array.
pub(crate) const MAX_BYTES: usize = 8_388_608;

/// A complete snapshot, before it is written down.
pub(crate) struct Snapshot {
    pub(crate) community_id: String,
    pub(crate) pubkey: String,
    pub(crate) complete: bool,
    pub(crate) events: Vec<Event>,
    /// The event texts, so that faults can damage one.
    pub(crate) texts: Vec<String>,
}

/// The id that binds a snapshot to its community, owner and events.
pub(crate) fn snapshot_id(community: &str, pubkey: &str, events: &[Event]) -> String {
    let mut bytes = b"buzz-read-state-snapshot-v1\0".to_vec();
    bytes.extend(uuid::Uuid::parse_str(community).unwrap_or_default().as_bytes());
    bytes.extend(hex::decode(pubkey).unwrap_or_default());
    for event in events {
        bytes.extend(hex::decode(&event.id).unwrap_or_default());
    }
    hex::encode(sha256(&bytes))
}

impl Snapshot {
    pub(crate) fn body(&self) -> String {
        let id = snapshot_id(&self.community_id, &self.pubkey, &self.events);
        format!(
            r#"{{"community_id":"{}","complete":{},"events":[{}],"pubkey":"{}","read_state_snapshot":1,"snapshot_id":"{id}"}}"#,
            self.community_id,
            self.complete,
            self.texts.join(","),
            self.pubkey,
        )
    }
}

impl State {
    /// Whether a query asks for a snapshot: the key in any filter, whatever its value.
    pub(crate) fn asks_snapshot(filters: &[Filter]) -> bool {
        filters.iter().any(|f| f.raw.contains_key("read_state_snapshot"))
    }

    pub(crate) fn snapshot(&self, filters: &[Filter], me: &str) -> anyhow::Result<Result<Snapshot, Refusal>> {
        let exact = serde_json::json!({ "authors": [me], "kinds": [30078], "read_state_snapshot": 1 });
        if filters.len() != 1 || Value::Object(filters[0].raw.clone()) != exact {
            return Ok(Err(bad("read_state_snapshot requires one exact version-1 own-author kind-30078 filter")));
        }
        let select = Select { authors: Some(vec![me.to_owned()]), kinds: Some(vec![30078]), ..Select::default() };
        let rows = self.gather(&select, me, MAX_EVENTS + 1)?;
        let events: Vec<Event> = rows.into_iter().map(|s| s.event).collect();
        let texts: Vec<String> = events.iter().map(|e| e.json.to_string()).collect();
        let bytes = texts.iter().map(|t| t.len() + 1).sum::<usize>() + 1;
        if events.len() > MAX_EVENTS || bytes > MAX_BYTES {
            return Ok(Err((413, "read_state_snapshot is too large; cannot prove complete".into())));
        }
        let (community_id, pubkey) = (self.community_id.clone(), me.to_owned());
        Ok(Ok(Snapshot { community_id, pubkey, complete: true, events, texts }))
    }
}
