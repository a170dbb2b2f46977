//! A builder of scripts for the scripted agent.
//!
//! Paths are relative to the project's folder; each request is awaited before the next step.

use serde_json::{Value as Json, json};

/// The steps of one agent.
#[derive(Default)]
pub struct Script {
    steps: Vec<Json>,
    asked: usize,
    in_turn: bool,
}

impl Script {
    /// Returns a script that begins with the first prompt.
    pub fn new() -> Self {
        Self::default().turn()
    }

    /// Ends the turn; the following steps come after the next prompt.
    pub fn turn(self) -> Self {
        let mut ended = self.ends();
        ended.in_turn = true;
        ended.step(json!({ "expect": "session/prompt", "as": "prompt" }))
    }

    /// Ends the turn; the following steps come after it, without a prompt.
    pub fn ends(mut self) -> Self {
        if std::mem::take(&mut self.in_turn) {
            self.steps.push(json!({ "end": "prompt" }));
        }
        self
    }

    /// Adds any step.
    pub fn step(mut self, step: Json) -> Self {
        self.steps.push(step);
        self
    }

    /// Reads a file and expects this content.
    pub fn reads(self, path: &str, content: &str) -> Self {
        self.reads_some(path, json!({}), content)
    }

    /// Reads a file with `line`, `limit` or both, and expects this content.
    pub fn reads_some(self, path: &str, range: Json, content: &str) -> Self {
        let mut read = json!({ "read": place(path) });
        for (key, value) in range.as_object().into_iter().flatten() {
            read[key] = value.clone();
        }
        self.asks(read, json!({ "result": { "content": content } }))
    }

    /// Reads a file and expects an error with this code, whose message contains `part`.
    pub fn reads_in_vain(self, path: &str, range: Json, code: i64, part: &str) -> Self {
        let mut read = json!({ "read": place(path) });
        for (key, value) in range.as_object().into_iter().flatten() {
            read[key] = value.clone();
        }
        self.asks(read, json!({ "error": error(code, part) }))
    }

    /// Writes a file.
    pub fn writes(self, path: &str, content: &str) -> Self {
        let write = json!({ "write": place(path), "content": content });
        self.asks(write, json!({ "result": { "$any": true } }))
    }

    /// Writes a file and expects an error with this code, whose message contains `part`.
    pub fn writes_in_vain(self, path: &str, content: &str, code: i64, part: &str) -> Self {
        let write = json!({ "write": place(path), "content": content });
        self.asks(write, json!({ "error": error(code, part) }))
    }

    /// Creates the file `name` beside the project as a signal to the test, and waits until the test
    /// creates `name.go`.
    pub fn pause(self, name: &str) -> Self {
        self.step(json!({ "signal_file": gate(name) }))
            .step(json!({ "wait_file": gate(&format!("{name}.go")) }))
    }

    /// Ends the last turn, if it has not ended, and returns the script as text.
    pub fn done(self) -> String {
        let steps = self.ends().steps;
        let lines = steps.iter().map(|step| format!("{step}\n"));
        lines.collect()
    }

    fn asks(mut self, mut question: Json, mut answer: Json) -> Self {
        self.asked += 1;
        let name = format!("q{}", self.asked);
        question["as"] = json!(name);
        // The key that names the step must come first.
        let mut wait = json!({ "await": name });
        for (key, value) in answer.as_object_mut().into_iter().flatten() {
            wait[key] = value.take();
        }
        self.step(question).step(wait)
    }
}

fn error(code: i64, part: &str) -> Json {
    json!({ "code": code, "message": { "$contains": part } })
}

fn place(path: &str) -> String {
    match path {
        _ if path.starts_with('/') || path.starts_with("./") => path.to_owned(),
        _ => format!("${{cwd}}/{path}"),
    }
}

fn gate(name: &str) -> String {
    format!("${{cwd}}/../{name}")
}
