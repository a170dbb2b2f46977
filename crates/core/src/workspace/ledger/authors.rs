//! The agent's own version of a text, which is the text without changes by others; and the lines of
//! others that the agent takes away.
//!
//! Invariants: the agent's version contains every line the agent added, and no line others added,
//! unless the agent changed that line. A line of others that the agent takes away is in the base.

use super::{Review, diff};
use crate::text::diff::{changes, slid};
use crate::text::{LineEdit, Text};

/// Brings the agent's own version `alone` of a reviewed text up to date, after the agent changed
/// the text `before`. Lines of others that the change took away go to the base.
pub fn agent_changed(review: &mut Review, alone: &mut Text, before: &Text) {
    let (base, now) = (review.base(), review.current());
    let base = base_with_others(base, alone, before, now);
    *alone = agents_text(alone, before, now);
    if let Some(base) = base {
        review.rebase(base);
    }
}

/// Returns the base with the lines of others that the agent took away from inside its own hunks,
/// when it changed `before` to `after`; `None` if it took none.
///
/// `alone` is the agent's own version before the change. Such a line was part of a hunk, and only
/// the hunk's new side had it. In the base it is on the old side of the hunk that takes it away, so
/// it stays visible, and a reject brings it back.
fn base_with_others(base: &Text, alone: &Text, before: &Text, after: &Text) -> Option<Text> {
    if alone == before {
        return None;
    }
    let others = changes(alone, before);
    let gone = changes(before, after);
    let is_lost = |row: usize| {
        let line = before.line(row);
        others.iter().any(|change| change.new.contains(&row))
            && gone.iter().any(|change| {
                let mut new = after.lines(change.new.clone());
                change.old.contains(&row) && new.all(|new| Some(new) != line)
            })
    };
    let met = |rows: &std::ops::Range<usize>| {
        let meets = |gone: &std::ops::Range<usize>| gone.start < rows.end && rows.start < gone.end;
        gone.iter().any(|change| meets(&change.old))
    };
    let mut found = Vec::new();
    for hunk in slid(base, before) {
        if !met(&hunk.new) {
            continue;
        }
        for (at, row) in hunk.new.clone().enumerate() {
            if is_lost(row) {
                found.push(LineEdit {
                    start: hunk.part(&(at..at + 1)).old.end,
                    removed: 0,
                    lines: before.to_lines(row..row + 1),
                });
            }
        }
    }
    if found.is_empty() {
        return None;
    }
    let mut base = base.clone();
    for edit in found.iter().rev() {
        base.apply(edit);
    }
    Some(base)
}

/// Returns the agent's own version after it changed `before` to `after`; `alone` is the version
/// before the change.
///
/// Others' changes that the agent's change does not overlap are left out. Where they overlap, the
/// remaining lines of the others are left out as well.
fn agents_text(alone: &Text, before: &Text, after: &Text) -> Text {
    let others = diff(before, alone);
    let agents = diff(before, after);
    let mut text = after.clone();
    for edit in others.iter().rev() {
        let end = edit.start + edit.removed;
        if agents.iter().all(|change| is_beside(edit, change)) {
            text.apply(&LineEdit {
                start: place(edit.start, &agents),
                ..edit.clone()
            });
            continue;
        }
        let is_left = |row: &usize| {
            let gone = |change: &LineEdit| change.start..change.start + change.removed;
            agents.iter().all(|change| !gone(change).contains(row))
        };
        for row in (edit.start..end).rev().filter(is_left) {
            text.apply(&LineEdit {
                start: place(row, &agents),
                removed: 1,
                lines: Vec::new(),
            });
        }
    }
    text
}

/// Returns whether two replacements of rows of one text neither overlap nor lie within another.
fn is_beside(one: &LineEdit, other: &LineEdit) -> bool {
    one.start + one.removed <= other.start || other.start + other.removed <= one.start
}

/// Maps a row that the edits keep to its row after them, below any insertion directly above it.
fn place(row: usize, edits: &[LineEdit]) -> usize {
    let above = edits.iter();
    let above = above.take_while(|edit| edit.start + edit.removed <= row);
    above.fold(row, |row, edit| row + edit.lines.len() - edit.removed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::ledger::tests::text;

    #[track_caller]
    fn check(alone: &str, before: &str, after: &str, want: &str) {
        let found = agents_text(&text(alone), &text(before), &text(after));
        assert_eq!(found, text(want));
    }

    /// Checks the base after the agent changed `before`, in which `alone` is its own part.
    #[track_caller]
    fn check_base(base: &str, alone: &str, before: &str, after: &str, want: &str) {
        let found = base_with_others(&text(base), &text(alone), &text(before), &text(after));
        assert_eq!(found.unwrap_or_else(|| text(base)), text(want));
    }

    #[test]
    fn a_line_of_others_in_a_hunk_that_the_agent_takes_away_is_in_the_base() {
        check_base("a b", "a X Y b", "a X u Y b", "a Z b", "a u b");
        check_base("a b c", "a B c", "a u c", "a X c", "a b u c");
        check_base("a b c", "a B c", "a B u c", "a X c", "a b u c");
        check_base("a", "a X Y", "a u v X Y w", "a", "a u v w");
        check_base("", "X Y", "X u Y", "Z", "u");
    }

    #[test]
    fn what_stays_or_is_the_agents_is_not_put_into_the_base() {
        check_base("a b", "a X b", "a X b", "a b", "a b");
        check_base("a b", "a X b", "a X u b", "a Y u b", "a b");
        check_base("a b", "a X Y b", "a X u Y b", "a Z u b", "a b");
        check_base("a u b", "a X b", "a u X b", "a Y b", "a u b");
    }

    #[test]
    fn the_agents_next_change_leaves_others_lines_theirs() {
        check("a b", "a u b", "a u b X", "a b X");
        check("a b", "a u b", "X a u b", "X a b");
        check("X Y", "X u Y", "X1 u Y1", "X1 Y1");
        check("X Y", "X u", "X u Z", "X Y Z");
        check("X Y", "u", "u", "X Y");
        check("a b", "a b", "a X b", "a X b");
    }

    #[test]
    fn what_the_agent_changes_of_others_lines_is_the_agents() {
        check("a b", "a u b", "a X b", "a X b");
        check("a b", "a u v w b", "a u X w b", "a X b");
        check("a b c", "a u c", "a X c", "a X c");
    }
}
