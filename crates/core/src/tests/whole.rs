//! Files that an agent creates, deletes, moves or changes as a whole, on disk.

use std::path::Path;

use serde_json::json;

use super::editor::Travel;
use super::ondisk::{
    PLACES, Place, check_hunks, check_hunks_of, check_settled, check_whole, decide, decide_at,
    disk, running, saves, shell, travels, types, writes,
};
use super::world::{Part, S1, World};
use crate::event::{Event, ProjectEvent, ReviewEvent, ViewEvent};
use crate::spine::event::{ListEvent, ReviewAction, Scope, UndoStep};
use crate::spine::project::{FileChange, Whole};
use crate::text::LineEdit;

const F: &str = "/p/f";
const G: &str = "/p/g";

fn reject(w: &mut World) {
    decide(w, ReviewAction::Reject);
}

fn accept(w: &mut World) {
    decide(w, ReviewAction::Accept);
}

fn mode(w: &World) -> Option<u32> {
    w.disk.modes.get(Path::new(F)).copied()
}

#[test]
fn a_change_without_hunks_is_counted_as_a_file() {
    let mut w = running(Place::Disk, Some("a\n"));
    shell(&mut w, |disk| disk.moves(F, G));
    check_whole(&w, G, &[Whole::Moved(F.into())]);
    w.ends_turn("end_turn");
    assert_eq!(w.editor.titles[&S1], "bot · idle · 1 changed file");
    let opened = ListEvent::Opened { cwd: "/p".into() };
    w.happens(Event::View(ViewEvent::List(opened)));
    let title: Vec<&str> = w.editor.list.title.iter().map(|part| &*part.0).collect();
    assert_eq!(title, ["Review", "1 file"]);
}

#[test]
fn a_created_file_is_deleted_by_reject_and_kept_by_accept() {
    for place in PLACES {
        let made = || {
            let mut w = running(place, None);
            shell(&mut w, |disk| disk.put(F, "new\n"));
            check_whole(&w, F, &[Whole::Created]);
            check_hunks(&w, &[(0, "", "new")]);
            w
        };
        let mut w = made();
        reject(&mut w);
        assert_eq!(disk(&w), None, "{place:?}");
        check_settled(&w);
        let mut w = made();
        accept(&mut w);
        assert_eq!(disk(&w).as_deref(), Some("new\n"));
        check_settled(&w);
        // A later reject restores the accepted version.
        shell(&mut w, |disk| disk.put(F, "v2\n"));
        check_whole(&w, F, &[]);
        reject(&mut w);
        assert_eq!(disk(&w).as_deref(), Some("new\n"), "{place:?}");
        check_settled(&w);
    }
}

/// Rejects all, up to a number of operations on the disk.
fn begins_reject(w: &mut World, ops: usize) {
    w.holds(Part::Disk);
    w.holds(Part::Watcher);
    reject(w);
    for _ in 0..ops {
        if let Some(event) = w.disk.work(Path::new(F)) {
            w.happens(event);
        }
    }
}

/// Rejects what `agent` did to the file, which had the text `before`; after `ops` operations on the
/// disk, another program writes `others` before the next. Its line is still there then.
#[track_caller]
fn check_others_stay(
    place: Place,
    before: Option<&str>,
    agent: fn(&mut super::disk::Disk),
    others: &str,
    ops: usize,
) {
    let mut w = running(place, before);
    shell(&mut w, agent);
    w.ends_turn("end_turn");
    begins_reject(&mut w, ops);
    let is_over = w.disk.busy().is_empty();
    w.disk.put(F, others);
    w.goes_on();
    let there = disk(&w).unwrap_or_default();
    assert!(
        there.contains("mine\n"),
        "{place:?}, {ops} ({is_over}): {there}"
    );
    w.skip();
}

#[test]
fn what_another_program_writes_during_a_reject_of_the_whole_file_stays() {
    for place in PLACES {
        for ops in 0..4 {
            let put = |disk: &mut super::disk::Disk| disk.put(F, "new\n");
            check_others_stay(place, None, put, "new\nmine\n", ops);
            let remove = |disk: &mut super::disk::Disk| disk.removes(F);
            check_others_stay(place, Some("old\n"), remove, "mine\n", ops);
            let chmod = |disk: &mut super::disk::Disk| {
                disk.modes.insert(F.into(), 0o755);
            };
            check_others_stay(place, Some("old\n"), chmod, "old\nmine\n", ops);
        }
    }
}

#[test]
fn what_the_user_saves_during_a_reject_of_the_whole_file_stays() {
    for (ops, is_closed) in (0..4).flat_map(|ops| [(ops, false), (ops, true)]) {
        let mut w = running(Place::Buffer, None);
        shell(&mut w, |disk| disk.put(F, "new\n"));
        w.ends_turn("end_turn");
        begins_reject(&mut w, ops);
        types(&mut w, 0, 0, &["mine"]);
        saves(&mut w);
        if is_closed {
            let buf = w.buf(F);
            w.edits(|editor, _, out| editor.wipes(buf, out));
        }
        w.goes_on();
        let there = disk(&w).unwrap_or_default();
        assert!(there.contains("mine\n"), "{ops}, {is_closed}: {there}");
        w.skip();
    }
}

#[test]
fn a_file_that_is_opened_while_it_is_rejected_is_decided() {
    let put = |text: &'static str| move |disk: &mut super::disk::Disk| disk.put(F, text);
    for ops in 0..4 {
        for before in [None, Some("old\n")] {
            let what = format!("{ops} {before:?}");
            let mut w = running(Place::Disk, before);
            shell(&mut w, put("new\n"));
            w.disk.chmods(F, 0o755);
            w.ends_turn("end_turn");
            shell(&mut w, put("new\nmine\n"));
            begins_reject(&mut w, ops);
            w.opens_file(F);
            w.goes_on();
            let want = format!("{}mine\n", before.unwrap_or_default());
            assert_eq!(disk(&w).as_deref(), Some(&*want), "{what}");
            assert_eq!(w.buffer(F), want, "{what}");
            check_settled(&w);
        }
    }
}

#[test]
fn a_file_that_the_user_deletes_and_closes_is_not_to_be_decided() {
    for is_accepted in [true, false] {
        let mut w = running(Place::Buffer, Some("a\nb\nc\n"));
        shell(&mut w, |disk| disk.put(F, "a\nB\nc\n"));
        w.ends_turn("end_turn");
        if is_accepted {
            accept(&mut w);
        }
        w.holds(Part::Watcher);
        w.disk.removes(F);
        let buf = w.buf(F);
        w.edits(|editor, _, out| editor.wipes(buf, out));
        check_settled(&w);
        w.goes_on();
        check_settled(&w);
        reject(&mut w);
        assert_eq!(disk(&w), None);
        w.skip();
    }
}

#[test]
fn rejecting_an_empty_or_binary_created_file_deletes_it() {
    for bytes in [&b""[..], b"\0\x01"] {
        let mut w = running(Place::Disk, None);
        w.skip();
        shell(&mut w, |disk| disk.set(F.into(), bytes.to_vec()));
        check_whole(&w, F, &[Whole::Created]);
        assert_eq!(w.model.workspace.reviews().counts(S1), (1, 0));
        // It has no hunk, but is announced.
        w.saw(&["review of /p/f: 0"]);
        w.ends_turn("end_turn");
        reject(&mut w);
        assert_eq!(disk(&w), None);
        check_settled(&w);
    }
}

#[test]
fn rejecting_a_created_file_keeps_the_users_lines() {
    let mut w = running(Place::Disk, None);
    shell(&mut w, |disk| disk.put(F, "new\nlines\n"));
    w.ends_turn("end_turn");
    shell(&mut w, |disk| disk.put(F, "new\nmine\nlines\n"));
    reject(&mut w);
    assert_eq!(disk(&w).as_deref(), Some("mine\n"));
    check_settled(&w);
}

#[test]
fn the_users_lines_in_a_file_the_agent_created_come_back_after_its_overwrite() {
    for place in PLACES {
        // Contents from before another program deleted the file have no effect.
        let mut w = running(Place::Disk, Some("a\nb\nc\n"));
        shell(&mut w, |disk| disk.put(F, "a\nB\nc\n"));
        w.ends_turn("end_turn");
        shell(&mut w, |disk| disk.removes(F));
        w.prompts("go");
        shell(&mut w, |disk| disk.put(F, "a\nb\nc\n"));
        if place == Place::Buffer {
            w.opens_file(F);
        }
        shell(&mut w, |disk| disk.put(F, "A\nX\nC\n"));
        w.ends_turn("end_turn");
        check_whole(&w, F, &[Whole::Created]);
        reject(&mut w);
        assert_eq!(disk(&w), None, "{place:?}");
        check_settled(&w);
        // The user's line that the agent replaced comes back.
        let mut w = running(Place::Disk, None);
        shell(&mut w, |disk| disk.put(F, "one\ntwo\nthree\n"));
        w.ends_turn("end_turn");
        shell(&mut w, |disk| disk.put(F, "one\nmine\nthree\nalso mine\n"));
        w.prompts("go");
        shell(&mut w, |disk| disk.put(F, "one\n2\nthree\nalso mine\n"));
        w.ends_turn("end_turn");
        reject(&mut w);
        assert_eq!(disk(&w).as_deref(), Some("mine\nalso mine\n"));
        check_settled(&w);
    }
}

#[test]
fn a_created_file_that_another_program_takes_and_brings_back_is_deleted_by_reject() {
    let mut w = running(Place::Disk, None);
    shell(&mut w, |disk| disk.put(F, "new\nlines\n"));
    w.ends_turn("end_turn");
    // As `git stash -u` and `git stash pop` do, each seen.
    shell(&mut w, |disk| disk.removes(F));
    check_settled(&w);
    shell(&mut w, |disk| disk.put(F, "new\nlines\n"));
    check_whole(&w, F, &[Whole::Created]);
    reject(&mut w);
    assert_eq!(disk(&w), None);
    check_settled(&w);
    // Another new file in its place is not the agent's.
    let mut w = running(Place::Disk, None);
    shell(&mut w, |disk| disk.put(F, "new\nlines\n"));
    w.ends_turn("end_turn");
    for text in ["", "mine\n"] {
        shell(&mut w, |disk| disk.removes(F));
        shell(&mut w, |disk| disk.put(F, text));
        check_settled(&w);
    }
}

#[test]
fn a_change_that_another_program_takes_and_brings_back_beside_other_lines_is_pending() {
    for place in PLACES {
        let mut w = running(place, Some("a\nb\nc\nd\ne\n"));
        shell(&mut w, |disk| disk.put(F, "a\nB\nc\nd\ne\n"));
        w.ends_turn("end_turn");
        // As `git stash`, `git pull` and `git stash pop` do, each seen.
        for (text, hunks) in [
            ("a\nb\nc\nd\ne\n", &[][..]),
            ("a\nb\nc\nD\ne\n", &[]),
            ("a\nB\nc\nD\ne\n", &[(1, "b", "B")]),
        ] {
            shell(&mut w, |disk| disk.put(F, text));
            check_hunks(&w, hunks);
        }
        let (session, step) = (Some(S1), UndoStep::Undo(None));
        w.happens(Event::Review(ReviewEvent::UndoTurn { session, step }));
        assert_eq!(disk(&w).as_deref(), Some("a\nb\nc\nD\ne\n"), "{place:?}");
        check_settled(&w);
    }
}

#[test]
fn a_change_is_pending_again_that_another_program_took_away_as_the_buffer_closed() {
    let mut w = running(Place::Buffer, Some("a\nb\nc\nd\ne\n"));
    shell(&mut w, |disk| disk.put(F, "a\nB\nc\nd\ne\n"));
    w.ends_turn("end_turn");
    // `git stash` is seen by what the file holds once it has no buffer.
    w.disk.put(F, "a\nb\nc\nd\ne\n");
    let mut wiped = Vec::new();
    let buf = w.buf(F);
    w.editor.wipes(buf, &mut wiped);
    wiped.into_iter().for_each(|event| w.happens(event));
    check_hunks(&w, &[]);
    shell(&mut w, |disk| disk.put(F, "a\nB\nc\nD\ne\n"));
    check_hunks(&w, &[(1, "b", "B")]);
    reject(&mut w);
    assert_eq!(disk(&w).as_deref(), Some("a\nb\nc\nD\ne\n"));
    check_settled(&w);
}

#[test]
fn a_change_of_a_file_as_a_whole_that_another_program_takes_and_brings_back_is_pending() {
    type Does = fn(&mut super::disk::Disk);
    let (old, deleted, other_mode) = (
        |disk: &mut super::disk::Disk| disk.put(F, "a\nb\n"),
        |disk: &mut super::disk::Disk| disk.removes(F),
        |disk: &mut super::disk::Disk| disk.chmods(F, 0o755),
    );
    let old_mode: Does = |disk| disk.chmods(F, 0o644);
    let bytes: Does = |disk| disk.set(F.into(), b"\0\x01".to_vec());
    // A buffer keeps its text when another program deletes the file, or leaves bytes in it.
    let changes: [(Place, Does, Does); 4] = [
        (Place::Disk, deleted, old),
        (Place::Disk, bytes, old),
        (Place::Disk, other_mode, old_mode),
        (Place::Buffer, other_mode, old_mode),
    ];
    for (place, agents, back) in changes {
        let mut w = running(place, Some("a\nb\n"));
        shell(&mut w, agents);
        w.ends_turn("end_turn");
        let whole = |w: &World| {
            let review = w.model.workspace.reviews().get(Path::new(F));
            review.expect("a review").whole()
        };
        let pending = whole(&w);
        assert!(!pending.is_empty());
        // As `git stash` and `git stash pop` do, each seen.
        shell(&mut w, back);
        check_settled(&w);
        shell(&mut w, agents);
        assert_eq!(whole(&w), pending);
        reject(&mut w);
        assert_eq!(disk(&w).as_deref(), Some("a\nb\n"));
        assert_ne!(mode(&w), Some(0o755));
        check_settled(&w);
    }
}

#[test]
fn a_deletion_can_be_rejected_or_accepted() {
    for place in PLACES {
        let deleted = || {
            let mut w = running(place, Some("a\nb\n"));
            shell(&mut w, |disk| disk.chmods(F, 0o755));
            accept(&mut w);
            shell(&mut w, |disk| disk.removes(F));
            check_whole(&w, F, &[Whole::Deleted]);
            check_hunks(&w, &[(0, "a b", "")]);
            w
        };
        let mut w = deleted();
        w.ends_turn("end_turn");
        if place == Place::Buffer {
            let buf = w.buf(F);
            assert!(!w.editor.buffers[&buf].modified);
            assert_eq!(w.buffer(F), "\n");
        }
        reject(&mut w);
        assert_eq!(disk(&w).as_deref(), Some("a\nb\n"), "{place:?}");
        assert_eq!(mode(&w), Some(0o755));
        check_settled(&w);
        if place == Place::Buffer {
            let buf = w.buf(F);
            assert_eq!(w.buffer(F), "a\nb\n");
            assert!(!w.editor.buffers[&buf].modified);
        }
        let mut w = deleted();
        accept(&mut w);
        assert_eq!(disk(&w), None);
        check_settled(&w);
    }
}

#[test]
fn rejecting_the_hunk_of_a_deleted_file_restores_it() {
    let mut w = running(Place::Disk, Some("a\nb\n"));
    shell(&mut w, |disk| disk.removes(F));
    w.decides(
        ReviewAction::Reject,
        Scope::At {
            path: F.into(),
            row: 0,
        },
    );
    assert_eq!(disk(&w).as_deref(), Some("a\nb\n"));
    check_settled(&w);
}

#[test]
fn undo_refills_the_buffer_of_a_deleted_file() {
    let mut w = running(Place::Buffer, Some("a\nb\n"));
    shell(&mut w, |disk| disk.removes(F));
    travels(&mut w, Travel::Undo);
    assert_eq!(w.buffer(F), "a\nb\n");
    check_hunks(&w, &[]);
}

#[test]
fn unsaved_lines_stay_in_a_deleted_files_buffer() {
    let mut w = running(Place::Buffer, Some("a\nb\n"));
    types(&mut w, 2, 0, &["typed"]);
    shell(&mut w, |disk| disk.removes(F));
    assert_eq!(w.buffer(F), "typed\n");
    let buf = w.buf(F);
    assert!(w.editor.buffers[&buf].modified);
    reject(&mut w);
    assert_eq!(disk(&w).as_deref(), Some("a\nb\n"));
    assert_eq!(w.buffer(F), "a\nb\ntyped\n");
    assert!(w.editor.buffers[&buf].modified);
    check_settled(&w);
    // A line in place of another.
    let mut w = running(Place::Buffer, Some("a\nb\nc\n"));
    types(&mut w, 1, 1, &["typed"]);
    shell(&mut w, |disk| disk.removes(F));
    reject(&mut w);
    assert_eq!(disk(&w).as_deref(), Some("a\nb\nc\n"));
    assert_eq!(w.buffer(F), "a\ntyped\nc\n");
    let buf = w.buf(F);
    assert!(w.editor.buffers[&buf].modified);
    check_settled(&w);
    // A line typed after the deletion.
    let mut w = running(Place::Buffer, Some("a\nb\n"));
    shell(&mut w, |disk| disk.removes(F));
    types(&mut w, 0, 0, &["typed"]);
    w.ends_turn("end_turn");
    reject(&mut w);
    assert_eq!(disk(&w).as_deref(), Some("a\nb\n"));
    assert_eq!(w.buffer(F), "a\nb\ntyped\n\n");
    let buf = w.buf(F);
    assert!(w.editor.buffers[&buf].modified);
    check_settled(&w);
}

#[test]
fn a_file_that_is_gone_and_back_stands_once_in_a_buffer_with_unsaved_lines() {
    for text in ["a\nb\nc\n", "a\nb\nC\n"] {
        let mut w = running(Place::Buffer, Some("a\nb\nc\n"));
        types(&mut w, 1, 1, &["typed"]);
        shell(&mut w, |disk| disk.removes(F));
        assert_eq!(w.buffer(F), "a\ntyped\nc\n");
        shell(&mut w, |disk| disk.put(F, text));
        assert_eq!(w.buffer(F), text.replace('b', "typed"));
        w.ends_turn("end_turn");
        reject(&mut w);
        assert_eq!(w.buffer(F), "a\ntyped\nc\n");
        check_settled(&w);
    }
}

#[test]
fn an_offer_to_delete_is_withdrawn_when_the_file_is_back() {
    type Back = fn(&mut World);
    let ways: [Back; 3] = [
        |w| shell(w, |disk| disk.put(F, "a\nb\nc\n")),
        |w| writes(w, "1", "a\ntyped\nc\n"),
        saves,
    ];
    for back in ways {
        let mut w = running(Place::Buffer, Some("a\nb\nc\n"));
        types(&mut w, 1, 1, &["typed"]);
        shell(&mut w, |disk| disk.removes(F));
        check_hunks(&w, &[(0, "a typed c", "a typed c")]);
        back(&mut w);
        w.ends_turn("end_turn");
        assert_eq!(w.buffer(F), "a\ntyped\nc\n");
        check_settled(&w);
    }
}

#[test]
fn lines_that_the_user_has_removed_and_not_saved_are_in_a_deleted_file_that_is_restored() {
    for (start, removed, left) in [(1, 1, "a\nc\n"), (0, 3, "\n")] {
        let mut w = running(Place::Buffer, Some("a\nb\nc\n"));
        types(&mut w, start, removed, &[]);
        shell(&mut w, |disk| disk.removes(F));
        w.ends_turn("end_turn");
        check_whole(&w, F, &[Whole::Deleted]);
        reject(&mut w);
        assert_eq!(disk(&w).as_deref(), Some("a\nb\nc\n"), "{left:?}");
        assert_eq!(w.buffer(F), left);
        let buf = w.buf(F);
        assert!(w.editor.buffers[&buf].modified, "{left:?}");
        check_settled(&w);
    }
}

#[test]
fn undo_offers_an_accepted_deletion_again() {
    let offered = || {
        let mut w = running(Place::Buffer, Some("a\nb\nc\n"));
        types(&mut w, 1, 1, &["typed"]);
        shell(&mut w, |disk| disk.removes(F));
        assert!(w.was_told("/p/f was deleted on disk, but you have changed it"));
        w.ends_turn("end_turn");
        decide_at(&mut w, ReviewAction::Accept, 0);
        check_settled(&w);
        w.happens(Event::View(ViewEvent::List(ListEvent::Undo)));
        check_whole(&w, F, &[Whole::Deleted]);
        check_hunks(&w, &[(0, "a typed c", "a typed c")]);
        w
    };
    // It is withdrawn as the first one was.
    let mut w = offered();
    shell(&mut w, |disk| disk.put(F, "a\nb\nc\n"));
    check_settled(&w);
    let mut w = offered();
    reject(&mut w);
    assert_eq!(disk(&w).as_deref(), Some("a\nb\nc\n"));
    assert_eq!(w.buffer(F), "a\ntyped\nc\n");
    check_settled(&w);
}

#[test]
fn undo_of_a_rejected_deletion_leaves_the_users_unsaved_lines() {
    let mut w = running(Place::Buffer, Some("a\nb\n"));
    types(&mut w, 2, 0, &["typed"]);
    shell(&mut w, |disk| disk.removes(F));
    w.ends_turn("end_turn");
    reject(&mut w);
    assert_eq!(w.buffer(F), "a\nb\ntyped\n");
    w.happens(Event::View(ViewEvent::List(ListEvent::Undo)));
    assert_eq!(w.buffer(F), "typed\n");
    check_hunks(&w, &[(0, "a b", "")]);
    assert_eq!(disk(&w).as_deref(), Some("a\nb\n"));
    reject(&mut w);
    assert_eq!(w.buffer(F), "a\nb\ntyped\n");
    check_settled(&w);
}

#[test]
fn a_moved_files_review_and_buffer_follow_it_and_return() {
    for place in PLACES {
        let moved = || {
            let mut w = running(place, Some("a\nb\n"));
            shell(&mut w, |disk| disk.put(F, "a\nB\n"));
            shell(&mut w, |disk| disk.moves(F, G));
            check_whole(&w, G, &[Whole::Moved(F.into())]);
            super::ondisk::check_hunks_of(&w, G, &[(1, "b", "B")]);
            assert_eq!(w.model.workspace.reviews().counts(S1), (1, 1));
            if place == Place::Buffer {
                assert_eq!(w.buffer(G), "a\nB\n");
            }
            w
        };
        let mut w = moved();
        reject(&mut w);
        assert_eq!(disk(&w).as_deref(), Some("a\nb\n"), "{place:?}");
        assert_eq!(w.disk.get(G), None);
        check_settled(&w);
        if place == Place::Buffer {
            assert_eq!(w.buffer(F), "a\nb\n");
        }
        let mut w = moved();
        accept(&mut w);
        assert_eq!(w.disk.get(G).as_deref(), Some("a\nB\n"));
        check_settled(&w);
    }
}

/// Moves the file with its buffer, as a file explorer does, and checks that the review goes along.
/// The user may have typed a line below.
#[track_caller]
fn check_moved_by_user(during_turn: bool, report_first: bool, types: bool) {
    let about = format!("{during_turn} {report_first} {types}");
    let mut w = running(Place::Buffer, Some("a\nb\n"));
    shell(&mut w, |disk| disk.put(F, "a\nB\n"));
    if !during_turn {
        w.ends_turn("end_turn");
    }
    if types {
        super::ondisk::types(&mut w, 2, 0, &["mine"]);
    }
    let buf = w.buf(F);
    w.disk.moves(F, G);
    if report_first {
        w.settle();
    }
    w.edits(|editor, disk, out| editor.renames(buf, G, disk, out));
    super::ondisk::check_hunks_of(&w, G, &[(1, "b", "B")]);
    assert_eq!(w.model.workspace.reviews().counts(S1), (1, 1), "{about}");
    if !report_first {
        check_whole(&w, G, &[]);
    }
    reject(&mut w);
    let mine = if types { "mine\n" } else { "" };
    let path = if during_turn && report_first { F } else { G };
    assert_eq!(w.buffer(path), format!("a\nb\n{mine}"), "{about}");
    // A buffer with unsaved lines is not saved.
    let saved = if types { "a\nB\n" } else { "a\nb\n" };
    assert_eq!(w.disk.get(path).as_deref(), Some(saved), "{about}");
    check_settled(&w);
}

#[test]
fn a_file_that_the_user_moves_with_its_buffer_takes_its_review_along() {
    for during_turn in [false, true] {
        for report_first in [false, true] {
            for types in [false, true] {
                check_moved_by_user(during_turn, report_first, types);
            }
        }
    }
}

#[test]
fn a_decision_is_undone_where_the_user_has_moved_its_file() {
    for place in PLACES {
        let mut w = running(place, Some("a\nb\n"));
        shell(&mut w, |disk| disk.put(F, "a\nB\n"));
        w.ends_turn("end_turn");
        reject(&mut w);
        w.disk.moves(F, G);
        match place {
            Place::Buffer => {
                let buf = w.buf(F);
                w.edits(|editor, disk, out| editor.renames(buf, G, disk, out));
            }
            Place::Disk => w.settle(),
        }
        w.happens(Event::View(ViewEvent::List(ListEvent::Undo)));
        check_hunks_of(&w, G, &[(1, "b", "B")]);
        assert_eq!(w.disk.get(G).as_deref(), Some("a\nB\n"), "{place:?}");
    }
}

#[test]
fn a_file_moved_and_back_has_no_change() {
    let mut w = running(Place::Buffer, Some("a\n"));
    shell(&mut w, |disk| disk.moves(F, G));
    shell(&mut w, |disk| disk.moves(G, F));
    check_settled(&w);
    assert_eq!(w.buffer(F), "a\n");
}

#[test]
fn a_late_report_of_a_move_back_is_no_move_of_the_agents() {
    let mut w = running(Place::Disk, Some("a\nb\n"));
    shell(&mut w, |disk| {
        disk.put(F, "a\nB\n");
        disk.moves(F, G);
    });
    check_whole(&w, G, &[Whole::Moved(F.into())]);
    let moved = w.disk.states().remove(Path::new(G)).expect("a file");
    // A look comes between the move back and the write.
    reject(&mut w);
    let change = FileChange {
        path: F.into(),
        from: Some(G.into()),
        before: moved.clone(),
        after: moved,
    };
    let (root, changes) = ("/p".into(), vec![change]);
    w.happens(Event::Project(ProjectEvent::Changed { root, changes }));
    check_whole(&w, F, &[]);
    assert_eq!(disk(&w).as_deref(), Some("a\nb\n"));
    check_settled(&w);
}

#[test]
fn a_failed_move_back_is_reported() {
    let mut w = running(Place::Disk, Some("a\n"));
    shell(&mut w, |disk| disk.moves(F, G));
    w.ends_turn("end_turn");
    shell(&mut w, |disk| disk.put(F, "others\n"));
    reject(&mut w);
    assert!(w.was_told("Error: /p/f is there already"));
    assert_eq!(w.disk.get(G).as_deref(), Some("a\n"));
    check_whole(&w, G, &[Whole::Moved(F.into())]);
}

#[test]
fn a_changed_mode_is_a_pending_change() {
    for place in PLACES {
        for end in [false, true] {
            let mut w = running(place, Some("a\nb\n"));
            shell(&mut w, |disk| disk.chmods(F, 0o755));
            check_whole(&w, F, &[Whole::Mode(0o644, 0o755)]);
            check_hunks(&w, &[]);
            assert_eq!(w.model.workspace.reviews().counts(S1), (1, 0));
            shell(&mut w, |disk| disk.put(F, "a\nB\n"));
            if end {
                w.ends_turn("end_turn");
            }
            reject(&mut w);
            assert_eq!(mode(&w), Some(0o644), "{place:?}");
            assert_eq!(disk(&w).as_deref(), Some("a\nb\n"));
            check_settled(&w);
        }
    }
}

#[test]
fn a_mode_that_is_reported_together_with_a_write_of_ours_is_a_pending_change() {
    for place in PLACES {
        let mut w = running(place, Some("a\nb\n"));
        w.holds(Part::Watcher);
        writes(&mut w, "1", "a\nB\n");
        w.disk.chmods(F, 0o755);
        w.ends_turn("end_turn");
        check_whole(&w, F, &[Whole::Mode(0o644, 0o755)]);
        reject(&mut w);
        assert_eq!(mode(&w), Some(0o644), "{place:?}");
        assert_eq!(disk(&w).as_deref(), Some("a\nb\n"));
        check_settled(&w);
    }
}

#[test]
fn changed_line_endings_are_a_pending_change() {
    for place in PLACES {
        for after in ["a\r\nb\r\n", "a\r\nB\r\n"] {
            let mut w = running(place, Some("a\nb\n"));
            shell(&mut w, |disk| disk.put(F, after));
            check_whole(&w, F, &[Whole::Format("line ends LF to CRLF".into())]);
            w.ends_turn("end_turn");
            reject(&mut w);
            assert_eq!(disk(&w).as_deref(), Some("a\nb\n"), "{place:?} {after:?}");
            check_settled(&w);
        }
    }
}

#[test]
fn stored_binary_content_is_restored() {
    for (before, after) in [
        (&b"\0one"[..], &b"\0two"[..]),
        (b"text\n", b"\0two"),
        (b"\0one", b"text\n"),
    ] {
        for place in PLACES {
            if place == Place::Buffer && before.contains(&0) {
                continue;
            }
            let mut w = running(Place::Disk, None);
            w.ends_turn("end_turn");
            shell(&mut w, |disk| disk.set(F.into(), before.to_vec()));
            if place == Place::Buffer {
                w.opens_file(F);
            }
            w.prompts("go");
            shell(&mut w, |disk| disk.set(F.into(), after.to_vec()));
            check_whole(&w, F, &[Whole::Binary { kept: true }]);
            w.ends_turn("end_turn");
            reject(&mut w);
            assert_eq!(w.disk.files[Path::new(F)], before);
            check_settled(&w);
        }
    }
}

#[test]
fn a_text_that_has_become_binary_is_restored_if_it_is_opened_meanwhile() {
    let mut w = running(Place::Disk, Some("a\nb\n"));
    shell(&mut w, |disk| disk.set(F.into(), b"\0agent\nb\n".to_vec()));
    w.ends_turn("end_turn");
    w.opens_file(F);
    check_whole(&w, F, &[Whole::Binary { kept: true }]);
    reject(&mut w);
    assert_eq!(disk(&w).as_deref(), Some("a\nb\n"));
    assert_eq!(w.buffer(F), "a\nb\n");
    check_settled(&w);
}

#[test]
fn binary_content_of_another_program_replaces_the_agents() {
    for before in [&b"\0one"[..], b"text\n"] {
        let mut w = running(Place::Disk, None);
        w.ends_turn("end_turn");
        shell(&mut w, |disk| disk.set(F.into(), before.to_vec()));
        w.prompts("go");
        shell(&mut w, |disk| disk.set(F.into(), b"\0two".to_vec()));
        w.ends_turn("end_turn");
        check_whole(&w, F, &[Whole::Binary { kept: true }]);
        shell(&mut w, |disk| disk.set(F.into(), b"\0theirs".to_vec()));
        check_settled(&w);
        reject(&mut w);
        assert_eq!(w.disk.files[Path::new(F)], b"\0theirs");
        // The agent's content is under review again if it comes back.
        shell(&mut w, |disk| disk.set(F.into(), b"\0two".to_vec()));
        check_whole(&w, F, &[Whole::Binary { kept: true }]);
        reject(&mut w);
        assert_eq!(w.disk.files[Path::new(F)], before);
    }
}

#[test]
fn content_too_large_to_store_is_reported_and_left() {
    let mut w = running(Place::Disk, None);
    w.ends_turn("end_turn");
    w.disk.keeps_nothing = true;
    shell(&mut w, |disk| disk.set(F.into(), b"\0one".to_vec()));
    w.prompts("go");
    shell(&mut w, |disk| disk.set(F.into(), b"\0other".to_vec()));
    check_whole(&w, F, &[Whole::Binary { kept: false }]);
    reject(&mut w);
    assert!(w.was_told("/p/f was too large to be kept"));
    check_whole(&w, F, &[Whole::Binary { kept: false }]);
    assert_eq!(w.disk.files[Path::new(F)], b"\0other");
    accept(&mut w);
    check_settled(&w);
}

#[test]
fn a_file_whose_earlier_content_is_unknown_is_not_emptied() {
    let mut w = running(Place::Disk, None);
    w.ends_turn("end_turn");
    shell(&mut w, |disk| {
        disk.set(F.into(), b"one\n".to_vec());
        disk.closed.insert(F.into());
    });
    w.prompts("go");
    shell(&mut w, |disk| {
        disk.closed.clear();
        disk.set(F.into(), b"two\n".to_vec());
    });
    reject(&mut w);
    assert!(w.was_told("/p/f could not be read before it was changed"));
    assert_eq!(disk(&w).as_deref(), Some("two\n"));
    accept(&mut w);
    check_settled(&w);
}

#[test]
fn a_file_that_cannot_be_read_for_a_moment_stays_under_review() {
    for place in PLACES {
        let mut w = running(place, Some("a\nb\n"));
        w.holds(Part::Watcher);
        writes(&mut w, "1", "a\nX\n");
        w.disk.closed.insert(F.into());
        w.disk.broken.insert(F.into());
        w.goes_on();
        writes(&mut w, "2", "a\nY\n");
        w.disk.closed.clear();
        w.disk.broken.clear();
        writes(&mut w, "3", "a\nZ\n");
        w.ends_turn("end_turn");
        check_hunks(&w, &[(1, "b", "Z")]);
        reject(&mut w);
        assert_eq!(disk(&w).as_deref(), Some("a\nb\n"), "{place:?}");
        check_settled(&w);
    }
}

#[test]
fn a_link_replaced_by_a_file_is_restored() {
    let mut w = running(Place::Disk, Some("a\n"));
    w.ends_turn("end_turn");
    shell(&mut w, |disk| {
        disk.link(G, F);
    });
    w.prompts("go");
    shell(&mut w, |disk| {
        disk.links.remove(Path::new(G));
        disk.put(G, "copy\n");
    });
    check_whole(&w, G, &[Whole::Link]);
    reject(&mut w);
    assert_eq!(w.disk.links.get(Path::new(G)), Some(&F.into()));
    assert_eq!(disk(&w).as_deref(), Some("a\n"));
    check_settled(&w);
}

#[test]
fn a_failed_restore_is_reported_and_stays_pending() {
    let mut w = running(Place::Disk, Some("a\n"));
    shell(&mut w, |disk| disk.removes(F));
    w.disk.broken.insert(F.into());
    w.skip();
    reject(&mut w);
    assert!(w.was_told("Error: /p/f could not be read"));
    check_whole(&w, F, &[Whole::Deleted]);
    w.disk.broken.clear();
    reject(&mut w);
    assert_eq!(disk(&w).as_deref(), Some("a\n"));
    check_settled(&w);
}

#[test]
fn a_file_deleted_by_others_has_no_pending_change() {
    let mut w = running(Place::Disk, Some("a\nb\n"));
    shell(&mut w, |disk| disk.put(F, "a\nB\n"));
    w.ends_turn("end_turn");
    shell(&mut w, |disk| disk.removes(F));
    check_settled(&w);
    // When the file is restored, its hunks are pending again.
    shell(&mut w, |disk| disk.put(F, "a\nB\n"));
    check_hunks(&w, &[(1, "b", "B")]);
}

#[test]
fn a_file_that_others_make_unreadable_stays_under_review() {
    for place in PLACES {
        let mut w = running(place, Some("a\nb\n"));
        writes(&mut w, "1", "a\nB\n");
        w.ends_turn("end_turn");
        shell(&mut w, |disk| {
            disk.chmods(F, 0o000);
            disk.closed.insert(F.into());
            disk.broken.insert(F.into());
        });
        check_hunks(&w, &[(1, "b", "B")]);
        shell(&mut w, |disk| {
            disk.chmods(F, 0o600);
            disk.closed.clear();
            disk.broken.clear();
        });
        check_hunks(&w, &[(1, "b", "B")]);
        check_whole(&w, F, &[]);
        reject(&mut w);
        assert_eq!(disk(&w).as_deref(), Some("a\nb\n"), "{place:?}");
        assert_eq!(mode(&w), Some(0o600), "{place:?}");
        check_settled(&w);
    }
}

#[test]
fn a_deleted_and_recreated_file_is_one_change() {
    for place in PLACES {
        let mut w = running(place, Some("a\nb\n"));
        shell(&mut w, |disk| disk.removes(F));
        shell(&mut w, |disk| disk.put(F, "a\nB\n"));
        check_whole(&w, F, &[]);
        check_hunks(&w, &[(1, "b", "B")]);
        writes(&mut w, "1", "a\nC\n");
        check_hunks(&w, &[(1, "b", "C")]);
        reject(&mut w);
        assert_eq!(disk(&w).as_deref(), Some("a\nb\n"), "{place:?}");
    }
}

#[test]
fn a_file_replaced_by_a_link_to_nowhere_is_restored() {
    for place in PLACES {
        let mut w = running(place, Some("a\nb\n"));
        shell(&mut w, |disk| {
            disk.removes(F);
            disk.link(F, "/nowhere");
        });
        check_whole(&w, F, &[Whole::Link]);
        w.ends_turn("end_turn");
        reject(&mut w);
        assert!(w.disk.links.is_empty(), "{place:?}");
        assert_eq!(disk(&w).as_deref(), Some("a\nb\n"), "{place:?}");
        check_settled(&w);
    }
}

/// Returns the state of the disk: texts, modes and links.
fn all_of(w: &World) -> (Vec<(String, Vec<u8>)>, u32, usize) {
    let files = w.disk.files.iter();
    let files = files.map(|(path, bytes)| (path.display().to_string(), bytes.clone()));
    let mut files: Vec<_> = files.collect();
    files.sort();
    (files, mode(w).unwrap_or(0o644), w.disk.links.len())
}

/// Rejects a change of the agent and undoes the reject: the disk is as the agent left it, and the
/// change is pending again.
#[track_caller]
fn check_taken_back(place: Place, before: Option<&str>, does: impl Fn(&mut super::disk::Disk)) {
    let mut w = running(place, before);
    shell(&mut w, does);
    w.ends_turn("end_turn");
    let (there, counts) = (all_of(&w), w.model.workspace.reviews().counts(S1));
    reject(&mut w);
    check_settled(&w);
    assert_ne!(all_of(&w), there, "{place:?}");
    w.happens(Event::View(ViewEvent::List(ListEvent::Undo)));
    assert_eq!(all_of(&w), there, "{place:?}");
    assert_eq!(w.model.workspace.reviews().counts(S1), counts, "{place:?}");
    reject(&mut w);
    check_settled(&w);
}

#[test]
fn rejects_of_whole_file_changes_can_be_undone() {
    for place in PLACES {
        check_taken_back(place, Some("a\nb\n"), |disk| disk.removes(F));
        check_taken_back(place, Some("a\nb\n"), |disk| disk.chmods(F, 0o755));
        check_taken_back(place, Some("a\nb\n"), |disk| {
            disk.put(F, "a\nB\n");
            disk.chmods(F, 0o755);
        });
        check_taken_back(place, Some("a\nb\n"), |disk| disk.put(F, "a\r\nb\r\n"));
        check_taken_back(place, Some("a\nb\n"), |disk| disk.moves(F, G));
        check_taken_back(place, Some("a\nb\n"), |disk| {
            disk.moves(F, G);
            disk.put(G, "a\nB\n");
        });
    }
    let bytes = |disk: &mut super::disk::Disk| disk.set(F.into(), b"\0\x01".to_vec());
    check_taken_back(Place::Disk, None, bytes);
    check_taken_back(Place::Disk, Some("text\n"), bytes);
    check_taken_back(Place::Disk, None, |disk| disk.set(F.into(), Vec::new()));
    check_taken_back(Place::Disk, Some("a\n"), |disk| {
        disk.link(G, F);
    });
}

#[test]
fn undoing_a_reject_keeps_the_users_lines_in_a_restored_file() {
    for place in PLACES {
        let mut w = running(place, Some("a\nb\n"));
        shell(&mut w, |disk| disk.removes(F));
        w.ends_turn("end_turn");
        reject(&mut w);
        shell(&mut w, |disk| disk.put(F, "a\nb\nmine\n"));
        w.happens(Event::View(ViewEvent::List(ListEvent::Undo)));
        assert!(
            disk(&w).is_some_and(|text| text.contains("mine")),
            "{place:?}"
        );
    }
}

#[test]
fn rejecting_a_file_that_the_agent_made_read_only_restores_lines_and_mode() {
    for place in PLACES {
        let mut w = running(place, Some("a\nb\n"));
        let before = mode(&w);
        shell(&mut w, |disk| {
            disk.put(F, "a\nB\n");
            disk.chmods(F, 0o444);
        });
        w.ends_turn("end_turn");
        reject(&mut w);
        assert_eq!(disk(&w).as_deref(), Some("a\nb\n"), "{place:?}");
        assert_ne!(mode(&w), Some(0o444));
        assert_eq!(before.unwrap_or(0o644), mode(&w).unwrap_or(0o644));
        check_settled(&w);
    }
}

/// Lets a link take a file's place and go again, under an agent's write, in the turn or after it;
/// the core learns of the link while it exists, or later.
#[track_caller]
fn check_a_link_for_a_moment(place: Place, is_over: bool, is_late: bool) {
    let what = format!("{place:?} {is_over} {is_late}");
    let mut w = running(place, Some("a\nb\n"));
    writes(&mut w, "7", "A\nb\n");
    check_hunks(&w, &[(0, "a", "A")]);
    if is_over {
        w.ends_turn("end_turn");
    }
    w.disk.link(F, "/nowhere");
    w.shadow.looks(&mut w.disk);
    if !is_late {
        w.settle();
    }
    w.disk.links.remove(Path::new(F));
    w.shadow.looks(&mut w.disk);
    w.settle();
    let review = w.model.workspace.reviews().get(Path::new(F));
    assert_eq!(
        review.map(|review| review.ledger.hunks().len()),
        Some(1),
        "{what}"
    );
    check_hunks(&w, &[(0, "a", "A")]);
    check_whole(&w, F, &[]);
    decide(&mut w, ReviewAction::Reject);
    assert_eq!(disk(&w).as_deref(), Some("a\nb\n"), "{what}");
    check_settled(&w);
}

#[test]
fn a_file_that_is_a_link_for_a_moment_keeps_its_hunks() {
    for place in PLACES {
        for (is_over, is_late) in [(false, false), (false, true), (true, false), (true, true)] {
            check_a_link_for_a_moment(place, is_over, is_late);
        }
    }
}

#[test]
fn a_file_that_is_gone_when_its_new_mode_is_reported_is_read_again() {
    let mut w = running(Place::Buffer, Some("a\nb\n"));
    w.holds(Part::Editor);
    shell(&mut w, |disk| disk.chmods(F, 0o755));
    w.skip();
    w.holds(Part::Watcher);
    shell(&mut w, |disk| disk.removes(F));
    while w.editor_moves() {
        w.settle();
    }
    assert!(!w.was_told("too fast"), "{:?}", w.log);
    w.goes_on();
    w.settle();
    w.ends_turn("end_turn");
    check_whole(&w, F, &[Whole::Deleted]);
}

/// The report of both looks like a move; it comes in time, or when that is rejected again.
#[test]
fn a_file_deleted_and_one_with_its_text_restored_by_an_undo_are_no_move() {
    for (place, is_late) in PLACES.into_iter().flat_map(|it| [(it, false), (it, true)]) {
        let mut w = running(place, Some("a\n"));
        shell(&mut w, |disk| disk.removes(F));
        shell(&mut w, |disk| disk.put(G, "a\n"));
        w.ends_turn("end_turn");
        reject(&mut w);
        check_settled(&w);
        w.holds(Part::Watcher);
        w.holds(Part::Shadow);
        w.happens(Event::View(ViewEvent::List(ListEvent::Undo)));
        assert_eq!((disk(&w), w.disk.get(G).as_deref()), (None, Some("a\n")));
        w.disk.moved.push((F.into(), G.into()));
        w.shadow.looks(&mut w.disk);
        if is_late {
            reject(&mut w);
            check_settled(&w);
        }
        w.goes_on();
        if is_late {
            w.happens(Event::View(ViewEvent::List(ListEvent::Undo)));
        }
        check_whole(&w, F, &[Whole::Deleted]);
        check_whole(&w, G, &[Whole::Created]);
        reject(&mut w);
        assert_eq!((disk(&w).as_deref(), w.disk.get(G)), (Some("a\n"), None));
        check_settled(&w);
        if place == Place::Buffer {
            assert_eq!(w.buffer(F), "a\n");
        }
    }
}

#[test]
fn a_file_moved_to_the_place_of_a_deleted_one_is_two_changes() {
    for place in PLACES {
        let mut w = World::ready();
        w.disk.put(F, "b\nbee\n");
        w.disk.put(G, "a\nbuzz\n");
        w.settle();
        if place == Place::Buffer {
            for path in [F, G] {
                w.opens_file(path);
            }
        }
        w.prompts("go");
        w.skip();
        shell(&mut w, |disk| disk.removes(F));
        check_whole(&w, F, &[Whole::Deleted]);
        shell(&mut w, |disk| disk.moves(G, F));
        check_whole(&w, F, &[]);
        check_hunks(&w, &[(0, "b bee", "a buzz")]);
        check_whole(&w, G, &[Whole::Deleted]);
        reject(&mut w);
        assert_eq!(disk(&w).as_deref(), Some("b\nbee\n"), "{place:?}");
        assert_eq!(w.disk.get(G).as_deref(), Some("a\nbuzz\n"));
        check_settled(&w);
    }
}

#[test]
fn a_moved_file_with_a_link_in_its_place_that_the_agent_writes_through_is_restored() {
    for place in PLACES {
        let mut w = running(place, Some("a\nb\n"));
        shell(&mut w, |disk| disk.moves(F, G));
        shell(&mut w, |disk| disk.link(F, G));
        writes(&mut w, "1", "a\nB\n");
        w.settle();
        w.ends_turn("end_turn");
        w.goes_on();
        check_hunks_of(&w, G, &[(1, "b", "B")]);
        reject(&mut w);
        w.goes_on();
        assert!(w.disk.links.is_empty(), "{place:?}");
        assert_eq!(disk(&w).as_deref(), Some("a\nb\n"), "{place:?}");
        assert_eq!(w.disk.get(G), None, "{place:?}");
        assert_eq!(w.model.workspace.reviews().counts(S1), (0, 0));
        check_settled(&w);
        w.happens(Event::View(ViewEvent::List(ListEvent::Undo)));
        w.goes_on();
        assert_eq!(w.disk.get(G).as_deref(), Some("a\nB\n"), "{place:?}");
        check_hunks_of(&w, G, &[(1, "b", "B")]);
    }
}

#[test]
fn a_move_to_the_place_of_a_decided_file_is_rejected_as_a_whole() {
    for place in PLACES {
        let mut w = running(place, Some("a\nb\n"));
        shell(&mut w, |disk| disk.put(G, "made\n"));
        reject(&mut w);
        assert_eq!(w.disk.get(G), None);
        shell(&mut w, |disk| disk.moves(F, G));
        shell(&mut w, |disk| disk.put(G, "a\nB\n"));
        check_hunks_of(&w, G, &[(1, "b", "B")]);
        check_whole(&w, G, &[Whole::Moved(F.into())]);
        w.ends_turn("end_turn");
        w.goes_on();
        reject(&mut w);
        assert_eq!(disk(&w).as_deref(), Some("a\nb\n"), "{place:?}");
        assert_eq!(w.disk.get(G), None, "{place:?}");
        check_settled(&w);
    }
}

/// Checks that the turn has deleted one file and created another, and that a reject undoes both.
#[track_caller]
fn check_two_files(w: &mut World) {
    w.goes_on();
    w.ends_turn("end_turn");
    w.goes_on();
    check_whole(w, F, &[Whole::Deleted]);
    check_whole(w, G, &[Whole::Created]);
    reject(w);
    assert_eq!(disk(w).as_deref(), Some("a\nb\n"));
    assert_eq!(w.disk.get(G), None);
    check_settled(w);
}

#[test]
fn a_copy_written_beside_a_deletion_is_no_move() {
    for place in PLACES {
        let mut w = running(place, Some("a\nb\n"));
        shell(&mut w, |disk| disk.put(F, "a\nc\n"));
        w.holds(Part::Watcher);
        let params = json!({ "sessionId": "s1", "path": G, "content": "a\nc\n" });
        w.asks("1", "fs/write_text_file", &params);
        // The host sees one file gone and the same text elsewhere.
        w.disk.removes(F);
        w.disk.moved.push((F.into(), G.into()));
        check_two_files(&mut w);
    }
}

#[test]
fn a_file_that_is_written_again_after_it_was_rejected_is_created_whole() {
    for again in ["new\n", "other\n"] {
        let mut w = running(Place::Disk, None);
        writes(&mut w, "1", "new\n");
        reject(&mut w);
        assert_eq!(disk(&w), None);
        writes(&mut w, "2", again);
        assert!(w.answer("2").is_ok(), "{again:?}");
        assert_eq!(disk(&w).as_deref(), Some(again));
        check_whole(&w, F, &[Whole::Created]);
        reject(&mut w);
        assert_eq!(disk(&w), None);
        w.skip();
    }
}

#[test]
fn a_file_moved_back_into_the_buffer_of_its_old_name_is_restored() {
    for unsaved in [None, Some("mine")] {
        let mut w = running(Place::Disk, Some("a\nb\n"));
        shell(&mut w, |disk| {
            disk.put(F, "a\nB\n");
            disk.moves(F, G);
        });
        w.ends_turn("end_turn");
        w.goes_on();
        check_whole(&w, G, &[Whole::Moved(F.into())]);
        let buf = w.opens_file(F);
        if let Some(line) = unsaved {
            let edit = LineEdit {
                start: 0,
                removed: 1,
                lines: vec![line.into()],
            };
            w.edits(|editor, _, out| editor.types(buf, edit, out));
        }
        reject(&mut w);
        assert_eq!(w.disk.get(G), None);
        // Beside unsaved lines, saving is left to the user.
        if let Some(line) = unsaved {
            assert_eq!(w.buffer(F), format!("a\nb\n{line}\n"));
            saves(&mut w);
        }
        let left = disk(&w);
        assert_eq!(left.as_deref(), Some(&*w.buffer(F)));
        assert!(left.is_some_and(|left| left.starts_with("a\nb\n")));
        check_settled(&w);
    }
}

#[test]
fn a_file_moved_into_the_buffer_of_a_missing_one_is_restored() {
    for unsaved in [&[][..], &["mine"]] {
        let mut w = running(Place::Disk, Some("a\nb\n"));
        let buf = w.opens_file(G);
        if !unsaved.is_empty() {
            let lines = unsaved.iter().map(|line| (*line).to_owned()).collect();
            let edit = LineEdit {
                start: 0,
                removed: 1,
                lines,
            };
            w.edits(|editor, _, out| editor.types(buf, edit, out));
        }
        shell(&mut w, |disk| disk.moves(F, G));
        w.ends_turn("end_turn");
        w.goes_on();
        check_whole(&w, G, &[Whole::Moved(F.into())]);
        reject(&mut w);
        assert_eq!(disk(&w).as_deref(), Some("a\nb\n"));
        assert_eq!(w.disk.get(G), None);
        let text = w.buffer(F);
        assert!(unsaved.iter().all(|line| text.contains(line)), "{text:?}");
        check_settled(&w);
    }
}

#[test]
fn a_file_moved_to_the_place_of_a_rejected_one_and_written_at_once_is_restored() {
    let mut w = running(Place::Disk, Some("a\nb\n"));
    let asks = |w: &mut World, id: &str, text: &str| {
        let params = json!({ "sessionId": "s1", "path": G, "content": text });
        w.asks(id, "fs/write_text_file", &params);
        assert!(w.answer(id).is_ok());
    };
    asks(&mut w, "1", "new\n");
    w.settle();
    reject(&mut w);
    w.settle();
    assert_eq!(w.disk.get(G), None);
    w.holds(Part::Watcher);
    w.disk.moves(F, G);
    asks(&mut w, "2", "a\nB\n");
    w.goes_on();
    w.ends_turn("end_turn");
    w.goes_on();
    check_hunks_of(&w, G, &[(1, "b", "B")]);
    check_whole(&w, G, &[Whole::Moved(F.into())]);
    reject(&mut w);
    assert_eq!(disk(&w).as_deref(), Some("a\nb\n"));
    assert_eq!(w.disk.get(G), None);
    check_settled(&w);
}

#[test]
fn a_file_moved_to_the_place_of_a_created_one_before_the_report_is_restored() {
    for place in PLACES {
        let mut w = running(place, Some("a\nb\n"));
        w.holds(Part::Watcher);
        let params = json!({ "sessionId": "s1", "path": G, "content": "new\n" });
        w.asks("1", "fs/write_text_file", &params);
        w.disk.moves(F, G);
        check_two_files(&mut w);
    }
}

#[test]
fn a_moved_file_that_is_written_again_before_the_report_has_one_review() {
    for place in PLACES {
        let mut w = running(place, Some("a\nb\n"));
        shell(&mut w, |disk| disk.put(F, "a\nB\n"));
        check_hunks(&w, &[(1, "b", "B")]);
        w.holds(Part::Watcher);
        w.disk.moves(F, G);
        let params = json!({ "sessionId": "s1", "path": G, "content": "a\nB\nc\n" });
        w.asks("1", "fs/write_text_file", &params);
        check_hunks_of(&w, G, &[(2, "", "c")]);
        w.goes_on();
        w.ends_turn("end_turn");
        w.goes_on();
        check_hunks_of(&w, G, &[(1, "b", "B c")]);
        check_whole(&w, G, &[Whole::Moved(F.into())]);
        assert_eq!(w.model.workspace.reviews().counts(S1), (1, 1));
        reject(&mut w);
        assert_eq!(disk(&w).as_deref(), Some("a\nb\n"), "{place:?}");
        assert_eq!(w.disk.get(G), None, "{place:?}");
        check_settled(&w);
    }
}
