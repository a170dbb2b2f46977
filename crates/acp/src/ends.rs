//! Reads a message from its ends: it is still arriving, too long, or not JSON.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value as Json;

/// Returns the name of the tool that a message calls, from the message's beginning.
pub fn called(beginning: &[u8]) -> Option<String> {
    let seen = Seen::in_beginning(beginning);
    seen.name.filter(|_| seen.method == "tools/call")
}

/// Returns the method of a request or a notification, from the message's beginning.
pub(crate) fn method(beginning: &[u8]) -> Option<String> {
    let method = Seen::in_beginning(beginning).method;
    (!method.is_empty()).then_some(method)
}

/// Returns the id of a request as JSON, from the message's beginning or end.
pub fn id(head: &[u8], tail: &[u8]) -> Option<String> {
    let id = Seen::in_beginning(head).id.as_ref().and_then(as_id);
    id.or_else(|| id_at_end(tail))
}

/// Returns the id if it is among the last fields of the message.
///
/// Within a text, quotes are escaped, so the key cannot stand there; within an inner object more
/// than one brace follows.
fn id_at_end(tail: &[u8]) -> Option<String> {
    let key = br#""id""#;
    let mut end = tail.len();
    loop {
        let at = memchr::memmem::rfind(tail.get(..end)?, key)?;
        end = at;
        let is_escaped = at.checked_sub(1).and_then(|i| tail.get(i)) == Some(&b'\\');
        // With a brace in front, the rest is an object that begins with this field.
        let mut object = b"{".to_vec();
        object.extend_from_slice(tail.get(at..)?);
        if !is_escaped
            && let Ok(Ends { id: Some(id) }) = serde_json::from_slice(&object)
            && let Some(id) = as_id(&id)
        {
            return Some(id);
        }
    }
}

#[derive(Deserialize)]
struct Ends {
    id: Option<Json>,
}

fn as_id(id: &Json) -> Option<String> {
    matches!(id, Json::String(_) | Json::Number(_)).then(|| id.to_string())
}

/// The fields of a message that were read before it broke off.
#[derive(Debug, Default)]
struct Seen {
    id: Option<Json>,
    method: String,
    /// The one in the parameters.
    name: Option<String>,
}

impl Seen {
    fn in_beginning(beginning: &[u8]) -> Self {
        let mut seen = Self::default();
        let mut json = serde_json::Deserializer::from_slice(beginning);
        let fields = Fields {
            seen: &mut seen,
            are_params: false,
        };
        // The beginning is cut off, so deserializing fails after some fields; each is stored when
        // read.
        let _ = fields.deserialize(&mut json);
        seen
    }
}

/// Stores the fields of one object as they are read.
struct Fields<'a> {
    seen: &'a mut Seen,
    are_params: bool,
}

impl<'de> DeserializeSeed<'de> for Fields<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let mut id = None;
        while let Some(key) = object.next_key::<String>()? {
            // Another key follows the id, so no digit of the id is missing.
            self.seen.id = id.take().or(self.seen.id.take());
            match (key.as_str(), self.are_params) {
                ("id", false) => id = object.next_value()?,
                ("method", false) => self.seen.method = object.next_value()?,
                ("params", false) => object.next_value_seed(Fields {
                    seen: &mut *self.seen,
                    are_params: true,
                })?,
                ("name", true) => self.seen.name = object.next_value()?,
                _ => drop(object.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_beginning_is_too_odd(text in r#"[{}\[\]":,\\a1 ]{0,40}"#) {
            let _ = called(text.as_bytes());
            let _ = id(text.as_bytes(), text.as_bytes());
        }
    }

    #[test]
    fn a_name_is_read_where_it_belongs_and_nowhere_else() {
        let check = |beginning: &str, name: Option<&str>| {
            assert_eq!(called(beginning.as_bytes()).as_deref(), name, "{beginning}");
        };
        let call = r#"{"method":"tools/call","params":{"name":"a\u0062"#;
        check(&format!("{call}\""), Some("ab"));
        check(call, None);
        check(r#"{"params":{"name":"a"},"method":"tools/call""#, Some("a"));
        check(r#"{"params":{"name":"a"},"method":"tools/cal"#, None);
        check(
            r#"{"method":"tools/call","params":{"arguments":{"name":"a"}"#,
            None,
        );
        check(r#"{"method":"tools/call","name":"a","params":{"#, None);
        check(r#"{"method":"other","params":{"name":"a""#, None);
        check(
            r#"{"method":"tools/call","params":{"_meta":{"a":"}\"{"},"name":"x","#,
            Some("x"),
        );
        check("[1]", None);
        check("", None);
    }

    #[test]
    fn an_id_is_found_at_either_end() {
        let check = |head: &str, tail: &str, expected: Option<&str>| {
            let found = id(head.as_bytes(), tail.as_bytes());
            assert_eq!(found.as_deref(), expected, "{head} {tail}");
        };
        check(r#"{"id":7,"params":{"#, "}}", Some("7"));
        check(
            r#"{"jsonrpc":"2.0","id":"a\"b","params":"#,
            "",
            Some(r#""a\"b""#),
        );
        check(
            r#"{"params":{"id":1,"#,
            r#""}},"jsonrpc":"2.0","id":7}"#,
            Some("7"),
        );
        check(
            "{",
            r#"x"},"id" : "q" , "jsonrpc":"2.0" } "#,
            Some(r#""q""#),
        );
        // Inside a text or an inner object, it is not the message's id.
        check("{", r#"x\"id\":3}"}"#, None);
        check("{", r#"{"id":3}}}"#, None);
        check("{", r#"x","id":8}"#, Some("8"));
        check(r#"{"id":12"#, "", None);
        check(r#"{"id":null,"#, "}", None);
    }
}
