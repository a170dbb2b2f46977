//! Rows of terminals: the cost of showing a command that prints 10 MB in colour, and of keys typed
//! during that.
//!
//! The floor is Neovim's own `:terminal` with the same command.

use std::time::Duration;

use serde_json::json;

use crate::client::{Chat, Client, Script, end, gate};
use crate::harness::Project;
use crate::probe;
use crate::rows::{Measured, key_latencies, percentile};

const LINES: usize = 100_000;

/// Duration of typing per figure.
const PRESSING: Duration = Duration::from_secs(4);

/// Returns output like that of a build: [`LINES`] lines, 10 MB, each with three colours.
fn output() -> String {
    let line = |n: usize| {
        let module = format!("module_{:04}", n % 997);
        format!(
            "\x1b[1;32m   Compiling\x1b[0m \x1b[36m{module}\x1b[0m v0.1.{n:06} \x1b[2m(/home/user/src/\
             {module}/with/a/long/name)\x1b[0m\n"
        )
    };
    (0..LINES).map(line).collect()
}

/// A command in a visible terminal that waits for [`Chat::signal`] `run`.
struct Shown {
    client: Client,
    chat: Chat,
}

impl Shown {
    /// Starts a shell script; `$OUTPUT` is a file with [`output`].
    fn start(client: Client, script: &str) -> Self {
        let project = Project::new();
        let file = project.root().join("output.txt");
        std::fs::write(&file, output()).expect("a file can be written");
        let command = format!(
            "OUTPUT='{}'; while [ ! -e run ]; do sleep 0.01; done; {script}; printf %s-OF-command END",
            file.display()
        );
        let steps = match client {
            Client::Ours => in_terminal(&command),
            Client::Floor => vec![end("turn")],
        };
        let chat = client.chat(project, &Script::new(steps));
        chat.go();
        match client {
            Client::Ours => {
                let made = chat.nvim.project.path("made");
                chat.wait("the terminal", || made.exists());
                chat.nvim.cmd("Acp terminal 1");
            }
            Client::Floor => {
                chat.wait_end("turn");
                let open = "vim.cmd.new(); vim.fn.termopen({ 'sh', '-c', ... }, \
                            { on_exit = function() vim.g.ended = true end }); vim.cmd('normal! G')";
                chat.nvim.lua(open, [command]);
            }
        }
        // Keys are typed into a text.
        chat.nvim.cmd("topleft 5new");
        chat.nvim.keys("iabc");
        probe::rest(chat.nvim.pid());
        Self { client, chat }
    }

    fn run(&self) {
        self.chat.signal("run");
    }

    fn wait_end(&self) {
        let nvim = &self.chat.nvim;
        self.chat
            .wait("the end of the command", || match self.client {
                Client::Ours => nvim.screen().has("END-OF-command"),
                // Neovim's own terminal may lose the end of a fast command's output.
                Client::Floor => nvim.lua("return vim.g.ended == true", ()) == true,
            });
    }

    /// Returns the median and p99 latency of many keys.
    fn keys(&self) -> [f64; 2] {
        let mut latencies = key_latencies(&self.chat.nvim, PRESSING);
        [50, 99].map(|percent| percentile(&mut latencies, percent))
    }
}

/// Returns steps that run a command in a terminal, wait for its end, and release it.
fn in_terminal(command: &str) -> Vec<serde_json::Value> {
    let of_terminal = json!({"sessionId": "${sid}", "terminalId": "${term}"});
    let create = json!({"sessionId": "${sid}", "command": "sh", "args": ["-c", command]});
    let content = json!([{"type": "terminal", "terminalId": "${term}"}]);
    vec![
        json!({"request": "terminal/create", "params": create, "as": "t"}),
        json!({"await": "t", "save": {"term": "/result/terminalId"}}),
        json!({"tool": {"id": "t", "title": "Build", "kind": "execute", "status": "in_progress",
            "content": content}}),
        json!({"signal_file": "${cwd}/made"}),
        json!({"request": "terminal/wait_for_exit", "params": of_terminal, "as": "w"}),
        json!({"await": "w", "within": 600_000}),
        json!({"request": "terminal/release", "params": of_terminal, "as": "r"}),
        json!({"await": "r"}),
        gate("never"),
    ]
}

/// Returns the main thread's CPU time for 10 MB, the longest callback of the plugin, including
/// startup, and the additional memory of Neovim.
pub fn print(client: Client) -> Measured {
    let shown = Shown::start(client, "cat $OUTPUT");
    let pid = shown.chat.nvim.pid();
    let before = probe::peak_memory_mb(pid);
    let cost = shown.chat.cost(|| {
        shown.run();
        shown.wait_end();
    });
    let memory = probe::peak_memory_mb(pid) - before;
    let trace = shown.chat.quit();
    let longest = trace.iter().filter_map(|line| line["longest_us"].as_f64());
    let longest = longest.fold(0.0, f64::max) / 1000.0;
    Measured {
        values: vec![cost, longest, memory],
        trace,
    }
}

/// Returns the latency of a key while 10 MB are printed in about five seconds, while a command
/// prints without a pause, and while nothing happens.
pub fn keys(client: Client) -> Measured {
    let slowly = "awk '{ print } NR % 200 == 0 { fflush(); system(\"sleep 0.005\") }' $OUTPUT";
    let shown = Shown::start(client, slowly);
    let idle = shown.keys();
    shown.run();
    let printing = shown.keys();
    shown.wait_end();
    shown.chat.quit();
    let shown = Shown::start(client, "while [ ! -e enough ]; do cat $OUTPUT; done");
    shown.run();
    let flooded = shown.keys();
    shown.chat.signal("enough");
    shown.wait_end();
    shown.chat.measured([printing, flooded, idle].concat())
}
