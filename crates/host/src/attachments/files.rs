//! The files of a project that a prompt can mention.
//!
//! Invariant: the list is bounded in size and time; in a larger project it holds the files nearest
//! to the root.

use std::path::Path;
use std::time::{Duration, Instant};

use ignore::{DirEntry, WalkBuilder};

/// Maximum number of files listed: filtering them must fit between two keystrokes.
const MAX_FILES: usize = 30_000;

/// Maximum duration of the listing.
const PATIENCE: Duration = Duration::from_secs(3);

/// Returns the files below a folder that `.gitignore` does not exclude, the nearest first.
pub(super) fn list(folder: &Path) -> Vec<Box<str>> {
    walk(folder, MAX_FILES)
}

/// Walks everything; if that finds too many files, walks again with a smaller depth.
fn walk(folder: &Path, max: usize) -> Vec<Box<str>> {
    let until = Instant::now() + PATIENCE;
    let mut depth = None;
    loop {
        let mut found = Vec::new();
        let is_whole = take(folder, depth, max, until, &mut found);
        if is_whole || depth == Some(1) || Instant::now() > until {
            found.sort_by_cached_key(|path| (path.matches('/').count(), path.to_string()));
            found.truncate(max);
            return found;
        }
        depth = Some(depth.map_or(4, |depth: usize| depth - 1));
    }
}

/// Adds files up to a depth; returns `false` if there are more than `max` or time is up.
fn take(
    folder: &Path,
    depth: Option<usize>,
    max: usize,
    until: Instant,
    found: &mut Vec<Box<str>>,
) -> bool {
    let is_seen = |entry: &DirEntry| !matches!(entry.file_name().to_str(), Some(".git" | ".jj"));
    let entries = WalkBuilder::new(folder)
        .hidden(false)
        .require_git(false)
        .max_depth(depth)
        .filter_entry(is_seen)
        .build();
    for entry in entries.flatten() {
        if found.len() >= max || Instant::now() > until {
            return false;
        }
        let is_file = entry.file_type().is_some_and(|kind| !kind.is_dir());
        let path = entry.path().strip_prefix(folder).ok();
        let path = path.and_then(Path::to_str).filter(|_| is_file);
        // A completion menu cannot show a path with a line break.
        if let Some(path) = path.filter(|path| !path.contains('\n')) {
            found.push(path.into());
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[track_caller]
    fn check(max: usize, want: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        for path in [
            ".git/config",
            ".gitignore",
            ".github/ci.yml",
            "a.rs",
            "src/deep/er/b.rs",
            "src/b.rs",
            "target/out",
            "src/with\nlines",
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "/target\n").unwrap();
        }
        let found = walk(folder.path(), max);
        let found: Vec<&str> = found.iter().map(|path| &**path).collect();
        assert_eq!(found, want);
    }

    #[test]
    fn ignored_files_are_not_listed() {
        let all = [
            ".gitignore",
            "a.rs",
            ".github/ci.yml",
            "src/b.rs",
            "src/deep/er/b.rs",
        ];
        check(10, &all);
    }

    #[test]
    fn if_there_are_too_many_files_the_nearest_are_listed() {
        check(4, &[".gitignore", "a.rs", ".github/ci.yml", "src/b.rs"]);
        check(2, &[".gitignore", "a.rs"]);
    }
}
