//! Reports changes of file buffers to the core, which mirrors them.
//!
//! Invariant: every change of an attached buffer's lines is reported in order, with its author,
//! before any later event; each report of lines has its own number.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use nvim_oxi::mlua::{self, Value};

use super::guard;
use super::kit::autocmd::{self, Fired, Scope};
use super::kit::{buffer, user};
use super::loading::{Loading, Source, seen, send_whole};
use super::nvim::{self, api};
use super::state::send;
use super::written;
use acp_core::event::{BufferEvent, Event};
use acp_core::spine::event::{BufState, Stamp};
use acp_core::spine::ids::BufId;
use acp_core::spine::pending::Token;
use acp_core::spine::pending::reply::Edited;
use acp_core::text::format::{Encoding, Format, LineEnd};
use acp_core::text::{LineEdit, Text};
use acp_edge::textfile::TextFile;

/// The buffers that report their changes.
#[derive(Debug, Default)]
pub struct Attached {
    buffers: HashMap<i32, Buffer>,
    /// The number of the last report of lines.
    reports: u64,
    /// The buffer that is being renamed because its file was moved.
    moving: Option<i32>,
    /// The files of buffers as they were before Neovim began to read them.
    reading: HashMap<i32, Stamp>,
}

#[derive(Debug, Default)]
pub struct Buffer {
    /// The number of the last report of its lines.
    tick: u64,
    /// Set while its text is being sent.
    pub loading: Option<Loading>,
    /// The file that its text was last read from, written to or merged with; for a buffer attached
    /// later, its file at that time.
    known: Option<Stamp>,
    /// The path of that file, with links resolved.
    real: Option<PathBuf>,
    /// It has a name that it was never read from or written to, and that its file was not moved to:
    /// Neovim asks before it overwrites a file of that name.
    renamed: bool,
    /// It keeps the text of another file than its name leads to: a link was changed, and it has unsaved
    /// lines or lies below that link. The core does not know it.
    elsewhere: bool,
    /// The buffer when the current `:write` began.
    writing: Option<Writing>,
    /// The file that the current `:write` replaces without a merge.
    replaced: Option<TextFile>,
}

/// A buffer that is being written, before that.
#[derive(Debug)]
struct Writing {
    tick: u64,
    file: Option<Stamp>,
    is_modified: bool,
}

/// Attaches every file buffer, and those opened later.
///
/// # Errors
/// Neovim's error.
pub fn start() -> mlua::Result<()> {
    on(&["BufReadPre"], |buf| {
        let stamp = stamp(buf)?;
        with(|attached| match stamp {
            Some(stamp) => attached.reading.insert(buf, stamp),
            None => attached.reading.remove(&buf),
        });
        Ok(())
    })?;
    on(&["BufReadPost"], |buf| {
        // A reload ends with `on_reload`.
        let is_reload = is_attached(buf);
        attach(buf, Source::Disk)?;
        if !is_reload {
            has_read(buf);
        }
        Ok(())
    })?;
    // If the file exists by now, its text was not read.
    on(&["BufNewFile"], |buf| attach(buf, Source::Before))?;
    on(&["BufFilePost"], renamed)?;
    autocmd::on("buffer", &["BufWritePost"], Scope::All, saved)?;
    on(&["BufModifiedSet"], |buf| {
        report_state(buf)?;
        super::swap::changed(buf)
    })?;
    let options = |fired: Fired| report_state(fired.buf()?);
    autocmd::on(
        "buffer options",
        &["OptionSet"],
        Scope::Patterns(&OPTIONS),
        options,
    )?;
    // Modelines and others' autocommands set options without an event, and so does
    // `:noautocmd edit`.
    on(&["BufEnter", "BufWinEnter"], |buf| {
        if is_attached(buf) {
            report_state(buf)
        } else {
            attach(buf, Source::Before)
        }
    })?;
    let buffers: Vec<i32> = api("nvim_list_bufs", ())?;
    for buf in buffers {
        attach(buf, Source::Before)?;
    }
    Ok(())
}

/// Reports a buffer that has another name.
fn renamed(buf: i32) -> mlua::Result<()> {
    set_elsewhere(buf, false);
    // The core has moved the file itself, and knows its new name.
    let is_known = with(|attached| attached.moving == Some(buf)) && is_attached(buf);
    let is_moved = was_moved(buf)?;
    if !is_known {
        let source = if is_moved {
            Source::Disk
        } else {
            Source::Before
        };
        attach(buf, source)?;
    }
    set_renamed(buf, !is_moved);
    Ok(())
}

/// Reports a buffer that was saved.
fn saved(fired: Fired) -> mlua::Result<()> {
    acp_edge::slow::pause("saved");
    let buf = fired.buf()?;
    // Another autocommand may have wiped it out.
    if !buffer::is_loaded(buf)? || written::is_other(buf, &fired.matched()?)? {
        return Ok(());
    }
    match is_attached(buf) {
        true => report_saved(buf),
        false => attach(buf, Source::Disk),
    }
}

/// Reports a buffer that was saved, unless `BufWritePost` did: an earlier autocommand of that event may
/// have failed.
///
/// # Errors
/// Neovim's error.
pub fn write_ends(buf: i32) -> mlua::Result<()> {
    let is_untold = with_buffer(buf, |buffer| buffer.writing.as_ref().map(drop)).is_some();
    match is_untold && buffer::is_loaded(buf)? {
        true => report_saved(buf),
        false => Ok(()),
    }
}

fn report_saved(buf: i32) -> mlua::Result<()> {
    let stamp = stamp(buf)?;
    let has_failed = has_failed(buf, stamp)?;
    let replaced = set_replaced(buf, None);
    if has_failed {
        return Ok(());
    }
    set_renamed(buf, false);
    report_state(buf)?;
    set_known(buf, stamp);
    send(Event::Buffer(BufferEvent::Saved {
        buf: BufId(buf),
        real: path(buf)?,
        stamp,
        over: replaced.map(|replaced| replaced.overwritten(stamp)),
        made_for: made_for(buf),
    }));
    Ok(())
}

fn on(events: &[&str], body: fn(i32) -> mlua::Result<()>) -> mlua::Result<()> {
    autocmd::on("buffer", events, Scope::All, move |fired| {
        body(fired.buf()?)
    })
    .map(drop)
}

/// The options that are reported when they are set. Not 'modifiable': each frame of a chat sets
/// it, and Neovim reports it when it refuses an edit.
const OPTIONS: [&str; 7] = [
    "bomb",
    "fileformat",
    "endofline",
    "fixendofline",
    "binary",
    "fileencoding",
    "readonly",
];

/// Runs `body` with a buffer that is attached.
pub fn with_buffer<R>(buf: i32, body: impl FnOnce(&mut Buffer) -> Option<R>) -> Option<R> {
    with(|attached| attached.buffers.get_mut(&buf).and_then(body))
}

thread_local! {
    static ATTACHED: RefCell<Attached> = RefCell::default();
    /// The edit that is being applied, with its buffer: changes and saves are attributed to it.
    pub(super) static APPLYING: Cell<Option<(i32, Token<Edited>)>> = const { Cell::new(None) };
    /// The edit whose save hooks run for a decision: what they change in its buffer is the user's.
    pub(super) static IN_USERS_HOOKS: Cell<Option<Token<Edited>>> = const { Cell::new(None) };
}

fn with<R>(body: impl FnOnce(&mut Attached) -> R) -> R {
    ATTACHED.with_borrow_mut(body)
}

/// Returns whether a buffer is attached.
pub fn is_attached(buf: i32) -> bool {
    with(|attached| attached.buffers.contains_key(&buf))
}

/// Returns the number of the last report of a buffer's lines.
pub fn tick(buf: i32) -> u64 {
    with_buffer(buf, |buffer| Some(buffer.tick)).unwrap_or(0)
}

/// Returns whether a buffer has a name that it was never read from or written to.
pub fn is_renamed(buf: i32) -> bool {
    with_buffer(buf, |buffer| Some(buffer.renamed)).unwrap_or(false)
}

/// Records whether a buffer has a name that it was never read from or written to.
pub fn set_renamed(buf: i32, renamed: bool) {
    with_buffer(buf, |buffer| {
        buffer.renamed = renamed;
        Some(())
    });
}

/// Renames a buffer by `rename`, to a name that the core knows.
pub fn moving<R>(buf: i32, rename: impl FnOnce() -> R) -> R {
    with(|attached| attached.moving = Some(buf));
    let result = rename();
    with(|attached| attached.moving = None);
    result
}

/// Returns the file that a buffer's text was last read from, written to or merged with; initially
/// its file when it was attached.
pub fn known(buf: i32) -> Option<Stamp> {
    with_buffer(buf, |buffer| buffer.known)
}

/// Records the file that a buffer's text was read from, written to or merged with.
pub fn set_known(buf: i32, stamp: Option<Stamp>) {
    let real = buffer::name(buf).ok();
    let real = real.map(|name| acp_edge::paths::resolved(Path::new(&name)));
    with_buffer(buf, |buffer| {
        (buffer.known, buffer.real) = (stamp, real);
        Some(())
    });
}

/// Returns the path of a buffer's file as the core knows it, links resolved; the buffer's name if it is
/// not attached.
///
/// # Errors
/// Neovim's error.
pub fn path(buf: i32) -> mlua::Result<PathBuf> {
    match with_buffer(buf, |buffer| buffer.real.clone()) {
        Some(path) => Ok(path),
        None => buffer::name(buf).map(PathBuf::from),
    }
}

/// Returns the buffer of the file with this path, else the one with this name.
///
/// # Errors
/// Neovim's error.
pub fn of_path(path: &Path) -> mlua::Result<Option<i32>> {
    let has_it = |buffer: &Buffer| buffer.real.as_deref() == Some(path);
    let mut found = with(|attached| {
        let all = attached.buffers.iter();
        all.filter(|(_, buffer)| has_it(buffer))
            .map(|(buf, _)| *buf)
            .min()
    });
    if found.is_none() {
        found = buffer::named(&path.to_string_lossy())?;
    }
    Ok(found)
}

/// Records whether a buffer keeps the text of another file than its name leads to; returns whether it
/// did.
pub fn set_elsewhere(buf: i32, elsewhere: bool) -> bool {
    let before = with_buffer(buf, |buffer| {
        Some(std::mem::replace(&mut buffer.elsewhere, elsewhere))
    });
    before.unwrap_or(false)
}

/// Returns whether a buffer's name leads to another file than the known one: a link was changed.
pub fn is_elsewhere(buf: i32, real: &Path) -> bool {
    let known = with_buffer(buf, |buffer| buffer.real.clone());
    known.is_some_and(|known| known != real)
}

/// Records that a `:write` of a buffer begins.
///
/// # Errors
/// Neovim's error.
pub fn begin_write(buf: i32) -> mlua::Result<()> {
    let before = Writing {
        tick: tick(buf),
        file: stamp(buf)?,
        is_modified: nvim::buf_option(buf, "modified")?,
    };
    with_buffer(buf, |buffer| {
        buffer.writing = Some(before);
        None::<()>
    });
    set_replaced(buf, None);
    Ok(())
}

/// Returns whether the `:write` that has just ended has failed, with the file `there`: Neovim fires
/// `BufWritePost` even then. The buffer is still modified, or was not, and its lines or its file are
/// as they were.
fn has_failed(buf: i32, there: Option<Stamp>) -> mlua::Result<bool> {
    let Some(before) = with_buffer(buf, |buffer| buffer.writing.take()) else {
        // Nothing began a write: a script has fired the event.
        return nvim::buf_option(buf, "modified");
    };
    let is_modified: bool = nvim::buf_option(buf, "modified")?;
    let is_same_text = before.tick == tick(buf);
    Ok(match before.file == there {
        true => is_modified || !before.is_modified && is_same_text,
        false => is_modified && is_same_text,
    })
}

/// Records the file that a `:write` is about to replace, and returns the previous one.
pub fn set_replaced(buf: i32, file: Option<TextFile>) -> Option<TextFile> {
    with_buffer(buf, |buffer| std::mem::replace(&mut buffer.replaced, file))
}

/// Numbers a report of a buffer's lines.
pub fn next_tick(buf: i32) -> u64 {
    with(|attached| {
        attached.reports += 1;
        let tick = attached.reports;
        attached.buffers.entry(buf).or_default().tick = tick;
        tick
    })
}

/// Returns the stamp of a file that a buffer has been read from just now. If another program wrote
/// meanwhile, Neovim may have read a part of the present file: its stamp is not that of the text then.
pub fn stamp_read(buf: i32, path: &Path) -> mlua::Result<Option<Stamp>> {
    let before = with(|attached| attached.reading.get(&buf).copied());
    let now = acp_edge::paths::stamp(path);
    match (before, now) {
        (Some(before), Some(now)) if before != now && !has_text_of(buf, path, now.bytes)? => {
            Ok(Some(before))
        }
        _ => Ok(now),
    }
}

/// Returns whether the file that a buffer has the text of now has the buffer's new name: file explorers
/// and language servers move it first.
fn was_moved(buf: i32) -> mlua::Result<bool> {
    let (known, now) = (known(buf), stamp(buf)?);
    let Some(now) = now.filter(|_| now == known && !is_renamed(buf)) else {
        return Ok(false);
    };
    // It may have changed before it was attached.
    let path = buffer::name(buf)?;
    Ok(nvim::buf_option(buf, "modified")? || has_text_of(buf, Path::new(&path), now.bytes)?)
}

/// Returns whether a file of this size may have the text of a buffer.
fn has_text_of(buf: i32, path: &Path, bytes: u64) -> mlua::Result<bool> {
    let format = Format {
        final_newline: nvim::buf_option(buf, "endofline")?,
        ..buf_state(buf)?.format
    };
    let rows: usize = api("nvim_buf_line_count", buf)?;
    let text = super::lines::text(buf, 0, rows)?;
    // Neovim alone knows some encodings.
    let Ok(written) = format.encode(&Text::from_text(&text)) else {
        return Ok(true);
    };
    // A buffer does not tell an empty file from one of an empty line.
    if bytes == 0 {
        return Ok(text == "\n");
    }
    let has = |there: &TextFile| there.bytes() == written;
    let is_of_size = written.len() as u64 == bytes;
    Ok(is_of_size && TextFile::read(path).as_ref().is_none_or(has))
}

/// Notes that Neovim has read a buffer's file.
fn has_read(buf: i32) {
    with(|attached| attached.reading.remove(&buf));
}

/// Returns the stamp of a buffer's file.
pub(super) fn stamp(buf: i32) -> mlua::Result<Option<Stamp>> {
    let name = buffer::name(buf)?;
    Ok(acp_edge::paths::stamp(Path::new(&name)))
}

/// Attaches a buffer if it holds a file; the text of an attached buffer is sent again.
fn attach(buf: i32, source: Source) -> mlua::Result<()> {
    if !buffer::is_loaded(buf)? {
        return Ok(());
    }
    let name = buffer::name(buf)?;
    if name.is_empty() || name.contains("://") {
        return Ok(());
    }
    let kind: String = nvim::buf_option(buf, "buftype")?;
    if !kind.is_empty() {
        return Ok(());
    }
    if !is_attached(buf) {
        listen(buf)?;
    }
    if source == Source::Disk {
        set_elsewhere(buf, false);
    }
    send_whole(buf, name, source)
}

/// Sends the text of an attached buffer again: the core has let go of it. If the buffer `is_saved`, its
/// text is that of the file.
///
/// # Errors
/// Neovim's error.
pub fn attach_again(buf: i32, is_saved: bool) -> mlua::Result<()> {
    let source = match is_saved {
        true => Source::Disk,
        false => Source::Before,
    };
    attach(buf, source)
}

fn listen(buf: i32) -> mlua::Result<()> {
    let on_lines = guard::callback("on_lines", |args: LinesArgs| {
        let (_, buf, _, first, last, new_last) = args;
        lines_changed(buf, first, last, new_last)
    })?;
    let on_reload = guard::callback("on_reload", |(_, buf): (String, i32)| {
        let name = buffer::name(buf)?;
        send_whole(buf, name, Source::Disk)?;
        has_read(buf);
        Ok(())
    })?;
    let on_detach = guard::callback("on_detach", |(_, buf): (String, i32)| {
        with(|attached| attached.buffers.remove(&buf));
        super::review::forget(buf);
        send(Event::Buffer(BufferEvent::Detached { buf: BufId(buf) }));
        attach_again_later(buf)
    })?;
    let opts = nvim::table([
        ("on_lines", Value::Function(on_lines)),
        ("on_reload", Value::Function(on_reload)),
        ("on_detach", Value::Function(on_detach)),
    ])?;
    api::<bool>("nvim_buf_attach", (buf, false, opts))?;
    Ok(())
}

/// Attaches a detached buffer again before the next key is typed into it: `:edit` detaches it, and
/// with autocommands off nothing else reports that it was reloaded. While an autocommand waits, or
/// Neovim asks about a swap file, it may not have its text yet.
fn attach_again_later(buf: i32) -> mlua::Result<()> {
    user::after_autocommands("attach again", move || match is_attached(buf) {
        true => Ok(()),
        false => attach(buf, Source::Before),
    })
}

type LinesArgs = (String, i32, u64, i64, i64, i64);

fn lines_changed(buf: i32, first: i64, last: i64, new_last: i64) -> mlua::Result<()> {
    let row = |line: i64| usize::try_from(line).unwrap_or(0);
    let (first, last, new_last) = (row(first), row(last), row(new_last));
    let Some(last) = seen(buf, first, last, new_last) else {
        return Ok(());
    };
    let lines = super::lines::get(buf, first, new_last)?;
    let made_for = made_for(buf).filter(|token| IN_USERS_HOOKS.get() != Some(*token));
    send(Event::Buffer(BufferEvent::Lines {
        buf: BufId(buf),
        tick: next_tick(buf),
        edit: LineEdit {
            start: first,
            removed: last.saturating_sub(first),
            lines,
        },
        made_for,
    }));
    Ok(())
}

/// Returns the core's edit of a buffer that is being applied. What a save hook does to another
/// buffer is not attributed to the agent.
fn made_for(buf: i32) -> Option<Token<Edited>> {
    let (edited, token) = APPLYING.get()?;
    (edited == buf).then_some(token)
}

/// Reports the options of an attached buffer.
///
/// # Errors
/// Neovim's error.
pub fn report_state(buf: i32) -> mlua::Result<()> {
    if is_attached(buf) {
        let state = buf_state(buf)?;
        send(Event::Buffer(BufferEvent::Changed {
            buf: BufId(buf),
            state,
        }));
    }
    Ok(())
}

/// Returns the state of a buffer besides its lines.
///
/// # Errors
/// Neovim's error.
pub fn buf_state(buf: i32) -> mlua::Result<BufState> {
    let format: String = nvim::buf_option(buf, "fileformat")?;
    let end: bool = nvim::buf_option(buf, "endofline")?;
    let fix: bool = nvim::buf_option(buf, "fixendofline")?;
    let binary: bool = nvim::buf_option(buf, "binary")?;
    let encoding: String = nvim::buf_option(buf, "fileencoding")?;
    Ok(BufState {
        tick: tick(buf),
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
            encoding: Encoding::of_neovim(&encoding),
        },
    })
}
