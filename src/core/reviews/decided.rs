//! What was decided and undone last, to be taken back.
//!
//! Invariant: of a decision each file is noted once: as it was before, and as it is after.

use super::Reviews;
use super::moving::Moved;
use crate::core::ids::TurnKey;

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
    pub(in crate::core) fn begin_decision(&mut self) {
        self.decided.retain(|decision| !decision.is_empty());
        let many = (self.decided.len() + 1).saturating_sub(DECISIONS);
        self.decided.drain(..many);
        self.decided.push(Vec::new());
    }

    /// Notes what a decision does to a file.
    pub(super) fn note_decided(&mut self, moved: Moved) {
        if let Some(decision) = self.decided.last_mut() {
            decision.retain(|other| other.path != moved.path);
            decision.push(moved);
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
