//! The contents of files, named by the hash of their bytes: one store for all projects and Neovims.
//!
//! A content is an lz4 block below `blobs/`, named by the blake3 hash of the uncompressed bytes. It
//! is written to a temporary file and renamed, so several Neovims may store the same content at
//! once and no reader sees half of it. A damaged file no longer matches its hash.
//!
//! What cannot be written, because the disk is full or read-only, is held in memory up to a limit, so
//! that this Neovim's reviews stay complete.
//!
//! Invariant: [`Store::get`] returns the stored bytes, or an error that says why not.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use super::limits::Limits;
use acp_core::spine::project::Blob;
use acp_edge::panics::lock;

/// Minimum age for pruning a content; a checkpoint may still refer to a younger one.
pub(super) const YOUNG: Duration = Duration::from_secs(60 * 60);

/// Maximum compression ratio of lz4.
const LZ4_RATIO: usize = 255;

/// The store of contents and of everything else that outlives a Neovim.
#[derive(Debug)]
pub(crate) struct Store {
    folder: PathBuf,
    pub(super) limits: Limits,
    /// Contents that could not be written.
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    /// Compressed contents.
    contents: HashMap<Blob, Vec<u8>>,
    bytes: u64,
    /// Why the last one could not be written.
    why: Option<String>,
}

/// Why a content is unavailable.
#[derive(Debug)]
pub(super) enum Loss {
    Gone,
    Damaged,
    Io(io::Error),
}

impl Store {
    /// Returns the store below `folder`; folders are created when first needed.
    pub(super) fn new(folder: &Path, limits: Limits) -> Self {
        Self {
            folder: folder.to_owned(),
            limits,
            held: Mutex::default(),
        }
    }

    /// Returns the folder of all stored data.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the folder of contents.
    pub(super) fn blobs(&self) -> PathBuf {
        self.folder.join("blobs")
    }

    /// Stores a content.
    ///
    /// # Errors
    /// It could not be written.
    pub(super) fn put(&self, bytes: &[u8]) -> io::Result<Blob> {
        let blob = name(bytes);
        let path = self.path(blob);
        if is_kept(&path, bytes.len()) {
            return Ok(blob);
        }
        let packed = lz4_flex::block::compress_prepend_size(bytes);
        write_private(&path, &packed, Sync::Later)?;
        Ok(blob)
    }

    /// Stores a content, in memory if it cannot be written.
    ///
    /// # Errors
    /// It could not be written, and too much is held in memory.
    pub(super) fn hold(&self, bytes: &[u8]) -> io::Result<Blob> {
        let written = self.put(bytes);
        let mut held = lock(&self.held);
        let Err(error) = &written else {
            held.why = None;
            return written;
        };
        held.why = Some(error.to_string());
        let packed = lz4_flex::block::compress_prepend_size(bytes);
        let more = packed.len() as u64;
        if held.bytes + more > self.limits.held_bytes {
            return written;
        }
        let blob = name(bytes);
        if held.contents.insert(blob, packed).is_none() {
            held.bytes += more;
        }
        Ok(blob)
    }

    /// Returns why the last content could not be written.
    pub(super) fn trouble(&self) -> Option<String> {
        lock(&self.held).why.clone()
    }

    /// Returns a content.
    ///
    /// # Errors
    /// It is missing or damaged. A damaged one is removed, so that storing it again repairs the
    /// store.
    pub(super) fn get(&self, blob: Blob) -> Result<Vec<u8>, Loss> {
        let path = self.path(blob);
        let held = lock(&self.held).contents.get(&blob).cloned();
        let packed = held.map_or_else(|| fs::read(&path), Ok);
        let packed = packed.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Loss::Gone,
            _ => Loss::Io(error),
        })?;
        match unpack(&packed).filter(|bytes| name(bytes) == blob) {
            Some(bytes) => Ok(bytes),
            None => {
                let _ = fs::remove_file(&path);
                Err(Loss::Damaged)
            }
        }
    }

    fn path(&self, blob: Blob) -> PathBuf {
        let hex = blake3::Hash::from_bytes(blob.0).to_hex();
        // The hex form is 64 ASCII characters long.
        let (shard, rest) = hex.split_at(2);
        self.blobs().join(shard).join(rest)
    }
}

impl Loss {
    /// Returns the reason as a clause.
    pub(super) fn words(&self) -> String {
        match self {
            Loss::Gone => "its content is no longer stored".into(),
            Loss::Damaged => "its stored content is damaged".into(),
            Loss::Io(error) => format!("its stored content could not be read: {error}"),
        }
    }
}

/// Returns the name of a content.
pub(super) fn name(bytes: &[u8]) -> Blob {
    Blob(*blake3::hash(bytes).as_bytes())
}

/// Returns the content that a file of the store is named after.
pub(super) fn blob_at(shard: &str, rest: &str) -> Option<Blob> {
    let hash = blake3::Hash::from_hex(format!("{shard}{rest}")).ok()?;
    Some(Blob(*hash.as_bytes()))
}

fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let size = stated_size(packed)?;
    // A damaged size must not exhaust the memory.
    if size > packed.len().saturating_mul(LZ4_RATIO) {
        return None;
    }
    lz4_flex::block::decompress_size_prepended(packed).ok()
}

fn stated_size(packed: &[u8]) -> Option<usize> {
    let size = packed.first_chunk::<4>()?;
    usize::try_from(u32::from_le_bytes(*size)).ok()
}

/// Returns whether a content of this size is stored already. If so, resets its age when needed, so
/// that it is not pruned.
fn is_kept(path: &Path, bytes: usize) -> bool {
    let Ok(mut file) = File::open(path) else {
        return false;
    };
    let mut size = [0; 4];
    if io::Read::read_exact(&mut file, &mut size).is_err() || stated_size(&size) != Some(bytes) {
        return false;
    }
    let age = file.metadata().and_then(|meta| meta.modified());
    let is_old = age.is_ok_and(|then| then.elapsed().is_ok_and(|age| age > YOUNG / 4));
    if is_old {
        // A content that is being pruned at this moment is written again.
        return file.set_modified(SystemTime::now()).is_ok() && path.exists();
    }
    true
}

/// Whether a file is synced to disk at once or by the system later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sync {
    Now,
    Later,
}

/// Writes a file atomically, accessible to the user only.
///
/// # Errors
/// The system's error; the earlier file is unchanged in that case.
pub(super) fn write_private(path: &Path, bytes: &[u8], sync: Sync) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut temp = match temp_in(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_private(folder)?;
            temp_in(folder)?
        }
        temp => temp?,
    };
    temp.write_all(bytes)?;
    if sync == Sync::Now {
        temp.as_file().sync_all()?;
    }
    temp.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Prefix of the names of unfinished files.
pub(super) const TEMP: &str = ".new-";

fn temp_in(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    // Its mode is 0600.
    tempfile::Builder::new().prefix(TEMP).tempfile_in(folder)
}

/// Creates a folder and its parents, accessible to the user only.
pub(super) fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
