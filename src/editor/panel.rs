//! The panels of a chat, between the transcript and the input: the agent's plan, and the prompts that
//! wait.
//!
//! Invariants: they stand only where the transcript does, and take a part of its room at most; they
//! never get the focus by themselves; the other windows keep their sizes.

use std::collections::BTreeMap;

use nvim_oxi::mlua::{self, Table, Value};

use super::chat::{self, Chat};
use super::nvim::{self, api};
use super::{guard, keys, layout, painted, queue, state};
use acp_core::render::view::Line;
use acp_core::spine::ids::SessionKey;

/// What a panel is for; from the top down, as they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Plan,
    /// The prompts that wait: their panel the user can go to.
    Queue,
}

/// What a panel shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    pub lines: Vec<Line>,
    /// The row that shall be seen; `None` leaves that to the user.
    pub current: Option<usize>,
}

/// A panel of a session's.
type Name = (SessionKey, Kind);

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Plan => "plan",
            Kind::Queue => "queue",
        }
    }

    /// Returns how high a panel of so many lines is, with so much room for it and the transcript:
    /// more rows say less at a glance.
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
    /// It is us who close a window.
    is_closing: bool,
}

#[derive(Debug, Clone)]
struct Panel {
    contents: Contents,
    buf: i32,
    /// How high each window was made: the user may have made it otherwise since.
    heights: BTreeMap<i32, i64>,
    /// The user has closed it: it stays closed until it has nothing to show.
    is_dismissed: bool,
}

fn with<R: Default>(body: impl FnOnce(&mut Panels) -> R) -> R {
    state::with(|editor| body(&mut editor.panels.borrow_mut())).unwrap_or_default()
}

fn get(name: Name) -> Option<Panel> {
    with(|panels| panels.all.get(&name).cloned())
}

/// Returns the buffer of a panel, as long as there is something in it.
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

/// Shows this wherever the session's transcript is, or takes the panel away.
///
/// # Errors
/// What Neovim says of it.
pub fn show(key: SessionKey, kind: Kind, contents: Option<Contents>) -> mlua::Result<()> {
    let name = (key, kind);
    let Some(contents) = contents else {
        let tabs: Vec<i32> = api("nvim_list_tabpages", ())?;
        for tab in tabs {
            close_in(name, tab)?;
        }
        let panel = with(|panels| panels.all.remove(&name));
        return panel.map_or(Ok(()), |panel| chat::wipe(panel.buf));
    };
    let Some(chat) = chat::get(key) else {
        return Ok(());
    };
    watch()?;
    let known = get(name);
    let is_there = match &known {
        Some(panel) => api("nvim_buf_is_valid", panel.buf)?,
        None => false,
    };
    let old = match known {
        Some(panel) if is_there => panel,
        other => Panel {
            contents: Contents::default(),
            buf: create(name, &chat)?,
            heights: BTreeMap::new(),
            is_dismissed: other.is_some_and(|panel| panel.is_dismissed),
        },
    };
    painted::write(old.buf, &old.contents.lines, &contents.lines)?;
    let panel = Panel { contents, ..old };
    with(|panels| panels.all.insert(name, panel));
    fit(name)
}

/// Takes all panels of a session away.
///
/// # Errors
/// What Neovim says of it.
pub fn forget(key: SessionKey) -> mlua::Result<()> {
    show(key, Kind::Plan, None)?;
    show(key, Kind::Queue, None)
}

/// Shows the panels again that the user has closed: the chat is opened.
///
/// # Errors
/// What Neovim says of it.
pub fn reopen(key: SessionKey) -> mlua::Result<()> {
    for kind in [Kind::Plan, Kind::Queue] {
        change((key, kind), |panel| panel.is_dismissed = false);
        if let Some(panel) = get((key, kind)) {
            // The user may have deleted its buffer.
            show(key, kind, Some(panel.contents))?;
        }
    }
    Ok(())
}

fn create((key, kind): Name, chat: &Chat) -> mlua::Result<i32> {
    let name = format!("acp://{}/{}/{}", chat.agent, key.0, kind.name());
    let buf = chat::scratch(&name, &format!("acp-{}", kind.name()))?;
    nvim::set_buf_option(buf, "undolevels", -1)?;
    nvim::set_buf_option(buf, "modifiable", false)?;
    match kind {
        Kind::Plan => {
            // Keys that are typed while the focus is handed on mean what they do in the transcript.
            keys::chat(buf, key)?;
            let run = guard::callback("plan", move |_: Table| later(move || hand_on(key)))?;
            let opts = nvim::table([
                ("buffer", nvim::value(buf)),
                ("callback", Value::Function(run)),
            ])?;
            api::<i32>("nvim_create_autocmd", ("WinEnter", opts))?;
        }
        Kind::Queue => queue::adorn(buf, key)?,
    }
    Ok(buf)
}

/// Watches, once, the windows that come and go.
fn watch() -> mlua::Result<()> {
    if with(|panels| std::mem::replace(&mut panels.is_watching, true)) {
        return Ok(());
    }
    for (event, body) in [
        ("WinClosed", closed as fn(Table) -> mlua::Result<()>),
        ("QuitPre", |_| quitting()),
        ("CmdwinLeave", |_| later(fit_all)),
    ] {
        let run = guard::callback("panel windows", body)?;
        let opts = nvim::table([("callback", Value::Function(run))])?;
        api::<i32>("nvim_create_autocmd", (event, opts))?;
    }
    Ok(())
}

/// Gives every panel its place and size.
///
/// # Errors
/// What Neovim says of it.
pub fn fit_all() -> mlua::Result<()> {
    let all: Vec<Name> = with(|panels| panels.all.keys().copied().collect());
    all.into_iter().try_for_each(fit)
}

/// Gives a panel its place and size in each tab page.
fn fit(name: Name) -> mlua::Result<()> {
    let (Some(panel), Some(chat)) = (get(name), chat::get(name.0)) else {
        return Ok(());
    };
    if !api::<bool>("nvim_buf_is_valid", panel.buf)?
        || nvim::vim_fn::<String>("win_gettype", ())? == "command"
    {
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

/// Gives the panel its place in a tab page, and tells whether anything has changed there.
fn fit_in(name: Name, panel: &Panel, chat: &Chat, tab: i32) -> mlua::Result<bool> {
    let (above, here) = (window(tab, chat.transcript)?, window(tab, panel.buf)?);
    let Some(above) = above else {
        return close(here, None);
    };
    if here.is_none() && panel.is_dismissed {
        return Ok(false);
    }
    let room: i64 = api("nvim_win_get_height", above)?;
    let own: i64 = match here {
        Some(win) => 1 + api::<i64>("nvim_win_get_height", win)?,
        None => 0,
    };
    let lines = i64::try_from(panel.contents.lines.len()).unwrap_or(i64::MAX);
    let height = name.1.height(lines, room + own);
    match here {
        _ if height < 1 => close(here, Some(above)),
        Some(win) if panel.heights.get(&win) == Some(&height) => Ok(false),
        Some(win) => {
            api::<()>("nvim_win_set_height", (win, height))?;
            change(name, |panel| {
                panel.heights.insert(win, height);
            });
            Ok(true)
        }
        None => {
            let below = match name.1 {
                Kind::Plan => None,
                Kind::Queue => window(tab, chat.input)?,
            };
            let place = below.map_or((above, "below"), |input| (input, "above"));
            let win = open(panel.buf, place, height)?;
            change(name, |panel| {
                panel.heights.insert(win, height);
            });
            Ok(true)
        }
    }
}

/// Opens a window above or below another one.
fn open(buf: i32, (beside, split): (i32, &str), height: i64) -> mlua::Result<i32> {
    let config = nvim::table([
        ("win", nvim::value(beside)),
        ("split", nvim::value(split)),
        ("height", Value::Integer(height)),
    ])?;
    let win: i32 = api("nvim_open_win", (buf, false, config))?;
    layout::dress(win)?;
    nvim::set_win_option(win, "wrap", false)?;
    // What is too long for the window ends in a mark.
    nvim::set_win_option(win, "list", true)?;
    nvim::set_win_option(win, "listchars", "extends:…")?;
    nvim::set_win_option(win, "fillchars", "eob: ")?;
    nvim::set_win_option(win, "winfixheight", true)?;
    nvim::set_win_option(win, "scrolloff", 0)?;
    Ok(win)
}

/// Scrolls to the current row, with what comes before above it.
fn scroll(win: i32, lines: usize, current: usize) -> mlua::Result<()> {
    let height: usize = api("nvim_win_get_height", win)?;
    let last = lines.saturating_sub(height);
    let top = current.saturating_sub(1).min(last);
    let at = nvim::table([
        ("topline", nvim::value(top + 1)),
        ("lnum", nvim::value(current + 1)),
        ("col", nvim::value(0)),
        ("leftcol", nvim::value(0)),
    ])?;
    let run = guard::callback("panel scroll", move |()| {
        nvim::vim_fn::<()>("winrestview", at.clone())
    })?;
    api("nvim_win_call", (win, run))
}

/// Returns the first window of a tab page that shows a buffer.
pub(super) fn window(tab: i32, buf: i32) -> mlua::Result<Option<i32>> {
    for win in api::<Vec<i32>>("nvim_tabpage_list_wins", tab)? {
        if api::<i32>("nvim_win_get_buf", win)? == buf {
            return Ok(Some(win));
        }
    }
    Ok(None)
}

/// Closes a session's panels in a tab page.
///
/// # Errors
/// What Neovim says of it.
pub fn close_all_in(key: SessionKey, tab: i32) -> mlua::Result<()> {
    close_in((key, Kind::Plan), tab)?;
    close_in((key, Kind::Queue), tab)
}

fn close_in(name: Name, tab: i32) -> mlua::Result<()> {
    let Some(panel) = get(name) else {
        return Ok(());
    };
    let transcript = chat::get(name.0).map(|chat| chat.transcript);
    let above = transcript.map_or(Ok(None), |buf| window(tab, buf))?;
    let following = transcript.map_or(Ok(Vec::new()), chat::following)?;
    if close(window(tab, panel.buf)?, above)?
        && let Some(transcript) = transcript
    {
        for win in following {
            chat::go_to_end(win, transcript)?;
        }
    }
    Ok(())
}

/// Closes a panel's window; what it took goes back to the window above, and to that alone: with
/// 'equalalways' Neovim would make all windows the same.
fn close(win: Option<i32>, above: Option<i32>) -> mlua::Result<bool> {
    let Some(win) = win else {
        return Ok(false);
    };
    let tab: i32 = api("nvim_win_get_tabpage", win)?;
    let tabs: Vec<i32> = api("nvim_list_tabpages", ())?;
    if layout::count_splits(tab)? == 1 && tabs.len() == 1 {
        // The last window stays, with an empty buffer.
        let empty: i32 = api("nvim_create_buf", (true, false))?;
        api::<()>("nvim_win_set_buf", (win, empty))?;
        return Ok(true);
    }
    let mut sizes = Vec::new();
    for other in api::<Vec<i32>>("nvim_tabpage_list_wins", tab)? {
        let config: Table = api("nvim_win_get_config", other)?;
        if other != win && Some(other) != above && config.get::<String>("relative")?.is_empty() {
            let width: i64 = api("nvim_win_get_width", other)?;
            let height: i64 = api("nvim_win_get_height", other)?;
            sizes.push((other, width, height));
        }
    }
    with(|panels| panels.is_closing = true);
    let closed = api::<()>("nvim_win_close", (win, true));
    with(|panels| panels.is_closing = false);
    closed?;
    if above.is_some() {
        for (other, width, height) in sizes {
            api::<()>("nvim_win_set_width", (other, width))?;
            api::<()>("nvim_win_set_height", (other, height))?;
        }
    }
    Ok(true)
}

/// A window was closed, of whatever buffer.
fn closed(args: Table) -> mlua::Result<()> {
    let buf: i32 = args.get("buf")?;
    let (any, whose) = with(|panels| {
        let ours = |(name, panel): (&Name, &Panel)| (panel.buf == buf).then_some(*name);
        let whose = panels.all.iter().find_map(ours);
        (!panels.all.is_empty(), whose.filter(|_| !panels.is_closing))
    });
    if let Some(name) = whose {
        later(move || dismissed(name))?;
    }
    match any {
        true => later(fit_all),
        false => Ok(()),
    }
}

/// The user has closed the panel: alone, or with the whole chat.
fn dismissed(name: Name) -> mlua::Result<()> {
    let tab: i32 = api("nvim_get_current_tabpage", ())?;
    let Some(chat) = chat::get(name.0) else {
        return Ok(());
    };
    if window(tab, chat.transcript)?.is_some() {
        change(name, |panel| panel.is_dismissed = true);
    }
    Ok(())
}

/// A window is about to be closed: if only panels would be left, they go first.
fn quitting() -> mlua::Result<()> {
    let tab: i32 = api("nvim_get_current_tabpage", ())?;
    let panels: Vec<i32> = with(|panels| panels.all.values().map(|panel| panel.buf).collect());
    let mut mine = Vec::new();
    for buf in panels {
        mine.extend(window(tab, buf)?);
    }
    if !mine.is_empty() && layout::count_splits(tab)? == mine.len() + 1 {
        for win in mine {
            close(Some(win), None)?;
        }
    }
    Ok(())
}

/// Hands the focus on that came to a plan: from the transcript to the input, and back.
fn hand_on(key: SessionKey) -> mlua::Result<()> {
    let Some(chat) = chat::get(key) else {
        return Ok(());
    };
    let here: i32 = api("nvim_get_current_buf", ())?;
    if buffer(key, Kind::Plan) != Some(here) {
        return Ok(());
    }
    let tab: i32 = api("nvim_get_current_tabpage", ())?;
    let before: i32 = nvim::vim_fn("winbufnr", nvim::vim_fn::<i32>("winnr", "#")?)?;
    let is_from_below = before == chat.input || buffer(key, Kind::Queue) == Some(before);
    let ways = match is_from_below {
        true => [chat.transcript, chat.input],
        false => [chat.input, chat.transcript],
    };
    for buf in ways {
        if let Some(win) = window(tab, buf)? {
            return api("nvim_set_current_win", win);
        }
    }
    Ok(())
}

/// Runs what may not happen inside of an event of Neovim's.
pub(super) fn later(body: impl Fn() -> mlua::Result<()> + 'static) -> mlua::Result<()> {
    let run = guard::callback("panel later", move |()| body())?;
    nvim::vim()?
        .get::<mlua::Function>("schedule")?
        .call::<()>(run)
}
