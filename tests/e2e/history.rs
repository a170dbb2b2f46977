//! Past sessions: kept, listed, shown, continued, deleted, exported.

use std::fs;
use std::rc::Rc;

use serde_json::{Value as Json, json};

use super::harness::{Nvim, Project};
use super::overview;
use super::talk::{self, status, transcript, wait_phase, wait_said};

/// An agent that answers prompts; each of its processes runs the next script of `lives`.
fn agent(abilities: &Json, lives: &[&str]) -> Project {
    let defaults = json!({ "defaults": { "initialize": { "agentCapabilities": abilities } } });
    let lives = (1..).zip(lives).map(|(life, steps)| {
        let life = json!({ "life": life });
        format!("{life}\n{steps}")
    });
    let lives: Vec<String> = lives.collect();
    Project::new()
        .agent("scripted", &format!("{defaults}\n{}", lives.join("\n")))
        .size(100, 30)
}

const COUNTS: &str = r#"{"expect":"session/prompt","as":"p"}
{"think":"How far?"}
{"say":"I count:\n\n- one\n- **two**"}
{"tool":{"id":"t","title":"Edit f","kind":"edit","status":"completed","content":[{"type":"diff","path":"/x/f","oldText":"a\n","newText":"b\n"}]}}
{"update":{"sessionUpdate":"session_info_update","title":"Counting"}}
{"end":"p"}"#;

/// Sends a prompt and quits; returns the project and the chat's content.
#[track_caller]
fn used(abilities: &Json, next: &str) -> (Rc<Project>, Vec<String>) {
    let nvim = agent(abilities, &[COUNTS, next]).start();
    talk::open(&nvim);
    talk::talk(&nvim, "Count, please");
    wait_said(&nvim, "+ b");
    let shown = transcript(&nvim);
    let project = Rc::clone(&nvim.project);
    nvim.quit();
    (project, shown)
}

/// Makes `vim.ui.select` choose the first item, and records the items.
#[track_caller]
fn chooses(nvim: &Nvim) {
    nvim.lua(
        "_G.offered = {}
        vim.ui.select = function(items, opts, choose)
          local labels = vim.tbl_map(opts.format_item or tostring, items)
          table.insert(_G.offered, { opts.prompt, labels })
          choose(items[1], 1)
        end",
        (),
    );
}

fn offered(nvim: &Nvim) -> Json {
    nvim.lua("return _G.offered", ())
}

#[track_caller]
fn wait_offered(nvim: &Nvim, count: usize) {
    nvim.wait("the list of sessions", || {
        offered(nvim)
            .as_array()
            .is_some_and(|all| all.len() >= count)
    });
}

#[test]
fn a_session_is_chosen_in_the_next_neovim_and_shown_as_it_was() {
    let resumes = json!({ "sessionCapabilities": { "resume": {} } });
    let goes_on = r#"{"expect":"session/resume","params":{"sessionId":"session-1"},"as":"r"}
{"reply":"r","result":{}}
{"expect":"session/prompt","params":{"sessionId":"session-1"},"as":"q"}
{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Three."}},"session":"session-1"}
{"end":"q"}"#;
    let (project, shown) = used(&resumes, goes_on);
    let nvim = Nvim::start(project);
    let lines = overview::list(&nvim, "Counting");
    assert_eq!(lines, [" Counting · scripted · just now"]);
    nvim.keys("<CR>");
    wait_phase(&nvim, "idle");
    nvim.wait("the conversation", || transcript(&nvim) == shown);
    assert_eq!(status(&nvim)["title"], "Counting");
    talk::talk(&nvim, "And on");
    wait_said(&nvim, "Three.");
    // The session is open now; choosing it again shows it.
    nvim.cmd("tabnew");
    let lines = overview::list(&nvim, "Counting");
    assert_eq!(lines.len(), 1, "{lines:?}");
    nvim.keys("<CR>");
    nvim.wait("the chat", || talk::here(&nvim) == "acp-input");
    assert_eq!(status(&nvim)["session"], 1);
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn an_agent_that_cannot_load_continues_in_a_new_session_with_the_conversation() {
    let goes_on = r#"{"expect":"session/prompt","params":{"prompt":[{"text":"And on"},{"resource":{"text":{"$contains":"Count, please"}}}]},"as":"q"}
{"say":"Three."}
{"end":"q"}"#;
    let (project, shown) = used(&json!({}), goes_on);
    let nvim = Nvim::start(project);
    overview::choose(&nvim, "scripted");
    wait_said(&nvim, "cannot go on with this conversation");
    assert_eq!(transcript(&nvim)[..shown.len()], shown);
    talk::talk(&nvim, "And on");
    wait_said(&nvim, "Three.");
    nvim.wait_script("scripted");
    // It is still one conversation.
    let count = "local all
        require('acp').sessions({}, function(sessions) all = sessions end)
        vim.wait(5000, function() return all ~= nil end, 5)
        return #all";
    assert_eq!(nvim.lua(count, ()), 1);
    nvim.quit();
}

#[test]
fn a_session_of_a_missing_agent_can_be_read() {
    let (project, _) = used(&json!({}), "");
    let nvim = Nvim::start(project);
    nvim.lua(
        "require('acp').setup({ agents = { scripted = { command = '/no/such/agent' } } })",
        (),
    );
    overview::choose(&nvim, "scripted");
    nvim.wait("the record", || {
        nvim.lua("return vim.bo.filetype", ()) == "markdown"
    });
    let lines = nvim.buf_lines(0);
    assert_eq!(lines[0], "# Counting");
    assert!(lines.contains(&"- **two**".to_owned()), "{lines:?}");
    nvim.quit();
}

#[test]
fn a_session_is_deleted_after_confirmation() {
    let (project, _) = used(&json!({}), "");
    let records = project.root().join("state/nvim/acp.nvim/sessions");
    let nvim = Nvim::start(project);
    chooses(&nvim);
    nvim.cmd("Acp sessions delete");
    wait_offered(&nvim, 2);
    let question = "Delete Counting · scripted · just now?";
    assert_eq!(
        offered(&nvim)[1],
        json!([question, ["Delete it", "Keep it"]])
    );
    nvim.wait_text("is deleted");
    let left = || fs::read_dir(&records).map_or(9, Iterator::count);
    assert_eq!(left(), 0, "{}", records.display());
    overview::list(&nvim, "There is no session");
    nvim.quit();
}

#[test]
fn a_conversation_is_exported_to_a_file_or_a_buffer() {
    let nvim = agent(&json!({}), &[COUNTS]).start();
    talk::open(&nvim);
    talk::talk(&nvim, "Count, please");
    nvim.cmd("Acp export talk.md");
    let path = nvim.project.path("talk.md");
    nvim.wait("the file", || {
        path.exists() && nvim.project.read("talk.md").ends_with("```\n")
    });
    let text = nvim.project.read("talk.md");
    assert!(
        text.starts_with("# Counting\n\n- Agent: scripted\n"),
        "{text}"
    );
    assert!(
        text.contains("\n## You\n\nCount, please\n\n## scripted\n"),
        "{text}"
    );
    assert!(text.contains("\n- ✓ edit: `Edit f`\n\n  ```diff\n  /x/f\n  - a\n  + b\n  ```\n"));
    // An existing file is not replaced without `!`.
    fs::write(&path, "mine\n").expect("the file can be written");
    nvim.keys(":Acp export talk.md<CR>");
    nvim.wait_text("already exists");
    assert_eq!(nvim.project.read("talk.md"), "mine\n");
    nvim.cmd("Acp export! talk.md");
    nvim.wait("the file again", || nvim.project.read("talk.md") == text);
    nvim.cmd("Acp export");
    nvim.wait("the buffer", || {
        nvim.lua("return vim.bo.filetype", ()) == "markdown"
    });
    assert_eq!(nvim.buf_lines(0).join("\n"), text.trim_end());
    assert_eq!(nvim.lua("return vim.bo.modified", ()), false);
    nvim.quit();
}

#[test]
fn a_killed_neovim_leaves_the_conversation_behind() {
    let killed = r#"{"expect":"session/prompt","as":"p"}
{"say":"I begin."}
{"tool":{"id":"t","title":"Look","kind":"read","status":"completed"}}
{"hang":true}"#;
    let mut nvim = agent(&json!({}), &[killed, ""]).start();
    talk::open(&nvim);
    talk::prompt(&nvim, "Go");
    wait_said(&nvim, "Look");
    let project = Rc::clone(&nvim.project);
    let records = project.root().join("state/nvim/acp.nvim/sessions");
    let kept = || {
        let files = fs::read_dir(&records).into_iter().flatten().flatten();
        let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
        texts.collect::<String>()
    };
    nvim.wait("the record", || kept().contains("Look"));
    nvim.kill();
    let nvim = Nvim::start(project);
    overview::choose(&nvim, "scripted");
    wait_said(&nvim, "cannot go on with this conversation");
    assert_eq!(
        transcript(&nvim)[..5],
        ["❯ Go", "", "I begin.", "", "✓ ≡ Look  completed"]
    );
    nvim.quit();
}

#[test]
fn quitting_during_a_turn_keeps_everything_that_was_shown() {
    let running = r#"{"expect":"session/prompt","as":"p"}
{"say":"I begin."}
{"tool":{"id":"t","title":"Look","kind":"read","status":"in_progress"}}
{"say":"And I am in the middle of"}
{"expect_eof":true}"#;
    let nvim = agent(&json!({}), &[running, ""]).start();
    talk::open(&nvim);
    talk::prompt(&nvim, "Go");
    wait_said(&nvim, "in the middle of");
    let project = Rc::clone(&nvim.project);
    nvim.quit();
    let nvim = Nvim::start(project);
    overview::choose(&nvim, "scripted");
    wait_said(&nvim, "cannot go on with this conversation");
    let shown = transcript(&nvim).join("\n");
    assert!(shown.contains("Look"), "{shown}");
    assert!(shown.contains("And I am in the middle of"), "{shown}");
    nvim.quit();
}

#[test]
fn nothing_is_kept_without_history() {
    let nvim = agent(&json!({}), &[COUNTS])
        .config("history", json!(false))
        .start();
    talk::open(&nvim);
    talk::talk(&nvim, "Count, please");
    let records = nvim.project.root().join("state/nvim/acp.nvim/sessions");
    nvim.quit();
    assert!(!records.exists());
}
