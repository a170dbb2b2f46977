//! The panel with an agent's plan, between the transcript and the input.
//!
//! Invariants: it stands only where the transcript does, and takes at most a third of its room;
//! it never gets the focus by itself, and hands it on; the other windows keep their sizes.

use std::collections::BTreeMap;

use nvim_oxi::mlua::{self, Table, Value};

use super::chat::{self, Chat};
use super::nvim::{self, api};
use super::{guard, keys, layout, painted, state};
use crate::core::ids::SessionKey;
use crate::core::view::PlanView;

/// More rows say less at a glance.
const MAX_HEIGHT: i64 = 10;

/// The panels of all sessions with a plan under way.
#[derive(Debug, Default)]
pub struct Panels {
    by_session: BTreeMap<SessionKey, Panel>,
    is_watching: bool,
    /// It is us who close a window.
    is_closing: bool,
}

#[derive(Debug, Clone)]
struct Panel {
    view: PlanView,
    buf: i32,
    /// How high each window was made: the user may have made it otherwise since.
    heights: BTreeMap<i32, i64>,
    /// The user has closed it: it stays closed while the plan is the same one.
    is_dismissed: bool,
}

fn with<R: Default>(body: impl FnOnce(&mut Panels) -> R) -> R {
    state::with(|editor| body(&mut editor.plans.borrow_mut())).unwrap_or_default()
}

fn get(key: SessionKey) -> Option<Panel> {
    with(|panels| panels.by_session.get(&key).cloned())
}

fn change(key: SessionKey, body: impl FnOnce(&mut Panel)) {
    with(|panels| {
        if let Some(panel) = panels.by_session.get_mut(&key) {
            body(panel);
        }
    });
}

/// Shows a session's plan wherever its transcript is, or takes the panel away.
///
/// # Errors
/// What Neovim says of it.
pub fn show(key: SessionKey, view: Option<PlanView>) -> mlua::Result<()> {
    let Some(view) = view else {
        let tabs: Vec<i32> = api("nvim_list_tabpages", ())?;
        for tab in tabs {
            close_in(key, tab)?;
        }
        let panel = with(|panels| panels.by_session.remove(&key));
        return panel.map_or(Ok(()), |panel| chat::wipe(panel.buf));
    };
    let Some(chat) = chat::get(key) else {
        return Ok(());
    };
    watch()?;
    let known = get(key);
    let is_there = match &known {
        Some(panel) => api("nvim_buf_is_valid", panel.buf)?,
        None => false,
    };
    let old = match known {
        Some(panel) if is_there => panel,
        other => Panel {
            view: PlanView::default(),
            buf: create(key, &chat)?,
            heights: BTreeMap::new(),
            is_dismissed: other.is_some_and(|panel| panel.is_dismissed),
        },
    };
    painted::write(old.buf, &old.view.lines, &view.lines)?;
    let panel = Panel { view, ..old };
    with(|panels| panels.by_session.insert(key, panel));
    fit(key)
}

/// Shows the panel again that the user has closed: the chat is opened.
///
/// # Errors
/// What Neovim says of it.
pub fn reopen(key: SessionKey) -> mlua::Result<()> {
    change(key, |panel| panel.is_dismissed = false);
    match get(key) {
        // The user may have deleted its buffer.
        Some(panel) => show(key, Some(panel.view)),
        None => Ok(()),
    }
}

fn create(key: SessionKey, chat: &Chat) -> mlua::Result<i32> {
    let name = format!("acp://{}/{}/plan", chat.agent, key.0);
    let buf = chat::scratch(&name, "acp-plan")?;
    nvim::set_buf_option(buf, "undolevels", -1)?;
    nvim::set_buf_option(buf, "modifiable", false)?;
    // Keys that are typed while the focus is handed on mean what they do in the transcript.
    keys::chat(buf, key)?;
    let run = guard::callback("plan", move |_: Table| later(move || hand_on(key)))?;
    let opts = nvim::table([
        ("buffer", nvim::value(buf)),
        ("callback", Value::Function(run)),
    ])?;
    api::<i32>("nvim_create_autocmd", ("WinEnter", opts))?;
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
        let run = guard::callback("plan windows", body)?;
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
    let keys: Vec<SessionKey> = with(|panels| panels.by_session.keys().copied().collect());
    keys.into_iter().try_for_each(fit)
}

/// Gives a session's panel its place and size in each tab page.
fn fit(key: SessionKey) -> mlua::Result<()> {
    let (Some(panel), Some(chat)) = (get(key), chat::get(key)) else {
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
        has_changed |= fit_in(key, &panel, chat.transcript, tab)?;
    }
    if has_changed {
        for win in following {
            chat::go_to_end(win, chat.transcript)?;
        }
    }
    for win in nvim::windows_of(panel.buf)? {
        scroll(win, &panel.view)?;
    }
    Ok(())
}

/// Gives the panel its place in a tab page, and tells whether anything has changed there.
fn fit_in(key: SessionKey, panel: &Panel, transcript: i32, tab: i32) -> mlua::Result<bool> {
    let (above, here) = (window(tab, transcript)?, window(tab, panel.buf)?);
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
    let entries = i64::try_from(panel.view.lines.len()).unwrap_or(i64::MAX);
    let height = entries.min((room + own) / 3).min(MAX_HEIGHT);
    match here {
        _ if height < 1 => close(here, Some(above)),
        Some(win) if panel.heights.get(&win) == Some(&height) => Ok(false),
        Some(win) => {
            api::<()>("nvim_win_set_height", (win, height))?;
            change(key, |panel| {
                panel.heights.insert(win, height);
            });
            Ok(true)
        }
        None => {
            let win = open(panel.buf, above, height)?;
            change(key, |panel| panel.heights = [(win, height)].into());
            Ok(true)
        }
    }
}

fn open(buf: i32, above: i32, height: i64) -> mlua::Result<i32> {
    let config = nvim::table([
        ("win", nvim::value(above)),
        ("split", nvim::value("below")),
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

/// Scrolls to what is in progress, with what was done last above it.
fn scroll(win: i32, view: &PlanView) -> mlua::Result<()> {
    let height: usize = api("nvim_win_get_height", win)?;
    let last = view.lines.len().saturating_sub(height);
    let top = view.current.saturating_sub(1).min(last);
    let at = nvim::table([
        ("topline", nvim::value(top + 1)),
        ("lnum", nvim::value(view.current + 1)),
        ("col", nvim::value(0)),
        ("leftcol", nvim::value(0)),
    ])?;
    let run = guard::callback("plan scroll", move |()| {
        nvim::vim_fn::<()>("winrestview", at.clone())
    })?;
    api("nvim_win_call", (win, run))
}

/// Returns the first window of a tab page that shows a buffer.
fn window(tab: i32, buf: i32) -> mlua::Result<Option<i32>> {
    for win in api::<Vec<i32>>("nvim_tabpage_list_wins", tab)? {
        if api::<i32>("nvim_win_get_buf", win)? == buf {
            return Ok(Some(win));
        }
    }
    Ok(None)
}

/// Closes a session's panel in a tab page.
///
/// # Errors
/// What Neovim says of it.
pub fn close_in(key: SessionKey, tab: i32) -> mlua::Result<()> {
    let Some(panel) = get(key) else {
        return Ok(());
    };
    let transcript = chat::get(key).map(|chat| chat.transcript);
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
        let ours = |(key, panel): (&SessionKey, &Panel)| (panel.buf == buf).then_some(*key);
        let whose = panels.by_session.iter().find_map(ours);
        (
            !panels.by_session.is_empty(),
            whose.filter(|_| !panels.is_closing),
        )
    });
    if let Some(key) = whose {
        later(move || dismissed(key))?;
    }
    match any {
        true => later(fit_all),
        false => Ok(()),
    }
}

/// The user has closed the panel: alone, or with the whole chat.
fn dismissed(key: SessionKey) -> mlua::Result<()> {
    let tab: i32 = api("nvim_get_current_tabpage", ())?;
    let Some(chat) = chat::get(key) else {
        return Ok(());
    };
    if window(tab, chat.transcript)?.is_some() {
        change(key, |panel| panel.is_dismissed = true);
    }
    Ok(())
}

/// A window is about to be closed: if only panels would be left, they go first.
fn quitting() -> mlua::Result<()> {
    let tab: i32 = api("nvim_get_current_tabpage", ())?;
    let panels: Vec<i32> =
        with(|panels| panels.by_session.values().map(|panel| panel.buf).collect());
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

/// Hands the focus on that came to the panel: from the transcript to the input, and back.
fn hand_on(key: SessionKey) -> mlua::Result<()> {
    let Some(chat) = chat::get(key) else {
        return Ok(());
    };
    let here: i32 = api("nvim_get_current_buf", ())?;
    if get(key).is_none_or(|panel| panel.buf != here) {
        return Ok(());
    }
    let tab: i32 = api("nvim_get_current_tabpage", ())?;
    let before: i32 = nvim::vim_fn("winbufnr", nvim::vim_fn::<i32>("winnr", "#")?)?;
    let ways = match before == chat.input {
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
fn later(body: impl Fn() -> mlua::Result<()> + 'static) -> mlua::Result<()> {
    let run = guard::callback("plan later", move |()| body())?;
    nvim::vim()?
        .get::<mlua::Function>("schedule")?
        .call::<()>(run)
}
