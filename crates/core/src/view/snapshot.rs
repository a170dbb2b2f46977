//! Snapshots: the public API's immediate answers, as plain data that the core publishes.
//!
//! Invariant: a snapshot is published with each frame and before each `User` event.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::conversation::agent::AgentState;
use crate::conversation::info::SessionInfo;
use crate::form::Ask;
use crate::spine::event::AgentSpec;
use crate::spine::ids::SessionKey;
use crate::spine::project::Whole;
use crate::terminals::info::TerminalInfo;
use crate::workspace::info::{HunkInfo, ProposalInfo};
use acp::client::Initialized;
use acp::{OptionKind, PermissionOption};

#[derive(Debug, Default)]
pub struct Snapshot {
    pub sessions: Vec<SessionInfo>,
    pub agents: Vec<AgentInfo>,
    /// Those that wait for the user, oldest first.
    pub questions: Vec<QuestionInfo>,
    pub reviews: Vec<ReviewInfo>,
    /// By path.
    pub proposals: Vec<ProposalInfo>,
    /// Oldest first.
    pub terminals: Vec<TerminalInfo>,
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

#[derive(Debug, Clone)]
pub struct ReviewInfo {
    pub path: PathBuf,
    pub session: SessionKey,
    pub hunks: Arc<Vec<HunkInfo>>,
    /// Changes of the file as a whole, besides its hunks.
    pub whole: Vec<Whole>,
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
