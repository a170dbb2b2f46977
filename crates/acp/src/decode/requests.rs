//! An agent's requests `fs/*` and `session/request_permission`.
//!
//! Invariants: a permission request is never lost, so everything but the session may be missing;
//! the text of a write is accepted unchanged or not at all.

use std::sync::Arc;

use agent_client_protocol_schema::v1;
use serde_json::value::RawValue;

use super::super::message::{
    AgentRequest, OptionKind, PermissionOption, RequestId, SessionId, ToolCallId, ToolCallPatch,
};
use super::super::raw;
use super::{fields, required, session_id, tool_calls};

/// Reads `fs/read_text_file`; `line` and `limit` may be floats or numeric strings.
pub fn read_text_file(params: Option<&RawValue>) -> Result<AgentRequest, String> {
    if let Some(read) = params.and_then(raw::typed::<v1::ReadTextFileRequest>) {
        return Ok(AgentRequest::ReadTextFile {
            session: SessionId(read.session_id.0),
            path: read.path,
            line: read.line,
            limit: read.limit,
        });
    }
    let names = ["sessionId", "path", "line", "limit"];
    let [session, path, line, limit] = fields(params, names)?;
    Ok(AgentRequest::ReadTextFile {
        session: session_id(session)?,
        path: string(path, "path")?.into(),
        line: number(line, "line")?,
        limit: number(limit, "limit")?,
    })
}

/// Reads `fs/write_text_file`; its content must be a string.
pub fn write_text_file(params: Option<&RawValue>) -> Result<AgentRequest, String> {
    if let Some(write) = params.and_then(raw::typed::<v1::WriteTextFileRequest>) {
        return Ok(AgentRequest::WriteTextFile {
            session: SessionId(write.session_id.0),
            path: write.path,
            content: write.content,
        });
    }
    let [session, path, content] = fields(params, ["sessionId", "path", "content"])?;
    Ok(AgentRequest::WriteTextFile {
        session: session_id(session)?,
        path: string(path, "path")?.into(),
        content: string(content, "content")?,
    })
}

/// Reads `session/request_permission`.
///
/// A tool call without an id gets one derived from the request's. Without options, the question is
/// shown and can only be answered with `cancelled`.
pub fn permission(id: &RequestId, params: Option<&RawValue>) -> Result<AgentRequest, String> {
    let [session, tool_call, list] = fields(params, ["sessionId", "toolCall", "options"])?;
    let made_up = || ToolCallId(Arc::from(format!("permission {}", id.0.get())));
    let tool_call = match tool_call.and_then(tool_calls::fields) {
        Some(fields) => fields.patch(made_up),
        None => ToolCallPatch::new(made_up()),
    };
    Ok(AgentRequest::Permission {
        session: session_id(session)?,
        tool_call,
        options: options(list),
    })
}

/// Reads the options in order.
///
/// An option without an id cannot be answered, so it is left out if others have one. If none has an
/// id, the names serve as ids: the agent may recognize them, and the question can be shown.
fn options(list: Option<&RawValue>) -> Vec<PermissionOption> {
    let items = list.and_then(raw::list).unwrap_or_default();
    let options: Vec<_> = items.into_iter().filter_map(option).collect();
    let any_id = options.iter().any(|option| option.id.is_some());
    let usable = options.into_iter().filter(|o| o.id.is_some() || !any_id);
    usable
        .map(|option| PermissionOption {
            id: option.id.unwrap_or_else(|| option.name.clone()),
            name: option.name,
            kind: option.kind,
        })
        .collect()
}

struct ReadOption {
    id: Option<String>,
    name: String,
    kind: OptionKind,
}

/// Reads one option; `None` without an id, name and kind.
fn option(item: &RawValue) -> Option<ReadOption> {
    if let Some(option) = raw::typed::<v1::PermissionOption>(item) {
        return Some(ReadOption {
            id: Some(option.option_id.0.as_ref().to_owned()),
            name: option.name,
            kind: match option.kind {
                v1::PermissionOptionKind::AllowOnce => OptionKind::AllowOnce,
                v1::PermissionOptionKind::AllowAlways => OptionKind::AllowAlways,
                v1::PermissionOptionKind::RejectOnce => OptionKind::RejectOnce,
                v1::PermissionOptionKind::RejectAlways => OptionKind::RejectAlways,
                // The enum is non-exhaustive; an unknown kind never counts as "allow".
                _ => OptionKind::Unknown(String::new()),
            },
        });
    }
    let read = raw::fields(item.get(), ["optionId", "id", "name", "kind"]);
    // A bare string is both id and name.
    let [option_id, id, name, kind] = read.unwrap_or([Some(item), None, None, None]);
    let id = option_id.or(id).and_then(raw::text);
    let kind = kind.and_then(raw::text).unwrap_or_default();
    let name = name.and_then(raw::text).filter(|name| !name.is_empty());
    let name = name.or_else(|| id.clone());
    let name = name.or_else(|| Some(kind.clone()).filter(|kind| !kind.is_empty()))?;
    let kind = option_kind(kind);
    Some(ReadOption { id, name, kind })
}

fn option_kind(kind: String) -> OptionKind {
    match &*kind {
        "allow_once" => OptionKind::AllowOnce,
        "allow_always" => OptionKind::AllowAlways,
        "reject_once" => OptionKind::RejectOnce,
        "reject_always" => OptionKind::RejectAlways,
        _ => OptionKind::Unknown(kind),
    }
}

fn string(field: Option<&RawValue>, name: &str) -> Result<String, String> {
    let raw = required(field, name)?;
    raw::typed(raw).ok_or_else(|| format!("params.{name}: not a string"))
}

fn number(field: Option<&RawValue>, name: &str) -> Result<Option<u32>, String> {
    let Some(raw) = field else {
        return Ok(None);
    };
    let number = raw::whole(raw);
    let number = number.ok_or_else(|| format!("params.{name}: not a whole number from 0"))?;
    Ok(Some(u32::try_from(number).unwrap_or(u32::MAX)))
}
