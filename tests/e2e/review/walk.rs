//! Moving from hunk to hunk, across files and from any window.

use std::rc::Rc;

use serde_json::json;

use super::{NEW, OLD, reviewed, row, wait_file, wait_shown};
use crate::files::{Script, last_turn, open, start};
use crate::harness::{Nvim, Project};
use crate::talk;

/// Has the agent change three files; the first is in the current window.
#[track_caller]
fn three_files(project: Project) -> Nvim {
    let script = Script::new()
        .writes("a.txt", NEW)
        .writes("b.txt", "b\nb\nB\n")
        .writes("c.txt", "C\nc\nc\nC\n");
    let project = project
        .file("a.txt", OLD)
        .file("b.txt", "b\nb\nb\n")
        .file("c.txt", "c\nc\nc\nc\n")
        .agent("agent", &script.done());
    let nvim = start(project, "a.txt");
    last_turn(&nvim);
    let count = "return #require('acp').review.hunks()";
    nvim.wait("all hunks", || nvim.lua(count, ()) == 7);
    talk::wait_queue_closed(&nvim);
    nvim
}

/// Checks the file and the row that each key leads to.
#[track_caller]
fn check_walk(nvim: &Nvim, steps: &[(&str, &str, usize)]) {
    for (step, (keys, file, at)) in steps.iter().enumerate() {
        nvim.keys(keys);
        let here = || {
            let name = nvim.lua("return vim.fn.expand('%:t')", ());
            (name.as_str().unwrap_or_default().to_owned(), row(nvim))
        };
        nvim.wait(
            &format!("step {step} ({keys}) to end at {file}:{at}"),
            || here() == ((*file).to_owned(), *at),
        );
    }
}

#[test]
fn keys_go_through_the_hunks_of_a_file_and_wrap_around() {
    let nvim = reviewed(OLD, NEW);
    nvim.wait_text("4/4");
    check_walk(
        &nvim,
        &[
            ("]a", "a.txt", 1),
            ("]a", "a.txt", 3),
            ("]a", "a.txt", 5),
            ("]a", "a.txt", 6),
            ("]a", "a.txt", 1),
            ("[a", "a.txt", 6),
            ("[a", "a.txt", 5),
            ("2G<C-o>", "a.txt", 5),
            (":Acp next 2<CR>", "a.txt", 1),
            (":Acp prev<CR>", "a.txt", 6),
            ("2]a", "a.txt", 3),
            ("3[a", "a.txt", 5),
        ],
    );
    nvim.quit();
}

#[test]
fn a_decision_goes_on_to_the_next_hunk_if_the_user_wants_that() {
    let project = Project::new().before("set nomore");
    let nvim = three_files(project.config("review", json!({ "advance": true })));
    nvim.wait_text("4/4");
    check_walk(
        &nvim,
        &[
            ("gg]a", "a.txt", 1),
            ("\\a", "a.txt", 3),
            ("\\r", "a.txt", 5),
            ("\\a", "a.txt", 6),
            ("\\a", "b.txt", 2),
        ],
    );
    wait_shown(&nvim);
    check_walk(&nvim, &[("\\a", "c.txt", 0)]);
    wait_shown(&nvim);
    // The last one has no next one.
    check_walk(&nvim, &[("\\a", "c.txt", 3), ("\\a", "c.txt", 3)]);
    nvim.wait("no hunk", || {
        nvim.lua("return #require('acp').review.hunks()", ()) == 0
    });
    assert_eq!(row(&nvim), 3);
    // Each decision is taken back, the accepted ones as well.
    for left in [1, 2, 3, 4] {
        nvim.keys(":Acp undo<CR>");
        nvim.wait("a hunk to come back", || {
            nvim.lua("return #require('acp').review.hunks()", ()) == left
        });
    }
    nvim.quit();
}

#[test]
fn keys_go_from_file_to_file() {
    let nvim = three_files(Project::new().before("set nomore"));
    nvim.wait_text("4/4");
    check_walk(
        &nvim,
        &[
            ("G]a", "b.txt", 2),
            (":Acp next<CR>", "c.txt", 0),
            (":Acp next<CR>", "c.txt", 3),
            (":Acp next<CR>", "a.txt", 1),
            (":Acp prev<CR>", "c.txt", 3),
            (":lua require('acp').review.prev()<CR>", "c.txt", 0),
            (":lua require('acp').review.prev()<CR>", "b.txt", 2),
            (":lua require('acp').review.next()<CR>", "c.txt", 0),
        ],
    );
    nvim.quit();
}

#[test]
fn next_goes_from_the_chat_to_a_window_with_a_file() {
    let nvim = three_files(Project::new().before("set nomore"));
    nvim.cmd("AcpChat");
    nvim.wait("the chat", || {
        nvim.lua("return vim.bo.filetype", ()) == "acp-input"
    });
    nvim.keys("<C-\\><C-n>");
    let windows = nvim.lua("return #vim.api.nvim_list_wins()", ());
    check_walk(&nvim, &[(":Acp next<CR>", "a.txt", 1)]);
    assert_eq!(nvim.lua("return #vim.api.nvim_list_wins()", ()), windows);
    nvim.quit();
}

#[test]
fn a_chat_alone_gets_a_window_beside_it() {
    let nvim = three_files(Project::new().before("set nomore"));
    nvim.cmd("AcpChat");
    nvim.keys("<C-\\><C-n>");
    nvim.lua(
        "for _, win in ipairs(vim.api.nvim_list_wins()) do
            local buf = vim.api.nvim_win_get_buf(win)
            if vim.bo[buf].buftype == '' then
                vim.api.nvim_win_close(win, true)
            end
        end",
        (),
    );
    check_walk(&nvim, &[(":Acp next<CR>", "a.txt", 1)]);
    nvim.quit();
}

#[test]
fn unsaved_text_does_not_prevent_a_jump() {
    let nvim = three_files(Project::new().before("set nohidden"));
    nvim.wait_text("4/4");
    nvim.keys("Gounsaved<Esc>");
    check_walk(&nvim, &[(":Acp next<CR>", "b.txt", 2)]);
    nvim.cmd("buffer a.txt");
    assert_eq!(
        nvim.buf_lines(0).last().map(String::as_str),
        Some("unsaved")
    );
    nvim.quit();
}

#[test]
fn a_window_that_shows_the_file_is_used() {
    let nvim = three_files(Project::new().before("set nomore"));
    nvim.cmd("topleft split b.txt");
    nvim.cmd("wincmd w");
    let windows = nvim.lua("return #vim.api.nvim_list_wins()", ());
    check_walk(&nvim, &[("7G:Acp next<CR>", "b.txt", 2)]);
    assert_eq!(nvim.lua("return #vim.api.nvim_list_wins()", ()), windows);
    let shown = "return vim.tbl_map(function(win)
        return vim.fs.basename(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)))
    end, vim.api.nvim_list_wins())";
    let shown = nvim.lua(shown, ());
    assert_eq!(shown[0], "b.txt");
    assert_eq!(shown[1], "a.txt");
    nvim.quit();
}

#[test]
fn a_window_that_shows_a_file_with_braces_in_its_path_is_used() {
    let script = Script::new()
        .writes("a.txt", NEW)
        .writes("{{x}}/b.txt", "b\nB\n");
    let project = Project::new()
        .before("set nomore")
        .file("a.txt", OLD)
        .file("{{x}}/b.txt", "b\nb\n")
        .agent("agent", &script.done());
    let nvim = start(project, "a.txt");
    last_turn(&nvim);
    nvim.wait("all hunks", || {
        nvim.lua("return #require('acp').review.hunks()", ()) == 5
    });
    let split = "vim.cmd('topleft split ' .. vim.fn.fnameescape(...))";
    nvim.lua(split, ("{{x}}/b.txt",));
    nvim.cmd("wincmd w");
    check_walk(&nvim, &[("7G:Acp next<CR>", "b.txt", 1)]);
    assert_eq!(nvim.lua("return vim.fn.winnr()", ()), 1);
    nvim.quit();
}

#[test]
fn a_hunk_in_a_closed_fold_is_opened() {
    let lines: Vec<String> = (1..=30).map(|n| format!("line {n}")).collect();
    let old = lines.join("\n") + "\n";
    let nvim = reviewed(&old, &old.replace("line 20\n", "LINE 20\n"));
    nvim.wait_text("1/1");
    nvim.keys(":15,25fold<CR>gg");
    check_walk(&nvim, &[("]a", "a.txt", 19)]);
    assert_eq!(nvim.lua("return vim.fn.foldclosed('.')", ()), -1);
    nvim.quit();
}

#[test]
fn a_jump_without_hunks_shows_a_message_and_goes_nowhere() {
    let nvim = start(Project::new().agent("agent", &Script::new().done()), "");
    let filetype = |nvim: &Nvim| nvim.lua("return vim.bo.filetype", ());
    nvim.cmd("AcpChat");
    nvim.wait("the chat", || filetype(&nvim) == "acp-input");
    nvim.cmd("Acp next");
    nvim.wait_text("Nothing to review.");
    assert_eq!(filetype(&nvim), "acp-input");
    nvim.quit();
}

#[test]
fn a_jump_to_a_file_that_was_only_moved_says_where_it_was() {
    let script = Script::new().step(json!({ "shell": "mv a.txt b.txt" }));
    let project = Project::new()
        .file("a.txt", OLD)
        .agent("agent", &script.done());
    let nvim = start(project, "a.txt");
    last_turn(&nvim);
    nvim.wait_text("b.txt");
    nvim.wait("the review", || {
        nvim.lua("return require('acp.native').load().review_files()", ()) == 1
    });
    nvim.cmd("enew");
    nvim.keys(":Acp next<CR>");
    nvim.wait_text("The agent moved this file from a.txt.");
    nvim.quit();
}

#[test]
fn the_quickfix_list_has_every_hunk() {
    let nvim = three_files(Project::new().before("set nomore"));
    nvim.cmd("Acp review!");
    let list = nvim.lua(
        "return vim.tbl_map(function(item)
            return { vim.fs.basename(vim.api.nvim_buf_get_name(item.bufnr)), item.lnum }
        end, vim.fn.getqflist())",
        (),
    );
    let expected = json!([
        ["a.txt", 2],
        ["a.txt", 4],
        ["a.txt", 6],
        ["a.txt", 7],
        ["b.txt", 3],
        ["c.txt", 1],
        ["c.txt", 4]
    ]);
    assert_eq!(list, expected);
    nvim.quit();
}

#[test]
fn a_hunk_in_a_file_with_a_swap_file_asks_nothing_and_says_what_to_do() {
    let script = Script::new().writes("b.txt", "b\nB\n");
    let project = Project::new()
        .file("a.txt", OLD)
        .file("b.txt", "b\nb\n")
        .before("set nomore")
        .agent("agent", &script.done());
    let project = Rc::new(project);
    let mut crashed = Nvim::start(Rc::clone(&project));
    crashed.cmd("edit b.txt");
    crashed.keys("ounsaved<Esc>:preserve<CR>");
    assert_eq!(crashed.mode(), "n");
    crashed.kill();
    let nvim = Nvim::start(project);
    nvim.cmd("edit a.txt");
    open(&nvim);
    last_turn(&nvim);
    nvim.wait("the hunk", || {
        nvim.lua("return #require('acp').review.hunks()", ()) == 1
    });
    nvim.keys(":Acp next<CR>");
    nvim.wait_text("has a swap file");
    assert!(!nvim.blocked());
    assert_eq!(nvim.lua("return vim.fn.expand('%:t')", ()), "a.txt");
    // A key says the same.
    nvim.cmd("messages clear | Acp review");
    nvim.wait_text("Review · 1 file");
    nvim.keys("<CR>");
    nvim.wait("the sentence", || {
        nvim.messages().contains("b.txt has a swap file")
    });
    assert!(!nvim.messages().contains("internal error"));
    nvim.quit();
}

#[test]
fn a_hunk_is_shown_in_a_file_whose_autocommand_has_failed() {
    let fails = "set nomore | autocmd BufReadPost b.txt let g:x = nosuch";
    let nvim = three_files(Project::new().before(fails).size(160, 30));
    nvim.wait_text("4/4");
    check_walk(&nvim, &[("G]a", "b.txt", 2)]);
    nvim.wait("the error", || nvim.messages().contains("nosuch"));
    assert!(!nvim.messages().contains("internal error"));
    wait_shown(&nvim);
    nvim.keys("\\r");
    wait_file(&nvim, "b.txt", "b\nb\nb\n");
    nvim.quit();
}

#[test]
fn the_keys_stay_in_a_file_that_is_decided_until_all_are() {
    let nvim = three_files(Project::new());
    nvim.wait_text("4/4");
    let mapped = |key: &str| {
        let local = "return vim.fn.maparg(..., 'n', false, true).buffer == 1";
        nvim.lua(local, (key,)) == true
    };
    nvim.keys("\\A");
    let left = "return #require('acp').review.hunks()";
    nvim.wait("the decision", || nvim.lua(left, ()) == 3);
    nvim.wait("no hunk to be shown", || !nvim.screen().has("4/4"));
    // Not Neovim's `r`, which would take the next key as well.
    nvim.keys("gg\\rx");
    nvim.wait_text("No change to review here");
    assert_eq!(nvim.buf_lines(0)[0], "ne");
    nvim.keys("u");
    check_walk(&nvim, &[("]a", "b.txt", 2), ("[a", "c.txt", 3)]);
    nvim.cmd("edit a.txt");
    assert!(mapped("]a") && mapped("\\r"));
    nvim.cmd("Acp accept all");
    nvim.wait("the decision", || nvim.lua(left, ()) == 0);
    nvim.cmd("edit b.txt");
    nvim.cmd("edit a.txt");
    nvim.wait("the keys to go", || !mapped("]a") && !mapped("\\r"));
    nvim.quit();
}

#[test]
fn a_key_after_the_last_decision_is_not_neovims_own() {
    for (key, says) in [
        ("]a", "Nothing to review."),
        ("\\a", "Nothing to review here."),
    ] {
        let nvim = reviewed(OLD, NEW);
        // Neovim's own key goes to the next one.
        nvim.cmd("argadd a.txt b.txt");
        nvim.wait_text("/4");
        nvim.keys("\\A");
        nvim.wait("the hunks to go", || !nvim.screen().has("/4"));
        nvim.keys(key);
        nvim.wait_text(says);
        assert_eq!(nvim.lua("return vim.fn.expand('%:t')", ()), "a.txt");
        assert_eq!(nvim.mode(), "n");
        let local = "return vim.fn.maparg(']a', 'n', false, true).buffer";
        assert_ne!(nvim.lua(local, ()), 1);
        nvim.quit();
    }
}
