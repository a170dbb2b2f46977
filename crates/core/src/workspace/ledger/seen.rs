//! Accepts the hunks that the user saw, though the text may have changed since.
//!
//! Invariant: only the unchanged part of a hunk is accepted: lines it still adds and still removes.
//! A conflict is not.

use super::parts::Part;
use super::{Hunk, Review, Which, diff};
use crate::text::LineEdit;
use crate::text::Text;

/// Hunks, or lines of them, at a moment.
#[derive(Debug, Clone)]
pub struct Seen {
    base: Text,
    current: Text,
    /// Sorted.
    hunks: Vec<Hunk>,
}

impl Review {
    /// Returns the selected hunks without conflicts, each cut to its selected lines.
    pub fn see(&self, which: &[Which]) -> Seen {
        Seen {
            base: self.base().clone(),
            current: self.current().clone(),
            hunks: which.iter().flat_map(|which| self.meant(which)).collect(),
        }
    }

    /// Returns the unchanged parts of the hunks that the user saw.
    pub fn still(&self, seen: &Seen) -> Vec<Hunk> {
        let parts = self.parts_still(seen).into_iter();
        let hunks = parts.filter_map(|part| {
            let change = self.track.changes.get(part.at)?;
            Some(Hunk::from(change.part(&part.rows)))
        });
        hunks.collect()
    }

    /// Accepts the unchanged parts of the hunks that the user saw.
    pub fn accept_seen(&mut self, seen: &Seen) {
        // One part of each change at a time: the others are found again in the rest of it.
        loop {
            let mut parts = self.parts_still(seen);
            let count = parts.len();
            parts.dedup_by_key(|part| part.at);
            if count == 0 {
                return;
            }
            self.accept_parts(&parts);
            if count == parts.len() {
                return;
            }
        }
    }

    fn parts_still(&self, seen: &Seen) -> Vec<Part> {
        let edits = match seen.current == *self.current() {
            true => Vec::new(),
            false => diff(&seen.current, self.current()),
        };
        let mut above = edits.iter().peekable();
        let mut grown = 0;
        let parts = seen.hunks.iter().filter_map(|hunk| {
            let is_above = |edit: &&_| is_above(edit, hunk);
            while let Some(edit) = above.next_if(is_above) {
                grown += edit.lines.len() as isize - edit.removed as isize;
            }
            let start = hunk.new.start.saturating_add_signed(grown);
            self.part_like(seen, hunk, start)
        });
        parts.collect()
    }

    /// Returns the part of a change at a row that is the same as a hunk that the user saw.
    fn part_like(&self, seen: &Seen, hunk: &Hunk, start: usize) -> Option<Part> {
        let changes = &self.track.changes;
        let at = changes.partition_point(|change| change.new.end < start);
        let change = changes.get(at)?;
        let first = start.checked_sub(change.new.start)?;
        let rows = first..first + hunk.new.len();
        let part = change.part(&rows);
        let is_same = part.old.len() == hunk.old.len()
            && part.new.len() == hunk.new.len()
            && self
                .base()
                .lines(part.old)
                .eq(seen.base.lines(hunk.old.clone()))
            && self
                .current()
                .lines(part.new)
                .eq(seen.current.lines(hunk.new.clone()));
        let above = |hunk: &Hunk| hunk.new.end < change.new.start;
        let here = self.hunks.get(self.hunks.partition_point(above))?;
        (is_same && here.conflict.is_none()).then_some(Part { at, rows })
    }
}

/// Returns whether an edit lies above a hunk.
fn is_above(edit: &LineEdit, hunk: &Hunk) -> bool {
    edit.start + edit.removed <= hunk.new.start
}

#[cfg(test)]
mod tests {
    use super::super::tests::{holds, text};
    use super::*;

    /// Checks the hunks that are left when the user accepts what they saw of `then` after the agent
    /// has written `now`.
    #[track_caller]
    fn check(base: &str, then: &str, which: &[Which], now: &str, want: (&str, &[&str])) {
        let mut review = Review::new(text(base));
        review.agent_wrote(text(then));
        let seen = review.see(which);
        review.agent_wrote(text(now));
        review.accept_seen(&seen);
        holds(&review);
        assert_eq!(review.current(), &text(now));
        let shown = review.hunks().iter().map(|hunk| {
            let lines = |text: &Text, rows| text.to_lines(rows).join(" ");
            let old = lines(review.base(), hunk.old.clone());
            format!("{old}>{}", lines(review.current(), hunk.new.clone()))
        });
        let left: Vec<String> = shown.collect();
        assert_eq!(review.base(), &text(want.0));
        assert_eq!(left, want.1);
    }

    const ALL: &[Which] = &[Which::All];

    #[test]
    fn what_came_since_is_not_accepted() {
        let check = |now, want: (&str, &[&str])| check("a b c d e", "a X c Y e", ALL, now, want);
        check("a X c Y e", ("a X c Y e", &[]));
        check("N a X c Y e", ("a X c Y e", &[">N"]));
        check("a X c Y e N", ("a X c Y e", &[">N"]));
        check("a X c Y N e", ("a X c Y e", &[">N"]));
    }

    #[test]
    fn a_hunk_that_has_changed_since_is_not_accepted() {
        let check = |now, want: (&str, &[&str])| check("a b c d e", "a X c Y e", ALL, now, want);
        check("a Z c Y e", ("a b c Y e", &["b>Z"]));
        check("a b c Y e", ("a b c Y e", &[]));
        check("a X c e", ("a X c d e", &["d>"]));
        check("a X c N Y e", ("a X c d e", &["d>N Y"]));
        check("a X c Y", ("a X c d e", &["d e>Y"]));
        check("a X Y e", ("a X c d e", &["c d>Y"]));
    }

    #[test]
    fn lines_added_to_a_hunk_are_not_accepted() {
        check("a b", "a X", ALL, "a X Y", ("a X", &[">Y"]));
        check("a", "a X", ALL, "a X Y", ("a X", &[">Y"]));
    }

    #[test]
    fn a_deletion_is_accepted_alone() {
        check("a b c d", "a c d", ALL, "a c", ("a c d", &["d>"]));
        check("a b c d", "a c d", ALL, "a d", ("a b c d", &["b c>"]));
    }

    #[test]
    fn two_parts_of_a_hunk_are_accepted() {
        let which = [Which::Rows(1..2), Which::Rows(3..4)];
        check(
            "a b c d e",
            "a X Y Z e",
            &which,
            "a X Y Z e N",
            ("a X c Z e", &["c>Y", ">N"]),
        );
    }
}
