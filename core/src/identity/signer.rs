//! Signing, as narrow as the reader needs it.
//!
//! What can be asked for is an [`Unsigned`]: the two sign-ins, a read-state blob, the mutes. The signer encrypts blobs itself and
//! never takes ciphertext (`unread.md` 13.9). Times further than [`limits::PUBLISH_LEAD`] from the relay's time, empty or too
//! large blobs are refused (13.11).

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt as _, ready};
use secp256k1::{Keypair, SECP256K1};

use super::cipher::{LocalCipher, SelfCipher};
use super::secret::Secret;
use crate::error::Error;
use crate::event::{app_data, canonical_id, kinds};
use crate::ids::{EventId, PublicKey, SlotId};
use crate::limits;

/// Everything a signer can be asked to sign.
#[derive(Clone, PartialEq, Eq)]
pub enum Unsigned {
    /// Socket authentication, kind 22242 (NIP-42).
    SocketAuth {
        /// Origin of the socket, without a path.
        relay: String,
        /// The relay's challenge.
        challenge: String,
        /// Seconds, relay time.
        created_at: u64,
    },
    /// HTTP authentication, kind 27235 (NIP-98).
    HttpAuth {
        /// The exact URL.
        url: String,
        /// The HTTP method.
        method: &'static str,
        /// SHA-256 of the body.
        payload: Option<[u8; 32]>,
        /// Makes two requests of one second different (R25).
        nonce: [u8; 16],
        /// Seconds, relay time.
        created_at: u64,
    },
    /// A read-state blob, kind 30078 at `read-state:<slot>` (NIP-RS).
    ReadState {
        /// The slot.
        slot: SlotId,
        /// The blob in clear.
        plaintext: String,
        /// Fresh randomness for the encryption.
        nonce: [u8; 32],
        /// Seconds, relay time.
        created_at: u64,
    },
    /// The channel-mutes preference, kind 30078 at `channel-mutes`.
    Mutes {
        /// The preference in clear.
        plaintext: String,
        /// Fresh randomness for the encryption.
        nonce: [u8; 32],
        /// Seconds, relay time.
        created_at: u64,
    },
}

impl Unsigned {
    /// The time the event will carry, seconds.
    pub fn created_at(&self) -> u64 {
        match self {
            Self::SocketAuth { created_at, .. }
            | Self::HttpAuth { created_at, .. }
            | Self::ReadState { created_at, .. }
            | Self::Mutes { created_at, .. } => *created_at,
        }
    }

    /// The kind the event will have.
    pub fn kind(&self) -> u16 {
        match self {
            Self::SocketAuth { .. } => kinds::AUTH,
            Self::HttpAuth { .. } => kinds::HTTP_AUTH,
            Self::ReadState { .. } | Self::Mutes { .. } => kinds::APP_DATA,
        }
    }

    /// Whether it publishes something, other than proving who asks.
    pub fn publishes(&self) -> bool {
        self.kind() == kinds::APP_DATA
    }

    /// The tags the event will have.
    pub fn tags(&self) -> Vec<Vec<String>> {
        let tag = |name: &str, value: &str| vec![name.to_owned(), value.to_owned()];
        match self {
            Self::SocketAuth { relay, challenge, .. } => vec![tag("relay", relay), tag("challenge", challenge)],
            Self::HttpAuth { url, method, payload, nonce, .. } => {
                let mut tags = vec![tag("u", url), tag("method", method)];
                tags.extend(payload.map(|hash| tag("payload", &hex::encode(hash))));
                tags.push(tag("nonce", &hex::encode(nonce)));
                tags
            }
            Self::ReadState { slot, .. } => {
                app_data::tags(&app_data::read_state_coordinate(*slot), app_data::READ_STATE)
            }
            Self::Mutes { .. } => app_data::tags(app_data::MUTES, app_data::MUTES),
        }
    }

    /// Checks time and sizes against the relay's time (`unread.md` 13.11). A foreign signer's adapter calls it too. Fails with `clock`,
    /// `invalid_argument` or `capacity`.
    pub fn check(&self, server_time: u64) -> Result<(), Error> {
        app_data::check_time(self.created_at(), server_time)?;
        match self {
            Self::ReadState { plaintext, .. } | Self::Mutes { plaintext, .. } => app_data::check_text(plaintext),
            Self::SocketAuth { relay, challenge, .. } => bounded(&[relay, challenge]),
            Self::HttpAuth { url, .. } => bounded(&[url]),
        }
    }
}

fn bounded(texts: &[&String]) -> Result<(), Error> {
    let fits = texts.iter().all(|t| !t.is_empty() && t.len() <= limits::RELAY_TEXT_BYTES);
    if fits { Ok(()) } else { Err(Error::InvalidArgument { what: "signed text" }) }
}

impl std::fmt::Debug for Unsigned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Unsigned(kind {})", self.kind())
    }
}

/// A signed event.
#[derive(Clone, PartialEq, Eq)]
pub struct SignedJson {
    /// Its id.
    pub id: EventId,
    /// Its compact JSON, at most [`limits::PENDING_BYTES`].
    pub json: String,
}

impl std::fmt::Debug for SignedJson {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SignedJson({} B)", self.json.len())
    }
}

/// Port: whoever holds the key. What comes back is checked by the caller before it is saved (`unread.md` 13.9).
pub trait Signer: Send + Sync + 'static {
    /// The account.
    fn public_key(&self) -> PublicKey;

    /// Whether it signs publications, too. If not, this device shows what others read and publishes nothing (`unread.md` 9.6).
    fn can_publish(&self) -> bool;

    /// Signs. `server_time` is the session's idea of the relay's time, seconds (R25). Fails with `read_only`,
    /// `clock`, `invalid_argument` or `capacity`; nothing was signed then.
    fn sign(&self, event: Unsigned, server_time: u64) -> BoxFuture<'static, Result<SignedJson, Error>>;

    /// Encryption to oneself; `None` where the signer cannot do it, and read state is unsupported then (`unread.md` 9.6).
    fn self_cipher(&self) -> Option<Arc<dyn SelfCipher>>;
}

/// Signs with a key held in this process.
pub struct LocalSigner {
    pair: Keypair,
    key: PublicKey,
    cipher: Arc<LocalCipher>,
}

impl LocalSigner {
    /// Parses the key once and derives the cipher's.
    pub fn new(secret: &Secret) -> Result<Self, Error> {
        let pair = secret.keypair().ok_or(Error::InvalidArgument { what: "secret key" })?;
        Ok(Self { pair, key: secret.public_key(), cipher: Arc::new(LocalCipher::new(secret)?) })
    }

    /// Signs at once.
    pub fn sign_now(&self, event: &Unsigned, server_time: u64) -> Result<SignedJson, Error> {
        event.check(server_time)?;
        let content = match event {
            Unsigned::ReadState { plaintext, nonce, .. } | Unsigned::Mutes { plaintext, nonce, .. } => {
                self.cipher.encrypt(plaintext, *nonce)?
            }
            Unsigned::SocketAuth { .. } | Unsigned::HttpAuth { .. } => String::new(),
        };
        let (kind, created_at, tags) = (event.kind(), event.created_at(), event.tags());
        let id = canonical_id(&self.key, created_at, kind, &tags, &content);
        // Without auxiliary randomness: the nonce then follows from key and message alone, which is safe and repeats in tests.
        let sig = SECP256K1.sign_schnorr_no_aux_rand(&id.0, &self.pair);
        let json = serde_json::json!({
            "id": id.to_hex(), "pubkey": self.key.to_hex(), "created_at": created_at, "kind": kind,
            "tags": tags, "content": content, "sig": hex::encode(sig.as_ref()),
        })
        .to_string();
        if json.len() > limits::PENDING_BYTES {
            return Err(Error::Capacity { what: "signed event" });
        }
        Ok(SignedJson { id, json })
    }
}

impl Drop for LocalSigner {
    fn drop(&mut self) {
        self.pair.non_secure_erase();
    }
}

impl Signer for LocalSigner {
    fn public_key(&self) -> PublicKey {
        self.key
    }

    fn can_publish(&self) -> bool {
        true
    }

    fn sign(&self, event: Unsigned, server_time: u64) -> BoxFuture<'static, Result<SignedJson, Error>> {
        ready(self.sign_now(&event, server_time)).boxed()
    }

    fn self_cipher(&self) -> Option<Arc<dyn SelfCipher>> {
        Some(self.cipher.clone())
    }
}

/// A signer that proves who asks but publishes nothing.
pub struct ReadOnlySigner(pub Arc<dyn Signer>);

impl Signer for ReadOnlySigner {
    fn public_key(&self) -> PublicKey {
        self.0.public_key()
    }

    fn can_publish(&self) -> bool {
        false
    }

    fn sign(&self, event: Unsigned, server_time: u64) -> BoxFuture<'static, Result<SignedJson, Error>> {
        if event.publishes() { ready(Err(Error::ReadOnly)).boxed() } else { self.0.sign(event, server_time) }
    }

    fn self_cipher(&self) -> Option<Arc<dyn SelfCipher>> {
        self.0.self_cipher()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Verifier;
    use crate::testing::Author;

    const NOW: u64 = 1_751_500_000;

    fn signer() -> LocalSigner {
        LocalSigner::new(&Secret::from_bytes(Author::named("me").secret()).ok().unwrap()).unwrap()
    }

    fn blob(plaintext: &str, created_at: u64) -> Unsigned {
        Unsigned::ReadState { slot: SlotId([3; 16]), plaintext: plaintext.into(), nonce: [9; 32], created_at }
    }

    /// NIP-42, NIP-98 and R25: the tags of both sign-ins.
    #[test]
    fn sign_ins_verify_and_carry_their_tags() {
        let signer = signer();
        let socket = Unsigned::SocketAuth { relay: "wss://r.example".into(), challenge: "c0".into(), created_at: NOW };
        let http = |nonce| Unsigned::HttpAuth {
            url: "https://r.example/query".into(),
            method: "POST",
            payload: Some([0xab; 32]),
            nonce: [nonce; 16],
            created_at: NOW,
        };
        let verifier = Verifier::new();
        let event = verifier.event(&signer.sign_now(&socket, NOW).unwrap().json).unwrap();
        assert_eq!((event.kind, event.pubkey, event.created_at), (22242, Author::named("me").key(), NOW));
        assert_eq!((event.single("relay"), event.single("challenge")), (Some("wss://r.example"), Some("c0")));
        let first = signer.sign_now(&http(1), NOW).unwrap();
        let event = verifier.event(&first.json).unwrap();
        assert_eq!((event.kind, event.id, event.content.as_str()), (27235, first.id, ""));
        assert_eq!((event.single("u"), event.single("method")), (Some("https://r.example/query"), Some("POST")));
        assert_eq!(event.single("payload"), Some("ab".repeat(32).as_str()));
        assert_ne!(
            signer.sign_now(&http(2), NOW).unwrap().id,
            first.id,
            "R25: a nonce tells twins of one second apart"
        );
    }

    #[test]
    fn blobs_are_encrypted_by_the_signer() {
        let signer = signer();
        let json = signer.sign_now(&blob("{\"v\":1}", NOW), NOW).unwrap().json;
        let event = Verifier::new().event(&json).unwrap();
        assert_eq!(event.kind, 30078);
        assert_eq!(event.single("d"), Some("read-state:03030303030303030303030303030303"));
        assert_eq!(event.single("t"), Some("read-state"));
        assert_eq!(signer.self_cipher().unwrap().decrypt(&event.content).unwrap(), "{\"v\":1}");
        let mutes = Unsigned::Mutes { plaintext: "{}".into(), nonce: [1; 32], created_at: NOW };
        let event = Verifier::new().event(&signer.sign_now(&mutes, NOW).unwrap().json).unwrap();
        assert_eq!((event.kind, event.single("d")), (30078, Some("channel-mutes")));
    }

    /// `unread.md` 13.11: 61 s off the host clock, 40,961 bytes.
    #[test]
    fn a_request_out_of_bounds_is_refused() {
        let signer = signer();
        let code = |event: &Unsigned| signer.sign_now(event, NOW).map_err(|e| e.code());
        assert!(code(&blob("x", NOW - 60)).is_ok() && code(&blob("x", NOW + 60)).is_ok());
        assert_eq!(code(&blob("x", NOW - 61)), Err("clock"));
        assert_eq!(code(&blob("x", NOW + 61)), Err("clock"));
        assert!(code(&blob(&"x".repeat(40_960), NOW)).is_ok());
        assert_eq!(code(&blob(&"x".repeat(40_961), NOW)), Err("capacity"));
        assert_eq!(code(&blob("", NOW)), Err("invalid_argument"));
        let long = Unsigned::SocketAuth { relay: "wss://r".into(), challenge: "c".repeat(513), created_at: NOW };
        assert_eq!(code(&long), Err("invalid_argument"));
    }

    /// `unread.md` 9.6: a device without a publishing signer signs in and decrypts, and publishes nothing.
    #[test]
    fn read_only_signs_in_and_publishes_nothing() {
        let signer = ReadOnlySigner(Arc::new(signer()));
        let auth = Unsigned::SocketAuth { relay: "wss://r".into(), challenge: "c".into(), created_at: NOW };
        assert!(signer.sign(auth, NOW).now_or_never().unwrap().is_ok());
        assert_eq!(signer.sign(blob("x", NOW), NOW).now_or_never().unwrap(), Err(Error::ReadOnly));
        assert!(!signer.can_publish() && signer.self_cipher().is_some());
    }

    /// `unread.md` 13 rule 9: whatever is asked for, what comes out proves who asks, or is the account's own read state or mutes, sealed. A
    /// message, a deletion, a profile, a reaction or a foreign coordinate cannot be asked for.
    #[test]
    fn nothing_else_can_be_signed() {
        let texts = ["x", "read-state:0", "\"],[\"h\",\"general", "9", "\u{0}\n\"'"];
        let mut asked = Vec::new();
        for text in texts {
            let (text, nonce) = (text.to_owned(), [1; 32]);
            asked.push(Unsigned::SocketAuth { relay: text.clone(), challenge: text.clone(), created_at: NOW });
            asked.push(Unsigned::HttpAuth {
                url: text.clone(),
                method: "POST",
                payload: None,
                nonce: [1; 16],
                created_at: NOW,
            });
            asked.push(Unsigned::ReadState { slot: SlotId([9; 16]), plaintext: text.clone(), nonce, created_at: NOW });
            asked.push(Unsigned::Mutes { plaintext: text, nonce, created_at: NOW });
        }
        let (signer, verifier) = (signer(), Verifier::new());
        for event in &asked {
            let signed = verifier.event(&signer.sign_now(event, NOW).unwrap().json).unwrap();
            let names: Vec<&str> = signed.tags.iter().map(|t| t[0].as_str()).collect();
            let d = signed.single("d").unwrap_or_default();
            match signed.kind {
                22242 => assert_eq!((names.as_slice(), signed.content.as_str()), (&["relay", "challenge"][..], "")),
                27235 => assert_eq!((names.as_slice(), signed.content.as_str()), (&["u", "method", "nonce"][..], "")),
                30078 => {
                    assert_eq!(names, ["d", "t"]);
                    assert!(d == "channel-mutes" || d == "read-state:09090909090909090909090909090909");
                    signer.self_cipher().unwrap().decrypt(&signed.content).unwrap();
                }
                kind => panic!("signed an event of kind {kind}"),
            }
            assert!(signed.tags.iter().all(|tag| tag.len() == 2), "a text stays one text");
        }
    }

    #[test]
    fn debug_shows_shapes_only() {
        let text = format!("{:?}", blob("secret words", NOW));
        assert_eq!(text, "Unsigned(kind 30078)");
    }
}
