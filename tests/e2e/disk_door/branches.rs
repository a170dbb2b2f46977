//! Many files that change at once.

use std::path::Path;

use serde_json::json;

use super::super::files::{Script, go_on, prompt, start, wait_pause};
use crate::harness::Project;
use crate::review::wait_files;

/// The number of files that differ in the other branch; more than fit into the list's window.
const COUNT: usize = 400;

fn text(n: usize, branch: &str) -> String {
    format!("one\n{n} on {branch}\nthree\nfour\n{n} here on {branch}\n")
}

/// A project with many files; the other branch's versions are in a folder beside it.
fn project() -> Project {
    let mut project = Project::new().size(100, 30).before("set nomore");
    for n in 0..COUNT {
        project = project.file(&format!("src/{n:03}.txt"), text(n, "main"));
        let other = project.root().join("other");
        std::fs::create_dir_all(&other).expect("a folder");
        let other = other.join(format!("{n:03}.txt"));
        std::fs::write(other, text(n, "other")).expect("a file");
    }
    project.file("own.txt", "own\n")
}

/// Returns the number of files in a folder, at any depth.
fn count(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths
        .map(|path| if path.is_dir() { count(&path) } else { 1 })
        .sum()
}

#[test]
fn a_branch_switch_inside_a_turn_is_reviewed_decided_and_undone() {
    let script = Script::new()
        .pause("copied")
        .step(json!({ "shell": "cp -r ../other/. src/" }));
    let nvim = start(project().agent("agent", &script.done()), "own.txt");
    prompt(&nvim);
    wait_pause(&nvim, "copied");
    // On a loaded machine the turn begins before all files have been copied.
    let blobs = nvim.project.root().join("state/nvim/acp.nvim/blobs");
    nvim.wait("the copies of all files", || count(&blobs) >= COUNT);
    go_on(&nvim, "copied");
    wait_files(&nvim, COUNT);
    nvim.cmd("Acp review");
    nvim.wait_text("Review · 400 files");
    let lines = nvim.lua("return vim.api.nvim_buf_line_count(0)", ());
    assert_eq!(lines, 1001);
    nvim.keys("gg");
    nvim.wait_text("+2 -2");
    nvim.keys("a");
    nvim.wait_text("Review · 399 files");
    nvim.keys("A");
    nvim.wait_text("Accept everything in 399 files?");
    nvim.keys("y");
    wait_files(&nvim, 0);
    nvim.lua("require('acp').review.undo_turn({ confirm = false })", ());
    nvim.wait("the undo of every file", || {
        (0..COUNT).all(|n| nvim.project.read(&format!("src/{n:03}.txt")) == text(n, "main"))
    });
    nvim.quit();
}
