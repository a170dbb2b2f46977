//! The client's end: lines out, and the answers to the bridge's requests.
//!
//! Invariant: each request of the bridge is answered once, withdrawn when its time is over, or its
//! waiter is dropped.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Write;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;

/// The connection to the client.
#[derive(Default)]
pub struct Wire {
    waiting: RefCell<Waiting>,
}

#[derive(Default)]
struct Waiting {
    last: u64,
    answers: HashMap<u64, oneshot::Sender<Value>>,
}

impl Wire {
    /// Sends a `session/update`.
    pub fn update(&self, session: &str, update: &Value) {
        let params = json!({"sessionId": session, "update": update});
        self.send(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
    }

    /// Shows a warning in the chat.
    pub fn warn(&self, session: &str, text: &str) {
        let update = json!({"sessionUpdate": "notice", "severity": "warning", "title": text});
        self.update(session, &update);
    }

    pub fn reply(&self, id: &Value, result: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    pub fn refuse(&self, id: &Value, code: i64, why: &str) {
        let error = json!({"code": code, "message": why});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
    }

    /// Sends a request and returns its result, or the text of its error. With a limit, it is
    /// withdrawn when that is over.
    pub async fn ask(
        &self,
        method: &str,
        params: Value,
        limit: Option<Duration>,
    ) -> Result<Value, String> {
        let (sender, answer) = oneshot::channel();
        let id = {
            let mut waiting = self.waiting.borrow_mut();
            waiting.last += 1;
            let id = waiting.last;
            waiting.answers.retain(|_, waiter| !waiter.is_closed());
            waiting.answers.insert(id, sender);
            id
        };
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let answer = match limit {
            None => answer.await,
            Some(limit) => match tokio::time::timeout(limit, answer).await {
                Ok(answer) => answer,
                Err(_) => {
                    let (method, params) = ("$/cancel_request", json!({"requestId": id}));
                    self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
                    return Err("there was no answer in time".to_owned());
                }
            },
        };
        let mut answer = answer.map_err(|_| "the client is gone".to_owned())?;
        match answer.get_mut("result") {
            Some(result) => Ok(result.take()),
            None => Err(answer
                .pointer("/error/message")
                .and_then(Value::as_str)
                .unwrap_or("the client gave no reason")
                .to_owned()),
        }
    }

    /// Hands an answer of the client to the request that waits for it.
    pub fn answered(&self, id: &Value, message: Value) {
        let waiter = id
            .as_u64()
            .and_then(|id| self.waiting.borrow_mut().answers.remove(&id));
        if let Some(waiter) = waiter {
            // A cancelled turn no longer waits.
            let _ = waiter.send(message);
        }
    }

    fn send(&self, message: &Value) {
        let mut out = std::io::stdout().lock();
        let line = format!("{message}\n");
        // A client that has stopped reading also closes stdin, and that ends the process.
        let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    }
}
