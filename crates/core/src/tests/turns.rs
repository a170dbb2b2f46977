//! Prompts and turns.

use serde_json::{Value, json};

use super::world::{A1, S1, World};
use crate::conversation::session::Phase;
use crate::event::{AgentEvent, Event, SessionEvent};
use crate::questions::Answer;
use crate::spine::attachment::Attachment;
use crate::spine::event::Context;
use crate::spine::ids::QuestionId;

fn tool(id: &str, status: &str) -> Value {
    json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "title": id, "status": status })
}

/// Ends a turn without output by this answer, and checks the stop reason and the chat.
#[track_caller]
fn check_end(answer: Result<Value, Value>, reason: &str, said: &str) {
    let mut w = World::ready();
    w.prompts("hi");
    w.skip();
    w.answers(A1, "session/prompt", answer);
    w.saw(&[&format!("turn of 1 ended: {reason}")]);
    assert_eq!(w.chat(), format!("❯ hi\n\n{said}"));
    assert_eq!(w.model.phase(S1), Phase::Idle);
}

#[test]
fn each_stop_reason_is_shown() {
    let stop = |reason: &str| Ok(json!({ "stopReason": reason }));
    let silent = "The agent ended its turn and said nothing; `:Acp log` may say why.";
    check_end(stop("end_turn"), "end_turn", silent);
    check_end(Ok(json!({})), "end_turn", silent);
    check_end(Ok(json!(null)), "end_turn", silent);
    let text = "Stopped: the model's token limit is reached (max_tokens).";
    check_end(stop("max_tokens"), "max_tokens", text);
    let text = "Stopped: the agent made as many requests as one turn may (max_turn_requests).";
    check_end(stop("max_turn_requests"), "max_turn_requests", text);
    let text = "The agent refuses to go on (refusal); this prompt is not part of its history.";
    check_end(stop("refusal"), "refusal", text);
    check_end(stop("cancelled"), "cancelled", "Cancelled.");
    check_end(stop("tired"), "tired", "Stopped: tired.");
    let error = json!({ "code": 429, "message": "Too many" });
    let text = "The agent reports an error: Too many (429).";
    check_end(Err(error), "error", text);
}

#[test]
fn a_second_prompt_waits_for_the_end_of_the_first() {
    let mut w = World::ready();
    w.prompts("one");
    w.prompts("two");
    w.prompts("three");
    w.says("1");
    let queued = "a prompt of 1 waits";
    w.saw(&[
        "turn of 1 started",
        "a1 <- session/prompt s1: one",
        queued,
        queued,
    ]);
    w.ends_turn("end_turn");
    w.saw(&[
        "turn of 1 ended: end_turn",
        "turn of 1 started",
        "a1 <- session/prompt s1: two",
    ]);
    w.says("2");
    w.ends_turn("end_turn");
    w.says("3");
    assert_eq!(w.chat(), "❯ one\n\n1\n\n❯ two\n\n2\n\n❯ three\n\n3");
}

#[test]
fn a_stale_end_of_a_turn_does_not_end_another() {
    let mut w = World::ready();
    w.prompts("one");
    let first = w.agents[&A1].calls[0].0;
    w.says("1");
    w.ends_turn("end_turn");
    w.prompts("two");
    w.skip();
    w.prints(
        A1,
        &format!(r#"{{"jsonrpc":"2.0","id":{first},"result":{{"stopReason":"end_turn"}}}}"#),
    );
    w.prints(
        A1,
        r#"{"jsonrpc":"2.0","id":999,"result":{"stopReason":"end_turn"}}"#,
    );
    w.saw(&[]);
    assert_eq!(w.model.phase(S1), Phase::Running);
}

#[test]
fn a_cancel_marks_open_tool_calls_and_late_results_replace_that() {
    let mut w = World::ready();
    w.prompts("hi");
    w.updates(tool("a", "in_progress"));
    w.updates(tool("b", "completed"));
    w.updates(tool("c", "pending"));
    w.skip();
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    w.saw(&["a1 <- session/cancel s1", "a1 <- session/cancel s1"]);
    assert_eq!(w.editor.titles[&S1], "bot · cancelling");
    w.updates(tool("a", "completed"));
    w.updates(tool("c", "in_progress"));
    // It began before the agent had read the cancel.
    w.updates(tool("d", "in_progress"));
    w.says("so far");
    w.ends_turn("cancelled");
    w.saw(&["turn of 1 ended: cancelled"]);
    w.updates(tool("c", "failed"));
    assert_eq!(
        w.chat(),
        "❯ hi\n\n✓ ◦ a  completed\n✓ ◦ b  completed\n✗ ◦ c  failed\n⊘ ◦ d  cancelled\n\n\
         so far\n\nCancelled."
    );
}

#[test]
fn a_turn_that_fails_leaves_no_tool_call_open() {
    let mut w = World::ready();
    w.prompts("hi");
    w.updates(tool("a", "in_progress"));
    w.answers(
        A1,
        "session/prompt",
        Err(json!({ "code": -1, "message": "broken" })),
    );
    let chat = w.chat();
    assert!(chat.contains("⊘ ◦ a  cancelled"), "{chat}");
    // A turn that ends well may leave a command that runs on.
    w.prompts("more");
    w.updates(tool("b", "in_progress"));
    w.ends_turn("end_turn");
    let chat = w.chat();
    assert!(chat.contains("b  in progress"), "{chat}");
}

#[test]
fn an_error_after_a_cancel_is_a_cancel() {
    let mut w = World::ready();
    w.prompts("hi");
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    let error = json!({ "code": -32603, "message": "aborted" });
    w.answers(A1, "session/prompt", Err(error));
    assert_eq!(w.chat(), "❯ hi\n\nCancelled.");
    w.skip();
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    w.saw(&["Info: Nothing is running in this chat."]);
}

#[test]
fn updates_after_the_end_of_a_turn_are_shown() {
    let mut w = World::ready();
    w.says("Good morning. ");
    w.says("What is it?");
    w.prompts("hi");
    w.says("Hello");
    w.ends_turn("end_turn");
    w.updates(tool("late", "completed"));
    w.says("P.S.");
    assert_eq!(
        w.chat(),
        "Good morning. What is it?\n\n❯ hi\n\nHello\n\n✓ ◦ late  completed\n\nP.S."
    );
}

#[track_caller]
fn check_echo(prompt: &str, chunks: &[&str], chat: &str) {
    let mut w = World::ready();
    w.prompts(prompt);
    for chunk in chunks {
        w.updates(json!({
            "sessionUpdate": "user_message_chunk",
            "content": { "type": "text", "text": chunk },
        }));
    }
    w.says("Hello");
    assert_eq!(w.chat(), chat);
}

#[test]
fn an_echoed_prompt_is_not_shown_twice() {
    check_echo("hi there", &["hi there"], "❯ hi there\n\nHello");
    check_echo("hi there", &["hi ", "there"], "❯ hi there\n\nHello");
    check_echo("hi there", &["hi", " ", "there\n"], "❯ hi there\n\nHello");
    check_echo("hi", &["hi", "hi"], "❯ hi\n\n❯ hi\n\nHello");
    check_echo(
        "go there",
        &["go", " away"],
        "❯ go there\n\n❯ go away\n\nHello",
    );
    check_echo("hi", &["other"], "❯ hi\n\n❯ other\n\nHello");
}

#[test]
fn a_turn_with_nothing_but_an_echo_has_no_output() {
    let mut w = World::ready();
    w.prompts("hi");
    for (kind, text) in [("user_message_chunk", "hi"), ("agent_message_chunk", "\n")] {
        let content = json!({ "type": "text", "text": text });
        w.updates(json!({ "sessionUpdate": kind, "content": content }));
    }
    w.ends_turn("end_turn");
    assert!(w.chat().contains("said nothing"), "{}", w.chat());
}

#[test]
fn a_turn_that_only_changed_a_file_is_not_called_silent() {
    let mut w = World::ready();
    w.disk.put("/p/f", "a\n");
    w.settle();
    w.prompts("hi");
    w.writes("/p/f", "b\n");
    w.settle();
    w.ends_turn("end_turn");
    assert!(!w.chat().contains("said nothing"), "{}", w.chat());
    w.prompts("and?");
    w.ends_turn("end_turn");
    assert!(w.chat().contains("said nothing"), "{}", w.chat());
}

#[test]
fn an_empty_prompt_is_not_sent() {
    let mut w = World::ready();
    w.prompts("  \n ");
    w.saw(&["Warn: The prompt is empty: nothing was sent."]);
}

#[test]
fn lines_of_a_file_are_attached() {
    let mut w = World::ready();
    let lines = Context {
        path: "/p/a b".into(),
        rows: 2..4,
        text: "x\ny".into(),
    };
    w.happens(Event::Session(SessionEvent::Attach {
        session: S1,
        items: vec![Attachment::Lines(lines)],
    }));
    assert_eq!(w.editor.attached[&S1], ["a b:3-4"]);
    w.prompts("why?");
    w.saw(&[
        "turn of 1 started",
        "a1 <- session/prompt s1: why? + [block]",
    ]);
    let block = &w.agents[&A1].calls[0].2["prompt"][1];
    let resource = json!({ "uri": "file:///p/a%20b#L3:4", "text": "x\ny" });
    assert_eq!(block["resource"], resource);
    w.says("because");
    w.ends_turn("end_turn");
    w.skip();
    w.prompts("and?");
    w.saw(&["turn of 1 started", "a1 <- session/prompt s1: and?"]);
}

#[test]
fn malformed_and_unknown_messages_are_ignored() {
    let mut w = World::ready();
    w.prompts("hi");
    w.skip();
    w.prints(A1, "Loaded cached credentials.");
    w.prints(
        A1,
        r#"{"jsonrpc":"2.0","method":"qwen/notify","params":{}}"#,
    );
    w.prints(A1, r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"nobody","update":{"sessionUpdate":"plan","entries":[]}}}"#);
    w.asks("1", "craft/drain", &json!({}));
    w.asks("\"x\"", "fs/read_text_file", &json!({ "sessionId": "s1" }));
    w.happens(Event::Agent(AgentEvent::Message {
        agent: A1,
        message: acp::Message::TooLong { bytes: 70 << 20 },
    }));
    w.updates(json!({ "sessionUpdate": "news", "text": "x" }));
    w.saw(&[
        "a1 <- answer 1 error -32601: \"Method not found: craft/drain\"",
        "a1 <- answer \"x\" error -32602: \"params.path: missing\"",
    ]);
    assert_eq!(
        w.chat(),
        "❯ hi\n\nThe agent sent a message of 70 MiB, which was dropped: the limit is 64 MiB.\n\n\
         ? update of an unknown kind: news\n  {\n    \"sessionUpdate\": \"news\",\n    \
         \"text\": \"x\"\n  }\n"
    );
    w.ends_turn("end_turn");
}

#[test]
fn a_plan_is_replaced_and_each_turn_has_its_own() {
    let plan = |status: &str| {
        json!({
            "sessionUpdate": "plan",
            "entries": [{ "content": "look", "priority": "high", "status": status }],
        })
    };
    let mut w = World::ready();
    w.prompts("hi");
    let panel = |w: &World| {
        let view = w.editor.plans.get(&S1);
        view.map(|view| view.lines[0].text.clone())
    };
    w.updates(plan("pending"));
    assert_eq!(panel(&w).as_deref(), Some(" ○ ! look"));
    w.updates(plan("completed"));
    assert_eq!(panel(&w), None);
    w.ends_turn("end_turn");
    w.prompts("more");
    w.updates(plan("in_progress"));
    assert_eq!(panel(&w).as_deref(), Some(" ◐ ! look"));
    assert_eq!(w.editor.titles[&S1], "bot · working · plan 0/1");
    w.ends_turn("cancelled");
    assert_eq!(panel(&w), None);
    assert_eq!(
        w.chat(),
        "❯ hi\n\nPlan 1/1\n  ✓ ! look\n\n❯ more\n\nPlan 0/1\n  ◐ ! look\n\nCancelled."
    );
    assert_eq!(w.editor.titles[&S1], "bot · idle · plan 0/1");
}

#[test]
fn an_agent_that_does_not_answer_a_cancel_is_reported() {
    let late = "The agent has not answered the cancel";
    let mut w = World::ready();
    w.prompts("one");
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    w.ends_turn("cancelled");
    w.time_passes();
    assert!(!w.was_told(late), "it has answered");
    w.prompts("two");
    for _ in 0..2 {
        w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    }
    w.time_passes();
    assert_eq!(w.chat().matches(late).count(), 1);
    assert!(w.was_told(late));
}

#[test]
fn the_bar_shows_how_long_a_turn_runs_and_its_agent_is_silent() {
    let mut w = World::ready();
    let title = |w: &World| w.editor.titles[&S1].clone();
    w.prompts("hi");
    assert_eq!(title(&w), "bot · working");
    w.time_passes();
    assert_eq!(title(&w), "bot · working 1s");
    w.says("Let me see.");
    for _ in 0..59 {
        w.time_passes();
    }
    assert_eq!(title(&w), "bot · working 1m 00s");
    w.time_passes();
    assert_eq!(title(&w), "bot · working 1m 01s · silent for 1m 00s");
    // Anything that the agent sends is a sign of life.
    let params = json!({ "sessionId": "s1", "path": "/p/f" });
    w.asks("1", "fs/read_text_file", &params);
    assert_eq!(title(&w), "bot · working 1m 01s");
    w.ends_turn("end_turn");
    assert_eq!(title(&w), "bot · idle");
    w.time_passes();
    assert!(w.timers.is_empty());
    // The next turn begins anew.
    w.prompts("more");
    w.time_passes();
    assert_eq!(title(&w), "bot · working 1s");
}

#[test]
fn an_agent_that_waits_for_the_user_is_not_silent() {
    let mut w = World::ready();
    w.prompts("hi");
    let params = json!({
        "sessionId": "s1",
        "toolCall": { "toolCallId": "t", "title": "Run" },
        "options": [{ "optionId": "yes", "name": "Yes", "kind": "allow_once" }],
    });
    w.asks("1", "session/request_permission", &params);
    for _ in 0..70 {
        w.time_passes();
    }
    assert_eq!(w.editor.titles[&S1], "bot · waiting for you");
    w.happens(Event::Answer {
        id: QuestionId(1),
        answer: Answer::Option("yes".into()),
    });
    w.time_passes();
    assert_eq!(w.editor.titles[&S1], "bot · working 1m 11s");
}
