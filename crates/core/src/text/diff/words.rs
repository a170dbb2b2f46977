//! The changed words inside changed lines.
//!
//! Invariant: ranges lie on character boundaries, are sorted and non-empty. A line without
//! ranges has changed as a whole (or is too long, or has too little in common with any other).

use std::ops::Range;

use super::changes_of;

/// Lines longer than this many bytes are not compared word by word.
const LINE: usize = 1000;

/// Hunks with more pairs of lines than this are paired from the top down.
const PAIRS: usize = 400;

/// Changed ranges: the line's index within the hunk, and bytes of that line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WordDiff {
    pub old: Vec<(usize, Range<u32>)>,
    pub new: Vec<(usize, Range<u32>)>,
}

/// Returns the changed words of a hunk's removed and added lines.
///
/// Lines are paired in order, for the greatest total similarity; only pairs with at least two
/// fifths of their text in common count.
pub fn words(old: &[&str], new: &[&str]) -> WordDiff {
    let mut found = WordDiff::default();
    for (old_line, new_line) in pairs(old, new) {
        let (Some(a), Some(b)) = (old.get(old_line), new.get(new_line)) else {
            continue;
        };
        let (a_ranges, b_ranges) = changed(a, b);
        let of = |line, ranges: Vec<Range<u32>>| ranges.into_iter().map(move |range| (line, range));
        found.old.extend(of(old_line, a_ranges));
        found.new.extend(of(new_line, b_ranges));
    }
    found
}

/// Returns the pairs of an old line and its new version, ascending on both sides.
fn pairs(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    if old.len() * new.len() > PAIRS {
        let lines = old.iter().zip(new).enumerate();
        let alike = lines.filter(|(_, (a, b))| likeness(a, b) > 0);
        return alike.map(|(at, _)| (at, at)).collect();
    }
    // best[i][j]: the greatest total similarity of old lines from i and new lines from j.
    // Indexing: both tables have a place for every i ≤ old.len() and j ≤ new.len().
    let alike: Vec<Vec<u64>> = old
        .iter()
        .map(|a| new.iter().map(|b| likeness(a, b)).collect())
        .collect();
    let mut best = vec![vec![0u64; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            let paired = match alike[i][j] {
                0 => 0,
                n => n + best[i + 1][j + 1],
            };
            best[i][j] = paired.max(best[i + 1][j]).max(best[i][j + 1]);
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::new();
    while i < old.len() && j < new.len() {
        if alike[i][j] > 0 && best[i][j] == alike[i][j] + best[i + 1][j + 1] {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if best[i][j] == best[i + 1][j] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

/// Returns the similarity of two lines, in thousandths of their text without white space; 0 if it
/// is below two fifths.
fn likeness(old: &str, new: &str) -> u64 {
    if old.len().max(new.len()) > LINE {
        return 0;
    }
    let solid = |text: &str| text.bytes().filter(|b| !b.is_ascii_whitespace()).count();
    let whole = (solid(old) + solid(new)) as u64;
    let (old_ranges, new_ranges) = changed(old, new);
    let gone = |text: &str, ranges: &[Range<u32>]| {
        let parts = ranges.iter().filter_map(|r| text.get(usizes(r)));
        parts.map(solid).sum::<usize>() as u64
    };
    let changed = gone(old, &old_ranges) + gone(new, &new_ranges);
    let same = whole.saturating_sub(changed);
    if whole == 0 || same * 5 < whole * 2 {
        0
    } else {
        same * 1000 / whole
    }
}

/// Returns the changed bytes of two lines; ranges separated only by white space are joined.
fn changed(old: &str, new: &str) -> (Vec<Range<u32>>, Vec<Range<u32>>) {
    let (a, b) = (tokens(old), tokens(new));
    let changes = changes_of(
        a.iter().map(|token| old.get(usizes(token))),
        b.iter().map(|token| new.get(usizes(token))),
    );
    let mut old_ranges = Vec::new();
    let mut new_ranges = Vec::new();
    for change in changes {
        push(&mut old_ranges, &a, change.old, old);
        push(&mut new_ranges, &b, change.new, new);
    }
    (old_ranges, new_ranges)
}

/// Adds the byte range of some tokens.
fn push(ranges: &mut Vec<Range<u32>>, tokens: &[Range<u32>], which: Range<usize>, line: &str) {
    let part = tokens.get(which).unwrap_or_default();
    let (Some(first), Some(last)) = (part.first(), part.last()) else {
        return;
    };
    let range = first.start..last.end;
    if let Some(before) = ranges.last_mut()
        && let Some(between) = line.get(usizes(&(before.end..range.start)))
        && between.trim().is_empty()
    {
        before.end = range.end;
    } else {
        ranges.push(range);
    }
}

/// Returns the words, runs of white space and single other characters of a line.
fn tokens(line: &str) -> Vec<Range<u32>> {
    #[derive(PartialEq, Clone, Copy)]
    enum Kind {
        Word,
        Space,
        Other,
    }
    let kind = |c: char| {
        if c.is_alphanumeric() || c == '_' {
            Kind::Word
        } else if c.is_whitespace() {
            Kind::Space
        } else {
            Kind::Other
        }
    };
    let mut tokens: Vec<Range<u32>> = Vec::new();
    let mut before = Kind::Other;
    let ends = line
        .char_indices()
        .map(|(at, c)| (at as u32, (at + c.len_utf8()) as u32, kind(c)));
    for (start, end, kind) in ends {
        match tokens.last_mut() {
            Some(last) if kind == before && kind != Kind::Other => last.end = end,
            _ => tokens.push(start..end),
        }
        before = kind;
    }
    tokens
}

fn usizes(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the changed words of lines, marked with brackets.
    #[track_caller]
    fn check(old: &[&str], new: &[&str], want_old: &[&str], want_new: &[&str]) {
        let marked = |lines: &[&str], ranges: &[(usize, Range<u32>)]| -> Vec<String> {
            let mut lines: Vec<String> = lines.iter().map(|line| line.to_string()).collect();
            for (line, range) in ranges.iter().rev() {
                lines[*line].insert(range.end as usize, ']');
                lines[*line].insert(range.start as usize, '[');
            }
            lines
        };
        let found = words(old, new);
        assert_eq!(marked(old, &found.old), want_old);
        assert_eq!(marked(new, &found.new), want_new);
    }

    #[test]
    fn changed_words_are_marked() {
        check(
            &["let x = foo(1);"],
            &["let x = bar(1, 2);"],
            &["let x = [foo](1);"],
            &["let x = [bar](1[, 2]);"],
        );
        check(
            &["grüße an alle"],
            &["grüsse an alle"],
            &["[grüße] an alle"],
            &["[grüsse] an alle"],
        );
        check(
            &["a_b c d e f"],
            &["a_b x y e f"],
            &["a_b [c d] e f"],
            &["a_b [x y] e f"],
        );
        check(
            &["  same line"],
            &["    same line"],
            &["[  ]same line"],
            &["[    ]same line"],
        );
    }

    #[test]
    fn lines_are_paired_with_those_they_came_from() {
        check(
            &["call(one);", "call(two);"],
            &["brand new text here", "call(one, more);", "call(two);"],
            &["call(one);", "call(two);"],
            &["brand new text here", "call(one[, more]);", "call(two);"],
        );
    }

    #[test]
    fn lines_with_little_in_common_have_no_words() {
        check(
            &["alpha beta"],
            &["gamma(delta)"],
            &["alpha beta"],
            &["gamma(delta)"],
        );
        check(&[""], &["x"], &[""], &["x"]);
        check(&["a"], &[], &["a"], &[]);
        let long = "word ".repeat(400);
        let other = format!("{long}more");
        check(&[&long], &[&other], &[&long], &[&other]);
    }

    #[test]
    fn long_hunks_are_paired_line_by_line() {
        let old: Vec<String> = (0..40).map(|n| format!("value {n} is old here")).collect();
        let new: Vec<String> = (0..40).map(|n| format!("value {n} is new here")).collect();
        let (old, new): (Vec<&str>, Vec<&str>) = (
            old.iter().map(String::as_str).collect(),
            new.iter().map(String::as_str).collect(),
        );
        let found = words(&old, &new);
        assert_eq!(found.old.len(), 40);
        assert_eq!(found.new.len(), 40);
    }
}
