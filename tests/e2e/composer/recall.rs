//! Earlier prompts, recalled into the input.

use crate::harness::Nvim;
use crate::talk::{self, wait_said};

#[track_caller]
fn wait_input(nvim: &Nvim, want: &[&str]) {
    nvim.wait(&format!("the input {want:?}"), || nvim.buf_lines(0) == want);
}

/// Recalls the last prompt into an empty input. The first `<Up>` may come before the prompts were read.
#[track_caller]
fn recalls(nvim: &Nvim, want: &str) {
    nvim.wait("the last prompt", || {
        if nvim.buf_lines(0) == [""] {
            nvim.keys("<Up>");
        }
        nvim.buf_lines(0) == [want]
    });
}

#[test]
fn earlier_prompts_and_the_draft_can_be_recalled() {
    let nvim = talk::start(&[r#"{"say":"1"}"#, r#"{"say":"2"}"#]);
    nvim.keys("ione<CR>");
    wait_said(&nvim, "1");
    nvim.keys("two<C-j>lines<CR>");
    wait_said(&nvim, "2");
    nvim.keys("draft<Up>");
    wait_input(&nvim, &["two", "lines"]);
    nvim.keys("<Up>");
    wait_input(&nvim, &["one"]);
    // The edit of a recalled prompt is kept, and the first prompt has none before it.
    nvim.keys("!<Up>");
    wait_input(&nvim, &["one!"]);
    nvim.keys("<Down>");
    wait_input(&nvim, &["two", "lines"]);
    nvim.keys("<Down><Down>");
    wait_input(&nvim, &["draft"]);
    nvim.keys("<Up><Up><Up>");
    wait_input(&nvim, &["one!"]);
    nvim.quit();
}

#[test]
fn a_prompt_of_the_command_can_be_recalled() {
    let nvim = talk::start(&[r#"{"say":"1"}"#]);
    nvim.cmd("Acp prompt from the command line");
    wait_said(&nvim, "1");
    nvim.keys("i");
    recalls(&nvim, "from the command line");
    nvim.quit();
}

#[test]
fn the_draft_of_a_closed_session_can_be_recalled_in_the_next() {
    let nvim = talk::start(&[]);
    nvim.keys("inot yet sent<Esc>");
    nvim.cmd("Acp close");
    nvim.keys(":AcpChat<CR>i");
    recalls(&nvim, "not yet sent");
    nvim.quit();
}

#[test]
fn with_virtualedit_the_cursor_is_behind_a_recalled_prompt() {
    let nvim = talk::start(&[r#"{"say":"1"}"#]);
    nvim.cmd("set virtualedit=all");
    nvim.keys("ione<CR>");
    wait_said(&nvim, "1");
    nvim.keys("<Up>");
    wait_input(&nvim, &["one"]);
    nvim.keys("!");
    wait_input(&nvim, &["one!"]);
    nvim.quit();
}

#[test]
fn with_virtualedit_the_next_prompt_begins_in_the_first_column() {
    let nvim = talk::start(&[r#"{"say":"1"}"#]);
    nvim.cmd("set virtualedit=all");
    nvim.keys("ione<CR>");
    wait_said(&nvim, "1");
    nvim.keys("two");
    wait_input(&nvim, &["two"]);
    nvim.quit();
}

#[test]
fn within_a_draft_a_count_goes_so_many_lines() {
    let nvim = talk::start(&[]);
    nvim.keys("ia<C-j>b<C-j>c<C-j>d<C-j>e<Esc>gg");
    let line = || nvim.lua("return vim.fn.getline('.')", ());
    nvim.keys("3<Down>");
    nvim.wait("the fourth line", || line() == "d");
    nvim.keys("2<Up>");
    nvim.wait("the second line", || line() == "b");
    // An earlier count is not one for a key of insert mode.
    nvim.keys("i<Down>");
    nvim.wait("the third line", || line() == "c");
    nvim.quit();
}

#[test]
fn prompts_and_an_unsent_draft_outlive_neovim() {
    let nvim = talk::start(&[r#"{"say":"1"}"#]);
    nvim.keys("ione<CR>");
    wait_said(&nvim, "1");
    nvim.keys("two, but not yet<Esc>");
    let project = nvim.project.clone();
    nvim.quit();
    let nvim = Nvim::start(project);
    nvim.keys(":AcpChat<CR>i");
    recalls(&nvim, "two, but not yet");
    nvim.keys("<Up>");
    wait_input(&nvim, &["one"]);
    nvim.quit();
}
