//! Diffs as lines: in the permission window and under tool calls.

use std::ops::Range;

use crate::spine::view::{Group, Line, Span};
use crate::text::Text;
use crate::text::diff::{Hunk, hunks, words};

/// Number of unchanged lines shown around a hunk.
const CONTEXT: usize = 3;

/// Returns the diff of two texts: hunks with context, changed words marked.
pub fn diff_lines(old: &str, new: &str) -> Vec<Line> {
    let (old, new) = (Text::from_text(old), Text::from_text(new));
    hunks_lines(&old, &new, &hunks(&old, &new), usize::MAX)
}

/// Returns hunks of two texts with context, changed words marked; truncates them after `most`
/// lines.
pub fn hunks_lines(old: &Text, new: &Text, hunks: &[Hunk], most: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut shown = 0;
    for (index, hunk) in hunks.iter().enumerate() {
        let start = hunk.new.start.saturating_sub(CONTEXT).max(shown);
        if start > shown {
            lines.push(whole("  ⋯".into(), "AcpDim"));
        }
        lines.extend(context(new, start..hunk.new.start));
        lines.extend(hunk_lines(old, new, hunk));
        let next = hunks
            .get(index + 1)
            .map_or(new.len(), |hunk| hunk.new.start);
        shown = (hunk.new.end + CONTEXT).min(next);
        lines.extend(context(new, hunk.new.end..shown));
        if lines.len() > most {
            break;
        }
    }
    if shown < new.len() && !hunks.is_empty() {
        lines.push(whole("  ⋯".into(), "AcpDim"));
    }
    if lines.len() > most {
        lines.truncate(most);
        lines.push(whole("  ⋯ and more".into(), "AcpDim"));
    }
    lines
}

/// Returns a line highlighted as a whole.
pub fn whole(text: String, group: Group) -> Line {
    whole_with(text, group, [].into_iter())
}

/// Returns a line highlighted as a whole, with highlights in it.
pub fn whole_with(
    text: String,
    group: Group,
    inner: impl Iterator<Item = (Range<u32>, Group)>,
) -> Line {
    let end = u32::try_from(text.len()).unwrap_or(u32::MAX);
    let all = std::iter::once((0..end, group)).chain(inner);
    let spans = all.map(|(range, group)| Span {
        start: range.start,
        end: range.end,
        group,
    });
    let spans = spans.collect();
    Line::new(text, spans)
}

fn context(text: &Text, rows: Range<usize>) -> impl Iterator<Item = Line> + '_ {
    text.lines(rows)
        .map(|line| Line::plain(format!("  {line}")))
}

fn hunk_lines(old: &Text, new: &Text, hunk: &Hunk) -> Vec<Line> {
    if let Some(theirs) = &hunk.conflict {
        let ours = new.to_lines(hunk.new.clone());
        let mut lines = marked(&ours, "! ", "AcpConflict", "AcpConflict", &[]);
        lines.extend(marked(theirs, "+ ", "AcpAdd", "AcpAddWord", &[]));
        return lines;
    }
    let removed = old.to_lines(hunk.old.clone());
    let added = new.to_lines(hunk.new.clone());
    let changed = words(&refs(&removed), &refs(&added));
    let mut lines = marked(&removed, "- ", "AcpDelete", "AcpDeleteWord", &changed.old);
    lines.extend(marked(&added, "+ ", "AcpAdd", "AcpAddWord", &changed.new));
    lines
}

fn refs(lines: &[String]) -> Vec<&str> {
    lines.iter().map(String::as_str).collect()
}

fn marked(
    lines: &[String],
    sign: &str,
    group: Group,
    word: Group,
    changed: &[(usize, Range<u32>)],
) -> Vec<Line> {
    let words = |row: usize| changed.iter().filter(move |(of, _)| *of == row);
    let line = |(row, line): (usize, &String)| {
        let words = words(row).map(|(_, range)| (range.start + 2..range.end + 2, word));
        whole_with(format!("{sign}{line}"), group, words)
    };
    lines.iter().enumerate().map(line).collect()
}
