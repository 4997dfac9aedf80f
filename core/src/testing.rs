//! Helpers of this crate's own tests: people with deterministic keys, and events signed by them.
#![allow(clippy::unwrap_used, reason = "only compiled for tests")]

use std::sync::Arc;

use secp256k1::{Keypair, SECP256K1, SecretKey};
use sha2::{Digest as _, Sha256};

use crate::event::{Event, SharedEvent, Verifier, canonical_id};
use crate::ids::{ChannelId, EventId, PublicKey};

/// An unsigned event.
pub(crate) struct Template {
    pub kind: u16,
    pub created_at: u64,
    pub tags: Vec<Vec<String>>,
    pub content: String,
}

/// An unsigned event from its parts.
pub(crate) fn template(kind: u16, created_at: u64, tags: &[&[&str]], content: &str) -> Template {
    let tags = tags.iter().map(|t| t.iter().map(|s| (*s).to_string()).collect()).collect();
    Template { kind, created_at, tags, content: content.into() }
}

/// Somebody who can sign.
pub(crate) struct Author {
    keys: Keypair,
}

impl Author {
    /// The same name has the same key, the one scenarios use too.
    pub(crate) fn named(name: &str) -> Self {
        let secret = Sha256::digest(format!("waggle/person/{name}"));
        Self { keys: SecretKey::from_slice(&secret).unwrap().keypair(SECP256K1) }
    }

    /// Public key.
    pub(crate) fn key(&self) -> PublicKey {
        PublicKey(self.keys.x_only_public_key().0.serialize())
    }

    /// Secret key bytes.
    pub(crate) fn secret(&self) -> [u8; 32] {
        self.keys.secret_bytes()
    }

    /// Signs without auxiliary randomness, so that ids and signatures repeat.
    pub(crate) fn json(&self, t: Template) -> String {
        let id = canonical_id(&self.key(), t.created_at, t.kind, &t.tags, &t.content);
        let sig = SECP256K1.sign_schnorr_no_aux_rand(&id.0, &self.keys);
        serde_json::json!({
            "id": id.to_hex(), "pubkey": self.key().to_hex(), "created_at": t.created_at, "kind": t.kind,
            "tags": t.tags, "content": t.content, "sig": hex::encode(sig.as_ref()),
        })
        .to_string()
    }

    /// A verified event.
    pub(crate) fn sign(&self, t: Template) -> SharedEvent {
        Verifier::new().event(&self.json(t)).unwrap()
    }
}

/// The channel scenarios call `name`.
pub(crate) fn channel(name: &str) -> ChannelId {
    let mut bytes: [u8; 16] = Sha256::digest(format!("waggle/channel/{name}"))[..16].try_into().unwrap();
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    ChannelId(bytes)
}

/// A message by `by` in `channel`.
pub(crate) fn message(by: &Author, channel: ChannelId, at: u64, text: &str) -> Arc<Event> {
    by.sign(template(9, at, &[&["h", &channel.to_string()]], text))
}

/// A reply: `reply` marker to `parent`, and a `root` marker where the root is another event.
pub(crate) fn reply(by: &Author, channel: ChannelId, at: u64, root: EventId, parent: EventId) -> Arc<Event> {
    let (h, root_hex, parent_hex) = (channel.to_string(), root.to_hex(), parent.to_hex());
    let h_tag: &[&str] = &["h", &h];
    let reply_tag: &[&str] = &["e", &parent_hex, "", "reply"];
    if root == parent {
        by.sign(template(9, at, &[h_tag, reply_tag], "reply"))
    } else {
        by.sign(template(9, at, &[h_tag, &["e", &root_hex, "", "root"], reply_tag], "reply"))
    }
}
