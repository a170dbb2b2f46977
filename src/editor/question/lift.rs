//! Keeps the end of a transcript visible beside the window of a question: the transcript scrolls, or
//! the window gives way.
//!
//! Invariants: only a transcript that shows its end scrolls, and not while the user is in it; a
//! second call changes nothing.

use nvim_oxi::mlua::{self, Table};

use super::draw::rows_of;
use super::{dock, draw, valid_window, with};
use crate::editor::kit::window;
use crate::editor::nvim::{self, api};
use crate::editor::{chat, chats};

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
        true => show_end(win, buf, window::height(win)? - 1),
        false => Ok(()),
    }
}

/// Scrolls a window so that the last lines of its buffer take at most this many of its upper rows.
/// A scroll command would change the mode for a moment.
fn show_end(win: i32, buf: i32, room: i64) -> mlua::Result<()> {
    let last: usize = api("nvim_buf_line_count", buf)?;
    let mut top = first_of_end(last, |top| Ok(rows_of(win, top - 1, last)? <= room))?;
    // Of a line that is too high, the last rows.
    let left = room - rows_of(win, top - 1, last)?;
    let mut skipped = 0;
    if top > 1 && left > 0 {
        top -= 1;
        let above = rows_of(win, top - 1, top)?;
        skipped = (above - left).max(0) * window::width(win)?;
    }
    let view: Table = window::call(win, || nvim::vim_fn("winsaveview", ()))?;
    let shown = (view.get::<usize>("topline")?, view.get::<i64>("skipcol")?);
    let wanted = [
        ("topline", nvim::value(top)),
        ("skipcol", nvim::value(skipped)),
    ];
    match shown == (top, skipped) {
        true => Ok(()),
        false => window::set_view(win, nvim::table(wanted)?),
    }
}

/// Returns the first line from which on all lines fit, as `fits` says of each; the last one if not
/// even that fits. Of thousands of lines, it asks for a few.
fn first_of_end(last: usize, fits: impl Fn(usize) -> mlua::Result<bool>) -> mlua::Result<usize> {
    let (mut fitting, mut step) = (last, 1);
    while fitting > step && fits(fitting - step)? {
        fitting -= step;
        step *= 2;
    }
    // Lines above `fitting - step` do not fit either, nor is there a line 0.
    let mut too_many = fitting.saturating_sub(step);
    while fitting - too_many > 1 {
        let middle = too_many + (fitting - too_many) / 2;
        match fits(middle)? {
            true => fitting = middle,
            false => too_many = middle,
        }
    }
    Ok(fitting)
}

#[cfg(test)]
mod tests {
    use super::first_of_end;

    #[test]
    fn the_first_line_of_the_end_is_found_for_any_number_of_lines() {
        for last in 1..70 {
            for first in 1..=last {
                let found = first_of_end(last, |line| Ok(line >= first));
                assert_eq!(found.expect("nothing fails"), first, "of {last}");
            }
        }
        let found = first_of_end(9, |_| Ok(false));
        assert_eq!(found.expect("nothing fails"), 9);
    }
}
