//! Filters: reading them with the real relay's refusals, the privilege gates, and matching live events.
//!
//! A filter is read twice: the NIP-01 members here, strictly typed (`invalid filters: …`), the extension members
//! (`top_level`, `depth_limit` …) later from [`Filter::raw`] by whoever understands them. `#h` never looks at an event's
//! tags but at the channel the relay assigned; a value that is no UUID matches nothing.

use serde_json::{Map, Value};

use crate::{
    event::{Event, is_hex},
    kinds,
    store::Select,
};

/// One filter.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    pub(crate) ids: Option<Vec<String>>,
    pub(crate) authors: Option<Vec<String>>,
    pub(crate) kinds: Option<Vec<u32>>,
    pub(crate) since: Option<u64>,
    pub(crate) until: Option<u64>,
    pub(crate) limit: Option<usize>,
    pub(crate) search: Option<String>,
    /// Single-letter tags except `h`.
    pub(crate) tags: Vec<(char, Vec<String>)>,
    /// `#h` as sent.
    pub(crate) h: Option<Vec<String>>,
    /// The object as sent.
    pub(crate) raw: Map<String, Value>,
}

/// How serde names a value it did not expect.
fn named(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(b) => format!("boolean `{b}`"),
        Value::Number(n) if n.is_f64() => format!("floating point `{n}`"),
        Value::Number(n) => format!("integer `{n}`"),
        Value::String(s) => format!("string {s:?}"),
        Value::Array(_) => "sequence".into(),
        Value::Object(_) => "map".into(),
    }
}

fn unsigned(value: &Value, expected: &str) -> Result<Option<u64>, String> {
    match value {
        Value::Null => Ok(None),
        Value::Number(n) if n.is_u64() => Ok(n.as_u64()),
        Value::Number(n) if n.is_i64() => Err(format!("invalid value: {}, expected {expected}", named(value))),
        _ => Err(format!("invalid type: {}, expected {expected}", named(value))),
    }
}

fn list<T>(value: &Value, each: impl Fn(&Value) -> Result<T, String>) -> Result<Option<Vec<T>>, String> {
    match value {
        Value::Null => Ok(None),
        Value::Array(items) => items.iter().map(each).collect::<Result<_, _>>().map(Some),
        _ => Err(format!("invalid type: {}, expected a sequence", named(value))),
    }
}

fn hex64(what: &'static str) -> impl Fn(&Value) -> Result<String, String> {
    move |value| match value {
        Value::String(s) if is_hex(s, 64) => Ok(s.to_ascii_lowercase()),
        Value::String(_) => Err(format!("Invalid {what}")),
        _ => Err(format!("invalid type: {}, expected a string", named(value))),
    }
}

fn kind(value: &Value) -> Result<u32, String> {
    let n = unsigned(value, "u16")?.ok_or("invalid type: null, expected u16")?;
    u16::try_from(n).map(u32::from).map_err(|_| format!("invalid value: integer `{n}`, expected u16"))
}

fn tag_value(value: &Value) -> Result<String, String> {
    match value {
        Value::String(s) if is_hex(s, 64) => Ok(s.to_ascii_lowercase()),
        Value::String(s) => Ok(s.clone()),
        _ => Err(format!("invalid type: {}, expected a string", named(value))),
    }
}

impl Filter {
    pub(crate) fn read(value: &Value) -> Result<Self, String> {
        let Value::Object(raw) = value else {
            return Err(format!("invalid type: {}, expected a JSON map", named(value)));
        };
        let mut filter = Self { raw: raw.clone(), ..Self::default() };
        for (key, value) in raw {
            filter.member(key, value)?;
        }
        Ok(filter)
    }

    fn member(&mut self, key: &str, value: &Value) -> Result<(), String> {
        match key {
            "ids" => self.ids = list(value, hex64("event ID"))?,
            "authors" => self.authors = list(value, hex64("public key"))?,
            "kinds" => self.kinds = list(value, kind)?,
            "since" => self.since = unsigned(value, "u64")?,
            "until" => self.until = unsigned(value, "u64")?,
            "limit" => self.limit = unsigned(value, "usize")?.map(|n| usize::try_from(n).unwrap_or(usize::MAX)),
            "search" => self.search = value.as_str().map(str::to_owned),
            "#h" => self.h = list(value, tag_value)?,
            _ => {
                let mut name = key.chars();
                if let (Some('#'), Some(letter), None) = (name.next(), name.next(), name.next())
                    && let Some(values) = list(value, tag_value)?
                {
                    self.tags.push((letter, values));
                }
            }
        }
        Ok(())
    }

    /// The channels `#h` names, in the order sent; anything that is no UUID is left out.
    pub(crate) fn channels(&self) -> Option<Vec<String>> {
        self.h.as_ref().map(|list| list.iter().filter_map(|h| channel_id(h)).collect())
    }

    /// The values of a single-letter tag other than `h`.
    pub(crate) fn values(&self, letter: char) -> Option<&[String]> {
        self.tags.iter().find(|(name, _)| *name == letter).map(|(_, values)| values.as_slice())
    }

    /// A boolean extension member.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.raw.get(name) == Some(&Value::Bool(true))
    }

    /// Whether a live event in `channel` matches.
    pub(crate) fn matches(&self, event: &Event, channel: Option<&str>) -> bool {
        let has = |list: &Option<Vec<String>>, value: &str| list.as_ref().is_none_or(|l| l.iter().any(|v| v == value));
        has(&self.ids, &event.id)
            && has(&self.authors, &event.pubkey)
            && self.kinds.as_ref().is_none_or(|k| k.contains(&event.kind))
            && self.since.is_none_or(|t| event.created_at >= t)
            && self.until.is_none_or(|t| event.created_at <= t)
            && self.channels().is_none_or(|c| channel.is_some_and(|ch| c.iter().any(|v| v == ch)))
            && self.tags.iter().all(|(name, values)| {
                event.values(name.encode_utf8(&mut [0; 4])).any(|v| values.iter().any(|w| same_value(w, v)))
            })
    }

    /// The read it asks for, `#h` left to the caller.
    pub(crate) fn select(&self) -> Select {
        Select {
            ids: self.ids.clone(),
            authors: self.authors.clone(),
            kinds: self.kinds.clone(),
            since: self.since,
            until: self.until,
            tags: self.tags.clone(),
            ..Select::default()
        }
    }

    /// The privilege gate it fails, if any. `http` and WebSocket word the first one differently.
    pub(crate) fn gate(&self, me: &str, http: bool) -> Option<&'static str> {
        let own_p = self.values('p').is_some_and(|p| !p.is_empty() && p.iter().all(|v| v == me));
        let own_authors = self.authors.as_ref().is_some_and(|a| !a.is_empty() && a.iter().all(|v| v == me));
        let asks = |list: &[u32]| self.kinds.as_ref().is_some_and(|k| k.iter().any(|kind| list.contains(kind)));
        let kindless = self.kinds.is_none() && self.ids.is_none();
        if !own_p && (kindless || asks(&kinds::P_GATED)) {
            return Some(if http {
                "restricted: p-gated kinds require #p tag matching your pubkey"
            } else {
                "restricted: p-gated events require #p matching your pubkey"
            });
        }
        if asks(&kinds::AUTHOR_ONLY) && !own_authors {
            return Some("restricted: author-only kinds require authors=[self]");
        }
        None
    }
}

/// Equality of tag values: ids and keys in either case, everything else byte for byte.
fn same_value(a: &str, b: &str) -> bool {
    a == b || (is_hex(a, 64) && a.eq_ignore_ascii_case(b))
}

/// The lower-case rendering of a channel id, or nothing when it is no UUID.
pub(crate) fn channel_id(text: &str) -> Option<String> {
    uuid::Uuid::parse_str(text).ok().map(|id| id.to_string())
}

/// Reads the body of a query.
pub(crate) fn read_body(body: &[u8]) -> Result<Vec<Filter>, String> {
    let value: Value = serde_json::from_slice(body).map_err(|e| e.to_string())?;
    match value {
        Value::Array(items) => items.iter().map(Filter::read).collect(),
        other => Err(format!("invalid type: {}, expected a sequence at line 1 column 0", named(&other))),
    }
}

/// All `#h` values of a request, summed over its filters.
pub(crate) fn explicit_channels(filters: &[Filter]) -> usize {
    filters.iter().filter_map(|f| f.h.as_ref()).map(Vec::len).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn err(body: &str) -> String {
        read_body(body.as_bytes()).expect_err("refused")
    }

    #[test]
    fn refusals_are_worded_as_measured() {
        assert_eq!(err("{\"kinds\":[9]}"), "invalid type: map, expected a sequence at line 1 column 0");
        assert_eq!(err("[{\"kinds\":\"9\"}]"), "invalid type: string \"9\", expected a sequence");
        assert_eq!(err("[{\"until\":-1}]"), "invalid value: integer `-1`, expected u64");
        assert_eq!(err("[{\"until\":\"123\"}]"), "invalid type: string \"123\", expected u64");
        assert_eq!(err("[{\"until\":1751500000.5}]"), "invalid type: floating point `1751500000.5`, expected u64");
        assert_eq!(err("[{\"limit\":-1}]"), "invalid value: integer `-1`, expected usize");
    }

    #[test]
    fn kindless_filters_are_gated_unless_they_name_ids_or_oneself() {
        let me = "a".repeat(64);
        let gate = |body: &str| read_body(body.as_bytes()).expect("shape")[0].gate(&me, true).is_some();
        assert!(gate("[{\"limit\":1}]"));
        assert!(gate("[{\"kinds\":[44100]}]"));
        assert!(!gate(&format!("[{{\"ids\":[\"{me}\"]}}]")));
        assert!(!gate(&format!("[{{\"kinds\":[44100],\"#p\":[\"{me}\"]}}]")));
        assert!(!gate("[{\"kinds\":[9]}]"));
    }
}
