//! A fake chat buffer, and the checks of its contents.
//!
//! Invariants: changes lie within the buffer; spans lie within their lines, sorted; folds move
//! with the lines as Neovim's do.

use std::cmp::Reverse;
use std::ops::Range;
use std::path::Path;

use crate::conversation::transcript::{Entry, Transcript};
use crate::render::ops::Ops;
use crate::spine::view::{ChatOp, FoldState, FrameSize, Line};
use crate::view::chat::{Budget, ChatView, Means};
use acp::{Content, Role};

/// A transcript as the editor shows it.
#[derive(Debug, Default, PartialEq)]
pub struct Chat {
    pub lines: Vec<Line>,
    /// First row and the row after the last.
    pub folds: Vec<Fold>,
}

/// First row, the row after the last, and the fold's state.
pub type Fold = (usize, usize, FoldState);

/// All rows.
pub const ALL: Range<usize> = 0..usize::MAX / 4;

impl Chat {
    pub fn apply(&mut self, ops: Vec<ChatOp>) {
        let (mut new_folds, mut all_folds) = (Vec::new(), None);
        for op in ops {
            match op {
                ChatOp::Splice {
                    start,
                    removed,
                    lines,
                } => self.splice(start, removed, lines),
                ChatOp::Colours { start, lines } => {
                    for (row, spans) in (start..).zip(lines) {
                        self.lines[row].spans = spans;
                        check_line(&self.lines[row]);
                    }
                }
                ChatOp::Fold { start, end, state } => new_folds.push((start, end, state, false)),
                ChatOp::TurnFold { start, end, state } => new_folds.push((start, end, state, true)),
                ChatOp::AllFolds(folds) => all_folds = Some(folds),
            }
        }
        for (start, end, state, is_known) in new_folds {
            assert!(
                start < end && end <= self.lines.len(),
                "fold {start}..{end}"
            );
            let known = self
                .folds
                .iter()
                .position(|fold| (fold.0, fold.1) == (start, end));
            assert!(
                !is_known || known.is_some(),
                "no fold {start}..{end} to turn"
            );
            if let Some(known) = known {
                self.folds.remove(known);
            }
            self.folds.push((start, end, state));
        }
        // A new window looks like the one before.
        self.folds = all_folds.unwrap_or(std::mem::take(&mut self.folds));
        // A fold precedes the folds inside it.
        self.folds
            .sort_unstable_by_key(|fold| (fold.0, Reverse(fold.1)));
        let fit = |a: &Fold, b: &Fold| a.1 <= b.0 || (a.0 < b.0 && b.1 <= a.1);
        for (at, fold) in self.folds.iter().enumerate() {
            let mut later = self.folds[at + 1..].iter();
            assert!(
                later.all(|other| fit(fold, other)),
                "folds {:?}",
                self.folds
            );
        }
    }

    fn splice(&mut self, start: usize, removed: usize, lines: Vec<Line>) {
        let end = start + removed;
        let rows = self.lines.len();
        assert!(end <= rows, "splice {start}..{end} of {rows} lines");
        lines.iter().for_each(check_line);
        let added = lines.len();
        self.lines.splice(start..end, lines);
        // Replaced rows stay in place; surplus old rows are deleted, surplus new ones inserted
        // below.
        let (cut, more) = (
            start + added.min(removed)..end,
            added.saturating_sub(removed),
        );
        let moved = |row: usize| match row {
            row if row >= cut.end => row - cut.len(),
            row => row.min(cut.start),
        };
        for fold in &mut self.folds {
            (fold.0, fold.1) = (moved(fold.0), moved(fold.1));
            if cut.start <= fold.0 {
                fold.0 += more;
            }
            if cut.start < fold.1 {
                fold.1 += more;
            }
        }
        // Neovim shows no fold of one line.
        self.folds.retain(|(start, end, _)| start + 1 < *end);
    }

    /// Returns the lines as a text.
    pub fn text(&self) -> String {
        let lines: Vec<&str> = self.lines.iter().map(|line| line.text.as_str()).collect();
        lines.join("\n")
    }

    /// Renders a transcript from scratch, and highlights these rows.
    ///
    /// All entries but the last are complete; the last is if `is_complete`.
    pub fn of(transcript: &Transcript, cwd: &Path, is_complete: bool, lit: Range<usize>) -> Self {
        let mut copy = Transcript::default();
        let last = transcript.entries().len();
        for (index, entry) in transcript.entries().iter().enumerate() {
            let said = |copy: &mut Transcript, role, text: &str| {
                let id = Some(format!("entry {index}"));
                copy.chunk(role, id, None, &Content::Text(text.to_owned()));
            };
            match entry {
                Entry::User(message) => said(&mut copy, Role::User, message.markdown.text()),
                Entry::Agent(message) => said(&mut copy, Role::Agent, message.markdown.text()),
                Entry::Thought(message) => said(&mut copy, Role::Thought, message.markdown.text()),
                Entry::Tool(tool) => {
                    copy.push(Entry::Tool(tool.clone()));
                }
                Entry::Plan(plan) => {
                    copy.push(Entry::Plan(plan.clone()));
                }
                Entry::Notice { level, text } => copy.notice(*level, text.clone()),
                Entry::Along { head, lines } => {
                    copy.push(Entry::Along {
                        head: head.clone(),
                        lines: lines.clone(),
                    });
                }
                Entry::Unknown { kind, raw } => {
                    let (kind, raw) = (kind.clone(), raw.clone());
                    copy.push(Entry::Unknown { kind, raw });
                }
            }
            assert_eq!(
                copy.entries().len(),
                index + 1,
                "an entry with nothing in it"
            );
            if let Some(Entry::User(message) | Entry::Agent(message) | Entry::Thought(message)) =
                copy.entry_mut(index)
                && (index + 1 < last || is_complete)
            {
                message.markdown.finish();
            }
        }
        copy.set_family(transcript.family().clone());
        let (mut view, mut chat) = (ChatView::default(), Chat::default());
        view.set_seen(lit);
        loop {
            let mut ops = Ops::default();
            let mut means = Means {
                budget: &mut Budget::new(FrameSize::default()),
                ops: &mut ops,
                cwd,
            };
            let is_more = view.render(&mut copy, &mut means);
            chat.apply(ops.into_ops());
            if is_more {
                continue;
            }
            let Some((entry, code)) = view.next_code(&mut copy, 1) else {
                return chat;
            };
            copy.set_colours(entry, 1, Some(code.highlight()));
        }
    }
}

pub fn check_line(line: &Line) {
    assert!(!line.text.contains('\n'), "{line:?}");
    let mut start = 0;
    for span in &line.spans {
        let range = span.start as usize..span.end as usize;
        assert!(line.text.get(range).is_some(), "{span:?} in {line:?}");
        assert!(span.start >= start, "{line:?} is not sorted");
        start = span.start;
    }
}
