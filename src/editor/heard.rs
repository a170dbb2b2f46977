//! Checks whether an autocommand may handle a `User` event: frequent events are triggered only if
//! one does.
//!
//! Invariant: the answer is cached only while nothing else can run.

use std::cell::Cell;

use nvim_oxi::mlua::{self, Table};

use super::nvim::{self, api};
use acp_core::conversation::progress::may_match;

thread_local! {
    /// An autocommand handles the plugin's events, or all `User` events.
    static HEARD: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Drops the cached answer.
pub fn forget() {
    HEARD.set(None);
}

/// Returns whether an autocommand may handle one of the plugin's `User` events.
pub fn is_any() -> mlua::Result<bool> {
    if let Some(is_any) = HEARD.get() {
        return Ok(is_any);
    }
    let of_user = nvim::table([("event", nvim::value("User"))])?;
    let all: Table = api("nvim_get_autocmds", of_user)?;
    let mut is_any = false;
    for one in all.sequence_values::<Table>() {
        let pattern: Option<String> = one?.get("pattern")?;
        is_any |= pattern.is_none_or(|pattern| may_match(&pattern));
    }
    HEARD.set(Some(is_any));
    Ok(is_any)
}
