//! The root of a project, and paths below it.
//!
//! Invariant: returned paths are spelled like the core's root; accepted paths may also have their
//! links resolved, as in notifications of the system.

use std::path::{Component, Path, PathBuf};

use super::rules::{is_never_seen, is_obeyed_by_git};
use super::scan::{Access, RealFolders};

/// The root of a project.
#[derive(Debug)]
pub(super) struct Root {
    path: PathBuf,
    real: PathBuf,
}

impl Root {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            real: acp_edge::paths::resolved(&path),
            path,
        }
    }

    /// Returns the root as the core spells it.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the root with links resolved.
    pub(super) fn real(&self) -> &Path {
        &self.real
    }

    /// Returns the first ancestor that is not a folder, or the path if all are.
    pub(super) fn first_non_folder(&self, path: PathBuf, folders: &mut RealFolders) -> PathBuf {
        let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
        above.reverse();
        let is_shut = |folder: &&Path| folders.access(&self.path, folder) == Access::None;
        let first = above.into_iter().find(is_shut).map(Path::to_owned);
        first.unwrap_or(path)
    }

    /// Returns a path relative to the root, or unchanged if it lies elsewhere; `None` if it is
    /// never shown.
    pub(super) fn key(&self, path: &Path) -> Option<PathBuf> {
        let below = path.strip_prefix(&self.path);
        let below = below.or_else(|_| path.strip_prefix(&self.real));
        let key = below.unwrap_or(path);
        let mut parts = key
            .components()
            .skip_while(|part| *part == Component::RootDir);
        let is_plain =
            |part: Component| matches!(part, Component::Normal(name) if !is_never_seen(name));
        (parts.all(is_plain) || is_obeyed_by_git(key)).then(|| key.to_owned())
    }

    /// Returns a path below the root as the core spells it.
    pub(super) fn spelled(&self, path: &Path) -> PathBuf {
        match path.as_os_str().is_empty() {
            true => self.path.clone(),
            false => self.path.join(path),
        }
    }
}
