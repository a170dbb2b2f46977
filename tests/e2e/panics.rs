//! A panic in the plugin costs one piece of work and one message: Neovim, its buffers and the chat
//! keep working.

use super::files::{self, Script};
use super::harness::{Nvim, Project};
use super::talk::{self, ended, go, open, said, status, wait_phase, wait_said};

/// Starts Neovim with an unsaved line, a chat, and a panic injected at `place`.
#[track_caller]
fn start(place: &str, script: &str) -> Nvim {
    let nvim = Project::new()
        .file("a.txt", "one\n")
        .file("b.txt", "on disk\n")
        .agent("scripted", script)
        .env("ACP_TEST_PANIC", place)
        .start();
    nvim.cmd("edit a.txt");
    nvim.keys("oprecious<Esc>");
    nvim
}

/// Checks that one message reports the panic in `place`, that the unsaved line is intact, and that
/// the chat still answers.
#[track_caller]
fn check_survived(nvim: &Nvim, place: &str) {
    let message = format!("acp.nvim: An internal error in {place} was caught; your text is safe.");
    nvim.wait(&format!("the message {message:?}"), || {
        nvim.messages().contains(&message)
    });
    talk::prompt(nvim, "and now?");
    wait_said(nvim, "here I am");
    nvim.wait("the end of the turn", || status(nvim)["phase"] == "idle");
    let messages = nvim.messages();
    assert_eq!(messages.matches("acp.nvim").count(), 1, "{messages}");
    go(nvim, "text");
    assert_eq!(nvim.buf_lines(0), ["one", "precious"]);
    nvim.keys(":write<CR>");
    nvim.wait("the file", || {
        nvim.project.read("a.txt") == "one\nprecious\n"
    });
}

const ANSWER: &str = r#"{"expect":"session/prompt","as":"p"}
{"say":"here I am"}
{"end":"p"}"#;

#[test]
fn a_panic_in_a_callback_is_survived() {
    let nvim = start("callback", ANSWER);
    open(&nvim);
    check_survived(&nvim, "drain");
    nvim.quit();
}

#[test]
fn a_panic_in_the_core_is_survived() {
    let nvim = start("core", ANSWER);
    open(&nvim);
    talk::prompt(&nvim, "lost");
    check_survived(&nvim, "the core");
    assert!(!said(&nvim, "lost"));
    nvim.quit();
}

#[test]
fn a_panic_in_the_host_is_survived() {
    let script = format!(
        r#"{{"expect":"session/prompt","as":"p"}}
{{"read":"${{cwd}}/b.txt","as":"r1"}}
{{"await":"r1"}}
{{"read":"${{cwd}}/b.txt","as":"r2"}}
{{"await":"r2","result":{{"content":"on disk\n"}}}}
{{"end":"p"}}
{ANSWER}"#
    );
    let nvim = start("host", &script);
    open(&nvim);
    talk::talk(&nvim, "read it");
    assert_eq!(ended(&nvim), ["end_turn"]);
    wait_phase(&nvim, "idle");
    check_survived(&nvim, "reading a file");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn a_panic_in_an_edit_is_survived_and_the_agent_gets_its_answer() {
    let script = format!(
        r#"{{"expect":"session/prompt","as":"p"}}
{{"write":"${{cwd}}/b.txt","content":"the agent's\n","as":"w1"}}
{{"await":"w1","error":{{"code":-32603,"message":{{"$contains":"internal error"}}}}}}
{{"write":"${{cwd}}/b.txt","content":"the agent's\n","as":"w2"}}
{{"await":"w2","result":{{"$any":true}}}}
{{"end":"p"}}
{ANSWER}"#
    );
    let nvim = start("edit", &script);
    nvim.cmd("badd b.txt | call bufload('b.txt')");
    open(&nvim);
    talk::talk(&nvim, "write it");
    assert_eq!(ended(&nvim), ["end_turn"]);
    assert_eq!(nvim.project.read("b.txt"), "the agent's\n");
    wait_phase(&nvim, "idle");
    check_survived(&nvim, "an edit");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn a_hunk_that_cannot_be_drawn_hides_no_other() {
    let text = |changed: &str| -> String {
        let line = |n: u32| match n % 2 {
            0 => format!("{changed} {n}\n"),
            _ => format!("line {n}\n"),
        };
        (0..2000).map(line).collect()
    };
    let script = Script::new().writes("a.txt", &text("new")).done();
    let project = Project::new().file("a.txt", text("old"));
    let nvim = project.agent("agent", &script).start();
    // Before the library looks the function up: two hunks fail, one of them in sight.
    let fail = "local set = vim.api.nvim_buf_set_extmark
        local hunks = vim.api.nvim_create_namespace('acp_review')
        vim.api.nvim_buf_set_extmark = function(buf, namespace, row, ...)
            if namespace == hunks and (row == 4 or row == 1500) then
                error('no mark here')
            end
            return set(buf, namespace, row, ...)
        end";
    nvim.lua(fail, ());
    nvim.cmd("edit a.txt");
    open(&nvim);
    files::turn(&nvim);
    // The deferred ones as well.
    nvim.wait("all other hunks", || {
        let marks = "local all = vim.api.nvim_create_namespace('acp_review')
            local rows, buf = {}, vim.fn.bufnr('a.txt')
            for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, all, 0, -1, {})) do
                rows[mark[2]] = true
            end
            return vim.tbl_count(rows)";
        nvim.lua(marks, ()) == 998
    });
    let message = "acp.nvim: An internal error in drawing a hunk was caught; your text is safe.";
    // It comes by way of the core, which may be busy.
    nvim.wait("the message", || nvim.messages().contains(message));
    nvim.quit();
}
