//! Life and death of agents: none is left behind, and Neovim outlives every one of them.

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::harness::{Nvim, Project, procs};
use super::talk::{
    self, count, ended, go, open, prompt, said, start, status, transcript, wait_phase, wait_said,
};

/// Returns the processes Neovim has started that are agents of the tests.
fn agents(nvim: &Nvim) -> Vec<procs::Process> {
    let mut agents = nvim.children();
    agents.retain(|child| child.zombie || child.command.contains("acp-scripted"));
    agents
}

/// Returns the process id of the one agent.
#[track_caller]
fn agent(nvim: &Nvim) -> u32 {
    match &agents(nvim)[..] {
        [agent] => agent.pid,
        agents => panic!("not one agent: {agents:?}"),
    }
}

#[track_caller]
fn wait_gone(nvim: &Nvim, pid: u32) {
    nvim.wait("the process to end", || !procs::alive(pid));
}

// Ends.

#[test]
fn quitting_ends_a_well_behaved_agent_at_once() {
    let nvim = start(&[r#"{"say":"hi"}"#]);
    talk::talk(&nvim, "hi");
    let begin = Instant::now();
    nvim.quit();
    assert!(begin.elapsed() < Duration::from_secs(2));
}

#[test]
fn quitting_in_the_middle_of_a_turn_leaves_nothing_behind() {
    let nvim = start(&[r#"{"say":"busy"}
{"delay":60000}"#]);
    prompt(&nvim, "hi");
    wait_said(&nvim, "busy");
    nvim.quit();
}

#[test]
fn quitting_ends_an_agent_that_hears_nothing() {
    let script = r#"{"options":{"ignore_sigterm":true}}
{"expect":"session/prompt"}
{"say":"deaf"}
{"hang":"deaf"}"#;
    let nvim = Project::new().agent("scripted", script).start();
    open(&nvim);
    prompt(&nvim, "hi");
    wait_said(&nvim, "deaf");
    nvim.quit();
}

#[test]
fn an_agent_is_usable_after_a_quit_that_was_refused() {
    let nvim = start(&["", r#"{"say":"still here"}"#]);
    talk::talk(&nvim, "hi");
    go(&nvim, "");
    nvim.keys("ichanged<Esc>");
    nvim.keys(":qa<CR>");
    nvim.wait("E37 or E162", || {
        nvim.screen().has("E37") || nvim.screen().has("E162")
    });
    nvim.keys("<CR>");
    nvim.wait("the prompt to end", || !nvim.blocked());
    talk::talk(&nvim, "hello?");
    wait_said(&nvim, "still here");
    nvim.quit();
}

#[test]
fn a_killed_neovim_takes_its_agents_along() {
    let mut nvim = start(&[r#"{"say":"busy"}
{"delay":60000}"#]);
    prompt(&nvim, "hi");
    wait_said(&nvim, "busy");
    let agent = agent(&nvim);
    nvim.kill();
    wait_gone(&nvim, agent);
}

#[test]
fn grandchildren_end_with_their_agent() {
    let script = r#"{"expect":"session/prompt","as":"p"}
{"spawn_child":["sleep","1000"],"pid_file":"${cwd}/pid"}
{"spawn_child":["sleep","1000"],"holds_stdout":true}
{"say":"spawned"}
{"end":"p"}"#;
    let nvim = Project::new().agent("scripted", script).start();
    open(&nvim);
    talk::talk(&nvim, "hi");
    wait_said(&nvim, "spawned");
    let child: u32 = nvim.project.read("pid").trim().parse().unwrap();
    assert!(procs::alive(child));
    nvim.cmd("Acp stop");
    wait_gone(&nvim, child);
    nvim.wait("no child and no zombie", || nvim.children().is_empty());
    nvim.quit();
}

#[test]
fn stop_ends_the_agent_and_the_next_prompt_starts_it_again() {
    let nvim = start(&[r#"{"say":"one"}"#]);
    talk::talk(&nvim, "hi");
    let first = agent(&nvim);
    nvim.cmd("Acp stop");
    wait_phase(&nvim, "dead");
    wait_said(&nvim, "The agent \"scripted\" has ended");
    wait_gone(&nvim, first);
    nvim.wait("no zombie", || nvim.children().is_empty());
    talk::talk(&nvim, "again");
    assert_ne!(agent(&nvim), first);
    nvim.wait("the second answer", || {
        transcript(&nvim)
            .iter()
            .filter(|line| *line == "one")
            .count()
            == 2
    });
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn stop_in_the_middle_of_a_turn_ends_it() {
    let nvim = start(
        &[r#"{"tool":{"id":"t","title":"work","status":"in_progress"}}
{"permission":{"toolCallId":"t"},"as":"q"}
{"hang":true}"#],
    );
    prompt(&nvim, "hi");
    wait_phase(&nvim, "waiting");
    nvim.cmd("Acp stop");
    wait_phase(&nvim, "dead");
    nvim.wait("the end", || ended(&nvim).len() == 1);
    wait_said(&nvim, "⊘ tool  work  cancelled");
    assert_eq!(nvim.lua("return #require('acp').permission.list()", ()), 0);
    nvim.wait("no zombie", || nvim.children().is_empty());
    nvim.quit();
}

#[test]
fn restart_gives_the_session_a_new_process() {
    let nvim = start(&[r#"{"say":"one"}"#]);
    talk::talk(&nvim, "hi");
    let first = agent(&nvim);
    nvim.cmd("Acp restart");
    nvim.wait("the new session", || count(&nvim, "AcpSessionStarted") == 2);
    wait_gone(&nvim, first);
    assert_ne!(agent(&nvim), first);
    talk::talk(&nvim, "again");
    assert_eq!(status(&nvim)["session"], 1);
    nvim.quit();
}

#[test]
fn a_second_stop_is_said() {
    let nvim = start(&[]);
    nvim.cmd("Acp stop");
    wait_phase(&nvim, "dead");
    nvim.cmd("Acp stop");
    nvim.wait("the message", || {
        nvim.messages() == "acp.nvim: No agent runs for this chat; a prompt starts it."
    });
    nvim.quit();
}

// Deaths.

#[test]
fn an_agent_that_is_killed_leaves_its_last_words_and_comes_back() {
    let script = r#"{"life":1}
{"expect":"session/prompt","as":"p"}
{"tool":{"id":"t","title":"work","kind":"edit","status":"in_progress"}}
{"permission":{"toolCallId":"t"},"as":"q"}
{"stderr":"out of memory"}
{"stderr":"goodbye"}
{"wait_file":"${cwd}/die"}
{"abort":"SIGKILL"}
{"life":2}
{"expect":"session/prompt","as":"p"}
{"say":"back again"}
{"end":"p"}"#;
    let nvim = Project::new().agent("scripted", script).start();
    open(&nvim);
    prompt(&nvim, "hi");
    wait_phase(&nvim, "waiting");
    nvim.wait("the float", || {
        talk::windows(&nvim).contains(&"acp-permission".to_owned())
    });
    std::fs::write(nvim.project.path("die"), "").unwrap();
    wait_phase(&nvim, "dead");
    nvim.wait("the float to close", || {
        !talk::windows(&nvim).contains(&"acp-permission".to_owned())
    });
    wait_said(
        &nvim,
        "The agent \"scripted\" ended unexpectedly: killed by SIGKILL (9).",
    );
    wait_said(&nvim, "  out of memory");
    wait_said(&nvim, "  goodbye");
    wait_said(&nvim, "⊘ edit  work  cancelled");
    assert_eq!(ended(&nvim), ["agent_exited"]);
    nvim.wait("one message", || {
        nvim.messages()
            == "acp.nvim: The agent \"scripted\" ended unexpectedly: killed by SIGKILL (9)."
    });
    nvim.wait("no zombie", || nvim.children().is_empty());
    talk::talk(&nvim, "are you there?");
    wait_said(&nvim, "back again");
    wait_phase(&nvim, "idle");
    nvim.quit();
}

#[test]
fn an_agent_that_dies_when_idle_is_started_by_the_next_prompt() {
    let script = r#"{"life":1}
{"wait_file":"${script_dir}/die"}
{"exit":7}
{"life":2}
{"expect":"session/prompt","as":"p"}
{"say":"back"}
{"end":"p"}"#;
    let nvim = Project::new().agent("scripted", script).start();
    open(&nvim);
    std::fs::write(nvim.project.root().join("agents/die"), "").unwrap();
    wait_phase(&nvim, "dead");
    wait_said(&nvim, "ended unexpectedly: exit code 7.");
    talk::talk(&nvim, "hi");
    wait_said(&nvim, "back");
    nvim.quit();
}

/// Checks what is said of an agent that cannot be started, in one message and in the chat.
#[track_caller]
fn check_not_started(spec: Json, message: &str) {
    let nvim = Project::new()
        .agent_command("broken", spec)
        .size(200, 20)
        .start();
    nvim.keys(":AcpChat<CR>");
    nvim.wait(&format!("the message {message:?}"), || {
        nvim.messages().contains(message)
    });
    assert_eq!(nvim.messages().lines().count(), 1, "{}", nvim.messages());
    assert!(!nvim.messages().contains("stack traceback"));
    assert!(nvim.children().is_empty());
    nvim.quit();
}

#[test]
fn a_command_that_cannot_run_is_named_with_the_next_step() {
    check_not_started(json!({ "command": "no-such-agent" }), "no-such-agent");
    check_not_started(json!({ "command": "/etc/hostname" }), "/etc/hostname");
    check_not_started(json!({ "command": "/" }), "/");
}

#[test]
fn a_program_that_is_gone_when_it_is_started_again_is_named() {
    let nvim = Project::new().file("bin/agent", "#!/bin/sh\nexit 3\n");
    let path = nvim.path("bin/agent");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let nvim = nvim
        .agent_command("scripted", json!({ "command": path }))
        .start();
    nvim.cmd("AcpChat");
    wait_phase(&nvim, "dead");
    wait_said(&nvim, "exit code 3");
    std::fs::remove_file(&path).unwrap();
    nvim.cmd("messages clear");
    prompt(&nvim, "hi");
    wait_said(&nvim, "does not exist");
    wait_said(&nvim, "Not sent: hi");
    assert_eq!(nvim.messages().lines().count(), 1);
    nvim.quit();
}

/// Checks an agent that cannot be used: what its chat says, and that it is ended.
#[track_caller]
fn check_unusable(script: &str, lines: &[&str]) {
    let nvim = Project::new()
        .agent("scripted", script)
        .config("request_timeout", json!(0.3))
        .start();
    nvim.lua(
        "require('acp').open() require('acp').prompt('a prompt')",
        (),
    );
    wait_phase(&nvim, "dead");
    for line in lines {
        wait_said(&nvim, line);
    }
    wait_said(&nvim, "Not sent: a prompt");
    nvim.wait("the end of the process", || nvim.children().is_empty());
    // Where the prompt came too late for the first process, it has started a second one.
    nvim.wait("the message", || !nvim.messages().is_empty());
    let mut messages: Vec<String> = nvim.messages().lines().map(str::to_owned).collect();
    messages.dedup();
    assert_eq!(messages.len(), 1, "{messages:#?}");
    nvim.quit();
}

#[test]
fn an_agent_that_never_answers_is_given_up() {
    check_unusable(
        r#"{"defaults":{"initialize":false}}"#,
        &["The agent \"scripted\" has not answered initialize for 0.3 seconds and was stopped."],
    );
    check_unusable(
        r#"{"defaults":{"session/new":false}}"#,
        &["The agent \"scripted\" has not answered session/new for 0.3 seconds and was stopped."],
    );
}

#[test]
fn another_protocol_version_is_refused() {
    check_unusable(
        r#"{"defaults":{"initialize":{"protocolVersion":99}}}"#,
        &["speaks version 99 of the Agent Client Protocol"],
    );
}

#[test]
fn an_agent_that_refuses_to_initialize_is_quoted() {
    check_unusable(
        r#"{"defaults":{"initialize":{"$error":{"code":-32603,"message":"no licence"}}}}"#,
        &["The agent \"scripted\" could not be initialized: no licence"],
    );
    check_unusable(
        r#"{"defaults":{"session/new":{"$error":{"code":-32603,"message":"no room"}}}}"#,
        &["The agent \"scripted\" could not open a session: no room (-32603)."],
    );
}

#[test]
fn a_login_that_is_needed_is_shown_with_its_methods() {
    check_unusable(
        r#"{"defaults":{"initialize":{"authMethods":[{"id":"key","name":"API key","description":"Set ACME_KEY"},{"id":"web","name":"Browser"}]},"session/new":{"$error":{"code":-32000,"message":"Authentication required"}}}}"#,
        &[
            "The agent \"scripted\" asks you to log in first (Authentication required).",
            "  API key: Set ACME_KEY",
            "  Browser",
            "then send the prompt again.",
        ],
    );
}

#[test]
fn the_prompt_after_a_login_works() {
    let script = r#"{"life":1}
{"expect":"session/new","as":"n"}
{"reply":"n","error":{"code":-32000,"message":"Authentication required"}}
{"expect_eof":true}
{"exit":0}
{"life":2}
{"expect":"session/new","as":"n"}
{"reply":"n","result":{"sessionId":"s"}}
{"expect":"session/prompt","as":"p"}
{"say":"welcome"}
{"end":"p"}"#;
    let nvim = Project::new().agent("scripted", script).start();
    nvim.cmd("AcpChat");
    wait_phase(&nvim, "dead");
    talk::talk(&nvim, "hi");
    wait_said(&nvim, "welcome");
    nvim.quit();
}

// What is said on the wire.

#[test]
fn noise_is_passed_over_and_logged() {
    let nvim = start(&[r#"{"raw":"Loading model ..."}
{"raw_b64":"/////w=="}
{"raw":"{\"jsonrpc\":\"2.0\""}
{"raw":"[1,2,3]"}
{"raw":"null"}
{"say":"clean"}"#]);
    talk::talk(&nvim, "hi");
    wait_said(&nvim, "clean");
    assert!(!said(&nvim, "Loading"));
    assert_eq!(nvim.messages(), "");
    let log = nvim.project.root().join("state/nvim/acp.log");
    nvim.wait("the log", || {
        std::fs::read_to_string(&log).is_ok_and(|log| log.contains("Loading model"))
    });
    nvim.quit();
}

#[test]
fn requests_nobody_knows_are_refused() {
    let nvim = start(&[r#"{"request":"fs/teleport","params":{},"as":"r1"}
{"await":"r1","error":{"code":-32601}}
{"request":"fs/read_text_file","params":{"path":7},"as":"r2"}
{"await":"r2","error":{"code":-32602}}
{"request":"session/request_permission","params":{"sessionId":"${sid}","options":[]},"id":"x","as":"r3"}
{"await":"r3","error":{"code":-32602}}
{"notify":"acme/hello","params":{}}
{"say":"done"}"#]);
    talk::talk(&nvim, "hi");
    wait_said(&nvim, "done");
    nvim.wait_script("scripted");
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

/// Types while `busy` holds, and returns how long the slowest key took to show.
#[track_caller]
fn slowest_key(nvim: &Nvim, mut busy: impl FnMut() -> bool) -> Duration {
    let mut slowest = Duration::ZERO;
    let mut typed = 0;
    while typed == 0 || busy() {
        let begin = Instant::now();
        nvim.keys("x");
        typed += 1;
        let text = "x".repeat(typed % 60);
        nvim.wait("the key on the screen", || {
            nvim.screen().row(0).starts_with(&text)
        });
        slowest = slowest.max(begin.elapsed());
        if typed % 60 == 0 {
            nvim.keys("<Esc>cc");
        }
    }
    slowest
}

#[test]
fn eighty_megabytes_in_one_line_are_dropped_and_said() {
    let nvim = start(&[r#"{"wait_file":"${cwd}/go"}
{"flood":{"bytes":83886080}}
{"say":"and on it goes"}"#]);
    prompt(&nvim, "hi");
    wait_phase(&nvim, "running");
    go(&nvim, "");
    nvim.keys("i");
    std::fs::write(nvim.project.path("go"), "").unwrap();
    let slowest = slowest_key(&nvim, || ended(&nvim).is_empty());
    wait_said(&nvim, "A message of 80 MiB from the agent was dropped");
    wait_said(&nvim, "and on it goes");
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    nvim.quit();
}

#[test]
fn a_megabyte_in_one_message_is_shown() {
    let nvim = start(&[r#"{"wait_file":"${cwd}/go"}
{"big_say":{"bytes":1048576}}
{"say":"\n\nthe end"}"#]);
    prompt(&nvim, "hi");
    wait_phase(&nvim, "running");
    go(&nvim, "");
    nvim.keys("i");
    std::fs::write(nvim.project.path("go"), "").unwrap();
    let slowest = slowest_key(&nvim, || !said(&nvim, "the end"));
    let bytes: usize = transcript(&nvim).iter().map(|line| line.len() + 1).sum();
    assert!(bytes > 1_000_000, "{bytes}");
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    nvim.quit();
}

// Neighbours.

#[test]
fn neovims_own_jobs_keep_their_exit_codes() {
    let nvim = start(&[r#"{"wait_file":"${cwd}/die"}
{"exit":0}"#]);
    prompt(&nvim, "hi");
    wait_phase(&nvim, "running");
    nvim.lua(
        "_G.codes = {}
        for code = 1, 20 do
          vim.system({ 'sh', '-c', 'exit ' .. code }, {}, function(done)
            table.insert(_G.codes, done.code)
          end)
        end
        vim.fn.jobstart({ 'sh', '-c', 'exit 42' }, { on_exit = function(_, code)
          table.insert(_G.codes, code)
        end })",
        (),
    );
    nvim.cmd("tabnew | terminal exit 5");
    std::fs::write(nvim.project.path("die"), "").unwrap();
    nvim.wait_text("[Process exited 5]");
    nvim.wait("all exit codes", || {
        let codes = nvim.lua("table.sort(_G.codes) return _G.codes", ());
        let want: Vec<u32> = (1..=20).chain([42]).collect();
        codes == json!(want)
    });
    nvim.wait("no zombie", || nvim.children().is_empty());
    nvim.quit();
}

#[test]
fn two_neovims_have_agents_of_their_own() {
    let first = start(&[r#"{"say":"one"}"#]);
    talk::talk(&first, "hi");
    let second = Nvim::start(std::rc::Rc::clone(&first.project));
    open(&second);
    talk::talk(&second, "hi");
    wait_said(&second, "one");
    let left = agent(&second);
    first.quit();
    assert!(procs::alive(left));
    second.quit();
}
