//! The rows of a window that is docked at the bottom of an area of the screen.
//!
//! Invariant: it covers nothing that is blocked while the area has enough free rows elsewhere.

use std::ops::Range;

/// Cells of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Area {
    pub rows: Range<i64>,
    pub columns: Range<i64>,
}

impl Area {
    /// Returns whether two areas have a cell in common.
    pub fn meets(&self, other: &Area) -> bool {
        let common = |a: &Range<i64>, b: &Range<i64>| a.start.max(b.start) < a.end.min(b.end);
        common(&self.rows, &other.rows) && common(&self.columns, &other.columns)
    }
}

/// Returns the rows of a window across the columns of `area`: the lowest free ones with room for
/// `wanted` rows, else the largest free part.
///
/// Where no part has room for `least` rows, the last of the blocked areas is covered first.
pub fn rows(area: &Area, blocked: &[Area], wanted: i64, least: i64) -> Range<i64> {
    let free = free(area, blocked);
    let len = |rows: &Range<i64>| rows.end - rows.start;
    let fitting = free.iter().rev().find(|rows| len(rows) >= wanted);
    let largest = free.iter().max_by_key(|rows| len(rows));
    let chosen = fitting.or(largest.filter(|rows| len(rows) >= least));
    match (chosen, blocked.split_last()) {
        (Some(rows), _) => (rows.end - wanted.min(len(rows))).max(rows.start)..rows.end,
        (None, Some((_, harder))) => self::rows(area, harder, wanted, least),
        (None, None) => (area.rows.end - wanted).max(area.rows.start)..area.rows.end,
    }
}

/// Returns the rows of the area that nothing blocks, from the top down.
fn free(area: &Area, blocked: &[Area]) -> Vec<Range<i64>> {
    let mut blocked: Vec<&Area> = blocked.iter().filter(|other| area.meets(other)).collect();
    blocked.sort_by_key(|other| other.rows.start);
    let mut free = Vec::new();
    let mut start = area.rows.start;
    for other in blocked {
        free.push(start..other.rows.start.max(start));
        start = start.max(other.rows.end);
    }
    free.push(start..area.rows.end.max(start));
    free.retain(|rows| !rows.is_empty());
    free
}

/// Returns the first line from which on all lines down to the last fit, as `fits` says of each; the
/// last one if not even that fits. Of thousands of lines, it asks for a few.
///
/// # Errors
/// The error of `fits`.
pub fn first_of_end<E>(last: usize, fits: impl Fn(usize) -> Result<bool, E>) -> Result<usize, E> {
    let (mut fitting, mut step) = (last, 1);
    while fitting > step && fits(fitting - step)? {
        fitting -= step;
        step *= 2;
    }
    // There is no line 0.
    let mut too_many = fitting.saturating_sub(step);
    while fitting - too_many > 1 {
        let middle = too_many + (fitting - too_many) / 2;
        match fits(middle)? {
            true => fitting = middle,
            false => too_many = middle,
        }
    }
    Ok(fitting)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn area(rows: Range<i64>) -> Area {
        let columns = 0..10;
        Area { rows, columns }
    }

    fn check(blocked: &[(i64, i64)], wanted: i64, want: Range<i64>) {
        let blocked: Vec<Area> = blocked
            .iter()
            .map(|&(start, end)| area(start..end))
            .collect();
        assert_eq!(rows(&area(0..20), &blocked, wanted, 4), want);
    }

    #[test]
    fn a_window_is_at_the_bottom_and_gives_way() {
        check(&[], 8, 12..20);
        check(&[], 30, 0..20);
        check(&[(3, 4)], 8, 12..20);
        // The cursor's line would be below the window.
        check(&[(15, 16)], 8, 7..15);
        check(&[(15, 16)], 18, 0..15);
        check(&[(17, 20), (3, 4)], 8, 9..17);
        // There is no room without covering the last area.
        check(&[(17, 20), (3, 4), (7, 9), (13, 14)], 12, 9..13);
        check(&[(17, 20), (2, 4), (6, 8), (11, 14)], 12, 8..17);
        check(&[(0, 20)], 8, 12..20);
    }

    #[test]
    fn other_columns_block_nothing() {
        let other = Area {
            rows: 0..20,
            columns: 10..20,
        };
        assert_eq!(rows(&area(0..20), &[other], 5, 5), 15..20);
    }

    proptest! {
        #[test]
        fn nothing_blocked_is_covered_while_there_is_room(
            blocked in prop::collection::vec((0..40i64, 1..4i64), 0..4),
            wanted in 1..30i64,
            least in 1..8i64,
        ) {
            let least = least.min(wanted);
            let blocked: Vec<Area> =
                blocked.into_iter().map(|(at, len)| area(at..at + len)).collect();
            let screen = area(0..40);
            let taken = area(rows(&screen, &blocked, wanted, least));
            prop_assert!(taken.rows.start >= 0 && taken.rows.end <= 40);
            prop_assert!(taken.rows.end - taken.rows.start >= least);
            let has_room =
                free(&screen, &blocked).iter().any(|rows| rows.end - rows.start >= least);
            let covers = blocked.iter().any(|other| taken.meets(other));
            prop_assert!(!has_room || !covers);
        }
    }

    #[test]
    fn the_first_line_of_the_end_is_found_for_any_number_of_lines() {
        for last in 1..70 {
            for first in 1..=last {
                let found = first_of_end(last, |line| Ok::<_, ()>(line >= first));
                assert_eq!(found, Ok(first), "of {last}");
            }
        }
        assert_eq!(first_of_end(9, |_| Ok::<_, ()>(false)), Ok(9));
        assert_eq!(first_of_end(9, |_| Err(())), Err::<usize, _>(()));
    }
}
