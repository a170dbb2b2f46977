//! The work of this room that replies to effects resume, by the kind of reply.

use crate::conversation::history::state::HistoryJob;
use crate::spine::ids::{AgentKey, ContentId, SessionKey};
use crate::spine::pending::{Pending, reply};

#[derive(Debug)]
pub struct Jobs {
    pub reads: Pending<reply::DiskRead, ContentId>,
    pub images: Pending<reply::ImageRead, ContentId>,
    pub diffs: Pending<reply::DiffRead, ContentId>,
    pub history: Pending<reply::History, HistoryJob>,
    pub timers: Pending<reply::Timer, TimerJob>,
    contents: u64,
}

/// The purpose of a timer.
#[derive(Debug)]
pub enum TimerJob {
    /// The time limit of a control request.
    Control { agent: AgentKey, id: u64 },
    /// The time after which the user learns that a cancelled turn goes on: the prompt's request.
    Cancelled { session: SessionKey, request: u64 },
    /// The next second of a turn.
    Second(SessionKey),
    /// The time after which work outside a turn may be over.
    Quiet(SessionKey),
    /// The debounce of cycling through the modes.
    OptionChosen(SessionKey),
    /// Time limit for agents to list their sessions.
    Listing(u32),
    /// The silence after the answer to a load, which ends the replay.
    Loaded(Loaded),
}

/// A load that the agent has answered.
#[derive(Debug, Clone, Copy)]
pub struct Loaded {
    pub agent: AgentKey,
    pub session: SessionKey,
    /// How often the agent was not silent since.
    pub rounds: u64,
}

impl Default for Jobs {
    fn default() -> Self {
        // The workspace reads files too, and the tools have timers.
        Self {
            reads: Pending::of_owner(1),
            images: Pending::default(),
            diffs: Pending::default(),
            history: Pending::default(),
            timers: Pending::of_owner(1),
            contents: 0,
        }
    }
}

impl Jobs {
    /// Returns an id for content to be fetched for a prompt.
    pub fn content(&mut self) -> ContentId {
        self.contents += 1;
        ContentId(self.contents)
    }

    /// Returns whether content is being fetched.
    pub fn is_fetching(&self, id: ContentId) -> bool {
        let reads = self.reads.values().chain(self.images.values());
        reads.chain(self.diffs.values()).any(|job| *job == id)
    }

    /// Returns the jobs still to be resumed, as text; without time limits.
    #[cfg(test)]
    pub fn left(&self) -> Vec<String> {
        let is_due = |job: &&TimerJob| {
            !matches!(
                job,
                TimerJob::Control { .. }
                    | TimerJob::Cancelled { .. }
                    | TimerJob::Second(_)
                    | TimerJob::Quiet(_)
            )
        };
        let text = |job: &dyn std::fmt::Debug| format!("{job:?}");
        let mut left: Vec<String> = self.reads.values().map(|job| text(job)).collect();
        left.extend(self.images.values().map(|job| text(job)));
        left.extend(self.diffs.values().map(|job| text(job)));
        left.extend(self.history.values().map(|job| text(job)));
        left.extend(self.timers.values().filter(is_due).map(|job| text(job)));
        left
    }
}
