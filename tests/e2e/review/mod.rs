//! The inline review: the agent's changes, accepted or rejected in place.

mod buffers;
mod decide;
mod feedback;
mod look;
mod turns;
mod undo;
mod walk;

use crate::files::{Script, last_turn, start, wait_lines};
use crate::harness::{Nvim, Project};

/// The file each review here starts with: seven lines.
const OLD: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

/// [`OLD`] with the agent's changes: two lines changed, one deleted, one added.
const NEW: &str = "one\nTWO\nthree\nFOUR\nfive\nseven\neight\n";

/// Starts Neovim on `a.txt`, which the agent has changed from `old` to `new`.
#[track_caller]
fn reviewed(old: &str, new: &str) -> Nvim {
    reviewed_in(Project::new(), old, new)
}

/// Like [`reviewed`], in the given project.
#[track_caller]
fn reviewed_in(project: Project, old: &str, new: &str) -> Nvim {
    let script = Script::new().writes("a.txt", new).done();
    let project = project.file("a.txt", old).agent("agent", &script);
    let nvim = start(project, "a.txt");
    last_turn(&nvim);
    match new {
        // A buffer always has a line.
        "" => wait_lines(&nvim, &[""]),
        _ => wait_lines(&nvim, &new.lines().collect::<Vec<_>>()),
    }
    wait_shown(&nvim);
    nvim
}

/// Waits until hunks are drawn in the current buffer.
#[track_caller]
pub fn wait_shown(nvim: &Nvim) {
    let marks = "local space = vim.api.nvim_create_namespace('acp_review')
        return #vim.api.nvim_buf_get_extmarks(0, space, 0, -1, {})";
    nvim.wait("hunks in the buffer", || nvim.lua(marks, ()) != 0);
}

/// Waits until changes on disk are no longer attributed to the agent: the checkpoint after its turn
/// has been taken, and all its changes are reported. The project's log level must be `debug`.
#[track_caller]
pub fn wait_window_closed(nvim: &Nvim) {
    let log = nvim.project.root().join("state/nvim/acp.log");
    nvim.wait("the checkpoint after each turn", || {
        let events = nvim.user_events();
        let turns = events.iter().filter(|event| event.name == "AcpTurnEnded");
        let turns = turns.count().max(1);
        let log = std::fs::read_to_string(&log).unwrap_or_default();
        log.matches("is not the agent's").count() >= turns
    });
}

/// Waits until a file has this content.
#[track_caller]
pub fn wait_file(nvim: &Nvim, path: &str, content: &str) {
    let place = nvim.project.path(path);
    nvim.wait(&format!("{path} to be {content:?}"), || {
        std::fs::read_to_string(&place).is_ok_and(|there| there == content)
    });
}

/// Waits until so many files are under review; without a session there is no number.
#[track_caller]
pub fn wait_files(nvim: &Nvim, files: usize) {
    let there = "return (require('acp').status().review or {}).files";
    nvim.wait(&format!("{files} files under review"), || {
        nvim.lua(there, ()) == files
    });
}

/// Returns the row of the cursor.
#[track_caller]
pub fn row(nvim: &Nvim) -> usize {
    let line = nvim.lua("return vim.api.nvim_win_get_cursor(0)[1]", ());
    line.as_u64().expect("a line") as usize - 1
}
