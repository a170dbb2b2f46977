//! Lines in, messages out.

mod elicitation;
mod envelope;
mod random;
mod requests;
mod terminals;
mod tool_calls;
mod transcripts;
mod updates;

use std::sync::Arc;

use serde_json::value::RawValue;

use super::*;

/// Decodes a line with one message.
fn one(line: &str) -> Message {
    let mut messages = rpc::decode(line.as_bytes());
    assert_eq!(messages.len(), 1, "{line}: {messages:?}");
    messages.remove(0)
}

/// Decodes the parameters of a request with the id 7.
fn request(method: &str, params: &str) -> AgentRequest {
    let line = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#);
    match one(&line) {
        Message::Request { id, call } if id == self::id("7") => call,
        other => panic!("{line}: {other:?}"),
    }
}

/// Decodes a `session/update` of the session `s`.
fn update(update: &str) -> Update {
    let line = format!(
        r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{update}}}}}"#
    );
    match one(&line) {
        Message::Notification(AgentNotification::Update { session, update })
            if session == self::session() =>
        {
            update
        }
        other => panic!("{line}: {other:?}"),
    }
}

fn session() -> SessionId {
    SessionId("s".into())
}

fn id(json: &str) -> RequestId {
    RequestId(Arc::from(RawValue::from_string(json.into()).unwrap()))
}

/// Returns a request with bad parameters.
fn invalid(method: &str, why: &str) -> AgentRequest {
    AgentRequest::Invalid {
        method: method.to_owned(),
        why: why.to_owned(),
    }
}

/// Returns a patch with nothing but the id.
fn patch(id: &str) -> ToolCallPatch {
    ToolCallPatch::new(ToolCallId(id.into()))
}
