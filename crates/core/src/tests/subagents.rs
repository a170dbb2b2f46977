//! Entries of sub-agents, and their place in the transcript.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::world::{Part, S1, World};
use crate::event::{Event, ViewEvent};
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
    let before = w.editor.chats.remove(&S1);
    w.happens(Event::View(ViewEvent::ChatEmpty { session: S1 }));
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
