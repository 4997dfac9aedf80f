//! What a request is for: told by the in-process transport, otherwise read from the request's shape.

use std::str::FromStr;

use crate::filter::Filter;

/// Why a client asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    /// The discovery document.
    Nip11,
    /// The first page of a channel window.
    Head,
    /// A further page of a channel window.
    Older,
    /// A thread page.
    Thread,
    /// Reactions, edits and deletions of known messages.
    Aux,
    /// The bounded read of messages over many channels.
    Evidence,
    /// Messages by id.
    Lookup,
    /// The channels of messages that saved marks name.
    Homes,
    /// The complete read-state snapshot.
    Snapshot,
    /// A bounded read-state read.
    ReadState,
    /// One's own read-state slots, before or after a write.
    Readback,
    /// A publication.
    Publish,
    /// Channel rosters.
    Roster,
    /// Channel metadata and profiles.
    Metadata,
    /// Preferences kept as kind 30078.
    Preference,
    /// Anything else.
    Other,
}

const NAMES: [(&str, Purpose); 16] = [
    ("nip11", Purpose::Nip11),
    ("head", Purpose::Head),
    ("older", Purpose::Older),
    ("thread", Purpose::Thread),
    ("aux", Purpose::Aux),
    ("evidence", Purpose::Evidence),
    ("lookup", Purpose::Lookup),
    ("homes", Purpose::Homes),
    ("snapshot", Purpose::Snapshot),
    ("read_state", Purpose::ReadState),
    ("readback", Purpose::Readback),
    ("publish", Purpose::Publish),
    ("roster", Purpose::Roster),
    ("metadata", Purpose::Metadata),
    ("preference", Purpose::Preference),
    ("other", Purpose::Other),
];

impl Purpose {
    /// Its name in scenario files.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, p)| *p == self).map_or("other", |(n, _)| n)
    }
}

impl FromStr for Purpose {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        NAMES.iter().find(|(n, _)| *n == name).map(|(_, p)| *p).ok_or_else(|| format!("unknown purpose {name}"))
    }
}

/// The purpose a query's shape speaks of.
pub(crate) fn of_filters(filters: &[Filter]) -> Purpose {
    let Some(first) = filters.first() else { return Purpose::Other };
    if filters.iter().any(|f| f.raw.contains_key("read_state_snapshot")) {
        return Purpose::Snapshot;
    }
    if first.flag("top_level") {
        return if first.raw.contains_key("until") { Purpose::Older } else { Purpose::Head };
    }
    if first.raw.contains_key("depth_limit") {
        return Purpose::Thread;
    }
    if first.ids.is_some() {
        return Purpose::Lookup;
    }
    let asks = |kind: u32| first.kinds.as_ref().is_some_and(|k| k.contains(&kind));
    if asks(30078) {
        return of_app_data(first);
    }
    if asks(39002) {
        return Purpose::Roster;
    }
    if asks(39000) || asks(39001) || asks(0) {
        return Purpose::Metadata;
    }
    if first.values('e').is_some() {
        return Purpose::Aux;
    }
    let messages = asks(9) || asks(40002) || asks(40008);
    if messages && filters.iter().all(|f| f.h.is_some()) { Purpose::Evidence } else { Purpose::Other }
}

fn of_app_data(filter: &Filter) -> Purpose {
    match filter.values('d') {
        Some(d) if d.iter().any(|v| v.starts_with("read-state:")) => Purpose::Readback,
        Some(_) => Purpose::Preference,
        None => Purpose::ReadState,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::read_body;

    #[test]
    fn shapes_speak_of_their_purpose() {
        let of = |body: &str| of_filters(&read_body(body.as_bytes()).expect("filters")).name();
        assert_eq!(of(r##"[{"kinds":[9],"#h":["x"],"top_level":true}]"##), "head");
        assert_eq!(of(r##"[{"kinds":[9],"#h":["x"],"top_level":true,"until":5,"before_id":"x"}]"##), "older");
        assert_eq!(of(r##"[{"kinds":[9],"#e":["x"],"depth_limit":100}]"##), "thread");
        assert_eq!(of(r##"[{"kinds":[9,40002,5],"#h":["x","y"],"limit":500}]"##), "evidence");
        assert_eq!(of(r##"[{"kinds":[30078],"authors":[],"#d":["read-state:x"]}]"##), "readback");
        assert_eq!(of(r##"[{"kinds":[30078],"authors":[],"#d":["channel-mutes"]}]"##), "preference");
        assert_eq!(of(r##"[{"kinds":[30078],"authors":[],"#t":["read-state"]}]"##), "read_state");
        assert_eq!(of(r##"[{"kinds":[30078],"authors":[],"read_state_snapshot":1}]"##), "snapshot");
        assert_eq!(of(r##"[{"kinds":[39002],"#p":["x"]}]"##), "roster");
        assert_eq!(of(r##"[{"kinds":[7,5],"#e":["x"]}]"##), "aux");
        assert_eq!(of(r##"[{"ids":[]}]"##), "lookup");
    }
}
