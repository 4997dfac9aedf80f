//! Ids as text: lower-case hex for events and keys, a hyphenated UUID for channels. Checked where they enter.

use waggle::error::Error;
use waggle::ids;

/// A message's id: 64 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EventId(pub String);

/// A channel's id: a hyphenated lower-case UUID.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ChannelId(pub String);

/// An account's public key: 64 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PublicKey(pub String);

uniffi::custom_newtype!(EventId, String);
uniffi::custom_newtype!(ChannelId, String);
uniffi::custom_newtype!(PublicKey, String);

impl EventId {
    pub(crate) fn parse(&self) -> Result<ids::EventId, Error> {
        Ok(ids::EventId::parse(&self.0)?)
    }
}

impl ChannelId {
    pub(crate) fn parse(&self) -> Result<ids::ChannelId, Error> {
        Ok(ids::ChannelId::parse(&self.0)?)
    }
}

impl PublicKey {
    pub(crate) fn parse(&self) -> Result<ids::PublicKey, Error> {
        Ok(ids::PublicKey::parse(&self.0)?)
    }
}

impl From<ids::EventId> for EventId {
    fn from(id: ids::EventId) -> Self {
        Self(id.to_hex())
    }
}

impl From<ids::ChannelId> for ChannelId {
    fn from(id: ids::ChannelId) -> Self {
        Self(id.to_string())
    }
}

impl From<ids::PublicKey> for PublicKey {
    fn from(key: ids::PublicKey) -> Self {
        Self(key.to_hex())
    }
}

/// What unread marks and counts are about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, uniffi::Enum)]
pub enum Target {
    /// The whole channel.
    Channel {
        /// The channel.
        channel: ChannelId,
    },
    /// The replies under one root.
    Thread {
        /// The channel.
        channel: ChannelId,
        /// The thread's root.
        root: EventId,
    },
    /// One message.
    Message {
        /// The channel.
        channel: ChannelId,
        /// The message.
        message: EventId,
    },
}

impl Target {
    pub(crate) fn parse(&self) -> Result<ids::Target, Error> {
        Ok(match self {
            Self::Channel { channel } => ids::Target::Channel(channel.parse()?),
            Self::Thread { channel, root } => ids::Target::Thread(channel.parse()?, root.parse()?),
            Self::Message { channel, message } => ids::Target::Message(channel.parse()?, message.parse()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_cross_unchanged_and_malformed_ones_are_an_argument_error() {
        let id = "ab".repeat(32);
        assert_eq!(EventId::from(EventId(id.clone()).parse().unwrap()), EventId(id));
        let channel = "00000000-0000-4000-8000-000000000001".to_owned();
        assert_eq!(ChannelId::from(ChannelId(channel.clone()).parse().unwrap()), ChannelId(channel.clone()));
        for bad in ["", "AB", &"AB".repeat(32), &"é".repeat(32)] {
            assert_eq!(EventId(bad.to_owned()).parse().unwrap_err().code(), "invalid_argument");
            let channel = ChannelId(channel.clone());
            let target = Target::Thread { channel, root: EventId(bad.to_owned()) };
            assert_eq!(target.parse().unwrap_err().code(), "invalid_argument");
        }
    }
}
