//! Restores files: content, kind, mode and path.
//!
//! Invariant: an error leaves a file as it was, or says what differs. No data is lost: a folder
//! with files is never removed, and no move overwrites a file.

use std::ffi::CString;
use std::fs::{self, File, Metadata, Permissions};
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::store::Store;
use crate::disk::delete;
use crate::refusal::Refusal;
use crate::write;
use acp_core::spine::effect::{HardLinks, MayReplace};
use acp_core::spine::event::WriteError;
use acp_core::spine::project::{Blob, Body, FileState};
use acp_edge::paths::is_missing;

/// The permission bits of a state.
const PERMISSIONS: u32 = 0o7777;

/// Opens a folder to list it.
const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// The maximum depth of folders that are removed.
const MAX_DEPTH: usize = 64;

/// Restores the state of a path: content, kind and mode.
///
/// # Errors
/// There is another file than it may replace, or a sentence with the path and the next step.
pub(crate) fn restore(
    path: &Path,
    state: &FileState,
    over: MayReplace,
    hard_links: HardLinks,
    store: &Store,
) -> Result<(), WriteError> {
    let words = |refusal: Refusal| refusal.words(path, "restored");
    if !is_over(path, over).map_err(words)? {
        return Err(WriteError::Stale);
    }
    let bytes = match &state.body {
        Body::Missing => return Ok(delete(path)?),
        Body::Link(to) => return Ok(link(path, to).map_err(words)?),
        // Possible without a stored content if only the mode has changed.
        Body::Bytes { blob: None, .. } | Body::Unreadable(_) if is_untouched(path, state) => None,
        Body::Bytes { blob: None, .. } => {
            return Err(lost(path, "its content was too large to store").into());
        }
        Body::Unreadable(_) => {
            return Err(lost(path, "its previous content could not be read").into());
        }
        Body::Bytes {
            blob: Some(blob), ..
        } => Some(kept(path, *blob, store)?),
        Body::Text(text) => Some(write::encode(&text.text, text.format).map_err(words)?),
    };
    match content(path, bytes.as_deref(), state.mode, over, hard_links).map_err(words)? {
        true => Ok(()),
        false => Err(WriteError::Stale),
    }
}

/// Returns whether there is no other file than a restore or a deletion may replace. Folders and
/// special files are no such files; each change refuses or replaces them in its own way.
pub(crate) fn is_over(path: &Path, over: MayReplace) -> Result<bool, Refusal> {
    let here = match over {
        MayReplace::Anything => return Ok(true),
        MayReplace::Only(_) => here(path)?.filter(|meta| meta.is_file() || meta.is_symlink()),
    };
    Ok(match here {
        // What was seen through it is elsewhere.
        Some(meta) if meta.is_symlink() => return Err(Refusal::Link),
        Some(meta) => over == MayReplace::Only(Some(acp_edge::paths::stamp_of(&meta))),
        // Nothing is lost where nothing is.
        None => true,
    })
}

/// Moves a file to a free path.
///
/// # Errors
/// A sentence with the path and the next step; nothing has changed in that case.
pub(crate) fn move_to(from: &Path, to: &Path) -> Result<(), String> {
    let moved = fs::symlink_metadata(from)
        .map_err(Refusal::from)
        .and_then(|meta| match meta.is_dir() {
            true => Err(Refusal::Folder),
            false => {
                if fs::symlink_metadata(to).is_ok_and(|meta| meta.is_dir()) {
                    remove_folders(to)?;
                }
                Ok(rename_over_nothing(from, to)?)
            }
        });
    moved.map_err(|refusal| {
        let sentence = refusal.words(from, "moved");
        match &refusal {
            Refusal::FullFolder => refusal.words(to, "restored"),
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

/// Returns the metadata of a path, without following a link.
fn here(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(meta) => Ok(Some(meta)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Creates or changes a regular file with this content (`None` keeps the current one) and mode; returns
/// whether there was no other file than it may replace.
fn content(
    path: &Path,
    bytes: Option<&[u8]>,
    mode: Option<u32>,
    over: MayReplace,
    hard_links: HardLinks,
) -> Result<bool, Refusal> {
    let is_still = || is_over(path, over);
    let here = here(path)?;
    match (bytes, here) {
        (None, _) => {}
        (Some(bytes), Some(meta)) if meta.is_file() => {
            // If the file was writable before, its read-only mode is undone too.
            if mode.is_none_or(|mode| mode & 0o200 == 0) {
                write::check_writable(path, &meta)?;
            }
            // The other names keep their mode, too.
            let is_shared = hard_links == HardLinks::Break && meta.nlink() > 1;
            let same = || fs::read(path).is_ok_and(|there| there == bytes);
            if (is_shared || meta.len() != bytes.len() as u64 || !same())
                && write::replace(path, &meta, bytes, hard_links, &is_still)?.is_none()
            {
                return Ok(false);
            }
        }
        (Some(bytes), here) => {
            make_way(path, here.as_ref())?;
            let mode = mode.unwrap_or(0o666) & 0o777;
            if write::create(path, bytes, mode, &is_still)?.is_none() {
                return Ok(false);
            }
        }
    }
    match mode {
        Some(mode) if fs::symlink_metadata(path)?.mode() & PERMISSIONS != mode & PERMISSIONS => {
            set_mode(path, mode & PERMISSIONS)?;
        }
        _ => {}
    }
    Ok(true)
}

/// Sets the mode of a file that is no link.
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    let mode = Permissions::from_mode(mode);
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file).set_permissions(mode),
        // Its mode keeps its owner from opening it.
        Err(Errno::ACCESS) => set_mode_unopened(path, mode),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(target_os = "linux")]
fn set_mode_unopened(path: &Path, mode: Permissions) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = rustix::fs::open(path, flags, Mode::empty())?;
    fs::set_permissions(format!("/proc/self/fd/{}", file.as_raw_fd()), mode)
}

#[cfg(not(target_os = "linux"))]
fn set_mode_unopened(path: &Path, mode: Permissions) -> io::Result<()> {
    rustix::fs::chmodat(
        CWD,
        path,
        Mode::from_raw_mode(mode.mode() as _),
        rustix::fs::AtFlags::SYMLINK_NOFOLLOW,
    )?;
    Ok(())
}

/// Creates a symbolic link; replaces an existing file in one step.
fn link(path: &Path, to: &Path) -> Result<(), Refusal> {
    let here = here(path)?;
    if here.as_ref().is_some_and(Metadata::is_symlink) && fs::read_link(path)? == to {
        return Ok(());
    }
    make_way(path, here.as_ref())?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let (temp, ()) = write::Temporary::create(folder, write::ENDING, |temp| symlink(to, temp))?;
    temp.replace(path)?;
    Ok(())
}

/// Refuses to replace a device; removes a folder without files.
fn make_way(path: &Path, here: Option<&Metadata>) -> Result<(), Refusal> {
    let Some(meta) = here else {
        return Ok(());
    };
    match meta.file_type() {
        kind if kind.is_dir() => remove_folders(path),
        kind if kind.is_char_device() || kind.is_block_device() => Err(Refusal::Special),
        _ => Ok(()),
    }
}

/// Removes a folder and the folders in it, unless there is a file.
fn remove_folders(path: &Path) -> Result<(), Refusal> {
    let folder = rustix::fs::open(path, FOLDER, Mode::empty()).map_err(io::Error::from)?;
    empty(&folder, MAX_DEPTH, false)?;
    empty(&folder, MAX_DEPTH, true)?;
    fs::remove_dir(path).map_err(|_| Refusal::FullFolder)
}

/// Checks that there are only folders in a folder, or removes them.
fn empty(folder: &OwnedFd, depth: usize, is_removing: bool) -> Result<(), Refusal> {
    let depth = depth.checked_sub(1).ok_or(Refusal::FullFolder)?;
    let names = Dir::read_from(folder).map_err(io::Error::from)?;
    let names = names.map(|entry| Ok(entry?.file_name().to_owned()));
    let names: Vec<CString> = names
        .collect::<Result<_, Errno>>()
        .map_err(io::Error::from)?;
    for name in names {
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let inner = match rustix::fs::openat(folder, &name, FOLDER, Mode::empty()) {
            Err(Errno::NOTDIR | Errno::LOOP) => return Err(Refusal::FullFolder),
            inner => inner.map_err(io::Error::from)?,
        };
        empty(&inner, depth, is_removing)?;
        if is_removing {
            let removed = rustix::fs::unlinkat(folder, &name, AtFlags::REMOVEDIR);
            removed.map_err(|_| Refusal::FullFolder)?;
        }
    }
    Ok(())
}

fn rename_over_nothing(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        // Some file systems do not support this; then another program could create the file between
        // check and move.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            if here(to)?.is_some() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            fs::rename(from, to)
        }
        Err(errno) => Err(errno.into()),
    }
}
