//! The review list: a window in which every file and hunk can be decided.

mod decide;
mod look;

use crate::files::{Script, last_turn, start};
use crate::harness::{Nvim, Project};
use crate::talk;

/// Has the agent change three files, none of them in a window, and opens the list.
#[track_caller]
fn listed(project: Project) -> Nvim {
    let nvim = changed(project);
    nvim.cmd("Acp review");
    nvim.wait_text("Review · 3 files");
    nvim
}

/// Has the agent change the three files.
#[track_caller]
fn changed(project: Project) -> Nvim {
    let script = Script::new()
        .writes("a.txt", "one\nTWO\nthree\nfour\nFIVE\n")
        .writes("sub/b.txt", "b\nb\nb and more\n")
        .writes("new.txt", "all\nnew\n");
    let project = project
        .file("a.txt", "one\ntwo\nthree\nfour\nfive\nsix\n")
        .file("sub/b.txt", "b\nb\nb\n")
        .file("own.txt", "the user's own\n")
        .agent("agent", &script.done());
    let nvim = start(project, "own.txt");
    last_turn(&nvim);
    let count = "return #require('acp').review.hunks()";
    nvim.wait("all hunks", || nvim.lua(count, ()) == 4);
    talk::wait_queue_closed(&nvim);
    nvim
}

/// Waits until the cursor's line contains this text.
#[track_caller]
pub fn wait_at(nvim: &Nvim, text: &str) {
    nvim.wait(&format!("the cursor to be at {text:?}"), || {
        let line = nvim.lua("return vim.fn.getline('.')", ());
        line.as_str().is_some_and(|line| line.contains(text))
    });
}
