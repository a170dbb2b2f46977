//! A diff in a tool call's content, as lines of the transcript: hunks with context, changed words
//! marked, the code highlighted, each line linked to its place in the file.
//!
//! Invariant: the texts are compared once, and highlighted once, outside the core thread; they are
//! shown before.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::code::{self, Code, Colours};
use crate::render::toolview::{shown_path, whole_line};
use crate::spine::view::{Group, Line, Link, Span};
use crate::text::cut::head;
use crate::text::diff::{Hunk, hunks, words};
use crate::text::{Text, plural};

/// Number of unchanged lines shown around a hunk.
const CONTEXT: usize = 3;

/// Maximum lines of one diff; the number of further lines is shown.
const MAX_ROWS: usize = 200;

/// Maximum bytes of a line.
const MAX_LINE: usize = 1000;

/// The old text of a deleted file, as sent by an old version of an agent.
const DELETED: &str = "[file deleted]";

/// A diff as displayed.
#[derive(Debug, Clone)]
pub struct ToolDiff {
    path: Arc<Path>,
    /// A hash that identifies its texts.
    print: u64,
    rows: Vec<Row>,
    /// Number of changed lines that are not shown.
    left: usize,
    deletes: bool,
    /// The row of the file where its texts begin, if known.
    place: Option<u32>,
    lit: Lit,
}

/// Whether a diff is highlighted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lit {
    No,
    /// It will be: the number of the request.
    Asked(u64),
    Done,
}

#[derive(Debug, Clone)]
struct Row {
    kind: Kind,
    text: String,
    /// Its row in the new text, or the row of its replacement.
    at: usize,
    words: Vec<Range<u32>>,
    code: Vec<Span>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Gap,
    Context,
    Removed,
    Added,
}

impl Kind {
    fn is_change(self) -> bool {
        matches!(self, Kind::Removed | Kind::Added)
    }
}

impl ToolDiff {
    /// Returns the diff of two texts; without an old text, the file is assumed to be new.
    pub fn new(path: &Path, old: Option<&str>, new: &str) -> Self {
        let print = print(path, old, new);
        let deletes = old == Some(DELETED) && new.is_empty();
        let (old_text, new_text) = match deletes {
            true => (Text::default(), Text::default()),
            false => (
                Text::from_text(old.unwrap_or_default()),
                Text::from_text(new),
            ),
        };
        let (rows, left) = rows(&old_text, &new_text, &hunks(&old_text, &new_text));
        Self {
            path: path.into(),
            print,
            rows,
            left,
            deletes,
            // Without an old text, the new one is the whole file.
            place: old.is_none_or(str::is_empty).then_some(0),
            lit: Lit::No,
        }
    }

    /// Returns whether this is the diff of these texts.
    pub fn is_of(&self, path: &Path, old: Option<&str>, new: &str) -> bool {
        self.print == print(path, old, new)
    }

    pub fn place(&self) -> Option<u32> {
        self.place
    }

    /// Sets the row of the file where its texts begin.
    pub fn set_place(&mut self, row: u32) {
        self.place = Some(row);
    }

    /// Sets the place from a location sent by the agent: the beginning of a snippet, or the first
    /// change of a whole file.
    pub fn place_by(&mut self, row: u32) {
        let first = self.rows.iter().find(|row| row.kind.is_change());
        let is_whole = first.is_some_and(|first| first.at == row as usize);
        self.place = Some(if is_whole { 0 } else { row });
    }

    /// Returns its code to highlight, the first time.
    pub fn next_code(&mut self, number: u64) -> Option<Code> {
        if self.lit != Lit::No || self.rows.is_empty() {
            return None;
        }
        self.lit = Lit::Asked(number);
        let name = self.path.file_name().unwrap_or_default();
        let rows = self.rows.iter().map(|row| match row.kind {
            Kind::Gap => code::Row::Gap,
            Kind::Context => code::Row::Same(row.text.clone()),
            Kind::Removed => code::Row::Removed(row.text.clone()),
            Kind::Added => code::Row::Added(row.text.clone()),
        });
        Some(Code::Diff(code::Diff {
            name: name.to_string_lossy().into_owned(),
            rows: rows.collect(),
        }))
    }

    /// Returns whether the request with this number is pending.
    pub fn awaits(&self, number: u64) -> bool {
        self.lit == Lit::Asked(number)
    }

    /// Applies the highlights, if there are any.
    pub fn set_colours(&mut self, colours: Option<Colours>) {
        self.lit = Lit::Done;
        if let Some(Colours::Diff(spans)) = colours {
            for (row, spans) in self.rows.iter_mut().zip(spans) {
                row.code = spans;
            }
        }
    }

    /// Returns its lines: the file's path relative to `cwd`, and the hunks. `more` links to the
    /// whole diff.
    pub fn lines(&self, cwd: &Path, more: Link) -> Vec<Line> {
        let mut head = whole_line(shown_path(&self.path, cwd), "AcpPath");
        if self.deletes {
            head.push("  deleted", "AcpDim");
        }
        let first = self.rows.iter().find(|row| row.kind.is_change());
        let mut lines = vec![head.linked(self.link(first.map(|row| row.at)))];
        let last = self.rows.last().map_or(0, |row| row.at + 1);
        let width = self
            .place
            .map(|place| (place as usize + last).to_string().len());
        lines.extend(self.rows.iter().map(|row| self.line(row, width)));
        if self.left > 0 {
            let left = plural(self.left, "changed line");
            let text = format!("… {left} more");
            lines.push(whole_line(text, "AcpDim").linked(more));
        }
        lines
    }

    fn line(&self, row: &Row, width: Option<usize>) -> Line {
        let (sign, group, word): (&str, Option<Group>, Group) = match row.kind {
            Kind::Gap => {
                let indent = width.map_or(0, |width| width + 1);
                let line = whole_line(format!("{:indent$}  ⋯", ""), "AcpDim");
                return line.linked(self.link(Some(row.at)));
            }
            Kind::Context => ("  ", None, ""),
            Kind::Removed => ("- ", Some("AcpDelete"), "AcpDeleteWord"),
            Kind::Added => ("+ ", Some("AcpAdd"), "AcpAddWord"),
        };
        let by = sign.len() as u32;
        let end = by + u32::try_from(row.text.len()).unwrap_or(0);
        let whole = group.map(|group| Span {
            start: 0,
            end,
            group,
        });
        let words = row.words.iter().map(|range| Span {
            start: range.start,
            end: range.end,
            group: word,
        });
        let mut inner: Vec<Span> = row.code.iter().copied().chain(words).collect();
        inner.sort_by_key(|span| span.start);
        let inner = inner.into_iter().map(|span| Span {
            start: span.start + by,
            end: span.end + by,
            ..span
        });
        let spans = whole.into_iter().chain(inner).collect();
        let mut line = Line::new(format!("{sign}{}", row.text), spans);
        if let Some((width, place)) = width.zip(self.place) {
            let number = match row.kind {
                Kind::Removed => String::new(),
                _ => (place as usize + row.at + 1).to_string(),
            };
            let number = format!("{number:>width$} ");
            line.prepend(&number);
            if row.kind != Kind::Removed {
                let number = Span {
                    start: 0,
                    end: number.len() as u32,
                    group: "AcpDim",
                };
                line.spans.insert(0, number);
            }
        }
        line.linked(self.link(Some(row.at)))
    }

    /// Returns the link to a row of the new text.
    fn link(&self, at: Option<usize>) -> Link {
        let at = at.and_then(|at| u32::try_from(at).ok());
        Link::File {
            path: Arc::clone(&self.path),
            row: self
                .place
                .zip(at)
                .map(|(place, at)| place.saturating_add(at)),
        }
    }
}

fn print(path: &Path, old: Option<&str>, new: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (path, old, new).hash(&mut hasher);
    hasher.finish()
}

/// Returns the displayed rows of some hunks, and the number of changed lines left out.
fn rows(old: &Text, new: &Text, hunks: &[Hunk]) -> (Vec<Row>, usize) {
    let mut rows: Vec<Row> = Vec::new();
    let mut shown = 0;
    let mut left = 0;
    for (index, hunk) in hunks.iter().enumerate() {
        if rows.len() >= MAX_ROWS {
            left += hunk.old.len() + hunk.new.len();
            continue;
        }
        let start = hunk.new.start.saturating_sub(CONTEXT).max(shown);
        if start > shown {
            rows.push(row(Kind::Gap, "", start));
        }
        rows.extend(context(new, start..hunk.new.start));
        left += add_hunk(old, new, hunk, &mut rows);
        let next = hunks
            .get(index + 1)
            .map_or(new.len(), |hunk| hunk.new.start);
        shown = (hunk.new.end + CONTEXT).min(next);
        if rows.len() < MAX_ROWS {
            rows.extend(context(new, hunk.new.end..shown));
        }
    }
    if shown < new.len() && left == 0 && !hunks.is_empty() {
        rows.push(row(Kind::Gap, "", shown));
    }
    (rows, left)
}

/// Adds the changed lines of a hunk while there is room; returns the number left out.
fn add_hunk(old: &Text, new: &Text, hunk: &Hunk, rows: &mut Vec<Row>) -> usize {
    let room = MAX_ROWS.saturating_sub(rows.len());
    let cut = |range: &Range<usize>, most: usize| range.start..range.end.min(range.start + most);
    let gone = cut(&hunk.old, room);
    let come = cut(&hunk.new, room - gone.len());
    let left = hunk.old.len() - gone.len() + hunk.new.len() - come.len();
    let (removed, added) = (old.to_lines(gone), new.to_lines(come));
    let removed: Vec<&str> = removed.iter().map(|line| head(line, MAX_LINE)).collect();
    let added: Vec<&str> = added.iter().map(|line| head(line, MAX_LINE)).collect();
    let changed = words(&removed, &added);
    let mut add = |lines: Vec<&str>, kind: Kind, words: &[(usize, Range<u32>)]| {
        for (at, text) in lines.into_iter().enumerate() {
            let place = match kind {
                Kind::Removed => hunk.new.start,
                _ => hunk.new.start + at,
            };
            let mut row = row(kind, text, place);
            let of_row = words.iter().filter(|word| word.0 == at);
            row.words = of_row.map(|word| word.1.clone()).collect();
            rows.push(row);
        }
    };
    add(removed, Kind::Removed, &changed.old);
    add(added, Kind::Added, &changed.new);
    left
}

fn context(text: &Text, rows: Range<usize>) -> impl Iterator<Item = Row> + '_ {
    let start = rows.start;
    let lines = text.lines(rows).enumerate();
    lines.map(move |(at, line)| row(Kind::Context, head(&line, MAX_LINE), start + at))
}

fn row(kind: Kind, text: &str, at: usize) -> Row {
    Row {
        kind,
        text: text.to_owned(),
        at,
        words: Vec::new(),
        code: Vec::new(),
    }
}

/// Returns the row where these lines occur in a text, if they occur only once.
pub fn only_place(text: &Text, lines: &str) -> Option<usize> {
    let wanted: Vec<&str> = lines.lines().collect();
    let first = wanted.first()?;
    let last = (text.len() + 1).checked_sub(wanted.len())?;
    let heads = text.lines(0..last).enumerate();
    let mut places = heads.filter_map(|(at, line)| {
        let rows = at..at + wanted.len();
        let is_here = line == *first && text.lines(rows).zip(&wanted).all(|(a, b)| a == *b);
        is_here.then_some(at)
    });
    places.next().filter(|_| places.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MORE: Link = Link::Part { entry: 0 };

    fn file(row: Option<u32>) -> Link {
        Link::File {
            path: Path::new("/p/a.txt").into(),
            row,
        }
    }

    /// Returns the lines of a diff and the rows they link to.
    fn shown(diff: &ToolDiff) -> Vec<(String, Option<u32>)> {
        let lines = diff.lines(Path::new("/p"), MORE).into_iter();
        lines
            .map(|line| match line.link {
                Some(Link::File { row, .. }) => (line.text.into(), row),
                other => (line.text.into(), (other == Some(MORE)).then_some(u32::MAX)),
            })
            .collect()
    }

    #[test]
    fn each_line_leads_to_its_row() {
        let lines = |n: usize| (0..n).map(|n| format!("{n}\n")).collect::<String>();
        let old = lines(30);
        let new = old.replace("2\n3\n", "2\nx\ny\n").replace("20\n", "");
        let mut diff = ToolDiff::new(Path::new("/p/a.txt"), Some(&old), &new);
        assert_eq!(diff.lines(Path::new("/p"), MORE)[0].link, Some(file(None)));
        diff.set_place(98);
        let want = [
            ("a.txt", 101),
            (" 99   0", 98),
            ("100   1", 99),
            ("101   2", 100),
            ("    - 3", 101),
            ("102 + x", 101),
            ("103 + y", 102),
            ("104   4", 103),
            ("105   5", 104),
            ("106   6", 105),
            ("      ⋯", 116),
        ];
        let all = shown(&diff);
        for (got, (text, row)) in all.iter().zip(want) {
            assert_eq!((got.0.as_str(), got.1), (text, Some(row)));
        }
        assert_eq!(all.len(), 19, "{all:?}");
    }

    #[test]
    fn a_place_is_where_the_texts_begin_or_what_changes_first() {
        let check = |row: u32, place: u32| {
            let mut diff = ToolDiff::new(Path::new("/p/a"), Some("a\nb\nc\n"), "a\nb\nx\n");
            diff.place_by(row);
            assert_eq!(diff.place(), Some(place));
        };
        check(0, 0);
        check(2, 0);
        check(7, 7);
    }

    #[test]
    fn of_a_large_diff_the_rest_is_counted() {
        let old: String = (0..50_000).map(|n| format!("old {n}\n")).collect();
        let new: String = (0..50_000).map(|n| format!("new {n}\n")).collect();
        let diff = ToolDiff::new(Path::new("/p/a.txt"), Some(&old), &new);
        let all = shown(&diff);
        assert_eq!(all.len(), 1 + MAX_ROWS + 1);
        let want = "… 99800 changed lines more".to_owned();
        assert_eq!(all.last(), Some(&(want, Some(u32::MAX))));
    }

    #[test]
    fn what_is_deleted_and_what_does_not_change_has_no_lines() {
        let of = |old: &str, new: &str| shown(&ToolDiff::new(Path::new("/p/a"), Some(old), new));
        assert_eq!(of(DELETED, ""), [("a  deleted".to_owned(), None)]);
        assert_eq!(of("x\n", "x\n"), [("a".to_owned(), None)]);
    }

    #[test]
    fn lines_have_one_place_or_none() {
        let text = Text::from_lines(["a", "b", "c", "a", "b", "d"]);
        let check = |lines: &str, want| assert_eq!(only_place(&text, lines), want, "{lines:?}");
        check("b\nc\n", Some(1));
        check("a\nb", None);
        check("a\nb\nd", Some(3));
        check("d\ne", None);
        check("", None);
        check("a\nb\nc\na\nb\nd\n", Some(0));
    }
}
