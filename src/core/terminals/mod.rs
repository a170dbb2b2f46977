//! Terminals: what agents run in them, and what they only show there.

use super::event::{Event, TerminalExit};
use super::ids::{AgentKey, SessionKey};
use super::model::{Effects, Model};
use super::snapshot::TerminalInfo;
use crate::acp::{AgentRequest, RequestId, RpcError, rpc};

/// All terminals.
#[derive(Debug, Default)]
pub struct Terminals {}

/// How a terminal stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// The command is being started.
    Starting,
    Running,
    Exited(TerminalExit),
    /// The command could not be started: a sentence with the next step.
    Failed(String),
}

impl State {
    /// Returns the word for it.
    pub fn word(&self) -> &'static str {
        match self {
            State::Starting => "starting",
            State::Running => "running",
            State::Exited(_) => "exited",
            State::Failed(_) => "failed",
        }
    }

    /// Tells whether nothing more will come of it.
    pub fn is_over(&self) -> bool {
        matches!(self, State::Exited(_) | State::Failed(_))
    }

    /// Returns how it has ended, if it has: `exit code 3`, `killed by SIGKILL`, `ended`, or why it
    /// was never started.
    pub fn end(&self) -> Option<String> {
        match self {
            State::Starting | State::Running => None,
            State::Failed(why) => Some(why.clone()),
            State::Exited(exit) => Some(match (&exit.signal, exit.code) {
                (Some(signal), _) => format!("killed by {signal}"),
                (None, Some(code)) => format!("exit code {code}"),
                (None, None) => "ended".to_owned(),
            }),
        }
    }
}

impl Terminals {
    /// Returns what is known of each, oldest first.
    pub fn infos(&self) -> Vec<TerminalInfo> {
        Vec::new()
    }

    /// Returns how many of a session's are running.
    pub fn running(&self, _session: SessionKey) -> usize {
        0
    }
}

impl Model {
    /// An agent asks something of a terminal.
    pub(super) fn terminal_request(
        &mut self,
        agent: AgentKey,
        id: RequestId,
        _call: AgentRequest,
        fx: &mut Effects,
    ) {
        let error = RpcError::new(rpc::METHOD_NOT_FOUND, "Method not found");
        self.refuse(agent, &id, error, fx);
    }

    /// Something happened in a terminal.
    pub(super) fn terminal_event(&mut self, _event: Event, _fx: &mut Effects) {}
}
