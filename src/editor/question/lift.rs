//! Keeps the end of a transcript visible beside the window of a question: the transcript scrolls, or
//! the window gives way.
//!
//! Invariants: only a transcript that shows its end scrolls, and not while the user is in it; a
//! second call changes nothing.

use nvim_oxi::mlua;

use super::{dock, draw, valid_window, with};
use crate::editor::chat::{self, show_end};
use crate::editor::chats;
use crate::editor::kit::window;
use crate::editor::nvim::api;

/// Follows the transcript that the tab page shows: its text has changed.
pub(crate) fn follow() -> mlua::Result<()> {
    if valid_window()?.is_none() {
        return Ok(());
    }
    match with(|window| window.words.clone()) == dock::words()? {
        true => lift(),
        false => draw::arrange(),
    }
}

/// Scrolls the transcript that the tab page shows, if the window covers a part of it.
pub(super) fn lift() -> mlua::Result<()> {
    let (Some((rect, _)), Some(_)) = (with(|window| window.placed.clone()), valid_window()?) else {
        return Ok(());
    };
    let tab = window::tab()?;
    let buf = chats::with(|chats| {
        let key = chats.by_tab.get(&tab)?;
        chats.by_session.get(key).map(|chat| chat.transcript)
    });
    let Some(buf) = buf else {
        return Ok(());
    };
    let here = window::here()?;
    for win in chat::following(buf)? {
        if win == here || window::tab_of(win)? != tab {
            continue;
        }
        let at: Vec<i64> = api("nvim_win_get_position", win)?;
        let row = at.first().copied().unwrap_or(0);
        let is_below = rect.row + rect.height + 2 < row + window::height(win)?;
        // The first row is the bar's.
        let room = rect.row - row - 1;
        if !is_below && room > 0 {
            show_end(win, buf, room)?;
            with(|window| window.lifted = Some((win, buf)));
        } else if with(|window| window.lifted == Some((win, buf))) {
            lower()?;
        }
    }
    Ok(())
}

/// Lets the transcript fill its window again.
pub(super) fn lower() -> mlua::Result<()> {
    let Some((win, buf)) = with(|window| window.lifted.take()) else {
        return Ok(());
    };
    match window::is_valid(win)? && chat::following(buf)?.contains(&win) {
        true => show_end(win, buf, window::text_height(win)?),
        false => Ok(()),
    }
}
