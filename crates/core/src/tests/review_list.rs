//! The review list, as the core renders it.

use serde_json::json;

use super::world::{A1, World};
use crate::event::{Event, ViewEvent};
use crate::spine::event::{ListEvent, ReviewAction};
use crate::spine::ids::AgentKey;
use crate::spine::view::ListView;

/// Returns the text of each line of the list.
fn shown(w: &World) -> Vec<String> {
    let view: &ListView = &w.editor.list;
    view.lines
        .iter()
        .map(|line| line.text.to_string())
        .collect()
}

fn lists(w: &mut World, event: ListEvent) {
    w.happens(Event::View(ViewEvent::List(event)));
}

fn opens(w: &mut World) {
    lists(w, ListEvent::Opened { cwd: "/p".into() });
}

fn decides(w: &mut World, action: ReviewAction, rows: std::ops::Range<usize>) {
    let items = w.editor.list.items[rows].iter().flatten();
    let items = items.map(|item| item.key).collect();
    lists(w, ListEvent::Decide { action, items });
}

/// Two files: one with three hunks, and a new one.
fn listed() -> World {
    let mut w = World::ready();
    w.disk.put("/p/a", "1\n2\n3\n4\n5\n6\n");
    w.writes("/p/a", "one\n2\nthree\n4\n6\n");
    w.writes("/p/sub/new", "\n  text\n");
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
    w.writes("/p/a", "other\n");
    assert_eq!(w.editor.lists, frames);
    w.skip();
}

#[test]
fn the_list_follows_changes() {
    let mut w = listed();
    w.writes("/p/a", "1\n2\n3\n4\n5\n6\nseven\n");
    assert_eq!(shown(&w)[..2], ["a +1", "      7 + seven"]);
    w.skip();
}

#[test]
fn consecutive_hunks_are_decided_together() {
    let mut w = listed();
    decides(&mut w, ReviewAction::Reject, 2..4);
    assert_eq!(w.disk.get("/p/a").unwrap(), "one\n2\n3\n4\n5\n6\n");
    assert_eq!(shown(&w)[..2], ["a +1 -1", "      1 ~ one"]);
    decides(&mut w, ReviewAction::Accept, 1..4);
    assert_eq!(shown(&w)[0], "Nothing to review.");
    assert!(w.disk.get("/p/sub/new").is_some());
    w.skip();
}

#[test]
fn a_stale_line_decides_nothing() {
    let mut w = listed();
    let items = vec![w.editor.list.items[1].as_ref().unwrap().key];
    w.writes("/p/a", "another\n2\n3\n4\n5\n6\n");
    w.skip();
    let action = ReviewAction::Reject;
    lists(&mut w, ListEvent::Decide { action, items });
    w.saw(&["Info: This change was updated just now: look at it again in the list."]);
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
fn the_preview_shows_the_line_under_the_cursor() {
    let mut w = listed();
    let item = w.editor.list.items[2].as_ref().map(|item| item.key);
    lists(&mut w, ListEvent::At { item });
    let preview = |w: &World| -> Vec<String> {
        let lines = w.editor.preview.lines.iter();
        lines.map(|line| line.text.to_string()).collect()
    };
    assert_eq!(w.editor.preview.title, "a:3");
    assert_eq!(
        preview(&w),
        ["  one", "  2", "- 3", "+ three", "  4", "  6"]
    );
    let item = w.editor.list.items[4].as_ref().map(|item| item.key);
    lists(&mut w, ListEvent::At { item });
    let made = "The agent created this file; a reject deletes it, unless you edited it.";
    assert_eq!(preview(&w), [made, "+ ", "+   text"]);
}

#[test]
fn the_last_decision_can_be_undone() {
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

/// A turn in which the agent asks to change two files; one of them already has hunks.
fn proposed() -> World {
    let mut w = listed();
    w.prompts("hi");
    let diff = |path: &str, old: Option<&str>, new: &str| json!({ "type": "diff", "path": path, "oldText": old, "newText": new });
    let tool = json!({
        "toolCallId": "t", "title": "Edit both", "kind": "edit",
        "content": [
            diff("/p/a", Some("one\n"), "ONE\n"),
            diff("/p/a", Some("6\n"), "six\n"),
            diff("/p/other", None, "made\n"),
        ],
    });
    let options = json!([
        { "optionId": "yes", "name": "Allow", "kind": "allow_once" },
        { "optionId": "no", "name": "Reject", "kind": "reject_once" },
    ]);
    let params = json!({ "sessionId": "s1", "toolCall": tool, "options": options });
    w.asks("7", "session/request_permission", &params);
    w.skip();
    w
}

const PROPOSED: [&str; 5] = [
    "a +2 -2  proposed",
    "      1 ~ ONE  proposed",
    "      5 ~ six  proposed",
    "other +1  proposed  new file",
    "      1 + made  proposed",
];

fn answered(w: &World) -> Option<String> {
    let answer = w.agents[&A1].answers.iter().find(|answer| answer.0 == "7");
    let (_, answer) = answer?;
    let answer = answer.as_ref().ok()?;
    Some(answer["outcome"]["optionId"].as_str()?.to_owned())
}

#[test]
fn proposals_are_listed_above_written_hunks() {
    let w = proposed();
    assert_eq!(shown(&w)[..5], PROPOSED);
    assert_eq!(shown(&w)[5..], LISTED);
    let title: Vec<&str> = w.editor.list.title.iter().map(|part| &*part.0).collect();
    assert_eq!(title, ["Review", "2 files", "4 hunks", "3 proposed"]);
}

#[test]
fn a_list_of_only_proposals_is_not_empty() {
    let mut w = proposed();
    decides(&mut w, ReviewAction::Accept, 5..11);
    assert_eq!(shown(&w)[..5], PROPOSED);
    let title: Vec<&str> = w.editor.list.title.iter().map(|part| &*part.0).collect();
    assert_eq!(title, ["Review", "3 proposed"]);
    w.skip();
}

#[test]
fn deciding_proposals_in_the_list_leaves_other_hunks() {
    let mut w = proposed();
    decides(&mut w, ReviewAction::Reject, 1..2);
    assert_eq!(shown(&w)[1], "      1 ~ ONE  rejected");
    assert_eq!(answered(&w), None);
    // The decided hunk keeps its decision.
    decides(&mut w, ReviewAction::Accept, 0..1);
    assert_eq!(
        shown(&w)[1..3],
        ["      1 ~ ONE  rejected", "      5 ~ six  accepted"]
    );
    decides(&mut w, ReviewAction::Accept, 4..5);
    assert_eq!(answered(&w).as_deref(), Some("yes"));
    assert_eq!(shown(&w), LISTED);
    w.skip();
}

#[test]
fn a_written_hunk_is_decided_beside_a_proposal_on_its_rows() {
    let mut w = proposed();
    decides(&mut w, ReviewAction::Reject, 6..7);
    assert_eq!(w.disk.get("/p/a").unwrap(), "1\n2\nthree\n4\n6\n");
    assert_eq!(answered(&w), None);
    w.skip();
}

#[test]
fn rejecting_the_files_rejects_all_proposals() {
    let mut w = proposed();
    decides(&mut w, ReviewAction::Reject, 0..5);
    assert_eq!(answered(&w).as_deref(), Some("no"));
    assert_eq!(shown(&w), LISTED);
    w.skip();
}

#[test]
fn a_proposal_that_does_not_fit_is_listed_and_needs_an_answer() {
    let mut w = listed();
    w.prompts("hi");
    let diff = json!({ "type": "diff", "path": "/p/a", "oldText": "nowhere\n", "newText": "x\n" });
    let tool = json!({ "toolCallId": "t", "title": "Edit a", "kind": "edit", "content": [diff] });
    let options = json!([{ "optionId": "yes", "name": "Allow", "kind": "allow_once" }]);
    let params = json!({ "sessionId": "s1", "toolCall": tool, "options": options });
    w.asks("7", "session/request_permission", &params);
    assert_eq!(shown(&w)[0], "a  proposed  does not match the file");
    w.skip();
    decides(&mut w, ReviewAction::Accept, 0..1);
    w.saw(&[
        "Info: Choose an option in the question (`:Acp permission`): not all that the agent asks for \
         can be shown in the files. Your choices by hunk are kept.",
    ]);
    assert_eq!(answered(&w), None);
}

#[test]
fn the_preview_of_a_proposal_shows_the_proposed_text() {
    let mut w = proposed();
    let at = |w: &mut World, row: usize| {
        let item = w.editor.list.items[row].as_ref().map(|item| item.key);
        lists(w, ListEvent::At { item });
        let lines = w.editor.preview.lines.iter();
        let lines: Vec<String> = lines.map(|line| line.text.to_string()).collect();
        (w.editor.preview.title.clone(), lines)
    };
    let both = [
        "Edit both",
        "Proposed: not written yet.",
        "- one",
        "+ ONE",
        "  2",
        "  three",
        "  4",
        "- 6",
        "+ six",
    ];
    assert_eq!(at(&mut w, 0), ("a".into(), both.map(String::from).to_vec()));
    let one = ["  ⋯", "  2", "  three", "  4", "- 6", "+ six"];
    assert_eq!(
        at(&mut w, 2),
        ("a:5".into(), one.map(String::from).to_vec())
    );
    assert_eq!(at(&mut w, 4), ("other:1".into(), vec!["+ made".to_owned()]));
}

#[test]
fn the_list_shows_the_first_of_very_many_files_and_refills() {
    let mut w = World::ready();
    w.prompts("hi");
    for n in 0..600 {
        w.disk.put(&format!("/p/many/{n:03}"), "n\n");
    }
    w.settle();
    opens(&mut w);
    let view = &w.editor.list;
    assert_eq!(
        (view.files, view.is_cut, view.lines.len()),
        (600, true, 1001)
    );
    assert_eq!(view.title[1].0, "600 files");
    assert!(shown(&w)[1000].starts_with("⋯ more changes"));
    decides(&mut w, ReviewAction::Accept, 0..400);
    let view = &w.editor.list;
    assert_eq!(
        (view.files, view.is_cut, view.lines.len()),
        (400, false, 800)
    );
    w.skip();
}
