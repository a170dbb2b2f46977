//! Renders leaf by leaf: the state between two lines, and the effect of a line on it.
//!
//! Invariants: a state depends only on the text before `at`; the lines of leaves that are rendered
//! together, because each parse has a price, are those of each leaf alone.

use std::ops::Range;

use memchr::memmem;

use super::blocks::{LineRole, Scanner};
use super::{line, prose};
use crate::code::{self, groups, shift, span};
use crate::spine::view::{Line, Span};

/// Bytes of text in a unit of work.
pub(super) const UNIT: usize = 128;

/// A longer leaf is split at a line's end: its inline marks do not reach across.
const MAX_LEAF: usize = 4 * 1024;

/// A longer line is split into several, without inline marks: Neovim draws a line as a whole, and a
/// line of a megabyte makes each key slow.
pub(super) const MAX_LINE: usize = 8 * 1024;

/// A line, or a piece of one that is too long.
#[derive(Debug)]
pub(super) struct Piece {
    /// Its bytes, without the line end.
    pub text: Range<usize>,
    /// The start of the next piece.
    pub next: usize,
    pub ends_line: bool,
}

impl Piece {
    /// Returns the next complete line from `start`, or a piece of one that is too long.
    ///
    /// The text up to `searched` was searched for the line end before.
    pub fn next(text: &str, start: usize, searched: &mut usize) -> Option<Self> {
        let from = start.max(*searched);
        let found = text.get(from..).unwrap_or_default().find('\n');
        *searched = found.map_or(text.len(), |at| from + at);
        let end = content_end(text, *searched);
        if end.saturating_sub(start) > MAX_LINE {
            let mut cut = start + MAX_LINE;
            while !text.is_char_boundary(cut) {
                cut -= 1;
            }
            return Some(Self {
                text: start..cut,
                next: cut,
                ends_line: false,
            });
        }
        found.map(|_| Self {
            text: start..end,
            next: *searched + 1,
            ends_line: true,
        })
    }
}

/// Returns the end of a line's content: `end`, or before a `\r` there.
pub(super) fn content_end(text: &str, end: usize) -> usize {
    let content = text.get(..end).unwrap_or_default();
    content.strip_suffix('\r').unwrap_or(content).len()
}

/// The rendered lines and their cost.
#[derive(Debug, Default)]
pub(super) struct Out {
    pub lines: Vec<Line>,
    pub cost: usize,
    /// Complete leaves that follow those lines and are not rendered yet.
    waiting: Range<usize>,
    /// Number of texts that were parsed.
    #[cfg(test)]
    pub parses: usize,
}

#[derive(Debug, Clone, Default)]
pub(super) struct State {
    /// The start of the next line.
    pub at: usize,
    /// The start of the open leaf, which is rendered once it is complete.
    pub leaf: usize,
    /// The text the leaf must be parsed after.
    context: String,
    /// The leaf is the rest of one that was split.
    is_rest: bool,
    scanner: Scanner,
    pub fence: Option<Fence>,
    /// `at` is inside a line that is too long.
    in_long_line: bool,
}

/// The open code fence.
#[derive(Debug, Clone)]
pub(super) struct Fence {
    pub info: String,
    /// The start of its first line, which identifies it.
    pub at: usize,
    /// Columns of indentation that belong to the markdown.
    pub indent: usize,
}

impl State {
    /// Applies the next piece of `text` and renders the leaves it completes.
    pub fn take(&mut self, text: &str, piece: Piece, out: &mut Out) {
        if self.in_long_line || !piece.ends_line {
            self.long_line(text, piece, out);
        } else {
            self.line(text, piece.text, piece.next, out);
        }
    }

    /// Renders the open leaf, with `rest` as the last line; returns whether that is code in a
    /// fence.
    pub fn finish(mut self, text: &str, rest: Range<usize>, finished: bool, out: &mut Out) -> bool {
        let line = text.get(rest.clone()).unwrap_or_default();
        if line.is_empty() {
            self.flush(text, rest.start, out);
            return false;
        }
        if self.in_long_line {
            out.push(line, Vec::new());
            return false;
        }
        let held = match self.scanner.clone().step(line) {
            LineRole::Join | LineRole::Begin if !finished => held_marks(line),
            _ => "",
        };
        if held.len() == line.len() {
            // It could still make the line above a heading or a table: wait instead of drawing it
            // twice.
            self.flush(text, rest.start, out);
            out.push(line, Vec::new());
            return false;
        }
        let end = rest.end - held.len();
        let fence = self.fence.as_ref().map(|fence| fence.at);
        self.line(text, rest.start..end, end, out);
        self.flush(text, end, out);
        if let Some(last) = out.lines.last_mut() {
            last.text.push_str(held);
        }
        fence.is_some() && fence == self.fence.as_ref().map(|fence| fence.at)
    }

    fn line(&mut self, text: &str, range: Range<usize>, next: usize, out: &mut Out) {
        let line = text.get(range.clone()).unwrap_or_default();
        self.at = next;
        // A row needs only its table's head, not the rows above it.
        let in_table = self.scanner.in_table();
        let step = self.scanner.step(line);
        if step == LineRole::Join {
            if in_table || range.start - self.leaf > MAX_LEAF {
                let table = self.flush(text, range.start, out);
                self.scanner.split();
                self.context = self.scanner.context() + &table.unwrap_or_default();
                self.is_rest = true;
            }
            return;
        }
        if step == LineRole::Begin {
            self.put_off(text, range.start, out);
        } else {
            self.flush(text, range.start, out);
        }
        self.is_rest = false;
        match step {
            LineRole::Join => {}
            LineRole::Begin => {
                self.fence = None;
                self.context = self.scanner.context();
            }
            LineRole::Open { info, indent } => {
                self.fence = Some(Fence {
                    info: line.get(info).unwrap_or_default().to_owned(),
                    at: next,
                    indent,
                });
                self.context = self.scanner.context();
                self.flush(text, next, out);
            }
            LineRole::Body { indent } => {
                let spans = self.code_line(line, indent);
                out.push(line, spans);
                self.leaf = next;
            }
            LineRole::Close => {
                self.fence = None;
                let start = line.len() - line.trim_start().len();
                let fence = span(start, line.trim_end().len(), groups::FENCE);
                out.push(line, vec![fence]);
                self.leaf = next;
            }
            LineRole::Plain => {
                out.push(line, Vec::new());
                self.leaf = next;
            }
        }
    }

    /// Applies a piece of a line that is too long: it has no spans, and its first piece decides
    /// about the block structure.
    fn long_line(&mut self, text: &str, piece: Piece, out: &mut Out) {
        let line = text.get(piece.text.clone()).unwrap_or_default();
        if !self.in_long_line {
            self.flush(text, piece.text.start, out);
            self.scanner.step(line);
            self.scanner.cut();
            self.fence = match self.fence.take() {
                _ if !self.scanner.in_fence() => None,
                None => Some(Fence {
                    info: String::new(),
                    at: piece.next,
                    indent: 0,
                }),
                fence => fence,
            };
        }
        out.push(line, Vec::new());
        self.in_long_line = !piece.ends_line;
        self.at = piece.next;
        self.leaf = piece.next;
    }

    /// Returns the spans of a line of code: of a named language, they follow later.
    fn code_line(&self, line: &str, indent: usize) -> Vec<Span> {
        if self.fence.as_ref().is_none_or(Fence::is_named) {
            return Vec::new();
        }
        let margin = line::dedent(line, indent);
        let text = line.get(margin..).unwrap_or_default();
        shift(code::plain(text), margin).collect()
    }

    /// Takes the open leaf, which ends at `end`, to be rendered together with its neighbours if it
    /// means the same there.
    fn put_off(&mut self, text: &str, end: usize, out: &mut Out) {
        let source = text.get(self.leaf..end).unwrap_or_default();
        let is_dependent = self.is_rest || !self.context.is_empty();
        // A link's definition counts only within its leaf; a lone `\r` ends a line of the parser's.
        let is_odd = memmem::find(source.as_bytes(), b"]:").is_some() || source.contains('\r');
        if source.is_empty() || is_dependent || is_odd {
            self.flush(text, end, out);
            return;
        }
        if out.waiting.is_empty() {
            out.waiting = self.leaf..self.leaf;
        }
        out.cost += source.len();
        out.waiting.end = end;
        self.leaf = end;
        if out.waiting.len() > MAX_LEAF {
            out.settle(text);
        }
    }

    /// Renders the open leaf, which ends at `end`; returns the head of the table it ends in.
    fn flush(&mut self, text: &str, end: usize, out: &mut Out) -> Option<String> {
        out.settle(text);
        if self.leaf >= end {
            return None;
        }
        let source = text.get(self.leaf..end).unwrap_or_default();
        out.cost += self.context.len() + source.len();
        self.leaf = end;
        out.parse(&self.context, source)
    }
}

impl Out {
    /// Renders the leaves that wait.
    pub fn settle(&mut self, text: &str) {
        let waiting = std::mem::take(&mut self.waiting);
        if !waiting.is_empty() {
            self.parse("", text.get(waiting).unwrap_or_default());
        }
    }

    /// Renders `source` as the text after `context`; returns the head of the table it ends in.
    fn parse(&mut self, context: &str, source: &str) -> Option<String> {
        #[cfg(test)]
        {
            self.parses += 1;
        }
        let leaf = prose::render(context, source);
        self.lines.extend(leaf.lines);
        leaf.table
    }

    fn push(&mut self, line: &str, spans: Vec<Span>) {
        self.cost += line.len() + 1;
        self.lines.push(Line::new(line, spans));
    }
}

/// Returns the marks at the end of an incomplete line whose meaning can still change.
fn held_marks(line: &str) -> &str {
    let is_mark = |c| matches!(c, '*' | '_' | '~' | '`');
    let is_block_mark = |c| is_mark(c) || "-=|:+>#. \t".contains(c);
    if line.chars().all(is_block_mark) {
        return line;
    }
    let settled = line.trim_end_matches(is_mark).len();
    line.get(settled..).unwrap_or_default()
}
