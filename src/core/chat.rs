//! The transcript on the screen: entries as lines, and the smallest changes that bring the
//! chat's buffer up to date.
//!
//! Invariants: the buffer is the entries' lines one after another; a clean entry is never
//! touched again; what one frame changes is bounded by `FRAME_BYTES`, and what is rendered at
//! a time by `SLICE`.

use super::effect::Level;
use super::markdown::{Change, Languages};
use super::ops::Ops;
use super::plan;
use super::rawview;
use super::toolview;
use super::transcript::{Entry, Message, ToolCall, Transcript};
use super::view::{Line, Span};

/// How much text one frame may bring, so that applying it takes a few milliseconds at most.
const FRAME_BYTES: usize = 64 * 1024;

/// How much is rendered at a time, in units of [`super::markdown::Markdown::render`]: a few
/// lines of code, most often a fraction of a millisecond. In between the core may answer whoever
/// asks.
const SLICE: usize = 256;

/// What one unit is in bytes of text that is not highlighted.
const UNIT_BYTES: usize = 128;

/// The slices of one frame: it shall not be late because there is much to highlight.
const FRAME_SLICES: usize = 16;

/// How often that doubles while each frame leaves something for the next: who is far behind
/// catches up in few frames, since each one costs the editor a drawing of the screen.
const MAX_DOUBLINGS: u32 = 4;

/// What one frame may still bring.
#[derive(Debug)]
pub struct Budget {
    bytes: usize,
    slices: usize,
    /// Units that are left of this slice.
    slice: usize,
}

impl Budget {
    /// Returns the budget of a frame after `behind` frames that left something over.
    pub fn new(behind: u32) -> Self {
        Self {
            bytes: FRAME_BYTES,
            slices: FRAME_SLICES << behind.min(MAX_DOUBLINGS),
            slice: 0,
        }
    }

    /// Returns whether another slice may be rendered.
    pub fn is_left(&self) -> bool {
        self.bytes > 0 && self.slices > 0
    }

    fn begin_slice(&mut self) {
        self.slices = self.slices.saturating_sub(1);
        self.slice = SLICE;
    }

    fn is_slice_left(&self) -> bool {
        self.bytes > 0 && self.slice > 0
    }

    fn spend(&mut self, lines: &[Line]) {
        let bytes: usize = lines.iter().map(|line| line.text.len() + 1).sum();
        self.bytes = self.bytes.saturating_sub(bytes.max(1));
        self.slice = self.slice.saturating_sub(1 + bytes / UNIT_BYTES);
    }
}

/// What of a transcript is on the screen.
#[derive(Debug, Default)]
pub struct ChatView {
    blocks: Vec<Block>,
}

/// The lines of one entry as the buffer has them.
#[derive(Debug, Default)]
struct Block {
    /// A blank line stands before the entry.
    lead: bool,
    rows: usize,
    /// The lines of entries that are rendered whole; empty for messages, which stream.
    lines: Vec<Line>,
    folded: bool,
}

impl ChatView {
    /// Forgets what is on the screen: the next frame brings everything again.
    pub fn reset(&mut self, transcript: &mut Transcript) {
        self.blocks.clear();
        for index in 0..transcript.entries().len() {
            if let Some(Entry::User(message) | Entry::Agent(message) | Entry::Thought(message)) =
                transcript.entry_mut(index)
            {
                message.markdown.restart();
            }
        }
        transcript.set_all_dirty();
    }

    /// Returns the folds of everything on the screen, for a window that has none yet.
    pub fn folds(&self) -> Vec<(usize, usize)> {
        let mut start = 0;
        let mut folds = Vec::new();
        for block in &self.blocks {
            let first = start + usize::from(block.lead);
            start += block.rows;
            if block.folded {
                folds.push((first, start));
            }
        }
        folds
    }

    /// Renders a slice of what is dirty; `true` when more is left.
    pub fn render(
        &mut self,
        transcript: &mut Transcript,
        budget: &mut Budget,
        languages: &mut Languages,
        ops: &mut Ops,
    ) -> bool {
        budget.begin_slice();
        let dirty: Vec<usize> = transcript.dirty().iter().copied().collect();
        let mut start = 0;
        let mut passed = 0;
        for index in dirty {
            if !budget.is_slice_left() {
                return true;
            }
            self.make_blocks(transcript, index);
            start += rows(&self.blocks, passed..index);
            passed = index;
            let Some(block) = self.blocks.get_mut(index) else {
                continue;
            };
            let Some(entry) = transcript.entry_mut(index) else {
                continue;
            };
            if !block.sync(entry, start, budget, languages, ops) {
                return true;
            }
            transcript.set_clean(index);
        }
        false
    }

    fn make_blocks(&mut self, transcript: &Transcript, upto: usize) {
        let entries = transcript.entries();
        for index in self.blocks.len()..=upto {
            let previous = index.checked_sub(1).and_then(|index| entries.get(index));
            let entry = entries.get(index);
            let is_among_tools = matches!(
                (previous, entry),
                (Some(Entry::Tool(_)), Some(Entry::Tool(_)))
            );
            let lead = previous.is_some() && !is_among_tools;
            self.blocks.push(Block {
                lead,
                ..Block::default()
            });
        }
    }
}

fn rows(blocks: &[Block], range: std::ops::Range<usize>) -> usize {
    blocks
        .get(range)
        .map_or(0, |blocks| blocks.iter().map(|block| block.rows).sum())
}

impl Block {
    /// Brings the buffer up to date with one entry; `false` when the budget ended first.
    fn sync(
        &mut self,
        entry: &mut Entry,
        start: usize,
        budget: &mut Budget,
        languages: &mut Languages,
        ops: &mut Ops,
    ) -> bool {
        if self.lead && self.rows == 0 {
            ops.splice(start, 0, vec![Line::default()]);
            self.rows = 1;
        }
        let first = start + usize::from(self.lead);
        match entry {
            Entry::User(message) => {
                self.sync_message(message, Style::User, first, budget, languages, ops)
            }
            Entry::Agent(message) => {
                self.sync_message(message, Style::Plain, first, budget, languages, ops)
            }
            Entry::Thought(message) => {
                self.sync_message(message, Style::Thought, first, budget, languages, ops)
            }
            Entry::Tool(tool) => self.sync_tool(tool, first, budget, languages, ops),
            Entry::Plan(plan) => self.sync_whole(plan::lines(plan), Fold::None, first, budget, ops),
            Entry::Notice { level, text } => {
                self.sync_whole(notice_lines(*level, text), Fold::None, first, budget, ops)
            }
            Entry::Along { head, lines } => {
                let mut all = vec![toolview::whole_line(head.clone(), "AcpNotice")];
                all.extend(lines.iter().cloned());
                self.sync_whole(all, Fold::Below, first, budget, ops)
            }
            Entry::Unknown { kind, raw } => {
                let mut lines = vec![toolview::whole_line(
                    format!("? update of an unknown kind: {kind}"),
                    "AcpDim",
                )];
                lines.extend(rawview::json_lines(raw));
                self.sync_whole(lines, Fold::Below, first, budget, ops)
            }
        }
    }

    /// Streams a message: only what its markdown says has changed goes to the buffer.
    fn sync_message(
        &mut self,
        message: &mut Message,
        style: Style,
        first: usize,
        budget: &mut Budget,
        languages: &mut Languages,
        ops: &mut Ops,
    ) -> bool {
        let body = if style == Style::Thought {
            self.fold_header(first, ops);
            first + 1
        } else {
            first
        };
        while budget.is_slice_left()
            && let Some(change) = message.markdown.render(budget.slice, languages)
        {
            let Change {
                start,
                removed,
                mut lines,
            } = change;
            budget.spend(&lines);
            for (row, line) in (start..).zip(&mut lines) {
                style.decorate(row, line);
            }
            self.rows = self.rows - removed.min(self.rows) + lines.len();
            ops.splice(body + start, removed, lines);
            if message.markdown.is_dirty() {
                // Highlighting has used up the slice.
                budget.slice = 0;
            }
        }
        if style == Style::Thought && !self.folded {
            self.folded = true;
            let end = first + self.rows - usize::from(self.lead);
            ops.fold(first, end);
        }
        !message.markdown.is_dirty()
    }

    /// Brings a tool call up to date; its texts are plain where rendering has not come to them.
    fn sync_tool(
        &mut self,
        tool: &mut ToolCall,
        first: usize,
        budget: &mut Budget,
        languages: &mut Languages,
        ops: &mut Ops,
    ) -> bool {
        let is_rendered = tool.texts.render(budget.slice, languages);
        // In between it stays as it is: it is compared as a whole.
        if is_rendered || self.lines.is_empty() {
            self.sync_whole(toolview::lines(tool), Fold::Below, first, budget, ops);
        }
        if !is_rendered {
            budget.slice = 0;
        }
        is_rendered
    }

    /// Puts down the header of a thought and the blank line that ends its fold: lines that come
    /// later go in between, so that the fold grows with them.
    fn fold_header(&mut self, first: usize, ops: &mut Ops) {
        if self.rows > usize::from(self.lead) {
            return;
        }
        let header = toolview::whole_line("∴ Thought".into(), "AcpThought");
        ops.splice(first, 0, vec![header, Line::default()]);
        self.rows += 2;
    }

    /// Replaces an entry's lines where they differ from what the buffer has.
    fn sync_whole(
        &mut self,
        mut lines: Vec<Line>,
        fold: Fold,
        first: usize,
        budget: &mut Budget,
        ops: &mut Ops,
    ) -> bool {
        if fold == Fold::Below && lines.len() > 1 {
            lines.push(Line::default());
        }
        let same = |(old, new): &(&Line, &Line)| old == new;
        let head = self.lines.iter().zip(&lines).take_while(same).count();
        let rest = self.lines.len().min(lines.len()) - head;
        let tail = self.lines.iter().rev().zip(lines.iter().rev());
        let tail = tail.take(rest).take_while(same).count();
        let removed = self.lines.len() - head - tail;
        let new: Vec<Line> = lines
            .get(head..lines.len() - tail)
            .unwrap_or_default()
            .to_vec();
        if removed > 0 || !new.is_empty() {
            budget.spend(&new);
            ops.splice(first + head, removed, new);
        }
        self.rows = self.rows - self.lines.len() + lines.len();
        if lines.len() <= 1 {
            self.folded = false;
        } else if fold == Fold::Below && !self.folded {
            self.folded = true;
            let end = first + lines.len();
            ops.fold(first, end);
        }
        self.lines = lines;
        true
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fold {
    None,
    /// Everything below the first line.
    Below,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    User,
    Thought,
}

impl Style {
    /// Adds what tells the speakers apart to a line of a message.
    fn decorate(self, row: usize, line: &mut Line) {
        let (mark, group) = match self {
            Style::Plain => return,
            Style::User => (if row == 0 { "❯ " } else { "  " }, "AcpUser"),
            Style::Thought => ("  ", "AcpThought"),
        };
        line.text.insert_str(0, mark);
        let shift = u32::try_from(mark.len()).unwrap_or(0);
        for span in &mut line.spans {
            span.start += shift;
            span.end += shift;
        }
        let end = u32::try_from(line.text.len()).unwrap_or(u32::MAX);
        let start = if self == Style::User { shift } else { 0 };
        line.spans.insert(0, Span { start, end, group });
        if self == Style::User && row == 0 {
            let group = "AcpUserMark";
            line.spans.insert(
                0,
                Span {
                    start: 0,
                    end: shift,
                    group,
                },
            );
        }
    }
}

fn notice_lines(level: Level, text: &str) -> Vec<Line> {
    let group = match level {
        Level::Debug | Level::Info => "AcpNotice",
        Level::Warn => "AcpWarning",
        Level::Error => "AcpError",
    };
    text.lines()
        .map(|line| toolview::whole_line(line.to_owned(), group))
        .collect()
}
