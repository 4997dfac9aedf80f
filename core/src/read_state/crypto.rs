//! Encryption to self, and the jobs the machine hands out for it.
//!
//! The machine never computes a cipher or a signature itself: decrypting a snapshot of 8 MiB must not stand in the way of live events,
//! and the key may be in another process. It emits a [`CryptoJob`]; the session runs it off the actor and gives the result back
//! under the job's id. With keys on this device a job is one call ([`DecodeJob::run`], [`SealJob::run`]); with an external signer
//! the session asks that signer for the plaintexts, or for ciphertext and signature, and finishes the job with them.
//!
//! Invariants: the conversation key is derived once, when the [`SelfCipher`] is made, and wiped when it is dropped; a blob that is
//! sealed was written by [`super::blob::write`] and is no longer than [`limits::BLOB_BYTES`]; only verified events come back.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nostr::nips::nip44::v2::{self, ConversationKey};
use zeroize::Zeroizing;

use super::blob::{self, Blob, Unreadable};
use crate::error::Error;
use crate::event::{SharedEvent, kinds};
use crate::ids::SlotId;
use crate::limits;

const VERSION: u8 = 2;

/// NIP-44 version 2 from an account to itself.
pub struct SelfCipher(Zeroizing<[u8; 32]>);

impl SelfCipher {
    /// Derives the conversation key of a secret key with its own public key. Costs more than a signature check: do it once a session.
    /// Fails with [`Error::InvalidArgument`] when the bytes are no secret key.
    pub fn derive(secret: &[u8; 32]) -> Result<Self, Error> {
        const WHAT: Error = Error::InvalidArgument { what: "secret key" };
        let keys = nostr::key::Keys::new(nostr::key::SecretKey::from_slice(secret).map_err(|_| WHAT)?);
        let key = ConversationKey::derive(keys.secret_key(), &keys.public_key()).map_err(|_| WHAT)?;
        let bytes: [u8; 32] = key.as_bytes().try_into().map_err(|_| WHAT)?;
        Ok(Self(Zeroizing::new(bytes)))
    }

    /// Encrypts under a nonce that must never be used twice. Fails with [`Error::Capacity`] for an empty text or one of more than
    /// 65,535 bytes, NIP-44's own limit.
    pub fn encrypt(&self, plaintext: &[u8], nonce: [u8; 32]) -> Result<String, Error> {
        const WHAT: Error = Error::Capacity { what: "encrypted text" };
        if plaintext.is_empty() || plaintext.len() > usize::from(u16::MAX) {
            return Err(WHAT);
        }
        let payload = v2::encrypt_to_bytes_with_nonce(&self.key(), plaintext, nonce).map_err(|_| WHAT)?;
        Ok(STANDARD.encode(payload))
    }

    /// Decrypts a payload.
    pub fn decrypt(&self, content: &str) -> Result<Vec<u8>, Unreadable> {
        let payload = STANDARD.decode(content).map_err(|_| Unreadable::Payload)?;
        if payload.first() != Some(&VERSION) {
            return Err(Unreadable::Payload);
        }
        v2::decrypt_to_bytes(&self.key(), &payload).map_err(|e| match e.kind() {
            nostr::error::ErrorKind::Crypto => Unreadable::Cipher,
            _ => Unreadable::Payload,
        })
    }

    fn key(&self) -> ConversationKey {
        ConversationKey::new(*self.0)
    }
}

impl std::fmt::Debug for SelfCipher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SelfCipher(…)")
    }
}

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

/// Decrypt and parse these events: at most [`limits::DECODE_EVENTS`] and [`limits::DECODE_BYTES`].
#[derive(Debug, Clone)]
pub struct DecodeJob {
    /// The job.
    pub id: JobId,
    /// The viewer's own read-state events, newest of their coordinate.
    pub events: Vec<SharedEvent>,
}

impl DecodeJob {
    /// Runs the job with a key of this device.
    pub fn run(&self, cipher: &SelfCipher) -> CryptoResult {
        CryptoResult::Decoded(
            self.events.iter().map(|e| cipher.decrypt(&e.content).and_then(|p| blob::parse(&p))).collect(),
        )
    }

    /// Finishes the job with plaintexts from an external signer, in the job's order; a missing one counts as refused.
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
    /// The nonce, for a key of this device.
    pub nonce: [u8; 32],
}

impl std::fmt::Debug for SealJob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SealJob({} B)", self.plaintext.len())
    }
}

/// An event to be signed.
#[derive(Clone)]
pub struct Unsigned {
    /// Kind.
    pub kind: u16,
    /// Seconds since 1970.
    pub created_at: u64,
    /// Tags.
    pub tags: Vec<Vec<String>>,
    /// Content, encrypted.
    pub content: String,
}

impl SealJob {
    /// Whether a signer may do this (13.11): within [`limits::PUBLISH_LEAD`] of `server_now`, within [`limits::BLOB_BYTES`],
    /// and in fact a blob. Fails with [`Error::Clock`], [`Error::Capacity`] or [`Error::InvalidArgument`].
    pub fn check(&self, server_now: u64) -> Result<(), Error> {
        if self.created_at.abs_diff(server_now) > limits::PUBLISH_LEAD || u32::try_from(self.created_at).is_err() {
            let ahead = i64::try_from(self.created_at).unwrap_or(i64::MAX);
            return Err(Error::Clock { skew: ahead.saturating_sub(i64::try_from(server_now).unwrap_or(i64::MAX)) });
        }
        if self.plaintext.len() > limits::BLOB_BYTES {
            return Err(Error::Capacity { what: "read-state blob" });
        }
        blob::parse(self.plaintext.as_bytes())
            .map(|_| ())
            .map_err(|_| Error::InvalidArgument { what: "read-state blob" })
    }

    /// The event to sign around this ciphertext.
    pub fn unsigned(&self, content: String) -> Unsigned {
        Unsigned { kind: kinds::APP_DATA, created_at: self.created_at, tags: blob::tags(self.slot), content }
    }

    /// Runs the job with a key of this device; `sign` signs and verifies.
    pub fn run(&self, cipher: &SelfCipher, sign: impl FnOnce(Unsigned) -> Result<SharedEvent, Error>) -> CryptoResult {
        let sealed = cipher.encrypt(self.plaintext.as_bytes(), self.nonce);
        CryptoResult::Sealed(sealed.and_then(|content| sign(self.unsigned(content))))
    }
}

#[cfg(test)]
#[path = "crypto_tests.rs"]
mod tests;
