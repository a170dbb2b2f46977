//! The life of an agent's process and of the sessions on it: started, initialized, session made,
//! ended.
//!
//! Invariant: whenever a process is gone, no session, permission or turn still waits for it.

use serde_json::Value;

use super::effect::{Announcement, Effect, HostEffect, Level};
use super::ids::{AgentKey, SessionKey};
use super::model::{Agent, AgentState, Call, Effects, Model, Session, Stage, emit, log, notify};
use crate::acp::client::{self, AuthMethod, PROTOCOL_VERSION};
use crate::acp::{RpcError, rpc};

/// How many of the last lines of stderr the transcript shows.
const STDERR_SHOWN: usize = 20;

impl Model {
    pub(super) fn open(&mut self, key: SessionKey, session: Session, fx: &mut Effects) {
        if self.sessions.contains_key(&key) {
            return;
        }
        self.sessions.insert(key, session);
        self.following.opened(key);
        self.open_project(key, fx);
        self.connect(key, fx);
    }

    /// Gives a session a process: one that runs already with the same command, or a new one.
    pub(super) fn connect(&mut self, key: SessionKey, fx: &mut Effects) {
        self.leave(key, fx);
        let Some(session) = self.sessions.get_mut(&key) else {
            return;
        };
        session.id = None;
        let running = self
            .agents
            .iter()
            .find(|(_, agent)| agent.spec == session.spec && agent.state != AgentState::Leaving)
            .map(|(agent, running)| (*agent, running.state));
        if let Some((agent, state)) = running {
            session.agent = Some(agent);
            if state == AgentState::Ready {
                self.new_session(agent, key, fx);
            }
            return;
        }
        let spec = session.spec.clone();
        let agent = self.new_agent_key();
        if let Some(session) = self.sessions.get_mut(&key) {
            session.agent = Some(agent);
        }
        self.agents.insert(
            agent,
            Agent {
                spec: spec.clone(),
                state: AgentState::Starting,
                info: None,
                pending: Default::default(),
                next_id: 0,
                early: Vec::new(),
                early_questions: Vec::new(),
            },
        );
        fx.push(Effect::Host(HostEffect::Spawn { agent, spec }));
    }

    pub(super) fn agent_started(&mut self, agent: AgentKey, pid: u32, fx: &mut Effects) {
        fx.push(log(
            Level::Info,
            format!("agent {} started, pid {pid}", agent.0),
        ));
        self.request(agent, Call::Initialize, client::initialize(), fx);
    }

    pub(super) fn agent_failed(&mut self, agent: AgentKey, why: String, fx: &mut Effects) {
        fx.push(notify(Level::Error, why.clone()));
        self.bury(agent, "not started", Level::Error, why, fx);
    }

    pub(super) fn agent_exited(
        &mut self,
        agent: AgentKey,
        status: String,
        stderr: &[String],
        fx: &mut Effects,
    ) {
        let Some(gone) = self.agents.get(&agent) else {
            return;
        };
        let name = gone.spec.name.clone();
        if gone.state == AgentState::Leaving {
            let text = format!("The agent \"{name}\" has ended ({status}).");
            self.bury(agent, &status, Level::Info, text, fx);
            return;
        }
        let mut text = format!("The agent \"{name}\" ended unexpectedly: {status}.");
        let skipped = stderr.len().saturating_sub(STDERR_SHOWN);
        for line in stderr.iter().skip(skipped) {
            text.push_str("\n  ");
            text.push_str(line);
        }
        text.push_str("\nThe next prompt starts it again; `:Acp log` has the rest.");
        let short = format!("The agent \"{name}\" ended unexpectedly: {status}.");
        fx.push(notify(Level::Error, short));
        self.bury(agent, &status, Level::Error, text, fx);
    }

    /// Ends everything that waited for a process.
    fn bury(
        &mut self,
        agent: AgentKey,
        status: &str,
        level: Level,
        text: String,
        fx: &mut Effects,
    ) {
        let Some(gone) = self.agents.remove(&agent) else {
            return;
        };
        for key in self.sessions_of(agent) {
            self.close_permissions(key, fx);
            let Some(session) = self.sessions.get_mut(&key) else {
                continue;
            };
            session.transcript.cancel_tools();
            session.transcript.notice(level, text.clone());
            give_up_queue(session);
            self.leave(key, fx);
            fx.push(emit(Announcement::AgentExited {
                session: key,
                agent: gone.spec.name.clone(),
                status: status.to_owned(),
            }));
        }
    }

    /// Ends what a session waits for from a process that is not its own any more.
    fn leave(&mut self, key: SessionKey, fx: &mut Effects) {
        self.close_permissions(key, fx);
        self.end_terminals(key, fx);
        let Some(session) = self.sessions.get_mut(&key) else {
            return;
        };
        session.agent = None;
        session.transcript.cancel_tools();
        if let Some(turn) = &session.turn {
            if matches!(turn.stage, Stage::Checkpoint(_)) {
                let text = "The prompt was not sent: the agent ended before.";
                session.transcript.notice(Level::Warn, text);
            }
            self.finish_turn(key, "agent_exited", fx);
        }
    }

    /// Tells whether an agent can take requests, or soon will.
    pub(super) fn is_staying(&self, agent: AgentKey) -> bool {
        let agent = self.agents.get(&agent);
        agent.is_some_and(|agent| agent.state != AgentState::Leaving)
    }

    /// Answers an agent's questions and asks it to end; its sessions hear of it when it has.
    pub(super) fn shut_down(&mut self, agent: AgentKey, fx: &mut Effects) {
        for key in self.sessions_of(agent) {
            self.close_permissions(key, fx);
            self.end_terminals(key, fx);
        }
        self.cancel_early_questions(agent, fx);
        if let Some(state) = self.agents.get_mut(&agent)
            && state.state != AgentState::Leaving
        {
            state.state = AgentState::Leaving;
            fx.push(Effect::Host(HostEffect::Shutdown { agent }));
        }
    }

    pub(super) fn stop(&mut self, key: SessionKey, fx: &mut Effects) {
        match self.sessions.get(&key).and_then(|session| session.agent) {
            Some(agent) => self.shut_down(agent, fx),
            None => fx.push(notify(
                Level::Info,
                "No agent runs for this chat; a prompt starts it.",
            )),
        }
    }

    pub(super) fn restart(&mut self, key: SessionKey, fx: &mut Effects) {
        if let Some(agent) = self.sessions.get(&key).and_then(|session| session.agent) {
            self.shut_down(agent, fx);
            // The old process is left to end by itself; its sessions are told now.
            let text = "The agent is started again.".to_owned();
            self.bury(agent, "restarted", Level::Info, text, fx);
        }
        self.connect(key, fx);
    }

    pub(super) fn close(&mut self, key: SessionKey, fx: &mut Effects) {
        self.close_permissions(key, fx);
        self.forget_terminals(key, fx);
        self.forget_questions(key);
        let Some(session) = self.sessions.remove(&key) else {
            return;
        };
        self.following.closed(key);
        self.abandon_window(key, &session, fx);
        if let Some(agent) = session.agent
            && self.sessions_of(agent).is_empty()
        {
            self.shut_down(agent, fx);
        } else if let (Some(agent), Some(turn), Some(id)) =
            (session.agent, session.turn, session.id)
            && matches!(turn.stage, Stage::Answer(_))
        {
            let line = rpc::notification(client::CANCEL, client::cancel(&id));
            fx.push(Effect::Host(HostEffect::Send { agent, line }));
        }
    }

    pub(super) fn quit(&mut self, fx: &mut Effects) {
        let agents: Vec<AgentKey> = self.agents.keys().copied().collect();
        for agent in agents {
            self.shut_down(agent, fx);
        }
    }

    pub(super) fn initialized(
        &mut self,
        agent: AgentKey,
        result: Result<Value, RpcError>,
        fx: &mut Effects,
    ) {
        let Some(state) = self.agents.get_mut(&agent) else {
            return;
        };
        if state.state == AgentState::Leaving {
            return;
        }
        let name = state.spec.name.clone();
        let info = match result {
            Ok(value) => client::initialized(&value),
            Err(error) => Err(error.to_string()),
        };
        let info = match info {
            Ok(info) => info,
            Err(why) => {
                let text = format!("The agent \"{name}\" could not be initialized: {why}");
                self.give_up(agent, text, fx);
                return;
            }
        };
        if info.version != PROTOCOL_VERSION {
            let text = format!(
                "The agent \"{name}\" speaks version {} of the Agent Client Protocol, this \
                 client speaks version {PROTOCOL_VERSION}: update whichever is older.",
                info.version
            );
            self.give_up(agent, text, fx);
            return;
        }
        state.info = Some(info);
        state.state = AgentState::Ready;
        for key in self.sessions_of(agent) {
            self.new_session(agent, key, fx);
        }
    }

    /// Ends a connection that cannot be used, and says why.
    fn give_up(&mut self, agent: AgentKey, text: String, fx: &mut Effects) {
        self.shut_down(agent, fx);
        fx.push(notify(Level::Error, text.clone()));
        self.bury(agent, "unusable", Level::Error, text, fx);
    }

    fn new_session(&mut self, agent: AgentKey, key: SessionKey, fx: &mut Effects) {
        let Some(session) = self.sessions.get(&key) else {
            return;
        };
        let params = client::new_session(&session.spec.cwd);
        self.request(agent, Call::NewSession(key), params, fx);
    }

    pub(super) fn session_created(
        &mut self,
        agent: AgentKey,
        key: SessionKey,
        result: Result<Value, RpcError>,
        fx: &mut Effects,
    ) {
        let methods = self
            .agents
            .get(&agent)
            .and_then(|agent| agent.info.as_ref());
        let methods = methods.map(|info| info.auth_methods.clone());
        let staying = self.is_staying(agent);
        let served = |session: &&mut Session| staying && session.agent == Some(agent);
        let Some(session) = self.sessions.get_mut(&key).filter(served) else {
            return;
        };
        let name = session.spec.name.clone();
        let created = match result {
            Ok(value) => client::session_created(&value),
            Err(error) if error.code == rpc::AUTH_REQUIRED => {
                Err(login_needed(&name, &methods.unwrap_or_default(), &error))
            }
            Err(error) => Err(format!(
                "The agent \"{name}\" could not open a session: {error}."
            )),
        };
        match created {
            Ok(created) => {
                session.id = Some(created.session.clone());
                session.mode = created.mode;
                session.model = created.model;
                fx.push(emit(Announcement::SessionStarted {
                    session: key,
                    agent: name,
                }));
                self.take_early_updates(agent, key, &created.session, fx);
                self.next_prompt(key, fx);
            }
            Err(text) => {
                session.agent = None;
                session.transcript.notice(Level::Error, text.clone());
                give_up_queue(session);
                fx.push(notify(Level::Error, first_line(&text)));
                if self.sessions_of(agent).is_empty() {
                    self.shut_down(agent, fx);
                }
            }
        }
    }

    pub(super) fn control_timeout(&mut self, agent: AgentKey, id: u64, fx: &mut Effects) {
        let Some(state) = self.agents.get_mut(&agent) else {
            return;
        };
        let Some(call) = state.pending.remove(&id) else {
            return;
        };
        let text = format!(
            "The agent \"{}\" has not answered {} for {} seconds and was stopped. \
             `:Acp log` shows what it printed; a prompt starts it again.",
            state.spec.name,
            call.method(),
            seconds(self.limits.control_ms)
        );
        self.give_up(agent, text, fx);
    }
}

/// Puts the prompts that nobody will get into the transcript, so that they are not lost.
fn give_up_queue(session: &mut Session) {
    for prompt in std::mem::take(&mut session.queue) {
        let text = format!("Not sent: {}", prompt.text);
        session.transcript.notice(Level::Warn, text);
    }
}

/// Returns a time as the user wrote it in the configuration: `90`, `0.5`.
fn seconds(ms: u64) -> String {
    if ms.is_multiple_of(1000) {
        (ms / 1000).to_string()
    } else {
        format!("{:.1}", ms as f64 / 1000.0)
    }
}

/// Returns what fits a message; the transcript has all of it.
fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn login_needed(name: &str, methods: &[AuthMethod], error: &RpcError) -> String {
    let mut text = format!(
        "The agent \"{name}\" asks you to log in first ({}).",
        error.message
    );
    for method in methods {
        text.push_str(&format!("\n  {}", method.name));
        if let Some(description) = &method.description {
            text.push_str(&format!(": {description}"));
        }
    }
    text.push_str(
        "\nLog in with the agent's own command in a terminal, then send the prompt again.",
    );
    text
}
