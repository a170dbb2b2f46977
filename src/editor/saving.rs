//! Saves buffers after the core's edits, as `:write` does.
//!
//! Invariants: a file is overwritten only if the core knows its contents, also after the save hooks
//! have run; Neovim asks no question.

use std::cell::Cell;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use nvim_oxi::mlua::{self, Function, IntoLua, Table};

use super::documents::{self, is_renamed};
use super::edit::Edit;
use super::kit::autocmd::{self, Scope};
use super::kit::buffer;
use super::notify::notify;
use super::nvim::{self, api};
use acp_core::spine::effect::{HardLinks, Level, Save};
use acp_core::spine::event::{SaveError, Stamp};
use acp_core::spine::pending::Token;
use acp_core::spine::pending::reply::Edited;
use acp_core::text::Text;
use acp_core::text::format::Format;
use acp_edge::textfile::TextFile;

/// The reason for not saving a buffer out of the folders that an edit may change.
const OUTSIDE: &str = "a link leads out of the session's folders; check that link";

/// The size up to which a file is compared with its buffer, in bytes.
const MAX_COMPARED: u64 = 16 << 20;

/// The save hooks run for a decision; other edits may be made while they wait.
pub struct UsersHooks(Option<Token<Edited>>);

impl UsersHooks {
    pub fn begin(token: Token<Edited>) -> Self {
        Self(documents::IN_USERS_HOOKS.replace(Some(token)))
    }
}

impl Drop for UsersHooks {
    fn drop(&mut self) {
        documents::IN_USERS_HOOKS.set(self.0);
    }
}

/// Returns the stamp under which an unmodified buffer's file is known; if that was rewritten with the
/// content of the buffer (`touch`, `git stash pop`), which no event reports, its present one.
pub fn written_again(buf: i32, known: Option<Stamp>) -> mlua::Result<Option<Stamp>> {
    let now = documents::stamp(buf)?;
    // Other line ends, for one, are another size.
    let is_again = |(now, known): &(Stamp, Stamp)| {
        now != known && now.bytes == known.bytes && now.bytes <= MAX_COMPARED
    };
    let Some((now, _)) = now.zip(known).filter(is_again) else {
        return Ok(known);
    };
    let is_same = match std::fs::read(buffer::name(buf)?) {
        Ok(bytes) => Format::decode(&bytes).1 == Text::from_lines(buffer::lines(buf)?),
        Err(_) => false,
    };
    Ok(if is_same { Some(now) } else { known })
}

/// Saves a buffer over the file with this stamp, as `:write` does.
///
/// A change on disk was merged before, so `!` keeps Neovim from asking about it; the other things
/// that `!` overrules are refused here. A save hook may take long: the file is looked at again after
/// the last one.
pub fn save(edit: &Edit, stamp: Option<Stamp>) -> Result<(), SaveError> {
    let buf = edit.buf.0;
    let name = buffer::name(buf).map_err(refused)?;
    let path = Path::new(&name);
    if acp_edge::paths::stamp(path) != stamp {
        return Err(SaveError::Stale);
    }
    if leads_out(path, &edit.roots) {
        return Err(SaveError::Refused(OUTSIDE.to_owned()));
    }
    if stamp.is_some() && acp_edge::paths::is_read_only(path) {
        let why = "the file is read-only; run `chmod u+w` on it to allow changes";
        return Err(SaveError::Refused(why.to_owned()));
    }
    let text = || super::lines::text(buf, 0, api("nvim_buf_line_count", (buf,))?);
    if let Some(why) = unencodable(buf, text).map_err(refused)? {
        return Err(SaveError::Refused(why));
    }
    let is_modified = || nvim::buf_option::<bool>(buf, "modified");
    let set_modified = |on: bool| autocmd::silenced(|| nvim::set_buf_option(buf, "modified", on));
    let was_modified = is_modified().map_err(refused)?;
    if !was_modified {
        // So that it tells whether the file was written before a hook failed.
        set_modified(true).map_err(refused)?;
    }
    if let Err(why) = write_over(edit, path, stamp) {
        match &why {
            SaveError::Refused(hook) if matches!(is_modified(), Ok(false)) => {
                documents::write_ends(buf).map_err(refused)?;
                let text = format!("{name} is saved; a save hook failed: {hook}");
                notify(Level::Warn, &text).unwrap_or_default();
            }
            _ => {
                // A hook may have wiped out the buffer.
                set_modified(was_modified).unwrap_or_default();
                return Err(why);
            }
        }
    }
    match is_modified() {
        Ok(false) => Ok(()),
        // A hook has wiped out the buffer after the write.
        Err(_) if acp_edge::paths::stamp(path) != stamp => Ok(()),
        _ => Err(SaveError::Refused(
            "the buffer is still modified after :write".to_owned(),
        )),
    }
}

fn refused(error: mlua::Error) -> SaveError {
    SaveError::Refused(nvim::message(&error))
}

/// Returns whether a write to a path follows a link out of these folders.
fn leads_out(path: &Path, roots: &[PathBuf]) -> bool {
    let end = acp_edge::paths::resolved(path);
    let holds = |root: &PathBuf| end.starts_with(acp_edge::paths::resolved(root));
    end != path && !roots.iter().any(holds)
}

/// Writes a buffer unless another program has changed its file by the end of the save hooks.
fn write_over(edit: &Edit, path: &Path, stamp: Option<Stamp>) -> Result<(), SaveError> {
    let buf = edit.buf.0;
    let as_it_ends = matches!(edit.save, Save::AsItEnds(_));
    let (file, roots) = (path.to_owned(), edit.roots.clone());
    let before = bytes_of(path, stamp);
    let fix_end =
        move |on: bool| autocmd::silenced(|| nvim::set_buf_option(buf, "fixendofline", on));
    let refusal = Rc::new(Cell::new(None));
    let is_unfixed = Rc::new(Cell::new(false));
    let (why, unfixed) = (Rc::clone(&refusal), Rc::clone(&is_unfixed));
    let look_again = move || {
        let now = acp_edge::paths::stamp(&file);
        // A hook may touch the file.
        let is_same = || before.is_some() && bytes_of(&file, now) == before;
        let found = if leads_out(&file, &roots) {
            Some(SaveError::Refused(OUTSIDE.to_owned()))
        } else if now != stamp && !is_same() {
            Some(SaveError::Stale)
        } else {
            None
        };
        let is_refused = found.is_some();
        why.set(found);
        if is_refused {
            return Err(mlua::Error::runtime("the save is refused"));
        }
        // Not before: hooks see the user's value.
        if as_it_ends && nvim::buf_option(buf, "fixendofline")? {
            unfixed.set(true);
            fix_end(false)?;
        }
        Ok(())
    };
    let scope = Scope::Buffer(buf);
    let last = autocmd::veto("last before a save", &["BufWritePre"], scope, look_again);
    let last = last.map_err(refused)?;
    let bang = if is_renamed(buf) { "" } else { "!" };
    let command = format!("silent keepalt write{bang} ++p");
    let write = || unconfirmed(|| buffer::run(buf, &command));
    let written = match edit.hard_links == HardLinks::Break && is_shared(path) {
        true => under_one_name(buf, write),
        false => write(),
    };
    // A hook may have wiped out the buffer, and its autocommands.
    autocmd::remove(last).unwrap_or_default();
    if is_unfixed.get() {
        fix_end(true).unwrap_or_default();
    }
    written.map_err(|error| refusal.take().unwrap_or_else(|| refused(error)))
}

/// Runs `body` so that commands fail where 'confirm' would have them ask.
fn unconfirmed(body: impl FnOnce() -> mlua::Result<()>) -> mlua::Result<()> {
    with_option("confirm", false, body)
}

/// Runs a write of a buffer such that the other names (hard links) of its file keep the old one.
fn under_one_name(buf: i32, write: impl FnOnce() -> mlua::Result<()>) -> mlua::Result<()> {
    let set = |to: &str| autocmd::silenced(|| nvim::set_buf_option(buf, "backupcopy", to));
    let before: String = nvim::buf_option(buf, "backupcopy")?;
    set("auto,breakhardlink")?;
    // Only a write with a backup, which is removed again, regards this; `!` would go on without one.
    let result = with_option("backupdir", ".", || {
        with_option("backupskip", "", || with_option("writebackup", true, write))
    });
    set(&before).unwrap_or_default();
    result
}

/// Runs `body` with another value of a global option.
fn with_option(
    name: &str,
    to: impl IntoLua,
    body: impl FnOnce() -> mlua::Result<()>,
) -> mlua::Result<()> {
    let options: Table = nvim::vim()?.get("go")?;
    let before: mlua::Value = options.get(name)?;
    autocmd::silenced(|| options.set(name, to))?;
    let result = body();
    autocmd::silenced(|| options.set(name, before))?;
    result
}

/// Returns whether a file has several names (hard links).
fn is_shared(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.nlink() > 1)
}

/// Returns the content of the file with a stamp, if it is a text; a missing file is as an empty one.
fn bytes_of(path: &Path, stamp: Option<Stamp>) -> Option<Vec<u8>> {
    let Some(stamp) = stamp.filter(|stamp| stamp.bytes > 0) else {
        return Some(Vec::new());
    };
    let file = TextFile::read(path).filter(|file| file.stamp() == stamp);
    // Neovim may need the descriptor.
    file.map(|file| file.bytes().to_owned())
}

/// Returns why a text cannot be saved in a buffer's 'fileencoding': `:write!` would replace the
/// characters that the encoding lacks.
pub fn unencodable(
    buf: i32,
    text: impl FnOnce() -> mlua::Result<String>,
) -> mlua::Result<Option<String>> {
    let encoding: String = nvim::buf_option(buf, "fileencoding")?;
    if matches!(encoding.as_str(), "" | "utf-8") {
        return Ok(None);
    }
    let iconv: Function = nvim::vim()?.get("iconv")?;
    let convert = |text: mlua::String,
                   from: &str,
                   to: &str|
     -> mlua::Result<Option<mlua::String>> { iconv.call((text, from, to)) };
    let survives = |text: &str| -> mlua::Result<bool> {
        let text = nvim::lua().create_string(text)?;
        let there = convert(text.clone(), "utf-8", &encoding)?;
        let back = there.map(|there| convert(there, &encoding, "utf-8"));
        Ok(back.transpose()?.flatten() == Some(text))
    };
    let text = text()?;
    // Only 'charconvert' may know the encoding.
    if survives(&text)? || !survives("a")? {
        return Ok(None);
    }
    for line in text.lines() {
        if survives(line)? {
            continue;
        }
        for lost in line.chars() {
            if !survives(lost.encode_utf8(&mut [0; 4]))? {
                return Ok(Some(format!(
                    "{encoding} has no {lost:?}; `:set fileencoding=utf-8` and `:write` save it"
                )));
            }
        }
    }
    Ok(Some(format!(
        "{encoding} cannot have this text; `:set fileencoding=utf-8` and `:write` save it"
    )))
}
