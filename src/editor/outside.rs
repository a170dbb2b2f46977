//! Changes by other programs to the files of buffers, merged before Neovim asks about them.
//!
//! Invariants: no function here writes to a file; Neovim counts a file as read only when its text
//! has been merged into the buffer; Neovim handles all buffers outside of sessions' projects.
//!
//! # How Neovim learns that a buffer has its file's text
//!
//! Neovim keeps two times of a buffer's file. It compares one with the file's when it gets the
//! focus, after `:!`, at `:checktime` and when a buffer is entered (W11, W12, E211, 'autoread'),
//! and the other one before `:write` ("The file has been changed since reading it"). These can set
//! them:
//!
//! - `:checktime` with a `FileChangedShell` that does nothing sets the first one alone; the
//!   question at `:write` remains.
//! - `:edit`, or "reload" for an answer, reads the file again: marks, folds, extmarks and the
//!   undo tree of the untouched lines are lost, LSP clients get the whole text, and a large file
//!   blocks Neovim.
//! - An extra `:write` just before the user's sets both; but the file is written twice, the first
//!   time without the user's hooks, and a hook that refuses the write runs too late.
//! - A `:write` with a `BufWriteCmd` that writes nothing sets both (|BufWriteCmd| is assumed to
//!   have written the file) and notes in the undo tree that all other texts differ from the file,
//!   as after any write: an undo makes the buffer modified. It takes 0.1 ms for any size.
//!
//! This client uses the last one. See `buf_write_do_autocmds()` in Neovim's bufwrite.c.

use std::path::{Path, PathBuf};

use nvim_oxi::mlua::{self, Table};

use super::chats;
use super::documents::{
    APPLYING, begin_write, buf_state, is_attached, is_elsewhere, known, set_known, set_replaced,
};
use super::kit::autocmd::{self, Fired, GROUP, Scope, nested, silenced};
use super::kit::buffer;
use super::nvim::{self, api};
use super::state::{self, send};
use super::walk;
use acp_core::conversation::info::SessionInfo;
use acp_core::event::{BufferEvent, Event};
use acp_core::spine::event::{SaveError, Stamp};
use acp_core::spine::ids::BufId;
use acp_core::text::format::{Encoding, Format, LineEnd};
use acp_edge::textfile::TextFile;

/// Answers for Neovim when it finds that the file of a buffer has changed.
///
/// # Errors
/// Neovim's error.
pub fn start() -> mlua::Result<()> {
    let changed = |fired: Fired| changed(fired.buf()?);
    autocmd::on("file changed", &["FileChangedShell"], Scope::All, changed)?;
    let write = |fired: Fired| about_to_write(fired.buf()?, &fired.matched()?);
    autocmd::on("before a write", &["BufWritePre"], Scope::All, write)?;
    autocmd::command(&["BufWritePre"], REFUSE)?;
    Ok(())
}

/// Stops a `:write` for the reason that [`about_to_write`] has left in a variable of the buffer.
const REFUSE: &str = "if exists('b:acp_refused') | echohl WarningMsg | echomsg b:acp_refused | \
                      echohl None | unlet b:acp_refused | call interrupt() | endif";

/// Tells Neovim to ignore the change of a file if the core merges it.
fn changed(buf: i32) -> mlua::Result<()> {
    if is_looked_after(buf)? {
        send(Event::Buffer(BufferEvent::Outdated { buf: BufId(buf) }));
        return choose("");
    }
    // Neovim asks no question if any autocommand exists, even ours; other plugins' autocommands
    // decide.
    match has_autocommand_of_others("FileChangedShell", buf)? {
        true => Ok(()),
        false => choose("ask"),
    }
}

/// Lets the user's `:write` replace a file that others have changed, without Neovim's question: the
/// core receives their text with the save, and merges it into the saved text afterwards.
///
/// Neovim does ask about a file that another program is writing right now, and about one that only
/// Neovim can read. The other file that a changed link leads to needs a `!`: Neovim compares only times,
/// and both files may be from the same checkout.
fn about_to_write(buf: i32, target: &str) -> mlua::Result<()> {
    // Another autocommand may have wiped it out; then nothing is written.
    if !buffer::is_loaded(buf)? {
        return Ok(());
    }
    begin_write(buf)?;
    let is_own = APPLYING.get().is_some_and(|(edited, _)| edited == buf);
    let path = name(buf)?;
    let real = acp_edge::paths::resolved(&path);
    // Neovim has followed the links above the target.
    let is_copy = || acp_edge::paths::resolved(Path::new(target)) != real;
    if is_own || is_copy() || !is_looked_after(buf)? {
        return Ok(());
    }
    let (Some(known), Some(there)) = (known(buf), acp_edge::paths::stamp(&path)) else {
        return Ok(());
    };
    // It may have been moved, with a link in its place.
    if known == there {
        return Ok(());
    }
    if is_elsewhere(buf, &real) {
        return match nvim::vim()?.get::<Table>("v")?.get("cmdbang")? {
            1 => Ok(()),
            _ => refuse(buf, &real),
        };
    }
    let encoding = buf_state(buf)?.format.encoding;
    if encoding == Encoding::Other || state::is_being_written(&real, there.bytes) {
        return Ok(());
    }
    let replaced = TextFile::read(&path);
    if let Some(replaced) = replaced.filter(|replaced| encoding.reads(replaced.bytes())) {
        count_as_written(buf)?;
        set_replaced(buf, Some(replaced));
    }
    Ok(())
}

/// Keeps a `:write` from replacing another file than that of the buffer.
fn refuse(buf: i32, real: &Path) -> mlua::Result<()> {
    let path = name(buf)?;
    let what = match real == path {
        true => "is a file of its own now".to_owned(),
        false => format!("leads to {} now", walk::typed(real)?),
    };
    let name = walk::typed(&path)?;
    let why = format!("acp.nvim: {name} {what}: `:write!` overwrites it, `:edit!` reads it");
    api("nvim_buf_set_var", (buf, "acp_refused", why))
}

fn choose(choice: &str) -> mlua::Result<()> {
    nvim::vim()?.get::<Table>("v")?.set("fcs_choice", choice)
}

/// Returns whether changes of a buffer's file are merged: it is in the project of a session.
fn is_looked_after(buf: i32) -> mlua::Result<bool> {
    is_within(buf, |_| true)
}

/// Returns whether a buffer's file is in the project of such a session.
///
/// # Errors
/// Neovim's error.
pub fn is_within(buf: i32, is_such: impl Fn(&SessionInfo) -> bool) -> mlua::Result<bool> {
    let snapshot = state::snapshot();
    let sessions = snapshot.sessions.iter();
    // The core hears later that the user has closed one.
    let sessions = sessions.filter(|it| chats::get(it.session).is_some() && is_such(it));
    let sessions: Vec<_> = sessions.collect();
    if sessions.is_empty() || !is_attached(buf) {
        return Ok(false);
    }
    let path = name(buf)?;
    let real = acp_edge::paths::resolved(&path);
    let holds = |root: &PathBuf| path.starts_with(root) || real.starts_with(root);
    Ok(sessions.into_iter().any(|session| holds(&session.cwd)))
}

pub(super) fn name(buf: i32) -> mlua::Result<PathBuf> {
    buffer::name(buf).map(PathBuf::from)
}

/// Returns whether an autocommand of another plugin or the user would run for a buffer.
fn has_autocommand_of_others(event: &str, buf: i32) -> mlua::Result<bool> {
    let filter = nvim::table([("event", nvim::value(event))])?;
    let all: Vec<Table> = api("nvim_get_autocmds", filter)?;
    let path = name(buf)?;
    let full = path.to_string_lossy().into_owned();
    let tail = path.file_name().unwrap_or_default();
    let tail = tail.to_string_lossy().into_owned();
    for autocommand in all {
        if autocommand.get::<Option<String>>("group_name")?.as_deref() == Some(GROUP) {
            continue;
        }
        if autocommand.get::<Option<bool>>("buflocal")? == Some(true) {
            if autocommand.get::<Option<i32>>("buffer")? == Some(buf) {
                return Ok(true);
            }
            continue;
        }
        let pattern: String = autocommand.get("pattern")?;
        let subject = match pattern.contains('/') {
            true => full.as_str(),
            false => tail.as_str(),
        };
        let pattern: String = nvim::vim_fn("glob2regpat", pattern)?;
        if nvim::vim_fn::<i64>("match", (subject, pattern))? >= 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Runs `body` while a buffer may be changed, and sets the options for that without autocommands.
///
/// A text that Neovim would reload is merged into a protected buffer as well; the warning that it
/// is protected would take a second.
///
/// # Errors
/// The error of `body`, or Neovim's.
pub fn unprotected<R>(buf: i32, body: impl FnOnce() -> mlua::Result<R>) -> mlua::Result<R> {
    let readonly: bool = nvim::buf_option(buf, "readonly")?;
    let modifiable: bool = nvim::buf_option(buf, "modifiable")?;
    if !readonly && modifiable {
        return body();
    }
    silenced(|| {
        nvim::set_buf_option(buf, "readonly", false)?;
        nvim::set_buf_option(buf, "modifiable", true)
    })?;
    let result = body();
    silenced(|| {
        nvim::set_buf_option(buf, "readonly", readonly)?;
        nvim::set_buf_option(buf, "modifiable", modifiable)
    })?;
    result
}

/// Marks a buffer as having the text on disk: the file with this stamp counts as read, the buffer
/// is unmodified if it `is_clean`, and it gets the file's format.
///
/// # Errors
/// Neovim's error; the inner result is `SaveError::Stale` if the file has changed again.
pub fn take_over(
    buf: i32,
    stamp: Option<Stamp>,
    is_clean: bool,
    format: Format,
) -> mlua::Result<Result<(), SaveError>> {
    let path = name(buf)?;
    let set_modified = || silenced(|| nvim::set_buf_option(buf, "modified", !is_clean));
    let is_there = || acp_edge::paths::stamp(&path) == stamp;
    if !is_there() {
        // Neovim should still detect this newer change; it is unknown whether the buffer contains
        // it.
        return Ok(Err(SaveError::Stale));
    }
    silenced(|| set_format(buf, format))?;
    match stamp {
        Some(_) => count_as_written(buf)?,
        None => gone(buf)?,
    }
    set_modified()?;
    match is_there() {
        true => {
            set_known(buf, stamp);
            Ok(Ok(()))
        }
        false => Ok(Err(SaveError::Stale)),
    }
}

/// Sets the options for the file's format, as reading it would.
fn set_format(buf: i32, format: Format) -> mlua::Result<()> {
    let line_end = match format.line_end {
        LineEnd::Lf => "unix",
        LineEnd::CrLf => "dos",
        LineEnd::Cr => "mac",
    };
    if nvim::buf_option::<String>(buf, "fileformat")? != line_end {
        nvim::set_buf_option(buf, "fileformat", line_end)?;
    }
    for (option, to) in [("endofline", format.final_newline), ("bomb", format.bom)] {
        if nvim::buf_option::<bool>(buf, option)? != to {
            nvim::set_buf_option(buf, option, to)?;
        }
    }
    let encoding: String = nvim::buf_option(buf, "fileencoding")?;
    match (Encoding::of_neovim(&encoding), format.encoding.name()) {
        // Set by Neovim or the user.
        (Encoding::Other, _) | (_, None) => Ok(()),
        (now, _) if now == format.encoding => Ok(()),
        (_, Some(name)) => nvim::set_buf_option(buf, "fileencoding", name),
    }
}

/// Makes a buffer count as just written to its file; nothing is written, and 'modified' keeps its
/// value.
///
/// If another plugin writes the buffer (|BufWriteCmd|), that is not run, and Neovim asks no
/// question at `:write` anyway.
pub(super) fn count_as_written(buf: i32) -> mlua::Result<()> {
    if has_autocommand_of_others("BufWriteCmd", buf)? {
        return Ok(());
    }
    // Neovim updates the undo tree only if the buffer was modified and the autocommand resets that.
    let unmodified = move |_| nvim::set_buf_option(buf, "modified", false);
    let scope = Scope::Buffer(buf);
    let on_write = autocmd::on("counted as written", &["BufWriteCmd"], scope, unmodified)?;
    let set = |modified: bool, kind: &'static str| {
        silenced(|| {
            nvim::set_buf_option(buf, "modified", modified)?;
            nvim::set_buf_option(buf, "buftype", kind)
        })
    };
    let was_modified: bool = nvim::buf_option(buf, "modified")?;
    // If the autocommand does not run, a buffer of this type is never written.
    let result = set(true, "acwrite")
        .and_then(|()| nested(move || buffer::run(buf, "silent keepalt lockmarks write!")));
    set(was_modified, "")?;
    autocmd::remove(on_write)?;
    result
}

/// Makes a buffer count as saved although its file is deleted, or about to be: it is unmodified,
/// and an undo makes it modified. Neovim's times of the file are kept.
///
/// The buffer is written to /dev/null ('cpoptions', "+").
///
/// # Errors
/// Neovim's error.
pub fn count_as_saved(buf: i32) -> mlua::Result<()> {
    let before: String = api("nvim_get_option_value", ("cpoptions", nvim::empty()?))?;
    let set = |to: &str| -> mlua::Result<()> {
        let scope = nvim::empty()?;
        api("nvim_set_option_value", ("cpoptions", to, scope))
    };
    // Without "A", /dev/null does not become the alternate file.
    silenced(|| set(&format!("{}+", before.replace('A', ""))))?;
    let nowhere = "noautocmd silent keepalt lockmarks write! ++enc=utf-8 ++ff=unix /dev/null";
    let result = buffer::run(buf, nowhere);
    silenced(|| set(&before))?;
    result?;
    nvim::set_buf_option(buf, "modified", false)
}

/// Makes Neovim detect that a buffer's file was deleted, without a message.
///
/// Neovim keeps checking for a new file, and `:write` creates one without a question.
pub(super) fn gone(buf: i32) -> mlua::Result<()> {
    let nothing = |_| choose("");
    let scope = Scope::Buffer(buf);
    let id = autocmd::on("file gone", &["FileChangedShell"], scope, nothing)?;
    let command = format!("silent checktime {buf}");
    let set_modified = move |to: bool| silenced(|| nvim::set_buf_option(buf, "modified", to));
    let was_modified: bool = nvim::buf_option(buf, "modified")?;
    // A file that is back is not read: it comes with a report, and reading a pipe never ends.
    set_modified(true)?;
    let result = nested(move || api("nvim_command", command.as_str()));
    set_modified(was_modified)?;
    autocmd::remove(id)?;
    result
}

/// Makes Neovim detect that a buffer's file was deleted on the user's decision.
///
/// # Errors
/// Neovim's error.
pub fn deleted(buf: BufId) -> mlua::Result<()> {
    match buffer::is_loaded(buf.0)? {
        true => gone(buf.0),
        false => Ok(()),
    }
}
