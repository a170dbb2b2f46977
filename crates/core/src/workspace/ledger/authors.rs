//! The agent's own version of a text: the text without changes by others.
//!
//! Invariant: the result contains every line the agent added, and no line others added, unless the
//! agent changed that line.

use super::diff;
use crate::text::{LineEdit, Text};

/// Returns the agent's own version after it changed `before` to `after`; `alone` is the version
/// before the change.
///
/// Others' changes that the agent's change does not overlap are left out. Where they overlap, the
/// remaining lines of the others are left out as well.
pub fn agents_text(alone: &Text, before: &Text, after: &Text) -> Text {
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
