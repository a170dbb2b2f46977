//! Laws of turns that are undone.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::workspace::reviews::FileReview;

const SESSION: SessionKey = SessionKey(1);

fn turn(number: u32) -> TurnKey {
    TurnKey {
        session: SESSION,
        number,
    }
}

fn text(lines: &str) -> Text {
    Text::from_lines(lines.split_whitespace())
}

/// Lines of a small alphabet, so that they repeat.
fn some_text() -> impl Strategy<Value = Text> {
    proptest::collection::vec("[abc}]", 0..8).prop_map(Text::from_lines)
}

/// The review of a file that each turn has left with one of the texts.
fn after_turns(before: &Text, texts: &[&Text]) -> FileReview {
    let path = Path::new("/p/f");
    let origin = FileState::of_text(before.clone(), Default::default());
    let mut review = FileReview::new(before, path, SESSION, origin.clone());
    for (number, text) in (1..).zip(texts) {
        review.enter_turn(turn(number), &origin);
        review.agent_wrote((*text).clone());
    }
    review
}

fn rejects_all(review: &mut FileReview) {
    for edit in review.reject(&Which::All).iter().rev() {
        review.decision_edited(edit);
    }
    review.decision_done();
}

/// Rejects what two turns have written, and checks that there is nothing left to undo.
fn check_rejected(before: &Text, first: &Text, second: &Text) {
    let mut review = after_turns(before, &[first, second]);
    if review.ledger.hunks().is_empty() {
        return;
    }
    rejects_all(&mut review);
    assert_eq!(review.ledger.current(), before);
    for number in [2, 1] {
        let plan = review.without_turn(turn(number), Of::All);
        assert!(plan.is_none(), "turn {number}: {plan:?}");
    }
}

#[test]
fn a_rejected_turn_is_not_undone_again() {
    let turns = [
        ("a b c", "a B c", "a C c"),
        ("a b", "a b x", "a b y"),
        ("a b", "a b x", "a b x y"),
        ("a b c", "a B c", "a B B2 c"),
        ("a b c", "a B1 B2 c", "a B2 c"),
        ("a b c", "a c", "a X c"),
        ("", "x", "x y"),
    ];
    for (before, first, second) in turns {
        check_rejected(&text(before), &text(first), &text(second));
    }
}

proptest! {
    #[test]
    fn nothing_is_left_to_undo_after_a_reject_of_all(
        before in some_text(), first in some_text(), second in some_text()
    ) {
        check_rejected(&before, &first, &second);
    }

    #[test]
    fn undoing_the_last_turn_gives_the_text_before_it(
        before in some_text(), first in some_text(), second in some_text()
    ) {
        let review = after_turns(&before, &[&first, &second]);
        if let Some(plan) = review.without_turn(turn(2), Of::All) {
            prop_assert_eq!(&plan.after, &first);
            prop_assert_eq!(&plan.base, &before);
            prop_assert!(plan.conflicts.is_empty());
        } else {
            prop_assert_eq!(first, second);
        }
    }
}
