//! The tools' handlers: Lua functions that are run for agents.

pub mod door;

use nvim_oxi::mlua;
use serde_json::{Map, Value as Json};

use crate::core::ids::{SessionKey, ToolUseId};

/// Runs a tool's handler.
pub fn run(
    _id: ToolUseId,
    _session: SessionKey,
    _name: &str,
    _arguments: Map<String, Json>,
) -> mlua::Result<()> {
    Ok(())
}

/// Hands a handler what it has asked for.
pub fn answer(_id: ToolUseId, _number: u32, _result: Result<Json, String>) -> mlua::Result<()> {
    Ok(())
}

/// Tells a handler that nobody waits for it.
pub fn stop(_id: ToolUseId) -> mlua::Result<()> {
    Ok(())
}
