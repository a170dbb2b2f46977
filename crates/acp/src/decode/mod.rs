//! Decodes the parameters of an agent's calls tolerantly: with the official type if it loses
//! nothing, else field by field, else as raw JSON.
//!
//! Invariant: an odd part never drops the rest of a message. A call becomes `Invalid` only if no
//! answer to it could make sense.

mod content;
mod elicitation;
mod patch;
mod requests;
mod terminals;
mod tool_calls;
mod updates;

use std::sync::Arc;

use serde_json::value::RawValue;

use super::message::{AgentNotification, AgentRequest, RequestId, SessionId, TerminalCall};
use super::raw;
pub use content::block as content_block;
pub use tool_calls::kind as tool_kind;

const READ: &str = "fs/read_text_file";
const WRITE: &str = "fs/write_text_file";
const PERMISSION: &str = "session/request_permission";
const CREATE: &str = "terminal/create";
const OUTPUT: &str = "terminal/output";
const WAIT: &str = "terminal/wait_for_exit";
const KILL: &str = "terminal/kill";
const RELEASE: &str = "terminal/release";
const ELICIT: &str = "elicitation/create";
const ELICITED: &str = "elicitation/complete";
const UPDATE: &str = "session/update";
const CANCEL: &str = "$/cancel_request";

/// Returns whether this client knows the request `method`.
pub fn is_request(method: &str) -> bool {
    let is_first = matches!(method, READ | WRITE | PERMISSION | ELICIT);
    is_first || matches!(method, CREATE | OUTPUT | WAIT | KILL | RELEASE)
}

/// Returns whether this client knows the notification `method`.
pub fn is_notification(method: &str) -> bool {
    matches!(method, UPDATE | CANCEL | ELICITED)
}

/// Reads a request; `id` replaces the id of a tool call that has none.
pub fn request(id: &RequestId, method: &str, params: Option<&RawValue>) -> AgentRequest {
    let read = match method {
        READ => requests::read_text_file(params),
        WRITE => requests::write_text_file(params),
        PERMISSION => requests::permission(id, params),
        ELICIT => elicitation::create(params),
        CREATE => terminals::create(params),
        OUTPUT => terminals::of_one(params, TerminalCall::Output),
        WAIT => terminals::of_one(params, TerminalCall::WaitForExit),
        KILL => terminals::of_one(params, TerminalCall::Kill),
        RELEASE => terminals::of_one(params, TerminalCall::Release),
        _ => Ok(AgentRequest::Unknown {
            method: method.to_owned(),
        }),
    };
    read.unwrap_or_else(|why| AgentRequest::Invalid {
        method: method.to_owned(),
        why,
    })
}

/// Reads a notification.
pub fn notification(method: &str, params: Option<&RawValue>) -> AgentNotification {
    let read = match method {
        UPDATE => session_update(params),
        CANCEL => cancel_request(params),
        ELICITED => elicitation::complete(params),
        _ if is_request(method) => Err("id: missing".to_owned()),
        _ => Ok(AgentNotification::Unknown {
            method: method.to_owned(),
        }),
    };
    read.unwrap_or_else(|why| AgentNotification::Invalid {
        method: method.to_owned(),
        why,
    })
}

fn session_update(params: Option<&RawValue>) -> Result<AgentNotification, String> {
    let [session, update] = fields(params, ["sessionId", "update"])?;
    Ok(AgentNotification::Update {
        session: session_id(session)?,
        update: updates::update(required(update, "update")?),
    })
}

fn cancel_request(params: Option<&RawValue>) -> Result<AgentNotification, String> {
    // Some implementations use the field name of the Language Server Protocol.
    let [request, id] = fields(params, ["requestId", "id"])?;
    let id = required(request.or(id), "requestId")?;
    Ok(AgentNotification::CancelRequest {
        id: RequestId(Arc::from(id.to_owned())),
    })
}

/// Returns the named fields of a call's parameters.
fn fields<'a, const N: usize>(
    params: Option<&'a RawValue>,
    names: [&str; N],
) -> Result<raw::Fields<'a, N>, String> {
    let params = params.ok_or("params: missing")?;
    raw::fields(params.get(), names).ok_or_else(|| "params: not an object".to_owned())
}

fn required<'a>(field: Option<&'a RawValue>, name: &str) -> Result<&'a RawValue, String> {
    field.ok_or_else(|| format!("params.{name}: missing"))
}

fn session_id(field: Option<&RawValue>) -> Result<SessionId, String> {
    let id = raw::word(required(field, "sessionId")?);
    let id = id.ok_or("params.sessionId: not a string")?;
    Ok(SessionId(Arc::from(&*id)))
}
