//! What the system tells of changes, gathered until it is time to look.
//!
//! A write to a file is a handful of events, a build is thousands: they become one look. It comes
//! when nothing more is told for a moment; a longer one while a file is being written, because half
//! a file is no news; and at the latest after [`STORM`], so that a storm is seen while it lasts.
//!
//! Invariant: what is kept is bounded, whatever is told: many paths of a folder become that folder,
//! and many folders become everything.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long nothing is told before it is looked.
///
/// What was written to later than this is not told yet, so there is no use in looking sooner.
const QUIET: Duration = Duration::from_millis(30);

/// The same while a file is open that was written to. Systems that tell nothing of the end of a
/// write have this for all.
const WRITING: Duration = Duration::from_millis(50);

/// From the first event to the look, at most.
const STORM: Duration = Duration::from_millis(200);

/// How many times as long as a look takes is to be rested for it: looking without being asked
/// takes a tenth of a processor at most, in the long run.
pub(super) const REST: u32 = 9;

/// How much rest may be owed: a few looks are made at once, however soon they come.
const OWED: Duration = Duration::from_secs(2);

/// The paths of one folder that are told apart.
const PATHS: usize = 32;

/// The folders that are told apart.
const FOLDERS: usize = 256;

/// What shall be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Where {
    Everything,
    /// Files, and folders with all that is in them; none lies in another one.
    At(BTreeSet<PathBuf>),
}

/// What the last look has found, and left for another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) paths: BTreeSet<PathBuf>,
    pub(super) again: Instant,
}

/// What was told since the last look.
#[derive(Debug, Default)]
pub(super) struct Gather {
    tree: Tree,
    /// Files that were written to, and not closed since.
    open: HashSet<PathBuf>,
    /// What is to be looked at again.
    held: Option<Held>,
    /// The user's repository may have other versions now.
    repository: bool,
    first: Option<Instant>,
    last: Option<Instant>,
    /// When all looks so far will be rested for.
    rested: Option<Instant>,
}

#[derive(Debug)]
enum Tree {
    Everything,
    /// By folder: the names in there that are of interest, or all of it.
    Folders(BTreeMap<PathBuf, Names>),
}

#[derive(Debug)]
enum Names {
    All,
    Some(BTreeSet<PathBuf>),
}

/// What happened to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    /// It was written to, and may be again at once.
    Written,
    /// A writer is done with it, or it came, went or changed as a whole.
    Done,
}

/// What is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Due {
    /// `None`: the tree is as it was.
    pub(super) tree: Option<Where>,
    pub(super) repository: bool,
}

impl Gather {
    /// Takes note of a change at a path.
    pub(super) fn path(&mut self, path: &Path, deed: Deed, now: Instant) {
        match deed {
            Deed::Written if self.open.len() < PATHS => {
                self.open.insert(path.to_owned());
            }
            Deed::Written => {}
            Deed::Done => {
                self.open.remove(path);
            }
        }
        self.tree.add(path);
        self.told(now);
    }

    /// Takes note that anything may have changed.
    pub(super) fn everything(&mut self, now: Instant) {
        self.tree = Tree::Everything;
        self.open.clear();
        self.told(now);
    }

    pub(super) fn repository(&mut self, now: Instant) {
        self.repository = true;
        self.told(now);
    }

    /// Returns when to look, should nothing more be told; `None` when nothing was.
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

    /// Takes out what is due.
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

    /// Forgets the tree: somebody begins to look at all of it.
    pub(super) fn covered(&mut self) {
        self.tree = Tree::default();
        self.held = None;
        self.open.clear();
        if !self.repository {
            (self.first, self.last) = (None, None);
        }
    }

    /// Takes note of what the last look has left, for whatever was left before it has seen to.
    pub(super) fn hold(&mut self, held: Option<Held>) {
        self.held = held;
    }

    /// Takes note of how long the last look took.
    pub(super) fn looked(&mut self, took: Duration, now: Instant) {
        let from = self.rested.map_or(now, |rested| rested.max(now));
        self.rested = Some(from + took * REST);
    }

    fn told(&mut self, now: Instant) {
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
        // Path by path, a folder comes right before what is in it.
        all.sort();
        all.dedup_by(|path, kept| path.starts_with(kept));
        (!all.is_empty()).then(|| Where::At(all.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Tells of changes (milliseconds, path, deed) and compares when to look, and at what.
    #[track_caller]
    fn check(told: &[(u32, &str, Deed)], due: u32, at: &[&str]) {
        let start = Instant::now();
        let mut gather = Gather::default();
        for &(ms, path, deed) in told {
            gather.path(Path::new(path), deed, start + MS * ms);
        }
        assert_eq!(gather.due(), Some(start + MS * due));
        let at = Where::At(at.iter().map(PathBuf::from).collect());
        assert_eq!(gather.take().tree, Some(at));
        assert_eq!(gather.due(), None, "what was taken is told once");
    }

    #[test]
    fn nothing_told_is_nothing_due() {
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
        use Deed::{Done, Written};
        check(&[(0, "/p/a", Done)], 30, &["/p/a"]);
        check(&[(0, "/p/a", Written)], 50, &["/p/a"]);
        check(&[(0, "/p/a", Written), (3, "/p/a", Done)], 33, &["/p/a"]);
        let two = [(0, "/p/a", Written), (3, "/p/b", Done)];
        check(&two, 53, &["/p/a", "/p/b"]);
    }

    #[test]
    fn a_storm_is_looked_at_while_it_lasts() {
        let storm: Vec<_> = (0..300).map(|ms| (ms, "/p/a", Deed::Written)).collect();
        check(&storm, 200, &["/p/a"]);
    }

    #[test]
    fn a_folder_stands_for_what_is_in_it() {
        use Deed::Done;
        let told = [(0, "/p/a/x", Done), (0, "/p/a", Done), (0, "/p/ab", Done)];
        check(&told, quiet(), &["/p/a", "/p/ab"]);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let now = Instant::now();
        let mut gather = Gather::default();
        for n in 0..10_000 {
            gather.path(&PathBuf::from(format!("/p/{n}")), Deed::Written, now);
        }
        assert!(gather.open.len() <= PATHS);
        let all = Where::At(BTreeSet::from([PathBuf::from("/p")]));
        assert_eq!(gather.take().tree, Some(all));
        for n in 0..10_000 {
            gather.path(&PathBuf::from(format!("/p/{n}/x")), Deed::Done, now);
        }
        assert_eq!(gather.take().tree, Some(Where::Everything));
    }

    #[test]
    fn looks_are_rested_for_once_they_are_many() {
        let now = Instant::now() + OWED;
        let path = Path::new("/p/a");
        let mut gather = Gather::default();
        let mut due = |looks: u32| {
            for _ in 0..looks {
                gather.looked(MS * 40, now);
            }
            assert_eq!(gather.due(), None, "rest alone is no reason to look");
            gather.path(path, Deed::Done, now);
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
