//! Versions of the files under review in the user's repositories.
//!
//! Invariant: a file in a repository is reported when its review begins, and after that only when
//! its version in the index or HEAD changes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::git::{Git, Oid, Repository, Versions};
use acp_core::spine::project::Committed;

/// The files under review and their reported versions.
#[derive(Debug)]
pub(super) struct Reviews {
    git: Git,
    /// Per repository: the path of each file inside it, and the paths under which it is reviewed.
    repositories: BTreeMap<Repository, BTreeMap<PathBuf, Vec<PathBuf>>>,
    /// By path: the number of the review to which versions were reported, and the versions.
    reported: BTreeMap<PathBuf, (u64, Versions)>,
    signals: BTreeSet<PathBuf>,
}

impl Reviews {
    pub(super) fn new(git: Git) -> Self {
        Self {
            git,
            repositories: BTreeMap::new(),
            reported: BTreeMap::new(),
            signals: BTreeSet::new(),
        }
    }

    /// Queries the repositories about the files under review, and returns the changes to report.
    /// Each file has the number of its review.
    pub(super) fn ask(&mut self, asked: &BTreeMap<PathBuf, u64>) -> Vec<Committed> {
        self.repositories.clear();
        for path in asked.keys() {
            if let Some((repository, inside)) = Repository::of(path) {
                let files = self.repositories.entry(repository).or_default();
                files.entry(inside).or_default().push(path.clone());
            }
        }
        self.reported
            .retain(|path, (review, _)| asked.get(path) == Some(review));
        self.signals.clear();
        let mut news = Vec::new();
        for (repository, files) in &self.repositories {
            // Collected before the versions: a later change then shows in a watched file.
            self.signals.extend(self.git.signals(repository));
            let inside: BTreeSet<PathBuf> = files.keys().cloned().collect();
            let mut versions = self.git.versions(repository, &inside);
            versions.retain(|inside, now| {
                let paths = files.get(inside).into_iter().flatten();
                paths
                    .clone()
                    .any(|path| self.reported.get(path).map(|(_, known)| known) != Some(now))
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
                    if let Some(review) = asked.get(path) {
                        let reported = (*review, versions.clone());
                        self.reported.insert(path.clone(), reported);
                    }
                }
            }
        }
        news
    }

    /// Returns the files whose change means that a new query is needed.
    pub(super) fn signals(&self) -> impl Iterator<Item = &Path> {
        self.signals.iter().map(PathBuf::as_path)
    }
}
