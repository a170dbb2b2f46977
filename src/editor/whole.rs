//! A part of a transcript in full, in its own buffer and window.
//!
//! Invariant: a large text is written in slices, and Neovim handles keys and redraws in between.

use std::time::Duration;

use nvim_oxi::mlua::{self, Function, Table};

use super::kit::{buffer, defer, window};
use super::nvim::{self, api};
use super::{keys, walk};
use acp_core::spine::view::{WholeLanguage, WholeView};

/// The largest slice, in bytes and in lines: about a millisecond's work.
const SLICE: usize = 128 * 1024;
const SLICE_LINES: usize = 2500;

/// Larger texts are not highlighted: a parser or patterns would have to read all of them.
const MAX_HIGHLIGHTED: usize = 1024 * 1024;

/// Wrapping longer lines would delay each key.
const MAX_WRAPPED: usize = 10_000;

/// A text that is being written to its buffer.
struct Writing {
    buf: i32,
    text: String,
    /// The byte at which the next slice begins.
    at: usize,
}

/// Shows a text in a split of the window that shows a file; `q` closes it and returns.
pub fn show(view: WholeView) -> mlua::Result<()> {
    let home = window::here()?;
    let is_small = view.text.len() <= MAX_HIGHLIGHTED;
    let is_wrapped = !view.text.lines().any(|line| line.len() > MAX_WRAPPED);
    let buf = buffer(&view.name)?;
    let beside = match walk::window_aside()? {
        Some(win) => ("below", win),
        None => ("left", -1),
    };
    let win = window::split(buf, true, beside, None)?;
    nvim::set_win_option(win, "wrap", is_wrapped)?;
    window::switch(win, &["scrollbind", "cursorbind"], false)?;
    put(Writing {
        buf,
        text: view.text,
        at: 0,
    })?;
    if is_small {
        let filetype = match view.language {
            WholeLanguage::Named(name) => Some(name.to_owned()),
            WholeLanguage::OfFile(name) => filetype_of(&name)?,
        };
        if let Some(filetype) = filetype {
            nvim::set_buf_option(buf, "filetype", filetype.as_str())?;
        }
    }
    keys::bind(
        buf,
        &["n"],
        ("chat", "close"),
        "Closes the window",
        move |_| {
            if window::is_valid(home)? {
                window::go_to(home)?;
            }
            buffer::delete(buf)
        },
    )
}

/// Creates the buffer, in place of one with this name.
fn buffer(name: &str) -> mlua::Result<i32> {
    if let Some(old) = buffer::named(name)? {
        buffer::delete(old)?;
    }
    let buf = buffer::read_only(name, "")?;
    nvim::set_buf_option(buf, "bufhidden", "wipe")?;
    Ok(buf)
}

/// Puts the next slice into the buffer and defers the rest.
fn put(mut writing: Writing) -> mlua::Result<()> {
    let buf = writing.buf;
    if !buffer::is_loaded(buf)? {
        return Ok(());
    }
    let text = writing.text.get(writing.at..).unwrap_or_default();
    let end = slice_end(text);
    let slice = text.get(..end).unwrap_or_default();
    let lines: Vec<&str> = slice.lines().collect();
    let start = if writing.at == 0 { 0 } else { -1 };
    buffer::unlocked(buf, || {
        api::<()>("nvim_buf_set_lines", (buf, start, -1, false, lines))
    })?;
    writing.at += end;
    if writing.at >= writing.text.len() {
        return Ok(());
    }
    defer::after("whole text", Duration::from_millis(1), || put(writing))
}

/// Returns the byte at which the next slice ends, which is the end of a line.
fn slice_end(text: &str) -> usize {
    let ends = text.match_indices('\n').map(|(at, _)| at + 1);
    let mut end = 0;
    for next in ends.take(SLICE_LINES) {
        if next > SLICE && end > 0 {
            return end;
        }
        end = next;
    }
    match end {
        0 => text.len(),
        _ if text.len() <= SLICE && !text.get(end..).unwrap_or_default().contains('\n') => {
            text.len()
        }
        end => end,
    }
}

fn filetype_of(name: &str) -> mlua::Result<Option<String>> {
    let filetype: Table = nvim::vim()?.get("filetype")?;
    let find: Function = filetype.get("match")?;
    find.call(nvim::table([("filename", nvim::value(name))])?)
}
