//! The simulator: devices × one relay × virtual clocks × a seeded plan of everything that can go wrong, held against a plain model.
//!
//! # A run
//!
//! A seed gives a [`plan::Plan`]: a small world (two or three devices of one person, two to four channels, a history) and some forty steps.
//! [`run::run`] carries it out over the core's public sessions and the embedded relay, in the virtual time of the scenario runner. After
//! each step the invariants of [`check`] are held; at the end faults stop, and everything must agree ([`finish`]).
//!
//! | module | what |
//! | --- | --- |
//! | [`plan`], [`generate`] | a plan as data; a plan from a seed |
//! | [`world`], [`device`], [`mod@line`], [`disk`] | relay, people, devices, and where they are interfered with |
//! | [`watch`] | requests held against the relay's limits |
//! | [`model`] | the whole history, and what may follow from it; no code of the core |
//! | [`run`], [`check`], [`finish`] | carrying out, looking, ending |
//! | [`shrink`], [`campaign`] | many seeds; a failing one printed, made small and kept as a case |
//! | [`sabotage`] | things done wrong on purpose, so that every invariant is seen to fail |
//!
//! A run needs files; they lie in memory where the system lends some (`/dev/shm`).
#![forbid(unsafe_code)]

pub mod campaign;
pub mod check;
pub mod device;
pub mod dice;
pub mod disk;
pub mod finish;
pub mod generate;
pub mod line;
pub mod model;
pub mod plan;
pub mod run;
pub mod sabotage;
pub mod shrink;
pub mod watch;
pub mod world;
