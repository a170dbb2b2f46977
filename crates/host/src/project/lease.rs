//! A Neovim's lease on a project: a locked file beside the checkpoints.
//!
//! The system releases the lock however a Neovim ends, even by `kill -9`. So a lease without a lock
//! has ended, and the next Neovim that locks it owns its data.
//!
//! A lease whose Neovim ended within a turn names the checkpoint at the turn's beginning: the next
//! Neovim compares the files with it.
//!
//! Invariant: the data of a running Neovim is not pruned: its lease names the checkpoint it builds
//! on, and what it has stored since is younger than the lease.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use super::checkpoints;
use super::reading::{Exhausted, now};
use super::store::make_private;
use crate::locked::Locked;
use acp_edge::panics::lock;

const SUFFIX: &str = "life";
const REVIEWS: &str = "reviews";

/// A lease that is held; dropping it ends it.
#[derive(Debug)]
pub(super) struct Lease {
    path: PathBuf,
    file: Locked,
    terms: Mutex<Terms>,
}

/// What a lease states.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Terms {
    /// The file name of the checkpoint that its Neovim builds on.
    checkpoint: Option<String>,
    /// The file name of the checkpoint at the beginning of the turns that run.
    turn: Option<String>,
    /// When its Neovim had ended its agents, in nanoseconds; a killed one states nothing.
    ended: Option<i64>,
}

/// A turn that ran when its Neovim ended.
#[derive(Debug, Clone)]
pub(super) struct CutTurn {
    /// The checkpoint at its beginning.
    pub(super) checkpoint: PathBuf,
    /// When its agents had ended, in nanoseconds, if that is known.
    pub(super) ended: Option<i128>,
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
        Ok(Self {
            path,
            file,
            terms: Mutex::default(),
        })
    }

    /// Returns the path of its reviews.
    pub(super) fn reviews(&self) -> PathBuf {
        self.path.with_extension(REVIEWS)
    }

    /// Names the checkpoint that this Neovim builds on.
    pub(super) fn build_upon(&self, checkpoint: &Path) -> io::Result<()> {
        self.state(|terms| terms.checkpoint = name_of(checkpoint))
    }

    /// States that turns run, and the checkpoint at the beginning of the first.
    pub(super) fn turns_run(&self, checkpoint: &Path) -> io::Result<()> {
        self.state(|terms| {
            if terms.turn.is_none() {
                terms.turn = name_of(checkpoint);
            }
        })
    }

    /// Returns whether it states that turns run.
    pub(super) fn has_turn(&self) -> bool {
        lock(&self.terms).turn.is_some()
    }

    /// States that no turn runs, and that the next Neovim has all that was found in the last ones.
    pub(super) fn turns_are_over(&self) -> io::Result<()> {
        self.state(|terms| terms.turn = None)
    }

    /// States that no agent of this Neovim runs from now on.
    pub(super) fn agents_have_ended(&self) -> io::Result<()> {
        self.state(|terms| terms.ended = i64::try_from(now()).ok())
    }

    fn state(&self, change: impl FnOnce(&mut Terms)) -> io::Result<()> {
        let mut terms = lock(&self.terms);
        let before = terms.clone();
        change(&mut terms);
        if *terms == before {
            return Ok(());
        }
        let bytes = serde_json::to_vec(&*terms)?;
        let mut file: &File = &self.file;
        file.rewind()?;
        // Shortened last: a kill in between leaves a text that begins with the new terms.
        file.write_all(&bytes)?;
        file.set_len(bytes.len() as u64)
    }
}

fn name_of(checkpoint: &Path) -> Option<String> {
    let name = checkpoint.file_name()?;
    Some(name.to_str()?.to_owned())
}

/// Returns what a lease states; nothing if it is damaged.
///
/// # Errors
/// It cannot be read.
fn terms(mut file: &File) -> io::Result<Terms> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    let mut all = serde_json::Deserializer::from_slice(&bytes).into_iter();
    let first = all.next().and_then(Result::ok);
    Ok(first.unwrap_or_default())
}

impl Drop for Lease {
    fn drop(&mut self) {
        let is_cut = self.has_turn();
        let has_none = matches!(self.reviews().try_exists(), Ok(false));
        if !is_cut && has_none {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A lease that has ended; holding it keeps other Neovims from taking over its reviews.
#[derive(Debug)]
pub(super) struct Ended {
    path: PathBuf,
    terms: Terms,
    _lock: Locked,
}

impl Ended {
    pub(super) fn reviews(&self) -> PathBuf {
        self.path.with_extension(REVIEWS)
    }

    /// Returns the turn that ran when its Neovim ended.
    pub(super) fn cut_turn(&self) -> Option<CutTurn> {
        let turn = self.terms.turn.as_ref()?;
        Some(CutTurn {
            checkpoint: self.path.with_file_name(turn),
            ended: self.terms.ended.map(i128::from),
        })
    }

    /// Removes everything it has left.
    pub(super) fn forget(&self) {
        let _ = fs::remove_file(self.reviews());
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns the ended leases in a project's folder, oldest first.
///
/// # Errors
/// The system is exhausted; those that cannot be read for another reason are left out.
pub(super) fn ended(folder: &Path) -> Result<Vec<Ended>, Exhausted> {
    let mut ended = Vec::new();
    for path in Exhausted::check(leases(folder))?.unwrap_or_default() {
        // NFS locks a file alone only for one who may write it.
        let opened = File::options().read(true).write(true).open(&path);
        let Some(file) = Exhausted::check(opened)? else {
            continue;
        };
        let Ok(lock) = Locked::new(file, FlockOperation::NonBlockingLockExclusive) else {
            continue;
        };
        if let Some(terms) = Exhausted::check(terms(&lock))? {
            let _lock = lock;
            ended.push(Ended { path, terms, _lock });
        }
    }
    Ok(ended)
}

/// Returns the checkpoints that running Neovims build on, with the beginning of the earliest lease on
/// each, and those at the beginning of turns that ran when their Neovim ended.
///
/// # Errors
/// A lease cannot be read, so it is unknown.
pub(super) fn built_upon(folder: &Path) -> io::Result<HashMap<PathBuf, Option<SystemTime>>> {
    let mut named = HashMap::new();
    for path in leases(folder)? {
        let Some(file) = unless_closed(File::open(&path))? else {
            continue;
        };
        let is_over = Locked::new(file.try_clone()?, FlockOperation::NonBlockingLockShared).is_ok();
        let terms = terms(&file)?;
        let begun = checkpoints::written(&path);
        let checkpoint = terms.checkpoint.filter(|_| !is_over);
        let checkpoint = checkpoint.map(|name| (name, begun));
        let turn = terms.turn.map(|name| (name, None));
        for (name, begun) in checkpoint.into_iter().chain(turn) {
            let known = named.entry(folder.join(name)).or_insert(begun);
            // Nothing comes before all times.
            *known = begun.min(*known);
        }
    }
    Ok(named)
}

/// Returns nothing for a file that is gone, or that another user has left.
///
/// # Errors
/// Any other one.
pub(super) fn unless_closed<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => Ok(None),
            _ => Err(error),
        },
    }
}

fn leases(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut leases = Vec::new();
    for entry in unless_closed(fs::read_dir(folder))?.into_iter().flatten() {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == SUFFIX) {
            leases.push(path);
        }
    }
    leases.sort();
    Ok(leases)
}
