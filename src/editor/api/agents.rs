//! What the module offers for agents: those that run, logging in to them and out of them.

use nvim_oxi::mlua::{self, Table, Value};

use super::sessions::meant;
use crate::editor::guard::function;
use crate::editor::nvim;
use crate::editor::state::{self, send, snapshot};
use acp::client::{AuthKind, AuthMethod, AuthVar};
use acp_core::conversation::login::{LoginStep, Secret, Secrets};
use acp_core::model::AgentState;
use acp_core::spine::event::Event;
use acp_core::view::snapshot::AgentInfo;

pub(super) fn add(module: &Table) -> mlua::Result<()> {
    let agents = |()| {
        let list = nvim::empty()?;
        for agent in &snapshot().agents {
            list.push(agent_table(agent)?)?;
        }
        Ok(list)
    };
    module.set("agents", function("agents", agents)?)?;
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
        send(Event::Login {
            session,
            method,
            step,
        });
        Ok(())
    };
    module.set("login", function("login", login)?)?;
    let logout = |session: Option<u32>| {
        let session = meant(session)?;
        send(Event::Logout { session });
        Ok(())
    };
    module.set("logout", function("logout", logout)?)
}

fn agent_table(agent: &AgentInfo) -> mlua::Result<Table> {
    let spec = &agent.spec;
    let state = match agent.state {
        AgentState::Starting => "starting",
        AgentState::Ready => "ready",
        AgentState::Leaving => "leaving",
    };
    let sessions = agent.sessions.iter().map(|key| key.0);
    let table = nvim::table([
        ("name", nvim::value(spec.name.as_str())),
        ("state", nvim::value(state)),
        ("sessions", list(sessions.map(nvim::value))?),
        ("command", nvim::value(spec.command.as_str())),
        ("args", strings(&spec.args)?),
        ("env", pairs(&spec.env)?),
        ("cwd", nvim::value(spec.cwd.to_string_lossy().into_owned())),
    ])?;
    if let Some(info) = &agent.info {
        let title = info.agent_title.as_ref().or(info.agent_name.as_ref());
        table.set("title", title.map(String::as_str))?;
        table.set("version", info.agent_version.as_deref())?;
        table.set("logout", info.logout)?;
        let methods = nvim::empty()?;
        for method in &info.auth_methods {
            methods.push(method_table(method)?)?;
        }
        table.set("methods", methods)?;
    }
    Ok(table)
}

fn method_table(method: &AuthMethod) -> mlua::Result<Table> {
    let kind = match &method.kind {
        AuthKind::Agent => "agent",
        AuthKind::ApiKey { .. } => "api_key",
        AuthKind::EnvVar { .. } => "env_var",
        AuthKind::Terminal { .. } => "terminal",
    };
    let table = nvim::table([
        ("id", nvim::value(method.id.as_str())),
        ("name", nvim::value(method.name.as_str())),
        ("description", nvim::value(method.description.as_deref())),
        ("kind", nvim::value(kind)),
    ])?;
    match &method.kind {
        AuthKind::Agent | AuthKind::ApiKey { .. } => {}
        AuthKind::EnvVar { vars } => {
            let all = nvim::empty()?;
            for var in vars {
                all.push(var_table(var)?)?;
            }
            table.set("vars", all)?;
        }
        AuthKind::Terminal { command, args, env } => {
            table.set("command", command.as_deref())?;
            table.set("args", strings(args)?)?;
            table.set("env", pairs(env)?)?;
        }
    }
    Ok(table)
}

fn var_table(var: &AuthVar) -> mlua::Result<Table> {
    nvim::table([
        ("name", nvim::value(var.name.as_str())),
        ("label", nvim::value(var.label.as_deref())),
        ("secret", nvim::value(var.is_secret)),
        ("optional", nvim::value(var.is_optional)),
    ])
}

fn list(values: impl Iterator<Item = Value>) -> mlua::Result<Value> {
    let table = nvim::empty()?;
    for value in values {
        table.push(value)?;
    }
    Ok(Value::Table(table))
}

fn strings(texts: &[String]) -> mlua::Result<Value> {
    list(texts.iter().map(|text| nvim::value(text.as_str())))
}

fn pairs(env: &[(String, String)]) -> mlua::Result<Value> {
    let table = nvim::empty()?;
    for (name, value) in env {
        table.set(name.as_str(), value.as_str())?;
    }
    Ok(Value::Table(table))
}
