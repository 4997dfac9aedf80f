//! Encryption to self, and the jobs the machine hands out for it.
//!
//! The machine never computes a cipher or a signature itself: decrypting a snapshot of 8 MiB must not stand in the way of live events,
//! and the key may be in another process. It emits a [`CryptoJob`]; the session runs it off the actor and gives the result back
//! under the job's id. The cipher itself is the signer's ([`crate::identity`]).
//!
//! Invariants: a blob that is sealed was written by [`super::blob::write`] and is no longer than [`crate::limits::BLOB_BYTES`]; only
//! verified events come back.

use super::blob::{self, Blob, Unreadable};
use crate::error::Error;
use crate::event::{SharedEvent, app_data};
use crate::ids::SlotId;

/// Identifies one job of one machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u64);

/// Work for the holder of the key.
#[derive(Debug, Clone)]
pub enum CryptoJob {
    /// Answer with [`CryptoResult::Decoded`].
    Decode(DecodeJob),
    /// Answer with [`CryptoResult::Sealed`].
    Seal(SealJob),
}

/// The result of a [`CryptoJob`].
#[derive(Debug, Clone)]
pub enum CryptoResult {
    /// One entry an event, in the job's order.
    Decoded(Vec<Result<Blob, Unreadable>>),
    /// The signed event, verified, or why there is none.
    Sealed(Result<SharedEvent, Error>),
}

/// Decrypt and parse these events: at most [`crate::limits::DECODE_EVENTS`] and [`crate::limits::DECODE_BYTES`].
#[derive(Debug, Clone)]
pub struct DecodeJob {
    /// The job.
    pub id: JobId,
    /// The viewer's own read-state events, newest of their coordinate.
    pub events: Vec<SharedEvent>,
}

impl DecodeJob {
    /// Finishes the job with the signer's plaintexts, in the job's order; a missing one counts as refused.
    pub fn finish(&self, plaintexts: impl IntoIterator<Item = Result<Vec<u8>, Unreadable>>) -> CryptoResult {
        let refused = std::iter::repeat(Err(Unreadable::Signer));
        let all = plaintexts.into_iter().chain(refused).take(self.events.len());
        CryptoResult::Decoded(all.map(|plaintext| blob::parse(&plaintext?)).collect())
    }
}

/// Encrypt this plaintext to self and sign the event around it.
#[derive(Clone)]
pub struct SealJob {
    /// The job.
    pub id: JobId,
    /// The coordinate.
    pub slot: SlotId,
    /// Time to sign, seconds.
    pub created_at: u64,
    /// The blob.
    pub plaintext: String,
    /// The nonce, never used twice.
    pub nonce: [u8; 32],
}

impl std::fmt::Debug for SealJob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SealJob({} B)", self.plaintext.len())
    }
}

impl SealJob {
    /// Whether a signer may do this (13.11), by the signer's own rule, and whether it is in fact a blob. Fails with [`Error::Clock`],
    /// [`Error::Capacity`] or [`Error::InvalidArgument`].
    pub fn check(&self, server_now: u64) -> Result<(), Error> {
        app_data::check_time(self.created_at, server_now)?;
        app_data::check_text(&self.plaintext)?;
        blob::parse(self.plaintext.as_bytes())
            .map(|_| ())
            .map_err(|_| Error::InvalidArgument { what: "read-state blob" })
    }
}

#[cfg(test)]
#[path = "crypto_tests.rs"]
mod tests;
