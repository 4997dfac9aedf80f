//! Words for facts: what a row that is no message says, how a state is called.

use serde_json::Value;
use waggle::ids::PublicKey;
use waggle::model::{Capability, Completeness, Coverage, Freshness, Manual, More, OverlayTrust, SyncState};

/// A system notice in words. Its content is the relay's JSON; an unknown sort is named by its type. `name` knows people.
pub fn notice(content: &str, name: impl Fn(&PublicKey) -> Option<String>) -> String {
    let Ok(body) = serde_json::from_str::<Value>(content) else { return content.to_owned() };
    let text = |field: &str| body.get(field).and_then(Value::as_str);
    let who = |field: &str| {
        let key = text(field).and_then(|hex| PublicKey::parse(hex).ok());
        key.and_then(|k| name(&k)).unwrap_or_else(|| "Someone".to_owned())
    };
    match text("type") {
        Some("topic_changed") => format!("{} set the topic: {}", who("actor"), text("topic").unwrap_or("")),
        Some("purpose_changed") => format!("{} set the purpose: {}", who("actor"), text("purpose").unwrap_or("")),
        Some("member_joined") if text("actor") == text("target") => format!("{} joined", who("target")),
        Some("member_joined") => format!("{} added {}", who("actor"), who("target")),
        Some("member_left") => format!("{} left", who("actor")),
        Some("member_removed") => format!("{} removed {}", who("actor"), who("target")),
        Some("message_deleted") => format!("{} deleted a message", who("actor")),
        Some("channel_created") => format!("{} created this channel", who("actor")),
        Some(other) => other.replace('_', " "),
        None => content.to_owned(),
    }
}

/// State of synchronisation.
pub fn sync(state: SyncState) -> &'static str {
    match state {
        SyncState::Loading => "loading what other devices read",
        SyncState::Local => "nothing to publish",
        SyncState::Pending => "saved, not published yet",
        SyncState::Accepted => "published, not seen there yet",
        SyncState::Reconciled => "published and seen there",
        SyncState::Stale => "not connected",
        SyncState::Error => "failed",
    }
}

/// How completely other devices' marks are known.
pub fn completeness(of: Completeness) -> &'static str {
    match of {
        Completeness::Unknown => "unknown",
        Completeness::Bounded => "a bounded query",
        Completeness::Snapshot => "a complete snapshot",
    }
}

/// What this device can do.
pub fn capability(of: Capability) -> &'static str {
    match of {
        Capability::Unsupported => "none",
        Capability::ReadOnly => "shows, publishes nothing",
        Capability::FrontierSync => "reads and publishes",
    }
}

/// Whether anything is known.
pub fn coverage(of: Coverage) -> &'static str {
    match of {
        Coverage::Observed => "observed",
        Coverage::Unknown => "unknown",
    }
}

/// How current it is.
pub fn freshness(of: Freshness) -> &'static str {
    match of {
        Freshness::Observed => "current",
        Freshness::Stale => "possibly out of date",
        Freshness::Unknown => "unknown",
    }
}

/// Whether it was marked by hand.
pub fn manual(of: Manual) -> &'static str {
    match of {
        Manual::None => "no",
        Manual::LocalOnly => "yes, on this device",
        Manual::Remote => "yes, by another client",
    }
}

/// Whether there are older rows.
pub fn more(of: More) -> &'static str {
    match of {
        More::Yes => "yes",
        More::No => "no",
        More::Unknown => "not known",
    }
}

/// Who vouches for overlays.
pub fn trust(of: OverlayTrust) -> &'static str {
    match of {
        OverlayTrust::Identity => "the relay's key",
        OverlayTrust::Transport => "the connection only",
        OverlayTrust::None => "nobody",
    }
}

/// A count that may be unknown.
pub fn count(of: Option<u32>) -> String {
    of.map_or_else(|| "unknown".to_owned(), |n| n.to_string())
}

/// `1 reply`, `2 replies`.
pub fn replies(count: u32) -> String {
    if count == 1 { "1 reply".to_owned() } else { format!("{count} replies") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_are_sentences() {
        let mara = PublicKey([1; 32]);
        let name = |k: &PublicKey| (*k == mara).then(|| "Mara".to_owned());
        let body = |rest: &str| format!(r#"{{"actor":"{}",{rest}}}"#, mara.to_hex());
        let topic = body(r#""type":"topic_changed","topic":"Lime flow""#);
        assert_eq!(notice(&topic, name), "Mara set the topic: Lime flow");
        let target = format!(r#""type":"member_joined","target":"{}""#, PublicKey([2; 32]).to_hex());
        assert_eq!(notice(&body(&target), name), "Mara added Someone");
        assert_eq!(notice(&body(r#""type":"huddle_ended""#), name), "huddle ended");
        assert_eq!(notice("plain words", name), "plain words");
        assert_eq!(notice("{}", name), "{}");
    }
}
