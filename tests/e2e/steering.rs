//! Words for the running turn: from the keys of the input to the agent, for each of its answers.

use std::fs;

use serde_json::{Value as Json, json};

use super::harness::{Nvim, Project};
use super::talk::{self, said, status, wait_said};

/// Starts a chat whose agent can be steered, and is answering the prompt "one".
#[track_caller]
fn working(steps: &[Json]) -> Nvim {
    let meta = json!({ "steering": { "supported": true } });
    let mut script = vec![
        json!({ "defaults": { "initialize": { "_meta": meta } } }),
        prompt("one"),
        json!({ "say": "at one" }),
    ];
    script.extend_from_slice(steps);
    let lines: Vec<String> = script.iter().map(Json::to_string).collect();
    let project = Project::new().agent("scripted", &lines.join("\n"));
    let nvim = project.size(120, 24).start();
    talk::open(&nvim);
    assert_eq!(status(&nvim)["steering"], true);
    talk::prompt(&nvim, "one");
    wait_said(&nvim, "at one");
    nvim
}

fn prompt(text: &str) -> Json {
    json!({ "expect": "session/prompt", "params": { "prompt": [{ "text": text }] }, "as": text })
}

fn steered(text: &str) -> Json {
    let params = json!({
        "prompt": [{ "type": "text", "text": text }],
        "_meta": { "steering": { "idleBehavior": "promptRequired" } },
    });
    json!({ "expect": "_session/steering", "params": params, "as": "s" })
}

fn outcome(name: &str) -> Json {
    json!({ "reply": "s", "result": { "outcome": name } })
}

/// Waits until the session is idle and the script has ended, and compares what the transcript has.
#[track_caller]
fn ends(nvim: &Nvim, texts: &[&str]) {
    wait_said(nvim, texts.last().expect("a text"));
    talk::wait_phase(nvim, "idle");
    let transcript = talk::transcript(nvim);
    let found = transcript.iter().filter_map(|line| {
        let mut known = texts.iter();
        known.find(|text| line.contains(**text))
    });
    assert_eq!(
        found.collect::<Vec<_>>(),
        texts.iter().collect::<Vec<_>>(),
        "{transcript:?}"
    );
    nvim.wait_script("scripted");
}

#[test]
fn words_sent_while_the_agent_works_reach_its_turn() {
    let nvim = working(&[
        steered("two"),
        outcome("injected"),
        json!({ "say": "both now" }),
        json!({ "wait_file": "${script_dir}/go" }),
        json!({ "end": "one" }),
        prompt("three"),
        json!({ "say": "at three" }),
        json!({ "end": "three" }),
    ]);
    nvim.keys("i");
    nvim.wait_text("<CR> sends, even mid-turn · <C-q> queues");
    // A key that does not fit is left out as a whole.
    assert!(!nvim.screen().has("queues ·"));
    nvim.keys("two<CR>");
    wait_said(&nvim, "both now");
    // The other key always queues.
    nvim.keys("three<C-q>");
    nvim.wait_text("1 three");
    assert!(!said(&nvim, "three"));
    fs::write(nvim.project.root().join("agents/go"), "").expect("the file can be written");
    ends(&nvim, &["at one", "two", "both now", "at three"]);
    nvim.wait("the ends of both turns", || {
        talk::ended(&nvim) == ["end_turn", "end_turn"]
    });
    nvim.quit();
}

#[test]
fn words_for_a_turn_that_has_just_ended_begin_the_next_one() {
    let nvim = working(&[
        steered("two"),
        json!({ "end": "one" }),
        outcome("promptRequired"),
        prompt("two"),
        json!({ "say": "at second" }),
        json!({ "end": "two" }),
    ]);
    nvim.keys("itwo<CR>");
    ends(&nvim, &["at one", "two", "at second"]);
    nvim.quit();
}

#[test]
fn words_with_which_the_agent_has_begun_a_turn_are_not_sent_again() {
    let nvim = working(&[
        steered("two"),
        json!({ "end": "one" }),
        outcome("startedNewTurn"),
        json!({ "say": "on my own" }),
    ]);
    nvim.keys("itwo<CR>");
    ends(&nvim, &["at one", "two", "on my own"]);
    nvim.quit();
}

#[test]
fn words_for_an_agent_that_cannot_be_steered_are_queued_and_that_is_said() {
    let script = [
        prompt("one"),
        json!({ "say": "at one" }),
        json!({ "wait_file": "${script_dir}/go" }),
        json!({ "end": "one" }),
        prompt("two"),
        json!({ "say": "at second" }),
        json!({ "end": "two" }),
    ];
    let lines = script.map(|line| line.to_string());
    let nvim = Project::new()
        .agent("scripted", &lines.join("\n"))
        .size(100, 24)
        .start();
    talk::open(&nvim);
    assert_eq!(status(&nvim)["steering"], false);
    talk::prompt(&nvim, "one");
    wait_said(&nvim, "at one");
    nvim.lua("require('acp').prompt('two', { steer = true })", ());
    let why = "Queued: the agent \"scripted\" accepts no prompts during a turn.";
    nvim.wait("the message", || nvim.messages().contains(why));
    assert_eq!(status(&nvim)["queued"], 1);
    fs::write(nvim.project.root().join("agents/go"), "").expect("the file can be written");
    ends(&nvim, &["at one", "two", "at second"]);
    nvim.quit();
}
