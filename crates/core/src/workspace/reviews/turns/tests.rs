//! Laws of turns that are undone, the last one first.

use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::workspace::reviews::FileReview;

const SESSION: SessionKey = SessionKey(1);
const USERS: &str = "user";

fn turn(number: usize) -> TurnKey {
    TurnKey {
        session: SESSION,
        number: u32::try_from(number).expect("few turns"),
    }
}

fn text(lines: &str) -> Text {
    Text::from_lines(lines.split_whitespace())
}

fn some_text() -> impl Strategy<Value = Text> {
    (0..8usize).prop_map(|count| Text::from_lines((0..count).map(|line| format!("line {line}"))))
}

/// Lines of a small alphabet, so that they repeat.
fn any_text() -> impl Strategy<Value = Text> {
    vec("[abc}]", 0..8).prop_map(Text::from_lines)
}

/// Edits of a text, each at a row, of as many lines there, and with as many new ones.
type Edits = Vec<(usize, usize, usize)>;

fn some_edits() -> impl Strategy<Value = Edits> {
    vec((0..8usize, 0..4usize, 0..3usize), 1..4)
}

#[derive(Debug, Clone)]
enum Step {
    /// The next turn leaves the file with this text.
    Turn(Text),
    /// The next turn edits the text.
    Edits(Edits),
    Accept(Which),
    Reject(Which),
    /// The user types a line.
    Types(usize),
}

fn which() -> impl Strategy<Value = Which> {
    prop_oneof![(0..8usize).prop_map(Which::Row), Just(Which::All),]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => some_edits().prop_map(Step::Edits),
        1 => which().prop_map(Step::Accept),
        1 => which().prop_map(Step::Reject),
    ]
}

/// The review of a file in which turns follow each other.
struct Life {
    review: FileReview,
    turns: usize,
}

impl Life {
    fn new(before: &Text) -> Self {
        let origin = FileState::of_text(before.clone(), Default::default());
        Self {
            review: FileReview::new(before, Path::new("/p/f"), SESSION, origin),
            turns: 0,
        }
    }

    fn lives(&mut self, step: &Step) {
        match step {
            Step::Turn(text) => {
                self.turns += 1;
                let origin = self.review.origin.clone();
                self.review.enter_turn(turn(self.turns), &origin);
                self.review.agent_wrote(text.clone());
            }
            Step::Edits(edits) => {
                let mut text = self.review.ledger.current().clone();
                for (at, (row, removed, added)) in edits.iter().enumerate() {
                    let start = row % (text.len() + 1);
                    let new = (0..*added).map(|line| format!("turn {} {at} {line}", self.turns));
                    text.apply(&LineEdit {
                        start,
                        removed: (*removed).min(text.len() - start),
                        lines: new.collect(),
                    });
                }
                self.lives(&Step::Turn(text));
            }
            Step::Accept(which) => {
                let edits = self.review.accept(which);
                assert_eq!(edits, [], "there is no conflict");
            }
            Step::Reject(which) => {
                let edits = self.review.reject(which);
                self.decides(&edits);
            }
            Step::Types(row) => {
                let start = row % (self.review.ledger.current().len() + 1);
                self.review.user_edited(&LineEdit {
                    start,
                    removed: 0,
                    lines: vec![USERS.to_owned()],
                });
            }
        }
    }

    fn decides(&mut self, edits: &[LineEdit]) {
        for edit in edits.iter().rev() {
            self.review.decision_edited(edit);
        }
        self.review.decision_done();
    }

    /// Undoes a turn; returns whether it had changes left.
    fn undoes(&mut self, number: usize) -> bool {
        let Some(plan) = self.review.without_turn(turn(number), Of::All) else {
            return false;
        };
        let before = self.review.ledger.current().clone();
        self.decides(&plan.edits);
        assert_eq!(self.review.ledger.current(), &plan.after);
        let base = (self.review.ledger.base().clone(), plan.base);
        let of_file = self.review.ledger.of_file().base().clone();
        self.review.shift_base(&base, &(of_file.clone(), of_file));
        assert_eq!(self.review.ledger.base(), &base.1);
        assert_eq!(plan.conflicts, [], "turn {number}");
        self.review.turn_is_undone(turn(number), Some(before));
        true
    }

    fn undoes_all(&mut self) {
        for number in (1..=self.turns).rev() {
            self.undoes(number);
        }
    }

    #[track_caller]
    fn check(&self, base: &Text, text: &Text) {
        assert_eq!(self.review.ledger.current(), text, "text");
        assert_eq!(self.review.ledger.base(), base, "base");
    }
}

/// Lives the steps and undoes all turns; the text is that before them.
fn check_undone(before: &Text, steps: &[Step]) {
    let mut life = Life::new(before);
    for step in steps {
        life.lives(step);
    }
    life.undoes_all();
    life.check(before, before);
}

#[test]
fn what_was_rejected_of_turns_is_not_brought_back() {
    let turns = [
        ("a b c", "a B c", "a C c"),
        ("a b", "a b x", "a b y"),
        ("a b", "a b x", "a b x y"),
        ("a b c", "a B c", "a B B2 c"),
        ("a b c", "a B1 B2 c", "a B2 c"),
        ("a b c", "a c", "a X c"),
        ("", "x", "x y"),
        ("a b c d", "a T b c d", "X T b c Y"),
    ];
    for (before, first, second) in turns {
        let mut life = Life::new(&text(before));
        life.lives(&Step::Turn(text(first)));
        life.lives(&Step::Turn(text(second)));
        life.lives(&Step::Reject(Which::All));
        assert!(!life.undoes(2) && !life.undoes(1), "{before}");
        life.check(&text(before), &text(before));
    }
}

#[test]
fn a_line_of_the_users_stays_where_turns_are_undone() {
    let turns = [
        ("a b c", "a T c", "a X"),
        ("a b c", "a T c", "a T X c"),
        ("a b c", "a b c T", "a b c T X"),
        ("a c d e", "a t c d e", "X d e"),
    ];
    for (before, first, second) in turns {
        for accepts in [false, true] {
            let mut life = Life::new(&text(before));
            for next in [first, second] {
                life.lives(&Step::Turn(text(next)));
                if accepts {
                    life.lives(&Step::Accept(Which::All));
                }
            }
            life.lives(&Step::Types(0));
            life.undoes_all();
            let left = text(&format!("{USERS} {before}"));
            life.check(&left, &left);
        }
    }
}

#[test]
fn decisions_in_between_leave_no_line_doubled_or_lost() {
    use Step::{Accept, Reject, Turn};
    let row = Which::Row;
    let lives = [
        (
            "a b",
            vec![
                Turn(text("T a b U")),
                Accept(row(0)),
                Turn(text("T a b X U")),
                Reject(row(3)),
            ],
        ),
        (
            "a b c d e f",
            vec![
                Turn(text("T a e f")),
                Accept(row(0)),
                Turn(text("T a X e f")),
                Reject(row(2)),
            ],
        ),
        (
            "a b c d",
            vec![
                Turn(text("T a b c d t1")),
                Accept(row(0)),
                Turn(text("T a b t1")),
                Reject(row(3)),
            ],
        ),
        (
            "a b c d e",
            vec![
                Turn(text("a c d T e")),
                Turn(text("X c d T e")),
                Accept(row(0)),
                Reject(row(3)),
            ],
        ),
        (
            "a b c",
            vec![Turn(text("a X Y Z c")), Reject(Which::Rows(2..3))],
        ),
        (
            "a b",
            vec![
                Turn(text("a T b")),
                Turn(text("a T X b")),
                Reject(Which::Rows(1..2)),
            ],
        ),
    ];
    for (before, steps) in lives {
        check_undone(&text(before), &steps);
    }
}

proptest! {
    #[test]
    fn undoing_a_turn_gives_the_text_before_it_and_what_was_accepted_of_that(
        before in any_text(), first in any_text(), second in any_text()
    ) {
        let mut life = Life::new(&before);
        life.lives(&Step::Turn(first.clone()));
        life.lives(&Step::Turn(second));
        life.undoes(2);
        life.check(&before, &first);
        life.undoes(1);
        life.check(&before, &before);
    }

    #[test]
    fn undoing_all_turns_gives_the_text_before_them(
        before in some_text(), steps in vec(step(), 1..8)
    ) {
        check_undone(&before, &steps);
    }

    #[test]
    fn undoing_all_turns_leaves_the_users_lines(
        before in some_text(), steps in vec(step(), 1..6), row in 0..8usize
    ) {
        let mut life = Life::new(&before);
        for step in &steps {
            life.lives(step);
        }
        life.lives(&Step::Types(row));
        for number in (1..=life.turns).rev() {
            let Some(plan) = life.review.without_turn(turn(number), Of::All) else {
                continue;
            };
            let lines = plan.after.to_lines(0..plan.after.len());
            prop_assert!(lines.iter().any(|line| line == USERS));
            if !plan.conflicts.is_empty() {
                return Ok(());
            }
            life.undoes(number);
        }
        let is_decided = steps.iter().any(|step| !matches!(step, Step::Edits(_)));
        for text in [life.review.ledger.current(), life.review.ledger.base()] {
            let mut lines = text.to_lines(0..text.len());
            lines.retain(|line| line != USERS);
            if !is_decided {
                prop_assert_eq!(&Text::from_lines(lines), &before);
            }
        }
        // Where the user has also decided, lines may stand twice, but none is lost.
        let left = life.review.ledger.current();
        let is_there = |line: &String| left.to_lines(0..left.len()).contains(line);
        prop_assert!(before.to_lines(0..before.len()).iter().all(is_there));
    }
}
