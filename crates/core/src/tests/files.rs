//! Reads and writes of agents, through buffers and on disk.

use std::path::Path;

use serde_json::{Value, json};

use super::editor::Travel;
use super::ondisk::types;
use super::world::{A1, Part, S1, World};
use crate::event::{Event, SessionEvent};
use crate::spine::cx::Effects;
use crate::spine::event::{ReviewAction, Scope};
use crate::text::format::LineEnd;
use crate::workspace::Folders;
use crate::workspace::ledger::Review;

const F: &str = "/p/f";

/// A world with a file on disk.
fn with_file(text: &str) -> World {
    let mut w = World::ready();
    w.disk.put(F, text);
    w
}

/// A world with a file that is open in a buffer.
fn with_buffer(text: &str) -> World {
    let mut w = with_file(text);
    w.opens_file(F);
    w
}

fn reads(w: &mut World, id: &str, more: Value) {
    let mut params = json!({ "sessionId": "s1", "path": F });
    params
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    w.asks(id, "fs/read_text_file", &params);
}

fn writes(w: &mut World, id: &str, path: &str, content: &str) {
    let params = json!({ "sessionId": "s1", "path": path, "content": content });
    w.asks(id, "fs/write_text_file", &params);
}

fn content(w: &World, id: &str) -> String {
    match w.answer(id) {
        Ok(value) => value["content"].as_str().unwrap().to_owned(),
        Err(error) => format!("{}: {}", error["code"], error["message"].as_str().unwrap()),
    }
}

#[track_caller]
fn ledger(w: &World) -> &Review {
    let reviews = w.model.workspace.reviews();
    &reviews.get(Path::new(F)).expect("it has a review").ledger
}

#[track_caller]
fn check_written(w: &World, id: &str) {
    assert!(w.answer(id).is_ok(), "{:?}", w.answer(id));
}

#[track_caller]
fn check_error(w: &World, id: &str, code: i64, part: &str) {
    match w.answer(id) {
        Ok(value) => panic!("{value}"),
        Err(error) => {
            let message = error["message"].as_str().unwrap();
            assert!(error["code"] == code && message.contains(part), "{error}");
        }
    }
}

#[track_caller]
fn check_read(text: &str, range: Value, want: &str) {
    for mut w in [with_file(text), with_buffer(text)] {
        reads(&mut w, "1", range.clone());
        assert_eq!(content(&w, "1"), want, "{range}");
    }
}

#[test]
fn whole_and_partial_reads_agree_on_disk_and_in_a_buffer() {
    let text = "a\nb\nc\n";
    check_read(text, json!({}), text);
    check_read(text, json!({ "line": 2 }), "b\nc\n");
    check_read(text, json!({ "limit": 2 }), "a\nb\n");
    check_read(text, json!({ "line": 2, "limit": 1 }), "b\n");
    check_read(text, json!({ "line": 0, "limit": 1 }), "a\n");
    check_read(text, json!({ "limit": 0 }), "");
    check_read(text, json!({ "line": 3, "limit": 99 }), "c\n");
    let past = "-32602: params.line: 4 is past the end of /p/f, which has 3 lines";
    check_read(text, json!({ "line": 4 }), past);
    check_read("", json!({}), "");
    check_read("", json!({ "line": 1, "limit": 5 }), "");
    check_read("a\r\nb\r\n", json!({ "limit": 1 }), "a\r\n");
    check_read("\u{feff}a\n", json!({}), "a\n");
    check_read("a\nb", json!({}), "a\nb");
}

#[test]
fn an_agent_reads_unsaved_text() {
    let mut w = with_buffer("a\nb\n");
    types(&mut w, 1, 1, &["typed"]);
    w.holds(Part::Disk);
    w.holds(Part::Editor);
    reads(&mut w, "1", json!({}));
    assert_eq!(content(&w, "1"), "a\ntyped\n");
}

#[test]
fn an_emptied_buffer_reads_as_an_empty_file() {
    let mut w = with_buffer("a\nb\n");
    types(&mut w, 0, 2, &[]);
    reads(&mut w, "1", json!({}));
    assert_eq!(content(&w, "1"), "");
    writes(&mut w, "2", F, "new\n");
    check_written(&w, "2");
    assert_eq!(w.buffer(F), "new\n");
    assert_eq!(w.disk.get(F).as_deref(), Some("new\n"));
}

#[test]
fn a_write_to_a_file_that_was_deleted_since_it_was_read_creates_it_whole() {
    let mut w = with_file("a\nb\n");
    reads(&mut w, "1", json!({}));
    w.disk.removes(F);
    writes(&mut w, "2", F, "a\nc\n");
    check_written(&w, "2");
    assert_eq!(w.disk.get(F).as_deref(), Some("a\nc\n"));
}

#[test]
fn failed_reads_and_writes_are_reported() {
    let mut w = with_file("a\n");
    w.asks(
        "1",
        "fs/read_text_file",
        &json!({ "sessionId": "s1", "path": "/p/none" }),
    );
    check_error(&w, "1", -32002, "/p/none");
    for (id, path) in [
        ("2", "/etc/passwd"),
        ("3", "/p/../etc/passwd"),
        ("4", "/pp/f"),
    ] {
        w.asks(
            id,
            "fs/read_text_file",
            &json!({ "sessionId": "s1", "path": path }),
        );
        check_error(&w, id, -32602, "outside the session's folders");
        writes(&mut w, id, path, "x");
        check_error(&w, id, -32602, "outside the session's folders");
    }
    writes(&mut w, "5", "f", "x");
    check_error(&w, "5", -32602, "not an absolute path");
    w.disk.link("/p/link", "/etc/passwd");
    writes(&mut w, "6", "/p/link", "x");
    check_error(&w, "6", -32602, "outside the session's folders");
    w.disk.broken.insert(F.into());
    reads(&mut w, "7", json!({}));
    check_error(&w, "7", -32603, "/p/f could not be read");
    writes(&mut w, "8", F, "x");
    check_error(&w, "8", -32603, "/p/f could not be read");
    w.asks(
        "9",
        "fs/read_text_file",
        &json!({ "sessionId": "s9", "path": F }),
    );
    check_error(&w, "9", -32602, "no session");
    assert_eq!(w.disk.get(F).as_deref(), Some("a\n"));
}

#[test]
fn a_failed_write_to_disk_is_reported_and_not_reviewed() {
    let mut w = with_file("a\n");
    w.holds(Part::Disk);
    writes(&mut w, "1", F, "b\n");
    let event = w.disk.work(Path::new(F));
    w.happens(event.unwrap());
    w.disk.broken.insert(F.into());
    w.goes_on();
    check_error(&w, "1", -32603, "/p/f could not be written");
    assert_eq!(w.disk.get(F).as_deref(), Some("a\n"));
    assert!(w.model.snapshot().reviews.is_empty());
    assert!(
        w.chat()
            .contains("The agent was told: /p/f could not be written"),
        "{}",
        w.chat()
    );
}

#[test]
fn a_write_through_a_buffer_is_saved_and_can_be_undone() {
    let mut w = with_buffer("a\nb\n");
    w.skip();
    writes(&mut w, "1", F, "a\nB\nc\n");
    w.saw(&["review of /p/f: 1", "a1 <- answer 1 {}"]);
    assert_eq!(w.buffer(F), "a\nB\nc\n");
    assert_eq!(w.disk.get(F).as_deref(), Some("a\nB\nc\n"));
    let buf = w.buf(F);
    w.edits(|editor, _, out| editor.travels(buf, Travel::Undo, out));
    w.saw(&["review of /p/f: 0"]);
    w.edits(|editor, _, out| editor.travels(buf, Travel::Redo, out));
    w.saw(&["review of /p/f: 1"]);
}

#[test]
fn a_write_is_merged_with_the_users_edits() {
    let mut w = with_buffer("a\nb\nc\nd\n");
    reads(&mut w, "1", json!({}));
    types(&mut w, 0, 0, &["typed"]);
    writes(&mut w, "2", F, "a\nb\nc\nD\n");
    check_written(&w, "2");
    assert_eq!(w.buffer(F), "typed\na\nb\nc\nD\n");
    assert_eq!(w.disk.get(F).as_deref(), Some("typed\na\nb\nc\nD\n"));
    // A second write without a read is based on the first.
    writes(&mut w, "3", F, "a\nb\nc\nD\ne\n");
    assert_eq!(w.buffer(F), "typed\na\nb\nc\nD\ne\n");
}

#[test]
fn a_read_during_a_write_is_not_its_base() {
    let mut w = with_buffer("a\nb\n");
    reads(&mut w, "1", json!({}));
    w.holds(Part::Disk);
    writes(&mut w, "2", F, "a\nB\n");
    types(&mut w, 0, 0, &["typed"]);
    reads(&mut w, "3", json!({}));
    w.goes_on();
    check_written(&w, "2");
    assert_eq!(w.buffer(F), "typed\na\nB\n");
}

#[test]
fn an_agent_reads_its_own_pending_write() {
    for mut w in [with_file("a\n"), with_buffer("a\n")] {
        w.holds(Part::Disk);
        w.holds(Part::Editor);
        for (id, content) in [("1", "b\n"), ("3", "c\n")] {
            writes(&mut w, id, F, content);
            reads(&mut w, &format!("{id}0"), json!({}));
        }
        w.goes_on();
        assert_eq!(
            (content(&w, "10"), content(&w, "30")),
            ("b\n".into(), "c\n".into())
        );
    }
}

#[test]
fn a_partial_read_is_not_the_base_of_a_write() {
    let mut w = with_buffer("a\nb\nc\n");
    reads(&mut w, "1", json!({}));
    types(&mut w, 3, 0, &["typed"]);
    reads(&mut w, "2", json!({ "limit": 1 }));
    writes(&mut w, "3", F, "A\nb\nc\n");
    assert_eq!(w.buffer(F), "A\nb\nc\ntyped\n");
    // A part that covers the whole file is the base of the next write.
    reads(&mut w, "4", json!({ "line": 1, "limit": 99 }));
    writes(&mut w, "5", F, "A\nb\nc\n");
    assert_eq!(w.buffer(F), "A\nb\nc\n");
}

#[test]
fn a_write_over_the_users_lines_keeps_them_and_reports_it() {
    let mut w = with_buffer("a\nb\nc\n");
    reads(&mut w, "1", json!({}));
    types(&mut w, 1, 1, &["mine"]);
    writes(&mut w, "2", F, "a\ntheirs\nc\n");
    check_error(&w, "2", -32603, "except for line 2,");
    assert_eq!(w.buffer(F), "a\nmine\nc\n");
    let buf = w.buf(F);
    assert!(w.editor.hunks[&buf][0].conflict);
    w.decides(ReviewAction::Accept, Scope::Hunk { buf, row: 1 });
    assert_eq!(w.buffer(F), "a\ntheirs\nc\n");
}

#[test]
fn a_write_of_a_file_that_only_its_buffer_has_keeps_what_the_user_typed() {
    let mut w = World::ready();
    w.opens_file(F);
    types(&mut w, 0, 1, &["mine"]);
    writes(&mut w, "1", F, "theirs\n");
    assert_eq!(w.buffer(F), "mine\ntheirs\n");
    let buf = w.buf(F);
    assert_eq!(w.editor.hunks[&buf].len(), 1);
    w.decides(ReviewAction::Reject, Scope::All);
    assert_eq!(w.buffer(F), "mine\n");
    w.skip();
}

#[test]
fn a_write_is_rebased_when_the_user_types() {
    let mut w = with_buffer("a\nb\n");
    w.holds(Part::Editor);
    writes(&mut w, "1", F, "a\nB\n");
    types(&mut w, 0, 0, &["one"]);
    w.goes_on();
    check_written(&w, "1");
    assert_eq!(w.buffer(F), "one\na\nB\n");
}

#[test]
fn a_write_goes_to_disk_if_its_buffer_is_wiped_out() {
    let mut w = with_buffer("a\nb\n");
    let buf = w.buf(F);
    w.holds(Part::Editor);
    writes(&mut w, "1", F, "a\nB\n");
    w.edits(|editor, _, out| editor.wipes(buf, out));
    w.goes_on();
    check_written(&w, "1");
    assert_eq!(w.disk.get(F).as_deref(), Some("a\nB\n"));
    assert_eq!(
        w.model
            .workspace
            .reviews()
            .get(Path::new(F))
            .unwrap()
            .ledger
            .hunks()
            .len(),
        1
    );
}

/// Returns a session whose agent reads a missing file as an empty one.
fn with_missing_as_empty() -> World {
    let mut w = World::ready();
    let folders = Folders {
        missing_is_empty: true,
        ..w.session(S1).folders()
    };
    let workspace = &mut w.model.workspace;
    workspace.open_session(S1, folders, &mut Effects::default());
    w
}

#[test]
fn a_write_to_a_new_file_that_the_user_saves_and_closes_before_keeps_their_lines() {
    let mut w = with_missing_as_empty();
    reads(&mut w, "1", json!({}));
    let buf = w.opens_file(F);
    w.holds(Part::Editor);
    writes(&mut w, "2", F, "theirs\n");
    types(&mut w, 0, 1, &["mine"]);
    w.edits(|editor, disk, out| {
        editor.saves(buf, disk, out);
        editor.wipes(buf, out);
    });
    w.goes_on();
    check_written(&w, "2");
    assert_eq!(w.disk.get(F).as_deref(), Some("mine\ntheirs\n"));
}

#[test]
fn a_file_opened_during_a_write_has_the_written_text() {
    let mut w = with_file("a\nb\n");
    w.holds(Part::Disk);
    writes(&mut w, "1", F, "a\nB\n");
    w.opens_file(F);
    w.goes_on();
    check_written(&w, "1");
    assert_eq!(w.buffer(F), "a\nB\n");
    assert_eq!(w.disk.get(F).as_deref(), Some("a\nB\n"));
}

#[test]
fn a_file_opened_during_a_write_keeps_changes_of_others() {
    let mut w = with_file("a\nb\nc\n");
    reads(&mut w, "1", json!({}));
    w.disk.put(F, "a\nothers\nb\nc\n");
    w.holds(Part::Disk);
    writes(&mut w, "2", F, "a\nb\nC\n");
    let event = w.disk.work(Path::new(F));
    w.happens(event.unwrap());
    w.opens_file(F);
    types(&mut w, 0, 0, &["typed"]);
    w.goes_on();
    check_written(&w, "2");
    assert_eq!(w.buffer(F), "typed\na\nothers\nb\nC\n");
    assert_eq!(w.disk.get(F), Some(w.buffer(F)));
}

#[test]
fn a_failed_save_keeps_the_buffers_text_and_is_reported() {
    let mut w = with_buffer("a\n");
    w.holds(Part::Editor);
    writes(&mut w, "1", F, "b\n");
    w.disk.broken.insert(F.into());
    w.goes_on();
    check_error(
        &w,
        "1",
        -32603,
        "changed in the editor, but could not be saved",
    );
    assert_eq!(w.buffer(F), "b\n");
    let mut w = with_buffer("a\n");
    let buf = w.buf(F);
    w.editor.buffers.get_mut(&buf).unwrap().readonly = true;
    w.edits(|editor, _, out| editor.ticks(buf, out));
    writes(&mut w, "1", F, "b\n");
    check_error(&w, "1", -32603, "read-only");
    assert_eq!(w.buffer(F), "a\n");
}

#[test]
fn writes_to_one_path_run_in_order() {
    for mut w in [with_file("0\n"), with_buffer("0\n")] {
        w.holds(Part::Disk);
        w.holds(Part::Editor);
        for n in 1..5 {
            writes(&mut w, &n.to_string(), F, &format!("{n}\n"));
        }
        writes(&mut w, "9", "/p/other", "x\n");
        w.goes_on();
        let mut ids: Vec<&str> = w.agents[&A1].answers.iter().map(|a| a.0.as_str()).collect();
        ids.retain(|id| *id != "9");
        assert_eq!(ids, ["1", "2", "3", "4"]);
        assert!(w.agents[&A1].answers.iter().all(|answer| answer.1.is_ok()));
        assert_eq!(w.disk.get(F).as_deref(), Some("4\n"));
        assert_eq!(w.disk.get("/p/other").as_deref(), Some("x\n"));
    }
}

#[test]
fn changes_of_others_on_disk_are_merged_before_the_agents_text() {
    let mut w = with_buffer("a\nb\nc\nd\n");
    types(&mut w, 1, 0, &["typed"]);
    w.disk.put(F, "a\nb\nc\nformatted\n");
    writes(&mut w, "1", F, "A\nb\nc\nformatted\n");
    check_written(&w, "1");
    assert_eq!(w.buffer(F), "A\ntyped\nb\nc\nformatted\n");
    assert_eq!(ledger(&w).base().to_string(), "a\ntyped\nb\nc\nformatted\n");
}

#[test]
fn changes_of_others_on_disk_are_merged_while_the_user_types() {
    let mut w = with_buffer("a\nb\nc\nd\n");
    w.disk.put(F, "a\nb\nc\nformatted\n");
    w.holds(Part::Editor);
    writes(&mut w, "1", F, "A\nb\nc\nformatted\n");
    types(&mut w, 1, 0, &["typed"]);
    w.goes_on();
    check_written(&w, "1");
    assert_eq!(w.buffer(F), "A\ntyped\nb\nc\nformatted\n");
}

#[test]
fn a_conflict_with_changes_of_others_on_disk_is_offered() {
    let mut w = with_buffer("a\nb\nc\nd\n");
    types(&mut w, 1, 1, &["mine"]);
    w.disk.put(F, "a\nothers\nc\nd\n");
    w.skip();
    writes(&mut w, "1", F, "a\nothers\nc\nD\n");
    assert!(w.was_told("Warn: /p/f: lines you changed also changed on disk"));
    assert_eq!(w.buffer(F), "a\nmine\nc\nD\n");
    let buf = w.buf(F);
    let offered = w.editor.hunks[&buf].iter().find(|hunk| hunk.conflict);
    assert_eq!(offered.unwrap().removed[0].text, "others");
}

#[test]
fn a_save_hooks_changes_are_attributed_to_the_agent() {
    let mut w = with_buffer("a\n");
    w.editor.save_hook = Some("// formatted".into());
    writes(&mut w, "1", F, "b\n");
    check_written(&w, "1");
    assert_eq!(ledger(&w).base().to_string(), "a\n");
    assert_eq!(ledger(&w).current().to_string(), "b\n// formatted\n");
}

#[test]
fn a_file_keeps_its_line_endings_and_final_newline() {
    let check = |before: &str, content: &str, after: &str| {
        for mut w in [with_file(before), with_buffer(before)] {
            writes(&mut w, "1", F, content);
            check_written(&w, "1");
            assert_eq!(w.disk.get(F).as_deref(), Some(after));
        }
    };
    check("a\r\nb\r\n", "a\nB\n", "a\r\nB\r\n");
    check("a\r\nb\r\n", "a\r\nB\r\n", "a\r\nB\r\n");
    check("\u{feff}a\n", "b\n", "\u{feff}b\n");
    let mut w = with_buffer("a\r\n");
    let buf = w.buf(F);
    assert_eq!(w.editor.buffers[&buf].format.line_end, LineEnd::CrLf);
    types(&mut w, 0, 0, &["typed"]);
    reads(&mut w, "1", json!({}));
    assert_eq!(content(&w, "1"), "typed\r\na\r\n");
}

#[test]
fn requests_of_a_closed_session_are_answered() {
    let mut w = with_file("a\n");
    w.opens(2, "bot");
    w.holds(Part::Disk);
    reads(&mut w, "1", json!({}));
    writes(&mut w, "2", F, "b\n");
    writes(&mut w, "3", F, "c\n");
    w.happens(Event::Session(SessionEvent::Close { session: S1 }));
    w.goes_on();
    for id in ["1", "2", "3"] {
        assert!(w.answer(id).is_err());
    }
    assert_eq!(w.disk.get(F).as_deref(), Some("a\n"));
}

#[test]
fn a_dead_agents_write_does_not_block_later_ones() {
    let mut w = with_file("a\n");
    w.holds(Part::Disk);
    writes(&mut w, "1", F, "b\n");
    writes(&mut w, "2", F, "c\n");
    w.exits(A1, "signal 9", &[]);
    w.goes_on();
    w.prompts("again");
    let params = json!({ "sessionId": "s2", "path": F, "content": "d\n" });
    let line =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "fs/write_text_file", "params": params });
    w.prints(crate::spine::ids::AgentKey(2), &line.to_string());
    assert_eq!(w.disk.get(F).as_deref(), Some("d\n"));
}

#[test]
fn a_missing_file_reads_as_empty_for_agents_configured_so() {
    let mut w = with_missing_as_empty();
    let path = "/p/none";
    reads(&mut w, "1", json!({ "path": path }));
    assert_eq!(content(&w, "1"), "");
    // The file still does not exist; when another program creates it, its text stays.
    assert_eq!(w.disk.get(path), None);
    w.disk.put(path, "theirs\n");
    writes(&mut w, "2", path, "the agent's\n");
    let text = w.disk.get(path).unwrap();
    assert!(text.contains("theirs"), "{text}");
}

#[test]
fn accepting_all_skips_conflicts_and_says_so() {
    for scope in [Scope::All, Scope::File { path: F.into() }] {
        let mut w = with_buffer("a\nb\nc\nd\n");
        reads(&mut w, "1", json!({}));
        types(&mut w, 1, 1, &["mine"]);
        writes(&mut w, "2", F, "a\ntheirs\nc\nD\n");
        w.skip();
        w.decides(ReviewAction::Accept, scope);
        assert_eq!(w.buffer(F), "a\nmine\nc\nD\n");
        assert!(w.was_told("1 conflict was skipped: it would replace your lines."));
        let buf = w.buf(F);
        let hunks = &w.editor.hunks[&buf];
        assert_eq!((hunks.len(), hunks[0].conflict), (1, true));
        // Alone it is accepted.
        w.decides(ReviewAction::Accept, Scope::Hunk { buf, row: 1 });
        assert_eq!(w.buffer(F), "a\ntheirs\nc\nD\n");
        w.skip();
    }
}

#[test]
fn a_users_line_in_a_hunk_that_the_agent_writes_again_stays_on_its_old_side() {
    let mut w = with_buffer("a\nb\nc\n");
    reads(&mut w, "1", json!({}));
    writes(&mut w, "2", F, "a\nB1\nB2\nc\n");
    types(&mut w, 2, 0, &["mine"]);
    reads(&mut w, "3", json!({}));
    writes(&mut w, "4", F, "a\nX\nc\n");
    assert_eq!(w.buffer(F), "a\nX\nc\n");
    let buf = w.buf(F);
    let removed = w.editor.hunks[&buf].iter().flat_map(|hunk| &hunk.removed);
    let removed: Vec<&str> = removed.map(|line| line.text.as_str()).collect();
    assert_eq!(removed, ["b", "mine"]);
    w.decides(ReviewAction::Reject, Scope::All);
    assert_eq!(w.buffer(F), "a\nb\nmine\nc\n");
    w.skip();
}
