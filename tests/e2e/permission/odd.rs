//! Odd text in a question, and questions that cannot be drawn.

use super::*;
use crate::overview;

#[test]
fn each_option_has_its_line_whatever_is_in_its_name() {
    let nvim = start(
        r#"{"permission":{"toolCallId":"t","title":"Run\u0000 it\u202e","kind":"execute","rawInput":{"command":"git status\u001b[2K\u200b"}},"options":[{"optionId":"a\nb","name":"Allow\nonce","kind":"allow_once"},{"optionId":"n\u0000","name":"No\u0000\u001b[31m","kind":"reject_once"}],"as":"q"}
{"await":"q","choice":"a\nb"}"#,
    );
    ask(&nvim);
    assert_eq!(
        asked(&nvim),
        [
            "execute  Run^@ it<202e>",
            "$ git status^[[2K<200b>",
            "",
            " 1 y  Allow^Jonce",
            " 2 n  No^@^[[31m",
        ]
    );
    nvim.wait_text("$ git status^[[2K<200b>");
    assert_eq!(nvim.messages().matches("internal error").count(), 0);
    press(&nvim, "y");
    wait_closed(&nvim);
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn every_view_shows_a_name_with_a_line_break() {
    let script = r#"{"expect":"session/prompt","as":"p"}
{"update":{"sessionUpdate":"session_info_update","title":"a\u0000\nname"}}
{"update":{"sessionUpdate":"plan","entries":[{"content":"first\nthen\u0000","priority":"high","status":"pending"}]}}
{"tool":{"id":"t","title":"\u0000 tool","kind":"edit","status":"completed","locations":[{"path":"${cwd}/a\nb"}]}}
{"write":"${cwd}/a\nb","content":"new\n","as":"w"}
{"await":"w"}
{"say":"written"}
{"end":"p"}"#;
    let nvim = Project::new()
        .file("a.txt", "one\n")
        .agent("scripted", script)
        .start();
    open(&nvim);
    talk::talk(&nvim, "hi");
    wait_said(&nvim, "written");
    wait_said(&nvim, "^@ tool");
    nvim.cmd("Acp review");
    nvim.wait_text("a^Jb +1");
    nvim.keys("q");
    overview::list(&nvim, "a^@ name");
    assert_eq!(nvim.messages().matches("internal error").count(), 0);
    nvim.wait_script("scripted");
    nvim.quit();
}

/// Starts with a failure in the drawing of a view, and has the agent ask; `more` are the steps after
/// that turn.
fn start_failing(failure: &str, more: &str) -> Nvim {
    let script = format!(
        "{{\"expect\":\"session/prompt\",\"as\":\"p\"}}\n{RUN}\n{{\"say\":\"answered\"}}\n{{\"end\":\"p\"}}\n{more}"
    );
    let nvim = Project::new()
        .file("a.txt", "one\n")
        .agent("scripted", &script)
        .env("ACP_TEST_PANIC", failure)
        // Room for several messages; otherwise Neovim waits for a key.
        .before("set cmdheight=5")
        .start();
    nvim.cmd("edit a.txt");
    // A table that can be called, as some plugins put in its place.
    nvim.lua(
        "local list = function(_, items, opts, done)
          _G.listed = { items = items, prompt = opts.prompt, done = done }
        end
        vim.ui.select = setmetatable({}, { __call = list })",
        (),
    );
    open(&nvim);
    talk::prompt(&nvim, "hi");
    nvim
}

#[test]
fn a_question_that_fails_once_is_drawn_without_highlights() {
    let nvim = start_failing("drawing the question", "");
    nvim.wait_text("$ cargo test --all");
    assert_eq!(
        nvim.drawn().groups_of("$ cargo test --all"),
        ["NormalFloat"]
    );
    press(&nvim, "y");
    wait_said(&nvim, "answered");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn a_question_that_cannot_be_drawn_is_asked_in_a_list() {
    let nvim = start_failing("drawing the question=2", "");
    let items = "return _G.listed and _G.listed.items";
    nvim.wait("the message", || {
        nvim.messages()
            .contains("`:Acp permission` asks it in a list")
    });
    assert!(nvim.lua(items, ()).is_null());
    nvim.cmd("Acp permission");
    assert_eq!(
        nvim.lua(items, ()),
        json!(["Allow once", "Always allow", "Reject", "Always reject"])
    );
    let prompt = nvim.lua("return _G.listed.prompt", ()).to_string();
    assert!(prompt.contains("$ cargo test --all"), "{prompt}");
    assert!(!is_open(&nvim));
    // A user who chose nothing is asked again on request.
    nvim.lua("_G.listed.done(nil, nil); _G.listed = nil", ());
    nvim.cmd("Acp permission");
    nvim.lua("_G.listed.done('Allow once', 1)", ());
    wait_said(&nvim, "answered");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn a_view_that_fails_hides_no_other() {
    let plans = r#"{"expect":"session/prompt","as":"p2"}
{"update":{"sessionUpdate":"plan","entries":[{"content":"a step","priority":"high","status":"pending"}]}}
{"say":"planned"}
{"end":"p2"}"#;
    for view in ["the chat", "the chat's title", "the plan", "the queue"] {
        let nvim = start_failing(&format!("drawing {view}"), plans);
        nvim.wait_text("$ cargo test --all");
        talk::prompt(&nvim, "and plan");
        nvim.wait("the queue", || {
            windows(&nvim).contains(&"acp-queue".to_owned())
        });
        press(&nvim, "y");
        wait_said(&nvim, "answered");
        wait_said(&nvim, "hi");
        wait_said(&nvim, "planned");
        let message = format!("An internal error in drawing {view} was caught");
        // It comes by way of the core, which may be busy.
        nvim.wait("the message", || nvim.messages().contains(&message));
        nvim.wait_script("scripted");
        nvim.quit();
    }
}
