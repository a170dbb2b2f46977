//! Checks the paths agents may use, and converts their line ranges to rows.
//!
//! Invariant: a path that has passed [`Workspace::file_of`] is absolute, has no `.` or `..` in it and
//! lies in one of the session's folders. The target of its links is checked when the disk has been
//! read.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::spine::ids::SessionKey;
use crate::text::paths::normalized;
use crate::text::plural;
use crate::workspace::Workspace;
use acp::{RpcError, rpc};

impl Workspace {
    /// Finds the file an agent names in a session, or returns the reason for refusing it.
    pub(super) fn file_of(&self, key: SessionKey, path: &Path) -> Result<PathBuf, RpcError> {
        if !path.is_absolute() {
            let why = format!(
                "params.path: \"{}\" is not an absolute path",
                path.display()
            );
            return Err(RpcError::new(rpc::INVALID_PARAMS, why));
        }
        let path = normalized(path);
        self.check_root(key, &path)?;
        Ok(path)
    }

    /// Refuses a path outside the session's folders.
    pub(crate) fn check_root(&self, key: SessionKey, path: &Path) -> Result<(), RpcError> {
        if is_within(&self.roots_of_session(key), path) {
            return Ok(());
        }
        let why = format!(
            "params.path: {} is outside the session's folders; the user can allow it with the \
             config key permissions.allowed_dirs",
            path.display()
        );
        Err(RpcError::new(rpc::INVALID_PARAMS, why))
    }

    /// Returns the folders that a session's agent may use.
    pub(crate) fn roots_of_session(&self, key: SessionKey) -> Vec<PathBuf> {
        let session = self.sessions.get(&key);
        session.map_or_else(Vec::new, |session| session.folders.roots.clone())
    }

    /// Returns the folders of all sessions and projects, also of closed ones.
    pub(crate) fn all_roots(&self) -> Vec<PathBuf> {
        self.roots.iter().cloned().collect()
    }
}

/// Returns whether a path lies in one of these folders, or is one of them.
fn is_within(roots: &[PathBuf], path: &Path) -> bool {
    roots.iter().any(|root| path.starts_with(root))
}

/// Turns the wire's 1-based `line` and `limit` into rows of a file with `total` lines.
///
/// Some agents send line 0 for the first line.
///
/// # Errors The start is past the end; an empty file has a first line.
pub(super) fn rows(
    total: usize,
    path: &Path,
    line: Option<u32>,
    limit: Option<u32>,
) -> Result<Range<usize>, RpcError> {
    let start = line.map_or(0, |line| line.saturating_sub(1) as usize);
    if start > 0 && start >= total {
        let why = format!(
            "params.line: {} is past the end of {}, which has {}",
            start + 1,
            path.display(),
            plural(total, "line")
        );
        return Err(RpcError::new(rpc::INVALID_PARAMS, why));
    }
    let end = match limit {
        Some(limit) => start.saturating_add(limit as usize).min(total),
        None => total,
    };
    Ok(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_rows(total: usize, line: Option<u32>, limit: Option<u32>, want: Option<Range<usize>>) {
        let got = rows(total, Path::new("/a"), line, limit);
        assert_eq!(got.ok(), want, "{total} lines, {line:?}, {limit:?}");
    }

    #[test]
    fn rows_count_from_zero_and_lines_from_one() {
        check_rows(3, None, None, Some(0..3));
        check_rows(3, Some(1), None, Some(0..3));
        check_rows(3, Some(0), None, Some(0..3));
        check_rows(3, Some(3), None, Some(2..3));
        check_rows(3, None, Some(2), Some(0..2));
        check_rows(3, None, Some(0), Some(0..0));
        check_rows(3, Some(2), Some(1), Some(1..2));
        check_rows(3, Some(2), Some(u32::MAX), Some(1..3));
    }

    #[test]
    fn a_start_past_the_end_is_an_error() {
        check_rows(3, Some(4), None, None);
        check_rows(3, Some(u32::MAX), Some(u32::MAX), None);
        check_rows(0, Some(2), None, None);
    }

    #[test]
    fn an_empty_file_has_a_first_line() {
        check_rows(0, None, None, Some(0..0));
        check_rows(0, Some(1), Some(5), Some(0..0));
    }

    #[test]
    fn rows_past_the_end_name_the_file_and_its_length() {
        for (total, length) in [(1, "1 line"), (3, "3 lines")] {
            let error =
                rows(total, Path::new("/a/b.txt"), Some(9), None).expect_err("past the end");
            let text = format!("params.line: 9 is past the end of /a/b.txt, which has {length}");
            assert_eq!((error.code, &*error.message), (rpc::INVALID_PARAMS, &*text));
        }
    }

    #[track_caller]
    fn check_within(roots: &[&str], path: &str, want: bool) {
        let roots: Vec<PathBuf> = roots.iter().map(PathBuf::from).collect();
        let path = normalized(Path::new(path));
        assert_eq!(is_within(&roots, &path), want, "{roots:?} {path:?}");
    }

    #[test]
    fn a_folder_holds_what_is_below_it() {
        check_within(&["/a/b"], "/a/b/c", true);
        check_within(&["/a/b/"], "/a/b/c/d", true);
        check_within(&["/x", "/a"], "/a/b", true);
        check_within(&["/a/b"], "/a/b", true);
        check_within(&["/a/b"], "/a/bc", false);
        check_within(&["/a/b"], "/a/b/../c", false);
        check_within(&["/a/b"], "/a", false);
        check_within(&[], "/a", false);
    }
}
