//! What single relay-signed directory events say, and the newest of them per channel.
//!
//! A [`Register`] keeps one event per channel: greater `created_at` wins, a tie goes to the lower id (`unread.md` 1.5), which
//! is the order of `order::RowKey`. It never goes back, so a replayed older event changes nothing. Events may be dated in the
//! future: relays step `created_at` by at least a second per revision (`relay-measured.md` 6).

use std::collections::BTreeMap;

use crate::event::{Event, SharedEvent};
use crate::ids::{ChannelId, PublicKey};
use crate::limits;
use crate::model::ChannelType;

/// Whose word counts as the relay's (R2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The key the relay advertises as `self`.
    Key(PublicKey),
    /// It advertises none, and TLS to the configured origin, or loopback, stands in: any signer.
    Transport,
    /// Nobody's: no directory event counts.
    None,
}

impl Trust {
    /// Whether the event counts as signed by the relay.
    pub fn accepts(&self, event: &Event) -> bool {
        match self {
            Self::Key(key) => event.pubkey == *key,
            Self::Transport => true,
            Self::None => false,
        }
    }
}

/// What is known about one channel that can be read.
#[derive(Clone, PartialEq, Eq)]
pub struct ChannelFacts {
    /// The viewer is a member: the channel is a source of unread (`unread.md` 1.5, *allowed*). Otherwise it is an open channel
    /// that can be read as a timeline only.
    pub allowed: bool,
    /// The relay confirmed the membership in this session; follow choices wait for it (R8b).
    pub confirmed: bool,
    /// Type; unknown without metadata.
    pub channel_type: ChannelType,
    /// Name by the metadata, at most [`limits::NAME_CHARS`] characters. For a DM it says nothing.
    pub name: Option<String>,
    /// Members of a DM without the viewer, sorted; empty for other types.
    pub participants: Vec<PublicKey>,
    /// Archived: still readable.
    pub archived: bool,
}

impl std::fmt::Debug for ChannelFacts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ChannelFacts({:?}, allowed {}, {} others)", self.channel_type, self.allowed, self.participants.len())
    }
}

/// A membership roster (39002).
pub(super) struct Roster {
    pub(super) viewer: bool,
    /// Well-formed keys, sorted, each once.
    pub(super) people: Vec<PublicKey>,
    /// Owners and admins among them, sorted.
    pub(super) leaders: Vec<PublicKey>,
}

impl Roster {
    /// Members with the role at tag index 3.
    pub(super) fn parse(event: &Event, viewer_hex: &str) -> Self {
        Self { viewer: event.p_tags(viewer_hex), people: people(event, |_| true), leaders: leaders(event, 3) }
    }
}

/// Owners and admins by 39001, whose role stands at tag index 2.
pub(super) fn admins(event: &Event) -> Vec<PublicKey> {
    leaders(event, 2)
}

fn leaders(event: &Event, role: usize) -> Vec<PublicKey> {
    people(event, |tag| tag.get(role).is_some_and(|r| r == "owner" || r == "admin"))
}

fn people(event: &Event, wanted: impl Fn(&[String]) -> bool) -> Vec<PublicKey> {
    let named = event.tags.iter().filter(|t| t.first().is_some_and(|n| n == "p") && wanted(t));
    let mut keys: Vec<_> = named.filter_map(|t| PublicKey::parse(t.get(1)?).ok()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Channel metadata (39000).
pub(super) struct Metadata {
    pub(super) name: Option<String>,
    pub(super) channel_type: ChannelType,
    /// Readable without membership: `public`, and neither `private`, `hidden` nor a DM (`unread.md` 1.2).
    pub(super) open: bool,
    pub(super) archived: bool,
}

impl Metadata {
    pub(super) fn parse(event: &Event) -> Self {
        let has = |name: &str| event.tags.iter().any(|t| t.first().is_some_and(|n| n == name));
        // The first `t` tag decides, also when it names nothing known.
        let channel_type = match event.values("t").next() {
            Some("stream") => ChannelType::Stream,
            Some("dm") => ChannelType::Dm,
            Some("forum") => ChannelType::Forum,
            Some("workflow") => ChannelType::Workflow,
            _ => ChannelType::Unknown,
        };
        let name = event.values("name").next().map(cut_name).filter(|n| !n.is_empty());
        let open = has("public") && !has("private") && !has("hidden") && channel_type != ChannelType::Dm;
        let archived = event.values("archived").any(|v| v == "true");
        Self { name, channel_type, open, archived }
    }
}

/// A name on one line, at most [`limits::NAME_CHARS`] characters.
pub(super) fn cut_name(name: &str) -> String {
    name.trim().chars().filter(|c| !c.is_control()).take(limits::NAME_CHARS).collect()
}

/// The newest event of one kind for one channel.
pub(super) struct Held<T> {
    pub(super) event: SharedEvent,
    pub(super) facts: T,
    /// When it was taken in, in the directory's own count; see `Directory::tick`.
    pub(super) since: u64,
}

/// How an event stands to what is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Newer, or the first.
    Newer,
    /// The very version that is held.
    Same,
    /// Older: changes nothing.
    Older,
}

/// The newest event of one kind per channel.
pub(super) struct Register<T>(BTreeMap<ChannelId, Held<T>>);

impl<T> Default for Register<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> Register<T> {
    pub(super) fn get(&self, channel: ChannelId) -> Option<&Held<T>> {
        self.0.get(&channel)
    }

    pub(super) fn standing(&self, channel: ChannelId, event: &Event) -> Standing {
        match self.0.get(&channel) {
            None => Standing::Newer,
            Some(held) if held.event.id == event.id => Standing::Same,
            Some(held) if event.key() < held.event.key() => Standing::Newer,
            Some(_) => Standing::Older,
        }
    }

    /// Whether there is room for this channel.
    pub(super) fn fits(&self, channel: ChannelId) -> bool {
        self.0.len() < limits::DIRECTORY_CHANNELS || self.0.contains_key(&channel)
    }

    pub(super) fn insert(&mut self, channel: ChannelId, held: Held<T>) {
        self.0.insert(channel, held);
    }

    pub(super) fn remove(&mut self, channel: ChannelId) {
        self.0.remove(&channel);
    }

    pub(super) fn channels(&self) -> impl Iterator<Item = ChannelId> + '_ {
        self.0.keys().copied()
    }

    /// Drops what `keep` refuses.
    pub(super) fn retain(&mut self, keep: impl Fn(&Event) -> bool) {
        self.0.retain(|_, held| keep(&held.event));
    }
}
