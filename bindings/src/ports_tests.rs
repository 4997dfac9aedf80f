//! What an app's own signer may return, and what is refused of it (`unread.md` 13.9, 13.11).

use std::sync::Arc;

use futures_util::FutureExt as _;
use secp256k1::{Keypair, SECP256K1};
use waggle::error::Error;
use waggle::event::canonical_id;
use waggle::identity::{Signer as _, Unsigned};
use waggle::ids::{self, SlotId};
use waggle::limits;

use super::{ForeignSigner, Signer, SignerError, UnsignedEvent};
use crate::ids::PublicKey;

const NOW: u64 = 1_700_000_000;

/// What a signer makes of an event before it signs.
type Change = fn(&mut UnsignedEvent);

/// A key in the app's hands, and what goes wrong there.
struct Fake {
    account: Keypair,
    signs_with: Keypair,
    change: Change,
    damage: fn(String) -> Result<String, SignerError>,
}

fn pair(byte: u8) -> Keypair {
    Keypair::from_seckey_slice(SECP256K1, &[byte; 32]).unwrap()
}

fn key(pair: &Keypair) -> ids::PublicKey {
    ids::PublicKey(pair.x_only_public_key().0.serialize())
}

impl Fake {
    fn honest() -> Self {
        Self { account: pair(1), signs_with: pair(1), change: |_| (), damage: Ok }
    }

    fn signed(&self, event: &UnsignedEvent) -> String {
        let author = key(&self.signs_with);
        let id = canonical_id(&author, event.created_at, event.kind, &event.tags, &event.content);
        let sig = hex::encode(SECP256K1.sign_schnorr_no_aux_rand(&id.0, &self.signs_with).to_byte_array());
        serde_json::json!({
            "id": id.to_hex(), "pubkey": author.to_hex(), "created_at": event.created_at, "kind": event.kind,
            "tags": event.tags, "content": event.content, "sig": sig,
        })
        .to_string()
    }
}

#[async_trait::async_trait]
impl Signer for Fake {
    fn public_key(&self) -> PublicKey {
        key(&self.account).into()
    }

    fn can_publish(&self) -> bool {
        true
    }

    fn can_decrypt(&self) -> bool {
        false
    }

    async fn sign(&self, mut event: UnsignedEvent) -> Result<String, SignerError> {
        if event.encrypt {
            event.content = "sealed".to_owned();
        }
        (self.change)(&mut event);
        (self.damage)(self.signed(&event))
    }

    fn decrypt(&self, _: String) -> Result<String, SignerError> {
        Err(SignerError::Undecryptable)
    }
}

fn sign_in() -> Unsigned {
    Unsigned::SocketAuth { relay: "wss://relay".to_owned(), challenge: "c".to_owned(), created_at: NOW }
}

fn blob() -> Unsigned {
    let slot = SlotId([7; 16]);
    Unsigned::ReadState { slot, plaintext: "{}".to_owned(), nonce: [0; 32], created_at: NOW }
}

/// Whether what came back was taken, or why not. The fake never waits.
fn asked(fake: Fake, event: Unsigned) -> Result<(), Error> {
    let signer = ForeignSigner::new(Arc::new(fake)).unwrap();
    signer.sign(event, NOW).now_or_never().unwrap().map(|_| ())
}

#[test]
fn an_honest_signer_is_taken_at_its_word() {
    assert_eq!(asked(Fake::honest(), sign_in()), Ok(()));
    assert_eq!(asked(Fake::honest(), blob()), Ok(()));
}

#[test]
fn another_event_than_was_asked_for_is_refused() {
    let changes: [(&str, Change); 4] = [
        ("kind", |e| e.kind = 9),
        ("time", |e| e.created_at += 1),
        ("tags", |e| e.tags.push(vec!["p".to_owned(), "someone".to_owned()])),
        ("order of tags", |e| e.tags.reverse()),
    ];
    for (what, change) in changes {
        for event in [sign_in(), blob()] {
            let fake = Fake { change, ..Fake::honest() };
            assert_eq!(asked(fake, event), Err(Error::InvalidAnswer { why: "signer" }), "{what}");
        }
    }
}

/// A sign-in says nothing; a signer that adds words to it would sign them as a message of the account.
#[test]
fn a_sign_in_with_content_is_refused() {
    let fake = Fake { change: |e| e.content = "hello".to_owned(), ..Fake::honest() };
    assert_eq!(asked(fake, sign_in()), Err(Error::InvalidAnswer { why: "signer" }));
}

#[test]
fn another_account_or_a_broken_answer_is_refused() {
    let other = Fake { signs_with: pair(2), ..Fake::honest() };
    assert_eq!(asked(other, sign_in()), Err(Error::InvalidAnswer { why: "signer" }));
    for damage in [
        (|json: String| Ok(json.replace(r#""sig":""#, r#""sig":"00"#))) as fn(String) -> Result<String, SignerError>,
        |json| Ok(json.replacen("wss", "ws", 1)),
        |_| Ok("{}".to_owned()),
        |_| Ok(String::new()),
    ] {
        let fake = Fake { damage, ..Fake::honest() };
        assert_eq!(asked(fake, sign_in()), Err(Error::InvalidAnswer { why: "signer" }));
    }
    let huge = Fake { damage: |json| Ok(json + &" ".repeat(limits::PENDING_BYTES)), ..Fake::honest() };
    assert_eq!(asked(huge, blob()), Err(Error::Capacity { what: "signed event" }));
}

#[test]
fn a_refusal_keeps_its_sort() {
    for (damage, error) in [
        (
            (|_| Err(SignerError::Rejected)) as fn(String) -> Result<String, SignerError>,
            Error::Cancelled { why: "signer" },
        ),
        (|_| Err(SignerError::Unavailable), Error::Unsupported { what: "signer" }),
        (|_| Err(SignerError::Failed), Error::InvalidAnswer { why: "signer" }),
    ] {
        assert_eq!(asked(Fake { damage, ..Fake::honest() }, sign_in()), Err(error));
    }
}

/// 13.11: what is out of bounds never reaches the signer.
#[test]
fn what_may_not_be_signed_is_not_asked() {
    fn never(_: String) -> Result<String, SignerError> {
        panic!("asked")
    }
    let late = Unsigned::SocketAuth {
        relay: "wss://relay".to_owned(),
        challenge: "c".to_owned(),
        created_at: NOW + 2 * limits::PUBLISH_LEAD,
    };
    let fake = Fake { damage: never, ..Fake::honest() };
    assert_eq!(asked(fake, late).unwrap_err().code(), "clock");
    let empty = Unsigned::SocketAuth { relay: String::new(), challenge: "c".to_owned(), created_at: NOW };
    assert_eq!(asked(Fake { damage: never, ..Fake::honest() }, empty).unwrap_err().code(), "invalid_argument");
}
