//! Strict reading of JSON: every fault names the path at fault, every key must be asked for, no key may come twice.
//!
//! A [`Fields`] remembers which keys were taken; [`Fields::finish`] refuses what is left, so a reader cannot forget to
//! check. Paths are written `steps/3/rows/0`, counted from 0 as JSON does.

use std::cell::RefCell;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A JSON value that keeps the order of its keys and keys that come twice.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(serde_json::Number),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// The same value as `serde_json` has it.
    pub fn to_value(&self) -> serde_json::Value {
        match self {
            Self::Null => serde_json::Value::Null,
            Self::Bool(b) => (*b).into(),
            Self::Number(n) => n.clone().into(),
            Self::String(s) => s.clone().into(),
            Self::Array(items) => items.iter().map(Self::to_value).collect(),
            Self::Object(fields) => {
                serde_json::Value::Object(fields.iter().map(|(k, v)| (k.clone(), v.to_value())).collect())
            }
        }
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, b: bool) -> Result<Json, E> {
        Ok(Json::Bool(b))
    }

    fn visit_i64<E>(self, n: i64) -> Result<Json, E> {
        Ok(Json::Number(n.into()))
    }

    fn visit_u64<E>(self, n: u64) -> Result<Json, E> {
        Ok(Json::Number(n.into()))
    }

    fn visit_f64<E>(self, n: f64) -> Result<Json, E> {
        Ok(serde_json::Number::from_f64(n).map_or(Json::Null, Json::Number))
    }

    fn visit_str<E>(self, s: &str) -> Result<Json, E> {
        Ok(Json::String(s.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Json::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Json::Object(fields))
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(JsonVisitor)
    }
}

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// JSON path, empty for the whole document.
    pub path: String,
    /// What is wrong there.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.what) } else { write!(f, "{}: {}", self.path, self.what) }
    }
}

impl std::error::Error for Fault {}

/// The result of reading.
pub type Read<T> = Result<T, Fault>;

/// A value and where it stands.
#[derive(Debug, Clone)]
pub struct At<'a> {
    /// The value.
    pub json: &'a Json,
    /// Its path.
    pub path: String,
}

impl<'a> At<'a> {
    /// The root of a document.
    pub fn root(json: &'a Json) -> Self {
        Self { json, path: String::new() }
    }

    /// A fault here.
    pub fn fault<T>(&self, what: impl Into<String>) -> Read<T> {
        Err(Fault { path: self.path.clone(), what: what.into() })
    }

    fn below(&self, step: impl fmt::Display, json: &'a Json) -> At<'a> {
        let path = if self.path.is_empty() { step.to_string() } else { format!("{}/{step}", self.path) };
        At { json, path }
    }

    /// As an object, whose keys come once each.
    pub fn object(&self) -> Read<Fields<'a>> {
        let Json::Object(fields) = self.json else { return self.fault("expected an object") };
        for (i, (key, json)) in fields.iter().enumerate() {
            if fields[..i].iter().any(|(k, _)| k == key) {
                return self.below(key, json).fault("this key comes twice");
            }
        }
        Ok(Fields { at: self.clone(), fields, taken: RefCell::new(vec![false; fields.len()]) })
    }

    /// As an array.
    pub fn array(&self) -> Read<Vec<At<'a>>> {
        let Json::Array(items) = self.json else { return self.fault("expected an array") };
        Ok(items.iter().enumerate().map(|(i, item)| self.below(i, item)).collect())
    }

    /// As an array of things.
    pub fn list<T>(&self, read: impl FnMut(At<'a>) -> Read<T>) -> Read<Vec<T>> {
        self.array()?.into_iter().map(read).collect()
    }

    /// As one thing or an array of them.
    pub fn one_or_many<T>(&self, mut read: impl FnMut(At<'a>) -> Read<T>) -> Read<Vec<T>> {
        if matches!(self.json, Json::Array(_)) { self.list(read) } else { Ok(vec![read(self.clone())?]) }
    }

    /// As a string.
    pub fn string(&self) -> Read<String> {
        let Json::String(text) = self.json else { return self.fault("expected a string") };
        Ok(text.clone())
    }

    /// As a boolean.
    pub fn boolean(&self) -> Read<bool> {
        let Json::Bool(b) = self.json else { return self.fault("expected true or false") };
        Ok(*b)
    }

    /// As a whole number.
    pub fn integer(&self) -> Read<i64> {
        let Json::Number(n) = self.json else { return self.fault("expected a whole number") };
        n.as_i64().map_or_else(|| self.fault("expected a whole number"), Ok)
    }

    /// As a whole number of at least `least`.
    pub fn at_least(&self, least: i64) -> Read<i64> {
        let n = self.integer()?;
        if n < least { self.fault(format!("expected at least {least}")) } else { Ok(n) }
    }

    /// As a whole number of at least `least`, in 32 bits.
    pub fn count(&self, least: u32) -> Read<u32> {
        let n = self.at_least(least.into())?;
        u32::try_from(n).or_else(|_| self.fault("too large"))
    }

    /// As null or something.
    pub fn nullable<T>(&self, read: impl FnOnce(&Self) -> Read<T>) -> Read<Option<T>> {
        if self.json == &Json::Null { Ok(None) } else { read(self).map(Some) }
    }

    /// As one of the words serde knows for `T`.
    pub fn word<T: serde::de::DeserializeOwned>(&self, what: &str) -> Read<T> {
        let text = self.string()?;
        serde_json::from_value(serde_json::Value::String(text.clone()))
            .or_else(|_| self.fault(format!("unknown {what} {text:?}")))
    }
}

/// The keys of an object, of which every one must be taken.
#[derive(Debug)]
pub struct Fields<'a> {
    at: At<'a>,
    fields: &'a [(String, Json)],
    taken: RefCell<Vec<bool>>,
}

impl<'a> Fields<'a> {
    /// Where the object stands.
    pub fn at(&self) -> &At<'a> {
        &self.at
    }

    /// A key that may be absent.
    pub fn take(&self, key: &str) -> Option<At<'a>> {
        let i = self.fields.iter().position(|(k, _)| k == key)?;
        self.taken.borrow_mut()[i] = true;
        Some(self.at.below(key, &self.fields[i].1))
    }

    /// A key that must be there.
    pub fn need(&self, key: &str) -> Read<At<'a>> {
        self.take(key).map_or_else(|| self.at.fault(format!("needs {key:?}")), Ok)
    }

    /// A key that may be absent, read.
    pub fn get<T>(&self, key: &str, read: impl FnOnce(&At<'a>) -> Read<T>) -> Read<Option<T>> {
        self.take(key).map(|at| read(&at)).transpose()
    }

    /// Whether a key is there.
    pub fn has(&self, key: &str) -> bool {
        self.fields.iter().any(|(k, _)| k == key)
    }

    /// All keys with their values; takes them all.
    pub fn entries(self) -> Vec<(String, At<'a>)> {
        self.fields.iter().map(|(k, json)| (k.clone(), self.at.below(k, json))).collect()
    }

    /// Refuses keys nobody asked for.
    pub fn finish(self) -> Read<()> {
        let taken = self.taken.into_inner();
        match self.fields.iter().zip(taken).find(|(_, taken)| !taken) {
            Some(((key, json), _)) => self.at.below(key, json).fault("unknown key"),
            None => Ok(()),
        }
    }
}

/// Parses a document.
pub fn parse(text: &str) -> Read<Json> {
    serde_json::from_str(text).map_err(|why| Fault { path: String::new(), what: format!("not JSON: {why}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_nobody_takes_and_a_key_given_twice_are_faults() {
        let doc = parse(r#"{"a":[{"b":1,"c":2}]}"#).unwrap();
        let list = At::root(&doc).object().unwrap().need("a").unwrap().array().unwrap();
        let fields = list[0].object().unwrap();
        assert_eq!(fields.need("b").unwrap().integer(), Ok(1));
        assert_eq!(fields.finish().unwrap_err().to_string(), "a/0/c: unknown key");

        let doc = parse(r#"{"a":{"b":1,"b":2}}"#).unwrap();
        let a = At::root(&doc).object().unwrap().need("a").unwrap();
        assert_eq!(a.object().unwrap_err().to_string(), "a/b: this key comes twice");
    }

    #[test]
    fn numbers_are_whole() {
        let doc = parse("[1.5, 9223372036854775807, -1, \"1\"]").unwrap();
        let items = At::root(&doc).array().unwrap();
        assert!(items[0].integer().is_err() && items[1].integer().is_ok() && items[3].integer().is_err());
        assert_eq!(items[2].at_least(0).unwrap_err().to_string(), "2: expected at least 0");
    }
}
