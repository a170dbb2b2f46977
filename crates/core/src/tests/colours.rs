//! Code is highlighted in the background: text is shown at once, and highlighted later.

use serde_json::{Value, json};

use super::world::{Part, S1, World};
use crate::code::Code;
use crate::event::{Event, SessionEvent, ViewEvent};

const CODE: &str = "```rs\nfn a() {}\n```";

/// A world in which an agent has sent code, and nothing is highlighted.
fn waiting(act: impl FnOnce(&mut World)) -> World {
    let mut w = World::ready();
    w.prompts("go");
    w.holds(Part::Colours);
    act(&mut w);
    assert_eq!(w.to_highlight.len(), 1);
    // Nothing runs while the highlights are pending.
    assert!(!w.model.view.is_composing() && w.to_editor.is_empty());
    w
}

fn tool(text: &str) -> Value {
    let text = json!({ "type": "text", "text": text });
    json!({
        "sessionUpdate": "tool_call_update",
        "toolCallId": "t",
        "content": [{ "type": "content", "content": text }],
    })
}

/// Returns the number of spans of the line `fn a() {}` in the chat.
fn spans(w: &World) -> usize {
    let mut lines = w.editor.chats[&S1].lines.iter();
    let code = lines.find(|line| line.text.trim() == "fn a() {}");
    code.map_or(0, |line| line.spans.len())
}

fn check(mut w: World) {
    assert!(w.chat().contains("fn a() {}"));
    assert_eq!(spans(&w), 0);
    w.goes_on();
    assert_eq!(spans(&w), 2);
    w.ends_turn("end_turn");
}

#[test]
fn a_messages_code_is_shown_before_its_colours() {
    check(waiting(|w| w.says(CODE)));
}

#[test]
fn a_tool_calls_code_is_shown_before_its_colours() {
    check(waiting(|w| w.updates(tool(CODE))));
}

#[test]
fn a_permissions_code_is_shown_before_its_colours() {
    let spans = |w: &World| {
        let view = w.editor.permission.as_ref().expect("a permission");
        let mut lines = view.lines.iter();
        let code = lines.find(|line| line.text == "fn a() {}");
        code.expect("the code").spans.len()
    };
    let mut w = waiting(|w| {
        w.updates(tool(CODE));
        let option = json!({ "optionId": "yes", "name": "Allow", "kind": "allow_once" });
        let tool = json!({ "toolCallId": "t" });
        let asked = json!({ "sessionId": "s1", "toolCall": tool, "options": [option] });
        w.asks("7", "session/request_permission", &asked);
    });
    assert_eq!(spans(&w), 0);
    w.goes_on();
    assert_eq!(spans(&w), 2);
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    w.ends_turn("cancelled");
}

#[test]
fn code_stays_plain_if_highlighting_fails() {
    let mut w = waiting(|w| w.says(CODE));
    w.editor.sees = Some(0..10);
    let (token, _) = w.to_highlight.pop_front().expect("what was asked for");
    let result = None;
    w.happens(Event::View(ViewEvent::Highlighted { token, result }));
    w.says("\n\nAnd on.");
    assert!(w.chat().ends_with("```\n\nAnd on."), "{}", w.chat());
    assert_eq!(spans(&w), 0);
    assert!(w.to_highlight.is_empty());
    w.ends_turn("end_turn");
}

/// A chat of which a window shows only the rows that the test names.
#[test]
fn code_far_from_the_screen_is_never_highlighted() {
    let mut w = World::ready();
    w.editor.sees = Some(0..10);
    w.prompts("go");
    let text = "text\n\n".repeat(50);
    w.says(&format!("{CODE}\n\n{text}\n{CODE}\n"));
    let lit = |w: &World| -> Vec<usize> {
        let lines = w.editor.chats[&S1].lines.iter().enumerate();
        lines
            .filter(|(_, line)| line.text == "fn a() {}" && !line.spans.is_empty())
            .map(|(row, _)| row)
            .collect()
    };
    let first = lit(&w);
    assert_eq!(first.len(), 1);
    // Near enough: a window's height below it.
    w.happens(Event::View(ViewEvent::ChatSeen {
        session: S1,
        rows: 90..100,
    }));
    assert_eq!(lit(&w).len(), 2, "{:?}", lit(&w));
    w.ends_turn("end_turn");
}

#[test]
fn what_a_window_shows_is_highlighted_before_what_is_near() {
    let mut w = World::ready();
    w.holds(Part::Colours);
    w.editor.sees = Some(6..10);
    w.prompts("go");
    w.says(&format!("{CODE}\n\n\n```lua\nlocal a\n```\n"));
    let (_, code) = w.to_highlight.front().expect("what was asked for");
    let Code::Lines(lines) = code else {
        panic!("{code:?}");
    };
    assert_eq!(lines.text, "local a\n");
    w.goes_on();
    assert_eq!(spans(&w), 2);
    w.ends_turn("end_turn");
}

/// Each version of the text takes more than one slice.
#[test]
fn a_tool_calls_long_text_is_shown_as_it_changes() {
    let text = |start: &str, count: usize| {
        let line = "let value = compute(1, \"text\");\n";
        format!("{start}\n```rs\n{}", line.repeat(count))
    };
    let mut w = World::ready();
    w.prompts("go");
    for (start, count) in [("*a*", 50), ("*a*", 90), ("*b*", 70)] {
        w.updates(tool(&text(start, count)));
        assert_eq!(w.chat().matches("let value").count(), count);
        assert!(w.chat().contains(start));
    }
    w.ends_turn("end_turn");
}
