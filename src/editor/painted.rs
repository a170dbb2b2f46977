//! Buffers of ours whose lines and highlights the core gives whole.
//!
//! Invariant: a line that stays the same is not touched.

use nvim_oxi::mlua;

use super::nvim::{self, api};
use acp_core::render::view::Line;

/// Replaces the lines of a buffer that are others now.
///
/// # Errors
/// What Neovim says of it.
pub fn write(buf: i32, old: &[Line], new: &[Line]) -> mlua::Result<()> {
    let top = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let most = old.len().min(new.len()) - top;
    let ends = old.iter().rev().zip(new.iter().rev());
    let bottom = ends.take(most).take_while(|(a, b)| a == b).count();
    let is_first = old.is_empty();
    let end = if is_first {
        -1
    } else {
        i64::try_from(old.len() - bottom).unwrap_or(-1)
    };
    let lines = new.get(top..new.len() - bottom).unwrap_or_default();
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    nvim::set_buf_option(buf, "modifiable", true)?;
    api::<()>("nvim_buf_set_lines", (buf, top, end, false, texts))?;
    nvim::set_buf_option(buf, "modifiable", false)?;
    let namespace = nvim::namespace("acp_painted")?;
    for (row, line) in (top..).zip(lines) {
        api::<()>("nvim_buf_clear_namespace", (buf, namespace, row, row + 1))?;
        for span in &line.spans {
            let is_line = span.start == 0 && span.end as usize == line.text.len();
            let opts = nvim::table([
                ("end_row", nvim::value(row)),
                ("end_col", nvim::value(span.end)),
                ("hl_group", nvim::value(span.group)),
                ("hl_eol", nvim::value(is_line)),
            ])?;
            let at = (buf, namespace, row, span.start, opts);
            api::<i32>("nvim_buf_set_extmark", at)?;
        }
    }
    Ok(())
}
