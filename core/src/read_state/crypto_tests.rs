//! NIP-44 to self (pitfalls E4) and the jobs.

use super::*;
use crate::ids::SlotId;
use crate::testing::{Author, Template};

fn cipher() -> SelfCipher {
    SelfCipher::derive(&Author::named("me").secret()).unwrap()
}

/// E4: a peer's largest plaintext, 65,535 bytes in 87,472 characters, decrypts; so do the sizes around the padding steps.
#[test]
fn the_largest_peer_payload_decrypts() {
    let cipher = cipher();
    for (size, characters) in
        [(1, 132), (40_960, 54_704), (40_961, 65_628), (65_408, 87_472), (65_409, 87_472), (65_535, 87_472)]
    {
        let text = "x".repeat(size);
        let payload = cipher.encrypt(text.as_bytes(), [3; 32]).unwrap();
        assert_eq!(payload.len(), characters);
        assert_eq!(cipher.decrypt(&payload).unwrap(), text.as_bytes());
    }
    assert!(cipher.encrypt(b"", [3; 32]).is_err());
    assert!(cipher.encrypt(&[b'x'; 65_536], [3; 32]).is_err());
}

/// The same key, text and nonce as the nostr crate's own two-party call gives.
#[test]
fn it_is_nip_44() {
    let keys = nostr::key::Keys::new(nostr::key::SecretKey::from_slice(&Author::named("me").secret()).unwrap());
    let payload = cipher().encrypt("hé".as_bytes(), [5; 32]).unwrap();
    let text = nostr::nips::nip44::decrypt(keys.secret_key(), &keys.public_key(), &payload).unwrap();
    assert_eq!(text, "hé");
}

/// E13: malformed payloads are typed, never a panic.
#[test]
fn malformed_payloads_are_typed() {
    let cipher = cipher();
    let good = cipher.encrypt(b"hello", [1; 32]).unwrap();
    for bad in ["", "this is not an encrypted payload", "#", &good[1..], &format!("{good}="), "Ag=="] {
        assert_eq!(cipher.decrypt(bad), Err(Unreadable::Payload), "{bad}");
    }
    let mut bytes = STANDARD.decode(&good).unwrap();
    bytes[0] = 1;
    assert_eq!(cipher.decrypt(&STANDARD.encode(&bytes)), Err(Unreadable::Payload), "another version");
    bytes[0] = 2;
    for at in [1, 40, bytes.len() - 1] {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        assert_eq!(cipher.decrypt(&STANDARD.encode(&flipped)), Err(Unreadable::Cipher));
    }
    let ada = SelfCipher::derive(&Author::named("ada").secret()).unwrap();
    assert_eq!(ada.decrypt(&good), Err(Unreadable::Cipher));
}

#[test]
fn keys_are_checked_and_never_shown() {
    assert!(SelfCipher::derive(&[0; 32]).is_err());
    assert!(SelfCipher::derive(&[0xff; 32]).is_err());
    assert_eq!(format!("{:?}", cipher()), "SelfCipher(…)");
}

fn seal(created_at: u64, plaintext: String) -> SealJob {
    SealJob { id: JobId(1), slot: SlotId([4; 16]), created_at, plaintext, nonce: [8; 32] }
}

fn blob_of(size: usize) -> String {
    let text = r#"{"v":1,"client_id":"c","contexts":{}}"#;
    format!("{text}{}", " ".repeat(size - text.len()))
}

/// `unread.md` 13.11: 61 s off, 40,961 bytes, or no blob at all is refused. (A bad slot cannot be expressed.)
#[test]
fn row_13_11_what_a_signer_refuses() {
    let now = 1_751_500_000;
    for created_at in [now - 60, now, now + 60] {
        assert_eq!(seal(created_at, blob_of(40_960)).check(now), Ok(()));
    }
    assert_eq!(seal(now + 61, blob_of(99)).check(now), Err(Error::Clock { skew: 61 }));
    assert_eq!(seal(now - 61, blob_of(99)).check(now), Err(Error::Clock { skew: -61 }));
    assert!(matches!(seal(u64::MAX, blob_of(99)).check(u64::MAX), Err(Error::Clock { .. })));
    assert!(matches!(seal(now, blob_of(40_961)).check(now), Err(Error::Capacity { .. })));
    assert!(matches!(seal(now, "hello".into()).check(now), Err(Error::InvalidArgument { .. })));
}

/// A local key does both jobs in one call each.
#[test]
fn local_jobs() {
    let me = Author::named("me");
    let job = seal(1_751_500_000, r#"{"v":1,"client_id":"c","contexts":{"room":7}}"#.into());
    let sign = |u: Unsigned| {
        Ok(me.sign(Template { kind: u.kind, created_at: u.created_at, tags: u.tags, content: u.content }))
    };
    let CryptoResult::Sealed(Ok(event)) = job.run(&cipher(), sign) else { panic!() };
    assert_eq!(blob::own_coordinate(&event, &me.key()), Some(SlotId([4; 16])));
    let job =
        DecodeJob { id: JobId(2), events: vec![event.clone(), me.sign(crate::testing::template(30078, 1, &[], "x"))] };
    let CryptoResult::Decoded(results) = job.run(&cipher()) else { panic!() };
    assert_eq!(results[0].as_ref().unwrap().client_id, "c");
    assert_eq!(results[1], Err(Unreadable::Payload));
}

/// An external signer's plaintexts are finished in order; those it withheld count as refused.
#[test]
fn external_jobs() {
    let me = Author::named("me");
    let event = |n: u64| me.sign(crate::testing::template(30078, n, &[], ""));
    let job = DecodeJob { id: JobId(2), events: vec![event(1), event(2), event(3)] };
    let texts = [Ok(blob_of(60).into_bytes()), Err(Unreadable::Cipher)];
    let CryptoResult::Decoded(results) = job.finish(texts) else { panic!() };
    assert!(results[0].is_ok());
    assert_eq!(results[1..], [Err(Unreadable::Cipher), Err(Unreadable::Signer)]);
}
