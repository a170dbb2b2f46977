//! The measured rows: each runs some work and has one or two figures.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::client::{Chat, Client, Script, end, gate};
use crate::disk;
use crate::harness::{Flush, Nvim, Project};
use crate::load;
use crate::probe;
use crate::terminal;

/// A row of the table, or several measured together.
pub struct Row {
    /// Its name on the command line.
    pub name: &'static str,
    pub figures: &'static [Figure],
    pub measure: fn(Client) -> Measured,
}

pub struct Figure {
    pub label: &'static str,
    pub unit: &'static str,
    /// The target of the plugin's figure.
    pub budget: f64,
}

/// One run: a value per figure, and the library's trace.
pub struct Measured {
    pub values: Vec<f64>,
    pub trace: Vec<Json>,
}

const MS: &str = "ms";

pub const ROWS: &[Row] = &[
    Row {
        name: "burst",
        figures: &[
            figure("5,000 chunks of 40 bytes in a burst", MS, 25.0),
            figure("… all threads", MS, 60.0),
            figure("… until the last is on the screen", MS, 60.0),
        ],
        measure: burst,
    },
    Row {
        name: "stream",
        figures: &[
            figure("2,000 chunks at 200 a second", MS, 350.0),
            figure("… a key's latency meanwhile, p99", MS, 0.5),
        ],
        measure: stream,
    },
    Row {
        name: "tools",
        figures: &[
            figure("500 tool calls, updates, content", MS, 20.0),
            figure("… all threads", MS, 80.0),
            figure("… until the last is on the screen", MS, 80.0),
        ],
        measure: tools,
    },
    Row {
        name: "read",
        figures: &[
            figure("fs/read of 2,000 modified lines, p50", MS, 0.1),
            figure("… p99", MS, 0.3),
        ],
        measure: read,
    },
    Row {
        name: "write",
        figures: &[
            figure("fs/write again to an open file, p50", MS, 1.5),
            figure("… p99", MS, 4.0),
        ],
        measure: write,
    },
    Row {
        name: "read-busy",
        figures: &[figure("… while code is rendered, p99", MS, 0.3)],
        measure: read_busy,
    },
    Row {
        name: "prompt",
        figures: &[figure("… answered at \"Press ENTER\" (1: yes)", "", 1.0)],
        measure: read_at_prompt,
    },
    Row {
        name: "permission",
        figures: &[figure("permission, diff of 5,000 lines", MS, 15.0)],
        measure: permission,
    },
    Row {
        name: "checkpoint",
        figures: &[
            figure("checkpoint of 20,000 files: first", MS, 5000.0),
            figure("… again", MS, 1000.0),
        ],
        measure: disk::checkpoint,
    },
    Row {
        name: "change",
        figures: &[
            figure("50 hunks made on disk, until shown", MS, 50.0),
            figure("… longest callback", MS, 16.0),
        ],
        measure: disk::change,
    },
    Row {
        name: "terminal",
        figures: &[
            figure("10 MB with colours in a terminal", MS, 250.0),
            figure("… longest callback", MS, 16.0),
            figure("… memory for it", "MB", 50.0),
        ],
        measure: terminal::print,
    },
    Row {
        name: "terminal-keys",
        figures: &[
            figure("a key while 10 MB are printed, p50", MS, 0.5),
            figure("… p99", MS, 0.5),
            figure("… without a pause, p50", MS, 0.5),
            figure("… p99", MS, 0.5),
            figure("… nothing is printed, p50", MS, 0.5),
            figure("… p99", MS, 0.5),
        ],
        measure: terminal::keys,
    },
    Row {
        name: "1mb",
        figures: &[
            figure("one message of 1 MB", MS, 25.0),
            figure("… all threads", MS, 100.0),
            figure("… until its end is on the screen", MS, 40.0),
        ],
        measure: one_megabyte,
    },
    Row {
        name: "16mb",
        figures: &[
            figure("one message of 16 MB, longest stall", MS, 4.0),
            figure("… peak memory", "MB", 130.0),
            figure("… all threads", MS, 800.0),
            figure("… until its end is on the screen", MS, 600.0),
        ],
        measure: sixteen_megabytes,
    },
    Row {
        name: "load",
        figures: &[
            figure("100 MB of a past session", MS, 250.0),
            figure("… longest stall", MS, 16.0),
            figure("… memory for it", "MB", 100.0),
        ],
        measure: load::load,
    },
    Row {
        name: "long",
        figures: &[
            figure("600 chunks at 200/s after 1 MB", MS, 110.0),
            figure("… longest time without a frame", MS, 20.0),
        ],
        measure: long_chat,
    },
    Row {
        name: "startup",
        figures: &[figure("start-up, installed and unused", MS, 0.5)],
        measure: startup,
    },
    Row {
        name: "open",
        figures: &[
            figure("first open until ready, with agent", MS, 25.0),
            figure("… until the call returns", MS, 5.0),
        ],
        measure: open,
    },
    Row {
        name: "idle",
        figures: &[
            figure("idle for 2 s: threads woken, times", "", 0.0),
            figure("… main thread", MS, 0.0),
        ],
        measure: idle,
    },
];

const fn figure(label: &'static str, unit: &'static str, budget: f64) -> Figure {
    Figure {
        label,
        unit,
        budget,
    }
}

impl Measured {
    /// For a client without the feature.
    pub fn none(figures: usize) -> Self {
        Self {
            values: vec![0.0; figures],
            trace: Vec::new(),
        }
    }
}

impl Chat {
    pub fn measured(self, values: impl Into<Vec<f64>>) -> Measured {
        Measured {
            values: values.into(),
            trace: self.quit(),
        }
    }
}

/// Returns the step that sends `bytes` of markdown, prose and code, in chunks.
fn say(bytes: usize, chunk: usize, every_us: u64) -> Json {
    json!({"big_say": {"bytes": bytes, "kind": "mixed", "chunk": chunk, "every_us": every_us}})
}

fn burst(client: Client) -> Measured {
    let script = Script::new([say(200_000, 40, 0), end("burst")]);
    let chat = client.chat(Project::new(), &script);
    let costs = chat.costs(|| {
        chat.go();
        chat.wait_end("burst");
    });
    chat.measured(costs)
}

fn stream(client: Client) -> Measured {
    let steps = [say(80_000, 40, 5000), end("stream")];
    let chat = client.chat(Project::new(), &Script::new(steps.clone()));
    let cost = chat.cost(|| {
        chat.go();
        chat.wait_end("stream");
    });
    let trace = chat.quit();
    // Keys have a cost too, so they are measured in a separate run.
    let chat = client.chat(Project::new(), &Script::new(steps));
    chat.nvim.keys("iabc");
    probe::rest(chat.nvim.pid());
    chat.go();
    chat.wait_text("heading");
    let mut latencies = key_latencies(&chat.nvim, Duration::from_secs(8));
    chat.wait_end("stream");
    chat.quit();
    Measured {
        values: vec![cost, percentile(&mut latencies, 99)],
        trace,
    }
}

/// Presses a key repeatedly, and returns the milliseconds until each was visible.
pub fn key_latencies(nvim: &Nvim, time: Duration) -> Vec<f64> {
    let end = Instant::now() + time;
    let column = nvim.screen().cursor.1;
    let mut latencies = Vec::new();
    while Instant::now() < end {
        for (key, column) in [("x", column + 1), ("<BS>", column)] {
            // Out of step with the frames.
            thread::sleep(Duration::from_micros(7_300));
            let seen = nvim.flushes(0).len();
            let pressed = Instant::now();
            nvim.input(key);
            let drawn = |flush: &&Flush| flush.cursor.1 == column;
            let mut flush = None;
            nvim.wait("the key on the screen", || {
                flush = nvim.flushes(seen).iter().find(drawn).map(|f| f.at);
                flush.is_some()
            });
            let drawn = flush.expect("it was waited for");
            latencies.push(ms(drawn.duration_since(pressed)));
        }
    }
    latencies
}

fn tools(client: Client) -> Measured {
    let output = "a line of what the tool printed\n".repeat(8);
    let text = json!([{"type": "content", "content": {"type": "text", "text": output}}]);
    let steps = json!([
        {"tool": {"id": "t${i}", "title": "Read file ${i}", "kind": "read", "status": "pending"}},
        {"tool_update": {"id": "t${i}", "status": "in_progress", "title": "Read src/file_${i}.rs"}},
        {"tool_update": {"id": "t${i}", "content": text}},
        {"tool_update": {"id": "t${i}", "status": "completed"}},
    ]);
    let script = Script::new([json!({"repeat": 500, "do": steps}), end("tools")]);
    let chat = client.chat(Project::new(), &script);
    let costs = chat.costs(|| {
        chat.go();
        chat.wait_end("tools");
    });
    chat.measured(costs)
}

const LINES: usize = 2000;

pub fn source(lines: usize) -> String {
    (0..lines)
        .map(|n| format!("    let value_{n} = compute({n}, \"some text\");\n"))
        .collect()
}

/// Opens a file of [`LINES`] lines and changes it without saving.
fn with_modified_file(client: Client, steps: Vec<Json>) -> Chat {
    let project = Project::new().file("open.rs", source(LINES));
    let script = Script::new(steps);
    let chat = client.start(project.agent("bench", &script.text()));
    chat.nvim.cmd("noautocmd edit open.rs");
    chat.nvim.cmd("call setline(1, 'unsaved')");
    chat.open();
    chat.prompt();
    chat
}

fn reads(count: usize, every_us: u64) -> Json {
    let path = "${cwd}/open.rs";
    json!({"measure": {"path": path, "count": count, "every_us": every_us}})
}

fn read(client: Client) -> Measured {
    let chat = with_modified_file(client, vec![reads(2000, 500)]);
    chat.go();
    chat.wait("the reads", || chat.reported("p50_us").is_some());
    let at = |key| chat.reported(key).unwrap_or(f64::NAN) / 1000.0;
    let values = [at("p50_us"), at("p99_us")];
    chat.measured(values)
}

fn write(client: Client) -> Measured {
    let path = "${cwd}/open.rs";
    let step = json!({"measure": {"path": path, "count": 100, "write": "line "}});
    let chat = with_modified_file(client, vec![step]);
    // The chat's window is the current one.
    chat.nvim
        .cmd("call win_execute(bufwinid('open.rs'), 'silent write')");
    chat.go();
    chat.wait("the writes", || chat.reported("p50_us").is_some());
    let at = |key| chat.reported(key).unwrap_or(f64::NAN) / 1000.0;
    let values = [at("p50_us"), at("p99_us")];
    chat.measured(values)
}

fn read_busy(client: Client) -> Measured {
    let code = json!({"big_say": {"bytes": 1 << 20, "kind": "code"}});
    let chat = with_modified_file(client, vec![code, reads(500, 500)]);
    chat.go();
    chat.wait("the reads", || chat.reported("p99_us").is_some());
    let value = chat.reported("p99_us").unwrap_or(f64::NAN) / 1000.0;
    chat.measured([value])
}

fn read_at_prompt(client: Client) -> Measured {
    let steps = vec![
        json!({"read": "${cwd}/open.rs", "as": "r"}),
        json!({"delay": 500}),
        json!({"signal_file": "${cwd}/late"}),
        json!({"await": "r"}),
        json!({"signal_file": "${cwd}/answered"}),
    ];
    // Waits for the first file: the answer's is created after the delay, when the prompt ends.
    let chat = with_modified_file(client, steps);
    chat.nvim.keys(":echo \"one\\ntwo\"<CR>");
    chat.wait("the prompt", || chat.nvim.blocked());
    chat.go();
    let there = |name: &str| chat.nvim.project.path(name).exists();
    chat.wait("the delay", || there("late"));
    thread::sleep(Duration::from_millis(200));
    let answered = there("answered") && chat.nvim.blocked();
    chat.nvim.keys("<CR>");
    chat.wait("the answer", || there("answered"));
    chat.measured([f64::from(u8::from(answered))])
}

fn permission(client: Client) -> Measured {
    let old = source(5000);
    let new: String = old
        .lines()
        .enumerate()
        .map(|(n, line)| match n % 100 {
            50 => format!("{} // changed\n", line.replace("compute", "work_out")),
            _ => format!("{line}\n"),
        })
        .collect();
    let diff = json!({
        "type": "diff", "path": "${cwd}/big.rs", "oldText": &old, "newText": new,
    });
    let call = json!({
        "toolCallId": "t", "title": "Edit big.rs", "kind": "edit", "content": [diff],
    });
    let script = Script::new([
        json!({"permission": call, "as": "q"}),
        json!({"await": "q", "within": 600_000}),
    ]);
    let chat = client.chat(Project::new().file("big.rs", old), &script);
    let cost = chat.cost(|| {
        chat.go();
        chat.wait_text("Allow once");
    });
    chat.measured([cost])
}

fn one_megabyte(client: Client) -> Measured {
    let steps = [
        json!({"big_say": {"bytes": 1 << 20, "kind": "mixed"}}),
        end("message"),
    ];
    let chat = client.chat(Project::new(), &Script::new(steps));
    let costs = chat.costs(|| {
        chat.go();
        chat.wait_end("message");
    });
    chat.measured(costs)
}

fn sixteen_megabytes(client: Client) -> Measured {
    let steps = [
        json!({"big_say": {"bytes": 16 << 20, "kind": "prose"}}),
        end("message"),
    ];
    let chat = client.chat(Project::new(), &Script::new(steps));
    let mut longest = Duration::ZERO;
    let [_, all, took] = chat.costs(|| {
        chat.go();
        chat.wait("the end", || {
            longest = longest.max(chat.longest_answer());
            chat.nvim.screen().has("END-OF-message")
        });
    });
    let memory = probe::peak_memory_mb(chat.nvim.pid());
    chat.measured([ms(longest), memory, all, took])
}

fn long_chat(client: Client) -> Measured {
    let steps = [
        say(1 << 20, 4096, 0),
        end("past"),
        gate("more"),
        say(24_000, 40, 5000),
        end("stream"),
    ];
    let chat = client.chat(Project::new(), &Script::new(steps));
    chat.go();
    chat.wait_end("past");
    probe::rest(chat.nvim.pid());
    let seen = chat.nvim.flushes(0).len();
    let cost = chat.cost(|| {
        chat.signal("more");
        chat.wait_end("stream");
    });
    let flushes = chat.nvim.flushes(seen);
    let gaps = flushes.windows(2).map(|pair| match pair {
        [one, two] => ms(two.at.duration_since(one.at)),
        _ => 0.0,
    });
    let longest = gaps.fold(0.0, f64::max);
    chat.measured([cost, longest])
}

fn open(client: Client) -> Measured {
    let script = Script::new([]);
    let chat = client.start(Project::new().agent("bench", &script.text()));
    probe::rest(chat.nvim.pid());
    let (ready, returned) = chat.open();
    chat.measured([ms(ready), ms(returned)])
}

fn idle(client: Client) -> Measured {
    let chat = client.chat(Project::new(), &Script::new([end("chat")]));
    chat.go();
    chat.wait_end("chat");
    let pid = chat.nvim.pid();
    probe::all_rest(pid);
    let before = (probe::rest(pid), probe::wakeups(pid).0);
    thread::sleep(Duration::from_secs(2));
    let after = (probe::main_thread_ms(pid), probe::wakeups(pid).0);
    let values = [(after.1 - before.1) as f64, after.0 - before.0];
    chat.measured(values)
}

/// Starts Neovim repeatedly, with and without the plugin, and compares the medians.
fn startup(client: Client) -> Measured {
    const PAIRS: usize = 25;
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let installed = match client {
        Client::Ours => Some(env!("CARGO_MANIFEST_DIR")),
        Client::Floor => None,
    };
    let start = |plugin: Option<&str>| {
        let log = folder.path().join("startuptime");
        let rtp = plugin.map(|path| format!("set rtp^={path}"));
        let status = Command::new(crate::harness::binary())
            .args(["--clean", "--headless", "--startuptime"])
            .arg(&log)
            .args(rtp.iter().flat_map(|rtp| ["--cmd", rtp]))
            .arg("+qall")
            .env("XDG_STATE_HOME", folder.path())
            .status();
        assert!(status.is_ok_and(|status| status.success()));
        let text = std::fs::read_to_string(&log).expect("Neovim writes it");
        std::fs::remove_file(&log).expect("it is there");
        started_after(&text)
    };
    let mut with = Vec::new();
    let mut without = Vec::new();
    for _ in 0..PAIRS {
        with.push(start(installed));
        without.push(start(None));
    }
    let added = percentile(&mut with, 50) - percentile(&mut without, 50);
    Measured {
        values: vec![added.max(0.0)],
        trace: Vec::new(),
    }
}

/// Returns Neovim's startup time in milliseconds, from its own log.
fn started_after(log: &str) -> f64 {
    let line = log.lines().rfind(|line| line.contains("NVIM STARTED"));
    let clock = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    clock.expect("the log ends with the start")
}

pub fn percentile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    let index = (values.len() * percent / 100).min(values.len().saturating_sub(1));
    values.get(index).copied().unwrap_or(f64::NAN)
}

pub fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
