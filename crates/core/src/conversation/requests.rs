//! Requests to agents, and the sessions each serves.

use super::agent::*;
use crate::conversation::Conversation;
use crate::conversation::clock::SILENCE_MS;
use crate::conversation::jobs::{Loaded, TimerJob};
use crate::spine::cx::{Effects, log};
use crate::spine::effect::{HostEffect, Level};
use crate::spine::ids::{AgentKey, SessionKey};
use crate::spine::pending::{Token, reply};
use acp::{self, SessionId, SessionOption, Update, rpc};

/// The time without an answer to a cancel after which a notice says so, in milliseconds.
const CANCEL_MS: u64 = 10_000;

impl Conversation {
    /// Returns a request that an agent has not answered.
    pub(crate) fn pending_call(&self, agent: AgentKey, id: u64) -> Option<Call> {
        self.agents.get(&agent)?.pending.get(&id).cloned()
    }

    /// Removes and returns the request that a response answers; logs a response to none.
    pub(crate) fn take_call(&mut self, agent: AgentKey, id: u64, fx: &mut Effects) -> Option<Call> {
        let state = self.agents.get_mut(&agent)?;
        if state.given_up.remove(&id) {
            let line = format!("an answer to a request that was given up: id {id}");
            fx.push(log(Level::Debug, line));
            return None;
        }
        let call = state.pending.remove(&id);
        if call.is_none() {
            let line = format!("a response to an unknown request: id {id}");
            fx.push(log(Level::Warn, line));
        }
        call
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
        fx.push(HostEffect::Send { agent, line });
        if is_control {
            self.limit(agent, id, fx);
        }
        Some(id)
    }

    /// Starts the timeout of a request.
    pub(crate) fn limit(&mut self, agent: AgentKey, id: u64, fx: &mut Effects) {
        let ms = self.limits.control_ms;
        let token = self.jobs.timers.add(TimerJob::Control { agent, id });
        fx.push(HostEffect::Timer { token, ms });
    }

    /// Handles the answer to a load: the options are those of now, and more of the replay may come.
    pub(crate) fn load_answered(
        &mut self,
        agent: AgentKey,
        session: SessionKey,
        options: Vec<SessionOption>,
        fx: &mut Effects,
    ) {
        if let Some(session) = self.sessions.get_mut(&session) {
            session.options.opened(options);
            // What it has told before is no sign that it goes on.
            session.is_telling();
        }
        let rounds = 0;
        self.wait_for_silence(
            Loaded {
                agent,
                session,
                rounds,
            },
            fx,
        );
    }

    /// Waits for the end of what an agent replays.
    pub(crate) fn wait_for_silence(&mut self, loaded: Loaded, fx: &mut Effects) {
        let token = self.jobs.timers.add(TimerJob::Loaded(loaded));
        let ms = SILENCE_MS;
        fx.push(HostEffect::Timer { token, ms });
    }

    #[cfg(test)]
    pub fn is_load_answered(&self, agent: AgentKey, key: SessionKey) -> bool {
        let mut timers = self.jobs.timers.values();
        timers.any(|job| {
            matches!(job, TimerJob::Loaded(loaded)
                if loaded.agent == agent && loaded.session == key)
        })
    }

    pub(crate) fn timer_ended(&mut self, token: Token<reply::Timer>) -> Option<TimerJob> {
        self.jobs.timers.take(token)
    }

    /// Drops the time limits of an agent that has exited.
    pub(crate) fn forget_timeouts(&mut self, gone: AgentKey) {
        let is_its =
            |job: &TimerJob| matches!(job, TimerJob::Control { agent, .. } if *agent == gone);
        self.jobs.timers.retain(|job| !is_its(job));
    }

    /// Starts the time after which a notice says that a cancelled turn goes on.
    pub(crate) fn limit_cancel(&mut self, session: SessionKey, request: u64, fx: &mut Effects) {
        let job = TimerJob::Cancelled { session, request };
        let token = self.jobs.timers.add(job);
        let ms = CANCEL_MS;
        fx.push(HostEffect::Timer { token, ms });
    }

    /// Holds an update of a session whose id is not known yet; others are dropped.
    pub(crate) fn hold_update(
        &mut self,
        agent: AgentKey,
        id: SessionId,
        update: Update,
        fx: &mut Effects,
    ) {
        let Some(state) = self.agents.get_mut(&agent) else {
            return;
        };
        let creating = |call: &Call| matches!(call, Call::NewSession(_));
        if state.pending.values().any(creating) && state.early.len() < EARLY_UPDATES {
            state.early.push((id, update));
        } else {
            let line = format!("update for an unknown session: {}", id.0);
            fx.push(log(Level::Warn, line));
        }
    }

    /// Returns the updates that were held until a session's id is known.
    pub(crate) fn take_held_updates(&mut self, agent: AgentKey, id: &SessionId) -> Vec<Update> {
        let Some(state) = self.agents.get_mut(&agent) else {
            return Vec::new();
        };
        let mine = state.early.extract_if(.., |(session, _)| session == id);
        mine.map(|(_, update)| update).collect()
    }

    /// Writes a notice into a session's transcript.
    pub(crate) fn notice(&mut self, key: SessionKey, level: Level, text: impl Into<String>) {
        if let Some(session) = self.sessions.get_mut(&key) {
            session.transcript.notice(level, text);
        }
    }
}
