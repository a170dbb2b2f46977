//! Restores files: content, kind, mode and path.
//!
//! Invariant: an error leaves a file as it was, or says what differs. No data is lost: a folder
//! that is not empty is never removed, and no move overwrites a file.

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use rustix::fs::{CWD, RenameFlags};

use super::store::Store;
use crate::disk::{Refusal, delete};
use crate::write;
use acp_core::spine::project::{Blob, Body, FileState};
use acp_edge::paths::is_missing;

/// The permission bits of a state.
const PERMISSIONS: u32 = 0o7777;

/// Restores the state of a path: content, kind and mode.
///
/// # Errors
/// A sentence with the path and the next step.
pub(crate) fn restore(path: &Path, state: &FileState, store: &Store) -> Result<(), String> {
    let words = |refusal: Refusal| refusal.words(path, "restored");
    let bytes = match &state.body {
        Body::Missing => return delete(path),
        Body::Link(to) => return link(path, to).map_err(words),
        // Possible without a stored content if only the mode has changed.
        Body::Bytes { blob: None, .. } | Body::Unreadable(_) if is_untouched(path, state) => None,
        Body::Bytes { blob: None, .. } => {
            return Err(lost(path, "its content was too large to store"));
        }
        Body::Unreadable(_) => return Err(lost(path, "its previous content could not be read")),
        Body::Bytes {
            blob: Some(blob), ..
        } => Some(kept(path, *blob, store)?),
        Body::Text(text) => Some(write::encode(&text.text, text.format).map_err(words)?),
    };
    content(path, bytes.as_deref(), state.mode).map_err(words)
}

/// Moves a file to a free path, and creates the folders above it.
///
/// # Errors
/// A sentence with the path and the next step; nothing has changed in that case.
pub(crate) fn move_to(from: &Path, to: &Path) -> Result<(), String> {
    let moved = fs::symlink_metadata(from)
        .map_err(Refusal::from)
        .and_then(|meta| match meta.is_dir() {
            true => Err(Refusal::Folder),
            false => Ok(write::with_folders(to, || rename_over_nothing(from, to))?),
        });
    moved.map_err(|refusal| {
        let sentence = refusal.words(from, "moved");
        match &refusal {
            Refusal::Io(error) if error.kind() == io::ErrorKind::AlreadyExists => format!(
                "{} was not moved: {} already exists; move that file away first.",
                from.display(),
                to.display()
            ),
            Refusal::Io(error) if error.kind() == io::ErrorKind::CrossesDevices => format!(
                "{} was not moved: {} is on another file system; move it by hand.",
                from.display(),
                to.display()
            ),
            _ => sentence,
        }
    })
}

/// Returns the stored content of a state.
fn kept(path: &Path, blob: Blob, store: &Store) -> Result<Vec<u8>, String> {
    store.get(blob).map_err(|loss| lost(path, &loss.words()))
}

fn lost(path: &Path, why: &str) -> String {
    format!(
        "{} was not restored: {why}; restore it from version control or a backup.",
        path.display()
    )
}

/// Returns whether the content at a path is still that of `state`, as far as the stats tell.
fn is_untouched(path: &Path, state: &FileState) -> bool {
    fs::symlink_metadata(path)
        .is_ok_and(|meta| meta.is_file() && state.stamp == Some(acp_edge::paths::stamp_of(&meta)))
}

/// Creates or changes a regular file with this content (`None` keeps the current one) and mode.
fn content(path: &Path, bytes: Option<&[u8]>, mode: Option<u32>) -> Result<(), Refusal> {
    let here = match fs::symlink_metadata(path) {
        Ok(meta) => Some(meta),
        Err(error) if is_missing(&error) => None,
        Err(error) => return Err(error.into()),
    };
    match (bytes, here) {
        (None, _) => {}
        (Some(bytes), Some(meta)) if meta.is_file() => {
            // If the file was writable before, its read-only mode is undone too.
            if mode.is_none_or(|mode| mode & 0o200 == 0) {
                write::check_writable(path, &meta)?;
            }
            let same = || fs::read(path).is_ok_and(|there| there == bytes);
            if meta.len() != bytes.len() as u64 || !same() {
                write::replace(path, &meta, bytes)?;
            }
        }
        (Some(bytes), here) => {
            make_way(path, here.as_ref())?;
            write::create(path, bytes, mode.unwrap_or(0o666) & 0o777)?;
        }
    }
    match mode {
        Some(mode) if fs::symlink_metadata(path)?.mode() & PERMISSIONS != mode & PERMISSIONS => Ok(
            fs::set_permissions(path, Permissions::from_mode(mode & PERMISSIONS))?,
        ),
        _ => Ok(()),
    }
}

/// Creates a symbolic link; replaces an existing file in one step.
fn link(path: &Path, to: &Path) -> Result<(), Refusal> {
    let here = fs::symlink_metadata(path).ok();
    if here.as_ref().is_some_and(Metadata::is_symlink) && fs::read_link(path)? == to {
        return Ok(());
    }
    make_way(path, here.as_ref())?;
    let made = write::with_folders(path, || {
        let folder = path.parent().unwrap_or(Path::new("."));
        let temp = tempfile::Builder::new()
            .prefix(write::TEMP_PREFIX)
            .suffix(".tmp")
            .make_in(folder, |temp| symlink(to, temp))?;
        temp.persist(path).map_err(|error| error.error)?;
        Ok(())
    });
    Ok(made?)
}

/// Refuses to replace anything but files and links; removes an empty folder.
fn make_way(path: &Path, here: Option<&Metadata>) -> Result<(), Refusal> {
    let Some(meta) = here else {
        return Ok(());
    };
    match meta.file_type() {
        kind if kind.is_dir() => fs::remove_dir(path).map_err(|_| Refusal::Folder),
        kind if kind.is_file() || kind.is_symlink() => Ok(()),
        _ => Err(Refusal::Special),
    }
}

fn rename_over_nothing(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        // Some file systems do not support this; then another program could create the file between
        // check and move.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::NOTSUP) => {
            if fs::symlink_metadata(to).is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            fs::rename(from, to)
        }
        Err(errno) => Err(errno.into()),
    }
}
