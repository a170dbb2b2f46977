//! Requests of tools' handlers: reads and writes of files, and questions to the user.

use serde_json::json;

use super::super::world::{S1, World};
use super::id;
use crate::event::{Event, SessionEvent, ToolEvent};
use crate::questions::Answer;
use crate::questions::elicitation::ElicitationAnswer;
use crate::spine::ids::QuestionId;
use crate::spine::tool::ToolAsk;

/// A world in which a call runs, in a project with a file.
fn running() -> World {
    let mut w = World::with_tools();
    w.disk.put("/p/f", "a\nb\nc\n");
    w.settle();
    w.uses(1, "look", json!({}));
    w.skip();
    w
}

fn read(path: &str) -> ToolAsk {
    ToolAsk::Read {
        path: path.into(),
        line: None,
        limit: None,
    }
}

fn write(path: &str, content: &str) -> ToolAsk {
    ToolAsk::Write {
        path: path.into(),
        content: content.into(),
    }
}

fn form(message: &str) -> ToolAsk {
    ToolAsk::Form {
        message: message.into(),
        schema: json!({ "properties": { "name": { "type": "string" } }, "x-importance": "high" }),
    }
}

#[test]
fn a_file_is_read_as_an_agent_reads_it() {
    let mut w = running();
    w.tool_asks(1, 1, read("f"));
    w.tool_asks(1, 2, read("/p/none"));
    w.tool_asks(1, 3, read("/etc/passwd"));
    w.opens_file("/p/f");
    w.tool_asks(
        1,
        4,
        ToolAsk::Read {
            path: "/p/f".into(),
            line: Some(2),
            limit: Some(1),
        },
    );
    w.saw(&[
        r#"tool 1 gets 1: {"content":"a\nb\nc\n"}"#,
        "tool 1 gets 2, not: Resource not found: /p/none",
        "tool 1 gets 3, not: params.path: /etc/passwd is outside the session's folders; the user \
         can allow it with the config key permissions.allowed_dirs",
        r#"tool 1 gets 4: {"content":"b\n"}"#,
    ]);
    w.tool_is_done(1, "");
}

#[test]
fn a_tools_write_is_reviewed_as_part_of_the_turn() {
    let mut w = running();
    w.tool_asks(1, 1, read("/p/f"));
    w.opens_file("/p/f");
    w.tool_asks(1, 2, write("/p/f", "a\nB\nc\n"));
    assert!(w.was_told("tool 1 gets 2: {}"), "{:?}", w.log);
    assert_eq!(w.buffer("/p/f"), "a\nB\nc\n");
    let review = w.model.workspace.reviews().get("/p/f".as_ref()).unwrap();
    assert_eq!(review.ledger.hunks().len(), 1);
    assert_eq!(review.turn_ledgers().count(), 1);
    w.tool_is_done(1, "");
}

#[test]
fn the_user_is_asked_in_the_tools_name() {
    let mut w = running();
    w.tool_asks(1, 1, form("What is it called?"));
    w.saw(&["question 1 of 1 asked"]);
    let view = w.editor.elicitation.as_ref().unwrap();
    assert_eq!(view.title, "bot asks you (high importance)");
    let head: Vec<&str> = view.head.iter().map(|line| &*line.text).collect();
    assert_eq!(head, ["tool  The look", "What is it called?"]);
    let answer = json!({ "name": "x" }).as_object().cloned().unwrap();
    let (id, answer) = (QuestionId(1), ElicitationAnswer::Accept(answer));
    w.happens(Event::Answer {
        id,
        answer: Answer::Elicitation(answer),
    });
    w.saw(&[
        r#"tool 1 gets 1: {"action":"accept","content":{"name":"x"}}"#,
        "question 1 of 1 answered: accept",
    ]);
    w.tool_is_done(1, "");
}

#[test]
fn requests_of_an_ended_call_are_refused() {
    for (how, end) in [
        (
            "done",
            Event::Tool(ToolEvent::Done {
                id: id(1),
                result: crate::spine::tool::ToolResult::text("so"),
            }),
        ),
        ("given up", Event::Tool(ToolEvent::GivenUp { id: id(1) })),
        (
            "cancelled",
            Event::Session(SessionEvent::Cancel { session: S1 }),
        ),
    ] {
        let mut w = running();
        w.holds(super::super::world::Part::Disk);
        w.tool_asks(1, 1, form("?"));
        w.tool_asks(1, 2, read("/p/f"));
        w.tool_asks(1, 3, write("/p/f", "x\n"));
        w.happens(end);
        assert!(w.editor.elicitation.is_none(), "{how}");
        assert!(
            w.was_told("question 1 of 1 answered: -"),
            "{how}: {:?}",
            w.log
        );
        w.skip();
        w.tool_asks(1, 4, read("/p/f"));
        w.saw(&["tool 1 gets 4, not: cancelled"]);
        w.goes_on();
        w.saw(&[]);
        assert_eq!(w.disk.get("/p/f").unwrap(), "a\nb\nc\n", "{how}");
    }
}
