//! The example agent of the official SDK, live.

use std::fs;

use serde_json::json;

use super::files::touch;
use super::harness::{Nvim, Project, installed};
use super::talk::{self, ended, open, status, transcript, wait_phase, wait_said};

/// Starts Neovim with a chat with the SDK's example agent. Its thinking pauses are cut to a
/// twentieth, but last as long as there is a file `think`.
#[track_caller]
fn start_example() -> Nvim {
    let project = Project::new();
    let hurry = format!(
        "data:text/javascript,import {{ existsSync }} from 'node:fs'; \
         const wait = globalThis.setTimeout; \
         const think = (done) => existsSync({:?}) ? wait(think, 10, done) : done(); \
         globalThis.setTimeout = (done, ms) => wait(think, ms / 20, done)",
        project.root().join("think")
    );
    let spec = json!({ "command": "node", "args": ["--import", hurry, installed("sdk-agent.sh")] });
    let nvim = project.agent_command("example", spec).size(100, 40).start();
    open(&nvim);
    nvim
}

#[test]
fn a_turn_of_the_sdks_example_agent_with_its_permission_allowed() {
    let nvim = start_example();
    talk::prompt(&nvim, "Improve the project.");
    wait_phase(&nvim, "waiting");
    let open = nvim.lua("return require('acp').permission.list()[1]", ());
    assert_eq!(open["title"], "Modifying critical configuration file");
    assert_eq!(
        open["options"],
        json!([
            { "optionId": "allow", "name": "Allow this change", "kind": "allow_once" },
            { "optionId": "reject", "name": "Skip this change", "kind": "reject_once" },
        ])
    );
    nvim.wait_text("Allow this change");
    nvim.lua(
        "require('acp').permission.answer(...)",
        (&open["id"], "allow"),
    );
    nvim.wait("the end of the turn", || ended(&nvim) == ["end_turn"]);
    wait_said(&nvim, "The changes have been applied.");
    insta::assert_snapshot!(transcript(&nvim).join("\n"));
    nvim.quit();
}

#[test]
fn a_turn_of_the_sdks_example_agent_with_its_permission_rejected() {
    let nvim = start_example();
    talk::prompt(&nvim, "Improve the project.");
    wait_phase(&nvim, "waiting");
    nvim.lua(
        "local acp = require('acp')
        acp.permission.answer(acp.permission.list()[1].id, 'reject')",
        (),
    );
    nvim.wait("the end of the turn", || ended(&nvim) == ["end_turn"]);
    wait_said(&nvim, "I'll skip the configuration update.");
    nvim.quit();
}

#[test]
fn a_turn_of_the_sdks_example_agent_can_be_cancelled_anywhere() {
    let nvim = start_example();
    let think = nvim.project.root().join("think");
    touch(&think, "");
    talk::prompt(&nvim, "Improve the project.");
    wait_said(&nvim, "I'll help you with that.");
    nvim.cmd("Acp cancel");
    fs::remove_file(&think).expect("it is there");
    nvim.wait("the end of the turn", || ended(&nvim) == ["cancelled"]);
    talk::prompt(&nvim, "And again.");
    wait_phase(&nvim, "waiting");
    nvim.cmd("Acp cancel");
    nvim.wait("the end of the turn", || ended(&nvim).len() == 2);
    wait_said(
        &nvim,
        "⊘ ✎ Modifying critical configuration file  cancelled",
    );
    assert_eq!(status(&nvim)["permissions"], 0);
    nvim.quit();
}
