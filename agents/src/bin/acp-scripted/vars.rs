//! The saved values of a script and the `${name}` placeholders for them.
//!
//! Invariant: a placeholder without a value is an error, never an empty string.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

/// Saved values by name; shared with the thread that sends default answers.
#[derive(Clone, Default)]
pub struct Vars(Arc<Mutex<HashMap<String, Value>>>);

impl Vars {
    pub fn set(&self, name: &str, value: Value) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name.to_owned(), value);
    }

    pub fn get(&self, name: &str) -> Option<Value> {
        if let Some(name) = name.strip_prefix("env:") {
            return std::env::var(name).ok().map(Value::String);
        }
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(name)
            .cloned()
    }

    /// Returns `value` with the placeholders in all its strings filled in.
    ///
    /// A string that is a single placeholder becomes the value itself, of any type.
    pub fn fill(&self, value: &Value) -> Result<Value, String> {
        Ok(match value {
            Value::String(text) => match text
                .strip_prefix("${")
                .and_then(|rest| rest.strip_suffix('}'))
            {
                Some(name) if !name.contains('}') => self.need(name)?,
                _ => Value::String(self.text(text)?),
            },
            Value::Array(items) => Value::Array(
                items
                    .iter()
                    .map(|item| self.fill(item))
                    .collect::<Result<_, _>>()?,
            ),
            Value::Object(fields) => Value::Object(
                fields
                    .iter()
                    .map(|(key, item)| Ok((self.text(key)?, self.fill(item)?)))
                    .collect::<Result<_, String>>()?,
            ),
            other => other.clone(),
        })
    }

    /// Returns `text` with its placeholders filled in; `$${` stands for `${`.
    pub fn text(&self, text: &str) -> Result<String, String> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            if let Some(before) = before.strip_suffix('$') {
                out.push_str(before);
                out.push_str("${");
                rest = after;
                continue;
            }
            let (name, after) = after
                .split_once('}')
                .ok_or_else(|| format!("unclosed placeholder in {text:?}"))?;
            out.push_str(before);
            match self.need(name)? {
                Value::String(value) => out.push_str(&value),
                value => out.push_str(&value.to_string()),
            }
            rest = after;
        }
        out.push_str(rest);
        Ok(out)
    }

    fn need(&self, name: &str) -> Result<Value, String> {
        self.get(name)
            .ok_or_else(|| format!("${{{name}}} has no value"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(value: Value, expected: Result<Value, &str>) {
        let vars = Vars::default();
        vars.set("name", json!("Ada"));
        vars.set("line", json!(7));
        assert_eq!(
            vars.fill(&value).as_ref().map_err(String::as_str),
            expected.as_ref().map_err(|e| *e)
        );
    }

    #[test]
    fn placeholders_are_filled_in() {
        check(
            json!("hi ${name}, line ${line}"),
            Ok(json!("hi Ada, line 7")),
        );
        check(json!("${line}"), Ok(json!(7)));
        check(json!("${name}${line}"), Ok(json!("Ada7")));
        check(
            json!(["${name}", {"k": "${line}", "n": 1}]),
            Ok(json!(["Ada", {"k": 7, "n": 1}])),
        );
        check(json!("$${name} ${name}"), Ok(json!("${name} Ada")));
        check(json!("${unknown}"), Err("${unknown} has no value"));
        check(
            json!("x ${name"),
            Err("unclosed placeholder in \"x ${name\""),
        );
    }
}
