//! Swap files that do not depend on the files on disk.
//!
//! A swap file holds the changed text of a buffer and, for the rest, positions in the file on disk.
//! If an agent changes that file and Neovim is killed, recovery mixes lines of both versions.
//! Neovim prevents this itself (`ml_sync_all()`), but only after 'updatetime' without a key, and
//! never for a file that counts as known. `:preserve` writes the whole text to the swap file: 6 ms
//! of work for 100,000 lines the first time, and none later.
//!
//! Invariant: while a turn runs, and after a change on disk was merged, the swap file of a buffer
//! in the turn's project is complete by itself.

use nvim_oxi::mlua;

use super::kit::{buffer, defer};
use super::nvim::{self, api};
use super::outside::is_within;
use acp_core::conversation::session::Phase;

/// Completes the swap files of all modified buffers, before an agent starts to work.
pub fn complete_all() -> mlua::Result<()> {
    let buffers: Vec<i32> = api("nvim_list_bufs", ())?;
    buffers.into_iter().try_for_each(changed)
}

/// Completes the swap file of a modified buffer, if an agent is working in its project.
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

/// Completes the swap file of a buffer, if it has one. The work is deferred, as the text may be
/// large.
pub fn complete(buf: i32) -> mlua::Result<()> {
    defer::soon("swap file", move || {
        if !buffer::is_loaded(buf)? || nvim::vim_fn::<String>("swapname", buf)?.is_empty() {
            return Ok(());
        }
        // Neovim reports a swap file that cannot be written, as on a full disk.
        buffer::run(buf, "silent! preserve")
    })
}
