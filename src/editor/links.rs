//! The links of a transcript's lines, and the keys that follow them.
//!
//! Invariant: nothing opens in the windows of the chat.

use std::path::Path;

use nvim_oxi::mlua::{self, Table};

use super::kit::window;
use super::notify::notify;
use super::nvim::{self, Callable, api};
use super::state::{self, send};
use super::{chats, guard, terminal, walk};
use acp_core::conversation::info::SessionInfo;
use acp_core::event::{Event, ViewEvent};
use acp_core::render::links::row_behind;
use acp_core::spine::effect::Level;
use acp_core::spine::ids::SessionKey;
use acp_core::spine::oneline::OneLine;
use acp_core::spine::view::{Link, Piece, Whole};

/// Follows the link of the line under the cursor; without one, opens or closes the fold.
///
/// A closed fold looks like one line: it is opened, even if its first line has a link.
pub fn open(key: SessionKey) -> mlua::Result<()> {
    let row = window::row(0)?;
    if nvim::vim_fn::<i64>("foldclosed", row + 1)? >= 0 {
        return toggle();
    }
    match link(key, row) {
        Some(Link::File { path, row }) => visit(&path, row),
        Some(Link::Url(url)) => open_url(&url),
        Some(Link::Terminal(terminal)) => terminal::open(terminal),
        Some(Link::Whole(whole)) => {
            let session = key;
            send(Event::View(ViewEvent::WholeWanted { session, whole }));
            Ok(())
        }
        Some(Link::Call { .. } | Link::Part { .. }) | None => toggle(),
    }
}

/// Goes to the file that the line under the cursor links to, else to the file whose name is under
/// the cursor, else, on a line of a tool call, to the first location of the call.
pub fn file(key: SessionKey) -> mlua::Result<()> {
    let row = window::row(0)?;
    if let Some(Link::File { path, row }) = link(key, row) {
        return visit(&path, row);
    }
    if under_cursor(key)? {
        return Ok(());
    }
    let call = chats::get(key).and_then(|chat| {
        let links = chat.links.borrow();
        links.call(row).map(|(_, link)| link.clone())
    });
    match call {
        Some(Link::Call {
            path: Some(path),
            row,
            ..
        }) => visit(&path, row),
        Some(_) => notify(Level::Info, "This tool call names no file."),
        None => notify(Level::Info, "There is no file name under the cursor."),
    }
}

/// Shows the whole tool call that the line under the cursor belongs to.
pub fn raw(key: SessionKey) -> mlua::Result<()> {
    let row = window::row(0)?;
    let entry = chats::get(key).and_then(|chat| {
        let links = chat.links.borrow();
        links.call(row).map(|(entry, _)| entry)
    });
    let Some(entry) = entry else {
        return notify(Level::Info, "There is no tool call under the cursor.");
    };
    let piece = Piece::Raw;
    let whole = Whole { entry, piece };
    let session = key;
    send(Event::View(ViewEvent::WholeWanted { session, whole }));
    Ok(())
}

/// Opens or closes the fold under the cursor.
pub fn toggle() -> mlua::Result<()> {
    api("nvim_command", "silent! normal! za")
}

fn link(key: SessionKey, row: usize) -> Option<Link> {
    let chat = chats::get(key)?;
    let links = chat.links.borrow();
    links.of(row).cloned()
}

fn visit(path: &Path, row: Option<u32>) -> mlua::Result<()> {
    let is_loaded = nvim::vim_fn::<i64>("bufloaded", path.to_string_lossy().into_owned())? == 1;
    if !is_loaded && !path.exists() {
        let text = format!("{} does not exist.", path.display());
        return notify(Level::Warn, &text);
    }
    walk::visit(path, row.map(|row| row as usize), false)
}

/// Goes to the file that the text under the cursor names, as `gF` does, but in another window.
/// Returns whether that file exists.
fn under_cursor(key: SessionKey) -> mlua::Result<bool> {
    let name: String = nvim::vim_fn("expand", "<cfile>")?;
    if name.is_empty() {
        return Ok(false);
    }
    // A space or a comma would end an entry of 'path'.
    let cwd = |info: &SessionInfo| info.cwd.to_string_lossy().replace([' ', ','], "?");
    let cwd = state::session(key, cwd).unwrap_or_default();
    let found: String = nvim::vim_fn("findfile", (name.as_str(), format!("{cwd},.,,")))?;
    if found.is_empty() {
        return Ok(false);
    }
    let line: String = api("nvim_get_current_line", ())?;
    let found: String = nvim::vim_fn("fnamemodify", (found, ":p"))?;
    visit(Path::new(&found), row_behind(&line, &name))?;
    Ok(true)
}

/// Opens a URL with the system's handler; asks first unless a browser opens it, because the agent
/// chose which program that is.
fn open_url(url: &str) -> mlua::Result<()> {
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    let is_web = ["http", "https"]
        .iter()
        .any(|web| scheme.eq_ignore_ascii_case(web));
    if is_web {
        return open_now(url);
    }
    let link = url.to_owned();
    let chosen = guard::callback(
        "question about a link",
        move |(_, at): (mlua::Value, Option<usize>)| match at {
            Some(1) => open_now(&link),
            _ => Ok(()),
        },
    )?;
    let shown = OneLine::new(url);
    let prompt = format!(
        "Open this link of the agent with the system's program? {}",
        shown.as_str()
    );
    let opts = nvim::table([("prompt", nvim::value(prompt))])?;
    let select: Callable = nvim::vim()?.get::<Table>("ui")?.get("select")?;
    select.call((vec!["Open it", "Leave it"], opts, chosen))
}

fn open_now(url: &str) -> mlua::Result<()> {
    let open: Callable = nvim::vim()?.get::<Table>("ui")?.get("open")?;
    let (_, error): (mlua::Value, Option<String>) = open.call(url)?;
    match error {
        Some(error) => notify(Level::Warn, &error),
        None => Ok(()),
    }
}
