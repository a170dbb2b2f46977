//! Buffers that show the output of terminals.
//!
//! Invariants: a terminal has a buffer only while a window shows it, and is fed only then; the text
//! does not move while the user reads further up; showing a terminal does not affect its command:
//! the user's keys reach it, Neovim's own replies to its output do not.

mod acts;
mod feed;
pub mod pace;
mod window;

use std::cell::RefCell;
use std::collections::BTreeMap;

use nvim_oxi::mlua::{self, Value};

use super::guard;
use super::kit::autocmd::{self, Scope};
use super::kit::window::{self as kit_window, Sizes};
use super::kit::{buffer, user};
use super::nvim::{self, api};
use super::state::{send, snapshot};
use crate::editor::chats;
use acp_core::event::Event;
use acp_core::spine::ids::{SessionKey, TerminalKey};
use acp_core::terminals::TerminalEvent;
use acp_core::terminals::info::TerminalInfo;
use feed::Feed;
pub use feed::output;
pub use window::shortened;

/// Lines of scrollback.
const SCROLLBACK: usize = 10_000;

/// The terminals that windows show.
#[derive(Debug, Default)]
pub struct Terminals {
    shown: BTreeMap<TerminalKey, Shown>,
    /// Input while a terminal is fed is a reply of Neovim, not a key of the user.
    is_feeding: bool,
    is_watching: bool,
    /// The sizes of the windows before one showed a terminal.
    sizes: Option<Sizes>,
}

/// A terminal that a window shows.
#[derive(Debug, Clone)]
struct Shown {
    session: SessionKey,
    buf: i32,
    channel: i64,
    feed: Feed,
    /// Columns and rows, as last reported to the command.
    size: (u16, u16),
    /// The text of each window's bar.
    bars: BTreeMap<i32, String>,
}

thread_local! {
    static TERMINALS: RefCell<Terminals> = RefCell::default();
}

fn with<R>(body: impl FnOnce(&mut Terminals) -> R) -> R {
    TERMINALS.with_borrow_mut(body)
}

fn get(key: TerminalKey) -> Option<Shown> {
    with(|terminals| terminals.shown.get(&key).cloned())
}

fn change(key: TerminalKey, body: impl FnOnce(&mut Shown)) {
    with(|terminals| {
        if let Some(shown) = terminals.shown.get_mut(&key) {
            body(shown);
        }
    });
}

/// Returns the terminals. Those of a session that was just closed may still be in the snapshot;
/// they are left out.
pub fn all() -> Vec<TerminalInfo> {
    let snapshot = snapshot();
    let all = snapshot.terminals.iter();
    all.filter(|info| chats::get(info.session).is_some())
        .cloned()
        .collect()
}

/// Returns a terminal, if it exists.
fn info(key: TerminalKey) -> Option<TerminalInfo> {
    all().into_iter().find(|info| info.key == key)
}

/// Shows a terminal in the current tab page and goes there.
///
/// # Errors
/// The terminal does not exist.
pub fn open(key: TerminalKey) -> mlua::Result<()> {
    let Some(info) = info(key) else {
        let why = format!("there is no terminal {}; `:Acp terminal` lists them", key.0);
        return Err(mlua::Error::runtime(why));
    };
    if kit_window::is_command_line()? {
        return Err(mlua::Error::runtime(
            "no window can be opened from the command-line window: close it, then open the terminal",
        ));
    }
    let known = get(key).map(|shown| shown.buf);
    match known {
        Some(buf) if buffer::is_valid(buf)? => {
            window::show(buf)?;
            fit(key)
        }
        _ => create(&info),
    }
}

/// Creates a terminal's buffer in a window from the start, which gives it its size.
fn create(info: &TerminalInfo) -> mlua::Result<()> {
    let key = info.key;
    watch()?;
    pace::watch(true)?;
    let buf = buffer::scratch("", "")?;
    window::show(buf)?;
    let shown = Shown {
        session: info.session,
        buf,
        channel: 0,
        feed: Feed::Awaited,
        size: (0, 0),
        bars: BTreeMap::new(),
    };
    with(|terminals| terminals.shown.insert(key, shown));
    // The bar takes a row, and Neovim leaves a terminal scrolled that shrinks right away.
    window::set_bars(key)?;
    // The user's autocommands for `TermOpen` expect the buffer in its window.
    let channel = begin(key, buf)?;
    change(key, |shown| shown.channel = channel);
    adorn(info, buf)?;
    fit(key)?;
    window::go_to_end(buf)?;
    send(Event::Terminal(TerminalEvent::Shown {
        terminal: key,
        is_shown: true,
    }));
    Ok(())
}

/// A character, erased at once. An escape code that repeats the last character, sent before any
/// character, keeps Neovim in an endless loop.
const FIRST: &str = " \r\x1b[K";

/// Turns a buffer into a terminal and returns the channel that feeds it.
fn begin(key: TerminalKey, buf: i32) -> mlua::Result<i64> {
    let on_input = guard::callback(
        "terminal input",
        move |(_, _, _, keys): (Value, Value, Value, mlua::String)| {
            acts::typed(key, &keys.as_bytes())
        },
    )?;
    let opts = nvim::table([("on_input", Value::Function(on_input))])?;
    let channel: i64 = api("nvim_open_term", (buf, opts))?;
    api::<()>("nvim_chan_send", (channel, FIRST))?;
    nvim::set_buf_option(buf, "scrollback", SCROLLBACK)?;
    Ok(channel)
}

/// Gives a terminal's buffer its name, its keys and its autocommands.
fn adorn(info: &TerminalInfo, buf: i32) -> mlua::Result<()> {
    let key = info.key;
    let agent = chats::get(info.session).map_or_else(|| "agent".to_owned(), |chat| chat.agent);
    let name = format!("acp://{agent}/{}/terminal/{}", info.session.0, key.0);
    api::<()>("nvim_buf_set_name", (buf, buffer::free_name(&name)?))?;
    nvim::set_buf_option(buf, "filetype", "acp-terminal")?;
    acts::map_keys(buf, key)?;
    for (event, body) in [
        ("BufWinEnter", fit as fn(TerminalKey) -> mlua::Result<()>),
        ("CursorMoved", feed::resume),
        ("TermEnter", acts::entered),
    ] {
        autocmd::on("terminal", &[event], Scope::Buffer(buf), move |_| body(key))?;
    }
    buffer::on_hidden(buf, "terminal hidden", move || hidden(key))
}

/// Creates, once, the autocommands for all terminals.
fn watch() -> mlua::Result<()> {
    if with(|terminals| std::mem::replace(&mut terminals.is_watching, true)) {
        return Ok(());
    }
    autocmd::on("terminals", &["WinResized"], Scope::All, |_| {
        window::resized()
    })?;
    autocmd::on("terminals", &["ModeChanged"], Scope::All, |_| {
        feed::resume_all()
    })?;
    Ok(())
}

/// Gives the windows of a terminal their looks, and reports their size to the command.
fn fit(key: TerminalKey) -> mlua::Result<()> {
    if let Some(shown) = get(key) {
        window::strip(shown.buf)?;
    }
    window::set_bars(key)?;
    window::resized()
}

/// Updates the window bars, and leaves terminals whose command has ended.
pub fn refresh() -> mlua::Result<()> {
    for key in keys() {
        window::set_bars(key)?;
        leave_if_over(key)?;
    }
    Ok(())
}

/// Leaves terminal mode if the command has ended: no process would read the keys.
fn leave_if_over(key: TerminalKey) -> mlua::Result<()> {
    let is_over = info(key).is_some_and(|info| info.state.is_over());
    let Some(shown) = get(key).filter(|_| is_over) else {
        return Ok(());
    };
    match user::is_in_terminal()? && buffer::here()? == shown.buf {
        true => api("nvim_command", "stopinsert"),
        false => Ok(()),
    }
}

fn keys() -> Vec<TerminalKey> {
    with(|terminals| terminals.shown.keys().copied().collect())
}

/// Deletes the buffer of a terminal whose last window has closed.
fn hidden(key: TerminalKey) -> mlua::Result<()> {
    let Some(shown) = get(key) else {
        return Ok(());
    };
    if buffer::is_shown(shown.buf)? {
        // A new buffer has replaced the one that was hidden.
        return Ok(());
    }
    with(|terminals| terminals.shown.remove(&key));
    send(Event::Terminal(TerminalEvent::Shown {
        terminal: key,
        is_shown: false,
    }));
    buffer::delete(shown.buf)?;
    pace::watch(with(|terminals| !terminals.shown.is_empty()))?;
    let sizes = with(|terminals| {
        let is_last = terminals.shown.is_empty();
        terminals.sizes.take_if(|_| is_last)
    });
    sizes.as_ref().map_or(Ok(()), Sizes::restore)
}

/// Deletes the terminals of a closed session, and their windows.
pub fn forget(session: SessionKey) -> mlua::Result<()> {
    let gone = with(|terminals| {
        let of_session: Vec<TerminalKey> = terminals
            .shown
            .iter()
            .filter(|(_, shown)| shown.session == session)
            .map(|(key, _)| *key)
            .collect();
        let gone = of_session
            .iter()
            .filter_map(|key| terminals.shown.remove(key));
        gone.collect::<Vec<_>>()
    });
    pace::watch(with(|terminals| !terminals.shown.is_empty()))?;
    gone.into_iter()
        .try_for_each(|shown| buffer::delete(shown.buf))
}
