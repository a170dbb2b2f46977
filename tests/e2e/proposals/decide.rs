//! Decisions about proposals: by hunk, by file, all at once; and their effect on the file.

use super::*;

/// [`NEW`] without its second hunk.
const MIXED: &str = "one\nTWO\nthree\nfour\nfive\nsix\nseven\n";

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

/// Checks that after `decide` the agent receives this answer, and that `a.txt` has this text and
/// the review is empty once the agent has written, if it may.
#[track_caller]
fn check(decide: impl FnOnce(&Nvim), option: &str, after: &str) {
    let mut script = Script::new()
        .step(permission("t", &[diff("a.txt", Some(OLD), NEW)]))
        .step(answer("t", option));
    if option == "allow_once" {
        script = script.writes("a.txt", NEW);
    }
    let nvim = asked(script);
    to_file(&nvim);
    decide(&nvim);
    wait_answered(&nvim);
    nvim.wait_script("agent");
    wait_lines(&nvim, &lines(after));
    wait_file(&nvim, "a.txt", after);
    wait_states(&nvim, json!([]));
    assert_eq!(nvim.lua("return vim.bo.modified", ()), false);
    nvim.quit();
}

#[test]
fn all_accepted_is_written_and_needs_no_second_review() {
    check(|nvim| nvim.keys("\\A"), "allow_once", NEW);
    check(|nvim| nvim.cmd("Acp accept all"), "allow_once", NEW);
    check(|nvim| nvim.keys("2G\\a4G\\a6G\\a"), "allow_once", NEW);
}

#[test]
fn all_rejected_is_refused() {
    check(|nvim| nvim.keys("\\R"), "reject_once", OLD);
    check(|nvim| nvim.cmd("Acp reject all"), "reject_once", OLD);
    let by_api = |nvim: &Nvim| drop(nvim.lua("require('acp').review.reject('file')", ()));
    check(by_api, "reject_once", OLD);
}

#[test]
fn decisions_by_hunk_are_applied_to_the_agents_write() {
    check(|nvim| nvim.keys("2G\\a4G\\r\\A"), "allow_once", MIXED);
    let walk = |nvim: &Nvim| {
        nvim.keys("gg]a\\a]a\\r]a\\a");
    };
    check(walk, "allow_once", MIXED);
}

#[test]
fn a_decision_can_be_changed_until_the_last_one() {
    check(
        |nvim| nvim.keys("2G\\r\\a4G\\a\\r6G\\a"),
        "allow_once",
        MIXED,
    );
}

#[test]
fn edits_the_user_makes_in_between_stay() {
    let script = Script::new()
        .step(permission("t", &[diff("a.txt", Some(OLD), NEW)]))
        .step(answer("t", "allow_once"))
        .pause("allowed")
        .writes("a.txt", NEW);
    let nvim = asked(script);
    to_file(&nvim);
    nvim.keys("4G\\r");
    nvim.wait_text("rejected 2/3");
    nvim.keys("ggOmine<Esc>");
    nvim.wait_text("mine");
    nvim.keys("\\A");
    wait_answered(&nvim);
    crate::files::wait_pause(&nvim, "allowed");
    nvim.keys("ggOtoo<Esc>");
    crate::files::go_on(&nvim, "allowed");
    nvim.wait_script("agent");
    let mut want = vec!["too", "mine"];
    want.extend(lines(MIXED));
    wait_lines(&nvim, &want);
    wait_states(&nvim, json!([]));
    // Undo restores the rejected hunk, for review.
    nvim.keys("u");
    wait_states(&nvim, json!([["a.txt", 5, "pending"]]));
    nvim.quit();
}

#[test]
fn a_question_without_a_clear_option_stays_and_takes_no_key() {
    let mut ask = permission("t", &[diff("a.txt", Some(OLD), NEW)]);
    ask["options"] = json!([
        { "optionId": "a", "name": "Always", "kind": "allow_always" },
        { "optionId": "n", "name": "No", "kind": "reject_once" },
    ]);
    let script = Script::new()
        .step(ask)
        .step(answer("t", "a"))
        .writes("a.txt", NEW);
    let nvim = asked(script);
    to_file(&nvim);
    nvim.keys("4G\\r\\A");
    nvim.wait("the message", || {
        nvim.messages()
            .contains("Choose an option in the question (`:Acp permission`)")
    });
    assert_eq!(here(&nvim), "text");
    press(&nvim, "1y");
    nvim.wait_script("agent");
    wait_lines(&nvim, &lines(MIXED));
    nvim.quit();
}

#[test]
fn several_snippets_and_files_are_one_question() {
    let diffs = [
        diff("a.txt", Some("two"), "TWO"),
        diff("b.txt", Some("b\n"), "B\n"),
        diff("a.txt", Some("TWO\nthree"), "TWO\nTHREE"),
        diff("sub/new.txt", None, "new\n"),
    ];
    let script = Script::new()
        .step(permission("t", &diffs))
        .step(answer("t", "allow_once"))
        .writes("a.txt", "one\nTWO\nTHREE\nfour\nfive\nsix\n")
        .writes("b.txt", "a\nB\nc\n")
        .writes("sub/new.txt", "new\n");
    let nvim = asked_in(Project::new().file("b.txt", "a\nb\nc\n"), script);
    to_file(&nvim);
    wait_states(
        &nvim,
        json!([
            ["a.txt", 1, "proposed"],
            ["b.txt", 1, "proposed"],
            ["new.txt", 0, "proposed"]
        ]),
    );
    nvim.keys("gg]a\\a]a");
    nvim.wait("the next file", || {
        nvim.lua("return vim.fn.expand('%:t')", ()) == "b.txt"
    });
    nvim.wait_text("proposed 1/1");
    nvim.keys("\\r]a");
    nvim.wait("the new file", || {
        nvim.lua("return vim.fn.expand('%:t')", ()) == "new.txt"
    });
    nvim.wait_text("proposed 1/1");
    assert_eq!(nvim.lua("return vim.bo.modified", ()), false);
    nvim.keys("\\a");
    wait_answered(&nvim);
    nvim.wait_script("agent");
    wait_file(&nvim, "b.txt", "a\nb\nc\n");
    wait_file(&nvim, "sub/new.txt", "new\n");
    wait_states(&nvim, json!([]));
    nvim.quit();
}

#[test]
fn two_questions_on_one_file_are_answered_oldest_first() {
    let script = Script::new()
        .step(permission("t", &[diff("a.txt", Some("two"), "TWO")]))
        .step(permission("u", &[diff("a.txt", Some("two"), "2")]))
        .step(answer("t", "reject_once"))
        .step(answer("u", "allow_once"))
        .writes("a.txt", "one\n2\nthree\nfour\nfive\nsix\n");
    let nvim = asked(script);
    to_file(&nvim);
    nvim.wait_text("proposed 1/1 (Edit t)");
    nvim.keys("2G\\r");
    nvim.wait("only the second question", || {
        let screen = nvim.screen();
        screen.has("two proposed 1/1 \\a") && !screen.has("(Edit")
    });
    nvim.cmd("wincmd t");
    nvim.keys("2G\\a");
    wait_answered(&nvim);
    nvim.wait_script("agent");
    wait_states(&nvim, json!([]));
    nvim.quit();
}

#[test]
fn a_cancel_removes_the_preview() {
    let script = Script::new()
        .step(permission("t", &[diff("a.txt", Some(OLD), NEW)]))
        .step(json!({ "expect": "session/cancel", "any_order": true }))
        .step(answer("t", "cancelled"));
    let nvim = asked(script);
    to_file(&nvim);
    nvim.cmd("Acp cancel");
    wait_answered(&nvim);
    wait_states(&nvim, json!([]));
    nvim.wait("the preview to be gone", || !nvim.screen().has("proposed"));
    // Its keymaps are removed with it, once one has said so.
    nvim.keys("]a");
    nvim.wait_text("Nothing to review.");
    assert_eq!(nvim.lua("return vim.fn.maparg('\\\\a', 'n')", ()), "");
    nvim.quit();
}

#[test]
fn a_pending_call_can_be_decided_before_it_runs() {
    let call = json!({ "tool": {
        "id": "t", "title": "Edit", "kind": "edit", "status": "pending",
        "content": [diff("a.txt", Some(OLD), NEW)],
    }});
    let script = Script::new()
        .step(call)
        .pause("pending")
        .step(json!({ "tool_update": { "id": "t", "status": "in_progress" } }))
        .writes("a.txt", NEW);
    let nvim = asked(script);
    crate::files::wait_pause(&nvim, "pending");
    wait_shown(&nvim);
    nvim.wait_text("proposed 3/3");
    nvim.keys("4G\\r\\A");
    nvim.wait_text("accepted 3/3");
    crate::files::go_on(&nvim, "pending");
    nvim.wait_script("agent");
    wait_lines(&nvim, &lines(MIXED));
    wait_file(&nvim, "a.txt", MIXED);
    wait_states(&nvim, json!([]));
    nvim.quit();
}
