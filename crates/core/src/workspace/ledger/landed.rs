//! Accepts hunks that the user has committed to the repository.
//!
//! Invariant: only a hunk that is committed as a whole counts, with every line it adds and none
//! that it removes. An ambiguous hunk does not count.

use super::{Hunk, Review, Which, diff};
use crate::text::Text;
use crate::text::diff::align::Change;

impl Review {
    /// Accepts the hunks that are in `after` but not in `before`, two versions of the file in the
    /// repository. Returns whether there were any.
    pub fn accept_landed(&mut self, before: Option<&Text>, after: &Text) -> bool {
        let mut landed = self.in_version(after);
        if let Some(before) = before {
            let known = self.in_version(before);
            landed.retain(|hunk| !known.contains(hunk));
        }
        let found = !landed.is_empty();
        // None of these is a conflict, so there are no edits to make.
        self.accept_hunks(landed, &Which::All);
        found
    }

    /// Returns the hunks that a version of the file contains.
    fn in_version(&self, version: &Text) -> Vec<Hunk> {
        let missing = diff::changes(version, self.current());
        let hunks = self.hunks().iter().filter(|hunk| {
            let from = missing.partition_point(|change| change.new.end < hunk.new.start);
            let near = missing.iter().skip(from);
            let mut near = near.take_while(|change| change.new.start <= hunk.new.end);
            hunk.conflict.is_none() && !near.any(|change| touches(change, hunk))
        });
        hunks.cloned().collect()
    }
}

/// Returns whether a part of a hunk may be missing in a version; `change` leads from that version
/// to the current text.
fn touches(change: &Change, hunk: &Hunk) -> bool {
    let (a, b) = (&change.new, &hunk.new);
    // The version's lines next to the hunk may be the lines that the hunk removes.
    a.start < b.end && b.start < a.end || !change.old.is_empty()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::{holds, text};
    use super::*;

    /// Checks the hunks left after a commit of `after`; the agent wrote `now` over `base`.
    #[track_caller]
    fn check(base: &str, now: &str, before: Option<&str>, after: &str, left: &[&str]) {
        let mut review = Review::new(text(base));
        review.agent_wrote(text(now));
        let count = review.hunks().len();
        let before = before.map(text);
        let found = review.accept_landed(before.as_ref(), &text(after));
        holds(&review);
        assert_eq!(review.current(), &text(now));
        let shown = review.hunks().iter().map(|hunk| {
            let lines = |text: &Text, rows| text.to_lines(rows).join(" ");
            let old = lines(review.base(), hunk.old.clone());
            format!("{old}>{}", lines(review.current(), hunk.new.clone()))
        });
        assert_eq!(shown.collect::<Vec<_>>(), left);
        assert_eq!(found, left.len() < count);
    }

    #[test]
    fn what_is_committed_is_accepted_and_nothing_else() {
        let (base, now) = ("a b c d e", "a X c Y e");
        check(base, now, Some(base), now, &[]);
        check(base, now, Some(base), "a X c d e", &["d>Y"]);
        check(base, now, Some(base), base, &["b>X", "d>Y"]);
        check(base, now, Some(base), "a X c d e f", &["d>Y"]);
        check(base, now, None, "a X c d e", &["d>Y"]);
    }

    #[test]
    fn what_was_there_before_is_no_news() {
        let (base, now) = ("a b c d e", "a X c Y e");
        check(base, now, Some("a X c d e"), "a X c d e f", &["b>X", "d>Y"]);
        check(base, now, Some("a X c d e"), now, &["b>X"]);
    }

    #[test]
    fn half_a_hunk_is_not_committed() {
        check("a b c", "a X Y c", Some("a b c"), "a X c", &["b>X Y"]);
        check("a b c", "a X c", Some("a b c"), "a b X c", &["b>X"]);
        check("a b c d", "a d", Some("a b c d"), "a c d", &["b c>"]);
    }

    #[test]
    fn a_deletion_is_committed_when_the_lines_are_gone() {
        check("a b c d e", "a c e", Some("a b c d e"), "a c d e", &["d>"]);
        check("a b", "a", Some("a b"), "a", &[]);
        check("a", "", Some("a"), "", &[]);
    }

    proptest! {
        #[test]
        fn a_commit_of_some_hunks_accepts_exactly_those(
            kinds in proptest::collection::vec((0..4_u8, any::<bool>()), 0..12)
        ) {
            // All lines differ, with at least one unchanged line between two changed ones.
            let (mut base, mut now, mut commit) = (Vec::new(), Vec::new(), Vec::new());
            let mut open = 0;
            for (at, &(kind, committed)) in kinds.iter().enumerate() {
                let old = (kind != 1).then(|| format!("old{at}"));
                let new = match kind {
                    0 => old.clone(),
                    1 | 2 => Some(format!("new{at}")),
                    _ => None,
                };
                open += usize::from(kind != 0 && !committed);
                commit.extend(if committed { new.clone() } else { old.clone() });
                base.extend(old);
                now.extend(new);
                for lines in [&mut base, &mut now, &mut commit] {
                    lines.push(format!("same{at}"));
                }
            }
            let text = |lines: &[String]| Text::from_lines(lines);
            let mut review = Review::new(text(&base));
            review.agent_wrote(text(&now));
            review.accept_landed(Some(&text(&base)), &text(&commit));
            holds(&review);
            prop_assert_eq!(review.base(), &text(&commit));
            prop_assert_eq!(review.hunks().len(), open);
        }
    }
}
