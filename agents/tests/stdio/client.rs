//! A client of one agent, over stdio: it sends lines and waits for lines.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub const DEADLINE: Duration = Duration::from_secs(20);

/// An agent's process and its pipes; it is killed when this goes.
pub struct Client {
    pub child: Child,
    pub stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    pub next_id: u64,
}

impl Client {
    pub fn start(program: &str, args: &[&str], env: &[(&str, &str)]) -> Client {
        let mut child = Command::new(program)
            .args(args)
            .envs(env.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.split(b'\n') {
                let line = String::from_utf8_lossy(&line.unwrap()).into_owned();
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Client {
            stdin: child.stdin.take(),
            child,
            lines,
            next_id: 0,
        }
    }

    pub fn send(&mut self, message: Value) {
        let stdin = self.stdin.as_mut().unwrap();
        // An agent that has failed already no longer reads.
        let _ = writeln!(stdin, "{message}");
    }

    pub fn request(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    pub fn reply(&mut self, to: &Value, result: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": to["id"], "result": result}));
    }

    pub fn line(&mut self) -> String {
        self.lines.recv_timeout(DEADLINE).expect("a line in time")
    }

    pub fn recv(&mut self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|why| panic!("{why}: {line}"))
    }

    /// Sends a request and returns its result, passing over notifications.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        loop {
            let message = self.recv();
            if message["id"] == json!(id) && message.get("method").is_none() {
                return message["result"].clone();
            }
            assert_eq!(message.get("id"), None, "{message}");
        }
    }

    /// Shakes hands and returns the new session's id.
    pub fn session(&mut self, cwd: &Path) -> Value {
        let initialized = self.call(
            "initialize",
            json!({"protocolVersion": 1, "clientCapabilities": {
                "fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true,
            }}),
        );
        assert_eq!(initialized["protocolVersion"], json!(1));
        let session = self.call("session/new", json!({"cwd": cwd, "mcpServers": []}));
        session["sessionId"].clone()
    }

    /// Closes stdin and returns the exit code (`None`: a signal).
    pub fn finish(mut self) -> Option<i32> {
        self.stdin = None;
        self.exit()
    }

    pub fn exit(&mut self) -> Option<i32> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(start.elapsed() < DEADLINE, "the agent does not exit");
            std::thread::yield_now();
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the parameters of a prompt of one text.
pub fn text(session: &Value, id: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": id}]})
}
