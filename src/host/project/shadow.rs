//! The last known state of every file of a project, and how it is brought up to date.
//!
//! Invariant: what [`Looked::changes`] tell, applied in their order to what was known, gives what
//! was found; nothing is told twice, and a file that could not be looked at is no news.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use super::checkpoints;
use super::compare::{Difference, differences, is_same};
use super::gaps::{Gaps, OutOfSight};
use super::gather::Held;
use super::hold::Hold;
use super::life::Life;
use super::manifest::{Entries, Entry, What};
use super::prune;
use super::reading::{self, Budget, Need, Wanted, read_all};
use super::root::Root;
use super::rules::Rules;
use super::scan::{Reach, RealFolders, Scan, Seen, Spot, Way, spot};
use super::store::Store;
use crate::core::project::FileChange;
use crate::host::still::Writers;

/// The last known state of the files below a root.
#[derive(Debug)]
pub(super) struct Shadow {
    root: Root,
    store: Arc<Store>,
    /// The user's excludes for all of git.
    excludes: Option<PathBuf>,
    /// By paths below the root, as all that follows; included files that lie elsewhere have
    /// absolute ones.
    entries: Entries,
    /// Files that are known though rules hide them.
    included: BTreeSet<PathBuf>,
    folders: BTreeSet<PathBuf>,
    /// When everything was looked at last, in nanoseconds.
    last_look: i128,
    gaps: Gaps,
    hold: Hold,
    /// The checkpoint that holds `entries`, as long as it does.
    kept: Option<PathBuf>,
    /// This Neovim's, as the others see it.
    life: Option<Arc<Life>>,
}

/// What a look has found.
#[derive(Debug, Default)]
pub(super) struct Looked {
    /// By path.
    pub(super) changes: Vec<FileChange>,
    /// Folders that are new to the shadow, and ones that are gone: what is to be watched.
    pub(super) new_folders: Vec<PathBuf>,
    pub(super) gone_folders: Vec<PathBuf>,
    /// What is not told yet.
    pub(super) held: Option<Held>,
    /// What was not covered, in a sentence for the user.
    pub(super) limited: Option<String>,
}

/// Whether what is found is news.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum News {
    Told,
    /// It is taken as it is.
    Taken,
}

impl Shadow {
    /// Returns the shadow of a root nobody has looked at yet.
    pub(super) fn new(
        root: PathBuf,
        store: Arc<Store>,
        excludes: Option<PathBuf>,
        writers: Arc<Writers>,
    ) -> Self {
        Self {
            root: Root::new(root),
            store,
            excludes,
            entries: Entries::new(),
            included: BTreeSet::new(),
            folders: BTreeSet::new(),
            last_look: 0,
            gaps: Gaps::default(),
            hold: Hold::new(writers),
            kept: None,
            life: None,
        }
    }

    /// Takes everything as it is; what a Neovim before this one has kept saves reading it.
    pub(super) fn open(&mut self, life: Option<Arc<Life>>) -> Looked {
        self.life = life;
        {
            // Until it is said what we build upon, nobody shall prune that.
            let _hold = prune::hold(&self.store);
            if let Some((path, entries)) = checkpoints::last(&self.store, self.root.real()) {
                self.entries = entries;
                self.kept = Some(path);
                self.build_upon();
            }
        }
        self.look_at_all(News::Taken)
    }

    /// Compares these paths with what is known of them; a folder stands for everything below it.
    ///
    /// Paths that are hidden, or not below the root, are no news, unless they are included.
    pub(super) fn look(&mut self, paths: &[PathBuf]) -> Looked {
        let mut rules = self.rules();
        let mut folders = RealFolders::default();
        // What is held is looked at as well: it may belong to what is told now.
        let mut targets: BTreeSet<PathBuf> = self.hold.paths().cloned().collect();
        for path in paths {
            if let Some(path) = self.root.key(path) {
                let target = self.root.first_that_is_no_folder(path, &mut folders);
                if target.file_name().is_some_and(|name| name == ".gitignore") {
                    targets.extend(target.parent().map(Path::to_owned));
                }
                targets.insert(target);
            }
        }
        let mut scan = Scan::default();
        let mut scopes: Vec<PathBuf> = Vec::new();
        // In their order a folder comes right before what is below it.
        for target in targets {
            if scopes.last().is_some_and(|scope| target.starts_with(scope)) {
                continue;
            }
            match spot(self.root.path(), target.clone()) {
                // Nobody wants to know what else is there.
                _ if target.is_absolute() => {}
                Spot::Folder if !rules.hides(&target, true) => {
                    let missing = target.ancestors().skip(1);
                    let missing = missing.filter(|folder| !self.folders.contains(*folder));
                    scan.folders.extend(missing.map(Path::to_owned));
                    scan.walk(self.root.path(), target.clone(), &mut rules, self.reach());
                }
                Spot::File(seen) if !rules.hides(&target, false) => scan.found.push(seen),
                // What is known there all the same is looked at one by one.
                _ => {}
            }
            scopes.push(target);
        }
        self.update(scan, &scopes, &mut rules, folders, News::Told)
    }

    /// Compares everything.
    pub(super) fn look_all(&mut self) -> Looked {
        self.look_at_all(News::Told)
    }

    /// Has these files known though rules hide them, as they are now.
    pub(super) fn include(&mut self, paths: Vec<PathBuf>) {
        let paths: Vec<PathBuf> = paths
            .iter()
            .filter_map(|path| self.root.key(path))
            .collect();
        let is_new = |path: &PathBuf| !self.entries.contains_key(path);
        let new: Vec<PathBuf> = paths.iter().filter(|path| is_new(path)).cloned().collect();
        self.included.extend(paths);
        if !new.is_empty() {
            let mut rules = self.rules();
            let folders = RealFolders::default();
            self.update(Scan::default(), &new, &mut rules, folders, News::Taken);
        }
    }

    /// Returns the folders that were walked, the root among them, spelt as the core does.
    pub(super) fn folders(&self) -> impl Iterator<Item = PathBuf> {
        self.folders.iter().map(|folder| self.root.spelt(folder))
    }

    /// Keeps the state of all files as a checkpoint; returns how many they are.
    ///
    /// # Errors
    /// A sentence.
    pub(super) fn keep(&mut self) -> Result<usize, String> {
        let kept = self.kept.take();
        let kept = kept.filter(|path| checkpoints::freshen(path));
        let path = match kept {
            Some(path) => path,
            None => checkpoints::keep(&self.store, self.root.real(), &self.entries)?,
        };
        self.kept = Some(path);
        self.build_upon();
        Ok(self.entries.len())
    }

    /// Says which checkpoint holds what is known here.
    fn build_upon(&self) {
        if let (Some(life), Some(path)) = (&self.life, &self.kept) {
            // The worst that can come of it: others think that it is not needed, and it is young.
            let _ = life.build_upon(path);
        }
    }

    fn look_at_all(&mut self, news: News) -> Looked {
        let begun = reading::now();
        let mut rules = self.rules();
        let mut scan = Scan::default();
        scan.walk(self.root.path(), PathBuf::new(), &mut rules, self.reach());
        let (cut, unseen) = (scan.cut, scan.unseen.clone());
        let everything = [PathBuf::new()];
        let folders = RealFolders::default();
        let mut looked = self.update(scan, &everything, &mut rules, folders, news);
        self.gaps.cut = cut;
        self.gaps.unseen = unseen;
        self.last_look = begun;
        looked.limited = self.limited();
        looked
    }

    /// Takes over what a scan has found; `scopes` is where what is known must be found again.
    fn update(
        &mut self,
        scan: Scan,
        scopes: &[PathBuf],
        rules: &mut Rules,
        mut real: RealFolders,
        news: News,
    ) -> Looked {
        let mut looked = Looked::default();
        self.update_folders(&scan, scopes, rules, &mut looked);
        let mut found: BTreeMap<PathBuf, Seen> = BTreeMap::new();
        found.extend(scan.found.into_iter().map(|seen| (seen.path.clone(), seen)));
        let mut gone = Vec::new();
        for path in self.unfound(scopes, &found) {
            let folder = path.parent().unwrap_or(Path::new(""));
            let spot = match real.way(self.root.path(), folder) {
                Way::Open => spot(self.root.path(), path.clone()),
                Way::None => Spot::Nothing,
                Way::Shut => Spot::Hidden,
            };
            match spot {
                Spot::File(_)
                    if news == News::Taken
                        && !self.included.contains(&path)
                        && rules.hides(&path, false) =>
                {
                    // Known to a Neovim before this one, when no rule hid it yet.
                    self.entries.remove(&path);
                    self.kept = None;
                }
                Spot::File(seen) => {
                    found.insert(path, seen);
                }
                Spot::Nothing | Spot::Folder => gone.push(path),
                Spot::Hidden => {}
            }
        }
        let was_there = self.out_of_sight(&found, &gone);
        if news == News::Told {
            self.set_aside(&mut found, &mut gone, &was_there);
        }
        let read = self.read(found, news, &mut gone);
        let mut changes = differences(&self.entries, read.changed, &gone);
        changes.retain(|change| {
            let after = change.after.as_ref().filter(|_| change.before.is_none());
            !after.is_some_and(|after| was_there.holds(&change.path, &after.stat))
        });
        if news == News::Told {
            looked.changes = changes.iter().map(|change| self.told(change)).collect();
            looked.held = self.held();
        }
        for path in &gone {
            self.kept = self
                .kept
                .take()
                .filter(|_| !self.entries.contains_key(path));
            self.entries.remove(path);
        }
        self.take_over(read.entries);
        looked
    }

    /// Returns what of the files that are new was there before: a rule hid it, a folder was shut,
    /// or the look at it was cut.
    fn out_of_sight(&self, found: &BTreeMap<PathBuf, Seen>, gone: &[PathBuf]) -> OutOfSight {
        let is_rule = |path: &Path| path.file_name().is_some_and(|name| name == ".gitignore");
        let changed = found.iter().filter(|(path, _)| is_rule(path));
        let changed = changed.filter(|(path, seen)| {
            let known = self.entries.get(*path);
            known.is_none_or(|known| known.stat != seen.stat)
        });
        let rules = changed
            .map(|(path, _)| path)
            .chain(gone.iter().filter(|path| is_rule(path)));
        let below_rules = rules.filter_map(|path| path.parent());
        let mut folders: Vec<PathBuf> = below_rules.map(Path::to_owned).collect();
        folders.extend(self.gaps.unseen.iter().cloned());
        if self.gaps.cut.is_some() {
            folders.push(PathBuf::new());
        }
        OutOfSight {
            folders,
            last_look: self.last_look,
        }
    }

    /// Reads what is not known to be what it was; `gone` gets what has gone meanwhile.
    fn read(
        &mut self,
        found: BTreeMap<PathBuf, Seen>,
        news: News,
        gone: &mut Vec<PathBuf>,
    ) -> Read {
        let mut wanted = Vec::new();
        for (path, seen) in found {
            if differs(&self.entries, &path, &seen) {
                let spare = match self.entries.get(&path) {
                    Some(known) => known.what == What::Later && known.stat.same_content(&seen.stat),
                    None => news == News::Taken,
                };
                let need = if spare { Need::Spare } else { Need::Now };
                wanted.push(Wanted { seen, need });
            }
        }
        let budget = Budget {
            until: Instant::now() + self.store.limits.time,
            bytes: AtomicU64::new(self.store.limits.bytes.saturating_sub(self.bytes_kept())),
        };
        let reads = read_all(self.root.path(), wanted, &self.store, &budget);
        self.gaps.trouble = reads.trouble;
        let mut read = Read::default();
        for (seen, entry) in reads.entries {
            match entry {
                Some(_)
                    if news == News::Told
                        && reads.torn.contains(&seen.path)
                        && self.hold.hold(&seen.path) => {}
                Some(entry) => {
                    read.changed.push((seen.path.clone(), entry.clone()));
                    read.entries.push((seen.path, entry));
                }
                None if self.entries.contains_key(&seen.path) => gone.push(seen.path),
                None => {}
            }
        }
        read
    }

    /// Leaves out what is not to be told yet.
    fn set_aside(
        &mut self,
        found: &mut BTreeMap<PathBuf, Seen>,
        gone: &mut Vec<PathBuf>,
        was_there: &OutOfSight,
    ) {
        let is_news = |path: &Path, seen: &Seen| match self.entries.contains_key(path) {
            false => !was_there.holds(path, &seen.stat),
            true => differs(&self.entries, path, seen),
        };
        let spelt = |path: &Path| self.root.spelt(path);
        self.hold
            .set_aside(&self.entries, found, gone, is_news, spelt);
    }

    fn held(&self) -> Option<Held> {
        let again = self.hold.again()?;
        let paths = self.hold.paths().map(|path| self.root.spelt(path));
        let paths = paths.collect();
        Some(Held { paths, again })
    }

    fn take_over(&mut self, read: Vec<(PathBuf, Entry)>) {
        for (path, mut entry) in read {
            if let Some(known) = self.entries.get(&path) {
                if entry.what == What::Later && is_same(known, &entry) {
                    entry.what = known.what.clone();
                }
                if *known == entry {
                    continue;
                }
            }
            self.kept = None;
            self.entries.insert(path, entry);
        }
    }

    /// Returns the paths that are known in `scopes` and were not found.
    fn unfound(&self, scopes: &[PathBuf], found: &BTreeMap<PathBuf, Seen>) -> Vec<PathBuf> {
        let mut paths = BTreeSet::new();
        for scope in scopes {
            let here = |path: &&PathBuf| path.starts_with(scope);
            let known = self.entries.range(scope.clone()..).map(|(path, _)| path);
            let included = self.included.range(scope.clone()..);
            let known = known.take_while(here).chain(included.take_while(here));
            paths.extend(known.filter(|path| !found.contains_key(*path)).cloned());
        }
        paths.into_iter().collect()
    }

    fn update_folders(
        &mut self,
        scan: &Scan,
        scopes: &[PathBuf],
        rules: &mut Rules,
        looked: &mut Looked,
    ) {
        let walked: HashSet<&PathBuf> = scan.folders.iter().collect();
        for scope in scopes {
            let here = |folder: &&PathBuf| folder.starts_with(scope);
            let known = self.folders.range(scope.clone()..).take_while(here);
            let left = known.filter(|folder| !walked.contains(folder));
            // Others were not reached, or could not be listed.
            let gone: Vec<PathBuf> = left
                .filter(|folder| {
                    let spot = spot(self.root.path(), folder.to_path_buf());
                    !matches!(spot, Spot::Folder | Spot::Hidden) || rules.hides(folder, true)
                })
                .cloned()
                .collect();
            for folder in gone {
                self.folders.remove(&folder);
                looked.gone_folders.push(self.root.spelt(&folder));
            }
        }
        for folder in &scan.folders {
            if self.folders.insert(folder.clone()) {
                looked.new_folders.push(self.root.spelt(folder));
            }
        }
    }

    fn told(&self, change: &Difference) -> FileChange {
        let path = self.root.spelt(&change.path);
        let from = change.from.as_ref().map(|from| self.root.spelt(from));
        let old = from.as_deref().unwrap_or(&path);
        FileChange {
            before: reading::state(old, change.before.as_ref(), &self.store),
            after: reading::state(&path, change.after.as_ref(), &self.store),
            from,
            path,
        }
    }

    /// Returns the sentence for what is not covered.
    fn limited(&mut self) -> Option<String> {
        let later = |entry: &&Entry| entry.what == What::Later;
        self.gaps.later = self.entries.values().filter(later).count();
        self.gaps.words(self.root.path(), self.entries.len())
    }

    fn bytes_kept(&self) -> u64 {
        let kept = self.entries.values().filter(|entry| entry.blob().is_some());
        kept.map(|entry| entry.stat.bytes).sum()
    }

    fn rules(&self) -> Rules {
        Rules::new(self.root.path(), self.excludes.clone(), self.store.folder())
    }

    fn reach(&self) -> Reach {
        Reach {
            files: self.store.limits.files,
            until: Instant::now() + self.store.limits.time,
        }
    }
}

/// Returns whether a file has to be read.
fn differs(entries: &Entries, path: &Path, seen: &Seen) -> bool {
    entries
        .get(path)
        .is_none_or(|known| known.stat != seen.stat || !known.settled || known.what == What::Later)
}

/// What a look has read.
#[derive(Debug, Default)]
struct Read {
    changed: Vec<(PathBuf, Entry)>,
    entries: Vec<(PathBuf, Entry)>,
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::limits::Limits;
    use super::*;

    /// Has the shadow believe another content to be of a file, by the very stat the file has;
    /// says whether that is noticed.
    #[track_caller]
    fn check(settled: bool, noticed: bool) {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("p");
        fs::create_dir(&root).expect("a folder");
        fs::write(root.join("a"), "new").expect("a file");
        let file = fs::File::options().write(true).open(root.join("a"));
        let file = file.expect("a file");
        file.set_modified(std::time::UNIX_EPOCH)
            .expect("long still");
        let store = Arc::new(Store::new(&folder.path().join("s"), Limits::default()));
        let mut shadow = Shadow::new(root, Arc::clone(&store), None, Arc::default());
        shadow.open(None);
        let entry = shadow.entries.get_mut(Path::new("a")).expect("known");
        entry.what = What::Text(store.put(b"old").expect("kept"));
        entry.settled = settled;
        assert_eq!(shadow.look_all().changes.len(), usize::from(noticed));
    }

    #[test]
    fn only_what_the_stat_cannot_tell_is_read_again() {
        check(true, false);
        check(false, true);
    }
}
