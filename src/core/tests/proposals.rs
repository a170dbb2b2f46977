//! What agents propose before they write: shown, decided about, carried out on the result.

use std::path::Path;

use serde_json::{Value, json};

use super::world::{A1, Part, S1, World};
use crate::core::event::{Event, ReviewAction, Scope};
use crate::core::ids::PermissionId;
use crate::core::proposals::Preview;
use crate::core::text::LineEdit;
use ReviewAction::{Accept, Reject};

const F: &str = "/p/f";
const OLD: &str = "one\ntwo\nthree\nfour\nfive\n";
const NEW: &str = "one\nTWO\nthree\nFOUR\nfive\n";

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

fn open(w: &mut World, path: &str) {
    w.edits(|editor, disk, out| editor.open(Path::new(path), disk, out));
}

/// A turn in which the agent asks to change the file `F`, which is in a buffer, by these diffs.
fn asked(text: &str, diffs: &[Value]) -> World {
    let mut w = World::ready();
    w.disk.put(F, text);
    open(&mut w, F);
    w.prompts("hi");
    asks(&mut w, "0", &edit("t", diffs), &options());
    w.skip();
    w
}

fn decide(w: &mut World, action: ReviewAction, row: usize) {
    let buf = w.buf(F);
    let scope = Scope::Hunk { buf, row };
    w.happens(Event::Review { action, scope });
}

fn decide_all(w: &mut World, action: ReviewAction) {
    let scope = Scope::All;
    w.happens(Event::Review { action, scope });
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

fn writes(w: &mut World, path: &str, content: &str) {
    let id = format!("\"w{}\"", w.agents[&A1].answers.len());
    let params = json!({ "sessionId": "s1", "path": path, "content": content });
    w.asks(&id, "fs/write_text_file", &params);
}

/// Returns what is drawn of proposals in a file: `row+count label: lines that would come`.
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

/// Returns the lines of the question that is shown.
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
    let review = w.model.reviews.get(Path::new(F));
    review.map_or(0, |review| review.ledger.hunks().len())
}

/// Checks what is drawn when an agent asks about diffs of a text.
#[track_caller]
fn check_drawn(text: &str, diffs: &[Value], want: &[&str]) {
    let w = asked(text, diffs);
    assert_eq!(drawn(&w, F), want);
    assert_eq!(w.buffer(F), text);
}

#[test]
fn diffs_of_all_kinds_are_drawn_where_they_would_be() {
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
fn what_does_not_fit_is_said_in_the_question_and_shown_as_it_came() {
    let w = asked(
        OLD,
        &[diff(F, Some("six"), "SIX"), diff(F, Some("two"), "TWO")],
    );
    assert_eq!(drawn(&w, F), ["1+1 proposed 1/1: TWO"]);
    assert_eq!(
        question(&w),
        [
            "edit  Edit t",
            "Does not fit what is there: the text is not in f.",
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
fn of_several_places_the_one_at_the_calls_location_is_shown() {
    let mut w = World::ready();
    w.disk.put(F, "x\na\nx\nb\nx\n");
    open(&mut w, F);
    w.prompts("hi");
    let mut tool = edit("t", &[diff(F, Some("x"), "y")]);
    tool["locations"] = json!([{ "path": F, "line": 5 }]);
    asks(&mut w, "0", &tool, &options());
    assert_eq!(drawn(&w, F), ["4+1 proposed 1/1: y"]);
    assert_eq!(
        question(&w)[1],
        "Fits 3 places in f: the one in line 5 is shown."
    );
}

#[test]
fn a_proposal_moves_with_the_users_edits_and_is_located_again() {
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
        "Does not fit what is there: the text is not in f."
    );
    types(&mut w, 2, 1, &["two"]);
    assert_eq!(drawn(&w, F), ["2+1 proposed 1/1: TWO"]);
    assert_eq!(question(&w)[1], F);
}

#[test]
fn all_accepted_answers_by_the_option_that_allows_once() {
    let mut w = asked(OLD, &[diff(F, Some(OLD), NEW)]);
    decide(&mut w, Accept, 1);
    assert_eq!(
        drawn(&w, F),
        ["1+1 accepted 1/2: TWO", "3+1 proposed 2/2: FOUR"]
    );
    assert_eq!(told(&w), ["/p/f:1 accepted", "/p/f:3 proposed"]);
    decide(&mut w, Accept, 3);
    assert_eq!(answered(&w, "0"), "yes");
    assert_eq!(drawn(&w, F), [""; 0]);
    assert_eq!(told(&w), [""; 0]);
    writes(&mut w, F, NEW);
    assert_eq!((w.buffer(F).as_str(), hunks(&w)), (NEW, 0));
}

#[test]
fn all_rejected_answers_by_the_option_that_rejects_once() {
    let mut w = asked(OLD, &[diff(F, Some(OLD), NEW)]);
    decide_all(&mut w, Reject);
    assert_eq!(answered(&w, "0"), "no");
    assert_eq!(w.buffer(F), OLD);
    // The agent writes all the same: that is to be reviewed.
    writes(&mut w, F, NEW);
    assert_eq!(hunks(&w), 2);
}

const MIXED: &str = "one\nTWO\nthree\nfour\nfive\n";

#[test]
fn a_choice_by_hunks_allows_and_is_carried_out_on_what_is_written() {
    let mut w = asked(OLD, &[diff(F, Some(OLD), NEW)]);
    w.model.feedback = true;
    decide(&mut w, Accept, 1);
    decide(&mut w, Reject, 3);
    assert_eq!(answered(&w, "0"), "yes");
    writes(&mut w, F, NEW);
    assert_eq!(w.buffer(F), MIXED);
    assert_eq!(w.disk.get(F).as_deref(), Some(MIXED));
    assert_eq!(hunks(&w), 0);
    w.ends_turn("end_turn");
    assert!(
        w.chat().contains("told with the next prompt"),
        "{}",
        w.chat()
    );
    assert!(w.chat().contains("+FOUR"), "{}", w.chat());
}

#[test]
fn a_choice_is_carried_out_on_lines_that_have_moved() {
    let mut w = asked(OLD, &[diff(F, Some(OLD), NEW)]);
    decide(&mut w, Reject, 1);
    types(&mut w, 0, 0, &["mine"]);
    decide(&mut w, Accept, 4);
    types(&mut w, 0, 0, &["too"]);
    writes(&mut w, F, NEW);
    let want = "too\nmine\none\ntwo\nthree\nFOUR\nfive\n";
    assert_eq!((w.buffer(F).as_str(), hunks(&w)), (want, 0));
}

#[test]
fn a_choice_is_carried_out_on_a_file_in_no_buffer() {
    let mut w = World::ready();
    w.disk.put(F, OLD);
    w.prompts("hi");
    asks(
        &mut w,
        "0",
        &edit("t", &[diff(F, Some(OLD), NEW)]),
        &options(),
    );
    assert_eq!(told(&w), ["/p/f:1 proposed", "/p/f:3 proposed"]);
    for (action, row) in [(Accept, 1), (Reject, 3)] {
        let path = F.into();
        let scope = Scope::At { path, row };
        w.happens(Event::Review { action, scope });
    }
    writes(&mut w, F, NEW);
    assert_eq!(w.disk.get(F).as_deref(), Some(MIXED));
    assert_eq!(hunks(&w), 0);
}

#[test]
fn a_created_file_that_was_rejected_beside_another_is_deleted() {
    let mut w = asked(
        OLD,
        &[diff(F, Some("two"), "TWO"), diff("/p/new", None, "a\n")],
    );
    assert_eq!(told(&w), ["/p/f:1 proposed", "/p/new:0 proposed"]);
    decide(&mut w, Accept, 1);
    let path = "/p/new".into();
    w.happens(Event::Review {
        action: Reject,
        scope: Scope::File { path },
    });
    assert_eq!(answered(&w, "0"), "yes");
    writes(&mut w, F, "one\nTWO\nthree\nfour\nfive\n");
    writes(&mut w, "/p/new", "a\n");
    assert_eq!(w.disk.get("/p/new"), None);
    assert_eq!(hunks(&w), 0);
}

#[test]
fn a_choice_that_nothing_comes_of_is_forgotten_with_the_turn() {
    let mut w = asked(OLD, &[diff(F, Some(OLD), NEW)]);
    decide(&mut w, Accept, 1);
    decide(&mut w, Reject, 3);
    w.ends_turn("end_turn");
    w.prompts("again");
    writes(&mut w, F, NEW);
    assert_eq!((w.buffer(F).as_str(), hunks(&w)), (NEW, 2));
}

#[test]
fn what_was_written_instead_of_the_rejected_is_left_to_be_reviewed() {
    let mut w = asked(OLD, &[diff(F, Some(OLD), NEW)]);
    decide(&mut w, Accept, 1);
    decide(&mut w, Reject, 3);
    w.skip();
    writes(&mut w, F, "one\nTWO\nthree\n4\nfive\n");
    assert_eq!(hunks(&w), 1);
    assert!(w.was_told("something else than what you rejected"));
}

/// Checks that a decided question without one clear option is given to the user.
#[track_caller]
fn check_asked(options: &Value, action: ReviewAction) {
    let mut w = World::ready();
    w.disk.put(F, OLD);
    open(&mut w, F);
    w.prompts("hi");
    asks(&mut w, "0", &json!({ "toolCallId": "other" }), options);
    asks(&mut w, "1", &edit("t", &[diff(F, Some(OLD), NEW)]), options);
    w.skip();
    decide_all(&mut w, action);
    assert!(w.was_told("permission 2 is to be answered"), "{:?}", w.log);
    assert!(w.agents[&A1].answers.is_empty());
    let view = w.editor.permission.as_ref().expect("it is shown");
    assert_eq!(view.id, PermissionId(2));
}

#[test]
fn never_is_an_option_guessed() {
    let option = |id: &str, kind: &str| json!({ "optionId": id, "name": id, "kind": kind });
    let twice = json!([option("a", "allow_once"), option("b", "allow_once")]);
    let always = json!([option("a", "allow_always"), option("b", "reject_always")]);
    check_asked(&twice, Accept);
    check_asked(&twice, Reject);
    check_asked(&always, Accept);
    check_asked(&always, Reject);
}

#[test]
fn what_cannot_be_shown_is_not_decided_by_hunks() {
    let mut w = asked(
        OLD,
        &[diff(F, Some("six"), "SIX"), diff(F, Some("two"), "TWO")],
    );
    decide_all(&mut w, Accept);
    assert!(w.was_told("permission 1 is to be answered"));
    w.happens(Event::PermissionAnswer {
        id: PermissionId(1),
        option: "yes".into(),
    });
    writes(&mut w, F, "one\nTWO\nthree\nfour\nfive\nsix\n");
    assert_eq!(hunks(&w), 1);
}

#[test]
fn an_answer_in_the_window_ends_the_preview_and_keeps_what_was_chosen() {
    let mut w = asked(OLD, &[diff(F, Some(OLD), NEW)]);
    decide(&mut w, Reject, 3);
    w.happens(Event::PermissionAnswer {
        id: PermissionId(1),
        option: "always".into(),
    });
    assert_eq!(drawn(&w, F), [""; 0]);
    writes(&mut w, F, NEW);
    assert_eq!((w.buffer(F).as_str(), hunks(&w)), (MIXED, 1));
}

#[test]
fn a_question_that_ends_takes_its_preview_along() {
    type End = fn(&mut World);
    let ends: [End; 3] = [
        |w| w.notifies(A1, "$/cancel_request", &json!({ "requestId": 0 })),
        |w| w.happens(Event::Cancel { session: S1 }),
        |w| w.exits(A1, "signal 9", &[]),
    ];
    for end in ends {
        let mut w = asked(OLD, &[diff(F, Some(OLD), NEW)]);
        assert_eq!(drawn(&w, F).len(), 2);
        end(&mut w);
        assert_eq!(drawn(&w, F), [""; 0]);
        assert_eq!(told(&w), [""; 0]);
    }
}

#[test]
fn two_questions_on_one_file_have_their_own_labels_and_the_older_comes_first() {
    let mut w = asked(OLD, &[diff(F, Some("two"), "TWO")]);
    asks(
        &mut w,
        "1",
        &edit("u", &[diff(F, Some("two"), "2")]),
        &options(),
    );
    assert_eq!(
        drawn(&w, F),
        [
            "1+1 proposed 1/1 (Edit t): TWO",
            "1+1 proposed 1/1 (Edit u): 2"
        ]
    );
    decide(&mut w, Reject, 1);
    assert_eq!(answered(&w, "0"), "no");
    assert_eq!(drawn(&w, F), ["1+1 proposed 1/1: 2"]);
    decide(&mut w, Accept, 1);
    assert_eq!(answered(&w, "1"), "yes");
}

#[test]
fn the_diff_may_come_before_the_question_or_after_it_and_a_reason_leaves_it() {
    let mut w = World::ready();
    w.disk.put(F, OLD);
    open(&mut w, F);
    w.prompts("hi");
    asks(&mut w, "0", &json!({ "toolCallId": "t" }), &options());
    assert_eq!(drawn(&w, F), [""; 0]);
    let update = |content: Value| json!({ "sessionUpdate": "tool_call_update", "toolCallId": "t", "content": content });
    w.updates(update(json!([diff(F, Some("two"), "TWO")])));
    assert_eq!(drawn(&w, F), ["1+1 proposed 1/1: TWO"]);
    let reason = json!([{ "type": "content", "content": { "type": "text", "text": "why" } }]);
    w.updates(update(reason));
    assert_eq!(drawn(&w, F), ["1+1 proposed 1/1: TWO"]);
    w.updates(update(json!([diff(F, Some("two"), "2")])));
    assert_eq!(drawn(&w, F), ["1+1 proposed 1/1: 2"]);
}

#[test]
fn a_pending_call_is_previewed_and_a_choice_counts_for_its_result() {
    let mut w = World::ready();
    w.disk.put(F, OLD);
    open(&mut w, F);
    w.prompts("hi");
    let mut call = edit("t", &[diff(F, Some(OLD), NEW)]);
    call["sessionUpdate"] = json!("tool_call");
    call["status"] = json!("pending");
    w.updates(call);
    assert_eq!(drawn(&w, F).len(), 2);
    decide(&mut w, Reject, 3);
    decide(&mut w, Accept, 1);
    assert_eq!(
        drawn(&w, F),
        ["1+1 accepted 1/2: TWO", "3+1 rejected 2/2: FOUR"]
    );
    w.updates(json!({
        "sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "in_progress",
    }));
    assert_eq!(drawn(&w, F), [""; 0]);
    writes(&mut w, F, NEW);
    assert_eq!((w.buffer(F).as_str(), hunks(&w)), (MIXED, 0));
}

#[test]
fn a_call_that_was_asked_about_is_not_previewed_again() {
    let mut w = asked(OLD, &[diff(F, Some(OLD), NEW)]);
    w.updates(json!({
        "sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "pending",
        "content": [diff(F, Some(OLD), NEW)],
    }));
    decide_all(&mut w, Reject);
    assert_eq!(drawn(&w, F), [""; 0]);
    w.updates(json!({
        "sessionUpdate": "tool_call_update", "toolCallId": "t",
        "content": [diff(F, Some(OLD), MIXED)],
    }));
    assert_eq!(drawn(&w, F), [""; 0]);
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
    open(&mut w, F);
    open(&mut w, "/p/new");
    assert_eq!(drawn(&w, F), ["1+1 proposed 1/1: TWO"]);
    assert_eq!(drawn(&w, "/p/new"), ["1+0 proposed 1/1: a|b"]);
}

#[test]
fn a_rejected_part_of_a_change_of_a_change_goes_back_to_the_first_change() {
    let mut w = World::ready();
    w.disk.put(F, OLD);
    open(&mut w, F);
    w.prompts("hi");
    writes(&mut w, F, NEW);
    let newer = "one\nTwo!\nthree\nFour!\nfive\n";
    asks(
        &mut w,
        "0",
        &edit("t", &[diff(F, Some(NEW), newer)]),
        &options(),
    );
    decide(&mut w, Accept, 1);
    decide(&mut w, Reject, 3);
    writes(&mut w, F, newer);
    assert_eq!(w.buffer(F), "one\nTwo!\nthree\nFOUR\nfive\n");
    assert_eq!(hunks(&w), 1);
}

#[test]
fn a_conflict_is_decided_as_it_was_proposed() {
    let mut w = World::ready();
    w.disk.put(F, OLD);
    open(&mut w, F);
    types(&mut w, 1, 1, &["mine"]);
    w.prompts("hi");
    asks(&mut w, "0", &edit("t", &[diff(F, None, NEW)]), &options());
    assert_eq!(
        drawn(&w, F),
        ["1+1 proposed 1/2: TWO", "3+1 proposed 2/2: FOUR"]
    );
    decide(&mut w, Accept, 1);
    decide(&mut w, Reject, 3);
    writes(&mut w, F, NEW);
    assert_eq!((w.buffer(F).as_str(), hunks(&w)), (MIXED, 0));
}

/// Checks what is left of `NEW`, written straight to disk, when its second hunk was rejected.
#[track_caller]
fn check_on_disk(is_open: bool) {
    let mut w = World::ready();
    w.disk.put(F, OLD);
    w.settle();
    if is_open {
        open(&mut w, F);
    }
    w.prompts("hi");
    let diffs = [diff(F, Some("two"), "TWO"), diff(F, Some("four"), "FOUR")];
    asks(&mut w, "0", &edit("t", &diffs), &options());
    for (action, row) in [(Accept, 1), (Reject, 3)] {
        let path = F.into();
        let scope = Scope::At { path, row };
        w.happens(Event::Review { action, scope });
    }
    assert_eq!(answered(&w, "0"), "yes");
    w.disk.put(F, NEW);
    w.settle();
    assert_eq!(w.disk.get(F).as_deref(), Some(MIXED));
    assert_eq!(hunks(&w), 0);
    if is_open {
        assert_eq!(w.buffer(F), MIXED);
    }
    w.ends_turn("end_turn");
    assert_eq!(hunks(&w), 0);
}

#[test]
fn a_choice_is_carried_out_on_what_the_agent_writes_to_disk() {
    check_on_disk(true);
    check_on_disk(false);
}

#[test]
fn a_choice_waits_for_what_is_told_after_the_turn() {
    let mut w = asked(OLD, &[diff(F, Some(OLD), NEW)]);
    decide(&mut w, Accept, 1);
    decide(&mut w, Reject, 3);
    w.holds(Part::Shadow);
    w.disk.put(F, NEW);
    w.ends_turn("end_turn");
    w.goes_on();
    assert_eq!((w.buffer(F).as_str(), hunks(&w)), (MIXED, 0));
}

#[test]
fn a_proposal_is_located_in_what_others_write_meanwhile() {
    let mut w = World::ready();
    w.disk.put(F, OLD);
    w.settle();
    w.prompts("hi");
    asks(
        &mut w,
        "0",
        &edit("t", &[diff(F, Some("two"), "TWO")]),
        &options(),
    );
    assert_eq!(told(&w), ["/p/f:1 proposed"]);
    w.disk.put(F, "more\none\ntwo\n");
    w.settle();
    assert_eq!(told(&w), ["/p/f:2 proposed"]);
}

#[test]
fn a_deletion_is_decided_as_it_was_proposed() {
    for (is_open, action) in [
        (true, Accept),
        (false, Accept),
        (true, Reject),
        (false, Reject),
    ] {
        let mut w = World::ready();
        w.disk.put(F, "a\nb\n");
        w.disk.put("/p/g", "g\n");
        w.settle();
        if is_open {
            open(&mut w, F);
        }
        w.prompts("hi");
        let diffs = [
            diff(F, Some("[file deleted]"), ""),
            diff("/p/g", Some("g"), "G"),
        ];
        asks(&mut w, "0", &edit("t", &diffs), &options());
        for (path, action) in [(F, action), ("/p/g", Accept)] {
            let path = path.into();
            let scope = Scope::File { path };
            w.happens(Event::Review { action, scope });
        }
        w.disk.put("/p/g", "G\n");
        w.disk.removes(F);
        w.settle();
        w.ends_turn("end_turn");
        let left = (action == Reject).then_some("a\nb\n");
        assert_eq!(w.disk.get(F).as_deref(), left, "{is_open} {action:?}");
        let reviews = w.model.snapshot().reviews;
        assert!(reviews.is_empty(), "{is_open} {action:?}: {reviews:?}");
    }
}

#[test]
fn a_preview_that_is_switched_off_is_gone() {
    let mut w = asked(OLD, &[diff(F, Some(OLD), NEW)]);
    let limits = w.model.limits;
    w.happens(Event::Configure {
        limits,
        preview: Preview::Off,
        feedback: true,
    });
    assert_eq!(drawn(&w, F), [""; 0]);
    assert_eq!(told(&w), [""; 0]);
}

#[test]
fn a_link_to_a_file_is_that_file() {
    let mut w = World::ready();
    w.disk.put(F, OLD);
    w.disk.links.insert("/p/link".into(), F.into());
    w.settle();
    w.prompts("hi");
    asks(
        &mut w,
        "0",
        &edit("t", &[diff("/p/link", Some(OLD), NEW)]),
        &options(),
    );
    assert_eq!(told(&w), ["/p/link:1 proposed", "/p/link:3 proposed"]);
    open(&mut w, F);
    assert_eq!(drawn(&w, F).len(), 2);
    decide(&mut w, Accept, 1);
    decide(&mut w, Reject, 3);
    writes(&mut w, "/p/link", NEW);
    assert_eq!((w.buffer(F).as_str(), hunks(&w)), (MIXED, 0));
}
