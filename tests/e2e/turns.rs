//! Turns: their ends, the prompts queued behind them, their cancellation.

use serde_json::json;

use super::harness::{Nvim, Project};
use super::talk::{self, ended, go, open, said, status, transcript, wait_phase, wait_said};

/// Checks what the transcript and the API report about a turn that ends with `reason`.
#[track_caller]
fn check_end(steps: &str, reason: &str, last: &[&str]) {
    let script = format!(
        "{{\"expect\":\"session/prompt\",\"as\":\"p\"}}\n{steps}\n\
         {{\"expect\":\"session/prompt\",\"as\":\"q\"}}\n{{\"say\":\"still here\"}}\n{{\"end\":\"q\"}}"
    );
    let nvim = Project::new().agent("scripted", &script).start();
    open(&nvim);
    talk::talk(&nvim, "hi");
    assert_eq!(ended(&nvim), [reason]);
    assert_eq!(status(&nvim)["stop_reason"], reason);
    assert_eq!(status(&nvim)["phase"], "idle");
    nvim.wait(&format!("{last:#?} at the end of the transcript"), || {
        transcript(&nvim).ends_with(&last.iter().map(|l| l.to_string()).collect::<Vec<_>>())
    });
    talk::talk(&nvim, "and now?");
    wait_said(&nvim, "still here");
    nvim.quit();
}

#[test]
fn an_ordinary_end_of_turn_adds_no_line() {
    check_end(
        r#"{"say":"Hello."}
{"end":"p"}"#,
        "end_turn",
        &["❯ hi", "", "Hello."],
    );
}

#[test]
fn a_turn_without_output_says_so() {
    check_end(
        r#"{"end":"p"}"#,
        "end_turn",
        &["The agent ended its turn and said nothing; `:Acp log` may say why."],
    );
}

#[test]
fn limits_refusals_and_unknown_reasons_are_named() {
    check_end(
        r#"{"end":"p","reason":"max_tokens"}"#,
        "max_tokens",
        &["Stopped: the model's token limit is reached (max_tokens)."],
    );
    check_end(
        r#"{"end":"p","reason":"max_turn_requests"}"#,
        "max_turn_requests",
        &["Stopped: the agent made as many requests as one turn may (max_turn_requests)."],
    );
    check_end(
        r#"{"end":"p","reason":"refusal"}"#,
        "refusal",
        &["The agent refuses to go on (refusal); this prompt is not part of its history."],
    );
    check_end(
        r#"{"end":"p","reason":"coffee_break"}"#,
        "coffee_break",
        &["Stopped: coffee_break."],
    );
}

#[test]
fn an_error_ends_the_turn_and_is_shown() {
    check_end(
        r#"{"reply":"p","error":{"code":-32603,"message":"Internal error","data":{"details":"model overloaded"}}}"#,
        "error",
        &["The agent reports an error: Internal error: model overloaded (-32603)."],
    );
    check_end(
        r#"{"reply":"p","error":{"code":429,"message":"Too many requests"}}"#,
        "error",
        &["The agent reports an error: Too many requests (429)."],
    );
}

#[test]
fn a_second_prompt_waits_for_the_end_of_the_first() {
    let script = r#"{"expect":"session/prompt","params":{"prompt":[{"text":"one"}]},"as":"p1"}
{"say":"first"}
{"wait_file":"${cwd}/../go"}
{"end":"p1"}
{"expect":"session/prompt","params":{"prompt":[{"text":"two"}]},"as":"p2"}
{"say":"second"}
{"wait_file":"${cwd}/../on"}
{"end":"p2"}"#;
    let nvim = Project::new().agent("scripted", script).start();
    open(&nvim);
    talk::prompt(&nvim, "one");
    wait_said(&nvim, "first");
    talk::prompt(&nvim, "two");
    nvim.wait("the queued prompt", || status(&nvim)["queued"] == 1);
    std::fs::write(nvim.project.root().join("go"), "").unwrap();
    wait_said(&nvim, "second");
    assert_eq!(ended(&nvim), ["end_turn"]);
    assert_eq!(status(&nvim)["phase"], "running");
    std::fs::write(nvim.project.root().join("on"), "").unwrap();
    nvim.wait("both ends", || ended(&nvim).len() == 2);
    let lines = transcript(&nvim);
    let row = |text: &str| lines.iter().position(|line| line.contains(text));
    assert!(
        row("first") < row("❯ two") && row("❯ two") < row("second"),
        "{lines:#?}"
    );
    nvim.wait_script("scripted");
    nvim.quit();
}

const CANCELLED: &str = r#"{"expect":"session/prompt","as":"p"}
{"tool":{"id":"t1","title":"long work","kind":"execute","status":"in_progress"}}
{"tool":{"id":"t2","title":"more work","kind":"edit","status":"pending"}}
{"tool":{"id":"t3","title":"done work","kind":"read","status":"completed"}}
{"permission":{"toolCallId":"t2"},"as":"q1"}
{"expect":"session/cancel"}
{"await":"q1","choice":"cancelled"}
{"permission":{"toolCallId":"t2"},"as":"q2"}
{"await":"q2","choice":"cancelled"}
{"wait_file":"${cwd}/../go"}
{"tool_update":{"id":"t1","status":"completed"}}
{"say":"stopped"}
{"end":"p","reason":"cancelled"}
{"expect":"session/prompt","as":"p"}
{"say":"again"}
{"end":"p"}"#;

/// Checks a turn cancelled by `cancel`: everything is cancelled at once, and late updates still
/// apply.
#[track_caller]
fn check_cancel(cancel: impl Fn(&Nvim)) {
    let nvim = Project::new().agent("scripted", CANCELLED).start();
    open(&nvim);
    talk::prompt(&nvim, "hi");
    wait_phase(&nvim, "waiting");
    cancel(&nvim);
    wait_said(&nvim, "⊘ $ long work  cancelled");
    wait_said(&nvim, "⊘ ✎ more work  cancelled");
    wait_said(&nvim, "✓ ≡ done work  completed");
    wait_phase(&nvim, "running");
    nvim.wait("the float to close", || {
        !talk::windows(&nvim).contains(&"acp-permission".to_owned())
    });
    nvim.wait_text("cancelling");
    std::fs::write(nvim.project.root().join("go"), "").unwrap();
    wait_said(&nvim, "✓ $ long work  completed");
    wait_said(&nvim, "stopped");
    nvim.wait("the end", || ended(&nvim) == ["cancelled"]);
    wait_said(&nvim, "Cancelled.");
    let lines = transcript(&nvim);
    assert_eq!(lines.iter().filter(|line| *line == "Cancelled.").count(), 1);
    talk::talk(&nvim, "once more");
    wait_said(&nvim, "again");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn ctrl_c_in_the_input_cancels() {
    check_cancel(|nvim| {
        go(nvim, "acp-input");
        nvim.ctrl_c();
    });
    check_cancel(|nvim| {
        go(nvim, "acp-input");
        nvim.keys("ityping");
        nvim.wait("the draft", || nvim.buf_lines(0) == ["typing"]);
        nvim.ctrl_c();
        wait_said(nvim, "⊘ $ long work  cancelled");
        assert_eq!(nvim.buf_lines(0), ["typing"]);
        nvim.keys("<Esc>cc");
    });
}

#[test]
fn ctrl_c_in_the_transcript_cancels() {
    check_cancel(|nvim| {
        go(nvim, "acp-chat");
        nvim.ctrl_c();
    });
}

#[test]
fn the_command_cancels_from_anywhere() {
    check_cancel(|nvim| {
        nvim.cmd("wincmd t");
        nvim.cmd("Acp cancel");
    });
}

#[test]
fn cancelling_holds_the_queued_prompts_until_a_key_sends_them() {
    let script = r#"{"expect":"session/prompt","as":"p1"}
{"say":"first"}
{"expect":"session/cancel"}
{"end":"p1","reason":"cancelled"}
{"expect":"session/prompt","params":{"prompt":[{"text":"two"}]},"as":"p2"}
{"say":"second"}
{"end":"p2"}"#;
    let nvim = Project::new().agent("scripted", script).start();
    open(&nvim);
    talk::prompt(&nvim, "one");
    wait_said(&nvim, "first");
    talk::prompt(&nvim, "two");
    nvim.cmd("Acp cancel");
    nvim.wait("the end", || ended(&nvim) == ["cancelled"]);
    nvim.wait_text("held: <M-CR> sends it");
    assert_eq!(status(&nvim)["queued"], 1);
    nvim.keys("<M-CR>");
    wait_said(&nvim, "second");
    nvim.wait("both ends", || ended(&nvim) == ["cancelled", "end_turn"]);
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn an_error_that_answers_a_cancel_is_a_cancelled_turn() {
    let script = r#"{"expect":"session/prompt","as":"p"}
{"say":"working"}
{"expect":"session/cancel"}
{"reply":"p","error":{"code":-32603,"message":"aborted"}}"#;
    let nvim = Project::new().agent("scripted", script).start();
    open(&nvim);
    talk::prompt(&nvim, "one");
    wait_said(&nvim, "working");
    nvim.cmd("Acp cancel");
    nvim.wait("the end", || ended(&nvim) == ["cancelled"]);
    // The error would be in the place of this line.
    wait_said(&nvim, "Cancelled.");
    assert!(!said(&nvim, "aborted"));
    nvim.quit();
}

#[test]
fn a_cancel_without_a_turn_shows_a_message() {
    let nvim = talk::start(&[]);
    nvim.cmd("Acp cancel");
    nvim.wait("the message", || {
        nvim.messages() == "acp.nvim: Nothing is running in this chat."
    });
    nvim.quit();
}

#[test]
fn status_and_statusline_show_every_phase() {
    let script = r#"{"expect":"session/new","as":"n"}
{"wait_file":"${script_dir}/ready"}
{"reply":"n","result":{"sessionId":"s","modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask"}]}}}
{"expect":"session/prompt","as":"p"}
{"update":{"sessionUpdate":"plan","entries":[{"content":"One","priority":"low","status":"completed"},{"content":"Two","priority":"low","status":"pending"}]}}
{"update":{"sessionUpdate":"usage_update","used":10,"size":100}}
{"update":{"sessionUpdate":"session_info_update","title":"A talk"}}
{"say":"working"}
{"wait_file":"${cwd}/../ask"}
{"permission":{"toolCallId":"t","title":"May I?"},"as":"q"}
{"await":"q"}
{"end":"p"}
{"wait_file":"${cwd}/../die"}
{"exit":3}"#;
    let nvim = Project::new().agent("scripted", script).start();
    let line = || {
        let line = nvim.lua("return require('acp').statusline()", ());
        line.as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(status(&nvim), json!({ "phase": "none" }));
    assert_eq!(line(), "");
    nvim.cmd("AcpChat");
    assert_eq!(status(&nvim)["phase"], "starting");
    assert_eq!(line(), "scripted starting");
    std::fs::write(nvim.project.root().join("agents/ready"), "").unwrap();
    wait_phase(&nvim, "idle");
    assert_eq!(line(), "scripted idle · Ask");
    talk::prompt(&nvim, "hi");
    wait_said(&nvim, "working");
    wait_phase(&nvim, "running");
    assert_eq!(line(), "scripted running 1/2 · Ask · 10/100 10%");
    let running = status(&nvim);
    assert_eq!(running["mode"], "ask");
    assert_eq!(
        running["usage"],
        json!({ "used": 10, "size": 100, "percent": 10 })
    );
    assert_eq!(running["title"], "A talk");
    assert_eq!(running["plan"], json!({ "done": 1, "total": 2 }));
    assert_eq!(running["review"], json!({ "files": 0, "hunks": 0 }));
    assert_eq!(running["permissions"], 0);
    std::fs::write(nvim.project.root().join("ask"), "").unwrap();
    wait_phase(&nvim, "waiting");
    assert_eq!(line(), "scripted waiting 1/2 · Ask · May I? · 10/100 10%");
    assert_eq!(status(&nvim)["permissions"], 1);
    nvim.lua(
        "local acp = require('acp')
        acp.permission.answer(acp.permission.list()[1].id, 'allow_once')",
        (),
    );
    nvim.wait("the end", || ended(&nvim) == ["end_turn"]);
    std::fs::write(nvim.project.root().join("die"), "").unwrap();
    wait_phase(&nvim, "dead");
    assert_eq!(line(), "scripted dead 1/2 · Ask · 10/100 10%");
    nvim.quit();
}

#[test]
fn user_events_carry_their_data_and_status_is_current_in_them() {
    let script = r#"{"expect":"session/prompt","as":"p"}
{"wait_file":"${cwd}/../ask"}
{"permission":{"toolCallId":"t","title":"May I?"},"as":"q"}
{"await":"q","choice":"allow_once"}
{"wait_file":"${cwd}/../end"}
{"end":"p","reason":"max_tokens"}
{"expect_eof":true}
{"exit":0}"#;
    let nvim = Project::new()
        .agent("scripted", script)
        .before(
            "autocmd User Acp* lua _G.seen = _G.seen or {}; local acp = require('acp'); \
             local s = acp.status(); table.insert(_G.seen, { vim.fn.expand('<amatch>'), s.phase, \
             s.stop_reason or '-', #acp.permission.list() })",
        )
        .start();
    // The status may be newer than the event, so each step waits until the handler has recorded it.
    let seen = |count: usize| {
        nvim.wait("the event", || {
            nvim.lua("return #(_G.seen or {})", ()) == count
        });
    };
    open(&nvim);
    seen(1);
    talk::prompt(&nvim, "hi");
    seen(2);
    std::fs::write(nvim.project.root().join("ask"), "").unwrap();
    seen(4);
    nvim.lua("require('acp').permission.answer(1, 'allow_once')", ());
    seen(6);
    std::fs::write(nvim.project.root().join("end"), "").unwrap();
    seen(7);
    nvim.cmd("Acp stop");
    seen(9);
    let events: Vec<_> = nvim
        .user_events()
        .into_iter()
        .map(|event| (event.name, event.data))
        .collect();
    let call = |status: &str| {
        json!({
            "session": 1, "id": "t", "kind": "other", "status": status, "title": "May I?",
            "locations": [],
        })
    };
    let want = [
        (
            "AcpSessionStarted",
            json!({ "session": 1, "agent": "scripted", "id": "session-1", "loaded": false }),
        ),
        ("AcpTurnStarted", json!({ "session": 1 })),
        ("AcpToolCall", call("pending")),
        ("AcpPermissionRequested", json!({ "session": 1, "id": 1 })),
        ("AcpToolCall", call("in_progress")),
        (
            "AcpPermissionAnswered",
            json!({ "session": 1, "id": 1, "option": "allow_once" }),
        ),
        (
            "AcpTurnEnded",
            json!({ "session": 1, "stop_reason": "max_tokens" }),
        ),
        // The agent never reported the call's outcome.
        ("AcpToolCall", call("cancelled")),
        (
            "AcpAgentExited",
            json!({ "session": 1, "agent": "scripted", "status": "exit code 0" }),
        ),
    ];
    let want: Vec<_> = want.map(|(name, data)| (name.to_owned(), data)).into();
    assert_eq!(events, want);
    assert_eq!(
        nvim.lua("return _G.seen", ()),
        json!([
            ["AcpSessionStarted", "idle", "-", 0],
            ["AcpTurnStarted", "running", "-", 0],
            ["AcpToolCall", "waiting", "-", 1],
            ["AcpPermissionRequested", "waiting", "-", 1],
            ["AcpToolCall", "running", "-", 0],
            ["AcpPermissionAnswered", "running", "-", 0],
            ["AcpTurnEnded", "idle", "max_tokens", 0],
            ["AcpToolCall", "dead", "max_tokens", 0],
            ["AcpAgentExited", "dead", "max_tokens", 0],
        ])
    );
    nvim.quit();
}

#[test]
fn two_sessions_of_two_agents_do_not_mix() {
    let script = |name: &str| {
        format!(
            "{{\"expect\":\"session/prompt\",\"as\":\"p\"}}\n{{\"say\":\"I am {name}.\"}}\n\
             {{\"permission\":{{\"toolCallId\":\"t\",\"title\":\"{name} asks\"}},\"as\":\"q\"}}\n\
             {{\"await\":\"q\",\"choice\":\"{name}\"}}\n{{\"say\":\" {name} is done.\"}}\n{{\"end\":\"p\"}}"
        )
        .replace(
            "},\"as\":\"q\"",
            &format!(
                "}},\"options\":[{{\"optionId\":\"{name}\",\"name\":\"{name}\",\"kind\":\"allow_once\"}}],\"as\":\"q\""
            ),
        )
    };
    let nvim = Project::new()
        .agent("first", &script("first"))
        .agent("second", &script("second"))
        .start();
    nvim.cmd("AcpChat first");
    wait_phase(&nvim, "idle");
    nvim.cmd("tabnew");
    nvim.cmd("AcpChat second");
    nvim.wait("the second agent", || {
        let status = status(&nvim);
        status["agent"] == "second" && status["phase"] == "idle"
    });
    nvim.lua(
        "for session = 1, 2 do require('acp').prompt('hi', { session = session }) end",
        (),
    );
    nvim.wait("both questions", || {
        nvim.lua("return #require('acp').permission.list()", ()) == 2
    });
    // Answer the newest question first.
    nvim.lua(
        "local acp = require('acp')
        for _, open in ipairs(vim.fn.reverse(acp.permission.list())) do
          acp.permission.answer(open.id, open.options[1].optionId)
        end",
        (),
    );
    nvim.wait("both ends", || ended(&nvim).len() == 2);
    wait_said(&nvim, "I am second.");
    wait_said(&nvim, "second is done.");
    assert!(!said(&nvim, "first"));
    nvim.cmd("tabprevious");
    nvim.wait_text("I am first.");
    nvim.wait_text("first is done.");
    assert_eq!(status(&nvim)["agent"], "first");
    nvim.wait_script("first");
    nvim.wait_script("second");
    assert_eq!(nvim.children().len(), 2);
    nvim.quit();
}

#[test]
fn a_notify_may_be_a_table_that_can_be_called() {
    let nvim = talk::start(&[]);
    // As nvim-notify is.
    nvim.lua(
        "local told = function(_, text) vim.g.told = text end
        vim.notify = setmetatable({}, { __call = told })",
        (),
    );
    nvim.lua("require('acp').cancel()", ());
    nvim.wait("the text", || {
        let told = nvim.lua("return vim.g.told", ());
        told.as_str()
            .is_some_and(|told| told.starts_with("acp.nvim: "))
    });
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn only_neovims_own_notify_gets_a_text_cut_to_the_command_line() {
    let nvim = talk::project(&[]).size(20, 20).start();
    talk::open(&nvim);
    // As mini.notify's is; Neovim defines what wraps it beside its own.
    nvim.lua(
        "vim.notify = vim.schedule_wrap(function(text) vim.g.told = text end)",
        (),
    );
    nvim.lua("require('acp').cancel()", ());
    nvim.wait("the whole text", || {
        let told = nvim.lua("return vim.g.told", ());
        told.as_str().is_some_and(|told| told.ends_with('.'))
    });
    nvim.quit();
}

#[test]
fn one_part_of_the_statusline_needs_no_list() {
    let nvim = talk::project(&[])
        .config("statusline", json!({ "parts": "phase" }))
        .start();
    talk::open(&nvim);
    wait_phase(&nvim, "idle");
    assert_eq!(nvim.lua("return require('acp').statusline()", ()), "idle");
    nvim.quit();
}

#[test]
fn a_failing_notify_of_the_users_is_called_once_and_the_text_is_shown() {
    let nvim = talk::start(&[]);
    nvim.lua(
        "vim.g.calls = 0 vim.notify = function() vim.g.calls = vim.g.calls + 1 error('mine') end",
        (),
    );
    nvim.cmd("AcpChat!");
    wait_phase(&nvim, "idle");
    nvim.lua("require('acp').cancel()", ());
    nvim.wait("the text", || nvim.messages().contains("acp.nvim: "));
    assert!(nvim.messages().contains("mine"));
    talk::status(&nvim);
    assert_eq!(nvim.lua("return vim.g.calls", ()), 1);
    nvim.quit();
}
