//! Versions of the files under review in the user's repositories.
//!
//! Invariant: a file in a repository is reported when its review begins, and after that only when
//! its version in the index or HEAD changes. A version whose content git has not answered is asked
//! for again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::git::{Git, Oid, Repository, Versions};
use super::reading::Exhausted;
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

    /// Queries the repositories about the files under review, and adds the changes to report to
    /// `news`. Each file has the number of its review.
    ///
    /// # Errors
    /// Git cannot be started now.
    pub(super) fn ask(
        &mut self,
        asked: &BTreeMap<PathBuf, u64>,
        news: &mut Vec<Committed>,
    ) -> Result<(), Exhausted> {
        self.repositories.clear();
        for path in asked.keys() {
            if let Some((repository, inside)) = Repository::of(path) {
                let files = self.repositories.entry(repository).or_default();
                files.entry(inside).or_default().push(path.clone());
            }
        }
        self.reported
            .retain(|path, (review, _)| asked.get(path) == Some(review));
        let mut signals = BTreeSet::new();
        for (repository, files) in &self.repositories {
            // Collected before the versions: a later change then shows in a watched file.
            signals.extend(self.git.signals(repository)?);
            let inside: BTreeSet<PathBuf> = files.keys().cloned().collect();
            let mut versions = self.git.versions(repository, &inside)?;
            versions.retain(|inside, now| {
                let paths = files.get(inside).into_iter().flatten();
                paths
                    .clone()
                    .any(|path| self.reported.get(path).map(|(_, known)| known) != Some(now))
            });
            let of = |versions: &Versions| [versions.index.clone(), versions.head.clone()];
            let oids: BTreeSet<Oid> = versions.values().flat_map(of).flatten().collect();
            let contents = self.git.contents(repository, &oids)?;
            for (inside, versions) in versions {
                let content = |oid: &Option<Oid>| match oid {
                    Some(oid) => contents.get(oid).cloned(),
                    None => Some(None),
                };
                let contents = content(&versions.index).zip(content(&versions.head));
                let Some((index, head)) = contents else {
                    continue;
                };
                for path in files.get(&inside).into_iter().flatten() {
                    news.push(Committed {
                        path: path.clone(),
                        index: index.clone(),
                        head: head.clone(),
                        is_executable: versions.is_executable,
                        is_first: !self.reported.contains_key(path),
                    });
                    if let Some(review) = asked.get(path) {
                        let reported = (*review, versions.clone());
                        self.reported.insert(path.clone(), reported);
                    }
                }
            }
        }
        self.signals = signals;
        Ok(())
    }

    /// Returns the files whose change means that a new query is needed.
    pub(super) fn signals(&self) -> impl Iterator<Item = &Path> {
        self.signals.iter().map(PathBuf::as_path)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::Environment;
    use crate::tests::exhausted::{is_alone, with_descriptors};
    use crate::tests::git::git;
    use crate::tests::write_program;
    use acp_core::spine::event::DiskText;

    /// Returns a repository with one committed file.
    fn committed() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a");
        std::fs::write(&file, "one\n").expect("a file");
        git(folder.path(), &["init", "--quiet"]);
        git(folder.path(), &["add", "a"]);
        git(folder.path(), &["commit", "--quiet", "-m", "first"]);
        (folder, file)
    }

    #[test]
    fn a_version_is_not_missing_because_git_cannot_be_started() {
        if !is_alone(
            "project::committed::tests::a_version_is_not_missing_because_git_cannot_be_started",
        ) {
            return;
        }
        let (_folder, file) = committed();
        let path = std::env::var_os("PATH").expect("a path");
        let environment = Environment::from_variables([("PATH".into(), path)]);
        let asked = BTreeMap::from([(file.clone(), 1)]);
        let text = |version: &Option<DiskText>| version.as_ref().map(|it| it.text.to_string());
        for count in 0..12 {
            let mut reviews = Reviews::new(Git::new(environment.clone(), 1 << 20));
            let mut news = Vec::new();
            let done = with_descriptors(count, || reviews.ask(&asked, &mut news));
            if done.is_err() {
                assert_eq!(news, [], "with {count} descriptors");
                assert!(reviews.ask(&asked, &mut news).is_ok());
            }
            let [file] = &news[..] else {
                panic!("{news:?} with {count} descriptors");
            };
            let one = Some("one\n".to_owned());
            assert_eq!((text(&file.index), text(&file.head)), (one.clone(), one));
        }
    }

    #[test]
    fn a_content_and_its_mode_are_of_one_index() {
        let (_folder, file) = committed();
        // After each question, the index is another one.
        let bin = tempfile::tempdir().expect("a folder");
        let path = std::env::var("PATH").expect("a path");
        let script = format!("#!/bin/sh\nPATH='{path}'\ngit \"$@\"\nrm -f .git/index\n");
        write_program(&bin.path().join("git"), &script);
        let environment = Environment::from_variables([("PATH".into(), bin.path().into())]);
        let (repository, inside) = Repository::of(&file).expect("a repository");
        let git = Git::new(environment, 1 << 20);
        let versions = git.versions(&repository, &BTreeSet::from([inside.clone()]));
        let versions = versions.expect("an answer");
        let version = &versions[&inside];
        assert!(version.head.is_some(), "{version:?}");
        let (content, mode) = (&version.index, version.is_executable);
        assert_eq!(content.is_some(), mode.is_some(), "{version:?}");
    }
}
