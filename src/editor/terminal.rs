//! Buffers that show what terminals print.

use nvim_oxi::mlua;

use crate::core::ids::TerminalKey;

/// Shows a terminal in a window of its own, and goes there.
///
/// # Errors
/// What Neovim says of it.
pub fn open(_terminal: TerminalKey) -> mlua::Result<()> {
    Ok(())
}

/// Shows more of a terminal's output.
///
/// # Errors
/// What Neovim says of it.
pub fn output(_terminal: TerminalKey, _is_anew: bool, _bytes: &[u8]) -> mlua::Result<()> {
    Ok(())
}
