//! Tools that Neovim defines, used by independent implementations: an agent of the protocol's SDK
//! with a client of the Model Context Protocol's SDK in it, and that client alone. `tests/mcp`
//! documents the commands they understand.

mod builtin;
mod door;
mod listed;
mod long;
mod lsp;
mod many;
mod own;
mod sessions;
mod turn;

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};
use std::{fs, thread};

use serde_json::{Value as Json, json};

use super::harness::{Nvim, Project, checkout, installed};
use super::talk::{self, ended, open, said, status, wait_phase, wait_said, windows};

/// The time limit for a client to end.
const ENDING: Duration = Duration::from_secs(5);

fn mcp_sdk() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| installed("mcp-sdk.sh"))
}

fn acp_sdk() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| installed("sdk-agent.sh"))
}

/// Returns a project with two files and the agent; `more` is added to the agent's config.
fn project_with(more: &Json) -> Project {
    let project = Project::new()
        .file("a.txt", "one\ntwo\nthree\n")
        .file("b.txt", "four\nfive\n")
        .config("tools", json!({ "builtin": "all" }));
    let mut spec = json!({
        "command": "node",
        "args": [checkout().join("tests/mcp/agent.mjs")],
        "env": {
            "MCP_SDK": mcp_sdk(),
            "ACP_SDK": acp_sdk(),
            "MCP_REPORT": project.root().join("agents/mcp.report"),
        },
    });
    for (key, value) in more.as_object().expect("an object") {
        spec[key] = value.clone();
    }
    project.agent_command("user", spec)
}

fn project() -> Project {
    project_with(&json!({}))
}

/// Starts Neovim with a file, the chat beside it, and the file's window current.
#[track_caller]
fn start(project: Project) -> Nvim {
    let nvim = project.start();
    nvim.cmd("edit a.txt");
    open(&nvim);
    nvim.cmd("wincmd t");
    nvim
}

/// Returns all records the agent has reported.
fn records(nvim: &Nvim) -> Vec<Json> {
    let path = nvim.project.root().join("agents/mcp.report");
    let text = fs::read_to_string(path).unwrap_or_default();
    // The last line may still be incomplete.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let lines = whole.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("lines of JSON")
}

/// Returns the outcomes of the prompt line `line`, oldest first.
fn results(nvim: &Nvim, line: &str) -> Vec<Json> {
    let records = records(nvim).into_iter();
    records
        .filter(|record| record["line"] == line)
        .map(|record| record["value"].clone())
        .collect()
}

/// Returns the last outcome of the prompt line `line`.
#[track_caller]
fn result(nvim: &Nvim, line: &str) -> Json {
    let last = results(nvim, line).pop();
    last.unwrap_or_else(|| nvim.fail(&format!("no result of {line:?}")))
}

/// Returns Neovim's server as offered with each of the agent's sessions, oldest first, or null.
fn servers(nvim: &Nvim) -> Vec<Json> {
    let records = records(nvim).into_iter();
    let opened = records.filter(|record| record["opened"].is_string());
    opened
        .map(|record| {
            let servers = record["servers"].as_array().cloned().unwrap_or_default();
            let ours = servers
                .into_iter()
                .find(|server| server["name"] == "neovim");
            ours.unwrap_or_default()
        })
        .collect()
}

/// Returns Neovim's server as offered with the agent's last session.
#[track_caller]
fn server(nvim: &Nvim) -> Json {
    let last = servers(nvim).pop().unwrap_or_default();
    assert!(last.is_object(), "Neovim's server was offered");
    last
}

/// Returns an environment variable of the offered server, with which the agent starts the proxy.
#[track_caller]
fn variable(server: &Json, name: &str) -> String {
    let env = server["env"].as_array().expect("a list of variables");
    let found = env.iter().find(|variable| variable["name"] == name);
    let value = found.and_then(|variable| variable["value"].as_str());
    value.expect("the variable").to_owned()
}

/// Defines a tool from the fields of its spec, in Lua; clients that connect later know it.
#[track_caller]
fn define(nvim: &Nvim, spec: &str) {
    nvim.lua(&format!("require('acp').tool({{ {spec} }})"), ());
    // The core handles requests in order.
    nvim.lua(
        "_G.defined = nil
        require('acp').sessions({}, function() _G.defined = true end)",
        (),
    );
    nvim.wait("the tool to be defined", || {
        nvim.lua("return _G.defined", ()) == true
    });
}

/// Returns the text of a tool's result.
fn text(result: &Json) -> String {
    let content = result["content"].as_array().cloned().unwrap_or_default();
    let texts = content.iter().filter_map(|block| block["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// Answers the open permission request with its option of this kind, and waits until it is gone, so
/// that it is not taken for the next one.
#[track_caller]
fn decide(nvim: &Nvim, kind: &str) {
    let mut open = Json::Null;
    nvim.wait("a question", || {
        let mut all = permissions(nvim);
        open = all.pop().unwrap_or_default();
        open.is_object() && all.is_empty()
    });
    let options = open["options"].as_array().cloned().unwrap_or_default();
    let option = options.into_iter().find(|option| option["kind"] == kind);
    let Some(option) = option else {
        nvim.fail(&format!("no option {kind:?} in {open}"));
    };
    nvim.lua(
        "require('acp').permission.answer(...)",
        (&open["id"], &option["optionId"]),
    );
    nvim.wait("the question to go", || {
        permissions(nvim).iter().all(|one| one["id"] != open["id"])
    });
}

#[track_caller]
fn permissions(nvim: &Nvim) -> Vec<Json> {
    let list = nvim.lua("return require('acp').permission.list()", ());
    serde_json::from_value(list).expect("a list")
}

#[track_caller]
fn questions(nvim: &Nvim) -> Vec<Json> {
    let list = nvim.lua("return require('acp').elicitation.list()", ());
    serde_json::from_value(list).expect("a list")
}

/// A client without an agent; dropping it ends its process.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Json>,
    /// Notifications so far: the list has changed, the connection was closed.
    news: RefCell<Vec<Json>>,
}

impl Client {
    /// Starts a client with an entry of `mcpServers` and waits until it is connected.
    #[track_caller]
    fn start(nvim: &Nvim, server: &Json) -> Self {
        let client = Self::try_start(server);
        let first = client.answer(nvim);
        assert_eq!(first["connected"]["name"], "neovim", "{first}");
        client
    }

    /// Starts a client; its first answer reports whether it is connected.
    fn try_start(server: &Json) -> Self {
        let mut child = Command::new("node")
            .arg(checkout().join("tests/mcp/client.mjs"))
            .arg(server.to_string())
            .env("MCP_SDK", mcp_sdk())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node runs");
        let output = child.stdout.take().expect("it is piped");
        let (sender, lines) = channel();
        thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            for line in lines {
                let value = serde_json::from_str(&line).expect("a line of JSON");
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        Self {
            input: child.stdin.take(),
            child,
            lines,
            news: RefCell::default(),
        }
    }

    /// Sends a line; [`Client::answer`] returns its answer.
    fn send(&self, line: &str) {
        let mut input = self.input.as_ref().expect("it is open until the end");
        writeln!(input, "{line}").expect("the client reads");
    }

    /// Returns the next answer.
    #[track_caller]
    fn answer(&self, nvim: &Nvim) -> Json {
        let mut answer = None;
        nvim.wait("an answer to the client", || {
            answer = self.next(nvim);
            answer.is_some()
        });
        answer.expect("the wait ended with it")
    }

    /// Returns the next answer, if any; keeps the notifications before it.
    #[track_caller]
    fn next(&self, nvim: &Nvim) -> Option<Json> {
        loop {
            match self.lines.try_recv() {
                Ok(news) if news["changed"] == true || news["closed"] == true => {
                    self.news.borrow_mut().push(news);
                }
                Ok(answer) => return Some(answer),
                Err(TryRecvError::Empty) => return None,
                Err(TryRecvError::Disconnected) => nvim.fail("the client has exited"),
            }
        }
    }

    /// Sends a line and returns its answer.
    #[track_caller]
    fn ask(&self, nvim: &Nvim, line: &str) -> Json {
        self.send(line);
        self.answer(nvim)
    }

    /// Calls a tool.
    #[track_caller]
    fn call(&self, nvim: &Nvim, name: &str, args: &Json) -> Json {
        self.ask(nvim, &format!("call {name} {args}"))
    }

    /// Returns the names of the tools, sorted.
    #[track_caller]
    fn names(&self, nvim: &Nvim) -> Vec<String> {
        let list = self.ask(nvim, "list");
        let list = list
            .as_array()
            .unwrap_or_else(|| nvim.fail(&list.to_string()));
        let mut names: Vec<String> = list
            .iter()
            .map(|tool| tool["name"].as_str().expect("a name").to_owned())
            .collect();
        names.sort();
        names
    }

    /// Returns the number of notifications so far that the list has changed.
    #[track_caller]
    fn changes(&self, nvim: &Nvim) -> usize {
        let answer = self.next(nvim);
        assert_eq!(answer, None, "an answer without a request");
        let news = self.news.borrow();
        news.iter().filter(|news| news["changed"] == true).count()
    }

    /// Waits until the server has closed the connection.
    #[track_caller]
    fn wait_closed(&self, nvim: &Nvim) {
        nvim.wait("the connection to be closed", || {
            assert_eq!(self.next(nvim), None, "an answer without a request");
            self.news.borrow().iter().any(|news| news["closed"] == true)
        });
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // The client ends when its stdin closes.
        self.input = None;
        let deadline = Instant::now() + ENDING;
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        if !thread::panicking() {
            panic!("the client did not end within {ENDING:?}");
        }
    }
}
