//! Recorded messages of real agents: no message of a known meaning may be decoded as unknown, and
//! each field is read or listed here as unread.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::*;

/// A record of a transcript; the README of the fixtures describes the format.
#[derive(Deserialize)]
struct Record<'a> {
    dir: String,
    #[serde(borrow)]
    msg: &'a RawValue,
    shortened: Option<u64>,
}

/// A request of the client.
#[derive(Deserialize)]
struct Request {
    id: u64,
    method: String,
}

/// Notifications that agents send for their own clients only.
const FOREIGN: [&str; 1] = ["_auth/status_update"];

/// Fields and entries of `_meta` that agents send and this client does not use.
const UNREAD: [&str; 13] = [
    // Which account the agent uses: its own log-in page says so.
    "authStatus",
    // Its entries `threadStatus` and `error` are read (`decode::updates`).
    "codex",
    // The tokens of the turn; the session's usage comes as `usage_update`.
    "quota",
    "usage",
    // The model and the cause of a report of usage.
    "_claude/model",
    "_claude/origin",
    // Methods this client does not call, and that sub-agents have sessions, which each of those
    // sessions says.
    "fork",
    "providers",
    "steering",
    "subagents",
    "systemPrompt",
    // The other view of a message between two sessions: one view is shown.
    "recipientMessageId",
    "senderMessageId",
];

/// Decodes every message of the agent in the transcript; returns their number.
fn check(transcript: &str) -> usize {
    let mut checked = 0;
    let mut methods = HashMap::new();
    for line in transcript.lines().filter(|line| !line.trim().is_empty()) {
        let record: Record<'_> = serde_json::from_str(line).unwrap();
        if let ("c>a", Ok(request)) = (&*record.dir, serde_json::from_str(record.msg.get())) {
            let Request { id, method } = request;
            methods.insert(id, method);
        }
        if record.dir != "a>c" || record.shortened.is_some() {
            continue;
        }
        for message in rpc::decode(record.msg.get().as_bytes()) {
            assert_eq!(complaint(&message), None, "{}", record.msg.get());
            if let Message::Response { id, result } = message {
                check_answer(&methods[&id], &result);
            }
            checked += 1;
        }
    }
    checked
}

/// Reads the answer to a request of the client.
fn check_answer(method: &str, result: &Result<Value, RpcError>) {
    let result = result.as_ref().unwrap();
    match method {
        client::INITIALIZE => {
            let agent = client::initialized(result).unwrap();
            assert_eq!(agent.version, client::PROTOCOL_VERSION);
            assert!(agent.agent_name.is_some());
        }
        client::NEW_SESSION => {
            let session = client::session_created(result).unwrap();
            // One agent has no modes; all have a model.
            let model = Purpose::Model.find(&session.options);
            assert!(model.is_some(), "{result}");
        }
        client::PROMPT => {
            let reason = client::stop_reason(result);
            assert!(matches!(
                reason,
                StopReason::EndTurn | StopReason::Cancelled
            ));
        }
        _ => {}
    }
}

/// Returns the problem with a message of a real agent.
fn complaint(message: &Message) -> Option<String> {
    let odd = match message {
        Message::Noise(_) | Message::TooLong { .. } => true,
        Message::Response { .. } => false,
        Message::Request { call, .. } => match call {
            AgentRequest::Invalid { .. } | AgentRequest::Unknown { .. } => true,
            AgentRequest::Permission {
                tool_call, options, ..
            } => {
                options.is_empty()
                    || has_unknown(tool_call)
                    || options
                        .iter()
                        .any(|option| matches!(option.kind, OptionKind::Unknown(_)))
            }
            AgentRequest::Elicitation { .. } | AgentRequest::Terminal { .. } => false,
            AgentRequest::ReadTextFile { path, .. } | AgentRequest::WriteTextFile { path, .. } => {
                !path.is_absolute()
            }
        },
        Message::Notification(notification) => match notification {
            AgentNotification::Invalid { .. } => true,
            AgentNotification::Unknown { method } => !FOREIGN.contains(&&**method),
            AgentNotification::CancelRequest { .. }
            | AgentNotification::ElicitationComplete { .. } => false,
            AgentNotification::Update { update, .. } => match update {
                Update::Unknown { .. } => true,
                Update::Chunk { content, .. } => matches!(content, Content::Unknown { .. }),
                Update::ToolCall(patch) => has_unknown(patch),
                _ => false,
            },
        },
    };
    odd.then(|| format!("{message:?}"))
}

fn has_unknown(patch: &ToolCallPatch) -> bool {
    let content = patch.content.iter().flatten();
    matches!(patch.kind, Some(ToolKind::Unknown(_)))
        || content.into_iter().any(|item| {
            matches!(
                item,
                ToolContent::Unknown { .. } | ToolContent::Content(Content::Unknown { .. })
            )
        })
}

/// Returns the texts of all files with the extension below a folder, except in folders of tests.
fn texts(folder: PathBuf, extension: &str) -> Vec<String> {
    let mut found = Vec::new();
    for file in folder.read_dir().unwrap() {
        let path = file.unwrap().path();
        if path.is_dir() && !path.ends_with("tests") {
            found.extend(texts(path, extension));
        } else if path.extension().is_some_and(|ext| ext == extension) {
            found.push(std::fs::read_to_string(&path).unwrap());
        }
    }
    found
}

fn transcripts() -> Vec<String> {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    texts(
        crate_folder.join("../../tests/fixtures/transcripts"),
        "jsonl",
    )
}

/// Adds the names of the fields of a message's parameters or result, and of the entries in their
/// `_meta`.
fn add_names(message: &Value, names: &mut BTreeSet<String>) {
    let (params, result) = (&message["params"], &message["result"]);
    let capabilities = &result["agentCapabilities"];
    let sessions = &capabilities["sessionCapabilities"];
    for part in [params, &params["update"], result, capabilities, sessions] {
        for of in [part, &part["_meta"]] {
            names.extend(
                of.as_object()
                    .into_iter()
                    .flatten()
                    .map(|(name, _)| name.clone()),
            );
        }
    }
}

#[test]
fn real_agents_are_understood() {
    let checked: usize = transcripts().iter().map(|text| check(text)).sum();
    assert!(checked > 0, "no transcript");
}

#[test]
fn each_field_of_real_agents_is_read_or_listed_as_unread() {
    let mut names = BTreeSet::new();
    for text in transcripts() {
        for line in text.lines().filter(|line| line.contains(r#""dir":"a>c""#)) {
            let record: Value = serde_json::from_str(line).unwrap();
            add_names(&record["msg"], &mut names);
        }
    }
    assert!(names.contains("toolCallId"), "{names:?}");
    let source = texts(Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "rs").concat();
    names.retain(|name| name != "_meta" && !source.contains(&format!("\"{name}\"")));
    let unread = UNREAD.map(str::to_owned).into_iter().collect();
    let new: Vec<_> = names.difference(&unread).collect();
    assert_eq!(new, [""; 0], "read them, or list them in UNREAD");
}

#[test]
fn the_check_of_transcripts_complains() {
    let odd = [
        r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"x"}}}"#,
        r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"t","kind":"x"}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"sessionId":"s"}}"#,
        r#"{"a":1}"#,
    ];
    for line in odd {
        assert!(complaint(&one(line)).is_some(), "{line}");
    }
    let fine = r#"{"t":0,"dir":"a>c","msg":{"jsonrpc":"2.0","id":1,"result":null}}"#;
    let cut = r#"{"t":0,"dir":"a>c","shortened":9,"msg":{"cut":1}}"#;
    let own = r#"{"t":0,"dir":"note","msg":"x"}"#;
    let asked = r#"{"t":0,"dir":"c>a","msg":{"jsonrpc":"2.0","id":1,"method":"x"}}"#;
    assert_eq!(check(&[asked, fine, cut, own].join("\n")), 1);
}
