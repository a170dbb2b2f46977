//! Logging in to agents and out of them.
//!
//! Invariant: while a session's agent requires a log-in, nothing is sent in that session and no
//! prompt of the user's is dropped: the prompts are sent once the agent accepts them.

use serde_json::Value;

use crate::conversation::agent::AgentState;
use crate::conversation::login::{LoginStep, Secrets};
use crate::conversation::session::Session;
use crate::model::Model;
use crate::spine::cx::{Effects, emit, notify};
use crate::spine::effect::{Announcement, Level};
use crate::spine::ids::{AgentKey, SessionKey};
use acp::client::{AuthKind, AuthMethod};
use acp::{RpcError, rpc};

impl Model {
    /// Handles an agent's refusal to open a session, or to accept a prompt, before a log-in.
    pub(crate) fn login_needed(
        &mut self,
        agent: AgentKey,
        key: SessionKey,
        error: &RpcError,
        fx: &mut Effects,
    ) {
        let methods = self.conversation.auth_methods(agent);
        let Some(session) = self.conversation.session_mut(key) else {
            return;
        };
        if session.require_login() && !self.conversation.serves_somebody(agent) {
            return self.renew(agent, fx);
        }
        let Some(session) = self.conversation.session_mut(key) else {
            return;
        };
        let given = session.take_given_login();
        if let Some(method) = methods
            .iter()
            .find(|method| Some(&method.id) == given.as_ref())
        {
            return self.conversation.authenticate(agent, key, method, None, fx);
        }
        let name = session.name().to_owned();
        let text = needed(&name, &methods, error);
        session.notice(Level::Warn, text.clone());
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
        let Some(session) = self.conversation.session(key) else {
            return;
        };
        let name = session.name().to_owned();
        let Some(agent) = self.conversation.serving(key) else {
            self.restart(key, fx);
            let text = format!(
                "The agent \"{name}\" was not running and is starting: repeat `:Acp login` once it runs."
            );
            return fx.push(notify(Level::Warn, text));
        };
        let state = self.conversation.agent(agent);
        if state.is_none_or(|agent| agent.state() != AgentState::Ready) {
            let text = format!(
                "The agent \"{name}\" is still starting: repeat `:Acp login` once it runs."
            );
            return fx.push(notify(Level::Warn, text));
        }
        let methods = self.conversation.auth_methods(agent);
        let Some(method) = methods.iter().find(|known| known.id == method) else {
            let text = format!(
                "The agent \"{name}\" has no log-in \"{method}\"; `:Acp login` lists them."
            );
            return fx.push(notify(Level::Error, text));
        };
        match step {
            LoginStep::Ask | LoginStep::Key(_)
                if matches!(method.kind, AuthKind::Terminal { .. }) =>
            {
                let text = format!("The log-in \"{}\" needs a terminal.", method.name);
                fx.push(notify(Level::Error, text));
            }
            LoginStep::Ask | LoginStep::Key(_)
                if self.conversation.authenticating(agent).is_some() =>
            {
                let text = "A log-in is under way; `:Acp cancel` aborts it.";
                fx.push(notify(Level::Warn, text));
            }
            LoginStep::Ask => self.conversation.authenticate(agent, key, method, None, fx),
            LoginStep::Key(secret) => {
                self.conversation
                    .authenticate(agent, key, method, Some(&secret.0), fx);
            }
            LoginStep::Given(vars) => self.login_given(agent, key, method, &vars, fx),
            LoginStep::Done => {
                for key in self.conversation.sessions_of(agent) {
                    if let Some(session) = self.conversation.session_mut(key) {
                        session.logged_in_beside();
                    }
                }
                self.logged_in(agent, key, fx);
            }
        }
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
                let text = format!("{text} `:Acp login` tries again, or with another method.");
                self.conversation.notice(key, Level::Error, text);
            }
        }
    }

    /// Resumes all sessions of a process that waited for a log-in.
    fn logged_in(&mut self, agent: AgentKey, key: SessionKey, fx: &mut Effects) {
        self.conversation.notice(key, Level::Info, "Logged in.");
        let served = self.conversation.sessions_of(agent);
        let waits = |key: &&SessionKey| {
            let session = self.conversation.session(**key);
            session.is_some_and(Session::needs_login)
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
        self.conversation.give(key, method, vars);
        if self.conversation.serves_somebody(agent) {
            let text =
                "The agent gets the keys you have typed when you restart it: `:Acp restart`.";
            return self.conversation.notice(key, Level::Info, text);
        }
        let text =
            "The agent restarts with the keys you have typed. They are kept until you quit Neovim.";
        self.conversation.notice(key, Level::Info, text);
        self.renew(agent, fx);
    }

    /// Moves the sessions of an unused process to a new one.
    fn renew(&mut self, agent: AgentKey, fx: &mut Effects) {
        let served = self.conversation.sessions_of(agent);
        self.shut_down(agent, fx);
        // The old process ends without supervision; no session depends on it.
        self.conversation.fail_calls(agent, fx);
        self.conversation.forget_agent(agent);
        for key in served {
            self.connect(key, fx);
        }
    }

    /// Retries with an agent that required a log-in: the user may have logged in elsewhere.
    pub(crate) fn try_again(&mut self, key: SessionKey, fx: &mut Effects) {
        let Some(session) = self.conversation.session_mut(key) else {
            return;
        };
        let Some(agent) = session.agent().filter(|_| session.needs_login()) else {
            return;
        };
        if self.conversation.authenticating(agent).is_some() {
            let text = "Queued: the prompt goes out after the log-in.";
            return fx.push(notify(Level::Info, text));
        }
        let Some(session) = self.conversation.session_mut(key) else {
            return;
        };
        match session.assume_login() {
            true => self.next_prompt(key, fx),
            false => self.ask_for_session(agent, key, fx),
        }
    }
}

fn needed(name: &str, methods: &[AuthMethod], error: &RpcError) -> String {
    let mut text = match error.code {
        rpc::AUTH_REQUIRED => format!(
            "The agent \"{name}\" asks you to log in first ({}).",
            error.message
        ),
        // Some agents report it with another error, or only after they have called their model.
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
            "\nIt offers no log-in here: log in with its own command in a terminal, then send your \
             next prompt. What you have written is kept."
        }
        _ => "\n`:Acp login` does that. What you have written is sent afterwards.",
    });
    text
}
