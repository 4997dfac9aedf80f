//! Life of the live socket, sans-IO.
//!
//! ```text
//! Idle → Discovering (NIP-11) → Dialling → AwaitingChallenge → Signing → Authenticating → Subscribing → Online
//!              ↑______________________ Waiting (back-off) ←___________ any failure ____________________|
//! Suspended · Refused (only the person can help) · Closed
//! ```
//!
//! The owner carries out [`Effect`]s and reports what came of them as [`Input`]s; every effect of an attempt carries its [`Attempt`],
//! and a report of an earlier one is ignored. [`LinkEvent`]s are for the engine.
//!
//! Rules. Every step has a deadline (pitfalls B12). The first retry after a loss is immediate, then 1 s doubling to 60 s, half of
//! it random; a hint that the network is back ends the wait (R25c). A close with 1012 (the relay restarts) is retried within a
//! second or two. Three transient sign-in refusals in a row, or one final one, end in `Refused` (B13). Silence is probed, and a socket
//! that stays silent is replaced (B4). A refused or rate-limited subscription never costs the socket (B6).
//!
//! Nothing is lost between a page and the live stream: a channel's head may be read once [`Connection::arming`] is no longer
//! [`Arming::Pending`] (R3); whenever a subscription was missing, interrupted or confirmed late, [`LinkEvent::Missed`] asks for a re-read.

mod backoff;
mod machine;
mod subscriptions;

pub use machine::Connection;
pub use subscriptions::Arming;

use std::sync::Arc;

use crate::clock::Millis;
use crate::error::{Error, NetworkFailure};
use crate::event::SharedEvent;
use crate::identity::{SignedJson, Unsigned};
use crate::ids::ChannelId;
use crate::model::Phase;
use crate::relay::protocol::{RelayInfo, RelayMessage};
use crate::relay::transport::HttpResponse;

/// One attempt to be connected, from discovery to the loss of its socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attempt(pub u64);

/// What the owner must do.
#[derive(Clone, PartialEq, Eq)]
pub enum Effect {
    /// Fetch the discovery document and report [`Input::Document`].
    FetchDocument(Attempt),
    /// Open a socket and report [`Input::Dialled`].
    Dial(Attempt),
    /// Have this signed and report [`Input::Signed`].
    Sign {
        /// For this attempt.
        attempt: Attempt,
        /// What to sign.
        event: Unsigned,
        /// The relay's time, seconds, for the signer's check.
        server_time: u64,
    },
    /// Send a text frame.
    Send(Attempt, String),
    /// Send a ping.
    Ping(Attempt),
    /// Drop the socket, and whatever of the attempt is still running.
    Abandon(Attempt),
}

// A frame carries filters and signatures: shapes only.
impl std::fmt::Debug for Effect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::FetchDocument(attempt) => write!(f, "FetchDocument({attempt:?})"),
            Self::Dial(attempt) => write!(f, "Dial({attempt:?})"),
            Self::Sign { attempt, event, .. } => write!(f, "Sign({attempt:?}, {event:?})"),
            Self::Send(attempt, text) => write!(f, "Send({attempt:?}, {} B)", text.len()),
            Self::Ping(attempt) => write!(f, "Ping({attempt:?})"),
            Self::Abandon(attempt) => write!(f, "Abandon({attempt:?})"),
        }
    }
}

/// What the owner reports.
#[derive(Debug)]
pub enum Input {
    /// The session starts.
    Start,
    /// The app goes to the background.
    Suspend,
    /// The app is back, or was never suspended but slept: connect, or probe (pitfalls B4).
    Resume,
    /// The system says the network has changed or is back.
    NetworkChanged,
    /// The session ends.
    Close,
    /// The discovery document, or why there is none.
    Document(Attempt, Result<HttpResponse, NetworkFailure>),
    /// Whether the socket opened.
    Dialled(Attempt, Result<(), NetworkFailure>),
    /// The signature, or why there is none.
    Signed(Attempt, Result<SignedJson, Error>),
    /// A frame, read and verified off the actor.
    Message(Attempt, RelayMessage),
    /// A pong, or a ping that was answered.
    Alive(Attempt),
    /// Frames were lost on this side (pitfalls B15).
    Lagged(Attempt),
    /// The socket ended.
    Ended(Attempt, Option<u16>),
}

/// Which subscription an event came by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Channels. Named when the subscription has exactly one: reactions and deletions need not name their channel themselves.
    Channels(Option<ChannelId>),
    /// Notices that the viewer was added to or removed from a channel.
    Membership,
    /// The viewer's own application data.
    OwnData,
}

/// What the engine learns.
#[derive(Debug, Clone, PartialEq)]
pub enum LinkEvent {
    /// Signed in; membership notices and own data are live (or could not be confirmed in time). Channels follow.
    Online {
        /// The relay's word about itself.
        info: Arc<RelayInfo>,
    },
    /// The connection is lost or could not be made; another attempt follows. Given once per loss, not per attempt.
    Offline {
        /// Why.
        error: Error,
    },
    /// Signing in is refused; nothing is attempted any more until [`Input::Start`] or [`Input::Resume`].
    Refused {
        /// Why.
        error: Error,
    },
    /// A verified event.
    Live {
        /// How it came.
        source: Source,
        /// The event. May come twice, by two subscriptions.
        event: SharedEvent,
    },
    /// These channels may be read from the head now: they are live, or waiting for that was given up and [`LinkEvent::Missed`] will follow.
    /// Given once per connection and channel.
    Armed {
        /// The channels, sorted.
        channels: Vec<ChannelId>,
    },
    /// Events of these channels may have been missed: re-read them. Sorted.
    Missed {
        /// The channels.
        channels: Vec<ChannelId>,
    },
    /// Membership notices or own data may have been missed: re-read rosters, or markers and preferences.
    MissedGlobal {
        /// Which.
        source: Source,
    },
    /// The relay ended a subscription for want of access. Says nothing about which of these channels, and nothing that permits
    /// deleting (`protocol.md` 3.6): re-check the roster and then call [`Connection::set_channels`].
    AccessQuestioned {
        /// Sorted.
        channels: Vec<ChannelId>,
    },
}

/// Effects and events of one call, each in order.
#[derive(Debug, Default)]
pub struct Output {
    /// For the owner.
    pub effects: Vec<Effect>,
    /// For the engine.
    pub events: Vec<LinkEvent>,
}

/// What the connection is doing, for a status line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkStatus {
    /// Coarse phase.
    pub phase: Phase,
    /// When the next attempt starts, while waiting for one.
    pub retry_at: Option<Millis>,
    /// Why it is not online.
    pub error: Option<Error>,
}

#[cfg(test)]
mod subscription_tests;
#[cfg(test)]
mod tests;
