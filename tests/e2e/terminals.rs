//! Terminals of agents: the responses the agent receives, and the output the user sees.

use std::fs;

use serde_json::{Value as Json, json};

use super::harness::procs::Process;
use super::harness::{Nvim, Project};
use super::talk::{self, ended, open, said, start, talk, transcript, wait_said};

/// A step that sends a request about a terminal and awaits the response `result`.
fn ask(what: &str, terminal: &str, result: &Json) -> String {
    let method = format!("terminal/{what}");
    let params = json!({ "sessionId": "${sid}", "terminalId": terminal });
    let request = json!({ "request": method, "params": params, "as": what });
    let answer = json!({ "await": what, "result": result });
    format!("{request}\n{answer}")
}

/// Steps that run a shell command in the terminal `${t}` and show it in a tool call.
fn run(script: &str) -> String {
    let params = json!({ "command": script, "cwd": "${cwd}" });
    let tool = json!({ "tool": {
        "id": "t1",
        "title": "Build",
        "kind": "execute",
        "status": "in_progress",
        "content": [{ "type": "terminal", "terminalId": "${t}" }],
    }});
    format!("{}\n{tool}", create(&params))
}

/// A step that creates a terminal, `${t}`.
fn create(params: &Json) -> String {
    let mut params = params.clone();
    params["sessionId"] = json!("${sid}");
    let request = json!({ "request": "terminal/create", "params": params, "as": "c" });
    let answer = json!({ "await": "c", "save": { "t": "/result/terminalId" } });
    format!("{request}\n{answer}")
}

/// A step that ends the tool call.
fn done(status: &str) -> String {
    json!({ "tool_update": { "id": "t1", "status": status } }).to_string()
}

/// Returns the transcript below the tool call, up to a blank line.
fn entry(nvim: &Nvim) -> Vec<String> {
    let lines = transcript(nvim).into_iter();
    let mut lines = lines.skip_while(|line| !line.contains("Build"));
    lines.next();
    let lines = lines.map(|line| line.trim().to_owned());
    lines.take_while(|line| !line.is_empty()).collect()
}

/// Returns the processes whose command line contains these words.
fn running(nvim: &Nvim, words: &str) -> Vec<Process> {
    let mut processes = nvim.processes();
    processes.retain(|process| process.command.contains(words));
    processes
}

#[test]
fn a_command_is_shown_while_it_runs_and_after_it_ends() {
    let script = "mkfifo gate; printf '\\033[32mstep-%s\\033[0m\\n' 1; cat gate; \
                  echo step-$((1 + 1)); exit 3";
    let turn = [
        run(script),
        ask("wait_for_exit", "${t}", &json!({ "exitCode": 3 })),
        ask(
            "output",
            "${t}",
            &json!({
                "output": "step-1\nopen\nstep-2\n",
                "truncated": false,
                "exitStatus": { "exitCode": 3 },
            }),
        ),
        ask("release", "${t}", &json!({})),
        done("failed"),
    ];
    let nvim = start(&[&turn.join("\n")]);
    talk::prompt(&nvim, "build");
    nvim.wait_text("step-1");
    assert!(!nvim.screen().has("step-2"));
    assert_eq!(talk::status(&nvim)["phase"], "running");
    fs::write(nvim.project.path("gate"), "open\n").expect("the command reads it");
    nvim.wait("the end of the turn", || ended(&nvim) == ["end_turn"]);
    nvim.wait_script("scripted");
    // The terminal is released, and its output stays in the transcript.
    wait_said(&nvim, "exit code 3");
    let entry = entry(&nvim);
    assert_eq!(entry[1..], ["step-1", "open", "step-2", "exit code 3"]);
    nvim.quit();
}

#[test]
fn output_from_before_a_terminal_is_announced_is_shown() {
    let meta = |meta: Json| json!({ "tool_update": { "id": "t1", "_meta": meta } }).to_string();
    let turn = [
        meta(json!({ "terminal_output": { "terminal_id": "x", "data": "one\n\u{1b}[1mtw" } })),
        meta(json!({ "terminal_exit": { "terminal_id": "x", "exit_code": 3, "signal": null } })),
        meta(json!({ "terminal_output": { "terminal_id": "x", "data": "o\u{1b}[0m\n" } })),
        json!({ "tool": {
            "id": "t1",
            "title": "Build",
            "kind": "execute",
            "status": "failed",
            "rawInput": { "command": "make all" },
            "content": [{ "type": "terminal", "terminalId": "x" }],
            "_meta": { "terminal_info": { "terminal_id": "x", "cwd": "${cwd}" } },
        }})
        .to_string(),
    ];
    let nvim = start(&[&turn.join("\n")]);
    talk(&nvim, "build");
    nvim.wait("the whole output", || {
        entry(&nvim) == ["$ make all", "one", "two", "exit code 3"]
    });
    nvim.quit();
}

#[test]
fn killing_a_command_ends_its_children_and_answers_the_pending_wait() {
    let killed = json!({ "signal": { "$any": true } });
    let turn = [
        run("sleep 1000 & echo started; sleep 1000"),
        r#"{"wait_file":"${cwd}/go"}"#.to_owned(),
        ask("kill", "${t}", &json!({})),
        ask("wait_for_exit", "${t}", &killed),
        ask(
            "output",
            "${t}",
            &json!({ "output": "started\n", "exitStatus": killed }),
        ),
    ];
    let nvim = start(&[&turn.join("\n")]);
    talk::prompt(&nvim, "build");
    nvim.wait("the output", || {
        entry(&nvim).contains(&"started".to_owned())
    });
    nvim.wait("the shell and both its children", || {
        running(&nvim, "sleep 1000").len() == 3
    });
    fs::write(nvim.project.path("go"), "").expect("the agent waits for it");
    nvim.wait("the end of the turn", || ended(&nvim) == ["end_turn"]);
    nvim.wait_script("scripted");
    wait_gone(&nvim);
    wait_said(&nvim, "killed by SIG");
    nvim.quit();
}

#[test]
fn the_output_limit_drops_the_beginning_and_splits_no_character() {
    let output = |limit: u64, output: &str, truncated| {
        let params = json!({ "command": "printf 'äöü€'", "outputByteLimit": limit });
        let exit = json!({ "exitCode": 0 });
        let want = json!({ "output": output, "truncated": truncated, "exitStatus": exit });
        [
            create(&params),
            ask("wait_for_exit", "${t}", &exit),
            ask("output", "${t}", &want),
        ]
        .join("\n")
    };
    let turn = [
        output(9, "äöü€", false),
        output(8, "öü€", true),
        output(4, "€", true),
        output(0, "", true),
    ];
    let nvim = start(&[&turn.join("\n")]);
    talk(&nvim, "build");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn a_command_that_cannot_run_is_named_in_the_error() {
    let refused = |params: Json, code: i64, part: &str| {
        let mut params = params;
        params["sessionId"] = json!("${sid}");
        let request = json!({ "request": "terminal/create", "params": params, "as": "c" });
        let error = json!({ "code": code, "message": { "$contains": part } });
        format!("{request}\n{}", json!({ "await": "c", "error": error }))
    };
    let gone = json!({ "sessionId": "${sid}", "terminalId": "term-99" });
    let gone = json!({ "request": "terminal/output", "params": gone, "as": "o" });
    let error = json!({ "code": -32602, "message": { "$contains": "term-99" } });
    let turn = [
        refused(
            json!({ "command": "no-such-program", "args": ["-x"] }),
            -32603,
            "no-such-program",
        ),
        refused(
            json!({ "command": "true", "cwd": "${cwd}/nowhere" }),
            -32603,
            "/nowhere",
        ),
        refused(
            json!({ "command": "true", "cwd": "sub" }),
            -32602,
            "params.cwd",
        ),
        refused(
            json!({ "command": "true", "args": [{}] }),
            -32602,
            "params.args",
        ),
        format!("{gone}\n{}", json!({ "await": "o", "error": error })),
    ];
    let nvim = start(&[&turn.join("\n")]);
    talk(&nvim, "build");
    nvim.wait_script("scripted");
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn a_cancel_ends_the_turns_running_commands() {
    let steps = run("echo started; exec sleep 1000");
    let turn = json!({ "expect": "session/prompt", "as": "p1" });
    let cancel = json!({ "expect": "session/cancel" });
    let end = json!({ "end": "p1", "reason": "cancelled" });
    let script = format!("{turn}\n{steps}\n{cancel}\n{end}");
    let nvim = Project::new().agent("scripted", &script).start();
    open(&nvim);
    talk::prompt(&nvim, "build");
    nvim.wait("the output", || {
        entry(&nvim).contains(&"started".to_owned())
    });
    nvim.cmd("Acp cancel");
    nvim.wait("the end of the turn", || ended(&nvim) == ["cancelled"]);
    wait_gone(&nvim);
    wait_said(&nvim, "killed by SIG");
    nvim.wait_script("scripted");
    nvim.quit();
}

/// Starts commands, runs `end`, and checks that no process is left after Neovim has quit.
#[track_caller]
fn check_nothing_is_left(end: impl FnOnce(&Nvim)) {
    let steps = run("sleep 1000 & echo started; sleep 1000");
    let nvim = start(&[&format!(
        "{steps}\n{}",
        json!({ "wait_file": "${cwd}/never" })
    )]);
    talk::prompt(&nvim, "build");
    nvim.wait("the output", || {
        entry(&nvim).contains(&"started".to_owned())
    });
    end(&nvim);
    nvim.quit();
}

#[track_caller]
fn wait_gone(nvim: &Nvim) {
    nvim.wait("the commands to be gone", || {
        running(nvim, "sleep 1000").is_empty()
    });
}

#[test]
fn commands_end_with_neovim() {
    check_nothing_is_left(|_| {});
}

#[test]
fn commands_end_with_their_agent() {
    check_nothing_is_left(|nvim| {
        nvim.cmd("Acp stop");
        wait_gone(nvim);
    });
}

#[test]
fn commands_end_with_their_chat() {
    check_nothing_is_left(|nvim| {
        nvim.lua("require('acp').close()", ());
        wait_gone(nvim);
    });
}

#[test]
fn a_flood_of_output_keeps_the_chat_small_and_shows_its_end() {
    let script = "yes 'a line of output, not a short one' | head -n 200000; echo the-$((0))-end";
    let turn = [
        run(script),
        ask("wait_for_exit", "${t}", &json!({ "exitCode": 0 })),
        ask(
            "output",
            "${t}",
            &json!({ "output": { "$contains": "the-0-end\n" }, "truncated": true }),
        ),
        ask("release", "${t}", &json!({})),
    ];
    let nvim = start(&[&turn.join("\n")]);
    talk(&nvim, "build");
    nvim.wait_script("scripted");
    nvim.wait("the end of the output", || {
        entry(&nvim)
            .last()
            .is_some_and(|line| line == "exit code 0")
    });
    let entry = entry(&nvim);
    assert_eq!(entry[1], "… 199951 lines above");
    assert_eq!((entry.len(), &*entry[51]), (53, "the-0-end"));
    assert!(!said(&nvim, "dropped"));
    nvim.quit();
}
