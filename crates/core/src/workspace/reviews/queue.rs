//! Decisions about one file, one after another.
//!
//! Invariant: none begins while another about the same file is being carried out: each finds what
//! the one before it has left, and means the lines it was made for.

use std::path::{Path, PathBuf};

use super::moving::Aim;
use crate::model::{Effects, Model};
use crate::spine::event::ReviewAction;
use crate::spine::ids::TurnKey;
use crate::text::{Text, moved};
use crate::workspace::ledger::{Which, diff};

/// What the user wants done with a file's changes.
#[derive(Debug)]
pub(super) enum Wish {
    Hunks(ReviewAction, Which),
    AcceptTurn(TurnKey),
    Shift(Aim),
}

/// A decision that waits for another about the same file.
#[derive(Debug)]
pub(super) struct Waiting {
    path: PathBuf,
    wish: Wish,
    /// The text it was made for.
    text: Text,
}

impl Which {
    /// Returns which hunks of `now` are those that were meant in `then`.
    pub(super) fn moved(self, then: &Text, now: &Text) -> Which {
        if self == Which::All || then == now {
            return self;
        }
        let since = diff(then, now);
        match self {
            Which::Row(row) => Which::Row(moved(row, &since)),
            Which::Rows(rows) => Which::Rows(moved(rows.start, &since)..moved(rows.end, &since)),
            Which::All => Which::All,
        }
    }
}

impl Model {
    /// Decides about a file, as soon as nothing else is being decided there; `false` when there is
    /// nothing to decide.
    pub(super) fn decide(&mut self, path: &Path, wish: Wish, fx: &mut Effects) -> bool {
        let names = self.names_of(path);
        let mut waiting = self.reviews.waiting.iter();
        let is_busy =
            self.is_decided_about(&names) || waiting.any(|waiting| names.contains(&waiting.path));
        if !is_busy {
            return self.decide_now(path, wish, fx);
        }
        let name = names.iter().find_map(|name| self.reviews.get(name));
        let Some(text) = name.map(|review| review.ledger.current().clone()) else {
            return false;
        };
        let path = path.to_owned();
        self.reviews.waiting.push(Waiting { path, wish, text });
        true
    }

    /// Goes on with the decisions that need not wait any more.
    pub(crate) fn take_decisions(&mut self, fx: &mut Effects) {
        let mut at = 0;
        while let Some(waiting) = self.reviews.waiting.get(at) {
            let names = self.names_of(&waiting.path);
            let mut before = self.reviews.waiting.iter().take(at);
            if self.is_decided_about(&names) || before.any(|one| names.contains(&one.path)) {
                at += 1;
                continue;
            }
            let Waiting { path, wish, text } = self.reviews.waiting.remove(at);
            let review = names.iter().find_map(|name| self.reviews.get(name));
            let wish = match (wish, review) {
                (Wish::Hunks(action, which), Some(review)) => {
                    Wish::Hunks(action, which.moved(&text, review.ledger.current()))
                }
                (wish, _) => wish,
            };
            self.decide_now(&path, wish, fx);
        }
        self.take_backs(fx);
    }

    fn decide_now(&mut self, path: &Path, wish: Wish, fx: &mut Effects) -> bool {
        match wish {
            Wish::Hunks(action, which) => self.review_file(action, path, which, fx),
            Wish::Shift(aim) => self.shift(path, aim, fx),
            Wish::AcceptTurn(turn) => {
                let review = self.reviews.get_mut(path);
                let is_hit = review.is_some_and(|review| review.accept_turn(turn));
                if is_hit {
                    self.reviews.touch(path);
                }
                is_hit
            }
        }
    }
}
