//! The effects of accept, reject, undo and redo on a review, case by case.

use super::tests::Do::*;
use super::tests::{Do, check, edit, holds, lines, text};
use super::*;

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
    // Undone by two edits, from the top down.
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
    // Of two identical hunks, only the selected one is accepted.
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
    // The agent has seen the user's line.
    check(
        "a b c",
        with(Agent(edit(1, 1, "Z"))),
        ("a u c", "a Z c", &["-u +Z @1"]),
    );
    check(
        "a b c",
        with(Agent(edit(2, 1, "Z"))),
        ("a u c", "a u Z", &["-u -c +u +Z ?X ?Y ?Z @1"]),
    );
}

#[test]
fn lines_of_a_conflict_are_not_accepted_alone() {
    let story = |rows| {
        let users = User(edit(1, 2, "u v"));
        vec![users, Offer(1..3, "X"), Accept(Which::Rows(rows))]
    };
    for rows in [1..2, 2..3, 2..4, 0..2] {
        check(
            "a b c d",
            story(rows),
            ("a u v d", "a u v d", &["-u -v +u +v ?X @1"]),
        );
    }
    check("a b c d", story(0..4), ("a X d", "a X d", &[]));
    let mut review = Review::new(text("a u v d"));
    review.offer(Conflict {
        rows: 1..3,
        theirs: lines("X"),
        base: lines("b c"),
    });
    assert_eq!(review.skipped(&Which::Rows(1..2)), 1);
    assert_eq!(review.skipped(&Which::Rows(1..3)), 0);
}

#[test]
fn an_agents_write_drops_the_conflicts_in_its_own_lines_only() {
    let story = |wrote| {
        let users = User(edit(1, 1, "u"));
        vec![users, Offer(1..2, "X"), AgentWrote(wrote)]
    };
    check(
        "a b c d e",
        story("N a u c D e"),
        (
            "a u c d e",
            "N a u c D e",
            &["+N @0", "-u +u ?X @2", "-d +D @4"],
        ),
    );
    check(
        "a b c d e",
        story("a B c d e"),
        ("a u c d e", "a B c d e", &["-u +B @1"]),
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
fn an_undo_of_the_users_edit_decides_about_no_conflict_that_came_after_it() {
    let undone = |theirs, more: Vec<Do>| {
        let edits = [edit(1, 1, "u"), edit(1, 1, "b")].map(User);
        let [user, undo] = edits;
        let story = [user, Offer(1..2, theirs), undo].into_iter();
        story.chain(more).collect()
    };
    let open = ("a b c", "a b c", &["-b +b ?X @1"] as &[_]);
    check("a b c", undone("X", vec![]), open);
    let redone = User(edit(1, 1, "u"));
    let story = undone("X", vec![redone]);
    check("a b c", story, ("a u c", "a u c", &["-u +u ?X @1"]));
    let story = undone("X", vec![Accept(Which::Row(1)), User(edit(1, 1, "b"))]);
    check("a b c", story, open);
    let story = undone("X", vec![Reject(Which::All)]);
    check("a b c", story, ("a b c", "a b c", &[]));
    // The agent has the same lines.
    check("a b c", undone("b", vec![]), ("a b c", "a b c", &[]));
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
fn an_accepted_conflict_between_lines_like_its_own_leaves_no_hunk() {
    check(
        "a",
        vec![Offer(1..1, "b a"), Accept(Which::Row(1))],
        ("a b a", "a b a", &[]),
    );
    check(
        "a",
        vec![Offer(0..0, "a b"), Accept(Which::Row(0))],
        ("a b a", "a b a", &[]),
    );
}

#[test]
fn an_undone_deletion_is_not_taken_for_the_agents() {
    // The user's deletion is next to the agent's, and all the lines are identical.
    check(
        "a a a a b",
        vec![
            Agent(edit(3, 2, "")),
            User(edit(0, 0, "u")),
            User(edit(1, 1, "")),
            User(edit(0, 3, "u a a a")),
        ],
        ("u a a a a b", "u a a a", &["-a -b @4"]),
    );
}

#[test]
fn a_line_that_came_back_with_an_older_text_is_still_the_agents() {
    let brings: [fn(&mut Review); 3] = [
        |review| review.user_edited(&edit(1, 1, "X")),
        |review| review.user_wrote(text("a X")),
        |review| review.others_wrote(text("a X")),
    ];
    for older in brings {
        let mut review = Review::new(text("a"));
        review.agent_wrote(text("a X"));
        review.agent_edited(&edit(1, 1, "Y"));
        review.agent_done();
        older(&mut review);
        assert_eq!(review.alone(), &text("a X"));
        review.agent_wrote(text("a Y"));
        review.agent_wrote(text("a X"));
        assert_eq!(review.base(), &text("a"));
        assert_eq!(review.hunks().len(), 1);
    }
}
