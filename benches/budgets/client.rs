//! The two measured clients, the plugin and the floor, each in a Neovim with a screen.
//!
//! Invariant: Neovim gets no requests during a measurement, unless the request is measured: the
//! screen and the agents' reports are read from outside.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::harness::{Nvim, Project};
use crate::probe;

/// Time limit of a measured piece of work.
const PATIENCE: Duration = Duration::from_secs(120);

/// The measured client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    Ours,
    Floor,
}

/// A script of the agent: steps, one JSON object each.
pub struct Script(Vec<Json>);

/// A Neovim with an open chat whose agent waits to continue.
pub struct Chat {
    pub nvim: Nvim,
    client: Client,
    /// The file with the timings of the plugin's callbacks.
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

    /// Starts a Neovim with the client but without a chat; `project` contains its agent.
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
    /// Returns a script that accepts the prompt, waits for [`Chat::go`], and then runs `steps`.
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

/// Returns steps that end a text with a recognizable line.
pub fn end(name: &str) -> Json {
    json!({ "say": format!("\n\nEND-OF-{name}\n") })
}

impl Chat {
    /// Opens the chat; returns the time until its session is ready, and until the call returned.
    pub fn open(&self) -> (Duration, Duration) {
        let start = Instant::now();
        self.nvim.lua(self.client.open(), ());
        let returned = start.elapsed();
        self.wait("the session", || self.has_event("AcpSessionStarted"));
        (start.elapsed(), returned)
    }

    /// Returns the longest time Neovim took for one of some trivial requests.
    pub fn longest_answer(&self) -> Duration {
        let answers = (0..4).map(|_| {
            let asked = Instant::now();
            self.nvim.lua("return 1", ());
            let took = asked.elapsed();
            thread::sleep(Duration::from_millis(1));
            took
        });
        answers.max().unwrap_or_default()
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

    /// Lets the agent continue.
    pub fn go(&self) {
        self.signal("go");
    }

    /// Lets the agent pass a [`gate`].
    pub fn signal(&self, name: &str) {
        let path = self.nvim.project.path(name);
        fs::write(path, "").expect("the project's folder is there");
    }

    /// Waits until the text of [`end`] is on the screen.
    pub fn wait_end(&self, name: &str) {
        self.wait_text(&format!("END-OF-{name}"));
    }

    pub fn wait_text(&self, text: &str) {
        self.wait(text, || self.nvim.screen().has(text));
    }

    /// Waits without using much of the CPU that the client may need.
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

    /// Returns the main thread's CPU time in milliseconds for `work`, until Neovim is idle.
    pub fn cost(&self, work: impl FnOnce()) -> f64 {
        let before = probe::rest(self.nvim.pid());
        work();
        probe::rest(self.nvim.pid()) - before
    }

    /// Returns what `work` costs in milliseconds: the main thread's CPU time and all threads', until
    /// Neovim is idle, and the time that `work` takes.
    pub fn costs(&self, work: impl FnOnce()) -> [f64; 3] {
        let pid = self.nvim.pid();
        let before = (probe::rest(pid), probe::all_threads_ms(pid));
        let started = Instant::now();
        work();
        let took = started.elapsed().as_secs_f64() * 1000.0;
        let main = probe::rest(pid) - before.0;
        [main, probe::all_threads_ms(pid) - before.1, took]
    }

    /// Returns the value of `key` in an agent's report.
    pub fn reported(&self, key: &str) -> Option<f64> {
        let report = self.nvim.project.report("bench").into_iter();
        let mut values = report.filter_map(|line| serde_json::from_str::<Json>(&line).ok());
        values.find_map(|value| value.get(key)?.as_f64())
    }

    /// Returns the time when an agent passed a mark, in microseconds since 1970.
    pub fn marked(&self, name: &str) -> Option<f64> {
        let report = self.nvim.project.report("bench").into_iter();
        let mut values = report.filter_map(|line| serde_json::from_str::<Json>(&line).ok());
        values.find(|value| value["mark"] == name)?["unix_us"].as_f64()
    }

    /// Quits and returns the library's trace.
    pub fn quit(self) -> Vec<Json> {
        let project = std::rc::Rc::clone(&self.nvim.project);
        self.nvim.quit();
        let text = fs::read_to_string(&self.trace).unwrap_or_default();
        drop(project);
        let lines = text.lines().map(serde_json::from_str);
        lines.map(|line| line.expect("the trace is JSON")).collect()
    }
}
