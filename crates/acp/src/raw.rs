//! Reading JSON that may be a little wrong: fields as slices of the line they came in.
//!
//! Invariant: a field is looked at as raw text until somebody knows what it should be, so no
//! reading loses anything, and nothing is turned into a [`Value`] but what is kept as one.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// The fields asked for, in that order; `None` where the object has none of that name.
pub type Fields<'a, const N: usize> = [Option<&'a RawValue>; N];

/// Returns the named fields of the object `json`, or `None` if it is no object.
///
/// A field that is `null` counts as absent; of two with the same name the last one counts.
pub fn fields<'a, const N: usize>(json: &'a str, names: [&str; N]) -> Option<Fields<'a, N>> {
    let found = fields_and_nulls(json, names)?;
    Some(found.map(|field| field.filter(|raw| raw.get() != "null")))
}

/// Returns the named fields as [`fields`] does, those that are `null` too.
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

/// Returns a string; a number or a boolean as it is written.
pub fn text(raw: &RawValue) -> Option<String> {
    word(raw).map(Cow::into_owned)
}

/// Returns a string as [`text`] does, borrowed where it has no escapes.
pub fn word(raw: &RawValue) -> Option<Cow<'_, str>> {
    let json = raw.get();
    match json.as_bytes().first()? {
        b'"' => Some(serde_json::from_str::<Word>(json).ok()?.0),
        b'{' | b'[' | b'n' => None,
        _ => Some(json.into()),
    }
}

/// Returns a whole number, also one that came as `3.0` or `"3"`; beyond the range of `u64` the
/// nearest one.
pub fn whole(raw: &RawValue) -> Option<u64> {
    let word = word(raw)?;
    let digits = word.trim();
    digits.parse().ok().or_else(|| {
        let number: f64 = digits.parse().ok()?;
        (number >= 0.0 && number.is_finite()).then_some(number as u64)
    })
}

/// Returns the whole value; what is nested too deeply to be read, as its text.
pub fn value(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or_else(|_| Value::String(raw.get().to_owned()))
}

/// Returns the value as the official type `T`, if it is a valid one.
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
    fn fields_come_raw_and_the_last_of_a_name_counts() {
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
    fn numbers_are_read_however_they_are_written() {
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
    fn text_is_read_from_anything_that_has_no_parts() {
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
