//! Signed events: reading, checking, signing.
//!
//! Invariant: [`Event::json`] is the text exactly as it was received (or first written here), and that text is what every
//! answer and every push carries. A damaged event survives storage byte for byte because nothing is written again.

use std::{fmt, sync::Arc};

use secp256k1::{Keypair, SECP256K1, SecretKey, XOnlyPublicKey, schnorr::Signature};
use serde::{Deserialize, Deserializer, de::Error as _};
use sha2::{Digest, Sha256};

/// SHA-256.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Whether `text` is `len` hexadecimal digits.
pub(crate) fn is_hex(text: &str, len: usize) -> bool {
    text.len() == len && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// A JSON string literal.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// An event with the text it came in.
#[derive(Clone, PartialEq, Eq)]
pub struct Event {
    /// Id, 64 lower-case hex digits.
    pub id: String,
    /// Author.
    pub pubkey: String,
    /// Unix seconds.
    pub created_at: u64,
    /// Kind.
    pub kind: u32,
    /// Tags, in order.
    pub tags: Vec<Vec<String>>,
    /// Content.
    pub content: String,
    /// Signature.
    pub sig: String,
    /// The text it came in, never rewritten.
    pub json: Arc<str>,
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.json)
    }
}

fn hex_field<'de, D: Deserializer<'de>>(d: D, len: usize, what: &str) -> Result<String, D::Error> {
    let text = String::deserialize(d)?;
    if is_hex(&text, len) { Ok(text.to_ascii_lowercase()) } else { Err(D::Error::custom(format!("Invalid {what}"))) }
}

fn id_field<'de, D: Deserializer<'de>>(d: D) -> Result<String, D::Error> {
    hex_field(d, 64, "event ID")
}

fn key_field<'de, D: Deserializer<'de>>(d: D) -> Result<String, D::Error> {
    hex_field(d, 64, "public key")
}

fn sig_field<'de, D: Deserializer<'de>>(d: D) -> Result<String, D::Error> {
    hex_field(d, 128, "signature")
}

#[derive(Deserialize)]
struct Wire {
    #[serde(deserialize_with = "id_field")]
    id: String,
    #[serde(deserialize_with = "key_field")]
    pubkey: String,
    created_at: u64,
    kind: u16,
    tags: Vec<Vec<String>>,
    content: String,
    #[serde(deserialize_with = "sig_field")]
    sig: String,
}

impl Event {
    /// Reads an event; checks its shape only.
    pub fn parse(json: &str) -> Result<Self, serde_json::Error> {
        let wire: Wire = serde_json::from_str(json)?;
        Ok(Self {
            id: wire.id,
            pubkey: wire.pubkey,
            created_at: wire.created_at,
            kind: wire.kind.into(),
            tags: wire.tags,
            content: wire.content,
            sig: wire.sig,
            json: json.trim().into(),
        })
    }

    /// The id its contents ask for.
    pub fn computed_id(&self) -> String {
        hex::encode(hash_of(&self.pubkey, self.created_at, self.kind, &self.tags, &self.content))
    }

    /// Whether the signature is its author's over its id.
    pub fn signature_is_valid(&self) -> bool {
        let check = || -> Option<bool> {
            let key = XOnlyPublicKey::from_slice(&hex::decode(&self.pubkey).ok()?).ok()?;
            let sig = Signature::from_slice(&hex::decode(&self.sig).ok()?).ok()?;
            let id = hex::decode(&self.id).ok()?;
            Some(SECP256K1.verify_schnorr(&sig, &id, &key).is_ok())
        };
        check().unwrap_or(false)
    }

    /// The first value of the first tag called `name`.
    pub fn tag(&self, name: &str) -> Option<&str> {
        self.tags.iter().find(|t| t.first().is_some_and(|n| n == name)).and_then(|t| t.get(1)).map(String::as_str)
    }

    /// The first values of all tags called `name`.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.tags
            .iter()
            .filter(move |t| t.first().is_some_and(|n| n == name))
            .filter_map(|t| t.get(1))
            .map(String::as_str)
    }

    /// The last valid id in an `e` tag with this marker, lower-case.
    pub(crate) fn marked(&self, marker: &str) -> Option<String> {
        let mut marked =
            self.tags.iter().filter(|t| t.len() >= 4 && t[0] == "e" && t[3] == marker && is_hex(&t[1], 64));
        marked.next_back().map(|t| t[1].to_ascii_lowercase())
    }

    /// Whether it carries the exact broadcast tag.
    pub(crate) fn is_broadcast(&self) -> bool {
        self.tags.iter().any(|t| t.len() == 2 && t[0] == "broadcast" && t[1] == "1")
    }
}

fn hash_of(pubkey: &str, created_at: u64, kind: u32, tags: &[Vec<String>], content: &str) -> [u8; 32] {
    sha256(&serde_json::to_vec(&(0, pubkey, created_at, kind, tags, content)).unwrap_or_default())
}

/// A key pair that signs events without further randomness, so equal inputs give equal events.
#[derive(Clone)]
pub struct Keys {
    pair: Keypair,
    public: String,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys({})", self.public)
    }
}

impl Keys {
    /// The keys of a secret.
    pub fn new(secret: [u8; 32]) -> anyhow::Result<Self> {
        let secret = SecretKey::from_slice(&secret)?;
        let pair = Keypair::from_secret_key(SECP256K1, &secret);
        Ok(Self { public: hex::encode(pair.x_only_public_key().0.serialize()), pair })
    }

    /// The public key, 64 lower-case hex digits.
    pub fn public(&self) -> &str {
        &self.public
    }

    /// The secret key's bytes.
    pub fn secret(&self) -> [u8; 32] {
        self.pair.secret_bytes()
    }

    /// Signs an event.
    pub fn sign(&self, created_at: u64, kind: u32, tags: Vec<Vec<String>>, content: impl Into<String>) -> Event {
        let content = content.into();
        let hash = hash_of(&self.public, created_at, kind, &tags, &content);
        let sig = hex::encode(SECP256K1.sign_schnorr_no_aux_rand(&hash, &self.pair).to_byte_array());
        let id = hex::encode(hash);
        let json = format!(
            r#"{{"id":"{id}","pubkey":"{}","created_at":{created_at},"kind":{kind},"tags":{},"content":{},"sig":"{sig}"}}"#,
            self.public,
            serde_json::json!(tags),
            quoted(&content),
        );
        Event { id, pubkey: self.public.clone(), created_at, kind, tags, content, sig, json: json.into() }
    }
}

/// Tags from string slices.
pub fn tags(list: &[&[&str]]) -> Vec<Vec<String>> {
    list.iter().map(|t| t.iter().map(|s| (*s).to_owned()).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signed_event_reads_back_and_verifies_and_a_damaged_one_does_not() {
        let keys = Keys::new([7; 32]).expect("key");
        let event = keys.sign(5, 9, tags(&[&["h", "x"]]), "line\n\"é\u{7f}\u{1}");
        let mut back = Event::parse(&event.json).expect("shape");
        assert_eq!(back, event);
        assert_eq!(back.computed_id(), back.id);
        assert!(back.signature_is_valid());
        back.sig.replace_range(0..2, "00");
        assert!(!back.signature_is_valid());
    }

    #[test]
    fn a_bad_id_is_refused_with_its_position() {
        let err = Event::parse(r#"{"id":"x"}"#).expect_err("bad id");
        assert_eq!(err.to_string(), "Invalid event ID at line 1 column 10");
    }
}
