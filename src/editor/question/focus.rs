//! When the window of a question takes the focus by itself.
//!
//! Invariant: only in normal mode, with no key pending, and after [`REST`] without a key.

use std::time::Instant;

use nvim_oxi::mlua;

use super::{REST, field, take_focus, with};
use crate::editor::kit::defer;
use crate::editor::kit::user::{self, Activity};

/// Returns whether the window waits for the focus: the user has not left it.
fn is_wanted() -> bool {
    with(|window| window.question.is_some() && !window.is_left) && !field::is_open()
}

/// Takes the focus after [`REST`] without a key, if the user is in normal mode then.
pub(super) fn wait_for_rest() -> mlua::Result<()> {
    let wait =
        |window: &mut super::Window| std::mem::replace(&mut window.is_waiting_for_rest, true);
    if !is_wanted() || with(wait) {
        return Ok(());
    }
    defer::after("focus of a question", REST, || {
        with(|window| window.is_waiting_for_rest = false);
        if !is_wanted() {
            return Ok(());
        }
        let last_key = with(|window| window.last_key);
        let has_rested = last_key.is_none_or(|last| last.elapsed() >= REST);
        match user::activity()? {
            Activity::Idle | Activity::InMacro if has_rested => take_focus(),
            Activity::Busy => Ok(()),
            _ => wait_for_rest(),
        }
    })
}

/// Watches the keys while a question is open.
pub(super) fn watch_keys() -> mlua::Result<()> {
    match with(|window| window.question.is_some()) {
        true => user::watch_keys("acp_question", || {
            with(|window| window.last_key = Some(Instant::now()));
            Ok(())
        }),
        false => user::ignore_keys("acp_question"),
    }
}
