//! Places the watches of a project: on the folders of its tree, the folders of tracked files
//! elsewhere, and those of git's files that signal a commit.
//!
//! On Linux each folder has its own watch; on macOS one watch on the root covers the tree.
//!
//! If the system refuses a watch, all watches of the tree are removed: other programs need watches
//! too, and full comparisons replace them. The watches of tracked files stay as far as possible.
//!
//! Invariant: each newly watched folder is returned to the caller, which looks at it again, because
//! files may have changed before the watch was placed.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::{ErrorKind, RecommendedWatcher, RecursiveMode, Watcher};
use rustix::io::Errno;

use super::notifications::{Files, Notifications};
use crate::cookie::Cookie;
use crate::guard::guarded_call;
use acp_edge::inbox::Inbox;

/// Whether each folder needs its own watch.
const PER_FOLDER: bool = !cfg!(target_os = "macos");

/// The watches of one project.
#[derive(Debug)]
pub(super) struct Watch {
    root: PathBuf,
    notifications: Arc<Notifications>,
    /// `None` if the system has none.
    watcher: Option<RecommendedWatcher>,
    /// Maximum number of watches.
    cap: usize,
    inbox: Inbox,
    /// Why not everything is watched.
    limited: Option<String>,
    /// How often all watches were compared with those wanted.
    #[cfg(test)]
    comparisons: usize,
}

/// The result of changing the watches.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Placed {
    /// Watches were added, or serve another purpose now; earlier notifications may have been
    /// missed.
    pub(super) any: bool,
    /// The project paths that this concerns.
    pub(super) look: Vec<PathBuf>,
    /// Why not everything can be watched any longer; reported once.
    pub(super) limited: Option<String>,
}

impl Watch {
    /// Returns the watches of a project; none are placed yet, and at most `cap` will be.
    pub(super) fn new(
        root: &Path,
        cap: usize,
        notifications: Arc<Notifications>,
        inbox: Inbox,
    ) -> Self {
        Self {
            root: root.to_owned(),
            notifications,
            watcher: None,
            cap,
            inbox,
            limited: None,
            #[cfg(test)]
            comparisons: 0,
        }
    }

    /// Starts watching a tree.
    pub(super) fn start(&mut self, folders: impl IntoIterator<Item = PathBuf>) -> Placed {
        let (notifications, inbox) = (Arc::clone(&self.notifications), self.inbox.clone());
        // Runs on a thread of the watcher.
        let take = move |event| {
            acp_edge::slow::pause("watch");
            guarded_call("what a watch tells", &inbox, || notifications.take(event));
        };
        // Links are not followed: their targets are watched where they are, or not.
        let config = notify::Config::default().with_follow_symlinks(false);
        let watcher = RecommendedWatcher::new(take, config);
        self.notifications.lock().tree = folders.into_iter().collect();
        match watcher {
            Ok(watcher) => {
                self.watcher = Some(watcher);
                self.place_cookie();
                self.place()
            }
            Err(error) => Placed {
                limited: self.limit(&error),
                ..Placed::default()
            },
        }
    }

    /// Adds and removes folders of the tree.
    pub(super) fn follow(&mut self, new: Vec<PathBuf>, gone: &[PathBuf]) -> Placed {
        let mut state = self.notifications.lock();
        for folder in gone {
            state.tree.remove(folder);
        }
        state.tree.extend(new);
        let lost = std::mem::take(&mut state.lost);
        // Watches may have disappeared without notice.
        let all = std::mem::take(&mut state.overflowed) && cfg!(target_os = "linux");
        let is_lost = |at: &&PathBuf| all || at.ancestors().any(|above| lost.contains(above));
        let away: Vec<PathBuf> = match all || !lost.is_empty() {
            true => state.watched.iter().filter(is_lost).cloned().collect(),
            false => vec![],
        };
        drop(state);
        if all {
            self.place_cookie();
        }
        for folder in &away {
            self.remove(folder);
        }
        self.place()
    }

    /// Adds files to watch, wherever they are.
    pub(super) fn track(&mut self, paths: &[PathBuf]) -> Placed {
        let mut state = self.notifications.lock();
        paths.iter().for_each(|path| state.tracked.add(path));
        let is_watched = |path: &PathBuf| {
            let folder = path.parent();
            folder.is_some_and(|folder| state.watched.contains(folder))
        };
        // An agent names hundreds of files, and finding their folders on disk takes long.
        if paths.iter().all(is_watched) {
            return Placed::default();
        }
        drop(state);
        self.place()
    }

    /// Sets the files of git to watch, replacing the earlier ones.
    pub(super) fn listen<'a>(&mut self, signals: impl Iterator<Item = &'a Path>) -> Placed {
        let signals = Files::new(signals.map(Path::to_owned));
        let mut state = self.notifications.lock();
        let is_new = state.signals != signals;
        state.signals = signals;
        drop(state);
        let mut placed = self.place();
        placed.any |= is_new;
        placed
    }

    /// Places a new cookie. Without one, a writer that is reported late is not waited for.
    fn place_cookie(&mut self) {
        if PER_FOLDER
            && let Some(watcher) = &mut self.watcher
            && let Ok(cookie) = Cookie::place(watcher)
            && let Some(before) = self.notifications.set_cookie(cookie)
        {
            // The next one may get its path.
            let _ = watcher.unwatch(before.path());
        }
    }

    /// Adds missing watches and removes unneeded ones.
    fn place(&mut self) -> Placed {
        let mut fresh = Vec::new();
        let mut limited = None;
        if self.watcher.is_some()
            && let Err(error) = self.bring_about(&mut fresh)
        {
            limited = self.limit(&error);
            // Watches for single files matter more than the tree's. If they fail as well, nothing
            // more can be done.
            fresh.clear();
            let _ = self.bring_about(&mut fresh);
        }
        let state = self.notifications.lock();
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

    /// Makes the watches match those wanted; adds newly watched folders to `fresh`.
    ///
    /// # Errors
    /// The system has no watch left, or cannot watch one of the folders.
    fn bring_about(&mut self, fresh: &mut Vec<PathBuf>) -> notify::Result<()> {
        #[cfg(test)]
        {
            self.comparisons += 1;
        }
        let wanted = self.wanted();
        let state = self.notifications.lock();
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

    /// Returns the folders that should be watched.
    fn wanted(&self) -> HashSet<PathBuf> {
        let state = self.notifications.lock();
        let single = state.tracked.iter().chain(state.signals.iter());
        let single: Vec<PathBuf> = single.map(Path::to_owned).collect();
        let mut wanted = match self.limited.is_none() {
            true if PER_FOLDER => state.tree.clone(),
            true => HashSet::from([self.root.clone()]),
            false => HashSet::new(),
        };
        // Notifications must not wait while the disk is read.
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
    /// The system has no watch left, or cannot watch this folder.
    fn add(&mut self, folder: &Path) -> notify::Result<bool> {
        let Some(watcher) = &mut self.watcher else {
            return Ok(false);
        };
        if self.notifications.lock().watched.len() >= self.cap {
            return Err(notify::Error::new(ErrorKind::MaxFilesWatch));
        }
        let mode = match !PER_FOLDER && folder == self.root {
            true => RecursiveMode::Recursive,
            false => RecursiveMode::NonRecursive,
        };
        // Before the watch is placed, because the folder may be removed right after.
        self.notifications.lock().watched.insert(folder.to_owned());
        let error = match watcher.watch(folder, mode) {
            Ok(()) => return Ok(true),
            Err(error) => error,
        };
        self.notifications.lock().watched.remove(folder);
        match &error.kind {
            // A walk does not see such a folder's contents either.
            ErrorKind::PathNotFound => Ok(false),
            ErrorKind::Io(io) if is_closed(io) => Ok(false),
            _ => Err(error),
        }
    }

    fn remove(&mut self, folder: &Path) {
        self.notifications.lock().watched.remove(folder);
        if let Some(watcher) = &mut self.watcher {
            // A moved or removed folder has no watch any longer.
            let _ = watcher.unwatch(folder);
        }
    }

    /// Records that not everything is watched; returns the reason the first time.
    fn limit(&mut self, error: &notify::Error) -> Option<String> {
        if self.limited.is_some() {
            return None;
        }
        self.limited = Some(words(&self.root, error));
        self.notifications.lock().is_limited = true;
        // Wakes the worker, which then knows that it must compare.
        self.notifications.look_at_everything();
        self.limited.clone()
    }
}

/// Returns the nearest existing folder above a file.
fn nearest_folder(file: &Path) -> Option<PathBuf> {
    let folder = file.ancestors().skip(1).find(|folder| folder.is_dir())?;
    Some(folder.to_owned())
}

/// Returns whether a folder is gone or unreadable.
fn is_closed(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied
    )
}

/// Returns why a project cannot be watched, the consequence, and the next step.
fn words(root: &Path, error: &notify::Error) -> String {
    let raw = |error: &io::Error| error.raw_os_error();
    let is = |error: &io::Error, errno: Errno| raw(error) == Some(errno.raw_os_error());
    let (why, step) = match &error.kind {
        ErrorKind::MaxFilesWatch => (
            "the system has no file watches left".to_owned(),
            setting("max_user_watches"),
        ),
        ErrorKind::Io(io) if is(io, Errno::NOSPC) => (
            "the system has no file watches left".to_owned(),
            setting("max_user_watches"),
        ),
        ErrorKind::Io(io) if is(io, Errno::MFILE) => (
            "the system has no inotify instances left".to_owned(),
            setting("max_user_instances"),
        ),
        ErrorKind::Io(io) => (io.to_string(), "see the log (:Acp log)".to_owned()),
        _ => (error.to_string(), "see the log (:Acp log)".to_owned()),
    };
    format!(
        "Not all of {} can be watched: {why}. Instead, its files are compared every 2 seconds during \
         a turn and when a turn begins; {step}.",
        root.display()
    )
}

/// Returns the command that raises an inotify limit.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_a_watched_folder_are_tracked_without_comparing_all_watches() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path();
        let hidden = root.join("hidden");
        std::fs::create_dir(&hidden).expect("a folder");
        let (inbox, _outlet) = acp_edge::inbox::inbox();
        let log = root.join("log");
        let notifications = Arc::new(Notifications::new(root, &log, Arc::default()));
        let mut watch = Watch::new(root, 100, notifications, inbox);
        watch.start([root.to_owned()]);
        assert_eq!(watch.comparisons, 1);
        for n in 0..50 {
            let files = [root.join(n.to_string()), hidden.join(n.to_string())];
            let placed = watch.track(&files);
            assert_eq!(placed.any, n == 0 && PER_FOLDER);
        }
        // The other folder is watched with the first of its files.
        assert_eq!(watch.comparisons, if PER_FOLDER { 2 } else { 51 });
        assert!(watch.notifications.lock().tracked.iter().count() == 100);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn looks_are_at_everything_after_a_loss_until_all_watches_are_placed_again() {
        use crate::project::gather::Where;
        use notify::EventKind;
        use notify::event::Flag;

        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path();
        let (inbox, _outlet) = acp_edge::inbox::inbox();
        let log = root.join("log");
        let notifications = Arc::new(Notifications::new(root, &log, Arc::default()));
        let mut watch = Watch::new(root, 100, Arc::clone(&notifications), inbox);
        watch.start([root.to_owned()]);
        assert_eq!(notifications.news().tree, None);
        let lost = notify::Event::new(EventKind::Other).set_flag(Flag::Rescan);
        notifications.take(Ok(lost));
        for _ in 0..2 {
            assert_eq!(notifications.news().tree, Some(Where::Everything));
        }
        watch.follow(vec![], &[]);
        assert_eq!(notifications.changed().tree, None);
    }
}
