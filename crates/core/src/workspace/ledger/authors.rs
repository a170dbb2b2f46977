//! The agent's own version of a text, which is the text without changes by others; and the lines of
//! others that the agent takes away.
//!
//! Invariants: the agent's version contains every line the agent added, and no line others added,
//! unless the agent changed that line. A line of others that the agent takes away is in the base.

use std::collections::HashMap;

use super::history::{Cause, Mark, Version};
use super::track::Track;
use super::{Review, diff};
use crate::text::diff::{Conflict, changes, merge, slid};
use crate::text::{LineEdit, Text};

/// A text as the agent alone would have it; the difference is the work of others.
#[derive(Debug, Clone)]
pub(super) struct Alone {
    pub text: Text,
    /// The text before the agent's edits that are being made, which `text` lacks.
    since: Option<Text>,
}

impl Alone {
    pub fn new(text: Text) -> Self {
        Self { text, since: None }
    }

    /// Returns whether no edits of the agent are being made.
    pub fn is_complete(&self) -> bool {
        self.since.is_none()
    }
}

impl Review {
    /// Takes what follows for the agent's.
    pub(super) fn agent_begins(&mut self) {
        let current = &self.track.current;
        self.alone.since.get_or_insert_with(|| current.clone());
    }

    /// Brings the agent's own version up to date after its edits. Lines of others that they took
    /// away go to the base.
    pub(super) fn agent_ends(&mut self) {
        let Some(before) = self.alone.since.take() else {
            return;
        };
        let (base, now) = (&self.track.base, &self.track.current);
        let base = base_with_others(base, &self.alone.text, &before, now);
        self.alone.text = agents_text(&self.alone.text, &before, now);
        if let Some(base) = base {
            self.track.set_whole_base(base);
        }
        self.settle(Cause::Whole);
    }

    /// Attributes the difference between two texts, of which the second was read as accepted, to the
    /// agent, and later changes to others.
    pub fn was_agents(&mut self, before: &Text, taken: &Text) {
        let own = match *taken == self.track.current {
            true => agents_text(&self.alone.text, before, taken),
            // The agent may have changed the lines again, so its own stay.
            false => {
                let mut own = self.alone.text.clone();
                own.apply_all(&merge(before, &own, taken).edits);
                own
            }
        };
        let accepted = self.accepted_before(before, taken);
        self.remember_as_agents(before, &accepted, taken);
        let before = &accepted;
        let back = merge(taken, &self.track.base, before);
        if back.conflicts.is_empty() || !self.hunks.is_empty() {
            let mut base = self.track.base.clone();
            base.apply_all(&back.edits);
            let mixed = back
                .conflicts
                .iter()
                .map(|conflict| without_agents(&base, conflict));
            let mixed: Vec<LineEdit> = mixed.collect();
            base.apply_all(&mixed);
            self.alone.text = own;
            self.history.rebase(&self.track.base, &base);
            return self.rebase(base);
        }
        // Others have changed the agent's lines since.
        let mut review = Review::new(before.clone());
        review.agent_wrote(taken.clone());
        review.user_wrote(self.track.current.clone());
        self.alone = review.alone;
        self.rebase(review.track.base);
    }

    /// Takes a text for the agent's own version of the present one.
    pub fn was_alone(&mut self, alone: Text) {
        self.alone = Alone::new(alone);
        self.settle(Cause::Whole);
    }

    /// Remembers that a content, which is not the present one, is the agent's change of a text, of which
    /// this much was accepted: the file may have it, or an undo brings it back.
    fn remember_as_agents(&mut self, before: &Text, accepted: &Text, taken: &Text) {
        if *taken == self.track.current {
            return;
        }
        let mut track = Track::new(accepted.clone());
        track.agent_all(&diff(accepted, taken));
        let known = self.history.alone(before, Mark::of(before));
        let alone = match known {
            Some(known) => agents_text(&known.text, before, taken),
            None => taken.clone(),
        };
        let state = Version {
            track,
            offers: Vec::new(),
            alone: Alone::new(alone),
            number: self.number,
        };
        let (mark, bytes) = (Mark::of(taken), taken.len_bytes());
        self.history.remember(state, mark, Cause::Whole, bytes);
    }

    /// Returns what was accepted of a text that the agent has changed to the second one, which is the
    /// whole of it if it is not remembered. If the agent is back at the first, its base is that of the
    /// second.
    fn accepted_before(&self, before: &Text, taken: &Text) -> Text {
        match self.history.version(before, Mark::of(before)) {
            Some(known) if *before != self.track.current => {
                let base = &known.track.base;
                let alone = Some(&known.alone).filter(|alone| alone.is_complete());
                let others =
                    alone.and_then(|alone| base_with_others(base, &alone.text, before, taken));
                others.unwrap_or_else(|| base.clone())
            }
            _ => before.clone(),
        }
    }

    /// Records that lines of the agent are back in the text, which was the first and is the second.
    pub fn agent_is_back(&mut self, before: &Text, after: &Text) {
        let back = merge(before, &self.alone.text, after);
        self.alone.text.apply_all(&back.edits);
        self.settle(Cause::Whole);
    }
}

/// Returns the edit of a base that has others' lines among the agent's: what the agent had before, and
/// the lines of others.
///
/// Of what the agent left as it was, the base keeps what it has: the rest was the agent's before.
fn without_agents(base: &Text, conflict: &Conflict) -> LineEdit {
    let Conflict {
        base: agents,
        theirs: before,
        rows,
    } = conflict;
    let here = base.to_lines(rows.clone());
    let (mut left, mut kept) = (counted(agents), counted(&here));
    let stays = |line: &&String| !take(&mut left, line) || take(&mut kept, line);
    let mut lines: Vec<String> = before.iter().filter(stays).cloned().collect();
    let mut known = counted(agents.iter().chain(before));
    lines.extend(here.iter().filter(|line| !take(&mut known, line)).cloned());
    LineEdit {
        start: rows.start,
        removed: rows.len(),
        lines,
    }
}

/// Returns how often each line is there.
fn counted<'a>(lines: impl IntoIterator<Item = &'a String>) -> HashMap<&'a str, usize> {
    let mut counts = HashMap::new();
    for line in lines {
        *counts.entry(&**line).or_default() += 1;
    }
    counts
}

/// Takes a line from the counted ones, and returns whether it was there.
fn take(counts: &mut HashMap<&str, usize>, line: &str) -> bool {
    let Some(count @ 1..) = counts.get_mut(line) else {
        return false;
    };
    *count -= 1;
    true
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
                lines: without_again(edit, &agents),
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

/// Returns the lines of the agent that others took away, without those that the agent has written
/// again right there.
fn without_again(others: &LineEdit, agents: &[LineEdit]) -> Vec<String> {
    let is_near = |change: &&LineEdit| {
        change.start <= others.start + others.removed
            && others.start <= change.start + change.removed
    };
    let mut again: Vec<&String> = agents
        .iter()
        .filter(is_near)
        .flat_map(|c| &c.lines)
        .collect();
    let mut is_again = |line: &&String| {
        let at = again.iter().position(|again| again == line);
        at.map(|at| again.swap_remove(at)).is_some()
    };
    let left = others.lines.iter().filter(|line| !is_again(line));
    left.cloned().collect()
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
    fn what_was_read_in_the_place_of_the_agents_own_lines_is_the_agents() {
        let check = |before: &str, taken: &str, after: &str, base: &str| {
            let mut review = Review::new(text("a b c"));
            review.agent_wrote(text("X b c"));
            review.user_wrote(text(before));
            review.others_left(&text(taken));
            review.was_agents(&text(before), &text(taken));
            review.agent_wrote(text(after));
            assert_eq!(review.base(), &text(base));
        };
        check("X b c", "Y", "Z", "a b c");
        check("X u b c", "Y c", "Z c", "a u b c");
        check("X u v b c", "Y u W b c", "Z", "a u v b c");
    }

    #[test]
    fn of_what_the_agent_left_the_base_keeps_what_it_has() {
        let check = |base: &str, agents: &str, before: &str, want: &str| {
            let lines = |words: &str| words.split_whitespace().map(str::to_owned).collect();
            let base = text(base);
            let conflict = Conflict {
                base: lines(agents),
                theirs: lines(before),
                rows: 0..base.len(),
            };
            assert_eq!(without_agents(&base, &conflict).lines, lines(want));
        };
        check("a u", "X", "a", "a u");
        check("a", "X Y Z", "X Y a", "a");
        check("u X", "X Z", "X a", "X a u");
        check("u", "X Z Z", "Z a", "a u");
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
    fn what_others_took_away_and_the_agent_wrote_again_is_there_once() {
        check("a X b", "a b", "a X b", "a X b");
        check("a X Y b", "a b", "a X Y b", "a X Y b");
        check("a X b", "a u b", "a u X b", "a X b");
        check("a Y X b", "a Y b", "a Z X b", "a Z X b");
    }

    #[test]
    fn what_the_agent_changes_of_others_lines_is_the_agents() {
        check("a b", "a u b", "a X b", "a X b");
        check("a b", "a u v w b", "a u X w b", "a X b");
        check("a b c", "a u c", "a X c", "a X c");
    }
}
