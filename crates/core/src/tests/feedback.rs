//! The next prompt reports to the agent what the user rejected.

use std::path::Path;

use serde_json::json;

use super::disk::Disk;
use super::editor::Travel;
use super::world::{A1, S1, World};
use crate::conversation::agent::Limits;
use crate::conversation::transcript::Entry;
use crate::event::{Event, ReviewEvent, ViewEvent};
use crate::spine::event::{ListEvent, ReviewAction, Scope, UndoStep};
use crate::text::LineEdit;
use crate::workspace::proposals::Preview;

const F: &str = "/p/f";

/// A world in which a turn changed a file that is in a buffer.
fn changed(after: &str) -> World {
    let mut w = World::ready();
    w.happens(Event::Configure {
        rules: Default::default(),
        limits: Limits::default(),
        preview: Preview::On,
        accept_allowed: false,
        feedback: true,
        follow: Default::default(),
    });
    w.disk.put(F, "a\nb\nc\nd\ne\n");
    w.opens_file(F);
    w.prompts("first");
    let params = json!({ "sessionId": "s1", "path": F, "content": after });
    w.asks("1", "fs/write_text_file", &params);
    w.ends_turn("end_turn");
    w.settle();
    w
}

fn rejects(w: &mut World, scope: Scope) {
    w.decides(ReviewAction::Reject, scope);
}

fn row(w: &World, row: usize) -> Scope {
    Scope::Hunk { buf: w.buf(F), row }
}

/// Returns the chat's entries about what the next prompt reports, or a past one reported.
fn along(w: &World) -> Vec<String> {
    let entries = w.session(S1).transcript().entries().iter();
    let heads = entries.filter_map(|entry| match entry {
        Entry::Along { head, .. } => Some(head.clone()),
        _ => None,
    });
    heads.collect()
}

/// Sends a prompt, and returns the texts the agent receives.
fn told(w: &mut World) -> Vec<String> {
    tells(w, "next")
}

fn tells(w: &mut World, prompt: &str) -> Vec<String> {
    w.prompts(prompt);
    let calls = w.agents[&A1].calls.iter();
    let prompt = calls.rev().find(|call| call.1 == "session/prompt").unwrap();
    let blocks = prompt.2["prompt"].as_array().unwrap().iter();
    let texts = blocks.map(|block| block["text"].as_str().unwrap().to_owned());
    let texts = texts.collect();
    w.skip();
    texts
}

#[test]
fn an_agents_command_is_sent_without_feedback() {
    let mut w = changed("a\nB\nc\nd\ne\n");
    let commands = json!([{ "name": "next", "description": "goes on" }]);
    w.updates(
        json!({ "sessionUpdate": "available_commands_update", "availableCommands": commands }),
    );
    let scope = row(&w, 1);
    rejects(&mut w, scope);
    assert_eq!(tells(&mut w, "/next please"), ["/next please"]);
    w.ends_turn("end_turn");
    assert_eq!(tells(&mut w, "/tmp is full").len(), 2);
}

#[test]
fn a_rejected_hunk_is_reported_once() {
    let mut w = changed("a\nB\nc\nd\ne\n");
    let scope = row(&w, 1);
    rejects(&mut w, scope);
    assert_eq!(along(&w), ["The next prompt reports 1 rejected hunk in f"]);
    let want = "The user rejected these changes of yours; the files no longer have \
                them:\n```diff\n--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n a\n-b\n+B\n c\n d\n```\n";
    assert_eq!(told(&mut w), ["next", want]);
    assert_eq!(along(&w), ["This prompt reported 1 rejected hunk in f"]);
    w.ends_turn("end_turn");
    w.settle();
    assert_eq!(told(&mut w), ["next"]);
}

#[test]
fn an_agent_that_knows_of_a_reject_may_write_the_change_again() {
    let mut w = changed("A\nb\nc\nd\nE\n");
    let (buf, scope) = (w.buf(F), row(&w, 4));
    rejects(&mut w, scope);
    let edit = LineEdit {
        start: 1,
        removed: 1,
        lines: vec!["b, the user's".into()],
    };
    w.edits(|editor, _, out| editor.types(buf, edit, out));
    let again = json!({ "sessionId": "s1", "path": F, "content": "A\nb\nc\nd\nE\n" });
    w.asks("2", "fs/write_text_file", &again);
    assert_eq!(w.disk.get(F).unwrap(), "A\nb, the user's\nc\nd\ne\n");
    assert_eq!(told(&mut w).len(), 2);
    w.asks("3", "fs/write_text_file", &again);
    w.settle();
    assert_eq!(w.disk.get(F).unwrap(), "A\nb, the user's\nc\nd\nE\n");
    let scope = row(&w, 4);
    rejects(&mut w, scope);
    assert_eq!(w.disk.get(F).unwrap(), "A\nb, the user's\nc\nd\ne\n");
}

/// A world in which the agent wrote a line that it was told is rejected, and which the user has
/// replaced, again: it is offered.
fn offered() -> World {
    let mut w = changed("a\nb\nc\nd\nE\n");
    let (buf, scope) = (w.buf(F), row(&w, 4));
    rejects(&mut w, scope);
    let edit = LineEdit {
        start: 4,
        removed: 1,
        lines: vec!["the user's".into()],
    };
    w.edits(|editor, _, out| editor.types(buf, edit, out));
    assert_eq!(told(&mut w).len(), 2);
    let again = json!({ "sessionId": "s1", "path": F, "content": "a\nb\nc\nd\nE\n" });
    w.asks("2", "fs/write_text_file", &again);
    w.settle();
    assert!(w.answer("2").is_err());
    assert_eq!(w.buffer(F), "a\nb\nc\nd\nthe user's\n");
    let review = w.model.workspace.reviews().get(Path::new(F)).unwrap();
    assert_eq!(review.ledger.offered()[0].theirs, ["E"]);
    w.ends_turn("end_turn");
    w.settle();
    w
}

#[test]
fn a_rejected_change_that_is_written_again_conflicts_with_unsaved_lines_there() {
    offered();
}

#[test]
fn a_rejected_conflict_is_reported() {
    let mut w = offered();
    let scope = row(&w, 4);
    rejects(&mut w, scope);
    assert_eq!(w.buffer(F), "a\nb\nc\nd\nthe user's\n");
    let report = told(&mut w).concat();
    assert!(report.contains("-the user's\n+E\n"), "{report}");
    // One that is back is undecided.
    let mut w = offered();
    let scope = row(&w, 4);
    rejects(&mut w, scope);
    w.happens(Event::View(ViewEvent::List(ListEvent::Undo)));
    assert_eq!(told(&mut w), ["next"]);
}

#[test]
fn an_undone_reject_is_not_reported() {
    let mut w = changed("a\nB\nc\nd\ne\n");
    let scope = row(&w, 1);
    rejects(&mut w, scope);
    let buf = w.buf(F);
    w.edits(|editor, _, out| editor.travels(buf, Travel::Undo, out));
    assert_eq!(along(&w), ["No rejected changes to report."]);
    // Accepting the hunk afterwards reports nothing, either.
    let scope = row(&w, 1);
    w.decides(ReviewAction::Accept, scope);
    assert_eq!(told(&mut w), ["next"]);
}

#[test]
fn rejected_lines_and_several_hunks_are_reported() {
    let mut w = changed("A\nB\nc\nd\nE\n");
    let buf = w.buf(F);
    rejects(&mut w, Scope::Rows { buf, rows: 1..2 });
    let scope = row(&w, 4);
    rejects(&mut w, scope);
    assert_eq!(along(&w), ["The next prompt reports 2 rejected hunks in f"]);
    let texts = told(&mut w);
    assert!(
        texts[1].contains("-b\n+B\n") && texts[1].contains("-e\n+E\n"),
        "{texts:?}"
    );
    assert!(!texts[1].contains("+A\n"), "{texts:?}");
}

#[test]
fn an_undone_turn_is_reported_unless_restored() {
    let mut w = changed("a\nB\nc\nd\ne\n");
    let session = None;
    let step = UndoStep::Undo(None);
    w.happens(Event::Review(ReviewEvent::UndoTurn { session, step }));
    assert_eq!(along(&w), ["The next prompt reports 1 rejected hunk in f"]);
    let step = UndoStep::Back;
    w.happens(Event::Review(ReviewEvent::UndoTurn { session, step }));
    assert_eq!(told(&mut w), ["next"]);
}

#[test]
fn nothing_is_reported_if_disabled_or_dropped() {
    let mut w = changed("a\nB\nc\nd\ne\n");
    rejects(&mut w, Scope::All);
    w.happens(Event::Review(ReviewEvent::DropFeedback { session: None }));
    assert!(!w.was_told("No rejected changes"));
    w.happens(Event::Review(ReviewEvent::DropFeedback { session: None }));
    assert!(w.was_told("Info: No rejected changes to report."));
    assert_eq!(told(&mut w), ["next"]);

    let mut w = changed("a\nB\nc\nd\ne\n");
    w.happens(Event::Configure {
        rules: Default::default(),
        limits: Limits::default(),
        preview: Preview::On,
        accept_allowed: false,
        feedback: false,
        follow: Default::default(),
    });
    rejects(&mut w, Scope::All);
    assert!(along(&w).is_empty());
    assert_eq!(told(&mut w), ["next"]);
}

#[test]
fn a_long_diff_is_truncated_and_the_rest_counted() {
    let long: String = (0..300).map(|n| format!("line {n}\n")).collect();
    let mut w = changed(&format!("A\nb\nc\n{long}d\ne\n"));
    rejects(&mut w, Scope::All);
    let texts = told(&mut w);
    assert!(texts[1].contains("-a\n+A\n"), "{texts:?}");
    assert!(
        texts[1].contains("@@ 1 more hunk: +300 -0 lines @@"),
        "{texts:?}"
    );
    assert!(texts[1].lines().count() < 30);
}

#[test]
fn a_reject_does_not_split_the_agents_message() {
    let mut w = changed("a\nB\nc\nd\ne\n");
    w.prompts("second");
    w.says("one ");
    let scope = row(&w, 1);
    rejects(&mut w, scope);
    assert!(along(&w).is_empty());
    w.says("message");
    w.ends_turn("end_turn");
    w.settle();
    assert_eq!(along(&w), ["The next prompt reports 1 rejected hunk in f"]);
    let entries = w.session(S1).transcript().entries().iter();
    let messages = entries.filter(|entry| matches!(entry, Entry::Agent(_)));
    assert_eq!(messages.count(), 1);
    w.skip();
}

/// A world in which a turn's commands changed files on disk.
fn deeds(does: impl FnOnce(&mut Disk)) -> World {
    let mut w = World::ready();
    w.happens(Event::Configure {
        rules: Default::default(),
        limits: Limits::default(),
        preview: Preview::On,
        accept_allowed: false,
        feedback: true,
        follow: Default::default(),
    });
    w.disk.put(F, "a\nb\n");
    w.disk.put("/p/g", "g\n");
    w.disk.set("/p/bytes".into(), b"\0old".to_vec());
    w.settle();
    w.prompts("first");
    does(&mut w.disk);
    w.settle();
    w.ends_turn("end_turn");
    w.skip();
    w
}

/// Every change that a command can make to whole files.
fn all_deeds(disk: &mut Disk) {
    disk.removes("/p/g");
    disk.moves(F, "/p/moved");
    disk.chmods("/p/moved", 0o755);
    disk.put("/p/new", "n\n");
    disk.set("/p/bytes".into(), b"\0other".to_vec());
}

const TOLD: &str = "The user rejected these changes of yours; the files no longer have \
                them:\n- changed bytes, which is not text: restored\n- moved f to moved: \
                    moved back\n- changed the mode of f from 644 to 755: set back\n- deleted g: \
                    brought back\n- created new: deleted\n";

#[test]
fn each_rejected_whole_file_change_is_one_line() {
    let mut w = deeds(all_deeds);
    rejects(&mut w, Scope::All);
    assert_eq!(
        along(&w),
        ["The next prompt reports 5 rejected changes in 4 files"]
    );
    assert_eq!(told(&mut w), ["next", TOLD]);
    w.ends_turn("end_turn");
    assert_eq!(told(&mut w), ["next"]);
}

#[test]
fn an_undone_turn_reports_whole_file_changes_the_same_way() {
    let mut w = deeds(all_deeds);
    let session = None;
    let step = UndoStep::Undo(None);
    w.happens(Event::Review(ReviewEvent::UndoTurn { session, step }));
    assert_eq!(told(&mut w), ["next", TOLD]);
    let step = UndoStep::Back;
    w.happens(Event::Review(ReviewEvent::UndoTurn { session, step }));
    w.ends_turn("end_turn");
    assert_eq!(told(&mut w), ["next"]);
}

#[test]
fn a_repeated_whole_file_change_is_not_reported() {
    for does in [
        |disk: &mut Disk| disk.removes("/p/g"),
        |disk: &mut Disk| disk.put("/p/new", ""),
        |disk: &mut Disk| disk.moves(F, "/p/moved"),
        |disk: &mut Disk| disk.chmods(F, 0o755),
        |disk: &mut Disk| disk.put(F, "a\r\nb\r\n"),
        |disk: &mut Disk| disk.set("/p/bytes".into(), b"\0other".to_vec()),
    ] {
        let mut w = deeds(does);
        rejects(&mut w, Scope::All);
        assert_eq!(along(&w).len(), 1, "{:?}", along(&w));
        // The user repeats the change.
        does(&mut w.disk);
        w.settle();
        assert_eq!(told(&mut w), ["next"]);
    }
}

#[test]
fn a_file_kept_for_the_users_lines_is_not_reported_as_deleted() {
    let mut w = deeds(|disk| disk.put("/p/new", "n\n"));
    w.disk.put("/p/new", "n\nmine\n");
    w.settle();
    rejects(&mut w, Scope::All);
    assert_eq!(w.disk.get("/p/new").as_deref(), Some("mine\n"));
    let texts = told(&mut w);
    assert!(texts[1].contains("+n\n"), "{texts:?}");
    assert!(!texts[1].contains("created"), "{texts:?}");
}

#[test]
fn an_undone_reject_of_a_created_file_is_not_reported() {
    let mut w = deeds(|disk| disk.put("/p/new", "n\n"));
    w.opens_file("/p/new");
    rejects(&mut w, Scope::All);
    assert_eq!(w.disk.get("/p/new"), None);
    assert_eq!(
        along(&w),
        ["The next prompt reports 1 rejected change in new"]
    );
    let buf = w.buf("/p/new");
    w.edits(|editor, _, out| editor.travels(buf, Travel::Undo, out));
    assert_eq!(w.buffer("/p/new"), "n\n");
    assert_eq!(along(&w), ["No rejected changes to report."]);
    assert_eq!(told(&mut w), ["next"]);
}

#[test]
fn of_many_files_some_are_listed_and_the_rest_counted() {
    let all = |disk: &mut Disk, text: &str| {
        for n in 0..300 {
            disk.put(&format!("/p/many/{n}"), text);
        }
    };
    let mut w = deeds(|disk| all(disk, "n\n"));
    let (action, scope) = (ReviewAction::Reject, Scope::All);
    rejects(&mut w, scope.clone());
    let texts = told(&mut w);
    assert!(
        texts[1].contains("- and 250 more like these\n"),
        "{texts:?}"
    );
    assert!(texts[1].lines().count() < 60);
    w.ends_turn("end_turn");

    let mut w = deeds(|disk| all(disk, "n\n"));
    w.decides(ReviewAction::Accept, scope.clone());
    w.prompts("second");
    all(&mut w.disk, "m\n");
    w.settle();
    w.ends_turn("end_turn");
    w.decides(action, scope);
    let texts = told(&mut w);
    assert!(texts[1].contains("@@ 260 more files @@\n"), "{texts:?}");
    assert!(texts[1].lines().count() < 210);
}

#[test]
fn a_report_that_was_refused_with_its_prompt_is_sent_again() {
    let mut w = changed("a\nB\nc\nd\ne\n");
    let scope = row(&w, 1);
    rejects(&mut w, scope);
    let first = tells(&mut w, "go on");
    assert_eq!(first.len(), 2, "{first:?}");
    let refused = json!({ "code": -32000, "message": "log in" });
    w.answers(A1, "session/prompt", Err(refused));
    assert_eq!(tells(&mut w, "please"), first);
    let chat = w.chat();
    let prompts = chat.lines().filter(|line| *line == "❯ go on");
    assert_eq!(prompts.count(), 2, "{chat}");
    assert_eq!(along(&w), ["This prompt reported 1 rejected hunk in f"]);
}
