//! The jobs.

use super::*;
use crate::ids::SlotId;
use crate::testing::Author;

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
