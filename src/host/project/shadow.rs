//! The last known state of every file of a project.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::store::Store;
use crate::core::project::FileChange;

/// The last known state of the files below a root.
#[derive(Debug)]
pub(super) struct Shadow {
    root: PathBuf,
    store: Arc<Store>,
    folders: BTreeSet<PathBuf>,
}

/// What a look has found.
#[derive(Debug, Default)]
pub(super) struct Looked {
    pub(super) changes: Vec<FileChange>,
    /// Folders that are new to the shadow, and ones that are gone: what is to be watched.
    pub(super) new_folders: Vec<PathBuf>,
    pub(super) gone_folders: Vec<PathBuf>,
    /// What the look did not cover, in a sentence.
    pub(super) limited: Option<String>,
}

impl Shadow {
    /// Returns the shadow of a root nobody has looked at yet.
    pub(super) fn new(root: PathBuf, store: Arc<Store>) -> Self {
        Self {
            root,
            store,
            folders: BTreeSet::new(),
        }
    }

    /// Takes everything as it is.
    pub(super) fn open(&mut self) {}

    /// Compares these paths with what is known of them; a folder stands for everything below it.
    pub(super) fn look(&mut self, _paths: &[PathBuf]) -> Looked {
        Looked::default()
    }

    /// Compares everything.
    pub(super) fn look_all(&mut self) -> Looked {
        Looked::default()
    }

    /// Has these files known though `.gitignore` hides them, as they are now.
    pub(super) fn include(&mut self, _paths: Vec<PathBuf>) {}

    /// Returns the folders that were walked, spelt below the root, the root among them.
    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().map(PathBuf::as_path)
    }

    /// Keeps the state of all files as a checkpoint; returns how many they are.
    ///
    /// # Errors
    /// A sentence.
    pub(super) fn keep(&mut self) -> Result<usize, String> {
        Ok(0)
    }
}
