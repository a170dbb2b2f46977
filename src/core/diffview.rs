//! Diffs as lines to read: in the permission window and under tool calls.

use super::ledger::{Hunk, hunks, words};
use super::text::Text;
use super::view::{Group, Line, Span};

/// Unchanged lines shown around a hunk.
const CONTEXT: usize = 3;

/// Returns the diff of two texts: hunks with a few lines around them, changed words marked.
pub fn diff_lines(old: &str, new: &str) -> Vec<Line> {
    let (old, new) = (Text::from_text(old), Text::from_text(new));
    let mut lines = Vec::new();
    let mut shown = 0;
    let hunks = hunks(&old, &new);
    for (index, hunk) in hunks.iter().enumerate() {
        let start = hunk.old.start.saturating_sub(CONTEXT).max(shown);
        if start > shown {
            lines.push(whole("  ⋯".into(), "AcpDim"));
        }
        lines.extend(context(&old, start..hunk.old.start));
        lines.extend(hunk_lines(&old, &new, hunk));
        let next = hunks
            .get(index + 1)
            .map_or(old.len(), |hunk| hunk.old.start);
        shown = (hunk.old.end + CONTEXT).min(next);
        lines.extend(context(&old, hunk.old.end..shown));
    }
    if shown < old.len() && !hunks.is_empty() {
        lines.push(whole("  ⋯".into(), "AcpDim"));
    }
    lines
}

/// Returns a line that is all of one group.
pub fn whole(text: String, group: Group) -> Line {
    let end = u32::try_from(text.len()).unwrap_or(u32::MAX);
    let spans = vec![Span {
        start: 0,
        end,
        group,
    }];
    Line { text, spans }
}

fn context(text: &Text, rows: std::ops::Range<usize>) -> impl Iterator<Item = Line> + '_ {
    text.lines(rows).map(|line| Line {
        text: format!("  {line}"),
        spans: Vec::new(),
    })
}

fn hunk_lines(old: &Text, new: &Text, hunk: &Hunk) -> Vec<Line> {
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
    changed: &[(usize, std::ops::Range<u32>)],
) -> Vec<Line> {
    let mut out: Vec<Line> = lines
        .iter()
        .map(|line| whole(format!("{sign}{line}"), group))
        .collect();
    for (row, range) in changed {
        if let Some(line) = out.get_mut(*row) {
            line.spans.push(Span {
                start: range.start + 2,
                end: range.end + 2,
                group: word,
            });
        }
    }
    out
}
