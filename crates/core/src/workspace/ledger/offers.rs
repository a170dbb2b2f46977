//! The agent's versions of lines where the user's text won: conflicts for the user to decide.
//!
//! Invariant: offers are sorted and disjoint, in rows of the current text. An edit that overlaps an
//! offer extends it, so that accepting it never removes a line outside its rows.

use std::ops::Range;
use std::sync::Arc;

use super::Hunk;
use super::track::Track;
use crate::text::{LineEdit, Text};

/// The agent's lines for `rows`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Offer {
    pub rows: Range<usize>,
    pub theirs: Arc<[String]>,
    /// The agent deleted the file.
    pub is_deletion: bool,
    /// The number of the first remembered state that has it (of the latest one, for several that an
    /// edit made one). States from before do not end it, unless this is 0.
    pub since: u64,
}

/// Adds an offer; it replaces those it overlaps.
pub(super) fn add(offers: &mut Vec<Offer>, offer: Offer) {
    offers.retain(|other| {
        let (a, b) = (&other.rows, &offer.rows);
        let clash = a == b || (a.start < b.end && b.start < a.end);
        !clash
    });
    let place =
        |other: &Offer| (other.rows.start, other.rows.end) < (offer.rows.start, offer.rows.end);
    offers.insert(offers.partition_point(place), offer);
}

/// Withdraws the offers for lines in these rows.
pub(super) fn withdraw(offers: &mut Vec<Offer>, rows: &Range<usize>) {
    offers.retain(|offer| {
        let is_apart = offer.rows.end <= rows.start || rows.end <= offer.rows.start;
        is_apart && offer.rows != *rows
    });
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
        offers.insert(
            from,
            Offer {
                theirs: version(current, rows.clone(), &met).into(),
                is_deletion: met.iter().all(|offer| offer.is_deletion),
                since: met
                    .iter()
                    .map(|offer| offer.since)
                    .max()
                    .unwrap_or_default(),
                rows: rows.start..moved(rows.end),
            },
        );
    }
}

/// Returns `rows` of the current text with their offers accepted.
pub(super) fn version(current: &Text, rows: Range<usize>, offers: &[Offer]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut row = rows.start;
    for offer in offers {
        lines.extend(current.to_lines(row..offer.rows.start));
        lines.extend_from_slice(&offer.theirs);
        row = offer.rows.end;
    }
    lines.extend(current.to_lines(row..rows.end));
    lines
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
            conflict: Some(version(&track.current, rows.clone(), group)),
            new: rows,
        });
        next = below;
    }
    let after = track.changes.get(next..).unwrap_or_default();
    hunks.extend(after.iter().cloned().map(Hunk::from));
    hunks
}
