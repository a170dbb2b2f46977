//! What lists and the public API show of a session.

use std::path::PathBuf;
use std::sync::Arc;

use crate::conversation::complete::Files;
use crate::conversation::queue::QueuedInfo;
use crate::conversation::recall::Prompts;
use crate::conversation::session::Phase;
use crate::conversation::usage::Usage;
use crate::spine::ids::SessionKey;
use crate::spine::view::Follow;
use acp::{Command, SessionId, SessionOption};

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
    /// The agent takes words into a running turn.
    pub steering: bool,
}

/// The unfinished tool calls of a session.
#[derive(Debug, Clone, Default)]
pub struct ToolsInfo {
    pub running: usize,
    /// The title and kind of the latest one.
    pub latest: Option<(String, String)>,
}
