//! An agent's terminal requests: `terminal/*`.
//!
//! Invariant: a command is run exactly as requested or not at all, so a list with an invalid item
//! is refused; optional fields are read leniently.

use agent_client_protocol_schema::v1;
use serde_json::value::RawValue;

use super::super::message::{AgentRequest, SessionId, TerminalCall, TerminalId};
use super::super::raw;
use super::{fields, required, session_id};

/// Reads `terminal/create`.
///
/// `env` may also be an object; an empty `cwd` counts as missing.
pub fn create(params: Option<&RawValue>) -> Result<AgentRequest, String> {
    if let Some(create) = params.and_then(raw::typed::<v1::CreateTerminalRequest>) {
        let env = create.env.into_iter();
        return created(
            SessionId(create.session_id.0),
            create.command,
            create.args,
            env.map(|variable| (variable.name, variable.value))
                .collect(),
            create.cwd,
            create.output_byte_limit,
        );
    }
    let names = [
        "sessionId",
        "command",
        "args",
        "env",
        "cwd",
        "outputByteLimit",
    ];
    let [session, command, args, env, cwd, limit] = fields(params, names)?;
    let session = session_id(session)?;
    let command = raw::typed(required(command, "command")?);
    let command: String = command.ok_or("params.command: not a string")?;
    let args = args.map_or(Ok(Vec::new()), words)?;
    let env = env.map_or(Ok(Vec::new()), variables)?;
    let cwd: Option<String> = match cwd {
        Some(cwd) => Some(raw::typed(cwd).ok_or("params.cwd: not a string")?),
        None => None,
    };
    // An unreadable limit is replaced by the default.
    let limit = limit.and_then(raw::whole);
    created(session, command, args, env, cwd.map(Into::into), limit)
}

fn created(
    session: SessionId,
    command: String,
    args: Vec<String>,
    env: Vec<(String, String)>,
    cwd: Option<std::path::PathBuf>,
    limit: Option<u64>,
) -> Result<AgentRequest, String> {
    if command.trim().is_empty() {
        return Err("params.command: empty".to_owned());
    }
    let texts = env.iter().flat_map(|(name, value)| [name, value]);
    if args.iter().chain(texts).any(|text| text.contains('\0')) || command.contains('\0') {
        return Err("params: a command can hold no NUL character".to_owned());
    }
    if let Some((name, _)) = env
        .iter()
        .find(|(name, _)| name.is_empty() || name.contains('='))
    {
        return Err(format!(
            "params.env: \"{name}\" is not the name of a variable"
        ));
    }
    let call = TerminalCall::Create {
        command,
        args,
        env,
        cwd: cwd.filter(|cwd| !cwd.as_os_str().is_empty()),
        limit,
    };
    Ok(AgentRequest::Terminal { session, call })
}

/// Reads the arguments; a single one need not be in a list.
fn words(raw: &RawValue) -> Result<Vec<String>, String> {
    let items = raw::list(raw).unwrap_or_else(|| vec![raw]);
    let words = items.into_iter().map(raw::text).collect::<Option<_>>();
    words.ok_or_else(|| "params.args: not a list of strings".to_owned())
}

/// Reads variables: a list of names and values, or an object.
fn variables(raw: &RawValue) -> Result<Vec<(String, String)>, String> {
    let not_a_list = || "params.env: not a list of names and values".to_owned();
    if let Some(items) = raw::list(raw) {
        let variable = |item: &RawValue| {
            let [name, value] = raw::fields(item.get(), ["name", "value"])?;
            let value = value.map_or(Some(String::new()), raw::text)?;
            Some((raw::text(name?)?, value))
        };
        let all = items.into_iter().map(variable).collect::<Option<_>>();
        return all.ok_or_else(not_a_list);
    }
    let all: serde_json::Map<String, serde_json::Value> = raw::typed(raw).ok_or_else(not_a_list)?;
    let variable = |(name, value): (String, serde_json::Value)| match value {
        serde_json::Value::String(value) => Some((name, value)),
        serde_json::Value::Null | serde_json::Value::Array(_) | serde_json::Value::Object(_) => {
            None
        }
        value => Some((name, value.to_string())),
    };
    let all = all.into_iter().map(variable).collect::<Option<_>>();
    all.ok_or_else(not_a_list)
}

/// Reads a request about an existing terminal.
pub fn of_one(
    params: Option<&RawValue>,
    call: fn(TerminalId) -> TerminalCall,
) -> Result<AgentRequest, String> {
    let [session, terminal] = fields(params, ["sessionId", "terminalId"])?;
    let session = session_id(session)?;
    let id = raw::word(required(terminal, "terminalId")?);
    let id = id.ok_or("params.terminalId: not a string")?;
    let call = call(TerminalId((*id).into()));
    Ok(AgentRequest::Terminal { session, call })
}
