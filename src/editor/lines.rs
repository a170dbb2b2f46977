//! Replaces lines of a buffer so that marks and folds stay.
//!
//! `nvim_buf_set_lines` drops the marks and folds of the lines it replaces, and ends a fold where
//! it inserts lines before the fold's last one; `nvim_buf_set_text` on a fold's first line takes
//! the last line out of it. `setbufline()`, `appendbufline()` and `deletebufline()` keep them. But
//! a window does not scroll to the end of a line that `setbufline()` makes higher than the window,
//! so a message that is being received is changed by `nvim_buf_set_text`.

use std::borrow::Cow;
use std::cell::OnceCell;

use nvim_oxi::mlua::{self, Function};

use super::nvim::{self, api};
use acp_core::text::LineEdit;
use acp_core::text::cut::head;

/// More lines than this are replaced at once: one call for each would take too long.
const MAX_IN_PLACE: usize = 300;

/// Returns lines of a buffer, with replacement characters for invalid UTF-8.
pub fn get(buf: i32, start: usize, end: usize) -> mlua::Result<Vec<String>> {
    let text = text(buf, start, end)?;
    Ok(text.split_terminator('\n').map(str::to_owned).collect())
}

/// Returns lines of a buffer as [`get`] does, each with its `\n`.
///
/// They come as one Lua string: mlua cannot hold more than a few thousand.
pub fn text(buf: i32, start: usize, end: usize) -> mlua::Result<String> {
    thread_local! {
        static GET: OnceCell<Function> = const { OnceCell::new() };
    }
    if start >= end {
        return Ok(String::new());
    }
    let get = GET.with(|get| -> mlua::Result<Function> {
        if let Some(get) = get.get() {
            return Ok(get.clone());
        }
        let chunk = "return table.concat(vim.api.nvim_buf_get_lines(...), '\\n')";
        let function = nvim::lua().load(chunk).into_function()?;
        Ok(get.get_or_init(|| function).clone())
    })?;
    let text: mlua::String = get.call((buf, start, end, false))?;
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(b'\n');
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// Applies edits, which are disjoint, ordered, and in rows of the old text.
pub fn replace_all(buf: i32, edits: &[LineEdit]) -> mlua::Result<()> {
    for edit in edits.iter().rev() {
        let lines: Vec<&str> = edit.lines.iter().map(String::as_str).collect();
        replace(buf, edit.start, edit.removed, &lines)?;
    }
    Ok(())
}

/// Replaces `removed` lines from `start`: line by line as far as possible; the rest is inserted or
/// deleted behind them.
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
        // Lines count from 1, so the row to insert at is the line to append to.
        let appended: Vec<Cow<'_, str>> = rest.iter().map(|line| for_vim(line)).collect();
        let appended: Vec<&str> = appended.iter().map(Cow::as_ref).collect();
        let failed: i64 = despite_swap(nvim::vim_fn("appendbufline", (buf, from, appended)))?;
        if failed != 0 {
            despite_swap(set_lines(buf, from, from, rest))?;
        }
    }
    let current = lines.iter().take(common).enumerate();
    for (index, line) in current {
        // Rows count from 0, lines from 1.
        let line_for_vim = for_vim(line);
        let args = (buf, start + index + 1, line_for_vim.as_ref());
        let failed: i64 = despite_swap(nvim::vim_fn("setbufline", args))?;
        if failed != 0 {
            let row = start + index;
            despite_swap(set_lines(buf, row, row + 1, &[*line]))?;
        }
    }
    Ok(())
}

/// Replaces the last line of a buffer, which is in no fold, and appends lines. Only the part of the
/// line that differs is touched.
pub fn replace_last(buf: i32, row: usize, lines: &[&str]) -> mlua::Result<()> {
    let old: Vec<mlua::String> = api("nvim_buf_get_lines", (buf, row, row + 1, false))?;
    let old = old.first().map(mlua::String::as_bytes);
    let old = old.as_deref().unwrap_or_default();
    let (first, rest) = lines.split_first().unwrap_or((&"", &[]));
    let same = |(a, b): &(&u8, &u8)| a == b;
    let same = old.iter().zip(first.as_bytes()).take_while(same).count();
    let head = head(first, same).len();
    let mut texts = vec![first.get(head..).unwrap_or_default()];
    texts.extend(rest);
    api("nvim_buf_set_text", (buf, row, head, row, old.len(), texts))
}

/// Returns a line as Vim's functions take it: with a line feed for each NUL. (The API takes NULs.)
fn for_vim(line: &str) -> Cow<'_, str> {
    match line.contains('\0') {
        true => line.replace('\0', "\n").into(),
        false => line.into(),
    }
}

fn delete_or_replace(buf: i32, from: usize, to: usize, lines: &[&str]) -> mlua::Result<()> {
    let total: usize = api("nvim_buf_line_count", buf)?;
    if lines.is_empty() && to - from < total {
        let failed: i64 = despite_swap(nvim::vim_fn("deletebufline", (buf, from + 1, to)))?;
        if failed == 0 {
            return Ok(());
        }
    }
    despite_swap(set_lines(buf, from, to, lines))
}

fn set_lines(buf: i32, from: usize, to: usize, lines: &[&str]) -> mlua::Result<()> {
    api("nvim_buf_set_lines", (buf, from, to, false, lines))
}

/// Returns the default in place of the error that the swap file could not be written, as on a full
/// disk: the lines have changed nevertheless.
fn despite_swap<T: Default>(result: mlua::Result<T>) -> mlua::Result<T> {
    match result {
        Err(error) if nvim::message(&error).contains("E297:") => Ok(T::default()),
        result => result,
    }
}
