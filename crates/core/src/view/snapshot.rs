//! Snapshots: the public API's immediate answers, as plain data that the core publishes.
//!
//! Invariant: a snapshot is published with each frame and before each `User` event. While events
//! wait, several frames and `User` events share one, so that its cost does not grow with each.

use std::sync::Arc;

use serde_json::Value;

use crate::conversation::agent::AgentState;
use crate::conversation::info::SessionInfo;
use crate::form::Ask;
use crate::spine::event::AgentSpec;
use crate::spine::ids::SessionKey;
use crate::terminals::info::TerminalInfo;
use crate::workspace::info::{ProposalInfo, ReviewInfo};
use acp::client::Initialized;
use acp::{OptionKind, PermissionOption};

#[derive(Debug, Default)]
pub struct Snapshot {
    pub sessions: Vec<SessionInfo>,
    pub agents: Vec<AgentInfo>,
    /// Those that wait for the user, oldest first.
    pub questions: Vec<QuestionInfo>,
    pub reviews: Vec<Arc<ReviewInfo>>,
    /// By path.
    pub proposals: Vec<ProposalInfo>,
    /// Oldest first.
    pub terminals: Vec<TerminalInfo>,
}

impl Snapshot {
    /// Returns the number of its parts that an agent can multiply.
    fn size(&self) -> usize {
        self.questions.len() + self.reviews.len() + self.proposals.len() + self.terminals.len()
    }
}

/// How many parts of a snapshot are made for one event, at most, while other events wait.
const PARTS: usize = 16;

/// Decides when a snapshot is published while other events wait.
#[derive(Debug, Default)]
pub struct Publishing {
    /// The size of the last snapshot.
    size: usize,
    /// Events applied since then.
    events: usize,
}

impl Publishing {
    /// An event was applied.
    pub fn event(&mut self) {
        self.events += 1;
    }

    /// Returns whether a snapshot is due although other events wait.
    pub fn is_due(&self) -> bool {
        self.events.saturating_mul(PARTS) >= self.size
    }

    /// A snapshot was published.
    pub fn published(&mut self, snapshot: &Snapshot) {
        *self = Self {
            size: snapshot.size(),
            events: 0,
        };
    }
}

/// A process of an agent.
#[derive(Debug, Clone)]
pub struct AgentInfo {
    pub spec: AgentSpec,
    pub state: AgentState,
    /// Its answer to `initialize`, once it has arrived.
    pub info: Option<Initialized>,
    pub sessions: Vec<SessionKey>,
}

#[derive(Debug, Clone)]
pub struct QuestionInfo {
    pub id: u64,
    pub session: SessionKey,
    pub content: QuestionContent,
}

#[derive(Debug, Clone)]
pub enum QuestionContent {
    Permission {
        title: String,
        /// The tool call in the protocol's own form.
        tool_call: Value,
        options: Vec<PermissionOption>,
    },
    Elicitation {
        message: String,
        ask: Ask,
    },
}

/// Returns the protocol's name of an option's kind.
pub fn option_kind(kind: &OptionKind) -> &str {
    match kind {
        OptionKind::AllowOnce => "allow_once",
        OptionKind::AllowAlways => "allow_always",
        OptionKind::RejectOnce => "reject_once",
        OptionKind::RejectAlways => "reject_always",
        OptionKind::Unknown(name) => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(id: u64) -> QuestionInfo {
        QuestionInfo {
            id,
            session: SessionKey(1),
            content: QuestionContent::Permission {
                title: String::new(),
                tool_call: Value::Null,
                options: Vec::new(),
            },
        }
    }

    /// Returns how many parts of snapshots are made while so many questions arrive without a pause.
    fn parts(questions: u64) -> usize {
        let (mut publishing, mut snapshot, mut parts) =
            (Publishing::default(), Snapshot::default(), 0);
        for id in 1..=questions {
            snapshot.questions.push(asked(id));
            publishing.event();
            if publishing.is_due() {
                publishing.published(&snapshot);
                parts += snapshot.size();
            }
        }
        parts
    }

    #[test]
    fn twice_as_many_questions_cost_twice_as_much() {
        let (once, twice) = (parts(2000), parts(4000));
        assert!(twice < once * 5 / 2, "{once} and {twice}");
        assert!(twice < 4000 * 2 * PARTS, "{twice}");
        // Few are announced at once.
        assert_eq!(parts(8), 36);
    }
}
