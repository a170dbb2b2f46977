//! Runs the handlers of tools: Lua functions.
//!
//! Invariant: a call whose handler cannot be started is answered with the error.

pub mod door;
pub mod json;
pub mod result;

use std::path::PathBuf;

use nvim_oxi::mlua::{self, Function, IntoLuaMulti, Table, Value};
use serde_json::{Map, Value as Json};

use super::state::send;
use super::{mentions, nvim};
use acp_core::event::{Event, ToolEvent};
use acp_core::spine::ids::{SessionKey, ToolUseId};
use acp_core::spine::tool::ToolResult;

/// Runs a tool's handler.
///
/// # Errors
/// The Lua side failed; the call is answered with the same error.
pub fn run(
    id: ToolUseId,
    session: SessionKey,
    name: &str,
    roots: &[PathBuf],
    arguments: Map<String, Json>,
) -> mlua::Result<()> {
    let begun = begin(id, session, name, roots, &arguments);
    if let Err(error) = &begun {
        let result = ToolResult::error(nvim::message(error));
        send(Event::Tool(ToolEvent::Done { id, result }));
    }
    begun
}

fn begin(
    id: ToolUseId,
    session: SessionKey,
    name: &str,
    roots: &[PathBuf],
    arguments: &Map<String, Json>,
) -> mlua::Result<()> {
    let roots = roots.iter().map(|root| root.to_string_lossy());
    let roots = nvim::lua().create_sequence_from(roots.map(|root| root.into_owned()))?;
    let cwd = mentions::folder(session)?;
    let about = nvim::table([
        ("id", nvim::value(id.0)),
        ("session", nvim::value(session.0)),
        ("cwd", nvim::value(cwd.to_string_lossy().into_owned())),
        ("roots", Value::Table(roots)),
    ])?;
    let arguments = json::object_to_lua(arguments)?;
    call("acp.tools", "run", (about, name, arguments))
}

/// Passes the reply to a handler's request on to it.
pub fn answer(id: ToolUseId, number: u32, result: Result<Json, String>) -> mlua::Result<()> {
    let (value, why) = match result {
        Ok(json) => (json::to_lua(&json)?, None),
        Err(why) => (Value::Nil, Some(why)),
    };
    call("acp.tools.run", "answer", (id.0, number, value, why))
}

/// Stops a handler whose result is no longer needed.
pub fn stop(id: ToolUseId) -> mlua::Result<()> {
    call("acp.tools.run", "stop", id.0)
}

fn call(module: &str, name: &str, args: impl IntoLuaMulti) -> mlua::Result<()> {
    let require: Function = nvim::lua().globals().get("require")?;
    let module: Table = require.call(module)?;
    module.get::<Function>(name)?.call(args)
}
