//! Replaces a file's content such that no reader ever sees half of it.
//!
//! The folder is held open, and the last name is never followed: if a name is replaced by a link
//! after the check, the checked file is still the one that is written.
//!
//! The new content is written to a temporary file in the same folder, synced, and renamed over the
//! old file. Symbolic links are followed: the target is replaced, the links stay. Mode, owner and
//! extended attributes (access lists among them) are kept as far as the system allows.
//!
//! A file that keeps its hard links, or one that cannot be renamed over (a mount point), is
//! overwritten in place, like `'backupcopy'` `auto`. The old content stays beside it on disk until
//! the new one is written.
//!
//! Invariant: an error leaves the file as it was, and no temporary file behind.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustix::fs::{Access, Gid, Mode, OFlags, Uid, XattrFlags};

use super::held::Held;
use super::refusal::Refusal;
use acp_core::spine::effect::HardLinks;
use acp_core::spine::event::{Stamp, WriteError};
use acp_core::text::Text;
use acp_core::text::format::{Encoding, Format};
use acp_edge::panics::lock;
use acp_edge::paths::is_missing;

/// Prefix and ending of the names of temporary files, and the number of random letters and digits
/// between them: so many that no other program makes such a name.
const PREFIX: &str = ".acp-";
pub(super) const ENDING: &str = ".tmp";
const RANDOM: usize = 12;

/// Ending of the copy of a file that is overwritten in place: all there is of its old content.
const COPY: &str = ".old";

/// The names of the temporary files that exist now.
static LIVE: Mutex<BTreeSet<OsString>> = Mutex::new(BTreeSet::new());

/// A temporary file: its name is known until it is dropped, which removes it.
#[derive(Debug)]
pub(super) struct Temporary {
    path: PathBuf,
    is_kept: bool,
}

impl Temporary {
    /// Creates a file or link under a new name in a folder.
    pub(super) fn create<T>(
        folder: &Path,
        ending: &str,
        mut create: impl FnMut(&Path) -> io::Result<T>,
    ) -> io::Result<(Self, T)> {
        let mut name = OsString::new();
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix(PREFIX).suffix(ending).rand_bytes(RANDOM);
        let made = builder.make_in(folder, |path| {
            forget(&name);
            name = path.file_name().unwrap_or_default().to_owned();
            lock(&LIVE).insert(name.clone());
            create(path)
        });
        match made {
            Ok(made) => {
                let (made, path) = made.into_parts();
                let path = path.keep().map_err(|error| error.error)?;
                let is_kept = false;
                Ok((Self { path, is_kept }, made))
            }
            Err(error) => {
                forget(&name);
                Err(error)
            }
        }
    }

    /// Renames it over `target`.
    pub(super) fn replace(mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        self.is_kept = true;
        Ok(())
    }

    /// Leaves it where it is.
    fn keep(mut self) -> PathBuf {
        self.is_kept = true;
        self.path.clone()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = fs::remove_file(&self.path);
        }
        forget(self.path.file_name().unwrap_or_default());
    }
}

fn forget(name: &OsStr) {
    lock(&LIVE).remove(name);
}

/// Returns whether a temporary file of this client has this name now.
pub(super) fn is_temporary(name: &OsStr) -> bool {
    let is_like = name.as_encoded_bytes().starts_with(PREFIX.as_bytes());
    is_like && lock(&LIVE).contains(name)
}

/// Returns whether this is the name of a temporary file of any Neovim, whether it runs or was killed.
pub(super) fn is_temporary_of_any(name: &OsStr) -> bool {
    let name = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
    let random = name.and_then(|name| name.strip_suffix(ENDING));
    random.is_some_and(|random| {
        random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

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
    roots: &[PathBuf],
    over: Option<Stamp>,
    hard_links: HardLinks,
    text: &Text,
    format: Format,
) -> Result<Option<Stamp>, WriteError> {
    let failed = |refusal: Refusal| WriteError::Failed(refusal.words(path, "written"));
    let bytes = encode(text, format).map_err(failed)?;
    let target = follow(path).map_err(failed)?;
    let held = match over {
        Some(_) => Held::find(&target, roots),
        // The core has found no file there, so it has not seen where the link leads.
        None if target != path => Held::make_within(&target, roots),
        None => Held::make(&target, roots),
    };
    let held = match held {
        Err(Refusal::Swapped) => return Err(WriteError::Stale),
        Err(Refusal::Io(error)) if is_missing(&error) && over.is_some() => {
            return Err(WriteError::Stale);
        }
        held => held.map_err(failed)?,
    };
    let file = held.file();
    let is_still = || Ok(own_stamp(&file)? == over);
    let written = is_still().and_then(|is_still_there| match is_still_there {
        true => write_bytes(&file, &bytes, hard_links, &is_still),
        false => Ok(None),
    });
    let error = match written {
        Ok(Some(stamp)) => return Ok(Some(stamp)),
        Ok(None) => WriteError::Stale,
        Err(refusal) => WriteError::Failed(held.named(&refusal.words(path, "written"))),
    };
    held.undo();
    Err(error)
}

/// Returns whether the file to be replaced is still the one that was looked at. It is called right
/// before the new content takes its place, because it may take long to write that.
type IsStill<'a> = &'a dyn Fn() -> Result<bool, Refusal>;

/// Returns the stamp of a file that is no link; `None` if it does not exist.
fn own_stamp(file: &Path) -> Result<Option<Stamp>, Refusal> {
    match fs::symlink_metadata(file) {
        Ok(meta) => Ok(Some(acp_edge::paths::stamp_of(&meta))),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Encodes a text.
pub(super) fn encode(text: &Text, format: Format) -> Result<Vec<u8>, Refusal> {
    format.encode(text).map_err(|c| match format.encoding {
        Encoding::Latin1 => Refusal::Unencodable(c, "latin-1"),
        Encoding::Utf8 => Refusal::Unencodable(c, "UTF-8"),
        Encoding::Named(known) => Refusal::Unencodable(c, known.name()),
        Encoding::Other => Refusal::ForeignEncoding,
    })
}

/// Creates or replaces a file; returns its stamp, or `None` if another one is there by then.
fn write_bytes(
    target: &Path,
    bytes: &[u8],
    hard_links: HardLinks,
    is_still: IsStill<'_>,
) -> Result<Option<Stamp>, Refusal> {
    match fs::symlink_metadata(target) {
        Ok(meta) => {
            Refusal::check(&meta)?;
            check_writable(target, &meta)?;
            replace(target, &meta, bytes, hard_links, is_still)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create(target, bytes, 0o666, is_still)
        }
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

/// Creates a file; returns its stamp, or `None` if another one is there by then.
///
/// The system subtracts the umask, or applies the folder's default access list.
pub(super) fn create(
    target: &Path,
    bytes: &[u8],
    mode: u32,
    is_still: IsStill<'_>,
) -> Result<Option<Stamp>, Refusal> {
    let folder = folder(target);
    let (temp, file) = temp_file(folder, ENDING, bytes, mode)?;
    if !is_still()? {
        return Ok(None);
    }
    // Another program may write to it once it is in its place.
    let stamp = acp_edge::paths::stamp_of(&file.metadata()?);
    temp.replace(target)?;
    sync_folder(folder);
    Ok(Some(stamp))
}

/// Replaces a regular file; returns its stamp, or `None` if another one is there by then.
pub(super) fn replace(
    target: &Path,
    meta: &Metadata,
    bytes: &[u8],
    hard_links: HardLinks,
    is_still: IsStill<'_>,
) -> Result<Option<Stamp>, Refusal> {
    if meta.nlink() > 1 && hard_links == HardLinks::Keep {
        return overwrite(target, bytes, is_still);
    }
    let folder = folder(target);
    let (temp, file) = temp_file(folder, ENDING, bytes, 0o600)?;
    keep_attributes(&file, target);
    keep_owner_and_mode(&file, meta)?;
    if !is_still()? {
        return Ok(None);
    }
    let stamp = acp_edge::paths::stamp_of(&file.metadata()?);
    match temp.replace(target) {
        Ok(()) => {
            sync_folder(folder);
            Ok(Some(stamp))
        }
        Err(error) => match error.kind() {
            io::ErrorKind::ResourceBusy | io::ErrorKind::CrossesDevices => {
                overwrite(target, bytes, is_still)
            }
            _ => Err(error.into()),
        },
    }
}

/// Returns a new file in `folder` with this content, synced to disk.
fn temp_file(
    folder: &Path,
    ending: &str,
    bytes: &[u8],
    mode: u32,
) -> io::Result<(Temporary, File)> {
    let (temp, mut file) = Temporary::create(folder, ending, |path| {
        let mut options = File::options();
        let options = options.read(true).write(true).create_new(true);
        options.mode(mode).open(path)
    })?;
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok((temp, file))
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
fn overwrite(target: &Path, bytes: &[u8], is_still: IsStill<'_>) -> Result<Option<Stamp>, Refusal> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = rustix::fs::open(target, flags, Mode::empty()).map_err(io::Error::from)?;
    let mut file = File::from(file);
    Refusal::check(&file.metadata()?)?;
    let mut old = Vec::new();
    io::Read::read_to_end(&mut file, &mut old)?;
    let (copy, _) = temp_file(folder(target), COPY, &old, 0o600)?;
    if !is_still()? {
        return Ok(None);
    }
    let Err(error) = put(&mut file, bytes) else {
        return Ok(Some(acp_edge::paths::stamp_of(&file.metadata()?)));
    };
    if put(&mut file, &old).is_err() {
        return Err(keep_copy(copy, &error).into());
    }
    Err(error.into())
}

/// Keeps the copy of the old content, and returns an error that names it.
fn keep_copy(copy: Temporary, error: &io::Error) -> io::Error {
    let place = copy.keep();
    io::Error::new(
        error.kind(),
        format!("{error}; its old content is in {}", place.display()),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Another program writes while the new content of a file is being written, which `is_linked`
    /// under two names, or is not there before.
    #[track_caller]
    fn check_another_wins(before: Option<&str>, is_linked: bool) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        if let Some(before) = before {
            fs::write(&path, before).expect("a file");
        }
        if is_linked {
            fs::hard_link(&path, folder.path().join("b")).expect("a link");
        }
        let over = own_stamp(&path).expect("a stamp");
        let is_still = || {
            fs::write(&path, "another's")?;
            Ok(own_stamp(&path)? == over)
        };
        let written =
            write_bytes(&path, b"ours", HardLinks::Keep, &is_still).expect("it can be written");
        assert_eq!(written, None);
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "another's");
        let files = fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(files, if is_linked { 2 } else { 1 });
    }

    #[test]
    fn what_another_program_writes_meanwhile_stays() {
        check_another_wins(None, false);
        check_another_wins(Some("before"), false);
        check_another_wins(Some("before"), true);
    }

    #[test]
    fn the_stamp_is_that_of_the_content() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        for content in [&b"one"[..], b"two and more"] {
            let written = write_bytes(&path, content, HardLinks::Keep, &|| Ok(true))
                .expect("it can be written");
            assert_eq!(written, own_stamp(&path).expect("a stamp"));
        }
    }
}
