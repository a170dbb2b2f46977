//! The work that goes on when an effect reports back, by the kind of its reply.

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
    /// The lanes whose operations change a buffer or the disk.
    pub edits: Pending<reply::Edited, LaneId>,
    pub writes: Pending<reply::DiskWritten, LaneId>,
    /// The rules that wait to know where paths lead.
    pub rules: Pending<reply::Resolved, Check>,
    pub checkpoints: Pending<reply::CheckpointTaken, CheckpointJob>,
    pub images: Pending<reply::ImageRead, ContentId>,
    pub diffs: Pending<reply::DiffRead, ContentId>,
    pub history: Pending<reply::History, HistoryJob>,
    pub timers: Pending<reply::Timer, TimerJob>,
    contents: u64,
}

/// What a file is read for.
#[derive(Debug)]
pub enum ReadJob {
    /// The operation its lane carries out.
    Operation(LaneId),
    /// A proposal for the file.
    Proposal(PathBuf),
    /// A review that an earlier Neovim left.
    Kept {
        session: SessionKey,
        kept: KeptReview,
    },
    /// A prompt.
    Content(ContentId),
    /// The saved text of a buffer that was modified when it was first seen.
    Saved(BufId),
}

/// The checkpoint before or after a session's turn.
#[derive(Debug)]
pub struct CheckpointJob {
    pub session: SessionKey,
    pub root: PathBuf,
}

/// What a timer is for.
#[derive(Debug)]
pub enum TimerJob {
    /// The time limit of a control request.
    Control { agent: AgentKey, id: u64 },
    /// The user has had time to go on to another mode.
    OptionChosen(SessionKey),
    /// The agents asked for their sessions have had time to answer.
    Listing(u32),
    /// The time of a call of one of Neovim's tools.
    Tool(ToolJob),
}

impl Jobs {
    /// Returns an id for something that is fetched for a prompt.
    pub fn content(&mut self) -> ContentId {
        self.contents += 1;
        ContentId(self.contents)
    }

    /// Returns whether something is being fetched.
    pub fn is_fetching(&self, id: ContentId) -> bool {
        let is_read = |job: &ReadJob| matches!(job, ReadJob::Content(read) if *read == id);
        self.reads.values().any(is_read)
            || self.images.values().any(|image| *image == id)
            || self.diffs.values().any(|diff| *diff == id)
    }

    /// Returns the jobs, as text, that are to be resumed yet; time limits are not.
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

    /// Gives up the time limits of an agent that is gone.
    pub fn forget_timeouts(&mut self, gone: AgentKey) {
        let is_its =
            |job: &TimerJob| matches!(job, TimerJob::Control { agent, .. } if *agent == gone);
        self.timers.retain(|job| !is_its(job));
    }
}
