//! Announcements about tool calls and plans, and the snapshot at that moment.

use serde_json::{Value, json};

use super::world::{Part, S1, World};
use crate::event::{Event, SessionEvent};
use crate::spine::effect::Announcement;
use crate::spine::ids::TerminalKey;

/// Begins a turn.
fn turn() -> World {
    let mut w = World::ready();
    w.prompts("hi");
    w.skip();
    w.announced.clear();
    w
}

fn update(id: &str, status: &str) -> Value {
    json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": status })
}

/// Compares the announcements since the last check.
#[track_caller]
fn check(w: &mut World, want: &[&str]) {
    let all = std::mem::take(&mut w.announced);
    let all: Vec<String> = all
        .iter()
        .map(|one| match one {
            Announcement::ToolCall {
                id,
                kind,
                status,
                title,
                locations,
                ..
            } => {
                let paths = locations.iter().map(|place| place.path.display());
                let paths: Vec<String> = paths.map(|path| path.to_string()).collect();
                let status = json!(status);
                let status = status.as_str().unwrap();
                format!("{id} {kind} {status} {title} {}", paths.join(","))
                    .trim_end()
                    .to_owned()
            }
            Announcement::PlanChanged { done, total, .. } => format!("plan {done}/{total}"),
            Announcement::TurnEnded { .. } => "end".to_owned(),
            Announcement::TerminalStarted {
                terminal, title, ..
            } => {
                format!("terminal {} runs: {title}", terminal.0)
            }
            Announcement::TerminalExited {
                terminal,
                exit,
                why,
                ..
            } => {
                let code = exit.code.map(|code| code.to_string());
                let how = code.or(exit.signal.clone()).or(why.clone());
                format!("terminal {} ended: {}", terminal.0, how.unwrap_or_default())
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(all, want);
}

/// Compares the running tool calls in the snapshot.
#[track_caller]
fn check_running(w: &World, running: usize, latest: Option<(&str, &str)>) {
    let tools = w.model.snapshot().sessions.remove(0).tools;
    let got = tools.latest.as_ref();
    let got = got.map(|(title, kind)| (title.as_str(), kind.as_str()));
    assert_eq!((tools.running, got), (running, latest));
}

#[test]
fn a_tool_calls_start_and_status_changes_are_announced() {
    let mut w = turn();
    w.updates(json!({
        "sessionUpdate": "tool_call", "toolCallId": "a", "title": "Read f", "kind": "read",
        "locations": [{ "path": "/p/f", "line": 3 }, { "path": "g" }],
    }));
    check(&mut w, &["a read pending Read f /p/f,/p/g"]);
    check_running(&w, 1, Some(("Read f", "read")));
    w.updates(json!({ "sessionUpdate": "tool_call_update", "toolCallId": "a", "title": "Read" }));
    w.updates(update("a", "pending"));
    check(&mut w, &[]);
    w.updates(update("a", "in_progress"));
    w.updates(update("b", "in_progress"));
    check(
        &mut w,
        &["a read in_progress Read /p/f,/p/g", "b other in_progress b"],
    );
    check_running(&w, 2, Some(("b", "other")));
    w.updates(update("b", "completed"));
    w.updates(update("b", "in_progress"));
    check(&mut w, &["b other completed b"]);
    check_running(&w, 1, Some(("Read", "read")));
    w.updates(update("a", "failed"));
    check(&mut w, &["a read failed Read /p/f,/p/g"]);
    check_running(&w, 0, None);
    w.ends_turn("end_turn");
    check(&mut w, &["end"]);
}

#[test]
fn a_cancel_and_later_results_are_announced() {
    let mut w = turn();
    w.updates(update("a", "in_progress"));
    w.announced.clear();
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    check(&mut w, &["a other cancelled a"]);
    check_running(&w, 0, None);
    w.updates(update("a", "completed"));
    check(&mut w, &["a other completed a"]);
}

#[test]
fn a_turns_end_ends_its_running_calls() {
    let mut w = turn();
    w.updates(update("a", "in_progress"));
    w.ends_turn("end_turn");
    check(&mut w, &["a other in_progress a", "end"]);
    check_running(&w, 0, None);
    // An update from the agent makes the call run again.
    w.updates(update("b", "in_progress"));
    check_running(&w, 1, Some(("b", "other")));
}

#[test]
fn a_burst_is_coalesced_and_announced_before_the_turns_end() {
    let mut w = turn();
    w.holds(Part::Editor);
    for id in 0..500 {
        for status in ["pending", "in_progress", "completed"] {
            w.updates(update(&id.to_string(), status));
        }
    }
    w.updates(update("last", "in_progress"));
    assert!(w.announced.is_empty());
    w.ends_turn("end_turn");
    assert_eq!(w.announced.len(), 502);
    let mut last = w.announced.split_off(499);
    std::mem::swap(&mut w.announced, &mut last);
    check(
        &mut w,
        &[
            "499 other completed 499",
            "last other in_progress last",
            "end",
        ],
    );
    w.goes_on();
    check(&mut w, &[]);
}

#[test]
fn a_plan_is_announced_with_its_progress() {
    let mut w = turn();
    let plan = |states: &[&str]| {
        let entries: Vec<Value> = states
            .iter()
            .map(|state| json!({ "content": "do", "priority": "low", "status": state }))
            .collect();
        json!({ "sessionUpdate": "plan", "entries": entries })
    };
    w.updates(plan(&["in_progress", "pending"]));
    w.updates(plan(&["completed", "pending"]));
    w.updates(plan(&["completed", "pending"]));
    w.updates(plan(&[]));
    w.updates(plan(&[]));
    check(&mut w, &["plan 0/2", "plan 1/2", "plan 0/0"]);
}

#[test]
fn starts_and_ends_of_terminals_are_announced() {
    let mut w = turn();
    let create = |w: &mut World, id: &str, command: &str| {
        let params = json!({ "sessionId": "s1", "command": command });
        w.asks(id, "terminal/create", &params);
    };
    create(&mut w, "1", "make");
    check(&mut w, &["terminal 1 runs: make"]);
    assert_eq!(w.model.snapshot().sessions[0].terminals, 1);
    create(&mut w, "2", "nowhere");
    check(
        &mut w,
        &["terminal 2 ended: nowhere was not found: install it."],
    );
    let ended = w.pty.ends(TerminalKey(1), 3);
    w.to_core.extend(ended);
    w.settle();
    check(&mut w, &["terminal 1 ended: 3"]);
    // A terminal of an agent may have ended when the core first hears about it.
    w.updates(json!({
        "sessionUpdate": "tool_call_update", "toolCallId": "a", "status": "completed",
        "_meta": { "terminal_exit": { "terminal_id": "x", "exit_code": 0, "signal": null } },
    }));
    check(
        &mut w,
        &[
            "terminal 3 runs: a",
            "terminal 3 ended: 0",
            "a other completed a",
        ],
    );
}
