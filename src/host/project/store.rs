//! The contents of files, by the hash of their bytes.

use std::path::{Path, PathBuf};

use super::limits::Limits;

/// Where contents are kept.
#[derive(Debug)]
pub(in crate::host) struct Store {
    folder: PathBuf,
    pub(super) limits: Limits,
}

impl Store {
    /// Returns the store below `folder`; nothing is made before it is needed.
    pub(super) fn new(folder: &Path, limits: Limits) -> Self {
        Self {
            folder: folder.to_owned(),
            limits,
        }
    }
}
