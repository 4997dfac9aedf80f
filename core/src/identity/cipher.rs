//! NIP-44 version 2 towards oneself: read-state blobs and preferences.
//!
//! The conversation key is derived once (a derivation costs more than a signature check, P9) and kept.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nostr::nips::nip44::v2::{ConversationKey, decrypt_to_bytes, encrypt_to_bytes_with_nonce};

use super::secret::Secret;
use crate::error::Error;
use crate::limits;

/// Encryption of the account to itself. Plain calculation: no clock, no randomness of its own, no waiting.
pub trait SelfCipher: Send + Sync + 'static {
    /// The NIP-44 payload of `plaintext`. `nonce` must be fresh randomness for every call. At most
    /// [`limits::BLOB_BYTES`]; fails with `capacity` above and with `invalid_argument` when empty.
    fn encrypt(&self, plaintext: &str, nonce: [u8; 32]) -> Result<String, Error>;

    /// The plaintext of a payload. Fails with `invalid_answer` for whatever is no payload of this account, is longer than
    /// [`limits::BLOB_READ_BYTES`] or no UTF-8.
    fn decrypt(&self, payload: &str) -> Result<String, Error>;
}

/// The cipher of a key held in this process.
pub struct LocalCipher(ConversationKey);

impl LocalCipher {
    /// Derives the conversation key. This is the only derivation there is.
    pub fn new(secret: &Secret) -> Result<Self, Error> {
        const REFUSED: Error = Error::InvalidArgument { what: "secret key" };
        let key = nostr::key::SecretKey::from_slice(secret.bytes()).map_err(|_| REFUSED)?;
        let own = nostr::key::PublicKey::from_slice(secret.public_key().as_bytes()).map_err(|_| REFUSED)?;
        ConversationKey::derive(&key, &own).map(Self).map_err(|_| REFUSED)
    }
}

impl SelfCipher for LocalCipher {
    fn encrypt(&self, plaintext: &str, nonce: [u8; 32]) -> Result<String, Error> {
        if plaintext.len() > limits::BLOB_BYTES {
            return Err(Error::Capacity { what: "encrypted text" });
        }
        let payload = encrypt_to_bytes_with_nonce(&self.0, plaintext.as_bytes(), nonce)
            .map_err(|_| Error::InvalidArgument { what: "encrypted text" })?;
        Ok(STANDARD.encode(payload))
    }

    fn decrypt(&self, payload: &str) -> Result<String, Error> {
        const WHY: Error = Error::InvalidAnswer { why: "undecryptable" };
        if payload.len() > limits::READ_STATE_EVENT_BYTES {
            return Err(WHY);
        }
        let bytes = STANDARD.decode(payload).map_err(|_| WHY)?;
        if bytes.first() != Some(&2) {
            return Err(WHY);
        }
        let plain = decrypt_to_bytes(&self.0, &bytes).map_err(|_| WHY)?;
        if plain.len() > limits::BLOB_READ_BYTES {
            return Err(WHY);
        }
        String::from_utf8(plain).map_err(|_| WHY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Author;

    fn cipher(name: &str) -> LocalCipher {
        LocalCipher::new(&Secret::from_bytes(Author::named(name).secret()).ok().unwrap()).unwrap()
    }

    #[test]
    fn what_is_encrypted_can_be_read_by_the_same_account_only() {
        let (ada, bo) = (cipher("ada"), cipher("bo"));
        let payload = ada.encrypt("{\"v\":1}", [7; 32]).unwrap();
        assert_eq!(ada.decrypt(&payload).unwrap(), "{\"v\":1}");
        assert!(bo.decrypt(&payload).is_err());
        for bad in ["", "x", "AAAA", &payload[4..], &payload.replacen('A', "B", 1)] {
            assert!(ada.decrypt(bad).is_err());
        }
    }

    /// `unread.md` 9.4 and pitfalls E4: we write at most 40 KiB, and read what the specification's limit allows.
    #[test]
    fn sizes_at_the_bounds() {
        let ada = cipher("ada");
        assert!(ada.encrypt(&"x".repeat(limits::BLOB_BYTES), [1; 32]).is_ok());
        assert_eq!(ada.encrypt(&"x".repeat(limits::BLOB_BYTES + 1), [1; 32]).unwrap_err().code(), "capacity");
        assert_eq!(ada.encrypt("", [1; 32]).unwrap_err().code(), "invalid_argument");
        let peer = encrypt_to_bytes_with_nonce(&ada.0, &[b'x'; 65_535], [2; 32]).unwrap();
        let payload = STANDARD.encode(peer);
        assert_eq!(payload.len(), 87_472);
        assert_eq!(ada.decrypt(&payload).unwrap().len(), 65_535);
        assert!(ada.decrypt(&"A".repeat(limits::READ_STATE_EVENT_BYTES + 1)).is_err());
    }
}
