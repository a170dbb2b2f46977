//! The lines of one entry in the chat's buffer.
//!
//! Invariant: only the lines that differ are sent to the buffer, so that unchanged lines keep their
//! folds.

use std::ops::Range;

use super::{Means, notice_lines};
use crate::code::Code;
use crate::conversation::plan;
use crate::conversation::transcript::{Entry, Message, Transcript};
use crate::render::markdown::Change;
use crate::render::rawview;
use crate::render::toolcall::ToolCall;
use crate::render::toolview::{self, Look};
use crate::spine::view::{FoldState, Line, Link, Span};

/// Maximum depth of indentation.
const MAX_DEPTH: usize = 6;

#[derive(Debug, Default)]
pub(super) struct Block {
    /// A blank line precedes the entry.
    pub lead: bool,
    /// The number of the entry's rows, with the blank line before it.
    pub rows: usize,
    /// A blank line ends the entry and its children: later lines are inserted before it, so that
    /// the fold grows with them.
    pub tail: bool,
    /// The fold state that was sent last; the user may have changed it since.
    pub fold: Option<FoldState>,
    /// The lines of entries that are rendered whole; empty for messages, which are streamed.
    lines: Vec<Line>,
}

/// The position of an entry.
pub(super) struct Site {
    /// Its first row.
    pub start: usize,
    /// The number of its children's rows.
    pub below: usize,
    /// A blank line must precede it.
    pub lead: bool,
    pub kin: Kin,
}

/// The relation of an entry to its parent and children.
pub(super) struct Kin {
    entry: u32,
    /// The parent tool call.
    above: Option<u32>,
    depth: usize,
    has_below: bool,
    /// The number of its child tool calls, and of the unfinished ones among them.
    calls: (usize, usize),
}

impl Kin {
    pub fn of(transcript: &Transcript, index: usize) -> Self {
        let number = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        let family = transcript.family();
        let below = family.children(index);
        let calls = below
            .iter()
            .filter_map(|&child| match transcript.entries().get(child) {
                Some(Entry::Tool(tool)) => Some(usize::from(tool.is_open())),
                _ => None,
            });
        Self {
            entry: number(index),
            above: family.parent(index).map(number),
            depth: family.above(index).take(MAX_DEPTH).count(),
            has_below: !below.is_empty(),
            calls: calls.fold((0, 0), |(all, open), is_open| (all + 1, open + is_open)),
        }
    }

    /// Indents a line to the entry's depth; a line without a link gets one to the parent call.
    fn settle(&self, line: &mut Line) {
        line.indent(&"  ".repeat(self.depth));
        let above = self.above.map(|entry| Link::Part { entry });
        line.link = line.link.take().or(above);
    }
}

impl Block {
    /// Updates the buffer for one entry; returns `false` if the budget ran out first.
    pub fn sync(&mut self, entry: &mut Entry, site: &Site, means: &mut Means<'_>) -> bool {
        self.sync_lead(site, means);
        let first = site.start + usize::from(self.lead);
        match entry {
            Entry::User(message) => self.sync_message(message, Style::User, first, site, means),
            Entry::Agent(message) => self.sync_message(message, Style::Plain, first, site, means),
            Entry::Thought(message) => {
                self.sync_message(message, Style::Thought, first, site, means)
            }
            Entry::Tool(tool) => self.sync_tool(tool, first, site, means),
            Entry::Plan(plan) => self.sync_whole(plan::lines(plan), Fold::None, first, means),
            Entry::Notice { level, text } => {
                self.sync_whole(notice_lines(*level, text), Fold::None, first, means)
            }
            Entry::Along { head, lines } => {
                let mut all = vec![toolview::whole_line(head.clone(), "AcpNotice")];
                all.extend(lines.iter().cloned());
                self.sync_whole(all, Fold::Below, first, means)
            }
            Entry::Unknown { kind, raw } => {
                let mut lines = vec![toolview::whole_line(
                    format!("? update of an unknown kind: {kind}"),
                    "AcpDim",
                )];
                lines.extend(rawview::json_lines(raw));
                self.sync_whole(lines, Fold::Below, first, means)
            }
        }
    }

    /// Returns the next code to highlight in some rows of the buffer; the entry begins at `start`.
    pub fn next_code(
        &self,
        entry: &mut Entry,
        start: usize,
        rows: &Range<usize>,
        number: u64,
    ) -> Option<Code> {
        let (message, header) = match entry {
            Entry::Tool(tool) => return tool.texts.next_code(number),
            Entry::User(message) | Entry::Agent(message) => (message, 0),
            Entry::Thought(message) => (message, 1),
            Entry::Plan(_) | Entry::Notice { .. } | Entry::Along { .. } | Entry::Unknown { .. } => {
                return None;
            }
        };
        let body = start + usize::from(self.lead) + header;
        let rows = rows.start.saturating_sub(body)..rows.end.saturating_sub(body);
        message.markdown.next_code(&rows, number)
    }

    fn sync_lead(&mut self, site: &Site, means: &mut Means<'_>) {
        if site.lead && !self.lead {
            let mut line = Line::default();
            site.kin.settle(&mut line);
            line.text.clear();
            means.ops.splice(site.start, 0, vec![line]);
            self.rows += 1;
        } else if self.lead && !site.lead {
            means.ops.splice(site.start, 1, Vec::new());
            self.rows -= 1;
        }
        self.lead = site.lead;
    }

    /// Streams a message: only the lines that its markdown has changed are sent.
    fn sync_message(
        &mut self,
        message: &mut Message,
        style: Style,
        first: usize,
        site: &Site,
        means: &mut Means<'_>,
    ) -> bool {
        let body = if style == Style::Thought {
            self.fold_header(first, site, means);
            first + 1
        } else {
            first
        };
        while means.budget.is_slice_left()
            && let Some(change) = message.markdown.render(means.budget.slice)
        {
            let Change {
                start,
                removed,
                mut lines,
                is_lit,
            } = change;
            means.budget.spend(&lines);
            for (row, line) in (start..).zip(&mut lines) {
                style.decorate(row, line);
                site.kin.settle(line);
            }
            if is_lit {
                let spans = lines.into_iter().map(|line| line.spans);
                means.ops.colour(body + start, spans.collect());
            } else {
                self.rows = self.rows - removed.min(self.rows) + lines.len();
                means.ops.splice(body + start, removed, lines);
            }
        }
        if style == Style::Thought && self.fold.is_none() {
            self.fold = Some(FoldState::Closed);
            let end = first + self.rows - usize::from(self.lead);
            means.ops.fold(first, end, FoldState::Closed);
        }
        !message.markdown.is_dirty()
    }

    /// Updates a tool call; its texts are shown plain until they are rendered.
    fn sync_tool(
        &mut self,
        tool: &mut ToolCall,
        first: usize,
        site: &Site,
        means: &mut Means<'_>,
    ) -> bool {
        let kin = &site.kin;
        let is_rendered = tool.texts.render(means.budget.slice);
        // It is compared as a whole, so it is not updated while rendering is incomplete.
        if is_rendered || self.lines.is_empty() {
            let look = Look {
                entry: kin.entry,
                cwd: means.cwd,
                calls: kin.calls,
            };
            let mut lines = toolview::lines(tool, &look);
            for line in &mut lines {
                line.indent(&"  ".repeat(kin.depth));
            }
            let has_tail = lines.len() > 1 || kin.has_below;
            let state = toolview::fold(tool, &look, lines.len());
            self.splice(lines, first, means);
            self.sync_tail(has_tail, first, site, means);
            self.sync_fold(state, first, site, means);
        }
        if !is_rendered {
            means.budget.slice = 0;
        }
        is_rendered
    }

    fn sync_tail(&mut self, has_tail: bool, first: usize, site: &Site, means: &mut Means<'_>) {
        let at = first + self.lines.len() + site.below;
        if has_tail && !self.tail {
            let link = Link::Part {
                entry: site.kin.entry,
            };
            means.ops.splice(at, 0, vec![Line::default().linked(link)]);
        } else if self.tail && !has_tail {
            means.ops.splice(at, 1, Vec::new());
        }
        self.tail = has_tail;
    }

    /// Creates the fold of a tool call, or opens or closes it when the call's state requires it;
    /// otherwise the user's choice stays.
    fn sync_fold(&mut self, state: FoldState, first: usize, site: &Site, means: &mut Means<'_>) {
        let end = first + self.lines.len() + site.below + usize::from(self.tail);
        match (self.tail, self.fold) {
            (false, _) => self.fold = None,
            (true, None) => {
                self.fold = Some(state);
                means.ops.fold(first, end, state);
            }
            (true, Some(before)) if before != state => {
                self.fold = Some(state);
                means.ops.turn_fold(first, end, state);
            }
            (true, Some(_)) => {}
        }
    }

    /// Inserts the header of a thought and the blank line that ends its fold: later lines are
    /// inserted between the two, so that the fold grows with them.
    fn fold_header(&mut self, first: usize, site: &Site, means: &mut Means<'_>) {
        if self.rows > usize::from(self.lead) {
            return;
        }
        let mut lines = vec![
            toolview::whole_line("∴ Thought".into(), "AcpThought"),
            Line::default(),
        ];
        lines.iter_mut().for_each(|line| site.kin.settle(line));
        means.ops.splice(first, 0, lines);
        self.rows += 2;
    }

    /// Replaces an entry's lines, and creates their fold.
    fn sync_whole(
        &mut self,
        mut lines: Vec<Line>,
        fold: Fold,
        first: usize,
        means: &mut Means<'_>,
    ) -> bool {
        if fold == Fold::Below && lines.len() > 1 {
            lines.push(Line::default());
        }
        let count = lines.len();
        self.splice(lines, first, means);
        if count <= 1 {
            self.fold = None;
        } else if fold == Fold::Below && self.fold.is_none() {
            self.fold = Some(FoldState::Closed);
            means.ops.fold(first, first + count, FoldState::Closed);
        }
        true
    }

    /// Replaces those of an entry's lines that differ from the buffer's.
    fn splice(&mut self, lines: Vec<Line>, first: usize, means: &mut Means<'_>) {
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
            means.budget.spend(&new);
            means.ops.splice(first + head, removed, new);
        }
        self.rows = self.rows - self.lines.len() + lines.len();
        self.lines = lines;
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
    /// Adds the speaker's mark and highlights to a line of a message.
    fn decorate(self, row: usize, line: &mut Line) {
        let (mark, group) = match self {
            Style::Plain => return,
            Style::User => (if row == 0 { "❯ " } else { "  " }, "AcpUser"),
            Style::Thought => ("  ", "AcpThought"),
        };
        line.prepend(mark);
        let shift = u32::try_from(mark.len()).unwrap_or(0);
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
