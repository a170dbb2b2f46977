//! Default answers to `initialize`, `session/new` and the methods that `defaults` names.
//!
//! Invariant: a method that a step expects never gets its default answer unasked.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::vars::Vars;
use crate::wire::{Message, Out};

/// The default answers of one script.
#[derive(Clone)]
pub struct Defaults {
    answers: Map<String, Value>,
    owned: HashSet<String>,
    vars: Vars,
    sessions: std::sync::Arc<std::sync::atomic::AtomicU32>,
}

/// A default answer.
pub enum Answer {
    Result(Value),
    Error(Value),
    /// Drops the request without an answer.
    Silence,
}

impl Defaults {
    pub fn new(answers: Map<String, Value>, owned: HashSet<String>, vars: Vars) -> Defaults {
        Defaults {
            answers,
            owned,
            vars,
            sessions: Default::default(),
        }
    }

    /// Answers `message` by default, or returns it when the script handles its method.
    ///
    /// # Errors
    /// Names the parameter that the protocol requires and the message lacks.
    pub fn take(&self, message: Message) -> Result<Option<Message>, String> {
        if self.owned.contains(&message.method) {
            return Ok(Some(message));
        }
        let Some(answer) = self.answer(&message)? else {
            return Ok(Some(message));
        };
        // The reader of stdin notices when the client is gone.
        let _ = match (&message.id, answer) {
            (None, _) | (_, Answer::Silence) => Ok(()),
            (Some(id), Answer::Result(result)) => Out.reply(id, &result),
            (Some(id), Answer::Error(error)) => Out.refuse(id, &error),
        };
        Ok(None)
    }

    /// Returns the default answer to `message`, if it has one; saves the id of a new session.
    pub fn answer(&self, message: &Message) -> Result<Option<Answer>, String> {
        let said = self.answers.get(&message.method);
        let mut result = match message.method.as_str() {
            "initialize" => {
                need(message, "protocolVersion", Value::is_u64)?;
                initialized()
            }
            "session/new" => {
                need(message, "mcpServers", Value::is_array)?;
                need(message, "cwd", |cwd| {
                    cwd.as_str().is_some_and(|cwd| cwd.starts_with('/'))
                })?;
                json!({})
            }
            _ if said.is_some() => json!({}),
            _ => return Ok(None),
        };
        match said {
            Some(Value::Bool(false)) => return Ok(Some(Answer::Silence)),
            Some(said) => match said.get("$error") {
                Some(error) => return Ok(Some(Answer::Error(self.vars.fill(error)?))),
                None => merge(&mut result, &self.vars.fill(said)?),
            },
            None => {}
        }
        self.learn(message);
        if message.method == "session/new" {
            self.new_session(&mut result);
        }
        Ok(Some(Answer::Result(result)))
    }

    /// Saves `${cwd}` and `${sid}` from a message of the client.
    pub fn learn(&self, message: &Message) {
        for (name, field) in [("cwd", "cwd"), ("sid", "sessionId")] {
            if let Some(value) = message.params().get(field) {
                self.vars.set(name, value.clone());
            }
        }
    }

    /// Adds an id (`session-1`, …) and saves it as `${sid}` and as `${sid1}`, ….
    fn new_session(&self, result: &mut Value) {
        let number = 1 + self
            .sessions
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if result.get("sessionId").is_none() {
            merge(result, &json!({"sessionId": format!("session-{number}")}));
        }
        let id = result.get("sessionId").cloned().unwrap_or_default();
        self.vars.set(&format!("sid{number}"), id.clone());
        self.vars.set("sid", id);
    }
}

fn need(message: &Message, field: &str, holds: fn(&Value) -> bool) -> Result<(), String> {
    match message.params().get(field) {
        Some(value) if holds(value) => Ok(()),
        value => Err(format!(
            "{} with params.{field} = {}",
            message.method,
            value.unwrap_or(&Value::Null)
        )),
    }
}

fn initialized() -> Value {
    json!({
        "protocolVersion": 1,
        "agentInfo": {"name": "acp-scripted", "title": "Scripted", "version": env!("CARGO_PKG_VERSION")},
        "agentCapabilities": {
            "loadSession": false,
            "promptCapabilities": {"image": true, "audio": true, "embeddedContext": true},
        },
        "authMethods": [],
    })
}

/// Merges the fields of `more` into `value`, nested objects too; `null` removes a field.
fn merge(value: &mut Value, more: &Value) {
    match (value, more) {
        (Value::Object(fields), Value::Object(more)) => {
            for (key, item) in more {
                if item.is_null() {
                    fields.shift_remove(key);
                } else {
                    merge(fields.entry(key).or_insert(Value::Null), item);
                }
            }
        }
        (value, more) => *value = more.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(mut value: Value, more: Value, expected: Value) {
        merge(&mut value, &more);
        assert_eq!(value, expected);
    }

    #[test]
    fn defaults_are_merged_field_by_field() {
        check(
            json!({"a": {"b": 1}}),
            json!({"a": {"c": 2}}),
            json!({"a": {"b": 1, "c": 2}}),
        );
        check(json!({"a": 1, "b": 2}), json!({"a": null}), json!({"b": 2}));
        check(json!({"a": [1]}), json!({"a": [2]}), json!({"a": [2]}));
    }
}
