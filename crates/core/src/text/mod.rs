//! Text as lines: the rope behind documents, the ledger and merges.
//!
//! Invariant: every line in the rope ends with one `\n`, the last one too, so that line `n` of a
//! [`Text`] is line `n` of a Neovim buffer. Line ends and the final newline of a file are handled
//! only in [`crate::text::format`].

pub mod cut;
pub mod diff;
pub mod format;
pub mod fuzzy;
pub mod paths;

use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::ops::Range;

use ropey::Rope;
use serde::{Serialize, Serializer};

/// Lines of text; cloning is cheap.
#[derive(Debug, Clone, Default)]
pub struct Text {
    rope: Rope,
}

/// Some lines of a text: they are shared with it, and copied only when they are read.
#[derive(Debug, Clone)]
pub struct Lines {
    text: Text,
    rows: Range<usize>,
}

/// A replacement of whole lines: `removed` lines from row `start` are replaced with `lines`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineEdit {
    pub start: usize,
    pub removed: usize,
    pub lines: Vec<String>,
}

impl Text {
    /// Returns a text of these lines, which must not contain `\n`.
    pub fn from_lines<S: AsRef<str>>(lines: impl IntoIterator<Item = S>) -> Self {
        let mut builder = ropey::RopeBuilder::new();
        for line in lines {
            debug_assert!(!line.as_ref().contains('\n'));
            builder.append(line.as_ref());
            builder.append("\n");
        }
        Self {
            rope: builder.finish(),
        }
    }

    /// Returns the lines of `text`; a last line without `\n` counts as a line.
    pub fn from_text(text: &str) -> Self {
        let mut rope = Rope::from_str(text);
        if !text.is_empty() && !text.ends_with('\n') {
            rope.insert_char(rope.len_chars(), '\n');
        }
        Self { rope }
    }

    /// Returns the number of lines.
    pub fn len(&self) -> usize {
        self.rope.len_lines() - 1
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of bytes, including each line's `\n`.
    pub fn len_bytes(&self) -> usize {
        self.rope.len_bytes()
    }

    /// Returns whether all characters are ASCII.
    pub fn is_ascii(&self) -> bool {
        self.rope.chunks().all(str::is_ascii)
    }

    /// Returns line `row` without its `\n`, or `None` past the end.
    pub fn line(&self, row: usize) -> Option<Cow<'_, str>> {
        if row >= self.len() {
            return None;
        }
        let line = self.rope.line(row);
        let line = line.byte_slice(..line.len_bytes() - 1);
        Some(Cow::from(line))
    }

    /// Returns the lines of `rows`, clamped to the text, each without its `\n`.
    pub fn lines(&self, rows: Range<usize>) -> impl Iterator<Item = Cow<'_, str>> {
        let end = rows.end.min(self.len());
        let start = rows.start.min(end);
        // Iterating over chunks takes a third of the time of the rope's own line iterator.
        let byte = self.rope.line_to_byte(start);
        let (mut chunks, chunk_start, ..) = self.rope.chunks_at_byte(byte);
        let first = chunks.next().unwrap_or_default();
        let mut rest = first.get(byte - chunk_start..).unwrap_or_default();
        (start..end).map_while(move |_| {
            if rest.is_empty() {
                rest = chunks.next()?;
            }
            if let Some((line, after)) = first_line(rest) {
                rest = after;
                return Some(Cow::Borrowed(line));
            }
            let mut line = rest.to_owned();
            loop {
                rest = chunks.next()?;
                if let Some((end, after)) = first_line(rest) {
                    rest = after;
                    line.push_str(end);
                    return Some(Cow::Owned(line));
                }
                line.push_str(rest);
            }
        })
    }

    /// Returns the lines of `rows` as owned strings.
    pub fn to_lines(&self, rows: Range<usize>) -> Vec<String> {
        self.lines(rows).map(Cow::into_owned).collect()
    }

    /// Adds the lines of another text at the end.
    pub fn append(&mut self, other: Text) {
        self.rope.append(other.rope);
    }

    /// Applies an edit; rows past the end are clamped.
    pub fn apply(&mut self, edit: &LineEdit) {
        let start = edit.start.min(self.len());
        let end = start.saturating_add(edit.removed).min(self.len());
        let chars = self.rope.line_to_char(start)..self.rope.line_to_char(end);
        self.rope.remove(chars.clone());
        if !edit.lines.is_empty() {
            let mut new = edit.lines.join("\n");
            new.push('\n');
            self.rope.insert(chars.start, &new);
        }
    }

    /// Applies several edits; they are disjoint, sorted, and in rows of the text before them.
    pub fn apply_all(&mut self, edits: &[LineEdit]) {
        for edit in edits.iter().rev() {
            self.apply(edit);
        }
    }

    /// Returns the number of equal lines at the start of both texts.
    pub fn common_prefix(&self, other: &Text) -> usize {
        let (mut left, mut right) = (self.rope.chunks(), other.rope.chunks());
        let (mut a, mut b): (&[u8], &[u8]) = (&[], &[]);
        let mut bytes = 0;
        loop {
            if a.is_empty() {
                a = left.next().unwrap_or_default().as_bytes();
            }
            if b.is_empty() {
                b = right.next().unwrap_or_default().as_bytes();
            }
            let len = a.len().min(b.len());
            let (x, y) = (a.split_at(len), b.split_at(len));
            if len == 0 || x.0 != y.0 {
                let pairs = a.iter().zip(b);
                bytes += pairs.take_while(|(a, b)| a == b).count();
                return self.rope.byte_to_line(bytes);
            }
            bytes += len;
            (a, b) = (x.1, y.1);
        }
    }

    /// Returns the number of equal lines at the end of both texts.
    pub fn common_suffix(&self, other: &Text) -> usize {
        let mut left = self.rope.chunks_at_byte(self.len_bytes()).0.reversed();
        let mut right = other.rope.chunks_at_byte(other.len_bytes()).0.reversed();
        let (mut a, mut b): (&[u8], &[u8]) = (&[], &[]);
        let mut bytes = 0;
        loop {
            if a.is_empty() {
                a = left.next().unwrap_or_default().as_bytes();
            }
            if b.is_empty() {
                b = right.next().unwrap_or_default().as_bytes();
            }
            let len = a.len().min(b.len());
            let (x, y) = (a.split_at(a.len() - len), b.split_at(b.len() - len));
            if len == 0 || x.1 != y.1 {
                let pairs = a.iter().rev().zip(b.iter().rev());
                bytes += pairs.take_while(|(a, b)| a == b).count();
                break;
            }
            bytes += len;
            (a, b) = (x.0, y.0);
        }
        // Counts only lines that the common bytes contain completely, in both texts.
        let whole = |text: &Text| {
            let start = text.rope.len_bytes() - bytes;
            let row = text.rope.byte_to_line(start);
            let cut = text.rope.line_to_byte(row) < start;
            text.len().saturating_sub(row + usize::from(cut))
        };
        whole(self).min(whole(other))
    }
}

/// Splits a text after its first `\n`, which is in neither part.
fn first_line(text: &str) -> Option<(&str, &str)> {
    let end = memchr::memchr(b'\n', text.as_bytes())?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

impl Lines {
    /// Returns the lines of `rows`, clamped to the text.
    pub fn of(text: &Text, rows: Range<usize>) -> Self {
        let end = rows.end.min(text.len());
        Self {
            text: text.clone(),
            rows: rows.start.min(end)..end,
        }
    }

    /// Returns all lines of a text.
    pub fn all(text: Text) -> Self {
        Self {
            rows: 0..text.len(),
            text,
        }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.text.lines(self.rows.clone())
    }
}

impl Hash for Lines {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.len());
        self.iter().for_each(|line| line.hash(state));
    }
}

impl Serialize for Lines {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// Maps a row through disjoint, sorted edits.
pub fn moved(row: usize, edits: &[LineEdit]) -> usize {
    let mut moved = row;
    for edit in edits.iter().take_while(|edit| edit.start < row) {
        let gone = edit.removed.min(row - edit.start);
        let come = match gone < edit.removed {
            // The row is in the replaced lines.
            true => gone.min(edit.lines.len()),
            false => edit.lines.len(),
        };
        moved = moved - gone + come;
    }
    moved
}

impl Text {
    /// Returns whether the text contains NUL bytes, which makes the file binary.
    pub fn has_nul(&self) -> bool {
        self.rope.chunks().any(|chunk| chunk.contains('\0'))
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        // Compared texts are usually clones of each other.
        self.rope.is_instance(&other.rope)
            || self.rope.len_bytes() == other.rope.len_bytes() && self.rope == other.rope
    }
}

impl Eq for Text {}

/// The text with `\n` after every line.
impl std::fmt::Display for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for chunk in self.rope.chunks() {
            f.write_str(chunk)?;
        }
        Ok(())
    }
}

/// Returns a number with its noun: "1 file", "2 files".
pub fn plural(count: usize, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_survive_the_round_trip() {
        let text = Text::from_lines(["a", "", "ä"]);
        assert_eq!(text.len(), 3);
        assert_eq!(text.to_lines(0..9), ["a", "", "ä"]);
        assert_eq!(text, Text::from_text("a\n\nä"));
        assert_eq!(Text::from_text("").len(), 0);
        assert_eq!(Text::from_lines([""]).len(), 1);
    }

    #[test]
    fn an_edit_replaces_whole_lines_and_is_cut_to_the_text() {
        let mut text = Text::from_lines(["a", "b", "c"]);
        text.apply(&LineEdit {
            start: 1,
            removed: 1,
            lines: vec!["x".into(), "y".into()],
        });
        assert_eq!(text.to_lines(0..9), ["a", "x", "y", "c"]);
        text.apply(&LineEdit {
            start: 9,
            removed: 9,
            lines: vec!["end".into()],
        });
        assert_eq!(text.len(), 5);
        text.apply(&LineEdit {
            start: 0,
            removed: 5,
            lines: vec![],
        });
        assert!(text.is_empty());
    }
    #[test]
    fn common_lines_are_whole_lines() {
        let check = |a: &[&str], b: &[&str], prefix, suffix| {
            let (a, b) = (Text::from_lines(a), Text::from_lines(b));
            assert_eq!(a.common_prefix(&b), prefix, "{a:?} {b:?}");
            assert_eq!(a.common_suffix(&b), suffix, "{a:?} {b:?}");
        };
        check(&[], &[], 0, 0);
        check(&["a"], &[], 0, 0);
        check(&["a", "b"], &["a", "b"], 2, 2);
        check(&["a", "xb"], &["a", "yb"], 1, 0);
        check(&["b"], &["a", "b"], 0, 1);
        check(&["b"], &["ab"], 0, 0);
        check(&["", ""], &[""], 1, 1);
        check(&["ä"], &["ö"], 0, 0);
        let long: Vec<String> = (0..5000).map(|n| format!("line {n}")).collect();
        let mut other = long.clone();
        other[3000] = "changed".into();
        let (long, other) = (Text::from_lines(long), Text::from_lines(other));
        assert_eq!(long.common_prefix(&other), 3000);
        assert_eq!(long.common_suffix(&other), 1999);
        assert_eq!(long.common_prefix(&long), 5000);
        assert_eq!(long.common_suffix(&long), 5000);
    }

    #[test]
    fn lines_may_lie_across_chunks() {
        let lines: Vec<String> = (0..60).map(|n| "é".repeat(n * 90)).collect();
        let text = Text::from_lines(&lines);
        assert_eq!(text.to_lines(0..60), lines);
        for row in 0..60 {
            assert_eq!(text.to_lines(row..row + 1), lines[row..=row]);
        }
        assert_eq!(text.to_lines(60..61), [""; 0]);
    }

    #[track_caller]
    fn check_moved(old: &[&str], new: &[&str], row: usize, want: usize) {
        let edits = crate::text::diff::diff(&Text::from_lines(old), &Text::from_lines(new));
        assert_eq!(moved(row, &edits), want, "{edits:?}");
    }

    #[test]
    fn rows_move_with_the_lines_above_them() {
        check_moved(&["a", "b"], &["a", "b"], 1, 1);
        check_moved(&["a", "b"], &["x", "a", "b"], 1, 2);
        check_moved(&["a", "b"], &["b"], 1, 0);
        check_moved(&["a", "b", "c"], &["a", "x", "y", "c"], 2, 3);
        check_moved(&["a", "b", "c"], &["a", "x", "c"], 1, 1);
        check_moved(&["a", "b", "c", "d"], &["a", "d"], 2, 1);
    }
}
