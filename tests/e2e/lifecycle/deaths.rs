//! Agents that die, cannot start, or cannot be used: what the user sees, and what still works.

use super::*;

#[test]
fn a_killed_agent_leaves_its_last_words_and_can_be_restarted() {
    let script = r#"{"life":1}
{"expect":"session/prompt","as":"p"}
{"tool":{"id":"t","title":"work","kind":"edit","status":"in_progress"}}
{"permission":{"toolCallId":"t"},"as":"q"}
{"stderr":"out of memory"}
{"stderr":"goodbye"}
{"wait_file":"${cwd}/../die"}
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
    std::fs::write(nvim.project.root().join("die"), "").unwrap();
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
    wait_said(&nvim, "⊘ ✎ work  cancelled");
    nvim.wait("the end of the turn", || ended(&nvim) == ["agent_exited"]);
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
fn an_open_choice_survives_the_death_of_an_agent() {
    let script = r#"{"wait_file":"${script_dir}/die"}
{"exit":7}"#;
    let nvim = Project::new().agent("scripted", script).start();
    open(&nvim);
    nvim.keys("<Esc>");
    let choose = "vim.schedule(function()
        vim.ui.select({ 'a', 'b' }, {}, function(choice) vim.g.choice = choice end)
    end)";
    nvim.lua(choose, ());
    nvim.wait_text("2: b");
    let die = nvim.project.root().join("agents/die");
    std::fs::write(die, "").unwrap();
    // Before 0.11 Neovim runs nothing else while it waits there; the agent's end is processed
    // after.
    nvim.wait("the end of the agent", || {
        nvim.blocked() || nvim.messages().contains("ended unexpectedly")
    });
    nvim.keys("2<CR>");
    nvim.wait("the answer", || {
        // After the screen has scrolled, Neovim may wait for a key.
        if nvim.blocked() {
            nvim.input("<CR>");
            return false;
        }
        nvim.lua("return vim.g.choice", ()) == "b"
    });
    wait_phase(&nvim, "dead");
    let messages = nvim.messages();
    assert!(!messages.contains("internal error"), "{messages}");
    nvim.quit();
}

#[test]
fn an_agent_that_dies_while_idle_is_restarted_by_the_next_prompt() {
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

/// Checks the message about an agent that cannot be started, in `:messages` and in the chat.
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
fn a_program_missing_at_a_restart_is_named() {
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
    wait_said(&nvim, "A prompt waits");
    assert_eq!(nvim.messages().lines().count(), 1);
    nvim.quit();
}

/// Opens a chat with an agent that cannot be used, and sends a prompt.
#[track_caller]
fn begin(project: Project, script: &str) -> Nvim {
    let nvim = project.agent("scripted", script).start();
    nvim.lua(
        "require('acp').open() require('acp').prompt('a prompt')",
        (),
    );
    nvim
}

/// Checks an agent that cannot be used: its chat has these lines, and its process has ended.
#[track_caller]
fn check_unusable(nvim: Nvim, lines: &[&str]) {
    wait_phase(&nvim, "dead");
    for line in lines {
        wait_said(&nvim, line);
    }
    wait_said(&nvim, "A prompt waits");
    nvim.wait("the end of the process", || nvim.children().is_empty());
    // If the prompt came after the first process had ended, it started a second one.
    nvim.wait("the message", || !nvim.messages().is_empty());
    let mut messages: Vec<String> = nvim.messages().lines().map(str::to_owned).collect();
    messages.dedup();
    assert_eq!(messages.len(), 1, "{messages:#?}");
    nvim.quit();
}

#[test]
fn an_agent_that_never_answers_is_given_up() {
    let short = Project::new().config("request_timeout", json!(0.3));
    check_unusable(
        begin(short, r#"{"defaults":{"initialize":false}}"#),
        &["The agent \"scripted\" has not answered initialize for 0.3 seconds and was stopped."],
    );
    let script = r#"{"defaults":{"session/new":false}}
{"expect":"initialize","as":"i"}
{"signal_file":"${script_dir}/../p"}
{"wait_file":"${script_dir}/../p.go"}
{"reply":"i"}
{"hang":true}"#;
    let nvim = begin(Project::new(), script);
    crate::files::wait_pause(&nvim, "p");
    // Only the next request has so little time.
    nvim.lua("require('acp').setup({ request_timeout = 0.3 })", ());
    crate::files::go_on(&nvim, "p");
    check_unusable(
        nvim,
        &["The agent \"scripted\" has not answered session/new for 0.3 seconds and was stopped."],
    );
}

#[test]
fn another_protocol_version_is_refused() {
    let script = r#"{"defaults":{"initialize":{"protocolVersion":99}}}"#;
    check_unusable(
        begin(Project::new(), script),
        &["speaks version 99 of the Agent Client Protocol"],
    );
}

#[test]
fn an_agent_that_refuses_to_initialize_is_quoted() {
    let script = r#"{"defaults":{"initialize":{"$error":{"code":-32603,"message":"no licence"}}}}"#;
    check_unusable(
        begin(Project::new(), script),
        &["The agent \"scripted\" could not be initialized: no licence"],
    );
    let script = r#"{"defaults":{"session/new":{"$error":{"code":-32603,"message":"no room"}}}}"#;
    check_unusable(
        begin(Project::new(), script),
        &["The agent \"scripted\" could not open a session: no room (-32603)."],
    );
}
