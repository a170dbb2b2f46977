//! Checkpoints on disk: one manifest file each, in one folder per project.
//!
//! Invariant: a checkpoint file is complete or absent; several Neovims may write checkpoints of one
//! project at the same time.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::manifest::{Entries, decode, encode};
use super::reading::now;
use super::store::{Store, Sync, write_private};

const SUFFIX: &str = ".manifest";

/// Returns the latest complete checkpoint of a root (with links resolved) and its path.
pub(super) fn last(store: &Store, real: &Path) -> Option<(PathBuf, Entries)> {
    let mut all = all(&folder(store, real)).unwrap_or_default();
    while let Some(path) = all.pop() {
        let bytes = fs::read(&path).ok();
        if let Some(entries) = bytes.as_deref().and_then(decode) {
            // Protects it from being pruned now.
            freshen(&path);
            return Some((path, entries));
        }
    }
    None
}

/// Writes a checkpoint and returns its path.
///
/// # Errors
/// The reason.
pub(super) fn keep(store: &Store, real: &Path, entries: &Entries) -> Result<PathBuf, String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("{:020}-{}-{count}{SUFFIX}", now(), std::process::id());
    let path = folder(store, real).join(name);
    match write_private(&path, &encode(entries), Sync::Later) {
        Ok(()) => Ok(path),
        Err(error) => Err(format!("{} could not be written: {error}", path.display())),
    }
}

/// Returns when a checkpoint was written, by its name.
pub(super) fn written(path: &Path) -> Option<SystemTime> {
    let (nanos, _) = path.file_name()?.to_str()?.split_once('-')?;
    UNIX_EPOCH.checked_add(Duration::from_nanos(nanos.parse().ok()?))
}

/// Resets a checkpoint's age; returns whether it exists.
pub(super) fn freshen(path: &Path) -> bool {
    let file = fs::File::open(path);
    file.is_ok_and(|file| file.set_modified(SystemTime::now()).is_ok())
}

/// Returns a project's checkpoints, oldest first.
///
/// # Errors
/// The folder cannot be listed.
pub(super) fn all(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.as_os_str().as_bytes().ends_with(SUFFIX.as_bytes()) {
            all.push(path);
        }
    }
    all.sort();
    Ok(all)
}

/// Returns the folder that contains the projects' folders.
pub(super) fn projects(store: &Store) -> PathBuf {
    store.folder().join("projects")
}

/// Returns the folder of a project, given its root with links resolved.
pub(super) fn folder(store: &Store, real: &Path) -> PathBuf {
    let hash = blake3::hash(real.as_os_str().as_bytes()).to_hex();
    // The name tells a user which project takes up the space.
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
