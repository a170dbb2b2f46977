//! Operations on one file: their order, their number, and their end.

use std::path::Path;

use serde_json::json;

use super::ondisk::{Place, check_settled, decide, running, saves, types, writes};
use super::world::{Part, World};
use crate::spine::effect::EditorEffect;
use crate::spine::event::ReviewAction;
use crate::workspace::fileops::MAX_TRIES;

const F: &str = "/p/f";
const LINK: &str = "/p/link";

/// Carries out edits of a buffer whose changedtick always moves first; returns their number.
fn edits_in_vain(w: &mut World) -> u32 {
    let mut edits = 0;
    loop {
        let buf = w.buf(F);
        let is_edit = |effect: &EditorEffect| matches!(effect, EditorEffect::Edit { .. });
        if w.to_editor.front().is_some_and(is_edit) {
            edits += 1;
            w.edits(|editor, _, out| editor.ticks(buf, out));
        }
        if !w.editor_moves() {
            return edits;
        }
        w.settle();
    }
}

fn writes_by(w: &mut World, name: &str, id: &str, content: &str) {
    let params = json!({ "sessionId": "s1", "path": name, "content": content });
    w.asks(id, "fs/write_text_file", &params);
}

#[test]
fn a_write_to_an_ever_changing_buffer_fails_after_max_tries() {
    let mut w = running(Place::Buffer, Some("a\n"));
    w.holds(Part::Editor);
    writes(&mut w, "1", "a\nX\n");
    assert_eq!(edits_in_vain(&mut w), MAX_TRIES + 1);
    let answer = w.answer("1").as_ref().expect_err("it was not written");
    assert!(
        answer.to_string().contains("it changes too fast"),
        "{answer}"
    );
    w.goes_on();
    writes(&mut w, "2", "a\nY\n");
    assert_eq!(w.buffer(F), "a\nY\n");
    w.skip();
}

#[test]
fn a_decision_on_an_ever_changing_buffer_fails_after_max_tries() {
    let mut w = running(Place::Buffer, Some("a\n"));
    writes(&mut w, "1", "a\nX\n");
    w.holds(Part::Editor);
    decide(&mut w, ReviewAction::Reject);
    assert_eq!(edits_in_vain(&mut w), MAX_TRIES + 1);
    assert!(w.was_told("/p/f: it changes too fast"));
    w.goes_on();
    decide(&mut w, ReviewAction::Reject);
    assert_eq!(w.buffer(F), "a\n");
    w.skip();
}

#[test]
fn merging_into_an_ever_changing_buffer_fails_after_max_tries() {
    let mut w = running(Place::Buffer, Some("a\n"));
    types(&mut w, 0, 0, &["mine"]);
    w.holds(Part::Editor);
    w.disk.put(F, "a\nX\n");
    w.settle();
    assert_eq!(edits_in_vain(&mut w), MAX_TRIES + 1);
    assert!(w.was_told("/p/f: it changes too fast"));
    w.goes_on();
    assert_eq!(w.buffer(F), "mine\na\n");
    w.skip();
}

#[test]
fn writes_by_two_names_of_a_file_are_serialized() {
    let mut w = running(Place::Disk, Some("a\nb\n"));
    w.disk.link(LINK, F);
    w.holds(Part::Disk);
    writes_by(&mut w, LINK, "1", "a\nX\nb\n");
    writes_by(&mut w, F, "2", "a\nX\nb\nY\n");
    let works = |w: &mut World, name: &str| {
        let event = w.disk.work(Path::new(name)).expect("something to do");
        w.happens(event);
    };
    works(&mut w, LINK);
    // The link is resolved, so the two writes share a lane and only one is pending.
    assert_eq!(w.disk.busy().len(), 1, "{:?}", w.disk.busy());
    w.goes_on();
    assert_eq!(w.disk.get(F).as_deref(), Some("a\nX\nb\nY\n"));
    assert!(w.answer("1").is_ok() && w.answer("2").is_ok());
    w.skip();
}

#[test]
fn a_write_of_an_open_file_reads_the_disk_only_if_others_have_written() {
    let mut w = running(Place::Buffer, Some("a\nb\n"));
    w.holds(Part::Disk);
    writes(&mut w, "1", "X\na\nb\n");
    assert!(w.answer("1").is_ok());
    w.holds(Part::Watcher);
    w.disk.put(F, "X\na\nb\nothers\n");
    let before = w.editor.buffers[&w.buf(F)].tick;
    writes(&mut w, "2", "X\nA\nb\n");
    assert_eq!(w.editor.buffers[&w.buf(F)].tick, before);
    w.goes_on();
    assert!(w.answer("2").is_ok());
    assert_eq!(w.buffer(F), "X\nA\nb\nothers\n");
    w.skip();
}

#[test]
fn a_decision_waits_for_the_write_before_it() {
    let mut w = running(Place::Buffer, Some("a\nb\n"));
    writes(&mut w, "1", "X\na\nb\n");
    w.holds(Part::Editor);
    writes(&mut w, "2", "X\na\nb\nY\n");
    decide(&mut w, ReviewAction::Reject);
    assert_eq!(w.buffer(F), "X\na\nb\n");
    w.goes_on();
    assert_eq!(w.buffer(F), "a\nb\n");
    w.skip();
}

#[test]
fn a_read_during_a_write_by_another_name_is_not_its_base() {
    let mut w = World::ready();
    w.disk.put(F, "a\nb\n");
    w.disk.link(LINK, F);
    w.settle();
    let params = json!({ "sessionId": "s1", "path": F });
    w.asks("0", "fs/read_text_file", &params);
    w.holds(Part::Disk);
    writes_by(&mut w, LINK, "1", "X\na\nb\n");
    w.disk.put(F, "a\nb\ntheirs\n");
    w.asks("2", "fs/read_text_file", &params);
    let event = w.disk.work(Path::new(F)).expect("the read");
    w.happens(event);
    w.goes_on();
    assert_eq!(w.disk.get(F).as_deref(), Some("X\na\nb\ntheirs\n"));
    w.skip();
}

#[test]
fn rejecting_a_file_created_empty_keeps_lines_of_others() {
    let mut w = running(Place::Disk, None);
    w.holds(Part::Watcher);
    w.holds(Part::Shadow);
    writes(&mut w, "1", "");
    w.disk.put(F, "theirs\n");
    decide(&mut w, ReviewAction::Reject);
    assert_eq!(w.disk.get(F).as_deref(), Some("theirs\n"));
    w.skip();
}

#[test]
fn what_follows_neovims_save_on_disk_is_not_the_agents() {
    let mut w = running(Place::Buffer, Some("a\n"));
    w.holds(Part::Watcher);
    writes(&mut w, "1", "a\nX\n");
    w.shadow.looks(&mut w.disk);
    let report = w.shadow.tells().expect("the save");
    w.disk.put(F, "others\n");
    w.happens(report);
    decide(&mut w, ReviewAction::Reject);
    assert!(w.was_told("another program has changed it on disk"));
    assert_eq!(w.disk.get(F).as_deref(), Some("others\n"));
    w.goes_on();
    assert_eq!(w.disk.get(F).as_deref(), Some("others\n"));
    w.skip();
}

#[test]
fn a_late_report_of_a_new_file_does_not_bring_back_what_was_rejected_since() {
    let mut w = running(Place::Disk, None);
    w.holds(Part::Watcher);
    writes(&mut w, "1", "a\nb\n");
    w.shadow.looks(&mut w.disk);
    let created = w.shadow.tells().expect("the new file");
    w.opens_file(F);
    types(&mut w, 1, 0, &["mine"]);
    saves(&mut w);
    decide(&mut w, ReviewAction::Reject);
    assert_eq!(w.buffer(F), "mine\n");
    w.shadow.looks(&mut w.disk);
    let saved = w.shadow.tells().expect("the save");
    w.holds(Part::Disk);
    w.happens(created);
    w.ends_turn("end_turn");
    w.happens(saved);
    let before = w.editor.buffers[&w.buf(F)].tick;
    w.goes_on();
    assert_eq!(w.buffer(F), "mine\n");
    assert_eq!(w.editor.buffers[&w.buf(F)].tick, before);
    w.skip();
}

#[test]
fn a_late_report_of_a_new_file_that_was_rejected_brings_nothing_into_its_buffer() {
    // Its buffer is opened before or after it exists.
    for is_first in [true, false] {
        let mut w = running(Place::Disk, None);
        let opens = |w: &mut World| {
            w.opens_file(F);
        };
        w.holds(Part::Watcher);
        if is_first {
            opens(&mut w);
        }
        writes(&mut w, "1", "b\n");
        w.shadow.looks(&mut w.disk);
        let created = w.shadow.tells().expect("the new file");
        if !is_first {
            opens(&mut w);
        }
        decide(&mut w, ReviewAction::Reject);
        assert_eq!((w.disk.get(F), w.buffer(F)), (None, "\n".to_owned()));
        w.shadow.looks(&mut w.disk);
        let gone = w.shadow.tells().expect("the reject");
        w.holds(Part::Disk);
        w.happens(created);
        w.ends_turn("end_turn");
        w.happens(gone);
        w.goes_on();
        assert_eq!(w.buffer(F), "\n", "{is_first}");
        check_settled(&w);
        w.skip();
    }
}

/// Has the agent delete a file and bring it back with this text; the user rejects the deletion before
/// the return is reported.
fn rejected_before_it_is_back(place: Place, text: &str) -> World {
    let mut w = running(place, Some("a\n"));
    w.holds(Part::Watcher);
    w.holds(Part::Shadow);
    w.disk.removes(F);
    w.shadow.looks(&mut w.disk);
    let gone = w.shadow.tells().expect("the deletion");
    w.happens(gone);
    w.disk.put(F, text);
    decide(&mut w, ReviewAction::Reject);
    w.shadow.looks(&mut w.disk);
    if let Some(back) = w.shadow.tells() {
        w.happens(back);
    }
    w.goes_on();
    w.ends_turn("end_turn");
    w
}

#[test]
fn a_file_that_is_back_before_its_deletion_is_rejected_is_not_a_new_one() {
    for place in [Place::Disk, Place::Buffer] {
        let mut w = rejected_before_it_is_back(place, "a\n");
        check_settled(&w);
        w.skip();
        let mut w = rejected_before_it_is_back(place, "b\n");
        decide(&mut w, ReviewAction::Reject);
        assert_eq!(w.disk.get(F).as_deref(), Some("a\n"), "{place:?}");
        check_settled(&w);
        w.skip();
    }
}
