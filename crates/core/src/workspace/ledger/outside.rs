//! Applies the content that another program has left in a file, such as `git reset`.
//!
//! Invariants: a hunk whose old lines are back, without a line from the agent, is no longer a hunk,
//! also if lines beside it changed. If the same change comes back (`git stash pop`), so does the hunk.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use super::track::Track;
use super::{Review, diff};
use crate::text::diff::align::Change;
use crate::text::diff::{Conflict, merge};
use crate::text::{LineEdit, Text};

/// Lines among which a change may lie in several places, at most.
const MANY: usize = 1000;

impl Review {
    /// Applies an edit of the lines by another program, possibly one of several.
    pub fn others_edited(&mut self, edit: &LineEdit) {
        if self.others_since.is_none() {
            self.others_since = Some(self.track.clone());
        }
        self.user_edited(edit);
    }

    /// Marks the edits reported by [`Review::others_edited`] as complete.
    pub fn others_done(&mut self) {
        if let Some(before) = self.others_since.take() {
            let edits = diff(&before.current, &self.track.current);
            self.others_made(&before, &edits, true);
        }
        self.history.keep();
    }

    /// Replaces the lines by those in the file.
    pub fn others_left(&mut self, current: &Text) {
        if self.falls_back(current) {
            return;
        }
        let edits = diff(&self.track.current, current);
        self.others_edits(&edits, None);
    }

    /// Applies a write of the whole content by another program, which knows nothing of the hunks.
    ///
    /// Content that the ledger remembers brings its hunks back. Otherwise the differences that the
    /// agent made, and that are still there, stay pending; the rest is the other program's.
    pub fn others_wrote(&mut self, current: Text) {
        let base = match self.hunks.is_empty() {
            true => None,
            false => Some(base_under(&self.track.base, &self.track.current, &current)),
        };
        let edits = diff(&self.track.current, &current);
        self.others_edits(&edits, base);
    }

    /// Applies edits by another program, from the top down; `base` is the text under review after
    /// them, if it is known.
    fn others_edits(&mut self, edits: &[LineEdit], base: Option<Text>) {
        let before = self.track.clone();
        let since = self.others_since.replace(before.clone());
        let is_recalled = self.user_edits(edits);
        self.others_since = since;
        if let Some(base) = base.filter(|base| !is_recalled && *base != self.track.base) {
            self.rebase(base);
        }
        self.others_made(&before, edits, !is_recalled);
    }

    /// Notes the changes that another program's edits, which led from `before` to the present, have
    /// taken away; if `is_new`, those that they have brought back are pending again.
    fn others_made(&mut self, before: &Track, edits: &[LineEdit], is_new: bool) {
        let mut grown = 0;
        let mut back = Vec::new();
        for edit in edits {
            let start = edit.start.saturating_add_signed(grown);
            grown += edit.lines.len() as isize - edit.removed as isize;
            let old = edit.start..edit.start + edit.removed;
            if is_new && self.is_away(&before.current, old.clone(), &edit.lines) {
                back.push(LineEdit {
                    start,
                    removed: edit.lines.len(),
                    lines: before.current.to_lines(old),
                });
            }
        }
        self.give_back(&back);
        let (taken, there) = different(before, &self.track);
        self.away.extend(keys(before, taken));
        for there in keys(&self.track, there) {
            self.away.remove(&there);
        }
    }

    /// Returns whether these lines in place of some rows of a text are a change that was taken
    /// away.
    fn is_away(&self, text: &Text, rows: Range<usize>, new: &[String]) -> bool {
        !self.away.is_empty() && self.away.contains(&key(text, rows, new))
    }

    /// Makes changes pending again; the edits, from the top down, would take them away.
    fn give_back(&mut self, back: &[LineEdit]) {
        for LineEdit {
            start,
            removed,
            lines,
        } in back.iter().rev()
        {
            let rows = *start..start + removed;
            let above = self
                .track
                .changes
                .partition_point(|change| change.new.end <= rows.start);
            let below = self.track.changes.get(above);
            // Else it is inside a hunk already.
            if below.is_none_or(|change| rows.end <= change.new.start) {
                let start = self.track.base_row(rows.start, above);
                self.track
                    .set_base(start..start + rows.len(), lines.clone());
            }
        }
        if !back.is_empty() {
            let after = self.track.current.clone();
            let mut before = after.clone();
            before.apply_all(back);
            self.agent_is_back(&before, &after);
        }
    }
}

/// Returns the changes of the one and of the other that are not in both, without those above and below.
fn different<'a>(one: &'a Track, other: &'a Track) -> (&'a [Change], &'a [Change]) {
    let (mut left, mut right) = (&one.changes[..], &other.changes[..]);
    while let ([a, above @ ..], [b, below @ ..]) = (left, right)
        && a == b
    {
        (left, right) = (above, below);
    }
    let old = other.base.len() as isize - one.base.len() as isize;
    let new = other.current.len() as isize - one.current.len() as isize;
    while let ([above @ .., a], [below @ .., b]) = (left, right)
        && a.moved(old, new) == *b
    {
        (left, right) = (above, below);
    }
    (left, right)
}

/// Returns what identifies these changes, wherever they are.
fn keys<'a>(track: &'a Track, changes: &'a [Change]) -> impl Iterator<Item = u64> + 'a {
    changes.iter().map(|change| {
        let new = track.current.to_lines(change.new.clone());
        key(&track.base, change.old.clone(), &new)
    })
}

/// Returns what identifies the change of some rows of a text to `new`, wherever it is.
fn key(text: &Text, rows: Range<usize>, new: &[String]) -> u64 {
    let mut old: VecDeque<String> = text.to_lines(rows.clone()).into();
    let mut new: VecDeque<String> = new.to_vec().into();
    let Range { mut start, mut end } = rows;
    // Of the places where the same lines may be added or removed, the first one.
    if old.is_empty() != new.is_empty() {
        let lines = if old.is_empty() { &mut new } else { &mut old };
        for _ in 0..MANY {
            let above = start.checked_sub(1).and_then(|row| text.line(row));
            if above.as_deref() != lines.back().map(String::as_str) {
                break;
            }
            lines.rotate_right(1);
            (start, end) = (start - 1, end - 1);
        }
    }
    let above = start.checked_sub(1).and_then(|row| text.line(row));
    let mut hasher = DefaultHasher::new();
    (above, old, new, text.line(end)).hash(&mut hasher);
    hasher.finish()
}

/// Returns the base for the content `now` that another program wrote: `now` without the remains of
/// the agent's change from `base` to `current`.
pub(crate) fn base_under(base: &Text, current: &Text, now: &Text) -> Text {
    let merged = merge(current, now, base);
    let mut text = now.clone();
    text.apply_all(&merged.edits);
    let kept = merged.conflicts.iter().filter(|conflict| {
        let lines = text.to_lines(conflict.rows.clone());
        !is_undone(conflict, &lines)
    });
    let edits: Vec<LineEdit> = kept
        .map(|conflict| LineEdit {
            start: conflict.rows.start,
            removed: conflict.rows.len(),
            lines: conflict.theirs.clone(),
        })
        .collect();
    text.apply_all(&edits);
    text
}

/// Returns whether lines that replaced the agent's have all that the agent removed there and nothing
/// that the agent added.
fn is_undone(conflict: &Conflict, now: &[String]) -> bool {
    let set = |lines: &[String]| lines.iter().cloned().collect::<HashSet<_>>();
    let (old, agents, now) = (set(&conflict.theirs), set(&conflict.base), set(now));
    let mut removed = old.difference(&agents);
    let mut added = agents.difference(&old);
    removed.all(|line| now.contains(line)) && !added.any(|line| now.contains(line))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::life::some_text;
    use super::super::tests::{edit, holds, text};
    use super::*;

    /// Checks the hunks, as `old>new`, after another program has left `now`; `base` was accepted,
    /// and the agent and the user had made `current` of it.
    #[track_caller]
    fn check(base: &str, current: &str, now: &str, left: &[&str]) {
        let mut review = Review::new(text(base));
        review.agent_wrote(text(current));
        review.others_wrote(text(now));
        holds(&review);
        assert_eq!(review.current(), &text(now));
        let shown = review.hunks().iter().map(|hunk| {
            let old = review.base().to_lines(hunk.old.clone()).join(" ");
            format!(
                "{old}>{}",
                review.current().to_lines(hunk.new.clone()).join(" ")
            )
        });
        assert_eq!(shown.collect::<Vec<_>>(), left);
    }

    #[test]
    fn a_change_taken_back_beside_other_lines_leaves_no_hunk() {
        // The user's `U` stood beside the agent's change; the file is as it was before both.
        check("U b c", "U B c", "u b c", &[]);
        check("a U c", "A U c", "a u c", &[]);
        check("U b c", "U B c", "u b c d", &[]);
        // Lines that the agent added or removed.
        check("U c", "U B c", "u c", &[]);
        check("U b c", "U c", "u b c", &[]);
        check("U b b2 c", "U c", "u b b2 c", &[]);
    }

    #[test]
    fn what_is_left_of_the_agents_change_stays_pending() {
        check("a b c d e", "a B c D e", "a b c D e", &["d>D"]);
        check("a b c", "a B1 B2 B3 c", "a B1 x B3 c", &["b>B1 x B3"]);
        check("a b c", "a B c", "a X c", &["b>X"]);
        check("a b c", "a B c", "a B c theirs", &["b>B"]);
        check("a b c", "a c", "a c theirs", &["b>"]);
    }

    #[test]
    fn content_that_is_known_brings_its_hunks_back() {
        let mut review = Review::new(text("a b c"));
        review.agent_wrote(text("a B c"));
        review.others_wrote(text("a b c"));
        assert!(review.hunks().is_empty());
        review.others_wrote(text("a B c"));
        assert_eq!(review.hunks().len(), 1);
    }

    #[test]
    fn an_older_text_has_no_conflict_that_came_after_it() {
        let leaves: [fn(&mut Review); 2] = [
            |review| review.others_wrote(text("a b c")),
            |review| {
                review.others_edited(&edit(1, 1, "b"));
                review.others_done();
            },
        ];
        for leaves in leaves {
            let mut review = Review::new(text("a b c"));
            review.user_edited(&edit(1, 1, "u"));
            review.offer(Conflict {
                rows: 1..2,
                theirs: vec!["X".to_owned()],
                base: Vec::new(),
            });
            leaves(&mut review);
            holds(&review);
            assert!(review.hunks().is_empty());
            review.others_wrote(text("a u c"));
            assert_eq!(review.hunks().len(), 1);
        }
    }

    #[test]
    fn a_change_that_was_taken_away_is_a_hunk_when_it_is_back() {
        let check = |base: &str, agents: &str, without: &[&str], now: &str, left: &[&str]| {
            let mut whole = Review::new(text(base));
            whole.agent_wrote(text(agents));
            // The same, line by line, as a buffer reports it.
            let mut edited = whole.clone();
            for &without in without.iter().chain([&now]) {
                whole.others_wrote(text(without));
                for edit in diff(edited.current(), &text(without)).iter().rev() {
                    // As Neovim reports it: first the replaced lines, then the added ones.
                    let both = edit.removed.min(edit.lines.len());
                    let (lines, more) = edit.lines.split_at(both);
                    edited.others_edited(&LineEdit {
                        lines: lines.to_vec(),
                        ..edit.clone()
                    });
                    edited.others_edited(&LineEdit {
                        start: edit.start + both,
                        removed: 0,
                        lines: more.to_vec(),
                    });
                }
                edited.others_done();
                holds(&edited);
            }
            for review in [whole, edited] {
                holds(&review);
                assert_eq!(review.current(), &text(now));
                let shown = review.hunks().iter().map(|hunk| {
                    let old = review.base().to_lines(hunk.old.clone()).join(" ");
                    let new = review.current().to_lines(hunk.new.clone()).join(" ");
                    format!("{old}>{new}")
                });
                assert_eq!(shown.collect::<Vec<_>>(), left);
            }
        };
        let (base, agents) = ("a b c d e f g", "a B c d e F g");
        let other = "a b c D e f g";
        check(
            base,
            agents,
            &[base, other],
            "a B c D e F g",
            &["b>B", "f>F"],
        );
        check(base, agents, &[base, other], "a B c D e f g", &["b>B"]);
        check(
            base,
            agents,
            &[base, other, "a B c D e f g"],
            "a B c D e F g",
            &["b>B", "f>F"],
        );
        // More lines than before, and fewer.
        check(
            "a b c",
            "a B1 B2 c",
            &["a b c", "0 a b c"],
            "0 a B1 B2 c",
            &["b>B1 B2"],
        );
        check(
            "a b1 b2 c",
            "a B c",
            &["a b1 b2 c", "0 a b1 b2 c"],
            "0 a B c",
            &["b1 b2>B"],
        );
        // Above and below other lines; lines that were added, and removed.
        check(
            "a b c",
            "a b X c",
            &["a b c", "0 1 a b c"],
            "0 1 a b X c",
            &[">X"],
        );
        check("a b c", "a c", &["a b c", "a b c 1"], "a c 1", &["b>"]);
        check(
            "a } c",
            "a } b } c",
            &["a } c", "0 a } c"],
            "0 a } b } c",
            &[">b }"],
        );
        // Other lines in the same place, and the same lines in another.
        check(base, agents, &[base, other], "a C c D e f g", &[]);
        check("a b c", "a X b c", &["a b c", "a b c d"], "a b c X d", &[]);
    }

    #[test]
    fn what_the_user_has_rejected_or_removed_is_no_hunk_when_another_program_writes_it() {
        let mut review = Review::new(text("a b c d"));
        review.agent_wrote(text("a B c d"));
        for edit in review.reject(&super::super::Which::All) {
            review.decision_edited(&edit);
        }
        review.others_wrote(text("a b c d e"));
        review.others_wrote(text("a B c d e"));
        assert!(review.hunks().is_empty());
        let mut review = Review::new(text("a b c d"));
        review.agent_wrote(text("a B c d"));
        review.user_wrote(text("a b c d"));
        review.others_wrote(text("a b c d e"));
        review.others_wrote(text("a B c d e"));
        assert!(review.hunks().is_empty());
    }

    proptest! {
        #[test]
        fn a_change_that_another_program_takes_and_brings_back_is_pending(
            base in some_text(), current in some_text(), top in some_text()
        ) {
            let below = |above: &Text, text: &Text| {
                let mut lines = above.to_lines(0..above.len());
                lines.push("head".to_owned());
                lines.extend(text.to_lines(0..text.len()));
                Text::from_lines(lines)
            };
            let head = Text::default();
            let mut review = Review::new(below(&head, &base));
            review.agent_wrote(below(&head, &current));
            let hunks = review.hunks().len();
            review.others_wrote(below(&head, &base));
            review.others_wrote(below(&top, &base));
            prop_assert!(review.hunks().is_empty());
            review.others_wrote(below(&top, &current));
            holds(&review);
            prop_assert_eq!(review.hunks().len(), hunks);
            prop_assert_eq!(review.base(), &below(&top, &base));
        }

        #[test]
        fn the_accepted_text_left_by_another_program_has_no_hunk(
            base in some_text(), current in some_text()
        ) {
            let mut review = Review::new(base.clone());
            review.agent_wrote(current);
            review.others_wrote(base);
            holds(&review);
            prop_assert!(review.hunks().is_empty());
        }

        #[test]
        fn any_content_left_by_another_program_is_the_current_one(
            base in some_text(), current in some_text(), now in some_text()
        ) {
            let mut review = Review::new(base);
            review.agent_wrote(current);
            review.others_wrote(now.clone());
            holds(&review);
            prop_assert_eq!(review.current(), &now);
        }
    }
}
