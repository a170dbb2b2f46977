//! Records of recent decisions and undone turns, for undoing them.
//!
//! Invariant: a decision has one record per file, with its state before and after.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::Reviews;
use super::moving::Moved;
use crate::spine::ids::TurnKey;

/// The maximum number of decisions that can be undone.
const DECISIONS: usize = 50;

/// An undone turn, and the files on which it was undone.
#[derive(Debug)]
pub(super) struct Undone {
    pub turn: TurnKey,
    pub files: Moves,
}

/// The effects of one decision, found by where the files were before and where they are after.
#[derive(Debug, Default)]
pub(super) struct Moves {
    all: Vec<Moved>,
    from: HashMap<PathBuf, usize>,
    to: HashMap<PathBuf, usize>,
}

impl Moves {
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the effect on the file that is now at this path.
    fn at(&mut self, place: &Path) -> Option<&mut Moved> {
        let at = *self.to.get(place)?;
        self.all.get_mut(at)
    }

    /// Records an effect; it replaces the one on the file that was at the same path.
    fn put(&mut self, moved: Moved) {
        let at = *self
            .from
            .entry(moved.path.clone())
            .or_insert(self.all.len());
        let place = moved.place().to_owned();
        match self.all.get_mut(at) {
            Some(known) => {
                let before = std::mem::replace(known, moved);
                if self.to.get(before.place()) == Some(&at) {
                    self.to.remove(before.place());
                }
            }
            None => self.all.push(moved),
        }
        self.to.insert(place, at);
    }

    /// Gives the effect on a file that was moved since the file's new path, unless the decision had an
    /// effect on the file that it replaces.
    fn follow(&mut self, from: &Path, to: &Path) {
        if self.to.contains_key(to) {
            return;
        }
        let Some(at) = self.to.remove(from) else {
            return;
        };
        self.to.insert(to.to_owned(), at);
        if let Some(moved) = self.all.get_mut(at) {
            match &mut moved.to {
                Some(place) => to.clone_into(place),
                None => {
                    to.clone_into(&mut moved.path);
                    self.from.remove(from);
                    self.from.insert(to.to_owned(), at);
                }
            }
        }
    }
}

impl IntoIterator for Moves {
    type Item = Moved;
    type IntoIter = std::vec::IntoIter<Moved>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.into_iter()
    }
}

impl Reviews {
    /// Starts a new decision; its changes are undone together.
    pub(super) fn begin_decision(&mut self) {
        self.decided.retain(|decision| !decision.is_empty());
        let many = (self.decided.len() + 1).saturating_sub(DECISIONS);
        self.decided.drain(..many);
        self.decided.push(Moves::default());
    }

    /// Records a decision's effect on a file.
    pub(super) fn note_decided(&mut self, moved: Moved) {
        let Some(decision) = self.decided.last_mut() else {
            return;
        };
        let known = decision.at(&moved.path);
        match known.filter(|known| known.to.is_some()) {
            // The change follows a move of the file, and is undone with it.
            Some(known) => {
                *known = Moved {
                    path: known.path.clone(),
                    to: known.to.clone(),
                    from: known.from.clone(),
                    ..moved
                };
            }
            None => decision.put(moved),
        }
    }

    /// Records a decision's effect on a file after its lines.
    pub(super) fn note_last(&mut self, moved: Moved) {
        let decision = self.decided.last_mut();
        match decision.and_then(|decision| decision.at(&moved.path)) {
            Some(known) => {
                known.text.1 = moved.text.1;
                known.whole = moved.whole;
            }
            None => self.note_decided(moved),
        }
    }

    /// Gives the decisions about a file that was moved since the file's new path.
    pub(crate) fn decisions_follow(&mut self, from: &Path, to: &Path) {
        let undone = self.undone.iter_mut().map(|undone| &mut undone.files);
        let all = self.decided.iter_mut().chain(undone);
        all.for_each(|moves| moves.follow(from, to));
    }

    /// Removes and returns the last decision.
    pub(super) fn last_decision(&mut self) -> Moves {
        self.decided.retain(|decision| !decision.is_empty());
        self.decided.pop().unwrap_or_default()
    }

    /// Records that a turn's changes of a file are undone, if that turn is being undone.
    pub(super) fn note_undone(&mut self, moved: Moved) {
        let undone = self.undone.iter_mut().rev();
        let mut undone = undone.filter(|undone| Some(undone.turn) == moved.turn);
        if let Some(undone) = undone.next() {
            undone.files.put(moved);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::FileReview;
    use super::*;
    use crate::spine::ids::SessionKey;
    use crate::spine::project::FileState;
    use crate::text::Text;

    #[test]
    fn a_file_moved_to_the_place_of_another_leaves_the_decision_about_that_one() {
        let [one, other] = ["/p/one", "/p/other"].map(Path::new);
        let mut moves = Moves::default();
        for path in [one, other] {
            let missing = FileState::missing();
            let review = FileReview::new(&Text::default(), path, SessionKey(1), missing);
            moves.put(Moved::before(path, &review));
        }
        moves.follow(one, other);
        let mut decided_at = |place: &Path| moves.at(place).map(|moved| moved.path.clone());
        assert_eq!(decided_at(one).as_deref(), Some(one));
        assert_eq!(decided_at(other).as_deref(), Some(other));
    }
}
