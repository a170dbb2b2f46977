//! What is marked in an input: mentions that name something, and what a command takes.
//!
//! Invariant: it is looked at as the user writes, so each look is small.

use nvim_oxi::mlua::{self, Table, Value};

use super::nvim::{self, api};
use super::state::snapshot;
use super::{guard, mentions};
use acp_core::conversation::mention;
use acp_core::spine::ids::SessionKey;

/// An input with more text than this was not written by hand: nothing is marked there.
const MAX_LINES: usize = 500;

/// Marks what is written in an input, from now on.
///
/// # Errors
/// What Neovim says of it.
pub fn set_up(buf: i32, key: SessionKey) -> mlua::Result<()> {
    let run = guard::callback("input marks", move |_: Table| draw(buf, key))?;
    let opts = nvim::table([
        ("buffer", nvim::value(buf)),
        ("callback", Value::Function(run)),
    ])?;
    let events = vec!["TextChanged", "TextChangedI", "TextChangedP"];
    api::<i32>("nvim_create_autocmd", (events, opts)).map(drop)
}

/// Marks what is written in an input now.
///
/// # Errors
/// What Neovim says of it.
pub fn draw(buf: i32, key: SessionKey) -> mlua::Result<()> {
    let namespace = nvim::namespace("acp_input")?;
    api::<()>("nvim_buf_clear_namespace", (buf, namespace, 0, -1))?;
    let lines: Vec<String> = api("nvim_buf_get_lines", (buf, 0, -1, false))?;
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
        [line] => command(buf, namespace, line, key),
        _ => Ok(()),
    }
}

/// Shows behind a command what it takes, until that is written.
fn command(buf: i32, namespace: i32, line: &str, key: SessionKey) -> mlua::Result<()> {
    let Some(name) = line.strip_prefix('/') else {
        return Ok(());
    };
    let snapshot = snapshot();
    let info = snapshot.sessions.iter().find(|info| info.session == key);
    let mut commands = info.map_or(&[][..], |info| &info.commands).iter();
    let known = commands.find(|command| command.name == name.trim_end());
    let Some(hint) = known.and_then(|command| command.hint.as_deref()) else {
        return Ok(());
    };
    let blank = if name.ends_with(' ') { "" } else { " " };
    let text = format!("{blank}{}", hint.replace('\n', " "));
    let chunk = nvim::lua().create_sequence_from([text, "AcpPlaceholder".to_owned()])?;
    let opts = nvim::table([
        ("virt_text", nvim::value(vec![chunk])),
        ("virt_text_pos", nvim::value("overlay")),
    ])?;
    api::<i32>(
        "nvim_buf_set_extmark",
        (buf, namespace, 0, line.len(), opts),
    )
    .map(drop)
}
