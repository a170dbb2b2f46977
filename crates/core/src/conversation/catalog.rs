//! What an agent keeps: sessions listed, deleted, closed; and requests about one session alone.
//!
//! Invariants: who asks for a list hears of it once, whatever becomes of the agent; a session that
//! nobody wants any more is closed, also where the agent opens it late.

use std::collections::HashSet;
use std::path::PathBuf;

use serde_json::Value;

use crate::model::{Call, Model, Session, Stage};
use crate::spine::cx::{Effects, log};
use crate::spine::effect::{Effect, HostEffect, Level};
use crate::spine::ids::{AgentKey, SessionKey};
use acp::client::{self, ListedSession, SessionAbilities};
use acp::{RpcError, SessionId, rpc};

/// How many sessions of an agent are listed.
const MAX_SESSIONS: usize = 1_000;

/// How many pages of them are asked for: an agent may page in circles.
const MAX_PAGES: usize = 20;

/// The pages of a list that have come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// Only sessions of this folder.
    cwd: Option<PathBuf>,
    listed: Vec<ListedSession>,
    pages: usize,
}

impl Listing {
    /// Takes in a page; of a session that is listed twice the first counts.
    fn add(&mut self, page: Vec<ListedSession>) {
        let mut known: HashSet<SessionId> =
            self.listed.iter().map(|it| it.session.clone()).collect();
        let fresh = page
            .into_iter()
            .filter(|it| known.insert(it.session.clone()));
        self.listed.extend(fresh);
        self.listed.truncate(MAX_SESSIONS);
        self.pages += 1;
    }

    fn wants_more(&self) -> bool {
        self.pages < MAX_PAGES && self.listed.len() < MAX_SESSIONS
    }
}

impl Call {
    /// Returns the session that shall be opened by it.
    pub(crate) fn opens(&self) -> Option<SessionKey> {
        match self {
            Call::NewSession(key) | Call::LoadSession(key) | Call::ResumeSession(key) => Some(*key),
            _ => None,
        }
    }

    /// Tells whether its answer may take only so long: it asks neither the model nor the user.
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
            | Call::Orphan(..) => true,
        }
    }

    /// Tells whether an agent that does not answer it cannot be used.
    pub(crate) fn is_for_all(&self) -> bool {
        matches!(self, Call::Initialize) || self.opens().is_some()
    }
}

impl Model {
    fn abilities(&self, agent: AgentKey) -> SessionAbilities {
        let staying = self.agents.get(&agent).filter(|_| self.is_staying(agent));
        let info = staying.and_then(|agent| agent.info.as_ref());
        info.map(|info| info.sessions).unwrap_or_default()
    }

    /// Asks an agent for its sessions, of one folder or all; answered by `sessions_listed`.
    ///
    /// Returns whether it was asked: it runs, and it can.
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
            // What has come is worth something.
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

    /// Lets an agent delete a session of the past; answered by `session_deleted`.
    ///
    /// Returns whether it was asked: it runs, and it can.
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

    /// An agent has deleted a session, or has not.
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

    /// Lets an agent forget a session that was closed here.
    ///
    /// Without `session/close` its turn is cancelled at least; one that is still being opened is
    /// closed as soon as it is there.
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
        let Some(id) = session.id.as_ref().filter(|_| session.opening.is_open()) else {
            return;
        };
        let is_last = self.sessions_of(agent).is_empty();
        let is_asked = |turn: &crate::model::Turn| matches!(turn.stage, Stage::Answer(_));
        if !is_last && session.turn.as_ref().is_some_and(is_asked) {
            let line = rpc::notification(client::CANCEL, client::cancel(id));
            fx.push(Effect::Host(HostEffect::Send { agent, line }));
        }
        self.close_session(agent, id.clone(), fx);
    }

    fn close_session(&mut self, agent: AgentKey, session: SessionId, fx: &mut Effects) {
        if self.abilities(agent).close {
            let params = client::close_session(&session);
            self.request(agent, Call::CloseSession(session), params, fx);
        }
    }

    /// Returns the request that is to open a session.
    fn opening_request(&self, agent: AgentKey, key: SessionKey) -> Option<u64> {
        let pending = &self.agents.get(&agent)?.pending;
        let mut opening = pending.iter().filter(|(_, call)| call.opens() == Some(key));
        opening.next().map(|(id, _)| *id)
    }

    /// Nobody wants the session that a request opens.
    fn orphan(&mut self, agent: AgentKey, id: u64, session: Option<SessionId>, fx: &mut Effects) {
        let pending = self.agents.get_mut(&agent).map(|state| &mut state.pending);
        if let Some(call) = pending.and_then(|pending| pending.get_mut(&id)) {
            // A new one has an id of its own.
            let session = session.filter(|_| !matches!(call, Call::NewSession(_)));
            *call = Call::Orphan(call.method(), session);
            let line = rpc::notification(client::CANCEL_REQUEST, client::cancel_request(id));
            fx.push(Effect::Host(HostEffect::Send { agent, line }));
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

    /// A request that concerns one session, or none, is answered no more.
    pub(crate) fn call_failed(&mut self, agent: AgentKey, id: u64, why: &str, fx: &mut Effects) {
        let pending = self.agents.get(&agent).map(|agent| &agent.pending);
        let Some(call) = pending.and_then(|pending| pending.get(&id)).cloned() else {
            return;
        };
        if let Some(key) = call.opens() {
            let session = self.sessions.get(&key).and_then(|it| it.id.clone());
            self.orphan(agent, id, session, fx);
            let text = format!("{why}: this chat has no session. A prompt asks for it again.");
            return self.is_not_open(agent, key, text, fx);
        }
        fx.push(log(Level::Warn, why));
        // It waits for an answer that may come too late.
        if !matches!(call, Call::Orphan(..)) {
            self.cancel_request_of(agent, id, fx);
        }
        let error = RpcError::new(rpc::INTERNAL_ERROR, why);
        self.fail(agent, call, error, fx);
    }

    /// An agent is gone: who still waits for it hears of it.
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

    fn fail(&mut self, agent: AgentKey, call: Call, error: RpcError, fx: &mut Effects) {
        match call {
            Call::ListSessions(listing) => self.page_listed(agent, *listing, Err(error), fx),
            Call::DeleteSession(session) => self.session_deleted(agent, session, Err(error), fx),
            _ => {}
        }
    }
}
