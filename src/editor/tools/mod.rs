//! The tools' handlers: Lua functions that are run for agents.
//!
//! Invariant: a call that cannot even be begun is answered, by what was wrong.

pub mod door;
pub mod json;
pub mod result;

use std::path::PathBuf;

use nvim_oxi::mlua::{self, Function, IntoLuaMulti, Table, Value};
use serde_json::{Map, Value as Json};

use super::mentions;
use super::nvim;
use super::state::send;
use acp_core::spine::event::Event;
use acp_core::spine::ids::{SessionKey, ToolUseId};
use acp_core::tools::ToolResult;

/// Runs a tool's handler.
///
/// # Errors
/// What the Lua side says of it; the call is answered by that, too.
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
        send(Event::ToolDone { id, result });
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

/// Hands a handler what it has asked for.
///
/// # Errors
/// What the Lua side says of it.
pub fn answer(id: ToolUseId, number: u32, result: Result<Json, String>) -> mlua::Result<()> {
    let (value, why) = match result {
        Ok(json) => (json::to_lua(&json)?, None),
        Err(why) => (Value::Nil, Some(why)),
    };
    call("acp.tools.run", "answer", (id.0, number, value, why))
}

/// Tells a handler that nobody waits for it.
///
/// # Errors
/// What the Lua side says of it.
pub fn stop(id: ToolUseId) -> mlua::Result<()> {
    call("acp.tools.run", "stop", id.0)
}

fn call(module: &str, name: &str, args: impl IntoLuaMulti) -> mlua::Result<()> {
    let require: Function = nvim::lua().globals().get("require")?;
    let module: Table = require.call(module)?;
    module.get::<Function>(name)?.call(args)
}
