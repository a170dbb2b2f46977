//! Proposals of real agents, each of which asks and writes differently.

use super::*;

const AFTER: &str = "one\nTWO\nthree\nfour\nfive\nsix\n";

/// Has an agent propose two changes and write both to disk itself; checks that the rejected one is
/// reverted.
#[track_caller]
fn check_written_to_disk(ask: Json, extra: &[Json]) {
    let mut script = Script::new();
    for step in extra {
        script = script.step(step.clone());
    }
    let script = script
        .step(ask)
        .step(json!({ "await": "t", "save": { "option": "/result/outcome/optionId" } }))
        .step(json!({ "shell": "sed -i -e 's/^two$/TWO/' -e 's/^four$/FOUR/' a.txt" }))
        .step(json!({ "tool_update": { "id": "t", "status": "completed" } }));
    let nvim = asked(script);
    to_file(&nvim);
    nvim.wait_text("proposed 2/2");
    nvim.keys("2G\\a4G\\r");
    wait_answered(&nvim);
    nvim.wait_script("agent");
    wait_lines(&nvim, &AFTER.lines().collect::<Vec<_>>());
    wait_file(&nvim, "a.txt", AFTER);
    wait_states(&nvim, json!([]));
    assert_eq!(nvim.lua("return vim.bo.modified", ()), false);
    // Checking the file on disk causes no question either.
    nvim.cmd("checktime");
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn claude_proposes_snippets_and_writes_them_to_disk() {
    let snippets = [
        diff("a.txt", Some("two"), "TWO"),
        diff("a.txt", Some("three\nfour"), "three\nFOUR"),
    ];
    let mut ask = permission("t", &snippets);
    ask["permission"]["rawInput"] = json!({ "replace_all": false });
    ask["permission"]["locations"] = json!([{ "path": "${cwd}/a.txt" }]);
    ask["options"] = json!([
        { "optionId": "allow-once", "name": "Yes", "kind": "allow_once" },
        { "optionId": "allow-with-updates", "name": "Yes, all", "kind": "allow_always" },
        { "optionId": "reject", "name": "No", "kind": "reject_once" },
    ]);
    let first = json!({ "tool": { "id": "t", "title": "Edit", "kind": "edit", "rawInput": {} } });
    check_written_to_disk(ask, &[first]);
}

#[test]
fn codex_replaces_the_diff_by_a_reason_when_it_asks() {
    let whole = "one\nTWO\nthree\nFOUR\nfive\nsix\n";
    let call = json!({ "tool": {
        "id": "t", "title": "Edit a.txt", "kind": "edit", "status": "in_progress",
        "content": [diff("a.txt", Some(OLD), whole)],
    }});
    let mut ask = permission("t", &[]);
    ask["permission"]["status"] = json!("pending");
    ask["permission"]["content"] = json!([{ "type": "content", "content": { "type": "text", "text": "Outside the sandbox" } }]);
    ask["options"] = json!([
        { "optionId": "approved", "name": "Yes", "kind": "allow_once" },
        { "optionId": "abort", "name": "No", "kind": "reject_once" },
    ]);
    check_written_to_disk(ask, &[call]);
}

#[test]
fn opencode_asks_before_its_input_arrives() {
    let script = Script::new()
        .step(json!({ "tool": { "id": "t", "title": "edit", "kind": "edit", "status": "pending", "rawInput": {} } }))
        .step(json!({ "permission": { "toolCallId": "t", "title": "edit", "rawInput": {} }, "as": "t" }))
        .pause("asked")
        .step(json!({ "tool_update": {
            "id": "t", "title": "a.txt", "rawInput": { "filepath": "a.txt" },
            "content": [diff("a.txt", Some(OLD), NEW)],
        }}))
        .step(json!({ "tool_update": { "id": "t", "rawInput": {} } }))
        .step(answer("t", "allow_once"))
        .writes("a.txt", NEW)
        .step(json!({ "touch": { "path": "${cwd}/a.txt", "content": NEW } }));
    let nvim = asked(script);
    wait_asked(&nvim);
    crate::files::go_on(&nvim, "asked");
    nvim.cmd("Acp permission");
    nvim.wait_text("gf shows it in the file");
    nvim.keys("gf");
    nvim.wait_text("proposed 3/3");
    nvim.keys("\\A");
    nvim.wait_script("agent");
    wait_file(&nvim, "a.txt", NEW);
    wait_states(&nvim, json!([]));
    nvim.quit();
}

#[test]
fn gemini_proposes_whole_files_and_writes_them_through_the_editor() {
    let mut ask = permission(
        "t",
        &[
            diff("a.txt", Some(OLD), NEW),
            diff("b.txt", Some(""), "b\n"),
        ],
    );
    ask["options"] = json!([
        { "optionId": "proceed_always", "name": "Always", "kind": "allow_always" },
        { "optionId": "proceed_once", "name": "Allow", "kind": "allow_once" },
        { "optionId": "cancel", "name": "Reject", "kind": "reject_once" },
    ]);
    let script = Script::new()
        .step(ask)
        .step(answer("t", "proceed_once"))
        .writes("a.txt", NEW)
        .writes("b.txt", "b\n");
    let nvim = asked(script);
    to_file(&nvim);
    nvim.wait_text("proposed 3/3");
    nvim.keys("\\A");
    nvim.wait_text("accepted 3/3");
    nvim.wait("the new file's proposal", || {
        let states = states(&nvim);
        let mut states = states.as_array().into_iter().flatten();
        states.any(|hunk| hunk[0] == "b.txt")
    });
    nvim.keys("]a");
    nvim.wait("the new file", || {
        nvim.lua("return vim.fn.expand('%:t')", ()) == "b.txt"
    });
    nvim.wait_text("proposed 1/1");
    nvim.keys("\\r");
    nvim.wait_script("agent");
    wait_file(&nvim, "a.txt", NEW);
    nvim.wait("the rejected file to be gone", || {
        !nvim.project.path("b.txt").exists()
    });
    wait_states(&nvim, json!([]));
    nvim.quit();
}
