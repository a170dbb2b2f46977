//! The windows of terminals: where they open, their bars, their sizes.

use nvim_oxi::mlua::{self, Table};

use super::feed::Feed;
use super::{change, get, info, keys, with};
use crate::editor::kit::{buffer, window};
use crate::editor::nvim::{self, api};
use crate::editor::state::send;
use acp_core::event::Event;
use acp_core::spine::ids::TerminalKey;
use acp_core::spine::oneline::OneLine;
use acp_core::spine::view::Group;
use acp_core::terminals::info::TerminalInfo;
use acp_core::terminals::{CommandState, TerminalEvent};

/// Shows a buffer in the current tab page and goes there: in its window, in that of another
/// terminal, or in a new one below all others, where the lines have the whole width.
pub(super) fn show(buf: i32) -> mlua::Result<()> {
    let mut other = None;
    for win in window::all_in(window::tab()?)? {
        let shows = window::buf_of(win)?;
        if shows == buf {
            return window::go_to(win);
        }
        if nvim::buf_option::<String>(shows, "filetype")? == "acp-terminal" {
            other = Some(win);
        }
    }
    if let Some(win) = other {
        window::go_to(win)?;
        return api("nvim_win_set_buf", (win, buf));
    }
    let (_, sizes) = window::open_below(buf)?;
    with(|terminals| terminals.sizes = Some(sizes));
    Ok(())
}

/// Puts the cursors of a terminal's windows at its end, so that they scroll with the output.
pub(super) fn go_to_end(buf: i32) -> mlua::Result<()> {
    let lines: usize = api("nvim_buf_line_count", buf)?;
    for win in nvim::windows_of(buf)? {
        window::set_row(win, lines.saturating_sub(1))?;
    }
    Ok(())
}

/// Gives the windows on a terminal's buffer the looks of one.
pub(super) fn strip(buf: i32) -> mlua::Result<()> {
    for win in nvim::windows_of(buf)? {
        window::strip(win)?;
        window::switch(win, &["cursorcolumn", "wrap"], false)?;
        window::set(
            win,
            [
                ("winfixheight", nvim::value(true)),
                ("statuscolumn", nvim::value("")),
                ("scrolloff", nvim::value(0)),
                ("sidescrolloff", nvim::value(0)),
            ],
        )?;
    }
    Ok(())
}

/// Shows the command and its state above each window of a terminal.
pub(super) fn set_bars(key: TerminalKey) -> mlua::Result<()> {
    let (Some(shown), Some(info)) = (get(key), info(key)) else {
        return Ok(());
    };
    if !buffer::is_valid(shown.buf)? {
        return Ok(());
    }
    for win in nvim::windows_of(shown.buf)? {
        let width: usize = api("nvim_win_get_width", win)?;
        let bar = bar(&info, shown.feed, width);
        if shown.bars.get(&win) == Some(&bar) {
            continue;
        }
        nvim::set_win_option(win, "winbar", bar.as_str())?;
        change(key, |shown| {
            shown.bars.insert(win, bar);
        });
    }
    Ok(())
}

fn bar(info: &TerminalInfo, feed: Feed, width: usize) -> String {
    let (state, group) = state(&info.state);
    let pause = match feed {
        Feed::Paused => "more below: G shows it",
        Feed::Awaited | Feed::Live => "",
    };
    let taken = state.chars().count() + pause.chars().count() + 8;
    let title = shortened(&info.title, width.saturating_sub(taken).max(10));
    let title = if info.has_process {
        format!("$ {title}")
    } else {
        title
    };
    let escaped = |text: &str| text.replace('%', "%%");
    let mut bar = format!(
        " %#AcpTitle#{}%#AcpDim# · %#{group}#{}",
        escaped(&title),
        escaped(&state)
    );
    if !pause.is_empty() {
        bar.push_str(&format!("%#AcpDim# · %#AcpWarning#{pause}"));
    }
    bar + "%*"
}

/// Returns a terminal's state as text, and its highlight group.
fn state(state: &CommandState) -> (String, Group) {
    let group = match state {
        CommandState::Starting => "AcpToolPending",
        CommandState::Running => "AcpToolRunning",
        CommandState::Exited(exit) if exit.code == Some(0) && exit.signal.is_none() => {
            "AcpToolDone"
        }
        CommandState::Exited(_) | CommandState::Failed(_) => "AcpToolFailed",
    };
    (
        state.end().unwrap_or_else(|| state.word().to_owned()),
        group,
    )
}

/// Returns a text on one line, cut to `width` characters with `…`.
pub fn shortened(text: &str, width: usize) -> String {
    let mut line = String::from(OneLine::new(text));
    if line.chars().count() > width {
        line = line.chars().take(width.saturating_sub(1)).collect();
        line.push('…');
    }
    line
}

/// Reports the sizes of the terminals that windows show to their commands.
pub(super) fn resized() -> mlua::Result<()> {
    for key in keys() {
        let Some(shown) = get(key) else {
            continue;
        };
        let size = match buffer::is_valid(shown.buf)? {
            true => size(shown.buf)?,
            false => (0, 0),
        };
        if size.0 == 0 || size.1 == 0 || size == shown.size {
            continue;
        }
        change(key, |shown| shown.size = size);
        let (columns, rows) = size;
        send(Event::Terminal(TerminalEvent::Resized {
            terminal: key,
            columns,
            rows,
        }));
        // The bar is fitted to the width.
        set_bars(key)?;
    }
    Ok(())
}

/// Returns the columns and rows of a terminal: those of its largest window, as in Neovim.
fn size(buf: i32) -> mlua::Result<(u16, u16)> {
    let mut size = (0, 0);
    for win in nvim::windows_of(buf)? {
        let found: Vec<Table> = nvim::vim_fn("getwininfo", win)?;
        let Some(info) = found.first() else {
            continue;
        };
        let columns: u16 = info
            .get::<u16>("width")?
            .saturating_sub(info.get("textoff")?);
        size = (columns.max(size.0), info.get::<u16>("height")?.max(size.1));
    }
    Ok(size)
}
