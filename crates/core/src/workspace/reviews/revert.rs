//! Takes one author's changes out of a text that others have changed since.
//!
//! Invariant: a line that is neither the author's nor was there before stays.

use std::collections::HashSet;
use std::ops::Range;

use crate::text::diff::align::Change;
use crate::text::diff::{Conflict, Hunk, diff, slid};
use crate::text::{LineEdit, Text};

/// What one author did to a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work<'a> {
    /// The text before.
    pub before: &'a Text,
    /// The text accepted of it at first, and the text accepted now.
    pub began: &'a Text,
    pub accepted: &'a Text,
    /// The text before with the author's changes, and no others.
    pub own: &'a Text,
    /// What others have made of that.
    pub now: &'a Text,
    /// The changes of others.
    pub since: &'a [Hunk],
}

/// A text without the author's changes.
#[derive(Debug, Default)]
pub(super) struct Reverted {
    /// In rows of the text.
    pub edits: Vec<LineEdit>,
    /// Places that others have changed since, in rows of the text after the edits.
    pub conflicts: Vec<Conflict>,
    /// The same places in rows of the author's text.
    pub contested: Vec<Range<usize>>,
    /// Lines of others among lines that the author had added, in rows of the text after the edits.
    pub kept: Vec<Range<usize>>,
}

/// A place of the author's changes: rows of the author's text, of the present one, and of the one
/// before.
#[derive(Debug, Clone)]
pub(super) struct Place {
    own: Range<usize>,
    pub now: Range<usize>,
    pub before: Range<usize>,
    /// The author has only added lines here.
    is_added: bool,
    /// The same with what others have added right above and below.
    near: Option<Box<Place>>,
}

impl Work<'_> {
    /// Returns the places where the author's changes stand in the present text, wholly or in part.
    pub fn places(&self) -> Vec<Place> {
        let mut places = places(&self.ours(), &undone(self.before, self.own));
        places.retain(|place| {
            let before = self.before.to_lines(place.before.clone());
            self.now.to_lines(place.now.clone()) != before
        });
        places
    }

    fn ours(&self) -> Vec<Change> {
        let since = self.since.iter().map(|hunk| Change {
            old: hunk.old.clone(),
            new: hunk.new.clone(),
        });
        since.collect()
    }

    /// Takes the author's changes out of the present text, at the places that `is_meant` names.
    pub fn revert(&self, is_meant: impl Fn(&Place) -> bool) -> Reverted {
        let ours = self.ours();
        let accepted = undone(self.accepted, self.own);
        let began = undone(self.began, self.own);
        let made = undone(self.before, self.own);
        let mut reverted = Reverted::default();
        let mut grown: isize = 0;
        for place in self.places().into_iter().filter(is_meant) {
            if self.is_decided(&place, &ours, &accepted) {
                continue;
            }
            let near = place
                .near
                .as_deref()
                .filter(|near| self.is_known(near, &began));
            let place = near.unwrap_or(&place);
            let lines = self.now.to_lines(place.now.clone());
            let mut before = self.before.to_lines(place.before.clone());
            let start = place.now.start.saturating_add_signed(grown);
            if !self.is_known(place, &began) {
                if self.is_gone(place) {
                    continue;
                }
                if place.own.is_empty() {
                    before.extend(others(&lines, &before));
                } else if place.is_added {
                    before = self.without_added(place, &ours, &made);
                    reverted.kept.push(start..start + before.len());
                } else {
                    let conflict = Conflict {
                        rows: start..start + lines.len(),
                        theirs: before,
                        base: Vec::new(),
                    };
                    reverted.conflicts.push(conflict.trimmed(&lines));
                    reverted.contested.push(place.own.clone());
                    continue;
                }
            }
            grown += before.len() as isize - lines.len() as isize;
            let edits = diff(&Text::from_lines(lines), &Text::from_lines(before));
            reverted
                .edits
                .extend(edits.into_iter().map(|edit| LineEdit {
                    start: edit.start + place.now.start,
                    ..edit
                }));
        }
        reverted
    }

    /// Returns whether each line of a place is the author's, or was there before.
    fn is_known(&self, place: &Place, began: &[Change]) -> bool {
        let mut known = lines_of(self.own, place.own.clone());
        known.extend(self.before.to_lines(place.before.clone()));
        let there = image(began, &place.own).unwrap_or_default();
        known.extend(self.began.to_lines(there));
        let mut lines = self.now.lines(place.now.clone());
        lines.all(|line| known.contains(&*line))
    }

    /// Returns whether a place has all lines from before, and none that the author has added.
    fn is_gone(&self, place: &Place) -> bool {
        let before = self.before.to_lines(place.before.clone());
        let own = lines_of(self.own, place.own.clone());
        let lines = self.now.to_lines(place.now.clone());
        let mut others = lines.iter().filter(|line| !before.contains(line));
        holds(&lines, &before) && !others.any(|line| own.contains(line))
    }

    /// Returns whether others have restored the lines accepted before, and left none of the author's.
    fn is_decided(&self, place: &Place, ours: &[Change], accepted: &[Change]) -> bool {
        let met = touching(ours, &place.own);
        let (Some(first), Some(last)) = (met.first(), met.last()) else {
            return false;
        };
        let rows = place.own.start.min(first.old.start)..place.own.end.max(last.old.end);
        let (Some(now), Some(then)) = (image(ours, &rows), image(accepted, &rows)) else {
            return false;
        };
        let (now, then) = (self.now.to_lines(now), self.accepted.to_lines(then));
        let own = lines_of(self.own, rows);
        let is_own = |line: &&String| own.contains(*line) && !then.contains(line);
        holds(&now, &then) && now.iter().find(is_own).is_none()
    }

    /// Returns the lines of a place without those that the author has added.
    fn without_added(&self, place: &Place, ours: &[Change], made: &[Change]) -> Vec<String> {
        let made = touching(made, &place.own);
        let is_added = |row: usize| made.iter().any(|change| change.old.contains(&row));
        let mut lines = Vec::new();
        let mut row = place.own.start;
        // Not what touches the place from outside.
        let is_here = |change: &&Change| {
            place.now.start <= change.new.start && change.new.end <= place.now.end
        };
        for change in touching(ours, &place.own).iter().filter(is_here) {
            let kept = (row..change.old.start).filter(|row| !is_added(*row));
            lines.extend(kept.flat_map(|row| self.own.to_lines(row..row + 1)));
            lines.extend(self.now.to_lines(change.new.clone()));
            row = change.old.end;
        }
        let kept = (row..place.own.end).filter(|row| !is_added(*row));
        lines.extend(kept.flat_map(|row| self.own.to_lines(row..row + 1)));
        lines
    }

    /// Returns an accepted text without the author's changes, except where these are contested:
    /// with what of the text before was accepted in their place.
    pub fn revert_accepted(&self, text: &Text, contested: &[Range<usize>]) -> Text {
        let ours = undone(text, self.own);
        let mut without = text.clone();
        let theirs = undone(self.accepted, self.own);
        let is_contested = |place: &&Place| contested.iter().any(|it| overlap(it, &place.own));
        for place in places(&ours, &theirs).iter().rev() {
            if is_contested(&place) {
                continue;
            }
            let lines = text.to_lines(place.now.clone());
            let mut then = self.accepted.to_lines(place.before.clone());
            // They may stand among what others have changed right above or below.
            let is_there = place.near.as_deref().is_some_and(|near| {
                let above = text.to_lines(near.now.start..place.now.start);
                let below = text.to_lines(place.now.end..near.now.end);
                above.ends_with(&then) || below.starts_with(&then)
            });
            if lines.is_empty() && is_there {
                continue;
            }
            let own = lines_of(self.own, place.own.clone());
            let is_own = |line: &String| own.contains(line);
            if own.is_empty() || lines.is_empty() || lines.iter().any(is_own) {
                let mut others = others(&lines, &then);
                others.retain(|line| !is_own(line));
                then.extend(others);
                without.apply(&LineEdit {
                    start: place.now.start,
                    removed: lines.len(),
                    lines: then,
                });
            }
        }
        without
    }
}

impl Change {
    fn is_in(&self, rows: &Range<usize>) -> bool {
        rows.start <= self.old.start && self.old.end <= rows.end
    }
}

impl Conflict {
    /// Leaves out what both sides have at the edges.
    fn trimmed(mut self, lines: &[String]) -> Self {
        let same = |(a, b): &(&String, &String)| a == b;
        let above = lines.iter().zip(&self.theirs).take_while(same).count();
        let most = lines.len().min(self.theirs.len()) - above;
        let below = lines.iter().rev().zip(self.theirs.iter().rev());
        let below = below.take(most).take_while(same).count();
        self.rows = self.rows.start + above..self.rows.end - below;
        self.theirs.truncate(self.theirs.len() - below);
        self.theirs.drain(..above);
        self
    }
}

/// Returns the changes that lead from the second text back to the first.
fn undone(before: &Text, after: &Text) -> Vec<Change> {
    let made = slid(before, after).into_iter();
    let undone = made.map(|change| Change {
        old: change.new,
        new: change.old,
    });
    undone.collect()
}

/// Returns whether the one has all lines of the other, in order.
fn holds(lines: &[String], others: &[String]) -> bool {
    let mut lines = lines.iter();
    others.iter().all(|other| lines.any(|line| line == other))
}

/// Returns the lines that are not among known ones, each of which stands for one line.
fn others(lines: &[String], known: &[String]) -> Vec<String> {
    let mut known: Vec<&String> = known.iter().collect();
    let is_other = |line: &&String| match known.iter().position(|known| known == line) {
        Some(at) => {
            known.swap_remove(at);
            false
        }
        None => true,
    };
    lines.iter().filter(is_other).cloned().collect()
}

fn lines_of(text: &Text, rows: Range<usize>) -> HashSet<String> {
    text.to_lines(rows).into_iter().collect()
}

/// Returns where `theirs` change a text, joined with what of `ours` overlaps them.
fn places(ours: &[Change], theirs: &[Change]) -> Vec<Place> {
    let mut places = Vec::new();
    let (mut our, mut their) = (0, 0);
    // Lines near one place are not near the next.
    let mut last_our = 0;
    while let Some(first) = theirs.get(their) {
        let mut old = first.old.clone();
        let above = |change: &Change| change.old.end <= old.start && !overlap(&change.old, &old);
        our += ours.iter().skip(our).take_while(|it| above(it)).count();
        let (our_start, their_start) = (our, their);
        their += 1;
        loop {
            let meets = |change: &&Change| overlap(&change.old, &old);
            if let Some(change) = ours.get(our).filter(meets) {
                old = old.start.min(change.old.start)..old.end.max(change.old.end);
                our += 1;
            } else if let Some(change) = theirs.get(their).filter(meets) {
                old = old.start.min(change.old.start)..old.end.max(change.old.end);
                their += 1;
            } else {
                break;
            }
        }
        let joined = theirs.get(their_start..their).unwrap_or_default();
        let is_added = joined.iter().all(|change| change.new.is_empty());
        let place = |ours_in: Range<usize>, old: &Range<usize>| Place {
            now: mapped(ours, ours_in, old),
            before: mapped(theirs, their_start..their, old),
            own: old.clone(),
            is_added,
            near: None,
        };
        let is_free = |change: &&Change| {
            let mut others = theirs.iter().skip(their);
            !others
                .next()
                .is_some_and(|other| overlap(&change.old, &other.old))
        };
        let above = our_start.checked_sub(1).filter(|at| *at >= last_our);
        let above = above
            .and_then(|at| ours.get(at))
            .filter(|it| it.old.end == old.start && !it.new.is_empty());
        let below = ours
            .get(our)
            .filter(|it| it.old.start == old.end && !it.new.is_empty())
            .filter(is_free);
        let near =
            above.map_or(old.start, |it| it.old.start)..below.map_or(old.end, |it| it.old.end);
        let ours_near =
            our_start - usize::from(above.is_some())..our + usize::from(below.is_some());
        let is_near = above.is_some() || below.is_some();
        last_our = ours_near.end;
        places.push(Place {
            near: is_near.then(|| Box::new(place(ours_near, &near))),
            ..place(our_start..our, &old)
        });
    }
    places
}

/// Returns whether two ranges share rows, or are one place between two rows.
fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.is_empty() && a == b || a.start < b.end && b.start < a.end
}

/// Returns the new rows of old ones, which contain these changes and no part of others.
fn mapped(changes: &[Change], within: Range<usize>, rows: &Range<usize>) -> Range<usize> {
    let moved = |row: usize, above: usize| match above.checked_sub(1).and_then(|at| changes.get(at))
    {
        Some(change) => row - change.old.end + change.new.end,
        None => row,
    };
    moved(rows.start, within.start)..moved(rows.end, within.end)
}

/// Returns the changes that touch or overlap old rows.
fn touching<'a>(changes: &'a [Change], rows: &Range<usize>) -> &'a [Change] {
    let from = changes.partition_point(|change| change.old.end < rows.start);
    let to = changes.partition_point(|change| change.old.start <= rows.end);
    changes.get(from..to).unwrap_or_default()
}

/// Returns the new rows of old ones, with lines added at their edges; `None` if a change that
/// reaches beyond them makes them ambiguous.
fn image(changes: &[Change], rows: &Range<usize>) -> Option<Range<usize>> {
    let from = changes.partition_point(|change| {
        let old = &change.old;
        old.end < rows.start || old.end == rows.start && !old.is_empty()
    });
    let to = changes.partition_point(|change| {
        let old = &change.old;
        old.start < rows.end || old.start == rows.end && old.is_empty()
    });
    let mut touching = touching(changes, rows).iter();
    if rows.is_empty() && touching.any(|change| !change.old.is_empty()) {
        // The old lines may be among those above or below.
        return None;
    }
    let within = changes.get(from..to)?;
    let is_whole = within.iter().all(|change| change.is_in(rows));
    is_whole.then(|| mapped(changes, from..to, rows))
}
