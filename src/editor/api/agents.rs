//! API functions for agents: the running ones, logging in and out.

use nvim_oxi::mlua::{self, Table, Value};
use serde_json::{Value as Json, json};

use super::provide;
use super::sessions::meant;
use crate::editor::nvim;
use crate::editor::state::{self, send, snapshot};
use acp::client::{AuthKind, AuthMethod, AuthVar, Initialized};
use acp_core::conversation::agent::AgentState;
use acp_core::conversation::login::{LoginStep, Secret, Secrets};
use acp_core::event::{Event, SessionEvent};
use acp_core::view::snapshot::AgentInfo;

pub(super) fn add(module: &Table) -> mlua::Result<()> {
    let agents = |()| nvim::list(snapshot().agents.iter().map(agent));
    provide(module, "agents", agents)?;
    let login = |(session, method, step): (Option<u32>, String, Value)| {
        let session = meant(session)?;
        let step = match step {
            Value::Table(vars) => {
                let vars = vars.pairs::<String, String>().flatten();
                LoginStep::Given(Secrets(vars.collect()))
            }
            Value::Boolean(true) => LoginStep::Done,
            Value::String(key) => LoginStep::Key(Secret(key.to_string_lossy())),
            _ => LoginStep::Ask,
        };
        state::refresh_environment();
        send(Event::Session(SessionEvent::Login {
            session,
            method,
            step,
        }));
        Ok(())
    };
    provide(module, "login", login)?;
    let logout = |session: Option<u32>| {
        let session = meant(session)?;
        send(Event::Session(SessionEvent::Logout { session }));
        Ok(())
    };
    provide(module, "logout", logout)
}

fn agent(agent: &AgentInfo) -> Json {
    let (spec, info) = (&agent.spec, agent.info.as_ref());
    let state = match agent.state {
        AgentState::Starting => "starting",
        AgentState::Ready => "ready",
        AgentState::Leaving => "leaving",
    };
    let methods = |info: &Initialized| info.auth_methods.iter().map(method).collect();
    json!({
        "name": spec.name,
        "state": state,
        "sessions": agent.sessions.iter().map(|key| key.0).collect::<Vec<_>>(),
        "command": spec.command,
        "args": spec.args,
        "env": pairs(&spec.env),
        "cwd": spec.cwd.to_string_lossy(),
        "title": info.and_then(|info| info.agent_title.as_ref().or(info.agent_name.as_ref())),
        "version": info.and_then(|info| info.agent_version.as_ref()),
        "logout": info.map(|info| info.logout),
        "methods": info.map(methods).map(Json::Array),
    })
}

fn method(method: &AuthMethod) -> Json {
    let (kind, of_kind) = match &method.kind {
        AuthKind::Agent => ("agent", Json::Null),
        AuthKind::ApiKey { .. } => ("api_key", Json::Null),
        AuthKind::EnvVar { vars } => (
            "env_var",
            json!({ "vars": vars.iter().map(var).collect::<Vec<_>>() }),
        ),
        AuthKind::Terminal { command, args, env } => {
            let terminal = json!({ "command": command, "args": args, "env": pairs(env) });
            ("terminal", terminal)
        }
    };
    json!({
        "id": method.id,
        "name": method.name,
        "description": method.description,
        "kind": kind,
        "vars": of_kind.get("vars"),
        "command": of_kind.get("command"),
        "args": of_kind.get("args"),
        "env": of_kind.get("env"),
    })
}

fn var(var: &AuthVar) -> Json {
    json!({
        "name": var.name,
        "label": var.label,
        "secret": var.is_secret,
        "optional": var.is_optional,
    })
}

fn pairs(env: &[(String, String)]) -> Json {
    env.iter().cloned().collect()
}
