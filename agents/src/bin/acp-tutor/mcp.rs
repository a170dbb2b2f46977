//! A minimal MCP client: starts one server's command and calls its tools, one call at a time.
//!
//! Invariant: the command ends with the client, and cancelling the turn ends every wait for it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::turn::{Flow, Stop, Turn};

/// The interval at which a wait checks whether the turn was cancelled.
const CANCEL_CHECK: Duration = Duration::from_millis(50);

/// The time the client gets to read the chat before a tool is called.
const PAUSE: Duration = Duration::from_millis(50);

/// The command that starts a server, from `session/new`.
#[derive(Debug, Clone, Default)]
pub struct Server {
    command: String,
    args: Vec<String>,
    env: Vec<(String, String)>,
}

impl Server {
    /// Finds the server with this name in the session's list, if it is started by a command.
    pub fn find(servers: &Value, name: &str) -> Option<Self> {
        let mut servers = servers.as_array()?.iter();
        let server = servers.find(|server| server.get("name") == Some(&json!(name)))?;
        let text = |value: &Value, key| Some(value.get(key)?.as_str()?.to_owned());
        let args = server.get("args")?.as_array()?.iter();
        let env = server.get("env")?.as_array()?.iter();
        Some(Self {
            command: text(server, "command")?,
            args: args.filter_map(Value::as_str).map(str::to_owned).collect(),
            env: env
                .filter_map(|pair| Some((text(pair, "name")?, text(pair, "value")?)))
                .collect(),
        })
    }
}

/// A connection to a server.
pub struct Client {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<Value>,
    next: u64,
}

/// The result of a call.
pub struct Answer {
    pub structured: Value,
}

impl Client {
    /// Starts the server and initializes the connection.
    pub fn start(server: &Server, turn: &Turn<'_>) -> Flow<Self> {
        let failed = |why: std::io::Error| {
            let command = &server.command;
            Stop::Failed(format!("I could not start `{command}`: {why}."))
        };
        let mut child = Command::new(&server.command)
            .args(&server.args)
            .envs(server.env.iter().cloned())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Stop::Failed(
                "The server of your tools has no pipes.".to_owned(),
            ));
        };
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).unwrap_or_default();
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut client = Self {
            child,
            stdin,
            lines,
            next: 0,
        };
        let hello = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "acp-tutor", "version": env!("CARGO_PKG_VERSION")},
        });
        client.ask("initialize", hello, turn)?;
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(client)
    }

    /// Returns the names of the server's tools.
    pub fn tools(&mut self, turn: &Turn<'_>) -> Flow<Vec<String>> {
        let list = self.ask("tools/list", json!({}), turn)?;
        let tools = list.get("tools").and_then(Value::as_array);
        let names = tools.into_iter().flatten().filter_map(|tool| {
            let name = tool.get("name")?.as_str()?;
            Some(name.to_owned())
        });
        Ok(names.collect())
    }

    /// Calls a tool and waits for its result.
    pub fn call(&mut self, name: &str, arguments: Value, turn: &Turn<'_>) -> Flow<Answer> {
        // The call does not travel with the chat: without a pause it could overtake the last words.
        std::thread::sleep(PAUSE);
        let params = json!({"name": name, "arguments": arguments});
        let result = self.ask("tools/call", params, turn)?;
        if result.get("isError") == Some(&json!(true)) {
            let content = result.get("content").and_then(Value::as_array);
            let texts = content.into_iter().flatten();
            let texts: Vec<&str> = texts
                .filter_map(|block| block.get("text")?.as_str())
                .collect();
            let text = texts.join("\n");
            return Err(Stop::Failed(format!("The tool `{name}` failed: {text}")));
        }
        Ok(Answer {
            structured: result.get("structuredContent").cloned().unwrap_or_default(),
        })
    }

    fn ask(&mut self, method: &str, params: Value, turn: &Turn<'_>) -> Flow<Value> {
        self.next += 1;
        let id = json!(self.next);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let mut message = match self.lines.recv_timeout(CANCEL_CHECK) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => {
                    turn.beat(0)?;
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
            };
            if message.get("id") != Some(&id) {
                continue;
            }
            return match message.get_mut("result") {
                Some(result) => Ok(result.take()),
                None => {
                    let why = message.pointer("/error/message").and_then(Value::as_str);
                    let why = why.unwrap_or("no reason was given");
                    Err(Stop::Failed(format!("`{method}` was refused: {why}.")))
                }
            };
        }
    }

    fn send(&mut self, message: &Value) -> Flow {
        let line = format!("{message}\n");
        let sent = self.stdin.write_all(line.as_bytes());
        sent.and_then(|()| self.stdin.flush()).map_err(|_| gone())
    }
}

fn gone() -> Stop {
    Stop::Failed("The server of your tools has ended.".to_owned())
}

impl Drop for Client {
    fn drop(&mut self) {
        // It would end with its stdin, but the lesson does not wait for that.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_found_by_its_name() {
        let servers = json!([
            {"name": "far", "type": "http", "url": "http://x", "headers": []},
            {"name": "neovim", "command": "/p", "args": ["a"], "env": [{"name": "K", "value": "v"}]},
        ]);
        let found = Server::find(&servers, "neovim").unwrap();
        assert_eq!(found.command, "/p");
        assert_eq!(found.args, ["a"]);
        assert_eq!(found.env, [("K".to_owned(), "v".to_owned())]);
        assert!(Server::find(&servers, "far").is_none());
        assert!(Server::find(&servers, "other").is_none());
    }
}
