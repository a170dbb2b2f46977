//! Applies the content that another program has left in a file, such as `git reset`.
//!
//! Invariant: a hunk whose old lines are back, without a line of the agent's, is no hunk any longer,
//! whatever else changed beside it.

use std::collections::HashSet;

use super::Review;
use crate::text::diff::{Conflict, merge};
use crate::text::{LineEdit, Text};

impl Review {
    /// Applies a write of the whole content by another program, which knows nothing of the hunks.
    ///
    /// Content that the ledger remembers brings its hunks back. Otherwise the differences that the
    /// agent made, and that are still there, stay pending; the rest is the other program's.
    pub fn others_wrote(&mut self, current: Text) {
        let base = match self.hunks.is_empty() {
            true => None,
            false => Some(base_under(&self.track.base, &self.track.current, &current)),
        };
        let edits = crate::text::diff::diff(&self.track.current, &current);
        let is_recalled = self.user_edits(&edits);
        if let Some(base) = base.filter(|base| !is_recalled && *base != self.track.base) {
            self.rebase(base);
        }
    }
}

/// Returns the text under review for the content `now` that another program wrote: `now`, with what
/// is left of the agent's change from `base` to `current` undone.
fn base_under(base: &Text, current: &Text, now: &Text) -> Text {
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
    use super::super::tests::{holds, text};
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

    proptest! {
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
