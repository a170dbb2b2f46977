//! The panels of a chat between the transcript and the input: the agent's plan and the queue.
//!
//! Invariants: a panel is shown only where the transcript is, and takes only a part of its height;
//! it gets the focus only when the user goes there; the other windows keep their sizes.

use std::cell::RefCell;
use std::collections::BTreeMap;

use nvim_oxi::mlua;

use super::chats::{self, Chat};
use super::kit::autocmd::{self, Fired, Scope};
use super::kit::{buffer, defer, window};
use super::nvim::{self, api};
use super::{chat, keymaps, queue};
use acp_core::spine::ids::SessionKey;
use acp_core::spine::view::Line;

/// The kinds of panels, from the top down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Plan,
    /// The queued prompts; the only panel that keeps the focus.
    Queue,
}

/// The contents of a panel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    pub lines: Vec<Line>,
    /// The row to scroll to; `None` leaves scrolling to the user.
    pub current: Option<usize>,
}

/// A session's panel.
type Name = (SessionKey, Kind);

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Plan => "plan",
            Kind::Queue => "queue",
        }
    }

    /// Returns the height of a panel with this many lines, given the height that it shares with the
    /// transcript; a long list is harder to read at a glance.
    fn height(self, lines: i64, room: i64) -> i64 {
        match self {
            Kind::Plan => lines.min(room / 3).min(10),
            Kind::Queue => lines.min(room / 4).min(5),
        }
    }
}

/// The panels of all sessions.
#[derive(Debug, Default)]
pub struct Panels {
    all: BTreeMap<Name, Panel>,
    is_watching: bool,
    /// The plugin itself is closing a window.
    is_closing: bool,
}

#[derive(Debug, Clone)]
struct Panel {
    contents: Contents,
    buf: i32,
    /// The height each window was given: the user may have changed it since.
    heights: BTreeMap<i32, i64>,
    /// The user has closed it: it stays closed until it is empty.
    is_dismissed: bool,
    /// It is empty, and goes when the command-line window has closed.
    is_over: bool,
}

thread_local! {
    static PANELS: RefCell<Panels> = RefCell::default();
}

fn with<R>(body: impl FnOnce(&mut Panels) -> R) -> R {
    PANELS.with_borrow_mut(body)
}

fn get(name: Name) -> Option<Panel> {
    with(|panels| panels.all.get(&name).cloned())
}

/// Returns the buffer of a panel, unless the panel is empty.
pub fn buffer(key: SessionKey, kind: Kind) -> Option<i32> {
    get((key, kind)).map(|panel| panel.buf)
}

fn change(name: Name, body: impl FnOnce(&mut Panel)) {
    with(|panels| {
        if let Some(panel) = panels.all.get_mut(&name) {
            body(panel);
        }
    });
}

/// Shows a panel in each tab page that shows the session's transcript, or removes it.
pub fn show(key: SessionKey, kind: Kind, contents: Option<Contents>) -> mlua::Result<()> {
    let name = (key, kind);
    let Some(contents) = contents else {
        if window::is_command_line()? {
            // No buffer can be deleted from there.
            change(name, |panel| panel.is_over = true);
            return Ok(());
        }
        let tabs: Vec<i32> = api("nvim_list_tabpages", ())?;
        for tab in tabs {
            close_in(name, tab)?;
        }
        let panel = with(|panels| panels.all.remove(&name));
        return panel.map_or(Ok(()), |panel| buffer::delete(panel.buf));
    };
    let Some(chat) = chats::get(key) else {
        return Ok(());
    };
    watch()?;
    let known = get(name);
    let is_there = match &known {
        Some(panel) => buffer::is_valid(panel.buf)?,
        None => false,
    };
    let old = match known {
        Some(panel) if is_there => panel,
        other => Panel {
            contents: Contents::default(),
            buf: create(name, &chat)?,
            heights: BTreeMap::new(),
            is_dismissed: other.is_some_and(|panel| panel.is_dismissed),
            is_over: false,
        },
    };
    buffer::write(old.buf, &old.contents.lines, &contents.lines)?;
    let panel = Panel {
        contents,
        is_dismissed: old.is_dismissed && !old.is_over,
        is_over: false,
        ..old
    };
    with(|panels| panels.all.insert(name, panel));
    fit(name)
}

/// Removes all panels of a session.
pub fn forget(key: SessionKey) -> mlua::Result<()> {
    show(key, Kind::Plan, None)?;
    show(key, Kind::Queue, None)
}

/// Shows the panels again that the user closed, when the user opens the chat.
pub fn reopen(key: SessionKey) -> mlua::Result<()> {
    for kind in [Kind::Plan, Kind::Queue] {
        change((key, kind), |panel| panel.is_dismissed = false);
        if let Some(panel) = get((key, kind)).filter(|panel| !panel.is_over) {
            // The user may have deleted its buffer.
            show(key, kind, Some(panel.contents))?;
        }
    }
    Ok(())
}

fn create((key, kind): Name, chat: &Chat) -> mlua::Result<i32> {
    let name = format!("acp://{}/{}/{}", chat.agent, key.0, kind.name());
    let name = buffer::free_name(&name)?;
    let buf = buffer::read_only(&name, &format!("acp-{}", kind.name()))?;
    match kind {
        Kind::Plan => {
            // Keys typed before the focus moves on act as in the transcript.
            keymaps::of_chat(buf, key)?;
            let entered = move |_| defer::soon("plan", move || pass_focus(key));
            autocmd::on("plan", &["WinEnter"], Scope::Buffer(buf), entered)?;
        }
        Kind::Queue => queue::adorn(buf, key)?,
    }
    // `:edit` has emptied it.
    let read = move |_| show_again((key, kind));
    autocmd::on("panel read", &["BufReadCmd"], Scope::Buffer(buf), read)?;
    Ok(buf)
}

/// Writes the lines of a panel whose buffer is empty.
fn show_again(name: Name) -> mlua::Result<()> {
    let Some(panel) = get(name).filter(|panel| !panel.is_over) else {
        return Ok(());
    };
    change(name, |panel| panel.contents.lines.clear());
    show(name.0, name.1, Some(panel.contents))
}

/// Creates, once, the autocommands for windows that open and close.
fn watch() -> mlua::Result<()> {
    if with(|panels| std::mem::replace(&mut panels.is_watching, true)) {
        return Ok(());
    }
    let closed = |fired: Fired| closed(fired.buf()?);
    autocmd::on("panel closed", &["WinClosed"], Scope::All, closed)?;
    autocmd::on("panel left", &["QuitPre"], Scope::All, |_| quitting())?;
    let fit = |_| defer::soon("panels", fit_all);
    autocmd::on("panels", &["CmdwinLeave"], Scope::All, fit)?;
    Ok(())
}

/// Gives every panel its position and size, and removes those that are over.
pub fn fit_all() -> mlua::Result<()> {
    let state = |(name, panel): (&Name, &Panel)| (*name, panel.is_over);
    let all: Vec<(Name, bool)> = with(|panels| panels.all.iter().map(state).collect());
    all.into_iter()
        .try_for_each(|(name, is_over)| match is_over {
            true => show(name.0, name.1, None),
            false => fit(name),
        })
}

/// Gives a panel its position and size in each tab page.
fn fit(name: Name) -> mlua::Result<()> {
    let (Some(panel), Some(chat)) = (get(name), chats::get(name.0)) else {
        return Ok(());
    };
    if !buffer::is_valid(panel.buf)? || window::is_command_line()? {
        return Ok(());
    }
    let following = chat::following(chat.transcript)?;
    let mut has_changed = false;
    for tab in api::<Vec<i32>>("nvim_list_tabpages", ())? {
        has_changed |= fit_in(name, &panel, &chat, tab)?;
    }
    if has_changed {
        for win in following {
            chat::go_to_end(win, chat.transcript)?;
        }
    }
    if let Some(current) = panel.contents.current {
        for win in nvim::windows_of(panel.buf)? {
            scroll(win, panel.contents.lines.len(), current)?;
        }
    }
    Ok(())
}

/// Gives a panel its position and size in a tab page; returns whether it changed a window.
fn fit_in(name: Name, panel: &Panel, chat: &Chat, tab: i32) -> mlua::Result<bool> {
    let here = window::showing(panel.buf, tab)?;
    let Some(above) = window::showing(chat.transcript, tab)? else {
        return close(here, None);
    };
    if here.is_none() && panel.is_dismissed {
        return Ok(false);
    }
    let room = window::height(above)?;
    let own = match here {
        Some(win) => 1 + window::height(win)?,
        None => 0,
    };
    let lines = i64::try_from(panel.contents.lines.len()).unwrap_or(i64::MAX);
    let height = name.1.height(lines, room + own);
    let win = match here {
        _ if height < 1 => return close(here, Some(above)),
        Some(win) if panel.heights.get(&win) == Some(&height) => return Ok(false),
        Some(win) => win,
        None => {
            let below = match name.1 {
                Kind::Plan => None,
                Kind::Queue => window::showing(chat.input, tab)?,
            };
            let place = below.map_or(("below", above), |input| ("above", input));
            open(panel.buf, place, height)?
        }
    };
    set_height(win, height)?;
    change(name, |panel| {
        panel.heights.insert(win, height);
    });
    Ok(true)
}

/// Sets the height of a panel without the bar that the user's 'winbar' takes of it.
fn set_height(win: i32, height: i64) -> mlua::Result<()> {
    let bar = window::height(win)? - window::text_height(win)?;
    api("nvim_win_set_height", (win, height + bar))
}

/// Opens a window above or below another one.
fn open(buf: i32, place: (&str, i32), height: i64) -> mlua::Result<i32> {
    let win = window::split(buf, false, place, Some(("height", height)))?;
    window::strip(win)?;
    window::switch(win, &["linebreak", "list", "winfixheight"], true)?;
    window::set(
        win,
        [
            ("wrap", nvim::value(false)),
            // A line too long for the window ends in a mark.
            ("listchars", nvim::value("extends:…")),
            ("fillchars", nvim::value("eob: ")),
            ("scrolloff", nvim::value(0)),
        ],
    )?;
    Ok(win)
}

/// Scrolls to the current row, with the row before it at the top.
fn scroll(win: i32, lines: usize, current: usize) -> mlua::Result<()> {
    let height = usize::try_from(window::height(win)?).unwrap_or(0);
    let last = lines.saturating_sub(height);
    let top = current.saturating_sub(1).min(last);
    let view = nvim::table([
        ("topline", nvim::value(top + 1)),
        ("lnum", nvim::value(current + 1)),
        ("col", nvim::value(0)),
        ("leftcol", nvim::value(0)),
    ])?;
    window::set_view(win, view)
}

/// Closes a session's panels in a tab page.
pub fn close_all_in(key: SessionKey, tab: i32) -> mlua::Result<()> {
    close_in((key, Kind::Plan), tab)?;
    close_in((key, Kind::Queue), tab)
}

fn close_in(name: Name, tab: i32) -> mlua::Result<()> {
    let Some(panel) = get(name) else {
        return Ok(());
    };
    let transcript = chats::get(name.0).map(|chat| chat.transcript);
    let above = transcript.map_or(Ok(None), |buf| window::showing(buf, tab))?;
    let following = transcript.map_or(Ok(Vec::new()), chat::following)?;
    if close(window::showing(panel.buf, tab)?, above)?
        && let Some(transcript) = transcript
    {
        for win in following {
            chat::go_to_end(win, transcript)?;
        }
    }
    Ok(())
}

/// Closes a panel's window. Its height goes to the window above alone: with 'equalalways' Neovim
/// would make all windows equal.
fn close(win: Option<i32>, above: Option<i32>) -> mlua::Result<bool> {
    let Some(win) = win else {
        return Ok(false);
    };
    if window::is_last(win)? {
        return window::close(win).map(|()| true);
    }
    let mut sizes = window::sizes_in(window::tab_of(win)?)?;
    sizes.retain(|(other, ..)| *other != win && Some(*other) != above);
    with(|panels| panels.is_closing = true);
    let closed = api::<()>("nvim_win_close", (win, true));
    with(|panels| panels.is_closing = false);
    closed?;
    if above.is_some() {
        window::set_sizes(&sizes)?;
    }
    Ok(true)
}

/// Refits the panels after a window was closed, and notes a panel that the user closed.
fn closed(buf: i32) -> mlua::Result<()> {
    let (any, whose) = with(|panels| {
        let ours = |(name, panel): (&Name, &Panel)| (panel.buf == buf).then_some(*name);
        let whose = panels.all.iter().find_map(ours);
        (!panels.all.is_empty(), whose.filter(|_| !panels.is_closing))
    });
    if let Some(name) = whose {
        defer::soon("panel closed", move || dismissed(name))?;
    }
    match any {
        true => defer::soon("panels", fit_all),
        false => Ok(()),
    }
}

/// Keeps a panel closed that the user has closed without the whole chat.
fn dismissed(name: Name) -> mlua::Result<()> {
    let Some(chat) = chats::get(name.0) else {
        return Ok(());
    };
    if window::showing(chat.transcript, window::tab()?)?.is_some() {
        change(name, |panel| panel.is_dismissed = true);
    }
    Ok(())
}

/// Closes the panels first if only panels would be left after a window closes.
fn quitting() -> mlua::Result<()> {
    let tab = window::tab()?;
    let panels: Vec<i32> = with(|panels| panels.all.values().map(|panel| panel.buf).collect());
    let mut mine = Vec::new();
    for buf in panels {
        mine.extend(window::showing(buf, tab)?);
    }
    if !mine.is_empty() && window::count_splits(tab)? == mine.len() + 1 {
        for win in mine {
            close(Some(win), None)?;
        }
    }
    Ok(())
}

/// Passes on the focus that a plan got: from the transcript to the input, and back.
fn pass_focus(key: SessionKey) -> mlua::Result<()> {
    let Some(chat) = chats::get(key) else {
        return Ok(());
    };
    if buffer(key, Kind::Plan) != Some(buffer::here()?) {
        return Ok(());
    }
    let before: i32 = nvim::vim_fn("winbufnr", nvim::vim_fn::<i32>("winnr", "#")?)?;
    let is_from_below = before == chat.input || buffer(key, Kind::Queue) == Some(before);
    match is_from_below {
        true => window::go_to_first(&[chat.transcript, chat.input]),
        false => window::go_to_first(&[chat.input, chat.transcript]),
    }
}
