//! Parts of changes: decisions about some lines of a hunk.
//!
//! Invariant: deciding all parts of a change, in any order, equals deciding the whole. New lines
//! pair with old lines one by one; surplus old lines belong to the last new line, and surplus new
//! lines have no old line.

use std::ops::Range;

use super::{Hunk, Which};
use crate::text::diff::align::Change;

/// Some lines of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// The index of the change.
    pub at: usize,
    /// Rows of its new side, relative to its first one.
    pub rows: Range<usize>,
}

impl Change {
    /// Returns the part of the change with these rows of its new side.
    pub fn part(&self, rows: &Range<usize>) -> Change {
        let (old, new) = (self.old.len(), self.new.len());
        let start = rows.start.min(new);
        let end = rows.end.clamp(start, new);
        let until = if end == new { old } else { end.min(old) };
        Change {
            old: self.old.start + start.min(old)..self.old.start + until,
            new: self.new.start + start..self.new.start + end,
        }
    }

    /// Returns the rest of the change above and below a part of it.
    pub fn rest(&self, part: &Change) -> [Option<Change>; 2] {
        let some = |old: Range<usize>, new: Range<usize>| {
            (!old.is_empty() || !new.is_empty()).then_some(Change { old, new })
        };
        [
            some(
                self.old.start..part.old.start,
                self.new.start..part.new.start,
            ),
            some(part.old.end..self.old.end, part.new.end..self.new.end),
        ]
    }
}

impl Hunk {
    /// Returns the part of the hunk with these rows of its new side, relative to its first one.
    pub fn part(&self, rows: Range<usize>) -> Hunk {
        let (old, new) = (self.old.clone(), self.new.clone());
        Hunk::from(Change { old, new }.part(&rows))
    }
}

impl Which {
    /// Returns the selected rows of a hunk at the selection, relative to its first one.
    ///
    /// A conflict is decided as a whole.
    pub(super) fn rows_in(&self, hunk: &Hunk) -> Range<usize> {
        let new = &hunk.new;
        match self {
            Which::Rows(rows) if hunk.conflict.is_none() && !new.is_empty() => {
                // An empty range selects the row it lies at.
                let end = rows.end.max(rows.start + 1);
                let start = rows.start.clamp(new.start, new.end - 1);
                start - new.start..end.clamp(start + 1, new.end) - new.start
            }
            _ => 0..new.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::workspace::ledger::tests::Do::*;
    use crate::workspace::ledger::tests::check;
    use crate::workspace::ledger::*;

    fn rows(rows: Range<usize>) -> Which {
        Which::Rows(rows)
    }

    #[test]
    fn lines_of_a_hunk_are_accepted_alone() {
        let wrote = || AgentWrote("a W X Y e");
        let check = |rows, want: (&str, &[&str])| {
            let story = vec![wrote(), Accept(Which::Rows(rows))];
            check("a b c d e", story, (want.0, "a W X Y e", want.1));
        };
        check(1..2, ("a W c d e", &["-c -d +X +Y @2"]));
        check(2..3, ("a b X d e", &["-b +W @1", "-d +Y @3"]));
        check(2..9, ("a b X Y e", &["-b +W @1"]));
        check(0..4, ("a W X Y e", &[]));
    }

    #[test]
    fn lines_of_a_hunk_are_rejected_alone() {
        let check = |rows, want: (&str, &[&str])| {
            let story = vec![AgentWrote("a W X Y e"), Reject(Which::Rows(rows))];
            check("a b c d e", story, ("a b c d e", want.0, want.1));
        };
        check(1..2, ("a b X Y e", &["-c -d +X +Y @2"]));
        check(2..3, ("a W c Y e", &["-b +W @1", "-d +Y @3"]));
        check(3..4, ("a W X d e", &["-b -c +W +X @1"]));
    }

    #[test]
    fn removed_lines_beyond_the_added_ones_go_with_the_last_of_these() {
        let wrote = || AgentWrote("a X Y e");
        check(
            "a b c d e",
            vec![wrote(), Accept(rows(1..2))],
            ("a X c d e", "a X Y e", &["-c -d +Y @2"]),
        );
        check(
            "a b c d e",
            vec![wrote(), Reject(rows(2..3))],
            ("a b c d e", "a X c d e", &["-b +X @1"]),
        );
    }

    #[test]
    fn added_lines_stand_for_themselves() {
        let wrote = || AgentWrote("a X Y Z e");
        check(
            "a b e",
            vec![wrote(), Reject(rows(2..4))],
            ("a b e", "a X e", &["-b +X @1"]),
        );
        check(
            "a b e",
            vec![wrote(), Accept(rows(3..4))],
            ("a b Z e", "a X Y Z e", &["-b +X +Y @1"]),
        );
        check(
            "a e",
            vec![AgentWrote("a X Y Z e"), Reject(rows(2..3))],
            ("a e", "a X Z e", &["+X +Z @1"]),
        );
    }

    #[test]
    fn a_range_takes_the_parts_of_several_hunks() {
        check(
            "a b c d e f",
            vec![AgentWrote("A B c D E f"), Accept(rows(1..4))],
            ("a B c D e f", "A B c D E f", &["-a +A @0", "-e +E @4"]),
        );
        check(
            "a b c d e f",
            vec![AgentWrote("A B c D E f"), Reject(rows(1..4))],
            ("a b c d e f", "A b c d E f", &["-a +A @0", "-e +E @4"]),
        );
    }

    #[test]
    fn an_undo_of_something_else_leaves_a_part_accepted() {
        check(
            "a b c d",
            vec![
                AgentWrote("a X Y d"),
                User(crate::workspace::ledger::tests::edit(0, 1, "mine")),
                Accept(rows(1..2)),
                UserWrote("a X Y d"),
            ],
            ("a X c d", "a X Y d", &["-c +Y @2"]),
        );
    }
}
