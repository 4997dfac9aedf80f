//! Swift and Kotlin bindings of `waggle`: conversions, nothing else. No rule about chat lives here.
//!
//! # How things cross
//! * Ids are text, checked where they enter; a malformed one is `InvalidArgument`, never a panic.
//! * What is shown crosses as records in batches, lists as the rows that changed; every conversion names every field, so that a new field
//!   of the core cannot be forgotten here.
//! * Changing things are *views*: `current()` at once, `next(after)` when there is something newer, `cancel()` to end the waits. A
//!   cancelled wait loses nothing: ask again with the same version.
//! * Failures are small enums per area ([`errors`]), each variant with its code, its retry class and one sentence for a person.
//! * Foreign code is called for three things only ([`ports`], [`logging`]): keeping keys, signing, taking log lines.
//!
//! # Invariants
//! Every export may be called from any thread. None blocks on a disk or the network: what waits is `async`. A panic inside is an error
//! outside. The runtime is the client's own ([`runtime`]); the app's executor only polls.

pub mod client;
pub mod errors;
pub mod ids;
pub mod logging;
pub mod ports;
pub mod records;
pub mod runtime;
pub mod session;
pub mod sidebar;
pub mod timeline;
pub mod views;

uniffi::setup_scaffolding!();

/// The build this library is. Generated code names the build it was made for; the two are compared when the library is loaded.
#[uniffi::export]
pub fn build_id() -> String {
    env!("WAGGLE_BUILD_ID").to_owned()
}

/// Version of the core these bindings were built with.
#[uniffi::export]
pub fn core_version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}
