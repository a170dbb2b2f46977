//! Sessions of the past: sends the Lua side's requests to the core, and passes the replies back.

use nvim_oxi::mlua::{self, Function, Table, Value};

use super::nvim;
use super::state::send;
use acp_core::conversation::history::state::Wish;
use acp_core::event::{ConversationEvent, Event};
use acp_core::spine::history::Granted;

/// Sends a request; its reply goes to `granted` of `acp.sessions`, with this number.
pub fn wish(number: u32, wish: Wish) {
    send(Event::Conversation(ConversationEvent::Wish {
        number,
        wish,
    }));
}

/// Passes the reply to the Lua side.
///
/// # Errors
/// The Lua side's error.
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
