//! Turns that are undone as a whole, and brought back.

use std::path::Path;

use serde_json::json;

use super::editor::Travel;
use super::world::{A1, World};
use crate::core::event::{Event, ReviewAction, Scope, UndoStep};
use crate::core::text::LineEdit;

const F: &str = "/p/f";

/// A world in which a turn has begun, over a file that is in a buffer or not.
fn begun(is_open: bool, text: &str) -> World {
    let mut w = World::ready();
    w.disk.put(F, text);
    if is_open {
        w.edits(|editor, disk, out| editor.open(Path::new(F), disk, out));
    }
    w.prompts("first");
    w
}

fn writes_to(w: &mut World, path: &str, content: &str) {
    let id = w.agents[&A1].answers.len().to_string();
    let params = json!({ "sessionId": "s1", "path": path, "content": content });
    w.asks(&id, "fs/write_text_file", &params);
}

fn writes(w: &mut World, content: &str) {
    writes_to(w, F, content);
}

/// Ends the turn and begins another.
fn next_turn(w: &mut World, prompt: &str) {
    ends(w);
    w.prompts(prompt);
}

fn ends(w: &mut World) {
    w.answers(
        A1,
        "session/prompt",
        Ok(json!({ "stopReason": "end_turn" })),
    );
    w.settle();
}

fn types(w: &mut World, start: usize, removed: usize, lines: &[&str]) {
    let buf = w.buf(F);
    let edit = LineEdit {
        start,
        removed,
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
    };
    w.edits(|editor, _, out| editor.types(buf, edit, out));
}

fn undo(w: &mut World, step: UndoStep) {
    let session = None;
    w.happens(Event::UndoTurn { session, step });
}

fn decide(w: &mut World, action: ReviewAction, scope: Scope) {
    w.happens(Event::Review { action, scope });
}

fn turn(w: &mut World, action: ReviewAction) {
    decide(w, action, Scope::Turn { session: None });
}

/// What is in the file, in its buffer if it has one: the base, the text, the hunks.
#[track_caller]
fn check(w: &World, base: &str, text: &str, hunks: usize) {
    let review = w.model.reviews.get(Path::new(F)).expect("a review");
    assert_eq!(review.ledger.current().to_string(), text, "text");
    assert_eq!(review.ledger.base().to_string(), base, "base");
    assert_eq!(review.ledger.hunks().len(), hunks, "hunks");
}

#[test]
fn a_turn_is_undone_and_brought_back_in_a_buffer_and_on_disk() {
    for is_open in [true, false] {
        let mut w = begun(is_open, "a\nb\nc\nd\n");
        writes(&mut w, "A\nb\nc\nd\n");
        next_turn(&mut w, "second");
        writes(&mut w, "A\nb\nC\nd\ne\n");
        ends(&mut w);
        undo(&mut w, UndoStep::Undo(None));
        check(&w, "a\nb\nc\nd\n", "A\nb\nc\nd\n", 1);
        assert_eq!(w.disk.get(F).unwrap(), "A\nb\nc\nd\n");
        undo(&mut w, UndoStep::Back);
        check(&w, "a\nb\nc\nd\n", "A\nb\nC\nd\ne\n", 3);
        assert_eq!(w.disk.get(F).unwrap(), "A\nb\nC\nd\ne\n");
        // Turn by turn, down to the first.
        undo(&mut w, UndoStep::Undo(None));
        undo(&mut w, UndoStep::Undo(None));
        check(&w, "a\nb\nc\nd\n", "a\nb\nc\nd\n", 0);
        w.skip();
        undo(&mut w, UndoStep::Undo(None));
        w.saw(&["Info: Nothing is left to undo of any turn."]);
        undo(&mut w, UndoStep::Back);
        undo(&mut w, UndoStep::Back);
        check(&w, "a\nb\nc\nd\n", "A\nb\nC\nd\ne\n", 3);
        w.skip();
    }
}

#[test]
fn what_was_accepted_is_undone_as_well() {
    for is_open in [true, false] {
        let mut w = begun(is_open, "a\nb\nc\n");
        writes(&mut w, "A\nb\nC\n");
        ends(&mut w);
        decide(
            &mut w,
            ReviewAction::Accept,
            Scope::At {
                path: F.into(),
                row: 0,
            },
        );
        check(&w, "A\nb\nc\n", "A\nb\nC\n", 1);
        undo(&mut w, UndoStep::Undo(None));
        check(&w, "a\nb\nc\n", "a\nb\nc\n", 0);
        undo(&mut w, UndoStep::Back);
        check(&w, "A\nb\nc\n", "A\nb\nC\n", 1);
        w.skip();
    }
}

#[test]
fn lines_of_a_hunk_that_were_accepted_are_undone_too() {
    let mut w = begun(true, "a\nb\nc\n");
    writes(&mut w, "A\nB\nC\n");
    ends(&mut w);
    let buf = w.buf(F);
    decide(
        &mut w,
        ReviewAction::Accept,
        Scope::Rows { buf, rows: 1..2 },
    );
    check(&w, "a\nB\nc\n", "A\nB\nC\n", 2);
    undo(&mut w, UndoStep::Undo(None));
    check(&w, "a\nb\nc\n", "a\nb\nc\n", 0);
    w.skip();
}

#[test]
fn what_the_user_has_changed_since_stays() {
    let mut w = begun(true, "a\nb\nc\nd\ne\n");
    writes(&mut w, "a\nB\nc\nd\nnew\nlines\ne\n");
    types(&mut w, 0, 1, &["mine"]);
    types(&mut w, 5, 0, &["mine too"]);
    ends(&mut w);
    undo(&mut w, UndoStep::Undo(None));
    check(
        &w,
        "mine\nb\nc\nd\nmine too\ne\n",
        "mine\nb\nc\nd\nmine too\ne\n",
        0,
    );
    undo(&mut w, UndoStep::Back);
    assert_eq!(w.buffer(F), "mine\nB\nc\nd\nnew\nmine too\nlines\ne\n");
    w.skip();
}

#[test]
fn a_replaced_line_that_the_user_has_changed_stays_and_the_old_one_is_offered() {
    let mut w = begun(true, "a\nb\nc\nd\n");
    writes(&mut w, "a\nB\nc\nD\n");
    ends(&mut w);
    types(&mut w, 1, 1, &["mine"]);
    undo(&mut w, UndoStep::Undo(None));
    assert_eq!(w.buffer(F), "a\nmine\nc\nd\n");
    let review = w.model.reviews.get(Path::new(F)).unwrap();
    let [hunk] = review.ledger.hunks() else {
        panic!("{:?}", review.ledger.hunks());
    };
    assert_eq!(hunk.conflict, Some(vec!["b".to_owned()]));
    w.skip();
}

#[test]
fn an_undo_in_the_buffer_brings_the_turn_back() {
    let mut w = begun(true, "a\nb\n");
    writes(&mut w, "a\nB\n");
    ends(&mut w);
    decide(&mut w, ReviewAction::Accept, Scope::All);
    undo(&mut w, UndoStep::Undo(None));
    check(&w, "a\nb\n", "a\nb\n", 0);
    let buf = w.buf(F);
    w.edits(|editor, _, out| editor.travels(buf, Travel::Undo, out));
    check(&w, "a\nB\n", "a\nB\n", 0);
    undo(&mut w, UndoStep::Undo(None));
    check(&w, "a\nb\n", "a\nb\n", 0);
    w.skip();
}

#[test]
fn a_file_the_turn_has_made_is_deleted_and_comes_back() {
    for is_open in [true, false] {
        let mut w = World::ready();
        w.prompts("make it");
        writes(&mut w, "new\n");
        ends(&mut w);
        if is_open {
            w.edits(|editor, disk, out| editor.open(Path::new(F), disk, out));
        }
        undo(&mut w, UndoStep::Undo(None));
        assert_eq!(w.disk.get(F), None);
        undo(&mut w, UndoStep::Back);
        assert_eq!(w.disk.get(F).as_deref(), Some("new\n"), "open: {is_open}");
        check(&w, "", "new\n", 1);
        w.skip();
    }
}

#[test]
fn a_made_file_with_lines_of_the_users_keeps_them() {
    let mut w = World::ready();
    w.prompts("make it");
    writes(&mut w, "new\nlines\n");
    ends(&mut w);
    w.edits(|editor, disk, out| editor.open(Path::new(F), disk, out));
    types(&mut w, 1, 0, &["mine"]);
    undo(&mut w, UndoStep::Undo(None));
    assert_eq!(w.buffer(F), "mine\n");
    w.skip();
}

#[test]
fn the_user_is_told_what_it_comes_to() {
    let mut w = begun(false, "a\nb\nc\n");
    writes(&mut w, "a\nB\nc\nd\n");
    writes_to(&mut w, "/p/sub/new", "x\n");
    ends(&mut w);
    undo(&mut w, UndoStep::Ask);
    let (turn, view) = w.editor.asked.take().expect("a question");
    assert_eq!(view.title, "Undo the turn “first”?");
    let lines: Vec<&str> = view.lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(
        lines[..2],
        [" restore     f  +1 -2", " delete      sub/new"]
    );
    assert_eq!(w.disk.get(F).unwrap(), "a\nB\nc\nd\n");
    undo(&mut w, UndoStep::Undo(Some(turn)));
    assert_eq!(w.disk.get(F).unwrap(), "a\nb\nc\n");
    assert_eq!(w.disk.get("/p/sub/new"), None);
    w.skip();
}

#[test]
fn the_last_turn_is_accepted_or_rejected_alone() {
    let two = |is_open| {
        let mut w = begun(is_open, "a\nb\nc\nd\n");
        writes(&mut w, "A\nb\nc\nd\n");
        next_turn(&mut w, "second");
        writes(&mut w, "A\nb\nC\nD\n");
        ends(&mut w);
        w
    };
    for is_open in [true, false] {
        let mut w = two(is_open);
        turn(&mut w, ReviewAction::Accept);
        check(&w, "a\nb\nC\nD\n", "A\nb\nC\nD\n", 1);
        turn(&mut w, ReviewAction::Accept);
        check(&w, "A\nb\nC\nD\n", "A\nb\nC\nD\n", 0);
        w.skip();
        turn(&mut w, ReviewAction::Accept);
        w.saw(&["Info: No change of the agent's to review here."]);
        let mut w = two(is_open);
        turn(&mut w, ReviewAction::Reject);
        check(&w, "a\nb\nc\nd\n", "A\nb\nc\nd\n", 1);
        turn(&mut w, ReviewAction::Reject);
        check(&w, "a\nb\nc\nd\n", "a\nb\nc\nd\n", 0);
        w.skip();
    }
}

#[test]
fn a_turn_that_changes_what_the_turn_before_has_changed_is_undone_to_that() {
    let mut w = begun(true, "a\nb\nc\n");
    writes(&mut w, "a\none\nc\n");
    next_turn(&mut w, "second");
    writes(&mut w, "a\ntwo\nc\n");
    ends(&mut w);
    undo(&mut w, UndoStep::Undo(None));
    check(&w, "a\nb\nc\n", "a\none\nc\n", 1);
    undo(&mut w, UndoStep::Undo(None));
    check(&w, "a\nb\nc\n", "a\nb\nc\n", 0);
    undo(&mut w, UndoStep::Back);
    undo(&mut w, UndoStep::Back);
    check(&w, "a\nb\nc\n", "a\ntwo\nc\n", 1);
    w.skip();
}
