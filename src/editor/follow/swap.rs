//! Checks for a swap file, because opening such a file would make Neovim ask a question that only
//! the user can answer.

use std::path::Path;

use nvim_oxi::mlua::{self, Table};

use crate::editor::nvim;

/// Returns whether another Neovim, running or not, has left a swap file of this file.
pub fn is_there(real: &Path) -> mlua::Result<bool> {
    let directories: String = nvim::vim()?.get::<Table>("o")?.get("directory")?;
    let names = acp_edge::paths::swap_files(&directories, real);
    Ok(names.iter().any(|name| name.symlink_metadata().is_ok()))
}
