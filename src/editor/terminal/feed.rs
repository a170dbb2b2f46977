//! Feeds the output of terminals into their buffers.
//!
//! Invariant: the window shows the end of the output, unless the user reads further up: then output
//! that would move the text is held back until the user returns to the end.

use nvim_oxi::mlua;

use super::{SCROLLBACK, Shown, adorn, begin, change, fit, get, info, keys, window, with};
use crate::editor::kit::window::{here, row};
use crate::editor::kit::{autocmd, buffer, user};
use crate::editor::nvim::{self, api};
use crate::editor::state::send;
use acp_core::event::Event;
use acp_core::spine::ids::TerminalKey;
use acp_core::terminals::TerminalEvent;

/// Resets a terminal, leaves the alternate screen, and clears the scrollback.
const CLEAR: &[u8] = b"\x1b[?1049l\x1bc\x1b[H\x1b[2J\x1b[3J";

/// Whether a terminal accepts output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feed {
    /// The whole output was requested; anything that arrives before it is dropped.
    Awaited,
    Live,
    /// The user reads further up: output is dropped until they return to the end.
    Paused,
}

/// Shows more of a terminal's output, or the whole output if `is_anew`.
pub fn output(key: TerminalKey, is_anew: bool, bytes: &[u8]) -> mlua::Result<()> {
    let Some(shown) = get(key) else {
        // Its last window has closed.
        return Ok(());
    };
    if !buffer::is_valid(shown.buf)? {
        return Ok(());
    }
    match (shown.feed, is_anew) {
        (Feed::Paused, _) | (Feed::Awaited, false) => return Ok(()),
        // The buffer is still empty.
        (Feed::Awaited, true) if shown.is_blank()? => {}
        _ => {
            let readers = Readers::of(shown.buf)?;
            if readers.would_mind(&shown, is_anew, bytes)? {
                return pause(key);
            }
            if is_anew {
                return feed(&replaced(key, &shown, &readers)?, bytes);
            }
        }
    }
    change(key, |shown| shown.feed = Feed::Live);
    feed(&shown, bytes)
}

/// Feeds a terminal. Its own replies to the command are dropped: the command must not notice
/// whether a window shows it, nor get a reply again when its output is shown again.
fn feed(shown: &Shown, bytes: &[u8]) -> mlua::Result<()> {
    let text = nvim::lua().create_string(bytes)?;
    with(|terminals| terminals.is_feeding = true);
    let fed = api::<()>("nvim_chan_send", (shown.channel, text));
    with(|terminals| terminals.is_feeding = false);
    fed
}

impl Shown {
    /// Returns whether no output was shown yet.
    fn is_blank(&self) -> mlua::Result<bool> {
        let first: Vec<String> = api("nvim_buf_get_lines", (self.buf, 0, 1, false))?;
        Ok(self.feed == Feed::Awaited && first.iter().all(String::is_empty))
    }
}

/// The windows that show a terminal.
struct Readers {
    /// Those whose cursor is at the end, which scroll with the output.
    following: Vec<i32>,
    /// The user selects text in one of them, or has typed an operator there.
    is_selecting: bool,
    all: Vec<i32>,
}

impl Readers {
    fn of(buf: i32) -> mlua::Result<Self> {
        let all = nvim::windows_of(buf)?;
        let lines: usize = api("nvim_buf_line_count", buf)?;
        let mut readers = Self {
            following: Vec::new(),
            is_selecting: false,
            all: all.clone(),
        };
        for win in all {
            readers.is_selecting |= user::is_selecting(win)?;
            if row(win)? + 1 >= lines {
                readers.following.push(win);
            }
        }
        Ok(readers)
    }

    /// Returns whether more output would move text that the user reads.
    fn would_mind(&self, shown: &Shown, is_anew: bool, bytes: &[u8]) -> mlua::Result<bool> {
        if self.is_selecting {
            return Ok(true);
        }
        if !self.following.is_empty() || self.all.is_empty() {
            return Ok(false);
        }
        let lines: usize = api("nvim_buf_line_count", shown.buf)?;
        let come = bytes.iter().filter(|&&byte| byte == b'\n').count();
        // A line that wraps counts as two.
        Ok(is_anew || lines + 2 * come > SCROLLBACK)
    }
}

/// Stops feeding a terminal until its reader is at the end again.
fn pause(key: TerminalKey) -> mlua::Result<()> {
    change(key, |shown| shown.feed = Feed::Paused);
    send(Event::Terminal(TerminalEvent::Shown {
        terminal: key,
        is_shown: false,
    }));
    window::set_bars(key)
}

/// Resumes a terminal whose reader has returned to the end.
pub(super) fn resume(key: TerminalKey) -> mlua::Result<()> {
    let Some(shown) = get(key).filter(|shown| shown.feed == Feed::Paused) else {
        return Ok(());
    };
    let readers = Readers::of(shown.buf)?;
    if readers.following.is_empty() || readers.is_selecting {
        return Ok(());
    }
    change(key, |shown| shown.feed = Feed::Awaited);
    send(Event::Terminal(TerminalEvent::Shown {
        terminal: key,
        is_shown: true,
    }));
    window::set_bars(key)
}

pub(super) fn resume_all() -> mlua::Result<()> {
    keys().into_iter().try_for_each(resume)
}

/// Empties a terminal by replacing its buffer: Neovim before 0.12 cannot clear the scrollback.
fn replaced(key: TerminalKey, shown: &Shown, readers: &Readers) -> mlua::Result<Shown> {
    let is_normal = matches!(user::mode()?.as_str(), "n" | "nt");
    let is_free = is_normal || !readers.all.contains(&here()?);
    let Some(info) = info(key).filter(|_| is_free) else {
        // While the user types into it, or at a prompt, the buffer stays; its scrollback may repeat
        // some output.
        feed(shown, CLEAR)?;
        change(key, |shown| shown.feed = Feed::Live);
        return Ok(shown.clone());
    };
    // Other plugins must not take it for a new terminal.
    let (channel, buf) = autocmd::silenced(|| swap(key, shown.buf, &readers.all))?;
    change(key, |shown| {
        shown.channel = channel;
        shown.feed = Feed::Live;
    });
    adorn(&info, buf)?;
    fit(key)?;
    window::go_to_end(buf)?;
    Ok(get(key).unwrap_or_else(|| shown.clone()))
}

/// Puts a new terminal into these windows and deletes the old one.
fn swap(key: TerminalKey, old: i32, windows: &[i32]) -> mlua::Result<(i64, i32)> {
    let buf = buffer::scratch("", "")?;
    for &win in windows {
        api::<()>("nvim_win_set_buf", (win, buf))?;
    }
    change(key, |shown| {
        shown.buf = buf;
        shown.bars.clear();
    });
    // The bar takes a row, as for a terminal that is opened.
    window::set_bars(key)?;
    let channel = begin(key, buf)?;
    buffer::delete(old)?;
    Ok((channel, buf))
}
