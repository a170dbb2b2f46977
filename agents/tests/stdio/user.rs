//! A user of the tutor: a client whose buffers are a map, and who gives one answer to permissions.

use std::collections::HashMap;

use agent_client_protocol_schema::v1;
use serde_json::{Value, json};

use crate::TUTOR;
use crate::client::{Client, text};

/// A client whose buffers are a map, and who answers permissions with one option.
pub struct User {
    pub client: Client,
    pub dir: tempfile::TempDir,
    pub session: Value,
    pub buffers: HashMap<String, String>,
    pub answer: Value,
    /// What the last command has printed, and how commands end.
    output: String,
    pub exit: Value,
}

/// What came of a prompt.
#[derive(Default)]
pub struct Heard {
    pub said: String,
    pub thought: String,
    pub updates: Vec<Value>,
    pub asked: Vec<Value>,
    pub stop_reason: String,
}

impl User {
    pub fn start(delay: &str) -> User {
        let mut client = Client::start(TUTOR, &[], &[("ACP_TUTOR_DELAY_MS", delay)]);
        let dir = tempfile::tempdir().unwrap();
        let session = client.session(dir.path());
        User {
            client,
            dir,
            session,
            buffers: HashMap::new(),
            answer: option("allow_once"),
            output: String::new(),
            exit: json!({"exitCode": 0, "signal": null}),
        }
    }

    pub fn practice(&self) -> String {
        let path = self.dir.path().join("acp-practice.lua");
        path.to_str().unwrap().to_owned()
    }

    pub fn prompt(&mut self, words: &str) -> Heard {
        let prompt = self
            .client
            .request("session/prompt", text(&self.session, words));
        self.listen(prompt, |_, _| {})
    }

    /// Serves the agent until the answer to `prompt`; `look` sees each update first.
    pub fn listen(&mut self, prompt: u64, mut look: impl FnMut(&mut Client, &Value)) -> Heard {
        let mut heard = Heard::default();
        loop {
            let message = self.client.recv();
            match message["method"].as_str() {
                None => {
                    assert_eq!(message["id"], json!(prompt), "{message}");
                    let reason = &message["result"]["stopReason"];
                    heard.stop_reason = reason.as_str().unwrap_or("none").to_owned();
                    return heard;
                }
                Some("session/update") => {
                    decodes::<v1::SessionNotification>(&message);
                    let update = message["params"]["update"].clone();
                    look(&mut self.client, &update);
                    let text = update["content"]["text"].as_str().unwrap_or_default();
                    match update["sessionUpdate"].as_str().unwrap() {
                        "agent_message_chunk" => heard.said.push_str(text),
                        "agent_thought_chunk" => heard.thought.push_str(text),
                        _ => heard.updates.push(update),
                    }
                }
                Some(_) => {
                    self.serve(&message);
                    heard.asked.push(message);
                }
            }
        }
    }

    pub fn serve(&mut self, message: &Value) {
        match message["method"].as_str() {
            Some("fs/read_text_file") => decodes::<v1::ReadTextFileRequest>(message),
            Some("fs/write_text_file") => decodes::<v1::WriteTextFileRequest>(message),
            Some("terminal/create") => decodes::<v1::CreateTerminalRequest>(message),
            Some("terminal/wait_for_exit") => decodes::<v1::WaitForTerminalExitRequest>(message),
            Some("terminal/output") => decodes::<v1::TerminalOutputRequest>(message),
            Some("terminal/release") => decodes::<v1::ReleaseTerminalRequest>(message),
            _ => decodes::<v1::RequestPermissionRequest>(message),
        }
        let path = message["params"]["path"].as_str().unwrap_or_default();
        let result = match message["method"].as_str().unwrap() {
            "fs/read_text_file" => match self.buffers.get(path) {
                Some(text) => json!({"content": text}),
                None => {
                    let error = json!({"code": -32002, "message": "Resource not found"});
                    let id = &message["id"];
                    self.client
                        .send(json!({"jsonrpc": "2.0", "id": id, "error": error}));
                    return;
                }
            },
            "fs/write_text_file" => {
                let content = message["params"]["content"].as_str().unwrap().to_owned();
                std::fs::write(path, &content).unwrap();
                self.buffers.insert(path.to_owned(), content);
                json!({})
            }
            "session/request_permission" => self.answer.clone(),
            "terminal/create" => {
                self.output = printed(&message["params"]);
                json!({"terminalId": "term-1"})
            }
            "terminal/wait_for_exit" => self.exit.clone(),
            "terminal/output" => json!({"output": self.output, "truncated": false}),
            "terminal/release" => json!({}),
            other => panic!("{other}"),
        };
        self.client.reply(message, result);
    }
}

impl Heard {
    pub fn check(&self, stop_reason: &str, words: &[&str]) {
        assert_eq!(self.stop_reason, stop_reason, "{}", self.said);
        for word in words {
            assert!(self.said.contains(word), "{word:?} is not in {}", self.said);
        }
    }

    /// The last status of each tool call, in the order of their first update.
    pub fn tools(&self) -> Vec<String> {
        let mut tools: Vec<(&Value, String)> = Vec::new();
        for update in &self.updates {
            let Some(status) = update["status"].as_str() else {
                continue;
            };
            let id = &update["toolCallId"];
            match tools.iter_mut().find(|(known, _)| *known == id) {
                Some((_, known)) => status.clone_into(known),
                None => tools.push((id, status.to_owned())),
            }
        }
        tools.into_iter().map(|(_, status)| status).collect()
    }

    pub fn methods(&self) -> Vec<&str> {
        self.asked
            .iter()
            .map(|m| m["method"].as_str().unwrap())
            .collect()
    }
}

/// Runs the command of a `terminal/create` and returns its output without colours.
fn printed(params: &Value) -> String {
    let args = params["args"].as_array().unwrap().iter();
    let output = std::process::Command::new(params["command"].as_str().unwrap())
        .args(args.map(|arg| arg.as_str().unwrap()))
        .current_dir(params["cwd"].as_str().unwrap())
        .output()
        .unwrap();
    assert!(output.status.success() && output.stderr.is_empty());
    let text = String::from_utf8(output.stdout).unwrap();
    let mut pieces = text.split('\u{1b}');
    let plain = pieces.next().unwrap().to_owned();
    pieces.fold(plain, |plain, piece| {
        plain + piece.split_once('m').unwrap().1
    })
}

/// Returns the answer that chooses this option of a permission.
pub fn option(id: &str) -> Value {
    json!({"outcome": {"outcome": "selected", "optionId": id}})
}

/// The protocol's official types know every message of the tutor's.
fn decodes<T: serde::de::DeserializeOwned>(message: &Value) {
    let params = message["params"].clone();
    if let Err(why) = serde_json::from_value::<T>(params) {
        panic!("{why}: {message}");
    }
}
