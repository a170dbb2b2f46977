//! Filters the system's notifications: relevant ones are gathered, others dropped immediately.
//!
//! Invariant: only changes of relevant files wake a worker; not reads, not temporary files of this
//! client, not git's internal files except the signals.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use notify::EventKind;
use notify::event::{AccessKind, AccessMode, CreateKind, ModifyKind, RenameMode};
use tokio::sync::Notify;

use super::gather::{Activity, Due, Gather, PostponedPaths};
use crate::cookie::Cookie;
use crate::quiescence::Writers;
use crate::write;
use acp_edge::panics::lock;

/// The notifications for a project.
#[derive(Debug)]
pub(super) struct Notifications {
    root: PathBuf,
    /// `root` with links resolved, as the system may spell it.
    real: PathBuf,
    /// Our own log, with links resolved: each look writes to it.
    log: PathBuf,
    writers: Arc<Writers>,
    state: Mutex<State>,
    /// Notified when a look becomes due earlier.
    sooner: Notify,
}

/// The relevant paths, and the changes gathered.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) gather: Gather,
    /// The folders of the tree; every direct entry is relevant.
    pub(super) tree: HashSet<PathBuf>,
    pub(super) tracked: Files,
    pub(super) signals: Files,
    /// The watched folders.
    pub(super) watched: HashSet<PathBuf>,
    /// Folders that were moved or removed; watches below them no longer work.
    pub(super) lost: HashSet<PathBuf>,
    /// Notifications were lost, and watches may be gone too.
    pub(super) overflowed: bool,
    /// Not everything can be watched.
    pub(super) is_limited: bool,
    /// Present while the system reports changes.
    cookie: Option<Arc<Cookie>>,
}

/// Single files and their parent folders, whose creation or removal affects them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Files {
    files: HashSet<PathBuf>,
    above: HashSet<PathBuf>,
}

impl Files {
    pub(super) fn new(files: impl IntoIterator<Item = PathBuf>) -> Self {
        let files: HashSet<PathBuf> = files.into_iter().collect();
        let above = files.iter().flat_map(|file| file.ancestors().skip(1));
        let above = above.map(Path::to_owned).collect();
        Self { files, above }
    }

    pub(super) fn add(&mut self, file: &Path) {
        let above = file.ancestors().skip(1).map(Path::to_owned);
        self.above.extend(above);
        self.files.insert(file.to_owned());
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(PathBuf::as_path)
    }

    fn concern(&self, path: &Path) -> bool {
        self.files.contains(path) || self.lie_below(path)
    }

    fn lie_below(&self, folder: &Path) -> bool {
        self.above.contains(folder)
    }
}

impl State {
    fn has_watches_below(&self, folder: &Path) -> bool {
        let single = [&self.tracked, &self.signals];
        self.watched.contains(folder) || single.iter().any(|files| files.lie_below(folder))
    }
}

impl Notifications {
    pub(super) fn new(root: &Path, log: &Path, writers: Arc<Writers>) -> Self {
        Self {
            writers,
            log: acp_edge::paths::resolved(log),
            root: root.to_owned(),
            real: acp_edge::paths::resolved(root),
            state: Mutex::default(),
            sooner: Notify::new(),
        }
    }

    /// Waits until a look is due and takes its scope; waits forever if nothing happens.
    /// Cancel-safe.
    pub(super) async fn due(&self) -> Due {
        loop {
            let due = self.lock().gather.due();
            match due {
                None => self.sooner.notified().await,
                Some(due) if Instant::now() >= due => return self.lock().gather.take(),
                Some(due) => tokio::select! {
                    () = tokio::time::sleep_until(due.into()) => {}
                    () = self.sooner.notified() => {}
                },
            }
        }
    }

    /// Schedules a look at everything.
    pub(super) fn look_at_everything(&self) {
        self.lock().gather.everything(Instant::now());
        self.sooner.notify_one();
    }

    /// Sets the cookie that is watched with the files; returns the one before.
    pub(super) fn set_cookie(&self, cookie: Cookie) -> Option<Arc<Cookie>> {
        let cookie = Arc::new(cookie);
        // Before anyone waits for its report.
        let before = self.lock().cookie.replace(Arc::clone(&cookie));
        self.writers.add_watcher(&cookie);
        before
    }

    /// Takes the scope of a look at all that has changed until now; `Everything` if the system does
    /// not report all of it. Blocks.
    pub(super) fn changed(&self) -> Due {
        let due = self.news();
        let state = self.lock();
        match state.cookie.is_some() && !state.is_limited && !state.overflowed {
            true => due,
            false => due.everywhere(),
        }
    }

    /// Takes the scope of a look at the changes that the system reports; `Everything` if it has not
    /// reported those until now in time. Blocks.
    pub(super) fn news(&self) -> Due {
        let cookie = self.lock().cookie.clone();
        let is_late = cookie.is_some_and(|cookie| !cookie.catch_up());
        let due = self.lock().gather.take();
        match is_late {
            true => due.everywhere(),
            false => due,
        }
    }

    /// Handles a notification of the system.
    pub(super) fn take(&self, event: notify::Result<notify::Event>) {
        let cookie = self.lock().cookie.clone();
        if let (Some(cookie), Ok(event)) = (cookie, &event)
            && event.paths.iter().any(|path| path == cookie.path())
        {
            return cookie.note(event.kind);
        }
        let now = Instant::now();
        self.change(|state| match event {
            Ok(event) if !event.need_rescan() => self.sift(state, &event, now),
            // Notifications were lost, or another error occurred.
            Ok(_) | Err(_) => {
                state.overflowed = true;
                if let Some(cookie) = &state.cookie {
                    cookie.lose();
                }
                self.writers.forget();
                state.gather.everything(now);
                state.gather.repository(now);
            }
        });
    }

    /// Sets the postponed paths.
    pub(super) fn hold(&self, held: Option<PostponedPaths>) {
        self.change(|state| state.gather.hold(held));
    }

    /// Changes the state, and wakes the waiter if a look becomes due earlier.
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        let before = state.gather.due();
        change(&mut state);
        let after = state.gather.due();
        drop(state);
        let is_sooner = match (before, after) {
            (None, Some(_)) => true,
            (Some(before), Some(after)) => after < before,
            (_, None) => false,
        };
        if is_sooner {
            self.sooner.notify_one();
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn sift(&self, state: &mut State, event: &notify::Event, now: Instant) {
        let Some(activity) = activity(event.kind) else {
            return;
        };
        for raw in &event.paths {
            if is_temporary(raw) || self.is_log(raw) {
                continue;
            }
            self.note_writer(event.kind, raw);
            if state.signals.concern(raw) {
                state.gather.repository(now);
            }
            if is_gone(event.kind) && state.has_watches_below(raw) {
                state.lost.insert(raw.clone());
            }
            let path = self.spelled(raw);
            if state.tracked.concern(&path) || self.is_in_tree(state, &path) {
                state.gather.path(&path, activity, now);
            }
        }
    }

    /// Records which files a program has open for writing.
    fn note_writer(&self, kind: EventKind, path: &Path) {
        match kind {
            EventKind::Create(CreateKind::File) => self.writers.note_created(path),
            EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Any) => {
                self.writers.note_written(path)
            }
            EventKind::Access(AccessKind::Close(AccessMode::Write))
            | EventKind::Remove(_)
            | EventKind::Modify(ModifyKind::Name(_)) => self.writers.note_closed(path),
            _ => {}
        }
    }

    /// Returns whether a path is a folder of the tree or directly inside one.
    fn is_in_tree(&self, state: &State, path: &Path) -> bool {
        let is_git = |path: &Path| path.components().any(|part| part.as_os_str() == ".git");
        let is_below = path
            .strip_prefix(&self.root)
            .is_ok_and(|path| !is_git(path));
        let parent = path.parent();
        is_below && (state.tree.contains(path) || parent.is_some_and(|it| state.tree.contains(it)))
    }

    fn is_log(&self, path: &Path) -> bool {
        match path.strip_prefix(&self.root) {
            Ok(rest) => self.log.strip_prefix(&self.real) == Ok(rest),
            Err(_) => path == self.log,
        }
    }

    /// Returns a path as spelled below the root.
    fn spelled(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.real) {
            Ok(rest) if !path.starts_with(&self.root) => self.root.join(rest),
            _ => path.to_owned(),
        }
    }
}

/// Returns what an event means for a path; `None` if nothing changed.
fn activity(kind: EventKind) -> Option<Activity> {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Some(Activity::Done),
        EventKind::Access(_) => None,
        EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Any) => Some(Activity::Written),
        _ => Some(Activity::Done),
    }
}

fn is_gone(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From))
    )
}

/// Returns whether a file has the name of a temporary file of this client, which is no reason to look.
/// Such a file of another program is found by the next look at everything.
fn is_temporary(path: &Path) -> bool {
    path.file_name().is_some_and(write::is_temporary_of_any)
}

#[cfg(test)]
mod tests {
    use notify::event::{DataChange, Flag, MetadataKind, RemoveKind};

    use super::*;
    use crate::project::gather::Where;

    fn notifications() -> Notifications {
        let log = Path::new("/p/src/acp.log");
        Notifications::new(Path::new("/p"), log, Arc::default())
    }

    /// Sends one event in a project with folders `/p` and `/p/src` and a tracked file
    /// `/p/target/log`, and compares the due look: paths, "everything", "repository", or nothing.
    #[track_caller]
    fn check(kind: EventKind, path: &str, due: &[&str]) {
        let notifications = notifications();
        {
            let mut state = notifications.lock();
            state.tree = ["/p", "/p/src"].map(PathBuf::from).into();
            state.tracked = Files::new([PathBuf::from("/p/target/log")]);
            state.signals = Files::new([PathBuf::from("/p/.git/refs/heads/a/b")]);
        }
        notifications.take(Ok(notify::Event::new(kind).add_path(PathBuf::from(path))));
        compare(&notifications, due);
    }

    #[track_caller]
    fn compare(notifications: &Notifications, due: &[&str]) {
        let is_due = notifications.lock().gather.due().is_some();
        let taken = notifications.lock().gather.take();
        let mut found = match taken.tree {
            None => vec![],
            Some(Where::Everything) => vec!["everything".to_owned()],
            Some(Where::At(paths)) => paths.iter().map(|p| p.display().to_string()).collect(),
        };
        if taken.repository {
            found.push("repository".to_owned());
        }
        assert_eq!(found, due);
        assert_eq!(is_due, !due.is_empty());
    }

    const WRITTEN: EventKind = EventKind::Modify(ModifyKind::Data(DataChange::Any));
    const CREATED: EventKind = EventKind::Create(CreateKind::Folder);

    #[test]
    fn changes_in_the_tree_cause_a_look() {
        check(WRITTEN, "/p/src/a", &["/p/src/a"]);
        check(CREATED, "/p/new", &["/p/new"]);
        check(EventKind::Remove(RemoveKind::Folder), "/p/src", &["/p/src"]);
        let mode = EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any));
        check(mode, "/p/src/a", &["/p/src/a"]);
    }

    #[test]
    fn reads_and_irrelevant_files_cause_no_look() {
        let open = EventKind::Access(AccessKind::Open(AccessMode::Any));
        let read = EventKind::Access(AccessKind::Close(AccessMode::Read));
        check(open, "/p/src/a", &[]);
        check(read, "/p/src/a", &[]);
        check(WRITTEN, "/p/src/.acp-abcDEF012345.tmp", &[]);
        check(WRITTEN, "/p/src/acp.log", &[]);
        check(WRITTEN, "/p/target/other", &[]);
        check(WRITTEN, "/elsewhere/a", &[]);
        check(WRITTEN, "/p/.git/COMMIT_EDITMSG", &[]);
    }

    #[test]
    fn tracked_files_and_their_parent_folders_cause_a_look() {
        check(WRITTEN, "/p/target/log", &["/p/target/log"]);
        check(CREATED, "/p/target", &["/p/target"]);
    }

    #[test]
    fn signal_files_of_git_cause_a_query() {
        check(WRITTEN, "/p/.git/refs/heads/a/b", &["repository"]);
        check(CREATED, "/p/.git/refs/heads/a", &["repository"]);
        check(WRITTEN, "/p/.git/refs/heads/c", &[]);
    }

    #[test]
    fn an_overflow_means_everything() {
        let notifications = notifications();
        notifications.take(Ok(
            notify::Event::new(EventKind::Other).set_flag(Flag::Rescan)
        ));
        assert!(notifications.lock().overflowed);
        compare(&notifications, &["everything", "repository"]);
    }
}
