//! Opening a session with its agent: a new one, or an existing one resumed.
//!
//! Invariants: a session keeps its id across processes until its agent has forgotten it; a
//! conversation that an agent replays enters the transcript once, after the whole replay has
//! arrived, and triggers no actions.

use serde_json::Value;

use crate::conversation::agent::Call;
use crate::conversation::clock::SILENCE_MS;
use crate::conversation::connection::first_line;
use crate::conversation::jobs::Loaded;
use crate::conversation::opening::Ask;
use crate::conversation::replay::{Item, Replay};
use crate::conversation::session::Session;
use crate::model::Model;
use crate::spine::cx::{Effects, emit, notify};
use crate::spine::effect::{Announcement, Level};
use crate::spine::ids::{AgentKey, SessionKey};
use crate::tools;
use acp::client::{self, NewSession};
use acp::{RpcError, ToolCallId, rpc};

impl Model {
    /// Requests a session from an agent that is ready: a new one, or the previous one.
    pub(crate) fn ask_for_session(&mut self, agent: AgentKey, key: SessionKey, fx: &mut Effects) {
        let info = self.conversation.info(agent);
        let can = info.map(|info| info.sessions).unwrap_or_default();
        if let Some(session) = self.conversation.session_mut(key) {
            if !can.load {
                session.show_kept();
            }
            let ask = session.ask(can);
            if matches!(ask, Ask::New) {
                let questions = &self.questions;
                session.forget_ids(|id| tools::is_own(id) || questions.are_about(key, id));
                self.tools.forget_twins(key);
            }
            self.send_ask(agent, key, ask, fx);
        }
    }

    fn send_ask(&mut self, agent: AgentKey, key: SessionKey, ask: Ask, fx: &mut Effects) {
        let session = self.conversation.session(key);
        let tools = match session.filter(|session| session.wants_tools()) {
            Some(session) => self.tools.admit(key, session.name(), fx),
            None => Ok(None),
        };
        let setup = self.conversation.setup(agent, key, tools);
        match ask {
            Ask::New => {
                let params = client::new_session(&setup);
                self.conversation
                    .request(agent, Call::NewSession(key), params, fx);
            }
            Ask::Resume(id) => {
                let params = client::resume_session(&id, &setup);
                self.conversation
                    .request(agent, Call::ResumeSession(key), params, fx);
            }
            Ask::Load(id) => {
                self.conversation.is_told_anew(agent, &id);
                let params = client::load_session(&id, &setup);
                self.conversation
                    .request(agent, Call::LoadSession(key), params, fx);
            }
        }
    }

    pub(crate) fn session_created(
        &mut self,
        agent: AgentKey,
        key: SessionKey,
        result: Result<Value, RpcError>,
        fx: &mut Effects,
    ) {
        let Some(session) = self.conversation.served(agent, key) else {
            return;
        };
        let name = session.name().to_owned();
        let created = match result {
            Ok(value) => client::session_created(&value),
            Err(error) if self.conversation.may_be_for_a_login(agent, &error) => {
                return self.login_needed(agent, key, &error, fx);
            }
            Err(error) => Err(format!(
                "The agent \"{name}\" could not open a session: {error}.\n\
                 `:Acp log` shows what it printed."
            )),
        };
        match created {
            Ok(created) => self.is_open(agent, key, created, fx),
            Err(text) if self.conversation.serves_others(agent, key) => self.part(key, &text, fx),
            Err(text) => self.is_not_open(agent, key, text, fx),
        }
    }

    /// Handles an agent's answer to a request to resume a session.
    pub(crate) fn session_is_back(
        &mut self,
        agent: AgentKey,
        key: SessionKey,
        result: Result<Value, RpcError>,
        fx: &mut Effects,
    ) {
        let info = self.conversation.info(agent);
        let can_load = info.is_some_and(|info| info.sessions.load);
        let Some(session) = self.conversation.served(agent, key) else {
            return;
        };
        let Some(id) = session.id().cloned() else {
            return;
        };
        match result {
            Ok(value) if session.is_loading() => {
                let options = client::session_loaded(id, &value).options;
                self.conversation.load_answered(agent, key, options, fx);
            }
            Ok(value) => self.is_open(agent, key, client::session_loaded(id, &value), fx),
            Err(error) if error.code == rpc::AUTH_REQUIRED => {
                self.login_needed(agent, key, &error, fx);
            }
            Err(_) if can_load && session.is_resuming() => {
                session.load();
                self.send_ask(agent, key, Ask::Load(id), fx);
            }
            Err(error) => {
                session.refused();
                let text = format!(
                    "The agent \"{}\" could not go on with the session \"{}\": {error}.\n\
                     `:Acp restart` tries again; a prompt begins a new session here.",
                    session.name(),
                    id.0
                );
                self.is_not_open(agent, key, text, fx);
            }
        }
    }

    /// Ends a load once its agent is silent: Gemini CLI answers before it replays the conversation. One
    /// that is never silent has the time of a request.
    pub(crate) fn silence_passed(&mut self, loaded: Loaded, fx: &mut Effects) {
        let (agent, key) = (loaded.agent, loaded.session);
        let most = self.conversation.limits().control_ms / SILENCE_MS;
        let session = self.conversation.served(agent, key);
        let Some(session) = session.filter(|session| session.is_loading()) else {
            return;
        };
        if session.is_telling() && loaded.rounds < most {
            let rounds = loaded.rounds + 1;
            return self
                .conversation
                .wait_for_silence(Loaded { rounds, ..loaded }, fx);
        }
        if let Some(session) = session.id().cloned() {
            let options = Vec::new();
            self.is_open(agent, key, NewSession { session, options }, fx);
        }
    }

    fn is_open(&mut self, agent: AgentKey, key: SessionKey, now: NewSession, fx: &mut Effects) {
        let Some(session) = self.conversation.session_mut(key) else {
            return;
        };
        let name = session.name().to_owned();
        let (is_loaded, replay) = session.opened(now.session.clone());
        if let Some(replay) = replay {
            self.told_again(key, replay);
        }
        fx.push(emit(Announcement::SessionStarted {
            session: key,
            agent: name,
            id: now.session.clone(),
            is_loaded,
        }));
        self.conversation.options_came(key, now.options, fx);
        self.take_early_updates(agent, key, &now.session, fx);
        self.settle_outside(key, fx);
        self.next_prompt(key, fx);
    }

    /// Detaches a session from an agent that could not open it; others on the same process keep
    /// theirs.
    pub(crate) fn is_not_open(
        &mut self,
        agent: AgentKey,
        key: SessionKey,
        text: String,
        fx: &mut Effects,
    ) {
        let session = self.conversation.session(key);
        if session.is_some_and(|session| !session.is_served_by(agent)) {
            // The session has another process by now.
            return;
        }
        // The agent may have sent a question while it opened the session.
        self.leave(key, fx);
        let Some(session) = self.conversation.session_mut(key) else {
            return;
        };
        session.notice(Level::Error, text.clone());
        self.conversation.tell_waiting(key);
        fx.push(notify(Level::Error, first_line(&text)));
        if self.conversation.sessions_of(agent).is_empty() {
            self.shut_down(agent, fx);
        }
    }

    /// Ends a load; past actions are not repeated.
    fn told_again(&mut self, key: SessionKey, replay: Replay) {
        let session = self.conversation.session(key);
        if replay.is_empty() && session.is_some_and(|it| !it.transcript().has_conversation()) {
            return self.conversation.nothing_was_told(key);
        }
        self.tell_again(key, replay);
        // The agent does not report how they ended.
        let told = self.terminals.end_all_told(key);
        self.conversation.pass_over_terminals(told);
        let asked = |id: &ToolCallId| self.questions.are_about(key, id);
        if let Some(session) = self.conversation.session_mut(key) {
            session.is_told_again(asked);
        }
    }

    /// Moves the replay so far into the transcript, so that a question asked now follows it.
    pub(crate) fn tell_so_far(&mut self, key: SessionKey) {
        let session = self.conversation.session_mut(key);
        if let Some(replay) = session.and_then(Session::take_replay) {
            self.tell_again(key, replay);
        }
    }

    /// Appends a replayed conversation to the transcript.
    fn tell_again(&mut self, key: SessionKey, replay: Replay) {
        if replay.is_cut() {
            let text = "The beginning of this conversation is not shown: it is too long.";
            self.conversation.notice(key, Level::Info, text);
        }
        for item in replay.into_items() {
            if let Item::Tool(told) = item {
                self.merge_told(key, told.patch, told.news, &told.terminals);
            } else if let Some(session) = self.conversation.session_mut(key) {
                match item {
                    Item::Compaction(patch) => session.compact(patch),
                    item => session.transcript_mut().tell_again(item),
                }
            }
        }
    }
}
