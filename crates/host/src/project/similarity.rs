//! Detects files that were moved and changed in one step, by the share of lines they have in
//! common.
//!
//! Invariant: each file is paired at most once, the most similar first; the work is bounded in any
//! project.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

use super::compare::Named;
use super::manifest::What;
use super::store::Store;

/// Minimum similarity in percent; the same threshold as Git's rename detection.
const LEAST: usize = 50;

/// Maximum number of files compared per side; more mean that a folder was replaced.
const MAX_FILES: usize = 64;

/// Maximum size of a compared file.
const MAX_BYTES: u64 = 512 << 10;

/// Minimum size: very short texts are similar by chance.
const MIN_BYTES: u64 = 24;

/// Returns pairs of a removed file and a new file that has most of its lines.
pub(super) fn pairs<'a>(
    gone: &[Named<'a>],
    new: &[Named<'_>],
    store: &Store,
) -> Vec<(PathBuf, &'a Path)> {
    let candidate = |named: &&Named| {
        let bytes = named.1.stat.bytes;
        matches!(named.1.what, What::Text(_)) && (MIN_BYTES..=MAX_BYTES).contains(&bytes)
    };
    let gone: Vec<&Named> = gone.iter().filter(candidate).collect();
    let new: Vec<&Named> = new.iter().filter(candidate).collect();
    if gone.is_empty() || new.is_empty() || gone.len().max(new.len()) > MAX_FILES {
        return Vec::new();
    }
    let hasher = RandomState::new();
    let read = |named: &[&Named]| -> Vec<Option<Lines>> {
        let texts = named.iter().map(|named| {
            let bytes = store.get(named.1.blob()?).ok()?;
            Some(Lines::of(&bytes, &hasher))
        });
        texts.collect()
    };
    let (old_lines, new_lines) = (read(&gone), read(&new));
    let mut scores = Vec::new();
    for (old, lines) in old_lines.iter().enumerate() {
        for (now, others) in new_lines.iter().enumerate() {
            if let (Some(lines), Some(others)) = (lines, others) {
                let score = lines.share(others);
                scores.extend((score >= LEAST).then_some((score, old, now)));
            }
        }
    }
    let named = |(old, now): (usize, usize)| {
        let (from, to) = (gone.get(old)?, new.get(now)?);
        Some((to.0.to_owned(), from.0))
    };
    best(scores).into_iter().filter_map(named).collect()
}

/// Returns the pairs with the highest scores, each side once; ambiguous pairs are left out.
fn best(mut scores: Vec<(usize, usize, usize)>) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    while let Some(&(most, ..)) = scores.iter().max() {
        let (top, rest): (Vec<_>, Vec<_>) = scores.into_iter().partition(|pair| pair.0 == most);
        let is_sole = |&&(_, old, now): &&(usize, usize, usize)| {
            let rivals = top.iter().filter(|pair| pair.1 == old || pair.2 == now);
            rivals.count() == 1
        };
        found.extend(top.iter().filter(is_sole).map(|&(_, old, now)| (old, now)));
        let olds: HashSet<usize> = top.iter().map(|pair| pair.1).collect();
        let news: HashSet<usize> = top.iter().map(|pair| pair.2).collect();
        scores = rest;
        scores.retain(|pair| !olds.contains(&pair.1) && !news.contains(&pair.2));
    }
    found
}

/// The lines of a text, by hash: number of occurrences and length in bytes.
struct Lines {
    counts: HashMap<u64, (usize, usize)>,
    bytes: usize,
}

impl Lines {
    fn of(text: &[u8], hasher: &RandomState) -> Self {
        let mut counts: HashMap<u64, (usize, usize)> = HashMap::new();
        for line in text.split_inclusive(|&byte| byte == b'\n') {
            let entry = counts.entry(hasher.hash_one(line)).or_default();
            *entry = (entry.0 + 1, line.len());
        }
        let bytes = text.len();
        Self { counts, bytes }
    }

    /// Returns the common lines as a percentage of the larger text.
    fn share(&self, other: &Self) -> usize {
        let common = self.counts.iter().map(|(line, (count, bytes))| {
            let others = other.counts.get(line).map_or(0, |(count, _)| *count);
            bytes * others.min(*count)
        });
        let common: usize = common.sum();
        100 * common / self.bytes.max(other.bytes).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(old: &str, new: &str, want: usize) {
        let hasher = RandomState::new();
        let of = |text: &str| Lines::of(text.as_bytes(), &hasher);
        assert_eq!(of(old).share(&of(new)), want);
        assert_eq!(of(new).share(&of(old)), want);
    }

    #[test]
    fn similarity_is_relative_to_the_larger_text() {
        check("a\nb\n", "a\nb\n", 100);
        check("a\nb\n", "b\na\n", 100);
        check("a\nb\n", "a\nc\n", 50);
        check("a\n", "a\nb\nc\nd\n", 25);
        check("a\na\n", "a\nb\n", 50);
        check("a\n", "b\n", 0);
        check("", "a\n", 0);
    }

    #[test]
    fn the_most_similar_files_are_paired_unless_ambiguous() {
        #[track_caller]
        fn check(scores: &[(usize, usize, usize)], want: &[(usize, usize)]) {
            assert_eq!(best(scores.to_vec()), want, "{scores:?}");
        }
        check(&[], &[]);
        check(&[(60, 0, 0), (90, 0, 1), (80, 1, 0)], &[(0, 1), (1, 0)]);
        check(&[(90, 0, 0), (90, 1, 1), (60, 0, 1)], &[(0, 0), (1, 1)]);
        check(&[(90, 0, 0), (90, 0, 1)], &[]);
        check(&[(90, 0, 0), (90, 1, 0), (60, 1, 1)], &[]);
    }
}
