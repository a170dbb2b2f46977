//! What the system tells of watched folders, sifted: what is of interest is gathered, the rest is
//! dropped where it comes in.
//!
//! Invariant: nothing but a change of a file that somebody cares for makes anybody wake up: no
//! reading, no temporary file of ours, nothing that git does to itself but what it was asked about.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use notify::EventKind;
use notify::event::{AccessKind, AccessMode, CreateKind, ModifyKind, RenameMode};
use tokio::sync::Notify;

use super::gather::{Deed, Due, Gather, Held};
use crate::still::Writers;
use crate::write::TEMP_PREFIX;

/// What is told of a project's folders, and of others it cares for.
#[derive(Debug)]
pub(super) struct Told {
    root: PathBuf,
    /// `root` as the system may spell it.
    real: PathBuf,
    /// Our own log, links resolved: each look writes a line there.
    log: PathBuf,
    writers: Arc<Writers>,
    state: Mutex<State>,
    /// The time to look has come nearer.
    sooner: Notify,
}

/// What is of interest, and what has come of it.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) gather: Gather,
    /// The folders of the tree: everything right in them counts.
    pub(super) tree: HashSet<PathBuf>,
    pub(super) tracked: Files,
    pub(super) signals: Files,
    /// The folders that have a watch.
    pub(super) watched: HashSet<PathBuf>,
    /// Folders that were moved or deleted: what is below them has no watch any more.
    pub(super) lost: HashSet<PathBuf>,
    /// The system could not tell everything: watches may be gone, too.
    pub(super) overflowed: bool,
    /// Not everything can be watched.
    pub(super) is_limited: bool,
}

/// Single files, and the folders above them, whose coming and going may be theirs.
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

impl Told {
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

    /// Waits until it is time to look, and takes out at what; for ever, if nothing happens.
    ///
    /// May be dropped and called again: nothing is lost.
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

    /// Has everything looked at, as soon as nothing else is told.
    pub(super) fn look_at_everything(&self) {
        self.lock().gather.everything(Instant::now());
        self.sooner.notify_one();
    }

    /// Takes in what the system tells.
    pub(super) fn take(&self, told: notify::Result<notify::Event>) {
        let now = Instant::now();
        self.change(|state| match told {
            Ok(event) if !event.need_rescan() => self.sift(state, &event, now),
            // It has lost count, or something else has gone wrong.
            Ok(_) | Err(_) => {
                state.overflowed = true;
                state.gather.everything(now);
                state.gather.repository(now);
            }
        });
    }

    /// Says what is to be looked at again, and when.
    pub(super) fn hold(&self, held: Option<Held>) {
        self.change(|state| state.gather.hold(held));
    }

    /// Changes what is known, and wakes who waits if it is time to look sooner for that.
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
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sift(&self, state: &mut State, event: &notify::Event, now: Instant) {
        let Some(deed) = deed(event.kind) else {
            return;
        };
        for told in &event.paths {
            if is_temporary(told) || self.is_log(told) {
                continue;
            }
            self.note_writer(event.kind, told);
            if state.signals.concern(told) {
                state.gather.repository(now);
            }
            if is_gone(event.kind) && state.has_watches_below(told) {
                state.lost.insert(told.clone());
            }
            let path = self.spelt(told);
            if state.tracked.concern(&path) || self.is_in_tree(state, &path) {
                state.gather.path(&path, deed, now);
            }
        }
    }

    /// Takes note of who begins to write a file, and who is done.
    fn note_writer(&self, kind: EventKind, path: &Path) {
        match kind {
            EventKind::Create(CreateKind::File) => self.writers.makes(path),
            EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Any) => self.writers.writes(path),
            EventKind::Access(AccessKind::Close(AccessMode::Write))
            | EventKind::Remove(_)
            | EventKind::Modify(ModifyKind::Name(_)) => self.writers.done(path),
            _ => {}
        }
    }

    /// Returns whether a path is a folder of the tree, or lies right in one.
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

    /// Returns a path as it is spelt below the root.
    fn spelt(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.real) {
            Ok(rest) if !path.starts_with(&self.root) => self.root.join(rest),
            _ => path.to_owned(),
        }
    }
}

/// Returns what an event says of a path; `None` when nothing has changed there.
fn deed(kind: EventKind) -> Option<Deed> {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Some(Deed::Done),
        EventKind::Access(_) => None,
        EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Any) => Some(Deed::Written),
        _ => Some(Deed::Done),
    }
}

fn is_gone(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From))
    )
}

/// Returns whether a file is one of ours that nobody shall see.
fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
    name.starts_with(TEMP_PREFIX.as_bytes()) && name.ends_with(b".tmp")
}

#[cfg(test)]
mod tests {
    use notify::event::{DataChange, Flag, MetadataKind, RemoveKind};

    use super::*;
    use crate::project::gather::Where;

    fn told() -> Told {
        let log = Path::new("/p/src/acp.log");
        Told::new(Path::new("/p"), log, Arc::default())
    }

    /// Tells one event in a project of `/p` and `/p/src`, with a tracked file `/p/target/log`, and
    /// compares what is due: paths, "everything", "repository", or nothing.
    #[track_caller]
    fn check(kind: EventKind, path: &str, due: &[&str]) {
        let told = told();
        {
            let mut state = told.lock();
            state.tree = ["/p", "/p/src"].map(PathBuf::from).into();
            state.tracked = Files::new([PathBuf::from("/p/target/log")]);
            state.signals = Files::new([PathBuf::from("/p/.git/refs/heads/a/b")]);
        }
        told.take(Ok(notify::Event::new(kind).add_path(PathBuf::from(path))));
        compare(&told, due);
    }

    #[track_caller]
    fn compare(told: &Told, due: &[&str]) {
        let is_due = told.lock().gather.due().is_some();
        let taken = told.lock().gather.take();
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
    fn what_lies_in_the_tree_counts() {
        check(WRITTEN, "/p/src/a", &["/p/src/a"]);
        check(CREATED, "/p/new", &["/p/new"]);
        check(EventKind::Remove(RemoveKind::Folder), "/p/src", &["/p/src"]);
        let mode = EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any));
        check(mode, "/p/src/a", &["/p/src/a"]);
    }

    #[test]
    fn reading_and_strangers_wake_nobody() {
        let open = EventKind::Access(AccessKind::Open(AccessMode::Any));
        let read = EventKind::Access(AccessKind::Close(AccessMode::Read));
        check(open, "/p/src/a", &[]);
        check(read, "/p/src/a", &[]);
        check(WRITTEN, "/p/src/.acp-abc.tmp", &[]);
        check(WRITTEN, "/p/src/acp.log", &[]);
        check(WRITTEN, "/p/target/other", &[]);
        check(WRITTEN, "/elsewhere/a", &[]);
        check(WRITTEN, "/p/.git/COMMIT_EDITMSG", &[]);
    }

    #[test]
    fn tracked_files_and_the_folders_above_them_count() {
        check(WRITTEN, "/p/target/log", &["/p/target/log"]);
        check(CREATED, "/p/target", &["/p/target"]);
    }

    #[test]
    fn what_git_was_asked_about_counts() {
        check(WRITTEN, "/p/.git/refs/heads/a/b", &["repository"]);
        check(CREATED, "/p/.git/refs/heads/a", &["repository"]);
        check(WRITTEN, "/p/.git/refs/heads/c", &[]);
    }

    #[test]
    fn an_overflow_means_everything() {
        let told = told();
        told.take(Ok(
            notify::Event::new(EventKind::Other).set_flag(Flag::Rescan)
        ));
        assert!(told.lock().overflowed);
        compare(&told, &["everything", "repository"]);
    }
}
