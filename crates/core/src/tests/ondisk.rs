//! Agents that write to disk themselves: which changes are reviewed, and to whom they are
//! attributed.

use std::path::Path;

use serde_json::json;

use super::editor::Travel;
use super::world::{A1, Part, S1, World};
use crate::conversation::queue::QueueAction;
use crate::event::{Event, ProjectEvent, ReviewEvent, SessionEvent, ViewEvent};
use crate::spine::attachment::Attachment;
use crate::spine::effect::Turns;
use crate::spine::event::{ListEvent, Prompt, ReviewAction, Scope, UndoStep};
use crate::spine::ids::{QueueId, SessionKey};
use crate::spine::project::Whole;
use crate::text::{LineEdit, Lines};
use crate::workspace::window::PATIENCE;

const F: &str = "/p/f";

/// Where a file is when the agent changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Disk,
    Buffer,
}

pub const PLACES: [Place; 2] = [Place::Disk, Place::Buffer];

/// A world with a file, in which a turn runs.
pub fn running(place: Place, before: Option<&str>) -> World {
    let mut w = World::ready();
    if let Some(before) = before {
        w.disk.put(F, before);
        w.settle();
    }
    if place == Place::Buffer {
        w.opens_file(F);
    }
    w.prompts("go");
    w.skip();
    w
}

/// Changes the disk, as the agent or one of its commands does.
pub fn shell(w: &mut World, does: impl FnOnce(&mut super::disk::Disk)) {
    does(&mut w.disk);
    w.settle();
}

/// Lets the disk or the editor take one step; returns whether there was one.
pub fn steps(w: &mut World) -> bool {
    let path = w.disk.busy().into_iter().next();
    match path.and_then(|path| w.disk.work(&path)) {
        Some(event) => w.happens(event),
        None if w.editor_moves() => w.settle(),
        None => return false,
    }
    true
}

pub fn types(w: &mut World, start: usize, removed: usize, lines: &[&str]) {
    let buf = w.buf(F);
    let edit = LineEdit {
        start,
        removed,
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
    };
    w.edits(|editor, _, out| editor.types(buf, edit, out));
}

pub fn saves(w: &mut World) {
    let buf = w.buf(F);
    w.edits(|editor, disk, out| editor.saves(buf, disk, out));
}

pub fn travels(w: &mut World, travel: Travel) {
    let buf = w.buf(F);
    w.edits(|editor, _, out| editor.travels(buf, travel, out));
}

pub fn writes(w: &mut World, id: &str, content: &str) {
    let params = json!({ "sessionId": "s1", "path": F, "content": content });
    w.asks(id, "fs/write_text_file", &params);
}

fn reads(w: &mut World, id: &str) -> String {
    let params = json!({ "sessionId": "s1", "path": F });
    w.asks(id, "fs/read_text_file", &params);
    match w.answer(id) {
        Ok(value) => value["content"].as_str().unwrap().to_owned(),
        Err(error) => error.to_string(),
    }
}

pub fn decide(w: &mut World, action: ReviewAction) {
    w.decides(action, Scope::All);
}

/// Accepts the hunk at a row of the file's buffer.
pub fn accept_at(w: &mut World, row: usize) {
    decide_at(w, ReviewAction::Accept, row);
}

pub fn decide_at(w: &mut World, action: ReviewAction, row: usize) {
    let buf = w.buf(F);
    w.decides(action, Scope::Hunk { buf, row });
}

pub fn disk(w: &World) -> Option<String> {
    w.disk.get(F)
}

fn joined(lines: &Lines) -> String {
    lines.iter().collect::<Vec<_>>().join(" ")
}

/// Compares the hunks of a file: row, old lines, new lines.
#[track_caller]
pub fn check_hunks_of(w: &World, path: &str, want: &[(usize, &str, &str)]) {
    let snapshot = w.model.snapshot();
    let found = snapshot.reviews.iter().find(|r| r.path == Path::new(path));
    let hunks = found.into_iter().flat_map(|review| review.hunks.iter());
    let hunks: Vec<(usize, String, String)> = hunks
        .map(|hunk| (hunk.row, joined(&hunk.old), joined(&hunk.new)))
        .collect();
    let shown: Vec<(usize, &str, &str)> = hunks
        .iter()
        .map(|(row, old, new)| (*row, old.as_str(), new.as_str()))
        .collect();
    assert_eq!(shown, want, "{path}");
}

#[track_caller]
pub fn check_hunks(w: &World, want: &[(usize, &str, &str)]) {
    check_hunks_of(w, F, want);
}

/// Compares the changes of a file as a whole.
#[track_caller]
pub fn check_whole(w: &World, path: &str, want: &[Whole]) {
    let snapshot = w.model.snapshot();
    let found = snapshot.reviews.iter().find(|r| r.path == Path::new(path));
    let whole = found.map(|review| review.whole.clone()).unwrap_or_default();
    assert_eq!(whole, want, "{path}");
}

/// Checks that no decision is pending.
#[track_caller]
pub fn check_settled(w: &World) {
    let left: Vec<_> = w.model.snapshot().reviews;
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(w.model.workspace.reviews().counts(S1), (0, 0));
}

#[test]
fn an_agents_write_to_disk_is_reviewed_in_every_place() {
    for place in PLACES {
        let mut w = running(place, Some("a\nb\nc\n"));
        shell(&mut w, |disk| disk.put(F, "A\nb\nC\n"));
        check_hunks(&w, &[(0, "a", "A"), (2, "c", "C")]);
        assert_eq!(w.model.workspace.reviews().counts(S1), (1, 2));
        if place == Place::Buffer {
            assert_eq!(w.buffer(F), "A\nb\nC\n");
            let buf = w.buf(F);
            assert!(!w.editor.buffers[&buf].modified);
            assert_eq!(w.editor.hunks[&buf].len(), 2);
        }
        w.ends_turn("end_turn");
        decide(&mut w, ReviewAction::Reject);
        assert_eq!(disk(&w).as_deref(), Some("a\nb\nc\n"), "{place:?}");
        check_settled(&w);
    }
}

#[test]
fn a_diff_has_line_numbers_as_soon_as_its_file_has_been_read() {
    let mut w = running(Place::Disk, Some("a\nb\nc\n"));
    w.updates(json!({
        "sessionUpdate": "tool_call", "toolCallId": "t", "title": "Edit", "kind": "edit",
        "content": [{ "type": "diff", "path": F, "oldText": "b\n", "newText": "B\n" }],
    }));
    assert!(w.chat().contains("\n  + B"), "{}", w.chat());
    shell(&mut w, |disk| disk.put(F, "a\nB\nc\n"));
    assert!(w.chat().contains("\n  2 + B"), "{}", w.chat());
}

#[test]
fn accepting_a_change_on_disk_writes_nothing() {
    for place in PLACES {
        let mut w = running(place, Some("a\nb\n"));
        shell(&mut w, |disk| disk.put(F, "a\nB\n"));
        let stamp = w.disk.stamp(Path::new(F));
        decide(&mut w, ReviewAction::Accept);
        assert_eq!(w.disk.stamp(Path::new(F)), stamp);
        check_settled(&w);
    }
}

#[test]
fn the_checkpoint_after_a_turn_finds_changes_the_watcher_missed() {
    let mut w = running(Place::Disk, Some("a\n"));
    w.holds(Part::Watcher);
    w.disk.put(F, "A\n");
    w.settle();
    check_hunks(&w, &[]);
    w.ends_turn("end_turn");
    check_hunks(&w, &[(0, "a", "A")]);
}

#[test]
fn changes_outside_of_turns_are_not_attributed_to_the_agent() {
    for place in PLACES {
        let mut w = running(place, Some("a\nb\nc\n"));
        shell(&mut w, |disk| disk.put(F, "A\nb\nc\n"));
        w.ends_turn("end_turn");
        shell(&mut w, |disk| disk.put(F, "A\nb\nothers\n"));
        check_hunks(&w, &[(0, "a", "A")]);
        decide(&mut w, ReviewAction::Reject);
        assert_eq!(disk(&w).as_deref(), Some("a\nb\nothers\n"));
        if place == Place::Buffer {
            assert_eq!(w.buffer(F), "a\nb\nothers\n");
        }
    }
}

/// Codex reports whether it works on its thread.
fn reports(w: &mut World, status: &str) {
    w.updates(json!({
        "sessionUpdate": "session_info_update",
        "_meta": { "codex": { "threadStatus": { "type": status } } },
    }));
}

#[test]
fn what_an_agent_changes_after_its_turn_is_reviewed_while_it_reports_that_it_works() {
    let mut w = running(Place::Disk, Some("a\nb\nc\nd\ne\n"));
    w.ends_turn("end_turn");
    reports(&mut w, "active");
    assert_eq!(w.editor.titles[&S1], "bot · idle · works on its own");
    shell(&mut w, |disk| disk.put(F, "A\nb\nc\nd\ne\n"));
    check_hunks(&w, &[(0, "a", "A")]);
    w.rests();
    // Short rests are part of the work.
    reports(&mut w, "idle");
    assert_eq!(w.editor.titles[&S1], "bot · idle · 1 hunk");
    w.time_passes();
    assert!(w.model.workspace.is_in_turn(S1));
    reports(&mut w, "active");
    w.time_passes();
    shell(&mut w, |disk| disk.put(F, "A\nb\nC\nd\ne\n"));
    check_hunks(&w, &[(0, "a", "A"), (2, "c", "C")]);
    reports(&mut w, "idle");
    w.rests();
    shell(&mut w, |disk| disk.put(F, "A\nb\nC\nd\nothers\n"));
    check_hunks(&w, &[(0, "a", "A"), (2, "c", "C")]);
    let (session, step) = (None, UndoStep::Undo(None));
    w.happens(Event::Review(ReviewEvent::UndoTurn { session, step }));
    assert_eq!(disk(&w).as_deref(), Some("a\nb\nc\nd\nothers\n"));
}

#[test]
fn what_a_call_changes_outside_a_turn_is_reviewed_until_it_has_ended() {
    for (kind, hunks) in [("edit", 1), ("read", 0)] {
        let mut w = running(Place::Disk, Some("a\nb\nc\n"));
        w.ends_turn("end_turn");
        let call = |status: &str| {
            json!({
                "sessionUpdate": "tool_call", "toolCallId": "t", "title": "T", "kind": kind,
                "status": status,
            })
        };
        w.updates(call("pending"));
        shell(&mut w, |disk| disk.put(F, "A\nb\nc\n"));
        assert_eq!(w.model.workspace.reviews().counts(S1).1, hunks, "{kind}");
        w.rests();
        // The checkpoint at the end finds what the watcher missed.
        w.holds(Part::Watcher);
        w.disk.put(F, "A\nb\nC\n");
        w.updates(call("completed"));
        w.rests();
        let hunks = 2 * hunks;
        assert_eq!(w.model.workspace.reviews().counts(S1).1, hunks, "{kind}");
        assert!(!w.model.workspace.is_in_turn(S1));
    }
}

#[test]
fn a_call_that_is_never_closed_counts_until_the_next_turn_has_ended() {
    let mut w = running(Place::Disk, Some("a\nb\n"));
    w.ends_turn("end_turn");
    w.updates(json!({ "sessionUpdate": "tool_call", "toolCallId": "t", "title": "T" }));
    w.rests();
    assert!(w.model.workspace.is_in_turn(S1));
    w.prompts("go on");
    w.ends_turn("end_turn");
    w.rests();
    assert!(!w.model.workspace.is_in_turn(S1));
    shell(&mut w, |disk| disk.put(F, "others\nb\n"));
    check_hunks(&w, &[]);
}

#[test]
fn a_change_while_a_checkpoint_of_work_outside_a_turn_is_pending_is_reviewed() {
    for is_closed in [false, true] {
        let mut w = running(Place::Disk, Some("a\n"));
        w.ends_turn("end_turn");
        w.holds(Part::Shadow);
        w.holds(Part::Watcher);
        reports(&mut w, "active");
        // It has looked, and is not answered yet.
        assert!(w.shadow.checks(&mut w.disk));
        w.disk.put(F, "A\n");
        match is_closed {
            true => w.happens(Event::Session(SessionEvent::Close { session: S1 })),
            false => {
                reports(&mut w, "idle");
                w.rests();
            }
        }
        w.goes_on();
        w.rests();
        check_hunks(&w, &[(0, "a", "A")]);
        assert!(!w.model.workspace.is_in_turn(S1));
    }
}

#[test]
fn what_a_cancelled_call_still_changes_outside_a_turn_is_reviewed() {
    let cancel = |w: &mut World| w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    let call =
        |status: &str| json!({ "sessionUpdate": "tool_call", "toolCallId": "t", "status": status });
    for has_prompt in [false, true] {
        let mut w = running(Place::Disk, Some("a\n"));
        w.ends_turn("end_turn");
        w.updates(call("in_progress"));
        if has_prompt {
            w.holds(Part::Shadow);
            w.prompts("never sent");
            cancel(&mut w);
            w.goes_on();
        }
        cancel(&mut w);
        assert!(w.was_told("session/cancel s1"), "{has_prompt}");
        w.rests();
        shell(&mut w, |disk| disk.put(F, "A\n"));
        check_hunks(&w, &[(0, "a", "A")]);
        w.updates(call("failed"));
        w.rests();
        assert!(!w.model.workspace.is_in_turn(S1));
    }
}

#[test]
fn the_host_learns_when_an_agent_works() {
    let check = |w: &World, turns| assert_eq!(w.shadow.turns, turns);
    let mut w = running(Place::Disk, None);
    w.prompts("queued");
    w.ends_turn("end_turn");
    // The queued prompt was sent with the checkpoint that ended the first turn.
    check(&w, Turns::Running);
    w.ends_turn("end_turn");
    check(&w, Turns::Over);
    w.holds(Part::Shadow);
    w.prompts("never sent");
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    w.goes_on();
    check(&w, Turns::Over);
    reports(&mut w, "active");
    check(&w, Turns::Running);
    reports(&mut w, "idle");
    w.rests();
    check(&w, Turns::Over);
}

#[test]
fn a_later_neovim_looks_for_what_a_turn_changed_until_all_of_it_is_in_the_reviews() {
    for is_closed in [false, true] {
        let mut w = running(Place::Buffer, Some("a\n"));
        assert!(w.shadow.has_turn);
        // The user is typing a command line: the edit is held.
        w.holds(Part::Editor);
        w.disk.put(F, "A\n");
        w.ends_turn("end_turn");
        assert!(!w.model.workspace.is_in_turn(S1));
        if is_closed {
            w.happens(Event::Session(SessionEvent::Close { session: S1 }));
        }
        assert!(w.kept.is_empty());
        assert!(w.shadow.has_turn && w.shadow.is_open());
        w.goes_on();
        assert_eq!(w.kept.len(), 1);
        assert!(!w.shadow.has_turn);
        assert_ne!(w.shadow.is_open(), is_closed);
    }
}

#[test]
fn a_turn_is_over_although_an_edit_of_a_file_elsewhere_is_held() {
    let other = "/q/f";
    let mut w = running(Place::Disk, None);
    w.disk.put(other, "a\n");
    w.opens_file(other);
    w.holds(Part::Editor);
    shell(&mut w, |disk| disk.put(other, "A\n"));
    w.ends_turn("end_turn");
    assert!(!w.model.workspace.fileops().is_empty());
    assert!(!w.shadow.has_turn);
}

#[test]
fn a_turn_is_over_if_its_session_is_closed_before_its_prompt_is_sent() {
    // It waits for its checkpoint, or for the file that it names.
    for part in [Part::Shadow, Part::Disk] {
        let mut w = World::ready();
        w.disk.put(F, "a\n");
        w.settle();
        w.holds(part);
        let prompt = Prompt {
            text: "never sent".into(),
            mentioned: vec![Attachment::file(F)],
            ..Prompt::default()
        };
        let session = S1;
        w.happens(Event::Session(SessionEvent::Prompt { session, prompt }));
        assert!(w.shadow.has_turn);
        w.happens(Event::Session(SessionEvent::Close { session }));
        w.goes_on();
        assert!(!w.was_told("session/prompt"));
        assert!(!w.shadow.has_turn, "{part:?}");
        assert!(!w.shadow.is_open(), "{part:?}");
    }
}

#[test]
fn a_later_neovim_looks_for_what_a_turn_changed_if_its_checkpoint_failed() {
    let mut w = running(Place::Disk, Some("a\n"));
    w.shadow.failure = Some("no room.".into());
    w.ends_turn("end_turn");
    assert!(w.shadow.has_turn);
    w.shadow.failure = None;
    w.prompts("go on");
    w.ends_turn("end_turn");
    assert!(!w.shadow.has_turn);
}

#[test]
fn a_cancel_reaches_what_an_agent_does_outside_a_turn() {
    let cancel = |w: &mut World| w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    let mut w = running(Place::Disk, None);
    w.ends_turn("end_turn");
    reports(&mut w, "active");
    w.skip();
    cancel(&mut w);
    w.saw(&[
        "a1 <- session/cancel s1",
        "Info: The agent works outside a turn and was asked to stop. If it goes on, `:Acp stop` \
         ends it.",
    ]);
    reports(&mut w, "idle");
    cancel(&mut w);
    w.saw(&["Info: Nothing is running in this chat."]);
    reports(&mut w, "active");
    w.exits(A1, "code 1", &[]);
    assert!(!w.model.workspace.is_in_turn(S1));
}

#[test]
fn changes_before_the_turn_are_not_attributed_to_the_agent() {
    for place in PLACES {
        let mut w = World::ready();
        w.disk.put(F, "a\nb\n");
        w.settle();
        if place == Place::Buffer {
            w.opens_file(F);
        }
        w.holds(Part::Watcher);
        w.disk.put(F, "a\nmine\n");
        w.prompts("go");
        w.goes_on();
        check_settled(&w);
        shell(&mut w, |disk| disk.put(F, "A\nmine\n"));
        check_hunks(&w, &[(0, "a", "A")]);
    }
}

#[test]
fn unsaved_lines_survive_the_agents_change() {
    let mut w = running(Place::Buffer, Some("a\nb\nc\n"));
    types(&mut w, 1, 0, &["typed"]);
    shell(&mut w, |disk| disk.put(F, "A\nb\nc\n"));
    assert_eq!(w.buffer(F), "A\ntyped\nb\nc\n");
    check_hunks(&w, &[(0, "a", "A")]);
    let buf = w.buf(F);
    assert!(w.editor.buffers[&buf].modified);
    decide(&mut w, ReviewAction::Reject);
    assert_eq!(w.buffer(F), "a\ntyped\nb\nc\n");
}

#[test]
fn lines_changed_by_both_become_a_conflict() {
    let mut w = running(Place::Buffer, Some("a\nb\nc\n"));
    types(&mut w, 2, 1, &["mine"]);
    shell(&mut w, |disk| disk.put(F, "A\nb\nC\n"));
    assert_eq!(w.buffer(F), "A\nb\nmine\n");
    assert!(w.was_told("/p/f: lines you changed also changed on disk"));
    let buf = w.buf(F);
    assert!(w.editor.hunks[&buf].iter().any(|hunk| hunk.conflict));
    accept_at(&mut w, 2);
    assert_eq!(w.buffer(F), "A\nb\nC\n");
}

#[test]
fn a_conflict_ends_when_the_agent_reverts_its_change() {
    let mut w = running(Place::Buffer, Some("a\nb\nc\nd\ne\n"));
    types(&mut w, 1, 1, &["mine"]);
    types(&mut w, 4, 1, &["mine too"]);
    shell(&mut w, |disk| disk.put(F, "a\nB\nc\nD\nE\n"));
    let conflict = (1, "mine", "mine");
    check_hunks(&w, &[conflict, (3, "d mine too", "d mine too")]);
    shell(&mut w, |disk| disk.put(F, "a\nb\nc\nD\nE\n"));
    check_hunks(&w, &[(3, "d mine too", "d mine too")]);
    shell(&mut w, |disk| disk.put(F, "a\nb\nc\nd\ne\n"));
    assert_eq!(w.buffer(F), "a\nmine\nc\nd\nmine too\n");
    check_settled(&w);
    shell(&mut w, |disk| disk.put(F, "a\nB\nc\nd\ne\n"));
    check_hunks(&w, &[conflict]);
    // The user has removed the line.
    types(&mut w, 1, 1, &[]);
    shell(&mut w, |disk| disk.put(F, "a\nBB\nc\nd\ne\n"));
    check_hunks(&w, &[(1, "", "")]);
    shell(&mut w, |disk| disk.put(F, "a\nb\nc\nd\ne\n"));
    check_settled(&w);
}

#[test]
fn conflicts_stay_when_the_user_takes_lines_back_and_the_agent_writes_others() {
    let mut w = running(Place::Buffer, Some("a\nb\nc\nd\ne\n"));
    types(&mut w, 1, 1, &["mine"]);
    types(&mut w, 3, 1, &["mine too"]);
    shell(&mut w, |disk| disk.put(F, "a\nW\nX\nY\nZ\nc\nD\ne\n"));
    types(&mut w, 1, 1, &["b"]);
    let both = [(1, "b", "b"), (3, "mine too", "mine too")];
    check_hunks(&w, &both);
    shell(&mut w, |disk| disk.put(F, "a\nW\nX\nY\nZ\nc\nDD\ne\n"));
    check_hunks(&w, &both);
    shell(&mut w, |disk| disk.put(F, "a\nB\nc\nDD\ne\n"));
    check_hunks(&w, &both);
    accept_at(&mut w, 3);
    accept_at(&mut w, 1);
    assert_eq!(w.buffer(F), "a\nB\nc\nDD\ne\n");
}

#[test]
fn a_buffer_opened_again_without_its_unsaved_lines_shows_the_agents_in_their_place() {
    let mut w = running(Place::Buffer, Some("one\ntwo\nthree\n"));
    types(&mut w, 1, 1, &["user"]);
    shell(&mut w, |disk| disk.put(F, "one\nTWO\nthree\n"));
    let buf = w.buf(F);
    // At once, while the turn runs.
    w.edits(|editor, disk, out| {
        editor.wipes(buf, out);
        editor.open(Path::new(F), disk, out);
    });
    check_hunks(&w, &[(1, "two", "TWO")]);
    decide(&mut w, ReviewAction::Reject);
    assert_eq!(disk(&w).as_deref(), Some("one\ntwo\nthree\n"));
}

#[test]
fn a_change_that_the_user_took_for_unsaved_lines_is_undone_with_its_turn() {
    let mut w = running(Place::Buffer, Some("a\nb\nc\n"));
    types(&mut w, 1, 1, &["user"]);
    shell(&mut w, |disk| disk.put(F, "a\nB\nc\n"));
    w.ends_turn("end_turn");
    let buf = w.buf(F);
    w.edits(|editor, disk, out| editor.reloads(buf, disk, out));
    check_hunks(&w, &[(1, "b", "B")]);
    let (session, step) = (None, UndoStep::Undo(None));
    w.happens(Event::Review(ReviewEvent::UndoTurn { session, step }));
    assert_eq!(disk(&w).as_deref(), Some("a\nb\nc\n"));
}

#[test]
fn the_agents_lines_of_a_conflict_are_undone_with_their_turn() {
    let mut w = running(Place::Buffer, Some("a\nb\nc\nd\n"));
    types(&mut w, 1, 1, &["user"]);
    shell(&mut w, |disk| disk.put(F, "a\nB\nc\nD\n"));
    accept_at(&mut w, 1);
    assert_eq!(w.buffer(F), "a\nB\nc\nD\n");
    w.ends_turn("end_turn");
    let (session, step) = (None, UndoStep::Undo(None));
    w.happens(Event::Review(ReviewEvent::UndoTurn { session, step }));
    assert_eq!(w.buffer(F), "a\nuser\nc\nd\n");
}

#[test]
fn a_line_among_the_agents_lines_of_a_conflict_is_kept_when_their_turn_is_undone() {
    let mut w = running(Place::Buffer, Some("a\nb\nc\n"));
    types(&mut w, 1, 1, &["user"]);
    shell(&mut w, |disk| disk.put(F, "a\nX\nY\nc\n"));
    accept_at(&mut w, 1);
    types(&mut w, 2, 0, &["more"]);
    w.ends_turn("end_turn");
    let (session, step) = (None, UndoStep::Undo(None));
    w.happens(Event::Review(ReviewEvent::UndoTurn { session, step }));
    assert_eq!(w.buffer(F), "a\nX\nmore\nY\nc\n");
    let buf = w.buf(F);
    assert!(w.editor.hunks[&buf].iter().any(|hunk| hunk.conflict));
    accept_at(&mut w, 2);
    assert_eq!(w.buffer(F), "a\nuser\nc\n");
}

#[test]
fn the_user_is_told_once_that_a_file_has_conflicts() {
    let told = "lines you changed also changed on disk";
    let mut w = running(Place::Buffer, Some("a\nb\nc\n"));
    types(&mut w, 0, 1, &["mine"]);
    types(&mut w, 2, 1, &["mine"]);
    let conflicts = |w: &World| {
        let hunks = w.editor.hunks[&w.buf(F)].iter();
        hunks.filter(|hunk| hunk.conflict).count()
    };
    shell(&mut w, |disk| disk.put(F, "A\nb\nc\n"));
    assert_eq!((w.was_told(told), conflicts(&w)), (true, 1));
    w.skip();
    shell(&mut w, |disk| disk.put(F, "A\nb\nC\n"));
    assert_eq!((w.was_told(told), conflicts(&w)), (false, 2));
    decide(&mut w, ReviewAction::Reject);
    assert_eq!(conflicts(&w), 0);
    shell(&mut w, |disk| disk.put(F, "AA\nb\nC\n"));
    assert!(w.was_told(told));
}

#[test]
fn a_merge_is_rebased_when_the_user_types() {
    let mut w = running(Place::Buffer, Some("a\nb\n"));
    w.holds(Part::Editor);
    shell(&mut w, |disk| disk.put(F, "a\nB\n"));
    types(&mut w, 0, 0, &["typed"]);
    w.goes_on();
    assert_eq!(w.buffer(F), "typed\na\nB\n");
    check_hunks(&w, &[(2, "b", "B")]);
}

#[test]
fn undo_and_redo_of_a_merge_move_the_hunk() {
    let mut w = running(Place::Buffer, Some("a\nb\n"));
    shell(&mut w, |disk| disk.put(F, "a\nB\n"));
    travels(&mut w, Travel::Undo);
    check_hunks(&w, &[]);
    travels(&mut w, Travel::Redo);
    check_hunks(&w, &[(1, "b", "B")]);
}

#[test]
fn a_save_during_a_turn_is_attributed_to_the_user() {
    for late in [Part::Editor, Part::Watcher] {
        let mut w = running(Place::Buffer, Some("a\nb\n"));
        w.holds(late);
        types(&mut w, 1, 1, &["mine"]);
        saves(&mut w);
        w.goes_on();
        types(&mut w, 0, 0, &["more"]);
        saves(&mut w);
        w.ends_turn("end_turn");
        check_settled(&w);
        assert_eq!(disk(&w).as_deref(), Some("more\na\nmine\n"));
    }
}

#[test]
fn a_save_seen_on_disk_first_is_attributed_to_the_user() {
    let mut w = running(Place::Buffer, Some("a\nb\n"));
    types(&mut w, 1, 1, &["mine"]);
    let buf = w.buf(F);
    let mut saved = Vec::new();
    w.editor.saves(buf, &mut w.disk, &mut saved);
    w.settle();
    saved.into_iter().for_each(|event| w.happens(event));
    check_settled(&w);
    assert_eq!(w.buffer(F), "a\nmine\n");
}

#[test]
fn a_write_through_the_client_is_not_reviewed_twice() {
    for place in PLACES {
        let mut w = running(place, Some("a\nb\n"));
        writes(&mut w, "1", "a\nB\n");
        check_hunks(&w, &[(1, "b", "B")]);
        decide(&mut w, ReviewAction::Accept);
        w.ends_turn("end_turn");
        check_settled(&w);
    }
}

#[test]
fn writing_both_ways_gives_one_set_of_hunks() {
    for place in PLACES {
        // Through the client first, then to disk; then the other way round.
        let mut w = running(place, Some("a\nb\nc\n"));
        writes(&mut w, "1", "a\nB\nc\n");
        shell(&mut w, |disk| disk.put(F, "a\nB\nc\n"));
        check_hunks(&w, &[(1, "b", "B")]);

        for held in [true, false] {
            let mut w = running(place, Some("a\nb\nc\n"));
            if held {
                w.holds(Part::Watcher);
            }
            shell(&mut w, |disk| disk.put(F, "a\nB\nc\n"));
            writes(&mut w, "1", "a\nB\nc\n");
            w.goes_on();
            w.ends_turn("end_turn");
            check_hunks(&w, &[(1, "b", "B")]);
            decide(&mut w, ReviewAction::Reject);
            assert_eq!(disk(&w).as_deref(), Some("a\nb\nc\n"), "{place:?}");
        }
    }
}

#[test]
fn an_agent_that_writes_both_ways_removes_no_unsaved_line() {
    // The report of its own write comes after the answer of the first, or before a second one.
    for is_told in [true, false] {
        let mut w = running(Place::Buffer, Some("a\nb\nc\n"));
        types(&mut w, 3, 0, &["mine"]);
        writes(&mut w, "1", "a\nB\nc\n");
        assert_eq!(disk(&w).as_deref(), Some("a\nB\nc\nmine\n"));
        if !is_told {
            w.holds(Part::Watcher);
        }
        shell(&mut w, |disk| disk.put(F, "a\nB\nc\n"));
        if !is_told {
            writes(&mut w, "2", "a\nB\nC\n");
            w.goes_on();
        }
        let third = if is_told { "c" } else { "C" };
        assert_eq!(w.buffer(F), format!("a\nB\n{third}\nmine\n"), "{is_told}");
        decide(&mut w, ReviewAction::Accept);
        assert_eq!(w.buffer(F), format!("a\nB\n{third}\nmine\n"), "{is_told}");
    }
}

#[test]
fn an_agent_that_removes_what_the_user_has_saved_since_is_reviewed() {
    for is_saved in [true, false] {
        let mut w = running(Place::Buffer, Some("a\nb\nc\n"));
        types(&mut w, 3, 0, &["mine"]);
        writes(&mut w, "1", "a\nB\nc\n");
        match is_saved {
            true => saves(&mut w),
            // In another turn the agent knows these lines.
            false => {
                w.ends_turn("end_turn");
                w.prompts("go on");
            }
        }
        shell(&mut w, |disk| disk.put(F, "a\nB\nc\n"));
        assert_eq!(w.buffer(F), "a\nB\nc\n");
        decide(&mut w, ReviewAction::Reject);
        assert_eq!(w.buffer(F), "a\nb\nc\nmine\n");
    }
}

#[test]
fn a_file_opened_before_its_change_is_reported_shows_hunks() {
    let mut w = running(Place::Disk, Some("a\nb\nc\n"));
    w.holds(Part::Watcher);
    w.disk.put(F, "a\nB\nc\n");
    w.opens_file(F);
    types(&mut w, 0, 0, &["typed"]);
    w.goes_on();
    check_hunks(&w, &[(2, "b", "B")]);
    // The agent may have written more before the change is reported.
    let mut w = running(Place::Disk, Some("a\nb\nc\n"));
    w.holds(Part::Watcher);
    w.disk.put(F, "a\nB\nc\n");
    w.opens_file(F);
    w.disk.put(F, "a\nB\nC\n");
    w.goes_on();
    check_hunks(&w, &[(1, "b c", "B C")]);
    assert_eq!(w.buffer(F), "a\nB\nC\n");
}

#[test]
fn a_buffer_reloaded_before_its_change_is_reported_shows_hunks() {
    let mut w = running(Place::Buffer, Some("a\nb\n"));
    w.holds(Part::Watcher);
    w.disk.put(F, "a\nB\n");
    let buf = w.buf(F);
    w.edits(|editor, disk, out| editor.reloads(buf, disk, out));
    w.goes_on();
    check_hunks(&w, &[(1, "b", "B")]);
}

#[test]
fn an_agent_reads_the_result_of_its_command() {
    let mut w = running(Place::Buffer, Some("a\nb\n"));
    w.holds(Part::Editor);
    shell(&mut w, |disk| disk.put(F, "a\nB\n"));
    let params = json!({ "sessionId": "s1", "path": F });
    w.asks("1", "fs/read_text_file", &params);
    w.goes_on();
    assert_eq!(w.answer("1").as_ref().unwrap()["content"], "a\nB\n");
    assert_eq!(reads(&mut w, "2"), "a\nB\n");
}

#[test]
fn a_write_may_revert_the_result_of_a_command() {
    let mut w = running(Place::Buffer, Some("a\nb\nc\n"));
    reads(&mut w, "1");
    types(&mut w, 3, 0, &["typed"]);
    shell(&mut w, |disk| disk.put(F, "a\nB\nc\n"));
    writes(&mut w, "2", "A\nb\nc\n");
    assert_eq!(w.buffer(F), "A\nb\nc\ntyped\n");
    check_hunks(&w, &[(0, "a", "A")]);
}

#[test]
fn a_change_is_attributed_to_the_session_that_named_the_file() {
    let mut w = running(Place::Disk, Some("a\n"));
    w.opens(2, "bot");
    w.prompts_in(SessionKey(2), "go");
    shell(&mut w, |disk| disk.put(F, "A\n"));
    assert_eq!(w.model.workspace.reviews().counts(SessionKey(2)), (1, 1));

    let mut w = running(Place::Disk, Some("a\n"));
    w.opens(2, "bot");
    w.prompts_in(SessionKey(2), "go");
    w.updates(json!({
        "sessionUpdate": "tool_call",
        "toolCallId": "t",
        "title": "Edit",
        "locations": [{ "path": F }],
    }));
    shell(&mut w, |disk| disk.put(F, "A\n"));
    assert_eq!(w.model.workspace.reviews().counts(S1), (1, 1));
}

#[test]
fn the_window_closes_with_the_checkpoint_after_the_turn() {
    let mut w = running(Place::Disk, Some("a\nb\nc\n"));
    w.holds(Part::Shadow);
    w.ends_turn("end_turn");
    w.saw(&["turn of 1 ended: end_turn"]);
    shell(&mut w, |disk| disk.put(F, "A\nb\nc\n"));
    check_hunks(&w, &[(0, "a", "A")]);
    w.skip();
    w.prompts("next");
    w.saw(&["turn of 1 started"]);
    assert!(w.chat().contains("❯ next"));
    w.goes_on();
    w.saw(&["a1 <- session/prompt s1: next"]);
    w.ends_turn("end_turn");
    shell(&mut w, |disk| disk.put(F, "A\nb\nothers\n"));
    check_hunks(&w, &[(0, "a", "A")]);
}

#[test]
fn a_prompt_is_sent_without_a_checkpoint_that_does_not_come() {
    let mut w = World::ready();
    w.holds(Part::Shadow);
    w.prompts("one");
    for _ in 1..PATIENCE {
        w.time_passes();
    }
    w.saw(&["turn of 1 started"]);
    w.time_passes();
    w.saw(&[
        "Warn: The checkpoint of /p takes more than 30 s, so the prompt is sent without it. \
         Changes on disk may be missed in the review.",
        "a1 <- session/prompt s1: one",
    ]);
    w.ends_turn("end_turn");
    // Both checkpoints are there now: the late one ends nothing.
    w.goes_on();
    w.skip();
    w.prompts("two");
    w.saw(&["turn of 1 started", "a1 <- session/prompt s1: two"]);
    w.ends_turn("end_turn");
}

#[test]
fn a_prompt_waiting_for_its_checkpoint_can_be_cancelled() {
    let mut w = World::ready();
    w.holds(Part::Shadow);
    w.prompts("one");
    w.prompts("two");
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    w.saw(&[
        "turn of 1 started",
        "a prompt of 1 waits",
        "turn of 1 ended: cancelled",
    ]);
    w.happens(Event::Session(SessionEvent::Queued {
        session: S1,
        id: QueueId(2),
        action: QueueAction::SendNow,
    }));
    w.saw(&["turn of 1 started"]);
    w.goes_on();
    w.saw(&["a1 <- session/prompt s1: two"]);
    w.ends_turn("end_turn");
}

#[test]
fn an_exit_before_the_prompt_is_sent_ends_the_turn() {
    let mut w = World::ready();
    w.holds(Part::Shadow);
    w.prompts("one");
    w.skip();
    w.exits(A1, "signal 9", &[]);
    assert!(w.was_told("turn of 1 ended: agent_exited"));
    assert!(w.chat().contains("A prompt waits: it will be sent"));
    w.prompts("two");
    w.goes_on();
    // The prompt of the ended turn comes first.
    assert!(w.was_told("a2 <- session/prompt s2: one"));
    assert!(!w.was_told("session/prompt s2: two"));
}

#[test]
fn closing_a_session_during_a_checkpoint_leaves_no_pending_work() {
    for wait in [true, false] {
        let mut w = World::ready();
        w.prompts("one");
        w.holds(Part::Shadow);
        if wait {
            w.ends_turn("end_turn");
            w.prompts("two");
        }
        w.happens(Event::Session(SessionEvent::Close { session: S1 }));
        w.goes_on();
        assert!(!w.was_told("session/prompt s1: two"));
    }
}

#[test]
fn a_limited_checkpoint_is_reported_once_and_blocks_no_prompt() {
    let mut w = World::ready();
    w.shadow.limited = Some("This folder is too large.".into());
    w.prompts("one");
    w.saw(&[
        "turn of 1 started",
        "Warn: This folder is too large.",
        "a1 <- session/prompt s1: one",
    ]);
    w.ends_turn("end_turn");
    w.prompts("two");
    w.saw(&[
        "turn of 1 ended: end_turn",
        "turn of 1 started",
        "a1 <- session/prompt s1: two",
    ]);
}

#[test]
fn each_gap_of_a_project_is_reported_once() {
    let mut w = World::ready();
    let told = |w: &mut World| {
        let log = std::mem::take(&mut w.log).into_iter();
        let warnings = log.filter(|line| line.starts_with("Warn: "));
        warnings
            .map(|line| line[6..].to_owned())
            .collect::<Vec<_>>()
    };
    let (root, why) = ("/p".into(), "Not watched.".to_owned());
    w.happens(Event::Project(ProjectEvent::WatchLimited { root, why }));
    w.shadow.limited = Some("Too large.".into());
    w.prompts("one");
    assert_eq!(told(&mut w), ["Not watched.", "Too large."]);
    let failed = "Full. Changes on disk may be missed in the review.";
    for _ in 0..2 {
        w.shadow.failure = Some("Full.".into());
        w.ends_turn("end_turn");
        w.prompts("more");
        assert_eq!(told(&mut w), [failed]);
        w.shadow.failure = None;
        w.ends_turn("end_turn");
        w.prompts("more");
        assert_eq!(told(&mut w), [""; 0]);
    }
}

#[test]
fn a_late_report_for_a_file_opened_in_the_turn_is_reviewed() {
    let mut w = World::ready();
    w.disk.put(F, "a\nb\n");
    w.prompts("go");
    w.holds(Part::Watcher);
    w.disk.put(F, "A\nb\n");
    w.opens_file(F);
    // The checkpoint is reported before the disk has answered the read of the change.
    w.holds(Part::Disk);
    w.ends_turn("end_turn");
    w.goes_on();
    let review = w
        .model
        .workspace
        .reviews()
        .get(Path::new(F))
        .expect("a review");
    assert_eq!(review.ledger.base().to_string(), "a\nb\n");
    assert_eq!(review.ledger.hunks().len(), 1);
}

#[test]
fn an_agents_write_that_the_host_sees_as_bytes_stays_in_review() {
    let mut w = running(Place::Buffer, Some("a\nb\nc\n"));
    reads(&mut w, "50");
    writes(&mut w, "51", "a\nB\0\nc\n");
    shell(&mut w, |_| {});
    check_hunks(&w, &[(1, "b", "B\0")]);
    w.ends_turn("end_turn");
    check_hunks(&w, &[(1, "b", "B\0")]);
    decide(&mut w, ReviewAction::Reject);
    shell(&mut w, |_| {});
    assert_eq!(disk(&w).as_deref(), Some("a\nb\nc\n"));
    assert_eq!(w.buffer(F), "a\nb\nc\n");
    check_hunks(&w, &[]);
    w.skip();
}

#[test]
fn a_write_of_which_the_host_keeps_no_copy_is_under_review() {
    for place in PLACES {
        for before in [Some("a\nb\n"), None] {
            let mut w = running(Place::Disk, before);
            if place == Place::Buffer {
                w.opens_file(F);
            }
            w.disk.keeps_nothing = true;
            w.disk.keeps_no_text = true;
            writes(&mut w, "1", "A\nb\n");
            w.settle();
            writes(&mut w, "2", "A\nB\n");
            w.ends_turn("end_turn");
            w.settle();
            let review = w.model.workspace.reviews().get(Path::new(F)).unwrap();
            assert!(!review.ledger.hunks().is_empty(), "{place:?} {before:?}");
            w.decides(ReviewAction::Reject, Scope::All);
            w.settle();
            assert_eq!(w.disk.get(F).as_deref(), before, "{place:?}");
        }
    }
}

#[test]
fn what_git_obeys_and_what_hides_files_is_reported_once_a_turn() {
    let mut w = running(Place::Disk, None);
    let names = [
        "commondir",
        "config",
        "config.worktree",
        "hooks/pre-commit",
        "info/attributes",
        "info/exclude",
        "index",
    ];
    for name in names {
        for text in ["1", "2"] {
            shell(&mut w, |disk| disk.put(&format!("/p/.git/{name}"), text));
        }
    }
    shell(&mut w, |disk| disk.put("/p/d/.gitignore", "*"));
    let chat = w.chat();
    let lines = [
        "The agent changed /p/.git/commondir: it tells git where its config and hooks are.",
        "The agent changed /p/.git/config: git obeys it with the next command.",
        "The agent changed /p/.git/config.worktree: git obeys it with the next command.",
        "The agent changed /p/.git/info/attributes: git obeys it with the next command.",
        "The agent changed /p/.git/hooks/pre-commit: git runs it with a later command.",
        "The agent changed /p/.git/info/exclude: new files that it hides are not in the review.",
        "The agent changed /p/d/.gitignore: new files that it hides are not in the review.",
    ];
    for line in lines {
        assert_eq!(chat.matches(line).count(), 1, "{line}\n{chat}");
    }
    assert_eq!(chat.matches("The agent changed").count(), lines.len());
}

#[test]
fn undo_offers_a_decided_conflict_again() {
    for action in [ReviewAction::Reject, ReviewAction::Accept] {
        let mut w = running(Place::Buffer, Some("a\nb\nc\nd\n"));
        types(&mut w, 1, 1, &["mine"]);
        shell(&mut w, |disk| disk.put(F, "a\nX\nY\nc\nd\n"));
        let offers = |w: &World| {
            let review = w.model.workspace.reviews().get(Path::new(F)).unwrap();
            review.ledger.offered()
        };
        let before = offers(&w);
        decide_at(&mut w, action, 1);
        check_hunks(&w, &[]);
        types(&mut w, 0, 0, &["new"]);
        w.happens(Event::View(ViewEvent::List(ListEvent::Undo)));
        assert_eq!(w.buffer(F), "new\na\nmine\nc\nd\n", "{action:?}");
        let now = offers(&w).into_iter().map(|mut offer| {
            offer.rows = offer.rows.start - 1..offer.rows.end - 1;
            offer
        });
        assert_eq!(now.collect::<Vec<_>>(), before, "{action:?}");
    }
}

#[test]
fn a_buffer_that_was_read_before_a_reported_change_gets_it() {
    let mut w = running(Place::Buffer, Some("a\nb\n"));
    let buf = w.buf(F);
    w.edits(|editor, _, out| editor.wipes(buf, out));
    // Neovim has read the file, and says so after the report.
    let mut read = Vec::new();
    w.editor.open(Path::new(F), &w.disk, &mut read);
    shell(&mut w, |disk| disk.put(F, "a\nB\n"));
    for event in read {
        w.happens(event);
    }
    assert_eq!(w.buffer(F), "a\nB\n");
    check_hunks(&w, &[(1, "b", "B")]);
}
