//! The account's secret key.

use nostr::nips::nip19::{FromBech32 as _, ToBech32 as _};
use secp256k1::{Keypair, SECP256K1, SecretKey};
use zeroize::{Zeroize as _, Zeroizing};

use crate::entropy::Entropy;
use crate::error::Error;
use crate::ids::PublicKey;

const MALFORMED: Error = Error::InvalidArgument { what: "secret key" };

/// A valid secp256k1 secret key. Wiped when dropped; leaves only by [`Secret::to_nsec`], [`Secret::to_hex`] and
/// [`Secret::to_bytes`], which must be asked for.
#[derive(Clone)]
pub struct Secret([u8; 32]);

impl Secret {
    /// Takes 32 bytes; fails with `invalid_argument` when they are no key (zero, or not below the group order).
    pub fn from_bytes(bytes: [u8; 32]) -> Result<Self, Error> {
        let mut bytes = bytes;
        let secret = SecretKey::from_slice(&bytes).map(|mut key| {
            key.non_secure_erase();
            Self(bytes)
        });
        bytes.zeroize();
        secret.map_err(|_| MALFORMED)
    }

    /// Parses `nsec1…` (NIP-19) or 64 hex digits of either case; space around is ignored.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        let mut bytes = Zeroizing::new([0u8; 32]);
        if text.len() == 64 {
            hex::decode_to_slice(text, bytes.as_mut()).map_err(|_| MALFORMED)?;
        } else {
            let parsed = nostr::key::SecretKey::from_bech32(text).map_err(|_| MALFORMED)?;
            bytes.copy_from_slice(parsed.as_secret_bytes());
        }
        Self::from_bytes(*bytes)
    }

    /// A new key.
    pub fn generate(entropy: &mut Entropy) -> Self {
        loop {
            // All but about one of 2^128 draws are keys.
            if let Ok(secret) = Self::from_bytes(*Zeroizing::new(entropy.bytes::<32>())) {
                return secret;
            }
        }
    }

    /// The public half.
    pub fn public_key(&self) -> PublicKey {
        let Some(mut pair) = self.keypair() else { return PublicKey([0; 32]) };
        let key = PublicKey(pair.x_only_public_key().0.serialize());
        pair.non_secure_erase();
        key
    }

    /// The NIP-19 form, for a backup the person asked for.
    pub fn to_nsec(&self) -> Result<Zeroizing<String>, Error> {
        let key = nostr::key::SecretKey::from_slice(&self.0).map_err(|_| MALFORMED)?;
        key.to_bech32().map(Zeroizing::new).map_err(|_| MALFORMED)
    }

    /// 64 lower-case hex digits, the form stores keep.
    pub fn to_hex(&self) -> Zeroizing<String> {
        Zeroizing::new(hex::encode(self.0))
    }

    /// A copy of the 32 bytes, for a store that keeps bytes. It wipes itself.
    pub fn to_bytes(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.0)
    }

    pub(super) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Always there: the bytes were checked when the secret was made.
    pub(super) fn keypair(&self) -> Option<Keypair> {
        Keypair::from_seckey_slice(SECP256K1, &self.0).ok()
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "67dea2ed018072d675f5415ecfaed7d2597555e202d85b3d65ea4e58d2d92ffa";
    const NSEC: &str = "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5";

    #[test]
    fn both_written_forms_are_the_same_key() {
        let secret = Secret::parse(&format!(" {NSEC}\n")).ok().unwrap();
        assert_eq!(*secret.to_hex(), HEX);
        assert_eq!(*Secret::parse(&HEX.to_uppercase()).ok().unwrap().to_nsec().unwrap(), NSEC);
        assert_eq!(secret.public_key().to_hex(), "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e");
    }

    #[test]
    fn what_is_no_key_is_refused_without_a_word_about_it() {
        let order = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
        let npub = "npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg";
        for bad in ["", "nsec1", &"0".repeat(64), order, npub, &HEX[1..], &NSEC.replace("fe5", "fe6"), &"é".repeat(32)]
        {
            let error = Secret::parse(bad).err().unwrap();
            assert_eq!(error.to_string(), "invalid argument: secret key");
        }
    }

    #[test]
    fn bytes_that_are_no_key_are_refused() {
        let order = hex::decode("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141").unwrap();
        for bad in [[0; 32], [0xff; 32], order.try_into().unwrap()] {
            assert_eq!(Secret::from_bytes(bad).err(), Some(MALFORMED));
        }
        let mut last = [0xff; 32];
        last.copy_from_slice(&hex::decode("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364140").unwrap());
        assert!(Secret::from_bytes(last).is_ok(), "the greatest key");
    }

    /// What holds a key has no debug form at all, so none can reach a log.
    #[test]
    fn holders_of_keys_say_nothing() {
        use crate::identity::{LocalCipher, LocalSigner, ReadOnlySigner};
        use std::fmt::Debug;
        use std::marker::PhantomData;

        struct Probe<T: ?Sized>(PhantomData<T>);
        trait Silent {
            fn speaks(&self) -> bool {
                false
            }
        }
        impl<T: ?Sized> Silent for Probe<T> {}
        // Found first, where its bound holds.
        impl<T: Debug + ?Sized> Probe<T> {
            fn speaks(&self) -> bool {
                true
            }
        }
        assert!(Probe::<str>(PhantomData).speaks(), "the probe works");
        assert!(!Probe::<Secret>(PhantomData).speaks());
        assert!(!Probe::<LocalCipher>(PhantomData).speaks());
        assert!(!Probe::<LocalSigner>(PhantomData).speaks());
        assert!(!Probe::<ReadOnlySigner>(PhantomData).speaks());
    }

    #[test]
    fn generated_keys_follow_from_the_seed() {
        let key = |seed| Secret::generate(&mut Entropy::from_seed(seed)).public_key();
        assert_eq!(key(1), key(1));
        assert_ne!(key(1), key(2));
    }
}
