//! Path lookups: link targets, stamps, swap files.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

use acp_core::spine::event::Stamp;

/// The number of links to missing files that are followed, one after the other, as on Linux.
const LINKS: usize = 40;

/// Resolves symbolic links; for a missing file, those that lead there.
pub fn resolved(path: &Path) -> PathBuf {
    followed(path, LINKS)
}

fn followed(path: &Path, links: usize) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return path.to_owned();
    };
    let folder = followed(parent, links);
    let here = folder.join(name);
    match (here.read_link(), links.checked_sub(1)) {
        (Ok(to), Some(left)) => followed(&folder.join(to), left),
        // Missing, or one of the links of a loop.
        _ => here,
    }
}

/// Returns whether an error means that the file does not exist.
pub fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Returns whether an error says nothing about a file or program: the system has too few descriptors
/// or processes, or too little memory now.
pub fn is_exhausted(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let errno = Errno::from_io_error(error);
    matches!(
        errno,
        Some(Errno::MFILE | Errno::NFILE | Errno::AGAIN | Errno::NOMEM)
    )
}

/// Returns the stamp of the file at `path`, following links; `None` if it does not exist.
pub fn stamp(path: &Path) -> Option<Stamp> {
    path.metadata().ok().as_ref().map(stamp_of)
}

/// Returns whether this process may not write a file, or its mode has no write permission (which
/// root would ignore).
pub fn is_read_only(path: &Path) -> bool {
    let nobody = |meta: Metadata| meta.mode() & 0o222 == 0;
    path.metadata().is_ok_and(nobody) || rustix::fs::access(path, Access::WRITE_OK).is_err()
}

/// Returns the stamp of a file.
pub fn stamp_of(meta: &Metadata) -> Stamp {
    Stamp {
        inode: meta.ino(),
        bytes: meta.len(),
        modified: (meta.mtime(), meta.mtime_nsec()),
    }
}

/// The extensions that Neovim tries for the swap files of one file.
const ENDINGS: [&str; 4] = ["swp", "swo", "swn", "swm"];

/// Returns the possible names of a file's swap file; see |'directory'|.
pub fn swap_files(directories: &str, real: &Path) -> Vec<PathBuf> {
    let mut names = Vec::new();
    let (Some(folder), Some(name)) = (real.parent(), real.file_name()) else {
        return names;
    };
    let name = name.to_string_lossy();
    for directory in directories.split(',') {
        let directory = directory.trim_start();
        let place = match directory.strip_prefix('.') {
            // Relative to the file's folder.
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

/// Shortens the paths of files below a folder to relative ones, so that the important end of a line
/// stays visible.
pub fn seen_from(folder: &str, text: &str) -> String {
    let folder = format!("{}/", folder.trim_end_matches('/'));
    let mut seen = String::new();
    for (at, part) in text.split(&folder).enumerate() {
        let begins = seen
            .chars()
            .next_back()
            .is_none_or(|c| c.is_whitespace() || c == '(');
        if at > 0 && !(begins && folder.len() > 1) {
            seen.push_str(&folder);
        }
        seen.push_str(part);
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swap_files_follow_the_directory_option() {
        let check = |directories: &str, first: &[&str]| {
            let names = swap_files(directories, Path::new("/p/src/a.rs"));
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

    #[test]
    fn links_are_followed_to_files_that_are_missing() {
        let made = tempfile::tempdir().expect("a folder can be made");
        let folder = made.path().canonicalize().expect("it is there");
        std::fs::create_dir(folder.join("d")).expect("it is new");
        let link = |name: &str, to: &str| {
            std::os::unix::fs::symlink(to, folder.join(name)).expect("the link is new");
        };
        link("one", "two");
        link("two", "d/../missing");
        link("dir", "d");
        link("far", "dir/none/file");
        link("loop", "pool");
        link("pool", "loop");
        let check = |name: &str, end: &str| {
            assert_eq!(resolved(&folder.join(name)), folder.join(end), "{name}");
        };
        check("one", "missing");
        check("dir/new", "d/new");
        check("far", "d/none/file");
        check("none/file", "none/file");
        let end = resolved(&folder.join("loop"));
        assert!(end.is_symlink(), "{}", end.display());
    }

    #[test]
    fn paths_below_the_folder_are_relative() {
        let check =
            |folder: &str, text: &str, seen: &str| assert_eq!(seen_from(folder, text), seen);
        check("/p", "/p/src/a: it is gone", "src/a: it is gone");
        check("/p", "Not saved: why. (/p/a)", "Not saved: why. (a)");
        check("/p", "/p/a and /p/b", "a and b");
        check("/p", "/x/p/a, /pp/a and /p", "/x/p/a, /pp/a and /p");
        check("/", "/a and /b", "/a and /b");
    }
}
