//! The permission window: its content and place, the step to it, and its answers.

mod answers;
mod focus;
mod odd;
mod place;
mod robot;
mod rules;
mod shown;

use serde_json::{Value as Json, json};

use super::harness::{Nvim, Project};
use super::talk::{self, here, open, status, wait_phase, wait_said, windows};

/// Returns a Neovim whose agent runs `ask` (a step of a script whose answer is awaited as `q`) once
/// the file `ask` exists.
#[track_caller]
pub fn start(ask: &str) -> Nvim {
    let script = format!(
        "{{\"expect\":\"session/prompt\",\"as\":\"p\"}}\n{{\"wait_file\":\"${{cwd}}/../ask\"}}\n{ask}\n\
         {{\"say\":\"answered\"}}\n{{\"end\":\"p\"}}"
    );
    let nvim = Project::new()
        .file("a.txt", "one two\nthree\n")
        .agent("scripted", &script)
        .start();
    nvim.cmd("edit a.txt");
    open(&nvim);
    talk::prompt(&nvim, "hi");
    wait_phase(&nvim, "running");
    nvim
}

const RUN: &str = r#"{"permission":{"toolCallId":"t","title":"Run the tests","kind":"execute","rawInput":{"command":"cargo test --all"}},"as":"q"}
{"await":"q","choice":"allow_once"}"#;

/// Lets the agent ask, and waits for the window.
#[track_caller]
fn ask(nvim: &Nvim) {
    std::fs::write(nvim.project.root().join("ask"), "").unwrap();
    nvim.wait("the window", || is_open(nvim));
}

pub fn is_open(nvim: &Nvim) -> bool {
    windows(nvim).contains(&"acp-permission".to_owned())
}

#[track_caller]
fn wait_closed(nvim: &Nvim) {
    nvim.wait("the window to close", || !is_open(nvim));
}

/// Goes to the window.
#[track_caller]
fn go(nvim: &Nvim) {
    nvim.wait("the window", || is_open(nvim));
    nvim.cmd("Acp permission");
    assert_eq!(here(nvim), "acp-permission");
}

/// Returns the lines of the permission window.
#[track_caller]
fn asked(nvim: &Nvim) -> Vec<String> {
    talk::lines_in(nvim, "acp-permission")
}

/// Waits until the window asks about the call with this title.
#[track_caller]
fn wait_asked(nvim: &Nvim, title: &str) {
    nvim.wait(&format!("the question {title:?}"), || {
        let lines = asked(nvim);
        lines.first().is_some_and(|line| line.contains(title))
    });
}

/// Goes to the window and presses keys there.
#[track_caller]
pub fn press(nvim: &Nvim, keys: &str) {
    go(nvim);
    nvim.keys(keys);
}

/// Answers through the API.
#[track_caller]
pub fn answer(nvim: &Nvim, id: u64, option: &str) {
    nvim.lua("require('acp').permission.answer(...)", (id, option));
}

#[track_caller]
fn list(nvim: &Nvim) -> Json {
    nvim.lua("return require('acp').permission.list()", ())
}
