//! Questions shown as a form or a page: the window's content, filling it in, answering it.

mod answers;
mod fields;
mod pages;

use serde_json::{Value as Json, json};

use super::harness::Nvim;
use super::permission;
use super::talk::{self, here, status, wait_said, windows};

/// Returns a Neovim whose agent runs the steps `ask` once the file `ask` exists.
#[track_caller]
fn start(ask: &str) -> Nvim {
    let nvim = permission::start(ask);
    nvim.cmd("wincmd t");
    nvim
}

/// Returns the steps that ask with a form and await `answer`.
fn form(properties: &Json, required: &[&str], answer: &Json) -> String {
    let ask = json!({ "request": "elicitation/create", "as": "q", "params": {
        "sessionId": "${sid}", "mode": "form", "message": "How shall the project be set up?",
        "requestedSchema": {
            "type": "object", "properties": properties, "required": required,
        },
    }});
    // The key that names the step must come first.
    format!("{ask}\n{{\"await\":\"q\",\"result\":{answer}}}")
}

/// Lets the agent ask, and waits for the window.
#[track_caller]
fn ask(nvim: &Nvim) {
    std::fs::write(nvim.project.root().join("ask"), "").unwrap();
    nvim.wait("the window", || is_open(nvim));
}

fn is_open(nvim: &Nvim) -> bool {
    windows(nvim).contains(&"acp-form".to_owned())
}

#[track_caller]
fn wait_closed(nvim: &Nvim) {
    nvim.wait("the window to close", || !is_open(nvim));
}

#[track_caller]
fn wait_focus(nvim: &Nvim) {
    nvim.wait("the window to have the focus", || here(nvim) == "acp-form");
}

/// Goes to the window.
#[track_caller]
fn go(nvim: &Nvim) {
    nvim.wait("the window", || is_open(nvim));
    nvim.cmd("Acp permission");
    assert_eq!(here(nvim), "acp-form");
    nvim.wait("its keys in the footer", || {
        !nvim.screen().has(":Acp permission to answer")
    });
}

/// Waits until the turn has ended, which requires the right answer.
#[track_caller]
fn wait_answered(nvim: &Nvim) {
    wait_closed(nvim);
    wait_said(nvim, "answered");
    nvim.wait_script("scripted");
    assert_eq!(nvim.lua("return vim.fn.expand('%')", ()), json!("a.txt"));
    assert_eq!(nvim.mode(), "n");
}

/// Returns the lines of the window.
#[track_caller]
fn lines(nvim: &Nvim) -> Vec<String> {
    talk::lines_in(nvim, "acp-form")
}

/// Returns the window as drawn on the screen, with its border.
#[track_caller]
fn on_screen(nvim: &Nvim) -> String {
    let rows = nvim.drawn().rows();
    let top = rows.iter().position(|row| row.contains('╭'));
    let top = top.expect("a window with a border");
    let column = |corner: char| {
        rows[top]
            .chars()
            .position(|c| c == corner)
            .expect("a corner")
    };
    let (left, right) = (column('╭'), column('╮'));
    let crop = |row: &String| -> String {
        let chars = row.chars().skip(left).take(right - left + 1);
        chars.collect()
    };
    let shown: Vec<String> = rows.iter().skip(top).map(crop).collect();
    let bottom = shown.iter().position(|row| row.starts_with('╰'));
    shown[..=bottom.expect("a bottom")].join("\n")
}

fn some_fields() -> Json {
    json!({
        "name": { "type": "string", "title": "Name", "pattern": "^[a-z-]+$" },
        "count": { "type": "integer", "title": "Workers", "minimum": 1, "maximum": 8 },
        "tests": { "type": "boolean", "title": "With tests", "default": true },
        "licence": { "title": "Licence", "oneOf": [
            { "const": "mit", "title": "MIT" }, { "const": "apache", "title": "Apache 2.0" },
        ]},
        "extras": { "type": "array", "title": "Extras", "items": {
            "enum": ["docs", "benches"],
        }},
    })
}
