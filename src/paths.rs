//! What the file system says of a path: where its links lead, and what is there.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

use crate::core::event::Stamp;

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

/// Returns the stamp of the file at `path`, links followed; `None` when there is none.
pub fn stamp(path: &Path) -> Option<Stamp> {
    path.metadata().ok().as_ref().map(stamp_of)
}

/// Returns whether a file is one that we may not write to, or that nobody may: root could.
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
