//! Whether anybody listens to a `User` event: those that come by the hundred are made for those
//! who do, and for nobody else.
//!
//! Invariant: what is known is forgotten whenever anything else could have run in between.

use std::cell::Cell;

use nvim_oxi::mlua::{self, Table};

use super::nvim::{self, api};
use acp_core::conversation::progress::may_match;

thread_local! {
    /// Somebody listens to the plugin's events, or to all of them.
    static HEARD: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Looks anew the next time.
pub fn forget() {
    HEARD.set(None);
}

/// Tells whether an autocommand may be for one of the plugin's `User` events.
///
/// # Errors
/// What Neovim says of it.
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
