//! Code whose language is loaded late: its lines are rendered without highlights first, and again
//! once the language is loaded.
//!
//! Invariant: the lines of a fence keep their rows, so a change here replaces lines one by one; an
//! open fence catches up before new text is rendered.

use super::code::Code;
use super::languages::Languages;
use super::state::{Out, Piece, State};
use super::{Change, Markdown};

/// A fence with lines not yet highlighted.
#[derive(Debug, Clone)]
pub(super) struct Late {
    /// The state at the first of those lines.
    state: State,
    /// The row of that line.
    row: usize,
}

impl Late {
    /// Returns the start of the fence's first line.
    fn at(&self) -> Option<usize> {
        self.state.fence.as_ref().map(|fence| fence.at)
    }

    fn is_waiting(&self) -> bool {
        let fence = self.state.fence.as_ref();
        fence.is_some_and(|fence| fence.code.is_waiting())
    }

    /// Checks whether the language is loaded.
    fn look(&mut self, languages: &Languages) {
        if let Some(fence) = &mut self.state.fence
            && fence.code.is_waiting()
        {
            fence.code = Code::new(languages.find(&fence.info));
        }
    }
}

impl Markdown {
    /// Requests the language of the last opened fence, if it is not loaded.
    pub(super) fn note_late(&mut self, row: usize, languages: &mut Languages) {
        let Some(fence) = &self.state.fence else {
            return;
        };
        let known = self.late.last().and_then(Late::at) == Some(fence.at);
        if fence.code.is_waiting() && !known {
            languages.want(&fence.info);
            self.late.push(Late {
                state: self.state.clone(),
                row,
            });
        }
    }

    /// Highlights late fences whose language is loaded, up to the limit.
    pub(super) fn render_late(
        &mut self,
        limit: usize,
        languages: &Languages,
        out: &mut Out,
    ) -> Option<Change> {
        if self.reports != languages.reports() {
            self.reports = languages.reports();
            self.late.iter_mut().for_each(|late| late.look(languages));
        }
        while out.cost < limit
            && let Some(index) = self.late.iter().position(|late| !late.is_waiting())
        {
            let mut late = self.late.remove(index);
            let row = late.row;
            let done = self.catch_up(&mut late, limit, languages, out);
            late.row += out.lines.len();
            if !done {
                self.late.insert(index, late);
            } else if late.state.at >= self.state.at {
                self.state.fence = late.state.fence;
            }
            if let Some(change) = recoloured(row, out) {
                return Some(change);
            }
        }
        None
    }

    /// Renders lines of the fence up to its end or to the end of the rendered text; returns `false`
    /// if the limit is reached first.
    fn catch_up(
        &self,
        late: &mut Late,
        limit: usize,
        languages: &Languages,
        out: &mut Out,
    ) -> bool {
        let fence = late.at();
        let mut searched = 0;
        while late.state.at < self.state.at {
            if out.cost >= limit {
                return false;
            }
            let Some(piece) = Piece::next(&self.text, late.state.at, &mut searched) else {
                return true;
            };
            let rows = out.lines.len();
            late.state.take(&self.text, piece, languages, out);
            if late.at() != fence {
                // This line is not part of the fence.
                out.lines.truncate(rows);
                return true;
            }
        }
        true
    }
}

/// Returns the change that adds spans to plain lines, from `row`.
fn recoloured(row: usize, out: &mut Out) -> Option<Change> {
    let mut lines = std::mem::take(&mut out.lines);
    let head = lines.iter().take_while(|line| line.spans.is_empty());
    let head = head.count();
    lines.drain(..head);
    let plain = |line: &&super::Line| line.spans.is_empty();
    let foot = lines.iter().rev().take_while(plain).count();
    lines.truncate(lines.len() - foot);
    (!lines.is_empty()).then_some(Change {
        start: row + head,
        removed: lines.len(),
        lines,
    })
}
