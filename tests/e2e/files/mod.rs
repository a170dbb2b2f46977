//! Agents' reads and writes, while the user edits the same files.

mod disk;
mod held;
mod large;
mod merge;
mod read;
mod saving;
mod script;

use std::path::Path;

pub use script::Script;
use serde_json::{Value as Json, json};

use super::harness::{Nvim, Project};

/// Starts Neovim on a file of the project, with a session open and the cursor in the file.
#[track_caller]
pub fn start(project: Project, file: &str) -> Nvim {
    let nvim = project.start();
    if !file.is_empty() {
        nvim.cmd(&format!("edit {file}"));
    }
    open(&nvim);
    nvim
}

/// Opens a session; the cursor stays in its window.
#[track_caller]
pub fn open(nvim: &Nvim) {
    nvim.lua(
        "local win = vim.api.nvim_get_current_win()
        require('acp').open()
        vim.api.nvim_set_current_win(win)",
        (),
    );
}

/// Sends a prompt, which starts the agent's next turn.
#[track_caller]
pub fn prompt(nvim: &Nvim) {
    nvim.lua("require('acp').prompt('go')", ());
}

/// Sends the last prompt and waits until the agent has completed its script.
#[track_caller]
pub fn last_turn(nvim: &Nvim) {
    prompt(nvim);
    nvim.wait_script("agent");
}

/// Sends a prompt and waits for the end of its turn.
#[track_caller]
pub fn turn(nvim: &Nvim) {
    let turns = || {
        let events = nvim.user_events();
        let ends = events.iter().filter(|event| event.name == "AcpTurnEnded");
        ends.count()
    };
    let before = turns();
    prompt(nvim);
    nvim.wait("the end of the turn", || {
        if let Some(verdict) = nvim.project.verdict("agent").filter(|v| v != "ok") {
            nvim.fail(&verdict);
        }
        turns() > before
    });
}

/// Waits until the agent pauses at `name`.
#[track_caller]
pub fn wait_pause(nvim: &Nvim, name: &str) {
    let file = nvim.project.root().join(name);
    nvim.wait(&format!("the agent to pause at {name}"), || file.exists());
}

/// Lets the agent continue from its pause at `name`.
pub fn go_on(nvim: &Nvim, name: &str) {
    touch(&nvim.project.root().join(format!("{name}.go")), "");
}

/// Writes a file directly, without Neovim or the agent.
pub fn touch(path: &Path, content: impl AsRef<[u8]>) {
    std::fs::write(path, content).expect("the file can be written");
}

/// Waits until the current buffer has these lines.
#[track_caller]
pub fn wait_lines(nvim: &Nvim, lines: &[&str]) {
    nvim.wait(&format!("the lines {lines:?}"), || {
        nvim.buf_lines(0) == lines
    });
}

/// Checks that a file has exactly these bytes.
#[track_caller]
pub fn check_bytes(nvim: &Nvim, path: &str, bytes: impl AsRef<[u8]>) {
    let there = std::fs::read(nvim.project.path(path)).expect("the file is there");
    let show = |bytes: &[u8]| bytes.escape_ascii().to_string();
    assert_eq!(show(&there), show(bytes.as_ref()), "{path}");
}

/// Returns the hunks of all files: row, removed lines, added lines, state.
#[track_caller]
pub fn hunks(nvim: &Nvim) -> Json {
    nvim.lua(
        "return vim.tbl_map(function(hunk)
            return { hunk.row, hunk.old, hunk.new, hunk.state }
        end, require('acp').review.hunks())",
        (),
    )
}

/// Waits until these are the hunks of all files.
#[track_caller]
pub fn wait_hunks(nvim: &Nvim, expected: Json) {
    nvim.wait(&format!("the hunks {expected}"), || {
        let hunks = hunks(nvim);
        // An empty Lua table may arrive as a list or an object.
        hunks == expected || (expected == json!([]) && hunks == json!({}))
    });
}
