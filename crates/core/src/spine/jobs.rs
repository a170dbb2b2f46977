//! The work resumed by replies to effects, by the kind of reply.

use std::path::PathBuf;

use crate::conversation::history::HistoryJob;
use crate::questions::rules::Check;
use crate::spine::ids::{AgentKey, BufId, ContentId, SessionKey};
use crate::spine::pending::{Pending, reply};
use crate::spine::project::KeptReview;
use crate::tools::ToolJob;
use crate::workspace::fileops::LaneId;

#[derive(Debug, Default)]
pub struct Jobs {
    pub reads: Pending<reply::DiskRead, ReadJob>,
    /// The lanes whose operation changes a buffer or the disk.
    pub edits: Pending<reply::Edited, LaneId>,
    pub writes: Pending<reply::DiskWritten, LaneId>,
    /// The rules that wait for resolved paths.
    pub rules: Pending<reply::Resolved, Check>,
    pub checkpoints: Pending<reply::CheckpointTaken, CheckpointJob>,
    pub images: Pending<reply::ImageRead, ContentId>,
    pub diffs: Pending<reply::DiffRead, ContentId>,
    pub history: Pending<reply::History, HistoryJob>,
    pub timers: Pending<reply::Timer, TimerJob>,
    contents: u64,
}

/// Why a file is read.
#[derive(Debug)]
pub enum ReadJob {
    /// The current operation of its lane.
    Operation(LaneId),
    /// A proposal for the file.
    Proposal(PathBuf),
    /// A review stored by an earlier Neovim.
    Kept {
        session: SessionKey,
        kept: KeptReview,
    },
    /// A prompt.
    Content(ContentId),
    /// The saved text of a buffer that was modified when it was attached.
    Saved(BufId),
}

/// The checkpoint before or after a session's turn.
#[derive(Debug)]
pub struct CheckpointJob {
    pub session: SessionKey,
    pub root: PathBuf,
}

/// Why a timer runs.
#[derive(Debug)]
pub enum TimerJob {
    /// The time limit of a control request.
    Control { agent: AgentKey, id: u64 },
    /// The debounce of cycling through the modes.
    OptionChosen(SessionKey),
    /// Time limit for agents to list their sessions.
    Listing(u32),
    /// A timer of a call of Neovim's tools.
    Tool(ToolJob),
}

impl Jobs {
    /// Returns an id for content to be fetched for a prompt.
    pub fn content(&mut self) -> ContentId {
        self.contents += 1;
        ContentId(self.contents)
    }

    /// Returns whether content is being fetched.
    pub fn is_fetching(&self, id: ContentId) -> bool {
        let is_read = |job: &ReadJob| matches!(job, ReadJob::Content(read) if *read == id);
        self.reads.values().any(is_read)
            || self.images.values().any(|image| *image == id)
            || self.diffs.values().any(|diff| *diff == id)
    }

    /// Returns the jobs still to be resumed, as text; without time limits.
    #[cfg(test)]
    pub fn left(&self) -> Vec<String> {
        let is_due =
            |job: &&TimerJob| matches!(job, TimerJob::OptionChosen(_) | TimerJob::Listing(_));
        let text = |job: &dyn std::fmt::Debug| format!("{job:?}");
        let mut left: Vec<String> = self.reads.values().map(|job| text(job)).collect();
        left.extend(self.edits.values().map(|job| text(job)));
        left.extend(self.writes.values().map(|job| text(job)));
        left.extend(self.rules.values().map(|job| text(job)));
        left.extend(self.checkpoints.values().map(|job| text(job)));
        left.extend(self.images.values().map(|job| text(job)));
        left.extend(self.diffs.values().map(|job| text(job)));
        left.extend(self.history.values().map(|job| text(job)));
        left.extend(self.timers.values().filter(is_due).map(|job| text(job)));
        left
    }

    /// Drops the time limits of an agent that has exited.
    pub fn forget_timeouts(&mut self, gone: AgentKey) {
        let is_its =
            |job: &TimerJob| matches!(job, TimerJob::Control { agent, .. } if *agent == gone);
        self.timers.retain(|job| !is_its(job));
    }
}
