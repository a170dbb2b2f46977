//! Marks in an input: mentions that name something, and the arguments a command takes.
//!
//! Invariant: the marks are drawn at each change of the text, so drawing them is cheap.

use nvim_oxi::mlua;

use super::kit::autocmd::{self, Scope};
use super::kit::buffer;
use super::mentions;
use super::nvim::{self, api};
use super::state;
use acp_core::conversation::mention;
use acp_core::spine::ids::SessionKey;

/// An input with more lines was not written by hand; it gets no marks.
const MAX_LINES: usize = 500;

/// Draws the marks of an input at each change.
pub fn set_up(buf: i32, key: SessionKey) -> mlua::Result<()> {
    let events = ["TextChanged", "TextChangedI", "TextChangedP"];
    let draw = move |_| draw(buf, key);
    autocmd::on("input marks", &events, Scope::Buffer(buf), draw).map(drop)
}

/// Draws the marks of an input.
pub fn draw(buf: i32, key: SessionKey) -> mlua::Result<()> {
    let namespace = nvim::namespace("acp_input")?;
    api::<()>("nvim_buf_clear_namespace", (buf, namespace, 0, -1))?;
    let lines = buffer::lines(buf)?;
    if lines.len() > MAX_LINES {
        return Ok(());
    }
    for (row, line) in lines.iter().enumerate() {
        for found in mention::all(line) {
            if !mentions::is_something(&found, key)? {
                continue;
            }
            let opts = nvim::table([
                ("end_col", nvim::value(found.bytes.end)),
                ("hl_group", nvim::value("AcpMention")),
            ])?;
            let at = (buf, namespace, row, found.bytes.start, opts);
            api::<i32>("nvim_buf_set_extmark", at)?;
        }
    }
    match lines.as_slice() {
        [line] => command(buf, line, key),
        _ => Ok(()),
    }
}

/// Shows the arguments of a command behind it, until the user writes some.
fn command(buf: i32, line: &str, key: SessionKey) -> mlua::Result<()> {
    let Some(name) = line.strip_prefix('/') else {
        return Ok(());
    };
    let hint = state::session(key, |info| {
        let mut commands = info.commands.iter();
        let known = commands.find(|command| command.name == name.trim_end());
        known?.hint.clone()
    });
    let Some(hint) = hint.flatten() else {
        return Ok(());
    };
    let blank = if name.ends_with(' ') { "" } else { " " };
    let text = format!("{blank}{}", hint.replace('\n', " "));
    buffer::set_hint(buf, "acp_input", (0, line.len()), "overlay", text)
}
