//! Limits on the size and age of the data of projects.

use std::time::Duration;

use acp_core::spine::project::MAX_KEPT;

/// The limits of projects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of known files per project.
    pub files: usize,
    /// Maximum total size of stored contents per project.
    pub bytes: u64,
    /// Maximum size of a stored content.
    pub file_bytes: u64,
    /// The longest that a project's first checkpoint waits for contents to be copied.
    pub copying: Duration,
    /// Maximum number of checkpoints per project.
    pub checkpoints: usize,
    /// Maximum age of a checkpoint.
    pub age: Duration,
    /// Maximum size of the store on disk, for all projects.
    pub store_bytes: u64,
    /// Maximum compressed size of the contents held in memory because they cannot be written.
    pub held_bytes: u64,
    /// Minimum interval between prunings.
    pub prune_every: Duration,
    /// Minimum interval between writes of the reviews.
    pub keep_after: Duration,
    /// Maximum number of watched folders per project; `ACP_TEST_WATCHES` in the environment lowers
    /// it.
    pub watches: usize,
    /// Interval of full comparisons while a turn runs in a project that cannot be watched.
    pub compare_every: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            files: 100_000,
            bytes: 1 << 30,
            file_bytes: MAX_KEPT,
            copying: Duration::from_secs(1),
            checkpoints: 50,
            age: Duration::from_secs(30 * 24 * 60 * 60),
            store_bytes: 2 << 30,
            held_bytes: 128 << 20,
            prune_every: Duration::from_secs(60 * 60),
            keep_after: Duration::from_millis(200),
            watches: 1 << 16,
            compare_every: Duration::from_secs(2),
        }
    }
}
