//! Live delivery: which subscriptions an event reaches, and how losing access ends them.
//!
//! A subscription is channel-scoped when every filter names channels. In the August dialect all of them must name one and
//! the same channel, else the subscription is global and never hears of a channel again. A global one hears only events
//! stored in no channel. Access is checked for every event, not only when the subscription was made.

use std::collections::BTreeSet;

use crate::{
    Settings,
    event::{Event, quoted},
    filter::Filter,
    state::State,
};

/// The most explicit channel ids of one request in the current dialect.
pub(crate) const EXPLICIT_CHANNELS: usize = 128;

/// Where a subscription listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Events stored in no channel.
    Global,
    /// Events of these channels.
    Channels(BTreeSet<String>),
}

/// The scope filters ask for.
pub(crate) fn scope_of(filters: &[Filter], settings: &Settings) -> Scope {
    let named: Option<Vec<Vec<String>>> = filters.iter().map(Filter::channels).collect();
    let Some(named) = named else { return Scope::Global };
    let all: BTreeSet<String> = named.into_iter().flatten().collect();
    let ids: BTreeSet<&String> = filters.iter().filter_map(|f| f.h.as_ref()).flatten().collect();
    if settings.is_august() && ids.len() != 1 { Scope::Global } else { Scope::Channels(all) }
}

impl State {
    /// Queues an event for every subscription it belongs to.
    pub(crate) fn push(&mut self, event: &Event, channel: Option<&str>) {
        if self.quiet || self.conns.is_empty() {
            return;
        }
        let mut frames = Vec::new();
        for (id, conn) in &self.conns {
            let Some(me) = conn.pubkey() else { continue };
            if self.community_role(me).is_none() || !self.can_read_in(me, channel) {
                continue;
            }
            for (name, sub) in &conn.subs {
                let heard = match (&sub.scope, channel) {
                    (Scope::Global, None) => true,
                    (Scope::Channels(set), Some(c)) => set.contains(c),
                    _ => false,
                };
                if heard && sub.filters.iter().any(|f| f.matches(event, channel)) {
                    frames.push((*id, format!(r#"["EVENT",{},{}]"#, quoted(name), event.json)));
                }
            }
        }
        for (id, frame) in frames {
            self.send(id, frame);
        }
    }

    /// Ends subscriptions on a channel: of one person, or of everybody.
    pub(crate) fn revoke_subs(&mut self, channel: &str, pubkey: Option<&str>) {
        let mut closed = Vec::new();
        for (id, conn) in &mut self.conns {
            if conn.pubkey().is_none() || (pubkey.is_some() && conn.pubkey() != pubkey) {
                continue;
            }
            conn.subs.retain(|name, sub| {
                let ends = matches!(&sub.scope, Scope::Channels(set) if set.contains(channel));
                if ends {
                    closed.push((*id, name.clone()));
                }
                !ends
            });
        }
        for (id, name) in closed {
            self.send(id, format!(r#"["CLOSED",{},"restricted: channel access revoked"]"#, quoted(&name)));
        }
    }
}
