//! The effect of moving a file to another state: its texts, its state as a whole and its path,
//! before and after.
//!
//! Invariant: the text after includes other authors' later changes.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::FileReview;
use super::turns::Of;
use super::whole::between;
use crate::spine::ids::TurnKey;
use crate::spine::project::{Body, FileState};
use crate::text::diff::{Conflict, Hunk, changes, diff, merge};
use crate::text::{self, LineEdit, Text};
use crate::workspace::feedback::Rejected;
use crate::workspace::ledger::Which;

/// The target state of a move.
#[derive(Debug, Clone)]
pub(crate) enum Aim {
    /// The state without a turn.
    Without(TurnKey, Of),
    /// The state before an earlier move.
    Back(Box<Moved>),
}

/// A text and its base, before they were moved and after.
#[derive(Debug, Clone)]
pub(crate) struct Moved {
    /// The turn that is undone, rejected or brought back; `None` for another decision.
    pub turn: Option<TurnKey>,
    pub path: PathBuf,
    pub text: (Text, Text),
    /// The agent's own version of the text before.
    pub alone: Text,
    pub base: (Text, Text),
    /// The base of the file under unsaved lines.
    pub file_base: (Text, Text),
    /// The agent's lines of the conflicts that were decided, in rows of the text before.
    pub offers: Vec<Conflict>,
    /// The conflicts that the move has made, in rows of the text after.
    pub made: Vec<Conflict>,
    /// The state of the file as a whole before and after, if it changes.
    pub whole: Option<(FileState, FileState)>,
    /// The accepted state before and after.
    pub origin: (FileState, FileState),
    /// The new path.
    pub to: Option<PathBuf>,
    /// The path before the agent's move, as long as that is pending: before and after.
    pub from: (Option<PathBuf>, Option<PathBuf>),
}

impl Moved {
    /// Starts the record of a decision's effect on a file.
    pub fn before(path: &Path, review: &FileReview) -> Self {
        let (text, base) = (review.ledger.current(), review.ledger.base());
        let file_base = review.ledger.of_file().base();
        Self {
            turn: None,
            path: path.to_owned(),
            text: (text.clone(), text.clone()),
            alone: review.ledger.alone().clone(),
            base: (base.clone(), base.clone()),
            file_base: (file_base.clone(), file_base.clone()),
            offers: Vec::new(),
            made: Vec::new(),
            whole: None,
            origin: (review.origin.clone(), review.origin.clone()),
            to: None,
            from: (review.from.clone(), review.from.clone()),
        }
    }

    /// Records the result, or the expected result with this text.
    pub fn after(mut self, review: &FileReview, text: &Text, is_deleted: bool) -> Self {
        self.text.1.clone_from(text);
        self.base.1.clone_from(review.ledger.base());
        self.file_base.1.clone_from(review.ledger.of_file().base());
        self.origin.1.clone_from(&review.origin);
        self.from.1.clone_from(&review.from);
        self.whole = is_deleted.then(|| (review.now.clone(), FileState::missing()));
        self
    }

    /// Records that the whole file gets its earlier state.
    pub fn restored(path: &Path, review: &FileReview, state: &FileState) -> Self {
        let mut moved = Self::before(path, review);
        let text = state.text().unwrap_or_default();
        // Unsaved lines stay beside it.
        moved.text.1 = match text == moved.file_base.0 && !state.is_missing() {
            true => moved.base.0.clone(),
            false => text,
        };
        if state.link().is_some() && review.now.is_missing() {
            // Its buffer may have kept the lines of the target.
            moved.text.0 = Text::default();
        }
        moved.whole = Some((review.now.clone(), state.clone()));
        moved
    }

    /// Records that the agent's move of the file is reversed.
    pub fn moved_back(path: &Path, review: &FileReview, to: &Path) -> Self {
        let mut moved = Self::before(path, review);
        moved.to = Some(to.to_owned());
        moved.from.1 = None;
        moved
    }

    /// Returns edits that bring lines back, without the lines of others.
    fn agents_part(&self, edits: &[LineEdit]) -> Vec<LineEdit> {
        let text = &self.text.0;
        let others = changes(&self.alone, text).into_iter();
        let others: HashSet<String> = others.flat_map(|own| text.to_lines(own.new)).collect();
        let agents = edits.iter().map(|edit| {
            let lines = edit.lines.iter().filter(|line| !others.contains(*line));
            LineEdit {
                lines: lines.cloned().collect(),
                ..edit.clone()
            }
        });
        agents.collect()
    }

    /// Returns where the file is after the move.
    pub fn place(&self) -> &Path {
        self.to.as_deref().unwrap_or(&self.path)
    }
}

/// A move that is being carried out.
#[derive(Debug)]
pub(crate) struct Moving {
    pub moved: Moved,
    pub edits: Vec<LineEdit>,
    pub conflicts: Vec<Conflict>,
    /// Conflicts that it takes back, in rows of the text after.
    pub withdrawn: Vec<Conflict>,
    /// The text after, without the lines of others that are brought back.
    pub agents: Option<Text>,
    /// What of a turn it takes away; `None` if it brings something back.
    pub takes: Option<Of>,
}

impl Moving {
    /// Returns the state of the file as a whole after the move, if it changes.
    pub(super) fn whole(&self) -> Option<&FileState> {
        self.moved.whole.as_ref().map(|(_, after)| after)
    }

    pub(super) fn is_deleted(&self) -> bool {
        self.whole().is_some_and(FileState::is_missing)
    }

    /// Returns whether the move creates a missing file.
    pub(super) fn is_made(&self) -> bool {
        let whole = self.moved.whole.as_ref();
        whole.is_some_and(|(before, after)| before.is_missing() && !after.is_missing())
    }
}

impl FileReview {
    /// Records the rejects, or cancelled rejects, that a move implies.
    pub(super) fn note_aim(&mut self, aim: &Aim) {
        match aim {
            Aim::Without(turn, of) => {
                let known = self.of_turn(*turn);
                let is_meant = |hunk: &Hunk| {
                    let which = Which::Rows(hunk.new.clone());
                    *of == Of::All || !self.ledger.hit(&which).is_empty()
                };
                let rejected = known.map(|known| {
                    let current = self.ledger.current();
                    let hunks = known.hunks().into_iter().filter(is_meant);
                    let hunks = hunks.map(|hunk| Rejected::of(&hunk, &known.before, current));
                    hunks.collect::<Vec<_>>()
                });
                let whole = known.map(|known| {
                    let texts = (known.ledger.base(), known.ledger.current());
                    between(&known.origin, &self.now, texts, known.from.as_deref())
                });
                for rejected in rejected.unwrap_or_default() {
                    self.was_rejected(rejected);
                }
                self.note_rejected_whole(whole.unwrap_or_default());
            }
            Aim::Back(moved) if moved.turn.is_some() => self.forget_rejected(),
            // A pending change is not reported anyway.
            Aim::Back(_) => {}
        }
    }

    /// Returns the path to which an aim may move the file.
    pub(crate) fn goal(&self, aim: &Aim) -> Option<PathBuf> {
        match aim {
            Aim::Without(turn, _) => self.of_turn(*turn)?.from.clone(),
            Aim::Back(moved) => moved.to.as_ref().map(|_| moved.path.clone()),
        }
    }

    pub(super) fn moving(&self, path: &Path, aim: &Aim) -> Option<Moving> {
        let (current, base) = (self.ledger.current().clone(), self.ledger.base().clone());
        match aim {
            Aim::Without(turn, of) => {
                let plan = self.without_turn(*turn, *of)?;
                // Pending changes are not accepted: only the text goes.
                let after = match of {
                    Of::All => plan.base,
                    Of::Pending => base.clone(),
                };
                Some(Moving {
                    moved: Moved {
                        turn: Some(*turn),
                        path: path.to_owned(),
                        text: (current, plan.after),
                        alone: self.ledger.alone().clone(),
                        base: (base, after),
                        file_base: Default::default(),
                        offers: Vec::new(),
                        made: plan.conflicts.clone(),
                        origin: match &plan.whole {
                            // It was accepted, and so is its replacement.
                            Some(whole) if of == &Of::All && self.origin.is_like(&self.now) => {
                                (self.origin.clone(), whole.clone())
                            }
                            _ => (self.origin.clone(), self.origin.clone()),
                        },
                        whole: plan.whole.map(|whole| (self.now.clone(), whole)),
                        from: (
                            self.from.clone(),
                            self.from
                                .clone()
                                .filter(|from| plan.to.as_ref() != Some(from)),
                        ),
                        to: plan.to,
                    },
                    edits: plan.edits,
                    conflicts: plan.conflicts,
                    withdrawn: Vec::new(),
                    agents: None,
                    takes: Some(*of),
                })
            }
            Aim::Back(moved) => {
                let merged = merge(&moved.text.1, &current, &moved.text.0);
                let mut after = current.clone();
                after.apply_all(&merged.edits);
                let mut agents = current.clone();
                agents.apply_all(&moved.agents_part(&merged.edits));
                let bases = merge(&moved.base.1, &base, &moved.base.0);
                let mut new_base = base.clone();
                new_base.apply_all(&bases.edits);
                let whole = moved.whole.as_ref();
                let whole = whole.filter(|(before, now)| {
                    // A file with other authors' changes is not deleted.
                    self.now.is_like(now) && (!before.is_missing() || after.is_empty())
                });
                let back = moved.to.as_ref().map(|_| moved.path.clone());
                let in_rows_of = |then: &Text, now: &Text, conflicts: &[Conflict]| {
                    let since = diff(then, now);
                    let conflicts = conflicts.iter().cloned().map(|mut conflict| {
                        let Range { start, end } = conflict.rows;
                        conflict.rows = text::moved(start, &since)..text::moved(end, &since);
                        conflict
                    });
                    conflicts.collect::<Vec<_>>()
                };
                let offers = in_rows_of(&moved.text.0, &after, &moved.offers);
                let conflicts = merged.conflicts.into_iter().chain(offers).collect();
                let made = in_rows_of(&moved.text.1, &after, &moved.made);
                Some(Moving {
                    moved: Moved {
                        turn: moved.turn,
                        path: path.to_owned(),
                        whole: whole.map(|(before, _)| (self.now.clone(), with(before, &after))),
                        origin: (moved.origin.1.clone(), moved.origin.0.clone()),
                        text: (current, after),
                        alone: self.ledger.alone().clone(),
                        base: (base, new_base),
                        file_base: (moved.file_base.1.clone(), moved.file_base.0.clone()),
                        offers: Vec::new(),
                        made: Vec::new(),
                        to: back.filter(|back| back != path),
                        from: (moved.from.1.clone(), moved.from.0.clone()),
                    },
                    edits: merged.edits,
                    conflicts,
                    withdrawn: made,
                    agents: Some(agents),
                    takes: None,
                })
            }
        }
    }
}

/// Returns a file's state with another text, if it is a text file.
fn with(file: &FileState, text: &Text) -> FileState {
    let mut file = file.clone();
    if let Body::Text(content) = &mut file.body {
        content.text.clone_from(text);
    }
    file.stamp = None;
    file
}

/// Returns the place of a file in the order in which changes are undone, by its state and path before
/// the change. What may be in the way of others goes first: files that were created, then those that
/// were moved.
pub(super) fn order_of_undo(origin: &FileState, from: Option<&Path>) -> u8 {
    match from {
        Some(_) => 1,
        None if origin.is_missing() => 0,
        None => 2,
    }
}

/// Returns how many lines a move adds and removes.
pub(super) fn counts(before: &Text, after: &Text) -> (usize, usize) {
    let edits = diff(before, after);
    let added = edits.iter().map(|edit| edit.lines.len()).sum();
    (added, edits.iter().map(|edit| edit.removed).sum())
}
