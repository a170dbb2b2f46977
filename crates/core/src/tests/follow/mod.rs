//! Agents' positions in files, and the places that a following editor visits.

mod marks;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::world::{S1, World};
use crate::event::{Event, ViewEvent};
use crate::questions::Answer;
use crate::spine::view::Follow;

const F: &str = "/p/f";
const TEN: &str = "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n";

/// A world in which a turn runs and its agent is followed; one file is in a buffer.
fn followed(mode: Follow) -> World {
    let mut w = World::ready();
    w.disk.put(F, TEN);
    w.disk.put("/p/g", TEN);
    w.opens_file(F);
    follows(&mut w, mode);
    w.prompts("go");
    w.skip();
    w.editor.follows.clear();
    w
}

fn follows(w: &mut World, mode: Follow) {
    let (session, to) = (S1, Some(mode));
    w.happens(Event::View(ViewEvent::Follow { session, to }));
}

/// Returns the places the editor was sent to, each once, with 1-based lines.
fn went(w: &World) -> Vec<String> {
    let mut known = BTreeSet::new();
    let views = w.editor.follows.get(&S1).into_iter().flatten();
    let targets = views.filter_map(|view| view.target.as_ref());
    let targets = targets.filter(|target| known.insert(target.number));
    targets
        .map(|target| match target.row {
            Some(row) => format!("{}:{}", target.path.display(), row + 1),
            None => target.path.display().to_string(),
        })
        .collect()
}

/// Returns the current mark: row and label.
fn mark(w: &World) -> Option<(usize, &str)> {
    let mark = w.editor.follows.get(&S1)?.last()?.mark.as_ref()?;
    Some((mark.row, &mark.label))
}

fn call(w: &mut World, call: Value) {
    let mut update = json!({ "sessionUpdate": "tool_call_update" });
    for (key, value) in call.as_object().unwrap() {
        update[key] = value.clone();
    }
    w.updates(update);
}

fn named(w: &mut World, id: &str, kind: &str, locations: Value) {
    call(
        w,
        json!({ "toolCallId": id, "kind": kind, "locations": locations }),
    );
}

fn at(path: &str, line: u32) -> Value {
    json!({ "path": path, "line": line })
}

#[track_caller]
fn check(story: impl FnOnce(&mut World), want: &[&str]) {
    let mut w = followed(Follow::On);
    story(&mut w);
    assert_eq!(went(&w), want);
}

#[test]
fn only_new_locations_are_places() {
    check(|w| named(w, "t", "read", json!([at(F, 3)])), &["/p/f:3"]);
    // A location that arrives with an update.
    check(
        |w| {
            call(w, json!({ "toolCallId": "t", "title": "Read" }));
            named(w, "t", "read", json!([at(F, 3)]));
        },
        &["/p/f:3"],
    );
    // The last of several; locations already sent do not count again.
    check(
        |w| {
            named(w, "t", "read", json!([at(F, 3), at("/p/g", 5)]));
            named(w, "t", "read", json!([at(F, 3), at(F, 7), at("/p/g", 5)]));
            named(w, "t", "read", json!([at(F, 3), at("/p/g", 5)]));
        },
        &["/p/g:5", "/p/f:7"],
    );
    // Another tool call can lead to the same place again.
    check(
        |w| {
            named(w, "t", "read", json!([at(F, 3)]));
            named(w, "u", "read", json!([at("/p/g", 1)]));
            named(w, "v", "read", json!([at(F, 3)]));
        },
        &["/p/f:3", "/p/g:1", "/p/f:3"],
    );
    // The agent is at that place already.
    check(
        |w| {
            named(w, "t", "read", json!([at(F, 3)]));
            named(w, "u", "read", json!([at(F, 3)]));
            named(w, "v", "read", json!([{ "path": F }]));
        },
        &["/p/f:3"],
    );
}

#[test]
fn places_are_limited_to_the_sessions_folders() {
    check(
        |w| {
            named(w, "t", "read", json!([at("/etc/passwd", 1)]));
            named(w, "u", "read", json!([at("/p/../etc/passwd", 1)]));
            named(w, "v", "read", json!([at("https://example.org/a", 1)]));
            named(w, "w", "read", json!([at("sub/../g", 2)]));
        },
        &["/p/https:/example.org/a:1", "/p/g:2"],
    );
}

#[test]
fn a_diff_without_a_location_supplies_file_and_row() {
    let diff = |path: &str, old: Option<&str>, new: &str| {
        json!({
            "toolCallId": "t", "kind": "edit",
            "content": [{ "type": "diff", "path": path, "oldText": old, "newText": new }],
        })
    };
    let check_diff = |diff: Value, want: &str| check(|w| call(w, diff), &[want]);
    check_diff(diff(F, Some("3\n4\n"), "3\nfour\n"), "/p/f:5");
    // The change is already made.
    check_diff(diff(F, Some("three\n4\n"), "3\n4\n"), "/p/f:4");
    check_diff(diff(F, Some(TEN), "0\n1\ntwo\n"), "/p/f:3");
    check_diff(diff(F, None, "all new\n"), "/p/f:1");
    // The file is in no buffer, so its text is unknown.
    check_diff(diff("/p/g", Some("3\n4\n"), "3\nfour\n"), "/p/g");
    // A location without a line.
    let mut both = diff(F, Some("3\n4\n"), "3\nfour\n");
    both["locations"] = json!([{ "path": F }]);
    check_diff(both, "/p/f:5");
    // A location with a line takes precedence over the diff.
    let mut both = diff(F, Some("3\n4\n"), "3\nfour\n");
    both["locations"] = json!([at(F, 9)]);
    check_diff(both, "/p/f:9");
}

#[test]
fn a_permissions_tool_call_is_a_place() {
    check(
        |w| {
            let tool = json!({ "toolCallId": "t", "kind": "edit", "locations": [at(F, 4)] });
            let options = json!([{ "optionId": "y", "name": "Yes", "kind": "allow_once" }]);
            let params = json!({ "sessionId": "s1", "toolCall": tool, "options": options });
            w.asks("1", "session/request_permission", &params);
            w.ends_turn("cancelled");
            let id = crate::spine::ids::QuestionId(1);
            let option = "y".into();
            w.happens(Event::Answer {
                id,
                answer: Answer::Option(option),
            });
        },
        &["/p/f:4"],
    );
}

fn reads(w: &mut World, id: &str, params: Value) {
    let mut all = json!({ "sessionId": "s1", "path": F });
    for (key, value) in params.as_object().unwrap() {
        all[key] = value.clone();
    }
    w.asks(id, "fs/read_text_file", &all);
}

fn writes(w: &mut World, id: &str, path: &str, content: &str) {
    let params = json!({ "sessionId": "s1", "path": path, "content": content });
    w.asks(id, "fs/write_text_file", &params);
}

#[test]
fn reads_and_writes_through_the_client_are_places() {
    check(
        |w| {
            reads(w, "1", json!({}));
            reads(w, "2", json!({ "line": 4, "limit": 2 }));
            writes(w, "3", F, &TEN.replace('7', "seven"));
            writes(w, "4", "/p/g", &TEN.replace('2', "two"));
            writes(w, "5", "/p/new", "new\n");
        },
        &["/p/f", "/p/f:4", "/p/f:8", "/p/g:3", "/p/new:1"],
    );
}

#[test]
fn a_read_after_its_location_is_one_place() {
    check(
        |w| {
            named(w, "t", "read", json!([at(F, 3)]));
            reads(w, "1", json!({}));
        },
        &["/p/f:3"],
    );
}

#[test]
fn an_agents_change_on_disk_is_a_place() {
    check(
        |w| {
            w.disk.put("/p/g", "0\none\n");
            w.settle();
            w.disk.put(F, &TEN.replace('6', "six"));
            w.settle();
            w.disk.put("/p/new", "new\n");
            w.settle();
            // A deletion is no place.
            w.disk.removes("/p/new");
            w.settle();
        },
        &["/p/g:2", "/p/f:7", "/p/new:1"],
    );
}

#[test]
fn an_announced_change_moves_nothing() {
    check(
        |w| {
            named(w, "t", "edit", json!([at("/p/g", 2)]));
            named(w, "u", "read", json!([at(F, 5)]));
            w.disk.put("/p/g", "0\none\n");
            w.settle();
        },
        &["/p/g:2", "/p/f:5"],
    );
    // If only the file was announced, the change supplies the row.
    check(
        |w| {
            named(w, "t", "edit", json!([{ "path": "/p/g" }]));
            w.disk.put("/p/g", &TEN.replace('6', "six"));
            w.settle();
        },
        &["/p/g", "/p/g:7"],
    );
    // The announced file did not exist then; now it can be shown.
    check(
        |w| {
            named(w, "t", "edit", json!([{ "path": "/p/new" }]));
            w.disk.put("/p/new", "new\n");
            w.settle();
        },
        &["/p/new", "/p/new:1"],
    );
    // A read announces no change.
    check(
        |w| {
            named(w, "t", "read", json!([at("/p/g", 2)]));
            named(w, "u", "read", json!([at(F, 5)]));
            w.disk.put("/p/g", "0\n1\ntwo\n");
            w.settle();
        },
        &["/p/g:2", "/p/f:5", "/p/g:3"],
    );
}

#[test]
fn the_users_edits_are_no_place() {
    check(
        |w| {
            let buf = w.buf(F);
            let edit = crate::text::LineEdit {
                start: 2,
                removed: 1,
                lines: vec!["mine".into()],
            };
            w.edits(|editor, disk, out| {
                editor.types(buf, edit, out);
                editor.saves(buf, disk, out);
            });
        },
        &[],
    );
}
