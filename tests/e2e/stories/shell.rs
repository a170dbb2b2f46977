//! An agent that does everything with shell commands.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::{committed, list, wait_review};
use crate::files::{Script, start, turn, wait_lines};
use crate::harness::{Nvim, Project};

/// The commands the agent runs.
const COMMANDS: &str = "set -e
    sed -i -e 's/^two$/TWO/' -e 's/^five$/FIVE/' notes.txt
    sed -i 's/^two$/2/' src/lib.txt
    sed -i 's/an old/a new/' old.txt; git mv old.txt src/moved.txt
    rm gone.txt
    chmod +x run.sh
    sed 's/^ *//' unformatted.txt > ../formatted && cat ../formatted > unformatted.txt
    printf 'made\\nby the agent\\n' > made.txt
    printf 'x\\000y' > data.bin";

const NUMBERS: &str = "one\ntwo\nthree\nfour\nfive\nsix\n";

/// The files before and after; `None` if the file does not exist.
const FILES: [(&str, Option<&str>, Option<&str>); 9] = [
    ("data.bin", Some("a\0b"), Some("x\0y")),
    ("gone.txt", Some("nobody\nneeds me\n"), None),
    ("made.txt", None, Some("made\nby the agent\n")),
    (
        "notes.txt",
        Some(NUMBERS),
        Some("one\nTWO\nthree\nfour\nFIVE\nsix\n"),
    ),
    ("old.txt", Some("an old\nfile of\nthree lines\n"), None),
    ("run.sh", Some("echo run\n"), Some("echo run\n")),
    (
        "src/lib.txt",
        Some(NUMBERS),
        Some("one\n2\nthree\nfour\nfive\nsix\n"),
    ),
    ("src/moved.txt", None, Some("a new\nfile of\nthree lines\n")),
    (
        "unformatted.txt",
        Some("  a\nb\n    c\n"),
        Some("a\nb\nc\n"),
    ),
];

fn project() -> Project {
    FILES
        .iter()
        .fold(Project::new(), |project, (name, before, _)| match before {
            Some(text) => project.file(name, text),
            None => project,
        })
}

/// Opens a file with an unsaved line of the user's, and runs all the agent's commands.
#[track_caller]
fn done() -> Nvim {
    let script = Script::new().step(json!({ "shell": COMMANDS }));
    let nvim = start(
        committed(project().agent("agent", &script.done())),
        "notes.txt",
    );
    nvim.keys("Gomine<Esc>");
    turn(&nvim);
    wait_lines(
        &nvim,
        &["one", "TWO", "three", "four", "FIVE", "six", "mine"],
    );
    wait_review(&nvim, 8, 8);
    nvim
}

/// Waits until the files on disk are as before, or as the agent left them.
#[track_caller]
fn wait_files(nvim: &Nvim, is_before: bool) {
    for (name, before, after) in FILES {
        let there = if is_before { before } else { after };
        let path = nvim.project.path(name);
        nvim.wait(&format!("{name} to be {there:?}"), || {
            std::fs::read(&path).ok() == there.map(|text| text.as_bytes().to_vec())
        });
    }
    let run = nvim.project.path("run.sh");
    nvim.wait("the mode of run.sh", || {
        let mode = run.metadata().expect("it is there").permissions().mode();
        (mode & 0o111 == 0) == is_before
    });
}

#[test]
fn every_change_is_listed() {
    let nvim = done();
    let expected = [
        "data.bin  binary",
        "gone.txt -2  deleted",
        "      1 - nobody",
        "made.txt +2  created",
        "      1 + made",
        "notes.txt +2 -2",
        "      2 ~ TWO",
        "      5 ~ FIVE",
        "run.sh  mode 644 → 755",
        "src/lib.txt +1 -1",
        "      2 ~ 2",
        "src/moved.txt +1 -1  moved from old.txt",
        "      1 ~ a new",
        "unformatted.txt +2 -2",
        "      1 ~ a",
        "      3 ~ c",
    ];
    assert_eq!(list(&nvim), expected);
    nvim.quit();
}

#[test]
fn every_change_is_rejected_and_the_users_line_stays() {
    let nvim = done();
    nvim.cmd("Acp reject all");
    wait_review(&nvim, 0, 0);
    wait_lines(
        &nvim,
        &["one", "two", "three", "four", "five", "six", "mine"],
    );
    // The buffer has the user's unsaved line, so only the user saves it.
    nvim.keys("Gdd:write<CR>");
    wait_files(&nvim, true);
    nvim.quit();
}

#[test]
fn every_change_is_accepted_and_stays() {
    let nvim = done();
    nvim.cmd("Acp accept all");
    wait_review(&nvim, 0, 0);
    wait_files(&nvim, false);
    nvim.quit();
}

#[test]
fn shell_changes_are_reviewed_like_writes_through_the_client() {
    let nvim = done();
    let by_shell = list(&nvim);
    nvim.quit();
    let mut script = Script::new();
    for (name, _, after) in FILES {
        if let Some(text) = after.filter(|_| is_text_alone(name)) {
            script = script.writes(name, text);
        }
    }
    let nvim = start(
        committed(project().agent("agent", &script.done())),
        "notes.txt",
    );
    nvim.keys("Gomine<Esc>");
    turn(&nvim);
    wait_review(&nvim, 4, 6);
    let by_client = list(&nvim);
    let mut is_listed = false;
    let here = by_shell.into_iter().filter(|line| {
        if !line.starts_with(' ') {
            is_listed = is_text_alone(line.split(' ').next().unwrap_or_default());
        }
        is_listed
    });
    assert_eq!(by_client, here.collect::<Vec<_>>());
    nvim.quit();
}

fn is_text_alone(name: &str) -> bool {
    ["made.txt", "notes.txt", "src/lib.txt", "unformatted.txt"].contains(&name)
}
