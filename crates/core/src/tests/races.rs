//! Events during an operation on the same file.

use std::path::Path;

use serde_json::json;

use super::ondisk::{PLACES, Place, check_settled, decide, running, shell, steps, types, writes};
use super::world::{Part, World};
use crate::event::{Event, ReviewEvent};
use crate::spine::event::{ReviewAction, Scope, UndoStep};

const F: &str = "/p/f";

/// Compares the ledger, the disk, and the buffer if there is one.
#[track_caller]
fn check(w: &World, text: &str, base: &str) {
    let review = w
        .model
        .workspace
        .reviews()
        .get(Path::new(F))
        .expect("a review");
    assert_eq!(review.ledger.current().to_string(), text, "current");
    assert_eq!(review.ledger.base().to_string(), base, "base");
    assert_eq!(w.disk.get(F).as_deref(), Some(text), "disk");
    if w.editor.find(Path::new(F)).is_some() {
        assert_eq!(w.buffer(F), text, "buffer");
    }
}

/// Carries out the next operation on the file.
fn disk_works(w: &mut World) {
    let event = w.disk.work(Path::new(F)).expect("something to do");
    w.happens(event);
}

/// Carries out all operations on the file on disk; the editor and the shadow stay held.
fn disk_rests(w: &mut World) {
    while w.disk.next(Path::new(F)).is_some() {
        disk_works(w);
    }
}

/// Holds all reports about the disk until [`tells`].
fn holds_news(w: &mut World) {
    w.holds(Part::Watcher);
    w.holds(Part::Shadow);
}

/// The shadow looks at the disk and reports all changes.
fn tells(w: &mut World) {
    w.shadow.looks(&mut w.disk);
    while let Some(event) = w.shadow.tells() {
        w.happens(event);
    }
}

fn undo_turn(w: &mut World) {
    let step = UndoStep::Undo(None);
    w.happens(Event::Review(ReviewEvent::UndoTurn {
        session: None,
        step,
    }));
}

#[test]
fn the_users_line_between_the_agents_survives_a_second_write() {
    let mut w = running(Place::Buffer, Some("a\n"));
    writes(&mut w, "1", "a\nX\nY\n");
    types(&mut w, 2, 0, &["mine"]);
    writes(&mut w, "2", "a\nX\nY\nZ\n");
    undo_turn(&mut w);
    check(&w, "a\nmine\n", "a\nmine\n");
    w.skip();
}

#[test]
fn a_line_of_others_on_disk_survives_a_second_write() {
    let mut w = World::ready();
    w.disk.put(F, "a\n");
    w.settle();
    writes(&mut w, "1", "a\nX\nY\n");
    shell(&mut w, |disk| disk.put(F, "a\nX\ntheirs\nY\n"));
    writes(&mut w, "2", "a\nX\nY\nZ\n");
    undo_turn(&mut w);
    check(&w, "a\ntheirs\n", "a\ntheirs\n");
    w.skip();
}

#[test]
fn a_rebased_write_keeps_attribution_of_the_users_line() {
    let mut w = running(Place::Buffer, Some("a\n"));
    writes(&mut w, "1", "a\nX\nY\n");
    w.holds(Part::Editor);
    writes(&mut w, "2", "a\nX\nY\nZ\n");
    types(&mut w, 2, 0, &["mine"]);
    w.goes_on();
    undo_turn(&mut w);
    check(&w, "a\nmine\n", "a\nmine\n");
    w.skip();
}

#[test]
fn a_write_that_the_agent_takes_back_at_once_is_not_listed() {
    for place in PLACES {
        let mut w = running(place, Some("a\nb\n"));
        w.holds(Part::Watcher);
        writes(&mut w, "1", "a\nB\n");
        w.disk.put(F, "a\nb\n");
        w.goes_on();
        w.ends_turn("end_turn");
        check_settled(&w);
        if place == Place::Buffer {
            assert_eq!(w.buffer(F), "a\nb\n");
        }
    }
}

#[test]
fn what_the_agent_writes_again_right_after_its_reject_is_listed() {
    for place in PLACES {
        let mut w = running(place, Some("a\nb\n"));
        shell(&mut w, |disk| disk.put(F, "a\nB\n"));
        w.holds(Part::Watcher);
        w.decides(ReviewAction::Reject, Scope::All);
        assert_eq!(w.disk.get(F).as_deref(), Some("a\nb\n"));
        w.disk.put(F, "a\nB\n");
        w.goes_on();
        w.ends_turn("end_turn");
        check(&w, "a\nB\n", "a\nb\n");
        w.skip();
    }
}

#[test]
fn a_decision_waits_for_the_one_before_it() {
    for (one, two, text) in [
        (ReviewAction::Reject, ReviewAction::Accept, "a\nb\n"),
        (ReviewAction::Accept, ReviewAction::Reject, "a\nX\nb\n"),
    ] {
        for (place, part) in [(Place::Disk, Part::Disk), (Place::Buffer, Part::Editor)] {
            let mut w = running(place, Some("a\nb\n"));
            writes(&mut w, "1", "a\nX\nb\n");
            w.holds(part);
            decide(&mut w, one);
            decide(&mut w, two);
            w.goes_on();
            check(&w, text, text);
            w.skip();
        }
    }
}

#[test]
fn a_waiting_decision_applies_to_its_original_hunk() {
    let mut w = running(Place::Disk, Some("a\nb\nc\nd\n"));
    writes(&mut w, "1", "X\nY\na\nb\nc\nZ\nd\n");
    w.holds(Part::Disk);
    for (action, row) in [(ReviewAction::Reject, 0), (ReviewAction::Reject, 5)] {
        let path = F.into();
        w.decides(action, Scope::At { path, row });
    }
    w.goes_on();
    check(&w, "a\nb\nc\nd\n", "a\nb\nc\nd\n");
    w.skip();
}

#[test]
fn a_buffer_loaded_during_a_decision_gets_the_result() {
    for is_turn in [true, false] {
        let mut w = running(Place::Disk, Some("a\nb\n"));
        holds_news(&mut w);
        writes(&mut w, "1", "a\nX\nb\n");
        w.holds(Part::Disk);
        match is_turn {
            true => undo_turn(&mut w),
            false => decide(&mut w, ReviewAction::Reject),
        }
        disk_works(&mut w);
        w.opens_file(F);
        disk_rests(&mut w);
        check(&w, "a\nb\n", "a\nb\n");
        w.skip();
    }
}

#[test]
fn a_buffer_loaded_while_an_undone_deletion_is_written_gets_the_text() {
    let mut w = running(Place::Disk, Some("a\nb\n"));
    shell(&mut w, |disk| disk.removes(F));
    w.ends_turn("end_turn");
    holds_news(&mut w);
    w.holds(Part::Disk);
    undo_turn(&mut w);
    disk_works(&mut w);
    w.opens_file(F);
    disk_rests(&mut w);
    check(&w, "a\nb\n", "a\nb\n");
    w.skip();
}

#[test]
fn a_buffer_loaded_as_the_agents_write_ends_has_the_agents_lines() {
    let mut w = running(Place::Disk, Some("a\n"));
    holds_news(&mut w);
    writes(&mut w, "1", "a\nX\n");
    w.holds(Part::Disk);
    writes(&mut w, "2", "a\nY\n");
    disk_works(&mut w);
    let written = w.disk.work(Path::new(F)).expect("a write");
    w.opens_file(F);
    w.happens(written);
    check(&w, "a\nY\n", "a\n");
    w.goes_on();
    writes(&mut w, "3", "a\nZ\n");
    check(&w, "a\nZ\n", "a\n");
    w.skip();
}

#[test]
fn a_late_report_does_not_revert_a_ledger() {
    let mut w = World::ready();
    w.disk.put(F, "a\nb\n");
    w.settle();
    holds_news(&mut w);
    w.disk.put(F, "a\nb\nx\n");
    w.shadow.looks(&mut w.disk);
    writes(&mut w, "1", "a\nX\nb\nx\n");
    w.shadow.looks(&mut w.disk);
    decide(&mut w, ReviewAction::Reject);
    while let Some(event) = w.shadow.tells() {
        w.happens(event);
        check(&w, "a\nb\nx\n", "a\nb\nx\n");
    }
    w.skip();
}

#[test]
fn an_unreported_change_stays_and_is_later_attributed_to_the_agent() {
    for (action, before) in [
        (ReviewAction::Accept, "a\nX\nb\nc\n"),
        (ReviewAction::Reject, "a\nb\nc\n"),
    ] {
        let mut w = running(Place::Disk, Some("a\nb\nc\n"));
        holds_news(&mut w);
        writes(&mut w, "1", "a\nX\nb\nc\n");
        tells(&mut w);
        w.disk.put(F, "a\nX\nb\nc\nY\n");
        w.shadow.looks(&mut w.disk);
        decide(&mut w, action);
        let text = format!("{before}Y\n");
        check(&w, &text, &text);
        tells(&mut w);
        check(&w, &text, before);
        w.skip();
    }
}

#[test]
fn a_created_file_changed_by_others_keeps_their_line_on_reject() {
    let mut w = running(Place::Disk, None);
    holds_news(&mut w);
    writes(&mut w, "1", "a\nb\nc\n");
    w.disk.put(F, "a\nb\nuser\nc\n");
    decide(&mut w, ReviewAction::Reject);
    assert_eq!(w.disk.get(F).as_deref(), Some("user\n"));
    w.skip();
}

#[test]
fn a_decision_leaves_a_file_that_became_binary() {
    let mut w = running(Place::Disk, Some("a\n"));
    writes(&mut w, "1", "X\na\n");
    holds_news(&mut w);
    w.disk.set(F.into(), b"\0".to_vec());
    w.skip();
    decide(&mut w, ReviewAction::Reject);
    assert!(w.was_told("/p/f: it is no longer text"));
    assert_eq!(w.disk.get(F).as_deref(), Some("\0"));
    w.skip();
}

#[test]
fn a_decision_leaves_a_file_that_was_deleted() {
    let mut w = running(Place::Disk, Some("a\nb\nc\n"));
    writes(&mut w, "1", "a\nB\nc\n");
    holds_news(&mut w);
    w.disk.removes(F);
    w.skip();
    decide(&mut w, ReviewAction::Reject);
    assert!(w.was_told("/p/f: it no longer exists"));
    assert_eq!(w.disk.get(F), None);
    w.skip();
}

#[test]
fn a_save_at_a_turns_start_is_the_users_without_the_buffer() {
    let mut w = World::ready();
    w.disk.put(F, "a\n");
    w.settle();
    let params = json!({ "sessionId": "s1", "path": F });
    w.asks("1", "fs/read_text_file", &params);
    let buf = w.opens_file(F);
    holds_news(&mut w);
    w.prompts("go");
    w.shadow.checks(&mut w.disk);
    types(&mut w, 0, 0, &["mine"]);
    w.edits(|editor, disk, out| {
        editor.saves(buf, disk, out);
        editor.wipes(buf, out);
    });
    let checkpoint = w.shadow.tells().expect("a checkpoint");
    w.happens(checkpoint);
    // An immediate change by the agent is seen together with the user's save.
    w.disk.put(F, "mine\na\nY\n");
    tells(&mut w);
    writes(&mut w, "2", "a\nY\nX\n");
    check(&w, "mine\na\nY\nX\n", "mine\na\n");
    w.skip();
}

#[test]
fn a_decided_review_is_dropped_after_the_last_report() {
    let mut w = running(Place::Disk, Some("a\r\nb"));
    holds_news(&mut w);
    writes(&mut w, "1", "");
    w.decides(ReviewAction::Reject, Scope::Turn { session: None });
    tells(&mut w);
    assert_eq!(w.kept, []);
    w.skip();
}

#[test]
fn a_file_unreadable_right_after_a_write_is_merged_later() {
    let mut w = running(Place::Disk, Some("a\nb\n"));
    w.holds(Part::Disk);
    writes(&mut w, "1", "a\nX\nb\n");
    disk_works(&mut w);
    w.opens_file(F);
    disk_works(&mut w);
    w.disk.broken.insert(F.into());
    while w.disk.next(Path::new(F)).is_some() {
        disk_works(&mut w);
    }
    w.disk.broken.clear();
    w.goes_on();
    check(&w, "a\nX\nb\n", "a\nb\n");
    w.skip();
}

#[test]
fn rejecting_a_deletion_restores_the_users_line() {
    let mut w = running(Place::Buffer, Some("a\nb\n"));
    writes(&mut w, "1", "X\na\nb\n");
    types(&mut w, 1, 0, &["mine"]);
    shell(&mut w, |disk| disk.removes(F));
    decide(&mut w, ReviewAction::Reject);
    decide(&mut w, ReviewAction::Reject);
    let review = w
        .model
        .workspace
        .reviews()
        .get(Path::new(F))
        .expect("a review");
    assert!(!review.is_pending(), "{:?}", review.ledger.hunks());
    assert_eq!(w.buffer(F), "mine\na\nb\n");
    w.skip();
}

#[test]
fn the_clients_restore_is_not_an_agents_mode_change() {
    let mut w = running(Place::Disk, Some("a\n"));
    holds_news(&mut w);
    w.disk.chmods(F, 0o755);
    w.disk.put(F, "X\na\n");
    w.shadow.looks(&mut w.disk);
    writes(&mut w, "1", "Y\na\n");
    tells(&mut w);
    decide(&mut w, ReviewAction::Reject);
    tells(&mut w);
    let review = w
        .model
        .workspace
        .reviews()
        .get(Path::new(F))
        .expect("a review");
    assert!(!review.is_pending(), "{:?}", review.whole());
    assert_eq!(w.disk.modes.get(Path::new(F)), Some(&0o644));
    w.skip();
}

#[test]
fn a_mode_is_restored_on_a_file_others_made_binary() {
    let mut w = running(Place::Disk, Some("a\n"));
    shell(&mut w, |disk| disk.chmods(F, 0o755));
    w.answers(
        super::world::A1,
        "session/prompt",
        Ok(json!({ "stopReason": "end_turn" })),
    );
    w.settle();
    shell(&mut w, |disk| disk.set(F.into(), b"\0".to_vec()));
    decide(&mut w, ReviewAction::Reject);
    assert_eq!(w.disk.modes.get(Path::new(F)), Some(&0o644));
    w.skip();
}

#[test]
fn a_file_deleted_before_its_buffer_loads_is_restored_completely() {
    let mut w = running(Place::Disk, Some("a\nb\n"));
    w.holds(Part::Watcher);
    w.disk.removes(F);
    w.opens_file(F);
    w.goes_on();
    decide(&mut w, ReviewAction::Reject);
    check(&w, "a\nb\n", "a\nb\n");
    w.skip();
}

#[test]
fn undetectable_line_endings_are_no_change() {
    let mut w = running(Place::Disk, Some("a\r\nb"));
    writes(&mut w, "1", "b\nc\n");
    let (path, row) = (F.into(), 0);
    w.decides(ReviewAction::Accept, Scope::At { path, row });
    decide(&mut w, ReviewAction::Reject);
    assert_eq!(w.disk.get(F).as_deref(), Some("b"));
    let review = w
        .model
        .workspace
        .reviews()
        .get(Path::new(F))
        .expect("a review");
    assert_eq!(review.whole(), []);
    w.skip();
}

#[test]
fn a_mode_set_before_the_clients_write_is_the_agents() {
    let mut w = running(Place::Disk, Some("a\n"));
    holds_news(&mut w);
    w.disk.chmods(F, 0o755);
    w.disk.put(F, "X\na\n");
    w.opens_file(F);
    w.shadow.looks(&mut w.disk);
    writes(&mut w, "1", "X\na\n");
    tells(&mut w);
    decide(&mut w, ReviewAction::Reject);
    check(&w, "a\n", "a\n");
    assert_eq!(w.disk.modes.get(Path::new(F)), Some(&0o644));
    let review = w
        .model
        .workspace
        .reviews()
        .get(Path::new(F))
        .expect("a review");
    assert_eq!(review.whole(), []);
    w.skip();
}

#[test]
fn a_buffer_loaded_during_a_deletion_is_empty() {
    for is_turn in [true, false] {
        let mut w = running(Place::Disk, None);
        holds_news(&mut w);
        writes(&mut w, "1", "X\n");
        w.holds(Part::Disk);
        match is_turn {
            true => undo_turn(&mut w),
            false => decide(&mut w, ReviewAction::Reject),
        }
        disk_works(&mut w);
        w.opens_file(F);
        disk_rests(&mut w);
        assert_eq!(w.disk.get(F), None);
        assert_eq!(w.buffer(F), "\n");
        w.skip();
    }
}

#[test]
fn a_mode_is_the_agents_if_a_change_of_others_is_reported_first() {
    let mut w = World::ready();
    w.disk.put(F, "a\nb\n");
    w.settle();
    holds_news(&mut w);
    w.holds(Part::Disk);
    writes(&mut w, "1", "X\na\nb\n");
    w.disk.put(F, "a\nb\nx\n");
    tells(&mut w);
    w.prompts("go");
    w.shadow.checks(&mut w.disk);
    tells(&mut w);
    w.disk.put(F, "a\nb\nx\nY\n");
    w.disk.chmods(F, 0o755);
    tells(&mut w);
    disk_rests(&mut w);
    decide(&mut w, ReviewAction::Reject);
    disk_rests(&mut w);
    assert_eq!(w.disk.modes.get(Path::new(F)), Some(&0o644));
    w.skip();
}

#[test]
fn a_created_file_with_the_users_line_is_rejected_whenever_the_agents_write_is_reported() {
    for moment in 0.. {
        let mut w = running(Place::Disk, None);
        holds_news(&mut w);
        writes(&mut w, "1", "a\nb\nc\n");
        w.holds(Part::Disk);
        w.holds(Part::Editor);
        let mut left = moment;
        let mut goes_on = |w: &mut World| {
            loop {
                if left == 0 {
                    tells(w);
                }
                left -= 1;
                if !steps(w) {
                    return;
                }
            }
        };
        w.opens_file(F);
        goes_on(&mut w);
        types(&mut w, 1, 0, &["user"]);
        goes_on(&mut w);
        decide(&mut w, ReviewAction::Reject);
        goes_on(&mut w);
        let is_last = left >= 0;
        if is_last {
            tells(&mut w);
        }
        w.goes_on();
        let review = w
            .model
            .workspace
            .reviews()
            .get(Path::new(F))
            .expect("known");
        assert_eq!(review.ledger.base().to_string(), "user\n", "at {moment}");
        assert_eq!(review.ledger.current().to_string(), "user\n");
        w.skip();
        if is_last {
            return assert!(moment > 5, "some reports came before the end");
        }
    }
}
