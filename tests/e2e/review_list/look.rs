//! The look of the list and its preview.

use super::{changed, wait_at};
use crate::files::{Script, start};
use crate::harness::{Nvim, Project};

/// Compares the screen with the test's snapshot.
macro_rules! check {
    ($nvim:expr) => {
        let screen = $nvim.drawn();
        if $nvim.is_pictured() {
            insta::assert_snapshot!(screen.dump(0..screen.height - 2));
        }
    };
}

fn small() -> Project {
    Project::new()
        .size(100, 24)
        .before("set nomore laststatus=0")
}

/// Leaves only the list, its preview, and one window with a file.
#[track_caller]
fn without_chat(nvim: &Nvim) {
    nvim.lua(
        "for _, win in ipairs(vim.api.nvim_list_wins()) do
            local kind = vim.bo[vim.api.nvim_win_get_buf(win)].filetype
            if kind == 'acp-chat' or kind == 'acp-input' then
                vim.api.nvim_win_close(win, true)
            end
        end",
        (),
    );
}

#[test]
fn files_and_hunks_with_a_preview_of_the_one_under_the_cursor() {
    let nvim = changed(small());
    without_chat(&nvim);
    nvim.cmd("Acp review");
    nvim.wait_text("Review · 3 files");
    nvim.keys("gg");
    wait_at(&nvim, "a.txt");
    nvim.keys("j");
    nvim.wait_text("a.txt:2");
    check!(nvim);
    nvim.quit();
}

#[test]
fn an_empty_list_says_so() {
    let project = small().agent("agent", &Script::new().done());
    let nvim = start(project, "");
    without_chat(&nvim);
    nvim.cmd("Acp review");
    nvim.wait_text("Nothing to review.");
    check!(nvim);
    nvim.quit();
}

#[test]
fn the_keys_are_shown_on_demand() {
    let nvim = changed(small());
    without_chat(&nvim);
    nvim.cmd("Acp review");
    nvim.wait_text("Review · 3 files");
    nvim.keys("?");
    nvim.wait_text("Undoes the last decision");
    // The preview also appears while the list does not have the focus.
    nvim.wait_text("+ TWO");
    check!(nvim);
    nvim.keys("q");
    nvim.wait("the keys to go", || !nvim.screen().has("Undoes the last"));
    assert_eq!(nvim.lua("return vim.bo.filetype", ()), "acp-review");
    nvim.quit();
}

#[test]
fn on_a_narrow_screen_the_preview_is_above() {
    let nvim = changed(
        Project::new()
            .size(70, 30)
            .before("set nomore laststatus=0"),
    );
    without_chat(&nvim);
    nvim.cmd("Acp review");
    nvim.wait_text("Review · 3 files");
    nvim.keys("gg");
    nvim.wait_text("+ TWO");
    check!(nvim);
    nvim.quit();
}

#[test]
fn closing_the_list_restores_the_sizes_of_the_other_windows() {
    let nvim = changed(small());
    let sizes = || nvim.lua("return vim.fn.winrestcmd()", ());
    let before = sizes();
    for close in ["q", ":q<CR>"] {
        nvim.cmd("Acp review");
        nvim.wait_text("Review · 3 files");
        nvim.keys(close);
        nvim.wait("the old sizes", || sizes() == before);
    }
    nvim.quit();
}

#[test]
fn a_float_that_closes_while_the_list_is_open_squeezes_no_window() {
    let nvim = changed(small());
    let sizes = || nvim.lua("return vim.fn.winrestcmd()", ());
    let count = || nvim.lua("return #vim.api.nvim_list_wins()", ());
    let before = (sizes(), count());
    nvim.lua(
        "float = vim.api.nvim_open_win(0, false,
            { relative = 'editor', row = 1, col = 1, width = 9, height = 2 })",
        (),
    );
    nvim.cmd("Acp review");
    nvim.wait_text("Review · 3 files");
    nvim.lua("vim.api.nvim_win_close(float, true)", ());
    nvim.cmd("close");
    // It closes as the sizes are restored.
    nvim.wait("the preview to close", || count() == before.1);
    assert_eq!(sizes(), before.0);
    nvim.quit();
}
