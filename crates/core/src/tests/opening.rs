//! Sessions of the past: loaded, resumed, or unknown to the agent.

use serde_json::{Value, json};

use super::world::{A1, Part, S1, World};
use crate::conversation::replay::KEPT_BYTES;
use crate::conversation::session::Phase;
use crate::event::{Event, SessionEvent, ViewEvent};
use crate::questions::Answer;
use crate::spine::event::ListEvent;
use crate::spine::ids::{AgentKey, SessionKey};
use acp::Purpose;

const S2: SessionKey = SessionKey(2);
const A2: AgentKey = AgentKey(2);

fn chunk(kind: &str, text: &str) -> Value {
    json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } })
}

fn tool(id: &str, status: &str) -> Value {
    json!({
        "sessionUpdate": "tool_call", "toolCallId": id, "title": format!("Edit {id}"),
        "kind": "edit", "status": status, "locations": [{ "path": "/p/a", "line": 3 }],
        "content": [{ "type": "diff", "path": "/p/a", "oldText": "two", "newText": "TWO" }],
    })
}

/// The conversation of the session `old`.
fn past() -> Vec<Value> {
    vec![
        chunk("user_message_chunk", "Please edit"),
        chunk(
            "user_message_chunk",
            "<system-reminder>\nFor the model.\n</system-reminder>",
        ),
        chunk("agent_thought_chunk", "Hm."),
        chunk("agent_message_chunk", "I edit"),
        chunk("agent_message_chunk", " now."),
        tool("t1", "completed"),
        json!({ "sessionUpdate": "plan", "entries": [
            { "content": "First", "priority": "high", "status": "completed" },
            { "content": "Second", "priority": "high", "status": "pending" },
        ] }),
        chunk("agent_message_chunk", "And a command:"),
        json!({ "sessionUpdate": "tool_call", "toolCallId": "t2", "title": "Run it",
            "kind": "execute", "status": "in_progress" }),
        chunk("user_message_chunk", "Thanks"),
        json!({ "sessionUpdate": "available_commands_update", "availableCommands": [
            { "name": "go", "description": "Goes." },
        ] }),
        json!({ "sessionUpdate": "session_info_update", "title": "An edit" }),
    ]
}

/// A world whose agents have these abilities, and know the session `old`.
fn world(abilities: Value) -> World {
    let mut w = World::new();
    w.abilities = abilities;
    w.told.insert("old".into(), past());
    w
}

fn loading() -> World {
    world(json!({ "loadSession": true }))
}

/// Ends the agent in the middle of a turn.
fn dies(w: &mut World) {
    w.prompts("hi");
    w.says("Hello");
    w.exits(A1, "signal 9", &[]);
    w.skip();
}

#[test]
fn a_loaded_session_shows_its_conversation() {
    let mut w = loading();
    w.reopens(1, "bot", "old");
    w.saw(&[
        "spawn bot as a1",
        "a1 <- initialize",
        "a1 <- session/load old",
        "session 1 is back",
    ]);
    insta::assert_snapshot!(w.chat());
    assert_eq!(w.model.phase(S1), Phase::Idle);
    let session = w.session(S1);
    assert_eq!(session.title(), Some("An edit"));
    assert_eq!(session.commands().len(), 1);
    w.prompts("go on");
    w.saw(&["turn of 1 started", "a1 <- session/prompt old: go on"]);
}

#[test]
fn a_replay_has_no_effects() {
    let mut w = loading();
    w.disk.put("/p/a", "one\ntwo\nthree\n");
    w.happens(Event::View(ViewEvent::List(ListEvent::Opened {
        cwd: "/p".into(),
    })));
    w.reopens(1, "bot", "old");
    let snapshot = w.model.snapshot();
    let info = &snapshot.sessions[0];
    assert_eq!(info.tools.running, 0);
    assert_eq!(info.review, (0, 0));
    assert!(snapshot.proposals.is_empty() && snapshot.reviews.is_empty());
    assert!(w.tracked.is_empty(), "{:?}", w.tracked);
    let told: Vec<String> = w.announced.iter().map(|it| format!("{it:?}")).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("SessionStarted"), "{told:?}");
}

#[test]
fn a_load_is_shown_when_complete_and_prompts_wait() {
    let mut w = loading();
    w.holds(Part::Agents);
    w.reopens(1, "bot", "old");
    w.agents_move();
    w.settle();
    let answer = w.usual_answer("initialize");
    w.answers(A1, "initialize", Ok(answer));
    w.tells_again(A1, "old", &past());
    w.prompts("go on");
    assert_eq!(w.chat(), "");
    assert_eq!(w.model.phase(S1), Phase::Starting);
    w.skip();
    w.answers(A1, "session/load", Ok(Value::Null));
    w.saw(&[
        "session 1 is back",
        "turn of 1 started",
        "a1 <- session/prompt old: go on",
    ]);
    assert!(w.chat().ends_with("❯ go on"), "{}", w.chat());
}

#[test]
fn a_session_loaded_after_a_crash_shows_no_duplicates() {
    let mut w = loading();
    w.opens(1, "bot");
    dies(&mut w);
    let mut told = past();
    told.push(json!({ "sessionUpdate": "current_mode_update", "currentModeId": "plan" }));
    w.told.insert("s1".into(), told);
    let before = w.chat();
    w.prompts("again");
    w.saw(&[
        "spawn bot as a2",
        "a2 <- initialize",
        "a2 <- session/load s1",
        "options of 1: mode",
        "session 1 is back",
        "turn of 1 started",
        "a2 <- session/prompt s1: again",
    ]);
    assert_eq!(w.chat(), format!("{before}\n\n❯ again"));
    // Replaying the past does not change the session's mode.
    let options = w.session(S1).options();
    assert_eq!(options.id_of(Purpose::Mode), Some("plan"));
}

#[test]
fn a_shown_session_is_resumed_if_the_agent_supports_it() {
    let both = json!({ "loadSession": true, "sessionCapabilities": { "resume": {} } });
    let mut w = world(both.clone());
    w.opens(1, "bot");
    dies(&mut w);
    w.happens(Event::Session(SessionEvent::Restart { session: S1 }));
    w.saw(&[
        "spawn bot as a2",
        "a2 <- initialize",
        "a2 <- session/resume s1",
        "session 1 is back",
    ]);
    // A session without a transcript here is loaded instead.
    let mut w = world(both);
    w.reopens(1, "bot", "old");
    assert!(w.was_told("a1 <- session/load old"), "{:?}", w.log);
    // An agent that cannot load resumes it, without its transcript.
    let mut w = world(json!({ "sessionCapabilities": { "resume": {} } }));
    w.reopens(1, "bot", "old");
    assert!(w.was_told("a1 <- session/resume old"), "{:?}", w.log);
    assert_eq!(w.model.phase(S1), Phase::Idle);
}

#[test]
fn a_refused_resume_becomes_a_load() {
    let mut w = world(json!({ "loadSession": true, "sessionCapabilities": { "resume": {} } }));
    w.opens(1, "bot");
    dies(&mut w);
    w.told.insert("s1".into(), past());
    w.holds(Part::Agents);
    w.prompts("again");
    w.agents_move();
    w.settle();
    let answer = w.usual_answer("initialize");
    w.answers(A2, "initialize", Ok(answer));
    let no = json!({ "code": -32603, "message": "no" });
    w.answers(A2, "session/resume", Err(no));
    w.skip();
    w.goes_on();
    w.saw(&[
        "session 1 is back",
        "turn of 1 started",
        "a2 <- session/prompt s1: again",
    ]);
    assert!(!w.chat().contains("Please edit"), "{}", w.chat());
}

#[test]
fn an_agent_without_load_warns_if_there_was_a_conversation() {
    let mut w = World::ready();
    dies(&mut w);
    w.prompts("again");
    let end = "The agent \"bot\" cannot go on with this conversation: this is a new session for it; \
               the next prompt includes what was said.\n\n❯ again";
    assert!(w.chat().ends_with(end), "{}", w.chat());
    // In a session without a prompt, no history is lost.
    let mut w = World::ready();
    w.happens(Event::Session(SessionEvent::Restart { session: S1 }));
    assert_eq!(w.chat(), "The agent is started again.");
}

#[test]
fn a_session_without_a_prompt_is_not_loaded() {
    let mut w = loading();
    w.opens(1, "bot");
    w.skip();
    w.happens(Event::Session(SessionEvent::Restart { session: S1 }));
    assert!(w.was_told("a2 <- session/new /p"), "{:?}", w.log);
}

#[test]
fn a_failed_load_shows_the_next_step() {
    let mut w = loading();
    w.holds(Part::Agents);
    w.reopens(1, "bot", "gone");
    w.agents_move();
    w.settle();
    let answer = w.usual_answer("initialize");
    w.answers(A1, "initialize", Ok(answer));
    w.tells_again(A1, "gone", &[chunk("agent_message_chunk", "half")]);
    w.settle();
    w.skip();
    let error = json!({ "code": -32002, "message": "Resource not found" });
    w.answers(A1, "session/load", Err(error));
    let text = "The agent \"bot\" could not go on with the session \"gone\": Resource not found \
                (-32002).";
    w.saw(&[&format!("Error: {text}"), "shutdown a1"]);
    let next = "`:Acp restart` tries again; a prompt begins a new session here.";
    assert_eq!(w.chat(), format!("{text}\n{next}"));
    w.goes_on();
    w.happens(Event::Session(SessionEvent::Restart { session: S1 }));
    assert!(w.was_told("a2 <- session/load gone"), "{:?}", w.log);
}

#[test]
fn an_endless_replay_keeps_its_end() {
    let mut w = loading();
    let mut told = vec![chunk("user_message_chunk", "the beginning")];
    let text = "x".repeat(100_000);
    for number in 0..2 * KEPT_BYTES / text.len() {
        told.push(chunk("user_message_chunk", &format!("ask {number}")));
        told.push(chunk("agent_message_chunk", &text));
    }
    told.push(chunk("user_message_chunk", "the end"));
    w.told.insert("long".into(), told);
    w.reopens(1, "bot", "long");
    let chat = w.chat();
    assert!(
        chat.starts_with("The beginning of this conversation is not shown: it is too long."),
        "{}",
        chat.chars().take(200).collect::<String>()
    );
    assert!(!chat.contains("ask 1\n") && chat.ends_with("❯ the end"));
    assert!((KEPT_BYTES / 2..KEPT_BYTES + 100_000).contains(&chat.len()));
}

#[test]
fn two_sessions_of_a_process_are_loaded_concurrently() {
    let mut w = loading();
    w.told
        .insert("other".into(), vec![chunk("user_message_chunk", "Other")]);
    w.holds(Part::Agents);
    w.reopens(1, "bot", "old");
    w.reopens(2, "bot", "other");
    w.goes_on();
    assert!(w.chat().starts_with("❯ Please edit"), "{}", w.chat());
    assert_eq!(w.editor.chats[&S2].text(), "❯ Other");
}

#[test]
fn a_question_during_a_load_is_shown_at_once_in_its_session() {
    let mut w = loading();
    w.holds(Part::Agents);
    w.reopens(1, "bot", "old");
    w.agents_move();
    w.settle();
    let answer = w.usual_answer("initialize");
    w.answers(A1, "initialize", Ok(answer));
    w.tells_again(A1, "old", &[chunk("user_message_chunk", "Before")]);
    let options = json!([{ "optionId": "y", "name": "Yes", "kind": "allow_once" }]);
    let params = json!({
        "sessionId": "old", "options": options,
        "toolCall": { "toolCallId": "trust", "title": "Trust this folder" },
    });
    w.asks("7", "session/request_permission", &params);
    assert_eq!(w.model.snapshot().questions.len(), 1);
    w.tells_again(A1, "old", &[chunk("user_message_chunk", "After")]);
    w.answers(A1, "session/load", Ok(json!({})));
    assert_eq!(
        w.chat(),
        "❯ Before\n\n○ ◦ Trust this folder  pending\n\n❯ After"
    );
    let id = w.model.snapshot().questions[0].id;
    w.happens(Event::Answer {
        id: crate::spine::ids::QuestionId(id),
        answer: Answer::Option("y".into()),
    });
    assert!(w.answer("7").is_ok());
}
