//! The transcript on the screen: entries as lines, and the smallest changes that update the chat's
//! buffer.
//!
//! Invariants: the buffer contains the entries' lines in order, with the children of a tool call
//! inside its block; a clean entry is never rendered again; the changes of a frame are bounded by
//! its [`FrameSize`], and each rendering step by `SLICE`.

mod block;
mod order;

use std::ops::Range;
use std::path::Path;

use self::block::{Block, Kin, Site};
use self::order::{Order, Slot};
use crate::code::Code;
use crate::conversation::transcript::{Entry, Transcript};
use crate::render::ops::Ops;
use crate::render::toolview;
use crate::spine::effect::Level;
use crate::spine::view::{FoldState, FrameSize, Line};

/// Size of a rendering step, in units of [`crate::render::markdown::Markdown::render`]: usually a
/// fraction of a millisecond. Between steps the core can handle other events.
const SLICE: usize = 128;

/// Bytes of text that count as one unit.
const UNIT_BYTES: usize = 128;

/// The remaining budget of a frame.
#[derive(Debug)]
pub struct Budget {
    bytes: usize,
    /// Remaining units of this slice.
    slice: usize,
}

impl Budget {
    pub fn new(size: FrameSize) -> Self {
        Self {
            bytes: size.0,
            slice: 0,
        }
    }

    /// Returns whether another slice may be rendered.
    pub fn is_left(&self) -> bool {
        self.bytes > 0
    }

    fn begin_slice(&mut self) {
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

/// The context of rendering.
pub struct Means<'a> {
    pub budget: &'a mut Budget,
    pub ops: &'a mut Ops,
    /// The session's folder.
    pub cwd: &'a Path,
}

/// The part of a transcript that is on the screen.
#[derive(Debug, Default)]
pub struct ChatView {
    blocks: Vec<Block>,
    order: Order,
    /// The rows that a window shows.
    seen: Range<usize>,
    /// How often the buffer was emptied.
    life: u32,
}

impl ChatView {
    /// Resets the view: the next frame renders everything again.
    pub fn reset(&mut self, transcript: &mut Transcript) {
        self.life += 1;
        self.blocks.clear();
        self.order = Order::default();
        for index in 0..transcript.entries().len() {
            restart(transcript, index);
        }
        transcript.set_all_dirty();
    }

    /// Returns how often the buffer was emptied.
    pub fn life(&self) -> u32 {
        self.life
    }

    /// Returns all folds, for a window that has none yet; outer folds precede inner ones.
    pub fn folds(&self) -> Vec<(usize, usize, FoldState)> {
        let mut start = 0;
        let mut folds = Vec::new();
        for slot in self.order.slots() {
            if let Slot::Head(entry) = slot
                && let Some(block) = self.blocks.get(*entry)
                && let Some(state) = block.fold
            {
                let first = start + usize::from(block.lead);
                let end = start + block.rows + self.rows(self.order.below(*entry));
                folds.push((first, end + usize::from(block.tail), state));
            }
            start += self.rows_of(slot);
        }
        folds
    }

    /// Renders a slice of the dirty entries; returns whether more are left.
    pub fn render(&mut self, transcript: &mut Transcript, means: &mut Means<'_>) -> bool {
        means.budget.begin_slice();
        self.place(transcript, means.ops);
        let mut dirty: Vec<usize> = transcript.dirty().iter().copied().collect();
        dirty.sort_unstable_by_key(|&entry| self.order.head(entry));
        let mut start = 0;
        let mut passed = 0;
        for index in dirty {
            if !means.budget.is_slice_left() {
                return true;
            }
            let head = self.order.head(index);
            start += self.rows(passed..head);
            passed = head;
            let site = Site {
                start,
                below: self.rows(self.order.below(index)),
                lead: wants_lead(transcript, index),
                kin: Kin::of(transcript, index),
            };
            let Some(block) = self.blocks.get_mut(index) else {
                continue;
            };
            let Some(entry) = transcript.entry_mut(index) else {
                continue;
            };
            if !block.sync(entry, &site, means) {
                return true;
            }
            transcript.set_clean(index);
        }
        false
    }

    /// Creates blocks for new entries, and removes entries that have moved: they are inserted again
    /// at their new position.
    fn place(&mut self, transcript: &mut Transcript, ops: &mut Ops) {
        let moved = transcript.take_moved();
        let known = self.order.entries();
        let is_known = |entry: &&usize| **entry < known;
        for &entry in moved.iter().filter(is_known) {
            self.take_away(entry, transcript, ops);
        }
        let mut is_arranged = !moved.iter().any(|entry| *entry < known);
        while self.order.entries() < transcript.entries().len() {
            is_arranged &= self.order.add(transcript.family());
            self.blocks.push(Block::default());
        }
        if !is_arranged {
            self.order.arrange(transcript.family());
        }
    }

    fn take_away(&mut self, entry: usize, transcript: &mut Transcript, ops: &mut Ops) {
        let start = self.rows(0..self.order.head(entry));
        let below = self.order.below(entry);
        let slots = below.start.saturating_sub(1)..below.end + 1;
        let rows = self.rows(slots.clone());
        if rows > 0 {
            ops.splice(start, rows, Vec::new());
        }
        for slot in self.order.slots().get(slots).unwrap_or_default() {
            if let Slot::Head(gone) = *slot {
                if let Some(block) = self.blocks.get_mut(gone) {
                    *block = Block::default();
                }
                restart(transcript, gone);
                transcript.set_dirty(gone);
            }
        }
        // The blank line before an entry depends on the entry before it.
        transcript.set_siblings_dirty(entry);
    }

    /// Sets the rows that a window shows.
    pub fn set_seen(&mut self, rows: Range<usize>) {
        self.seen = rows;
    }

    /// Returns the next code to highlight and its entry: in the rows that a window shows, then a
    /// window's height around them.
    pub fn next_code(&self, transcript: &mut Transcript, number: u64) -> Option<(usize, Code)> {
        let height = self.seen.len();
        let near = self.seen.start.saturating_sub(height)..self.seen.end + height;
        [&self.seen, &near]
            .into_iter()
            .find_map(|rows| self.code_in(rows, transcript, number))
    }

    fn code_in(
        &self,
        rows: &Range<usize>,
        transcript: &mut Transcript,
        number: u64,
    ) -> Option<(usize, Code)> {
        let mut start = 0;
        for slot in self.order.slots() {
            if start >= rows.end {
                break;
            }
            let end = start + self.rows_of(slot);
            if let Slot::Head(index) = *slot
                && end > rows.start
                && let Some(block) = self.blocks.get(index)
                && let Some(entry) = transcript.entry_mut(index)
                && let Some(code) = block.next_code(entry, start, rows, number)
            {
                return Some((index, code));
            }
            start = end;
        }
        None
    }

    fn rows_of(&self, slot: &Slot) -> usize {
        match slot {
            Slot::Head(entry) => self.blocks.get(*entry).map_or(0, |block| block.rows),
            Slot::Tail(entry) => {
                let block = self.blocks.get(*entry);
                block.map_or(0, |block| usize::from(block.tail))
            }
        }
    }

    fn rows(&self, slots: Range<usize>) -> usize {
        let slots = self.order.slots().get(slots).unwrap_or_default();
        slots.iter().map(|slot| self.rows_of(slot)).sum()
    }
}

fn restart(transcript: &mut Transcript, index: usize) {
    if let Some(Entry::User(message) | Entry::Agent(message) | Entry::Thought(message)) =
        transcript.entry_mut(index)
    {
        message.markdown.restart();
    }
}

/// Returns whether a blank line precedes an entry: always, except between tool calls and before the
/// first child of a call.
fn wants_lead(transcript: &Transcript, index: usize) -> bool {
    let entries = transcript.entries();
    let family = transcript.family();
    let before = match family.parent(index) {
        Some(above) => {
            let siblings = family.children(above);
            let at = siblings.partition_point(|sibling| *sibling < index);
            at.checked_sub(1).and_then(|at| siblings.get(at).copied())
        }
        None => (0..index)
            .rev()
            .find(|&other| family.parent(other).is_none()),
    };
    let is_tool = |entry: Option<&Entry>| matches!(entry, Some(Entry::Tool(_)));
    before.is_some_and(|before| !is_tool(entries.get(before)) || !is_tool(entries.get(index)))
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
