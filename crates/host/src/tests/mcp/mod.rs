//! The tool server as its clients and the core see it: lines over a real socket.

mod calls;
mod door;
mod flood;

use acp_core::event::ToolEvent;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;

use serde_json::{Map, Value as Json, json};

use super::*;
use acp_core::spine::ids::{SessionKey, ToolUseId};
use acp_core::spine::tool::{Progress, ToolPermission, ToolResult, ToolSpec};

const SESSION: SessionKey = SessionKey(1);
const TOKEN: &str = "0123456789abcdef";

/// Returns a tool that takes an object with a text and a number.
fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        title: Some(format!("The {name}")),
        description: format!("Does {name}."),
        parameters: json!({
            "type": "object",
            "properties": {
                "text": { "type": "string", "pattern": "^[a-z]*$" },
                "list": { "type": "array", "items": { "type": "object", "properties": {
                    "n": { "type": "integer" } } } },
            },
            "additionalProperties": false,
        }),
        is_read_only: true,
        permission: ToolPermission::Allow,
        is_on: true,
        limit_ms: None,
        kind: "read".to_owned(),
        is_builtin: false,
    }
}

impl Run {
    /// Starts a host that offers a tool to a session.
    fn with_tools() -> Self {
        let run = Self::new();
        run.offer(&["look"]);
        run.admit(SESSION, TOKEN);
        run
    }

    fn offer(&self, names: &[&str]) {
        let tools: Vec<ToolSpec> = names.iter().map(|name| tool(name)).collect();
        self.host.run(HostEffect::OfferTools(tools.into()));
    }

    fn admit(&self, session: SessionKey, token: &str) {
        let token = token.to_owned();
        self.host.run(HostEffect::AdmitToTools { session, token });
    }

    fn shut_out(&self, session: SessionKey) {
        self.host.run(HostEffect::ShutOutOfTools { session });
    }

    fn answer(&self, id: ToolUseId, text: &str) {
        let result = ToolResult::text(text);
        self.host.run(HostEffect::AnswerTool { id, result });
    }

    fn socket(&self) -> PathBuf {
        self.path("acp.nvim.1.test/mcp.sock")
    }

    fn connect(&self) -> Client {
        Client::new(UnixStream::connect(self.socket()).expect("a server"))
    }

    /// Returns an admitted client.
    fn guest(&self) -> Client {
        let mut client = self.connect();
        client.line(&format!(r#"{{"token":"{TOKEN}"}}"#));
        assert_eq!(client.next(), json!({ "ok": true }));
        client
    }

    /// Returns a client that has initialized.
    fn client(&self) -> Client {
        let mut client = self.guest();
        client.initialize();
        client
    }

    /// Handles the event of a complete and valid call.
    fn used(&self) -> (ToolUseId, Map<String, Json>) {
        match self.next() {
            Event::Tool(ToolEvent::Used {
                id,
                session: SESSION,
                arguments: Ok(arguments),
                ..
            }) => (id, arguments),
            other => panic!("{other:?}"),
        }
    }

    fn begun(&self) -> ToolUseId {
        match self.next() {
            Event::Tool(ToolEvent::Begun { id, .. }) => id,
            other => panic!("{other:?}"),
        }
    }

    fn given_up(&self) -> ToolUseId {
        match self.next() {
            Event::Tool(ToolEvent::GivenUp { id }) => id,
            other => panic!("{other:?}"),
        }
    }

    /// Returns the log once it contains this.
    fn log_says(&self, words: &str) -> String {
        let path = self.path("acp.log");
        wait_for(words, || {
            std::fs::read_to_string(&path).is_ok_and(|log| log.contains(words))
        });
        read(&path)
    }
}

/// A client of the socket.
struct Client {
    stream: UnixStream,
    lines: BufReader<UnixStream>,
}

impl Client {
    fn new(stream: UnixStream) -> Self {
        stream.set_read_timeout(Some(DEADLINE)).expect("a timeout");
        let lines = BufReader::new(stream.try_clone().expect("a descriptor"));
        Self { stream, lines }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the server reads");
    }

    fn line(&mut self, line: &str) {
        self.send(format!("{line}\n").as_bytes());
    }

    fn next(&mut self) -> Json {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("the server answers");
        assert_ne!(line, "", "the server has closed the connection");
        serde_json::from_str(&line).expect("a message")
    }

    /// Waits until the server closes the connection; returns the bytes before that.
    fn end(&mut self) -> String {
        let mut rest = String::new();
        match self.lines.read_to_string(&mut rest) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::ConnectionReset),
        }
        rest
    }

    fn request(&mut self, id: i64, method: &str, params: Json) {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.line(&message.to_string());
    }

    fn notify(&mut self, method: &str, params: Json) {
        self.line(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
    }

    fn initialize(&mut self) -> Json {
        self.request(0, "initialize", initialize());
        let answer = self.next();
        self.notify("notifications/initialized", json!({}));
        answer["result"].clone()
    }

    fn call(&mut self, id: i64, name: &str, arguments: Json) {
        self.request(
            id,
            "tools/call",
            json!({ "name": name, "arguments": arguments }),
        );
    }
}

fn initialize() -> Json {
    json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": { "name": "tester", "version": "1" },
    })
}

/// Returns the text of a call's answer.
fn text(answer: &Json) -> &str {
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"))
}
