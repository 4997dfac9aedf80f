//! The terminal reader: Waggle on an embedded Buzz relay, or on a real one.
//!
//! | module | what |
//! | --- | --- |
//! | [`app`] | state machine: keys and facts of the core in, what to draw and to do out |
//! | [`ui`] | drawing: pure functions of the app's state into a buffer |
//! | [`driver`] | between app and session: carries out what the app wants, brings it what changed |
//! | [`terminal`] | the real terminal: keys, frames, and giving it back whatever happens |
//! | [`embedded`] | a relay in this process with a lived-in community, and how a second reader finds it |
//! | [`tour`] | the guided tour, for a place without a terminal |
//! | [`frames`] | how long a frame takes under load |
//! | [`waits`] | how long reading a snapshot takes during a repair |
//! | [`run`] | arguments, and what they lead to |
//!
//! The reader contains no rule about chat: it draws facts of the core and reports what it shows.
#![forbid(unsafe_code)]

pub mod app;
pub mod driver;
pub mod embedded;
pub mod frames;
pub mod run;
pub mod terminal;
pub mod tour;
pub mod ui;
pub mod waits;
