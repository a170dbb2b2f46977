//! The work of this room that resumes when the host or the editor replies.

use std::path::PathBuf;

use crate::spine::ids::{BufId, SessionKey};
use crate::spine::pending::{Pending, reply};
use crate::spine::project::KeptReview;
use crate::workspace::fileops::LaneId;

#[derive(Debug, Default)]
pub(crate) struct Jobs {
    pub reads: Pending<reply::DiskRead, ReadJob>,
    /// The lanes whose operations change a buffer or the disk.
    pub edits: Pending<reply::Edited, LaneId>,
    pub writes: Pending<reply::DiskWritten, LaneId>,
    pub checkpoints: Pending<reply::CheckpointTaken, CheckpointJob>,
}

/// The reason for reading a file.
#[derive(Debug)]
pub(crate) enum ReadJob {
    /// The current operation of a lane.
    Operation(LaneId),
    /// A proposal for the file.
    Proposal(PathBuf),
    /// A review that an earlier Neovim left.
    Kept {
        session: SessionKey,
        kept: KeptReview,
    },
    /// The saved text of a buffer that was modified when it was first seen.
    Saved(BufId),
}

/// The checkpoint before or after a session's turn.
#[derive(Debug)]
pub(crate) struct CheckpointJob {
    pub session: SessionKey,
    pub root: PathBuf,
}

impl Jobs {
    /// Returns the jobs still to be resumed, as text.
    #[cfg(test)]
    pub fn left(&self) -> Vec<String> {
        let text = |job: &dyn std::fmt::Debug| format!("{job:?}");
        let mut left: Vec<String> = self.reads.values().map(|job| text(job)).collect();
        left.extend(self.edits.values().map(|job| text(job)));
        left.extend(self.writes.values().map(|job| text(job)));
        left.extend(self.checkpoints.values().map(|job| text(job)));
        left
    }
}
