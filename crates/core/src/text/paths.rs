//! Pure path functions, without access to the file system.

use std::path::{Component, Path, PathBuf};

/// Resolves `.` and `..` lexically.
pub(crate) fn normalized(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_normalized(path: &str, want: &str) {
        assert_eq!(normalized(Path::new(path)), Path::new(want), "{path}");
    }

    #[test]
    fn dots_are_resolved_by_the_names() {
        check_normalized("/a/b", "/a/b");
        check_normalized("/a/./b/", "/a/b");
        check_normalized("/a//b", "/a/b");
        check_normalized("/a/x/../b", "/a/b");
        check_normalized("/a/../../../b", "/b");
        check_normalized("/..", "/");
    }
}
