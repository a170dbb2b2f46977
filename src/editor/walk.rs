//! Going from hunk to hunk and from file to file.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use nvim_oxi::mlua::{self, Function, Table, Value};

use super::documents::{self, is_attached};
use super::kit::autocmd::{self, Scope};
use super::kit::user::{self, Activity};
use super::kit::{buffer, defer, window};
use super::notify::notify;
use super::nvim::{self, api};
use super::state;
use acp_core::spine::effect::Level;
use acp_core::view::reviewlist::in_full;

/// The direction through the hunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Next,
    Prev,
}

/// Goes to the next or previous hunk, from the last one in a file to the next file.
pub fn go(way: Way) -> mlua::Result<()> {
    if files().is_empty() {
        return notify(Level::Info, "Nothing to review.");
    }
    leave_chat()?;
    let buf = buffer::here()?;
    let row = window::row(0)?;
    let rows = rows_of(buf)?;
    let lines: usize = api("nvim_buf_line_count", buf)?;
    let last = lines.saturating_sub(1);
    let mut rows: Vec<usize> = rows.into_iter().map(|row| row.min(last)).collect();
    rows.dedup();
    let found = match way {
        Way::Next => rows.iter().find(|at| **at > row),
        Way::Prev => rows.iter().rfind(|at| **at < row),
    };
    if let Some(found) = found {
        api::<()>("nvim_command", "normal! m'")?;
        return jump(*found);
    }
    go_to_file(way)
}

/// Goes to the hunk after the one at this row, which has just been decided: in this buffer, where
/// those in the rows `left` are left, else in another file.
pub fn go_on(decided: usize, left: &[usize]) -> mlua::Result<()> {
    let here = documents::path(buffer::here()?)?;
    if let Some(next) = left.iter().find(|row| **row > decided) {
        api::<()>("nvim_command", "normal! m'")?;
        return jump(*next);
    }
    let mut others = files();
    others.retain(|(path, _)| *path != here);
    let after = others.iter().find(|(path, _)| *path > here);
    match (after.or(others.first()), left.first()) {
        (Some((path, rows)), _) => {
            go_to(path, rows.first().copied().unwrap_or(0))?;
            arrived(path, rows)
        }
        (None, Some(first)) => jump(*first),
        (None, None) => Ok(()),
    }
}

/// Returns the rows of a buffer's hunks: as they are drawn, else from the last snapshot.
fn rows_of(buf: i32) -> mlua::Result<Vec<usize>> {
    if let Some(rows) = super::review::rows(buf) {
        return Ok(rows);
    }
    let here = documents::path(buf)?;
    let mut files = files().into_iter();
    let file = files.find(|(path, _)| *path == here);
    Ok(file.map(|(_, rows)| rows).unwrap_or_default())
}

/// Returns whether any file has something to review.
pub fn is_any() -> bool {
    let snapshot = state::snapshot();
    let mut proposed = snapshot.proposals.iter().flat_map(|file| &file.hunks);
    !snapshot.reviews.is_empty() || proposed.any(|hunk| hunk.state == "proposed")
}

/// Returns the number of pending hunks, written and proposed.
pub fn hunks() -> usize {
    files().iter().map(|(_, rows)| rows.len()).sum()
}

/// Returns the files with pending hunks, in order, and the rows of written and proposed hunks.
fn files() -> Vec<(PathBuf, Vec<usize>)> {
    let snapshot = state::snapshot();
    let mut files: BTreeMap<PathBuf, Vec<usize>> = BTreeMap::new();
    for file in &snapshot.reviews {
        let rows = file.hunks.iter().map(|hunk| hunk.row);
        files.entry(file.path.clone()).or_default().extend(rows);
    }
    for file in &snapshot.proposals {
        let open = file.hunks.iter().filter(|hunk| hunk.state == "proposed");
        let rows: Vec<usize> = open.map(|hunk| hunk.row).collect();
        if !rows.is_empty() {
            files.entry(file.path.clone()).or_default().extend(rows);
        }
    }
    let files = files.into_iter().map(|(path, mut rows)| {
        rows.sort_unstable();
        (path, rows)
    });
    files.collect()
}

fn go_to_file(way: Way) -> mlua::Result<()> {
    let here = documents::path(buffer::here()?)?;
    let files = files();
    let here = files.iter().position(|(path, _)| *path == here);
    let count = files.len();
    let target = match (here, way) {
        _ if count == 0 => return Ok(()),
        (Some(here), Way::Next) => (here + 1) % count,
        (Some(here), Way::Prev) => (here + count - 1) % count,
        (None, Way::Next) => 0,
        (None, Way::Prev) => count - 1,
    };
    let Some((path, rows)) = files.get(target) else {
        return Ok(());
    };
    let row = match way {
        Way::Next => rows.first(),
        Way::Prev => rows.last(),
    };
    api::<()>("nvim_command", "normal! m'")?;
    if here != Some(target) {
        show_file(path)?;
        // The next key may come before the hunks.
        super::review::add_keys(buffer::here()?)?;
    }
    jump(row.copied().unwrap_or(0))?;
    arrived(path, rows)
}

/// Says how a file has changed as a whole, once the user is there, if it has no hunks to show.
fn arrived(path: &Path, rows: &[usize]) -> mlua::Result<()> {
    if !rows.is_empty() {
        return Ok(());
    }
    let path = path.to_owned();
    defer::soon("review file", move || {
        // A count has led further.
        let here = buffer::here()?;
        let is_link = path.to_string_lossy() == buffer::name(here)?;
        if !is_link && path != documents::path(here)? {
            return Ok(());
        }
        let snapshot = state::snapshot();
        let file = snapshot.reviews.iter().find(|file| file.path == path);
        let whole = file.into_iter().flat_map(|file| &file.whole);
        let told: Vec<String> = whole.map(in_full).collect();
        match told.is_empty() {
            true => Ok(()),
            false => notify(Level::Info, &told.join(" ")),
        }
    })
}

/// Goes to a row of a file, in a window that shows it or in an ordinary one.
pub fn go_to(path: &Path, row: usize) -> mlua::Result<()> {
    leave_chat()?;
    api::<()>("nvim_command", "normal! m'")?;
    show_file(path)?;
    jump(row)
}

/// Shows a row of a file in another window of the tab page.
pub fn show_aside(path: &Path, row: usize) -> mlua::Result<()> {
    // A visible one stays: the user may be reading another part of it.
    if showing(path)?.is_some() || is_packed(path)? || is_special(path) {
        return Ok(());
    }
    let buf: i32 = nvim::vim_fn("bufadd", typed(&open_as(path)?)?)?;
    nvim::set_buf_option(buf, "buflisted", true)?;
    nvim::vim_fn::<Value>("bufload", buf)?;
    let win = match window_aside()? {
        Some(win) => {
            api::<()>("nvim_win_set_buf", (win, buf))?;
            win
        }
        None => window::split(buf, false, aside()?, None)?,
    };
    let lines: usize = api("nvim_buf_line_count", buf)?;
    window::set_row(win, row.min(lines.saturating_sub(1)))
}

/// Returns an ordinary window of the tab page that is not current.
pub fn window_aside() -> mlua::Result<Option<i32>> {
    let here = window::here()?;
    for win in window::all_in(window::tab()?)? {
        let diff: bool = nvim::win_option(win, "diff")?;
        let is_fixed: bool = nvim::win_option(win, "winfixbuf")?;
        if win != here && !diff && !is_fixed && is_file(win)? {
            return Ok(Some(win));
        }
    }
    Ok(None)
}

/// Returns where a window for another file opens: beside the user's file, else beside the chat.
fn aside() -> mlua::Result<(&'static str, i32)> {
    let here = window::here()?;
    let below: bool = nvim::vim()?.get::<Table>("o")?.get("splitbelow")?;
    Ok(match (is_file(here)?, below) {
        (true, true) => ("below", here),
        (true, false) => ("above", here),
        (false, _) => ("left", -1),
    })
}

/// Returns the window of the tab page that shows a file.
fn showing(path: &Path) -> mlua::Result<Option<i32>> {
    // `bufnr()` would take the name as a pattern.
    match documents::of_path(path)? {
        Some(buf) => window::showing(buf, window::tab()?),
        None => Ok(None),
    }
}

/// Returns whether plugins would unpack a file on reading: a small one may become huge.
pub fn is_packed(path: &Path) -> mlua::Result<bool> {
    let require: Function = nvim::lua().globals().get("require")?;
    let paths: Table = require.call("acp.tools.builtin.paths")?;
    let is_packed: Function = paths.get("is_packed")?;
    is_packed.call(path.to_string_lossy().into_owned())
}

/// Returns whether a path leads to a pipe or a device: Neovim would wait for what that sends.
fn is_special(path: &Path) -> bool {
    let there = path.metadata();
    there.is_ok_and(|there| !there.is_file() && !there.is_dir())
}

/// Returns a file's name as Ex commands take it.
pub fn escaped(name: &str) -> mlua::Result<String> {
    nvim::vim_fn("fnameescape", name)
}

/// Edits a file in the current window, by the name that a user would type.
///
/// The previous buffer stays loaded regardless of 'hidden', since it may be modified. The error of an
/// autocommand is shown, and the file is there as after a typed `:edit`.
///
/// # Errors
/// Neovim's error; a sentence if only the user can decide about a swap file, since Neovim's own
/// question would be an error here, or if the path leads to no file.
fn edit(path: &Path) -> mlua::Result<()> {
    let path = open_as(path)?;
    let name = typed(&path)?;
    if is_special(&path) {
        let why = format!("{name} is a pipe or a device: it is not opened");
        return Err(mlua::Error::runtime(why));
    }
    if nvim::win_option(window::here()?, "winfixbuf")? {
        match window_aside()? {
            Some(win) => window::go_to(win)?,
            None => api::<()>("nvim_command", "new")?,
        }
    }
    let is_asking = Rc::new(Cell::new(false));
    let asks = Rc::clone(&is_asking);
    let watch = autocmd::on("swap file", &["SwapExists"], Scope::All, move |_| {
        let variables: Table = nvim::vim()?.get("v")?;
        if variables.get::<String>("swapchoice")?.is_empty() {
            asks.set(true);
            variables.set("swapchoice", "q")?;
        }
        Ok(())
    })?;
    let edited = api("nvim_command", format!("hide edit {}", escaped(&name)?));
    autocmd::remove(watch)?;
    if is_asking.get() {
        return Err(mlua::Error::runtime(format!(
            "{name} has a swap file: `:edit {name}` asks what to do"
        )));
    }
    match edited {
        Err(error) if path.to_string_lossy() == buffer::name(0)? => opened_in_part(&error),
        edited => edited,
    }
}

/// Shows the error of an autocommand of a file that was opened, and runs the autocommands after it:
/// the error has ended them, since an API call ran the command.
fn opened_in_part(error: &mlua::Error) -> mlua::Result<()> {
    if !is_attached(buffer::here()?) {
        // With `:silent!`, an error ends nothing.
        api::<()>("nvim_command", "silent! edit").unwrap_or_default();
    }
    let text = nvim::message(error);
    // Neovim has just shown the file's name and size.
    defer::soon("review file", move || notify(Level::Warn, &text))
}

/// Returns the name of the buffer that has a file, which may be a link to it, else the file's path.
fn open_as(path: &Path) -> mlua::Result<PathBuf> {
    match documents::of_path(path)? {
        Some(buf) => buffer::name(buf).map(PathBuf::from),
        None => Ok(path.to_owned()),
    }
}

/// Returns a file's name as a user would type it here.
pub fn typed(path: &Path) -> mlua::Result<String> {
    let whole = path.to_string_lossy().into_owned();
    let short: String = nvim::vim_fn("fnamemodify", (whole.as_str(), ":."))?;
    // Neovim would take a folder named `~` for a user's home.
    Ok(if short.starts_with('~') { whole } else { short })
}

/// Goes to a row of a file from one of the plugin's windows: in the previous window if possible.
pub fn visit(path: &Path, row: Option<usize>, in_split: bool) -> mlua::Result<()> {
    api::<()>("nvim_command", "silent! wincmd p")?;
    leave_chat()?;
    if in_split {
        api::<()>("nvim_command", "split")?;
        edit(path)?;
    } else {
        show_file(path)?;
    }
    api::<()>("nvim_command", "normal! m'")?;
    row.map_or(Ok(()), jump)
}

/// Goes to a window of the tab page that shows a file, or shows it in the current one.
fn show_file(path: &Path) -> mlua::Result<()> {
    match showing(path)? {
        Some(win) => window::go_to(win),
        None => edit(path),
    }
}

fn jump(row: usize) -> mlua::Result<()> {
    let lines: usize = api("nvim_buf_line_count", 0)?;
    let last = lines.saturating_sub(1);
    let row = row.min(last);
    window::set_row(0, row)?;
    api::<()>("nvim_command", "normal! zv")?;
    let buf = buffer::here()?;
    // Where nothing is left to draw, a later change must not scroll.
    let waits = super::review::rows(buf).is_none() && !rows_of(buf)?.is_empty();
    TO_REVEAL.set(waits.then_some((buf, row)));
    reveal(row, last)
}

/// Reveals the hunk of the last jump if that opened its file, whose hunks are drawn only now.
pub fn drawn(buf: i32) -> mlua::Result<()> {
    let Some((_, row)) = TO_REVEAL.get().filter(|(opened, _)| *opened == buf) else {
        return Ok(());
    };
    TO_REVEAL.set(None);
    let is_there = buffer::here()? == buf && window::row(0)? == row;
    if !is_there || user::activity()? != Activity::Idle {
        return Ok(());
    }
    let lines: usize = api("nvim_buf_line_count", buf)?;
    reveal(row, lines.saturating_sub(1))
}

/// Scrolls the hunk at the cursor's row into view, with its virtual lines; as much of it as fits.
fn reveal(row: usize, last: usize) -> mlua::Result<()> {
    let win = window::here()?;
    let line = |row: usize| i64::try_from(row + 1).unwrap_or(i64::MAX);
    let hunk = super::review::hunk_at(window::buf_of(win)?, row);
    let end = hunk.map_or(row, |(_, end)| end.clamp(row, last));
    let below = window::virtual_above(win, line(end + 1))?;
    let rows = window::rows_of(win, row, end + 1)? + below;
    for scroll in ["zz", "zt"] {
        let first: i64 = nvim::vim_fn("winline", ())?;
        if first - 1 + rows <= window::text_height(win)? {
            break;
        }
        api::<()>("nvim_command", format!("normal! {scroll}"))?;
    }
    let above = window::virtual_above(win, line(row))?;
    let view: Table = nvim::vim_fn("winsaveview", ())?;
    let top: usize = view.get("topline")?;
    let shown: i64 = view.get("topfill")?;
    match top == row + 1 && shown < above {
        true => {
            let view = nvim::table([("topfill", nvim::value(above))])?;
            nvim::vim_fn("winrestview", view)
        }
        false => Ok(()),
    }
}

/// Goes from a chat's window to the ordinary one that was left last, opening one if need be.
fn leave_chat() -> mlua::Result<()> {
    if is_file(window::here()?)? {
        return Ok(());
    }
    let tab = window::tab()?;
    let mut windows = window::all_in(tab)?;
    let last = LAST.with_borrow(|last| last.get(&tab).copied());
    windows.sort_by_key(|win| Some(*win) != last);
    for win in windows {
        if is_file(win)? {
            return window::go_to(win);
        }
    }
    api("nvim_command", "topleft vnew")
}

thread_local! {
    /// The ordinary window that was left last, by tab page.
    static LAST: RefCell<BTreeMap<i32, i32>> = const { RefCell::new(BTreeMap::new()) };
    /// The buffer and the row of the last jump, if it led to hunks that are not drawn yet.
    static TO_REVEAL: Cell<Option<(i32, usize)>> = const { Cell::new(None) };
}

/// Records the windows that the user leaves, for as long as the plugin is in use.
pub fn start() -> mlua::Result<()> {
    let on_leave = |_| {
        let win = window::here()?;
        if is_file(win)? {
            let tab = window::tab()?;
            LAST.with_borrow_mut(|last| last.insert(tab, win));
        }
        Ok(())
    };
    autocmd::on("window left", &["WinLeave"], Scope::All, on_leave).map(drop)
}

/// Returns whether a window is an ordinary one, with a file or an empty buffer.
fn is_file(win: i32) -> mlua::Result<bool> {
    let kind: String = nvim::buf_option(window::buf_of(win)?, "buftype")?;
    Ok(kind.is_empty() && !window::is_float(win)?)
}
