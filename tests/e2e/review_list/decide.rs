//! The keys of the list.

use super::{changed, listed, wait_at};
use crate::harness::{Nvim, Project};
use crate::review::{row, wait_file};
use crate::talk;

/// Waits until there are `count` hunks.
#[track_caller]
fn wait_count(nvim: &Nvim, count: usize) {
    let all = "return #require('acp').review.hunks()";
    nvim.wait(&format!("{count} hunks"), || nvim.lua(all, ()) == count);
}

/// Waits until the list has the focus.
#[track_caller]
fn wait_list(nvim: &Nvim) {
    nvim.wait("the list", || talk::here(nvim) == "acp-review");
}

#[test]
fn a_hunk_and_a_file_are_decided_where_the_cursor_is() {
    let nvim = listed(Project::new());
    nvim.keys("gg");
    wait_at(&nvim, "a.txt");
    nvim.keys("ja");
    wait_count(&nvim, 3);
    // The next hunk has moved up to the cursor.
    wait_at(&nvim, "FIVE");
    nvim.keys("r");
    wait_file(&nvim, "a.txt", "one\nTWO\nthree\nfour\nfive\nsix\n");
    wait_at(&nvim, "new.txt");
    nvim.keys("r");
    nvim.wait("the new file to be deleted", || {
        !nvim.project.path("new.txt").exists()
    });
    wait_at(&nvim, "sub/b.txt");
    nvim.keys("a");
    nvim.wait_text("Nothing to review.");
    nvim.quit();
}

#[test]
fn a_range_is_decided_at_once() {
    let nvim = listed(Project::new());
    nvim.keys("gg");
    wait_at(&nvim, "a.txt");
    nvim.keys("jVjr");
    wait_file(&nvim, "a.txt", "one\ntwo\nthree\nfour\nfive\nsix\n");
    wait_count(&nvim, 2);
    assert_eq!(nvim.mode(), "n");
    nvim.keys("VGa");
    wait_count(&nvim, 0);
    nvim.quit();
}

#[test]
fn a_count_decides_on_as_many_lines() {
    let nvim = listed(Project::new());
    nvim.keys("gg");
    wait_at(&nvim, "a.txt");
    nvim.keys("j2r");
    wait_file(&nvim, "a.txt", "one\ntwo\nthree\nfour\nfive\nsix\n");
    wait_count(&nvim, 2);
    nvim.quit();
}

#[test]
fn the_key_that_closes_the_list_ends_the_recording_of_a_macro() {
    let nvim = listed(Project::new());
    nvim.keys("gg");
    wait_at(&nvim, "a.txt");
    // Begun in another window.
    nvim.keys("<C-w>pqx<C-w>pjq");
    wait_at(&nvim, "TWO");
    nvim.wait("the end of the recording", || {
        nvim.lua("return vim.fn.reg_recording()", ()) == ""
    });
    assert_eq!(nvim.lua("return vim.fn.getreg('x')", ()), "\u{17}pj");
    wait_list(&nvim);
    nvim.keys("q");
    nvim.wait("the list to close", || talk::here(&nvim) != "acp-review");
    nvim.quit();
}

#[test]
fn everything_is_decided_after_confirmation() {
    let nvim = listed(Project::new());
    nvim.keys("R");
    nvim.wait_text("Reject everything in 3 files?");
    nvim.keys("q");
    nvim.wait("the question to go", || {
        !nvim.screen().has("Reject everything")
    });
    wait_count(&nvim, 4);
    nvim.keys("R");
    nvim.wait_text("Reject everything in 3 files?");
    nvim.keys("y");
    wait_count(&nvim, 0);
    wait_file(&nvim, "sub/b.txt", "b\nb\nb\n");
    nvim.wait("the new file to be deleted", || {
        !nvim.project.path("new.txt").exists()
    });
    nvim.quit();
}

#[test]
fn jumping_leads_to_the_hunk_and_leaves_the_list_open() {
    let nvim = listed(Project::new());
    nvim.keys("gg");
    wait_at(&nvim, "a.txt");
    nvim.keys("jj<CR>");
    nvim.wait("the hunk", || {
        nvim.lua("return vim.fn.expand('%:t')", ()) == "a.txt" && row(&nvim) == 4
    });
    let shown = talk::windows(&nvim);
    assert!(shown.contains(&"acp-review".to_owned()), "{shown:?}");
    let windows = nvim.lua("return #vim.api.nvim_list_wins()", ());
    nvim.cmd("Acp review");
    wait_at(&nvim, "FIVE");
    assert_eq!(nvim.lua("return #vim.api.nvim_list_wins()", ()), windows);
    nvim.keys("Go");
    nvim.wait("the split", || {
        nvim.lua("return vim.fn.expand('%:t')", ()) == "b.txt" && row(&nvim) == 2
    });
    nvim.quit();
}

#[test]
fn the_list_follows_what_changes_and_the_cursor_stays_with_its_item() {
    let nvim = listed(Project::new());
    nvim.keys("gg");
    wait_at(&nvim, "a.txt");
    nvim.keys("jj");
    wait_at(&nvim, "FIVE");
    nvim.lua(
        "vim.fn.bufload(vim.fn.bufadd('a.txt'))
        vim.api.nvim_buf_set_lines(vim.fn.bufnr('a.txt'), 0, 0, false, { 'mine' })",
        (),
    );
    nvim.wait_text("    6 ");
    wait_at(&nvim, "FIVE");
    nvim.keys("k");
    wait_at(&nvim, "TWO");
    nvim.keys("j");
    nvim.lua(
        "vim.api.nvim_win_call(vim.fn.win_getid(1), function()
            vim.cmd('hide edit a.txt')
            vim.cmd('3Acp accept')
        end)",
        (),
    );
    wait_count(&nvim, 3);
    wait_at(&nvim, "FIVE");
    nvim.quit();
}

#[test]
fn closing_the_list_closes_the_preview() {
    let nvim = changed(Project::new());
    let windows = nvim.lua("return #vim.api.nvim_list_wins()", ());
    for close in ["q", ":close<CR>", ":bwipeout<CR>"] {
        nvim.cmd("Acp review");
        wait_list(&nvim);
        nvim.keys(close);
        nvim.wait("the old windows", || {
            nvim.lua("return #vim.api.nvim_list_wins()", ()) == windows
        });
    }
    nvim.cmd("Acp review");
    wait_list(&nvim);
    nvim.keys("pp");
    nvim.keys("p");
    nvim.wait("one more window", || {
        nvim.lua("return #vim.api.nvim_list_wins()", ()).as_u64()
            == windows.as_u64().map(|count| count + 1)
    });
    nvim.quit();
}

#[test]
fn closing_a_list_that_is_the_only_window_leads_to_the_file_used_last() {
    let nvim = changed(Project::new());
    for command in ["Acp review", "Acp sessions"] {
        nvim.cmd("edit sub/b.txt | edit own.txt");
        nvim.cmd(command);
        nvim.wait("the list", || {
            let kind = nvim.lua("return vim.bo.filetype", ());
            kind.as_str().is_some_and(|kind| kind.starts_with("acp-"))
        });
        nvim.keys(":only<CR>q");
        nvim.wait("the file", || {
            nvim.lua("return vim.fn.bufname()", ()) == "own.txt"
        });
        assert_eq!(nvim.lua("return vim.fn.winnr('$')", ()), 1);
    }
    nvim.quit();
}

#[test]
fn the_last_decision_can_be_undone() {
    let nvim = listed(Project::new());
    nvim.keys("gg");
    wait_at(&nvim, "a.txt");
    nvim.keys("r");
    wait_file(&nvim, "a.txt", "one\ntwo\nthree\nfour\nfive\nsix\n");
    wait_at(&nvim, "new.txt");
    nvim.keys("a");
    wait_count(&nvim, 1);
    nvim.keys("u");
    wait_count(&nvim, 2);
    nvim.keys("u");
    wait_count(&nvim, 4);
    wait_file(&nvim, "a.txt", "one\nTWO\nthree\nfour\nFIVE\n");
    nvim.quit();
}
