//! Two versions of a text and the changes between them, kept while both are edited.
//!
//! Invariant: applied to `base`, the changes give `current`; they are non-empty and sorted, with at
//! least one unchanged line between any two. The cost of an edit depends on the rows it touches:
//! only the changes it overlaps are compared again.

use std::ops::Range;
use std::sync::Arc;

use super::parts::Part;
use crate::text::diff::align::Change;
use crate::text::diff::merge::substantial;
use crate::text::diff::{changes_in, changes_of, edit_of, slack, slid, slide_all};
use crate::text::{LineEdit, Text};

/// A change with more base lines than this is not compared again for an edit inside it.
const LARGE: usize = 10_000;

/// A base, a current text, and their differences.
#[derive(Debug, Clone)]
pub(super) struct Track {
    pub base: Text,
    pub current: Text,
    /// Shared with the states in the history.
    pub changes: Arc<Vec<Change>>,
}

/// The position of a user's edit relative to the changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Outside all changes: it was made in the base too, and its inverse will be as well.
    Outside,
    /// Inside or across changes, which differ now.
    Inside,
}

impl Track {
    pub fn new(base: Text) -> Self {
        Self {
            current: base.clone(),
            base,
            changes: Arc::default(),
        }
    }

    /// Applies an edit not made by the user: the base stays.
    pub fn agent(&mut self, edit: &LineEdit) {
        let end = edit.start + edit.removed;
        let from = self.changes.partition_point(|c| c.new.end <= edit.start);
        let to = self
            .changes
            .partition_point(|c| c.new.start < end)
            .max(from);
        self.edit_current(edit, from..to);
    }

    /// Applies an edit by the user, without unchanged lines in it.
    pub fn user(&mut self, edit: &LineEdit) -> Reach {
        let end = edit.start + edit.removed;
        let from = self.changes.partition_point(|c| c.new.end <= edit.start);
        let to = self.changes.partition_point(|c| c.new.start < end);
        if from < to {
            match self.pieces(edit, from..to) {
                Some(pieces) => pieces.iter().rev().for_each(|piece| {
                    self.user(piece);
                }),
                None => self.edit_current(edit, from..to),
            }
            return Reach::Inside;
        }
        let above = from.checked_sub(1);
        if let Some(above) = above
            && edit.removed == 0
            && let Some(deletion) = self.changes.get(above)
            && deletion.new == (edit.start..edit.start)
            && self.bring_back(above, edit)
        {
            return Reach::Inside;
        }
        self.base.apply(&LineEdit {
            start: self.base_row(edit.start, from),
            ..edit.clone()
        });
        self.current.apply(edit);
        let grown = edit.lines.len() as isize - edit.removed as isize;
        self.shift(from, grown, grown);
        self.join(from);
        Reach::Outside
    }

    /// Applies edits by another author anywhere in the text, from the top down.
    pub fn agent_all(&mut self, edits: &[LineEdit]) {
        self.current.apply_all(edits);
        self.changes = Arc::new(slid(&self.base, &self.current));
    }

    /// Replaces the whole base and recomputes the changes.
    pub fn set_whole_base(&mut self, base: Text) {
        self.base = base;
        self.changes = Arc::new(slid(&self.base, &self.current));
    }

    /// Accepts parts of changes into the base; they are sorted by index.
    pub fn accept(&mut self, parts: &[Part]) {
        if parts.is_empty() {
            return;
        }
        let mut accepted = parts.iter().peekable();
        let mut edits = Vec::new();
        let mut left = Vec::new();
        let mut grown = 0;
        for (at, change) in self.changes.iter().enumerate() {
            let mut keep = |change: Change, grown| left.push(change.moved(grown, 0));
            let Some(part) = accepted.next_if(|part| part.at == at) else {
                keep(change.clone(), grown);
                continue;
            };
            let part = change.part(&part.rows);
            let [above, below] = change.rest(&part);
            above.into_iter().for_each(|change| keep(change, grown));
            grown += part.new.len() as isize - part.old.len() as isize;
            below.into_iter().for_each(|change| keep(change, grown));
            edits.push(edit_of(&part, &self.current));
        }
        if left.is_empty() {
            self.base = self.current.clone();
        } else {
            self.base.apply_all(&edits);
        }
        self.changes = Arc::new(left);
    }

    /// Replaces rows of the base and recomputes the changes there.
    pub fn set_base(&mut self, rows: Range<usize>, lines: Vec<String>) {
        let from = self.changes.partition_point(|c| c.old.end < rows.start);
        let to = self.changes.partition_point(|c| c.old.start <= rows.end);
        let met = self.changes.get(from..to).unwrap_or_default();
        let start = met
            .first()
            .map_or(rows.start, |c| c.old.start.min(rows.start));
        let end = met.last().map_or(rows.end, |c| c.old.end.max(rows.end));
        let new = self.current_row(start, from)..self.current_row(end, to);
        let old = start..end + lines.len() - rows.len();
        let grown = lines.len() as isize - rows.len() as isize;
        self.base.apply(&LineEdit {
            start: rows.start,
            removed: rows.len(),
            lines,
        });
        self.shift(to, grown, 0);
        self.compare(from..to, old, new);
    }

    /// Drops the changes if both texts are equal: the changes cancel out, at any distance from each
    /// other. Returns whether it did.
    pub fn drop_made_up(&mut self) -> bool {
        let made_up = !self.changes.is_empty()
            && self.base.len_bytes() == self.current.len_bytes()
            && self.base == self.current;
        if made_up {
            self.changes = Arc::default();
        }
        made_up
    }

    /// Returns the base row of a current row that has `above` changes above it.
    pub fn base_row(&self, row: usize, above: usize) -> usize {
        match above.checked_sub(1).and_then(|at| self.changes.get(at)) {
            Some(change) => row - change.new.end + change.old.end,
            None => row,
        }
    }

    fn current_row(&self, row: usize, above: usize) -> usize {
        match above.checked_sub(1).and_then(|at| self.changes.get(at)) {
            Some(change) => row - change.old.end + change.new.end,
            None => row,
        }
    }

    /// Applies an edit to the current text only and recomputes the changes there.
    ///
    /// `met` are the indexes of the changes it overlaps.
    fn edit_current(&mut self, edit: &LineEdit, met: Range<usize>) {
        if met.len() == 1 && self.edit_within(edit, met.start) {
            return;
        }
        let (mut from, mut to) = (met.start, met.end);
        let changes = self.changes.get(met).unwrap_or_default();
        let mut start = edit.start;
        let mut end = edit.start + edit.removed;
        if let (Some(first), Some(last)) = (changes.first(), changes.last()) {
            start = start.min(first.new.start);
            end = end.max(last.new.end);
        }
        // A directly adjacent change counts as overlapped.
        let above = from.checked_sub(1).and_then(|at| self.changes.get(at));
        if let Some(above) = above.filter(|above| above.new.end == start) {
            start = above.new.start;
            from -= 1;
        }
        if let Some(below) = self.changes.get(to).filter(|below| below.new.start == end) {
            end = below.new.end;
            to += 1;
        }
        let old = self.base_row(start, from)..self.base_row(end, to);
        let grown = edit.lines.len() as isize - edit.removed as isize;
        self.current.apply(edit);
        self.shift(to, 0, grown);
        self.compare(from..to, old, start..end.saturating_add_signed(grown));
    }

    /// Applies an edit inside one change without comparing the rest of it, if the comparison cannot
    /// find anything new: both sides of a change share no line, so only an added line could match.
    ///
    /// Returns whether it did. In a very large change, added lines that match the base are not
    /// looked for.
    fn edit_within(&mut self, edit: &LineEdit, at: usize) -> bool {
        let Some(change) = self.changes.get(at) else {
            return false;
        };
        let end = edit.start + edit.removed;
        let inside = change.new.start <= edit.start && end <= change.new.end;
        let left = change.new.len() + edit.lines.len() - edit.removed.min(change.new.len());
        if !inside || left == 0 || change.old.is_empty() && edit.lines.is_empty() {
            return false;
        }
        if change.old.len() <= LARGE {
            let added = |line| edit.lines.iter().any(|new| *new == line);
            if self.base.lines(change.old.clone()).any(added) {
                return false;
            }
        }
        let grown = edit.lines.len() as isize - edit.removed as isize;
        self.current.apply(edit);
        self.shift(at + 1, 0, grown);
        if let Some(change) = Arc::make_mut(&mut self.changes).get_mut(at) {
            change.new.end = change.new.end.saturating_add_signed(grown);
        }
        true
    }

    /// Compares rows of both texts and replaces the changes `met` by the differences.
    fn compare(&mut self, met: Range<usize>, old: Range<usize>, new: Range<usize>) {
        let found = changes_in(&self.base, old, &self.current, new);
        if met.is_empty() && found.is_empty() {
            return;
        }
        let (mut start, end) = (met.start, met.start + found.len());
        Arc::make_mut(&mut self.changes).splice(met, found);
        let mut below = self.changes.len() - end;
        below -= usize::from(self.reunite(end));
        start -= usize::from(self.reunite(start));
        let changes = Arc::make_mut(&mut self.changes);
        let found = start..changes.len().saturating_sub(below);
        slide_all(&self.base, &self.current, changes, found);
    }

    /// Compares the change at this index and the one above it together, if one could slide to the
    /// other: they may cancel out. Returns whether it did.
    fn reunite(&mut self, at: usize) -> bool {
        let above = at.checked_sub(1).and_then(|above| self.changes.get(above));
        let (Some(above), Some(below)) = (above, self.changes.get(at)) else {
            return false;
        };
        if !self.can_meet(above, below) {
            return false;
        }
        let old = above.old.start..below.old.end;
        let new = above.new.start..below.new.end;
        let found = changes_in(&self.base, old, &self.current, new);
        Arc::make_mut(&mut self.changes).splice(at - 1..=at, found);
        true
    }

    /// Returns whether two neighboring changes could slide to each other.
    fn can_meet(&self, above: &Change, below: &Change) -> bool {
        let gap = below.new.start - above.new.end;
        let down = slack(&self.base, &self.current, above, 0, gap).1;
        let up = slack(&self.base, &self.current, below, gap, 0).0;
        up + down >= gap
    }

    /// Compares the change at this index and the one above it together, if no unchanged line
    /// separates them.
    fn join(&mut self, at: usize) {
        let above = at.checked_sub(1).and_then(|above| self.changes.get(above));
        let (Some(above), Some(below)) = (above, self.changes.get(at)) else {
            return;
        };
        if !self.can_meet(above, below) {
            return;
        }
        let old = above.old.start..below.old.end;
        let new = above.new.start..below.new.end;
        self.compare(at - 1..at + 1, old, new);
    }

    /// Shifts all changes from this index on.
    fn shift(&mut self, from: usize, old: isize, new: isize) {
        if (old == 0 && new == 0) || from >= self.changes.len() {
            return;
        }
        for change in Arc::make_mut(&mut self.changes).iter_mut().skip(from) {
            *change = change.moved(old, new);
        }
    }

    /// Applies a user's insertion at a deletion, if it restores some of the deleted lines.
    ///
    /// Restored lines are no longer changed; new lines are the user's. Returns whether any line was
    /// restored.
    fn bring_back(&mut self, at: usize, edit: &LineEdit) -> bool {
        let Some(deleted) = self.changes.get(at).cloned() else {
            return false;
        };
        let old = self.base.to_lines(deleted.old.clone());
        let parts = changes_of(old.iter(), edit.lines.iter());
        let mut lines: Vec<String> = Vec::new();
        let mut found = Vec::new();
        let mut same = 0;
        let mut back = false;
        let end = Change {
            old: old.len()..old.len(),
            new: 0..0,
        };
        for part in parts.iter().chain([&end]) {
            let kept = old.get(same..part.old.start).unwrap_or_default();
            back |= substantial(kept);
            lines.extend_from_slice(kept);
            same = part.old.end;
            if !part.old.is_empty() {
                let row = deleted.old.start + lines.len();
                let place = edit.start + part.new.start;
                found.push(Change {
                    old: row..row + part.old.len(),
                    new: place..place,
                });
            }
            lines.extend_from_slice(old.get(part.old.clone()).unwrap_or_default());
            lines.extend_from_slice(edit.lines.get(part.new.clone()).unwrap_or_default());
        }
        if !back {
            return false;
        }
        let grown = lines.len() as isize - old.len() as isize;
        self.shift(at + 1, grown, edit.lines.len() as isize);
        self.base.apply(&LineEdit {
            start: deleted.old.start,
            removed: old.len(),
            lines,
        });
        self.current.apply(edit);
        Arc::make_mut(&mut self.changes).splice(at..=at, found);
        true
    }

    /// Splits a deletion at the edges of the changes it meets; `None` if it lies within one.
    fn pieces(&self, edit: &LineEdit, met: Range<usize>) -> Option<Vec<LineEdit>> {
        let (mut row, end) = (edit.start, edit.start + edit.removed);
        let met = self.changes.get(met)?;
        let within = |c: &Change| c.new.start <= row && end <= c.new.end;
        if !edit.lines.is_empty() || met.iter().any(within) {
            return None;
        }
        let edges = met.iter().flat_map(|c| [c.new.start, c.new.end]);
        let mut pieces = Vec::new();
        for edge in edges.map(|edge| edge.min(end)).chain([end]) {
            if edge > row {
                pieces.push(LineEdit {
                    start: row,
                    removed: edge - row,
                    lines: Vec::new(),
                });
                row = edge;
            }
        }
        Some(pieces)
    }
}
