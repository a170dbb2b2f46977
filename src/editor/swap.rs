//! Swap files that need nothing of the files on disk.
//!
//! Neovim writes to a swap file what was changed, and where in the file on disk the rest is. When
//! an agent changes that file and Neovim is killed, a recovery puts lines of both together.
//! Neovim sees to that itself (`ml_sync_all()`), but not before the user has rested for
//! 'updatetime'; and not at all for a file that it was told is known. `:preserve` writes all of
//! the text to the swap file: 6 ms of work for 100,000 lines the first time, nothing later.
//!
//! Invariant: while a turn runs, and after others' text was merged, the swap file of a buffer in
//! the turn's project is complete on its own.

use nvim_oxi::mlua;

use super::kit::{buffer, defer};
use super::nvim::{self, api};
use super::outside::is_within;
use acp_core::model::Phase;

/// Completes the swap files of all buffers with unsaved changes: an agent is about to work.
///
/// # Errors
/// What Neovim says of it.
pub fn complete_all() -> mlua::Result<()> {
    let buffers: Vec<i32> = api("nvim_list_bufs", ())?;
    buffers.into_iter().try_for_each(changed)
}

/// Completes the swap file of a buffer that has unsaved changes, if an agent is working in its
/// project.
///
/// # Errors
/// What Neovim says of it.
pub fn changed(buf: i32) -> mlua::Result<()> {
    let is_at_work = |phase| matches!(phase, Phase::Running | Phase::Waiting);
    if !nvim::buf_option::<bool>(buf, "modified")? {
        return Ok(());
    }
    match is_within(buf, |session| is_at_work(session.phase))? {
        true => complete(buf),
        false => Ok(()),
    }
}

/// Completes the swap file of a buffer, if it has one, as a callback of its own: it takes as long
/// as the text is large.
///
/// # Errors
/// What Neovim says of it.
pub fn complete(buf: i32) -> mlua::Result<()> {
    defer::soon("swap file", move || {
        if !buffer::is_loaded(buf)? || nvim::vim_fn::<String>("swapname", buf)?.is_empty() {
            return Ok(());
        }
        buffer::run(buf, "silent preserve")
    })
}
