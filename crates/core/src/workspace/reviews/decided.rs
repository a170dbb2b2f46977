//! Records of recent decisions and undone turns, for undoing them.
//!
//! Invariant: a decision has one record per file, with its state before and after.

use super::Reviews;
use super::moving::Moved;
use crate::spine::ids::TurnKey;

/// The maximum number of decisions that can be undone.
const DECISIONS: usize = 50;

/// An undone turn, and the files on which it was undone.
#[derive(Debug)]
pub(super) struct Undone {
    pub turn: TurnKey,
    pub files: Vec<Moved>,
}

impl Reviews {
    /// Starts a new decision; its changes are undone together.
    pub(crate) fn begin_decision(&mut self) {
        self.decided.retain(|decision| !decision.is_empty());
        let many = (self.decided.len() + 1).saturating_sub(DECISIONS);
        self.decided.drain(..many);
        self.decided.push(Vec::new());
    }

    /// Records a decision's effect on a file.
    pub(super) fn note_decided(&mut self, moved: Moved) {
        let Some(decision) = self.decided.last_mut() else {
            return;
        };
        let mut known = decision.iter_mut();
        match known.find(|known| known.to.as_ref() == Some(&moved.path)) {
            // The change follows a move of the file, and is undone with it.
            Some(known) => {
                *known = Moved {
                    path: known.path.clone(),
                    to: known.to.clone(),
                    from: known.from.clone(),
                    ..moved
                };
            }
            None => {
                decision.retain(|other| other.path != moved.path);
                decision.push(moved);
            }
        }
    }

    /// Records a decision's effect on a file after its lines.
    pub(super) fn note_last(&mut self, moved: Moved) {
        let decision = self.decided.last_mut();
        let mut known = decision.into_iter().flatten();
        match known.find(|known| known.place() == moved.path) {
            Some(known) => {
                known.text.1 = moved.text.1;
                known.whole = moved.whole;
            }
            None => self.note_decided(moved),
        }
    }

    /// Removes and returns the last decision.
    pub(super) fn last_decision(&mut self) -> Vec<Moved> {
        self.decided.retain(|decision| !decision.is_empty());
        self.decided.pop().unwrap_or_default()
    }

    /// Records that a turn's changes of a file are undone, if that turn is being undone.
    pub(super) fn note_undone(&mut self, moved: Moved) {
        let undone = self.undone.iter_mut().rev();
        let mut undone = undone.filter(|undone| Some(undone.turn) == moved.turn);
        if let Some(undone) = undone.next() {
            undone.files.retain(|other| other.path != moved.path);
            undone.files.push(moved);
        }
    }
}
