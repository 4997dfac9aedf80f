//! JSON objects as structures, and nothing but objects.
//!
//! What serde derives for a structure also takes an array of its members in order. NIP-01, NIP-CW and NIP-RS know objects only, so others would
//! refuse what we take: two clients would then read the same relay and see different things.

use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

/// A structure that was written as an object. Reading fails on an array.
pub(crate) struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members(PhantomData)).map(Self)
    }
}

struct Members<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
    type Value = T;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    #[derive(serde::Deserialize)]
    struct Pair<'a> {
        #[serde(borrow)]
        name: Cow<'a, str>,
        number: Option<u8>,
    }

    #[test]
    fn objects_are_taken_and_arrays_are_not() {
        let read = |text| serde_json::from_str::<Object<Pair<'_>>>(text).map(|Object(pair)| pair);
        let pair = read(r#"{"number":7,"other":[],"name":"x"}"#).unwrap();
        assert!(matches!(pair.name, Cow::Borrowed("x")) && pair.number == Some(7));
        assert_eq!(read(r#"{"name":"x"}"#).unwrap().number, None);
        for other in [r#"["x",7]"#, r#"["x",null]"#, "[]", "{}", "7", "null", r#"{"name":"x","name":"x"}"#] {
            assert!(read(other).is_err(), "{other}");
        }
    }
}
