//! Reports the files that the user writes lines of a buffer to without saving it, as `:write NAME` and
//! `:1,2write!` do: they are the user's, also during a turn. The host learns which file Neovim is writing:
//! its removal is part of that, and lines are not reported before the core knows whose they are.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use nvim_oxi::mlua;

use super::documents::{is_attached, is_elsewhere, set_known};
use super::kit::autocmd::{self, Fired, Scope};
use super::kit::{buffer, user};
use super::state::{self, send};
use acp_core::event::{BufferEvent, Event};
use acp_core::spine::event::{SaveStep, Stamp};
use acp_core::spine::ids::BufId;
use acp_edge::textfile::TextFile;

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
    let real = acp_edge::paths::resolved(Path::new(&target));
    let (buf, is_whole) = (fired.buf()?, fired.event()? == "BufWritePre");
    // `:write NAME` names an unnamed buffer without an event that attaches it.
    let is_of_lines = !is_whole || !is_attached(buf) || is_other(buf, &target)?;
    let step = match is_of_lines || is_elsewhere(buf, &real) {
        true => SaveStep::Lines,
        false => SaveStep::Buffer,
    };
    state::note_saving(&real, step);
    if is_of_lines {
        let target = PathBuf::from(target);
        let before = acp_edge::paths::stamp(&target);
        BEGUN.with_borrow_mut(|begun| begun.insert(target, before));
    }
    // Neovim fires no event after a write that a hook has refused.
    user::after_autocommands("end of a save", move || {
        state::note_saving(&real, SaveStep::Ended);
        Ok(())
    })
}

fn ends(fired: Fired) -> mlua::Result<()> {
    acp_edge::slow::pause("written");
    let target = PathBuf::from(fired.matched()?);
    let told = tell_written(&fired, &target);
    state::note_saving(&acp_edge::paths::resolved(&target), SaveStep::Ended);
    told
}

/// Reports the lines that were written.
fn tell_written(fired: &Fired, target: &Path) -> mlua::Result<()> {
    let Some(before) = BEGUN.with_borrow_mut(|begun| begun.remove(target)) else {
        return Ok(());
    };
    // Neovim fires the event for a failed write, too.
    let Some(after) = acp_edge::paths::stamp(target).filter(|now| Some(*now) != before) else {
        return Ok(());
    };
    let buf = fired.buf()?;
    let is_own = is_attached(buf) && !is_other(buf, &fired.matched()?)?;
    let part = is_own.then(|| TextFile::read(target)).flatten();
    let part_of = part.filter(|part| part.stamp() == after);
    if part_of.is_some() {
        set_known(buf, Some(after));
    }
    send(Event::Buffer(BufferEvent::Written {
        path: acp_edge::paths::resolved(target),
        before,
        after,
        part_of: part_of.map(|part| (BufId(buf), part.bytes().to_owned())),
    }));
    Ok(())
}

/// Returns whether a buffer is being written to another file than its own.
///
/// # Errors
/// Neovim's error.
pub fn is_other(buf: i32, target: &str) -> mlua::Result<bool> {
    let name = buffer::name(buf)?;
    let real = |name: &str| acp_edge::paths::resolved(Path::new(name));
    Ok(name != target && real(&name) != real(target))
}
