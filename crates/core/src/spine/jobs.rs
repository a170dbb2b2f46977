//! Work that goes on when an effect reports back, and which files it is going to change.
//!
//! Invariant: whether a decision is being carried out in a file is known without a look at all
//! jobs: that is asked after each event, of each file that waits.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::conversation::history::HistoryJob;
use crate::questions::rules::Check;
use crate::spine::ids::{AgentKey, BufId, SessionKey, Token};
use crate::spine::project::KeptReview;
use crate::tools::ToolJob;
use crate::workspace::changes::ChangeJob;
use crate::workspace::files::{FileJob, Write};
use crate::workspace::proposals::ProposalJob;
use crate::workspace::reviews::{ReviewJob, ShiftJob};

/// Work that goes on when an effect reports back.
#[derive(Debug)]
pub enum Job {
    /// A control request must have been answered by now.
    ControlTimeout {
        agent: AgentKey,
        id: u64,
    },
    File(FileJob),
    Review(ReviewJob),
    Shift(ShiftJob),
    Proposal(ProposalJob),
    Change(ChangeJob),
    /// A rule waits to know where paths lead.
    Rules(Check),
    /// The checkpoint before or after a session's turn.
    Checkpoint {
        session: SessionKey,
        root: PathBuf,
    },
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

impl Job {
    /// Returns the file that a decision of the user's is being carried out in.
    fn decides(&self) -> Option<&Path> {
        match self {
            Job::Review(job) => Some(job.path()),
            Job::Shift(job) => Some(job.path()),
            Job::Proposal(job) => job.changes(),
            _ => None,
        }
    }

    fn write(&self) -> Option<&Write> {
        match self {
            Job::File(FileJob::Write(write)) => Some(write),
            _ => None,
        }
    }
}

/// All jobs, by the token of the effect that each waits for.
#[derive(Debug, Default)]
pub struct Jobs {
    all: HashMap<Token, Job>,
    /// How many decisions are being carried out in a file.
    decisions: HashMap<PathBuf, usize>,
    /// How many of the jobs are writes of agents'.
    writes: usize,
}

impl Jobs {
    pub fn insert(&mut self, token: Token, job: Job) {
        if let Some(path) = job.decides() {
            *self.decisions.entry(path.to_owned()).or_default() += 1;
        }
        self.writes += usize::from(job.write().is_some());
        self.all.insert(token, job);
    }

    /// Takes out the job that waits for an effect.
    pub fn remove(&mut self, token: Token) -> Option<Job> {
        let job = self.all.remove(&token)?;
        if let Some(path) = job.decides()
            && let Some(count) = self.decisions.get_mut(path)
        {
            *count -= 1;
            if *count == 0 {
                self.decisions.remove(path);
            }
        }
        self.writes -= usize::from(job.write().is_some());
        Some(job)
    }

    pub fn get(&self, token: Token) -> Option<&Job> {
        self.all.get(&token)
    }

    /// Returns a request for a file that is under way.
    pub fn file_mut(&mut self, is_meant: impl Fn(&FileJob) -> bool) -> Option<&mut FileJob> {
        self.all.values_mut().find_map(|job| match job {
            Job::File(job) if is_meant(job) => Some(job),
            _ => None,
        })
    }

    pub fn values(&self) -> impl Iterator<Item = &Job> {
        self.all.values()
    }

    /// Returns the writes of agents' that are under way.
    pub fn writes(&self) -> impl Iterator<Item = &Write> {
        let all = self.all.values().filter_map(Job::write);
        all.take(self.writes)
    }

    /// Returns whether a decision is being carried out in a file of one of these names.
    pub fn decide_about(&self, names: &[PathBuf]) -> bool {
        names.iter().any(|name| self.decisions.contains_key(name))
    }

    /// Forgets what limits the time of an agent that is gone.
    pub fn forget_timeouts(&mut self, gone: AgentKey) {
        self.all
            .retain(|_, job| !matches!(job, Job::ControlTimeout { agent, .. } if *agent == gone));
    }
}
