//! Changes the user stages or commits are accepted; the agent's own commits accept nothing.

use serde_json::json;

use super::{committed, git, wait_review};
use crate::files::{Script, hunks, start, turn, wait_hunks, wait_lines};
use crate::harness::{Nvim, Project};
use crate::review::{wait_file, wait_window_closed};

const OLD: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n";
const NEW: &str = "one\nTWO\nthree\nfour\nfive\nsix\nSEVEN\neight\n";

/// The agent's first hunk, as `git add --patch` would stage it.
const FIRST: &str = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n";

/// Has the agent change two lines of a committed file with a command, followed by `then`.
#[track_caller]
fn changed(then: &str) -> Nvim {
    let write = format!("sed -i -e s/two/TWO/ -e s/seven/SEVEN/ a.txt; {then}");
    let nvim = after_turn(&write);
    wait_lines(&nvim, &NEW.lines().collect::<Vec<_>>());
    wait_window_closed(&nvim);
    nvim
}

/// Has the agent run a command beside a committed file.
#[track_caller]
fn after_turn(command: &str) -> Nvim {
    let script = Script::new().step(json!({ "shell": command }));
    let project = Project::new()
        .file("a.txt", OLD)
        .config("log_level", json!("debug"))
        .agent("agent", &script.done());
    let nvim = start(committed(project), "a.txt");
    turn(&nvim);
    nvim
}

/// Returns how often git has been asked about this many files under review.
fn asked(nvim: &Nvim, files: usize) -> usize {
    let log = nvim.project.root().join("state/nvim/acp.log");
    let log = std::fs::read_to_string(log).unwrap_or_default();
    log.matches(&format!("asked git about {files} files"))
        .count()
}

/// Waits until git has been asked about the files under review: only changes that reach the
/// repository later are accepted.
#[track_caller]
fn wait_asked(nvim: &Nvim, files: usize) {
    nvim.wait("git to be asked", || asked(nvim, files) > 0);
}

fn both() -> serde_json::Value {
    json!([
        [1, ["two"], ["TWO"], "pending"],
        [6, ["seven"], ["SEVEN"], "pending"]
    ])
}

/// Stages only the first hunk.
#[track_caller]
fn stage_first(nvim: &Nvim) {
    let patch = nvim.project.root().join("first.patch");
    std::fs::write(&patch, FIRST).expect("the patch can be written");
    let patch = patch.to_string_lossy().into_owned();
    git(&nvim.project, &["apply", "--cached", &patch]);
}

#[test]
fn of_two_hunks_only_the_staged_one_is_accepted() {
    let nvim = changed("true");
    wait_hunks(&nvim, both());
    wait_asked(&nvim, 1);
    stage_first(&nvim);
    wait_hunks(&nvim, json!([[6, ["seven"], ["SEVEN"], "pending"]]));
    nvim.cmd("Acp reject all");
    let left = NEW.replace("SEVEN", "seven");
    wait_file(&nvim, "a.txt", &left);
    wait_lines(&nvim, &left.lines().collect::<Vec<_>>());
    nvim.quit();
}

#[test]
fn of_two_hunks_only_the_committed_one_is_accepted() {
    let nvim = changed("true");
    wait_hunks(&nvim, both());
    wait_asked(&nvim, 1);
    stage_first(&nvim);
    git(&nvim.project, &["commit", "--quiet", "--message", "first"]);
    wait_hunks(&nvim, json!([[6, ["seven"], ["SEVEN"], "pending"]]));
    git(
        &nvim.project,
        &["commit", "--quiet", "--all", "--message", "rest"],
    );
    wait_review(&nvim, 0, 0);
    nvim.quit();
}

#[test]
fn a_reset_puts_an_open_buffer_back_and_keeps_what_the_user_wrote() {
    for unsaved in [false, true] {
        let nvim = changed("true");
        wait_hunks(&nvim, both());
        let mut left: Vec<&str> = OLD.lines().collect();
        if unsaved {
            nvim.keys("Gomine<Esc>");
            left.push("mine");
        }
        git(&nvim.project, &["reset", "--quiet", "--hard"]);
        wait_lines(&nvim, &left);
        wait_review(&nvim, 0, 0);
        assert_eq!(nvim.lua("return vim.bo.modified", ()), unsaved);
        // Neovim knows the file: it asks nothing.
        nvim.cmd("write");
        nvim.quit();
    }
}

/// Where git runs while changes are under review.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Beside {
    /// In another terminal; the file is open.
    Buffer,
    /// In another terminal; the file is in no buffer.
    Disk,
    /// By `:!`; the file is open.
    Command,
}

#[test]
fn stashed_changes_are_under_review_again_after_another_commit() {
    for beside in [Beside::Buffer, Beside::Disk, Beside::Command] {
        let change = "sed -i -e s/two/TWO/ -e 's/seven/SEVEN\\nmore/' a.txt; echo new > b.txt";
        let script = Script::new().step(json!({ "shell": change }));
        let project = Project::new().file("a.txt", OLD).file("c.txt", "c\n");
        let project = project.config("log_level", json!("debug"));
        let nvim = start(committed(project.agent("agent", &script.done())), "a.txt");
        turn(&nvim);
        wait_review(&nvim, 2, 3);
        // A change before that would be the agent's.
        wait_window_closed(&nvim);
        if beside == Beside::Disk {
            nvim.cmd("edit c.txt | bwipeout a.txt");
        }
        let git = |args: &[&str]| {
            if beside == Beside::Command {
                let user = "-c user.name=User -c user.email=user@example.org";
                let args = args.join(" ");
                return nvim.cmd(&format!("silent !git {user} {args}"));
            }
            git(&nvim.project, args);
        };
        let lines = |text: &str| {
            if beside != Beside::Disk {
                wait_lines(&nvim, &text.lines().collect::<Vec<_>>());
            }
        };
        git(&["stash", "--quiet", "--include-untracked"]);
        lines(OLD);
        wait_review(&nvim, 0, 0);
        // As a pull does.
        let pulled = OLD.replace("four", "4");
        std::fs::write(nvim.project.path("a.txt"), &pulled).expect("it can be written");
        git(&["commit", "--quiet", "--all", "--message", "pulled"]);
        lines(&pulled);
        git(&["stash", "pop", "--quiet"]);
        wait_review(&nvim, 2, 3);
        nvim.cmd("Acp reject all");
        wait_file(&nvim, "a.txt", &pulled);
        lines(&pulled);
        nvim.wait("no b.txt", || !nvim.project.path("b.txt").exists());
        nvim.quit();
    }
}

#[test]
fn a_commit_by_the_agent_accepts_nothing() {
    let commit = "git -c user.name=A -c user.email=a@example.org commit --quiet --all -m agent";
    let nvim = changed(commit);
    wait_hunks(&nvim, both());
    wait_asked(&nvim, 1);
    assert_eq!(git(&nvim.project, &["status", "--short"]), "");
    // Committing another file does not accept it either.
    std::fs::write(nvim.project.path("b.txt"), "b\n").expect("it can be written");
    git(&nvim.project, &["add", "b.txt"]);
    let before = asked(&nvim, 1);
    git(&nvim.project, &["commit", "--quiet", "--message", "b"]);
    nvim.wait("git to be asked again", || asked(&nvim, 1) > before);
    assert_eq!(hunks(&nvim), both());
    nvim.cmd("Acp reject all");
    wait_file(&nvim, "a.txt", OLD);
    assert_eq!(git(&nvim.project, &["status", "--short"]), " M a.txt\n");
    nvim.quit();
}

#[test]
fn a_created_file_that_is_committed_is_accepted() {
    let nvim = changed("echo new > b.txt");
    wait_review(&nvim, 2, 3);
    wait_asked(&nvim, 2);
    git(&nvim.project, &["add", "b.txt"]);
    wait_hunks(&nvim, both());
    wait_review(&nvim, 1, 2);
    nvim.cmd("Acp reject all");
    wait_file(&nvim, "a.txt", OLD);
    assert_eq!(nvim.project.read("b.txt"), "new\n");
    nvim.quit();
}

#[test]
fn a_committed_mode_is_accepted() {
    let nvim = after_turn("chmod 755 a.txt");
    wait_review(&nvim, 1, 0);
    wait_window_closed(&nvim);
    wait_asked(&nvim, 1);
    git(
        &nvim.project,
        &["commit", "--quiet", "--all", "--message", "mode"],
    );
    wait_review(&nvim, 0, 0);
    nvim.quit();
}
