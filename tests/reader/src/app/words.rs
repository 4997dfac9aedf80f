//! Words for facts: how a state is called.

use waggle::model::{Capability, Completeness, Coverage, Freshness, Manual, More, OverlayTrust, SyncState};

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
