//! Renames the buffer of a file that was moved, and attaches the one of a link that leads elsewhere.
//!
//! Invariants: no text is lost: if another buffer already has the name, both stay; LSP clients know
//! the buffer by its new name.

use std::path::Path;

use nvim_oxi::mlua::{self, Function, Table};

use super::documents::{
    attach_again, is_attached, is_elsewhere, known, moving, set_elsewhere, set_known, set_renamed,
};
use super::kit::autocmd::nested;
use super::kit::buffer;
use super::nvim::{self, api};
use super::outside::{count_as_written, gone, name};
use super::walk;
use acp_core::spine::ids::BufId;

/// Gives a buffer the new name of its file.
///
/// If another buffer already has that name, both stay as they are, and this one counts as having
/// lost its file.
pub fn moved_to(buf: BufId, path: &Path) -> mlua::Result<()> {
    let BufId(buf) = buf;
    if !buffer::is_loaded(buf)? {
        return Ok(());
    }
    let old = name(buf)?;
    if old == path {
        return Ok(());
    }
    let clients = lsp_detach(buf)?;
    let renamed = moving(buf, || rename(buf, path));
    lsp_attach(buf, clients)?;
    let resolved = acp_edge::paths::resolved;
    if renamed.is_err() || resolved(&name(buf)?) != resolved(path) {
        return gone(buf);
    }
    wipe_leftover(buf, &old)?;
    if acp_edge::paths::stamp(path).is_some() {
        count_as_written(buf)?;
        set_renamed(buf, false);
    }
    // It has another path.
    set_known(buf, known(buf));
    if nvim::buf_option::<String>(buf, "filetype")?.is_empty() {
        // As `:saveas` does.
        buffer::run(buf, "silent! doautocmd <nomodeline> filetypedetect BufRead")?;
    }
    Ok(())
}

/// Attaches a buffer anew, whose name leads to another file by now, and reads that file into it, unless
/// it is missing. A buffer with unsaved lines, or below a folder that a link has replaced, stays as it is
/// until its name leads to its file again.
pub fn relinked(buf: BufId) -> mlua::Result<()> {
    let BufId(buf) = buf;
    if !buffer::is_loaded(buf)? || !is_attached(buf) {
        return Ok(());
    }
    let path = name(buf)?;
    let real = acp_edge::paths::resolved(&path);
    let is_other = is_elsewhere(buf, &real);
    let is_clean = !nvim::buf_option::<bool>(buf, "modified")?;
    // Below a folder that is a link, `:edit` would open the file under another name.
    let folder = path.parent();
    let is_named_so = folder.is_none_or(|folder| acp_edge::paths::resolved(folder) == folder);
    let is_kept = is_other && !(is_clean && is_named_so);
    set_elsewhere(buf, is_kept);
    if is_kept {
        // `:write` asks, `:edit!` reads the other file; both attach it.
        return Ok(());
    }
    // The core has not merged what was written meanwhile.
    let is_new = is_other || known(buf) != acp_edge::paths::stamp(&path);
    if is_clean && is_new && path.is_file() {
        // This attaches it, too.
        return nested(move || buffer::run(buf, "silent keepalt lockmarks edit"));
    }
    attach_again(buf, is_clean && !is_new)
}

/// Renames a buffer; the name is shown as short as if the user had typed it.
fn rename(buf: i32, path: &Path) -> mlua::Result<()> {
    let path = path.to_owned();
    buffer::call(buf, move || {
        let name = walk::escaped(&walk::typed(&path)?)?;
        api("nvim_command", format!("silent keepalt file {name}"))
    })
}

/// Deletes the buffer that Neovim has created for the old name.
fn wipe_leftover(buf: i32, old: &Path) -> mlua::Result<()> {
    let all: Vec<i32> = api("nvim_list_bufs", ())?;
    for other in all {
        if other != buf && name(other)? == old && !buffer::is_loaded(other)? {
            buffer::delete(other)?;
        }
    }
    Ok(())
}

/// Detaches the LSP clients of a buffer, which know it by its name, and returns their ids.
fn lsp_detach(buf: i32) -> mlua::Result<Vec<i64>> {
    let loaded: Table = nvim::lua()
        .globals()
        .get::<Table>("package")?
        .get("loaded")?;
    let Some(lsp) = loaded.get::<Option<Table>>("vim.lsp")? else {
        return Ok(Vec::new());
    };
    let filter = nvim::table([("bufnr", nvim::value(buf))])?;
    let clients: Vec<Table> = lsp.get::<Function>("get_clients")?.call(filter)?;
    let ids = clients.iter().map(|client| client.get("id"));
    let ids: Vec<i64> = ids.collect::<mlua::Result<_>>()?;
    for id in &ids {
        lsp.get::<Function>("buf_detach_client")?
            .call::<()>((buf, *id))?;
    }
    Ok(ids)
}

fn lsp_attach(buf: i32, clients: Vec<i64>) -> mlua::Result<()> {
    if clients.is_empty() {
        return Ok(());
    }
    let lsp: Table = nvim::vim()?.get("lsp")?;
    let attach: Function = lsp.get("buf_attach_client")?;
    clients
        .into_iter()
        .try_for_each(|id| attach.call::<()>((buf, id)))
}
