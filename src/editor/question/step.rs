//! The user's step to a question, and what the window follows while it is open: the cursor, the
//! mode and the sizes of windows.
//!
//! Invariants: the step is a command, a click, or a key of normal mode in a chat's windows that
//! means nothing else there; while a macro is recorded or runs, after a count and after a register
//! the key keeps its meaning. Without a question there are neither autocommands nor keys.

use std::collections::BTreeMap;

use nvim_oxi::mlua::{self, Table};

use super::{dock, draw, focus, permission, reopen, valid_window, with};
use crate::editor::chats;
use crate::editor::keys::{self, Temporary};
use crate::editor::kit::autocmd::{self, Scope};
use crate::editor::kit::{buffer, defer, user, window};
use crate::editor::nvim::{self, api};

/// The watch for clicks, where a window that is passed over gets none.
const CLICKS: &str = "acp_question";

/// The description of the key that leads to the question.
const DESC: &str = "Goes to the question";

/// The autocommands and keys of an open question.
#[derive(Debug, Default)]
pub(super) struct Watching {
    autocommands: Vec<i32>,
    /// Buffers of chats, and the keys that lead to the question there.
    keys: BTreeMap<i32, Temporary>,
}

/// Follows the cursor, the mode and the windows, and maps the key in the windows of chats.
pub(super) fn watch() -> mlua::Result<()> {
    if !with(|window| window.watching.autocommands.is_empty()) {
        return map_key();
    }
    let modes = Scope::Patterns(&["*:n", "*:nt", "*:i", "*:t"]);
    let moves = ["CursorMoved", "CursorMovedI", "TextChangedI"];
    let sizes = ["VimResized", "WinResized"];
    let recording = ["RecordingEnter", "RecordingLeave"];
    let autocommands = vec![
        autocmd::on("question mode", &["ModeChanged"], modes, |_| {
            // `:normal` changes the mode for a moment.
            defer::soon("question mode", draw::arrange)
        })?,
        autocmd::on("question window", &["WinEnter"], Scope::All, |_| {
            map_key()?;
            draw::arrange()
        })?,
        autocmd::on("question tab", &["TabEnter"], Scope::All, |_| reopen())?,
        autocmd::on("question cursor", &moves, Scope::All, |_| give_way())?,
        autocmd::on("question scroll", &["WinScrolled"], Scope::All, |_| {
            draw::scroll_back()?;
            match permission::note_seen()? {
                true => draw::arrange(),
                false => give_way(),
            }
        })?,
        autocmd::on("question macro", &recording, Scope::All, |_| {
            // Neovim still records while it reports the end.
            defer::soon("question macro", draw::arrange)
        })?,
        autocmd::on("question screen", &sizes, Scope::All, |_| draw::arrange())?,
    ];
    with(|window| window.watching.autocommands = autocommands);
    if !draw::takes_clicks()? {
        user::watch_keys(CLICKS, clicked)?;
    }
    map_key()
}

/// Goes to the question if the user clicks on its window.
fn clicked(key: &mlua::String) -> mlua::Result<()> {
    let click: mlua::String = api("nvim_replace_termcodes", ("<LeftMouse>", true, true, true))?;
    let Some((rect, _)) = with(|window| window.placed.clone()).filter(|_| *key == click) else {
        return Ok(());
    };
    let at: Table = nvim::vim_fn("getmousepos", ())?;
    let (row, column) = (
        at.get::<i64>("screenrow")? - 1,
        at.get::<i64>("screencol")? - 1,
    );
    let rows = rect.row..rect.row + rect.height + 2;
    let columns = rect.column..rect.column + rect.width + 2;
    match rows.contains(&row) && columns.contains(&column) && valid_window()?.is_some() {
        // Neovim has not yet gone to the window below.
        true => defer::soon("question click", || focus().map(drop)),
        false => Ok(()),
    }
}

/// Ends what [`watch`] began.
pub(super) fn unwatch() -> mlua::Result<()> {
    let Watching { autocommands, keys } = with(|window| std::mem::take(&mut window.watching));
    autocommands.into_iter().try_for_each(autocmd::remove)?;
    user::ignore_keys(CLICKS)?;
    for (buf, keys) in keys {
        if buffer::is_valid(buf)? {
            keys.remove(buf)?;
        }
    }
    Ok(())
}

/// Moves the window off the cursor's line and the hunk there.
pub(crate) fn give_way() -> mlua::Result<()> {
    let Some((rect, _)) = with(|window| window.placed.clone()) else {
        return Ok(());
    };
    let is_elsewhere = valid_window()?.is_some_and(|win| window::here().ok() != Some(win));
    match is_elsewhere && dock::covers_cursor(rect)? {
        true => draw::arrange(),
        false => Ok(()),
    }
}

/// Returns the buffers of chats, each with the group of its keys.
fn bufs() -> Vec<(i32, &'static str)> {
    chats::with(|chats| {
        let all = chats.by_session.values();
        all.flat_map(|chat| [(chat.transcript, "chat"), (chat.input, "input")])
            .collect()
    })
}

/// Maps the key in the chats that do not have it yet.
pub(super) fn map_key() -> mlua::Result<()> {
    for (buf, group) in bufs() {
        let is_mapped = with(|window| window.watching.keys.contains_key(&buf));
        if is_mapped || !buffer::is_loaded(buf)? {
            continue;
        }
        let mut mapped = Temporary::default();
        for key in keys::of(group, "answer") {
            mapped.add(buf, "n", key, DESC)?;
        }
        keys::bind(buf, &["n"], (group, "answer"), DESC, go)?;
        with(|window| window.watching.keys.insert(buf, mapped));
    }
    Ok(())
}

/// Goes to the question, unless the key ends something else.
fn go(key: &str) -> mlua::Result<()> {
    let v: Table = nvim::vim()?.get("v")?;
    let register: String = v.get("register")?;
    let is_begun = v.get::<i64>("count")? > 0 || !matches!(register.as_str(), "\"" | "*" | "+");
    match is_begun || user::is_recording()? || user::is_in_macro()? {
        true => keys::feed(key),
        false => focus().map(drop),
    }
}

/// Returns how the user gets to the question from here.
pub(super) fn hint() -> mlua::Result<String> {
    let here = buffer::here()?;
    let group = bufs().into_iter().find(|(buf, _)| *buf == here);
    let key = group.and_then(|(_, group)| keys::of(group, "answer").into_iter().next());
    let mode = user::mode()?;
    // While a macro is recorded, the key keeps its meaning.
    let key = key.filter(|_| !user::is_recording().unwrap_or(false));
    Ok(match key {
        Some(key) if mode.starts_with('n') => format!("press {key} and a key to answer"),
        Some(key) if mode.starts_with('i') && key.eq_ignore_ascii_case("<Esc>") => {
            format!("press {key}{key} and a key to answer")
        }
        _ => ":Acp permission to answer".to_owned(),
    })
}
