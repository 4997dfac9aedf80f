//! Access and channel facts as evidence needs them, handed in by the engine.

use std::sync::Arc;

use crate::idmap::IdMap;

use crate::ids::{ChannelId, PublicKey};
use crate::model::ChannelType;

/// What evidence must know about one channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelAccess {
    /// The viewer is a member by a relay-signed roster, restored or confirmed (R8b): messages of it may be evidence.
    pub allowed: bool,
    /// The relay confirmed the membership in this session; follow choices wait for it (R8b).
    pub confirmed: bool,
    /// Type by the metadata.
    pub channel_type: ChannelType,
    /// Owners and admins by the relay-signed 39001 and 39002, sorted (R9).
    pub admins: Arc<[PublicKey]>,
}

impl ChannelAccess {
    /// Whether the channel is known to be a DM; unknown is not "no DM" but is not "DM" either (`unread.md` 1.2).
    pub fn is_dm(&self) -> bool {
        self.channel_type == ChannelType::Dm
    }
}

/// Whose evidence it is, whom to trust, and what each channel allows. The engine replaces it; see `Unread::set_channels`.
#[derive(Clone)]
pub struct Access {
    viewer: PublicKey,
    viewer_hex: String,
    relay: Option<PublicKey>,
    channels: IdMap<ChannelId, ChannelAccess>,
}

impl Access {
    /// No channel yet. `relay` is the trusted NIP-11 `self`, if known.
    pub fn new(viewer: PublicKey, relay: Option<PublicKey>) -> Self {
        Self { viewer, viewer_hex: viewer.to_hex(), relay, channels: IdMap::default() }
    }

    /// The account.
    pub fn viewer(&self) -> PublicKey {
        self.viewer
    }

    /// The account's key as hex, which `p` tags are compared with byte for byte.
    pub fn viewer_hex(&self) -> &str {
        &self.viewer_hex
    }

    /// The trusted relay key.
    pub fn relay(&self) -> Option<&PublicKey> {
        self.relay.as_ref()
    }

    /// Replaces the trusted relay key; whether it changed.
    pub(crate) fn set_relay(&mut self, relay: Option<PublicKey>) -> bool {
        std::mem::replace(&mut self.relay, relay) != relay
    }

    /// Replaces all channels and hands back the old ones.
    pub(crate) fn replace(
        &mut self,
        channels: impl IntoIterator<Item = (ChannelId, ChannelAccess)>,
    ) -> IdMap<ChannelId, ChannelAccess> {
        std::mem::replace(&mut self.channels, channels.into_iter().collect())
    }

    /// Facts of a channel.
    pub fn channel(&self, channel: ChannelId) -> Option<&ChannelAccess> {
        self.channels.get(&channel)
    }

    /// Whether messages of the channel may be evidence.
    pub fn is_allowed(&self, channel: ChannelId) -> bool {
        self.channels.get(&channel).is_some_and(|c| c.allowed)
    }

    /// Whether the key is an owner or admin of the channel.
    pub fn is_admin(&self, channel: ChannelId, key: &PublicKey) -> bool {
        self.channels.get(&channel).is_some_and(|c| c.admins.binary_search(key).is_ok())
    }

    /// Allowed channels in channel-id order, the order repair reads them in (R13).
    pub fn allowed(&self) -> Vec<ChannelId> {
        let mut ids: Vec<_> = self.channels.iter().filter(|(_, c)| c.allowed).map(|(id, _)| *id).collect();
        ids.sort_unstable();
        ids
    }
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Access({} channels)", self.channels.len())
    }
}
