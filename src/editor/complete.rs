//! Completion in the input: the candidates, and Neovim's menu with them.
//!
//! Invariants: the menu takes no key that is meant for the text, since no item is selected before
//! the user selects one; if another plugin completes in inputs, this menu stays closed.

use std::cell::{Cell, RefCell};

use nvim_oxi::mlua::{self, Table};

use super::config::{self, Completion};
use super::kit::autocmd::{self, Fired, Scope};
use super::kit::{buffer, user};
use super::nvim::{self, api};
use super::state::{send, snapshot};
use super::{chats, keys, mentions};
use acp_core::conversation::complete::{self, Candidate, LeadKind, Sources};
use acp_core::event::{Event, SessionEvent};
use acp_core::spine::ids::SessionKey;

/// The behaviour of the menu in inputs, regardless of the user's own.
const MENU: &str = "menuone,noinsert,noselect";

thread_local! {
    /// The line before the cursor after a candidate was taken: it is not completed again.
    static TAKEN: RefCell<String> = RefCell::default();
    /// The user's 'completeopt' while [`MENU`] replaces it, where it cannot be local to a buffer.
    static REPLACED: RefCell<Option<String>> = const { RefCell::new(None) };
    /// Another plugin completes in inputs.
    static IS_OTHERS: Cell<bool> = const { Cell::new(false) };
}

fn opens() -> Completion {
    config::with(|config| config.completion)
}

/// Sets up completion in an input buffer.
pub fn set_up(buf: i32, key: SessionKey) -> mlua::Result<()> {
    if opens() == Completion::Off {
        return Ok(());
    }
    nvim::set_buf_option(buf, "omnifunc", "v:lua.require'acp'.complete")?;
    let is_local = has_local_option()?;
    if is_local {
        nvim::set_buf_option(buf, "completeopt", MENU)?;
    }
    let completes = move |fired: Fired| match fired.event()?.as_str() {
        "InsertEnter" => {
            IS_OTHERS.set(hand_over(buf)?);
            if !is_local {
                replace_option()?;
            }
            Ok(())
        }
        "InsertLeave" | "BufLeave" => give_option_back(),
        "CompleteDone" => note_taken(),
        _ => menu(key),
    };
    let events = [
        "InsertEnter",
        "InsertLeave",
        "BufLeave",
        "CompleteDone",
        "TextChangedI",
        "TextChangedP",
    ];
    autocmd::on("completion", &events, Scope::Buffer(buf), completes).map(drop)
}

/// Returns whether 'completeopt' can be local to a buffer; it cannot in Neovim 0.10.
fn has_local_option() -> mlua::Result<bool> {
    let info: Table = api("nvim_get_option_info2", ("completeopt", nvim::empty()?))?;
    Ok(info.get::<String>("scope")? == "buf" || info.get::<bool>("global_local")?)
}

fn replace_option() -> mlua::Result<()> {
    let options: Table = nvim::vim()?.get("o")?;
    let users: String = options.get("completeopt")?;
    if users != MENU {
        options.set("completeopt", MENU)?;
        REPLACED.set(Some(users));
    }
    Ok(())
}

fn give_option_back() -> mlua::Result<()> {
    match REPLACED.take() {
        Some(users) => nvim::vim()?.get::<Table>("o")?.set("completeopt", users),
        None => Ok(()),
    }
}

/// Lets the user's completion plugin complete in an input; returns whether there is one.
fn hand_over(buf: i32) -> mlua::Result<bool> {
    let run = "return require('acp.completion').hand_over(...)";
    nvim::lua().load(run).call(buf)
}

/// Returns the session to which an input buffer belongs.
pub fn session_of(buf: i32) -> Option<SessionKey> {
    chats::with(|chats| {
        let mut all = chats.by_session.iter();
        all.find(|(_, chat)| chat.input == buf).map(|(key, _)| *key)
    })
}

/// Returns the candidates for a line of an input, `before` the cursor, and the byte at which the
/// completed text starts.
pub fn at(
    key: SessionKey,
    row: usize,
    before: &str,
) -> mlua::Result<Option<(usize, Vec<Candidate>)>> {
    let Some(lead) = complete::lead(row, before) else {
        return Ok(None);
    };
    let snapshot = snapshot();
    let info = snapshot.sessions.iter().find(|info| info.session == key);
    let is_known = info.is_some_and(|info| info.files.is_some());
    if lead.kind == LeadKind::Mention && (lead.text.is_empty() || !is_known) {
        // Shows the known files, and requests the current ones.
        send(Event::Session(SessionEvent::FilesWanted { session: key }));
    }
    let sources = Sources {
        commands: info.map_or(&[], |info| &info.commands),
        files: info.and_then(|info| info.files.as_ref()),
        buffers: match lead.kind {
            LeadKind::Mention => open_files(key)?,
            _ => Vec::new(),
        },
        symbols: match lead.kind {
            LeadKind::Symbol => symbols()?,
            _ => Vec::new(),
        },
    };
    Ok(Some((lead.start, complete::candidates(lead, &sources))))
}

fn open_files(key: SessionKey) -> mlua::Result<Vec<String>> {
    let cwd = mentions::folder(key)?;
    let open = buffer::recent()?.into_iter();
    let inside =
        open.filter_map(|(_, path)| path.strip_prefix(&cwd).ok()?.to_str().map(str::to_owned));
    Ok(inside.collect())
}

fn symbols() -> mlua::Result<Vec<(String, String)>> {
    let list: Vec<Vec<String>> = nvim::lua()
        .load("return require('acp.symbols').list()")
        .call(())?;
    let pairs = list.into_iter().map(|pair| {
        let mut pair = pair.into_iter();
        (
            pair.next().unwrap_or_default(),
            pair.next().unwrap_or_default(),
        )
    });
    Ok(pairs.collect())
}

/// Returns the row of the cursor and the text of its line before it.
fn before() -> mlua::Result<(usize, String)> {
    let cursor: Vec<usize> = api("nvim_win_get_cursor", 0)?;
    let (line, column) = match cursor.as_slice() {
        [line, column] => (*line, *column),
        _ => (1, 0),
    };
    let text: String = api("nvim_get_current_line", ())?;
    let before = text.get(..column).unwrap_or(&text).to_owned();
    Ok((line.saturating_sub(1), before))
}

fn note_taken() -> mlua::Result<()> {
    let vim: Table = nvim::vim()?.get("v")?;
    let item: Table = vim.get("completed_item")?;
    if !item.is_empty() {
        TAKEN.set(before()?.1);
    }
    Ok(())
}

/// Opens or updates the menu in the input where the user writes.
fn menu(key: SessionKey) -> mlua::Result<()> {
    if opens() != Completion::Auto || IS_OTHERS.get() {
        return Ok(());
    }
    let is_open = user::is_in_menu()?;
    if is_open {
        let info: Table = nvim::vim_fn("complete_info", vec!["mode", "selected"])?;
        // The user completes something else, or is choosing.
        if info.get::<String>("mode")? != "eval" || info.get::<i64>("selected")? >= 0 {
            return Ok(());
        }
    }
    let (row, before) = before()?;
    if TAKEN.with_borrow(|taken| !taken.is_empty() && *taken == before) {
        return Ok(());
    }
    let Some((start, found)) = at(key, row, &before)? else {
        return Ok(());
    };
    let written = before.get(start..).unwrap_or_default();
    let is_done = matches!(found.as_slice(), [only] if only.word == written);
    if found.is_empty() || is_done {
        return match is_open {
            true => nvim::vim_fn("complete", (start + 1, nvim::empty()?)),
            false => Ok(()),
        };
    }
    let list = nvim::empty()?;
    for candidate in &found {
        let item = item(candidate)?;
        // Neovim cuts the menu at the edge of the screen, and the kind is plain from the word.
        item.set("kind", "")?;
        list.push(item)?;
    }
    nvim::vim_fn("complete", (start + 1, list))
}

/// Returns a candidate as one of |complete-items|.
pub fn item(candidate: &Candidate) -> mlua::Result<Table> {
    nvim::table([
        ("word", nvim::value(candidate.word.as_str())),
        ("kind", nvim::value(candidate.kind)),
        ("menu", nvim::value(candidate.about.as_str())),
        // Neovim must not hide items at the next key: they are computed again.
        ("equal", nvim::value(1)),
        ("dup", nvim::value(1)),
    ])
}

/// Updates the menu with new candidates, if the user is writing in this input.
pub fn came(key: SessionKey) -> mlua::Result<()> {
    let here = buffer::here()?;
    let is_here = chats::get(key).is_some_and(|chat| chat.input == here);
    match is_here && user::is_inserting()? {
        true => menu(key),
        false => Ok(()),
    }
}

/// Takes the selected item of the menu, or the first; `false` if the menu is closed.
pub fn take(key: SessionKey) -> mlua::Result<bool> {
    match choosing()? {
        Some(true) => keys::feed("<C-y>")?,
        Some(false) => {
            // For a user who types faster than the screen is drawn, the menu is out of date.
            menu(key)?;
            keys::feed("<C-n><C-y>")?;
        }
        None => return Ok(false),
    }
    Ok(true)
}

/// Returns whether an item of the menu is selected; `None` if the menu is closed.
pub fn choosing() -> mlua::Result<Option<bool>> {
    if !user::is_in_menu()? {
        return Ok(None);
    }
    let info: Table = nvim::vim_fn("complete_info", vec!["selected"])?;
    Ok(Some(info.get::<i64>("selected")? >= 0))
}
