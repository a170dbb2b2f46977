//! The alignment of two sequences of tokens by `similar`: the tokens that stay, and the changes
//! between them.
//!
//! Invariant: the changes are non-empty, sorted and never adjacent, and all tokens outside them are
//! the same in both sequences. Counts bound the work, not a clock, so the same input always gives
//! the same changes.

use std::convert::Infallible;
use std::ops::Range;

use similar::Algorithm;
use similar::algorithms::{self, DiffHook};

/// Ranges of the old and the new sequence that differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    pub old: Range<usize>,
    pub new: Range<usize>,
}

impl Change {
    /// Returns the change moved down by this many tokens on each side (up, if negative).
    pub fn moved(&self, old: isize, new: isize) -> Self {
        let moved = |rows: &Range<usize>, by| {
            rows.start.saturating_add_signed(by)..rows.end.saturating_add_signed(by)
        };
        Self {
            old: moved(&self.old, old),
            new: moved(&self.new, new),
        }
    }
}

/// The maximum size of a region for the histogram algorithm. Its time can grow with the square of
/// the size: the worst region of 8,192 takes 45 times as long per token as the worst of 256.
const SMALL: usize = 256;

/// The maximum depth of cuts at tokens that occur once.
const CUTS: usize = 4;

/// The maximum number of anchors in a region; with more matches, Hunt's algorithm gives way to a
/// slower one.
const ANCHORS: usize = 1_000_000;

/// The number of tokens of each side that Myers' algorithm aligns at a time. The worst window takes
/// less time per token than the worst small region.
const WINDOW: usize = 2048;

/// An equal run of at least this many tokens is final, regardless of the tokens after the window.
const CERTAIN: usize = 16;

/// Returns the changes that turn `old` into `new`.
///
/// A small region is aligned by the histogram algorithm. A larger one is first cut at tokens that
/// occur once on each side. Parts that are still large have few such tokens and are aligned window
/// by window (Myers), until a window has too little in common. The rest counts as changed.
pub(crate) fn changes(old: &[u32], new: &[u32]) -> Vec<Change> {
    let kinds = old.iter().chain(new).max().map_or(0, |&t| t as usize + 1);
    let mut alignment = Alignment {
        old,
        new,
        counts: vec![(0, 0); kinds],
        runs: Runs::default(),
    };
    alignment.region(0..old.len(), 0..new.len(), CUTS);
    alignment.runs.gaps(old.len(), new.len())
}

/// Tokens that are the same in both sequences.
#[derive(Debug, Clone, Copy)]
struct Run {
    old: usize,
    new: usize,
    len: usize,
}

impl Run {
    fn old_end(&self) -> usize {
        self.old + self.len
    }

    fn new_end(&self) -> usize {
        self.new + self.len
    }
}

/// Equal runs, from the top down.
#[derive(Default)]
struct Runs(Vec<Run>);

impl Runs {
    /// Adds a run, joined to the last one if they touch.
    fn add(&mut self, old: usize, new: usize, len: usize) {
        match self.0.last_mut() {
            Some(last) if (last.old_end(), last.new_end()) == (old, new) => {
                last.len += len;
            }
            _ => self.0.push(Run { old, new, len }),
        }
    }

    /// Returns the gaps between the runs, in sequences of these lengths.
    fn gaps(&self, old: usize, new: usize) -> Vec<Change> {
        let mut gaps = Vec::new();
        let (mut i, mut j) = (0, 0);
        for run in self.0.iter().chain([&Run { old, new, len: 0 }]) {
            if (i, j) != (run.old, run.new) {
                gaps.push(Change {
                    old: i..run.old,
                    new: j..run.new,
                });
            }
            (i, j) = (run.old_end(), run.new_end());
        }
        gaps
    }
}

impl DiffHook for Runs {
    type Error = Infallible;

    fn equal(&mut self, old: usize, new: usize, len: usize) -> Result<(), Infallible> {
        self.add(old, new, len);
        Ok(())
    }
}

struct Alignment<'a> {
    old: &'a [u32],
    new: &'a [u32],
    /// Occurrences on each side, by token; all zero between calls of `anchors`.
    counts: Vec<(u32, u32)>,
    runs: Runs,
}

// Indexing in this file: positions come from ranges within the sequences, and `counts` has a
// place for every token of both.
impl Alignment<'_> {
    /// Aligns a region without its common ends.
    fn region(&mut self, mut old: Range<usize>, mut new: Range<usize>, cuts: usize) {
        let (a, b) = (&self.old[old.clone()], &self.new[new.clone()]);
        let above = same(a.iter(), b.iter());
        let below = same(a[above..].iter().rev(), b[above..].iter().rev());
        if above > 0 {
            self.runs.add(old.start, new.start, above);
        }
        (old.start, new.start) = (old.start + above, new.start + above);
        (old.end, new.end) = (old.end - below, new.end - below);
        if !old.is_empty() && !new.is_empty() {
            self.middle(&old, &new, cuts);
        }
        if below > 0 {
            self.runs.add(old.end, new.end, below);
        }
    }

    fn middle(&mut self, old: &Range<usize>, new: &Range<usize>, cuts: usize) {
        if old.len() + new.len() <= SMALL {
            let found = self.run(Algorithm::Histogram, old.clone(), new.clone());
            return self.runs.0.extend(found);
        }
        let anchors = match cuts {
            0 => Vec::new(),
            _ => self.anchors(old, new),
        };
        if anchors.is_empty() {
            return self.windows(old.clone(), new.clone());
        }
        let (mut i, mut j) = (old.start, new.start);
        for (x, y) in anchors {
            self.region(i..x, j..y, cuts - 1);
            self.runs.add(x, y, 1);
            (i, j) = (x + 1, y + 1);
        }
        self.region(i..old.end, j..new.end, cuts - 1);
    }

    /// Returns the longest chain of tokens that occur once on each side of a region.
    fn anchors(&mut self, old: &Range<usize>, new: &Range<usize>) -> Vec<(usize, usize)> {
        let (a, b) = (&self.old[old.clone()], &self.new[new.clone()]);
        a.iter().for_each(|&t| self.counts[t as usize].0 += 1);
        b.iter().for_each(|&t| self.counts[t as usize].1 += 1);
        let is_once = |&(_, t): &(usize, &u32)| self.counts[*t as usize] == (1, 1);
        let once = |side: &[u32]| -> (Vec<usize>, Vec<u32>) {
            let once = side.iter().enumerate().filter(is_once).take(ANCHORS);
            once.map(|(at, &token)| (at, token)).unzip()
        };
        let ((old_at, a_once), (new_at, b_once)) = (once(a), once(b));
        let all = a.iter().chain(b);
        all.for_each(|&t| self.counts[t as usize] = (0, 0));
        let mut chain = Runs::default();
        let Ok(()) = algorithms::diff_slices(Algorithm::Hunt, &mut chain, &a_once, &b_once);
        let pairs = chain.0.iter().flat_map(|run| {
            let olds = &old_at[run.old..run.old + run.len];
            olds.iter().zip(&new_at[run.new..run.new + run.len])
        });
        let pairs = pairs.map(|(x, y)| (old.start + x, new.start + y));
        pairs.collect()
    }

    /// Aligns a long region window by window, as long as windows have a long run in common.
    fn windows(&mut self, mut old: Range<usize>, mut new: Range<usize>) {
        let window = |rows: &Range<usize>| rows.start..rows.end.min(rows.start + WINDOW);
        while old.len().max(new.len()) > WINDOW {
            let found = self.run(Algorithm::Myers, window(&old), window(&new));
            // Below the last long run, the alignment depends on where the window ends. A run in the
            // upper half would gain too little for the time of a window.
            let is_certain = |run: &Run| {
                let passed = (run.old - old.start).min(run.new - new.start) + run.len;
                run.len >= CERTAIN && passed >= WINDOW / 2
            };
            let Some(last) = found.iter().rposition(is_certain) else {
                return;
            };
            self.runs.0.extend_from_slice(&found[..=last]);
            (old.start, new.start) = (found[last].old_end(), found[last].new_end());
        }
        let found = self.run(Algorithm::Myers, old, new);
        self.runs.0.extend(found);
    }

    fn run(&self, algorithm: Algorithm, old: Range<usize>, new: Range<usize>) -> Vec<Run> {
        let mut runs = Runs::default();
        let Ok(()) = algorithms::diff(algorithm, &mut runs, self.old, old, self.new, new);
        runs.0
    }
}

/// Returns how many tokens at the start are the same.
fn same<'a>(a: impl Iterator<Item = &'a u32>, b: impl Iterator<Item = &'a u32>) -> usize {
    a.zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &str, new: &str, want: &[(Range<usize>, Range<usize>)]) {
        let tokens = |text: &str| text.chars().map(u32::from).collect::<Vec<_>>();
        assert_eq!(ranges(&tokens(old), &tokens(new)), want, "{old} -> {new}");
    }

    /// Returns the changes between two sequences, after checking the invariant.
    #[track_caller]
    fn ranges(old: &[u32], new: &[u32]) -> Vec<(Range<usize>, Range<usize>)> {
        let found = changes(old, new);
        let mut built = Vec::new();
        let mut above = 0;
        for change in &found {
            assert!(!change.old.is_empty() || !change.new.is_empty());
            assert!(above == 0 || above < change.old.start);
            built.extend_from_slice(&old[above..change.old.start]);
            built.extend_from_slice(&new[change.new.clone()]);
            above = change.old.end;
        }
        built.extend_from_slice(&old[above..]);
        assert!(built == new);
        found.into_iter().map(|c| (c.old, c.new)).collect()
    }

    /// Returns `len` pseudo-random tokens of this many kinds.
    fn noise(mut seed: u32, kinds: u32, len: usize) -> Vec<u32> {
        let next = |_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) % kinds
        };
        (0..len).map(next).collect()
    }

    #[test]
    fn equal_tokens_are_no_part_of_a_change() {
        check("", "", &[]);
        check("abc", "abc", &[]);
        check("abc", "", &[(0..3, 0..0)]);
        check("", "abc", &[(0..0, 0..3)]);
        check("abc", "axc", &[(1..2, 1..2)]);
        check("abcd", "bd", &[(0..1, 0..0), (2..3, 1..1)]);
        check("abc", "xyz", &[(0..3, 0..3)]);
        check("aabb", "bbaa", &[(0..0, 0..2), (2..4, 4..4)]);
    }

    #[test]
    fn tokens_that_occur_once_hold_the_rest_in_place() {
        // The fewest changes alone would split the function "f{..}" at its braces.
        check("g{.}", "f{.}g{.}", &[(0..0, 0..4)]);
        check("a..b..c", "c..b..a", &[(0..1, 0..1), (6..7, 6..7)]);
    }

    #[test]
    fn the_changes_lead_from_any_text_to_any_other() {
        for seed in 0..2000 {
            let kinds = 1 + seed % 5;
            let len = |by: u32| (seed / by % 40) as usize;
            ranges(&noise(seed, kinds, len(1)), &noise(!seed, kinds, len(7)));
        }
    }

    #[test]
    fn changes_of_a_long_text_are_found_whatever_its_lines() {
        for kinds in [2, 30, 3000, 1_000_000] {
            let old = noise(1, kinds, 20_000);
            let mut new = old.clone();
            new[12_345] = kinds;
            new.splice(7_000..7_010, noise(2, kinds, 20));
            new.splice(100..100, [kinds + 1, kinds + 2]);
            let found = ranges(&old, &new);
            assert_eq!(found.first(), Some(&(100..100, 100..102)), "{kinds}");
            assert_eq!(found.last(), Some(&(12_345..12_346, 12_357..12_358)));
            let changed = found.iter().map(|(old, new)| old.len() + new.len());
            assert!(changed.sum::<usize>() <= 34, "{found:?}");
        }
    }

    #[test]
    fn texts_with_too_little_in_common_are_changed_altogether() {
        for kinds in [30, 300, 3000] {
            let (old, new) = (noise(1, kinds, 20_000), noise(2, kinds, 20_000));
            assert_eq!(ranges(&old, &new).len(), 1, "{kinds}");
        }
    }
}
