//! The window that follows an agent: chosen once in a tab page, kept until the user takes it back.
//!
//! Invariant: it is an ordinary window with a file, never the user's current one, and leaving its
//! buffer loses nothing.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use nvim_oxi::mlua::{self, Table};

use super::{Trail, each_follower, trails, with};
use crate::editor::chats;
use crate::editor::kit::window::{
    self, all_in, buf_of, height, here, is_float, is_valid, screen, tab_of, width,
};
use crate::editor::kit::{autocmd, defer};
use crate::editor::nvim::{self, api};
use crate::editor::state::send;
use acp_core::event::{Event, ViewEvent};
use acp_core::spine::ids::SessionKey;
use acp_core::spine::view::Follow;

/// The least height and width of a window that is split, below and beside.
const MIN_HEIGHT: i64 = 12;
const MIN_WIDTH: i64 = 80;

/// A window that follows.
#[derive(Debug, Clone)]
pub struct Follower {
    pub win: i32,
    /// The buffers it has shown since it was chosen: the user has chosen any other one.
    pub buffers: BTreeSet<i32>,
    pub sight: Sight,
}

/// The text that a window shows, to detect that the user has scrolled it.
#[derive(Debug, Clone)]
pub struct Sight {
    first_line: i64,
    /// The changedtick of its text.
    tick: i64,
    /// When it was looked at.
    at: Instant,
}

/// Scrolling within this time after a move results from the move: hunks are drawn then.
const SETTLING: Duration = Duration::from_millis(500);

impl Sight {
    /// Returns the text that a window shows now.
    pub fn of(win: i32) -> mlua::Result<Self> {
        let buf = buf_of(win)?;
        Ok(Self {
            first_line: nvim::vim_fn("line", ("w0", win))?,
            tick: api("nvim_buf_get_changedtick", buf)?,
            at: Instant::now(),
        })
    }

    /// Returns whether the user has scrolled: the text is the same, and the last move is long ago.
    pub fn is_left_by_user(&self, now: &Sight) -> bool {
        self.first_line != now.first_line
            && self.tick == now.tick
            && now.at.duration_since(self.at) > SETTLING
    }
}

impl Follower {
    fn new(win: i32) -> mlua::Result<Self> {
        Ok(Self {
            win,
            buffers: BTreeSet::from([buf_of(win)?]),
            sight: Sight::of(win)?,
        })
    }
}

/// Returns the window that follows a session's agent, if one was chosen.
pub fn follower(key: SessionKey) -> mlua::Result<Option<Follower>> {
    let Some(tab) = tab(key)? else {
        return Ok(None);
    };
    let Some(follower) = with(key, |trail| trail.followers.get(&tab).cloned()) else {
        return Ok(None);
    };
    if is_valid(follower.win)? && tab_of(follower.win)? == tab {
        if follower.buffers.contains(&buf_of(follower.win)?) && is_ordinary(follower.win)? {
            return Ok(Some(follower));
        }
        with(key, |trail| trail.taken.insert(follower.win));
    }
    with(key, |trail| trail.followers.remove(&tab));
    if !is_valid(follower.win)? {
        is_enough(key);
    }
    Ok(None)
}

/// Stops following once the window `win` is closed, if it is one that follows.
pub fn closes(win: i32) -> mlua::Result<()> {
    let follows = |trail: &Trail| {
        let mut all = trail.followers.values();
        all.any(|follower| follower.win == win)
    };
    let keys: Vec<SessionKey> = trails(|trails| {
        let all = trails.by_session.iter();
        let followed = all.filter(|(_, trail)| follows(trail));
        followed.map(|(key, _)| *key).collect()
    });
    if keys.is_empty() {
        return Ok(());
    }
    // During `WinClosed` it still exists.
    defer::soon("follow window", move || {
        keys.into_iter().try_for_each(|key| follower(key).map(drop))
    })
}

/// Stops following: the user has closed the window.
fn is_enough(key: SessionKey) {
    with(key, |trail| trail.target = None);
    send(Event::View(ViewEvent::Follow {
        session: key,
        to: Some(Follow::Off),
    }));
}

/// Chooses a window to follow an agent, which can show the buffer `buf`.
pub fn choose(key: SessionKey, buf: i32) -> mlua::Result<Option<Follower>> {
    let Some(tab) = tab(key)? else {
        return Ok(None);
    };
    let win = match best(key, tab, buf)? {
        Some(win) => win,
        None => match split(tab, buf)? {
            Some(win) => win,
            None => return Ok(None),
        },
    };
    let follower = Follower::new(win)?;
    keep(key, tab, &follower);
    Ok(Some(follower))
}

/// Saves the state of a window that follows.
pub fn keep(key: SessionKey, tab: i32, follower: &Follower) {
    with(key, |trail| trail.followers.insert(tab, follower.clone()));
}

/// Returns the tab page in which an agent is followed: that of its chat, else the current one,
/// unless it shows another session's chat.
fn tab(key: SessionKey) -> mlua::Result<Option<i32>> {
    let here = window::tab()?;
    let Some(chat) = chats::get(key) else {
        return Ok(None);
    };
    let mut tabs = Vec::new();
    for buf in [chat.transcript, chat.input] {
        for win in nvim::windows_of(buf)? {
            tabs.push(tab_of(win)?);
        }
    }
    if tabs.contains(&here) {
        return Ok(Some(here));
    }
    if let Some(first) = tabs.first() {
        return Ok(Some(*first));
    }
    for win in all_in(here)? {
        let buf = buf_of(win)?;
        let is_anothers = chats::with(|chats| {
            let mut all = chats.by_session.values();
            all.any(|chat| chat.transcript == buf)
        });
        if is_anothers {
            return Ok(None);
        }
    }
    Ok(Some(here))
}

/// Returns the best window: one that shows the file, else the one the user was in before, else the
/// largest.
fn best(key: SessionKey, tab: i32, buf: i32) -> mlua::Result<Option<i32>> {
    let here = here()?;
    let number: i32 = api("nvim_tabpage_get_number", tab)?;
    let previous: i32 = nvim::vim_fn("tabpagewinnr", (number, "#"))?;
    let previous: i32 = nvim::vim_fn("win_getid", (previous, number))?;
    let mut avoided = with(key, |trail| trail.taken.clone());
    each_follower(|follower| avoided.extend([follower.win]));
    let mut best = None;
    for win in all_in(tab)? {
        if win == here || avoided.contains(&win) || !is_ordinary(win)? || !can_leave(win, buf)? {
            continue;
        }
        let has_file = buf_of(win)? == buf;
        let size = width(win)? * height(win)?;
        best = best.max(Some((has_file, win == previous, size, win)));
    }
    Ok(best.map(|(_, _, _, win)| win))
}

/// Returns whether a window shows a file and has no special purpose.
fn is_ordinary(win: i32) -> mlua::Result<bool> {
    let kind: String = nvim::buf_option(buf_of(win)?, "buftype")?;
    if !kind.is_empty() || is_float(win)? {
        return Ok(false);
    }
    for name in [
        "winfixbuf",
        "previewwindow",
        "diff",
        "scrollbind",
        "cursorbind",
    ] {
        if nvim::win_option(win, name)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns whether a window can show another buffer without a prompt or a loss.
pub fn can_leave(win: i32, to: i32) -> mlua::Result<bool> {
    let buf = buf_of(win)?;
    if buf == to {
        return Ok(true);
    }
    let hidden: String = nvim::buf_option(buf, "bufhidden")?;
    let is_modified: bool = nvim::buf_option(buf, "modified")?;
    let is_elsewhere = nvim::windows_of(buf)?.len() > 1;
    Ok(match &*hidden {
        "hide" => true,
        "" => is_elsewhere || !is_modified || nvim::vim()?.get::<Table>("o")?.get("hidden")?,
        // Leaving it would unload or wipe it out, with its undo history.
        _ => is_elsewhere,
    })
}

/// Opens a window for a buffer, if there is room: beside the user's file, else beside the chat.
fn split(tab: i32, buf: i32) -> mlua::Result<Option<i32>> {
    let here = here()?;
    if window::tab()? != tab {
        // In another tab page nothing needs to be visible.
        return Ok(None);
    }
    let (columns, lines) = screen()?;
    // Regardless of 'splitbelow', the text that the user reads stays where it is.
    let place = if is_ordinary(here)? {
        if height(here)? >= MIN_HEIGHT {
            Some(("below", here))
        } else if width(here)? >= MIN_WIDTH {
            Some(("right", here))
        } else {
            None
        }
    } else if columns >= MIN_WIDTH {
        Some(("left", -1))
    } else if lines >= 2 * MIN_HEIGHT {
        Some(("above", -1))
    } else {
        None
    };
    // Neovim refuses a window that has no room.
    Ok(place.and_then(|place| window::split(buf, false, place, None).ok()))
}

/// Extends an option while `body` runs, without triggering autocommands.
pub fn with_option<R>(
    name: &'static str,
    add: &str,
    body: impl FnOnce() -> mlua::Result<R>,
) -> mlua::Result<R> {
    let set = |to: &str| {
        autocmd::silenced(|| {
            let scope = nvim::empty()?;
            api::<()>("nvim_set_option_value", (name, to, scope))
        })
    };
    let before: String = api("nvim_get_option_value", (name, nvim::empty()?))?;
    set(&format!("{before}{add}"))?;
    let result = body();
    set(&before)?;
    result
}

/// Runs Ex commands in a window.
pub fn run_in(win: i32, commands: &'static [&'static str]) -> mlua::Result<()> {
    window::call(win, move || {
        let mut commands = commands.iter();
        commands.try_for_each(|command| api::<()>("nvim_command", *command))
    })
}
