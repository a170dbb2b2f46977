//! What is answered without a word in the script: `initialize`, `session/new`, and the methods
//! that `defaults` names.
//!
//! Invariant: a method that some step expects is never answered here.

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
    /// The request is taken and never answered.
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

    /// Answers `message` if that is not the script's business, else gives it back.
    ///
    /// # Errors
    /// What the protocol demands of the message and it lacks.
    pub fn take(&self, message: Message) -> Result<Option<Message>, String> {
        if self.owned.contains(&message.method) {
            return Ok(Some(message));
        }
        let Some(answer) = self.answer(&message)? else {
            return Ok(Some(message));
        };
        // A client that is gone shows as the end of stdin.
        let _ = match (&message.id, answer) {
            (None, _) | (_, Answer::Silence) => Ok(()),
            (Some(id), Answer::Result(result)) => Out.reply(id, &result),
            (Some(id), Answer::Error(error)) => Out.refuse(id, &error),
        };
        Ok(None)
    }

    /// Returns the default answer to `message`, if there is one; a new session is saved.
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

    /// Saves `${cwd}` and `${sid}` from a message of the client's.
    pub fn learn(&self, message: &Message) {
        for (name, field) in [("cwd", "cwd"), ("sid", "sessionId")] {
            if let Some(value) = message.params().get(field) {
                self.vars.set(name, value.clone());
            }
        }
    }

    /// Names the new session (`session-1`, …) and saves it as `${sid}` and `${sid1}`, ….
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

/// Puts the fields of `more` into `value`, objects into objects; `null` takes a field away.
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
    fn defaults_are_changed_field_by_field() {
        check(
            json!({"a": {"b": 1}}),
            json!({"a": {"c": 2}}),
            json!({"a": {"b": 1, "c": 2}}),
        );
        check(json!({"a": 1, "b": 2}), json!({"a": null}), json!({"b": 2}));
        check(json!({"a": [1]}), json!({"a": [2]}), json!({"a": [2]}));
    }
}
