//! Sign-in templates: NIP-42 for the socket, NIP-98 for each HTTP request.
//!
//! Every NIP-98 event is single-use and good for 60 s, so one is made per attempt, with a random nonce and the relay's own
//! time (R25; `protocol.md` 2.2).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::address::RelayAddress;
use crate::entropy::Entropy;
use crate::identity::{SignedJson, Unsigned};
use crate::relay::transport::Method;

/// What has to be signed for one attempt of an HTTP request. `server_time` in seconds.
pub fn http_auth(
    address: &RelayAddress,
    method: Method,
    path: &str,
    body: &[u8],
    entropy: &mut Entropy,
    server_time: u64,
) -> Unsigned {
    Unsigned::HttpAuth {
        url: address.signed_url(path),
        method: method.name(),
        payload: Some(Sha256::digest(body).into()),
        nonce: entropy.bytes(),
        created_at: server_time,
    }
}

/// What has to be signed in answer to a socket's challenge. `server_time` in seconds.
pub fn socket_auth(address: &RelayAddress, challenge: &str, server_time: u64) -> Unsigned {
    Unsigned::SocketAuth { relay: address.signed_origin(), challenge: challenge.to_owned(), created_at: server_time }
}

/// The value of the `Authorization` header: standard base64 with padding (`relay-measured.md` 3).
pub fn authorization(signed: &SignedJson) -> String {
    format!("Nostr {}", STANDARD.encode(&signed.json))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_attempt_has_its_own_nonce() {
        let address = RelayAddress::parse("wss://r.example").unwrap();
        let mut entropy = Entropy::from_seed(1);
        let mut make = || http_auth(&address, Method::Post, "/query", b"[]", &mut entropy, 7);
        let (first, second) = (make(), make());
        assert_ne!(first, second);
        let tags = first.tags();
        assert_eq!(tags[0], ["u", "https://r.example/query"]);
        assert_eq!(tags[1], ["method", "POST"]);
        assert_eq!(tags[2], ["payload", &hex::encode(Sha256::digest(b"[]"))]);
        assert_eq!((tags[3][0].as_str(), tags[3][1].len()), ("nonce", 32));
    }

    #[test]
    fn the_header_is_padded_base64() {
        let signed = SignedJson { id: crate::ids::EventId([0; 32]), json: "{}".into() };
        assert_eq!(authorization(&signed), "Nostr e30=");
    }
}
