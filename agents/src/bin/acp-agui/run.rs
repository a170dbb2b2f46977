//! One run: the agent's events become updates for the client and changes of the thread.
//!
//! Invariants: no event is an error of the bridge: an unknown one is shown as it is. The updates
//! depend on the events alone, and the updates with a call's arguments cost in proportion to the
//! arguments' size, however many pieces they arrive in.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::messages::{
    Body, add_call, add_content, arguments, calls, encrypted, message, patched, text,
};
use crate::partial;
use crate::show::{self, Out, result, whole_arguments};

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// The ids of calls that the agent waits for, if it named them, and its interrupts.
    Finished {
        pending: Option<Vec<String>>,
        interrupts: Vec<Value>,
    },
    Cancelled,
    Failed(String),
}

/// A run as far as its events have come.
#[derive(Debug, Default)]
pub struct Run {
    pub end: Option<End>,
    /// Calls of this run, in order.
    calls: Vec<Call>,
    /// Texts that were streamed, by message.
    texts: HashMap<String, String>,
    /// The message and the call that a chunk without an id continues.
    open: Open,
    steps: Vec<(String, &'static str)>,
    /// The tool call under which a sub-agent's updates are shown.
    parents: HashMap<String, String>,
    /// Interrupts that LangGraph announces by custom events, its default.
    announced: Vec<Value>,
    /// An event of the agent's own framework was shown; the others are like it.
    pub is_raw_shown: bool,
}

#[derive(Debug, Default)]
struct Open {
    text: Option<String>,
    thought: Option<String>,
    call: Option<String>,
}

#[derive(Debug)]
struct Call {
    id: String,
    arguments: String,
    /// The length of the arguments when they were last shown, as far as they could be.
    shown: usize,
    is_ended: bool,
}

impl Run {
    /// Applies an event and returns the updates to send.
    pub fn apply(&mut self, event: &Value, body: &mut Body) -> Vec<Value> {
        if self.end.is_some() {
            return Vec::new();
        }
        let mut out = Out {
            parent: self.parents.get(text(event, "subagentRunId")).cloned(),
            updates: Vec::new(),
        };
        self.dispatch(event, body, &mut out);
        out.updates
    }

    fn dispatch(&mut self, event: &Value, body: &mut Body, out: &mut Out) {
        let delta = text(event, "delta");
        match text(event, "type") {
            "TEXT_MESSAGE_START" => self.text_starts(event, body),
            "TEXT_MESSAGE_CONTENT" | "TEXT_MESSAGE_CHUNK" => {
                self.text_starts(event, body);
                if let Some(id) = self.open.text.clone() {
                    self.add_text(&id, delta, body, out);
                }
            }
            "TEXT_MESSAGE_END" => self.open.text = None,
            "REASONING_MESSAGE_START" | "THINKING_TEXT_MESSAGE_START" => {
                self.thought_starts(event, body);
            }
            "REASONING_MESSAGE_CONTENT"
            | "REASONING_MESSAGE_CHUNK"
            | "THINKING_TEXT_MESSAGE_CONTENT" => {
                self.thought_starts(event, body);
                if let Some(id) = self.open.thought.clone() {
                    add_content(body, &id, delta);
                    out.chunk("agent_thought_chunk", &id, delta);
                }
            }
            "REASONING_MESSAGE_END" | "THINKING_TEXT_MESSAGE_END" => self.open.thought = None,
            "REASONING_ENCRYPTED_VALUE" => encrypted(event, body),
            "TOOL_CALL_START" => self.call_starts(event, body, out),
            "TOOL_CALL_ARGS" | "TOOL_CALL_CHUNK" => {
                if !text(event, "toolCallName").is_empty() {
                    self.call_starts(event, body, out);
                }
                let id = Some(text(event, "toolCallId")).filter(|id| !id.is_empty());
                if let Some(id) = id.map(str::to_owned).or_else(|| self.open.call.clone()) {
                    self.add_arguments(&id, delta, body, out);
                }
            }
            "TOOL_CALL_END" => self.call_ends(text(event, "toolCallId"), out),
            "TOOL_CALL_RESULT" => self.call_answered(event, body, out),
            "STATE_SNAPSHOT" => body.state = event["snapshot"].clone(),
            "STATE_DELTA" => {
                if !patched(&mut body.state, &event["delta"]) {
                    out.warn("The agent sent a change that does not fit its state, which stays.");
                }
            }
            "MESSAGES_SNAPSHOT" => self.snapshot(event, body, out),
            "ACTIVITY_SNAPSHOT" => activity(event, body, out),
            "ACTIVITY_DELTA" => activity_changed(event, body, out),
            "STEP_STARTED" => self.step(text(event, "stepName"), "in_progress", out),
            "STEP_FINISHED" => self.step(text(event, "stepName"), "completed", out),
            "SUBAGENT_STARTED" => self.subagent_starts(event, out),
            "SUBAGENT_FINISHED" => self.subagent_ends(event, "completed", out),
            "SUBAGENT_ERROR" => self.subagent_ends(event, "failed", out),
            "RUN_ERROR" => self.end = Some(End::Failed(text(event, "message").to_owned())),
            "RUN_FINISHED" => self.finished(&event["outcome"], out),
            "RUN_STARTED" => body.interrupts.clear(),
            "REASONING_START" | "REASONING_END" | "THINKING_START" | "THINKING_END" => {}
            // Some agents send one for each token.
            "RAW" if std::mem::replace(&mut self.is_raw_shown, true) => {}
            "CUSTOM" if announced(event).is_some() => self.announced.extend(announced(event)),
            kind => {
                let mut unknown = event.as_object().cloned().unwrap_or_default();
                unknown.remove("rawEvent");
                unknown.insert("sessionUpdate".to_owned(), json!(kind));
                out.updates.push(Value::Object(unknown));
            }
        }
    }

    fn text_starts(&mut self, event: &Value, body: &mut Body) {
        let id = text(event, "messageId");
        if id.is_empty() || self.open.text.as_deref() == Some(id) {
            return;
        }
        self.open.text = Some(id.to_owned());
        if message(body, id).is_none() {
            let role = Some(text(event, "role")).filter(|role| !role.is_empty());
            let role = role.unwrap_or("assistant");
            body.messages
                .push(json!({"id": id, "role": role, "content": ""}));
        }
    }

    fn add_text(&mut self, id: &str, delta: &str, body: &mut Body, out: &mut Out) {
        let role = add_content(body, id, delta);
        self.texts.entry(id.to_owned()).or_default().push_str(delta);
        match role {
            "assistant" => out.chunk("agent_message_chunk", id, delta),
            "user" => out.chunk("user_message_chunk", id, delta),
            _ => {}
        }
    }

    fn thought_starts(&mut self, event: &Value, body: &mut Body) {
        let id = match text(event, "messageId") {
            // The older events name no message.
            "" if self.open.thought.is_some() => return,
            "" => crate::threads::uuid(),
            id => id.to_owned(),
        };
        if message(body, &id).is_none() {
            body.messages
                .push(json!({"id": id, "role": "reasoning", "content": ""}));
        }
        self.open.thought = Some(id);
    }

    fn call_starts(&mut self, event: &Value, body: &mut Body, out: &mut Out) {
        let (id, name) = (text(event, "toolCallId"), text(event, "toolCallName"));
        let is_known = self.calls.iter().any(|call| call.id == id);
        if id.is_empty() || is_known {
            return;
        }
        self.open.call = Some(id.to_owned());
        self.calls.push(Call {
            id: id.to_owned(),
            arguments: String::new(),
            shown: 0,
            is_ended: false,
        });
        if !body.is_open(id) {
            let made = json!({
                "id": id, "type": "function", "function": {"name": name, "arguments": ""},
            });
            add_call(body, text(event, "parentMessageId"), id, made);
        }
        out.call(json!({
            "sessionUpdate": "tool_call", "toolCallId": id, "title": name,
            "kind": "other", "status": "pending",
        }));
    }

    fn add_arguments(&mut self, id: &str, delta: &str, body: &mut Body, out: &mut Out) {
        let Some(call) = self.calls.iter_mut().find(|call| call.id == id) else {
            return;
        };
        let is_first = call.arguments.is_empty();
        call.arguments.push_str(delta);
        if let Some(Value::String(kept)) = arguments(body, id) {
            // A run after an interrupt may tell again of a call that an earlier run has made.
            if is_first {
                kept.clear();
            }
            kept.push_str(delta);
        }
        // Each update repeats what came before, so they become rarer as the arguments grow.
        if call.arguments.len() * 8 < call.shown * 9 {
            return;
        }
        call.shown = call.arguments.len();
        if let Some(input) = partial::value(&call.arguments) {
            out.call_update(id, json!({"rawInput": input}));
        }
    }

    fn call_ends(&mut self, id: &str, out: &mut Out) {
        let Some(call) = self.calls.iter_mut().find(|call| call.id == id) else {
            return;
        };
        if !std::mem::replace(&mut call.is_ended, true) {
            let input = whole_arguments(&call.arguments).unwrap_or_else(|_| json!(call.arguments));
            out.call_update(id, json!({"rawInput": input, "status": "in_progress"}));
        }
        self.open.call = None;
    }

    fn call_answered(&mut self, event: &Value, body: &mut Body, out: &mut Out) {
        let id = text(event, "toolCallId");
        body.add_result(
            id,
            json!({
                "id": event["messageId"], "role": "tool", "toolCallId": id,
                "content": event["content"],
            }),
        );
        out.call_update(id, result(&event["content"], "completed"));
    }

    /// Takes the agent's messages as the thread's, and shows those that were not streamed.
    fn snapshot(&mut self, event: &Value, body: &mut Body, out: &mut Out) {
        let Some(new) = event["messages"].as_array() else {
            return;
        };
        let before = std::mem::take(&mut body.messages);
        let last_prompt = new.iter().rposition(|message| message["role"] == "user");
        for message in new.iter().skip(last_prompt.map_or(0, |at| at + 1)) {
            if let Some(message) = self.unseen(message, &before) {
                show::message(&message, out);
            }
        }
        let ids: HashSet<&str> = new.iter().map(|message| text(message, "id")).collect();
        let has = |role| new.iter().any(|message| message["role"] == role);
        let (activities, thoughts) = (has("activity"), has("reasoning"));
        // Messages that only this side keeps stay where they are.
        let mut kept: Vec<Value> = before
            .iter()
            .filter(|message| {
                let is_ours = match text(message, "role") {
                    "activity" => !activities,
                    "reasoning" => !thoughts,
                    _ => false,
                };
                is_ours || ids.contains(text(message, "id"))
            })
            .cloned()
            .collect();
        for message in new {
            let id = text(message, "id");
            match kept.iter_mut().find(|kept| text(kept, "id") == id) {
                Some(kept) => *kept = message.clone(),
                None => kept.push(message.clone()),
            }
        }
        body.messages = kept;
    }

    /// Returns the parts of a snapshot's message that the client has not seen.
    fn unseen(&self, message: &Value, before: &[Value]) -> Option<Value> {
        let id = text(message, "id");
        let mut unseen = message.clone();
        let is_known = before.iter().any(|known| text(known, "id") == id);
        match text(message, "role") {
            "assistant" => {
                let said = text(message, "content").trim();
                // Ids of streamed messages are not always those of the snapshot.
                if is_known || self.texts.values().any(|text| text.trim() == said) {
                    unseen["content"] = Value::Null;
                }
                if let Some(Value::Array(made)) = unseen.get_mut("toolCalls") {
                    let known: HashSet<&Value> = before
                        .iter()
                        .flat_map(calls)
                        .map(|call| &call["id"])
                        .collect();
                    made.retain(|call| !known.contains(&call["id"]));
                }
                Some(unseen)
            }
            "tool" => {
                let call = &message["toolCallId"];
                let is_answered = before.iter().any(|known| known["toolCallId"] == *call);
                (!is_answered).then_some(unseen)
            }
            _ => None,
        }
    }

    fn step(&mut self, name: &str, status: &'static str, out: &mut Out) {
        match self.steps.iter_mut().find(|(step, _)| step == name) {
            Some(step) => step.1 = status,
            None => self.steps.push((name.to_owned(), status)),
        }
        let entry = |(name, status): &(String, &str)| json!({"content": name, "priority": "medium", "status": status});
        let entries: Vec<Value> = self.steps.iter().map(entry).collect();
        out.updates
            .push(json!({"sessionUpdate": "plan", "entries": entries}));
    }

    fn subagent_starts(&mut self, event: &Value, out: &mut Out) {
        let id = text(event, "subagentRunId").to_owned();
        let above = self.parents.get(text(event, "parentSubagentRunId"));
        out.parent = above.cloned();
        let parent = match text(event, "parentToolCallId") {
            "" => {
                let call = format!("subagent-{id}");
                out.call(json!({
                    "sessionUpdate": "tool_call", "toolCallId": call, "kind": "think",
                    "title": event["name"], "status": "in_progress",
                }));
                call
            }
            call => call.to_owned(),
        };
        self.parents.insert(id, parent);
    }

    fn subagent_ends(&mut self, event: &Value, status: &str, out: &mut Out) {
        let id = text(event, "subagentRunId");
        let Some(parent) = self.parents.remove(id) else {
            return;
        };
        out.parent = None;
        // A call of the agent ends with its own result.
        if parent.starts_with("subagent-") {
            out.call_update(&parent, result(&event["message"], status));
        }
    }

    fn finished(&mut self, outcome: &Value, out: &mut Out) {
        for call in &self.calls {
            if !call.is_ended {
                let input = whole_arguments(&call.arguments).unwrap_or_default();
                out.call_update(
                    &call.id,
                    json!({"rawInput": input, "status": "in_progress"}),
                );
            }
        }
        let ids = |list: &Vec<Value>| {
            let ids = list.iter().filter_map(Value::as_str).map(str::to_owned);
            ids.collect::<Vec<_>>()
        };
        let pending = outcome["pendingToolCallIds"].as_array().map(ids);
        let announced = std::mem::take(&mut self.announced);
        let interrupts = outcome["interrupts"].as_array().cloned();
        self.end = Some(match text(outcome, "type") {
            "cancelled" => End::Cancelled,
            _ => End::Finished {
                pending: pending.filter(|pending| !pending.is_empty()),
                interrupts: interrupts.unwrap_or(announced),
            },
        });
    }
}

fn activity(event: &Value, body: &mut Body, out: &mut Out) {
    let id = text(event, "messageId");
    let is_kept = event["replace"] == json!(false);
    match body
        .messages
        .iter_mut()
        .find(|message| text(message, "id") == id)
    {
        Some(message) if message["role"] == "activity" && !is_kept => {
            message["activityType"] = event["activityType"].clone();
            message["content"] = event["content"].clone();
        }
        Some(_) => return,
        None => body.messages.push(json!({
            "id": id, "role": "activity", "activityType": event["activityType"],
            "content": event["content"],
        })),
    }
    if let Some(message) = message(body, id) {
        show::activity(message, out);
    }
}

fn activity_changed(event: &Value, body: &mut Body, out: &mut Out) {
    let id = text(event, "messageId");
    let Some(message) = message(body, id).filter(|message| message["role"] == "activity") else {
        return;
    };
    match patched(&mut message["content"], &event["patch"]) {
        true => show::activity(message, out),
        false => {
            out.warn("The agent sent a change that does not fit its activity, which stays.");
        }
    }
}

/// Returns the interrupt that an event of LangGraph announces.
fn announced(event: &Value) -> Option<Value> {
    let (raw, value) = (&event["rawEvent"], &event["value"]);
    let id = raw["id"]
        .as_str()
        .filter(|_| event["name"] == "on_interrupt")?;
    let message = value["message"]
        .as_str()
        .or(value.as_str())
        .map(str::to_owned);
    let mut interrupt = json!({
        "id": id, "reason": "interrupt", "message": message.unwrap_or_else(|| value.to_string()),
    });
    if raw["response_schema"].is_object() {
        interrupt["responseSchema"] = raw["response_schema"].clone();
    }
    Some(interrupt)
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
