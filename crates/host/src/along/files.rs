//! The files of a project that a prompt can name.
//!
//! Invariant: the list is bounded, and so is the time it takes; of a project with more, the files
//! nearest to its folder are there.

use std::path::Path;
use std::time::{Duration, Instant};

use ignore::{DirEntry, WalkBuilder};

/// How many files are listed at most; looking through them all must cost no more than a keystroke
/// may.
const MAX_FILES: usize = 30_000;

/// How long that may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// Returns the files below a folder that `.gitignore` lets through, the nearest first.
pub(super) fn list(folder: &Path) -> Vec<Box<str>> {
    walk(folder, MAX_FILES)
}

/// Goes one level deeper at a time only where there are too many files for one walk.
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

/// Adds files up to a depth; `false` when there are more than `max`, or no time is left.
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
        // What has more than one line cannot be written into a menu.
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
    fn what_git_ignores_is_not_listed() {
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
    fn of_too_many_files_the_nearest_are_listed() {
        check(4, &[".gitignore", "a.rs", ".github/ci.yml", "src/b.rs"]);
        check(2, &[".gitignore", "a.rs"]);
    }
}
