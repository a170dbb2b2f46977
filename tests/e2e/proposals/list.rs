//! Proposals in the review list: shown, visited and decided there.

use super::*;
use crate::review_list::wait_at;

/// Starts with a question about changes of `a.txt` and of a new file, and opens the list.
#[track_caller]
fn listed() -> Nvim {
    let diffs = [
        diff("a.txt", Some(OLD), NEW),
        diff("new.txt", None, "made\n"),
    ];
    let script = Script::new()
        .step(permission("t", &diffs))
        .step(answer("t", "allow_once"))
        .writes("a.txt", NEW)
        .writes("new.txt", "made\n");
    let nvim = asked_in(Project::new().size(100, 30), script);
    to_file(&nvim);
    nvim.cmd("Acp review");
    nvim.wait_text("4 proposed");
    nvim
}

#[test]
fn proposals_are_in_the_list_with_a_preview() {
    let nvim = listed();
    assert!(!nvim.screen().has("No change"));
    nvim.keys("gg");
    wait_at(&nvim, "a.txt");
    nvim.wait_text("│Edit t");
    let rows = nvim.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)", ());
    let want = [
        "a.txt +3 -2  proposed",
        "      2 ~ TWO  proposed",
        "      4 ~ FOUR  proposed",
        "      7 + seven  proposed",
        "new.txt +1  proposed  new file",
        "      1 + made  proposed",
    ];
    assert_eq!(rows, json!(want));
    nvim.quit();
}

#[test]
fn a_proposal_is_visited_from_the_list() {
    let nvim = listed();
    nvim.keys("gg");
    wait_at(&nvim, "a.txt");
    nvim.keys("jj<CR>");
    nvim.wait("the file", || {
        nvim.lua("return vim.fn.expand('%:t') .. vim.fn.line('.')", ()) == "a.txt4"
    });
    nvim.quit();
}

#[test]
fn a_proposal_is_decided_in_the_list_and_applied_once_it_is_written() {
    let nvim = listed();
    nvim.keys("gg");
    wait_at(&nvim, "a.txt");
    nvim.keys("jjr");
    nvim.wait_text("FOUR  rejected");
    nvim.keys("A");
    nvim.wait_text("Accept everything in 2 files?");
    nvim.keys("y");
    wait_answered(&nvim);
    nvim.wait_script("agent");
    wait_file(&nvim, "a.txt", "one\nTWO\nthree\nfour\nfive\nsix\nseven\n");
    wait_file(&nvim, "new.txt", "made\n");
    wait_states(&nvim, json!([]));
    nvim.wait_text("Nothing to review.");
    nvim.quit();
}

#[test]
fn the_transcript_fills_its_window_again_after_the_list_is_closed() {
    let lines: String = (0..40).map(|n| format!("line {n}\n")).collect();
    let change = lines.replace("line 20\n", "LINE 20\n");
    let yes = json!({ "optionId": "yes", "name": "Allow", "kind": "allow_once" });
    let mut asks = permission("t", &[diff("b.txt", Some(&lines), &change)]);
    asks["options"] = json!([yes]);
    let script = Script::new()
        .step(json!({ "say": "Some words. ".repeat(30) }))
        .step(asks)
        .step(json!({ "await": "t" }));
    let nvim = asked_in(Project::new().size(80, 24).file("b.txt", &lines), script);
    wait_asked(&nvim);
    let proposed = "return #require('acp').review.hunks()";
    nvim.wait("the proposal", || nvim.lua(proposed, ()) == 1);
    nvim.cmd("wincmd t");
    nvim.keys(":Acp next<CR>zz");
    nvim.wait_text("LINE 20");
    nvim.wait_text("Some words.");
    nvim.keys(":Acp review<CR>");
    nvim.wait_text("1 proposed");
    nvim.keys("q");
    nvim.wait("the list to go", || !nvim.screen().has("1 proposed"));
    nvim.wait_text("Some words.");
    nvim.quit();
}
