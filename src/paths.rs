//! Paths with their symbolic links resolved, by asking the file system.

use std::path::{Path, PathBuf};

/// Resolves symbolic links, of the nearest folder that exists for a file that does not.
pub fn resolved(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if parent != path => resolved(parent).join(name),
        _ => path.to_owned(),
    }
}
