//! Questions of agents: their sessions and turns are found here, and outcomes are carried out.
//!
//! Invariant: every request is answered once, also one of a session without an id yet and one of
//! an agent that is leaving.

use crate::conversation::Conversation;
use crate::conversation::agent::{Agent, Call, EARLY_UPDATES, PermissionRequest};
use crate::questions::Question;
use crate::render::toolcall::ToolCall;
use crate::spine::asker::unknown_session;
use crate::spine::cx::Effects;
use crate::spine::ids::{AgentKey, SessionKey};
use acp::{ElicitationMode, ElicitationScope, RequestId, RpcError, SessionId, ToolCallId, client};

/// An `elicitation/create` of an agent.
#[derive(Debug)]
pub struct ElicitationRequest {
    pub request: RequestId,
    pub scope: ElicitationScope,
    pub tool: Option<ToolCallId>,
    pub message: String,
    pub mode: ElicitationMode,
}

impl Conversation {
    /// Holds a permission of a session whose id is not known yet; others are refused.
    pub(crate) fn hold_permission(
        &mut self,
        agent: AgentKey,
        asked: PermissionRequest,
        fx: &mut Effects,
    ) {
        match self.agents.get_mut(&agent) {
            Some(state)
                if state.creates_session() && state.early_permissions.len() < EARLY_UPDATES =>
            {
                state.early_permissions.push(asked);
            }
            _ => {
                let error = unknown_session(&asked.session);
                fx.refuse(agent, &asked.request, error);
            }
        }
    }

    /// Returns the permissions that were held.
    pub(crate) fn take_held_permissions(&mut self, agent: AgentKey) -> Vec<PermissionRequest> {
        let state = self.agents.get_mut(&agent);
        let held = state.map(|state| std::mem::take(&mut state.early_permissions));
        held.unwrap_or_default()
    }

    /// Drops a permission that is held; returns whether there was one.
    pub(crate) fn withdraw_held(&mut self, agent: AgentKey, id: &RequestId) -> bool {
        self.agents.get_mut(&agent).is_some_and(|state| {
            let held = &mut state.early_permissions;
            held.extract_if(.., |asked| asked.request == *id).count() > 0
        })
    }

    /// Cancels the permissions that are held, unless the session they wait for may still come.
    pub(super) fn release_permissions(&mut self, agent: AgentKey, fx: &mut Effects) {
        let state = self.agents.get(&agent);
        if !state.is_some_and(Agent::creates_session) {
            self.cancel_early_permissions(agent, fx);
        }
    }

    /// Cancels the permissions that are held.
    pub(super) fn cancel_early_permissions(&mut self, agent: AgentKey, fx: &mut Effects) {
        for asked in self.take_held_permissions(agent) {
            fx.respond(agent, &asked.request, Ok(client::cancelled()));
        }
    }

    /// Finds the session an elicitation is for; where the agent names none, one that it serves.
    pub(crate) fn elicited_session(
        &self,
        agent: AgentKey,
        scope: &ElicitationScope,
    ) -> Result<Option<SessionKey>, RpcError> {
        let pending = self.agents.get(&agent).map(|agent| &agent.pending);
        let mut calls = pending.into_iter().flatten();
        let found = match scope {
            ElicitationScope::Session(id) => {
                return match self.session_of(agent, id) {
                    Some(session) => Ok(Some(session)),
                    None => self.session_to_be(agent, id).map(Some),
                };
            }
            ElicitationScope::Request(id) => calls
                .find(|(pending, _)| *pending == id)
                .and_then(|(_, call)| call.session()),
            ElicitationScope::Agent => None,
        };
        Ok(found.or_else(|| self.sessions_of(agent).pop()))
    }

    /// Returns the session that is being created: its id is not known before the answer.
    fn session_to_be(&self, agent: AgentKey, id: &SessionId) -> Result<SessionKey, RpcError> {
        let pending = self.agents.get(&agent).map(|agent| &agent.pending);
        let mut calls = pending.into_iter().flatten();
        let made = calls.find_map(|(_, call)| match call {
            Call::NewSession(session) => Some(*session),
            _ => None,
        });
        made.ok_or_else(|| unknown_session(id))
    }

    /// Returns the tool call that started the sub-agent whose call a question is about.
    pub(crate) fn question_parent(&self, question: &Question) -> Option<&ToolCall> {
        let session = self.sessions.get(&question.session)?;
        session.transcript.find_parent(question.tool.as_ref()?)
    }

    /// Returns the tool call that a question shows.
    pub(crate) fn question_call<'a>(&'a self, question: &'a Question) -> Option<&'a ToolCall> {
        let session = self.sessions.get(&question.session)?;
        let known = question.tool.as_ref();
        let known = known.and_then(|tool| session.transcript.find_tool(tool));
        match question.permission() {
            Some(permission) => permission.call(known),
            None => known,
        }
    }
}
