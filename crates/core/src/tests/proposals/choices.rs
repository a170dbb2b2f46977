//! Choices per hunk of a proposal, applied to the text the agent then writes.

use super::*;
use crate::spine::effect::Save;

#[test]
fn a_choice_by_hunks_allows_and_is_applied_to_the_written_text() {
    let mut w = asked(OLD, &[diff(F, Some(OLD), NEW)]);
    w.model.workspace.configure(Preview::On, false, true);
    decide(&mut w, Accept, 1);
    decide(&mut w, Reject, 3);
    assert_eq!(answered(&w, "0"), "yes");
    w.writes(F, NEW);
    assert_eq!(w.buffer(F), MIXED);
    assert_eq!(w.disk.get(F).as_deref(), Some(MIXED));
    assert_eq!(hunks(&w), 0);
    w.ends_turn("end_turn");
    assert!(w.chat().contains("The next prompt reports"), "{}", w.chat());
    assert!(w.chat().contains("+FOUR"), "{}", w.chat());
}

#[test]
fn what_is_put_back_is_saved_with_the_end_that_the_file_has() {
    for end in ["", "\n"] {
        let [old, new, mixed] = [OLD, NEW, MIXED].map(|text| format!("{}{end}", text.trim_end()));
        let mut w = asked(&old, &[diff(F, Some(&old), &new)]);
        decide(&mut w, Accept, 1);
        decide(&mut w, Reject, 3);
        w.holds(Part::Editor);
        w.writes(F, &new);
        let saves = w.saves_edits();
        let is_right = match end {
            "" => matches!(saves[..], [Save::Over(_), Save::AsItEnds(_)]),
            _ => matches!(saves[..], [Save::Over(_), Save::OverIfClean(_)]),
        };
        assert!(is_right, "{end:?}: {saves:?}");
        assert_eq!(w.disk.get(F), Some(mixed));
    }
}

fn allows(w: &mut World) {
    w.happens(Event::Answer {
        id: QuestionId(1),
        answer: Answer::Option("yes".into()),
    });
}

#[test]
fn an_edit_that_was_allowed_is_reviewed_unless_the_user_wants_it_accepted() {
    for (accept_allowed, left) in [(false, 2), (true, 0)] {
        let mut w = asked(OLD, &[diff(F, Some(OLD), NEW)]);
        w.model
            .workspace
            .configure(Preview::On, accept_allowed, false);
        allows(&mut w);
        w.writes(F, NEW);
        assert_eq!((w.buffer(F).as_str(), hunks(&w)), (NEW, left));
    }
}

#[test]
fn an_allowed_edit_keeps_the_hunks_that_the_user_rejected_out() {
    let mut w = asked(OLD, &[diff(F, Some(OLD), NEW)]);
    w.model.workspace.configure(Preview::On, true, false);
    decide(&mut w, Reject, 3);
    allows(&mut w);
    w.writes(F, NEW);
    assert_eq!((w.buffer(F).as_str(), hunks(&w)), (MIXED, 0));
}

#[test]
fn what_the_agent_writes_beside_the_allowed_edit_is_reviewed() {
    let mut w = asked(OLD, &[diff(F, Some(OLD), NEW)]);
    w.model.workspace.configure(Preview::On, true, false);
    allows(&mut w);
    let more = "ONE\n\none\nTWO\nthree\nfour!\nfive\n";
    w.writes(F, more);
    // The first lines and the fourth were not shown.
    assert_eq!((w.buffer(F).as_str(), hunks(&w)), (more, 2));
}

#[test]
fn a_choice_is_applied_to_moved_lines() {
    let mut w = asked(OLD, &[diff(F, Some(OLD), NEW)]);
    decide(&mut w, Reject, 1);
    types(&mut w, 0, 0, &["mine"]);
    decide(&mut w, Accept, 4);
    types(&mut w, 0, 0, &["too"]);
    w.writes(F, NEW);
    let want = "too\nmine\none\ntwo\nthree\nFOUR\nfive\n";
    assert_eq!((w.buffer(F).as_str(), hunks(&w)), (want, 0));
}

#[test]
fn a_choice_is_applied_to_a_file_without_a_buffer() {
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
        w.decides(action, Scope::At { path, row });
    }
    w.writes(F, NEW);
    assert_eq!(w.disk.get(F).as_deref(), Some(MIXED));
    assert_eq!(hunks(&w), 0);
}

#[test]
fn a_rejected_new_file_beside_an_accepted_one_is_deleted() {
    let mut w = asked(
        OLD,
        &[diff(F, Some("two"), "TWO"), diff("/p/new", None, "a\n")],
    );
    assert_eq!(told(&w), ["/p/f:1 proposed", "/p/new:0 proposed"]);
    decide(&mut w, Accept, 1);
    let path = "/p/new".into();
    w.decides(Reject, Scope::File { path });
    assert_eq!(answered(&w, "0"), "yes");
    w.writes(F, "one\nTWO\nthree\nfour\nfive\n");
    w.writes("/p/new", "a\n");
    assert_eq!(w.disk.get("/p/new"), None);
    assert_eq!(hunks(&w), 0);
}

#[test]
fn an_unused_choice_ends_with_the_turn() {
    let mut w = asked(OLD, &[diff(F, Some(OLD), NEW)]);
    decide(&mut w, Accept, 1);
    decide(&mut w, Reject, 3);
    w.ends_turn("end_turn");
    w.prompts("again");
    w.writes(F, NEW);
    assert_eq!((w.buffer(F).as_str(), hunks(&w)), (NEW, 2));
}

#[test]
fn other_text_in_place_of_a_rejected_hunk_is_reviewed() {
    let mut w = asked(OLD, &[diff(F, Some(OLD), NEW)]);
    decide(&mut w, Accept, 1);
    decide(&mut w, Reject, 3);
    w.skip();
    w.writes(F, "one\nTWO\nthree\n4\nfive\n");
    assert_eq!(hunks(&w), 1);
    assert!(w.was_told("something other than the hunk you rejected"));
}

#[test]
fn rejecting_part_of_a_second_change_restores_the_first() {
    let mut w = World::ready();
    w.disk.put(F, OLD);
    w.opens_file(F);
    w.prompts("hi");
    w.writes(F, NEW);
    let newer = "one\nTwo!\nthree\nFour!\nfive\n";
    asks(
        &mut w,
        "0",
        &edit("t", &[diff(F, Some(NEW), newer)]),
        &options(),
    );
    decide(&mut w, Accept, 1);
    decide(&mut w, Reject, 3);
    w.writes(F, newer);
    assert_eq!(w.buffer(F), "one\nTwo!\nthree\nFOUR\nfive\n");
    assert_eq!(hunks(&w), 1);
}

#[test]
fn an_accepted_hunk_accepts_no_pending_deletion_beside_it() {
    let mut w = World::ready();
    w.disk.put(F, "x\ny\nz\n");
    w.opens_file(F);
    w.prompts("hi");
    w.writes(F, "y\nz\n");
    let diff = diff(F, Some("y\nz\n"), "Y\nz\n");
    asks(&mut w, "0", &edit("t", &[diff]), &options());
    decide(&mut w, Accept, 0);
    w.writes(F, "Y\nz\n");
    assert_eq!((w.buffer(F).as_str(), hunks(&w)), ("Y\nz\n", 1));
}

#[test]
fn a_choice_applies_to_a_conflict() {
    let mut w = World::ready();
    w.disk.put(F, OLD);
    w.opens_file(F);
    types(&mut w, 1, 1, &["mine"]);
    w.prompts("hi");
    asks(&mut w, "0", &edit("t", &[diff(F, None, NEW)]), &options());
    assert_eq!(
        drawn(&w, F),
        ["1+1 proposed 1/2: TWO", "3+1 proposed 2/2: FOUR"]
    );
    decide(&mut w, Accept, 1);
    decide(&mut w, Reject, 3);
    w.writes(F, NEW);
    assert_eq!((w.buffer(F).as_str(), hunks(&w)), (MIXED, 0));
}

/// Writes `NEW` to disk after its second hunk was rejected, and checks the resulting text.
#[track_caller]
fn check_on_disk(is_open: bool) {
    let mut w = World::ready();
    w.disk.put(F, OLD);
    w.settle();
    if is_open {
        w.opens_file(F);
    }
    w.prompts("hi");
    let diffs = [diff(F, Some("two"), "TWO"), diff(F, Some("four"), "FOUR")];
    asks(&mut w, "0", &edit("t", &diffs), &options());
    for (action, row) in [(Accept, 1), (Reject, 3)] {
        let path = F.into();
        w.decides(action, Scope::At { path, row });
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
fn a_choice_is_applied_to_the_agents_write_to_disk() {
    check_on_disk(true);
    check_on_disk(false);
}

#[test]
fn a_choice_waits_for_changes_reported_after_the_turn() {
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
fn a_choice_is_applied_to_a_write_that_was_allowed_after_the_turn() {
    let mut w = World::ready();
    w.disk.put(F, OLD);
    w.opens_file(F);
    w.prompts("hi");
    w.ends_turn("end_turn");
    let call = edit("t", &[diff(F, Some(OLD), NEW)]);
    asks(&mut w, "0", &call, &options());
    // While the user reads the question, changes on disk are not the agent's.
    assert!(!w.model.workspace.is_in_turn(S1));
    decide(&mut w, Accept, 1);
    decide(&mut w, Reject, 3);
    assert_eq!(answered(&w, "0"), "yes");
    w.disk.put(F, NEW);
    w.settle();
    assert_eq!((w.buffer(F).as_str(), hunks(&w)), (MIXED, 0));
}

#[test]
fn a_proposal_is_located_again_after_changes_of_others() {
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
fn a_choice_applies_to_a_deletion() {
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
            w.opens_file(F);
        }
        w.prompts("hi");
        let diffs = [
            diff(F, Some("[file deleted]"), ""),
            diff("/p/g", Some("g"), "G"),
        ];
        asks(&mut w, "0", &edit("t", &diffs), &options());
        for (path, action) in [(F, action), ("/p/g", Accept)] {
            let path = path.into();
            w.decides(action, Scope::File { path });
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
