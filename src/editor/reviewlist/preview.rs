//! The preview beside the review list.
//!
//! Invariant: it gets the focus only when the user goes there.

use nvim_oxi::mlua;

use super::{bar, moved, scratch, strip, valid, window as list_window, with};
use crate::editor::kit::{buffer, window};
use crate::editor::nvim;
use acp_core::spine::view::PreviewView;

/// Shows the preview of the item under the cursor.
pub fn preview(view: &PreviewView) -> mlua::Result<()> {
    let Some(buf) = valid(with(|list| list.preview))? else {
        return Ok(());
    };
    buffer::write(buf, &[], &view.lines)?;
    for win in nvim::windows_of(buf)? {
        let title = bar(&[(view.title.clone(), "AcpPath")]);
        nvim::set_win_option(win, "winbar", title)?;
        // The change is at the top.
        window::set_row(win, 0)?;
    }
    Ok(())
}

/// Opens the preview beside the list, above it on a narrow screen.
pub(super) fn show_preview() -> mlua::Result<()> {
    let (is_off, known) = with(|list| (list.preview_is_off, list.preview));
    let (Some(list), false) = (list_window()?, is_off) else {
        return Ok(());
    };
    if valid(known)?.is_some() {
        return Ok(());
    }
    let buf = scratch("acp://review/preview", "")?;
    with(|list| list.preview = Some(buf));
    let (width, height) = (window::width(list)?, window::height(list)?);
    let (side, size) = match width >= 90 {
        true => ("right", ("width", width * 3 / 5)),
        false => ("above", ("height", height / 2)),
    };
    let win = window::split(buf, false, (side, list), Some(size))?;
    strip(win)?;
    // The core sends the preview again.
    with(|list| list.at = None);
    moved()
}

pub(super) fn hide_preview() -> mlua::Result<()> {
    let preview = with(|list| list.preview.take());
    preview.map_or(Ok(()), buffer::delete)
}
