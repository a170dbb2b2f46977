//! Differences between texts, line by line.
//!
//! Invariant: the returned changes turn `old` into `new`, and the same texts always give the same
//! result. Common lines at both ends are skipped before lines are compared, so a small change in a
//! large file is found quickly.

pub(crate) mod align;
pub(crate) mod merge;
mod words;

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;

use self::align::Change;
pub use self::merge::{Conflict, Merge, merge};
pub use self::words::{WordDiff, words};
use crate::text::{LineEdit, Text};

/// The maximum number of rows that a hunk slides to a better place.
const SLIDE: usize = 100;

/// Returns the replacements that turn `old` into `new`: disjoint, top down, in rows of `old`.
pub fn diff(old: &Text, new: &Text) -> Vec<LineEdit> {
    let changes = changes(old, new).into_iter();
    changes.map(|change| edit_of(&change, new)).collect()
}

/// Returns the hunks between two texts, placed where a reader expects them.
///
/// An inserted or removed block may also fit a few lines further up or down, if its last line
/// equals the line before it. It is placed so that it starts and ends at the least indentation,
/// preferably after a blank line.
pub fn hunks(old: &Text, new: &Text) -> Vec<Hunk> {
    slid(old, new).into_iter().map(Hunk::from).collect()
}

/// Returns the changes between two texts, each slid to its best place.
pub(crate) fn slid(old: &Text, new: &Text) -> Vec<Change> {
    let mut changes = changes(old, new);
    let all = 0..changes.len();
    slide_all(old, new, &mut changes, all);
    changes
}

/// Returns the replacement for one change.
pub(crate) fn edit_of(change: &Change, new: &Text) -> LineEdit {
    LineEdit {
        start: change.old.start,
        removed: change.old.len(),
        lines: new.to_lines(change.new.clone()),
    }
}

/// Returns the changes between two texts. An inserted or removed block that fits several places is
/// placed as far down as possible, so that two diffs from one text agree on its place.
pub(crate) fn changes(old: &Text, new: &Text) -> Vec<Change> {
    let prefix = old.common_prefix(new);
    let most = old.len().min(new.len()) - prefix;
    let suffix = old.common_suffix(new).min(most);
    let mut changes = changes_in(
        old,
        prefix..old.len() - suffix,
        new,
        prefix..new.len() - suffix,
    );
    // At least one unchanged line stays above the next change.
    let mut below = new.len();
    for change in changes.iter_mut().rev() {
        let (_, down) = slack(old, new, change, 0, below - change.new.end);
        *change = change.moved(down as isize, down as isize);
        below = change.new.start.saturating_sub(1);
    }
    changes
}

/// Returns the changes between parts of two texts, in rows of the whole texts.
pub(crate) fn changes_in(
    old: &Text,
    old_rows: Range<usize>,
    new: &Text,
    new_rows: Range<usize>,
) -> Vec<Change> {
    if old_rows.is_empty() || new_rows.is_empty() {
        let change = Change {
            old: old_rows,
            new: new_rows,
        };
        let differs = !change.old.is_empty() || !change.new.is_empty();
        return differs.then_some(change).into_iter().collect();
    }
    let (old_at, new_at) = (old_rows.start, new_rows.start);
    let mut changes = changes_of(old.lines(old_rows), new.lines(new_rows));
    for change in &mut changes {
        change.old = change.old.start + old_at..change.old.end + old_at;
        change.new = change.new.start + new_at..change.new.end + new_at;
    }
    changes
}

/// Returns the changes between two sequences of lines or other tokens.
pub(crate) fn changes_of<T: Hash + Eq>(
    old: impl Iterator<Item = T>,
    new: impl Iterator<Item = T>,
) -> Vec<Change> {
    let (_, most) = old.size_hint();
    let mut tokens: HashMap<T, u32> = HashMap::with_capacity(most.unwrap_or_default());
    let mut token = |item| {
        let next = u32::try_from(tokens.len()).unwrap_or(u32::MAX);
        *tokens.entry(item).or_insert(next)
    };
    let old: Vec<u32> = old.map(&mut token).collect();
    let new: Vec<u32> = new.map(&mut token).collect();
    align::changes(&old, &new)
}

/// Slides the changes at the indices `which` to their best places, where they fit several.
pub(crate) fn slide_all(old: &Text, new: &Text, changes: &mut [Change], which: Range<usize>) {
    for at in which.start..which.end.min(changes.len()) {
        // One unchanged line stays between two hunks, so that sliding never joins them.
        let above = match at.checked_sub(1).and_then(|n| changes.get(n)) {
            Some(change) => change.new.end + 1,
            None => 0,
        };
        let below = match changes.get(at + 1) {
            Some(change) => change.new.start - 1,
            None => new.len(),
        };
        if let Some(change) = changes.get_mut(at) {
            slide(old, new, change, above..below);
        }
    }
}

/// Slides a pure insertion or deletion to its best place.
///
/// `room` is the range of `new` that contains the change and the unchanged lines around it.
fn slide(old: &Text, new: &Text, change: &mut Change, room: Range<usize>) {
    let most_up = change.new.start - room.start;
    let most_down = room.end - change.new.end;
    let (up, down) = slack(old, new, change, most_up, most_down);
    if up + down == 0 {
        return;
    }
    let (text, block) = match change.old.is_empty() {
        true => (new, change.new.clone()),
        false => (old, change.old.clone()),
    };
    let cost = |start: usize| split_cost(text, start) + split_cost(text, start + block.len());
    let starts = block.start - up..=block.start + down;
    // Of equally good places, the lowest.
    let Some(best) = starts.rev().min_by_key(|&start| cost(start)) else {
        return;
    };
    let by = best as isize - block.start as isize;
    *change = change.moved(by, by);
}

/// Returns how many rows a change can slide up and down without changing the result; 0 unless it is
/// a pure insertion or deletion.
pub(crate) fn slack(
    old: &Text,
    new: &Text,
    change: &Change,
    most_up: usize,
    most_down: usize,
) -> (usize, usize) {
    let (text, block) = match (change.old.is_empty(), change.new.is_empty()) {
        (true, false) => (new, &change.new),
        (false, true) => (old, &change.old),
        _ => return (0, 0),
    };
    let same = |a, b| text.line(a).is_some() && text.line(a) == text.line(b);
    let up = (0..most_up.min(SLIDE)).take_while(|n| same(block.start - 1 - n, block.end - 1 - n));
    let down = (0..most_down.min(SLIDE)).take_while(|n| same(block.start + n, block.end + n));
    (up.count(), down.count())
}

/// Returns the cost of a hunk edge above `row`: indentation and a line that closes a block raise
/// it, a blank line lowers it.
fn split_cost(text: &Text, row: usize) -> i64 {
    const LOOK: usize = 20;
    let indent = |line: Cow<'_, str>| {
        let blank = line.trim().is_empty();
        (!blank).then(|| {
            let space = line.chars().take_while(|c| c.is_whitespace());
            space.map(|c| if c == '\t' { 8 } else { 1 }).sum::<i64>()
        })
    };
    let below = (row..row + LOOK).find_map(|n| text.line(n).and_then(indent));
    let above = (row.saturating_sub(LOOK)..row).rev();
    let above = above.filter_map(|n| text.line(n)).find_map(indent);
    let is_blank = |n: usize| text.line(n).is_none_or(|line| line.trim().is_empty());
    let edge = if row.checked_sub(1).is_none_or(is_blank) {
        -5
    } else if is_blank(row) {
        -3
    } else if below < above {
        7
    } else {
        0
    };
    below.unwrap_or(0) * 10 + edge
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the places of the hunks between two texts, in rows of the new one.
    #[track_caller]
    fn check(old: &str, new: &str, want: &[(usize, usize)]) {
        let (old, new) = (Text::from_text(old), Text::from_text(new));
        let mut built = old.clone();
        built.apply_all(&diff(&old, &new));
        assert_eq!(built, new);
        let found = hunks(&old, &new)
            .into_iter()
            .map(|hunk| (hunk.new.start, hunk.new.end));
        assert_eq!(found.collect::<Vec<_>>(), want);
    }

    #[test]
    fn a_new_function_is_a_hunk_from_its_first_line_to_its_last() {
        let (a, b) = ("fn a() {\n    x\n}\n", "fn b() {\n    y\n}\n");
        check(a, &format!("{a}\n{b}"), &[(3, 7)]);
        check(&format!("{a}\n{a}"), &format!("{a}\n{b}\n{a}"), &[(4, 8)]);
        check(b, &format!("{a}\n{b}"), &[(0, 4)]);
    }

    #[test]
    fn a_new_block_starts_at_its_head() {
        check(
            "if a:\n  x\nend\n",
            "if a:\n  x\nif b:\n  x\nend\n",
            &[(2, 4)],
        );
        check("\ta\n\tb\n", "\ta\n\n\tb\n", &[(1, 2)]);
    }

    #[test]
    fn a_deleted_block_slides_too() {
        let (a, b) = ("def a():\n  x\n\n", "def b():\n  y\n\n");
        check(&format!("{a}{b}{a}"), &format!("{a}{a}"), &[(3, 3)]);
    }

    #[test]
    fn hunks_never_slide_into_each_other() {
        let (old, new) = ("a\na\nb\na\na\n", "a\na\na\nb\na\na\na\n");
        check(old, new, &[(0, 1), (6, 7)]);
    }
}

/// Rows of `base` and of `current` that differ; one of the two may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    pub old: Range<usize>,
    pub new: Range<usize>,
    /// The agent's version of the `new` rows, if the user's text won a conflict; the two sides of
    /// such a hunk may be equal.
    pub conflict: Option<Vec<String>>,
}

impl Hunk {
    pub(crate) fn holds(&self, change: &Change) -> bool {
        let within = |inner: &Range<usize>, outer: &Range<usize>| {
            outer.start <= inner.start && inner.end <= outer.end
        };
        within(&change.old, &self.old) && within(&change.new, &self.new)
    }
}

impl From<Change> for Hunk {
    fn from(change: Change) -> Self {
        Self {
            old: change.old,
            new: change.new,
            conflict: None,
        }
    }
}
