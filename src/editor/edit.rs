//! Applies the core's edits to buffers and saves them.
//!
//! Invariants: an edit is applied to exactly the lines it was computed for, or it fails; no line
//! changes while the user's keys refer to it; a file is overwritten only if the core knows its
//! contents, and Neovim asks no question; the outcome of an edit is reported once, even after a
//! panic.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use nvim_oxi::mlua::{self, Function, Table};

use super::documents::{self, APPLYING, is_attached, is_renamed, report_state, tick as tick_of};
use super::kit::autocmd::{self, Scope};
use super::kit::{buffer, defer, user, window};
use super::loading::is_loading;
use super::notify::notify;
use super::nvim::{self, api};
use super::state::send;
use super::{guard, outside};
use acp_core::event::{BufferEvent, Event};
use acp_core::spine::effect::{Level, Save};
use acp_core::spine::event::{EditDone, EditError, SaveError, Stamp};
use acp_core::spine::ids::BufId;
use acp_core::spine::pending::Token;
use acp_core::spine::pending::reply::Edited;
use acp_core::text::format::Format;
use acp_core::text::{LineEdit, Text, moved};
use acp_edge::textfile::TextFile;

/// An edit, as the core requests it.
#[derive(Debug)]
pub struct Edit {
    pub token: Token<Edited>,
    pub buf: BufId,
    pub tick: u64,
    pub edits: Vec<LineEdit>,
    pub save: Save,
    pub roots: Vec<PathBuf>,
}

/// Delay before a change of text is tried again after the text was locked.
pub(super) const LOCKED: Duration = Duration::from_millis(20);

/// The reason for not saving a buffer out of the folders that an edit may change.
const OUTSIDE: &str = "a link leads out of the session's folders; check that link";

/// The size up to which a file is compared with its buffer, in bytes.
const MAX_COMPARED: u64 = 16 << 20;

/// The edits that wait until the user's keys refer to no lines of their buffers.
#[derive(Default)]
struct Held {
    edits: Vec<Edit>,
    /// The autocommand that notices the end, while there are edits.
    watch: Option<i32>,
}

thread_local! {
    static HELD: RefCell<Held> = RefCell::default();
}

/// Applies an edit and reports its outcome; tries again later if the user's keys refer to lines of
/// the buffer, or if Neovim has locked the text.
pub fn run(edit: Edit) -> mlua::Result<()> {
    let is_change = !edit.edits.is_empty();
    if is_change && user::refers_to_lines(edit.buf.0).unwrap_or(false) {
        return hold(edit);
    }
    let result = match guard::caught("an edit", || carry_out(&edit)) {
        Some(Err(Failure::Locked)) => return defer::after("edit", LOCKED, || run(edit)),
        Some(Err(Failure::Edit(error))) => Err(error),
        Some(Ok(done)) => Ok(done),
        None => {
            let why = "an internal error of this client was caught";
            Err(EditError::Refused(why.to_owned()))
        }
    };
    let Edit { token, buf, .. } = edit;
    send(Event::Buffer(BufferEvent::Edited { token, buf, result }));
    Ok(())
}

/// Keeps an edit until the user's command has ended.
fn hold(edit: Edit) -> mlua::Result<()> {
    let is_watched = HELD.with_borrow_mut(|held| {
        held.edits.push(edit);
        held.watch.is_some()
    });
    if is_watched {
        return Ok(());
    }
    let ends = ["SafeState", "ModeChanged"];
    let watch = autocmd::on("end of a command", &ends, Scope::All, |_| release())?;
    HELD.with_borrow_mut(|held| held.watch = Some(watch));
    Ok(())
}

/// Applies the held edits once no key refers to lines of one of their buffers; the others are held
/// again.
fn release() -> mlua::Result<()> {
    let bufs =
        HELD.with_borrow(|held| held.edits.iter().map(|edit| edit.buf.0).collect::<Vec<_>>());
    if !bufs
        .into_iter()
        .any(|buf| !user::refers_to_lines_still(buf).unwrap_or(false))
    {
        return Ok(());
    }
    let Held { edits, watch } = HELD.take();
    // An autocommand is not the place to change the text.
    defer::soon("edit", || edits.into_iter().try_for_each(run))?;
    watch.map_or(Ok(()), autocmd::remove)
}

enum Failure {
    /// Neovim has locked the text while it evaluates an expression (|textlock|).
    Locked,
    Edit(EditError),
}

impl From<mlua::Error> for Failure {
    fn from(error: mlua::Error) -> Self {
        let message = nvim::message(&error);
        match says_locked(&message) {
            true => Failure::Locked,
            false => Failure::Edit(EditError::Refused(message)),
        }
    }
}

fn says_locked(message: &str) -> bool {
    message.contains("E565:") || message.contains("E523:")
}

/// Returns whether Neovim has locked the text, as while an `<expr>` mapping waits for a key.
pub(super) fn is_locked() -> bool {
    // The lock is looked at before the buffer, which does not exist.
    let nothing: Vec<String> = Vec::new();
    let tried = api::<()>("nvim_buf_set_lines", (i32::MAX, 0, 0, false, nothing));
    tried.is_err_and(|error| says_locked(&nvim::message(&error)))
}

/// Marks an edit as the one being applied, until this is dropped; then the previous one continues:
/// other edits may arrive while a save hook waits.
struct Applying {
    before: Option<(i32, Token<Edited>)>,
}

impl Applying {
    fn begin(edit: &Edit) -> Self {
        let now = Some((edit.buf.0, edit.token));
        let before = APPLYING.replace(now);
        Self { before }
    }
}

impl Drop for Applying {
    fn drop(&mut self) {
        APPLYING.set(self.before);
    }
}

fn carry_out(edit: &Edit) -> Result<EditDone, Failure> {
    let buf = edit.buf.0;
    // The text of a buffer that is being sent again has changed: the core waits for it.
    if !is_attached(buf) || is_loading(buf) || !buffer::is_loaded(buf)? {
        return Err(Failure::Edit(EditError::Gone));
    }
    let tick = tick_of(buf);
    if edit.tick < tick {
        return Err(Failure::Edit(EditError::Stale { tick }));
    }
    if let Save::Over(stamp) = edit.save {
        // Before a line changes: the file may be another one than the core knows.
        if documents::stamp(buf)? != stamp {
            return Err(Failure::Edit(EditError::Stale { tick }));
        }
        let lines = edit.edits.iter().flat_map(|edit| &edit.lines);
        let text = || Ok(lines.map(|line| format!("{line}\n")).collect());
        if let Some(why) = unencodable(buf, text)? {
            return Err(Failure::Edit(EditError::Refused(why)));
        }
    }
    // The user's protection of a buffer does not apply to changes that were made on disk.
    if !matches!(edit.save, Save::Merged { .. }) {
        check_writable(buf)?;
    }
    let applying = Applying::begin(edit);
    acp_edge::panics::inject("edit");
    let saved = apply_and_save(edit)?;
    drop(applying);
    // For a buffer that is not current, no autocommand reports 'modified'.
    report_state(buf)?;
    let tick = tick_of(buf);
    Ok(EditDone { tick, saved })
}

/// Refuses a buffer that the user has protected.
fn check_writable(buf: i32) -> Result<(), Failure> {
    let why = if nvim::buf_option::<bool>(buf, "readonly")? {
        "it is read-only in the editor ('readonly' is set)"
    } else if !nvim::buf_option::<bool>(buf, "modifiable")? {
        "it cannot be changed in the editor ('modifiable' is off)"
    } else {
        return Ok(());
    };
    Err(Failure::Edit(EditError::Refused(why.to_owned())))
}

type Saved = Option<Result<(), SaveError>>;

fn apply_and_save(edit: &Edit) -> mlua::Result<Saved> {
    let buf = edit.buf.0;
    let was_modified: bool = nvim::buf_option(buf, "modified")?;
    if let Save::Merged {
        stamp,
        is_clean,
        format,
    } = edit.save
    {
        return outside::unprotected(buf, || {
            apply(buf, &edit.edits)?;
            if !edit.edits.is_empty() {
                super::swap::complete(buf)?;
            }
            outside::take_over(buf, stamp, is_clean, format).map(Some)
        });
    }
    let over = match edit.save {
        Save::Over(stamp) => Some(stamp),
        Save::OverIfClean(stamp) | Save::AsItEnds(stamp) if !was_modified => {
            Some(written_again(buf, stamp)?)
        }
        _ => None,
    };
    apply(buf, &edit.edits)?;
    if edit.save == Save::Deleted {
        outside::count_as_saved(buf)?;
    }
    let Some(stamp) = over else {
        return Ok(None);
    };
    let is_decision = !matches!(edit.save, Save::Over(_));
    let _hooks = is_decision.then(|| UsersHooks::begin(edit.token));
    Ok(Some(save(edit, stamp)))
}

/// The save hooks run for a decision; other edits may be made while they wait.
struct UsersHooks(Option<Token<Edited>>);

impl UsersHooks {
    fn begin(token: Token<Edited>) -> Self {
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
fn written_again(buf: i32, known: Option<Stamp>) -> mlua::Result<Option<Stamp>> {
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

/// Applies edits as one undo step; marks, folds and views stay with their lines.
fn apply(buf: i32, edits: &[LineEdit]) -> mlua::Result<()> {
    if edits.is_empty() {
        return Ok(());
    }
    // Setting 'undolevels' ends the undo block, so that the edit is a step by itself.
    buffer::run(buf, "let &l:undolevels = &l:undolevels")?;
    let views = views(buf)?;
    super::lines::replace_all(buf, edits)?;
    keep_views(&views, edits)?;
    buffer::run(buf, "let &l:undolevels = &l:undolevels")
}

/// Returns the windows that show a buffer, each with the row at its top.
fn views(buf: i32) -> mlua::Result<Vec<(i32, usize)>> {
    let mut views = Vec::new();
    for win in nvim::windows_of(buf)? {
        views.push((win, top(win)?));
    }
    Ok(views)
}

fn top(win: i32) -> mlua::Result<usize> {
    let line: usize = nvim::vim_fn("line", ("w0", win))?;
    Ok(line.saturating_sub(1))
}

/// Scrolls each window to the lines it showed before, if edits above have moved them.
fn keep_views(views: &[(i32, usize)], edits: &[LineEdit]) -> mlua::Result<()> {
    for (win, before) in views {
        let row = moved(*before, edits);
        if top(*win)? != row {
            let view = nvim::table([("topline", nvim::value(row + 1))])?;
            window::set_view(*win, view)?;
        }
    }
    Ok(())
}

/// Saves a buffer over the file with this stamp, as `:write` does.
///
/// A change on disk was merged before, so `!` keeps Neovim from asking about it; the other things
/// that `!` overrules are refused here. A save hook may take long: the file is looked at again after
/// the last one.
fn save(edit: &Edit, stamp: Option<Stamp>) -> Result<(), SaveError> {
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
    let written = unconfirmed(|| buffer::run(buf, &command));
    // A hook may have wiped out the buffer, and its autocommands.
    autocmd::remove(last).unwrap_or_default();
    if is_unfixed.get() {
        fix_end(true).unwrap_or_default();
    }
    written.map_err(|error| refusal.take().unwrap_or_else(|| refused(error)))
}

/// Runs `body` so that commands fail where 'confirm' would have them ask.
fn unconfirmed(body: impl FnOnce() -> mlua::Result<()>) -> mlua::Result<()> {
    let options: Table = nvim::vim()?.get("o")?;
    if !options.get::<bool>("confirm")? {
        return body();
    }
    autocmd::silenced(|| options.set("confirm", false))?;
    let result = body();
    autocmd::silenced(|| options.set("confirm", true))?;
    result
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
fn unencodable(
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
