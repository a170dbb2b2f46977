//! Debounces notifications of the watches until it is time to look.
//!
//! One write to a file causes a few events, a build thousands: each burst becomes one look. It
//! happens after a quiet moment, a longer one while a file is open for writing, because
//! half-written files must not be reported; and no later than [`STORM`] after the first event, so
//! that a storm is seen while it lasts.
//!
//! Invariant: memory is bounded: many paths in one folder become the folder, and many folders
//! become the whole project.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::effort::Effort;

/// Quiet time before a look.
///
/// Notifications of later writes have not arrived yet, so looking sooner would miss them.
const QUIET: Duration = Duration::from_millis(30);

/// Quiet time while a file that was written to is open. Systems that do not report the end of a
/// write always use this.
const WRITING: Duration = Duration::from_millis(50);

/// Maximum delay from the first event to the look.
const STORM: Duration = Duration::from_millis(200);

/// Maximum rest owed: a few looks in quick succession are not delayed.
const OWED: Duration = Duration::from_secs(2);

/// Maximum number of paths tracked per folder.
const PATHS: usize = 32;

/// Maximum number of folders tracked.
const FOLDERS: usize = 256;

/// What to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Where {
    Everything,
    /// Files, and folders with their contents; none contains another.
    At(BTreeSet<PathBuf>),
}

/// Paths that the last look postponed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PostponedPaths {
    pub(super) paths: BTreeSet<PathBuf>,
    pub(super) again: Instant,
}

/// Notifications since the last look.
#[derive(Debug, Default)]
pub(super) struct Gather {
    tree: Tree,
    /// Files that were written to and not closed since.
    open: HashSet<PathBuf>,
    /// Paths to look at again.
    held: Option<PostponedPaths>,
    /// Set when the user's repository may have new versions.
    repository: bool,
    first: Option<Instant>,
    last: Option<Instant>,
    /// When the rest owed for all looks ends.
    rested: Option<Instant>,
}

#[derive(Debug)]
enum Tree {
    Everything,
    /// Per folder: the changed names in it, or all of it.
    Folders(BTreeMap<PathBuf, Names>),
}

#[derive(Debug)]
enum Names {
    All,
    Some(BTreeSet<PathBuf>),
}

/// What happened to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    /// It was written to and may be written to again.
    Written,
    /// A writer closed it, or it was created, removed or replaced.
    Done,
}

/// A due look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Due {
    /// `None` if nothing changed in the tree.
    pub(super) tree: Option<Where>,
    pub(super) repository: bool,
}

impl Due {
    /// Returns the look with everything in its scope.
    pub(super) fn everywhere(self) -> Self {
        Self {
            tree: Some(Where::Everything),
            ..self
        }
    }
}

impl Gather {
    /// Records a change at a path.
    pub(super) fn path(&mut self, path: &Path, activity: Activity, now: Instant) {
        match activity {
            Activity::Written if self.open.len() < PATHS => {
                self.open.insert(path.to_owned());
            }
            Activity::Written => {}
            Activity::Done => {
                self.open.remove(path);
            }
        }
        self.tree.add(path);
        self.note(now);
    }

    /// Records that anything may have changed.
    pub(super) fn everything(&mut self, now: Instant) {
        self.tree = Tree::Everything;
        self.open.clear();
        self.note(now);
    }

    pub(super) fn repository(&mut self, now: Instant) {
        self.repository = true;
        self.note(now);
    }

    /// Returns when to look if nothing else arrives; `None` if nothing is pending.
    pub(super) fn due(&self) -> Option<Instant> {
        let again = self.held.as_ref().map(|held| held.again);
        let due = [self.due_by_told(), again].into_iter().flatten().min()?;
        let enough = self.rested.and_then(|rested| rested.checked_sub(OWED));
        Some(enough.map_or(due, |enough| due.max(enough)))
    }

    fn due_by_told(&self) -> Option<Instant> {
        let (first, last) = (self.first?, self.last?);
        let quiet = match self.open.is_empty() && cfg!(target_os = "linux") {
            true => QUIET,
            false => WRITING,
        };
        Some((last + quiet).min(first + STORM))
    }

    /// Takes the due look.
    pub(super) fn take(&mut self) -> Due {
        let rested = self.rested;
        let all = std::mem::take(self);
        self.rested = rested;
        let held = all.held.into_iter().flat_map(|held| held.paths);
        Due {
            tree: all.tree.into_where(held),
            repository: all.repository,
        }
    }

    /// Drops pending changes of the tree, because a full look is about to start.
    pub(super) fn covered(&mut self) {
        self.tree = Tree::default();
        self.held = None;
        self.open.clear();
        if !self.repository {
            (self.first, self.last) = (None, None);
        }
    }

    /// Sets the postponed paths, replacing the earlier ones.
    pub(super) fn hold(&mut self, held: Option<PostponedPaths>) {
        self.held = held;
    }

    /// Records the cost of the last look.
    pub(super) fn looked(&mut self, effort: Effort, now: Instant) {
        let from = self.rested.map_or(now, |rested| rested.max(now));
        self.rested = Some(from + effort.rest());
    }

    fn note(&mut self, now: Instant) {
        self.first.get_or_insert(now);
        self.last = Some(now);
    }
}

impl Default for Tree {
    fn default() -> Self {
        Tree::Folders(BTreeMap::new())
    }
}

impl Tree {
    fn add(&mut self, path: &Path) {
        let Tree::Folders(folders) = self else {
            return;
        };
        let (Some(folder), Some(_)) = (path.parent(), path.file_name()) else {
            *self = Tree::Everything;
            return;
        };
        let Some(names) = folders.get_mut(folder) else {
            if folders.len() == FOLDERS {
                *self = Tree::Everything;
            } else {
                let names = BTreeSet::from([path.to_owned()]);
                folders.insert(folder.to_owned(), Names::Some(names));
            }
            return;
        };
        if let Names::Some(some) = names {
            some.insert(path.to_owned());
            if some.len() > PATHS {
                *names = Names::All;
            }
        }
    }

    fn into_where(self, held: impl Iterator<Item = PathBuf>) -> Option<Where> {
        let Tree::Folders(folders) = self else {
            return Some(Where::Everything);
        };
        let paths = folders.into_iter().flat_map(|(folder, names)| match names {
            Names::All => BTreeSet::from([folder]),
            Names::Some(names) => names,
        });
        let mut all: Vec<PathBuf> = paths.chain(held).collect();
        // In path order, a folder comes right before its contents.
        all.sort();
        all.dedup_by(|path, kept| path.starts_with(kept));
        (!all.is_empty()).then(|| Where::At(all.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Feeds changes (milliseconds, path, deed) and compares the time and scope of the look.
    #[track_caller]
    fn check(note: &[(u32, &str, Activity)], due: u32, at: &[&str]) {
        let start = Instant::now();
        let mut gather = Gather::default();
        for &(ms, path, activity) in note {
            gather.path(Path::new(path), activity, start + MS * ms);
        }
        assert_eq!(gather.due(), Some(start + MS * due));
        let at = Where::At(at.iter().map(PathBuf::from).collect());
        assert_eq!(gather.take().tree, Some(at));
        assert_eq!(gather.due(), None, "what was taken is note once");
    }

    #[test]
    fn without_changes_no_look_is_due() {
        let mut gather = Gather::default();
        assert_eq!(gather.due(), None);
        let nothing = Due {
            tree: None,
            repository: false,
        };
        assert_eq!(gather.take(), nothing);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_look_waits_for_the_end_of_a_write() {
        use Activity::{Done, Written};
        check(&[(0, "/p/a", Done)], 30, &["/p/a"]);
        check(&[(0, "/p/a", Written)], 50, &["/p/a"]);
        check(&[(0, "/p/a", Written), (3, "/p/a", Done)], 33, &["/p/a"]);
        let two = [(0, "/p/a", Written), (3, "/p/b", Done)];
        check(&two, 53, &["/p/a", "/p/b"]);
    }

    #[test]
    fn a_storm_is_examined_while_it_lasts() {
        let storm: Vec<_> = (0..300).map(|ms| (ms, "/p/a", Activity::Written)).collect();
        check(&storm, 200, &["/p/a"]);
    }

    #[test]
    fn a_folder_includes_its_contents() {
        use Activity::Done;
        let note = [(0, "/p/a/x", Done), (0, "/p/a", Done), (0, "/p/ab", Done)];
        check(&note, quiet(), &["/p/a", "/p/ab"]);
    }

    #[test]
    fn gathered_changes_are_bounded() {
        let now = Instant::now();
        let mut gather = Gather::default();
        for n in 0..10_000 {
            gather.path(&PathBuf::from(format!("/p/{n}")), Activity::Written, now);
        }
        assert!(gather.open.len() <= PATHS);
        let all = Where::At(BTreeSet::from([PathBuf::from("/p")]));
        assert_eq!(gather.take().tree, Some(all));
        for n in 0..10_000 {
            gather.path(&PathBuf::from(format!("/p/{n}/x")), Activity::Done, now);
        }
        assert_eq!(gather.take().tree, Some(Where::Everything));
    }

    #[test]
    fn many_looks_are_followed_by_a_rest() {
        let now = Instant::now() + OWED;
        let path = Path::new("/p/a");
        let mut gather = Gather::default();
        let effort = Effort {
            cpu: MS * 40,
            took: MS * 40,
        };
        let mut due = |looks: u32| {
            for _ in 0..looks {
                gather.looked(effort, now);
            }
            assert_eq!(gather.due(), None, "rest alone is no reason to look");
            gather.path(path, Activity::Done, now);
            let due = gather.due();
            gather.take();
            due
        };
        assert_eq!(due(5), Some(now + MS * quiet()));
        assert_eq!(due(5), Some(now + MS * 3600 - OWED));
    }

    fn quiet() -> u32 {
        if cfg!(target_os = "linux") { 30 } else { 50 }
    }
}
