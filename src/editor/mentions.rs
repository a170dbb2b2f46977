//! Resolves the mentions of a prompt when it is sent.
//!
//! Invariant: only Neovim's memory is read here. Files are named; the core reads their text when it
//! sends the prompt.

use std::path::{Path, PathBuf};

use nvim_oxi::mlua::{self, Table, Value};

use super::kit::{buffer, window};
use super::nvim::{self, api};
use super::state;
use acp_core::conversation::mention::{self, Mention, Named};
use acp_core::spine::attachment::{Attachment, Content};
use acp_core::spine::event::Context;
use acp_core::spine::ids::SessionKey;

/// The most diagnostics that are attached.
const MAX_DIAGNOSTICS: usize = 200;

/// Returns the attachments that a text mentions.
pub fn resolve(key: SessionKey, text: &str) -> mlua::Result<Vec<Attachment>> {
    let cwd = folder(key)?;
    let mut found = Vec::new();
    for mention in mention::all(text) {
        let item = resolve_one(&mention, &cwd)?;
        found.extend(item.filter(|item| !found.contains(item)));
    }
    Ok(found)
}

/// Returns whether a mention names something; a symbol is not looked up.
pub fn is_something(mention: &Mention, key: SessionKey) -> mlua::Result<bool> {
    Ok(match mention.named() {
        Named::Path(name) => path(name, &folder(key)?).is_some(),
        Named::Symbol(name) => !name.is_empty(),
        _ => true,
    })
}

/// Returns the folder to which a session's paths are relative.
pub fn folder(key: SessionKey) -> mlua::Result<PathBuf> {
    match state::session(key, |info| info.cwd.clone()) {
        Some(cwd) => Ok(cwd),
        // The core does not know the session yet.
        None => nvim::vim_fn::<String>("getcwd", ()).map(PathBuf::from),
    }
}

fn resolve_one(mention: &Mention, cwd: &Path) -> mlua::Result<Option<Attachment>> {
    match mention.named() {
        Named::Buffer => origin()?.map(whole).transpose(),
        Named::Selection => Ok(origin()?.map(selection).transpose()?.flatten()),
        Named::Diagnostics { all } => {
            let buf = if all { None } else { origin()? };
            diagnostics(buf, cwd)
        }
        Named::Diff => Ok(Some(Attachment::Diff {
            folder: cwd.to_owned(),
            text: Content::Later,
        })),
        Named::Symbol(name) => symbol(name),
        Named::Url(uri) => Ok(Some(Attachment::Link {
            uri: uri.to_owned(),
        })),
        Named::Path(name) => Ok(path(name, cwd)),
    }
}

/// Returns the file with this name, if it exists.
fn path(name: &str, cwd: &Path) -> Option<Attachment> {
    let expanded = match name.strip_prefix("~/") {
        Some(rest) => std::env::home_dir()?.join(rest),
        None => cwd.join(name),
    };
    if !expanded.exists() {
        return None;
    }
    Some(match is_image(&expanded) {
        true => Attachment::Image {
            path: Some(expanded),
            image: Content::Later,
        },
        false => Attachment::file(expanded),
    })
}

/// Returns the file buffer that the user worked in before the chat: that of the previous window, of
/// another window in the tab page, or the buffer used last.
fn origin() -> mlua::Result<Option<i32>> {
    let here = buffer::here()?;
    let is_file = |buf: i32| -> mlua::Result<bool> {
        Ok(buf > 0 && buf != here && nvim::buf_option::<String>(buf, "buftype")?.is_empty())
    };
    let before: i32 = nvim::vim_fn("winbufnr", nvim::vim_fn::<i32>("winnr", "#")?)?;
    if is_file(before)? {
        return Ok(Some(before));
    }
    for win in window::all_in(0)? {
        let buf = window::buf_of(win)?;
        if is_file(buf)? {
            return Ok(Some(buf));
        }
    }
    Ok(buffer::recent()?.first().map(|(buf, _)| *buf))
}

/// Returns a whole buffer: its file, or its lines if it has none.
fn whole(buf: i32) -> mlua::Result<Attachment> {
    let name = buffer::name(buf)?;
    if name.starts_with('/') {
        return Ok(Attachment::file(name));
    }
    let last: usize = api("nvim_buf_line_count", buf)?;
    lines(buf, 0, last)
}

/// Returns the last visual selection in a buffer.
fn selection(buf: i32) -> mlua::Result<Option<Attachment>> {
    let row = |mark: &str| -> mlua::Result<usize> {
        let at: Vec<usize> = api("nvim_buf_get_mark", (buf, mark))?;
        Ok(at.first().copied().unwrap_or(0))
    };
    let (first, last) = (row("<")?, row(">")?);
    match first {
        0 => Ok(None),
        _ => lines(buf, first - 1, last.max(first)).map(Some),
    }
}

fn lines(buf: i32, first: usize, last: usize) -> mlua::Result<Attachment> {
    let lines: Vec<String> = api("nvim_buf_get_lines", (buf, first, last, false))?;
    let name = buffer::name(buf)?;
    let path = if name.starts_with('/') {
        name
    } else {
        String::new()
    };
    Ok(Attachment::Lines(Context {
        path: PathBuf::from(path),
        rows: first..first + lines.len(),
        text: lines.join("\n"),
    }))
}

/// Returns the diagnostics of a buffer, or of all buffers.
fn diagnostics(buf: Option<i32>, cwd: &Path) -> mlua::Result<Option<Attachment>> {
    let module: Table = nvim::vim()?.get("diagnostic")?;
    let get: mlua::Function = module.get("get")?;
    let all: Vec<Table> = get.call(buf)?;
    let mut text = String::new();
    for found in all.iter().take(MAX_DIAGNOSTICS) {
        text.push_str(&diagnostic(found, cwd)?);
    }
    match all.len().saturating_sub(MAX_DIAGNOSTICS) {
        0 => {}
        more => text.push_str(&format!("… and {more} more\n")),
    }
    if all.is_empty() {
        text.push_str("There are none.");
    }
    Ok(Some(Attachment::Text {
        name: "Diagnostics".into(),
        text: text.trim_end().to_owned(),
    }))
}

fn diagnostic(found: &Table, cwd: &Path) -> mlua::Result<String> {
    let buf: Option<i32> = found.get("bufnr")?;
    let name: String = match buf {
        Some(buf) if buffer::is_valid(buf)? => buffer::name(buf)?,
        _ => String::new(),
    };
    let path = Path::new(&name);
    let path = path.strip_prefix(cwd).unwrap_or(path);
    let (row, column): (usize, usize) = (found.get("lnum")?, found.get("col")?);
    // vim.diagnostic.severity
    let severity = match found.get::<Option<i64>>("severity")? {
        Some(1) => "error",
        Some(2) => "warning",
        Some(3) => "info",
        _ => "hint",
    };
    let message: String = found.get("message")?;
    let source: Option<String> = found.get("source").unwrap_or_default();
    let source = source.map_or_else(String::new, |source| format!(" ({source})"));
    let message = message.replace('\n', "\n    ");
    let place = format!("{}:{}:{}", path.display(), row + 1, column + 1);
    Ok(format!("{place}: {severity}: {message}{source}\n"))
}

/// Returns the lines of a symbol, such as a function, in an open file.
fn symbol(name: &str) -> mlua::Result<Option<Attachment>> {
    let found: Value = nvim::lua()
        .load("return require('acp.symbols').find(...)")
        .call(name)?;
    let Value::Table(found) = found else {
        return Ok(None);
    };
    lines(found.get("buf")?, found.get("first")?, found.get("last")?).map(Some)
}

/// Returns whether a file's extension is that of an image agents accept.
pub fn is_image(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let extension = extension.map(str::to_lowercase);
    let known = ["png", "jpg", "jpeg", "gif", "webp"];
    extension.is_some_and(|extension| known.contains(&extension.as_str()))
}
