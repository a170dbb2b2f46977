//! Reads JSON that may be slightly wrong: fields as slices of their line.
//!
//! Invariant: a field stays raw until its type is known, so no read loses data; only values that
//! are stored become a [`Value`].

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// The requested fields in order; `None` for those the object lacks.
pub type Fields<'a, const N: usize> = [Option<&'a RawValue>; N];

/// Returns the named fields of the object `json`, or `None` if it is not an object.
///
/// A `null` field counts as absent; of two fields with the same name the last wins.
pub fn fields<'a, const N: usize>(json: &'a str, names: [&str; N]) -> Option<Fields<'a, N>> {
    let found = fields_and_nulls(json, names)?;
    Some(found.map(|field| field.filter(|raw| raw.get() != "null")))
}

/// Returns the named fields like [`fields`], including those that are `null`.
pub fn fields_and_nulls<'a, const N: usize>(
    json: &'a str,
    names: [&str; N],
) -> Option<Fields<'a, N>> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let found = Pick(&names).deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    Some(found)
}

/// Returns the items of an array.
pub fn list(raw: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(raw.get()).ok()
}

/// Returns a string; numbers and booleans as written.
pub fn text(raw: &RawValue) -> Option<String> {
    word(raw).map(Cow::into_owned)
}

/// Returns a string like [`text`], borrowed if it has no escapes.
pub fn word(raw: &RawValue) -> Option<Cow<'_, str>> {
    let json = raw.get();
    match json.as_bytes().first()? {
        b'"' => Some(serde_json::from_str::<Word>(json).ok()?.0),
        b'{' | b'[' | b'n' => None,
        _ => Some(json.into()),
    }
}

/// Returns an integer, also from `3.0` or `"3"`; clamped to the range of `u64`.
pub fn whole(raw: &RawValue) -> Option<u64> {
    let word = word(raw)?;
    let digits = word.trim();
    digits.parse().ok().or_else(|| {
        let number: f64 = digits.parse().ok()?;
        (number >= 0.0 && number.is_finite()).then_some(number as u64)
    })
}

/// Returns the complete value; one nested too deeply to parse becomes its text.
pub fn value(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or_else(|_| Value::String(raw.get().to_owned()))
}

/// Returns the value as the official type `T`, if it matches.
pub fn typed<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    serde_json::from_str(raw.get()).ok()
}

#[derive(Deserialize)]
struct Word<'a>(#[serde(borrow)] Cow<'a, str>);

struct Pick<'n, const N: usize>(&'n [&'n str; N]);

impl<'de, const N: usize> DeserializeSeed<'de> for Pick<'_, N> {
    type Value = Fields<'de, N>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, const N: usize> Visitor<'de> for Pick<'_, N> {
    type Value = Fields<'de, N>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = [None; N];
        while let Some(Word(key)) = map.next_key()? {
            match self
                .0
                .iter()
                .zip(&mut found)
                .find(|(name, _)| **name == key)
            {
                Some((_, slot)) => *slot = Some(map.next_value()?),
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn fields_are_raw_and_the_last_duplicate_wins() {
        let json = r#" {"a": 1.0, "x": {"a": 2}, "b": null, "a" : [ 3 ]} "#;
        let [a, b, c] = fields_and_nulls(json, ["a", "b", "c"]).unwrap();
        assert_eq!(a.map(RawValue::get), Some("[ 3 ]"));
        assert_eq!(b.map(RawValue::get), Some("null"));
        assert!(c.is_none());
        assert!(fields(json, ["b"]).unwrap()[0].is_none());
        assert!(fields("[1]", ["a"]).is_none());
        assert!(fields("{} {}", ["a"]).is_none());
        assert!(fields("{\"a\":", ["a"]).is_none());
    }

    #[test]
    fn numbers_are_read_in_any_form() {
        let check = |json: &str, want| assert_eq!(whole(&raw(json)), want, "{json}");
        check("3", Some(3));
        check("3.0", Some(3));
        check("\" 3 \"", Some(3));
        check("\"3.0\"", Some(3));
        check("1e3", Some(1000));
        check("18446744073709551615", Some(u64::MAX));
        check("1e300", Some(u64::MAX));
        check("-1", None);
        check("\"inf\"", None);
        check("\"\"", None);
        check("true", None);
        check("[3]", None);
    }

    #[test]
    fn text_is_read_from_any_scalar() {
        let check = |json: &str, want: Option<&str>| {
            assert_eq!(text(&raw(json)).as_deref(), want, "{json}");
        };
        check("\"a\\u00e4\"", Some("aä"));
        check("12", Some("12"));
        check("true", Some("true"));
        check("null", None);
        check("{}", None);
    }

    #[test]
    fn a_value_nested_too_deeply_is_kept_as_text() {
        let deep = "[".repeat(200) + &"]".repeat(200);
        assert_eq!(value(&raw(&deep)), Value::String(deep));
    }
}
