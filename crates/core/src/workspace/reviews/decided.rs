//! What was decided and undone last, to be taken back.
//!
//! Invariant: of a decision each file is noted once: as it was before, and as it is after.

use super::Reviews;
use super::moving::Moved;
use crate::spine::ids::TurnKey;

/// How many decisions can be taken back.
const DECISIONS: usize = 50;

/// A turn that was undone, and its files that were.
#[derive(Debug)]
pub(super) struct Undone {
    pub turn: TurnKey,
    pub files: Vec<Moved>,
}

impl Reviews {
    /// Begins to note what is decided now, to be taken back as one.
    pub(crate) fn begin_decision(&mut self) {
        self.decided.retain(|decision| !decision.is_empty());
        let many = (self.decided.len() + 1).saturating_sub(DECISIONS);
        self.decided.drain(..many);
        self.decided.push(Vec::new());
    }

    /// Notes what a decision does to a file.
    pub(super) fn note_decided(&mut self, moved: Moved) {
        let Some(decision) = self.decided.last_mut() else {
            return;
        };
        let mut known = decision.iter_mut();
        match known.find(|known| known.to.as_ref() == Some(&moved.path)) {
            // It comes after a move of the file, and is taken back with that.
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

    /// Notes what a decision does to a file after its lines.
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

    /// Takes the last decision out.
    pub(super) fn last_decision(&mut self) -> Vec<Moved> {
        self.decided.retain(|decision| !decision.is_empty());
        self.decided.pop().unwrap_or_default()
    }

    /// Notes that a turn's changes of a file are undone, if such a turn is being undone.
    pub(super) fn note_undone(&mut self, moved: Moved) {
        let undone = self.undone.iter_mut().rev();
        let mut undone = undone.filter(|undone| Some(undone.turn) == moved.turn);
        if let Some(undone) = undone.next() {
            undone.files.retain(|other| other.path != moved.path);
            undone.files.push(moved);
        }
    }
}
