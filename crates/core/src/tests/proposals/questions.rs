//! Proposals and the question or the pending call they belong to.

use super::*;
use crate::event::SessionEvent;

#[test]
fn accepting_all_hunks_answers_allow_once() {
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
    w.writes(F, NEW);
    assert_eq!((w.buffer(F).as_str(), hunks(&w)), (NEW, 0));
}

#[test]
fn rejecting_all_hunks_answers_reject_once() {
    let mut w = asked(OLD, &[diff(F, Some(OLD), NEW)]);
    decide_all(&mut w, Reject);
    assert_eq!(answered(&w, "0"), "no");
    assert_eq!(w.buffer(F), OLD);
    // The agent writes in spite of the rejection; the change is reviewed.
    w.writes(F, NEW);
    assert_eq!(hunks(&w), 2);
}

#[test]
fn a_question_lists_its_files_in_the_agents_order_once_the_first_is_read() {
    let mut w = World::ready();
    w.disk.put("/p/first", OLD);
    w.disk.put(F, OLD);
    w.opens_file(F);
    w.prompts("hi");
    w.holds(Part::Disk);
    let diffs = ["/p/first", F].map(|path| diff(path, Some(OLD), NEW));
    asks(&mut w, "0", &edit("t", &diffs), &options());
    let places = |w: &World| -> Vec<String> {
        let view = w.editor.permission.as_ref().expect("it is shown");
        let places = view.places.iter();
        places
            .map(|place| place.path.display().to_string())
            .collect()
    };
    // The second file is in a buffer, and therefore known before the first.
    assert_eq!(drawn(&w, F).len(), 2);
    assert_eq!(places(&w), [""; 0]);
    w.goes_on();
    assert_eq!(places(&w), ["/p/first", F]);
}

#[test]
fn a_question_about_a_whole_file_says_how_many_lines_go() {
    let notes = |old| {
        let w = asked(OLD, &[diff(F, old, NEW)]);
        let view = w.editor.permission.as_ref().expect("it is shown");
        let lines = view.lines.iter().map(|line| line.text.to_string());
        lines
            .filter(|line| line.starts_with("Replaces"))
            .collect::<Vec<_>>()
    };
    let text = "Replaces all of f: 2 of its 5 lines are removed; only the file shows which.";
    assert_eq!(notes(None), [text]);
    assert_eq!(notes(Some(OLD)), [""; 0]);
}

/// Checks that a decided question without one clear option is left to the user.
#[track_caller]
fn check_asked(options: &Value, action: ReviewAction) {
    let mut w = World::ready();
    w.disk.put(F, OLD);
    w.opens_file(F);
    w.prompts("hi");
    asks(&mut w, "0", &json!({ "toolCallId": "other" }), options);
    asks(&mut w, "1", &edit("t", &[diff(F, Some(OLD), NEW)]), options);
    w.skip();
    decide_all(&mut w, action);
    assert!(
        w.was_told("Choose an option in the question"),
        "{:?}",
        w.log
    );
    assert!(w.agents[&A1].answers.is_empty());
    let view = w.editor.permission.as_ref().expect("it is shown");
    assert_eq!(view.id, QuestionId(2));
}

#[test]
fn an_ambiguous_option_is_never_guessed() {
    let option = |id: &str, kind: &str| json!({ "optionId": id, "name": id, "kind": kind });
    let twice = json!([option("a", "allow_once"), option("b", "allow_once")]);
    let always = json!([option("a", "allow_always"), option("b", "reject_always")]);
    check_asked(&twice, Accept);
    check_asked(&twice, Reject);
    check_asked(&always, Accept);
    check_asked(&always, Reject);
}

#[test]
fn a_partly_shown_proposal_is_not_decided_by_hunks() {
    let mut w = asked(
        OLD,
        &[diff(F, Some("six"), "SIX"), diff(F, Some("two"), "TWO")],
    );
    decide_all(&mut w, Accept);
    assert!(w.was_told("Choose an option in the question"));
    w.happens(Event::Answer {
        id: QuestionId(1),
        answer: Answer::Option("yes".into()),
    });
    w.writes(F, "one\nTWO\nthree\nfour\nfive\nsix\n");
    assert_eq!(hunks(&w), 1);
}

#[test]
fn an_answer_in_the_window_ends_the_preview_and_keeps_choices() {
    let mut w = asked(OLD, &[diff(F, Some(OLD), NEW)]);
    decide(&mut w, Reject, 3);
    w.happens(Event::Answer {
        id: QuestionId(1),
        answer: Answer::Option("always".into()),
    });
    assert_eq!(drawn(&w, F), [""; 0]);
    w.writes(F, NEW);
    assert_eq!((w.buffer(F).as_str(), hunks(&w)), (MIXED, 1));
}

#[test]
fn a_preview_ends_with_its_question() {
    type End = fn(&mut World);
    let ends: [End; 3] = [
        |w| w.notifies(A1, "$/cancel_request", &json!({ "requestId": 0 })),
        |w| w.happens(Event::Session(SessionEvent::Cancel { session: S1 })),
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
fn the_diff_may_arrive_before_or_after_the_question() {
    let mut w = World::ready();
    w.disk.put(F, OLD);
    w.opens_file(F);
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
fn a_choice_on_a_pending_calls_preview_applies_to_its_result() {
    let mut w = World::ready();
    w.disk.put(F, OLD);
    w.opens_file(F);
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
    w.writes(F, NEW);
    assert_eq!((w.buffer(F).as_str(), hunks(&w)), (MIXED, 0));
}

#[test]
fn an_answered_call_is_not_previewed_again() {
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
