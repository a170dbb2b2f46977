//! Something of a transcript in full, in a buffer and a window of its own.
//!
//! Invariant: however much there is, it comes in slices, and the keys and the screen have their
//! turn in between.

use nvim_oxi::mlua::{self, Function, Table, Value};

use super::guard;
use super::keys;
use super::nvim::{self, api};
use super::walk;
use acp_core::render::view::{WholeLanguage, WholeView};

/// How much goes into the buffer at once, in bytes and in lines: about a millisecond's work.
const SLICE: usize = 128 * 1024;
const SLICE_LINES: usize = 2500;

/// Larger texts are not highlighted: what does it (a parser, patterns) would have to read them.
const MAX_LIT: usize = 1024 * 1024;

/// Wrapping longer lines would take Neovim too long at each key.
const MAX_WRAPPED: usize = 10_000;

/// What is left of a text on its way to its buffer.
struct Rest {
    buf: i32,
    text: String,
    /// Where the next line begins.
    at: usize,
}

/// Shows a text in a split of the window that shows a file; `q` closes it.
///
/// # Errors
/// What Neovim says of it.
pub fn show(view: WholeView) -> mlua::Result<()> {
    let is_small = view.text.len() <= MAX_LIT;
    let is_wrapped = !view.text.lines().any(|line| line.len() > MAX_WRAPPED);
    let buf = buffer(&view.name)?;
    let win = window(buf)?;
    nvim::set_win_option(win, "wrap", is_wrapped)?;
    let rest = Rest {
        buf,
        text: view.text,
        at: 0,
    };
    put(rest)?;
    if is_small {
        let filetype = match view.language {
            WholeLanguage::Named(name) => Some(name.to_owned()),
            WholeLanguage::OfFile(name) => filetype_of(&name)?,
        };
        if let Some(filetype) = filetype {
            nvim::set_buf_option(buf, "filetype", filetype.as_str())?;
        }
    }
    for lhs in keys::of("chat", "close") {
        keys::map(buf, "n", &lhs, "Closes the window", move || close(buf))?;
    }
    Ok(())
}

/// Makes the buffer; one of this name is gone then.
fn buffer(name: &str) -> mlua::Result<i32> {
    for buf in api::<Vec<i32>>("nvim_list_bufs", ())? {
        if api::<String>("nvim_buf_get_name", buf)? == name {
            let opts = nvim::table([("force", Value::Boolean(true))])?;
            api::<()>("nvim_buf_delete", (buf, opts))?;
        }
    }
    let buf: i32 = api("nvim_create_buf", (false, true))?;
    api::<()>("nvim_buf_set_name", (buf, name))?;
    nvim::set_buf_option(buf, "bufhidden", "wipe")?;
    nvim::set_buf_option(buf, "swapfile", false)?;
    nvim::set_buf_option(buf, "undolevels", -1)?;
    nvim::set_buf_option(buf, "modifiable", false)?;
    Ok(buf)
}

/// Opens a window below the one that shows a file, or beside the chat, and goes there.
fn window(buf: i32) -> mlua::Result<i32> {
    let config = match walk::window_aside()? {
        Some(win) => [("split", nvim::value("below")), ("win", nvim::value(win))],
        None => [("split", nvim::value("left")), ("win", Value::Integer(-1))],
    };
    api("nvim_open_win", (buf, true, nvim::table(config)?))
}

/// Puts the next slice into the buffer; the rest comes later.
fn put(mut rest: Rest) -> mlua::Result<()> {
    let buf = rest.buf;
    if !api::<bool>("nvim_buf_is_loaded", buf)? {
        return Ok(());
    }
    let text = rest.text.get(rest.at..).unwrap_or_default();
    let end = slice_end(text);
    let slice = text.get(..end).unwrap_or_default();
    let lines: Vec<&str> = slice.lines().collect();
    let start = if rest.at == 0 { 0 } else { -1 };
    nvim::set_buf_option(buf, "modifiable", true)?;
    let done = api::<()>("nvim_buf_set_lines", (buf, start, -1, false, lines));
    nvim::set_buf_option(buf, "modifiable", false)?;
    done?;
    rest.at += end;
    if rest.at >= rest.text.len() {
        return Ok(());
    }
    let rest = std::cell::Cell::new(Some(rest));
    let run = guard::callback("whole text", move |()| match rest.take() {
        Some(rest) => put(rest),
        None => Ok(()),
    })?;
    let later: Function = nvim::vim()?.get("defer_fn")?;
    later.call((run, 1))
}

/// Returns where the last line of the next slice ends: none is taken apart.
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

fn close(buf: i32) -> mlua::Result<()> {
    let opts = nvim::table([("force", Value::Boolean(true))])?;
    api("nvim_buf_delete", (buf, opts))
}
