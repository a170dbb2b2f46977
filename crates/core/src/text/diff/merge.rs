//! Three-way merges: combine the agent's changes with a text that the user has changed too.
//!
//! Invariant: every line that either side inserted is in the merged text or in a conflict, and
//! no line of `ours` is replaced unless it is the same as in `base`.

use std::ops::Range;

use super::align::Change;
use crate::text::{LineEdit, Text};

/// The result of a merge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Merge {
    /// Edits that turn `ours` into the merged text: disjoint, top down, in rows of `ours`.
    pub edits: Vec<LineEdit>,
    /// Sorted top down.
    pub conflicts: Vec<Conflict>,
}

/// Lines that the two sides changed differently; the merged text contains ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Rows of our lines in the merged text; may be empty.
    pub rows: Range<usize>,
    pub theirs: Vec<String>,
    /// The lines that both sides changed.
    pub base: Vec<String>,
}

impl Merge {
    /// Returns the merged text of `ours`, with their lines in each conflict.
    pub fn with_theirs(self, ours: &Text) -> Text {
        let mut text = ours.clone();
        text.apply_all(&self.edits);
        let conflicts = self.conflicts.into_iter().map(|conflict| LineEdit {
            start: conflict.rows.start,
            removed: conflict.rows.len(),
            lines: conflict.theirs,
        });
        text.apply_all(&conflicts.collect::<Vec<_>>());
        text
    }
}

/// Merges the changes from `base` to `theirs` into `ours`.
///
/// - Lines that only one side changed are taken from that side.
/// - The same change on both sides is made once.
/// - Changes that touch but do not overlap are both made, such as a line inserted right above or
///   below lines that the other side changed. If one of the two only repeats lines that the other
///   has at that place, they are not duplicated.
/// - Different insertions at one place are both kept, ours first; if one contains all lines of the
///   other in order, only that one is kept.
/// - Other overlapping changes conflict: ours stays, theirs is reported.
pub fn merge(base: &Text, ours: &Text, theirs: &Text) -> Merge {
    let their_changes = super::changes(base, theirs);
    if their_changes.is_empty() {
        return Merge::default();
    }
    let our_changes = super::changes(base, ours);
    let mut merger = Merger {
        base,
        ours,
        theirs,
        merge: Merge::default(),
        last: None,
        grown: 0,
    };
    let (mut our, mut their) = (&our_changes[..], &their_changes[..]);
    while let Some(theirs) = their.first() {
        match our.first() {
            Some(ours) if overlap(ours, theirs) => {
                let (our_count, their_count) = group(our, their);
                let (ours_in, our_rest) = our.split_at(our_count);
                let (theirs_in, their_rest) = their.split_at(their_count);
                merger.both(ours_in, theirs_in);
                (our, their) = (our_rest, their_rest);
            }
            Some(ours) if ours.old.end <= theirs.old.start => {
                merger.last = Some(ours.clone());
                our = &our[1..]; // Not empty.
            }
            next => {
                merger.theirs(theirs, next);
                their = &their[1..]; // Not empty.
            }
        }
    }
    merger.merge
}

/// Returns whether two changes of the base overlap. Insertions at one place do; changes that only
/// touch do not.
fn overlap(a: &Change, b: &Change) -> bool {
    let at_one_place = a.old.is_empty() && a.old == b.old;
    at_one_place || (a.old.start < b.old.end && b.old.start < a.old.end)
}

/// Returns the number of changes on each side that overlap in a chain with the first ones.
fn group(our: &[Change], their: &[Change]) -> (usize, usize) {
    let (mut ours, mut theirs) = (1, 1);
    loop {
        let more_ours = clashes(our.get(ours), &their[..theirs]);
        ours += usize::from(more_ours);
        let more_theirs = clashes(their.get(theirs), &our[..ours]);
        theirs += usize::from(more_theirs);
        if !more_ours && !more_theirs {
            return (ours, theirs);
        }
    }
}

fn clashes(next: Option<&Change>, group: &[Change]) -> bool {
    next.is_some_and(|next| group.last().is_some_and(|last| overlap(next, last)))
}

struct Merger<'a> {
    base: &'a Text,
    ours: &'a Text,
    theirs: &'a Text,
    merge: Merge,
    /// The last of our changes that was passed.
    last: Option<Change>,
    /// The net number of lines that the edits so far have added.
    grown: isize,
}

impl Merger<'_> {
    /// Applies a change that only their side made; `next` is our next change below it.
    fn theirs(&mut self, change: &Change, next: Option<&Change>) {
        let mut lines = self.theirs.to_lines(change.new.clone());
        let text_of = |change: &Change| self.ours.to_lines(change.new.clone());
        let above = self.last.as_ref();
        if let Some(above) = above.filter(|above| above.old.end == change.old.start) {
            let ours = text_of(above);
            if change.old.is_empty() && ours.ends_with(&lines) && substantial(&lines) {
                return;
            }
            if above.old.is_empty() && lines.starts_with(&ours) && substantial(&ours) {
                lines.drain(..ours.len());
            }
        }
        if let Some(below) = next.filter(|below| below.old.start == change.old.end) {
            let ours = text_of(below);
            if change.old.is_empty() && ours.starts_with(&lines) && substantial(&lines) {
                return;
            }
            if below.old.is_empty() && lines.ends_with(&ours) && substantial(&ours) {
                lines.truncate(lines.len() - ours.len());
            }
        }
        let start = self.our_row(change.old.start);
        self.edit(start, change.old.len(), lines);
    }

    /// Merges overlapping changes of both sides.
    fn both(&mut self, ours_in: &[Change], theirs_in: &[Change]) {
        let (Some(ours), Some(theirs)) = (span(ours_in), span(theirs_in)) else {
            return;
        };
        let start = ours.old.start.min(theirs.old.start);
        let end = ours.old.end.max(theirs.old.end);
        let whole = |span: &Change| {
            let above = span.old.start - start;
            let below = end - span.old.end;
            span.new.start - above..span.new.end + below
        };
        let (our_rows, their_rows) = (whole(&ours), whole(&theirs));
        let our_lines = self.ours.to_lines(our_rows.clone());
        let their_lines = self.theirs.to_lines(their_rows);
        self.last = ours_in.last().cloned();
        if our_lines == their_lines {
            return;
        }
        if start == end {
            self.inserted(our_rows, &our_lines, their_lines);
        } else if [ours_in, theirs_in]
            .concat()
            .iter()
            .all(|c| c.new.is_empty())
        {
            let gone = |row: usize, by: &[Change]| by.iter().any(|c| c.old.contains(&row));
            let kept = (start..end).filter(|&row| !gone(row, ours_in) && !gone(row, theirs_in));
            let kept = kept.filter_map(|row| self.base.line(row).map(Into::into));
            let kept: Vec<String> = kept.collect();
            self.replace(our_rows.start, &our_lines, &kept);
        } else {
            self.conflict(start..end, our_rows, our_lines, their_lines);
        }
    }

    /// Merges insertions by both sides at one place.
    fn inserted(&mut self, our_rows: Range<usize>, ours: &[String], theirs: Vec<String>) {
        if holds(ours, &theirs) {
            return;
        }
        if holds(&theirs, ours) {
            self.replace(our_rows.start, ours, &theirs);
        } else {
            self.edit(our_rows.end, 0, theirs);
        }
    }

    /// Records a conflict, without the equal lines at its edges.
    fn conflict(
        &mut self,
        base_rows: Range<usize>,
        our_rows: Range<usize>,
        ours: Vec<String>,
        mut theirs: Vec<String>,
    ) {
        let mut base = self.base.to_lines(base_rows);
        let above = same(ours.iter(), theirs.iter());
        let most = ours.len().min(theirs.len()) - above;
        let below = same(ours.iter().rev(), theirs.iter().rev()).min(most);
        let base_above = same(ours.iter().take(above), base.iter());
        base.drain(..base_above);
        let base_below = same(ours.iter().rev().take(below), base.iter().rev());
        base.truncate(base.len() - base_below);
        theirs.truncate(theirs.len() - below);
        theirs.drain(..above);
        let merged = |row: usize| row.saturating_add_signed(self.grown);
        self.merge.conflicts.push(Conflict {
            rows: merged(our_rows.start + above)..merged(our_rows.end - below),
            theirs,
            base,
        });
    }

    /// Replaces our lines with `by`, editing only the lines that differ.
    fn replace(&mut self, start: usize, ours: &[String], by: &[String]) {
        let lines = |of: &'_ [String]| Text::from_lines(of);
        let (old, new) = (lines(ours), lines(by));
        for edit in super::diff(&old, &new) {
            self.edit(start + edit.start, edit.removed, edit.lines);
        }
    }

    fn edit(&mut self, start: usize, removed: usize, lines: Vec<String>) {
        self.grown += lines.len() as isize - removed as isize;
        match self.merge.edits.last_mut() {
            // Touching edits become one, so that their order is unambiguous.
            Some(last) if last.start + last.removed == start => {
                last.removed += removed;
                last.lines.extend(lines);
            }
            _ if removed == 0 && lines.is_empty() => {}
            _ => self.merge.edits.push(LineEdit {
                start,
                removed,
                lines,
            }),
        }
    }

    /// Returns our row for an unchanged base row, or for the place above it.
    fn our_row(&self, row: usize) -> usize {
        match &self.last {
            Some(last) => row - last.old.end + last.new.end,
            None => row,
        }
    }
}

/// Returns the change that spans several changes.
fn span(changes: &[Change]) -> Option<Change> {
    let (first, last) = (changes.first()?, changes.last()?);
    Some(Change {
        old: first.old.start..last.old.end,
        new: first.new.start..last.new.end,
    })
}

/// Returns whether `all` contains the lines of `some` in order, and `some` is substantial.
fn holds(all: &[String], some: &[String]) -> bool {
    let mut rest = all.iter();
    substantial(some) && some.iter().all(|line| rest.any(|other| other == line))
}

/// Returns whether any line has letters or digits. A lone brace may be inserted twice on purpose.
pub(crate) fn substantial(lines: &[String]) -> bool {
    lines
        .iter()
        .any(|line| line.chars().any(char::is_alphanumeric))
}

fn same<'a>(
    left: impl Iterator<Item = &'a String>,
    right: impl Iterator<Item = &'a String>,
) -> usize {
    left.zip(right).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a merge; `want` is the merged text, with `<ours|theirs|base>` for each conflict.
    #[track_caller]
    fn check(base: &str, ours: &str, theirs: &str, want: &str) {
        let text = |lines: &str| Text::from_lines(lines.split_whitespace());
        let (base, mut merged, theirs) = (text(base), text(ours), text(theirs));
        let merge = merge(&base, &merged, &theirs);
        for pair in merge.edits.windows(2) {
            assert!(pair[0].start + pair[0].removed < pair[1].start, "{pair:?}");
        }
        merged.apply_all(&merge.edits);
        let mut shown = String::new();
        let mut row = 0;
        for conflict in &merge.conflicts {
            shown += &format!("{} ", merged.to_lines(row..conflict.rows.start).join(" "));
            let ours = merged.to_lines(conflict.rows.clone()).join(" ");
            let (theirs, base) = (conflict.theirs.join(" "), conflict.base.join(" "));
            shown += &format!("<{ours}|{theirs}|{base}> ");
            row = conflict.rows.end;
        }
        shown += &merged.to_lines(row..merged.len()).join(" ");
        assert_eq!(shown.split_whitespace().collect::<Vec<_>>().join(" "), want);
    }

    #[test]
    fn changes_in_different_places_are_both_made() {
        check("a b c d", "a u b c d", "a b c X", "a u b c X");
        check("a b c d", "a b c u", "X b c d", "X b c u");
        check("a b c d", "b c d u", "a b d", "b d u");
    }

    #[test]
    fn an_agent_that_wrote_from_an_old_text_keeps_the_users_line() {
        check("a b c", "a b user c", "a B c", "a B user c");
        check("a b c", "a user b c", "a B c", "a user B c");
        check("a b c", "a b user c", "a c", "a user c");
        check("a b c", "a b u", "X b c", "X b u");
        check("a b", "u b", "a B", "u B");
        check("a b", "u b", "a X b", "u X b");
        check("a b", "a u", "a X b", "a X u");
    }

    #[test]
    fn lines_that_both_changed_are_a_conflict() {
        check("a b c", "a u c", "a X c", "a <u|X|b> c");
        check("a b c", "a c", "a X c", "a <|X|b> c");
        check("a b c", "a u c", "a c", "a <u||b> c");
        check(
            "a b c d e",
            "a b u d e",
            "a X Y Z e",
            "a <b u d|X Y Z|b c d> e",
        );
        check("a b c d e", "u v c d w", "X b c d e", "<u v|X b|a b> c d w");
        check("a b c d", "a s u d", "a s X d", "a s <u|X|b c> d");
        check("", "u", "X", "u X");
    }

    #[test]
    fn a_conflict_does_not_keep_other_changes_from_being_made() {
        check("a b c d e", "a u c d e", "A X c d E", "<a u|A X|a b> c d E");
        check(
            "a b c d e f",
            "a u c d e f",
            "a X c d E f G",
            "a <u|X|b> c d E f G",
        );
        check(
            "a b c d e f",
            "a b c d u f",
            "A A2 c d X f",
            "A A2 c d <u|X|e> f",
        );
    }

    #[test]
    fn the_same_change_is_made_once() {
        check("a b c", "a X c", "a X c", "a X c");
        check("a c", "a X c", "a X c", "a X c");
        check("a c", "a X u c", "a X c", "a X u c");
        check("a c", "a X c", "a X Y c", "a X Y c");
        check("a b c", "c", "", "");
        check("a b c d", "a d", "a c", "a");
        // The insertion also fits above the brace, next to another change.
        check("a b } c", "A b } x } c", "a b } x } c", "A b } x } c");
    }

    #[test]
    fn a_line_that_one_side_has_beside_its_own_change_is_not_doubled() {
        check("a b", "X u b", "X a b", "X u b");
        check("a b", "u X b", "a X b", "u X b");
        check("a b", "X a b", "X Y b", "X Y b");
        check("a b", "a X b", "Y X b", "Y X b");
    }

    #[test]
    fn different_insertions_at_one_place_are_both_kept() {
        check("a b", "a u b", "a X b", "a u X b");
        check("a b", "a f{ u } b", "a g{ X } b", "a f{ u } g{ X } b");
        check("a b", "a b }", "a b X }", "a b } X }");
    }
}
