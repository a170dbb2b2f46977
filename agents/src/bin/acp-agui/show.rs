//! Messages and calls as updates for the client.

use serde_json::{Map, Value, json};

use crate::messages::{Body, calls, text};

/// The updates of one event.
pub struct Out {
    /// The call of the sub-agent that sent the event.
    pub parent: Option<String>,
    pub updates: Vec<Value>,
}

impl Out {
    pub fn chunk(&mut self, kind: &str, message: &str, text: &str) {
        if !text.is_empty() {
            self.call(json!({
                "sessionUpdate": kind, "messageId": message,
                "content": {"type": "text", "text": text},
            }));
        }
    }

    pub fn call_update(&mut self, id: &str, fields: Value) {
        let mut update = Map::new();
        update.insert("sessionUpdate".to_owned(), json!("tool_call_update"));
        update.insert("toolCallId".to_owned(), json!(id));
        if let Value::Object(fields) = fields {
            update.extend(fields);
        }
        self.call(Value::Object(update));
    }

    /// Adds an update, below the sub-agent's call if one sent it.
    pub fn call(&mut self, mut update: Value) {
        if let Some(parent) = &self.parent {
            // The field by which clients recognize what a sub-agent does.
            update["_meta"] = json!({"claudeCode": {"parentToolUseId": parent}});
        }
        self.updates.push(update);
    }

    pub fn warn(&mut self, text: &str) {
        self.updates
            .push(json!({"sessionUpdate": "notice", "severity": "warning", "title": text}));
    }
}

/// Returns the updates that show a thread's messages again.
pub fn replayed(body: &Body) -> Vec<Value> {
    let mut out = Out {
        parent: None,
        updates: Vec::new(),
    };
    for message in &body.messages {
        self::message(message, &mut out);
    }
    out.updates
}

/// Shows a message with its calls.
pub fn message(message: &Value, out: &mut Out) {
    let (id, content) = (text(message, "id"), &message["content"]);
    match text(message, "role") {
        "user" => {
            for block in blocks(content) {
                out.updates.push(json!({
                    "sessionUpdate": "user_message_chunk", "messageId": id, "content": block,
                }));
            }
        }
        "assistant" => out.chunk("agent_message_chunk", id, text(message, "content")),
        "reasoning" => out.chunk("agent_thought_chunk", id, text(message, "content")),
        "activity" => activity(message, out),
        "tool" => {
            let status = match message["error"].is_null() {
                true => "completed",
                false => "failed",
            };
            out.call_update(text(message, "toolCallId"), result(content, status));
        }
        _ => {}
    }
    for call in calls(message) {
        let function = &call["function"];
        let input = whole_arguments(text(function, "arguments")).unwrap_or_default();
        out.call(json!({
            "sessionUpdate": "tool_call", "toolCallId": call["id"],
            "title": function["name"], "kind": "other", "status": "in_progress",
            "rawInput": input,
        }));
    }
}

/// Returns a call's fields with its result.
pub fn result(content: &Value, status: &str) -> Value {
    let blocks = blocks(content);
    let content: Vec<Value> = blocks
        .into_iter()
        .map(|block| json!({"type": "content", "content": block}))
        .collect();
    json!({"status": status, "content": content})
}

/// Returns the arguments of a complete call.
pub fn whole_arguments(text: &str) -> Result<Value, String> {
    match text.trim() {
        // A call without arguments need not send an object.
        "" => Ok(json!({})),
        text => serde_json::from_str(text).map_err(|why| why.to_string()),
    }
}

/// Converts the content of a message to the client's blocks.
fn blocks(content: &Value) -> Vec<Value> {
    let Value::Array(parts) = content else {
        let text = content.as_str().map(str::to_owned);
        let text = text.or_else(|| (!content.is_null()).then(|| content.to_string()));
        let block = text.filter(|text| !text.is_empty());
        return block
            .map(|text| json!({"type": "text", "text": text}))
            .into_iter()
            .collect();
    };
    parts
        .iter()
        .map(|part| {
            let (source, kind) = (&part["source"], text(part, "type"));
            match (kind, text(source, "type")) {
                ("text", _) => json!({"type": "text", "text": part["text"]}),
                ("image" | "audio", "data") => json!({
                    "type": kind, "data": source["value"], "mimeType": source["mimeType"],
                }),
                (_, "url") => json!({
                    "type": "resource_link", "name": kind, "uri": source["value"],
                }),
                _ => json!({"type": "text", "text": format!("[{kind}]")}),
            }
        })
        .collect()
}

/// Shows an activity with its content.
pub fn activity(message: &Value, out: &mut Out) {
    let content = serde_json::to_string_pretty(&message["content"]).unwrap_or_default();
    let shown = json!(format!("```json\n{content}\n```"));
    let mut update = json!({
        "sessionUpdate": "tool_call", "kind": "other", "title": message["activityType"],
        "toolCallId": format!("activity-{}", text(message, "id")),
    });
    if let (Value::Object(update), Value::Object(result)) =
        (&mut update, result(&shown, "completed"))
    {
        update.extend(result);
    }
    out.call(update);
}
