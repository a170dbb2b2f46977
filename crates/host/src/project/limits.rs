//! How much of a project is looked at and kept, and for how long.

use std::time::Duration;

use acp_core::spine::project::MAX_KEPT;

/// The sizes and times projects keep to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The files that are known of a project.
    pub files: usize,
    /// The bytes of all of them whose content is kept.
    pub bytes: u64,
    /// The largest file whose content is kept.
    pub file_bytes: u64,
    /// How long looking for files may take, and then as long again reading what can wait.
    pub time: Duration,
    /// The checkpoints that are kept of a project.
    pub checkpoints: usize,
    /// How long they are kept.
    pub age: Duration,
    /// The bytes the store takes on disk, all projects together.
    pub store_bytes: u64,
    /// How often what nobody needs is looked for, at most.
    pub prune_every: Duration,
    /// From a change of what is under review until that is on disk.
    pub keep_after: Duration,
    /// The folders of a project that are watched; `ACP_TEST_WATCHES` in the environment is less.
    pub watches: usize,
    /// How often everything is compared while a turn runs in a project that cannot be watched.
    pub compare_every: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            files: 100_000,
            bytes: 1 << 30,
            file_bytes: MAX_KEPT,
            time: Duration::from_secs(5),
            checkpoints: 50,
            age: Duration::from_secs(30 * 24 * 60 * 60),
            store_bytes: 2 << 30,
            prune_every: Duration::from_secs(60 * 60),
            keep_after: Duration::from_millis(200),
            watches: 1 << 16,
            compare_every: Duration::from_secs(2),
        }
    }
}
