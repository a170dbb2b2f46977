//! Random edits of a file by an agent and a user, in a buffer with an undo stack like Neovim's.

use proptest::collection::vec;
use proptest::prelude::*;

use super::tests::{holds, report};
use super::*;
use crate::text::diff::merge;

/// Lines from a small alphabet, so that they repeat; some are insubstantial, like braces.
pub(super) fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        "[abcd]",
        "[abcd]",
        "[abcd]",
        Just(String::new()),
        Just("}".to_owned()),
        Just("  é".to_owned()),
    ]
}

fn some_lines(most: usize) -> impl Strategy<Value = Vec<String>> {
    vec(line(), 0..=most)
}

pub(super) fn some_text() -> impl Strategy<Value = Text> {
    some_lines(12).prop_map(Text::from_lines)
}

/// Start and count, as fractions of the text's length.
pub(super) type Place = (u8, u8);

pub(super) fn an_edit() -> impl Strategy<Value = (Place, Vec<String>)> {
    ((any::<u8>(), 0..4u8), some_lines(3))
}

pub(super) fn edit_at(text: &Text, place: Place, lines: &[String]) -> LineEdit {
    let start = usize::from(place.0) % (text.len() + 1);
    LineEdit {
        start,
        removed: usize::from(place.1).min(text.len() - start),
        lines: lines.to_vec(),
    }
}

/// A step in the life of a file under review.
#[derive(Debug, Clone)]
pub(super) enum Step {
    User(Place, Vec<String>),
    Agent(Place, Vec<String>),
    AgentWrote(Vec<String>),
    UserWrote(Vec<String>),
    /// The agent writes a version of an older content, the base of the merge.
    Merged(Place, Vec<String>),
    Accept(Which),
    Reject(Which),
    Undo,
    Redo,
    /// An undo that is reported as one coarse edit of the whole text.
    UndoCoarse,
}

pub(super) fn which() -> impl Strategy<Value = Which> {
    prop_oneof![
        (0..14usize).prop_map(Which::Row),
        (0..14usize, 0..5usize).prop_map(|(at, n)| Which::Rows(at..at + n)),
        Just(Which::All),
    ]
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => an_edit().prop_map(|(at, new)| Step::User(at, new)),
        3 => an_edit().prop_map(|(at, new)| Step::Agent(at, new)),
        1 => some_lines(10).prop_map(Step::AgentWrote),
        1 => some_lines(10).prop_map(Step::UserWrote),
        2 => an_edit().prop_map(|(at, new)| Step::Merged(at, new)),
        1 => which().prop_map(Step::Accept),
        2 => which().prop_map(Step::Reject),
        3 => Just(Step::Undo),
        2 => Just(Step::Redo),
        1 => Just(Step::UndoCoarse),
    ]
}

/// A buffer with an undo stack like Neovim's: each block is a list of edits and their inverses.
#[derive(Default)]
pub(super) struct Undo {
    blocks: Vec<Vec<(LineEdit, LineEdit)>>,
    /// The number of blocks that are not undone.
    pub done: usize,
    /// The content after each number of blocks.
    texts: Vec<Text>,
}

impl Undo {
    fn edit(&mut self, text: &Text, edits: &[LineEdit]) {
        self.blocks.truncate(self.done);
        self.texts.truncate(self.done);
        self.texts.push(text.clone());
        let mut now = text.clone();
        let block = edits.iter().rev().map(|edit| {
            let back = LineEdit {
                start: edit.start,
                removed: edit.lines.len(),
                lines: now.to_lines(edit.start..edit.start + edit.removed),
            };
            now.apply(edit);
            (edit.clone(), back)
        });
        self.blocks.push(block.collect());
        self.done += 1;
    }
}

pub(super) struct Life {
    pub review: Review,
    pub buffer: Text,
    pub undo: Undo,
    /// The text the agent last read or wrote.
    seen: Text,
}

impl Life {
    pub fn new(base: Text) -> Self {
        Self {
            buffer: base.clone(),
            seen: base.clone(),
            review: Review::new(base),
            undo: Undo::default(),
        }
    }

    pub fn client(&mut self, edits: Vec<LineEdit>) {
        if edits.is_empty() {
            return;
        }
        self.undo.edit(&self.buffer, &edits);
        self.buffer.apply_all(&edits);
        report(&mut self.review, edits);
        self.review.decision_done();
    }

    fn agent(&mut self, edits: Vec<LineEdit>) {
        if edits.is_empty() {
            return;
        }
        self.undo.edit(&self.buffer, &edits);
        self.buffer.apply_all(&edits);
        for edit in edits.iter().rev() {
            self.review.agent_edited(edit);
        }
        self.review.agent_done();
    }

    pub fn live(&mut self, step: &Step) {
        match step {
            Step::User(at, new) => {
                let edit = edit_at(&self.buffer, *at, new);
                self.undo.edit(&self.buffer, std::slice::from_ref(&edit));
                self.buffer.apply(&edit);
                self.review.user_edited(&edit);
            }
            Step::Agent(at, new) => {
                let edit = edit_at(&self.buffer, *at, new);
                self.agent(vec![edit]);
                self.seen = self.buffer.clone();
            }
            Step::AgentWrote(new) => {
                let new = Text::from_lines(new);
                let edits = diff(&self.buffer, &new);
                self.undo.edit(&self.buffer, &edits);
                self.buffer = new.clone();
                self.review.agent_wrote(new.clone());
                self.seen = new;
            }
            Step::UserWrote(new) => {
                let new = Text::from_lines(new);
                let edits = diff(&self.buffer, &new);
                self.undo.edit(&self.buffer, &edits);
                self.buffer = new.clone();
                self.review.user_wrote(new);
            }
            Step::Merged(at, new) => {
                let mut theirs = self.seen.clone();
                theirs.apply(&edit_at(&theirs, *at, new));
                let merged = merge(&self.seen, &self.buffer, &theirs);
                self.agent(merged.edits);
                for conflict in merged.conflicts {
                    self.review.offer(conflict);
                }
                self.seen = theirs;
            }
            Step::Accept(which) => {
                let edits = self.review.accept(which);
                self.client(edits);
            }
            Step::Reject(which) => {
                let edits = self.review.reject(which);
                self.client(edits);
            }
            Step::Undo | Step::Redo => self.travel(matches!(step, Step::Undo)),
            Step::UndoCoarse => {
                if let Some(done) = self.undo.done.checked_sub(1) {
                    self.undo.done = done;
                    let new = self.undo.texts[done].clone();
                    self.review.user_edited(&LineEdit {
                        start: 0,
                        removed: self.buffer.len(),
                        lines: new.to_lines(0..new.len()),
                    });
                    self.buffer = new;
                }
            }
        }
        assert_eq!(&self.buffer, self.review.current(), "the buffer");
        holds(&self.review);
    }

    fn travel(&mut self, back: bool) {
        let at = match back {
            true => self.undo.done.checked_sub(1),
            false => Some(self.undo.done),
        };
        let Some(block) = at.and_then(|at| self.undo.blocks.get(at)) else {
            return;
        };
        let edits: Vec<LineEdit> = match back {
            true => block.iter().rev().map(|(_, edit)| edit.clone()).collect(),
            false => block.iter().map(|(edit, _)| edit.clone()).collect(),
        };
        self.undo.done = if back {
            self.undo.done - 1
        } else {
            self.undo.done + 1
        };
        for edit in edits {
            self.buffer.apply(&edit);
            self.review.user_edited(&edit);
        }
    }
}
