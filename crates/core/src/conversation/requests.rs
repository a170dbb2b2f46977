//! Requests to agents, and the sessions each serves.

use super::agent::*;
use crate::conversation::Conversation;
use crate::conversation::jobs::TimerJob;
use crate::spine::cx::Effects;
use crate::spine::effect::{Effect, HostEffect, Level};
use crate::spine::ids::{AgentKey, SessionKey};
use acp::{self, SessionId, rpc};

impl Conversation {
    /// Returns a request that an agent has not answered.
    pub(crate) fn pending_call(&self, agent: AgentKey, id: u64) -> Option<Call> {
        self.agents.get(&agent)?.pending.get(&id).cloned()
    }

    pub(crate) fn new_agent_key(&mut self) -> AgentKey {
        self.next_agent += 1;
        AgentKey(self.next_agent)
    }

    /// Returns the session with this id of an agent.
    pub fn session_of(&self, agent: AgentKey, id: &SessionId) -> Option<SessionKey> {
        self.sessions
            .iter()
            .find(|(_, session)| session.agent == Some(agent) && session.id.as_ref() == Some(id))
            .map(|(key, _)| *key)
    }

    /// Returns the sessions a process serves.
    pub fn sessions_of(&self, agent: AgentKey) -> Vec<SessionKey> {
        let served = self.sessions.iter();
        served
            .filter(|(_, session)| session.agent == Some(agent))
            .map(|(key, _)| *key)
            .collect()
    }

    /// Sends a request and records the context of its answer.
    pub(crate) fn request(
        &mut self,
        agent: AgentKey,
        call: Call,
        params: impl serde::Serialize,
        fx: &mut Effects,
    ) -> Option<u64> {
        let state = self.agents.get_mut(&agent)?;
        let id = state.next_id;
        state.next_id += 1;
        let line = rpc::request(id, call.method(), params);
        let is_control = call.is_limited();
        state.pending.insert(id, call);
        fx.push(Effect::Host(HostEffect::Send { agent, line }));
        if is_control {
            self.limit(agent, id, fx);
        }
        Some(id)
    }

    /// Starts the timeout of a request.
    pub(crate) fn limit(&mut self, agent: AgentKey, id: u64, fx: &mut Effects) {
        let ms = self.limits.control_ms;
        let token = self.jobs.timers.add(TimerJob::Control { agent, id });
        fx.push(Effect::Host(HostEffect::Timer { token, ms }));
    }

    /// Writes a notice into a session's transcript.
    pub(crate) fn notice(&mut self, key: SessionKey, level: Level, text: impl Into<String>) {
        if let Some(session) = self.sessions.get_mut(&key) {
            session.transcript.notice(level, text);
        }
    }
}
