//! The work of this room that resumes when the host or the editor replies.

use std::path::PathBuf;

use crate::spine::cx::Effects;
use crate::spine::effect::{HostEffect, Turns};
use crate::spine::event::{DiskFile, EditDone, EditError, ReadError, Stamp, WriteError};
use crate::spine::ids::{BufId, SessionKey};
use crate::spine::pending::{Pending, Token, reply};
use crate::spine::project::{Checkpoint, KeptReview};
use crate::workspace::Workspace;
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
        kept: Box<KeptReview>,
    },
    /// The saved text of a buffer that was modified when it was first seen.
    Saved(BufId),
}

/// A checkpoint before or after a session's turn, or one that tells the host whether agents work.
#[derive(Debug)]
pub(crate) struct CheckpointJob {
    /// The session that waits, if one does.
    pub session: Option<SessionKey>,
    pub root: PathBuf,
    /// What the host was told.
    pub turns: Turns,
}

impl Workspace {
    /// Handles a file that was read; returns the result if this room has not asked for it.
    pub(crate) fn disk_was_read(
        &mut self,
        token: Token<reply::DiskRead>,
        mut result: Result<DiskFile, ReadError>,
        fx: &mut Effects,
    ) -> Option<Result<DiskFile, ReadError>> {
        if let Ok(disk) = &result
            && self.documents.is_overwritten(disk)
        {
            // A file that was read before a save replaced it is read again.
            let path = disk.real.clone();
            fx.push(HostEffect::ReadDisk { token, path });
            return None;
        }
        if let Ok(DiskFile {
            real,
            content: Some(content),
            ..
        }) = &mut result
        {
            self.read_as_known(real, content);
        }
        match self.jobs.reads.take(token) {
            Some(ReadJob::Operation(lane)) => self.file_was_read(lane, result, fx),
            Some(ReadJob::Kept { session, kept }) => self.kept_was_read(session, *kept, result, fx),
            Some(ReadJob::Proposal(path)) => self.proposal_read(&path, result, fx),
            Some(ReadJob::Saved(buf)) => self.saved_text_read(buf, result),
            None => return Some(result),
        }
        None
    }

    pub(crate) fn disk_was_written(
        &mut self,
        token: Token<reply::DiskWritten>,
        result: Result<Option<Stamp>, WriteError>,
        fx: &mut Effects,
    ) {
        if let Some(lane) = self.jobs.writes.take(token) {
            self.file_was_written(lane, result, fx);
        }
    }

    /// Handles the reply to an edit of a buffer.
    pub(crate) fn edit_was_answered(
        &mut self,
        buf: BufId,
        token: Token<reply::Edited>,
        result: Result<EditDone, EditError>,
        fx: &mut Effects,
    ) {
        if let Err(EditError::Stale { tick }) = result {
            self.documents.catch_up(buf, tick);
        }
        self.edit_is_over(buf, token);
        if let Some(lane) = self.jobs.edits.take(token) {
            self.file_was_edited(lane, result, fx);
        }
    }

    /// Handles a finished checkpoint.
    pub(crate) fn checkpoint_was_answered(
        &mut self,
        token: Token<reply::CheckpointTaken>,
        result: Result<Checkpoint, String>,
        fx: &mut Effects,
    ) {
        if let Some(job) = self.jobs.checkpoints.take(token) {
            self.checkpoint_has_all(token, fx);
            self.note_over(&job, result.is_ok());
            // First, because the project may be closed next.
            self.tell_turns(&job, fx);
            match job.session {
                Some(session) => self.checkpoint_taken(session, &job.root, result, fx),
                None => self.leave_project(&job.root, fx),
            }
        }
    }
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
