//! Buffers without a file, which only this plugin writes to.
//!
//! Invariant: a line that does not change is not touched, so that its marks and folds stay.

use std::cell::Cell;
use std::path::PathBuf;

use nvim_oxi::mlua::{self, Table, Value};

use super::autocmd::{self, Scope};
use super::defer;
use crate::editor::guard;
use crate::editor::nvim::{self, api};
use acp_core::spine::view::Line;

/// Creates a buffer without a file, which is hidden when its last window closes.
///
/// An empty `name` or `filetype` is not set; a name must be free, see [`free_name`]. The event
/// `FileType` follows soon: Neovim then looks for plugins in all folders of 'runtimepath', and
/// windows need not wait for that.
pub fn scratch(name: &str, filetype: &str) -> mlua::Result<i32> {
    let buf: i32 = api("nvim_create_buf", (false, true))?;
    if !name.is_empty() {
        api::<()>("nvim_buf_set_name", (buf, name))?;
    }
    if !filetype.is_empty() {
        let set = move |filetype: &str| nvim::set_buf_option(buf, "filetype", filetype);
        autocmd::silenced(|| set(filetype))?;
        let filetype = filetype.to_owned();
        defer::soon("filetype", move || match is_valid(buf)? {
            // Setting it again triggers the event.
            true => set(&filetype),
            false => Ok(()),
        })?;
    }
    Ok(buf)
}

/// Creates a [`scratch`] buffer that only [`write()`] changes.
pub fn read_only(name: &str, filetype: &str) -> mlua::Result<i32> {
    let buf = scratch(name, filetype)?;
    nvim::set_buf_option(buf, "undolevels", -1)?;
    nvim::set_buf_option(buf, "modifiable", false)?;
    Ok(buf)
}

/// Runs `body` while a read-only buffer may be changed.
pub fn unlocked<R>(buf: i32, body: impl FnOnce() -> mlua::Result<R>) -> mlua::Result<R> {
    nvim::set_buf_option(buf, "modifiable", true)?;
    let result = body();
    nvim::set_buf_option(buf, "modifiable", false)?;
    result
}

thread_local! {
    /// [`write()`] replaces all lines and sets no highlights.
    static PLAINLY: Cell<bool> = const { Cell::new(false) };
}

/// Runs `draw` so that [`write()`] depends on no earlier one and sets no highlights.
pub fn plainly(draw: impl FnOnce() -> mlua::Result<()>) -> mlua::Result<()> {
    struct Ends;
    impl Drop for Ends {
        fn drop(&mut self) {
            PLAINLY.set(false);
        }
    }
    PLAINLY.set(true);
    let _ends = Ends;
    draw()
}

/// Replaces the `old` lines of a read-only buffer and their highlights.
pub fn write(buf: i32, old: &[Line], new: &[Line]) -> mlua::Result<()> {
    let is_plain = PLAINLY.get();
    // `:edit` empties a buffer.
    let lines: usize = api("nvim_buf_line_count", (buf,))?;
    let is_known = !is_plain && lines == old.len();
    let old = if is_known { old } else { &[] };
    let top = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let most = old.len().min(new.len()) - top;
    let ends = old.iter().rev().zip(new.iter().rev());
    let bottom = ends.take(most).take_while(|(a, b)| a == b).count();
    let end = match old {
        // Neovim's first, empty line goes as well.
        [] => -1,
        old => i64::try_from(old.len() - bottom).unwrap_or(-1),
    };
    let lines = new.get(top..new.len() - bottom).unwrap_or_default();
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    let namespace = nvim::namespace("acp_lines")?;
    api::<()>("nvim_buf_clear_namespace", (buf, namespace, top, end))?;
    unlocked(buf, || {
        api::<()>("nvim_buf_set_lines", (buf, top, end, false, texts))
    })?;
    let marked = if is_plain { &[] } else { lines };
    for (row, line) in (top..).zip(marked) {
        for span in &line.spans {
            let opts = nvim::table([
                ("end_row", nvim::value(row)),
                ("end_col", nvim::value(span.end)),
                ("hl_group", nvim::value(span.group)),
            ])?;
            let at = (buf, namespace, row, span.start, opts);
            api::<i32>("nvim_buf_set_extmark", at)?;
        }
    }
    Ok(())
}

/// Shows virtual text on a row; `at` is its position, as in `virt_text_pos`.
pub fn set_hint(
    buf: i32,
    namespace: &str,
    (row, column): (usize, usize),
    at: &str,
    words: String,
) -> mlua::Result<()> {
    let chunk = nvim::lua().create_sequence_from([words, "AcpPlaceholder".to_owned()])?;
    let opts = nvim::table([
        ("virt_text", nvim::value(vec![chunk])),
        ("virt_text_pos", nvim::value(at)),
    ])?;
    let namespace = nvim::namespace(namespace)?;
    api::<i32>("nvim_buf_set_extmark", (buf, namespace, row, column, opts)).map(drop)
}

/// Returns whether a buffer exists.
pub fn is_valid(buf: i32) -> mlua::Result<bool> {
    api("nvim_buf_is_valid", buf)
}

/// Returns whether a buffer exists and holds its text.
pub fn is_loaded(buf: i32) -> mlua::Result<bool> {
    api("nvim_buf_is_loaded", buf)
}

/// Returns whether a window shows a buffer.
pub fn is_shown(buf: i32) -> mlua::Result<bool> {
    Ok(is_valid(buf)? && !nvim::windows_of(buf)?.is_empty())
}

/// Returns the current buffer.
pub fn here() -> mlua::Result<i32> {
    api("nvim_get_current_buf", ())
}

/// Returns the lines of a buffer.
pub fn lines(buf: i32) -> mlua::Result<Vec<String>> {
    api("nvim_buf_get_lines", (buf, 0, -1, false))
}

/// Runs an Ex command with a buffer as the current one, as `nvim_buf_call` does.
pub fn run(buf: i32, command: &str) -> mlua::Result<()> {
    let command = command.to_owned();
    call(buf, move || api("nvim_command", command.as_str()))
}

/// Runs `body` with a buffer as the current one.
pub fn call<R: 'static>(
    buf: i32,
    body: impl FnOnce() -> mlua::Result<R> + 'static,
) -> mlua::Result<R> {
    let call = |run| api("nvim_buf_call", (buf, run));
    guard::inside("in a buffer", body, call)
}

/// Deletes a buffer and closes its windows, even if it is modified.
pub fn delete(buf: i32) -> mlua::Result<()> {
    if !is_valid(buf)? {
        return Ok(());
    }
    let force: Table = nvim::table([("force", Value::Boolean(true))])?;
    api("nvim_buf_delete", (buf, force))
}

/// Runs `body` whenever the last window of a buffer has closed, or the buffer was deleted.
pub fn on_hidden(
    buf: i32,
    place: &'static str,
    body: impl Fn() -> mlua::Result<()> + Clone + 'static,
) -> mlua::Result<()> {
    let closed = move |_| {
        let body = body.clone();
        // Neovim is still closing the window.
        defer::soon(place, move || match is_shown(buf)? {
            true => Ok(()),
            false => body(),
        })
    };
    let events = ["BufWinLeave", "BufWipeout"];
    autocmd::on(place, &events, Scope::Buffer(buf), closed).map(drop)
}

/// Returns the buffers that hold files, the one used last first.
pub fn recent() -> mlua::Result<Vec<(i32, PathBuf)>> {
    let listed = nvim::table([("buflisted", nvim::value(1))])?;
    let infos: Vec<Table> = nvim::vim_fn("getbufinfo", listed)?;
    let mut found = Vec::new();
    for info in infos {
        let buf: i32 = info.get("bufnr")?;
        let name = name(buf)?;
        if name.starts_with('/') && nvim::buf_option::<String>(buf, "buftype")?.is_empty() {
            found.push((info.get::<i64>("lastused")?, buf, PathBuf::from(name)));
        }
    }
    found.sort_by_key(|(used, ..)| std::cmp::Reverse(*used));
    Ok(found
        .into_iter()
        .map(|(_, buf, path)| (buf, path))
        .collect())
}

/// Returns the name of a buffer: the path of its file, if it has one. A name that is not UTF-8 counts
/// as none, since the protocol has no such paths.
pub fn name(buf: i32) -> mlua::Result<String> {
    let name: mlua::String = api("nvim_buf_get_name", buf)?;
    let name = name.to_str().map(|name| (*name).to_owned());
    Ok(name.unwrap_or_default())
}

/// Returns the buffer with this name.
pub fn named(name: &str) -> mlua::Result<Option<i32>> {
    for buf in api::<Vec<i32>>("nvim_list_bufs", ())? {
        if self::name(buf)? == name {
            return Ok(Some(buf));
        }
    }
    Ok(None)
}

/// Returns a name that no buffer has: `name`, or `name` with a number.
///
/// `:mksession` takes this plugin's windows for files, and a session restores them as empty buffers
/// of the same names. Such a buffer is deleted with its windows, unless the user has typed into it.
pub fn free_name(name: &str) -> mlua::Result<String> {
    let mut free = name.to_owned();
    let mut tries = 1;
    while let Some(buf) = named(&free)? {
        if nvim::buf_option(buf, "modified")? {
            tries += 1;
            free = format!("{name}#{tries}");
        } else {
            delete(buf)?;
        }
    }
    Ok(free)
}
