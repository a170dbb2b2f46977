//! The user's keys in a terminal: its mappings, and input for the command.

use nvim_oxi::mlua;

use super::{feed, info, with};
use crate::editor::keys;
use crate::editor::kit::{defer, window};
use crate::editor::notify::notify;
use crate::editor::nvim::api;
use crate::editor::state::send;
use acp_core::event::Event;
use acp_core::spine::effect::Level;
use acp_core::spine::ids::TerminalKey;
use acp_core::terminals::TerminalEvent;
use acp_core::terminals::info::TerminalInfo;

pub(super) fn map_keys(buf: i32, key: TerminalKey) -> mlua::Result<()> {
    keys::bind(
        buf,
        &["n"],
        ("terminal", "close"),
        "Closes the window",
        |_| window::close_here(),
    )?;
    let desc = "Kills the command in the terminal";
    keys::bind(buf, &["n"], ("terminal", "kill"), desc, move |_| kill(key))
}

/// Kills the command in a terminal.
fn kill(key: TerminalKey) -> mlua::Result<()> {
    match why_not(info(key).as_ref()) {
        Some(why) => notify(Level::Info, &why),
        None => {
            send(Event::Terminal(TerminalEvent::Kill { terminal: key }));
            Ok(())
        }
    }
}

/// Returns why the command in a terminal takes no input and cannot be killed, if that is so.
fn why_not(info: Option<&TerminalInfo>) -> Option<String> {
    let Some(info) = info else {
        return Some("The session of this terminal is closed.".to_owned());
    };
    if let Some(end) = info.state.end() {
        return Some(format!(
            "The command has ended ({}).",
            end.trim_end_matches('.')
        ));
    }
    let text = "The agent runs this command itself and only shows what it prints: \
        `:Acp cancel` cancels the turn.";
    (!info.has_process).then(|| text.to_owned())
}

/// Refuses the user's input at once if the command does not take any.
pub(super) fn entered(key: TerminalKey) -> mlua::Result<()> {
    match why_not(info(key).as_ref()) {
        Some(why) => refuse(why),
        None => feed::resume(key),
    }
}

/// Sends the keys that the user typed into a terminal to its command.
pub(super) fn typed(key: TerminalKey, keys: &[u8]) -> mlua::Result<()> {
    if with(|terminals| terminals.is_feeding) {
        return Ok(());
    }
    if let Some(why) = why_not(info(key).as_ref()) {
        // It ended while the user typed.
        return refuse(why);
    }
    send(Event::Terminal(TerminalEvent::Input {
        terminal: key,
        bytes: keys.to_vec(),
    }));
    Ok(())
}

fn refuse(why: String) -> mlua::Result<()> {
    defer::soon("terminal typed into", move || {
        api::<()>("nvim_command", "stopinsert")?;
        notify(Level::Info, &why)
    })
}
