//! Neovim is killed at random moments: the files on disk and their swap files stay recoverable.
//!
//! The moments come from seeds; `ACP_TEST_ROUNDS` runs more of them than an ordinary test run has
//! time for.

use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::files::{Script, last_turn, prompt, start, touch, wait_pause};
use super::harness::{Nvim, Project, procs};

/// Rounds of each test, unless the environment sets another number.
const ROUNDS: u64 = 5;

/// Lines of a small and of a large file (3 MB).
const SMALL: usize = 300;
const LARGE: usize = 60_000;

/// The unsaved line the user has typed below the first one.
const MINE: &str = "what the user has typed";

/// The files when Neovim starts: the first is not open, the second is open, the third has unsaved
/// changes, the last is large.
const FILES: [(&str, usize); 4] = [
    ("unopened.txt", SMALL),
    ("clean.txt", SMALL),
    ("modified.txt", SMALL),
    ("large.txt", LARGE),
];

/// Returns a version of a file; some of its lines contain the version.
fn version(lines: usize, version: &str) -> String {
    let line = |row: usize| match row % (lines / 20) {
        7 => format!("line {row} of version {version}\n"),
        _ => format!("line {row} is the same in all versions of this file\n"),
    };
    (0..lines).map(line).collect()
}

/// Checks that a text is one complete version; `own` is whether it has the user's line.
fn is_whole(text: &str, lines: usize, own: bool) -> bool {
    let mine = format!("{MINE}\n");
    if own != text.contains(&mine) {
        return false;
    }
    let text = text.replacen(&mine, "", 1);
    let number = text.split(" of version ").nth(1);
    let number = number.and_then(|rest| rest.lines().next());
    number.is_some_and(|number| version(lines, number) == text)
}

/// A deterministic random generator (xorshift).
pub struct Random(u64);

impl Random {
    /// Returns the generator of a seed; 0 is none.
    pub fn seeded(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Kills Neovim repeatedly, at random moments within `span`, while the agent performs `steps`, and
/// checks the files; `at_work` begins the work and returns when it is running.
#[track_caller]
fn check(steps: &[Json], at_work: impl Fn(&Nvim), span: Duration) {
    let rounds = std::env::var("ACP_TEST_ROUNDS");
    let rounds = rounds.map_or(ROUNDS, |rounds| rounds.parse().expect("a number"));
    let script: String = [
        json!({ "expect": "session/prompt" }),
        json!({ "mark": "work" }),
    ]
    .iter()
    .chain(steps)
    .map(|step| format!("{step}\n"))
    .collect();
    for seed in 1..=rounds {
        let mut random = Random::seeded(seed);
        let mut project = Project::new().agent("agent", &script);
        for (name, lines) in FILES {
            project = project.file(name, version(lines, "0"));
        }
        let mut nvim = start(project, "clean.txt");
        nvim.cmd("edit large.txt | edit modified.txt | set hidden");
        type_and_rest(&nvim, MINE);
        at_work(&nvim);
        // The test needs a random moment, so there is no condition to wait for.
        let moment = Instant::now() + span.mul_f64(random.below(1000) as f64 / 1000.0);
        while Instant::now() < moment {
            std::hint::spin_loop();
        }
        nvim.kill();
        for process in nvim.processes() {
            procs::kill(process.pid);
        }
        check_left(&nvim.project, &FILES, seed);
    }
}

/// Types the user's line, and waits until Neovim has written it to the swap file, as it does after
/// a few seconds without a key.
#[track_caller]
pub fn type_and_rest(nvim: &Nvim, text: &str) {
    nvim.cmd("set updatetime=1");
    nvim.keys(&format!("o{text}<Esc>"));
    wait_swap(nvim, text);
}

/// Waits until the swap file of the current buffer has this text.
#[track_caller]
fn wait_swap(nvim: &Nvim, text: &str) {
    let swap = nvim.lua("return vim.fn.swapname('')", ());
    let swap = swap.as_str().expect("there is a swap file").to_owned();
    nvim.wait("the text in the swap file", || {
        let there = std::fs::read(&swap).unwrap_or_default();
        String::from_utf8_lossy(&there).contains(text)
    });
    // Neovim has finished writing the swap file once it answers the next request.
    nvim.lua("return 0", ());
}

/// Checks that every file is complete, on disk or in its swap file.
#[track_caller]
fn check_left(project: &Rc<Project>, files: &[(&str, usize)], seed: u64) {
    let mut recovering = None;
    for &(name, lines) in files {
        let on_disk = std::fs::read(project.path(name)).unwrap_or_default();
        let on_disk = String::from_utf8_lossy(&on_disk);
        let own = name == "modified.txt";
        if is_whole(&on_disk, lines, own) {
            continue;
        }
        assert_ne!(name, "unopened.txt", "seed {seed}: {}", on_disk.len());
        let nvim = recovering.get_or_insert_with(|| Nvim::start(Rc::clone(project)));
        nvim.cmd(&format!("silent! recover {name}"));
        let text = nvim.buf_lines(0).join("\n") + "\n";
        if !is_whole(&text, lines, own) {
            let odd: Vec<&str> = text.lines().filter(|line| !line.contains("same")).collect();
            panic!(
                "seed {seed}: {name} has {} bytes on disk; recovered: {odd:#?}",
                on_disk.len()
            );
        }
        nvim.cmd("bwipeout!");
    }
}

/// Steps that write each file through the client, version after version.
fn writes(versions: usize) -> Json {
    let mut steps = Vec::new();
    for (name, lines) in FILES {
        steps.push(json!({
            "write": format!("${{cwd}}/{name}"),
            "content": version(lines, "${i}"),
            "as": "w",
        }));
        steps.push(json!({ "await": "w" }));
    }
    json!({ "repeat": versions, "do": steps })
}

/// Steps that replace a file on disk and make the client read it.
fn changes(name: &str, lines: usize, number: &str) -> Vec<Json> {
    let content = version(lines, number);
    let path = format!("${{cwd}}/{name}");
    let beside = format!("${{cwd}}/../{name}");
    vec![
        json!({ "touch": { "path": beside, "content": content } }),
        json!({ "shell": format!("mv '{beside}' '{path}'") }),
        json!({ "write": path, "content": content, "as": "w" }),
        json!({ "await": "w" }),
    ]
}

/// Sends the prompt and waits until the agent has begun its first step.
#[track_caller]
fn go(nvim: &Nvim) {
    prompt(nvim);
    nvim.wait("the agent to work", || {
        !nvim.project.report("agent").is_empty()
    });
}

#[test]
fn nothing_is_lost_while_the_agent_writes() {
    check(&[writes(50)], go, Duration::from_millis(250));
}

#[test]
fn a_swap_file_can_be_recovered_after_an_agent_replaces_the_file() {
    for typed_first in [true, false] {
        let script = Script::new().pause("p").done();
        let project = Project::new().file("modified.txt", version(SMALL, "0"));
        let mut nvim = start(project.agent("agent", &script), "modified.txt");
        if typed_first {
            type_and_rest(&nvim, MINE);
        }
        prompt(&nvim);
        wait_pause(&nvim, "p");
        if !typed_first {
            type_and_rest(&nvim, MINE);
        }
        wait_swap(&nvim, &format!("line {} is", SMALL / 2));
        touch(&nvim.project.path("modified.txt"), version(SMALL, "1"));
        nvim.kill();
        check_left(&nvim.project, &[("modified.txt", SMALL)], 0);
    }
}

#[test]
fn a_swap_file_is_complete_after_a_merge() {
    // The agent's write is not saved, because the file is read-only.
    let after = format!("above\nall\n{}", version(SMALL, "0"));
    let script = Script::new()
        .step(json!({ "touch": { "path": "${cwd}/clean.txt", "content": after } }))
        .step(json!({ "shell": "chmod 444 clean.txt" }))
        .writes_in_vain("clean.txt", &after, -32603, "read-only")
        .done();
    let project = Project::new().file("clean.txt", version(SMALL, "0"));
    let mut nvim = start(project.agent("agent", &script), "clean.txt");
    last_turn(&nvim);
    nvim.keys("G");
    type_and_rest(&nvim, MINE);
    nvim.kill();
    let nvim = Nvim::start(Rc::clone(&nvim.project));
    nvim.cmd("silent! recover clean.txt");
    let recovered = nvim.buf_lines(0).join("\n") + "\n";
    assert!(recovered == format!("{after}{MINE}\n"), "{recovered}");
    nvim.quit();
}

#[test]
fn nothing_is_lost_during_a_merge() {
    let steps = FILES.map(|(name, lines)| changes(name, lines, "${i}"));
    let steps = [json!({ "repeat": 50, "do": steps.concat() })];
    check(&steps, go, Duration::from_millis(250));
}

#[test]
fn nothing_is_lost_during_a_reject() {
    let at_work = |nvim: &Nvim| {
        prompt(nvim);
        nvim.wait_script("agent");
        nvim.lua("require('acp').review.reject('all')", ());
    };
    check(&[writes(2)], at_work, Duration::from_millis(60));
}
