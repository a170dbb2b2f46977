//! The highlights of code blocks, which follow their text.
//!
//! Invariants: the lines of a block are highlighted first to last, each once, so any order of
//! requests gives the same spans; a line keeps its row, so highlights replace only spans.

use std::ops::Range;

use super::state::{Fence, Piece};
use super::{Change, Markdown, line};
use crate::code::{self, Code, Colours, shift};
use crate::spine::view::Line;

/// Maximum text of one request, in bytes: it takes a few milliseconds.
const REQUEST_BYTES: usize = 16 * 1024;

/// A code block with lines that are not highlighted.
#[derive(Debug, Clone)]
pub(super) struct Block {
    /// The start of the first such line, and its row.
    at: usize,
    row: usize,
    /// The end of the last line and the row after it, once the block is closed.
    end: Option<(usize, usize)>,
    /// Columns of indentation that belong to the markdown.
    indent: usize,
    from: code::From,
}

/// Lines that are being highlighted.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    number: u64,
    /// The bytes of the complete lines.
    lines: Range<usize>,
    /// The end of the last line, which has no end.
    last: Option<usize>,
}

impl Markdown {
    /// Registers the end of the open code block, if any: its last line ends at `at`, before `row`.
    pub(super) fn close_block(&mut self, at: usize, row: usize) {
        if let Some(block) = self.blocks.last_mut()
            && block.end.is_none()
        {
            block.end = Some((at, row));
            if block.at >= at {
                self.blocks.pop();
            }
        }
    }

    /// Registers the code block that the last line has opened, if it names a language; `row`
    /// follows that line.
    pub(super) fn open_block(&mut self, row: usize) {
        if let Some(fence) = self.state.fence.as_ref().filter(|fence| fence.is_named()) {
            self.blocks.push(Block {
                at: fence.at,
                row,
                end: None,
                indent: fence.indent,
                from: code::From::Start(fence.info.clone()),
            });
        }
    }

    /// Returns the next code in some rows to highlight, if any; [`Markdown::set_colours`] applies
    /// the result of the request with this `number`, which must be new.
    ///
    /// One request is pending at a time. Only lines that were rendered are highlighted, and the
    /// last one only once it is complete or the text is.
    pub fn next_code(&mut self, rows: &Range<usize>, number: u64) -> Option<Code> {
        if self.asked.is_some() {
            return None;
        }
        let is_above = |block: &Block| block.end.is_some_and(|end| end.1 <= rows.start);
        let first = self.blocks.partition_point(is_above);
        let mut blocks = self.blocks.get(first..)?.iter();
        let (lines, asked) = blocks
            .by_ref()
            .take_while(|block| block.row < rows.end)
            .find_map(|block| self.lines_of(block, rows, number))?;
        #[cfg(test)]
        {
            self.spent += lines.text.len();
        }
        self.asked = Some(asked);
        Some(Code::Lines(lines))
    }

    /// Returns the next lines of a block, up to the last of `rows`.
    fn lines_of(
        &self,
        block: &Block,
        rows: &Range<usize>,
        number: u64,
    ) -> Option<(code::Lines, Asked)> {
        let end = block.end.map_or(self.state.at, |end| end.0);
        let text = self.text.get(block.at..end)?;
        let (mut lines, mut cut) = (Vec::new(), (0, 0));
        for line in CodeLines::of(text, block.indent).take(rows.end.saturating_sub(block.row)) {
            if cut.0 >= REQUEST_BYTES {
                break;
            }
            lines.push(line.code);
            // A line that is too long is never cut.
            if line.ends {
                cut = (line.next, lines.len());
            }
        }
        lines.truncate(cut.1);
        let cut = block.at + cut.0;
        let last = (block.end.is_none() && cut == end && rows.contains(&self.done))
            .then(|| self.last_code(block.indent))
            .flatten();
        if lines.is_empty() && last.is_none() {
            return None;
        }
        let asked = Asked {
            number,
            lines: block.at..cut,
            last: last.as_ref().map(|last| last.end),
        };
        let text_end = last.as_ref().map_or(cut, |last| last.end);
        let lines = code::Lines {
            from: block.from.clone(),
            text: self.text.get(block.at..text_end)?.to_owned(),
            lines,
            last: last.map(|last| last.start - block.at..last.end - block.at),
        };
        Some((lines, asked))
    }

    /// Returns the code of a last line that has no end, unless it is highlighted.
    fn last_code(&self, indent: usize) -> Option<Range<usize>> {
        if !self.finished || self.dirty || !self.is_last_code || self.is_last_lit {
            return None;
        }
        let rest = self.rest();
        let margin = line::dedent(self.text.get(rest.clone())?, indent);
        Some(rest.start + margin..rest.end)
    }

    /// Returns whether the request with this number is pending.
    pub fn awaits(&self, number: u64) -> bool {
        self.asked
            .as_ref()
            .is_some_and(|asked| asked.number == number)
    }

    /// Applies the highlights of the request `number`, or records that there are none. The next
    /// render returns them.
    pub fn set_colours(&mut self, number: u64, colours: Option<Colours>) {
        let Some(asked) = self.asked.take_if(|asked| asked.number == number) else {
            return;
        };
        let is_it = |block: &Block| block.at == asked.lines.start;
        let Some(index) = self.blocks.iter().position(is_it) else {
            return;
        };
        let (Some(block), Some(Colours::Lines(colours))) = (self.blocks.get_mut(index), colours)
        else {
            self.blocks.remove(index);
            return;
        };
        let start = block.row;
        let indent = block.indent;
        let text = self.text.get(asked.lines.clone()).unwrap_or_default();
        let mut lines: Vec<Line> = CodeLines::of(text, indent)
            .zip(colours.lines)
            .map(|(line, spans)| {
                let all = text.get(line.all.clone()).unwrap_or_default();
                let margin = line.code.start - line.all.start;
                Line::new(all, shift(spans, margin).collect())
            })
            .collect();
        block.row += lines.len();
        block.at = asked.lines.end;
        block.from = colours.next;
        if block.end.is_some_and(|end| end.0 <= block.at) {
            self.blocks.remove(index);
        }
        // More text may have come since.
        if asked.last == Some(self.text.len())
            && let Some(code) = self.last_code(indent)
            && let Some(last) = self.tail.last_mut()
        {
            self.is_last_lit = true;
            let margin = last.text.len().saturating_sub(code.len());
            last.spans = shift(colours.last, margin).collect();
            lines.push(last.clone());
        }
        if lines.iter().any(|line| !line.spans.is_empty()) {
            self.lit.push(Change {
                start,
                removed: lines.len(),
                lines,
                is_lit: true,
            });
        }
    }
}

impl Fence {
    /// Returns whether the block names a language, which may be unknown.
    pub fn is_named(&self) -> bool {
        !self.info.trim().is_empty()
    }
}

/// The lines of a code block, as the screen shows them: a line that is too long is several.
struct CodeLines<'a> {
    text: &'a str,
    indent: usize,
    at: usize,
    searched: usize,
    in_long_line: bool,
}

struct CodeLine {
    /// Its bytes.
    all: Range<usize>,
    /// Those without the indentation of the block; none if the line is too long.
    code: Range<usize>,
    /// The start of the next line.
    next: usize,
    /// It is not a part of a line that goes on.
    ends: bool,
}

impl<'a> CodeLines<'a> {
    fn of(text: &'a str, indent: usize) -> Self {
        Self {
            text,
            indent,
            at: 0,
            searched: 0,
            in_long_line: false,
        }
    }
}

impl Iterator for CodeLines<'_> {
    type Item = CodeLine;

    fn next(&mut self) -> Option<CodeLine> {
        let piece = Piece::next(self.text, self.at, &mut self.searched)?;
        let is_long = self.in_long_line || !piece.ends_line;
        self.in_long_line = !piece.ends_line;
        self.at = piece.next;
        let all = piece.text;
        let code = match self.text.get(all.clone()) {
            Some(text) if !is_long => all.start + line::dedent(text, self.indent)..all.end,
            _ => all.start..all.start,
        };
        Some(CodeLine {
            all,
            code,
            next: piece.next,
            ends: piece.ends_line,
        })
    }
}
