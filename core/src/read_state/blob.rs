//! The NIP-RS blob and the event that carries it: codec and coordinate (`unread.md` 9.1, 9.2, 9.4).
//!
//! Reading is lenient by entry and strict as a whole: an entry that is impossible is dropped alone, while an unknown version, a
//! missing client id or contexts that are no object make the blob [`Unreadable`], which its reader must show (R23). Override keys
//! are judged in groups *before* any entry is dropped, because half a register means nothing. Writing is canonical: the same state
//! gives the same bytes, sorted, exactly one `esc:` on frontier keys that would look like something else.
//!
//! Invariants: `parse(write(x))` is `x` for every state with live registers only; `esc:` is added and removed exactly once;
//! nothing this module writes is longer than [`limits::BLOB_BYTES`].

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use super::algebra::{Canonical, State, canonical};
use crate::error::{Error, MALFORMED_PAYLOAD};
use crate::event::{Event, app_data, kinds};
use crate::ids::{PublicKey, SlotId};
use crate::journal::{Key, Override};
use crate::limits;
use crate::object::Object;

const ESCAPE: &str = "esc:";
const OVERRIDE_PREFIX: &str = "ov_";
/// Room for so many entries is made at first: not a kilobyte, which allocators have at hand (P9).
const ENTRIES: usize = 20;
const PARTS: [&str; 3] = ["ov_s:", "ov_c:", "ov_b:"];

/// One installation's read state as published.
#[derive(Clone, PartialEq, Eq)]
pub struct Blob {
    /// Which installation wrote it: 1–64 code points. Private, as it is only ever encrypted.
    pub client_id: String,
    /// What it says.
    pub state: State,
}

impl std::fmt::Debug for Blob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Blob({:?})", self.state)
    }
}

/// Why a recognised read-state event cannot be used. Any of these fails the marker load visibly (R23).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// The event is larger than [`limits::READ_STATE_EVENT_BYTES`], or its plaintext than [`limits::BLOB_READ_BYTES`].
    #[error("oversized read state")]
    Oversized,
    /// Not a NIP-44 version 2 payload: bad base64, length, version or padding.
    #[error("malformed payload")]
    Payload,
    /// The payload was not encrypted to this account, or was altered.
    #[error("payload does not authenticate")]
    Cipher,
    /// No UTF-8, or no JSON object.
    #[error("plaintext is no JSON object")]
    Json,
    /// `v` is not 1.
    #[error("unknown version")]
    Version,
    /// `client_id` is no string of 1–64 code points.
    #[error("bad client id")]
    ClientId,
    /// `contexts` is no object, or has more than [`limits::BLOB_KEYS`] keys.
    #[error("bad contexts")]
    Contexts,
    /// The signer that holds the key did not decrypt it.
    #[error("not decrypted by the signer")]
    Signer,
}

/// What a signer's refusal to decrypt says of the event.
impl From<Error> for Unreadable {
    fn from(error: Error) -> Self {
        match error {
            Error::InvalidAnswer { why: MALFORMED_PAYLOAD } => Self::Payload,
            Error::InvalidAnswer { .. } => Self::Cipher,
            _ => Self::Signer,
        }
    }
}

impl From<Unreadable> for Error {
    fn from(value: Unreadable) -> Self {
        let why = match value {
            Unreadable::Oversized => "read-state event too large",
            Unreadable::Payload => "read-state payload malformed",
            Unreadable::Cipher => "read-state payload not ours",
            Unreadable::Json => "read-state plaintext malformed",
            Unreadable::Version => "read-state version unknown",
            Unreadable::ClientId => "read-state client id malformed",
            Unreadable::Contexts => "read-state contexts malformed",
            Unreadable::Signer => "read-state not decrypted",
        };
        Error::InvalidAnswer { why }
    }
}

/// The read-state coordinate an event stands at, if it is one (`unread.md` 9.1): kind 30078, exactly one `d` tag with a slot of 32
/// lower-case hex digits, exactly one `t` tag that says `read-state`. Other `t` values do not disturb. Everything else is another
/// application's and ignored.
pub fn coordinate(event: &Event) -> Option<SlotId> {
    if event.kind != kinds::APP_DATA {
        return None;
    }
    let topics = event.values("t").filter(|t| *t == app_data::READ_STATE).count();
    if topics != 1 {
        return None;
    }
    app_data::read_state_slot(event.single("d")?)
}

/// Whether the event is `viewer`'s, at a read-state coordinate (13.10).
pub fn own_coordinate(event: &Event, viewer: &PublicKey) -> Option<SlotId> {
    if event.pubkey == *viewer { coordinate(event) } else { None }
}

/// Reads a decrypted blob.
pub fn parse(plaintext: &[u8]) -> Result<Blob, Unreadable> {
    if plaintext.len() > limits::BLOB_READ_BYTES {
        return Err(Unreadable::Oversized);
    }
    let text = std::str::from_utf8(plaintext).map_err(|_| Unreadable::Json)?;
    match quick(text) {
        Some(blob) => Ok(blob),
        None => thorough(text),
    }
}

/// Reads in one pass what every writer known writes: each name once, version and values whole numbers in range. None for anything else, which
/// may still be a blob. A snapshot has thousands of blobs and a hundred thousand entries (P9).
fn quick(text: &str) -> Option<Blob> {
    #[derive(Deserialize)]
    struct Plain<'a> {
        v: u8,
        client_id: String,
        #[serde(borrow)]
        contexts: Entries<'a>,
    }
    let Object(plain): Object<Plain<'_>> = serde_json::from_str(text).ok()?;
    let state = plain.contexts.state(Twins::Doubt)?;
    (plain.v == 1 && is_client_id(&plain.client_id)).then_some(Blob { client_id: plain.client_id, state })
}

fn thorough(text: &str) -> Result<Blob, Unreadable> {
    // Members and not a derived struct: duplicates are legal here, the last one wins.
    let Members(top) = serde_json::from_str(text).map_err(|_| Unreadable::Json)?;
    let member = |name: &str| top.iter().find(|(key, _)| key == name).map(|(_, raw)| raw.get());
    if member("v").and_then(|raw| raw.parse::<f64>().ok()) != Some(1.0) {
        return Err(Unreadable::Version);
    }
    let client_id: Option<String> = member("client_id").and_then(|raw| serde_json::from_str(raw).ok());
    let client_id = client_id.filter(|id| is_client_id(id)).ok_or(Unreadable::ClientId)?;
    let contexts: Option<Members<'_>> = member("contexts").and_then(|raw| serde_json::from_str(raw).ok());
    let contexts = contexts.filter(|c| c.0.len() <= limits::BLOB_KEYS).ok_or(Unreadable::Contexts)?;
    let mut entries = Entries::default();
    for (name, raw) in contexts.0 {
        let value = entry_value(raw.get()).filter(|_| is_key(&name));
        entries.add(name, value);
    }
    let state = entries.state(Twins::Join).ok_or(Unreadable::Contexts)?;
    Ok(Blob { client_id, state })
}

/// The members of an object, sorted by name, each once.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut all: Vec<(Cow<'de, str>, &'de RawValue)> = Vec::new();
                while let Some((Name(name), value)) = map.next_entry()? {
                    all.push((name, value));
                }
                // Stable, so of duplicates the last in the text is the last here: the one that is kept.
                all.sort_by(|a, b| a.0.cmp(&b.0));
                all.dedup_by(|later, kept| {
                    let same = later.0 == kept.0;
                    if same {
                        kept.1 = later.1;
                    }
                    same
                });
                Ok(Members(all))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

// `Cow` inside a tuple is not borrowed by serde on its own.
#[derive(Deserialize)]
#[serde(transparent)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// Whether the text may be a client id: 1–64 code points.
pub fn is_client_id(text: &str) -> bool {
    (1..=limits::CLIENT_ID_CHARS).contains(&text.chars().count())
}

/// Entries of `contexts`, sorted out.
#[derive(Default)]
struct Entries<'a> {
    frontiers: Vec<(Key, u32)>,
    groups: BTreeMap<Cow<'a, str>, [Part; 3]>,
}

/// What it means that two names stand for one key.
enum Twins {
    /// One is escaped and the other is not: both count.
    Join,
    /// It may be the same name twice, of which the last counts.
    Doubt,
}

impl<'a> Entries<'a> {
    /// Takes an entry; no value is an impossible one.
    fn add(&mut self, name: Cow<'a, str>, value: Option<u32>) {
        if let Some((part, suffix_at)) = override_part(&name) {
            let suffix = match name {
                Cow::Borrowed(name) => Cow::Borrowed(name.get(suffix_at..).unwrap_or_default()),
                Cow::Owned(mut name) => Cow::Owned(name.split_off(suffix_at)),
            };
            if let Some(slot) = self.groups.entry(suffix).or_default().get_mut(part) {
                *slot = value.map_or(Part::Invalid, Part::Valid);
            }
        } else if !name.starts_with(OVERRIDE_PREFIX)
            && let (Some(value), Ok(key)) = (value, Key::parse(name.strip_prefix(ESCAPE).unwrap_or(&name)))
        {
            self.frontiers.push((key, value));
        }
    }

    fn state(self, twins: Twins) -> Option<State> {
        let named = self.frontiers.len();
        let mut found = self.frontiers;
        if matches!(twins, Twins::Join) {
            // Of two values of a key, the map below takes the last: the larger.
            found.sort();
        }
        let frontiers: BTreeMap<Key, u32> = found.into_iter().collect();
        if frontiers.len() < named && matches!(twins, Twins::Doubt) {
            return None;
        }
        let groups = self.groups.into_iter();
        let overrides =
            groups.filter_map(|(suffix, parts)| Some((Key::parse(&suffix).ok()?, read_group(parts)?))).collect();
        Some(State { frontiers, overrides })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Entries<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object of whole numbers")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Entries { frontiers: Vec::with_capacity(ENTRIES), ..Entries::default() };
                let mut count = 0usize;
                while let Some((Name(name), value)) = map.next_entry::<Name<'de>, u32>()? {
                    count += 1;
                    if count > limits::BLOB_KEYS || !is_key(&name) {
                        return Err(serde::de::Error::custom("to be read thoroughly"));
                    }
                    entries.add(name, Some(value));
                }
                Ok(entries)
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

/// One sibling of an override group as found on the wire.
#[derive(Clone, Copy, Default)]
enum Part {
    #[default]
    Absent,
    Invalid,
    Valid(u32),
}

/// Three valid siblings, or a lone clear floor; every other shape removes the whole group.
fn read_group(parts: [Part; 3]) -> Option<Override> {
    match parts {
        [Part::Valid(set), Part::Valid(clear), Part::Valid(baseline)] => Some(Override { set, clear, baseline }),
        [Part::Absent, Part::Valid(clear), Part::Absent] => Some(Override { clear, ..Override::default() }),
        _ => None,
    }
}

/// Which part of a register the name is, and where the register's own name begins.
fn override_part(name: &str) -> Option<(usize, usize)> {
    PARTS.iter().position(|prefix| name.starts_with(prefix)).map(|part| (part, OVERRIDE_PREFIX.len() + 2))
}

fn is_key(key: &str) -> bool {
    (1..=limits::KEY_BYTES).contains(&key.len())
}

/// A JSON number that is an integer in 0…2³²−1. `1e3` and `4.0` are integers: JSON does not tell spellings apart.
fn entry_value(raw: &str) -> Option<u32> {
    if let Ok(value) = raw.parse::<u32>() {
        return Some(value);
    }
    let value = raw.parse::<f64>().ok()?;
    let whole = value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value);
    // The range was checked, so the conversion is exact.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    whole.then_some(value as u32)
}

/// The wire form of a raw frontier key: one `esc:` where it would otherwise read as an override or as escaped.
fn escape(key: &str) -> String {
    if key.starts_with(OVERRIDE_PREFIX) || key.starts_with(ESCAPE) { format!("{ESCAPE}{key}") } else { key.to_owned() }
}

/// Writes a blob in canonical form: frontier keys sorted, then override keys sorted; live registers whole, used ones as their clear
/// floor. Fails with [`Error::Capacity`] over [`limits::BLOB_BYTES`] or [`limits::BLOB_KEYS`], and with
/// [`Error::InvalidArgument`] for a key or client id that no reader would take.
pub fn write(client_id: &str, state: &State) -> Result<String, Error> {
    if !is_client_id(client_id) {
        return Err(Error::InvalidArgument { what: "client id" });
    }
    let mut out = String::from(r#"{"v":1,"client_id":"#);
    push_quoted(&mut out, client_id);
    out.push_str(r#","contexts":{"#);
    let frontiers: BTreeMap<String, u32> = state.frontiers.iter().map(|(k, v)| (escape(&k.to_string()), *v)).collect();
    let overrides = canonical_overrides(state);
    let mut entries = 0usize;
    for (key, value) in frontiers.iter().chain(&overrides) {
        if !is_key(key) {
            return Err(Error::InvalidArgument { what: "context key" });
        }
        if entries > 0 {
            out.push(',');
        }
        push_quoted(&mut out, key);
        out.push(':');
        out.push_str(&value.to_string());
        entries += 1;
    }
    out.push_str("}}");
    if out.len() > limits::BLOB_BYTES || entries > limits::BLOB_KEYS {
        return Err(Error::Capacity { what: "read-state blob" });
    }
    Ok(out)
}

fn canonical_overrides(state: &State) -> BTreeMap<String, u32> {
    let [set_key, clear_key, base_key] = PARTS;
    let mut out = BTreeMap::new();
    for (key, register) in &state.overrides {
        match canonical(*register, state.frontiers.get(key).copied()) {
            Some(Canonical::Live(r)) => {
                out.insert(format!("{set_key}{key}"), r.set);
                out.insert(format!("{clear_key}{key}"), r.clear);
                out.insert(format!("{base_key}{key}"), r.baseline);
            }
            Some(Canonical::Floor(clear)) => {
                out.insert(format!("{clear_key}{key}"), clear);
            }
            None => {}
        }
    }
    out
}

fn push_quoted(out: &mut String, text: &str) {
    // A string always serialises.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

#[cfg(test)]
#[path = "blob_tests.rs"]
mod tests;
