//! Terminals: what agents ask of them, and what is shown.

use serde_json::{Value, json};

use super::world::{A1, Part, S1, World};
use crate::core::effect::EditorEffect;
use crate::core::event::Event;
use crate::core::ids::TerminalKey;
use crate::core::terminals::State;
use crate::core::view::Patch;

const T1: TerminalKey = TerminalKey(1);

/// A world in which a turn runs and its agent has started a command in `term-1`.
fn running() -> World {
    let mut world = World::ready();
    world.prompts("go");
    world.creates("1", json!({ "command": "make" }));
    world.skip();
    world
}

impl World {
    /// The first agent asks for a command to be run.
    fn creates(&mut self, id: &str, mut params: Value) {
        params["sessionId"] = json!("s1");
        self.asks(id, "terminal/create", &params);
    }

    /// The first agent asks something of a terminal.
    fn asks_of(&mut self, id: &str, what: &str, terminal: &str) {
        let params = json!({ "sessionId": "s1", "terminalId": terminal });
        self.asks(id, &format!("terminal/{what}"), &params);
    }

    fn prints_in(&mut self, terminal: TerminalKey, text: &str) {
        let event = self.pty.prints(terminal, text.as_bytes());
        self.happens(event.expect("it runs"));
    }

    fn ends(&mut self, terminal: TerminalKey, code: u32) {
        let event = self.pty.ends(terminal, code);
        self.happens(event.expect("it runs"));
    }

    /// A tool call of the first session shows a terminal.
    fn shows(&mut self, terminal: &str) {
        self.updates(json!({
            "sessionUpdate": "tool_call",
            "toolCallId": "t",
            "title": "Build",
            "kind": "execute",
            "status": "in_progress",
            "content": [{ "type": "terminal", "terminalId": terminal }],
        }));
    }

    /// A tool call tells something aside.
    fn tells(&mut self, tool: &str, meta: Value) {
        self.updates(json!({
            "sessionUpdate": "tool_call_update",
            "toolCallId": tool,
            "_meta": meta,
        }));
    }

    /// Returns the error of an answer.
    fn error(&self, id: &str) -> (i64, String) {
        let error = self.answer(id).as_ref().expect_err("an error");
        let message = error["message"].as_str().unwrap_or_default();
        (error["code"].as_i64().unwrap_or(0), message.to_owned())
    }

    /// Returns the lines of the chat below the tool call's own.
    fn entry(&self) -> Vec<String> {
        let chat = self.chat();
        let mut lines = chat.lines().skip_while(|line| !line.contains("Build"));
        lines.next();
        let lines = lines.map(|line| line.trim().to_owned());
        lines.take_while(|line| !line.is_empty()).collect()
    }
}

#[test]
fn a_command_runs_is_waited_for_and_let_go() {
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
fn a_command_runs_in_the_sessions_folder_if_it_says_no_other() {
    let world = running();
    let spec = &world.pty.specs[0];
    assert_eq!((spec.cwd.to_str(), spec.columns), (Some("/p"), 120));
}

#[test]
fn what_cannot_be_run_is_told() {
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
fn killed_then_waited_for_is_answered() {
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
fn released_while_it_runs_it_ends_and_who_waits_hears_of_it() {
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
fn a_wait_can_be_taken_back() {
    let mut world = running();
    world.asks_of("2", "wait_for_exit", "term-1");
    world.notifies(A1, "$/cancel_request", &json!({ "requestId": 2 }));
    assert_eq!(world.error("2").0, -32800);
    world.ends(T1, 0);
}

#[test]
fn a_cancel_ends_what_the_turn_has_started() {
    let mut world = World::ready();
    world.prompts("a server");
    world.creates("1", json!({ "command": "server" }));
    world.ends_turn("end_turn");
    world.prompts("go");
    world.creates("2", json!({ "command": "make" }));
    world.asks_of("3", "wait_for_exit", "term-2");
    world.skip();
    world.happens(Event::Cancel { session: S1 });
    world.saw(&[
        "a1 <- session/cancel s1",
        "kill 2",
        r#"a1 <- answer 3 {"signal":"SIGTERM"}"#,
    ]);
    // What it starts all the same ends with the turn.
    world.creates("4", json!({ "command": "make" }));
    world.skip();
    world.ends_turn("cancelled");
    world.saw(&["kill 3", "turn of 1 ended: cancelled"]);
    assert_eq!(world.pty.running(), [T1]);
}

#[test]
fn everything_ends_with_the_session() {
    let mut world = running();
    world.opens(2, "bot");
    world.asks_of("2", "wait_for_exit", "term-1");
    world.holds(Part::Terminals);
    world.creates("3", json!({ "command": "make" }));
    world.skip();
    world.happens(Event::Close { session: S1 });
    assert_eq!((world.error("2").0, world.error("3").0), (-32800, -32800));
    assert!(world.was_told("kill 1") && world.was_told("kill 2"));
    world.goes_on();
    assert!(world.pty.running().is_empty());
    assert!(world.model.snapshot().terminals.is_empty());
}

#[test]
fn everything_ends_with_the_agent() {
    for end in ["stop", "restart", "crash", "quit"] {
        let mut world = running();
        world.asks_of("2", "wait_for_exit", "term-1");
        match end {
            "stop" => world.happens(Event::Stop { session: S1 }),
            "restart" => world.happens(Event::Restart { session: S1 }),
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
fn another_life_of_the_agent_has_terminals_of_its_own() {
    let mut world = running();
    world.happens(Event::Restart { session: S1 });
    let params = json!({ "sessionId": "s2", "terminalId": "term-1" });
    let line = json!({ "jsonrpc": "2.0", "id": 9, "method": "terminal/output", "params": params });
    let agent = *world.agents.keys().next_back().expect("an agent");
    world.prints(agent, &line.to_string());
    let (id, answer) = world.agents[&agent].answers.last().expect("an answer");
    assert!(id == "9" && answer.is_err(), "{answer:?}");
}

#[test]
fn a_terminal_is_listed_with_what_is_known_of_it() {
    let mut world = running();
    world.creates(
        "2",
        json!({ "command": "/bin/bash", "args": ["-lc", "cd /p\nls -l"], "cwd": "/q" }),
    );
    world.creates("3", json!({ "command": "a b", "args": ["it's"] }));
    world.prints_in(T1, "12345\r\n");
    world.ends(T1, 0);
    let snapshot = world.model.snapshot();
    let of = |terminal: usize| {
        let info = &snapshot.terminals[terminal];
        (
            &*info.title,
            info.cwd.to_str(),
            info.state.word(),
            info.bytes,
        )
    };
    assert_eq!(of(0), ("make", Some("/p"), "exited", 7));
    assert_eq!(of(1), ("cd /p …", Some("/q"), "running", 0));
    assert_eq!(of(2), (r"'a b' 'it'\''s'", Some("/p"), "running", 0));
    assert_eq!(snapshot.sessions[0].terminals, 2);
}

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
fn a_command_is_shown_once_and_its_folder_if_it_is_another() {
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
fn output_that_comes_before_its_terminal_is_announced_is_shown() {
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
fn a_terminal_that_is_only_told_of_is_shown_where_it_was_told() {
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
    // The last word counts.
    world.tells(
        "t",
        json!({ "terminal_exit": { "terminal_id": "x", "signal": "SIGINT" } }),
    );
    assert_eq!(world.entry(), ["...", "killed by SIGINT"]);
}

#[test]
fn all_of_the_output_sent_again_replaces_it() {
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
fn what_is_told_aside_is_merged_and_an_update_with_nothing_else_is_kept() {
    let mut world = World::ready();
    world.tells("t", json!({ "one": { "a": 1, "b": 2 }, "x": 1 }));
    world.tells("t", json!({ "one": { "b": 3 }, "y": 2 }));
    let id = crate::acp::ToolCallId("t".into());
    let tool = world.model.sessions[&S1].transcript.find_tool(&id);
    let meta = tool.and_then(|tool| tool.meta.clone());
    let want = json!({ "one": { "a": 1, "b": 3 }, "x": 1, "y": 2 });
    assert_eq!(meta, Some(want));
}

#[test]
fn a_window_follows_the_output_frame_by_frame() {
    let mut world = running();
    world.prints_in(T1, "before\r\n");
    let shown = |is_shown| Event::TerminalShown {
        terminal: T1,
        is_shown,
    };
    world.happens(shown(true));
    world.prints_in(T1, "\x1b[31mred\r\n");
    let text = |world: &World| String::from_utf8(world.editor.terminals[&T1].clone());
    assert_eq!(text(&world).as_deref(), Ok("before\r\n\x1b[31mred\r\n"));
    world.happens(shown(false));
    world.prints_in(T1, "unseen\r\n");
    assert!(text(&world).is_ok_and(|text| !text.contains("unseen")));
    world.happens(shown(true));
    assert!(text(&world).is_ok_and(|text| text.ends_with("red\r\nunseen\r\n")));
}

#[test]
fn lines_told_by_an_agent_end_as_a_terminal_needs_it() {
    let mut world = World::ready();
    world.shows("x");
    for data in ["one\ntw", "o\r\n\n"] {
        world.tells(
            "t",
            json!({ "terminal_output": { "terminal_id": "x", "data": data } }),
        );
    }
    world.happens(Event::TerminalShown {
        terminal: T1,
        is_shown: true,
    });
    assert_eq!(world.editor.terminals[&T1], b"one\r\ntwo\r\n\r\n");
}

/// Composes a frame and returns how much of each terminal it brings.
fn frame(world: &mut World) -> Vec<(u32, bool, usize)> {
    world.apply(Event::FrameWanted);
    let effects = std::mem::take(&mut world.to_editor).into_iter();
    let frames = effects.filter_map(|effect| match effect {
        EditorEffect::Frame(frame) => Some(frame),
        _ => None,
    });
    let patches = frames.flat_map(|frame| frame.patches);
    let sizes = patches.filter_map(|patch| match patch {
        Patch::Terminal {
            terminal,
            is_anew,
            bytes,
        } => Some((terminal.0, is_anew, bytes.len())),
        _ => None,
    });
    sizes.collect()
}

#[test]
fn a_frame_brings_little_and_shares_it_fairly() {
    let mut world = running();
    for id in ["2", "3"] {
        world.creates(id, json!({ "command": "make" }));
    }
    world.holds(Part::Editor);
    for key in 1..=3 {
        let terminal = TerminalKey(key);
        let is_shown = true;
        world.happens(Event::TerminalShown { terminal, is_shown });
        let text = "x".repeat(if key == 2 { 1000 } else { 60_000 });
        world.prints_in(terminal, &text);
    }
    let half = (64 * 1024 - 1000) / 2;
    let first = frame(&mut world);
    assert_eq!(first, [(2, true, 1000), (1, true, half), (3, true, half)]);
    let rest = 60_000 - half;
    assert_eq!(frame(&mut world), [(1, false, rest), (3, false, rest)]);
    assert_eq!(frame(&mut world), []);
}

#[test]
fn who_falls_behind_is_shown_the_end_and_at_last_all_that_is_kept() {
    let mut world = running();
    world.holds(Part::Editor);
    world.happens(Event::TerminalShown {
        terminal: T1,
        is_shown: true,
    });
    assert_eq!(frame(&mut world), [(1, true, 0)]);
    let line = "0123456789abcde\n".repeat(4096);
    for _ in 0..40 {
        world.prints_in(T1, &line);
    }
    let skipped = frame(&mut world);
    assert!(
        matches!(skipped[..], [(1, true, 1..=0x8000)]),
        "{skipped:?}"
    );
    assert_eq!(frame(&mut world), []);
    world.ends(T1, 0);
    let mut all = 0;
    for count in 0.. {
        let patches = frame(&mut world);
        let [(1, is_anew, bytes)] = patches[..] else {
            assert_eq!(patches, []);
            break;
        };
        assert_eq!(is_anew, count == 0);
        all += bytes;
    }
    assert!(((1 << 20) - 16..=1 << 20).contains(&all), "{all}");
}

#[test]
fn what_a_user_types_reaches_what_runs() {
    let mut world = running();
    let types = |world: &mut World| {
        world.happens(Event::TerminalInput {
            terminal: T1,
            bytes: b"q".to_vec(),
        });
        world.happens(Event::TerminalResized {
            terminal: T1,
            columns: 80,
            rows: 24,
        });
        (world.pty.typed.len(), world.pty.sizes.len())
    };
    assert_eq!(types(&mut world), (1, 1));
    world.happens(Event::TerminalKill { terminal: T1 });
    let snapshot = world.model.snapshot();
    assert!(matches!(snapshot.terminals[0].state, State::Exited(_)));
    assert_eq!(types(&mut world), (1, 1));
}

#[test]
fn hundreds_of_terminals_that_are_over_are_kept_small() {
    let mut world = World::ready();
    let text = "x\n".repeat(50_000);
    for index in 1..=600u32 {
        let id = format!("{index}");
        world.creates(&id, json!({ "command": "make" }));
        world.prints_in(TerminalKey(index), &text);
        world.ends(TerminalKey(index), 0);
        world.asks_of(&format!("1{id}"), "release", &format!("term-{index}"));
    }
    let snapshot = world.model.snapshot();
    assert_eq!(snapshot.terminals.len(), 500);
    assert_eq!(snapshot.terminals[0].key, TerminalKey(101));
    for (key, kept) in [(101, 64 * 1024 - 2), (600, text.len())] {
        let terminal = TerminalKey(key);
        let is_shown = true;
        world.happens(Event::TerminalShown { terminal, is_shown });
        assert_eq!(world.editor.terminals[&terminal].len(), kept);
    }
}
