//! A call that arrives here and the agent's announcement of it are shown as one entry.

use serde_json::{Value, json};

use super::super::world::{S1, World};
use super::{Story, id};
use crate::conversation::transcript::Entry;
use crate::event::{Event, ToolEvent};
use crate::questions::Answer;
use crate::spine::ids::QuestionId;
use acp::ToolCallId;

impl World {
    fn announces(&mut self, id: &str, title: &str, input: Value) {
        self.updates(json!({
            "sessionUpdate": "tool_call", "toolCallId": id, "title": title,
            "kind": "other", "status": "pending", "rawInput": input,
        }));
    }

    fn says_of(&mut self, id: &str, status: &str) {
        let text = json!({ "type": "text", "text": "as the agent has it" });
        self.updates(json!({
            "sessionUpdate": "tool_call_update", "toolCallId": id, "status": status,
            "title": "mcp__neovim__look", "content": [{ "type": "content", "content": text }],
        }));
    }

    /// Returns the tool calls of the chat: title, status, input.
    fn entries(&self) -> Vec<String> {
        let entries = self.session(S1).transcript().entries().iter();
        let tools = entries.filter_map(|entry| match entry {
            Entry::Tool(tool) => Some(tool),
            _ => None,
        });
        let shown = tools.map(|tool| {
            let input = tool.raw_input.as_ref().map(Value::to_string);
            format!(
                "{} {:?} {}",
                tool.title,
                tool.status,
                input.unwrap_or_default()
            )
        });
        shown.collect()
    }
}

const TITLE: &str = "mcp__neovim__look";

#[test]
fn a_call_and_its_announcement_are_one_entry_in_any_order() {
    let a = || json!({ "a": 1 });
    let orders: [Story; 6] = [
        ("announced", |w| {
            w.announces("t", TITLE, json!({ "a": 1 }));
            w.begins(1, "look");
            w.uses(1, "look", json!({ "a": 1 }));
        }),
        ("announced without its input", |w| {
            w.announces("t", TITLE, json!({}));
            w.uses(1, "look", json!({ "a": 1 }));
        }),
        ("begun", |w| {
            w.begins(1, "look");
            w.announces("t", TITLE, json!({}));
            w.uses(1, "look", json!({ "a": 1 }));
        }),
        ("used", |w| {
            w.uses(1, "look", json!({ "a": 1 }));
            w.announces("t", TITLE, json!({ "a": 1 }));
        }),
        ("used and not told", |w| {
            w.uses(1, "look", json!({ "a": 1 }));
            w.announces("t", "look (neovim MCP Server)", json!({}));
        }),
        ("asked about", |w| {
            w.uses(1, "look", json!({ "a": 1 }));
            let tool = json!({ "toolCallId": "t", "title": TITLE, "rawInput": { "a": 1 } });
            let options = json!([{ "optionId": "y", "name": "Y", "kind": "allow_once" }]);
            let asked = json!({ "sessionId": "s1", "toolCall": tool, "options": options });
            w.asks("7", "session/request_permission", &asked);
            w.happens(Event::Answer {
                id: QuestionId(1),
                answer: Answer::Option("y".into()),
            });
        }),
    ];
    for (order, happens) in orders {
        let mut w = World::with_tools();
        happens(&mut w);
        let input = a();
        assert_eq!(
            w.entries(),
            [format!("The look InProgress {input}")],
            "{order}"
        );
        w.tool_is_done(1, "seen");
        w.says_of("t", "completed");
        assert_eq!(
            w.entries(),
            [format!("The look Completed {input}")],
            "{order}"
        );
        assert!(
            w.chat().contains("completed\n  a: 1\n  seen"),
            "{order}\n{}",
            w.chat()
        );
        // A status never goes back.
        w.says_of("t", "in_progress");
        assert_eq!(
            w.entries(),
            [format!("The look Completed {input}")],
            "{order}"
        );
    }
}

#[test]
fn a_completed_call_is_matched_with_a_later_announcement() {
    let mut w = World::with_tools();
    w.uses(1, "look", json!({ "a": 1 }));
    w.tool_is_done(1, "seen");
    w.announces("t", TITLE, json!({ "a": 1 }));
    assert_eq!(w.entries(), [r#"The look Completed {"a":1}"#]);
    // An announcement in another turn is another call's.
    w.ends_turn("end_turn");
    w.uses(2, "look", json!({ "a": 2 }));
    w.tool_is_done(2, "seen");
    w.prompts("and");
    w.ends_turn("end_turn");
    w.announces("t2", TITLE, json!({ "a": 2 }));
    assert_eq!(w.entries().len(), 3);
}

#[test]
fn calls_of_one_tool_match_their_own_announcements() {
    let mut w = World::with_tools();
    for (id, a) in [("t1", 1), ("t2", 2), ("t3", 2)] {
        w.announces(id, TITLE, json!({ "a": a }));
    }
    for (number, a) in [(1, 2), (2, 2), (3, 1), (4, 1)] {
        w.begins(number, "look");
        w.uses(number, "look", json!({ "a": a }));
    }
    w.tool_is_done(1, "one");
    w.tool_is_done(3, "three");
    assert_eq!(
        w.entries(),
        [
            r#"The look Completed {"a":1}"#,
            r#"The look Completed {"a":2}"#,
            r#"The look InProgress {"a":2}"#,
            r#"The look InProgress {"a":1}"#,
        ]
    );
}

#[test]
fn different_calls_stay_separate_entries() {
    for (title, input) in [
        (TITLE, json!({ "a": 2 })),
        ("mcp__neovim__change", json!({ "a": 1 })),
        ("mcp__other__look", json!({ "a": 1 })),
        ("Look around", json!({ "a": 1 })),
    ] {
        for first in [true, false] {
            let mut w = World::with_tools();
            if first {
                w.announces("t", title, input.clone());
            }
            w.uses(1, "look", json!({ "a": 1 }));
            if !first {
                w.announces("t", title, input.clone());
            }
            assert_eq!(w.entries().len(), 2, "{title} {input}");
        }
    }
}

#[test]
fn a_contradicting_announcement_is_shown() {
    let mut w = World::with_tools();
    w.announces("t", TITLE, json!({}));
    w.uses(1, "look", json!({}));
    let tool = json!({ "toolCallId": "t", "title": "rm", "rawInput": { "command": "rm -rf /" } });
    let options = json!([{ "optionId": "y", "name": "Y", "kind": "allow_once" }]);
    let asked = json!({ "sessionId": "s1", "toolCall": tool, "options": options });
    w.asks("7", "session/request_permission", &asked);
    let view = w.editor.permission.as_ref().unwrap();
    assert!(view.lines.iter().any(|line| line.text.contains("rm -rf /")));
}

/// The agent asks for permission before it makes the call; the user gives this answer.
fn asks_first(w: &mut World, tool: &str, input: &Value, option: &str) {
    let tool = json!({ "toolCallId": tool, "title": "mcp__neovim__change", "rawInput": input });
    let options = json!([
        { "optionId": "y", "name": "Y", "kind": "allow_once" },
        { "optionId": "n", "name": "N", "kind": "reject_once" },
    ]);
    let asked = json!({ "sessionId": "s1", "toolCall": tool, "options": options });
    w.asks("7", "session/request_permission", &asked);
    let id = w.model.questions.iter().next().unwrap().id;
    let option = option.into();
    w.happens(Event::Answer {
        id,
        answer: Answer::Option(option),
    });
    w.skip();
}

#[test]
fn allowing_the_agents_request_does_not_allow_the_tool() {
    let mut w = World::with_tools();
    asks_first(&mut w, "t", &json!({ "a": 1 }), "y");
    w.uses(1, "change", json!({ "a": 1 }));
    w.saw(&["permission 2 of 1 requested"]);
}

#[test]
fn an_agents_update_does_not_overwrite_a_call() {
    let mut w = World::with_tools();
    w.uses(1, "look", json!({ "a": 1 }));
    w.skip();
    w.updates(json!({
        "sessionUpdate": "tool_call_update", "toolCallId": "neovim/1", "title": "Harmless",
        "rawInput": { "a": 2 },
    }));
    let tool = |id: &str| {
        let transcript = w.session(S1).transcript();
        transcript
            .find_tool(&ToolCallId(id.into()))
            .unwrap()
            .title
            .clone()
    };
    assert_eq!(&*tool("neovim/1"), "The look");
    assert_eq!(&*tool("agent:neovim/1"), "Harmless");
    w.happens(Event::Tool(ToolEvent::GivenUp { id: id(1) }));
}

#[test]
fn updates_of_the_announced_call_apply_to_the_entry() {
    let mut w = World::with_tools();
    w.uses(1, "look", json!({}));
    w.announces("t", TITLE, json!({}));
    w.updates(json!({
        "sessionUpdate": "tool_call", "toolCallId": "child", "title": "Below",
        "_meta": { "claudeCode": { "parentToolUseId": "t" } },
    }));
    let transcript = w.session(S1).transcript();
    assert_eq!(transcript.family().parent(2), Some(1));
    w.happens(Event::Tool(ToolEvent::GivenUp { id: id(1) }));
}
