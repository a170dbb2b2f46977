//! Frames that take several slices, and events between two slices.

use serde_json::{Value, json};

use super::world::{Part, S1, World};
use crate::event::{Event, SessionEvent};

/// Code that takes more than one slice of a frame.
fn long_code() -> String {
    let line = "    let value = compute(1, \"text\"); // a comment\n";
    format!("```rust\n{}```\n", line.repeat(1000))
}

/// A world in the middle of a frame: `before` is on the screen, and only the beginning of a long
/// message is rendered.
fn amid_frame(before: &[Value]) -> World {
    let mut w = World::ready();
    w.prompts("go");
    for update in before {
        w.updates(update.clone());
    }
    w.holds(Part::Frames);
    w.says(&long_code());
    assert!(w.model.view.is_composing());
    w
}

/// Checks that the long message is on the screen in the end, below `above`; the world checks the
/// rest.
#[track_caller]
fn check_end(mut w: World, above: &str) {
    assert!(w.model.view.is_composing());
    w.goes_on();
    assert_eq!(
        w.chat(),
        format!("❯ go\n\n{above}{}", long_code().trim_end())
    );
    w.ends_turn("end_turn");
}

#[test]
fn a_read_is_answered_during_a_frame() {
    let mut w = World::ready();
    w.disk.put("/p/f", "one\n");
    w.opens_file("/p/f");
    w.prompts("go");
    w.holds(Part::Frames);
    w.says(&long_code());
    let params = json!({ "sessionId": "s1", "path": "/p/f" });
    w.asks("7", "fs/read_text_file", &params);
    assert_eq!(*w.answer("7"), Ok(json!({ "content": "one\n" })));
    check_end(w, "");
}

#[test]
fn a_chat_emptied_during_a_frame_is_rendered_again() {
    let mut w = amid_frame(&[]);
    w.edits(|editor, _, out| editor.empties(S1, out));
    check_end(w, "");
}

#[test]
fn a_change_above_during_a_frame_moves_the_lines_below() {
    let tool = |more: Value| {
        let mut update = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "t" });
        let fields = update.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        update
    };
    let thought = json!({
        "sessionUpdate": "agent_thought_chunk", "content": { "type": "text", "text": "hm" },
    });
    let mut w = amid_frame(&[tool(json!({ "title": "Look" })), thought]);
    let text = json!([{ "type": "content", "content": { "type": "text", "text": "a\nb" } }]);
    w.updates(tool(json!({ "content": text, "status": "completed" })));
    check_end(
        w,
        "✓ ◦ Look  completed\n  a\n  b\n\n\n∴ Thought\n  hm\n\n\n",
    );
}

#[test]
fn closing_a_session_during_a_frame_drops_its_lines() {
    let mut w = amid_frame(&[]);
    w.happens(Event::Session(SessionEvent::Close { session: S1 }));
    w.goes_on();
    assert!(!w.model.view.is_composing());
}
