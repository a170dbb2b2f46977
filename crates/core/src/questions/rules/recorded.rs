//! Verdicts of rules on requests of real agents.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::asked::Asked;
use super::tests::rules;
use crate::render::toolcall::ToolCall;
use acp::{AgentNotification, AgentRequest, Message, ToolCallId, ToolCallPatch, Update, rpc};

macro_rules! recording {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!(
                "../../../../../tests/fixtures/transcripts/",
                $name,
                ".jsonl"
            )),
        )
    };
}

const RECORDINGS: [(&str, &str); 11] = [
    recording!("claude"),
    recording!("codex"),
    recording!("codex2.ask"),
    recording!("gemini"),
    recording!("opencode"),
    recording!("cline"),
    recording!("codex.cancel"),
    recording!("cline.cancel"),
    recording!("opencode.cancel"),
    recording!("gemini.cancel"),
    recording!("kimicode.cancel"),
];

/// Returns the verdicts on the requests of a recorded conversation, in order.
fn recorded(list: &Value, name: &str) -> Vec<String> {
    let known = RECORDINGS.iter().find(|known| known.0 == name);
    let (_, text) = known.expect("there is such a recording");
    let rules = rules(list);
    let mut calls: HashMap<ToolCallId, ToolCall> = HashMap::new();
    let mut merged = |patch: ToolCallPatch| {
        let id = patch.id.clone();
        let call = calls
            .entry(id)
            .or_insert_with(|| ToolCall::of(patch.clone()));
        call.merge(patch);
        call.clone()
    };
    let mut verdicts = Vec::new();
    for line in text.lines() {
        let Ok(record) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        if record["dir"] != "a>c" {
            continue;
        }
        for message in rpc::decode(record["msg"].to_string().as_bytes()) {
            match message {
                Message::Request {
                    call: AgentRequest::Permission { tool_call, .. },
                    ..
                } => {
                    let asked = Asked::of(&merged(tool_call), name, "/project".as_ref());
                    let verdict = rules.decide(&asked, &["/project".into()]);
                    verdicts.push(format!("{verdict:?}"));
                }
                Message::Notification(AgentNotification::Update {
                    update: Update::ToolCall(patch),
                    ..
                }) => {
                    merged(patch);
                }
                _ => {}
            }
        }
    }
    verdicts
}

#[test]
fn requests_of_real_agents_are_understood() {
    let list = json!([
        { "path": "hello.txt", "action": "allow" },
        { "command": ["echo *", "sleep *"], "action": "allow" },
    ]);
    let allowed = ["Allow([1])"].as_slice();
    // A command with a subshell is not understood; no rule matches the second file.
    for agent in ["claude", "codex", "codex2.ask", "gemini", "opencode"] {
        let got = recorded(&list, agent);
        assert_eq!(got, [allowed, &["Ask"; 2]].concat(), "{agent}");
    }
    // This agent declares its patches as "other".
    assert_eq!(
        recorded(&list, "cline"),
        ["Allow([1])", "Ask", "Ask", "Ask"]
    );
    let other = json!([{ "kind": ["other", "edit"], "path": "*", "action": "allow" }]);
    assert_eq!(
        recorded(&other, "cline"),
        ["Ask", "Allow([1])", "Allow([1])", "Ask"]
    );
    for agent in ["codex.cancel", "cline.cancel", "opencode.cancel"] {
        assert_eq!(recorded(&list, agent), ["Allow([2])"], "{agent}");
    }
    // These requests name a command only in their description: enough to reject it.
    for agent in ["gemini.cancel", "kimicode.cancel"] {
        assert_eq!(recorded(&list, agent), ["Ask"], "{agent}");
        let reject = json!([{ "command": "sleep *", "action": "reject" }]);
        assert_eq!(recorded(&reject, agent), ["Reject(1)"], "{agent}");
    }
}
