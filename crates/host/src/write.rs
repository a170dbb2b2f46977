//! Replaces a file's content such that no reader ever sees half of it.
//!
//! The new content is written to a temporary file in the same folder, synced, and renamed over the
//! old file. Symbolic links are followed: the target is replaced, the links stay. Mode, owner and
//! extended attributes (access lists among them) are kept as far as the system allows.
//!
//! A file with several names (hard links), or one that cannot be renamed over (a mount point), is
//! overwritten in place, like `'backupcopy'` `auto`, so that all its names keep the same content.
//! The old content stays beside it on disk until the new one is written.
//!
//! Invariant: an error leaves the file as it was, and no temporary file behind.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, Gid, Mode, Uid, XattrFlags};
use tempfile::{NamedTempFile, TempPath};

use super::disk::Refusal;
use acp_core::spine::event::{Stamp, WriteError};
use acp_core::text::Text;
use acp_core::text::format::{Encoding, Format};
use acp_edge::paths::is_missing;

/// Prefix of the temporary files; file watchers may ignore names that start with it.
pub(super) const TEMP_PREFIX: &str = ".acp-";

/// Maximum size of the list of extended attributes, and of each value (Linux' limits).
const ATTRIBUTE_BYTES: usize = 64 << 10;

/// Maximum number of symbolic links followed, as on Linux.
const LINKS: usize = 40;

/// Replaces the content of the file at `path` if it still has the stamp `over`, or creates it and
/// its parent folders; returns the new stamp.
///
/// # Errors
/// The file has another stamp, or it cannot be written; nothing has changed in that case.
pub(super) fn write(
    path: &Path,
    over: Option<Stamp>,
    text: &Text,
    format: Format,
) -> Result<Option<Stamp>, WriteError> {
    let failed = |refusal: Refusal| WriteError::Failed(refusal.words(path, "written"));
    let bytes = encode(text, format).map_err(failed)?;
    if acp_edge::paths::stamp(path) != over {
        return Err(WriteError::Stale);
    }
    write_bytes(path, &bytes).map_err(failed)?;
    Ok(acp_edge::paths::stamp(path))
}

/// Encodes a text.
pub(super) fn encode(text: &Text, format: Format) -> Result<Vec<u8>, Refusal> {
    format.encode(text).map_err(|c| match format.encoding {
        Encoding::Latin1 => Refusal::Unencodable(c, "latin-1"),
        Encoding::Utf8 => Refusal::Unencodable(c, "UTF-8"),
        Encoding::Other => Refusal::ForeignEncoding,
    })
}

fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), Refusal> {
    let target = follow(path)?;
    match fs::symlink_metadata(&target) {
        Ok(meta) => {
            Refusal::check(&meta)?;
            check_writable(&target, &meta)?;
            replace(&target, &meta, bytes)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => create(&target, bytes, 0o666),
        Err(error) => Err(error.into()),
    }
}

/// Returns the target of the links at `path`, which need not exist.
fn follow(path: &Path) -> Result<PathBuf, Refusal> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_symlink() => {
                let link = fs::read_link(&path)?;
                path = folder(&path).join(link);
            }
            Err(error) if !is_missing(&error) => return Err(error.into()),
            _ => return Ok(path),
        }
    }
    Err(io::Error::from(rustix::io::Errno::LOOP).into())
}

/// Refuses a file without write permission in its mode (also for root, who could write it), or one
/// this process may not write.
pub(super) fn check_writable(path: &Path, meta: &Metadata) -> Result<(), Refusal> {
    if meta.mode() & 0o222 == 0 {
        return Err(Refusal::ReadOnly);
    }
    rustix::fs::access(path, Access::WRITE_OK).map_err(|errno| io::Error::from(errno).into())
}

/// Creates a file and its parent folders.
///
/// The system subtracts the umask, or applies the folder's default access list.
pub(super) fn create(target: &Path, bytes: &[u8], mode: u32) -> Result<(), Refusal> {
    let folder = folder(target);
    let created = with_folders(target, || {
        let temp = temp_file(folder, bytes, Permissions::from_mode(mode))?;
        temp.persist(target).map_err(|error| error.error)?;
        Ok(())
    });
    created?;
    sync_folder(folder);
    Ok(())
}

/// Creates the parent folders of `target`, then runs `work`; if that fails, removes the new
/// folders.
pub(super) fn with_folders(target: &Path, work: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let folder = folder(target);
    let missing: Vec<&Path> = folder
        .ancestors()
        .take_while(|folder| fs::metadata(folder).is_err_and(|error| is_missing(&error)))
        .collect();
    let done = fs::create_dir_all(folder).and_then(|()| work());
    if done.is_err() {
        for folder in missing {
            // Removes only empty folders, so files that other programs put there stay.
            let _ = fs::remove_dir(folder);
        }
    }
    done
}

/// Replaces a regular file.
pub(super) fn replace(target: &Path, meta: &Metadata, bytes: &[u8]) -> Result<(), Refusal> {
    if meta.nlink() > 1 {
        return overwrite(target, bytes);
    }
    let folder = folder(target);
    let temp = temp_file(folder, bytes, Permissions::from_mode(0o600))?;
    keep_attributes(temp.as_file(), target);
    keep_owner_and_mode(temp.as_file(), meta)?;
    match temp.persist(target) {
        Ok(_) => {
            sync_folder(folder);
            Ok(())
        }
        Err(error) => match error.error.kind() {
            io::ErrorKind::ResourceBusy | io::ErrorKind::CrossesDevices => overwrite(target, bytes),
            _ => Err(error.error.into()),
        },
    }
}

/// Returns a new file in `folder` with this content, synced to disk.
fn temp_file(folder: &Path, bytes: &[u8], mode: Permissions) -> io::Result<NamedTempFile> {
    let mut temp = tempfile::Builder::new()
        .prefix(TEMP_PREFIX)
        .suffix(".tmp")
        .permissions(mode)
        .tempfile_in(folder)?;
    temp.write_all(bytes)?;
    temp.as_file().sync_all()?;
    Ok(temp)
}

/// Copies extended attributes from the replaced file to the new one, as far as possible.
///
/// Capabilities (`security.capability`) are dropped, because they were granted to the old content.
fn keep_attributes(file: &File, old: &Path) {
    let mut names = vec![0; ATTRIBUTE_BYTES];
    let mut value = vec![0; ATTRIBUTE_BYTES];
    let listed = rustix::fs::listxattr(old, &mut names[..]).unwrap_or(0);
    let names = names.get(..listed).unwrap_or_default();
    for name in names.split(|&b| b == 0).filter(|name| !name.is_empty()) {
        if name == b"security.capability" {
            continue;
        }
        if let Ok(size) = rustix::fs::getxattr(old, name, &mut value[..])
            && let Some(value) = value.get(..size)
        {
            let _ = rustix::fs::fsetxattr(file, name, value, XattrFlags::empty());
        }
    }
}

/// Copies owner, group and mode from the replaced file to the new one.
///
/// If the group cannot be kept, the group's permissions are reduced to those of others. The set-id
/// bits are dropped, as with every write.
fn keep_owner_and_mode(file: &File, old: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    let mut mode = old.mode() & 0o1777;
    if new.gid() != old.gid()
        && rustix::fs::fchown(file, None, Some(Gid::from_raw(old.gid()))).is_err()
    {
        mode = mode & !0o070 | (mode & 0o007) << 3;
    }
    if new.uid() != old.uid() {
        // Only root can change the owner; otherwise the file now belongs to the current user.
        let _ = rustix::fs::fchown(file, Some(Uid::from_raw(old.uid())), None);
    }
    rustix::fs::fchmod(file, Mode::from_raw_mode(mode as _)).map_err(io::Error::from)
}

/// Overwrites a file in place.
///
/// A copy of the old content is kept beside it until the new content is on disk. If writing fails,
/// the old content is restored; if that fails too, the copy stays and the error names it.
fn overwrite(target: &Path, bytes: &[u8]) -> Result<(), Refusal> {
    let mut file = File::options().read(true).write(true).open(target)?;
    let mut old = Vec::new();
    io::Read::read_to_end(&mut file, &mut old)?;
    let copy = temp_file(folder(target), &old, Permissions::from_mode(0o600))?.into_temp_path();
    let Err(error) = put(&mut file, bytes) else {
        return Ok(());
    };
    if put(&mut file, &old).is_err() {
        return Err(keep_copy(copy, &error).into());
    }
    Err(error.into())
}

/// Keeps the copy of the old content, and returns an error that names it.
fn keep_copy(copy: TempPath, error: &io::Error) -> io::Error {
    let place = copy.to_path_buf();
    let kept = copy.keep().unwrap_or(place);
    io::Error::new(
        error.kind(),
        format!("{error}; its old content is in {}", kept.display()),
    )
}

fn put(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_all()
}

/// Syncs a rename to disk where the file system supports it; the file is in place either way.
fn sync_folder(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

/// Returns the folder that contains a file.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder.as_os_str() != OsStr::new("") => folder,
        _ => Path::new("."),
    }
}
