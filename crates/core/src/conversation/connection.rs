//! The life of an agent's process and its sessions: start, initialize, new session, end.
//!
//! Invariant: once a process has ended, no session, permission or turn waits for it.

use serde_json::Value;

use crate::conversation::Conversation;
use crate::conversation::agent::{Agent, AgentState, Call};
use crate::conversation::session::Session;
use crate::spine::cx::{Effects, log};
use crate::spine::effect::{HostEffect, Level};
use crate::spine::ids::{AgentKey, SessionKey};
use acp::RpcError;
use acp::client::{self, Initialized, PROTOCOL_VERSION};

impl Conversation {
    pub(crate) fn agent_started(&mut self, agent: AgentKey, pid: u32, fx: &mut Effects) {
        fx.push(log(
            Level::Info,
            format!("agent {} started, pid {pid}", agent.0),
        ));
        self.request(agent, Call::Initialize, client::initialize(), fx);
    }

    /// Assigns a process to a session: a running one with the same command, or a new one. Returns
    /// the process if the session can be requested from it at once.
    pub(crate) fn assign(&mut self, key: SessionKey, fx: &mut Effects) -> Option<AgentKey> {
        let session = self.sessions.get_mut(&key)?;
        session.options.begin();
        session.queue.hold(false);
        // Updates for a session that was closed while it was being loaded would be taken for the
        // reopened one's.
        let is_left = |agent: &Agent| {
            let mut pending = agent.pending.values();
            session.id.as_ref().is_some_and(|id| {
                pending.any(|call| matches!(call, Call::Orphan(_, Some(left)) if left == id))
            })
        };
        let is_it = |agent: &Agent| {
            agent.spec == session.spec && agent.state != AgentState::Leaving && !is_left(agent)
        };
        let mut running = self.agents.iter().filter(|_| !session.is_alone);
        if let Some((agent, running)) = running.find(|(_, agent)| is_it(agent)) {
            session.agent = Some(*agent);
            return (running.state == AgentState::Ready).then_some(*agent);
        }
        self.next_agent += 1;
        let agent = AgentKey(self.next_agent);
        session.agent = Some(agent);
        let spec = session.spec.clone();
        self.agents.insert(agent, Agent::new(spec.clone()));
        fx.push(HostEffect::Spawn { agent, spec });
        None
    }

    /// Handles the answer to `initialize`; returns the sessions to open.
    ///
    /// # Errors
    /// A sentence that says why the agent cannot be used.
    pub(crate) fn initialized(
        &mut self,
        agent: AgentKey,
        result: Result<Value, RpcError>,
    ) -> Result<Vec<SessionKey>, String> {
        let state = self.agents.get_mut(&agent);
        let Some(state) = state.filter(|state| state.state != AgentState::Leaving) else {
            return Ok(Vec::new());
        };
        let name = &state.spec.name;
        let info = match result {
            Ok(value) => client::initialized(&value),
            Err(error) => Err(error.to_string()),
        };
        let info =
            info.map_err(|why| format!("The agent \"{name}\" could not be initialized: {why}"))?;
        if info.version != PROTOCOL_VERSION {
            return Err(format!(
                "The agent \"{name}\" speaks version {} of the Agent Client Protocol, this \
                 client speaks version {PROTOCOL_VERSION}: update whichever is older.",
                info.version
            ));
        }
        state.info = Some(info);
        state.state = AgentState::Ready;
        Ok(self.sessions_of(agent))
    }

    /// Returns the process that serves a session, unless it was asked to end.
    pub(crate) fn serving(&self, key: SessionKey) -> Option<AgentKey> {
        let agent = self.sessions.get(&key)?.agent;
        agent.filter(|agent| self.is_staying(*agent))
    }

    /// Ends a session's use of a shared process; it gets a separate one.
    pub(crate) fn part(&mut self, key: SessionKey) {
        if let Some(session) = self.sessions.get_mut(&key) {
            session.is_alone = true;
            let text = "The agent's process accepts no further session: this one gets its own \
                        process.";
            session.transcript.notice(Level::Info, text);
        }
    }

    /// Returns what an agent has said about itself.
    pub(crate) fn info(&self, agent: AgentKey) -> Option<&Initialized> {
        self.agents.get(&agent)?.info.as_ref()
    }

    /// Cancels the permissions an agent waits for, and asks it to end.
    pub(crate) fn dismiss(&mut self, agent: AgentKey, fx: &mut Effects) {
        self.cancel_early_permissions(agent, fx);
        if let Some(state) = self.agents.get_mut(&agent)
            && state.state != AgentState::Leaving
        {
            state.state = AgentState::Leaving;
            fx.push(HostEffect::Shutdown { agent });
        }
    }

    /// Removes a process that has ended, or that is no longer needed.
    pub(crate) fn forget_agent(&mut self, agent: AgentKey) -> Option<Agent> {
        self.agents.remove(&agent)
    }

    /// Adds a session, unless its key is taken; returns whether it was added.
    pub(crate) fn add_session(&mut self, key: SessionKey, mut session: Session) -> bool {
        let is_new = !self.sessions.contains_key(&key);
        if is_new {
            self.logins.complete(&mut session.spec);
            self.sessions.insert(key, session);
        }
        is_new
    }

    pub(crate) fn remove_session(&mut self, key: SessionKey) -> Option<Session> {
        self.sessions.remove(&key)
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
