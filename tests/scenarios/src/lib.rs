//! The project's black-box test language: one JSON file says what a relay holds, what happens, and what a reader must then see.
//!
//! | module | what |
//! | --- | --- |
//! | [`json`], [`read`] | strict reading: an unknown key, step or reference is a fault that names its JSON path |
//! | [`scenario`] | the file as read |
//! | [`names`], [`book`] | people, channels and events made from their names |
//! | [`clock`] | virtual time, and when everything rests |
//! | [`driver`] | what a device is told and asked, as messages; the trait that a way to the core implements |
//! | [`device`], [`transport`] | the ground a device in this process stands on: line, gate, clock |
//! | [`runner`] | steps, calls in flight, time |
//! | [`compare`] | expected against seen |
//! | [`files`] | many files: order, threads, output |
//! | [`native`] | the driver over the core's own API |
//!
//! One file is one test with its own relay, storage, time and single-threaded runtime, so files may run side by side. The same file
//! and seed give the same trace: nothing runs on another thread, which [`files::play`] checks.
#![forbid(unsafe_code)]

pub mod book;
mod checks;
pub mod clock;
pub mod compare;
pub mod device;
pub mod driver;
pub mod files;
pub mod json;
pub mod names;
pub mod native;
pub mod read;
mod read_steps;
pub mod runner;
pub mod scenario;
pub mod trace;
pub mod transport;

#[cfg(test)]
mod session_tests;
#[cfg(test)]
mod tests;
