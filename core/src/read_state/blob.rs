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

const ESCAPE: &str = "esc:";
const OVERRIDE_PREFIX: &str = "ov_";
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
    Ok(Blob { client_id, state: read_contexts(&contexts.0) })
}

/// The members of an object, sorted by name, each once. Names are borrowed where they have no escapes: a snapshot has a hundred thousand of
/// them (P9).
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

fn read_contexts(contexts: &[(Cow<'_, str>, &RawValue)]) -> State {
    let mut state = State::default();
    let mut groups: BTreeMap<&str, [Part; 3]> = BTreeMap::new();
    for (key, raw) in contexts {
        let key = key.as_ref();
        let value = entry_value(raw.get()).filter(|_| is_key(key));
        if let Some((part, suffix)) = override_part(key) {
            if let Some(slot) = groups.entry(suffix).or_default().get_mut(part) {
                *slot = value.map_or(Part::Invalid, Part::Valid);
            }
        } else if !key.starts_with(OVERRIDE_PREFIX)
            && let (Some(value), Ok(raw_key)) = (value, Key::parse(key.strip_prefix(ESCAPE).unwrap_or(key)))
        {
            state.raise(&raw_key, value);
        }
    }
    for (suffix, parts) in groups {
        if let (Some(register), Ok(key)) = (read_group(parts), Key::parse(suffix)) {
            state.overrides.insert(key, register);
        }
    }
    state
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

fn override_part(key: &str) -> Option<(usize, &str)> {
    PARTS.iter().enumerate().find_map(|(index, prefix)| Some((index, key.strip_prefix(prefix)?)))
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
