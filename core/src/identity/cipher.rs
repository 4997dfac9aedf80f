//! NIP-44 version 2 towards oneself: read-state blobs and preferences.
//!
//! The conversation key is derived once (a derivation costs more than a signature check, P9), kept, and wiped when dropped.

use base64_simd::STANDARD;
use nostr::nips::nip44::v2::{ConversationKey, decrypt_to_bytes, encrypt_to_bytes_with_nonce};
use zeroize::Zeroizing;

use super::secret::Secret;
use crate::error::{Error, MALFORMED_PAYLOAD};
use crate::limits;

/// Encryption of the account to itself. Plain calculation: no clock, no randomness of its own, no waiting.
pub trait SelfCipher: Send + Sync + 'static {
    /// The NIP-44 payload of `plaintext`. `nonce` must be fresh randomness for every call. At most
    /// [`limits::BLOB_BYTES`]; fails with `capacity` above and with `invalid_argument` when empty.
    fn encrypt(&self, plaintext: &str, nonce: [u8; 32]) -> Result<String, Error>;

    /// The plaintext of a payload. Fails with `invalid_answer`: [`MALFORMED_PAYLOAD`] for whatever is no payload of this version,
    /// anything else when it is not this account's, longer than [`limits::BLOB_READ_BYTES`] or no UTF-8.
    fn decrypt(&self, payload: &str) -> Result<String, Error>;
}

/// The cipher of a key held in this process. Kept as bytes, because nostr's `ConversationKey` is `Copy` and does not wipe itself.
pub struct LocalCipher(Zeroizing<[u8; 32]>);

impl LocalCipher {
    /// Derives the conversation key. This is the only derivation there is.
    pub fn new(secret: &Secret) -> Result<Self, Error> {
        const REFUSED: Error = Error::InvalidArgument { what: "secret key" };
        let key = nostr::key::SecretKey::from_slice(secret.bytes()).map_err(|_| REFUSED)?;
        let own = nostr::key::PublicKey::from_slice(secret.public_key().as_bytes()).map_err(|_| REFUSED)?;
        let key = ConversationKey::derive(&key, &own).map_err(|_| REFUSED)?;
        #[cfg(test)]
        tests::DERIVATIONS.set(tests::DERIVATIONS.get() + 1);
        Ok(Self(Zeroizing::new(key.as_bytes().try_into().map_err(|_| REFUSED)?)))
    }

    /// What a peer may write: up to 65,535 bytes, NIP-44's own limit, where we stop at [`limits::BLOB_BYTES`].
    #[cfg(test)]
    pub(crate) fn encrypt_as_peer(&self, plaintext: &[u8], nonce: [u8; 32]) -> Result<String, Error> {
        encrypt_to_bytes_with_nonce(&self.key(), plaintext, nonce)
            .map(|payload| STANDARD.encode_to_string(payload))
            .map_err(|_| Error::InvalidArgument { what: "encrypted text" })
    }

    fn key(&self) -> ConversationKey {
        ConversationKey::new(*self.0)
    }
}

impl SelfCipher for LocalCipher {
    fn encrypt(&self, plaintext: &str, nonce: [u8; 32]) -> Result<String, Error> {
        if plaintext.len() > limits::BLOB_BYTES {
            return Err(Error::Capacity { what: "encrypted text" });
        }
        let payload = encrypt_to_bytes_with_nonce(&self.key(), plaintext.as_bytes(), nonce)
            .map_err(|_| Error::InvalidArgument { what: "encrypted text" })?;
        Ok(STANDARD.encode_to_string(payload))
    }

    fn decrypt(&self, payload: &str) -> Result<String, Error> {
        const WHY: Error = Error::InvalidAnswer { why: "undecryptable" };
        const MALFORMED: Error = Error::InvalidAnswer { why: MALFORMED_PAYLOAD };
        if payload.len() > limits::READ_STATE_EVENT_BYTES {
            return Err(WHY);
        }
        let bytes = STANDARD.decode_to_vec(payload).map_err(|_| MALFORMED)?;
        if bytes.first() != Some(&2) {
            return Err(MALFORMED);
        }
        let plain = decrypt_to_bytes(&self.key(), &bytes).map_err(|e| match e.kind() {
            nostr::error::ErrorKind::Crypto => WHY,
            _ => MALFORMED,
        })?;
        if plain.len() > limits::BLOB_READ_BYTES {
            return Err(WHY);
        }
        String::from_utf8(plain).map_err(|_| WHY)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::identity::{LocalSigner, Signer as _};
    use crate::testing::Author;

    thread_local! {
        pub(super) static DERIVATIONS: Cell<u32> = const { Cell::new(0) };
    }

    /// P9: one derivation for everything a signer ever encrypts and decrypts.
    #[test]
    fn p9_the_key_is_derived_once() {
        let before = DERIVATIONS.get();
        let signer = LocalSigner::new(&Secret::from_bytes(Author::named("me").secret()).ok().unwrap()).unwrap();
        for n in 0..4_096u32 {
            let nonce = std::array::from_fn(|at| n.to_le_bytes()[at % 4]);
            let payload = signer.self_cipher().unwrap().encrypt("{}", nonce).unwrap();
            assert_eq!(signer.self_cipher().unwrap().decrypt(&payload).unwrap(), "{}");
        }
        assert_eq!(DERIVATIONS.get() - before, 1);
    }

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
        for (size, characters) in
            [(1, 132), (40_960, 54_704), (40_961, 65_628), (65_408, 87_472), (65_409, 87_472), (65_535, 87_472)]
        {
            let payload = ada.encrypt_as_peer(&vec![b'x'; size], [3; 32]).unwrap();
            assert_eq!(payload.len(), characters);
            assert_eq!(ada.decrypt(&payload).unwrap(), "x".repeat(size));
        }
        assert!(ada.decrypt(&"A".repeat(limits::READ_STATE_EVENT_BYTES + 1)).is_err());
    }

    /// The same key, text and nonce as the nostr crate's own two-party call gives.
    #[test]
    fn it_is_nip_44() {
        let keys = nostr::key::Keys::new(nostr::key::SecretKey::from_slice(&Author::named("me").secret()).unwrap());
        let payload = cipher("me").encrypt("hé", [5; 32]).unwrap();
        let text = nostr::nips::nip44::decrypt(keys.secret_key(), &keys.public_key(), &payload).unwrap();
        assert_eq!(text, "hé");
    }

    /// E13: malformed payloads are typed, never a panic.
    #[test]
    fn malformed_payloads_are_typed() {
        const MALFORMED: Error = Error::InvalidAnswer { why: MALFORMED_PAYLOAD };
        const FOREIGN: Error = Error::InvalidAnswer { why: "undecryptable" };
        let me = cipher("me");
        let good = me.encrypt("hello", [1; 32]).unwrap();
        for bad in ["", "this is not an encrypted payload", "#", &good[1..], &format!("{good}="), "Ag=="] {
            assert_eq!(me.decrypt(bad), Err(MALFORMED), "{bad}");
        }
        let mut bytes = STANDARD.decode_to_vec(&good).unwrap();
        bytes[0] = 1;
        assert_eq!(me.decrypt(&STANDARD.encode_to_string(&bytes)), Err(MALFORMED), "another version");
        bytes[0] = 2;
        for at in [1, 40, bytes.len() - 1] {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert_eq!(me.decrypt(&STANDARD.encode_to_string(&flipped)), Err(FOREIGN));
        }
        assert_eq!(cipher("ada").decrypt(&good), Err(FOREIGN));
    }
}
