//! What a review shows after what happened, case by case.

use super::*;

fn lines(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn text(lines: &str) -> Text {
    Text::from_lines(lines.split_whitespace())
}

fn edit(start: usize, removed: usize, new: &str) -> LineEdit {
    LineEdit {
        start,
        removed,
        lines: lines(new),
    }
}

/// A step of a story: what happens, and whose doing it is.
enum Do {
    User(LineEdit),
    UserWrote(&'static str),
    Agent(LineEdit),
    AgentWrote(&'static str),
    Offer(Range<usize>, &'static str),
    Accept(Which),
    /// Rejects, makes the edits and reports them.
    Reject(Which),
}
use Do::*;

/// Tells a story that begins with `base`, and compares the base, the current text and the
/// hunks: `-old +new @row`, with `?theirs` for a conflict.
#[track_caller]
fn check(base: &str, story: Vec<Do>, want: (&str, &str, &[&str])) {
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

/// Makes edits as the editor does, bottom up.
pub(super) fn report(review: &mut Review, edits: Vec<LineEdit>) {
    for edit in edits.iter().rev() {
        review.agent_edited(edit);
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
    // Directly above and below.
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
    // Not a content of before: another edit has come between.
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
fn accept_puts_the_hunk_into_the_base() {
    let wrote = || AgentWrote("a X c Y e");
    check(
        "a b c d e",
        vec![wrote(), Accept(Which::All)],
        ("a X c Y e", "a X c Y e", &[]),
    );
    check(
        "a b c d e",
        vec![wrote(), Accept(Which::Row(1))],
        ("a X c d e", "a X c Y e", &["-d +Y @3"]),
    );
    check(
        "a b c d e",
        vec![wrote(), Accept(Which::Row(2))],
        ("a b c d e", "a X c Y e", &["-b +X @1", "-d +Y @3"]),
    );
    check(
        "a b c d e",
        vec![wrote(), Accept(Which::Rows(2..4))],
        ("a b c Y e", "a X c Y e", &["-b +X @1"]),
    );
}

#[test]
fn reject_puts_the_base_back_and_leaves_the_other_hunks() {
    let wrote = || AgentWrote("a X Y c e");
    check(
        "a b c d e",
        vec![wrote(), Reject(Which::All)],
        ("a b c d e", "a b c d e", &[]),
    );
    check(
        "a b c d e",
        vec![wrote(), Reject(Which::Row(2))],
        ("a b c d e", "a b c e", &["-d @3"]),
    );
    check(
        "a b c d e",
        vec![wrote(), Reject(Which::Row(3))],
        ("a b c d e", "a X Y c d e", &["-b +X +Y @1"]),
    );
    check(
        "a b c d e",
        vec![wrote(), Reject(Which::Row(4))],
        ("a b c d e", "a X Y c d e", &["-b +X +Y @1"]),
    );
}

#[test]
fn a_deletion_is_hit_by_the_rows_on_both_sides() {
    let hit = |base, current, which| {
        let mut review = Review::new(text(base));
        review.agent_wrote(text(current));
        review.hit(&which).len()
    };
    assert_eq!(hit("a b c d", "a d", Which::Row(0)), 1);
    assert_eq!(hit("a b c d", "a d", Which::Row(1)), 1);
    assert_eq!(hit("a b c d", "a c d", Which::Row(2)), 0);
    assert_eq!(hit("a b", "", Which::Row(0)), 1);
    assert_eq!(hit("a b", "a", Which::Row(0)), 1);
    assert_eq!(hit("a b", "a", Which::Row(7)), 1);
    assert_eq!(hit("a b c d e", "a c e", Which::Row(1)), 1);
    assert_eq!(hit("a b c d e", "a c e", Which::Rows(1..2)), 2);
    assert_eq!(hit("a b c d e", "a c e", Which::Rows(0..1)), 1);
}

#[test]
fn rejecting_the_second_version_of_an_accepted_file_gives_the_first() {
    check(
        "",
        vec![
            AgentWrote("v1 a"),
            Accept(Which::All),
            AgentWrote("v2 a"),
            Reject(Which::All),
        ],
        ("v1 a", "v1 a", &[]),
    );
}

#[test]
fn undo_of_a_reject_brings_the_hunk_back() {
    let story = || vec![AgentWrote("a X c Y e"), Reject(Which::All)];
    // Undone in two edits, from the top down.
    let mut undone = story();
    undone.extend([User(edit(1, 1, "X")), User(edit(3, 1, "Y"))]);
    check(
        "a b c d e",
        undone,
        ("a b c d e", "a X c Y e", &["-b +X @1", "-d +Y @3"]),
    );
    let mut undone = story();
    undone.push(User(edit(0, 5, "a X c Y e")));
    check(
        "a b c d e",
        undone,
        ("a b c d e", "a X c Y e", &["-b +X @1", "-d +Y @3"]),
    );
}

#[test]
fn redo_of_an_agents_write_does_not_make_it_the_users() {
    check(
        "a b c",
        vec![
            AgentWrote("a X c"),
            User(edit(1, 1, "b")),
            User(edit(1, 1, "X")),
        ],
        ("a b c", "a X c", &["-b +X @1"]),
    );
    check(
        "a b c",
        vec![
            AgentWrote("a b c d"),
            User(edit(3, 1, "")),
            User(edit(3, 0, "d")),
        ],
        ("a b c", "a b c d", &["+d @3"]),
    );
}

#[test]
fn undo_of_an_accepted_change_leaves_no_hunk() {
    let story = || {
        vec![
            AgentWrote("a X c"),
            Accept(Which::All),
            User(edit(1, 1, "b")),
        ]
    };
    check("a b c", story(), ("a b c", "a b c", &[]));
    let mut again = story();
    again.push(User(edit(1, 1, "X")));
    check("a b c", again, ("a X c", "a X c", &[]));
}

#[test]
fn undo_of_something_else_does_not_take_an_acceptance_back() {
    let story = || {
        vec![
            AgentWrote("X a b Y"),
            User(edit(2, 1, "u")),
            Accept(Which::Row(0)),
        ]
    };
    let with = |more| story().into_iter().chain([more]).collect();
    check(
        "a b",
        with(User(edit(2, 1, "b"))),
        ("X a b", "X a b Y", &["+Y @3"]),
    );
    check("a b", with(User(edit(0, 4, "a b"))), ("a b", "a b", &[]));
    // Of two hunks alike the one that was meant.
    check(
        "a b c",
        vec![
            AgentWrote("X a b X c"),
            User(edit(4, 1, "u")),
            Accept(Which::Row(3)),
            User(edit(4, 1, "c")),
        ],
        ("a b X c", "X a b X c", &["+X @0"]),
    );
}

#[test]
fn undo_of_the_users_deletion_in_a_hunk_brings_the_agents_line_back() {
    let mut story = vec![AgentWrote("a X b c d")];
    story.extend((0..300).map(|n| User(edit(3, 1, &format!("typed{n}")))));
    story.extend([User(edit(1, 1, "")), User(edit(1, 0, "X"))]);
    check(
        "a b c d",
        story,
        ("a b typed299 d", "a X b typed299 d", &["+X @1"]),
    );
}

#[test]
fn long_typing_in_a_hunk_does_not_push_the_reject_out_of_memory() {
    let mut story = vec![
        AgentWrote("a X c d"),
        Reject(Which::All),
        AgentWrote("a b c Y"),
    ];
    story.extend((0..300).map(|n| User(edit(3, 1, &format!("typed{n}")))));
    story.push(User(edit(3, 1, "d")));
    story.push(User(edit(1, 1, "X")));
    check("a b c d", story, ("a b c d", "a X c d", &["-b +X @1"]));
}

#[test]
fn a_conflict_is_a_hunk_that_accept_fills_and_reject_drops() {
    let story = || vec![User(edit(1, 1, "u")), Offer(1..2, "X Y")];
    check("a b c", story(), ("a u c", "a u c", &["-u +u ?X ?Y @1"]));
    let with = |more| story().into_iter().chain([more]).collect();
    check(
        "a b c",
        with(Accept(Which::Row(1))),
        ("a X Y c", "a X Y c", &[]),
    );
    check(
        "a b c",
        with(Reject(Which::Row(1))),
        ("a u c", "a u c", &[]),
    );
    check(
        "a b c",
        with(User(edit(1, 1, "w"))),
        ("a w c", "a w c", &["-w +w ?X ?Y @1"]),
    );
    check(
        "a b c",
        with(User(edit(0, 2, "w"))),
        ("w c", "w c", &["-w +w ?a ?X ?Y @0"]),
    );
    check(
        "a b c",
        with(User(edit(0, 0, "w"))),
        ("w a u c", "w a u c", &["-u +u ?X ?Y @2"]),
    );
    check(
        "a b c",
        with(Offer(1..2, "Z")),
        ("a u c", "a u c", &["-u +u ?Z @1"]),
    );
    check(
        "a b c",
        with(Offer(1..2, "u")),
        ("a u c", "a u c", &["-u +u ?X ?Y @1"]),
    );
}

#[test]
fn undo_of_an_accepted_conflict_offers_it_again() {
    check(
        "a b c",
        vec![
            User(edit(1, 1, "u")),
            Offer(1..2, "X"),
            Accept(Which::All),
            User(edit(1, 1, "u")),
        ],
        ("a u c", "a u c", &["-u +u ?X @1"]),
    );
}

#[test]
fn a_conflict_in_a_hunk_is_decided_before_the_hunk() {
    let story = || vec![AgentWrote("a X c"), User(edit(1, 1, "u")), Offer(1..2, "Y")];
    check("a b c", story(), ("a b c", "a u c", &["-b +u ?Y @1"]));
    let with = |more| story().into_iter().chain([more]).collect();
    check(
        "a b c",
        with(Accept(Which::Row(1))),
        ("a Y c", "a Y c", &[]),
    );
    check(
        "a b c",
        with(Reject(Which::Row(1))),
        ("a b c", "a u c", &["-b +u @1"]),
    );
}

#[test]
fn a_conflict_whose_edit_failed_can_be_taken_again() {
    let mut review = Review::new(text("a u c"));
    review.offer(Conflict {
        rows: 1..2,
        theirs: lines("X"),
        base: lines("b"),
    });
    let edits = review.accept(&Which::Row(1));
    assert_eq!(edits, [edit(1, 1, "X")]);
    holds(&review);
    assert_eq!(review.reject(&Which::Row(1)), edits);
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
