//! The contents of files, by the hash of their bytes: one folder for all projects and all Neovims.
//!
//! A content is an lz4 block below `blobs/`, named by the blake3 hash of what it holds, written
//! under a temporary name and renamed. So two Neovims may keep the same content at once, nobody
//! sees half of one, and what has come to harm is noticed: its hash is another.
//!
//! Invariant: [`Store::get`] returns the bytes that were kept, or says why it cannot.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::limits::Limits;
use acp_core::spine::project::Blob;

/// How long a content is safe from being pruned though no checkpoint names it yet.
pub(super) const YOUNG: Duration = Duration::from_secs(60 * 60);

/// The most that an lz4 block can hold for each of its bytes.
const LZ4_RATIO: usize = 255;

/// Where contents are kept, and all else that outlives a Neovim.
#[derive(Debug)]
pub(crate) struct Store {
    folder: PathBuf,
    pub(super) limits: Limits,
}

/// Why a content is not to be had.
#[derive(Debug)]
pub(super) enum Loss {
    Gone,
    Damaged,
    Io(io::Error),
}

impl Store {
    /// Returns the store below `folder`; nothing is made before it is needed.
    pub(super) fn new(folder: &Path, limits: Limits) -> Self {
        Self {
            folder: folder.to_owned(),
            limits,
        }
    }

    /// Returns the folder of everything that is kept.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the folder that holds the folders of contents.
    pub(super) fn blobs(&self) -> PathBuf {
        self.folder.join("blobs")
    }

    /// Keeps a content.
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

    /// Returns a content.
    ///
    /// # Errors
    /// It is not there, or it is not what was kept; then it is removed, so that keeping it once
    /// more mends it.
    pub(super) fn get(&self, blob: Blob) -> Result<Vec<u8>, Loss> {
        let path = self.path(blob);
        let packed = fs::read(&path).map_err(|error| match error.kind() {
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
        // Hex is ASCII and 64 long.
        let (shard, rest) = hex.split_at(2);
        self.blobs().join(shard).join(rest)
    }
}

impl Loss {
    /// Returns why, as the end of a sentence.
    pub(super) fn words(&self) -> String {
        match self {
            Loss::Gone => "its content is no longer kept".into(),
            Loss::Damaged => "the content kept of it was damaged".into(),
            Loss::Io(error) => format!("the content kept of it could not be read: {error}"),
        }
    }
}

/// Returns the name of a content.
pub(super) fn name(bytes: &[u8]) -> Blob {
    Blob(*blake3::hash(bytes).as_bytes())
}

/// Returns the name that a file of the store stands for.
pub(super) fn blob_at(shard: &str, rest: &str) -> Option<Blob> {
    let hash = blake3::Hash::from_hex(format!("{shard}{rest}")).ok()?;
    Some(Blob(*hash.as_bytes()))
}

fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let size = stated_size(packed)?;
    // A damaged size must not take all memory.
    if size > packed.len().saturating_mul(LZ4_RATIO) {
        return None;
    }
    lz4_flex::block::decompress_size_prepended(packed).ok()
}

fn stated_size(packed: &[u8]) -> Option<usize> {
    let size = packed.first_chunk::<4>()?;
    usize::try_from(u32::from_le_bytes(*size)).ok()
}

/// Returns whether a content is there already, as far as its first bytes say; then its age begins
/// anew: it is needed again, and whoever prunes must see that.
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
        // What is just being pruned away is written again.
        return file.set_modified(SystemTime::now()).is_ok() && path.exists();
    }
    true
}

/// Whether a file is to be on disk at once, or when the system gets to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sync {
    Now,
    Later,
}

/// Writes a file that is nobody's but the user's, all of it or nothing.
///
/// # Errors
/// As the system has it; then what was there still is.
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

/// How the names of files begin that are not yet what they shall be.
pub(super) const TEMP: &str = ".new-";

fn temp_in(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    // The mode of such a file is 0600.
    tempfile::Builder::new().prefix(TEMP).tempfile_in(folder)
}

/// Makes a folder, and those above it, for the user alone.
pub(super) fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
