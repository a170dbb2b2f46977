//! Entries of sub-agents, and their place in the transcript.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::world::{A1, Part, S1, World};
use crate::event::{Event, SessionEvent};
use crate::spine::view::Link;

fn below(parent: Option<&str>, mut update: Value) -> Value {
    if let Some(parent) = parent {
        update["_meta"] = json!({ "claudeCode": { "parentToolUseId": parent } });
    }
    update
}

fn tool(id: &str, parent: Option<&str>, status: &str) -> Value {
    let update = json!({
        "sessionUpdate": "tool_call", "toolCallId": id, "title": format!("Do {id}"),
        "status": status,
    });
    below(parent, update)
}

fn says(parent: Option<&str>, text: &str) -> Value {
    let update = json!({
        "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text },
    });
    below(parent, update)
}

fn with_text(mut update: Value, text: &str) -> Value {
    update["content"] = json!([{ "type": "content", "content": { "type": "text", "text": text } }]);
    update
}

/// Checks the lines and folds after these updates.
#[track_caller]
fn check(updates: &[Value], lines: &[&str], folds: &[(usize, usize)]) {
    let mut w = World::ready();
    for update in updates {
        w.updates(update.clone());
    }
    assert_eq!(w.chat().lines().collect::<Vec<_>>(), lines);
    let shown = w.editor.chats[&S1].folds.iter();
    assert_eq!(
        shown.map(|fold| (fold.0, fold.1)).collect::<Vec<_>>(),
        folds
    );
    // A rendering from scratch gives the same chat.
    let before = w.edits(|editor, _, out| editor.empties(S1, out));
    assert_eq!(w.editor.chats.get(&S1), before.as_ref());
}

#[test]
fn calls_of_two_sub_agents_are_shown_below_their_parents() {
    check(
        &[
            says(None, "Two "),
            tool("one", None, "in_progress"),
            tool("two", None, "in_progress"),
            tool("a", Some("one"), "in_progress"),
            tool("b", Some("two"), "in_progress"),
            says(None, "I wait"),
            with_text(tool("a", Some("one"), "completed"), "found"),
            says(Some("one"), "It is **here**"),
            tool("c", Some("b"), "pending"),
            says(Some("one"), ", I think."),
            with_text(tool("one", None, "completed"), "a report"),
            says(None, " for both."),
        ],
        &[
            "Two ",
            "",
            "✓ ◦ Do one  completed · 1 call",
            "  a report",
            "  ✓ ◦ Do a  completed",
            "    found",
            "",
            "",
            "  It is **here**, I think.",
            "",
            "◐ ◦ Do two  in progress · 1 call, 1 running",
            "  ◐ ◦ Do b  in progress · 1 call, 1 running",
            "    ○ ◦ Do c  pending",
            "",
            "",
            "",
            "I wait for both.",
        ],
        &[(2, 10), (4, 7), (10, 15), (11, 14)],
    );
}

#[test]
fn a_late_parent_call_adopts_its_children() {
    check(
        &[
            with_text(tool("a", Some("late"), "completed"), "text"),
            tool("b", Some("never"), "completed"),
            says(Some("late"), "Hm."),
            says(None, "So."),
            tool("late", None, "completed"),
            tool("c", Some("late"), "failed"),
        ],
        &[
            "✓ ◦ Do b  completed",
            "",
            "So.",
            "",
            "✓ ◦ Do late  completed · 2 calls",
            "  ✓ ◦ Do a  completed",
            "    text",
            "",
            "",
            "  Hm.",
            "",
            "  ✗ ◦ Do c  failed",
        ],
        &[(4, 13), (5, 8)],
    );
}

#[test]
fn each_line_of_a_call_links_to_it() {
    let mut w = World::ready();
    for update in [
        tool("one", None, "in_progress"),
        says(Some("one"), "Hm."),
        with_text(tool("a", Some("one"), "completed"), "x\n\ny"),
    ] {
        w.updates(update);
    }
    let lines = w.editor.chats[&S1].lines.iter();
    let links = lines.map(|line| match line.link {
        Some(Link::Call { entry, .. }) => (entry, true),
        Some(Link::Part { entry }) => (entry, false),
        ref other => panic!("{other:?}"),
    });
    let want = [
        (0, true),
        (0, false),
        (0, false),
        (2, true),
        (2, false),
        (2, false),
        (2, false),
        (2, false),
        (0, false),
    ];
    assert_eq!(links.collect::<Vec<_>>(), want);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// When it ends, the world checks that the screen equals a rendering from scratch.
    #[test]
    fn the_screen_does_not_depend_on_when_a_parent_arrives(
        steps in vec((0..6_usize, 0..8_usize, 0..4_usize, any::<bool>()), 1..30),
    ) {
        let names = ["a", "b", "c", "d", "e", "f"];
        let mut w = World::ready();
        w.prompts("go");
        w.holds(Part::Editor);
        for (who, parent, what, is_shown) in steps {
            let (id, parent) = (names[who], names.get(parent).copied());
            w.updates(match what {
                0 => tool(id, parent, "in_progress"),
                1 => with_text(tool(id, parent, "completed"), "one\ntwo"),
                2 => says(parent, "some *text*\nof two lines\n"),
                _ => tool(id, None, "failed"),
            });
            if is_shown {
                w.editor_moves();
                w.settle();
            }
        }
        w.ends_turn("end_turn");
        w.goes_on();
    }
}

/// The first agent sends an update of the sub-agent `c`, or of another session.
fn of(w: &mut World, session: &str, update: Value) {
    w.notifies(
        A1,
        "session/update",
        &json!({ "sessionId": session, "update": update }),
    );
}

/// An update about the sub-agent `c`, as its parent's session has it.
fn about(more: Value) -> Value {
    let mut update = json!({ "sessionUpdate": "subagent_update", "sessionId": "c" });
    for (key, value) in more.as_object().expect("an object") {
        update[key] = value.clone();
    }
    update
}

fn works(state: &str) -> Value {
    about(json!({ "state": { "state": state } }))
}

fn ended(reason: &str) -> Value {
    about(json!({ "state": { "state": "idle", "stopReason": reason } }))
}

/// A turn in which the sub-agent `c` works.
fn delegated() -> World {
    let mut w = World::ready();
    w.prompts("go");
    w.updates(about(json!({
        "title": "Look around", "description": "general", "capabilities": { "cancel": {} },
        "state": { "state": "running" },
    })));
    w.skip();
    w
}

fn lines(w: &World) -> Vec<String> {
    w.chat().lines().map(str::to_owned).collect()
}

#[test]
fn a_message_to_a_sub_agent_comes_in_parts() {
    let mut w = delegated();
    let message = json!({
        "sessionUpdate": "session_message", "messageId": "m",
        "senderSessionId": "s1", "recipientSessionId": "c",
    });
    let part = |text: &str| {
        json!({
            "sessionUpdate": "session_message_chunk", "messageId": "m",
            "content": { "type": "text", "text": text },
        })
    };
    let link = json!({
        "sessionUpdate": "session_message", "messageId": "m", "recipientMessageId": "r",
    });
    for session in ["s1", "c"] {
        of(&mut w, session, message.clone());
        of(&mut w, session, part("Where "));
        of(&mut w, session, link.clone());
        of(&mut w, session, part("is it?"));
    }
    let chat = w.chat();
    assert_eq!(chat.matches("❯ Where is it?").count(), 1, "{chat}");
    assert_eq!(chat.matches("is it?").count(), 1, "{chat}");
    assert!(!chat.contains("unknown"), "{chat}");
}

#[test]
fn a_sub_agents_session_is_a_call_of_the_session_that_started_it() {
    let mut w = delegated();
    // Each of the two sessions has its view of a message between them.
    let message = json!({
        "sessionUpdate": "session_message", "messageId": "m",
        "senderSessionId": "s1", "recipientSessionId": "c",
        "content": [{ "type": "text", "text": "Where is it?" }],
    });
    w.updates(message.clone());
    of(&mut w, "c", message.clone());
    // It is shown once.
    of(&mut w, "c", message);
    // The main agent's call has the same id.
    w.updates(tool("a", None, "in_progress"));
    of(&mut w, "c", says(None, "I look"));
    of(
        &mut w,
        "c",
        with_text(tool("a", Some("x"), "completed"), "found"),
    );
    // What concerns a chat only does not concern this one.
    let options = json!({ "sessionUpdate": "config_option_update", "configOptions": [
        { "id": "model", "name": "Model", "category": "model", "type": "select",
          "currentValue": "m", "options": [{ "value": "m", "name": "M" }] },
    ]});
    of(&mut w, "c", options);
    let title = json!({ "sessionUpdate": "session_info_update", "title": "Not this" });
    of(&mut w, "c", title);
    assert!(w.session(S1).options().shown().is_empty());
    assert_eq!(w.session(S1).title(), None);
    assert_eq!(
        lines(&w),
        [
            "❯ go",
            "",
            "◐ ◦ sub-agent  Look around  in progress · 1 call",
            "  general",
            "  ❯ Where is it?",
            "",
            "  I look",
            "",
            "  ✓ ◦ Do a  completed",
            "    found",
            "",
            "",
            "◐ ◦ Do a  in progress",
        ]
    );
    w.updates(json!({
        "sessionUpdate": "session_message", "messageId": "m:reply",
        "senderSessionId": "c", "recipientSessionId": "s1",
        "content": [{ "type": "text", "text": "I look" }],
    }));
    w.updates(ended("end_turn"));
    assert_eq!(
        lines(&w)[2],
        "✓ ◦ sub-agent  Look around  completed · 1 call"
    );
    assert_eq!(lines(&w).len(), 13);
    // It works once more, and fails.
    w.updates(works("running"));
    of(&mut w, "c", tool("b", None, "completed"));
    w.updates(about(json!({ "state": {
        "state": "idle", "stopReason": "error", "error": { "code": -32603, "message": "no model" },
    }})));
    w.updates(works("unknown"));
    assert_eq!(
        lines(&w)[13..],
        [
            "✗ ◦ sub-agent  Look around  failed · 1 call",
            "  no model",
            "  ✓ ◦ Do b  completed",
        ]
    );
}

#[test]
fn a_sub_agents_session_is_shown_below_its_call_when_their_session_is_loaded() {
    let mut w = World::new();
    w.abilities = json!({ "loadSession": true });
    w.holds(Part::Agents);
    w.reopens(1, "bot", "s1");
    w.agents_move();
    w.settle();
    let answer = w.usual_answer("initialize");
    w.answers(A1, "initialize", Ok(answer));
    w.updates(says(None, "Somebody looks."));
    w.updates(about(json!({
        "title": "Look around", "state": { "state": "running" },
    })));
    of(&mut w, "c", says(None, "I look"));
    of(&mut w, "c", tool("a", None, "completed"));
    w.updates(says(None, "They looked."));
    assert_eq!(lines(&w), [""; 0]);
    w.answers(A1, "session/load", Ok(Value::Null));
    // Claude Code says how its sub-agents have ended after it has loaded their session.
    w.updates(ended("end_turn"));
    assert_eq!(
        lines(&w),
        [
            "Somebody looks.",
            "",
            "✓ ◦ sub-agent  Look around  completed · 1 call",
            "  I look",
            "",
            "  ✓ ◦ Do a  completed",
            "",
            "",
            "They looked.",
        ]
    );
    let folds = w.editor.chats[&S1].folds.iter();
    assert_eq!(
        folds.map(|fold| (fold.0, fold.1)).collect::<Vec<_>>(),
        [(2, 7)]
    );
}

#[test]
fn a_sub_agents_sub_agent_is_shown_below_it() {
    let mut w = delegated();
    let nested = json!({
        "sessionUpdate": "subagent_update", "sessionId": "d", "description": "Dig deeper\nthere",
    });
    of(&mut w, "c", nested);
    of(&mut w, "d", tool("a", None, "in_progress"));
    assert_eq!(
        lines(&w)[2..],
        [
            "◐ ◦ sub-agent  Look around  in progress · 1 call, 1 running",
            "  general",
            "  ○ ◦ sub-agent  Dig deeper  pending · 1 call, 1 running",
            "    Dig deeper",
            "    there",
            "    ◐ ◦ Do a  in progress",
            "",
        ]
    );
    // No announcement hides a session that is open, or makes a sub-agent its own parent.
    of(&mut w, "d", works("running"));
    let own = json!({ "sessionUpdate": "subagent_update", "sessionId": "s1" });
    of(&mut w, "d", own.clone());
    w.updates(own);
    w.says("Hm.");
    assert_eq!(lines(&w).last().map(String::as_str), Some("Hm."));
}

#[test]
fn a_sub_agents_requests_belong_to_the_session_that_started_it() {
    let mut w = delegated();
    w.disk.put("/p/f", "one\n");
    let read = json!({ "sessionId": "c", "path": "/p/f" });
    w.asks("1", "fs/read_text_file", &read);
    assert_eq!(w.answer("1"), &Ok(json!({ "content": "one\n" })));
    let write = json!({ "sessionId": "c", "path": "/p/f", "content": "two\n" });
    w.asks("2", "fs/write_text_file", &write);
    assert_eq!(w.model.workspace.reviews().counts(S1), (1, 1));
    let question = json!({
        "sessionId": "c",
        "toolCall": { "toolCallId": "a", "title": "Do a" },
        "options": [{ "optionId": "yes", "name": "Allow", "kind": "allow_once" }],
    });
    w.asks("3", "session/request_permission", &question);
    let shown = w.editor.permission.as_ref().expect("a question");
    let shown: Vec<&str> = shown.lines.iter().map(|line| &*line.text).collect();
    assert_eq!(shown, ["sub-agent  Look around", "tool  Do a"]);
    assert_eq!(
        lines(&w)[2],
        "◐ ◦ sub-agent  Look around  in progress · 1 call, 1 running"
    );
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    assert_eq!(
        w.answer("3"),
        &Ok(json!({ "outcome": { "outcome": "cancelled" } }))
    );
}

#[test]
fn a_cancel_reaches_sub_agents_in_the_turn_and_after_it() {
    let cancel = |w: &mut World| w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    let mut w = delegated();
    cancel(&mut w);
    w.saw(&["a1 <- session/cancel s1", "a1 <- session/cancel c"]);
    assert_eq!(lines(&w)[2], "⊘ ◦ sub-agent  Look around  cancelled");
    w.ends_turn("cancelled");
    w.updates(ended("cancelled"));
    w.skip();
    cancel(&mut w);
    w.saw(&["Info: Nothing is running in this chat."]);

    let mut w = delegated();
    w.ends_turn("end_turn");
    w.skip();
    cancel(&mut w);
    w.saw(&["a1 <- session/cancel c"]);
    // One that the agent cannot cancel is left alone.
    w.updates(about(json!({ "capabilities": { "cancel": null } })));
    cancel(&mut w);
    w.saw(&["Info: Nothing is running in this chat."]);
}

#[test]
fn the_bar_counts_sub_agents_that_work_after_the_turn() {
    let mut w = delegated();
    assert_eq!(w.editor.titles[&S1], "bot · working");
    w.ends_turn("end_turn");
    assert_eq!(w.editor.titles[&S1], "bot · idle · 1 sub-agent working");
    w.updates(ended("end_turn"));
    assert_eq!(w.editor.titles[&S1], "bot · idle");
}

#[test]
fn what_sub_agents_change_after_the_turn_is_under_review_until_the_last_one_ends() {
    let changes = |w: &mut World, text: &str| {
        w.disk.put("/p/f", text);
        w.settle();
        w.model.workspace.reviews().counts(S1).1
    };
    for end in ["idle", "exit"] {
        let mut w = World::ready();
        w.disk.put("/p/f", "a\nb\nc\nd\ne\n");
        w.settle();
        w.prompts("go");
        w.updates(works("running"));
        w.ends_turn("end_turn");
        assert_eq!(changes(&mut w, "A\nb\nc\nd\ne\n"), 1);
        match end {
            "idle" => {
                w.updates(ended("end_turn"));
                w.rests();
            }
            _ => w.exits(A1, "code 1", &[]),
        }
        assert_eq!(changes(&mut w, "A\nb\nC\nd\ne\n"), 1, "{end}");
    }
}
