//! Sub-agents with separate sessions.

use serde_json::{Value as Json, json};

use super::talk::{self, ended, open, wait_said};

/// Returns a step that sends an update of the sub-agent's session.
fn of_child(update: Json) -> Json {
    json!({ "update": update, "session": "child" })
}

#[test]
fn a_sub_agents_session_is_folded_asks_by_its_name_and_is_cancelled() {
    let steps = [
        json!({ "expect": "session/prompt", "as": "p" }),
        json!({ "update": {
            "sessionUpdate": "subagent_update", "sessionId": "child", "title": "Look around",
            "description": "general", "capabilities": { "cancel": {} },
            "state": { "state": "running" },
        }}),
        of_child(json!({
            "sessionUpdate": "agent_message_chunk",
            "content": { "type": "text", "text": "I look at it." },
        })),
        of_child(json!({
            "sessionUpdate": "tool_call", "toolCallId": "a", "title": "Write it", "kind": "edit",
            "status": "pending",
        })),
        json!({ "request": "session/request_permission", "as": "q", "params": {
            "sessionId": "child",
            "toolCall": { "toolCallId": "a" },
            "options": [{ "optionId": "yes", "name": "Allow", "kind": "allow_once" }],
        }}),
        json!({ "await": "q", "result": { "outcome": { "outcome": "cancelled" } } }),
        json!({ "expect": "session/cancel", "params": { "sessionId": "${sid}" } }),
        json!({ "expect": "session/cancel", "params": { "sessionId": "child" } }),
        json!({ "update": {
            "sessionUpdate": "subagent_update", "sessionId": "child",
            "state": { "state": "idle", "stopReason": "cancelled" },
        }}),
        json!({ "end": "p", "reason": "cancelled" }),
    ];
    let lines: Vec<String> = steps.iter().map(Json::to_string).collect();
    let project = super::harness::Project::new().agent("scripted", &lines.join("\n"));
    let nvim = project.size(110, 30).start();
    open(&nvim);
    talk::prompt(&nvim, "hi");
    nvim.wait_text("sub-agent  Look around");
    wait_said(
        &nvim,
        "sub-agent  Look around  in progress · 1 call, 1 running",
    );
    nvim.wait_text("I look at it.");
    nvim.wait_text("asks for permission");
    nvim.cmd("Acp cancel");
    nvim.wait("the end of the turn", || ended(&nvim) == ["cancelled"]);
    nvim.wait_script("scripted");
    wait_said(&nvim, "sub-agent  Look around  cancelled · 1 call");
    nvim.quit();
}
