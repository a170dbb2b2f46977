//! Which files of a project are hidden, by `.gitignore` and by name.
//!
//! As in git, the rule nearest to the file wins, and within one file the last rule; then
//! `info/exclude`, then the user's own excludes. A hidden folder hides everything below it, and
//! rules outside a nested repository do not apply inside it. Folders without a repository honour
//! their own `.gitignore` files too, but none above the root.
//!
//! Of the root's own `.git`, what git obeys or runs later is seen: config, hooks, excludes and
//! attributes; and `.git` itself if it is a file.
//!
//! Rule files are read on demand. A [`Rules`] serves one look only, so it never becomes stale.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::manifest::Stat;
use crate::write;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use acp_edge::paths::is_exhausted;

/// Entries of a bare git folder, one that is not named `.git`, that are git's alone. The others stay
/// visible: what git obeys or runs, and `HEAD`, so that an agent hides nothing by making a folder one.
const GIT_OWN: [&str; 13] = [
    "FETCH_HEAD",
    "ORIG_HEAD",
    "COMMIT_EDITMSG",
    "branches",
    "index",
    "lfs",
    "logs",
    "modules",
    "objects",
    "packed-refs",
    "refs",
    "shallow",
    "worktrees",
];

/// The folder of a repository.
const GIT: &str = ".git";

/// The rules of one project.
#[derive(Debug)]
pub(super) struct Rules {
    /// Links are resolved, so that the folders above are those git sees.
    root: PathBuf,
    /// The user's global excludes file.
    excludes: Option<PathBuf>,
    /// The store's folder, which must not be walked.
    own: PathBuf,
    /// The root had a repository when the project was opened.
    has_git: bool,
    levels: HashMap<PathBuf, Arc<Level>>,
    /// A file with rules could not be read now, as the system was exhausted.
    exhausted: AtomicBool,
    /// The rules above the root, if it lies inside a repository.
    above: Option<Arc<Level>>,
}

/// The rules that apply in one folder.
#[derive(Debug)]
pub(super) struct Level {
    here: Gitignore,
    /// Set if a repository starts here: its excludes and the user's.
    repository: Option<Gitignore>,
    /// The folder is itself a git folder, next to its working trees.
    is_git: bool,
    /// Where the rules are from.
    pub(super) sources: Sources,
    above: Option<Arc<Level>>,
}

/// The files with rules for a folder, those from above it only for the root, and its `.git`,
/// without a stat, because that begins with rules of another repository.
pub(super) type Sources = Vec<(PathBuf, Option<Stat>)>;

impl Rules {
    /// Returns the rules below `root`.
    pub(super) fn new(root: &Path, excludes: Option<PathBuf>, own: &Path, has_git: bool) -> Self {
        let mut rules = Self {
            has_git,
            root: acp_edge::paths::resolved(root),
            excludes,
            own: acp_edge::paths::resolved(own),
            levels: HashMap::new(),
            exhausted: AtomicBool::new(false),
            above: None,
        };
        rules.above = rules.levels_above();
        rules
    }

    /// Returns whether rules are missing because the system was exhausted.
    pub(super) fn are_exhausted(&self) -> bool {
        self.exhausted.load(Ordering::Relaxed)
    }

    fn note(&self, error: &io::Error) {
        if is_exhausted(error) {
            self.exhausted.store(true, Ordering::Relaxed);
        }
    }

    /// Returns whether a path is hidden, given that its folder is not.
    pub(super) fn hides_entry(&mut self, path: &Path, is_folder: bool) -> bool {
        let Some(folder) = path.parent() else {
            // The root itself is never hidden.
            return false;
        };
        let level = self.level(folder);
        self.hides_in(&level, path, is_folder)
    }

    /// Returns whether a path is hidden by the rules of its folder, `level`.
    pub(super) fn hides_in(&self, level: &Level, path: &Path, is_folder: bool) -> bool {
        let Some(name) = path.file_name() else {
            return false;
        };
        if path.starts_with(GIT) {
            return !(self.has_git && is_obeyed_by_git(path));
        }
        if is_never_seen(name) {
            return true;
        }
        if level.is_git && GIT_OWN.iter().any(|own| name == *own) {
            return true;
        }
        let real = self.root.join(path);
        (is_folder && real == self.own) || level.hides(&real, is_folder)
    }

    /// Returns whether a path or one of its folders is hidden.
    pub(super) fn hides(&mut self, path: &Path, is_folder: bool) -> bool {
        let mut folders: Vec<&Path> = path.ancestors().skip(1).collect();
        folders.reverse();
        folders
            .into_iter()
            .any(|folder| self.hides_entry(folder, true))
            || self.hides_entry(path, is_folder)
    }

    fn level(&mut self, folder: &Path) -> Arc<Level> {
        if let Some(level) = self.levels.get(folder) {
            return Arc::clone(level);
        }
        let above = self.level_above(folder);
        let level = self.enter(folder, above);
        self.levels.insert(folder.to_owned(), Arc::clone(&level));
        level
    }

    /// Returns the rules that apply to a folder itself.
    pub(super) fn level_above(&mut self, folder: &Path) -> Option<Arc<Level>> {
        match folder.parent() {
            Some(parent) => Some(self.level(parent)),
            None => self.above.clone(),
        }
    }

    /// Reads the rules that apply in a folder.
    pub(super) fn enter(&self, folder: &Path, above: Option<Arc<Level>>) -> Arc<Level> {
        let is_root = folder.as_os_str().is_empty();
        Arc::new(self.read_level(&self.root.join(folder), above, is_root))
    }

    /// Returns the rules of the folders between the root and the top of its repository.
    fn levels_above(&self) -> Option<Arc<Level>> {
        let above = self.folders_above();
        above.into_iter().rev().fold(None, |above, folder| {
            Some(Arc::new(self.read_level(folder, above, false)))
        })
    }

    fn folders_above(&self) -> Vec<&Path> {
        folders_to_top(&self.root, |folder| folder.join(GIT).exists())
    }

    /// Returns the sources of the root's rules.
    pub(super) fn root_sources(&mut self) -> Sources {
        self.level(Path::new("")).sources.clone()
    }

    /// Returns the folders whose rules were needed one by one, and the sources of these.
    pub(super) fn needed(&self) -> impl Iterator<Item = (&PathBuf, &Sources)> {
        let levels = self.levels.iter();
        levels.map(|(folder, level)| (folder, &level.sources))
    }

    fn read_level(&self, folder: &Path, above: Option<Arc<Level>>, is_root: bool) -> Level {
        let git = folder.join(".git");
        let has_git = git.exists();
        let mut sources: Sources = has_git.then(|| (git.clone(), None)).into_iter().collect();
        let begins = has_git || (is_root && above.is_none());
        let repository = begins.then(|| {
            let exclude = self.git_folder(&git).map(|git| git.join("info/exclude"));
            let files = [self.excludes.clone(), exclude].into_iter().flatten();
            self.read_rules(folder, files, &mut sources)
        });
        let here = self.read_rules(folder, [folder.join(".gitignore")], &mut sources);
        let mut outer = above.as_ref().filter(|_| is_root);
        while let Some(level) = outer {
            sources.extend(level.sources.iter().cloned());
            outer = level.above.as_ref();
        }
        let is_git = ["objects", "refs"]
            .iter()
            .all(|name| folder.join(name).is_dir())
            && folder.join("HEAD").is_file();
        Level {
            here,
            repository,
            is_git,
            sources,
            above,
        }
    }

    /// Returns the patterns of these files, later ones taking precedence, and notes those that exist;
    /// unreadable files and invalid patterns are skipped, as in git.
    fn read_rules(
        &self,
        folder: &Path,
        files: impl IntoIterator<Item = PathBuf>,
        sources: &mut Sources,
    ) -> Gitignore {
        let mut builder = GitignoreBuilder::new(folder);
        for file in files {
            // Reading a pipe would block.
            if let Some(meta) = fs::metadata(&file).ok().filter(fs::Metadata::is_file) {
                if let Some(error) = builder.add(&file)
                    && let Some(error) = error.io_error()
                {
                    self.note(error);
                }
                sources.push((file, Some(Stat::of(&meta))));
            }
        }
        builder.build().unwrap_or_else(|_| Gitignore::empty())
    }

    /// Returns a repository's main git folder, given the `.git` of a working tree.
    fn git_folder(&self, git: &Path) -> Option<PathBuf> {
        if git.is_dir() {
            return Some(git.to_owned());
        }
        let read = |path: &Path| {
            // Reading a pipe would block.
            fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
            let read = fs::read_to_string(path);
            read.inspect_err(|error| self.note(error)).ok()
        };
        let beside = git.parent()?;
        let pointer = read(git)?;
        let own = beside.join(pointer.strip_prefix("gitdir:")?.trim());
        match read(&own.join("commondir")) {
            Some(common) => Some(own.join(common.trim())),
            None => Some(own),
        }
    }
}

impl Level {
    fn hides(&self, path: &Path, is_folder: bool) -> bool {
        let mut level = Some(self);
        while let Some(here) = level {
            let rules = [Some(&here.here), here.repository.as_ref()];
            for rules in rules.into_iter().flatten() {
                match rules.matched(path, is_folder) {
                    Match::None => {}
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                }
            }
            if here.repository.is_some() {
                return false;
            }
            level = here.above.as_deref();
        }
        false
    }
}

/// Returns whether files with this name are never shown: `.git`, and temporary files of this client
/// while they exist.
pub(super) fn is_never_seen(name: &OsStr) -> bool {
    name == GIT || write::is_temporary(name)
}

/// Returns whether git obeys or runs a file of the root's repository, or it is a folder of such
/// files.
pub(super) fn is_obeyed_by_git(path: &Path) -> bool {
    let Ok(below) = path.strip_prefix(GIT) else {
        return false;
    };
    let parts: Vec<&[u8]> = below.iter().map(OsStr::as_encoded_bytes).collect();
    match parts[..] {
        [] | [b"commondir" | b"config" | b"config.worktree" | b"hooks" | b"info"] => true,
        [b"info", b"attributes" | b"exclude"] => true,
        [b"hooks", name] => !name.ends_with(b".sample"),
        _ => false,
    }
}

/// Returns the folders between a root and the top of its repository, nearest first; none above a
/// folder without a repository.
fn folders_to_top(root: &Path, is_repository: impl Fn(&Path) -> bool) -> Vec<&Path> {
    let top = root.ancestors().position(is_repository).unwrap_or(0);
    root.ancestors().skip(1).take(top).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Any folder of a real test may lie inside a repository.
    #[test]
    fn a_plain_folder_has_no_rules_from_above() {
        let above = |top: &str| folders_to_top(Path::new("/a/b/c"), |it| it == Path::new(top));
        assert!(above("nowhere").is_empty());
        assert!(above("/a/b/c").is_empty());
        assert_eq!(above("/a"), [Path::new("/a/b"), Path::new("/a")]);
    }
}
