//! The review list, as the core renders it.

use super::world::{A1, World};
use crate::core::event::{Event, ListEvent, ReviewAction};
use crate::core::ids::AgentKey;
use crate::core::view::ListView;
use serde_json::json;

/// Returns the list as it is on the screen: each line's text.
fn shown(w: &World) -> Vec<String> {
    let view: &ListView = &w.editor.list;
    view.lines.iter().map(|line| line.text.clone()).collect()
}

fn lists(w: &mut World, event: ListEvent) {
    w.happens(Event::List(event));
}

fn opens(w: &mut World) {
    lists(w, ListEvent::Opened { cwd: "/p".into() });
}

fn writes(w: &mut World, path: &str, content: &str) {
    let id = w.agents[&A1].answers.len().to_string();
    let params = json!({ "sessionId": "s1", "path": path, "content": content });
    w.asks(&id, "fs/write_text_file", &params);
}

fn decides(w: &mut World, action: ReviewAction, rows: std::ops::Range<usize>) {
    let items = w.editor.list.items[rows].iter().flatten();
    let items = items.map(|item| item.key).collect();
    lists(w, ListEvent::Decide { action, items });
}

/// Two files: one with three hunks, a new one.
fn listed() -> World {
    let mut w = World::ready();
    w.disk.put("/p/a", "1\n2\n3\n4\n5\n6\n");
    writes(&mut w, "/p/a", "one\n2\nthree\n4\n6\n");
    writes(&mut w, "/p/sub/new", "\n  text\n");
    w.skip();
    opens(&mut w);
    w
}

const LISTED: [&str; 6] = [
    "a +2 -3",
    "      1 ~ one",
    "      3 ~ three",
    "      5 - 5",
    "sub/new +2  created",
    "      1 + text",
];

#[test]
fn every_file_and_hunk_has_a_line() {
    let w = listed();
    assert_eq!(shown(&w), LISTED);
}

#[test]
fn a_closed_list_is_not_rendered() {
    let mut w = listed();
    lists(&mut w, ListEvent::Closed);
    let frames = w.editor.lists;
    writes(&mut w, "/p/a", "other\n");
    assert_eq!(w.editor.lists, frames);
    w.skip();
}

#[test]
fn the_list_follows_what_changes() {
    let mut w = listed();
    writes(&mut w, "/p/a", "1\n2\n3\n4\n5\n6\nseven\n");
    assert_eq!(shown(&w)[..2], ["a +1", "      7 + seven"]);
    w.skip();
}

#[test]
fn hunks_that_follow_each_other_are_decided_as_one() {
    let mut w = listed();
    decides(&mut w, ReviewAction::Reject, 2..4);
    assert_eq!(w.disk.get("/p/a").unwrap(), "one\n2\n3\n4\n5\n6\n");
    assert_eq!(shown(&w)[..2], ["a +1 -1", "      1 ~ one"]);
    decides(&mut w, ReviewAction::Accept, 1..4);
    assert_eq!(shown(&w)[0], "No change of the agent's to review.");
    assert!(w.disk.get("/p/sub/new").is_some());
    w.skip();
}

#[test]
fn a_line_that_is_old_decides_nothing() {
    let mut w = listed();
    let items = vec![w.editor.list.items[1].as_ref().unwrap().key];
    writes(&mut w, "/p/a", "another\n2\n3\n4\n5\n6\n");
    w.skip();
    let action = ReviewAction::Reject;
    lists(&mut w, ListEvent::Decide { action, items });
    w.saw(&["Info: That has changed meanwhile: the list shows what is there now."]);
    assert_eq!(w.disk.get("/p/a").unwrap(), "another\n2\n3\n4\n5\n6\n");
}

#[test]
fn several_sessions_have_headings() {
    let mut w = listed();
    w.opens(2, "other");
    let params = json!({ "sessionId": "s2", "path": "/p/b", "content": "b\n" });
    let call =
        json!({ "jsonrpc": "2.0", "id": 9, "method": "fs/write_text_file", "params": params });
    w.prints(AgentKey(2), &call.to_string());
    let lines = shown(&w);
    assert_eq!(lines[0], "bot");
    assert_eq!(lines[7..], ["", "other", "b +1  created", "      1 + b"]);
    w.skip();
}

#[test]
fn the_preview_shows_what_is_under_the_cursor() {
    let mut w = listed();
    let item = w.editor.list.items[2].as_ref().map(|item| item.key);
    lists(&mut w, ListEvent::At { item });
    let preview = |w: &World| -> Vec<String> {
        let lines = w.editor.preview.lines.iter();
        lines.map(|line| line.text.clone()).collect()
    };
    assert_eq!(w.editor.preview.title, "a:3");
    assert_eq!(
        preview(&w),
        ["  one", "  2", "- 3", "+ three", "  4", "  6"]
    );
    let item = w.editor.list.items[4].as_ref().map(|item| item.key);
    lists(&mut w, ListEvent::At { item });
    let made = "The agent has made this file: rejecting all of it deletes it.";
    assert_eq!(preview(&w), [made, "+ ", "+   text"]);
}

#[test]
fn the_last_decision_is_taken_back() {
    let mut w = listed();
    decides(&mut w, ReviewAction::Accept, 1..2);
    decides(&mut w, ReviewAction::Reject, 1..3);
    assert_eq!(w.disk.get("/p/a").unwrap(), "one\n2\n3\n4\n5\n6\n");
    assert_eq!(shown(&w)[..1], LISTED[4..5]);
    decides(&mut w, ReviewAction::Reject, 0..1);
    assert_eq!(w.disk.get("/p/sub/new"), None);
    lists(&mut w, ListEvent::Undo);
    assert_eq!(w.disk.get("/p/sub/new").unwrap(), "\n  text\n");
    lists(&mut w, ListEvent::Undo);
    assert_eq!(shown(&w)[1..], LISTED[2..]);
    lists(&mut w, ListEvent::Undo);
    assert_eq!(shown(&w), LISTED);
    w.skip();
    lists(&mut w, ListEvent::Undo);
    w.saw(&["Info: There is no decision to take back."]);
}
