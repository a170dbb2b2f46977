//! Logging in to agents and out of them.
//!
//! Invariant: while a session's agent requires a log-in, nothing is sent in that session and no
//! prompt of the user's is dropped: the prompts are sent once the agent accepts them.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::conversation::Conversation;
use crate::conversation::agent::Call;
use crate::conversation::session::Session;
use crate::spine::cx::{Effects, notify};
use crate::spine::effect::Level;
use crate::spine::event::{AgentSpec, Prompt};
use crate::spine::ids::{AgentKey, SessionKey};
use acp::RpcError;
use acp::client::{self, AuthKind, AuthMethod};

/// The next step of a log-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginStep {
    /// Ask the agent to log the user in.
    Ask,
    /// Ask the agent to log the user in with this key.
    Key(Secret),
    /// The user has given the variables the agent needs.
    Given(Secrets),
    /// The method's command has succeeded in a terminal.
    Done,
}

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("…")
    }
}

/// Variables whose values are never shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets(pub Vec<(String, String)>);

impl fmt::Debug for Secrets {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let names = self.0.iter().map(|(name, _)| name);
        out.debug_list().entries(names).finish()
    }
}

/// The log-in state of a session.
#[derive(Debug, Default)]
pub struct Login {
    /// The agent requires a log-in.
    pub(super) is_needed: bool,
    /// The method whose variables were given: some agents use them only when that method is called
    /// too.
    given: Option<String>,
    /// The user has logged in outside the process: an agent that checks only when it starts does
    /// not notice, so it is restarted once.
    is_done_beside: bool,
    /// The prompt in flight: if the agent refuses it, it returns to the queue.
    sent: Option<Box<Sent>>,
    /// The report that was sent with a refused prompt.
    report: Option<String>,
}

/// A prompt that was sent, with what is sent only once.
#[derive(Debug)]
struct Sent {
    prompt: Prompt,
    /// The report of rejected changes.
    report: Option<String>,
    /// The conversation that the agent does not have.
    has_past: bool,
}

impl Login {
    /// Resets the state that belonged to a process that has ended.
    pub fn reset(&mut self) {
        self.is_needed = false;
        self.sent = None;
    }
}

impl Session {
    /// Records that the agent requires a log-in: the prompt in flight returns to the queue. Returns
    /// whether the user has just logged in outside the process.
    pub(crate) fn require_login(&mut self) -> bool {
        if let Some(sent) = self.login.sent.take() {
            self.queue.push_front(sent.prompt);
            // A command in between had none.
            self.login.report = sent.report.or(self.login.report.take());
            self.history.is_to_be_told |= sent.has_past;
            self.opening.is_not_used();
        }
        self.login.is_needed = true;
        if !self.opening.is_open() {
            self.opening.close();
            self.replay_was_cut();
        }
        std::mem::take(&mut self.login.is_done_beside)
    }

    /// Takes the log-in method whose variables the user has given.
    pub(crate) fn take_given_login(&mut self) -> Option<String> {
        self.login.given.take()
    }

    /// Records that the user has logged in outside the process.
    pub(crate) fn logged_in_beside(&mut self) {
        self.login.is_done_beside = self.login.is_needed;
    }

    /// Assumes that the user is logged in; returns whether the session is open.
    pub(crate) fn assume_login(&mut self) -> bool {
        self.login.is_needed = false;
        self.opening.is_open()
    }

    /// Keeps the outgoing prompt, with what is sent only once, while the agent may still refuse it.
    pub(crate) fn keep_outgoing(&mut self, prompt: &Prompt, report: Option<&str>, has_past: bool) {
        self.login.sent = Some(Box::new(Sent {
            prompt: prompt.clone(),
            report: report.map(str::to_owned),
            has_past,
        }));
    }

    /// Takes the report that was sent with a refused prompt.
    pub(crate) fn take_refused_report(&mut self) -> Option<String> {
        self.login.report.take()
    }

    /// Drops the outgoing prompt: the agent has accepted it.
    pub(crate) fn prompt_accepted(&mut self) {
        self.login.sent = None;
    }
}

/// The variables the user has typed in for log-ins, by the agent's name; kept while this Neovim
/// runs.
#[derive(Debug, Default)]
pub struct Logins(BTreeMap<String, Secrets>);

impl Logins {
    /// Adds the variables given for an agent to its environment.
    pub fn complete(&self, spec: &mut AgentSpec) {
        for (name, value) in self.0.get(&spec.name).into_iter().flat_map(|vars| &vars.0) {
            set(&mut spec.env, name, value);
        }
    }

    fn add(&mut self, agent: &str, vars: &Secrets) {
        let known = self.0.entry(agent.to_owned()).or_default();
        for (name, value) in &vars.0 {
            set(&mut known.0, name, value);
        }
    }
}

fn set(env: &mut Vec<(String, String)>, name: &str, value: &str) {
    env.retain(|(known, _)| known != name);
    env.push((name.to_owned(), value.to_owned()));
}

impl Conversation {
    /// Asks the agent to log the user in; without a timeout, since the user may take any time.
    pub(crate) fn authenticate(
        &mut self,
        agent: AgentKey,
        key: SessionKey,
        method: &AuthMethod,
        secret: Option<&str>,
        fx: &mut Effects,
    ) {
        let text = match method.kind {
            AuthKind::Agent => format!(
                "Logging in by \"{}\": the agent may open a browser. `:Acp cancel` aborts it.",
                method.name
            ),
            _ => format!("Logging in by \"{}\".", method.name),
        };
        self.notice(key, Level::Info, text);
        let params = client::authenticate(method, secret);
        let call = Call::Authenticate {
            session: key,
            method: method.name.clone(),
        };
        self.request(agent, call, params, fx);
    }

    /// Records the variables typed in for a session's agent, which a new process receives.
    pub(crate) fn give(&mut self, key: SessionKey, method: &AuthMethod, vars: &Secrets) {
        let Some(session) = self.sessions.get_mut(&key) else {
            return;
        };
        session.login.given = Some(method.id.clone());
        self.logins.add(&session.spec.name, vars);
        for session in self.sessions.values_mut() {
            self.logins.complete(&mut session.spec);
        }
    }

    /// Returns whether a session of a process runs without a log-in.
    pub(crate) fn serves_somebody(&self, agent: AgentKey) -> bool {
        self.sessions.values().any(|session| {
            let is_served = session.agent == Some(agent) && session.opening.is_open();
            is_served && !session.login.is_needed
        })
    }

    /// Cancels a pending log-in; returns whether there was one.
    pub(crate) fn cancel_login(&mut self, key: SessionKey, fx: &mut Effects) -> bool {
        let agent = self.sessions.get(&key).and_then(|session| session.agent);
        let Some((agent, id)) = agent.and_then(|agent| Some((agent, self.authenticating(agent)?)))
        else {
            return false;
        };
        self.cancel_request_of(agent, id, fx);
        let text = "The log-in was cancelled. `:Acp login` starts it again.";
        self.notice(key, Level::Info, text);
        true
    }

    /// Logs out: the agent forgets the user, and this client the variables typed in.
    pub(crate) fn logout(&mut self, key: SessionKey, fx: &mut Effects) {
        let Some(session) = self.sessions.get(&key) else {
            return;
        };
        let name = session.spec.name.clone();
        let info = |agent: AgentKey| Some((agent, self.info(agent)?));
        let can = session.agent.and_then(info);
        let can = can.filter(|(_, info)| info.logout).map(|(agent, _)| agent);
        let typed = self.logins.0.remove(&name);
        if let Some(typed) = &typed {
            let is_typed = |var: &(String, String)| typed.0.contains(var);
            let of_agent = self.sessions.values_mut();
            for session in of_agent.filter(|session| session.spec.name == name) {
                session.spec.env.retain(|var| !is_typed(var));
            }
        }
        match (can, typed) {
            (Some(agent), _) => {
                self.request(agent, Call::Logout(key), client::logout(), fx);
            }
            (None, Some(_)) => {
                let text = "The keys you have typed to log in are forgotten. The agent keeps them \
                            until you restart it: `:Acp restart`.";
                self.notice(key, Level::Info, text);
            }
            (None, None) => {
                let text = format!(
                    "The agent \"{name}\" has no log-out: use its own command in a terminal."
                );
                fx.push(notify(Level::Warn, text));
            }
        }
    }

    pub(crate) fn logged_out(
        &mut self,
        key: SessionKey,
        result: Result<Value, RpcError>,
        fx: &mut Effects,
    ) {
        match result {
            Ok(_) => self.notice(key, Level::Info, "Logged out. `:Acp login` logs in again."),
            Err(error) => {
                let text = format!("The log-out has failed: {error}.");
                fx.push(notify(Level::Error, text.clone()));
                self.notice(key, Level::Error, text);
            }
        }
    }

    pub(crate) fn auth_methods(&self, agent: AgentKey) -> Vec<AuthMethod> {
        let info = self.info(agent);
        info.map(|info| info.auth_methods.clone())
            .unwrap_or_default()
    }

    /// Returns the pending log-in request of a process.
    pub(crate) fn authenticating(&self, agent: AgentKey) -> Option<u64> {
        let mut pending = self.agents.get(&agent)?.pending.iter();
        let found = pending.find(|(_, call)| matches!(call, Call::Authenticate { .. }));
        found.map(|(id, _)| *id)
    }
}
