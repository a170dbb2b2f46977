//! Logging in to agents and out of them.
//!
//! Invariant: while a session's agent requires a log-in, nothing is sent in that session and no
//! prompt of the user's is dropped: the prompts are sent once the agent accepts them.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};

use crate::model::{AgentState, Call, Model};
use crate::spine::cx::{Effects, emit, notify};
use crate::spine::effect::{Announcement, Level};
use crate::spine::event::{AgentSpec, Prompt};
use crate::spine::ids::{AgentKey, SessionKey};
use acp::client::{self, AuthKind, AuthMethod};
use acp::{RpcError, rpc};

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
    pub is_needed: bool,
    /// The method whose variables were given: some agents use them only when that method is called
    /// too.
    given: Option<String>,
    /// The user has logged in outside the process: an agent that checks only when it starts does
    /// not notice, so it is restarted once.
    is_done_beside: bool,
    /// The prompt in flight: if the agent refuses it, it returns to the queue.
    sent: Option<Box<Prompt>>,
}

impl Login {
    /// Keeps the outgoing prompt while the agent may still refuse it.
    ///
    /// Its one-time context is kept with it.
    pub fn keep(&mut self, prompt: &Prompt, along: Option<&str>) {
        let mut prompt = prompt.clone();
        let along = along.map(|text| json!({ "type": "text", "text": text }));
        prompt.blocks.extend(along);
        self.sent = Some(Box::new(prompt));
    }

    /// Drops the outgoing prompt: the agent has accepted it.
    pub fn is_through(&mut self) {
        self.sent = None;
    }

    /// Resets the state that belonged to a process that has ended.
    pub fn reset(&mut self) {
        self.is_needed = false;
        self.sent = None;
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

impl Model {
    /// Handles an agent's refusal to open a session, or to accept a prompt, before a log-in.
    pub(crate) fn login_needed(
        &mut self,
        agent: AgentKey,
        key: SessionKey,
        error: &RpcError,
        fx: &mut Effects,
    ) {
        let methods = self.auth_methods(agent);
        let Some(session) = self.sessions.get_mut(&key) else {
            return;
        };
        if let Some(prompt) = session.login.sent.take() {
            session.queue.push_front(*prompt);
        }
        session.login.is_needed = true;
        if std::mem::take(&mut session.login.is_done_beside) && !self.serves_somebody(agent) {
            return self.renew(agent, fx);
        }
        let Some(session) = self.sessions.get_mut(&key) else {
            return;
        };
        if !session.opening.is_open() {
            session.opening.close();
        }
        let given = session.login.given.take();
        if let Some(method) = methods
            .iter()
            .find(|method| Some(&method.id) == given.as_ref())
        {
            return self.authenticate(agent, key, method, None, fx);
        }
        let name = session.spec.name.clone();
        let text = needed(&name, &methods, error);
        session.transcript.notice(Level::Warn, text.clone());
        fx.push(notify(Level::Warn, text.lines().next().unwrap_or_default()));
        fx.push(emit(Announcement::LoginNeeded {
            session: key,
            agent: name,
        }));
    }

    /// Logs the user in by a method that the agent offers.
    pub(crate) fn login(
        &mut self,
        key: SessionKey,
        method: &str,
        step: LoginStep,
        fx: &mut Effects,
    ) {
        let Some(session) = self.sessions.get(&key) else {
            return;
        };
        let name = session.spec.name.clone();
        let Some(agent) = session.agent.filter(|agent| self.is_staying(*agent)) else {
            self.restart(key, fx);
            let text = format!(
                "The agent \"{name}\" did not run, and is started: `:Acp login` again once it runs."
            );
            return fx.push(notify(Level::Warn, text));
        };
        let state = self.agents.get(&agent).map(|agent| agent.state);
        if state != Some(AgentState::Ready) {
            let text = format!("The agent \"{name}\" is still starting.");
            return fx.push(notify(Level::Warn, text));
        }
        let methods = self.auth_methods(agent);
        let Some(method) = methods.iter().find(|known| known.id == method) else {
            let text = format!("The agent \"{name}\" has no log-in called \"{method}\".");
            return fx.push(notify(Level::Error, text));
        };
        match step {
            LoginStep::Ask | LoginStep::Key(_)
                if matches!(method.kind, AuthKind::Terminal { .. }) =>
            {
                let text = format!("The log-in \"{}\" needs a terminal.", method.name);
                fx.push(notify(Level::Error, text));
            }
            LoginStep::Ask | LoginStep::Key(_) if self.authenticating(agent).is_some() => {
                let text = "A log-in is under way; `:Acp cancel` gives it up.";
                fx.push(notify(Level::Warn, text));
            }
            LoginStep::Ask => self.authenticate(agent, key, method, None, fx),
            LoginStep::Key(secret) => {
                self.authenticate(agent, key, method, Some(&secret.0), fx);
            }
            LoginStep::Given(vars) => self.login_given(agent, key, method, &vars, fx),
            LoginStep::Done => {
                for key in self.sessions_of(agent) {
                    if let Some(session) = self.sessions.get_mut(&key) {
                        session.login.is_done_beside = session.login.is_needed;
                    }
                }
                self.logged_in(agent, key, fx);
            }
        }
    }

    /// Asks the agent to log the user in; without a timeout, since the user may take any time.
    fn authenticate(
        &mut self,
        agent: AgentKey,
        key: SessionKey,
        method: &AuthMethod,
        secret: Option<&str>,
        fx: &mut Effects,
    ) {
        let text = match method.kind {
            AuthKind::Agent => format!(
                "Logging in by \"{}\": the agent may open a browser. `:Acp cancel` gives it up.",
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

    pub(crate) fn authenticated(
        &mut self,
        agent: AgentKey,
        key: SessionKey,
        method: &str,
        result: Result<Value, RpcError>,
        fx: &mut Effects,
    ) {
        match result {
            Ok(_) => self.logged_in(agent, key, fx),
            Err(error) => {
                let text = format!("The log-in by \"{method}\" has failed: {error}.");
                fx.push(notify(Level::Error, text.clone()));
                let text = format!("{text} `:Acp login` tries again, or another way.");
                self.notice(key, Level::Error, text);
            }
        }
    }

    /// Resumes all sessions of a process that waited for a log-in.
    fn logged_in(&mut self, agent: AgentKey, key: SessionKey, fx: &mut Effects) {
        self.notice(key, Level::Info, "Logged in.");
        let served = self.sessions_of(agent);
        let waits = |key: &&SessionKey| {
            let session = self.sessions.get(key);
            session.is_some_and(|session| session.login.is_needed)
        };
        let waiting: Vec<SessionKey> = served.iter().filter(waits).copied().collect();
        for key in waiting {
            self.try_again(key, fx);
        }
    }

    /// Gives variables to the agent; only a new process receives them.
    fn login_given(
        &mut self,
        agent: AgentKey,
        key: SessionKey,
        method: &AuthMethod,
        vars: &Secrets,
        fx: &mut Effects,
    ) {
        let Some(session) = self.sessions.get_mut(&key) else {
            return;
        };
        session.login.given = Some(method.id.clone());
        let name = session.spec.name.clone();
        self.logins.add(&name, vars);
        for session in self.sessions.values_mut() {
            self.logins.complete(&mut session.spec);
        }
        if self.serves_somebody(agent) {
            let text = "The agent gets what you have typed when it is started again: `:Acp restart` does that.";
            return self.notice(key, Level::Info, text);
        }
        let text = "The agent is started again with what you have typed. It is kept as long as this Neovim runs.";
        self.notice(key, Level::Info, text);
        self.renew(agent, fx);
    }

    /// Returns whether a session of a process runs without a log-in.
    fn serves_somebody(&self, agent: AgentKey) -> bool {
        self.sessions.values().any(|session| {
            let is_served = session.agent == Some(agent) && session.opening.is_open();
            is_served && !session.login.is_needed
        })
    }

    /// Moves the sessions of an unused process to a new one.
    fn renew(&mut self, agent: AgentKey, fx: &mut Effects) {
        let served = self.sessions_of(agent);
        self.shut_down(agent, fx);
        // The old process ends without supervision; no session depends on it.
        self.agents.remove(&agent);
        for key in served {
            self.connect(key, fx);
        }
    }

    /// Retries with an agent that required a log-in: the user may have logged in elsewhere.
    pub(crate) fn try_again(&mut self, key: SessionKey, fx: &mut Effects) {
        let Some(session) = self.sessions.get_mut(&key) else {
            return;
        };
        let Some(agent) = session.agent.filter(|_| session.login.is_needed) else {
            return;
        };
        if self.authenticating(agent).is_some() {
            let text = "Queued: the prompt goes out after the log-in.";
            return fx.push(notify(Level::Info, text));
        }
        let Some(session) = self.sessions.get_mut(&key) else {
            return;
        };
        session.login.is_needed = false;
        match session.opening.is_open() {
            true => self.next_prompt(key, fx),
            false => self.ask_for_session(agent, key, fx),
        }
    }

    /// Cancels a pending log-in; returns whether there was one.
    pub(crate) fn cancel_login(&mut self, key: SessionKey, fx: &mut Effects) -> bool {
        let agent = self.sessions.get(&key).and_then(|session| session.agent);
        let Some((agent, id)) = agent.and_then(|agent| Some((agent, self.authenticating(agent)?)))
        else {
            return false;
        };
        self.cancel_request_of(agent, id, fx);
        let text = "The log-in was given up. `:Acp login` begins another.";
        self.notice(key, Level::Info, text);
        true
    }

    /// Logs out: the agent forgets the user, and this client the variables typed in.
    pub(crate) fn logout(&mut self, key: SessionKey, fx: &mut Effects) {
        let Some(session) = self.sessions.get(&key) else {
            return;
        };
        let name = session.spec.name.clone();
        let info = |agent: AgentKey| Some((agent, self.agents.get(&agent)?.info.as_ref()?));
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
                let text = "What you have typed to log in is forgotten. The agent keeps it until it is started again: `:Acp restart` does that.";
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
        let agent = self.agents.get(&agent);
        let info = agent.and_then(|agent| agent.info.as_ref());
        info.map(|info| info.auth_methods.clone())
            .unwrap_or_default()
    }

    /// Returns the pending log-in request of a process.
    fn authenticating(&self, agent: AgentKey) -> Option<u64> {
        let mut pending = self.agents.get(&agent)?.pending.iter();
        let found = pending.find(|(_, call)| matches!(call, Call::Authenticate { .. }));
        found.map(|(id, _)| *id)
    }
}

fn needed(name: &str, methods: &[AuthMethod], error: &RpcError) -> String {
    let mut text = match error.code {
        rpc::AUTH_REQUIRED => format!(
            "The agent \"{name}\" asks you to log in first ({}).",
            error.message
        ),
        // Some agents report it in other words, or notice only once they have called their model.
        _ => format!(
            "The agent \"{name}\" could not open a session: {error}. It may want you to log in \
             first."
        ),
    };
    for method in methods {
        text.push_str(&format!("\n  {}", method.name));
        if let Some(description) = &method.description {
            text.push_str(&format!(": {description}"));
        }
        if let AuthKind::EnvVar { vars } = &method.kind {
            let names: Vec<&str> = vars.iter().map(|var| var.name.as_str()).collect();
            text.push_str(&format!(" ({})", names.join(", ")));
        }
    }
    text.push_str(match methods {
        [] => {
            "\nIt names no way to do that here: use its own command in a terminal. The next \
             prompt asks it again; nothing you have written is lost."
        }
        _ => "\n`:Acp login` does that. What you have written goes out then.",
    });
    text
}
