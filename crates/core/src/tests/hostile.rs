//! Any text in any field of the protocol: what a view shows on a line is one line, with nothing
//! hidden, and a question can be answered.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::screen::check_line;
use super::world::World;
use crate::event::{Event, ViewEvent};
use crate::questions::formview::{Draft, render};
use crate::spine::event::ListEvent;
use crate::spine::view::{HunkView, Line, PlanView, QueueView};

/// Texts that a line must not hold as they are.
const ODD: [&str; 8] = [
    "a\nb",
    "\n\n\n",
    "nul\0nul",
    "\x1b[31mred\x1b[0m\x1b]0;t\x07",
    "\u{202e}drow",
    "zero\u{200b}width\u{feff}",
    "cr\r\nlf\r",
    "\u{9b}2J\u{2028}\u{e0041}",
];

/// Returns messages in which `odd` stands in every field that has text for the user.
fn updates(odd: &str) -> Vec<Value> {
    let text = json!({ "type": "text", "text": odd });
    let path = format!("/p/{odd}");
    vec![
        json!({ "sessionUpdate": "session_info_update", "title": odd }),
        json!({ "sessionUpdate": "agent_message_chunk", "content": text }),
        json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": format!("```rs\nfn {odd}\n```\n**{odd}** | {odd}") } }),
        json!({ "sessionUpdate": "agent_thought_chunk", "content": text }),
        json!({ "sessionUpdate": "user_message_chunk", "content": text }),
        json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "image", "data": "", "mimeType": odd, "uri": odd } }),
        json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "resource_link", "uri": odd, "name": odd } }),
        json!({ "sessionUpdate": "plan", "entries": [
            { "content": odd, "priority": "high", "status": "in_progress" },
            { "content": odd, "priority": "low", "status": "pending" },
        ] }),
        json!({ "sessionUpdate": "available_commands_update", "availableCommands": [{ "name": odd, "description": odd, "input": { "hint": odd } }] }),
        json!({ "sessionUpdate": "current_mode_update", "currentModeId": odd }),
        json!({ "sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": { "amount": 1.5, "currency": odd } }),
        json!({ "sessionUpdate": "notice", "severity": "error", "title": odd, "message": odd, "content": text }),
        json!({ "sessionUpdate": odd, "title": odd }),
        json!({ "sessionUpdate": "tool_call", "toolCallId": "t", "title": odd, "kind": odd, "status": "in_progress",
            "rawInput": { "command": odd, odd: odd }, "rawOutput": { "stdout": odd },
            "locations": [{ "path": path }, { "path": "/q" }, { "path": path, "line": 3 }],
            "content": [
                { "type": "content", "content": text },
                { "type": "diff", "path": path, "oldText": odd, "newText": format!("{odd} new") },
                { "type": "terminal", "terminalId": odd },
                { "type": odd, "x": odd },
            ] }),
        json!({ "sessionUpdate": "tool_call_update", "toolCallId": odd, "title": odd, "rawOutput": odd,
            "_meta": { "terminal_info": { "terminal_id": odd, "cwd": odd }, "terminal_output": { "terminal_id": odd, "data": odd } } }),
    ]
}

fn permission(odd: &str, shape: usize) -> Value {
    let call = match shape % 3 {
        0 => {
            json!({ "toolCallId": "p", "title": odd, "kind": "execute", "rawInput": { "command": odd } })
        }
        1 => {
            json!({ "toolCallId": "p", "title": odd, "kind": odd, "locations": [{ "path": odd }], "rawInput": { odd: odd } })
        }
        _ => json!({ "toolCallId": "p", "title": odd, "kind": "edit", "content": [
            { "type": "diff", "path": format!("/p/{odd}"), "oldText": odd, "newText": "b" },
            { "type": "content", "content": { "type": "text", "text": odd } },
        ] }),
    };
    json!({
        "sessionId": "s1",
        "toolCall": call,
        "options": [
            { "optionId": odd, "name": odd, "kind": "allow_once" },
            { "optionId": "no", "name": format!("No{odd}"), "kind": "reject_once" },
            { "optionId": "odd", "name": odd, "kind": odd },
        ],
    })
}

fn form(odd: &str) -> Value {
    json!({
        "sessionId": "s1",
        "mode": "form",
        "message": odd,
        "requestedSchema": { "type": "object", "title": odd, "description": odd, "properties": {
            odd: { "type": "string", "title": odd, "description": odd, "default": odd },
            "pick": { "type": "string", "title": odd, "oneOf": [{ "const": odd, "title": odd }, { "const": "b", "title": odd }] },
            "flag": { "type": "boolean", "title": odd, "description": odd },
            "what": { "type": odd, "title": odd },
        } },
    })
}

/// Checks a text that one line of the screen shows.
#[track_caller]
fn check_text(text: &str) {
    let is_odd =
        |c: char| c != '\t' && c.is_control() || "\u{202e}\u{200b}\u{feff}\u{2028}".contains(c);
    assert!(!text.contains(is_odd), "{text:?}");
}

#[track_caller]
fn check_lines<'a>(lines: impl IntoIterator<Item = &'a Line>) {
    for line in lines {
        check_text(&line.text);
        check_line(line);
    }
}

/// Checks everything on the screen.
fn check_screen(w: &World) {
    let editor = &w.editor;
    check_lines(editor.chats.values().flat_map(|chat| &chat.lines));
    for text in editor
        .titles
        .values()
        .chain(editor.attached.values().flatten())
    {
        check_text(text);
    }
    let plans = editor.plans.values().map(|PlanView { lines, .. }| lines);
    let queues = editor.queues.values().map(|QueueView { lines, .. }| lines);
    check_lines(plans.chain(queues).flatten());
    check_lines(editor.list.lines.iter().chain(&editor.preview.lines));
    assert_eq!(editor.list.lines.len(), editor.list.items.len());
    check_text(&editor.preview.title);
    for (text, _) in &editor.list.title {
        check_text(text);
    }
    for HunkView {
        removed, proposed, ..
    } in editor.hunks.values().flatten()
    {
        check_lines(removed);
        check_text(proposed.as_ref().map_or("", |proposed| &proposed.label));
    }
    let marks = editor.follows.values().flatten();
    for mark in marks.filter_map(|view| view.mark.as_ref()) {
        check_text(&mark.label);
    }
    if let Some(view) = &editor.permission {
        check_text(&view.title);
        check_lines(&view.lines);
        view.options
            .iter()
            .for_each(|option| check_text(&option.name));
    }
    if let Some(view) = &editor.elicitation {
        check_text(&view.title);
        check_lines(&view.head);
        let draft = Draft::of(&view.ask);
        let (lines, rows) = render(view, &draft, |_| "k".to_owned());
        assert_eq!(lines.len(), rows.len());
        check_lines(&lines);
    }
}

/// Shows a text in every view, and checks each.
fn live(odd: &str) {
    let mut w = World::ready();
    w.disk.put("/p/a", "1\n2\n");
    w.disk.put(&format!("/p/{odd}"), "1\n2\n");
    w.happens(Event::View(ViewEvent::List(ListEvent::Opened {
        cwd: "/p".into(),
    })));
    w.prompts(odd);
    w.prompts(odd);
    for (id, path) in [(0, "/p/a".to_owned()), (1, format!("/p/{odd}"))] {
        let params = json!({ "sessionId": "s1", "path": path, "content": format!("1\n{odd}\n") });
        w.asks(&id.to_string(), "fs/write_text_file", &params);
    }
    for update in updates(odd) {
        w.updates(update);
        check_screen(&w);
    }
    for row in 0..w.editor.list.lines.len() {
        let key = w.editor.list.items[row].as_ref().map(|item| item.key);
        w.happens(Event::View(ViewEvent::List(ListEvent::At { item: key })));
        check_screen(&w);
    }
    for shape in 0..3 {
        let id = (shape + 2).to_string();
        w.asks(&id, "session/request_permission", &permission(odd, shape));
        check_screen(&w);
        let view = w.editor.permission.clone().expect("the question is shown");
        assert_eq!(view.options.len(), 3);
        w.notifies(
            super::world::A1,
            "$/cancel_request",
            &json!({ "requestId": shape + 2 }),
        );
    }
    w.asks("5", "elicitation/create", &form(odd));
    check_screen(&w);
    assert!(w.editor.elicitation.is_some(), "{:?}", w.log);
    w.skip();
}

#[test]
fn each_line_of_each_view_is_one_line_whatever_an_agent_sends() {
    ODD.into_iter().for_each(live);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_text_anywhere_is_shown(
        text in "[a-z \\n\\r\\x00\\x1b\\x07\\u{9b}\\u{202e}\\u{200b}\\u{200d}é😀`*|#>\\[-]{0,24}",
    ) {
        live(&text);
    }
}
