//! Windows: finding them, their options and sizes, opening and closing them.

use nvim_oxi::mlua::{self, Table, Value};

use super::buffer;
use crate::editor::guard;
use crate::editor::nvim::{self, api};

/// Returns the current window.
pub fn here() -> mlua::Result<i32> {
    api("nvim_get_current_win", ())
}

/// Returns the current tab page.
pub fn tab() -> mlua::Result<i32> {
    api("nvim_get_current_tabpage", ())
}

pub fn tab_of(win: i32) -> mlua::Result<i32> {
    api("nvim_win_get_tabpage", win)
}

pub fn is_valid(win: i32) -> mlua::Result<bool> {
    api("nvim_win_is_valid", win)
}

pub fn go_to(win: i32) -> mlua::Result<()> {
    api("nvim_set_current_win", win)
}

/// Returns the buffer that a window shows.
pub fn buf_of(win: i32) -> mlua::Result<i32> {
    api("nvim_win_get_buf", win)
}

/// Returns the windows of a tab page.
pub fn all_in(tab: i32) -> mlua::Result<Vec<i32>> {
    api("nvim_tabpage_list_wins", tab)
}

/// Returns the first window of a tab page that shows a buffer.
pub fn showing(buf: i32, tab: i32) -> mlua::Result<Option<i32>> {
    for win in all_in(tab)? {
        if buf_of(win)? == buf {
            return Ok(Some(win));
        }
    }
    Ok(None)
}

/// Goes to the first of these buffers that the current tab page shows.
pub fn go_to_first(bufs: &[i32]) -> mlua::Result<()> {
    let tab = tab()?;
    for &buf in bufs {
        if let Some(win) = showing(buf, tab)? {
            return go_to(win);
        }
    }
    Ok(())
}

/// Returns the row of a window's cursor; 0 is the current window.
pub fn row(win: i32) -> mlua::Result<usize> {
    let cursor: Vec<usize> = api("nvim_win_get_cursor", win)?;
    Ok(cursor.first().map_or(0, |line| line.saturating_sub(1)))
}

/// Returns the line and the column of a window's cursor: 1-based, and 0-based in bytes.
pub fn cursor(win: i32) -> mlua::Result<(i64, i64)> {
    let cursor: Vec<i64> = api("nvim_win_get_cursor", win)?;
    match cursor[..] {
        [line, column] => Ok((line, column)),
        _ => Ok((1, 0)),
    }
}

/// Puts a window's cursor at the start of a row.
pub fn set_row(win: i32, row: usize) -> mlua::Result<()> {
    api("nvim_win_set_cursor", (win, [row + 1, 0]))
}

pub fn width(win: i32) -> mlua::Result<i64> {
    api("nvim_win_get_width", win)
}

pub fn height(win: i32) -> mlua::Result<i64> {
    api("nvim_win_get_height", win)
}

/// Returns the rows of a window's text: its height without the bar of 'winbar'.
pub fn text_height(win: i32) -> mlua::Result<i64> {
    let info: Vec<Table> = nvim::vim_fn("getwininfo", win)?;
    info.first().map_or(Ok(0), |info| info.get("height"))
}

/// Returns the rows that lines take in a window whose first line is the first of them: virtual lines
/// that another plugin has put above that one are not shown.
pub fn rows_of(win: i32, from: usize, to: usize) -> mlua::Result<i64> {
    let rows = nvim::table([
        ("start_row", nvim::value(from)),
        ("start_vcol", nvim::value(0)),
        ("end_row", nvim::value(to.saturating_sub(1))),
    ])?;
    let size: Table = api("nvim_win_text_height", (win, rows))?;
    size.get("all")
}

/// Returns the number of virtual lines above a line, 1-based; below the last line for the one after it.
pub fn virtual_above(win: i32, line: i64) -> mlua::Result<i64> {
    let lines: i64 = api("nvim_buf_line_count", buf_of(win)?)?;
    let fill = |rows: Table| -> mlua::Result<i64> {
        let size: Table = api("nvim_win_text_height", (win, rows))?;
        size.get("fill")
    };
    let row = nvim::value(line.min(lines) - 1);
    let above = fill(nvim::table([
        ("start_row", row.clone()),
        ("end_row", row.clone()),
    ])?)?;
    match line > lines {
        true => Ok(fill(nvim::table([("start_row", row)])?)? - above),
        false => Ok(above),
    }
}

/// Returns the lines of the command line.
pub fn command_lines() -> mlua::Result<i64> {
    nvim::vim()?.get::<Table>("o")?.get("cmdheight")
}

/// Returns the columns and lines of the screen.
pub fn screen() -> mlua::Result<(i64, i64)> {
    let options: Table = nvim::vim()?.get("o")?;
    Ok((options.get("columns")?, options.get("lines")?))
}

pub fn is_float(win: i32) -> mlua::Result<bool> {
    let config: Table = api("nvim_win_get_config", win)?;
    Ok(!config.get::<String>("relative")?.is_empty())
}

/// Returns the number of windows in a tab page, without floating ones.
pub fn count_splits(tab: i32) -> mlua::Result<usize> {
    let mut count = 0;
    for win in all_in(tab)? {
        count += usize::from(!is_float(win)?);
    }
    Ok(count)
}

/// Returns whether the command-line window is current; from there no other can be opened.
pub fn is_command_line() -> mlua::Result<bool> {
    Ok(nvim::vim_fn::<String>("win_gettype", ())? == "command")
}

/// Sets options of a window, only for the buffer it shows now.
pub fn set<const N: usize>(win: i32, options: [(&str, Value); N]) -> mlua::Result<()> {
    for (name, to) in options {
        nvim::set_win_option(win, name, to)?;
    }
    Ok(())
}

/// Switches boolean options of a window for the buffer it shows now.
pub fn switch(win: i32, options: &[&str], on: bool) -> mlua::Result<()> {
    for name in options {
        nvim::set_win_option(win, name, on)?;
    }
    Ok(())
}

/// Options of a window that would hide what is asked in it: folds, and scrolling with the user's windows.
pub const UNTIED: [&str; 3] = ["foldenable", "scrollbind", "cursorbind"];

/// Removes the columns and marks around a window's text, and its ties to other windows.
pub fn strip(win: i32) -> mlua::Result<()> {
    // The user's 'foldmethod' may fold any text.
    let off = ["number", "relativenumber", "cursorline", "list", "spell"];
    switch(win, &off, false)?;
    switch(win, &UNTIED, false)?;
    set(
        win,
        [
            ("signcolumn", nvim::value("no")),
            ("foldcolumn", nvim::value("0")),
            ("colorcolumn", nvim::value("")),
            ("statuscolumn", nvim::value("")),
        ],
    )
}

/// Runs `body` with a window as the current one, as `nvim_win_call` does.
pub fn call<R: 'static>(
    win: i32,
    body: impl FnOnce() -> mlua::Result<R> + 'static,
) -> mlua::Result<R> {
    let call = |run| api("nvim_win_call", (win, run));
    guard::inside("in a window", body, call)
}

/// Sets a part of a window's view, as |winrestview()| does.
pub fn set_view(win: i32, view: Table) -> mlua::Result<()> {
    call(win, move || nvim::vim_fn("winrestview", view))
}

/// Opens a split, which gets the focus if `enter`; `size` is `width` or `height` and its cells.
pub fn split(
    buf: i32,
    enter: bool,
    (side, beside): (&str, i32),
    size: Option<(&str, i64)>,
) -> mlua::Result<i32> {
    let config = nvim::table([("win", nvim::value(beside)), ("split", nvim::value(side))])?;
    if let Some((dimension, cells)) = size {
        config.set(dimension, cells)?;
    }
    api("nvim_open_win", (buf, enter, config))
}

/// Returns whether a window is the last one that is not floating.
pub fn is_last(win: i32) -> mlua::Result<bool> {
    let tabs: Vec<i32> = api("nvim_list_tabpages", ())?;
    Ok(tabs.len() == 1 && !is_float(win)? && count_splits(tab_of(win)?)? == 1)
}

/// Closes a window, if it still exists. The last one stays, with the file that was used last, or an empty
/// buffer.
pub fn close(win: i32) -> mlua::Result<()> {
    if !is_valid(win)? {
        return Ok(());
    }
    if !is_last(win)? {
        return api("nvim_win_close", (win, true));
    }
    go_to(win)?;
    // Unlike the others, these options are the window's, whatever buffer it shows.
    switch(win, &["winfixwidth", "winfixheight"], false)?;
    let shown = buf_of(win)?;
    match buffer::recent()?.into_iter().find(|(buf, _)| *buf != shown) {
        Some((buf, _)) => api("nvim_win_set_buf", (win, buf)),
        None => api("nvim_command", "enew"),
    }
}

/// Closes the current window and goes to the previous one.
pub fn close_here() -> mlua::Result<()> {
    let win = here()?;
    if !is_last(win)? {
        // Otherwise the focus would follow the space.
        api::<()>("nvim_command", "silent! wincmd p")?;
    }
    close(win)
}

/// The sizes of a tab page's windows, to be restored when a window of this plugin closes.
#[derive(Debug, Clone)]
pub struct Sizes {
    layout: String,
    windows: Vec<Size>,
}

/// A window that is not floating, its width and its height.
pub type Size = (i32, i64, i64);

impl Sizes {
    /// Returns the sizes of the windows in the current tab page.
    pub fn now() -> mlua::Result<Self> {
        Ok(Self {
            layout: layout()?,
            windows: sizes_in(tab()?)?,
        })
    }

    /// Restores the sizes if the windows are arranged as they were.
    pub fn restore(&self) -> mlua::Result<()> {
        if self.layout != layout()? {
            return Ok(());
        }
        // The first pass makes room for the second, as in the command of |winrestcmd()|.
        set_sizes(&self.windows)?;
        set_sizes(&self.windows)
    }
}

/// Returns the sizes of the windows in a tab page, without floating ones, which may close meanwhile.
pub fn sizes_in(tab: i32) -> mlua::Result<Vec<Size>> {
    let mut sizes = Vec::new();
    for win in all_in(tab)? {
        if !is_float(win)? {
            sizes.push((win, width(win)?, height(win)?));
        }
    }
    Ok(sizes)
}

/// Gives windows these sizes.
pub fn set_sizes(sizes: &[Size]) -> mlua::Result<()> {
    for &(win, width, height) in sizes {
        api::<()>("nvim_win_set_width", (win, width))?;
        api::<()>("nvim_win_set_height", (win, height))?;
    }
    Ok(())
}

fn layout() -> mlua::Result<String> {
    let layout: Value = nvim::vim_fn("winlayout", ())?;
    let layout: String = nvim::vim_fn("string", layout)?;
    // The sizes of another screen do not fit.
    let (columns, lines) = screen()?;
    Ok(format!("{layout} {columns} {lines}"))
}

/// Opens a window over the whole width at the bottom and goes there; returns the sizes before.
pub fn open_below(buf: i32) -> mlua::Result<(i32, Sizes)> {
    let sizes = Sizes::now()?;
    let (_, lines) = screen()?;
    let height = (lines * 2 / 5).max(6);
    let win = split(buf, true, ("below", -1), Some(("height", height)))?;
    Ok((win, sizes))
}
