//! The last known state of every file of a project, and how it is brought up to date.
//!
//! Invariant: what [`Looked::changes`] tell, applied in their order to what was known, gives what
//! was found; nothing is told twice, and a file that could not be looked at is no news.

mod update;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::checkpoints;
use super::compare::Difference;
use super::gaps::Gaps;
use super::gather::Held;
use super::hold::Hold;
use super::life::Life;
use super::manifest::{Entries, Entry, What};
use super::prune;
use super::reading;
use super::root::Root;
use super::rules::Rules;
use super::scan::{Reach, RealFolders, Scan, Spot, spot};
use super::store::Store;
use crate::still::Writers;
use acp_core::spine::project::FileChange;

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
    /// By path; what they are to the core [`Shadow::told`] says.
    pub(super) changes: Vec<Difference>,
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
        let mut rules = self.rules();
        // One in sight that is not known has just been made: that is still to be told.
        let mut is_new = |path: &PathBuf| {
            let is_hidden = path.is_absolute() || rules.hides(path, false);
            is_hidden && !self.entries.contains_key(path)
        };
        let new: Vec<PathBuf> = paths.iter().filter(|path| is_new(path)).cloned().collect();
        self.included.extend(paths);
        if !new.is_empty() {
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

    fn held(&self) -> Option<Held> {
        let again = self.hold.again()?;
        let paths = self.hold.paths().map(|path| self.root.spelt(path));
        let paths = paths.collect();
        Some(Held { paths, again })
    }

    /// Returns a change with the texts before and after it, from the store.
    pub(super) fn told(&self, change: &Difference) -> FileChange {
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
