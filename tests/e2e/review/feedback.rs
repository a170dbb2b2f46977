//! Rejected hunks are sent with the next prompt, and the chat announces it.

use serde_json::json;

use super::wait_file;
use crate::files::{Script, prompt, start, turn};
use crate::harness::{Nvim, Project};

const OLD: &str = "one\ntwo\nthree\nfour\n";

/// Rejects a hunk of `a.txt`; the agent's second turn expects `blocks`.
#[track_caller]
fn rejected(project: Project, blocks: serde_json::Value) -> Nvim {
    let script = Script::new()
        .writes("a.txt", "one\nTWO\nthree\nfour\n")
        .step(json!({ "end": "prompt" }))
        .step(
            json!({ "expect": "session/prompt", "as": "prompt", "params": { "prompt": blocks } }),
        );
    let project = project
        .size(100, 24)
        .before("set nomore laststatus=0")
        .file("a.txt", OLD)
        .agent("agent", &script.done());
    let nvim = start(project, "a.txt");
    turn(&nvim);
    nvim.keys("2G");
    nvim.cmd("Acp reject");
    wait_file(&nvim, "a.txt", OLD);
    nvim
}

#[test]
fn feedback_is_shown_folded_then_sent_and_stays_in_the_chat() {
    let text = json!({ "type": "text", "text": { "$contains": "-two\n+TWO\n" } });
    let blocks = json!([{ "type": "text", "text": "go" }, text]);
    let nvim = rejected(Project::new(), blocks);
    nvim.wait_text("The next prompt reports 1 rejected hunk");
    let screen = nvim.drawn();
    if nvim.is_pictured() {
        insta::assert_snapshot!(screen.dump(0..screen.height - 2));
    }
    prompt(&nvim);
    nvim.wait_script("agent");
    // The screen cuts off the line of a closed fold, so read the buffer.
    let said = "for _, buf in ipairs(vim.api.nvim_list_bufs()) do
            if vim.bo[buf].filetype == 'acp-chat' then
                return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '|')
            end
        end";
    nvim.wait("the feedback in the chat", || {
        let said = nvim.lua(said, ());
        let head = "This prompt reported 1 rejected hunk in a.txt|  --- a/a.txt";
        said.as_str().is_some_and(|said| said.contains(head))
    });
    nvim.quit();
}

#[test]
fn feedback_can_be_dropped() {
    let nvim = rejected(Project::new(), json!([{ "type": "text", "text": "go" }]));
    nvim.wait_text("The next prompt reports 1 rejected hunk");
    nvim.cmd("Acp drop-feedback");
    nvim.wait_text("No rejected changes");
    prompt(&nvim);
    nvim.wait_script("agent");
    nvim.quit();
}

#[test]
fn feedback_can_be_switched_off() {
    let project = Project::new().config("review", json!({ "feedback": false }));
    let nvim = rejected(project, json!([{ "type": "text", "text": "go" }]));
    prompt(&nvim);
    nvim.wait_script("agent");
    assert!(!nvim.screen().has("prompt report"));
    nvim.quit();
}
