//! Prompts queued while the agent works: shown in a panel above the input and sent in order.

use serde_json::json;

use super::harness::{Nvim, Project};
use super::talk::{self, ended, go, go_on, here, open, said, status, wait_said, windows};

const ALL: [&str; 4] = ["", "acp-chat", "acp-queue", "acp-input"];
const WITHOUT: [&str; 3] = ["", "acp-chat", "acp-input"];

/// Returns a turn that expects this prompt, and ends when the test calls [`go_on`] with its name.
fn turn(prompt: &str) -> String {
    let lines = [
        json!({ "expect": "session/prompt", "params": { "prompt": [{ "text": prompt }] }, "as": prompt }),
        json!({ "say": format!("at {prompt}") }),
        json!({ "wait_file": format!("${{script_dir}}/{prompt}") }),
        json!({ "end": prompt }),
    ];
    lines.map(|line| line.to_string()).join("\n")
}

/// Returns a turn that expects this prompt, and waits to be cancelled.
fn cancelled(prompt: &str) -> String {
    let lines = [
        json!({ "expect": "session/prompt", "params": { "prompt": [{ "text": prompt }] }, "as": prompt }),
        json!({ "say": format!("at {prompt}") }),
        json!({ "expect": "session/cancel" }),
        json!({ "end": prompt, "reason": "cancelled" }),
    ];
    lines.map(|line| line.to_string()).join("\n")
}

/// Starts a chat whose agent is answering the first prompt, with two more in the queue.
#[track_caller]
fn busy(turns: &[String]) -> Nvim {
    let nvim = Project::new()
        .agent("scripted", &turns.join("\n"))
        .size(100, 24)
        .start();
    open(&nvim);
    talk::prompt(&nvim, "one");
    wait_said(&nvim, "at one");
    for text in ["two", "three"] {
        talk::prompt(&nvim, text);
    }
    wait_waiting(&nvim, &["1 two", "2 three"]);
    nvim
}

/// Waits until the panel shows exactly these prompts.
#[track_caller]
fn wait_waiting(nvim: &Nvim, want: &[&str]) {
    nvim.wait(&format!("{want:?} in the panel"), || {
        let lines = nvim.lua(
            "for _, buf in ipairs(vim.api.nvim_list_bufs()) do
              if vim.bo[buf].filetype == 'acp-queue' then
                return vim.tbl_map(vim.trim, vim.api.nvim_buf_get_lines(buf, 0, -1, true))
              end
            end
            return {}",
            (),
        );
        lines == json!(want) || want.is_empty() && lines == json!({})
    });
}

#[track_caller]
fn input(nvim: &Nvim) -> String {
    go(nvim, "acp-input");
    let text = nvim.lua(
        "return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '|')",
        (),
    );
    text.as_str().unwrap_or_default().to_owned()
}

#[test]
fn queued_prompts_are_shown_above_the_input_and_sent_one_by_one() {
    let nvim = busy(&[turn("one"), turn("two"), turn("three")]);
    assert_eq!(windows(&nvim), ALL);
    assert_eq!(here(&nvim), "acp-input");
    assert_eq!(status(&nvim)["queued"], 2);
    // The panel is visible, so there is no message.
    assert_eq!(nvim.messages(), "");
    if nvim.is_pictured() {
        let screen = nvim.drawn();
        insta::assert_snapshot!(screen.dump(1..screen.height - 1));
    }
    go_on(&nvim, "one");
    wait_said(&nvim, "at two");
    wait_waiting(&nvim, &["1 three"]);
    go_on(&nvim, "two");
    wait_said(&nvim, "at three");
    nvim.wait("the panel to go", || windows(&nvim) == WITHOUT);
    go_on(&nvim, "three");
    nvim.wait("all turns to end", || ended(&nvim).len() == 3);
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn all_queued_prompts_have_a_row_below_the_users_winbar() {
    let nvim = Project::new()
        .agent("scripted", &turn("one"))
        .before("set winbar=%f")
        .size(100, 30)
        .start();
    open(&nvim);
    talk::prompt(&nvim, "one");
    wait_said(&nvim, "at one");
    for text in ["two", "three"] {
        talk::prompt(&nvim, text);
        nvim.wait_text(text);
    }
    nvim.wait_text(" 1 two");
    nvim.wait_text(" 2 three");
    nvim.quit();
}

#[test]
fn the_hint_of_the_queues_keys_covers_no_prompt() {
    let nvim = busy(&[turn("one")]);
    talk::prompt(&nvim, &"long ".repeat(20));
    nvim.wait_text(" 3 long");
    nvim.keys("<Esc>:Acp queue<CR>gg");
    // The chat has 40 columns.
    nvim.wait_text("  <CR> edits · dd removes");
    assert!(!nvim.screen().has("sends now"));
    nvim.keys("G");
    nvim.wait("the hint to go", || !nvim.screen().has("<CR> edits"));
    nvim.wait_text(" 3 long long long");
    nvim.quit();
}

#[test]
fn a_queued_prompt_is_edited_and_removed_by_keys() {
    let nvim = busy(&[turn("one"), turn("two, corrected")]);
    nvim.keys("<Esc>:Acp queue<CR>");
    nvim.wait("the panel", || here(&nvim) == "acp-queue");
    nvim.keys("jdd");
    wait_waiting(&nvim, &["1 two"]);
    // Like any deleted text, it is in the unnamed register.
    assert_eq!(nvim.lua("return vim.fn.getreg('\"')", ()), "three\n");
    nvim.keys("<CR>");
    nvim.wait("the input", || here(&nvim) == "acp-input");
    nvim.wait("the panel to go", || windows(&nvim) == WITHOUT);
    nvim.wait("the prompt in the input", || input(&nvim) == "two");
    nvim.keys("A, corrected<CR>");
    wait_waiting(&nvim, &["1 two, corrected"]);
    go_on(&nvim, "one");
    wait_said(&nvim, "at two, corrected");
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn a_count_removes_several_queued_prompts() {
    let nvim = busy(&[turn("one")]);
    talk::prompt(&nvim, "four");
    wait_waiting(&nvim, &["1 two", "2 three", "3 four"]);
    go(&nvim, "acp-queue");
    nvim.keys("j2dd");
    wait_waiting(&nvim, &["1 two"]);
    assert_eq!(nvim.lua("return vim.fn.getreg()", ()), "three\nfour\n");
    nvim.keys("\"a9dd");
    wait_waiting(&nvim, &[]);
    assert_eq!(nvim.lua("return vim.fn.getreg('a')", ()), "two\n");
    nvim.quit();
}

#[test]
fn removing_the_last_queued_prompt_leads_to_an_empty_input() {
    let nvim = busy(&[turn("one")]);
    go(&nvim, "acp-queue");
    nvim.keys("2dd");
    nvim.wait("the panel to go", || windows(&nvim) == WITHOUT);
    assert_eq!(here(&nvim), "acp-input");
    nvim.quit();
}

#[test]
fn edit_in_the_panel_shows_the_prompts_again() {
    let nvim = busy(&[turn("one")]);
    go(&nvim, "acp-queue");
    nvim.cmd("edit");
    wait_waiting(&nvim, &["1 two", "2 three"]);
    nvim.keys("dd");
    wait_waiting(&nvim, &["1 three"]);
    nvim.cmd("edit");
    wait_waiting(&nvim, &["1 three"]);
    nvim.quit();
}

#[test]
fn keys_too_late_for_the_panel_leave_the_draft_alone() {
    let nvim = busy(&[turn("one")]);
    go(&nvim, "acp-input");
    nvim.keys("ia draft<Esc>:Acp queue<CR>");
    nvim.wait("the panel", || here(&nvim) == "acp-queue");
    nvim.keys("dd");
    wait_waiting(&nvim, &["1 three"]);
    nvim.keys("dd");
    nvim.wait("the panel to go", || windows(&nvim) == WITHOUT);
    assert_eq!(here(&nvim), "acp-chat");
    nvim.input("dd");
    assert_eq!(input(&nvim), "a draft");
    nvim.quit();
}

#[test]
fn the_draft_stays_when_a_queued_prompt_is_edited() {
    let nvim = busy(&[turn("one")]);
    go(&nvim, "acp-input");
    nvim.keys("ia draft<Esc>");
    nvim.lua(
        "local queue = require('acp').queue queue.edit(queue.list()[1].id)",
        (),
    );
    wait_waiting(&nvim, &["1 three"]);
    nvim.wait("the prompt above the draft", || {
        input(&nvim) == "two||a draft"
    });
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn a_prompt_sent_before_others_cancels_the_turn() {
    let nvim = busy(&[
        cancelled("one"),
        cancelled("three"),
        cancelled("now"),
        turn("two"),
    ]);
    nvim.keys("<Esc>:Acp queue<CR>");
    nvim.wait("the panel", || here(&nvim) == "acp-queue");
    nvim.keys("j!");
    wait_said(&nvim, "at three");
    wait_waiting(&nvim, &["1 two"]);
    // From the input, the key sends the text typed there.
    nvim.keys("q");
    nvim.wait("the input", || here(&nvim) == "acp-input");
    nvim.keys("inow<M-CR>");
    wait_said(&nvim, "at now");
    wait_waiting(&nvim, &["1 two"]);
    // With an empty input, it sends the oldest queued prompt.
    nvim.keys("<M-CR>");
    wait_said(&nvim, "at two");
    assert_eq!(ended(&nvim), ["cancelled"; 3]);
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn queued_prompts_outlive_their_agent_and_are_sent_when_it_runs_again() {
    let nvim = Project::new()
        .agent(
            "scripted",
            r#"{"expect":"session/prompt","as":"p"}
{"say":"at one"}
{"wait_file":"${script_dir}/die"}
{"exit":7}"#,
        )
        .start();
    open(&nvim);
    talk::prompt(&nvim, "one");
    wait_said(&nvim, "at one");
    talk::prompt(&nvim, "two");
    wait_waiting(&nvim, &["1 two"]);
    go_on(&nvim, "die");
    wait_said(&nvim, "A prompt waits");
    wait_waiting(&nvim, &["1 two"]);
    assert!(!said(&nvim, "❯ two"));
    nvim.cmd("Acp restart");
    wait_said(&nvim, "❯ two");
    nvim.wait("the panel to go", || windows(&nvim) == WITHOUT);
    nvim.quit();
}
