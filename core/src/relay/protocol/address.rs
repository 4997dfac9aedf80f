//! Addresses of relays: one host is one community, and its normalised form is the storage key.
//!
//! Normalised as the relay does it (`protocol.md` 5.1): lower case, no trailing dot, ports 80 and 443 dropped, other ports
//! kept. `localhost` and `127.0.0.1` are different communities (`relay-measured.md` 2).

use std::net::{Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use crate::error::Error;
use crate::limits;

const MALFORMED: Error = Error::InvalidArgument { what: "relay address" };

/// Where a relay is.
#[derive(Clone, PartialEq, Eq)]
pub struct RelayAddress {
    host: String,
    authority: String,
    secure: bool,
    loopback: bool,
}

impl RelayAddress {
    /// Parses `wss://`, `https://`, `ws://`, `http://` addresses without path, query, fragment or user, and bare hosts, which are
    /// `wss` unless they are loopback.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        if text.is_empty() || text.len() > limits::HOST_BYTES + 16 {
            return Err(MALFORMED);
        }
        let (text, bare) =
            if text.contains("://") { (text.to_owned(), false) } else { (format!("wss://{text}"), true) };
        let url = Url::parse(&text).map_err(|_| MALFORMED)?;
        let secure = match url.scheme() {
            "wss" | "https" => true,
            "ws" | "http" => false,
            _ => return Err(MALFORMED),
        };
        let plain = matches!(url.path(), "" | "/") && url.query().is_none() && url.fragment().is_none();
        if !plain || !url.username().is_empty() || url.password().is_some() {
            return Err(MALFORMED);
        }
        let (name, loopback) = name_of(&url)?;
        let secure = secure && !(bare && loopback);
        // A bare loopback host was parsed as `wss`, whose default port the parser has already dropped.
        let port = url.port();
        let authority = port.map_or_else(|| name.clone(), |p| format!("{name}:{p}"));
        let host = match port {
            None | Some(80 | 443) => name,
            Some(_) => authority.clone(),
        };
        if host.len() > limits::HOST_BYTES {
            return Err(MALFORMED);
        }
        Ok(Self { host, authority, secure, loopback })
    }

    /// The normalised host: the community's storage key.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether the connection is protected by TLS.
    pub fn is_secure(&self) -> bool {
        self.secure
    }

    /// Whether the relay runs on this machine.
    pub fn is_loopback(&self) -> bool {
        self.loopback
    }

    /// Whether the transport itself vouches for the origin: TLS, or this machine (R2).
    pub fn is_trusted(&self) -> bool {
        self.secure || self.loopback
    }

    /// The socket's URL.
    pub fn socket_url(&self) -> String {
        format!("{}://{}/", if self.secure { "wss" } else { "ws" }, self.authority)
    }

    /// The URL of `path` (which starts with a slash) on the HTTP bridge.
    pub fn http_url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.http_scheme(), self.authority)
    }

    /// The URL that NIP-98 signs for `path`: the relay compares it with its normalised host.
    pub fn signed_url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.http_scheme(), self.host)
    }

    /// The origin that NIP-42 signs: no path.
    pub fn signed_origin(&self) -> String {
        format!("{}://{}", if self.secure { "wss" } else { "ws" }, self.host)
    }

    fn http_scheme(&self) -> &'static str {
        if self.secure { "https" } else { "http" }
    }
}

fn name_of(url: &Url) -> Result<(String, bool), Error> {
    // `wss` and `ws` are special schemes: the parser has lower-cased, decoded and checked the host.
    Ok(match url.host().ok_or(MALFORMED)? {
        Host::Domain(name) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            if name.is_empty() || name.ends_with('.') {
                return Err(MALFORMED);
            }
            (name.to_owned(), name == "localhost" || name.ends_with(".localhost"))
        }
        Host::Ipv4(ip) => (ip.to_string(), Ipv4Addr::is_loopback(&ip)),
        Host::Ipv6(ip) => (format!("[{ip}]"), Ipv6Addr::is_loopback(&ip)),
    })
}

// A host must not reach a log.
impl std::fmt::Debug for RelayAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RelayAddress(secure: {}, loopback: {})", self.secure, self.loopback)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> RelayAddress {
        RelayAddress::parse(text).unwrap()
    }

    /// `protocol.md` 5.1: one community however its host is spelled.
    #[test]
    fn hosts_are_normalised() {
        for text in [
            "wss://Relay.Example",
            "https://relay.example.:443/",
            " relay.example ",
            "ws://relay.example:80",
            "RELAY.example.",
        ] {
            assert_eq!(parsed(text).host(), "relay.example", "{text}");
        }
        assert_eq!(parsed("wss://relay.example:8443").host(), "relay.example:8443");
        assert_eq!(parsed("ws://127.0.0.1:53000").host(), "127.0.0.1:53000");
        assert_ne!(parsed("ws://127.0.0.1:53000").host(), parsed("ws://localhost:53000").host());
        assert_eq!(parsed("ws://[::1]:7000").host(), "[::1]:7000");
    }

    #[test]
    fn urls_follow_the_scheme() {
        let public = parsed("https://relay.example");
        assert_eq!(public.socket_url(), "wss://relay.example/");
        assert_eq!(public.http_url("/query"), "https://relay.example/query");
        assert_eq!(public.signed_origin(), "wss://relay.example");
        let local = parsed("localhost:3000");
        assert!(local.is_loopback() && !local.is_secure() && local.is_trusted());
        assert_eq!(local.socket_url(), "ws://localhost:3000/");
        assert_eq!(local.signed_url("/events"), "http://localhost:3000/events");
        assert!(!parsed("ws://relay.example").is_trusted());
        let odd = parsed("wss://relay.example:80");
        assert_eq!(
            (odd.http_url("/"), odd.signed_url("/")),
            ("https://relay.example:80/".to_owned(), "https://relay.example/".to_owned())
        );
    }

    #[test]
    fn what_is_no_address_is_refused() {
        let long = format!("wss://{}.example", "a".repeat(300));
        for bad in [
            "",
            "wss://",
            "ftp://r.example",
            "wss://r.example/path",
            "wss://u@r.example",
            "wss://r.example?x",
            "a b",
            "..",
            &long,
        ] {
            assert!(RelayAddress::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(format!("{:?}", parsed("wss://r.example")), "RelayAddress(secure: true, loopback: false)");
    }
}
