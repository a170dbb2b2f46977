//! What the user's repositories have of the files under review, told once and again when it changes.
//!
//! Invariant: a file is told when its review begins, if it lies in a repository, and after that
//! only when the index or HEAD have another version of it than was told last.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use super::git::{Git, Oid, Repository, Versions};
use acp_core::spine::project::Committed;

/// The files under review.
#[derive(Debug)]
pub(super) struct Reviews {
    git: Git,
    /// By repository: each file's path in there, and all paths it is under review by.
    repositories: BTreeMap<Repository, BTreeMap<PathBuf, Vec<PathBuf>>>,
    told: BTreeMap<PathBuf, Versions>,
    signals: BTreeSet<PathBuf>,
}

impl Reviews {
    pub(super) fn new(git: Git) -> Self {
        Self {
            git,
            repositories: BTreeMap::new(),
            told: BTreeMap::new(),
            signals: BTreeSet::new(),
        }
    }

    /// Asks the repositories about the files under review, and returns what is to be told.
    pub(super) fn ask(&mut self, paths: &[PathBuf]) -> Vec<Committed> {
        self.repositories.clear();
        for path in paths {
            if let Some((repository, inside)) = Repository::of(path) {
                let files = self.repositories.entry(repository).or_default();
                files.entry(inside).or_default().push(path.clone());
            }
        }
        let under_review: HashSet<&PathBuf> = paths.iter().collect();
        self.told.retain(|path, _| under_review.contains(path));
        self.signals.clear();
        let mut news = Vec::new();
        for (repository, files) in &self.repositories {
            // Before the versions: what comes after them then changes what is watched.
            self.signals.extend(self.git.signals(repository));
            let inside: BTreeSet<PathBuf> = files.keys().cloned().collect();
            let mut versions = self.git.versions(repository, &inside);
            versions.retain(|inside, now| {
                let paths = files.get(inside).into_iter().flatten();
                paths.clone().any(|path| self.told.get(path) != Some(now))
            });
            let of = |versions: &Versions| [versions.index.clone(), versions.head.clone()];
            let oids: BTreeSet<Oid> = versions.values().flat_map(of).flatten().collect();
            let contents = self.git.contents(repository, &oids);
            for (inside, versions) in versions {
                let content = |oid: &Option<Oid>| oid.as_ref().and_then(|oid| contents.get(oid));
                for path in files.get(&inside).into_iter().flatten() {
                    news.push(Committed {
                        path: path.clone(),
                        index: content(&versions.index).cloned(),
                        head: content(&versions.head).cloned(),
                    });
                    self.told.insert(path.clone(), versions.clone());
                }
            }
        }
        news
    }

    /// Returns the files that say, by changing, that it is time to look again.
    pub(super) fn signals(&self) -> impl Iterator<Item = &Path> {
        self.signals.iter().map(PathBuf::as_path)
    }
}
