//! Hunks of a review after given edits and decisions, case by case.

use super::*;

pub(super) fn lines(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

pub(super) fn text(lines: &str) -> Text {
    Text::from_lines(lines.split_whitespace())
}

pub(super) fn edit(start: usize, removed: usize, new: &str) -> LineEdit {
    LineEdit {
        start,
        removed,
        lines: lines(new),
    }
}

/// One step of a test: an edit by the user or the agent, or a decision.
pub(super) enum Do {
    User(LineEdit),
    UserWrote(&'static str),
    Agent(LineEdit),
    AgentWrote(&'static str),
    Offer(Range<usize>, &'static str),
    Accept(Which),
    /// Computes the edits of a reject, applies them and reports them.
    Reject(Which),
}
use Do::*;

/// Runs the steps on `base` and compares the resulting base, current text and hunks: `-old +new
/// @row`, with `?theirs` for a conflict.
#[track_caller]
pub(super) fn check(base: &str, story: Vec<Do>, want: (&str, &str, &[&str])) {
    let mut review = Review::new(text(base));
    for step in story {
        match step {
            User(edit) => review.user_edited(&edit),
            UserWrote(new) => review.user_wrote(text(new)),
            Agent(edit) => review.agent_edited(&edit),
            AgentWrote(new) => review.agent_wrote(text(new)),
            Offer(rows, theirs) => review.offer(Conflict {
                rows,
                theirs: lines(theirs),
                base: Vec::new(),
            }),
            Accept(which) => {
                let edits = review.accept(&which);
                report(&mut review, edits);
            }
            Reject(which) => {
                let edits = review.reject(&which);
                report(&mut review, edits);
            }
        }
        holds(&review);
    }
    let (base, current, hunks) = want;
    assert_eq!(review.base().to_lines(0..99).join(" "), base, "base");
    assert_eq!(
        review.current().to_lines(0..99).join(" "),
        current,
        "current"
    );
    let shown = review.hunks().iter().map(|hunk| {
        let mut shown = String::new();
        for line in review.base().lines(hunk.old.clone()) {
            shown += &format!("-{line} ");
        }
        for line in review.current().lines(hunk.new.clone()) {
            shown += &format!("+{line} ");
        }
        for line in hunk.conflict.iter().flatten() {
            shown += &format!("?{line} ");
        }
        shown + &format!("@{}", hunk.new.start)
    });
    assert_eq!(shown.collect::<Vec<_>>(), hunks, "hunks");
}

/// Applies edits as the editor does, bottom up.
pub(super) fn report(review: &mut Review, edits: Vec<LineEdit>) {
    for edit in edits.iter().rev() {
        review.decision_edited(edit);
    }
}

/// Asserts the invariant of a review.
#[track_caller]
pub(super) fn holds(review: &Review) {
    let mut built = review.base().clone();
    for hunk in review.hunks().iter().rev() {
        built.apply(&LineEdit {
            start: hunk.old.start,
            removed: hunk.old.len(),
            lines: review.current().to_lines(hunk.new.clone()),
        });
    }
    assert_eq!(&built, review.current(), "base + hunks = current");
    for pair in review.hunks().windows(2) {
        assert!(pair[0].new.end < pair[1].new.start, "{pair:?}");
        assert!(pair[0].old.end < pair[1].old.start, "{pair:?}");
    }
    for hunk in review.hunks() {
        let (old, new) = (hunk.old.clone(), hunk.new.clone());
        let same = review.base().to_lines(old) == review.current().to_lines(new);
        assert!(hunk.conflict.is_some() || !same, "{hunk:?}");
    }
    assert_eq!(review.mark, Mark::of(review.current()), "mark");
    assert!(review.history.len() <= 200);
}

#[test]
fn changes_that_make_up_for_each_other_are_none() {
    let story = || vec![AgentWrote("x y a a")];
    check(
        "a x y a",
        story(),
        ("a x y a", "x y a a", &["-a @0", "+a @3"]),
    );
    // Deleting the lines between the two hunks leaves the base.
    let mut gone = story();
    gone.push(User(edit(0, 2, "")));
    check("a x y a", gone, ("a a", "a a", &[]));
}

#[test]
fn what_the_agent_writes_is_a_hunk() {
    check("a b c", vec![], ("a b c", "a b c", &[]));
    check("a b c", vec![AgentWrote("a b c")], ("a b c", "a b c", &[]));
    check(
        "a b c",
        vec![AgentWrote("a X c")],
        ("a b c", "a X c", &["-b +X @1"]),
    );
    check(
        "a b c",
        vec![AgentWrote("a c")],
        ("a b c", "a c", &["-b @1"]),
    );
    check(
        "a b c",
        vec![AgentWrote("a b")],
        ("a b c", "a b", &["-c @2"]),
    );
    check(
        "a b c",
        vec![AgentWrote("")],
        ("a b c", "", &["-a -b -c @0"]),
    );
    check("", vec![AgentWrote("a b")], ("", "a b", &["+a +b @0"]));
    check(
        "a b",
        vec![Agent(edit(0, 1, "X")), Agent(edit(1, 1, "Y"))],
        ("a b", "X Y", &["-a -b +X +Y @0"]),
    );
}

#[test]
fn two_writes_in_a_row_are_one_difference() {
    check(
        "a b c",
        vec![AgentWrote("a X c"), AgentWrote("a Y c d")],
        ("a b c", "a Y c d", &["-b +Y @1", "+d @3"]),
    );
    check(
        "a b c",
        vec![AgentWrote("a X c"), AgentWrote("a b c")],
        ("a b c", "a b c", &[]),
    );
}

#[test]
fn an_edit_beside_the_hunks_is_the_users() {
    let wrote = || AgentWrote("a X c d");
    check(
        "a b c d",
        vec![wrote(), User(edit(3, 1, "u"))],
        ("a b c u", "a X c u", &["-b +X @1"]),
    );
    // Edits directly above and below.
    check(
        "a b c d",
        vec![wrote(), User(edit(1, 0, "u"))],
        ("a u b c d", "a u X c d", &["-b +X @2"]),
    );
    check(
        "a b c d",
        vec![wrote(), User(edit(2, 0, "u"))],
        ("a b u c d", "a X u c d", &["-b +X @1"]),
    );
    check(
        "a b c d",
        vec![wrote(), User(edit(0, 1, "u"))],
        ("u b c d", "u X c d", &["-b +X @1"]),
    );
    check(
        "a b c d",
        vec![wrote(), User(edit(2, 1, ""))],
        ("a b d", "a X d", &["-b +X @1"]),
    );
}

#[test]
fn one_edit_of_a_hunk_and_its_neighbours_makes_them_one_hunk() {
    check(
        "a b c d",
        vec![AgentWrote("a X c d"), User(edit(0, 3, "a; X; c;"))],
        ("a b c d", "a; X; c; d", &["-a -b -c +a; +X; +c; @0"]),
    );
}

#[test]
fn a_line_typed_among_the_agents_is_accepted_also_if_the_agent_wrote_the_same() {
    let mut review = Review::new(text("s t b c"));
    review.user_edited(&edit(1, 0, "s"));
    review.agent_edited(&edit(4, 1, ""));
    review.agent_done();
    // The first two lines were the agent's.
    review.was_agents(&text("b c"), &text("s t b c"));
    holds(&review);
    assert_eq!(review.base(), &text("s b c"));
    assert_eq!(review.current(), &text("s s t b"));
}

#[test]
fn an_agents_line_that_was_read_first_and_is_gone_again_is_in_no_base() {
    let mut review = Review::new(text("a b c d e f"));
    review.agent_wrote(text("a b c 1 2 f"));
    // Read before it is reported.
    review.user_wrote(text("a b c 3 4 2 f"));
    review.was_agents(&text("a b c 1 2 f"), &text("a b c 3 4 2 f"));
    review.agent_wrote(text("a b 4 2 f"));
    holds(&review);
    assert_eq!(review.base(), &text("a b c d e f"));
}

#[test]
fn an_edit_beside_a_deletion_is_the_users() {
    let wrote = || AgentWrote("a c d");
    check(
        "a b c d",
        vec![wrote(), User(edit(1, 1, "u"))],
        ("a b u d", "a u d", &["-b @1"]),
    );
    check(
        "a b c d",
        vec![wrote(), User(edit(0, 1, "u"))],
        ("u b c d", "u c d", &["-b @1"]),
    );
    check(
        "a b c d",
        vec![wrote(), User(edit(1, 0, "u"))],
        ("a b u c d", "a u c d", &["-b @1"]),
    );
    check(
        "a b c d",
        vec![wrote(), User(edit(0, 2, ""))],
        ("b d", "d", &["-b @0"]),
    );
}

#[test]
fn an_edit_in_a_hunk_joins_it() {
    check(
        "a b",
        vec![AgentWrote("a X Y b"), User(edit(1, 1, "u"))],
        ("a b", "a u Y b", &["+u +Y @1"]),
    );
    check(
        "a b",
        vec![AgentWrote("a X Y b"), User(edit(2, 0, "u"))],
        ("a b", "a X u Y b", &["+X +u +Y @1"]),
    );
    check(
        "a b c",
        vec![AgentWrote("a X c"), User(edit(0, 2, "u v"))],
        ("a b c", "u v c", &["-a -b +u +v @0"]),
    );
}

#[test]
fn a_coarse_edit_meets_only_the_hunks_it_changes() {
    check(
        "a b c d e",
        vec![AgentWrote("a X c d e"), User(edit(0, 5, "a X c u e"))],
        ("a b c u e", "a X c u e", &["-b +X @1"]),
    );
    check(
        "a b c d e",
        vec![AgentWrote("a X c d Y"), User(edit(0, 5, "t X c d Y f"))],
        ("t b c d e f", "t X c d Y f", &["-b +X @1", "-e +Y @4"]),
    );
    check(
        "a b c",
        vec![AgentWrote("a X c"), User(edit(0, 3, "a X c"))],
        ("a b c", "a X c", &["-b +X @1"]),
    );
    check(
        "a b c",
        vec![AgentWrote("a X c"), UserWrote("u a X c")],
        ("u a b c", "u a X c", &["-b +X @2"]),
    );
}

#[test]
fn lines_the_user_deletes_across_a_hunk_are_not_the_agents() {
    check(
        "a b c d",
        vec![AgentWrote("a b X c d"), User(edit(1, 3, ""))],
        ("a d", "a d", &[]),
    );
    check(
        "a b c d",
        vec![AgentWrote("a b X c d"), User(edit(2, 2, ""))],
        ("a b d", "a b d", &[]),
    );
    check(
        "a b c d",
        vec![AgentWrote("a X c d"), User(edit(0, 2, ""))],
        ("b c d", "c d", &["-b @0"]),
    );
    check(
        "a b c d e",
        vec![AgentWrote("a X c Y e"), User(edit(2, 1, ""))],
        ("a b d e", "a X Y e", &["-b -d +X +Y @1"]),
    );
}

#[test]
fn base_text_typed_again_makes_the_hunk_smaller() {
    check(
        "a b c d",
        vec![AgentWrote("a X Y d"), User(edit(1, 1, "b"))],
        ("a b c d", "a b Y d", &["-c +Y @2"]),
    );
    check(
        "a b c d",
        vec![AgentWrote("a X Y d"), User(edit(1, 2, "b c"))],
        ("a b c d", "a b c d", &[]),
    );
    check(
        "a b c",
        vec![AgentWrote("a X b c"), User(edit(1, 1, ""))],
        ("a b c", "a b c", &[]),
    );
}

#[test]
fn what_the_user_brings_back_of_a_deletion_is_no_longer_a_hunk() {
    // The current text equals no earlier one: another edit was made after the deletion.
    let story = |back| vec![AgentWrote("a d e X"), User(edit(2, 1, "u")), User(back)];
    check(
        "a b c d e",
        story(edit(1, 0, "b c")),
        ("a b c d u", "a b c d u X", &["+X @5"]),
    );
    check(
        "a b c d e",
        story(edit(1, 0, "b")),
        ("a b c d u", "a b d u X", &["-c @2", "+X @4"]),
    );
    check(
        "a b c d e",
        story(edit(1, 0, "b v")),
        ("a b c v d u", "a b v d u X", &["-c @2", "+X @5"]),
    );
}

#[test]
fn undo_of_an_agents_deletion_drops_just_that_hunk() {
    check(
        "a b c d e f",
        vec![
            Agent(edit(4, 1, "X")),
            Agent(edit(1, 2, "")),
            User(edit(1, 0, "b c")),
        ],
        ("a b c d e f", "a b c d X f", &["-e +X @4"]),
    );
}

#[test]
fn edits_past_the_end_are_cut_to_the_text() {
    check("a b", vec![User(edit(9, 3, "u"))], ("a b u", "a b u", &[]));
    check(
        "a b",
        vec![Agent(edit(1, 9, "X"))],
        ("a b", "a X", &["-b +X @1"]),
    );
}

#[test]
fn an_agent_that_puts_back_what_it_deleted_leaves_no_hunk() {
    // Which of two equal blocks was deleted, and which was restored, is ambiguous.
    for (deleted, back) in [(0, 0), (0, 2), (2, 0), (2, 2), (1, 1)] {
        let put = if back == 1 { "b a" } else { "a b" };
        check(
            "a b a b",
            vec![Agent(edit(deleted, 2, "")), Agent(edit(back, 0, put))],
            ("a b a b", "a b a b", &[]),
        );
    }
}

#[test]
fn a_content_is_remembered_once() {
    let mut review = Review::new(text("a"));
    for _ in 0..10 {
        review.agent_edited(&edit(0, 1, "b"));
        review.agent_edited(&edit(0, 1, "a"));
    }
    assert_eq!(review.history.len(), 2);
}
