//! The alignment of two sequences of tokens: what stays, and what is changed between.
//!
//! Invariant: the changes are non-empty, sorted, never adjacent, and all outside them is the
//! same in both sequences. No clock: what takes too long is cut off by counted steps, so the
//! same input always gives the same changes.

use std::ops::Range;

/// Ranges of the old and the new sequence that differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub old: Range<usize>,
    pub new: Range<usize>,
}

/// How often a region may be split at tokens that occur once.
const DEPTH: usize = 48;

/// How many insertions and deletions [`shortest`] looks for before it gives up.
const COST: usize = 1000;

/// Returns the changes that turn `old` into `new`.
///
/// Tokens that occur once in both anchor the alignment (patience diff), so that a moved brace
/// or blank line does not; what lies between anchors is aligned with the fewest changes
/// (Myers), or counts as changed altogether where that would take too long.
pub(super) fn changes(old: &[u32], new: &[u32]) -> Vec<Change> {
    let kinds = old.iter().chain(new).max().map_or(0, |&t| t as usize + 1);
    let mut search = Search {
        old,
        new,
        seen: vec![Seen::default(); kinds],
        found: Vec::new(),
    };
    search.region(0..old.len(), 0..new.len(), DEPTH);
    let found = search.found;
    let cost: usize = found.iter().map(|c| c.old.len() + c.new.len()).sum();
    fewest(old, new, cost / 2).unwrap_or(found)
}

/// Returns the changes with the fewest tokens, if they come to `most` at most.
///
/// Anchors that changed places can cost far more than they are worth.
fn fewest(old: &[u32], new: &[u32], most: usize) -> Option<Vec<Change>> {
    let same =
        |pairs: &mut dyn Iterator<Item = (&u32, &u32)>| pairs.take_while(|(a, b)| a == b).count();
    let above = same(&mut old.iter().zip(new));
    let room = old.len().min(new.len()) - above;
    let below = same(&mut old.iter().rev().zip(new.iter().rev()).take(room));
    let (old_end, new_end) = (old.len() - below, new.len() - below);
    let (a, b) = (old.get(above..old_end)?, new.get(above..new_end)?);
    let pairs = shortest(a, b, most.min(COST))?;
    let mut found = Vec::new();
    let (mut i, mut j) = (above, above);
    for (x, y) in pairs {
        push(&mut found, i..above + x, j..above + y);
        (i, j) = (above + x + 1, above + y + 1);
    }
    push(&mut found, i..old_end, j..new_end);
    Some(found)
}

/// Adds a change, joined to the last one where they touch.
fn push(found: &mut Vec<Change>, old: Range<usize>, new: Range<usize>) {
    if old.is_empty() && new.is_empty() {
        return;
    }
    match found.last_mut() {
        Some(last) if last.old.end == old.start && last.new.end == new.start => {
            last.old.end = old.end;
            last.new.end = new.end;
        }
        _ => found.push(Change { old, new }),
    }
}

/// How often a token occurs in the region at hand, and where last.
#[derive(Clone, Copy, Default)]
struct Seen {
    old: u32,
    new: u32,
    old_at: usize,
}

struct Search<'a> {
    old: &'a [u32],
    new: &'a [u32],
    /// By token; all zero between two calls of `count`.
    seen: Vec<Seen>,
    found: Vec<Change>,
}

// Indexing in this file: positions come from ranges within the sequences, and `seen` has a
// place for every token of both.
impl Search<'_> {
    fn region(&mut self, mut old: Range<usize>, mut new: Range<usize>, depth: usize) {
        while !old.is_empty() && !new.is_empty() && self.old[old.start] == self.new[new.start] {
            old.start += 1;
            new.start += 1;
        }
        while !old.is_empty() && !new.is_empty() && self.old[old.end - 1] == self.new[new.end - 1] {
            old.end -= 1;
            new.end -= 1;
        }
        if old.is_empty() || new.is_empty() {
            return push(&mut self.found, old, new);
        }
        let (anchors, old_rest, new_rest) = self.count(&old, &new);
        let pairs = if anchors.is_empty() || depth == 0 {
            let tokens = |rest: &[usize], of: &[u32]| rest.iter().map(|&at| of[at]).collect();
            let a: Vec<u32> = tokens(&old_rest, self.old);
            let b: Vec<u32> = tokens(&new_rest, self.new);
            let pairs = shortest(&a, &b, COST).unwrap_or_default().into_iter();
            pairs.map(|(i, j)| (old_rest[i], new_rest[j])).collect()
        } else {
            anchors
        };
        if pairs.is_empty() {
            return push(&mut self.found, old, new);
        }
        let deeper = depth.saturating_sub(1);
        for (i, j) in pairs {
            self.between(old.start..i, new.start..j, deeper);
            (old.start, new.start) = (i + 1, j + 1);
        }
        self.between(old, new, deeper);
    }

    /// Goes on between two anchors; at the bottom, what lies between is changed.
    fn between(&mut self, old: Range<usize>, new: Range<usize>, depth: usize) {
        if depth == 0 {
            push(&mut self.found, old, new);
        } else {
            self.region(old, new, depth);
        }
    }

    /// Returns the anchors of a region, and the positions of tokens that occur on both sides.
    fn count(
        &mut self,
        old: &Range<usize>,
        new: &Range<usize>,
    ) -> (Vec<(usize, usize)>, Vec<usize>, Vec<usize>) {
        for at in old.clone() {
            let seen = &mut self.seen[self.old[at] as usize];
            seen.old += 1;
            seen.old_at = at;
        }
        for at in new.clone() {
            self.seen[self.new[at] as usize].new += 1;
        }
        let seen = |tokens: &[u32], at: usize| self.seen[tokens[at] as usize];
        let old_rest = old.clone().filter(|&at| seen(self.old, at).new > 0);
        let old_rest: Vec<usize> = old_rest.collect();
        let new_rest = new.clone().filter(|&at| seen(self.new, at).old > 0);
        let new_rest: Vec<usize> = new_rest.collect();
        let once = new_rest.iter().filter_map(|&at| {
            let seen = seen(self.new, at);
            (seen.old == 1 && seen.new == 1).then_some((seen.old_at, at))
        });
        let anchors = rising(&once.collect::<Vec<_>>());
        for at in old.clone() {
            self.seen[self.old[at] as usize] = Seen::default();
        }
        for at in new.clone() {
            self.seen[self.new[at] as usize] = Seen::default();
        }
        (anchors, old_rest, new_rest)
    }
}

/// Returns the longest part of `pairs` whose first members rise too; the second ones do.
fn rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // tails[n]: the pair with the smallest first member that ends a chain of n + 1.
    let mut tails: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, pair) in pairs.iter().enumerate() {
        let place = tails.partition_point(|&tail| pairs[tail].0 < pair.0);
        before.push(place.checked_sub(1).map(|n| tails[n]));
        if place == tails.len() {
            tails.push(at);
        } else {
            tails[place] = at;
        }
    }
    let mut chain = Vec::with_capacity(tails.len());
    let mut next = tails.last().copied();
    while let Some(at) = next {
        chain.push(pairs[at]);
        next = before[at];
    }
    chain.reverse();
    chain
}

/// Returns the pairs of a longest common subsequence (Myers' greedy search), or `None` where
/// more than `most` tokens differ.
fn shortest(old: &[u32], new: &[u32], most: usize) -> Option<Vec<(usize, usize)>> {
    let most = (old.len() + new.len()).min(most);
    // The furthest old position on diagonal k (old - new) is at index k + most + 1.
    let place = |k: isize| (k + most as isize + 1) as usize;
    let mut furthest = vec![0usize; 2 * most + 3];
    let mut trace: Vec<Vec<usize>> = Vec::new();
    for cost in 0..=most as isize {
        let span = place(-cost - 1)..place(cost + 1) + 1;
        trace.push(furthest[span].to_vec());
        for k in (-cost..=cost).step_by(2) {
            let (down, right) = (furthest[place(k + 1)], furthest[place(k - 1)]);
            let mut x = if k == -cost || (k != cost && right < down) {
                down
            } else {
                right + 1
            };
            let mut y = (x as isize - k) as usize;
            while x < old.len() && y < new.len() && old[x] == new[y] {
                x += 1;
                y += 1;
            }
            furthest[place(k)] = x;
            if x >= old.len() && y >= new.len() {
                return Some(backtrack(&trace, old.len(), new.len()));
            }
        }
    }
    None
}

/// Walks back through the furthest positions of each cost, collecting the common tokens.
fn backtrack(trace: &[Vec<usize>], mut x: usize, mut y: usize) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for (cost, furthest) in trace.iter().enumerate().rev() {
        let cost = cost as isize;
        let k = x as isize - y as isize;
        // The slice of this cost starts at diagonal -cost - 1.
        let at = |k: isize| furthest[(k + cost + 1) as usize];
        let down = k == -cost || (k != cost && at(k - 1) < at(k + 1));
        let (from_k, from_x) = if cost == 0 {
            (0, 0)
        } else if down {
            (k + 1, at(k + 1))
        } else {
            (k - 1, at(k - 1))
        };
        let from_y = (from_x as isize - from_k) as usize;
        let (start_x, start_y) = match (cost, down) {
            (0, _) => (0, 0),
            (_, true) => (from_x, from_y + 1),
            (_, false) => (from_x + 1, from_y),
        };
        while x > start_x && y > start_y {
            x -= 1;
            y -= 1;
            pairs.push((x, y));
        }
        (x, y) = (from_x, from_y);
    }
    pairs.reverse();
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &str, new: &str, want: &[(Range<usize>, Range<usize>)]) {
        let tokens = |text: &str| text.chars().map(u32::from).collect::<Vec<_>>();
        let found = changes(&tokens(old), &tokens(new));
        let found: Vec<_> = found.into_iter().map(|c| (c.old, c.new)).collect();
        assert_eq!(found, want, "{old} -> {new}");
    }

    #[test]
    fn what_stays_is_found() {
        check("", "", &[]);
        check("abc", "abc", &[]);
        check("abc", "", &[(0..3, 0..0)]);
        check("", "abc", &[(0..0, 0..3)]);
        check("abc", "axc", &[(1..2, 1..2)]);
        check("abcd", "bd", &[(0..1, 0..0), (2..3, 1..1)]);
        check("abc", "xyz", &[(0..3, 0..3)]);
        // No token occurs once: the fewest changes.
        check("abab", "baba", &[(0..1, 0..0), (4..4, 3..4)]);
        check("aabb", "bbaa", &[(0..2, 0..0), (4..4, 2..4)]);
    }

    #[test]
    fn tokens_that_occur_once_hold_the_rest_in_place() {
        // The fewest changes alone would tear the function "f{..}" apart at its braces.
        check("g{.}", "f{.}g{.}", &[(0..0, 0..4)]);
        check("a..b..c", "c..b..a", &[(0..1, 0..1), (6..7, 6..7)]);
    }

    #[test]
    fn what_takes_too_long_counts_as_changed() {
        // Two tokens only, in an order that has nothing to do with each other.
        let noise = |mut seed: u32, len: usize| -> Vec<u32> {
            let next = |_| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                seed >> 31
            };
            (0..len).map(next).collect()
        };
        let (old, new) = (noise(1, 20_000), noise(2, 20_000));
        let found = changes(&old, &new);
        let mut built = Vec::new();
        let mut row = 0;
        for change in &found {
            built.extend_from_slice(&old[row..change.old.start]);
            built.extend_from_slice(&new[change.new.clone()]);
            row = change.old.end;
        }
        built.extend_from_slice(&old[row..]);
        assert!(built == new);
        assert_eq!(found.len(), 1);
    }
}
