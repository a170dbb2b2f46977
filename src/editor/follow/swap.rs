//! Whether a file has a swap file: then Neovim asks what to do when it is opened, and only the
//! user can know.

use std::path::{Path, PathBuf};

use nvim_oxi::mlua::{self, Table};

use crate::editor::nvim;

/// The endings that Neovim gives swap files of one file, one after the other.
const ENDINGS: [&str; 4] = ["swp", "swo", "swn", "swm"];

/// Returns whether another Neovim, living or dead, has left a swap file of this file.
///
/// # Errors
/// What Neovim says of it.
pub fn is_there(real: &Path) -> mlua::Result<bool> {
    let directories: String = nvim::vim()?.get::<Table>("o")?.get("directory")?;
    let names = names(&directories, real);
    Ok(names.iter().any(|name| name.symlink_metadata().is_ok()))
}

/// Returns the names that a swap file of this file may have: see |'directory'|.
fn names(directories: &str, real: &Path) -> Vec<PathBuf> {
    let mut names = Vec::new();
    let (Some(folder), Some(name)) = (real.parent(), real.file_name()) else {
        return names;
    };
    let name = name.to_string_lossy();
    for directory in directories.split(',') {
        let directory = directory.trim_start();
        let place = match directory.strip_prefix('.') {
            // Relative to the file.
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                folder.join(rest.trim_start_matches('/'))
            }
            _ => PathBuf::from(directory),
        };
        let stem = if directory.ends_with("//") {
            real.to_string_lossy().replace('/', "%")
        } else if directory == "." {
            format!(".{name}")
        } else {
            name.clone().into_owned()
        };
        let endings = ENDINGS.iter();
        names.extend(endings.map(|ending| place.join(format!("{stem}.{ending}"))));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swap_files_lie_where_the_option_says() {
        let check = |directories: &str, first: &[&str]| {
            let names = names(directories, Path::new("/p/src/a.rs"));
            let names: Vec<_> = names.iter().step_by(ENDINGS.len()).collect();
            let first: Vec<&Path> = first.iter().map(Path::new).collect();
            assert_eq!(names, first, "{directories}");
        };
        check("/s//", &["/s/%p%src%a.rs.swp"]);
        check("/s", &["/s/a.rs.swp"]);
        check(".,/s/", &["/p/src/.a.rs.swp", "/s/a.rs.swp"]);
        check("./swap", &["/p/src/swap/a.rs.swp"]);
        check("", &["a.rs.swp"]);
    }
}
