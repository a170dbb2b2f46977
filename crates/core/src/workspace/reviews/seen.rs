//! The part of a file that the user saw when they accepted it.
//!
//! Invariant: nothing else is accepted, also if changes arrive before the accept is carried out.

use std::collections::HashSet;
use std::path::PathBuf;

use super::FileReview;
use crate::spine::ids::TurnKey;
use crate::spine::project::FileState;
use crate::text::diff::Hunk;
use crate::workspace::ledger::{self, Which};

/// Changes of a file, as the user saw them.
#[derive(Debug, Clone)]
pub struct Seen {
    hunks: ledger::Seen,
    /// The file, and its path before the agent moved it; `None` if only lines are accepted.
    whole: Option<(FileState, Option<PathBuf>)>,
    /// All changes of the file as a whole are accepted, not only its content with its last hunk.
    is_all: bool,
}

impl FileReview {
    /// Returns the selected changes as they are now.
    pub(super) fn see(&self, which: &Which) -> Seen {
        Seen {
            hunks: self.ledger.see(std::slice::from_ref(which)),
            whole: Some((self.now.clone(), self.from.clone())),
            is_all: *which == Which::All,
        }
    }

    /// Returns a turn's pending changes as they are now; `None` if there are none. Those of the file
    /// as a whole are the turn's if all of them are.
    pub(super) fn see_turn(&self, turn: TurnKey) -> Option<Seen> {
        let rows = self.pending_of(turn).into_iter();
        let rows: Vec<Which> = rows.map(Which::Rows).collect();
        let hit = rows.iter().flat_map(|rows| self.ledger.hit(rows));
        let hit: HashSet<usize> = hit.map(|hunk| hunk.old.start).collect();
        let hunks = self.ledger.hunks().iter();
        let left = hunks.filter(|hunk| !hit.contains(&hunk.old.start));
        let is_whole = self.is_whole_of(turn) && self.may_be_accepted_beside(left);
        (is_whole || !rows.is_empty()).then(|| Seen {
            hunks: self.ledger.see(&rows),
            whole: is_whole.then(|| (self.now.clone(), self.from.clone())),
            is_all: is_whole,
        })
    }

    /// Returns whether any of the changes that the user saw is still pending.
    pub(super) fn has_seen(&self, seen: &Seen) -> bool {
        let is_whole = seen.is_all || self.ledger.hunks().is_empty();
        let is_whole = is_whole && !self.whole().is_empty() && self.is_as_seen(seen);
        is_whole || !self.ledger.still(&seen.hunks).is_empty()
    }

    /// Accepts the changes that the user saw.
    pub(super) fn accept_seen(&mut self, seen: &Seen) {
        let hunks = self.ledger.still(&seen.hunks);
        for hunk in &hunks {
            self.is_back(hunk);
        }
        let before = self.ledger.base().clone();
        self.ledger.accept_seen(&seen.hunks);
        self.turns_accept(&before);
        if !self.is_as_seen(seen) {
            return;
        }
        if seen.is_all && self.may_be_accepted_beside(self.ledger.hunks()) {
            self.whole_is_back();
            self.accept_whole();
        } else if self.ledger.hunks().is_empty() {
            self.accept_content();
        }
    }

    /// Returns whether the file as a whole may be accepted while these hunks are pending. A file is not
    /// accepted as created, say, with lines that are still to be rejected, nor as deleted while that
    /// is in conflict with the user's lines.
    fn may_be_accepted_beside<'a>(&self, hunks: impl IntoIterator<Item = &'a Hunk>) -> bool {
        let kind = |file: &FileState| std::mem::discriminant(&file.body);
        let mut hunks = hunks.into_iter();
        let mut is_left = || hunks.any(|hunk| hunk.conflict.is_none() || self.now.is_missing());
        kind(&self.origin) == kind(&self.now) || !is_left()
    }

    /// Returns whether the file as a whole is accepted and still as the user saw it.
    fn is_as_seen(&self, seen: &Seen) -> bool {
        let whole = seen.whole.as_ref();
        whole.is_some_and(|(now, from)| self.now.is_like(now) && self.from == *from)
    }
}
