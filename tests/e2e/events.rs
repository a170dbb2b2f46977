//! The `User` events that statuslines and automation rely on, and the answers of the API in their
//! handlers.

use serde_json::{Value as Json, json};

use super::harness::Nvim;
use super::talk;

/// Returns the events with these names and their data.
fn told(nvim: &Nvim, names: &[&str]) -> Vec<Json> {
    let events = nvim.user_events().into_iter();
    events
        .filter(|event| names.contains(&event.name.as_str()))
        .map(|event| json!([event.name, event.data]))
        .collect()
}

#[test]
fn events_of_tool_calls_and_plans_see_the_state_of_that_moment() {
    let steps = r#"{"tool":{"id":"t","title":"Read a.txt","kind":"read","status":"in_progress","locations":[{"path":"${cwd}/a.txt","line":3}]}}
{"update":{"sessionUpdate":"plan","entries":[{"content":"One","priority":"low","status":"completed"},{"content":"Two","priority":"low","status":"pending"}]}}
{"wait_file":"${cwd}/../on"}
{"tool_update":{"id":"t","title":"Read it"}}
{"tool_update":{"id":"t","status":"completed"}}"#;
    let project = talk::project(&[steps]).before(
        "autocmd User AcpToolCall,AcpPlanChanged lua _G.seen = _G.seen or {}; \
         local acp = require('acp'); local s = acp.status(); \
         table.insert(_G.seen, { vim.fn.expand('<amatch>'), s.tools, s.plan or 0, acp.statusline() })",
    );
    let nvim = project.start();
    talk::open(&nvim);
    talk::prompt(&nvim, "hi");
    let names = ["AcpToolCall", "AcpPlanChanged", "AcpTurnEnded"];
    nvim.wait("the first two events", || {
        nvim.lua("return #(_G.seen or {})", ()) == 2
    });
    std::fs::write(nvim.project.root().join("on"), "").unwrap();
    nvim.wait("the end", || {
        talk::ended(&nvim).len() == 1 && nvim.lua("return #_G.seen", ()) == 3
    });
    let place = json!({ "path": nvim.project.path("a.txt"), "row": 2 });
    let call = |status: &str, title: &str| {
        json!(["AcpToolCall", {
            "session": 1, "id": "t", "kind": "read", "status": status, "title": title,
            "locations": [place],
        }])
    };
    assert_eq!(
        told(&nvim, &names),
        [
            call("in_progress", "Read a.txt"),
            json!(["AcpPlanChanged", { "session": 1, "done": 1, "total": 2 }]),
            call("completed", "Read it"),
            json!(["AcpTurnEnded", { "session": 1, "stop_reason": "end_turn" }]),
        ]
    );
    let running = json!({ "running": 1, "title": "Read a.txt", "kind": "read" });
    let plan = json!({ "done": 1, "total": 2 });
    let seen = nvim.lua("return _G.seen", ());
    let last = |row: usize| seen[row].as_array().and_then(|row| row.last()).cloned();
    assert_eq!(seen[0][1], running);
    let told = json!([
        "AcpPlanChanged",
        running,
        plan,
        "scripted running 1/2 · Read a.txt"
    ]);
    assert_eq!(seen[1], told);
    assert_eq!(seen[2][1], json!({ "running": 0 }));
    assert!(last(2).is_some_and(|line| line.as_str().is_some_and(|line| !line.contains("Read"))));
    nvim.quit();
}

#[test]
fn a_listener_added_during_a_turn_gets_the_remaining_events() {
    let steps = r#"{"tool":{"id":"t","title":"One","status":"in_progress"}}
{"say":"begun"}
{"wait_file":"${cwd}/../on"}
{"tool_update":{"id":"t","status":"completed"}}"#;
    // Remove the harness's own listener, which hears every event.
    let nvim = talk::project(&[steps]).start();
    nvim.cmd("autocmd! User");
    talk::open(&nvim);
    talk::prompt(&nvim, "hi");
    talk::wait_said(&nvim, "begun");
    nvim.lua(
        "vim.api.nvim_create_autocmd('User', { pattern = 'AcpToolCall', callback = function(ev)
          _G.heard = ev.data.status
        end })",
        (),
    );
    std::fs::write(nvim.project.root().join("on"), "").unwrap();
    talk::wait_said(&nvim, "completed");
    // The event of the call's start may have fired before or after the listener was added.
    nvim.wait("the event of its end", || {
        nvim.lua("return _G.heard", ()) == "completed"
    });
    nvim.quit();
}

#[test]
fn terminal_events_carry_the_exit_code() {
    let steps = r#"{"request":"terminal/create","params":{"sessionId":"${sid}","command":"sh","args":["-c","exit 3"]},"as":"c"}
{"await":"c","save":{"t":"/result/terminalId"}}
{"request":"terminal/wait_for_exit","params":{"sessionId":"${sid}","terminalId":"${t}"},"as":"w"}
{"await":"w","result":{"exitCode":3}}"#;
    let nvim = talk::start(&[steps]);
    talk::talk(&nvim, "go");
    let names = ["AcpTerminalStarted", "AcpTerminalExited"];
    nvim.wait("both events", || told(&nvim, &names).len() == 2);
    let told = told(&nvim, &names);
    let cwd = nvim.project.path("").to_string_lossy().into_owned();
    let started = &told[0][1];
    assert_eq!(
        (&started["session"], &started["id"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(started["cwd"], cwd.trim_end_matches('/'));
    assert_eq!(told[1][0], "AcpTerminalExited");
    assert_eq!(
        (&told[1][1]["id"], &told[1][1]["code"]),
        (&json!(1), &json!(3))
    );
    assert_eq!(talk::status(&nvim)["terminals"], 0);
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn the_level_of_the_log_can_be_set_at_run_time() {
    let nvim = crate::talk::project(&[]).start();
    crate::talk::open(&nvim);
    nvim.lua("require('acp').setup({ log_level = 'debug' })", ());
    nvim.lua("require('acp').prompt('hello')", ());
    let log = nvim.project.root().join("state/nvim/acp.log");
    nvim.wait("the prompt in the log", || {
        let log = std::fs::read_to_string(&log).unwrap_or_default();
        log.contains("session/prompt")
    });
    nvim.quit();
}

#[test]
fn a_misspelt_key_is_reported_when_the_plugin_starts() {
    let nvim = crate::talk::project(&[])
        .config("log_levle", json!("debug"))
        .before("lua vim.notify = function(text) vim.g.told = text end")
        .start();
    crate::talk::open(&nvim);
    let told = nvim.lua("return vim.g.told", ()).to_string();
    assert!(told.contains("log_levle: unknown key"), "{told}");
    nvim.quit();
}

#[test]
fn an_interrupted_choice_chooses_nothing_and_shows_no_error() {
    let nvim = crate::talk::project(&[]).start();
    crate::talk::open(&nvim);
    nvim.keys("<Esc>:Acp tools<CR>");
    nvim.wait_text("Choose a tool");
    nvim.keys("<C-c>");
    nvim.wait("the end of the list", || nvim.mode() == "n");
    let messages = nvim.messages();
    assert!(!messages.contains("Keyboard interrupt"), "{messages}");
    nvim.quit();
}
