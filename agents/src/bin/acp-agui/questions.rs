//! Interrupts of a run: each asks the user for a permission or with a form, and the next run has
//! the answer.
//!
//! Invariant: each interrupt gets one entry, and only a user's answer before its expiry resolves it.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::wire::Wire;

/// The question for an interrupt.
#[derive(Debug, PartialEq)]
enum Question {
    /// Yes or no; the answer has the field `approved`.
    Approval,
    /// A form of this schema; the answer is its content.
    Form(Value),
    /// A form with one field; the answer is its text.
    Text,
}

impl Question {
    fn of(interrupt: &Value) -> Self {
        let schema = &interrupt["responseSchema"];
        let is_flag = schema["properties"]["approved"]["type"] == "boolean";
        let required = schema["required"].as_array();
        let only_flag = required.is_none_or(|names| names.iter().all(|name| name == "approved"));
        match (is_flag && only_flag, schema) {
            (true, _) => Self::Approval,
            (_, Value::Object(_)) => Self::Form(schema.clone()),
            _ if interrupt["toolCallId"].is_string() => Self::Approval,
            _ => Self::Text,
        }
    }
}

/// Asks the user about one interrupt; the result is the entry of the next run.
pub async fn ask(wire: &Wire, session: &str, interrupt: &Value, has_forms: bool) -> Value {
    let expiry = expiry(interrupt);
    let left = expiry.map(|at| (at - Utc::now()).to_std().unwrap_or_default());
    let payload = match left {
        Some(Duration::ZERO) => None,
        left => answer(wire, session, interrupt, has_forms, left).await,
    };
    if payload.is_none() && expiry.is_some_and(|at| at <= Utc::now()) {
        let why = "The agent's question has expired and was dismissed: send a prompt to go on.";
        wire.warn(session, why);
    }
    entry(interrupt, payload)
}

/// Returns when an interrupt can no longer be answered; an agent need not say so.
fn expiry(interrupt: &Value) -> Option<DateTime<Utc>> {
    interrupt["expiresAt"].as_str()?.parse().ok()
}

/// Returns the payload of the user's answer, or nothing without one in time.
async fn answer(
    wire: &Wire,
    session: &str,
    interrupt: &Value,
    has_forms: bool,
    left: Option<Duration>,
) -> Option<Value> {
    match Question::of(interrupt) {
        Question::Approval => approval(wire, session, interrupt, left).await,
        _ if !has_forms => {
            let why = "The agent asked for a form, which this editor does not show: the question \
                       was dismissed.";
            wire.warn(session, why);
            None
        }
        Question::Form(schema) => form(wire, session, interrupt, schema, left).await,
        Question::Text => {
            let field = json!({"type": "string", "title": "Answer"});
            let schema = json!({
                "type": "object", "properties": {"answer": field}, "required": ["answer"],
            });
            let filled = form(wire, session, interrupt, schema, left).await;
            filled.map(|filled| filled["answer"].clone())
        }
    }
}

/// Returns the entry that answers an interrupt, or dismisses it.
pub fn entry(interrupt: &Value, payload: Option<Value>) -> Value {
    let id = &interrupt["id"];
    match payload {
        Some(payload) => json!({"interruptId": id, "status": "resolved", "payload": payload}),
        None => json!({"interruptId": id, "status": "cancelled"}),
    }
}

/// Asks for permission; returns whether the user allows it, or nothing if there is no answer.
pub async fn permission(
    wire: &Wire,
    session: &str,
    call: Value,
    left: Option<Duration>,
) -> Option<bool> {
    let params = json!({"sessionId": session, "toolCall": call, "options": [
        {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
        {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
    ]});
    let asked = wire.ask("session/request_permission", params, left);
    let answer = asked.await.ok()?;
    let chosen = answer.pointer("/outcome/optionId")?.as_str()?;
    Some(chosen == "allow")
}

async fn approval(
    wire: &Wire,
    session: &str,
    interrupt: &Value,
    left: Option<Duration>,
) -> Option<Value> {
    let mut call = json!({"toolCallId": interrupt["toolCallId"]});
    if !interrupt["toolCallId"].is_string() {
        call = json!({
            "toolCallId": format!("interrupt-{}", interrupt["id"].as_str().unwrap_or_default()),
            "title": interrupt["reason"], "kind": "other",
        });
    }
    if let Some(message) = interrupt["message"].as_str() {
        let block = json!({"type": "text", "text": message});
        call["content"] = json!([{"type": "content", "content": block}]);
    }
    let is_allowed = permission(wire, session, call, left).await?;
    Some(json!({"approved": is_allowed}))
}

async fn form(
    wire: &Wire,
    session: &str,
    interrupt: &Value,
    schema: Value,
    left: Option<Duration>,
) -> Option<Value> {
    let message = interrupt["message"].as_str();
    let message = message.or(interrupt["reason"].as_str());
    let params = json!({
        "sessionId": session, "mode": "form", "message": message.unwrap_or("The agent asks:"),
        "requestedSchema": schema,
    });
    let answer = wire.ask("elicitation/create", params, left).await.ok()?;
    (answer["action"] == "accept").then(|| answer["content"].clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_follows_from_the_answer_that_is_expected() {
        let check = |interrupt: Value, want: Question| {
            assert_eq!(Question::of(&interrupt), want, "{interrupt}");
        };
        let flag = json!({"type": "object", "required": ["approved"], "properties": {
            "approved": {"type": "boolean"}, "reason": {"type": "string"},
        }});
        check(json!({"responseSchema": flag}), Question::Approval);
        check(json!({"toolCallId": "c"}), Question::Approval);
        check(json!({"reason": "input_required"}), Question::Text);
        let name = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        let asked = json!({"toolCallId": "c", "responseSchema": name});
        check(asked, Question::Form(name));
        let both = json!({"required": ["approved", "why"], "properties": {
            "approved": {"type": "boolean"}, "why": {"type": "string"},
        }});
        check(json!({"responseSchema": both}), Question::Form(both));
    }
}
