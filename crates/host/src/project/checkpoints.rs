//! Checkpoints on disk: manifests, one file each, a folder for each project.
//!
//! Invariant: a checkpoint is there as a whole or not at all, and several Neovims may take theirs
//! of one project at once.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

use super::manifest::{Entries, decode, encode};
use super::reading::now;
use super::store::{Store, Sync, write_private};

const SUFFIX: &str = ".manifest";

/// Returns the last checkpoint of a root (links resolved) that is whole, and where it is.
pub(super) fn last(store: &Store, real: &Path) -> Option<(PathBuf, Entries)> {
    let mut all = all(&folder(store, real));
    while let Some(path) = all.pop() {
        let bytes = fs::read(&path).ok();
        if let Some(entries) = bytes.as_deref().and_then(decode) {
            // So that nobody prunes it just now.
            freshen(&path);
            return Some((path, entries));
        }
    }
    None
}

/// Keeps a checkpoint; returns where.
///
/// # Errors
/// A sentence.
pub(super) fn keep(store: &Store, real: &Path, entries: &Entries) -> Result<PathBuf, String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("{:020}-{}-{count}{SUFFIX}", now(), std::process::id());
    let path = folder(store, real).join(name);
    match write_private(&path, &encode(entries), Sync::Later) {
        Ok(()) => Ok(path),
        Err(error) => Err(words(real, &path, &error)),
    }
}

/// Makes a checkpoint as young as a new one; returns whether it is there.
pub(super) fn freshen(path: &Path) -> bool {
    let file = fs::File::open(path);
    file.is_ok_and(|file| file.set_modified(SystemTime::now()).is_ok())
}

/// Returns the checkpoints in a project's folder, the oldest first.
pub(super) fn all(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let is_one = |path: &PathBuf| path.as_os_str().as_bytes().ends_with(SUFFIX.as_bytes());
    let mut all: Vec<PathBuf> = paths.filter(is_one).collect();
    all.sort();
    all
}

/// Returns the folder that holds the folders of projects.
pub(super) fn projects(store: &Store) -> PathBuf {
    store.folder().join("projects")
}

/// Returns the folder of a project, given its root with links resolved.
pub(super) fn folder(store: &Store, real: &Path) -> PathBuf {
    let hash = blake3::hash(real.as_os_str().as_bytes()).to_hex();
    // The name helps whoever looks for a reason for so many bytes.
    let name = real.file_name().unwrap_or_default().as_bytes();
    let is_plain = |b: &u8| b.is_ascii_alphanumeric() || b"-_.".contains(b);
    let plain: String = name
        .iter()
        .filter(|b| is_plain(b))
        .take(40)
        .map(|&b| char::from(b))
        .collect();
    let (short, _) = hash.split_at(24);
    projects(store).join(format!("{short}-{plain}"))
}

fn words(real: &Path, path: &Path, error: &io::Error) -> String {
    format!(
        "The checkpoint of {} was not kept: {} could not be written: {error}; make room, or check \
         the permissions there.",
        real.display(),
        path.display()
    )
}
