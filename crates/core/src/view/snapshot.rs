//! Snapshots: the public API's immediate answers, as plain data that the core publishes.
//!
//! Invariant: a snapshot is published with each frame and before each `User` event.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::conversation::agent::AgentState;
use crate::conversation::complete::Files;
use crate::conversation::queue::QueuedInfo;
use crate::conversation::recall::Prompts;
use crate::conversation::session::Phase;
use crate::conversation::usage::Usage;
use crate::questions::elicitation::Ask;
use crate::spine::event::AgentSpec;
use crate::spine::ids::{SessionKey, TerminalKey};
use crate::spine::project::Whole;
use crate::terminals::State;
use crate::view::follow::Follow;
use crate::workspace::ledger::Review;
use acp::client::Initialized;
use acp::{Command, OptionKind, PermissionOption, SessionId, SessionOption, path_as_text};

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
pub struct SessionInfo {
    pub session: SessionKey,
    /// The agent's id for the session.
    pub id: Option<SessionId>,
    pub agent: String,
    /// The session's folder.
    pub cwd: PathBuf,
    pub phase: Phase,
    pub stop_reason: Option<String>,
    pub mode: Option<String>,
    pub model: Option<String>,
    /// All options, with mode and model.
    pub options: Arc<[SessionOption]>,
    /// The agent's slash commands.
    pub commands: Arc<[Command]>,
    /// Done, total.
    pub plan: Option<(usize, usize)>,
    /// The running tool calls.
    pub tools: ToolsInfo,
    pub permissions: usize,
    /// The queued prompts, the next one first.
    pub queue: Vec<QueuedInfo>,
    pub elicitations: usize,
    /// Files, hunks.
    pub review: (usize, usize),
    /// The number of running terminals.
    pub terminals: usize,
    pub usage: Option<Usage>,
    pub title: Option<String>,
    pub follow: Follow,
    /// The attachments of the next prompt, by name.
    pub attached: Vec<String>,
    /// The project's files, once they are listed.
    pub files: Option<Arc<Files>>,
    /// The user's prompts in the project, oldest first.
    pub prompts: Prompts,
    /// The agent requires a log-in before it continues.
    pub needs_login: bool,
    /// Whether images can be attached; true while the agent's capabilities are unknown.
    pub takes_images: bool,
}

/// The unfinished tool calls of a session.
#[derive(Debug, Clone, Default)]
pub struct ToolsInfo {
    pub running: usize,
    /// The title and kind of the latest one.
    pub latest: Option<(String, String)>,
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

/// A file's changes that agents propose and have not written yet.
#[derive(Debug, Clone)]
pub struct ProposalInfo {
    pub path: PathBuf,
    /// `row` and `count` are those of the lines that would be removed.
    pub hunks: Vec<HunkInfo>,
}

/// A terminal that can be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalInfo {
    pub key: TerminalKey,
    pub session: SessionKey,
    /// The command on one line; the tool call's title if the command is unknown.
    pub title: Arc<str>,
    pub cwd: Arc<Path>,
    pub state: State,
    /// Number of bytes printed so far.
    pub bytes: u64,
    /// This client runs, or ran, its command: it accepts input and can be killed. Otherwise it only
    /// shows the agent's reports.
    pub has_process: bool,
    /// The agent has released it.
    pub is_released: bool,
}

/// A hunk: rows are 0-based, `old` and `new` are its lines.
#[derive(Debug, Clone, Serialize)]
pub struct HunkInfo {
    #[serde(serialize_with = "path_as_text")]
    pub path: PathBuf,
    pub row: usize,
    pub count: usize,
    pub old: Vec<String>,
    pub new: Vec<String>,
    pub state: &'static str,
}

impl HunkInfo {
    /// Returns the hunks of one file.
    pub fn of(path: &Path, review: &Review) -> Vec<HunkInfo> {
        let hunks = review.hunks().iter();
        hunks
            .map(|hunk| HunkInfo {
                path: path.to_owned(),
                row: hunk.new.start,
                count: hunk.new.len(),
                old: review.base().to_lines(hunk.old.clone()),
                new: review.current().to_lines(hunk.new.clone()),
                state: if hunk.conflict.is_some() {
                    "conflict"
                } else {
                    "pending"
                },
            })
            .collect()
    }
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
