//! Messages about events the user cannot see: a turn that ends, a question that waits.

use serde_json::json;

use super::harness::{Nvim, Project};
use super::talk;

const QUESTION: &str = r#"{"permission":{"toolCallId":"t","title":"rm -r"},"as":"q"}
{"await":"q"}"#;
const CANCEL: &str = r#"{"expect":"session/cancel"}"#;

/// Starts a chat whose agent asks a question in its second turn and then continues with `rest`.
fn start(notify: serde_json::Value, rest: &str) -> Nvim {
    let second = format!("{QUESTION}\n{rest}");
    let project: Project = talk::project(&[r#"{"say":"One."}"#, &second]);
    let nvim = project.size(120, 24).config("notify", notify).start();
    talk::open(&nvim);
    nvim
}

#[track_caller]
fn check(nvim: &Nvim, want: &str) {
    nvim.wait(&format!("the message {want:?}"), || {
        nvim.messages().contains(want)
    });
    nvim.cmd("messages clear");
}

#[test]
fn the_end_of_a_turn_is_announced_unless_its_chat_is_visible() {
    let nvim = start(json!({}), r#"{"say":"Two."}"#);
    talk::talk(&nvim, "one");
    assert_eq!(nvim.messages(), "");
    nvim.cmd("tabnew");
    talk::prompt(&nvim, "two");
    talk::wait_phase(&nvim, "waiting");
    // The question is on the screen, so there is no message.
    nvim.wait_text("rm -r");
    assert_eq!(nvim.messages(), "");
    let answer = "local acp = require('acp')
        acp.permission.answer(acp.permission.list()[1].id, 'allow_once')";
    nvim.lua(answer, ());
    check(&nvim, "acp.nvim: scripted (session 1) is done.");
    nvim.cmd("tabclose");
    nvim.quit();
}

#[test]
fn everything_is_announced_while_neovim_has_no_focus() {
    let nvim = start(json!({}), CANCEL);
    nvim.cmd("doautocmd FocusLost");
    talk::talk(&nvim, "one");
    check(&nvim, "acp.nvim: scripted (session 1) is done.");
    talk::prompt(&nvim, "two");
    check(
        &nvim,
        "acp.nvim: scripted (session 1) waits for your answer.",
    );
    nvim.cmd("doautocmd FocusGained");
    // The user cancelled the turn, so its end needs no message.
    nvim.cmd("Acp cancel");
    talk::wait_phase(&nvim, "idle");
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn a_pending_form_is_announced() {
    let form = r#"{"request":"elicitation/create","as":"q","params":{"sessionId":"${sid}","mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}
{"await":"q"}
{"expect":"session/cancel"}"#;
    let project: Project = talk::project(&[form]);
    let nvim = project.size(120, 24).start();
    talk::open(&nvim);
    nvim.cmd("doautocmd FocusLost");
    talk::prompt(&nvim, "one");
    check(
        &nvim,
        "acp.nvim: scripted (session 1) waits for your answer.",
    );
    nvim.cmd("doautocmd FocusGained");
    nvim.cmd("Acp cancel");
    talk::wait_phase(&nvim, "idle");
    nvim.quit();
}

#[test]
fn messages_can_be_switched_off() {
    let nvim = start(json!(false), CANCEL);
    nvim.cmd("doautocmd FocusLost");
    talk::talk(&nvim, "one");
    talk::prompt(&nvim, "two");
    talk::wait_phase(&nvim, "waiting");
    nvim.cmd("Acp cancel");
    talk::wait_phase(&nvim, "idle");
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}
