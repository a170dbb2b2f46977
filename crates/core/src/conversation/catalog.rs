//! Sessions that an agent stores: listing, deleting and closing them; requests about one session.
//!
//! Invariants: each request for a list gets one answer, even if the agent dies; an abandoned
//! session is closed, even if the agent opens it late.

use std::path::PathBuf;

use serde_json::Value;

use crate::conversation::Conversation;
use crate::conversation::agent::{Call, Listing};
use crate::conversation::session::{Session, TurnStage};
use crate::spine::cx::{Effects, log};
use crate::spine::effect::{HostEffect, Level};
use crate::spine::ids::{AgentKey, SessionKey};
use acp::client::{self, ListedSession, SessionAbilities};
use acp::{RpcError, SessionId, rpc};

/// Maximum number of sessions listed per agent.
pub(crate) const MAX_SESSIONS: usize = 1_000;

/// Maximum number of pages requested: an agent's cursors may form a cycle.
pub(crate) const MAX_PAGES: usize = 20;

impl Call {
    /// Returns the session that this call opens.
    pub(crate) fn opens(&self) -> Option<SessionKey> {
        match self {
            Call::NewSession(key) | Call::LoadSession(key) | Call::ResumeSession(key) => Some(*key),
            _ => None,
        }
    }

    /// Returns whether the call has a timeout: its answer waits for neither the model nor the user.
    pub(crate) fn is_limited(&self) -> bool {
        match self {
            Call::Prompt(_) | Call::Authenticate { .. } | Call::Logout(_) => false,
            Call::Initialize
            | Call::NewSession(_)
            | Call::LoadSession(_)
            | Call::ResumeSession(_)
            | Call::ListSessions(_)
            | Call::CloseSession(_)
            | Call::DeleteSession(_)
            | Call::SetOption { .. }
            | Call::Steer(_)
            | Call::Orphan(..) => true,
        }
    }

    /// Returns whether an agent that does not answer this call is unusable.
    pub(crate) fn is_for_all(&self) -> bool {
        matches!(self, Call::Initialize) || self.opens().is_some()
    }
}

impl Conversation {
    fn abilities(&self, agent: AgentKey) -> SessionAbilities {
        let staying = self.agents.get(&agent).filter(|_| self.is_staying(agent));
        let info = staying.and_then(|agent| agent.info.as_ref());
        info.map(|info| info.sessions).unwrap_or_default()
    }

    /// Requests an agent's sessions, of one folder or all; answered by `sessions_listed`.
    ///
    /// Returns whether the request was sent: the agent runs and has the capability.
    pub fn list_sessions(
        &mut self,
        agent: AgentKey,
        cwd: Option<PathBuf>,
        fx: &mut Effects,
    ) -> bool {
        if !self.abilities(agent).list {
            return false;
        }
        let params = client::list_sessions(cwd.as_deref(), None);
        let listing = Listing {
            cwd,
            ..Listing::default()
        };
        let call = Call::ListSessions(Box::new(listing));
        self.request(agent, call, params, fx).is_some()
    }

    pub(crate) fn page_listed(
        &mut self,
        agent: AgentKey,
        mut listing: Listing,
        result: Result<Value, RpcError>,
        fx: &mut Effects,
    ) {
        let next = match result {
            Ok(page) => {
                let (page, next) = client::sessions_listed(&page);
                listing.add(page);
                next
            }
            // The pages received so far are still useful.
            Err(_) if listing.pages > 0 => None,
            Err(error) => return self.listed(agent, Err(error.to_string()), fx),
        };
        if let Some(cursor) = next.filter(|_| listing.wants_more()) {
            let params = client::list_sessions(listing.cwd.as_deref(), Some(cursor));
            let call = Call::ListSessions(Box::new(listing));
            self.request(agent, call, params, fx);
            return;
        }
        self.listed(agent, Ok(listing.listed), fx);
    }

    fn listed(
        &mut self,
        agent: AgentKey,
        result: Result<Vec<ListedSession>, String>,
        fx: &mut Effects,
    ) {
        let text = match &result {
            Ok(listed) => format!("agent {} has {} sessions", agent.0, listed.len()),
            Err(why) => format!("agent {} lists no sessions: {why}", agent.0),
        };
        fx.push(log(Level::Info, text));
        self.sessions_listed(agent, result, fx);
    }

    /// Asks an agent to delete a past session; answered by `session_deleted`.
    ///
    /// Returns whether the request was sent: the agent runs and has the capability.
    pub fn delete_session(
        &mut self,
        agent: AgentKey,
        session: SessionId,
        fx: &mut Effects,
    ) -> bool {
        if !self.abilities(agent).delete {
            return false;
        }
        let params = client::delete_session(&session);
        let call = Call::DeleteSession(session);
        self.request(agent, call, params, fx).is_some()
    }

    /// Handles an agent's answer to a request to delete a session.
    pub(crate) fn session_deleted(
        &mut self,
        agent: AgentKey,
        session: SessionId,
        result: Result<Value, RpcError>,
        fx: &mut Effects,
    ) {
        let result = match result {
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        };
        self.deleted_by_agent(&session, result.clone(), fx);
        let what = match result {
            Ok(()) => "is deleted".to_owned(),
            Err(error) => format!("is not deleted: {error}"),
        };
        let line = format!("session {} of agent {} {what}", session.0, agent.0);
        fx.push(log(Level::Info, line));
    }

    /// Asks an agent to close a session that was closed here.
    ///
    /// Without `session/close` its turn is at least cancelled; a session whose opening is pending
    /// is closed once it is open.
    pub(crate) fn abandon(
        &mut self,
        agent: AgentKey,
        key: SessionKey,
        session: &Session,
        fx: &mut Effects,
    ) {
        if let Some(id) = self.opening_request(agent, key) {
            return self.orphan(agent, id, session.id.clone(), fx);
        }
        // A load that is not pending was answered.
        let is_there = session.opening.is_open() || session.is_loading();
        let Some(id) = session.id.as_ref().filter(|_| is_there) else {
            return;
        };
        let is_last = self.sessions_of(agent).is_empty();
        let is_asked =
            |turn: &crate::conversation::session::Turn| matches!(turn.stage, TurnStage::Answer(_));
        if !is_last && session.turn.as_ref().is_some_and(is_asked) {
            let line = rpc::notification(client::CANCEL, client::cancel(id));
            fx.push(HostEffect::Send { agent, line });
        }
        self.close_session(agent, id.clone(), fx);
    }

    fn close_session(&mut self, agent: AgentKey, session: SessionId, fx: &mut Effects) {
        if self.abilities(agent).close {
            let params = client::close_session(&session);
            self.request(agent, Call::CloseSession(session), params, fx);
        }
    }

    /// Returns the pending request that opens a session.
    fn opening_request(&self, agent: AgentKey, key: SessionKey) -> Option<u64> {
        let pending = &self.agents.get(&agent)?.pending;
        let mut opening = pending.iter().filter(|(_, call)| call.opens() == Some(key));
        opening.next().map(|(id, _)| *id)
    }

    /// Marks the session that a request opens as abandoned.
    pub(crate) fn orphan(
        &mut self,
        agent: AgentKey,
        id: u64,
        session: Option<SessionId>,
        fx: &mut Effects,
    ) {
        let pending = self.agents.get_mut(&agent).map(|state| &mut state.pending);
        if let Some(call) = pending.and_then(|pending| pending.get_mut(&id)) {
            // A new session gets another id.
            let session = session.filter(|_| !matches!(call, Call::NewSession(_)));
            *call = Call::Orphan(call.method(), session);
            let line = rpc::notification(client::CANCEL_REQUEST, client::cancel_request(id));
            fx.push(HostEffect::Send { agent, line });
            self.release_permissions(agent, fx);
        }
    }

    pub(crate) fn orphan_answered(
        &mut self,
        agent: AgentKey,
        session: Option<SessionId>,
        result: Result<Value, RpcError>,
        fx: &mut Effects,
    ) {
        let Ok(value) = result else {
            return;
        };
        let named = || client::session_created(&value).ok();
        if let Some(session) = session.or_else(|| named().map(|new| new.session)) {
            self.close_session(agent, session, fx);
        }
    }

    /// Fails all pending calls of an agent that has ended.
    pub(crate) fn fail_calls(&mut self, agent: AgentKey, fx: &mut Effects) {
        let pending = self.agents.get(&agent).map(|agent| agent.pending.iter());
        let mut calls: Vec<(u64, Call)> = pending
            .into_iter()
            .flatten()
            .map(|(id, call)| (*id, call.clone()))
            .collect();
        calls.sort_unstable_by_key(|(id, _)| *id);
        for (_, call) in calls {
            let error = RpcError::new(rpc::INTERNAL_ERROR, "the agent has ended");
            self.fail(agent, call, error, fx);
        }
    }

    pub(crate) fn fail(&mut self, agent: AgentKey, call: Call, error: RpcError, fx: &mut Effects) {
        match call {
            Call::ListSessions(listing) => self.page_listed(agent, *listing, Err(error), fx),
            Call::DeleteSession(session) => self.session_deleted(agent, session, Err(error), fx),
            _ => {}
        }
    }
}
