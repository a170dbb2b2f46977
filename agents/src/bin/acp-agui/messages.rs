//! The messages and the state of a thread, as the protocol has them, and their changes.
//!
//! Invariant: a change that does not fit leaves everything as before.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::partial;
use crate::show::whole_arguments;
use crate::threads::uuid;

/// The part of a thread that each run contains.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Body {
    /// Messages as the protocol has them.
    pub messages: Vec<Value>,
    pub state: Value,
    /// Interrupts that the next run has to answer.
    pub interrupts: Vec<Value>,
}

impl Body {
    /// Returns the place of the message that made a call.
    pub fn owner(&self, call: &str) -> Option<usize> {
        self.messages
            .iter()
            .rposition(|message| calls(message).any(|made| made["id"] == call))
    }

    /// Returns the calls since the user's last message that have no result, in order.
    pub fn open_calls(&self) -> Vec<String> {
        let is_prompt = |message: &Value| message["role"] == "user";
        let first = self.messages.iter().rposition(is_prompt).unwrap_or(0);
        let made = self.messages.iter().skip(first).flat_map(calls);
        let ids = made.filter_map(|call| call["id"].as_str());
        ids.filter(|id| self.is_open(id))
            .map(str::to_owned)
            .collect()
    }

    /// Returns whether a call has no result. Some agents use an id again for a later call.
    pub fn is_open(&self, call: &str) -> bool {
        self.owner(call).is_some_and(|owner| {
            let after = self.messages.get(owner + 1..).unwrap_or_default();
            !after.iter().any(|message| message["toolCallId"] == call)
        })
    }

    /// Adds a call's result after its call and the results already behind that.
    pub fn add_result(&mut self, call: &str, result: Value) {
        let is_result = |message: &&Value| message["role"] == "tool";
        let at = match self.owner(call) {
            Some(owner) => {
                let after = self.messages.get(owner + 1..).unwrap_or_default();
                owner + 1 + after.iter().take_while(is_result).count()
            }
            None => self.messages.len(),
        };
        self.messages.insert(at, result);
    }

    /// Answers each open call with an error, except those that an interrupt is about: a model
    /// refuses a conversation in which a call has no result, or half its arguments.
    pub fn settle(&mut self, why: &str) {
        let asked = |id: &Value| self.interrupts.iter().any(|open| open["toolCallId"] == *id);
        let made = self.messages.iter().flat_map(calls).map(|call| &call["id"]);
        let open = made.filter(|id| !asked(id)).filter_map(Value::as_str);
        let open: BTreeSet<String> = open
            .filter(|id| self.is_open(id))
            .map(str::to_owned)
            .collect();
        for call in open {
            complete_arguments(self, &call);
            self.add_result(&call, failed_result(&call, why));
        }
    }
}

/// Returns the calls that a message makes.
pub fn calls(message: &Value) -> impl Iterator<Item = &Value> {
    message["toolCalls"].as_array().into_iter().flatten()
}

/// Returns the message that says why a call has no other result.
pub fn failed_result(call: &str, why: &str) -> Value {
    json!({"id": uuid(), "role": "tool", "toolCallId": call, "content": why, "error": why})
}

/// Applies a JSON Patch, as a whole or not.
pub fn patched(value: &mut Value, patch: &Value) -> bool {
    let patch: Option<json_patch::Patch> = serde_json::from_value(patch.clone()).ok();
    patch.is_some_and(|patch| json_patch::patch(value, &patch).is_ok())
}

/// Keeps what a provider wants to see again with a message or a call.
pub fn encrypted(event: &Value, body: &mut Body) {
    let (id, value) = (&event["entityId"], event["encryptedValue"].clone());
    for message in body.messages.iter_mut().rev() {
        if event["subtype"] == "message" && message["id"] == *id {
            message["encryptedValue"] = value;
            return;
        }
        let calls = message.get_mut("toolCalls").and_then(Value::as_array_mut);
        let call = calls.into_iter().flatten().find(|call| call["id"] == *id);
        if let Some(call) = call.filter(|_| event["subtype"] == "tool-call") {
            call["encryptedValue"] = value;
            return;
        }
    }
}

/// Adds a call to the message that made it, or to a new one.
pub fn add_call(body: &mut Body, parent: &str, id: &str, made: Value) {
    let role = message(body, parent).map(|message| message["role"].clone());
    if role != Some(json!("assistant")) {
        let is_free = !parent.is_empty() && role.is_none();
        let own = if is_free { parent } else { id };
        body.messages
            .push(json!({"id": own, "role": "assistant", "toolCalls": [made]}));
        return;
    }
    let calls = message(body, parent).and_then(Value::as_object_mut);
    let calls = calls.map(|message| message.entry("toolCalls").or_insert(json!([])));
    if let Some(Value::Array(calls)) = calls {
        calls.push(made);
    }
}

/// Returns the arguments of the last call with this id, as far as they have arrived.
pub fn arguments<'a>(body: &'a mut Body, id: &str) -> Option<&'a mut Value> {
    let owner = body.owner(id)?;
    let calls = body.messages.get_mut(owner)?.get_mut("toolCalls")?;
    let call = calls
        .as_array_mut()?
        .iter_mut()
        .find(|call| call["id"] == id)?;
    call.get_mut("function")?.get_mut("arguments")
}

/// Closes the arguments of a call that have arrived in part.
fn complete_arguments(body: &mut Body, id: &str) {
    if let Some(Value::String(kept)) = arguments(body, id)
        && whole_arguments(kept).is_err()
    {
        let begun = partial::value(kept).unwrap_or_else(|| json!({}));
        *kept = begun.to_string();
    }
}

/// Adds text to a message and returns its role.
pub fn add_content<'a>(body: &'a mut Body, id: &str, delta: &str) -> &'a str {
    let Some(message) = message(body, id) else {
        return "";
    };
    let fields = message.as_object_mut();
    let content = fields.map(|fields| fields.entry("content").or_insert(json!("")));
    if let Some(Value::String(content)) = content {
        content.push_str(delta);
    }
    text(message, "role")
}

/// Returns the message with this id; the latest are looked at first.
pub fn message<'a>(body: &'a mut Body, id: &str) -> Option<&'a mut Value> {
    let mut messages = body.messages.iter_mut().rev();
    messages.find(|message| text(message, "id") == id)
}

/// Returns a field's text, or none.
pub fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_open_call_is_settled_but_those_asked_about() {
        let call = |id: &str| {
            let function = json!({"name": "t", "arguments": "{\"path\":\"a"});
            json!({"id": id, "type": "function", "function": function})
        };
        let mut body = Body {
            messages: vec![
                json!({"role": "assistant", "toolCalls": [call("a"), call("b"), call("c")]}),
                json!({"role": "tool", "toolCallId": "b"}),
                json!({"role": "user"}),
            ],
            interrupts: vec![json!({"id": "i", "toolCallId": "c"})],
            ..Body::default()
        };
        body.settle("Stopped.");
        let roles: Vec<_> = body
            .messages
            .iter()
            .map(|message| &message["role"])
            .collect();
        assert_eq!(roles, ["assistant", "tool", "tool", "user"]);
        assert_eq!(body.messages[2]["toolCallId"], "a");
        assert_eq!(body.messages[2]["error"], "Stopped.");
        let arguments = |at: usize| &body.messages[0]["toolCalls"][at]["function"]["arguments"];
        assert_eq!(arguments(0), "{\"path\":\"a\"}");
        assert_eq!(arguments(2), "{\"path\":\"a");
    }
}
