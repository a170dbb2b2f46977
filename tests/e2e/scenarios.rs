//! Whole conversations with agents that ask, stop and send updates at unexpected moments.

use std::fs;

use serde_json::{Value as Json, json};

use super::harness::{Nvim, Project};
use super::permission::{answer, is_open, press};
use super::talk::{self, ended, open, said, status, wait_phase, wait_said};

/// Starts Neovim with two files and an agent that follows a script.
#[track_caller]
fn start(script: &str) -> Nvim {
    let nvim = Project::new()
        .file("a.txt", "one\ntwo\n")
        .file("b.txt", "three\nfour\n")
        .agent("scripted", script)
        .size(110, 34)
        .start();
    nvim.cmd("edit a.txt");
    open(&nvim);
    nvim
}

/// Lets the agent continue that waits for this file.
fn go_on(nvim: &Nvim, file: &str) {
    fs::write(nvim.project.root().join(file), "").expect("the file can be made");
}

#[track_caller]
fn questions(nvim: &Nvim) -> Vec<String> {
    let titles = nvim.lua(
        "return vim.tbl_map(function(open) return open.title end, require('acp').permission.list())",
        (),
    );
    serde_json::from_value(titles).unwrap_or_default()
}

#[track_caller]
fn wait_questions(nvim: &Nvim, titles: &[&str]) {
    nvim.wait(&format!("the questions {titles:?}"), || {
        questions(nvim) == titles
    });
}

const BOTH: &str = r#"{"toolCallId":"both","title":"Edit both","kind":"edit","content":[{"type":"diff","path":"${cwd}/a.txt","oldText":"two","newText":"TWO"},{"type":"diff","path":"${cwd}/b.txt","oldText":"three","newText":"THREE"}]}"#;

#[test]
fn several_diffs_are_looked_at_one_by_one_and_several_questions_answered_in_any_order() {
    let script = format!(
        r#"{{"expect":"session/prompt","as":"p"}}
{{"permission":{BOTH},"as":"q1"}}
{{"permission":{{"toolCallId":"x","title":"Second"}},"as":"q2","id":"5a0c9a5e-6a7b-4f0e-9a54-0c3b6f5a9d10"}}
{{"permission":{{"toolCallId":"x","title":"Third"}},"as":"q3"}}
{{"await":"q2","choice":"reject_once"}}
{{"await":"q1","choice":"allow_once"}}
{{"notify":"$/cancel_request","params":{{"requestId":"none"}}}}
{{"await":"q3","choice":"allow_always"}}
{{"permission":{{"toolCallId":"y","title":"Fourth"}},"as":"q4","id":"four"}}
{{"permission":{{"toolCallId":"z","title":"Fifth"}},"as":"q5"}}
{{"permission":{{"toolCallId":"w","title":"Sixth"}},"as":"q6"}}
{{"wait_file":"${{cwd}}/../back"}}
{{"notify":"$/cancel_request","params":{{"requestId":"four"}}}}
{{"await":"q4","error":{{"code":-32800}}}}
{{"expect":"session/cancel"}}
{{"await":"q5","choice":"cancelled"}}
{{"await":"q6","choice":"cancelled"}}
{{"permission":{{"toolCallId":"v","title":"Late"}},"as":"q7"}}
{{"await":"q7","choice":"cancelled"}}
{{"end":"p","reason":"cancelled"}}"#
    );
    let nvim = start(&script);
    talk::prompt(&nvim, "go");
    wait_questions(&nvim, &["Edit both", "Second", "Third"]);
    // The window shows both diffs, and each file shows its own.
    nvim.wait_text("+ TWO");
    nvim.wait_text("+ THREE");
    nvim.wait("a proposal in both files", || {
        nvim.lua("return #require('acp').review.hunks()", ()) == 2
    });
    press(&nvim, "o");
    nvim.wait("the first file", || {
        nvim.lua("return vim.fn.expand('%:t')", ()) == "a.txt"
    });
    // The window hears of the second place with a later frame.
    nvim.wait("the second file", || {
        press(&nvim, "o");
        nvim.lua("return vim.fn.expand('%:t')", ()) == "b.txt"
    });
    nvim.wait_text("proposed 1/1");
    answer(&nvim, 2, "reject_once");
    wait_questions(&nvim, &["Edit both", "Third"]);
    answer(&nvim, 1, "allow_once");
    wait_questions(&nvim, &["Third"]);
    answer(&nvim, 3, "allow_always");
    wait_questions(&nvim, &["Fourth", "Fifth", "Sixth"]);
    go_on(&nvim, "back");
    wait_questions(&nvim, &["Fifth", "Sixth"]);
    nvim.cmd("Acp cancel");
    nvim.wait("the end", || ended(&nvim) == ["cancelled"]);
    wait_questions(&nvim, &[]);
    nvim.wait("the window to close", || !is_open(&nvim));
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn a_cancelled_turn_and_the_next_one_do_not_mix() {
    let script = r#"{"expect":"session/prompt","as":"p1","save":{"first":"/id"}}
{"tool":{"id":"t","title":"long work","kind":"execute","status":"in_progress"}}
{"expect":"session/cancel"}
{"wait_file":"${cwd}/../late"}
{"tool_update":{"id":"t","status":"completed"}}
{"wait_file":"${cwd}/../end"}
{"end":"p1","reason":"cancelled"}
{"expect":"session/prompt","params":{"prompt":[{"text":"second"}]},"as":"p2"}
{"say":"at it"}
{"raw":"{\"jsonrpc\":\"2.0\",\"id\":${first},\"result\":{\"stopReason\":\"end_turn\"}}"}
{"say":" still"}
{"wait_file":"${cwd}/../done"}
{"end":"p2"}"#;
    let nvim = start(script);
    talk::prompt(&nvim, "first");
    wait_said(&nvim, "in progress");
    nvim.cmd("Acp cancel");
    wait_said(&nvim, "long work  cancelled");
    talk::prompt(&nvim, "second");
    nvim.wait("the queued prompt", || status(&nvim)["queued"] == 1);
    // The agent is slow to answer: the second prompt is sent only after that.
    go_on(&nvim, "late");
    wait_said(&nvim, "long work  completed");
    assert_eq!(ended(&nvim).len(), 0);
    assert!(!said(&nvim, "❯ second"));
    go_on(&nvim, "end");
    // A second response to the first prompt ends nothing.
    wait_said(&nvim, "at it still");
    assert_eq!(ended(&nvim), ["cancelled"]);
    assert_eq!(status(&nvim)["phase"], "running");
    go_on(&nvim, "done");
    nvim.wait("both ends", || ended(&nvim) == ["cancelled", "end_turn"]);
    assert!(said(&nvim, "long work  completed"));
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn tool_calls_begin_in_any_way_and_never_go_back() {
    let script = r#"{"expect":"session/prompt","as":"p"}
{"tool_update":{"id":"new","status":"in_progress"}}
{"update":{"sessionUpdate":"tool_call_update","toolCallId":"meta","_meta":{"somebody":{"any":[1,2]}}}}
{"tool_update":{"id":"new","status":"completed","content":[{"type":"content","content":{"type":"text","text":"what came of it"}}]}}
{"tool":{"id":"new","title":"Told last","kind":"search","status":"pending"}}
{"permission":{"toolCallId":"asked"},"as":"q"}
{"await":"q","choice":"allow_once"}
{"tool_update":{"id":"asked","title":"Known at last","kind":"fetch","status":"failed"}}
{"tool":{"id":"asked","title":"Known at last","kind":"fetch","status":"in_progress"}}
{"update":{"sessionUpdate":"tool_call_update","toolCallId":"asked","_meta":{"x":1}}}
{"end":"p"}"#;
    let nvim = start(script);
    talk::prompt(&nvim, "go");
    wait_questions(&nvim, &["asked"]);
    answer(&nvim, 1, "allow_once");
    nvim.wait("the end", || ended(&nvim) == ["end_turn"]);
    wait_said(&nvim, "Known at last  failed");
    wait_said(&nvim, "Told last  completed");
    assert!(said(&nvim, "what came of it"));
    // A tool call without a title is shown by its id.
    assert!(
        said(&nvim, "meta  pending"),
        "{:#?}",
        talk::transcript(&nvim)
    );
    assert!(!said(&nvim, "unknown"));
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn updates_after_the_end_of_a_turn_are_shown_and_can_be_answered() {
    let script = r#"{"say":"Welcome!"}
{"expect":"session/prompt","as":"p"}
{"tool":{"id":"t","title":"slow","status":"in_progress"}}
{"end":"p"}
{"say":"One more thing."}
{"tool_update":{"id":"t","status":"completed"}}
{"permission":{"toolCallId":"late","title":"May I still?","kind":"edit","content":[{"type":"diff","path":"${cwd}/a.txt","oldText":"two","newText":"TWO"}]},"as":"q"}
{"await":"q","choice":"allow_once"}
{"tool_update":{"id":"late","status":"completed"}}
{"permission":{"toolCallId":"other","title":"And this?"},"as":"r"}
{"expect":"session/prompt","as":"p2"}
{"await":"r","choice":"reject_once"}
{"say":"on we go"}
{"end":"p2"}"#;
    // The greeting is sent once the session is open.
    let script =
        format!("{{\"expect\":\"session/new\",\"as\":\"n\"}}\n{{\"reply\":\"n\"}}\n{script}");
    let nvim = start(&script);
    wait_said(&nvim, "Welcome!");
    talk::talk(&nvim, "go");
    wait_said(&nvim, "One more thing.");
    wait_said(&nvim, "slow  completed");
    wait_phase(&nvim, "waiting");
    nvim.wait_text("+ TWO");
    press(&nvim, "y");
    wait_said(&nvim, "May I still?  completed");
    wait_questions(&nvim, &["And this?"]);
    // A new prompt does not withdraw the question.
    talk::prompt(&nvim, "more");
    answer(&nvim, 2, "reject_once");
    nvim.wait("the end", || ended(&nvim) == ["end_turn", "end_turn"]);
    wait_said(&nvim, "on we go");
    nvim.wait_script("scripted");
    nvim.quit();
}

/// Checks a turn that the agent ends with `reason` because of a rejection.
#[track_caller]
fn check_reject_ends(reason: &str) {
    let script = format!(
        r#"{{"expect":"session/prompt","as":"p"}}
{{"permission":{{"toolCallId":"t","title":"May I?","status":"pending"}},"as":"q"}}
{{"await":"q","choice":"reject_once"}}
{{"end":"p","reason":"{reason}"}}
{{"expect":"session/prompt","as":"p2"}}
{{"permission":{{"toolCallId":"u","title":"And now?"}},"as":"r"}}
{{"await":"r","choice":"allow_once"}}
{{"end":"p2"}}"#
    );
    let nvim = start(&script);
    talk::prompt(&nvim, "go");
    wait_questions(&nvim, &["May I?"]);
    answer(&nvim, 1, "reject_once");
    nvim.wait("the end", || ended(&nvim) == [reason]);
    // The next turn's questions are asked as usual.
    talk::prompt(&nvim, "again");
    wait_questions(&nvim, &["And now?"]);
    answer(&nvim, 2, "allow_once");
    nvim.wait("the end", || ended(&nvim) == [reason, "end_turn"]);
    assert_eq!(status(&nvim)["tools"], json!({ "running": 0 }));
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn a_rejection_may_end_the_turn_in_any_way() {
    check_reject_ends("end_turn");
    check_reject_ends("cancelled");
}

#[test]
fn questions_that_share_an_id_are_each_shown() {
    let ask = |title: &str, text: &str, name: &str| {
        json!({
            "permission": {
                "toolCallId": "same", "title": title,
                "content": [{ "type": "content", "content": { "type": "text", "text": text } }],
            },
            "as": name,
        })
    };
    let steps: Vec<Json> = vec![
        json!({ "expect": "session/prompt", "as": "p" }),
        ask("First", "the first text", "q1"),
        json!({ "await": "q1", "choice": "allow_once" }),
        json!({ "tool_update": { "id": "same", "status": "completed" } }),
        ask("Second", "the second text", "q2"),
        json!({ "await": "q2", "choice": "reject_once" }),
        json!({ "end": "p" }),
    ];
    let steps: Vec<String> = steps.iter().map(Json::to_string).collect();
    let nvim = start(&steps.join("\n"));
    talk::prompt(&nvim, "go");
    nvim.wait_text("the first text");
    answer(&nvim, 1, "allow_once");
    wait_questions(&nvim, &["Second"]);
    nvim.wait_text("the second text");
    answer(&nvim, 2, "reject_once");
    nvim.wait_script("scripted");
    nvim.quit();
}
