//! Where the system watches for a project: the folders of its tree, those of files that are tracked
//! though they lie elsewhere, and those of git's own files that say what is committed.
//!
//! On Linux each folder has a watch of its own; on macOS the root has one for all below it.
//!
//! When the system refuses, the folders of the tree are given up all together: other programs of
//! the user's need watches as well, and whoever compares everything needs none. Those of tracked
//! files stay as long as there are any.
//!
//! Invariant: a folder that begins to be watched is told to the caller, to be looked at once more,
//! because files may have come before the watch.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::{ErrorKind, RecommendedWatcher, RecursiveMode, Watcher};
use rustix::io::Errno;

use super::told::{Files, Told};
use crate::guard::guarded_call;
use acp_edge::inbox::Inbox;

/// Each folder has a watch of its own.
const PER_FOLDER: bool = !cfg!(target_os = "macos");

/// The watches of one project.
#[derive(Debug)]
pub(super) struct Watch {
    root: PathBuf,
    told: Arc<Told>,
    /// `None` when the system gives none.
    watcher: Option<RecommendedWatcher>,
    /// How many watches there may be.
    cap: usize,
    inbox: Inbox,
    /// Why not everything is watched.
    limited: Option<String>,
}

/// What a change of the watches has brought.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Placed {
    /// There are watches where there were none, or they are listened to for something else: what
    /// they would have told is not known.
    pub(super) any: bool,
    /// The paths of the project that this is true for.
    pub(super) look: Vec<PathBuf>,
    /// Why not everything can be watched any more; said once.
    pub(super) limited: Option<String>,
}

impl Watch {
    /// Returns the watches of a project: none yet, and at most `cap`.
    pub(super) fn new(root: &Path, cap: usize, told: Arc<Told>, inbox: Inbox) -> Self {
        Self {
            root: root.to_owned(),
            told,
            watcher: None,
            cap,
            inbox,
            limited: None,
        }
    }

    /// Begins to watch a tree.
    pub(super) fn start(&mut self, folders: impl IntoIterator<Item = PathBuf>) -> Placed {
        let (told, inbox) = (Arc::clone(&self.told), self.inbox.clone());
        // On a thread that is not ours.
        let take = move |event| {
            guarded_call("what a watch tells", &inbox, || told.take(event));
        };
        // Links are not followed: what they lead to is watched where it is, or not at all.
        let config = notify::Config::default().with_follow_symlinks(false);
        let watcher = RecommendedWatcher::new(take, config);
        self.told.lock().tree = folders.into_iter().collect();
        match watcher {
            Ok(watcher) => {
                self.watcher = Some(watcher);
                self.place()
            }
            Err(error) => Placed {
                limited: self.limit(&error),
                ..Placed::default()
            },
        }
    }

    /// Follows the tree: these folders are new, those are gone.
    pub(super) fn follow(&mut self, new: Vec<PathBuf>, gone: &[PathBuf]) -> Placed {
        let mut state = self.told.lock();
        for folder in gone {
            state.tree.remove(folder);
        }
        state.tree.extend(new);
        let lost = std::mem::take(&mut state.lost);
        // Watches may be gone without a word.
        let all = std::mem::take(&mut state.overflowed) && cfg!(target_os = "linux");
        let is_lost = |at: &&PathBuf| all || at.ancestors().any(|above| lost.contains(above));
        let away: Vec<PathBuf> = match all || !lost.is_empty() {
            true => state.watched.iter().filter(is_lost).cloned().collect(),
            false => vec![],
        };
        drop(state);
        for folder in &away {
            self.remove(folder);
        }
        self.place()
    }

    /// Says which files are watched wherever they lie, next to those of before.
    pub(super) fn track(&mut self, paths: &[PathBuf]) -> Placed {
        let mut state = self.told.lock();
        let all = state
            .tracked
            .iter()
            .chain(paths.iter().map(PathBuf::as_path));
        state.tracked = Files::new(all.map(Path::to_owned).collect::<Vec<_>>());
        drop(state);
        self.place()
    }

    /// Says which files of git's own are watched, instead of those of before.
    pub(super) fn listen<'a>(&mut self, signals: impl Iterator<Item = &'a Path>) -> Placed {
        let signals = Files::new(signals.map(Path::to_owned));
        let mut state = self.told.lock();
        let is_new = state.signals != signals;
        state.signals = signals;
        drop(state);
        let mut placed = self.place();
        placed.any |= is_new;
        placed
    }

    /// Places the watches that are missing and removes those that are not needed.
    fn place(&mut self) -> Placed {
        let mut fresh = Vec::new();
        let mut limited = None;
        if self.watcher.is_some()
            && let Err(error) = self.bring_about(&mut fresh)
        {
            limited = self.limit(&error);
            // The tree gives way to single files; if there are no watches for them either,
            // nothing can be done about it.
            fresh.clear();
            let _ = self.bring_about(&mut fresh);
        }
        let state = self.told.lock();
        let mut look = Vec::new();
        for folder in &fresh {
            if state.tree.contains(folder) {
                look.push(folder.clone());
            } else {
                let below = state.tracked.iter().filter(|path| path.starts_with(folder));
                look.extend(below.map(Path::to_owned));
            }
        }
        Placed {
            any: !fresh.is_empty(),
            look,
            limited,
        }
    }

    /// Makes the watches those that are wanted; `fresh` gets the folders that had none before.
    ///
    /// # Errors
    /// The system has no more watches, or does not watch one of the folders.
    fn bring_about(&mut self, fresh: &mut Vec<PathBuf>) -> notify::Result<()> {
        let wanted = self.wanted();
        let state = self.told.lock();
        let unwanted: Vec<PathBuf> = state.watched.difference(&wanted).cloned().collect();
        let mut missing: Vec<PathBuf> = wanted.difference(&state.watched).cloned().collect();
        drop(state);
        for folder in &unwanted {
            self.remove(folder);
        }
        missing.sort();
        for folder in missing {
            if self.add(&folder)? {
                fresh.push(folder);
            }
        }
        Ok(())
    }

    /// Returns the folders that should have a watch.
    fn wanted(&self) -> HashSet<PathBuf> {
        let state = self.told.lock();
        let single = state.tracked.iter().chain(state.signals.iter());
        let single: Vec<PathBuf> = single.map(Path::to_owned).collect();
        let mut wanted = match self.limited.is_none() {
            true if PER_FOLDER => state.tree.clone(),
            true => HashSet::from([self.root.clone()]),
            false => HashSet::new(),
        };
        // Whoever tells must not wait while the disk is asked.
        drop(state);
        let is_covered = |file: &Path| !PER_FOLDER && file.starts_with(&self.root);
        let single = single
            .iter()
            .filter(|file| self.limited.is_some() || !is_covered(file));
        wanted.extend(single.filter_map(|file| nearest_folder(file)));
        wanted
    }

    /// Watches a folder; returns whether that was possible.
    ///
    /// # Errors
    /// The system has no more watches, or does not watch there.
    fn add(&mut self, folder: &Path) -> notify::Result<bool> {
        let Some(watcher) = &mut self.watcher else {
            return Ok(false);
        };
        if self.told.lock().watched.len() >= self.cap {
            return Err(notify::Error::new(ErrorKind::MaxFilesWatch));
        }
        let mode = match !PER_FOLDER && folder == self.root {
            true => RecursiveMode::Recursive,
            false => RecursiveMode::NonRecursive,
        };
        // Before the watch: the folder may be gone again before its name is in the set.
        self.told.lock().watched.insert(folder.to_owned());
        let error = match watcher.watch(folder, mode) {
            Ok(()) => return Ok(true),
            Err(error) => error,
        };
        self.told.lock().watched.remove(folder);
        match &error.kind {
            // Then the walk does not see what is in it either.
            ErrorKind::PathNotFound => Ok(false),
            ErrorKind::Io(io) if is_closed(io) => Ok(false),
            _ => Err(error),
        }
    }

    fn remove(&mut self, folder: &Path) {
        self.told.lock().watched.remove(folder);
        if let Some(watcher) = &mut self.watcher {
            // One that was moved or deleted has none any more.
            let _ = watcher.unwatch(folder);
        }
    }

    /// Notes that not everything is watched; returns why, if that is news.
    fn limit(&mut self, error: &notify::Error) -> Option<String> {
        if self.limited.is_some() {
            return None;
        }
        self.limited = Some(words(&self.root, error));
        self.told.lock().is_limited = true;
        // Whoever waits for the watches learns that way that it has to compare.
        self.told.look_at_everything();
        self.limited.clone()
    }
}

/// Returns the folder of a file, or the nearest one above it that is there.
fn nearest_folder(file: &Path) -> Option<PathBuf> {
    let folder = file.ancestors().skip(1).find(|folder| folder.is_dir())?;
    Some(folder.to_owned())
}

/// Returns whether a folder is gone, or may not be read.
fn is_closed(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied
    )
}

/// Returns why a project cannot be watched, what that means, and the next step.
fn words(root: &Path, error: &notify::Error) -> String {
    let raw = |error: &io::Error| error.raw_os_error();
    let is = |error: &io::Error, errno: Errno| raw(error) == Some(errno.raw_os_error());
    let (why, step) = match &error.kind {
        ErrorKind::MaxFilesWatch => (
            "the system has no more watches for files".to_owned(),
            setting("max_user_watches"),
        ),
        ErrorKind::Io(io) if is(io, Errno::NOSPC) => (
            "the system has no more watches for files".to_owned(),
            setting("max_user_watches"),
        ),
        ErrorKind::Io(io) if is(io, Errno::MFILE) => (
            "the system has no more inotify instances".to_owned(),
            setting("max_user_instances"),
        ),
        ErrorKind::Io(io) => (io.to_string(), "see the log (:Acp log)".to_owned()),
        _ => (error.to_string(), "see the log (:Acp log)".to_owned()),
    };
    format!(
        "Not all of {} can be watched: {why}. While a turn runs its files are compared every \
         2 seconds instead, else when a turn begins; {step}.",
        root.display()
    )
}

/// Returns how a limit of inotify is raised.
fn setting(name: &str) -> String {
    let mut words = format!("raise fs.inotify.{name}");
    let now = std::fs::read_to_string(format!("/proc/sys/fs/inotify/{name}"));
    if let Some(now) = now.ok().and_then(|now| now.trim().parse::<u64>().ok()) {
        let more = now.saturating_mul(4);
        // Writing to a String cannot fail.
        let _ = write!(
            words,
            " (now {now}): `sudo sysctl fs.inotify.{name}={more}`"
        );
    }
    words.push_str(", then restart Neovim");
    words
}
