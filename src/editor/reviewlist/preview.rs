//! The preview beside the review list.
//!
//! Invariant: it never gets the focus by itself.

use nvim_oxi::mlua::{self, Value};

use super::{bar, dress, moved, scratch, valid, window, with};
use crate::editor::nvim::{self, api};
use crate::editor::painted;
use acp_core::render::view::PreviewView;

/// Shows the preview of the item under the cursor.
///
/// # Errors
/// What Neovim says of it.
pub fn preview(view: &PreviewView) -> mlua::Result<()> {
    let Some(buf) = valid(with(|list| list.preview))? else {
        return Ok(());
    };
    painted::write(buf, &[], &view.lines)?;
    for win in nvim::windows_of(buf)? {
        let title = bar(&[(view.title.clone(), "AcpPath")]);
        nvim::set_win_option(win, "winbar", title)?;
        // What has changed stands at the top.
        api::<()>("nvim_win_set_cursor", (win, vec![1, 0]))?;
    }
    Ok(())
}

/// Opens the preview beside the list, above it on a narrow screen.
pub(super) fn show_preview() -> mlua::Result<()> {
    let (is_off, known) = with(|list| (list.preview_is_off, list.preview));
    let (Some(list), false) = (window()?, is_off) else {
        return Ok(());
    };
    if valid(known)?.is_some() {
        return Ok(());
    }
    let buf = scratch("acp://review/preview", "")?;
    with(|list| list.preview = Some(buf));
    let width: i64 = api("nvim_win_get_width", list)?;
    let height: i64 = api("nvim_win_get_height", list)?;
    let (split, size, to) = match width >= 90 {
        true => ("right", "width", width * 3 / 5),
        false => ("above", "height", height / 2),
    };
    let config = nvim::table([
        ("win", nvim::value(list)),
        ("split", nvim::value(split)),
        (size, nvim::value(to)),
    ])?;
    let win: i32 = api("nvim_open_win", (buf, false, config))?;
    dress(win)?;
    nvim::set_win_option(win, "cursorline", false)?;
    nvim::set_win_option(win, "winfixheight", true)?;
    // The core sends it again.
    with(|list| list.at = None);
    moved()
}

pub(super) fn hide_preview() -> mlua::Result<()> {
    let preview = with(|list| list.preview.take());
    if let Some(buf) = valid(preview)? {
        let opts = nvim::table([("force", Value::Boolean(true))])?;
        api::<()>("nvim_buf_delete", (buf, opts))?;
    }
    Ok(())
}
