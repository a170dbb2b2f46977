//! Reports the files other than a buffer's own that the user writes lines of it to, as `:write NAME`
//! does, and the copies that Neovim keeps of a written file ('backup', 'patchmode'): they are the
//! user's, also during a turn.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use nvim_oxi::mlua::{self, Table};

use super::kit::autocmd::{self, Fired, Scope};
use super::nvim::{self, api};
use super::state::send;
use acp_core::event::{BufferEvent, Event};
use acp_core::spine::event::Stamp;

thread_local! {
    /// The files that are being written, and what was there before: another plugin may write one
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
    let is_whole = fired.event()? == "BufWritePre";
    let mut files = copies(&target)?;
    if !is_whole || is_other(fired.buf()?, &target)? {
        files.push(PathBuf::from(target));
    }
    BEGUN.with_borrow_mut(|begun| {
        for file in files {
            let before = acp_edge::paths::stamp(&file);
            begun.insert(file, before);
        }
    });
    Ok(())
}

fn ends(fired: Fired) -> mlua::Result<()> {
    let target = fired.matched()?;
    for file in copies(&target)?.into_iter().chain([PathBuf::from(target)]) {
        let Some(before) = BEGUN.with_borrow_mut(|begun| begun.remove(&file)) else {
            continue;
        };
        let after = acp_edge::paths::stamp(&file);
        // Neovim fires the event for a failed write, too.
        if after != before {
            send(Event::Buffer(BufferEvent::Written {
                path: acp_edge::paths::resolved(&file),
                before,
                after,
            }));
        }
    }
    Ok(())
}

/// Returns the copies that Neovim may keep beside a file that it writes.
fn copies(target: &str) -> mlua::Result<Vec<PathBuf>> {
    let options: Table = nvim::vim()?.get("o")?;
    let mut endings: Vec<String> = vec![options.get("patchmode")?];
    if options.get("backup")? {
        endings.push(options.get("backupext")?);
    }
    endings.retain(|ending| !ending.is_empty());
    let copy = |ending| PathBuf::from(format!("{target}{ending}"));
    Ok(endings.into_iter().map(copy).collect())
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
