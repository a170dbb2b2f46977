//! Sessions of the past, for the Lua side: it wishes, and hears what came of it.

use nvim_oxi::mlua::{self, Function, Table, Value};

use super::nvim;
use super::state::send;
use acp_core::conversation::history::{Granted, Wish};
use acp_core::spine::event::Event;

/// Sends a wish; its answer goes to `granted` of `acp.sessions`, with this number.
pub fn wish(number: u32, wish: Wish) {
    send(Event::Wish { number, wish });
}

/// Hands on what came of a wish.
///
/// # Errors
/// What the Lua side says.
pub fn granted(number: u32, granted: Granted) -> mlua::Result<()> {
    let (value, problem) = match granted {
        Granted::Listed(sessions) => (nvim::data(&sessions)?, None),
        Granted::Exported(Ok(text)) => (nvim::value(text), None),
        Granted::Deleted(Ok(is_agents_gone)) => (Value::Boolean(is_agents_gone), None),
        Granted::Exported(Err(why)) | Granted::Deleted(Err(why)) => (Value::Nil, Some(why)),
    };
    let require: Function = nvim::lua().globals().get("require")?;
    let sessions: Table = require.call("acp.sessions")?;
    let hear: Function = sessions.get("granted")?;
    hear.call((number, value, problem))
}
