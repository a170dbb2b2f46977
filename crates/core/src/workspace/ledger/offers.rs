//! The agent's versions of lines where the user's text won: conflicts for the user to decide.
//!
//! Invariant: offers are sorted and disjoint, in rows of the current text. An edit that overlaps an
//! offer extends it, so that accepting it never removes a line outside its rows.

use std::ops::Range;
use std::sync::Arc;

use super::Hunk;
use super::track::Track;
use crate::text::diff::changes;
use crate::text::{LineEdit, Text};

/// The agent's lines for `rows`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Offer {
    pub rows: Range<usize>,
    pub theirs: Arc<[String]>,
    /// What the agent changed to `theirs`; the same as these if another program changed it.
    pub base: Arc<[String]>,
    /// The agent deleted the file.
    pub is_deletion: bool,
}

impl Offer {
    /// Returns the edit that takes the agent's lines.
    pub fn accepted(&self) -> LineEdit {
        LineEdit {
            start: self.rows.start,
            removed: self.rows.len(),
            lines: self.theirs.to_vec(),
        }
    }
}

/// Adds an offer; it replaces those it overlaps, and goes on from the one that it begins with.
pub(super) fn add(offers: &mut Vec<Offer>, mut offer: Offer) {
    let clash = |other: &mut Offer| {
        let (a, b) = (&other.rows, &offer.rows);
        a == b || (a.start < b.end && b.start < a.end)
    };
    let replaced: Vec<Offer> = offers.extract_if(.., clash).collect();
    if let Some(earlier) = replaced.into_iter().find(|it| it.theirs == offer.base) {
        offer.base = earlier.base;
    }
    let place =
        |other: &Offer| (other.rows.start, other.rows.end) < (offer.rows.start, offer.rows.end);
    offers.insert(offers.partition_point(place), offer);
}

/// Updates the offers for an edit about to be made to `current`.
///
/// If the edit overlaps an offer and lines next to it, those lines join the offer with their
/// present text, which is also the agent's version of them.
pub(super) fn follow(offers: &mut Vec<Offer>, current: &Text, edit: &LineEdit) {
    if offers.is_empty() {
        return;
    }
    let end = edit.start + edit.removed;
    let from = offers.partition_point(|offer| offer.rows.end <= edit.start);
    let to = offers
        .partition_point(|offer| offer.rows.start < end)
        .max(from);
    let grown = edit.lines.len() as isize - edit.removed as isize;
    let moved = |row: usize| row.saturating_add_signed(grown);
    for offer in offers.iter_mut().skip(to) {
        offer.rows = moved(offer.rows.start)..moved(offer.rows.end);
    }
    let met: Vec<Offer> = offers.drain(from..to).collect();
    if let (Some(first), Some(last)) = (met.first(), met.last()) {
        let rows = edit.start.min(first.rows.start)..end.max(last.rows.end);
        let with = |lines| version(current, rows.clone(), &met, lines).into();
        offers.insert(
            from,
            Offer {
                theirs: with(|it| &it.theirs),
                base: with(|it| &it.base),
                is_deletion: met.iter().all(|offer| offer.is_deletion),
                rows: rows.start..moved(rows.end),
            },
        );
    }
}

/// Returns `rows` of the current text with these lines of their offers.
fn version(
    current: &Text,
    rows: Range<usize>,
    offers: &[Offer],
    of: fn(&Offer) -> &[String],
) -> Vec<String> {
    let mut lines = Vec::new();
    let mut row = rows.start;
    for offer in offers {
        lines.extend(current.to_lines(row..offer.rows.start));
        lines.extend_from_slice(of(offer));
        row = offer.rows.end;
    }
    lines.extend(current.to_lines(row..rows.end));
    lines
}

/// Returns the offers whose lines stand in a text that has replaced the current one.
pub(super) fn taken(offers: &[Offer], current: &Text, text: &Text) -> Vec<Offer> {
    let edits: Vec<LineEdit> = offers.iter().map(Offer::accepted).collect();
    let mut theirs = current.clone();
    theirs.apply_all(&edits);
    let other = changes(&theirs, text);
    let mut start = 0;
    let mut above = 0;
    let is_there = |offer: &&Offer| {
        start += offer.rows.start - above;
        above = offer.rows.end;
        let rows = start..start + offer.theirs.len();
        start = rows.end;
        other
            .iter()
            .all(|change| change.old.end <= rows.start || rows.end <= change.old.start)
    };
    offers.iter().filter(is_there).cloned().collect()
}

/// Returns the hunks of a review: changes that touch an offer share a hunk with it.
pub(super) fn hunks(track: &Track, offers: &[Offer]) -> Vec<Hunk> {
    let mut hunks = Vec::with_capacity(track.changes.len() + offers.len());
    let mut next = 0;
    let mut rest = offers;
    while let Some(first) = rest.first() {
        let mut rows = first.rows.clone();
        let above = track.changes.partition_point(|c| c.new.end < rows.start);
        let (mut below, mut taken) = (above, 0);
        // Each addition extends the hunk, so that it may touch more.
        loop {
            let touching = rest.get(taken).filter(|offer| offer.rows.start <= rows.end);
            if let Some(change) = track.changes.get(below)
                && change.new.start <= rows.end
            {
                rows = rows.start.min(change.new.start)..rows.end.max(change.new.end);
                below += 1;
            } else if let Some(offer) = touching {
                rows.end = rows.end.max(offer.rows.end);
                taken += 1;
            } else {
                break;
            }
        }
        let (group, others) = rest.split_at(taken);
        rest = others;
        let before = track.changes.get(next..above).unwrap_or_default();
        hunks.extend(before.iter().cloned().map(Hunk::from));
        hunks.push(Hunk {
            old: track.base_row(rows.start, above)..track.base_row(rows.end, below),
            conflict: Some(version(&track.current, rows.clone(), group, |it| {
                &it.theirs
            })),
            new: rows,
        });
        next = below;
    }
    let after = track.changes.get(next..).unwrap_or_default();
    hunks.extend(after.iter().cloned().map(Hunk::from));
    hunks
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::life::{Place, an_edit, edit_at, some_text};
    use super::super::tests::{edit, holds, lines, text};
    use super::super::{Review, Which};
    use super::*;
    use crate::text::diff::{Conflict, merge};

    fn conflict(rows: Range<usize>, base: &str, theirs: &str) -> Conflict {
        let (base, theirs) = (lines(base), lines(theirs));
        Conflict { rows, theirs, base }
    }

    /// Returns the hunks, as `old>new`, after the user gave up a text for `now`.
    #[track_caller]
    fn left(review: &mut Review, now: &str) -> Vec<String> {
        review.others_left(&text(now));
        holds(review);
        assert_eq!(review.current(), &text(now));
        let shown = review.hunks().iter().map(|hunk| {
            assert_eq!(hunk.conflict, None);
            let old = review.base().to_lines(hunk.old.clone()).join(" ");
            let new = review.current().to_lines(hunk.new.clone()).join(" ");
            format!("{old}>{new}")
        });
        shown.collect()
    }

    #[test]
    fn the_agents_lines_are_pending_where_the_user_gives_up_others_for_them() {
        let mut review = Review::new(text("a b c d e"));
        review.agent_edited(&edit(4, 1, "E"));
        review.agent_done();
        review.user_edited(&edit(1, 1, "u"));
        review.user_edited(&edit(3, 0, "v"));
        review.offer(conflict(1..2, "b", "X Y"));
        let mine = review.clone();
        assert_eq!(left(&mut review, "a X Y c d E"), ["b>X Y", "e>E"]);
        assert_eq!(review.base(), &text("a b c d e"));
        review.user_wrote(text("a u c v d E"));
        assert_eq!(review.hunks(), mine.hunks());
        review.reject(&Which::All);
        assert_eq!(left(&mut review, "a b c d E"), ["e>E"]);
    }

    #[test]
    fn a_conflict_goes_on_from_the_lines_before_the_agents_first_change() {
        let mut review = Review::new(text("a b c"));
        review.user_edited(&edit(1, 1, "u"));
        review.offer(conflict(1..2, "b", "X"));
        review.offer(conflict(1..2, "X", "Y"));
        assert_eq!(left(&mut review, "a Y c"), ["b>Y"]);

        // The user had changed a line of the agent's.
        let mut review = Review::new(text("a b c"));
        review.agent_wrote(text("a X c"));
        review.user_edited(&edit(1, 1, "u"));
        review.offer(conflict(1..2, "X", "Y"));
        assert_eq!(left(&mut review, "a Y c"), ["b>Y"]);

        // The user has changed the lines next to it since.
        let mut review = Review::new(text("a b c"));
        review.user_edited(&edit(1, 1, "u"));
        review.offer(conflict(1..2, "b", "X"));
        review.user_edited(&edit(0, 2, "v"));
        assert_eq!(left(&mut review, "a X c"), ["b>X"]);
    }

    #[test]
    fn what_another_program_has_changed_is_not_pending_when_the_user_takes_it() {
        let mut review = Review::new(text("a b c"));
        review.user_edited(&edit(1, 1, "u"));
        review.offer(conflict(1..2, "X", "X"));
        assert!(left(&mut review, "a X c").is_empty());
    }

    proptest! {
        #[test]
        fn no_line_of_the_agents_is_accepted_where_the_user_gives_up_others(
            base in some_text(), ours in vec(an_edit(), 0..4), theirs in vec(an_edit(), 0..4)
        ) {
            // Every written line is unique.
            let made = |who: &str, all: &[(Place, Vec<String>)]| {
                let mut text = base.clone();
                for (at, (place, lines)) in all.iter().enumerate() {
                    let lines: Vec<String> = (0..lines.len()).map(|n| format!("{who} {at} {n}")).collect();
                    text.apply(&edit_at(&text, *place, &lines));
                }
                text
            };
            let (ours, theirs) = (made("user", &ours), made("agent", &theirs));
            let mut review = Review::new(base.clone());
            review.user_wrote(ours.clone());
            let merged = merge(&base, &ours, &theirs);
            for edit in merged.edits.iter().rev() {
                review.agent_edited(edit);
            }
            review.agent_done();
            for conflict in merged.conflicts {
                review.offer(conflict);
            }
            review.others_left(&theirs);
            holds(&review);
            prop_assert_eq!(review.current(), &theirs);
            let is_agents = |line: std::borrow::Cow<str>| line.starts_with("agent");
            prop_assert!(!review.base().lines(0..review.base().len()).any(is_agents));
        }
    }
}
