//! Work that goes on when an effect reports back.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::conversation::history::HistoryJob;
use crate::questions::rules::Check;
use crate::spine::ids::{AgentKey, BufId, SessionKey, Token};
use crate::spine::project::KeptReview;
use crate::tools::ToolJob;
use crate::workspace::fileops::LaneId;

/// Work that goes on when an effect reports back.
#[derive(Debug)]
pub enum Job {
    /// A control request must have been answered by now.
    ControlTimeout { agent: AgentKey, id: u64 },
    /// The operation that is being carried out on a file.
    File(LaneId),
    /// The disk is read for what is proposed for a file.
    Proposed(PathBuf),
    /// A rule waits to know where paths lead.
    Rules(Check),
    /// The checkpoint before or after a session's turn.
    Checkpoint { session: SessionKey, root: PathBuf },
    /// The user has had time to go on to another mode.
    OptionChosen(SessionKey),
    /// Something about sessions of the past.
    History(HistoryJob),
    /// A file of a review that a Neovim before this one has left.
    Kept {
        session: SessionKey,
        kept: KeptReview,
    },
    /// The time of a call of one of Neovim's tools.
    Tool(ToolJob),
    /// Something that goes along with a prompt is fetched; the attachment knows by the token.
    Content,
    /// The saved text of a buffer that was modified when it was first seen.
    Saved(BufId),
}

/// All jobs, by the token of the effect that each waits for.
#[derive(Debug, Default)]
pub struct Jobs {
    all: HashMap<Token, Job>,
}

impl Jobs {
    pub fn insert(&mut self, token: Token, job: Job) {
        self.all.insert(token, job);
    }

    /// Takes out the job that waits for an effect.
    pub fn remove(&mut self, token: Token) -> Option<Job> {
        self.all.remove(&token)
    }

    pub fn get(&self, token: Token) -> Option<&Job> {
        self.all.get(&token)
    }

    pub fn values(&self) -> impl Iterator<Item = &Job> {
        self.all.values()
    }

    /// Forgets what limits the time of an agent that is gone.
    pub fn forget_timeouts(&mut self, gone: AgentKey) {
        self.all
            .retain(|_, job| !matches!(job, Job::ControlTimeout { agent, .. } if *agent == gone));
    }
}
