//! A Neovim's work on a project, as the others see it: a locked file beside the checkpoints.
//!
//! The system gives the lock back however a Neovim ends, `kill -9` included. So a life whose lock
//! is free is over, and what it has left belongs to whoever gets the lock.
//!
//! Invariant: what a life under way needs is not pruned: its file names the checkpoint that it
//! builds upon, and everything kept since that one was taken is younger than it.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use super::reading::now;
use super::store::make_private;

const LIFE: &str = "life";
const REVIEWS: &str = "reviews";

/// A life under way; it is over when this is dropped.
#[derive(Debug)]
pub(super) struct Life {
    path: PathBuf,
    file: File,
}

impl Life {
    /// Begins one in a project's folder.
    ///
    /// # Errors
    /// As the system has it.
    pub(super) fn begin(folder: &Path) -> io::Result<Self> {
        make_private(folder)?;
        let name = format!("{:020}-{}.{LIFE}", now(), std::process::id());
        let path = folder.join(name);
        let mut options = File::options();
        let file = options
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { path, file })
    }

    /// Returns where its reviews are kept.
    pub(super) fn reviews(&self) -> PathBuf {
        self.path.with_extension(REVIEWS)
    }

    /// Names the checkpoint that the work builds upon.
    pub(super) fn build_upon(&self, checkpoint: &Path) -> io::Result<()> {
        let name = checkpoint.file_name().unwrap_or_default().as_bytes();
        let mut file = &self.file;
        file.rewind()?;
        file.set_len(0)?;
        file.write_all(name)
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        if !self.reviews().exists() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A life that is over; nobody else can take over what it has left while this is there.
#[derive(Debug)]
pub(super) struct Past {
    path: PathBuf,
    _lock: File,
}

impl Past {
    pub(super) fn reviews(&self) -> PathBuf {
        self.path.with_extension(REVIEWS)
    }

    /// Removes all that it has left.
    pub(super) fn forget(self) {
        let _ = fs::remove_file(self.reviews());
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns the lives in a project's folder that are over, the oldest first.
pub(super) fn past(folder: &Path) -> Vec<Past> {
    let over = |path: PathBuf| {
        let file = File::open(&path).ok()?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
        Some(Past { path, _lock: file })
    };
    lives(folder).into_iter().filter_map(over).collect()
}

/// Returns the checkpoints that lives under way in a project's folder build upon.
pub(super) fn built_upon(folder: &Path) -> Vec<PathBuf> {
    let under_way = |path: PathBuf| {
        let mut file = File::open(&path).ok()?;
        let is_over = rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared).is_ok();
        if is_over {
            return None;
        }
        let mut name = Vec::new();
        file.read_to_end(&mut name).ok()?;
        let name = std::ffi::OsString::from_vec(name);
        (!name.is_empty()).then(|| folder.join(name))
    };
    lives(folder).into_iter().filter_map(under_way).collect()
}

fn lives(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let is_life = |path: &PathBuf| path.extension().is_some_and(|end| end == LIFE);
    let mut lives: Vec<PathBuf> = paths.filter(is_life).collect();
    lives.sort();
    lives
}
