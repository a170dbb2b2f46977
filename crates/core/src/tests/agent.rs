//! A fake agent: it reads the client's lines and tracks the requests of both sides.
//!
//! Invariant: an answer that matches no pending request of the agent fails the test.

use std::collections::BTreeMap;

use serde_json::Value;

/// State of an agent's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Life {
    Starting,
    Alive,
    /// The client has closed its stdin.
    Leaving,
    Gone,
}

#[derive(Debug)]
pub struct Agent {
    pub life: Life,
    /// The client's pending requests: id, method, parameters.
    pub calls: Vec<(u64, String, Value)>,
    /// The parameters of the requests that opened sessions.
    pub opened: Vec<Value>,
    /// The number of the agent's pending requests, by raw id.
    open: BTreeMap<String, usize>,
    /// The answers to the agent's requests, in order, by raw id.
    pub answers: Vec<(String, Result<Value, Value>)>,
}

impl Agent {
    pub fn new() -> Self {
        Self {
            life: Life::Starting,
            calls: Vec::new(),
            opened: Vec::new(),
            open: BTreeMap::new(),
            answers: Vec::new(),
        }
    }

    /// Reads a line of the client and returns a summary of it.
    pub fn hears(&mut self, line: &str) -> String {
        assert!(!line.contains('\n'), "one message is one line: {line}");
        let message: Value = serde_json::from_str(line).unwrap();
        let Some(method) = message["method"].as_str() else {
            return self.is_answered(&message);
        };
        let params = &message["params"];
        if let Some(id) = message["id"].as_u64() {
            self.calls.push((id, method.into(), params.clone()));
        }
        if matches!(method, "session/new" | "session/load" | "session/resume") {
            self.opened.push(params.clone());
        }
        match method {
            "session/new" => format!("session/new {}", params["cwd"].as_str().unwrap()),
            "session/prompt" | "_session/steering" => {
                let blocks = params["prompt"].as_array().unwrap().iter();
                let texts: Vec<&str> = blocks
                    .map(|block| block["text"].as_str().unwrap_or("[block]"))
                    .collect();
                let session = params["sessionId"].as_str().unwrap();
                format!("{method} {session}: {}", texts.join(" + "))
            }
            "session/load" | "session/resume" | "session/close" | "session/delete" => {
                format!("{method} {}", params["sessionId"].as_str().unwrap())
            }
            "authenticate" => format!("authenticate {}", params["methodId"].as_str().unwrap()),
            "session/cancel" => format!("session/cancel {}", params["sessionId"].as_str().unwrap()),
            "session/set_mode" => format!("session/set_mode {}", params["modeId"]),
            "session/set_model" => format!("session/set_model {}", params["modelId"]),
            "session/set_config_option" => {
                let (option, value) = (&params["configId"], &params["value"]);
                format!("session/set_config_option {option} {value}")
            }
            method => method.to_owned(),
        }
    }

    fn is_answered(&mut self, message: &Value) -> String {
        let id = message["id"].to_string();
        match self.open.get_mut(&id) {
            Some(open) if *open > 0 => *open -= 1,
            _ => panic!("an answer to no open request: {message}"),
        }
        let (shown, answer) = match message.get("error") {
            Some(error) => {
                let text = format!("error {}: {}", error["code"], error["message"]);
                (text, Err(error.clone()))
            }
            None => {
                let result = &message["result"];
                assert!(result.is_object() || result.is_null(), "{message}");
                (result.to_string(), Ok(result.clone()))
            }
        };
        self.answers.push((id.clone(), answer));
        format!("answer {id} {shown}")
    }

    /// Counts a request that is about to be sent.
    pub fn asks(&mut self, id: &str) {
        *self.open.entry(id.to_owned()).or_default() += 1;
    }

    /// Returns the raw ids of pending requests, each as often as it is pending.
    pub fn waiting(&self) -> Vec<String> {
        let each = self.open.iter();
        each.flat_map(|(id, open)| std::iter::repeat_n(id.clone(), *open))
            .collect()
    }
}
