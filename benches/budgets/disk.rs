//! Rows of changes on disk: checkpoints, and changes that an agent writes straight to disk.
//!
//! The floor supports neither; its figures are 0.

use std::fs;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;

use crate::client::{Chat, Client, Script, end};
use crate::harness::Project;
use crate::rows::{Measured, ms, source};

const FOLDERS: usize = 200;
const FILES: usize = 100;

const LINES: usize = 5000;
const HUNKS: usize = 50;

/// Returns the time from a prompt until the agent receives it, in a project of 20,000 files: first
/// with starting the session and reading all files, then with examining all files.
pub fn checkpoint(client: Client) -> Measured {
    if client == Client::Floor {
        return Measured::none(2);
    }
    let script = [
        json!({"expect": "session/prompt", "as": "one"}),
        json!({"mark": "first"}),
        json!({"end": "one"}),
        json!({"expect": "session/prompt", "as": "two"}),
        json!({"mark": "again"}),
        json!({"end": "two"}),
    ];
    let script: Vec<String> = script.iter().map(ToString::to_string).collect();
    let project = Project::new().agent("bench", &script.join("\n"));
    for folder in 0..FOLDERS {
        let path = project.path(&format!("src/{folder}"));
        fs::create_dir_all(&path).expect("a folder can be made");
        for file in 0..FILES {
            let text = source(20).replace("value", &format!("value_{folder}_{file}"));
            fs::write(path.join(format!("{file}.rs")), text).expect("a file can be written");
        }
    }
    let chat = client.start(project);
    let start = unix_us();
    chat.open();
    let first = prompt(&chat, "first", start);
    chat.wait("the end of the turn", || chat.has_event("AcpTurnEnded"));
    // The turn's final checkpoint is not measured.
    crate::probe::all_rest(chat.nvim.pid());
    let again = prompt(&chat, "again", unix_us());
    chat.wait("the end of the turns", || {
        let events = chat.nvim.user_events();
        events.iter().filter(|it| it.name == "AcpTurnEnded").count() == 2
    });
    chat.measured([first, again])
}

/// Sends a prompt, and returns the milliseconds from `start` until the agent received it.
fn prompt(chat: &Chat, mark: &str, start: f64) -> f64 {
    chat.nvim.lua("require('acp').prompt('go')", ());
    let mut at = None;
    chat.wait("the prompt", || {
        at = chat.marked(mark);
        at.is_some()
    });
    (at.unwrap_or(f64::NAN) - start) / 1000.0
}

fn unix_us() -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.expect("the clock is right").as_micros() as f64
}

/// Returns the time from a write to an open file, in a turn, until its hunks are on the screen, and
/// the longest callback of the plugin, including startup.
pub fn change(client: Client) -> Measured {
    if client == Client::Floor {
        return Measured::none(2);
    }
    let old = source(LINES);
    let change = |(n, line): (usize, &str)| match n % (LINES / HUNKS) {
        5 => format!("{} // changed\n", line.replace("compute", "work_out")),
        _ => format!("{line}\n"),
    };
    let new: String = old.lines().enumerate().map(change).collect();
    let script = Script::new([end("turn")]);
    let project = Project::new().file("big.rs", &old);
    let chat = client.start(project.agent("bench", &script.text()));
    chat.nvim.cmd("noautocmd edit big.rs");
    chat.open();
    chat.prompt();
    let start = Instant::now();
    fs::write(chat.nvim.project.path("big.rs"), new).expect("the file can be written");
    let is_shown = || {
        let screen = chat.nvim.screen();
        // The old line only remains as a virtual line.
        screen.has("// changed") && screen.has("compute(5,")
    };
    while !is_shown() {
        thread::sleep(Duration::from_micros(200));
        if start.elapsed() > Duration::from_secs(20) {
            chat.nvim.fail("the hunks were waited for in vain");
        }
    }
    let took = ms(start.elapsed());
    crate::probe::rest(chat.nvim.pid());
    let hunks = "return require('acp').status().review.hunks";
    assert_eq!(chat.nvim.lua(hunks, ()), HUNKS, "all hunks are there");
    chat.go();
    chat.wait_end("turn");
    let trace = chat.quit();
    let longest = trace.iter().filter_map(|line| line["longest_us"].as_f64());
    let longest = longest.fold(0.0, f64::max) / 1000.0;
    Measured {
        values: vec![took, longest],
        trace,
    }
}
