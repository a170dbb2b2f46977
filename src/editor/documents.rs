//! Buffers and the core's mirrors of them: what the user does is reported, what the agent
//! changes is carried out.
//!
//! Invariant: every change of an attached buffer's lines is reported in order, with its author,
//! before anything that happens after it.

use std::collections::HashSet;
use std::path::PathBuf;

use nvim_oxi::mlua::{self, Table, Value};

use super::guard;
use super::nvim::{self, api};
use super::state::{self, send};
use crate::core::effect::Save;
use crate::core::event::{Author, BufState, EditDone, EditError, Event};
use crate::core::format::{Encoding, Format, LineEnd};
use crate::core::ids::{BufId, Token};
use crate::core::text::{LineEdit, Text};

/// The buffers that report their changes.
#[derive(Debug, Default)]
pub struct Attached {
    buffers: HashSet<i32>,
}

/// Attaches every file buffer there is, and those to come.
///
/// # Errors
/// What Neovim says of it.
pub fn start() -> mlua::Result<()> {
    let group: i32 = api(
        "nvim_create_augroup",
        (
            "acp_documents",
            nvim::table([("clear", Value::Boolean(true))])?,
        ),
    )?;
    on(group, &["BufReadPost", "BufNewFile", "BufFilePost"], attach)?;
    on(group, &["BufWritePost"], |buf| {
        if is_attached(buf) {
            report_state(buf)?;
            send(Event::BufSaved { buf: BufId(buf) });
        } else {
            attach(buf)?;
        }
        Ok(())
    })?;
    on(group, &["BufModifiedSet", "OptionSet"], report_state)?;
    let buffers: Vec<i32> = api("nvim_list_bufs", ())?;
    for buf in buffers {
        attach(buf)?;
    }
    Ok(())
}

fn on(
    group: i32,
    events: &[&str],
    body: impl Fn(i32) -> mlua::Result<()> + 'static,
) -> mlua::Result<()> {
    let callback = guard::callback("autocommand", move |args: Table| body(args.get("buf")?))?;
    let opts = nvim::table([
        ("group", Value::Integer(group.into())),
        ("callback", Value::Function(callback)),
    ])?;
    api("nvim_create_autocmd", (events.to_vec(), opts))
}

fn is_attached(buf: i32) -> bool {
    state::with(|editor| editor.attached.borrow().buffers.contains(&buf)).unwrap_or(false)
}

/// Attaches a buffer if it holds a file; one that is attached already is sent again.
fn attach(buf: i32) -> mlua::Result<()> {
    let is_loaded: bool = api("nvim_buf_is_loaded", buf)?;
    let name: String = api("nvim_buf_get_name", buf)?;
    if !is_loaded || name.is_empty() || name.contains("://") {
        return Ok(());
    }
    let kind: String = nvim::buf_option(buf, "buftype")?;
    if !kind.is_empty() {
        return Ok(());
    }
    if !is_attached(buf) {
        listen(buf)?;
    }
    send_whole(buf, name)
}

fn send_whole(buf: i32, name: String) -> mlua::Result<()> {
    let path = PathBuf::from(name);
    let real = crate::paths::resolved(&path);
    let lines: Vec<mlua::String> = api("nvim_buf_get_lines", (buf, 0, -1, false))?;
    let text = Text::from_lines(lines.iter().map(line_text));
    send(Event::BufAttached {
        buf: BufId(buf),
        path,
        real,
        text,
        state: buf_state(buf)?,
    });
    Ok(())
}

/// Returns a line as text. Neovim keeps a NUL of the file as a newline in the line.
fn line_text(line: &mlua::String) -> String {
    line.to_string_lossy().replace('\n', "\0")
}

fn listen(buf: i32) -> mlua::Result<()> {
    let on_lines = guard::callback("on_lines", |args: LinesArgs| {
        let (_, buf, tick, first, last, new_last) = args;
        lines_changed(buf, tick, first, last, new_last)?;
        Ok(())
    })?;
    let on_tick = guard::callback("on_changedtick", |(_, buf, _): (String, i32, u64)| {
        report_state(buf)
    })?;
    let on_reload = guard::callback("on_reload", |(_, buf): (String, i32)| {
        let name: String = api("nvim_buf_get_name", buf)?;
        send_whole(buf, name)
    })?;
    let on_detach = guard::callback("on_detach", |(_, buf): (String, i32)| {
        state::with(|editor| editor.attached.borrow_mut().buffers.remove(&buf));
        send(Event::BufDetached { buf: BufId(buf) });
        Ok(())
    })?;
    let opts = nvim::table([
        ("on_lines", Value::Function(on_lines)),
        ("on_changedtick", Value::Function(on_tick)),
        ("on_reload", Value::Function(on_reload)),
        ("on_detach", Value::Function(on_detach)),
    ])?;
    let attached: bool = api("nvim_buf_attach", (buf, false, opts))?;
    if attached {
        state::with(|editor| editor.attached.borrow_mut().buffers.insert(buf));
    }
    Ok(())
}

type LinesArgs = (String, i32, u64, i64, i64, i64);

fn lines_changed(buf: i32, tick: u64, first: i64, last: i64, new_last: i64) -> mlua::Result<()> {
    let lines: Vec<mlua::String> = if new_last > first {
        api("nvim_buf_get_lines", (buf, first, new_last, false))?
    } else {
        Vec::new()
    };
    let author = state::with(|editor| editor.applying.get()).flatten();
    send(Event::BufLines {
        buf: BufId(buf),
        tick,
        edit: LineEdit {
            start: usize::try_from(first).unwrap_or(0),
            removed: usize::try_from(last - first).unwrap_or(0),
            lines: lines.iter().map(line_text).collect(),
        },
        author: author.map_or(Author::User, Author::Client),
    });
    Ok(())
}

fn report_state(buf: i32) -> mlua::Result<()> {
    // `OptionSet` gives buffer 0 for the current one.
    let buf = match buf {
        0 => api("nvim_get_current_buf", ())?,
        buf => buf,
    };
    if is_attached(buf) {
        let state = buf_state(buf)?;
        send(Event::BufChanged {
            buf: BufId(buf),
            state,
        });
    }
    Ok(())
}

fn buf_state(buf: i32) -> mlua::Result<BufState> {
    let format: String = nvim::buf_option(buf, "fileformat")?;
    let end: bool = nvim::buf_option(buf, "endofline")?;
    let fix: bool = nvim::buf_option(buf, "fixendofline")?;
    let binary: bool = nvim::buf_option(buf, "binary")?;
    let encoding: String = nvim::buf_option(buf, "fileencoding")?;
    Ok(BufState {
        tick: api("nvim_buf_get_changedtick", buf)?,
        modified: nvim::buf_option(buf, "modified")?,
        readonly: nvim::buf_option::<bool>(buf, "readonly")?
            || !nvim::buf_option::<bool>(buf, "modifiable")?,
        format: Format {
            line_end: match format.as_str() {
                "dos" => LineEnd::CrLf,
                "mac" => LineEnd::Cr,
                _ => LineEnd::Lf,
            },
            final_newline: end || (fix && !binary),
            bom: nvim::buf_option(buf, "bomb")?,
            encoding: match encoding.as_str() {
                "" | "utf-8" => Encoding::Utf8,
                "latin1" => Encoding::Latin1,
                _ => Encoding::Other,
            },
        },
    })
}

/// Carries out an edit for the core and reports what came of it.
pub fn edit(token: Token, buf: BufId, tick: u64, edits: &[LineEdit], save: Save) {
    let result = guarded_edit(token, buf.0, tick, edits, save);
    send(Event::Edited { token, buf, result });
}

fn guarded_edit(
    token: Token,
    buf: i32,
    tick: u64,
    edits: &[LineEdit],
    save: Save,
) -> Result<EditDone, EditError> {
    let refused = |error: mlua::Error| EditError::Refused(nvim::message(&error));
    if !is_attached(buf) || !api::<bool>("nvim_buf_is_loaded", buf).map_err(refused)? {
        return Err(EditError::Gone);
    }
    let now: u64 = api("nvim_buf_get_changedtick", buf).map_err(refused)?;
    if now != tick {
        return Err(EditError::Stale { tick: now });
    }
    state::with(|editor| editor.applying.set(Some(token)));
    let done = apply_and_save(buf, edits, save);
    state::with(|editor| editor.applying.set(None));
    let saved = done.map_err(refused)?;
    let tick = api("nvim_buf_get_changedtick", buf).map_err(refused)?;
    Ok(EditDone { tick, saved })
}

type Saved = Option<Result<(), String>>;

fn apply_and_save(buf: i32, edits: &[LineEdit], save: Save) -> mlua::Result<Saved> {
    if !edits.is_empty() {
        // Setting 'undolevels' ends the undo block: the edit is a step of its own.
        nvim::buf_call(buf, "let &l:undolevels = &l:undolevels")?;
        for edit in edits.iter().rev() {
            let lines: Vec<String> = edit
                .lines
                .iter()
                .map(|line| line.replace('\0', "\n"))
                .collect();
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            super::lines::replace(buf, edit.start, edit.removed, &lines)?;
        }
        nvim::buf_call(buf, "let &l:undolevels = &l:undolevels")?;
    }
    Ok(match save {
        Save::No => None,
        Save::Yes => Some(write(buf)),
    })
}

/// Saves a buffer as `:write` does. What others wrote to the file has been merged already, so
/// it is not asked about again.
fn write(buf: i32) -> Result<(), String> {
    let saved = nvim::buf_call(buf, "silent keepalt write!").map_err(|error| nvim::message(&error));
    saved?;
    match nvim::buf_option::<bool>(buf, "modified") {
        Ok(false) => Ok(()),
        _ => Err("the buffer is still modified after :write".to_owned()),
    }
}
