//! The connection to one Buzz relay.
//!
//! | module | what |
//! | --- | --- |
//! | [`protocol`] | pure: addresses, frames, sign-in templates, answers and refusals, the discovery document |
//! | [`admission`] | pure: the queue in front of the HTTP bridge, its quota, pauses and deadlines |
//! | [`connection`] | sans-IO: life of the live socket, signing in, back-off, subscriptions |
//! | [`transport`] | port: one HTTP exchange, one socket |
//! | [`net`] | adapter: real HTTP and WebSockets |
//!
//! Bytes become events only through [`protocol`], which takes a [`Verifier`](crate::event::Verifier) and runs off the actor.

pub mod admission;
pub mod connection;
pub mod net;
pub mod protocol;
pub mod transport;
