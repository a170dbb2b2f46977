//! Reports the files other than a buffer's own that the user writes lines of it to, as `:write NAME`
//! does: they are the user's, also during a turn.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use nvim_oxi::mlua;

use super::documents::is_attached;
use super::kit::autocmd::{self, Fired, Scope};
use super::nvim::api;
use super::state::send;
use acp_core::event::{BufferEvent, Event};
use acp_core::spine::event::Stamp;

thread_local! {
    /// The files that are being written, with their earlier stamps: another plugin may write one
    /// while the user's is written.
    static BEGUN: RefCell<BTreeMap<PathBuf, Option<Stamp>>> = const { RefCell::new(BTreeMap::new()) };
}

/// Watches for such writes.
///
/// # Errors
/// Neovim's error.
pub fn start() -> mlua::Result<()> {
    let begin = ["BufWritePre", "FileWritePre", "FileAppendPre"];
    autocmd::on("other file", &begin, Scope::All, begins)?;
    let end = ["BufWritePost", "FileWritePost", "FileAppendPost"];
    autocmd::on("other file", &end, Scope::All, ends).map(drop)
}

fn begins(fired: Fired) -> mlua::Result<()> {
    let target = fired.matched()?;
    let (buf, is_whole) = (fired.buf()?, fired.event()? == "BufWritePre");
    // `:write NAME` names an unnamed buffer without an event that attaches it.
    if !is_whole || !is_attached(buf) || is_other(buf, &target)? {
        let target = PathBuf::from(target);
        let before = acp_edge::paths::stamp(&target);
        BEGUN.with_borrow_mut(|begun| begun.insert(target, before));
    }
    Ok(())
}

fn ends(fired: Fired) -> mlua::Result<()> {
    let target = PathBuf::from(fired.matched()?);
    let Some(before) = BEGUN.with_borrow_mut(|begun| begun.remove(&target)) else {
        return Ok(());
    };
    // Neovim fires the event for a failed write, too.
    if let Some(after) = acp_edge::paths::stamp(&target).filter(|now| Some(*now) != before) {
        send(Event::Buffer(BufferEvent::Written {
            path: acp_edge::paths::resolved(&target),
            before,
            after,
        }));
    }
    Ok(())
}

/// Returns whether a buffer is being written to another file than its own.
///
/// # Errors
/// Neovim's error.
pub fn is_other(buf: i32, target: &str) -> mlua::Result<bool> {
    let name: String = api("nvim_buf_get_name", buf)?;
    let real = |name: &str| acp_edge::paths::resolved(Path::new(name));
    Ok(name != target && real(&name) != real(target))
}
