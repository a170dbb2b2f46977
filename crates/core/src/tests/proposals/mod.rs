//! Proposals: changes that agents ask about are shown, decided per hunk, and the decisions applied
//! to the written text.

mod choices;
mod questions;

use std::path::Path;

use ReviewAction::{Accept, Reject};
use serde_json::{Value, json};

use crate::event::Event;
use crate::questions::Answer;
use crate::spine::event::{ReviewAction, Scope};
use crate::spine::ids::QuestionId;
use crate::tests::ondisk::types;
use crate::tests::world::{A1, Part, S1, World};
use crate::workspace::proposals::Preview;

const F: &str = "/p/f";
const OLD: &str = "one\ntwo\nthree\nfour\nfive\n";
const NEW: &str = "one\nTWO\nthree\nFOUR\nfive\n";
const MIXED: &str = "one\nTWO\nthree\nfour\nfive\n";

fn diff(path: &str, old: Option<&str>, new: &str) -> Value {
    json!({ "type": "diff", "path": path, "oldText": old, "newText": new })
}

fn edit(id: &str, diffs: &[Value]) -> Value {
    json!({ "toolCallId": id, "title": format!("Edit {id}"), "kind": "edit", "content": diffs })
}

fn options() -> Value {
    json!([
        { "optionId": "always", "name": "Always", "kind": "allow_always" },
        { "optionId": "yes", "name": "Allow", "kind": "allow_once" },
        { "optionId": "no", "name": "Reject", "kind": "reject_once" },
    ])
}

fn asks(w: &mut World, id: &str, tool: &Value, options: &Value) {
    let params = json!({ "sessionId": "s1", "toolCall": tool, "options": options });
    w.asks(id, "session/request_permission", &params);
}

/// A turn in which the agent asks to apply these diffs to the file `F`, which is in a buffer.
fn asked(text: &str, diffs: &[Value]) -> World {
    let mut w = World::ready();
    w.disk.put(F, text);
    w.opens_file(F);
    w.prompts("hi");
    asks(&mut w, "0", &edit("t", diffs), &options());
    w.skip();
    w
}

fn decide(w: &mut World, action: ReviewAction, row: usize) {
    let buf = w.buf(F);
    w.decides(action, Scope::Hunk { buf, row });
}

fn decide_all(w: &mut World, action: ReviewAction) {
    w.decides(action, Scope::All);
}

/// Returns the proposals drawn in a file: `row+count label: proposed lines`.
fn drawn(w: &World, path: &str) -> Vec<String> {
    let hunks = w.editor.hunks.get(&w.buf(path)).into_iter().flatten();
    let hunks = hunks.filter_map(|hunk| {
        let proposed = hunk.proposed.as_ref()?;
        let new: Vec<&str> = hunk.removed.iter().map(|line| line.text.as_str()).collect();
        let (row, count, label) = (hunk.row, hunk.count, &proposed.label);
        Some(format!("{row}+{count} {label}: {}", new.join("|")))
    });
    hunks.collect()
}

fn told(w: &World) -> Vec<String> {
    let proposals = w.model.snapshot().proposals;
    let hunks = proposals.iter().flat_map(|file| &file.hunks);
    hunks
        .map(|hunk| format!("{}:{} {}", hunk.path.display(), hunk.row, hunk.state))
        .collect()
}

/// Returns the lines of the shown question.
fn question(w: &World) -> Vec<&str> {
    let view = w.editor.permission.as_ref().expect("a question is shown");
    view.lines.iter().map(|line| line.text.as_str()).collect()
}

fn answered(w: &World, id: &str) -> String {
    match w.answer(id) {
        Ok(answer) => answer["outcome"]["optionId"].as_str().unwrap_or("-").into(),
        Err(error) => panic!("{error}"),
    }
}

fn hunks(w: &World) -> usize {
    let review = w.model.workspace.reviews().get(Path::new(F));
    review.map_or(0, |review| review.ledger.hunks().len())
}

/// Checks the drawn proposals when an agent asks about diffs of a text.
#[track_caller]
fn check_drawn(text: &str, diffs: &[Value], want: &[&str]) {
    let w = asked(text, diffs);
    assert_eq!(drawn(&w, F), want);
    assert_eq!(w.buffer(F), text);
}

#[test]
fn diffs_of_all_kinds_are_drawn_at_their_place() {
    let whole = ["1+1 proposed 1/2: TWO", "3+1 proposed 2/2: FOUR"];
    check_drawn(OLD, &[diff(F, Some(OLD), NEW)], &whole);
    check_drawn(OLD, &[diff(F, None, NEW)], &whole);
    let parts = [diff(F, Some("two"), "TWO"), diff(F, Some("four"), "FOUR")];
    check_drawn(OLD, &parts, &whole);
    check_drawn(
        OLD,
        &[
            diff(F, Some("three"), "three\nand"),
            diff(F, Some("and\n"), "AND\n"),
        ],
        &["3+0 proposed 1/1: AND"],
    );
    check_drawn(
        OLD,
        &[diff(F, Some("[file deleted]"), "")],
        &["0+5 proposed 1/1 deletes the file: "],
    );
}

#[test]
fn a_diff_that_does_not_fit_is_reported_and_shown_unchanged() {
    let w = asked(
        OLD,
        &[diff(F, Some("six"), "SIX"), diff(F, Some("two"), "TWO")],
    );
    assert_eq!(drawn(&w, F), ["1+1 proposed 1/1: TWO"]);
    assert_eq!(
        question(&w),
        [
            "edit  Edit t",
            "Does not match the file: the text is not in f.",
            F,
            "- six",
            "+ SIX",
            F,
            "- two",
            "+ TWO",
        ]
    );
}

#[test]
fn an_ambiguous_diff_is_shown_at_the_calls_location() {
    let mut w = World::ready();
    w.disk.put(F, "x\na\nx\nb\nx\n");
    w.opens_file(F);
    w.prompts("hi");
    let mut tool = edit("t", &[diff(F, Some("x"), "y")]);
    tool["locations"] = json!([{ "path": F, "line": 5 }]);
    asks(&mut w, "0", &tool, &options());
    assert_eq!(drawn(&w, F), ["4+1 proposed 1/1: y"]);
    assert_eq!(
        question(&w)[1],
        "Fits 3 places in f: the one on line 5 is shown."
    );
}

#[test]
fn a_proposal_follows_the_users_edits() {
    let mut w = asked(
        OLD,
        &[diff(F, Some("two\nthree\nfour"), "TWO\nthree\nfour")],
    );
    types(&mut w, 0, 0, &["mine"]);
    assert_eq!(drawn(&w, F), ["2+1 proposed 1/1: TWO"]);
    types(&mut w, 2, 1, &["2"]);
    assert_eq!(drawn(&w, F), [""; 0]);
    assert_eq!(
        question(&w)[1],
        "Does not match the file: the text is not in f."
    );
    types(&mut w, 2, 1, &["two"]);
    assert_eq!(drawn(&w, F), ["2+1 proposed 1/1: TWO"]);
    assert_eq!(question(&w)[1], F);
}

#[test]
fn a_file_shows_its_proposals_when_it_is_opened() {
    let mut w = World::ready();
    w.disk.put(F, OLD);
    w.prompts("hi");
    let diffs = [diff(F, Some("two"), "TWO"), diff("/p/new", None, "a\nb\n")];
    asks(&mut w, "0", &edit("t", &diffs), &options());
    let view = w.editor.permission.as_ref().expect("it is shown");
    assert_eq!(view.places.len(), 2);
    w.opens_file(F);
    w.opens_file("/p/new");
    assert_eq!(drawn(&w, F), ["1+1 proposed 1/1: TWO"]);
    assert_eq!(drawn(&w, "/p/new"), ["1+0 proposed 1/1: a|b"]);
}

#[test]
fn a_disabled_preview_is_not_drawn() {
    let mut w = asked(OLD, &[diff(F, Some(OLD), NEW)]);
    let limits = w.model.conversation.limits();
    w.happens(Event::Configure {
        rules: Default::default(),
        limits,
        preview: Preview::Off,
        accept_allowed: false,
        feedback: true,
        follow: Default::default(),
    });
    assert_eq!(drawn(&w, F), [""; 0]);
    assert_eq!(told(&w), [""; 0]);
}

#[test]
fn a_proposal_through_a_link_applies_to_its_target() {
    let mut w = World::ready();
    w.disk.put(F, OLD);
    w.disk.link("/p/link", F);
    w.settle();
    w.prompts("hi");
    asks(
        &mut w,
        "0",
        &edit("t", &[diff("/p/link", Some(OLD), NEW)]),
        &options(),
    );
    assert_eq!(told(&w), ["/p/link:1 proposed", "/p/link:3 proposed"]);
    w.opens_file(F);
    assert_eq!(drawn(&w, F).len(), 2);
    decide(&mut w, Accept, 1);
    decide(&mut w, Reject, 3);
    w.writes("/p/link", NEW);
    assert_eq!((w.buffer(F).as_str(), hunks(&w)), (MIXED, 0));
}
