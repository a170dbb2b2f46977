//! Agents' requests about terminals, and the ends of their commands.

use serde_json::json;

use super::super::world::{A1, Part, S1, World};
use super::{T1, running};
use crate::event::{Event, SessionEvent};

#[test]
fn a_command_runs_is_awaited_and_released() {
    let mut world = World::ready();
    world.prompts("go");
    world.skip();
    world.creates(
        "1",
        json!({ "command": "make", "args": ["all"], "cwd": "/p/sub" }),
    );
    world.saw(&[
        "terminal 1 runs make in /p/sub",
        r#"a1 <- answer 1 {"terminalId":"term-1"}"#,
    ]);
    world.asks_of("2", "wait_for_exit", "term-1");
    world.prints_in(T1, "\x1b[32mone\x1b[0m\r\n");
    world.asks_of("3", "output", "term-1");
    world.saw(&[r#"a1 <- answer 3 {"output":"one\n","truncated":false}"#]);
    world.ends(T1, 3);
    world.saw(&[r#"a1 <- answer 2 {"exitCode":3}"#]);
    world.asks_of("4", "output", "term-1");
    world.asks_of("5", "wait_for_exit", "term-1");
    world.asks_of("6", "release", "term-1");
    world.saw(&[
        r#"a1 <- answer 4 {"output":"one\n","truncated":false,"exitStatus":{"exitCode":3}}"#,
        r#"a1 <- answer 5 {"exitCode":3}"#,
        "a1 <- answer 6 {}",
    ]);
    world.asks_of("7", "output", "term-1");
    let want = "params.terminalId: released already: \"term-1\"".to_owned();
    assert_eq!(world.error("7"), (-32602, want));
}

#[test]
fn a_command_runs_in_the_sessions_folder_by_default() {
    let world = running();
    let spec = &world.pty.specs[0];
    assert_eq!((spec.cwd.to_str(), spec.columns), (Some("/p"), 120));
}

#[test]
fn a_command_that_cannot_run_is_reported() {
    let mut world = World::ready();
    world.creates("1", json!({ "command": "nowhere" }));
    let want = "nowhere was not found: install it.".to_owned();
    assert_eq!(world.error("1"), (-32603, want));
    world.creates("2", json!({ "command": "make", "cwd": "sub" }));
    let want = "params.cwd: \"sub\" is not an absolute path".to_owned();
    assert_eq!(world.error("2"), (-32602, want));
    world.asks_of("3", "output", "term-1");
    world.asks_of("4", "kill", "mine");
    let want = "params.terminalId: no terminal \"mine\"".to_owned();
    assert_eq!(world.error("4"), (-32602, want));
    world.asks("5", "terminal/output", &json!({ "sessionId": "s1" }));
    let want = "params.terminalId: missing".to_owned();
    assert_eq!(world.error("5"), (-32602, want));
    let params = json!({ "sessionId": "s9", "command": "make" });
    world.asks("6", "terminal/create", &params);
    assert_eq!(world.error("6").0, -32602);
}

#[test]
fn waiting_for_a_killed_command_is_answered() {
    let mut world = running();
    world.holds(Part::Terminals);
    world.asks_of("2", "kill", "term-1");
    world.asks_of("3", "wait_for_exit", "term-1");
    world.saw(&["kill 1", "a1 <- answer 2 {}"]);
    world.goes_on();
    world.saw(&[r#"a1 <- answer 3 {"signal":"SIGTERM"}"#]);
    world.asks_of("4", "kill", "term-1");
    world.asks_of("5", "output", "term-1");
    world.saw(&[
        "a1 <- answer 4 {}",
        r#"a1 <- answer 5 {"output":"","truncated":false,"exitStatus":{"signal":"SIGTERM"}}"#,
    ]);
}

#[test]
fn releasing_a_running_command_ends_it_and_answers_waits() {
    let mut world = running();
    world.shows("term-1");
    world.prints_in(T1, "one\r\n");
    world.asks_of("2", "wait_for_exit", "term-1");
    world.skip();
    world.asks_of("3", "release", "term-1");
    world.saw(&[
        "kill 1",
        "a1 <- answer 3 {}",
        r#"a1 <- answer 2 {"signal":"SIGTERM"}"#,
    ]);
    assert_eq!(world.entry(), ["$ make", "one", "killed by SIGTERM"]);
}

#[test]
fn a_wait_can_be_cancelled() {
    let mut world = running();
    world.asks_of("2", "wait_for_exit", "term-1");
    world.notifies(A1, "$/cancel_request", &json!({ "requestId": 2 }));
    assert_eq!(world.error("2").0, -32800);
    world.ends(T1, 0);
}

#[test]
fn a_cancel_ends_the_turns_commands() {
    let mut world = World::ready();
    world.prompts("a server");
    world.creates("1", json!({ "command": "server" }));
    world.ends_turn("end_turn");
    world.prompts("go");
    world.creates("2", json!({ "command": "make" }));
    world.asks_of("3", "wait_for_exit", "term-2");
    world.skip();
    world.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    world.saw(&[
        "a1 <- session/cancel s1",
        "kill 2",
        r#"a1 <- answer 3 {"signal":"SIGTERM"}"#,
    ]);
    // A command started after the cancel ends with the turn.
    world.creates("4", json!({ "command": "make" }));
    world.skip();
    world.ends_turn("cancelled");
    world.saw(&["kill 3", "turn of 1 ended: cancelled"]);
    assert_eq!(world.pty.running(), [T1]);
}

#[test]
fn commands_end_with_their_session() {
    let mut world = running();
    world.opens(2, "bot");
    world.asks_of("2", "wait_for_exit", "term-1");
    world.holds(Part::Terminals);
    world.creates("3", json!({ "command": "make" }));
    world.skip();
    world.happens(Event::Session(SessionEvent::Close { session: S1 }));
    assert_eq!((world.error("2").0, world.error("3").0), (-32800, -32800));
    assert!(world.was_told("kill 1") && world.was_told("kill 2"));
    world.goes_on();
    assert!(world.pty.running().is_empty());
    assert!(world.model.snapshot().terminals.is_empty());
}

#[test]
fn commands_end_with_their_agent() {
    for end in ["stop", "restart", "crash", "quit"] {
        let mut world = running();
        world.asks_of("2", "wait_for_exit", "term-1");
        match end {
            "stop" => world.happens(Event::Session(SessionEvent::Stop { session: S1 })),
            "restart" => world.happens(Event::Session(SessionEvent::Restart { session: S1 })),
            "quit" => world.happens(Event::Quit),
            _ => world.exits(A1, "signal 9", &[]),
        }
        assert!(world.pty.running().is_empty(), "{end}");
        let snapshot = world.model.snapshot();
        assert!(snapshot.terminals[0].state.is_over(), "{end}");
        assert_eq!(snapshot.sessions[0].terminals, 0, "{end}");
    }
}

#[test]
fn a_restarted_agent_cannot_use_old_terminals() {
    let mut world = running();
    world.happens(Event::Session(SessionEvent::Restart { session: S1 }));
    let params = json!({ "sessionId": "s2", "terminalId": "term-1" });
    let line = json!({ "jsonrpc": "2.0", "id": 9, "method": "terminal/output", "params": params });
    let agent = *world.agents.keys().next_back().expect("an agent");
    world.prints(agent, &line.to_string());
    let (id, answer) = world.agents[&agent].answers.last().expect("an answer");
    assert!(id == "9" && answer.is_err(), "{answer:?}");
}
