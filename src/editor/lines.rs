//! Replacing lines of a buffer so that marks and folds stay.
//!
//! Neovim drops the marks and folds of lines that `nvim_buf_set_lines` replaces; those of a line
//! that `nvim_buf_set_text` changes in place stay where they are.

use nvim_oxi::mlua;

use super::nvim::{self, api};

/// More lines than this are replaced at once: one call for each would take too long.
const MAX_IN_PLACE: usize = 300;

/// Replaces `removed` lines from row `start` by others: line by line where both have one, the
/// rest inserted or deleted behind them.
///
/// # Errors
/// What Neovim says of it.
pub fn replace(buf: i32, start: usize, removed: usize, lines: &[String]) -> mlua::Result<()> {
    let common = match removed.min(lines.len()) {
        common if common > MAX_IN_PLACE => 0,
        common => common,
    };
    if common < removed || common < lines.len() {
        let (from, to) = (start + common, start + removed);
        let rest = lines.get(common..).unwrap_or_default();
        api::<()>("nvim_buf_set_lines", (buf, from, to, false, rest))?;
    }
    if common == 0 {
        return Ok(());
    }
    let old: Vec<mlua::String> = api("nvim_buf_get_lines", (buf, start, start + common, false))?;
    for (index, (old, new)) in old.iter().zip(lines).enumerate() {
        replace_line(buf, start + index, &old.as_bytes(), new)?;
    }
    Ok(())
}

/// Replaces of one line just the bytes that differ.
fn replace_line(buf: i32, row: usize, old: &[u8], new: &str) -> mlua::Result<()> {
    let new_bytes = new.as_bytes();
    if old == new_bytes {
        return Ok(());
    }
    let same = |(a, b): &(&u8, &u8)| a == b;
    let mut head = old.iter().zip(new_bytes).take_while(same).count();
    while !new.is_char_boundary(head) {
        head -= 1;
    }
    let rest = old.len().min(new_bytes.len()) - head;
    let tails = old.iter().rev().zip(new_bytes.iter().rev());
    let mut tail = tails.take(rest).take_while(same).count();
    while !new.is_char_boundary(new_bytes.len() - tail) {
        tail -= 1;
    }
    let text = new_bytes
        .get(head..new_bytes.len() - tail)
        .unwrap_or_default();
    let text = nvim::lua().create_string(text)?;
    api(
        "nvim_buf_set_text",
        (buf, row, head, row, old.len() - tail, vec![text]),
    )
}
