//! The agent's versions of lines where the user's text won: conflicts for the user to decide.
//!
//! Invariant: offers are sorted and disjoint, in rows of the current text. An edit that overlaps an
//! offer extends it, so that accepting it never removes a line outside its rows.

use std::ops::Range;
use std::sync::Arc;

use super::Hunk;
use super::track::Track;
use crate::text::diff::align::Change;
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

/// Adds an offer; it replaces those it overlaps, and goes on from the lines before them.
pub(super) fn add(offers: &mut Vec<Offer>, current: &Text, mut offer: Offer) {
    let clash = |other: &mut Offer| {
        let (a, b) = (&other.rows, &offer.rows);
        // Without rows of the user's, only the lines say what it is about.
        let is_bare = (a.is_empty() || b.is_empty()) && a.start <= b.end && b.start <= a.end;
        let mut parts = offer.base.windows(other.theirs.len().max(1));
        let is_part = is_bare && parts.any(|part| *part == *other.theirs);
        a == b || (a.start < b.end && b.start < a.end) || is_part
    };
    let replaced: Vec<Offer> = offers.extract_if(.., clash).collect();
    if let (Some(first), Some(last)) = (replaced.first(), replaced.last()) {
        let rows = first.rows.start.min(offer.rows.start)..last.rows.end.max(offer.rows.end);
        let with = |of| Text::from_lines(version(current, rows.clone(), &replaced, of));
        let texts = (with(|it| &it.base), with(|it| &it.theirs));
        let mut base = Text::from_lines(&*offer.base);
        let since = changes(&texts.1, &base);
        base.apply_all(&undone((&texts.0, &texts.1), &since));
        offer.base = base.to_lines(0..base.len()).into();
    }
    let place =
        |other: &Offer| (other.rows.start, other.rows.end) < (offer.rows.start, offer.rows.end);
    offers.insert(offers.partition_point(place), offer);
}

/// Returns the edits that undo the changes from `before` to `theirs` in a text that was changed `since`,
/// as far as lines of them are left there.
fn undone((before, theirs): (&Text, &Text), since: &[Change]) -> Vec<LineEdit> {
    let mut edits = Vec::new();
    let (mut above, mut grown) = (0, 0);
    let growth = |change: &Change| change.new.len() as isize - change.old.len() as isize;
    for Change { old, new } in changes(theirs, before) {
        let is_past = |other: &Change| other.old.end <= old.start && other.old != old;
        while let Some(other) = since.get(above).filter(|other| is_past(other)) {
            grown += growth(other);
            above += 1;
        }
        let rest = since.get(above..).unwrap_or_default();
        let met = rest
            .iter()
            .take_while(|other| other.old.start < old.end || other.old == old);
        let met: Vec<&Change> = met.collect();
        let lost = |other: &&Change| other.old.end.min(old.end) - other.old.start.max(old.start);
        if !met.is_empty() && met.iter().map(lost).sum::<usize>() == old.len() {
            continue;
        }
        let shifted = |row: usize, grown: isize| row.saturating_add_signed(grown);
        let start = match met.first() {
            Some(first) if first.old.start < old.start => first.new.end,
            _ => shifted(old.start, grown),
        };
        let end = match met.last() {
            Some(last) if last.old.end > old.end => last.new.start,
            _ => shifted(
                old.end,
                grown + met.iter().map(|other| growth(other)).sum::<isize>(),
            ),
        };
        edits.push(LineEdit {
            start,
            removed: end.saturating_sub(start),
            lines: before.to_lines(new),
        });
    }
    edits
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

/// Returns a text that replaces the current one as the agent found it: without its lines of the
/// offers.
pub(super) fn found(offers: &[Offer], current: &Text, text: &Text) -> Text {
    let with = |lines: fn(&Offer) -> &[String]| {
        let edits = offers.iter().map(|offer| LineEdit {
            lines: lines(offer).to_vec(),
            ..offer.accepted()
        });
        let mut with = current.clone();
        with.apply_all(&edits.collect::<Vec<_>>());
        with
    };
    let mut found = text.clone();
    if !offers.is_empty() {
        let (before, theirs) = (with(|it| &it.base), with(|it| &it.theirs));
        found.apply_all(&undone((&before, &theirs), &changes(&theirs, text)));
    }
    found
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

    #[test]
    fn a_conflict_over_others_goes_on_from_what_the_agent_found_first() {
        let offers = |ours: &str, first: &[(usize, &str, &str)], then: Conflict| {
            let mut review = Review::new(text("a b c d e"));
            review.user_wrote(text(ours));
            for (row, base, theirs) in first {
                review.offer(conflict(*row..row + 1, base, theirs));
            }
            review.offer(then);
            review
        };
        // More of the user's lines than the first one.
        let then = conflict(1..4, "X c d", "X2 C D");
        let mut review = offers("a u c w e", &[(1, "b", "X")], then);
        assert_eq!(left(&mut review, "a X2 C D e"), ["b c d>X2 C D"]);
        // Two at once.
        let then = conflict(1..4, "X c Y", "Z");
        let mut review = offers("a u c w e", &[(1, "b", "X"), (3, "d", "Y")], then);
        assert_eq!(left(&mut review, "a Z e"), ["b c d>Z"]);
        // The agent empties the file.
        let then = conflict(0..5, "a X c d e", "");
        let mut review = offers("a u c d e", &[(1, "b", "X")], then);
        assert_eq!(left(&mut review, ""), ["a b c d e>"]);
    }

    #[test]
    fn other_unsaved_lines_in_an_offer_do_not_hide_the_agents() {
        let mut review = Review::new(text("a b c d e"));
        review.user_wrote(text("a u c y e"));
        review.offer(conflict(1..2, "b", "X"));
        // `:2,4s/$/!/`
        review.user_edited(&edit(1, 3, "u! c! y!"));
        assert_eq!(left(&mut review, "a X c d e"), ["b>X"]);
    }

    #[test]
    fn no_conflict_is_left_of_one_whose_lines_are_pending() {
        // The user has undone the change, so the content is the one from before.
        let mut review = Review::new(text("a b c d e"));
        review.user_edited(&edit(1, 1, "u"));
        review.offer(conflict(1..2, "b", "X"));
        review.user_edited(&edit(1, 1, "b"));
        review.user_edited(&edit(1, 1, "u"));
        assert_eq!(left(&mut review, "a X c d e"), ["b>X"]);
        // An older version was offered for that content.
        let mut review = Review::new(text("a b c d e"));
        review.user_edited(&edit(1, 1, "u"));
        review.offer(conflict(1..2, "b", "X"));
        review.user_edited(&edit(4, 1, "v"));
        review.agent_done();
        review.offer(conflict(1..2, "X", "Y"));
        assert_eq!(left(&mut review, "a Y c d e"), ["b>Y"]);
    }

    proptest! {
        #[test]
        fn no_line_of_the_agents_is_accepted_where_the_user_gives_up_others(
            base in some_text(), ours in vec(an_edit(), 0..4),
            writes in vec(vec(an_edit(), 0..4), 1..2)
        ) {
            // Every written line is unique.
            let mut number = 0;
            let mut made = |who: &str, from: &Text, all: &[(Place, Vec<String>)]| {
                let mut text = from.clone();
                for (place, lines) in all {
                    let lines: Vec<String> = (0..lines.len()).map(|n| format!("{who} {number} {n}")).collect();
                    text.apply(&edit_at(&text, *place, &lines));
                    number += 1;
                }
                text
            };
            let mut review = Review::new(base.clone());
            review.user_wrote(made("user", &base, &ours));
            let mut disk = base;
            for theirs in writes {
                let theirs = made("agent", &disk, &theirs);
                let merged = merge(&disk, review.current(), &theirs);
                for edit in merged.edits.iter().rev() {
                    review.agent_edited(edit);
                }
                review.agent_done();
                for conflict in merged.conflicts {
                    review.offer(conflict);
                }
                holds(&review);
                disk = theirs;
            }
            review.others_left(&disk);
            holds(&review);
            prop_assert_eq!(review.current(), &disk);
            prop_assert!(review.hunks().iter().all(|hunk| hunk.conflict.is_none()));
            let is_agents = |line: std::borrow::Cow<str>| line.starts_with("agent");
            let accepted = review.base().lines(0..review.base().len()).find(|line| is_agents(line.clone()));
            prop_assert_eq!(accepted, None);
        }
    }
}
