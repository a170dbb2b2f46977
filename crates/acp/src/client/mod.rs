//! Outgoing messages: parameters of the client's calls, and its answers.
//!
//! Invariant: all are built from the official types, so nothing outside the protocol is sent,
//! except where noted. [`super::rpc`] encodes them as lines.

mod answers;
mod elicitation;
mod sessions;
mod terminals;

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use agent_client_protocol_schema::{ProtocolVersion, v1};
use serde::Serialize;
use serde_json::Value;

use super::message::SessionId;
pub use answers::*;
use elicitation::elicitation;
pub use elicitation::{elicitation_accepted, elicitation_cancelled, elicitation_declined};
pub use sessions::*;
pub use terminals::*;

pub const INITIALIZE: &str = "initialize";
pub const PROMPT: &str = "session/prompt";
pub const CANCEL: &str = "session/cancel";
/// Not part of the protocol: agents that have it say so in the `_meta` of `initialize`.
pub const STEER: &str = "_session/steering";

/// The protocol version this client requests. Version 2 is a draft, and requesting it changes how
/// agents behave.
pub const PROTOCOL_VERSION: u16 = ProtocolVersion::V1.as_u16();

/// A block of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptBlock {
    Text(String),
    /// An embedded text; only for agents with `embedded_context`.
    Resource {
        uri: String,
        text: String,
        mime: Option<String>,
    },
    /// A block in the protocol's form; an invalid one is sent as text.
    Raw(Value),
}

/// Returns the parameters of `initialize`: the client's name and capabilities.
pub fn initialize() -> impl Serialize {
    let fs = v1::FileSystemCapabilities::new()
        .read_text_file(true)
        .write_text_file(true);
    let mut meta = v1::Meta::new();
    // Lets agents that run commands themselves report their output for display.
    meta.insert("terminal_output".to_owned(), Value::Bool(true));
    // In pieces, none of which is mistaken for all of it.
    meta.insert("terminal_output_delta".to_owned(), Value::Bool(true));
    // Lets agents report what their sub-agents say and think, marked by the calls that started them.
    meta.insert("subagent-transcript".to_owned(), Value::Bool(true));
    // Some agents announce their log-in commands only to clients that set this.
    meta.insert("terminal-auth".to_owned(), Value::Bool(true));
    let booleans = v1::SessionConfigOptionsCapabilities::new()
        .boolean(v1::BooleanConfigOptionCapabilities::new());
    let session = v1::ClientSessionCapabilities::new()
        .config_options(booleans)
        .notices(v1::NoticeCapabilities::new())
        .compaction(v1::CompactionCapabilities::new());
    let capabilities = v1::ClientCapabilities::new()
        .fs(fs)
        .session(session)
        .subagents(v1::SubagentCapabilities::new())
        .terminal(true)
        .elicitation(elicitation())
        .auth(v1::AuthCapabilities::new().terminal(true))
        .meta(meta);
    let info = v1::Implementation::new("acp.nvim", env!("CARGO_PKG_VERSION")).title("Neovim");
    v1::InitializeRequest::new(ProtocolVersion::V1)
        .client_capabilities(capabilities)
        .client_info(info)
}

/// Returns the parameters of `session/prompt`.
pub fn prompt(session: &SessionId, blocks: Vec<PromptBlock>) -> impl Serialize + use<> {
    let blocks = blocks.into_iter().map(block).collect();
    v1::PromptRequest::new(session.0.clone(), blocks)
}

/// Returns the parameters of `_session/steering`. An agent whose turn has ended gives the words back
/// instead of beginning a turn that no request of the client belongs to.
pub fn steer(session: &SessionId, blocks: Vec<PromptBlock>) -> impl Serialize + use<> {
    let idle = serde_json::json!({ "idleBehavior": "promptRequired" });
    let blocks = blocks.into_iter().map(block).collect();
    v1::PromptRequest::new(session.0.clone(), blocks)
        .meta(v1::Meta::from_iter([("steering".to_owned(), idle)]))
}

/// Returns the parameters of `session/cancel`.
pub fn cancel(session: &SessionId) -> impl Serialize + use<> {
    v1::CancelNotification::new(session.0.clone())
}

/// Returns the answer to `session/request_permission`: the option the user chose.
pub fn selected(option: &str) -> impl Serialize + use<> {
    let outcome = v1::SelectedPermissionOutcome::new(option.to_owned());
    v1::RequestPermissionResponse::new(v1::RequestPermissionOutcome::Selected(outcome))
}

/// Returns the answer to `session/request_permission` when the turn was cancelled.
pub fn cancelled() -> impl Serialize {
    v1::RequestPermissionResponse::new(v1::RequestPermissionOutcome::Cancelled)
}

/// Returns the answer to `fs/read_text_file`.
pub fn file_content(content: String) -> impl Serialize {
    v1::ReadTextFileResponse::new(content)
}

/// Returns the answer to `fs/write_text_file`.
pub fn file_written() -> impl Serialize {
    v1::WriteTextFileResponse::new()
}

/// Returns the `file://` URI of an absolute path, percent-encoded byte by byte.
pub fn file_uri(path: &Path) -> String {
    let mut uri = "file://".to_owned();
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

fn block(block: PromptBlock) -> v1::ContentBlock {
    match block {
        PromptBlock::Text(text) => v1::ContentBlock::Text(v1::TextContent::new(text)),
        PromptBlock::Resource { uri, text, mime } => {
            let text = v1::TextResourceContents::new(text, uri).mime_type(mime);
            let text = v1::EmbeddedResourceResource::TextResourceContents(text);
            v1::ContentBlock::Resource(v1::EmbeddedResource::new(text))
        }
        PromptBlock::Raw(raw) => {
            let text = raw.to_string();
            let as_text = |_| v1::ContentBlock::Text(v1::TextContent::new(text));
            serde_json::from_value(raw).unwrap_or_else(as_text)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn session() -> SessionId {
        SessionId("s".into())
    }

    fn check(sent: impl Serialize, want: Value) {
        assert_eq!(serde_json::to_value(sent).unwrap(), want);
    }

    #[test]
    fn initialize_offers_what_works_and_no_more() {
        check(
            initialize(),
            json!({
                "protocolVersion": 1,
                "clientCapabilities": {
                    "fs": {"readTextFile": true, "writeTextFile": true},
                    "terminal": true,
                    "session": {"compaction": {}, "configOptions": {"boolean": {}}, "notices": {}},
                    "subagents": {},
                    "auth": {"terminal": true},
                    "elicitation": {"form": {}, "url": {}},
                    "_meta": {
                        "terminal_output": true, "terminal_output_delta": true, "subagent-transcript": true, "terminal-auth": true,
                    },
                },
                "clientInfo": {
                    "name": "acp.nvim",
                    "title": "Neovim",
                    "version": env!("CARGO_PKG_VERSION"),
                },
            }),
        );
    }

    #[test]
    fn prompt_and_cancel_match_the_protocol() {
        let blocks = vec![
            PromptBlock::Text("hi".into()),
            PromptBlock::Resource {
                uri: "file:///a".into(),
                text: "x".into(),
                mime: None,
            },
        ];
        check(
            prompt(&session(), blocks),
            json!({"sessionId": "s", "prompt": [
                {"type": "text", "text": "hi"},
                {"type": "resource", "resource": {"text": "x", "uri": "file:///a"}},
            ]}),
        );
        check(cancel(&session()), json!({"sessionId": "s"}));
        check(
            steer(&session(), vec![PromptBlock::Text("hi".into())]),
            json!({
                "sessionId": "s",
                "prompt": [{"type": "text", "text": "hi"}],
                "_meta": {"steering": {"idleBehavior": "promptRequired"}},
            }),
        );
    }

    #[test]
    fn answers_match_the_protocol() {
        check(
            selected("yes"),
            json!({"outcome": {"outcome": "selected", "optionId": "yes"}}),
        );
        check(cancelled(), json!({"outcome": {"outcome": "cancelled"}}));
        check(file_content("a\n".into()), json!({"content": "a\n"}));
        check(file_written(), json!({}));
    }

    #[test]
    fn file_uris_are_percent_encoded() {
        let check = |path: &[u8], want| {
            let path = Path::new(std::ffi::OsStr::from_bytes(path));
            assert_eq!(file_uri(path), want);
        };
        check(b"/home/a/b.rs", "file:///home/a/b.rs");
        check(b"/a b/#1?%", "file:///a%20b/%231%3F%25");
        check("/ä\n".as_bytes(), "file:///%C3%A4%0A");
        check(b"/\xff", "file:///%FF");
    }
}
