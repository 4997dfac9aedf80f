//! Read state between devices: NIP-RS (`unread.md` 9; R12, R19–R26).
//!
//! [`Sync`] is the machine: it loads what other installations published, merges it into the journal, and publishes what this one
//! read. It computes no cipher, touches no disk and no socket; it is driven by events and answers with [`Effect`]s and requests.
//! Below it: [`blob`] (codec and coordinate), [`algebra`] (what merging means), [`crypto`] (encryption to self, jobs for the holder of the
//! key), [`discovery`] (the relay's snapshot and whether to believe it), [`plan`] (which slot carries which key, and what is sent).
//!
//! Invariants. Nothing is signed before the intent is saved, nothing sent before the signed event is saved. A saved event is sent byte
//! for byte until the relay is seen to hold it. Only own frontiers are published, never a `msg:` mark, never a peer's value. A slot
//! holding another client id is never written to. Without intent there is no publication.

pub mod algebra;
pub mod blob;
pub mod crypto;
pub mod discovery;
mod flush;
mod intake;
mod load;
pub mod plan;
mod sync;

pub use blob::{Blob, Unreadable};
pub use crypto::{CryptoJob, CryptoResult, JobId};
pub use discovery::Descriptor;
pub use sync::{CallId, Context, Effect, OpId, Sync};

#[cfg(test)]
mod harness;
#[cfg(test)]
mod load_tests;
#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod publish_tests;
#[cfg(test)]
mod sim_tests;
#[cfg(test)]
mod slot_tests;
