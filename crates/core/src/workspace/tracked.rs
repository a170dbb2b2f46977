//! Files watched regardless of `.gitignore`: open files, and files named by an agent.
//!
//! Invariant: each file is registered with the host once per project instance.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::spine::cx::Effects;
use crate::spine::effect::HostEffect;
use crate::workspace::Workspace;
use acp::{ToolCallPatch, ToolContent};

/// The files of each open project that are registered with the host.
#[derive(Debug, Default)]
pub struct Tracked {
    known: BTreeMap<PathBuf, BTreeSet<PathBuf>>,
    /// Files still to be registered.
    fresh: BTreeMap<PathBuf, Vec<PathBuf>>,
}

/// Returns the files that a tool call names.
pub(super) fn named(patch: &ToolCallPatch) -> impl Iterator<Item = &Path> {
    let locations = patch.locations.iter().flatten();
    let content = patch.content.iter().flatten();
    let diffs = content.filter_map(|content| match content {
        ToolContent::Diff { path, .. } => Some(path.as_path()),
        _ => None,
    });
    locations.map(|place| place.path.as_path()).chain(diffs)
}

impl Tracked {
    /// An agent has named files in a tool call.
    pub fn named(&mut self, patch: &ToolCallPatch) {
        for path in named(patch) {
            self.note(path);
        }
    }

    /// A file is open, or named.
    pub fn note(&mut self, path: &Path) {
        for (root, known) in &mut self.known {
            if path.starts_with(root) && !known.contains(path) {
                known.insert(path.to_owned());
                let fresh = self.fresh.entry(root.clone()).or_default();
                fresh.push(path.to_owned());
            }
        }
    }
}

impl Workspace {
    /// A project is open: the files that are open in it are watched.
    pub(crate) fn track_project(&mut self, root: &Path) {
        self.tracked.known.entry(root.to_owned()).or_default();
        for document in self.documents.iter() {
            self.tracked.note(&document.path);
        }
    }

    pub(crate) fn untrack_project(&mut self, root: &Path) {
        self.tracked.known.remove(root);
        self.tracked.fresh.remove(root);
    }

    /// Registers new files with the host.
    pub(crate) fn tell_tracked(&mut self, fx: &mut Effects) {
        for (root, paths) in std::mem::take(&mut self.tracked.fresh) {
            fx.push(HostEffect::Track { root, paths });
        }
    }
}
