//! The tutor: a small agent that teaches the plugin by doing. No network, no account, no model.
//!
//! It speaks version 1 of the Agent Client Protocol on stdio; `:AcpChat tutor` starts it.
//! `ACP_TUTOR_DELAY_MS` sets the pause between two words (15 ms); all other pauses scale with it.
//!
//! Invariant: the main thread reads stdin and never waits for a turn, so it sees a cancel, an
//! answer and the end of stdin at once.

mod changes;
mod commands;
mod files;
mod lessons;
mod mcp;
mod practice;
mod prompt;
mod talk;
mod tools;
mod turn;
mod wire;

use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::mcp::Server;
use crate::prompt::Prompt;
use crate::turn::Turn;
use crate::wire::{Session, Start, Wire};

const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const PARSE_ERROR: i64 = -32700;

fn main() -> ExitCode {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        println!("acp-tutor talks to editors, in the Agent Client Protocol.");
        println!("Start it in Neovim: :AcpChat tutor");
        return ExitCode::SUCCESS;
    }
    let delay = std::env::var("ACP_TUTOR_DELAY_MS")
        .ok()
        .and_then(|ms| ms.parse().ok())
        .unwrap_or(15);
    let wire = Arc::new(Wire::new(Duration::from_millis(delay)));
    for line in stdin.lock().split(b'\n') {
        let Ok(line) = line else { break };
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match serde_json::from_slice::<Value>(&line) {
            Ok(message) => receive(&wire, &message),
            Err(why) => wire.refuse(&Value::Null, PARSE_ERROR, &why.to_string()),
        }
    }
    // The client is gone; exiting ends the running turns too.
    ExitCode::SUCCESS
}

/// Handles one message from the client.
fn receive(wire: &Arc<Wire>, message: &Value) {
    let id = message.get("id");
    let Some(method) = message.get("method").and_then(Value::as_str) else {
        match id {
            Some(id) => wire.answered(id, message),
            None => wire.refuse(&Value::Null, INVALID_REQUEST, "neither method nor id"),
        }
        return;
    };
    let params = message.get("params").unwrap_or(&Value::Null);
    let Some(id) = id else {
        if method == "session/cancel"
            && let Some(session) = params.get("sessionId").and_then(Value::as_str)
        {
            wire.cancel(session);
        }
        return;
    };
    let result = match method {
        "initialize" => initialize(wire, params),
        "authenticate" => Ok(json!({})),
        "session/new" => return new_session(wire, id, params),
        "session/prompt" => match prompt(wire, id, params) {
            Ok(()) => return,
            Err(refusal) => Err(refusal),
        },
        _ => Err((METHOD_NOT_FOUND, format!("Method not found: {method}"))),
    };
    match result {
        Ok(result) => wire.reply(id, &result),
        Err((code, why)) => wire.refuse(id, code, &why),
    }
}

type Refusal = (i64, String);

fn initialize(wire: &Wire, params: &Value) -> Result<Value, Refusal> {
    if !params.get("protocolVersion").is_some_and(Value::is_u64) {
        return Err(invalid("protocolVersion must be a number"));
    }
    let fs = |field: &str| {
        params
            .pointer(&format!("/clientCapabilities/fs/{field}"))
            .is_some_and(|able| able == &Value::Bool(true))
    };
    let runs_commands = params.pointer("/clientCapabilities/terminal") == Some(&json!(true));
    wire.client_can(fs("readTextFile"), fs("writeTextFile"), runs_commands);
    Ok(json!({
        "protocolVersion": 1,
        "agentInfo": {"name": "acp-tutor", "title": "Tutor", "version": env!("CARGO_PKG_VERSION")},
        "agentCapabilities": {
            "loadSession": false,
            "promptCapabilities": {"image": false, "audio": false, "embeddedContext": true},
        },
        "authMethods": [],
    }))
}

fn new_session(wire: &Wire, id: &Value, params: &Value) {
    let cwd = params.get("cwd").and_then(Value::as_str).map(Path::new);
    match cwd.filter(|cwd| cwd.is_absolute()) {
        None => wire.refuse(id, INVALID_PARAMS, "cwd must be an absolute path"),
        Some(_) if !params.get("mcpServers").is_some_and(Value::is_array) => {
            wire.refuse(id, INVALID_PARAMS, "mcpServers must be a list");
        }
        Some(cwd) => {
            let servers = params.get("mcpServers").unwrap_or(&Value::Null);
            let server = Server::find(servers, tools::SERVER);
            let session = wire.open(Session::new(PathBuf::from(cwd), server));
            wire.reply(id, &json!({"sessionId": session}));
            for update in lessons::welcome() {
                wire.update(&session, &update);
            }
        }
    }
}

/// Runs the turn on a new thread, which answers the request.
fn prompt(wire: &Arc<Wire>, id: &Value, params: &Value) -> Result<(), Refusal> {
    let session = params
        .get("sessionId")
        .and_then(Value::as_str)
        .ok_or_else(|| invalid("sessionId must be a string"))?;
    let prompt = params
        .get("prompt")
        .and_then(Value::as_array)
        .ok_or_else(|| invalid("prompt must be a list"))?;
    let prompt = Prompt::read(prompt).map_err(|why| invalid(&why))?;
    match wire.start(session) {
        Start::Begun => {}
        Start::Unknown => return Err(invalid(&format!("sessionId {session} is not known"))),
        Start::Busy => {
            let why = "A turn is running in this session: wait until it ends, or cancel it.";
            return Err((INVALID_REQUEST, why.to_owned()));
        }
    }
    let (wire, id, session) = (wire.clone(), id.clone(), session.to_owned());
    std::thread::spawn(move || {
        let stop_reason = lessons::run(Turn::new(&wire, &session), &prompt);
        wire.end(&session);
        wire.reply(&id, &json!({"stopReason": stop_reason}));
    });
    Ok(())
}

fn invalid(why: &str) -> Refusal {
    (INVALID_PARAMS, format!("Invalid params: {why}"))
}
