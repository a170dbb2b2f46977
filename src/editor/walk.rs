//! Going from hunk to hunk, within a file and from file to file.

use std::path::Path;

use nvim_oxi::mlua::{self, Table};

use super::nvim::{self, api};
use super::state;

/// Which way to go through the hunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Next,
    Prev,
}

/// Goes to the next or previous hunk, into the next file when this one has no more.
///
/// # Errors
/// What Neovim says of it.
pub fn go(way: Way) -> mlua::Result<bool> {
    leave_chat()?;
    let buf: i32 = api("nvim_get_current_buf", ())?;
    let cursor: Vec<usize> = api("nvim_win_get_cursor", 0)?;
    let row = cursor.first().map_or(0, |line| line.saturating_sub(1));
    let rows = rows_of(buf)?;
    let lines: usize = api("nvim_buf_line_count", buf)?;
    let last = lines.saturating_sub(1);
    let mut rows: Vec<usize> = rows.into_iter().map(|row| row.min(last)).collect();
    rows.dedup();
    let found = match way {
        Way::Next => rows.iter().find(|at| **at > row),
        Way::Prev => rows.iter().rfind(|at| **at < row),
    };
    if let Some(found) = found {
        api::<()>("nvim_command", "normal! m'")?;
        jump(*found)?;
        return Ok(true);
    }
    go_to_file(way)
}

/// Returns the rows of a buffer's hunks: as they are drawn, or as the core has told of them.
fn rows_of(buf: i32) -> mlua::Result<Vec<usize>> {
    if let Some(rows) = super::review::rows(buf) {
        return Ok(rows);
    }
    let name: String = api("nvim_buf_get_name", buf)?;
    let snapshot = state::snapshot();
    let mut files = snapshot.reviews.iter();
    let file = files.find(|file| file.path.to_string_lossy() == name);
    let rows = file.map(|file| file.hunks.iter().map(|hunk| hunk.row).collect());
    Ok(rows.unwrap_or_default())
}

fn go_to_file(way: Way) -> mlua::Result<bool> {
    let snapshot = state::snapshot();
    let name: String = api("nvim_buf_get_name", 0)?;
    let files = &snapshot.reviews;
    let here = files
        .iter()
        .position(|file| file.path.to_string_lossy() == name);
    let count = files.len();
    let target = match (here, way) {
        _ if count == 0 => return Ok(false),
        (Some(here), Way::Next) => (here + 1) % count,
        (Some(here), Way::Prev) => (here + count - 1) % count,
        (None, Way::Next) => 0,
        (None, Way::Prev) => count - 1,
    };
    let Some(file) = files.get(target) else {
        return Ok(false);
    };
    let hunk = match way {
        Way::Next => file.hunks.first(),
        Way::Prev => file.hunks.last(),
    };
    api::<()>("nvim_command", "normal! m'")?;
    if here != Some(target) {
        show_file(&file.path)?;
    }
    jump(hunk.map_or(0, |hunk| hunk.row))?;
    Ok(true)
}

/// Goes to a row of a file, from a window that shows none: to the one before it if it can be.
///
/// # Errors
/// What Neovim says of it.
pub fn visit(path: &Path, row: Option<usize>, in_split: bool) -> mlua::Result<()> {
    api::<()>("nvim_command", "silent! wincmd p")?;
    leave_chat()?;
    if in_split {
        api::<()>("nvim_command", "split")?;
        let pattern: String = nvim::vim_fn("fnameescape", path.to_string_lossy().into_owned())?;
        api::<()>("nvim_command", format!("hide edit {pattern}"))?;
    } else {
        show_file(path)?;
    }
    api::<()>("nvim_command", "normal! m'")?;
    row.map_or(Ok(()), jump)
}

/// Goes to a window of the tab page that shows a file, or shows it in the current one.
fn show_file(path: &Path) -> mlua::Result<()> {
    let name = path.to_string_lossy().into_owned();
    let pattern: String = nvim::vim_fn("fnameescape", name)?;
    let buf: i32 = nvim::vim_fn("bufnr", format!("^{pattern}$"))?;
    let win: i32 = nvim::vim_fn("bufwinid", buf)?;
    if win > 0 {
        return api("nvim_set_current_win", win);
    }
    // The buffer that was there stays loaded, whatever 'hidden' says: it may be modified.
    api("nvim_command", format!("hide edit {pattern}"))
}

fn jump(row: usize) -> mlua::Result<()> {
    let lines: usize = api("nvim_buf_line_count", 0)?;
    let line = (row + 1).min(lines);
    api::<()>("nvim_win_set_cursor", (0, vec![line, 0]))?;
    api("nvim_command", "normal! zv")
}

/// Goes from a chat's window to one that shows a file, made if there is none.
fn leave_chat() -> mlua::Result<()> {
    let is_file = |win: i32| -> mlua::Result<bool> {
        let buf: i32 = api("nvim_win_get_buf", win)?;
        let kind: String = nvim::buf_option(buf, "buftype")?;
        let float: String = api::<Table>("nvim_win_get_config", win)?.get("relative")?;
        Ok(kind.is_empty() && float.is_empty())
    };
    if is_file(api("nvim_get_current_win", ())?)? {
        return Ok(());
    }
    let tab: i32 = api("nvim_get_current_tabpage", ())?;
    for win in api::<Vec<i32>>("nvim_tabpage_list_wins", tab)? {
        if is_file(win)? {
            return api("nvim_set_current_win", win);
        }
    }
    api("nvim_command", "topleft vnew")
}
