//! The options of a permission in front of the lowest rows of its window, if the window is too low
//! for all of its lines.
//!
//! Invariant: all options are visible, however far the window has scrolled.

use nvim_oxi::mlua;

use super::with;
use crate::editor::kit::float::Rect;
use crate::editor::kit::{buffer, window};
use crate::editor::nvim::{self, api};
use acp_core::spine::view::Line;

/// The float with the options.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Front {
    buf: Option<i32>,
    win: Option<i32>,
    /// The rows of the window that it takes.
    pub rows: i64,
}

/// Shows the lines in the lowest rows of a window.
pub(super) fn show(behind: i32, rect: Rect, lines: &[Line], rows: i64) -> mlua::Result<()> {
    let front = with(|window| window.options);
    let buf = match front.buf {
        Some(buf) if buffer::is_valid(buf)? => buf,
        _ => buffer::read_only("", "acp-options")?,
    };
    let rows = rows.min(rect.height);
    let shown = (rect, lines.to_vec());
    let is_same = with(|window| window.options_shown.as_ref() == Some(&shown));
    if is_same && front.win.map_or(Ok(false), window::is_valid)? {
        return Ok(());
    }
    buffer::write(buf, &[], lines)?;
    let config = nvim::table([
        ("relative", nvim::value("win")),
        ("win", nvim::value(behind)),
        ("row", nvim::value(rect.height - rows)),
        ("col", nvim::value(0)),
        ("width", nvim::value(rect.width)),
        ("height", nvim::value(rows)),
        ("style", nvim::value("minimal")),
        // Otherwise it has that of 'winborder'.
        ("border", nvim::value("none")),
        ("focusable", nvim::value(false)),
        ("zindex", nvim::value(61)),
    ])?;
    let win = match front.win {
        Some(win) if window::is_valid(win)? => {
            api::<()>("nvim_win_set_config", (win, config))?;
            win
        }
        _ => {
            let win: i32 = api("nvim_open_win", (buf, false, config))?;
            window::switch(win, &["wrap", "linebreak"], true)?;
            window::switch(win, &window::UNTIED, false)?;
            win
        }
    };
    let (buf, win) = (Some(buf), Some(win));
    with(|window| {
        window.options = Front { buf, win, rows };
        window.options_shown = Some(shown);
    });
    // The cursor stays above the options.
    nvim::set_win_option(behind, "scrolloff", rows)
}

/// Closes the float.
pub(super) fn hide() -> mlua::Result<()> {
    let front = with(|window| {
        let buf = window.options.buf;
        std::mem::replace(
            &mut window.options,
            Front {
                buf,
                ..Front::default()
            },
        )
    });
    front.win.map_or(Ok(()), window::close)
}
