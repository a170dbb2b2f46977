//! Commands that write a file slowly: no half-written text reaches a buffer.

use serde_json::json;

use super::super::files::{Script, start, touch, turn, wait_lines};
use super::{check_silent, options, save};
use crate::harness::{Nvim, Project};
use crate::review::wait_file;

/// How often each file is rewritten.
const ROUNDS: usize = 6;

/// Shell commands that write `../v` to `$f` in parts.
const SLOW: [&str; 3] = [
    "{ head -n 10 ../v; sleep 0.05; tail -n +11 ../v; } > $f",
    "{ sleep 0.05; cat ../v; } > $f",
    "{ head -c 100 ../v; sleep 0.02; tail -c +101 ../v | head -c 100; sleep 0.02; tail -c +201 ../v; } > $f",
];

/// Returns a version of a file of 20 lines; every fifth line contains the version.
fn version(number: usize) -> String {
    let line = |row: usize| match row % 5 {
        2 => format!("line {row} of version {number}\n"),
        _ => format!("line {row} is the same in all versions\n"),
    };
    (0..20).map(line).collect()
}

/// Records the lowest line count the current buffer reaches.
fn watch_lines(nvim: &Nvim) {
    nvim.lua(
        "fewest = vim.api.nvim_buf_line_count(0)
        vim.api.nvim_buf_attach(0, false, { on_lines = function(_, buf)
            fewest = math.min(fewest, vim.api.nvim_buf_line_count(buf))
        end })",
        (),
    );
}

/// Has the agent write `a.txt` and `b.txt` slowly, several times; `a.txt` is in a buffer with
/// unsaved changes.
#[track_caller]
fn check(slow: &str) {
    let command = format!("for f in a.txt b.txt; do {slow}; done; sleep 0.05");
    let mut script = Script::new();
    for round in 1..=ROUNDS {
        script = script
            .step(json!({ "touch": { "path": "${cwd}/../v", "content": version(round) } }))
            .step(json!({ "shell": command }));
    }
    let files = Project::new()
        .file("a.txt", version(0))
        .file("b.txt", version(0));
    let nvim = start(files.agent("agent", &script.done()), "a.txt");
    nvim.keys("4GOmine<Esc>Gomine at the end<Esc>");
    watch_lines(&nvim);
    turn(&nvim);
    let with_mine = |text: String| -> Vec<String> {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.insert(3, "mine".to_owned());
        lines.push("mine at the end".to_owned());
        lines
    };
    let lines = with_mine(version(ROUNDS));
    wait_lines(&nvim, &lines.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(nvim.lua("return fewest", ()), 22);
    assert_eq!(options(&nvim)[0], true);
    check_silent(&nvim);
    save(&nvim, "write");
    wait_file(&nvim, "a.txt", &(lines.join("\n") + "\n"));
    nvim.wait("four hunks of each", || {
        nvim.lua("return require('acp').status().review.hunks", ()) == 8
    });
    nvim.cmd("Acp reject all");
    wait_file(&nvim, "a.txt", &(with_mine(version(0)).join("\n") + "\n"));
    wait_file(&nvim, "b.txt", &version(0));
    nvim.quit();
}

#[test]
fn a_file_written_in_two_parts_is_merged_as_a_whole() {
    check(SLOW[0]);
}

#[test]
fn a_file_that_is_empty_until_a_command_is_done_is_merged_as_a_whole() {
    check(SLOW[1]);
}

#[test]
fn a_file_written_in_many_parts_is_merged_as_a_whole() {
    check(SLOW[2]);
}

#[test]
fn an_agents_write_over_a_half_written_file_merges_with_the_whole() {
    let (old, new) = (version(0), version(1));
    let theirs = format!("above\n{old}");
    // A command that continues in the background while the agent writes through the client.
    let command = "exec 3>a.txt; head -n 10 ../v >&3; \
                   ({ sleep 0.3; tail -n +11 ../v; } >&3) >/dev/null 2>&1 &";
    let script = Script::new()
        .reads("a.txt", &format!("{old}mine\n"))
        .step(json!({ "touch": { "path": "${cwd}/../v", "content": theirs } }))
        .step(json!({ "shell": command }))
        .writes("a.txt", &format!("{new}mine\n"));
    let project = Project::new().file("a.txt", &old);
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    nvim.keys("Gomine<Esc>");
    turn(&nvim);
    let after = format!("above\n{new}mine\n");
    wait_lines(&nvim, &after.lines().collect::<Vec<_>>());
    wait_file(&nvim, "a.txt", &after);
    check_silent(&nvim);
    nvim.quit();
}

#[test]
fn a_file_that_is_written_continuously_is_still_followed() {
    let command =
        "(while [ ! -e ../stop ]; do echo more >> log.txt; sleep 0.01; done) >/dev/null 2>&1 &";
    let script = Script::new().step(json!({ "shell": command }));
    let project = Project::new().file("log.txt", "first\n");
    let nvim = start(project.agent("agent", &script.done()), "log.txt");
    turn(&nvim);
    nvim.wait("the first lines", || nvim.buf_lines(0).len() > 1);
    touch(&nvim.project.root().join("stop"), "");
    nvim.wait("all lines", || {
        nvim.buf_lines(0).join("\n") + "\n" == nvim.project.read("log.txt")
    });
    nvim.quit();
}
