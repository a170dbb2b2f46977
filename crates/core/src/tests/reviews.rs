//! Accepting and rejecting an agent's changes.

use std::path::Path;

use serde_json::json;

use super::editor::Travel;
use super::ondisk::types;
use super::world::{Part, S1, World};
use crate::event::{Event, ReviewEvent, SessionEvent, ViewEvent};
use crate::spine::effect::Save;
use crate::spine::event::{ListEvent, ReviewAction, Scope};

const F: &str = "/p/f";

/// Where a file is when its review begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Disk,
    Buffer,
}

/// A world in which the agent has replaced `before` by `after`; `None` is a missing file.
fn reviewed(place: Place, before: Option<&str>, after: &str) -> World {
    let mut w = World::ready();
    if let Some(before) = before {
        w.disk.put(F, before);
    }
    if place == Place::Buffer {
        w.opens_file(F);
    }
    w.writes(F, after);
    w.skip();
    w
}

fn row(w: &World, row: usize) -> Scope {
    Scope::Hunk { buf: w.buf(F), row }
}

fn disk(w: &World) -> Option<String> {
    w.disk.get(F)
}

fn hunks(w: &World) -> usize {
    w.model
        .workspace
        .reviews()
        .get(Path::new(F))
        .unwrap()
        .ledger
        .hunks()
        .len()
}

#[test]
fn accepting_all_writes_nothing_and_rejecting_all_restores_the_base() {
    for place in [Place::Disk, Place::Buffer] {
        let mut w = reviewed(place, Some("a\nb\nc\n"), "A\nb\nC\n");
        w.decides(ReviewAction::Accept, Scope::All);
        w.saw(&["review of /p/f: 0"]);
        assert_eq!(disk(&w).as_deref(), Some("A\nb\nC\n"));

        let mut w = reviewed(place, Some("a\nb\nc\n"), "A\nb\nC\n");
        w.decides(ReviewAction::Reject, Scope::File { path: F.into() });
        assert_eq!(disk(&w).as_deref(), Some("a\nb\nc\n"), "{place:?}");
        assert_eq!(hunks(&w), 0);
        w.skip();
        w.decides(ReviewAction::Reject, Scope::All);
        w.saw(&["Info: Nothing to review here."]);
    }
}

#[test]
fn deciding_one_hunk_leaves_the_other() {
    let mut w = reviewed(Place::Buffer, Some("a\nb\nc\n"), "A\nb\nC\n");
    let scope = row(&w, 0);
    w.decides(ReviewAction::Reject, scope);
    assert_eq!(w.buffer(F), "a\nb\nC\n");
    w.saw(&["review of /p/f: 1"]);
    let scope = row(&w, 2);
    w.decides(ReviewAction::Accept, scope);
    w.saw(&["review of /p/f: 0"]);
    assert_eq!(disk(&w).as_deref(), Some("a\nb\nC\n"));
}

#[test]
fn undoing_a_reject_brings_the_hunk_back() {
    let mut w = reviewed(Place::Buffer, Some("a\nb\n"), "a\nB\n");
    w.decides(ReviewAction::Reject, Scope::All);
    let buf = w.buf(F);
    w.edits(|editor, _, out| editor.travels(buf, Travel::Undo, out));
    assert_eq!((w.buffer(F).as_str(), hunks(&w)), ("a\nB\n", 1));
    w.edits(|editor, _, out| editor.travels(buf, Travel::Redo, out));
    assert_eq!((w.buffer(F).as_str(), hunks(&w)), ("a\nb\n", 0));
}

#[test]
fn a_decision_and_its_undo_save_a_buffer_with_the_end_that_the_file_has() {
    for end in ["", "\n"] {
        let [before, after] = ["a\nb", "a\nB"].map(|text| format!("{text}{end}"));
        let mut w = reviewed(Place::Buffer, Some(&before), &after);
        let (action, scope) = (ReviewAction::Reject, Scope::All);
        let reject = Event::Review(ReviewEvent::Decide { action, scope });
        let undo = Event::View(ViewEvent::List(ListEvent::Undo));
        for (event, text) in [(reject, before), (undo, after)] {
            w.holds(Part::Editor);
            w.happens(event);
            let saves = w.saves_edits();
            let is_right = match end {
                "" => matches!(saves[..], [Save::AsItEnds(_)]),
                _ => matches!(saves[..], [Save::OverIfClean(_)]),
            };
            assert!(is_right, "{text:?}: {saves:?}");
            assert_eq!(disk(&w), Some(text));
        }
    }
}

#[test]
fn a_reject_leaves_a_modified_buffer_unsaved() {
    let mut w = reviewed(Place::Buffer, Some("a\nb\n"), "a\nB\n");
    types(&mut w, 0, 0, &["typed"]);
    w.decides(ReviewAction::Reject, Scope::All);
    assert_eq!(w.buffer(F), "typed\na\nb\n");
    assert_eq!(disk(&w).as_deref(), Some("a\nB\n"));
}

#[test]
fn rejecting_a_created_file_deletes_it() {
    for place in [Place::Disk, Place::Buffer] {
        let mut w = reviewed(place, None, "new\n");
        assert_eq!(disk(&w).as_deref(), Some("new\n"));
        w.decides(ReviewAction::Reject, Scope::All);
        assert_eq!(disk(&w), None, "{place:?}");
        assert_eq!(hunks(&w), 0);
    }
}

#[test]
fn a_rejected_created_file_keeps_the_users_lines() {
    let mut w = reviewed(Place::Disk, None, "new\nlines\n");
    w.opens_file(F);
    types(&mut w, 0, 0, &["typed"]);
    let buf = w.buf(F);
    w.edits(|editor, disk, out| editor.saves(buf, disk, out));
    w.decides(ReviewAction::Reject, Scope::All);
    assert_eq!(disk(&w).as_deref(), Some("typed\n"));
}

#[test]
fn a_reject_restores_the_accepted_version() {
    for place in [Place::Disk, Place::Buffer] {
        let mut w = reviewed(place, None, "v1\n");
        w.decides(ReviewAction::Accept, Scope::All);
        w.writes(F, "v2\n");
        w.decides(ReviewAction::Reject, Scope::All);
        assert_eq!(disk(&w).as_deref(), Some("v1\n"), "{place:?}");
    }
}

#[test]
fn a_reject_is_rebased_while_the_user_types() {
    let mut w = reviewed(Place::Buffer, Some("a\nb\n"), "a\nB\n");
    w.holds(Part::Editor);
    w.decides(ReviewAction::Reject, Scope::All);
    types(&mut w, 0, 0, &["typed"]);
    w.goes_on();
    assert_eq!(w.buffer(F), "typed\na\nb\n");

    let mut w = reviewed(Place::Buffer, Some("a\nb\n"), "a\nB\n");
    w.holds(Part::Editor);
    let scope = row(&w, 1);
    w.decides(ReviewAction::Reject, scope);
    types(&mut w, 0, 0, &["typed"]);
    w.goes_on();
    assert_eq!(w.buffer(F), "typed\na\nb\n");
}

#[test]
fn a_failed_reject_is_reported_and_the_hunk_stays() {
    let mut w = reviewed(Place::Disk, Some("a\n"), "b\n");
    w.disk.broken.insert(F.into());
    w.decides(ReviewAction::Reject, Scope::All);
    w.saw(&["Error: /p/f could not be read"]);
    assert_eq!(hunks(&w), 1);
    let mut w = reviewed(Place::Buffer, Some("a\n"), "b\n");
    w.disk.broken.insert(F.into());
    w.decides(ReviewAction::Reject, Scope::All);
    assert_eq!((w.buffer(F).as_str(), hunks(&w)), ("a\n", 0));
}

#[test]
fn many_failed_rejects_are_one_message() {
    let mut w = World::ready();
    for number in 10..40 {
        let path = format!("/p/{number}");
        let params = json!({ "sessionId": "s1", "path": path, "content": "a\n" });
        w.asks(&number.to_string(), "fs/write_text_file", &params);
        w.disk.broken.insert(path.into());
    }
    w.skip();
    w.decides(ReviewAction::Reject, Scope::All);
    w.saw(&["Error: 30 decisions failed; `:Acp log` has all. The first: /p/10 could not be read"]);
    // The next one is a separate message.
    let path = "/p/10".into();
    w.decides(ReviewAction::Reject, Scope::File { path });
    w.saw(&["Error: /p/10 could not be read"]);
    w.disk.broken.clear();
}

#[test]
fn a_project_that_is_opened_again_has_its_files_under_review() {
    let mut w = reviewed(Place::Disk, Some("a\n"), "b\n");
    let close = SessionEvent::Close { session: S1 };
    w.happens(Event::Session(close));
    assert!(w.asked.is_empty());
    w.opens(2, "bot");
    assert!(w.asked.contains(Path::new(F)), "{:?}", w.asked);
}

#[test]
fn a_review_moves_to_a_buffer_and_back_to_disk() {
    let mut w = reviewed(Place::Disk, Some("a\nb\n"), "a\nB\n");
    w.opens_file(F);
    let buf = w.buf(F);
    assert_eq!(w.editor.hunks[&buf].len(), 1);
    types(&mut w, 0, 1, &["unsaved"]);
    w.edits(|editor, _, out| editor.wipes(buf, out));
    assert_eq!(hunks(&w), 1);
    w.decides(ReviewAction::Reject, Scope::All);
    assert_eq!(disk(&w).as_deref(), Some("a\nb\n"));
}

#[test]
fn changes_of_others_between_two_writes_are_not_the_agents() {
    let mut w = reviewed(Place::Disk, Some("a\nb\nc\n"), "A\nb\nc\n");
    w.disk.put(F, "A\nb\nc\nothers\n");
    w.writes(F, "A\nB\nc\n");
    assert_eq!(disk(&w).as_deref(), Some("A\nB\nc\nothers\n"));
    w.decides(ReviewAction::Reject, Scope::All);
    assert_eq!(disk(&w).as_deref(), Some("a\nb\nc\nothers\n"));
}

#[test]
fn hunks_are_drawn_again_when_only_the_changedtick_changes() {
    let mut w = reviewed(Place::Buffer, Some("a\nb\n"), "a\nB\n");
    // The changedtick moves after the frame was sent.
    w.holds(Part::Editor);
    types(&mut w, 0, 0, &["typed"]);
    while w.editor_moves() {
        let event = w.to_core.pop_front();
        event.into_iter().for_each(|event| w.apply(event));
        if !w.to_editor.is_empty() {
            break;
        }
    }
    let buf = w.buf(F);
    w.edits(|editor, _, out| editor.ticks(buf, out));
    w.goes_on();
    assert_eq!(w.editor.hunks[&buf][0].row, 2);
}

#[test]
fn deleting_all_lines_and_undoing_restores_the_hunk() {
    let mut w = reviewed(Place::Buffer, Some("a\nb\n"), "a\nB\n");
    types(&mut w, 0, 2, &[]);
    let buf = w.buf(F);
    w.edits(|editor, _, out| editor.travels(buf, Travel::Undo, out));
    assert_eq!((w.buffer(F).as_str(), hunks(&w)), ("a\nB\n", 1));
}
