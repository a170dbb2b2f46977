//! `elicitation/create` and `elicitation/complete`: questions to the user.
//!
//! Invariant: a question is refused only if it cannot be shown or answered; its scope, message and
//! id may be missing.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::super::message::{
    AgentNotification, AgentRequest, ElicitationMode, ElicitationScope, SessionId, ToolCallId,
};
use super::super::raw;
use super::{fields, required};

/// Reads `elicitation/create`.
///
/// A missing mode is inferred from the other fields. A form without a schema only asks for the
/// user's consent.
pub fn create(params: Option<&RawValue>) -> Result<AgentRequest, String> {
    let names = [
        "mode",
        "sessionId",
        "toolCallId",
        "requestId",
        "message",
        "requestedSchema",
        "url",
        "elicitationId",
    ];
    let [mode, session, tool, request, message, schema, url, id] = fields(params, names)?;
    let mode = match mode.and_then(raw::text) {
        Some(mode) => mode,
        None if url.is_some() && schema.is_none() => "url".to_owned(),
        None => "form".to_owned(),
    };
    let mode = match &*mode {
        "form" => ElicitationMode::Form {
            schema: form_schema(schema)?,
        },
        "url" => ElicitationMode::Url {
            url: raw::text(required(url, "url")?).ok_or("params.url: not a string")?,
            id: id.and_then(raw::text).unwrap_or_default(),
        },
        other => {
            let why = format!("params.mode: \"{other}\" is none of those offered: form, url");
            return Err(why);
        }
    };
    Ok(AgentRequest::Elicitation {
        scope: scope(session, request),
        tool: tool
            .and_then(raw::word)
            .map(|id| ToolCallId(Arc::from(&*id))),
        message: message.and_then(raw::text).unwrap_or_default(),
        mode,
    })
}

/// Reads `elicitation/complete`.
pub fn complete(params: Option<&RawValue>) -> Result<AgentNotification, String> {
    let [id] = fields(params, ["elicitationId"])?;
    let id = raw::text(required(id, "elicitationId")?);
    let id = id.ok_or("params.elicitationId: not a string")?;
    Ok(AgentNotification::ElicitationComplete { id })
}

fn scope(session: Option<&RawValue>, request: Option<&RawValue>) -> ElicitationScope {
    if let Some(session) = session.and_then(raw::word) {
        return ElicitationScope::Session(SessionId(Arc::from(&*session)));
    }
    match request.and_then(raw::whole) {
        Some(id) => ElicitationScope::Request(id),
        None => ElicitationScope::Agent,
    }
}

fn form_schema(schema: Option<&RawValue>) -> Result<serde_json::Value, String> {
    let schema = schema.map(raw::value).unwrap_or_default();
    match schema.is_object() || schema.is_null() {
        true => Ok(schema),
        false => Err("params.requestedSchema: not an object".to_owned()),
    }
}
