//! Markdown that streams in, as lines with highlight spans.
//!
//! Invariants:
//! - The lines are the source's own, byte for byte; only spans are added. So what is copied from
//!   a chat is markdown again, and a line's row never changes.
//! - The lines after a complete [`Markdown::render`] depend on the text alone, not on how it was
//!   cut into chunks or when it was rendered.
//! - A leaf (paragraph, heading, table, line of code ...) that is done is final. Each render
//!   parses what is new and the one leaf that is still open, whose size is limited, so the cost
//!   of a chunk does not grow with the message.

mod blocks;
mod code;
mod groups;
mod html;
mod language;
mod line;
mod prose;
mod scopes;
mod state;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub use code::{Code, code, preload};
pub use groups::GROUPS;

use super::view::Line;
use state::{Out, Piece, State};

/// A longer line is broken into several, without inline marks: Neovim draws a line as a whole,
/// and one of a megabyte makes it slow at each key.
const MAX_LINE: usize = 8 * 1024;

/// A message of markdown, from its first chunk to its last.
#[derive(Debug, Default)]
pub struct Markdown {
    text: String,
    finished: bool,
    dirty: bool,
    /// What is known at the end of the last whole line that was read.
    state: State,
    /// Up to here the text was searched for the end of the line at `state.at`.
    searched: usize,
    /// The number of lines that are final.
    done: usize,
    /// The lines shown after those, which the next chunk may still change.
    tail: Vec<Line>,
    /// What all renders cost so far.
    #[cfg(test)]
    spent: usize,
}

/// A change of the list of lines: `removed` lines from `start` give way to `lines`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub start: usize,
    pub removed: usize,
    pub lines: Vec<Line>,
}

/// Returns the lines of a text that is complete and not long.
pub fn lines(text: &str) -> Vec<Line> {
    let mut markdown = Markdown::new();
    markdown.push(text);
    markdown.finish();
    let change = markdown.render(usize::MAX);
    change.map(|change| change.lines).unwrap_or_default()
}

impl Markdown {
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a chunk; it may start and end anywhere.
    pub fn push(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(text);
        self.finished = false;
        self.dirty = true;
    }

    /// Says that the text is complete; a later [`Markdown::push`] goes on with it all the same.
    ///
    /// Until then the marks at the very end are shown plainly, since the next chunk may give them
    /// another meaning: `**a*` is not italic if one more star comes.
    pub fn finish(&mut self) {
        if !self.finished {
            self.finished = true;
            self.dirty = true;
        }
    }

    /// Forgets what was rendered: the next renders bring all lines again.
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

    /// Returns whether there is something to render.
    pub fn is_dirty(&self) -> bool {
        self.dirty
    }

    /// Renders what is new and returns what it changes in the list of lines, if anything.
    ///
    /// It stops after `budget` units of work and is dirty then; the lines it did not come to are
    /// as they were, or not there yet. A unit is a byte of highlighted code (3 to 12 µs) or 128
    /// bytes of other text. One leaf is the least that is rendered: 4 KiB, if it is no code.
    ///
    /// The text is complete after its last `\n`, as in [`str::lines`]: no empty line follows it.
    /// A `\r` at the end is held back until it is clear whether a `\n` comes.
    pub fn render(&mut self, budget: usize) -> Option<Change> {
        if !self.dirty {
            return None;
        }
        let limit = budget.saturating_mul(state::UNIT);
        let mut out = Out::default();
        self.dirty = false;
        while let Some(piece) = self.next_piece() {
            self.state.take(&self.text, piece, &mut out);
            if out.cost >= limit.max(1) {
                self.dirty = true;
                break;
            }
        }
        let done = out.lines.len();
        if self.dirty {
            out.lines.extend(self.tail.iter().skip(done).cloned());
        } else {
            let rest = self.rest();
            let state = self.state.clone();
            state.finish(&self.text, rest, self.finished, &mut out);
        }
        #[cfg(test)]
        {
            self.spent += out.cost;
        }
        self.replace_tail(out.lines, done)
    }

    /// Returns the next whole line, or a piece of one that is too long.
    fn next_piece(&mut self) -> Option<Piece> {
        let start = self.state.at;
        let from = self.searched.max(start);
        let found = self.text.get(from..).unwrap_or_default().find('\n');
        self.searched = found.map_or(self.text.len(), |at| from + at);
        let end = self.content_end(self.searched);
        if end.saturating_sub(start) > MAX_LINE {
            let mut cut = start + MAX_LINE;
            while !self.text.is_char_boundary(cut) {
                cut -= 1;
            }
            return Some(Piece {
                text: start..cut,
                next: cut,
                ends_line: false,
            });
        }
        found.map(|_| Piece {
            text: start..end,
            next: self.searched + 1,
            ends_line: true,
        })
    }

    /// Returns the range of the last line, which has no end yet.
    fn rest(&self) -> Range<usize> {
        let end = match self.finished {
            true => self.text.len(),
            false => self.content_end(self.text.len()),
        };
        self.state.at..end.max(self.state.at)
    }

    /// Returns where the content of a line ends whose end is at `end`: before a `\r` there.
    fn content_end(&self, end: usize) -> usize {
        let content = self.text.get(..end).unwrap_or_default();
        content.strip_suffix('\r').unwrap_or(content).len()
    }

    /// Takes `lines` in place of the tail, `done` of them final, and returns what that changes.
    fn replace_tail(&mut self, mut lines: Vec<Line>, done: usize) -> Option<Change> {
        let same = |(a, b): &(&Line, &Line)| a == b;
        let old = &self.tail;
        let head = old.iter().zip(&lines).take_while(same).count();
        // Lines at the end stay only if their rows do.
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
        })
    }
}
