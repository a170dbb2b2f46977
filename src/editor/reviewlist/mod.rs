//! The window of the review list, and the preview beside it.
//!
//! Invariants: the cursor stays with its item while lines come and go; the preview never gets the
//! focus by itself; when the last window of the list closes, the preview goes with it and the core
//! renders nothing any more.

mod acts;
mod preview;

use std::path::PathBuf;

use nvim_oxi::mlua::{self, Table, Value};

pub use preview::preview;

use acts::map_keys;
use preview::{hide_preview, show_preview};

use super::nvim::{self, api};
use super::painted;
use super::room::{Room, open_below};
use super::state::{self, send};
use super::{guard, keys};
use acp_core::render::view::{Group, ListItem, ListView};
use acp_core::spine::event::{Event, ListEvent};
use acp_core::spine::ids::ItemKey;

/// What the list shows, and where.
#[derive(Debug, Default)]
pub struct List {
    buf: Option<i32>,
    preview: Option<i32>,
    preview_is_off: bool,
    view: ListView,
    /// The item under the cursor, as the core was told.
    at: Option<ItemKey>,
    /// The windows that there were before it.
    room: Option<Room>,
}

fn with<R: Default>(body: impl FnOnce(&mut List) -> R) -> R {
    state::with(|editor| body(&mut editor.list.borrow_mut())).unwrap_or_default()
}

/// Shows the list in the current tab page and goes there.
///
/// # Errors
/// What Neovim says of it.
pub fn open() -> mlua::Result<()> {
    if let Some(win) = window()? {
        return api("nvim_set_current_win", win);
    }
    let buf = match buffer()? {
        Some(buf) => buf,
        None => create()?,
    };
    let (win, room) = open_below(buf)?;
    with(|list| list.room = Some(room));
    dress(win)?;
    nvim::set_win_option(win, "cursorline", true)?;
    nvim::set_win_option(win, "winfixheight", true)?;
    let cwd: String = nvim::vim_fn("getcwd", ())?;
    send(Event::List(ListEvent::Opened {
        cwd: PathBuf::from(cwd),
    }));
    set_title(&with(|list| list.view.title.clone()))?;
    show_preview()?;
    moved()
}

/// Shows other lines; the cursor stays with its item.
///
/// # Errors
/// What Neovim says of it.
pub fn show(view: ListView) -> mlua::Result<()> {
    let Some(buf) = buffer()? else {
        return Ok(());
    };
    let mut cursors = Vec::new();
    let old = with(|list| std::mem::replace(&mut list.view, view.clone()));
    for win in nvim::windows_of(buf)? {
        let cursor: Vec<usize> = api("nvim_win_get_cursor", win)?;
        let row = cursor.first().map_or(0, |line| line.saturating_sub(1));
        cursors.push((win, new_row(&old, &view, row)));
    }
    painted::write(buf, &old.lines, &view.lines)?;
    for (win, row) in cursors {
        api::<()>("nvim_win_set_cursor", (win, vec![row + 1, 0]))?;
    }
    set_title(&view.title)?;
    moved()
}

/// Returns the row of the item that was at `row`: its own one, else the next that is there.
fn new_row(old: &ListView, new: &ListView, row: usize) -> usize {
    let key = |item: &Option<ListItem>| item.as_ref().map(|item| item.key);
    let known = old.items.get(row).and_then(key);
    let found = known.and_then(|known| new.items.iter().position(|item| key(item) == Some(known)));
    let last = new.lines.len().saturating_sub(1);
    let near = || {
        // What stood below it has moved up; an item is better than a heading.
        let below = old.items.iter().skip(row).filter_map(key);
        let mut below =
            below.filter_map(|known| new.items.iter().position(|item| key(item) == Some(known)));
        below.next().unwrap_or(row.min(last))
    };
    let first = || new.items.iter().position(Option::is_some);
    match (found, known) {
        (Some(row), _) => row,
        (None, Some(_)) => near(),
        // Nothing was there before: the first item.
        (None, None) => first().filter(|_| row == 0).unwrap_or(row.min(last)),
    }
}

fn create() -> mlua::Result<i32> {
    let buf = scratch("acp://review", "acp-review")?;
    with(|list| {
        *list = List {
            buf: Some(buf),
            preview_is_off: list.preview_is_off,
            ..List::default()
        };
    });
    on(buf, "CursorMoved", moved)?;
    on(buf, "BufWinLeave", || later(closed))?;
    on(buf, "BufWipeout", || later(closed))?;
    map_keys(buf)?;
    Ok(buf)
}

/// Makes a buffer of our own, or takes the one that is there with this name.
fn scratch(name: &str, filetype: &str) -> mlua::Result<i32> {
    let buf: i32 = api("nvim_create_buf", (false, true))?;
    api::<()>("nvim_buf_set_name", (buf, name))?;
    for (option, to) in [
        ("buftype", "nofile"),
        ("bufhidden", "wipe"),
        ("filetype", filetype),
    ] {
        nvim::set_buf_option(buf, option, to)?;
    }
    for option in ["modifiable", "swapfile", "undofile"] {
        nvim::set_buf_option(buf, option, false)?;
    }
    nvim::set_buf_option(buf, "undolevels", -1)?;
    Ok(buf)
}

fn on(buf: i32, event: &'static str, body: fn() -> mlua::Result<()>) -> mlua::Result<()> {
    let run = guard::callback(event, move |_: Table| body())?;
    let opts = nvim::table([
        ("buffer", nvim::value(buf)),
        ("callback", Value::Function(run)),
    ])?;
    api::<i32>("nvim_create_autocmd", (event, opts))?;
    Ok(())
}

/// Runs what may not happen while Neovim closes a window.
fn later(body: fn() -> mlua::Result<()>) -> mlua::Result<()> {
    let run = guard::callback("review list", move |()| body())?;
    nvim::vim()?
        .get::<mlua::Function>("schedule")?
        .call::<()>(run)
}

/// A window of the list was closed: with the last one, all ends.
fn closed() -> mlua::Result<()> {
    if let Some(buf) = buffer()?
        && !nvim::windows_of(buf)?.is_empty()
    {
        return Ok(());
    }
    hide_preview()?;
    let old = with(|list| {
        let preview_is_off = list.preview_is_off;
        let old = std::mem::take(list);
        list.preview_is_off = preview_is_off;
        old
    });
    if old.buf.is_some() {
        send(Event::List(ListEvent::Closed));
    }
    old.room.map_or(Ok(()), Room::give_back)
}

fn valid(buf: Option<i32>) -> mlua::Result<Option<i32>> {
    match buf {
        Some(buf) if api("nvim_buf_is_loaded", buf)? => Ok(Some(buf)),
        _ => Ok(None),
    }
}

fn buffer() -> mlua::Result<Option<i32>> {
    valid(with(|list| list.buf))
}

/// Returns the list's window in the current tab page.
fn window() -> mlua::Result<Option<i32>> {
    let Some(buf) = buffer()? else {
        return Ok(None);
    };
    let win: i32 = nvim::vim_fn("bufwinid", buf)?;
    Ok((win > 0).then_some(win))
}

/// Tells the core which item is under the cursor, if that is another one.
fn moved() -> mlua::Result<()> {
    let Some(win) = window()? else {
        return Ok(());
    };
    let cursor: Vec<usize> = api("nvim_win_get_cursor", win)?;
    let row = cursor.first().map_or(0, |line| line.saturating_sub(1));
    let news = with(|list| {
        let item = list.view.items.get(row).and_then(Option::as_ref);
        let item = item.map(|item| item.key);
        let is_new = list.at != item;
        list.at = item;
        is_new.then_some(item)
    });
    if let Some(item) = news {
        send(Event::List(ListEvent::At { item }));
    }
    Ok(())
}

fn set_title(title: &[(String, Group)]) -> mlua::Result<()> {
    let Some(buf) = buffer()? else {
        return Ok(());
    };
    let mut bar = bar(title);
    if let Some(key) = keys::of("review_list", "help").first() {
        let key = keys::shown(key).replace('%', "%%");
        bar.push_str(&format!("%<%=%#AcpDim#{key} keys "));
    }
    for win in nvim::windows_of(buf)? {
        nvim::set_win_option(win, "winbar", bar.as_str())?;
    }
    Ok(())
}

fn bar(title: &[(String, Group)]) -> String {
    let mut bar = String::new();
    for (index, (text, group)) in title.iter().enumerate() {
        let text = text.replace('%', "%%").replace('\n', " ");
        let dot = if index == 0 { " " } else { " · " };
        bar.push_str(&format!("%#AcpDim#{dot}%#{group}#{text}"));
    }
    bar + "%*"
}

fn dress(win: i32) -> mlua::Result<()> {
    for name in ["number", "relativenumber", "list", "spell", "wrap"] {
        nvim::set_win_option(win, name, false)?;
    }
    for (name, to) in [
        ("signcolumn", "no"),
        ("foldcolumn", "0"),
        ("colorcolumn", ""),
        ("fillchars", "eob: "),
    ] {
        nvim::set_win_option(win, name, to)?;
    }
    Ok(())
}
