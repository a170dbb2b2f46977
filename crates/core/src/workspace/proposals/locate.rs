//! Locates a diff in the present text and computes the resulting text.
//!
//! Invariant: the base is the present text, never the agent's version of it; a diff whose old text
//! is not found changes nothing.

use std::borrow::Cow;
use std::ops::Range;

use crate::text::diff::{Merge, diff, merge};
use crate::text::format::LineEnd;
use crate::text::{LineEdit, Text, moved};

/// A diff as an agent sent it: a whole file, a hunk with context lines, or a snippet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    /// If `None` or empty, `new` replaces the whole file.
    pub old: Option<String>,
    pub new: String,
    /// Every occurrence of `old` is replaced, not only one.
    pub everywhere: bool,
}

/// The text in which a diff is located.
#[derive(Debug, Clone, Copy)]
pub struct Ground<'a> {
    /// The text of the buffer, else of the disk.
    pub text: &'a Text,
    pub line_end: LineEnd,
    /// Earlier versions of `text` that the agent may have read: the saved text, and the text that
    /// the session read last.
    pub known: &'a [Text],
    /// The row reported for the diff, or found earlier.
    pub near: Option<usize>,
}

/// A located diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The resulting text.
    pub after: Text,
    /// The row at which the diff begins.
    pub row: usize,
    /// The number of places that the diff fits.
    pub places: usize,
    /// The file is deleted.
    pub deletes: bool,
}

/// The maximum number of places that are counted.
const MAX_PLACES: usize = 10_000;

/// The maximum number of indentations that are tried.
const MAX_INDENTS: usize = 32;

/// The `oldText` that an old version of an agent sends for a file it deletes.
const DELETED: &str = "[file deleted]";

/// Locates a diff; `None` if its old text is not found.
///
/// A snippet is matched against whole lines first, then against parts of lines, then with another
/// indentation. If the agent read
/// an earlier version of the text, its change is merged with the user's.
pub fn locate(diff: &Diff, ground: Ground<'_>) -> Option<Located> {
    let new = as_lines(&diff.new, ground.line_end);
    let old = diff.old.as_deref().unwrap_or_default();
    let old = as_lines(old, ground.line_end);
    if old.is_empty() {
        return Some(overwritten(ground, &new));
    }
    let found = find(&old, &new, diff, ground);
    if found.is_none() && diff.old.as_deref() == Some(DELETED) && diff.new.is_empty() {
        return Some(Located {
            after: Text::default(),
            row: 0,
            places: 1,
            deletes: true,
        });
    }
    found
}

fn find(old: &str, new: &str, diff: &Diff, ground: Ground<'_>) -> Option<Located> {
    if *ground.text == Text::from_text(old) {
        return Some(Located {
            after: Text::from_text(new),
            row: 0,
            places: 1,
            deletes: false,
        });
    }
    if let Some(found) = snippet(ground.text, old, new, diff.everywhere, ground.near) {
        return Some(found);
    }
    if let Some(found) = indented(ground, old, new, diff.everywhere) {
        return Some(found);
    }
    // The agent read an earlier version: its change is merged if the user's changes do not overlap
    // it.
    ground.known.iter().find_map(|known| {
        let found = match *known == Text::from_text(old) {
            true => Located {
                after: Text::from_text(new),
                row: 0,
                places: 1,
                deletes: false,
            },
            false => snippet(known, old, new, diff.everywhere, ground.near)?,
        };
        let Merge { edits, conflicts } = merge(known, ground.text, &found.after);
        if !conflicts.is_empty() {
            return None;
        }
        let mut after = ground.text.clone();
        after.apply_all(&edits);
        let row = moved(found.row, &self::diff(known, ground.text));
        Some(Located {
            after,
            row,
            ..found
        })
    })
}

/// Returns the result of replacing a whole text. The user's changes since the agent read it stay,
/// except where they conflict.
fn overwritten(ground: Ground<'_>, new: &str) -> Located {
    let new = Text::from_text(new);
    let after = match ground.known.first() {
        Some(known) if known != ground.text => {
            let Merge { edits, conflicts } = merge(known, ground.text, &new);
            let mut after = ground.text.clone();
            after.apply_all(&edits);
            // Conflicts show the agent's version; the user decides.
            let taken: Vec<LineEdit> = conflicts
                .into_iter()
                .map(|conflict| LineEdit {
                    start: conflict.rows.start,
                    removed: conflict.rows.len(),
                    lines: conflict.theirs,
                })
                .collect();
            after.apply_all(&taken);
            after
        }
        _ => new,
    };
    Located {
        after,
        row: 0,
        places: 1,
        deletes: false,
    }
}

/// Locates a snippet in a text and replaces it.
fn snippet(
    text: &Text,
    old: &str,
    new: &str,
    everywhere: bool,
    near: Option<usize>,
) -> Option<Located> {
    let whole = text.to_string();
    let mut places: Vec<usize> = match everywhere {
        true => whole.match_indices(old).map(|(at, _)| at).collect(),
        false => matches(&whole, old),
    };
    if !everywhere && places.iter().any(|at| is_lines(&whole, *at, old)) {
        places.retain(|at| is_lines(&whole, *at, old));
    }
    if old.bytes().all(|byte| byte == b'\n') {
        // A blank line matches only as a whole line, not as the end of another.
        places.retain(|at| is_lines(&whole, *at, old));
    }
    let row_of = |at: usize| {
        let above = whole.get(..at).unwrap_or_default();
        above.bytes().filter(|byte| *byte == b'\n').count()
    };
    let count = places.len();
    if !everywhere && count > 1 {
        let rows = rows_of(&whole, &places);
        let near = near.unwrap_or(0);
        let distance = |index: &usize| rows.get(*index).map(|row| row.abs_diff(near));
        let best = (0..count).min_by_key(distance)?;
        places = places.get(best).copied().into_iter().collect();
    }
    let first = *places.first()?;
    let mut after = String::with_capacity(whole.len() + new.len());
    let mut done = 0;
    for at in places {
        let rows = replaced(&whole, at, old, new);
        after.push_str(whole.get(done..at)?);
        after.push_str(rows.1);
        done = rows.0.end;
    }
    after.push_str(whole.get(done..)?);
    Some(Located {
        after: Text::from_text(&after),
        row: row_of(first),
        places: if everywhere { 1 } else { count },
        deletes: false,
    })
}

/// Locates a snippet that has lost its common indentation, and gives both texts the one they have
/// in the file.
fn indented(ground: Ground<'_>, old: &str, new: &str, everywhere: bool) -> Option<Located> {
    let first = old.lines().find(|line| !line.trim().is_empty())?;
    let mut indents: Vec<String> = Vec::new();
    for line in ground.text.lines(0..ground.text.len()) {
        if let Some(indent) = line.strip_suffix(first)
            && !indent.is_empty()
            && indent.trim().is_empty()
            && indents.len() < MAX_INDENTS
            && !indents.iter().any(|known| known == indent)
        {
            indents.push(indent.to_owned());
        }
    }
    indents.iter().find_map(|indent| {
        let within = |text: &str| -> String {
            let lines = text.split_inclusive('\n');
            let line = |line: &str| match line.trim().is_empty() {
                true => line.to_owned(),
                false => format!("{indent}{line}"),
            };
            lines.map(line).collect()
        };
        snippet(
            ground.text,
            &within(old),
            &within(new),
            everywhere,
            ground.near,
        )
    })
}

/// Returns the offsets at which `old` occurs; occurrences may overlap.
fn matches(whole: &str, old: &str) -> Vec<usize> {
    let step = old.chars().next().map_or(1, char::len_utf8);
    let mut places = Vec::new();
    let mut from = 0;
    while places.len() < MAX_PLACES
        && let Some(at) = whole.get(from..).and_then(|rest| rest.find(old))
    {
        places.push(from + at);
        from += at + step;
    }
    places
}

/// Returns the rows of sorted offsets.
fn rows_of(whole: &str, places: &[usize]) -> Vec<usize> {
    let (mut row, mut done) = (0, 0);
    let rows = places.iter().map(|&at| {
        let between = whole.as_bytes().get(done..at).unwrap_or_default();
        row += between.iter().filter(|byte| **byte == b'\n').count();
        done = at;
        row
    });
    rows.collect()
}

/// Returns the byte range to replace at a match, and the replacement.
///
/// A [`Text`] ends with a line end, even if the agent's text does not.
fn replaced<'a>(whole: &str, at: usize, old: &str, new: &'a str) -> (Range<usize>, &'a str) {
    let end = at + old.len();
    let at_end = !old.ends_with('\n') && whole.get(end..) == Some("\n");
    match at_end && new.ends_with('\n') {
        true => (at..end + 1, new),
        false => (at..end, new),
    }
}

/// Returns whether a match consists of whole lines.
fn is_lines(whole: &str, at: usize, old: &str) -> bool {
    let before = whole.get(..at).unwrap_or_default();
    let after = whole.get(at + old.len()..).unwrap_or_default();
    (before.is_empty() || before.ends_with('\n'))
        && (old.ends_with('\n') || after.starts_with('\n') || after.is_empty())
}

/// Returns an agent's text without its byte order mark, and with the line ends of a [`Text`].
fn as_lines(text: &str, line_end: LineEnd) -> Cow<'_, str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match line_end {
        LineEnd::Lf => text.into(),
        LineEnd::CrLf => text.replace("\r\n", "\n").into(),
        LineEnd::Cr => text.replace("\r\n", "\n").replace('\r', "\n").into(),
    }
}
