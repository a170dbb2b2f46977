//! The bridge to AG-UI: an ACP agent that passes prompts on to an AG-UI endpoint.
//!
//! `acp-agui URL` speaks version 1 of the Agent Client Protocol on stdio. Headers come from
//! `ACP_AGUI_TOKEN` and `ACP_AGUI_HEADERS`. `acp-agui --check URL` says whether the URL answers.
//!
//! Invariant: stdin is read while turns run, so a cancel, an answer and the end of stdin are seen
//! at once.

mod http;
mod messages;
mod partial;
mod prompt;
mod questions;
mod run;
mod show;
mod sse;
mod threads;
mod tools;
mod turn;
mod wire;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::http::Endpoint;
use crate::threads::{Store, Thread};
use crate::tools::{Server, Tools};
use crate::turn::{Setting, Stop, Turn, Work};
use crate::wire::Wire;

const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const INTERNAL_ERROR: i64 = -32603;
const PARSE_ERROR: i64 = -32700;

/// The command that shows the thread's state.
const STATE: &str = "state";

/// The time that cancelled turns have to end.
const END: Duration = Duration::from_secs(2);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (url, is_check) = match args[..] {
        ["--check", url] => (url, true),
        [url] if !url.starts_with('-') => (url, false),
        _ => {
            eprintln!("usage: acp-agui [--check] URL");
            return ExitCode::from(2);
        }
    };
    let endpoint = match Endpoint::new(url) {
        Ok(endpoint) => endpoint,
        Err(why) => return fail(&why),
    };
    if is_check {
        return match endpoint.check().await {
            Ok(status) => {
                println!("{endpoint} answers ({status})");
                ExitCode::SUCCESS
            }
            Err(why) => fail(&why),
        };
    }
    let bridge = Rc::new(Bridge::new(endpoint));
    let work = async {
        listen(&bridge).await;
        bridge.end().await;
    };
    tokio::task::LocalSet::new().run_until(work).await;
    ExitCode::SUCCESS
}

fn fail(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::FAILURE
}

/// Handles the client's messages until it closes stdin.
async fn listen(bridge: &Rc<Bridge>) {
    let mut lines = BufReader::new(tokio::io::stdin());
    let mut line = Vec::new();
    loop {
        line.clear();
        match lines.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) if line.iter().all(u8::is_ascii_whitespace) => {}
            Ok(_) => match serde_json::from_slice::<Value>(&line) {
                Ok(message) => bridge.receive(message),
                Err(why) => {
                    let wire = &bridge.setting.wire;
                    wire.refuse(&Value::Null, PARSE_ERROR, &why.to_string());
                }
            },
        }
    }
}

type Refusal = (i64, String);

struct Bridge {
    setting: Rc<Setting>,
    sessions: RefCell<HashMap<String, Rc<Session>>>,
}

/// A session; its work is locked while a turn runs.
struct Session {
    work: Arc<Mutex<Work>>,
    turn: RefCell<CancellationToken>,
}

impl Bridge {
    fn new(endpoint: Endpoint) -> Self {
        let store = Store::of(&endpoint.to_string());
        Self {
            setting: Rc::new(Setting {
                wire: Wire::default(),
                store,
                endpoint,
                has_forms: Cell::new(false),
            }),
            sessions: RefCell::default(),
        }
    }

    /// Handles one message from the client.
    fn receive(self: &Rc<Self>, message: Value) {
        let wire = &self.setting.wire;
        let id = message.get("id").cloned();
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            match id {
                Some(id) => wire.answered(&id, message),
                None => wire.refuse(&Value::Null, INVALID_REQUEST, "neither method nor id"),
            }
            return;
        };
        let params = message.get("params").unwrap_or(&Value::Null);
        let Some(id) = id else {
            if let ("session/cancel", Some(session)) = (method, self.session(params)) {
                session.turn.borrow().cancel();
            }
            return;
        };
        let result = match method {
            "initialize" => self.initialize(params),
            "authenticate" => Ok(json!({})),
            "session/new" => self.new_session(params),
            "session/load" => self.open(params, true),
            "session/resume" => self.open(params, false),
            "session/list" => Ok(self.list(params)),
            "session/close" => Ok(self.close(params)),
            "session/delete" => self.delete(params),
            "session/prompt" => match self.prompt(&id, params) {
                Ok(()) => return,
                Err(refusal) => Err(refusal),
            },
            _ => Err((METHOD_NOT_FOUND, format!("Method not found: {method}"))),
        };
        let is_opened = matches!(method, "session/new" | "session/load" | "session/resume");
        match result {
            Ok(result) => {
                wire.reply(&id, &result);
                let opened = result["sessionId"]
                    .as_str()
                    .or(params["sessionId"].as_str());
                if let Some(session) = opened.filter(|_| is_opened) {
                    wire.update(session, &commands());
                }
            }
            Err((code, why)) => wire.refuse(&id, code, &why),
        }
    }

    fn initialize(&self, params: &Value) -> Result<Value, Refusal> {
        if !params.get("protocolVersion").is_some_and(Value::is_u64) {
            return Err(invalid("protocolVersion must be a number"));
        }
        let forms = params.pointer("/clientCapabilities/elicitation/form");
        self.setting
            .has_forms
            .set(forms.is_some_and(|forms| !forms.is_null()));
        Ok(json!({
            "protocolVersion": 1,
            "agentInfo": {
                "name": "acp-agui", "title": "AG-UI", "version": env!("CARGO_PKG_VERSION"),
            },
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": {"image": true, "audio": true, "embeddedContext": true},
                "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}},
            },
            "authMethods": [],
        }))
    }

    fn new_session(&self, params: &Value) -> Result<Value, Refusal> {
        let cwd = folder(params)?;
        let thread = Thread::new(cwd);
        let id = thread.head.id.clone();
        self.add(thread, params);
        Ok(json!({"sessionId": id}))
    }

    /// Opens a kept session, and shows its messages again if the client has none.
    fn open(&self, params: &Value, is_replayed: bool) -> Result<Value, Refusal> {
        let (id, cwd) = (session_id(params)?, folder(params)?);
        let store = self.setting.store.as_ref();
        let loaded = store.and_then(|store| store.load(id).ok());
        let Some(mut thread) = loaded else {
            return Err(invalid(&format!("the session {id} is not known")));
        };
        cwd.clone_into(&mut thread.head.cwd);
        let updates = match is_replayed {
            true => show::replayed(&thread.body),
            false => Vec::new(),
        };
        for update in updates {
            self.setting.wire.update(id, &update);
        }
        self.add(thread, params);
        Ok(json!({}))
    }

    fn add(&self, thread: Thread, params: &Value) {
        let id = thread.head.id.clone();
        let session = Rc::new(Session {
            work: Arc::new(Mutex::new(Work {
                thread,
                servers: Server::read(&params["mcpServers"]),
                tools: Tools::default(),
                is_raw_shown: false,
                is_unkept: false,
                is_older: false,
            })),
            turn: RefCell::default(),
        });
        let before = self.sessions.borrow_mut().insert(id, session);
        if let Some(before) = before {
            before.turn.borrow().cancel();
        }
    }

    fn list(&self, params: &Value) -> Value {
        let store = self.setting.store.as_ref();
        let kept = store.map(|store| store.list(params["cwd"].as_str()));
        json!({"sessions": kept.unwrap_or_default()})
    }

    fn close(&self, params: &Value) -> Value {
        let id = params["sessionId"].as_str().unwrap_or_default();
        let closed = self.sessions.borrow_mut().remove(id);
        if let Some(closed) = closed {
            closed.turn.borrow().cancel();
        }
        json!({})
    }

    fn delete(&self, params: &Value) -> Result<Value, Refusal> {
        let id = session_id(params)?;
        self.close(params);
        let deleted = self.setting.store.as_ref().map(|store| store.delete(id));
        match deleted {
            Some(Err(why)) => {
                let why = format!("The session {id} cannot be deleted: {why}.");
                Err((INTERNAL_ERROR, why))
            }
            _ => Ok(json!({})),
        }
    }

    /// Starts a turn, which answers the request.
    fn prompt(self: &Rc<Self>, id: &Value, params: &Value) -> Result<(), Refusal> {
        let session = self.session(params);
        let session = session.ok_or_else(|| invalid("the session is not known"))?;
        let blocks = params["prompt"].as_array().cloned();
        let blocks = blocks.ok_or_else(|| invalid("prompt must be a list"))?;
        let Ok(mut work) = session.work.clone().try_lock_owned() else {
            let why = "A turn is running in this session: wait until it ends, or cancel it.";
            return Err((INVALID_REQUEST, why.to_owned()));
        };
        let cancelled = CancellationToken::new();
        session.turn.replace(cancelled.clone());
        let (setting, id) = (self.setting.clone(), id.clone());
        tokio::task::spawn_local(async move {
            let done = answer(setting.clone(), &mut work, &blocks, cancelled).await;
            // The next prompt may come as soon as this one is answered.
            drop(work);
            match done {
                Ok(()) => setting.wire.reply(&id, &json!({"stopReason": "end_turn"})),
                Err(Stop::Cancelled) => {
                    setting.wire.reply(&id, &json!({"stopReason": "cancelled"}))
                }
                Err(Stop::Failed(why)) => setting.wire.refuse(&id, INTERNAL_ERROR, &why),
            }
        });
        Ok(())
    }

    /// Cancels the running turns and waits until what arrived is kept.
    async fn end(&self) {
        let sessions: Vec<Rc<Session>> = self.sessions.borrow().values().cloned().collect();
        for session in &sessions {
            session.turn.borrow().cancel();
        }
        let ended = async {
            for session in &sessions {
                drop(session.work.lock().await);
            }
        };
        let _ = tokio::time::timeout(END, ended).await;
    }

    fn session(&self, params: &Value) -> Option<Rc<Session>> {
        let id = params["sessionId"].as_str()?;
        self.sessions.borrow().get(id).cloned()
    }
}

async fn answer(
    setting: Rc<Setting>,
    work: &mut Work,
    blocks: &[Value],
    cancelled: CancellationToken,
) -> Result<(), Stop> {
    let content = prompt::content(blocks);
    let command = content.as_str().map(str::trim);
    if command.and_then(|text| text.strip_prefix('/')) == Some(STATE) {
        let state = serde_json::to_string_pretty(&work.thread.body.state).unwrap_or_default();
        let shown = json!({"type": "text", "text": format!("```json\n{state}\n```")});
        let update = json!({"sessionUpdate": "agent_message_chunk", "content": shown});
        setting.wire.update(&work.thread.head.id, &update);
        return Ok(());
    }
    if work.thread.head.title.is_none() {
        work.thread.head.title = prompt::title(blocks);
    }
    let turn = Turn {
        setting,
        work,
        cancelled,
    };
    turn.run(content).await
}

fn commands() -> Value {
    json!({"sessionUpdate": "available_commands_update", "availableCommands": [
        {"name": STATE, "description": "Shows the state that the agent shares"},
    ]})
}

fn session_id(params: &Value) -> Result<&str, Refusal> {
    let id = params["sessionId"].as_str();
    id.ok_or_else(|| invalid("sessionId must be a string"))
}

fn folder(params: &Value) -> Result<&str, Refusal> {
    let cwd = params["cwd"].as_str();
    let cwd = cwd.filter(|cwd| std::path::Path::new(cwd).is_absolute());
    cwd.ok_or_else(|| invalid("cwd must be an absolute path"))
}

fn invalid(why: &str) -> Refusal {
    (INVALID_PARAMS, format!("Invalid params: {why}"))
}
