//! The life of an agent's process and its sessions: start, initialize, new session, end.
//!
//! Invariant: once a process has ended, no session, permission or turn waits for it.

use crate::conversation::Conversation;
use crate::conversation::agent::{AgentState, Call};
use crate::spine::cx::{Effects, log};
use crate::spine::effect::Level;
use crate::spine::ids::{AgentKey, SessionKey};
use acp::client::{self};

impl Conversation {
    pub(crate) fn agent_started(&mut self, agent: AgentKey, pid: u32, fx: &mut Effects) {
        fx.push(log(
            Level::Info,
            format!("agent {} started, pid {pid}", agent.0),
        ));
        self.request(agent, Call::Initialize, client::initialize(), fx);
    }

    /// Returns whether an agent can receive requests, now or soon.
    pub(crate) fn is_staying(&self, agent: AgentKey) -> bool {
        let agent = self.agents.get(&agent);
        agent.is_some_and(|agent| agent.state != AgentState::Leaving)
    }

    /// Returns whether a process has opened a session other than this one.
    pub(crate) fn serves_others(&self, agent: AgentKey, key: SessionKey) -> bool {
        let is_open = |other: &SessionKey| {
            let session = self.sessions.get(other);
            *other != key && session.is_some_and(|session| session.opening.is_open())
        };
        self.sessions_of(agent).iter().any(is_open)
    }
}

/// Returns the line that fits into a message; the transcript shows the full text.
pub(crate) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
