//! Whether a file has a swap file: then Neovim asks what to do when it is opened, and only the
//! user can know.

use std::path::Path;

use nvim_oxi::mlua::{self, Table};

use crate::editor::nvim;

/// Returns whether another Neovim, living or dead, has left a swap file of this file.
///
/// # Errors
/// What Neovim says of it.
pub fn is_there(real: &Path) -> mlua::Result<bool> {
    let directories: String = nvim::vim()?.get::<Table>("o")?.get("directory")?;
    let names = acp_edge::paths::swap_files(&directories, real);
    Ok(names.iter().any(|name| name.symlink_metadata().is_ok()))
}
