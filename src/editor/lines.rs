//! Replacing lines of a buffer so that marks and folds stay.
//!
//! Neovim drops the marks and folds of lines that `nvim_buf_set_lines` replaces, it ends a fold
//! where that inserts lines before the fold's last one, and `nvim_buf_set_text` on a fold's first
//! line takes the last line out of it. `setbufline()`, `appendbufline()` and `deletebufline()`
//! leave them all as they are. But a window does not scroll to the end of a line that became
//! higher than the window by `setbufline()`: what streams is changed by `nvim_buf_set_text`.

use nvim_oxi::mlua;

use super::nvim::{self, api};
use crate::core::text::LineEdit;

/// More lines than this are replaced at once: one call for each would take too long.
const MAX_IN_PLACE: usize = 300;

/// Makes edits, which are disjoint and from the top down, in rows of the text as it is before.
///
/// # Errors
/// What Neovim says of it.
pub fn replace_all(buf: i32, edits: &[LineEdit]) -> mlua::Result<()> {
    for edit in edits.iter().rev() {
        // Neovim keeps a NUL of the file as a line feed.
        let lines = edit.lines.iter().map(|line| line.replace('\0', "\n"));
        let lines: Vec<String> = lines.collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        replace(buf, edit.start, edit.removed, &lines)?;
    }
    Ok(())
}

/// Replaces `removed` lines from row `start` by others: line by line where both have one, the
/// rest inserted or deleted behind them.
///
/// # Errors
/// What Neovim says of it.
pub fn replace(buf: i32, start: usize, removed: usize, lines: &[&str]) -> mlua::Result<()> {
    let common = match removed.min(lines.len()) {
        common if common > MAX_IN_PLACE => 0,
        common => common,
    };
    let (from, to) = (start + common, start + removed);
    let rest = lines.get(common..).unwrap_or_default();
    if from < to {
        delete_or_replace(buf, from, to, rest)?;
    } else if !rest.is_empty() {
        // Its line counts from 1, so the row to insert at is the line to append to.
        let failed: i64 = nvim::vim_fn("appendbufline", (buf, from, rest))?;
        if failed != 0 {
            api::<()>("nvim_buf_set_lines", (buf, from, from, false, rest))?;
        }
    }
    let current = lines.iter().take(common).enumerate();
    for (index, line) in current {
        // Rows count from 0, lines from 1.
        let failed: i64 = nvim::vim_fn("setbufline", (buf, start + index + 1, *line))?;
        if failed != 0 {
            let row = start + index;
            api::<()>("nvim_buf_set_lines", (buf, row, row + 1, false, [*line]))?;
        }
    }
    Ok(())
}

/// Replaces the last line of a buffer, which is in no fold: what differs of it, and the lines
/// that follow.
///
/// # Errors
/// What Neovim says of it.
pub fn replace_last(buf: i32, row: usize, lines: &[&str]) -> mlua::Result<()> {
    let old: Vec<mlua::String> = api("nvim_buf_get_lines", (buf, row, row + 1, false))?;
    let old = old.first().map(mlua::String::as_bytes);
    let old = old.as_deref().unwrap_or_default();
    let (first, rest) = lines.split_first().unwrap_or((&"", &[]));
    let same = |(a, b): &(&u8, &u8)| a == b;
    let mut head = old.iter().zip(first.as_bytes()).take_while(same).count();
    while !first.is_char_boundary(head) {
        head -= 1;
    }
    let mut texts = vec![first.get(head..).unwrap_or_default()];
    texts.extend(rest);
    api("nvim_buf_set_text", (buf, row, head, row, old.len(), texts))
}

fn delete_or_replace(buf: i32, from: usize, to: usize, lines: &[&str]) -> mlua::Result<()> {
    let total: usize = api("nvim_buf_line_count", buf)?;
    if lines.is_empty() && to - from < total {
        let failed: i64 = nvim::vim_fn("deletebufline", (buf, from + 1, to))?;
        if failed == 0 {
            return Ok(());
        }
    }
    api("nvim_buf_set_lines", (buf, from, to, false, lines))
}
