//! What the user is doing, as far as it decides whether a window may go along.

use std::time::Duration;

use nvim_oxi::mlua::{self, Table};

use crate::editor::nvim::{self, api};
use acp_core::view::follow::pace::Moment;

/// How long to wait for what comes right after a mode has ended.
pub const SOON: Duration = Duration::from_millis(30);

/// Returns what the user is doing.
///
/// # Errors
/// What Neovim says of it.
pub fn now() -> mlua::Result<Moment> {
    let mode: Table = api("nvim_get_mode", ())?;
    let name: String = mode.get("mode")?;
    if !matches!(&*name, "n" | "nt") || mode.get("blocking")? {
        return Ok(Moment::Busy);
    }
    let is_free = |state: String| state.is_empty();
    // See |state()|: within a mapping, after a count, a register, or `f`; and macros.
    let free = nvim::vim_fn::<String>("win_gettype", ())? != "command"
        && is_free(nvim::vim_fn("state", "moSs")?)
        && is_free(nvim::vim_fn("reg_recording", ())?)
        && is_free(nvim::vim_fn("reg_executing", ())?);
    Ok(if free {
        Moment::Free
    } else {
        Moment::InCommand
    })
}
