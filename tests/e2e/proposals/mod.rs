//! Proposals: a change the agent asks permission for is shown in its file, and decided there before
//! anything is written.

mod agents;
mod decide;
mod list;
mod look;
mod places;

use serde_json::{Value as Json, json};

use crate::files::{Script, start, wait_lines};
use crate::harness::{Nvim, Project};
use crate::permission::press;
use crate::review::{wait_file, wait_shown};
use crate::talk::{self, here, windows};

/// The file most tests start with.
const OLD: &str = "one\ntwo\nthree\nfour\nfive\nsix\n";

/// [`OLD`] with the agent's changes: two lines changed, one added.
const NEW: &str = "one\nTWO\nthree\nFOUR\nfive\nsix\nseven\n";

fn diff(path: &str, old: Option<&str>, new: &str) -> Json {
    let path = format!("${{cwd}}/{path}");
    json!({ "type": "diff", "path": path, "oldText": old, "newText": new })
}

/// Returns the step in which an agent asks to make these changes.
fn permission(id: &str, diffs: &[Json]) -> Json {
    json!({
        "permission": {
            "toolCallId": id, "title": format!("Edit {id}"), "kind": "edit", "content": diffs,
        },
        "as": id,
    })
}

/// Returns the step that awaits the answer.
fn answer(id: &str, option: &str) -> Json {
    json!({ "await": id, "choice": option })
}

/// Starts Neovim on `a.txt`, with an agent that follows the script.
#[track_caller]
fn asked(script: Script) -> Nvim {
    asked_in(Project::new(), script)
}

#[track_caller]
fn asked_in(project: Project, script: Script) -> Nvim {
    let project = project.file("a.txt", OLD).agent("agent", &script.done());
    let nvim = start(project, "a.txt");
    talk::prompt(&nvim, "go");
    nvim
}

/// Waits for the permission window and goes to the file.
#[track_caller]
fn to_file(nvim: &Nvim) {
    wait_asked(nvim);
    nvim.cmd("wincmd t");
    wait_shown(nvim);
}

/// Waits for the permission window.
#[track_caller]
fn wait_asked(nvim: &Nvim) {
    nvim.wait("the window", || {
        windows(nvim).contains(&"acp-permission".to_owned())
    });
}

#[track_caller]
fn wait_answered(nvim: &Nvim) {
    nvim.wait("the window to close", || {
        !windows(nvim).contains(&"acp-permission".to_owned())
    });
}

/// Returns the API's list of hunks: file, row, state.
#[track_caller]
fn states(nvim: &Nvim) -> Json {
    nvim.lua(
        "return vim.tbl_map(function(hunk)
          return { vim.fs.basename(hunk.path), hunk.row, hunk.state }
        end, require('acp').review.hunks())",
        (),
    )
}

#[track_caller]
fn check_nothing_proposed(nvim: &Nvim) {
    // An empty Lua table may arrive as a list or an object.
    let there = states(nvim);
    assert!(there == json!([]) || there == json!({}), "{there}");
}

#[track_caller]
fn wait_states(nvim: &Nvim, want: Json) {
    let mut last = Json::Null;
    nvim.wait(&format!("hunks {want}"), || {
        last = states(nvim);
        // An empty Lua table may arrive as a list or an object.
        last == want || want == json!([]) && last == json!({})
    });
}
