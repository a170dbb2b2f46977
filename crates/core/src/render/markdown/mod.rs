//! Markdown that streams in, as lines with highlight spans.
//!
//! Invariants:
//! - The lines are the source's own, byte for byte; only spans are added. Text copied from a chat
//!   is therefore markdown again, and a line's row never changes.
//! - The lines after a complete [`Markdown::render`] depend only on the text and the code that was
//!   highlighted, not on the chunks, or on when it was rendered or highlighted.
//! - A complete leaf (paragraph, heading, table, line of code ...) is final, except the spans of
//!   code. Each render parses new text and the one open leaf, whose size is limited, so the cost of
//!   a chunk does not grow with the message.
//! - Code is highlighted outside the core thread, and only the code that [`Markdown::next_code`] is
//!   asked for: the text never waits for its highlights.

mod blocks;
mod colours;
mod html;
mod line;
mod prose;
mod state;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub use crate::code::groups::GROUPS;
use crate::spine::view::Line;
use colours::{Asked, Block};
use state::{Out, Piece, State, content_end};

/// A message of markdown, from its first chunk to its last.
#[derive(Debug, Clone, Default)]
pub struct Markdown {
    text: String,
    finished: bool,
    dirty: bool,
    /// The state at the end of the last complete line that was parsed.
    state: State,
    /// The text up to here was searched for the end of the line at `state.at`.
    searched: usize,
    /// Number of final lines.
    done: usize,
    /// The lines after those, which the next chunk may change.
    tail: Vec<Line>,
    /// Code blocks with lines that are not highlighted, first to last.
    blocks: Vec<Block>,
    /// The lines that are being highlighted.
    asked: Option<Asked>,
    /// Highlights that were not rendered yet.
    lit: Vec<Change>,
    /// The last line has no end and is code, and whether it is highlighted.
    is_last_code: bool,
    is_last_lit: bool,
    /// Total cost of all renders, and the number of texts they parsed.
    #[cfg(test)]
    spent: usize,
    #[cfg(test)]
    parses: usize,
}

/// A change of the list of lines: `removed` lines from `start` are replaced with `lines`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub start: usize,
    pub removed: usize,
    pub lines: Vec<Line>,
    /// Only spans differ from the lines that are replaced.
    pub is_lit: bool,
}

/// Returns the lines of a text without spans, broken like those of [`Markdown`].
pub fn plain(text: &str) -> Vec<Line> {
    let line = |range: Range<usize>| Line::plain(text.get(range).unwrap_or_default());
    let (mut at, mut searched) = (0, 0);
    let mut lines = Vec::new();
    while let Some(piece) = Piece::next(text, at, &mut searched) {
        at = piece.next;
        lines.push(line(piece.text));
    }
    if at < text.len() {
        lines.push(line(at..text.len()));
    }
    lines
}

impl Markdown {
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a chunk; it can start and end anywhere.
    pub fn push(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(text);
        self.finished = false;
        self.dirty = true;
        self.is_last_lit = false;
    }

    /// Marks the text as complete; a later [`Markdown::push`] still continues it.
    ///
    /// Until then, marks at the very end have no spans, because the next chunk can change their
    /// meaning: `**a*` is not italic if another star follows.
    pub fn finish(&mut self) {
        if !self.finished {
            self.finished = true;
            self.dirty = true;
        }
    }

    /// Discards the rendered lines; the next renders return all lines again.
    pub fn restart(&mut self) {
        *self = Self {
            dirty: self.finished || !self.text.is_empty(),
            text: std::mem::take(&mut self.text),
            finished: self.finished,
            ..Self::default()
        };
    }

    /// Returns the source.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether anything is left to render.
    pub fn is_dirty(&self) -> bool {
        self.dirty || !self.lit.is_empty()
    }

    /// Returns the number of final lines, and the text of the others.
    pub fn left(&self) -> (usize, &str) {
        let left = self.text.get(self.state.leaf..).unwrap_or_default();
        (self.done, left)
    }

    /// Renders new highlights or new text and returns the change of the list of lines, if any.
    ///
    /// It stops after `budget` units of work, 128 bytes each, and is dirty then; lines beyond are
    /// unchanged or missing. At least one leaf is rendered: up to 4 KiB, if it is not code.
    ///
    /// Code in a named language has no spans; see [`Markdown::next_code`].
    ///
    /// The text is complete after its last `\n`, as in [`str::lines`]: no empty line follows it. A
    /// `\r` at the end is held back until the next character is known.
    pub fn render(&mut self, budget: usize) -> Option<Change> {
        if let Some(change) = self.lit.pop() {
            return Some(change);
        }
        if !self.dirty {
            return None;
        }
        let limit = budget.saturating_mul(state::UNIT).max(1);
        let mut out = Out::default();
        self.dirty = false;
        while let Some(piece) = Piece::next(&self.text, self.state.at, &mut self.searched) {
            let (at, row) = (self.state.at, self.done + out.lines.len());
            let fence = self.state.fence.as_ref().map(|fence| fence.at);
            self.state.take(&self.text, piece, &mut out);
            if fence != self.state.fence.as_ref().map(|fence| fence.at) {
                self.close_block(at, row);
                self.open_block(self.done + out.lines.len());
            }
            if out.cost >= limit {
                self.dirty = true;
                break;
            }
        }
        out.settle(&self.text);
        let done = out.lines.len();
        if self.dirty {
            out.lines.extend(self.tail.iter().skip(done).cloned());
        } else {
            let rest = self.rest();
            let state = self.state.clone();
            self.is_last_code = state.finish(&self.text, rest, self.finished, &mut out);
        }
        self.spend(&out);
        self.replace_tail(out.lines, done)
    }

    /// Adds up the cost, for tests.
    fn spend(&mut self, _out: &Out) {
        #[cfg(test)]
        {
            self.spent += _out.cost;
            self.parses += _out.parses;
        }
    }

    /// Returns the range of the last line, which has no end yet.
    fn rest(&self) -> Range<usize> {
        let end = match self.finished {
            true => self.text.len(),
            false => content_end(&self.text, self.text.len()),
        };
        self.state.at..end.max(self.state.at)
    }

    /// Replaces the tail with `lines`, `done` of them final, and returns the change.
    fn replace_tail(&mut self, mut lines: Vec<Line>, done: usize) -> Option<Change> {
        let same = |(a, b): &(&Line, &Line)| a == b;
        let old = &self.tail;
        let head = old.iter().zip(&lines).take_while(same).count();
        // Lines at the end are unchanged only if their rows are.
        let most = match old.len() == lines.len() {
            true => old.len() - head,
            false => 0,
        };
        let ends = old.iter().rev().zip(lines.iter().rev());
        let foot = ends.take(most).take_while(same).count();
        let start = self.done + head;
        let removed = old.len() - head - foot;

        self.tail = lines.get(done..).unwrap_or_default().to_vec();
        self.done += done;
        lines.truncate(lines.len() - foot);
        lines.drain(..head);
        (removed > 0 || !lines.is_empty()).then_some(Change {
            start,
            removed,
            lines,
            is_lit: false,
        })
    }
}
