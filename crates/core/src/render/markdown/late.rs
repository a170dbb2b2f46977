//! Code whose language comes late: its lines are rendered plainly first, and again when the
//! language is there.
//!
//! Invariant: the lines of a fence keep their rows, so a change here replaces lines one by one;
//! before anything new is rendered, an open fence has caught up.

use super::code::Code;
use super::languages::Languages;
use super::state::{Out, Piece, State};
use super::{Change, Markdown};

/// A fence whose lines are plain.
#[derive(Debug, Clone)]
pub(super) struct Late {
    /// What is known at the first of its lines that are still plain.
    state: State,
    /// The row of that line.
    row: usize,
}

impl Late {
    /// Returns where the fence's first line starts.
    fn at(&self) -> Option<usize> {
        self.state.fence.as_ref().map(|fence| fence.at)
    }

    fn is_waiting(&self) -> bool {
        let fence = self.state.fence.as_ref();
        fence.is_some_and(|fence| fence.code.is_waiting())
    }

    /// Looks whether the language is there.
    fn look(&mut self, languages: &Languages) {
        if let Some(fence) = &mut self.state.fence
            && fence.code.is_waiting()
        {
            fence.code = Code::new(languages.find(&fence.info));
        }
    }
}

impl Markdown {
    /// Asks for the language of the fence that was opened last, if it is not there.
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

    /// Renders again what was plain and need not be, up to the limit, fence by fence.
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

    /// Renders lines of the fence up to its end or to where the rest of the text has come;
    /// `false` when the limit came first.
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
                // That line was none of the fence's.
                out.lines.truncate(rows);
                return true;
            }
        }
        true
    }
}

/// Returns the change that gives lines which were plain, from `row`, their spans.
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
