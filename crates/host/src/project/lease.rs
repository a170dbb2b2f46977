//! A Neovim's lease on a project: a locked file beside the checkpoints.
//!
//! The system releases the lock however a Neovim ends, even by `kill -9`. So a lease without a lock
//! has ended, and the next Neovim that locks it owns its data.
//!
//! Invariant: what a running Neovim needs is not pruned: its lease names the checkpoint it builds
//! on, and everything stored since that checkpoint is younger.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use super::reading::now;
use super::store::make_private;
use crate::locked::Locked;

const SUFFIX: &str = "life";
const REVIEWS: &str = "reviews";

/// A lease that is held; dropping it ends it.
#[derive(Debug)]
pub(super) struct Lease {
    path: PathBuf,
    file: Locked,
}

impl Lease {
    /// Creates a lease in a project's folder.
    ///
    /// # Errors
    /// The system's error.
    pub(super) fn begin(folder: &Path) -> io::Result<Self> {
        make_private(folder)?;
        let name = format!("{:020}-{}.{SUFFIX}", now(), std::process::id());
        let path = folder.join(name);
        let mut options = File::options();
        let file = options
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        let file = Locked::new(file, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { path, file })
    }

    /// Returns the path of its reviews.
    pub(super) fn reviews(&self) -> PathBuf {
        self.path.with_extension(REVIEWS)
    }

    /// Names the checkpoint that this Neovim builds on.
    pub(super) fn build_upon(&self, checkpoint: &Path) -> io::Result<()> {
        let name = checkpoint.file_name().unwrap_or_default().as_bytes();
        let mut file: &File = &self.file;
        file.rewind()?;
        file.set_len(0)?;
        file.write_all(name)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.reviews().exists() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A lease that has ended; holding it keeps other Neovims from taking over its reviews.
#[derive(Debug)]
pub(super) struct Ended {
    path: PathBuf,
    _lock: Locked,
}

impl Ended {
    pub(super) fn reviews(&self) -> PathBuf {
        self.path.with_extension(REVIEWS)
    }

    /// Removes everything it has left.
    pub(super) fn forget(self) {
        let _ = fs::remove_file(self.reviews());
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns the ended leases in a project's folder, oldest first.
pub(super) fn ended(folder: &Path) -> Vec<Ended> {
    let over = |path: PathBuf| {
        let file = File::open(&path).ok()?;
        let lock = Locked::new(file, FlockOperation::NonBlockingLockExclusive).ok()?;
        Some(Ended { path, _lock: lock })
    };
    leases(folder).into_iter().filter_map(over).collect()
}

/// Returns the checkpoints that running Neovims build on.
pub(super) fn built_upon(folder: &Path) -> Vec<PathBuf> {
    let under_way = |path: PathBuf| {
        let mut file = File::open(&path).ok()?;
        let copy = file.try_clone().ok()?;
        let is_over = Locked::new(copy, FlockOperation::NonBlockingLockShared).is_ok();
        if is_over {
            return None;
        }
        let mut name = Vec::new();
        file.read_to_end(&mut name).ok()?;
        let name = std::ffi::OsString::from_vec(name);
        (!name.is_empty()).then(|| folder.join(name))
    };
    leases(folder).into_iter().filter_map(under_way).collect()
}

fn leases(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let is_life = |path: &PathBuf| path.extension().is_some_and(|end| end == SUFFIX);
    let mut leases: Vec<PathBuf> = paths.filter(is_life).collect();
    leases.sort();
    leases
}
