//! Configured rules answer for the user, and the chat reports it.

use super::*;

/// Returns a Neovim with these rules whose agent runs `steps` in its first turn.
#[track_caller]
fn ruled(rules: &Json, steps: &str) -> Nvim {
    let script =
        format!("{{\"expect\":\"session/prompt\",\"as\":\"p\"}}\n{steps}\n{{\"end\":\"p\"}}");
    let nvim = Project::new()
        .file("src/a.txt", "one two\nthree\n")
        .config("permissions", json!({ "rules": rules }))
        .agent("scripted", &script)
        // Room for messages about invalid options; otherwise Neovim waits for a key.
        .before("set cmdheight=5")
        .start();
    nvim.cmd("edit src/a.txt");
    open(&nvim);
    nvim
}

fn events(nvim: &Nvim) -> Vec<Json> {
    let events = nvim.user_events().into_iter();
    events
        .filter(|event| event.name.starts_with("AcpPermission"))
        .map(|event| json!([event.name, event.data]))
        .collect()
}

const EDIT: &str = r#"{"toolCallId":"e","title":"Edit a.txt","kind":"edit","content":[{"type":"diff","path":"${cwd}/src/a.txt","oldText":"three","newText":"3"}]}"#;

#[test]
fn an_answer_by_a_rule_is_reported_in_chat_log_and_event() {
    let steps = format!(
        r#"{{"permission":{EDIT},"as":"q1"}}
{{"await":"q1","choice":"allow_once"}}
{{"permission":{{"toolCallId":"r","title":"bash","kind":"execute","rawInput":{{"command":"git log && git push"}}}},"as":"q2"}}
{{"await":"q2","choice":"reject_once"}}"#
    );
    let rules = json!([
        { "action": "allow", "kind": "edit", "path": "src/**" },
        { "action": "allow", "command": "git *" },
        { "action": "reject", "command": "git push" },
    ]);
    let nvim = ruled(&rules, &steps);
    talk::talk(&nvim, "go");
    wait_said(&nvim, "Allowed by rule 1: Edit a.txt");
    wait_said(&nvim, "Rejected by rule 3: git log && git push");
    assert_eq!(
        events(&nvim),
        [
            json!(["AcpPermissionAnswered", { "session": 1, "id": 1, "option": "allow_once", "rule": 1 }]),
            json!(["AcpPermissionAnswered", { "session": 1, "id": 2, "option": "reject_once", "rule": 3 }]),
        ]
    );
    assert!(!is_open(&nvim));
    // No proposal is left in the file.
    assert_eq!(nvim.lua("return #require('acp').review.hunks()", ()), 0);
    nvim.cmd("Acp log");
    nvim.wait_text("Rejected by rule 3");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn a_request_without_its_command_is_asked_until_the_command_arrives() {
    let nvim = ruled(
        &json!([{ "action": "allow", "command": "cargo test *" }]),
        r#"{"permission":{"toolCallId":"t","title":"bash","kind":"execute","rawInput":{}},"as":"q"}
{"wait_file":"${cwd}/../more"}
{"tool_update":{"id":"t","rawInput":{"command":"cargo test --all"}}}
{"await":"q","choice":"allow_once"}"#,
    );
    talk::prompt(&nvim, "go");
    nvim.wait("the window", || is_open(&nvim));
    std::fs::write(nvim.project.root().join("more"), "").unwrap();
    wait_closed(&nvim);
    wait_said(&nvim, "Allowed by rule 1: cargo test --all");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn a_link_out_of_the_project_is_asked_about() {
    let nvim = ruled(
        &json!([{ "action": "allow", "path": "**" }]),
        r#"{"permission":{"toolCallId":"t","title":"Edit","kind":"edit","locations":[{"path":"${cwd}/link/x"}]},"as":"q"}
{"await":"q","choice":"reject_once"}
{"permission":{"toolCallId":"u","title":"Edit","kind":"edit","locations":[{"path":"${cwd}/broken"}]},"as":"q"}
{"await":"q","choice":"reject_once"}"#,
    );
    let project = nvim.project.path("");
    std::os::unix::fs::symlink(nvim.project.root().join("home"), project.join("link")).unwrap();
    std::os::unix::fs::symlink(nvim.project.root().join("new"), project.join("broken")).unwrap();
    talk::prompt(&nvim, "go");
    for id in [1, 2] {
        nvim.wait("the question", || list(&nvim)[0]["id"] == id);
        answer(&nvim, id, "reject_once");
    }
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn an_invalid_rule_is_named_and_everything_is_asked() {
    let steps = format!(
        "{{\"permission\":{EDIT},\"as\":\"q\"}}\n{{\"await\":\"q\",\"choice\":\"allow_once\"}}"
    );
    let rules = json!([
        { "action": "allow", "path": "**" },
        { "action": "reject", "path": "secret[" },
    ]);
    let nvim = ruled(&rules, &steps);
    let messages = nvim.messages();
    assert!(
        messages.contains("permissions.rules[2].path: \"secret[\": unclosed character class"),
        "{messages}"
    );
    talk::prompt(&nvim, "go");
    nvim.wait("the window", || is_open(&nvim));
    press(&nvim, "y");
    nvim.wait_script("scripted");
    nvim.quit();
}
