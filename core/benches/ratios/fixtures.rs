//! Signed material for the bench, made at bench time with deterministic keys.

use secp256k1::{Keypair, SECP256K1, SecretKey, XOnlyPublicKey, schnorr};
use sha2::{Digest as _, Sha256};
use waggle::event::canonical_id;
use waggle::ids::{ChannelId, EventId, PublicKey};

pub(crate) const CHANNEL: ChannelId =
    ChannelId([0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x47, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 0x01]);
pub(crate) const T0: u64 = 1_751_500_000;

pub(crate) struct Signer(Keypair);

pub(crate) struct Signed {
    pub(crate) id: EventId,
    pub(crate) key: XOnlyPublicKey,
    pub(crate) sig: schnorr::Signature,
    pub(crate) json: String,
}

impl Signer {
    pub(crate) fn new(seed: impl std::fmt::Display) -> Self {
        let secret = Sha256::digest(format!("waggle/bench/{seed}"));
        Self(SecretKey::from_slice(&secret).unwrap().keypair(SECP256K1))
    }

    pub(crate) fn key(&self) -> PublicKey {
        PublicKey(self.0.x_only_public_key().0.serialize())
    }

    pub(crate) fn sign(&self, kind: u16, created_at: u64, tags: Vec<Vec<String>>, content: &str) -> Signed {
        let pubkey = self.key();
        let id = canonical_id(&pubkey, created_at, kind, &tags, content);
        let sig = SECP256K1.sign_schnorr_no_aux_rand(&id.0, &self.0);
        let json = serde_json::json!({
            "content": content, "created_at": created_at, "id": id.to_hex(), "kind": kind,
            "pubkey": pubkey.to_hex(), "sig": hex::encode(sig.as_ref()), "tags": tags,
        })
        .to_string();
        Signed { id, key: self.0.x_only_public_key().0, sig, json }
    }
}

fn tag(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|p| (*p).to_string()).collect()
}

/// How authors are spread over a page, so that no trick that merges by author flatters.
#[derive(Clone, Copy)]
pub(crate) enum Authors {
    One,
    Thirty,
    Distinct,
}

impl Authors {
    pub(crate) fn pick(self, i: usize) -> Signer {
        match self {
            Self::One => Signer::new("one"),
            Self::Thirty => Signer::new(i % 30),
            Self::Distinct => Signer::new(format!("distinct/{i}")),
        }
    }
}

/// A window answer of `rows` messages with reactions, edits and summaries, bounds last: about 245 events and 200 KB for 123 rows.
pub(crate) struct Page {
    pub(crate) events: Vec<Signed>,
    pub(crate) relay: PublicKey,
    pub(crate) rows: usize,
}

impl Page {
    pub(crate) fn new(rows: usize, authors: Authors, salt: &str) -> Self {
        let relay = Signer::new("relay");
        let h = CHANNEL.to_string();
        let text =
            "The queen was seen on frame seven, brood pattern solid, two supers added; see the notes. ".repeat(4);
        let mut events = Vec::new();
        for i in 0..rows {
            let body = format!("{salt} {i} {text}");
            let tags = vec![tag(&["h", &h]), tag(&["p", &Signer::new(i % 7).key().to_hex()])];
            events.push(authors.pick(i).sign(9, T0 - i as u64 * 10, tags, &body));
        }
        let ids: Vec<String> = events.iter().map(|e| e.id.to_hex()).collect();
        for (i, id) in ids.iter().enumerate().filter(|(i, _)| i % 5 < 4) {
            let kind = if i % 5 == 3 { 40003 } else { 7 };
            let tags = vec![tag(&["h", &h]), tag(&["e", id])];
            events.push(authors.pick(if kind == 7 { i + 3 } else { i }).sign(
                kind,
                T0 + 5,
                tags,
                if kind == 7 { "+" } else { &text },
            ));
        }
        for id in ids.iter().step_by(5) {
            let content = format!(
                r#"{{"descendant_count":4,"last_reply_at":{T0},"participants":["{}","{}"],"reply_count":3}}"#,
                Signer::new(1).key(),
                Signer::new(2).key()
            );
            events.push(relay.sign(39005, T0 + 9, vec![tag(&["e", id]), tag(&["d", id]), tag(&["h", &h])], &content));
        }
        let d = format!("{h}:head");
        events.push(relay.sign(
            39006,
            T0 + 9,
            vec![tag(&["d", &d]), tag(&["h", &h])],
            r#"{"has_more":false,"next_cursor":null}"#,
        ));
        Self { events, relay: relay.key(), rows }
    }

    pub(crate) fn json(&self) -> String {
        let items: Vec<&str> = self.events.iter().map(|e| e.json.as_str()).collect();
        format!("[{}]", items.join(","))
    }

    /// F1 of this page.
    pub(crate) fn verify_one_by_one(&self) {
        for e in &self.events {
            SECP256K1.verify_schnorr(&e.sig, &e.id.0, &e.key).unwrap();
        }
    }
}
