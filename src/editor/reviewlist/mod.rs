//! The window of the review list, and the preview beside it.
//!
//! Invariants: the cursor stays with its item when lines are added or removed; the preview gets
//! the focus only when the user goes there; when the last window of the list closes, the preview
//! closes too and the core stops rendering the list.

mod acts;
mod preview;

use std::cell::RefCell;
use std::path::PathBuf;

use nvim_oxi::mlua;

use super::kit::autocmd::{self, Scope};
use super::kit::buffer;
use super::kit::window::{self, Sizes};
use super::state::send;
use super::{keys, nvim};
use acp_core::event::{Event, ViewEvent};
use acp_core::spine::event::ListEvent;
use acp_core::spine::ids::ItemKey;
use acp_core::spine::oneline::OneLine;
use acp_core::spine::view::{Group, ListItem, ListView};
use acts::map_keys;
pub use preview::preview;
use preview::{hide_preview, show_preview};

/// The list, its preview and their windows.
#[derive(Debug, Default)]
pub struct List {
    buf: Option<i32>,
    preview: Option<i32>,
    preview_is_off: bool,
    view: ListView,
    /// The item under the cursor, as last reported to the core.
    at: Option<ItemKey>,
    /// The sizes of the windows before the list opened.
    sizes: Option<Sizes>,
}

thread_local! {
    static LIST: RefCell<List> = RefCell::default();
}

fn with<R>(body: impl FnOnce(&mut List) -> R) -> R {
    LIST.with_borrow_mut(body)
}

/// Shows the list in the current tab page and goes there.
pub fn open() -> mlua::Result<()> {
    if let Some(win) = window()? {
        return window::go_to(win);
    }
    let buf = match buffer()? {
        Some(buf) => buf,
        None => create()?,
    };
    let (win, sizes) = window::open_below(buf)?;
    with(|list| list.sizes = Some(sizes));
    strip(win)?;
    nvim::set_win_option(win, "cursorline", true)?;
    let cwd: String = nvim::vim_fn("getcwd", ())?;
    send(Event::View(ViewEvent::List(ListEvent::Opened {
        cwd: PathBuf::from(cwd),
    })));
    set_title(&with(|list| list.view.title.clone()))?;
    show_preview()?;
    moved()
}

/// Shows other lines; the cursor stays with its item.
pub fn show(view: &ListView) -> mlua::Result<()> {
    let Some(buf) = buffer()? else {
        return Ok(());
    };
    let mut cursors = Vec::new();
    let old = with(|list| std::mem::replace(&mut list.view, view.clone()));
    for win in nvim::windows_of(buf)? {
        cursors.push((win, new_row(&old, view, window::row(win)?)));
    }
    buffer::write(buf, &old.lines, &view.lines)?;
    for (win, row) in cursors {
        window::set_row(win, row)?;
    }
    set_title(&view.title)?;
    moved()
}

/// Returns the row to which the cursor moves from `row`: that of its item, else of the next item
/// that still exists.
fn new_row(old: &ListView, new: &ListView, row: usize) -> usize {
    let key = |item: &Option<ListItem>| item.as_ref().map(|item| item.key);
    let known = old.items.get(row).and_then(key);
    let found = known.and_then(|known| new.items.iter().position(|item| key(item) == Some(known)));
    let last = new.lines.len().saturating_sub(1);
    let near = || {
        // The items below it have moved up; an item is better than a heading.
        let below = old.items.iter().skip(row).filter_map(key);
        let mut below =
            below.filter_map(|known| new.items.iter().position(|item| key(item) == Some(known)));
        below.next().unwrap_or(row.min(last))
    };
    let first = || new.items.iter().position(Option::is_some);
    match (found, known) {
        (Some(row), _) => row,
        (None, Some(_)) => near(),
        // The list was empty before: the first item.
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
    let cursor = Scope::Buffer(buf);
    autocmd::on("review list cursor", &["CursorMoved"], cursor, |_| moved())?;
    buffer::on_hidden(buf, "review list", closed)?;
    map_keys(buf)?;
    Ok(buf)
}

/// Creates a buffer that is wiped out with its last window.
fn scratch(name: &str, filetype: &str) -> mlua::Result<i32> {
    let buf = buffer::read_only(name, filetype)?;
    nvim::set_buf_option(buf, "bufhidden", "wipe")?;
    Ok(buf)
}

/// The last window of the list was closed.
fn closed() -> mlua::Result<()> {
    hide_preview()?;
    let old = with(|list| {
        let preview_is_off = list.preview_is_off;
        let old = std::mem::take(list);
        list.preview_is_off = preview_is_off;
        old
    });
    if old.buf.is_some() {
        send(Event::View(ViewEvent::List(ListEvent::Closed)));
    }
    old.sizes.as_ref().map_or(Ok(()), Sizes::restore)
}

fn valid(buf: Option<i32>) -> mlua::Result<Option<i32>> {
    match buf {
        Some(buf) if buffer::is_loaded(buf)? => Ok(Some(buf)),
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

/// Reports the item under the cursor to the core, if it has changed.
fn moved() -> mlua::Result<()> {
    let Some(win) = window()? else {
        return Ok(());
    };
    let row = window::row(win)?;
    let changed = with(|list| {
        let item = list.view.items.get(row).and_then(Option::as_ref);
        let item = item.map(|item| item.key);
        let is_new = list.at != item;
        list.at = item;
        is_new.then_some(item)
    });
    if let Some(item) = changed {
        send(Event::View(ViewEvent::List(ListEvent::At { item })));
    }
    Ok(())
}

fn set_title(title: &[(OneLine, Group)]) -> mlua::Result<()> {
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

fn bar(title: &[(OneLine, Group)]) -> String {
    let mut bar = String::new();
    for (index, (text, group)) in title.iter().enumerate() {
        let text = text.replace('%', "%%");
        let dot = if index == 0 { " " } else { " · " };
        bar.push_str(&format!("%#AcpDim#{dot}%#{group}#{text}"));
    }
    bar + "%*"
}

/// Gives a window the looks of the list and its preview.
fn strip(win: i32) -> mlua::Result<()> {
    window::strip(win)?;
    window::set(
        win,
        [
            ("wrap", nvim::value(false)),
            ("winfixheight", nvim::value(true)),
            ("fillchars", nvim::value("eob: ")),
        ],
    )
}
