//! Terminals in the transcript: those of commands that run here, and those that agents only report.

use serde_json::json;

use super::super::world::{S1, World};
use super::{T1, running};

#[test]
fn the_entry_shows_the_command_the_end_of_the_output_and_how_it_ended() {
    let mut world = running();
    world.shows("term-1");
    assert_eq!(world.entry(), ["$ make"]);
    world.prints_in(T1, "\x1b[1mone\x1b[0m\r\n10%\r50%");
    assert_eq!(world.entry(), ["$ make", "one", "50%"]);
    for line in 0..100 {
        world.prints_in(T1, &format!("\r\nline {line}"));
    }
    let entry = world.entry();
    assert_eq!(entry.len(), 22);
    assert_eq!(entry[..3], ["$ make", "… 82 lines above", "line 80"]);
    world.ends(T1, 2);
    let entry = world.entry();
    assert_eq!(entry.len(), 53);
    assert_eq!(entry[..3], ["$ make", "… 52 lines above", "line 50"]);
    assert_eq!(entry[51..], ["line 99", "exit code 2"]);
}

#[test]
fn a_command_is_shown_once_with_its_folder_if_different() {
    let mut world = World::ready();
    let script = "cd /q && make";
    world.creates(
        "1",
        json!({ "command": "sh", "args": ["-c", script], "cwd": "/q" }),
    );
    world.shows("term-1");
    world.updates(json!({
        "sessionUpdate": "tool_call_update",
        "toolCallId": "t",
        "rawInput": { "command": "make" },
    }));
    assert_eq!(world.entry(), ["$ cd /q && make", "in /q"]);
}

#[test]
fn output_before_its_terminal_is_announced_is_shown() {
    let mut world = World::ready();
    world.tells(
        "t",
        json!({ "terminal_output": { "terminal_id": "x", "data": "one\n" } }),
    );
    world.tells(
        "t",
        json!({ "terminal_exit": { "terminal_id": "x", "exit_code": 3 } }),
    );
    world.tells(
        "t",
        json!({ "terminal_info": { "terminal_id": "x", "cwd": "/q" } }),
    );
    world.tells(
        "t",
        json!({ "terminal_output": { "terminal_id": "x", "data": "two\n" } }),
    );
    world.updates(json!({
        "sessionUpdate": "tool_call",
        "toolCallId": "t",
        "title": "Build",
        "kind": "execute",
        "rawInput": { "command": "make" },
        "content": [{ "type": "terminal", "terminalId": "x" }],
    }));
    let want = ["$ make", "in /q", "one", "two", "exit code 3"];
    assert_eq!(world.entry(), want);
    let snapshot = world.model.snapshot();
    let info = &snapshot.terminals[0];
    assert_eq!((&*info.title, info.has_process), ("make", false));
}

#[test]
fn a_command_or_a_status_that_the_agent_repeats_is_shown_once() {
    let mut world = World::ready();
    world.shows("x");
    world.tells(
        "t",
        json!({
            "terminal_output": { "terminal_id": "x", "data": "Exit code 3\none\n" },
            "terminal_exit": { "terminal_id": "x", "exit_code": 3 },
        }),
    );
    assert_eq!(world.entry(), ["Exit code 3", "one"]);

    let mut world = World::ready();
    let content =
        |text: &str| json!([{ "type": "content", "content": { "type": "text", "text": text } }]);
    for (text, want) in [
        (
            "```sh\n$ make all\n```",
            &["```sh", "$ make all", "```"][..],
        ),
        ("$ make all\ndone", &["$ make all", "done"]),
        // Another command may do something else.
        ("$ make", &["$ make all", "$ make"]),
        ("make all", &["$ make all", "make all"]),
    ] {
        world.updates(json!({
            "sessionUpdate": "tool_call",
            "toolCallId": "t",
            "title": "Build",
            "kind": "execute",
            "rawInput": { "command": "make all" },
            "content": content(text),
        }));
        assert_eq!(world.entry(), want);
    }
}

#[test]
fn a_terminal_known_only_from_meta_is_shown_in_its_call() {
    let mut world = World::ready();
    world.updates(json!({
        "sessionUpdate": "tool_call",
        "toolCallId": "t",
        "title": "Build",
        "kind": "execute",
        "status": "in_progress",
    }));
    let delta =
        |data: &str| json!({ "terminal_output_delta": { "terminal_id": "x", "data": data } });
    world.tells("t", delta("."));
    world.tells("t", delta(".."));
    assert_eq!(world.entry(), ["..."]);
    assert_eq!(world.model.snapshot().sessions[0].terminals, 1);
    world.updates(json!({
        "sessionUpdate": "tool_call_update",
        "toolCallId": "t",
        "status": "completed",
    }));
    assert_eq!(world.model.snapshot().sessions[0].terminals, 0);
    // The exit reported last is shown.
    world.tells(
        "t",
        json!({ "terminal_exit": { "terminal_id": "x", "signal": "SIGINT" } }),
    );
    assert_eq!(world.entry(), ["...", "killed by SIGINT"]);
}

#[test]
fn the_progress_of_an_mcp_tool_is_shown_above_its_result() {
    let mut world = World::ready();
    world.updates(json!({
        "sessionUpdate": "tool_call", "toolCallId": "t", "title": "Build", "status": "in_progress",
    }));
    for data in ["1 of 2", "2 of 2"] {
        world.tells("t", json!({ "mcp_output_delta": { "data": data } }));
    }
    assert_eq!(world.entry(), ["1 of 2", "2 of 2"]);
    let content = json!([{ "type": "text", "text": "done" }]);
    world.updates(json!({
        "sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed",
        "rawOutput": { "result": { "content": content }, "error": null },
    }));
    assert_eq!(world.entry(), ["1 of 2", "2 of 2", "done"]);
}

#[test]
fn resent_output_replaces_the_old() {
    let mut world = World::ready();
    world.shows("x");
    assert_eq!(world.entry(), ["terminal x"]);
    let mut all = String::new();
    for line in 0..3 {
        all.push_str(&format!("line {line}\n"));
        world.tells(
            "t",
            json!({ "terminal_output": { "terminal_id": "x", "data": all } }),
        );
    }
    assert_eq!(world.entry(), ["line 0", "line 1", "line 2"]);
}

#[test]
fn a_calls_raw_output_replaces_missing_terminal_output() {
    let mut world = World::ready();
    world.shows("x");
    world.tells("t", json!({ "terminal_info": { "terminal_id": "x" } }));
    world.updates(json!({
        "sessionUpdate": "tool_call_update",
        "toolCallId": "t",
        "status": "failed",
        "rawOutput": { "formatted_output": "one\ntwo\n", "exit_code": 3 },
        "_meta": { "terminal_exit": { "terminal_id": "x", "exit_code": 3 } },
    }));
    assert_eq!(world.entry(), ["one", "two", "exit code 3"]);
    world.tells(
        "t",
        json!({ "terminal_output": { "terminal_id": "x", "data": "one\n" } }),
    );
    assert_eq!(world.entry(), ["one", "exit code 3"]);
}

#[test]
fn meta_is_merged_even_from_updates_with_only_meta() {
    let mut world = World::ready();
    world.tells("t", json!({ "one": { "a": 1, "b": 2 }, "x": 1 }));
    world.tells("t", json!({ "one": { "b": 3 }, "y": 2 }));
    let id = acp::ToolCallId("t".into());
    let tool = world.session(S1).transcript().find_tool(&id);
    let meta = tool.and_then(|tool| tool.meta.clone());
    let want = json!({ "one": { "a": 1, "b": 3 }, "x": 1, "y": 2 });
    assert_eq!(meta, Some(want));
}
