//! `make bench ARGS=growth`: how time and memory grow with the size of the work, in the plugin alone.
//!
//! Each size runs once. The exponent compares two sizes: 1 is linear, 0 does not grow. Times are
//! wall time until the user or the agent has the result; memory is Neovim's at that moment.

use std::fs;
use std::io::Write;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value as Json, json};

use crate::client::{Chat, Client, Script, end, gate};
use crate::harness::Project;
use crate::probe;
use crate::rows::{ms, source};

/// Something whose size is varied.
struct Subject {
    name: &'static str,
    sizes: &'static [usize],
    /// What each of the figures is the time of, in milliseconds.
    times: &'static [&'static str],
    /// Returns the times and the memory in MB.
    measure: fn(usize) -> (Vec<f64>, f64),
}

const SUBJECTS: &[Subject] = &[
    Subject {
        name: "entries of a chat",
        sizes: &[1_000, 10_000, 100_000],
        times: &["all are shown", "one more is shown"],
        measure: entries,
    },
    Subject {
        name: "files of a project, with git",
        sizes: &[1_000, 10_000, 100_000],
        times: &["the prompt arrives", "the next one", "a change is shown"],
        measure: |files| project(files, true),
    },
    Subject {
        name: "files of a project, without git",
        sizes: &[1_000, 10_000, 100_000],
        times: &["the prompt arrives", "the next one", "a change is shown"],
        measure: |files| project(files, false),
    },
    Subject {
        name: "open sessions",
        sizes: &[1, 10, 50],
        times: &["all are ready", "a prompt is answered"],
        measure: sessions,
    },
    Subject {
        name: "hunks in a file",
        sizes: &[10, 1_000, 10_000],
        times: &[
            "all are under review",
            "the last is rejected",
            "the rest is",
        ],
        measure: hunks,
    },
    Subject {
        name: "lines of a buffer",
        sizes: &[1_000, 10_000, 100_000, 1_000_000],
        times: &["a write of the agent", "a read of ten lines"],
        measure: lines,
    },
    Subject {
        name: "files under review",
        sizes: &[100, 1_000, 4_000],
        times: &["all are under review", "all are rejected"],
        measure: reviewed,
    },
];

/// Prints a table for each subject, or for those whose names have one of these words.
pub fn print(words: &[String]) {
    let (load, processors) = probe::load();
    println!(
        "{processors} processors, load {load}. Milliseconds, and the exponent since the size above."
    );
    let is_chosen = |subject: &&Subject| {
        words.is_empty()
            || words
                .iter()
                .any(|word| subject.name.contains(word.as_str()))
    };
    for subject in SUBJECTS.iter().filter(is_chosen) {
        println!(
            "\n{:<36}{:>12} {}",
            subject.name,
            "memory [MB]",
            heads(subject.times)
        );
        let mut last: Option<(usize, Vec<f64>)> = None;
        for &size in subject.sizes {
            let (times, memory) = (subject.measure)(size);
            let cells = times.iter().enumerate().map(|(at, time)| {
                let grown = last.as_ref().map(|(before, times)| {
                    (time / times[at]).ln() / (size as f64 / *before as f64).ln()
                });
                let grown = grown.map_or(String::new(), |grown| format!(" ({grown:.2})"));
                format!("{:>24}", format!("{time:.1}{grown}"))
            });
            println!("{size:>36}{memory:>12.0} {}", cells.collect::<String>());
            last = Some((size, times));
        }
    }
}

fn heads(times: &[&str]) -> String {
    times.iter().map(|time| format!("{time:>24}")).collect()
}

/// Returns the milliseconds that `work` takes until `is_done`.
fn time(chat: &Chat, what: &str, work: impl FnOnce(), is_done: impl FnMut() -> bool) -> f64 {
    let start = Instant::now();
    work();
    chat.wait(what, is_done);
    ms(start.elapsed())
}

/// Ends a measurement.
fn measured(chat: Chat, times: Vec<f64>) -> (Vec<f64>, f64) {
    let memory = probe::memory_mb(chat.nvim.pid());
    chat.quit();
    (times, memory)
}

fn entries(count: usize) -> (Vec<f64>, f64) {
    let tool = json!({ "tool": {
        "id": "t${i}", "title": "Read file ${i}", "kind": "read", "status": "completed",
    }});
    let each = json!([tool, { "say": "A line about file ${i}.\n" }]);
    let steps = [
        json!({ "repeat": count / 2, "do": each }),
        end("all"),
        gate("more"),
        end("more"),
        gate("quit"),
    ];
    let chat = Client::Ours.chat(Project::new(), &Script::new(steps));
    let screen = |text| move |chat: &Chat| chat.nvim.screen().has(text);
    let is_there = screen("END-OF-all");
    let all = time(&chat, "all", || chat.go(), || is_there(&chat));
    probe::rest(chat.nvim.pid());
    let is_there = screen("END-OF-more");
    let more = time(&chat, "more", || chat.signal("more"), || is_there(&chat));
    measured(chat, vec![all, more])
}

fn project(files: usize, has_git: bool) -> (Vec<f64>, f64) {
    let turn = |name: &str| {
        let prompt = json!({ "expect": "session/prompt", "as": name });
        let signal = json!({ "signal_file": format!("${{cwd}}/../{name}") });
        [
            prompt,
            signal,
            gate(&format!("../{name}.go")),
            json!({ "end": name }),
        ]
    };
    let script: Vec<String> = ["one", "two"]
        .iter()
        .flat_map(|name| turn(name))
        .map(|step| step.to_string())
        .collect();
    let project = Project::new().agent("bench", &script.join("\n"));
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    for file in 0..files {
        let folder = project.path(&format!("src/{}", file / 100));
        if file % 100 == 0 {
            fs::create_dir_all(&folder).expect("a folder can be made");
        }
        let text = source(20).replace("value", &format!("value_{file}"));
        let mut made = fs::File::create(folder.join(format!("{file}.rs"))).expect("a new file");
        made.write_all(text.as_bytes()).expect("it can be written");
        // As in most projects: the time of a fresh file is too coarse to show a further change.
        made.set_modified(long_ago).expect("its time can be set");
    }
    if has_git {
        git(&project, &["init", "--quiet"]);
        git(&project, &["add", "."]);
        git(&project, &["commit", "--quiet", "-m", "all"]);
        git(&project, &["repack", "-adq"]);
    }
    let chat = Client::Ours.start(project);
    chat.open();
    let root = chat.nvim.project.root().to_owned();
    let has_prompt = |name: &str| root.join(name).exists();
    let prompt = |name: &str| {
        let send = || drop(chat.nvim.lua("require('acp').prompt('go')", ()));
        time(&chat, "the prompt", send, || has_prompt(name))
    };
    let turns = |count: usize| {
        let events = chat.nvim.user_events();
        events
            .iter()
            .filter(|event| event.name == "AcpTurnEnded")
            .count()
            == count
    };
    let first = prompt("one");
    let path = chat.nvim.project.path("src/0/0.rs");
    let change = || fs::write(&path, source(20)).expect("it can be written");
    let changed = time(&chat, "the change", change, || hunks_of(&chat) > 0);
    chat.signal("../one.go");
    chat.wait("the end of the turn", || turns(1));
    probe::all_rest(chat.nvim.pid());
    let next = prompt("two");
    chat.signal("../two.go");
    chat.wait("the end of the turns", || turns(2));
    measured(chat, vec![first, next, changed])
}

fn git(project: &Project, words: &[&str]) {
    let mut git = Command::new("git");
    let name = [
        "-c",
        "user.name=bench",
        "-c",
        "user.email=bench@example.org",
    ];
    git.current_dir(project.path("")).args(name).args(words);
    assert!(
        git.status().is_ok_and(|status| status.success()),
        "{words:?}"
    );
}

/// Returns the number of hunks under review.
fn hunks_of(chat: &Chat) -> u64 {
    let hunks = chat
        .nvim
        .lua("return require('acp').status().review.hunks", ());
    hunks.as_u64().unwrap_or_default()
}

fn sessions(count: usize) -> (Vec<f64>, f64) {
    let script = [
        json!({ "expect": "session/prompt", "as": "p" }),
        end("answer"),
        json!({ "end": "p" }),
    ];
    let script: Vec<String> = script.iter().map(Json::to_string).collect();
    let chat = Client::Ours.start(Project::new().agent("bench", &script.join("\n")));
    let open = || {
        for _ in 0..count {
            chat.nvim.lua("require('acp').open({ new = true })", ());
        }
    };
    let started = || {
        let events = chat.nvim.user_events();
        events
            .iter()
            .filter(|event| event.name == "AcpSessionStarted")
            .count()
            == count
    };
    let ready = time(&chat, "the sessions", open, started);
    let send = || drop(chat.nvim.lua("require('acp').prompt('go')", ()));
    let is_there = || chat.nvim.screen().has("END-OF-answer");
    let answered = time(&chat, "the answer", send, is_there);
    measured(chat, vec![ready, answered])
}

fn hunks(count: usize) -> (Vec<f64>, f64) {
    let old = source(2 * count);
    let change = |(n, line): (usize, &str)| match n % 2 {
        0 => format!("{line}\n"),
        _ => format!("{} // changed\n", line.replace("compute", "work_out")),
    };
    let new: String = old.lines().enumerate().map(change).collect();
    let chat = opened(&old, vec![gate("quit")]);
    let write = || fs::write(chat.nvim.project.path("open.rs"), new).expect("it can be written");
    let all = count as u64;
    let shown = time(&chat, "the hunks", write, || hunks_of(&chat) == all);
    probe::rest(chat.nvim.pid());
    chat.nvim.cmd("wincmd p | normal! G");
    let reject =
        |scope: &'static str| drop(chat.nvim.lua("require('acp').review.reject(...)", (scope,)));
    let one = time(
        &chat,
        "a reject",
        || reject("hunk"),
        || hunks_of(&chat) == all - 1,
    );
    let rest = time(
        &chat,
        "the reject of all",
        || reject("all"),
        || hunks_of(&chat) == 0,
    );
    measured(chat, vec![shown, one, rest])
}

/// Opens a file with this text and a chat, in which a turn runs.
fn opened(text: &str, steps: Vec<Json>) -> Chat {
    let project = Project::new().file("open.rs", text);
    let chat = Client::Ours.start(project.agent("bench", &Script::new(steps).text()));
    chat.nvim.cmd("noautocmd edit open.rs");
    chat.open();
    chat.prompt();
    chat.go();
    chat
}

fn lines(count: usize) -> (Vec<f64>, f64) {
    let path = "${cwd}/open.rs";
    let steps = vec![
        gate("write"),
        json!({ "write": path, "content": source(count).replacen("compute", "work_out", 1), "as": "w" }),
        json!({ "await": "w", "within": 600_000 }),
        json!({ "signal_file": "${cwd}/written" }),
        gate("read"),
        json!({ "read": path, "line": 5, "limit": 10, "as": "r" }),
        json!({ "await": "r", "within": 600_000 }),
        json!({ "signal_file": "${cwd}/done" }),
        gate("quit"),
    ];
    let chat = opened(&source(count), steps);
    let is_there = |name: &str| chat.nvim.project.path(name).exists();
    probe::rest(chat.nvim.pid());
    let write = time(
        &chat,
        "the write",
        || chat.signal("write"),
        || is_there("written"),
    );
    probe::rest(chat.nvim.pid());
    let read = time(
        &chat,
        "the read",
        || chat.signal("read"),
        || is_there("done"),
    );
    measured(chat, vec![write, read])
}

fn reviewed(files: usize) -> (Vec<f64>, f64) {
    let project = (0..files).fold(Project::new(), |project, file| {
        project.file(&format!("{file}.rs"), source(20))
    });
    let steps = [gate("quit")];
    let chat = Client::Ours.chat(project, &Script::new(steps));
    chat.go();
    let write = || {
        for file in 0..files {
            let path = chat.nvim.project.path(&format!("{file}.rs"));
            fs::write(path, source(21)).expect("it can be written");
        }
    };
    let all = files as u64;
    let shown = time(&chat, "the hunks", write, || hunks_of(&chat) == all);
    probe::rest(chat.nvim.pid());
    let reject = || drop(chat.nvim.lua("require('acp').review.reject('all')", ()));
    let rejected = time(&chat, "the reject", reject, || hunks_of(&chat) == 0);
    measured(chat, vec![shown, rejected])
}
