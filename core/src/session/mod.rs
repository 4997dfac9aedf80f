//! Sessions: the one task that owns an engine and carries out its effects, and the handles, views and surfaces that speak to it.
//!
//! [`Waggle::open`] makes a [`Client`]; a client signs accounts in and opens a [`Session`] per community; a session's task lives on the tokio
//! runtime it was opened on. Handles send commands and await an answer; views are read at once or awaited ([`view`]); a reading
//! surface's reports never block ([`surface`]).
//!
//! Invariants: the engine is touched by its task alone; nothing blocking runs on that task, unless a test says so ([`Blocking`]); what a call changed is published before the call is
//! answered; a session that is closed has released every file and lock before its close returns.

mod actor;
mod blocking;
mod client;
mod command;
mod config;
mod crypto;
mod disk;
mod guard;
mod handle;
mod input;
mod open;
mod surface;
#[cfg(test)]
mod tests;
mod view;
mod wire;

pub use blocking::Blocking;
pub use client::{Client, SERVICE, Waggle};
pub use config::{Config, Credential, Mode, SaveHook, Unhindered};
pub use handle::{Session, Timeline, TimelineOptions};
pub use surface::ReadingSurface;
pub use view::{ListUpdate, Listed, RowChange, Versioned, View};
