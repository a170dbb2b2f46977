//! The tutor's lessons, taken as a new user would take them.

use super::harness::{Nvim, Project};

const PRACTICE: &str = include_str!("../../agents/src/bin/acp-tutor/acp-practice.lua");

/// Opens the file of `make try` and the chat, with `delay` milliseconds between the tutor's words.
fn try_it(delay: &str) -> Nvim {
    let nvim = Project::new()
        .file("acp-practice.lua", PRACTICE)
        .env("ACP_TUTOR_DELAY_MS", delay)
        .start();
    nvim.cmd("edit acp-practice.lua");
    nvim.cmd("AcpChat tutor");
    wait_said(&nvim, "# Hello!");
    nvim
}

/// Types a prompt into the input and sends it, then waits for `answer` and the end of the turn.
fn ask(nvim: &Nvim, prompt: &str, answer: &str) {
    nvim.keys(&format!("i{prompt}<Esc><CR>"));
    wait_said(nvim, answer);
    nvim.wait("the end of the turn", || phase(nvim) == "idle");
}

/// Waits until the chat contains `text`, in one line or wrapped.
fn wait_said(nvim: &Nvim, text: &str) {
    let chat = "for _, buf in ipairs(vim.api.nvim_list_bufs()) do
            if vim.bo[buf].filetype == 'acp-chat' then
                return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), ' ')
            end
        end";
    nvim.wait(&format!("{text:?} in the chat"), || {
        let said = nvim.lua(chat, ());
        said.as_str().is_some_and(|said| said.contains(text))
    });
}

fn phase(nvim: &Nvim) -> String {
    let phase = nvim.lua("return require('acp').status().phase", ());
    phase.as_str().unwrap_or_default().to_owned()
}

fn hunks(nvim: &Nvim) -> usize {
    let count = nvim.lua("return #require('acp').review.hunks()", ());
    count.as_u64().unwrap_or_default() as usize
}

#[test]
fn the_greeting_says_what_to_type_and_that_works() {
    let nvim = try_it("0");
    wait_said(&nvim, "Write `help`");
    ask(&nvim, "help", "12. **finish**");
    ask(&nvim, "next", "## Text is streamed");
    ask(&nvim, "next", "Plan 4/4");
    ask(&nvim, "finish", ":AcpChat claude");
    nvim.quit();
}

#[test]
fn the_tutor_quotes_an_unsaved_line() {
    let nvim = try_it("0");
    nvim.keys("<C-w>hGo-- mine alone<Esc><C-w>l");
    ask(&nvim, "read", "Line 28 of");
    nvim.wait("the line in the file and in the chat", || {
        let rows = nvim.screen().rows();
        rows.iter()
            .filter(|row| row.contains("-- mine alone"))
            .count()
            == 2
    });
    assert_eq!(nvim.project.read("acp-practice.lua"), PRACTICE);
    nvim.quit();
}

#[test]
fn three_hunks_are_decided_from_the_chat() {
    let nvim = try_it("0");
    ask(&nvim, "edit", "say `done`");
    nvim.wait("three hunks", || hunks(&nvim) == 3);
    nvim.keys(":Acp next<CR>:Acp reject<CR>");
    nvim.wait("the first to be gone", || hunks(&nvim) == 2);
    nvim.keys(":Acp next<CR>:Acp accept<CR>");
    nvim.wait("the second to be accepted", || hunks(&nvim) == 1);
    nvim.keys(":AcpChat<CR>");
    ask(&nvim, "done", "greeting: **rejected**");
    // The feedback sent with the prompt does not change the word `done`.
    nvim.wait_text("Say `next` to go on.");
    let text = nvim.project.read("acp-practice.lua");
    assert!(text.contains("\"Hello \" .. name") && text.contains("in ipairs(numbers)"));
    nvim.quit();
}

#[test]
fn a_change_behind_the_editors_back_is_reviewed_and_the_turn_undone() {
    let nvim = try_it("0");
    nvim.keys("<C-w>hGo-- mine alone<Esc><C-w>l");
    ask(&nvim, "disk", "say `done`");
    nvim.wait("three hunks", || hunks(&nvim) == 3);
    nvim.keys(":Acp undo-turn<CR>");
    nvim.wait_text("Undo the turn");
    nvim.keys("y");
    nvim.wait("no hunk", || hunks(&nvim) == 0);
    // The unsaved line is kept, and only the user saves it.
    nvim.keys("<C-w>h:write<CR>");
    let kept = format!("{PRACTICE}-- mine alone\n");
    nvim.wait("the file to be as it was, with the user's line", || {
        nvim.project.read("acp-practice.lua") == kept
    });
    nvim.keys(":Acp undo-turn!<CR>");
    nvim.wait("three hunks again", || hunks(&nvim) == 3);
    nvim.quit();
}

#[test]
fn a_proposal_is_decided_in_the_file() {
    let nvim = try_it("0");
    nvim.keys("ipropose<Esc><CR>");
    nvim.wait_text("Do not change it");
    nvim.wait_text("press <Esc> and a key to answer");
    nvim.keys("<Esc>gf");
    nvim.wait_text("proposed 1/3");
    assert_eq!(nvim.project.read("acp-practice.lua"), PRACTICE);
    nvim.keys(":Acp accept<CR>:Acp next<CR>:Acp reject<CR>:Acp next<CR>:Acp accept<CR>");
    wait_said(&nvim, "The change is written");
    nvim.wait("the accepted hunks alone", || {
        let text = nvim.project.read("acp-practice.lua");
        text.contains("Hello, %s!") && text.contains("in pairs(numbers)") && text.contains("gsub")
    });
    nvim.wait("no hunk", || hunks(&nvim) == 0);
    nvim.quit();
}

#[test]
fn a_question_is_answered_with_the_key_beside_the_answer() {
    let nvim = try_it("0");
    nvim.keys("ipermission<CR>");
    nvim.wait_text("Never run it");
    nvim.wait_text("press <Esc><Esc> and a key to answer");
    nvim.keys("<Esc>");
    nvim.wait_text("press <Esc> and a key to answer");
    nvim.keys("<Esc>q");
    // Closing the window does not answer the question.
    nvim.keys(":Acp permission<CR>:q<CR>");
    nvim.wait("the window to be gone", || {
        !nvim.screen().has("Never run it")
    });
    nvim.keys(":Acp permission<CR>");
    nvim.wait_text("Never run it");
    nvim.keys("y");
    wait_said(&nvim, "You said **once**");
    nvim.quit();
}

#[test]
fn a_stopped_turn_is_shown_as_cancelled() {
    let nvim = try_it("1");
    nvim.keys("icancel<Esc><CR>");
    nvim.wait_text("1 2");
    nvim.ctrl_c();
    nvim.wait_text("Cancelled.");
    nvim.wait("the end of the turn", || phase(&nvim) == "idle");
    nvim.wait_text("⊘");
    nvim.quit();
}

#[test]
fn the_tutor_runs_a_command_in_a_terminal() {
    let nvim = try_it("0");
    ask(&nvim, "terminal", "the last line I see is `line 8 of 8`");
    nvim.cmd("Acp terminal");
    nvim.wait("the command's output", || {
        let rows = nvim.screen().rows();
        rows.iter().any(|row| row.starts_with("line 8 of 8"))
    });
    nvim.quit();
}

/// Takes the lesson about tools and answers its question with "accept" or "decline".
fn answers_the_tool(action: &str) -> Nvim {
    let nvim = try_it("0");
    nvim.keys("itools<Esc><CR>");
    nvim.wait_text("Look where your cursor is");
    wait_said(&nvim, "\"unsaved\": 0");
    nvim.wait("the question", || {
        nvim.lua("return #require('acp').elicitation.list()", ()) == 1
    });
    nvim.lua(
        "local ask = require('acp').elicitation
        ask.answer(ask.list()[1].id, ...)",
        [action],
    );
    nvim.wait("the end of the turn", || phase(&nvim) == "idle");
    nvim
}

#[test]
fn the_tutor_calls_neovims_tools_and_follows_the_users_answer() {
    let nvim = answers_the_tool("accept");
    wait_said(&nvim, "You said **yes**.");
    wait_said(&nvim, "Your cursor is in");
    nvim.quit();
    let nvim = answers_the_tool("decline");
    wait_said(&nvim, "You did not say yes");
    nvim.quit();
}
