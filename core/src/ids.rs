//! Identifiers, each with one place where it is parsed.
//!
//! Invariant: a value of one of these types is well formed; text that is not never becomes one. Ids and keys are
//! lower-case hex on the wire; the only lenient parser is [`EventId::parse_reference`], because signed `e` tags may carry
//! either case (`unread.md` 2.1).

use std::fmt;

use crate::error::Error;

/// Why a text is not an identifier. Carries no part of the text, so it can be logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a valid {0}")]
pub struct Malformed(pub &'static str);

impl From<Malformed> for Error {
    fn from(value: Malformed) -> Self {
        Error::InvalidArgument { what: value.0 }
    }
}

/// Value of each hex digit; 255 for every other byte. Three ids are read per event, so this is a hot path (P2).
const fn digits(upper_too: bool) -> [u8; 256] {
    let mut table = [255; 256];
    let mut value = 0;
    while value < DIGITS.len() {
        table[DIGITS[value] as usize] = value as u8;
        if upper_too {
            table[DIGITS[value].to_ascii_uppercase() as usize] = value as u8;
        }
        value += 1;
    }
    table
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";
static LOWER: [u8; 256] = digits(false);
static EITHER: [u8; 256] = digits(true);

fn lower_hex<const N: usize>(text: &str, what: &'static str) -> Result<[u8; N], Malformed> {
    hex(text, &LOWER).ok_or(Malformed(what))
}

fn hex<const N: usize>(text: &str, values: &[u8; 256]) -> Option<[u8; N]> {
    let mut out = [0u8; N];
    if text.len() != N * 2 {
        return None;
    }
    let mut bad = 0;
    for (byte, pair) in out.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let (high, low) = (values[pair[0] as usize], values[pair[1] as usize]);
        bad |= high | low;
        *byte = high << 4 | (low & 15);
    }
    // A digit has no bit above the lowest four.
    (bad <= 15).then_some(out)
}

/// Writes the digits of `bytes`; `out` has room for all. An event stored or drawn writes three ids.
fn write_hex<'a>(bytes: &[u8], out: &'a mut [u8]) -> &'a str {
    for (pair, byte) in out.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    // Only digits were written.
    std::str::from_utf8(out).unwrap_or_default()
}

/// Appends the lower-case hex form of an id.
pub(crate) fn push_hex<const N: usize>(id: &[u8; N], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + N * 2, 0);
    write_hex(id, &mut out[start..]);
}

/// `Debug` as a name and nothing else, for types that hold content, ids, keys or hosts as text: none of it may reach a log (policy test).
macro_rules! hidden_debug {
    ($($type:ident $(<$life:lifetime>)?),+) => {
        $(impl std::fmt::Debug for $type $(<$life>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(concat!(stringify!($type), "(…)"))
            }
        })+
    };
}
pub(crate) use hidden_debug;

macro_rules! hex_id {
    ($(#[$doc:meta])* $name:ident, $len:expr, $what:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; $len]);

        impl $name {
            /// Parses exactly the lower-case hex form.
            pub fn parse(text: &str) -> Result<Self, Malformed> {
                lower_hex::<$len>(text, $what).map(Self)
            }

            /// The lower-case hex form.
            pub fn to_hex(&self) -> String {
                write_hex(&self.0, &mut [0; $len * 2]).to_owned()
            }

            /// The bytes, in wire order.
            pub fn as_bytes(&self) -> &[u8; $len] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(write_hex(&self.0, &mut [0; $len * 2]))
            }
        }

        // Debug shows a shape, never the value: ids and keys must not reach a log (policy test).
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(…)"))
            }
        }
    };
}

hex_id!(
    /// A nostr event id: SHA-256 of the canonical serialisation (NIP-01).
    EventId, 32, "event id"
);
hex_id!(
    /// An x-only public key (BIP-340), of an account or of the relay.
    PublicKey, 32, "public key"
);
hex_id!(
    /// A Schnorr signature.
    Signature, 64, "signature"
);
hex_id!(
    /// The random part of a read-state coordinate, `read-state:<32 hex>` (NIP-RS; `unread.md` 9.1).
    SlotId, 16, "slot id"
);

impl EventId {
    /// Parses the id of a marked reference: 64 hex digits of either case (`unread.md` 2.1).
    pub fn parse_reference(text: &str) -> Option<Self> {
        hex(text, &EITHER).map(Self)
    }
}

/// A channel: the UUID in lower-case hyphenated form, as the relay renders it (`protocol.md` 1.5).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelId(pub [u8; 16]);

impl ChannelId {
    /// Parses exactly the canonical form: 36 characters, lower case. Another spelling of the same UUID is not a channel
    /// here, as it would not bind to the relay's bounds (`relay-measured.md` 5.1).
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        const WHAT: Malformed = Malformed("channel id");
        // Where the digits of each byte begin. By hand, as a snapshot has a hundred thousand of these (P9).
        const AT: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
        let Ok(text) = <&[u8; 36]>::try_from(text.as_bytes()) else { return Err(WHAT) };
        let mut bad = (text[8] ^ b'-') | (text[13] ^ b'-') | (text[18] ^ b'-') | (text[23] ^ b'-');
        let mut out = [0; 16];
        for (byte, at) in out.iter_mut().zip(AT) {
            let (high, low) = (LOWER[text[at] as usize], LOWER[text[at + 1] as usize]);
            bad |= (high | low) & !15;
            *byte = high << 4 | (low & 15);
        }
        if bad == 0 { Ok(Self(out)) } else { Err(WHAT) }
    }
}

impl fmt::Display for ChannelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        uuid::Uuid::from_bytes(self.0).as_hyphenated().fmt(f)
    }
}

impl fmt::Debug for ChannelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChannelId(…)")
    }
}

/// What an unread question is about: a channel, a thread of it, or one message of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// The whole channel.
    Channel(ChannelId),
    /// The replies under one root.
    Thread(ChannelId, EventId),
    /// One message.
    Message(ChannelId, EventId),
}

impl Target {
    /// The channel the target lies in.
    pub fn channel(&self) -> ChannelId {
        match self {
            Self::Channel(c) | Self::Thread(c, _) | Self::Message(c, _) => *c,
        }
    }

    /// The frontier key of the target: `<channel>`, `thread:<root>` or `msg:<id>` (`unread.md` 5.3).
    pub fn key(&self) -> String {
        match self {
            Self::Channel(c) => c.to_string(),
            Self::Thread(_, root) => format!("thread:{root}"),
            Self::Message(_, id) => format!("msg:{id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_canonical_spelling_is_an_id() {
        let hex = "ab".repeat(32);
        assert_eq!(EventId::parse(&hex).unwrap().to_hex(), hex);
        for bad in [hex.to_uppercase(), hex[1..].to_string(), format!("{hex}0"), "é".repeat(32)] {
            assert!(EventId::parse(&bad).is_err());
        }
        assert_eq!(EventId::parse_reference(&hex.to_uppercase()), EventId::parse(&hex).ok());
        assert_eq!(EventId::parse_reference(&hex[2..]), None);
    }

    #[test]
    fn a_channel_is_a_lower_case_hyphenated_uuid() {
        let text = "0b6c8a52-7d3e-4d5a-9a51-0f2b3c4d5e6f";
        assert_eq!(ChannelId::parse(text).unwrap().to_string(), text);
        assert!(ChannelId::parse(&text.to_uppercase()).is_err());
        assert!(ChannelId::parse(&text.replace('-', "")).is_err());
        assert!(ChannelId::parse("{0b6c8a52-7d3e-4d5a-9a51-0f2b3c4d5e6f}").is_err());
        for at in 0..text.len() {
            for other in ["g", "A", "-", "0", " ", "\u{0}"] {
                let mut changed = text.to_owned();
                changed.replace_range(at..=at, other);
                let library = uuid::Uuid::try_parse(&changed).ok().map(|id| ChannelId(*id.as_bytes()));
                let expected = library.filter(|_| !changed.contains('A'));
                assert_eq!(ChannelId::parse(&changed).ok(), expected, "{at} {other:?}");
            }
        }
        assert!(ChannelId::parse("0b6c8a52-7d3e-4d5a-9a51-0f2b3c4d5eé").is_err());
    }

    #[test]
    fn debug_never_shows_a_value() {
        assert_eq!(format!("{:?}", Target::Message(ChannelId([7; 16]), EventId([1; 32]))).matches("07").count(), 0);
    }
}
