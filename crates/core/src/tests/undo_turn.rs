//! Turns that are undone as a whole, and restored.

use std::path::Path;

use serde_json::json;

use super::editor::Travel;
use super::ondisk::{shell, types};
use super::world::{Part, S1, World};
use crate::event::{Event, ReviewEvent, ViewEvent};
use crate::spine::event::{ListEvent, ReviewAction, Scope, UndoStep};
use crate::spine::ids::SessionKey;

const F: &str = "/p/f";

/// A world in which a turn has begun, with a file on disk that may be open in a buffer.
fn begun(is_open: bool, text: &str) -> World {
    let mut w = World::ready();
    w.disk.put(F, text);
    if is_open {
        w.opens_file(F);
    }
    w.prompts("first");
    w
}

fn writes(w: &mut World, content: &str) {
    w.writes(F, content);
}

/// Ends the turn and begins another.
fn next_turn(w: &mut World, prompt: &str) {
    ends(w);
    w.prompts(prompt);
}

fn ends(w: &mut World) {
    w.ends_turn("end_turn");
}

fn undo(w: &mut World, step: UndoStep) {
    let session = None;
    w.happens(Event::Review(ReviewEvent::UndoTurn { session, step }));
}

fn turn(w: &mut World, action: ReviewAction) {
    w.decides(action, Scope::Turn { session: None });
}

/// Compares the file's base, text and number of hunks.
#[track_caller]
fn check(w: &World, base: &str, text: &str, hunks: usize) {
    let review = w
        .model
        .workspace
        .reviews()
        .get(Path::new(F))
        .expect("a review");
    assert_eq!(review.ledger.current().to_string(), text, "text");
    assert_eq!(review.ledger.base().to_string(), base, "base");
    assert_eq!(review.ledger.hunks().len(), hunks, "hunks");
}

/// Returns the lines that the file's conflicts offer.
fn conflicts(w: &World) -> Vec<Vec<String>> {
    let review = w.model.workspace.reviews().get(Path::new(F)).unwrap();
    let hunks = review.ledger.hunks().iter();
    hunks.filter_map(|hunk| hunk.conflict.clone()).collect()
}

#[test]
fn a_turn_is_undone_and_restored_in_a_buffer_and_on_disk() {
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
        // One turn after the other, down to the first.
        undo(&mut w, UndoStep::Undo(None));
        undo(&mut w, UndoStep::Undo(None));
        check(&w, "a\nb\nc\nd\n", "a\nb\nc\nd\n", 0);
        w.skip();
        undo(&mut w, UndoStep::Undo(None));
        w.saw(&["Info: There is nothing left to undo in any turn."]);
        w.happens(Event::Review(ReviewEvent::UndoTurn {
            session: Some(S1),
            step: UndoStep::Ask,
        }));
        w.saw(&["Info: There is nothing left to undo in this chat's turns."]);
        undo(&mut w, UndoStep::Back);
        undo(&mut w, UndoStep::Back);
        check(&w, "a\nb\nc\nd\n", "A\nb\nC\nd\ne\n", 3);
        w.skip();
    }
}

#[test]
fn undoing_a_turn_leaves_what_was_pending_before_it_pending() {
    // What the first turn writes, and what the second one makes of it.
    let turns = [
        ("a\nB\nc\n", "a\nc\n"),
        ("a\nB\nC\n", "a\nC\n"),
        ("a\nB\nC\n", "a\n"),
        ("a\nnew\nb\nc\n", "a\nb\nc\n"),
        ("a\nnew\nmore\nb\nc\n", "a\nnew\nb\nc\n"),
        ("a\nc\n", "a\n"),
        ("a\nB\nc\n", ""),
    ];
    for (first, second) in turns {
        for is_open in [true, false] {
            let mut w = begun(is_open, "a\nb\nc\n");
            writes(&mut w, first);
            next_turn(&mut w, "second");
            writes(&mut w, second);
            ends(&mut w);
            undo(&mut w, UndoStep::Undo(None));
            check(&w, "a\nb\nc\n", first, 1);
        }
    }
}

#[test]
fn undoing_a_turn_leaves_what_was_accepted_before_it_accepted() {
    for last in ["a\nc\nD\n", "a\nother\nc\nD\n"] {
        let mut w = begun(true, "a\nb\nc\nd\n");
        writes(&mut w, "a\nB\nc\nd\n");
        next_turn(&mut w, "second");
        writes(&mut w, "a\nB\nc\nD\n");
        let (path, row) = (F.into(), 1);
        w.decides(ReviewAction::Accept, Scope::At { path, row });
        writes(&mut w, last);
        ends(&mut w);
        undo(&mut w, UndoStep::Undo(None));
        check(&w, "a\nB\nc\nd\n", "a\nB\nc\nd\n", 0);
    }
}

#[test]
fn a_turn_is_restored_completely_while_its_undo_is_pending() {
    let mut w = begun(false, "a\nb\n");
    writes(&mut w, "A\nb\n");
    ends(&mut w);
    w.holds(Part::Disk);
    undo(&mut w, UndoStep::Undo(None));
    undo(&mut w, UndoStep::Back);
    w.goes_on();
    check(&w, "a\nb\n", "A\nb\n", 1);
    assert_eq!(w.disk.get(F).unwrap(), "A\nb\n");
}

#[test]
fn accepted_changes_are_undone() {
    for is_open in [true, false] {
        let mut w = begun(is_open, "a\nb\nc\n");
        writes(&mut w, "A\nb\nC\n");
        ends(&mut w);
        let (path, row) = (F.into(), 0);
        w.decides(ReviewAction::Accept, Scope::At { path, row });
        check(&w, "A\nb\nc\n", "A\nb\nC\n", 1);
        undo(&mut w, UndoStep::Undo(None));
        check(&w, "a\nb\nc\n", "a\nb\nc\n", 0);
        undo(&mut w, UndoStep::Back);
        check(&w, "A\nb\nc\n", "A\nb\nC\n", 1);
        w.skip();
    }
}

#[test]
fn accepted_lines_of_a_hunk_are_undone() {
    let mut w = begun(true, "a\nb\nc\n");
    writes(&mut w, "A\nB\nC\n");
    ends(&mut w);
    let buf = w.buf(F);
    w.decides(ReviewAction::Accept, Scope::Rows { buf, rows: 1..2 });
    check(&w, "a\nB\nc\n", "A\nB\nC\n", 2);
    undo(&mut w, UndoStep::Undo(None));
    check(&w, "a\nb\nc\n", "a\nb\nc\n", 0);
    w.skip();
}

#[test]
fn the_users_later_changes_stay() {
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
fn a_replaced_line_the_user_edited_becomes_a_conflict() {
    let mut w = begun(true, "a\nb\nc\nd\n");
    writes(&mut w, "a\nB\nc\nD\n");
    ends(&mut w);
    types(&mut w, 1, 1, &["mine"]);
    undo(&mut w, UndoStep::Undo(None));
    assert_eq!(w.buffer(F), "a\nmine\nc\nd\n");
    let review = w.model.workspace.reviews().get(Path::new(F)).unwrap();
    let [hunk] = review.ledger.hunks() else {
        panic!("{:?}", review.ledger.hunks());
    };
    assert_eq!(hunk.conflict, Some(vec!["b".to_owned()]));
    w.skip();
}

#[test]
fn a_turn_that_is_brought_back_takes_back_the_conflicts_of_its_undo() {
    // Another change of the turn is brought back above.
    for is_saved in [true, false] {
        let mut w = begun(true, "a\nb\nc\nd\n");
        writes(&mut w, "new\nA\nb\nC\nd\n");
        ends(&mut w);
        types(&mut w, 3, 1, &["mine"]);
        if is_saved {
            let buf = w.buf(F);
            w.edits(|editor, disk, out| editor.saves(buf, disk, out));
        }
        undo(&mut w, UndoStep::Undo(None));
        assert_eq!(w.buffer(F), "a\nb\nmine\nd\n");
        assert_eq!(conflicts(&w), [["c"]]);
        undo(&mut w, UndoStep::Back);
        assert!(conflicts(&w).is_empty());
        check(&w, "a\nb\nc\nd\n", "new\nA\nb\nmine\nd\n", 2);
        w.skip();
    }
}

#[test]
fn what_is_undone_or_kept_in_the_buffer_alone_is_told() {
    for is_conflict in [false, true] {
        let mut w = begun(true, "a\nb\nc\n");
        if is_conflict {
            types(&mut w, 0, 1, &["mine"]);
            shell(&mut w, |disk| disk.put(F, "A\nb\nc\n"));
            ends(&mut w);
            let (path, row) = (F.into(), 0);
            w.decides(ReviewAction::Reject, Scope::At { path, row });
        } else {
            writes(&mut w, "A\nb\nc\n");
            ends(&mut w);
            types(&mut w, 2, 1, &["mine"]);
            undo(&mut w, UndoStep::Undo(None));
        }
        let told = w.was_told("/p/f is not saved, because it has other unsaved changes");
        assert!(told, "conflict: {is_conflict}");
        w.skip();
    }
}

#[test]
fn an_undo_in_the_buffer_ends_the_conflicts_of_an_undone_turn() {
    let mut w = begun(true, "a\nb\nc\nd\n");
    writes(&mut w, "a\nB\nc\nD\n");
    ends(&mut w);
    types(&mut w, 1, 1, &["mine"]);
    undo(&mut w, UndoStep::Undo(None));
    assert_eq!(conflicts(&w), [["b"]]);
    let buf = w.buf(F);
    w.edits(|editor, _, out| editor.travels(buf, Travel::Undo, out));
    check(&w, "a\nb\nc\nd\n", "a\nmine\nc\nD\n", 2);
    assert!(conflicts(&w).is_empty());
    w.edits(|editor, _, out| editor.travels(buf, Travel::Redo, out));
    assert_eq!(w.buffer(F), "a\nmine\nc\nd\n");
    assert_eq!(conflicts(&w), [["b"]]);
    // The turn can be undone again, with the same conflicts.
    w.edits(|editor, _, out| editor.travels(buf, Travel::Undo, out));
    assert!(conflicts(&w).is_empty());
    undo(&mut w, UndoStep::Undo(None));
    assert_eq!(w.buffer(F), "a\nmine\nc\nd\n");
    assert_eq!(conflicts(&w), [["b"]]);
    w.skip();
}

#[test]
fn an_undo_of_the_users_line_keeps_the_conflict_of_an_undone_turn() {
    let mut w = begun(true, "a\nb\nc\n");
    writes(&mut w, "a\nB\nc\n");
    ends(&mut w);
    types(&mut w, 1, 1, &["mine"]);
    // Nothing is left to undo but what the user has replaced.
    undo(&mut w, UndoStep::Undo(None));
    assert_eq!(w.buffer(F), "a\nmine\nc\n");
    assert_eq!(conflicts(&w), [["b"]]);
    let buf = w.buf(F);
    w.edits(|editor, _, out| editor.travels(buf, Travel::Undo, out));
    assert_eq!(w.buffer(F), "a\nB\nc\n");
    assert_eq!(conflicts(&w), [["b"]]);
    w.skip();
}

#[test]
fn an_undo_in_the_buffer_restores_the_turn() {
    let mut w = begun(true, "a\nb\n");
    writes(&mut w, "a\nB\n");
    ends(&mut w);
    w.decides(ReviewAction::Accept, Scope::All);
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
fn a_file_created_by_the_turn_is_deleted_and_restored() {
    for is_open in [true, false] {
        let mut w = World::ready();
        w.prompts("make it");
        writes(&mut w, "new\n");
        ends(&mut w);
        if is_open {
            w.opens_file(F);
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
fn a_turn_brought_back_beside_the_agents_new_lines_is_rejected_with_them() {
    let mut w = World::ready();
    writes(&mut w, "new\nlines\n");
    undo(&mut w, UndoStep::Undo(None));
    assert_eq!(w.disk.get(F), None);
    writes(&mut w, "more\nnew\nlines\n");
    assert_eq!(w.disk.get(F).as_deref(), Some("more\n"));
    undo(&mut w, UndoStep::Back);
    check(&w, "", "more\nnew\nlines\n", 1);
    w.decides(ReviewAction::Reject, Scope::All);
    assert_eq!(w.disk.get(F), None);
    w.skip();
}

#[test]
fn a_created_file_keeps_the_users_lines() {
    let mut w = World::ready();
    w.prompts("make it");
    writes(&mut w, "new\nlines\n");
    ends(&mut w);
    w.opens_file(F);
    types(&mut w, 1, 0, &["mine"]);
    undo(&mut w, UndoStep::Undo(None));
    assert_eq!(w.buffer(F), "mine\n");
    w.skip();
}

#[test]
fn the_question_lists_the_effects_of_the_undo() {
    let mut w = begun(false, "a\nb\nc\n");
    writes(&mut w, "a\nB\nc\nd\n");
    w.writes("/p/sub/new", "x\n");
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
fn an_accepted_turn_is_taken_back_as_a_decision() {
    let mut w = begun(true, "a\nb\nc\nd\n");
    writes(&mut w, "A\nb\nC\nd\n");
    ends(&mut w);
    turn(&mut w, ReviewAction::Accept);
    check(&w, "A\nb\nC\nd\n", "A\nb\nC\nd\n", 0);
    w.happens(Event::View(ViewEvent::List(ListEvent::Undo)));
    check(&w, "a\nb\nc\nd\n", "A\nb\nC\nd\n", 2);
}

#[test]
fn accepting_or_rejecting_the_turn_affects_only_the_last() {
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
        w.saw(&["Info: Nothing to review here."]);
        let mut w = two(is_open);
        turn(&mut w, ReviewAction::Reject);
        check(&w, "a\nb\nc\nd\n", "A\nb\nc\nd\n", 1);
        turn(&mut w, ReviewAction::Reject);
        check(&w, "a\nb\nc\nd\n", "a\nb\nc\nd\n", 0);
        w.skip();
    }
}

#[test]
fn undoing_overlapping_turns_restores_the_previous_turn() {
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

/// Returns the lines of the question before the undo of the last turn.
fn asked(w: &mut World) -> Vec<String> {
    undo(w, UndoStep::Ask);
    let (_, view) = w.editor.asked.take().expect("a question");
    let lines = view.lines.iter().map(|line| line.text.to_string());
    lines.filter(|line| !line.is_empty()).collect()
}

#[test]
fn files_that_cannot_be_restored_are_reported_and_left() {
    let mut w = World::ready();
    w.disk.put(F, "a\nb\n");
    w.disk.keeps_nothing = true;
    w.disk.set("/p/bytes".into(), b"\0old".to_vec());
    w.disk.put("/p/closed", "secret\n");
    w.disk.closed.insert("/p/closed".into());
    w.disk.put("/p/fixed", "a\n");
    w.disk.chmods("/p/fixed", 0o444);
    w.settle();
    w.prompts("first");
    w.disk.put(F, "a\nB\n");
    w.disk.set("/p/bytes".into(), b"\0other".to_vec());
    w.disk.closed.clear();
    w.disk.put("/p/closed", "open\n");
    w.disk.put("/p/fixed", "b\n");
    w.settle();
    ends(&mut w);
    w.skip();
    let want = [
        " restore     f  +1 -1",
        " leave       bytes  (it was a binary file, and its content was not kept)",
        " leave       closed  (it could not be read earlier, so its content was not kept)",
        " leave       fixed  (it is read-only; `chmod u+w` lets it be restored)",
    ];
    assert_eq!(asked(&mut w)[..4], want);
    undo(&mut w, UndoStep::Undo(None));
    let left = "Warn: Left as they are: bytes (it was a binary file, and its content was not kept), closed \
                (it could not be read earlier, so its content was not kept), fixed (it is read-only; \
                `chmod u+w` lets it be restored).";
    w.saw(&[left, "review of /p/f: 0"]);
    assert_eq!(w.disk.get(F).unwrap(), "a\nb\n");
    assert_eq!(w.disk.get("/p/bytes").unwrap(), "\0other");
    assert_eq!(w.disk.get("/p/closed").unwrap(), "open\n");
    assert_eq!(w.disk.get("/p/fixed").unwrap(), "b\n");
    // A further undo still reports the files it leaves alone.
    undo(&mut w, UndoStep::Undo(None));
    w.saw(&["Info: There is nothing left to undo in any turn.", left]);
}

#[test]
fn a_file_made_read_only_by_the_turn_is_restored() {
    let mut w = World::ready();
    w.disk.put(F, "a\n");
    w.settle();
    w.prompts("first");
    w.disk.put(F, "b\n");
    w.disk.chmods(F, 0o444);
    w.settle();
    ends(&mut w);
    undo(&mut w, UndoStep::Undo(None));
    assert_eq!(w.disk.get(F).unwrap(), "a\n");
    w.skip();
}

/// The route by which an agent writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Door {
    Client,
    Disk,
}

impl Door {
    fn writes(self, w: &mut World, content: &str) {
        match self {
            Door::Client => writes(w, content),
            Door::Disk => {
                w.disk.put(F, content);
                w.settle();
            }
        }
    }
}

#[test]
fn the_users_saves_beside_the_agents_lines_survive_an_undo() {
    const OLD: &str = "a\nb\nc\nd\ne\nf\n";
    for door in [Door::Client, Door::Disk] {
        // The user saves before the agent writes, or after.
        for is_first in [true, false] {
            let mut w = begun(true, OLD);
            let types_and_saves = |w: &mut World, row: usize| {
                types(w, row, 1, &["mine"]);
                let buf = w.buf(F);
                w.edits(|editor, disk, out| editor.saves(buf, disk, out));
            };
            let mut agents = OLD.replace('b', "B");
            if is_first {
                types_and_saves(&mut w, 4);
                agents = agents.replace('e', "mine");
            }
            door.writes(&mut w, &agents);
            if !is_first {
                types_and_saves(&mut w, 4);
            }
            // The agent writes again next to the user's line, based on the file's present text.
            let again = w.disk.get(F).unwrap().replace("c\n", "c\nadded\n");
            door.writes(&mut w, &again);
            types_and_saves(&mut w, 0);
            ends(&mut w);
            assert_eq!(w.disk.get(F).unwrap(), "mine\nB\nc\nadded\nd\nmine\nf\n");
            undo(&mut w, UndoStep::Undo(None));
            let want = "mine\nb\nc\nd\nmine\nf\n";
            check(&w, want, want, 0);
            assert_eq!(w.disk.get(F).unwrap(), want, "{door:?}, {is_first}");
            w.skip();
        }
    }
}

#[test]
fn the_users_edit_in_the_agents_lines_survives_another_write() {
    let mut w = begun(true, "a\n");
    writes(&mut w, "a\none\ntwo\n");
    types(&mut w, 1, 1, &["mine"]);
    // The agent writes based on the text it has seen.
    writes(&mut w, "a\none\ntwo\nthree\n");
    assert_eq!(w.buffer(F), "a\nmine\ntwo\nthree\n");
    ends(&mut w);
    undo(&mut w, UndoStep::Undo(None));
    assert_eq!(w.buffer(F), "a\nmine\n");
    w.skip();
}

#[test]
fn a_created_file_keeps_the_users_line_between_two_writes() {
    let mut w = World::ready();
    w.prompts("make it");
    writes(&mut w, "new\nlines\n");
    w.opens_file(F);
    types(&mut w, 1, 0, &["mine"]);
    writes(&mut w, "new\nlines\nmore\n");
    assert_eq!(w.buffer(F), "new\nmine\nlines\nmore\n");
    ends(&mut w);
    w.decides(ReviewAction::Reject, Scope::All);
    assert_eq!(w.buffer(F), "mine\n");
    w.skip();
}

#[test]
fn a_line_of_the_users_that_the_agent_replaces_is_back() {
    let mut w = begun(true, "a\nb\nc\n");
    writes(&mut w, "a\nb\nC\n");
    types(&mut w, 0, 1, &["mine"]);
    let buf = w.buf(F);
    w.edits(|editor, disk, out| editor.saves(buf, disk, out));
    w.asks(
        "7",
        "fs/read_text_file",
        &json!({ "sessionId": "s1", "path": F }),
    );
    writes(&mut w, "X\nb\nC\n");
    ends(&mut w);
    undo(&mut w, UndoStep::Undo(None));
    assert_eq!(w.buffer(F), "mine\nb\nc\n");
    w.skip();
}

#[test]
fn what_was_rejected_is_not_brought_back_and_what_was_accepted_is_undone() {
    for is_open in [true, false] {
        let mut w = begun(is_open, "a\nb\nc\n");
        writes(&mut w, "a\nb\nc\none\n");
        next_turn(&mut w, "second");
        writes(&mut w, "A\nb\nc\ntwo\n");
        ends(&mut w);
        let (path, row) = (F.into(), 3);
        w.decides(ReviewAction::Reject, Scope::At { path, row });
        let (path, row) = (F.into(), 0);
        w.decides(ReviewAction::Accept, Scope::At { path, row });
        check(&w, "A\nb\nc\n", "A\nb\nc\n", 0);
        undo(&mut w, UndoStep::Undo(None));
        check(&w, "a\nb\nc\n", "a\nb\nc\n", 0);
        undo(&mut w, UndoStep::Back);
        check(&w, "A\nb\nc\n", "A\nb\nc\n", 0);
        w.skip();
        // The reject is taken back: all of the turn is undone.
        w.happens(Event::View(ViewEvent::List(ListEvent::Undo)));
        w.happens(Event::View(ViewEvent::List(ListEvent::Undo)));
        check(&w, "a\nb\nc\n", "A\nb\nc\ntwo\n", 2);
        undo(&mut w, UndoStep::Undo(None));
        check(&w, "a\nb\nc\n", "a\nb\nc\none\n", 1);
        w.skip();
    }
}

#[test]
fn the_reject_of_a_turn_is_taken_back_in_all_files() {
    for is_open in [true, false] {
        let mut w = begun(is_open, "a\nb\nc\n");
        writes(&mut w, "A\nb\nc\n");
        next_turn(&mut w, "second");
        writes(&mut w, "A\nb\nC\n");
        w.writes("/p/new", "n\n");
        ends(&mut w);
        turn(&mut w, ReviewAction::Reject);
        check(&w, "a\nb\nc\n", "A\nb\nc\n", 1);
        assert_eq!(w.disk.get("/p/new"), None);
        w.skip();
        w.happens(Event::View(ViewEvent::List(ListEvent::Undo)));
        check(&w, "a\nb\nc\n", "A\nb\nC\n", 2);
        assert_eq!(w.disk.get(F).unwrap(), "A\nb\nC\n");
        assert_eq!(w.disk.get("/p/new").unwrap(), "n\n");
        // Nothing is reported as rejected.
        w.skip();
        w.prompts("third");
        w.saw(&["turn of 1 started", "a1 <- session/prompt s1: third"]);
        ends(&mut w);
        // No turn was undone.
        w.skip();
        undo(&mut w, UndoStep::Back);
        w.saw(&["Info: No turn has been undone."]);
    }
}

/// Returns the files with a pending decision.
fn pending(w: &World) -> Vec<String> {
    let all = w.model.workspace.reviews().iter();
    let pending = all.filter(|(_, file)| file.is_pending());
    pending
        .map(|(path, _)| path.display().to_string())
        .collect()
}

#[test]
fn accepting_a_turn_accepts_what_it_did_to_files_as_a_whole() {
    let deeds: [fn(&mut super::disk::Disk); 6] = [
        |disk| disk.put("/p/new", "new\n"),
        |disk| disk.put("/p/new", ""),
        |disk| disk.removes(F),
        |disk| disk.moves(F, "/p/g"),
        |disk| disk.chmods(F, 0o755),
        |disk| disk.put(F, "a\r\nb\r\n"),
    ];
    for is_open in [true, false] {
        for (nth, deed) in deeds.iter().enumerate() {
            let mut w = begun(is_open, "a\nb\n");
            deed(&mut w.disk);
            w.settle();
            ends(&mut w);
            assert_eq!(pending(&w).len(), 1, "{nth}");
            let there = w.disk.states();
            turn(&mut w, ReviewAction::Accept);
            assert_eq!(pending(&w), [""; 0], "{nth}");
            // Nor is an accepted change rejected with a turn.
            turn(&mut w, ReviewAction::Reject);
            assert_eq!(w.disk.states(), there, "{nth}");
            w.skip();
        }
    }
}

#[test]
fn accepted_hunks_of_a_rejected_turn_are_not_told_as_rejected() {
    let mut w = begun(true, "a\nb\nc\n");
    writes(&mut w, "A\nb\nC\n");
    ends(&mut w);
    let (path, row) = (F.into(), 0);
    w.decides(ReviewAction::Accept, Scope::At { path, row });
    turn(&mut w, ReviewAction::Reject);
    assert_eq!(w.buffer(F), "A\nb\nc\n");
    let reviews = w.model.workspace.reviews();
    let told = reviews.get(Path::new(F)).expect("a review").told_rejected();
    let told: Vec<_> = told.iter().map(|rejected| rejected.first_line()).collect();
    assert_eq!(told, [Some("C")]);
}

#[test]
fn a_file_that_an_earlier_turn_created_is_accepted_with_that_turn() {
    for is_open in [true, false] {
        let mut w = begun(is_open, "a\n");
        w.disk.put("/p/new", "one\n");
        w.settle();
        next_turn(&mut w, "second");
        w.disk.put("/p/new", "one\ntwo\n");
        w.settle();
        ends(&mut w);
        turn(&mut w, ReviewAction::Accept);
        assert_eq!(pending(&w), ["/p/new"]);
        let base = |w: &World| {
            let reviews = w.model.workspace.reviews();
            reviews
                .get(Path::new("/p/new"))
                .map(|it| it.ledger.base().to_string())
        };
        assert_eq!(base(&w).as_deref(), Some("two\n"));
        turn(&mut w, ReviewAction::Accept);
        assert_eq!(pending(&w), [""; 0]);
        assert_eq!(base(&w).as_deref(), Some("one\ntwo\n"));
        w.skip();
    }
}

#[test]
fn what_another_session_did_to_a_whole_file_is_not_accepted_with_a_turn() {
    let s2 = SessionKey(2);
    let mut w = begun(false, "a\nb\n");
    writes(&mut w, "A\nb\n");
    ends(&mut w);
    w.opens(2, "bot");
    w.prompts_in(s2, "second");
    w.disk.chmods(F, 0o755);
    w.settle();
    ends(&mut w);
    let accept = |w: &mut World, session| {
        let session = Some(session);
        w.decides(ReviewAction::Accept, Scope::Turn { session });
    };
    let whole = |w: &World| {
        let reviews = w.model.workspace.reviews();
        let review = reviews.get(Path::new(F)).expect("a review");
        (review.ledger.hunks().len(), review.whole().len())
    };
    assert_eq!(whole(&w), (1, 1));
    accept(&mut w, S1);
    assert_eq!(whole(&w), (0, 1));
    accept(&mut w, s2);
    assert_eq!(whole(&w), (0, 0));
    w.skip();
}
