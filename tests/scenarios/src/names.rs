//! From names to keys, ids and signed events.
//!
//! Everything here follows from the name alone, so two runs (and two machines) speak of the same people and channels:
//! a person's secret is SHA-256 of `waggle/person/<name>`, a channel's id the first 16 bytes of SHA-256 of
//! `waggle/channel/<name>` made a UUIDv4. Signatures and NIP-44 nonces carry no randomness of their own.

use nostr::nips::nip44;
use secp256k1::{Keypair, SECP256K1, SecretKey};
use sha2::{Digest as _, Sha256};
use waggle::event::canonical_id;
use waggle::ids::PublicKey;

/// SHA-256 of text.
pub fn sha256(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// The wire id of a channel; a name that is already a UUID is used as it is.
pub fn channel_id(name: &str) -> String {
    if name.len() == 36 && uuid::Uuid::try_parse(name).is_ok() {
        return name.to_owned();
    }
    let mut bytes = [0u8; 16];
    bytes.copy_from_slice(&sha256(&format!("waggle/channel/{name}"))[..16]);
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}

/// The slot of a read-state blob whose file names none: it follows from the installation's name.
pub fn slot_of(client: &str) -> String {
    hex::encode(&sha256(&format!("waggle/slot/{client}"))[..16])
}

/// An event ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// Id, 64 hex digits.
    pub id: String,
    /// Unix seconds.
    pub created_at: u64,
    /// Tags.
    pub tags: Vec<Vec<String>>,
    /// The event's JSON.
    pub json: String,
}

/// Damage done to an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forge {
    /// The id is not the hash of the fields.
    Id,
    /// The signature does not verify.
    Signature,
}

/// Somebody who can sign.
#[derive(Clone)]
pub struct Person {
    secret: [u8; 32],
    pair: Keypair,
}

impl Person {
    /// The person of that name.
    pub fn named(name: &str) -> anyhow::Result<Self> {
        let secret = sha256(&format!("waggle/person/{name}"));
        Ok(Self { secret, pair: SecretKey::from_slice(&secret)?.keypair(SECP256K1) })
    }

    /// The secret key's bytes.
    pub fn secret(&self) -> [u8; 32] {
        self.secret
    }

    /// The public key, 64 hex digits.
    pub fn public(&self) -> String {
        hex::encode(self.pair.x_only_public_key().0.serialize())
    }

    /// A signed event, damaged on request.
    pub fn sign(
        &self,
        created_at: u64,
        kind: u16,
        tags: Vec<Vec<String>>,
        content: &str,
        forge: Option<Forge>,
    ) -> Signed {
        let key = PublicKey(self.pair.x_only_public_key().0.serialize());
        let hash = canonical_id(&key, created_at, kind, &tags, content);
        let mut sig = hex::encode(SECP256K1.sign_schnorr_no_aux_rand(&hash.0, &self.pair).to_byte_array());
        let mut id = hash.to_hex();
        match forge {
            Some(Forge::Id) => flip(&mut id),
            Some(Forge::Signature) => flip(&mut sig),
            None => {}
        }
        let json = serde_json::json!({
            "id": id, "pubkey": key.to_hex(), "created_at": created_at, "kind": kind, "tags": tags, "content": content, "sig": sig,
        })
        .to_string();
        Signed { id, created_at, tags, json }
    }

    /// NIP-44 to oneself; the nonce follows from the plaintext and `salt`.
    pub fn seal(&self, plain: &str, salt: &str) -> anyhow::Result<String> {
        let (secret, public) = self.nip44_keys()?;
        let nonce = nip44::Nonce::V2(sha256(&format!("waggle/nonce/{salt}/{plain}")));
        Ok(nip44::encrypt_with_nonce(&secret, &public, plain, nonce)?)
    }

    /// Opens what was sealed to oneself.
    pub fn unseal(&self, sealed: &str) -> anyhow::Result<String> {
        let (secret, public) = self.nip44_keys()?;
        Ok(nip44::decrypt(&secret, &public, sealed)?)
    }

    fn nip44_keys(&self) -> anyhow::Result<(nostr::key::SecretKey, nostr::key::PublicKey)> {
        let secret = nostr::key::SecretKey::from_slice(&self.secret)?;
        let public = nostr::key::PublicKey::from_hex(&self.public())?;
        Ok((secret, public))
    }
}

impl std::fmt::Debug for Person {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Person(…)")
    }
}

/// Changes the first hex digit.
fn flip(hex: &mut String) {
    let other = if hex.starts_with('0') { "1" } else { "0" };
    hex.replace_range(..1, other);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ids that `counting/07-relay-signed-notice-deletes` spells out.
    #[test]
    fn names_give_the_keys_and_ids_of_the_specification() {
        let ada = Person::named("ada").unwrap();
        assert_eq!(
            Person::named("bo").unwrap().public(),
            "9af9e91c6fef3ce742b84159ea8c79f1d19b6b1b40d47bf5d9e0953ab63cbaa3"
        );
        let general = channel_id("general");
        assert_eq!(general, "9764fdb2-adda-4913-9aa7-7c965cdb4382");
        assert_eq!(channel_id(&general), general);
        let event = ada.sign(1_751_499_940, 9, vec![vec!["h".into(), general]], "first draft", None);
        assert_eq!(event.id, "27e2b65e0ab5ff1df781da6268e238bba7122c1339ec9658bea20d93eb68f921");
    }

    #[test]
    fn damage_is_noticed_by_the_verifier() {
        let verifier = waggle::event::Verifier::new();
        let ada = Person::named("ada").unwrap();
        let sign = |forge| verifier.event(&ada.sign(5, 9, vec![], "x", forge).json).map(|_| ()).map_err(|r| r.reason);
        assert_eq!(sign(None), Ok(()));
        assert_eq!(sign(Some(Forge::Id)), Err(waggle::event::RejectReason::Id));
        assert_eq!(sign(Some(Forge::Signature)), Err(waggle::event::RejectReason::Signature));
    }

    #[test]
    fn sealing_repeats_and_opens() {
        let me = Person::named("me").unwrap();
        let sealed = me.seal("hello", "b1").unwrap();
        assert_eq!(sealed, me.seal("hello", "b1").unwrap());
        assert_ne!(sealed, me.seal("hello", "b2").unwrap());
        assert_eq!(me.unseal(&sealed).unwrap(), "hello");
        assert!(Person::named("ada").unwrap().unseal(&sealed).is_err());
    }
}
