//! The two clients that are measured, each in a Neovim with a screen: ours and the floor.
//!
//! Invariant: nothing is asked of Neovim while something is measured, unless the question is
//! what is measured: the screen and what agents report are read from outside.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::harness::{Nvim, Project};
use crate::probe;

/// How long a measured piece of work may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// Whose figures are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    Ours,
    Floor,
}

/// A script of the agent: steps, one JSON object each.
pub struct Script(Vec<Json>);

/// A Neovim with an open chat, its agent waiting to go on.
pub struct Chat {
    pub nvim: Nvim,
    client: Client,
    /// Where callbacks of ours were timed.
    trace: String,
}

impl Client {
    fn open(self) -> &'static str {
        match self {
            Client::Ours => "require('acp').open()",
            Client::Floor => "floor.open()",
        }
    }

    fn prompt(self) -> &'static str {
        match self {
            Client::Ours => "require('acp').prompt('go')",
            Client::Floor => "floor.prompt('go')",
        }
    }

    /// Starts a Neovim that has the client, without a chat; `project` has its agent.
    pub fn start(self, project: Project) -> Chat {
        let trace = project.root().join("trace.jsonl");
        let trace = trace.to_string_lossy().into_owned();
        let project = project.size(120, 40).env("ACP_TRACE", &trace);
        let project = match self {
            Client::Ours => project,
            Client::Floor => project.before(&format!("luafile {}", floor())),
        };
        Chat {
            nvim: project.start(),
            client: self,
            trace,
        }
    }

    /// Starts a Neovim with an open chat; after a prompt its agent follows `script`.
    pub fn chat(self, project: Project, script: &Script) -> Chat {
        let chat = self.start(project.agent("bench", &script.text()));
        chat.open();
        chat.prompt();
        chat
    }
}

/// Returns the path of the floor's source.
fn floor() -> &'static str {
    concat!(env!("CARGO_MANIFEST_DIR"), "/benches/budgets/floor.lua")
}

impl Script {
    /// Returns a script that takes the prompt, waits for [`Chat::go`], and then does `steps`.
    pub fn new(steps: impl IntoIterator<Item = Json>) -> Self {
        let start = [json!({"expect": "session/prompt", "as": "p"}), gate("go")];
        let mut all = Vec::from(start);
        all.extend(steps);
        Self(all)
    }

    pub fn text(&self) -> String {
        let lines: Vec<String> = self.0.iter().map(Json::to_string).collect();
        lines.join("\n")
    }
}

/// Returns the step that waits for [`Chat::signal`].
pub fn gate(name: &str) -> Json {
    json!({ "wait_file": format!("${{cwd}}/{name}"), "within": 600_000 })
}

/// Returns steps that end a text with a line to wait for.
pub fn end(name: &str) -> Json {
    json!({ "say": format!("\n\nEND-OF-{name}\n") })
}

impl Chat {
    /// Opens the chat and waits until its session is there; returns how long that took.
    pub fn open(&self) -> Duration {
        let start = Instant::now();
        self.nvim.lua(self.client.open(), ());
        self.wait("the session", || self.has_event("AcpSessionStarted"));
        start.elapsed()
    }

    pub fn prompt(&self) {
        self.nvim.lua(self.client.prompt(), ());
        self.wait("the prompt", || self.nvim.screen().has(" go"));
        probe::rest(self.nvim.pid());
    }

    pub fn has_event(&self, name: &str) -> bool {
        let events = self.nvim.user_events();
        events.iter().any(|event| event.name == name)
    }

    /// Lets the agent go on.
    pub fn go(&self) {
        self.signal("go");
    }

    /// Lets the agent pass a [`gate`].
    pub fn signal(&self, name: &str) {
        let path = self.nvim.project.path(name);
        fs::write(path, "").expect("the project's folder is there");
    }

    /// Waits until the text that [`end`] says stands on the screen.
    pub fn wait_end(&self, name: &str) {
        self.wait_text(&format!("END-OF-{name}"));
    }

    pub fn wait_text(&self, text: &str) {
        self.wait(text, || self.nvim.screen().has(text));
    }

    /// Waits without using much of the processor that the client may need.
    pub fn wait(&self, what: &str, mut condition: impl FnMut() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !condition() {
            let verdict = self.nvim.project.verdict("bench");
            if let Some(verdict) = verdict.filter(|verdict| verdict != "ok") {
                self.nvim.fail(&format!("the agent: {verdict}"));
            }
            if Instant::now() > deadline {
                self.nvim.fail(&format!("waited in vain for {what}"));
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns the milliseconds of the main thread that `work` costs, until Neovim is at rest.
    pub fn cost(&self, work: impl FnOnce()) -> f64 {
        let before = probe::rest(self.nvim.pid());
        work();
        probe::rest(self.nvim.pid()) - before
    }

    /// Returns the value an agent's report has under `key`.
    pub fn reported(&self, key: &str) -> Option<f64> {
        let report = self.nvim.project.report("bench").into_iter();
        let mut values = report.filter_map(|line| serde_json::from_str::<Json>(&line).ok());
        values.find_map(|value| value.get(key)?.as_f64())
    }

    /// Returns when an agent has passed a mark, in microseconds since 1970.
    pub fn marked(&self, name: &str) -> Option<f64> {
        let report = self.nvim.project.report("bench").into_iter();
        let mut values = report.filter_map(|line| serde_json::from_str::<Json>(&line).ok());
        values.find(|value| value["mark"] == name)?["unix_us"].as_f64()
    }

    /// Quits, and returns what the library's own trace says.
    pub fn quit(self) -> Vec<Json> {
        let project = std::rc::Rc::clone(&self.nvim.project);
        self.nvim.quit();
        let text = fs::read_to_string(&self.trace).unwrap_or_default();
        drop(project);
        let lines = text.lines().map(serde_json::from_str);
        lines.map(|line| line.expect("the trace is JSON")).collect()
    }
}
