//! An agent's edits wait until no key refers to lines of the buffer: each key then strikes the line
//! that the user saw.

use serde_json::json;

use super::{Script, go_on, start, wait_lines, wait_pause};
use crate::harness::{Nvim, Project};

const BEFORE: &str = "apple\napricot\nb\nc\nd\n";

/// Starts a turn that inserts a line at the top of the current buffer when the test continues it.
#[track_caller]
fn prompted() -> Nvim {
    prompted_by(|script| script)
}

/// Like [`prompted`], with the steps that `more` adds between the pause and the insertion.
#[track_caller]
fn prompted_by(more: impl FnOnce(Script) -> Script) -> Nvim {
    let script = Script::new().reads("a.txt", BEFORE).pause("p");
    let script = more(script).writes("a.txt", &format!("new\n{BEFORE}"));
    let project = Project::new().file("a.txt", BEFORE);
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    super::prompt(&nvim);
    wait_pause(&nvim, "p");
    nvim
}

/// Lets the agent write while the user's command is unfinished, then waits until the edit is held.
#[track_caller]
fn write_arrives(nvim: &Nvim) {
    go_on(nvim, "p");
    // Neovim 0.10 runs nothing while a command asks, so it holds the edit itself.
    nvim.wait("the edit to be held", || nvim.blocked() || is_held(nvim));
}

/// Returns whether an edit waits for the end of the user's command.
#[track_caller]
pub fn is_held(nvim: &Nvim) -> bool {
    nvim.lua(
        "return #vim.api.nvim_get_autocmds({ group = 'acp.nvim', event = 'SafeState' }) > 0",
        (),
    ) == true
}

/// Ends the command with `keys`; the buffer has `lines` then, the agent's among them.
#[track_caller]
fn check(nvim: Nvim, keys: &str, lines: &[&str]) {
    nvim.keys(keys);
    wait_lines(&nvim, lines);
    nvim.wait_script("agent");
    assert!(
        !is_held(&nvim),
        "the end of a command is watched without need"
    );
    nvim.quit();
}

#[test]
fn a_completion_under_way_keeps_its_line() {
    let nvim = prompted();
    nvim.keys("3GAap<C-n><C-n>");
    write_arrives(&nvim);
    let lines = ["new", "apple", "apricot", "bap", "c", "d"];
    check(nvim, "<C-e>", &lines);
}

#[test]
fn an_accepted_completion_stays_and_the_edit_lands_after_it() {
    let nvim = prompted();
    nvim.keys("3GA ap<C-n>");
    write_arrives(&nvim);
    let lines = ["new", "apple", "apricot", "b apricot!", "c", "d"];
    check(nvim, "<C-n><C-p><C-n><C-y>!", &lines);
}

#[test]
fn an_operator_strikes_the_lines_that_the_user_saw() {
    let nvim = prompted();
    nvim.keys("3Gd");
    write_arrives(&nvim);
    check(nvim, "2G", &["new", "apple", "c", "d"]);
}

#[test]
fn a_command_line_means_the_lines_that_the_user_saw() {
    let nvim = prompted();
    nvim.keys(":2,3d");
    write_arrives(&nvim);
    check(nvim, "<CR>", &["new", "apple", "c", "d"]);
}

#[test]
fn a_substitution_that_asks_changes_the_lines_that_the_user_saw() {
    let nvim = prompted();
    nvim.keys(":%s/ap/AP/c<CR>");
    nvim.wait_text("replace with AP");
    write_arrives(&nvim);
    check(nvim, "yy", &["new", "APple", "APricot", "b", "c", "d"]);
}

#[test]
fn a_command_that_asks_before_it_goes_on_strikes_the_lines_that_the_user_saw() {
    let nvim = prompted();
    nvim.keys(":3 | let at = line('.') | call confirm('Sure?') | execute at 'delete'<CR>");
    nvim.wait_text("[O]k");
    write_arrives(&nvim);
    check(nvim, "<CR>", &["new", "apple", "apricot", "c", "d"]);
}

#[test]
fn a_text_typed_into_a_block_is_repeated_in_its_lines() {
    let nvim = prompted();
    nvim.keys("3G<C-v>jI# ");
    write_arrives(&nvim);
    let lines = ["new", "apple", "apricot", "# b", "# c", "d"];
    check(nvim, "<Esc>", &lines);
}

#[test]
fn a_text_typed_into_a_block_is_repeated_in_its_lines_while_the_chat_scrolls() {
    let long: String = (1..60).map(|n| format!("line {n}\n\n")).collect();
    // The fold of the thought leaves the window half empty, until it scrolls.
    let nvim = prompted_by(|script| {
        script
            .step(json!({ "say": long }))
            .step(json!({ "think": "a\nb\nc" }))
            .step(json!({ "say": "The end." }))
    });
    nvim.keys("3G<C-v>jI# ");
    write_arrives(&nvim);
    nvim.wait_text("The end.");
    assert!(is_held(&nvim), "the end of the block is not waited for");
    let lines = ["new", "apple", "apricot", "# b", "# c", "d"];
    check(nvim, "<Esc>", &lines);
}

#[test]
fn a_selection_stays_on_its_lines() {
    let nvim = prompted();
    nvim.keys("2GVj");
    write_arrives(&nvim);
    check(nvim, "d", &["new", "apple", "c", "d"]);
}

#[test]
fn a_macro_strikes_the_lines_that_the_user_saw() {
    let nvim = prompted();
    nvim.lua(
        "vim.fn.setreg('q', ':lua vim.wait(60000, function() return vim.g.go end, 5)\\r3Gdd')",
        (),
    );
    nvim.keys("@q");
    write_arrives(&nvim);
    nvim.lua("vim.g.go = true", ());
    check(nvim, "", &["new", "apple", "apricot", "c", "d"]);
}

#[test]
fn a_buffer_in_which_no_key_is_pending_does_not_wait() {
    let nvim = prompted();
    nvim.cmd("new");
    nvim.keys("iap<CR>ap<C-n>");
    go_on(&nvim, "p");
    nvim.wait_script("agent");
    assert_eq!(nvim.mode(), "ic");
    nvim.quit();
}

#[test]
fn a_buffer_that_neovim_is_reading_is_not_taken_for_an_empty_one() {
    for before in ["apple\nb\n", "\u{feff}apple\r\nb\r\n", "äpple\nb\n"] {
        let lines: Vec<&str> = before.trim_start_matches('\u{feff}').lines().collect();
        let after = format!("new\n{}", before.trim_start_matches('\u{feff}'));
        let script = Script::new().pause("p").writes("a.txt", &after);
        let project = Project::new().file("a.txt", before);
        let nvim = start(project.agent("agent", &script.done()), "a.txt");
        super::prompt(&nvim);
        wait_pause(&nvim, "p");
        nvim.lua(
            "vim.api.nvim_create_autocmd('BufReadPre', { callback = function()
                vim.wait(60000, function() return vim.g.go end, 5)
            end })",
            (),
        );
        nvim.keys(":edit<CR>");
        nvim.wait("the text to be gone", || {
            nvim.lua("return vim.api.nvim_buf_line_count(0)", ()) == 1
        });
        // The agent's write is answered during the wait: the file has it.
        go_on(&nvim, "p");
        nvim.wait_script("agent");
        nvim.lua("vim.g.go = true", ());
        wait_lines(&nvim, &[&["new"], &lines[..]].concat());
        super::wait_hunks(&nvim, serde_json::json!([[0, [], ["new"], "pending"]]));
        nvim.cmd("Acp reject all");
        wait_lines(&nvim, &lines);
        nvim.wait("the old bytes", || nvim.project.read("a.txt") == before);
        nvim.quit();
    }
}

#[test]
fn a_buffer_whose_swap_file_neovim_asks_about_is_not_taken_for_an_empty_one() {
    let nvim = prompted();
    nvim.cmd("set directory=. swapfile shortmess-=A");
    nvim.lua("vim.fn.writefile({ 'b0nVIM\\n' }, '.a.txt.swp')", ());
    nvim.keys(":edit<CR>");
    nvim.wait_text("(E)dit anyway");
    go_on(&nvim, "p");
    nvim.wait_script("agent");
    nvim.keys("e");
    wait_lines(&nvim, &["new", "apple", "apricot", "b", "c", "d"]);
    super::wait_hunks(&nvim, serde_json::json!([[0, [], ["new"], "pending"]]));
    nvim.quit();
}
