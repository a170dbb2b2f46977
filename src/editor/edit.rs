//! Applies the core's edits to buffers and saves them.
//!
//! Invariants: an edit is applied to exactly the lines it was computed for, or it fails; no line
//! changes while the user's keys refer to it; a file is overwritten only if the core knows its
//! contents, and Neovim asks no question; the outcome of an edit is reported once, even after a
//! panic.

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;

use nvim_oxi::mlua;

use super::documents::{self, APPLYING, is_attached, report_state, tick as tick_of};
use super::kit::autocmd::{self, Scope};
use super::kit::{buffer, defer, user, window};
use super::loading::is_loading;
use super::nvim::{self, api};
use super::saving::{UsersHooks, save, unencodable, written_again};
use super::state::send;
use super::{guard, outside};
use acp_core::event::{BufferEvent, Event};
use acp_core::spine::effect::{HardLinks, Save};
use acp_core::spine::event::{EditDone, EditError, SaveError};
use acp_core::spine::ids::BufId;
use acp_core::spine::pending::Token;
use acp_core::spine::pending::reply::Edited;
use acp_core::text::{LineEdit, moved};

/// An edit, as the core requests it.
#[derive(Debug)]
pub struct Edit {
    pub token: Token<Edited>,
    pub buf: BufId,
    pub tick: u64,
    pub edits: Vec<LineEdit>,
    pub save: Save,
    pub hard_links: HardLinks,
    pub roots: Vec<PathBuf>,
}

/// Delay before a change of text is tried again after the text was locked.
pub(super) const LOCKED: Duration = Duration::from_millis(20);

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
