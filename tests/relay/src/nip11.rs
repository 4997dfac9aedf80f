//! The discovery document.

use serde_json::{Value, json};

use crate::{Settings, snapshot, state::State};

impl State {
    /// The NIP-11 document; host-scoped members only where the host is this community's.
    pub(crate) fn discovery(&self, settings: &Settings, mapped: bool) -> Value {
        let mut doc = json!({
            "name": "Buzz Relay",
            "description": "Buzz — private team communication relay",
            "pubkey": null,
            "contact": null,
            "supported_nips": [1, 2, 10, 11, 16, 17, 23, 25, 29, 33, 38, 42, 50, 56, 43],
            "supported_extensions": ["nip-er"],
            "software": "waggle-test-relay",
            "version": "0.2.1",
            "limitation": {
                "max_message_length": 524_288,
                "max_subscriptions": 1024,
                "max_filters": 10,
                "max_limit": 1000,
                "max_subid_length": 256,
                "min_pow_difficulty": null,
                "auth_required": true,
                "payment_required": false,
                "restricted_writes": true,
                "due_delivery_mode": "push",
                "max_not_before_delta": 31_536_000,
            },
        });
        if settings.identity {
            doc["self"] = self.keys.public().into();
        }
        if mapped && !settings.is_august() {
            doc["read_state_snapshot"] = json!({
                "version": 1,
                "community_id": self.community_id,
                "max_events": snapshot::MAX_EVENTS,
                "max_event_array_bytes": snapshot::MAX_BYTES,
            });
        }
        if mapped && settings.thread_replies_in_channel {
            doc["thread_replies_in_channel"] = true.into();
        }
        doc
    }
}
