//! Waggle: the shared core of a Buzz reader.
//!
//! Rooms, from the ground up: [`ids`], [`order`], [`limits`], [`clock`], [`entropy`], [`error`] know nothing; [`event`] turns bytes
//! into verified events and their facts; [`request`] is what is asked of a relay. Everything above `session` is sans-IO: no
//! clock, no randomness, no file, no socket. `ARCHITECTURE.md` has the picture.
#![forbid(unsafe_code)]

pub mod clock;
pub mod directory;
pub mod engine;
pub mod entropy;
pub mod error;
pub mod event;
pub mod evidence;
pub mod identity;
pub(crate) mod idmap;
pub mod ids;
pub mod journal;
pub mod limits;
pub mod model;
pub(crate) mod object;
pub mod order;
pub mod read_state;
pub mod reading;
pub mod relay;
pub mod relevance;
pub mod request;
pub mod session;
pub mod sidebar;
pub mod store;
pub mod timeline;
pub mod unread;
pub mod window;

#[cfg(test)]
pub(crate) mod testing;
