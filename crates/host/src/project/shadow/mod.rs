//! The last known state of every file of a project, and how it is updated.
//!
//! Invariant: applying [`Looked::changes`] in order to the known state gives the state found; no
//! change is reported twice, and a file that could not be examined is not a change.

mod committed;
mod copies;
mod update;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::update::{Listings, is_listed};
use super::checkpoints;
use super::compare::Difference;
use super::gaps::Gaps;
use super::gather::PostponedPaths;
use super::git::Git;
use super::lease::Lease;
use super::manifest::{Entries, Entry};
use super::postponed::Postponed;
use super::prune;
use super::reading::{self, Attempt, Exhausted, nanoseconds};
use super::root::Root;
use super::rules::{Rules, Sources};
use super::scan::{PathKind, RealFolders, Scan, path_kind};
use super::store::Store;
use crate::held::Held;
use crate::quiescence::Writers;
use crate::write;
use acp_core::spine::project::FileChange;

/// Minimum age of an abandoned temporary file, in nanoseconds.
const LEFTOVER_NS: i64 = 60 * 60 * 1_000_000_000;

/// Maximum number of files with several names that are examined one by one.
const MAX_SHARED: usize = 1000;

/// The last known state of the files below a root.
#[derive(Debug)]
pub(super) struct Shadow {
    root: Root,
    store: Arc<Store>,
    /// The user's global excludes file.
    excludes: Option<PathBuf>,
    /// By path below the root, as in the following fields; included files elsewhere have absolute
    /// paths.
    entries: Entries,
    /// Files that are known although rules hide them.
    included: BTreeSet<PathBuf>,
    folders: BTreeSet<PathBuf>,
    /// Files with several names: a write by another name is reported where that is.
    shared: BTreeSet<PathBuf>,
    /// Where the rules of each folder were from when everything below it was examined.
    rules_of: BTreeMap<PathBuf, Sources>,
    /// Every visible change before this time is known, in nanoseconds.
    last_look: i128,
    gaps: Gaps,
    /// The root had a repository when the project was opened, perhaps by a `.git` file; one made since
    /// is the agent's or the user's as a whole.
    has_git: bool,
    hold: Postponed,
    git: Git,
    /// Contents of files before this path are stored, as far as space allows; `None` if all are.
    uncopied: Option<PathBuf>,
    /// The checkpoint that equals `entries`, if any.
    kept: Option<PathBuf>,
    /// This Neovim's lease on the project.
    lease: Option<Arc<Lease>>,
}

/// The result of a look.
#[derive(Debug, Default)]
pub(super) struct Looked {
    /// Sorted by path; [`Shadow::file_change`] converts one for the core.
    pub(super) changes: Vec<Difference>,
    /// Folders that appeared or disappeared, for the watches.
    pub(super) new_folders: Vec<PathBuf>,
    pub(super) gone_folders: Vec<PathBuf>,
    /// Postponed paths.
    pub(super) held: Option<PostponedPaths>,
}

/// Whether differences are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reporting {
    On,
    /// They are accepted without a report.
    Off,
}

impl Shadow {
    /// Returns the shadow of a root that has not been examined yet.
    pub(super) fn new(
        root: PathBuf,
        store: Arc<Store>,
        excludes: Option<PathBuf>,
        writers: Arc<Writers>,
        git: Git,
    ) -> Self {
        Self {
            root: Root::new(root),
            store,
            excludes,
            entries: Entries::new(),
            included: BTreeSet::new(),
            folders: BTreeSet::new(),
            shared: BTreeSet::new(),
            rules_of: BTreeMap::new(),
            last_look: 0,
            gaps: Gaps::default(),
            has_git: false,
            hold: Postponed::new(writers),
            git,
            uncopied: None,
            kept: None,
            lease: None,
        }
    }

    /// Accepts the current state; the checkpoint of an earlier Neovim saves reading unchanged
    /// files. `cut` is the state at the beginning of a turn that was cut: the changes since then are
    /// returned. If it is unknown which hidden files git tracks, known ones stay known.
    pub(super) fn open(
        &mut self,
        lease: Option<Arc<Lease>>,
        cut: Option<Entries>,
        is_tracked_known: bool,
    ) -> Looked {
        self.lease = lease;
        let git = self.root.real().join(".git");
        self.has_git = git.is_file() || git.join("HEAD").is_file();
        {
            // Keeps the checkpoint from being pruned until the lease names it.
            let _hold = prune::share_lock(&self.store);
            if let Some((path, entries)) = checkpoints::last(&self.store, self.root.real()) {
                self.entries = entries;
                self.kept = Some(path);
                self.build_upon();
            }
        }
        let reporting = match cut {
            Some(entries) => {
                (self.entries, self.kept) = (entries, None);
                self.find_in_git(self.ask_git());
                Reporting::On
            }
            None => Reporting::Off,
        };
        if !is_tracked_known {
            self.included.extend(self.entries.keys().cloned());
        }
        // Without a checkpoint, all contents are to be copied: git answers as the files are listed.
        let is_first = self.entries.is_empty();
        let asked = is_first.then(|| self.ask_git()).flatten();
        let looked = self.look_at_all(reporting);
        if self.has_many_to_copy() {
            self.find_in_git(asked.or_else(|| self.ask_git()));
        }
        self.copy_for_now();
        self.remove_leftovers();
        looked
    }

    /// Removes temporary files that a killed Neovim has left.
    fn remove_leftovers(&mut self) {
        let is_left = |path: &Path, entry: &Entry| {
            let name = path.file_name().unwrap_or_default();
            let past = reading::now() - nanoseconds(entry.stat.modified);
            write::is_temporary_of_any(name) && past > i128::from(LEFTOVER_NS)
        };
        let left = self
            .entries
            .iter()
            .filter(|(path, entry)| is_left(path, entry));
        let left: Vec<PathBuf> = left.map(|(path, _)| path.clone()).collect();
        for path in left {
            let whole = self.root.real().join(&path);
            let held = Held::find(&whole, &[self.root.real().to_owned()]);
            if held.is_ok_and(|held| std::fs::remove_file(held.file()).is_ok()) {
                self.entries.remove(&path);
                self.kept = None;
            }
        }
    }

    /// Compares these paths with their known state; a folder includes everything below it.
    ///
    /// Paths that are hidden or not below the root are ignored unless they are included.
    pub(super) fn look(&mut self, paths: &[PathBuf]) -> Looked {
        let mut rules = self.rules();
        let mut folders = RealFolders::default();
        let mut listings = Listings::new();
        // Postponed paths are examined as well, because they may be part of the same change.
        let mut targets: BTreeSet<PathBuf> = self.hold.paths().cloned().collect();
        for path in paths {
            if let Some(path) = self.root.key(path) {
                let target = self.root.first_non_folder(path, &mut folders);
                if target.file_name().is_some_and(|name| name == ".gitignore") {
                    targets.extend(target.parent().map(Path::to_owned));
                }
                targets.insert(target);
            }
        }
        let mut scan = Scan::default();
        let mut scopes: Vec<PathBuf> = Vec::new();
        // In path order, a folder comes right before its contents.
        for target in targets {
            if scopes.last().is_some_and(|scope| target.starts_with(scope)) {
                continue;
            }
            match path_kind(self.root.path(), target.clone()) {
                // Outside the root, only included files matter.
                _ if target.is_absolute() => {}
                // The disk ignores case, and the folder has a new name.
                PathKind::Folder
                    if self.folders.contains(&target)
                        && !is_listed(self.root.path(), &target, &mut listings) => {}
                PathKind::Folder if !rules.hides(&target, true) => {
                    let missing = target.ancestors().skip(1);
                    let missing = missing.filter(|folder| !self.folders.contains(*folder));
                    scan.folders.extend(missing.map(Path::to_owned));
                    let limit = self.store.limits.files;
                    scan.walk(self.root.path(), target.clone(), &mut rules, limit);
                }
                PathKind::File(seen) if !rules.hides(&target, false) => scan.found.push(seen),
                // Known paths there are checked one by one.
                _ => {}
            }
            scopes.push(target);
        }
        if let Some(again) = self.look_again(&mut scan, &rules, &scopes) {
            return again;
        }
        self.update(scan, &scopes, &mut rules, folders, Reporting::On)
    }

    /// Compares everything.
    pub(super) fn look_all(&mut self) -> Looked {
        self.look_at_all(Reporting::On)
    }

    /// Tracks these files in their current state although rules hide them.
    ///
    /// # Errors
    /// It is unknown now whether rules hide them, and it is not the last attempt.
    pub(super) fn include(&mut self, paths: &[PathBuf], attempt: Attempt) -> Result<(), Exhausted> {
        let paths: Vec<PathBuf> = paths
            .iter()
            .filter_map(|path| self.root.key(path))
            .collect();
        let mut rules = self.rules();
        // A visible unknown file has just been created, which is still to be reported.
        let mut is_new = |path: &PathBuf| {
            let is_hidden = path.is_absolute() || rules.hides(path, false);
            is_hidden && !self.entries.contains_key(path)
        };
        let new: Vec<PathBuf> = paths.iter().filter(|path| is_new(path)).cloned().collect();
        if rules.are_exhausted() {
            if attempt == Attempt::One {
                return Err(Exhausted);
            }
            // A hidden file that the next look finds is not new.
            self.gaps.unseen.push(PathBuf::new());
        }
        self.included.extend(paths.iter().cloned());
        if !new.is_empty() {
            let folders = RealFolders::default();
            self.update(Scan::default(), &new, &mut rules, folders, Reporting::Off);
        }
        self.copy_first(&paths);
        Ok(())
    }

    /// Returns the walked folders, including the root, as the core spells them.
    pub(super) fn folders(&self) -> impl Iterator<Item = PathBuf> {
        self.folders.iter().map(|folder| self.root.spelled(folder))
    }

    /// Names the lease on the project if there was none when it was opened.
    pub(super) fn hold_lease(&mut self, lease: Arc<Lease>) {
        self.lease.get_or_insert(lease);
    }

    /// Stores the state of all files as a checkpoint.
    ///
    /// While contents are being copied, nothing is stored: it would be outdated at once.
    ///
    /// # Errors
    /// The reason.
    pub(super) fn keep(&mut self) -> Result<(), String> {
        if self.is_copying() && self.gaps.trouble.is_none() {
            return Ok(());
        }
        self.checkpoint().map(drop)
    }

    /// Returns the number of known files.
    pub(super) fn count(&self) -> usize {
        self.entries.len()
    }

    /// Stores the state of all files, even while contents are being copied; returns the checkpoint.
    ///
    /// # Errors
    /// The reason.
    pub(super) fn checkpoint(&mut self) -> Result<PathBuf, String> {
        let kept = self.kept.take();
        let kept = kept.filter(|path| checkpoints::freshen(path));
        let path = match kept {
            Some(path) => path,
            None => checkpoints::keep(&self.store, self.root.real(), &self.entries)?,
        };
        self.kept = Some(path.clone());
        self.build_upon();
        Ok(path)
    }

    /// Names the checkpoint that this Neovim builds on.
    fn build_upon(&self) {
        if let (Some(lease), Some(path)) = (&self.lease, &self.kept) {
            // Without it, other Neovims consider the checkpoint unneeded, but it is protected while
            // young.
            let _ = lease.build_upon(path);
        }
    }

    fn look_at_all(&mut self, reporting: Reporting) -> Looked {
        let begun = reading::now();
        let mut rules = self.rules();
        let mut scan = Scan::default();
        let limit = self.store.limits.files;
        scan.walk(self.root.path(), PathBuf::new(), &mut rules, limit);
        let everything = [PathBuf::new()];
        if let Some(again) = self.look_again(&mut scan, &rules, &everything)
            && reporting == Reporting::On
        {
            return again;
        }
        let (is_cut, unseen) = (scan.is_cut, scan.unseen.clone());
        let folders = RealFolders::default();
        let looked = self.update(scan, &everything, &mut rules, folders, reporting);
        self.gaps.is_cut = is_cut;
        self.gaps.unseen = unseen;
        self.last_look = begun;
        self.copy_all();
        looked
    }

    /// Returns a look that has found nothing, to be repeated: the system was exhausted, so that files
    /// or rules are missing in the scan. After a while, these count as unseen: files found there
    /// may have existed before.
    fn look_again(&mut self, scan: &mut Scan, rules: &Rules, scopes: &[PathBuf]) -> Option<Looked> {
        if !scan.is_exhausted && !rules.are_exhausted() {
            self.hold.complete();
            return None;
        }
        if rules.are_exhausted() {
            scan.unseen.push(PathBuf::new());
        }
        if self.hold.leave_out(scopes) {
            return Some(Looked {
                held: self.held(),
                ..Looked::default()
            });
        }
        self.gaps.unseen.extend(scan.unseen.iter().cloned());
        None
    }

    fn held(&self) -> Option<PostponedPaths> {
        let again = self.hold.again()?;
        let paths = self.hold.paths().map(|path| self.root.spelled(path));
        let paths = paths.collect();
        Some(PostponedPaths { paths, again })
    }

    /// Converts a change for the core, with the texts before and after from the store.
    ///
    /// # Errors
    /// The system cannot read them now, and it is not the last attempt.
    pub(super) fn file_change(
        &self,
        change: &Difference,
        attempt: Attempt,
    ) -> Result<FileChange, Exhausted> {
        let path = self.root.spelled(&change.path);
        let from = change.from.as_ref().map(|from| self.root.spelled(from));
        let old = from.as_deref().unwrap_or(&path);
        Ok(FileChange {
            before: reading::state(old, change.before.as_ref(), &self.store, attempt)?,
            after: reading::state(&path, change.after.as_ref(), &self.store, attempt)?,
            from,
            path,
        })
    }

    /// Returns the paths that may change although their folder's watch reports nothing; `None` if
    /// that is true of unknown ones, or of many.
    pub(super) fn unwatched(&self) -> Option<Vec<PathBuf>> {
        let is_known = !self.gaps.is_cut
            && self.gaps.unseen.is_empty()
            && self.knows_root_rules()
            && self.shared.len() <= MAX_SHARED;
        let of_git = self.has_git.then(|| PathBuf::from(".git"));
        is_known.then(|| {
            let paths = self.shared.iter().cloned().chain(of_git);
            paths.map(|path| self.root.spelled(&path)).collect()
        })
    }

    /// Returns the sentence on gaps in coverage; `unsaved` is why no checkpoint could be written.
    pub(super) fn limited(&mut self, unsaved: Option<String>) -> Option<String> {
        self.count_uncopied();
        self.gaps.unsaved = unsaved.or_else(|| self.store.trouble());
        self.gaps.words(self.root.path(), self.entries.len())
    }

    /// Returns whether the root's rules are those with which it was examined.
    fn knows_root_rules(&self) -> bool {
        let known = self.rules_of.get(Path::new(""));
        let sources = self.rules().root_sources();
        known.map_or(sources.is_empty(), |known| *known == sources)
    }

    /// Notes that every visible change before this time is known, in nanoseconds.
    pub(super) fn knows_all_until(&mut self, time: i128) {
        self.last_look = self.last_look.max(time);
    }

    fn rules(&self) -> Rules {
        let (root, own) = (self.root.path(), self.store.folder());
        Rules::new(root, self.excludes.clone(), own, self.has_git)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::Environment;
    use crate::cookie::Cookie;
    use crate::project::limits::Limits;
    use crate::project::manifest::What;
    use crate::quiescence::Quiescence;
    use crate::tests::exhausted::{is_alone, with_descriptors};
    use crate::tests::git::git;
    use acp_core::spine::event::SaveStep;
    use acp_core::spine::project::FileState;

    /// The shadow of a folder with a hidden file.
    struct Folder {
        shadow: Shadow,
        writers: Arc<Writers>,
        root: PathBuf,
        folder: tempfile::TempDir,
    }

    impl Folder {
        fn new(quiescence: Quiescence) -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let root = folder.path().join("p");
            fs::create_dir_all(root.join("sub")).expect("a folder");
            let writers = Arc::new(Writers::new(quiescence));
            let this = Self {
                shadow: shadow(&folder, Arc::clone(&writers)),
                writers,
                root,
                folder,
            };
            this.put(".gitignore", "hidden\n");
            this.put("hidden", "mine\n");
            this.put("a", "old\n");
            this
        }

        fn put(&self, path: &str, text: &str) {
            fs::write(self.root.join(path), text).expect("a file");
        }

        /// Waits until a file's times distinguish it from a later version.
        fn settle(&self, path: &str) {
            let meta = fs::metadata(self.root.join(path)).expect("a file");
            let age = || meta.modified().expect("a time").elapsed();
            while age().is_ok_and(|age| age < Duration::from_millis(60)) {
                std::thread::yield_now();
            }
        }

        /// Looks at these paths, or at everything.
        fn look(&mut self, place: &[&str]) -> Looked {
            let paths: Vec<PathBuf> = place.iter().map(|path| self.root.join(path)).collect();
            match place {
                [] => self.shadow.look_all(),
                _ => self.shadow.look(&paths),
            }
        }

        /// Looks at everything that a look has postponed; returns all changes.
        fn follow(&mut self, mut looked: Looked) -> Vec<Difference> {
            let mut changes = Vec::new();
            while let Some(held) = looked.held.take() {
                changes.append(&mut looked.changes);
                looked = self
                    .shadow
                    .look(&held.paths.into_iter().collect::<Vec<_>>());
            }
            changes.append(&mut looked.changes);
            changes.sort_by(|a, b| a.path.cmp(&b.path));
            changes
        }

        /// Compares the paths of changes, and their texts.
        #[track_caller]
        fn check(&self, changes: &[Difference], want: &[(&str, &str, &str)]) {
            let text = |state: &FileState| state.text().unwrap_or_default().to_string();
            let told = changes.iter().map(|change| {
                let change = self.shadow.file_change(change, Attempt::One);
                let change = change.expect("it can be read");
                let path = change.path.strip_prefix(&self.root).expect("below it");
                let path = path.display().to_string();
                (path, text(&change.before), text(&change.after))
            });
            let told: Vec<(String, String, String)> = told.collect();
            let told: Vec<(&str, &str, &str)> = told
                .iter()
                .map(|(path, before, after)| (&**path, &**before, &**after))
                .collect();
            assert_eq!(told, want);
        }
    }

    fn shadow(folder: &tempfile::TempDir, writers: Arc<Writers>) -> Shadow {
        let limits = Limits::default();
        let path = std::env::var_os("PATH").expect("a path");
        let environment = Environment::from_variables([("PATH".into(), path)]);
        let git = Git::new(environment, limits.file_bytes);
        let store = Arc::new(Store::new(&folder.path().join("s"), limits));
        Shadow::new(folder.path().join("p"), store, None, writers, git)
    }

    /// A look that does not wait for a system without descriptors.
    fn impatient() -> Quiescence {
        Quiescence {
            after: Duration::ZERO,
            patience: Duration::ZERO,
        }
    }

    #[test]
    fn a_file_that_is_moved_while_it_waits_is_reported_with_its_new_path() {
        check_moved_while_it_waits(Duration::from_secs(3600));
        // It has waited too long already when it is moved.
        check_moved_while_it_waits(Duration::from_millis(1));
    }

    #[track_caller]
    fn check_moved_while_it_waits(patience: Duration) {
        let mut folder = Folder::new(Quiescence {
            patience,
            ..Quiescence::default()
        });
        folder.settle("a");
        folder.shadow.open(None, None, true);
        // On a busy machine, a look may come when the file is old.
        let is_held = (0..100).any(|_| {
            folder.put("a", "new\n");
            let is_held = folder.look(&["a"]).changes.is_empty();
            if !is_held {
                folder.put("a", "old\n");
                folder.settle("a");
                let looked = folder.look(&["a"]);
                folder.follow(looked);
            }
            is_held
        });
        assert!(is_held, "its writer may go on");
        folder.settle("a");
        fs::rename(folder.root.join("a"), folder.root.join("sub/a")).expect("moved");
        assert_eq!(folder.look(&["a"]).changes, [], "half of the move");
        let looked = folder.look(&["sub/a"]);
        let changes = folder.follow(looked);
        folder.check(&changes, &[("sub/a", "old\n", "new\n")]);
    }

    #[test]
    fn a_look_that_sees_only_where_a_file_was_moved_to_finds_where_it_was() {
        let mut folder = Folder::new(Quiescence::default());
        folder.settle("a");
        folder.shadow.open(None, None, true);
        fs::create_dir(folder.root.join("new")).expect("a folder");
        fs::rename(folder.root.join("a"), folder.root.join("new/a")).expect("moved");
        let looked = folder.look(&["new"]);
        let changes = folder.follow(looked);
        folder.check(&changes, &[("new/a", "old\n", "old\n")]);
    }

    #[test]
    fn half_a_file_is_not_reported_while_the_reports_of_writers_are_late() {
        let mut folder = Folder::new(Quiescence {
            // Less than the first look waits for the cookie.
            patience: Duration::from_millis(1900),
            ..Quiescence::default()
        });
        folder.settle("a");
        folder.shadow.open(None, None, true);
        let cookie = Arc::new(Cookie::silent());
        folder.writers.add_watcher(&cookie);
        let path = folder.root.join("a");
        let mut file = fs::File::create(&path).expect("a file");
        file.write_all(b"half").expect("written");
        folder.settle("a");
        for _ in 0..2 {
            assert_eq!(folder.look(&["a"]).changes, []);
        }
        file.write_all(b" whole\n").expect("written");
        drop((file, cookie));
        folder.writers.note_closed(&path);
        folder.settle("a");
        let looked = folder.look(&["a"]);
        let changes = folder.follow(looked);
        folder.check(&changes, &[("a", "old\n", "half whole\n")]);
    }

    #[test]
    fn a_file_that_neovim_is_saving_is_reported_when_it_is_saved() {
        let mut folder = Folder::new(Quiescence {
            patience: Duration::from_secs(3600),
            ..Quiescence::default()
        });
        folder.settle("a");
        folder.shadow.open(None, None, true);
        let (path, backup) = (folder.root.join("a"), folder.root.join("a~"));
        folder.writers.note_saving(&path, SaveStep::Buffer);
        fs::rename(&path, &backup).expect("moved");
        let begun = Instant::now();
        while begun.elapsed() < 2 * Quiescence::default().after {
            assert_eq!(folder.look(&["a", "a~"]).changes, []);
        }
        folder.put("a", "new\n");
        fs::remove_file(&backup).expect("a file");
        folder.writers.note_saving(&path, SaveStep::Ended);
        let looked = folder.look(&["a", "a~"]);
        let changes = folder.follow(looked);
        folder.check(&changes, &[("a", "old\n", "new\n")]);
    }

    #[test]
    fn a_file_that_neovim_has_created_but_not_written_yet_is_not_reported() {
        let mut folder = Folder::new(Quiescence {
            patience: Duration::from_secs(3600),
            ..Quiescence::default()
        });
        folder.settle("a");
        folder.shadow.open(None, None, true);
        let path = folder.root.join("b");
        folder.writers.note_saving(&path, SaveStep::Buffer);
        folder.put("b", "");
        folder.settle("b");
        let begun = Instant::now();
        while begun.elapsed() < 2 * Quiescence::default().after {
            assert_eq!(folder.look(&["b"]).changes, []);
        }
        folder.put("b", "new\n");
        folder.settle("b");
        folder.writers.note_saving(&path, SaveStep::Ended);
        let looked = folder.look(&["b"]);
        let changes = folder.follow(looked);
        folder.check(&changes, &[("b", "", "new\n")]);
    }

    #[test]
    fn lines_that_neovim_writes_to_a_file_are_reported_when_the_core_knows_of_them() {
        let mut folder = Folder::new(Quiescence {
            patience: Duration::from_secs(3600),
            ..Quiescence::default()
        });
        folder.settle("a");
        folder.shadow.open(None, None, true);
        for name in ["a", "b"] {
            let path = folder.root.join(name);
            folder.writers.note_saving(&path, SaveStep::Lines);
            folder.put(name, "new\n");
            folder.settle(name);
        }
        let begun = Instant::now();
        while begun.elapsed() < 2 * Quiescence::default().after {
            assert_eq!(folder.look(&["a", "b"]).changes, []);
        }
        for name in ["a", "b"] {
            let path = folder.root.join(name);
            folder.writers.note_saving(&path, SaveStep::Ended);
        }
        let looked = folder.look(&["a", "b"]);
        let changes = folder.follow(looked);
        folder.check(&changes, &[("a", "old\n", "new\n"), ("b", "", "new\n")]);
    }

    #[test]
    fn a_save_that_has_not_ended_is_not_waited_for_without_end() {
        let mut folder = Folder::new(impatient());
        folder.settle("a");
        folder.shadow.open(None, None, true);
        let path = folder.root.join("a");
        folder.writers.note_saving(&path, SaveStep::Buffer);
        fs::remove_file(&path).expect("a file");
        let looked = folder.look(&["a"]);
        let changes = folder.follow(looked);
        folder.check(&changes, &[("a", "old\n", "")]);
    }

    #[test]
    fn what_another_program_has_written_before_a_save_is_reported() {
        let mut folder = Folder::new(Quiescence {
            patience: Duration::from_secs(3600),
            ..Quiescence::default()
        });
        folder.settle("a");
        folder.shadow.open(None, None, true);
        let path = folder.root.join("a");
        folder.writers.note_saving(&path, SaveStep::Buffer);
        folder.put("a", "new\n");
        folder.settle("a");
        let changes = folder.look(&["a"]).changes;
        folder.check(&changes, &[("a", "old\n", "new\n")]);
    }

    #[test]
    fn what_an_exhausted_system_hides_is_reported_later() {
        if !is_alone("project::shadow::tests::what_an_exhausted_system_hides_is_reported_later") {
            return;
        }
        let (a, b) = (("a", "old\n", "new\n"), ("sub/b", "", "new\n"));
        check_exhausted(&[], &[], &[a, b]);
        check_exhausted(&["a", "sub/b"], &[], &[a, b]);
        check_exhausted(&["sub"], &[], &[b]);
        check_exhausted(&["hidden"], &[], &[]);
        // Another look before the one that was left for later has all of that.
        check_exhausted(&["sub"], &["a"], &[a, b]);
        check_exhausted(&[], &["a"], &[a, b]);
    }

    /// Looks at these paths, or at everything, while no file can be opened, and then at `next` or at
    /// what that look has left for later.
    #[track_caller]
    fn check_exhausted(place: &[&str], next: &[&str], want: &[(&str, &str, &str)]) {
        let mut folder = Folder::new(Quiescence::default());
        folder.shadow.open(None, None, true);
        folder.put("a", "new\n");
        folder.put("sub/b", "new\n");
        let mut looked = with_descriptors(0, || folder.look(place));
        assert_eq!(looked.changes, [], "{place:?}");
        if !next.is_empty() {
            looked = folder.look(next);
        }
        let changes = folder.follow(looked);
        let is_known = |change| folder.shadow.file_change(change, Attempt::One).is_ok();
        assert!(!with_descriptors(0, || changes.iter().any(is_known)));
        folder.check(&changes, want);
    }

    #[test]
    fn what_existed_while_the_system_was_exhausted_is_not_new() {
        let name = "project::shadow::tests::what_existed_while_the_system_was_exhausted_is_not_new";
        if !is_alone(name) {
            return;
        }
        let mut folder = Folder::new(impatient());
        folder.shadow.open(None, None, true);
        folder.put("sub/mine", "mine\n");
        folder.settle("sub/mine");
        let begun = reading::now();
        let looked = with_descriptors(0, || folder.look(&["sub"]));
        assert_eq!(folder.follow(looked), []);
        folder.shadow.knows_all_until(begun);
        folder.put("sub/new", "new\n");
        let looked = folder.look(&["sub"]);
        let changes = folder.follow(looked);
        folder.check(&changes, &[("sub/new", "", "new\n")]);
    }

    #[test]
    fn a_hidden_file_that_is_opened_while_the_system_is_exhausted_is_not_new() {
        let name = "a_hidden_file_that_is_opened_while_the_system_is_exhausted_is_not_new";
        if !is_alone(&format!("project::shadow::tests::{name}")) {
            return;
        }
        let mut folder = Folder::new(impatient());
        folder.settle("hidden");
        folder.shadow.open(None, None, true);
        let hidden = [folder.root.join("hidden")];
        let shadow = &mut folder.shadow;
        let included = with_descriptors(0, || shadow.include(&hidden, Attempt::One));
        assert!(included.is_err(), "it is tried again");
        let included = with_descriptors(0, || shadow.include(&hidden, Attempt::Last));
        assert!(included.is_ok());
        let looked = folder.look(&["hidden"]);
        assert_eq!(folder.follow(looked), []);
        folder.put("hidden", "new\n");
        let looked = folder.look(&["hidden"]);
        let changes = folder.follow(looked);
        folder.check(&changes, &[("hidden", "mine\n", "new\n")]);
    }

    #[test]
    fn what_git_tracks_stays_known_while_git_cannot_be_started() {
        let name =
            "project::shadow::tests::what_git_tracks_stays_known_while_git_cannot_be_started";
        if !is_alone(name) {
            return;
        }
        let mut folder = Folder::new(impatient());
        git(&folder.root, &["init", "--quiet"]);
        git(&folder.root, &["add", "--force", "hidden"]);
        let tracked = |folder: &Folder| folder.shadow.git.tracked_although_ignored(&folder.root);
        let unknown = with_descriptors(0, || tracked(&folder));
        assert!(unknown.is_err(), "{unknown:?}");
        let known = tracked(&folder).expect("git runs");
        assert_eq!(known, [folder.root.join("hidden")]);
        folder.shadow.open(None, None, true);
        let included = folder.shadow.include(&known, Attempt::One);
        assert!(included.is_ok() && folder.shadow.keep().is_ok());
        // The next Neovim.
        folder.writers = Arc::new(Writers::new(impatient()));
        folder.shadow = shadow(&folder.folder, Arc::clone(&folder.writers));
        folder.shadow.open(None, None, false);
        folder.put("hidden", "new\n");
        let looked = folder.look(&[]);
        let changes = folder.follow(looked);
        folder.check(&changes, &[("hidden", "mine\n", "new\n")]);
    }

    #[test]
    fn what_git_holds_is_not_lost_while_git_cannot_be_started() {
        let name = "project::shadow::tests::what_git_holds_is_not_lost_while_git_cannot_be_started";
        if !is_alone(name) {
            return;
        }
        for count in 0..16 {
            let mut folder = Folder::new(Quiescence::default());
            git(&folder.root, &["init", "--quiet"]);
            folder.settle("a");
            git(&folder.root, &["add", "a"]);
            folder.shadow.open(None, None, true);
            let known = folder.shadow.entries.get_mut(Path::new("a"));
            known.expect("known").what = What::Later;
            folder.shadow.find_in_git(folder.shadow.ask_git());
            let known = &folder.shadow.entries[Path::new("a")];
            assert!(matches!(known.what, What::Git(_)), "{known:?}");
            folder.put("a", "new\n");
            folder.settle("a");
            let looked = with_descriptors(count, || folder.look(&["a"]));
            let changes = folder.follow(looked);
            folder.check(&changes, &[("a", "old\n", "new\n")]);
        }
    }
}
