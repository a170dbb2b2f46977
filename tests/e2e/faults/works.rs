//! The kinds of work under way when a fault occurs.

use super::*;
use serde_json::Value as Json;

/// A tool of the user's that takes a while. What runs it is loaded here: a file of Lua that is first
/// used while Neovim can open none is an internal error.
pub const TOOL: &str = "lua require('acp.tools.context') require('acp').tool({ name = 'slow', \
    description = 'x', read_only = true, handler = function(_, ctx) \
    ctx.await(function(resume) vim.defer_fn(resume, 100) end) return 'done' end })";

/// Calls the tool as an MCP client does, and ends when it is answered or the proxy has ended.
const CALL: &str = r#"mkfifo ../calls
ACP_NVIM_SOCKET='${socket}' ACP_NVIM_TOKEN='${token}' '${proxy}' <../calls >../answers 2>/dev/null &
exec 3>../calls
echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}' >&3
echo '{"jsonrpc":"2.0","method":"notifications/initialized"}' >&3
echo '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow","arguments":{}}}' >&3
while kill -0 $! 2>/dev/null && ! grep -q '"id":2' ../answers; do sleep 0.01; done
exec 3>&-
wait"#;

/// Replaces a file on disk by each version, as long as it is a file.
fn replaced(path: &str) -> String {
    let last = VERSIONS - 1;
    format!(
        "for n in $(seq 0 {last}); do if [ -f {path} ]; then cp ../versions/$n ../part && \
         mv ../part {path}; fi; done 2>/dev/null; true"
    )
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Work {
    Stream,
    Read,
    Write,
    Disk,
    Merge,
    Reject,
    Undo,
    Permission,
    Tool,
    Terminal,
}

impl Work {
    /// Returns whether the user does it, after the agent's turn.
    pub fn is_users(self) -> bool {
        matches!(self, Self::Reject | Self::Undo)
    }

    /// Returns whether it changes, or reads, files.
    pub fn is_about_files(self) -> bool {
        !matches!(self, Self::Stream | Self::Tool | Self::Terminal)
    }

    /// Returns whether the user has an unsaved line in the open file.
    pub fn has_typed(self) -> bool {
        matches!(
            self,
            Self::Read | Self::Merge | Self::Permission | Self::Reject | Self::Undo
        )
    }

    /// Returns the names of the files that exist only for this work.
    pub fn more_files(self) -> Vec<String> {
        let count = if self.is_users() { MANY } else { 0 };
        (0..count).map(|n| format!("src/{n}.txt")).collect()
    }

    /// Returns its approximate duration: the fault comes within this time.
    pub fn span(self) -> Duration {
        Duration::from_millis(match self {
            Self::Permission => 20,
            Self::Read | Self::Undo => 60,
            Self::Reject | Self::Tool => 120,
            Self::Stream | Self::Disk | Self::Write | Self::Merge => 150,
            Self::Terminal => 250,
        })
    }

    /// Returns the agent's script: pauses before and after the work.
    pub fn script(self) -> String {
        let (server, env) = ("/params/mcpServers/0", "/params/mcpServers/0/env");
        let mut steps = vec![
            json!({ "ignore": ["session/cancel", "$/cancel_request"] }),
            json!({ "expect": "session/new", "as": "new", "save": {
                "proxy": format!("{server}/command"),
                "socket": format!("{env}/0/value"), "token": format!("{env}/1/value"),
            }}),
            json!({ "reply": "new" }),
            json!({ "expect": "session/prompt", "as": "prompt" }),
        ];
        let pause = |name: &str| {
            let go = format!("${{cwd}}/../{name}.go");
            let signal = json!({ "signal_file": format!("${{cwd}}/../{name}") });
            [signal, json!({ "wait_file": go })]
        };
        steps.extend(pause("before"));
        steps.extend(self.steps());
        steps.extend(pause("after"));
        steps.push(json!({ "end": "prompt" }));
        steps.iter().map(|step| format!("{step}\n")).collect()
    }

    fn steps(self) -> Vec<Json> {
        let place = |path: &str| format!("${{cwd}}/{path}");
        let write = |path: &str| {
            let content = version("${i}");
            let write = json!({ "write": place(path), "content": content, "as": "w" });
            [write, json!({ "await": "w" })]
        };
        let both = [write(OPEN), write(CLOSED)].concat();
        let writes = json!({ "repeat": VERSIONS, "do": both });
        let diff = json!({
            "type": "diff", "path": place(OPEN), "oldText": version(OLD), "newText": version("0"),
        });
        let terminal = |what: &str| {
            let params = json!({ "sessionId": "${sid}", "terminalId": "term-1" });
            let request =
                json!({ "request": format!("terminal/{what}"), "params": params, "as": what });
            [request, json!({ "await": what })]
        };
        match self {
            Self::Stream => vec![json!({
                "repeat": 300, "every_us": 500, "do": [{ "say": "a word and `code` ${i}\n" }],
            })],
            Self::Read => vec![json!({ "repeat": 40, "do": [
                { "read": place(OPEN), "as": "a" }, { "read": place(CLOSED), "as": "b" },
                { "await": "a" }, { "await": "b" },
            ]})],
            Self::Write => vec![writes],
            Self::Disk => vec![
                json!({ "shell": replaced(OPEN) }),
                json!({ "shell": replaced(CLOSED) }),
            ],
            // Through the client last: it saves the user's line, which a version has not.
            Self::Merge => vec![json!({ "shell": replaced(OPEN) }), writes],
            Self::Reject | Self::Undo => {
                let all = "for f in src/*.txt; do cp ../versions/0 ../part && mv ../part $f; done";
                vec![json!({ "shell": all })]
            }
            Self::Permission => {
                let call = json!({
                    "toolCallId": "t", "title": "Edit", "kind": "edit", "content": [diff],
                });
                vec![
                    json!({ "permission": call, "as": "q" }),
                    json!({ "await": "q" }),
                    json!({ "shell": replaced(OPEN) }),
                ]
            }
            Self::Tool => vec![json!({ "shell": CALL })],
            Self::Terminal => {
                let command = "for n in $(seq 50); do echo line $n; sleep 0.005; done";
                let params = json!({
                    "sessionId": "${sid}", "command": "sh", "args": ["-c", command],
                });
                let create = json!({ "request": "terminal/create", "params": params, "as": "c" });
                let mut steps = vec![create, json!({ "await": "c" })];
                steps.extend(
                    ["wait_for_exit", "output", "release"]
                        .iter()
                        .flat_map(|w| terminal(w)),
                );
                steps
            }
        }
    }

    /// Brings everything to the moment before the work.
    #[track_caller]
    pub fn lead_up(self, nvim: &Nvim) {
        prompt(nvim);
        wait_pause(nvim, "before");
        if self.is_users() {
            go_on(nvim, "before");
            go_on(nvim, "after");
            nvim.wait("all files under review", || {
                let files = talk::status(nvim)["review"]["files"].as_u64();
                !talk::ended(nvim).is_empty() && files == Some(MANY as u64 + 2)
            });
            nvim.cmd("messages clear");
        }
    }

    #[track_caller]
    pub fn begin(self, nvim: &Nvim) {
        match self {
            Self::Reject => drop(nvim.lua("require('acp').review.reject('all')", ())),
            Self::Undo => {
                nvim.lua("require('acp').review.undo_turn({ confirm = false })", ());
            }
            Self::Permission => {
                go_on(nvim, "before");
                // After a cancel, it is answered at once.
                let after = nvim.project.root().join("after");
                nvim.wait("the question", || questions(nvim) > 0 || after.exists());
            }
            _ => go_on(nvim, "before"),
        }
    }

    /// Waits for the end of the work; the user allows each request.
    #[track_caller]
    pub fn wait_end(self, nvim: &Nvim) {
        if self.is_users() {
            nvim.wait("the files as before the turn", || {
                dismiss(nvim);
                promises::are_restored(nvim, &self.more_files())
            });
            return;
        }
        let after = nvim.project.root().join("after");
        // Where the disk is full, each save leaves a file that others may seem to be writing.
        nvim.wait_within(Duration::from_secs(40), "the end of the work", || {
            let verdict = nvim.project.verdict("agent").filter(|it| it != "ok");
            if let Some(verdict) = verdict {
                nvim.fail(&verdict);
            }
            dismiss(nvim);
            nvim.lua(
                "for _, asked in ipairs(require('acp').permission.list()) do
                    require('acp').permission.answer(asked.id, 'allow_once')
                end",
                (),
            );
            after.exists()
        });
    }
}

#[track_caller]
fn questions(nvim: &Nvim) -> u64 {
    let count = nvim.lua("return #require('acp').permission.list()", ());
    count.as_u64().unwrap_or(0)
}
