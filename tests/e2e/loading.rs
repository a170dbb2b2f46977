//! Sessions that outlive their process and their Neovim: loaded, continued, shown once.

use serde_json::json;

use super::harness::{Nvim, Project};
use super::recordings::{self, Recording};
use super::talk::{
    self, count, ended, open, prompt, said, status, transcript, wait_phase, wait_said,
};

/// Opens a session of the past.
#[track_caller]
fn reopen(nvim: &Nvim, agent: &str, id: &str) {
    nvim.lua(
        "require('acp').open({ agent = ..., session_id = select(2, ...) })",
        (agent, id),
    );
}

/// Loads a recording's session, continues it as recorded, and returns the chat.
#[track_caller]
fn load(name: &str) -> String {
    let recording = Recording::read(name);
    let id = recording.session.clone().expect("it loads a session");
    let (nvim, report) = recordings::launch(&recording, &[]);
    reopen(&nvim, "recorded", &id);
    wait_phase(&nvim, "idle");
    wait_said(&nvim, "four steps, no surprise");
    // The replay has no effects: no reviews, no running tools, no events.
    assert_eq!(status(&nvim)["review"], json!({ "files": 0, "hunks": 0 }));
    assert_eq!(status(&nvim)["tools"]["running"], 0);
    assert_eq!(status(&nvim)["id"], id);
    let mut events: Vec<String> = nvim.user_events().into_iter().map(|e| e.name).collect();
    // The session's options are current, not replayed.
    events.retain(|event| event != "AcpOptionsChanged");
    assert_eq!(events, ["AcpSessionStarted"]);
    talk::talk(&nvim, &recording.prompts[0]);
    recordings::check_answered(&nvim, &report);
    wait_said(&nvim, "you, reader.");
    let chat = recordings::chat(&nvim);
    nvim.quit();
    chat
}

#[test]
fn a_session_of_claude_is_loaded() {
    insta::assert_snapshot!(load("claude.load"));
}

#[test]
fn a_session_of_codex_is_loaded() {
    insta::assert_snapshot!(load("codex.load"));
}

#[test]
fn a_session_of_codex_2_is_loaded() {
    insta::assert_snapshot!(load("codex2.load"));
}

#[test]
fn a_session_of_opencode_is_loaded() {
    insta::assert_snapshot!(load("opencode.load"));
}

#[test]
fn a_session_of_kimi_is_loaded() {
    insta::assert_snapshot!(load("kimicode.load"));
}

#[test]
fn a_session_of_cline_is_loaded() {
    insta::assert_snapshot!(load("cline.load"));
}

/// An agent that loads the session `old` by `steps`, then continues with `after`.
fn loading(steps: &str, after: &str) -> Project {
    let script = format!(
        r#"{{"defaults":{{"initialize":{{"agentCapabilities":{{"loadSession":true}}}}}}}}
{{"expect":"session/load","params":{{"sessionId":"old"}},"as":"l"}}
{steps}
{{"reply":"l","result":{{}}}}
{after}"#
    );
    Project::new().agent("scripted", &script)
}

#[test]
fn opening_a_session_twice_gives_one_session() {
    let nvim = loading(
        r#"{"echo":"Once"}"#,
        r#"{"expect":"session/prompt","as":"p"}
{"say":"more"}
{"end":"p"}"#,
    )
    .start();
    // Twice before the agent has sent anything, and again once the replay is complete.
    nvim.lua(
        "local acp = require('acp')
        local spec = { agent = 'scripted', session_id = 'old' }
        local first, second = acp.open(spec), acp.open(spec)
        assert(first == second, 'two sessions')",
        (),
    );
    wait_said(&nvim, "Once");
    nvim.cmd("tabnew");
    reopen(&nvim, "scripted", "old");
    assert_eq!(status(&nvim)["session"], 1);
    talk::talk(&nvim, "go on");
    wait_said(&nvim, "more");
    assert_eq!(
        transcript(&nvim),
        ["❯ Once", "", "❯ go on", "", "more"],
        "each once"
    );
    assert_eq!(count(&nvim, "AcpSessionStarted"), 1);
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn an_agent_that_dies_during_a_turn_continues_its_session() {
    let script = r#"{"defaults":{"initialize":{"agentCapabilities":{"loadSession":true}}}}
{"life":1}
{"expect":"session/prompt","as":"p"}
{"say":"Half of it"}
{"tool":{"id":"t","title":"Work","kind":"execute","status":"in_progress"}}
{"permission":{"toolCallId":"t","title":"Work"},"as":"q"}
{"stderr":"out of luck"}
{"wait_file":"${cwd}/die"}
{"exit":7}
{"life":2}
{"expect":"session/load","params":{"sessionId":"session-1"},"as":"l"}
{"echo":"first"}
{"say":"Half of it"}
{"tool":{"id":"t","title":"Work","kind":"execute","status":"in_progress"}}
{"reply":"l","result":{}}
{"expect":"session/prompt","params":{"sessionId":"session-1"},"as":"p"}
{"say":"The other half"}
{"end":"p"}"#;
    let nvim = Project::new().agent("scripted", script).start();
    open(&nvim);
    prompt(&nvim, "first");
    nvim.wait("the question", || {
        count(&nvim, "AcpPermissionRequested") == 1
    });
    std::fs::write(nvim.project.path("die"), "").expect("the file can be made");
    nvim.wait("the end of the agent", || {
        count(&nvim, "AcpAgentExited") == 1
    });
    nvim.wait("the end of the turn and of its question", || {
        ended(&nvim) == ["agent_exited"] && count(&nvim, "AcpPermissionAnswered") == 1
    });
    wait_said(&nvim, "out of luck");
    talk::talk(&nvim, "go on");
    wait_said(&nvim, "The other half");
    let halves = transcript(&nvim)
        .iter()
        .filter(|line| *line == "Half of it")
        .count();
    assert_eq!(halves, 1, "{:?}", transcript(&nvim));
    assert!(!said(&nvim, "in progress"));
    let events = nvim.user_events();
    let started: Vec<_> = events
        .iter()
        .filter(|e| e.name == "AcpSessionStarted")
        .collect();
    let how = |at: usize| (&started[at].data["id"], &started[at].data["loaded"]);
    assert_eq!(how(0), (&json!("session-1"), &json!(false)));
    assert_eq!(how(1), (&json!("session-1"), &json!(true)));
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn an_unknown_session_names_the_next_step_and_a_prompt_starts_a_new_one() {
    let script = r#"{"defaults":{"initialize":{"agentCapabilities":{"loadSession":true}}}}
{"life":1}
{"expect":"session/load","as":"l"}
{"reply":"l","error":{"code":-32002,"message":"Session not found"}}
{"life":2}
{"expect":"session/prompt","params":{"sessionId":"session-1"},"as":"p"}
{"say":"Hello"}
{"end":"p"}"#;
    let nvim = Project::new().agent("scripted", script).start();
    reopen(&nvim, "scripted", "lost");
    wait_said(
        &nvim,
        "could not go on with the session \"lost\": Session not found",
    );
    assert!(said(&nvim, "a prompt begins a new session here"));
    wait_phase(&nvim, "dead");
    talk::talk(&nvim, "hi");
    wait_said(&nvim, "Hello");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn a_load_of_many_megabytes_does_not_disturb_the_user() {
    let nvim = loading(
        r#"{"repeat":200,"do":[{"echo":"ask ${i}"},{"big_say":{"bytes":65536,"chunk":65536}}]}
{"signal_file":"${cwd}/told"}
{"wait_file":"${cwd}/go"}"#,
        "",
    )
    .start();
    reopen(&nvim, "scripted", "old");
    talk::go(&nvim, "");
    nvim.keys("iwhat I write");
    nvim.wait_text("what I write");
    let told = nvim.project.path("told");
    nvim.wait("the whole replay to be sent", || told.exists());
    assert_eq!(status(&nvim)["phase"], "starting");
    assert_eq!(transcript(&nvim), [""], "nothing of it is shown yet");
    nvim.keys(" goes on");
    nvim.wait_text("what I write goes on");
    std::fs::write(nvim.project.path("go"), "").expect("the file can be made");
    wait_phase(&nvim, "idle");
    wait_said(&nvim, "The beginning of this conversation is not shown");
    assert_eq!(transcript(&nvim)[1], "");
    assert_eq!(nvim.mode(), "i");
    nvim.quit();
}

#[test]
fn a_closed_session_is_closed_with_its_agent() {
    let script = r#"{"defaults":{"initialize":{"agentCapabilities":{"sessionCapabilities":{"close":{}}}}}}
{"expect":"session/close","params":{"sessionId":"session-1"},"as":"c"}
{"reply":"c","result":{}}"#;
    let nvim = Project::new().agent("scripted", script).start();
    open(&nvim);
    nvim.lua("require('acp').close()", ());
    nvim.wait_script("scripted");
    nvim.wait("the end of the agent", || nvim.children().is_empty());
    nvim.quit();
}
