//! Sessions and their agents' processes, from the start to the end.

use serde_json::{Value, json};

use super::agent::Life;
use super::world::{A1, Part, S1, World};
use crate::conversation::session::Phase;
use crate::event::{AgentEvent, Event, SessionEvent, ViewEvent};
use crate::spine::ids::{AgentKey, SessionKey};
use acp::Purpose;

const S2: SessionKey = SessionKey(2);
const A2: AgentKey = AgentKey(2);

/// Opens a session whose process has started; the test answers for the agent.
fn started() -> World {
    let mut w = World::new();
    w.holds(Part::Agents);
    w.opens(1, "bot");
    w.agents_move();
    w.settle();
    w.saw(&["spawn bot as a1", "a1 <- initialize"]);
    w
}

/// Opens a session whose agent is initialized and has not answered `session/new`.
fn initialized() -> World {
    let mut w = started();
    let answer = w.usual_answer("initialize");
    w.answers(A1, "initialize", Ok(answer));
    w.saw(&["a1 <- session/new /p"]);
    w
}

#[test]
fn a_session_starts_and_ends() {
    let mut w = World::new();
    w.opens(1, "bot");
    w.saw(&[
        "spawn bot as a1",
        "a1 <- initialize",
        "a1 <- session/new /p",
        "session 1 started",
    ]);
    w.prompts("hi");
    w.says("Hello");
    w.ends_turn("end_turn");
    w.saw(&[
        "turn of 1 started",
        "a1 <- session/prompt s1: hi",
        "turn of 1 ended: end_turn",
    ]);
    assert_eq!(w.chat(), "❯ hi\n\nHello");
    w.happens(Event::Session(SessionEvent::Close { session: S1 }));
    w.saw(&["shutdown a1"]);
}

#[test]
fn a_prompt_waits_until_the_session_is_ready() {
    let mut w = started();
    w.prompts("hi");
    w.saw(&[]);
    assert_eq!(w.model.phase(S1), Phase::Starting);
    w.goes_on();
    w.saw(&[
        "a1 <- session/new /p",
        "session 1 started",
        "turn of 1 started",
        "a1 <- session/prompt s1: hi",
    ]);
    assert_eq!(w.model.phase(S1), Phase::Running);
}

/// The chat's notice about a prompt whose agent has ended.
const WAITS: &str = "A prompt waits: it will be sent when the agent runs again; your next prompt \
                     or `:Acp restart` starts the agent.";

/// Prompts, gives this answer for the agent, and checks that the session ends with this chat.
#[track_caller]
fn check_refused(mut w: World, method: &str, answer: Result<Value, Value>, chat: &[&str]) {
    w.prompts("hi");
    w.answers(A1, method, answer);
    assert_eq!(w.model.phase(S1), Phase::Dead);
    assert_eq!(w.chat().lines().collect::<Vec<_>>(), chat);
    assert_eq!(w.agents[&A1].life, Life::Leaving);
    w.goes_on();
    // The next prompt starts the agent again.
    w.skip();
    w.prompts("again");
    assert_eq!(w.model.phase(S1), Phase::Running);
}

#[test]
fn an_agent_with_another_protocol_version_is_stopped() {
    let chat = [
        "The agent \"bot\" speaks version 2 of the Agent Client Protocol, this client speaks \
         version 1: update whichever is older.",
        "",
        WAITS,
    ];
    let answer = Ok(json!({ "protocolVersion": 2 }));
    check_refused(started(), "initialize", answer, &chat);
}

#[test]
fn an_agent_that_fails_to_initialize_is_stopped() {
    let chat = [
        "The agent \"bot\" could not be initialized: no config (-32603)",
        "",
        WAITS,
    ];
    let answer = Err(json!({ "code": -32603, "message": "no config" }));
    check_refused(started(), "initialize", answer, &chat);
    let chat = [
        "The agent \"bot\" could not be initialized: The agent's answer to initialize is not \
         ACP: protocolVersion is missing.",
        "",
        WAITS,
    ];
    check_refused(started(), "initialize", Ok(json!(null)), &chat);
}

#[test]
fn a_refused_session_shows_the_reason() {
    let chat = [
        "The agent \"bot\" could not open a session: no such folder (-32602).",
        "`:Acp log` shows what it printed.",
        "",
        WAITS,
    ];
    let answer = Err(json!({ "code": -32602, "message": "no such folder" }));
    check_refused(initialized(), "session/new", answer, &chat);
    let chat = [
        "The agent's answer to session/new names no session: sessionId is missing.",
        "",
        WAITS,
    ];
    check_refused(initialized(), "session/new", Ok(json!({})), &chat);
}

#[test]
fn an_agent_that_does_not_answer_is_stopped() {
    for (mut w, method) in [(started(), "initialize"), (initialized(), "session/new")] {
        w.prompts("hi");
        w.time_passes();
        let text = format!(
            "The agent \"bot\" has not answered {method} for 90 seconds and was stopped. \
             `:Acp log` shows what it printed; a prompt starts it again. If it needs longer, as \
             for a download, raise `request_timeout` in the configuration."
        );
        assert_eq!(w.chat(), format!("{text}\n\n{WAITS}"));
        if method == "session/new" {
            assert_eq!(w.log.remove(0), "a1 <- $/cancel_request");
        }
        w.saw(&[
            "shutdown a1",
            &format!("Error: {text}"),
            "agent of 1 exited: unusable",
        ]);
    }
}

#[test]
fn a_time_limit_ends_with_the_answer() {
    let mut w = World::ready();
    w.prompts("hi");
    w.skip();
    w.time_passes();
    w.saw(&[]);
    assert_eq!(w.model.phase(S1), Phase::Running);
}

#[test]
fn an_agent_that_cannot_be_started_is_reported_once() {
    let mut w = World::new();
    w.holds(Part::Agents);
    w.opens(1, "bot");
    w.prompts("hi");
    w.skip();
    w.agents.get_mut(&A1).unwrap().life = Life::Gone;
    let why = "There is no /bin/bot.".to_owned();
    w.happens(Event::Agent(AgentEvent::Failed { agent: A1, why }));
    w.saw(&[
        "Error: There is no /bin/bot.",
        "agent of 1 exited: not started",
    ]);
    assert_eq!(w.chat(), format!("There is no /bin/bot.\n\n{WAITS}"));
}

#[test]
fn an_exit_is_shown_with_the_last_stderr_lines() {
    for mut w in [started(), initialized(), World::ready()] {
        w.skip();
        w.exits(A1, "exit code 1", &["oops", "stack"]);
        let short = "The agent \"bot\" ended unexpectedly: exit code 1.";
        w.saw(&[&format!("Error: {short}"), "agent of 1 exited: exit code 1"]);
        let chat = format!(
            "{short}\n  oops\n  stack\nThe next prompt starts it again; `:Acp log` has the rest."
        );
        assert_eq!(w.chat(), chat);
        assert_eq!(w.model.phase(S1), Phase::Dead);
    }
}

#[test]
fn an_exit_ends_the_turn_and_the_next_prompt_starts_the_agent_again() {
    let mut w = World::ready();
    w.prompts("hi");
    w.updates(json!({ "sessionUpdate": "tool_call", "toolCallId": "t", "title": "Work" }));
    w.prompts("queued");
    w.skip();
    w.exits(A1, "signal 9", &[]);
    w.saw(&[
        "Error: The agent \"bot\" ended unexpectedly: signal 9.",
        "turn of 1 ended: agent_exited",
        "agent of 1 exited: signal 9",
    ]);
    assert!(w.chat().contains("⊘ ◦ Work  cancelled"), "{}", w.chat());
    assert!(w.chat().ends_with(WAITS), "{}", w.chat());
    w.prompts("again");
    w.saw(&[
        "spawn bot as a2",
        "a2 <- initialize",
        "a2 <- session/new /p",
        "session 1 started",
        "turn of 1 started",
        "a2 <- session/prompt s2: queued + [block]",
    ]);
}

#[test]
fn a_second_session_refused_by_a_process_gets_its_own() {
    let mut w = World::ready();
    w.holds(Part::Agents);
    w.opens(2, "bot");
    w.prompts_in(S2, "hi");
    w.skip();
    let no = json!({ "code": -32603, "message": "one session only" });
    w.answers(A1, "session/new", Err(no));
    w.saw(&["spawn bot as a2"]);
    w.goes_on();
    w.saw(&[
        "a2 <- initialize",
        "a2 <- session/new /p",
        "session 2 started",
        "turn of 2 started",
        "a2 <- session/prompt s2: hi",
    ]);
    // The first session keeps its process.
    w.prompts("one");
    w.saw(&["turn of 1 started", "a1 <- session/prompt s1: one"]);
}

#[test]
fn two_sessions_of_one_agent_share_its_process() {
    let mut w = World::ready();
    w.opens(2, "bot");
    w.saw(&["a1 <- session/new /p", "session 2 started"]);
    w.prompts("one");
    w.prompts_in(S2, "two");
    w.skip();
    let update = json!({
        "sessionUpdate": "agent_message_chunk",
        "content": { "type": "text", "text": "for two" },
    });
    let params = json!({ "sessionId": "s2", "update": update });
    w.notifies(A1, "session/update", &params);
    assert_eq!(w.chat(), "❯ one");
    assert_eq!(w.editor.chats[&S2].text(), "❯ two\n\nfor two");
    // The process runs until the last of its sessions is closed; closing one cancels its turn.
    w.happens(Event::Session(SessionEvent::Close { session: S1 }));
    w.saw(&["a1 <- session/cancel s1"]);
    w.happens(Event::Session(SessionEvent::Close { session: S2 }));
    w.saw(&["shutdown a1"]);
}

#[test]
fn two_sessions_opened_at_the_same_time_share_a_process() {
    let mut w = World::new();
    w.holds(Part::Agents);
    w.opens(1, "bot");
    w.opens(2, "bot");
    w.opens(3, "other");
    w.goes_on();
    w.saw(&[
        "spawn bot as a1",
        "spawn other as a2",
        "a1 <- initialize",
        "a1 <- session/new /p",
        "a1 <- session/new /p",
        "session 1 started",
        "session 2 started",
        "a2 <- initialize",
        "a2 <- session/new /p",
        "session 3 started",
    ]);
}

#[test]
fn a_restart_gives_the_session_a_new_process() {
    let mut w = World::ready();
    w.prompts("hi");
    w.skip();
    w.holds(Part::Agents);
    w.happens(Event::Session(SessionEvent::Restart { session: S1 }));
    w.saw(&[
        "shutdown a1",
        "turn of 1 ended: agent_exited",
        "agent of 1 exited: restarted",
        "spawn bot as a2",
    ]);
    w.goes_on();
    w.saw(&[
        "a2 <- initialize",
        "a2 <- session/new /p",
        "session 1 started",
    ]);
    assert_eq!(
        w.chat(),
        "❯ hi\n\nThe agent is started again.\n\nThe agent \"bot\" cannot go on with this \
         conversation: this is a new session for it; the next prompt includes what was \
         said."
    );
}

#[test]
fn messages_of_an_old_process_are_not_the_new_ones() {
    let mut w = World::ready();
    w.prompts("hi");
    w.holds(Part::Agents);
    w.happens(Event::Session(SessionEvent::Restart { session: S1 }));
    w.skip();
    w.says("from the grave");
    w.ends_turn("end_turn");
    w.saw(&[]);
    assert_eq!(w.chat(), "❯ hi\n\nThe agent is started again.");
}

#[test]
fn a_stop_ends_the_agent_and_keeps_the_transcript() {
    let mut w = World::ready();
    w.prompts("hi");
    w.says("Hello");
    w.skip();
    w.happens(Event::Session(SessionEvent::Stop { session: S1 }));
    w.saw(&[
        "shutdown a1",
        "turn of 1 ended: agent_exited",
        "agent of 1 exited: exit code 0",
    ]);
    assert_eq!(
        w.chat(),
        "❯ hi\n\nHello\n\nThe agent \"bot\" has ended (exit code 0)."
    );
    w.happens(Event::Session(SessionEvent::Stop { session: S1 }));
    w.saw(&["Info: This chat's agent is not running; a prompt starts it."]);
}

#[test]
fn a_prompt_to_a_stopping_agent_goes_to_a_new_one() {
    let mut w = World::ready();
    w.prompts("one");
    w.holds(Part::Agents);
    w.happens(Event::Session(SessionEvent::Stop { session: S1 }));
    w.skip();
    w.prompts("two");
    w.saw(&["turn of 1 ended: agent_exited", "spawn bot as a2"]);
    // The first agent's answer does not end the new agent's turn.
    w.ends_turn("end_turn");
    w.saw(&[]);
    w.goes_on();
    w.saw(&[
        "a2 <- initialize",
        "a2 <- session/new /p",
        "session 1 started",
        "turn of 1 started",
        "a2 <- session/prompt s2: two + [block]",
    ]);
    w.answers(
        A2,
        "session/prompt",
        Ok(json!({ "stopReason": "end_turn" })),
    );
    assert_eq!(w.model.phase(S1), Phase::Idle);
}

#[test]
fn a_session_opened_by_a_stopping_agent_is_not_used() {
    let mut w = initialized();
    w.happens(Event::Session(SessionEvent::Stop { session: S1 }));
    w.prompts("hi");
    w.skip();
    w.answers(A1, "session/new", Ok(json!({ "sessionId": "old" })));
    w.saw(&[]);
    w.goes_on();
    w.saw(&[
        "a2 <- initialize",
        "a2 <- session/new /p",
        "session 1 started",
        "turn of 1 started",
        "a2 <- session/prompt s1: hi",
    ]);
}

#[test]
fn a_stopped_agent_stays_stopped_after_any_answer() {
    let mut w = started();
    w.happens(Event::Session(SessionEvent::Stop { session: S1 }));
    w.skip();
    let answer = w.usual_answer("initialize");
    w.answers(A1, "initialize", Ok(answer));
    w.saw(&[]);
    let mut w = initialized();
    w.prompts("hi");
    w.happens(Event::Session(SessionEvent::Stop { session: S1 }));
    w.skip();
    w.answers(A1, "session/new", Ok(json!({ "sessionId": "s1" })));
    w.saw(&[]);
    w.goes_on();
    w.saw(&["agent of 1 exited: exit code 0"]);
    assert!(w.chat().ends_with(WAITS), "{}", w.chat());
}

#[test]
fn quitting_ends_every_agent() {
    let mut w = World::ready();
    w.opens(2, "other");
    w.skip();
    w.holds(Part::Agents);
    w.happens(Event::Quit);
    w.saw(&["shutdown a1", "shutdown a2"]);
}

#[test]
fn updates_before_the_sessions_id_are_shown_in_it() {
    let mut w = initialized();
    w.says("Welcome");
    w.updates(json!({ "sessionUpdate": "current_mode_update", "currentModeId": "plan" }));
    assert_eq!(w.chat(), "");
    w.goes_on();
    assert_eq!(w.chat(), "Welcome");
    assert_eq!(w.session(S1).options().id_of(Purpose::Mode), Some("plan"));
}

#[test]
fn a_closed_session_never_wakes_the_editor() {
    let mut w = World::ready();
    w.happens(Event::Session(SessionEvent::Close { session: S1 }));
    w.happens(Event::View(ViewEvent::FoldsWanted { session: S1 }));
    w.happens(Event::View(ViewEvent::ChatEmpty { session: S1 }));
    w.prompts("hi");
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    w.skip();
}

#[test]
fn a_panic_is_reported_and_work_continues() {
    let mut w = World::ready();
    w.happens(Event::Panicked {
        place: "a task",
        message: "boom".into(),
    });
    w.saw(&[
        "Error: An internal error in a task was caught; your text is safe. `:Acp log` has the details.",
    ]);
    w.prompts("hi");
    assert_eq!(w.model.phase(S1), Phase::Running);
}

#[test]
fn a_new_session_may_use_the_ids_of_calls_again() {
    let mut w = World::ready();
    let call = |title: &str, status: &str| {
        json!({
            "sessionUpdate": "tool_call", "toolCallId": "t1", "title": title, "status": status,
        })
    };
    w.prompts("go");
    w.updates(call("Read a", "completed"));
    w.exits(A1, "signal 9", &[]);
    w.prompts("again");
    let agent = *w.agents.keys().next_back().expect("it is started");
    let id = w.session(S1).id().cloned().expect("it is open");
    let update = call("Read b", "pending");
    w.notifies(
        agent,
        "session/update",
        &json!({ "sessionId": &*id.0, "update": update }),
    );
    let chat = w.chat();
    let at = |text: &str| chat.find(text).unwrap_or_else(|| panic!("{text}: {chat}"));
    assert!(
        at("Read a") < at("❯ again") && at("❯ again") < at("Read b"),
        "{chat}"
    );
}
